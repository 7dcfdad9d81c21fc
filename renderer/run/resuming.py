"""This module has a picture go on from its newest sound checkpoint, and keeps those of one that is being made."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from renderer.errors import CheckpointError, DamagedCheckpointError, UsageError
from renderer.run.checkpoint import (
    NOTHING_SPENT,
    Checkpoint,
    CheckpointOrder,
    Spent,
    path_before,
    read,
    remove,
    write,
)
from renderer.run.session import Saving
from scenes.written_file import remove_leftovers

if TYPE_CHECKING:
    from renderer.drivers.driver import Driver
    from renderer.film.film import Film

log = logging.getLogger(__name__)


class Resuming:
    """Holds the checkpoint from which a picture goes on, if it does, and writes those that it leaves.

    order: says where and when; None for a picture that keeps no checkpoint.
    spent: what the passes of that checkpoint have taken.

    Raises `CheckpointError` where the picture cannot go on as it is asked to.
    """

    def __init__(self, order: CheckpointOrder | None, *, quiet: bool) -> None:
        self._order, self._is_quiet = order, quiet
        self._is_kept = False
        self._checkpoint = None if order is None else self._found(order)
        self.spent = NOTHING_SPENT if self._checkpoint is None else self._checkpoint.spent

    def take_up(self, driver: Driver, film: Film) -> None:
        """Have a driver and a film, both new, go on where others stopped, if they are to.

        Raises `UsageError` where the driver cannot and should, and `CheckpointError` where the checkpoint is of no such
        film.
        """
        order, checkpoint = self._order, self._checkpoint
        if order is None:
            return
        self._is_kept = driver.can_resume
        if not self._is_kept:
            if order.is_asked_for:
                raise UsageError(
                    f"driver {driver.name} does not tell what it keeps from pass to pass, so that its pictures cannot "
                    "be resumed; leave out --checkpoint and --resume"
                )
        elif checkpoint is not None:
            try:
                film.resume(checkpoint.passes, checkpoint.sums, checkpoint.carried)
                driver.take_up(checkpoint.passes, checkpoint.carried)
            except ValueError as error:
                raise CheckpointError(order.path, f"is of another picture: {error}") from error
            self._checkpoint = None  # whose memory is the film's now

    def savings(self, spent: Callable[[Film], Spent]) -> list[Saving]:
        """Returns when checkpoints are written. spent: returns what the passes of a film have taken."""
        order = self._order
        if order is None or not self._is_kept:
            return []
        save = partial(self._save, order, spent)
        return [Saving(what="a checkpoint", save=save, interval=order.interval, first=order.first)]

    def save_last(self, film: Film, spent: Spent) -> None:
        """Writes the checkpoint of a picture that ends early."""
        order = self._order
        if order is not None and self._is_kept:
            try:
                self._save(order, lambda _: spent, film)
            except OSError as error:
                log.warning("note: cannot save a checkpoint: %s", error)

    def remove(self) -> None:
        """Removes the checkpoints of a picture that is finished."""
        if self._order is not None:
            remove(self._order.path)
            remove_leftovers(self._order.path)

    def _found(self, order: CheckpointOrder) -> Checkpoint | None:
        """Returns the checkpoint from which to go on; None where there is none, or nobody wants to."""
        there = [path for path in (order.path, path_before(order.path)) if path.is_file()]
        if not there:
            if order.resume:
                self._note(f"there is no '{order.path}'; beginning anew")
            return None
        if not order.resume:
            self._note(f"'{there[0]}' is left of a render that was not finished; --resume goes on with it")
            return None
        path, why = there[0], "" if there[0] == order.path else f"there is no '{order.path}'; "
        try:
            found = read(path, order.key_of)
        except (DamagedCheckpointError, OSError):
            if len(there) == 1:
                raise
            path, why = there[1], f"'{path}' is damaged; "
            found = read(path, order.key_of)
            with suppress(OSError):
                order.path.unlink()  # or else it would become the one before
        self._note(f"{why}going on after pass {found.passes} of '{path}'")
        return found

    def _note(self, text: str) -> None:
        if not self._is_quiet:
            log.info("note: %s", text)

    @staticmethod
    def _save(order: CheckpointOrder, spent: Callable[[Film], Spent], film: Film) -> None:
        passes = film.passes
        checkpoint = Checkpoint(passes=passes, spent=spent(film), sums=film.sums(), carried=film.carried)
        write(order.path, order.key_of(passes), checkpoint)
