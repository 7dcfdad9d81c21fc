"""Rays from Python: a thin face of the slots that compiled loops use, for drivers written in plain NumPy.

A batch of rays is copied into a slot of a port, its doorbell is rung, and its hits are there when the completion flag
is up. Whatever answers the port answers the queue: a kernel that stays, launches, the CPU or the emulator.

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
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from tracecore.arrays import Array
from tracecore.dispatch.closing import Closing
from tracecore.dispatch.port import (
    ANY_HIT,
    LATE,
    NO_OPTIONS,
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
from tracecore.rays import HIT_FLOATS, Hits, Query, checked_rays

#: How long a queue looks for an answer before it sees to it that somebody still works on it, in nanoseconds.
LOOK_NANOSECONDS = 50_000_000


class Completed(NamedTuple):
    """A batch that has been traced.

    number: the one that `RayQueue.submit` returned.
    hits: (n, 4) float32, the bytes of `HIT` records, a row for each ray.
    """

    number: int
    hits: Hits


class RayQueue(Closing):
    """Batches of rays on their way to a tracer, for one thread. `Tracer.open_queue` makes it; close it in the end.

    opened: the port whose slots the queue uses, one for each batch in flight.
    kernel: the name of what traces, for messages.
    """

    def __init__(self, opened: OpenPort, kernel: str) -> None:
        self._opened = opened
        self._kernel = kernel
        #: How many batches can be in flight.
        self.depth = len(opened.port.doorbells)
        #: How many rays a batch holds at most.
        self.batch_rays = opened.port.capacity
        #: False once the queue is closed.
        self.is_open = True
        self._submitted = 0
        self._in_flight: deque[tuple[int, int, int]] = deque()  # number, slot, rays
        self._completed: deque[Completed] = deque()
        self._silent_since = 0.0  # 0 where something came back since it was last looked
        self._failure = ""  # why nothing comes back any more, in words
        resume(opened.port, False)

    @property
    def in_flight(self) -> int:
        """How many batches are on their way."""
        return len(self._in_flight)

    @property
    def _port(self) -> Port:
        """The port whose slots the queue uses, as long as it is open."""
        return self._opened.port

    def submit(self, rays: Array, query: Query = Query.CLOSEST) -> int:
        """Start to trace a batch, and wait for the oldest one first where `depth` batches are in flight.

        rays: (n, 8) float32, the bytes of `RAY` records, n from 1 to `batch_rays`. They are copied.
        query: the closest hit, or any.

        Returns the batch's number, counted from 0. Raises `RayError` for another shape or number of rays, `KernelError`
        where the queue is closed or nobody answers, `DeviceError` where CUDA refuses to start the kernel.
        """
        self._check_open()
        self._attempt(self._opened.check)
        batch = checked_rays(rays)
        if not 1 <= len(batch) <= self.batch_rays:
            raise RayError(f"a batch has 1 to {self.batch_rays} rays, got {len(batch)}")
        if len(self._in_flight) == self.depth:
            self._await_oldest()
        number, slot = self._submitted, self._submitted % self.depth
        self._port.rays[slot, :, : len(batch)] = batch.T
        submit(self._port, slot, len(batch), ANY_HIT if query == Query.ANY else NO_OPTIONS)
        self._in_flight.append((number, slot, len(batch)))
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
        """Wait for what is in flight, drop its hits, and give the slots back. A second call does nothing.

        Raises `KernelError` where nobody answers, unless the queue has raised that before; then the slots stay taken.
        """
        if not self.is_open:
            return
        self.is_open = False
        try:
            if self._in_flight:
                self._opened.drain()
        except KernelError:
            if not self._failure:
                raise
        finally:
            self._in_flight.clear()
            self._opened.close()
            del self._opened  # with the memory of its slots

    def _check_open(self) -> None:
        if not self.is_open:
            raise KernelError("the queue is closed; open another one")

    def _attempt(self, step: Callable[[], object]) -> None:
        """Take a step which raises `KernelError` where nobody answers, and raise that again at all later ones."""
        if self._failure:
            raise KernelError(self._failure)
        try:
            step()
        except KernelError as error:
            self._failure = str(error)
            raise

    def _collect(self) -> None:
        """Take in what has been answered, oldest first, and see to it that the rest will be."""
        self._take_answered()
        if self._in_flight:
            self._attempt(partial(self._look, 0))
            self._take_answered()

    def _take_answered(self) -> None:
        while self._in_flight and is_answered(self._port, self._in_flight[0][1]):
            self._take_oldest()

    def _await_oldest(self) -> None:
        """Take in the batch that was submitted first, once it is answered."""
        while not is_answered(self._port, self._in_flight[0][1]):
            self._attempt(partial(self._look, LOOK_NANOSECONDS))
        self._take_oldest()

    def _look(self, nanoseconds: int) -> None:
        """See to it that somebody works on what is in flight, and look for an answer for so long.

        Raises `KernelError` where the tracer has failed, or look after look nothing is answered for the timeout.
        """
        if self._port.kind == POLLED:
            self._opened.poll()  # which knows itself what is late
            return
        self._opened.check()
        now = time.perf_counter()
        self._silent_since = self._silent_since or now
        if not await_answer(self._port, nanoseconds) and now - self._silent_since > self._port.timeout * 1e-9:
            raise_status(LATE, self._port, self._kernel)

    def _take_oldest(self) -> None:
        number, slot, count = self._in_flight.popleft()
        self._silent_since = 0.0
        status = receive(self._port, slot)
        hits = np.empty((count, HIT_FLOATS), np.float32)
        hits[:] = self._port.hits[slot, :, :count].T
        raise_status(status, self._port, self._kernel)
        self._completed.append(Completed(number, hits.view(Hits)))
