"""Mitsuba 3 renders pictures by its integrator `path`: on the CPU one path after the other (scalar) or through LLVM, on
a GPU through CUDA and OptiX.

Jakob, Speierer, Roussel, Vicini: Dr.Jit: A Just-In-Time Compiler for Differentiable Rendering, 2022.
"""

import time
from typing import Any
from xml.etree import ElementTree

import drjit as dr
import mitsuba as mi
import numpy as np

from renderer.bench.peer_process import PeerOrder, PeerPicture
from renderer.errors import RenderError
from scenes.mitsuba.writer import VERSION, sensor

#: Paths that are followed at once, at most, so that they fit into memory.
MOST_PATHS = 1 << 26


def render(way: str, order: PeerOrder) -> list[PeerPicture]:
    """Renders pictures.

    way: a variant of Mitsuba. Those that are compiled for each scene render every picture once more beforehand.
    order: what is rendered.
    Raises `RenderError` where there is no such variant.
    """
    if way not in mi.variants():
        raise RenderError(f"this Mitsuba has no variant {way}")
    mi.set_variant(way)
    if order.threads is not None:
        dr.set_thread_count(order.threads)
    scene = mi.load_file(str(order.path))
    text = ElementTree.tostring(sensor(order.camera, order.size, version=VERSION), encoding="unicode")
    view = mi.load_string(text)
    return [picture(scene, view, order, samples) for samples in order.samples]


def picture(scene: Any, view: Any, order: PeerOrder, samples: int) -> PeerPicture:
    width, height = order.size
    integrator = mi.load_dict({"type": "path", "max_depth": order.max_bounces + 1} | portions(width * height, samples))
    if dr.is_jit_v(mi.Float):
        np.array(integrator.render(scene, view, seed=0, spp=samples))
    seconds, linear = [], np.zeros((height, width, 3), np.float32)
    for seed in range(order.repeats):
        start = time.perf_counter()
        linear = np.array(integrator.render(scene, view, seed=1 + seed, spp=samples), np.float32)
        seconds.append(time.perf_counter() - start)
    return PeerPicture(samples=samples, seconds=seconds, linear=linear[..., :3])


def portions(pixels: int, samples: int) -> dict[str, int]:
    """Returns the key for the samples that are taken at once, where all together would be too many paths."""
    at_once = samples
    while at_once * pixels > MOST_PATHS and at_once % 2 == 0:
        at_once //= 2
    return {} if at_once == samples else {"samples_per_pass": at_once}
