"""This module splits a text of a million lines into words without a loop over them: a word is a place in an array of
bytes, a line a run of words."""

import re
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

from scenes.errors import Notes, SceneFileError
from scenes.files.source_file import as_utf8

Bytes = npt.NDArray[np.uint8]
Flags = npt.NDArray[np.bool_]
Places = npt.NDArray[np.int64]

MAX_QUOTE = 40
BLANKS = b" \t\r\n\v\f"
#: Bytes of a piece of a file that is looked at before all of it is read.
PIECE = 1 << 20
UTF16 = (b"\xff\xfe", b"\xfe\xff")
UTF8_MARK = b"\xef\xbb\xbf"
#: A line that goes on, and a comment.
CONTINUED, COMMENT = re.compile(rb"\\[ \t\r]*\n"), re.compile(rb"#[^\n]*")
NUMBER = re.compile(rb"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
#: Makes all blanks the same.
ALL_BLANK = bytes.maketrans(BLANKS, b" " * len(BLANKS))
_IS_BLANK = np.isin(np.arange(256), list(BLANKS))


def plain_text(path: Path, data: bytes, notes: Notes) -> bytes:
    """Returns a text as UTF-8 whose lines end in a line feed; what else it was is noted."""
    if data.startswith(UTF16):
        try:
            data = data.decode("utf-16").encode("utf-8", "replace")
        except UnicodeDecodeError as error:
            raise SceneFileError(path, None, "begins as UTF-16 does, but is no text of it") from error
        notes.add("the text is UTF-16", path)
    check_no_zero(path, [data])
    data = data.removeprefix(UTF8_MARK)
    text = as_utf8(data)
    if text != data:
        notes.add("the text is not UTF-8, and taken for Latin-1", path)
    return text if b"\n" in text else text.replace(b"\r", b"\n")


def check_text(path: Path, file: BinaryIO) -> None:
    """Raises SceneFileError where a file has a byte of zero, as no text has but one of UTF-16, piece by piece."""
    is_utf16 = file.read(len(UTF16[0])) in UTF16
    file.seek(0)
    if not is_utf16:
        check_no_zero(path, iter(lambda: file.read(PIECE), b""))


def check_no_zero(path: Path, pieces: Iterable[bytes]) -> None:
    """Raises SceneFileError, with the line, where a text has a byte of zero. pieces: of the text, in order."""
    line = 1
    for piece in pieces:
        zero = piece.find(b"\0")
        if zero >= 0:
            raise SceneFileError(path, line + piece.count(b"\n", 0, zero), "expected text, got a byte of zero")
        line += piece.count(b"\n")


def blanked(match: re.Match[bytes]) -> bytes:
    """Returns blanks instead of what was found."""
    return b" " * (match.end() - match.start())


class ObjLines:
    """Holds the lines of a text that have words.

    text: (b,) uint8, without comments and line ends that do not count.
    starts, ends: (w,) int64, where each word is in the text.
    first, counts: (n,) int64, of each line: its first word, and how many it has.
    """

    def __init__(self, path: Path, data: bytes) -> None:
        self.path, self.data = path, data
        self.whole = CONTINUED.sub(blanked, data) if b"\\" in data else data
        self.text: Bytes = np.frombuffer(COMMENT.sub(blanked, self.whole) if b"#" in data else self.whole, np.uint8)
        blank = np.concatenate([[True], _IS_BLANK[self.text], [True]])
        self.starts: Places = np.flatnonzero(blank[:-1] & ~blank[1:])
        self.ends: Places = np.flatnonzero(~blank[:-1] & blank[1:])
        line_starts = np.concatenate([[0], np.flatnonzero(self.text == ord("\n")) + 1])
        first = np.searchsorted(self.starts, line_starts)
        counts = np.diff(first, append=len(self.starts))
        self.first: Places = first[counts > 0]
        self.counts: Places = counts[counts > 0]

    def number(self, line: int) -> int:
        """Returns the number in the file, from 1, of where a line begins."""
        return 1 + self.data.count(b"\n", 0, int(self.starts[self.first[line]]))

    def error(self, line: int, message: str) -> SceneFileError:
        return SceneFileError(self.path, self.number(line), message)

    def of_kind(self, kind: bytes) -> Flags:
        """Returns which lines, (n,) bool, begin with a word."""
        start = self.starts[self.first]
        found: Flags = self.ends[self.first] - start == len(kind)
        for index, letter in enumerate(kind):
            found &= self.text[np.minimum(start + index, len(self.text) - 1)] == letter
        return found

    def content(self, line: int) -> tuple[str, str]:
        """Returns the first word of a line and the rest of it, in which what looks like a comment may belong to a
        name."""
        start, end = int(self.starts[self.first[line]]), int(self.ends[self.first[line]])
        last = self.whole.find(b"\n", end)
        rest = self.whole[end : last if last >= 0 else len(self.whole)]
        return self.whole[start:end].decode("utf-8"), rest.decode("utf-8").strip()

    def words(self, line: int) -> Iterator[bytes]:
        """Yields the words of a line after the first."""
        first = int(self.first[line])
        for word in range(first + 1, first + int(self.counts[line])):
            yield self.text[self.starts[word] : self.ends[word]].tobytes()

    def joined(self, lines: Places) -> bytes:
        """Returns the words after the first of some lines, which are in order, with blanks between all."""
        if not len(lines):
            return b" "
        begins, ends = self.ends[self.first[lines]], self.ends[self.first[lines] + self.counts[lines] - 1]
        first, last = int(begins[0]), int(ends[-1])
        change = np.zeros(last - first + 1, dtype=np.int8)
        change[begins - first] += 1
        change[ends - first] -= 1
        chosen = self.text[first:last][np.cumsum(change[:-1], dtype=np.int8).view(np.bool_)]
        return chosen.tobytes().translate(ALL_BLANK) + b" "


def numbers_in(text: bytes, dtype: npt.DTypeLike) -> npt.NDArray[np.generic] | None:
    """Returns the numbers of a text, or None where something else is in it."""
    if text.isspace():
        return np.zeros(0, dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)
        try:
            return np.fromstring(text, dtype=dtype, sep=" ")
        except (DeprecationWarning, ValueError):
            return None
