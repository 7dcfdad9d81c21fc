"""This module reads values of a glTF header, each with what is expected of it and the place where it stands.

JSON's own types say little, and Python reads NaN and Infinity in it. Nothing is believed here: what is null, a boolean
or of another type than it should be is an error that names its place.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from scenes.errors import SceneFileError
from scenes.keys.place import MAX_QUOTE, Place, shown
from scenes.keys.values import is_number
from scenes.model import Color, Doubles

#: The largest number in size that is read, so that float32 can square it.
MAX_NUMBER = 1e9
#: The largest whole number, of bytes or items.
MAX_WHOLE = 1 << 40


@dataclass(frozen=True, eq=False)
class Item:
    """Holds a JSON object and the place where it stands. The index of another item is checked by how many there are."""

    place: Place
    values: dict[str, Any]

    def has(self, name: str) -> bool:
        return name in self.values

    def error(self, name: str, expected: str) -> SceneFileError:
        """Returns the error about a property that is not as expected."""
        if name not in self.values:
            return self.place.error(f"the key {name!r} is missing")
        return self.place.inside(name).error(f"expected {expected}, got {shown_json(self.values[name])}")

    def number(self, name: str, default: float | None = None, least: float = -MAX_NUMBER) -> float:
        """Returns a finite number from a bound on, or the default where it is left out; None for one that is needed."""
        if name not in self.values and default is not None:
            return default
        value: Any = self.values.get(name)
        if not is_number(value) or not least <= value <= MAX_NUMBER:
            raise self.error(name, f"a finite number from {least:g} to {MAX_NUMBER:g}")
        return float(value)

    def whole(self, name: str, default: int | None = None) -> int:
        """Returns a whole number that is not negative."""
        value: Any = self.values.get(name, default)
        if not is_number(value) or not 0 <= value <= MAX_WHOLE or value != math.floor(value):
            raise self.error(name, "a whole number that is not negative")
        return int(value)

    def index(self, name: str, rows: Sequence[Any], what: str) -> int | None:
        """Returns the index of one of some rows, or None where it is left out. what: the rows are called."""
        return self.checked_index(name, self.values[name], rows, what) if name in self.values else None

    def checked_index(self, name: str, value: Any, rows: Sequence[Any], what: str) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < len(rows):
            message = f"expected the number of one of the {len(rows)} {what}, got {shown_json(value)}"
            raise self.place.inside(name).error(message)
        return value

    def indices(self, name: str, rows: Sequence[Any], what: str) -> list[int]:
        """Returns the indices of some rows, an empty list where they are left out."""
        return [self.checked_index(name, value, rows, what) for value in self.list_of(name)]

    def numbers(self, name: str, size: int, default: Sequence[float], least: float = -MAX_NUMBER) -> Doubles:
        """Returns so many finite numbers, (size,) float64."""
        if name not in self.values:
            return np.array(default, np.float64)
        value = self.values[name]
        is_right = isinstance(value, list) and len(value) == size and all(is_number(one) for one in value)
        if not is_right or not all(least <= one <= MAX_NUMBER for one in value):
            got = str(value)[: 2 * MAX_QUOTE] if isinstance(value, list) else shown_json(value)
            message = f"expected {size} finite numbers from {least:g} to {MAX_NUMBER:g}, got {got}"
            raise self.place.inside(name).error(message)
        return np.array(value, np.float64)

    def color(self, name: str, default: Color, size: int = 3) -> Color:
        """Returns the first three of some numbers that are not below 0."""
        red, green, blue = self.numbers(name, size, (*default, 1.0)[:size], 0.0)[:3].tolist()
        return (red, green, blue)

    def text(self, name: str, default: str = "") -> str:
        value = self.values.get(name, default)
        if not isinstance(value, str):
            raise self.error(name, "a text")
        return value

    def flag(self, name: str, default: bool = False) -> bool:
        """Returns true or false."""
        value = self.values.get(name, default)
        if not isinstance(value, bool):
            raise self.error(name, "true or false")
        return value

    def list_of(self, name: str) -> list[Any]:
        """Returns a list, an empty one where it is left out."""
        value = self.values.get(name, [])
        if not isinstance(value, list):
            raise self.error(name, "a list")
        return value

    def child(self, name: str) -> "Item":
        """Returns the object that a property holds, an empty one where it is left out."""
        value = self.values.get(name, {})
        if not isinstance(value, dict):
            raise self.error(name, "an object")
        return Item(self.place.inside(name), value)

    def children(self, name: str) -> list["Item"]:
        place = self.place.inside(name)
        rows = []
        for number, value in enumerate(self.list_of(name)):
            if not isinstance(value, dict):
                raise place.item(number).error(f"expected an object, got {shown_json(value)}")
            rows.append(Item(place.item(number), value))
        return rows

    def extension(self, name: str) -> "Item | None":
        """Returns what an extension says of this, or None."""
        extensions = self.child("extensions")
        return extensions.child(name) if extensions.has(name) else None


def shown_json(value: Any) -> str:
    """Returns a value of JSON as messages show it."""
    return "null" if value is None else shown(value)
