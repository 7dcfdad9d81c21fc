"""Photons: every one is accounted for, and the flux that lands is the flux that theory says."""

import math

import numpy as np
import pytest
from small_scenes import closed_box, flat_snapshot, floor_and_ceiling, lamp_in_box, quad
from stored_flux import total_flux

import tracecore
from renderer.drivers.driver import RenderSettings
from renderer.drivers.pass_photons import photon_task
from renderer.photons.photon_map import PHOTON, PHOTON_NORMAL, SURFACES_LEFT
from renderer.photons.tracing import trace_photons
from renderer.scene.packed_scene import pack_scene
from scenes.lights import PointLight
from scenes.model import Material
from shaders.octahedral import unpack_unit
from tracecore.workers.pool import WorkerPool

WHITE, BLACK = Material(diffuse=(0.9, 0.9, 0.9)), Material(diffuse=(0.0, 0.0, 0.0))


class Shooter:
    """Photons of one scene, shot by the pass."""

    def __init__(self, snapshot, *, max_bounces=200, min_bounces=0, threads=2, batch_rays=4096, seed=5):
        self.scene = pack_scene(snapshot)
        settings = RenderSettings(width=8, height=8, seed=seed, max_bounces=max_bounces)
        self.task = photon_task(self.scene, settings, 0, min_bounces)
        self.tracer = tracecore.open_tracer(snapshot.positions, device="cpu", threads=threads)
        self.pool = WorkerPool(self.tracer, threads, batch_rays)

    def __call__(self, photons, sequence=0):
        return trace_photons(self.scene, self.task._replace(sequence=sequence), self.pool, range(photons))

    def watts(self, traced):
        """(3,) flux of all stored photons."""
        return total_flux(traced.stored) * self.task.flux_unit / traced.counts.emitted


def assert_balanced(counts):
    assert counts.emitted == counts.absorbed + counts.escaped + counts.terminated


def z_score(samples, expected):
    """Deviation of the mean of (n, ...) samples from what is expected, in standard errors."""
    error = samples.std(axis=0, ddof=1) / math.sqrt(len(samples))
    return np.abs(samples.mean(axis=0) - expected) / error


def test_paths_are_cut_after_so_many_surfaces():
    """In a closed box of albedo p, n surfaces: 1 + p + ... + p^(n - 1) rays a photon, and p^n are cut."""
    traced = Shooter(lamp_in_box(albedo=(0.6, 0.6, 0.6)), max_bounces=3)(20_000)
    assert_balanced(traced.counts)
    assert traced.counts.stored == traced.rays
    assert traced.rays / 20_000 == pytest.approx(1.0 + 0.6 + 0.36, abs=0.03)
    assert traced.counts.terminated / 20_000 == pytest.approx(0.216, abs=0.015)


def test_the_flux_in_the_map_is_that_of_all_orders_of_reflection():
    shoot = Shooter(lamp_in_box(albedo=(0.4, 0.5, 0.6)))
    watts = np.array([shoot.watts(shoot(4_000, sequence)) for sequence in range(24)])
    emitted = 4.0 * math.pi * np.array([1.0, 2.0, 3.0])
    assert np.all(z_score(watts, emitted / (1.0 - np.array([0.4, 0.5, 0.6]))) < 4.0)
    assert np.all(watts.std(axis=0) < 0.05 * watts.mean(axis=0))


@pytest.mark.parametrize(("threads", "batch_rays"), [(1, 256), (3, 512), (3, 4096), (2, 65536)])
def test_threads_and_batches_change_no_bit(threads, batch_rays):
    expected = Shooter(lamp_in_box(), threads=1)(40_000)
    traced = Shooter(lamp_in_box(), threads=threads, batch_rays=batch_rays)(40_000)
    assert np.array_equal(traced.stored, expected.stored)
    assert traced.counts == expected.counts


def test_passes_and_seeds_have_photons_of_their_own():
    """Where photons land first is decided by their emission, how many go on from there by their scattering."""
    runs = [Shooter(lamp_in_box(), max_bounces=1, seed=seed) for seed in (5, 6)]
    traced = [runs[0](2_000, sequence) for sequence in range(4)] + [runs[1](2_000)]
    places = [run.stored.view(PHOTON)["position"].reshape(-1, 3) for run in traced]
    for other in places[1:]:
        assert not np.any(np.all(places[0] == other, axis=1))
    assert len({run.counts.terminated for run in traced[:4]}) > 1
    assert (
        len({shoot(2_000, s).counts.terminated - runs[0](2_000, s).counts.terminated for shoot in runs for s in (0, 1)})
        > 1
    )


def test_passes_of_one_photon_are_enough():
    """The mean over passes is right whatever the number of photons in each: the light that the photon comes from
    changes from pass to pass, and so does the rounding of a channel less than a step of the packed flux."""
    red = PointLight(position=(0.5, 0.5, 0.5), intensity=(3.0, 0.0, 3.0 / 700.0))
    green = PointLight(position=(0.4, 0.5, 0.6), intensity=(0.0, 1.0, 0.0))
    box = flat_snapshot(closed_box(), [Material(diffuse=(0.5, 0.5, 0.5))], lights=[red, green])
    shoot = Shooter(box, max_bounces=1, threads=1)
    watts = np.array([shoot.watts(shoot(1, sequence)) for sequence in range(1000)])
    assert np.all(z_score(watts, 4.0 * math.pi * np.array([3.0, 1.0, 3.0 / 700.0])) < 4.0)


def test_a_photon_knows_where_it_landed_and_where_it_came_from():
    lamp = PointLight(position=(0.3, 0.6, 0.5), intensity=(1.0, 1.0, 1.0))
    snapshot = floor_and_ceiling(materials=[WHITE], lights=[lamp])
    snapshot.normals[:] = (0.6, 0.0, 0.8)  # the photon keeps the flat one
    stored = Shooter(snapshot, max_bounces=1)(2_000).stored.view(PHOTON).ravel()
    assert len(stored) > 500
    for photon in stored[:200]:
        x, y, z = photon["position"].astype(np.float64)
        assert min(z, 1.0 - z) == pytest.approx(0.0, abs=1e-6)
        assert (min(x, y), max(x, y)) == (pytest.approx(0.5, abs=0.5 + 1e-6), pytest.approx(0.5, abs=0.5 + 1e-6))
        away = np.array(lamp.position) - (x, y, z)
        assert math.dist(unpack_unit(photon["direction"]), away / np.linalg.norm(away)) < 2e-4
        assert math.dist(unpack_unit(photon["normal"]), (0.0, 0.0, 1.0 if z < 0.5 else -1.0)) < 6e-4


@pytest.mark.parametrize("max_bounces", [1, 4, 16, 40])
def test_a_photon_tells_how_many_surfaces_are_left(max_bounces):
    """In a white box nothing else ends a path; photons of one path lie one behind the other."""
    stored = Shooter(lamp_in_box(albedo=(1.0, 1.0, 1.0)), max_bounces=max_bounces)(30).stored
    left = stored[:, PHOTON_NORMAL].reshape(30, max_bounces) & SURFACES_LEFT
    np.testing.assert_array_equal(left, np.tile(np.minimum(np.arange(max_bounces)[::-1], 15), (30, 1)))


def test_a_bent_normal_reflects_as_much_light_as_the_eye_sees():
    """From a lamp over the middle of a square the mean of cos(bent) / cos(flat) is the cosine of the tilt. The square
    then is as bright all around, which over its flat side is (1 + cos(tilt)) / 2 of a whole hemisphere."""
    tilt, height, half = math.radians(30.0), 0.7, 0.35
    low, high = 0.5 - half, 0.5 + half
    floor = quad((low, low, 0.1), (high, low, 0.1), (high, high, 0.1), (low, high, 0.1))
    lamp = PointLight(position=(0.5, 0.5, 0.1 + height), intensity=(1.0, 1.0, 1.0))
    almost_black = Material(diffuse=(1e-9, 1e-9, 1e-9))
    snapshot = flat_snapshot(
        np.concatenate([floor, closed_box()]),
        [Material(diffuse=(0.8, 0.8, 0.8)), almost_black],
        material_ids=np.repeat([0, 1], [2, 12]),
        lights=[lamp],
    )
    snapshot.normals[:2] = (math.sin(tilt), 0.0, math.cos(tilt))
    shoot = Shooter(snapshot, min_bounces=1)
    passes = [shoot(8_000, sequence) for sequence in range(24)]
    watts = np.array([shoot.watts(traced)[0] for traced in passes])
    received = 4.0 * math.asin(half**2 / (half**2 + height**2))
    expected = received * 0.8 * math.cos(tilt) * (1.0 + math.cos(tilt)) / 2.0
    # The tilt of a photon's flux is limited to 4, which costs less than a hundredth here.
    assert abs(watts.mean() / expected - 1.0) < 0.01 + 4.0 * watts.std() / math.sqrt(24) / expected
    landed = passes[0].stored.view(PHOTON)["position"].reshape(-1, 3)
    assert landed[:, 2].min() >= 0.1  # nothing goes through


def test_batches_stay_full_until_all_photons_are_under_way():
    shoot = Shooter(lamp_in_box(), threads=1, batch_rays=1024)
    traced = shoot(100_000)
    assert shoot.tracer.statistics().batches < 1.1 * traced.rays / 1024 + 50


def test_lights_get_photons_in_proportion_to_power():
    weak = PointLight(position=(0.2, 0.5, 0.01), intensity=(1.0, 1.0, 1.0))
    strong = PointLight(position=(0.8, 0.5, 0.01), intensity=(9.0, 9.0, 9.0))
    shoot = Shooter(floor_and_ceiling(materials=[WHITE], lights=[weak, strong]), max_bounces=1)
    positions = shoot(20_000).stored.view(PHOTON)["position"].reshape(-1, 3)
    on_floor = positions[positions[:, 2] < 0.001]
    left = np.mean(on_floor[:, 0] < 0.5)
    assert abs(left - 0.1) < 0.01
