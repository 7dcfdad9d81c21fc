"""Photon runs: as many photons as asked for, whatever traces them, and a clock that knows what it times."""

import numpy as np
import pytest
from small_scenes import floor_and_ceiling, lamp_in_box
from stored_flux import total_flux

import tracecore
from renderer.drivers.driver import RenderSettings
from renderer.drivers.pass_photons import photon_task
from renderer.errors import UsageError
from renderer.gpu import photon_waves
from renderer.gpu.photon_waves import StoredOnGpu
from renderer.photons.counts import PhotonCounts
from renderer.photons.tracing import trace_photons
from renderer.run.containment import Containment
from renderer.run.photon_run import local_tracing
from renderer.run.photon_run.rounds import PILOT_PARTS, photons_to_emit
from renderer.run.photon_run.trace_until_stored import trace_until_stored
from renderer.scene.packed_scene import pack_scene
from renderer.scene.render_context import RenderContext
from scenes.lights import PointLight
from scenes.model import Material
from tracecore.errors import KernelError
from tracecore.rays import make_rays
from tracecore.workers.pool import WorkerPool


def run_until(photons, *, snapshot=None, threads=1, repeat=1, is_kept=True, **settings):
    snapshot = snapshot or lamp_in_box()
    with tracecore.open_tracer(snapshot.positions, device="cpu", threads=threads) as tracer:
        chosen = RenderSettings(width=8, height=8, threads=threads, **settings)
        context = RenderContext(
            snapshot=snapshot, tracer=tracer, load_seconds=0.0, build_seconds=0.0, kernel_choice="named"
        )
        return trace_until_stored(Containment(context, None), chosen, photons, repeat=repeat, is_kept=is_kept)


def trace_at_once(snapshot, photons, *, seed):
    """What one round without a pilot gives."""
    scene = pack_scene(snapshot)
    task = photon_task(scene, RenderSettings(width=8, height=8, seed=seed), 0, 0)
    with tracecore.open_tracer(snapshot.positions, device="cpu", threads=2) as tracer:
        return trace_photons(scene, task, WorkerPool(tracer), range(photons))


def counted(emitted, stored):
    return PhotonCounts(emitted=emitted, stored=stored, absorbed=emitted)


@pytest.fixture
def rounds(monkeypatch):
    """The ranges of photons that are asked for."""
    asked = []

    def noted(scene, task, pool, photons, *rest):
        asked.append(photons)
        return trace_photons(scene, task, pool, photons, *rest)

    monkeypatch.setattr(local_tracing, "trace_photons", noted)
    return asked


def test_enough_photons_are_stored_and_hardly_more():
    runs = [run_until(100_000, threads=threads) for threads in (1, 3)]
    one, other = runs
    assert 100_000 <= one.work.photons.stored == len(one.photons) < 108_000
    assert np.array_equal(one.photons, other.photons)
    assert one.work.photons == other.work.photons
    counts = one.work.photons
    assert counts.emitted == counts.absorbed + counts.escaped + counts.terminated


def test_photons_that_nobody_keeps_are_counted():
    kept, counted = (run_until(20_000, threads=2, is_kept=is_kept) for is_kept in (True, False))
    assert counted.work.photons == kept.work.photons
    assert (len(kept.photons), len(counted.photons)) == (kept.work.photons.stored, 0)


def test_a_range_is_sent_out_whatever_is_stored(rounds):
    run = run_until(range(5_000, 25_000))
    assert run.work.photons.emitted == 20_000
    assert [photons.start for photons in rounds] == [5_000, 5_000 + 20_000 // 16]
    assert rounds[-1].stop == 25_000


def test_pilot_and_rounds_are_one_run(rounds):
    snapshot = lamp_in_box(albedo=(0.4, 0.5, 0.6))
    run = run_until(50_000, snapshot=snapshot, threads=2, seed=5)
    assert [photons.start for photons in rounds[1:]] == [photons.stop for photons in rounds[:-1]]
    expected = trace_at_once(snapshot, rounds[-1].stop, seed=5)
    assert np.array_equal(run.photons, expected.stored)
    assert run.work.photons == expected.counts
    assert run.work.rays.photon == expected.rays
    watts = 4.0 * np.pi * np.array([1.0, 2.0, 3.0]) / (1.0 - np.array([0.4, 0.5, 0.6]))
    np.testing.assert_allclose(total_flux(run.photons) * run.scale, watts, rtol=0.03)


def test_the_rounds_are_timed(rounds):
    run = run_until(50_000, threads=2)
    timed = run.rays
    assert 0 < timed < run.work.rays.photon
    # The pilot's share of the rays is about that of its photons.
    pilot = rounds[PILOT_PARTS - 1].stop / rounds[-1].stop
    assert timed / run.work.rays.photon == pytest.approx(1.0 - pilot, abs=0.02)
    assert run.work.bytes_up == 24 * timed
    assert 8 * timed <= run.work.bytes_down <= 16 * timed
    assert 0.0 < run.work.trace_seconds + run.work.shade_seconds <= run.seconds
    assert run.work.wait_seconds == 0.0
    assert run.busy_seconds == pytest.approx(run.work.trace_seconds)
    assert run.sample.shape[0] > 0
    assert len(run.logs) == 2


def test_an_interrupt_of_a_repetition_keeps_the_runs_before(monkeypatch, rounds):
    def interrupted(*arguments):
        if len(rounds) == PILOT_PARTS + 3:
            raise KeyboardInterrupt
        return noted(*arguments)

    noted = local_tracing.trace_photons
    monkeypatch.setattr(local_tracing, "trace_photons", interrupted)
    run = run_until(30_000, repeat=9)
    assert not run.finished
    assert len(run.rates) == 3
    assert run.work.photons.stored >= 30_000


def test_an_interrupt_keeps_what_is_finished(monkeypatch):
    """A Ctrl-C amid a round: its photons are lost, but its rays and its time are in the clock."""

    def interrupted(scene, task, pool, photons, *rest):
        traced = trace_photons(scene, task, pool, photons, *rest)
        if photons.start >= 6250 - 6250 % PILOT_PARTS:
            raise KeyboardInterrupt
        return traced

    monkeypatch.setattr(local_tracing, "trace_photons", interrupted)
    run = run_until(100_000)
    assert not run.finished
    assert run.work.photons.emitted == 6240
    assert len(run.photons) == run.work.photons.stored
    assert run.rays > 100_000 - 15_000 - run.work.photons.stored
    assert run.seconds > 0.0
    assert run.work.trace_seconds > 0.0


def test_an_interrupt_of_the_pilot_leaves_the_clock_at_zero(monkeypatch):
    def interrupted(scene, task, pool, photons, *rest):
        if photons.start > 0:
            raise KeyboardInterrupt
        return trace_photons(scene, task, pool, photons, *rest)

    monkeypatch.setattr(local_tracing, "trace_photons", interrupted)
    run = run_until(100_000)
    assert run.work.photons.emitted == 6250 // PILOT_PARTS
    assert (run.finished, run.seconds, run.rays) == (False, 0.0, 0)


# How many photons to emit


def test_photons_to_emit_with_a_margin_of_three_standard_errors():
    """Means by 2, of 4 parts: stored 180, 220, 180, 220 of 100 photons each. The sums vary by 1600 / 3, so a photon by
    16 / 3. 1200 missing are 600 photons, give or take sqrt(16 / 3 * (600 + 600^2 / 400)) / 2."""
    pilot = [counted(100, stored) for stored in (180, 220, 180, 220)]
    margin = 3.0 * np.sqrt(16.0 / 3.0 * 1500.0) / 2.0
    assert photons_to_emit(pilot, counted(400, 800), 2000) == int(np.ceil(600.0 + margin))
    # Once more have been emitted the mean is known better, which leaves the variance of the photons to come.
    margin = 3.0 * np.sqrt(16.0 / 3.0 * (600.0 + 0.36)) / 2.0
    assert photons_to_emit(pilot, counted(1_000_000, 2_000_000), 2_001_200) == int(np.ceil(600.0 + margin))


# What cannot be traced


def test_a_scene_without_light_has_no_photons_to_trace():
    with pytest.raises(UsageError, match="no light"):
        run_until(10, snapshot=floor_and_ceiling(materials=[Material(diffuse=(0.9, 0.9, 0.9))]))


def test_a_scene_without_diffuse_surfaces_stores_nothing_and_says_so():
    mirror = Material(kind="mirror", specular=(0.5, 0.5, 0.5))
    lamp = PointLight(position=(0.5, 0.5, 0.5), intensity=(1.0, 1.0, 1.0))
    with pytest.raises(UsageError, match="diffuse"):
        run_until(10, snapshot=floor_and_ceiling(materials=[mirror], lights=[lamp]))


class Waves:
    """Stands for a GPU that shades: it traces as the CPU does, and fails from a photon on."""

    def __init__(self, tracer, scene, task):
        self._tracer, self._scene, self._task = tracer, scene, task

    def trace(self, photons, *, is_kept):
        if photons.stop > self.fails_at:
            raise KernelError("the GPU has fallen off the bus")
        pool = WorkerPool(self._tracer, threads=1)
        traced = trace_photons(self._scene, self._task, pool, photons)
        pool.close()
        fates = [getattr(traced.counts, name) for name in vars(traced.counts)][:6]
        return StoredOnGpu(traced.stored, np.array([*fates, traced.rays]), 2.0, 0.5, 0.0)

    def sample_rays(self):
        return make_rays([0, 0, 0], [0, 0, 1])


@pytest.mark.parametrize(("fails_at", "shading"), [(1 << 40, "gpu"), (1 << 16, "cpu"), (0, "cpu")])
def test_photons_shaded_on_the_gpu_go_on_by_the_cpu_where_it_fails(monkeypatch, fails_at, shading):
    """The same photons come out, and the counts and seconds of both are added up."""
    monkeypatch.setattr(photon_waves, "why_not", lambda scene, tracer: None)
    monkeypatch.setattr(photon_waves, "PhotonWaves", Waves)
    monkeypatch.setattr(Waves, "fails_at", fails_at, raising=False)
    monkeypatch.setattr(Containment, "recover", lambda self, error, first: None)
    mixed, expected = run_until(200_000, shading="gpu"), run_until(200_000)
    assert (mixed.shading, expected.shading) == (shading, "cpu")
    np.testing.assert_array_equal(mixed.photons, expected.photons)
    assert mixed.rays == expected.rays
    if shading == "gpu":
        assert (mixed.seconds, mixed.work.shade_seconds, mixed.busy_seconds) == (2.0, 0.5, 1.5)


def test_shading_on_a_gpu_is_refused_where_it_cannot_be():
    with pytest.raises(UsageError, match="--shading gpu: only the tracer of a GPU has one to shade on"):
        run_until(100, shading="gpu")
    assert run_until(100, shading="auto").shading == "cpu"


def test_photons_to_emit_after_a_pilot_that_stored_none():
    assert photons_to_emit([counted(100, 0)] * 4, counted(800, 0), 5) == 800


def test_parts_that_happen_to_be_equal_prove_nothing():
    pilot = [counted(100, 200)] * 4
    assert photons_to_emit(pilot, counted(400, 800), 2000) == int(np.ceil(600.0 + 3.0 * np.sqrt(2.0 * 1500.0) / 2.0))
