"""A timeline shows when each thread shaded and waited, and when each batch was on its way, as a file for trace viewers.

Format: "Trace Event Format" of Chrome (Google, 2016), a JSON object; `chrome://tracing` and Perfetto show it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from renderer.atomic_file import write_whole
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


def write(path: Path, logs: list[Log]) -> None:
    """Writes the logs of all threads. The file says how many rows a thread's log had no room for."""
    write_whole(path, (json.dumps(trace(logs), separators=(",", ":")) + "\n").encode())


def trace(logs: list[Log]) -> dict[str, Any]:
    """Returns the file's content. Times are in microseconds from the first event on."""
    starts = [start for log in logs for start in (*log.rows[:, 2].tolist(), *(span[1] for span in log.spans))]
    first = min(starts, default=0)
    events = [event for i, log in enumerate(logs) for event in _thread_events(i, log, first)]
    dropped = {f"thread {i}": log.dropped for i, log in enumerate(logs)}
    return {
        "otherData": {"software": SOFTWARE, "rows dropped, the log being full": dropped},
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
