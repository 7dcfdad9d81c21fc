"""Rays from Python: a thin face of the slots that compiled loops use, for drivers written in plain NumPy.

A batch of rays is copied into a slot of a port, its doorbell is rung, and its hits are there when the flag is up. Whatever
answers the port answers the queue: a kernel that stays, launches, the CPU or the emulator.

    with tracer.open_queue() as queue:
        for rays in batches:
            queue.submit(rays)
            for batch in queue.completed():
                ...                              # batch.hits, in the order of submission
        for batch in queue.drain():
            ...
"""

import time
from collections import deque
from types import TracebackType
from typing import NamedTuple, Self

import numpy as np

from tracecore.dispatch.port import (
    ANY_HIT,
    LATE,
    PLAIN,
    POLLED,
    OpenPort,
    Port,
    await_answer,
    is_answered,
    raise_status,
    receive,
    resume,
    submit,
)
from tracecore.errors import KernelError, RayError
from tracecore.rays import HIT_FLOATS, Floats, Query, checked_rays

#: How long a queue looks for an answer before it sees to it that somebody still works on it, in nanoseconds.
LOOK_NANOSECONDS = 50_000_000


class Completed(NamedTuple):
    """A batch that has been traced.

    number: the one that `RayQueue.submit` returned.
    hits: (n, 4) float32, the bytes of `HIT` records, a row for each ray.
    """

    number: int
    hits: Floats


class RayQueue:
    """Batches of rays on their way to a tracer, for one thread. `Tracer.open_queue` makes it; close it in the end.

    opened: the port whose slots the queue uses, one for each batch in flight.
    kernel: the name of what traces, for messages.
    """

    def __init__(self, opened: OpenPort, kernel: str) -> None:
        self._opened = opened
        self._kernel = kernel
        self._submitted = 0
        self._in_flight: deque[tuple[int, int, int]] = deque()  # number, slot, rays
        self._completed: deque[Completed] = deque()
        self._is_open = True
        resume(opened.port, False)

    @property
    def depth(self) -> int:
        """How many batches can be in flight."""
        return len(self._port.doorbells)

    @property
    def batch_rays(self) -> int:
        """How many rays a batch holds at most."""
        return self._port.capacity

    @property
    def in_flight(self) -> int:
        """How many batches are on their way."""
        return len(self._in_flight)

    @property
    def _port(self) -> Port:
        return self._opened.port

    def submit(self, rays: Floats, query: Query = Query.CLOSEST) -> int:
        """Start to trace a batch, and wait for the oldest one first where `depth` batches are in flight.

        rays: (n, 8) float32, the bytes of `RAY` records, n from 1 to `batch_rays`. They are copied.
        query: the closest hit, or any.

        Returns the batch's number, counted from 0. Raises `RayError` for another shape or number of rays, `KernelError`
        where the queue is closed or nobody answers.
        """
        self._check_open()
        self._opened.check()
        rays = checked_rays(rays)
        if not 1 <= len(rays) <= self.batch_rays:
            raise RayError(f"a batch has 1 to {self.batch_rays} rays, got {len(rays)}")
        if len(self._in_flight) == self.depth:
            self._await_oldest()
        number, slot = self._submitted, self._submitted % self.depth
        self._port.rays[slot, :, : len(rays)] = rays.T
        submit(self._port, slot, len(rays), ANY_HIT if query == Query.ANY else PLAIN)
        self._in_flight.append((number, slot, len(rays)))
        self._submitted += 1
        return number

    def completed(self, at_least: int = 0) -> list[Completed]:
        """Returns the batches that are done and that were not returned before, in the order of submission.

        at_least: wait until there are so many of them, or all that were submitted.

        Raises `KernelError` where the kernel reports a fault or nobody answers.
        """
        self._check_open()
        self._collect()
        while len(self._completed) < at_least and self._in_flight:
            self._await_oldest()
            self._collect()
        done, self._completed = list(self._completed), deque()
        return done

    def fence(self) -> int:
        """Returns the number of batches submitted so far, which `wait` takes."""
        return self._submitted

    def wait(self, fence: int) -> None:
        """Return once all batches are done that were submitted before a fence; `completed` then returns them.

        Raises `KernelError` as `completed` does.
        """
        self._check_open()
        while self._in_flight and self._in_flight[0][0] < fence:
            self._await_oldest()

    def drain(self) -> list[Completed]:
        """Wait for all batches in flight. Returns those that were not returned before, in the order of submission."""
        return self.completed(at_least=len(self._completed) + len(self._in_flight))

    def close(self) -> None:
        """Wait for what is in flight, drop its hits, and give the slots back. A second call does nothing."""
        if not self._is_open:
            return
        self._is_open = False
        try:
            if self._in_flight:
                self._opened.drain()
        finally:
            self._in_flight.clear()
            self._opened.close()

    def _check_open(self) -> None:
        if not self._is_open:
            raise KernelError("the queue is closed; open another one")

    def _collect(self) -> None:
        """Take in what has been answered, oldest first."""
        if self._in_flight and self._port.kind == POLLED:
            self._opened.poll()
        while self._in_flight and is_answered(self._port, self._in_flight[0][1]):
            self._take_oldest()

    def _await_oldest(self) -> None:
        """Take in the batch that was submitted first, once it is answered."""
        deadline = time.perf_counter() + self._port.timeout * 1e-9
        slot = self._in_flight[0][1]
        while not is_answered(self._port, slot):
            if self._port.kind == POLLED:
                self._opened.poll()
            else:
                self._opened.check()
                await_answer(self._port, LOOK_NANOSECONDS)
            if time.perf_counter() > deadline and not is_answered(self._port, slot):
                raise_status(LATE, self._port, self._kernel)
        self._take_oldest()

    def _take_oldest(self) -> None:
        number, slot, count = self._in_flight.popleft()
        status = receive(self._port, slot)
        hits = np.empty((count, HIT_FLOATS), np.float32)
        hits[:] = self._port.hits[slot, :, :count].T
        raise_status(status, self._port, self._kernel)
        self._completed.append(Completed(number, hits))

    def __enter__(self) -> Self:
        """Returns the queue itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close."""
        self.close()
