"""This module draws how long builders of trees take over how many triangles there are."""

import math
from collections.abc import Sequence
from typing import Any

from renderer.bench.figure_file import image_of

Row = dict[str, Any]

#: Inches.
PLOT_SIZE = (6.4, 4.4)


def plot(found: Sequence[Row], suffix: str) -> bytes:
    """Returns the content of a file of the format of a suffix, .png or .svg: a line for each builder, with the seconds
    of one thread, and thin ones of n log n from the smallest scene of each; both axes are logarithmic.

    found: rows of builders and scenes, as `figure_keys.BUILDERS` has them.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=PLOT_SIZE, layout="constrained")
    axes = figure.subplots()
    for k, builder in enumerate(dict.fromkeys(row["builder"] for row in found)):
        own = sorted((row["triangles"], row["seconds"]) for row in found if row["builder"] == builder)
        triangles, seconds = zip(*own, strict=True)
        axes.loglog(triangles, seconds, marker="o", markersize=3, color=f"C{k}", label=builder)
        growth = [seconds[0] * n_log_n(n) / n_log_n(triangles[0]) for n in triangles]
        axes.loglog(triangles, growth, linewidth=0.6, linestyle="--", color=f"C{k}")
    axes.plot([], [], linewidth=0.6, linestyle="--", color="black", label="n log n")
    axes.set(xlabel="triangles", ylabel="seconds of one thread")
    axes.grid(alpha=0.3, which="both")
    figure.legend(loc="outside right upper", fontsize=8, frameon=False)
    return image_of(figure, suffix)


def n_log_n(n: int) -> float:
    """Returns n times its logarithm, and 1 at least."""
    return max(n * math.log(n), 1.0)
