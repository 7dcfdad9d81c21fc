"""The garden terrace: its sky looks like one, its sun stands where the glow is, and what is solid is closed."""

import numpy as np
import pytest
from solids import is_closed, volume

from scenes import load
from scenes.lights import DistantLight
from scenes.meshes.geometry import areas

#: Numbers of what is solid, in the order of the file, and of materials.
SOLIDS = {"pier": 39, "slab": 40, "mirror ball": 41, "table": 45, "glass ball": 46, "goblet": 47, "leaves": 49}
FLAGSTONES, GLASS, MIRROR = 0, 4, 5
#: Metres, and degrees above the horizon.
TABLE_RADIUS, TABLE_TOP, GAP, SUN_HEIGHT = 0.46, 0.7405, 0.0005, 36.0


@pytest.fixture(scope="module")
def picture():
    return load("outdoor").at(0.0)


def of_material(picture, material):
    return picture.positions[picture.material_ids == material].astype(np.float64)


@pytest.mark.parametrize("number", SOLIDS.values(), ids=SOLIDS)
def test_solids_are_closed_and_face_outward(picture, number):
    triangles = picture.positions[picture.object_ids == number].astype(np.float64)
    assert is_closed(triangles)
    assert areas(triangles).min() > 0.0
    assert volume(triangles - triangles.mean(axis=(0, 1))) > 0.0


def texel_towards(direction, shape):
    """Row and column of the sky in a direction."""
    right = 0.5 + np.arctan2(direction[0], -direction[2]) / (2.0 * np.pi)
    return int(np.arccos(direction[1]) / np.pi * shape[0]), int(right * shape[1])


def test_the_sky_is_brightest_about_the_sun_and_dark_below(picture):
    sky, (sun,) = picture.environment.radiance, picture.lights
    assert sky.min() > 0.0
    rows, columns, _ = sky.shape
    row, column = texel_towards(-np.array(sun.direction), sky.shape)
    brightness = sky.sum(axis=2)
    assert brightness[row, column] > 2.0 * brightness[row, (column + columns // 2) % columns]
    brightest = np.unravel_index(brightness[: rows // 3].argmax(), brightness.shape)
    assert abs(brightest[1] - column) <= 1
    assert brightness[: rows // 2].mean() > brightness[rows // 2 :].mean()
    assert sky[0, 0, 2] > sky[0, 0, 0]


def test_the_sun_shines_from_its_place(picture):
    (sun,) = picture.lights
    assert isinstance(sun, DistantLight)
    assert np.linalg.norm(sun.direction) == pytest.approx(1.0)
    assert np.degrees(np.arcsin(-sun.direction[1])) == pytest.approx(SUN_HEIGHT)
    assert np.array_equal(picture.environment.axes, np.eye(3))


def test_things_stand_clear_of_what_they_stand_on(picture):
    glass = of_material(picture, GLASS)
    assert glass[..., 1].min() == pytest.approx(TABLE_TOP + GAP, abs=1e-6)
    assert np.hypot(glass[..., 0], glass[..., 2]).max() < TABLE_RADIUS
    assert of_material(picture, FLAGSTONES)[..., 1].max() == pytest.approx(0.0, abs=1e-9)


def test_one_ball_on_the_wall_mirrors(picture):
    mirror = of_material(picture, MIRROR)
    assert volume(mirror - mirror.mean(axis=(0, 1))) == pytest.approx(4.0 / 3.0 * np.pi * 0.15**3, rel=0.01)
