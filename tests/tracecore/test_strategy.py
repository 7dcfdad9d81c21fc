"""The registry of kernel strategies."""

from dataclasses import replace

import numpy as np
import pytest

from tracecore.errors import KernelError
from tracecore.kernels import strategies
from tracecore.kernels.strategies import find_strategy, register_strategy, strategy_names
from tracecore.layout.device_layout import PackedTree


@pytest.fixture(autouse=True)
def _own_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(strategies, "_strategies", dict(strategies._strategies))


def test_a_kernel_cannot_be_called_auto() -> None:
    with pytest.raises(KernelError, match="'auto' is registered already"):
        register_strategy(replace(find_strategy("while-while"), name="auto"))


@pytest.mark.parametrize(("leaf", "is_taken"), [(3, True), (4, False)])
def test_a_tree_is_taken_whose_leaves_the_layout_has_room_for(leaf: int, is_taken: bool) -> None:
    tree = find_strategy("while-while").build(np.zeros((leaf, 3, 3), np.float32))
    assert tree.count.max() == leaf
    assert find_strategy("compressed-bvh8").takes(tree) == is_taken
    assert find_strategy("while-while").takes(tree)


@pytest.mark.parametrize("block_size", [0, 48, 2048])
def test_block_size_must_be_whole_warps(block_size: int) -> None:
    with pytest.raises(KernelError, match=f"block_size {block_size} is no multiple of 32 up to 1024"):
        replace(find_strategy("while-while"), name="mine", block_size=block_size)


@pytest.mark.parametrize("lanes", [0, 3, 64])
def test_lanes_of_a_ray_must_divide_a_warp(lanes: int) -> None:
    with pytest.raises(KernelError, match=f"'mine': lanes_per_ray {lanes} is no power of two up to 32"):
        replace(find_strategy("while-while"), name="mine", lanes_per_ray=lanes)


def test_all_warps_of_a_resident_kernel_stay() -> None:
    """Whether a strategy is persistent makes no other resident kernel of it, which would be compiled once more."""
    row = find_strategy("while-while")
    assert replace(row, persistent=True).constants(resident=True) == row.constants(resident=True)
    assert replace(row, persistent=True).constants() != row.constants()


def packed(stack: int) -> PackedTree:
    return PackedTree(arrays={}, scalars={}, nodes=1, stack=stack)


@pytest.mark.parametrize(("need", "size"), [(0, 32), (1, 32), (32, 32), (33, 64), (64, 64), (65, 80), (81, 96)])
def test_a_stack_is_made_for_the_tree(need: int, size: int) -> None:
    assert find_strategy("while-while").stack_for(packed(need)) == size


def test_a_stack_of_its_own_must_do_for_the_tree() -> None:
    row = replace(find_strategy("while-while"), stack_size=20)
    assert row.stack_for(packed(20)) == 20
    with pytest.raises(
        KernelError, match=r"'while-while' has a stack of 20 entries, but this tree needs 21; .*stack_size"
    ):
        row.stack_for(packed(21))


@pytest.mark.parametrize(
    ("lanes", "rays", "blocks"), [(1, 1, 1), (1, 128, 1), (1, 129, 2), (8, 16, 1), (8, 17, 2), (32, 5, 2)]
)
def test_blocks_have_a_lane_for_every_ray(lanes: int, rays: int, blocks: int) -> None:
    assert replace(find_strategy("while-while"), lanes_per_ray=lanes).blocks_for(rays) == blocks


@pytest.mark.parametrize("name", strategy_names())
def test_every_row_is_whole(name: str) -> None:
    row = find_strategy(name)
    assert row.source.is_file()
    assert row.citation


def test_name_taken() -> None:
    with pytest.raises(KernelError, match="'while-while' is registered already"):
        register_strategy(find_strategy("while-while"))


def test_registered_is_found_and_listed_last() -> None:
    mine = register_strategy(replace(find_strategy("while-while"), name="mine"))
    assert find_strategy("mine") is mine
    assert strategy_names()[-1] == "mine"
