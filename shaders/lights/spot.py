"""This module holds the light `spot`: without size, it shines into a cone and fades to its edge.

The row has the axis for a normal, along the light, and in place of an edge the cosines of the angles at which it begins
to fade and ends.
"""

import math
from typing import Any

import numpy as np

from shaders.compilation import compiled
from shaders.elementary import cosine, greatest, least, power, sine_cosine
from shaders.environment import Sky
from shaders.float32 import HALF, ONE, TWO, ZERO, Doubles, Float32
from shaders.lights import point
from shaders.lights.kind import Emission, Extent, Light, LightArrays, LightKind, LightSample, Source, triple
from shaders.lights.row import LIGHT_EDGE_1, LIGHT_NORMAL, LIGHT_POSITION, LIGHT_STRENGTH, Row, Sphere, row_of
from shaders.random import Bits2
from shaders.sampling import LEAST_SQUARE
from shaders.vector import Color, Vec3, add, dot, frame, scale, subtract, to_world

SPOT = 2.0

COS_INNER, COS_OUTER = LIGHT_EDGE_1, LIGHT_EDGE_1 + 1

#: Steps of Newton's method, which doubles the right digits, for the cosine of a photon of a spot.
NEWTON_STEPS = 5

#: Less of a photon's number than this is none.
LEAST = 1e-30

#: A smooth step is as wide as this, at least.
LEAST_STEP = 2.0**-80

THREE = Float32(3.0)


def spot_row(position: Vec3, direction: Vec3, intensity: Color, cosines: tuple[float, float]) -> Row:
    """Returns the row of a light without size that shines into a cone. direction: unit, along the axis. intensity: W/sr
    along the axis. cosines: of the angles from the axis at which it begins to fade and at which it ends."""
    row = row_of(SPOT, position, intensity)
    row[LIGHT_NORMAL : LIGHT_NORMAL + 3] = direction
    row[COS_INNER], row[COS_OUTER] = cosines
    return row


def row(light: Any, _sphere: Sphere) -> Row:
    """Returns the row of a light with a position, a direction, an intensity, an inner_angle and an outer_angle."""
    cosines = (float(cosine(light.inner_angle / 360.0)), float(cosine(light.outer_angle / 360.0)))
    return spot_row(light.position, light.direction, light.intensity, cosines)


@compiled
def sample(lights: LightArrays, index: int, place: Vec3, u: tuple[float, float]) -> LightSample:
    """Returns the light that a point gets from a spot."""
    light = point.sample(lights, index, place, u)
    share = spot_share(lights, index, -dot(light.direction, triple(lights, index, LIGHT_NORMAL)))
    return LightSample(light.direction, light.distance, scale(light.irradiance, share), 0.0)


def record(rows: Doubles, probability: Doubles) -> dict[str, Doubles]:
    """Returns the intensity over the probability, and in place of an edge what 1 is above the cosine at which the light
    ends, and 1 over what that is below the cosine at which it begins to fade."""
    width = np.maximum(rows[:, COS_INNER] - rows[:, COS_OUTER], LEAST_STEP)
    edge = np.stack([1.0 - rows[:, COS_OUTER], 1.0 / width, np.zeros(len(rows))], axis=-1)
    return {"edge_1": edge, "flux": rows[:, LIGHT_STRENGTH : LIGHT_STRENGTH + 3] / probability[:, None]}


@compiled
def arrive(light: Light, _sky: Sky, place: Vec3, _bits: Bits2) -> LightSample:
    """Returns the light that a point gets from a spot, as `sample` does."""
    offset = subtract(light.position, place)
    square = greatest(dot(offset, offset), LEAST_SQUARE)
    distance = math.sqrt(square)
    towards = scale(offset, ONE / distance)
    off_axis = add(towards, light.normal)
    depth = HALF * dot(off_axis, off_axis)  # 1 - cosine, without the cancellation where the cone is narrow
    t = greatest(least((light.edge_1[0] - depth) * light.edge_1[1], ONE), ZERO)
    share = t * t * (THREE - TWO * t)
    per_square = share / square if square > LEAST_SQUARE else ZERO
    return LightSample(towards, distance, scale(light.flux, per_square), ZERO)


@compiled
def spot_share(lights: LightArrays, index: int, cosine: float) -> float:
    """Returns the share of a spot's intensity along its axis, between the cosines the smooth step 3 t^2 - 2 t^3."""
    inner, outer = lights.rows[index, COS_INNER], lights.rows[index, COS_OUTER]
    if cosine >= inner:
        return 1.0
    if cosine <= outer:
        return 0.0
    t = (cosine - outer) / (inner - outer)
    return t * t * (3.0 - 2.0 * t)


@compiled
def emit(lights: LightArrays, index: int, u: tuple[float, float, float, float]) -> Emission:
    """Emits a photon from a spot by its intensity: within the inner angle evenly, beyond it by the smooth step."""
    inner, outer = lights.rows[index, COS_INNER], lights.rows[index, COS_OUTER]
    extent = 1.0 - 0.5 * (inner + outer)
    even = (1.0 - inner) / extent
    if u[0] < even:
        cosine = 1.0 - u[0] / even * (1.0 - inner)
    else:
        cosine = outer + smooth_step_place((u[0] - even) / (1.0 - even)) * (inner - outer)
    radius = math.sqrt(greatest(1.0 - cosine * cosine, 0.0))
    sine, cosine_of_turn = sine_cosine(u[1])
    axis = triple(lights, index, LIGHT_NORMAL)
    tangent, bitangent = frame(axis)
    direction = to_world((radius * cosine_of_turn, radius * sine, cosine), tangent, bitangent, axis)
    flux = scale(triple(lights, index, LIGHT_STRENGTH), 2.0 * math.pi * extent / lights.probability[index])
    return Emission(triple(lights, index, LIGHT_POSITION), direction, flux)


@compiled
def smooth_step_place(u: float) -> float:
    """Returns t in 0..1 with the density 6 t^2 - 4 t^3 of a smooth step: where the integral, 2 t^3 - t^4, is u. The
    integral is convex, and the start, where t^3 is u, above the root, so that Newton's method comes down to it."""
    if u <= LEAST:
        return 0.0
    t = np.float64(power(u, 1.0 / 3.0))
    for _ in range(NEWTON_STEPS):
        t -= (t * t * t * (2.0 - t) - u) / (t * t * (6.0 - 4.0 * t))
    return least(t, 1.0)


@compiled
def photon_density(lights: LightArrays, source: Source, direction: Vec3) -> float:
    """Returns the density of a photon's direction, in proportion to intensity."""
    extent = 1.0 - 0.5 * (lights.rows[source.row, COS_INNER] + lights.rows[source.row, COS_OUTER])
    return spot_share(lights, source.row, dot(direction, source.axis)) / (2.0 * math.pi * extent)


@compiled
def reach(lights: LightArrays, source: Source) -> float:
    """Returns the cosine of the angle from the axis at which the light ends."""
    return lights.rows[source.row, COS_OUTER]


KIND = LightKind(
    name="spot",
    number=SPOT,
    extent=Extent.PLACE,
    row=row,
    power_per_strength=lambda rows: 2.0 * math.pi * (1.0 - 0.5 * (rows[:, COS_INNER] + rows[:, COS_OUTER])),
    sample=sample,
    emit=emit,
    arrive=arrive,
    record=record,
    photon_density=photon_density,
    reach=reach,
)
