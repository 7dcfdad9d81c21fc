"""Tables of the literature, made again: the kernels of a paper on a scene at hand, published figures beside ours."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from renderer.bench.comparison import Effort, measured
from renderer.bench.files import Run
from renderer.bench.kernel_benchmark import Comparison, Measurement, over_views
from renderer.bench.literature import (
    AILA_LAINE,
    AILA_LAINE_RATES,
    BARCZAK,
    GUNTHER,
    LIER,
    LIER_REFERENCES,
    Mark,
    Paper,
    Published,
)
from renderer.bench.ray_sources import PlannedRays
from renderer.bench.table import MISSING, aligned, number, photon_run, ranged, registers, share
from renderer.bench.workload import Workload

#: Kernels by their names in a paper.
Rows = Mapping[str, str]

#: Rows of cells; the first one says what the columns are.
Block = Sequence[Sequence[str]]

#: How well a published figure is known, behind it.
SIGNS = {Mark.QUOTED: "", Mark.RECALLED: "?"}


def reproduce(paper: Paper, run: Run, effort: Effort) -> Comparison:
    """Measure all kernels of a paper; half a table is none."""
    rays = PlannedRays(snapshot=run.snapshot, views=run.views, plan=run.plan, kinds=paper.kinds)
    workload = Workload(rays.sets, is_judged=False)
    spent = effort if paper.has_photon_run else replace(effort, photons=0)
    found = measured(run, list(paper.rows.values()), workload, spent)
    if not found.finished:
        raise KeyboardInterrupt
    return found


@dataclass(frozen=True, kw_only=True)
class Reproduction:
    """A paper's table and what was found."""

    paper: Paper
    run: Run
    found: Comparison

    @property
    def heads(self) -> list[str]:
        """What it is, and of what."""
        scene, plan = self.run.snapshot, self.run.plan
        width, height = plan.size
        device = self.run.circumstances.machine.get("GPU", self.run.device)
        views = ", ".join(view.name for view in self.run.views)
        seen = "made plain" if self.paper.has_photon_run else f"from {views}, {width}x{height}"
        return [
            f"{self.paper.citation}; {self.paper.what}",
            f"{scene.name}, {len(scene.positions)} triangles, {seen}, on {device}; Mrays/s, in brackets the range",
        ]

    @property
    def blocks(self) -> list[Block]:
        """The tables, over all view points."""
        return BLOCKS[self.paper.name](self.paper.rows, over_views(self.found), self.run)

    def text(self) -> str:
        """For a terminal."""
        return "\n\n".join(
            ["\n".join(self.heads), *(aligned(block) for block in self.blocks), "\n".join(self.paper.notes)]
        )

    def markdown(self) -> str:
        """The same with the command and the machine."""
        about = self.run.circumstances
        machine = "; ".join(f"{name}: {fact}" for name, fact in about.machine.items())
        title, subject = self.heads
        parts = [f"## {title}", f"{subject}.", f"    {about.command}", f"{about.date}. {machine}."]
        notes = "\n".join(f"* {note}" for note in self.paper.notes)
        return "\n\n".join([*parts, *map(_markdown_table, self.blocks), notes]) + "\n"

    def as_dict(self) -> dict[str, Any]:
        """For a file: of each view point, with what was published."""
        return {
            "table": self.paper.name,
            "rows": dict(self.paper.rows),
            "published": _published_rates() if self.paper.name == AILA_LAINE.name else [],
            "circumstances": asdict(self.run.circumstances),
            **self.found.as_dict(),
        }


def _markdown_table(block: Block) -> str:
    head, *rows = ("| " + " | ".join(row) + " |" for row in block)
    return "\n".join([head, "|" + "---|" * len(block[0]), *rows])


def _ratio(rate: float, of: float) -> str:
    return f"{rate / of:.2f}"


def _of_kind(found: Comparison, kind: str) -> dict[str, Measurement]:
    """By kernel."""
    return {one.kernel: one for one in found.measurements if one.kind == kind}


def _count(own: Mapping[str, Measurement]) -> int:
    """Rays, which are the same for all kernels."""
    return next(iter(own.values())).rays


# ------------------------------------------------------------------------------------------------------- Aila, Laine


def aila_laine(rows: Rows, found: Comparison, _run: Run) -> list[Block]:
    """A block for each kind of rays: simulated, measured, the one over the other; published ones by scene."""
    return [_aila_laine_block(rows, kind, _of_kind(found, kind)) for kind in found.kinds]


def _aila_laine_block(rows: Rows, kind: str, own: Mapping[str, Measurement]) -> Block:
    block = [[f"{kind}: {_count(own)} rays", "kernel", "simulated", "measured", "of simulated", *AILA_LAINE_RATES]]
    for label, kernel in rows.items():
        one = own[kernel]
        published = (_published(of_scene.get(label, {}).get(kind)) for of_scene in AILA_LAINE_RATES.values())
        block.append([label, kernel, number(one.bound), ranged(one), share(one.of_bound), *published])
    return block


def _published(rates: Published | None) -> str:
    """simulated -> measured (per cent)."""
    if rates is None:
        return MISSING
    sign = SIGNS[rates.mark]
    simulated, measured = (
        MISSING if rate is None else f"{rate:.1f}{sign}" for rate in (rates.simulated, rates.measured)
    )
    per_cent = "" if rates.of_simulated is None else f" ({rates.of_simulated:.0%}{sign})"
    return f"{simulated} -> {measured}{per_cent}"


def _published_rates() -> list[dict[str, Any]]:
    return [
        {"scene": scene, "row": row, "kind": kind, **asdict(rates), "mark": rates.mark.value}
        for scene, of_scene in AILA_LAINE_RATES.items()
        for row, of_row in of_scene.items()
        for kind, rates in of_row.items()
    ]


# --------------------------------------------------------------------------------------- Lier, Stamminger, Selgrad


def lier(rows: Rows, found: Comparison, _run: Run) -> list[Block]:
    """A block for each kind of rays: a rate, and over those of the references."""
    return [_lier_block(rows, kind, _of_kind(found, kind)) for kind in found.kinds]


def _lier_block(rows: Rows, kind: str, own: Mapping[str, Measurement]) -> Block:
    block = [[f"{kind}: {_count(own)} rays", "kernel", "measured", *(f"over {name}" for name in LIER_REFERENCES)]]
    for label, kernel in rows.items():
        ratios = (_ratio(own[kernel].rate, own[reference].rate) for reference in LIER_REFERENCES.values())
        block.append([label, kernel, ranged(own[kernel]), *ratios])
    return block


# ------------------------------------------------------------------------------------------------------------ Barczak


def barczak(rows: Rows, found: Comparison, _run: Run) -> list[Block]:
    """The photon run in each way of dispatch and the kernel alone, each over the first row."""
    own = _of_kind(found, "photon")
    runs = {(one.kernel, one.dispatch): one for one in found.photon_runs}
    dispatches = list(dict.fromkeys(one.dispatch for one in found.photon_runs))
    first = found.baseline
    ways = (head for dispatch in dispatches for head in (dispatch, "busy", "over the first"))
    block = [["photons", "kernel", *ways, f"alone: {_count(own)} rays", "over the first", "published"]]
    for label, kernel in rows.items():
        cells = [label, kernel]
        for dispatch in dispatches:
            one = runs[kernel, dispatch]
            cells += [*photon_run(one), _ratio(one.rate, runs[first, dispatch].rate)]
        block.append([*cells, ranged(own[kernel]), _ratio(own[kernel].rate, own[first].rate), MISSING])
    return [block]


# ------------------------------------------------------------------------------------------------------------ Günther


def gunther(rows: Rows, found: Comparison, run: Run) -> list[Block]:
    """Trees, frames and lanes."""
    return [_trees(rows, found, run), _frames(rows, found, run), _idle_lanes(rows, found)]


def _trees(rows: Rows, found: Comparison, run: Run) -> Block:
    facts = {one.kernel: one for one in found.kernels}
    triangles = f"{len(run.snapshot.positions)} triangles"
    block = [[triangles, "kernel", "nodes", "megabytes", "SAH cost", "build seconds", "published"]]
    for label, kernel in rows.items():
        own = facts[kernel]
        size = number(own.tree_bytes / 1e6)
        block.append([label, kernel, str(own.nodes), size, number(own.sah_cost), number(own.build_seconds), MISSING])
    return block


def _frames(rows: Rows, found: Comparison, run: Run) -> Block:
    facts = {one.kernel: one for one in found.kernels}
    width, height = run.plan.size
    block = [[f"{width}x{height}", "kernel", "measured", "frames/s", "with shadows", "registers", "published"]]
    for label, kernel in rows.items():
        own = {one.kind: one for one in found.measurements if one.kernel == kernel}
        frames = own["primary"].rays / (width * height * run.plan.samples)
        both = [own[kind] for kind in GUNTHER.kinds if kind in own]
        shadowed = frames_per_second(frames, both) if len(both) == len(GUNTHER.kinds) else None
        block.append(
            [
                label,
                kernel,
                ranged(own["primary"]),
                number(frames_per_second(frames, [own["primary"]])),
                number(shadowed),
                registers(facts[kernel]) or MISSING,
                MISSING,
            ]
        )
    return block


def frames_per_second(frames: float, rays: Sequence[Measurement]) -> float:
    """Of frames that take all of these rays."""
    return frames / sum(one.rays / (1e6 * one.rate) for one in rays)


def _idle_lanes(rows: Rows, found: Comparison) -> Block:
    kinds = found.kinds
    heads = (f"{kind}: {step}" for kind in kinds for step in ("nodes", "triangles"))
    block = [["lanes without work", "kernel", *heads, "published"]]
    for label, kernel in rows.items():
        own = {one.kind: one for one in found.measurements if one.kernel == kernel}
        block.append([label, kernel, *(cell for kind in kinds for cell in _idle(own[kind])), MISSING])
    return block


def _idle(one: Measurement) -> tuple[str, str]:
    """In visits of nodes and in tests of triangles."""
    busy = (one.steps.node_efficiency, one.steps.triangle_efficiency) if one.steps else (None, None)
    of_nodes, of_triangles = (share(None if value is None else 1.0 - value) for value in busy)
    return of_nodes, of_triangles


#: By the name of a paper. Given are its rows and means over view points.
BLOCKS: Mapping[str, Callable[[Rows, Comparison, Run], list[Block]]] = {
    AILA_LAINE.name: aila_laine,
    LIER.name: lier,
    BARCZAK.name: barczak,
    GUNTHER.name: gunther,
}
