"""From linear radiance to the 8-bit picture that a screen shows, in three steps.

1. Exposure: radiance is multiplied by 2^exposure; +1 is one stop brighter. Before, colours are changed where another
   white than that of sRGB is chosen (`white_point`).
2. Curve. `reinhard`, after Reinhard, Stark, Shirley, Ferwerda: Photographic Tone Reproduction for Digital Images, 2002,
   equation 4: luminance L becomes L (1 + L / white^2) / (1 + L), which leaves the darks as they are, compresses the
   brights and burns out at L = white. Channels are scaled alike, so that hues stay. `linear` leaves luminance as it is.
3. Encoding: clipped to 0..1, sRGB transfer curve (IEC 61966-2-1:1999), rounded to the nearest of 256 steps.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from renderer.film.white_point import Chromaticity, adaptation
from scenes.colors.srgb import encoded

Linear = npt.NDArray[np.float32]

#: Luminance of linear sRGB (ITU-R BT.709 primaries, D65 white).
LUMINANCE = np.array([0.2126, 0.7152, 0.0722])


def luminance(linear: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Returns the luminance of linear sRGB: (...) float64 of (..., 3)."""
    return np.asarray(np.asarray(linear, np.float64) @ LUMINANCE)


def reinhard(light: npt.NDArray[np.float64], white: float) -> npt.NDArray[np.float64]:
    """Returns the factor (1 + L / white^2) / (1 + L) by which the photographic curve scales a pixel of luminance L."""
    return (1.0 + light / white**2) / (1.0 + light)


def linear(light: npt.NDArray[np.float64], white: float) -> npt.NDArray[np.float64]:
    """Returns the factor 1: what is brighter than 1 is clipped."""
    return np.ones_like(light)


CURVES: dict[str, Callable[[npt.NDArray[np.float64], float], npt.NDArray[np.float64]]] = {
    "reinhard": reinhard,
    "linear": linear,
}


@dataclass(frozen=True, kw_only=True)
class ToneMapping:
    """How linear radiance is shown on a screen.

    exposure: stops.
    curve: a name in `CURVES`.
    white: luminance, after exposure, that `reinhard` maps to 1.
    white_point: x and y of what is shown white, or None for the white of sRGB.
    """

    exposure: float = 0.0
    curve: str = "reinhard"
    white: float = 4.0
    white_point: Chromaticity | None = None

    def __call__(self, radiance: Linear) -> npt.NDArray[np.uint8]:
        """Returns (height, width, 3) uint8, sRGB encoded, of (height, width, 3) linear radiance not below 0."""
        exposed = adapted(np.asarray(radiance, np.float64), self.white_point) * 2.0**self.exposure
        scale = CURVES[self.curve](luminance(exposed), self.white)
        return to_bytes(encoded(exposed * scale[..., np.newaxis]))


def adapted(radiance: npt.NDArray[np.float64], white_point: Chromaticity | None) -> npt.NDArray[np.float64]:
    """Returns linear sRGB, (..., 3) float64 not below 0, in which what has the chromaticity of the white point is grey;
    None leaves it as it is.
    """
    return radiance if white_point is None else np.maximum(radiance @ adaptation(white_point).T, 0.0)


def to_bytes(shown: npt.NDArray[np.float64]) -> npt.NDArray[np.uint8]:
    """Returns 0..255 for 0..1, to the nearest, halves up."""
    return np.floor(shown * 255.0 + 0.5).astype(np.uint8)
