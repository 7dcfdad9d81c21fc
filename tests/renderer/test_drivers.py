"""Pictures with known answers, and drivers that must agree with each other."""

import math
import time
from dataclasses import replace

import numpy as np
import pytest
from driver_passes import deviation, opened, passes
from small_scenes import closed_box, flat_snapshot, floor_and_ceiling, inside_of_lamp_box, lamp_in_box, quad

import scenes
import tracecore
from renderer.drivers import DRIVERS, pass_photons
from renderer.drivers import driver as driver_module
from renderer.drivers.driver import RayCounts, RenderSettings
from renderer.drivers.search_radius import footprint_radius, pass_radius, photon_radius
from renderer.drivers.shares import MapShare, PhotonShare, Share, made_shares, part_of
from renderer.fleet.fleet import Common
from renderer.photons.counts import PhotonCounts
from renderer.photons.ranges import ranges_of
from renderer.scene.packed_scene import pack_camera, pack_scene, surface_area
from renderer.scene.render_context import SceneView
from scenes.lights import PointLight
from scenes.model import Camera, Material, Texture

STRAIGHT_DOWN = Camera(eye=(0.5, 0.5, 0.9), forward=(0.0, 0.0, -1.0), up=(0.0, 1.0, 0.0), vertical_fov=1e-3)
LOOK_DOWN = Camera(eye=(0.5, 0.5, 0.9), forward=(0.0, 0.0, -1.0), up=(0.0, 1.0, 0.0), vertical_fov=40.0)


#: A field of view, in degrees, in which all rays see the same point.
NARROW = 1e-3

BIG_FLOOR = quad((-50, -50, 0), (50, -50, 0), (50, 50, 0), (-50, 50, 0))

SMALL_FLOOR = quad((0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0))


def test_a_lamp_without_size_lights_by_the_inverse_square():
    floor = quad((-50, -50, 0), (50, -50, 0), (50, 50, 0), (-50, 50, 0))
    lamp = PointLight(position=(0.5, 0.5, 2.0), intensity=(3.0, 2.0, 1.0))
    camera = Camera(eye=(0.5, 0.5, 1.0), forward=(0.0, 0.0, -1.0), up=(0.0, 1.0, 0.0), vertical_fov=1e-3)
    snapshot = flat_snapshot(floor, [Material(diffuse=(0.5, 0.5, 0.5))], lights=[lamp], camera=camera)
    for driver in ("path", "photon"):
        made = passes(snapshot, driver, 1, radius=1e-6)
        expected = 0.5 / math.pi * np.array([3.0, 2.0, 1.0]) / 4.0
        np.testing.assert_allclose(made[0], np.broadcast_to(expected, made[0].shape), rtol=1e-5)


@pytest.mark.parametrize("driver", ["path", "photon"])
@pytest.mark.parametrize("max_bounces", [1, 2])
@pytest.mark.parametrize("diffuse", [0.3, 0.0])
def test_gloss_under_a_lamp_with_size(driver, max_bounces, diffuse):
    """Lambert, Phong and mirror lobes of one floor, seen from straight above, by quadrature over the lamp."""
    plastic = Material(kind="nff", diffuse=(diffuse, diffuse, diffuse), specular=(0.5, 0.5, 0.5), exponent=25.0)
    phong, mirror = 0.5 * 100.0 / 125.0, 0.5 * 25.0 / 125.0

    def reflected(distance2):
        cosine = 1.0 / np.sqrt(distance2)
        lobes = diffuse / math.pi + phong * 27.0 / (2.0 * math.pi) * cosine**25
        return lobes * cosine * cosine / distance2

    expected = 2.0 * mean_over_square(reflected) + 2.0 * mirror
    scene = square_lamp_over(SMALL_FLOOR, plastic)
    settings = {"width": 64, "height": 64, "photons": 2_000, "radius": 1e-3}
    made = passes(scene, driver, 40, max_bounces=max_bounces, **settings)
    assert np.all(deviation(made.mean(axis=(1, 2)), expected * np.ones(3), 1e-4) < 4.0)


@pytest.mark.parametrize(
    ("driver", "what"), [("path", "light"), ("path", "direction"), ("photon", "light"), ("ao", "direction")]
)
def test_passes_and_seeds_are_independent(driver, what):
    """Pixels that all see one point differ by their random numbers alone."""
    corner = np.concatenate([BIG_FLOOR, quad((0.4, -9, 0), (0.4, 9, 0), (0.4, 9, 9), (0.4, -9, 9))])
    if driver == "ao":
        snapshot, max_bounces = flat_snapshot(corner, [Material()], camera=STRAIGHT_DOWN), 1
    elif what == "light":
        snapshot, max_bounces = square_lamp_over(SMALL_FLOOR, Material()), 1
    else:
        point = PointLight(position=(0.5, 0.5, 2.0), intensity=(1.0, 1.0, 1.0))
        snapshot, max_bounces = flat_snapshot(corner, [Material()], lights=[point], camera=STRAIGHT_DOWN), 2
    settings = {"width": 32, "height": 24, "max_bounces": max_bounces, "radius": 1e-3, "photons": 100}
    for sampler in ("random", "sobol"):
        first, second = passes(snapshot, driver, 2, seed=3, sampler=sampler, **settings)[..., 0].reshape(2, -1)
        other = passes(snapshot, driver, 1, seed=4, sampler=sampler, **settings)[..., 0].ravel()
        for mate in (second, other) if sampler == "random" else (other,):  # Sobol's points keep apart over the passes
            assert abs(np.corrcoef(first, mate)[0, 1]) < 0.2  # chance alone keeps it within 0.036
        assert not np.array_equal(first, second)


def square_lamp_over(floor, material, *, emission=2.0, shift=(0.0, 0.0, 0.0), camera=STRAIGHT_DOWN):
    """A glowing unit square at height 1 over the middle of a floor, all moved by `shift`."""
    lamp = Material(diffuse=(0.0, 0.0, 0.0), emission=(emission, emission, emission))
    square = quad((0, 0, 1), (0, 1, 1), (1, 1, 1), (1, 0, 1))
    moved = np.concatenate([floor, square]) + np.array(shift, np.float32)
    eye = tuple((np.array(camera.eye) + shift).tolist())
    return flat_snapshot(moved, [material, lamp], material_ids=[0, 0, 1, 1], camera=replace(camera, eye=eye))


def mean_over_square(value):
    """Mean of value(squared distance to the place under its middle, at height 1) over a unit square."""
    x, y = np.meshgrid((np.arange(400) + 0.5) / 400 - 0.5, (np.arange(400) + 0.5) / 400 - 0.5)
    return float(np.mean(value(1.0 + x * x + y * y)))


@pytest.mark.parametrize("driver", ["path", "photon"])
@pytest.mark.parametrize("shift", [(0.0, 0.0, 0.0), (200.0, 0.0, 300.0)])
def test_a_lamp_with_size_is_not_in_its_own_shadow(driver, shift):
    """Rays start a bit off a surface, the more the larger its coordinates are, and still end short of the lamp."""
    snapshot = square_lamp_over(BIG_FLOOR, Material(diffuse=(0.5, 0.5, 0.5)), shift=shift)
    made = passes(snapshot, driver, 20, max_bounces=1, radius=1e-3, photons=100)
    expected = 0.5 * 2.0 * mean_over_square(lambda distance2: 1.0 / (math.pi * distance2**2))
    assert np.all(deviation(made.mean(axis=(1, 2)), expected * np.ones(3), 1e-4) < 4.0)


def test_the_glass_sphere_focuses_a_caustic():
    """Under a glass ball the floor is far brighter in the focus than with no ball there, and dark around it."""
    cornell = scenes.load("cornell").at_frame(0)
    glass = [i for i, material in enumerate(cornell.materials) if material.kind == "dielectric"]
    in_ball = np.isin(cornell.material_ids, glass)
    ball = cornell.positions[in_ball].astype(np.float64)
    low, high = ball.min(axis=(0, 1)), ball.max(axis=(0, 1))
    ball = (ball - (low + high) / 2.0) / ((high[0] - low[0]) / 2.0) + (0.0, 1.6, 0.0)  # radius 1, 0.6 over the floor
    floor = quad((-4, 0, -4), (-4, 0, 4), (4, 0, 4), (4, 0, -4))
    scene = flat_snapshot(
        np.concatenate([floor, ball]),
        [Material(diffuse=(0.8, 0.8, 0.8)), Material(kind="dielectric", ior=1.5, transmittance=1.0)],
        material_ids=np.repeat([0, 1], [2, len(ball)]),
        lights=[PointLight(position=(0.0, 8.0, 0.0), intensity=(50.0, 50.0, 50.0))],
        camera=Camera(eye=(0.0, 0.3, 0.0), forward=(0.0, -1.0, 0.0), up=(0.0, 0.0, 1.0), vertical_fov=150.0),
    )
    scene.normals[2:] = cornell.normals[in_ball]
    made = passes(scene, "photon", 4, width=64, height=64, photons=200_000, radius=0.05).mean(axis=0)[..., 0]
    y, x = np.mgrid[0:64, 0:64] - 31.5
    distance = np.hypot(x, y) / 32.0 * 0.3 * math.tan(math.radians(75.0))
    without_ball = 0.8 / math.pi * 50.0 / 64.0
    assert made[distance < 0.07].mean() > 20.0 * without_ball
    assert made[(distance > 0.8) & (distance < 1.0)].mean() < 0.15 * without_ball


@pytest.mark.parametrize("driver", sorted(DRIVERS))
def test_threads_and_batches_change_no_bit(driver):
    snapshot = scenes.load("cornell").at_frame(0)
    settings = {"width": 40, "height": 24, "photons": 5_000}
    expected = passes(snapshot, driver, 2, threads=1, **settings)
    for threads, batch_rays in ((3, 4096), (2, 256)):
        assert np.array_equal(passes(snapshot, driver, 2, threads=threads, batch_rays=batch_rays, **settings), expected)


GLOSSY = Material(kind="nff", diffuse=(0.3, 0.4, 0.3), specular=(0.4, 0.3, 0.4), exponent=20.0)


@pytest.mark.parametrize("driver", ["path", "photon", "gather"])
@pytest.mark.parametrize("material", [Material(diffuse=(0.5, 0.6, 0.7)), GLOSSY])
def test_a_bsdf_that_no_ray_meets_changes_no_bit(driver, material):
    """With two BSDFs rays are sorted, and those that go on are put aside; with one they stay where they are."""
    texture = Texture(name="two", pixels=np.array([[[255, 80, 200], [40, 255, 90]]], np.uint8))
    box = replace(inside_of_lamp_box(), materials=(material, replace(material, texture=0)), textures=(texture,))
    box = replace(box, material_ids=np.arange(12, dtype=np.int32) // 2 % 2)
    box.normals[6:9] += np.float32(0.2) * box.normals[:3]
    box.uvs[:] = box.positions[:, :, :2] + box.positions[:, :, 2:]
    behind = flat_snapshot(5.0 + closed_box()[:1], [Material(kind="metal", specular=(0.9, 0.8, 0.7), roughness=0.5)])
    joined = {name: np.concatenate([getattr(box, name), getattr(behind, name)]) for name in ("positions", "normals")}
    joined |= {"uvs": np.concatenate([box.uvs, behind.uvs]), "object_ids": np.zeros(13, np.int32)}
    ids = np.append(box.material_ids, np.int32(2))
    both = replace(box, **joined, materials=(*box.materials, *behind.materials), material_ids=ids)
    assert [len(pack_scene(snapshot).bsdfs.bsdfs) for snapshot in (box, both)] == [1, 2]
    settings = {"width": 40, "height": 24, "photons": 5_000, "radius": 0.1, "layers": "all", "batch_rays": 512}
    made = passes(box, driver, 2, **settings)
    assert made[..., :3].min() > 0.0
    assert np.array_equal(passes(both, driver, 2, **settings), made)


@pytest.mark.parametrize("driver", sorted(DRIVERS))
def test_a_seed_decides_the_picture(driver):
    snapshot = lamp_in_box()
    settings = {"photons": 2_000, "radius": 0.2}
    assert np.array_equal(
        passes(snapshot, driver, 1, seed=3, **settings), passes(snapshot, driver, 1, seed=3, **settings)
    )
    assert not np.array_equal(
        passes(snapshot, driver, 1, seed=3, **settings), passes(snapshot, driver, 1, seed=4, **settings)
    )


def test_the_picture_is_the_right_way_round():
    """Glowing squares right and above of the view have each a colour of their own."""
    red, green = Material(emission=(1.0, 0.0, 0.0)), Material(emission=(0.0, 1.0, 0.0))
    right = quad((5, -1, -10), (7, -1, -10), (7, 1, -10), (5, 1, -10))
    above = quad((-1, 5, -10), (1, 5, -10), (1, 7, -10), (-1, 7, -10))
    camera = Camera(eye=(0.0, 0.0, 0.0), forward=(0.0, 0.0, -1.0), up=(0.0, 1.0, 0.0), vertical_fov=90.0)
    snapshot = flat_snapshot(
        np.concatenate([right, above]), [red, green], material_ids=[0, 0, 1, 1], camera=camera, background=(0, 0, 0.25)
    )
    # 20 rows span 20 world units at depth 10, so a pixel is one unit.
    expected = np.zeros((20, 40, 3))
    expected[..., 2] = 0.25
    expected[9:11, 25:27] = (1.0, 0.0, 0.0)
    expected[3:5, 19:21] = (0.0, 1.0, 0.0)
    for image in passes(snapshot, "path", 4, width=40, height=20, max_bounces=1):
        assert np.array_equal(image, expected)


def test_the_backdrop_is_seen_in_mirrors_and_lights_nothing():
    floor = quad((-50, -50, 0), (50, -50, 0), (50, 50, 0), (-50, 50, 0))
    blue = (0.1, 0.2, 0.4)
    mirror = Material(kind="mirror", specular=(0.5, 0.5, 0.5))
    seen = passes(flat_snapshot(floor, [mirror], camera=LOOK_DOWN, background=blue), "path", 1)
    np.testing.assert_allclose(seen[0], np.broadcast_to(0.5 * np.array(blue), seen[0].shape), rtol=1e-12)
    specular_lobe = Material(kind="nff", diffuse=(0.2, 0.2, 0.2), specular=(0.5, 0.5, 0.5), exponent=0.0)
    for matt in (Material(), specular_lobe):
        for driver in ("path", "photon"):
            dark = passes(flat_snapshot(floor, [matt], camera=LOOK_DOWN, background=blue), driver, 2, radius=0.1)
            assert not dark.any()
    # Nor by way of a mirror that a matt floor faces.
    scene = floor_and_ceiling(materials=[Material(), mirror])
    facing = flat_snapshot(
        scene.positions, scene.materials, material_ids=scene.material_ids, camera=LOOK_DOWN, background=blue
    )
    assert not passes(facing, "path", 4).any()


@pytest.mark.parametrize("driver", sorted(set(DRIVERS) - {"ao"}))
def test_an_eye_in_glass_sees_the_square_of_the_index(driver):
    """Radiance over the square of the index is kept, and what does not leave at first is reflected until it does."""
    glass = Material(kind="dielectric", ior=1.5, transmittance=1.0)
    narrow = Camera(eye=(0.4, 0.5, 0.6), forward=(1.0, 0.0, 0.0), up=(0.0, 1.0, 0.0), vertical_fov=5.0)
    blue = np.array([0.1, 0.2, 0.4])
    snapshot = flat_snapshot(closed_box()[:, ::-1], [glass], camera=narrow, background=tuple(blue.tolist()))
    made = passes(snapshot, driver, 2, radius=0.1)
    np.testing.assert_allclose(made, np.broadcast_to(1.5**2 * blue, made.shape), rtol=1e-6)


@pytest.mark.parametrize("driver", ["photon", "photons-only"])
def test_photons_are_seen_in_a_mirror_at_its_share(driver):
    """The same place of a lit floor, seen straight and in a grey mirror overhead."""
    lamp = PointLight(position=(0.4, 0.4, 0.5), intensity=(1.0, 1.0, 1.0))
    mirror = Material(kind="mirror", specular=(1.0, 0.5, 0.25))
    scene = floor_and_ceiling(materials=[Material(), mirror], lights=[lamp])
    seen = []
    for z in (-1.0, 1.0):
        camera = Camera(eye=(0.5, 0.5, 0.5), forward=(0.0, 0.0, z), up=(0.0, 1.0, 0.0), vertical_fov=NARROW)
        seen.append(passes(replace(scene, camera=camera), driver, 1, radius=0.2).mean(axis=(0, 1, 2)))
    np.testing.assert_allclose(seen[1], seen[0] * mirror.specular, rtol=5e-3)


def bent_floor(*, tilt, camera=STRAIGHT_DOWN, below=None, lights=()):
    """A wide floor whose shading normals lean by `tilt` degrees towards +x, over a plane of the material `below`."""
    positions, materials, ids = BIG_FLOOR, [Material(diffuse=(0.5, 0.5, 0.5))], [0, 0]
    if below is not None:
        positions = np.concatenate([BIG_FLOOR, BIG_FLOOR - np.array([0.0, 0.0, 1.0], np.float32)])
        materials, ids = [*materials, below], [0, 0, 1, 1]
    snapshot = flat_snapshot(positions, materials, material_ids=ids, camera=camera, lights=lights)
    snapshot.normals[:2] = (math.sin(math.radians(tilt)), 0.0, math.cos(math.radians(tilt)))
    return snapshot


@pytest.mark.parametrize(("driver", "tolerance"), [("path", 1e-4), ("photon", 1e-4), ("photons-only", 0.1)])
def test_light_falls_on_a_floor_by_its_bent_normal(driver, tolerance):
    lamp = PointLight(position=(0.5, 0.5, 0.5), intensity=(1.0, 1.0, 1.0))
    low = Camera(eye=(0.5, 0.5, 0.2), forward=(0.0, 0.0, -1.0), up=(0.0, 1.0, 0.0), vertical_fov=NARROW)
    made = passes(bent_floor(tilt=60.0, lights=[lamp], camera=low), driver, 1, radius=0.08, photons=100_000)
    expected = 0.5 / math.pi / 0.25 * math.cos(math.radians(60.0))
    np.testing.assert_allclose(made, np.full(made.shape, expected), rtol=tolerance)


@pytest.mark.parametrize("driver", ["path", "photon", "photons-only"])
def test_no_light_comes_through_a_floor_with_a_bent_normal(driver):
    glowing = Material(diffuse=(0.0, 0.0, 0.0), emission=(1.0, 1.0, 1.0))
    assert not passes(bent_floor(tilt=60.0, below=glowing), driver, 4, radius=0.1).any()
    under = PointLight(position=(5.0, 0.5, -0.5), intensity=(1.0, 1.0, 1.0))
    assert not passes(bent_floor(tilt=60.0, lights=[under]), driver, 4, radius=0.1).any()


def test_occlusion_ends_at_the_flat_side_of_a_bent_normal():
    made = passes(bent_floor(tilt=60.0), "ao", 24)
    # A cosine lobe that leans by an angle has (1 + cos) / 2 of it over the floor.
    assert np.all(deviation(made.mean(axis=(1, 2)), 0.75 * np.ones(3)) < 4.0)


def test_occlusion_reaches_a_fifth_of_the_diagonal():
    """Of a unit cube that is 0.346: a ceiling 0.3 over a floor hides what is within the cone up to there."""
    box = closed_box()
    ceiling = quad((0.05, 0.05, 0.3), (0.05, 0.95, 0.3), (0.95, 0.95, 0.3), (0.95, 0.05, 0.3))
    camera = Camera(eye=(0.5, 0.5, 0.1), forward=(0.0, 0.0, -1.0), up=(0.0, 1.0, 0.0), vertical_fov=NARROW)
    made = passes(flat_snapshot(np.concatenate([box, ceiling]), [Material()], camera=camera), "ao", 40)
    free = (0.3 / (0.2 * math.sqrt(3.0))) ** 2
    assert np.all(deviation(made.mean(axis=(1, 2)), free * np.ones(3), 1e-3) < 4.0)


def test_a_painted_view_is_seen_and_lights_nothing():
    view = Material(diffuse=(0.0, 0.0, 0.0), backdrop=(0.3, 0.6, 0.9))
    mirror = Material(kind="mirror", specular=(1.0, 0.5, 0.25))
    for floor, reflected in ((mirror, (0.3, 0.3, 0.225)), (Material(), (0.0, 0.0, 0.0))):
        snapshot = floor_and_ceiling(materials=[floor, view])
        seen = flat_snapshot(
            snapshot.positions, snapshot.materials, material_ids=snapshot.material_ids, camera=STRAIGHT_DOWN
        )
        for driver in ("path", "photon"):
            made = passes(seen, driver, 2, radius=0.1)
            np.testing.assert_allclose(made, np.broadcast_to(reflected, made.shape))
    above = Camera(eye=(0.5, 0.5, 0.1), forward=(0.0, 0.0, 1.0), up=(0.0, 1.0, 0.0), vertical_fov=1.0)
    seen = flat_snapshot(snapshot.positions, snapshot.materials, material_ids=snapshot.material_ids, camera=above)
    np.testing.assert_allclose(passes(seen, "path", 1)[0, 0, 0], (0.3, 0.6, 0.9))


@pytest.mark.parametrize("driver", ["path", "photon", "whitted"])
def test_the_ambient_term_is_added_to_what_is_seen_and_lights_nothing(driver):
    ambient = (0.25, 0.5, 0.125)
    grey = Material(kind="nff", diffuse=(0.5, 0.5, 0.5), ambient=ambient)
    mirror = Material(kind="mirror", specular=(1.0, 0.5, 0.25))
    lamp = PointLight(position=(0.5, 0.5, 0.5), intensity=(1.0, 1.0, 1.0))
    for floor, added in ((grey, ambient), (mirror, (0.25, 0.25, 0.03125)), (Material(), (0.0, 0.0, 0.0))):
        room = floor_and_ceiling(materials=[floor, grey])
        seen = flat_snapshot(
            room.positions, room.materials, material_ids=room.material_ids, camera=STRAIGHT_DOWN, lights=[lamp]
        )
        without, literal = (
            passes(SceneView(ambient=chosen).seen(seen), driver, 2, radius=0.1) for chosen in ("none", "literal")
        )
        assert without.any()
        np.testing.assert_allclose(literal - without, np.broadcast_to(added, without.shape), rtol=1e-6, atol=1e-9)
        assert np.array_equal(without, passes(SceneView(ambient="auto").seen(seen), driver, 2, radius=0.1))


def test_nothing_nearer_than_the_near_distance_is_seen():
    near = Camera(eye=(0.5, 0.5, 0.5), forward=(1.0, 0.0, 0.0), up=(0.0, 1.0, 0.0), vertical_fov=60.0, near=5.0)
    snapshot = flat_snapshot(closed_box(), [Material(emission=(1.0, 1.0, 1.0))], camera=near)
    assert not passes(snapshot, "path", 1).any()


def test_occlusion_of_an_open_floor_and_of_a_closed_box():
    floor = quad((-1, -1, 0), (1, -1, 0), (1, 1, 0), (-1, 1, 0))
    assert np.all(passes(flat_snapshot(floor, [Material()], camera=LOOK_DOWN), "ao", 2) == 1.0)
    away = replace(LOOK_DOWN, forward=(0.0, 0.0, 1.0))
    assert np.all(passes(flat_snapshot(floor, [Material()], camera=away), "ao", 2) == 1.0)
    # In a unit cube all directions meet a wall, but a fifth of the diagonal reaches few of them from a face's middle.
    camera = Camera(eye=(0.5, 0.5, 0.5), forward=(0.0, 0.0, -1.0), up=(0.0, 1.0, 0.0), vertical_fov=1e-3)
    assert np.all(passes(flat_snapshot(closed_box(), [Material()], camera=camera), "ao", 2) == 1.0)
    wide = passes(flat_snapshot(closed_box(), [Material()]), "ao", 8)
    assert 0.5 < wide.mean() < 0.95


def test_the_radius_shrinks_as_published():
    """Knaus and Zwicker have r_n^2 / r_1^2 = 1/n (1 + alpha) (1 + alpha / 2) ... (1 + alpha / (n - 1)). This ratio of
    gamma functions falls as n^-1/3 with alpha = 2/3. The first step tells where they begin to count."""
    assert pass_radius(0.5, 0) == 0.5
    assert pass_radius(1.0, 1) ** 2 == pytest.approx(5.0 / 6.0, rel=1e-12)
    for n in (2, 3, 17, 400):
        logarithm = math.lgamma(n + 2.0 / 3.0) - math.lgamma(5.0 / 3.0) - math.lgamma(n + 1.0)
        assert pass_radius(1.0, n - 1) ** 2 == pytest.approx(math.exp(logarithm), rel=1e-12)
    assert (pass_radius(1.0, 8000) / pass_radius(1.0, 1000)) ** 2 == pytest.approx(0.5, rel=1e-3)


def test_noise_and_bias_of_the_mean_fall_as_published():
    """The variance of a pass grows with 1 / r^2 and its bias with r^2. In the mean of n passes the one falls as
    n^-alpha and the other as n^(alpha - 1): 27 times as many passes leave 1/9 and 1/3."""
    area = np.array([pass_radius(1.0, i) ** 2 for i in range(2700)])
    variance, bias = [(1.0 / area[:n]).sum() / n**2 for n in (100, 2700)], [area[:n].mean() for n in (100, 2700)]
    assert variance[1] / variance[0] == pytest.approx(1.0 / 9.0, rel=0.05)
    assert bias[1] / bias[0] == pytest.approx(1.0 / 3.0, rel=0.05)


def test_the_first_radius_is_two_pixels_wide():
    floor = quad((-50, -50, 0), (50, -50, 0), (50, 50, 0), (-50, 50, 0))
    camera = Camera(eye=(0.0, 0.0, 3.0), forward=(0.0, 0.0, -1.0), up=(0.0, 1.0, 0.0), vertical_fov=90.0)
    with tracecore.open_tracer(floor, device="cpu", threads=1) as tracer:
        radius = footprint_radius(tracer, pack_camera(camera, 200, 100), 100)
    assert radius == pytest.approx(2.0 * 6.0 / 100, rel=1e-5)


def test_the_first_radius_is_of_the_median_depth_beyond_the_near_distance():
    """A table fills a bit more than half of a view of a floor far below, with a speck close to the eye."""
    floor, table = BIG_FLOOR, quad((-20, -20, 8), (1, -20, 8), (1, 20, 8), (-20, 20, 8))
    speck = quad((-1, -1, 9.9), (1, -1, 9.9), (1, 1, 9.9), (-1, 1, 9.9))
    for near, depth in ((0.2, 2.0), (5.0, 10.0), (20.0, 1.0)):
        camera = Camera(eye=(0, 0, 10), forward=(0, 0, -1), up=(0, 1, 0), vertical_fov=90.0, near=near)
        with tracecore.open_tracer(np.concatenate([floor, table, speck]), device="cpu", threads=1) as tracer:
            radius = footprint_radius(tracer, pack_camera(camera, 200, 100), 100)
        assert radius == pytest.approx(2.0 * 2.0 * depth / 100, rel=1e-5)


def test_no_ray_is_sent_to_a_lamp_behind_the_surface():
    lamp = PointLight(position=(0.5, 0.5, -1.0), intensity=(1.0, 1.0, 1.0))
    with opened(flat_snapshot(BIG_FLOOR, [Material()], lights=[lamp], camera=LOOK_DOWN), "path") as made:
        assert not made.render_pass(0).any()
        assert made.work.rays.shadow == 0


@pytest.mark.parametrize("driver", ["photon", "photons-only", "sppm", "gather", "path+caustics"])
def test_without_a_light_no_photon_is_traced(driver):
    with opened(flat_snapshot(closed_box(), [Material()]), driver) as made:
        assert not made.render_pass(0).any()
        assert made.work.photons == PhotonCounts()
        assert made.work.rays.photon == 0


def test_the_first_radius_is_wide_enough_for_two_photons():
    assert surface_area(closed_box()) == pytest.approx(6.0)
    assert math.pi * photon_radius(6.0, 1000) ** 2 / 6.0 * 1000 == pytest.approx(2.0)
    snapshot = lamp_in_box()
    with tracecore.open_tracer(snapshot.positions, device="cpu", threads=1) as tracer:
        for photons, chosen in ((10, None), (10**9, None), (10, 0.25)):
            settings = RenderSettings(width=20, height=10, photons=photons, radius=chosen, threads=1)
            driver = DRIVERS["photon"](snapshot, tracer, settings)
            pixels = footprint_radius(tracer, driver.camera, 10)
            assert driver.first_radius == (chosen or max(pixels, photon_radius(6.0, photons)))
            assert driver.settings.radius == driver.first_radius
            driver.close()


@pytest.mark.parametrize(
    ("driver", "expected"),
    [
        # In a closed diffuse box with a lamp every ray lands and every landing sends a shadow ray. Of 192 pixels ...
        ("path", RayCounts(camera=2 * 192, bounce=2 * 2 * 192, shadow=3 * 2 * 192)),
        ("photon", RayCounts(camera=2 * 192, shadow=2 * 192)),
        ("sppm", RayCounts(camera=2 * 192, shadow=2 * 192)),
        ("path+caustics", RayCounts(camera=2 * 192, bounce=2 * 2 * 192, shadow=3 * 2 * 192)),
        ("whitted", RayCounts(camera=2 * 192, shadow=2 * 192)),
        ("photons-only", RayCounts(camera=2 * 192)),
        ("ao", RayCounts(camera=2 * 192, shadow=2 * 192)),
    ],
)
def test_rays_are_counted_by_purpose(driver, expected):
    with opened(lamp_in_box(), driver, photons=1000, max_bounces=3, radius=0.1) as made:
        pilot = made.tracer.statistics().rays  # no part of the picture
        for i in range(2):
            made.render_pass(i)
        rays, photons = made.work.rays, made.work.photons
        assert (rays.camera, rays.shadow, rays.bounce) == (expected.camera, expected.shadow, expected.bounce)
        assert photons.emitted == {"photon": 2000, "sppm": 2000, "photons-only": 1000}.get(driver, 0)
        assert photons.emitted == photons.absorbed + photons.terminated
        direct = 0 if driver == "photons-only" else photons.emitted  # not stored
        assert rays.photon == photons.stored + direct
        assert made.tracer.statistics().rays - pilot == rays.total


def test_seconds_of_tracing_are_those_of_the_pool():
    with opened(lamp_in_box(), "path", max_bounces=1) as made:
        made.render_pass(0)
        work, counters = made.work, made._pool.counters()
        assert work.trace_seconds == counters["trace_seconds"] > 0.0
        assert (work.wait_seconds, work.bytes_up, work.bytes_down) == (0.0, 32 * work.rays.total, 16 * work.rays.total)
        assert work.shade_seconds == counters["shade_seconds"] > 0.0


def test_what_threads_do_adds_up_to_their_time(monkeypatch):
    """Maps are made slow, so that the time for them shows."""
    built = pass_photons.sorted_map
    monkeypatch.setattr(pass_photons, "sorted_map", lambda *arguments: (time.sleep(0.01), built(*arguments))[1])
    with opened(lamp_in_box(), "photon", photons=100, max_bounces=1, radius=0.1, threads=2) as made:
        for i in range(3):
            made.render_pass(i)
        work, everything = made.work, np.mean([worker.task_seconds for worker in made._pool.workers])
        assert work.map_seconds >= 3 * 0.01 / 2
        assert work.idle_seconds > 0.0  # only one of the two makes the map
        done = work.trace_seconds + work.shade_seconds + work.map_seconds + work.idle_seconds + work.python_seconds
        assert done == pytest.approx(everything)


def test_passes_under_way_are_no_more_than_memory_allows(monkeypatch):
    """What passes take is guessed before the first, and known from then on."""
    with opened(lamp_in_box(), "photon", photons=1000, max_bounces=3, radius=0.1, threads=3) as made:
        before = made.bytes_of_pass()
        assert made.room == 3
        made.render_pass(0)
        known = made.bytes_of_pass()
        assert known - driver_module.MAP_BYTES * made.work.photons.stored == before - driver_module.MAP_BYTES * 4000
        for passes, room in ((0.5, 0), (1.5, 1), (2.5, 2), (9.0, 3)):
            monkeypatch.setattr(driver_module, "memory_for_passes", lambda passes=passes: passes * known)
            assert made.room == room


def test_members_make_parts_of_a_pass_with_the_bits_of_the_whole(monkeypatch):
    """They trace photons range by range, build one map, and look up in it in the way of a driver of the user's own."""

    class Dimmed(DRIVERS["photon"]):
        def trace_pass(self, index, site):
            return 0.5 * super().trace_pass(index, site)

    monkeypatch.setitem(DRIVERS, "dimmed", Dimmed)
    few = {"photons": 10_000, "radius": 0.1, "width": 64, "height": 32}
    with opened(lamp_in_box(), "photon", **few) as bright, opened(lamp_in_box(), "dimmed", **few) as made:
        whole = 0.5 * bright.render_pass(2)
        assert np.array_equal(made.render_pass(2), whole)
        ranges = [PhotonShare(2, each) for each in ranges_of(range(10_000), 2)]
        traced = tuple(one.values for one in made_shares(made, iter([*ranges])))
        (maps,) = made_shares(made, iter([MapShare(2, Common(traced))]))
        parts = [Share(2, part, 2, given=Common(maps.values)) for part in range(2)]
        image = np.zeros((64 * 32, whole.shape[2]))
        for share, part in zip(parts, made_shares(made, iter([*parts])), strict=True):
            assert part.work.rays.photon == 0
            image[part_of(made.pixels, share)] = part.values
    assert np.array_equal(image.reshape(whole.shape), whole)


def test_rays_are_counted_once_whoever_joins():
    """A worker's counts of one pass are not those of the next one, which it may begin before the first is summed up."""
    counts = set()
    for threads in (1, 3):
        with opened(lamp_in_box(), "path", max_bounces=3, threads=threads) as made:
            for _ in made.passes(iter(range(12))):
                pass
            counts.add((made.work.rays.camera, made.work.rays.shadow, made.work.rays.bounce))
    assert len(counts) == 1


def test_photons_suit_the_picture_unless_their_number_is_given():
    for size, expected in (((20, 10), 400), ((8000, 5000), 10_000_000)):
        assert driver_module.photons_of_a_pass(RenderSettings(width=size[0], height=size[1])) == expected
    for photons, expected in ((None, 2 * 16 * 12), (7, 7)):
        with opened(lamp_in_box(), "photon", photons=photons) as made:
            assert made.settings.photons == expected
            made.render_pass(0)
            assert made.work.photons.emitted == expected


def test_occlusion_in_the_corner_of_two_walls_is_a_half():
    walls = np.concatenate(
        [quad((0, 0, 0), (9, 0, 0), (9, 9, 0), (0, 9, 0)), quad((0, 0, 0), (0, 9, 0), (0, 9, 9), (0, 0, 9))]
    )
    camera = Camera(eye=(1e-3, 4.5, 1.0), forward=(0.0, 0.0, -1.0), up=(0.0, 1.0, 0.0), vertical_fov=1e-4)
    made = passes(flat_snapshot(walls, [Material()], camera=camera), "ao", 40)
    assert np.all(deviation(made.mean(axis=(1, 2)), 0.5 * np.ones(3), 2e-3) < 4.0)


def test_eight_shadow_rays_are_independent():
    """Light from eight lamps at one place varies by an eighth of what one lamp as bright as all varies by."""
    lamp = quad((0, 0, 1), (0, 1, 1), (1, 1, 1), (1, 0, 1))[:1]
    variances = []
    for count in (1, 8):
        glowing = Material(diffuse=(0.0, 0.0, 0.0), emission=(8.0 / count, 8.0 / count, 8.0 / count))
        snapshot = flat_snapshot(
            np.concatenate([BIG_FLOOR, np.repeat(lamp, count, axis=0)]),
            [Material(diffuse=(0.5, 0.5, 0.5)), glowing],
            material_ids=np.repeat([0, 1], [2, count]),
            camera=STRAIGHT_DOWN,
        )
        variances.append(passes(snapshot, "path", 10, max_bounces=1)[..., 0].var())
    assert 0.7 < 8.0 * variances[1] / variances[0] < 1.4
