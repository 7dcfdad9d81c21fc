"""Has this process, and those that it starts, hear signals that a shell lets programs ignore."""

import signal


def hear_signals() -> None:
    """Sets back what `nohup` does to SIGHUP, and what a shell without a terminal does to SIGINT in the background."""
    for name in ("SIGINT", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler if name == "SIGINT" else signal.SIG_DFL)
