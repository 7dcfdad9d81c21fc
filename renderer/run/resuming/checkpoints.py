"""This module has a picture go on from its newest sound checkpoint, and keeps those of one that is being made."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from renderer.errors import CheckpointError, DamagedCheckpointError, UsageError
from renderer.run.resuming.checkpoint_file import (
    NOTHING_SPENT,
    Checkpoint,
    Spent,
    checkpoint_path,
    path_before,
    read,
    remove,
    write,
)
from scenes.files.written_file import remove_leftovers

if TYPE_CHECKING:
    from renderer.drivers.driver import Driver
    from renderer.film.film import Film
    from renderer.settings.picture import Settings

#: Between two checkpoints at least so many seconds where nobody says otherwise, and so many before the first one.
DEFAULT_SECONDS, DEFAULT_FIRST = 60.0, 120.0

log = logging.getLogger(__name__)


class Checkpoints:
    """Holds the checkpoint from which a picture goes on, if it does, and writes those that it leaves.

    picture: path of the picture, beside which they are; None for one that keeps none.
    settings: say when they are written, and whether to go on with one that is there.
    key_of: returns the key of the picture, of the number of passes that have looked at the scene.
    is_kept: whether there are any, which the driver has a say in.
    interval: seconds between two, at least.
    first: seconds of a render before its first one, unless it ends early.
    spent: what the passes have taken that it goes on from.

    Raises `CheckpointError` where the picture cannot go on as it is asked to.
    """

    def __init__(self, picture: Path | None, settings: Settings, key_of: Callable[[int], str]) -> None:
        self._path, self._key_of = picture and checkpoint_path(picture), key_of
        self._is_quiet, self._is_resumed = settings.quiet, settings.resume
        self._is_asked_for = settings.resume or settings.checkpoint is not None
        self.interval = DEFAULT_SECONDS if settings.checkpoint is None else settings.checkpoint
        self.first = self.interval if self._is_asked_for else DEFAULT_FIRST
        self.is_kept = False
        self._checkpoint = None if self._path is None else self._found(self._path, key_of)
        self.spent = NOTHING_SPENT if self._checkpoint is None else self._checkpoint.spent

    def take_up(self, driver: Driver, film: Film) -> None:
        """Have a driver and a film, both new, go on where others stopped, if they are to.

        Raises `UsageError` where the driver cannot and should, and `CheckpointError` where the checkpoint is of no such
        film.
        """
        path, checkpoint = self._path, self._checkpoint
        if path is None:
            return
        self.is_kept = driver.can_resume
        if not self.is_kept:
            if self._is_asked_for:
                raise UsageError(
                    f"driver {driver.name} does not tell what it keeps from pass to pass, so that its pictures cannot "
                    "be resumed; leave out --checkpoint and --resume"
                )
        elif checkpoint is not None:
            try:
                film.resume(checkpoint.passes, checkpoint.sums, checkpoint.carried)
                driver.take_up(checkpoint.passes, checkpoint.carried)
            except ValueError as error:
                raise CheckpointError(path, f"is of another picture: {error}") from error
            self._checkpoint = None  # whose memory is the film's now

    def save(self, film: Film, spent: Spent) -> None:
        """Writes a checkpoint. spent: what the passes of the film have taken."""
        assert self._path is not None
        checkpoint = Checkpoint(passes=film.passes, spent=spent, sums=film.sums(), carried=film.carried)
        write(self._path, self._key_of(film.passes), checkpoint)

    def remove(self) -> None:
        """Removes the checkpoints of a picture that is finished."""
        if self._path is not None:
            remove(self._path)
            remove_leftovers(self._path)

    def _found(self, newest: Path, key_of: Callable[[int], str]) -> Checkpoint | None:
        """Returns the checkpoint from which to go on; None where there is none, or nobody wants to."""
        there = [path for path in (newest, path_before(newest)) if path.is_file()]
        if not there:
            if self._is_resumed:
                self._note(f"there is no '{newest}'; beginning anew")
            return None
        if not self._is_resumed:
            self._note(f"'{there[0]}' is left of a render that was not finished; --resume goes on with it")
            return None
        path, why = there[0], "" if there[0] == newest else f"there is no '{newest}'; "
        try:
            found = read(path, key_of)
        except (DamagedCheckpointError, OSError):
            if len(there) == 1:
                raise
            path, why = there[1], f"'{path}' is damaged; "
            found = read(path, key_of)
            with suppress(OSError):
                newest.unlink()  # or else it would become the one before
        self._note(f"{why}going on after pass {found.passes} of '{path}'")
        return found

    def _note(self, text: str) -> None:
        if not self._is_quiet:
            log.info("note: %s", text)
