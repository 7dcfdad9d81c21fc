"""Simulates how well a SIMD machine is used by rays whose steps are known. Aila, Laine: Understanding the Efficiency of
Ray Traversal on GPUs, 2009, simulate their kernels so, with memory that takes no time.

Steps come from the kernels themselves (`steps`). Here warps of any width do them: a step is issued when one lane of a
warp wants it, and lanes that want another one idle.
"""

from dataclasses import dataclass, replace
from enum import IntEnum
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tracecore.analysis.steps import StepSequences, StepsPerRay
from tracecore.compilation.borrowing import borrowed
from tracecore.compilation.cached import compiled
from tracecore.errors import KernelError
from tracecore.kernels.loop import WHILE_WHILE, Loop
from tracecore.kernels.step_records import WARP_LANES, Step
from tracecore.kernels.strategy import KernelStrategy

Counts = npt.NDArray[np.int64]
Kinds = npt.NDArray[np.uint8]

STEP_NODE, STEP_LEAF, STEP_TRIANGLE, STEP_INSIDE = map(int, Step)


class SimulatedWork(IntEnum):
    """Names what a warp issues: a step of each kind of `Step`; RAYS, when new rays are taken; ITERATION, once around
    the steps of the loop; MOVE, when rays change between lanes and a queue.
    """

    NODE = STEP_NODE
    LEAF = STEP_LEAF
    TRIANGLE = STEP_TRIANGLE
    INSIDE = STEP_INSIDE
    RAYS = 4
    ITERATION = 5
    MOVE = 6


WORK_RAYS, WORK_ITERATION, WORK_MOVE = int(SimulatedWork.RAYS), int(SimulatedWork.ITERATION), int(SimulatedWork.MOVE)


@dataclass(frozen=True, kw_only=True)
class Lanes:
    """Organises warps so that a ray stays in its lane until it is done.

    loop: what a warp does in an iteration.
    replace_below: share of a warp's lanes that still walk, below which the others get new rays; 0: not before all are
    done.
    rounds: how often a warp takes rays, each time as many as it has lanes; by default about as many as on a GPU that is
    filled by a million rays.
    """

    loop: Loop = WHILE_WHILE
    replace_below: float = 0.0
    rounds: int = 16


@dataclass(frozen=True, kw_only=True)
class Queues:
    """Organises warps by work queues, section 5.2 of the paper. A warp has more rays than lanes, and in each iteration
    does that of which more rays are ready, visits or tests, with as many as it has lanes.

    pool: rays of a warp, in its widths.
    """

    pool: int = 3


Organisation = Lanes | Queues


def own_organisation(strategy: KernelStrategy) -> Lanes:
    """Returns how a kernel is organised by itself."""
    return Lanes(loop=strategy.loop, replace_below=strategy.defines.get("REPLACE_BELOW", 0) / WARP_LANES)


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """Says what warps issued.

    width: lanes of a warp.
    issued: (7,) int64, how often, by `SimulatedWork`.
    useful: (7,) int64, lanes with work of their own in it.
    waits: (items,) int64, visits and tests that an item's warp issued without it, from its coming until another
    replaced it.
    """

    width: int
    issued: Counts
    useful: Counts
    waits: Counts

    def efficiency(self, *kinds: SimulatedWork | Step) -> float | None:
        """Returns the SIMD efficiency: the share of lanes that had work of their own in such steps; None if there was
        none.
        """
        issued = int(self.issued[list(kinds)].sum())
        return int(self.useful[list(kinds)].sum()) / (issued * self.width) if issued else None

    def per_ray(self, sequences: StepSequences, strategy: KernelStrategy) -> StepsPerRay:
        """Returns means over the rays that it is a schedule of, with its efficiencies."""
        return replace(
            sequences.per_ray(strategy),
            node_efficiency=self.efficiency(SimulatedWork.NODE),
            triangle_efficiency=self.efficiency(SimulatedWork.TRIANGLE),
        )


def fits(width: int, lanes: int) -> bool:
    """Returns whether warps of this width hold items of so many lanes."""
    return width % lanes == 0


def simulate(sequences: StepSequences, organisation: Organisation, width: int = WARP_LANES) -> Schedule:
    """Does all steps on warps and returns what they issued.

    sequences: the steps of each item.
    organisation: how a warp takes items and chooses steps.
    width: lanes of a warp.
    Raises ValueError where an item does not fit in.
    """
    if not fits(width, sequences.lanes):
        raise ValueError(f"a warp of {width} lanes does not hold items of {sequences.lanes}")
    _check(sequences)
    capacity = width // sequences.lanes
    issued, useful = np.zeros(len(SimulatedWork), np.int64), np.zeros(len(SimulatedWork), np.int64)
    waits = np.zeros(sequences.items, np.int64)
    record = Record(sequences.kinds, sequences.useful, sequences.starts, issued, useful, waits)
    if isinstance(organisation, Queues):
        _run_with_queues(record, capacity, no_items(organisation.pool * capacity))
    else:
        loop = (organisation.loop.nodes, organisation.loop.leaves, organisation.loop.tests)
        least = max(int(np.ceil(organisation.replace_below * capacity)), 1)
        warps = -(-sequences.items // (capacity * organisation.rounds))
        for warp in range(warps):
            _run_warp(record, loop, no_items(capacity), Assignment(warp, warps, least))
    useful[[WORK_RAYS, WORK_ITERATION, WORK_MOVE]] *= sequences.lanes
    return Schedule(width=width, issued=issued, useful=useful, waits=waits)


def check_loop(sequences: StepSequences, strategy: KernelStrategy) -> None:
    """Compares the loop that a strategy says its kernel has with the iterations that the kernel marked, ray by ray.

    Raises `KernelError` where they are others.
    """
    if len(sequences.iteration_ends) == 0:
        return
    nothing = np.zeros(len(SimulatedWork), np.int64)
    record = Record(sequences.kinds, sequences.useful, sequences.starts, nothing, nothing.copy(), nothing[:0])
    loop, ends = strategy.loop, np.zeros(len(sequences.kinds), np.int64)
    count = _run_alone(record, (loop.nodes, loop.leaves, loop.tests), no_items(1), ends)
    said, seen = (np.union1d(sequences.starts, found) for found in (ends[:count], sequences.iteration_ends))
    differing = np.setxor1d(said, seen)
    if len(differing) == 0:
        return
    first = said[np.searchsorted(said, differing[0]) - 1]  # where both began the iteration in which they part
    by_loop, by_code = (_words(sequences.kinds[first : one[np.searchsorted(one, first) + 1]]) for one in (said, seen))
    raise KernelError(
        f"kernel {strategy.name!r} does not have the loop that it says: by its loop={loop}, ray "
        f"{np.searchsorted(sequences.starts, first, 'right') - 1} does {by_loop} in an iteration, where its code did "
        f"{by_code}; register it with the loop of its code, see tracecore.kernels.loop"
    )


def _words(kinds: Kinds) -> str:
    """Returns steps in words, but for those that belong to a test."""
    return ", ".join(Step(kind).name for kind in kinds.tolist() if kind != STEP_INSIDE)


def _check(sequences: StepSequences) -> None:
    """Raises ValueError where a step could never be done."""
    inside = np.flatnonzero(sequences.kinds == STEP_INSIDE)
    is_first = np.isin(inside, sequences.starts)
    if is_first.any() or (sequences.kinds[inside - 1] != STEP_TRIANGLE).any():
        raise ValueError("a step INSIDE does not follow a TRIANGLE")


class Record(NamedTuple):
    """Holds the steps of all items, and what warps have issued so far."""

    kinds: Kinds
    useful_of: Kinds
    starts: Counts
    issued: Counts
    useful: Counts
    waits: Counts


class HeldItems(NamedTuple):
    """Holds the items of a warp, by index.

    here, end: where in its steps each item is, and where these end.
    item: which item it is, -1 for none.
    came: visits and tests that the warp had issued when it came.
    """

    here: Counts
    end: Counts
    item: Counts
    came: Counts


class Assignment(NamedTuple):
    """Says which items a warp gets. warp: its number. warps: among how many. least: how many items must walk while
    there are more.
    """

    warp: int
    warps: int
    least: int


def no_items(count: int) -> HeldItems:
    """Returns room for so many items, all empty."""
    here, end, item, came = (np.zeros(count, np.int64) for _ in range(4))
    item[:] = -1
    return HeldItems(here, end, item, came)


@compiled
def _visits_and_tests(record: Record) -> int:
    return record.issued[STEP_NODE] + record.issued[STEP_TRIANGLE]


@compiled
def _put(record: Record, held: HeldItems, index: int, item: int) -> None:
    """Puts an item at an index; the one that was there leaves. -1: none comes."""
    old = held.item[index]
    if old >= 0:
        of_item = 0
        for step in range(record.starts[old], record.starts[old + 1]):
            of_item += record.kinds[step] == STEP_NODE or record.kinds[step] == STEP_TRIANGLE
        record.waits[old] = _visits_and_tests(record) - held.came[index] - of_item
    held.item[index] = item
    held.came[index] = _visits_and_tests(record)
    held.here[index] = held.end[index] = 0
    if item >= 0:
        held.here[index] = record.starts[item]
        held.end[index] = record.starts[item + 1]
        record.useful[WORK_RAYS] += 1


@compiled
def _wants(record: Record, held: HeldItems, index: int, kind: int) -> bool:
    here = held.here[index]
    return here < held.end[index] and record.kinds[here] == kind


@compiled
def _goes_on_to_a_node(record: Record, held: HeldItems, index: int) -> bool:
    """Returns whether the leaf that an item is at is postponed."""
    after = held.here[index] + 1
    return after < held.end[index] and record.kinds[after] == STEP_NODE


@compiled
def _issue(record: Record, held: HeldItems, members: Counts, kind: int) -> bool:
    """Does a step of a kind for all of the members that want one. Returns whether one did."""
    done = False
    for index in members:
        if _wants(record, held, index, kind):
            record.useful[kind] += record.useful_of[held.here[index]]
            held.here[index] += 1
            done = True
    record.issued[kind] += done
    return done


@compiled
def _postpone(record: Record, held: HeldItems, members: Counts) -> None:
    """Lets members at a leaf that they postpone pick it up, to go on among nodes: speculative traversal."""
    done = False
    for index in members:
        if _wants(record, held, index, STEP_LEAF) and _goes_on_to_a_node(record, held, index):
            record.useful[STEP_LEAF] += record.useful_of[held.here[index]]
            held.here[index] += 1
            done = True
    record.issued[STEP_LEAF] += done


@compiled
def _test(record: Record, held: HeldItems, members: Counts, tests: int) -> bool:
    """Tests up to so many triangles. Returns whether there was one."""
    for test in range(tests):
        if not _issue(record, held, members, STEP_TRIANGLE):
            return test > 0
        _issue(record, held, members, STEP_INSIDE)
    return tests > 0


@compiled
def _advance(record: Record, loop: tuple[int, int, int], held: HeldItems, members: Counts) -> None:
    """Does an iteration of a loop: nodes, leaves, tests of each, see `Loop`."""
    nodes, leaves, tests = loop
    for visit in range(nodes):
        if visit > 0:
            _postpone(record, held, members)
        if not _issue(record, held, members, STEP_NODE):
            break
    for _ in range(leaves):
        picked_up = _issue(record, held, members, STEP_LEAF)
        if not _test(record, held, members, tests) and not picked_up:
            break


@compiled
def _run_alone(record: Record, loop: tuple[int, int, int], held: HeldItems, ends: Counts) -> int:
    """Has each item do its steps in a warp of its own. Returns how many iterations there were.

    ends: is given where in the steps each of them ends.
    """
    record, held = borrowed(record), borrowed(held)
    members = np.zeros(1, np.int64)
    count = 0
    for item in range(len(record.starts) - 1):
        held.here[0], held.end[0] = record.starts[item], record.starts[item + 1]
        begin = -1
        while begin < held.here[0] < held.end[0]:
            begin = held.here[0]
            _advance(record, loop, held, members)
            ends[count] = held.here[0]
            count += 1
    return count


@compiled
def _walking(held: HeldItems) -> int:
    walking = 0
    for index in range(len(held.here)):
        walking += held.here[index] < held.end[index]
    return walking


@compiled
def _refill(record: Record, held: HeldItems, assignment: Assignment, taken: int) -> int:
    """Gives items to all indices that have none to walk with, as long as there are any. Returns how many the warp has
    had.
    """
    capacity, items = len(held.item), len(record.starts) - 1
    comes = False
    for index in range(capacity):
        if held.here[index] < held.end[index]:
            continue
        item = (taken // capacity * assignment.warps + assignment.warp) * capacity + taken % capacity
        if item >= items:
            break
        _put(record, held, index, item)
        taken += 1
        comes = True
    record.issued[WORK_RAYS] += comes
    return taken


@compiled
def _run_warp(record: Record, loop: tuple[int, int, int], held: HeldItems, assignment: Assignment) -> None:
    """Runs all items of one warp."""
    record, held = borrowed(record), borrowed(held)
    members = np.arange(len(held.item))
    of_warp = 0  # items of this warp
    capacity, items = len(members), len(record.starts) - 1
    for first in range(assignment.warp * capacity, items, assignment.warps * capacity):
        of_warp += min(capacity, items - first)
    taken = _refill(record, held, assignment, 0)
    while taken < of_warp or _walking(held) > 0:
        walking = _walking(held)
        while walking >= (assignment.least if taken < of_warp else 1):
            record.issued[WORK_ITERATION] += 1
            record.useful[WORK_ITERATION] += walking
            _advance(record, loop, held, members)
            walking = _walking(held)
        taken = _refill(record, held, assignment, taken)
    for index in members:
        _put(record, held, index, -1)


# --------------------------------------------------------------------------------------------------------- work queues


@compiled
def _is_ready(record: Record, held: HeldItems, index: int, kind: int) -> bool:
    """Returns whether an item waits for visits (NODE) or for tests (TRIANGLE), which begin with picking up a leaf."""
    if kind == STEP_NODE:
        return _wants(record, held, index, STEP_NODE)
    return _wants(record, held, index, STEP_TRIANGLE) or _wants(record, held, index, STEP_LEAF)


@compiled
def _bring(record: Record, held: HeldItems, lanes: Counts, kind: int) -> None:
    """Brings items that are ready for a kind of work to lanes that have none such. lanes: the index of the item of each
    lane, -1 for none.
    """
    moved = 0
    in_lane = np.zeros(len(held.item), np.bool_)
    for index in lanes:
        if index >= 0:
            in_lane[index] = True
    lane = 0
    for index in range(len(held.item)):
        if in_lane[index] or not _is_ready(record, held, index, kind):
            continue
        while lane < len(lanes) and lanes[lane] >= 0 and _is_ready(record, held, lanes[lane], kind):
            lane += 1
        if lane == len(lanes):
            break
        if lanes[lane] >= 0 and held.here[lanes[lane]] < held.end[lanes[lane]]:
            moved += 1
        lanes[lane] = index
        moved += 1
    record.issued[WORK_MOVE] += moved > 0
    record.useful[WORK_MOVE] += moved


@compiled
def _iterate_queue(record: Record, held: HeldItems, lanes: Counts) -> bool:
    """Visits or tests, whatever more items are ready for. Returns whether one was."""
    nodes, tests = 0, 0
    for index in range(len(held.item)):
        nodes += _is_ready(record, held, index, STEP_NODE)
        tests += _is_ready(record, held, index, STEP_TRIANGLE)
    if nodes + tests == 0:
        return False
    kind = STEP_NODE if nodes >= tests else STEP_TRIANGLE
    _bring(record, held, lanes, kind)
    members = _members(record, held, lanes, kind)
    record.issued[WORK_ITERATION] += 1
    record.useful[WORK_ITERATION] += len(members)
    if kind == STEP_NODE:
        _issue(record, held, members, STEP_NODE)
        _postpone(record, held, members)
    else:
        _issue(record, held, members, STEP_LEAF)
        _test(record, held, members, 1)
    for lane in range(len(lanes)):
        if lanes[lane] >= 0 and held.here[lanes[lane]] == held.end[lanes[lane]]:
            lanes[lane] = -1
    return True


@compiled
def _members(record: Record, held: HeldItems, lanes: Counts, kind: int) -> Counts:
    """Returns the indices of items in lanes that are ready for a kind of work."""
    members = np.empty(len(lanes), np.int64)
    count = 0
    for index in lanes:
        if index >= 0 and _is_ready(record, held, index, kind):
            members[count] = index
            count += 1
    return members[:count]


@compiled
def _take(record: Record, held: HeldItems, most: int, taken: int) -> int:
    """Takes so many items at most into the queue. Returns how many the warp has had."""
    items, last = len(record.starts) - 1, taken + most
    for index in range(len(held.item)):
        if taken < min(items, last) and held.here[index] == held.end[index]:
            _put(record, held, index, taken)
            taken += 1
    record.issued[WORK_RAYS] += 1
    return taken


@compiled
def _run_with_queues(record: Record, capacity: int, held: HeldItems) -> None:
    """Runs all items on one warp, which takes as many as it has lanes as soon as there is room for them."""
    record, held = borrowed(record), borrowed(held)
    lanes = np.full(capacity, -1)
    items, taken = len(record.starts) - 1, 0
    busy = True
    while busy or taken < items:
        while taken < items and len(held.item) - _walking(held) >= capacity:
            taken = _take(record, held, capacity, taken)
        busy = _iterate_queue(record, held, lanes)
    for index in range(len(held.item)):
        _put(record, held, index, -1)
