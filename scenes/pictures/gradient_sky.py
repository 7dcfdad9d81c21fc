"""This module paints a sky: a colour at the horizon and another overhead, with a glow about the sun, and the ground."""

from dataclasses import dataclass

import numpy as np

from scenes.model import Color, Doubles, Floats

#: Rows and columns of the image of a sky.
SIZE = (256, 512)
#: How much faster haze hides the ground than the sky.
GROUND_HAZE = 4


@dataclass(frozen=True, kw_only=True, eq=False)
class GradientSky:
    """Describes a sky.

    zenith, horizon, ground, glow: radiance, W/(m^2 sr), overhead, at the horizon, straight below, and of what is added
        towards the sun.
    haze: how fast it thins out over the horizon, with the sine of the height.
    glow_power: how fast the glow fades, the power of the cosine of the angle to the sun.
    sun: (3,), unit, the direction to the sun, y up and -z in the middle of the image.
    """

    zenith: Color
    horizon: Color
    ground: Color
    haze: float
    glow: Color
    glow_power: float
    sun: Doubles

    def radiance(self) -> Floats:
        """Returns the image (height, width, 3) of the sky, in the frame of an environment."""
        rows, columns = SIZE
        polar = np.pi * (np.arange(rows) + 0.5) / rows
        turn = 2.0 * np.pi * ((np.arange(columns) + 0.5) / columns - 0.5)
        across, up = np.sin(polar)[:, None], np.repeat(np.cos(polar)[:, None], columns, axis=1)
        directions = np.stack([across * np.sin(turn), up, -across * np.cos(turn)], axis=-1)
        haze = np.exp(-self.haze * np.abs(up))[..., None]
        glow = np.maximum(directions @ self.sun, 0.0)[..., None] ** self.glow_power
        above = haze * self.horizon + (1.0 - haze) * np.array(self.zenith) + glow * self.glow
        thick = haze**GROUND_HAZE
        below = thick * self.horizon + (1.0 - thick) * np.array(self.ground)
        return np.where(up[..., None] > 0.0, above, below).astype(np.float32)
