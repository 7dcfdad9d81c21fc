"""Measures the processor seconds and the memory that each hostile file of `tests/scenes/hostile` takes until it is
refused or read, and prints a table.

    python tests/measure_hostile.py [--only TEXT] [--most SECONDS]

Each is read by a process of its own, forked from one that has loaded everything already: its memory is how much more it
has at its peak than it began with.
"""

import argparse
import os
import resource
import signal
import sys
import tempfile
import time
import warnings
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parent / "scenes")]

from hostile import CASES  # noqa: E402

import scenes  # noqa: E402
import scenes.aff  # noqa: E402
import scenes.mesh_file  # noqa: E402
import scenes.mitsuba  # noqa: E402
import scenes.pbrt  # noqa: E402
import scenes.toml_scene  # noqa: E402

#: Bytes of a unit of `ru_maxrss`, and of a column.
KILOBYTE, MEGABYTE = 1024, 1_000_000


def answer(path: Path) -> str:
    """Returns what becomes of a file: the error, or that it is read."""
    try:
        scenes.load(path)
    except scenes.SceneError as error:
        return str(error).splitlines()[0].replace(str(path.parent) + "/", "")
    except BaseException as error:
        return f"TRACEBACK {type(error).__name__}: {error}"
    return "read"


def measured(path: Path, most: int) -> tuple[float, float, str]:
    """Returns the seconds, the bytes and the answer of a process that reads a file. most: seconds until it is ended."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        signal.alarm(most)
        warnings.simplefilter("ignore")
        before = int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
        start = time.process_time()
        text = answer(path)
        seconds = time.process_time() - start
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * KILOBYTE
        os.write(writing, f"{seconds} {max(peak - before, 0)} {text}".encode()[:4000])
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, encoding="utf-8", errors="replace") as file:
        found = file.read()
    _, _, usage = os.wait4(child, 0)
    if not found:
        return float(most), usage.ru_maxrss * float(KILOBYTE), "DID NOT END"
    took, size, text = found.split(" ", 2)
    return float(took), float(size), text


def main() -> None:
    """Measures, and prints a row for each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", metavar="TEXT", help="cases whose name has this in it")
    parser.add_argument("--most", type=int, default=60, metavar="SECONDS", help="until a case is ended (default: 60)")
    arguments = parser.parse_args()
    for kind, cases in CASES.items():
        for case in cases:
            if arguments.only not in f"{kind} {case.name}":
                continue
            with tempfile.TemporaryDirectory() as folder:
                seconds, size, text = measured(case.make(Path(folder)), arguments.most)
            print(f"{seconds:7.2f} s {size / MEGABYTE:6.0f} MB  {kind}: {case.name}: {text[:120]}", flush=True)


if __name__ == "__main__":
    main()
