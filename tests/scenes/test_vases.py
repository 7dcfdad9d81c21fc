"""The vases: closed, of even thickness, apart from each other, one of each surface."""

import numpy as np
import pytest
from solids import is_closed, volume

from scenes import load
from scenes.meshes.geometry import areas

#: Objects of the file in its order; metres: how thick a vase is, how wide, and how high it stands above the table.
TABLE, WINDOW, FIRST_VASE = 0, 1, 2
THICKNESS, WIDEST, GAP = 0.004, 0.058, 0.0005


@pytest.fixture(scope="module")
def scene():
    return load("vases")


@pytest.fixture(scope="module")
def picture(scene):
    return scene.at(0.0)


def of_object(picture, number):
    """The triangles of an object, where it is."""
    return picture.positions[picture.object_ids == number].astype(np.float64)


def test_a_vase_is_closed_and_hollow(picture):
    triangles = of_object(picture, FIRST_VASE)
    assert is_closed(triangles)
    assert areas(triangles).min() > 0.0
    surface = areas(triangles).sum()
    assert volume(triangles) == pytest.approx(0.5 * surface * THICKNESS, rel=0.15)  # a thin wall has two sides


def test_vases_stand_apart_on_the_table(scene):
    vases = scene.document.parts[FIRST_VASE:]
    assert len({id(part.shape) for part in vases}) == 1
    places = np.array([part.transform.matrix[:3, 3] for part in vases])
    apart = np.linalg.norm(places[:, None] - places[None], axis=2) + np.eye(len(places))
    assert np.abs(vases[0].shape.vertices[:, [0, 2]]).max() == pytest.approx(WIDEST, rel=0.02)
    assert apart.min() > 2.0 * WIDEST
    assert (places[:, 1] == GAP).all()


def test_each_vase_has_a_surface_of_its_own(picture):
    assert set(picture.material_ids.tolist()) == set(range(len(picture.materials)))
    assert [material.kind for material in picture.materials] == [
        "diffuse",
        "diffuse",
        "metal",
        "dielectric",
        "plastic",
        "metal",
        "dielectric",
        "dielectric",
        "metal",
    ]


def test_the_window_shines_on_the_table(picture):
    window = of_object(picture, WINDOW)
    assert np.cross(window[:, 1] - window[:, 0], window[:, 2] - window[:, 0])[:, 0].min() > 0.0
    assert window[..., 0].max() < of_object(picture, FIRST_VASE)[..., 0].min()
    assert any(picture.materials[WINDOW].emission)


def test_the_sky_is_bright_at_the_horizon_and_dark_below(picture):
    sky = picture.environment.radiance
    half = len(sky) // 2
    assert sky[half - 1].mean() > sky[0].mean() > sky[half].mean() > 0.0
