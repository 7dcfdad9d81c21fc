"""How long a device was busy: the union of intervals that come in late, overlapping and from many threads."""

import threading

import numpy as np
import numpy.typing as npt

Intervals = npt.NDArray[np.int64]

#: Intervals gathered before they are merged.
PENDING = 1 << 16
#: Nothing comes in later than this after its time, in nanoseconds; what does counts only from then on.
HORIZON = 10_000_000_000


class BusyTime:
    """A union of intervals in nanoseconds, in bounded memory. Any thread may add."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pending: list[tuple[int, int]] = []
        self._recent = np.empty((0, 2), np.int64)  # disjoint, sorted
        self._settled_until = 0
        self._settled = 0

    def add(self, start: int, end: int) -> None:
        """Note that the device was busy from start to end, in nanoseconds."""
        with self._lock:
            self._pending.append((start, end))
            if len(self._pending) >= max(PENDING, len(self._recent)):
                self._merge()

    @property
    def seconds(self) -> float:
        """Length of the union so far, in seconds."""
        with self._lock:
            self._merge()
            return (self._settled + _length(self._recent)) * 1e-9

    def _merge(self) -> None:
        pending, self._pending = self._pending, []
        if not pending:
            return
        fresh = np.maximum(np.array(pending, np.int64), self._settled_until)
        merged = union(np.concatenate([self._recent, fresh]))
        self._settled_until = max(self._settled_until, int(merged[-1, 1]) - HORIZON)
        is_recent = merged[:, 1] > self._settled_until
        self._settled += _length(merged[~is_recent])
        self._recent = merged[is_recent]
        if len(self._recent) > 0 and self._recent[0, 0] < self._settled_until:
            self._settled += int(self._settled_until - self._recent[0, 0])
            self._recent[0, 0] = self._settled_until


def union(intervals: Intervals) -> Intervals:
    """Returns disjoint intervals, sorted, that cover the same time.

    intervals: (n, 2) int64, start and end in nanoseconds, n > 0.
    """
    intervals = intervals[np.argsort(intervals[:, 0], kind="stable")]
    reach = np.maximum.accumulate(intervals[:, 1])
    first = np.flatnonzero(np.concatenate([[True], intervals[1:, 0] > reach[:-1]]))
    last = np.concatenate([first[1:] - 1, [len(intervals) - 1]])
    return np.stack([intervals[first, 0], reach[last]], axis=1)


def _length(intervals: Intervals) -> int:
    return int((intervals[:, 1] - intervals[:, 0]).sum())
