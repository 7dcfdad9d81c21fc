"""Runs cases in processes of their own, which a kernel may crash or never leave: both are findings."""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple

from tracecore.child_process import start_python

#: Seconds until a case is ready to be traced, while g++ may compile it several times.
OPENING_SECONDS = 900.0

#: In what is told of a loop that does not end, also by the emulator (`warp.hpp`).
ENDLESS = "an endless loop?"


class ChildFinding(NamedTuple):
    """Holds what came out of a case. text: one line of what is wrong, None if nothing is."""

    name: str
    text: str | None


@dataclass(frozen=True, kw_only=True)
class Check:
    """Says how cases are run.

    program: in Python, which calls `answer` with the names that standard input has, as JSON, under "names".
    order: what else standard input has.
    source: name of the kernel's file, of which lines are named.
    environment: variables of the process, beyond those of this one.
    seconds: that tracing a case may take.
    """

    program: str
    order: Mapping[str, Any]
    source: str
    environment: Mapping[str, str]
    seconds: float


def findings(check: Check, names: Sequence[str]) -> Iterator[ChildFinding]:
    """Yields what comes out of cases, in their order: of all, but where the first fails or one does not end of those
    so far. A case that ends its process is followed by the others in another process.
    """
    left = list(names)
    while left:
        with _Child(check, left) as child:
            while left and child.is_there:
                finding = ChildFinding(left.pop(0), child.next_case())
                yield finding
                if finding.text and (finding.name == names[0] or ENDLESS in finding.text):
                    return


class _Child:
    """Is a process that answers cases, as `answer` does. Leaving the block ends it."""

    def __init__(self, check: Check, names: Sequence[str]) -> None:
        self.is_there = True
        self._check = check
        self._events: SimpleQueue[tuple[str, str | None]] = SimpleQueue()
        self._words = tempfile.TemporaryFile("w+", errors="replace")  # noqa: SIM115, until the process ends
        streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": self._words}
        self._process = start_python(["-c", check.program], check.environment, text=True, **streams)
        threading.Thread(target=self._listen, daemon=True).start()
        assert self._process.stdin is not None
        with suppress(BrokenPipeError), self._process.stdin as pipe:
            json.dump({**check.order, "names": names}, pipe)

    def __enter__(self) -> "_Child":
        return self

    def __exit__(self, *error: object) -> None:
        self._process.kill()
        self._process.wait()
        self._words.close()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        with suppress(ValueError), self._process.stdout as pipe:  # half a line, as the process ends
            for line in pipe:
                self._events.put(json.loads(line))
        self._events.put(("ended", None))

    def next_case(self) -> str | None:
        """Waits for the end of a case. Returns what is wrong, or None."""
        seconds = OPENING_SECONDS
        while True:
            try:
                event, text = self._events.get(timeout=seconds)
            except Empty:
                return f"has not ended in {seconds:g} s: {ENDLESS}"
            if event == "traces":
                seconds = self._check.seconds
            elif event == "finished":
                return text
            elif event == "ended":
                self.is_there = False
                return self._why_ended()

    def _why_ended(self) -> str:
        status = self._process.wait()
        self._words.seek(0)
        return reason(self._words.read(), status, self._check.source)


def reason(words: str, status: int, source: str) -> str:
    """Returns why a process has ended, in one line.

    words: what it wrote to standard error.
    status: its exit status, as `subprocess` has it.
    source: the file of which a line is named, before those of others.
    """
    if undefined := re.search(r"([^\s/:]+:\d+)(?::\d+)?: runtime error: (.*)", words):
        return f"{undefined[2]} in {undefined[1]}"
    if crash := re.search(r"AddressSanitizer: ([\w-]+)", words):
        places: list[str] = re.findall(r"([^\s/:]+\.cuh?:\d+)", words[crash.start() :])
        place = next((place for place in places if place.startswith(f"{source}:")), None) or next(iter(places), None)
        return f"{crash[1]} in {place or 'an unknown line'}"
    if status < 0:
        return f"the process was ended by {signal.Signals(-status).name}"
    last = (words.strip().splitlines() or ["it said nothing"])[-1]
    return f"the process ended with status {status}: {last}"


def answer(names: Sequence[str], run: Callable[[str, Callable[[], None]], str | None]) -> None:
    """Answers cases in the process that a `Check` starts: what is printed from now on goes to standard error.

    run: returns what is wrong with a case of a name, or None; calls what it is given when all is ready to be traced.
    """
    with os.fdopen(os.dup(1), "w") as channel:
        os.dup2(2, 1)

        def say(event: str, text: str | None = None) -> None:
            print(json.dumps((event, text)), file=channel, flush=True)

        for name in names:
            say("finished", run(name, lambda: say("traces")))
        sys.stderr.flush()
