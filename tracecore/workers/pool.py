"""Threads that run compiled loops, each with a port of its own to the co-processor.

A loop shades the hits that have come back and sends the next rays on their way, without the interpreter, until it has
no more work or needs Python for something (`tracecore.dispatch.port` has the reasons). What a loop computes may depend
on its own input alone, never on which thread runs it.
"""

import signal
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from tracecore.dispatch.port import (
    ASK,
    DONE,
    PORT_BYTES_DOWN,
    PORT_BYTES_UP,
    PORT_LEFT,
    PORT_LOGGED,
    PORT_RAYS,
    PORT_SHADED,
    PORT_TRACED,
    PORT_UNLOGGED,
    PORT_WAITED,
    STOPPED,
    Counters,
    OpenPort,
    are_ready,
    pass_gate,
    raise_status,
    resume,
)
from tracecore.dispatch.ring import DIRECTION_ROWS
from tracecore.dispatch.tracer import Tracer
from tracecore.rays import BATCH_RAYS, RAY_FLOATS, Floats
from tracecore.threads import run_in_thread

#: Seconds between two looks at whether the co-processor still works.
CHECK_SECONDS = 0.05

#: Batches of several slots that a thread has at most.
FEW_BATCHES = 4

#: What would interrupt the start of a thread, as far as the system knows it.
SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))

#: What a pool's threads have spent, as `renderer.drivers.driver.Work` calls it.
COUNTER_NAMES = (
    "trace_seconds",
    "wait_seconds",
    "shade_seconds",
    "map_seconds",
    "idle_seconds",
    "python_seconds",
    "bytes_up",
    "bytes_down",
)

#: Names of what a worker counts seconds of: it had nothing to do, put photons into maps, or did shared work that has no
#: name of its own.
IDLE, MAP, OTHER = "idle", "map", "other"

Longs = npt.NDArray[np.int64]

S = TypeVar("S")
T = TypeVar("T")

#: A compiled loop, ready to run: returns DONE, or what it needs.
Loop = Callable[[], int]


@contextmanager
def signals_held() -> Iterator[None]:
    """Let signals wait until the block is done, which should be short."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class Stopped(Exception):  # noqa: N818
    """A loop was told to end before its work was done."""


class Log(NamedTuple):
    """What one thread did when.

    rows: (n, LOG_COLUMNS) int64, see `port`.
    dropped: rows that there was no room for.
    spans: what it did beside its loops, each a name, start and end in nanoseconds.
    """

    rows: Counters
    dropped: int
    spans: Sequence[tuple[str, int, int]] = ()


class Worker:
    """One thread's port, and what its loops keep from run to run.

    seconds: wall time that its thread has spent in this and that, by name, beside what its port counts.
    spans: when that was, as `Log` has it; none where nothing is logged.
    """

    def __init__(self, opened: OpenPort) -> None:
        self.opened = opened
        self.port = opened.port
        #: Of the loop over eye paths that runs, if one does, for whoever looks on.
        self.batches: Any = None
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self.spans: list[tuple[str, int, int]] = []
        self._task_seconds, self._began = 0.0, 0.0
        self._within = 0  # nanoseconds of blocks that were timed within the one that is timed now
        self._objects: dict[Any, Any] = {}

    @contextmanager
    def timed(self, name: str) -> Iterator[None]:
        """Counts the seconds within the block under a name, but for those of blocks within it."""
        start, outer, self._within = time.perf_counter_ns(), self._within, 0
        try:
            yield
        finally:
            end = time.perf_counter_ns()
            self.seconds[name] += 1e-9 * (end - start - self._within)
            self._within = outer + end - start
            if len(self.spans) < len(self.port.log):
                self.spans.append((name, start, end))

    @contextmanager
    def at_tasks(self) -> Iterator[None]:
        """Counts the seconds within the block as `task_seconds`."""
        self._began = time.perf_counter()
        try:
            yield
        finally:
            self._task_seconds, self._began = self.task_seconds, 0.0

    @property
    def task_seconds(self) -> float:
        """Wall time that the thread has been at tasks, up to now."""
        began = self._began
        return self._task_seconds + (time.perf_counter() - began if began else 0.0)

    def kept(self, key: Any, make: Callable[[], Any]) -> Any:
        """Returns an object that is kept under `key` and made on first use."""
        if key not in self._objects:
            self._objects[key] = make()
        return self._objects[key]


@contextmanager
def _drained(worker: Worker) -> Iterator[None]:
    """Let nothing of a worker's be on its way when the block is done."""
    try:
        yield
    finally:
        if not are_ready(worker.port, 0):
            worker.opened.drain()


class _Ends:
    """How the threads of a run ended. threads: how many have begun, of those that are wanted."""

    def __init__(self, wanted: int) -> None:
        self.faults: list[BaseException | None] = []
        self.all = threading.Event()
        self.threads = 0
        self._wanted = wanted

    def add(self, fault: BaseException | None) -> None:
        """Called by each thread as the last thing it does."""
        self.faults.append(fault)
        if len(self.faults) == self._wanted:
            self.all.set()


class Helpers(Protocol):
    """Those who do work together that is cut into items."""

    @property
    def threads(self) -> int:
        """Returns how many there are, about."""

    def map(self, function: Callable[[S], T], items: Sequence[S]) -> list[T]:
        """Returns what a function makes of each item, in their order; they share the items."""

    def check_wanted(self) -> None:
        """Raises `Stopped` where what `map` makes is not wanted any more; functions that take long call it."""


class CallingThread:
    """The calling thread, which has no helpers."""

    threads = 1

    def map(self, function: Callable[[S], T], items: Sequence[S]) -> list[T]:
        """Returns what a function makes of each item, one after the other."""
        return [function(item) for item in items]

    def check_wanted(self) -> None:
        """Does nothing, as an interrupt ends the calling thread's work by itself."""


class Workers(Helpers, Protocol):
    """Some workers that run loops together: all of a pool, or the team of a task (`tracecore.workers.tasks`)."""

    def batches(self, slots: int) -> int:
        """Returns how many batches of so many slots a loop should have in flight."""

    def run(self, make_loop: Callable[[Worker], Loop]) -> None:
        """Make a loop for each worker and run them all to their end."""

    def take(self, key: Hashable, make: Callable[[], T]) -> T:
        """Returns an object that was left under a key, or makes one."""

    def leave(self, key: Hashable, spare: object) -> None:
        """Leave an object for whoever needs one of its kind next."""


def nobody_waits() -> None:
    """Stands for `Tasks.look_again` where no tasks are under way."""


class WorkerPool:
    """Runs loops on `threads` threads that share a tracer. Close it to give the ports back.

    `on_ask` is called before Python answers what a thread waits for, if it is Python that answers. `look_again` has a
    thread that has nothing to do look whether the next task may begin. `seconds` is the wall time of all runs so far,
    each from the moment when all of its loops are ready to begin.

    tracer: what traces the loops' rays.
    threads: how many threads; by default as many as the tracer should be fed from.
    batch_rays: how many rays a slot holds, a power of two from 256 to 65536.
    batch_slots: how many slots a batch of any loop needs at most.
    log_rows: how many rows each thread's log of what it did when has.
    batches: how many batches each thread has in flight; by default as many as keep the tracer busy.
    """

    def __init__(
        self,
        tracer: Tracer,
        threads: int | None = None,
        batch_rays: int = BATCH_RAYS,
        batch_slots: int = 1,
        log_rows: int = 0,
        batches: int | None = None,
    ) -> None:
        self.threads = threads or tracer.threads
        self._tracer = tracer
        self._in_flight = batches or tracer.batches
        self._slots = max(self._in_flight, min(self._in_flight, FEW_BATCHES) * batch_slots)
        self._batch_rays = batch_rays
        self._log_rows = log_rows
        self.on_ask: Callable[[Worker], None] | None = None
        self.look_again: Callable[[], None] = nobody_waits
        self.workers: list[Worker] = []
        self.seconds = 0.0
        self._spare: dict[Hashable, list[Any]] = {}
        self._spare_lock = threading.RLock()  # what is lent may come back amid anything, by the collector of garbage
        self._is_wanted = True

    def batches(self, slots: int) -> int:
        """Returns how many batches of so many slots a loop should have in flight."""
        return min(self._in_flight, self._slots // slots)

    def map(self, function: Callable[[S], T], items: Sequence[S]) -> list[T]:
        """Returns what a function makes of each item, in their order; as many threads share them.

        An interrupt of the calling thread ends them where they call `check_wanted`.
        """
        self._is_wanted = True
        with ThreadPoolExecutor(self.threads) as threads:
            try:
                return list(threads.map(function, items))
            except BaseException:
                self._is_wanted = False
                raise

    def check_wanted(self) -> None:
        """Raises `Stopped` where what `map` makes is not wanted any more."""
        if not self._is_wanted:
            raise Stopped

    def run(self, make_loop: Callable[[Worker], Loop]) -> None:
        """Make a loop for each thread and run them all to their end.

        The loops share the work out among themselves, for example by a counter. The first exception in any of them
        stops all and is raised here; so does an interrupt of the calling thread.
        """
        self.open()
        ends, gate = _Ends(len(self.workers)), np.zeros(2, np.int64)
        try:
            try:
                with signals_held():  # an interrupt amid a start would lose sight of the thread
                    for worker in self.workers:
                        run_in_thread(partial(self._guard, worker, make_loop, gate, ends))
                        ends.threads += 1
                while not ends.all.wait(CHECK_SECONDS):
                    self.check()
            finally:
                self._stop_all(ends)
        finally:
            self._stop_all(ends)  # another interrupt may have come before the first of these was under way
            if gate[1] != 0:
                self.seconds += 1e-9 * (max(self._counted(PORT_LEFT)) - int(gate[1]))
        for fault in ends.faults:
            if fault is not None:
                raise fault

    def open(self) -> None:
        """Make the workers ready to run loops."""
        if not self.workers:
            ports = self._tracer.open_ports(self.threads, self._slots, self._batch_rays, self._log_rows)
            self.workers = [Worker(port) for port in ports]
        for worker in self.workers:
            worker.port.stop[0] = 0
        self.check()

    def check(self) -> None:
        """See to it that the tracer answers. Raises its errors."""
        self.workers[0].opened.check()

    def stop(self) -> None:
        """Tell all loops to end."""
        for worker in self.workers:
            worker.port.stop[0] = 1

    def drive(self, worker: Worker, make_loop: Callable[[Worker], Loop]) -> None:
        """Run a loop in the calling thread to its end. Raises `Stopped` where it was told to end before."""
        with _drained(worker):
            loop = make_loop(worker)
            resume(worker.port, False)
            if self._follow(worker, loop) == STOPPED:
                raise Stopped

    def take(self, key: Hashable, make: Callable[[], T]) -> T:
        """Returns an object that was left under a key, or makes one."""
        with self._spare_lock:
            left = self._spare.get(key)
            if left:
                found: T = left.pop()
                return found
        return make()

    def leave(self, key: Hashable, spare: object) -> None:
        """Leave an object for whoever needs one of its kind next."""
        with self._spare_lock:
            self._spare.setdefault(key, []).append(spare)

    def _guard(self, worker: Worker, make_loop: Callable[[Worker], Loop], gate: Longs, ends: _Ends) -> None:
        fault: BaseException | None = None
        try:
            self._drive(worker, make_loop, gate)
        except BaseException as error:
            self.stop()
            fault = error
        ends.add(fault)

    def _stop_all(self, ends: _Ends) -> None:
        """Stop all threads and wait until they have left their loops, however often the user asks meanwhile."""
        while True:
            try:
                self.stop()
                while len(ends.faults) < ends.threads:
                    ends.all.wait(0.01)
                return
            except KeyboardInterrupt:
                continue  # the first one is on its way up already

    def _drive(self, worker: Worker, make_loop: Callable[[Worker], Loop], gate: Longs) -> None:
        with _drained(worker):
            loop = make_loop(worker)
            pass_gate(worker.port, gate, len(self.workers))
            self._follow(worker, loop)

    def _follow(self, worker: Worker, loop: Loop) -> int:
        """Run a loop, and answer in Python where that is what it waits for. Returns DONE or STOPPED."""
        port = worker.port
        while (status := loop()) not in (DONE, STOPPED):
            raise_status(status, port, self._tracer.name)
            assert status == ASK, status
            if self.on_ask:
                self.on_ask(worker)
            worker.opened.poll()
            resume(port, True)
        return status

    def _counted(self, counter: int) -> list[int]:
        return [int(worker.port.counters[counter]) for worker in self.workers]

    @property
    def rays(self) -> int:
        """Rays traced so far."""
        return sum(self._counted(PORT_RAYS))

    def counters(self) -> dict[str, float]:
        """Returns what the threads have spent so far, by COUNTER_NAMES: seconds of wall time, their mean over the
        threads, and bytes of rays and hits as a device has to read and write them.

        Tracing contains waiting for hits, which is 0 where threads trace themselves; shading is the loops' own work,
        and Python takes what is left of the time that threads were at tasks.
        """
        if not self.workers:
            return dict.fromkeys(COUNTER_NAMES, 0)
        traced, waited, shaded = (
            1e-9 * float(np.mean(self._counted(one))) for one in (PORT_TRACED, PORT_WAITED, PORT_SHADED)
        )
        mapped, idle = (float(np.mean([worker.seconds[name] for worker in self.workers])) for name in (MAP, IDLE))
        at_tasks = float(np.mean([worker.task_seconds for worker in self.workers]))
        return {
            "trace_seconds": traced + waited,
            "wait_seconds": waited,
            "shade_seconds": shaded,
            "map_seconds": mapped,
            "idle_seconds": idle,
            "python_seconds": max(at_tasks - (traced + waited + shaded + mapped + idle), 0.0),
            "bytes_up": sum(self._counted(PORT_BYTES_UP)),
            "bytes_down": sum(self._counted(PORT_BYTES_DOWN)),
        }

    def logs(self) -> list[Log]:
        """Returns what each thread did when."""
        ports = [worker.port for worker in self.workers]
        return [
            Log(port.log[: port.counters[PORT_LOGGED]], int(port.counters[PORT_UNLOGGED]), worker.spans)
            for port, worker in zip(ports, self.workers, strict=True)
        ]

    def sample_rays(self, most: int = 1 << 20) -> Floats:
        """Returns (n, 8) float32, n <= most: rays that a run left in the slots, taken for endless as photons' are."""
        rays = np.zeros((most, RAY_FLOATS), np.float32)
        count = 0
        for port in [worker.port for worker in self.workers]:
            for slot in port.rays[:, :, : port.capacity]:
                left = slot[:, slot[DIRECTION_ROWS].any(axis=0)].T[: most - count]  # columns never used have none
                rays[count : count + len(left)] = left
                count += len(left)
        rays[:, 3], rays[:, 7] = 0.0, np.inf
        return rays[:count].copy()

    def close(self) -> None:
        """Close the ports. The counts and seconds stay."""
        for worker in self.workers:
            worker.opened.close()
