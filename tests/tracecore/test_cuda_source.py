"""Includes resolved into one text."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tracecore.errors import KernelError
from tracecore.kernels.source import KERNELS, flatten
from tracecore.kernels.strategies import find_strategy, strategy_names

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(**texts: str) -> Path:
        for name, text in texts.items():
            (tmp_path / name).write_text(text)
        return tmp_path / next(iter(texts))

    return write


def located(text: str) -> Iterator[tuple[str, int, str]]:
    """Lines of a flattened text with the file and number that a compiler would name."""
    file, number = "", 0
    for line in text.splitlines():
        if match := re.fullmatch(r'#line (\d+) "(.+)"', line):
            file, number = match[2], int(match[1])
        else:
            yield file, number, line
            number += 1


def test_included_text_stands_where_the_include_was(write: Write) -> None:
    main = write(main='one\n#include "other"\nthree', other="two")
    assert list(located(flatten(main))) == [("main", 1, "one"), ("other", 1, "two"), ("main", 3, "three")]


def test_each_file_comes_once(write: Write) -> None:
    main = write(main='#include "a"\n#include "b"\n', a='#include "b"\nA\n', b="B\n")
    assert [line for _, _, line in located(flatten(main))] == ["B", "A"]


def test_pragma_once_goes_and_lines_stay(write: Write) -> None:
    main = write(main='#include "a"', a="#pragma once\nA")
    assert [line for line in located(flatten(main)) if line[2]] == [("a", 2, "A")]


def test_own_file_goes_before_the_kernels(write: Write) -> None:
    text = flatten(write(main='#include "ray.cuh"\n#include "box.cuh"\n', **{"ray.cuh": "MINE\n"}))
    assert "MINE" in text
    assert "struct BoxRay" in text
    assert "struct Ray {" in text  # box.cuh means the one beside it


@pytest.mark.parametrize("name", strategy_names())
def test_lines_of_kernels_keep_their_place(name: str) -> None:
    text = flatten(find_strategy(name).source)
    lines = [line for line in located(text) if line[2]]
    assert len(lines) > 200
    assert not re.search(r'#\s*include\s*"', text)
    for file, number, line in lines:
        assert (KERNELS / file).read_text().splitlines()[number - 1] == line


def test_a_changed_include_changes_the_text(write: Write) -> None:
    main = write(main='#include "a"', a="old")
    before = flatten(main)
    write(a="new")
    assert flatten(main) != before


def test_cycle(write: Write) -> None:
    main = write(main='\n#include "a"', a='#include "b"', b='\n\n#include "a"')
    with pytest.raises(KernelError, match=r"b:3: include cycle: main -> a -> b -> a"):
        flatten(main)


def test_missing_include(write: Write) -> None:
    with pytest.raises(KernelError, match=r'main:2: #include "gone.cuh": no such file in .*kernels'):
        flatten(write(main='\n#include "gone.cuh"'))
