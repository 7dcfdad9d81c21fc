"""This module reads the statements of a file: a word that begins it, and the values after it up to the next such word.

A run of numbers in brackets is read in one step, so that meshes of millions of triangles take seconds.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from scenes.errors import SceneFileError
from scenes.model import Doubles

MAX_QUOTE = 40
#: Blanks and comments, then a quoted text, a bracket, a word, or a quote that nothing closes, or the end.
TOKEN = re.compile(
    rb'(?:\s+|#[^\n]*)*(?:"(?P<text>(?:[^"\\\n]|\\.)*)"|(?P<mark>[\[\]])|(?P<word>[^\s\[\]"#]+)|(?P<rest>"|\Z))'
)
ESCAPE = re.compile(r'\\(["\\])')
#: Words that are values and begin no statement.
FLAGS = {b"true": True, b"false": False}
MOMENTS = (b"All", b"StartTime", b"EndTime")
NUMBER_STARTS = b"+-.0123456789"


class UnmadeError(SceneFileError):
    """A name is used that nothing before has made, which may follow from something else that is wrong."""


@dataclass(frozen=True)
class FileLine:
    """Names a line of a file."""

    path: Path
    line: int

    def error(self, message: str) -> SceneFileError:
        return SceneFileError(self.path, self.line, message)

    def unmade(self, kind: str, name: str) -> UnmadeError:
        """Returns the error to raise about the name of a kind of thing that is used there and was not made."""
        return UnmadeError(self.path, self.line, f"no {kind} {name[:80]!r} was made before this")


@dataclass(frozen=True)
class Word:
    """Holds a word without quotes that is neither a number nor true or false."""

    text: str


#: What stands after the first word of a statement; a list is what brackets hold if that is not numbers alone.
Value = str | bool | Word | Doubles | list[str] | list[bool]


@dataclass(frozen=True, eq=False)
class Statement:
    """Holds a statement: its first word and the values up to the next one, each with its line."""

    name: str
    place: FileLine
    values: list[tuple[Value, int]] = field(default_factory=list)

    def error(self, message: str) -> SceneFileError:
        return self.place.error(message)


def statements(path: Path, data: bytes) -> Iterator[Statement | SceneFileError]:
    """Yields the statements of a file in order, and an error in the place of one that cannot be read."""
    scanner = Scanner(path, data)
    statement: Statement | None = None
    fault: SceneFileError | None = None
    while True:
        try:
            found = scanner.next()
        except SceneFileError as error:
            fault = fault or error
            continue
        if found is None or isinstance(found, Statement):
            if fault is not None:
                yield fault
            elif statement is not None:
                yield statement
            if found is None:
                return
            statement, fault = found, None
        elif statement is not None:
            statement.values.append(found)
        else:
            fault = fault or FileLine(path, found[1]).error("expected a directive at the beginning of the file")


class Scanner:
    """Reads the bytes of a file from the beginning to the end. line: of what was read last."""

    def __init__(self, path: Path, data: bytes) -> None:
        self.path, self.data = path, data
        self.line, self._counted, self._position = 1, 0, 0
        self._closing = data.find(b"]")

    def next(self) -> tuple[Value, int] | Statement | None:
        """Returns the next value with its line, or the beginning of the next statement, or None at the end.

        Raises SceneFileError for what is neither; the next call goes on behind it.
        """
        match = self.match()
        if match is None:
            return None
        if match["text"] is not None:
            return text_of(match["text"]), self.line
        if match["mark"] == b"[":
            return self.bracketed(), self.line
        if match["mark"] is not None:
            raise self.error("expected no ']' without a '[' before it")
        word = match["word"]
        if word in FLAGS:
            return FLAGS[word], self.line
        if word in MOMENTS:
            return Word(word.decode()), self.line
        if word[0] in NUMBER_STARTS:
            return self.numbers(word), self.line
        return Statement(as_text(word), FileLine(self.path, self.line))

    def match(self) -> re.Match[bytes] | None:
        """Returns the next token, or None at the end."""
        match = TOKEN.match(self.data, self._position)
        assert match is not None
        assert match.lastgroup is not None
        start = match.start(match.lastgroup)
        self.line += self.data.count(b"\n", self._counted, start)
        self._counted, self._position = start, match.end()
        if match.lastgroup != "rest":
            return match
        if match["rest"] == b"":
            return None
        end = self.data.find(b"\n", start)
        self._position = len(self.data) if end < 0 else end
        raise self.error("expected a '\"' at the end of a text")

    def bracketed(self) -> Value:
        """Returns what is between a '[', which has been read, and its ']'."""
        end = self.closing()
        is_plain = end >= 0 and self.data.find(b"[", self._position, end) < 0
        inside = self.data[self._position : end] if is_plain else b""
        if is_plain and b'"' not in inside and b"#" not in inside:
            if not inside.strip():
                self._position = end + 1
                return np.zeros(0)
            try:
                numbers = np.fromstring(inside, sep=" ")
            except ValueError:
                pass  # flags, or what is to be complained of
            else:
                self._position = end + 1
                return numbers
        return self.list_of()

    def closing(self) -> int:
        """Returns where the next ']' is, or -1. It is looked for once, however many '[' stand before it."""
        if 0 <= self._closing < self._position:
            self._closing = self.data.find(b"]", self._position)
        return self._closing

    def list_of(self) -> Value:
        """Returns what is between brackets, token by token. Raises SceneFileError where it is not all of one kind."""
        line = self.line
        texts: list[str] = []
        flags: list[bool] = []
        numbers: list[Doubles] = []
        while (match := self.match()) is not None and match["mark"] is None:
            if match["text"] is not None:
                texts.append(text_of(match["text"]))
            elif match["word"] in FLAGS:
                flags.append(FLAGS[match["word"]])
            else:
                numbers.append(self.numbers(match["word"]))
        if match is None or match["mark"] == b"[":
            raise SceneFileError(self.path, line, "expected a ']' that closes the '['")
        if bool(texts) + bool(flags) + bool(numbers) > 1:
            raise SceneFileError(self.path, line, "expected values of one kind between brackets")
        return texts or flags or np.concatenate([np.zeros(0), *numbers])

    def numbers(self, word: bytes) -> Doubles:
        """Returns a word that is a number, (1,). Raises SceneFileError for any other."""
        try:
            return np.array([float(word)])
        except ValueError as error:
            raise self.error(f"expected a number, got {as_text(word)[:MAX_QUOTE]!r}") from error

    def error(self, message: str) -> SceneFileError:
        return SceneFileError(self.path, self.line, message)


def as_text(data: bytes) -> str:
    """Returns bytes as UTF-8, or else as Latin-1."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def text_of(quoted: bytes) -> str:
    """Returns what is between quotes, where a backslash may stand before a quote or another."""
    return ESCAPE.sub(r"\1", as_text(quoted)) if b"\\" in quoted else as_text(quoted)
