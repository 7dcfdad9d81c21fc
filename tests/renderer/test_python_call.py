"""The call in Python: what it gives, what it refuses, and the page that explains it."""

import re
import subprocess
import sys
from dataclasses import FrozenInstanceError
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pages import made_small, python_blocks

import renderer
import scenes
from renderer import Picture, Settings, cli, plugins
from renderer.drivers import DRIVERS
from renderer.errors import UsageError
from renderer.film.picture_file import read_picture
from renderer.run.statistics import FIELDS
from renderer.settings.manual import with_table
from renderer.settings.measurement import Measurement
from renderer.settings.setting import settings_of
from scenes.keys.values import Key
from scenes.toml_scene.keys import RENDER

PAGE = Path(renderer.__file__).parents[1] / "docs" / "python.md"

#: A picture that takes no time.
SMALL = Settings(driver="whitted", size=(8, 6), passes=3, device="cpu", threads=1, quiet=True)


@pytest.fixture(scope="module")
def whitted() -> Picture:
    return renderer.render("cornell", SMALL)


def test_image_and_statistics(whitted: Picture) -> None:
    assert (whitted.image.shape, whitted.image.dtype) == ((6, 8, 3), np.float32)
    assert whitted.image.max() > 0.0
    assert list(whitted.statistics) == list(FIELDS)
    assert (whitted.statistics["passes"], whitted.passes, whitted.is_finished) == (3, 3, True)
    assert whitted.layers == {}


def test_a_picture_is_an_array_and_a_line(whitted: Picture) -> None:
    assert np.array_equal(np.asarray(whitted), whitted.image)
    assert np.asarray(whitted).dtype == np.float32
    doubles = np.array(whitted, np.float64)
    assert (doubles.dtype, doubles.shape) == (np.float64, (6, 8, 3))
    assert np.asarray(whitted, copy=True).flags.owndata
    with pytest.raises(ValueError, match="copy"):
        np.asarray(whitted, np.float64, copy=False)
    seconds = f"{whitted.statistics['seconds.total']:.1f}"
    assert str(whitted) == repr(whitted) == f"<Picture of cornell: 8x6, whitted, 3 passes, {seconds} s>"


def test_the_command_makes_the_same_files(whitted: Picture, tmp_path: Path) -> None:
    options = ("--driver", "whitted", "--size", "8x6", "--passes", "3", "--device", "cpu", "--quiet")
    assert cli.main(["render", "cornell", *options, "-o", str(tmp_path / "command.png")]) == 0
    whitted.save(tmp_path / "call.png")
    assert (tmp_path / "call.png").read_bytes() == (tmp_path / "command.png").read_bytes()
    whitted.save(str(tmp_path / "call.npy"))
    assert np.array_equal(read_picture(tmp_path / "call.npy").image, whitted.image)
    assert np.array_equal(read_picture(tmp_path / "command.npy").image, whitted.image)
    with pytest.raises(UsageError, match="must end in one of"):
        whitted.save(tmp_path / "call.jpg")


def test_passes_converge_to_the_picture(whitted: Picture) -> None:
    pictures = list(renderer.render_passes("cornell", SMALL))
    assert [picture.passes for picture in pictures] == [1, 2, 3]
    assert [picture.is_finished for picture in pictures] == [False, False, True]
    assert np.array_equal(pictures[-1].image, whitted.image)
    first = renderer.render("cornell", SMALL, passes=1)
    assert np.array_equal(pictures[0].image, first.image)
    assert not np.array_equal(pictures[0].image, pictures[1].image)


def test_a_loop_that_is_left_closes_the_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[str] = []
    close = DRIVERS["whitted"].close
    monkeypatch.setattr(DRIVERS["whitted"], "close", lambda self: (closed.append(self.name), close(self)))
    pictures = renderer.render_passes("cornell", SMALL)
    next(pictures)
    assert closed == []
    pictures.close()  # type: ignore[attr-defined]
    assert closed == ["whitted"]


def interrupted_at(monkeypatch: pytest.MonkeyPatch, index: int) -> None:
    trace_pass = DRIVERS["whitted"].trace_pass

    def trace(self: Any, number: int, site: Any) -> Any:
        if number == index:
            raise KeyboardInterrupt
        return trace_pass(self, number, site)

    monkeypatch.setattr(DRIVERS["whitted"], "trace_pass", trace)


def test_an_interrupt_keeps_what_is_finished(monkeypatch: pytest.MonkeyPatch) -> None:
    interrupted_at(monkeypatch, 2)
    picture = renderer.render("cornell", SMALL)
    assert (picture.passes, picture.is_finished) == (2, False)
    interrupted_at(monkeypatch, 0)
    with pytest.raises(KeyboardInterrupt):
        renderer.render("cornell", SMALL)


def test_scenes_by_name_path_and_object(whitted: Picture, tmp_path: Path) -> None:
    (tmp_path / "one.obj").write_text("v 0 0 0\nv 2 0 0\nv 0 2 0\nf 1 2 3\n")
    assert renderer.render(tmp_path / "one.obj", SMALL, passes=1).image.any()
    scene = scenes.load("cornell")
    for given in (scene, scene.at_frame(0)):
        assert np.array_equal(renderer.render(given, SMALL).image, whitted.image)


def test_what_a_driver_cannot_see_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    renderer.render("cornell", SMALL, passes=1, quiet=False)
    assert "driver 'whitted' cannot see light of glowing surfaces" in caplog.text


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"driver": "sppn"}, r"unknown driver 'sppn'; registered: photon, sppm, path"),
        ({"kernel": "bvh99"}, r"unknown kernel 'bvh99'"),
        ({"passes": 0}, r"passes: expected a whole number from 1 to 1000000, got 0"),
        ({"passes": "3"}, r"passes: expected a whole number from 1 to 1000000, got '3'"),
        ({"passes": True}, r"passes: expected a whole number"),
        ({"passes": 1.5}, r"passes: expected a whole number from 1 to 1000000, got 1.5"),
        ({"passes": float("inf")}, r"passes: expected a whole number"),
        ({"size": "8"}, r"size: expected \[width, height\] or .WIDTHxHEIGHT., .*, got '8'"),
        ({"size": "8x0"}, r"size: expected \[width, height\]"),
        ({"size": (8, 0)}, r"size: expected \[width, height\]"),
        ({"size": 8}, r"size: expected \[width, height\]"),
        ({"batch_rays": 5000}, r"batch_rays: expected a power of two from 256 to 65536, got 5000"),
        ({"exposure": float("nan")}, r"exposure: expected a number from -64 to 64, or auto, got nan"),
        ({"filter": "cubic"}, r'filter: expected one of "box", "tent", "gaussian", "blackman-harris", got .cubic.$'),
        ({"filter": "tnet"}, r"got 'tnet'; did you mean tent\?$"),
        ({"eye": (1.0, 2.0)}, r"eye: expected a list of 3 numbers from -1e\+09 to 1e\+09, got \(1.0, 2.0\)"),
        ({"eye": 3.0}, r"eye: expected a list of 3 numbers"),
        ({"seed": 10**400}, r"seed: expected a whole number from 0 to"),
        ({"fov": 10**400}, r"fov: expected a number from 0.01 to 179"),
        ({"device": None}, r"device: expected auto, gpu, gpu:INDEX such as gpu:1, cpu or emulator, got None"),
        ({"photons": 10}, r"--photons does nothing for the driver whitted"),
        ({"frame": 1, "time": 2.0}, r"frame and time cannot both be given"),
        ({"output": "a.jpg"}, r"must end in one of"),
    ],
)
def test_what_cannot_be_done(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        renderer.render("cornell", SMALL, **changes)


def test_a_keyword_that_is_no_setting() -> None:
    for call in (renderer.render, renderer.render_passes):
        with pytest.raises(TypeError, match=r"argument 'pases'; settings are camera, frame,.*; did you mean passes\?$"):
            call("cornell", pases=3)
    with pytest.raises(AttributeError, match="has no attribute 'paint'"):
        renderer.paint  # noqa: B018


@pytest.mark.parametrize("key", RENDER.keys, ids=lambda key: key.name)
def test_what_a_scene_file_proposes_has_the_bounds_and_the_words_of_the_setting(key: Key) -> None:
    one = settings_of(Settings)[key.name]
    assert one.kind.expected.removesuffix(", or auto") == key.kind.expected
    assert one.about.startswith(key.about[0].lower() + key.about[1:-1])


def test_settings_are_plain_and_frozen() -> None:
    chosen = Settings(passes=np.int64(3), exposure=np.float32(0.5), size=[8, 6], output="a.png")  # type: ignore[arg-type]
    assert chosen == Settings(passes=3, exposure=0.5, size=(8, 6), output=Path("a.png"))
    assert type(chosen.passes) is int
    written = Settings(photons=1e5, size="48x36", passes=np.float32(3))  # type: ignore[arg-type]
    assert written == Settings(photons=100_000, size=(48, 36), passes=3)
    assert type(written.photons) is int
    with pytest.raises(FrozenInstanceError):
        chosen.passes = 4  # type: ignore[misc]


def options_of(command: str) -> dict[str, str]:
    """Help of the options of a command, without the defaults."""
    parser = cli.make_parser()
    for word in [command] if command in cli.COMMANDS else command.split():
        (choices,) = (action.choices for action in parser._actions if isinstance(action.choices, dict))
        parser = choices[word]
    return {
        name: re.sub(r" \(default: .*\)$", "", action.help or "")
        for action in parser._actions
        for name in action.option_strings
    }


def test_an_option_has_one_help_text_in_all_commands() -> None:
    commands = [
        "render",
        "photons",
        *(name for name in cli.COMMANDS if name.startswith("bench")),
        "simulate",
        "reproduce barczak-2016",
        "scene info",
        "view",
        "convert",
        "scene export",
        "doctor",
    ]
    texts: dict[str, dict[str, str]] = {}
    for command in commands:
        for name, text in options_of(command).items():
            texts.setdefault(name, {})[command] = text
    del texts["-o"]  # what a command writes is its own
    shared = {name: by_command for name, by_command in texts.items() if len(by_command) > 1}
    assert {"bench", "bench error"} <= shared["--plot"].keys()
    assert {"--device", "--threads", "--json", "--seed", "--size", "--store", "--repeat", "--plugin"} <= set(shared)
    assert {name: by_command for name, by_command in shared.items() if len(set(by_command.values())) > 1} == {}


def test_photons_means_photons_of_a_pass_alone() -> None:
    commands = ["photons", "bench", "simulate", "reproduce barczak-2016"]
    assert [command for command in commands if "--photons" in options_of(command)] == []
    assert "in each pass" in options_of("render")["--photons"]
    store = settings_of(Measurement)["store"]
    assert options_of("photons")["--store"] == options_of("bench")["--store"] == store.about


def test_every_setting_is_an_option_of_render() -> None:
    found = options_of("render")
    for one in settings_of(Settings).values():
        assert found[one.option].startswith(one.about), one.name


def test_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """All blocks, one after the other, as a reader would type them."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(plugins, "_loaded", {})
    names: dict[str, Any] = {}
    before = dict(DRIVERS)
    try:
        for number, block in enumerate(python_blocks(PAGE)):
            exec(compile(made_small(block), f"python.md, block {number}", "exec"), names)
    finally:
        DRIVERS.clear()
        DRIVERS.update(before)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "(6, 8, 3) float32"
    assert lines[-1].startswith("unknown driver 'sppn'; registered: photon, sppm, path, ")
    assert names["late"].statistics["scene"] == "museum"
    assert names["square"].image.shape == (6, 6, 3)
    assert names["dimmed"].image.any()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["converged.png", "cornell.png"]


def test_the_page_tells_of_every_setting() -> None:
    """As `python -m renderer.settings.manual docs/python.md` writes it."""
    text = PAGE.read_text(encoding="utf-8")
    assert with_table(text) == text
    (table,) = re.findall(r"<!-- settings -->(.*?)<!-- end -->", text, re.DOTALL)
    assert re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE) == list(settings_of(Settings))


def test_importing_the_package_loads_nothing_heavy() -> None:
    script = (
        "import sys\nimport renderer\nrenderer.Settings(passes=3)\n"
        "print({'numpy', 'numba', 'tqdm', 'PIL', 'scenes.model', 'tracecore', 'shaders'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "set()\n", "")
