"""What a member of a fleet on one host runs: `python -m renderer.fleet.member SOCKET NUMBER ARENA...`, started by
`processes`.

It ends when the process that started it does, however that ends: the socket between them closes then.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Any

from renderer.fleet.fleet import CodeOf, Maker, Opening
from renderer.fleet.messages import Arena, SharedView, receive, send
from renderer.fleet.seats import Seat
from renderer.plain_text import plainly_printed
from tracecore.errors import TraceError

#: Seconds between two signs of life.
PULSE = 2.0

#: Items that are made at once at most.
MOST_AT_ONCE = 256


class _Server:
    """Makes what is asked for.

    channel: to the process that asks.
    arena: memory that is shared with it and with the other members.
    view: of their arenas.
    """

    def __init__(self, channel: socket.socket, arena: Arena, view: SharedView, seat: Seat) -> None:
        self._channel, self._arena, self._view, self._seat = channel, arena, view, seat
        self._sending = threading.Lock()
        self._maker: Maker | None = None
        self._threads = ThreadPoolExecutor(MOST_AT_ONCE)

    def serve(self) -> None:
        """Answers until the other side ends."""
        threading.Thread(target=self._show_life, daemon=True).start()
        while True:
            try:
                kind, number, content = receive(self._channel, self._view)
            except (EOFError, OSError):
                raise
            except Exception as error:  # what was sent cannot be read here, such as a class of a missing plugin
                self._send(("lost", -1, f"{type(error).__name__}: {error}"))
                continue
            if kind == "free":
                self._arena.free(content)
            elif kind == "open":
                self._answer(number, partial(self._opened, content))
            else:
                self._threads.submit(self._answer, number, partial(self._made, content))

    def _opened(self, opening: Opening) -> tuple[int, Any]:
        """Begins anew. Returns how many items at once keep this member busy, and its report."""
        if self._maker is not None:
            self._maker.close()
        self._maker = opening.make(opening.content, self._seat)
        return self._maker.window, self._maker.report()

    def _made(self, item: Any) -> Any:
        assert self._maker is not None
        return self._maker.make(item)

    def _answer(self, number: int, work: Callable[[], Any]) -> None:
        try:
            answer = ("done", number, work())
        except BaseException as error:
            kind = "lost" if isinstance(error, TraceError) else "failed"
            answer = (kind, number, f"{type(error).__name__}: {error}")
        self._send(answer)

    def _show_life(self) -> None:
        while True:
            threading.Event().wait(PULSE)
            self._send(("lives", 0, None))

    def _send(self, message: Any) -> None:
        try:
            with self._sending:
                send(self._channel, message, self._arena.put)
        except OSError:
            os._exit(0)  # nobody is there any more


def _begin_to_load(code_of: CodeOf) -> None:
    """Loads machine code in a thread of its own; what cannot be loaded is told when it is needed.

    What has it is imported before: where two threads import the modules of Numba, one of them may see modules that the
    other has made by half.
    """
    with suppress(Exception):
        from tracecore.compilation.cached import begin_to_load

        begin_to_load(code_of())


def main() -> None:
    """Serves the process at the other end of the socket.

    The arguments are the number of the socket, that of this member, and those of the files of all members' shared
    memory, "-" where there is none.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the other process says when to end
    channel, number, *files = sys.argv[1:]
    arenas = [None if file == "-" else int(file) for file in files]
    with plainly_printed():
        serve(socket.socket(fileno=int(channel)), Arena(arenas[int(number)], int(number)), SharedView(arenas))


def serve(channel: socket.socket, arena: Arena, view: SharedView) -> None:
    """Serves until the other side ends."""
    try:
        seat, plugins, code_of = receive(channel)
        if seat.cores is not None and hasattr(os, "sched_setaffinity"):
            os.sched_setaffinity(0, seat.cores)
        from renderer.plugins import load_installed, load_plugin

        load_installed()
        for path in plugins:
            load_plugin(path)
        _begin_to_load(code_of)
        _Server(channel, arena, view, seat).serve()
    except (EOFError, OSError):
        os._exit(0)


if __name__ == "__main__":
    main()
