"""Statistics: the keys that are promised, the arithmetic behind them, and what limits a run."""

import json
import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from renderer import __version__, statistics
from renderer.driver import PhotonCounts, RayCounts, RenderSettings, Work
from renderer.statistics import FIELDS, limited_by
from tracecore.tracer import BvhStatistics, TracerStatistics

DESIGN = """
scene triangles driver kernel device dispatch batch_rays threads seed
seconds.load seconds.build seconds.trace seconds.shade seconds.total
rays.camera rays.shadow rays.bounce rays.photon rays.total rays_per_second
coprocessor.busy_fraction coprocessor.kernel_rays_per_second coprocessor.batches limited_by
photons.emitted photons.stored photons.absorbed photons.escaped photons.terminated
bvh.nodes bvh.bytes bvh.sah_cost bvh.build_seconds version
"""
DESIGNED = DESIGN.split()


def traced(*, busy: float = 4.0, rate: float = 25.0) -> TracerStatistics:
    return TracerStatistics(batches=7, rays=100, busy_seconds=busy, kernel_rays_per_second=rate, invalid_rays=0)


def stage() -> Any:
    """Stands for a stage: only what statistics look at."""
    tracer = SimpleNamespace(
        name="bvh8",
        device="cpu",
        dispatch="direct",
        threads=2,
        bvh=BvhStatistics(nodes=5, bytes=640, sah_cost=12.5, build_seconds=0.25),
        statistics=traced,
    )
    snapshot = SimpleNamespace(name="box", positions=np.zeros((12, 3, 3), np.float32))
    return SimpleNamespace(snapshot=snapshot, tracer=tracer, load_seconds=1.0, build_seconds=2.0)


def work() -> Work:
    return Work(
        rays=RayCounts(camera=10, shadow=20, bounce=30, photon=40),
        photons=PhotonCounts(emitted=9, stored=11, absorbed=4, escaped=3, terminated=2),
        shade_seconds=3.0,
        trace_seconds=5.0,
    )


def collected() -> dict[str, Any]:
    return statistics.collect(stage(), "photon", RenderSettings(width=4, height=3, seed=17), work(), 8.0)


def test_keys_are_those_of_the_design_and_documented() -> None:
    assert list(collected()) == DESIGNED
    assert list(FIELDS) == DESIGNED
    assert all(key in statistics.explain() for key in DESIGNED)


def test_values() -> None:
    told = collected()
    assert told["scene"] == "box"
    assert (told["triangles"], told["threads"], told["seed"], told["batch_rays"]) == (12, 2, 17, 4096)
    assert told["seconds.total"] == 11.0
    assert told["rays.total"] == 100
    assert told["rays_per_second"] == 100 / 8.0
    assert told["coprocessor.busy_fraction"] == 0.5
    assert told["photons.emitted"] == told["photons.absorbed"] + told["photons.escaped"] + told["photons.terminated"]
    assert told["limited_by"] == "kernel"
    assert told["version"] == __version__


def test_threads_asked_for_win_over_the_tracers() -> None:
    settings = RenderSettings(width=4, height=3, threads=1)
    assert statistics.collect(stage(), "photon", settings, work(), 8.0)["threads"] == 1


def test_no_time_is_no_division() -> None:
    told = statistics.collect(stage(), "photon", RenderSettings(width=4, height=3), work(), 0.0)
    assert (told["rays_per_second"], told["coprocessor.busy_fraction"]) == (0.0, 0.0)


def test_file_is_plain_json_in_order(tmp_path: Path) -> None:
    told = collected() | {"bvh.sah_cost": math.inf, "rays.total": np.int64(5), "seconds.load": np.float32(0.5)}
    statistics.write(tmp_path / "a.json", told)

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is not JSON")

    back = json.loads((tmp_path / "a.json").read_text(), parse_constant=refuse)
    assert list(back) == DESIGNED
    assert back["bvh.sah_cost"] is None
    assert (back["rays.total"], back["seconds.load"], back["scene"]) == (5, 0.5, "box")
    assert isinstance(back["rays.total"], int)


@pytest.mark.parametrize(
    ("device", "busy", "rate", "shade", "trace", "limit"),
    [
        ("cpu", 9.0, 11.0, 1.0, 9.0, "kernel"),
        ("cpu", 3.0, 33.0, 7.0, 3.0, "shading"),
        ("gpu", 9.0, 100 / 8.0, 5.0, 5.0, "kernel"),  # busy for 9 s of 10, 8 s of it tracing
        ("gpu", 9.0, 100 / 3.0, 5.0, 5.0, "transfer"),  # busy for 9 s of 10, 3 s of it tracing
        ("gpu", 4.0, 25.0, 8.0, 2.0, "shading"),
        ("gpu", 4.0, 25.0, 2.0, 8.0, "queue"),
        ("gpu", 0.0, 0.0, 0.0, 0.0, "queue"),
    ],
)
def test_limit(device: str, busy: float, rate: float, shade: float, trace: float, limit: str) -> None:
    done = Work(shade_seconds=shade, trace_seconds=trace)
    assert limited_by(device, done, traced(busy=busy, rate=rate), 10.0) == limit
