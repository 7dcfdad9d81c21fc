"""This module defines every error that the renderer raises."""

from pathlib import Path


class RenderError(Exception):
    """This is the root of the renderer's errors."""


class UsageError(RenderError, ValueError):
    """What was asked for cannot be done; the message says what was got, what is expected and the remedy."""


class CheckpointError(UsageError):
    """A picture cannot go on from a checkpoint. path: of the file. why: what is wrong with it, a verb first."""

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(f"cannot resume: '{path}' {why}; leave out --resume to begin anew")


class PhotonFileError(UsageError):
    """A file is not a photon map that this program saved."""
