"""How well a SIMD machine is used by rays whose steps are known. Aila, Laine: Understanding the Efficiency of Ray
Traversal on GPUs, 2009, simulate their kernels so, with memory that takes no time.

Steps come from the kernels themselves (`steps`). Here warps of any width do them: a step is issued when one
lane of a warp wants it, and lanes that want another one idle.
"""

from dataclasses import dataclass, replace
from enum import IntEnum
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tracecore.analysis.steps import StepSequences, StepsPerRay
from tracecore.compilation.cached import compiled
from tracecore.compilation.vector import borrowed
from tracecore.kernels.loop import WHILE_WHILE, Loop
from tracecore.kernels.step_records import WARP_LANES, Step
from tracecore.kernels.strategy import KernelStrategy

Counts = npt.NDArray[np.int64]
Kinds = npt.NDArray[np.uint8]

NODE, LEAF, TRIANGLE, INSIDE = map(int, Step)


class Work(IntEnum):
    """What a warp issues: steps as in `Step`; RAYS: new rays are taken; TURN: of the loop, around the steps; MOVE: rays
    change places between lanes and a queue."""

    NODE = NODE
    LEAF = LEAF
    TRIANGLE = TRIANGLE
    INSIDE = INSIDE
    RAYS = 4
    TURN = 5
    MOVE = 6


RAYS, TURN, MOVE = int(Work.RAYS), int(Work.TURN), int(Work.MOVE)


@dataclass(frozen=True, kw_only=True)
class Lanes:
    """A ray stays in its lane until it is done.

    loop: what a warp does in a turn. replace_below: share of a warp's lanes that still walk, below which the others get
    new rays; 0: not before all are done. rounds: in which warps take the rays, in turns, each as many as it has lanes;
    by default about as many as on a GPU that is filled by a million rays.
    """

    loop: Loop = WHILE_WHILE
    replace_below: float = 0.0
    rounds: int = 16


@dataclass(frozen=True, kw_only=True)
class Queues:
    """Work queues, section 5.2 of the paper: a warp has more rays than lanes, and in each turn does that of which more
    rays are ready, visits or tests, with as many as it has lanes. pool: rays of a warp, in its widths."""

    pool: int = 3


Organisation = Lanes | Queues


def own_organisation(strategy: KernelStrategy) -> Lanes:
    """How a kernel is organised by itself."""
    return Lanes(loop=strategy.loop, replace_below=strategy.defines.get("REPLACE_BELOW", 0) / WARP_LANES)


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """What warps issued. issued: (7,) int64, how often, by `Work`. useful: (7,) int64, lanes with work of their own in
    it. width: lanes of a warp. waits: (items,) int64, visits and tests that its warp issued without it, from an item's
    coming until another took its place."""

    width: int
    issued: Counts
    useful: Counts
    waits: Counts

    def efficiency(self, *kinds: Work | Step) -> float | None:
        """SIMD efficiency: the share of lanes that had work of their own in such steps; None if there was none."""
        issued = int(self.issued[list(kinds)].sum())
        return int(self.useful[list(kinds)].sum()) / (issued * self.width) if issued else None

    def per_ray(self, sequences: StepSequences, strategy: KernelStrategy) -> StepsPerRay:
        """Means over the rays that it is a schedule of, with its efficiencies."""
        return replace(
            sequences.per_ray(strategy),
            node_efficiency=self.efficiency(Work.NODE),
            triangle_efficiency=self.efficiency(Work.TRIANGLE),
        )


def fits(width: int, lanes: int) -> bool:
    """Whether warps of this width hold items of so many lanes."""
    return width % lanes == 0


def simulate(sequences: StepSequences, organisation: Organisation, width: int = WARP_LANES) -> Schedule:
    """Do all steps on warps of so many lanes. Raises ValueError where an item does not fit in."""
    if not fits(width, sequences.lanes):
        raise ValueError(f"a warp of {width} lanes does not hold items of {sequences.lanes}")
    _check(sequences)
    slots = width // sequences.lanes
    issued, useful = np.zeros(len(Work), np.int64), np.zeros(len(Work), np.int64)
    waits = np.zeros(sequences.items, np.int64)
    record = Record(sequences.kinds, sequences.useful, sequences.starts, issued, useful, waits)
    if isinstance(organisation, Queues):
        _run_with_queues(record, slots, new_places(organisation.pool * slots))
    else:
        loop = (organisation.loop.nodes, organisation.loop.leaves, organisation.loop.tests)
        least = max(int(np.ceil(organisation.replace_below * slots)), 1)
        warps = -(-sequences.items // (slots * organisation.rounds))
        for warp in range(warps):
            _run_warp(record, loop, new_places(slots), Deal(warp, warps, least))
    useful[[RAYS, TURN, MOVE]] *= sequences.lanes
    return Schedule(width=width, issued=issued, useful=useful, waits=waits)


def _check(sequences: StepSequences) -> None:
    """Raises ValueError where a step could never be done."""
    inside = np.flatnonzero(sequences.kinds == INSIDE)
    is_first = np.isin(inside, sequences.starts)
    if is_first.any() or (sequences.kinds[inside - 1] != TRIANGLE).any():
        raise ValueError("a step INSIDE does not follow a TRIANGLE")


class Record(NamedTuple):
    """The steps of all items, and what warps have issued so far."""

    kinds: Kinds
    useful_of: Kinds
    starts: Counts
    issued: Counts
    useful: Counts
    waits: Counts


class Places(NamedTuple):
    """Items that a warp has: where in its steps each one is and where these end, which item, and visits and tests that
    the warp had issued when it came. item -1: none."""

    here: Counts
    end: Counts
    item: Counts
    came: Counts


class Deal(NamedTuple):
    """Which items a warp gets: those of its turn among so many warps. least: that walk while there are more."""

    warp: int
    warps: int
    least: int


def new_places(count: int) -> Places:
    """So many, empty."""
    here, end, item, came = (np.zeros(count, np.int64) for _ in range(4))
    item[:] = -1
    return Places(here, end, item, came)


@compiled
def _visits_and_tests(record: Record) -> int:
    return record.issued[NODE] + record.issued[TRIANGLE]


@compiled
def _put(record: Record, places: Places, place: int, item: int) -> None:
    """An item comes in; the one that was there leaves. -1: none comes."""
    old = places.item[place]
    if old >= 0:
        own = 0
        for step in range(record.starts[old], record.starts[old + 1]):
            own += record.kinds[step] == NODE or record.kinds[step] == TRIANGLE
        record.waits[old] = _visits_and_tests(record) - places.came[place] - own
    places.item[place] = item
    places.came[place] = _visits_and_tests(record)
    places.here[place] = places.end[place] = 0
    if item >= 0:
        places.here[place] = record.starts[item]
        places.end[place] = record.starts[item + 1]
        record.useful[RAYS] += 1


@compiled
def _wants(record: Record, places: Places, place: int, kind: int) -> bool:
    here = places.here[place]
    return here < places.end[place] and record.kinds[here] == kind


@compiled
def _goes_on_to_a_node(record: Record, places: Places, place: int) -> bool:
    """Whether the leaf that an item is at is postponed."""
    after = places.here[place] + 1
    return after < places.end[place] and record.kinds[after] == NODE


@compiled
def _issue(record: Record, places: Places, members: Counts, kind: int) -> bool:
    """All of the members that want a step of a kind do it. Returns whether one did."""
    done = False
    for place in members:
        if _wants(record, places, place, kind):
            record.useful[kind] += record.useful_of[places.here[place]]
            places.here[place] += 1
            done = True
    record.issued[kind] += done
    return done


@compiled
def _postpone(record: Record, places: Places, members: Counts) -> None:
    """Members at a leaf that they postpone pick it up, to go on among nodes: speculative traversal."""
    done = False
    for place in members:
        if _wants(record, places, place, LEAF) and _goes_on_to_a_node(record, places, place):
            record.useful[LEAF] += record.useful_of[places.here[place]]
            places.here[place] += 1
            done = True
    record.issued[LEAF] += done


@compiled
def _test(record: Record, places: Places, members: Counts, tests: int) -> bool:
    """Up to so many triangles. Returns whether there was one."""
    for test in range(tests):
        if not _issue(record, places, members, TRIANGLE):
            return test > 0
        _issue(record, places, members, INSIDE)
    return tests > 0


@compiled
def _advance(record: Record, loop: tuple[int, int, int], places: Places, members: Counts) -> None:
    """A turn of a loop: nodes, leaves, tests of each, see `Loop`."""
    nodes, leaves, tests = loop
    for visit in range(nodes):
        if visit > 0:
            _postpone(record, places, members)
        if not _issue(record, places, members, NODE):
            break
    for _ in range(leaves):
        picked_up = _issue(record, places, members, LEAF)
        if not _test(record, places, members, tests) and not picked_up:
            break


@compiled
def _walking(places: Places) -> int:
    walking = 0
    for place in range(len(places.here)):
        walking += places.here[place] < places.end[place]
    return walking


@compiled
def _refill(record: Record, places: Places, deal: Deal, taken: int) -> int:
    """Items for all places that have none to walk with, as long as there are any. Returns how many the warp has had."""
    slots, items = len(places.item), len(record.starts) - 1
    comes = False
    for place in range(slots):
        if places.here[place] < places.end[place]:
            continue
        item = (taken // slots * deal.warps + deal.warp) * slots + taken % slots
        if item >= items:
            break
        _put(record, places, place, item)
        taken += 1
        comes = True
    record.issued[RAYS] += comes
    return taken


@compiled
def _run_warp(record: Record, loop: tuple[int, int, int], places: Places, deal: Deal) -> None:
    """All items of one warp."""
    record, places = borrowed(record), borrowed(places)
    members = np.arange(len(places.item))
    own = 0  # items of this warp
    slots, items = len(members), len(record.starts) - 1
    for first in range(deal.warp * slots, items, deal.warps * slots):
        own += min(slots, items - first)
    taken = _refill(record, places, deal, 0)
    while taken < own or _walking(places) > 0:
        walking = _walking(places)
        while walking >= (deal.least if taken < own else 1):
            record.issued[TURN] += 1
            record.useful[TURN] += walking
            _advance(record, loop, places, members)
            walking = _walking(places)
        taken = _refill(record, places, deal, taken)
    for place in members:
        _put(record, places, place, -1)


# --------------------------------------------------------------------------------------------------------- work queues


@compiled
def _is_ready(record: Record, places: Places, place: int, kind: int) -> bool:
    """Whether an item waits for visits (NODE) or for tests (TRIANGLE), which begin with picking up a leaf."""
    if kind == NODE:
        return _wants(record, places, place, NODE)
    return _wants(record, places, place, TRIANGLE) or _wants(record, places, place, LEAF)


@compiled
def _bring(record: Record, places: Places, lanes: Counts, kind: int) -> None:
    """Items that are ready for a kind of work go to lanes that have none such. lanes: places by lane, -1 for none."""
    moved = 0
    in_lane = np.zeros(len(places.item), np.bool_)
    for place in lanes:
        if place >= 0:
            in_lane[place] = True
    lane = 0
    for place in range(len(places.item)):
        if in_lane[place] or not _is_ready(record, places, place, kind):
            continue
        while lane < len(lanes) and lanes[lane] >= 0 and _is_ready(record, places, lanes[lane], kind):
            lane += 1
        if lane == len(lanes):
            break
        if lanes[lane] >= 0 and places.here[lanes[lane]] < places.end[lanes[lane]]:
            moved += 1
        lanes[lane] = place
        moved += 1
    record.issued[MOVE] += moved > 0
    record.useful[MOVE] += moved


@compiled
def _turn_of_queue(record: Record, places: Places, lanes: Counts) -> bool:
    """Visit or test, whatever more items are ready for. Returns whether one was."""
    nodes, tests = 0, 0
    for place in range(len(places.item)):
        nodes += _is_ready(record, places, place, NODE)
        tests += _is_ready(record, places, place, TRIANGLE)
    if nodes + tests == 0:
        return False
    kind = NODE if nodes >= tests else TRIANGLE
    _bring(record, places, lanes, kind)
    members = _members(record, places, lanes, kind)
    record.issued[TURN] += 1
    record.useful[TURN] += len(members)
    if kind == NODE:
        _issue(record, places, members, NODE)
        _postpone(record, places, members)
    else:
        _issue(record, places, members, LEAF)
        _test(record, places, members, 1)
    for lane in range(len(lanes)):
        if lanes[lane] >= 0 and places.here[lanes[lane]] == places.end[lanes[lane]]:
            lanes[lane] = -1
    return True


@compiled
def _members(record: Record, places: Places, lanes: Counts, kind: int) -> Counts:
    """Places in lanes that are ready for a kind of work."""
    members = np.empty(len(lanes), np.int64)
    count = 0
    for place in lanes:
        if place >= 0 and _is_ready(record, places, place, kind):
            members[count] = place
            count += 1
    return members[:count]


@compiled
def _take(record: Record, places: Places, most: int, taken: int) -> int:
    """So many items at most come to the queue. Returns how many the warp has had."""
    items, last = len(record.starts) - 1, taken + most
    for place in range(len(places.item)):
        if taken < min(items, last) and places.here[place] == places.end[place]:
            _put(record, places, place, taken)
            taken += 1
    record.issued[RAYS] += 1
    return taken


@compiled
def _run_with_queues(record: Record, slots: int, places: Places) -> None:
    """All items by one warp, which takes as many as it has lanes as soon as there is room for them."""
    record, places = borrowed(record), borrowed(places)
    lanes = np.full(slots, -1)
    items, taken = len(record.starts) - 1, 0
    busy = True
    while busy or taken < items:
        while taken < items and len(places.item) - _walking(places) >= slots:
            taken = _take(record, places, slots, taken)
        busy = _turn_of_queue(record, places, lanes)
    for place in range(len(places.item)):
        _put(record, places, place, -1)
