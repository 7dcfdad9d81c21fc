"""Who may run on a device at the same time."""

import threading
from collections.abc import Callable

import pytest

from tracecore.cuda.device_lock import DeviceLock

#: Seconds in which a thread that waits for nothing has long gone on, and that one which waits is given.
LONG, SHORT = 60.0, 0.05


class Kernel:
    """Stays on a device until it is ended."""

    def __init__(self, lock: DeviceLock) -> None:
        self.lock, self.ends = lock, 0
        lock.add_persistent(self)

    def end(self) -> None:
        self.ends += 1
        self.lock.remove_persistent(self)


def begun(work: Callable[[], None]) -> tuple[threading.Thread, threading.Event]:
    """Returns a thread that works, and what it sets when it is done."""
    done = threading.Event()
    thread = threading.Thread(target=lambda: (work(), done.set()))
    thread.start()
    return thread, done


def enter(context: Callable[[], object]) -> Callable[[], None]:
    def work() -> None:
        with context():  # type: ignore[attr-defined]
            pass

    return work


def test_several_threads_are_there_together_and_again() -> None:
    lock = DeviceLock()
    with lock.vacant(), lock.vacant():
        thread, done = begun(enter(lock.vacant))
        assert done.wait(LONG)
        thread.join()


def test_whoever_is_alone_waits_for_all_others_and_lets_none_come() -> None:
    lock = DeviceLock()
    with lock.vacant():
        one, is_alone = begun(enter(lock.alone))
        assert not is_alone.wait(SHORT)
    assert is_alone.wait(LONG)
    with lock.alone(), lock.vacant():
        other, is_there = begun(enter(lock.vacant))
        assert not is_there.wait(SHORT)
    assert is_there.wait(LONG)
    for thread in (one, other):
        thread.join()


def test_a_thread_that_is_there_may_be_alone() -> None:
    lock = DeviceLock()
    with lock.vacant(), lock.alone():
        pass


def test_kernels_that_stay_end_before_anybody_comes() -> None:
    lock = DeviceLock()
    kernel = Kernel(lock)
    with lock.alone():
        assert kernel.ends == 0
    for _ in range(2):
        with lock.vacant():
            assert kernel.ends == 1


def test_whoever_fails_leaves() -> None:
    lock = DeviceLock()
    with pytest.raises(ValueError, match="no room"), lock.vacant():
        raise ValueError("no room")
    thread, done = begun(enter(lock.alone))
    assert done.wait(LONG)
    thread.join()


class Launches:
    """Are under way, and done when somebody has waited for them."""

    def __init__(self) -> None:
        self.are_done = False

    def finish(self) -> None:
        self.are_done = True


def test_whoever_is_alone_waits_for_launches_that_nobody_waits_for() -> None:
    lock, launches = DeviceLock(), Launches()
    lock.add_queue(launches)
    with lock.vacant():
        assert not launches.are_done
    with lock.alone():
        assert launches.are_done
