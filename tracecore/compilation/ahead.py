"""Loads machine code from the cache on disk before it is called.

Reading what Numba keeps of a large loop takes Python a tenth of a second. It is done once, while a scene is read or a
device got ready, and not by all threads at their first call, when they would wait for each other.
"""

import threading
from collections.abc import Callable, Iterable
from typing import Any, cast

from tracecore.compilation.cached import Cached


def load_all(functions: Iterable[Callable[..., Any]]) -> None:
    """Loads the code of compiled functions that is on disk, and compiles none."""
    for function in functions:
        cast("Cached", function).load()


def begin_to_load(functions: Iterable[Callable[..., Any]]) -> None:
    """Loads the code of functions in a thread of its own. Who calls one of them before waits for it."""
    threading.Thread(target=load_all, args=(functions,), name="code", daemon=True).start()
