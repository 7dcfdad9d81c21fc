"""What is around a model, or how far away the camera is, costs no more than a few steps, and changes no hit on it."""

import functools
from collections.abc import Callable

import numpy as np
import pytest
from judges import ONE_OF_EACH_SOURCE

from tracecore.checks.ray_cases import Floats, welded_sphere
from tracecore.emulator.library import emulator_unavailable_reason
from tracecore.emulator.tracer import EmulatedTracer
from tracecore.kernels.step_records import Step
from tracecore.rays import MISS, make_rays
from tracecore.tracers.cpu import CpuTracer

#: So many times the steps among small surroundings are allowed.
MOST_TIMES = 1.3

RAYS = 256


@functools.cache
def model(rings: int = 60) -> Floats:
    """(4 * rings * (rings - 1), 3, 3): a ball of radius 1 with a rough skin."""
    vertices, faces = welded_sphere(rings)
    return (vertices * np.random.default_rng(1).uniform(0.95, 1.05, (len(vertices), 1)))[faces].astype(np.float32)


def ground(size: float) -> Floats:
    """(2, 3, 3): a square of such a half width below the model."""
    corners = np.array([[-size, -2, -size], [size, -2, -size], [size, -2, size], [-size, -2, size]], np.float32)
    return corners[[[0, 1, 2], [0, 2, 3]]]


def sky(radius: float) -> Floats:
    """(528, 3, 3): a ball around everything, with boxes that hold nothing of the middle."""
    vertices, faces = welded_sphere(12)
    return (vertices * radius)[faces].astype(np.float32)


def rays_from(distance: float) -> Floats:
    """To points inside the model, from so far away. A ray is the same line whatever the distance."""
    random = np.random.default_rng(2)
    side = random.normal(size=(RAYS, 3))
    side[:, 1] = np.abs(side[:, 1])  # from above the ground
    side /= np.linalg.norm(side, axis=1, keepdims=True)
    target = random.uniform(-0.55, 0.55, (RAYS, 3))
    return make_rays(target + distance * side, -side)


#: By name: a size -> triangles and rays.
SURROUNDINGS: dict[str, Callable[[float], tuple[Floats, Floats]]] = {
    "ground": lambda size: (np.concatenate([model(), ground(size)]), rays_from(3.0)),
    "sky": lambda size: (np.concatenate([model(), sky(size)]), rays_from(3.0)),
    "camera": lambda size: (model(), rays_from(size)),
}

#: Sizes as in a room, and by name as out of doors.
NEAR, FAR = 10.0, {"ground": 1e6, "sky": 1e5, "camera": 1e5}


def steps(triangles: Floats, rays: Floats, kernel: str) -> int:
    """How many nodes and triangles the kernel looks at for all of the rays."""
    with EmulatedTracer(triangles, kernel) as tracer:
        found = tracer.record_steps(rays)
    return found.total(Step.NODE) + found.total(Step.TRIANGLE)


@pytest.mark.parametrize("around", SURROUNDINGS)
@pytest.mark.parametrize("kernel", ONE_OF_EACH_SOURCE)
def test_large_surroundings_cost_what_small_ones_do(kernel: str, around: str) -> None:
    if reason := emulator_unavailable_reason():
        pytest.skip(reason)
    of_size = SURROUNDINGS[around]
    assert steps(*of_size(FAR[around]), kernel) <= MOST_TIMES * steps(*of_size(NEAR), kernel)


@pytest.mark.parametrize("kernel", ["while-while", "bvh4", "compressed-bvh8"])
def test_a_large_ground_or_a_far_camera_costs_little_beside_what_the_model_does(kernel: str) -> None:
    """A sky is no case of it, however small: its own triangles take some levels of the tree around the model."""
    if reason := emulator_unavailable_reason():
        pytest.skip(reason)
    large = model(143)
    alone = steps(large, rays_from(3.0), kernel)
    assert steps(np.concatenate([large, ground(FAR["ground"])]), rays_from(3.0), kernel) <= MOST_TIMES * alone
    assert steps(large, rays_from(FAR["camera"]), kernel) <= MOST_TIMES * alone


@pytest.mark.parametrize("around", SURROUNDINGS)
def test_surroundings_leave_the_hits_on_the_model(around: str) -> None:
    triangles, rays = SURROUNDINGS[around](FAR[around])
    near = rays_from(3.0)
    with CpuTracer(model()) as tracer:
        alone = tracer.closest_hit(near)
    with CpuTracer(triangles) as tracer:
        hits = tracer.closest_hit(rays)
    prim_ids = alone.view(np.uint32)[:, 3]
    is_same = prim_ids == hits.view(np.uint32)[:, 3]
    assert (prim_ids != MISS).all()
    if around != "camera":  # the very same rays
        assert (alone == hits).all()
    assert is_same.mean() > 0.7  # an origin 1e5 away is rounded by up to a 256th, a tenth of a triangle
    some = zip((near, rays), (alone, hits), strict=True)
    points = [rays[:, 0:3] + found[:, :1].astype(np.float64) * rays[:, 4:7] for rays, found in some]
    assert np.abs(points[1] - points[0])[is_same].max() < 0.05
