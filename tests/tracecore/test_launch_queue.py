"""Rays that lie on a GPU, without one: CUDA is played by the emulator (`fake_cuda`), arrays are real ones of CuPy's."""

import ctypes
import gc
import threading
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from brute_answers import answers
from fake_cuda import FakeCuda, installed, on_host, rested
from judges import assert_same_bits

from tracecore.arrays import lies_on_gpu
from tracecore.cuda.driver import CupyDriver
from tracecore.dispatch.launch_queue import AHEAD
from tracecore.dispatch.tracer import Tracer
from tracecore.errors import KernelError, RayError, WrongHitError
from tracecore.kernels.strategies import find_strategy
from tracecore.kernels.strategy import KernelStrategy
from tracecore.layout import bvh2
from tracecore.rays import HIT_FLOATS, MISS, Floats, Hits, Query
from tracecore.tracers.cpu import CpuTracer
from tracecore.tracers.gpu import GpuTracer
from tracecore.tracers.verified import Judge, VerifiedTracer

pytestmark = pytest.mark.usefixtures("emulator", "collects_often")

CASE = answers("soup", 600)

#: CUDA's status of a device that is gone.
LOST = 719


@pytest.fixture
def cuda(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeCuda]:
    pytest.importorskip("cupy", reason="CuPy is not installed; the extra `gpu` brings it")
    monkeypatch.setenv("TRACECORE_GPU_TIMEOUT", "30")
    yield from installed(monkeypatch)


@pytest.fixture
def impatient(cuda: FakeCuda, monkeypatch: pytest.MonkeyPatch) -> FakeCuda:
    monkeypatch.setenv("TRACECORE_GPU_TIMEOUT", "0.3")
    return cuda


class OnGpu:
    """An array of a library of which nothing is known but `__cuda_array_interface__`; its memory is a device's."""

    def __init__(self, cuda: FakeCuda, content: Any, gpu: int = 0, skipped: int = 0, **other: Any) -> None:
        before = cuda.current_device()
        cuda.use_device(gpu)
        self.memory = cuda.allocate(skipped + content.nbytes)
        cuda.use_device(before)
        self.memory.bytes[skipped : skipped + content.nbytes] = content.reshape(-1).view(np.uint8)
        where = {"data": (self.memory.ptr + skipped, True), "shape": content.shape, "typestr": content.dtype.str}
        self.__cuda_array_interface__ = where | {"strides": None, "version": 2} | other


def open_gpu(dispatch: str = "streamed", kernel: str | KernelStrategy = "while-while", gpu: int = 0) -> GpuTracer:
    return GpuTracer(CASE.triangles, kernel, threads=2, dispatch=dispatch, gpu=gpu)


def asked(tracer: Tracer, query: Query, rays: Any) -> Any:
    return tracer.any_hit(rays) if query == Query.ANY else tracer.closest_hit(rays)


def right(query: Query) -> Floats:
    return (CASE.closest, CASE.occlusion)[query]


@pytest.mark.parametrize("query", list(Query))
@pytest.mark.parametrize("dispatch", ["streamed", "resident"])
def test_rays_are_traced_where_they_lie(cuda: FakeCuda, dispatch: str, query: Query) -> None:
    """Nothing is copied, here or there, and the hits have the bits of brute force."""
    with open_gpu(dispatch) as tracer:
        rays, copied = OnGpu(cuda, CASE.rays), dict(cuda.copied)
        hits = asked(tracer, query, rays)
        assert_same_bits(cuda.fetched(hits), right(query), CASE.rays)
        assert cuda.copied == copied
        assert tracer.statistics().rays == len(CASE.rays)
        assert tracer.statistics().busy_seconds > 0.0


def test_hits_on_a_device_have_the_names_of_those_on_the_host(cuda: FakeCuda) -> None:
    expected = CASE.closest.view(Hits)
    with open_gpu() as tracer:
        hits: Any = tracer.closest_hit(OnGpu(cuda, CASE.rays))
        cuda.fetched(hits)
    plain = hits.plain
    assert isinstance(hits, type(plain))
    assert type(plain) is not type(hits)
    assert hits.shape == expected.shape
    assert (hits.t.dtype, hits.prim_id.dtype) == (np.dtype(np.float32), np.dtype(np.uint32))
    for part, same in ((hits, expected), (hits[3:40:2], expected[3:40:2])):
        assert type(part) is type(hits)
        for name in ("t", "u", "v", "prim_id"):
            of_part: Any = getattr(part, name)
            of_same: Any = getattr(same, name)
            assert type(of_part) is type(plain)
            assert of_part.shape == of_same.shape
            assert (of_part.dtype, of_part.strides) == (of_same.dtype, of_same.strides)
            assert of_part.data.ptr - plain.data.ptr == of_same.ctypes.data - expected.ctypes.data
    assert type(hits[:, 1:]) is type(plain)


def test_the_host_does_not_wait(cuda: FakeCuda) -> None:
    with open_gpu() as tracer:
        with cuda.devices[0].hanging():
            hits = [tracer.closest_hit(OnGpu(cuda, CASE.rays[first:])) for first in range(3)]
            assert tracer.statistics().rays == 0
        for first, found in enumerate(hits):  # of rays that nobody but the tracer has kept
            assert_same_bits(cuda.fetched(found), CASE.closest[first:], CASE.rays)
        assert (tracer.statistics().batches, tracer.statistics().rays) == (3, 3 * len(CASE.rays) - 3)


def test_a_launch_comes_after_what_the_callers_stream_does(cuda: FakeCuda) -> None:
    """Rays are written there by work of the current stream, which goes on long after the call."""
    with open_gpu() as tracer:
        rays, goes_on = OnGpu(cuda, np.full_like(CASE.rays, np.nan)), threading.Event()
        cuda.stream = cuda.create_stream()

        def write() -> None:
            assert goes_on.wait(60.0)
            ctypes.memmove(rays.memory.ptr, CASE.rays.ctypes.data, CASE.rays.nbytes)

        cuda.stream.add(write)
        hits = tracer.closest_hit(rays)
        goes_on.set()
        assert_same_bits(cuda.fetched(hits), CASE.closest, CASE.rays)


def test_a_kernel_that_stays_makes_way_and_comes_back_when_the_launch_is_done(cuda: FakeCuda) -> None:
    with open_gpu("resident") as tracer:
        queue, rays = tracer.open_queue(), OnGpu(cuda, CASE.rays)

        def through_ring() -> Any:
            queue.submit(CASE.rays[:100])
            return queue.drain()[0].hits

        assert_same_bits(through_ring(), CASE.closest[:100], CASE.rays)
        cuda.stream, goes_on = cuda.create_stream(), threading.Event()
        cuda.stream.add(waiting_for(goes_on))
        hits, launched = tracer.closest_hit(rays), cuda.calls.count("launch_kernel")
        found: list[Any] = []
        thread = threading.Thread(target=lambda: found.append(through_ring()))
        thread.start()
        thread.join(0.2)
        assert thread.is_alive()
        assert cuda.calls.count("launch_kernel") == launched  # or ours would wait behind it for ever
        goes_on.set()
        thread.join()
        assert_same_bits(found[0], CASE.closest[:100], CASE.rays)
        assert_same_bits(on_host(hits), CASE.closest, CASE.rays)
        assert_same_bits(cuda.fetched(tracer.any_hit(rays)), CASE.occlusion, CASE.rays)


def test_launches_are_used_again(cuda: FakeCuda) -> None:
    with open_gpu() as tracer:
        rays, live = OnGpu(cuda, CASE.rays[:10]), []
        for _ in range(6):
            hits = tracer.closest_hit(rays)
            cuda.fetched(hits)
            live.append(cuda.live())
        assert live[1:] == live[:-1]


def test_the_host_is_so_many_launches_ahead_and_no_more(cuda: FakeCuda) -> None:
    """Or rays and hits of all that a loop asks for would be in memory at once."""
    with open_gpu() as tracer:
        rays, goes_on, done = OnGpu(cuda, CASE.rays[:10]), threading.Event(), []
        cuda.stream = cuda.create_stream()
        cuda.stream.add(waiting_for(goes_on))
        thread = threading.Thread(target=lambda: [done.append(tracer.closest_hit(rays)) for _ in range(AHEAD + 3)])
        thread.start()
        thread.join(0.5)
        assert thread.is_alive()
        assert len(done) == AHEAD
        goes_on.set()
        thread.join()
        assert len(done) == AHEAD + 3
        assert_same_bits(cuda.fetched(done[-1]), CASE.closest[:10], CASE.rays)


def test_many_rays_take_several_launches(cuda: FakeCuda, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_gpu() as tracer:
        monkeypatch.setattr("tracecore.kernels.strategy.MOST_THREADS", 256)
        hits = tracer.closest_hit(OnGpu(cuda, CASE.rays))
        assert_same_bits(cuda.fetched(hits), CASE.closest, CASE.rays)
        assert (tracer.statistics().batches, tracer.statistics().rays) == (3, len(CASE.rays))


def test_no_rays_have_no_hits(cuda: FakeCuda) -> None:
    with open_gpu() as tracer:
        launched = cuda.calls.count("launch_kernel")
        assert tracer.closest_hit(OnGpu(cuda, CASE.rays[:0], skipped=32)).shape == (0, HIT_FLOATS)
        assert cuda.calls.count("launch_kernel") == launched


def test_invalid_rays_are_counted_when_they_are_traced(cuda: FakeCuda) -> None:
    rays = CASE.rays.copy()
    rays[::5, 4:7] = 0.0
    with open_gpu() as tracer:
        hits = cuda.fetched(tracer.closest_hit(OnGpu(cuda, rays)))
        assert (hits.view(np.uint32)[::5, 3] == MISS).all()
        assert tracer.statistics().invalid_rays == len(rays[::5])


@pytest.mark.parametrize(
    ("given", "got"),
    [
        (CASE.rays.astype(np.float64), r"\(600, 8\) float64"),
        (CASE.rays.view(np.int32), r"\(600, 8\) int32"),
        (CASE.rays[:, :4].copy(), r"\(600, 4\) float32"),
        (CASE.rays.reshape(-1), r"\(4800,\) float32"),
        (CASE.rays[None], r"\(1, 600, 8\) float32"),
    ],
)
def test_other_arrays_on_a_gpu_are_no_rays(cuda: FakeCuda, given: Any, got: str) -> None:
    with open_gpu() as tracer, pytest.raises(RayError, match=rf"\(n, 8\) and type float32, C-contiguous, .*got {got}"):
        tracer.closest_hit(OnGpu(cuda, given))


def test_rays_have_to_lie_as_kernels_read_them(cuda: FakeCuda) -> None:
    strided = OnGpu(cuda, CASE.rays, shape=(300, 8), strides=(64, 4))
    apart = OnGpu(cuda, CASE.rays[:60], skipped=4)
    with open_gpu() as tracer:
        with pytest.raises(RayError, match=r"C-contiguous, .*got \(300, 8\) float32, strides \(64, 4\)"):
            tracer.closest_hit(strided)
        with pytest.raises(RayError, match=r"at a multiple of 16 bytes, got \(60, 8\) float32, .*at 0x[0-9a-f]+4$"):
            tracer.any_hit(apart)
        hits = tracer.closest_hit(OnGpu(cuda, CASE.rays[:60], skipped=32))
        assert_same_bits(cuda.fetched(hits), CASE.closest[:60], CASE.rays)


def test_rays_of_another_gpu_are_refused(cuda: FakeCuda) -> None:
    with open_gpu(gpu=1) as tracer:
        with pytest.raises(RayError, match=r"rays lie on GPU 0, and the tracer is on GPU 1; copy them there first"):
            tracer.closest_hit(OnGpu(cuda, CASE.rays))
        hits = tracer.closest_hit(OnGpu(cuda, CASE.rays, gpu=1))
        assert_same_bits(cuda.fetched(hits), CASE.closest, CASE.rays)


@pytest.mark.parametrize("failure", [BufferError("has a gradient"), TypeError("has a gradient")])
def test_what_a_library_does_not_lend_is_refused(
    cuda: FakeCuda, monkeypatch: pytest.MonkeyPatch, failure: Exception
) -> None:
    def fail(_lent: Any) -> Any:
        raise failure

    with open_gpu() as tracer:
        monkeypatch.setattr(cuda, "array_of", fail)
        with pytest.raises(RayError, match=r"^rays: has a gradient$"):
            tracer.closest_hit(OnGpu(cuda, CASE.rays))


def waiting_for(event: threading.Event) -> Callable[[], None]:
    def wait() -> None:
        assert event.wait(60.0)

    return wait


def small_stack() -> KernelStrategy:
    """A kernel whose stack overflows, and whose layout does not know it."""
    layout = replace(bvh2.LAYOUT, pack=lambda *arguments: replace(bvh2.pack(*arguments), stack=1))
    return replace(find_strategy("while-while"), name="small", stack_size=4, layout=layout)


def test_what_a_kernel_complains_of_is_told_by_the_next_call_or_by_closing(cuda: FakeCuda) -> None:
    rays = OnGpu(cuda, CASE.rays)
    with open_gpu(kernel=small_stack()) as tracer:
        cuda.fetched(tracer.closest_hit(rays))
        with pytest.raises(KernelError, match=r"kernel 'small' failed: its traversal stack overflowed"):
            tracer.closest_hit(rays)
        tracer.closest_hit(rays)
        with pytest.raises(KernelError, match=r"kernel 'small' failed: its traversal stack overflowed"):
            tracer.close()
        tracer.close()


def test_a_launch_that_does_not_come_back_is_told_once(impatient: FakeCuda) -> None:
    """By whoever waits, though the caller does not; what it uses stays."""
    tracer = open_gpu("resident")
    with impatient.devices[0].hanging():
        tracer.closest_hit(OnGpu(impatient, CASE.rays))
        with pytest.raises(KernelError, match=r"'while-while' has not come back in 0\.3 s.*TRACECORE_GPU_TIMEOUT"):
            tracer.limits(CASE.rays)
        with pytest.raises(KernelError, match="has not come back"):
            tracer.closest_hit(OnGpu(impatient, CASE.rays[:1]))
        tracer.close()
        del tracer
        gc.collect()
    rested(impatient)


def test_a_device_that_is_lost_is_told(cuda: FakeCuda) -> None:
    tracer, rays = open_gpu(), OnGpu(cuda, CASE.rays)
    with cuda.devices[0].hanging():
        tracer.closest_hit(rays)
        cuda.devices[0].fail(LOST)
        assert tracer.statistics().rays == 0
        with pytest.raises(KernelError, match=r"CUDA error 719 while tracing; GPU 0 is lost to this process"):
            tracer.closest_hit(rays)
    tracer.close()


@pytest.mark.parametrize("is_closed", [True, False])
def test_what_is_under_way_is_waited_for_before_memory_is_given_back(cuda: FakeCuda, is_closed: bool) -> None:
    """By closing, or where the tracer is dropped; the hits are the caller's."""
    tracer, goes_on = open_gpu(), threading.Event()
    cuda.stream = cuda.create_stream()
    cuda.stream.add(waiting_for(goes_on))
    hits = tracer.closest_hit(OnGpu(cuda, CASE.rays))
    timer = threading.Timer(0.1, goes_on.set)
    timer.start()
    if is_closed:
        tracer.close()
    del tracer
    gc.collect()
    assert goes_on.is_set()
    timer.join()
    assert cuda.memory_on(0) == 1
    assert_same_bits(on_host(hits), CASE.closest, CASE.rays)


def test_hits_on_a_device_are_verified(cuda: FakeCuda, monkeypatch: pytest.MonkeyPatch) -> None:
    from tracecore.cuda.device_hits import DeviceHits

    monkeypatch.setattr(DeviceHits, "__dlpack_device__", lambda hits: (2, hits.device.id), raising=False)
    tracer = VerifiedTracer(open_gpu(), Judge(CpuTracer(CASE.triangles), len(CASE.triangles), 1.0))
    rays = OnGpu(cuda, CASE.rays)
    hits = tracer.any_hit(rays)
    assert_same_bits(on_host(hits), CASE.occlusion, CASE.rays)
    assert isinstance(hits, DeviceHits)
    assert tracer.statistics().verified_batches == 1
    fetched = cuda.fetched

    def with_a_wrong_bit(lent: Any) -> Any:
        found = fetched(lent)
        found.view(np.uint32)[7, 1] ^= found.shape[1] == HIT_FLOATS
        return found

    monkeypatch.setattr(cuda, "fetched", with_a_wrong_bit)
    with pytest.raises(WrongHitError, match="ray 7 of an array of 600"):
        tracer.closest_hit(rays)
    tracer.close()


class Lent:
    """Says by DLPack where it lies."""

    def __init__(self, kind: int) -> None:
        self.kind = kind

    def __dlpack__(self, **asked: Any) -> Any:
        raise AssertionError

    def __dlpack_device__(self) -> tuple[int, int]:
        if self.kind < 0:
            raise BufferError("on several devices")
        return self.kind, 0


@pytest.mark.parametrize(
    ("kind", "is_on_gpu"), [(1, False), (2, True), (3, False), (10, False), (13, True), (-1, False)]
)
def test_what_lies_on_a_gpu_says_so_by_dlpack(kind: int, is_on_gpu: bool) -> None:
    assert lies_on_gpu(Lent(kind)) == is_on_gpu


def test_what_lies_on_a_gpu_may_have_nothing_else_than_cudas_interface() -> None:
    there = SimpleNamespace(__cuda_array_interface__={})
    assert lies_on_gpu(there)
    assert not any(lies_on_gpu(array) for array in (CASE.rays, [1.0], 2.0, CASE.closest.view(Hits)))


def test_cupy_takes_an_array_by_dlpack_or_else_by_cudas_interface(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the first the library says what the stream waits for; by the second the array is taken on its own GPU, as
    CuPy would copy it to another."""
    cupy = pytest.importorskip("cupy", reason="CuPy is not installed; the extra `gpu` brings it")
    monkeypatch.setattr("tracecore.cuda.driver.load_driver_library", lambda: None)
    monkeypatch.setattr(cupy, "from_dlpack", lambda lent: ("by DLPack", lent))
    monkeypatch.setattr(cupy, "asarray", lambda lent: ("by interface", lent, current[-1]))
    monkeypatch.setattr(cupy.cuda.runtime, "pointerGetAttributes", lambda address: SimpleNamespace(device=address - 7))
    monkeypatch.setattr(cupy.cuda, "Device", lambda gpu: nullcontext(current.append(gpu)))
    current: list[int] = []
    driver = CupyDriver()
    both, other = Lent(2), SimpleNamespace(__cuda_array_interface__={"data": (8, False)})
    both.__cuda_array_interface__ = {}  # type: ignore[attr-defined]
    assert driver.array_of(both) == ("by DLPack", both)
    assert driver.array_of(other) == ("by interface", other, 1)
