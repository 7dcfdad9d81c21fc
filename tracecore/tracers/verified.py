"""A tracer around another one, of whose batches a share is traced again by the CPU and compared bit by bit.

Loops hand their rays to the tracer itself, as ever; but it is Python that tells them of the hits, after it has looked
at them. Of all batches it looks whether the triangles that were hit are there, since loops would read beyond their
arrays. A whole array is looked at as batches side by side; one that lies on a GPU is copied for that.
"""

import threading
import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from tracecore.arrays import Array, lies_on_gpu
from tracecore.bvh.tree import BinaryTree
from tracecore.cuda.device import find_device
from tracecore.dispatch.port import (
    LATE,
    LISTENING,
    POLLED,
    Asked,
    OpenPort,
    asked_at,
    await_answer,
    is_answered,
    raise_status,
    waiting_slots,
)
from tracecore.dispatch.queue import RayQueue
from tracecore.dispatch.tracer import DEPTH, BvhStatistics, OpenTracer, Tracer, TracerLimits, TracerStatistics
from tracecore.errors import WrongHitError
from tracecore.kernels.ring_records import FAULT_SHIFT
from tracecore.rays import BATCH_RAYS, MISS, Floats, Hits, Query, checked_rays

#: Batches are spread over all of them by multiples of the golden ratio, which fill 0..1 evenly (Weyl, 1916).
GOLDEN_RATIO = 0.6180339887498949

#: How long a thread looks for an answer before it looks whether it is to end, in nanoseconds.
PATIENCE = 1_000_000

Words = npt.NDArray[np.uint32]


class Judge:
    """Says whether hits are right.

    tracer: whose hits are right.
    triangles: how many there are.
    share: of the batches that are compared, 0..1.
    """

    def __init__(self, tracer: Tracer, triangles: int, share: float) -> None:
        self.tracer, self._triangles, self._share = tracer, triangles, share

    def looks_at(self, batch: int) -> bool:
        """Returns whether a batch of this number is one of those that are compared."""
        return batch * GOLDEN_RATIO % 1.0 < self._share

    def are_there(self, prim_ids: Words) -> bool:
        """Returns whether all triangles that were hit are there."""
        return bool(((prim_ids < self._triangles) | (prim_ids == MISS)).all())

    def check(self, asked: Asked, hits: Floats, kernel: str, batch: str) -> None:
        """Compare the hits of a batch. Raises `WrongHitError` where a ray has others.

        hits: (n, 4) float32, by the kernel.
        kernel: its name.
        batch: what it is, in words.
        """
        query = Query.ANY if asked.is_any else Query.CLOSEST
        right = trace(self.tracer, asked.rays, query)
        wrong = wrong_hits(hits, right, has_uv=asked.has_uv)
        if len(wrong):
            first = int(wrong[0])
            raise WrongHitError(
                kernel, query, asked.rays, first, f"ray {first} of {batch} {found_words(hits[first], right[first])}"
            )

    def check_array(self, rays: Floats, hits: Floats, query: Query, kernel: str, first_batch: int) -> int:
        """Compare the hits of a whole array, of which a share of the batches is looked at, and those with triangles
        that are not there. Returns how many batches were. Raises `WrongHitError` where a ray has others.

        rays, hits: (n, 8) and (n, 4) float32, by the kernel.
        kernel: its name.
        first_batch: the number of the array's first batch.
        """
        starts = range(0, len(rays), BATCH_RAYS)
        looked_at = [
            start
            for number, start in enumerate(starts, first_batch)
            if self.looks_at(number) or not self.are_there(hits[start : start + BATCH_RAYS].view(np.uint32)[:, 3])
        ]
        if not looked_at:
            return 0
        indices = np.concatenate([np.arange(start, min(start + BATCH_RAYS, len(rays))) for start in looked_at])
        right = trace(self.tracer, rays[indices], query)
        wrong = wrong_hits(hits[indices], right)
        if len(wrong):
            ray = int(indices[wrong[0]])
            start = ray // BATCH_RAYS * BATCH_RAYS
            text = f"ray {ray} of an array of {len(rays)} {found_words(hits[ray], right[wrong[0]])}"
            raise WrongHitError(kernel, query, rays[start : start + BATCH_RAYS].copy(), ray - start, text)
        return len(looked_at)


def trace(tracer: Tracer, rays: Array, query: Query) -> Hits:
    """Returns the hits of a query, (n, 4) float32."""
    return tracer.any_hit(rays) if query == Query.ANY else tracer.closest_hit(rays)


def on_host(array: Array) -> Floats:
    """Returns rays or hits in the machine's memory: a copy where they lie on the calling thread's current GPU."""
    return find_device().driver.fetched(array) if lies_on_gpu(array) else np.asarray(array)


def wrong_hits(hits: Floats, right: Floats, *, has_uv: bool = True) -> npt.NDArray[np.intp]:
    """Returns the indices of hits whose bits are not the right ones, in order. hits, right: (n, 4) float32.

    has_uv: whether u and v count.
    """
    differs = hits.view(np.uint32) != right.view(np.uint32)
    return np.flatnonzero(differs.any(axis=1) if has_uv else differs[:, 0] | differs[:, 3])


def found_words(hit: Floats, right: Floats) -> str:
    """Returns in words what a ray hits, and what it should, each (4,) float32."""
    return f"{hit_words(hit)}, by the CPU it {hit_words(right)}"


def hit_words(hit: Floats) -> str:
    """Returns a hit, (4,) float32, in words."""
    t, u, v = (float(value) for value in hit[:3])
    triangle = int(hit.view(np.uint32)[3])
    if triangle == MISS and (t, u, v) == (np.inf, 0.0, 0.0):
        return "hits nothing"
    what = "nothing" if triangle == MISS else f"triangle {triangle}"
    return f"hits {what} at t = {t!r}, u = {u!r}, v = {v!r}"


class VerifiedPort:
    """Port to a `VerifiedTracer`: slots and doorbells are those of the port within, flags are its own."""

    def __init__(self, inner: OpenPort, judge: Judge, kernel: str, thread: int) -> None:
        self._inner, self._judge, self._kernel, self._thread = inner, judge, kernel, thread
        self.port = inner.port._replace(flags=inner.port.flags.copy(), kind=POLLED)
        self.verified_batches = 0

    def poll(self) -> None:
        """Tell the loop of hits that are there, or wait for some. Raises `WrongHitError`, and as the port within."""
        if not self._tell():
            self._await()
            self._tell()

    def _tell(self) -> bool:
        """Tell of all hits that are there. Returns whether there are any."""
        slots = [slot for slot in waiting_slots(self.port) if is_answered(self._inner.port, slot)]
        for slot in slots:
            self._look_at(slot)
            low = self._inner.port.flags[slot] & np.uint64(0xFFFFFFFF)
            self.port.flags[slot] = self._inner.port.flags[slot]
            if low != 0:
                self._inner.port.flags[slot] ^= low  # counted once
        return bool(slots)

    def _look_at(self, slot: int) -> None:
        if (int(self._inner.port.flags[slot]) & 0xFFFFFFFF) >> FAULT_SHIFT:
            return  # the kernel says itself that it failed
        asked = asked_at(self.port, slot)
        hits = np.ascontiguousarray(self.port.hits[slot, :, : len(asked.rays)].T)
        batch = (asked.number - 1) * len(self.port.doorbells) + slot
        if self._judge.looks_at(batch) or not self._judge.are_there(hits.view(np.uint32)[:, 3]):
            self._judge.check(asked, hits, self._kernel, f"batch {batch} of thread {self._thread}")
            self.verified_batches += 1

    def _await(self) -> None:
        """Wait until something is answered, or the loop is to end."""
        if self._inner.port.kind != LISTENING:
            self._inner.poll()
            return
        deadline = time.perf_counter() + 1e-9 * self.port.timeout
        while not await_answer(self._inner.port, PATIENCE) and self.port.stop[0] == 0:
            if time.perf_counter() > deadline:
                raise_status(LATE, self.port, self._kernel)

    def check(self) -> None:
        """See to it that the tracer answers."""
        self._inner.check()

    def drain(self) -> None:
        """Let all slots be free again."""
        self._inner.drain()
        self.port.flags[:] = self.port.doorbells >> np.uint64(32) << np.uint64(32)

    def close(self) -> None:
        """Give the slots back."""
        self._inner.close()


class VerifiedTracer(OpenTracer):
    """Traces as another tracer does, whose batches it looks at. Closing it closes both.

    tracer: not one that answers in the loops themselves, as the CPU's.
    judge: says what is right.
    """

    def __init__(self, tracer: Tracer, judge: Judge) -> None:
        self._tracer, self._judge = tracer, judge
        self.name, self.device, self.dispatch = tracer.name, tracer.device, tracer.dispatch
        self.threads, self.batches = tracer.threads, tracer.batches
        self.bvh: BvhStatistics = tracer.bvh
        self._ports: list[VerifiedPort] = []
        self._lock = threading.Lock()
        self._array_batches = self._verified_batches = 0

    @property
    def tree(self) -> BinaryTree | None:
        """The tree of the tracer within."""
        return self._tracer.tree

    def update(self, triangles: Array) -> None:
        """As `Tracer.update` says, of the tracer within and of the one that says what is right."""
        self._tracer.update(triangles)
        self._judge.tracer.update(on_host(triangles))

    def open_queue(self, depth: int = DEPTH, batch_rays: int = BATCH_RAYS) -> RayQueue:
        """Returns a queue for the calling thread, as `Tracer.open_queue` says."""
        return RayQueue(self.open_ports(1, depth, batch_rays)[0], self.name)

    def open_ports(self, threads: int, slots: int, slot_rays: int, log_rows: int = 0) -> Sequence[VerifiedPort]:
        """Returns ports for loops, one for each of so many threads, as `Tracer.open_ports` says."""
        inner = self._tracer.open_ports(threads, slots, slot_rays, log_rows)
        ports = [VerifiedPort(one, self._judge, self.name, thread) for thread, one in enumerate(inner)]
        self._ports += ports
        return ports

    def closest_hit(self, rays: Array) -> Hits:
        """Returns what the tracer within does. Raises `WrongHitError` where it is wrong."""
        return self._checked(rays, Query.CLOSEST)

    def any_hit(self, rays: Array) -> Hits:
        """Returns what the tracer within does. Raises `WrongHitError` where it is wrong."""
        return self._checked(rays, Query.ANY)

    def _checked(self, given: Array, query: Query) -> Hits:
        rays = given if lies_on_gpu(given) else checked_rays(given)
        hits = trace(self._tracer, rays, query)
        with self._lock:
            first = self._array_batches
            self._array_batches += -(-len(hits) // BATCH_RAYS)
        verified = self._judge.check_array(on_host(rays), on_host(hits), query, self.name, first)
        with self._lock:
            self._verified_batches += verified
        return hits

    def statistics(self) -> TracerStatistics:
        """Returns what has been done so far, and how many batches were compared."""
        verified = self._verified_batches + sum(one.verified_batches for one in self._ports)
        return replace(self._tracer.statistics(), verified_batches=verified)

    def limits(self, rays: Floats) -> TracerLimits:
        """Returns what the tracer within does."""
        return self._tracer.limits(rays)

    def close(self) -> None:
        """Closes the tracer within and the judge."""
        try:
            self._tracer.close()
        finally:
            self._judge.tracer.close()
