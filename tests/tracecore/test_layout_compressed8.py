"""The compressed 8-wide tree as packed, read back, in exact arithmetic."""

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tracecore.bvh.binned_sah import build
from tracecore.checks.ray_cases import Floats, grid, soup
from tracecore.layout.compressed8 import WIDTH, pack
from tracecore.layout.device_layout import PackedTree
from tracecore.precision import padded

Ints = npt.NDArray[np.int64]


def packed(triangles: Floats) -> PackedTree:
    return pack(build(triangles, max_leaf=1), triangles)


@dataclass(frozen=True, kw_only=True)
class Children:
    """All filled positions, by node and position.

    place: index of the inner node, or of the leaf's first triangle. count: of the leaf's triangles, 0 for an inner
    node. steps: (c, 2, 3), lower and upper.
    """

    node: Ints
    position: Ints
    place: Ints
    count: Ints
    steps: Ints


def children(nodes: Any) -> Children:
    """Reads the bits of inner nodes and of triangles."""
    triangles = nodes["triangles"][:, None] >> 3 * np.arange(8) & 7
    inner = nodes["inner"][:, None] >> np.arange(8) & 1
    assert not (triangles * inner).any()
    assert np.isin(triangles, [0b000, 0b001, 0b011, 0b111]).all()
    node, position = np.nonzero(triangles | inner)
    is_inner = inner[node, position] == 1
    before = np.bitwise_count(nodes["triangles"][node] & ((1 << 3 * position) - 1)).astype(np.int64)
    lower_slots = nodes["inner"][node] & ((1 << position) - 1)
    inner_place = nodes["child_base"][node].astype(np.int64) + np.bitwise_count(lower_slots)
    return Children(
        node=node,
        position=position,
        place=np.where(is_inner, inner_place, nodes["triangle_base"][node] + before),
        count=np.where(is_inner, 0, np.bitwise_count(triangles[node, position])),
        steps=np.stack([nodes["lower"][node, :, position], nodes["upper"][node, :, position]], axis=1).astype(np.int64),
    )


def bounds_below(found: Children, positions: Any) -> tuple[Floats, Floats]:
    """(c, 3) float32, bounds of all triangles below each child."""
    corners = positions["rows"]["component"].transpose(0, 2, 1)
    lower, upper = np.empty((2, len(found.node), 3), np.float32)
    begin = np.searchsorted(found.node, np.arange(found.node[-1] + 2))
    for i in range(len(found.node) - 1, -1, -1):  # children of higher nodes come later
        if found.count[i] > 0:
            below = corners[found.place[i] : found.place[i] + found.count[i]].reshape(-1, 3)
            lower[i], upper[i] = below.min(axis=0), below.max(axis=0)
        else:
            of_child = slice(begin[found.place[i]], begin[found.place[i] + 1])
            lower[i], upper[i] = lower[of_child].min(axis=0), upper[of_child].max(axis=0)
    return lower, upper


exactly = np.frompyfunc(lambda value: Fraction(float(value)), 1, 1)


def decoded(nodes: Any, found: Children) -> tuple[Any, Any]:
    """(c, 2, 3) and (c, 1, 3) of `Fraction`: the planes of each child, and the length of a step."""
    step = exactly(np.ldexp(1.0, nodes["exponent"].astype(np.int64) - 127))[found.node, None]
    return exactly(nodes["origin"])[found.node, None] + found.steps * step, step


def integers_and_a_hair(sign: float) -> Floats:
    """Coordinates are whole but for a tiny one, so that their differences are no float64."""
    triangles = np.random.default_rng(7).integers(0, 256, (200, 3, 3)).astype(np.float32)
    triangles[::7, 0] = sign * np.float32(2.0**-100)
    return triangles


def all_sizes() -> Floats:
    random = np.random.default_rng(8)
    return (random.choice([-1, 1], (300, 3, 3)) * 2.0 ** random.uniform(-140, 100, (300, 3, 3))).astype(np.float32)


def on_a_line() -> Floats:
    triangles = soup(100)
    triangles[:, :, 1:] = np.float32(0.1)
    return triangles


SCENES: dict[str, Callable[[], Floats]] = {
    "one": lambda: soup(1),
    "one leaf": lambda: soup(3),
    "few": lambda: soup(9),
    "soup": lambda: soup(1000),
    "plane": lambda: grid(12),
    "line": on_a_line,
    "point": lambda: np.full((20, 3, 3), 0.3, np.float32),
    "origin": lambda: np.zeros((20, 3, 3), np.float32),
    "far away": lambda: soup(300) * np.float32(1e-3) + np.float32(1e6),
    "tiny": lambda: soup(300, 1e-25),
    "denormal": lambda: soup(300, 1e-42),
    "huge": lambda: soup(300, 1e30),
    "largest": lambda: soup(300, 1e38),
    "integers above": lambda: integers_and_a_hair(1.0),
    "integers below": lambda: integers_and_a_hair(-1.0),
    "all sizes": all_sizes,
}


@pytest.mark.parametrize("scene", SCENES)
def test_boxes_hold_what_is_below_and_little_more(scene: str) -> None:
    result = packed(SCENES[scene]())
    nodes = result.arrays["nodes"]
    found = children(nodes)
    lower, upper = (exactly(bound) for bound in padded(*bounds_below(found, result.arrays["triangles"])))
    planes, step = decoded(nodes, found)
    assert (planes[:, 0] <= lower).all()
    assert (planes[:, 1] >= upper).all()
    assert (planes[:, 0] + step[:, 0] > lower).all()
    assert (planes[:, 1] - step[:, 0] < upper).all()


@pytest.mark.parametrize("scene", SCENES)
def test_steps_are_as_short_as_they_may_be(scene: str) -> None:
    """255 of them cover a node; half as long ones would not, or the kernel could not take them."""
    result = packed(SCENES[scene]())
    nodes = result.arrays["nodes"]
    found = children(nodes)
    most = np.zeros((len(nodes), 3), np.int64)
    np.maximum.at(most, found.node, found.steps[:, 1])
    step = np.ldexp(1.0, nodes["exponent"].astype(np.int64) - 127)
    least = max(2.0**-126, float(np.ldexp(1.0, np.frexp(result.scalars["extent"])[1] - 40)))
    assert ((nodes["exponent"] > 0) & (nodes["exponent"] < 255)).all()
    assert (step >= least).all()
    assert (least <= max(2.0**-126, result.scalars["extent"] * 2.0**-39)) or result.scalars["extent"] == 0.0
    assert ((step == least) | (most > 127)).all()


@pytest.mark.parametrize("scene", SCENES)
def test_every_node_and_every_triangle_has_one_parent(scene: str) -> None:
    triangles = SCENES[scene]()
    result = packed(triangles)
    found = children(result.arrays["nodes"])
    is_inner = found.count == 0
    assert sorted(found.place[is_inner]) == list(range(1, result.nodes))
    assert (found.place[is_inner] > found.node[is_inner]).all()
    leaves = zip(found.place[~is_inner], found.count[~is_inner], strict=True)
    assert sorted(itertools.chain(*(range(first, first + count) for first, count in leaves))) == list(
        range(len(triangles))
    )
    positions = result.arrays["triangles"]
    prim_ids = positions["rows"]["prim_id"]
    assert sorted(prim_ids[:, 0]) == list(range(len(triangles)))
    assert (positions["rows"]["component"].transpose(0, 2, 1) == triangles[prim_ids[:, 0]]).all()


def in_order(nodes: Any, found: Children, direction: Any) -> float:
    """How often, of two children of a node, the one that a ray visits before lies nearer along its direction."""
    step = np.ldexp(1.0, nodes["exponent"].astype(np.int64) - 127)[found.node]
    distance = (2 * nodes["origin"][found.node] + found.steps.sum(axis=1) * step) @ direction
    octant = (np.asarray(direction) > 0) @ [1, 2, 4]
    priority = found.position ^ octant
    first, second = np.nonzero((found.node[:, None] == found.node) & (priority[:, None] > priority))
    return float((distance[first] < distance[second]).mean())


@pytest.mark.parametrize("direction", list(itertools.product([-1, 1], repeat=3)))
def test_slots_go_from_front_to_back(direction: tuple[int, int, int]) -> None:
    """In any order it would be half of them."""
    nodes = packed(soup(1000)).arrays["nodes"]
    found = children(nodes)
    others = np.abs(np.random.default_rng(1).normal(0, 1, (20, 3))) * direction
    assert in_order(nodes, found, direction) > 0.7
    assert np.mean([in_order(nodes, found, other) for other in others]) > 0.65


def test_no_assignment_of_slots_is_better() -> None:
    result = packed(soup(70))
    nodes, found = result.arrays["nodes"], children(result.arrays["nodes"])
    centre = np.sum(bounds_below(found, result.arrays["triangles"]), axis=0, dtype=np.float64)
    sides = np.where(np.arange(WIDTH)[:, None] >> np.arange(3) & 1, 1.0, -1.0)
    slots_of = np.array(list(itertools.permutations(range(WIDTH))))
    filled = [np.count_nonzero(found.node == node) for node in range(len(nodes))]
    assert min(filled) < WIDTH == max(filled)
    for node in {int(np.argmin(filled)), int(np.argmax(filled)), len(nodes) - 1}:
        own = found.node == node
        gain = (centre[own] - centre[own].mean(axis=0)) @ sides.T  # type: ignore[index]  # by child and slot; spare children gain nothing
        best = gain[np.arange(len(gain)), slots_of[:, : len(gain)]].sum(axis=1).max()
        assert gain[np.arange(len(gain)), found.position[own]].sum() == pytest.approx(best, abs=1e-6)


@pytest.mark.parametrize("scene", ["one", "few", "soup", "point"])
def test_stack_is_what_a_ray_that_meets_everything_needs(scene: str) -> None:
    result = packed(SCENES[scene]())
    found = children(result.arrays["nodes"])

    def need(node: int) -> int:
        inner = found.place[(found.node == node) & (found.count == 0)]
        return max((need(child) for child in inner), default=0) + (len(inner) > 1)

    assert result.stack == need(0)
