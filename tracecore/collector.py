"""Python's collector of garbage, which is of no use while much is made that stays."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collector_paused() -> Iterator[None]:
    """Lets no garbage be looked for within the block: compilers and imports make millions of objects that are still in
    use.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@contextmanager
def modules_kept() -> Iterator[None]:
    """Lets no garbage be looked for within the block, which imports modules, nor ever among what is there at its end:
    of what one start makes, the collector would look through most several times. Only the first block of a process
    does so.
    """
    with collector_paused():
        yield
        if gc.get_freeze_count() == 0:
            gc.freeze()
