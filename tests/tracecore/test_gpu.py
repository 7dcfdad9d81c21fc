"""The GPU tracer against brute force and the CPU, bit for bit, and what it does when things go wrong."""

import functools
import gc
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from brute_answers import Answers, answers
from judges import MILLION, assert_same_bits, bounces, bunny, incoherent_rays, kitchen
from readme_kernel import register_example
from ring_orders import assert_written, await_order, write_order

from tracecore.checks.ray_cases import CASES, Floats
from tracecore.cuda import device as gpu_device
from tracecore.cuda import driver
from tracecore.cuda.device import find_device, gpu_count, timeout_seconds
from tracecore.cuda.driver import CupyDriver
from tracecore.dispatch.queue import Completed
from tracecore.errors import DeviceError, KernelError, VariableError
from tracecore.kernels import strategies
from tracecore.kernels.launch_records import describe_faults
from tracecore.kernels.ring_records import ANY_HIT_BIT, ENDLESS_BIT, NO_UV_BIT
from tracecore.kernels.strategies import find_strategy, strategy_names
from tracecore.kernels.strategy import KernelStrategy
from tracecore.layout import bvh2
from tracecore.rays import BATCH_RAYS, MISS, Query, make_rays
from tracecore.tracers.gpu import GpuTracer, gpu_unavailable_reason

RAYS = 3000


def gpu_test(function: Callable[..., Any]) -> Callable[..., Any]:
    return pytest.mark.gpu(pytest.mark.usefixtures("gpu")(function))


#: Names of kernels.
TWO = ("while-while", "compressed-bvh8")


def open_gpu(triangles: Floats, kernel: str | KernelStrategy | None = None) -> GpuTracer:
    return GpuTracer(triangles, kernel)


class Judge:
    """What a million rays hit, by brute force."""

    def __init__(self, kernel: KernelStrategy) -> None:
        self.kernel = kernel
        self.of_case = functools.cache(lambda case: self.answer(*CASES[case](MILLION)))
        self.of_scene = functools.cache(self._of_scene)

    def answer(self, triangles: Floats, rays: Floats) -> Answers:
        with open_gpu(triangles, self.kernel) as tracer:
            return Answers(triangles, rays, tracer.closest_hit(rays), tracer.any_hit(rays))

    def _of_scene(self, scene: Callable[[Path], Floats], folder: Path) -> Answers:
        """Half incoherent rays, half bounces of them."""
        triangles = scene(folder)
        first = incoherent_rays(triangles)[: MILLION // 2]
        with open_gpu(triangles, self.kernel) as tracer:
            rays = np.concatenate([first, bounces(first, tracer.closest_hit(first))])
        return self.answer(triangles, rays)


@pytest.fixture(scope="module")
def judge(tmp_path_factory: pytest.TempPathFactory) -> Judge:
    """Brute force on the GPU: the kernel of the README."""
    with pytest.MonkeyPatch.context() as context:
        context.setattr(strategies, "_strategies", dict(strategies._strategies))
        return Judge(register_example(tmp_path_factory.mktemp("kernel")))


@gpu_test
@pytest.mark.parametrize("case", CASES)
def test_the_judge_is_brute_force(judge: Judge, case: str) -> None:
    triangles, rays, closest, occlusion = answers(case, RAYS)
    with open_gpu(triangles, judge.kernel) as tracer:
        assert_same_bits(tracer.closest_hit(rays), closest, rays)
        assert_same_bits(tracer.any_hit(rays), occlusion, rays)


@gpu_test
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("kernel", strategy_names())
def test_a_million_hits_are_those_of_brute_force(judge: Judge, kernel: str, case: str) -> None:
    triangles, rays, closest, occlusion = judge.of_case(case)
    with open_gpu(triangles, kernel) as tracer:
        assert_same_bits(tracer.closest_hit(rays), closest, rays)
        assert_same_bits(tracer.any_hit(rays), occlusion, rays)


@gpu_test
@pytest.mark.parametrize("case", ["soup", "invalid", "no-triangles"])
@pytest.mark.parametrize("kernel", strategy_names())
def test_a_few_hits_are_those_of_brute_force(kernel: str, case: str) -> None:
    """What `tests/gpu.sh` runs under the sanitizer's tools."""
    triangles, rays, closest, occlusion = answers(case, RAYS)
    with open_gpu(triangles, kernel) as tracer:
        assert_same_bits(tracer.closest_hit(rays), closest, rays)
        assert_same_bits(tracer.any_hit(rays), occlusion, rays)


@gpu_test
@pytest.mark.parametrize("scene", [bunny, kitchen])
@pytest.mark.parametrize("kernel", strategy_names())
def test_a_million_hits_in_a_real_scene(judge, kernel, scene, shared_scenes):
    triangles, rays, closest, occlusion = judge.of_scene(scene, shared_scenes)
    assert (closest.view(np.uint32)[:, 3] != MISS).sum() > len(rays) // 20
    with open_gpu(triangles, kernel) as tracer:
        assert_same_bits(tracer.closest_hit(rays), closest, rays)
        assert_same_bits(tracer.any_hit(rays), occlusion, rays)


DISPATCHES = pytest.mark.parametrize("dispatch", ["resident", "streamed"])


@gpu_test
@DISPATCHES
def test_batches_of_any_size_hit_the_same(dispatch: str) -> None:
    triangles, rays, closest, occlusion = answers("soup", RAYS)
    with GpuTracer(triangles, dispatch=dispatch) as tracer, tracer.open_queue(batch_rays=1024) as queue:
        for count in (1, 31, 32, 33, 127, 128, 129, 1023, 1024, 5):
            for query, expected in ((Query.CLOSEST, closest), (Query.ANY, occlusion)):
                queue.submit(rays[count : 2 * count], query)
                (batch,) = queue.drain()
                assert_same_bits(batch.hits, expected[count : 2 * count], rays[count : 2 * count])


@gpu_test
@DISPATCHES
def test_many_threads_with_a_queue_each(dispatch: str) -> None:
    triangles, rays, closest, _ = answers("soup", RAYS)
    with GpuTracer(triangles, dispatch=dispatch) as tracer:
        assert_threads_hit(tracer, rays, closest, threads=8, batches=160)


def assert_threads_hit(tracer: GpuTracer, rays: Floats, closest: Floats, threads: int, batches: int) -> None:
    """Threads with a queue each trace random batches of the rays; all hits are right, in order."""
    expected = closest.view(np.uint32)
    failures: list[str] = []

    def feed(seed: int) -> None:
        random = np.random.default_rng(seed)
        under_way: dict[int, npt.NDArray[np.int64]] = {}
        with tracer.open_queue() as queue:
            for _ in range(batches):
                chosen = random.integers(len(rays), size=1 + random.integers(BATCH_RAYS))
                under_way[queue.submit(rays[chosen])] = chosen
                check(seed, queue.completed(), under_way)
            check(seed, queue.drain(), under_way)
        if under_way:
            failures.append(f"thread {seed} misses batches")

    def check(seed: int, done: list[Completed], under_way: dict[int, npt.NDArray[np.int64]]) -> None:
        for number, hits in done:
            if not (hits.view(np.uint32) == expected[under_way.pop(number)]).all():
                failures.append(f"thread {seed} has other hits")

    workers = [threading.Thread(target=feed, args=(seed,)) for seed in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert failures == []
    assert tracer.statistics().batches == threads * batches


@gpu_test
def test_a_queue_may_be_opened_in_one_thread_and_used_in_another() -> None:
    triangles, rays, closest, _ = answers("soup", RAYS)
    with open_gpu(triangles) as tracer:
        queue = tracer.open_queue()
        done: list[Completed] = []

        def use() -> None:
            queue.submit(rays[:100])
            done.extend(queue.drain())

        thread = threading.Thread(target=use)
        thread.start()
        thread.join()
        assert_same_bits(done[0].hits, closest[:100], rays[:100])


@gpu_test
@pytest.mark.parametrize("kernel", strategy_names())
def test_a_resident_kernel_hits_the_same(judge: Judge, kernel: str) -> None:
    triangles, rays, closest, occlusion = judge.of_case("soup")
    with GpuTracer(triangles, kernel, dispatch="resident") as tracer:
        assert tracer.dispatch == "resident"
        queue = tracer.open_queue(depth=16)
        for query, expected in ((Query.CLOSEST, closest), (Query.ANY, occlusion)):
            for _ in range(2):
                for i in range(16):
                    queue.submit(rays[i * BATCH_RAYS : (i + 1) * BATCH_RAYS - i], query)
                for i, batch in enumerate(queue.drain()):
                    rows = slice(i * BATCH_RAYS, (i + 1) * BATCH_RAYS - i)
                    assert_same_bits(batch.hits, expected[rows], rays[rows])
        assert_same_bits(tracer.closest_hit(rays[:5000]), closest[:5000], rays)  # a launch amid the service
        queue.submit(rays[:BATCH_RAYS])
        (batch,) = queue.drain()
        assert_same_bits(batch.hits, closest[:BATCH_RAYS], rays)
        statistics = tracer.statistics()
        assert statistics.batches == 4 * 16 + 2
        assert statistics.busy_seconds > 0.0


@gpu_test
def test_threads_share_a_resident_kernel(judge: Judge) -> None:
    triangles, rays, closest, _ = judge.of_case("intervals")
    with GpuTracer(triangles, "replacing-compressed-bvh8", dispatch="resident") as tracer:
        assert_threads_hit(tracer, rays, closest, threads=12, batches=400)


@gpu_test
@pytest.mark.parametrize("slot_rays", [256, 1024, 4096])
@pytest.mark.parametrize("kernel", ["while-while", "replacing-compressed-bvh8", "packet-8", "grouped-8"])
def test_a_resident_kernel_reads_and_writes_only_what_it_should(judge: Judge, kernel: str, slot_rays: int) -> None:
    triangles, rays, closest, occlusion = judge.of_case("soup")  # rays without ends
    asked = [0, ANY_HIT_BIT, ENDLESS_BIT, NO_UV_BIT, ENDLESS_BIT | NO_UV_BIT, ANY_HIT_BIT | ENDLESS_BIT | NO_UV_BIT]
    with GpuTracer(triangles, kernel, dispatch="resident") as tracer:
        host = tracer._host
        memory = host.ring(6 * len(asked), slot_rays)
        for iteration in range(20):
            orders = [
                (slot, asked[slot % 6], slice(100 * slot, 100 * slot + slot_rays - (slot * iteration) % slot_rays))
                for slot in range(memory.slots)
            ]
            for slot, bits, rows in orders:
                write_order(memory, slot, rays[rows], bits)
                host.serve()
            for slot, bits, rows in orders:
                assert await_order(memory, slot) == 0
                assert_written(memory, slot, (occlusion if bits & ANY_HIT_BIT else closest)[rows], bits)


@gpu_test
def test_a_ring_may_be_made_anew_and_a_tracer_dropped(judge: Judge) -> None:
    triangles, rays, closest, _ = judge.of_case("soup")
    for slot_rays in (256, 512):
        tracer = GpuTracer(triangles, dispatch="resident")
        for count, batch_rays in ((100, 256), (BATCH_RAYS, BATCH_RAYS), (7000, 2 * BATCH_RAYS)):
            queue = tracer.open_queue(batch_rays=batch_rays)
            queue.submit(rays[:count])
            (batch,) = queue.drain()
            assert_same_bits(batch.hits, closest[:count], rays)
            queue.close()
            memory = tracer._host.ring(4, slot_rays)
            write_order(memory, 3, rays[:100])
            tracer._host.serve()
            assert await_order(memory, 3) == 0
            assert_written(memory, 3, closest[:100])
        del tracer, queue, memory
        gc.collect()  # the kernel ends before its memory goes


@gpu_test
@pytest.mark.parametrize("dispatches", [("resident", "resident"), ("resident", "streamed")])
def test_tracers_take_turns_on_the_device(judge: Judge, dispatches: tuple[str, str]) -> None:
    """One has a kernel that stays while others are made, trace, and are dropped."""
    triangles, rays, closest, _ = judge.of_case("soup")
    tracers = [
        GpuTracer(triangles, kernel, dispatch=dispatch) for kernel, dispatch in zip(TWO, dispatches, strict=True)
    ]
    queues = [tracer.open_queue() for tracer in tracers]
    for i in range(20):
        rows = slice(i * BATCH_RAYS, (i + 1) * BATCH_RAYS)
        for queue in queues:
            queue.submit(rays[rows])
        for queue in queues:
            (batch,) = queue.drain()
            assert_same_bits(batch.hits, closest[rows], rays[rows])
        if i % 5 == 0:
            assert_same_bits(open_gpu(triangles).closest_hit(rays[rows]), closest[rows], rays[rows])  # and drop it
    for tracer in tracers:
        assert tracer.statistics().rays >= 20 * BATCH_RAYS
        tracer.close()


@gpu_test
def test_a_gpu_may_be_named_by_its_index() -> None:
    triangles, rays, closest, _ = answers("soup", RAYS)
    with GpuTracer(triangles, gpu=0) as tracer:
        assert tracer.gpu is find_device(0)
        assert_same_bits(tracer.closest_hit(rays), closest, rays)
    with pytest.raises(DeviceError, match=rf"there is no GPU {gpu_count()}; there are: 0 \("):
        GpuTracer(triangles, gpu=gpu_count())


@gpu_test
@pytest.mark.parametrize("dispatch", ["resident", "streamed"])
def test_gpus_side_by_side(dispatch: str) -> None:
    """One thread feeds two, each with a kernel that stays in resident dispatch."""
    if gpu_count() < 2:
        pytest.skip("there is one GPU; this needs two")
    triangles, rays, closest, _ = answers("soup", RAYS)
    with GpuTracer(triangles, dispatch=dispatch, gpu=0) as zero, GpuTracer(triangles, dispatch=dispatch, gpu=1) as one:
        queues = zero.open_queue(), one.open_queue()
        for _ in range(3):
            for tracer, queue in zip((zero, one), queues, strict=True):
                queue.submit(rays)
                (batch,) = queue.drain()
                assert_same_bits(batch.hits, closest, rays)
                assert_same_bits(tracer.closest_hit(rays), closest, rays)


ABANDONED = """
import sys, time
import numpy as np
from tracecore.tracers.gpu import GpuTracer
tracer = GpuTracer(np.eye(3, dtype=np.float32)[None], dispatch="resident")
queue = tracer.open_queue()
queue.submit(np.zeros((4096, 8), np.float32))
queue.drain()
print("served", flush=True)
time.sleep(float(sys.argv[1]))
"""


@gpu_test
@pytest.mark.parametrize("end", ["exit", "kill"])
def test_a_process_that_ends_leaves_no_kernel_behind(end: str) -> None:
    """One that forgets to close, and one that is killed; then the device serves others."""
    seconds = "0" if end == "exit" else "60"
    with subprocess.Popen([sys.executable, "-c", ABANDONED, seconds], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "served\n"
        if end == "kill":
            process.kill()
        assert process.wait(timeout=30) == (0 if end == "exit" else -signal.SIGKILL)
    triangles, rays, closest, _ = answers("soup", RAYS)
    with open_gpu(triangles) as tracer:
        assert_same_bits(tracer.closest_hit(rays), closest, rays)


@gpu_test
def test_a_stack_too_small_for_the_tree_is_refused() -> None:
    triangles, *_ = answers("soup", RAYS)
    small = replace(find_strategy(None), name="small", stack_size=4)
    with pytest.raises(KernelError, match=r"'small' has a stack of 4 entries, but this tree needs \d+; .*stack_size"):
        open_gpu(triangles, small)


@gpu_test
def test_an_overflow_of_the_stack_is_an_error_not_a_picture() -> None:
    triangles, rays, _, _ = answers("soup", RAYS)

    def understated(*arguments: Any) -> Any:
        return replace(bvh2.pack(*arguments), stack=1)

    layout = replace(bvh2.LAYOUT, pack=understated)
    small = replace(find_strategy(None), name="small", stack_size=4, layout=layout)
    with open_gpu(triangles, small) as tracer:
        with pytest.raises(KernelError, match=r"kernel 'small' failed: its traversal stack overflowed; .*stack_size"):
            tracer.closest_hit(rays)
        assert tracer.closest_hit(make_rays([[9, 9, 9]], [[1, 1, 1]])).view(np.uint32)[0, 3] == MISS


@gpu_test
@DISPATCHES
def test_a_kernel_that_does_not_come_back_is_an_error(tmp_path, monkeypatch, dispatch):
    """One that spins for two seconds, and a wait of a fifth of one."""
    (tmp_path / "spin.cu").write_text(
        '#include "bvh2.cuh"\n'
        '#include "clock.cuh"\n'
        "template <bool ANY_HIT> __device__ Hit trace(const Scene& scene, const Ray& ray, unsigned& faults) {\n"
        "    const unsigned long long end = nanoseconds() + 2000000000ull;\n"
        "    while (nanoseconds() < end) {}\n"
        "    return miss();\n"
        "}\n"
        '#include "rounds.cuh"\n'
    )
    monkeypatch.setenv("TRACECORE_GPU_TIMEOUT", "0.2")
    triangles, rays, _, _ = answers("one-triangle", RAYS)
    spin = replace(find_strategy(None), name="spin", source=tmp_path / "spin.cu", defines={})
    tracer = GpuTracer(triangles, spin, dispatch=dispatch)
    queue = tracer.open_queue()
    for _ in range(2):
        queue.submit(rays[:1])
    for _ in range(2):  # the second time at once: the queue counts as lost
        with pytest.raises(KernelError, match=r"'spin' has not answered in 0\.2 s.*TRACECORE_GPU_TIMEOUT"):
            queue.drain()
    with pytest.raises(DeviceError, match=r"kernel 'spin' has not ended in 0\.2 s"):
        tracer.close()
    with pytest.raises(DeviceError, match=r"has not ended in 0\.2 s"):
        open_gpu(triangles)
    time.sleep(5)
    open_gpu(triangles).close()  # the device serves again


@pytest.fixture
def _fresh_reason(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The reason is found anew, as on a machine with NVIDIA's driver."""
    monkeypatch.setattr(driver, "load_driver_library", lambda: None)
    gpu_unavailable_reason.cache_clear()
    yield
    gpu_unavailable_reason.cache_clear()


@pytest.mark.usefixtures("_fresh_reason")
def test_reason_without_cupy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu_device, "installed_driver", CupyDriver)
    monkeypatch.setitem(sys.modules, "cupy", None)
    reason = gpu_unavailable_reason()
    assert reason is not None
    assert reason.startswith("CuPy cannot be imported")
    assert reason.endswith("pip install cupy-cuda13x nvidia-cuda-nvrtc nvidia-cuda-runtime")
    assert "\n" not in reason


@pytest.mark.usefixtures("_fresh_reason")
def test_without_a_driver_cupy_is_not_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise DeviceError("no NVIDIA driver is installed")

    monkeypatch.setattr(gpu_device, "installed_driver", CupyDriver)
    monkeypatch.setattr(driver, "load_driver_library", fail)
    monkeypatch.setitem(sys.modules, "cupy", None)
    assert gpu_unavailable_reason() == "no NVIDIA driver is installed"


@pytest.mark.parametrize("is_there", [True, False])
def test_the_library_of_the_driver_is_looked_for(is_there: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    def load(name: str) -> None:
        if not is_there:
            raise OSError(f"{name}: cannot open shared object file")

    monkeypatch.setattr("ctypes.PyDLL", load)
    if is_there:
        driver.load_driver_library()
    else:
        with pytest.raises(DeviceError, match="no NVIDIA driver is installed"):
            driver.load_driver_library()


@pytest.mark.usefixtures("_fresh_reason")
def test_reason_with_a_driver_that_is_too_old(monkeypatch: pytest.MonkeyPatch) -> None:
    runtime = pytest.importorskip("cupy").cuda.runtime

    def fail() -> int:
        raise runtime.CUDARuntimeError(35)  # the driver is too old

    monkeypatch.setattr(runtime, "getDeviceCount", fail)
    reason = gpu_unavailable_reason()
    assert reason is not None
    assert "install or update the NVIDIA driver" in reason
    assert "\n" not in reason


@pytest.mark.parametrize("text", ["soon", "-1", "0", "nan", "inf"])
def test_a_timeout_must_be_positive(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACECORE_GPU_TIMEOUT", text)
    with pytest.raises(VariableError, match=f"TRACECORE_GPU_TIMEOUT must be a number of seconds .*, got '{text}'"):
        timeout_seconds()


def test_faults_in_words() -> None:
    assert describe_faults(1) == "its traversal stack overflowed; register the strategy with a larger stack_size"
    assert describe_faults(4) == "unknown fault bits 0x4"
