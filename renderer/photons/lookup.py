"""What eye paths ask of photons at a diffuse surface, and what photons bring to a picture, to the bias of their search,
and to the layers of light."""

import math
from functools import cache
from typing import NamedTuple

import numpy as np

from renderer.film.layers import (
    CAUSTIC_LIGHT,
    DIRECT_LIGHT,
    INDIRECT_LIGHT,
    LAYER_BEAUTY,
    LAYER_BIAS,
    LAYER_DENSITY,
    LAYER_LIGHT,
    Doubles,
    add_color,
)
from renderer.photons.building import build_photon_map
from renderer.photons.irradiance import IrradianceMap, no_irradiance
from renderer.photons.photon_map import PHOTON_WORDS, Found, PhotonMap, find, irradiance
from shaders.compilation import called
from shaders.float32 import Longs
from shaders.vector import Color, Vec3, mean, subtract
from tracecore.compilation.cached import inlined

#: By how much the inner disc of a bias estimate is smaller than that of the search.
INNER_RADIUS = math.sqrt(0.5)


class PhotonParts(NamedTuple):
    """Some photons of a map, where layers of light are told apart.

    caustics: those that mirrors and glass alone have brought.
    direct: those straight from a light.
    """

    caustics: PhotonMap
    direct: PhotonMap


class PhotonLookup(NamedTuple):
    """The photons that eye paths ask at a diffuse surface.

    photon_map: photons that are looked for near a hit.
    irradiance: what a final gather finds far from it.
    parts: some of the photons of the map.
    radii: (pixels,) float64, a radius of the search for each pixel, or none where all have that of the task. One below
        0 is, but for its sign, that of a search for caustics alone, where the first diffuse reflection is followed;
        what is behind it has the radius of the task.
    found: (pixels,) int64, to which the photons found for a pixel are added; as many as there are radii.
    """

    photon_map: PhotonMap
    irradiance: IrradianceMap
    parts: PhotonParts
    radii: Doubles
    found: Longs


def look_up(
    photon_map: PhotonMap, irradiance_map: IrradianceMap | None = None, parts: PhotonParts | None = None
) -> PhotonLookup:
    """Returns photons that are looked for within the radius of the task."""
    far, known = irradiance_map or no_irradiance(), parts or PhotonParts(empty_map(), empty_map())
    return PhotonLookup(photon_map, far, known, np.empty(0), np.empty(0, np.int64))


@cache
def empty_map() -> PhotonMap:
    """Returns a map without photons, always the same."""
    return build_photon_map(np.empty((0, PHOTON_WORDS), np.uint32), radius=1.0, scale=0.0)


def no_photons() -> PhotonLookup:
    """Returns a lookup that finds no photons."""
    return look_up(empty_map())


@inlined
def radius_at(lookup: PhotonLookup, pixel: int, radius: float, is_followed: bool) -> float:
    """Returns the radius of the search at a vertex of a pixel's path, where `radius` is that of the task.

    is_followed: whether its diffuse reflection is followed.
    """
    if len(lookup.radii) == 0:
        return radius
    own = lookup.radii[pixel]
    return own if own > 0.0 else -own if is_followed else radius


@inlined
def irradiance_of(lookup: PhotonLookup, photon_map: PhotonMap, found: Found, search: tuple[int, float]) -> Color:
    """Returns the irradiance in W/m^2 that photons of a map bring which were found for a pixel, and counts them.

    search: for which pixel they were found, and within which radius, world units.
    """
    pixel, radius = search
    if len(lookup.found) > 0:
        lookup.found[pixel] += found.photons
    return irradiance(photon_map, found, radius)


class LookupPlace(NamedTuple):
    """A point of a surface, with the triangle's normal and the shading normal there, on the side of the eye."""

    position: Vec3
    normal: Vec3
    shading: Vec3


class PhotonLight(NamedTuple):
    """What photons bring to a place, and what the eye sees of it.

    pixel: which one sees it.
    radius: of the search, world units.
    between: how many surfaces lie between the hit and the eye.
    is_first: whether it is the first surface that spreads light.
    irradiance: W/m^2, there.
    radiance: what the pixel receives of it.
    """

    pixel: int
    radius: float
    between: int
    is_first: bool
    irradiance: Color
    radiance: Color


@inlined
def add_photons(
    image: Doubles, lookup: PhotonLookup, photon_map: PhotonMap, place: LookupPlace, light: PhotonLight
) -> None:
    """Add what photons of a map bring to the picture and, where they are asked for, to the bias and to the layers."""
    add_color(image, light.pixel, LAYER_BEAUTY, light.radiance)
    if image.shape[1] > LAYER_BIAS:
        image[light.pixel, LAYER_BIAS] += lost_in_disc(photon_map, place, light)
    if image.shape[1] > LAYER_LIGHT:
        add_photon_layers(image, lookup, place, light)


@called
def lost_in_disc(photon_map: PhotonMap, place: LookupPlace, light: PhotonLight) -> float:
    """Returns by how much the mean radiance grows from the inner disc to the whole one: the bias is a multiple of it.

    Hachisuka, Jarosz, Jensen: A Progressive Error Estimation Framework for Photon Density Estimation, 2010, know the
    bias by derivatives of the kernel; a disc has none, so that two of them are compared.
    """
    inner = part_of(light, found_in(photon_map, place, light.radius * INNER_RADIUS, light.between))
    return mean(subtract(light.radiance, inner))


@called
def add_photon_layers(image: Doubles, lookup: PhotonLookup, place: LookupPlace, light: PhotonLight) -> None:
    """Add what photons bring to the layers of light, and how close the photons lie."""
    if not light.is_first:
        add_color(image, light.pixel, LAYER_LIGHT + 3 * INDIRECT_LIGHT, light.radiance)
        return
    radius = light.radius
    direct = part_of(light, found_in(lookup.parts.direct, place, radius, 0))
    caustic = part_of(light, found_in(lookup.parts.caustics, place, radius, light.between))
    others = subtract(subtract(light.radiance, direct), caustic)
    add_color(image, light.pixel, LAYER_LIGHT + 3 * DIRECT_LIGHT, direct)
    add_color(image, light.pixel, LAYER_LIGHT + 3 * CAUSTIC_LIGHT, caustic)
    rest = (max(others[0], 0.0), max(others[1], 0.0), max(others[2], 0.0))  # sums in another order are rounded apart
    add_color(image, light.pixel, LAYER_LIGHT + 3 * INDIRECT_LIGHT, rest)
    found = find(lookup.photon_map, place.position, place.normal, place.shading, radius, light.between)
    image[light.pixel, LAYER_DENSITY] += found.photons / (math.pi * (radius * radius))


@inlined
def found_in(photon_map: PhotonMap, place: LookupPlace, radius: float, between: int) -> Color:
    """Returns the irradiance by the photons of a map within a disc. between: surfaces between it and the eye."""
    found = find(photon_map, place.position, place.normal, place.shading, radius, between)
    return irradiance(photon_map, found, radius)


@inlined
def part_of(light: PhotonLight, arriving: Color) -> Color:
    """Returns what the eye sees of some irradiance."""
    return (
        seen_of(arriving[0], light.irradiance[0], light.radiance[0]),
        seen_of(arriving[1], light.irradiance[1], light.radiance[1]),
        seen_of(arriving[2], light.irradiance[2], light.radiance[2]),
    )


@inlined
def seen_of(part: float, whole: float, radiance: float) -> float:
    """Returns the same share of a radiance as a part has of its whole."""
    return radiance * (part / whole) if whole > 0.0 else 0.0
