"""This module says where in a file a value stands, for messages."""

import difflib
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scenes.errors import SceneFileError

MAX_QUOTE = 40
MAX_LISTED = 24
BARE_KEY = re.compile(r"[A-Za-z0-9_-]{1,60}")


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

    def error(self, message: str) -> SceneFileError:
        """Returns an error that says what is wrong here."""
        return SceneFileError(self.path, None, f"{self.keys}: {message}" if self.keys else message)

    def unknown(self, what: str, name: str, known: Iterable[str]) -> SceneFileError:
        """Returns the error of a name that nothing has; it lists the known ones and the one that may be meant."""
        names = list(known)
        close = difflib.get_close_matches(name[:MAX_QUOTE], names[:1000], n=1)
        hint = f" (did you mean {quoted(close[0])}?)" if close else ""
        listed = ", ".join(quoted(name) for name in names[:MAX_LISTED]) + (", ..." if len(names) > MAX_LISTED else "")
        return self.error(f"unknown {what} {quoted(name)}{hint}; there are: {listed or 'none'}")


def quoted(text: str) -> str:
    """Returns a text as messages show it, on one line."""
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
