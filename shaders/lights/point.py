"""This module holds the light `point`: without size, the same in all directions."""

import math
from typing import Any

import numpy as np

from shaders.compilation import compiled
from shaders.lights.kind import Emission, Extent, LightArrays, LightKind, LightSample, Source, triple
from shaders.lights.row import LIGHT_POSITION, LIGHT_STRENGTH, Row, Sphere, row_of
from shaders.sampling import uniform_sphere
from shaders.vector import BLACK, Color, Vec3, length, scale, subtract

POINT = 0.0


def point_row(position: Vec3, intensity: Color) -> Row:
    """Returns the row of a light without size. intensity: W/sr, the same all around."""
    return row_of(POINT, position, intensity)


def row(light: Any, _sphere: Sphere) -> Row:
    """Returns the row of a light with a position and an intensity."""
    return point_row(light.position, light.intensity)


@compiled
def sample(lights: LightArrays, index: int, point: Vec3, _u: tuple[float, float]) -> LightSample:
    """Returns the light that a point gets from a place."""
    offset = subtract(triple(lights, index, LIGHT_POSITION), point)
    distance = length(offset)
    if distance <= 0.0:
        return LightSample((0.0, 0.0, 1.0), 0.0, BLACK, 0.0)
    direction = scale(offset, 1.0 / distance)
    irradiance = scale(triple(lights, index, LIGHT_STRENGTH), 1.0 / (distance * distance * lights.probability[index]))
    return LightSample(direction, distance, irradiance, 0.0)


@compiled
def emit(lights: LightArrays, index: int, u: tuple[float, float, float, float]) -> Emission:
    """Returns a photon in any direction."""
    flux = scale(triple(lights, index, LIGHT_STRENGTH), 4.0 * math.pi / lights.probability[index])
    return Emission(triple(lights, index, LIGHT_POSITION), uniform_sphere(u[0], u[1]), flux)


@compiled
def photon_density(_lights: LightArrays, _source: Source, _direction: Vec3) -> float:
    """Returns the density of a photon's direction, the same for all."""
    return 1.0 / (4.0 * math.pi)


@compiled
def reach(_lights: LightArrays, _source: Source) -> float:
    """Returns that the light shines everywhere."""
    return -math.inf


KIND = LightKind(
    name="point",
    number=POINT,
    extent=Extent.PLACE,
    row=row,
    power_per_strength=lambda rows: np.full(len(rows), 4.0 * math.pi),  # the power is 4 pi I
    sample=sample,
    emit=emit,
    photon_density=photon_density,
    reach=reach,
)
