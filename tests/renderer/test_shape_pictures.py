"""Shapes of scene files as pictures: how much of a picture they cover, and what an even sky gives a sheet."""

from pathlib import Path

import numpy as np
import pytest
from data_files import data_text

import renderer

#: What glows is seen from the front without perspective, 4 units wide and high, at 40 pixels.
GLOWING = """
cameras.front = { eye = [0, 0, 9], target = [0, 0, 0], height = 4, resolution = [40, 40] }
materials.glow = { diffuse = 0, emission = 3 }
[[object]]
material = "glow"
"""
SHAPES = {
    'shape = "lathe"\nprofile = [[0, -1], [1, -1], [1, 1], [0, 1]]': 4.0,
    'shape = "lathe"\nprofile = [{ arc = [0, 0], radius = 1.5, steps = 32 }]': np.pi * 1.5**2,
    'shape = "box"\nsize = [2, 3, 1]\nbevel = 0.4': 6.0 - 4 * 0.4**2 / 2,
    'shape = "sheet"\nwidth = 2\nprofile = [{ curve = [[0, -1], [1, 0], [0, 1]] }]': 4.0,
}

#: A floor below an even sky.
BELOW_A_SKY = data_text("toml/below-a-sky.toml")


@pytest.mark.parametrize(("shape", "area"), SHAPES.items(), ids=["can", "ball", "bevelled box", "bent sheet"])
def test_what_glows_covers_as_much_as_the_shape(shape: str, area: float, tmp_path: Path) -> None:
    path = tmp_path / "glowing.toml"
    path.write_text(GLOWING + shape)
    picture = renderer.render(path, driver="path", size=(40, 40), passes=16, device="cpu")
    assert picture.image.sum(axis=(0, 1)) * 0.1**2 / 3.0 == pytest.approx([area] * 3, rel=0.02)


@pytest.mark.parametrize("driver", ["path", "photon"])
def test_a_sheet_below_an_even_sky_is_as_bright_as_its_colour(driver: str, tmp_path: Path) -> None:
    path = tmp_path / "below.toml"
    path.write_text(BELOW_A_SKY)
    picture = renderer.render(path, driver=driver, size=(16, 12), passes=64, device="cpu")
    assert picture.image[0, 0] == pytest.approx([2.0] * 3, rel=1e-3)
    assert picture.image[8:].mean(axis=(0, 1)) == pytest.approx([0.4, 0.8, 1.2], rel=0.03)
