"""Plugins: what users write in files and packages of their own, and what is said of those that fail."""

import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from data_files import data_text

import renderer
import scenes
from renderer import cli, plugins
from renderer.drivers import DRIVERS, register_driver
from renderer.errors import UsageError
from renderer.film.picture_file import read_picture
from renderer.plugins import load_installed
from scenes.errors import SceneError
from shaders import registry
from tracecore.emulator.library import emulator_unavailable_reason
from tracecore.errors import KernelError
from tracecore.kernels import strategies

PAGE = Path(cli.__file__).parents[1] / "docs" / "materials.md"

#: A floor that fills the picture, of the shader that files of this format have.
NFF = data_text("nff/plugins.nff")

DRIVER = data_text("plugins/driver.py")

KERNEL = """
from dataclasses import replace
from tracecore.kernels.strategies import find_strategy, register_strategy

register_strategy(replace(find_strategy("while-while"), name="mine"))
"""

READER = data_text("plugins/reader.py")


BSDF = """
from typing import NamedTuple
from shaders.bsdfs.bsdf import LOBE_BASE, Bsdf, Drawn, Value
from shaders.compilation import compiled
from shaders.float32 import ONE, PI, ZERO, Float32
from shaders.registry import register_shader
from shaders.sampling import cosine_hemisphere
from shaders.vector import BLACK, Color, scale

KEEP = Float32(KEPT)


class Chalk(NamedTuple):
    unused: float
    diffuse: Color


@compiled
def sample(chalk, seen, u):
    return Drawn(cosine_hemisphere(u[1], u[2]), (ZERO, ZERO, ZERO), LOBE_BASE)


@compiled
def evaluate(chalk, wi, seen):
    even = ONE / PI if wi[2] > ZERO else ZERO
    return Value(scale(reflectance(chalk, wi), even), (ZERO, ZERO, ZERO), even * wi[2])


@compiled
def entering(chalk, w):
    return (ONE, ONE, ONE)


@compiled
def reflectance(chalk, w):
    return scale(chalk.diffuse, KEEP)


register_shader(
    Bsdf(
        name="nff",
        summary="chalk",
        parameters=Chalk,
        pack=lambda material: Chalk(7.0, material.diffuse),
        sample=sample,
        evaluate=evaluate,
        entering=entering,
        reflectance=reflectance,
        albedo=reflectance,
        stores=lambda chalk: True,
    )
)
"""


@pytest.fixture(autouse=True)
def _own_registries() -> Iterator[None]:
    """What a test registers and loads is forgotten after it."""
    live = (registry._shaders, strategies._strategies, DRIVERS, scenes.READERS, plugins._loaded)
    before = [dict(one) for one in live]
    load_installed.cache_clear()
    yield
    for one, content in zip(live, before, strict=True):
        one.clear()  # type: ignore[attr-defined]
        one.update(content)  # type: ignore[attr-defined]
    load_installed.cache_clear()


def write(folder: Path, name: str, text: str) -> Path:
    (folder / name).write_text(text)
    return folder / name


def render(scene: Path | str, folder: Path, *options: str) -> np.ndarray:
    """Linear radiance of a small picture that the command makes."""
    small = ("--device", "cpu", "--size", "8x6", "--passes", "1", "--quiet", "--force", "-o", str(folder / "a.npy"))
    assert cli.main(["render", str(scene), *small, *options]) == 0
    return read_picture(folder / "a.npy").image


def error_of(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The one line of an error of bad usage."""
    assert cli.main(list(arguments)) == 2
    (line,) = capsys.readouterr().err.splitlines()
    return line


def readme_shader() -> str:
    (block,) = re.findall(r"```python\n(import math\n.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    return str(block)


def test_the_shader_of_the_readme_works_as_printed(tmp_path: Path) -> None:
    """Its stripes keep a fifth of the light or all of it."""
    scene, plugin = write(tmp_path, "floor.nff", NFF), write(tmp_path, "stripes.py", readme_shader())
    before = render(scene, tmp_path, "--driver", "whitted")
    after = render(scene, tmp_path, "--driver", "whitted", "--plugin", str(plugin))
    share = after / before
    assert (before > 0.0).all()
    assert np.allclose(np.minimum(abs(share - 0.2), abs(share - 1.0)), 0.0, atol=1e-5)
    assert {round(float(value), 3) for value in share.ravel()} == {0.2, 1.0}


def test_a_bsdf_and_what_becomes_of_its_file(tmp_path: Path) -> None:
    """All of the light that the floor reflects is the lamp's. Machine code of a file that has changed is not used."""
    scene, few, many = write(tmp_path, "floor.nff", NFF), ("--photons", "100"), ("--photons", "20000")
    drivers = {"path": (), "photon": few, "photons-only": many}
    options = {driver: ("--driver", driver, *more) for driver, more in drivers.items()}
    whole = {driver: render(scene, tmp_path, *options[driver]) for driver in drivers}
    for kept, tried in ((0.5, list(drivers)), (0.25, ["path"])):
        plugins._loaded.clear()  # as in another process
        plugin = write(tmp_path, "chalk.py", BSDF.replace("KEPT", str(kept)))
        for driver in tried:
            own = render(scene, tmp_path, *options[driver], "--plugin", str(plugin))
            assert (own > 0.0).all()
            np.testing.assert_allclose(own, kept * whole[driver], rtol=1e-5)


def test_a_bsdf_whose_function_does_not_compile_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scene, text = write(tmp_path, "floor.nff", NFF), BSDF.replace("chalk.diffuse", "chalk.glitter")
    plugin = write(tmp_path, "chalk.py", text.replace("KEPT", "0.5"))
    arguments = ("render", str(scene), "--driver", "path", "--device", "cpu", "--quiet", "--plugin", str(plugin))
    assert cli.main([*arguments, "-o", str(tmp_path / "a.npy")]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("tracecore: error: evaluate of shader 'nff' does not compile: ")
    assert "glitter" in line


def test_a_shader_that_is_not_as_it_is_to_be_fails_where_it_is_registered(tmp_path, capsys):
    text = BSDF.replace("KEPT", "0.5").replace("    unused: float\n", "    unused: str\n")
    plugin = write(tmp_path, "chalk.py", text)
    found = error_of(capsys, "scene", "list", "--plugin", str(plugin))
    assert f"plugin {plugin}:" in found
    assert "ShaderError: shader 'nff': its parameter 'unused' must be a float or a Color, got <class 'str'>" in found


def test_a_driver(tmp_path: Path) -> None:
    plugin = write(tmp_path, "half.py", DRIVER)
    whole = render("cornell", tmp_path, "--driver", "whitted")
    half = render("cornell", tmp_path, "--driver", "half", "--plugin", str(plugin))
    assert np.array_equal(half, np.float32(0.5) * whole)
    assert whole.any()


@pytest.mark.skipif(emulator_unavailable_reason() is not None, reason=str(emulator_unavailable_reason()))
def test_a_kernel(tmp_path: Path) -> None:
    plugin = write(tmp_path, "mine.py", KERNEL)
    options = ("--device", "emulator", "--kernel", "mine", "--plugin", str(plugin))
    traced = render("cornell", tmp_path, "--driver", "ao", *options)
    assert np.array_equal(traced, render("cornell", tmp_path, "--driver", "ao"))


def test_a_reader_of_scenes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plugin = str(write(tmp_path, "links.py", READER))
    scene = write(tmp_path, "my.link", "cornell\n")
    assert cli.main(["scene", "info", str(scene), "--plugin", plugin]) == 0
    assert "2 triangles that shine" in capsys.readouterr().out
    assert cli.main(["scene", "list", "--plugin", plugin]) == 0
    assert ".link" in capsys.readouterr().out.splitlines()[-1]
    empty = write(tmp_path, "empty.link", "\n")
    assert "empty.link:1: expected the name" in error_of(capsys, "scene", "info", str(empty), "--plugin", plugin)


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("x = 1\nimport no_such_module\n", 2, "ModuleNotFoundError: No module named 'no_such_module'"),
        ("def f(:\n", 1, "SyntaxError: invalid syntax"),
        ("def f():\n    return 1 / 0\n\nf()\n", 2, "ZeroDivisionError: division by zero"),
        ("import sys\n\nsys.exit('no')\n", 3, "SystemExit: no"),
        ("raise ValueError('one\\ntwo')\n", 1, "ValueError: one two"),
        ("from shaders.registry import get_shader\nget_shader('velvet')\n", 2, "UnknownShaderError: unknown shader"),
    ],
)
def test_a_plugin_that_fails_is_one_line(text, line, words, tmp_path, capsys):
    plugin = write(tmp_path, "bad.py", text)
    found = error_of(capsys, "scene", "list", "--plugin", str(plugin))
    assert found.startswith(f"tracecore: error: plugin {plugin}:{line}: {words}")


@pytest.mark.parametrize("name", ["missing.py", "scene.nff"])
def test_a_plugin_must_be_a_python_file(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, "scene.nff", NFF)
    assert "expected a Python file" in error_of(capsys, "scene", "list", "--plugin", str(tmp_path / name))


def install(folder: Path, module: str) -> None:
    """A package with an entry point, as pip leaves it."""
    write(folder, "half_plugin.py", module)
    info = folder / "half_package-1.0.dist-info"
    info.mkdir()
    write(info, "METADATA", "Metadata-Version: 2.1\nName: half-package\nVersion: 1.0\n")
    write(info, "entry_points.txt", f"[{plugins.GROUP}]\nhalf = half_plugin\n")


@pytest.mark.parametrize("is_command", [True, False])
def test_an_installed_package_is_loaded(is_command: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, DRIVER)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "half_plugin", raising=False)
    if is_command:
        assert cli.main(["scene", "list"]) == 0
        assert "half" in DRIVERS
    else:
        assert renderer.render("cornell", driver="half", device="cpu", size=(8, 6), passes=1, quiet=True).image.any()


def test_an_installed_package_that_fails_is_named(tmp_path, monkeypatch, capsys):
    install(tmp_path, "x = 1\ny = x + '1'\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "half_plugin", raising=False)
    found = error_of(capsys, "scene", "list")
    assert f"plugin 'half' of half-package, {tmp_path / 'half_plugin.py'}:2: TypeError: " in found
    assert found.endswith("mend or uninstall it")


@pytest.mark.parametrize("name", ["", "a b", "a,b", "../a", "-a"])
def test_names_are_checked(name: str) -> None:
    class Named(DRIVERS["whitted"]):  # type: ignore
        pass

    Named.name = name
    with pytest.raises(UsageError, match="a driver's name is made of"):
        register_driver(Named)
    with pytest.raises(KernelError, match="a kernel's name is made of"):
        strategies.register_strategy(replace(strategies.find_strategy(None), name=name))
    with pytest.raises(SceneError, match="expected a suffix such as"):
        scenes.register_reader(name, scenes.load)
