"""Lights: their power, the photons that they emit, and the light that they send to a point."""

import math

import numpy as np
import pytest
from light_draws import assert_mean, emitted, sampled

from shaders.compilation import compiled
from shaders.lights.point import point_row
from shaders.lights.registry import choose, light_pdf, pack_lights, powers, sample_light
from shaders.lights.sphere import sphere_row
from shaders.lights.triangle import SHADOW_END, triangle_rows
from shaders.random import random4
from shaders.surface import clearance
from shaders.vector import BLACK

#: Draws of tests of means, and of those of counts.
DRAWS, MANY_DRAWS = 60_000, 300_000
CELLS = 8
#: Goodness-of-fit tests of this file.
TESTS = 3
UP = (0.0, 0.0, 1.0)
LAST = 1.0 - 2.0**-53

#: Area 3, glowing towards -z.
CORNERS = np.array([(1.0, 1.0, 2.0), (0.0, 4.0, 2.0), (3.0, 1.0, 2.0)])
SLANTED = np.array([(0.5, -1.0, 1.0), (-0.5, 0.5, 2.0), (1.5, 1.0, 1.5)])


def triangle_row(corners, radiance):
    return triangle_rows(np.asarray(corners)[None], np.array([radiance]))[0]


@compiled
def mean_irradiance_of_unit_square(lights, count):
    """(count,) irradiance in the first channel at random places of the unit square at z = 0, facing up."""
    values = np.empty(count)
    for i in range(count):
        u, place = random4(np.uint64(3), 0, i, 0, 0), random4(np.uint64(3), 0, i, 0, 1)
        light = sample_light(lights, (place[0], place[1], 0.0), (u[0], u[1], u[2]))
        values[i] = light.irradiance[0] * max(0.0, light.direction[2])
    return values


def over_triangle(corners, places):
    """How many of (n, 3) places are in each cell of a triangle, and how many are expected."""
    edges = np.array([corners[1] - corners[0], corners[2] - corners[0]])
    weights = np.linalg.lstsq(edges.T, (places - corners[0]).T, rcond=None)[0]
    counts = np.histogram2d(*weights, bins=CELLS, range=((0.0, 1.0), (0.0, 1.0)))[0]  # type: ignore[call-overload]
    below = np.add.outer(np.arange(CELLS), np.arange(CELLS))
    expected = np.where(below < CELLS - 1, 2.0, np.where(below == CELLS - 1, 1.0, 0.0)) / CELLS**2
    return counts, expected * len(places)


def arriving(lights, point, normal, count):
    """(count, 9): what `sampled` gives, and the cosine at the point (0 below it)."""
    rows = sampled(lights, point, count)
    return np.append(rows, np.maximum(0.0, rows[:, :3] @ normal)[:, None], axis=1)


def irradiance(lights, point, normal):
    """(DRAWS, 3) estimates."""
    rows = arriving(lights, point, normal, DRAWS)
    return rows[:, 5:8] * rows[:, 8:9]


def polygon_irradiance(corners, point, normal):
    """Irradiance by a polygon of radiance 1, all of it above the horizon. Lambert: Photometria, 1760.

    Half the sum, over the edges, of the angle that an edge spans times the cosine of its plane to the normal.
    """
    rays = np.asarray(corners) - point
    rays /= np.linalg.norm(rays, axis=1, keepdims=True)
    total = 0.0
    for a, b in zip(rays, np.roll(rays, -1, axis=0), strict=True):
        across = np.cross(a, b)
        total += math.acos(np.dot(a, b)) * np.dot(across / np.linalg.norm(across), normal)
    return abs(0.5 * total)


def solid_angle(corners, point):
    """Van Oosterom, Strackee: The Solid Angle of a Plane Triangle, 1983."""
    a, b, c = np.asarray(corners) - point
    la, lb, lc = (np.linalg.norm(v) for v in (a, b, c))
    below = la * lb * lc + np.dot(a, b) * lc + np.dot(a, c) * lb + np.dot(b, c) * la
    return 2.0 * math.atan2(abs(np.dot(a, np.cross(b, c))), below)


def test_power_of_a_point_is_4_pi_i_and_of_a_triangle_pi_a_l():
    rows = np.array([point_row((1.0, 2.0, 3.0), (1.0, 2.0, 4.0)), triangle_row(CORNERS, (1.0, 0.5, 0.0))])
    expected = np.array([(4.0, 8.0, 16.0), (3.0, 1.5, 0.0)]) * math.pi
    np.testing.assert_allclose(powers(rows), expected)
    lights = pack_lights(list(rows))
    assert lights.power == pytest.approx(expected.mean(axis=1).sum())
    np.testing.assert_allclose(lights.probability, expected.mean(axis=1) / lights.power)


def test_the_borders_between_lights():
    strengths = [0.0, 3.0, 0.0, 1.0, 4.0, 0.0]
    lights = pack_lights([point_row(UP, (s, s, s)) for s in strengths])
    borders = {0.0: 1, np.nextafter(0.375, 0.0): 1, 0.375: 3, np.nextafter(0.5, 0.0): 3, 0.5: 4, LAST: 4}
    assert {u: choose(lights, float(u)) for u in borders} == borders


def test_the_mean_flux_of_a_photon_is_the_power_of_the_lights():
    rows = [point_row(UP, (1.0, 0.1, 0.3)), triangle_row(CORNERS, (0.2, 1.0, 0.7)), point_row(UP, (0.0, 0.0, 1.0))]
    lights = pack_lights(rows)
    flux = emitted(lights, -1, DRAWS)[:, 6:]
    assert_mean(flux, powers(lights.rows).sum(axis=0))
    np.testing.assert_allclose(flux.mean(axis=1), lights.power)  # each photon carries the same


def test_a_point_emits_evenly_all_around(assert_fits):
    rows = emitted(pack_lights([point_row((1.0, 2.0, 3.0), (1.0, 1.0, 1.0))]), -1, MANY_DRAWS)
    assert np.all(rows[:, :3] == (1.0, 2.0, 3.0))
    azimuth = np.arctan2(rows[:, 4], rows[:, 3])
    counts = np.histogram2d(rows[:, 5], azimuth, bins=CELLS, range=((-1.0, 1.0), (-math.pi, math.pi)))[0]
    assert_fits(counts, np.full((CELLS, CELLS), MANY_DRAWS / CELLS**2), TESTS)


def test_a_triangle_emits_from_its_front_by_the_cosine(assert_fits):
    rows = emitted(pack_lights([triangle_row(CORNERS, (1.0, 1.0, 1.0))]), -1, MANY_DRAWS)
    cosine, azimuth = -rows[:, 5], np.arctan2(rows[:, 4], rows[:, 3])
    assert cosine.min() > 0.0
    counts = np.histogram2d(cosine**2, azimuth, bins=CELLS, range=((0.0, 1.0), (-math.pi, math.pi)))[0]
    assert_fits(counts, np.full((CELLS, CELLS), MANY_DRAWS / CELLS**2), TESTS)


def test_photons_leave_every_part_of_a_triangle_alike_and_start_just_off_it(assert_fits):
    rows = emitted(pack_lights([triangle_row(SLANTED, (1.0, 1.0, 1.0))]), -1, MANY_DRAWS)
    edges = np.array([SLANTED[1] - SLANTED[0], SLANTED[2] - SLANTED[0]])
    normal = np.cross(*edges) / np.linalg.norm(np.cross(*edges))
    assert np.all(rows[:, 3:6] @ normal > 0.0)
    np.testing.assert_allclose((rows[:, :3] - SLANTED[0]) @ normal, clearance(*map(tuple, SLANTED)), rtol=1e-6)
    assert_fits(*over_triangle(SLANTED, rows[:, :3]), TESTS)


def test_irradiance_by_a_point_is_i_cos_over_the_square_of_the_distance():
    lights = pack_lights([point_row((3.0, 0.0, 4.0), (50.0, 25.0, 0.0))])
    light = sample_light(lights, BLACK, (0.5, 0.5, 0.5))
    assert light.direction == pytest.approx((0.6, 0.0, 0.8))
    assert light.distance == pytest.approx(5.0)
    assert light.irradiance == pytest.approx((2.0, 1.0, 0.0))
    assert light.pdf_solid_angle == 0.0
    assert_mean(irradiance(lights, BLACK, UP), (1.6, 0.8, 0.0))


def test_irradiance_by_a_triangle_is_that_of_lambert():
    """A triangle right above a point, glowing down."""
    corners = np.array([(-1.0, -1.0, 1.5), (-1.0, 2.0, 1.5), (2.0, -1.0, 1.2)])
    lights = pack_lights([triangle_row(corners, (2.0, 1.0, 0.5))])
    expected = polygon_irradiance(corners, (0.1, 0.2, 0.0), UP)
    assert_mean(irradiance(lights, (0.1, 0.2, 0.0), UP), np.array((2.0, 1.0, 0.5)) * expected)


def test_form_factor_of_parallel_unit_squares():
    """0.199825 for unit squares at distance 1. Howell: A Catalog of Radiation Heat Transfer Configuration Factors."""
    a, b, c, d = (0.0, 0.0, 1.0), (0.0, 1.0, 1.0), (1.0, 1.0, 1.0), (1.0, 0.0, 1.0)
    lights = pack_lights([triangle_row(np.array(t), (1.0, 1.0, 1.0)) for t in ((a, b, c), (a, c, d))])
    assert_mean(mean_irradiance_of_unit_square(lights, 4 * DRAWS) / math.pi, 0.199825)


def test_the_stated_density_is_that_of_the_direction():
    """The mean of 1 / pdf is the solid angle that the light fills; for two lights, the sum of both."""
    other = np.array([(-3.0, 0.0, 2.0), (-3.0, 1.0, 1.0), (-2.0, 0.0, 3.0)])
    point = (0.2, 0.5, -1.0)
    # The front of each looks at the point.
    fronts = [
        t if np.dot(np.cross(t[1] - t[0], t[2] - t[0]), point - t[0]) > 0.0 else t[::-1] for t in (SLANTED, other)
    ]
    lights = pack_lights([triangle_row(t, (1.0, 1.0, 1.0)) for t in fronts])
    rows = arriving(lights, point, UP, DRAWS)
    assert_mean(1.0 / rows[:, 4], sum(solid_angle(t, point) for t in fronts))
    np.testing.assert_allclose(rows[:, 5], 1.0 / rows[:, 4])


def test_the_density_of_a_sample_is_what_is_said_of_a_ray_that_meets_the_light():
    lights = pack_lights([point_row(UP, (1.0, 1.0, 1.0)), triangle_row(CORNERS, (5.0, 5.0, 5.0))])
    index = 1
    met = 0
    for row in arriving(lights, (2.0, 2.0, 0.0), UP, 200):
        if row[4] > 0.0:
            direction = tuple(row[:3])
            assert light_pdf(lights, index, UP, direction, row[3] / SHADOW_END) == pytest.approx(row[4])
            assert row[3] / SHADOW_END * direction[2] == pytest.approx(2.0)  # the light lies at z = 2
            met += 1
    assert met > 100


def test_shadow_rays_end_short_of_a_light_with_size():
    assert 0.99 < SHADOW_END < 1.0 - 1e-6


def test_the_back_of_a_triangle_sends_nothing():
    lights = pack_lights([triangle_row(CORNERS, (1.0, 1.0, 1.0))])
    rows = arriving(lights, (1.0, 2.0, 5.0), (0.0, 0.0, -1.0), 200)
    assert not rows[:, 4:8].any()
    assert np.all(np.isfinite(rows))
    assert light_pdf(lights, 0, UP, (0.0, 0.0, -1.0), 3.0) == 0.0
    assert light_pdf(lights, 0, UP, (0.0, 0.0, 1.0), 3.0) == pytest.approx(9.0 / 3.0)


def test_a_light_at_the_point_itself_sends_nothing():
    on_point = sample_light(pack_lights([point_row(UP, (1.0, 1.0, 1.0))]), UP, (0.5, 0.5, 0.5))
    corner = tuple(map(float, CORNERS[0]))
    on_triangle = sample_light(pack_lights([triangle_row(CORNERS, (1.0, 1.0, 1.0))]), corner, (0.5, 0.0, 0.5))  # type: ignore[arg-type]
    for light in (on_point, on_triangle):
        assert light.irradiance == BLACK
        assert (light.distance, light.pdf_solid_angle) == (0.0, 0.0)
        assert np.linalg.norm(light.direction) == 1.0


#: A ball of radius 2 whose triangles lack a hundredth of its area, beside a point light.
BALL = sphere_row((1.0, 2.0, 5.0), 2.0, 0.99 * 16.0 * math.pi, (1.0, 0.5, 2.0))
BESIDE = point_row((9.0, 9.0, 9.0), (4.0, 4.0, 4.0))


@pytest.mark.parametrize("height", [2.0, 1e-2, -500.0])
def test_light_of_a_ball_at_a_point(height):
    """Its irradiance is pi L sin^2, its directions are in a cone, and shadow rays end before the ball."""
    lights, point = pack_lights([BALL, BESIDE]), (1.0, 2.0, 3.0 - height)
    rows = arriving(lights, point, UP, DRAWS)
    rows = rows[rows[:, 4] > 0.0]
    sine_square, share = 0.99 * 4.0 / (2.0 + height) ** 2, lights.probability[0]
    cosines = np.sqrt(1.0 - sine_square) if height > 0.0 else None
    depth = sine_square / (1.0 + np.sqrt(1.0 - sine_square))
    np.testing.assert_allclose(rows[:, 4], share / (2.0 * math.pi * depth), rtol=1e-6)
    assert rows[:, 8].min() >= (cosines - 1e-9 if height > 0.0 else 0.0)  # type: ignore[operator]
    if height > 0.0:
        irradiance = rows[:, 5:8] * share * rows[:, 8:]
        assert_mean(irradiance, math.pi * sine_square * np.array((1.0, 0.5, 2.0)))
    ends = np.array(point) + rows[:, :3] * rows[:, 3:4] / SHADOW_END - (1.0, 2.0, 5.0)
    np.testing.assert_allclose(np.linalg.norm(ends, axis=1), 2.0, rtol=2e-2)
    for row in rows[:100]:
        assert light_pdf(lights, 0, point, tuple(row[:3]), 1.0) == pytest.approx(row[4], rel=1e-6)


def test_a_point_within_a_ball_gets_no_light():
    lights = pack_lights([BALL])
    for point in ((1.0, 2.0, 5.0), (1.0, 2.0, 6.0), (1.0, 2.0, 6.9999)):
        rows = arriving(lights, point, UP, 50)
        assert np.isfinite(rows).all()
        assert not rows[:, 4:8].any()


def test_the_last_number_chooses_a_light_with_power_however_the_sum_rounds():
    strengths = np.append(np.random.default_rng(8).random(999), (0.0, 0.0))
    lights = pack_lights([point_row(UP, (s, s, s)) for s in strengths])
    assert choose(lights, LAST) == 998
    assert lights.cumulative[-1] == 1.0


def test_a_point_in_the_plane_of_a_triangle_gets_nothing():
    light = sample_light(pack_lights([triangle_row(CORNERS, (1.0, 1.0, 1.0))]), (9.0, 9.0, 2.0), (0.5, 0.5, 0.5))
    assert light.irradiance == BLACK
