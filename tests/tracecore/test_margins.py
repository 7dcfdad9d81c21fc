"""The pad of boxes is wide enough for rays that need much of it, and one that is not so wide is found out."""

import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from judges import ONE_OF_EACH_SOURCE
from margins import PACKET, lost

from tracecore.bvh.binned_sah import build
from tracecore.bvh.wide import collapse
from tracecore.checks.ray_cases import Floats
from tracecore.emulator.library import emulator_unavailable_reason
from tracecore.emulator.tracer import EmulatedTracer
from tracecore.layout.bvh8 import BLOCK, WIDTH, pack
from tracecore.precision import PAD, padded
from tracecore.tracers.cpu import CpuTracer
from tracecore.tracers.gpu import GpuTracer

PROGRAM = Path(__file__).with_name("margins.py")

#: By this the pad is divided.
DIVISOR = 8

#: Of each layout one that walks it in the plainest way.
KERNELS = ("while-while", "bvh4", "compressed-bvh8", "grouped-8")

CPU_RAYS, EMULATED_RAYS, GPU_RAYS = 500_000, 100, 100_000


def lost_by_mutant(device: str, counts: dict[str, int], cache: Path) -> dict[str, int]:
    """How many rays lose their hit, by the names of kernels or `cpu`. counts: of rays. cache: where nobody else finds
    what it compiles."""
    done = subprocess.run(
        [sys.executable, "-P", PROGRAM, str(DIVISOR), device, *(f"{name}={count}" for name, count in counts.items())],
        env={**os.environ, "TRACECORE_CACHE": str(cache)},
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return dict(zip(counts, map(int, done.stdout.split()), strict=True))


@pytest.fixture(scope="module")
def lost_here(tmp_path_factory: pytest.TempPathFactory) -> dict[str, int]:
    """By one process, which compiles the builder of trees once."""
    kernels = () if emulator_unavailable_reason() else KERNELS
    counts = {"cpu": CPU_RAYS, **dict.fromkeys(kernels, EMULATED_RAYS)}
    return lost_by_mutant("emulator", counts, tmp_path_factory.mktemp("cache"))


def test_the_cpu_loses_none_of_them() -> None:
    assert lost(CpuTracer, CPU_RAYS, 1) == 0


def test_the_cpu_needs_its_pad(lost_here: dict[str, int]) -> None:
    assert lost_here["cpu"] > 0


@pytest.mark.usefixtures("emulator")
@pytest.mark.parametrize("kernel", ONE_OF_EACH_SOURCE)
def test_no_kernel_loses_one_of_them(kernel: str) -> None:
    assert lost(partial(EmulatedTracer, kernel=kernel), EMULATED_RAYS, PACKET) == 0


@pytest.mark.usefixtures("emulator")
def test_kernels_need_their_pads(lost_here: dict[str, int]) -> None:
    assert all(lost_here[kernel] for kernel in KERNELS)


@pytest.mark.gpu
@pytest.mark.usefixtures("gpu")
@pytest.mark.parametrize("kernel", ONE_OF_EACH_SOURCE)
def test_no_kernel_loses_one_of_them_on_a_gpu(kernel: str) -> None:
    assert lost(partial(GpuTracer, kernel=kernel), GPU_RAYS, PACKET) == 0


@pytest.mark.gpu
@pytest.mark.usefixtures("gpu")
def test_kernels_need_their_pads_on_a_gpu(tmp_path: Path) -> None:
    assert all(lost_by_mutant("gpu", dict.fromkeys(KERNELS, GPU_RAYS), tmp_path).values())


def quads(sizes: Floats) -> Floats:
    """(n, 3, 3): a triangle of each size about the origin."""
    return np.array([[-1, -2, -1], [1, -2, -1], [0, -2, 1]], np.float32) * sizes[:, None, None]


def test_a_box_takes_a_pad_of_its_own() -> None:
    """However large its surroundings are."""
    sizes = np.array([1e-3, 1, 1e3, 1e6], np.float32)
    triangles = quads(sizes)
    tree = build(triangles, max_leaf=1)
    leaf = tree.count == 1
    lower, upper = tree.lower[leaf], tree.upper[leaf]
    planes = padded(lower, upper)
    own = 2 * sizes[tree.order[tree.first[leaf]], None]  # largest coordinates
    assert np.allclose(lower - planes[0], PAD * own, rtol=0, atol=2.0**-24 * own)
    assert np.allclose(planes[1] - upper, PAD * own, rtol=0, atol=2.0**-24 * own)
    node = pack(tree, collapse(tree, width=WIDTH, max_leaf=BLOCK), triangles).nodes[0]
    assert np.isin(node["lower"][0][np.isfinite(node["lower"][0])], padded(tree.lower, tree.upper)[0]).all()
