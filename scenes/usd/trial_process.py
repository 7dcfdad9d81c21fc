"""This module is run as a program of its own, without the rest of the package:

    python trial_process.py MEGABYTES SECONDS LAYER ...

It reads all values of layers, and returns 0 where that works within a limit of memory and of processor time. It prints
the name of each layer before it is read.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

#: What usd-core raises, and what it says where memory did not do.
UNREADABLE = (RuntimeError, TypeError, UnicodeDecodeError)
NO_MEMORY = "bad_alloc"


def limit(megabytes: int, seconds: int) -> None:
    """Limits the memory and the processor time of this process, where the system can."""
    with suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (megabytes * 1_000_000, megabytes * 1_000_000))
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


@contextmanager
def enough_memory() -> Iterator[None]:
    """Ends this process where memory does not do for what is done within; what else is wrong is told by whoever reads
    it."""
    try:
        yield
    except UNREADABLE as error:
        with suppress(UnicodeDecodeError):
            if NO_MEMORY in str(error):
                sys.exit(1)


def read_all(name: str) -> None:
    """Reads all values of a layer."""
    from pxr import Sdf

    paths: list[Sdf.Path] = []
    with enough_memory():
        layer = Sdf.Layer.FindOrOpen(name)
        if layer:
            layer.Traverse(Sdf.Path.absoluteRootPath, paths.append)
    for path in paths:
        with enough_memory():
            spec = layer.GetObjectAtPath(path)
            for key in spec.ListInfoKeys() if spec else ():
                spec.GetInfo(key)
            for time in layer.ListTimeSamplesForPath(path):
                layer.QueryTimeSample(path, time)


if __name__ == "__main__":
    limit(int(sys.argv[1]), int(sys.argv[2]))
    for layer_name in sys.argv[3:]:
        print(layer_name, flush=True)
        read_all(layer_name)
