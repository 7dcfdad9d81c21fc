"""This module applies what textures say of a surface beside its diffuse colour: other lobes, and its normal, by normal
and bump maps.

A frame of a texture is that of its plane on the triangle: along growing u, up the image (v runs down), and the normal.
"""

import math
from typing import NamedTuple

from shaders.compilation import called, compiled
from shaders.textures import TEXTURE_HEIGHT, TEXTURE_WIDTH, TextureArrays, filtered
from shaders.vector import (
    Color,
    Vec3,
    add,
    cross,
    dot,
    frame,
    length,
    mean,
    normalize,
    scale,
    subtract,
)

Pair = tuple[float, float]

#: Twice the value of the byte 128, which stands for zero in a normal map.
MIDDLE = 256.0 / 255.0

#: Normals rise so much over the surface that they are bent, and so do mirrored directions.
LEAST_RISE, LEAST_MIRRORED = 1e-3, 1e-2

#: Cosine between a ray and a surface from which on what the ray sees of it grows no more.
LEAST_COSINE = 1e-2


class Patch(NamedTuple):
    """Describes a point on a triangle with texture coordinates.

    edge_1, edge_2: from the first corner, world units.
    uv_1, uv_2: the same in the plane of textures.
    uv: those of the point.
    """

    edge_1: Vec3
    edge_2: Vec3
    uv_1: Pair
    uv_2: Pair
    uv: Pair


class Maps(NamedTuple):
    """Holds the indices of textures, or -1."""

    specular: int
    roughness: int
    transmission: int


class Relief(NamedTuple):
    """Holds what bends normals: textures, or -1, and factors of how far a normal leans over and of a height in world
    units."""

    normal: int
    normal_scale: float
    bump: int
    bump_scale: float


@compiled
def determinant(patch: Patch) -> float:
    """Returns twice the area in the plane of textures; below 0 where the triangle is mirrored."""
    return patch.uv_1[0] * patch.uv_2[1] - patch.uv_2[0] * patch.uv_1[1]


@compiled
def footprint(patch: Patch, width: float, cosine: float) -> float:
    """Returns the side, in the plane of textures, of what a cone sees, given its width in world units, at a cosine.

    Akenine-Möller, Nilsson, Andersson, Barré-Brisebois, Toth, Karras: Texture Level of Detail Strategies for Real-Time
    Ray Tracing, 2019.
    """
    area = length(cross(patch.edge_1, patch.edge_2))
    if area <= 0.0:
        return 0.0
    return width / max(cosine, LEAST_COSINE) * math.sqrt(abs(determinant(patch)) / area)


@compiled
def map_color(textures: TextureArrays, texture: int, uv: Pair, seen: float) -> Color:
    """Returns the colour of a texture; white where there is none. seen: its `footprint`."""
    return filtered(textures, texture, uv, seen) if texture >= 0 else (1.0, 1.0, 1.0)


@called
def along_texture(patch: Patch) -> tuple[Vec3, Vec3]:
    """Returns dp/du and dp/dv: how the position moves with texture coordinates. It is any frame where these do not
    say."""
    inverse = determinant(patch)
    if inverse == 0.0:
        tangent, bitangent = frame(normalize(cross(patch.edge_1, patch.edge_2)))
        return tangent, scale(bitangent, -1.0)
    inverse = 1.0 / inverse
    along_u = subtract(scale(patch.edge_1, patch.uv_2[1]), scale(patch.edge_2, patch.uv_1[1]))
    along_v = subtract(scale(patch.edge_2, patch.uv_1[0]), scale(patch.edge_1, patch.uv_2[0]))
    return scale(along_u, inverse), scale(along_v, inverse)


@called
def relief_normal(textures: TextureArrays, relief: Relief, patch: Patch, seen: float, normal: Vec3) -> Vec3:
    """Returns the unit normal that maps make of a unit normal."""
    if relief.normal >= 0:
        color = filtered(textures, relief.normal, patch.uv, seen)
        normal = tilted(patch, normal, color, relief.normal_scale)
    if relief.bump >= 0:
        normal = bumped(textures, relief, patch, seen, normal)
    return normal


@called
def tilted(patch: Patch, normal: Vec3, color: Color, factor: float) -> Vec3:
    """Returns a normal as the colour of a normal map bends it."""
    along_u, along_v = along_texture(patch)
    tangent = subtract(along_u, scale(normal, dot(normal, along_u)))
    if length(tangent) <= 0.0:
        return normal
    tangent = normalize(tangent)
    up = cross(normal, tangent)
    up = up if dot(up, along_v) <= 0.0 else scale(up, -1.0)
    across, upward = factor * (2.0 * color[0] - MIDDLE), factor * (2.0 * color[1] - MIDDLE)
    outward = max(2.0 * color[2] - MIDDLE, LEAST_RISE)
    return normalize(add(scale(normal, outward), add(scale(tangent, across), scale(up, upward))))


@called
def bumped(textures: TextureArrays, relief: Relief, patch: Patch, seen: float, normal: Vec3) -> Vec3:
    """Returns the normal of a surface that heights lift.

    Blinn: Simulation of Wrinkled Surfaces, 1978. The gradient along the surface, which need not be that of the
    normal: Mikkelsen: Bump Mapping Unparametrized Surfaces on the GPU, 2010.
    """
    along_u, along_v = along_texture(patch)
    over_v, over_u = cross(along_v, normal), cross(normal, along_u)
    volume = dot(along_u, over_v)
    if volume == 0.0:
        return normal
    step_u = max(seen, 1.0 / textures.table[relief.bump, TEXTURE_WIDTH])
    step_v = max(seen, 1.0 / textures.table[relief.bump, TEXTURE_HEIGHT])
    slope_u = rise(textures, relief.bump, patch.uv, (step_u, 0.0), seen) / (2.0 * step_u)
    slope_v = rise(textures, relief.bump, patch.uv, (0.0, step_v), seen) / (2.0 * step_v)
    gradient = scale(add(scale(over_v, slope_u), scale(over_u, slope_v)), relief.bump_scale / volume)
    return normalize(subtract(normal, gradient))


@called
def rise(textures: TextureArrays, texture: int, uv: Pair, step: Pair, seen: float) -> float:
    """Returns the height one increment ahead minus that one behind."""
    ahead = filtered(textures, texture, (uv[0] + step[0], uv[1] + step[1]), seen)
    behind = filtered(textures, texture, (uv[0] - step[0], uv[1] - step[1]), seen)
    return mean(ahead) - mean(behind)


@called
def mirroring_normal(normal: Vec3, geom_normal: Vec3, wo: Vec3) -> Vec3:
    """Returns the normal, bent as little as it must be for wo to be mirrored to its own side of the surface. All are
    unit and on the side of wo.

    Keller, Wächter, Raab, Seibert, van Antwerpen, Korndörfer, Kettner: The Iray Light Transport Simulation and
    Rendering System, 2017.
    """
    mirrored = subtract(scale(normal, 2.0 * dot(wo, normal)), wo)
    missing = LEAST_MIRRORED - dot(mirrored, geom_normal)
    if missing <= 0.0:
        return normal
    return normalize(add(wo, normalize(add(mirrored, scale(geom_normal, missing)))))
