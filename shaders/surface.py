"""What there is to know of a surface at the point that a ray hit."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from shaders.compilation import compiled
from shaders.float32 import ONE, Doubles, Floats, Ints, Words
from shaders.maps import Patch, footprint
from shaders.textures import TextureArrays, filtered, lookup
from shaders.vector import Color, Vec3, add, cross, dot, largest_magnitude, multiply, normalize, scale, subtract

#: What lamps and sheets are by their material. emission, backdrop: radiances, of which the second lights nothing.
#: through: share of light that goes straight through a sheet. texture, emission_map, through_map: textures that
#: multiply backdrop, emission, and through, or -1.
MATERIAL = np.dtype(
    [(name, "<f8", 3) for name in ("emission", "backdrop", "through")]
    + [(name, "<i8") for name in ("texture", "emission_map", "through_map")]
)

#: Rays leave a triangle this share of its largest coordinate away from it, so as not to hit it again.
ORIGIN_OFFSET = 2.0**-17


class SurfaceArrays(NamedTuple):
    """Triangles and materials as loops read them."""

    # positions, normals: (n, 3, 3) float32, world units, of the corners
    positions: Floats
    normals: Floats
    uvs: Floats  # (n, 3, 2) float32, texture coordinates of the corners
    material_ids: Ints  # (n,) int32
    materials: npt.NDArray[np.void]  # (m,) MATERIAL
    flags: Words  # (m,) uint32, bits of their triangles' records (`renderer.scene.photon_scene`)
    emitter_ids: Ints  # (n,) int32, index of the light that a triangle is, or is a part of, or -1
    textures: TextureArrays  # images of the materials


@compiled
def corner(array: Floats, triangle: int, index: int) -> Vec3:
    """One corner's triple of an (n, 3, 3) array."""
    return (
        np.float64(array[triangle, index, 0]),
        np.float64(array[triangle, index, 1]),
        np.float64(array[triangle, index, 2]),
    )


@compiled
def blend(array: Floats, triangle: int, u: float, v: float) -> Vec3:
    """Barycentric mean of the corners' triples."""
    w = ONE - u - v
    a, b, c = corner(array, triangle, 0), corner(array, triangle, 1), corner(array, triangle, 2)
    return add(scale(a, w), add(scale(b, u), scale(c, v)))


@compiled
def winding_normal(positions: Floats, triangle: int) -> Vec3:
    """Unit normal by the order of the corners; +z on a triangle without area."""
    a = corner(positions, triangle, 0)
    return normalize(cross(subtract(corner(positions, triangle, 1), a), subtract(corner(positions, triangle, 2), a)))


@compiled
def texture_coordinates(uvs: Floats, triangle: int, u: float, v: float) -> tuple[float, float]:
    """Barycentric mean of the corners' pairs."""
    w = 1.0 - u - v
    s = w * uvs[triangle, 0, 0] + u * uvs[triangle, 1, 0] + v * uvs[triangle, 2, 0]
    t = w * uvs[triangle, 0, 1] + u * uvs[triangle, 1, 1] + v * uvs[triangle, 2, 1]
    return s, t


@compiled
def triangle_clearance(positions: Floats, triangle: int) -> float:
    """Returns the `clearance` of a triangle."""
    return clearance(corner(positions, triangle, 0), corner(positions, triangle, 1), corner(positions, triangle, 2))


@compiled
def clearance(a: Vec3, b: Vec3, c: Vec3) -> float:
    """How far off a triangle with these corners a ray must start so as not to hit it again, world units.

    Tracers subtract the origin of a ray from the corners in float32: what is rounded off grows with the corners, also
    where the origin itself is close to zero.
    """
    return ORIGIN_OFFSET * max(largest_magnitude(a), largest_magnitude(b), largest_magnitude(c))


@compiled
def painted(color: Color, textures: TextureArrays, texture: int, uv: tuple[float, float]) -> Color:
    """Returns a colour times that of a texture at a point, if there is one."""
    return multiply(color, lookup(textures, texture, uv[0], uv[1])) if texture >= 0 else color


@compiled
def emission_at(surfaces: SurfaceArrays, triangle: int, uv: tuple[float, float], wo: Vec3) -> Color:
    """Returns the radiance that a triangle sends towards wo from the point at barycentric coordinates."""
    material = surfaces.materials[surfaces.material_ids[triangle]]
    if dot(winding_normal(surfaces.positions, triangle), wo) < 0.0:
        return (0.0, 0.0, 0.0)
    place = texture_coordinates(surfaces.uvs, triangle, uv[0], uv[1])
    return painted(three_of(material.emission), surfaces.textures, material.emission_map, place)


@compiled
def backdrop_at(surfaces: SurfaceArrays, triangle: int, uv: tuple[float, float], cone: tuple[float, float]) -> Color:
    """Returns the radiance that the eye alone sees, at barycentric coordinates of a triangle.
    cone: width of what is seen, across the ray, world units, and the cosine between the ray and the normal."""
    material = surfaces.materials[surfaces.material_ids[triangle]]
    backdrop = three_of(material.backdrop)
    if material.texture < 0:
        return backdrop
    place = texture_coordinates(surfaces.uvs, triangle, uv[0], uv[1])
    seen = footprint(patch_of(surfaces, triangle), cone[0], cone[1])
    return multiply(backdrop, filtered(surfaces.textures, material.texture, place, seen))


@compiled
def patch_of(surfaces: SurfaceArrays, triangle: int) -> Patch:
    """Returns a triangle as maps look at it."""
    positions, uvs = surfaces.positions, surfaces.uvs
    a = corner(positions, triangle, 0)
    s, t = uvs[triangle, 0, 0], uvs[triangle, 0, 1]
    return Patch(
        subtract(corner(positions, triangle, 1), a),
        subtract(corner(positions, triangle, 2), a),
        (uvs[triangle, 1, 0] - s, uvs[triangle, 1, 1] - t),
        (uvs[triangle, 2, 0] - s, uvs[triangle, 2, 1] - t),
    )


@compiled
def share_through(surfaces: SurfaceArrays, triangle: int, uv: tuple[float, float]) -> Color:
    """Returns the share of light that goes straight through a sheet, at barycentric coordinates of a triangle."""
    material = surfaces.materials[surfaces.material_ids[triangle]]
    place = texture_coordinates(surfaces.uvs, triangle, uv[0], uv[1])
    return painted(three_of(material.through), surfaces.textures, material.through_map, place)


@compiled
def three_of(numbers: Doubles) -> Vec3:
    """Returns three numbers of a record."""
    return (numbers[0], numbers[1], numbers[2])
