"""This module shows kernels side by side, as text."""

from collections.abc import Sequence

from renderer.bench.dispatch_benchmark import EndToEnd
from renderer.bench.kernel_benchmark import Comparison, KernelFacts, KernelMeasurement, over_views
from renderer.plain_text import rounded

#: Stands for a figure that is not known, and for one of a kernel whose hits are wrong.
MISSING, STRUCK_OUT = "-", "struck out"


def table(found: Comparison) -> str:
    """Returns rates, a row for each kernel and a column for each kind of rays; then, where they are known, steps and
    bounds, a block for each kind of rays. All are means over view points. A rate whose hits are wrong is struck out.
    """
    means = over_views(found)
    blocks = [_rates(means), *(_costs(means, kind) for kind in means.kinds if means.has_costs(kind))]
    if found.photon_runs:
        blocks.append(photon_run_rows(found.photon_runs))
    texts = [aligned(rows) for rows in blocks]
    return "\n\n".join(filter(None, [*texts, compared_note(found), "\n".join(peer_notes(found))]))


def compared_note(found: Comparison) -> str:
    """Returns in words how many rays of each kind had their hits compared with the CPU's."""
    counts = {one.kind: f"{one.kind} {one.compared} of {one.rays}" for one in over_views(found).measurements}
    return f"compared with the CPU: {', '.join(counts.values())} rays" if counts else ""


def struck_out(found: Comparison) -> list[str]:
    """Returns a text for each kernel, or peer, on each kind of rays whose hits are wrong: the first wrong ray."""
    firsts = {(one.kernel, one.kind): one for one in reversed(found.wrong_ones)}
    texts = [
        f"Struck out: {one.kernel} on {one.kind} (view point {one.view}), whose hits are wrong: {one.wrong}."
        for one in reversed(firsts.values())
    ]
    runs = (run for run in found.photon_runs if run.wrong)
    return texts + [f"Struck out: {run.kernel} in the {run.dispatch} photon run: {run.wrong}." for run in runs]


def peer_notes(found: Comparison) -> list[str]:
    """Returns a line for each peer: what its rates are, and the share of rays that it answers as we do."""
    shares: dict[str, list[str]] = {one.peer: [] for one in found.peers}
    for one in over_views(found).measurements:
        if one.agreement is not None:
            shares[one.kernel].append(f"{one.kind} {one.agreement:.3%}")
    return [f"{one.peer}: {one.clock}; answers as ours: {', '.join(shares[one.peer])}" for one in found.peers]


def _rates(found: Comparison) -> list[list[str]]:
    rays = {one.kind: str(one.rays) for one in found.measurements}
    rows = [["kernel", *found.kinds, "nodes", "registers", "occupancy"], ["rays", *rays.values(), "", "", ""]]
    facts = {one.kernel: one for one in found.kernels}
    for kernel in found.kernel_names:
        own = {one.kind: one for one in found.measurements if one.kernel == kernel}
        rows.append([kernel, *(rate_cell(own.get(kind)) for kind in found.kinds), *_facts(facts.get(kernel))])
    return rows


def rate_cell(one: KernelMeasurement | None) -> str:
    """Returns a rate with its range, and over that of what it is relative to."""
    if one is None:
        return MISSING
    if one.wrong:
        return STRUCK_OUT
    relative = MISSING if one.relative is None else f"{one.relative:.2f}x"
    return f"{ranged(one)} {relative}"


def ranged(one: KernelMeasurement | EndToEnd) -> str:
    """Returns a rate, the median, and its range as text."""
    return f"{rounded(one.rate)} ({rounded(one.least)}-{rounded(one.most)})"


def _facts(facts: KernelFacts | None) -> tuple[str, str, str]:
    if facts is None:
        return MISSING, MISSING, MISSING
    return str(facts.nodes), registers(facts) or MISSING, occupancy(facts) or MISSING


def registers(facts: KernelFacts) -> str:
    """Returns the registers of closest and any hit as text; it is empty where there are none."""
    return "/".join(map(str, facts.registers))


def occupancy(facts: KernelFacts) -> str:
    """Returns the occupancy of closest and any hit as text; it is empty where it is not known."""
    return "/".join(f"{value:.0%}" for value in facts.occupancy)


def _costs(found: Comparison, kind: str) -> list[list[str]]:
    rows = [[f"{kind}: of a ray", *COST_COLUMNS]]
    return rows + [[one.kernel, *costs(one, MISSING)] for one in found.measurements if one.kind == kind]


def photon_run_rows(runs: Sequence[EndToEnd]) -> list[list[str]]:
    """Returns a row for each kernel, with two columns for each way of dispatch."""
    dispatches = list(dict.fromkeys(run.dispatch for run in runs))
    rows = [["photon run", *(head for dispatch in dispatches for head in (dispatch, "busy"))]]
    for kernel in dict.fromkeys(run.kernel for run in runs):
        own = [run for run in runs if run.kernel == kernel]
        rows.append([kernel, *(cell for run in own for cell in photon_run(run))])
    return rows


def photon_run(run: EndToEnd) -> tuple[str, str]:
    """Returns the rate of a run with its range, and the busy share."""
    if run.wrong:
        return STRUCK_OUT, MISSING
    return ranged(run), f"{run.busy:.0%}"


#: What a ray costs: nodes visited, triangles tested, bytes; lanes that had work in such steps; what could be reached.
COST_COLUMNS = ("nodes", "triangles", "bytes", "node lanes", "triangle lanes", "bound", "of bound")


def costs(one: KernelMeasurement, missing: str) -> list[str]:
    """Returns the costs of a ray as texts, in the order of COST_COLUMNS."""
    steps = one.steps
    counted = (steps.nodes, steps.triangles, steps.bytes) if steps else (None, None, None)
    lanes = (steps.node_efficiency, steps.triangle_efficiency) if steps else (None, None)
    return [
        *(number(value, missing) for value in counted),
        *(share(value, missing) for value in lanes),
        number(one.bound, missing),
        share(one.of_bound, missing),
    ]


def number(value: float | None, missing: str = MISSING) -> str:
    """Returns a number as text, with four digits."""
    return missing if value is None else rounded(value)


def share(value: float | None, missing: str = MISSING) -> str:
    """Returns a share of 1 as text, in per cent."""
    return missing if value is None else f"{value:.1%}"


def aligned(rows: Sequence[Sequence[str]]) -> str:
    """Returns rows as text whose columns stand one below the other."""
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)
    return "\n".join(line.rstrip() for line in lines)
