"""Traces rays that need most of the pad of boxes, with a pad so many times smaller. Prints of how many a hit was lost.

A program, since compiled code holds the pad: `margins.py DIVISOR emulator|gpu NAME=RAYS...`, of kernels and `cpu`.
"""

import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from tracecore import precision


def make_smaller(divisor: float) -> None:
    """Before anything that knows the pad is imported."""
    precision.PAD = np.float32(precision.PAD / np.float32(divisor))
    precision.DEFINES["PAD"] = f"{precision.PAD!s}f"


#: Flat across its last axis, so that its box has no thickness but the pad. Found among random ones: there the t of the
#: plane and that of the triangle differ by more than five roundings for one in a hundred thousand of the rays below.
TRIANGLE = [[0.8859778, 0.38998439, 1.0], [0.76505422, -0.52331686, 1.0], [0.99415636, 0.90814846, 1.0]]

#: So many of it tie, and fill several leaves.
COPIES = 16

#: Of the tree: boxes get their pad when any tree is packed, and this one takes the least to compile.
BUILDER = "binned"

#: Rays of a packet are alike, or one would take the others along.
PACKET = 32


def lost(tracer_of: Callable[..., Any], count: int, alike: int) -> int:
    """How many rays hit another triangle than the first one of those that tie, or nothing in an interval that ends or
    begins at the number next to their t."""
    from tracecore.rays import MISS, make_rays

    random, total = np.random.default_rng(17), 0
    for axis in range(3):
        triangle = np.roll(np.array(TRIANGLE, np.float32), axis, axis=1)
        origin = random.uniform(-1.0, -0.5, (count, 3)).astype(np.float32)  # where differences are the largest
        target = random.dirichlet([1, 1, 1], count) @ triangle
        stretch = random.uniform(1.0, 1.05, (count, 1))  # t is just below a power of two, where numbers are closest
        rays = np.repeat(make_rays(origin, (target - origin) * stretch), alike, axis=0)
        with tracer_of(np.repeat(triangle[None], COPIES, axis=0)) as tracer:
            hits = tracer.closest_hit(rays)
            is_hit = hits.view(np.uint32)[:, 3] != MISS
            rays, hits = rays[is_hit], hits[is_hit]
            assert len(rays) > alike * count // 2
            total += int((hits.view(np.uint32)[:, 3] != 0).sum())
            rays[:, 7] = np.nextafter(hits[:, 0], np.float32(np.inf))
            beginning = rays.copy()
            beginning[:, 3] = np.nextafter(hits[:, 0], np.float32(0.0))
            for trace in (tracer.closest_hit, tracer.any_hit):
                total += sum(int((trace(some).view(np.uint32)[:, 3] == MISS).sum()) for some in (rays, beginning))
    return total


def main(divisor: str, device: str, *orders: str) -> None:
    make_smaller(float(divisor))
    from tracecore.emulator.tracer import EmulatedTracer
    from tracecore.tracers.cpu import CpuTracer
    from tracecore.tracers.gpu import GpuTracer

    for name, count in (order.split("=") for order in orders):
        tracer = partial(EmulatedTracer if device == "emulator" else GpuTracer, kernel=name)
        of_name, alike = (CpuTracer, 1) if name == "cpu" else (tracer, PACKET)
        print(lost(partial(of_name, builder=BUILDER), int(count), alike))


if __name__ == "__main__":
    main(*sys.argv[1:])
