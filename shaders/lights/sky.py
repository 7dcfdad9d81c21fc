"""This module holds the light `sky`: it comes from all around, as an image says.

The row has the axes of the image for edges and normal, and its mean radiance for a strength.
"""

import math

import numpy as np

from shaders.compilation import compiled
from shaders.elementary import greatest
from shaders.environment import (
    Sky,
    draw_texel,
    mean_radiance,
    sample_sky,
    seen_texel,
    texel_of,
    texel_pdf,
    texel_radiance,
)
from shaders.float32 import ONE, Doubles, Float32, Floats
from shaders.lights import outside
from shaders.lights.kind import Emission, Emitter, Extent, Light, LightArrays, LightKind, LightSample, edges_and_normal
from shaders.lights.row import (
    LIGHT_AREA,
    LIGHT_EDGE_1,
    LIGHT_EDGE_2,
    LIGHT_NORMAL,
    LIGHT_STRENGTH,
    Row,
    Sphere,
    outer_row,
)
from shaders.random import Bits2, Bits4
from shaders.vector import Color, Vec3, mean, scale, to_local, to_world

SKY = 4.0

#: A mean below it is taken for it.
LEAST_RADIANCE = Float32(2.0**-126)


def sky_row(image: Floats, axes: Doubles, sphere: Sphere) -> Row:
    """Returns the row of light from all around.
    image: (h, w, 3), W/(m^2 sr). axes: (3, 3), rows that are x, y and z of the image."""
    red, green, blue = mean_radiance(image).tolist()
    row = outer_row(SKY, (red, green, blue), sphere)
    for column, axis in zip((LIGHT_EDGE_1, LIGHT_EDGE_2, LIGHT_NORMAL), axes, strict=True):
        row[column : column + 3] = axis
    return row


@compiled
def sample(lights: LightArrays, index: int, _point: Vec3, u: tuple[float, float]) -> LightSample:
    """Returns the light from a texel that u chooses, which is the same at every point of the scene."""
    own, texel = sample_sky(lights.environment, u[0], u[1])
    direction = to_world(own, *edges_and_normal(lights, index))
    pdf = lights.probability[index] * texel_pdf(lights.environment, texel)
    return outside.arriving(lights, index, direction, pdf, texel_radiance(lights.environment, texel))


def record(rows: Doubles, probability: Doubles) -> dict[str, Doubles]:
    """Returns how far shadow rays go, and for a flux the radiance over the density of even directions."""
    all_round = rows[:, LIGHT_STRENGTH : LIGHT_STRENGTH + 3] * (4.0 * math.pi / probability)[:, None]
    return {"position": outside.shadow_ends(rows), "flux": all_round}


@compiled
def arrive(light: Light, sky: Sky, _point: Vec3, bits: Bits2) -> LightSample:
    """Returns the light from a texel, as `sample` does; the density is in proportion to the texel's radiance."""
    own, radiance = draw_texel(sky, bits)
    level, all_round = greatest(mean(radiance), LEAST_RADIANCE), mean(light.flux)
    irradiance = scale(scale(radiance, ONE / level), all_round)  # in this order nothing overflows
    towards = to_world(own, light.edge_1, light.edge_2, light.normal)
    return LightSample(towards, light.position[0], irradiance, level / all_round)


@compiled
def meet(light: Light, sky: Sky, direction: Vec3) -> tuple[Color, float]:
    """Returns the radiance of the image in a direction, and the density of `arrive`."""
    seen = seen_texel(sky, to_local(direction, light.edge_1, light.edge_2, light.normal))
    return seen, mean(seen) / greatest(mean(light.flux), LEAST_RADIANCE)


@compiled
def density(lights: LightArrays, index: int, _point: Vec3, direction: Vec3, _distance: float) -> float:
    """Returns the pdf_solid_angle of a direction, in proportion to its row's and texel's radiance."""
    texel = texel_of(lights.environment, to_local(direction, *edges_and_normal(lights, index)))
    return lights.probability[index] * texel_pdf(lights.environment, texel)


@compiled
def leave(light: Emitter, sky: Sky, bits: Bits4) -> Emission:
    """Returns a photon of a texel: all have the same flux, in its colour."""
    own, radiance = draw_texel(sky, (bits[0], bits[1]))
    towards = to_world(own, light.edge_1, light.edge_2, light.normal)
    flux = scale(radiance, mean(light.flux) / greatest(mean(radiance), LEAST_RADIANCE))
    return outside.leave_towards(light, towards, flux, (bits[2], bits[3]))


KIND = LightKind(
    name="sky",
    number=SKY,
    extent=Extent.OUTSIDE,
    power_per_strength=lambda rows: 4.0 * math.pi * rows[:, LIGHT_AREA],  # the power is 4 pi A L
    sample=sample,
    leave=leave,
    arrive=arrive,
    meet=meet,
    record=record,
    density=density,
    photon_density=outside.photon_density,
    is_met=lambda rows: np.ones(len(rows), np.bool_),
)
