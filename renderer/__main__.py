"""This module is the command `tracecore`, also `python -m renderer`."""

import io
import os
import signal
import sys

#: Where nobody reads what is printed, the exit status of a program that SIGPIPE has ended.
EXIT_UNREAD = 141


def main() -> int:
    """Runs the command line as a program; returns the exit status.

    As long as there is nothing to be saved, Ctrl-C ends the process as the system does it. Where nobody reads on what
    is written to a pipe, it ends without a word, and names that cannot be printed are printed with escapes.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    from renderer import cli

    try:
        try:
            status = cli.main()
        finally:
            if sys.stdout is not None:
                sys.stdout.flush()
        _leave_what_hangs(status)
        return status
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # to which the interpreter writes what is left
        return EXIT_UNREAD


def _leave_what_hangs(status: int) -> None:
    """Ends the process at once where a kernel of it does not end, which the interpreter's own end would wait for."""
    gpus = sys.modules.get("tracecore.cuda.device")
    if gpus is not None and gpus.has_anything_hung():
        os._exit(status)


if __name__ == "__main__":
    sys.exit(main())
