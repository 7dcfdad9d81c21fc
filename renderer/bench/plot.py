"""Kernels are drawn as bars: rates relative to a baseline, as in figure 1 of Lier, Stamminger, Selgrad: CPU-Style SIMD
Ray Traversal on GPUs, 2018.
"""

from collections.abc import Sequence
from typing import Any

from renderer.bench.figure_file import image_of
from renderer.bench.kernel_benchmark import Comparison, Measurement, over_views
from renderer.bench.table import number
from tracecore.kernels.strategies import find_strategy, strategy_names

#: Most panels side by side.
PLOT_COLUMNS = 4

#: Inches: of a panel, of a bar, of the names of kernels, of what is above and below the bars.
PANEL_WIDTH, BAR_HEIGHT, NAMES_WIDTH, FRAME_HEIGHT = 2.6, 0.19, 1.9, 0.9

#: Family of what is not among the kernels for GPUs, and its colour.
OTHERS, OTHERS_COLOR = "others", "0.6"

#: A box behind numbers, so that lines do not cross them.
LABEL_BOX = {"facecolor": "white", "edgecolor": "none", "pad": 0.4}


def family(kernel: str) -> str:
    """Returns the family of a kernel: kernels of one source belong together. What is not registered is a peer, or the
    CPU's tracer.
    """
    return find_strategy(kernel).source.stem.replace("_", "-") if kernel in strategy_names() else OTHERS


def plot(found: Comparison, title: str, suffix: str) -> bytes:
    """Returns the content of a file of the format of a suffix, .png or .svg.

    It has a panel for each kind of rays and a bar for each kernel with right hits, coloured by family. Lines at the
    ends of bars are `relative_range`.
    """
    from matplotlib.figure import Figure

    means = over_views(found)
    kinds, kernels = means.kinds, means.kernel_names
    rows = -(-len(kinds) // PLOT_COLUMNS)
    columns = -(-len(kinds) // rows)
    size = (NAMES_WIDTH + PANEL_WIDTH * columns, 0.7 + rows * (FRAME_HEIGHT + BAR_HEIGHT * len(kernels)))
    figure = Figure(figsize=size, layout="constrained")
    panels = figure.subplots(rows, columns, sharey=True, squeeze=False).ravel()
    for panel, kind in zip(panels, kinds, strict=False):
        _draw(panel, found, means, kind)
    for panel in panels[len(kinds) :]:
        panel.set_axis_off()
    panels[0].invert_yaxis()
    figure.suptitle(title)
    _name_families(figure, kernels)
    return image_of(figure, suffix)


def colors_of(kernels: Sequence[str]) -> dict[str, str]:
    """Returns the colour of each family, in the order in which families come."""
    families = dict.fromkeys(family(kernel) for kernel in kernels)
    families.pop(OTHERS, None)
    return {**{name: f"C{k % 10}" for k, name in enumerate(families)}, OTHERS: OTHERS_COLOR}


def relative_range(found: Comparison, mean: Measurement) -> tuple[float, float]:
    """Returns the least and most of a kernel on a kind of rays, over view points, or over rounds if there is but one
    view point.
    """
    views = [one.relative for one in found.measurements if (one.kernel, one.kind) == (mean.kernel, mean.kind)]
    known = [relative for relative in views if relative is not None]
    if len(known) > 1:
        return min(known), max(known)
    unit = (mean.relative or 0.0) / mean.rate
    return unit * mean.least, unit * mean.most


def _draw(panel: Any, found: Comparison, means: Comparison, kind: str) -> None:
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
    panel.grid(axis="x", alpha=0.3)
    panel.set_axisbelow(True)
    panel.spines[["top", "right"]].set_visible(False)


def _name_families(figure: Any, kernels: Sequence[str]) -> None:
    from matplotlib.patches import Patch

    present = {family(kernel) for kernel in kernels}
    patches = [Patch(color=color, label=name) for name, color in colors_of(kernels).items() if name in present]
    figure.legend(handles=patches, loc="outside lower center", ncols=min(len(patches), 7), fontsize=8, frameon=False)
