"""This module defines every error that the renderer raises."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from scenes.model import Snapshot
    from tracecore.errors import WrongHitError


class RenderError(Exception):
    """This is the root of the renderer's errors."""


class UsageError(RenderError, ValueError):
    """What was asked for cannot be done; the message says what was got, what is expected and the remedy."""


class FleetError(RenderError):
    """A fleet cannot go on: it has no members left, or an item fails wherever it is made."""


class WrongPictureError(RenderError):
    """A kernel hits what is not there. wrong: what it hit. snapshot: of the scene."""

    def __init__(self, wrong: WrongHitError, snapshot: Snapshot, remedy: str = "") -> None:
        super().__init__(f"{wrong}; what this kernel has traced is not to be trusted{remedy}")
        self.wrong, self.snapshot = wrong, snapshot


class CheckpointError(UsageError):
    """A picture cannot go on from a checkpoint. path: of the file. why: what is wrong with it, a verb first."""

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(f"cannot resume: '{path}' {why}; leave out --resume to begin anew")


class DamagedCheckpointError(CheckpointError):
    """A checkpoint does not have the bytes that were written."""


class PartError(UsageError):
    """Parts of a picture or of a photon run do not go together, or not with a picture."""


class PhotonFileError(UsageError):
    """A file is not a photon map that this program saved."""
