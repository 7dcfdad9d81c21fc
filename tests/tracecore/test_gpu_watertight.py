"""A million rays inside of a closed sphere far away, and rays that are no rays, on every kernel of a GPU."""

import functools

import numpy as np
import pytest
from judges import MILLION

from tracecore.bvh import binned_sah
from tracecore.bvh.tree import BinaryTree
from tracecore.checks.ray_cases import FAR_AIMS, Floats, far_rays, far_sphere, random_rays, soup, unreal_rays
from tracecore.kernels.step_records import Step
from tracecore.kernels.strategies import find_strategy, strategy_names
from tracecore.rays import MISS
from tracecore.tracers.gpu import GpuTracer

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("gpu")]

RINGS = 200

#: By so much a ray that is none may cost more than others.
MOST_TIMES = 2.5


@functools.cache
def tree_of(max_leaf: int, triangle_block: int) -> BinaryTree:
    """The tree of the sphere for all kernels that want leaves alike."""
    return binned_sah.build(far_sphere(RINGS), max_leaf=max_leaf, triangle_block=triangle_block)


@functools.cache
def million_rays(aim: str) -> Floats:
    return far_rays(RINGS, aim, MILLION)


@pytest.mark.parametrize("kernel", strategy_names())
def test_no_ray_of_a_million_leaves_the_sphere(kernel: str) -> None:
    row = find_strategy(kernel)
    with GpuTracer(far_sphere(RINGS), kernel, tree=tree_of(row.max_leaf, row.triangle_block)) as tracer:
        for aim in FAR_AIMS:
            rays = million_rays(aim)
            for hits in (tracer.closest_hit(rays), tracer.any_hit(rays)):
                assert (hits.view(np.uint32)[:, 3] == MISS).sum() == 0, aim


@pytest.mark.parametrize("kernel", strategy_names())
def test_rays_that_are_none_take_no_more_steps_than_others(kernel: str) -> None:
    rays = random_rays(5, 3000)
    with GpuTracer(soup(500), kernel) as tracer:
        usual, unreal = (tracer.count_steps(each).steps.sum(axis=0) for each in (rays, unreal_rays(rays)))
    for step in (Step.NODE, Step.TRIANGLE):
        assert unreal[step] <= MOST_TIMES * usual[step]
