"""Large arrays of messages lie in memory that both processes see, and come as they were sent."""

import errno
import gc
import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from renderer.fleet import messages
from renderer.fleet.messages import LEAST_SHARED, NOWHERE, Arena, MessagePlace, SharedView, arena_file, receive, send

pytestmark = pytest.mark.usefixtures("collects_often")

#: Numbers of the smallest array that is shared, and of one that goes through the socket.
LARGE, SMALL = LEAST_SHARED // 8, LEAST_SHARED // 8 - 1

Doubles = npt.NDArray[np.float64]


class Line:
    """A sender and a receiver with memory that they share, in one process. told: what slots are free again."""

    def __init__(self, file: int | None) -> None:
        self._sender, self._receiver = socket.socketpair()
        self.told: list[MessagePlace] = []
        self.arena, self.view = Arena(file), SharedView([file], self.told.append)

    def sent(self, message: Any, place_of: Callable[[memoryview], MessagePlace] | None = None) -> Any:
        sender = threading.Thread(target=send, args=(self._sender, message, place_of or self.arena.put))
        sender.start()
        came = receive(self._receiver, self.view)
        sender.join()
        return came

    def free_what_is_told(self) -> None:
        while self.told:
            self.arena.free(self.told.pop().offset)

    def close(self) -> None:
        self._sender.close()
        self._receiver.close()


@pytest.fixture
def memory() -> Iterator[int]:
    file = arena_file()
    if file is None:
        pytest.skip("this system has no memory without a name")
    yield file
    os.close(file)


@pytest.fixture
def line(memory: int) -> Iterator[Line]:
    with closing(Line(memory)) as line:
        yield line


def doubles(count: int, seed: int = 1) -> Doubles:
    return np.random.default_rng(seed).random(count)


def size_of(file: int) -> int:
    return os.fstat(file).st_size


def lies_in(array: Doubles, view: SharedView) -> bool:
    return any(np.shares_memory(array, np.frombuffer(shared, np.uint8)) for shared in view._maps.values())


def test_large_arrays_come_as_they_were_by_shared_memory(line: Line, memory: int) -> None:
    message = {
        "rows": doubles(2 * LARGE).reshape(64, -1),
        "columns": np.asfortranarray(doubles(2 * LARGE, 2).reshape(64, -1)),
        "bytes": np.arange(LEAST_SHARED + 1, dtype=np.uint32).astype(np.uint8),  # no whole pages
        "every second": doubles(4 * LARGE, 3)[::2],
        "small": doubles(SMALL, 4),
        "words": ("none", None),
    }
    came = line.sent(message)
    assert came["words"] == message["words"]
    for name in ("rows", "columns", "bytes", "every second", "small"):
        assert came[name].dtype == message[name].dtype
        assert np.array_equal(came[name], message[name]), name
    assert [lies_in(came[name], line.view) for name in ("rows", "columns", "bytes", "small")] == [True] * 3 + [False]
    assert size_of(memory) >= sum(message[name].nbytes for name in ("rows", "columns", "bytes"))


def test_a_slot_is_not_used_again_as_long_as_somebody_has_its_array(line: Line, memory: int) -> None:
    first, second = line.sent(doubles(LARGE)), line.sent(doubles(LARGE, 2))
    part = first[5:7]
    del first
    gc.collect()
    assert line.told == []
    line.sent(doubles(LARGE, 3))
    assert np.array_equal(part, doubles(LARGE)[5:7])
    assert np.array_equal(second, doubles(LARGE, 2))


def test_slots_are_used_again_once_their_arrays_are_gone(line: Line, memory: int) -> None:
    for seed in range(20):
        came = line.sent(doubles(LARGE, seed))
        assert np.array_equal(came, doubles(LARGE, seed))
        del came
        gc.collect()
        assert len(line.told) == 1
        line.free_what_is_told()
    assert size_of(memory) == LEAST_SHARED
    larger = line.sent(doubles(3 * LARGE))
    assert size_of(memory) == 4 * LEAST_SHARED  # the free one is too small
    del larger
    gc.collect()
    line.free_what_is_told()
    kept = line.sent(doubles(2 * LARGE, 5))
    assert size_of(memory) == 4 * LEAST_SHARED
    assert np.array_equal(kept, doubles(2 * LARGE, 5))


def test_a_slot_is_used_for_less_and_then_for_as_much_as_it_has(line: Line, memory: int) -> None:
    for count in (2 * LARGE, LARGE, 2 * LARGE):
        came = line.sent(doubles(count, count))
        assert np.array_equal(came, doubles(count, count))
        del came
        gc.collect()
        line.free_what_is_told()
    assert size_of(memory) == 2 * LEAST_SHARED


def test_a_process_may_see_less_of_a_slot_before_it_sees_all_of_it(line: Line, memory: int) -> None:
    other = SharedView([memory])
    for count in (2 * LARGE, LARGE, 2 * LARGE):
        came = line.sent(doubles(count, count))
        if count == LARGE or len(other._maps) > 0:
            seen = other.get(line.view.place_of(memoryview(came).cast("B")), came.nbytes)
            assert np.array_equal(np.frombuffer(seen, np.float64), came)
            del seen
        del came
        gc.collect()
        line.free_what_is_told()
    assert size_of(memory) == 2 * LEAST_SHARED


def test_an_array_that_lies_in_an_arena_is_sent_on_without_a_copy(line: Line, memory: int) -> None:
    """To another process, which sees the arena too; of a part of it that begins elsewhere a copy is sent."""
    came = line.sent({"rows": doubles(2 * LARGE).reshape(64, -1), "small": doubles(SMALL, 2)})
    size = size_of(memory)
    with closing(Line(None)) as onward:
        onward.view = SharedView([memory])
        message = {**came, "part": came["rows"][32:], "elsewhere": doubles(LARGE, 3)}
        again = onward.sent(message, line.view.place_of)
        assert all(np.array_equal(again[name], message[name]) for name in message)
        again["rows"][5, 6] = 7.0
        assert came["rows"][5, 6] == 7.0
        again["part"][:] = again["elsewhere"][:] = 8.0
        assert came["rows"][32, 0] != 8.0
        assert not lies_in(again["elsewhere"], onward.view)
    assert size_of(memory) == size


def test_an_address_means_nothing_once_its_array_is_gone(line: Line) -> None:
    came = line.sent(doubles(LARGE))
    address, content = came.ctypes.data, memoryview(came).cast("B")
    assert line.view.place_of(content) == MessagePlace(0, 0)
    assert list(line.view._places) == [address]
    del came, content
    gc.collect()
    assert line.view._places == {}


def test_without_memory_all_goes_through_the_socket() -> None:
    with closing(Line(None)) as line:
        message = {"large": doubles(2 * LARGE), "small": doubles(5)}
        came = line.sent(message)
        assert all(np.array_equal(came[name], message[name]) for name in message)
        del came
        gc.collect()
        assert line.told == []


def test_where_memory_is_short_an_array_goes_through_the_socket(line, memory, monkeypatch):
    def full(file: int, offset: int, size: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(messages.os, "posix_fallocate", full)
        assert line.arena.put(memoryview(doubles(LARGE))) == NOWHERE
        came = line.sent(doubles(LARGE))
        assert np.array_equal(came, doubles(LARGE))
        assert not lies_in(came, line.view)
    assert size_of(memory) == 0
    assert lies_in(line.sent(doubles(LARGE)), line.view)


def test_a_system_without_nameless_memory_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(messages.os, "memfd_create", raising=False)
    assert arena_file() is None
