"""The wheel that is built holds what the program needs, and nothing else."""

import shutil
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

import renderer

ROOT = Path(renderer.__file__).parents[1]
PACKAGES = ("renderer", "scenes", "shaders", "tracecore")

#: What building reads beside the packages.
READ = ("pyproject.toml", "README.md", "LICENSE")

#: What is no part of the program.
LEFT_OUT = {".clang-format", "__pycache__", "scripts"}

BUILD = "from setuptools import build_meta; build_meta.build_wheel('built')"


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """Names in a wheel that is built of a copy, which has nothing of an earlier build."""
    pytest.importorskip("setuptools", minversion="77", reason="setuptools 77, of the extra 'dev', is not installed")
    folder = tmp_path_factory.mktemp("source")
    for name in READ:
        shutil.copy(ROOT / name, folder)
    for package in PACKAGES:
        shutil.copytree(ROOT / package, folder / package, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "tests").mkdir()
    (folder / "tests" / "__init__.py").touch()
    done = subprocess.run([sys.executable, "-c", BUILD], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    (wheel,) = (folder / "built").glob("tracecore-*-py3-none-any.whl")
    return set(ZipFile(wheel).namelist())


def test_all_files_of_the_packages_are_inside_but_what_is_to_be_read(names: set[str]) -> None:
    found = {name for name in names if ".dist-info/" not in name}
    there = (path.relative_to(ROOT) for package in PACKAGES for path in (ROOT / package).rglob("*") if path.is_file())
    assert found == {path.as_posix() for path in there if path.suffix != ".md" and not LEFT_OUT & set(path.parts)}


def test_the_command_and_the_licence_are_inside(names: set[str]) -> None:
    assert {name.partition(".dist-info/")[2] for name in names if ".dist-info/" in name} == {
        "METADATA",
        "RECORD",
        "WHEEL",
        "entry_points.txt",
        "licenses/LICENSE",
        "top_level.txt",
    }
