"""This module says where in a file a value stands, and what somebody may have meant who wrote a name that there is not,
for messages.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scenes.errors import SceneFileError

#: So much of a name is looked at, and so many known ones are compared.
MAX_LOOKED_AT, MAX_COMPARED = 200, 1000
#: Names are alike from this share of equal letters on.
ALIKE = 0.6

MAX_QUOTE = 40
MAX_LISTED = 24
BARE_KEY = re.compile(r"[A-Za-z0-9_-]{1,60}")


class KindError(ValueError):
    """A value is not of a kind.

    message: what is expected of the part that is wrong, and what it is.
    steps: the way to that part, keys of tables and indices of lists.
    """

    def __init__(self, message: str, *steps: str | int) -> None:
        super().__init__(message)
        self.message, self.steps = message, steps

    def inside(self, step: str | int) -> "KindError":
        """Returns the error of the table or list of which the part is one, by its key or its index."""
        return KindError(self.message, step, *self.steps)


@dataclass(frozen=True)
class Place:
    """Names a key of a file. keys: the way to it, such as `object[3].material`; lists count from 0."""

    path: Path
    keys: str = ""

    def inside(self, name: str) -> "Place":
        """Returns the place of a key of the table that is here."""
        shown_name = name if BARE_KEY.fullmatch(name) else quoted(name)
        return Place(self.path, f"{self.keys}.{shown_name}" if self.keys else shown_name)

    def item(self, index: int) -> "Place":
        """Returns the place of an item of the list that is here."""
        return Place(self.path, f"{self.keys}[{index}]")

    def error_of(self, error: KindError) -> "SceneFileError":
        """Returns an error that says what is wrong with a part of the value that is here."""
        place = self
        for step in error.steps:
            place = place.item(step) if isinstance(step, int) else place.inside(step)
        return place.error(error.message)

    def error(self, message: str) -> "SceneFileError":
        """Returns an error that says what is wrong here."""
        from scenes.errors import SceneFileError  # not for kinds of values alone

        return SceneFileError(self.path, None, f"{self.keys}: {message}" if self.keys else message)

    def unknown(self, what: str, name: str, known: Iterable[str]) -> "SceneFileError":
        """Returns the error of a name that nothing has; it lists the known ones and the one that may be meant."""
        return self.error(unknown(what, name, known))


def unknown(what: str, name: str, known: Iterable[str]) -> str:
    """Says that nothing has a name; lists the known ones and the one that may be meant."""
    names = list(known)
    near = nearest(name, names)
    hint = f" (did you mean {quoted(near)}?)" if near else ""
    listed = ", ".join(quoted(name) for name in names[:MAX_LISTED]) + (", ..." if len(names) > MAX_LISTED else "")
    return f"unknown {what} {quoted(name)}{hint}; there are: {listed or 'none'}"


def quoted(text: str) -> str:
    """Returns a text as messages show it, on one line."""
    import json

    return json.dumps(text if len(text) <= MAX_QUOTE else text[: MAX_QUOTE - 3] + "...")


def shown(value: Any) -> str:
    """Returns a value as messages show it."""
    match value:
        case bool():
            return str(value).lower()
        case str():
            return f"the text {quoted(value)}"
        case int() if value.bit_length() > 64:
            return "a number of very many digits"
        case int() | float():
            return str(value)
        case dict():
            return "a table"
        case list():
            return f"a list of {len(value)}"
    return f"a {type(value).__name__}"


def nearest(name: str, names: Iterable[str]) -> str | None:
    """Returns the one of some names that is most alike, or None where none is."""
    from difflib import get_close_matches

    found = get_close_matches(name[:MAX_LOOKED_AT], list(islice(names, MAX_COMPARED)), 1, ALIKE)
    return found[0] if found else None


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """Returns the end of an error's line: the name that is most alike, or nothing where none is."""
    near = nearest(name, names)
    return f"; did you mean {near}?" if near else ""
