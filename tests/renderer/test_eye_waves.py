"""Eye paths that a GPU traces and shades in waves: pictures that threads of the CPU make, and where it cannot be."""

import numpy as np
import pytest

import renderer
from renderer.errors import UsageError
from renderer.gpu import eye_waves
from tracecore.cuda.device import gpu_unavailable_reason


def picture(scene="kitchen", shading="gpu", **more):
    return renderer.render(scene, size=(120, 80), device="gpu", shading=shading, quiet=True, **more)


@pytest.fixture
def gpu():
    if reason := gpu_unavailable_reason():
        pytest.skip(reason)


@pytest.mark.gpu
@pytest.mark.parametrize(
    "more",
    [
        {"driver": "path", "passes": 5, "layers": True},
        {"driver": "path", "passes": 3, "crop": (10, 20, 50, 40), "sampler": "random", "filter": "gaussian"},
        {"driver": "whitted", "passes": 2, "max_bounces": 3, "kernel": "while-while"},
    ],
)
def test_waves_make_the_picture_of_the_loops_bit_for_bit(gpu, more):
    by_waves, by_loops = picture(**more), picture(shading="cpu", **more)
    np.testing.assert_array_equal(by_waves.linear, by_loops.linear)
    for name, layer in by_loops.layers.items():
        np.testing.assert_array_equal(by_waves.layers[name], layer)
    assert (by_waves.statistics["shading"], by_loops.statistics["shading"]) == ("gpu", "cpu")
    assert by_waves.statistics["rays.total"] == by_loops.statistics["rays.total"]


@pytest.mark.gpu
def test_metals_glass_and_the_sky_have_the_same_bits_there(gpu):
    by_waves, by_loops = (picture("vases", shading, driver="path", passes=2) for shading in ("gpu", "cpu"))
    np.testing.assert_array_equal(by_waves.linear, by_loops.linear)


@pytest.mark.gpu
def test_passes_that_do_not_fit_together_are_made_in_turn(gpu, monkeypatch):
    monkeypatch.setattr(eye_waves, "PATHS_TOGETHER", 2 * 120 * 80)
    by_waves, by_loops = (picture(shading=shading, driver="path", passes=5) for shading in ("gpu", "cpu"))
    np.testing.assert_array_equal(by_waves.linear, by_loops.linear)


@pytest.mark.gpu
def test_a_driver_that_asks_photons_is_shaded_by_the_cpu(gpu):
    assert picture(shading="auto", driver="photon", passes=1, photons=1000).statistics["shading"] == "cpu"
    with pytest.raises(UsageError, match="--shading gpu: the driver asks photons for light, which only the CPU does"):
        picture(driver="photon", passes=1)


def test_only_the_tracer_of_a_gpu_has_one_to_shade_on():
    what = {"size": (8, 6), "driver": "whitted", "passes": 1, "device": "cpu", "quiet": True}
    with pytest.raises(UsageError, match="--shading gpu: only the tracer of a GPU has one to shade on"):
        renderer.render("cornell", shading="gpu", **what)
    assert renderer.render("cornell", shading="auto", **what).statistics["shading"] == "cpu"


def test_other_processes_shade_on_their_cpus():
    with pytest.raises(UsageError, match="--shading auto: other processes shade on their CPUs; leave it out"):
        renderer.render("cornell", shading="auto", cluster="local:2", device="cpu")
