"""What is made of something before it is asked for, by another thread, while something before it is in use."""

import weakref
from typing import Generic, TypeVar

T = TypeVar("T")


class Ahead(Generic[T]):
    """Holds values by the objects that they are made of: each is taken once, and dropped with its object."""

    def __init__(self) -> None:
        self._made: dict[int, T] = {}

    def leave(self, source: object, value: T) -> None:
        """Leaves what was made of an object."""
        self._made[id(source)] = value
        weakref.finalize(source, self._made.pop, id(source), None)

    def take(self, source: object) -> T | None:
        """Returns what was made of an object, if anything was and nobody has taken it yet."""
        return self._made.pop(id(source), None)
