"""This module splits an AFF file into words and reads them as numbers, counts and names, with line numbers for errors.

Files are bytes: words are what ASCII white space and braces separate, and names are decoded as Latin-1 for messages.
Comments of AFF are not the lexer's business, because `#` and `%` start one only where a command may stand. In NFF a
word that begins with `#` starts one anywhere.
"""

import os
import re
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from scenes.document import Origin
from scenes.errors import SceneFileError
from scenes.files.source_file import read_bytes
from scenes.meshes.geometry import MAX_COORDINATE
from scenes.model import Color, Doubles, Indices
from scenes.views.viewing import triple

#: No number of a file is larger. Keeps products of two numbers finite.
MAX_NUMBER = 1e30
MAX_FILE_BYTES = 1 << 29
LONGEST_QUOTE = 40
MAX_COLOR = 1e6
#: From a word that begins with # to the end of its line.
NFF_COMMENT = re.compile(rb"(?<![^\s])#[^\r\n]*")


@dataclass(frozen=True, eq=False)
class Words:
    """Holds all words of one file. line_starts: how many words stand before each line."""

    path: Path
    words: list[bytes]
    line_starts: list[int]

    def line_of(self, index: int) -> int:
        """Returns the 1-based line of a word; the last line for an index past the end."""
        return bisect_right(self.line_starts, index)

    def line_end(self, index: int) -> int:
        """Returns the index of the first word after the line of a word."""
        line = self.line_of(index)
        return self.line_starts[line] if line < len(self.line_starts) else len(self.words)


def split_words(path: Path) -> Words:
    """Returns the words of a file. Raises SceneFileError when it cannot be read."""
    data = read_bytes(path, MAX_FILE_BYTES).removeprefix(b"\xef\xbb\xbf")
    if path.suffix.lower() == ".nff":
        data = NFF_COMMENT.sub(b"", data)
    words: list[bytes] = []
    line_starts: list[int] = []
    for line in data.replace(b"{", b" { ").replace(b"}", b" } ").splitlines():
        line_starts.append(len(words))
        words += line.split()
    return Words(path, words, line_starts)


def quote(word: bytes) -> str:
    """Returns a word in the form in which messages show it."""
    text = word.decode("latin-1")
    return repr(text if len(text) <= LONGEST_QUOTE else text[:LONGEST_QUOTE] + "...")


def shown(name: str) -> str:
    """Returns a name as messages show it."""
    return quote(name.encode("utf-8", "surrogateescape"))


def looks_numeric(word: bytes) -> bool:
    """Returns whether a word starts as a number does."""
    return word[:1] in b"+-.0123456789" and word != b""


def number_fault(word: bytes) -> str | None:
    """Returns a remark on what is wrong with a number, which may be empty, or None where nothing is wrong."""
    try:
        value = float(word)
    except ValueError:
        return ""
    if b"_" in word:
        return ""
    return None if abs(value) <= MAX_NUMBER else f" (numbers are finite, at most {MAX_NUMBER:g} in size)"


def is_integer(word: bytes) -> bool:
    """Returns whether a word is a whole number that an int32 holds."""
    digits = word[1:] if word[:1] in (b"+", b"-") else word
    return digits.isdigit() and len(digits) <= 12 and -(2**31) <= int(word) < 2**31


class NumberKind(NamedTuple):
    """Says what words are numbers of a kind.

    plural: they are called.
    read: returns the number of a word, or raises ValueError.
    fault: returns a remark on what is wrong with a word, which may be empty, or None where nothing is wrong.
    """

    plural: str
    dtype: type
    read: Callable[[bytes], float]
    fault: Callable[[bytes], str | None]


FLOAT = NumberKind("numbers", np.float64, float, number_fault)
INTEGER = NumberKind("whole numbers", np.int32, int, lambda word: None if is_integer(word) else "")


class Cursor:
    """Stands at one of the words of a file and moves on as they are read. Every reading method moves on, or raises
    SceneFileError at the word at fault."""

    def __init__(self, words: Words) -> None:
        self.source = words
        self.words = words.words
        self.position = 0

    @property
    def at_end(self) -> bool:
        """Returns whether all words are read."""
        return self.position >= len(self.words)

    @property
    def origin(self) -> Origin:
        """Returns the line of the word that was just taken, the letters of a command."""
        return Origin(self.source.path, self.source.line_of(self.position - 1))

    def peek(self) -> bytes:
        """Returns the next word without taking it, or b"" at the end of the file."""
        return b"" if self.at_end else self.words[self.position]

    def error(self, message: str, at: int | None = None) -> SceneFileError:
        """Returns the error to raise about the word at an index, or about the next word if the index is None."""
        return SceneFileError(self.source.path, self.source.line_of(self.position if at is None else at), message)

    def take(self, expected: str) -> bytes:
        """Takes the next word, whatever it is."""
        if self.at_end:
            raise self.error(f"expected {expected}, got the end of the file")
        self.position += 1
        return self.words[self.position - 1]

    def skip_line(self) -> None:
        """Moves past the end of the line on which the last taken word stands."""
        self.position = self.source.line_end(self.position - 1)

    def keyword(self, word: bytes) -> None:
        """Takes a word that must stand here."""
        expected = quote(word)
        if self.take(expected) != word:
            raise self.error(f"expected {expected}, got {quote(self.words[self.position - 1])}", self.position - 1)

    def optional_keyword(self, word: bytes) -> bool:
        """Takes a word if it is the next one, and returns whether it was."""
        found = self.peek() == word
        self.position += found
        return found

    def name(self, expected: str) -> str:
        """Takes a name, which may be any word but a brace."""
        word = self.take(expected)
        if word in (b"{", b"}"):
            raise self.error(f"expected {expected}, got {quote(word)}", self.position - 1)
        return os.fsdecode(word)

    def floats(self, count: int, expected: str) -> Doubles:
        """Takes so many finite numbers, (count,) float64."""
        return np.asarray(self._array(count, expected, FLOAT), np.float64)

    def integers(self, count: int, expected: str) -> Indices:
        """Takes so many whole numbers, (count,) int32."""
        return np.asarray(self._array(count, expected, INTEGER), np.int32)

    def _array(self, count: int, expected: str, kind: NumberKind) -> npt.NDArray[Any]:
        """Takes so many numbers of a kind. Nothing is allocated before the words are seen to exist."""
        words = self.words[self.position : self.position + count]
        try:
            values: npt.NDArray[Any] = np.array([kind.read(word) for word in words], kind.dtype)
        except (ValueError, OverflowError):
            raise self._array_error(count, expected, kind) from None
        if len(words) < count or b"_" in b"".join(words) or not np.all(np.abs(values) <= MAX_NUMBER):
            raise self._array_error(count, expected, kind)
        self.position += count
        return values

    def _array_error(self, count: int, expected: str, kind: NumberKind) -> SceneFileError:
        """Returns the error about the first of the next words that is no number of a kind."""
        for number, index in enumerate(range(self.position, min(self.position + count, len(self.words)))):
            fault = kind.fault(self.words[index])
            if fault is not None:
                which = f" (number {number + 1} of {count})" if count > 1 else ""
                return self.error(f"expected {expected}{which}, got {quote(self.words[index])}{fault}", index)
        present = f"got the end of the file after {len(self.words) - self.position}"
        return self.error(f"expected {expected} ({count} {kind.plural}), {present}", len(self.words))

    def color(self, expected: str) -> Color:
        """Takes three numbers from 0 to MAX_COLOR."""
        values = self.floats(3, expected)
        wrong = np.flatnonzero((values < 0.0) | (values > MAX_COLOR))
        if len(wrong):
            at = self.position - 3 + int(wrong[0])
            raise self.error(f"expected {expected} from 0 to {MAX_COLOR:g}, got {values[wrong[0]]:g}", at)
        return triple(values)

    def points(self, count: int, width: int, expected: str) -> Doubles:
        """Takes (count, width) numbers, so many per point; the first three are its coordinates."""
        start = self.position
        points = self.floats(count * width, expected).reshape(count, width)
        far = np.flatnonzero(np.abs(points[:, :3]).max(axis=1, initial=0.0) > MAX_COORDINATE)
        if len(far):
            raise self.error(f"coordinates reach at most {MAX_COORDINATE:g}", start + int(far[0]) * width)
        return points

    def number(self, expected: str) -> float:
        """Takes one finite number."""
        return float(self.floats(1, expected)[0])

    def count(self, expected: str, minimum: int = 0) -> int:
        """Takes a whole number that is at least `minimum`."""
        word = self.take(expected)
        value = int(word) if is_integer(word) else None
        if value is None or value < minimum:
            raise self.error(f"expected {expected} (at least {minimum}), got {quote(word)}", self.position - 1)
        return value
