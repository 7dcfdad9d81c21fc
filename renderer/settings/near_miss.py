"""This module finds what somebody may have meant who wrote a name that there is not."""

from collections.abc import Iterable

#: Names are alike from this share of equal letters on.
ALIKE = 0.6


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """Returns the end of an error's line: the name that is most alike, or nothing where none is."""
    from difflib import get_close_matches

    found = get_close_matches(name[:200], list(names), 1, ALIKE)
    return f"; did you mean {found[0]}?" if found else ""
