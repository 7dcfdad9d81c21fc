"""Lights: points and glowing triangles, their share of the photons, and the light that they send to a point.

One row per light in `LightArrays`. Photons choose a light in proportion to its power, and so do shadow rays.
"""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from shaders.compilation import compiled
from shaders.sampling import cosine_hemisphere, uniform_sphere, uniform_triangle
from shaders.surface import clearance
from shaders.vector import (
    BLACK,
    Color,
    Vec3,
    add,
    dot,
    frame,
    length,
    scale,
    subtract,
    to_world,
)

#: Columns of a packed light: kind; position (or first corner); two edges; radiance (or intensity); unit normal; area.
KIND, POSITION, EDGE_1, EDGE_2, STRENGTH, NORMAL, AREA, COLUMNS = 0, 1, 4, 7, 10, 13, 16, 17
POINT, TRIANGLE = 0.0, 1.0

#: Shadow rays aim this share of the distance short of a light with size.
SHADOW_END = 1.0 - 1e-4


class LightArrays(NamedTuple):
    """rows: (n, COLUMNS) float64. probability: (n,) float64, share of the total power. cumulative: (n,) float64, its
    running sum, the last exactly 1. power: total in W, mean over the channels."""

    rows: npt.NDArray[np.float64]
    probability: npt.NDArray[np.float64]
    cumulative: npt.NDArray[np.float64]
    power: float


class LightSample(NamedTuple):
    """Light that arrives at a point if nothing is in between.

    direction: unit, towards the light. distance: world units. irradiance: radiance / pdf, in W/m^2 per unit of cosine.
    pdf_solid_angle: of the direction, with the choice of the light in it; 0 for a point light.
    """

    direction: Vec3
    distance: float
    irradiance: Color
    pdf_solid_angle: float


class Emission(NamedTuple):
    """A photon as it leaves a light: flux in W per channel, for one photon that stands for all."""

    origin: Vec3
    direction: Vec3
    flux: Color


def point_row(position: Vec3, intensity: Color) -> npt.NDArray[np.float64]:
    """A light without size. intensity: W/sr, the same all around."""
    row = np.zeros(COLUMNS)
    row[KIND] = POINT
    row[POSITION : POSITION + 3] = position
    row[STRENGTH : STRENGTH + 3] = intensity
    return row


def triangle_row(corners: npt.NDArray[np.float64], radiance: Color) -> npt.NDArray[np.float64]:
    """A triangle that glows on its front, corners (3, 3). radiance: W/(m^2 sr), the same in all directions."""
    row = np.zeros(COLUMNS)
    edge_1, edge_2 = corners[1] - corners[0], corners[2] - corners[0]
    normal = np.cross(edge_1, edge_2)
    twice_area = float(np.linalg.norm(normal))
    row[KIND] = TRIANGLE
    row[POSITION : POSITION + 3] = corners[0]
    row[EDGE_1 : EDGE_1 + 3] = edge_1
    row[EDGE_2 : EDGE_2 + 3] = edge_2
    row[STRENGTH : STRENGTH + 3] = radiance
    row[NORMAL : NORMAL + 3] = normal / twice_area if twice_area > 0.0 else 0.0
    row[AREA] = 0.5 * twice_area
    return row


def powers(rows: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """(n, 3) W per channel: 4 pi I of a point, pi A L of a triangle."""
    per_strength = np.where(rows[:, KIND] == POINT, 4.0 * math.pi, math.pi * rows[:, AREA])
    power: npt.NDArray[np.float64] = per_strength[:, None] * rows[:, STRENGTH : STRENGTH + 3]
    return power


def pack_lights(rows: list[npt.NDArray[np.float64]]) -> LightArrays:
    """Lights with their probabilities. Rows of no power are kept and never chosen."""
    table = np.array(rows, np.float64).reshape(-1, COLUMNS)
    watts = powers(table).mean(axis=1)
    total = float(watts.sum())
    probability = watts / total if total > 0.0 else np.zeros(len(table))
    cumulative = np.cumsum(probability)
    if total > 0.0:
        cumulative[np.flatnonzero(probability)[-1] :] = 1.0
    return LightArrays(rows=table, probability=probability, cumulative=cumulative, power=total)


@compiled
def triple(lights: LightArrays, index: int, column: int) -> Vec3:
    """Three columns of a packed light."""
    rows = lights.rows
    return (rows[index, column], rows[index, column + 1], rows[index, column + 2])


@compiled
def choose(lights: LightArrays, u: float) -> int:
    """Index of a light in proportion to power, by the uniform number u; there must be a light with power."""
    low, high = 0, len(lights.cumulative) - 1
    while low < high:
        middle = (low + high) // 2
        if u < lights.cumulative[middle]:
            high = middle
        else:
            low = middle + 1
    return low


@compiled
def sample_light(lights: LightArrays, point: Vec3, u: tuple[float, float, float]) -> LightSample:
    """Light from one light, chosen by u[0], at a point."""
    index = choose(lights, u[0])
    probability = lights.probability[index]
    if lights.rows[index, KIND] == POINT:
        offset = subtract(triple(lights, index, POSITION), point)
        distance = length(offset)
        if distance <= 0.0:
            return LightSample((0.0, 0.0, 1.0), 0.0, BLACK, 0.0)
        irradiance = scale(triple(lights, index, STRENGTH), 1.0 / (distance * distance * probability))
        return LightSample(scale(offset, 1.0 / distance), distance, irradiance, 0.0)
    s, t = uniform_triangle(u[1], u[2])
    on_light = add(
        triple(lights, index, POSITION),
        add(scale(triple(lights, index, EDGE_1), s), scale(triple(lights, index, EDGE_2), t)),
    )
    offset = subtract(on_light, point)
    distance = length(offset)
    if distance <= 0.0:
        return LightSample((0.0, 0.0, 1.0), 0.0, BLACK, 0.0)
    direction = scale(offset, 1.0 / distance)
    pdf = light_pdf(lights, index, direction, distance)
    if pdf <= 0.0:
        return LightSample(direction, distance, BLACK, 0.0)
    return LightSample(direction, distance * SHADOW_END, scale(triple(lights, index, STRENGTH), 1.0 / pdf), pdf)


@compiled
def light_pdf(lights: LightArrays, index: int, direction: Vec3, distance: float) -> float:
    """pdf_solid_angle with which `sample_light` draws a direction that meets triangle light `index` at a distance."""
    cosine = -dot(direction, triple(lights, index, NORMAL))
    if cosine <= 0.0 or lights.rows[index, AREA] <= 0.0:
        return 0.0
    return lights.probability[index] * distance * distance / (cosine * lights.rows[index, AREA])


@compiled
def emit(lights: LightArrays, pick: float, u: tuple[float, float, float, float]) -> Emission:
    """A photon from a light chosen by pick, its place and direction by u. The mean of its flux is the lights' power."""
    index = choose(lights, pick)
    strength = triple(lights, index, STRENGTH)
    probability = lights.probability[index]
    origin = triple(lights, index, POSITION)
    if lights.rows[index, KIND] == POINT:
        return Emission(origin, uniform_sphere(u[0], u[1]), scale(strength, 4.0 * math.pi / probability))
    edge_1, edge_2, normal = triple(lights, index, EDGE_1), triple(lights, index, EDGE_2), triple(lights, index, NORMAL)
    s, t = uniform_triangle(u[2], u[3])
    on_light = add(origin, add(scale(edge_1, s), scale(edge_2, t)))
    off_light = scale(normal, clearance(origin, add(origin, edge_1), add(origin, edge_2)))
    tangent, bitangent = frame(normal)
    direction = to_world(cosine_hemisphere(u[0], u[1]), tangent, bitangent, normal)
    flux = scale(strength, math.pi * lights.rows[index, AREA] / probability)
    return Emission(add(on_light, off_light), direction, flux)
