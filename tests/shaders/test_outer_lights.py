"""Spots, suns and skies: their power, the photons that they emit, and the light that they send to a point."""

import math

import numpy as np
import pytest
from light_draws import assert_mean, emitted, sampled

from renderer.scene.light_records import LIGHT_RECORD, pack_light_records
from renderer.scene.photon_scene import EMITTER, pack_emitters
from shaders.compilation import compiled
from shaders.environment import pack_environment, sample_sky, solid_angles, texel_of, texel_pdf, texel_radiance
from shaders.environment import sky_of as in_loops
from shaders.lights.distant import distant_row
from shaders.lights.kind import Emitter, Light
from shaders.lights.outside import BEYOND
from shaders.lights.point import point_row
from shaders.lights.registry import kinds_with, light_pdf, pack_lights, powers, sample_light
from shaders.lights.row import LIGHT_KIND, Sphere
from shaders.lights.sky import sky_row
from shaders.lights.sphere import sphere_row
from shaders.lights.spot import spot_row
from shaders.lights.triangle import SHADOW_END
from shaders.random import STREAM_EMISSION, STREAM_LIGHT, hash4, hash_key, random4

#: Draws of tests of means, and of those of counts.
DRAWS, MANY_DRAWS = 40_000, 300_000
CELLS = 8
SPHERE = Sphere((1.0, -2.0, 0.5), 3.0)
AXIS = (0.48, -0.64, -0.6)
TURNED = np.array([(0.0, 0.6, 0.8), (1.0, 0.0, 0.0), (0.0, 0.8, -0.6)])
INNER, OUTER = math.cos(math.radians(20.0)), math.cos(math.radians(50.0))


def sky_of(kind):
    """An image (h, w, 3) of radiance."""
    generator = np.random.default_rng(7)
    sky = generator.random((6, 12, 3)).astype(np.float32)
    if kind == "constant":
        return np.full((1, 1, 3), (1.0, 2.0, 3.0), np.float32)
    if kind == "bright texel":
        sky[1, 9] = (5000.0, 4000.0, 3000.0)
    if kind == "dark rows":
        sky[[0, 3]] = 0.0
        sky[2, :5] = sky[2, 8:] = 0.0
    return sky


SKIES = ("constant", "noise", "bright texel", "dark rows")
#: Goodness-of-fit tests of this file: of skies (by samples, in loops, and of photons), of a spot, of the disc of a sun
#: by samples and in loops, and of where photons of a sun with and without a disc and of skies start.
TESTS = 3 * len(SKIES) + 1 + 2 + 2 + len(SKIES)


def sky_lights(sky, *others):
    return pack_lights([*others, sky_row(sky, TURNED, SPHERE)], sky)


def sun_lights(cosine):
    return pack_lights([distant_row(AXIS, (3.0, 2.0, 1.0), cosine, SPHERE)])


SPOT = pack_lights([spot_row((1.0, 2.0, 3.0), AXIS, (5.0, 6.0, 7.0), (INNER, OUTER))])


@compiled
def sky_directions(environment, count):
    """(count, 3) directions in the frame of the image."""
    directions = np.empty((count, 3))
    for i in range(count):
        u = random4(np.uint64(1), 0, i, 0, 0)
        directions[i, 0], directions[i, 1], directions[i, 2] = sample_sky(environment, u[0], u[1])[0]
    return directions


def loop_of(leave):
    """A compiled function from an emitter, an environment and a count to origin, direction and flux, (count, 9)."""

    @compiled
    def photons(light, environment, count):
        rows, sky = np.empty((count, 9)), in_loops(environment)
        key = hash_key(np.uint64(4), 0, STREAM_EMISSION)
        for i in range(count):
            photon = leave(light, sky, hash4(key, np.uint32(i), np.uint32(0)))
            for axis in range(3):
                rows[i, axis] = photon.origin[axis]
                rows[i, 3 + axis] = photon.direction[axis]
                rows[i, 6 + axis] = photon.flux[axis]
        return rows

    return photons


def arrival_of(arrive):
    """A compiled function from a light as loops read it, an environment and points (count, 3) to direction, distance,
    pdf and irradiance at each, (count, 8)."""

    @compiled
    def arrivals(light, environment, points):
        rows, sky = np.empty((len(points), 8)), in_loops(environment)
        key = hash_key(np.uint64(2), 0, STREAM_LIGHT)
        for i in range(len(points)):
            bits = hash4(key, np.uint32(i), np.uint32(0))
            arrived = arrive(light, sky, (points[i, 0], points[i, 1], points[i, 2]), (bits[0], bits[1]))
            for axis in range(3):
                rows[i, axis] = arrived.direction[axis]
                rows[i, 5 + axis] = arrived.irradiance[axis]
            rows[i, 3], rows[i, 4] = arrived.distance, arrived.pdf_solid_angle
        return rows

    return arrivals


ARRIVING = {kind.number: arrival_of(kind.arrive) for kind in kinds_with("arrive")}


def in_vector_loops(lights, index, points):
    """(count, 8): what `arrivals` gives of one light at (count, 3) points."""
    light = light_in_loops(lights, index)
    return ARRIVING[lights.rows[index, LIGHT_KIND]](light, lights.environment, np.float32(points))


def light_in_loops(lights, index):
    """A light as loops over shadow rays read it."""
    record = pack_light_records(lights).records[index]
    return Light(*(tuple(record[name]) for name in LIGHT_RECORD.names[:5]), record["density"])  # type: ignore[arg-type, call-arg, index]


def meeting_of(meet):
    """A compiled function from a light as loops read it, an environment and directions (count, 3) to radiance and pdf
    in each, (count, 4)."""

    @compiled
    def meetings(light, environment, directions):
        rows, sky = np.empty((len(directions), 4)), in_loops(environment)
        for i in range(len(directions)):
            radiance, rows[i, 3] = meet(light, sky, (directions[i, 0], directions[i, 1], directions[i, 2]))
            rows[i, 0], rows[i, 1], rows[i, 2] = radiance
        return rows

    return meetings


MEETING = {kind.number: meeting_of(kind.meet) for kind in kinds_with("meet")}


def met(lights, index, directions):
    """(count, 4): radiance and pdf of one light in (count, 3) directions."""
    light = light_in_loops(lights, index)
    return MEETING[lights.rows[index, LIGHT_KIND]](light, lights.environment, np.float32(directions))


def outer_radiance(lights, index, direction):
    return tuple(met(lights, index, np.array([direction]))[0, :3].tolist())


LEAVING = {kind.number: loop_of(kind.leave) for kind in kinds_with("leave")}


def from_outside(lights, count):
    """(count, 9): origin, direction and flux of photons of the only light."""
    (emitter,) = pack_emitters(lights.rows, lights.probability, np.zeros(1, np.bool_))
    corner, flux, normal, edge_1, edge_2 = (tuple(emitter[name]) for name in EMITTER.names[:5])  # type: ignore[index]
    light = Emitter(corner, edge_1, edge_2, normal, flux, emitter["size"])
    return LEAVING[lights.rows[0, LIGHT_KIND]](light, lights.environment, count)


def spherical(azimuth, y):
    """(n, 3) unit directions in the frame of an image: angles from -z to +x (n,) at a height."""
    radius = math.sqrt(1.0 - y * y)
    return np.stack([radius * np.sin(azimuth), np.full_like(azimuth, y), -radius * np.cos(azimuth)], axis=-1)


def turn_about(axis, vectors):
    """(n,) angles of (n, 3) vectors about a unit axis."""
    across = np.cross(axis, (0.0, 0.0, 1.0))
    across /= np.linalg.norm(across)
    return np.arctan2(vectors @ np.cross(axis, across), vectors @ across)


def intensity_of_spot(cosine):
    """(3,) W/sr at an angle from the axis, by the irradiance at distance 1."""
    tangent = np.cross(AXIS, (0.0, 0.0, 1.0))
    tangent /= np.linalg.norm(tangent)
    direction = cosine * np.array(AXIS) + math.sqrt(1.0 - cosine**2) * tangent
    return np.array(sample_light(SPOT, tuple(np.array((1.0, 2.0, 3.0)) + direction), (0.5, 0.5, 0.5)).irradiance)


def test_the_power_of_a_spot_is_the_integral_of_its_intensity():
    nodes, weights = np.polynomial.legendre.leggauss(12)
    total = 2.0 * math.pi * (1.0 - INNER) * np.array((5.0, 6.0, 7.0))
    for node, weight in zip(nodes, weights, strict=True):
        cosine = OUTER + 0.5 * (node + 1.0) * (INNER - OUTER)
        total += math.pi * (INNER - OUTER) * weight * intensity_of_spot(cosine)
    np.testing.assert_allclose(powers(SPOT.rows)[0], total, rtol=1e-9)


def test_a_spot_is_even_within_and_fades_smoothly_to_nothing():
    assert intensity_of_spot(1.0) == pytest.approx((5.0, 6.0, 7.0))
    assert intensity_of_spot(INNER + 1e-9) == pytest.approx((5.0, 6.0, 7.0))
    assert intensity_of_spot(0.5 * (INNER + OUTER)) == pytest.approx((2.5, 3.0, 3.5))
    assert intensity_of_spot(0.25 * INNER + 0.75 * OUTER)[0] == pytest.approx(5.0 * 0.15625)
    assert not intensity_of_spot(OUTER - 1e-9).any()
    falling = [intensity_of_spot(cosine)[0] for cosine in np.linspace(INNER, OUTER, 20)]
    assert np.all(np.diff(falling) < 0.0)


def test_photons_of_a_spot_leave_by_its_intensity(assert_fits):
    rows = emitted(SPOT, 0, MANY_DRAWS)
    assert np.all(rows[:, :3] == (1.0, 2.0, 3.0))
    assert np.allclose(rows[:, 6:], powers(SPOT.rows))
    cosines = rows[:, 3:6] @ AXIS
    assert cosines.min() > OUTER - 1e-6
    edges = np.concatenate([np.linspace(OUTER, INNER, 9), np.linspace(INNER, 1.0, 5)[1:]])
    middles = 0.5 * (edges[1:] + edges[:-1])
    t = np.clip((middles - OUTER) / (INNER - OUTER), 0.0, 1.0)
    step = np.diff(np.clip((edges - OUTER) / (INNER - OUTER), 0.0, 1.0))
    # The mean over a step of width h about t of a polynomial of third degree is that in the middle and h^2 / 24 f''.
    weights = (3.0 * t**2 - 2.0 * t**3 + step**2 / 24.0 * (6.0 - 12.0 * t) * (step > 0.0)) * np.diff(edges)
    counts = np.histogram2d(cosines, turn_about(AXIS, rows[:, 3:6]), (np.append(edges[:-1], 1.1), CELLS))[0]
    assert_fits(counts, np.repeat(weights / weights.sum(), CELLS) / CELLS * MANY_DRAWS, TESTS)


@pytest.mark.parametrize(("inner", "outer"), [(20.0, 50.0), (0.0, 40.0), (40.0, 40.0), (10.0, 180.0), (0.5, 1.0)])
def test_light_of_a_spot_in_loops_is_that_of_its_samples(inner, outer):
    """At random points about its axis; beside another light, so that the choice counts."""
    cosines = (math.cos(math.radians(inner)), math.cos(math.radians(outer)))
    spot = spot_row((1.0, 2.0, 3.0), AXIS, (5.0, 6.0, 7.0), cosines)
    lights = pack_lights([spot, point_row((0.0, 0.0, 9.0), (1.0, 1.0, 1.0))])
    generator = np.random.default_rng(3)
    beside = math.tan(math.radians(min(outer, 60.0))) * generator.standard_normal((500, 3))
    points = np.float32((1.0, 2.0, 3.0) + (np.array(AXIS) + beside) * generator.uniform(1.0, 5.0, (500, 1)))
    rows = in_vector_loops(lights, 0, points)
    samples = [sample_light(lights, tuple(map(float, point)), (0.0, 0.5, 0.5)) for point in points]  # type: ignore[arg-type, attr-defined]
    expected = np.array([(*s.direction, s.distance, s.pdf_solid_angle, *s.irradiance) for s in samples])
    np.testing.assert_allclose(rows[:, :5], expected[:, :5], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(rows[:, 5:], expected[:, 5:], rtol=1e-5, atol=1e-5 * expected[:, 5:].max())
    assert np.ptp(expected[:, 5]) > 0.5 * expected[:, 5].max()


@pytest.mark.parametrize("cosine", [1.0, math.cos(math.radians(0.27)), 0.8])
def test_a_sun_has_its_irradiance_across_it(cosine):
    rows = sampled(sun_lights(cosine), (0.0, 0.0, 0.0), DRAWS)
    towards = rows[:, :3] @ -np.array(AXIS)
    assert_mean(rows[:, 5:] * towards[:, None], (3.0, 2.0, 1.0))
    assert towards.min() > cosine - 1e-12
    assert np.all(rows[:, 3] == pytest.approx(BEYOND * SPHERE.radius))
    if cosine == 1.0:
        assert not rows[:, 4].any()
        np.testing.assert_allclose(rows[:, :3], np.tile(-np.array(AXIS), (DRAWS, 1)))


def test_the_disc_of_a_sun_is_as_bright_as_said(assert_fits):
    lights = sun_lights(0.8)
    solid_angle = 2.0 * math.pi * 0.2
    for rows in (sampled(lights, (0.0, 0.0, 0.0), MANY_DRAWS), in_vector_loops(lights, 0, np.zeros((MANY_DRAWS, 3)))):
        assert np.allclose(rows[:, 4], 1.0 / solid_angle)
        assert np.allclose(rows[:, 5:] * rows[:, 4:5], np.array((3, 2, 1)) / (math.pi * 0.36))
        heights, turns = rows[:, :3] @ -np.array(AXIS), turn_about(AXIS, rows[:, :3])
        edges = (np.linspace(0.8, 1.0, CELLS + 1) + np.array([-1e-6, *[0.0] * (CELLS - 1), 1e-6]), CELLS)
        counts = np.histogram2d(heights, turns, edges, ((0.8, 1.0), (-math.pi, math.pi)))[0]
        assert_fits(counts, np.full((CELLS, CELLS), MANY_DRAWS / CELLS**2), TESTS)
    assert outer_radiance(lights, 0, AXIS) == (0.0, 0.0, 0.0)
    assert light_pdf(lights, 0, AXIS, AXIS, 1.0) == 0.0


@pytest.mark.parametrize("degrees", [0.0, 0.27, 10.0, 90.0])
def test_light_of_a_sun_in_loops_is_that_of_its_samples(degrees):
    """Beside another light, so that the choice counts."""
    cosine = math.cos(math.radians(degrees))
    sun = distant_row(AXIS, (3.0, 2.0, 1.0), cosine, SPHERE)
    lights = pack_lights([sun, point_row((0.0, 0.0, 9.0), (40.0, 40.0, 40.0))])
    rows = in_vector_loops(lights, 0, np.zeros((2000, 3)))
    sample = sample_light(lights, (0.0, 0.0, 0.0), (0.0, 0.5, 0.5))
    np.testing.assert_allclose(rows[:, 3:5], np.tile((sample.distance, sample.pdf_solid_angle), (2000, 1)), rtol=1e-6)
    np.testing.assert_allclose(rows[:, 5:], np.tile(sample.irradiance, (2000, 1)), rtol=1e-6)
    sines = np.linalg.norm(np.cross(rows[:, :3], AXIS), axis=1)
    assert np.quantile(sines, 0.5) == pytest.approx(math.sqrt(1.0 - (0.5 + 0.5 * cosine) ** 2), rel=0.05, abs=1e-7)
    assert sines.max() <= math.sin(math.radians(degrees)) * (1.0 + 1e-4) + 1e-7


@pytest.mark.parametrize("degrees", [0.05, 0.27, 10.0, 90.0])
def test_rays_meet_the_disc_of_a_sun_up_to_its_edge(degrees):
    """With the density that shadow rays have, beside another light."""
    cosine = math.cos(math.radians(degrees))
    sun = distant_row(AXIS, (3.0, 2.0, 1.0), cosine, SPHERE)
    lights = pack_lights([sun, point_row((0.0, 0.0, 9.0), (40.0, 40.0, 40.0))])
    across = np.cross(AXIS, (0.0, 0.0, 1.0)) / np.linalg.norm(np.cross(AXIS, (0.0, 0.0, 1.0)))
    angles = np.radians(degrees * np.array([0.0, 0.5, 0.999, 1.001, 1.5, 2.0]))
    rows = met(lights, 0, np.outer(np.cos(angles), -np.array(AXIS)) + np.outer(np.sin(angles), across))
    pdf = lights.probability[0] / (2.0 * math.pi * (1.0 - cosine))
    radiance = np.array((3.0, 2.0, 1.0)) / (math.pi * math.sin(math.radians(degrees)) ** 2)
    np.testing.assert_allclose(rows[:3], np.tile((*radiance, pdf), (3, 1)), rtol=1e-6)
    assert not rows[3:].any()
    arrived = in_vector_loops(lights, 0, np.zeros((2000, 3)))
    assert np.mean(met(lights, 0, arrived[:, :3])[:, 3] > 0.0) > 0.995


@pytest.mark.parametrize("kind", SKIES)
def test_directions_of_a_sky_have_the_density_that_is_said(kind, assert_fits):
    """In a quarter of each texel, for shadow rays one by one and in loops, and for photons."""
    sky = sky_of(kind)
    environment = pack_environment(sky)
    assert_density(environment, sky_directions(environment, MANY_DRAWS), assert_fits)
    arrived = in_vector_loops(sky_lights(sky), 0, np.zeros((MANY_DRAWS, 3)))
    assert_density(environment, arrived[:, :3] @ TURNED.T, assert_fits)
    photons = from_outside(sky_lights(sky), MANY_DRAWS)
    assert_density(environment, -photons[:, 3:6] @ TURNED.T, assert_fits)
    colors = sky[sky[..., 1] > 0.0]
    of_photons, of_texels = photons[:500, 6] / photons[:500, 7], colors[:, 0] / colors[:, 1]
    np.testing.assert_allclose(np.abs(of_photons[:, None] - of_texels).min(axis=1), 0.0, atol=1e-5)


def assert_density(environment, drawn, assert_fits):
    """Directions (n, 3) have the density of a sky."""
    height, width, _ = environment.radiance.shape
    np.testing.assert_allclose(np.linalg.norm(drawn, axis=1), 1.0, rtol=1e-6)
    rows = np.cos(np.linspace(0.0, math.pi, height + 1))
    heights = np.sort(np.concatenate([rows, 0.5 * (rows[1:] + rows[:-1])]))
    turns = np.linspace(-math.pi, math.pi, 4 * width + 1)
    counts = np.histogram2d(drawn[:, 1], np.arctan2(drawn[:, 0], -drawn[:, 2]), bins=(heights, turns))[0]
    middle, azimuth = 0.5 * (heights[1:] + heights[:-1]), 0.5 * (turns[1:] + turns[:-1])
    density = np.array(
        [[texel_pdf(environment, texel_of(environment, tuple(d))) for d in spherical(azimuth, y)] for y in middle]
    )
    expected = density * np.outer(np.diff(heights), np.diff(turns)) * len(drawn)
    assert_fits(counts, expected, TESTS)


def test_texels_are_where_they_are_said_to_be():
    """The first row is up, the middle of a row along -z, and right of it is +x."""
    sky = np.arange(4 * 8 * 3, dtype=np.float32).reshape(4, 8, 3)
    environment = pack_environment(sky)
    for direction, row, column in (
        ((0.0, 1.0, -1e-3), 0, 4),
        ((0.1, 0.05, -1.0), 1, 4),
        ((-0.1, -0.05, -1.0), 2, 3),
        ((1.0, 0.05, -0.1), 1, 5),
        ((-1.0, -0.05, -0.1), 2, 2),
        ((0.1, 0.05, 1.0), 1, 7),
        ((-0.1, 0.05, 1.0), 1, 0),
        ((0.1, -1.0, 0.2), 3, 7),
    ):
        unit = np.array(direction) / np.linalg.norm(direction)
        assert texel_of(environment, tuple(unit)) == (row, column), direction
        assert texel_radiance(environment, (row, column)) == tuple(sky[row, column].tolist())


def test_the_edges_of_the_image_are_in_it():
    environment = pack_environment(sky_of("noise"))
    for direction in ((0.0, 1.0, 0.0), (0.0, -1.0, 0.0), (0.0, 0.0, 1.0), (-0.0, 0.0, 1.0), (0.0, 1.0 + 1e-12, 0.0)):
        texel = texel_of(environment, direction)
        assert texel_radiance(environment, texel)[0] > 0.0
        assert texel_pdf(environment, texel) > 0.0


@pytest.mark.parametrize("kind", SKIES)
def test_the_sky_that_arrives_is_all_of_it(kind):
    sky = sky_of(kind)
    lights = sky_lights(sky, point_row((0.0, 0.0, 9.0), (40.0, 40.0, 40.0)))
    rows = sampled(lights, (0.0, 0.0, 0.0), DRAWS)
    rows[rows[:, 4] == 0.0, 5:] = 0.0  # the point light
    assert_mean(rows[:, 5:], (solid_angles(*sky.shape[:2])[:, None] * sky.sum(axis=1)).sum(axis=0))
    for row in rows[rows[:, 4] > 0.0][:200]:
        direction = tuple(row[:3])
        assert light_pdf(lights, 1, AXIS, direction, row[3]) == row[4]
        assert np.array(outer_radiance(lights, 1, direction)) / row[4] == pytest.approx(row[5:])


@pytest.mark.parametrize("kind", SKIES)
def test_light_of_a_sky_in_loops_is_that_of_its_texels(kind):
    """Beside another light, so that the choice counts: what shadow rays bring and what is said of rays that meet it."""
    lights = sky_lights(sky_of(kind), point_row((0.0, 0.0, 9.0), (40.0, 40.0, 40.0)))
    rows = in_vector_loops(lights, 1, np.zeros((2000, 3)))
    np.testing.assert_allclose(rows[:, 3], BEYOND * SPHERE.radius, rtol=1e-6)
    for row in rows:
        direction = tuple(row[:3])
        assert row[4] == pytest.approx(light_pdf(lights, 1, AXIS, direction, row[3]), rel=1e-5)
        assert row[5:] * row[4] == pytest.approx(outer_radiance(lights, 1, direction), rel=1e-5)


@pytest.mark.parametrize("kind", SKIES)
def test_rays_meet_the_texel_of_a_sky_that_they_point_to(kind):
    lights = sky_lights(sky_of(kind), point_row((0.0, 0.0, 9.0), (40.0, 40.0, 40.0)))
    ends = [
        (x, y, z) for x in (-1.0, -0.0, 0.0, 1.0) for y in (-1.0, 0.0, 1.0) for z in (-1.0, 0.0, 1.0) if x or y or z
    ]
    own = np.concatenate([np.random.default_rng(2).standard_normal((2000, 3)), ends])
    own = np.float32(own / np.linalg.norm(own, axis=1, keepdims=True)).astype(np.float64)  # type: ignore[assignment]
    texels = [texel_of(lights.environment, tuple(direction)) for direction in own]
    radiance = np.array([texel_radiance(lights.environment, texel) for texel in texels])
    pdfs = lights.probability[1] * np.array([texel_pdf(lights.environment, texel) for texel in texels])
    straight = sky_row(sky_of(kind), np.eye(3), SPHERE)
    rows = met(pack_lights([point_row((0.0, 0.0, 9.0), (40.0, 40.0, 40.0)), straight], sky_of(kind)), 1, own)
    np.testing.assert_allclose(rows[:, :3], radiance)
    np.testing.assert_allclose(rows[:, 3], pdfs, rtol=1e-5)
    turned = met(lights, 1, own[:2000] @ TURNED)
    assert np.mean(np.all(turned == rows[:2000], axis=1)) > 0.999  # but for those at the edge of a texel


OUTER_LIGHTS = {"sun": sun_lights(1.0), "disc": sun_lights(0.8), **{kind: sky_lights(sky_of(kind)) for kind in SKIES}}


@pytest.mark.parametrize("name", OUTER_LIGHTS)
def test_photons_from_outside_bring_the_power_through_the_sphere(name):
    lights = OUTER_LIGHTS[name]
    rows = from_outside(lights, DRAWS)
    assert_mean(rows[:, 6:], powers(lights.rows)[0])
    # Through a ball of half the radius goes a quarter of the flux, wherever in the sphere it is.
    offsets = rows[:, :3] - (np.array(SPHERE.middle) + (0.0, 1.2, 0.5))
    missed_by = np.linalg.norm(np.cross(offsets, rows[:, 3:6]), axis=1)
    assert_mean(rows[:, 6:] * (missed_by < 1.5)[:, None], powers(lights.rows)[0] / 4.0)


@pytest.mark.parametrize("name", OUTER_LIGHTS)
def test_photons_from_outside_start_anywhere_on_a_disc(name, assert_fits):
    """Rings of one area and sectors hold the same, seen along each photon."""
    rows = from_outside(OUTER_LIGHTS[name], MANY_DRAWS)
    offsets, directions = rows[:, :3] - SPHERE.middle, rows[:, 3:6]
    beside = offsets - np.einsum("ij,ij->i", offsets, directions)[:, None] * directions
    ring = np.einsum("ij,ij->i", beside, beside) / SPHERE.radius**2
    across = np.cross(directions, (0.36, 0.48, 0.8))
    turns = np.arctan2(
        np.einsum("ij,ij->i", beside, np.cross(directions, across)), np.einsum("ij,ij->i", beside, across)
    )
    counts = np.histogram2d(ring, turns, CELLS, ((0.0, 1.0), (-math.pi, math.pi)))[0]
    assert_fits(counts, np.full((CELLS, CELLS), MANY_DRAWS / CELLS**2), TESTS)


def test_the_power_of_lights_from_outside():
    cross_section = math.pi * 9.0
    np.testing.assert_allclose(powers(OUTER_LIGHTS["sun"].rows)[0], np.array((3.0, 2.0, 1.0)) * cross_section)
    expected = np.array((1.0, 2.0, 3.0)) * 4.0 * math.pi * cross_section
    np.testing.assert_allclose(powers(OUTER_LIGHTS["constant"].rows)[0], expected)
    # A disc of radiance L sends L times its solid angle through the cross-section.
    radiance = np.array((3.0, 2.0, 1.0)) / (math.pi * 0.36)
    np.testing.assert_allclose(powers(OUTER_LIGHTS["disc"].rows)[0], radiance * 2.0 * math.pi * 0.2 * cross_section)


@pytest.mark.parametrize("point", [(0.0, 0.0, 0.0), (1.0, 2.0, 2.99), (400.0, -300.0, 50.0)])
def test_light_of_a_ball_in_loops_is_that_of_its_cone(point):
    ball = sphere_row((1.0, 2.0, 5.0), 2.0, 0.99 * 16.0 * math.pi, (1.0, 0.5, 2.0))
    lights = pack_lights([ball, point_row((0.0, 0.0, 9.0), (40.0, 40.0, 40.0))])
    rows = in_vector_loops(lights, 0, np.tile(point, (2000, 1)))
    towards = (np.array((1.0, 2.0, 5.0)) - point) / math.dist((1.0, 2.0, 5.0), point)
    for row in rows:
        inner = 0.999 * row[:3] + 0.001 * towards  # not at the edge, where float32 may be out of the cone
        density = light_pdf(lights, 0, point, tuple(inner / np.linalg.norm(inner)), 1.0)
        assert row[4] == pytest.approx(density, rel=1e-4)
    np.testing.assert_allclose(rows[:, 5:] * rows[:, 4:5], np.tile((1.0, 0.5, 2.0), (2000, 1)), rtol=1e-5)
    ends = np.array(point) + rows[:, :3] * rows[:, 3:4] / SHADOW_END - (1.0, 2.0, 5.0)
    np.testing.assert_allclose(np.linalg.norm(ends, axis=1), 2.0, rtol=1e-2)


@pytest.mark.parametrize(("inner", "outer"), [(0.0, 40.0), (40.0, 40.0), (10.0, 180.0), (0.0, 0.0)])
def test_spots_of_extreme_angles(inner, outer):
    cosines = (math.cos(math.radians(inner)), math.cos(math.radians(outer)))
    lights = pack_lights([point_row((9.0, 9.0, 9.0), (1.0, 1.0, 1.0)), spot_row(AXIS, AXIS, (1.0, 1.0, 1.0), cosines)])
    assert np.isfinite(lights.probability).all()
    if lights.probability[1] > 0.0:
        rows = emitted(lights, 1, 2000)
        assert np.isfinite(rows).all()
        assert np.all(rows[:, 3:6] @ AXIS > cosines[1] - 1e-6)


def test_a_black_sky_is_never_chosen():
    lights = sky_lights(np.zeros((3, 6, 3), np.float32), point_row(AXIS, (1.0, 1.0, 1.0)))
    assert lights.probability.tolist() == [1.0, 0.0]
    assert light_pdf(lights, 1, AXIS, (0.0, 1.0, 0.0), 1.0) == 0.0
    assert np.isfinite(lights.environment.rows).all()
