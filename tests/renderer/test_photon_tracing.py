"""Photons: every one is accounted for, and the flux that lands is the flux that theory says."""

import math

import numpy as np
import pytest
from small_scenes import floor_and_ceiling, lamp_in_box

import tracecore
from renderer.driver import RenderSettings
from renderer.drivers import photon_task
from renderer.errors import UsageError
from renderer.feeding import Feeder
from renderer.headline import trace_until_stored
from renderer.packed_scene import pack_scene
from renderer.photon_map import PHOTON, total_flux
from renderer.photon_tracing import trace_photons
from scenes.model import Material, PointLight

WHITE, BLACK = Material(diffuse=(0.9, 0.9, 0.9)), Material(diffuse=(0.0, 0.0, 0.0))


class Shooter:
    """Photons of one scene, shot by the pass."""

    def __init__(self, snapshot, *, max_bounces=200, min_bounces=0, threads=2, batch_rays=4096):
        self.scene = pack_scene(snapshot)
        settings = RenderSettings(width=8, height=8, seed=5, max_bounces=max_bounces)
        self.task = photon_task(self.scene, settings, 0, min_bounces)
        self.tracer = tracecore.open_tracer(snapshot.positions, device="cpu", threads=threads)
        self.feeder = Feeder(self.tracer, threads, batch_rays)

    def __call__(self, photons, sequence=0):
        return trace_photons(self.scene, self.task._replace(sequence=sequence), self.feeder, range(photons))

    def watts(self, traced):
        """(3,) flux of all stored photons."""
        return total_flux(traced.stored) * self.task.flux_unit / traced.counts.emitted


def assert_balanced(counts):
    assert counts.emitted == counts.absorbed + counts.escaped + counts.terminated


def z_score(samples, expected):
    """Deviation of the mean of (n, ...) samples from what is expected, in standard errors."""
    error = samples.std(axis=0, ddof=1) / math.sqrt(len(samples))
    return np.abs(samples.mean(axis=0) - expected) / error


def test_the_books_balance_in_a_closed_box():
    traced = Shooter(lamp_in_box())(30_000)
    assert traced.counts.emitted == traced.counts.absorbed == 30_000
    assert_balanced(traced.counts)
    # In a closed diffuse box every ray lands, and every landing is stored.
    assert traced.counts.stored == traced.rays == len(traced.stored)


def test_the_books_balance_where_paths_are_cut_and_light_escapes():
    lamp = PointLight(position=(0.5, 0.5, 0.5), intensity=(1.0, 1.0, 1.0))
    traced = Shooter(floor_and_ceiling(materials=[WHITE], lights=[lamp]), max_bounces=1)(20_000)
    assert_balanced(traced.counts)
    assert traced.rays == traced.counts.emitted == 20_000
    landed = traced.counts.absorbed + traced.counts.terminated
    assert traced.counts.stored == landed
    # Two faces of a cube, seen from its middle, are a third of all directions.
    assert abs(landed - 20_000 / 3) < 4.0 * math.sqrt(20_000 * 2 / 9)
    assert abs(traced.counts.terminated - 0.9 * landed) < 4.0 * math.sqrt(landed * 0.09)


def test_photons_find_the_form_factor_of_parallel_squares():
    glowing = Material(diffuse=(0.0, 0.0, 0.0), emission=(1.0, 2.0, 4.0))
    traced = Shooter(floor_and_ceiling(materials=[glowing, WHITE]), max_bounces=1)(200_000)
    # Unit squares at distance 1: F = 0.199825 (Howell: A Catalog of Radiation Heat Transfer Configuration Factors).
    share = 1.0 - traced.counts.escaped / traced.counts.emitted
    assert abs(share - 0.199825) < 4.0 * math.sqrt(0.2 * 0.8 / 200_000)


def test_the_flux_in_the_map_is_that_of_all_orders_of_reflection():
    shoot = Shooter(lamp_in_box(albedo=(0.4, 0.5, 0.6)))
    watts = np.array([shoot.watts(shoot(4_000, sequence)) for sequence in range(24)])
    emitted = 4.0 * math.pi * np.array([1.0, 2.0, 3.0])
    assert np.all(z_score(watts, emitted / (1.0 - np.array([0.4, 0.5, 0.6]))) < 4.0)
    assert np.all(watts.std(axis=0) < 0.05 * watts.mean(axis=0))


def test_photons_straight_from_the_light_can_be_left_out():
    everything = Shooter(lamp_in_box())(5_000)
    indirect = Shooter(lamp_in_box(), min_bounces=1)(5_000)
    assert indirect.counts.stored == everything.counts.stored - 5_000
    assert indirect.rays == everything.rays


def test_nothing_is_stored_on_black_surfaces():
    lamp = PointLight(position=(0.5, 0.5, 0.5), intensity=(1.0, 1.0, 1.0))
    traced = Shooter(floor_and_ceiling(materials=[WHITE, BLACK], lights=[lamp]))(5_000)
    heights = traced.stored.view(PHOTON)["position"][..., 2]
    assert len(heights) > 500
    assert np.all(heights < 0.5)
    assert_balanced(traced.counts)


@pytest.mark.parametrize(("threads", "batch_rays"), [(1, 256), (3, 4096), (2, 65536)])
def test_threads_and_batches_change_no_bit(threads, batch_rays):
    expected = Shooter(lamp_in_box(), threads=1)(40_000)
    traced = Shooter(lamp_in_box(), threads=threads, batch_rays=batch_rays)(40_000)
    assert np.array_equal(traced.stored, expected.stored)
    assert traced.counts == expected.counts


def test_a_pass_has_photons_of_its_own():
    shoot = Shooter(lamp_in_box())
    assert not np.array_equal(shoot(100, 0).stored[:50], shoot(100, 1).stored[:50])


def test_lights_get_photons_in_proportion_to_power():
    weak = PointLight(position=(0.2, 0.5, 0.01), intensity=(1.0, 1.0, 1.0))
    strong = PointLight(position=(0.8, 0.5, 0.01), intensity=(9.0, 9.0, 9.0))
    shoot = Shooter(floor_and_ceiling(materials=[WHITE], lights=[weak, strong]), max_bounces=1)
    positions = shoot(20_000).stored.view(PHOTON)["position"].reshape(-1, 3)
    on_floor = positions[positions[:, 2] < 0.001]
    left = np.mean(on_floor[:, 0] < 0.5)
    assert abs(left - 0.1) < 0.01


def test_tracing_until_so_many_are_stored():
    snapshot = lamp_in_box()
    runs = []
    for threads in (1, 3):
        with tracecore.open_tracer(snapshot.positions, device="cpu", threads=threads) as tracer:
            settings = RenderSettings(width=8, height=8, threads=threads)
            runs.append(trace_until_stored(snapshot, tracer, settings, 100_000))
    one, other = runs
    assert 100_000 <= one.work.photons.stored == len(one.photons) < 103_000
    assert np.array_equal(one.photons, other.photons)
    assert one.work.photons == other.work.photons
    assert_balanced(one.work.photons)
    assert one.work.rays.photon > 0
    assert one.seconds > 0.0


def test_a_scene_without_light_has_no_photons_to_trace():
    snapshot = floor_and_ceiling(materials=[WHITE])
    with (
        tracecore.open_tracer(snapshot.positions, device="cpu", threads=1) as tracer,
        pytest.raises(UsageError, match="no light"),
    ):
        trace_until_stored(snapshot, tracer, RenderSettings(width=8, height=8), 10)


def test_a_scene_without_diffuse_surfaces_stores_nothing_and_says_so():
    mirror = Material(kind="mirror", specular=(0.5, 0.5, 0.5))
    lamp = PointLight(position=(0.5, 0.5, 0.5), intensity=(1.0, 1.0, 1.0))
    snapshot = floor_and_ceiling(materials=[mirror], lights=[lamp])
    with (
        tracecore.open_tracer(snapshot.positions, device="cpu", threads=1) as tracer,
        pytest.raises(UsageError, match="diffuse"),
    ):
        trace_until_stored(snapshot, tracer, RenderSettings(width=8, height=8), 10)
