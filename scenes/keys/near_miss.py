"""This module finds what somebody may have meant who wrote a name that there is not."""

from collections.abc import Iterable
from itertools import islice

#: So much of a name is looked at, and so many known ones are compared.
MAX_LOOKED_AT, MAX_COMPARED = 200, 1000
#: Names are alike from this share of equal letters on.
ALIKE = 0.6


def nearest(name: str, names: Iterable[str]) -> str | None:
    """Returns the one of some names that is most alike, or None where none is."""
    from difflib import get_close_matches

    found = get_close_matches(name[:MAX_LOOKED_AT], list(islice(names, MAX_COMPARED)), 1, ALIKE)
    return found[0] if found else None


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """Returns the end of an error's line: the name that is most alike, or nothing where none is."""
    near = nearest(name, names)
    return f"; did you mean {near}?" if near else ""
