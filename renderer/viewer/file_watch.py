"""Watches a file, as that of a scene which somebody edits."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

#: Seconds between two looks at the file.
LOOK_SECONDS = 0.25


class FileWatch:
    """Looks at a file in a thread of its own, until it is closed.

    path: of the file.
    changed: called each time that it has become another one, once it has been the same for two looks: programs that
        write a file in pieces are done then.
    """

    def __init__(self, path: Path, changed: Callable[[], None]) -> None:
        self._path, self._changed = path, changed
        self._end = threading.Event()
        self._known = stamp(path)
        self._thread = threading.Thread(target=self._run, name="file watch", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        before = self._known
        while not self._end.wait(LOOK_SECONDS):
            now = stamp(self._path)
            if now is not None and now == before and now != self._known:
                self._known = now
                self._changed()
            before = now

    def close(self) -> None:
        """Looks no more."""
        self._end.set()
        self._thread.join()


def stamp(path: Path) -> tuple[int, int, int] | None:
    """Returns what is another one where a file is, None where there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
