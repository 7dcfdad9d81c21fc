"""Photons on surfaces that are shaded with another normal than their flat one: it counts once, in every driver."""

import math
from dataclasses import replace

import numpy as np
import pytest
from driver_passes import block_means, independent_pictures, passes, sidak_bound, z_scores
from small_scenes import flat_snapshot, quad

from scenes.lights import SpotLight
from scenes.model import Camera, Environment, Material, Texture
from shaders.shading_normals import MOST_CORRECTION

TILTS = (0.0, 30.0, 45.0, 60.0)
ALBEDO = 0.5
GREY, MIRROR = Material(diffuse=3 * (ALBEDO,)), Material(kind="mirror", specular=(1.0, 1.0, 1.0))
UVS = np.array([[(0, 1), (1, 1), (1, 0)], [(0, 1), (1, 0), (0, 0)]], np.float32)
FLOOR = quad((-2, -2, 0), (2, -2, 0), (2, 2, 0), (-2, 2, 0))

#: Drivers that follow the eye's path to photons pass by pass.
FOLLOWING = ("photon", "sppm", "path+caustics", "gather")

#: How a normal comes to lean: those of the corners do, or a map says so.
LEANS = ("corners", "normal map", "bump map")
#: Slope of the ramp of heights in a bump map over the floor, per unit of scale.
RAMP_SLOPE = 10.0 / 255.0 * 16.0 / 4.0


def leaning(snapshot, lean, degrees, floor=slice(0, 2)):
    """The same scene with a floor whose shading normal leans towards +x; its material is the first."""
    slope, materials = math.tan(math.radians(degrees)), list(snapshot.materials)
    uvs = snapshot.uvs.copy()
    uvs[floor] = UVS
    if lean == "corners":
        snapshot.normals[floor] = (math.sin(math.radians(degrees)), 0.0, math.cos(math.radians(degrees)))
        return snapshot
    pixels = np.full((16, 16, 3), (255, 128, 255))
    materials[0] = replace(materials[0], normal_map=0, normal_scale=slope)
    if lean == "bump map":
        pixels = (250 - 10 * np.indices((16, 16))[1])[..., None].repeat(3, axis=2)
        materials[0] = replace(snapshot.materials[0], bump_map=0, bump_scale=slope / RAMP_SLOPE)
    texture = Texture(name="relief", pixels=pixels.astype(np.uint8), is_linear=True)
    return replace(snapshot, uvs=uvs, materials=tuple(materials), textures=(texture,))


SPOT_HEIGHT, MIRROR_HEIGHT, SEEN = 0.6, 1.0, 0.9
IMAGE_HEIGHT = 2.0 * MIRROR_HEIGHT - SPOT_HEIGHT


def under_a_mirror(lean, degrees):
    """A floor, seen from straight above, that gets light from a spot by way of a mirror overhead alone."""
    side, high = 0.5, MIRROR_HEIGHT
    mirror = quad((-side, -side, high), (-side, side, high), (side, side, high), (side, -side, high))
    spot = SpotLight(
        position=(0.0, 0.0, SPOT_HEIGHT),
        direction=(0.0, 0.0, 1.0),
        intensity=(1.0, 1.0, 1.0),
        inner_angle=35.0,
        outer_angle=36.0,
    )
    camera = Camera(eye=(0.0, 0.0, 0.3), forward=(0.0, 0.0, -1.0), up=(0.0, 1.0, 0.0), vertical_fov=60.0, height=SEEN)
    positions = np.concatenate([FLOOR, mirror])
    made = flat_snapshot(positions, [GREY, MIRROR], material_ids=[0, 0, 1, 1], lights=[spot], camera=camera)
    return leaning(made, lean, degrees)


def regions_under_a_mirror(degrees, count=3, samples=60):
    """(count, count) mean radiance of regions of the picture: of an image of the spot, by the inverse square and the
    cosine about the leaning normal."""
    places = (np.arange(samples * count) + 0.5) / (samples * count) - 0.5
    x, y = np.meshgrid(SEEN * places, -SEEN * places)
    distance = np.sqrt(x**2 + y**2 + IMAGE_HEIGHT**2)
    c, s = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    cosine = np.maximum(0.0, (IMAGE_HEIGHT * c - x * s) / distance)
    radiance = ALBEDO / math.pi * cosine / distance**2
    return radiance.reshape(count, samples, count, samples).mean(axis=(1, 3))


@pytest.mark.parametrize(
    ("driver", "lean", "degrees"),
    [
        *(("photons-only", lean, degrees) for lean in LEANS for degrees in TILTS),
        *((driver, lean, degrees) for driver in FOLLOWING for lean in LEANS[:2] for degrees in (30.0, 60.0)),
    ],
)
def test_photons_light_a_floor_by_its_shading_normal(driver, lean, degrees):
    settings = {"width": 18, "height": 18, "photons": 8_000, "radius": 0.03, "max_bounces": 2, "projection": False}
    made = independent_pictures(under_a_mirror(lean, degrees), driver, 8, **settings)
    expected = regions_under_a_mirror(degrees)
    scores = z_scores(block_means(made[..., :1], 6)[..., 0], expected, 0.01)
    assert np.abs(scores).max() < sidak_bound(9 * 28), scores.round(1)


#: The beam covers the floor: a far ray has the light of the nearest photon, also where there is none.
HALF_FLOOR, WALL_PLACE, LAMP_HEIGHT, BEAM = 0.19, 0.21, 0.6, 25.0
#: Lowest and highest place of the wall that is seen, above the beam, and its albedo, by which next to nothing comes
#: back to the floor.
WALL_SEEN, DARK = (0.18, 0.42), 0.02
PLASTIC = Material(kind="plastic", diffuse=3 * (ALBEDO,), ior=1.5, roughness=0.5)


def floor_beside_a_wall(lean, degrees, floor=GREY):
    """A floor of a material under a spot, and a wall whose upper part gets light from it alone and is seen by parallel
    rays. The floor's normal leans towards the wall."""
    half, place, (low, high) = HALF_FLOOR, WALL_PLACE, WALL_SEEN
    ground = quad((-half, -half, 0), (half, -half, 0), (half, half, 0), (-half, half, 0))
    wall = quad((place, half, 0.0), (place, -half, 0.0), (place, -half, 0.6), (place, half, 0.6))
    spot = SpotLight(
        position=(0.0, 0.0, LAMP_HEIGHT),
        direction=(0.0, 0.0, -1.0),
        intensity=(1.0, 1.0, 1.0),
        inner_angle=BEAM,
        outer_angle=BEAM + 0.01,
    )
    eye, above = (0.2, 0.0, 0.5 * (low + high)), (0.0, 0.0, 1.0)
    camera = Camera(eye=eye, forward=(1.0, 0.0, 0.0), up=above, vertical_fov=60.0, height=high - low)
    materials = [floor, Material(diffuse=3 * (DARK,))]
    positions = np.concatenate([ground, wall])
    made = flat_snapshot(positions, materials, material_ids=[0, 0, 1, 1], lights=[spot], camera=camera)
    return leaning(made, lean, degrees)


def wall_radiance(degrees, samples=80, rows=24):
    """Mean radiance of the wall that is seen, by quadrature over the floor and the wall."""
    places = (np.arange(samples) + 0.5) / samples * 2.0 - 1.0
    x, y = (HALF_FLOOR * axis for axis in np.meshgrid(places, places))
    distance = np.sqrt(x**2 + y**2 + LAMP_HEIGHT**2)
    c, s = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    sent = ALBEDO / math.pi * (LAMP_HEIGHT * c - x * s) / distance**3
    low, high = WALL_SEEN
    radiance = []
    for z in low + (high - low) * (np.arange(rows) + 0.5) / rows:
        for across in 0.5 * (high - low) * ((np.arange(rows) + 0.5) / rows * 2.0 - 1.0):
            squared = (WALL_PLACE - x) ** 2 + (across - y) ** 2 + z**2
            form = z * (WALL_PLACE - x) / squared**2 * (2.0 * HALF_FLOOR / samples) ** 2
            radiance.append(DARK / math.pi * (sent * form).sum())
    return float(np.mean(radiance))


WALL_TASK = {"width": 24, "height": 24, "max_bounces": 4, "radius": 0.01, "photons": 10_000}


@pytest.mark.parametrize("degrees", [30.0, 60.0])
@pytest.mark.parametrize("lean", LEANS[:2])
@pytest.mark.parametrize("driver", ["path", "photon"])
def test_a_leaning_floor_scatters_light_to_a_wall(driver, lean, degrees):
    """A photon that is scattered counts the lean of the floor once, as a path does."""
    made = passes(floor_beside_a_wall(lean, degrees), driver, 16, **WALL_TASK).mean(axis=(1, 2))[:, 0]
    assert abs(z_scores(made, wall_radiance(degrees))) < sidak_bound(8), made.mean() / wall_radiance(degrees)


@pytest.mark.parametrize("degrees", [30.0, 60.0])
@pytest.mark.parametrize("lean", LEANS[:2])
def test_far_rays_find_the_irradiance_of_a_leaning_floor(lean, degrees):
    """A floor that leans is to a flat one as their light is: by so many passes within 0.3 %, one standard error."""
    flat, made = (
        passes(floor_beside_a_wall(lean, turned), "gather", 144, **WALL_TASK).mean(axis=(1, 2))[:, 0]
        for turned in (0.0, degrees)
    )
    expected = wall_radiance(degrees) / wall_radiance(0.0)
    assert made.mean() / flat.mean() == pytest.approx(expected, rel=0.03)


def test_a_leaning_floor_of_plastic_lights_a_wall_as_paths_say():
    snapshot = floor_beside_a_wall("normal map", 30.0, PLASTIC)
    path, photon = (passes(snapshot, driver, 24, **WALL_TASK).mean(axis=(1, 2))[:, 0] for driver in ("path", "photon"))
    assert abs(z_scores(photon, path)) < sidak_bound(1)


def bounded_share(degrees, bound):
    """The share of even light that a bounded correction keeps: 1 less the form factor of what grazes the triangle."""
    c = math.cos(math.radians(degrees))
    return 1.0 - (math.sqrt(bound**2 + 1.0 - 2.0 * bound * c) + c - bound) / (1.0 + c)


@pytest.mark.parametrize("lean", ["corners", "normal map"])
def test_even_light_loses_what_the_bound_takes(lean):
    """The upper hemisphere has (1 + cos) / 2 of what lies before a normal that leans. Paths have all of it."""
    camera = Camera(eye=(0.0, 0.0, 1.0), forward=(0.0, 0.0, -1.0), up=(0.0, 1.0, 0.0), vertical_fov=60.0, height=SEEN)
    made = flat_snapshot(0.3 * FLOOR, [GREY], camera=camera)
    sky = Environment(radiance=np.ones((1, 1, 3), np.float32))
    snapshot = replace(leaning(made, lean, 60.0), environment=sky)
    settings = {"width": 8, "height": 8, "photons": 20_000, "radius": 0.1, "max_bounces": 1}
    for driver, kept in (("path", 1.0), ("photons-only", bounded_share(60.0, MOST_CORRECTION))):
        seen = independent_pictures(snapshot, driver, 12, **settings).mean(axis=(1, 2))[:, 0]
        assert abs(z_scores(seen, ALBEDO * 0.75 * kept)) < sidak_bound(4), (driver, seen.mean(), kept)
