"""This module applies what textures say of a surface beside its diffuse colour: other lobes, and its normal, by normal
and bump maps.

A frame of a texture is that of its plane on the triangle: along growing u, up the image (v runs down), and the normal.
"""

import math
from typing import NamedTuple

from shaders.compilation import compiled
from shaders.float32 import ONE, TWO, ZERO, Float32
from shaders.vector import Color, Vec3, add, chosen, cross, dot, frame, length, normalize, scale, subtract

Pair = tuple[float, float]

#: Twice the value of the byte 128, which stands for zero in a normal map.
MIDDLE = Float32(256.0 / 255.0)

#: Normals rise so much over the surface that they are bent, and so do mirrored directions.
LEAST_RISE, LEAST_MIRRORED = Float32(1e-3), Float32(1e-2)

#: Cosine between a ray and a surface from which on what the ray sees of it grows no more.
LEAST_COSINE = Float32(1e-2)

#: A shading normal at this cosine to wo, or below, is seen from behind.
LEAST_VISIBLE = Float32(1e-6)


class Patch(NamedTuple):
    """Describes a triangle with texture coordinates."""

    edge_1: Vec3  # from the first corner to the second, world units
    edge_2: Vec3  # and to the third
    uv_1: Pair  # the same in the plane of textures
    uv_2: Pair


class Axes(NamedTuple):
    """Says how a position on a triangle moves with texture coordinates: dp/du and dp/dv, world units."""

    along_u: Vec3
    along_v: Vec3


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
    side = width / max(cosine, LEAST_COSINE) * math.sqrt(abs(determinant(patch)) / area)
    return side if area > ZERO else ZERO


@compiled
def axes_of(patch: Patch) -> Axes:
    """Returns the axes of the texture on a triangle: any frame where texture coordinates do not say."""
    area = determinant(patch)
    inverse = ONE / area
    along_u = subtract(scale(patch.edge_1, patch.uv_2[1]), scale(patch.edge_2, patch.uv_1[1]))
    along_v = subtract(scale(patch.edge_2, patch.uv_1[0]), scale(patch.edge_1, patch.uv_2[0]))
    tangent, bitangent = frame(normalize(cross(patch.edge_1, patch.edge_2)))
    return Axes(
        chosen(area == ZERO, tangent, scale(along_u, inverse)),
        chosen(area == ZERO, scale(bitangent, -ONE), scale(along_v, inverse)),
    )


@compiled
def tilted(axes: Axes, normal: Vec3, color: Color, factor: float) -> Vec3:
    """Returns a normal as the colour of a normal map bends it."""
    tangent = tangent_of(axes, normal)
    up = cross(normal, tangent)
    up = scale(up, ONE if dot(up, axes.along_v) <= ZERO else -ONE)
    across, upward = factor * (TWO * color[0] - MIDDLE), factor * (TWO * color[1] - MIDDLE)
    outward = max(TWO * color[2] - MIDDLE, LEAST_RISE)
    return normalize(add(scale(normal, outward), add(scale(tangent, across), scale(up, upward))))


@compiled
def tangent_of(axes: Axes, normal: Vec3) -> Vec3:
    """Returns the unit vector in the plane of a normal along growing u; any where u grows along the normal."""
    tangent = subtract(axes.along_u, scale(normal, dot(normal, axes.along_u)))
    return chosen(length(tangent) > ZERO, normalize(tangent), frame(normal)[0])


@compiled
def bumped(axes: Axes, normal: Vec3, slopes: Pair, factor: float) -> Vec3:
    """Returns the normal of a surface that heights lift.

    slopes: of the heights along u and v.
    factor: of the heights, world units.

    Blinn: Simulation of Wrinkled Surfaces, 1978. The gradient along the surface, which need not be that of the
    normal: Mikkelsen: Bump Mapping Unparametrized Surfaces on the GPU, 2010.
    """
    over_v, over_u = cross(axes.along_v, normal), cross(normal, axes.along_u)
    volume = dot(axes.along_u, over_v)
    gradient = scale(add(scale(over_v, slopes[0]), scale(over_u, slopes[1])), factor / volume)
    return chosen(volume == ZERO, normal, normalize(subtract(normal, gradient)))


@compiled
def mirroring_normal(normal: Vec3, geom_normal: Vec3, wo: Vec3) -> Vec3:
    """Returns the normal, bent as little as it must be for wo to be mirrored to its own side of the surface. All are
    unit and on the side of wo.

    Keller, Wächter, Raab, Seibert, van Antwerpen, Korndörfer, Kettner: The Iray Light Transport Simulation and
    Rendering System, 2017.
    """
    mirrored = subtract(scale(normal, TWO * dot(wo, normal)), wo)
    missing = LEAST_MIRRORED - dot(mirrored, geom_normal)
    bent = normalize(add(wo, normalize(add(mirrored, scale(geom_normal, missing)))))
    return chosen(missing <= ZERO, normal, bent)


@compiled
def visible_normal(shading_normal: Vec3, geom_normal: Vec3, wo: Vec3, is_mirroring: bool) -> Vec3:
    """Returns the shading normal, or what it has to give way to so that wo sees its front. is_mirroring: whether it is
    bent by a map and there is a lobe about the mirrored direction, which must not go into the surface."""
    bends = is_mirroring & (dot(shading_normal, wo) > LEAST_VISIBLE)
    normal = chosen(bends, mirroring_normal(shading_normal, geom_normal, wo), shading_normal)
    # Seen from behind the bent normal, only the flat one makes sense.
    return chosen(dot(normal, wo) > LEAST_VISIBLE, normal, geom_normal)
