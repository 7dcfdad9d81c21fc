"""The vases: closed, of even thickness, apart from each other, one of each surface."""

import numpy as np
import pytest
from solids import corners, is_closed, volume

from scenes.geometry import areas
from scenes.shipped import vases


def test_a_vase_is_closed_and_hollow():
    triangles = corners(vases.vase(vases.TABLE))
    assert is_closed(triangles)
    assert areas(triangles).min() > 0.0
    surface = areas(triangles).sum()
    assert volume(triangles) == pytest.approx(0.5 * surface * vases.THICKNESS, rel=0.15)  # a thin wall has two sides


def test_vases_stand_apart_on_the_table():
    parts = [*vases.row(vases.FRONT, vases.FRONT_X, vases.FRONT_Z), *vases.row(vases.BACK, vases.BACK_X, vases.BACK_Z)]
    places = np.array([part.transform.matrix[:3, 3] for part in parts])
    apart = np.linalg.norm(places[:, None] - places[None], axis=2) + np.eye(len(places))
    assert apart.min() > 2.0 * max(radius for radius, _ in vases.PROFILE)
    assert (places[:, 1] == vases.GAP).all()


def test_each_vase_has_a_surface_of_its_own():
    snapshot = vases.scene().at(0.0)
    assert set(snapshot.material_ids.tolist()) == set(range(len(vases.MATERIALS)))
    assert {material.kind for material in snapshot.materials} == {"diffuse", "metal", "plastic", "dielectric"}


def test_the_window_shines_on_the_table():
    window = corners(vases.window())
    normal = np.cross(window[0, 1] - window[0, 0], window[0, 2] - window[0, 0])
    assert normal[0] > 0.0
    assert vases.WINDOW_CORNER[0] < vases.FRONT_X[0]


def test_the_sky_is_bright_at_the_horizon_and_dark_below():
    sky = vases.sky()
    assert sky.shape == (*vases.SKY_SIZE, 3)
    half = vases.SKY_SIZE[0] // 2
    assert sky[half - 1].mean() > sky[0].mean() > sky[half].mean() > 0.0
