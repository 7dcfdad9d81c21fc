"""Rays of a driver's run, by what they are for."""

import numpy as np
import pytest
from small_scenes import inside_of_lamp_box

import tracecore
from renderer.bench.ray_recorder import DRIVER_KINDS, Recorder, Sample, are_valid, driver_rays
from renderer.drivers import DRIVERS
from renderer.drivers.driver import RenderSettings
from tracecore.rays import BATCH_RAYS, Query, make_rays
from tracecore.tracers.polled import PolledTracer

SETTINGS = RenderSettings(width=72, height=64, seed=4, threads=1, photons=3000)


@pytest.fixture(scope="module")
def box():
    return inside_of_lamp_box()


@pytest.fixture(scope="module")
def tracer(box):
    with tracecore.open_tracer(box.positions, device="cpu", threads=1) as opened:
        yield opened


@pytest.mark.parametrize("driver", ["path", "photon"])
def test_every_ray_of_a_run_is_kept_under_its_kind(box, tracer, driver):
    recorder = Recorder(1 << 20)
    with PolledTracer(tracer) as polled:
        running = DRIVERS[driver](box, polled, SETTINGS)
        running.watch(recorder.look)  # type: ignore[attr-defined]
        image = running.render_pass(0)
        running.close()
    counts = {one.kind: len(one.rays) for one in recorder.sets}
    traced = running.work.rays
    assert counts["camera"] == traced.camera == 72 * 64 > BATCH_RAYS
    assert sum(n for kind, n in counts.items() if kind.startswith("shadow")) == traced.shadow > 0
    assert sum(n for kind, n in counts.items() if kind.startswith("bounce")) == traced.bounce
    assert counts.get("photon", 0) == traced.photon
    assert (traced.photon > 0) == (driver == "photon")
    alone = DRIVERS[driver](box, tracer, SETTINGS)
    assert np.array_equal(alone.render_pass(0), image)
    alone.close()


def test_kinds_follow_from_one_another(box, tracer):
    """In a closed box with one lamp: one shadow ray from each place, and paths that get fewer."""
    sets = {one.kind: one for one in driver_rays("path", box, tracer, SETTINGS, 1 << 20)}
    assert list(sets) == [kind for kind in DRIVER_KINDS if kind in sets]
    assert np.all(sets["camera"].rays[:, :3] == np.float32(box.camera.eye))
    assert len(sets["camera"].rays) >= len(sets["bounce1"].rays) >= len(sets["bounce2"].rays) > 0
    places = {tuple(place) for place in np.round(sets["shadow1"].rays[:, :3], 4).tolist()}
    on_their_way = {tuple(place) for place in np.round(sets["bounce1"].rays[:, :3], 4).tolist()}
    assert len(on_their_way - places) <= 0.01 * len(on_their_way)
    for kind, one in sets.items():
        assert one.query == (Query.ANY if kind.startswith("shadow") else Query.CLOSEST)


def test_a_sample_is_of_all_the_run_and_no_larger_than_it_may_be():
    sample = Sample(100)
    for k in range(1000):
        sample.add(np.full((7, 8), k, np.float32))
        assert sum(map(len, sample._batches)) <= 100
    batches = np.unique(sample.rays[:, 0]).astype(int)
    assert 50 <= len(sample.rays) <= 100
    assert len(set(np.diff(batches))) == 1
    assert batches[0] == 0
    assert batches[-1] > 800


def test_a_batch_larger_than_all_that_may_be_kept_is_cut():
    sample = Sample(5)
    sample.add(np.zeros((7, 8), np.float32))
    assert sample.rays.shape == (5, 8)


def test_rays_that_are_no_numbers_are_told_apart():
    rays = make_rays(np.zeros((6, 3)), np.eye(3)[[0, 0, 0, 0, 0, 0]])
    rays[1, 2] = np.nan
    rays[2, 5] = np.inf
    rays[3, 4] = 0.0
    rays[4, 7] = np.nan
    assert are_valid(rays).tolist() == [True, False, False, False, False, True]
