"""This module holds the light `sphere`: a ball that glows outward, the same in all directions, as shadow rays see it.

Rays meet its triangles, whose corners lie on a sphere. Directions are drawn evenly over the cone of a smaller one, as
large as all triangles: a convex body shows a quarter of its surface on the mean of all sides (Cauchy).
(Shirley, Wang, Zimmerman: Monte Carlo Techniques for Direct Lighting Calculations, 1996, section 3.2.)

The row has the sphere's middle for a position, the area of its triangles, and in place of an edge the squares of both
radii: of the sphere that has this area, and of that of the corners.
"""

import math

import numpy as np

from shaders.compilation import compiled
from shaders.elementary import greatest
from shaders.environment import Sky
from shaders.float32 import ONE, TWO_PI, ZERO, Doubles, Float32
from shaders.lights.kind import Extent, Light, LightArrays, LightKind, LightSample, triple
from shaders.lights.row import LIGHT_AREA, LIGHT_EDGE_1, LIGHT_POSITION, LIGHT_STRENGTH, Row, row_of
from shaders.lights.triangle import SHADOW_END, power_per_strength
from shaders.random import Bits2, unit32
from shaders.sampling import uniform_cap
from shaders.vector import Color, Vec3, dot, frame, scale, subtract, to_world

SPHERE, END = 6.0, Float32(SHADOW_END)


def sphere_row(middle: Vec3, radius: float, area: float, radiance: Color) -> Row:
    """Returns the row of a sphere. radius: of that of its corners. area: of its triangles. radiance: W/(m^2 sr)."""
    row = row_of(SPHERE, middle, radiance)
    row[LIGHT_AREA] = area
    row[LIGHT_EDGE_1 : LIGHT_EDGE_1 + 2] = area / (4.0 * math.pi), radius * radius
    return row


def box(rows: Doubles) -> tuple[Doubles, Doubles]:
    """Returns the boxes of spheres."""
    middles, radii = rows[:, LIGHT_POSITION : LIGHT_POSITION + 3], np.sqrt(rows[:, LIGHT_EDGE_1 + 1, None])
    return middles - radii, middles + radii


def record(rows: Doubles, probability: Doubles) -> dict[str, Doubles]:
    """Returns the radiance over the probability, and in place of a normal the probability."""
    return {"normal": probability[:, None], "flux": rows[:, LIGHT_STRENGTH : LIGHT_STRENGTH + 3] / probability[:, None]}


@compiled
def depth_of(square: float, radii: Vec3) -> float:
    """Returns what 1 is above the cosine that the cone ends at; 0 from within the sphere around the triangles.
    square: of the distance from the middle. radii: their squares."""
    sine_square = radii[0] / greatest(square, radii[1])
    depth = sine_square / (ONE + math.sqrt(ONE - sine_square))  # without the cancellation where the cone is narrow
    return depth if square > radii[1] else ZERO * depth


@compiled
def towards(offset: Vec3, radii: Vec3, u: tuple[float, float]) -> tuple[Vec3, float, float]:
    """Returns a unit direction within the cone, how far the sphere around the triangles is there, and the solid angle.
    offset: of the middle."""
    depth = depth_of(dot(offset, offset), radii)
    square = greatest(dot(offset, offset), radii[1])
    distance = math.sqrt(square)
    axis = scale(offset, ONE / distance)
    tangent, bitangent = frame(axis)
    local = uniform_cap(u[0], u[1], depth)
    across = square * (local[0] * local[0] + local[1] * local[1])
    reach = greatest(distance * local[2] - math.sqrt(greatest(radii[1] - across, ZERO)), ZERO)
    return to_world(local, tangent, bitangent, axis), reach, TWO_PI * depth


@compiled
def arrive(light: Light, _sky: Sky, point: Vec3, bits: Bits2) -> LightSample:
    """Returns the light from a direction within the cone."""
    u = (unit32(bits[0]), unit32(bits[1]))
    direction, reach, solid_angle = towards(subtract(light.position, point), light.edge_1, u)
    pdf = light.normal[0] / solid_angle if solid_angle > ZERO else ZERO
    return LightSample(direction, reach * END, scale(light.flux, solid_angle), pdf)


@compiled
def sample(lights: LightArrays, index: int, point: Vec3, u: tuple[float, float]) -> LightSample:
    """Returns the light from a direction within the cone."""
    offset, share = subtract(triple(lights, index, LIGHT_POSITION), point), lights.probability[index]
    direction, reach, solid_angle = towards(offset, triple(lights, index, LIGHT_EDGE_1), u)
    pdf = share / solid_angle if solid_angle > 0.0 else 0.0
    irradiance = scale(triple(lights, index, LIGHT_STRENGTH), solid_angle / share)
    return LightSample(direction, reach * SHADOW_END, irradiance, pdf)


@compiled
def density(lights: LightArrays, index: int, point: Vec3, direction: Vec3, _distance: float) -> float:
    """Returns the pdf_solid_angle of a direction, the same over the cone."""
    offset, radii = subtract(triple(lights, index, LIGHT_POSITION), point), triple(lights, index, LIGHT_EDGE_1)
    square, ahead = dot(offset, offset), dot(offset, direction)
    depth = depth_of(square, radii)
    is_met = depth > 0.0 and ahead > 0.0 and square - ahead * ahead <= radii[0]
    return lights.probability[index] / (2.0 * math.pi * depth) if is_met else 0.0


KIND = LightKind(
    name="sphere",
    number=SPHERE,
    extent=Extent.SURFACE,
    power_per_strength=power_per_strength,
    sample=sample,
    arrive=arrive,
    record=record,
    density=density,
    box=box,
)
