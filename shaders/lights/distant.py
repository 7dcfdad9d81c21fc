"""This module holds the light `distant`: a disc far away, as the sun is, or parallel light.

The row has the direction along the light for a normal, the irradiance across it for a strength, and in place of an edge
the cosine of the angle that the disc ends at, and what 1 is above it.
"""

import math
from typing import Any

import numpy as np

from shaders.compilation import compiled
from shaders.elementary import cosine as cosine_of
from shaders.environment import Sky
from shaders.float32 import HALF, ONE, ZERO, Doubles
from shaders.lights import outside
from shaders.lights.kind import (
    Emission,
    Emitter,
    Extent,
    Light,
    LightArrays,
    LightKind,
    LightSample,
    outer_radius,
    triple,
)
from shaders.lights.row import LIGHT_AREA, LIGHT_EDGE_1, LIGHT_NORMAL, LIGHT_STRENGTH, Row, Sphere, outer_row
from shaders.random import Bits2, Bits4, unit32
from shaders.sampling import uniform_cap, uniform_cone
from shaders.vector import BLACK, Color, Vec3, add, dot, frame, scale, to_world

DISTANT = 3.0

COS_DISC, DEPTH = LIGHT_EDGE_1 + 1, LIGHT_EDGE_1 + 2


def distant_row(direction: Vec3, irradiance: Color, cosine: float, sphere: Sphere) -> Row:
    """Returns the row of a disc far away. direction: unit, along the light. irradiance: W/m^2 on a plane across it.
    cosine: of the angle that the radius of the disc fills; 1 of parallel light."""
    row = outer_row(DISTANT, irradiance, sphere)
    row[LIGHT_NORMAL : LIGHT_NORMAL + 3] = direction
    row[COS_DISC], row[DEPTH] = cosine, 1.0 - cosine
    return row


def row(light: Any, sphere: Sphere) -> Row:
    """Returns the row of a light with a direction, an irradiance and an angular_radius in degrees."""
    return distant_row(light.direction, light.irradiance, float(cosine_of(light.angular_radius / 360.0)), sphere)


@compiled
def sample(lights: LightArrays, index: int, point: Vec3, u: tuple[float, float]) -> LightSample:
    """Returns the light from a point of the disc, which is the same at every point of the scene."""
    towards = scale(triple(lights, index, LIGHT_NORMAL), -1.0)
    if lights.rows[index, COS_DISC] >= 1.0:
        irradiance = scale(triple(lights, index, LIGHT_STRENGTH), 1.0 / lights.probability[index])
        return LightSample(towards, outside.BEYOND * outer_radius(lights, index), irradiance, 0.0)
    tangent, bitangent = frame(towards)
    direction = to_world(uniform_cone(u[0], u[1], lights.rows[index, COS_DISC]), tangent, bitangent, towards)
    pdf = density(lights, index, point, direction, math.inf)
    return outside.arriving(lights, index, direction, pdf, radiance(lights, index, direction))


def record(rows: Doubles, probability: Doubles) -> dict[str, Doubles]:
    """Returns how far shadow rays go, in place of an edge the density of directions, 0 of parallel light, and what 1 is
    above the cosine that the disc ends at, and for a flux the irradiance of a sample."""
    depth, share = rows[:, DEPTH], 2.0 / ((1.0 + rows[:, COS_DISC]) * probability)
    pdf = np.divide(probability, 2.0 * math.pi * depth, out=np.zeros(len(rows)), where=depth > 0.0)
    return {
        "position": outside.shadow_ends(rows),
        "edge_1": np.stack([pdf, depth, np.zeros(len(rows))], axis=-1),
        "flux": rows[:, LIGHT_STRENGTH : LIGHT_STRENGTH + 3] * share[:, None],
    }


@compiled
def arrive(light: Light, _sky: Sky, _point: Vec3, bits: Bits2) -> LightSample:
    """Returns the light from a point of the disc, as `sample` does."""
    pdf, depth, _ = light.edge_1
    towards = towards_disc(light.normal, depth, (unit32(bits[0]), unit32(bits[1])))
    return LightSample(towards, light.position[0], light.flux, pdf)


@compiled
def meet(light: Light, _sky: Sky, direction: Vec3) -> tuple[Color, float]:
    """Returns the radiance and the density of the disc, both 0 beside it."""
    pdf, depth, _ = light.edge_1
    off_middle = add(direction, light.normal)  # its square is 2 - 2 cosine, without the cancellation of a small disc
    density = pdf if HALF * dot(off_middle, off_middle) <= depth else ZERO
    return scale(light.flux, density), density


@compiled
def towards_disc(normal: Vec3, depth: float, u: tuple[float, float]) -> Vec3:
    """Returns a unit direction to a point of a disc, float32. normal, depth: of the light, see `distant_row`."""
    tangent, bitangent = frame(normal)
    return scale(to_world(uniform_cap(u[0], u[1], depth), tangent, bitangent, normal), -ONE)


@compiled
def density(lights: LightArrays, index: int, _point: Vec3, direction: Vec3, _distance: float) -> float:
    """Returns the pdf_solid_angle of a direction, the same over the disc."""
    cosine, edge = -dot(direction, triple(lights, index, LIGHT_NORMAL)), lights.rows[index, COS_DISC]
    return lights.probability[index] / (2.0 * math.pi * (1.0 - edge)) if cosine >= edge else 0.0


@compiled
def radiance(lights: LightArrays, index: int, direction: Vec3) -> Color:
    """Returns the radiance from a unit direction, the same over the disc."""
    cosine = lights.rows[index, COS_DISC]
    if -dot(direction, triple(lights, index, LIGHT_NORMAL)) < cosine:
        return BLACK
    return scale(triple(lights, index, LIGHT_STRENGTH), 1.0 / (math.pi * (1.0 - cosine) * (1.0 + cosine)))


@compiled
def leave(light: Emitter, _sky: Sky, bits: Bits4) -> Emission:
    """Returns a photon of the disc."""
    towards = towards_disc(light.normal, light.edge_1[2], (unit32(bits[0]), unit32(bits[1])))
    return outside.leave_towards(light, towards, light.flux, (bits[2], bits[3]))


KIND = LightKind(
    name="distant",
    number=DISTANT,
    extent=Extent.OUTSIDE,
    row=row,
    power_per_strength=lambda rows: 2.0 * rows[:, LIGHT_AREA] / (1.0 + rows[:, COS_DISC]),  # 2 / (1 + cosine) A E
    sample=sample,
    leave=leave,
    arrive=arrive,
    meet=meet,
    record=record,
    density=density,
    photon_density=outside.photon_density,
    is_met=lambda rows: rows[:, COS_DISC] < 1.0,
)
