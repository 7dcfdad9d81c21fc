"""A run loads what it needs and compiles nothing twice."""

import json
import subprocess
import sys
import threading
import time
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from data_files import data_text

import renderer
from renderer.camera_paths.loops import run_eye_paths
from renderer.commands import COMMANDS
from renderer.drivers import DRIVERS
from renderer.errors import UsageError
from renderer.photons.tracing import run_photons
from renderer.run import first_run
from renderer.scene import render_context
from tracecore.compilation import unit_calls
from tracecore.compilation.cached import Cached, only_process
from tracecore.compilation.private_folder import PrivateFolder
from tracecore.compilation.watching import made, making

#: Renders by paths, and tells what was imported, compiled and loaded for it.
RUN = data_text("programs/what_a_render_loads.py")

#: What a picture of a scene without pictures and mesh files does not need. The first ones Numba wants when it compiles.
USELESS = {
    "numba.np.npyimpl",
    "numba.np.arrayobj",
    "numba.cpython.charseq",
    "tqdm",
    "asyncio",
    "trimesh",
    "PIL",
    "matplotlib",
    "OpenEXR",
    "scenes.aff",
    "scenes.mitsuba",
    "scenes.toml_scene.writer",
    "scenes.mesh_file",
    "scenes.pictures.texture_file",
    "scenes.pictures.environment_file",
    "scenes.shipped.modelling",
    "scenes.shipped.museum",
}

#: Packages and rows of registries that a picture by another driver, of other materials, does not need.
UNASKED = (
    "renderer.bench",
    "renderer.viewer",
    "renderer.drivers.gather",
    "renderer.drivers.sppm",
    "renderer.drivers.whitted",
    "renderer.run.members.fleet_driver",
    "shaders.bsdfs.principled",
    "shaders.bsdfs.measured",
    "tracecore.bvh.ploc",
    "tracecore.cuda",
    "tracecore.emulator",
    "tracecore.tracers.brute_force",
)


def run(tmp_path: Path) -> dict[str, Any]:
    command = [sys.executable, "-c", RUN, str(tmp_path / "picture.npy")]
    told: dict[str, Any] = json.loads(subprocess.run(command, check=True, capture_output=True).stdout.splitlines()[-1])
    assert told["status"] == 0
    return told


def test_a_second_run_compiles_nothing_and_loads_its_own_loop_alone(tmp_path: Path) -> None:
    run(tmp_path)  # which may have to compile
    told = run(tmp_path)
    assert told["compiled"] == 0
    assert told["known"] == []  # no function that is merged with others was made known to Numba
    assert "run_eye_paths" in told["loaded"]
    assert not {"run_photons", "run_occlusion", "run_irradiance", "run_features"} & set(told["loaded"])
    assert not USELESS & set(told["modules"])
    assert [name for name in told["modules"] if name.startswith(UNASKED)] == []
    commands = {f"renderer.commands.{name.replace(' ', '_')}" for name in COMMANDS}
    assert commands & set(told["modules"]) == {"renderer.commands.render"}


@pytest.mark.parametrize(
    ("there", "cores", "driver", "count"),
    [
        ((), 2, "photon", 1),
        ((run_photons,), 2, "photon", 0),
        ((run_eye_paths,), 2, "photon", 0),
        ((), 1, "photon", 0),
        ((), 2, "vcm", 0),
    ],
)
def test_a_first_run_of_a_photon_driver_has_another_process_help(there, cores, driver, count, monkeypatch):
    """There: loops of which the cache has code. `vcm` has loops of its own."""
    started: list[Any] = []

    def note(programs: list[Any]) -> AbstractContextManager[None]:
        started.extend(programs)
        return nullcontext()

    monkeypatch.setattr(Cached, "has_any_code", lambda loop: loop in there)
    monkeypatch.setattr(unit_calls, "processes", lambda: cores)
    monkeypatch.setattr(unit_calls, "beside", note)
    with first_run.helped(DRIVERS[driver].code):
        assert started == [(first_run.HELPER, b"")] * count


def test_the_helper_does_what_it_is_for() -> None:
    """It is a program in a text, which no other check reads."""
    names = {"__name__": "helper"}
    asked: list[Any] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("renderer.run.render_call.render", lambda *args, **settings: asked.append((args, settings)))
        exec(first_run.HELPER, names)
    ((scene,), settings) = asked[0]
    assert (scene, settings["driver"]) == ("cornell", "path")


def test_one_at_a_time_is_in_the_block(tmp_path: Path) -> None:
    inside: list[int] = []
    folder = PrivateFolder(tmp_path / "folder")

    def enter() -> None:
        for _ in range(5):
            with only_process(folder, "function.lock"):
                inside.append(1)
                time.sleep(0.002)
                together.append(len(inside))
                inside.pop()

    together: list[int] = []
    threads = [threading.Thread(target=enter) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert together == [1] * 20


class Shown:
    """What stderr has had so far."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self.capsys, self.text = capsys, ""

    def awaits(self, words: str) -> None:
        """Comes back when the words have been printed."""
        end = time.monotonic() + 60.0
        while words not in self.text:
            assert time.monotonic() < end, f"{words} are not in {self.text}"
            time.sleep(0.001)
            self.text += self.capsys.readouterr().err


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Shown:
    monkeypatch.setattr(first_run, "PATIENCE", 0.0)
    monkeypatch.setattr(first_run, "STEP", 0.001)
    return Shown(capsys)


def test_on_a_terminal_a_bar_moves_with_what_is_compiled(shown: Shown, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    missing = [len, max, min, abs]
    with first_run.shown(quiet=False), making("run_photons", lambda: set(missing)):
        for number, one in enumerate(missing):
            shown.awaits(f"{number}/4")
            made(partial(set, [one]))
        shown.awaits("4/4")
    assert "compiling run_photons, first run only" in shown.text


def test_a_gpu_is_looked_for_while_something_else_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, found = threading.Event(), threading.Event()
    seen: list[tuple[int | None, bool]] = []

    def look(index: int | None) -> bool:
        begun.set()
        seen.append((index, found.wait(20.0)))
        return True

    monkeypatch.setattr(render_context, "has_gpu", look)
    with render_context.gpu_found_meanwhile("gpu:1"):
        assert begun.wait(60.0)
        found.set()
    assert seen == [(1, True)]


def test_a_device_that_there_is_not_is_told_where_it_is_chosen() -> None:
    for device in ("abacus", "gpu:first"):
        with render_context.gpu_found_meanwhile(device):
            pass
        with pytest.raises(UsageError, match=device):
            renderer.render("cornell", size=(4, 3), passes=1, photons=10, device=device, quiet=True)


def test_only_processes_that_shade_on_the_cpu_are_helped_with_its_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    helped: list[str] = []
    monkeypatch.setattr(first_run, "helped", lambda code: nullcontext(helped.append("helped")))
    for shading in ("cpu", "auto"):
        renderer.render("cornell", size=(4, 3), passes=1, photons=10, device="cpu", shading=shading, quiet=True)
    assert helped == ["helped"]
