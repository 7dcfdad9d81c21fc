"""Opening a tracer, what it refuses, its queue and its statistics."""

import re
import threading
import time
from typing import Any

import numpy as np
import pytest

import tracecore
from tracecore.dispatch.tracer import Tracer
from tracecore.errors import DeviceError, KernelError, RayError, TriangleError
from tracecore.rays import HIT, MISS, RAY, Floats, as_records, make_rays
from tracecore.triangles import LARGEST_COORDINATE

CORNER = np.array([[[0, 0, 0], [1, 0, 0], [0, 1, 0]]], np.float32)
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
    with tracecore.open_tracer(CORNER, device=device, kernel=kernel) as tracer:
        assert tracer.threads >= 1


def test_statistics_of_many_threads_add_up() -> None:
    start = time.perf_counter()
    with open_on("cpu", threads=4) as tracer:

        def work() -> None:
            rays = np.concatenate([TOWARDS] * 64)
            rays[0, 4:7] = 0
            with tracer.open_queue() as queue:
                for _ in range(50):
                    queue.submit(rays)
                assert len(queue.drain()) == 50

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        done = tracer.statistics()
    assert (done.batches, done.rays, done.invalid_rays) == (200, 12_800, 200)
    assert 0.0 < done.busy_seconds <= time.perf_counter() - start  # of four threads the mean


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


class Lent:
    """An array of a library that has DLPack and nothing else of NumPy's."""

    def __init__(self, array: Any, failure: Exception | None = None) -> None:
        self.array, self.failure = array, failure

    def __dlpack__(self, **asked: Any) -> Any:
        if self.failure is not None:
            raise self.failure
        return self.array.__dlpack__(**asked)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.array.__dlpack_device__()


def test_arrays_that_lend_their_memory_are_triangles_and_rays() -> None:
    origin, direction = Lent(np.array([[0.25, 0.25, 1]], np.float32)), Lent(np.array([[0, 0, -1]], np.float32))
    rays = make_rays(origin, direction, Lent(np.array([0.0], np.float32)), Lent(np.array([np.inf], np.float32)))
    assert np.array_equal(rays, TOWARDS)
    with tracecore.open_tracer(Lent(CORNER), device="brute") as tracer:
        assert as_records(tracer.closest_hit(rays), HIT)["t"] == 1.0
        assert tracer.closest_hit(Lent(rays)).t == tracer.any_hit(Lent(rays)).t + 1.0 == 1.0


@pytest.mark.parametrize("failure", [BufferError("on a GPU"), RuntimeError("on a GPU")])
def test_arrays_that_lie_elsewhere_are_refused(failure: Exception) -> None:
    with pytest.raises(TriangleError, match=r"the machine's memory \(on a GPU\); copy it there first"):
        tracecore.open_tracer(Lent(CORNER, failure), device="brute")
    with pytest.raises(TypeError, match="copy it there first"):
        make_rays(Lent(CORNER[0], failure), CORNER[0])
    with open_on("brute") as tracer, pytest.raises(RayError, match="copy it there first"):
        tracer.closest_hit(Lent(TOWARDS, failure))


class OnGpu(Lent):
    """An array that lies on a GPU, of a library that copies it when it is asked for one of NumPy's."""

    def __array__(self, *_: Any, **__: Any) -> Any:
        return self.array

    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, 0


@pytest.mark.parametrize("device", DEVICES)
def test_rays_on_a_gpu_are_not_copied_unasked(device: str) -> None:
    refused = (
        r"rays lie in a GPU's memory, where only closest_hit and any_hit of a tracer on that GPU take them; copy them"
    )
    with open_on(device) as tracer, tracer.open_queue() as queue:
        for take in (tracer.closest_hit, tracer.any_hit, queue.submit):
            with pytest.raises(RayError, match=refused):
                take(OnGpu(TOWARDS))


@pytest.mark.parametrize("device", DEVICES)
def test_hits_have_names(device: str) -> None:
    rays = np.concatenate([TOWARDS, make_rays([[9, 9, 9], [0.5, 0.25, 1]], [0, 0, -1])])  # type: ignore[arg-type]
    with open_on(device, np.concatenate([CORNER - np.array([0, 0, 5], np.float32), CORNER])) as tracer:
        hits = tracer.closest_hit(rays)
        with tracer.open_queue() as queue:
            queue.submit(rays)
            assert queue.drain()[0].hits.hit.tolist() == [True, False, True]
    assert hits.t.tolist() == [1.0, np.inf, 1.0]
    assert hits.prim_id.tolist() == [1, MISS, 1]
    assert (hits.u.tolist(), hits.v.tolist()) == ([0.25, 0.0, 0.5], [0.25, 0.0, 0.25])
    assert hits[hits.hit].u.tolist() == [0.25, 0.5]
    assert as_records(hits, HIT)["prim_id"].tolist() == hits.prim_id.tolist()
    plain = (hits.t, hits.prim_id, hits[:, 0], hits + 1, as_records(hits, HIT))
    assert {type(one) for one in plain} == {np.ndarray}
    assert isinstance(hits[0, 0], np.float32)


def test_a_mesh_of_vertices_and_faces_is_its_triangles() -> None:
    vertices = np.array([[9, 9, 9], [0, 0, 0], [1, 0, 0], [0, 1, 0]], np.float32)
    faces = np.array([[0, 0, 1], [1, 2, 3]], np.int32)
    with tracecore.open_tracer(vertices=vertices, faces=Lent(faces), device="cpu") as tracer:
        assert tracer.closest_hit(TOWARDS).prim_id == 1


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({}, "give triangles, or else both vertices and faces"),
        ({"vertices": CORNER[0]}, "both vertices and faces"),
        ({"triangles": CORNER, "vertices": CORNER[0], "faces": [[0, 1, 2]]}, "give triangles, or else"),
        (
            {"vertices": CORNER[0], "faces": [[0, 1, 2], [0, 1, 3]]},
            r"face 1 is \[0, 1, 3\], but there are vertices 0 to 2",
        ),
        ({"vertices": CORNER[0], "faces": [[0, 1, -1]]}, "face 0 is"),
        ({"vertices": CORNER[0], "faces": [[0.0, 1, 2]]}, r"got \(3, 3\) and \(1, 3\) float64"),
        ({"vertices": CORNER, "faces": [[0, 1, 2]]}, r"vertices must have shape \(v, 3\)"),
    ],
)
def test_meshes_that_are_none_are_refused(given: Any, reason: str) -> None:
    with pytest.raises(TriangleError, match=reason):
        tracecore.open_tracer(**given, device="cpu")


def test_what_is_given_once_is_that_of_all_rays() -> None:
    origin, directions = [1.0, 2, 3], np.arange(12.0).reshape(4, 3)
    expected = np.column_stack([np.tile(origin, (4, 1)), np.zeros(4), directions, np.full(4, np.inf)])
    for one in (origin, [origin]):
        np.testing.assert_array_equal(make_rays(one, directions), expected)
        np.testing.assert_array_equal(make_rays(directions, one)[:, [4, 5, 6, 3, 0, 1, 2, 7]], expected)
    ends = make_rays(origin, [0, 0, 1], 0.5, [1, 2, 3])
    np.testing.assert_array_equal(ends, [[1, 2, 3, 0.5, 0, 0, 1, end] for end in (1, 2, 3)])
    assert make_rays(origin, [0, 0, 1]).shape == (1, 8)
    assert make_rays(origin, np.zeros((0, 3))).shape == make_rays(np.zeros((0, 3)), np.zeros((0, 3))).shape == (0, 8)


@pytest.mark.parametrize(
    "parts",
    [
        (np.zeros((2, 3)), np.zeros((4, 3))),
        (np.zeros((2, 3)), np.zeros((0, 3))),
        (np.zeros(4), np.zeros((4, 3))),
        (np.zeros((4, 3)), np.zeros((4, 1))),
        (np.zeros((2, 2, 3)), np.zeros(3)),
        (np.zeros(3), 1.0),
        (np.zeros((4, 3)), np.zeros(3), np.zeros((4, 1))),
        (np.zeros((4, 3)), np.zeros(3), 0.0, np.zeros(3)),
    ],
)
def test_parts_of_rays_that_do_not_fit_are_refused(parts: Any) -> None:
    shapes = ", ".join(f"{name} {np.shape(part)}" for name, part in zip(("origin", "direction"), parts, strict=False))
    with pytest.raises(RayError, match=rf"origin and direction of shape \(n, 3\) or \(3,\), .*got {re.escape(shapes)}"):
        make_rays(*parts)


def test_unknown_names_are_answered_with_the_known() -> None:
    with pytest.raises(
        DeviceError, match="unknown device 'tpu'; there are auto, cpu, gpu, emulator, brute, and gpu:0, "
    ):
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
