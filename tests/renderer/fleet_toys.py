"""Makers that members of a fleet can be opened with: quick ones, and some that fail."""

import os
import signal
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from renderer.fleet.fleet import Common
from renderer.fleet.seats import Seat
from tracecore.errors import KernelError


@dataclass(frozen=True)
class Trouble:
    """Says which item fails, or None for all, in which members, and how: "error", "device" or "kill";
    or that members cannot begin: "start".
    """

    item: int | None = -1
    members: tuple[int, ...] = (0,)
    kind: str = "error"


class Squares:
    """Squares numbers."""

    window = 3

    def __init__(self, trouble: Trouble, seat: Seat) -> None:
        if trouble.kind == "start" and seat.number in trouble.members:
            raise ValueError(f"no start for {seat.number}")
        self._trouble, self._seat = trouble, seat

    def report(self) -> int:
        return self._seat.number

    def make(self, item: int) -> npt.NDArray[np.float64]:
        if self._trouble.item in (None, item) and self._seat.number in self._trouble.members:
            if self._trouble.kind == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            raise (KernelError if self._trouble.kind == "device" else ValueError)(f"no square of {item}")
        time.sleep(0.01)
        return np.full(1000, float(item) ** 2)

    def close(self) -> None:
        pass


#: Numbers in an array that goes by shared memory.
MANY = 1 << 20


@dataclass(frozen=True)
class Heap:
    """Is to be made: many numbers, all the same; it takes its time before it is made."""

    number: float
    seconds: float = 0.0


@dataclass(frozen=True)
class Total:
    """Asks for the sum of heaps that have been made, once it has waited for some seconds, and until a file is there."""

    number: int
    given: Common[tuple[npt.NDArray[np.float64], ...]] | None = field(compare=False)
    seconds: float = 0.0
    file: Path | None = None

    def __str__(self) -> str:
        return f"total {self.number}"


def wait_for(file: Path) -> None:
    """Returns once a file is there, or after a minute."""
    deadline = time.monotonic() + 60.0
    while not file.exists() and time.monotonic() < deadline:
        time.sleep(0.01)


class Heaps:
    """Makes heaps, and sums of them."""

    window = 4

    def __init__(self, _: None, seat: Seat) -> None:
        self._seat = seat

    def report(self) -> int:
        return self._seat.number

    def make(self, item: Heap | Total) -> npt.NDArray[np.float64] | float:
        time.sleep(item.seconds)
        if isinstance(item, Heap):
            return np.full(MANY, item.number)
        if item.file is not None:
            wait_for(item.file)
        assert item.given is not None
        return float(sum(heap.sum() for heap in item.given.content))

    def close(self) -> None:
        pass


class Marks:
    """Marks numbers in an array that all members are opened with, and tells how many are marked."""

    window = 2

    def __init__(self, marks: npt.NDArray[np.float64], seat: Seat) -> None:
        self._marks = marks

    def report(self) -> None:
        pass

    def make(self, item: int) -> float:
        time.sleep(0.01)
        self._marks[item] = 1.0
        return float(self._marks.sum())

    def close(self) -> None:
        pass


#: Threads that have imported what a member needs.
importers: list[str] = []


def import_slowly() -> tuple[()]:
    """Takes its time for what a member imports before it is told what to do; there is no machine code."""
    time.sleep(0.3)
    importers.append(threading.current_thread().name)
    return ()


class Importers:
    """Tells which threads had imported what it needs when it began."""

    window = 1

    def __init__(self, _: None, seat: Seat) -> None:
        self._importers = list(importers)

    def report(self) -> list[str]:
        return self._importers

    def make(self, item: int) -> int:
        return item

    def close(self) -> None:
        pass


def main() -> None:
    """Opens a fleet of two members, writes their process numbers, and waits to be killed."""
    import sys

    from fleet_toys import Squares, Trouble

    from renderer.fleet.fleet import Opening
    from renderer.fleet.processes import HostFleet

    fleet = HostFleet([Seat(0, "cpu", 1), Seat(1, "cpu", 1)])
    fleet.open(Opening(Squares, Trouble()))
    Path(sys.argv[1]).write_text(" ".join(str(number) for number in fleet.process_numbers))
    time.sleep(600)


if __name__ == "__main__":
    main()
