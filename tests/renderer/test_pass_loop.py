"""The loop over passes, with a driver whose passes are known numbers."""

import itertools
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import ClassVar

import numpy as np
import pytest

from renderer.drivers.driver import Carried, Driver, MadeShare, Radiance, RenderSettings, Work
from renderer.film.film import Film
from renderer.interrupts import held_back, interrupted, interruptible, let_through
from renderer.run.picture import make_picture
from renderer.run.picture.make_picture import Saving, Told, expose, expose_and_save
from renderer.run.plan import PassLimits

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@pytest.fixture(autouse=True)
def handlers() -> Iterator[None]:
    """Handlers as in a program begun at a terminal, whatever the tests run under."""
    before = {number: signal.getsignal(number) for number in SIGNALS}
    signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    for number in SIGNALS:
        signal.signal(number, before[number])


class CountingDriver(Driver):
    """Pass i is a flat picture of value i; `before` is called with i first."""

    name: ClassVar[str] = "counting"

    def __init__(self, before: Callable[[int], None] = lambda index: None) -> None:
        self.work, self.settings = Work(), RenderSettings(width=3, height=2)
        self.indices: list[int] = []
        self._before = before

    def render_pass(self, index: int) -> Radiance:
        self._before(index)
        self.indices.append(index)
        self.work.rays.camera += 6
        return np.full((2, 3, 3), float(index))


class Recorder:
    """Notes how many passes each saved picture had."""

    interval = 5.0

    def __init__(self) -> None:
        self.pictures: list[int] = []
        self.ends: list[int] = []

    def savings(self) -> list[Saving]:
        return [Saving("pictures", self.save_picture, self.interval, self.interval)]

    def save_picture(self, film: Film) -> None:
        self.pictures.append(film.passes)

    def save_all(self, film: Film, *, is_finished: bool) -> None:
        self.ends.append(film.passes)


class Clock:
    """Time that passes only when told to."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1000.0
        monkeypatch.setattr(make_picture.time, "perf_counter", lambda: self.now)

    def tick(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


def test_passes_in_order_and_everything_saved_once() -> None:
    driver, film, recorder = CountingDriver(), Film(3, 2), Recorder()
    assert expose_and_save(driver, film, PassLimits(passes=5), recorder)
    assert driver.indices == [0, 1, 2, 3, 4]
    assert film.linear[0, 0, 0] == 2.0
    assert (recorder.pictures, recorder.ends) == ([], [5])


def test_time_limit(clock: Clock) -> None:
    driver = CountingDriver(lambda index: clock.tick(4.0))
    assert expose_and_save(driver, Film(3, 2), PassLimits(seconds=10.0), Recorder())
    assert len(driver.indices) == 3  # none begins after 12 s


def test_passes_under_way_when_the_time_is_over_are_added(clock: Clock) -> None:
    class Ahead(CountingDriver):
        """Three passes are under way at once."""

        def passes(self, indices: Iterator[int], carried: Carried | None = None) -> Iterator[MadeShare]:
            while begun := list(itertools.islice(indices, 3)):
                yield from super().passes(iter(begun), carried)
                clock.tick(6.0)

    driver, film = Ahead(), Film(3, 2)
    assert expose_and_save(driver, film, PassLimits(seconds=10.0), Recorder())
    assert film.passes == 6
    assert list(expose(Ahead(), Film(3, 2), PassLimits(passes=4))) == [False, False, False, True]
    assert list(expose(Ahead(), Film(3, 2), PassLimits(seconds=1.0))) == [False, False, True]


def film_of(passes: int, spread: float = 0.0) -> Film:
    """Passes of brightness 1, but for the first two of them: 1 + spread and 1 - spread, one of each half."""
    film = Film(3, 2)
    for index in range(passes):
        film.add(np.full((2, 3, 3), 1.0 + (spread * (-1.0) ** index if index < 2 else 0.0)))
    return film


def test_a_picture_that_is_right_enough_is_done() -> None:
    limits = PassLimits(noise=0.0250)
    assert not limits.reached(film_of(14, 0.18))  # 0.18 / 7 / 1.01 = 0.0255
    assert limits.reached(film_of(16, 0.18))  # 0.18 / 8 / 1.01 = 0.0223
    assert not limits.reached(film_of(3))  # too few to tell
    assert limits.reached(film_of(4))


def test_slow_saving_is_done_less_often(clock: Clock) -> None:
    class Slow(Recorder):
        def save_picture(self, film: Film) -> None:
            super().save_picture(film)
            clock.tick(3.0)

    recorder = Slow()
    expose_and_save(CountingDriver(lambda index: clock.tick(6.0)), Film(3, 2), PassLimits(passes=12), recorder)
    assert recorder.pictures == [1, 11]  # the next only after 20 times 3 s


def test_what_cannot_be_saved_meanwhile_is_a_note(clock: Clock, caplog: pytest.LogCaptureFixture) -> None:
    """As on a disk that is full at passes 2 and 3, and again at 5: one note for failures in a row."""

    class Full(Recorder):
        interval = 2.0

        def save_picture(self, film: Film) -> None:
            if film.passes in (2, 3, 5):
                raise OSError(28, "No space left on device", "a.png")
            super().save_picture(film)

    recorder = Full()
    assert expose_and_save(CountingDriver(lambda index: clock.tick(2.0)), Film(3, 2), PassLimits(passes=6), recorder)
    assert (recorder.pictures, recorder.ends) == ([1, 4, 6], [6])
    note = "note: cannot save pictures now, and render on: [Errno 28] No space left on device: 'a.png'"
    assert caplog.messages == [note, note]
    expose_and_save(
        CountingDriver(lambda index: clock.tick(2.0)), Film(3, 2), PassLimits(passes=6), Full(), Told(quiet=True)
    )
    assert caplog.messages == [note, note]


@pytest.mark.parametrize("number", SIGNALS)
def test_interrupt_saves_what_is_finished(number: signal.Signals) -> None:
    def interrupt(index: int) -> None:
        if index == 3:
            os.kill(os.getpid(), number)

    film, recorder = Film(3, 2), Recorder()
    assert not expose_and_save(CountingDriver(interrupt), film, PassLimits(passes=100), recorder)
    assert recorder.ends == [3]
    assert film.linear[0, 0, 0] == 1.0


def test_a_pass_without_a_number_is_counted_and_the_others_go_on() -> None:
    class Faulty(CountingDriver):
        def render_pass(self, index: int) -> Radiance:
            radiance = super().render_pass(index)
            return radiance * np.nan if index == 2 else radiance

    recorder, film = Recorder(), Film(3, 2)
    assert expose_and_save(Faulty(), film, PassLimits(passes=5), recorder)
    assert recorder.ends == [5]
    assert film.linear[0, 0, 0] == (0 + 1 + 3 + 4) / 5
    assert film.counts.impossible.tolist() == [[2, 6, 0, 0]]


@pytest.mark.parametrize("number", SIGNALS)
def test_handlers_are_put_back(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    with interruptible():
        assert signal.getsignal(number) != before
        with interruptible():
            pass
        assert signal.getsignal(number) != before
    assert signal.getsignal(number) == before


@pytest.mark.parametrize("second", SIGNALS)
def test_only_the_first_signal_interrupts(second: signal.Signals) -> None:
    with interruptible():
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGTERM)
        for _ in range(3):
            os.kill(os.getpid(), second)


def test_a_signal_where_no_exception_can_leave_is_noted_without_a_word(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other exceptions there are told as ever."""

    class Dropped:
        def __init__(self, act: Callable[[], object]) -> None:
            self._act = act

        def __del__(self) -> None:
            self._act()

    told: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda lost: told.append(lost.exc_type))
    with interruptible():
        Dropped(lambda: os.kill(os.getpid(), signal.SIGTERM))
        assert interrupted()
        assert told == []
        Dropped(lambda: 1 // 0)
    assert told == [ZeroDivisionError]


def test_a_hold_ends_with_its_block() -> None:
    with interruptible():
        with held_back(), let_through():
            pass
        with held_back():
            pass
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGTERM)


@pytest.mark.parametrize("second", SIGNALS)
def test_second_signal_does_not_stop_the_saving(second: signal.Signals) -> None:
    class Interrupted(Recorder):
        def save_all(self, film: Film, *, is_finished: bool) -> None:
            os.kill(os.getpid(), second)
            super().save_all(film, is_finished=is_finished)

    def interrupt(index: int) -> None:
        if index == 3:
            os.kill(os.getpid(), signal.SIGINT)

    recorder = Interrupted()
    assert not expose_and_save(CountingDriver(interrupt), Film(3, 2), PassLimits(passes=100), recorder)
    assert recorder.ends == [3]


def test_first_signal_while_all_is_saved() -> None:
    class Interrupted(Recorder):
        def save_all(self, film: Film, *, is_finished: bool) -> None:
            os.kill(os.getpid(), signal.SIGTERM)
            super().save_all(film, is_finished=is_finished)

    recorder = Interrupted()
    assert not expose_and_save(CountingDriver(), Film(3, 2), PassLimits(passes=2), recorder)
    assert recorder.ends == [2]


def test_second_signal_while_threads_are_joined() -> None:
    """As in a driver: the first ends the waiting for a result, the second comes while the pool shuts down."""
    late: list[bool] = []

    def interrupt(index: int) -> None:
        if index < 2:
            return
        with ThreadPoolExecutor(1) as pool:
            done = threading.Event()
            pool.submit(
                lambda: (done.wait(30), os.kill(os.getpid(), signal.SIGINT), time.sleep(0.2), late.append(True))
            )
            try:
                os.kill(os.getpid(), signal.SIGINT)
            finally:
                done.set()

    recorder = Recorder()
    assert not expose_and_save(CountingDriver(interrupt), Film(3, 2), PassLimits(passes=100), recorder)
    assert (recorder.ends, late) == ([2], [True])


def test_renders_in_a_thread_that_gets_no_signals() -> None:
    results: list[bool] = []
    film = Film(3, 2)
    work = threading.Thread(
        target=lambda: results.append(expose_and_save(CountingDriver(), film, PassLimits(passes=2), Recorder()))
    )
    work.start()
    work.join(timeout=30)
    assert results == [True]


def test_programs_are_told_by_lines_of_json(capsys):
    """Also where a person is told nothing; the last line comes once the picture is saved."""
    recorder = Recorder()
    told = Told("a.png", progress="json", quiet=True)
    assert expose_and_save(CountingDriver(), Film(3, 2), PassLimits(passes=2), recorder, told)
    first, second, saved = (json.loads(line) for line in capsys.readouterr().err.splitlines())
    assert (first["passes"], second["passes"], first["of"]) == (1, 2, 2)
    assert first.keys() == {"event", "picture", "passes", "of", "seconds", "rays", "rays_per_second"}
    assert saved == {"event": "saved", "picture": "a.png", "passes": 2, "finished": True}


def test_signals_held_back_are_noted() -> None:
    with interruptible(), held_back():
        assert not interrupted()
        os.kill(os.getpid(), signal.SIGTERM)
        assert interrupted()
        with pytest.raises(KeyboardInterrupt), let_through():
            pytest.fail("it came before")


def test_ignored_signals_stay_ignored() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with interruptible():
        os.kill(os.getpid(), signal.SIGINT)
        assert signal.getsignal(signal.SIGINT) == signal.SIG_IGN
    assert signal.getsignal(signal.SIGINT) == signal.SIG_IGN
