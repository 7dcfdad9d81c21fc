"""Balls that glow: eye paths take each for one light, whose light is known in closed form."""

import numpy as np
import pytest
from driver_passes import deviation, independent_pictures, passes, sidak_bound, z_scores
from small_scenes import flat_snapshot, quad, sphere

from renderer.scene import light_records as lamps
from renderer.scene.packed_scene import pack_scene
from scenes.lights import PointLight
from scenes.model import Camera, Material
from shaders.lights.point import POINT
from shaders.lights.registry import light_pdf
from shaders.lights.row import LIGHT_AREA, LIGHT_KIND, LIGHT_POSITION
from shaders.lights.sphere import SPHERE
from shaders.lights.triangle import TRIANGLE

GREY, GLOW = Material(diffuse=(0.5, 0.5, 0.5)), Material(diffuse=(0.0, 0.0, 0.0), emission=(2.0, 4.0, 6.0))
ROUGH = Material(kind="metal", specular=(0.9, 0.9, 0.9), roughness=0.2)
FLOOR = quad((-9, -9, 0), (9, -9, 0), (9, 9, 0), (-9, 9, 0))
LONE = quad((5, 5, 3), (5, 6, 3), (6, 6, 3), (6, 5, 3))[:1]
#: 2048 triangles.
BALL = sphere((0.0, 0.0, 1.0), 0.4, 4)


def lamp_kinds(positions, materials=(GLOW,), **options):
    return pack_scene(flat_snapshot(positions, materials, **options)).lamps.rows[:, LIGHT_KIND].tolist()


def over_a_floor(ball, floor, *, seen):
    """A ball over a floor, of which a small square at x = `seen` is looked at from as high as the ball is wide."""
    camera = Camera(eye=(seen, 0.0, 0.4), forward=(0.0, 0.0, -1.0), up=(0.0, 1.0, 0.0), vertical_fov=10.0)
    ids = np.repeat([0, 1], [len(FLOOR), len(ball)])
    return flat_snapshot(np.concatenate([FLOOR, ball]), [floor, GLOW], material_ids=ids, camera=camera)


def test_a_ball_is_one_lamp_of_all_its_triangles():
    positions = np.concatenate([FLOOR, LONE, BALL])
    ids, lights = np.repeat([0, 1], [2, 1 + len(BALL)]), [PointLight(position=(0, 0, 9), intensity=(1, 1, 1))]
    packed = pack_scene(flat_snapshot(positions, [GREY, GLOW], material_ids=ids, lights=lights))
    assert packed.lamps.rows[:, LIGHT_KIND].tolist() == [POINT, *[TRIANGLE] * (1 + len(BALL))]  # all are one object
    apart = flat_snapshot(positions, [GREY, GLOW], material_ids=ids, lights=lights)
    apart.object_ids[3:] = 1
    packed = pack_scene(apart)
    lights, found = packed.lights, packed.lamps
    assert found.rows[:, LIGHT_KIND].tolist() == [POINT, TRIANGLE, SPHERE]
    assert packed.surfaces.emitter_ids.tolist() == [-1, -1, 1, *[2] * len(BALL)]
    np.testing.assert_allclose(found.rows[2, LIGHT_POSITION : LIGHT_POSITION + 3], (0, 0, 1), atol=1e-6)
    assert found.rows[2, LIGHT_AREA] == pytest.approx(lights.rows[2:, LIGHT_AREA].sum())
    np.testing.assert_allclose(found.probability, [*lights.probability[:2], lights.probability[2:].sum()])
    assert found.cumulative.tolist() == lights.cumulative[[0, 1, -1]].tolist()
    assert len(lights.rows) == 2 + len(BALL)


@pytest.mark.parametrize(
    "triangles",
    [BALL[:, ::-1], BALL * [1.0, 1.0, 1.002], BALL[: len(BALL) // 2], sphere((0, 0, 1), 0.4, 3), FLOOR.repeat(300, 0)],
    ids=["inside out", "egg", "half", "coarse", "flat"],
)
def test_what_is_no_ball_stays_triangles(triangles):
    assert lamp_kinds(triangles) == [TRIANGLE] * len(triangles)


@pytest.mark.parametrize(("height", "seen"), [(1.0, 0.7), (0.41, 0.45)], ids=["far", "close"])
@pytest.mark.parametrize("driver", ["path", "whitted", "photon"])
def test_a_floor_below_a_ball(driver, height, seen):
    """The irradiance is that of a sphere of as much surface as the triangles have, to a thousandth."""
    scene = over_a_floor(BALL + [0.0, 0.0, height - 1.0], GREY, seen=seen)
    scene.object_ids[2:] = 1
    made = passes(scene, driver, 60, max_bounces=1, photons=1000).mean(axis=(1, 2))
    assert np.all(deviation(made, light_below(scene, height, seen), 2e-3) < sidak_bound(3))


def test_photons_of_a_ball_are_as_much_light():
    scene = over_a_floor(BALL, GREY, seen=0.7)
    made = independent_pictures(scene, "photons-only", 10, max_bounces=1, photons=10_000, radius=0.05)
    assert np.all(deviation(made.mean(axis=(1, 2)), light_below(scene, 1.0, 0.7), 2e-3) < sidak_bound(3))


def light_below(scene, height, seen):
    """What a grey floor shows below a ball: the irradiance is pi L r^2 h / d^3 where no part of it is below the
    horizon."""
    square = pack_scene(scene).lights.rows[:, LIGHT_AREA].sum() / (4.0 * np.pi)
    half = 0.4 * np.tan(np.radians(5.0))
    x, y = np.meshgrid(seen + half * 16 / 12 * np.linspace(-1, 1, 65), half * np.linspace(-1, 1, 65))
    mean = 0.5 * np.mean(square * height * (x * x + y * y + height * height) ** -1.5)
    return mean * np.array(GLOW.emission)


@pytest.mark.parametrize("floor", [ROUGH, GREY], ids=["rough metal", "grey"])
def test_a_ball_shines_as_its_triangles_do(floor, monkeypatch):
    """On rough metal both the shadow rays and the rays that go on matter, with weights that must add up."""
    scene = over_a_floor(BALL, floor, seen=0.5)
    scene.object_ids[2:] = 1
    made = passes(scene, "path", 200).mean(axis=(1, 2))
    monkeypatch.setattr(lamps, "LEAST_TRIANGLES", len(BALL) + 1)
    judge = passes(scene, "path", 200).mean(axis=(1, 2))
    assert np.abs(z_scores(made, judge, 2e-3)).max() < sidak_bound(3)
    assert made.var() < judge.var()


def test_what_a_ray_meets_has_the_density_of_the_cone():
    scene = flat_snapshot(BALL, [GLOW])
    found, point = pack_scene(scene).lamps, (0.0, 0.0, 3.0)
    square = found.rows[0, LIGHT_AREA] / (4.0 * np.pi)
    solid_angle = 2.0 * np.pi * (1.0 - np.sqrt(1.0 - square / 4.0))
    edge = np.sqrt(square / 4.0)
    for sine, expected in ((0.0, 1.0), (0.999 * edge, 1.0), (1.001 * edge, 0.0)):
        direction = (sine, 0.0, -np.sqrt(1.0 - sine * sine))
        assert light_pdf(found, 0, point, direction, 1.0) == pytest.approx(expected / solid_angle)
        assert light_pdf(found, 0, point, (sine, 0.0, -direction[2]), 1.0) == 0.0
    assert light_pdf(found, 0, (0.0, 0.0, 1.39), (0.0, 0.0, -1.0), 1.0) == 0.0


def test_a_ball_is_found_whatever_the_place_and_size():
    for middle, radius in (((300.0, -200.0, 50.0), 0.3), ((0.0, 0.0, 0.0), 1e-4), ((1e3, 0.0, 0.0), 5e2)):
        assert lamp_kinds(sphere(middle, radius, 4)) == [SPHERE]
