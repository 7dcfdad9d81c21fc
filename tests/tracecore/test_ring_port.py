"""Ports to a ring: what threads do with one whose kernel a thread plays, or nobody."""

import re
import threading
import time
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
import pytest

from tracecore.dispatch.port import (
    ASK,
    LISTENING,
    NO_OPTIONS,
    ONE_SLOT,
    POLLED,
    PORT_INVALID,
    OpenPort,
    next_batch,
    submit,
)
from tracecore.dispatch.resident import RingPort
from tracecore.dispatch.ring import RingMemory, is_flagged, say
from tracecore.errors import DeviceError, KernelError
from tracecore.kernels.ring_records import END
from tracecore.tracers.verified import Judge, VerifiedPort


class KernelHost:
    """Raises the flags of all slots that have been rung when it is told to launch, if it answers at all."""

    name = "played"
    #: What flags tell beside the request's number: so many invalid rays.
    invalid = 0

    def __init__(self, *, by_launches: bool, answers: bool = True, timeout: float = 60.0) -> None:
        self.by_launches, self.answers, self.timeout = by_launches, answers, timeout
        self.memory = RingMemory(4, 256, np.zeros)
        self.launches = self.looks = 0

    def launch(self) -> None:
        self.launches += 1
        self.answer()

    def serve(self) -> None:
        self.looks += 1

    def answer(self) -> None:
        rung = self.memory.doorbells >> np.uint64(32)
        new = rung != self.memory.flags >> np.uint64(32)
        if self.answers:
            self.memory.flags[new] = rung[new] << np.uint64(32) | np.uint64(self.invalid)

    def port(self) -> RingPort:
        host: Any = self
        return RingPort(host, self.memory, 3, log_rows=0)


def is_free(memory: RingMemory) -> bool:
    try:
        memory.give_back(memory.take(memory.slots), memory.slots)
    except DeviceError:
        return False
    return True


def poll_for_long(opened: RingPort) -> None:
    for _ in range(100_000):
        opened.poll()


def later(do: Callable[[], None]) -> None:
    threading.Timer(0.1, do).start()


def test_a_port_by_launches_asks_for_one_when_all_is_on_its_way() -> None:
    host = KernelHost(by_launches=True)
    opened, live = host.port(), np.ones(3, np.int64)
    assert opened.port.kind == POLLED
    for _ in range(3):
        submit(opened.port, next_batch(opened.port, live, ONE_SLOT), 10, NO_OPTIONS)
    assert next_batch(opened.port, live, ONE_SLOT) == ASK
    opened.poll()
    assert host.launches == 1
    assert next_batch(opened.port, live, ONE_SLOT) >= 0


def test_a_launch_that_answers_nothing_is_late_in_the_end() -> None:
    host = KernelHost(by_launches=True, answers=False, timeout=0.2)
    opened = host.port()
    submit(opened.port, 0, 10, NO_OPTIONS)
    with pytest.raises(KernelError, match=r"'played' has not answered in 0.2 s"):
        poll_for_long(opened)


@pytest.mark.parametrize("by_launches", [False, True])
def test_what_is_on_its_way_lands_before_slots_are_given_back(by_launches: bool) -> None:
    host = KernelHost(by_launches=by_launches)
    opened = host.port()
    assert opened.port.kind == (POLLED if by_launches else LISTENING)
    submit(opened.port, 1, 10, NO_OPTIONS)
    opened.port.stop[0] = 1
    if not by_launches:
        later(host.answer)
    opened.drain()
    assert not is_free(host.memory)
    opened.close()
    assert is_free(host.memory)


@pytest.mark.parametrize("by_launches", [False, True])
def test_slots_that_are_not_answered_are_never_given_back(by_launches: bool) -> None:
    host = KernelHost(by_launches=by_launches, answers=False)
    opened = host.port()
    submit(opened.port, 1, 10, NO_OPTIONS)
    started = time.perf_counter()
    with pytest.raises(KernelError, match="'played' has not answered"):
        opened.drain()
    assert time.perf_counter() - started < 10.0  # it does not wait as long as a batch may take
    opened.close()
    assert not is_free(host.memory)


def test_a_port_looks_after_the_kernel() -> None:
    host = KernelHost(by_launches=False)
    host.port().check()
    assert host.looks == 1


def test_a_lane_is_ready_when_all_of_its_slots_are() -> None:
    host = KernelHost(by_launches=True, answers=False)
    opened, live = host.port(), np.ones(1, np.int64)
    submit(opened.port, 0, 10, NO_OPTIONS)
    submit(opened.port, 1, 10, NO_OPTIONS)
    for slot in (0, 1):
        assert next_batch(opened.port, live, np.int64(2)) == ASK
        host.memory.flags[slot] = host.memory.doorbells[slot] >> np.uint64(32) << np.uint64(32)
    assert next_batch(opened.port, live, np.int64(2)) == 0


def invalid_rays(opened: OpenPort) -> int:
    return int(opened.port.counters[PORT_INVALID])


@pytest.mark.parametrize("is_verified", [False, True])
def test_flags_are_taken_down_when_they_have_been_seen(is_verified: bool) -> None:
    """What they tell is counted once: not when the loop looks again, nor when the port is drained, nor by the next."""
    host = KernelHost(by_launches=True)
    host.invalid = 3
    judge: Any = None
    opened: OpenPort = VerifiedPort(host.port(), Judge(judge, 1, 0.0), "played", 0) if is_verified else host.port()
    live = np.array([1, 0, 0])
    submit(opened.port, 0, 10, NO_OPTIONS)
    opened.poll()
    assert [next_batch(opened.port, live, ONE_SLOT) for _ in range(2)] == [0, 0]
    assert invalid_rays(opened) == 3
    submit(opened.port, 0, 10, NO_OPTIONS)
    opened.poll()
    for _ in range(2):
        opened.drain()
        assert invalid_rays(opened) == (3 if is_verified else 6)  # what is verified and not fetched is dropped
    opened.close()
    other = host.port()
    assert next_batch(other.port, live, ONE_SLOT) == 0
    assert invalid_rays(other) == 0
    assert (host.memory.flags & np.uint64(0xFFFFFFFF) == 0).all()


def code_of(function: Any, *arguments: Any) -> str:
    """What LLVM makes of a compiled function for such arguments, after all that it calls is merged into it."""
    compiled = numba.njit(function.py_func, error_model="numpy")
    compiled.compile(tuple(map(numba.typeof, arguments)))
    (code,) = compiled.inspect_llvm().values()
    return str(code)


def test_a_doorbell_is_rung_after_the_rays_and_hits_are_read_after_the_flag() -> None:
    """What x86 keeps in order by itself, other processors and LLVM's optimiser do not."""
    host = KernelHost(by_launches=False)
    port = host.port().port
    is_released, is_acquired = r"store atomic i64 .* release, align 8", r"load atomic i64, .* acquire, align 8"
    assert re.search(is_released, code_of(submit, port, 0, 10, NO_OPTIONS))
    assert re.search(is_released, code_of(say, host.memory.stop, END))
    assert re.search(is_acquired, code_of(next_batch, port, np.ones(3, np.int64), ONE_SLOT))
    assert re.search(is_acquired, code_of(is_flagged, host.memory.flags, 0, 1))
