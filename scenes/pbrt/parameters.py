"""This module holds the parameters of a statement by name: `"float fov" 45`, `"rgb L" [ 1 1 1 ]`."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from scenes.errors import SceneFileError
from scenes.model import Doubles, Indices
from scenes.pbrt.tokens import MAX_QUOTE, FileLine, Statement, Value

#: No number of a file is larger, so that products of two are finite.
MAX_NUMBER = 1e30
#: Types by the names that files give them, old ones too, and how many numbers an item has; 0 for what is no number.
TYPES = {
    "float": 1,
    "integer": 1,
    "point2": 2,
    "vector2": 2,
    "point3": 3,
    "point": 3,
    "vector3": 3,
    "vector": 3,
    "normal": 3,
    "normal3": 3,
    "rgb": 3,
    "blackbody": 1,
    "spectrum": 1,
    "bool": 0,
    "string": 0,
    "texture": 0,
}
COLORS = ("rgb", "spectrum", "blackbody")
POINTS, VECTORS, NORMALS = ("point3", "point"), ("vector3", "vector"), ("normal", "normal3")


@dataclass(frozen=True, eq=False)
class Parameter:
    """Holds a parameter as the file has it."""

    type: str
    name: str
    value: Value
    place: FileLine

    @property
    def called(self) -> str:
        """Returns the parameter as messages name it."""
        return f'"{self.type} {self.name}"'

    def error(self, message: str) -> SceneFileError:
        return self.place.error(message)

    def numbers(self, *counts: int, has_nan: bool = False) -> Doubles:
        """Returns its numbers, as many as one of the counts says, or any number of them without counts.

        has_nan: some may be NaN; else that is an error.
        """
        value = self.value
        if not isinstance(value, np.ndarray) or (counts and len(value) not in counts):
            got = f"{len(value)} numbers" if isinstance(value, np.ndarray) else quoted(value)
            wanted = " or ".join(str(count) for count in counts)
            raise self.error(f"expected {self.called} to have {wanted or 'only'} numbers, got {got}")
        if not ((np.abs(value) <= MAX_NUMBER) | (np.isnan(value) if has_nan else False)).all():
            raise self.error(f"expected finite numbers of at most {MAX_NUMBER:g} in {self.called}")
        return value

    def texts(self) -> list[str]:
        value = self.value
        if isinstance(value, str):
            return [value]
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            return [str(item) for item in value]
        raise self.error(f"expected {self.called} to have texts in quotes, got {quoted(value)}")

    def text(self) -> str:
        texts = self.texts()
        if len(texts) != 1:
            raise self.error(f"expected {self.called} to have one text, got {len(texts)}")
        return texts[0]

    def flag(self) -> bool:
        value = self.value[0] if isinstance(self.value, list) and len(self.value) == 1 else self.value
        if isinstance(value, bool):
            return value
        if isinstance(value, str) and value in ("true", "false"):  # as older files write it
            return value == "true"
        raise self.error(f"expected {self.called} to be true or false, got {quoted(self.value)}")


def quoted(value: Value) -> str:
    """Returns a value as messages show it."""
    return "numbers" if isinstance(value, np.ndarray) else repr(value)[:MAX_QUOTE]


def parameters_of(statement: Statement, first: int) -> list[Parameter]:
    """Returns the parameters among the values of a statement. first: where they begin."""
    rest = statement.values[first:]
    if len(rest) % 2:
        raise statement.error(f'expected pairs of "type name" and a value after {statement.name}')
    return [parameter(statement, *rest[i], rest[i + 1][0]) for i in range(0, len(rest), 2)]


def parameter(statement: Statement, declaration: Value, line: int, value: Value) -> Parameter:
    """Returns a parameter by its declaration, such as "float fov", and its value."""
    place = FileLine(statement.place.path, line)
    words = declaration.split() if isinstance(declaration, str) else []
    if len(words) != 2:
        raise place.error(f'expected "type name" of a parameter of {statement.name}, got {quoted(declaration)}')
    kind, name = words
    if kind not in TYPES:
        raise place.error(f"unknown type {kind!r} of the parameter {name!r}; there are: {', '.join(TYPES)}")
    return Parameter(kind, name, value, place)


class Parameters:
    """Holds the parameters of a statement, each of which has to be taken by whoever reads the statement."""

    def __init__(self, kind: str, place: FileLine, items: Iterable[Parameter] = ()) -> None:
        self.kind, self.place = kind, place
        self.named: dict[str, list[Parameter]] = {}
        for item in items:
            self.named.setdefault(item.name, []).append(item)
        self._asked: set[str] = set()

    def error(self, message: str) -> SceneFileError:
        return self.place.error(message)

    def beneath(self, defaults: Sequence[Parameter]) -> "Parameters":
        """Returns the parameters with others where there are none of the same name."""
        own = [item for items in self.named.values() for item in items]
        return Parameters(self.kind, self.place, [*own, *(item for item in defaults if item.name not in self.named)])

    def find(self, name: str, *types: str) -> Parameter | None:
        """Takes the parameter of a name, which has to be of one of some types; returns None where there is none."""
        self._asked.add(name)
        items = self.named.get(name, [])
        for item in items:
            if item.type in types:
                return item
        if items:
            raise items[0].error(f"expected {name!r} to be of type {' or '.join(types)}, got {items[0].called}")
        return None

    def number(self, name: str, default: float, low: float = -MAX_NUMBER, high: float = MAX_NUMBER) -> float:
        """Takes a number between two bounds."""
        item = self.find(name, "float", "integer")
        return default if item is None else self.between(item, float(item.numbers(1)[0]), low, high)

    def between(self, item: Parameter, value: float, low: float, high: float) -> float:
        """Returns a number of a parameter. Raises SceneFileError unless it is between two bounds."""
        if not low <= value <= high:
            raise item.error(f"expected {item.called} from {low:g} to {high:g}, got {value:g}")
        return value

    def text(self, name: str, default: str) -> str:
        item = self.find(name, "string")
        return default if item is None else item.text()

    def flag(self, name: str, default: bool) -> bool:
        item = self.find(name, "bool", "string")
        return default if item is None else item.flag()

    def point(self, name: str, default: tuple[float, float, float]) -> Doubles:
        """Takes a point or vector, (3,)."""
        item = self.find(name, *POINTS, *VECTORS)
        return np.array(default) if item is None else item.numbers(3)

    def rows(self, name: str, *types: str, has_nan: bool = False) -> Doubles | None:
        """Takes a list of points, (n, width) by their type; returns None where there is none."""
        item = self.find(name, *types)
        if item is None:
            return None
        width, numbers = TYPES[item.type], item.numbers(has_nan=has_nan)
        if len(numbers) % width:
            raise item.error(f"expected {item.called} to have {width} numbers for each item, got {len(numbers)} in all")
        return numbers.reshape(-1, width)

    def indices(self, name: str, width: int, count: int) -> Indices | None:
        """Takes a list of indices below a count, (n, width) int32; returns None where there is none."""
        item = self.find(name, "integer")
        if item is None:
            return None
        numbers = item.numbers()
        if len(numbers) % width:
            raise item.error(f"expected {item.called} to have {width} numbers for each item, got {len(numbers)} in all")
        bad = ~((numbers >= 0) & (numbers < count) & (numbers == np.floor(numbers)))
        if bad.any():
            message = f"expected whole numbers from 0 to {count - 1} in {item.called}, got {numbers[bad][0]:g}"
            raise item.error(message)
        return numbers.astype(np.int32).reshape(-1, width)

    def skip(self, *names: str) -> None:
        """Takes parameters that change nothing here."""
        self._asked.update(names)

    def left(self) -> list[Parameter]:
        """Returns the parameters that nobody has taken."""
        return [item for name, items in self.named.items() if name not in self._asked for item in items]


def first_text(statement: Statement, what: str) -> str:
    """Returns the first value of a statement, a text in quotes. what: it is, for the error that is raised without."""
    value: Any = statement.values[0][0] if statement.values else None
    if not isinstance(value, str):
        raise statement.error(f"expected {what} in quotes after {statement.name}")
    return value
