"""A device that fails is contained: passes that were under way are made again on another tracer, with the same bits.

Once they are tried on the device anew, by a new tracer. A process whose device has met an illegal address, or whose
kernel does not end, gets no other one from CUDA; then the CPU goes on if the user wants that, and else it is an error.
Passes that are finished are kept, and what a driver carries from pass to pass is handed on, as from a checkpoint.
"""

from __future__ import annotations

import logging
from contextlib import ExitStack, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from renderer.errors import UsageError
from renderer.scene.render_context import context_of
from tracecore.errors import TraceError, WrongHitError

if TYPE_CHECKING:
    from renderer.scene.render_context import RenderContext, TracerChoice

log = logging.getLogger(__name__)


class Containment:
    """Holds the tracer that is in use, and puts another one in its place where that fails.

    context: the scene and the first tracer, which the caller closes as well.
    choice: by which it was opened; None where nothing is to be done about a failure.
    """

    def __init__(self, context: RenderContext, choice: TracerChoice | None) -> None:
        self.context, self.faults = context, context.faults
        self.choice = choice.on_cpu if choice is not None and context.faults else choice
        self._failed_at: int | None = None
        self._opened = ExitStack()

    def recover(self, error: TraceError, place: int) -> None:
        """Open another tracer in place of one that failed, whose ports are closed.

        error: of the tracer.
        place: how far the work had come; where a device fails twice at a place, it is not tried again.

        Raises the error, with what the user can do about it, where there is no other tracer.
        """
        old, choice = self.context, self.choice
        if choice is None or old.tracer.device == "cpu" or isinstance(error, WrongHitError):
            raise error
        self.faults += 1
        is_new, self._failed_at = self._failed_at != place, place
        with suppress(TraceError):
            old.tracer.close()
        log.warning("note: the %s failed: %s", old.tracer.device, error)
        if is_new and self._opens(replace(choice, fallback=None), old.tracer.tree):
            return
        if choice.fallback is None:
            raise type(error)(f"{error}; --fallback cpu goes on with the CPU") from error
        self.choice = choice.on_cpu
        self._opens(self.choice, None)

    def _opens(self, choice: TracerChoice, tree: Any) -> bool:
        """Open a tracer for the scene. Returns False where its device cannot be used."""
        old = self.context
        try:
            opened = self._opened.enter_context(
                context_of(old.snapshot, choice, load_seconds=old.load_seconds, tree=tree)
            )
        except (TraceError, UsageError) as error:
            log.warning("note: the %s cannot be used any more: %s", old.tracer.device, error)
            return False
        self.context = replace(opened, is_refitted=old.is_refitted)
        log.warning("note: what was under way is traced again on the %s", opened.tracer.device)
        return True

    def close(self) -> None:
        """Close the tracers that were opened here."""
        self._opened.close()
