"""Many lights: a tree chooses among them by what they may bring, and each is chosen with the chance that is told."""

from dataclasses import replace

import numpy as np
import pytest
from driver_passes import deviation, passes, sidak_bound, z_scores
from small_scenes import closed_box, flat_snapshot, quad

from renderer.scene import light_tree
from renderer.scene.light_tree import chance_at
from renderer.scene.packed_scene import pack_scene
from scenes.lights import DistantLight, PointLight
from scenes.model import Camera, Environment, Material, Texture
from shaders.vector import BLACK
from tracecore.compilation.cached import compiled

GREY, GLOW = Material(diffuse=(0.5, 0.5, 0.5)), Material(diffuse=BLACK, emission=(1.0, 2.0, 3.0))
FLOOR = quad((-9, -9, 0), (9, -9, 0), (9, 9, 0), (-9, 9, 0))
ABOVE = Camera(eye=(0.3, -4.0, 3.0), forward=(0.0, 4.0, -3.0), up=(0.0, 0.0, 1.0), vertical_fov=50.0)
#: Where lamps hang.
ROW = np.linspace(-8.0, 8.0, 10)
PLACES = np.array([(x, y, 0.5) for x in ROW for y in ROW])


def points_over_a_floor():
    lamps = [PointLight(position=(x, y, 0.5), intensity=(1.0, 2.0, 3.0)) for x in ROW.tolist() for y in ROW.tolist()]
    return flat_snapshot(FLOOR, [GREY], camera=ABOVE, lights=lamps)


def panels_over_a_floor(glow=GLOW, floor=GREY):
    """Panels that glow downward, each another way up for the texture."""
    panel = quad((-0.2, -0.2, 0), (-0.2, 0.2, 0), (0.2, 0.2, 0), (0.2, -0.2, 0))
    panels = np.concatenate([panel + place for place in PLACES])
    ids = np.repeat([0, 1], [len(FLOOR), len(panels)])
    made = flat_snapshot(np.concatenate([FLOOR, panels]), [floor, glow], material_ids=ids, camera=ABOVE)
    made.uvs[:] = [(0.1, 0.1), (0.9, 0.1), (0.9, 0.9)]
    return made


def glowing_box():
    """A closed box of 192 triangles that glow and reflect: the radiance is 1 everywhere."""
    material = Material(diffuse=(0.5, 0.6, 0.75), emission=(0.5, 0.4, 0.25))
    triangles = closed_box()
    for _ in range(2):
        a, b, c = np.moveaxis(triangles, 1, 0)
        ab, bc, ca = 0.5 * (a + b), 0.5 * (b + c), 0.5 * (c + a)
        triangles = np.concatenate([np.stack(one, 1) for one in ((a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca))])
    return flat_snapshot(triangles, [material])


def without_tree(monkeypatch):
    monkeypatch.setattr(light_tree, "LEAST_LIGHTS", np.inf)


@compiled
def chances(tree, lights, points):
    """(points, lights)."""
    found = np.empty((len(points), lights), np.float32)
    for k in range(len(points)):
        for light in range(lights):
            found[k, light] = chance_at(tree, light, (points[k, 0], points[k, 1], points[k, 2]))
    return found


def with_sky(snapshot):
    sky = Environment(radiance=np.full((1, 1, 3), 0.05, np.float32))
    sun = DistantLight(direction=(0.0, 0.0, -1.0), irradiance=(0.3, 0.2, 0.1))
    return replace(snapshot, environment=sky, lights=(*snapshot.lights, sun))


@pytest.mark.parametrize("has_sky", [False, True])
def test_some_light_is_chosen_at_each_point(has_sky):
    scene = with_sky(points_over_a_floor()) if has_sky else points_over_a_floor()
    packed = pack_scene(scene)
    tree, count = packed.light_records.tree, len(scene.lights) + has_sky
    assert tree.levels == 7 + has_sky
    points = np.random.default_rng(3).uniform(-20.0, 20.0, (50, 3)).astype(np.float32)
    points[0] = PLACES[5]  # in a lamp
    found = chances(tree, count, points)
    assert found.min() > 0.0
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-5)
    power = packed.lights.probability
    outer = slice(len(PLACES), None)
    np.testing.assert_allclose(found[:, outer], np.tile(power[outer], (50, 1)), rtol=1e-5)
    assert found[0].argmax() == 5 or has_sky
    assert found[0, 5] > 10.0 * power[5]


def test_lights_that_turn_away_are_hardly_chosen():
    """Of panels in two rows, back to back, those that shine upward are chosen from above."""
    down = panels_over_a_floor()
    up = down.positions[len(FLOOR) :, ::-1] + np.array([0.0, 0.0, 0.01], np.float32)
    scene = flat_snapshot(np.concatenate([down.positions, up]), [GREY, GLOW], material_ids=[0, 0, *[1] * 2 * len(up)])
    tree = pack_scene(scene).light_records.tree
    found = chances(tree, 2 * len(up), np.array([[0.0, 0.0, 9.0]], np.float32))[0]
    assert 1e-6 < found[: len(up)].sum() < 0.02


def test_a_tree_is_taken_where_it_pays():
    """Not among few lights, nor few strong ones, nor where all are as far from what is lit."""
    scene = points_over_a_floor()
    above = [replace(light, position=(*light.position[:2], 90.0)) for light in scene.lights]
    assert pack_scene(replace(scene, lights=above)).light_records.tree is light_tree.NO_TREE
    few = replace(scene, lights=scene.lights[:15])
    strong = replace(scene.lights[0], intensity=(1e3, 1e3, 1e3))
    for lights in (few.lights, (strong, *scene.lights)):
        assert pack_scene(replace(scene, lights=lights)).light_records.tree is light_tree.NO_TREE
    assert pack_scene(scene).light_records.tree.levels == 7


@pytest.mark.parametrize("driver", ["path", "whitted", "photon"])
def test_a_floor_below_a_hundred_points(driver, monkeypatch):
    """The radiance is the sum of albedo / pi I cos / d^2, and its error a third of that by power."""
    down = Camera(eye=(0.3, 0.0, 0.4), forward=(0.0, 0.0, -1.0), up=(0.0, 1.0, 0.0), vertical_fov=10.0)
    scene = replace(points_over_a_floor(), camera=down)
    made = passes(scene, driver, 60, max_bounces=1, photons=1000)
    without_tree(monkeypatch)
    by_power = passes(scene, driver, 60, max_bounces=1, photons=1000)
    assert made.std(axis=0).mean() < by_power.std(axis=0).mean() / 3.0
    half = 0.4 * np.tan(np.radians(5.0))
    x, y = np.meshgrid(0.3 + half * 16 / 12 * np.linspace(-1, 1, 65), half * np.linspace(-1, 1, 65))
    squares = (x[..., None] - PLACES[:, 0]) ** 2 + (y[..., None] - PLACES[:, 1]) ** 2 + 0.25
    expected = (0.5 / np.pi * 0.5 * squares**-1.5).sum(axis=-1).mean() * np.array([1.0, 2.0, 3.0])
    assert np.all(deviation(made.mean(axis=(1, 2)), expected, 2e-3) < sidak_bound(3))


@pytest.mark.parametrize("max_bounces", [1, 60])
def test_a_closed_box_of_many_lamps_is_a_furnace(max_bounces, monkeypatch):
    """Light that shadow rays bring and light that paths meet have weights that add up, whatever light is chosen."""
    monkeypatch.setattr(light_tree, "LEVEL_COST", 0.0)
    scene = glowing_box()
    assert pack_scene(scene).light_records.tree.levels == 8
    made = passes(scene, "path", 100, max_bounces=max_bounces).mean(axis=(1, 2))
    albedo, emission = np.array(scene.materials[0].diffuse), np.array(scene.materials[0].emission)
    expected = np.ones(3) if max_bounces == 60 else emission * (1.0 + albedo)
    assert np.all(deviation(made, expected, 1e-4) < sidak_bound(3))


MIRRORS = Material(kind="metal", specular=(0.9, 0.9, 0.9), roughness=0.3)
PAINTED = Texture(name="t", pixels=np.random.default_rng(5).integers(0, 256, (3, 4, 3)).astype(np.uint8))


@pytest.mark.parametrize(
    "scene",
    [
        with_sky(panels_over_a_floor(floor=MIRRORS)),
        replace(panels_over_a_floor(replace(GLOW, emission_map=0)), textures=(PAINTED,)),
    ],
    ids=["with sky and sun over rough metal", "pictures"],
)
def test_the_tree_changes_no_mean(scene, monkeypatch):
    made = passes(scene, "path", 60).mean(axis=(1, 2))
    assert pack_scene(scene).light_records.tree.levels >= 8
    without_tree(monkeypatch)
    judge = passes(scene, "path", 240).mean(axis=(1, 2))
    assert np.abs(z_scores(made, judge, 1e-3)).max() < sidak_bound(3)
    assert made.var() < judge.var()
