"""A tree that is packed before a tracer is opened with it is not packed again, and gives the same hits."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tracecore.bvh.tree import BinaryTree
from tracecore.checks.ray_cases import soup
from tracecore.kernels.strategies import find_strategy
from tracecore.layout.ahead import pack_ahead, packed
from tracecore.rays import Floats
from tracecore.tracers.cpu import CpuTracer, pack_wide

TRIANGLES = soup(50)


def counted(pack: Callable[[BinaryTree, Floats], Any], calls: list[int]) -> Callable[[BinaryTree, Floats], Any]:
    def pack_and_count(tree: BinaryTree, triangles: Floats) -> Any:
        calls.append(len(triangles))
        return pack(tree, triangles)

    return pack_and_count


def tree() -> BinaryTree:
    return find_strategy(None).build(TRIANGLES)


def test_what_is_packed_ahead_is_taken_once_by_the_same_layout_and_tree() -> None:
    calls: list[int] = []
    pack, one, other = counted(pack_wide, calls), tree(), tree()
    pack_ahead(pack, one, TRIANGLES)
    packed(pack, other, TRIANGLES)
    assert len(calls) == 2
    packed(pack, one, TRIANGLES)
    assert len(calls) == 2
    packed(pack, one, TRIANGLES)
    assert len(calls) == 3
    pack_ahead(pack, one, TRIANGLES)
    packed(pack_wide, one, TRIANGLES)  # another layout, which packs by itself
    assert len(calls) == 4


def test_a_strategy_packs_no_tree_again(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    strategy = find_strategy(None)
    layout = replace(strategy.layout, pack=counted(strategy.layout.pack, calls))
    own, one = replace(strategy, layout=layout), tree()
    pack_ahead(layout.pack, one, TRIANGLES)
    ahead, afresh = own.pack(one, TRIANGLES), own.pack(one, TRIANGLES)
    assert len(calls) == 2
    for name, array in afresh.arrays.items():
        assert array.tobytes() == ahead.arrays[name].tobytes(), name


def test_the_tracer_of_the_cpu_packs_no_tree_again(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    monkeypatch.setattr("tracecore.tracers.cpu.pack_wide", counted(pack_wide, calls))
    from tracecore.tracers import cpu

    one = tree()
    places = [(x, y) for x in (-0.5, 0.0, 0.5) for y in (-0.5, 0.0, 0.5)]
    rays = np.array([[x, y, -9.0, 0.0, 0.0, 0.0, 1.0, np.inf] for x, y in places], np.float32)
    with CpuTracer(TRIANGLES, threads=1) as tracer:
        expected = tracer.closest_hit(rays)
    pack_ahead(cpu.pack_wide, one, TRIANGLES)
    made = len(calls)
    with CpuTracer(TRIANGLES, threads=1, tree=one) as tracer:
        assert tracer.closest_hit(rays).tobytes() == expected.tobytes()
    assert len(calls) == made
