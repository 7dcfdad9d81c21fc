"""A fleet of processes on this host."""

from __future__ import annotations

import itertools
import logging
import os
import pickle
import socket
import subprocess
import threading
from collections import Counter, deque
from collections.abc import Generator, Hashable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from renderer.errors import FleetError
from renderer.fleet.ending import END_SECONDS, await_end
from renderer.fleet.fleet import MOST_TRIES, CodeOf, FleetShares, Opening, Supply
from renderer.fleet.messages import (
    LEAST_SHARED,
    NOWHERE,
    Arena,
    MessagePlace,
    PlaceOf,
    SharedView,
    address_of,
    arena_file,
    receive,
    send,
)
from renderer.fleet.seats import Seat
from tracecore.child_process import start_python

log = logging.getLogger(__name__)

#: Seconds without a sign of life after which a member counts as lost.
PATIENCE = 60.0

#: Seconds after which a wait looks whether an interrupt has come.
CHECK_SECONDS = 0.5


class Listener(Protocol):
    """Hears what members answer; it is called in the members' threads."""

    def on_answer(self, member: Member, kind: str, number: int, content: Any) -> None:
        """A member has answered. kind: "done", "failed" or "lost", and then `content` is the reason."""

    def on_end(self, member: Member, reason: str) -> None:
        """A member's process has ended, or shows no life."""


class Memory:
    """Is the memory of a fleet: each member writes to an arena of its own, which all the others can read, and so does
    this process.

    files: of the arenas, by the numbers of the members, and last that of this process; None where there are none.
    view: what this process sees of them.
    unused: slots of each arena, of which its member is to be told.
    """

    def __init__(self, members: int) -> None:
        self.files = [arena_file() for _ in range(members + 1)]
        self.unused: list[deque[int]] = [deque() for _ in range(members)]
        self.view = SharedView(self.files, self._on_free)
        self._arena = Arena(self.files[members], members)

    def lend(self, content: Any) -> PlaceOf:
        """Puts the large arrays of something once where all members see them, for as long as there are members. Returns
        where the bytes of an array are, which holds as long as the content is there.
        """
        buffers: list[pickle.PickleBuffer] = []
        pickle.dumps(content, protocol=5, buffer_callback=buffers.append)
        large = [part for part in (buffer.raw() for buffer in buffers) if part.nbytes >= LEAST_SHARED]
        lent = {address_of(part): self._arena.put(part) for part in large if self.view.place_of(part) == NOWHERE}
        return lambda part: lent.get(address_of(part)) or self.view.place_of(part)

    def close(self) -> None:
        """Gives the memory back, once nobody has an array in it any more."""
        for file in self.files:
            if file is not None:
                os.close(file)

    def _on_free(self, place: MessagePlace) -> None:
        self.unused[place.file].append(place.offset)


class Start(NamedTuple):
    """Says how a member begins, see `HostFleet`."""

    plugins: tuple[Path, ...]
    code_of: CodeOf


class Member:
    """One process of the fleet. items: that are with it, by their numbers. window: so many keep it busy.

    number: of its arena.
    start: how it begins.
    """

    def __init__(self, seat: Seat, number: int, memory: Memory, start: Start, listener: Listener) -> None:
        self.name = seat.name
        self.window = 1
        self.items: dict[int, Hashable] = {}
        self._listener = listener
        self._view, self._unused = memory.view, memory.unused[number]
        self._lent: dict[int, Any] = {}  # what it was sent and has not answered: it may read arrays of it
        self._channel, other = socket.socketpair()
        self._channel.settimeout(PATIENCE)
        files = [file for file in memory.files if file is not None]
        words = ["-" if file is None else str(file) for file in memory.files]
        self.process: subprocess.Popen[bytes] = start_python(
            ["-m", "renderer.fleet.member", str(other.fileno()), str(number), *words],
            pass_fds=[other.fileno(), *files],
            stdin=subprocess.DEVNULL,
        )
        other.close()
        self._sending = threading.Lock()
        self._say((seat, *start))
        threading.Thread(target=self._listen, name=f"member_{seat.number}", daemon=True).start()

    def ask(self, kind: str, number: int, content: Any, place_of: PlaceOf | None = None) -> None:
        """Asks for something, which is answered under a number.

        kind: "open" or "make".
        place_of: where large arrays of the content are, or None for what members have made.
        """
        self._lent[number] = content
        self._say((kind, number, content), place_of)

    def dismiss(self) -> None:
        """Tells the process to end."""
        with suppress(OSError):
            self._channel.shutdown(socket.SHUT_RDWR)

    def end(self) -> None:
        """Ends the process."""
        self.dismiss()
        await_end(self.process)

    def _say(self, message: Any, place_of: PlaceOf | None = None) -> None:
        """Sends a message; that the member has ended is noticed where its answers are read."""
        with suppress(OSError), self._sending:
            send(self._channel, message, place_of or self._view.place_of)

    def _listen(self) -> None:
        """Reads answers until there are no more."""
        while True:
            try:
                kind, number, content = receive(self._channel, self._view)
            except (OSError, EOFError) as error:
                self._listener.on_end(self, self._why_ended(error))
                return
            while self._unused:
                self._say(("free", 0, self._unused.popleft()))
            if kind != "lives":
                self._lent.pop(number, None)
                self._listener.on_answer(self, kind, number, content)
            del content  # else what was answered last stays as long as nothing else is

    def _why_ended(self, error: Exception) -> str:
        if isinstance(error, TimeoutError):
            return f"no sign of life for {PATIENCE:g} s"
        with suppress(subprocess.TimeoutExpired):
            return f"its process ended with status {self.process.wait(END_SECONDS)}"
        return "it does not answer"


class HostFleet:
    """Members on this host; see `renderer.fleet.fleet.Fleet`.

    seats: of the members.
    plugins: files that each loads first.
    code_of: says what machine code each loads then, before it is told what to do.
    """

    def __init__(self, seats: list[Seat], plugins: tuple[Path, ...] = (), code_of: CodeOf = tuple) -> None:
        self.seats = seats
        self.shares = FleetShares(made={seat.name: 0 for seat in seats})
        self._changed = threading.Condition()
        self._numbers = itertools.count()
        self._supply: Supply | None = None
        self._again: deque[Hashable] = deque()
        self._tries: Counter[Hashable] = Counter()
        self._finished: deque[tuple[Any, str, Any]] = deque()
        self._suspects: list[Hashable] | None = None  # items that were with each member that was lost
        self._error: FleetError | None = None
        self._memory = Memory(len(seats))
        self._members: list[Member] = []
        self._members += [
            Member(seat, number, self._memory, Start(plugins, code_of), self) for number, seat in enumerate(seats)
        ]

    @property
    def process_numbers(self) -> list[int]:
        """Returns the numbers of the members' processes."""
        return [member.process.pid for member in self._members]

    def open(self, opening: Opening) -> list[Any]:
        """Has all members begin anew, as `Fleet` says."""
        with self._changed:
            asked = [(member, next(self._numbers)) for member in self._members]
            for member, number in asked:
                member.items = {number: "the start"}
        place_of = self._memory.lend(opening)
        for member, number in asked:  # one that was lost since has no items any more
            threading.Thread(target=member.ask, args=("open", number, opening, place_of), daemon=True).start()
        with self._changed:
            self._wait(lambda: not any(member.items for member in self._members))
            self._again.clear()
            reports = []
            while self._finished:
                _, name, (window, report) = self._finished.popleft()
                for member in self._members:
                    if member.name == name:  # else it was lost since
                        member.window = window
                        reports.append(report)
        return reports

    def results(self, supply: Supply) -> Generator[tuple[Any, str, Any]]:
        """Yields what is made of all items, as `Fleet` says. What is under way when the caller leaves is given up."""
        self._supply = supply
        try:
            while True:
                with self._changed:
                    self._hand_out()
                    self._wait(lambda: bool(self._finished) or not any(member.items for member in self._members))
                    if not self._finished:
                        return
                    finished = self._finished.popleft()
                yield finished
        finally:
            with self._changed:
                self._supply = None
                self._again.clear()
                self._tries.clear()
                self._finished.clear()
                for member in self._members:
                    member.items = {}

    def close(self) -> None:
        """Ends the members, all at once: to give a GPU back takes each a while."""
        with self._changed:
            members, self._members = self._members, []
        for member in members:
            member.dismiss()
        for member in members:
            member.end()
        self._memory.close()

    def on_answer(self, member: Member, kind: str, number: int, content: Any) -> None:
        """Keeps what a member has made, or has others try what it could not make."""
        with self._changed:
            is_awaited = number in member.items  # else it is of work that was given up
            cannot_begin = kind == "failed" and is_awaited and self._supply is None
            if (kind == "lost" or cannot_begin) and member in self._members:
                self._leave_out(member, content)
            if not is_awaited or kind == "lost" or cannot_begin:
                return
            item = member.items.pop(number)
            if kind == "done":
                self.shares.made[member.name] += self._supply is not None
                self._finished.append((item, member.name, content))
            else:
                self._try_again(item, content)
            self._hand_out()
            self._changed.notify_all()

    def on_end(self, member: Member, reason: str) -> None:
        """Goes on without a member, unless it was told to end."""
        with self._changed:
            if member in self._members:
                self._leave_out(member, reason)

    def _wait(self, is_enough: Any) -> None:
        """Wait until something is so. Raises the error that keeps it from being so."""
        while not is_enough() and self._error is None:
            self._changed.wait(CHECK_SECONDS)
        if self._error is not None:
            raise self._error

    def _hand_out(self) -> None:
        """Give each member as many items as keep it busy, in turn; the last ones are dealt out evenly."""
        if self._supply is None or self._error is not None:
            return
        for count in range(max((member.window for member in self._members), default=0)):
            for member in self._members:
                if len(member.items) > count or count >= self._allowance(member, self._supply):
                    continue
                item = self._again.popleft() if self._again else self._supply.take()
                if item is None:
                    return
                number = next(self._numbers)
                member.items[number] = item
                member.ask("make", number, item)

    def _allowance(self, member: Member, supply: Supply) -> int:
        """Returns how many items a member may have now: no more than an even share of all that is not made."""
        left = supply.left()
        if left is None:
            return member.window
        unmade = left + len(self._again) + sum(len(other.items) for other in self._members)
        return min(member.window, -(-unmade // len(self._members)))

    def _leave_out(self, member: Member, reason: str) -> None:
        """Go on without a member: others make its items."""
        self._members.remove(member)
        self.shares.lost[member.name] = reason
        log.warning("note: member %s of the fleet is left out: %s", member.name, reason)
        threading.Thread(target=member.end, daemon=True).start()
        items, member.items = list(member.items.values()), {}
        self._again.extend(items)
        self._suspects = [item for item in items if self._suspects is None or item in self._suspects]
        if not self._members and self._error is None:
            reasons = "; ".join(f"{name}: {why}" for name, why in self.shares.lost.items())
            suspects = ", ".join(map(str, self._suspects))
            were_with = f"; {suspects} was with each of them" if len(self.shares.lost) > 1 and suspects else ""
            self._error = FleetError(f"no member of the fleet is left: {reasons}{were_with}")
        self._hand_out()
        self._changed.notify_all()

    def _try_again(self, item: Hashable, reason: str) -> None:
        self._tries[item] += 1
        if self._tries[item] >= MOST_TRIES and self._error is None:
            self._error = FleetError(f"{item} failed {MOST_TRIES} times: {reason}")
        self._again.append(item)
