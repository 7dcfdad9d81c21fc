"""The 24-byte photon, the grid, and what is gathered from it."""

import math

import numpy as np
import pytest

from renderer.photons.building import build_photon_map
from renderer.photons.photon_map import (
    DISC_THICKNESS,
    NORMAL_COSINE,
    PHOTON,
    PHOTON_FLUX,
    PHOTON_NORMAL,
    PHOTON_WORDS,
    SURFACES_LEFT,
    cell_of,
    find,
    gather,
    pack_flux,
    unpack_flux,
)
from renderer.photons.searching import MOST_RUNS, SEARCH_COLUMNS, SearchPlaces, find_all
from renderer.simd.columns import CHUNK, COLUMN, ELEMENTS
from shaders.compilation import compiled
from shaders.octahedral import pack_unit, unpack_unit
from tracecore.compilation.vector import address

UP = (0.0, 0.0, 1.0)


def directions(count, seed=1):
    v = np.random.default_rng(seed).normal(size=(count, 3))
    return v / np.linalg.norm(v, axis=1, keepdims=True)


def make_photons(positions, direction=UP, normal=UP, flux=(1.0, 0.5, 0.25)):
    """Photons that all came from one direction with one flux: (n, PHOTON_WORDS)."""
    photons = np.zeros(len(positions), PHOTON)
    photons["position"] = positions
    photons["direction"] = pack_unit(direction)
    photons["normal"] = pack_unit(normal)
    photons["flux"] = pack_flux(flux, 0.5)
    return photons.view(np.uint32).reshape(-1, PHOTON_WORDS)


@compiled
def gather_at(photon_map, point, normal, bent, radius):
    return gather(photon_map, point, normal, bent, radius)


def test_directions_keep_four_digits():
    axes = [(s * x, s * y, s * z) for s in (1.0, -1.0) for x, y, z in np.eye(3).tolist()]
    for v in [*axes, *directions(500).tolist()]:
        back = unpack_unit(np.uint32(pack_unit(tuple(v))))
        assert math.dist(back, v) < 1.2e-4


def test_flux_keeps_its_mean():
    rng = np.random.default_rng(2)
    for flux in ((1.0, 0.3, 0.7), (3e-4, 1e-5, 2e-4), (0.999, 1.0, 0.001), (0.9989, 0.0014, 0.5), (100.0, 1.0, 0.0)):
        unpacked = np.array([unpack_flux(np.uint32(pack_flux(flux, u))) for u in rng.random(4000)])
        step = 2.0 ** (math.frexp(max(flux))[1] - 9)
        assert np.all(np.abs(unpacked - flux) <= 2.0 * step)
        error = unpacked.std(axis=0) / math.sqrt(len(unpacked)) + 1e-12
        assert np.all(np.abs(unpacked.mean(axis=0) - flux) < 4.0 * error)


@compiled
def cell_at(grid, position):
    return cell_of(grid, position)


def test_every_photon_is_in_its_cell_in_the_order_given():
    positions = np.random.default_rng(4).random((5000, 3)).astype(np.float32)
    photons = make_photons(positions)
    photons[:, PHOTON_FLUX] = np.arange(5000)  # a name for each
    made = build_photon_map(photons, 0.13, 1.0)
    assert sorted(made.columns[PHOTON_FLUX, :5000]) == list(range(5000))
    for k in range(5000):
        assert made.columns[:, k].tolist() == photons[made.columns[PHOTON_FLUX, k]].tolist()
    cells = np.array([cell_at(made.grid, tuple(position)) for position in positions])
    places = np.floor((positions.astype(np.float64) - made.grid.low) / made.grid.cell)
    assert np.mean(cells == places @ (1, made.grid.shape[0], made.grid.shape[0] * made.grid.shape[1])) > 0.999
    assert made.starts[0] == 0
    assert made.starts[-1] == 5000
    for cell in range(len(made.starts) - 1):
        inside = made.columns[PHOTON_FLUX, made.starts[cell] : made.starts[cell + 1]]
        assert inside.tolist() == np.flatnonzero(cells == cell).tolist()


class EveryPhoton:
    """What `gather` finds, by looking at every photon."""

    def __init__(self, photons, scale):
        records = photons.view(PHOTON).ravel()
        self.positions = records["position"].astype(np.float64)
        self.normals, self.directions = (
            np.array([unpack_unit(word) for word in records[name]]) for name in ("normal", "direction")
        )
        self.flux = np.array([unpack_flux(word) for word in records["flux"]])
        self.scale = scale

    def gather(self, point, normal, bent, radius):
        offset, flat, tilted = self.positions - point, self.directions @ normal, self.directions @ bent
        near = np.sum(offset**2, axis=1) <= radius**2
        near &= np.abs(offset @ normal) <= DISC_THICKNESS * radius
        near &= (self.normals @ normal >= NORMAL_COSINE) & (flat > 0.0) & (tilted > 0.0)
        tilt = np.minimum(tilted[near] / flat[near], 4.0)
        return self.scale * (self.flux[near] * tilt[:, None]).sum(axis=0) / (math.pi * radius**2)


@pytest.mark.parametrize("larger", [1.0, 1.7])
def test_gather_finds_what_looking_at_every_photon_finds(larger):
    """Points in and around a cloud of photons of all directions, normals and fluxes."""
    rng = np.random.default_rng(9)
    photons = make_photons(rng.random((4000, 3)) * (1.0, 0.7, 0.4))
    records = photons.view(PHOTON).ravel()
    records["normal"] = [pack_unit(tuple(v)) for v in directions(4000, 10).tolist()]
    records["direction"] = [pack_unit(tuple(v)) for v in directions(4000, 11).tolist()]
    records["flux"] = [pack_flux(tuple(c), 0.5) for c in rng.random((4000, 3)).tolist()]
    radius = 0.11
    grid, every = build_photon_map(photons, larger * radius, 3.0), EveryPhoton(photons, 3.0)
    found = 0
    points = rng.random((500, 3)) * (1.4, 1.1, 0.8) - 0.2
    for point, normal, lean in zip(points, directions(500, 12), directions(500, 13), strict=True):
        bent = normal + 0.7 * lean
        bent /= np.linalg.norm(bent)
        arguments = (tuple(point.tolist()), tuple(normal.tolist()), tuple(bent.tolist()), radius)
        expected = every.gather(*arguments)
        np.testing.assert_allclose(gather_at(grid, *arguments), expected, rtol=2e-6)
        found += expected[0] > 0.0
    assert found > 80


@pytest.mark.parametrize(("lean", "width"), [(0.0, 1.0), (0.4, 1.0), (0.0, 0.1)])
def test_many_photons_of_a_disc_are_added_as_they_are(lean, width):
    """Of many fluxes, some of which face elsewhere, so that no sixteen are like the next; also where the cells behind a
    row are near."""
    rng = np.random.default_rng(14)
    photons = make_photons(rng.random((3000, 3)) * (width, 1.0, 0.0))
    records = photons.view(PHOTON).ravel()
    records["direction"] = [pack_unit(tuple(v)) for v in directions(3000, 15).tolist()]
    records["flux"] = [pack_flux(tuple(c), 0.5) for c in rng.random((3000, 3)).tolist()]
    made, every = build_photon_map(photons, 0.07, 3.0), EveryPhoton(photons, 3.0)
    bent = (math.sin(lean), 0.0, math.cos(lean))
    for radius in (0.01, 0.04, 0.07, 0.3):
        for point in rng.random((20, 3)) * (width, 1.0, 0.0):
            arguments = (tuple(point.tolist()), UP, bent, radius)
            np.testing.assert_allclose(gather_at(made, *arguments), every.gather(*arguments), rtol=2e-6)


def test_nothing_leaks_through_walls_or_around_corners():
    here = np.random.default_rng(7).random((1000, 3)) * (1.0, 1.0, 0.0)
    point, radius = (0.5, 0.5, 0.0), 0.2
    seen = gather_at(build_photon_map(make_photons(here), radius, 1.0), point, UP, UP, radius)
    assert seen[0] > 0.0
    for photons in (
        make_photons(here, direction=(0.0, 0.0, -1.0), normal=(0.0, 0.0, -1.0)),  # the back of a thin wall
        make_photons(here + np.array([0.0, 0.0, 0.3 * radius])),  # another wall close in front
        make_photons(here, direction=(0.6, 0.0, 0.8), normal=(1.0, 0.0, 0.0)),  # the wall around the corner
        make_photons(here, direction=(0.6, 0.0, -0.8)),  # light from below the surface
    ):
        grid = build_photon_map(photons, radius, 1.0)
        assert gather_at(grid, point, UP, UP, radius) == (0.0, 0.0, 0.0)


@compiled
def found_together(photon_map, search, points, normals, bent, count):
    return find_all(photon_map, search[0], SearchPlaces(address(points), address(normals), address(bent)), count)


@compiled
def found_alone(photon_map, point, normal, bent, radius, between):
    return find(photon_map, point, normal, bent, radius, between)


def test_a_search_passes_by_photons_that_have_too_few_surfaces_left():
    """Photons with 0 to 15 surfaces left, of which 15 stand for all that are more."""
    photons = make_photons(np.zeros((16, 3)))
    photons[:, PHOTON_NORMAL] = photons[:, PHOTON_NORMAL] & ~SURFACES_LEFT | np.arange(16, dtype=np.uint32)
    photon_map = build_photon_map(photons, 0.1, 1.0)
    found = [found_alone(photon_map, (0.0, 0.0, 0.0), UP, UP, 0.1, between).photons for between in range(18)]
    assert found == [*range(16, 0, -1), 1, 1]


def looked_at(count, seed):
    """Columns of vertices in and around the unit cube, some of them with bent normals."""
    rng = np.random.default_rng(seed)
    points, normals = np.zeros((3, COLUMN), np.float32), np.zeros((3, COLUMN), np.float32)
    points[:, :count] = rng.random((3, count)) * 1.2 - 0.1
    normals[:, :count] = directions(count, seed).T
    normals[:, : count // 2] = [[0.0], [0.0], [1.0]]
    bent = normals.copy()
    bent[:, :count:3] = directions(len(range(0, count, 3)), seed + 1).T
    return points, normals, bent


@pytest.mark.parametrize("count", [1, 16, 33, CHUNK])
@pytest.mark.parametrize("photons", [0, 50, 20_000])
def test_a_chunk_finds_what_its_vertices_find(photons, count):
    rng = np.random.default_rng(photons + count)
    made = make_photons(rng.random((photons, 3)), direction=(0.36, 0.48, 0.8), flux=(1.0, 0.5, 0.25))
    made[:, PHOTON_FLUX] = [pack_flux(tuple(flux), 0.5) for flux in rng.random((photons, 3))]
    made[:, PHOTON_NORMAL] ^= rng.integers(0, 16, photons, np.uint32)
    photon_map = build_photon_map(made, 0.05, 1.0)
    points, normals, bent = looked_at(count, count)
    search = np.zeros(1, SEARCH_COLUMNS)
    search["radius"][0, :count] = rng.choice([-1.0, 0.01, 0.05, 0.2, 0.6], count)
    search["between"][0, :count] = rng.choice([0, 0, 0, 3, 12], count)
    length = found_together(photon_map, search, points, normals, bent, count)
    together = {
        int(search["found"][0, k]): (tuple(search["flux"][0, k].tolist()), int(search["photons"][0, k]))
        for k in range(length)
    }
    alone = {}
    for i in np.flatnonzero(search["radius"][0, :count] > 0.0).tolist():
        disc = [tuple(column[:, i].tolist()) for column in (points, normals, bent)]
        found = found_alone(photon_map, *disc, float(search["radius"][0, i]), int(search["between"][0, i]))  # type: ignore[call-arg]
        if found.photons > 0:
            alone[i] = (found.flux, found.photons)
    assert together == alone
    if (photons, count) == (20_000, CHUNK):
        assert len(alone) > CHUNK // 5
        assert max(photons for _, photons in alone.values()) > MOST_RUNS * ELEMENTS
