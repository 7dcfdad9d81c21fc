"""Resident dispatch without a GPU: the very kernels, emulated, serve queues of other threads."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from ray_cases import Answers, Floats, answers, assert_same_bits

from tracecore.brute_force import is_valid
from tracecore.emulator.library import LibraryPool, Request, compile_library, emulator_unavailable_reason
from tracecore.emulator.tracer import EmulatedScene, memory_ranges
from tracecore.errors import DeviceError, KernelError, RayError
from tracecore.layout import bvh2
from tracecore.ring import DESK, ORDER, ORDERS, RING, SLOT_RAYS, RingMemory, RingQueue
from tracecore.strategies import find_strategy, strategy_names
from tracecore.strategy import KernelStrategy
from tracecore.tracer import Batch, Query

SLOTS = 12


@pytest.fixture(scope="module", autouse=True)
def _emulator() -> None:
    if reason := emulator_unavailable_reason():
        pytest.skip(reason)


class Service:
    """A kernel that stays, in a thread."""

    def __init__(self, triangles: Floats, kernel: KernelStrategy) -> None:
        packed = kernel.layout.pack(kernel.build(triangles), triangles)
        self.library = LibraryPool.of(compile_library(kernel, kernel.stack_for(packed), resident=True))
        self.memory = RingMemory(SLOTS, np.zeros)
        self.scene = EmulatedScene(packed, kernel.layout.scene)
        self.desk, self.orders = np.zeros(1, DESK), np.zeros(ORDERS, ORDER)
        self.heard = np.zeros(SLOTS, np.uint32)
        self.complaint: str | None = None
        self.counts: list[tuple[int, ...]] = []
        self.record = np.zeros(1, RING)
        shared = {name: getattr(self.memory, name) for name in ("rays", "hits", "bells", "flags", "stop", "busy")}
        arrays: dict[str, npt.NDArray[Any]] = {**shared, "desk": self.desk, "orders": self.orders, "heard": self.heard}
        for name, array in arrays.items():
            self.record[name] = array.ctypes.data
        self.record["slots"] = SLOTS
        self.memories = np.concatenate([self.scene.memories, memory_ranges(list(arrays.values()))])
        self.threads = kernel.block_size
        self.thread = threading.Thread(target=self.run)

    def run(self) -> None:
        request = Request(
            scene=self.scene.record.ctypes.data,
            arguments=self.record.ctypes.data,
            blocks=1,
            threads=self.threads,
            time_limit=60 * 10**9,
            memories=self.memories.ctypes.data,
            memories_count=len(self.memories),
        )
        with self.library.borrow() as library:
            self.complaint = library.emulate(request)

    def queue(self, timeout: float = 60.0) -> RingQueue:
        return RingQueue(self.memory, "emulated", timeout, lambda: None, lambda *counts: self.counts.append(counts))


@contextmanager
def serving(triangles: Floats, kernel: str | KernelStrategy = "while-while") -> Iterator[Service]:
    """A service that has ended by itself when the block is left."""
    service = Service(triangles, find_strategy(kernel))
    service.thread.start()
    try:
        yield service
    finally:
        service.memory.stop[0] = 1
        service.thread.join()
        assert service.complaint is None
        assert service.desk["posted"][0] == service.desk["finished"][0]


def check(batch: Batch, expected: Floats, rays: Floats) -> None:
    assert_same_bits(batch.hits[: len(expected)], expected, rays)


@pytest.mark.parametrize("kernel", strategy_names())
def test_hits_are_those_of_brute_force(kernel: str) -> None:
    case = answers("soup", 2000)
    with serving(case.triangles, kernel) as service:
        queue = service.queue()
        batches = [queue.batch(600) for _ in range(4)]
        for count in (600, 31):
            for i, batch in enumerate(batches):
                batch.rays[:] = case.rays[i * 100 : i * 100 + 600]
                batch.hits[:] = -7.0
                queue.submit(batch, count, Query(i % 2))
            for i, batch in enumerate(batches):
                queue.wait(batch)
                rows = slice(i * 100, i * 100 + count)
                check(batch, (case.occlusion if i % 2 else case.closest)[rows], case.rays[rows])
                assert (batch.hits[count:] == -7.0).all()
        queue.close()


@pytest.fixture
def case() -> Answers:
    return answers("invalid", 3000)


def test_invalid_rays_are_counted(case: Answers) -> None:
    with serving(case.triangles) as service:
        queue = service.queue()
        batch = queue.batch(3000)
        batch.rays[:] = case.rays
        queue.submit(batch, 3000, Query.CLOSEST)
        queue.wait(batch)
        check(batch, case.closest, case.rays)
        assert service.counts == [(3000, int((~is_valid(case.rays)).sum()))]
        assert service.memory.busy[0] > 0


def test_a_fault_of_the_kernel_is_an_error() -> None:
    def understated(*arguments: Any) -> Any:
        return replace(bvh2.pack(*arguments), stack=1)

    case = answers("soup", 2000)
    layout = replace(bvh2.LAYOUT, pack=understated)
    with serving(case.triangles, replace(find_strategy(None), name="small", stack_size=4, layout=layout)) as service:
        queue = service.queue()
        batch = queue.batch(500)
        batch.rays[:] = case.rays[:500]
        queue.submit(batch, 500, Query.CLOSEST)
        with pytest.raises(KernelError, match=r"kernel 'emulated' failed: its traversal stack overflowed"):
            queue.wait(batch)


def test_a_batch_larger_than_a_slot() -> None:
    case = answers("few-triangles", 10_000)
    with serving(case.triangles) as service:
        queue = service.queue()
        batch = queue.batch(2 * SLOT_RAYS + 100)
        for count in (2 * SLOT_RAYS + 100, SLOT_RAYS, 5):
            batch.rays[:count] = case.rays[:count]
            queue.submit(batch, count, Query.CLOSEST)
            queue.wait(batch)
            check(batch, case.closest[:count], case.rays)
        queue.close()


def test_threads_with_a_queue_each() -> None:
    case = answers("soup", 2000)
    failures: list[int] = []

    def feed(service: Service, seed: int) -> None:
        random = np.random.default_rng(seed)
        queue = service.queue()
        batches = [queue.batch(256) for _ in range(3)]
        chosen = [np.zeros(0, np.int64)] * 3
        for turn in range(60):
            i = turn % 3
            queue.wait(batches[i])
            if not np.array_equal(batches[i].hits.view(np.uint32)[: len(chosen[i])], expected[chosen[i]]):
                failures.append(seed)
            chosen[i] = random.integers(2000, size=random.integers(257))
            batches[i].rays[: len(chosen[i])] = case.rays[chosen[i]]
            queue.submit(batches[i], len(chosen[i]), Query.CLOSEST)
        queue.close()

    expected = case.closest.view(np.uint32)
    with serving(case.triangles, "replacing-while-while") as service:
        threads = [threading.Thread(target=feed, args=(service, seed)) for seed in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert failures == []


def alone(memory: RingMemory) -> RingQueue:
    """A queue that nobody serves."""
    return RingQueue(memory, "silent", 0.05, lambda: None, lambda *counts: None)


def test_slots_are_given_back_and_run_out(case: Answers) -> None:
    memory = RingMemory(3, np.zeros)
    queue = alone(memory)
    queue.batch(2 * SLOT_RAYS)
    with pytest.raises(DeviceError, match="no 2 of 3 slots are free side by side; use fewer threads"):
        queue.batch(SLOT_RAYS + 1)
    queue.close()
    assert alone(memory).batch(3 * SLOT_RAYS).capacity == 3 * SLOT_RAYS


def test_a_device_that_does_not_answer_is_an_error() -> None:
    queue = alone(RingMemory(1, np.zeros))
    batch = queue.batch(10)
    queue.submit(batch, 10, Query.CLOSEST)
    with pytest.raises(KernelError, match=r"'silent' has not answered in 0.05 s.*TRACECORE_GPU_TIMEOUT"):
        queue.wait(batch)


def test_misuse_is_refused() -> None:
    queue = alone(RingMemory(1, np.zeros))
    batch = queue.batch(64)
    with pytest.raises(RayError, match="capacity 64 cannot hold 65 rays"):
        queue.submit(batch, 65, Query.CLOSEST)
    with pytest.raises(RayError, match="at least 1 ray, got 0"):
        queue.batch(0)
    with pytest.raises(RayError, match="not in the ring"):
        queue.submit(Batch.in_memory(3), 1, Query.CLOSEST)
    queue.submit(batch, 64, Query.CLOSEST)
    with pytest.raises(RayError, match="is being traced; wait for it"):
        queue.submit(batch, 64, Query.CLOSEST)
