"""Opening a tracer, what it refuses, its queue and its statistics."""

from typing import Any

import numpy as np
import pytest

import tracecore
from tracecore.compilation.cached import has_cached_code
from tracecore.dispatch.tracer import Tracer
from tracecore.errors import DeviceError, KernelError, RayError, TriangleError
from tracecore.rays import HIT, RAY, Floats, as_records, make_rays
from tracecore.triangles import LARGEST_COORDINATE

CORNER = np.float32([[[0, 0, 0], [1, 0, 0], [0, 1, 0]]])
TOWARDS = make_rays([(0.25, 0.25, 1)], [(0, 0, -1)])
DEVICES = ("cpu", "brute")


def open_on(device: Any, triangles: Floats = CORNER, threads: int | None = 2) -> Tracer:
    return tracecore.open_tracer(triangles, device=device, threads=threads)


@pytest.mark.parametrize("device", DEVICES)
def test_describes_itself(device: str) -> None:
    with open_on(device) as tracer:
        assert (tracer.device, tracer.dispatch, tracer.threads) == (device, "direct", 2)
        assert tracer.bvh.bytes > 0
        kernel = tracer.name
    with tracecore.open_tracer(CORNER, device=device, kernel=kernel) as tracer:  # type: ignore[arg-type]
        assert tracer.threads >= 1


def test_limits_of_a_cpu_are_those_of_what_it_did() -> None:
    with open_on("cpu") as tracer:
        assert tracer.limits(TOWARDS).kernel_rays_per_second == 0.0
        tracer.closest_hit(np.concatenate([TOWARDS] * 1000))
        limits, done = tracer.limits(TOWARDS), tracer.statistics()
    assert limits.kernel_rays_per_second == pytest.approx(done.rays / done.busy_seconds)
    assert limits.kernel_rays_per_second > 0.0
    assert limits.bus_bytes_per_second is None


def test_a_closed_tracer_refuses() -> None:
    tracer = open_on("cpu")
    tracer.close()
    with pytest.raises(KernelError, match="is closed"):
        tracer.closest_hit(np.concatenate([TOWARDS] * 10_000))


def test_rays_may_be_records_strided_or_read_only() -> None:
    with open_on("cpu") as tracer:
        rays = np.concatenate([TOWARDS] * 3)
        expected = tracer.closest_hit(rays)
        assert as_records(expected, HIT)["t"].tolist() == [1, 1, 1]
        read_only = rays.copy()
        read_only.flags.writeable = False
        for same in (as_records(rays, RAY), np.repeat(rays, 2, axis=0)[::2], np.asfortranarray(rays), read_only):
            assert np.array_equal(tracer.closest_hit(same), expected)


@pytest.mark.parametrize(
    "rays", [np.zeros((2, 8)), np.zeros((2, 7), np.float32), np.zeros(8, np.float32), [[0.0] * 8], np.zeros(2, HIT)]
)
@pytest.mark.parametrize("device", DEVICES)
def test_other_arrays_are_no_rays(device: str, rays: Any) -> None:
    with open_on(device) as tracer, pytest.raises(RayError, match=r"\(n, 8\) and type float32, got"):
        tracer.any_hit(rays)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 2 * LARGEST_COORDINATE, 1e300])
def test_a_bad_triangle_is_named(value: float) -> None:
    triangles = np.zeros((5, 3, 3))
    triangles[3, 1, 2] = value
    with pytest.raises(TriangleError, match="triangle 3 "):
        tracecore.open_tracer(triangles, device="cpu")


@pytest.mark.parametrize("triangles", [np.zeros((3, 3)), np.zeros((2, 3, 4)), np.zeros(9), "mesh", [[[1], [2, 3]]]])
def test_other_shapes_are_no_triangles(triangles: Any) -> None:
    with pytest.raises(TriangleError, match=r"\(t, 3, 3\)"):
        tracecore.open_tracer(triangles, device="cpu")


def test_lists_and_integers_are_triangles() -> None:
    with tracecore.open_tracer([[[0, 0, 0], [1, 0, 0], [0, 1, 0]]], device="cpu") as tracer:
        assert tracer.closest_hit(TOWARDS)[0, 0] == 1


def test_unknown_names_are_answered_with_the_known() -> None:
    with pytest.raises(DeviceError, match="unknown device 'tpu'; there are auto, cpu, gpu, emulator, brute"):
        open_on("tpu")
    with pytest.raises(KernelError, match="unknown kernel 'bvh9' for device 'cpu'; there is bvh8"):
        tracecore.open_tracer(CORNER, device="cpu", kernel="bvh9")
    with pytest.raises(DeviceError, match="threads must be at least 1, got 0"):
        open_on("cpu", threads=0)
    with pytest.raises(DeviceError, match="unknown dispatch 'pigeon'; there are resident, streamed"):
        tracecore.open_tracer(CORNER, device="gpu", dispatch="pigeon")


def test_no_gpu_is_an_error_and_auto_falls_to_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tracecore.tracers.gpu.gpu_unavailable_reason", lambda: "no driver; install one")
    with pytest.raises(DeviceError, match="no driver; install one"):
        open_on("gpu")
    with open_on("auto") as tracer:
        assert tracer.device == "cpu"


def test_compiled_code_is_found_again() -> None:
    with open_on("cpu") as tracer:
        tracer.closest_hit(TOWARDS)
    assert has_cached_code("tracecore")
