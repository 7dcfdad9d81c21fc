"""Feeding the co-processor: threads that keep batches of rays in flight and shade what comes back.

Work is written as a *wave*: a generator that fills batches, yields which of them to trace, and finds the hits in place
when it goes on. A thread drives as many waves at a time as its queue likes to have in flight, so that rays of one are
traced while another is shaded. What a wave computes may depend on its own input alone, never on which thread ran it.
"""

import signal
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from tracecore.rays import BATCH_RAYS
from tracecore.tracer import Batch, Query, RayQueue, Tracer


class Request(NamedTuple):
    """Trace the first `rays` rays of a batch."""

    batch: Batch
    rays: int
    query: Query = Query.CLOSEST


Wave = Iterator[list[Request]]


class Lane:
    """Batches and arrays that one wave after another uses in one thread."""

    def __init__(self, queue: RayQueue, batch_rays: int) -> None:
        self.counts: Counter[str] = Counter()
        self._queue = queue
        self._batch_rays = batch_rays
        self._batches: dict[tuple[str, int], Batch] = {}
        self._objects: dict[Any, Any] = {}

    def count(self, purpose: str, rays: int) -> None:
        """Note that rays of this purpose were traced."""
        self.counts[purpose] += rays

    def batch(self, name: str, capacity: int | None = None) -> Batch:
        """The lane's batch of this name and size; the run's size of batches if none is given."""
        capacity = capacity or self._batch_rays
        key = (name, capacity)
        if key not in self._batches:
            self._batches[key] = self._queue.batch(capacity)
        return self._batches[key]

    def kept(self, key: Any, make: Callable[[], Any]) -> Any:
        """An object that the lane keeps under `key`; made on first use."""
        if key not in self._objects:
            self._objects[key] = make()
        return self._objects[key]


class _Worker:
    """One thread's queue and lanes, kept from run to run, and where its time went."""

    def __init__(self, tracer: Tracer, batch_rays: int) -> None:
        self.queue = tracer.open_queue()
        self.lanes = [Lane(self.queue, batch_rays) for _ in range(self.queue.depth)]
        self.trace_seconds = 0.0
        self.shade_seconds = 0.0


class _Ends:
    """How the threads of a run ended. (`Thread.join` may return early once it has been interrupted.)"""

    def __init__(self, threads: int) -> None:
        self.faults: list[BaseException | None] = []
        self.all = threading.Event()
        self._threads = threads

    def add(self, fault: BaseException | None) -> None:
        """Called by each thread as the last thing it does."""
        self.faults.append(fault)
        if len(self.faults) == self._threads:
            self.all.set()


class Feeder:
    """Runs waves on `threads` threads that share a tracer. Close it to give the queues back."""

    def __init__(self, tracer: Tracer, threads: int | None = None, batch_rays: int = BATCH_RAYS) -> None:
        self._batch_rays = batch_rays
        self.threads = threads or tracer.threads
        self._workers: list[_Worker] = []
        self._tracer = tracer
        self._stop = threading.Event()

    def run(self, make_wave: Callable[[Lane], Wave]) -> None:
        """Make waves, one for each lane, and drive them all to their end.

        The waves share the work out among themselves, for example through an iterator of tiles. The first exception in
        any wave stops all of them and is raised here; so does an interrupt of the calling thread.
        """
        while len(self._workers) < self.threads:
            self._workers.append(_Worker(self._tracer, self._batch_rays))
        self._stop.clear()
        if self.threads == 1:
            self._drive(self._workers[0], make_wave)
            return
        ends = _Ends(len(self._workers))
        threads = [
            threading.Thread(target=self._guard, args=(worker, make_wave, ends), name=f"feeder_{i}", daemon=True)
            for i, worker in enumerate(self._workers)
        ]
        try:
            try:
                with _signals_held():  # an interrupt amid a start would lose sight of the thread
                    for thread in threads:
                        thread.start()
                ends.all.wait()
            finally:
                self._stop_all(threads, ends)
        finally:
            self._stop_all(threads, ends)  # another interrupt may have come before the first of these was under way
        for fault in ends.faults:
            if fault is not None:
                raise fault

    def _guard(self, worker: _Worker, make_wave: Callable[[Lane], Wave], ends: _Ends) -> None:
        fault: BaseException | None = None
        try:
            self._drive(worker, make_wave)
        except BaseException as error:
            fault = error
        ends.add(fault)

    def _stop_all(self, threads: list[threading.Thread], ends: _Ends) -> None:
        """Stop all threads and wait until they have left the queues, however often the user asks meanwhile."""
        while True:
            try:
                self._stop.set()
                while len(ends.faults) < sum(thread.ident is not None for thread in threads):
                    ends.all.wait(0.01)
                return
            except KeyboardInterrupt:
                continue  # the first one is on its way up already

    def _drive(self, worker: _Worker, make_wave: Callable[[Lane], Wave]) -> None:
        flying: deque[tuple[Wave, list[Request]]] = deque()
        lanes = deque(worker.lanes)
        try:
            while (lanes or flying) and not self._stop.is_set():
                # One more wave for each batch that comes back: no thread takes all the work before others begin.
                if lanes:
                    self._advance(worker, make_wave(lanes.popleft()), flying)
                if not flying:
                    continue
                wave, requests = flying.popleft()
                started = time.perf_counter()
                for request in requests:
                    worker.queue.wait(request.batch)
                worker.trace_seconds += time.perf_counter() - started
                self._advance(worker, wave, flying)
        except BaseException:
            self._stop.set()
            raise
        finally:
            for _, requests in flying:
                for request in requests:
                    worker.queue.wait(request.batch)

    def _advance(self, worker: _Worker, wave: Wave, flying: deque[tuple[Wave, list[Request]]]) -> None:
        started = time.perf_counter()
        requests = next(wave, None)
        shaded = time.perf_counter()
        worker.shade_seconds += shaded - started
        if requests is None:
            return
        live = [request for request in requests if request.rays > 0]
        for request in live:
            worker.queue.submit(request.batch, request.rays, request.query)
        flying.append((wave, live))
        worker.trace_seconds += time.perf_counter() - shaded

    @property
    def counts(self) -> Counter[str]:
        """Rays traced so far, by purpose."""
        return sum((lane.counts for worker in self._workers for lane in worker.lanes), Counter())

    @property
    def trace_seconds(self) -> float:
        """Wall time spent in tracing or waiting for it, the mean over the threads."""
        return sum(worker.trace_seconds for worker in self._workers) / max(1, len(self._workers))

    @property
    def shade_seconds(self) -> float:
        """Wall time spent in the waves, the mean over the threads."""
        return sum(worker.shade_seconds for worker in self._workers) / max(1, len(self._workers))

    def close(self) -> None:
        """Close the queues. The counts and seconds stay."""
        for worker in self._workers:
            worker.queue.close()


@contextmanager
def _signals_held() -> Iterator[None]:
    """Let interrupts wait until the block is done."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
