"""This module holds what lights outside of the scene share: they come from a direction, and photons start on a disc."""

import math

import numpy as np

from shaders.compilation import compiled
from shaders.elementary import sine_cosine
from shaders.float32 import ONE, Doubles
from shaders.lights.kind import Emission, Emitter, LightArrays, LightSample, Source, outer_radius
from shaders.lights.row import LIGHT_AREA
from shaders.random import unit32
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


def shadow_ends(rows: Doubles) -> Doubles:
    """Returns (n, 3), in the first column the length of shadow rays to lights, which `Light.position` has."""
    radius = np.sqrt(rows[:, LIGHT_AREA] / math.pi)
    return np.stack([BEYOND * radius, *np.zeros((2, len(rows)))], axis=-1)


@compiled
def leave_towards(light: Emitter, towards: Vec3, flux: Color, bits: tuple[np.uint32, np.uint32]) -> Emission:
    """Returns a photon that comes from a unit direction, from the disc that touches the sphere around the scene and is
    perpendicular to it."""
    tangent, bitangent = frame(towards)
    sine, cosine = sine_cosine(unit32(bits[1]))
    beside = light.size * math.sqrt(unit32(bits[0]))
    offset = to_world((beside * cosine, beside * sine, light.size), tangent, bitangent, towards)
    return Emission(add(light.corner, offset), scale(towards, -ONE), flux)


@compiled
def photon_density(lights: LightArrays, source: Source, _direction: Vec3) -> float:
    """Returns the density of the point on the disc that a photon starts from, per unit of area."""
    return 1.0 / lights.rows[source.row, LIGHT_AREA]
