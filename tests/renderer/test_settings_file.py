"""`render --settings` and `--save-settings`: a file says what a command line would."""

import argparse
import hashlib
import tomllib
from pathlib import Path

import numpy as np
import pytest
from command_line import run

from renderer.cli import make_parser
from renderer.commands.arguments import asked_for
from renderer.settings.picture import Settings
from renderer.settings.setting import settings_of
from renderer.settings.settings_file import KINDS, read_settings, settings_text
from scenes.files.marks import is_own

TINY = {"driver": "path", "size": "8x6", "passes": 1, "max_bounces": 2, "device": "cpu"}
OPTIONS = [f"--{name.replace('_', '-')}={value}" for name, value in TINY.items()]


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A settings file of a tiny picture, in the folder where commands run."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "tiny.toml"
    path.write_text("".join(f"{name} = {value!r}\n" for name, value in TINY.items()), encoding="utf-8")
    return path


def arguments_of(*words: object) -> argparse.Namespace:
    words = ("render", *words)
    return make_parser(["render"]).parse_args(list(map(str, words)))


def digest(path: str) -> str:
    return hashlib.sha256(np.load(path).tobytes()).hexdigest()


def test_a_file_says_what_a_command_line_would(file: Path) -> None:
    """What the command line says wins, and what a run saves makes its picture again."""
    assert run("render", "cornell", *OPTIONS, "--seed=3", "-o", "said.npy") == 0
    assert run("render", "cornell", "--settings", file, "--seed=3", "-o", "read.npy", "--save-settings=kept.toml") == 0
    assert digest("read.npy") == digest("said.npy")
    kept = tomllib.loads(Path("kept.toml").read_text(encoding="utf-8"))
    assert kept == TINY | {"size": [8, 6], "seed": 3, "output": "read.npy", "scene": "cornell"}
    assert is_own(Path("kept.toml"))
    assert run("render", "--settings", "kept.toml", "-o", "again.npy") == 0
    assert digest("again.npy") == digest("said.npy")
    assert run("render", "--settings", "kept.toml", "--seed=4", "-o", "other.npy") == 0
    assert digest("other.npy") != digest("said.npy")


def test_the_command_line_wins_also_by_what_holds_anyway(file: Path) -> None:
    chosen = arguments_of("cornell", "--device=auto", "--settings", file, "--passes=7")
    assert (chosen.device, chosen.passes, chosen.size, chosen.driver) == ("auto", 7, (8, 6), "path")
    assert arguments_of("cornell").passes is None


def test_every_key_comes_back_as_it_was(file: Path) -> None:
    words = "-D a=1 -D b=x --layers depth,uv --white-point 0.4,0.4 --eye 1,2,3 --frames 1:9:4 --fps 24 --memory 1GB"
    said = arguments_of("a scene.toml", *words.split(), "--exposure=auto", "--quiet", "--plugin=p.py", "-o", "a b.exr")

    file.write_text(settings_text(asked_for(said)), encoding="utf-8")
    read = arguments_of("--settings", file)
    assert asked_for(read) == asked_for(said)
    assert read.frames == range(1, 10, 4)
    assert asked_for(arguments_of("--settings", file, "-D", "b=y"))["define"] == {"a": "1", "b": "y"}


def test_settings_have_keys() -> None:
    assert KINDS.keys() >= settings_of(Settings).keys()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("passes = 2\npases = 3\n", 'bad.toml:2: unknown key "pases" (did you mean "passes"?)'),
        ("\npasses = 'many'\n", "bad.toml:2: passes: expected a whole number"),
        ("eye = [1, 2]\n", "bad.toml:1: eye: expected a list of 3 numbers"),
        ("[render]\npasses = 2\n", 'bad.toml:1: unknown key "render"'),
        ("passes = \n", "bad.toml:1: is not TOML"),
        ("frames = '9:1'\n", "bad.toml:1: frames: expected FIRST:LAST"),
        (None, "bad.toml: no such file"),
    ],
)
def test_bad_files_are_refused(text: str | None, told: str, file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bad = file.with_name("bad.toml")
    if text is not None:
        bad.write_text(text, encoding="utf-8")
    assert run("render", "cornell", "--settings", "bad.toml") == 2
    line = capsys.readouterr().err
    assert line.startswith(f"tracecore: error: {told}")
    assert line.count("\n") == 1


@pytest.mark.parametrize(
    ("saved", "told"), [("tiny.toml", "the scene or the command reads it"), ("note.txt", "tracecore did not write it")]
)
def test_other_files_are_not_replaced(saved: str, told: str, file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("note.txt").write_text("mine", encoding="utf-8")
    assert run("render", "cornell", "--settings", file, "-o", "a.npy", "--save-settings", saved) == 2
    assert told in capsys.readouterr().err
    assert Path("note.txt").read_text(encoding="utf-8") == "mine"
    assert read_settings(file)["passes"] == 1


def test_a_file_without_a_name_is_an_error_of_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("render", "cornell", "--settings") == 2
    assert capsys.readouterr().err.startswith("tracecore: error: argument --settings: expected one argument")
