"""Heat maps: figures at their pixels, colours on a scale, steps as they are counted."""

from dataclasses import replace

import numpy as np
import pytest

import tracecore
from renderer.bench.heat_map import (
    INACTIVE,
    LEAST_WIDTH,
    HeatMap,
    by_pixel,
    colored,
    heat_map,
    ray_figures,
    steps_of_rays,
    top_of,
)
from renderer.bench.ray_generators import RayPlan, morton_order
from renderer.errors import UsageError
from tracecore.analysis.steps import StepSequences
from tracecore.cuda.device import gpu_unavailable_reason
from tracecore.emulator.library import emulator_unavailable_reason
from tracecore.kernels.step_records import Step
from tracecore.rays import make_rays

PLAN = RayPlan(size=(4, 3), in_morton_order=False, occlusion_rays=1, radius=1.0, photon_rays=1, seed=0)
TRIANGLE = np.array([[[-1, -1, 2], [1, -1, 2], [0, 1, 2]]], np.float32)


def heat(values, **other):
    return HeatMap(view="front", kernel="a", quantity="steps", values=np.asarray(values, np.float64), **other)


def test_rays_in_either_order_come_to_their_pixels():
    figures = np.arange(12.0)
    np.testing.assert_array_equal(by_pixel(figures, PLAN), figures.reshape(3, 4))
    curved = replace(PLAN, in_morton_order=True)
    np.testing.assert_array_equal(by_pixel(figures[morton_order(4, 3)], curved), figures.reshape(3, 4))


def test_the_picture_has_the_map_and_the_scale():
    image = np.asarray(heat_map(heat([[0.0, 8.0], [4.0, 0.0]]), 8.0))
    half = LEAST_WIDTH // 2
    top, left = np.argwhere((image == colored(np.array(1.0))).all(axis=2)).min(axis=0)
    assert image[top + half // 2, left + half // 2].tolist() == colored(np.array(1.0)).tolist()
    assert image[top + half + half // 2, left - half // 2].tolist() == colored(np.array(0.5)).tolist()
    assert np.any(image[:, LEAST_WIDTH + 40 :] == 0)  # numbers


def test_packets_share_their_steps():
    node, test = int(Step.NODE), int(Step.TRIANGLE)
    sequences = StepSequences(
        kinds=np.array([node, node, test, node], np.uint8),
        useful=np.ones(4, np.uint8),
        starts=np.array([0, 3, 4]),
        lanes=2,
        rays=2,
    )
    steps = steps_of_rays(sequences, 3)
    assert steps[:, node].tolist() == [2, 2, 1]
    assert steps[:, test].tolist() == [1, 1, 0]


@pytest.mark.skipif(emulator_unavailable_reason() is not None, reason="no emulator")
def test_a_ray_that_misses_the_box_tests_nothing():
    rays = make_rays([[0, 0, 0], [5, 5, 0]], [[0, 0, 1], [0, 0, 1]])
    with tracecore.open_tracer(TRIANGLE, device="emulator", kernel="while-while", threads=1) as tracer:
        figures = ray_figures(tracer, rays)
    assert figures["triangle tests"].tolist() == [1.0, 0.0]
    assert set(figures) == {"node steps", "triangle tests"}


@pytest.mark.gpu
def test_a_gpu_tells_of_inactive_lanes():
    if reason := gpu_unavailable_reason():
        pytest.skip(reason)
    rays = make_rays(np.zeros((64, 3)), [[0, 0, 1]] * 16 + [[0, 0, -1]] * 16 + [[0, 0, 1]] * 32)
    with tracecore.open_tracer(TRIANGLE, device="gpu", kernel="while-while") as tracer:
        inactive = ray_figures(tracer, rays)[INACTIVE]
    assert np.all((inactive >= 0.0) & (inactive < 1.0))
    assert inactive[:16].mean() > inactive[32:].mean()


def test_what_does_not_count_is_refused():
    with (
        tracecore.open_tracer(TRIANGLE, device="cpu", threads=1) as tracer,
        pytest.raises(UsageError, match="does not count its steps"),
    ):
        ray_figures(tracer, make_rays([0, 0, 0], [0, 0, 1]))


def test_numbers_of_the_scale_are_written_as_people_write_them():
    assert heat([0.0]).label(12345.6) == "12,300"


def test_colours_go_from_dark_to_bright():
    ends = colored(np.array([0.0, 1.0, 2.0]))
    assert ends.tolist() == [[0x44, 0x01, 0x54], [0xFD, 0xE7, 0x25], [0xFD, 0xE7, 0x25]]
    assert np.all(np.diff(colored(np.linspace(0, 1, 50)).astype(int) @ [21, 72, 7]) > 0)


def test_scales_leave_out_a_few_pixels_and_shares_end_at_one():
    values = np.full(1000, 10.0)
    values[0] = 1e6
    assert top_of(heat(values), heat([[4.0]])) == 10.0
    assert top_of(heat([[0.2, 0.1]], is_share=True)) == 1.0
    assert top_of(heat([[0.0]])) == 1.0


def test_samples_of_a_pixel_come_to_their_mean():
    figures = np.repeat(np.arange(12.0), 2) + np.tile([0.0, 1.0], 12)
    np.testing.assert_array_equal(by_pixel(figures, replace(PLAN, samples=2)), np.arange(12.0).reshape(3, 4) + 0.5)
