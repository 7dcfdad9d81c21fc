"""This module holds what lights outside of the scene have in common: they come from a direction, and start photons on a
disc."""

import math

from shaders.compilation import compiled
from shaders.elementary import sine_cosine
from shaders.lights.arrays import (
    LIGHT_AREA,
    LIGHT_POSITION,
    Emission,
    LightArrays,
    LightSample,
    Source,
    outer_radius,
    triple,
)
from shaders.vector import BLACK, Color, Vec3, add, frame, scale, to_world

#: A shadow ray to a light outside goes this many radii of the sphere around the scene.
BEYOND = 3.0


@compiled
def arriving(lights: LightArrays, index: int, direction: Vec3, pdf: float, radiance: Color) -> LightSample:
    """Returns light of some radiance from a direction that was drawn with a pdf_solid_angle."""
    distance = BEYOND * outer_radius(lights, index)
    if pdf <= 0.0:
        return LightSample(direction, distance, BLACK, 0.0)
    return LightSample(direction, distance, scale(radiance, 1.0 / pdf), pdf)


@compiled
def emit_towards(lights: LightArrays, index: int, light: LightSample, u: tuple[float, float]) -> Emission:
    """Emits a photon against the direction of a sample, from the disc that touches the sphere around the scene and is
    perpendicular to it."""
    tangent, bitangent = frame(light.direction)
    reach = outer_radius(lights, index)
    sine, cosine = sine_cosine(u[1])
    beside = reach * math.sqrt(u[0])
    offset = to_world((beside * cosine, beside * sine, reach), tangent, bitangent, light.direction)
    origin = add(triple(lights, index, LIGHT_POSITION), offset)
    return Emission(origin, scale(light.direction, -1.0), scale(light.irradiance, lights.rows[index, LIGHT_AREA]))


@compiled
def photon_density(lights: LightArrays, source: Source, _direction: Vec3) -> float:
    """Returns the density of the point on the disc that a photon starts from, per unit of area."""
    return 1.0 / lights.rows[source.row, LIGHT_AREA]
