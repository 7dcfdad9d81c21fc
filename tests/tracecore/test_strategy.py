"""The registry of kernel strategies."""

from dataclasses import FrozenInstanceError, replace

import pytest

from tracecore import strategy
from tracecore.errors import KernelError
from tracecore.strategy import DEFAULT_KERNEL, find_strategy, register_strategy, strategy_names


@pytest.fixture(autouse=True)
def _own_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(strategy, "_strategies", dict(strategy._strategies))


def test_default_is_registered() -> None:
    assert DEFAULT_KERNEL in strategy_names()
    assert find_strategy(None).name == DEFAULT_KERNEL


def test_found_by_name_and_as_itself() -> None:
    row = find_strategy("while-while")
    assert row.name == "while-while"
    unregistered = replace(row, name="mine")
    assert find_strategy(unregistered) is unregistered


def test_unknown_name_lists_the_registered_ones() -> None:
    with pytest.raises(KernelError, match=r"unknown kernel 'bvh9'; registered: while-while, speculative-while-while"):
        find_strategy("bvh9")


def test_registered_is_found_and_listed_last() -> None:
    mine = register_strategy(replace(find_strategy("while-while"), name="mine"))
    assert find_strategy("mine") is mine
    assert strategy_names()[-1] == "mine"


def test_name_taken() -> None:
    with pytest.raises(KernelError, match="'while-while' is registered already"):
        register_strategy(find_strategy("while-while"))


@pytest.mark.parametrize("block_size", [0, 48, 2048])
def test_block_size_must_be_whole_warps(block_size: int) -> None:
    with pytest.raises(KernelError, match=f"block_size {block_size} is no multiple of 32 up to 1024"):
        register_strategy(replace(find_strategy("while-while"), name="mine", block_size=block_size))


def test_rows_are_frozen() -> None:
    with pytest.raises(FrozenInstanceError):
        find_strategy("while-while").block_size = 64  # type: ignore[misc]


def test_constants_join_all_sources() -> None:
    row = replace(find_strategy("while-while"), block_size=64, stack_size=7, defines={"SPECULATIVE": 1, "MINE": 3})
    expected = {"BLOCK_SIZE": "64", "STACK_SIZE": "7", "SPECULATIVE": "1", "MINE": "3", "RAY_BYTES": "32"}
    assert expected.items() <= row.constants.items()
    assert row.layout.defines.items() <= row.constants.items()


@pytest.mark.parametrize("name", strategy_names())
def test_every_row_is_whole(name: str) -> None:
    row = find_strategy(name)
    assert row.source.is_file()
    assert row.citation
