"""The additions that CONTRIBUTING.md prints fit the files that they are made to."""

import argparse
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from renderer import cli
from renderer.drivers import register_driver
from scenes.errors import SceneFileError
from shaders.shader import Shader

ROOT = Path(cli.__file__).parents[1]


def changes() -> dict[str, list[str]]:
    """Lines of the diffs, by the file that they change."""
    found: dict[str, list[str]] = {}
    for block in re.findall(r"```diff\n(.*?)```", (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"), re.DOTALL):
        for part in re.split(r"^--- .*\n\+\+\+ b/", block, flags=re.MULTILINE)[1:]:
            path, *lines = part.splitlines()
            found[path] = lines
    return found


def new_file(path: str) -> dict[str, Any]:
    """The names that a file of the page defines."""
    names: dict[str, Any] = {"__name__": "contributed"}
    exec(compile("\n".join(line[1:] for line in changes()[path]), path, "exec"), names)
    return names


def test_each_addition_is_files_of_its_own_and_rows() -> None:
    new = {path for path, lines in changes().items() if "@@" not in lines}
    assert {Path(path).name for path in new} == {
        "direct.py",
        "leaf_first.cu",
        "velvet.py",
        "off.py",
        "cache.py",
        "downlight.py",
    }
    assert not any((ROOT / path).exists() for path in new)
    assert all(line.startswith("+") for path in new for line in changes()[path])


@pytest.mark.parametrize("path", [path for path, lines in changes().items() if "@@" in lines])
def test_rows_fit_where_they_are_put(path: str) -> None:
    text = (ROOT / path).read_text(encoding="utf-8").splitlines()
    for line in changes()[path]:
        if line[0] in " -":
            assert line[1:] in text


def test_the_additions_are_what_they_are_to_be(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("renderer.drivers.DRIVERS", {})
        driver = register_driver(new_file("renderer/drivers/direct.py")["DirectDriver"])
    assert driver.summary
    assert isinstance(new_file("shaders/materials/velvet.py")["SHADER"], Shader)
    command = new_file("renderer/commands/cache.py")
    assert command["SUMMARY"]
    assert command["run"](argparse.Namespace()) == 0
    assert Path(capsys.readouterr().out.strip()).is_dir()
    read = new_file("scenes/off.py")["read"]
    (tmp_path / "a.off").write_text("OFF\n4 2 0\n0 0 0\n1 0 0\n1 1 0\n0 1 0\n3 0 1 2\n3 0 2 3\n")
    assert read(tmp_path / "a.off").at(0.0).positions.shape == (2, 3, 3)
    (tmp_path / "bad.off").write_text("OFF\n4 2 0\n0 0\n")
    with pytest.raises(SceneFileError, match="expected OFF"):
        read(tmp_path / "bad.off")


def applied(lines: list[str], text: str) -> str:
    """The text of a file with the hunks of a diff, each of which must fit at one place."""
    hunks = "\n".join(lines).split("@@")
    if len(hunks) == 1:
        return "\n".join(line[1:] for line in lines) + "\n"
    for hunk in (hunk.strip("\n").splitlines() for hunk in hunks[1:]):
        before, after = ("".join(f"{line[1:]}\n" for line in hunk if line[0] in signs) for signs in (" -", " +"))
        assert text.count(before) == 1, before
        text = text.replace(before, after)
    return text


@pytest.fixture(scope="module")
def contributed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the program with all that the page adds."""
    root = tmp_path_factory.mktemp("contributed")
    for package in ("renderer", "scenes", "shaders", "tracecore"):
        shutil.copytree(ROOT / package, root / package, ignore=shutil.ignore_patterns("__pycache__"))
    for path, lines in changes().items():
        before = (root / path).read_text(encoding="utf-8") if (root / path).exists() else ""
        (root / path).write_text(applied(lines, before), encoding="utf-8")
    return root


LAMP = """
[[object]]
shape = "rectangle"
scale = 40.0
material = "grey"

[materials.grey]
diffuse = 0.5

[[light]]
kind = "downlight"
position = [0, 2, 0]
direction = [0, -1, 0]
intensity = [3.0, 2.0, 1.0]

[cameras.down]
eye = [0, 1, 0]
target = [0, 0, 0]
up = [0, 0, -1]
vertical_fov = 10.0
"""


def test_the_added_light_lights_a_floor(contributed: Path, tmp_path: Path) -> None:
    """Under a lamp of intensity I cos a, at a height h, a floor of albedo d has the radiance d I / (pi h^2), by shadow
    rays and by photons."""
    (tmp_path / "lamp.toml").write_text(LAMP)
    environment = os.environ | {"PYTHONPATH": str(contributed), "TRACECORE_CACHE": str(tmp_path / "cache")}
    for driver, more in (("whitted", []), ("photons-only", ["--photons", "400000", "--radius", "0.1"])):
        command = [sys.executable, "-m", "renderer", "render", str(tmp_path / "lamp.toml"), "--driver", driver, *more]
        view = ["--size", "8x8", "--passes", "1", "--device", "cpu", "--quiet", "-o", str(tmp_path / f"{driver}.png")]
        done = subprocess.run([*command, *view], env=environment, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        picture = np.load(tmp_path / f"{driver}.npy")
        expected = 0.5 * np.array([3.0, 2.0, 1.0]) / (np.pi * 4.0)
        np.testing.assert_allclose(picture.mean(axis=(0, 1)), expected, rtol=0.05)
