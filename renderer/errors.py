"""This module defines every error that the renderer raises."""

from pathlib import Path


class RenderError(Exception):
    """This is the root of the renderer's errors."""


class UsageError(RenderError, ValueError):
    """What was asked for cannot be done; the message says what was got, what is expected and the remedy."""


class RadianceError(RenderError):
    """A pass holds radiance that cannot be: not a number, infinite, or negative.

    pass_index: 0-based.
    pixel: (x, y) of the first bad one, from the top left.
    count: bad pixels in the pass.
    """

    def __init__(self, pass_index: int, pixel: tuple[int, int], value: tuple[float, ...], count: int) -> None:
        self.pass_index, self.pixel, self.value, self.count = pass_index, pixel, value, count
        x, y = pixel
        colour = ", ".join(f"{channel:g}" for channel in value)
        super().__init__(
            f"pass {pass_index}: {count} pixel{'s' if count > 1 else ''} with radiance that is not finite and >= 0; "
            f"the first is x = {x}, y = {y} with ({colour}). This is a fault of the driver or of a shader: "
            "please report it with the scene and the seed"
        )


class CheckpointError(UsageError):
    """A picture cannot go on from a checkpoint. path: of the file. why: what is wrong with it, a verb first."""

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(f"cannot resume: '{path}' {why}; leave out --resume to begin anew")


class PhotonFileError(UsageError):
    """A file is not a photon map that this program saved."""
