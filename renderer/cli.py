"""This module is the command line: `tracecore`, also `python -m renderer`.

Commands are modules of `renderer.commands`, of which the one that is asked for is imported.

Exit status: 0 done, 1 failed, 2 bad usage or bad input (one line on stderr), and as shells have it for a program that a
signal has ended: 130 interrupted by Ctrl-C, 143 by SIGTERM, 129 by SIGHUP, 141 where nobody reads what it prints.
"""

import argparse
import errno
import logging
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from importlib import import_module
from itertools import pairwise

from renderer.commands import COMMANDS
from renderer.commands.parser import Parser, PrintCompletion
from renderer.interrupts import ignore_from_now_on, interrupted, interrupted_status, interruptible
from renderer.plain_text import line, plainly_printed, told_in_json
from renderer.version import __version__

EXIT_DONE, EXIT_FAILED, EXIT_BAD_USAGE, EXIT_INTERRUPTED = 0, 1, 2, 130

EXAMPLES = """\
examples:
  tracecore render cornell                     a first picture, output/cornell-photon.png
  tracecore render kitchen.aff --size 400x300  a scene from a file
  tracecore view cornell                       the same in the browser, as it converges
  tracecore scene list                         the scenes that come with the program
  tracecore doctor                             what runs on this machine, and what is missing

tracecore COMMAND --help shows what most people use of each, and --help all the rest.
"""


def make_parser(words: Sequence[str] | None = None) -> Parser:
    """Returns the parser of all commands.

    words: of the command line: commands that are not among them have no arguments; None for all of all.
    """
    parser = Parser(
        prog="tracecore",
        description="Offline photon-mapping renderer with a ray-tracing co-processor.",
        epilog=EXAMPLES,
    )
    parser.add_argument("--version", action="version", version=f"tracecore {__version__}")
    parser.add_argument("--print-completion", action=PrintCompletion, make_parser=make_parser)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, summary in COMMANDS.items():
        own = commands.add_parser(name, help=summary, description=summary)
        if words is None or name in words:
            command = import_module(f"renderer.commands.{name.replace(' ', '_')}")
            command.add_arguments(own)
            own.set_defaults(run=command.run)
    return parser


def main(argv: Sequence[str] | None = None, started: float | None = None) -> int:
    """Runs a command; returns the exit status. Wrong arguments and --help raise `SystemExit`, as argparse does.

    argv: words of the command line, without the program's name; None for those of this process.
    started: when the command has begun, by `time.perf_counter`; None for now.
    """
    started = time.perf_counter() if started is None else started
    command_line = list(sys.argv[1:] if argv is None else argv)
    with plainly_printed(), ExitStack() as told:
        words = _with_one_name(command_line)
        is_json = "--progress=json" in words or ("--progress", "json") in pairwise(words)
        if is_json:  # what is wrong with the command line as well
            told.enter_context(told_in_json())
        arguments = make_parser(words).parse_args(words)
        arguments.command_line, arguments.started = command_line, started
        if not is_json and getattr(arguments, "progress", None) == "json":  # as a file of settings says
            told.enter_context(told_in_json())
        with interruptible(), _logs_heard(quiet=getattr(arguments, "quiet", False)):
            status = _run(arguments)
            if status == EXIT_INTERRUPTED:
                status = interrupted_status()
                if argv is None:
                    ignore_from_now_on()
            return status


def _with_one_name(words: list[str]) -> list[str]:
    """Returns the command line with the name of the command as one word, where it has two."""
    name = " ".join(words[:2])
    return [name, *words[2:]] if name in COMMANDS else words


class _Line(logging.Formatter):
    """Has what is logged take a line, whatever names are in it."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802, as it is called
        """Returns the line. `logging` calls this."""
        return line(super().formatMessage(record))


@contextmanager
def _logs_heard(*, quiet: bool) -> Iterator[None]:
    """Shows on stderr what packages have to say, a line each. quiet: scenes have errors alone to say."""
    logs, handler = [logging.getLogger(name) for name in ("tracecore", "scenes", "renderer")], logging.StreamHandler()
    handler.setFormatter(_Line("tracecore: %(message)s"))
    for log in logs:
        log.addHandler(handler)
        log.setLevel(logging.ERROR if quiet and log.name == "scenes" else logging.INFO)
    try:
        yield
    finally:
        for log in logs:
            log.removeHandler(handler)


def _run(arguments: argparse.Namespace) -> int:
    try:
        _prepare(arguments)
        from renderer.run.first_run import shown

        with shown(quiet=getattr(arguments, "quiet", False)):  # what is compiled
            return int(arguments.run(arguments))
    except KeyboardInterrupt as interrupt:
        print(f"tracecore: interrupted{f': {interrupt}' if str(interrupt) else ''}", file=sys.stderr)
        return EXIT_INTERRUPTED
    except Exception as error:
        if isinstance(error, OSError) and error.errno == errno.EIO and interrupted():
            return EXIT_INTERRUPTED  # all is saved, and the terminal is closed that would be told so
        if isinstance(error, ImportError) and interrupted():  # into which modules in C turn an interrupt
            print("tracecore: interrupted", file=sys.stderr)
            return EXIT_INTERRUPTED
        status = status_of(error)
        if status is None:
            raise
        for told in _lines(error):
            print(f"tracecore: error: {told}", file=sys.stderr)
        return status


def _prepare(arguments: argparse.Namespace) -> None:
    """Checks the variables of the environment before anything is done, bounds --threads, and loads what installed
    packages and --plugin bring, for a command that has use for it.
    """
    from tracecore import environment

    environment.check()
    if getattr(arguments, "threads", None) is not None:
        from tracecore.threads import bounded_threads

        arguments.threads = bounded_threads(arguments.threads)
    if hasattr(arguments, "plugin"):
        from renderer.plugins import load_installed, load_plugin

        load_installed()
        for path in arguments.plugin:
            load_plugin(path)


def status_of(error: Exception) -> int | None:
    """Returns the exit status of an error that the project foresees; None of any other, which is a fault of the
    program, or a reader that has gone away (`renderer.__main__`).
    """
    from renderer.errors import RenderError, UsageError
    from scenes.errors import SceneError
    from shaders.errors import ShaderError
    from tracecore.errors import TraceError, TriangleError, VariableError

    if isinstance(error, BrokenPipeError):
        return None
    if isinstance(error, UsageError | SceneError | TriangleError | VariableError):
        return EXIT_BAD_USAGE
    if isinstance(error, RenderError | TraceError | ShaderError | OSError | MemoryError):
        return EXIT_FAILED
    return None


def _lines(error: Exception) -> list[str]:
    """Returns what is printed of an error: a line, or one for each problem of a scene file."""
    from scenes.errors import SceneProblemsError

    if isinstance(error, SceneProblemsError):
        return str(error).splitlines()
    text = " ".join(str(error).split())
    return [f"out of memory: {text}" if isinstance(error, MemoryError) else text or type(error).__name__]
