"""This module holds the kinds of values that files alone have: colours, units, lists, arrays and tables of keys; and
the quantities of scene files, each with its bounds and its unit.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from scenes.keys.place import KindError, shown, unknown
from scenes.keys.values import Key, Kind, Number, Vector, Whole, each, range_words
from scenes.meshes.geometry import MAX_COORDINATE

METRES = {"m": 1.0, "cm": 0.01, "mm": 0.001, "inch": 0.0254, "ft": 0.3048}
LEAST_UNIT, LARGEST_UNIT = 1e-6, 1e6
MAX_ROW = 4

#: The largest number of matrices, scales, angles and times.
MAX_NUMBER = 1e30

#: Radiance reaches so far, so that float32 can square it; lights are looked at from afar, and may be stronger.
MAX_RADIANCE, MAX_INTENSITY = 1e9, 1e20

#: The largest reflectance of an nff surface; more than 1 in all is scaled down when it is shaded.
MAX_REFLECTANCE = 1e6
IN_FILE = "in the file's unit"


@dataclass(frozen=True)
class Triple(Kind):
    """Accepts three numbers in least..most, or one that stands for all three."""

    least: float
    most: float
    unit: str = ""

    @property
    def expected(self) -> str:
        """Returns the range that is accepted, for messages."""
        return f"a number or a list of 3 numbers {range_words(self.least, self.most)}"

    def read(self, value: Any) -> tuple[float, ...]:
        """Returns three numbers."""
        if isinstance(value, list) and len(value) == 3:
            return Vector(3, self.least, self.most).read(value)
        if not Number(self.least, self.most).fits(value):
            raise self.wrong(value)
        return (float(value),) * 3


@dataclass(frozen=True)
class Units(Kind):
    """Accepts a unit of length."""

    @property
    def expected(self) -> str:
        """Returns the names that are accepted, for messages."""
        return f"one of {', '.join(METRES)}, or metres per unit, a number from {LEAST_UNIT:g} to {LARGEST_UNIT:g}"

    def read(self, value: Any) -> float:
        """Returns how many metres the unit has."""
        if isinstance(value, str) and value in METRES:
            return METRES[value]
        if not Number(LEAST_UNIT, LARGEST_UNIT).fits(value):
            raise self.wrong(value)
        return float(value)


@dataclass(frozen=True)
class Points(Kind):
    """Accepts a list of lists of so many numbers, or an array of them, as an array. They are coordinates or indices."""

    width: int
    indices: bool = False
    unit: str = ""

    @property
    def expected(self) -> str:
        """Returns the shape of the array that is accepted, for messages."""
        return f"a list of lists of {self.width} {self.number.expected.split(' ', 1)[1].replace('number', 'numbers')}"

    @property
    def number(self) -> Number | Whole:
        """Returns the kind of each number."""
        return Whole(0, 2**31 - 1) if self.indices else Number(-MAX_COORDINATE, MAX_COORDINATE)

    def read(self, value: Any) -> np.ndarray[tuple[int, ...], np.dtype[Any]]:
        """Returns an array (n, width), float64 of coordinates or int32 of indices."""
        if isinstance(value, np.ndarray):
            return self.checked(value)
        if not isinstance(value, list) or not value:
            raise self.wrong(value)
        fits = self.number.fits
        for index, row in enumerate(value):
            if not isinstance(row, list) or len(row) != self.width or not all(map(fits, row)):
                raise self.wrong_row(row, index)
        return np.array(value, dtype=np.int32 if self.indices else np.float64)

    def wrong_row(self, row: Any, index: int) -> KindError:
        """Returns the error of a row."""
        return KindError(f"expected {self.width} of {self.number.expected}, got {row_shown(row)}", index)

    def checked(self, value: np.ndarray[Any, Any]) -> np.ndarray[tuple[int, ...], np.dtype[Any]]:
        """Returns what `read` does, of an array."""
        is_whole = np.issubdtype(value.dtype, np.integer)
        if value.ndim != 2 or value.shape[1] != self.width or not len(value) or not (is_whole or not self.indices):
            shape = "x".join(map(str, value.shape))
            raise KindError(f"expected {self.expected}, got an array of {shape} {value.dtype}")
        number = self.number
        fits = ((value >= number.least) & (value <= number.most)).all(axis=1)
        if not fits.all():
            index = int(np.flatnonzero(~fits)[0])
            raise self.wrong_row(value[index].tolist(), index)
        return value.astype(np.int32 if self.indices else np.float64)


def row_shown(value: Any) -> str:
    """Writes a short list as messages show it."""
    if isinstance(value, list) and len(value) <= MAX_ROW:
        return "[" + ", ".join(shown(item) for item in value) + "]"
    return shown(value)


@dataclass(frozen=True)
class ListOf(Kind):
    """Accepts a list of least..most values of one kind."""

    kind: Kind
    least: int = 1
    most: int = 1_000_000

    @property
    def expected(self) -> str:
        """Returns the kind and how many values are accepted, for messages."""
        count = str(self.most) if self.least == self.most else f"{self.least} to {self.most}"
        return f"a list of {count}, each {self.kind.expected}"

    @property
    def unit(self) -> str:
        """Returns the unit of each value."""
        return self.kind.unit

    def read(self, value: Any) -> list[Any]:
        """Returns the values."""
        if not isinstance(value, list) or not self.least <= len(value) <= self.most:
            raise self.wrong(value)
        return each([self.kind] * len(value), value)


@dataclass(frozen=True)
class OneOrMore(Kind):
    """Accepts a table, or a list of them."""

    kind: Kind

    @property
    def expected(self) -> str:
        """Returns the kind that is accepted, for messages."""
        return f"{self.kind.expected}, or a list of such"

    def read(self, value: Any) -> list[Any]:
        """Returns the values, one or more."""
        if isinstance(value, dict):
            return [self.kind.read(value)]
        if not isinstance(value, list):
            raise self.wrong(value)
        return each([self.kind] * len(value), value)


@dataclass(frozen=True)
class Table(Kind):
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
        return f"a table of {', '.join(key.name for key in self.keys)}"

    def read(self, value: Any) -> dict[str, Any]:
        """Returns the value of every key, and the default of one that is left out."""
        if not isinstance(value, dict):
            raise self.wrong(value)
        names = [key.name for key in self.keys]
        for name in value:
            if name not in names:
                raise KindError(unknown("key", name, names))
        return {key.name: read_key(key, value) for key in self.keys}


def read_key(key: Key, table: dict[str, Any]) -> Any:
    """Reads the value of one key of a table."""
    if key.required and key.name not in table:
        raise KindError(f"the key {key.name!r} is missing: {key.about}")
    value = table.get(key.name, key.default)
    if value is None:
        return None
    try:
        return key.kind.read(value)
    except KindError as error:
        raise error.inside(key.name) from None


@dataclass(frozen=True)
class FirstKey(Kind):
    """Accepts a table, or the text of its first key alone."""

    table: Table

    @property
    def expected(self) -> str:
        """Returns that a text or a table is accepted, for messages."""
        return f"{self.table.keys[0].kind.expected}, or {self.table.expected}"

    def read(self, value: Any) -> dict[str, Any]:
        """Returns the values of the table."""
        if isinstance(value, str):
            value = {self.table.keys[0].name: value}
        if not isinstance(value, dict):
            raise self.wrong(value)
        return self.table.read(value)


@dataclass(frozen=True)
class Turn(Table):
    """Accepts a table with an axis and degrees."""

    def read(self, value: Any) -> dict[str, Any]:
        """Returns the values of the table. An axis without length is allowed only with an angle of no effect."""
        values = super().read(value)
        if not any(values["axis"]) and values["degrees"] % 360.0 != 0.0:
            raise KindError("expected an axis of some length to turn about, got 0, 0, 0", "axis")
        return values


@dataclass(frozen=True)
class Named(Kind):
    """Accepts tables of one kind under names that the file chooses."""

    table: Table

    @property
    def expected(self) -> str:
        """Returns that a table of tables is accepted, for messages."""
        return f"tables [{self.table.title}]"

    def read(self, value: Any) -> dict[str, dict[str, Any]]:
        """Returns the tables by name, in the order of the file."""
        if not isinstance(value, dict):
            raise self.wrong(value)
        keys = (Key(name, self.table, "") for name in value)
        return {key.name: read_key(key, value) for key in keys}


number = Number(-MAX_NUMBER, MAX_NUMBER)
degrees = Number(-MAX_NUMBER, MAX_NUMBER, unit="degrees")
share = Number(0.0, 1.0)
point = Vector(3, -MAX_COORDINATE, MAX_COORDINATE, unit=IN_FILE)
flat_point = Vector(2, -MAX_COORDINATE, MAX_COORDINATE, unit=IN_FILE)
#: In a unit that is not the file's.
shift = Vector(3, -MAX_COORDINATE, MAX_COORDINATE)
direction = Vector(3, -MAX_NUMBER, MAX_NUMBER)
length = Number(0.0, MAX_COORDINATE, unit=IN_FILE)
positive_length = Number(0.0, MAX_COORDINATE, inside=True, unit=IN_FILE)
factors = Triple(-MAX_NUMBER, MAX_NUMBER)
positive_factors = Triple(0.0, MAX_NUMBER)
radiance = Triple(0.0, MAX_RADIANCE, unit="W/(m² sr)")
irradiance = Triple(0.0, MAX_RADIANCE, unit="W/m²")
intensity = Triple(0.0, MAX_INTENSITY)
reflectance = Triple(0.0, MAX_REFLECTANCE)
