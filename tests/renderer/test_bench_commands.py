"""`tracecore bench WORD`: each measures a tiny scene, and writes what its help explains."""

import json
import signal
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from explained_keys import assert_explained, assert_help_explains
from fake_cuda import installed
from PIL import Image

from renderer import cli
from renderer.bench import (
    builder_benchmark,
    dispatch_benchmark,
    figure_keys,
    film_benchmark,
    picture_scenes,
    shading_benchmark,
)
from renderer.drivers import DRIVERS
from renderer.drivers.occlusion import OcclusionDriver
from scenes.errors import SceneError
from tracecore.benchmarks import gpu_benchmark
from tracecore.benchmarks.compare_embree import room_of_spheres
from tracecore.benchmarks.kernel_rates import RingRate
from tracecore.bvh.builders import BUILDERS
from tracecore.rays import MISS
from tracecore.tracers.gpu import gpu_unavailable_reason

pytestmark = pytest.mark.usefixtures("collects_often")

KEYS = {
    "dispatch": figure_keys.DISPATCH,
    "error": figure_keys.ERROR,
    "pictures": figure_keys.PICTURES,
    "film": figure_keys.FILM,
    "gather": figure_keys.GATHER,
    "shading": figure_keys.SHADING,
    "builders": figure_keys.BUILDERS,
    "embree": figure_keys.EMBREE,
    "launches": figure_keys.LAUNCHES,
    "rays": figure_keys.RAYS,
}


@pytest.fixture
def measured(tmp_path):
    """Runs a benchmark; returns what its file holds."""

    def run(name, *options):
        path = tmp_path / f"{name}.json"
        assert cli.main(["bench", name, *options, "--json", str(path)]) == 0
        figures = json.loads(path.read_text())
        assert figures["circumstances"]["command_line"][:2] == ["bench", name]
        return figures

    return run


@pytest.mark.parametrize("name", KEYS)
def test_the_help_explains_every_key(name, capsys):
    assert_help_explains(f"bench {name}", KEYS[name], capsys)


def test_the_help_of_bench_names_the_others(capsys):
    with pytest.raises(SystemExit):
        cli.main(["bench", "--help"])
    text = capsys.readouterr().out
    assert [name for name in cli.COMMANDS if f"\n  tracecore {name} " in text] == [  # type: ignore[attr-defined]
        "bench",
        *(f"bench {name}" for name in KEYS),
        "bench compare",
    ]


def test_dispatch(measured, monkeypatch, capsys):
    monkeypatch.setattr(dispatch_benchmark, "BATCHES", (256,))
    monkeypatch.setattr(dispatch_benchmark, "IN_FLIGHT", (1, 2))
    figures = measured("dispatch", "cornell", "--device", "cpu", "--plain", "--photons", "300", "--repeat", "1")
    assert_explained([figures], figure_keys.DISPATCH)
    assert [(row["dispatch"], row["batch_rays"], row["in_flight"]) for row in figures["rows"]] == [
        ("direct", 256, 1),
        ("direct", 256, 2),
    ]
    assert capsys.readouterr().out.startswith("cornell, plain: ")


def test_error_at_equal_time_and_estimates(measured, tmp_path, capsys):
    small = ("cornell", "--device", "cpu", "--size", "8x6", "--drivers", "ao", "--threads", "1")
    reference = tmp_path / "reference.npy"
    makes = ("--reference", str(reference), "--reference-driver", "ao", "--reference-seconds", "0.2")
    timed = measured("error", *small, "--seconds", "0.05", *makes)
    assert np.load(reference).shape == (6, 8, 3)
    (row,) = timed["rows"]
    assert row["driver"] == "ao"
    assert row["seconds"] >= 0.05
    assert "relative error (passes)" in capsys.readouterr().out
    estimated = measured("error", *small, "--estimates", "4,2", "--seeds", "3")
    assert [row["passes"] for row in estimated["rows"]] == [2, 4]
    everywhere = measured("error", *small, "--to-noise", "5", "--seeds", "2")
    assert_explained([timed, estimated, everywhere], figure_keys.ERROR)


def played(monkeypatch, **ways):
    """Has a peer of the tests be the only one, which does what its ways say, each on a device. Its process finds it by
    the environment.
    """
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))
    monkeypatch.setitem(
        picture_scenes.PEERS,
        "played",
        picture_scenes.PicturePeerModule(module="played_peer", package="played", ways=ways),
    )


def test_pictures(measured, tmp_path, monkeypatch, capfd):
    """A plot, and a peer that renders, one that raises and one that crashes; the last two cost a line each."""
    played(monkeypatch, flat="cpu", raises="cpu", crashes="cpu", elsewhere="gpu")
    small = ("--devices", "cpu", "--threads", "1", "--size", "8x6", "--drivers", "ao,whitted", "--passes", "5")
    made = ("--references", str(tmp_path), "--reference-driver", "ao", "--reference-seconds", "0.5", "--repeat", "3")
    drawn = ("--renderers", "played", "--renderer-samples", "16,4", "--plot", str(tmp_path / "drawn.png"))
    drawn += ("--html", str(tmp_path / "page.html"))  # type: ignore[assignment]
    figures = measured("pictures", "cornell", "caustic", *small, *made, *drawn)
    assert_explained([figures], figure_keys.PICTURES)
    rows = figures["pictures"]
    assert [(row["scene"], row["driver"]) for row in rows] == [
        (scene, driver) for scene in ("cornell", "caustic") for driver in ("ao", "whitted")
    ]
    for row in rows:
        assert [one["passes"] for one in row["errors"]] == [1, 2, 4, 5]
        assert row["errors"][-1]["seconds"] == row["seconds"]  # both are of the median picture
        assert row["least"] <= row["seconds"] <= row["most"]
        assert row["rays_per_second"] == pytest.approx(row["rays"] / row["seconds"])
    assert rows[0]["errors"][-1]["error"] < 0.7 * rows[0]["errors"][0]["error"]  # the reference is of this driver
    assert [(row["scene"], row["peer"], row["device"]) for row in figures["peers"]] == [
        ("cornell", "played flat", "cpu"),
        ("caustic", "played flat", "cpu"),
    ]
    assert [(one["passes"], one["seconds"]) for one in figures["peers"][0]["errors"]] == [(4, 2.0), (16, 2.0)]
    assert figures["circumstances"]["scene"] == "cornell, caustic"
    assert sorted(file.name for file in tmp_path.glob("*.npy")) == ["caustic.npy", "cornell.npy"]
    assert Image.open(tmp_path / "drawn.png").width > 100
    written = (tmp_path / "page.html").read_text()
    assert all(f"{name} on the cpu</td>" in written for name in ("ao", "whitted", "played flat"))
    assert len(written) < 200_000
    said = [line for line in capfd.readouterr().err.splitlines() if line.startswith("tracecore: peer")]
    assert len(said) == 4
    assert said[0] == "tracecore: peer 'played' (raises) is left out: not today"
    assert said[1].startswith("tracecore: peer 'played' (crashes) is left out: ")


def test_passes_of_a_timed_picture_may_come_added_up(measured, monkeypatch):
    """As in `tracecore render`: nobody looks at each of them, so that a GPU adds them up. Passes of a reference are
    looked at one by one, whatever makes it."""
    made = []

    class Watched(OcclusionDriver):
        def __init__(self, snapshot, tracer, settings):
            made.append(settings)
            super().__init__(snapshot, tracer, settings)

    monkeypatch.setitem(DRIVERS, "ao", Watched)
    small = ("--devices", "cpu", "--threads", "1", "--size", "8x6", "--drivers", "ao", "--passes", "2")
    measured("pictures", "cornell", *small, "--repeat", "1", "--reference-driver", "ao", "--reference-seconds", "0.1")
    of_reference, of_pictures = made[:2], made[2:]
    assert [one.adds_up for one in of_reference] == [False] * 2  # to warm up, and the reference
    assert [one.adds_up for one in of_pictures] == [True] * 3  # to warm up, the timed one, one of a pass


def test_peers_of_a_scene_that_cannot_be_exported_are_left_out(measured, monkeypatch, capsys):
    played(monkeypatch, flat="cpu")

    def refuse(*_):
        raise SceneError("scene.exr cannot be written: OpenEXR is not installed")

    monkeypatch.setattr(picture_scenes, "export", refuse)
    small = ("--devices", "cpu", "--threads", "1", "--size", "8x6", "--drivers", "ao", "--passes", "1")
    made = ("--repeat", "1", "--reference-driver", "whitted", "--reference-seconds", "0.1", "--renderers", "played")
    figures = measured("pictures", "cornell", *small, *made)
    assert len(figures["pictures"]) == 1
    assert figures["peers"] == []
    assert (
        "tracecore: all peers are left out: scene.exr cannot be written: OpenEXR is not installed\n"
        in capsys.readouterr().err
    )


def test_a_reference_of_another_size_is_refused(tmp_path, capsys):
    np.save(tmp_path / "cornell.npy", np.ones((4, 4, 3), np.float32))
    words = ["--devices", "cpu", "--drivers", "ao", "--size", "8x6", "--references", str(tmp_path)]
    assert cli.main(["bench", "pictures", "cornell", *words]) == 2
    assert "cornell.npy' is of 4x4 pixels; expected 8x6" in capsys.readouterr().err


def test_film(measured, capsys):
    small = ("--frames", "0:5:2", "--size=8x6", "--passes", "1", "--driver", "ao", "--threads", "1", "--exposure", "-1")
    figures = measured("film", "museum:10k", *small, "--devices", "cpu", "--repeat", "2", "--shading", "auto")
    assert_explained([figures], figure_keys.FILM)
    (row,) = figures["films"]
    told = [row[name] for name in ("scene", "driver", "device", "shading", "frames")]
    assert told == ["museum", "ao", "cpu", "cpu", 3]
    assert (row["width"], row["height"], row["passes"], row["threads"]) == (8, 6, 1, 1)
    assert row["least"] <= row["seconds"] <= row["most"]
    assert row["frames_per_second"] == pytest.approx(3 / row["seconds"])
    assert row["outside"] + sum(row["main"].values()) == pytest.approx(row["least"])  # of two the lower median
    assert row["rays_share"] == pytest.approx(row["main"]["rays"] / row["least"])
    first, second, *_, last = capsys.readouterr().out.splitlines()
    assert first.split()[:4] == ["scene", "driver", "device", "frames"]
    assert second.split()[:6] == ["museum", "ao", "cpu", "3", "8x6", "1"]
    assert last.startswith("meanwhile: playing ")


def test_an_interrupt_ends_the_process_that_makes_the_film(monkeypatch):
    def interrupted(process):
        raise KeyboardInterrupt

    started = []
    monkeypatch.setattr(film_benchmark, "start_python", lambda *_, **__: started.append(Process()) or started[0])

    class Process(subprocess.Popen):
        def __init__(self):
            super().__init__([sys.executable, "-c", "import time; time.sleep(1000)"])

        communicate = interrupted  # type: ignore[assignment]

    with pytest.raises(KeyboardInterrupt):
        film_benchmark.run(["render", "cornell"])
    assert started[0].returncode == -signal.SIGTERM


def test_gather(measured):
    figures = measured("gather", "cornell", "--photons", "2000", "--points", "70", "--found", "5", "--threads", "1")
    assert_explained([figures], figure_keys.GATHER)
    assert figures["points"] == 64
    assert 0 < figures["photons"] < 20_000
    assert figures["sort_seconds"] > 0.0


def test_shading(measured, monkeypatch):
    monkeypatch.setattr(shading_benchmark, "ROUNDS", 2)
    figures = measured("shading", "cornell")
    assert_explained([figures], figure_keys.SHADING)
    assert [(row["surfaces"], row["threads"]) for row in figures["rows"]] == [("plain", 1), ("real", 1)]
    assert all(row["nanoseconds"] > 0.0 for row in figures["rows"])


def test_builders(measured, capsys):
    figures = measured("builders", "cornell", "--repeat", "1", "--threads", "2")
    exact, binned, fast, ploc, reinserted = figures["rows"]
    assert (exact["scene"], exact["triangles"], exact["builder"], exact["quality"]) == ("cornell", 18060, "exact", 1.0)
    assert binned["quality"] == exact["sah_cost"] / binned["sah_cost"] < reinserted["quality"]
    alone = [row["builder"] for row in figures["rows"] if row["thread_seconds"] is None]
    assert alone == ["exact"]
    for row in (exact, binned, fast, ploc, reinserted):
        assert 36 * row["nodes"] / 18060 < row["bytes"] < 350  # the tree itself, and what building it takes
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "cornell, 18060 triangles"
    assert [line.split()[0] for line in lines[1:]] == ["builder", *(row["builder"] for row in figures["rows"])]


def test_builders_with_rates_of_kernels_on_their_trees(measured, tmp_path, capsys):
    traced = ("--kernels", "bvh8", "--device", "cpu", "--size", "16x8", "--photon-rays", "500", "--threads", "1")
    drawn = tmp_path / "drawn.svg"
    figures = measured("builders", "cornell", "caustic", *traced, "--repeat", "1", "--plot", str(drawn))
    assert figures["circumstances"]["scene"] == "cornell, caustic"
    assert list(dict.fromkeys(row["scene"] for row in figures["rows"])) == ["cornell", "caustic"]
    rates = figures["rates"]
    assert [(row["scene"], row["builder"], row["kind"]) for row in rates] == [
        (scene, builder, kind)
        for scene in ("cornell", "caustic")
        for builder in BUILDERS
        for kind in ("primary", "bounce1", "photon")
    ]
    assert [row["rays"] for row in rates[:3]] == [16 * 8 * 8, rates[1]["rays"], 500]
    assert len({row["sah_cost"] for row in rates}) == len(rates) / 3  # trees of their own
    assert rates[3]["relative"] == rates[3]["rate"] / rates[0]["rate"]
    said = capsys.readouterr().out
    assert "cornell, 18060 triangles, on the cpu\nkernel, Mrays/s  builder     SAH cost  primary" in said
    assert "triangles, on the cpu\nkernel" in said.partition("caustic")[2]
    assert all(f">{name}<" in drawn.read_text() for name in ("reinserted", "n log n"))


@pytest.fixture
def cuda(monkeypatch):
    yield from installed(monkeypatch)


def test_builders_where_there_is_a_gpu(measured, cuda, capsys):
    traced = ("--kernels", "while-while", "--device", "gpu", "--size", "8x4", "--photon-rays", "300", "--threads", "1")
    figures = measured("builders", "cornell", *traced, "--repeat", "1")
    assert_explained([figures], figure_keys.BUILDERS)
    for times, layout in zip(figures["times"], ("bvh2", "bvh4", "compressed8"), strict=True):
        assert (times["scene"], times["triangles"], times["layout"]) == ("cornell", 18060, layout)
        assert sum(times["gpu"].values()) == times["gpu_seconds"]
        assert sum(times["cpu"].values()) == times["cpu_seconds"]
    said = capsys.readouterr().out
    assert "cornell, 18060 triangles\nploc for a GPU, wall ms  " in said
    assert "\nbvh2, built and packed by the GPU         upload " in said
    assert "\ncompressed8, built and packed by the CPU  build " in said


def test_builders_are_left_out_where_they_take_minutes(measured, monkeypatch, capsys):
    fewer = replace(builder_benchmark.WAYS["exact"], most=18059)
    monkeypatch.setitem(builder_benchmark.WAYS, "exact", fewer)
    figures = measured("builders", "cornell", "--repeat", "1")
    assert [row["builder"] for row in figures["rows"]] == ["binned", "fast", "ploc", "reinserted"]
    assert all(row["quality"] is None for row in figures["rows"])
    said = capsys.readouterr().out.splitlines()
    assert said[-1] == "exact is left out: with more than 18059 triangles it takes minutes"


def test_embree(measured):
    pytest.importorskip("embreex", reason="embreex, of the extras 'dev' and 'peers', is not installed")
    figures = measured("embree", "cornell", "--side", "16", "--repeat", "1")
    assert_explained([figures], figure_keys.EMBREE)
    assert [(row["kind"], row["query"]) for row in figures["rows"]] == [
        (kind, query) for kind in ("camera", "diffuse") for query in ("closest", "any")
    ]
    camera, diffuse = figures["disagreements"]
    assert camera["rays"] == 16 * 16 * 4 >= diffuse["rays"] > 0
    assert camera["is_hit"] + camera["triangle"] < 0.01 * camera["rays"]


@contextmanager
def played_tracer(*_, **__):
    yield SimpleNamespace(name="played")


@pytest.mark.parametrize("are_right", [True, False])
def test_launches_on_a_gpu_that_is_played(measured, monkeypatch, capsys, are_right):
    monkeypatch.setattr(gpu_benchmark, "gpu_unavailable_reason", lambda: None)
    monkeypatch.setattr(gpu_benchmark, "gpu_name", lambda: "Some GPU")
    monkeypatch.setattr(gpu_benchmark, "GpuTracer", played_tracer)
    for name in ("kernel_rate", "array_rate", "in_place_rate", "queue_rate"):
        monkeypatch.setattr(gpu_benchmark, name, lambda *_: 100.0)
    monkeypatch.setattr(gpu_benchmark, "move_seconds", lambda *_: (0.25, 0.5))
    monkeypatch.setattr(gpu_benchmark, "LAUNCH_RAYS", 2)

    def rung(tracer, rays, query, shape):
        nothing = np.array([np.inf, 0.0, 0.0, 0.0], np.float32)
        nothing.view(np.uint32)[3] = MISS
        hits = gpu_benchmark.CpuTracer(room_of_spheres()).closest_hit(rays) if are_right else np.array([nothing] * 2)  # type: ignore[attr-defined]
        return RingRate(rate=200.0, busy=0.5, indices=np.array([1, 0]), hits=hits[::-1])

    monkeypatch.setattr(gpu_benchmark, "ring_rate", rung)
    if not are_right:
        assert cli.main(["bench", "launches"]) == 1
        assert "error: kernel 'played' is wrong: ray 0 of 2 hits nothing, by the CPU it" in capsys.readouterr().err
        return
    figures = measured("launches")
    assert_explained([figures], figure_keys.LAUNCHES)
    assert figures["circumstances"]["triangles"] == 64 * 1600 + 12
    assert {row["dispatch"] for row in figures["queues"]} == {"resident", "streamed"}
    assert figures["moves"][0] == {"kernel": "while-while", "copied": 0.25, "in_place": 0.5}
    assert "while-while    250.00    500.00" in capsys.readouterr().out


@pytest.mark.skipif(gpu_unavailable_reason() is None, reason="there is a GPU here")
def test_launches_want_a_gpu(capsys):
    assert cli.main(["bench", "launches"]) == 1
    assert "no GPU can be used" in capsys.readouterr().err
