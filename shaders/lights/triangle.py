"""This module holds the light `triangle`: one that glows on its front, the same in all directions."""

import math

import numpy as np

from shaders.compilation import compiled
from shaders.float32 import Doubles, Floats
from shaders.lights.kind import Emission, Extent, LightArrays, LightKind, LightSample, edges_and_normal, triple
from shaders.lights.row import (
    LIGHT_AREA,
    LIGHT_COLUMNS,
    LIGHT_EDGE_1,
    LIGHT_EDGE_2,
    LIGHT_KIND,
    LIGHT_NORMAL,
    LIGHT_POSITION,
    LIGHT_STRENGTH,
)
from shaders.sampling import cosine_hemisphere, uniform_triangle
from shaders.surface import clearance
from shaders.vector import BLACK, Color, Vec3, add, dot, frame, length, scale, subtract, to_world

TRIANGLE = 1.0

#: Shadow rays to a light with size end after this share of the distance.
SHADOW_END = 1.0 - 1e-4


def triangle_rows(corners: Doubles | Floats, radiance: Doubles) -> Doubles:
    """Returns the rows of triangles that glow, (n, LIGHT_COLUMNS). corners: (n, 3, 3). radiance: (n, 3), W/(m^2 sr)."""
    a, b, c = np.ascontiguousarray(np.transpose(corners, (1, 2, 0)), np.float64)
    edge_1, edge_2 = b - a, c - a
    (x, y, z), (u, v, w) = edge_1, edge_2
    normal = np.stack([y * w - z * v, z * u - x * w, x * v - y * u])
    twice_area = np.sqrt(normal[0] * normal[0] + normal[1] * normal[1] + normal[2] * normal[2])
    rows = np.zeros((len(corners), LIGHT_COLUMNS))
    rows[:, LIGHT_KIND], rows[:, LIGHT_AREA] = TRIANGLE, 0.5 * twice_area
    for column, vectors in ((LIGHT_POSITION, a), (LIGHT_EDGE_1, edge_1), (LIGHT_EDGE_2, edge_2)):
        rows[:, column : column + 3] = vectors.T
    rows[:, LIGHT_STRENGTH : LIGHT_STRENGTH + 3] = radiance
    rows[:, LIGHT_NORMAL : LIGHT_NORMAL + 3] = (normal / np.where(twice_area > 0.0, twice_area, np.inf)).T
    return rows


def box(rows: Doubles) -> tuple[Doubles, Doubles]:
    """Returns the boxes of triangles."""
    corner = rows[:, LIGHT_POSITION : LIGHT_POSITION + 3]
    ends = (corner + rows[:, column : column + 3] for column in (LIGHT_EDGE_1, LIGHT_EDGE_2))
    corners = np.stack([corner, *ends])
    return corners.min(axis=0), corners.max(axis=0)


def power_per_strength(rows: Doubles) -> Doubles:
    """Returns pi A, as the power is pi A L."""
    power: Doubles = math.pi * rows[:, LIGHT_AREA]
    return power


@compiled
def sample(lights: LightArrays, index: int, point: Vec3, u: tuple[float, float]) -> LightSample:
    """Returns the light from a point of a triangle that u chooses."""
    s, t = uniform_triangle(u[0], u[1])
    edge_1, edge_2, _ = edges_and_normal(lights, index)
    on_light = add(triple(lights, index, LIGHT_POSITION), add(scale(edge_1, s), scale(edge_2, t)))
    offset = subtract(on_light, point)
    distance = length(offset)
    if distance <= 0.0:
        return LightSample((0.0, 0.0, 1.0), 0.0, BLACK, 0.0)
    direction = scale(offset, 1.0 / distance)
    pdf = density(lights, index, point, direction, distance)
    if pdf <= 0.0:
        return LightSample(direction, distance, BLACK, 0.0)
    return LightSample(direction, distance * SHADOW_END, scale(triple(lights, index, LIGHT_STRENGTH), 1.0 / pdf), pdf)


@compiled
def density(lights: LightArrays, index: int, _point: Vec3, direction: Vec3, distance: float) -> float:
    """Returns the pdf_solid_angle of a direction that meets the front of a triangle at a distance."""
    cosine = -dot(direction, triple(lights, index, LIGHT_NORMAL))
    if cosine <= 0.0 or lights.rows[index, LIGHT_AREA] <= 0.0:
        return 0.0
    return lights.probability[index] * distance * distance / (cosine * lights.rows[index, LIGHT_AREA])


@compiled
def emit(lights: LightArrays, index: int, u: tuple[float, float, float, float]) -> Emission:
    """Returns a photon from a point of a triangle, its direction by the cosine."""
    origin, (edge_1, edge_2, normal) = triple(lights, index, LIGHT_POSITION), edges_and_normal(lights, index)
    s, t = uniform_triangle(u[2], u[3])
    on_light = add(origin, add(scale(edge_1, s), scale(edge_2, t)))
    off_light = scale(normal, clearance(origin, add(origin, edge_1), add(origin, edge_2)))
    tangent, bitangent = frame(normal)
    direction = to_world(cosine_hemisphere(u[0], u[1]), tangent, bitangent, normal)
    return Emission(add(on_light, off_light), direction, flux(lights, index, triple(lights, index, LIGHT_STRENGTH)))


@compiled
def flux(lights: LightArrays, index: int, radiance: Color) -> Color:
    """Returns the flux of a photon from where a triangle has some radiance."""
    return scale(radiance, math.pi * lights.rows[index, LIGHT_AREA] / lights.probability[index])


KIND = LightKind(
    name="triangle",
    number=TRIANGLE,
    extent=Extent.SURFACE,
    power_per_strength=power_per_strength,
    sample=sample,
    emit=emit,
    density=density,
    box=box,
    has_front=True,
)
