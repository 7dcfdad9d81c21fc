"""Drivers in plain NumPy: every option of a picture works with them, or is refused by its name."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import renderer
from renderer import cli
from renderer.drivers import DRIVERS, register_driver
from renderer.drivers.driver import Driver
from renderer.errors import UsageError
from renderer.film.image_file import read_texts

SIZE, CROP = (8, 6), (2, 1, 4, 3)


class Ramp(Driver):
    """Pass i is i + 1 times the column of a pixel, and its row in green."""

    name, summary = "ramp", "columns and rows"

    def render_pass(self, index: int) -> Any:
        rows, columns = np.mgrid[: self.settings.height, : self.settings.width].astype(np.float64)
        return np.stack([(index + 1.0) * columns, rows, np.ones_like(rows)], axis=2)


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(DRIVERS, "ramp", Ramp)


def rendered(**chosen: Any) -> renderer.Picture:
    return renderer.render("cornell", **({"driver": "ramp", "size": SIZE, "passes": 3, "quiet": True} | chosen))  # type: ignore[arg-type]


def ramp(factor: float) -> Any:
    rows, columns = np.mgrid[: SIZE[1], : SIZE[0]].astype(np.float32)
    return np.stack([factor * columns, rows, np.ones_like(rows)], axis=2)


def test_a_picture_is_the_mean_of_its_passes() -> None:
    assert np.array_equal(rendered().image, ramp(2.0))


def test_a_part_of_the_picture_is_made_alone() -> None:
    x, y, width, height = CROP
    assert np.array_equal(rendered(crop=CROP).image, ramp(2.0)[y : y + height, x : x + width])


def test_it_ends_at_a_target_noise() -> None:
    made = rendered(passes=50, target_noise=0.2)
    assert 4 <= made.passes < 50
    assert made.statistics["bias"] == 0.0
    assert np.array_equal(made.image, ramp((made.passes + 1) / 2.0))


def test_layers_that_are_no_drivers_are_there() -> None:
    made = rendered(layers=("position", "variance"))
    assert set(made.layers) == {"position", "variance"}


def test_it_is_resumed_with_the_same_bits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ["render", "cornell", "--driver", "ramp", "--size", "8x6", "--passes", "5", "--quiet", "-o"]
    assert cli.main([*words, str(tmp_path / "whole.npy")]) == 0
    made = Ramp.render_pass

    def interrupted(self: Ramp, index: int) -> Any:
        if index == 2:
            raise KeyboardInterrupt
        return made(self, index)

    with monkeypatch.context() as patch:
        patch.setattr(Ramp, "render_pass", interrupted)
        assert cli.main([*words, str(tmp_path / "a.npy")]) == 130
    assert cli.main([*words, str(tmp_path / "a.npy"), "--resume"]) == 0
    assert (tmp_path / "a.npy").read_bytes() == (tmp_path / "whole.npy").read_bytes()


def test_it_looks_at_a_scene_in_motion() -> None:
    made = renderer.render(
        "museum:10k", driver="ramp", size=SIZE, passes=3, shutter=1.0, motion_samples=2, device="cpu", quiet=True
    )
    assert np.array_equal(made.image, ramp(2.0))


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("--photons 5", "--photons does nothing for the driver ramp; leave it out"),
        ("--max-bounces 5", "--max-bounces does nothing for the driver ramp; leave it out"),
        ("--mirrors none", "--mirrors does nothing for the driver ramp; leave it out"),
        ("--save-photons a.npz", "driver ramp keeps no photons; use --driver photons-only with --save-photons"),
        ("--timeline a.json", "driver ramp does not tell what its threads do; leave out --timeline"),
        ("--gpus 2 --device auto", "driver ramp makes its passes one after the other; leave out --gpus and --cluster"),
        ("--layers -o a.exr", "driver ramp makes no layers beside the picture; leave out --layers"),
        ("--layers depth -o a.exr", "driver ramp makes no layers beside the picture; leave out --layers"),
        ("--debug-path 0,0,1:1", "driver ramp follows no paths that could be told; choose another with --driver"),
    ],
)
def test_what_it_cannot_do_is_refused_by_name(words, told, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    pytest.importorskip("OpenEXR", reason="the extra [exr] is not installed")
    assert cli.main(["render", "cornell", "--driver", "ramp", "--size", "8x6", "--device", "cpu", *words.split()]) == 2
    assert capsys.readouterr().err == f"tracecore: error: {told}\n"
    assert list(tmp_path.iterdir()) == []


def test_of_a_class_of_ones_own_nobody_knows_what_it_keeps(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Such a one makes pictures, but they are not resumed, and it sees one moment; what it says of itself counts."""
    monkeypatch.setattr("renderer.drivers.DRIVERS", dict(DRIVERS))
    known = renderer.drivers.DRIVERS

    class Own:
        name, summary = "own", "a class that is derived from no driver"
        render_pass = Ramp.render_pass

        def __init__(self, snapshot: Any, tracer: Any, settings: Any) -> None:
            self.settings = settings

        def close(self) -> None:
            pass

    assert register_driver(Own) is Own
    driver = known["own"]
    assert issubclass(driver, Own)
    assert issubclass(driver, Driver)
    assert (driver.is_sequential, driver.can_resume, "photons" in driver.takes) == (True, False, True)
    Own.name, Own.is_sequential = "other", False  # type: ignore[attr-defined]
    register_driver(Own)
    assert (known["other"].is_sequential, known["other"].can_resume) == (False, True)


def test_its_file_has_the_driver(tmp_path: Path) -> None:
    rendered(output=tmp_path / "a.png")
    assert read_texts(tmp_path / "a.png")["driver"] == "ramp"
    with pytest.raises(UsageError, match="--radius does nothing for the driver ramp"):
        rendered(radius=1.0)
