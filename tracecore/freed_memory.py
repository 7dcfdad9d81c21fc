"""What the C library does with memory that is freed."""

import ctypes
from contextlib import suppress

#: Names of glibc's `mallopt`, from its malloc.h.
TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3

#: Arrays of so many bytes at most come from memory that was freed before, the most that glibc allows; and so many freed
#: bytes are kept for them at its end.
KEPT_ARRAY, KEPT_BYTES = 1 << 25, (1 << 31) - 1


def keep_freed_memory() -> None:
    """Has arrays be made in memory that was freed before, for the rest of the process; nothing where the C library is
    not glibc.

    By itself it gives arrays back to the system, which clears the next ones page by page, at 4 KB a fault. Both limits
    are set, since one alone would keep the other at its least.
    """
    with suppress(AttributeError, OSError, TypeError):
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(MMAP_THRESHOLD, KEPT_ARRAY)
        mallopt(TRIM_THRESHOLD, KEPT_BYTES)
