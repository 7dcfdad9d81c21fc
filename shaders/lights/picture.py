"""This module holds the light `picture`: a triangle that glows as a texture says.

Its strength is the mean over the triangle, and its own columns are the texture, texture coordinates of its first corner
and along the edges, and what radiance the texture multiplies.
"""

import math

import numpy as np

from shaders.compilation import called, compiled, kept
from shaders.float32 import Doubles, Floats, Longs
from shaders.lights import triangle
from shaders.lights.kind import Emission, Extent, LightArrays, LightKind, LightSample, triple
from shaders.lights.row import LIGHT_AREA, LIGHT_KIND, LIGHT_OWN, LIGHT_STRENGTH, Row
from shaders.sampling import uniform_triangle
from shaders.textures import TEXTURE_HEIGHT, TEXTURE_WIDTH, TextureArrays, lookup
from shaders.vector import BLACK, Color, Vec3, add, multiply, scale

PICTURE = 5.0

LIGHT_TEXTURE, LIGHT_UV, LIGHT_UV_1, LIGHT_UV_2, LIGHT_RADIANCE = (LIGHT_OWN + k for k in (0, 1, 3, 5, 7))

#: Strips of a triangle over which the mean of its picture is taken, at most.
MOST_STRIPS = 256


def picture_rows(rows: Doubles, textures: TextureArrays, maps: Longs, uvs: Floats) -> Doubles:
    """Returns `triangle_rows` of triangles whose radiance textures multiply.
    maps: (n,), their textures. uvs: (n, 3, 2), of their corners."""
    pictures = rows.copy()
    pictures[:, LIGHT_KIND], pictures[:, LIGHT_TEXTURE] = PICTURE, maps
    pictures[:, LIGHT_UV : LIGHT_UV + 2] = uvs[:, 0]
    pictures[:, LIGHT_UV_1 : LIGHT_UV_1 + 2] = uvs[:, 1] - uvs[:, 0]
    pictures[:, LIGHT_UV_2 : LIGHT_UV_2 + 2] = uvs[:, 2] - uvs[:, 0]
    pictures[:, LIGHT_RADIANCE : LIGHT_RADIANCE + 3] = rows[:, LIGHT_STRENGTH : LIGHT_STRENGTH + 3]
    take_means(textures, pictures)
    return pictures


@kept
def take_means(textures: TextureArrays, rows: Doubles) -> None:
    """Multiplies the strength of pictures by the mean of their textures."""
    for k in range(len(rows)):
        mean = mean_of_picture(textures, rows[k])
        for channel in range(3):
            rows[k, LIGHT_STRENGTH + channel] *= mean[channel]


@called
def mean_of_picture(textures: TextureArrays, row: Row) -> Color:
    """Returns the mean colour of a texture over a triangle: at the middle of equal parts about as large as texels."""
    texture, total = int(row[LIGHT_TEXTURE]), BLACK
    sides = np.abs(row[LIGHT_UV_1 : LIGHT_UV_1 + 4]).max() * max(
        textures.table[texture, TEXTURE_WIDTH], textures.table[texture, TEXTURE_HEIGHT]
    )
    strips = min(max(math.ceil(sides), 1), MOST_STRIPS)
    for i in range(strips):
        for j in range(2 * (strips - i) - 1):
            third = 2.0 / 3.0 if j % 2 else 1.0 / 3.0
            s, t = (i + third) / strips, (j // 2 + third) / strips
            total = add(total, color_of_picture(textures, row, s, t))
    return scale(total, 1.0 / (strips * strips))


@compiled
def color_of_picture(textures: TextureArrays, row: Row, s: float, t: float) -> Color:
    """Returns the colour of the texture so far along both edges of a picture."""
    u, v = (
        row[LIGHT_UV] + s * row[LIGHT_UV_1] + t * row[LIGHT_UV_2],
        row[LIGHT_UV + 1] + s * row[LIGHT_UV_1 + 1] + t * row[LIGHT_UV_2 + 1],
    )
    return lookup(textures, int(row[LIGHT_TEXTURE]), u, v)


@called
def radiance_of_picture(lights: LightArrays, index: int, s: float, t: float) -> Color:
    """Returns the radiance so far along both edges of a picture."""
    return multiply(triple(lights, index, LIGHT_RADIANCE), color_of_picture(lights.textures, lights.rows[index], s, t))


@compiled
def sample(lights: LightArrays, index: int, point: Vec3, u: tuple[float, float]) -> LightSample:
    """Returns the light from a point of a picture that u chooses."""
    light = triangle.sample(lights, index, point, u)
    if light.pdf_solid_angle <= 0.0:
        return light
    s, t = uniform_triangle(u[0], u[1])
    irradiance = scale(radiance_of_picture(lights, index, s, t), 1.0 / light.pdf_solid_angle)
    return LightSample(light.direction, light.distance, irradiance, light.pdf_solid_angle)


@compiled
def emit(lights: LightArrays, index: int, u: tuple[float, float, float, float]) -> Emission:
    """Returns a photon from a point of a picture, its direction by the cosine."""
    photon = triangle.emit(lights, index, u)
    s, t = uniform_triangle(u[2], u[3])
    flux = triangle.flux(lights, index, radiance_of_picture(lights, index, s, t))
    return Emission(photon.origin, photon.direction, flux)


KIND = LightKind(
    name="picture",
    number=PICTURE,
    extent=Extent.SURFACE,
    power_per_strength=triangle.power_per_strength,
    sample=sample,
    emit=emit,
    density=triangle.density,
    box=triangle.box,
    has_front=True,
    brightest=lambda rows: math.pi * rows[:, LIGHT_AREA, None] * rows[:, LIGHT_RADIANCE : LIGHT_RADIANCE + 3],  # white
)
