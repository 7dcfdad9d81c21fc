"""Processes that help: each does one job after another, and jobs that follow from an answer are handed out at once."""

# Numba's interface for extensions carries no types.
# mypy: disable-error-code="no-untyped-call"

import subprocess
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from pickle import dump, load, loads
from queue import SimpleQueue
from threading import Thread
from typing import Any, NamedTuple, Self

from tracecore.compilation.numba_inside import dumps

#: What a process does that helps.
HELP = "from tracecore.compilation.side_by_side import help_out; help_out()"


class Job(NamedTuple):
    """Is a call of a function, which can be pickled and compared as its arguments can."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]

    def __call__(self) -> Any:
        """Returns the answer."""
        return self.function(*self.arguments)


class Helpers:
    """Are processes that work until the end of a block.

    count: of them; where there is no more than one, this process does everything itself.
    """

    def __init__(self, count: int) -> None:
        self._count = count if count > 1 else 0
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        self._answers: SimpleQueue[tuple[Job, Any]] = SimpleQueue()
        self._processes: list[Any] = []

    def __enter__(self) -> Self:
        from tracecore.child_process import start_python

        streams: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        for _ in range(self._count):
            self._processes.append(start_python(["-c", HELP], **streams))
            Thread(target=self._serve, args=self._processes[-1:], name="compiling", daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._processes:
            self._jobs.put(None)
            process.kill()
            process.wait()

    def done(
        self, first: Iterable[Job], following: Callable[[Any], Iterable[Job]] = lambda answer: ()
    ) -> dict[Job, Any]:
        """Returns the answers to jobs, each of which is done once. What a process cannot do this one does, and raises
        what is wrong with it.

        following: returns the jobs that an answer asks for.
        """
        found: dict[Job, Any] = {}
        asked: set[Job] = set()
        wanted = first
        while True:
            for job in wanted:
                if job not in asked:
                    asked.add(job)
                    self._ask(job)
            if len(found) == len(asked):
                return found
            job, answer = self._answers.get()
            found[job] = job() if answer is None else answer
            wanted = following(found[job])

    def _ask(self, job: Job) -> None:
        if self._processes:
            self._jobs.put(job)
        else:
            self._answers.put((job, None))

    def _serve(self, process: Any) -> None:
        """Hands jobs to a process, and on what it answers: None where it does not."""
        with suppress(BrokenPipeError), process:  # whose input is closed, though nobody may read it any more
            while (job := self._jobs.get()) is not None:
                answer = None
                with suppress(OSError, EOFError):  # the process is no more
                    dump(dumps(job), process.stdin)
                    process.stdin.flush()
                    answer = load(process.stdout)
                self._answers.put((job, answer))


def help_out() -> None:
    """Does the jobs that come by standard input, until there are no more; answers None where one fails."""
    given, answers = sys.stdin.buffer, sys.stdout.buffer
    sys.stdout = sys.stderr  # what is printed is no answer
    with suppress(EOFError):
        while True:
            asked, answer = load(given), None
            with suppress(Exception):
                answer = loads(asked)()
            dump(answer, answers)
            answers.flush()
