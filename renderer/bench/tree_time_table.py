"""Shows how long a GPU takes to build a tree and to pack it, beside the CPU."""

from statistics import median
from typing import Any

from renderer.bench.table import aligned
from tracecore.benchmarks.tree_time import TreeTime


def time_table(found: TreeTime) -> str:
    """Returns a line for each step, with its milliseconds, for the GPU and for the CPU."""
    rows = [["lbvh for a GPU, wall ms", "step by step", "all (range)"]]
    for where, steps, rounds in (("the GPU", found.gpu, found.gpu_rounds), ("the CPU", found.cpu, found.cpu_rounds)):
        each = ", ".join(f"{name} {1e3 * seconds:.3g}" for name, seconds in steps.items())
        least, most = (f"{1e3 * seconds:.3g}" for seconds in (min(rounds), max(rounds)))
        rows.append([f"built and packed by {where}", each, f"{1e3 * median(rounds):.3g} ({least}-{most})"])
    return aligned(rows)


def time_row(found: TreeTime) -> dict[str, Any]:
    """Returns the figures for a file, by their keys in `figure_keys.BUILDERS`."""
    return {
        "gpu": dict(found.gpu),
        "cpu": dict(found.cpu),
        "gpu_seconds": median(found.gpu_rounds),
        "cpu_seconds": median(found.cpu_rounds),
    }
