"""The command line: what it refuses, and how; what it writes; how it ends."""

import argparse
import contextlib
import json
import math
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from command_line import run
from data_files import data_text
from PIL import Image

import renderer
import scenes
from renderer import cli
from renderer.commands.arguments import chosen_settings
from renderer.drivers import DRIVERS
from renderer.drivers.driver import PHOTONS_PER_PIXEL, Driver, Radiance, RenderSettings, Work
from renderer.errors import RenderError, UsageError
from renderer.film.image_file import read_texts
from renderer.film.layers import LAYER_BEAUTY, LAYER_BIAS, LAYER_COLUMNS
from renderer.film.picture_file import read_picture
from renderer.film.relative_error import FLOOR
from renderer.photons.photon_file import load_photons
from renderer.run.first_run import CompilerBar
from renderer.run.photon_run import local_tracing, rounds
from renderer.run.plan import Plan
from renderer.run.statistics import FIELDS, OF_PHOTON_RUNS, OF_PICTURES, OF_TIMED_RAYS
from renderer.settings.picture import DEFAULT_PASSES, DRIVER_SETTINGS, Settings
from renderer.version import __version__
from scenes.errors import SceneFileError
from scenes.model import Snapshot
from tracecore.compilation import watching
from tracecore.dispatch.tracer import Tracer
from tracecore.errors import DeviceError, TriangleError


class FlatDriver(Driver):
    """Pass i is a flat picture of value i + 1; `at_pass` is called first."""

    name: ClassVar[str] = "flat"
    takes: ClassVar[frozenset[str]] = frozenset(DRIVER_SETTINGS)
    layers: ClassVar[str] = "all"
    keeps_photons: ClassVar[bool] = True
    has_log: ClassVar[bool] = True
    at_pass: ClassVar[Callable[[int], None]] = staticmethod(lambda index: None)

    def __init__(self, snapshot: Snapshot, tracer: Tracer, settings: RenderSettings) -> None:
        self.work, self.settings = Work(), settings
        self.closed = False

    def render_pass(self, index: int) -> Radiance:
        type(self).at_pass(index)
        self.work.rays.camera += self.settings.width * self.settings.height
        image = np.zeros((self.settings.height, self.settings.width, LAYER_COLUMNS[self.settings.layers]))
        image[..., LAYER_BEAUTY:LAYER_BIAS] = index + 1.0
        return image

    def save_photons(self, path: Path) -> None:
        path.write_bytes(b"photons")

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def flat(monkeypatch: pytest.MonkeyPatch) -> type[FlatDriver]:
    """A driver named flat that may be changed by a test."""

    class Flat(FlatDriver):
        pass

    monkeypatch.setitem(DRIVERS, "flat", Flat)
    return Flat


def run_flat(*arguments: object) -> int:
    return run("render", "cornell", "--driver", "flat", "--device", "cpu", "--size", "4x3", *arguments)


def assert_one_line(text: str, *parts: str) -> None:
    assert text.startswith("tracecore: error: ")
    assert text.count("\n") == 1
    assert text.endswith("\n")
    for part in parts:
        assert part in text


def test_a_variable_that_cannot_be_so_is_told_before_anything_is_done(monkeypatch, capsys):
    monkeypatch.setenv("TRACECORE_COMPILE_PROCESSES", "abc")
    assert cli.main(["scene", "list"]) == 2
    assert_one_line(capsys.readouterr().err, "TRACECORE_COMPILE_PROCESSES must be a whole number", "got 'abc'")


def test_defaults_are_those_of_the_settings(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = cli.make_parser().parse_args(["render", "cornell"])
    snapshot = scenes.load("cornell").at_frame(0)
    width, height = snapshot.camera.resolution
    settings = RenderSettings(width=width, height=height)
    plan = Plan(scene=snapshot, settings=chosen_settings(Settings, arguments), driver=DRIVERS["path"])
    assert plan.driver_settings(snapshot) == settings
    run("render", "--help", "all")
    text = " ".join(capsys.readouterr().out.split())
    assert PHOTONS_PER_PIXEL == 2
    assert "each pass (default: two for each pixel)" in text
    assert f"surface interactions (default: {settings.max_bounces})" in text


@pytest.mark.parametrize("command", ["", *cli.COMMANDS])  # type: ignore[attr-defined]
def test_help(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(*command.split(), "--help") == 0
    text = capsys.readouterr().out
    assert text.startswith(f"usage: tracecore {command}".rstrip())
    if command in ("", "render", "photons", "scene"):
        assert f"\n  tracecore {command or 'render'}" in text
    if command == "":
        assert all(re.search(rf"\n    {name}\s", text) for name in cli.COMMANDS)  # type: ignore[attr-defined]


@pytest.mark.parametrize("command", ["render", "view", "photons", "bench"])
def test_help_has_two_levels(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(command, "--help") == run(command, "--help", "all") == 0
    short, whole = capsys.readouterr().out.split("usage: ")[1:]
    usual, every = (re.findall(r"^  (?:-\w.*, )?(--[\w-]+)", text, re.M) for text in (short, whole))
    assert set(usual) < set(every)
    assert 10 <= len(usual) <= 16
    assert f"--help all shows all {len(every)} options" in short
    assert "\nexamples:\n" in short


@pytest.mark.parametrize(("command", "others"), [("render", OF_PHOTON_RUNS), ("photons", OF_PICTURES)])
def test_help_explains_the_keys_of_its_own_command(command, others, capsys):
    run(command, "--help", "all")
    text = capsys.readouterr().out
    explained = {key for key, meaning in FIELDS.items() if re.search(rf"^  {key} +{re.escape(meaning)}$", text, re.M)}
    assert explained == FIELDS.keys() - {*others}
    assert f"(not of use here: {', '.join(others)})" in text


def test_help_loads_nothing_heavy() -> None:
    script = (
        "import sys\nfrom renderer.cli import make_parser\nmake_parser().format_help()\n"
        "print({'numpy', 'numba', 'tqdm', 'PIL', 'scenes.model', 'tracecore', 'shaders'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "set()\n", "")


@pytest.mark.parametrize(
    ("options", "told", "missing"),
    [
        ("--device cpu --dispatch streamed -o a.png --quiet", ("--dispatch streamed", "cpu"), None),
        ("--denoise -o a.png", ("cannot denoise: ", "pip install pyoidn\n"), "pyoidn"),
        ("-o a.exr", ("pip install OpenEXR",), "OpenEXR"),
    ],
)
def test_what_this_machine_cannot_do_is_refused_in_one_line(options, told, missing, monkeypatch, capsys):
    if missing:
        monkeypatch.setitem(sys.modules, missing, None)
    assert run("render", "cornell", *options.split()) == 2
    assert_one_line(capsys.readouterr().err, *told)


@pytest.mark.parametrize("option", [(), ("-o", "output/x.png"), ("-o", "a.png", "--save-photons", "output/x.npz")])
def test_default_folder_of_a_picture(option, tmp_path, flat, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run_flat("--passes", "1", *option) == 0
    assert Path(option[-1] if option else "output/cornell-flat.png").is_file()


def test_default_folder_that_cannot_be_made(tmp_path, flat, monkeypatch, capsys):
    def refuse(path: Path, **_options: bool) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.chdir(tmp_path)
    Path("output").touch()
    assert run_flat() == 2
    assert_one_line(capsys.readouterr().err, "'output'", "it is a file")
    Path("output").unlink()
    monkeypatch.setattr(Path, "mkdir", refuse)
    assert run_flat() == 2
    assert_one_line(capsys.readouterr().err, "cannot make the folder 'output': Permission denied")


def test_files_of_a_picture(tmp_path: Path, flat: type[FlatDriver], capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.png"
    assert run_flat("-o", path, "--passes", "3", "--seed", "7", "--exposure", "-1") == 0
    np.testing.assert_array_equal(read_picture(tmp_path / "a.npy").image, np.full((3, 4, 3), 2.0))
    figures = json.loads((tmp_path / "a.png.json").read_text())
    assert list(figures) == list(FIELDS)
    assert (figures["scene"], figures["driver"], figures["seed"], figures["rays.camera"]) == ("cornell", "flat", 7, 36)
    with Image.open(path) as image:
        assert image.getpixel((0, 0)) == (193, 193, 193)  # 2 a stop darker is 1, of which the curve makes 0.53125
    texts = read_texts(path)
    assert (texts["scene"], texts["driver"], texts["version"]) == ("cornell", "flat", __version__)
    assert texts["Software"] == f"tracecore {__version__}"
    settings = json.loads(texts["settings"])
    assert (settings["passes"], settings["seed"], settings["exposure"], settings["width"]) == (3, 7, -1.0, 4)
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["a.npy", "a.png", "a.png.json"]
    assert capsys.readouterr().out.startswith(f"{path}: 4x3, 3 passes, ")


def test_a_picture_replaces_any_of_this_program(tmp_path, flat, capsys):
    common = ("-o", tmp_path / "a.png", "--passes", "1", "--quiet")
    assert run_flat(*common) == 0
    assert run_flat(*common, "--exposure", "1") == 0
    assert json.loads((tmp_path / "a.png.json").read_text())["asked"]["exposure"] == 1.0
    (tmp_path / "a.png.json").unlink()
    assert run_flat(*common) == 0
    assert capsys.readouterr().err == ""
    assert run_flat(*common, "--no-clobber") == 2
    assert_one_line(capsys.readouterr().err, "a.png': it is there already", "--no-clobber")


@pytest.mark.parametrize("name", ["a.png", "a.npy", "a.png.json", "a.png.checkpoint", "t.json"])
def test_a_file_of_somebody_else_is_replaced_by_force_alone(name, tmp_path, flat, capsys):
    """It is told before anything is rendered; statistics beside a picture do not make it one of this program."""
    common = ("-o", tmp_path / "a.png", "--timeline", tmp_path / "t.json", "--passes", "1", "--quiet")
    assert run_flat("-o", tmp_path / "a.png", "--passes", "1", "--quiet") == 0
    (tmp_path / name).write_bytes(b"of somebody else")
    flat.at_pass = staticmethod(lambda index: pytest.fail("rendered"))
    assert run_flat(*common) == 2
    assert_one_line(capsys.readouterr().err, f"{name}': it is there already, and tracecore did not write it", "--force")
    assert (tmp_path / name).read_bytes() == b"of somebody else"
    flat.at_pass = staticmethod(lambda index: None)
    assert run_flat("-o", tmp_path / "a.png", "--passes", "1", "--quiet", "--force") == 0


def test_no_picture_is_written_over_its_scene(tmp_path, flat, capsys):
    sky, path = tmp_path / "sky.npy", tmp_path / "sky.toml"
    np.save(sky, np.ones((2, 4, 3), np.float32))
    path.write_text(
        "materials.red = {}\nobject = [{ shape = 'sphere', material = 'red' }]\nenvironment.image = 'sky.npy'"
    )
    before = sky.read_bytes()
    assert run("render", path, "--driver", "flat", "--device", "cpu", "-o", tmp_path / "sky.png", "--force") == 2
    assert_one_line(capsys.readouterr().err, "sky.npy': the scene or the command reads it")
    with pytest.raises(UsageError, match="the scene or the command reads it"):
        renderer.render(path, driver="flat", output=tmp_path / "sky.png")
    assert run_flat("-o", tmp_path / "a.png", "--timeline", tmp_path / "a.png.json") == 2
    assert_one_line(capsys.readouterr().err, "another file of this command goes there")
    assert sky.read_bytes() == before


def test_photons_are_kept_whatever_comes(tmp_path, flat, monkeypatch):
    def save_photons(self: FlatDriver, path: Path) -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        path.write_bytes(b"photons")

    monkeypatch.setattr(flat, "save_photons", save_photons)
    assert run_flat("-o", tmp_path / "a.png", "--passes", "1", "--save-photons", tmp_path / "a.npz") == 0
    assert (tmp_path / "a.npz").read_bytes() == b"photons"


def test_a_target_noise_alone_is_no_number_of_passes(tmp_path, flat, monkeypatch):
    """Of passes of brightness 2 the first is 3 and the second, of the other half, 1."""

    def error_after(passes: int) -> float:
        return 1.0 / math.sqrt(passes // 2 * ((passes + 1) // 2)) / 2.0 / (1.0 + FLOOR)

    def render_pass(self: FlatDriver, index: int) -> Radiance:
        image = np.zeros((self.settings.height, self.settings.width, LAYER_COLUMNS[self.settings.layers]))
        image[..., LAYER_BEAUTY:LAYER_BIAS] = {0: 3.0, 1: 1.0}.get(index, 2.0)
        return image

    monkeypatch.setattr(flat, "render_pass", render_pass)
    assert run_flat("-o", tmp_path / "a.png", "--target-noise", "0.0145") == 0
    figures = json.loads((tmp_path / "a.png.json").read_text())
    assert figures["passes"] > DEFAULT_PASSES
    assert figures["noise"] == pytest.approx(error_after(figures["passes"]), rel=1e-5)
    assert error_after(figures["passes"]) <= 0.0145 < error_after(figures["passes"] - 1)


def test_frames_of_a_scene_that_stands_still_are_told(tmp_path, flat, capsys):
    still = "tracecore: note: scene cornell stands still: "
    assert run_flat("-o", tmp_path / "a.png", "--frame", "5", "--passes", "1") == 0
    assert f"{still}--frame 5 changes nothing\n" in capsys.readouterr().err
    assert run_flat("-o", tmp_path / "b.png", "--frames", "0:1", "--passes", "1") == 0
    assert capsys.readouterr().err.count(f"{still}all frames show the same moment\n") == 1
    assert run_flat("-o", tmp_path / "c.png", "--passes", "1") == 0
    assert "stands still" not in capsys.readouterr().err


def test_interrupted_render(tmp_path: Path, flat: type[FlatDriver], capsys: pytest.CaptureFixture[str]) -> None:
    def interrupt(index: int) -> None:
        if index == 2:
            raise KeyboardInterrupt

    flat.at_pass = staticmethod(interrupt)
    assert run_flat("-o", tmp_path / "a.png", "--quiet") == 130
    assert "interrupted: 2 passes saved in" in capsys.readouterr().err
    assert read_picture(tmp_path / "a.npy").image[0, 0, 0] == 1.5
    assert (tmp_path / "a.png").is_file()
    assert (tmp_path / "a.png.json").is_file()


INTERRUPTED_TWICE = """
import os, signal, sys
from renderer import cli
from renderer.run.picture.picture_files import PictureFiles
from renderer.commands import photons
from renderer.drivers import DRIVERS
from renderer.drivers.path import PathDriver

def interrupt(*_):
    for _ in range(3):
        os.kill(os.getpid(), signal.{second})

class Hasty(PathDriver):
    name = "hasty"

    def passes(self, indices, carried=None):
        for index, made in enumerate(super().passes(indices, carried)):
            if index == 2:
                os.kill(os.getpid(), signal.{first})
            yield made

    def close(self):
        interrupt()
        super().close()
        print("closed", flush=True)

signal.signal(signal.SIGINT, signal.default_int_handler)
DRIVERS["hasty"] = Hasty
save_all = PictureFiles.save_all
PictureFiles.save_all = lambda *arguments, **named: (interrupt(), save_all(*arguments, **named))
status = cli.main()
interrupt()
sys.exit(status)
"""


@pytest.mark.parametrize(("first", "second"), [("SIGINT", "SIGINT"), ("SIGTERM", "SIGTERM"), ("SIGINT", "SIGTERM")])
def test_impatient_interrupts_lose_nothing(first: str, second: str, tmp_path: Path) -> None:
    options = "--driver hasty --device cpu --size 4x3 --threads 2 --quiet -o a.png"
    command = [sys.executable, "-c", INTERRUPTED_TWICE.format(first=first, second=second), "render", "cornell"]
    done = subprocess.run(
        [*command, *options.split()],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path(cli.__file__).parents[1])},
    )
    saved = "tracecore: interrupted: 2 passes saved in a.png; the same command with --resume goes on\n"
    status = 128 + getattr(signal, first)
    assert (done.returncode, done.stdout, done.stderr) == (status, "closed\n", saved)
    expected = ["a.npy", "a.png", "a.png.checkpoint", "a.png.json"]
    assert sorted(entry.name for entry in tmp_path.iterdir()) == expected


def test_interrupt_that_a_module_in_c_makes_an_error_of_import(tmp_path, flat, monkeypatch, capsys):
    """As NumPy's does where it asks for `datetime`; without a signal it is a fault like any other."""

    def load(*asked: object, **options) -> None:
        with contextlib.suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGTERM)
        raise ImportError("PyCapsule_Import could not import module")

    monkeypatch.setattr("scenes.loading.load", load)
    assert run_flat("-o", tmp_path / "a.png", "--quiet") == 143
    assert capsys.readouterr().err == "tracecore: interrupted\n"
    monkeypatch.setattr(signal, "raise_signal", lambda number: None)
    with pytest.raises(ImportError):
        run_flat("-o", tmp_path / "a.png", "--quiet")


def test_bad_radiance_is_left_out_and_told(tmp_path, flat, monkeypatch, capsys):
    monkeypatch.setattr(flat, "render_pass", lambda self, index: np.full((3, 4, 3), np.nan if index == 1 else 1.0))
    assert run_flat("-o", tmp_path / "a.png") == 0
    notes = [line for line in capsys.readouterr().err.splitlines() if "left out" in line]
    assert len(notes) == 1
    assert "12 samples were left out" in notes[0]
    assert "--debug-path 0,1,0:0" in notes[0]


def test_faults_of_the_program_are_not_hidden(tmp_path: Path, flat: type[FlatDriver]) -> None:
    def fail(index: int) -> None:
        raise ZeroDivisionError

    flat.at_pass = staticmethod(fail)
    with pytest.raises(ZeroDivisionError):
        run_flat("-o", tmp_path / "a.png")


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (UsageError("x"), 2),
        (SceneFileError("a.aff", 3, "x"), 2),
        (TriangleError("x"), 2),
        (DeviceError("x"), 1),
        (RenderError("x"), 1),
        (OSError(28, "No space left on device"), 1),
        (MemoryError(), 1),
        (KeyError("x"), None),
    ],
)
def test_status_of_errors(error: Exception, status: int | None) -> None:
    assert cli.status_of(error) == status


@pytest.mark.parametrize("options", [(), ("--quiet",)])
def test_what_a_command_compiles_is_watched_unless_it_is_quiet(options, tmp_path, flat):
    watchers: list[object] = []
    flat.at_pass = staticmethod(lambda index: watchers.append(watching._Watch.watcher))
    assert run_flat("-o", tmp_path / "a.png", "--passes", "1", *options) == 0
    assert [type(one) for one in watchers] == [type(None) if options else CompilerBar]
    assert watching._Watch.watcher is None


def test_photons_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = ("--json", tmp_path / "a.json", "--save-photons", tmp_path / "a.npz")
    assert run("photons", "cornell", "--device", "cpu", "--store", "5000", *files) == 0
    text = capsys.readouterr().out
    figures = json.loads((tmp_path / "a.json").read_text())
    assert list(figures) == list(FIELDS)
    assert figures["photons.stored"] >= 5000
    assert (
        figures["photons.emitted"]
        == figures["photons.absorbed"] + figures["photons.escaped"] + figures["photons.terminated"]
    )
    assert len(load_photons(tmp_path / "a.npz")[0]) == figures["photons.stored"]
    for part in (
        "Mrays/s",
        "busy",
        "limited by",
        f"{figures['photons.emitted']} emitted",
        f"{figures['photons.escaped']} escaped",
    ):
        assert part in text


def test_report_of_a_photon_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("photons", "cornell", "--device", "cpu", "--store", "50000", "--json", tmp_path / "a.json") == 0
    rows = dict(line.split(maxsplit=1) for line in capsys.readouterr().out.replace("limited by", "limit").splitlines())
    figures = json.loads((tmp_path / "a.json").read_text())
    assert f"{figures['rays.timed']} in" in rows["rays"]
    assert 0 < figures["rays.timed"] < figures["rays.total"]
    assert f"{figures['rays_per_second'] / 1e6:.2f} Mrays/s" in rows["rays"]
    cores = 1e9 * figures["threads"] / figures["rays.timed"]
    assert (
        f"{figures['shading.rays_per_second'] / 1e6:.2f} Mrays/s: {cores * figures['seconds.shade']:.1f} ns"
        in rows["shading"]
    )
    assert rows["tracing"].startswith(f"{cores * figures['seconds.trace']:.1f} ns")
    assert rows["waiting"].startswith("0%")
    assert rows["transfer"] == "none, there is no bus"
    assert rows["order"].startswith(f"{figures['seconds.map']:.3f} s")
    assert rows["limit"] == figures["limited_by"] in ("kernel", "shading")


def test_no_rate_is_told_of_a_run_that_its_pilot_ends(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("photons", "cornell", "--device", "cpu", "--store", "1000", "--json", tmp_path / "a.json") == 0
    told = capsys.readouterr().out
    figures = json.loads((tmp_path / "a.json").read_text())
    assert figures["rays.timed"] == 0 < figures["rays.photon"]
    assert [figures[key] for key in OF_TIMED_RAYS] == [None] * len(OF_TIMED_RAYS)
    assert f"\nrays          {figures['rays.photon']}, all of the pilot, which is not timed" in told
    assert "limited by" not in told
    assert "/s" not in told


def test_photons_traced_again(tmp_path: Path) -> None:
    common = ("photons", "cornell", "--device", "cpu", "--store", "20000", "--quiet", "--json", tmp_path / "a.json")
    figures = []
    for repeat in (1, 3):
        assert run(*common, "--repeat", str(repeat)) == 0
        figures.append(json.loads((tmp_path / "a.json").read_text()))
    assert [len(one["rays_per_second_of_runs"]) for one in figures] == [1, 3]
    assert figures[1]["rays_per_second"] == sorted(figures[1]["rays_per_second_of_runs"])[1]
    for key in ("photons.stored", "photons.emitted", "rays.photon", "rays.timed"):
        assert figures[0][key] == figures[1][key]


def interrupt_photons(monkeypatch: pytest.MonkeyPatch, rounds: int) -> None:
    """A Ctrl-C once so many rounds are finished."""
    trace, left = local_tracing.trace_photons, [rounds]  # type: ignore[attr-defined]

    def trace_photons(*arguments: Any) -> Any:
        if left[0] == 0:
            raise KeyboardInterrupt
        left[0] -= 1
        return trace(*arguments)

    monkeypatch.setattr(local_tracing, "trace_photons", trace_photons)


def test_interrupted_photons_are_kept(tmp_path, monkeypatch, capsys):
    interrupt_photons(monkeypatch, rounds=rounds.PILOT_PARTS)
    files = ("--json", tmp_path / "a.json", "--save-photons", tmp_path / "a.npz")
    assert run("photons", "cornell", "--device", "cpu", "--store", "100000", *files) == 130
    captured = capsys.readouterr()
    figures = json.loads((tmp_path / "a.json").read_text())
    stored = figures["photons.stored"]
    assert 0 < stored < 100_000
    assert len(load_photons(tmp_path / "a.npz")[0]) == stored
    assert f"{stored} stored" in captured.out
    assert f"interrupted: {stored} photons are stored; saved in {tmp_path / 'a.npz'} and" in captured.err


def test_interrupt_before_the_first_photons(tmp_path, monkeypatch, capsys):
    interrupt_photons(monkeypatch, rounds=0)
    assert run("photons", "cornell", "--device", "cpu", "--quiet", "--json", tmp_path / "a.json") == 130
    assert capsys.readouterr().err == "tracecore: interrupted\n"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("terminal", [True, False])
def test_bar_of_photons_is_for_terminals(terminal, monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal, raising=False)
    for quiet in ((), ("--quiet",)):
        assert run("photons", "cornell", "--device", "cpu", "--store", "3000", *quiet) == 0
        err = capsys.readouterr().err
        assert ("tracing" in err) == (terminal and not quiet)


def test_scene_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("scene", "list") == 0
    assert "cornell " in capsys.readouterr().out


def test_scene_info(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("scene", "info", "cornell") == 0
    text = capsys.readouterr().out
    triangles = len(scenes.load("cornell").at_frame(0).positions)
    assert f"triangles  {triangles}, of which 0 move" in text
    assert "lights     2 triangles that shine" in text
    assert "cameras    front\n" in text


def test_only_the_command_that_is_asked_for_has_arguments() -> None:
    def with_arguments(words: list[str] | None) -> set[str]:
        (known,) = (one for one in cli.make_parser(words)._actions if isinstance(one, argparse._SubParsersAction))
        return {name for name, parser in known.choices.items() if parser.get_default("run") is not None}

    assert with_arguments(None) == set(cli.COMMANDS)  # type: ignore[attr-defined]
    assert with_arguments(["--", "bench film", "cornell"]) == {"bench film"}


PROPOSING = data_text("toml/proposing.toml.template")


def proposing(folder: Path, driver: str) -> Path:
    path = folder / "proposing.toml"
    path.write_text(PROPOSING.format(driver=driver))
    return path


def told_settings(picture: Path) -> dict[str, Any]:
    return dict(json.loads(read_texts(picture)["settings"]))


def test_a_scene_proposes_settings(tmp_path: Path, flat: type[FlatDriver]) -> None:
    assert run("render", proposing(tmp_path, "flat"), "--device", "cpu", "-o", tmp_path / "a.png", "--quiet") == 0
    assert told_settings(tmp_path / "a.png") == {
        "width": 6,
        "height": 5,
        "seed": 99,
        "photons": 1234,
        "radius": 0.25,
        "max_bounces": 7,
        "pixel_filter": "box",
        "sampler": "sobol",
        "projection": True,
        "guide_share": 0.0,
        "adaptive": False,
        "passes": 3,
        "exposure": 1.5,
        "tone_map": "linear",
        "time": 0.0,
    }


def test_a_share_of_photons_is_guided_where_it_is_asked_for(tmp_path: Path, flat: type[FlatDriver]) -> None:
    assert run_flat("--guide-share", "0.25", "--passes", "1", "-o", tmp_path / "a.png", "--quiet") == 0
    assert told_settings(tmp_path / "a.png")["guide_share"] == 0.25


def test_what_is_said_wins_over_what_is_proposed(tmp_path: Path, flat: type[FlatDriver]) -> None:
    said = "--size 4x3 --passes 2 --photons 5 --radius 1 --max-bounces 2 --exposure 0 --tone-map reinhard --seed 0"
    scene = proposing(tmp_path, "path")
    options = ("--driver", "flat", "--device", "cpu", *said.split(), "--quiet")
    assert run("render", scene, *options, "-o", tmp_path / "a.png") == 0
    figures = told_settings(tmp_path / "a.png")
    assert [figures[name] for name in ("width", "height", "passes", "photons", "max_bounces")] == [4, 3, 2, 5, 2]
    assert [figures[name] for name in ("radius", "exposure", "tone_map", "seed")] == [1.0, 0.0, "reinhard", 0]


def test_a_driver_that_is_proposed_and_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("render", proposing(tmp_path, "sppn"), "-o", tmp_path / "a.png") == 2
    assert_one_line(capsys.readouterr().err, "sppn", "registered: photon, sppm, path, path+caustics, gather")


def test_cameras_by_name(tmp_path: Path, flat: type[FlatDriver]) -> None:
    seen: list[tuple[float, float, float]] = []

    class Looking(FlatDriver):
        def __init__(self, snapshot: Snapshot, tracer: Tracer, settings: RenderSettings) -> None:
            seen.append(snapshot.camera.eye)
            super().__init__(snapshot, tracer, settings)

    DRIVERS["flat"] = Looking
    scene = proposing(tmp_path, "flat")
    for options in ((), ("--camera", "right"), ("--camera", "left")):
        assert run("render", scene, "--device", "cpu", *options, "-o", tmp_path / "a.png", "--quiet", "--force") == 0
    assert seen == [(0.0, 0.0, 5.0), (1.0, 0.0, 5.0), (0.0, 0.0, 5.0)]


def test_photons_only_keeps_its_map(tmp_path: Path) -> None:
    options: list[Any] = ["--driver", "photons-only", "--device", "cpu", "--size", "8x6", "--photons", "500"]
    files = ("-o", tmp_path / "a.png", "--save-photons", tmp_path / "a.npz")
    assert run("render", "cornell", *options, "--passes", "1", "--quiet", *files) == 0
    kept, _ = load_photons(tmp_path / "a.npz")
    assert len(kept) == json.loads((tmp_path / "a.png.json").read_text())["photons.stored"] > 0


def test_time_limit_alone_is_no_number_of_passes(tmp_path: Path, flat: type[FlatDriver]) -> None:
    assert run_flat("-o", tmp_path / "a.png", "--time-limit", "0.5") == 0
    assert json.loads(read_texts(tmp_path / "a.png")["settings"])["passes"] > DEFAULT_PASSES


@pytest.mark.parametrize("suffix", [".exr", ".npy"])
def test_linear_output(suffix: str, tmp_path: Path, flat: type[FlatDriver]) -> None:
    if suffix == ".exr":
        pytest.importorskip("OpenEXR", reason="the extra [exr] is not installed")
    assert run_flat("-o", tmp_path / f"a{suffix}", "--passes", "1") == 0
    np.testing.assert_array_equal(read_picture(tmp_path / f"a{suffix}").image, np.ones((3, 4, 3)))
    assert sorted(entry.name for entry in tmp_path.iterdir()) == [f"a{suffix}", f"a{suffix}.json"]
