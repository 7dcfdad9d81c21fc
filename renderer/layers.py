"""The columns of an image: the picture, and beside it the bias of the photon search, features of what the eye meets
first, and the layers of light.

An image is (pixels, columns) float64, as wide as what is asked for. The picture comes first, so that its bits are the
same whatever stands beside it.

Light is told apart at the first surface that spreads it, on the way from the eye through mirrors and glass. Direct is
what the eye sees of lights up to there, and what comes to that surface straight from a light. Caustic is what comes to
it from a light by mirrors and glass alone. Indirect is all other light.
"""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from renderer.photon_lookup import PhotonLookup, radius_at
from renderer.photon_map import PhotonMap, find, irradiance
from shaders.compilation import called
from shaders.compilation import compiled as inlined
from shaders.surface import Hit
from shaders.vector import Color, mean, subtract

Doubles = npt.NDArray[np.float64]

#: Where columns begin. SEEN: rays of the eye that met something. LOOKED: all of which features are known.
BEAUTY, BIAS, ALBEDO, NORMAL, DEPTH, SEEN, LOOKED, LIGHT, DENSITY, END = 0, 3, 4, 7, 10, 11, 12, 13, 22, 23

#: How many columns there are, by what is asked for.
COLUMNS = {"beauty": BIAS, "bias": ALBEDO, "features": LIGHT, "all": END}

#: The layers of light, three columns each from LIGHT on.
DIRECT_LIGHT, INDIRECT_LIGHT, CAUSTIC_LIGHT = range(3)

#: By how much the inner disc of a bias estimate is smaller than that of the search.
INNER_RADIUS = math.sqrt(0.5)

#: What the difference of the two discs is multiplied with to be the bias. It is that at an edge, of light or of a
#: surface, root mean square over the pixels, and hardly depends on how often the radius has shrunk. Where light changes
#: smoothly, bias grows with the square of the radius and twice the difference would do: there it is told too large.
BIAS_FACTOR = 3.7


class PhotonLight(NamedTuple):
    """What photons bring to a hit, and what the eye sees of it. radius: of the task. is_first: whether it is the first
    surface that spreads light. is_far: whether the irradiance was looked up rather than searched."""

    pixel: int
    radius: float
    is_first: bool
    is_far: bool
    irradiance: Color
    radiance: Color


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


@inlined
def add_photons(image: Doubles, lookup: PhotonLookup, hit: Hit, light: PhotonLight) -> None:
    """Add what photons bring to the picture and, where they are asked for, to the bias and to the layers."""
    add_color(image, light.pixel, BEAUTY, light.radiance)
    if image.shape[1] > BIAS and not light.is_far:
        image[light.pixel, BIAS] += lost_in_disc(lookup, hit, light)
    if image.shape[1] > LIGHT:
        add_photon_layers(image, lookup, hit, light)


@called
def lost_in_disc(lookup: PhotonLookup, hit: Hit, light: PhotonLight) -> float:
    """By how much the mean radiance grows from the inner disc to the whole one: the bias is a multiple of it.

    Hachisuka, Jarosz, Jensen: A Progressive Error Estimation Framework for Photon Density Estimation, 2010, know the
    bias by derivatives of the kernel; a disc has none, so that two of them are compared.
    """
    radius = radius_at(lookup, light.pixel, light.radius) * INNER_RADIUS
    inner = part_of(light, found_in(lookup.photon_map, hit, radius))
    return mean(subtract(light.radiance, inner))


@called
def add_photon_layers(image: Doubles, lookup: PhotonLookup, hit: Hit, light: PhotonLight) -> None:
    """Add to the layers of light, and how close the photons lie."""
    if not light.is_first:
        add_color(image, light.pixel, LIGHT + 3 * INDIRECT_LIGHT, light.radiance)
        return
    radius = radius_at(lookup, light.pixel, light.radius)
    direct = part_of(light, found_in(lookup.parts.direct, hit, radius))
    caustic = part_of(light, found_in(lookup.parts.caustics, hit, radius))
    others = subtract(subtract(light.radiance, direct), caustic)
    add_color(image, light.pixel, LIGHT + 3 * DIRECT_LIGHT, direct)
    add_color(image, light.pixel, LIGHT + 3 * CAUSTIC_LIGHT, caustic)
    rest = (max(others[0], 0.0), max(others[1], 0.0), max(others[2], 0.0))  # sums in another order are rounded apart
    add_color(image, light.pixel, LIGHT + 3 * INDIRECT_LIGHT, rest)
    found = find(lookup.photon_map, hit.position, hit.geom_normal, hit.shading_normal, radius)
    image[light.pixel, DENSITY] += found.photons / (math.pi * (radius * radius))


@inlined
def found_in(photon_map: PhotonMap, hit: Hit, radius: float) -> Color:
    """Irradiance by the photons of a map within a disc."""
    found = find(photon_map, hit.position, hit.geom_normal, hit.shading_normal, radius)
    return irradiance(photon_map, found, radius)


@inlined
def part_of(light: PhotonLight, arriving: Color) -> Color:
    """What the eye sees of some irradiance."""
    return (
        seen_of(arriving[0], light.irradiance[0], light.radiance[0]),
        seen_of(arriving[1], light.irradiance[1], light.radiance[1]),
        seen_of(arriving[2], light.irradiance[2], light.radiance[2]),
    )


@inlined
def seen_of(part: float, whole: float, radiance: float) -> float:
    """The same share of a radiance as a part has of its whole."""
    return radiance * (part / whole) if whole > 0.0 else 0.0


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
