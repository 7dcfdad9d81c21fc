"""What is taken for white, and the change of colours that shows it white on a screen, as an eye that is used to it
sees it (Lam: Metamerism and Colour Constancy, 1985, the transform of Bradford)."""

from functools import cache

import numpy as np
import numpy.typing as npt

from scenes.colors.spectra import RGB_OF_XYZ

Doubles = npt.NDArray[np.float64]
Chromaticity = tuple[float, float]

#: Responses of the cones, sharpened, of X, Y and Z.
BRADFORD = np.array([[0.8951, 0.2664, -0.1614], [-0.7502, 1.7135, 0.0367], [0.0389, -0.0685, 1.0296]])


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
    x, y = white
    from_white = BRADFORD @ np.array([x / y, 1.0, (1.0 - x - y) / y])
    to_screen = BRADFORD @ np.linalg.solve(RGB_OF_XYZ, np.ones(3))
    cones = np.diag(to_screen / from_white)
    xyz = np.linalg.inv(BRADFORD) @ cones @ BRADFORD
    return np.asarray(RGB_OF_XYZ @ xyz @ np.linalg.inv(RGB_OF_XYZ))
