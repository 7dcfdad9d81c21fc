"""Text for a terminal: whatever names of files and things have in them, nothing of it gives the terminal orders.

Characters that move the cursor, change what was printed, or turn the direction of writing are printed as Python writes
them, such as \\x1b (Boucher, Anderson: Trojan Source, 2023). Commands print as ever; the streams see to it.
"""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import Any, TextIO

#: What may stand in a text though it cannot be seen.
LAYOUT = "\n\t"


def plain(text: str) -> str:
    """Returns a text of which all can be seen, but for ends of lines and tabs."""
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() or one in LAYOUT else _escaped(one) for one in text)


def line(text: str) -> str:
    """Returns a text that takes one line, of which all can be seen."""
    return "".join(_escaped(one) if one in LAYOUT else one for one in plain(text))


def rounded(number: float, digits: int = 4) -> str:
    """Returns a number with so many digits that count, as people write it: 10,300 and not 1.03e+04."""
    return f"{float(f'{number:.{digits}g}'):,.15g}"


def number_in(text: str) -> float:
    """Returns the number of a text as `rounded` writes it, or of a percentage."""
    return float(text.replace(",", "").rstrip("%"))


def _escaped(character: str) -> str:
    return character.encode("unicode_escape", "backslashreplace").decode()


class PlainStream:
    """Writes plain text to a stream, and is that stream in all else."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        """Writes a text. Returns its length."""
        self.stream.write(plain(text))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


class JsonStream(PlainStream):
    """Writes each line of text to a stream as a line of JSON, for programs that read nothing else there."""

    _begun = ""

    def write(self, text: str) -> int:
        """Writes the lines that a text ends; the rest waits for its end. Returns the length of the text."""
        *lines, self._begun = (self._begun + text).split("\n")
        for one in filter(str.strip, lines):
            self.stream.write(json.dumps({"event": "message", "text": one}) + "\n")
        return len(text)

    def isatty(self) -> bool:
        """Returns False: nobody looks at it who would see a bar move."""
        return False


@contextmanager
def told_in_json() -> Iterator[None]:
    """Has all that is printed to stderr while the block runs be lines of JSON."""
    stream: Any = JsonStream(sys.stderr)
    with redirect_stderr(stream):
        try:
            yield
        finally:
            print(file=stream, flush=True)  # ends a line that has no end


@contextmanager
def plainly_printed() -> Iterator[None]:
    """Has all that is printed while the block runs be plain text."""
    streams: Any = PlainStream(sys.stdout), PlainStream(sys.stderr)
    with redirect_stdout(streams[0]), redirect_stderr(streams[1]):
        yield


def as_it_is(stream: TextIO) -> TextIO:
    """Returns what prints orders to a terminal too: bars that move, pictures."""
    return stream.stream if isinstance(stream, PlainStream) else stream
