"""This module holds the kinds of values that keys can have: what each expects, and how it is read.

TOML's own types say little. A kind narrows them to what a scene can use, so that no other code has to check.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from scenes.geometry import MAX_COORDINATE
from scenes.keys.place import Place, shown

METRES = {"m": 1.0, "cm": 0.01, "mm": 0.001, "inch": 0.0254, "ft": 0.3048}
LEAST_UNIT, LARGEST_UNIT = 1e-6, 1e6
MAX_TEXT = 4096
MAX_ROW = 4


class Kind(Protocol):
    """Says what a key may hold."""

    @property
    def expected(self) -> str:
        """Returns what is wanted, in words that follow 'expected' in a message."""

    def read(self, value: Any, place: Place) -> Any:
        """Turns a value of TOML into what the scene needs. Raises SceneFileError."""


def wrong(kind: Kind, value: Any, place: Place) -> Exception:
    """Returns the error about a value that is not of a kind."""
    return place.error(f"expected {kind.expected}, got {shown(value)}")


def is_number(value: Any) -> bool:
    """Returns whether a value of TOML is a number; true and false are not."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


@dataclass(frozen=True)
class Text:
    """Accepts any text that is not empty."""

    expected: str = "a text"

    def read(self, value: Any, place: Place) -> str:
        """Returns the text. Raises SceneFileError for anything else."""
        if not isinstance(value, str) or not 0 < len(value) <= MAX_TEXT or "\0" in value:
            raise wrong(self, value, place)
        return value


@dataclass(frozen=True)
class Choice:
    """Accepts one of several words."""

    words: tuple[str, ...]

    @property
    def expected(self) -> str:
        """Returns the words that are accepted, for messages."""
        return "one of " + ", ".join(f'"{word}"' for word in self.words)

    def read(self, value: Any, place: Place) -> str:
        """Returns the word. Raises SceneFileError for any other."""
        if not isinstance(value, str):
            raise wrong(self, value, place)
        if value not in self.words:
            raise place.unknown("word", value, self.words)
        return value


@dataclass(frozen=True)
class Flag:
    """Accepts true or false."""

    expected: str = "true or false"

    def read(self, value: Any, place: Place) -> bool:
        """Returns the truth value. Raises SceneFileError for anything else."""
        if not isinstance(value, bool):
            raise wrong(self, value, place)
        return value


@dataclass(frozen=True)
class Number:
    """Accepts a number in least..most, or strictly between them if `inside`."""

    least: float
    most: float
    inside: bool = False

    @property
    def expected(self) -> str:
        """Returns the range that is accepted, for messages."""
        return f"a number {range_words(self.least, self.most, self.inside)}"

    def fits(self, value: Any) -> bool:
        """Returns whether a value of TOML is such a number."""
        if not is_number(value) or not self.least <= value <= self.most:
            return False
        return not self.inside or self.least < value < self.most

    def read(self, value: Any, place: Place) -> float:
        """Returns the number as a float. Raises SceneFileError where it is out of range."""
        if not self.fits(value):
            raise wrong(self, value, place)
        return float(value)


def range_words(least: float, most: float, inside: bool = False) -> str:
    """Writes a range in words."""
    if -least == most:
        return f"of at most {most:g} in size"
    return f"between {least:g} and {most:g}" if inside else f"from {least:g} to {most:g}"


@dataclass(frozen=True)
class Whole:
    """Accepts a whole number in least..most."""

    least: int
    most: int
    even: bool = False

    @property
    def expected(self) -> str:
        """Returns the range that is accepted, for messages."""
        return f"{'an even' if self.even else 'a whole'} number from {self.least} to {self.most}"

    def fits(self, value: Any) -> bool:
        """Returns whether a value of TOML is such a number."""
        whole = isinstance(value, int) and not isinstance(value, bool)
        return whole and self.least <= value <= self.most and not (self.even and value % 2)

    def read(self, value: Any, place: Place) -> int:
        """Returns the number. Raises SceneFileError where it is out of range."""
        if not self.fits(value):
            raise wrong(self, value, place)
        return int(value)


@dataclass(frozen=True)
class Vector:
    """Accepts a list of so many numbers in least..most."""

    length: int
    least: float
    most: float

    @property
    def expected(self) -> str:
        """Returns the length and the range that are accepted, for messages."""
        return f"a list of {self.length} numbers {range_words(self.least, self.most)}"

    def read(self, value: Any, place: Place) -> tuple[float, ...]:
        """Returns the numbers. Raises SceneFileError for anything else."""
        if not isinstance(value, list) or len(value) != self.length:
            raise wrong(self, value, place)
        number = Number(self.least, self.most)
        return tuple(number.read(item, place.item(index)) for index, item in enumerate(value))


@dataclass(frozen=True)
class Triple:
    """Accepts three numbers in least..most, or one that stands for all three."""

    least: float
    most: float

    @property
    def expected(self) -> str:
        """Returns the range that is accepted, for messages."""
        return f"a number or a list of 3 numbers {range_words(self.least, self.most)}"

    def read(self, value: Any, place: Place) -> tuple[float, ...]:
        """Returns three numbers. Raises SceneFileError for anything else."""
        if isinstance(value, list):
            if len(value) != 3:
                raise wrong(self, value, place)
            return Vector(3, self.least, self.most).read(value, place)
        if not Number(self.least, self.most).fits(value):
            raise wrong(self, value, place)
        return (float(value),) * 3


@dataclass(frozen=True)
class Size:
    """Accepts a width and a height in pixels."""

    most_side: int
    most_pixels: int

    @property
    def expected(self) -> str:
        """Returns the bounds that are accepted, for messages."""
        return (
            f"[width, height], whole numbers from 1 to {self.most_side}, and at most {self.most_pixels} pixels in all"
        )

    def read(self, value: Any, place: Place) -> tuple[int, int]:
        """Returns (width, height). Raises SceneFileError for anything else."""
        if not isinstance(value, list) or len(value) != 2:
            raise wrong(self, value, place)
        side = Whole(1, self.most_side)
        width, height = (side.read(item, place.item(index)) for index, item in enumerate(value))
        if width * height > self.most_pixels:
            raise place.error(f"expected {self.expected}, got {width} by {height}")
        return width, height


@dataclass(frozen=True)
class Units:
    """Accepts a unit of length."""

    @property
    def expected(self) -> str:
        """Returns the names that are accepted, for messages."""
        return f"one of {', '.join(METRES)}, or metres per unit, a number from {LEAST_UNIT:g} to {LARGEST_UNIT:g}"

    def read(self, value: Any, place: Place) -> float:
        """Returns how many metres the unit has. Raises SceneFileError for a name that is not known."""
        if isinstance(value, str) and value in METRES:
            return METRES[value]
        if not Number(LEAST_UNIT, LARGEST_UNIT).fits(value):
            raise wrong(self, value, place)
        return float(value)


@dataclass(frozen=True)
class Points:
    """Accepts a list of lists of so many numbers, as an array. They are coordinates, or else indices."""

    width: int
    indices: bool = False

    @property
    def expected(self) -> str:
        """Returns the shape of the array that is accepted, for messages."""
        return f"a list of lists of {self.width} {self.number.expected.split(' ', 1)[1].replace('number', 'numbers')}"

    @property
    def number(self) -> Number | Whole:
        """Returns the kind of each number."""
        return Whole(0, 2**31 - 1) if self.indices else Number(-MAX_COORDINATE, MAX_COORDINATE)

    def read(self, value: Any, place: Place) -> np.ndarray[tuple[int, ...], np.dtype[Any]]:
        """Returns an array (n, width), float64 of coordinates or int32 of indices. Raises SceneFileError for anything
        else."""
        if not isinstance(value, list) or not value:
            raise wrong(self, value, place)
        fits = self.number.fits
        for index, row in enumerate(value):
            if not isinstance(row, list) or len(row) != self.width or not all(map(fits, row)):
                raise place.item(index).error(f"expected {self.width} of {self.number.expected}, got {row_shown(row)}")
        return np.array(value, dtype=np.int32 if self.indices else np.float64)


def row_shown(value: Any) -> str:
    """Writes a short list as messages show it."""
    if isinstance(value, list) and len(value) <= MAX_ROW:
        return "[" + ", ".join(shown(item) for item in value) + "]"
    return shown(value)


@dataclass(frozen=True)
class ListOf:
    """Accepts a list of least..most values of one kind."""

    kind: Kind
    least: int = 1
    most: int = 1_000_000

    @property
    def expected(self) -> str:
        """Returns the kind and how many values are accepted, for messages."""
        count = str(self.most) if self.least == self.most else f"{self.least} to {self.most}"
        return f"a list of {count}, each {self.kind.expected}"

    def read(self, value: Any, place: Place) -> list[Any]:
        """Returns the values. Raises SceneFileError for anything else."""
        if not isinstance(value, list) or not self.least <= len(value) <= self.most:
            raise wrong(self, value, place)
        return [self.kind.read(item, place.item(index)) for index, item in enumerate(value)]


@dataclass(frozen=True)
class OneOrMore:
    """Accepts a table, or a list of them."""

    kind: Kind

    @property
    def expected(self) -> str:
        """Returns the kind that is accepted, for messages."""
        return f"{self.kind.expected}, or a list of such"

    def read(self, value: Any, place: Place) -> list[Any]:
        """Returns the values, one or more. Raises SceneFileError for anything else."""
        if isinstance(value, dict):
            return [self.kind.read(value, place)]
        if not isinstance(value, list):
            raise wrong(self, value, place)
        return [self.kind.read(item, place.item(index)) for index, item in enumerate(value)]


@dataclass(frozen=True, kw_only=True)
class Key:
    """Describes a key of a table.

    about: what it does, with the unit.
    example: a value as the file says it.
    default: a value as TOML has it; None where there is none, and then `fallback` says in words what happens.
    """

    name: str
    kind: Kind
    about: str
    example: str
    default: Any = None
    fallback: str = ""
    required: bool = False


@dataclass(frozen=True)
class Table:
    """Accepts a table of known keys.

    title: as the file's header says it.
    about: what it describes.
    """

    title: str
    about: str
    keys: Sequence[Key]

    @property
    def expected(self) -> str:
        """Returns that a table is accepted, for messages."""
        names = ", ".join(key.name for key in self.keys)
        return f"a table of {names}"

    def read(self, value: Any, place: Place) -> dict[str, Any]:
        """Returns the value of every key, and the default of one that is left out. Raises SceneFileError for an unknown
        key."""
        if not isinstance(value, dict):
            raise wrong(self, value, place)
        names = [key.name for key in self.keys]
        for name in value:
            if name not in names:
                raise place.unknown("key", name, names)
        return {key.name: self.read_key(key, value, place) for key in self.keys}

    def read_key(self, key: Key, table: dict[str, Any], place: Place) -> Any:
        """Reads the value of one key."""
        if key.name in table:
            return key.kind.read(table[key.name], place.inside(key.name))
        if key.required:
            raise place.error(f"the key {key.name!r} is missing: {key.about}")
        return None if key.default is None else key.kind.read(key.default, place.inside(key.name))


@dataclass(frozen=True)
class FirstKey:
    """Accepts a table, or the text of its first key alone."""

    table: Table

    @property
    def expected(self) -> str:
        """Returns that a text or a table is accepted, for messages."""
        return f"{self.table.keys[0].kind.expected}, or {self.table.expected}"

    def read(self, value: Any, place: Place) -> dict[str, Any]:
        """Returns the values of the table. Raises SceneFileError for anything else."""
        if isinstance(value, str):
            value = {self.table.keys[0].name: value}
        if not isinstance(value, dict):
            raise wrong(self, value, place)
        return self.table.read(value, place)


@dataclass(frozen=True)
class Turn(Table):
    """Accepts a table with an axis and degrees."""

    def read(self, value: Any, place: Place) -> dict[str, Any]:
        """Returns the values of the table. An axis without length is allowed only with an angle of no effect."""
        values = super().read(value, place)
        if not any(values["axis"]) and values["degrees"] % 360.0 != 0.0:
            raise place.inside("axis").error("expected an axis of some length to turn about, got 0, 0, 0")
        return values


@dataclass(frozen=True)
class Named:
    """Accepts tables of one kind under names that the file chooses."""

    table: Table

    @property
    def expected(self) -> str:
        """Returns that a table of tables is accepted, for messages."""
        return f"tables [{self.table.title}]"

    def read(self, value: Any, place: Place) -> dict[str, dict[str, Any]]:
        """Returns the tables by name, in the order of the file."""
        if not isinstance(value, dict):
            raise wrong(self, value, place)
        return {name: self.table.read(item, place.inside(name)) for name, item in value.items()}
