"""A report shows kernels side by side on one page that needs nothing else: tables, plots, pictures, the machine and the
command.
"""

import io
from collections.abc import Sequence
from dataclasses import dataclass, replace

from PIL import Image

from renderer.bench.answer import answer
from renderer.bench.kernel_benchmark import Comparison, KernelMeasurement, over_views
from renderer.bench.page import MISSING, Circumstances, Figure, Page, PageCell, PageTable, Row, Section
from renderer.bench.plot import colors_of, family
from renderer.bench.table import (
    COST_COLUMNS,
    STRUCK_OUT,
    compared_note,
    costs,
    number,
    occupancy,
    peer_notes,
    photon_run_rows,
    registers,
)
from renderer.bench.table import MISSING as UNKNOWN
from renderer.plain_text import number_in

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
    "timed, by the device's clock. A rate that is struck out counts for nothing: hits are not the CPU's."
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

#: By how much pictures are shrunk, one after the other until they fit.
SHRINKS = (1, 2, 4, 8)

#: From 0 to 100, of the compression.
QUALITY = 60


@dataclass(frozen=True, kw_only=True)
class Pictures:
    """Holds all pictures of a page."""

    plots: Sequence[Figure] = ()
    views: Sequence[Figure] = ()
    heat_maps: Sequence[Figure] = ()


def page(found: Comparison, about: Circumstances, pictures: Pictures) -> str:
    """Returns the page as HTML.

    found: the comparison.
    about: how it was measured.
    pictures: all that the page shows.
    """
    means = over_views(found)
    kernels = means.kernel_names
    present = {family(kernel) for kernel in kernels}
    costs_of = [_costs(means, kind) for kind in means.kinds if means.has_costs(kind)]
    sections = [
        Section(
            title="Rates", texts=[RATES], tables=[_rates(means)], notes=[compared_note(found)], figures=pictures.plots
        ),
        Section(title="View points", figures=pictures.views),
        Section(title="Steps and bounds", texts=[RAY_COSTS], tables=costs_of),
        Section(title="Photon runs", texts=[PHOTON_RUNS], tables=_photon_runs(found)),
        Section(title="Kernels", tables=[_kernels(found)]),
        Section(title="Peers", notes=peer_notes(found) if found.peers else ()),
        Section(title="Heat maps of the view points", figures=pictures.heat_maps),
        Section(title="All measurements", tables=[_all(found)], folded="each view point"),
    ]
    return Page(
        title=f"Traversal kernels on {about.scene}",
        about=about,
        answer=answer(found),
        rests_on=ANSWER,
        legend="families of kernels",
        groups=[name for name in colors_of(kernels) if name in present],
        group=family,
        sections=sections,
        baseline=found.baseline,
        facts={"device": found.device, "baseline": found.baseline},
    ).html()


def _rates(means: Comparison) -> PageTable:
    known = {(one.kernel, one.kind): one for one in means.measurements}
    rows: list[Row] = [[name, *(_rate(known.get((name, kind))) for kind in means.kinds)] for name in means.kernel_names]
    caption = f"Millions of rays per second, and relative to {means.baseline}"
    best = dict.fromkeys(range(1, 1 + len(means.kinds)), max)
    return PageTable(caption=caption, head=["kernel", *means.kinds], rows=rows, best=best)


def _rate(one: KernelMeasurement | None) -> PageCell:
    if one is None:
        return PageCell(text=MISSING)
    if one.wrong:
        return PageCell(
            text=number(one.rate), note=f"{one.wrong.differing:,} of {one.compared:,} differ", is_struck=True
        )
    relative = "" if one.relative is None else f" · {one.relative:.2f}×"
    return PageCell(
        text=f"{number(one.rate)}{relative}", value=one.rate, note=f"{number(one.least)} – {number(one.most)}"
    )


def _costs(means: Comparison, kind: str) -> PageTable:
    own = [one for one in means.measurements if one.kind == kind]
    rows: list[Row] = [[one.kernel, *map(_figure_cell, costs(one, MISSING))] for one in own]
    return PageTable(caption=kind, head=["kernel", *COST_COLUMNS], rows=rows, best=BEST_COSTS)


def _figure_cell(text: str) -> PageCell:
    """Returns a cell whose value is the number that the text is."""
    return PageCell(text=text, value=None if text == MISSING else number_in(text))


def _photon_runs(found: Comparison) -> list[PageTable]:
    if not found.photon_runs:
        return []
    head, *rows = photon_run_rows(found.photon_runs)
    cells: list[Row] = [[name, *map(_photon_cell, texts)] for name, *texts in rows]
    return [PageTable(head=head, rows=cells, best=dict.fromkeys(range(1, len(head)), max))]


def _photon_cell(text: str) -> PageCell:
    if text in (STRUCK_OUT, UNKNOWN):
        return PageCell(text=text)
    return PageCell(text=text, value=number_in(text.split()[0]))


def _kernels(found: Comparison) -> PageTable:
    """Returns a row of each kernel and its tree. `BEST_FACTS` goes by this order of columns."""
    head = ["kernel", "nodes of the tree", "bytes of the tree", "SAH cost", "registers", "occupancy"]
    rows: list[Row] = [
        [
            facts.kernel,
            PageCell(text=f"{facts.nodes:,}", value=facts.nodes),
            PageCell(text=f"{facts.tree_bytes:,}", value=facts.tree_bytes),
            _figure_cell(number(facts.sah_cost)),
            PageCell(text=registers(facts) or MISSING, value=facts.registers[0] if facts.registers else None),
            PageCell(text=occupancy(facts) or MISSING, value=facts.occupancy[0] if facts.occupancy else None),
        ]
        for facts in found.kernels
    ]
    return PageTable(caption="closest / any hit", head=head, rows=rows, best=BEST_FACTS)


def _all(found: Comparison) -> PageTable:
    head = ["kernel", "rays", "view point", "count", "rate", "least", "most", "relative", *COST_COLUMNS, "wrong"]
    rows: list[Row] = [
        [
            one.kernel,
            one.kind,
            one.view,
            f"{one.rays:,}",
            *(number(value, MISSING) for value in (one.rate, one.least, one.most, one.relative)),
            *costs(one, MISSING),
            str(one.wrong or ""),
        ]
        for one in found.measurements
    ]
    return PageTable(head=head, rows=rows)


def fitted(pictures: Pictures, most: int) -> Pictures:
    """Returns the pictures compressed, and shrunk as far as it takes.

    pictures: all of a page; plots stay as they are.
    most: bytes of views and heat maps together; they may have more where the last of `SHRINKS` does not suffice.
    """
    for shrink in SHRINKS:
        views, heats = ([_webp(one, shrink) for one in figures] for figures in (pictures.views, pictures.heat_maps))
        if sum(len(figure.content) for figure in (*views, *heats)) <= most:
            break
    return replace(pictures, views=views, heat_maps=heats)


def _webp(figure: Figure, shrink: int) -> Figure:
    """Returns a figure compressed, whose sides are so many times as short."""
    file = io.BytesIO()
    with Image.open(io.BytesIO(figure.content)) as image:
        image.convert("RGB").reduce(shrink).save(file, "WEBP", quality=QUALITY)
    return replace(figure, content=file.getvalue(), media_type="image/webp")
