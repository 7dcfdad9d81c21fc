"""A device that fails is contained: the same bits in the end, on the device or on the CPU, and never in silence."""

import json
import logging
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import run
from small_scenes import furnace, inside_of_lamp_box

import renderer
from renderer.drivers.driver import Driver, RenderSettings, Work
from renderer.drivers.path import PathDriver
from renderer.film.picture import Picture
from renderer.photons.photon_file import load_photons
from renderer.run.picture.pass_source import PassSource
from renderer.run.picture.picture_files import statistics_path
from renderer.run.plan import Plan
from renderer.scene import render_context
from renderer.scene.render_context import TracerChoice, context_of
from renderer.settings.picture import Settings
from scenes.model import Snapshot
from tracecore.bvh.tree import BinaryTree
from tracecore.dispatch.tracer import Tracer
from tracecore.errors import DeviceError, KernelError, WrongHitError
from tracecore.rays import Floats, Query
from tracecore.tracers.cpu import CpuTracer
from tracecore.tracers.polled import PolledTracer


class FailingTracer(PolledTracer):
    """Stands for a GPU; fails as its device says."""

    def __init__(self, device: "FailingDevice", triangles: Floats) -> None:
        super().__init__(CpuTracer(triangles, threads=1))
        self.device, self._own = "gpu", device

    def _trace(self, rays: Floats, hits: Floats, query: Query) -> int:
        self._own.count()
        return super()._trace(rays, hits, query)


class FailingDevice:
    """Fails at some batches, counted over all tracers.

    faults: numbers of those batches.
    dies: with the first of them, it cannot be used any more.
    """

    def __init__(self) -> None:
        self.faults: set[int] = set()
        self.dies = self.is_dead = False
        self.batches = self.opened = 0
        self.error: Exception = KernelError("CUDA error 700 while tracing")

    def open(self, snapshot: Snapshot, choice: TracerChoice, tree: BinaryTree | None) -> Tracer:
        if choice.device != "gpu":
            return OPEN(snapshot, choice, tree)
        if self.is_dead:
            raise DeviceError("cannot set up the GPU: cudaError 700")
        self.opened += 1
        return FailingTracer(self, snapshot.positions)

    def count(self) -> None:
        self.batches += 1
        if self.batches in self.faults:
            self.is_dead = self.dies
            raise self.error


OPEN = render_context._open_tracer


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> FailingDevice:
    failing = FailingDevice()
    monkeypatch.setattr(render_context, "_open_tracer", failing.open)
    return failing


@pytest.fixture(autouse=True)
def _heard(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, logger="renderer")


def made(device: str, driver: str = "path", **more: Any) -> Picture:
    chosen = {"size": (16, 12), "passes": 4, "threads": 2, "seed": 3, "quiet": True}
    return renderer.render(inside_of_lamp_box(), driver=driver, device=device, **(chosen | more))  # type: ignore[arg-type]


def assert_same(one: Picture, other: Picture) -> None:
    assert one.passes == other.passes
    assert one.film.total.tobytes() == other.film.total.tobytes()


@pytest.mark.parametrize("driver", ["path", "photon", "sppm", "photons-only"])
@pytest.mark.parametrize("dies", [False, True])
def test_passes_under_way_are_made_again(device, driver, dies, caplog):
    """At two thirds of the batches or, where the map of all passes is made as the driver is, at the very first."""
    whole = made("cpu", driver)
    assert_same(made("gpu", driver), whole)
    assert device.opened == 1
    batches, device.dies = device.batches, dies
    device.faults = {batches + (1 if driver == "photons-only" else batches * 2 // 3)}
    contained = made("gpu", driver, fallback="cpu" if dies else None)
    assert_same(contained, whole)
    figures = contained.statistics
    assert (figures["device"], figures["coprocessor.faults"]) == ("cpu" if dies else "gpu", 1)
    assert figures["rays.total"] == whole.statistics["rays.total"]  # of passes that are kept
    assert device.opened == (2 if dies else 3)
    notes = [record.message for record in caplog.records]
    assert notes[0] == "note: the gpu failed: CUDA error 700 while tracing"
    assert notes[-1] == f"note: what was under way is traced again on the {figures['device']}"


@pytest.mark.parametrize("share", [0.1, 0.3, 0.6])
def test_the_map_of_all_passes_is_traced_again(device: FailingDevice, share: float) -> None:
    """Also where no pass has begun yet."""
    whole = made("gpu", "photons-only", threads=1)
    batches = device.batches
    device.faults = {batches + round(share * batches)}
    assert_same(made("gpu", "photons-only", threads=1), whole)


def test_each_pass_has_a_try_of_its_own(device: FailingDevice) -> None:
    whole = made("gpu", threads=1)
    device.faults = {device.batches * part // 8 for part in (9, 13, 16)}  # passes before count again
    contained = made("gpu", threads=1)
    assert_same(contained, whole)
    assert (contained.statistics["device"], contained.statistics["coprocessor.faults"]) == ("gpu", 3)


def test_where_it_fails_twice_the_cpu_goes_on(device: FailingDevice) -> None:
    device.faults = set(range(1, 1000))
    contained = made("gpu", fallback="cpu", threads=1)
    assert_same(contained, made("cpu"))
    assert (device.opened, device.batches) == (2, 2)
    assert (contained.statistics["device"], contained.statistics["coprocessor.faults"]) == ("cpu", 2)


def test_without_a_fallback_it_is_an_error_that_says_what_to_do(device: FailingDevice) -> None:
    device.faults = set(range(1, 1000))
    with pytest.raises(KernelError, match="error 700 while tracing; --fallback cpu goes on with the CPU"):
        made("gpu")
    assert device.opened == 2


def test_hits_that_are_wrong_are_not_traced_again(device: FailingDevice) -> None:
    device.error = WrongHitError("bvh8", Query.CLOSEST, np.zeros((1, 8), np.float32), 0, "it hits nothing")
    device.faults = {2}
    with pytest.raises(renderer.errors.WrongPictureError, match="it hits nothing; what this kernel has traced"):
        made("gpu", fallback="cpu")
    assert device.opened == 1


def test_a_device_that_cannot_be_used_at_all(device: FailingDevice, caplog: pytest.LogCaptureFixture) -> None:
    device.is_dead = True
    with pytest.raises(DeviceError, match="cannot set up the GPU"):
        made("gpu")
    contained = made("gpu", fallback="cpu")
    assert_same(contained, made("cpu"))
    assert (contained.statistics["device"], contained.statistics["coprocessor.faults"]) == ("cpu", 1)
    assert "cudaError 700; the CPU traces instead" in caplog.text


def test_a_command_that_fails_keeps_its_checkpoint(device, tmp_path, capsys):
    small = ("--size", "16x12", "--driver", "path", "--threads", "1", "--passes", "4")
    assert run("render", "cornell", *small, "--device", "gpu", "-o", tmp_path / "whole.npy") == 0
    device.dies, device.faults = True, {device.batches + device.batches * 2 // 3}
    path = tmp_path / "a.npy"
    assert run("render", "cornell", *small, "--device", "gpu", "--checkpoint", "1000", "-o", path) == 1
    *_, error = capsys.readouterr().err.splitlines()
    assert error.startswith("tracecore: error: CUDA error 700 while tracing; --fallback cpu goes on with the CPU; ")
    assert error.endswith(f"passes are kept in '{path}.checkpoint', with which --resume goes on")
    assert run("render", "cornell", *small, "--device", "cpu", "--resume", "-o", path) == 0
    assert path.read_bytes() == (tmp_path / "whole.npy").read_bytes()
    assert json.loads(statistics_path(path).read_text())["passes"] == 4


@pytest.mark.parametrize("dies", [False, True])
def test_rounds_of_a_photon_run_are_traced_again(device: FailingDevice, dies: bool, tmp_path: Path) -> None:
    words = ("photons", "cornell", "--store", "20000", "--threads", "1", "--quiet", "--fallback", "cpu")
    assert run(*words, "--device", "gpu", "--save-photons", tmp_path / "whole.npz") == 0
    device.dies, device.faults = dies, {device.batches + device.batches // 2}
    files = ("--save-photons", tmp_path / "a.npz", "--json", tmp_path / "a.json")
    assert run(*words, "--device", "gpu", *files) == 0
    whole, again = (load_photons(tmp_path / name) for name in ("whole.npz", "a.npz"))
    assert whole[0].tobytes() == again[0].tobytes()
    figures = json.loads((tmp_path / "a.json").read_text())
    assert (figures["coprocessor.faults"], figures["device"]) == (1, "cpu" if dies else "gpu")


class Remembering(Driver):
    """Cannot tell what it keeps from pass to pass: pass i is i and the sum of all before."""

    name = "remembering"
    is_sequential = True

    def __init__(self, snapshot: Snapshot, tracer: Tracer, settings: RenderSettings) -> None:
        self.work, self.settings, self._tracer, self._sum = Work(), settings, tracer, 0.0

    def render_pass(self, index: int) -> Any:
        with closing(self._tracer.open_queue()) as queue:
            queue.submit(np.ones((1, 8), np.float32))
            queue.drain()
        self._sum += index
        return np.full((2, 2, 3), self._sum)

    def close(self) -> None:
        pass


def test_a_driver_that_keeps_things_to_itself_sees_all_passes_again(device: FailingDevice) -> None:
    device.faults = {3}
    box, settings = inside_of_lamp_box(), Settings(size=(2, 2), passes=5, device="gpu")
    plan = Plan(scene=box, settings=settings, driver=Remembering)
    with (
        context_of(box, plan.choice, load_seconds=0.0) as context,
        closing(PassSource(context, plan, plan.driver_settings(box), is_contained=True)) as making,
    ):
        found = [made.values[0, 0, 0] for made in making.passes(iter(range(5)))]
    assert found == [0.0, 1.0, 3.0, 6.0, 10.0]
    assert making.containment.faults == 1


def moving(time: float) -> Snapshot:
    """The box, which glows and gets smaller."""
    box = furnace()
    return replace(box, time=time, positions=(box.positions * (1.0 - 0.3 * time)).astype(np.float32))


class Moving(Plan):
    """The box, at any time."""

    def snapshot(self, **scene_view: Any) -> Snapshot:
        return moving(scene_view["time"])


def test_other_times_of_the_scene_are_traced_on_what_is_left(device, caplog):
    def passes(**choice: Any) -> tuple[Any, PassSource]:
        shown = {"size": (8, 6), "passes": 4, "threads": 1, "shutter": 1.0, "motion_samples": 4}
        plan = Moving(scene=moving(0.0), settings=Settings(**shown, **choice), driver=PathDriver)  # type: ignore[arg-type]
        with (
            context_of(moving(0.0), plan.choice, load_seconds=0.0) as context,
            closing(PassSource(context, plan, plan.driver_settings(context.snapshot), is_contained=True)) as making,
        ):
            return np.array([made.values for made in making.passes(iter(range(4)))]), making

    whole, _ = passes(device="cpu")
    device.dies, device.faults = True, {20}
    contained, making = passes(device="gpu", fallback="cpu")
    assert contained.tobytes() == whole.tobytes()
    assert making.containment.faults == 1
    assert len(caplog.records) == 3
    assert device.batches == 20
