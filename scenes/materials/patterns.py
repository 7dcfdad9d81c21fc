"""This module holds patterns: a colour, times a picture and a map of texture coordinates.

Pictures have 8 bits for each channel. What is computed of pictures, such as a mixture, is a picture again.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from scenes.colors.palette import mean_color, srgb
from scenes.colors.srgb import decoded
from scenes.materials.microfacets import GREY, WHITE, multiplied
from scenes.model import Color, Doubles, Texture
from scenes.pictures.environment_file import read_environment


@dataclass(frozen=True, eq=False)
class Pattern:
    """Holds a colour, times a texture that is looked up after a (3, 3) map of texture coordinates, v downward.

    attribute: of the mesh, the name of what colours it instead of a texture, or "".
    """

    color: Color
    texture: Texture | None = None
    to_uv: Doubles = field(default_factory=lambda: np.eye(3))
    attribute: str = ""

    @property
    def mean(self) -> Color:
        """Returns the pattern's mean colour, grey of what comes with a mesh."""
        if self.attribute:
            return multiplied(self.color, GREY)
        if self.texture is None:
            return self.color
        if not self.texture.is_linear:
            return multiplied(self.color, mean_color(self.texture.pixels))
        red, green, blue = (self.texture.pixels.mean(axis=(0, 1)) / 255.0).tolist()
        return multiplied(self.color, (red, green, blue))

    @property
    def grey(self) -> float:
        """Returns the mean of the pattern's mean colour."""
        return sum(self.mean) / 3.0

    @property
    def values(self) -> Doubles:
        """Returns the linear colours of all texels, (height, width, 3), or (1, 1, 3) of what has no texture."""
        return np.array(self.color) * (np.ones((1, 1, 3)) if self.texture is None else shares(self.texture))

    @property
    def flat(self) -> "Pattern":
        """Returns the pattern's mean alone."""
        return Pattern(self.mean)

    def is_alike(self, other: "Pattern") -> bool:
        """Returns whether two patterns, of which any may have no texture, can be looked up at the same place."""
        if self.texture is None or other.texture is None:
            return True
        return self.texture.wrap == other.texture.wrap and np.array_equal(self.to_uv, other.to_uv)


def shares(texture: Texture) -> Doubles:
    """Returns the linear values of texels, (height, width, 3)."""
    return texture.pixels / 255.0 if texture.is_linear else decoded(texture.pixels)


def combined(patterns: Sequence[Pattern], values: Callable[..., Doubles]) -> Pattern:
    """Returns what a function makes of the values of patterns, which can all be looked up at the same place.

    values: from arrays (height, width, 3) to one.
    """
    lead = next((pattern for pattern in patterns if pattern.texture is not None), None)
    if lead is None or lead.texture is None:
        red, green, blue = np.maximum(values(*(pattern.values for pattern in patterns)), 0.0).reshape(3).tolist()
        return Pattern((red, green, blue))
    arrays = [pattern.values for pattern in patterns]
    sides = tuple(max(array.shape[axis] for array in arrays) for axis in (0, 1))
    made = np.clip(values(*(stretched(array, sides) for array in arrays)), 0.0, 1.0)
    return Pattern(WHITE, replace(lead.texture, pixels=srgb(made), alpha=None, is_linear=False), lead.to_uv)


def stretched(array: Doubles, sides: tuple[int, ...]) -> Doubles:
    """Returns an array (height, width, 3) at so many rows and columns, each with the nearest values."""
    rows, columns = (np.arange(side) * own // side for side, own in zip(sides, array.shape[:2], strict=True))
    return array[rows[:, None], columns]


def texture_of_light(path: Path) -> Texture:
    """Reads a picture of linear numbers as a texture: what is above 1 counts as 1, and it has 8 bits."""
    return Texture(name=path.name, pixels=srgb(np.minimum(read_environment(path), 1.0).astype(np.float64)))
