"""Processes that a fleet has started are ended, by force where they do not end by themselves."""

from __future__ import annotations

import subprocess

#: Seconds that a process has to end by itself once it was told to.
END_SECONDS = 10.0


def await_end(process: subprocess.Popen[bytes]) -> None:
    """Waits until a process that was told to end has ended, and kills it where it takes too long."""
    try:
        process.wait(END_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
