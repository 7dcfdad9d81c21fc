"""A registry has rows that say where something is, which is imported when it is first asked for."""

from collections import UserDict
from pkgutil import resolve_name
from typing import TypeVar

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
