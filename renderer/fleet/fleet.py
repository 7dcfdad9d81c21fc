"""What a fleet is, and what its members make: items, of which each may be made anywhere and twice."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Hashable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from renderer.fleet.seats import Seat

T = TypeVar("T")

#: An item is tried so often, by different members where there are several, before it ends the run.
MOST_TRIES = 3


#: Imports what a member needs, in its process, before it is told what to do, and returns the functions whose machine
#: code it will need; a function of a module.
CodeOf = Callable[[], Iterable[Callable[..., Any]]]


class Maker(Protocol):
    """Makes items in a member's process; several threads may ask it at once.

    window: so many items at once keep it busy.
    """

    window: int

    def make(self, item: Any) -> Any:
        """Returns what an item makes, of which arrays travel as they are."""

    def report(self) -> Any:
        """Returns what the member says of itself when it is ready."""

    def close(self) -> None:
        """Gives back what is held."""


@dataclass(frozen=True)
class Opening:
    """Says how a member begins its work.

    make: returns what makes items, of `content` and the member's seat; a function of a module.
    content: what all members need, such as a scene; it is sent to each member once.
    plugins: files that are loaded before `content` is read.
    """

    make: Callable[[Any, Seat], Maker]
    content: Any
    plugins: tuple[Path, ...] = ()


@dataclass(frozen=True, eq=False)
class Common(Generic[T]):
    """Holds something large that several items need, and that goes to each process once: arrays that members have made
    are not copied on one host, and the workers of a cluster keep it as long as the process that began has it.

    content: in tuples and dictionaries, of which arrays travel as they are.
    """

    content: T


class Supply(Protocol):
    """Has the items that are to be made. One that needs what others need too has it as a `Common` in its field `given`,
    and is a dataclass.
    """

    def take(self) -> Hashable | None:
        """Returns the next item; None where there is none now, or none any more."""

    def left(self) -> int | None:
        """Returns how many items are still to be taken, or None where nobody knows."""


class Items:
    """Is a supply of items that are all there from the beginning."""

    def __init__(self, items: Iterable[Hashable]) -> None:
        self._items = deque(items)

    def take(self) -> Hashable | None:
        """Returns the next item."""
        return self._items.popleft() if self._items else None

    def left(self) -> int:
        """Returns how many items are left."""
        return len(self._items)


@dataclass
class FleetShares:
    """Tells how the members of a fleet have fared.

    made: items that each has made, by its name.
    lost: members that failed, each with the reason.
    """

    made: dict[str, int] = field(default_factory=dict)
    lost: dict[str, str] = field(default_factory=dict)


class Fleet(Protocol):
    """Several processes that share out work."""

    @property
    def shares(self) -> FleetShares:
        """Returns how the members have fared so far."""

    def open(self, opening: Opening) -> list[Any]:
        """Has all members begin anew. Returns the report of each. Raises `FleetError` where none can."""

    def results(self, supply: Supply) -> Generator[tuple[Any, str, Any]]:
        """Yields items, each with the name of the member that made it and what was made, as they are finished, until
        nothing is left to take or to wait for.

        A member that fails is left out, and its items are made by others. Raises `FleetError` where no member is left,
        and for an item that fails `MOST_TRIES` times, by its name.
        """

    def close(self) -> None:
        """Ends the members."""
