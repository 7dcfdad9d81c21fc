"""From linear radiance to the 8-bit picture that a screen shows, in three steps.

1. Exposure: radiance is multiplied by 2^exposure; +1 is one stop brighter. Before, colours are changed where another
   white than that of sRGB is chosen: what has its chromaticity is shown white, as an eye that is used to it sees it
   (Lam: Metamerism and Colour Constancy, 1985, the transform of Bradford).
2. Curve. `reinhard`, after Reinhard, Stark, Shirley, Ferwerda: Photographic Tone Reproduction for Digital Images, 2002,
   equation 4: luminance L becomes L (1 + L / white^2) / (1 + L), which leaves the darks as they are, compresses the
   brights and burns out at L = white. Channels are scaled alike, so that hues stay. `linear` leaves luminance as it is.
3. Encoding: clipped to 0..1, sRGB transfer curve (IEC 61966-2-1:1999), rounded to the nearest of 256 steps.

What is left open is chosen by what is in the picture, as a camera's meter does (`metered`). Exposure: the mean of the
logarithm of luminance becomes middle grey, 0.18 (Reinhard and others, equations 1 and 2). What is darker or brighter
than all but a twentieth of the pixels counts as that twentieth does, and black pixels do not count. It is told in
tenths of a stop. White: what the photographic curve shows as white is where it is without a meter, or as bright as all
but a hundredth of the pixels, so that a ceiling close above a lamp keeps its shades; up to `MOST_WHITE`. The straight
curve has no such choice: with it a picture is darker until no more than three in a hundred are burnt out. Linear
pictures do not depend on any of it.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

from renderer.film.bands import by_bands
from scenes.colors.srgb import encoded_bytes

Linear = npt.NDArray[np.float32]
Doubles = npt.NDArray[np.float64]

#: Luminance of linear sRGB (ITU-R BT.709 primaries, D65 white).
LUMINANCE = np.array([0.2126, 0.7152, 0.0722])

Chromaticity = tuple[float, float]

#: Responses of the cones, sharpened, of X, Y and Z.
BRADFORD = np.array([[0.8951, 0.2664, -0.1614], [-0.7502, 1.7135, 0.0367], [0.0389, -0.0685, 1.0296]])

#: Luminance that the middle of a picture gets.
MIDDLE_GREY = 0.18
#: Percentiles: the darkest and the brightest that count as they are; up to where the photographic curve shows shades,
#: and the straight one.
DARKEST, BRIGHTEST, SHADED, UNBURNT = 5.0, 95.0, 99.0, 97.0
#: Stops that it reaches to, both ways; luminance, after exposure, that is white at most.
MOST_STOPS = 20.0
MOST_WHITE = 32.0


def chromaticity_of(kelvin: float) -> Chromaticity:
    """Returns x and y of a black body of 1667 to 25000 kelvin (Kim, Lee, Kang, Kim: Design of Advanced Color
    Temperature Control System for HDTV Applications, 2002).
    """
    k = 1000.0 / kelvin
    warm, cool = (-0.2661239, -0.2343589, 0.8776956, 0.179910), (-3.0258469, 2.1070379, 0.2226347, 0.240390)
    x = float(np.polyval(warm if kelvin <= 4000.0 else cool, k))
    if kelvin <= 2222.0:
        return x, float(np.polyval((-1.1063814, -1.34811020, 2.18555832, -0.20219683), x))
    if kelvin <= 4000.0:
        return x, float(np.polyval((-0.9549476, -1.37418593, 2.09137015, -0.16748867), x))
    return x, float(np.polyval((3.0817580, -5.87338670, 3.75112997, -0.37001483), x))


@cache
def adaptation(white: Chromaticity) -> Doubles:
    """Returns the matrix, (3, 3) float64, by which linear sRGB is multiplied so that a chromaticity becomes that of the
    screen's white, D65. white: its x and y.
    """
    from scenes.colors.spectra import RGB_OF_XYZ

    x, y = white
    from_white = BRADFORD @ np.array([x / y, 1.0, (1.0 - x - y) / y])
    to_screen = BRADFORD @ np.linalg.solve(RGB_OF_XYZ, np.ones(3))
    cones = np.diag(to_screen / from_white)
    xyz = np.linalg.inv(BRADFORD) @ cones @ BRADFORD
    return np.asarray(RGB_OF_XYZ @ xyz @ np.linalg.inv(RGB_OF_XYZ))


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
        seen = (
            np.asarray(radiance)
            if self.white_point is None
            else adapted(np.asarray(radiance, np.float64), self.white_point)
        )
        return np.concatenate(by_bands(self._shown, seen))

    def _shown(self, radiance: Linear) -> npt.NDArray[np.uint8]:
        """Returns rows of a picture, whose white is that of sRGB, as bytes."""
        exposed = np.asarray(radiance, np.float64) * 2.0**self.exposure
        exposed *= CURVES[self.curve](luminance(exposed), self.white)[..., np.newaxis]
        return encoded_bytes(exposed)


def adapted(radiance: npt.NDArray[np.float64], white_point: Chromaticity | None) -> npt.NDArray[np.float64]:
    """Returns linear sRGB, (..., 3) float64 not below 0, in which what has the chromaticity of the white point is grey;
    None leaves it as it is.
    """
    return radiance if white_point is None else np.maximum(radiance @ adaptation(white_point).T, 0.0)


def metered(radiance: npt.ArrayLike, curve: str) -> ToneMapping:
    """Returns how to show a picture, (height, width, 3) linear radiance, by a curve; one that is black, as it is."""
    light = luminance(radiance)
    light = light[light > 0.0]
    if not len(light):
        return ToneMapping(curve=curve)
    low, high, shaded, unburnt = np.percentile(light, (DARKEST, BRIGHTEST, SHADED, UNBURNT)).tolist()
    stops = math.log2(MIDDLE_GREY / math.exp(float(np.mean(np.log(np.clip(light, low, high))))))
    if curve == "linear":
        stops = min(stops, -math.log2(unburnt))
    stops = round(max(-MOST_STOPS, min(MOST_STOPS, stops)), 1)
    white = min(max(ToneMapping.white, float(f"{shaded * 2.0**stops:.2g}")), MOST_WHITE)
    return ToneMapping(exposure=stops, curve=curve, white=white)
