"""A registry has rows that say where something is, which is imported when it is first asked for; others are put in by
new names.
"""

import re
from collections import UserDict
from collections.abc import Container
from pkgutil import resolve_name
from typing import TypeVar

from tracecore.errors import KernelError

T = TypeVar("T")


class OnDemand(UserDict[str, T]):
    """Maps names to what they stand for, of which nothing is imported by asking which names there are.

    It is made of a mapping from names to places, `module:object`; what is put in later is itself.
    """

    def __init__(self, places: dict[str, str]) -> None:
        super().__init__()
        self.data.update(places)  # type: ignore[arg-type]

    def __getitem__(self, name: str) -> T:
        found = self.data[name]
        if isinstance(found, str):
            found = self.data[name] = resolve_name(found)
        return found


def check_new_name(kind: str, name: str, taken: Container[str]) -> None:
    """Raises `KernelError` where a name of some kind is taken, or is not letters, digits and - _ . alone, as lists of
    names have commas between them.
    """
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", name):
        raise KernelError(f"a {kind}'s name is made of letters, digits and - _ . , got {name!r}")
    if name in taken:
        raise KernelError(f"{kind} {name!r} is registered already; choose another name")
