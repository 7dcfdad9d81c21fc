"""Statistics: the keys that are promised, the arithmetic behind them, and what limits a run."""

import json
import math
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from data_files import data_text

from renderer.drivers.driver import RayCounts, RenderSettings, Work
from renderer.film.film import SampleCounts
from renderer.photons.counts import PhotonCounts
from renderer.run import statistics
from renderer.run.statistics import FIELDS, OF_PHOTON_RUNS, OF_PICTURES, MeasuredRun, limited_by
from renderer.version import __version__
from tracecore.dispatch.tracer import BvhStatistics, TracerLimits, TracerStatistics

DESIGN = data_text("statistics-keys.txt")
DESIGNED = DESIGN.split()


def traced() -> TracerStatistics:
    return TracerStatistics(batches=7, rays=100, busy_seconds=5.0, kernel_rays_per_second=20.0, invalid_rays=0)


def context(device: str = "gpu") -> Any:
    """Stands for a render context: only what statistics look at."""
    tracer = SimpleNamespace(
        name="bvh8",
        device=device,
        dispatch="direct",
        threads=2,
        bvh=BvhStatistics(nodes=5, bytes=640, sah_cost=12.5, build_seconds=0.25, tree_seconds=0.125),
        statistics=traced,
    )
    snapshot = SimpleNamespace(name="box", positions=np.zeros((12, 3, 3), np.float32))
    seconds = {"load_seconds": 1.0, "build_seconds": 2.0}
    return SimpleNamespace(snapshot=snapshot, tracer=tracer, **seconds, kernel_choice="named", is_refitted=True)


def work() -> Work:
    return Work(
        rays=RayCounts(camera=10, shadow=20, bounce=30, photon=40),
        photons=PhotonCounts(emitted=9, stored=11, absorbed=4, escaped=3, terminated=2),
        shade_seconds=3.0,
        trace_seconds=5.0,
        wait_seconds=4.5,
        lookup_seconds=1.5,
        map_seconds=0.125,
        idle_seconds=0.25,
        python_seconds=0.5,
        bytes_up=2000,
        bytes_down=800,
    )


def measured(*, seconds: float = 8.0, bus: float | None = 1000.0, done: Work | None = None) -> MeasuredRun:
    return MeasuredRun(
        work=done or work(),
        seconds=seconds,
        rays=90,
        busy_seconds=4.0,
        limits=TracerLimits(kernel_rays_per_second=15.0, bus_bytes_per_second=bus),
        start_seconds=0.75,
        film_seconds=0.0625,
    )


def collected() -> dict[str, Any]:
    return statistics.collect(context(), "photon", RenderSettings(width=4, height=3, seed=17), measured())


def test_keys_are_those_of_the_design_and_documented() -> None:
    assert list(collected()) == DESIGNED
    assert list(FIELDS) == DESIGNED
    assert all(f"  {key} " in statistics.explain() for key in DESIGNED)


def test_the_first_sample_left_out_counts_from_the_whole_pictures_corner() -> None:
    """As `--debug-path` reads it: a film of a crop begins at the crop's own corner."""
    settings = RenderSettings(width=40, height=30, seed=17, crop=(20, 10, 4, 3))
    samples = SampleCounts(impossible=np.array([[2, 5, 3, 1], [4, 1, 0, 0]], float))
    figures = statistics.collect(context(), "photon", settings, replace(measured(), samples=samples))
    assert figures["samples.first_left_out"] == "17,2,23:11"
    assert figures["samples.left_out_by_pass"] == [[2, 5], [4, 1]]


def test_keys_that_belong_to_one_command_alone_say_nothing_in_the_other() -> None:
    """A picture has the same rays timed as traced and no bus measured; a photon run has no eye."""
    settings = RenderSettings(width=4, height=3)
    done = replace(work(), rays=RayCounts(photon=40))
    run = statistics.collect(context(), "photons", settings, measured(done=done))
    assert [run[key] for key in OF_PICTURES[3:7]] == ["", 0, 0, 0]
    assert (run["passes"], math.isnan(run["noise"]), math.isnan(run["bias"])) == (0, True, True)
    made = statistics.collect(context(), "path", settings, replace(measured(bus=None), rays=100))
    assert (made["rays.timed"], made["transfer.limit_bytes_per_second"]) == (made["rays.total"], None)
    assert made["rays_per_second_of_runs"] == [made["rays_per_second"]]
    assert {*OF_PICTURES, *OF_PHOTON_RUNS} < {*FIELDS}


def test_values() -> None:
    figures = collected()
    assert figures["scene"] == "box"
    assert (figures["kernel"], figures["kernel_choice"]) == ("bvh8", "named")
    assert (figures["triangles"], figures["threads"], figures["seed"], figures["batch_rays"]) == (12, 2, 17, 4096)
    assert figures["seconds.total"] == 11.0
    assert (figures["seconds.trace"], figures["seconds.wait"], figures["seconds.shade"]) == (5.0, 4.5, 3.0)
    assert (figures["seconds.map"], figures["seconds.idle"], figures["seconds.python"]) == (0.125, 0.25, 0.5)
    assert (figures["seconds.start"], figures["seconds.film"], figures["seconds.lookup"]) == (0.75, 0.0625, 1.5)
    assert (figures["rays.total"], figures["rays.timed"]) == (100, 90)
    assert figures["rays_per_second"] == 90 / 8.0
    assert figures["rays_per_second_of_runs"] == [90 / 8.0]
    assert figures["coprocessor.busy_fraction"] == 0.5
    assert (figures["coprocessor.kernel_rays_per_second"], figures["coprocessor.batches"]) == (15.0, 7)
    assert figures["shading.rays_per_second"] == 30.0
    assert (figures["transfer.bytes_per_second"], figures["transfer.limit_bytes_per_second"]) == (350.0, 1000.0)
    assert (
        figures["photons.emitted"]
        == figures["photons.absorbed"] + figures["photons.escaped"] + figures["photons.terminated"]
    )
    assert figures["limited_by"] == "kernel"
    assert figures["software"] == f"tracecore {__version__}"


def test_file_is_plain_json_in_order(tmp_path: Path) -> None:
    figures = collected() | {"bvh.sah_cost": math.inf, "rays.total": np.int64(5), "seconds.load": np.float32(0.5)}
    statistics.write(tmp_path / "a.json", figures)

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is not JSON")

    back = json.loads((tmp_path / "a.json").read_text(), parse_constant=refuse)
    assert list(back) == DESIGNED
    assert back["bvh.sah_cost"] is None
    assert (back["rays.total"], back["seconds.load"], back["scene"]) == (5, 0.5, "box")
    assert isinstance(back["rays.total"], int)


@pytest.mark.parametrize(
    ("kernel", "shade", "transfer", "limit"),
    [
        (6.5, 6.0, 6.25, "kernel"),  # seconds of 10 that each is needed for
        (6.5, 7.0, 6.0, "shading"),
        (6.5, 7.0, 7.5, "transfer"),
        (6.0, 0.0, 0.0, "kernel"),
        (5.75, 5.5, 5.25, "queue"),
        (1.0, 5.75, 1.0, "queue"),
        (0.0, 0.0, 0.0, "queue"),
    ],
)
def test_limit_of_a_device(kernel: float, shade: float, transfer: float, limit: str) -> None:
    done = Work(shade_seconds=shade, trace_seconds=9.0, wait_seconds=9.0, bytes_up=round(4000 * transfer))
    run = MeasuredRun(
        work=done,
        seconds=10.0,
        rays=round(1000 * kernel),
        busy_seconds=9.5,
        limits=TracerLimits(kernel_rays_per_second=1000.0, bus_bytes_per_second=4000.0),
    )
    assert limited_by(run, has_bus=True) == limit


@pytest.mark.parametrize(("shade", "trace", "limit"), [(1.0, 2.0, "kernel"), (2.0, 1.0, "shading")])
def test_threads_that_trace_themselves_are_limited_by_what_takes_longer(shade: float, trace: float, limit: str) -> None:
    run = measured(bus=None, done=Work(shade_seconds=shade, trace_seconds=trace, bytes_up=1 << 40))
    assert limited_by(run, has_bus=False) == limit


def test_threads_asked_for_win_over_the_tracers() -> None:
    settings = RenderSettings(width=4, height=3, threads=1)
    assert statistics.collect(context(), "photon", settings, measured())["threads"] == 1


def test_without_a_bus_nothing_is_transferred() -> None:
    settings = RenderSettings(width=4, height=3)
    figures = statistics.collect(context("cpu"), "photon", settings, measured(bus=None))
    assert (figures["transfer.bytes_per_second"], figures["transfer.limit_bytes_per_second"]) == (0.0, None)


def test_a_bus_that_was_not_measured_is_not_the_limit() -> None:
    run = measured(bus=None, done=Work(shade_seconds=1.0, bytes_up=1 << 40))
    assert limited_by(run, has_bus=True) == "kernel"
