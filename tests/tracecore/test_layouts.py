"""Trees as packed for the GPU, read back: what all layouts share, and structs that the compiler checks."""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pytest

from tracecore.bvh.binned_sah import build
from tracecore.bvh.optimal_collapse import optimal_collapse
from tracecore.bvh.wide import EMPTY, collapse
from tracecore.checks.chain_tree import chain, slices
from tracecore.checks.ray_cases import Floats, soup
from tracecore.errors import KernelError
from tracecore.kernels.strategies import KERNELS  # type: ignore[attr-defined]
from tracecore.layout import bvh2, bvh4, compressed8, wide
from tracecore.layout.device_layout import PackedTree
from tracecore.precision import padded

#: By their names: layouts, how many triangles their leaves may have, and the headers of their structs.
LAYOUTS = {
    "bvh2": (bvh2.LAYOUT, 63, ("bvh2.cuh", "bvh2_node.cuh")),
    "bvh4": (bvh4.LAYOUT, 15, ("bvh4_node.cuh", "bvh4.cuh")),
    "wide8": (wide.LAYOUTS[8], 63, ("wide.cuh",)),
    "compressed8": (compressed8.LAYOUT, 3, ("compressed8_node.cuh", "compressed8.cuh")),
}

#: By so much of its size and of its distance from the origin a box of half sizes may be too large: a few roundings.
LOOSE = 2.0**-22


class Child(NamedTuple):
    """A child as its parent holds it, exactly. link: a node where not negative, else a leaf.

    corners, prim_ids: (n, 3, 3) and (n,), of the leaf's triangles: none of a child to spare.
    """

    lower: npt.NDArray[np.float64]
    upper: npt.NDArray[np.float64]
    link: int
    corners: Floats
    prim_ids: npt.NDArray[np.uint32]


def bvh2_boxes(record: Any) -> Iterator[tuple[Any, Any, Any]]:
    for link, xy, z in zip(record["child"], record["xy"], record["z"], strict=True):
        centre, half = (np.array([xy[i], xy[2 + i], z[i]], np.float64) for i in (0, 1))
        yield centre - half, centre + half, link


def bvh4_boxes(record: Any) -> Iterator[tuple[Any, Any, Any]]:
    lower, upper, again = (record["planes"][:, row].T.astype(np.float64) for row in range(3))
    assert (again == lower).all()
    return zip(lower, upper, record["child"], strict=True)


def wide_boxes(record: Any) -> Iterator[tuple[Any, Any, Any]]:
    for xy, z in zip(record["xy"], record["z"], strict=True):
        yield np.array([xy[0], xy[2], z["lower"]]), np.array([xy[1], xy[3], z["upper"]]), z["child"]


def side_by_side(packed: PackedTree, first: int, count: int) -> tuple[Floats, Any]:
    rows = packed.arrays["rows"][3 * first : 3 * (first + count)].reshape(3, count)
    assert (rows["prim_id"] == rows["prim_id"][0]).all()
    return rows["component"].transpose(1, 2, 0), rows["prim_id"][0]


def one_by_one(packed: PackedTree, first: int, count: int) -> tuple[Floats, Any]:
    rows = packed.arrays["triangles"]["rows"][first : first + count]
    assert (rows["prim_id"] == rows["prim_id"][:, :1]).all()
    return rows["component"].transpose(0, 2, 1), rows["prim_id"][:, 0]


class Way(NamedTuple):
    """How a layout is packed and read.

    bits: of a link that count a leaf's triangles.
    collapsed: the tree that it packs, whose children it may sort; None for the binary one.
    spare: lower and upper planes of children to spare.
    more: entries of the stack beyond those that a walk needs.
    """

    pack: Callable[..., PackedTree]
    boxes: Callable[[Any], Iterator[tuple[Any, Any, Any]]]
    triangles: Callable[[PackedTree, int, int], tuple[Floats, Any]]
    bits: int
    max_leaf: int
    collapsed: Callable[..., Any] | None = None
    is_sorted: bool = False
    spare: tuple[float, float] = (0.0, 0.0)
    more: int = 0
    loose: float = 0.0


MOST = float(np.finfo(np.float32).max)
WAYS = {
    "bvh2": Way(bvh2.pack, bvh2_boxes, one_by_one, bvh2.LEAF_COUNT_BITS, 4, is_sorted=True, loose=LOOSE),
    "bvh4": Way(bvh4.pack, bvh4_boxes, one_by_one, bvh4.LEAF_COUNT_BITS, 4,
        partial(optimal_collapse, width=bvh4.WIDTH, max_leaf=1), True, (MOST, -MOST), bvh4.WIDTH - 1),
} | {
    f"wide{width}": Way(wide.LAYOUTS[width].pack, wide_boxes, side_by_side, wide.LEAF_COUNT_BITS, width,
        partial(collapse, width=width, max_leaf=width), spare=(np.inf, np.inf))
    for width in wide.WIDTHS
}  # fmt: skip
COLLAPSED = [name for name, way in WAYS.items() if way.collapsed]


def packed_by(name: str, triangles: Floats) -> PackedTree:
    return WAYS[name].pack(build(triangles, max_leaf=WAYS[name].max_leaf), triangles)


def children(name: str, packed: PackedTree, node: int) -> list[Child]:
    """All children of a node, also those to spare."""
    way, found = WAYS[name], []
    for lower, upper, link in way.boxes(packed.arrays["nodes"][node]):
        leaf = 0 if link >= 0 else ~int(link)
        triangles = way.triangles(packed, leaf >> way.bits, leaf & ((1 << way.bits) - 1))
        found.append(Child(lower, upper, int(link), *triangles))
    return found


def is_spare(child: Child) -> bool:
    return child.link < 0 and len(child.prim_ids) == 0


def walked(name: str, packed: PackedTree, node: int = 0) -> tuple[Floats, Any]:
    """All triangles below a node; checks that each box is just what is below it, and a pad."""
    found, loose = [], WAYS[name].loose
    for child in children(name, packed, node):
        if is_spare(child):
            continue
        below = (child.corners, child.prim_ids) if child.link < 0 else walked(name, packed, child.link)
        lower, upper = padded(below[0].min(axis=(0, 1)), below[0].max(axis=(0, 1)))
        assert (child.lower <= lower).all()
        assert (child.upper >= upper).all()
        assert np.allclose([child.lower, child.upper], [lower, upper], loose, loose)
        found.append(below)
    corners, prim_ids = zip(*found, strict=True)
    return np.concatenate(corners), np.concatenate(prim_ids)


@pytest.mark.parametrize("name", WAYS)
@pytest.mark.parametrize("count", [1, 2, 9, 33, 1000])
def test_walk_finds_every_triangle_once_inside_its_box(name: str, count: int) -> None:
    triangles = soup(count)
    corners, prim_ids = walked(name, packed_by(name, triangles))
    assert sorted(prim_ids) == list(range(count))
    assert (corners == triangles[prim_ids]).all()


@pytest.mark.parametrize("name", COLLAPSED)
def test_children_are_those_of_the_wide_tree(name: str) -> None:
    way, triangles = WAYS[name], soup(1000)
    tree = build(triangles, max_leaf=way.max_leaf)
    expected, packed = way.collapsed(tree), way.pack(tree, triangles)  # type: ignore[misc]
    found = [children(name, packed, node) for node in range(packed.nodes)]
    links = np.array([[child.link if child.link >= 0 else EMPTY for child in node] for node in found])
    in_order = partial(np.sort, axis=1) if way.is_sorted else np.asarray
    assert np.array_equal(in_order(links), in_order(expected.wide))
    spare = np.array([[is_spare(child) for child in node] for node in found])
    assert np.array_equal(in_order(spare), in_order(expected.binary == EMPTY))


@pytest.mark.parametrize("name", COLLAPSED)
def test_children_to_spare_have_boxes_that_no_ray_hits(name: str) -> None:
    packed = packed_by(name, soup(40))
    spare = [child for node in range(packed.nodes) for child in children(name, packed, node) if is_spare(child)]
    assert spare or name == "wide2"
    for child in spare:
        assert child.link == ~0
        assert np.all(np.array([child.lower, child.upper]) == np.array(WAYS[name].spare)[:, None])


@pytest.mark.parametrize("name", [name for name, way in WAYS.items() if way.is_sorted])
def test_children_are_sorted_by_surface(name: str) -> None:
    packed = packed_by(name, soup(3000))

    def surface(node: int) -> float:
        found = []
        for child in children(name, packed, node):
            edges = (child.corners[:, 1:] - child.corners[:, :1]).astype(np.float64)
            own = np.linalg.norm(np.cross(edges[:, 0], edges[:, 1]), axis=1).sum()
            found += [] if is_spare(child) else [surface(child.link) if child.link >= 0 else own]
        assert all(one <= other * (1 + 1e-9) for one, other in pairwise(found))
        return float(sum(found))

    assert surface(0) > 0.0


@pytest.mark.parametrize("name", WAYS)
@pytest.mark.parametrize("depth", [0, 1, 2, 40])
def test_stack_is_what_a_walk_that_meets_everything_needs(name: str, depth: int) -> None:
    """Every child but one waits at each node, above the mark at the bottom."""
    packed = WAYS[name].pack(chain(depth), slices(depth)) if depth else packed_by(name, soup(1000))

    def need(node: int) -> int:
        links = [child.link for child in children(name, packed, node) if not is_spare(child)]
        return len(links) - 1 + max(need(link) if link >= 0 else 1 for link in links)

    assert packed.stack == need(0) + WAYS[name].more


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
    child, _ = children("bvh2", packed_by("bvh2", np.stack([corners, corners[::-1], corners], axis=-1)[None]), 0)
    bounds = [float(planes[0]) for planes in padded(np.full(3, lower, np.float32), np.full(3, upper, np.float32))]
    assert (child.lower <= bounds[0]).all()
    assert (child.upper >= bounds[1]).all()
    denormal = 3e-45
    assert np.allclose([child.lower[0], child.upper[0]], bounds, LOOSE, LOOSE * (bounds[1] - bounds[0]) + denormal)


def test_extent_is_the_largest_coordinate() -> None:
    triangles = soup(10)
    triangles[3, 1, 2] = -77.0
    assert bvh2.pack(build(triangles), triangles).scalars["extent"] == 77.0


@pytest.mark.parametrize("name", LAYOUTS)
def test_a_leaf_too_large_for_a_node(name):
    layout, most, _ = LAYOUTS[name]
    count = most + 1
    tree = replace(build(soup(1)), count=np.array([count], np.int32), order=np.arange(count, dtype=np.uint32))
    message = f"layout {name}: a leaf has {count} triangles, at most {most}; build with a lower max_leaf"
    with pytest.raises(KernelError, match=message):
        layout.pack(tree, soup(count))


@pytest.mark.parametrize(("module", "name"), [(bvh4, "bvh4"), (wide, "wide8")])
def test_too_many_triangles_for_a_slot(module, name, monkeypatch):
    largest = ((module.MAX_TRIANGLES - 1) << module.LEAF_COUNT_BITS) | module.MAX_LEAF
    assert largest == np.iinfo(np.int32).max
    monkeypatch.setattr(module, "MAX_TRIANGLES", 9)
    with pytest.raises(KernelError, match=f"layout {name}: 10 triangles, at most 9; split the scene"):
        LAYOUTS[name][0].pack(build(soup(10), max_leaf=4), soup(10))


@pytest.mark.parametrize("name", LAYOUTS)
def test_every_struct_is_checked_by_the_compiler(name):
    """Each constant that the layout hands over stands in an assertion of a header."""
    layout, _, headers = LAYOUTS[name]
    text = "".join((KERNELS / header).read_text() for header in (*headers, "packed_row.cuh"))
    asserted = set(re.findall(r"static_assert\(sizeof\(\w+\) == (\w+)", text))
    assert asserted == {constant for constant in layout.defines if constant.endswith("_BYTES")}


@pytest.mark.parametrize("name", LAYOUTS)
def test_any_number_of_threads_packs_the_same_bits(name, monkeypatch):
    layout, most, _ = LAYOUTS[name]
    triangles, packed = soup(9000), []
    tree = build(triangles, max_leaf=1 if most == 3 else 4)
    monkeypatch.setattr("tracecore.bvh.wide.LEVEL_PIECE", 100)
    for cores in (1, 3):
        monkeypatch.setattr("tracecore.threads.usable_cores", lambda cores=cores: cores)
        packed.append(layout.pack(tree, triangles))
    one, other = packed
    assert (one.scalars, one.nodes, one.stack) == (other.scalars, other.nodes, other.stack)
    assert {key: array.tobytes() for key, array in one.arrays.items()} == {
        key: array.tobytes() for key, array in other.arrays.items()
    }
