"""Every sampler against the density that it states."""

import functools
import math

import numpy as np
import pytest

from shaders.compilation import compiled
from shaders.float32 import Float32
from shaders.random import hash4, hash_key, random4, unit32
from shaders.sampling import (
    cosine_hemisphere,
    cosine_power,
    lambertian,
    power_heuristic,
    uniform_cone,
    uniform_sphere,
    uniform_triangle,
)

DRAWS, CELLS = 300_000, 12
SPHERE, COSINE, POWER, CONE = range(4)

NORMALS = [(0.0, 0.0, 1.0), (0.0, 0.0, -1.0), (1.0, 0.0, 0.0), (0.6, -0.64, 0.48)]
EXPONENTS = [0.0, 1.0, 10.0, 250.0]
CONES = [-0.5, 0.8, math.cos(math.radians(0.27))]

#: Goodness-of-fit tests of this file: those of sphere, hemisphere, no normal and triangle are one each, with either
#: kind of numbers.
TESTS = 2 * (4 + len(NORMALS) + len(EXPONENTS) + len(CONES))

#: Of eye paths: float64 of 32 bits. Of photons: float32 of 23 bits.
of_both_kinds = pytest.mark.parametrize("kind", ["eye", "photon"])


@compiled
def fill_as_for_eye_paths(pairs):
    for i in range(len(pairs)):
        u = random4(np.uint64(1), 0, i, 0, 0)
        pairs[i, 0], pairs[i, 1] = u[0], u[1]


@compiled
def fill_as_for_photons(pairs):
    key = hash_key(np.uint64(1), 0, 0)
    for i in range(len(pairs)):
        words = hash4(key, np.uint32(i), np.uint32(0))
        pairs[i, 0], pairs[i, 1] = unit32(words[0]), unit32(words[1])


@functools.cache
def uniform_pairs(kind):
    """(DRAWS, 2) numbers, float64 or float32."""
    pairs = np.empty((DRAWS, 2), np.float64 if kind == "eye" else np.float32)
    (fill_as_for_eye_paths if kind == "eye" else fill_as_for_photons)(pairs)
    return pairs


@compiled
def directions(sampler, shape, pairs):
    """(n, 3) directions of a sampler. shape: the exponent of a lobe or the cosine of a cone."""
    drawn = np.empty((len(pairs), 3))
    for i in range(len(pairs)):
        u1, u2 = pairs[i, 0], pairs[i, 1]
        if sampler == SPHERE:
            drawn[i] = uniform_sphere(u1, u2)
        elif sampler == COSINE:
            drawn[i] = cosine_hemisphere(u1, u2)
        elif sampler == CONE:
            drawn[i] = uniform_cone(u1, u2, shape)
        else:
            drawn[i] = cosine_power(u1, u2, Float32(shape))
    return drawn


def assert_distribution_of_z(drawn, edges, probabilities, assert_fits):
    """Directions are unit, even in azimuth, and z falls between the edges with these probabilities."""
    np.testing.assert_allclose(np.linalg.norm(drawn, axis=1), 1.0, rtol=5e-7)  # sine and cosine are float32
    azimuth = np.arctan2(drawn[:, 1], drawn[:, 0])
    bins = (edges, np.linspace(-math.pi, math.pi, CELLS + 1))
    counts = np.histogram2d(drawn[:, 2], azimuth, bins=bins)[0]
    assert_fits(counts, np.repeat(probabilities[:, None] / CELLS, CELLS, axis=1) * len(drawn), TESTS)


@of_both_kinds
def test_uniform_sphere(kind, assert_fits):
    edges = np.linspace(-1.0, 1.0, CELLS + 1)
    drawn = directions(SPHERE, 0.0, uniform_pairs(kind))
    assert_distribution_of_z(drawn, edges, np.full(CELLS, 1.0 / CELLS), assert_fits)


@of_both_kinds
def test_cosine_hemisphere(kind, assert_fits):
    """The integral of z / pi over a band of the hemisphere is the difference of z^2."""
    edges = np.linspace(0.0, 1.0, CELLS + 1)
    drawn = directions(COSINE, 0.0, uniform_pairs(kind))
    assert_distribution_of_z(drawn, edges, np.diff(edges**2), assert_fits)


@of_both_kinds
@pytest.mark.parametrize("cosine", CONES)
def test_uniform_cone(cosine, kind, assert_fits):
    """Bands of one height have one area, which Archimedes knew."""
    edges = np.linspace(cosine, 1.0, CELLS + 1)
    drawn = directions(CONE, cosine, uniform_pairs(kind))
    assert_distribution_of_z(drawn, edges, np.full(CELLS, 1.0 / CELLS), assert_fits)


@compiled
def about(normal, pairs):
    """(n, 3) directions by Lambert's law about a normal."""
    x, y, z = Float32(normal[0]), Float32(normal[1]), Float32(normal[2])
    drawn = np.empty((len(pairs), 3), np.float32)
    for i in range(len(pairs)):
        drawn[i] = lambertian((x, y, z), Float32(pairs[i, 0]), Float32(pairs[i, 1]))
    return drawn


@of_both_kinds
@pytest.mark.parametrize("normal", NORMALS)
def test_lambertian(normal, kind, assert_fits):
    """In a frame about the normal it is what a cosine-weighted hemisphere is."""
    drawn = about(normal, uniform_pairs(kind)).astype(np.float64)
    side = np.cross(normal, (0.0, 0.8, 0.6))
    side /= np.linalg.norm(side)
    local = drawn @ np.stack([side, np.cross(normal, side), normal], axis=1)
    assert local[:, 2].min() > -1e-6
    edges = np.linspace(0.0, 1.0, CELLS + 1)
    assert_distribution_of_z(local, edges, np.diff(edges**2), assert_fits)


@pytest.mark.parametrize("u1", [2.0**-24, 0.5 + 2.0**-24, 1.0 - 2.0**-24])
@pytest.mark.parametrize("u2", [2.0**-24, 0.25 + 2.0**-24, 0.5 + 2.0**-24, 1.0 - 2.0**-24])
def test_lambertian_is_unit_for_all_numbers(u1, u2):
    for normal in (*np.eye(3), *-np.eye(3)):
        drawn = lambertian(tuple(map(np.float32, normal)), np.float32(u1), np.float32(u2))  # type: ignore[arg-type]
        assert np.linalg.norm(drawn) == pytest.approx(1.0, abs=1e-6)


@of_both_kinds
@pytest.mark.parametrize("exponent", EXPONENTS)
def test_cosine_power(exponent, kind, assert_fits):
    """The integral of (n + 1) / (2 pi) z^n over a band of the hemisphere is the difference of z^(n + 1)."""
    edges = np.linspace(0.0, 1.0, CELLS + 1) ** (1.0 / (exponent + 1.0))
    drawn = directions(POWER, exponent, uniform_pairs(kind))
    assert_distribution_of_z(drawn, edges, np.diff(edges ** (exponent + 1.0)), assert_fits)


@pytest.mark.parametrize(("a", "b"), [(1.0, 1.0), (0.3, 7.0), (1e-9, 1e9), (1e-200, 1e200), (5.0, 0.0)])
def test_the_weights_of_two_strategies_add_up_to_one(a, b):
    assert power_heuristic(a, b) + power_heuristic(b, a) == pytest.approx(1.0)


def test_the_power_heuristic_squares():
    assert power_heuristic(2.0, 1.0) == pytest.approx(0.8)
    assert power_heuristic(0.0, 1.0) == 0.0
    assert power_heuristic(0.0, 0.0) == 0.0


@compiled
def triangle_points(pairs):
    """(n, 2) weights of the second and third corner."""
    points = np.empty((len(pairs), 2))
    for i in range(len(pairs)):
        points[i] = uniform_triangle(pairs[i, 0], pairs[i, 1])
    return points


@of_both_kinds
def test_uniform_triangle(kind, assert_fits):
    """Cells of a square grid under the diagonal hold twice the points of those that it halves."""
    points = triangle_points(uniform_pairs(kind))
    assert points.min() > 0.0
    assert points.sum(axis=1).max() < 1.0 + 1e-7
    counts = np.histogram2d(*points.T, bins=8, range=((0.0, 1.0), (0.0, 1.0)))[0]  # type: ignore[call-overload]
    below = np.add.outer(np.arange(8), np.arange(8))
    expected = np.where(below < 7, 2.0, np.where(below == 7, 1.0, 0.0)) / 64.0
    assert_fits(counts, expected * DRAWS, TESTS)
