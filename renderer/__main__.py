"""This module is the command `tracecore`, also `python -m renderer`."""

import gc
import io
import os
import signal
import sys
import time

#: Where nobody reads what is printed, the exit status of a program that SIGPIPE has ended.
EXIT_UNREAD = 141


def main() -> int:
    """Runs the command line as a program; returns the exit status.

    As long as there is nothing to be saved, Ctrl-C ends the process as the system does it. Where nobody reads on what
    is written to a pipe, it ends without a word, and names that cannot be printed are printed with escapes. What goes
    to a stream that is closed goes nowhere.
    """
    started = time.perf_counter()
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    _open_closed_streams()
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    from renderer import cli

    try:
        try:
            status = cli.main(started=started)
        finally:
            sys.stdout.flush()
        _leave_what_hangs(status)
        gc.freeze()  # else the interpreter looks through all objects, more than once, before it ends
        exec("")  # else Python, where an interrupt has left another `exec`, ends by SIGINT though it was handled
        return status
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # to which the interpreter writes what is left
        return EXIT_UNREAD


def _leave_what_hangs(status: int) -> None:
    """Ends the process at once where a kernel of it does not end, which the interpreter's own end would wait for."""
    gpus = sys.modules.get("tracecore.cuda.device")
    if gpus is not None and gpus.has_anything_hung():
        os._exit(status)


def _open_closed_streams() -> None:
    """Opens what stands for standard output and error where they are closed, before a file takes their numbers."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115, until the process ends


if __name__ == "__main__":
    sys.exit(main())
