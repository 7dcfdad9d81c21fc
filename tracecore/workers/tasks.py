"""Tasks that are under way at once, each led by one worker; who has nothing to lead joins the loops of the others.

A task is a function of its index and of a team. It runs in the thread of one worker, so that tasks need no loop that is
cut into shares to keep all cores at work, and what it makes stays in the cache of a core. Where tasks are fewer than
workers, or memory allows no more of them at once, the workers that are left over join the loops of those under way.
Results come in the order of the indices, whoever made them.

Arrays that tasks make again and again, such as the picture of a pass, are lent memory that was written to before, which
goes back as soon as nobody looks at it any more: fresh memory costs a page fault for each 4 KB when it is first written
to, and in a virtual machine maybe one of the host too.

A task may need what the one before it makes: it does first what needs nothing of it, then waits for it
(`Team.await_before`), and meanwhile its leader joins the loops of the tasks before.

Each worker that has nothing to do waits by itself, so that only those wake that have something to do now: a thread
that wakes needs the interpreter, which has one at a time.
"""

import threading
import time
import weakref
from collections.abc import Callable, Generator, Hashable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from tracecore.threads import run_in_thread
from tracecore.workers.pool import (
    CHECK_SECONDS,
    IDLE,
    OTHER,
    Loop,
    Stopped,
    Worker,
    WorkerPool,
    nobody_waits,
    signals_held,
)

T = TypeVar("T")
U = TypeVar("U")
V = TypeVar("V")

#: Results that wait for those before them, and tasks under way, are no more than so many for each worker.
MOST_BEGUN = 2


class _Shared:
    """Work that several workers do together until nothing of it is left.

    index: of the task.
    is_urgent: whether other tasks wait for this one.
    work: of one of the workers, called in its thread.
    is_done: notified once nobody is at it any more.
    """

    def __init__(
        self, index: int, is_urgent: bool, work: Callable[[Worker], None], is_done: threading.Condition
    ) -> None:
        self.index, self.is_urgent, self.work, self.is_done = index, is_urgent, work, is_done
        self.is_open = True
        self.joined = 0
        self.faults: list[BaseException] = []


class Team:
    """The workers at one task: the one that leads it, and those that join its loops.

    tasks: that the task is one of.
    index: of the task.
    leader: the worker in whose thread the task runs.
    """

    def __init__(self, tasks: "Tasks[T]", index: int, leader: Worker) -> None:
        self._tasks, self._index, self._leader = tasks, index, leader
        self._timed_as = OTHER
        self._is_urgent = False

    @property
    def threads(self) -> int:
        """Returns how many workers the task may count on, as long as no task ends or begins."""
        return self._tasks.workers_of(self._is_urgent)

    def await_before(self) -> None:
        """Waits until the task before has called `release_next`, which the first one need not; meanwhile the leader
        joins the loops of tasks before. From then on the task may count on all workers.

        Raises `Stopped` where nobody wants the task's result any more.
        """
        self._tasks.await_release(self._index, self._leader)
        self._is_urgent = True

    def release_next(self) -> None:
        """Lets the next task go on, if it waits."""
        self._is_urgent = False
        self._tasks.release(self._index + 1)

    def batches(self, slots: int) -> int:
        """Returns how many batches of so many slots a loop should have in flight."""
        return self._tasks.pool.batches(slots)

    def run(self, make_loop: Callable[[Worker], Loop]) -> None:
        """Make a loop for each worker that takes part, and run them all to their end.

        The loops share the work out among themselves, for example by a counter: once one has ended, nobody joins.
        """
        self._share(partial(self._tasks.pool.drive, make_loop=make_loop))

    def map(self, function: Callable[[U], V], items: Sequence[U]) -> list[V]:
        """Returns what a function makes of each item, in their order; each worker takes the next one.

        The seconds of all count as what the leader's count as now.
        """
        results: dict[int, V] = {}
        left = iter(range(len(items)))  # shared: each worker takes the next one

        name = self._timed_as

        def work(worker: Worker) -> None:
            with worker.timed(name):
                for i in left:
                    self._tasks.check()
                    results[i] = function(items[i])

        if len(items) > 1:
            self._share(work)
        else:
            work(self._leader)
        return [results[i] for i in range(len(items))]

    def check_wanted(self) -> None:
        """Raises `Stopped` where nobody wants the task's result any more."""
        self._tasks.check()

    @contextmanager
    def timed(self, name: str) -> Iterator[None]:
        """Counts the seconds within the block under a name."""
        before, self._timed_as = self._timed_as, name
        try:
            with self._leader.timed(name):
                yield
        finally:
            self._timed_as = before

    def take(self, key: Hashable, make: Callable[[], U]) -> U:
        """Returns an object that tasks before have left under a key, or makes one."""
        return self._tasks.pool.take(key, make)

    def leave(self, key: Hashable, spare: object) -> None:
        """Leaves an object that is used no more to the tasks to come."""
        self._tasks.pool.leave(key, spare)

    def zeros(self, shape: tuple[int, ...]) -> npt.NDArray[np.float64]:
        """Returns an array of zeros, float64, which is left to the tasks to come once nobody looks at it any more."""
        key = ("zeros", shape)
        memory = self.take(key, lambda: np.empty(shape))
        memory.fill(0.0)
        return lent(memory, partial(self._tasks.pool.leave, key))

    def _share(self, work: Callable[[Worker], None]) -> None:
        self._tasks.share(self._index, self._leader, work, self._is_urgent)


class Tasks(Generic[T]):
    """Tasks of consecutive indices, see `in_order`."""

    def __init__(
        self,
        pool: WorkerPool,
        task: Callable[[int, Team], T],
        first: int,
        may_begin: Callable[[int], bool | None],
        room: Callable[[], int],
    ) -> None:
        self.pool = pool
        self._task, self._may_begin, self._room = task, may_begin, room
        self._lock = threading.RLock()
        self._told = threading.Condition(self._lock)  # the caller is: of results, errors, and threads that end
        self._asleep: set[threading.Condition] = set()  # of all workers that wait
        self._free: list[threading.Condition] = []  # of those that wait for something to do
        self._waiting: dict[int, threading.Condition] = {}  # of leaders, by the task that waits for the one before
        self._first, self._next, self._wanted = first, first, first
        self._released = first  # tasks up to this one need not wait
        self._end: int | None = None  # no task of this index or beyond will begin
        self._under_way = 0
        self._results: dict[int, T] = {}
        self._faults: dict[int, BaseException] = {}
        self._shared: list[_Shared] = []
        self._is_over = False
        self._threads_left = 0
        self._room_now, self._asked_at = 0, -CHECK_SECONDS

    def results(self) -> Generator[T]:
        """Yields the results in order. What is still under way when the caller leaves is given up."""
        self.pool.open()
        self.pool.look_again = self.look_again
        try:
            with signals_held(), self._lock:  # an interrupt amid a start would lose sight of the thread
                for worker in self.pool.workers:
                    run_in_thread(partial(self._work, worker))
                    self._threads_left += 1
            while self._await_result():
                with self._lock:
                    fault = self._faults.get(self._wanted)
                    if fault is not None:
                        raise fault
                    result = self._results.pop(self._wanted)
                    self._wanted += 1
                    self._wake_free()
                yield result
        finally:
            self.pool.look_again = nobody_waits
            self._stop()

    def look_again(self) -> None:
        """Has a worker that has nothing to do ask whether the next task may begin."""
        with self._lock:
            self._wake_free()

    def workers_of(self, is_urgent: bool) -> int:
        """Returns how many workers there are for a task: all where others wait for it, or else for each under way."""
        return len(self.pool.workers) if is_urgent else max(1, len(self.pool.workers) // max(1, self._under_way))

    def check(self) -> None:
        """Raise `Stopped` where nobody wants results any more."""
        if self._is_over:
            raise Stopped

    def share(self, index: int, leader: Worker, work: Callable[[Worker], None], is_urgent: bool) -> None:
        """Do work of a task in the leader's thread and in those of all workers that join. Raises the first of their
        errors.
        """
        self.check()
        shared = _Shared(index, is_urgent, work, threading.Condition(self._lock))
        with self._lock:
            self._shared.append(shared)
            self._wake_for(shared)
        try:
            work(leader)
        finally:
            with self._lock, leader.timed(IDLE):
                shared.is_open = False
                self._shared.remove(shared)
                shared.is_done.wait_for(lambda: shared.joined == 0)
        if shared.faults:
            raise shared.faults[0]
        self.check()

    def await_release(self, index: int, leader: Worker) -> None:
        """Join work of tasks before one until it is released. Raises `Stopped` where nobody wants results any more."""
        while True:
            with self._lock:
                self.check()
                if index <= self._released:
                    return
                join = self._joins(leader, index)
                if join is None:
                    self._waiting[index] = threading.Condition(self._lock)
                    self._sleep(leader, self._waiting[index])
                    self._waiting.pop(index, None)
            if join is not None:
                join()

    def release(self, index: int) -> None:
        """Let a task go on that waits for those before it."""
        with self._lock:
            self._released = index
            if index in self._waiting:
                self._waiting.pop(index).notify()

    def _sleep(self, worker: Worker, waked: threading.Condition) -> None:
        self._asleep.add(waked)
        with worker.timed(IDLE):
            waked.wait()
        self._asleep.remove(waked)

    def _wake_free(self) -> None:
        """Have one worker look whether there is something for it."""
        if self._free:
            self._free.pop(0).notify()

    def _wake_for(self, shared: _Shared) -> None:
        """Have all come that may join."""
        for index in [index for index in self._waiting if index > shared.index]:
            self._waiting.pop(index).notify()
        while self._free:
            self._wake_free()

    def _work(self, worker: Worker) -> None:
        """Lead tasks and join others' loops until there are no more: what each thread does."""
        with worker.at_tasks():
            while (job := self._next_job(worker)) is not None:
                job()
        with self._lock:
            self._threads_left -= 1
            self._told.notify_all()

    def _next_job(self, worker: Worker) -> Callable[[], None] | None:
        """Returns what a worker does next; None where all is over. It waits until there is something."""
        with self._lock:
            while not self._is_over:
                if self._begins():
                    self._under_way += 1
                    self._next += 1
                    self._wake_free()  # there may be room for another one
                    return partial(self._lead, self._next - 1, worker)
                join = self._joins(worker, None)
                if join is not None:
                    return join
                self._free.append(threading.Condition(self._lock))
                self._sleep(worker, self._free[-1])
        return None

    def _joins(self, worker: Worker, before: int | None) -> Callable[[], None] | None:
        """Returns what lets a worker join the work that others wait for, or that with the fewest helpers.

        before: index of a task, of none but those before which work is joined; None for any.
        """
        open_ones = (one for one in self._shared if one.is_open and (before is None or one.index < before))
        shared = min(open_ones, key=lambda one: (not one.is_urgent, one.joined), default=None)
        if shared is None:
            return None
        shared.joined += 1
        return partial(self._join, shared, worker)

    def _begins(self) -> bool:
        """Returns whether the next task is to begin now."""
        if self._end is not None or self._next - self._wanted >= MOST_BEGUN * len(self.pool.workers):
            return False
        if self._under_way >= max(self._known_room(), 1):
            return False
        may_begin = self._may_begin(self._next)
        if may_begin is False:
            self._finish_at(self._next)
        return bool(may_begin)

    def _known_room(self) -> int:
        """Returns what `_room` has said lately: asking the system for its memory takes longer than a short task."""
        now = time.perf_counter()
        if now - self._asked_at >= CHECK_SECONDS:
            self._room_now, self._asked_at = self._room(), now
        return self._room_now

    def _finish_at(self, end: int) -> None:
        self._end = end
        self._told.notify_all()

    def _lead(self, index: int, worker: Worker) -> None:
        try:
            result = self._task(index, Team(self, index, worker))
        except BaseException as error:
            with self._lock:
                self._faults[index] = error
                self._finish_at(self._next)
        else:
            with self._lock:
                self._results[index] = result
        finally:
            with self._lock:
                self._under_way -= 1
                self._told.notify_all()

    def _join(self, shared: _Shared, worker: Worker) -> None:
        try:
            shared.work(worker)
        except BaseException as error:
            shared.faults.append(error)
        finally:
            with self._lock:
                shared.is_open = False
                shared.joined -= 1
                if shared.joined == 0:
                    shared.is_done.notify()

    def _await_result(self) -> bool:
        """Wait for the next result, or the error in its place. Returns False where there will be none."""
        while True:
            with self._lock:
                if self._wanted in self._results or self._wanted in self._faults:
                    return True
                if self._end is not None and self._wanted >= self._end:
                    return False
                self._told.wait(CHECK_SECONDS)
            self.pool.check()

    def _stop(self) -> None:
        """End all threads, and wait until they have, however often the user asks meanwhile."""
        while True:
            try:
                with self._lock:
                    self._is_over = True
                    self.pool.stop()
                    for waked in self._asleep:  # an interrupt may have lost one of those in other lists
                        waked.notify()
                    while self._threads_left:
                        self._told.wait(0.01)
                return
            except KeyboardInterrupt:
                continue  # the first one is on its way up already


def in_order(
    pool: WorkerPool,
    task: Callable[[int, Team], T],
    first: int,
    may_begin: Callable[[int], bool | None],
    room: Callable[[], int],
) -> Generator[T]:
    """Yields the results of tasks, in the order of their indices, while several of them are under way.

    task: called with an index and a team, in the thread of a worker.
    first: index of the first task.
    may_begin: whether a task of an index is to be begun; after the first that is not, none is. None where nobody knows
    yet: it is asked again whenever a worker is free, and after `WorkerPool.look_again`.
    room: how many may be under way at once, as far as memory goes; one is always.

    The first error of a task is raised when its turn comes; results before it are not lost. A caller that leaves early
    gives up what is under way.
    """
    yield from Tasks(pool, task, first, may_begin, room).results()


class _Loan:
    """Is what all views of lent memory refer to, so that it ends with the last of them."""

    def __init__(self, memory: npt.NDArray[Any]) -> None:
        self.__array_interface__ = memory.__array_interface__


def lent(memory: npt.NDArray[Any], give_back: Callable[[npt.NDArray[Any]], None]) -> npt.NDArray[Any]:
    """Returns an array with the memory of another one.

    give_back: called with the other one once the array and all views of it are gone, in whichever thread drops the
    last of them.
    """
    loan = _Loan(memory)
    weakref.finalize(loan, give_back, memory).atexit = False
    return np.asarray(loan)
