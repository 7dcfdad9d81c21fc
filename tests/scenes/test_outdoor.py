"""The garden terrace: its sky looks like one, its sun stands where the glow is, and what is solid is closed."""

import numpy as np
import pytest
from solids import corners, is_closed, volume

from scenes.geometry import areas
from scenes.lights import DistantLight
from scenes.shipped import outdoor

SOLIDS = {
    "goblet": outdoor.goblet(),
    "table": outdoor.table(),
    "leaves": outdoor.leaves(),
    **{f"pier {k}": mesh for k, mesh in enumerate(outdoor.pier(outdoor.MIRROR))},
}


@pytest.mark.parametrize("mesh", SOLIDS.values(), ids=SOLIDS)
def test_solids_are_closed_and_face_outward(mesh):
    triangles = corners(mesh)
    assert is_closed(triangles)
    assert areas(triangles).min() > 0.0
    assert volume(triangles) > 0.0


def texel_towards(direction):
    """Row and column of the sky in a direction."""
    rows, columns = outdoor.SKY_SIZE
    right = 0.5 + np.arctan2(direction[0], -direction[2]) / (2.0 * np.pi)
    return int(np.arccos(direction[1]) / np.pi * rows), int(right * columns)


def test_the_sky_is_brightest_about_the_sun_and_dark_below():
    sky = outdoor.sky()
    assert sky.shape == (*outdoor.SKY_SIZE, 3)
    assert sky.min() > 0.0
    (row, column), (rows, columns) = texel_towards(outdoor.to_sun()), outdoor.SKY_SIZE
    brightness = sky.sum(axis=2)
    assert brightness[row, column] > 2.0 * brightness[row, (column + columns // 2) % columns]
    brightest = np.unravel_index(brightness[: rows // 3].argmax(), brightness.shape)
    assert abs(brightest[1] - column) <= 1
    assert brightness[: rows // 2].mean() > brightness[rows // 2 :].mean()
    assert sky[0, 0, 2] > sky[0, 0, 0]


def test_the_sun_shines_from_its_place():
    snapshot = outdoor.scene().at(0.0)
    (sun,) = snapshot.lights
    assert isinstance(sun, DistantLight)
    assert np.allclose(sun.direction, -outdoor.to_sun())
    assert np.degrees(np.arcsin(-sun.direction[1])) == pytest.approx(outdoor.SUN_HEIGHT)
    assert snapshot.environment is not None
    assert np.array_equal(snapshot.environment.axes, np.eye(3))


def test_things_stand_clear_of_what_they_stand_on():
    snapshot = outdoor.scene().at(0.0)
    glass = snapshot.positions[snapshot.material_ids == outdoor.GLASS]
    assert glass[..., 1].min() == pytest.approx(outdoor.TABLE_HEIGHT + 2.0 * outdoor.GAP, abs=1e-6)
    assert np.hypot(glass[..., 0], glass[..., 2]).max() < outdoor.TABLE_RADIUS
    ground = snapshot.positions[snapshot.material_ids == outdoor.FLAGSTONES]
    assert ground[..., 1].max() == pytest.approx(0.0, abs=1e-9)
