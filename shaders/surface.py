"""What there is to know of a surface at the point that a ray hit."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from shaders.bsdf import Bsdf
from shaders.compilation import compiled
from shaders.custom import Point, call_shader
from shaders.float32 import ONE
from shaders.maps import (
    Maps,
    Patch,
    Relief,
    footprint,
    map_color,
    mapped_bsdf,
    mirroring_normal,
    mirrors,
    relief_normal,
)
from shaders.shading_normals import shading_normal_correction
from shaders.textures import TextureArrays, lookup
from shaders.vector import (
    WHITE,
    Color,
    Vec3,
    add,
    cross,
    dot,
    frame,
    largest_magnitude,
    multiply,
    normalize,
    scale,
    subtract,
    to_local,
    to_world,
)

Floats = npt.NDArray[np.float32]

#: Columns of a packed material.
(
    MATERIAL_DIFFUSE,
    MATERIAL_PHONG,
    MATERIAL_MIRROR,
    MATERIAL_TRANSMISSION,
    MATERIAL_EMISSION,
    MATERIAL_BACKDROP,
    MATERIAL_EXPONENT,
    MATERIAL_IOR,
    MATERIAL_TEXTURE,
) = 0, 3, 6, 9, 12, 15, 18, 19, 20
MATERIAL_SPECULAR_LOBE, MATERIAL_ALPHA, MATERIAL_LOOK = 21, 24, 25
MATERIAL_SPECULAR_MAP, MATERIAL_ROUGHNESS_MAP, MATERIAL_TRANSMISSION_MAP, MATERIAL_EMISSION_MAP = 26, 27, 28, 29
MATERIAL_NORMAL_MAP, MATERIAL_NORMAL_SCALE, MATERIAL_BUMP_MAP, MATERIAL_BUMP_SCALE = 30, 31, 32, 33
MATERIAL_ETA, MATERIAL_EXTINCTION, MATERIAL_COLUMNS = 34, 37, 40

#: What to look at of a material: at most one texture, which repeats; one that has to be filtered too; or maps, or a
#: texture that does not repeat.
LOOK_PLAIN, LOOK_FILTERED, LOOK_MAPPED = 0.0, 1.0, 2.0

#: Rays leave a triangle this share of its largest coordinate away from it, so as not to hit it again.
ORIGIN_OFFSET = 2.0**-17

#: A shading normal at this cosine to wo, or below, is seen from behind.
LEAST_VISIBLE = 1e-6


class SurfaceArrays(NamedTuple):
    """Triangles and materials as loops read them.

    positions, normals: (n, 3, 3) float32, world units, of the corners.
    uvs: (n, 3, 2) float32, texture coordinates of the corners.
    material_ids: (n,) int32.
    materials: (m, MATERIAL_COLUMNS) float64.
    shaders: (m,) int64, addresses of shaders that look at every hit, or 0.
    emitter_ids: (n,) int32, index of the light that a triangle is, or -1.
    textures: images of the materials.
    """

    positions: Floats
    normals: Floats
    uvs: Floats
    material_ids: npt.NDArray[np.int32]
    materials: npt.NDArray[np.float64]
    shaders: npt.NDArray[np.int64]
    emitter_ids: npt.NDArray[np.int32]
    textures: TextureArrays


class Hit(NamedTuple):
    """A point of a surface, seen from the direction `wo`.

    geom_normal: unit, on the side of wo. shading_normal: unit, on the side of wo. tangent, bitangent: the rest of the
    shading frame. clearance: how far off the triangle rays must start, world units. outside: whether wo is on the side
    that the winding and normals of the triangle call front. emission: radiance towards wo. backdrop: radiance that is
    seen and lights nothing.
    correction: of flux that came from wo and was counted on the flat triangle (`shaders.shading_normals`); 0 where wo
    is behind the shading normal, which then has given way to the flat one.
    """

    position: Vec3
    geom_normal: Vec3
    shading_normal: Vec3
    tangent: Vec3
    bitangent: Vec3
    clearance: float
    outside: bool
    bsdf: Bsdf
    emission: Color
    backdrop: Color
    correction: float


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
def material_color(materials: npt.NDArray[np.float64], material: int, column: int) -> Color:
    """Three columns of a packed material."""
    return (materials[material, column], materials[material, column + 1], materials[material, column + 2])


@compiled
def texture_coordinates(uvs: Floats, triangle: int, u: float, v: float) -> tuple[float, float]:
    """Barycentric mean of the corners' pairs."""
    w = 1.0 - u - v
    s = w * uvs[triangle, 0, 0] + u * uvs[triangle, 1, 0] + v * uvs[triangle, 2, 0]
    t = w * uvs[triangle, 0, 1] + u * uvs[triangle, 1, 1] + v * uvs[triangle, 2, 1]
    return s, t


@compiled
def texture_color(surfaces: SurfaceArrays, triangle: int, u: float, v: float) -> Color:
    """Colour of the texture at a point; white where there is none."""
    texture = int(surfaces.materials[surfaces.material_ids[triangle], MATERIAL_TEXTURE])
    if texture < 0:
        return (1.0, 1.0, 1.0)
    s, t = texture_coordinates(surfaces.uvs, triangle, u, v)
    return lookup(surfaces.textures, texture, s, t)


@compiled
def has_relief(materials: npt.NDArray[np.float64], material: int) -> bool:
    """Whether maps bend the normal of a packed material."""
    is_mapped = materials[material, MATERIAL_LOOK] == LOOK_MAPPED
    return is_mapped and max(materials[material, MATERIAL_NORMAL_MAP], materials[material, MATERIAL_BUMP_MAP]) >= 0.0


@compiled
def patch_at(surfaces: SurfaceArrays, triangle: int, u: float, v: float) -> Patch:
    """The place as maps look at it."""
    positions, uvs = surfaces.positions, surfaces.uvs
    a = corner(positions, triangle, 0)
    s, t = np.float64(uvs[triangle, 0, 0]), np.float64(uvs[triangle, 0, 1])
    return Patch(
        subtract(corner(positions, triangle, 1), a),
        subtract(corner(positions, triangle, 2), a),
        (uvs[triangle, 1, 0] - s, uvs[triangle, 1, 1] - t),
        (uvs[triangle, 2, 0] - s, uvs[triangle, 2, 1] - t),
        texture_coordinates(uvs, triangle, u, v),
    )


@compiled
def maps_of(materials: npt.NDArray[np.float64], material: int) -> Maps:
    """Maps of a packed material that change its lobes."""
    return Maps(
        int(materials[material, MATERIAL_SPECULAR_MAP]),
        int(materials[material, MATERIAL_ROUGHNESS_MAP]),
        int(materials[material, MATERIAL_TRANSMISSION_MAP]),
    )


@compiled
def relief_of(materials: npt.NDArray[np.float64], material: int) -> Relief:
    """Maps of a packed material that bend its normal."""
    return Relief(
        int(materials[material, MATERIAL_NORMAL_MAP]),
        materials[material, MATERIAL_NORMAL_SCALE],
        int(materials[material, MATERIAL_BUMP_MAP]),
        materials[material, MATERIAL_BUMP_SCALE],
    )


@compiled
def bsdf_at(surfaces: SurfaceArrays, triangle: int, paint: Color) -> Bsdf:
    """The material's lobes; paint is the texture's colour, which the diffuse one is multiplied with."""
    materials, material = surfaces.materials, surfaces.material_ids[triangle]
    return Bsdf(
        multiply(material_color(materials, material, MATERIAL_DIFFUSE), paint),
        material_color(materials, material, MATERIAL_PHONG),
        material_color(materials, material, MATERIAL_MIRROR),
        material_color(materials, material, MATERIAL_TRANSMISSION),
        materials[material, MATERIAL_EXPONENT],
        materials[material, MATERIAL_IOR],
        material_color(materials, material, MATERIAL_SPECULAR_LOBE),
        materials[material, MATERIAL_ALPHA],
        material_color(materials, material, MATERIAL_ETA),
        material_color(materials, material, MATERIAL_EXTINCTION),
    )


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


class Appearance(NamedTuple):
    """What textures and maps make of a material at a point.

    paint: colour of the texture, white where there is none.
    bsdf: the lobes.
    glow: share of the material's emission, white where no map says less.
    shading_normal: unit, on the side that the vertex normals call outside.
    """

    paint: Color
    bsdf: Bsdf
    glow: Color
    shading_normal: Vec3


@compiled
def surface_at(surfaces: SurfaceArrays, triangle: int, u: float, v: float, wo: Vec3, width: float = 0.0) -> Hit:
    """Returns the surface at barycentric (u, v) of a triangle, seen from the unit direction wo.

    width: of the cone of what is seen, across wo, world units, over which textures are filtered that ask for it.
    """
    material = surfaces.material_ids[triangle]
    geom_normal = winding_normal(surfaces.positions, triangle)
    shading_normal = normalize(blend(surfaces.normals, triangle, u, v))
    front = dot(geom_normal, wo) >= 0.0
    # Some files wind a triangle against its vertex normals: those then say which side is outside.
    outside = front == (dot(geom_normal, shading_normal) >= 0.0)
    emission = material_color(surfaces.materials, material, MATERIAL_EMISSION)
    if not front:
        geom_normal, emission = scale(geom_normal, -1.0), (0.0, 0.0, 0.0)
    cone = (width, dot(geom_normal, wo))
    paint, bsdf, glow, shading_normal = appearance_at(surfaces, triangle, (u, v), cone, shading_normal)
    if not outside:
        shading_normal = scale(shading_normal, -1.0)
    correction = shading_normal_correction(max(dot(shading_normal, wo), 0.0), dot(geom_normal, wo))
    is_mirroring = has_relief(surfaces.materials, material) and mirrors(bsdf)
    shading_normal = visible_normal(shading_normal, geom_normal, wo, is_mirroring)
    tangent, bitangent = frame(shading_normal)
    position = blend(surfaces.positions, triangle, u, v)
    if surfaces.shaders[material] != 0:
        uv = texture_coordinates(surfaces.uvs, triangle, u, v)
        bsdf = call_shader(surfaces.shaders[material], Point(position, geom_normal, uv), bsdf)
    return Hit(
        position,
        geom_normal,
        shading_normal,
        tangent,
        bitangent,
        triangle_clearance(surfaces.positions, triangle),
        outside,
        bsdf,
        multiply(emission, glow),
        multiply(material_color(surfaces.materials, material, MATERIAL_BACKDROP), paint),
        correction,
    )


@compiled
def appearance_at(
    surfaces: SurfaceArrays,
    triangle: int,
    barycentric: tuple[float, float],
    cone: tuple[float, float],
    shading_normal: Vec3,
) -> Appearance:
    """Returns what textures and maps make of a triangle's material at a point.

    cone: the width of what is seen, world units, and the cosine at which the triangle is seen.
    shading_normal: unit, as the vertex normals say.
    """
    u, v = barycentric
    materials, material = surfaces.materials, surfaces.material_ids[triangle]
    if materials[material, MATERIAL_LOOK] == LOOK_PLAIN:
        paint = texture_color(surfaces, triangle, u, v)
        return Appearance(paint, bsdf_at(surfaces, triangle, paint), WHITE, shading_normal)
    patch, textures = patch_at(surfaces, triangle, u, v), surfaces.textures
    seen = footprint(patch, cone[0], cone[1])
    paint = map_color(textures, int(materials[material, MATERIAL_TEXTURE]), patch.uv, seen)
    bsdf = bsdf_at(surfaces, triangle, paint)
    if materials[material, MATERIAL_LOOK] != LOOK_MAPPED:
        return Appearance(paint, bsdf, WHITE, shading_normal)
    return Appearance(
        paint,
        mapped_bsdf(textures, maps_of(materials, material), patch.uv, seen, bsdf),
        map_color(textures, int(materials[material, MATERIAL_EMISSION_MAP]), patch.uv, 0.0),
        relief_normal(textures, relief_of(materials, material), patch, seen, shading_normal),
    )


@compiled
def visible_normal(shading_normal: Vec3, geom_normal: Vec3, wo: Vec3, is_mirroring: bool) -> Vec3:
    """Returns the shading normal, or what it has to give way to so that wo sees its front.

    is_mirroring: whether it is bent by a map and there is a lobe about the mirrored direction, which must not go into
    the surface.
    """
    if is_mirroring and dot(shading_normal, wo) > LEAST_VISIBLE:
        shading_normal = mirroring_normal(shading_normal, geom_normal, wo)
    if dot(shading_normal, wo) <= LEAST_VISIBLE:  # seen from behind the bent normal: only the flat one makes sense
        return geom_normal
    return shading_normal


@compiled
def local(hit: Hit, direction: Vec3) -> Vec3:
    """A world direction in the shading frame."""
    return to_local(direction, hit.tangent, hit.bitangent, hit.shading_normal)


@compiled
def world(hit: Hit, direction: Vec3) -> Vec3:
    """A direction of the shading frame in the world."""
    return to_world(direction, hit.tangent, hit.bitangent, hit.shading_normal)


@compiled
def leaves(hit: Hit, direction: Vec3, wi: Vec3) -> bool:
    """Whether a world direction, wi in the shading frame, goes to the same side by the flat and the bent normal."""
    return (dot(direction, hit.geom_normal) > 0.0) == (wi[2] > 0.0)


@compiled
def ray_origin(hit: Hit, direction: Vec3) -> Vec3:
    """Where a ray in a world direction may start so as not to hit its own surface."""
    side = 1.0 if dot(direction, hit.geom_normal) >= 0.0 else -1.0
    return add(hit.position, scale(hit.geom_normal, side * hit.clearance))
