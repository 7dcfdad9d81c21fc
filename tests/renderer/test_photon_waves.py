"""Photons that a GPU traces and shades in waves: those that threads of the CPU shade, and where it cannot be."""

import contextlib

import numpy as np
import pytest

import tracecore
from renderer.drivers.driver import RenderSettings
from renderer.drivers.pass_photons import WHOLE, photon_task
from renderer.drivers.photon import PhotonDriver
from renderer.gpu import photon_maps, photon_waves
from renderer.gpu.photon_waves import PhotonWaves, why_not
from renderer.photons.importance import IMPORTON_BOUNCES, NEEDED_SPHERES, PILOT, seen_from
from renderer.photons.store import PHOTON_RAYS
from renderer.photons.targets import MOST_TARGETS
from renderer.photons.tracing import trace_photons
from renderer.scene.packed_scene import pack_camera, pack_scene
from scenes import load
from tracecore.cuda.device import gpu_unavailable_reason
from tracecore.workers.pool import WorkerPool


@contextlib.contextmanager
def gpu_tracer(name, kernel):
    if reason := gpu_unavailable_reason():
        pytest.skip(reason)
    snapshot = load(name).snapshot(0.0)
    scene = pack_scene(snapshot)
    task = photon_task(scene, RenderSettings(width=1, height=1), 0, min_bounces=0)
    with tracecore.open_tracer(snapshot.positions, device="gpu", kernel=kernel) as tracer:
        yield tracer, scene, task


@pytest.mark.gpu
@pytest.mark.parametrize(
    ("name", "kernel"), [("cornell", "while-while"), ("kitchen", "compressed-bvh8"), ("outdoor", "warp-bvh4")]
)
def test_waves_store_the_photons_of_the_loops_bit_for_bit(name, kernel):
    with gpu_tracer(name, kernel) as (tracer, scene, task), contextlib.closing(WorkerPool(tracer)) as pool:
        waves = PhotonWaves(tracer, scene, task)
        for photons in (range(100_000, 100_001), range((5 << 32) - 9_000, 5 << 32), range(200_000)):
            expected, stored = trace_photons(scene, task, pool, photons), waves.trace(photons)
            np.testing.assert_array_equal(stored.ordered, expected.stored)
            assert stored.counters[PHOTON_RAYS] == expected.rays
            assert stored.counters[0] == expected.counts.emitted == len(photons)
        rays = waves.sample_rays()
        assert len(rays) > 0
        assert np.isfinite(tracer.closest_hit(rays)[:, 0]).any()


@pytest.mark.gpu
@pytest.mark.parametrize("name", ["outdoor", "vases"])
def test_importons_of_waves_are_those_of_the_loops(name):
    """They leave the eye in place of the lights, and go on less often than photons do."""
    with gpu_tracer(name, "while-while") as (tracer, scene, task), contextlib.closing(WorkerPool(tracer)) as pool:
        camera = pack_camera(load(name).snapshot(0.0).camera, 64, 48, "box")
        seen = seen_from(scene, camera)
        pilot = task._replace(sequence=PILOT, min_bounces=1, max_bounces=IMPORTON_BOUNCES, flux_unit=1.0)
        waves, photons = PhotonWaves(tracer, scene, task), range(20_000)
        expected, stored = trace_photons(seen, pilot, pool, photons).stored, waves.stored(seen, pilot, photons)
        again = waves.stored(scene, task, photons)
        np.testing.assert_array_equal(stored, expected)
        assert len(expected) > 1000
        np.testing.assert_array_equal(again, trace_photons(scene, task, pool, photons).stored)


@pytest.mark.gpu
def test_photons_that_the_gpu_has_no_room_for_come_to_the_host_meanwhile(monkeypatch):
    monkeypatch.setattr(photon_waves, "MOST_PHOTONS", 1)
    with gpu_tracer("cornell", "while-while") as (tracer, scene, task), contextlib.closing(WorkerPool(tracer)) as pool:
        waves = PhotonWaves(tracer, scene, task)
        photons = range(12 * waves.rays_at_once)
        expected, stored = trace_photons(scene, task, pool, photons), waves.trace(photons)
        counted = waves.trace(photons, is_kept=False)
    np.testing.assert_array_equal(stored.ordered, expected.stored)
    np.testing.assert_array_equal(counted.counters, stored.counters)
    assert len(counted.ordered) == 0


def test_only_the_tracer_of_a_gpu_has_one_to_shade_on():
    snapshot = load("cornell").snapshot(0.0)
    with tracecore.open_tracer(snapshot.positions, device="cpu", threads=1) as tracer:
        assert why_not(pack_scene(snapshot), tracer) == "only the tracer of a GPU has one to shade on (--device gpu)"


def test_lanes_have_memory_for_all_places_that_a_pilot_finds():
    """A street with panes has as many as there may be."""
    snapshot, settings = load("street").snapshot(0.0), RenderSettings(width=32, height=24, threads=1)
    with tracecore.open_tracer(snapshot.positions, device="cpu", threads=1) as tracer:
        driver = PhotonDriver(snapshot, tracer, settings)
        scene, task = driver.photon_requests(0)[WHOLE]
        driver.close()
    assert len(scene.photon_scene.projection.targets) == NEEDED_SPHERES + MOST_TARGETS
    wave = photon_waves.new_wave(np, scene, task, (1, 1), 1)
    assert wave.guides.shape[2] >= len(scene.photon_scene.projection.targets)


def test_maps_of_few_photons_are_sorted_in_one_row(monkeypatch):
    monkeypatch.setattr(photon_maps, "ROW_PHOTONS", 10)
    works = [photon_maps.no_work()._replace(photons=photons) for photons in (5, 5, 20, 1, 2)]
    assert photon_maps.rows_to_sort(works) == [[0, 1], [2], [3, 4]]
