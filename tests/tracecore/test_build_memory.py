"""Building and packing a tree takes a bounded number of bytes for each triangle."""

import gc
import tracemalloc
from collections.abc import Callable
from functools import partial

import pytest
from test_builder import soup

from tracecore.bvh.builders import BUILDERS
from tracecore.kernels.strategies import find_strategy
from tracecore.rays import Floats
from tracecore.tracers.cpu import CpuTracer

pytestmark = pytest.mark.usefixtures("collects_often")

#: Bytes of a triangle at most, beside its own 36.
MOST_BYTES = 235

SMALL, LARGE = 20_000, 60_000


def make_ready(kernel: str, triangles: Floats, builder: str) -> None:
    if kernel == "cpu":
        CpuTracer(triangles, builder=builder, threads=1).close()
    else:
        strategy = find_strategy(kernel)
        strategy.pack(strategy.build(triangles, builder), triangles)


def peak_of(action: Callable[[], None]) -> int:
    gc.collect()
    tracemalloc.start()
    try:
        action()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("builder", BUILDERS)
@pytest.mark.parametrize("kernel", ["cpu", "while-while", "bvh4", "grouped-8", "compressed-bvh8"])
def test_a_triangle_takes_no_more_than_it_may(kernel: str, builder: str) -> None:
    """By how much more a larger scene takes: what is worked on a piece at a time takes the same in both."""
    make_ready(kernel, soup(100), builder)
    scenes = [soup(count) for count in (SMALL, LARGE)]
    small, large = (peak_of(partial(make_ready, kernel, triangles, builder)) for triangles in scenes)
    assert (large - small) / (LARGE - SMALL) <= MOST_BYTES
