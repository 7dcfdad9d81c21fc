"""The scene `street`: a city of boxes, walkers on its streets, a drive past its houses, and light of known strength."""

from dataclasses import replace
from math import pi

import numpy as np
import pytest

import renderer
import scenes
from scenes.colors.srgb import decoded
from scenes.document import Scene
from scenes.meshes.geometry import areas, double_area_normals
from scenes.model import Camera, Snapshot
from scenes.shipped.scripts import street
from scenes.shipped.scripts.street import city
from scenes.shipped.scripts.street.facades import FACADES


@pytest.fixture(scope="module")
def scene() -> Scene:
    return scenes.load("street")


@pytest.fixture(scope="module")
def start(scene: Scene) -> Snapshot:
    return scene.at(0.0)


def test_triangles_are_about_5000_finite_and_have_areas_at_any_time(scene):
    assert 4_500 <= scene.document.triangles <= 5_500
    assert (scene.animation.start, scene.animation.end, scene.animation.frames) == (0.0, 10.0, 251)
    for time in (-1.0, 0.0, 4.7, 11.0):
        picture = scene.at(time)
        assert len(picture.positions) == scene.document.triangles
        assert np.isfinite(picture.positions).all()
        assert np.isfinite(picture.uvs).all()
        assert np.allclose(np.linalg.norm(picture.normals, axis=-1), 1.0, atol=1e-5)
        assert areas(picture.positions).min() > 1e-6


def test_walls_look_outward_and_roofs_up(start):
    of_wall = (start.material_ids >= city.FIRST_FACADE) & (start.material_ids < city.FIRST_FACADE + len(FACADES))
    for objects in np.unique(start.object_ids[of_wall]):
        corners = start.positions[start.object_ids == objects].astype(np.float64)
        outward = corners.mean(axis=1) - corners.mean(axis=(0, 1))
        assert (np.sum(double_area_normals(corners) * outward, axis=-1) > 0.0).all()
    for material in (city.ROOF, city.ROAD, city.CROSSING, city.PLAIN):
        assert (double_area_normals(start.positions[start.material_ids == material])[:, 1] > 0.0).all()


def test_one_lamp_hangs_500_m_high_and_all_its_light_comes_through_the_pane(start):
    (lamp,) = start.lights
    assert (lamp.kind, lamp.position[1]) == ("point", 500.0)
    (pane,) = (material for material in start.materials if material.name == "pane")
    assert (pane.kind, pane.transmittance, pane.ior, any(pane.diffuse)) == ("nff", 0.5, 1.0, False)
    corners = start.positions[start.material_ids == city.PANE]
    assert np.allclose(double_area_normals(corners)[:, [0, 2]], 0.0)
    height = corners[0, 0, 1]
    rest = start.positions[start.material_ids != city.PANE].reshape(-1, 3)
    assert rest[:, 1].max() < height
    share = (lamp.position[1] - height) / (lamp.position[1] - rest[:, 1:2])
    crossed = np.array(lamp.position) + share * (rest - np.array(lamp.position))
    assert np.abs(crossed[:, [0, 2]]).max() <= corners[..., 0].max()


def looking_down(place: tuple[float, float], side: float) -> Camera:
    """A camera that sees a square of the ground from a metre above, all rays parallel."""
    return Camera(eye=(place[0], 1.0, place[1]), forward=(0, -1, 0), up=(0, 0, -1), vertical_fov=40.0, height=side)


def radiance_of_street(start: Snapshot, driver: str, **settings) -> np.ndarray:
    """Mean radiance (3,) of two by two metres, as large as four pictures of asphalt, straight below the lamp."""
    seen = replace(start, camera=looking_down((street.LAMP[0], street.LAMP[2]), 2.0))
    made = renderer.render(seen, driver=driver, size=(32, 32), passes=16, device="cpu", quiet=True, **settings)
    return made.image.mean(axis=(0, 1))


def albedo_of_street(start: Snapshot) -> np.ndarray:
    """Mean reflectance (3,) of the asphalt of crossings."""
    asphalt = start.materials[city.CROSSING]
    pixels = start.textures[asphalt.texture].pixels
    return np.array(asphalt.diffuse) * decoded(pixels).mean(axis=(0, 1))


@pytest.mark.parametrize(
    ("driver", "settings"),
    [("whitted", {}), ("path", {"max_bounces": 1}), ("photon", {"max_bounces": 1, "photons": 10})],
)
def test_below_the_lamp_the_street_has_the_radiance_of_a_matt_surface_lit_through_the_pane(start, driver, settings):
    """L = albedo / pi * T * I / d^2, straight below the lamp."""
    expected = albedo_of_street(start) / pi * 0.5 * np.array(street.INTENSITY) / 500.0**2
    assert radiance_of_street(start, driver, **settings) == pytest.approx(expected, rel=2e-3)


def test_aslant_a_white_line_has_the_radiance_of_the_cosine_law(start):
    """The line is beside a kerb in the light; the texture is one colour around a pixel's middle."""
    place = np.array([-64.0 - 4.59, 0.0, -30.0])
    way = street.LAMP - place
    seen = replace(start, camera=looking_down((place[0], place[2]), 0.02))
    made = renderer.render(seen, driver="path", size=(4, 4), passes=4, max_bounces=1, device="cpu", quiet=True)
    paint = 0.9 * decoded(np.rint(255.0 * np.array((0.84, 0.84, 0.81))).astype(np.uint8))
    cosine, square = way[1] / np.linalg.norm(way), way @ way
    expected = paint / pi * 0.5 * np.array(street.INTENSITY) * cosine / square
    assert made.image.mean(axis=(0, 1)) == pytest.approx(expected, rel=1e-3)


def test_the_ambient_term_is_a_share_of_the_albedo(start):
    added = radiance_of_street(start, "whitted", ambient="literal") - radiance_of_street(start, "whitted")
    assert added == pytest.approx(city.AMBIENT * albedo_of_street(start), rel=2e-3)


def test_a_frame_is_well_exposed(scene):
    """Half of it is neither dark nor bright, and little is white."""
    made = renderer.render(scene, driver="path", frame=60, size=(80, 60), passes=8, device="cpu", quiet=True)
    levels = made.pixels.max(axis=2)
    assert 70 <= np.median(levels) <= 180
    assert (levels == 255).mean() < 0.02
