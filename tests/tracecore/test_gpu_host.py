"""The host code of the GPU without a GPU: CUDA is played by the emulator (`fake_cuda`)."""

import ctypes
import gc
import itertools
import threading
import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from brute_answers import answers
from fake_cuda import FakeCuda, FakeCudaError, installed, rested
from judges import assert_same_bits

import tracecore
from tracecore.checks.cutout_cases import random_cutouts
from tracecore.cuda import device as gpu_device
from tracecore.cuda import device_memory
from tracecore.cuda.device import Stream, find_device, gpu_unavailable_reason, rounded_down
from tracecore.cuda.device_memory import DeviceMemory
from tracecore.cuda.driver import NOT_READY, SUCCESS
from tracecore.cuda.waiting import await_answer_but
from tracecore.cutouts import CutoutTables, tables_of
from tracecore.dispatch.port import ENDLESS, NO_OPTIONS, ONE_SLOT, next_batch, submit
from tracecore.dispatch.queue import RayQueue
from tracecore.dispatch.resident import RingPort
from tracecore.dispatch.whole_arrays import CopiedRays
from tracecore.errors import DeviceError, KernelError, TraceError
from tracecore.kernels.strategies import find_strategy, strategy_names
from tracecore.kernels.strategy import MOST_THREADS
from tracecore.rays import BATCH_RAYS, HIT, Floats, Query
from tracecore.tracers.gpu import GpuTracer

pytestmark = pytest.mark.usefixtures("emulator", "collects_often")

DISPATCHES = ("streamed", "resident")
CASE = answers("soup", 600)
CUTOUTS = tables_of(random_cutouts(CASE.triangles), len(CASE.triangles))

#: CUDA's status of a device that is gone.
LOST = 719


@pytest.fixture
def cuda(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeCuda]:
    monkeypatch.setenv("TRACECORE_GPU_TIMEOUT", "30")
    yield from installed(monkeypatch)


@pytest.fixture
def impatient(cuda: FakeCuda, monkeypatch: pytest.MonkeyPatch) -> FakeCuda:
    monkeypatch.setenv("TRACECORE_GPU_TIMEOUT", "0.3")
    return cuda


def open_gpu(dispatch: str = "streamed", gpu: int | None = None, **options: Any) -> GpuTracer:
    return GpuTracer(CASE.triangles, "while-while", threads=2, dispatch=dispatch, gpu=gpu, **options)


def traced(queue: RayQueue, count: int = 200, query: Query = Query.CLOSEST) -> Floats:
    """The hits of the case's first rays through a queue."""
    queue.submit(CASE.rays[:count], query)
    (batch,) = queue.drain()
    return batch.hits


def in_thread(do: Any) -> Any:
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(do()))
    thread.start()
    thread.join()
    return found[0]


def test_whole_arrays_hit_what_brute_force_hits(cuda: FakeCuda) -> None:
    with open_gpu() as tracer:
        assert_same_bits(tracer.closest_hit(CASE.rays), CASE.closest, CASE.rays)
        assert_same_bits(tracer.any_hit(CASE.rays), CASE.occlusion, CASE.rays)
        assert tracer.closest_hit(CASE.rays[:0]).shape == (0, 4)
        assert tracer.statistics().rays == 2 * len(CASE.rays)


@pytest.mark.parametrize("query", list(Query))
@pytest.mark.parametrize("dispatch", DISPATCHES)
def test_queues_hit_what_brute_force_hits(cuda: FakeCuda, dispatch: str, query: Query) -> None:
    """More batches than a queue holds, through two queues that share a ring; they are counted."""
    expected = (CASE.closest, CASE.occlusion)[query]
    with open_gpu(dispatch) as tracer:
        queues = [tracer.open_queue(depth=2, batch_rays=256) for _ in range(2)]
        for queue in queues:
            done = []
            for first in range(0, 500, 100):
                queue.submit(CASE.rays[first : first + 101], query)
                done += queue.completed()
            done += queue.drain()
            assert [batch.number for batch in done] == list(range(5))
            for number, hits in done:
                assert_same_bits(hits, expected[100 * number : 100 * number + 101], CASE.rays)
            queue.close()
        assert (tracer.statistics().batches, tracer.statistics().rays) == (10, 1010)
        assert tracer.statistics().busy_seconds > 0.0


@pytest.mark.parametrize("dispatch", DISPATCHES)
def test_queues_of_one_tracer_share_a_ring(cuda: FakeCuda, dispatch: str) -> None:
    with open_gpu(dispatch) as tracer:
        queues = [tracer.open_queue() for _ in range(16)]
        with pytest.raises(DeviceError, match="no 4 of 64 slots are free side by side"):
            tracer.open_queue()
        with pytest.raises(DeviceError, match="64 slots of 4096 rays, and some are in use"):
            tracer.open_queue(batch_rays=256)
        queues.pop().close()
        assert_same_bits(traced(tracer.open_queue()), CASE.closest[:200], CASE.rays)
        for queue in [*queues, *tracer._queues]:
            queue.close()
        with pytest.raises(DeviceError, match="at least 1 slot, got 0"):
            tracer.open_queue(depth=0)
        assert_same_bits(traced(tracer.open_queue(batch_rays=256)), CASE.closest[:200], CASE.rays)
        assert len(tracer._queues) == 1  # those that are closed are forgotten


@pytest.mark.parametrize("dispatch", DISPATCHES)
def test_ports_hit_what_brute_force_hits(cuda: FakeCuda, dispatch: str) -> None:
    with open_gpu(dispatch) as tracer:
        (opened,) = tracer.open_ports(1, 2, 256)
        assert isinstance(opened, RingPort)
        opened.check()
        for slot, options in enumerate((NO_OPTIONS, ENDLESS)):  # the rays have no ends
            opened.port.rays[slot, :, :100] = CASE.rays[100 * slot : 100 * slot + 100].T
            submit(opened.port, slot, 100, options)
        live = np.ones(2, np.int64)
        while live.any():
            if (batch := next_batch(opened.port, live, ONE_SLOT)) < 0:
                opened.poll()
                continue
            hits = opened.port.hits[batch, :, :100].T
            assert_same_bits(hits, CASE.closest[100 * batch : 100 * batch + 100], CASE.rays)
            live[batch] = 0
        opened.close()
        assert tracer.statistics().rays == 200
        assert tracer.statistics().busy_seconds > 0.0


def test_a_launch_amid_a_kernel_that_stays_has_the_device(cuda: FakeCuda) -> None:
    """The kernel leaves, and comes back when its ring is next rung."""
    with open_gpu("resident") as tracer:
        queue = tracer.open_queue()
        for _ in range(2):
            assert_same_bits(traced(queue), CASE.closest[:200], CASE.rays)
            assert_same_bits(tracer.closest_hit(CASE.rays[:50]), CASE.closest[:50], CASE.rays)


@pytest.mark.parametrize("kernel", ["while-while", "persistent-bvh4", "warp"])
@pytest.mark.parametrize("count", [0, 1, 165, 600])
def test_a_launch_traces_as_many_rays_as_the_device_says(cuda: FakeCuda, kernel: str, count: int) -> None:
    with GpuTracer(CASE.triangles, kernel, threads=1, dispatch="streamed") as tracer:
        rays, stream = DeviceMemory.holding(tracer.gpu, CASE.rays), Stream(tracer.gpu)
        hits = DeviceMemory.filled(tracer.gpu, len(CASE.rays) * HIT.itemsize, 0xFF)
        counted = DeviceMemory.holding(tracer.gpu, np.array([count]))
        launch = tracer.launch_at(rays.address, hits.address, device_count=counted.address)
        launch.start(len(CASE.rays), Query.CLOSEST, stream)
        stream.finish()
        found = hits.copied().reshape(len(CASE.rays), HIT.itemsize)
    assert_same_bits(found[:count].view(np.float32), CASE.closest[:count], CASE.rays[:count])
    assert (found[count:] == 0xFF).all()


def test_a_launch_that_answers_a_ring_takes_the_same_calls_however_often(cuda: FakeCuda) -> None:
    with open_gpu() as tracer:
        queue = tracer.open_queue()
        cuda.calls.clear()
        for _ in range(3):
            traced(queue, 10)
        launches = cuda.calls.count("launch_kernel")
        assert launches >= 3
        assert cuda.calls == ["use_device", "launch_kernel", "record_event"] * launches


@pytest.mark.parametrize("dispatch", DISPATCHES)
def test_busy_time_is_no_more_than_there_was(cuda: FakeCuda, dispatch: str) -> None:
    start = time.perf_counter()
    with open_gpu(dispatch) as tracer:
        (opened,) = tracer.open_ports(1, 1, 256)
        opened.check()
        for _ in range(3):
            opened.port.rays[0, :, :100] = CASE.rays[:100].T
            submit(opened.port, 0, 100, NO_OPTIONS)
            while next_batch(opened.port, np.ones(1, np.int64), ONE_SLOT) < 0:
                opened.poll()
        opened.close()
    assert 0.0 < tracer.statistics().busy_seconds <= time.perf_counter() - start


@pytest.mark.parametrize("piece", [64, 24])  # that one thread, or several put into pinned memory
def test_memory_is_copied_piece_by_piece(cuda: FakeCuda, piece: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_memory, "STAGING_BYTES", 64)
    monkeypatch.setattr(device_memory, "PIECE", piece)
    device = find_device(1)
    device.attach()
    content = np.arange(100, dtype=np.float32)
    memory = DeviceMemory.holding(device, content)
    assert np.array_equal(memory.copied().view(np.float32), content)
    assert not DeviceMemory.zeros(device, 100).copied().any()
    assert len(DeviceMemory.holding(device, content[:0]).copied()) == 0
    several = [content[first : first + count] for first, count in ((0, 16), (3, 0), (1, 5), (0, 99), (7, 11))]
    copies = DeviceMemory.holding_each(device, several)
    for copy, given in zip(copies, several, strict=True):
        assert np.array_equal(copy.copied().view(np.float32), given)
    assert DeviceMemory.holding_each(device, []) == []
    assert cuda.memory_on(0) == 0


@pytest.mark.parametrize("kernel", strategy_names())
def test_the_last_thread_of_the_largest_launch_has_an_index_of_32_bits(kernel: str) -> None:
    strategy = find_strategy(kernel)
    assert strategy.blocks_for(strategy.most_rays) * strategy.block_size < 2**32
    assert 2 * strategy.most_rays <= 2**32  # halves of rays
    assert strategy.most_rays == MOST_THREADS // strategy.lanes_per_ray >= tracecore.tracers.gpu.LAUNCH_RAYS  # type: ignore[attr-defined]


def test_memory_stays_as_long_as_a_copy_goes_on_whose_launch_is_refused(cuda: FakeCuda) -> None:
    with open_gpu() as tracer:
        before = cuda.live()["memory"]
        room = CopiedRays(tracer.launch_context, 10)
        with cuda.devices[0].copies:
            cuda.refused = {"launch_kernel"}
            with pytest.raises(DeviceError, match="cannot launch kernel"):
                room.trace(CASE.rays[:10], np.empty((10, 4), np.float32), Query.CLOSEST)
            del room
            gc.collect()
            assert cuda.live()["memory"] > before
        cuda.refused = set()
    rested(cuda)


@pytest.mark.parametrize("dispatch", DISPATCHES)
def test_devices_keep_their_modules_and_memory_apart(cuda: FakeCuda, dispatch: str) -> None:
    with open_gpu(dispatch, gpu=0) as zero, open_gpu(dispatch, gpu=1) as one:
        assert (zero.gpu.name, one.gpu.name) == ("Fake A", "Fake B")
        assert [len(device.modules) for device in cuda.devices] == [2, 2]
        queues = zero.open_queue(), one.open_queue()
        for first in (0, 200, 400):  # one thread feeds both by turns
            rows = slice(first, first + 200)
            for queue in queues:
                queue.submit(CASE.rays[rows])
                (batch,) = queue.drain()
                assert_same_bits(batch.hits, CASE.closest[rows], CASE.rays[rows])
        assert all(device.launches > 0 for device in cuda.devices)
        zero.close()
        del zero, queue, queues
        gc.collect()
        assert cuda.memory_on(0) == 0
        assert cuda.memory_on(1) > 0
        assert_same_bits(one.closest_hit(CASE.rays), CASE.closest, CASE.rays)
        assert_same_bits(in_thread(lambda: traced(one.open_queue())), CASE.closest[:200], CASE.rays)


def test_a_kernel_that_stays_on_one_device_does_not_hold_up_another(cuda: FakeCuda) -> None:
    with open_gpu("resident", gpu=0) as zero, open_gpu("resident", gpu=1) as one:
        traced(zero.open_queue())
        traced(one.open_queue())
        assert all(device.runs.locked() for device in cuda.devices)


@pytest.mark.parametrize("dispatch", DISPATCHES)
def test_a_device_that_is_lost_is_told_once(cuda: FakeCuda, dispatch: str) -> None:
    """By whoever waits; closing is quiet then, and whoever wants more is told again."""
    tracer = open_gpu(dispatch)
    queue = tracer.open_queue()
    with cuda.devices[0].hanging():
        queue.submit(CASE.rays[:10])
        cuda.devices[0].fail(LOST)
        with pytest.raises(KernelError, match=r"CUDA error 719 while tracing; GPU 0 is lost to this process"):
            queue.drain()
        with pytest.raises(KernelError, match="CUDA error 719"):
            queue.submit(CASE.rays[:10])
    tracer.close()
    tracer.close()


def test_a_device_that_is_lost_while_nobody_waits_is_told_by_close(cuda: FakeCuda) -> None:
    tracer = open_gpu("resident")
    traced(tracer.open_queue())
    cuda.devices[0].fail(LOST)
    with pytest.raises(KernelError, match=r"GPU 0 is lost to this process"):
        tracer.close()
    tracer.close()
    assert tracer.gpu.device_lock._persistent == []


def test_an_event_that_cannot_be_set_is_a_device_that_is_lost(cuda: FakeCuda) -> None:
    tracer = open_gpu("resident")
    traced(tracer.open_queue())
    cuda.refused = {"record_event"}
    with pytest.raises(KernelError, match=r"no event can be set \(FakeCudaError: .*GPU 0 is lost to this process"):
        tracer.close()
    tracer.close()
    rested(cuda)


@pytest.mark.parametrize("dispatch", DISPATCHES)
def test_a_kernel_that_hangs_is_an_error(impatient: FakeCuda, dispatch: str) -> None:
    """It is told in time, at once by a queue that knows already, and then what it means for the process."""
    tracer = open_gpu(dispatch)
    queue = tracer.open_queue()
    start = time.perf_counter()
    with impatient.devices[0].hanging():
        for _ in range(4):
            queue.submit(CASE.rays[:10])
        for use in (queue.drain, queue.completed, lambda: queue.wait(1), lambda: queue.submit(CASE.rays[:10])):
            with pytest.raises(KernelError, match=r"'while-while' has not answered in 0\.3 s.*TRACECORE_GPU_TIMEOUT"):
                use()
        with pytest.raises(DeviceError, match=r"kernel 'while-while' has not ended in 0\.3 s"):
            tracer.close()
    assert time.perf_counter() - start < 20.0


def test_a_kernel_that_hangs_is_waited_for_once(impatient: FakeCuda, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever needs the device later is told at once; and the process had better not wait for it in its end."""
    waits, wait = [], gpu_device.Stream.wait
    monkeypatch.setattr(
        gpu_device.Stream, "wait", lambda self, seconds: (waits.append(seconds), wait(self, seconds))[1]
    )
    tracer = open_gpu("resident")
    queue = tracer.open_queue()
    with impatient.devices[0].hanging():
        queue.submit(CASE.rays[:10])
        assert not tracer.gpu.has_hung
        waits.clear()
        for use in (tracer.close, open_gpu):
            with pytest.raises(TraceError, match="has not"):
                use()
        tracer.close()
    assert waits == [0.3, 0.0]
    assert tracer.gpu.has_hung
    assert gpu_device.has_anything_hung()
    rested(impatient)


@pytest.mark.parametrize("dispatch", DISPATCHES)
def test_whoever_only_looks_is_told_of_a_kernel_that_hangs(impatient: FakeCuda, dispatch: str) -> None:
    def look(queue: RayQueue) -> None:
        while queue.in_flight:
            queue.completed()

    tracer = open_gpu(dispatch)
    queue = tracer.open_queue()
    with impatient.devices[0].hanging():
        queue.submit(CASE.rays[:10])
        with pytest.raises(KernelError, match=r"'while-while' has not answered in 0\.3 s"):
            look(queue)
        with pytest.raises(DeviceError, match=r"has not ended in 0\.3 s"):
            tracer.close()
    rested(impatient)


@pytest.mark.parametrize("dispatch", DISPATCHES)
def test_a_pause_of_the_driver_is_no_silence_of_the_kernel(impatient: FakeCuda, dispatch: str) -> None:
    """Batches are looked for while they are on their way, and the driver goes away for longer than the timeout."""
    with open_gpu(dispatch) as tracer:
        queue = tracer.open_queue()
        done: list[Any] = []
        for _ in range(3):
            with impatient.devices[0].hanging():
                queue.submit(CASE.rays[:10])
                done += queue.completed()
            time.sleep(0.4)
        assert len(done + queue.drain()) == 3


def test_a_whole_array_that_does_not_come_back_is_an_error(impatient: FakeCuda) -> None:
    """Its memory stays, though its tracer and its owner are gone."""
    tracer = open_gpu()
    with impatient.devices[0].hanging():
        with pytest.raises(KernelError, match=r"'while-while' has not come back in 0\.3 s.*TRACECORE_GPU_TIMEOUT"):
            _trace_unseen(tracer)
        with pytest.raises(KernelError, match="has not come back"):
            tracer.closest_hit(CASE.rays[:10])
        tracer.close()
        before = impatient.live()["memory"]
        del tracer
        gc.collect()
        assert impatient.live()["memory"] == before > 4
    rested(impatient)


def _trace_unseen(tracer: GpuTracer) -> None:
    """Trace some rays; the frame, which an error keeps, holds nothing else."""
    tracer.closest_hit(CASE.rays[:10])


def test_memory_of_a_ring_whose_launch_hangs_stays(impatient: FakeCuda) -> None:
    """Its queue, its tracer and its owner are gone."""
    tracer = open_gpu()
    queue = tracer.open_queue()
    with impatient.devices[0].hanging():
        for _ in range(3):
            queue.submit(CASE.rays[:10])
            queue.completed()
        before = impatient.live()["memory"]
        with pytest.raises(KernelError, match="has not answered"):
            tracer.close()
        del tracer, queue
        gc.collect()
        assert impatient.live()["memory"] == before
    rested(impatient)


def test_memory_of_a_ring_that_is_dropped_while_a_launch_is_under_way_stays(impatient: FakeCuda) -> None:
    tracer = open_gpu()
    with impatient.devices[0].hanging():
        queue = tracer.open_queue()
        queue.submit(CASE.rays[:10])
        queue.completed()
        ring = queue._port.rays.nbytes
        del queue, tracer
        gc.collect()
        assert max(len(memory.bytes) for memory in impatient.memory) >= ring
    rested(impatient)


@pytest.mark.parametrize("dispatch", DISPATCHES)
def test_a_queue_that_is_dropped_keeps_its_slots_until_the_tracer_is_closed(cuda: FakeCuda, dispatch: str) -> None:
    with open_gpu(dispatch) as tracer:
        tracer.open_queue().submit(CASE.rays[:10])
        gc.collect()
        assert_same_bits(traced(tracer.open_queue()), CASE.closest[:200], CASE.rays)
    assert tracer._queues == []


@pytest.mark.parametrize("dispatch", DISPATCHES)
def test_what_a_closed_queue_left_behind_is_not_told_to_the_next(cuda: FakeCuda, dispatch: str) -> None:
    """Invalid rays are those of the batch that had them."""
    rays = CASE.rays[:50].copy()
    rays[::5, 4:7] = 0.0
    with open_gpu(dispatch) as tracer:
        with tracer.open_queue(depth=1, batch_rays=256) as queue:
            queue.submit(rays)
        assert tracer.statistics().invalid_rays == 10
        (opened,) = tracer.open_ports(1, 1, 256)
        assert next_batch(opened.port, np.ones(1, np.int64), ONE_SLOT) == 0
        assert tracer.statistics().invalid_rays == 10


def test_memory_that_is_not_set_in_time_is_an_error(impatient: FakeCuda) -> None:
    """A kernel runs that the process does not know of as one that stays."""
    device = find_device(0)
    device.attach()
    with impatient.devices[0].runs, pytest.raises(DeviceError, match=r"the GPU has not answered in 0\.3 s"):
        DeviceMemory.zeros(device, 100)
    assert impatient.live()["memory"] == 1


@pytest.mark.parametrize("call", ["allocate", "allocate_pinned", "create_stream", "load_module"])
def test_what_cuda_refuses_is_an_error_of_the_device(cuda: FakeCuda, call: str) -> None:
    cuda.refused = {call}
    with pytest.raises(DeviceError, match=f"cannot set up the GPU: FakeCudaError: {call} is refused; is the GPU's"):
        open_gpu()
    cuda.refused = set()
    open_gpu().close()


@pytest.mark.parametrize("dispatch", DISPATCHES)
def test_a_launch_that_cuda_refuses_is_an_error_of_the_device(cuda: FakeCuda, dispatch: str) -> None:
    """The queue can be used again afterwards."""
    with open_gpu(dispatch) as tracer:
        queue = tracer.open_queue()
        cuda.refused = {"launch_kernel"}
        with pytest.raises(DeviceError, match="cannot start the kernel that serves the ring"):
            traced(queue)
        with pytest.raises(DeviceError, match="cannot launch kernel 'while-while'"):
            tracer.closest_hit(CASE.rays)
        cuda.refused = set()
        queue.drain()
        assert_same_bits(traced(queue), CASE.closest[:200], CASE.rays)


@pytest.mark.parametrize("dispatch", DISPATCHES)
def test_close_gives_everything_back_and_may_be_called_again(cuda: FakeCuda, dispatch: str) -> None:
    tracer = open_gpu(dispatch)
    tracer.closest_hit(CASE.rays[:50])
    queue = tracer.open_queue()
    traced(queue)
    (port,) = tracer.open_ports(1, 2, BATCH_RAYS)
    port.close()
    del port
    told = tracer.statistics()
    tracer.close()
    tracer.close()
    gc.collect()
    assert cuda.live() == {"memory": 0, "streams": 0, "events": 0}
    assert tracer.statistics() == told
    assert tracer.compiled.arch == "sm_90"
    assert not any(device.runs.locked() for device in cuda.devices)
    for refused in (tracer.open_queue, lambda: tracer.closest_hit(CASE.rays), lambda: tracer.open_ports(1, 1, 256)):
        with pytest.raises(KernelError, match="the tracer 'while-while' is closed; open another one"):
            refused()
    with pytest.raises(KernelError, match="queue is closed"):
        queue.submit(CASE.rays[:10])


@pytest.mark.parametrize("dispatch", DISPATCHES)
def test_a_tracer_that_is_dropped_gives_everything_back(cuda: FakeCuda, dispatch: str) -> None:
    tracer = open_gpu(dispatch)
    traced(tracer.open_queue())
    del tracer
    gc.collect()
    assert cuda.live() == {"memory": 0, "streams": 0, "events": 0}
    assert not any(device.runs.locked() for device in cuda.devices)


class Recorder:
    """Notes calls by name, and answers each with the same."""

    def __init__(self, answer: Any = None) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self.answer = answer

    def __call__(self, *arguments: Any) -> Any:
        self.calls.append(arguments)
        return self.answer


def test_calls_of_cupy_name_the_device(monkeypatch: pytest.MonkeyPatch) -> None:
    cupy = pytest.importorskip("cupy", reason="CuPy is not installed; the extra `gpu` brings it")
    from tracecore.cuda.driver import DEVICE_TO_HOST, HOST_TO_DEVICE, CupyDriver

    monkeypatch.setattr("tracecore.cuda.driver.load_driver_library", lambda: None)
    runtime = cupy.cuda.runtime
    asked = {name: Recorder(7) for name in ("setDevice", "free", "deviceGetAttribute", "getDevice")}
    for name, recorder in asked.items():
        monkeypatch.setattr(runtime, name, recorder)
    driver = CupyDriver()
    driver.use_device(3)
    assert (asked["setDevice"].calls, asked["free"].calls) == ([(3,)], [(0,)])
    assert driver.device_attribute(5, "MultiProcessorCount") == 7
    assert driver.device_attribute(5, "MaxThreadsPerMultiProcessor") == 7
    assert driver.device_attribute(5, "ClockRate") == 7
    assert asked["deviceGetAttribute"].calls == [(16, 5), (39, 5), (13, 5)]  # as in CUDA's header
    assert driver.current_device() == 7
    assert (runtime.memcpyHostToDevice, runtime.memcpyDeviceToHost) == (HOST_TO_DEVICE, DEVICE_TO_HOST)


def test_calls_that_begin_work_raise_what_cuda_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("cupy", reason="CuPy is not installed; the extra `gpu` brings it")
    from tracecore.cuda.driver import HOST_TO_DEVICE, CupyDriver

    monkeypatch.setattr("cupy_backends.cuda.api.driver.CUDADriverError", FakeCudaError)
    names = ("cuLaunchKernel", "cuEventRecord", "cuEventQuery", "cuMemcpyAsync", "cuMemsetD8Async")
    library = SimpleNamespace(**{name: Recorder() for name in names})
    monkeypatch.setattr("tracecore.cuda.driver.load_driver_library", lambda: library)
    driver = CupyDriver()
    driver.launch_kernel(*range(1, 12))
    driver.record_event(1, 2)
    driver.query_event(1)
    driver.copy(1, 2, 3, HOST_TO_DEVICE, 5)
    driver.fill(1, 2, 3, 4)
    asked = {name: getattr(library, name) for name in names}
    assert [asked[name].calls for name in names] == [
        [tuple(range(1, 12))],
        [(1, 2)],
        [(1,)],
        [(1, 2, 3, 5)],
        [(1, 2, 3, 4)],
    ]
    assert all(len(asked[name].argtypes) == len(asked[name].calls[0]) for name in names)
    for name in set(names) - {"cuEventQuery"}:
        asked[name].restype(SUCCESS)
        with pytest.raises(RuntimeError, match="77"):
            asked[name].restype(77)


@pytest.mark.parametrize(("kind", "flag"), [("stream", 1), ("event", 2)])  # non-blocking, without a time
def test_streams_and_events_that_are_dropped_are_used_again(monkeypatch, kind, flag):
    cupy = pytest.importorskip("cupy", reason="CuPy is not installed; the extra `gpu` brings it")
    from tracecore.cuda.driver import CupyDriver

    device, handles = [0], itertools.count(77)
    monkeypatch.setattr("tracecore.cuda.driver.load_driver_library", lambda: None)
    monkeypatch.setattr(cupy.cuda.runtime, "getDevice", lambda: device[0])
    monkeypatch.setattr(
        cupy.cuda.runtime, f"{kind}CreateWithFlags", lambda *given: (flags.append(given), next(handles))[1]
    )
    flags: list[tuple[int]] = []
    create = getattr(CupyDriver(), f"create_{kind}")
    one, other = create(), create()
    assert (one.ptr, other.ptr, flags) == (77, 78, [(flag,), (flag,)])
    del one
    device[0] = 1
    there = create()
    device[0] = 0
    again = create()
    assert (there.ptr, again.ptr) == (79, 77)


@pytest.mark.parametrize(
    ("statuses", "seconds", "told"),
    [
        ((SUCCESS,), 0.0, SUCCESS),
        ((NOT_READY, NOT_READY, SUCCESS), 60.0, SUCCESS),
        ((NOT_READY, LOST), 60.0, LOST),
        ((NOT_READY,), 0.05, NOT_READY),
    ],
)
def test_an_event_is_awaited_until_it_is_there_or_the_time_is_over(statuses, seconds, told):
    left, asked, start = list(statuses), [], time.perf_counter()

    def query(event: int) -> int:
        asked.append(event)
        return left.pop(0) if len(left) > 1 else left[0]

    function = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)(query)
    address = ctypes.cast(function, ctypes.c_void_p).value
    assert await_answer_but(address, 77, NOT_READY, int(seconds * 1e9)) == told
    assert set(asked) == {77}
    assert time.perf_counter() - start >= seconds or told != NOT_READY


def test_cupys_errors_are_those_that_are_caught() -> None:
    cupy = pytest.importorskip("cupy", reason="CuPy is not installed; the extra `gpu` brings it")
    from cupy_backends.cuda.api import driver

    for error in (cupy.cuda.runtime.CUDARuntimeError, driver.CUDADriverError, FakeCudaError):
        assert issubclass(error, RuntimeError)
    assert issubclass(cupy.cuda.memory.OutOfMemoryError, MemoryError)
    for name in ("NUM_REGS", "SHARED_SIZE_BYTES"):
        assert hasattr(driver, f"CU_FUNC_ATTRIBUTE_{name}")


@pytest.mark.parametrize("error", [MemoryError("Out of memory"), FakeCudaError("cudaErrorMemoryAllocation: no room")])
def test_a_full_memory_is_told_as_such(cuda: FakeCuda, monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def fail(*_: object) -> int:
        raise error

    told = "0.25 of 80.00 GB of the GPU's memory are free; this process and others, which nvidia-smi lists, hold the"
    monkeypatch.setattr(cuda, "allocate", fail)
    with pytest.raises(DeviceError, match=f"cannot set up the GPU: .*{told}"):
        open_gpu()
    monkeypatch.setattr(cuda, "supported_architectures", fail)
    gpu_device.gpu_unavailable_reason.cache_clear()
    assert told in str(gpu_unavailable_reason(0))
    cuda.refused = {"memory_left"}
    gpu_device.gpu_unavailable_reason.cache_clear()
    assert "the GPU's memory is full; this process and others" in str(gpu_unavailable_reason(0))
    assert "install" not in str(gpu_unavailable_reason(0))


def test_processes_that_share_a_gpu_leave_room_for_each_other(cuda: FakeCuda, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(gpu_device._sharers, "processes", 1)
    cuda.free_bytes, device = 1000, find_device(0)
    assert device.own_room() == 1000
    gpu_device.share_gpus(3)
    assert device.own_room() == 333


@pytest.mark.parametrize("tables", [None, CUTOUTS])
def test_a_scene_without_room_is_refused_before_memory_is_taken(cuda: FakeCuda, tables: CutoutTables | None) -> None:
    strategy = find_strategy("while-while")
    needed = strategy.pack(strategy.build(CASE.triangles), CASE.triangles, tables).bytes
    cuda.free_bytes = needed
    open_gpu(cutouts=tables).close()
    cuda.free_bytes, before = needed // 2, len(cuda.calls)
    there = len(CASE.triangles)
    fits = rounded_down(there * (needed // 2) // needed)
    message = rf"^{there} triangles with their tree take 0\.00 GB, and about {fits} would fit: 0\.00 of 80\.00 GB"
    with pytest.raises(DeviceError, match=message) as caught:
        open_gpu(cutouts=tables)
    assert str(caught.value).endswith("choose another GPU by --device gpu:N, or take --device cpu")
    assert "\n" not in str(caught.value)
    assert cuda.live()["memory"] == 0
    assert set(cuda.calls[before:]) == {"use_device"}


def test_a_ring_without_room_is_refused(cuda: FakeCuda) -> None:
    with open_gpu() as tracer:
        cuda.free_bytes = 20 * 4096 * HIT.itemsize
        with pytest.raises(DeviceError, match=r"^1,000 slots of 4096 rays take 0\.07 GB, and about 19 would fit: "):
            tracer.open_ports(1, 1000, 4096)
        cuda.free_bytes = 250_000_000
        assert_same_bits(traced(tracer.open_queue()), CASE.closest[:200], CASE.rays)
