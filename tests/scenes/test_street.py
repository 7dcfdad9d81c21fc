"""The scene `street`: a city of boxes, walkers on its streets, a drive past its houses, and light of known strength."""

from dataclasses import replace
from math import pi

import numpy as np
import pytest

import renderer
from scenes.colors.srgb import decoded
from scenes.document import Scene
from scenes.meshes.geometry import areas, double_area_normals
from scenes.model import Camera, Snapshot
from scenes.playing.evaluator import scene_of
from scenes.shipped import street
from scenes.shipped.robots.materials import RUBBER
from scenes.shipped.street import city
from scenes.shipped.street.facades import FACADES

TIMES = np.linspace(0.0, 10.0, 41)
ROBOTS = 5
#: A metre for a car around the camera, and half a walker's breadth.
BESIDE_CAMERA, BESIDE_WALKER = 1.0, 0.8


@pytest.fixture(scope="module")
def scene() -> Scene:
    return street.scene()


@pytest.fixture(scope="module")
def start(scene: Scene) -> Snapshot:
    return scene.at(0.0)


@pytest.fixture(scope="module")
def feet(scene: Scene) -> Scene:
    """The soles of the scene alone, two of each walker."""
    soles = [part for part in scene.document.parts if part.shape.material == RUBBER and "ankle" in part.transform.track]
    return scene_of("feet", replace(scene.document, parts=soles))


def walkers_at(scene: Scene, time: float) -> np.ndarray:
    """Where walkers stand, (n, 3)."""
    return np.array([scene.document.tracks[f"robot{number}"].transl.at(time) for number in range(ROBOTS)])


def nearest_house(place: np.ndarray) -> float:
    """Metres on the ground from a place (3,) to the nearest house, 0 inside."""
    lower, upper = (np.array([getattr(house, name) for house in city.houses()]) for name in ("lower", "upper"))
    outside = np.maximum(np.maximum(lower - place[[0, 2]], place[[0, 2]] - upper), 0.0)
    return float(np.linalg.norm(outside, axis=1).min())


# --- shapes -----------------------------------------------------------------------------------------------------------


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


def test_facades_have_whole_windows_and_hang_from_the_eaves(start):
    for number, facade in enumerate(FACADES):
        chosen = start.material_ids == city.FIRST_FACADE + number
        heights, v = start.positions[chosen, :, 1], start.uvs[chosen, :, 1]
        assert np.allclose(np.unique(heights), [city.KERB, city.KERB + facade.height])
        assert np.allclose(v, heights < 1.0)
        bays = np.ptp(start.uvs[chosen, :, 0], axis=1) * 4.0
        assert np.allclose(bays, np.rint(bays))
        wide = np.ptp(start.positions[chosen][..., [0, 2]], axis=1).max(axis=-1) / bays
        assert ((wide > 2.5) & (wide < 3.5)).all()


def test_the_streets_are_free_of_houses():
    for house in city.houses():
        is_across = any(
            low > city.HALF_CITY - 13.0 or high < 13.0 - city.HALF_CITY
            for low, high in zip(house.lower, house.upper, strict=True)
        )
        for axis in (0, 1):
            apart = [max(house.lower[axis] - at, at - house.upper[axis]) for at in city.STREETS]
            assert is_across or min(apart) >= city.HALF_ROAD + city.PAVEMENT


def test_all_materials_and_textures_are_in_use(start):
    assert set(start.material_ids) == set(range(len(start.materials)))
    assert {material.texture for material in start.materials} == {-1, *range(len(start.textures))}


# --- motion -----------------------------------------------------------------------------------------------------------


def test_walkers_move_and_nothing_else_does(scene):
    moved = (scene.at(1.0).positions != scene.at(1.7).positions).any(axis=(1, 2))
    assert moved.sum() == scene.moving_triangles > 0.5 * scene.document.triangles
    gone = np.linalg.norm(walkers_at(scene, 10.0) - walkers_at(scene, 0.0), axis=1)
    assert gone.min() > 8.0


def test_feet_stand_on_the_street_and_do_not_sink(feet):
    soles = len(feet.document.parts)
    assert soles == 2 * ROBOTS
    heights = np.array([feet.at(time).positions[..., 1].reshape(soles, -1).min(axis=1) for time in TIMES])
    of_walker = heights.reshape(len(TIMES), ROBOTS, 2)
    assert of_walker.min() > -0.01
    assert of_walker.min(axis=2).max() < 0.01  # one foot is down at every time
    assert of_walker.max(axis=2).max(axis=0).min() > 0.1  # and each walker lifts its feet


def test_walkers_stay_on_the_road_and_apart(scene, feet):
    for time in TIMES:
        x, z = (feet.at(time).positions[..., axis] for axis in (0, 2))
        off = np.minimum(*(np.abs(np.subtract.outer(across, city.STREETS)).min(axis=-1) for across in (x, z)))
        assert off.max() < city.HALF_ROAD
        places = walkers_at(scene, time)
        apart = np.linalg.norm(places[:, None] - places, axis=-1) + 9.0 * np.eye(ROBOTS)
        assert apart.min() > 2.0 * BESIDE_WALKER


def test_the_camera_drives_on_the_road_and_runs_into_nothing(scene):
    times = [scene.animation.time_of(frame) for frame in range(scene.animation.frames)]
    eyes = np.array([scene.at(time).camera.eye for time in times])
    assert np.allclose(eyes[:, 1], street.EYE_HEIGHT)
    assert np.allclose(np.linalg.norm(np.diff(eyes, axis=0), axis=1), street.LENGTH / 250, atol=0.01)  # at one speed
    for eye, time in zip(eyes, times, strict=True):
        kerb = city.HALF_ROAD - np.abs(np.subtract.outer(eye[[0, 2]], city.STREETS)).min(axis=1).min()
        assert kerb > BESIDE_CAMERA
        assert nearest_house(eye) > city.PAVEMENT
        beside = np.linalg.norm((walkers_at(scene, time) - eye)[:, [0, 2]], axis=1)
        assert beside.min() > BESIDE_CAMERA + BESIDE_WALKER


def test_the_camera_looks_where_it_goes_and_turns_a_corner(scene):
    for time in np.linspace(0.2, 9.8, 25):
        before, here, after = (scene.at(time + shift).camera for shift in (-0.1, 0.0, 0.1))
        ahead = np.subtract(after.eye, before.eye)
        assert here.forward @ ahead / np.linalg.norm(ahead) > np.cos(np.radians(10.0))
    assert np.allclose(scene.at(0.0).camera.forward, (0.0, 0.0, -1.0), atol=1e-3)
    assert np.allclose(scene.at(10.0).camera.forward, (-1.0, 0.0, 0.0), atol=0.02)


# --- light ------------------------------------------------------------------------------------------------------------


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


def radiance_of_street(start: Snapshot, driver: str, **settings: object) -> np.ndarray:
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
