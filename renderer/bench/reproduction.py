"""This module makes tables of the literature again: the kernels of a paper on a scene at hand, with published figures
beside ours.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from renderer.bench.builder_benchmark import BuiltTree, built_trees
from renderer.bench.comparison import Effort, measured
from renderer.bench.files import Run
from renderer.bench.kernel_benchmark import Comparison, over_views
from renderer.bench.literature import AILA_LAINE, Paper
from renderer.bench.literature.aila_laine import AILA_LAINE_RATES
from renderer.bench.paper_blocks import BLOCKS, Block, Ours
from renderer.bench.ray_sources import PlannedRays
from renderer.bench.table import aligned, struck_out
from renderer.bench.workload import Workload
from renderer.errors import RenderError
from scenes.files.marks import WRITTEN_BY


@dataclass(frozen=True, kw_only=True)
class Reproduction:
    """This is a paper's table and what was measured for it.

    trees: of all builders, where the paper asks for them.
    """

    paper: Paper
    run: Run
    found: Comparison
    trees: Sequence[BuiltTree] = ()

    @property
    def heads(self) -> list[str]:
        """Returns the lines above the tables: what is reproduced, and on what."""
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
        """Returns the tables, over all view points."""
        scene, (width, height) = self.run.snapshot, self.run.plan.size
        ours = Ours(
            found=over_views(self.found),
            scene=scene.name,
            triangles=len(scene.positions),
            pixels=width * height,
            samples=self.run.plan.samples,
            trees=self.trees,
        )
        return BLOCKS[self.paper.name](self.paper, ours)

    def text(self) -> str:
        """Returns all as text for a terminal."""
        return "\n\n".join(
            ["\n".join(self.heads), *(aligned(block) for block in self.blocks), "\n".join(self.paper.notes)]
        )

    def markdown(self) -> str:
        """Returns all as Markdown, with the command and the machine."""
        about = self.run.circumstances
        machine = "; ".join(f"{name}: {fact}" for name, fact in about.machine.items())
        title, subject = self.heads
        parts = [f"## {title}", f"{subject}.", f"    {about.command}", f"{about.date}. {machine}."]
        notes = "\n".join(f"* {note}" for note in self.paper.notes)
        return "\n\n".join([f"<!-- {WRITTEN_BY} -->", *parts, *map(_markdown_table, self.blocks), notes]) + "\n"

    def as_dict(self) -> dict[str, Any]:
        """Returns all but the circumstances as plain values for a file: the figures of each view point, with what was
        published.
        """
        return {
            "table": self.paper.name,
            "rows": dict(self.paper.rows),
            "published": _published_rates() if self.paper.name == AILA_LAINE.name else [],
            "trees": [asdict(tree) for tree in self.trees],
            **self.found.as_dict(),
        }


def reproduce(paper: Paper, run: Run, effort: Effort) -> Reproduction:
    """Measures all kernels of a paper, and builders where it asks for them; half a table is none.

    Raises `RenderError` where the hits of a kernel are wrong.
    """
    rays = PlannedRays(snapshot=run.snapshot, views=run.views, plan=run.plan, kinds=paper.kinds)
    workload = Workload(rays.sets)
    spent = effort if paper.has_photon_run else replace(effort, photons=0)
    found = measured(run, list(paper.rows.values()), workload, spent)
    if not found.finished:
        raise KeyboardInterrupt
    if found.has_wrong_kernels:
        raise RenderError(f"there is no table, as a kernel is wrong. {struck_out(found)[0]}")
    trees = built_trees(run.snapshot.positions, effort.repeats) if paper.has_construction else []
    return Reproduction(paper=paper, run=run, found=found, trees=trees)


def _markdown_table(block: Block) -> str:
    head, *rows = ("| " + " | ".join(row) + " |" for row in block)
    return "\n".join([head, "|" + "---|" * len(block[0]), *rows])


def _published_rates() -> list[dict[str, Any]]:
    return [
        {"scene": scene, "row": row, "kind": kind, **asdict(rates)}
        for scene, of_scene in AILA_LAINE_RATES.items()
        for row, of_row in of_scene.items()
        for kind, rates in of_row.items()
    ]
