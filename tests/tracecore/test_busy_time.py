"""The union of intervals."""

import threading
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracecore.dispatch import busy_time
from tracecore.dispatch.busy_time import BusyTime, union

SPANS = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 9)), min_size=1, max_size=30)


@given(SPANS)
def test_union_covers_the_same_points(spans: list[tuple[int, int]]) -> None:
    intervals = np.array([(start, start + length) for start, length in spans], np.int64)
    merged = union(intervals)
    covered = {point for start, end in intervals for point in range(start, end)}
    assert {point for start, end in merged for point in range(start, end)} == covered
    assert all(before[1] < after[0] for before, after in pairwise(merged.tolist()))


@pytest.mark.parametrize("step", [1, 2])
def test_memory_is_bounded_and_the_sum_exact(step: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(busy_time, "PENDING", 64)
    monkeypatch.setattr(busy_time, "HORIZON", 1000)
    busy = BusyTime()
    for i in range(20_000):
        busy.add(i * step, i * step + 1)
    assert busy.seconds * 1e9 == pytest.approx(20_000, abs=1e-3)
    assert len(busy._recent) <= 1000


def test_many_threads() -> None:
    busy = BusyTime()

    def add(first: int) -> None:
        for i in range(first, 40_000, 4):
            busy.add(2 * i, 2 * i + 1)

    threads = [threading.Thread(target=add, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert busy.seconds * 1e9 == pytest.approx(40_000, abs=1e-3)
