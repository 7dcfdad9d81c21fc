"""Ranges of passes or photons that parts have: which there are together, which are missing, which are there twice."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from renderer.errors import PartError

#: Disjoint, counting up, (first, end) each.
Ranges = Sequence[tuple[int, int]]


class Noun(NamedTuple):
    """Is what a range counts, in words."""

    one: str
    many: str


PASSES, PHOTONS = Noun("pass", "passes"), Noun("photon", "photons")


def check_disjoint(held: Iterable[tuple[tuple[int, int], Path]], noun: Noun) -> None:
    """Raises `PartError` where two ranges have something in common. held: ranges, each with the file that has it."""
    for (before, path), (after, other) in pairwise(sorted(held)):
        if after[0] < before[1]:
            both = (after[0], min(before[1], after[1]))
            where = f"'{path}' is named twice" if path == other else f"in '{path}' and in '{other}'"
            raise PartError(f"{told([both], noun)} twice there, {where}; leave one out")


def together(ranges: Ranges) -> tuple[tuple[int, int], ...]:
    """Returns disjoint ranges, counting up, with those that touch made one."""
    found: list[tuple[int, int]] = []
    for first, end in sorted(ranges):
        if found and found[-1][1] == first:
            found[-1] = (found[-1][0], end)
        else:
            found.append((first, end))
    return tuple(found)


def gaps(ranges: Ranges, count: int) -> list[tuple[int, int]]:
    """Returns the ranges, of so many from 0 on, that are not in any of these, which are disjoint and count up."""
    ends, firsts = [0, *(end for _, end in ranges)], [*(first for first, _ in ranges), count]
    return [(end, first) for end, first in zip(ends, firsts, strict=True) if end < first]


def told(ranges: Ranges, noun: Noun) -> str:
    """Returns ranges in words, with a verb."""
    names = [f"{first}" if end == first + 1 else f"{first} to {end - 1}" for first, end in ranges]
    is_one = len(ranges) == 1 and ranges[0][1] == ranges[0][0] + 1
    return f"{noun.one} {names[0]} is" if is_one else f"{noun.many} {', '.join(names)} are"
