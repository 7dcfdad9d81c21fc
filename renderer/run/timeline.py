"""A timeline shows when each thread shaded and waited and when each batch was on its way, or of a film what each thread
did for which frame, as a file for trace viewers.

Format: "Trace Event Format" of Chrome (Google, 2016), a JSON object; `chrome://tracing` and Perfetto show it.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from renderer.atomic_file import write_whole
from renderer.run.statistics import OF_FILMS
from renderer.version import SOFTWARE
from tracecore.dispatch.port import LOG_IN_FLIGHT, LOG_SHADING, LOG_WAITING

if TYPE_CHECKING:
    from pathlib import Path

    from tracecore.workers.pool import Log

    Event = dict[str, Any]

#: What a kind of row in a log is called.
NAMES = {LOG_SHADING: "shading", LOG_WAITING: "waiting", LOG_IN_FLIGHT: "batch"}

#: The one process, and how many rows of the picture a thread has at most: one for the thread and one for each slot.
PROCESS, THREAD_ROWS = 1, 4096


class Span(NamedTuple):
    """Is a time in which a thread of a film did one thing.

    name: of what it did, as the keys of `statistics.OF_FILMS` end.
    start, end: nanoseconds, by `time.perf_counter_ns`.
    frame: number of the frame that it was for, None for none.
    """

    name: str
    start: int
    end: int
    frame: int | None


class FilmClock:
    """Knows what each thread of a film did when.

    The main thread does one thing after another: what begins there ends what was before, so that no time is left out
    and none counts twice. Other threads say when they did something, and the rest of their time they did nothing.
    """

    def __init__(self, started: float | None = None) -> None:
        """Begins with the start of a film. started: when that was, by `time.perf_counter`; now if it is not known."""
        self._since = time.perf_counter_ns() if started is None else round(1e9 * started)
        self.started = self._since
        self._name = "start"
        self._frame: int | None = None
        self._spans: dict[str, list[Span]] = {"main": [], "player": [], "opener": [], "writer": []}

    def begin(self, name: str, frame: int | None = None) -> None:
        """Says what the main thread does from now on, and for which frame."""
        self._until(self._name, time.perf_counter_ns())
        self._name, self._frame = name, frame

    def was(self, name: str, seconds: float) -> None:
        """Says that of what the main thread is doing, the first so many seconds were something else."""
        self._until(name, min(self._since + round(1e9 * max(seconds, 0.0)), time.perf_counter_ns()))

    def _until(self, name: str, end: int) -> None:
        self._spans["main"].append(Span(name, self._since, end, self._frame))
        self._since = end

    @contextmanager
    def meanwhile(self, thread: str, name: str, frame: int) -> Iterator[None]:
        """Says what another thread does within the block, for which frame."""
        start = time.perf_counter_ns()
        try:
            yield
        finally:
            self._spans[thread].append(Span(name, start, time.perf_counter_ns(), frame))

    def spans(self) -> dict[str, list[Span]]:
        """Returns what each thread did so far, with what the main thread is doing."""
        now = Span(self._name, self._since, time.perf_counter_ns(), self._frame)
        return self._spans | {"main": [*self._spans["main"], now]}

    def seconds(self) -> dict[str, float]:
        """Returns wall time so far, with the keys of `statistics.OF_FILMS`: those of the main thread add up to all."""
        spans = self.spans()
        found = dict.fromkeys(OF_FILMS, 0.0)
        for thread, own in spans.items():
            for span in own:
                found[f"seconds.{thread}.{span.name}"] += 1e-9 * (span.end - span.start)
        return found | {"seconds.wall": 1e-9 * (spans["main"][-1].end - self.started)}


def write(path: Path, logs: list[Log]) -> None:
    """Writes the logs of all threads. The file says how many rows a thread's log had no room for."""
    _write_trace(path, trace(logs))


def write_film(path: Path, clock: FilmClock) -> None:
    """Writes what each thread of a film did so far, a row for each thread."""
    _write_trace(path, film_trace(clock))


def _write_trace(path: Path, content: dict[str, Any]) -> None:
    write_whole(path, (json.dumps(content, separators=(",", ":")) + "\n").encode())


def trace(logs: list[Log]) -> dict[str, Any]:
    """Returns the file's content. Times are in microseconds from the first event on."""
    starts = [start for log in logs for start in (*log.rows[:, 2].tolist(), *(span[1] for span in log.spans))]
    first = min(starts, default=0)
    events = [event for i, log in enumerate(logs) for event in _thread_events(i, log, first)]
    dropped = {f"thread {i}": log.dropped for i, log in enumerate(logs)}
    return _file_of(events, {"rows dropped, the log being full": dropped})


def film_trace(clock: FilmClock) -> dict[str, Any]:
    """Returns the file's content of a film. Times are in microseconds from the start of the command on."""
    events: list[Event] = []
    for row, (thread, spans) in enumerate(clock.spans().items()):
        events += _row_names(row, thread)
        for span in spans:
            event = _event(span.name, row, span.start - clock.started, span.end - span.start)
            events.append(event if span.frame is None else event | {"args": {"frame": span.frame}})
    return _file_of(events, {})


def _file_of(events: list[Event], other: dict[str, Any]) -> dict[str, Any]:
    return {
        "otherData": {"software": SOFTWARE, **other},
        "traceEvents": [_name("process_name", 0, "tracecore"), *events],
        "displayTimeUnit": "ms",
    }


def _thread_events(thread: int, log: Log, first: int) -> Iterator[Event]:
    """Yields the names of a thread's rows, and what happened in them."""
    own = thread * THREAD_ROWS
    slots = np.unique(log.rows[log.rows[:, 0] == LOG_IN_FLIGHT, 1]).tolist()
    yield from _row_names(own, f"thread {thread}")
    for slot in slots:
        yield from _row_names(own + 1 + slot, f"thread {thread}, slot {slot}")
    for name, start, end in log.spans:
        yield _event(name, own, start - first, end - start)
    for kind, slot, start, end, rays in log.rows.tolist():
        on_its_way = kind == LOG_IN_FLIGHT
        event = _event(NAMES[kind], own + 1 + slot if on_its_way else own, start - first, end - start)
        yield event | {"args": {"rays": rays}} if on_its_way else event


def _event(name: str, row: int, start: int, duration: int) -> Event:
    event = {"name": name, "cat": name, "ph": "X", "pid": PROCESS, "tid": row}
    return event | {"ts": start / 1e3, "dur": duration / 1e3}


def _row_names(row: int, name: str) -> Iterable[Event]:
    order = {"name": "thread_sort_index", "ph": "M", "pid": PROCESS, "tid": row, "args": {"sort_index": row}}
    return _name("thread_name", row, name), order


def _name(kind: str, row: int, name: str) -> Event:
    return {"name": kind, "ph": "M", "pid": PROCESS, "tid": row, "args": {"name": name}}
