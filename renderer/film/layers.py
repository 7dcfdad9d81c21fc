"""The columns of an image: the picture, and beside it the bias of the photon search, features of what the eye meets
first, and the layers of light.

An image is (pixels, columns) float64, as wide as what is asked for. The picture comes first, so that its bits are the
same whatever stands beside it.

Light is told apart at the first surface that spreads it, on the way from the eye through mirrors and glass. Direct is
what the eye sees of lights up to there, and what comes to that surface straight from a light. Caustic is what comes to
it from a light by mirrors and glass alone. Indirect is all other light.
"""

import numpy as np
import numpy.typing as npt

from shaders.compilation import compiled as inlined
from shaders.vector import Color

Doubles = npt.NDArray[np.float64]

#: Where columns begin. SEEN: rays of the eye that met something. LOOKED: all of which features are known.
BEAUTY, BIAS, ALBEDO, NORMAL, DEPTH, SEEN, LOOKED, LIGHT, DENSITY, END = 0, 3, 4, 7, 10, 11, 12, 13, 22, 23

#: How many columns there are, by what is asked for.
COLUMNS = {"beauty": BIAS, "bias": ALBEDO, "features": LIGHT, "all": END}

#: The layers of light, three columns each from LIGHT on.
DIRECT_LIGHT, INDIRECT_LIGHT, CAUSTIC_LIGHT = range(3)


#: What the difference of the two discs is multiplied with to be the bias. It is that at an edge, of light or of a
#: surface, root mean square over the pixels, and hardly depends on how often the radius has shrunk. Where light changes
#: smoothly, bias grows with the square of the radius and twice the difference would do: there it is told too large.
BIAS_FACTOR = 3.7


@inlined
def add_radiance(image: Doubles, pixel: int, radiance: Color, layer: int) -> None:
    """Add to the picture and, where there are layers, to that one."""
    add_color(image, pixel, BEAUTY, radiance)
    if image.shape[1] > LIGHT:
        add_color(image, pixel, LIGHT + 3 * layer, radiance)


@inlined
def add_color(image: Doubles, pixel: int, column: int, color: Color) -> None:
    """Add to three columns."""
    for channel in range(3):
        image[pixel, column + channel] += color[channel]


def layers_of(sums: Doubles, passes: int) -> dict[str, npt.NDArray[np.float32]]:
    """Layers of a picture by sums over so many passes, (height, width, columns), as far as there are columns.

    albedo, normal: (height, width, 3), 0 for the share of the pixel where there is nothing. depth: (height, width),
    distance from the eye of what is there, infinite where nothing is. direct, indirect, caustic: (height, width, 3)
    radiance. density: (height, width), photons found per square metre and pass.
    """
    made: dict[str, Doubles] = {}
    if sums.shape[2] > BIAS + 1:
        seen, looked = sums[..., SEEN], np.maximum(sums[..., LOOKED, None], 1.0)
        made["albedo"] = sums[..., ALBEDO : ALBEDO + 3] / looked
        made["normal"] = sums[..., NORMAL : NORMAL + 3] / looked
        made["depth"] = np.divide(sums[..., DEPTH], seen, out=np.full(seen.shape, np.inf), where=seen > 0.0)
    if sums.shape[2] > LIGHT:
        for name, layer in (("direct", DIRECT_LIGHT), ("indirect", INDIRECT_LIGHT), ("caustic", CAUSTIC_LIGHT)):
            made[name] = sums[..., LIGHT + 3 * layer : LIGHT + 3 * layer + 3] / max(passes, 1)
        made["density"] = sums[..., DENSITY] / max(passes, 1)
    return {name: values.astype(np.float32) for name, values in made.items()}
