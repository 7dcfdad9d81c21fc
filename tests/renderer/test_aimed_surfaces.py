"""Surfaces that shine from outside of what they can light send their photons there, and it gets no other light."""

import math

import numpy as np
import pytest
from small_scenes import closed_box, flat_snapshot, furnace, quad
from test_light_kinds import FLOOR
from test_photon_projection import GLASS, GLOW, GREY, LAMP_QUAD, emitted, octahedron

import tracecore
from renderer.drivers.driver import RenderSettings
from renderer.drivers.pass_photons import photon_task
from renderer.photons.surroundings import boxes_around
from renderer.photons.targets import Targets
from renderer.photons.tracing import trace_photons
from renderer.scene.packed_scene import pack_scene
from renderer.scene.photon_scene import join_triangles
from renderer.scene.projection import Guide, narrowed
from renderer.shading.chunks import RAY_DIRECTION
from tracecore.workers.pool import WorkerPool

#: Two unit squares that face each other at the distance 1 (Howell: A Catalog of Radiation Heat Transfer, C-11).
FORM_FACTOR = 0.199825
PLATE = quad((0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0))
SHEET = (PLATE + np.array([0, 0, 1], np.float32))[:, ::-1]


def under(*lamps, below=PLATE):
    """What glows above a plate, the plate first."""
    parts = [below, *lamps]
    ids = np.repeat([0, *[1] * len(lamps)], [len(part) for part in parts])
    return pack_scene(flat_snapshot(np.concatenate(parts), [GREY, GLOW], material_ids=ids))


def boxes(scene):
    rows, power, is_square = join_triangles(scene.lights)
    return boxes_around(scene.surfaces, rows, power > 0.0, is_square)


def arriving(scene, sequence):
    """The watts that arrive at the plate, per watt of the lamps, and the share of photons that do."""
    rays, flux = (values.astype(np.float64) for values in emitted(scene, 4000, sequence))
    direction = rays[RAY_DIRECTION : RAY_DIRECTION + 3]
    at = rays[:2] - direction[:2] * rays[2] / direction[2]
    is_met = (direction[2] < 0.0) & (at >= 0.0).all(axis=0) & (at <= 1.0).all(axis=0)
    return flux[is_met].sum() / len(is_met) / (3.0 * scene.lights.power), is_met.mean()


@pytest.mark.parametrize("backs", [0, 1], ids=["one side", "both sides"])
def test_a_plate_gets_what_its_form_factor_says(backs):
    """Of a sheet that glows on both sides, the upper one has an equal share of the power, and few of the photons."""
    scene = under(SHEET, *[SHEET[:, ::-1] + np.array([0, 0, 0.01], np.float32)] * backs)
    aimed, usual = (
        np.array([arriving(one, sequence) for sequence in range(24)]).T
        for one in (Targets(scene).projected(0.0), scene)
    )
    for watts, _ in (aimed, usual):
        assert abs(watts.mean() - FORM_FACTOR / (1 + backs)) < 3.0 * watts.std(ddof=1) / math.sqrt(24) + 1e-4
    assert aimed[1].mean() > (1.9, 3.5)[backs] * usual[1].mean()
    assert aimed[0].std() < usual[0].std()


def test_each_photon_stands_for_the_light_that_goes_into_its_cone():
    """A lamp so far away that it has but one cone: pi sin^2 of its angle, seen at the cosine of the lamp's tilt."""
    tilt, distance = 0.5, 400.0
    side = 0.1 * np.array([[math.cos(tilt), 0.0, math.sin(tilt)], [0.0, 1.0, 0.0]])
    corner = np.array([0.0, 0.0, distance])
    lamp = np.float32(quad(corner, corner + side[1], corner + side.sum(axis=0), corner + side[0]))
    scene = Targets(under(lamp, below=FLOOR)).projected(0.0)
    rays, flux = emitted(scene, 2000)
    sine2 = 2.0 / (distance**2 + 2.0)
    np.testing.assert_allclose(flux.sum(axis=1), 3.0 * scene.lights.power * sine2 * math.cos(tilt), rtol=1e-3)
    met = rays[:2] - rays[RAY_DIRECTION : RAY_DIRECTION + 2] * rays[2] / rays[RAY_DIRECTION + 2]
    squares = np.square(met).sum(axis=0) / 2.0  # even over a disc
    assert squares.max() < 1.01
    assert abs(squares.mean() - 0.5) < 4.0 / math.sqrt(12.0 * 2000)


def test_what_is_narrowed_to_a_cone_is_in_it_and_goes_by_the_cosine():
    """The mean cosine to the normal over the cone is known by quadrature."""
    generator = np.random.default_rng(5)
    turn, square = 2.0 * np.pi * generator.random(8_000), generator.random(8_000)
    usual = np.stack([np.sqrt(square) * np.cos(turn), np.sqrt(square) * np.sin(turn), np.sqrt(1.0 - square)], axis=-1)
    for lean, angle in ((0.0, 1.5), (0.7, 0.8), (1.2, 0.3)):
        axis = (math.sin(lean), 0.0, math.cos(lean))
        cone = Guide(axis, math.cos(angle), 1.0)
        made = np.array([narrowed(tuple(way), (0.0, 0.0, 1.0), cone) for way in usual])
        np.testing.assert_allclose(np.linalg.norm(made, axis=1), 1.0, atol=1e-9)
        assert (made @ axis).min() > math.cos(angle) - 1e-6
        polar, around = np.meshgrid((np.arange(500) + 0.5) / 500.0 * angle, (np.arange(500) + 0.5) / 250.0 * np.pi)
        cosine = math.cos(lean) * np.cos(polar) - math.sin(lean) * np.sin(polar) * np.cos(around)
        expected = (cosine**2 * np.sin(polar)).sum() / (cosine * np.sin(polar)).sum()
        assert abs(made[:, 2].mean() - expected) < 4.0 * made[:, 2].std() / math.sqrt(8_000)


def test_lights_within_what_they_light_are_not_aimed():
    lamp = LAMP_QUAD * np.float32(0.1) + np.float32(0.5)
    flush = quad((0.4, 0.4, 1.0), (0.4, 0.6, 1.0), (0.6, 0.6, 1.0), (0.6, 0.4, 1.0))
    for scene in (under(lamp, below=closed_box()), under(flush, below=closed_box()), pack_scene(furnace())):
        assert np.isinf(boxes(scene)).all()
        assert Targets(scene).projected(0.0) is scene


def test_a_lamp_that_leans_over_what_it_lights_is_not_aimed():
    """It sees a part of the floor at its horizon, and no cone above that has all of the floor."""
    leaning = quad((0.4, 0.4, 0.1), (0.4, 0.6, 0.1), (0.6, 0.6, 0.3), (0.6, 0.4, 0.3))
    scene = under(leaning, below=FLOOR)
    assert np.isfinite(boxes(scene)).all()
    assert Targets(scene).projected(0.0) is scene


def test_a_lamp_can_light_lamps_in_front_of_it_alone():
    """The upper one of two sheets has the lower one in its box, and not the other way round; a ball has the plate."""
    lower, upper = boxes(under(SHEET, SHEET * np.float32(2.0)))
    assert lower.tolist() == [[0, 0, 0], [1, 1, 0]]
    assert upper.tolist() == [[0, 0, 0], [1, 1, 1]]
    ball = boxes(under(octahedron((0.5, 0.5, 3.0), 0.5)))
    assert len(ball) == 8
    assert all(box.tolist() == [[0, 0, 0], [1, 1, 0]] for box in ball)
    assert np.isinf(boxes(pack_scene(flat_snapshot(SHEET, [GLOW])))).all()


def test_photons_that_are_aimed_are_counted():
    ids = np.repeat([0, 1, 2], [2, 2, 8])
    stone = octahedron((0.5, 0.5, 0.3), 0.1)
    snapshot = flat_snapshot(np.concatenate([PLATE, SHEET, stone]), [GREY, GLOW, GLASS], material_ids=ids)
    scene = pack_scene(snapshot)
    counts = []
    with tracecore.open_tracer(snapshot.positions, device="cpu", threads=1) as tracer:
        pool = WorkerPool(tracer, 1, 1024)
        for sent in (scene, Targets(scene).projected(0.0), Targets(scene).projected(0.5)):
            task = photon_task(sent, RenderSettings(width=8, height=8, seed=5), 0, 0)
            counts.append(trace_photons(sent, task, pool, range(4000)).counts)
        pool.close()
    assert [count.aimed for count in counts] == [0, 4000, 4000]
    assert counts[0].escaped > counts[1].escaped > counts[2].escaped
