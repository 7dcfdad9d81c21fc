"""This module is run as a program of its own, without the rest of the package:

    python trial_process.py MEGABYTES SECONDS LAYER ...

It reads all values of layers, and returns 0 where that works within a limit of memory and of processor time. It prints
the name of each layer before it is read.
"""

import sys
from contextlib import suppress
from typing import Any

#: What usd-core raises of a layer, and of a value of a kind that Python does not know; what it says where there was too
#: little memory.
UNREADABLE = (RuntimeError, UnicodeDecodeError)
UNKNOWN = (TypeError, UnicodeDecodeError)
NO_MEMORY = "bad_alloc"
#: The status where a value edits an array.
EDITS = 3


def limit(megabytes: int, seconds: int) -> None:
    """Limits the memory and the processor time of this process, where the system can."""
    with suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (megabytes * 1_000_000, megabytes * 1_000_000))
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def opened(name: str) -> Any:
    """Opens a layer, or returns None where that is wrong, as whoever opens it then tells. Ends this process where
    memory does not do."""
    from pxr import Sdf

    try:
        return Sdf.Layer.FindOrOpen(name)
    except UNREADABLE as error:
        with suppress(UnicodeDecodeError):
            if NO_MEMORY in str(error):
                sys.exit(1)
        return None


def check(value: Any) -> None:
    """Ends this process at a value that edits an array: a word of it makes one of any length."""
    if type(value).__name__.endswith("ArrayEdit"):
        sys.exit(EDITS)


def read_all(name: str) -> None:
    """Reads all values of a layer. Ends this process where the bytes of one are wrong: who reads it again may wait
    long."""
    from pxr import Sdf

    paths: list[Any] = []
    layer = opened(name)
    if layer is None:
        return
    layer.Traverse(Sdf.Path.absoluteRootPath, paths.append)
    for path in paths:
        spec = layer.GetObjectAtPath(path)
        for key in spec.ListInfoKeys() if spec else ():
            with suppress(*UNKNOWN):
                check(spec.GetInfo(key))
        for time in layer.ListTimeSamplesForPath(path):
            with suppress(*UNKNOWN):
                check(layer.QueryTimeSample(path, time))


if __name__ == "__main__":
    limit(int(sys.argv[1]), int(sys.argv[2]))
    for layer_name in sys.argv[3:]:
        print(layer_name, flush=True)
        read_all(layer_name)
