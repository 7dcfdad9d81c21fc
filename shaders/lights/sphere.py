"""This module holds the light `sphere`: a ball that glows outward, the same in all directions, as shadow rays see it.

It is tessellated, and rays meet its triangles, whose corners lie on a sphere. Directions are drawn evenly over the cone
of a smaller one, of the same area as the triangles: by Cauchy's formula a convex body shows a quarter of its surface on
the mean of all sides, so that the light it sends is right on the mean, whatever the tessellation.
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
from shaders.lights.kind import (
    LIGHT_AREA,
    LIGHT_EDGE_1,
    LIGHT_POSITION,
    LIGHT_STRENGTH,
    Extent,
    Light,
    LightArrays,
    LightKind,
    LightSample,
    Row,
    row_of,
    triple,
)
from shaders.lights.triangle import SHADOW_END, power_per_strength
from shaders.random import Bits2, unit32
from shaders.sampling import uniform_cap
from shaders.vector import Color, Vec3, dot, frame, scale, subtract, to_world

SPHERE = 6.0

#: Shadow rays end a little before the sphere around the triangles.
END = Float32(SHADOW_END)


def sphere_row(middle: Vec3, radius: float, area: float, radiance: Color) -> Row:
    """Returns the row of a sphere.

    radius: of the sphere around its triangles.
    area: of these.
    radiance: W/(m^2 sr).
    """
    row = row_of(SPHERE, middle, radiance)
    row[LIGHT_AREA] = area
    row[LIGHT_EDGE_1 : LIGHT_EDGE_1 + 2] = area / (4.0 * math.pi), radius * radius
    return row


def record(rows: Doubles, probability: Doubles) -> dict[str, Doubles]:
    """Returns the radiance over the probability, and in place of a normal the probability."""
    shares = np.stack([probability, 0.0 * probability, 0.0 * probability], axis=-1)
    return {"normal": shares, "flux": rows[:, LIGHT_STRENGTH : LIGHT_STRENGTH + 3] / probability[:, None]}


@compiled
def depth_of(square: float, radii: Vec3) -> float:
    """Returns what 1 is above the cosine that the cone ends at; 0 from within the sphere around the triangles.

    square: of the distance from the middle.
    radii: their squares.
    """
    sine_square = radii[0] / greatest(square, radii[1])
    depth = sine_square / (ONE + math.sqrt(ONE - sine_square))  # without the cancellation where the cone is narrow
    return depth if square > radii[1] else ZERO * depth


@compiled
def towards(offset: Vec3, radii: Vec3, depth: float, u: tuple[float, float]) -> tuple[Vec3, float]:
    """Returns a unit direction within the cone, and how far the sphere around the triangles is there.

    offset: of the middle.
    """
    square = greatest(dot(offset, offset), radii[1])
    distance = math.sqrt(square)
    axis = scale(offset, ONE / distance)
    tangent, bitangent = frame(axis)
    local = uniform_cap(u[0], u[1], depth)
    across = square * (local[0] * local[0] + local[1] * local[1])
    reach = distance * local[2] - math.sqrt(greatest(radii[1] - across, ZERO))
    return to_world(local, tangent, bitangent, axis), greatest(reach, ZERO)


@compiled
def arrive(light: Light, _sky: Sky, point: Vec3, bits: Bits2) -> LightSample:
    """Returns the light from a direction within the cone."""
    offset = subtract(light.position, point)
    depth = depth_of(dot(offset, offset), light.edge_1)
    direction, reach = towards(offset, light.edge_1, depth, (unit32(bits[0]), unit32(bits[1])))
    solid_angle = TWO_PI * depth
    pdf = light.normal[0] / solid_angle if depth > ZERO else ZERO
    return LightSample(direction, reach * END, scale(light.flux, solid_angle), pdf)


@compiled
def sample(lights: LightArrays, index: int, point: Vec3, u: tuple[float, float]) -> LightSample:
    """Returns the light from a direction within the cone."""
    offset, radii = subtract(triple(lights, index, LIGHT_POSITION), point), triple(lights, index, LIGHT_EDGE_1)
    depth = depth_of(dot(offset, offset), radii)
    direction, reach = towards(offset, radii, depth, u)
    share, solid_angle = lights.probability[index], 2.0 * math.pi * depth
    irradiance = scale(triple(lights, index, LIGHT_STRENGTH), solid_angle / share)
    return LightSample(direction, reach * SHADOW_END, irradiance, share / solid_angle if depth > 0.0 else 0.0)


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
)
