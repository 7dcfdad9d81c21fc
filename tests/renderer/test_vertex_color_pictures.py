"""Colours of vertices as pictures: a plate whose red grows along it, by drivers that look at it in different ways."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from data_files import data_text

import renderer

#: Eight strips from x = 0 to 8, of which red grows from 0 to 1 in sRGB while green stays; seen straight from above.
STRIPS = 8
HEADER = data_text("ply/colored-header.txt")


@pytest.fixture
def ramp(tmp_path: Path) -> Path:
    vertices = [f"{x} {y} 0 {x / STRIPS} 0.5 0" for x in range(STRIPS + 1) for y in (0, 4)]
    faces = [f"3 {a} {a + 2} {a + 1}\n3 {a + 1} {a + 2} {a + 3}" for a in range(0, 2 * STRIPS, 2)]
    path = tmp_path / "ramp.ply"
    header = HEADER.format(vertices=len(vertices), faces=2 * len(faces))
    path.write_text(header + "\n".join(vertices + faces) + "\n")
    return path


@pytest.mark.parametrize("driver", ["path", "photon", "whitted"])
def test_colors_between_vertices_are_those_of_the_line_between_them(driver: str, ramp: Path) -> None:
    """The plate is lit evenly, so that red over green tells the colour, up to one factor of the light's own."""
    view = {"eye": (4, 2, 8), "look_at": (4, 2, 0), "up": (0, 1, 0), "fov": 20}
    picture = renderer.render(ramp, driver=driver, size=(40, 24), passes=16, device="cpu", **view)
    red, green, _ = np.moveaxis(picture.image[8:16, 4:36].astype(float), 2, 0)
    assert green.min() > 0.0
    ratio = (red / green).mean(axis=0)
    width = 8 * 2 * np.tan(np.radians(10)) * 40 / 24
    x = 4 + width * ((np.arange(4, 36) + 0.5) / 40 - 0.5)
    reds = np.interp(x, np.arange(STRIPS + 1), linear(np.arange(STRIPS + 1) / STRIPS))
    np.testing.assert_allclose(ratio / ratio.mean(), reds / reds.mean(), rtol=0.04)


def linear(encoded: Any) -> Any:
    """Returns the linear values of sRGB. (IEC 61966-2-1, 1999.)"""
    return np.where(encoded <= 0.04045, encoded / 12.92, ((encoded + 0.055) / 1.055) ** 2.4)
