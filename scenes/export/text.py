"""This module writes text files and chooses the words in them."""

import re
from collections.abc import Iterable
from itertools import chain
from pathlib import Path

from scenes.files.marks import WRITTEN_BY

#: What no name keeps: all but letters, digits and what no format gives a meaning to.
OTHERS = re.compile(r"[^\w.-]+")


def words(names: Iterable[str]) -> list[str]:
    """Makes a word for each name, no two alike, not even where case does not count, as in the names of some systems'
    files.

    Names that are such words already stay as they are.
    """
    found: list[str] = []
    taken: set[str] = set()
    for name in names:
        stem = OTHERS.sub("_", name) or "unnamed"
        word, count = stem, 1
        while word.casefold() in taken:
            count += 1
            word = f"{stem}-{count}"
        taken.add(word.casefold())
        found.append(word)
    return found


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """Writes lines to a text file of a format whose comments begin with #, after the mark."""
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(f"{line}\n" for line in chain([f"# {WRITTEN_BY}"], lines))
