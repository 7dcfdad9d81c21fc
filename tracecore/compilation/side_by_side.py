"""Processes that help: each does one job after another, and jobs that follow from an answer are handed out at once."""

# Numba's interface for extensions carries no types.
# mypy: disable-error-code="no-untyped-call"

import subprocess
import sys
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pickle import dump, load, loads
from queue import SimpleQueue
from threading import Thread
from typing import Any, TypeVar

from tracecore.compilation.numba_inside import dumps

Job = TypeVar("Job", bound=Hashable)
Answer = TypeVar("Answer")

#: What a process does that helps.
HELP = "from tracecore.compilation.side_by_side import help_out; help_out()"


def side_by_side(
    work: Callable[[Job], Answer], first: Sequence[Job], following: Callable[[Answer], Iterable[Job]], processes: int
) -> dict[Job, Answer]:
    """Returns what a function makes of jobs, each done once. What a process cannot do this one does, and raises what is
    wrong with it.

    work: the function, which can be pickled as jobs can.
    first: jobs that are known.
    following: returns the jobs that an answer asks for.
    processes: how many work side by side; this one alone where there is one.
    """
    found: dict[Job, Answer] = {}
    with helpers(work, processes if processes > 1 else 0) as (jobs, answers):
        asked: dict[Job, None] = {}

        def ask(wanted: Iterable[Job]) -> None:
            for job in wanted:
                if job not in asked:
                    asked[job] = None
                    (jobs if processes > 1 else answers).put((job, None))

        ask(first)
        while len(found) < len(asked):
            job, answer = answers.get()
            found[job] = work(job) if answer is None else answer
            ask(following(found[job]))
    return found


@contextmanager
def helpers(work: Callable[[Any], Any], count: int) -> Iterator[tuple[SimpleQueue[Any], SimpleQueue[Any]]]:
    """Starts processes that work until the block ends. Yields where jobs are put, and where answers are got: pairs of
    a job and what was made of it, None where nothing was."""
    from tracecore.child_process import start_python

    jobs: SimpleQueue[Any] = SimpleQueue()
    answers: SimpleQueue[Any] = SimpleQueue()
    streams: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    started = [start_python(["-c", HELP], **streams) for _ in range(count)]
    try:
        for process in started:
            Thread(target=_serve, args=(process, work, jobs, answers), name="compiling", daemon=True).start()
        yield jobs, answers
    finally:
        for process in started:
            jobs.put(None)
            process.kill()
            process.wait()


def _serve(process: Any, work: Callable[[Any], Any], jobs: SimpleQueue[Any], answers: SimpleQueue[Any]) -> None:
    """Hands jobs to a process, and on what it answers."""
    with process:
        while (asked := jobs.get()) is not None:
            job, answer = asked
            with suppress(OSError, EOFError):  # the process is no more
                dump(dumps((work, job)), process.stdin)
                process.stdin.flush()
                answer = load(process.stdout)
            answers.put((job, answer))


def help_out() -> None:
    """Does the jobs that come by standard input, until there are no more; answers None where one fails."""
    given, answers = sys.stdin.buffer, sys.stdout.buffer
    sys.stdout = sys.stderr  # what is printed is no answer
    with suppress(EOFError):
        while True:
            answer = None
            asked = load(given)
            with suppress(Exception):
                work, job = loads(asked)
                answer = work(job)
            dump(answer, answers)
            answers.flush()
