"""Every sampler against the density that it states."""

import math

import numpy as np
import pytest

from shaders.compilation import compiled
from shaders.random import random4
from shaders.real import Real
from shaders.sampling import (
    cosine_hemisphere,
    cosine_power,
    lambertian,
    power_heuristic,
    uniform_sphere,
    uniform_triangle,
)

DRAWS = 60_000
CELLS = 12
SPHERE, COSINE, POWER = range(3)


@compiled
def directions(sampler, exponent, count):
    """(count, 3) directions of a sampler."""
    drawn = np.empty((count, 3))
    for i in range(count):
        u = random4(np.uint64(1), 0, i, 0, sampler)
        if sampler == SPHERE:
            drawn[i] = uniform_sphere(u[0], u[1])
        elif sampler == COSINE:
            drawn[i] = cosine_hemisphere(u[0], u[1])
        else:
            drawn[i] = cosine_power(u[0], u[1], exponent)
    return drawn


@compiled
def triangle_points(count):
    """(count, 2) weights of the second and third corner."""
    points = np.empty((count, 2))
    for i in range(count):
        u = random4(np.uint64(2), 0, i, 0, 0)
        points[i] = uniform_triangle(u[0], u[1])
    return points


def assert_distribution_of_z(drawn, edges, probabilities, assert_fits):
    """Directions are unit, even in azimuth, and z falls between the edges with these probabilities."""
    np.testing.assert_allclose(np.linalg.norm(drawn, axis=1), 1.0, rtol=5e-7)  # sine and cosine are float32
    azimuth = np.arctan2(drawn[:, 1], drawn[:, 0])
    bins = (edges, np.linspace(-math.pi, math.pi, CELLS + 1))
    counts = np.histogram2d(drawn[:, 2], azimuth, bins=bins)[0]
    assert_fits(counts, np.repeat(probabilities[:, None] / CELLS, CELLS, axis=1) * len(drawn))


def test_uniform_sphere(assert_fits):
    edges = np.linspace(-1.0, 1.0, CELLS + 1)
    drawn = directions(SPHERE, 0.0, DRAWS)
    assert_distribution_of_z(drawn, edges, np.full(CELLS, 1.0 / CELLS), assert_fits)


def test_cosine_hemisphere(assert_fits):
    """The integral of z / pi over a band of the hemisphere is the difference of z^2."""
    edges = np.linspace(0.0, 1.0, CELLS + 1)
    assert_distribution_of_z(directions(COSINE, 0.0, DRAWS), edges, np.diff(edges**2), assert_fits)


@compiled
def about(normal, count):
    """(count, 3) directions by Lambert's law about a normal."""
    x, y, z = Real(normal[0]), Real(normal[1]), Real(normal[2])
    drawn = np.empty((count, 3), np.float32)
    for i in range(count):
        u = random4(np.uint64(3), 0, i, 0, 0)
        drawn[i] = lambertian((x, y, z), Real(u[0]), Real(u[1]))
    return drawn


@pytest.mark.parametrize("normal", [(0.0, 0.0, 1.0), (0.0, 0.0, -1.0), (1.0, 0.0, 0.0), (0.6, -0.64, 0.48)])
def test_lambertian(normal, assert_fits):
    """In a frame about the normal it is what a cosine-weighted hemisphere is."""
    drawn = about(normal, DRAWS).astype(np.float64)
    side = np.cross(normal, (0.0, 0.8, 0.6))
    side /= np.linalg.norm(side)
    local = drawn @ np.stack([side, np.cross(normal, side), normal], axis=1)
    assert local[:, 2].min() > -1e-6
    edges = np.linspace(0.0, 1.0, CELLS + 1)
    assert_distribution_of_z(local, edges, np.diff(edges**2), assert_fits)


def test_lambertian_about_no_normal_is_even(assert_fits):
    edges = np.linspace(-1.0, 1.0, CELLS + 1)
    drawn = about((0.0, 0.0, 0.0), DRAWS).astype(np.float64)
    assert_distribution_of_z(drawn, edges, np.full(CELLS, 1.0 / CELLS), assert_fits)


@pytest.mark.parametrize("u1", [2.0**-24, 0.5 + 2.0**-24, 1.0 - 2.0**-24])
@pytest.mark.parametrize("u2", [2.0**-24, 0.25 + 2.0**-24, 0.5 + 2.0**-24, 1.0 - 2.0**-24])
def test_lambertian_is_unit_for_all_numbers(u1, u2):
    for normal in (*np.eye(3), *-np.eye(3)):
        drawn = lambertian(tuple(map(np.float32, normal)), np.float32(u1), np.float32(u2))
        assert np.linalg.norm(drawn) == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("exponent", [0.0, 1.0, 10.0, 250.0])
def test_cosine_power(exponent, assert_fits):
    """The integral of (n + 1) / (2 pi) z^n over a band of the hemisphere is the difference of z^(n + 1)."""
    edges = np.linspace(0.0, 1.0, CELLS + 1) ** (1.0 / (exponent + 1.0))
    drawn = directions(POWER, exponent, DRAWS)
    assert_distribution_of_z(drawn, edges, np.diff(edges ** (exponent + 1.0)), assert_fits)


def test_uniform_triangle(assert_fits):
    """Cells of a square grid under the diagonal hold twice the points of those that it halves."""
    points = triangle_points(DRAWS)
    assert points.min() > 0.0
    assert points.sum(axis=1).max() < 1.0
    counts = np.histogram2d(*points.T, bins=8, range=((0.0, 1.0), (0.0, 1.0)))[0]
    below = np.add.outer(np.arange(8), np.arange(8))
    expected = np.where(below < 7, 2.0, np.where(below == 7, 1.0, 0.0)) / 64.0
    assert_fits(counts, expected * DRAWS)


@pytest.mark.parametrize(("a", "b"), [(1.0, 1.0), (0.3, 7.0), (1e-9, 1e9), (1e-200, 1e200), (5.0, 0.0)])
def test_the_weights_of_two_strategies_add_up_to_one(a, b):
    assert power_heuristic(a, b) + power_heuristic(b, a) == pytest.approx(1.0)


def test_the_power_heuristic_squares():
    assert power_heuristic(2.0, 1.0) == pytest.approx(0.8)
    assert power_heuristic(0.0, 1.0) == 0.0
    assert power_heuristic(0.0, 0.0) == 0.0
