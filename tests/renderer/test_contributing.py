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
from data_files import data_text

from renderer import cli
from renderer.drivers import register_driver
from scenes.errors import SceneFileError
from shaders.bsdfs.bsdf import Bsdf
from tracecore.checks.ray_cases import random_rays, soup
from tracecore.tracers.brute_force import BruteForceTracer
from tracecore.tracers.cpu import CpuTracer

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


def test_the_additions_are_what_they_are_to_be(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("renderer.drivers.DRIVERS", {})
        driver = register_driver(new_file("renderer/drivers/direct.py")["DirectDriver"])
    assert driver.summary
    assert isinstance(new_file("shaders/bsdfs/velvet.py")["BSDF"], Bsdf)
    triangles = soup(100)
    tree = new_file("tracecore/bvh/pairs.py")["build"](triangles, max_leaf=8)
    assert sorted(tree.order) == list(range(100))
    assert tree.count.max() <= 8
    with CpuTracer(triangles, tree=tree) as tracer, BruteForceTracer(triangles) as judge:
        assert tracer.closest_hit(random_rays(0, 100)).tobytes() == judge.closest_hit(random_rays(0, 100)).tobytes()
    command = new_file("renderer/commands/cache.py")
    assert command["run"](argparse.Namespace()) == 0
    assert Path(capsys.readouterr().out.strip()).is_dir()
    read = new_file("scenes/raw.py")["read"]
    (tmp_path / "a.raw").write_text("0 0 0 1 0 0 1 1 0\n0 0 0 1 1 0 0 1 0\n")
    assert read(tmp_path / "a.raw").at(0.0).positions.shape == (2, 3, 3)
    (tmp_path / "bad.raw").write_text("0 0 0 1 0 0\n")
    with pytest.raises(SceneFileError, match="expected triangles, nine numbers each"):
        read(tmp_path / "bad.raw")


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


LAMP = data_text("toml/downlight.toml")

#: What points of the floor get from the lamp of a file, and photons that leave it; the file is read and written first.
LIGHTING = data_text("programs/lighting.py")


def test_the_added_light_lights_a_floor(contributed: Path, tmp_path: Path) -> None:
    """A lamp of intensity I cos a at a height h gives a floor I cos^4 a / h^2, where it is seen at an angle a."""
    (tmp_path / "lamp.toml").write_text(LAMP)
    environment = os.environ | {"PYTHONPATH": str(contributed)}
    command = [sys.executable, "-c", LIGHTING, "lamp.toml"]
    done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found, intensity = np.load(tmp_path / "lighting.npz"), np.array([3.0, 2.0, 1.0])
    cosines = 2.0 / np.sqrt([4.0, 8.0, 29.0])
    np.testing.assert_allclose(found["light"][:3], cosines[:, None] ** 4 * intensity / 4.0, rtol=1e-9)
    assert not found["light"][3].any()  # above the lamp
    origin, direction, flux = (found["photons"][:, start : start + 3] for start in (0, 3, 6))
    np.testing.assert_array_equal(origin, np.tile((1.0, 2.0, 0.0), (4000, 1)))
    np.testing.assert_allclose(flux, np.tile(np.pi * intensity, (4000, 1)))
    steep = np.mean(-direction[:, 1] > np.sqrt(0.5))  # the mean of 2 cos sin up to 45 degrees
    assert abs(steep - 0.5) < 4.0 * np.sqrt(0.25 / 4000)


GLOWING = data_text("toml/glowing-wall.toml")

#: Pictures of a lamp that fills the view, by the setting of a loop, and what a driver says whose loop has it not.
LOOKING = data_text("programs/lamp_share.py")


def test_the_added_setting_reaches_its_loop_and_is_refused_elsewhere(contributed: Path, tmp_path: Path) -> None:
    (tmp_path / "lamp.toml").write_text(GLOWING)
    environment = os.environ | {"PYTHONPATH": str(contributed)}
    command = [sys.executable, "-c", LOOKING]
    done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "--lamp-share does nothing for the driver ao; leave it out\n"
    found = np.load(tmp_path / "lamps.npz")
    for name, share in zip(found, (1.0, 1.0, 0.25, 0.0), strict=True):
        light = np.broadcast_to((3.0 * share, 2.0 * share, share), (6, 8, 3))
        np.testing.assert_allclose(found[name], light, rtol=1e-6)
