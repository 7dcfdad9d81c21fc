"""Light comes straight through sheets that bend none of it, dimmed by each, whatever driver looks for it."""

import math
from dataclasses import replace

import numpy as np
import pytest
from driver_passes import independent_pictures, opened, passes, sidak_bound, z_scores
from small_scenes import flat_snapshot, quad

from renderer.drivers import DRIVERS
from scenes.lights import DistantLight, PointLight
from scenes.model import Camera, Material, Texture

GREY = Material(diffuse=(0.5, 0.4, 0.3))
GLOSSY = Material(kind="nff", diffuse=(0.2, 0.2, 0.2), specular=(0.5, 0.5, 0.5), exponent=20.0)
#: The shares that sheets let through, and their indices: those of AFF files that bend nothing are 0.
SHARES, INDICES = (0.8, 0.5, 0.9), (0.0, 1.0, 1.0)
DIMMED = math.prod(SHARES)
BULB = PointLight(position=(0.5, 0.5, 1.0), intensity=(2.0, 3.0, 4.0))
SUN = DistantLight(direction=(0.0, 0.6, -0.8), irradiance=(2.0, 3.0, 4.0), angular_radius=5.0)
#: It looks straight down on the floor.
ABOVE = Camera(eye=(0.5, 0.5, 0.2), forward=(0.0, 0.0, -1.0), up=(0.0, 1.0, 0.0), vertical_fov=60.0, height=1.0)
#: Form factor of parallel unit squares at distance 1 (Howell: A Catalog of Radiation Heat Transfer, C-11).
FORM_FACTOR = 0.199825


def level(height, low=-4.0, high=5.0):
    """A square in the plane of a height, whose upper side is the front: (2, 3, 3)."""
    return quad((low, low, height), (high, low, height), (high, high, height), (low, high, height))


def floor_under(sheets, *, floor=GREY, glow=False, lights=(), uvs=None, textures=()):
    """A unit floor below sheets, (height, material) each, and maybe below a glowing unit square at height 1."""
    lamp = level(1.0, 0.0, 1.0)[:, ::-1]
    parts = [level(0.0, 0.0, 1.0), *(level(height) for height, _ in sheets), *([lamp] if glow else [])]
    materials = [floor, *(material for _, material in sheets), Material(diffuse=(0, 0, 0), emission=(1.0, 1.0, 1.0))]
    ids = np.repeat([*range(1 + len(sheets)), *([len(materials) - 1] if glow else [])], 2)
    made = flat_snapshot(np.concatenate(parts), materials, material_ids=ids, lights=lights, camera=ABOVE)
    return replace(made, textures=tuple(textures), uvs=made.uvs if uvs is None else uvs)


def clear(share, index):
    return Material(kind="nff", diffuse=(0.0, 0.0, 0.0), transmittance=share, ior=index)


SHEETS = [(0.3 + 0.2 * k, clear(share, index)) for k, (share, index) in enumerate(zip(SHARES, INDICES, strict=True))]
SEEING = [name for name in DRIVERS if name != "ao"]


@pytest.mark.parametrize("driver", SEEING)
def test_sheets_dim_a_lamp_with_size_by_the_product_of_their_shares(driver):
    """Whether shadow rays, paths or photons bring the light, it comes once."""
    made = independent_pictures(floor_under(SHEETS, glow=True), driver, 12, width=8, height=8, radius=0.05)
    expected = DIMMED * FORM_FACTOR * np.array(GREY.diffuse)
    lost = 0.06 if driver == "photons-only" else 0.0  # discs reach over the edges of the floor
    scores = z_scores(made.mean(axis=(1, 2)), expected, lost)
    assert np.abs(scores).max() < sidak_bound(3 * len(SEEING)), (scores, made.mean(axis=(0, 1, 2)), expected)


@pytest.mark.parametrize(("light", "driver"), [(BULB, "path"), (BULB, "whitted"), (SUN, "whitted")])
def test_sheets_dim_what_lamps_without_surface_bring(light, driver):
    """The same shadow rays go the same way, whatever is in between."""
    dimmed, bare = (
        passes(floor_under(sheets, lights=[light]), driver, 1, width=8, height=8) for sheets in (SHEETS, [])
    )
    assert bare.min() > 0.0
    np.testing.assert_allclose(dimmed, DIMMED * bare, rtol=1e-5)


def test_a_path_and_a_shadow_ray_share_the_light_behind_a_sheet():
    """A glossy floor under a lamp with size: both find it often."""
    dimmed, bare = (
        passes(floor_under(some, floor=GLOSSY, glow=True), "path", 48, width=8, height=8).mean(axis=(1, 2, 3))
        for some in (SHEETS[:1], [])
    )
    assert abs(z_scores(dimmed, SHARES[0] * bare)) < 4.0


def test_any_number_of_sheets_lets_light_and_sight_through():
    """Many more than a path may have bounces, seen from above through all of them."""
    count, share = 24, 0.97
    many = [(0.1 + 0.03 * k, clear(share, 0.0)) for k in range(count)]
    above = replace(ABOVE, eye=(0.5, 0.5, 0.95))
    for driver in ("path", "whitted"):
        through, bare = (
            passes(replace(floor_under(some, lights=[BULB]), camera=above), driver, 24, max_bounces=2).mean(axis=(1, 2))
            for some in (many, [])
        )
        assert np.abs(z_scores(through, share ** (2 * count) * bare.mean(axis=0))).max() < 4.0


def test_the_share_of_a_sheet_may_be_a_picture():
    """One half of it lets all through, the other half nothing."""
    pixels = np.repeat(np.array([[[255, 255, 255], [0, 0, 0]]], np.uint8), 500, axis=1)
    sheet = replace(clear(0.6, 1.0), transmission_map=0)
    uvs = np.zeros((4, 3, 2), np.float32)
    uvs[2:] = ((level(0.3) + 4.0) / 9.0)[..., :2]  # s is 0.5 where x is 0.5
    drawn = floor_under([(0.3, sheet)], lights=[BULB], uvs=uvs, textures=[Texture(name="halves", pixels=pixels)])
    made, bare = (
        passes(scene, "whitted", 1, width=16, height=16)[0] for scene in (drawn, floor_under([], lights=[BULB]))
    )
    np.testing.assert_allclose(made[:, :7], 0.6 * bare[:, :7], rtol=1e-5)  # the lamp is above the edge of the halves
    assert made[:, 9:].max() == 0.0 < bare.min()


def test_a_tinted_solid_that_bends_nothing_dims_by_its_thickness():
    tinted = replace(clear(1.0, 1.0), absorption=(1.0, 2.0, 3.0))
    slab = [(0.3, tinted), (0.7, tinted)]
    made = floor_under(slab, lights=[replace(SUN, angular_radius=0.0)])
    made.positions[2:4] = made.positions[2:4, ::-1]  # its lower side points down
    made.normals[2:4] *= -1.0
    dimmed, bare = (
        passes(scene, "whitted", 1, width=8, height=8) for scene in (made, floor_under([], lights=made.lights))
    )
    np.testing.assert_allclose(dimmed, bare * np.exp(-0.4 / 0.8 * np.array(tinted.absorption)), rtol=1e-3)


@pytest.mark.parametrize("driver", ["photon", "gather", "path+caustics"])
def test_light_straight_through_sheets_is_no_caustic(driver):
    """Shadow rays bring it, so that no map keeps it, and the fates of photons add up."""
    with opened(floor_under(SHEETS, lights=[BULB]), driver, width=4, height=4, photons=2000) as made:
        made.render_pass(0)
        photons = made.work.photons
    is_kept = driver == "gather"  # by the map that rays of the gather ask
    assert (photons.stored > 0) == is_kept
    assert photons.emitted == photons.absorbed + photons.escaped + photons.terminated
