"""The additions that CONTRIBUTING.md prints fit the files that they are made to."""

import argparse
import re
from pathlib import Path
from typing import Any

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
    assert {Path(path).name for path in new} == {"direct.py", "leaf_first.cu", "velvet.py", "off.py", "cache.py"}
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
