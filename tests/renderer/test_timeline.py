"""The timeline: a Chrome trace that holds what the threads' logs and counters hold."""

import contextlib
import json
from itertools import pairwise

import numpy as np
import pytest
from small_scenes import lamp_in_box

import renderer
import tracecore
from renderer.drivers.driver import RenderSettings
from renderer.drivers.pass_photons import photon_task
from renderer.photons.tracing import trace_photons
from renderer.run import timeline
from renderer.scene.packed_scene import pack_scene
from renderer.settings.picture import Settings
from tracecore.dispatch.port import LOG_IN_FLIGHT, LOG_SHADING, LOG_WAITING, PORT_BATCHES
from tracecore.workers.pool import Log, WorkerPool

MADE_UP = [
    Log(
        np.array(
            [[LOG_SHADING, 0, 5000, 9000, 0], [LOG_IN_FLIGHT, 1, 8500, 9750, 300], [LOG_WAITING, 0, 9000, 9750, 0]]
        ),
        0,
    ),
    Log(np.array([[LOG_SHADING, 2, 4000, 4500, 0], [LOG_IN_FLIGHT, 0, 4500, 6000, 77]]), 12),
]


def events(trace, **wanted):
    return [event for event in trace["traceEvents"] if all(event.get(key) == wanted[key] for key in wanted)]


def by_row(spans):
    return {row: [span for span in spans if span["tid"] == row] for row in {span["tid"] for span in spans}}


@pytest.fixture(params=["cpu", "brute"])
def run(request, tmp_path):
    """The counters of a run on two threads, and its timeline."""
    snapshot = lamp_in_box()
    scene = pack_scene(snapshot)
    task = photon_task(scene, RenderSettings(width=8, height=8), 0, 0)
    with tracecore.open_tracer(snapshot.positions, device=request.param, threads=2) as tracer:
        pool = WorkerPool(tracer, 2, 256, log_rows=4096)
        trace_photons(scene, task, pool, range(5000))
        timeline.write(tmp_path / "a.json", pool.logs())
        return [worker.port.counters for worker in pool.workers], json.loads((tmp_path / "a.json").read_text())


def test_made_up_logs():
    trace = timeline.trace(MADE_UP)
    names = {event["tid"]: event["args"]["name"] for event in events(trace, name="thread_name")}
    assert sorted(names.values()) == ["thread 0", "thread 0, slot 1", "thread 1", "thread 1, slot 0"]
    figures = [(names[e["tid"]], e["name"], e["ts"], e["dur"], e.get("args")) for e in events(trace, ph="X")]
    assert sorted(figures, key=lambda row: row[:3]) == [
        ("thread 0", "shading", 1.0, 4.0, None),
        ("thread 0", "waiting", 5.0, 0.75, None),
        ("thread 0, slot 1", "batch", 4.5, 1.25, {"rays": 300}),
        ("thread 1", "shading", 0.0, 0.5, None),
        ("thread 1, slot 0", "batch", 0.5, 1.5, {"rays": 77}),
    ]
    assert list(trace["otherData"].values())[-1] == {"thread 0": 0, "thread 1": 12}


def test_nothing_in_a_row_overlaps(run):
    _, trace = run
    for spans in by_row(events(trace, ph="X")).values():
        spans.sort(key=lambda span: span["ts"])
        for before, after in pairwise(spans):
            assert before["ts"] + before["dur"] <= after["ts"] + 1e-6  # microseconds


@contextlib.contextmanager
def pool_of_one_thread(photons, log_rows):
    """A pool that has had photons traced on the CPU."""
    snapshot = lamp_in_box()
    scene = pack_scene(snapshot)
    task = photon_task(scene, RenderSettings(width=8, height=8), 0, 0)
    with tracecore.open_tracer(snapshot.positions, device="cpu", threads=1) as tracer:
        pool = WorkerPool(tracer, 1, 256, log_rows=log_rows)
        trace_photons(scene, task, pool, range(photons))
        yield pool


def test_a_cpu_that_traces_in_place_does_so_between_its_shading():
    """What a thread does in one row and in the other row do not overlap either."""
    with pool_of_one_thread(photons=2000, log_rows=4096) as pool:
        ((rows, dropped, _),) = pool.logs()
    rows = rows[np.argsort(rows[:, 2])]
    assert dropped == 0
    assert set(rows[:, 0].tolist()) == {LOG_SHADING, LOG_IN_FLIGHT}
    assert np.all(rows[:-1, 3] <= rows[1:, 2])


def test_a_picture_has_a_timeline(tmp_path):
    """What a thread does beside its loops is in the same row: it lies beside all else there, or within."""
    path = tmp_path / "a.json"
    settings = Settings(driver="photon", size=(16, 12), passes=5, photons=500, threads=2, device="cpu", timeline=path)
    renderer.render("cornell", settings)
    trace = json.loads(path.read_text())
    assert {span["name"] for span in events(trace, ph="X")} == {"shading", "batch", "map", "idle", "other"}
    rows = by_row(events(trace, ph="X"))
    threads = [row for row in rows if row % timeline.THREAD_ROWS == 0]  # a thread that came late may have no row
    assert 1 <= len(threads) <= 2
    for thread in threads:
        for before, after in pairwise(sorted(rows[thread], key=lambda span: span["ts"])):
            end = before["ts"] + before["dur"]
            assert end <= after["ts"] + 1.0 or after["ts"] + after["dur"] <= end + 1.0  # microseconds


def test_a_full_log_says_how_much_is_missing(tmp_path):
    with pool_of_one_thread(photons=5000, log_rows=10) as pool:
        batches = pool.workers[0].port.counters[PORT_BATCHES]
        timeline.write(tmp_path / "a.json", pool.logs())
    trace = json.loads((tmp_path / "a.json").read_text())
    assert len(events(trace, ph="X")) == 10
    (dropped,) = list(trace["otherData"].values())[-1].values()
    assert dropped > batches
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["a.json"]
