"""Photons in media light rays as the beam radiance estimate says."""

import math

import numba
import numpy as np
import pytest
from driver_passes import deviation, independent_pictures, opened, passes, sidak_bound
from small_scenes import sphere
from test_fog import BLACK, fog, phase
from test_light_groups import GROUPED, grouped
from test_media import GREY, NOON, block, from_height, plate, scene

from renderer.film.layers import LAYER_BEAUTY, LAYER_BIAS
from renderer.photons.building import build_photon_map
from renderer.photons.photon_map import PHOTON, PHOTON_WORDS, pack_flux, unpack_flux
from renderer.photons.volume import Beam, in_scattered
from renderer.scene.photon_scene import FOG_SHIFT
from scenes.lights import PointLight
from scenes.model import Material
from shaders.float32 import Float32
from shaders.octahedral import pack_unit, unpack_unit
from shaders.vector import in_single
from tracecore.compilation.borrowing import borrowed

GATHERING = ["photon", "sppm", "path+caustics", "gather", "photons-only"]
SMALL = {"width": 12, "height": 12, "photons": 4000, "max_bounces": 6}
RADIUS, EXTINCTION, COSINE = 0.11, np.array([0.4, 1.3, 2.2]), -0.3


@numba.njit
def packed_directions(vectors, words):
    for i in range(len(vectors)):
        words[i] = pack_unit((vectors[i, 0], vectors[i, 1], vectors[i, 2]))


@numba.njit
def packed_fluxes(colors, words):
    for i in range(len(colors)):
        words[i] = pack_flux((colors[i, 0], colors[i, 1], colors[i, 2]), 0.5)


@numba.njit
def along(photon_map, beam):
    return in_scattered(borrowed(photon_map), beam)


def some_photons(count, numbers):
    """(count,) PHOTON in two media, of paths of any length, most of them in a corner of a long box."""
    photons = np.zeros(count, PHOTON)
    photons["position"] = numbers.random((count, 3)) ** 2 * [4.0, 1.0, 2.0] + [1.0, -2.0, 3.0]
    vectors = numbers.normal(size=(count, 3))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    packed_directions(vectors.astype(np.float32), photons["direction"])
    packed_fluxes(numbers.random((count, 3)), photons["flux"])
    photons["normal"] = (numbers.integers(7, 9, count) << FOG_SHIFT) | numbers.integers(0, 16, count)
    return photons


def beams(count, numbers):
    """Rays through the box of the photons, and past it, of which some are along its axes or begin inside of it."""
    for k in range(count):
        origin = numbers.random(3) * [6.0, 3.0, 4.0] + [0.0, -3.0, 2.0]
        towards = numbers.random(3) * [4.0, 1.0, 2.0] + [1.0, -2.0, 3.0] - origin
        if k % 4 == 0:
            towards = np.eye(3)[k % 3] * (1 if k % 8 else -1)
        direction = towards / np.linalg.norm(towards)
        length = 2.0**64 if k % 5 == 0 else float(numbers.random() * 6.0)
        yield Beam(
            origin=in_single(tuple(origin)),
            direction=in_single(tuple(direction)),
            length=Float32(length),
            radius=Float32(RADIUS),
            between=Float32(k % 18),
            fog=Float32(7 + k % 2),
            extinction=in_single(tuple(EXTINCTION / math.log(2.0))),
            mean_cosine=Float32(COSINE),
        )


def judged(photons, beam):
    """The radiance that photons send along a beam, by all of them, how many they are, and how many are in doubt."""
    offsets = photons["position"].astype(np.float64) - np.array(beam.origin, np.float64)
    direction = np.array(beam.direction, np.float64)
    distance = offsets @ direction
    beside = np.linalg.norm(offsets - distance[:, None] * direction, axis=1)
    is_own = (photons["normal"] >> FOG_SHIFT == int(beam.fog)) & ((photons["normal"] & 15) >= min(beam.between, 15))
    near = is_own & (beside <= beam.radius) & (distance >= 0.0) & (distance < beam.length)
    doubt = is_own & (np.abs(beside - beam.radius) < 1e-5)
    doubt |= is_own & ((np.abs(distance) < 1e-5) | (np.abs(distance - beam.length) < 1e-5))
    sources = np.array([unpack_unit(word) for word in photons["direction"][near]]).reshape(-1, 3)
    fluxes = np.array([unpack_flux(word) for word in photons["flux"][near]]).reshape(-1, 3)
    left = np.exp(-EXTINCTION * distance[near, None])
    light = (fluxes * left * phase(sources @ direction, COSINE)[:, None]).sum(axis=0)
    return light / (math.pi * beam.radius**2), np.count_nonzero(near), np.count_nonzero(doubt)


@pytest.mark.parametrize("cell", [0.05, 0.44, 3.0])
def test_a_beam_finds_all_photons_around_it_and_weighs_them(cell):
    """Whatever cells they are sorted into: those of its medium alone, in front of its origin and before its end."""
    numbers = np.random.default_rng(3)
    photons = some_photons(6000, numbers)
    words = photons.view(np.uint32).reshape(-1, PHOTON_WORDS)
    photon_map, found = build_photon_map(words, cell, 1.0), 0
    for beam in beams(240, numbers):
        expected, near, doubtful = judged(photons, beam)
        if doubtful == 0:
            np.testing.assert_allclose(along(photon_map, beam), expected, rtol=2e-4, atol=1e-6)
            found += near
    assert found > 1000


@pytest.mark.parametrize("driver", GATHERING)
def test_light_of_a_mirror_is_scattered_once_as_the_closed_form_says(driver):
    """The sun shines down through fog onto a mirror, and the camera looks down as well. It sees light that turns back,
    light that comes up from the mirror and goes on and, in the mirror, light that goes on down: the last two never meet
    a shadow ray. So little is scattered that what is scattered twice is not seen."""
    reflected, scattered, g = np.array([0.8, 0.6, 0.4]), 1e-3, 0.4
    absorbed = np.array([0.5, 1.0, 0.2])
    mirror = (plate(0.0, 1.0), Material(kind="mirror", diffuse=BLACK, specular=tuple(reflected)))
    sunny = scene(mirror, (block(-0.1, 1.0), fog(scattered, absorbed, g)), lights=[NOON], camera=from_height(0.9, 0.5))
    made = independent_pictures(sunny, driver, 40, width=8, height=8, photons=20_000, radius=0.03, max_bounces=2)
    sigma = absorbed + scattered
    back = phase(-1.0, g) * np.exp(-1.9 * sigma) * (np.exp(1.8 * sigma) - 1.0) / (2.0 * sigma)
    onward = phase(1.0, g) * reflected * np.exp(-1.9 * sigma) * (0.9 + 1.0)
    expected = math.pi * scattered * (back + onward)
    assert deviation(made.mean(axis=(1, 2)), expected, 3e-3 * expected).max() < sidak_bound(3)


@pytest.mark.parametrize("driver", GATHERING)
def test_threads_and_batches_change_no_bit_of_light_in_fog(driver):
    first, other = (
        passes(misty(), driver, 2, threads=threads, batch_rays=rays, **SMALL) for threads, rays in ((1, 4096), (2, 256))
    )
    assert first.max() > 0.0
    np.testing.assert_array_equal(first, other)


@pytest.mark.parametrize("driver", sorted(set(GATHERING) & set(GROUPED)))
def test_light_groups_in_fog_add_up(driver):
    made, groups = grouped(misty(), driver, 2, **SMALL)
    beauty = made[..., LAYER_BEAUTY:LAYER_BIAS]
    np.testing.assert_array_equal(beauty, passes(misty(), driver, 2, **SMALL))
    np.testing.assert_allclose(groups.sum(axis=3), beauty, rtol=2e-6, atol=1e-9)
    assert groups.any(axis=(0, 1, 2, 4))[:2].all()


def misty():
    """Fog between a glass ball and a floor, in the light of two lamps."""
    lamps = [PointLight(position=(x, 0.3, 0.8), intensity=color) for x, color in ((-0.3, (1, 0, 0)), (0.3, (0, 1, 1)))]
    ball = (sphere((0.0, 0.0, 0.4), 0.2, 3), Material(kind="dielectric", transmittance=1.0, ior=1.5))
    return scene((plate(0.0, 1.0), GREY), ball, (block(-0.1, 1.0), fog(0.7, g=0.2)), lights=lamps)


def test_of_many_collisions_a_share_is_kept_and_counts_for_all():
    """In a white room full of milk a photon collides ten times and more. What it looks like is 1, as the walls glow."""
    walls = (block(0.0, 1.0, 0.5)[:, ::-1], Material(diffuse=(0.5,) * 3, emission=(0.5,) * 3))
    milky = scene(walls, (block(-0.1, 1.1, 0.6), fog(12.0)), camera=from_height(0.8, 0.4))
    chosen = {"width": 8, "height": 8, "photons": 4000, "radius": 0.03, "max_bounces": 200}
    with opened(milky, "photon", **chosen) as driver:
        assert driver.volume_share < 0.3
        made = np.array([driver.render_pass(number) for number in range(40)]).mean(axis=(1, 2))
        stored = driver.work.photons.stored / 40 / 4000
    assert stored < 2.0 + 2.5  # in the air, and on the walls
    assert deviation(made, 1.0, 3e-3).max() < sidak_bound(3)
