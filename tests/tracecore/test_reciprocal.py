"""The reciprocal by which boxes are tested: how wrong it is, in the emulator and on a GPU."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tracecore.cuda.device import gpu_unavailable_reason
from tracecore.dispatch.tracer import Tracer
from tracecore.emulator.library import emulator_unavailable_reason
from tracecore.emulator.tracer import EmulatedTracer
from tracecore.kernels.strategy import KernelStrategy
from tracecore.layout import bvh2
from tracecore.rays import Floats, make_rays
from tracecore.tracers.gpu import GpuTracer

#: Of the reciprocal, as kernels/reciprocal.cuh promises and the pad of boxes allows for. The emulator adds a rounding.
MOST_ERROR = 2.0**-22
ROUNDING = 2.0**-24

#: Answers the reciprocal of the ray's first coordinate.
SOURCE = """
#include "bvh2.cuh"
template <bool ANY_HIT>
__device__ Hit trace(const Scene& scene, const Ray& ray, unsigned& faults) {
    return {rough_reciprocal(ray.origin.x), 0.0f, 0.0f, 0};
}
#include "rounds.cuh"
"""

TRACERS: dict[str, tuple[Callable[..., Tracer], Callable[[], str | None]]] = {
    "emulator": (EmulatedTracer, emulator_unavailable_reason),
    "gpu": (GpuTracer, gpu_unavailable_reason),
}


def reciprocals(device: str, values: Floats, folder: Path) -> Floats:
    make_tracer, unavailable_reason = TRACERS[device]
    if reason := unavailable_reason():
        pytest.skip(reason)
    source = folder / "reciprocal.cu"
    source.write_text(SOURCE)
    probe = KernelStrategy(name="reciprocal", source=source, layout=bvh2.LAYOUT, citation="none")
    origins = values[:, None] * np.array([1, 0, 0], np.float32)
    with make_tracer(np.zeros((1, 3, 3), np.float32), probe) as tracer:
        return tracer.closest_hit(make_rays(origins, [0, 0, 1]))[:, 0]


@pytest.mark.parametrize("device", ["emulator", pytest.param("gpu", marks=pytest.mark.gpu)])
def test_it_is_no_more_wrong_than_promised(device: str, tmp_path: Path) -> None:
    mantissas = np.arange(1 << 23, dtype=np.uint32)  # a GPU gets all of them, for one of four exponents
    steps = {1: 257, 127: 1 if device == "gpu" else 257, 200: 257, 252: 257}
    values = np.concatenate([(mantissas[::step] | power << 23).view(np.float32) for power, step in steps.items()])
    products = reciprocals(device, values, tmp_path).astype(np.float64) * values
    assert np.abs(products - 1.0).max() <= MOST_ERROR + ROUNDING * (device == "emulator")
    if device == "emulator":  # as wrong as it may be, in both directions
        assert products.min() <= 1.0 - MOST_ERROR + ROUNDING
        assert products.max() >= 1.0 + MOST_ERROR - ROUNDING


@pytest.mark.parametrize("device", ["emulator", pytest.param("gpu", marks=pytest.mark.gpu)])
def test_denormals_are_zero(device: str, tmp_path: Path) -> None:
    values = np.array([0.0, -0.0, 1e-45, -1e-38, 2e38, -3e38], np.float32)
    assert reciprocals(device, values, tmp_path).tolist() == [np.inf, -np.inf, np.inf, -np.inf, 0.0, 0.0]
