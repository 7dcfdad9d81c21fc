"""Several processes compile the units that a function calls. (Numba compiles one function at a time in a process.)"""

# Numba's interface for extensions carries no types.
# mypy: disable-error-code="misc, no-untyped-call"

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from pickle import loads

from numba.core.serialize import dumps

from tracecore.compilation.unit_calls import Call
from tracecore.cores import usable_cores

#: How many processes compile side by side: as the environment says here, else one for each core up to so many.
PROCESSES = "TRACECORE_COMPILE_PROCESSES"
MOST_PROCESSES = 4


def prepare(calls: Sequence[Call]) -> None:
    """Fills the cells of calls. Other processes help where several units were never compiled."""
    left = [one for one in calls if not one.is_ready()]
    with helped([one for one in left if not one.is_on_disk()]):
        for one in busy_last(left):
            one.prepare()


def busy_last(calls: Sequence[Call]) -> Iterator[Call]:
    """Yields calls, and last those whose units another process compiled when it was their turn."""
    busy = []
    for one in calls:
        if one.unit.is_free():
            yield one
        else:
            busy.append(one)
    yield from busy


@contextmanager
def helped(missing: Sequence[Call]) -> Iterator[None]:
    """Has other processes compile units while the block does so, each in another order."""
    helpers = [helper([*missing[first:], *missing[:first]]) for first in starts(len(missing), processes())[1:]]
    try:
        yield
    finally:
        for one in helpers:
            one.kill()
            one.wait()


def processes() -> int:
    """Returns how many processes are to compile side by side.

    Raises ValueError if the environment says what is no number.
    """
    return int(os.environ.get(PROCESSES, min(usable_cores(), MOST_PROCESSES)))


def starts(length: int, count: int) -> list[int]:
    """Returns where in a list of some length so many processes begin, one after each part of it at most."""
    count = max(1, min(length, count))
    return [i * length // count for i in range(count)]


def helper(calls: Sequence[Call]) -> "subprocess.Popen[bytes]":
    """Returns a process that compiles units, in this order."""
    places = [str(Path(__file__).resolve().parents[2]), *filter(None, [os.environ.get("PYTHONPATH")])]
    process = subprocess.Popen(
        [sys.executable, "-P", "-c", "from tracecore.compilation import side_by_side; side_by_side.help_to_compile()"],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(places), PROCESSES: "1"},
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    assert process.stdin is not None
    with suppress(BrokenPipeError), process.stdin as pipe:
        pipe.write(dumps(list(calls)))
    return process


def help_to_compile() -> None:
    """Compiles the units that standard input names."""
    for one in busy_last(loads(sys.stdin.buffer.read())):
        one.prepare()
