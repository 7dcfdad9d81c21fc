"""Irradiance at photons, and the nearest of them."""

import numpy as np
import pytest
from photon_clouds import photons_in_a_cloud
from small_scenes import lamp_in_box

import tracecore
from renderer.photons.building import build_photon_map
from renderer.photons.irradiance import (
    CROWD,
    EVERY,
    find_sample,
    irradiance_at_sample,
    irradiance_map,
    nearest_within,
    no_irradiance,
)
from renderer.photons.photon_map import NORMAL_COSINE, gather
from shaders.compilation import compiled
from shaders.octahedral import unpack_unit
from tracecore.workers.pool import WorkerPool


@compiled
def sample_near(samples, point, normal, reach, thickness):
    return nearest_within(samples, point, normal, (reach, thickness))


@compiled
def found_near(irradiance, point, normal):
    return find_sample(irradiance, point, normal)


@compiled
def known_at(irradiance, index):
    return irradiance_at_sample(irradiance, index, 0)


@compiled
def gather_at(photon_map, point, normal, radius):
    return gather(photon_map, point, normal, normal, radius)


def positions_in(places):
    """Where the photons of a map are: (n, 3) float64."""
    return places.columns[:3, : places.photons].view(np.float32).T.astype(np.float64)


@pytest.fixture
def pool():
    with tracecore.open_tracer(lamp_in_box().positions, device="cpu", threads=2) as tracer:
        made = WorkerPool(tracer, 2)
        yield made
        made.close()


@pytest.mark.parametrize(("reach", "thickness"), [(0.05, 0.05), (0.3, 0.3), (0.3, 0.02)])
def test_the_nearest_place_is_that_of_looking_at_all(reach, thickness):
    samples = build_photon_map(photons_in_a_cloud(800), 0.1, 1.0)
    normals = np.array([unpack_unit(word) for word in samples.columns[4, :800]])
    positions = positions_in(samples)
    missed = 0
    for point in np.random.default_rng(4).random((100, 3)) * (1.2, 1.2, 0.4) - (0.1, 0.1, 0.05):
        for normal in ((0.0, 0.0, 1.0), (0.8, 0.0, 0.6)):
            away = np.linalg.norm(positions - point, axis=1)
            away[normals @ normal < NORMAL_COSINE] = np.inf
            away[np.abs((positions - point) @ normal) > thickness] = np.inf
            expected = int(np.argmin(away)) if away.min() <= reach else -1
            missed += expected < 0
            assert sample_near(samples, tuple(point.tolist()), normal, reach, thickness) == expected
    assert missed == 0 if thickness == 0.3 else 0 < missed < 200


def test_irradiance_is_that_of_the_photons_that_are_no_places(pool):
    """Within the radius, or less where a cell has many places."""
    photons = photons_in_a_cloud(2_000)
    made = irradiance_map(photons, 0.1, 2.0, pool)
    others = build_photon_map(photons[np.arange(len(photons)) % EVERY != 0], 0.1, 2.0 * EVERY / (EVERY - 1))
    assert len(made.values) == len(photons) // EVERY
    crowd = np.diff(made.samples.starts)
    crowd = np.repeat(crowd, crowd) * (0.1 / made.samples.grid.cell) ** 2
    positions = positions_in(made.samples)
    for i in range(0, len(made.values), 7):
        place, normal = positions[i], unpack_unit(made.samples.columns[4, i])
        radius = 0.1 * np.sqrt(min(1.0, CROWD / crowd[i]))
        expected = gather_at(others, tuple(place.tolist()), normal, radius)
        np.testing.assert_allclose(made.values[i], expected, rtol=1e-12)
    assert crowd.min() < CROWD < crowd.max()


def test_irradiance_far_from_all_photons_is_dark(pool):
    made = irradiance_map(photons_in_a_cloud(400), 0.1, 1.0, pool)
    up, nowhere = (0.0, 0.0, 1.0), -1
    place, normal = positions_in(made.samples)[3], unpack_unit(made.samples.columns[4, 3])
    here, beside = found_near(made, tuple(place.tolist()), normal), found_near(made, (1.4, 0.5, 0.15), up)
    assert here == (3, False)
    assert known_at(made, here.sample) == tuple(made.values[3])
    assert beside.sample >= 0
    assert beside.is_doubtful  # a few cells away, so that something may be in between
    assert found_near(made, (99.0, 0.5, 0.15), up).sample == nowhere
    assert found_near(made, (0.5, 0.5, 0.6), up).sample == nowhere  # another floor
    assert found_near(made, (0.5, 0.5, 0.1), (0.0, 0.0, -1.0)).sample == nowhere  # none on that side
    assert found_near(no_irradiance(), (0.5, 0.5, 0.1), up).sample == nowhere


@pytest.mark.parametrize("found", [2.0, 20.0])
def test_the_irradiance_at_places_is_right_on_average(found, pool):
    """However few photons a disc has: one that counted itself would add one of them."""
    values = []
    radius = np.sqrt(found / 3_000 / np.pi)
    for seed in range(20):
        made = irradiance_map(photons_in_a_cloud(3_000, flat=True, seed=seed), radius, 1.0, pool)
        inside = np.all(np.abs(positions_in(made.samples)[:, :2] - 0.5) < 0.5 - radius, axis=1)
        values.append(made.values[inside].mean(axis=0))
    error = np.std(values, axis=0, ddof=1) / np.sqrt(len(values))
    assert np.all(np.abs(np.mean(values, axis=0) - 3_000 * np.array([0.5, 0.5, 0.25])) < 4.0 * error + 2.0)
