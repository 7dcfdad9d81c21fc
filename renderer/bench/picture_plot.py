"""This module draws the errors of pictures over the seconds that they took, of drivers and of peers."""

from collections.abc import Sequence
from typing import Any

from renderer.bench.figure_file import image_of

Row = dict[str, Any]

#: Inches: of a panel, of the legend beside them.
PANEL_WIDTH, PANEL_HEIGHT, LEGEND_WIDTH = 3.6, 3.4, 2.2

#: Most panels side by side.
PLOT_COLUMNS = 3

#: How the lines of a device are drawn.
LINES = {"gpu": "-", "cpu": "--"}


def name_of(row: Row) -> str:
    """Returns what made a row's pictures: a driver, or a peer."""
    name: str = row.get("driver") or row["peer"]
    return name


def plot(found: Sequence[Row], title: str, suffix: str) -> bytes:
    """Returns the content of a file of the format of a suffix, .png or .svg: a panel for each scene with a line for
    each renderer and device; both axes are logarithmic.

    found: rows of drivers and of peers, each with `errors`.
    """
    from matplotlib.figure import Figure

    scenes = list(dict.fromkeys(row["scene"] for row in found))
    columns = min(len(scenes), PLOT_COLUMNS)
    rows = -(-len(scenes) // columns)
    size = (LEGEND_WIDTH + PANEL_WIDTH * columns, 0.4 + PANEL_HEIGHT * rows)
    figure = Figure(figsize=size, layout="constrained")
    panels = figure.subplots(rows, columns, squeeze=False).ravel()
    colors = {name: f"C{k % 10}" for k, name in enumerate(dict.fromkeys(map(name_of, found)))}
    lines: dict[str, Any] = {}
    for panel, scene in zip(panels, scenes, strict=False):
        lines |= _draw(panel, [row for row in found if row["scene"] == scene], colors)
        panel.set(title=scene, xlabel="seconds of rendering", ylabel="relative error")
        panel.grid(alpha=0.3, which="both")
    for panel in panels[len(scenes) :]:
        panel.set_axis_off()
    figure.suptitle(title)
    figure.legend(handles=lines.values(), labels=lines.keys(), loc="outside right upper", fontsize=8, frameon=False)
    return image_of(figure, suffix)


def _draw(panel: Any, found: Sequence[Row], colors: dict[str, str]) -> dict[str, Any]:
    """Draws the lines of a scene, and returns them by their labels."""
    lines: dict[str, Any] = {}
    for row in found:
        name, label = name_of(row), f"{name_of(row)}, {row['device']}"
        seconds, errors = zip(*((one["seconds"], one["error"]) for one in row["errors"]), strict=True)
        style = {"color": colors[name], "linestyle": LINES.get(row["device"], ":")}
        (lines[label],) = panel.loglog(seconds, errors, marker="o" if "driver" in row else "s", markersize=3, **style)
    return lines
