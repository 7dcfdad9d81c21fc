"""Watches files, as those of a scene which somebody edits."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from pathlib import Path

#: Seconds between two looks at the files.
LOOK_SECONDS = 0.25

#: What is another one where a file is, None where there is none.
Stamp = tuple[int, int, int] | None


class FileWatch:
    """Looks at files in a thread of its own, until it is closed.

    files: returns their paths, which may be others at each look.
    changed: called when some have become others since they were first seen or it was last called, once they have been
        the same for two looks: programs that write a file in pieces are done then.
    """

    def __init__(self, files: Callable[[], Iterable[Path]], changed: Callable[[], None]) -> None:
        self._files, self._changed = files, changed
        self._end = threading.Event()
        self._known = self._seen()
        self._thread = threading.Thread(target=self._run, name="file watch", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        before = self._known
        while not self._end.wait(LOOK_SECONDS):
            now = self._seen()
            self._known = now | self._known
            rested = {path: seen for path, seen in now.items() if seen is not None and seen == before.get(path)}
            if rested.items() - self._known.items():
                self._known |= rested
                self._changed()
            before = now

    def _seen(self) -> dict[Path, Stamp]:
        return {path: stamp(path) for path in self._files()}

    def close(self) -> None:
        """Looks no more."""
        self._end.set()
        self._thread.join()


def stamp(path: Path) -> Stamp:
    """Returns the stamp of a file."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
