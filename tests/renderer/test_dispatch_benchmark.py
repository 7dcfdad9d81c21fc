"""The benchmark of dispatch: what it measures, and how it shows that."""

import numpy as np
import pytest
from small_scenes import lamp_in_box

import tracecore
from renderer.bench import dispatch_benchmark
from renderer.bench.dispatch_benchmark import rows, table
from renderer.scene.packed_scene import pack_scene
from tracecore.errors import WrongHitError
from tracecore.tracers.polled import PolledTracer
from tracecore.tracers.verified import Judge


def test_every_size_and_number_in_flight_that_fits_is_measured(monkeypatch):
    monkeypatch.setattr(dispatch_benchmark, "BATCHES", (256, 512))
    monkeypatch.setattr(dispatch_benchmark, "IN_FLIGHT", (1, 4))
    monkeypatch.setattr(dispatch_benchmark, "MOST_RAYS", 2 * 4 * 256)
    snapshot = lamp_in_box()
    with tracecore.open_tracer(snapshot.positions, device="cpu", threads=2) as tracer:
        judge = Judge(tracer, len(snapshot.positions), 1.0)
        found = list(rows(tracer, judge, pack_scene(snapshot), 2_000, 2))
    assert [(row["batch_rays"], row["in_flight"]) for row in found] == [(256, 1), (256, 4), (512, 1)]
    assert all(row["rays_per_second"] > 0.0 for row in found)
    assert {row["dispatch"] for row in found} == {"direct"}


class PlayedDevice(PolledTracer):
    """A device other than the CPU, whose hits are so many times as far away as they should be."""

    def __init__(self, tracer, factor):
        super().__init__(tracer)
        self.device, self._factor = "played", np.float32(factor)

    def _trace(self, rays, hits, query):
        invalid = super()._trace(rays, hits, query)
        hits[:, 0] *= self._factor
        return invalid


def test_hits_are_compared_before_anything_is_timed(monkeypatch):
    monkeypatch.setattr(dispatch_benchmark, "BATCHES", (256,))
    monkeypatch.setattr(dispatch_benchmark, "IN_FLIGHT", (2,))
    snapshot = lamp_in_box()
    scene = pack_scene(snapshot)
    with tracecore.open_tracer(snapshot.positions, device="cpu", threads=1) as tracer:
        judge = Judge(tracer, len(snapshot.positions), 1.0)
        (row,) = rows(PlayedDevice(tracer, 1.0), judge, scene, 500, 1)
        assert row["rays_per_second"] > 0.0
        monkeypatch.setattr(dispatch_benchmark, "rate", None)
        with pytest.raises(WrongHitError, match="kernel 'bvh8' is wrong: ray 0 of batch 0 of thread 0 hits triangle"):
            next(rows(PlayedDevice(tracer, 1.001), judge, scene, 500, 1))


FOUND = [
    {"dispatch": "resident", "batch_rays": 256, "in_flight": 1, "rays_per_second": 12.4e6},
    {"dispatch": "resident", "batch_rays": 256, "in_flight": 64, "rays_per_second": 123.6e6},
    {"dispatch": "streamed", "batch_rays": 65536, "in_flight": 2, "rays_per_second": 7.0e6},
]


def test_the_table_has_a_line_for_each_size_and_a_column_for_each_number_in_flight():
    lines = table(FOUND).splitlines()
    assert lines[0].split()[-7:] == ["1", "2", "4", "8", "16", "32", "64"]
    assert lines[1].split() == ["resident", "256", "12", "-", "-", "-", "-", "-", "124"]
    assert lines[-1].split() == ["streamed", "65536", "-", "7", "-", "-", "-", "-", "-"]
    assert len(lines) == 1 + 2 * 5
