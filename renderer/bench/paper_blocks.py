"""This module makes the blocks of a paper's tables: cells with published figures beside ours."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from renderer.bench.builder_benchmark import EXACT, BuiltTree, quality
from renderer.bench.dispatch_benchmark import EndToEnd
from renderer.bench.kernel_benchmark import Comparison, KernelMeasurement
from renderer.bench.literature import AILA_LAINE, BARCZAK, GUNTHER, LIER, Paper
from renderer.bench.literature.aila_laine import AILA_LAINE_RATES, Published
from renderer.bench.literature.gunther import (
    ACTIVE_SHARES,
    CONSTRUCTION,
    FRAMES,
    PUBLISHED_NODE_BYTES,
    SHIRLEY6_TRIANGLES,
    SIZES,
    Frames,
)
from renderer.bench.literature.lier import LIER_REFERENCES
from renderer.bench.table import MISSING, number, photon_run, ranged, registers, share
from renderer.plain_text import rounded
from tracecore.kernels.strategies import find_strategy

#: Rows of cells; the first one says what the columns are.
Block = Sequence[Sequence[str]]


@dataclass(frozen=True, kw_only=True)
class Ours:
    """Holds what was measured of a scene.

    found: all kernels, means over view points.
    trees: of all builders, where a paper asks for them.
    scene, triangles: its name and how many triangles it has.
    pixels: how many a frame has.
    samples: camera rays of a pixel.
    """

    found: Comparison
    scene: str
    triangles: int
    pixels: int
    samples: int
    trees: Sequence[BuiltTree] = ()


def _of_kind(found: Comparison, kind: str) -> dict[str, KernelMeasurement]:
    """Returns the measurements of a kind of rays by kernel."""
    return {one.kernel: one for one in found.measurements if one.kind == kind}


def _count(own: Mapping[str, KernelMeasurement]) -> int:
    """Returns the number of rays, which is the same for all kernels."""
    return next(iter(own.values())).rays


def _ratio(rate: float, of: float) -> str:
    return f"{rate / of:.2f}"


def claims(paper: Paper, found: Comparison) -> Block:
    """Returns what the paper's text says of rates over rates, our ratios, and whether they agree."""
    block = [["the text says: rate of", "over", "rays", "published", "single views", "ours", "agrees"]]
    for claim in paper.claims:
        for kind in (kind for kind in claim.kinds if kind in found.kinds):
            own = _of_kind(found, kind)
            ratio = own[paper.rows[claim.row]].rate / own[paper.rows[claim.over]].rate
            agrees = "yes" if claim.holds(ratio) else "no"
            cells = (claim.row, claim.over, kind, claim.range, claim.single_views or MISSING, f"{ratio:.2f}", agrees)
            block.append(list(cells))
    return block


def by_kind(
    block_of: Callable[[Paper, str, Mapping[str, KernelMeasurement]], Block],
) -> Callable[[Paper, Ours], list[Block]]:
    """Returns what makes a block for each kind of rays, and one of what the text says."""

    def blocks(paper: Paper, ours: Ours) -> list[Block]:
        found = ours.found
        return [*(block_of(paper, kind, _of_kind(found, kind)) for kind in found.kinds), claims(paper, found)]

    return blocks


# ------------------------------------------------------------------------------------------------------- Aila, Laine


def _aila_laine_block(paper: Paper, kind: str, own: Mapping[str, KernelMeasurement]) -> Block:
    """Returns lanes with work, the simulated rate, the measured one, the one over the other, and the published ones by
    scene.
    """
    heads = ("kernel", "lanes", "simulated", "measured", "of simulated", *AILA_LAINE_RATES)
    block = [[f"{kind}: {_count(own)} rays", *heads]]
    for label, kernel in paper.rows.items():
        one = own[kernel]
        published = (_published(of_scene.get(label, {}).get(kind)) for of_scene in AILA_LAINE_RATES.values())
        block.append([label, kernel, _lanes(one), number(one.bound), ranged(one), share(one.of_bound), *published])
    return block


def _lanes(one: KernelMeasurement) -> str:
    """Returns the SIMD efficiency of visits and of tests as text, in per cent."""
    values = (one.steps.node_efficiency, one.steps.triangle_efficiency) if one.steps else (None, None)
    if values == (None, None):
        return MISSING
    return "/".join(MISSING if value is None else f"{100.0 * value:.0f}" for value in values)


def _published(rates: Published | None) -> str:
    """Returns published figures as text: both efficiencies; simulated -> measured (per cent)."""
    if rates is None:
        return MISSING
    lanes = "{}/{}; ".format(*rates.efficiency) if rates.efficiency else ""
    return f"{lanes}{rates.simulated:.1f} -> {rates.measured:.1f} ({rates.of_simulated:.0%})"


# --------------------------------------------------------------------------------------- Lier, Stamminger, Selgrad


def _lier_block(paper: Paper, kind: str, own: Mapping[str, KernelMeasurement]) -> Block:
    """Returns a rate and its ratio to those of the references."""
    block = [[f"{kind}: {_count(own)} rays", "kernel", "measured", *(f"over {name}" for name in LIER_REFERENCES)]]
    for label, kernel in paper.rows.items():
        ratios = (_ratio(own[kernel].rate, own[reference].rate) for reference in LIER_REFERENCES.values())
        block.append([label, kernel, ranged(own[kernel]), *ratios])
    return block


# ------------------------------------------------------------------------------------------------------------ Barczak


def barczak(paper: Paper, ours: Ours) -> list[Block]:
    """Returns a block of the photon run in each way of dispatch and of the kernel alone, each over the first row, and
    what the text says.
    """
    found = ours.found
    own = _of_kind(found, "photon")
    runs = {(one.kernel, one.dispatch): one for one in found.photon_runs}
    dispatches = list(dict.fromkeys(one.dispatch for one in found.photon_runs))
    ways = (head for dispatch in dispatches for head in (dispatch, "busy", "over the first"))
    block = [["photons", "kernel", *ways, f"alone: {_count(own)} rays", "over the first", "published"]]
    said = {claim.row: claim.range for claim in paper.claims}
    for label, kernel in paper.rows.items():
        alone = (ranged(own[kernel]), _ratio(own[kernel].rate, own[found.baseline].rate))
        of_runs = _of_dispatches(runs, kernel, found.baseline, dispatches)
        block.append([label, kernel, *of_runs, *alone, said.get(label, MISSING)])
    return [block]


def _of_dispatches(
    runs: Mapping[tuple[str, str], EndToEnd], kernel: str, first: str, dispatches: Iterable[str]
) -> list[str]:
    """Returns the rate, the busy share, and the rate over that of the first kernel, in each way of dispatch."""
    cells: list[str] = []
    for dispatch in dispatches:
        one = runs[kernel, dispatch]
        cells += [*photon_run(one), _ratio(one.rate, runs[first, dispatch].rate)]
    return cells


# ------------------------------------------------------------------------------------------------------------ Günther


def gunther(paper: Paper, ours: Ours) -> list[Block]:
    """Returns the blocks of building, trees, frames and lanes."""
    return [_construction(ours), _sizes(paper, ours), _frames(paper, ours), _idle_lanes(paper, ours.found)]


def _construction(ours: Ours) -> Block:
    """Returns table 1: builders by their seconds and the quality of their trees."""
    block = [["builders", "triangles", "exact s", "binned s", "quality", "fast s", "quality"]]
    by_name = {tree.builder: tree for tree in ours.trees}
    if EXACT in by_name:
        cells = [_seconds(by_name[EXACT])]
        for name in ("binned", "fast"):
            cells += [_seconds(by_name[name]), share(quality(ours.trees, name))]
        block.append([f"{ours.scene}, ours", str(ours.triangles), *cells])
    for scene, one in CONSTRUCTION.items():
        binned, fast = (number(one.binned), f"{one.quality:.1f}%"), (number(one.fast), f"{one.fast_quality:.1f}%")
        block.append([scene, str(one.triangles), number(one.exact), *binned, *fast])
    return block


def _seconds(tree: BuiltTree) -> str:
    """Returns seconds and their range as text."""
    return f"{rounded(tree.seconds, 3)} ({rounded(tree.least, 3)}-{rounded(tree.most, 3)})"


def _sizes(paper: Paper, ours: Ours) -> Block:
    """Returns table 2, with bytes of a triangle, by which scenes of any size compare, and the published kd-trees; our
    sizes include the triangles.
    """
    heads = ("nodes", "bytes a node", "megabytes", "bytes a triangle", "with triangles", "SAH cost")
    block = [["trees", "kernel", *heads, "kd-tree", "with ropes"]]
    facts = {one.kernel: one for one in ours.found.kernels}
    for label, kernel in paper.rows.items():
        own = facts[kernel]
        node_bytes = int(find_strategy(kernel).layout.defines["NODE_BYTES"])
        cells = _size_cells(own.nodes * node_bytes, ours.triangles)
        whole = (number(own.tree_bytes / 1e6), number(own.sah_cost))
        block.append([label, kernel, str(own.nodes), str(node_bytes), *cells, *whole, MISSING, MISSING])
    for scene, size in SIZES.items():
        triangles = CONSTRUCTION[scene].triangles if scene in CONSTRUCTION else SHIRLEY6_TRIANGLES
        cells = _size_cells(1e6 * size.bvh, triangles)
        kd_trees = (number(size.kd_tree), number(size.with_ropes))
        block.append([scene, "published", MISSING, str(PUBLISHED_NODE_BYTES), *cells, MISSING, MISSING, *kd_trees])
    return block


def _size_cells(size: float, triangles: int) -> tuple[str, str]:
    return number(size / 1e6), number(size / triangles)


def _frames(paper: Paper, ours: Ours) -> Block:
    """Returns table 3."""
    facts = {one.kernel: one for one in ours.found.kernels}
    block = [[f"{ours.scene}, ours", "kernel", "rays", "frames/s", "with shadows", "registers", "kd-tree"]]
    for label, kernel in paper.rows.items():
        own = {one.kind: one for one in ours.found.measurements if one.kernel == kernel}
        frames = own["primary"].rays / (ours.pixels * ours.samples)
        both = [own[kind] for kind in paper.kinds if kind in own]
        shadowed = frames_per_second(frames, both) if len(both) == len(paper.kinds) else None
        rates = (number(frames_per_second(frames, [own["primary"]])), number(shadowed))
        block.append([label, kernel, ranged(own["primary"]), *rates, registers(facts[kernel]) or MISSING, MISSING])
    return block + [[scene, "published", MISSING, *_published_frames(one)] for scene, one in FRAMES.items()]


def _published_frames(one: Frames) -> list[str]:
    primary = f"{one.primary:g}" + (f" ({one.precomputed:g})" if one.precomputed else "")
    kd_tree = "{:g}, {:g}".format(*one.kd_tree) if one.kd_tree else MISSING
    return [primary, f"{one.shadowed:g}", MISSING, kd_tree]


def frames_per_second(frames: float, rays: Sequence[KernelMeasurement]) -> float:
    """Returns how many frames a second there are if so many frames take all of these rays."""
    return frames / sum(one.rays / (1e6 * one.rate) for one in rays)


def _idle_lanes(paper: Paper, found: Comparison) -> Block:
    """Returns figure 2."""
    kinds = found.kinds
    heads = (f"{kind}: {step}" for kind in kinds for step in ("nodes", "triangles"))
    block = [["lanes without work", "kernel", *heads, "published"]]
    published = ", ".join(share(1.0 - active) for active in ACTIVE_SHARES)
    for label, kernel in paper.rows.items():
        own = {one.kind: one for one in found.measurements if one.kernel == kernel}
        cells = (cell for kind in kinds for cell in _idle(own[kind]))
        block.append([label, kernel, *cells, published if label == "packets of 32 rays" else MISSING])
    return block


def _idle(one: KernelMeasurement) -> tuple[str, str]:
    """Returns the share of lanes without work, in visits of nodes and in tests of triangles."""
    busy = (one.steps.node_efficiency, one.steps.triangle_efficiency) if one.steps else (None, None)
    of_nodes, of_triangles = (share(None if value is None else 1.0 - value) for value in busy)
    return of_nodes, of_triangles


#: The blocks of a paper by its name.
BLOCKS: Mapping[str, Callable[[Paper, Ours], list[Block]]] = {
    AILA_LAINE.name: by_kind(_aila_laine_block),
    LIER.name: by_kind(_lier_block),
    BARCZAK.name: barczak,
    GUNTHER.name: gunther,
}
