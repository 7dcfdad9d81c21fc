"""The columns of an image: the picture, and beside it the bias of the photon search, features of what the eye meets
first, the layers of light, and light groups.

An image is (pixels, columns) float64, as wide as what is asked for. The picture comes first, so that its bits are the
same whatever stands beside it.

Light is told apart at the first surface that spreads it, on the way from the eye through mirrors and glass. Direct is
what the eye sees of lights up to there, and what comes to that surface straight from a light. Caustic is what comes to
it from a light by mirrors and glass alone. Indirect is all other light.
"""

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from shaders.compilation import compiled as inlined
from shaders.vector import Color

if TYPE_CHECKING:
    from renderer.settings.picture import RenderSettings

Doubles = npt.NDArray[np.float64]

#: Where columns begin. LAYER_SEEN: rays of the eye that met something. LAYER_LOOKED: all of which features are known.
(
    LAYER_BEAUTY,
    LAYER_BIAS,
    LAYER_ALBEDO,
    LAYER_NORMAL,
    LAYER_DEPTH,
    LAYER_SEEN,
    LAYER_LOOKED,
    LAYER_LIGHT,
    LAYER_DENSITY,
    LAYER_END,
) = 0, 3, 4, 7, 10, 11, 12, 13, 22, 23

#: How many columns there are, by what is asked for. Light groups have three columns each, behind all of them.
LAYER_COLUMNS = {"beauty": LAYER_BIAS, "bias": LAYER_ALBEDO, "features": LAYER_LIGHT, "all": LAYER_END}

#: The group of light that is in none of them, or whose groups are told otherwise.
NO_GROUP = -1

#: The layers of light, three columns each from LAYER_LIGHT on.
DIRECT_LIGHT, INDIRECT_LIGHT, CAUSTIC_LIGHT = range(3)


#: What the difference of the two discs is multiplied with to be the bias. It is that at an edge, of light or of a
#: surface, root mean square over the pixels, and hardly depends on how often the radius has shrunk. Where light changes
#: smoothly, bias grows with the square of the radius and twice the difference would do: there it is told too large.
BIAS_FACTOR = 3.7


def columns_of(settings: "RenderSettings") -> int:
    """Returns how many columns the passes of a picture have."""
    groups = settings.light_groups
    return LAYER_END + 3 * groups if groups else LAYER_COLUMNS[settings.layers]


@inlined
def add_radiance(image: Doubles, pixel: int, radiance: Color, layer: int, group: int) -> None:
    """Add light to the picture and, where an image has layers of light, to one of them and to a light group."""
    add_color(image, pixel, LAYER_BEAUTY, radiance)
    if image.shape[1] > LAYER_LIGHT:
        add_color(image, pixel, LAYER_LIGHT + 3 * layer, radiance)
        if group != NO_GROUP:
            add_to_group(image, pixel, radiance, group)


@inlined
def add_to_group(image: Doubles, pixel: int, radiance: Color, group: int) -> None:
    """Add light to a light group, where an image has some."""
    if image.shape[1] > LAYER_END:
        add_color(image, pixel, LAYER_END + 3 * group, radiance)


@inlined
def add_color(image: Doubles, pixel: int, column: int, color: Color) -> None:
    """Add a colour to three columns of an image."""
    for channel in range(3):
        image[pixel, column + channel] += color[channel]


def layers_of(sums: Doubles, passes: int) -> dict[str, npt.NDArray[np.float32]]:
    """Returns the layers of a picture by name, as far as there are columns for them.

    albedo, normal: (height, width, 3), 0 for the share of the pixel where there is nothing.
    depth: (height, width), distance from the eye of what is there, infinite where nothing is.
    direct, indirect, caustic: (height, width, 3) radiance.
    density: (height, width), photons found per square metre and pass.

    sums: (height, width, columns), over the passes.
    passes: how many they are.
    """
    made: dict[str, Doubles] = {}
    if sums.shape[2] > LAYER_BIAS + 1:
        seen, looked = sums[..., LAYER_SEEN], np.maximum(sums[..., LAYER_LOOKED, None], 1.0)
        made["albedo"] = sums[..., LAYER_ALBEDO : LAYER_ALBEDO + 3] / looked
        made["normal"] = sums[..., LAYER_NORMAL : LAYER_NORMAL + 3] / looked
        made["depth"] = np.divide(sums[..., LAYER_DEPTH], seen, out=np.full(seen.shape, np.inf), where=seen > 0.0)
    if sums.shape[2] > LAYER_LIGHT:
        for name, layer in (("direct", DIRECT_LIGHT), ("indirect", INDIRECT_LIGHT), ("caustic", CAUSTIC_LIGHT)):
            made[name] = sums[..., LAYER_LIGHT + 3 * layer : LAYER_LIGHT + 3 * layer + 3] / max(passes, 1)
        made["density"] = sums[..., LAYER_DENSITY] / max(passes, 1)
    return {name: values.astype(np.float32) for name, values in made.items()}


def groups_of(sums: Doubles, passes: int) -> npt.NDArray[np.float32]:
    """Returns the radiance of light groups, (height, width, groups, 3). sums, passes: as `layers_of` has them."""
    groups: Doubles = sums[..., LAYER_END:] / max(passes, 1)
    return groups.reshape(*sums.shape[:2], -1, 3).astype(np.float32)
