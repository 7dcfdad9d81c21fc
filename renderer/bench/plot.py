"""This module draws all that benchmarks plot, by Matplotlib (extra `plot`), in the format of a suffix, .png or .svg.

Kernels are bars: rates relative to a baseline, as in figure 1 of Lier, Stamminger, Selgrad: CPU-Style SIMD Ray
Traversal on GPUs, 2018.
"""

import io
import math
import re
from collections.abc import Sequence
from typing import Any

from renderer.bench.dispatch_benchmark import IN_FLIGHT, dispatches
from renderer.bench.error_benchmark import by_driver
from renderer.bench.kernel_benchmark import Comparison, KernelMeasurement, over_views
from renderer.bench.picture_report import name_of
from renderer.bench.table import number
from renderer.version import SOFTWARE
from scenes.files.marks import WRITTEN_BY
from tracecore.kernels.strategies import find_strategy, strategy_names

#: A row of a file of figures, by its keys in `figure_keys`.
Row = dict[str, Any]

#: Most panels side by side.
COLUMNS = 4

#: Inches: of a panel of bars, of a bar, of the names of kernels, of what is above and below the bars.
PANEL_WIDTH, BAR_HEIGHT, NAMES_WIDTH, FRAME_HEIGHT = 2.6, 0.19, 1.9, 0.9

#: Family of what is not among the kernels for GPUs, and its colour.
OTHERS, OTHERS_COLOR = "others", "0.6"

#: A box behind numbers, so that lines do not cross them.
LABEL_BOX = {"facecolor": "white", "edgecolor": "none", "pad": 0.4}

#: How lines are drawn: of a device, and of n log n.
LINES = {"gpu": "-", "cpu": "--"}
GROWTH: dict[str, Any] = {"linewidth": 0.6, "linestyle": "--"}

#: Where a legend beside the panels is put.
BESIDE: dict[str, Any] = {"loc": "outside right upper", "fontsize": 8, "frameon": False}


def plot_kernels(found: Comparison, title: str, suffix: str) -> bytes:
    """Returns a file with a panel for each kind of rays and a bar for each kernel with right hits, coloured by family.
    Lines at the ends of bars are `relative_range`.
    """
    means = over_views(found)
    height = FRAME_HEIGHT + BAR_HEIGHT * len(means.kernel_names)
    figure, panels = _panels(len(means.kinds), (PANEL_WIDTH, height), (NAMES_WIDTH, 0.7), sharey=True)
    for panel, kind in zip(panels, means.kinds, strict=True):
        _draw_bars(panel, found, means, kind)
    panels[0].invert_yaxis()
    figure.suptitle(title)
    _name_families(figure, means.kernel_names)
    return _file_of(figure, suffix)


def plot_builders(found: Sequence[Row], suffix: str) -> bytes:
    """Returns a file with the seconds of one thread over triangles, both axes logarithmic. Each builder has a colour,
    and a line through the sizes of each scene, beside which n log n is drawn from the smallest one on.
    """
    figure, (axes,) = _panels(1, (6.4, 4.4))
    builders = list(dict.fromkeys(row["builder"] for row in found))
    for builder, scene in dict.fromkeys((row["builder"], row["scene"]) for row in found):
        own = [row for row in found if (row["builder"], row["scene"]) == (builder, scene)]
        points = sorted((row["triangles"], row["seconds"]) for row in own)
        triangles, seconds = zip(*points, strict=True)
        color = f"C{builders.index(builder)}"
        axes.plot(triangles, seconds, color=color, marker="o", markersize=3)
        growth = [seconds[0] * n_log_n(n) / n_log_n(triangles[0]) for n in triangles]
        axes.plot(triangles, growth, color=color, **GROWTH)
    for k, builder in enumerate(builders):
        axes.plot([], [], color=f"C{k}", label=builder, marker="o", markersize=3)
    axes.plot([], [], color="black", label="n log n", **GROWTH)
    axes.set(xlabel="triangles", ylabel="seconds of one thread", xscale="log", yscale="log")
    figure.legend(**BESIDE)
    return _file_of(figure, suffix)


def plot_pictures(found: Sequence[Row], title: str, suffix: str) -> bytes:
    """Returns a file with the errors of pictures over the seconds that they took: a panel for each scene with a line
    for each renderer and device; both axes are logarithmic. found: rows of drivers and of peers.
    """
    scenes = list(dict.fromkeys(row["scene"] for row in found))
    figure, panels = _panels(len(scenes), (3.6, 3.4), (2.2, 0.4))
    colors = {name: f"C{k % 10}" for k, name in enumerate(dict.fromkeys(map(name_of, found)))}
    lines: dict[str, Any] = {}
    for panel, scene in zip(panels, scenes, strict=True):
        for row in (one for one in found if one["scene"] == scene):
            seconds, errors = zip(*((one["seconds"], one["error"]) for one in row["errors"]), strict=True)
            style = {"color": colors[name_of(row)], "linestyle": LINES.get(row["device"], ":")}
            mark = "o" if "driver" in row else "s"
            (line,) = panel.loglog(seconds, errors, marker=mark, markersize=3, **style)
            lines[f"{name_of(row)}, {row['device']}"] = line
        panel.set(title=scene, xlabel="seconds of rendering", ylabel="relative error")
    figure.suptitle(title)
    figure.legend(handles=lines.values(), labels=lines.keys(), **BESIDE)
    return _file_of(figure, suffix)


def plot_errors(found: list[Row], title: str, suffix: str) -> bytes:
    """Returns a file with a line for each driver: its error over seconds; both axes are logarithmic."""
    figure, (axes,) = _panels(1, (6.0, 4.0))
    for name, own in by_driver(found).items():
        axes.loglog([row["seconds"] for row in own], [row["error"] for row in own], marker="o", label=name)
    axes.set(title=title, xlabel="seconds", ylabel="relative error")
    axes.legend()
    return _file_of(figure, suffix)


def plot_dispatch(found: list[Row], title: str, suffix: str) -> bytes:
    """Returns a file with a panel for each dispatch, and a line for each size of batch."""
    figure, panels = _panels(len(dispatches(found)), (4.5, 4.0), sharey=True)
    for panel, dispatch in zip(panels, dispatches(found), strict=True):
        own = [row for row in found if row["dispatch"] == dispatch]
        for batch_rays in dict.fromkeys(row["batch_rays"] for row in own):
            line = [row for row in own if row["batch_rays"] == batch_rays]
            rates = [row["rays_per_second"] / 1e6 for row in line]
            panel.plot([row["in_flight"] for row in line], rates, marker="o", label=f"{batch_rays} rays")
        panel.set(title=dispatch, xlabel="batches in flight per thread", xscale="log")
        panel.set_xticks(IN_FLIGHT, map(str, IN_FLIGHT))
    panels[0].set(ylabel="Mrays/s, end to end", ylim=(0, None))
    panels[0].legend()
    figure.suptitle(title)
    return _file_of(figure, suffix)


def _panels(
    count: int, size: tuple[float, float], frame: tuple[float, float] = (0.0, 0.0), *, sharey: bool = False
) -> tuple[Any, Any]:
    """Returns a figure and its panels, no more than `COLUMNS` side by side. size, frame: inches of a panel, and beside
    and above all of them.
    """
    from matplotlib.figure import Figure

    rows = -(-count // COLUMNS)
    columns = -(-count // rows)
    figure = Figure(figsize=(frame[0] + size[0] * columns, frame[1] + size[1] * rows), layout="constrained")
    panels = figure.subplots(rows, columns, squeeze=False, sharey=sharey).ravel()
    for panel in panels[:count]:
        panel.grid(alpha=0.3, which="both")
    for panel in panels[count:]:
        panel.set_axis_off()
    return figure, panels[:count]


def _file_of(figure: Any, suffix: str) -> bytes:
    """Returns the content of a file of a figure, the same bytes for the same figure."""
    from matplotlib import rc_context

    file = io.BytesIO()
    with rc_context({"svg.hashsalt": "tracecore", "svg.fonttype": "none"}):
        metadata = {"Date": None, "Creator": WRITTEN_BY} if suffix == ".svg" else {"Software": SOFTWARE}
        figure.savefig(file, format=suffix.removeprefix("."), dpi=150, metadata=metadata)
    return compact_svg(file.getvalue()) if suffix == ".svg" else file.getvalue()


def compact_svg(content: bytes) -> bytes:
    """Returns a drawing in fewer bytes: without indentation, and with two digits behind the point, but in its texts."""

    def cut(attribute: re.Match[bytes]) -> bytes:
        return re.sub(rb"(\.\d\d)\d+", rb"\1", attribute[0])

    return re.sub(rb'="[^"]*"', cut, re.sub(rb"\n\s+", b"\n", content))


def n_log_n(n: int) -> float:
    """Returns n times its logarithm, and 1 at least."""
    return max(n * math.log(n), 1.0)


def family(kernel: str) -> str:
    """Returns the family of a kernel: kernels of one source belong together. What is not registered is a peer, or the
    CPU's tracer.
    """
    return find_strategy(kernel).source.stem.replace("_", "-") if kernel in strategy_names() else OTHERS


def colors_of(kernels: Sequence[str]) -> dict[str, str]:
    """Returns the colour of each family, in the order in which families come."""
    families = dict.fromkeys(family(kernel) for kernel in kernels)
    families.pop(OTHERS, None)
    return {**{name: f"C{k % 10}" for k, name in enumerate(families)}, OTHERS: OTHERS_COLOR}


def relative_range(found: Comparison, mean: KernelMeasurement) -> tuple[float, float]:
    """Returns the least and most of a kernel on a kind of rays, over view points, or over rounds if there is but one
    view point.
    """
    views = [one.relative for one in found.measurements if (one.kernel, one.kind) == (mean.kernel, mean.kind)]
    known = [relative for relative in views if relative is not None]
    if len(known) > 1:
        return min(known), max(known)
    unit = (mean.relative or 0.0) / mean.rate
    return unit * mean.least, unit * mean.most


def _draw_bars(panel: Any, found: Comparison, means: Comparison, kind: str) -> None:
    """Draws the bars of a kind of rays."""
    kernels, colors = means.kernel_names, colors_of(means.kernel_names)
    of_kind = {one.kernel: one for one in means.measurements if one.kind == kind}
    own = {kernel: one for kernel, one in of_kind.items() if one.relative is not None}
    ranges = {kernel: relative_range(found, one) for kernel, one in own.items()}
    longest = max([1.0, *(most for _, most in ranges.values())])
    for row, kernel in enumerate(kernels):
        if kernel in of_kind and of_kind[kernel].wrong:
            panel.text(0.02 * longest, row, "wrong hits", va="center", fontsize=6.5, color="C3")
        if kernel not in own:
            continue
        length, (least, most) = own[kernel].relative or 0.0, ranges[kernel]
        panel.barh(row, length, height=0.75, color=colors[family(kernel)])
        # The ratio of the means may lie outside of the ratios of the views.
        errors = [[max(length - least, 0.0)], [max(most - length, 0.0)]]
        panel.errorbar(length, row, xerr=errors, color="black", linewidth=0.8, capsize=1.5)
        panel.text(max(length, most) + 0.02 * longest, row, f"{length:.2f}", va="center", fontsize=6.5, bbox=LABEL_BOX)
    panel.axvline(1.0, color="black", linewidth=0.8, linestyle="--")
    rate = number(own[found.baseline].rate) if found.baseline in own else "?"
    panel.set_title(f"{kind}\n1 = {rate} Mrays/s", fontsize=9)
    panel.set(xlim=(0.0, 1.2 * longest), ylim=(-0.6, len(kernels) - 0.4))
    panel.set_yticks(range(len(kernels)), kernels, fontsize=8)
    panel.tick_params(axis="x", labelsize=8)
    panel.yaxis.grid(visible=False)
    panel.set_axisbelow(True)
    panel.spines[["top", "right"]].set_visible(False)


def _name_families(figure: Any, kernels: Sequence[str]) -> None:
    from matplotlib.patches import Patch

    present = {family(kernel) for kernel in kernels}
    patches = [Patch(color=color, label=name) for name, color in colors_of(kernels).items() if name in present]
    figure.legend(handles=patches, loc="outside lower center", ncols=min(len(patches), 7), fontsize=8, frameon=False)
