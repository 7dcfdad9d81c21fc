"""Rays to compare kernels on: where they start, where they go, how many there are."""

from dataclasses import replace

import numpy as np
import pytest
from small_scenes import inside_of_lamp_box

import tracecore
from renderer.bench.ray_generators import BOUNCES, KINDS, RayPlan, RaySets, morton_order, occlusion_rays
from tracecore.rays import MISS

PLAN = RayPlan(size=(16, 12), in_morton_order=False, occlusion_rays=8, radius=0.25, photon_rays=10_000, seed=3)


@pytest.fixture(scope="module")
def box():
    return inside_of_lamp_box()


@pytest.fixture(scope="module")
def tracer(box):
    with tracecore.open_tracer(box.positions, device="cpu", threads=1) as opened:
        yield opened


@pytest.fixture(scope="module")
def sets(box, tracer):
    return RaySets(box, tracer, PLAN)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_as_many_rays_as_there_should_be(sets, tracer, kind):
    """In a closed box nothing is lost."""
    rays = sets.of_kind(kind)
    pixels = 16 * 12
    expected = {"ao": 8 * pixels, "diffuse": 8 * pixels, "photon": 10_000, "photon-shuffled": 10_000}.get(kind, pixels)
    assert rays.shape == (expected, 8)
    assert rays.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(rays[:, 4:7], axis=1), 1.0, atol=1e-5)
    if kind not in ("ao", "shadow"):
        assert np.all(tracer.closest_hit(rays)[:, 3].view(np.uint32) != MISS)


def test_rays_are_the_same_whatever_finds_their_hits(box, sets):
    with tracecore.open_tracer(box.positions, device="brute", threads=1) as brute:
        others = RaySets(box, brute, PLAN)
        for kind in ("primary", "ao", "shadow", "bounce3", "photon"):
            assert np.array_equal(others.of_kind(kind), sets.of_kind(kind))


def test_camera_rays_go_through_their_pixels(sets, box):
    """Row by row from the top left: forward is y, up is z, so right is x."""
    rays = sets.of_kind("primary")
    np.testing.assert_allclose(rays[:, :3], np.broadcast_to(box.camera.eye, (192, 3)), atol=1e-7)
    x, z = rays[:, 4] / rays[:, 5], rays[:, 6] / rays[:, 5]
    half = np.tan(np.radians(30.0))
    column, row = (x / (half * 16 / 12) + 1.0) / 2.0 * 16, (1.0 - z / half) / 2.0 * 12
    assert np.array_equal(np.floor(column), np.tile(np.arange(16), 12))
    assert np.array_equal(np.floor(row), np.repeat(np.arange(12), 16))


def test_samples_of_a_pixel_follow_each_other_and_share_its_occlusion_rays(box, tracer):
    made = RaySets(box, tracer, replace(PLAN, samples=4))
    rays = made.of_kind("primary")
    column = (rays[:, 4] / rays[:, 5] / (np.tan(np.radians(30.0)) * 16 / 12) + 1.0) / 2.0 * 16
    assert np.array_equal(np.floor(column), np.tile(np.repeat(np.arange(16), 4), 12))
    assert len(np.unique(column)) > 700
    assert len(made.of_kind("ao")) == 8 * 16 * 12
    assert len(made.of_kind("bounce1")) == 4 * 16 * 12


def test_parallel_cameras_have_parallel_rays(box, tracer):
    camera = replace(box.camera, height=0.5)
    rays = RaySets(replace(box, camera=camera), tracer, PLAN).of_kind("primary")
    np.testing.assert_allclose(rays[:, 4:7], np.broadcast_to((0.0, 1.0, 0.0), (192, 3)), atol=1e-7)
    assert np.ptp(rays[:, 2]) == pytest.approx(0.5, abs=0.05)


def test_morton_order_visits_every_pixel_block_by_block():
    order = morton_order(6, 5)
    assert sorted(order) == list(range(30))
    assert order[:8].tolist() == [0, 1, 6, 7, 2, 3, 8, 9]


def test_shadow_rays_end_before_the_only_lamp(sets, box, tracer):
    rays = sets.of_kind("shadow")
    ends = rays[:, :3] + rays[:, 7:8] * rays[:, 4:7]
    lamp = np.array(box.lights[0].position)
    np.testing.assert_allclose(ends, np.broadcast_to(lamp, ends.shape), atol=2e-4)
    assert np.all(tracer.any_hit(rays)[:, 3].view(np.uint32) == MISS)  # nothing stands in the box


def test_occlusion_rays_are_short_and_lambertian():
    """The mean of cosines squared by Lambert's law is 1/2, of cosines 2/3."""
    normals = np.broadcast_to((0.0, 0.0, 1.0), (500, 3))
    rays = occlusion_rays(np.zeros((500, 3)), normals, 64, 0.25, np.random.default_rng(1))
    assert np.all(rays[:, 7] == np.float32(0.25))
    cosines = rays[:, 6].astype(np.float64)
    assert cosines.min() >= 0.0
    assert cosines.mean() == pytest.approx(2 / 3, abs=0.002)
    assert np.square(cosines).mean() == pytest.approx(1 / 2, abs=0.002)
    assert np.abs(rays[:, 4:6].mean(axis=0)).max() < 0.005


def test_bounces_start_on_surfaces_and_leave_them(sets):
    """In the unit box: every origin is next to a wall, and goes away from it."""
    for kind in BOUNCES:
        rays = sets.of_kind(kind)
        distance = np.minimum(rays[:, :3], 1.0 - rays[:, :3])
        axis = distance.argmin(axis=1)
        rows = np.arange(len(rays))
        assert np.all((distance[rows, axis] > 0.0) & (distance[rows, axis] < 1e-4))
        inward = np.where(rays[rows, axis] < 0.5, 1.0, -1.0)
        assert np.all(rays[rows, 4 + axis] * inward > 0.0)


def test_photons_start_at_the_lamp_and_go_on_from_walls(sets, box):
    rays = sets.of_kind("photon")
    from_lamp = np.linalg.norm(rays[:, :3] - box.lights[0].position, axis=1) < 1e-5
    assert from_lamp[:4096].all()  # the first batch
    assert 0.05 < from_lamp[4096:].mean() < 0.95
    shuffled = sets.of_kind("photon-shuffled")
    assert not np.array_equal(shuffled, rays)
    assert np.array_equal(np.sort(shuffled.view("V32").ravel()), np.sort(rays.view("V32").ravel()))
