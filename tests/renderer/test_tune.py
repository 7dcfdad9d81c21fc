"""`tracecore tune`, and the kernels that runs choose by what it measured; CUDA is played by the emulator."""

import json
import logging
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import blind_plugin
import numpy as np
import pytest
from fake_cuda import FakeCuda, installed
from small_scenes import flat_snapshot, inside_of_lamp_box, quad

import renderer
from renderer import cli, plugins
from renderer.bench import tuning
from renderer.bench.ray_generators import RayPlan
from renderer.bench.tuning import Tuned, TuningContest, table
from renderer.bench.view_points import ViewPoint
from renderer.commands import doctor
from renderer.scene import tuned_kernels
from renderer.scene.render_context import TracerChoice, chosen_kernel, context_of
from renderer.scene.tuned_kernels import TunedGpu, remember, tuned_for, tuned_path
from scenes.model import Material
from tracecore import open_tracer
from tracecore.benchmarks.kernel_rates import RingRate
from tracecore.emulator.library import emulator_unavailable_reason
from tracecore.kernels import strategies
from tracecore.kernels.choice import CANDIDATES, DEFAULT_KERNEL, KernelChoice, RateFacts, RayClass, RayWay
from tracecore.tracers.gpu import gpu_unavailable_reason

FAKE = TunedGpu("Fake A", "sm_90")

#: As small as rays of all classes can be.
FEW_RAYS = ("--size", "8x6", "--samples", "1", "--ao-rays", "1", "--photon-rays", "64", "--repeat", "1")


def kernel_for(**about: Any) -> KernelChoice:
    """Returns the kernel of a choice."""
    return chosen_kernel(TracerChoice(**about))


def facts(rays: RayClass = RayClass.INCOHERENT, way: RayWay = RayWay.RING, **rates: float) -> RateFacts:
    return RateFacts(
        architecture="sm_90",
        way=way,
        rays=rays,
        rates={name.replace("_", "-"): rate for name, rate in rates.items()},
        source="a test",
    )


@pytest.fixture(autouse=True)
def _own_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tuned_kernels, "cache_root", lambda: tmp_path / "cache")


@pytest.fixture
def cuda(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeCuda]:
    monkeypatch.setenv("TRACECORE_GPU_TIMEOUT", "30")
    yield from installed(monkeypatch)


def tune(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    status = cli.main(["tune", *words])
    said = capsys.readouterr()
    return status, said.out, said.err


def test_a_gpu_is_tuned_and_runs_choose_by_it(cuda: FakeCuda, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--device", "gpu", "--threads", "1", "--ring-rays", "1", "--kernels", "bvh4,if-if")
    status, said, _ = tune(capsys, "cornell", *words, *FEW_RAYS)
    assert status == 0
    assert f"kept in {tuned_path()}, for Fake A (sm_90)" in said
    heads, *rows = said.splitlines()[1:4]
    assert all(f"{rays.value} in the ring" in heads and f"{rays.value} alone" in heads for rays in RayClass)
    assert [row.split()[0] for row in rows] == ["bvh4", "if-if"]
    kept = tuned_for(FAKE)
    measured = (RayWay.RING, RayWay.LAUNCH)
    assert {(one.rays, one.way) for one in kept} == {(rays, way) for rays in RayClass for way in measured}
    assert sum(row.count("*") for row in rows) == len(kept)
    for one in kept:
        assert one.source == "tracecore tune, cornell, medians of 1"
        assert kernel_for(device="gpu", ray_class=one.rays).reason == f"auto: {one.rays.value} rays, tuned on this GPU"
    (ring,) = (one for one in kept if (one.rays, one.way) == (RayClass.INCOHERENT, RayWay.RING))
    assert kernel_for(device="gpu", ray_class=RayClass.INCOHERENT).name == ring.chosen
    assert "tuned on this GPU" in doctor._chosen_kernels().text


@pytest.mark.gpu
@pytest.mark.skipif(gpu_unavailable_reason() is not None, reason=str(gpu_unavailable_reason()))
def test_a_real_gpu_is_tuned(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--kernels", "while-while,replacing-compressed-bvh8", "--repeat", "2", "--size", "256x192")
    status, said, _ = tune(capsys, "cornell", "--device", "gpu", *words, "--ring-rays", str(1 << 22))
    assert status == 0
    assert said.count(" *") >= 2 * len(RayClass)
    assert all(
        "tuned on this GPU" in kernel_for(device="gpu", kernel="auto", ray_class=rays).reason for rays in RayClass
    )


def test_the_emulator_shows_a_table_and_keeps_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    if reason := emulator_unavailable_reason():
        pytest.skip(reason)
    words = ("--device", "emulator", "--kernels", "while-while,bvh4", *FEW_RAYS)
    status, said, progress = tune(capsys, "cornell", *words)
    assert status == 0
    assert "in the ring" not in said
    assert said.endswith("nothing is kept: the emulator's rates tell of no GPU\n")
    assert progress.splitlines()[-1] == "occlusion rays alone done"
    assert not tuned_path().exists()


@pytest.mark.parametrize("device", ["cpu", *(["auto"] if gpu_unavailable_reason() else [])])
def test_the_cpu_has_nothing_to_choose(device: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, said, error = tune(capsys, "nosuch.aff", "--device", device)
    assert (status, said) == (2, "")
    assert error == (
        "tracecore: error: the cpu has one kernel: there is nothing to choose, and nothing to tune without a GPU\n"
    )


def test_a_dry_run_measures_nothing(cuda: FakeCuda, capsys: pytest.CaptureFixture[str]) -> None:
    status, said, _ = tune(capsys, "cornell", "--device", "gpu", "--dry-run")
    assert status == 0
    assert said.splitlines() == [
        "cornell, 18060 triangles, on the gpu: 5 rounds in turn, in the ring and alone",
        f"kernels: {', '.join(CANDIDATES)}",
        "coherent rays: primary",
        "incoherent rays: bounce1, photon",
        "occlusion rays: ao",
        f"kept in {tuned_path()}, for Fake A (sm_90): --kernel auto chooses by it",
    ]
    assert cuda.devices[0].launches == 0
    assert not tuned_path().exists()


@pytest.fixture
def own_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels that are registered meanwhile are forgotten in the end."""
    monkeypatch.setattr(strategies, "_strategies", dict(strategies._strategies))
    monkeypatch.setattr(plugins, "_loaded", dict(plugins._loaded))


@pytest.mark.parametrize("kernels", ["blind,if-if", "blind"])
def test_what_hits_nothing_is_never_remembered(cuda, own_kernels, kernels, tmp_path, capsys):
    words = ("--device", "gpu", "--threads", "1", "--ring-rays", "1", "--kernels", kernels, *FEW_RAYS)
    status, said, _ = tune(capsys, "cornell", *words, "--plugin", blind_plugin.written(tmp_path))
    assert status == 1
    row = next(line for line in said.splitlines() if line.startswith("blind "))
    assert row.count("struck out") == 2 * len(RayClass)
    assert "Struck out: blind, whose hits are wrong: coherent rays in the ring: ray " in said
    assert {name for one in tuned_for(FAKE) for name in one.rates} == {*kernels.split(",")} - {"blind"}
    assert "blind" not in tuned_path().read_text()
    assert ("nothing is kept: no kernel has the right hits" in said) == (kernels == "blind")


def test_a_ring_that_is_wrong_where_launches_are_right(cuda: FakeCuda, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each way is compared: what is wrong in one is chosen in none."""

    def rung(*words: Any) -> RingRate:
        found = ring_rate(*words)
        found.hits.view(np.uint32)[5, 3] ^= 1
        return found

    ring_rate = tuning.ring_rate  # type: ignore[attr-defined]
    monkeypatch.setattr(tuning, "ring_rate", rung)
    snapshot = inside_of_lamp_box()
    plan = tuning.TuningPlan(
        snapshot=snapshot,
        views=[ViewPoint(name="camera", camera=snapshot.camera)],
        rays=RayPlan(size=(8, 6), in_morton_order=False, occlusion_rays=1, radius=1.0, photon_rays=64, seed=0),
        device="gpu",
        kernels=["while-while"],
        repeats=2,
        ring_rays=1,
        threads=1,
    )
    found = tuning.tune(plan)
    assert [one.rates for one in found] == [{}] * len(found)
    (words,) = {one.wrong["while-while"] for one in found}
    assert words.startswith("coherent rays in the ring: ray 5 from (")


def test_what_was_kept_is_forgotten(capsys: pytest.CaptureFixture[str]) -> None:
    remember(FAKE, [facts(bvh4=1.0)])
    assert tune(capsys, "--forget") == (0, f"{tuned_path()}: forgotten\n", "")
    assert tuned_for(FAKE) == ()
    assert tune(capsys, "--forget")[1] == f"{tuned_path()}: there was nothing to forget\n"


def test_each_gpu_has_its_own_rates() -> None:
    other = TunedGpu("Fake B", "sm_90")
    remember(FAKE, [facts(bvh4=1.0)])
    remember(other, [facts(if_if=1.0)])
    remember(other, [facts(warp=2.5)])
    assert [one.rates for one in tuned_for(FAKE)] == [{"bvh4": 1.0}]
    assert tuned_for(other) == (facts(warp=2.5),)
    assert tuned_for(TunedGpu("Fake A", "sm_100")) == ()


def test_rates_of_another_version_and_of_unknown_kernels_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    remember(FAKE, [facts(bvh4=1.0, mine=9.0), facts(RayClass.COHERENT, mine=9.0)])
    assert tuned_for(FAKE) == (facts(bvh4=1.0),)
    monkeypatch.setattr(tuned_kernels, "__version__", "99")
    forget_what_was_read()
    assert tuned_for(FAKE) == ()


def forget_what_was_read() -> None:
    tuned_kernels._read.cache_clear()


def written(content: Any) -> None:
    tuned_path().parent.mkdir(exist_ok=True)
    tuned_path().write_text(content if isinstance(content, str) else json.dumps(content))
    forget_what_was_read()


def changed(**values: Any) -> dict[str, Any]:
    """The content of a file with other values in its one row."""
    row = {"way": "ring", "rays": "incoherent", "rates": {"bvh4": 1.0}, "source": "a test"} | values
    return {"gpus": {FAKE.key: {"version": tuned_kernels.__version__, "facts": [row]}}}  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "content",
    [
        "{",
        "[]",
        "\0" * 10,
        '{"gpus": 3}',
        '{"gpus": {"Fake A (sm_90)": {}}}',
        "[" * 100_000,
        '{"gpus": {}}' + " " * (1 << 20),
        changed(way="bus"),
        changed(rays="gamma"),
        changed(rates={"bvh4": -1.0}),
        changed(rates={"bvh4": "fast"}),
        changed(rates=[1.0]),
        changed(rates={"bvh4": float("nan")}),
    ],
)
def test_a_damaged_file_is_a_note(content: Any, caplog: pytest.LogCaptureFixture) -> None:
    written(content)
    caplog.set_level(logging.WARNING, logger="renderer")
    assert tuned_for(FAKE) == ()
    assert tuned_for(FAKE) == ()
    (note,) = [record.getMessage() for record in caplog.records]
    assert note.startswith(f"note: {tuned_path()} cannot be read (")
    assert note.endswith("tracecore tune writes it anew, tracecore tune --forget removes it")
    remember(FAKE, [facts(bvh4=1.0)])
    assert tuned_for(FAKE) == (facts(bvh4=1.0),)


@pytest.mark.parametrize(
    ("device", "kernel", "found"),
    [
        ("cpu", None, (None, "the only one of the device")),
        ("cpu", "auto", (None, "the only one of the device")),
        ("brute", "auto", (None, "the only one of the device")),
        ("cpu", "bvh8", ("bvh8", "named")),
        ("emulator", None, (DEFAULT_KERNEL, "auto: the default, as the emulator's rates tell of no GPU")),
        ("emulator", "bvh4", ("bvh4", "named")),
        ("gpu", "bvh4", ("bvh4", "named")),
        ("gpu", "auto", ("if-if", "auto: incoherent rays, tuned on this GPU")),
        ("gpu:0", None, ("if-if", "auto: incoherent rays, tuned on this GPU")),
        ("auto", None, ("if-if", "auto: incoherent rays, tuned on this GPU")),
        ("gpu:1", None, ("persistent-if-if", "auto: incoherent rays, sm_90")),
        ("gpu:7", None, (None, "the only one of the device")),  # the tracer says that there is none
    ],
)
def test_the_kernel_of_a_device(cuda: FakeCuda, device: str, kernel: str | None, found: tuple[str | None, str]) -> None:
    remember(FAKE, [facts(if_if=2.0, while_while=1.0)])
    chosen = kernel_for(device=device, kernel=kernel, ray_class=RayClass.INCOHERENT)
    assert (chosen.name, chosen.reason) == found


@pytest.mark.parametrize("driver", ["whitted", "path"])
def test_a_picture_is_traced_by_the_kernel_for_its_driver(cuda: FakeCuda, driver: str) -> None:
    """The bits are the same, and no other kernel is compiled."""
    remember(FAKE, [facts(RayClass.COHERENT, if_if=2.0), facts(RayClass.INCOHERENT, replacing_compressed_bvh8=2.0)])
    small = {"driver": driver, "size": (8, 6), "passes": 1, "threads": 1, "quiet": True}
    on_cpu = renderer.render(inside_of_lamp_box(), device="cpu", **small)  # type: ignore[arg-type]
    picture = renderer.render(inside_of_lamp_box(), device="gpu", shading="cpu", **small)  # type: ignore[arg-type]
    expected = {"whitted": ("if-if", "coherent"), "path": ("replacing-compressed-bvh8", "incoherent")}[driver]
    figures = picture.statistics
    assert (figures["kernel"], figures["kernel_choice"]) == (
        expected[0],
        f"auto: {expected[1]} rays, tuned on this GPU",
    )
    assert len({*cuda.devices[0].modules}) == 2  # streamed and resident
    assert picture.image.tobytes() == on_cpu.image.tobytes()
    assert on_cpu.statistics["kernel_choice"] == "the only one of the device"


@pytest.mark.parametrize("device", ["cpu", "emulator", "brute"])
def test_auto_opens_a_tracer_on_every_device(device: str) -> None:
    if device == "emulator" and (reason := emulator_unavailable_reason()):
        pytest.skip(reason)
    triangles = np.array([[[-1, -1, 2], [1, -1, 2], [0, 1, 2]]], np.float32)
    with open_tracer(triangles, device=device, kernel="auto") as tracer, open_tracer(triangles, device=device) as same:
        assert tracer.name == same.name


def test_a_tree_with_leaves_too_large_for_the_kernel_is_built_anew() -> None:
    """As members of a fleet are handed the CPU's."""
    if reason := emulator_unavailable_reason():
        pytest.skip(reason)
    snapshot = flat_snapshot(np.repeat(quad((0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0)), 4, axis=0), [Material()])
    with context_of(snapshot, TracerChoice(device="cpu"), load_seconds=0.0) as context:
        tree = context.tracer.tree
    assert tree is not None
    assert tree.count.max() > 3
    for kernel, is_taken in (("compressed-bvh8", False), ("while-while", True)):
        choice = TracerChoice(device="emulator", kernel=kernel)
        with context_of(snapshot, choice, load_seconds=0.0, tree=tree) as context:
            assert (context.tracer.tree is tree) == context.is_refitted == is_taken


def test_the_table_marks_what_is_chosen() -> None:
    """The median counts, and a kernel that was not measured somewhere has a dash."""
    ring, alone = TuningContest(RayClass.COHERENT, RayWay.RING), TuningContest(RayClass.OCCLUSION, RayWay.LAUNCH)
    rounds = {"while-while": [3.0, 1.0, 2.0], "bvh4": [9.0, 2.05, 1.5]}
    found = [Tuned(contest=ring, rounds=rounds), Tuned(contest=alone, rounds={"bvh4": [1.25]})]
    rows = [[part for part in re.split(" {2,}", line) if part] for line in table(found).splitlines()]
    assert rows == [
        ["Mrays/s", "coherent in the ring", "occlusion alone"],
        ["while-while", "2 (1-3) *", "-"],
        ["bvh4", "2.05 (1.5-9)", "1.25 (1.25-1.25) *"],
    ]
