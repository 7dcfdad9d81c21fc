"""The binary tree as packed for the GPU, read back."""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pytest
from judges import twice_areas

from tracecore.bvh.binned_sah import build
from tracecore.checks.chain_tree import chain, slices
from tracecore.checks.ray_cases import soup
from tracecore.layout.bvh2 import LEAF_COUNT_BITS, NODE, SCENE, pack
from tracecore.layout.packed_triangle import PACKED_TRIANGLE
from tracecore.precision import PAD, padded

Doubles = npt.NDArray[np.float64]

#: By so much of its size and of its distance from the origin a box may be too large: a few roundings.
LOOSE = 2.0**-22


class Leaf(NamedTuple):
    """A leaf found by walking: its box as its parent holds it, exactly, and its range of leaf indices."""

    lower: Doubles
    upper: Doubles
    first: int
    count: int  # type: ignore[assignment]


def leaves(nodes: Any, node: int = 0) -> list[Leaf]:
    """All leaves below a packed node, left to right; checks that boxes hold what is below them."""
    found = []
    for side in (0, 1):
        child = int(nodes["child"][node, side])
        xy, z = nodes["xy"][node, side], nodes["z"][node, side]
        centre, half = (np.array([xy[i], xy[2 + i], z[i]], np.float64) for i in (0, 1))
        lower, upper = centre - half, centre + half
        if child < 0:
            found.append(Leaf(lower, upper, ~child >> LEAF_COUNT_BITS, ~child & ((1 << LEAF_COUNT_BITS) - 1)))
            continue
        below = leaves(nodes, child)
        looser = LOOSE + float(PAD) * max(np.abs(lower).max(), np.abs(upper).max())  # below there may be less of a pad
        for planes, those_below in (
            (lower, np.min([leaf.lower for leaf in below], axis=0)),
            (-upper, np.min([-leaf.upper for leaf in below], axis=0)),
        ):
            assert (planes <= those_below + LOOSE).all()
            assert np.allclose(those_below, planes, 0.0, looser)
        found += below
    return found


@pytest.mark.parametrize("count", [2, 5, 6, 7, 300, 3000])
def test_walk_finds_every_triangle_once_inside_its_box(count: int) -> None:
    triangles = soup(count)
    packed = pack(build(triangles), triangles)
    found = leaves(packed.arrays["nodes"])
    leaf_indices = packed.arrays["triangles"]
    for leaf in found:
        rows = leaf_indices["rows"]["component"][leaf.first : leaf.first + leaf.count]
        if leaf.count > 0:
            lower, upper = padded(rows.min(axis=(0, 2)), rows.max(axis=(0, 2)))
            assert (leaf.lower <= lower).all()
            assert (leaf.upper >= upper).all()
            assert np.allclose(leaf.lower, lower, LOOSE, LOOSE)
            assert np.allclose(leaf.upper, upper, LOOSE, LOOSE)
    ranges = [np.arange(leaf.first, leaf.first + leaf.count) for leaf in found]
    assert sorted(np.concatenate(ranges)) == list(range(count))
    prim_ids = leaf_indices["rows"]["prim_id"]
    assert sorted(prim_ids[:, 0]) == list(range(count))
    assert (prim_ids == prim_ids[:, :1]).all()
    assert (leaf_indices["rows"]["component"] == triangles[prim_ids[:, 0]].transpose(0, 2, 1)).all()


@pytest.mark.parametrize(
    ("lower", "upper"),
    [
        (0.25, 0.25),
        (-1e-30, 1.0),
        (1.0, np.nextafter(np.float32(1), np.float32(2))),
        (-3.4e38, 3.4e38),
        (1e-45, 3e-45),
        (-7.0, 1e6),
    ],
)
def test_half_of_a_box_is_rounded_up(lower: float, upper: float) -> None:
    corners = np.array([lower, (lower + upper) / 2, upper], np.float32)
    triangles = np.stack([corners, corners[::-1], corners], axis=-1)[None]
    (leaf, _) = leaves(pack(build(triangles), triangles).arrays["nodes"])
    corner = np.full(3, lower, np.float32), np.full(3, upper, np.float32)
    bounds = [float(planes[0]) for planes in padded(*corner)]
    assert (leaf.lower <= bounds[0]).all()
    assert (leaf.upper >= bounds[1]).all()
    denormal = 3e-45
    assert np.allclose([leaf.lower[0], leaf.upper[0]], bounds, LOOSE, LOOSE * (bounds[1] - bounds[0]) + denormal)


def test_right_children_have_more_surface() -> None:
    triangles = soup(3000)
    packed = pack(build(triangles), triangles)
    areas = twice_areas(packed.arrays["triangles"])

    def surface(child: int) -> float:
        if child < 0:
            first = ~child >> LEAF_COUNT_BITS
            return float(areas[first : first + (~child & ((1 << LEAF_COUNT_BITS) - 1))].sum())
        left, right = map(surface, packed.arrays["nodes"]["child"][child].tolist())
        assert right >= left * (1 - 1e-9)
        return left + right

    assert surface(0) == pytest.approx(areas.sum())


def test_extent_is_the_largest_coordinate() -> None:
    triangles = soup(10)
    triangles[3, 1, 2] = -77.0
    assert pack(build(triangles), triangles).scalars["extent"] == 77.0


@pytest.mark.parametrize("depth", [1, 2, 40])
def test_stack_is_one_entry_a_level_and_the_mark_below(depth: int) -> None:
    assert pack(chain(depth), slices(depth)).stack == depth + 1


def test_sizes_are_those_of_the_paper() -> None:
    assert (NODE.itemsize, PACKED_TRIANGLE.itemsize, SCENE.itemsize) == (64, 48, 48)
