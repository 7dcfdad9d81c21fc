"""This module counts how many words files have with all that they include, before anything is made of them: a few files
that include one another twice each stand for more words than can be read in a life."""

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from scenes.aff.lexer import Words, is_integer

INCLUDE, DETAIL = b"i", b"d"


@dataclass(frozen=True)
class ExpandedSize:
    """Says how many words and files are read. again: words of files that were counted before."""

    words: int = 0
    files: int = 0
    again: int = 0

    def __add__(self, other: "ExpandedSize") -> "ExpandedSize":
        return ExpandedSize(self.words + other.words, self.files + other.files, self.again + other.again)


@dataclass(eq=False)
class Expansion:
    """Counts the words of files.

    find: returns the words of a file by the name that an include has, or None where there is none.
    """

    find: Callable[[str], Words | None]
    detail: int = 0
    _known: dict[Path, ExpandedSize] = field(default_factory=dict)
    _open: set[Path] = field(default_factory=set)

    def size_of(self, source: Words) -> ExpandedSize:
        """Returns the size of a file with its includes; what includes itself counts once, and is refused elsewhere."""
        if source.path in self._known:
            known = self._known[source.path]
            return ExpandedSize(known.words, known.files, known.words)
        if source.path in self._open:
            return ExpandedSize()
        self._open.add(source.path)
        size = ExpandedSize(len(source.words), 1)
        for name in self.included(source.words):
            inner = self.find(name)
            size += ExpandedSize() if inner is None else self.size_of(inner)
        self._open.remove(source.path)
        self._known[source.path] = size
        return size

    def included(self, words: list[bytes]) -> list[str]:
        """Returns the names that files are included by, in their order. A level of detail counts wherever it stands."""
        found = []
        for index, word in enumerate(words[:-1]):
            if word == DETAIL and is_integer(words[index + 1]):
                self.detail = max(self.detail, int(words[index + 1]))
            elif word == INCLUDE and index + 2 < len(words) and is_integer(words[index + 1]):
                found += [os.fsdecode(words[index + 2])] if int(words[index + 1]) <= self.detail else []
        return found
