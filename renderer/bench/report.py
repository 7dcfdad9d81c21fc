"""A report shows kernels side by side on one page that needs nothing else: tables, plots, pictures, the machine and the
command.
"""

import base64
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from string import Template

from renderer.bench.answer import answer
from renderer.bench.kernel_benchmark import Comparison, KernelFacts, Measurement, over_views
from renderer.bench.plot import colors_of, family
from renderer.bench.table import COST_COLUMNS, costs, number, occupancy, peer_notes, photon_run_rows, registers

TEMPLATE = Path(__file__).with_suffix(".html")

#: Stands for a figure that is not known.
MISSING = "–"

#: What the answer rests on.
ANSWER = (
    "From the figures below: rates by their medians; nodes, triangles and bytes of a ray, lanes with work, and bounds "
    "where they differ by more than 5%. The best of each column is marked with a star."
)

#: What the columns mean.
RATES = (
    "Millions of rays per second: the median of the rounds, over several view points all rays by all their time; below "
    "it the range over all rounds and view points. In the plot, lines at the ends of bars are the range over view "
    "points of the ratio to the baseline, or over rounds where there is one view point. On a GPU the kernel alone is "
    "timed, by the device's clock."
)
RAY_COSTS = (
    "Of a ray: nodes visited, triangles tested, bytes read and written if no cache held any. Lanes: share of a warp's "
    "lanes that had work of their own in such steps. Bound: what the simulator says could be reached if memory took no "
    "time, in millions of rays per second."
)
PHOTON_RUNS = (
    "Photons traced, shaded and stored, end to end, in millions of rays per second of wall time, by how batches reach "
    "the kernel; busy: share of the time in which the co-processor had something to trace."
)

#: Which value is best in the columns of costs and of kernels, by their index; the first has names.
BEST_COSTS = dict(enumerate((min, min, min, max, max, max, max), start=1))
BEST_FACTS = dict(enumerate((min, min, min, min, max), start=1))


@dataclass(frozen=True, kw_only=True)
class Circumstances:
    """Says how something was measured.

    command_line: its words, without the program's name.
    date: ISO 8601.
    machine: facts by their names.
    """

    command_line: tuple[str, ...]
    date: str
    scene: str
    triangles: int
    machine: dict[str, str]

    @property
    def command(self) -> str:
        """Returns the command as it would be typed."""
        return shlex.join(("tracecore", *self.command_line))


@dataclass(frozen=True, kw_only=True)
class Figure:
    """This is a picture: its bytes, of the type that `media_type` names, and a caption of what it shows."""

    caption: str
    content: bytes
    media_type: str = "image/png"


@dataclass(frozen=True, kw_only=True)
class Pictures:
    """Holds all pictures of a page."""

    plots: Sequence[Figure] = ()
    views: Sequence[Figure] = ()
    heat_maps: Sequence[Figure] = ()


@dataclass(frozen=True, kw_only=True)
class Cell:
    """This is a cell of a table: text, a value by which the best of a column is known, and a note below the text."""

    text: str
    value: float | None = None
    note: str = ""


Row = Sequence[str | Cell]


@dataclass(frozen=True, kw_only=True)
class Table:
    """This is a table, whose first column has names of kernels.

    head: names of the columns.
    rows: as many cells each as there are columns.
    best: which value of a column is the best one, max or min, by the column's index; others have none.
    """

    caption: str = ""
    head: Sequence[str]
    rows: Sequence[Row]
    best: Mapping[int, Callable[[Iterable[float]], float]] = field(default_factory=dict)


def page(found: Comparison, about: Circumstances, pictures: Pictures) -> str:
    """Returns the page as HTML.

    found: the comparison.
    about: how it was measured.
    pictures: all that the page shows.
    """
    means = over_views(found)
    kinds_with_costs = [kind for kind in means.kinds if means.has_costs(kind)]
    sections = [
        _answer(found),
        _families(means.kernel_names),
        _section("Rates", _paragraph(RATES), _rates(means), *map(_figure, pictures.plots)),
        _gallery("View points", pictures.views),
        _section("Steps and bounds", _paragraph(RAY_COSTS), *(_costs(means, kind) for kind in kinds_with_costs))
        if kinds_with_costs
        else "",
        _section("Photon runs", _paragraph(PHOTON_RUNS), _photon_runs(found)) if found.photon_runs else "",
        _section("Kernels", _kernels(found)),
        _section("Peers", *map(_paragraph, peer_notes(found))) if found.peers else "",
        _gallery("Heat maps of the view points", pictures.heat_maps),
        _section("All measurements", f"<details><summary>each view point</summary>{_all(found)}</details>"),
        _section("Circumstances", _circumstances(found, about)),
    ]
    return Template(TEMPLATE.read_text(encoding="utf-8")).substitute(
        title=escape(f"Traversal kernels on {about.scene}"),
        command=escape(about.command),
        sections="\n".join(filter(None, sections)),
    )


def _answer(found: Comparison) -> str:
    lead, *of_kinds = answer(found) or ["Nothing was measured."]
    items = "".join(f"<li>{escape(text)}</li>" for text in of_kinds)
    return _section("Answer", f'<p class="lead">{escape(lead)}</p>', f"<ul>{items}</ul>", _paragraph(ANSWER))


def _families(kernels: Sequence[str]) -> str:
    """Returns a box for each family of kernels, which the page's script shows and heeds."""
    present = {family(kernel) for kernel in kernels}
    boxes = (
        f'<label><input type="checkbox" value="{escape(name)}" checked> {escape(name)}</label>'
        for name in colors_of(kernels)
        if name in present
    )
    return f'<fieldset id="families" hidden><legend>families of kernels</legend>{"".join(boxes)}</fieldset>'


def _rates(means: Comparison) -> str:
    known = {(one.kernel, one.kind): one for one in means.measurements}
    rows: list[Row] = [[name, *(_rate(known.get((name, kind))) for kind in means.kinds)] for name in means.kernel_names]
    caption = f"Millions of rays per second, and relative to {means.baseline}"
    best = dict.fromkeys(range(1, 1 + len(means.kinds)), max)
    return _table(Table(caption=caption, head=["kernel", *means.kinds], rows=rows, best=best), means.baseline)


def _rate(one: Measurement | None) -> Cell:
    if one is None:
        return Cell(text=MISSING)
    relative = "" if one.relative is None else f" · {one.relative:.2f}×"
    return Cell(text=f"{number(one.rate)}{relative}", value=one.rate, note=f"{number(one.least)} – {number(one.most)}")


def _costs(means: Comparison, kind: str) -> str:
    rows: list[Row] = [[one.kernel, *_cost_cells(one)] for one in means.measurements if one.kind == kind]
    return _table(Table(caption=kind, head=["kernel", *COST_COLUMNS], rows=rows, best=BEST_COSTS), means.baseline)


def _cost_cells(one: Measurement) -> list[Cell]:
    return [_figure_cell(text) for text in costs(one, MISSING)]


def _figure_cell(text: str) -> Cell:
    """Returns a cell whose value is the number that the text is."""
    return Cell(text=text, value=None if text == MISSING else float(text.rstrip("%")))


def _photon_runs(found: Comparison) -> str:
    head, *rows = photon_run_rows(found.photon_runs)
    cells: list[Row] = [[name, *map(_photon_cell, texts)] for name, *texts in rows]
    best = dict.fromkeys(range(1, len(head)), max)
    return _table(Table(head=head, rows=cells, best=best), found.baseline)


def _photon_cell(text: str) -> Cell:
    return Cell(text=text, value=float(text.split()[0].rstrip("%")))


def _kernels(found: Comparison) -> str:
    """Returns a row of each kernel and its tree. `BEST_FACTS` goes by this order of columns."""
    head = ["kernel", "nodes of the tree", "bytes of the tree", "SAH cost", "registers", "occupancy"]
    rows = [_kernel(facts) for facts in found.kernels]
    return _table(Table(caption="closest / any hit", head=head, rows=rows, best=BEST_FACTS), found.baseline)


def _kernel(facts: KernelFacts) -> Row:
    return [
        facts.kernel,
        Cell(text=f"{facts.nodes:,}", value=facts.nodes),
        Cell(text=f"{facts.tree_bytes:,}", value=facts.tree_bytes),
        _figure_cell(number(facts.sah_cost)),
        Cell(text=registers(facts) or MISSING, value=facts.registers[0] if facts.registers else None),
        Cell(text=occupancy(facts) or MISSING, value=facts.occupancy[0] if facts.occupancy else None),
    ]


def _all(found: Comparison) -> str:
    head = ["kernel", "rays", "view point", "count", "rate", "least", "most", "relative", *COST_COLUMNS]
    rows: list[Row] = [
        [
            one.kernel,
            one.kind,
            one.view,
            f"{one.rays:,}",
            *(number(value, MISSING) for value in (one.rate, one.least, one.most, one.relative)),
            *costs(one, MISSING),
        ]
        for one in found.measurements
    ]
    return _table(Table(head=head, rows=rows), found.baseline)


def _circumstances(found: Comparison, about: Circumstances) -> str:
    facts = {
        "scene": about.scene,
        "triangles": f"{about.triangles:,}",
        "device": found.device,
        "baseline": found.baseline,
        "date": about.date,
    }
    terms = (f"<dt>{escape(k)}</dt><dd>{escape(v)}</dd>" for k, v in (facts | about.machine).items())
    return f"<dl>{''.join(terms)}</dl>"


def _section(title: str, *parts: str) -> str:
    return f"<section><h2>{escape(title)}</h2>\n" + "\n".join(parts) + "\n</section>"


def _paragraph(text: str) -> str:
    return f"<p>{escape(text)}</p>"


def _gallery(title: str, figures: Sequence[Figure]) -> str:
    """Returns the HTML of figures under a title; it is empty without pictures."""
    return _section(title, f'<div class="pictures">{"".join(map(_figure, figures))}</div>') if figures else ""


def _figure(figure: Figure) -> str:
    source = f"data:{figure.media_type};base64,{base64.b64encode(figure.content).decode()}"
    caption = escape(figure.caption)
    return f'<figure><img src="{source}" alt="{caption}"><figcaption>{caption}</figcaption></figure>'


def _table(table: Table, baseline: str) -> str:
    """Returns the HTML of a table. A click on a column's head sorts by it. The baseline's rows stand out, and so does
    the best of each column that has one.
    """
    heads = "".join(f'<th scope="col">{escape(name)}</th>' for name in table.head)
    name = f"<caption>{escape(table.caption)}</caption>" if table.caption else ""
    tops = _tops(table)
    lines = "\n".join(_row(row, tops, is_baseline=row[0] == baseline) for row in table.rows)
    return f'<div class="scroll"><table>{name}<thead><tr>{heads}</tr></thead>\n<tbody>{lines}</tbody></table></div>'


def _tops(table: Table) -> dict[int, float]:
    """Returns the best value of each column whose values are not all alike, by the column's index."""
    tops = {}
    for column, best in table.best.items():
        cells = (row[column] for row in table.rows)
        values = {cell.value for cell in cells if isinstance(cell, Cell) and cell.value is not None}
        if len(values) > 1:
            tops[column] = best(values)
    return tops


def _row(row: Row, tops: dict[int, float], *, is_baseline: bool) -> str:
    cells = (
        _cell(cell, is_best=column in tops and isinstance(cell, Cell) and cell.value == tops[column])
        for column, cell in enumerate(row)
    )
    classes = ' class="baseline"' if is_baseline else ""
    return f'<tr{classes} data-family="{escape(family(str(row[0])))}">{"".join(cells)}</tr>'


def _cell(cell: str | Cell, *, is_best: bool) -> str:
    if isinstance(cell, str):
        return f"<td>{escape(cell)}</td>"
    classes = ' class="best"' if is_best else ""
    note = f"<br><small>{escape(cell.note)}</small>" if cell.note else ""
    return f"<td{classes}>{escape(cell.text)}{note}</td>"
