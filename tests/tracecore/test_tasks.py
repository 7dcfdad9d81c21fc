"""Tasks under way at once: order of results, who joins, errors, limits, interrupts."""

import threading
import time
from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt
import pytest

from tracecore import threads
from tracecore.checks.ray_cases import soup
from tracecore.dispatch.port import DONE
from tracecore.threads import in_pieces, run_in_thread
from tracecore.tracers.cpu import CpuTracer
from tracecore.workers.pool import Loop, Worker, WorkerPool, nobody_waits
from tracecore.workers.tasks import Team, in_order

#: Seconds after which a test that waits for other threads has failed.
LONG = 30.0


@pytest.fixture
def pool() -> Iterator[WorkerPool]:
    with CpuTracer(soup(4), threads=1) as tracer:
        made = WorkerPool(tracer, 3, batch_rays=256)
        yield made
        made.close()


def up_to(count: int) -> Callable[[int], bool]:
    return lambda index: index < count


def many() -> int:
    return 100


def test_results_come_in_order_whoever_is_done_first(pool: WorkerPool) -> None:
    """The first task ends when the other two workers have made five more: as many as may be begun before it."""
    others = threading.Semaphore(0)

    def task(index: int, _: Team) -> int:
        if index == 0:
            for _ in range(5):  # type: ignore[assignment]
                assert others.acquire(timeout=LONG)
        else:
            others.release()
        return index * index

    assert list(in_order(pool, task, 0, up_to(9), many)) == [index * index for index in range(9)]


def test_no_more_are_under_way_than_there_is_room_for(pool: WorkerPool) -> None:
    under_way, most, lock = 0, 0, threading.Lock()

    def task(index: int, _: Team) -> int:
        nonlocal under_way, most
        with lock:
            under_way += 1
            most = max(most, under_way)
        time.sleep(0.01)
        with lock:
            under_way -= 1
        return index

    assert list(in_order(pool, task, 4, up_to(12), lambda: 2)) == list(range(4, 12))
    assert most == 2


def test_a_task_that_is_not_there_yet_begins_once_it_is(pool: WorkerPool) -> None:
    """All three workers look in vain and sleep; they are woken when there are tasks, and end when there are none."""
    looks, there, is_over = threading.Semaphore(0), 0, False

    def may_begin(index: int) -> bool | None:
        looks.release()
        return True if index < there else False if is_over else None

    made = in_order(pool, lambda index, _: index, 0, may_begin, many)
    found: list[int] = []
    caller = threading.Thread(target=lambda: found.extend(made), daemon=True)
    caller.start()
    for _ in range(3):
        assert looks.acquire(timeout=LONG)
    time.sleep(0.05)
    assert not found
    there = 5
    pool.look_again()
    deadline = time.monotonic() + LONG
    while len(found) < 5 and time.monotonic() < deadline:
        time.sleep(0.001)
    is_over = True
    pool.look_again()
    caller.join(LONG)
    assert not caller.is_alive()
    assert found == [0, 1, 2, 3, 4]
    assert pool.look_again is nobody_waits


def test_who_has_nothing_to_lead_joins(pool: WorkerPool) -> None:
    """One task's loop ends only when all three workers run it."""
    together = threading.Barrier(3)

    def task(index: int, team: Team) -> int:
        threads: set[int] = set()

        def make_loop(_: Worker) -> Loop:
            def loop() -> int:
                threads.add(threading.get_ident())
                together.wait(LONG)
                return DONE

            return loop

        team.run(make_loop)
        return len(threads)

    assert list(in_order(pool, task, 0, up_to(2), lambda: 1)) == [3, 3]


def test_items_are_shared_out(pool: WorkerPool) -> None:
    together = threading.Barrier(3)

    def double(item: int) -> int:
        if item < 3:
            together.wait(LONG)
        return 2 * item

    def task(index: int, team: Team) -> list[int]:
        assert team.threads == 3  # no other task is under way
        with team.timed("doubling"):
            return team.map(double, range(20))

    assert list(in_order(pool, task, 0, up_to(1), many)) == [[2 * item for item in range(20)]]
    assert all(worker.seconds["doubling"] > 0.0 for worker in pool.workers)


def test_an_error_loses_no_result_before_it(pool: WorkerPool) -> None:
    """It is there before the results that come first."""
    failed = threading.Event()

    def task(index: int, _: Team) -> int:
        if index == 2:
            failed.set()
            raise ValueError("two")
        assert failed.wait(LONG)
        return index

    results = in_order(pool, task, 0, up_to(50), many)
    assert [next(results), next(results)] == [0, 1]
    with pytest.raises(ValueError, match="two"):
        next(results)
    assert list(in_order(pool, lambda index, _: index, 0, up_to(5), many)) == [0, 1, 2, 3, 4]  # as if nothing had been


def test_an_error_of_one_that_joined_is_raised_by_the_task(pool: WorkerPool) -> None:
    together, caught = threading.Barrier(3), []

    def task(index: int, team: Team) -> int:
        leader = threading.get_ident()

        def loop() -> int:
            together.wait(LONG)
            if threading.get_ident() != leader:
                raise ValueError("joined")
            return DONE

        try:
            team.run(lambda _: loop)
        except ValueError as error:
            caught.append(str(error))
        return index

    assert list(in_order(pool, task, 0, up_to(1), many)) == [0]
    assert caught == ["joined"]


def test_who_leaves_early_waits_for_no_long_loop(pool: WorkerPool) -> None:
    """Loops that look whether they are to stop are stopped; no thread is left."""
    before, stopped = threading.active_count(), []

    def task(index: int, team: Team) -> int:
        def make_loop(worker: Worker) -> Loop:
            def loop() -> int:
                deadline = time.perf_counter() + LONG
                while index > 0 and worker.port.stop[0] == 0 and time.perf_counter() < deadline:
                    time.sleep(0.001)
                stopped.append(index == 0 or worker.port.stop[0] != 0)
                return DONE if index == 0 else -4  # STOPPED

            return loop

        team.run(make_loop)
        return index

    results = in_order(pool, task, 0, up_to(100), many)
    assert next(results) == 0
    results.close()
    assert threading.active_count() == before
    assert all(stopped)


def test_memory_of_zeros_is_used_again_once_nobody_looks_at_it(pool: WorkerPool) -> None:
    """A view of it is enough to keep it."""
    seen: list[tuple[int, bool]] = []

    def task(index: int, team: Team) -> npt.NDArray[np.float64]:
        array = team.zeros((8, 3))
        seen.append((array.ctypes.data, bool(np.any(array))))
        array += 1.0 + index
        return array.reshape(4, 6)[1:]

    kept: list[npt.NDArray[np.float64]] = []
    for index, view in enumerate(in_order(pool, task, 0, up_to(21), lambda: 1)):
        kept.append(view)
        del view
        if len(kept) == 3:
            assert [one.tolist() for one in kept] == [
                np.full((3, 6), float(i)).tolist() for i in (index - 1, index, index + 1)
            ]
            kept.clear()
    places = [place for place, _ in seen]
    assert not any(was_used for _, was_used in seen)
    assert len(set(places)) < len(places)
    assert len(set(places[:3])) == 3


def test_seconds_of_a_worker_add_up(pool: WorkerPool) -> None:
    """What a worker has nothing to do for is part of all its time, and no more than that."""
    list(in_order(pool, lambda index, _: time.sleep(0.02), 0, up_to(4), lambda: 1))
    idle = sum(worker.seconds["idle"] for worker in pool.workers)
    everything = sum(worker.task_seconds for worker in pool.workers)
    assert 0.0 < idle < everything
    assert everything - idle >= 4 * 0.02


def test_a_task_waits_for_what_the_one_before_it_makes(pool: WorkerPool) -> None:
    """What needs nothing of it is done before: the first task waits until all that there are workers for have begun."""
    begun, made = threading.Semaphore(0), [0]

    def task(index: int, team: Team) -> int:
        begun.release()
        team.await_before()
        if index == 0:
            for _ in range(3):
                assert begun.acquire(timeout=LONG)
        assert made == [index]
        made[0] += 1
        team.release_next()
        return index

    assert list(in_order(pool, task, 0, up_to(20), many)) == list(range(20))


def test_who_waits_for_a_task_joins_it_and_none_behind_it(pool: WorkerPool) -> None:
    """The last task shares work as well, which the leader of the second one must not begin with."""
    together, joined, last_shares = threading.Barrier(2), {0: set[str](), 2: set[str]()}, threading.Event()
    names: dict[int, str] = {}

    def loop_of(index: int) -> Loop:
        joined[index].add(threading.current_thread().name)
        if index == 2:
            last_shares.set()
            assert first_is_done.wait(LONG)
        else:
            together.wait(LONG)
        return DONE  # type: ignore[return-value]

    first_is_done = threading.Event()

    def task(index: int, team: Team) -> int:
        names[index] = threading.current_thread().name
        if index == 2:
            team.run(lambda _: lambda: loop_of(2))  # type: ignore[arg-type, return-value]
        team.await_before()
        if index == 1:
            assert names[1] in joined[0] - joined[2]
        if index == 0:
            assert last_shares.wait(LONG)
            assert team.threads == 3  # whatever else is under way
            team.run(lambda _: lambda: loop_of(0))  # type: ignore[arg-type, return-value]
            first_is_done.set()
        team.release_next()
        return index

    assert list(in_order(pool, task, 0, up_to(3), many)) == [0, 1, 2]
    assert names[2] not in joined[0]


def test_who_waits_for_a_task_that_fails_is_stopped(pool: WorkerPool) -> None:
    before = threading.active_count()

    def task(index: int, team: Team) -> int:
        team.await_before()
        if index == 1:
            raise ValueError("one")
        team.release_next()
        return index

    results = in_order(pool, task, 0, up_to(50), many)
    assert next(results) == 0
    with pytest.raises(ValueError, match="one"):
        next(results)
    assert threading.active_count() == before


def test_a_thread_that_is_done_does_the_next_work() -> None:
    idents: list[int] = []
    done = threading.Semaphore(0)

    def work() -> None:
        idents.append(threading.get_ident())
        done.release()

    for count in range(1, 6):
        before = len(threads._idle)
        run_in_thread(work)
        assert done.acquire(timeout=LONG)
        while len(threads._idle) < max(before, 1):
            time.sleep(1e-3)
        assert len(idents) == count
    assert len(set(idents)) == 1


def test_an_error_of_a_piece_is_raised_when_all_threads_are_done(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "usable_cores", lambda: 2)
    caller, is_raised, ended = threading.get_ident(), threading.Event(), []

    def fail_in_the_helper(piece: threads.Piece) -> None:
        if threading.get_ident() != caller:
            is_raised.set()
            raise ValueError(f"piece {piece[0]}")
        assert is_raised.wait(LONG)
        ended.append(piece)

    with pytest.raises(ValueError, match=r"piece \d"):
        in_pieces(fail_in_the_helper, 4, 1)
    assert len(ended) == 3
