"""This module draws how long builders of trees take over how many triangles there are."""

import math
from collections.abc import Sequence
from typing import Any

from renderer.bench.figure_file import image_of

Row = dict[str, Any]

#: Inches.
PLOT_SIZE = (6.4, 4.4)

#: How lines of builders and of n log n are drawn.
POINTS: dict[str, Any] = {"marker": "o", "markersize": 3}
GROWTH: dict[str, Any] = {"linewidth": 0.6, "linestyle": "--"}


def plot(found: Sequence[Row], suffix: str) -> bytes:
    """Returns the content of a file of the format of a suffix, .png or .svg: the seconds of one thread over triangles,
    both axes logarithmic.

    Each builder has a colour, and a line through the sizes of each scene, beside which n log n is drawn from the
    smallest one on.

    found: rows of builders and scenes, as `figure_keys.BUILDERS` has them.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=PLOT_SIZE, layout="constrained")
    axes = figure.subplots()
    builders = list(dict.fromkeys(row["builder"] for row in found))
    for builder, scene in dict.fromkeys((row["builder"], row["scene"]) for row in found):
        own = [row for row in found if (row["builder"], row["scene"]) == (builder, scene)]
        _draw(axes, own, f"C{builders.index(builder)}")
    for k, builder in enumerate(builders):
        axes.plot([], [], color=f"C{k}", label=builder, **POINTS)
    axes.plot([], [], color="black", label="n log n", **GROWTH)
    axes.set(xlabel="triangles", ylabel="seconds of one thread", xscale="log", yscale="log")
    axes.grid(alpha=0.3, which="both")
    figure.legend(loc="outside right upper", fontsize=8, frameon=False)
    return image_of(figure, suffix)


def _draw(axes: Any, own: Sequence[Row], color: str) -> None:
    """Draws the line of a builder through the sizes of a scene, and how n log n would grow."""
    points = sorted((row["triangles"], row["seconds"]) for row in own)
    triangles, seconds = zip(*points, strict=True)
    axes.plot(triangles, seconds, color=color, **POINTS)
    growth = [seconds[0] * n_log_n(n) / n_log_n(triangles[0]) for n in triangles]
    axes.plot(triangles, growth, color=color, **GROWTH)


def n_log_n(n: int) -> float:
    """Returns n times its logarithm, and 1 at least."""
    return max(n * math.log(n), 1.0)
