"""A GPU makes the very picture that the CPU makes."""

from pathlib import Path

import numpy as np
import pytest

import scenes
import tracecore
from renderer.driver import RenderSettings
from renderer.drivers import DRIVERS
from renderer.headline import trace_until_stored
from tracecore.gpu import gpu_unavailable_reason

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(gpu_unavailable_reason() is not None, reason=str(gpu_unavailable_reason())),
]


def picture(snapshot, device, driver, settings):
    with tracecore.open_tracer(snapshot.positions, device=device) as tracer:
        made = DRIVERS[driver](snapshot, tracer, settings)
        try:
            return np.mean([made.render_pass(i) for i in range(2)], axis=0)
        finally:
            made.close()


@pytest.mark.parametrize("driver", sorted(DRIVERS))
def test_cornell_is_the_same_bit_for_bit(driver):
    snapshot = scenes.load("cornell").at_frame(0)
    settings = RenderSettings(width=96, height=96, photons=50_000)
    assert np.array_equal(picture(snapshot, "gpu", driver, settings), picture(snapshot, "cpu", driver, settings))


def test_the_kitchen_is_the_same_bit_for_bit(kitchen_file: Path):
    snapshot = scenes.load(kitchen_file).at_frame(0)
    settings = RenderSettings(width=200, height=150, photons=100_000)
    assert np.array_equal(picture(snapshot, "gpu", "photon", settings), picture(snapshot, "cpu", "photon", settings))


def test_the_photons_are_the_same_bit_for_bit(kitchen_file: Path):
    snapshot = scenes.load(kitchen_file).at_frame(0)
    runs = []
    for device in ("gpu", "cpu"):
        with tracecore.open_tracer(snapshot.positions, device=device) as tracer:
            runs.append(trace_until_stored(snapshot, tracer, RenderSettings(width=8, height=8), 200_000))
    assert np.array_equal(runs[0].photons, runs[1].photons)
    assert runs[0].work.photons == runs[1].work.photons
