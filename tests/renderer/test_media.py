"""What is inside of solids takes light on every way through it, whatever the way ends on."""

import math
from dataclasses import replace

import numpy as np
import pytest
from driver_passes import passes
from small_scenes import flat_snapshot, quad, sphere

from renderer.scene.media import entered, left, stacks_at
from renderer.scene.packed_scene import pack_scene
from scenes.lights import DistantLight, PointLight
from scenes.model import Camera, Material

BLACK = (0.0, 0.0, 0.0)
#: What is absorbed in a metre, and half as much.
AMBER, PALE = np.array([0.2, 0.7, 1.5]), np.array([0.1, 0.35, 0.75])
GLOWING, GREY = Material(diffuse=BLACK, emission=(1.0, 1.0, 1.0)), Material(diffuse=(0.5, 0.5, 0.5))
NOON = DistantLight(direction=(0.0, 0.0, -1.0), irradiance=(math.pi,) * 3, angular_radius=0.0)
SEEING = ["path", "photon", "sppm", "gather", "path+caustics", "photons-only", "whitted"]


def solid(absorption=BLACK, ior=1.0, priority=0):
    """What lets all light through but what it absorbs."""
    red, green, blue = map(float, absorption)
    return Material(kind="dielectric", transmittance=1.0, ior=ior, absorption=(red, green, blue), priority=priority)


def block(low, high, half=1.0):
    """A block between two heights whose normals point outside: (12, 3, 3)."""
    a, b, c, d = ((x, y, low) for x, y in ((-half, -half), (half, -half), (half, half), (-half, half)))
    e, f, g, h = ((x, y, high) for x, y, _ in (a, b, c, d))
    faces = [(a, d, c, b), (e, f, g, h), (a, b, f, e), (b, c, g, f), (c, d, h, g), (d, a, e, h)]
    return np.concatenate([quad(*face) for face in faces])


def plate(height, half=0.2):
    """A plate whose front looks up: (2, 3, 3)."""
    corners = [(x, y, height) for x, y in ((-half, -half), (half, -half), (half, half), (-half, half))]
    return quad(*corners)


def from_height(height, width=0.1):
    """A camera at a height that looks straight down at a square of some width."""
    return Camera(
        eye=(0.03, 0.02, height), forward=(0.0, 0.0, -1.0), up=(0.0, 1.0, 0.0), vertical_fov=60.0, height=width
    )


def scene(*parts, **more):
    """A snapshot of parts, (positions, material) each."""
    ids = np.repeat(np.arange(len(parts)), [len(positions) for positions, _ in parts])
    positions, materials = np.concatenate([part[0] for part in parts]), [part[1] for part in parts]
    return flat_snapshot(positions, materials, material_ids=ids, **({"camera": from_height(2.0)} | more))


def made_by(snapshot, driver, count=1, **settings):
    """(3,) mean over all pixels of some passes."""
    usual = {"width": 8, "height": 8, "photons": 2000, "radius": 0.02}
    return passes(snapshot, driver, count, **(usual | settings)).mean(axis=(0, 1, 2))


def let_in(index):
    """What a border lets through straight on, radiance as it is squeezed there."""
    return (1.0 - ((index - 1.0) / (index + 1.0)) ** 2) / index**2


@pytest.mark.parametrize("driver", SEEING)
def test_the_eye_sees_what_shines_inside_dimmed_by_the_way_to_it(driver):
    shining = scene((plate(0.5), GLOWING), (block(0.0, 1.0), solid(AMBER)))
    np.testing.assert_allclose(made_by(shining, driver), np.exp(-0.5 * AMBER), rtol=1e-4)
    inside = replace(shining, camera=from_height(0.8))
    np.testing.assert_allclose(made_by(inside, driver), np.exp(-0.3 * AMBER), rtol=1e-4)


def test_glass_dims_and_squeezes_what_shines_inside():
    shining = scene((plate(0.5), GLOWING), (block(0.0, 1.0), solid(AMBER, 1.33)))
    made = made_by(shining, "path", 16, width=16, height=16)
    np.testing.assert_allclose(made, let_in(1.33) * np.exp(-0.5 * AMBER), rtol=0.01)


@pytest.mark.parametrize("driver", ["path", "photon", "sppm", "gather", "path+caustics", "whitted"])
def test_shadow_rays_are_dimmed_over_their_whole_length(driver):
    lit = scene((plate(0.5), GREY), (block(0.0, 1.0), solid(AMBER)), lights=[NOON])
    np.testing.assert_allclose(made_by(lit, driver), 0.5 * np.exp(-AMBER), rtol=1e-4)
    lamp = PointLight(position=(0.03, 0.02, 1.5), intensity=(math.pi,) * 3)
    narrow = from_height(2.0, 1e-4)
    lit = scene((plate(0.5), GREY), (block(0.0, 1.0), solid(AMBER)), lights=[lamp], camera=narrow)
    np.testing.assert_allclose(made_by(lit, driver), 0.5 * np.exp(-AMBER), rtol=1e-3)


@pytest.mark.parametrize(("ior", "share"), [(1.0, 1.0), (1.33, let_in(1.33) * let_in(1.33) * 1.33**2)])
def test_photons_are_dimmed_on_their_way_to_what_is_inside(ior, share):
    lit = scene((plate(0.5), GREY), (block(0.0, 1.0), solid(AMBER, ior)), lights=[NOON])
    made = made_by(lit, "photons-only", photons=400_000, radius=0.08)
    np.testing.assert_allclose(made, 0.5 * share * np.exp(-AMBER), rtol=0.05)


@pytest.mark.parametrize("lights", [1, 2])
@pytest.mark.parametrize(("driver", "tolerance"), [("whitted", 1e-3), ("photons-only", 0.05)])
def test_a_lamp_inside_shines_through_what_is_there(driver, tolerance, lights):
    """It may be the only one, or one beside the sun, which is outside."""
    lamp = PointLight(position=(0.03, 0.02, 0.9), intensity=(math.pi,) * 3)
    parts = [(plate(0.4), GREY), (block(0.0, 1.0), solid(AMBER))]
    lit = scene(*parts, lights=[lamp, NOON][:lights], camera=from_height(0.8, 1e-4))
    made = made_by(lit, driver, photons=400_000, radius=0.05)
    arriving = [np.exp(-0.5 * AMBER) / 0.5**2, np.exp(-0.6 * AMBER)]
    np.testing.assert_allclose(made, 0.5 * sum(arriving[:lights]) * np.exp(-0.4 * AMBER), rtol=tolerance)


@pytest.mark.parametrize(
    ("amber", "pale", "down", "up"),
    [(0, 0, AMBER, PALE), (1, 0, AMBER, AMBER), (0, 1, PALE, PALE)],
    ids=["the one entered last", "the amber", "the pale"],
)
def test_where_solids_overlap_one_is_there(amber, pale, down, up):
    """From above a ray comes to the pale one first, from below to the amber one."""
    parts = [
        (plate(-0.2), GLOWING),
        (block(0.0, 1.0), solid(AMBER, 1.0, amber)),
        (block(0.5, 1.5), solid(PALE, 1.0, pale)),
    ]
    seen = np.exp(-0.5 * (PALE + down + AMBER))
    np.testing.assert_allclose(made_by(scene(*parts), "path"), seen, rtol=1e-4)
    lit = scene((plate(-0.2), GREY), *parts[1:], lights=[NOON])
    np.testing.assert_allclose(made_by(lit, "whitted"), 0.5 * seen * np.exp(-0.5 * (PALE + up + AMBER)), rtol=1e-4)


def test_a_border_bends_by_the_indices_of_both_sides():
    """The eye is in water and sees what shines in a block of glass there."""
    glass = (block(0.0, 0.6, 0.5), solid(ior=1.5))
    shining = scene((plate(0.5), GLOWING), glass, (block(-1.0, 1.0), solid(ior=1.33, absorption=AMBER)))
    inside = replace(shining, camera=from_height(0.8))
    made = made_by(inside, "path", 16, width=16, height=16)
    np.testing.assert_allclose(made, let_in(1.5 / 1.33) * np.exp(-0.2 * AMBER), rtol=0.01)


def test_a_bubble_in_water_bends_light():
    """It has the index of empty space, but stands in water: shadow rays do not come straight through its border."""
    bubble = (block(0.0, 0.6, 0.5), solid(priority=1))
    water = (block(-1.0, 1.0), solid(ior=1.33, absorption=AMBER))
    shining = scene((plate(0.5), GLOWING), bubble, water, camera=from_height(0.8))
    made = made_by(shining, "path", 16, width=16, height=16)
    np.testing.assert_allclose(made, let_in(1.0 / 1.33) * np.exp(-0.2 * AMBER), rtol=0.01)
    lamp = PointLight(position=(0.03, 0.02, 0.9), intensity=(math.pi,) * 3)
    lit = scene((plate(0.5), GREY), bubble, water, camera=from_height(0.8, 1e-4), lights=[lamp])
    assert made_by(lit, "whitted").max() == 0.0 < made_by(lit, "photons-only", photons=100_000).min()


@pytest.mark.parametrize(("eye", "lamp", "way"), [(1.5, 0.7, 0.3), (0.6, 1.5, 0.4), (0.6, 0.7, 0.4 + 0.3)])
def test_shadow_rays_from_rough_glass_are_in_the_medium_on_their_side(eye, lamp, way):
    """Its upper border, at height 1, is seen from outside or inside, and reflects a lamp or lets its light through."""
    camera = from_height(eye, 1e-4)
    camera = camera if eye > 1.0 else replace(camera, forward=(0.0, 0.0, 1.0))
    lights = [PointLight(position=(0.03, 0.02, lamp), intensity=(math.pi,) * 3)]
    absorbing, clear = (
        made_by(
            scene((block(0.0, 1.0), replace(solid(absorption, 1.5), roughness=0.5)), camera=camera, lights=lights),
            "whitted",
        )
        for absorption in (AMBER, 1e-9 * AMBER)
    )
    np.testing.assert_allclose(absorbing, clear * np.exp(-way * AMBER), rtol=1e-3)


def test_a_solid_of_lower_priority_is_not_there_inside_of_another():
    hidden = (block(0.3, 0.6, 0.5), solid(PALE, ior=1.5))
    seen = scene((plate(-0.2), GLOWING), hidden, (block(0.0, 1.0), solid(AMBER, priority=1)))
    np.testing.assert_allclose(made_by(seen, "path"), np.exp(-AMBER), rtol=1e-4)


@pytest.mark.parametrize("driver", ["path", "photon"])
def test_media_depend_on_no_thread_and_no_size_of_batch(driver):
    glass = (block(0.2, 0.6, 0.4), solid(PALE, 1.5))
    sun = replace(NOON, angular_radius=30.0)
    lit = scene((plate(0.1), GREY), glass, (block(0.0, 1.0), solid(AMBER, 1.33)), lights=[sun])
    first, other = (passes(lit, driver, 2, threads=threads, batch_rays=rays) for threads, rays in ((1, 4096), (2, 256)))
    assert first.max() > 0.0
    np.testing.assert_array_equal(first, other)


def test_a_stack_forgets_the_first_of_five_media():
    stack = np.uint32(0)
    for medium in (1, 2, 3, 2, 5):
        stack = np.uint32(entered(stack, np.int32(medium)))  # type: ignore[arg-type]
    assert stack == 0x02030205
    assert [left(stack, np.int32(medium)) for medium in (5, 2, 3, 1)] == [0x020302, 0x020305, 0x020205, 0x02030205]  # type: ignore[arg-type]
    assert left(np.uint32(0x02030405), np.int32(2)) == 0x030405  # type: ignore[arg-type]


def test_points_know_which_solids_they_are_in():
    """In balls of media 1 and 2, of which the second one is wound the other way round."""
    centers, radii = np.array([[0.0, 0.0, 0.0], [0.5, 0.2, 0.1]]), (1.0, 0.4)
    balls = scene(*((sphere(centers[k], radii[k], 4), solid(AMBER)) for k in (0, 1)))
    balls.positions[balls.material_ids == 1] = balls.positions[balls.material_ids == 1][:, ::-1]
    points = np.random.default_rng(0).uniform(-1.1, 1.1, (400, 3))
    inside = np.linalg.norm(points[:, None] - centers, axis=2) < np.array(radii) - 0.01
    outside = np.linalg.norm(points[:, None] - centers, axis=2) > np.array(radii)
    is_clear = (inside | outside).all(axis=1)
    stacks = stacks_at(points, pack_scene(balls).surfaces, np.array([1, 2], np.int32))
    found = [[medium in divmod(int(stack), 256) for medium in (1, 2)] for stack in stacks]
    assert inside.any(axis=0).all()
    assert (np.array(found) == inside)[is_clear].all()
    in_both = inside.all(axis=1) & (np.linalg.norm(points, axis=1) < 0.8)
    assert set(stacks[in_both]) == {0x0102}  # the inner one is on top


def test_a_bubble_with_a_priority_is_empty():
    parts = [(plate(-0.2), GLOWING), (block(0.0, 1.0), solid(AMBER))]
    bubble = (block(0.4, 0.7, 0.5), solid(priority=1))
    np.testing.assert_allclose(made_by(scene(*parts, bubble), "path"), np.exp(-0.7 * AMBER), rtol=1e-4)
    sheets = (bubble[0], solid())
    np.testing.assert_allclose(made_by(scene(*parts, sheets), "path"), np.exp(-AMBER), rtol=1e-4)


def test_endless_absorption_leaves_nothing():
    """Below an endless surface of water the eye looks down."""
    red_left = solid((0.0, 0.7, 1.5), 1.33)
    seen = scene((plate(1.0, half=100.0), red_left), camera=from_height(0.5), background=(0.2, 0.3, 0.4))
    np.testing.assert_allclose(made_by(seen, "path"), (0.2, 0.0, 0.0), rtol=1e-6)
