"""Resident dispatch without a GPU: the very kernels, emulated, serve queues of other threads."""

import gc
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from brute_answers import Answers, answers, cutout_answers
from data_files import data_text
from emulated_ring import SHUFFLED, KernelHost
from fake_cuda import FakeCuda, installed
from judges import ONE_OF_EACH_SOURCE, assert_same_bits
from ring_orders import assert_written, await_order, write_order

from tracecore.checks.ray_cases import Floats, soup
from tracecore.cuda.device import find_device
from tracecore.cuda.device_kernel import DeviceKernel, DeviceScene
from tracecore.cutouts import CutoutTables
from tracecore.dispatch import resident
from tracecore.dispatch.port import PORT_BATCHES, PORT_INVALID, PORT_RAYS
from tracecore.dispatch.queue import RayQueue
from tracecore.dispatch.resident import RingPort
from tracecore.dispatch.ring import RingMemory, is_flagged, ring_again, say
from tracecore.errors import DeviceError, KernelError
from tracecore.kernels.ring_records import ANY_HIT_BIT, END, ENDLESS_BIT, FAULT_SHIFT, NO_UV_BIT, ONCE
from tracecore.kernels.strategies import find_strategy
from tracecore.kernels.strategy import KernelStrategy
from tracecore.layout import bvh2
from tracecore.rays import BATCH_RAYS, MISS, Query, make_rays
from tracecore.tracers.brute_force import is_valid

pytestmark = pytest.mark.usefixtures("emulator", "collects_often")

#: Of the usual ring.
SLOTS, SLOT_RAYS = 12, 256

NO_HITS = np.array([[np.inf, 0.0, 0.0, np.array(MISS, np.uint32).view(np.float32)]], np.float32)


@contextmanager
def serving(
    triangles: Floats,
    kernel: str | KernelStrategy = "while-while",
    shape: tuple[int, int] = (SLOTS, SLOT_RAYS),
    cutouts: CutoutTables | None = None,
) -> Iterator[KernelHost]:
    """A service that has ended by itself when the block is left. shape: slots, and rays of each."""
    host = KernelHost(triangles, find_strategy(kernel), shape, cutouts)
    host.start()
    try:
        yield host
    finally:
        host.stop()


@pytest.mark.parametrize("kernel", ONE_OF_EACH_SOURCE)
def test_hits_are_those_of_brute_force(kernel: str) -> None:
    case = answers("soup", 2000)
    with serving(case.triangles, kernel) as host, host.queue() as queue:
        for count in (SLOT_RAYS, 31):
            for i in range(6):
                queue.submit(case.rays[i * 100 : i * 100 + count], Query(i % 2))
            for i, batch in enumerate(queue.drain()):
                rows = slice(i * 100, i * 100 + count)
                assert_same_bits(batch.hits, (case.occlusion if i % 2 else case.closest)[rows], case.rays[rows])


#: Lanes that end together, lanes that get new rays one by one, groups of lanes, a warp on one ray.
KINDS = ("while-while", "replacing-compressed-bvh8", "grouped-8", "warp")


@pytest.mark.parametrize("slot_rays", [256, 1024, 4096])
@pytest.mark.parametrize("kernel", KINDS)
def test_columns_hold_the_hits_and_nothing_else_is_read_or_written(kernel: str, slot_rays: int) -> None:
    case = answers("soup", 5000)  # rays without ends
    asked = [0, ANY_HIT_BIT, ENDLESS_BIT, NO_UV_BIT, ENDLESS_BIT | NO_UV_BIT, ANY_HIT_BIT | ENDLESS_BIT | NO_UV_BIT]
    with serving(case.triangles, kernel, (7, slot_rays)) as host:
        memory = host.memory
        memory.hits[6] = -7.0
        for count in (1, 31, 33, slot_rays) if slot_rays == 256 else (225,):
            for slot, bits in enumerate(asked):
                write_order(memory, slot, case.rays[slot * 50 : slot * 50 + count], bits)
            for slot, bits in enumerate(asked):
                assert await_order(memory, slot) == 0
                expected = case.occlusion if bits & ANY_HIT_BIT else case.closest
                assert_written(memory, slot, expected[slot * 50 : slot * 50 + count], bits)
            assert (memory.hits[6] == -7.0).all()


@pytest.mark.parametrize("kernel", KINDS)
def test_hits_are_the_same_on_weak_memory(kernel: str) -> None:
    """Lanes run in random order, and see nothing early that is not handed over to them (`test_hand_over`)."""
    case = answers("soup", 2000)
    host = KernelHost(case.triangles, find_strategy(kernel), (2, SLOT_RAYS))
    for seed in range(2):
        for slot in range(2):
            write_order(host.memory, slot, case.rays[100 * seed : 100 * seed + 150], slot * ANY_HIT_BIT)
        say(host.memory.stop, ONCE)
        host.run(order=SHUFFLED, seed=seed, is_weak=1)
        assert host.error is None
        for slot, expected in enumerate((case.closest, case.occlusion)):
            assert await_order(host.memory, slot) == 0
            assert_written(host.memory, slot, expected[100 * seed : 100 * seed + 150])


@pytest.mark.parametrize("kernel", KINDS)
def test_columns_hold_the_hits_through_cutouts(kernel: str) -> None:
    tables, case = cutout_answers("soup", 1500)
    with serving(case.triangles, kernel, (4, 512), tables) as host:
        for slot, bits in enumerate((0, ANY_HIT_BIT, ENDLESS_BIT, NO_UV_BIT)):
            write_order(host.memory, slot, case.rays[slot * 300 : slot * 300 + 400], bits)
        for slot, bits in enumerate((0, ANY_HIT_BIT, ENDLESS_BIT, NO_UV_BIT)):
            assert await_order(host.memory, slot) == 0
            expected = case.occlusion if bits & ANY_HIT_BIT else case.closest
            assert_written(host.memory, slot, expected[slot * 300 : slot * 300 + 400], bits)


def test_orders_are_traced_once_even_by_a_kernel_that_starts_again() -> None:
    case = answers("soup", 2000)
    host = KernelHost(case.triangles, find_strategy(None), (3, 256))
    for slot in range(3):
        host.start()
        write_order(host.memory, slot, case.rays[:100])
        assert await_order(host.memory, slot) == 0
        assert_written(host.memory, slot, case.closest[:100])
        host.memory.hits[slot] = -7.0
        host.stop()
    assert (host.memory.hits == -7.0).all()


def test_a_launch_answers_what_has_been_rung_and_ends_by_itself() -> None:
    """Twice, as a launch for every lot of orders does; the time with orders at hand adds up."""
    case = answers("soup", 2000)
    host = KernelHost(case.triangles, find_strategy("while-while"), (SLOTS, SLOT_RAYS))
    queue = host.queue()
    busy = [0]
    for launch in range(2):
        for i in range(3 - launch):
            queue.submit(case.rays[i * 100 : i * 100 + 200])
        say(host.memory.stop, ONCE)
        host.run()
        assert host.error is None
        for i, batch in enumerate(queue.drain()):
            assert_same_bits(batch.hits, case.closest[i * 100 : i * 100 + 200], case.rays[i * 100 : i * 100 + 200])
        busy.append(int(host.memory.busy[0]))
    assert busy[0] < busy[1] < busy[2]


SLOW_WALK = data_text("kernels/slow_walk.cu")


def test_a_ticket_that_has_to_wait_is_not_lost(tmp_path: Path) -> None:
    """A warp on a slow ray draws a ticket of the other query; the other warp serves order after order meanwhile."""
    (tmp_path / "slow.cu").write_text(SLOW_WALK)
    slow = replace(find_strategy(None), source=tmp_path / "slow.cu", defines={"REPLACE_BELOW": 32}, block_size=96)
    host = KernelHost(soup(5), slow, (4, 256))
    memory = host.memory
    rays = make_rays(np.zeros((256, 3)), [[0.0, 0, 1]])
    write_order(memory, 0, make_rays([[0.0, 0, 0], [30_000.0, 0, 0]], [[0.0, 0, 1]]))
    for slot in (1, 2, 3):
        write_order(memory, slot, rays, ANY_HIT_BIT)
    host.start()
    for _ in range(40):
        for slot in (1, 2, 3):
            if is_flagged(memory.flags, slot, int(memory.doorbells[slot] >> np.uint64(32))):
                write_order(memory, slot, rays, ANY_HIT_BIT)
        time.sleep(1e-3)
    for slot in (0, 1, 2, 3):
        assert await_order(memory, slot, 20.0) == 0
        assert_written(memory, slot, NO_HITS.repeat(256 if slot else 2, axis=0))
    host.stop()


@pytest.fixture
def case() -> Answers:
    return answers("invalid", 3000)


def test_invalid_rays_are_counted(case: Answers) -> None:
    with serving(case.triangles) as host, host.queue() as queue:
        for first in range(0, 3000, 250):
            queue.submit(case.rays[first : first + 250])
        hits = np.concatenate([batch.hits for batch in queue.drain()])
        assert_same_bits(hits, case.closest, case.rays)
        found = [host.counted(counter) for counter in (PORT_BATCHES, PORT_RAYS, PORT_INVALID)]
        assert found == [12, 3000, int((~is_valid(case.rays)).sum())]
        assert host.memory.busy[0] > 0


def test_a_flag_tells_how_many_rays_were_invalid(case: Answers) -> None:
    with serving(case.triangles, "grouped-8") as host:
        for slot in range(3):
            rays = case.rays[slot * 200 : slot * 200 + 150]
            write_order(host.memory, slot, rays)
            assert await_order(host.memory, slot) == (~is_valid(rays)).sum()
            assert_written(host.memory, slot, case.closest[slot * 200 : slot * 200 + 150])


def too_small_a_stack() -> KernelStrategy:
    def understated(*arguments: Any) -> Any:
        return replace(bvh2.pack(*arguments), stack=1)

    return replace(find_strategy(None), name="small", stack_size=4, layout=replace(bvh2.LAYOUT, pack=understated))


def test_a_fault_of_the_kernel_is_an_error() -> None:
    case = answers("soup", 2000)
    with serving(case.triangles, too_small_a_stack()) as host, host.queue() as queue:
        queue.submit(case.rays[:250])
        with pytest.raises(KernelError, match=r"kernel 'emulated' failed: its traversal stack overflowed"):
            queue.drain()
        assert queue.drain() == []  # told once
        queue.submit(make_rays([[9.0, 9, 9]], [[1.0, 1, 1]]))
        (batch,) = queue.drain()
        assert (batch.number, batch.hits.view(np.uint32)[0, 3]) == (1, MISS)


def test_a_fault_is_that_of_its_order() -> None:
    case = answers("soup", 2000)
    harmless = make_rays(np.full((256, 3), 9.0), [[1.0, 1, 1]])
    host = KernelHost(case.triangles, too_small_a_stack(), (SLOTS, SLOT_RAYS))
    for iteration in range(2):
        for slot in range(SLOTS):
            write_order(host.memory, slot, harmless if (slot + iteration) % 2 else case.rays[:256])
        host.start()
        for slot in range(SLOTS):
            assert await_order(host.memory, slot) >> FAULT_SHIFT == (slot + iteration + 1) % 2
        host.stop()


FAULT_AT_FIRST = data_text("kernels/fault_at_first.cu")


@pytest.mark.parametrize("replace_below", [0, 20, 32])
def test_the_fault_of_each_ray_is_told(tmp_path: Path, replace_below: int) -> None:
    """Slot i has a fault of ray i alone, which walks on while others are replaced; each second one has none."""
    (tmp_path / "fault.cu").write_text(FAULT_AT_FIRST)
    kernel = replace(
        find_strategy(None), source=tmp_path / "fault.cu", defines={"REPLACE_BELOW": replace_below}, block_size=96
    )
    host = KernelHost(soup(5), kernel, (128, 256))
    steps = np.random.default_rng(0).integers(1, 50, (128, 64))
    for slot in range(128):
        rays = make_rays(np.zeros((64, 3)), [[0.0, 0, 1]])
        rays[:, 0] = steps[slot]
        if slot % 2 == 0:
            rays[slot // 2, :2] = 60, 1
        write_order(host.memory, slot, rays)
    say(host.memory.stop, ONCE)
    host.run()
    assert host.error is None
    faults = [await_order(host.memory, slot) >> FAULT_SHIFT for slot in range(128)]
    assert faults == [1, 0] * 64


def test_threads_with_a_queue_each() -> None:
    case = answers("soup", 2000)
    failures: list[int] = []

    def feed(host: KernelHost, seed: int) -> None:
        random = np.random.default_rng(seed)
        under_way = {}
        with host.queue(3) as queue:
            for i in range(61):
                if i < 60:
                    chosen = random.integers(2000, size=1 + random.integers(256))
                    under_way[queue.submit(case.rays[chosen])] = chosen
                for batch in queue.completed() if i < 60 else queue.drain():
                    if not np.array_equal(batch.hits.view(np.uint32), expected[under_way.pop(batch.number)]):
                        failures.append(seed)
        if under_way:
            failures.append(seed)

    expected = case.closest.view(np.uint32)
    with serving(case.triangles, "replacing-while-while") as host:
        threads = [threading.Thread(target=feed, args=(host, seed)) for seed in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert failures == []


class Silent:
    """A host whose kernel never answers."""

    name, by_launches, timeout = "silent", False, 0.05

    def serve(self) -> None:
        """It seems to run."""


def alone(memory: RingMemory, depth: int = 1) -> RayQueue:
    host: Any = Silent()
    return RayQueue(RingPort(host, memory, depth, log_rows=0), "silent")


def test_slots_are_given_back_and_run_out() -> None:
    memory = RingMemory(3, SLOT_RAYS, np.zeros)
    queue = alone(memory, 2)
    assert not memory.take_all()
    with pytest.raises(DeviceError, match="no 2 of 3 slots are free side by side; use fewer threads"):
        alone(memory, 2)
    with pytest.raises(DeviceError, match="no 4 of 3 slots"):
        alone(memory, 4)
    with pytest.raises(DeviceError, match="at least 1 slot, got 0"):
        alone(memory, 0)
    queue.close()
    assert alone(memory, 2).depth == 2
    memory.give_back(0, 2)
    assert memory.take_all()
    with pytest.raises(DeviceError, match="no 1 of 3 slots"):
        memory.take(1)


#: Makes a service; its timeout in seconds.
MakeService = Callable[[float], resident.KernelHost]


@pytest.fixture
def cuda(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeCuda]:
    yield from installed(monkeypatch, devices=1)


@pytest.fixture
def make_host(cuda: FakeCuda) -> MakeService:
    strategy, triangles, device = find_strategy(None), soup(5), find_device(0)
    packed = strategy.pack(strategy.build(triangles), triangles)
    device.attach()
    kernel = DeviceKernel(device, strategy, strategy.stack_for(packed), resident=True)
    scene = DeviceScene(device, packed, strategy.layout.scene)
    return lambda timeout: resident.KernelHost(kernel, scene, timeout)


@pytest.fixture
def host(make_host: MakeService) -> Iterator[resident.KernelHost]:
    made = make_host(60.0)
    yield made
    made.close()


def work_for_a_second(host: resident.KernelHost) -> None:
    """As the kernel tells it, which adds to what it finds."""
    served_of(host).memory.busy[0] += np.uint64(10**9)


def test_a_ring_is_made_anew_only_where_it_does_not_do(host: resident.KernelHost) -> None:
    first = host.ring(6, 1024)
    assert (first.slots, first.slot_rays) == (6, 1024)
    assert host.ring(4, 1024) is first
    assert host.ring(7, 1024) is not first
    work_for_a_second(host)
    host.serve()
    assert host.busy_seconds == 1.0
    left = weakref.ref(served_of(host))
    other = host.ring(4, 512)
    assert (other.slots, other.slot_rays) == (4, 512)
    gc.collect()
    assert left() is None
    work_for_a_second(host)
    host.serve()
    assert host.busy_seconds == 2.0
    with pytest.raises(DeviceError, match="no 1 of 6 slots"):
        first.take(1)


def test_a_ring_in_use_is_not_taken_away(host: resident.KernelHost) -> None:
    ring = host.ring(8, 512)
    ring.take(2)
    message = (
        "the ring has 8 slots of 512 rays, and some are in use, so that there cannot be 9 slots of 512 rays: first"
    )
    with pytest.raises(DeviceError, match=message):
        host.ring(9, 512)
    assert host.ring(8, 512) is ring
    ring.give_back(0, 2)
    assert host.ring(9, 512) is not ring


def test_ports_get_a_ring_when_they_need_it(host: resident.KernelHost) -> None:
    with pytest.raises(KernelError, match="no ring to serve"):
        host.serve()
    unused = host.ring(64, 256)
    (port,) = host.open_ports(1, 4, BATCH_RAYS, ring_slots=8)
    ring = host.ring(1, BATCH_RAYS)
    assert ring is not unused
    assert (ring.slots, ring.slot_rays, len(port.port.doorbells)) == (8, BATCH_RAYS, 4)
    (other,) = host.open_ports(1, 4, BATCH_RAYS, ring_slots=8)
    assert host.ring(8, BATCH_RAYS) is ring
    for opened in (port, other):
        opened.close()
    assert [len(opened.port.doorbells) for opened in host.open_ports(3, 4, BATCH_RAYS, ring_slots=8)] == [4, 4, 4]
    assert host.ring(1, BATCH_RAYS).slots == 12


def test_a_kernel_that_has_ended_by_itself_is_an_error(host: resident.KernelHost) -> None:
    host.ring(8, 512)
    host.serve()
    served_of(host).memory.stop[0] = END
    assert served_of(host)._stream.wait(60.0)
    with pytest.raises(KernelError, match="'while-while' has ended by itself"):
        host.serve()


def served_of(host: resident.KernelHost) -> resident.ServedRing:
    served = host._served
    assert served is not None
    return served


def test_a_service_that_is_dropped_waits_for_its_kernel(make_host: MakeService, cuda: FakeCuda) -> None:
    host = make_host(60.0)
    host.ring(8, 512)
    host.serve()
    del host
    gc.collect()
    assert find_device(0).device_lock._persistent == []
    assert not cuda.devices[0].runs.locked()


def test_a_service_that_is_dropped_amid_another_threads_turn_leaves_its_kernel_to_whoever_comes_next(make_host):
    host, device_lock = make_host(0.5), find_device(0).device_lock
    host.ring(8, 512)
    host.serve()
    served = served_of(host)
    is_taken, is_over = threading.Event(), threading.Event()

    def take_the_device() -> None:
        with device_lock.lock:
            is_taken.set()
            is_over.wait(60.0)

    thread = threading.Thread(target=take_the_device)
    thread.start()
    is_taken.wait()
    del host
    gc.collect()
    is_over.set()
    thread.join()
    assert served.runs
    served.timeout = 60.0
    with device_lock.vacant():
        assert not served.runs


def test_a_kernel_that_does_not_end_keeps_its_memory(make_host: MakeService, cuda: FakeCuda) -> None:
    host = make_host(0.1)
    host.ring(8, 512)
    with cuda.devices[0].hanging():
        host.serve()
        served, memory = weakref.ref(served_of(host)), cuda.live()["memory"]
        del host
        gc.collect()
        assert find_device(0).device_lock._persistent == [served()]
        assert cuda.live()["memory"] == memory


def test_a_kernel_that_does_not_end_is_an_error(make_host: MakeService, cuda: FakeCuda) -> None:
    host, other = make_host(0.1), make_host(0.1)
    host.ring(8, 512)
    with cuda.devices[0].hanging():
        host.serve()
        for tried in (host.stop, lambda: other.ring(8, 512), lambda: find_device(0).device_lock.vacant().__enter__()):
            with pytest.raises(DeviceError, match=r"kernel '.*' has not ended in 0.1 s: end this process"):
                tried()


def test_one_kernel_stays_at_a_time(make_host: MakeService) -> None:
    one, other = make_host(60.0), make_host(60.0)
    for host in (one, other):
        host.ring(8, 512)
    for seconds in range(1, 4):
        work_for_a_second(one)
        one.serve()
        assert (served_of(one).runs, served_of(other).runs) == (True, False)
        work_for_a_second(other)
        other.serve()
        assert (served_of(one).runs, served_of(other).runs) == (False, True)
        assert (one.busy_seconds, other.busy_seconds) == (seconds, seconds)
    with find_device(0).device_lock.vacant():
        assert not served_of(other).runs


def test_the_last_orders_are_rung_for_again() -> None:
    case = answers("soup", 2000)
    with serving(case.triangles) as host:
        memory = host.memory
        for slot in (0, 1):
            write_order(memory, slot, case.rays[:70], NO_UV_BIT)
            await_order(memory, slot)
            memory.hits[slot] = -7.0
        assert ring_again(memory.doorbells, memory.flags, (0, 2), 3, 60 * 10**9)
        for slot in (0, 1):
            assert int(memory.flags[slot] >> np.uint64(32)) == 4
            assert_written(memory, slot, case.closest[:70], NO_UV_BIT)


def test_orders_that_nobody_answers_are_not_rung_for_again() -> None:
    memory = RingMemory(2, 256, np.zeros)
    write_order(memory, 0, answers("soup", 2000).rays[:70])
    assert not ring_again(memory.doorbells, memory.flags, (0, 2), 3, 10**6)
