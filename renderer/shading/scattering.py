"""This module has what the loops of a BSDF share, whether photons or eye paths have hit it: how it is looked at, how a
path goes on, and from where.

All hits of a chunk have the same BSDF. Their numbers lie in columns, after textures and maps. Columns that photons
(`renderer.photons.batch.HIT_COLUMNS`) and eye paths (`renderer.camera_paths.paths.EYE_COLUMNS`) have in common bear the
same names.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import types

from renderer.scene.materials import BsdfTable
from renderer.shading.chunks import ALL_BITS, Chunk, Long
from renderer.shading.corners import coordinates_at
from renderer.simd.bsdf_kinds import (
    BsdfKind,
    call_at,
    eta,
    evaluate,
    has_bent_normals,
    has_rest,
    has_tangent,
    make_ready,
    numbers_at,
    reflectance,
    sample,
    set_numbers,
)
from renderer.simd.columns import column, get, get_int
from renderer.simd.packing import list_indices
from shaders.bsdfs.bsdf import LOBE_BASE, LOBE_NONE, LOBE_SHARP, Seen
from shaders.custom import Point, call_shader
from shaders.float32 import ONE, ZERO, Float32
from shaders.sampling import lambertian
from shaders.vector import Color, Vec3, along, chosen, cross, dot, frame, scale, to_local, to_world
from tracecore.compilation.cached import inlined
from tracecore.compilation.units import unit
from tracecore.compilation.vector import address

#: The loops of a BSDF, by their columns in `renderer.simd.bsdf_kinds.ADDRESSES`.
PHOTONS, PHOTON_AT_POINT, SHOW, LIGHT, SCATTER, ALBEDO, AT_POINT = range(7)
#: And those of paths that are joined (`renderer.vcm`).
GO_ON, LIGHT_JOINED, CONNECT, MEET, MERGE = range(7, 12)

PER_PI = Float32(1.0 / np.pi)


class Frame(NamedTuple):
    """Is the shading frame of a hit: two tangents and the shading normal, in the world."""

    tangent: Vec3
    bitangent: Vec3
    normal: Vec3


class Scattered(NamedTuple):
    """Says how a path goes on.

    wi: its direction, in the world.
    cosine: of it and the shading normal.
    weight: share that is kept, by channel, without what radiance changes by as it crosses a border.
    base: the part of the weight that is the base's.
    pdf: density of wi in solid angle, 0 of a lobe without spread.
    lobe: LOBE_BASE or another.
    is_straight: whether it goes straight through a border that bends nothing.
    """

    wi: Vec3
    cosine: float
    weight: Color
    base: Color
    pdf: float
    lobe: int
    is_straight: bool


@inlined
def frame_at(kind: BsdfKind, i: int, chunk: Chunk) -> Frame:
    """Returns the shading frame of a hit."""
    normal = column(chunk.shading, i) if has_bent_normals(kind) else column(chunk.normal, i)
    if has_tangent(kind):
        tangent = column(chunk.tangent, i)
        return Frame(tangent, cross(normal, tangent), normal)
    tangent, bitangent = frame(normal)
    return Frame(tangent, bitangent, normal)


@inlined
def in_frame(w: Vec3, own: Frame) -> Vec3:
    """Returns a direction of the world in a shading frame."""
    return to_local(w, own.tangent, own.bitangent, own.normal)


@inlined
def parameters_at(kind: BsdfKind, i: int, chunk: Chunk) -> Any:
    """Returns the parameters of a hit."""
    return numbers_at(kind, address(chunk.parameters), i)


@inlined
def seen_at(i: int, own: Frame, chunk: Chunk, carried: Color, follow: float, tables: int) -> Seen:
    """Returns how the surface of a hit is looked at. For the arguments see `Seen`."""
    wo = in_frame(scale(column(chunk.ray, i), -ONE), own)
    is_outside = get_int(address(chunk.is_outside), i) != 0
    return Seen(wo, is_outside, carried, follow, tables)


@inlined
def scattered(kind: BsdfKind, parameters: Any, seen: Seen, own: Frame, ray: Vec3, u: Vec3) -> Scattered:
    """Draws how a path goes on, weighed by all lobes that could have drawn it.

    own: the shading frame.
    ray: the direction that the path came in, in the world.
    u: three uniform numbers, of which the first chooses the lobe.
    """
    if has_rest(kind):
        return scattered_by_lobes(kind, parameters, seen, own, ray, u)
    wi = lambertian(own.normal, u[1], u[2])
    cosine, weight = dot(wi, own.normal), scale(reflectance(kind, parameters, seen.wo), seen.follow)
    lobe = LOBE_BASE if (cosine > ZERO) & (seen.follow > ZERO) else LOBE_NONE
    return Scattered(wi, cosine, weight, weight, cosine * PER_PI, lobe, False)


@inlined
def scattered_by_lobes(kind: BsdfKind, parameters: Any, seen: Seen, own: Frame, ray: Vec3, u: Vec3) -> Scattered:
    """Does what `scattered` does where there is more than Lambert's law."""
    drawn = sample(kind, parameters, seen, u)
    value = evaluate(kind, parameters, drawn.wi, seen)
    is_sharp, is_none = drawn.lobe == LOBE_SHARP, drawn.lobe == LOBE_NONE
    per_pdf = abs(drawn.wi[2]) / value.pdf if (value.pdf > ZERO) & (not is_none) else ZERO
    base = scale(value.base, seen.follow * per_pdf)
    rest = scale(value.rest, per_pdf)
    weight = (
        drawn.weight[0] if is_sharp else base[0] + rest[0],
        drawn.weight[1] if is_sharp else base[1] + rest[1],
        drawn.weight[2] if is_sharp else base[2] + rest[2],
    )
    is_straight = is_sharp & (drawn.wi[2] < ZERO) & (eta(kind, parameters, seen.is_outside) == ONE)
    turned = to_world(drawn.wi, own.tangent, own.bitangent, own.normal)
    pdf = ZERO if is_sharp else value.pdf
    return Scattered(chosen(is_straight, ray, turned), drawn.wi[2], weight, base, pdf, drawn.lobe, is_straight)


@inlined
def roulette(kept: float, had: float, number: float) -> tuple[bool, float]:
    """Play Russian roulette by the share of light that a bounce keeps. A path that survives has as much as before, or
    more, if the bounce has added some.

    Arvo, Kirk: Particle Transport and Image Synthesis, 1990.

    kept, had: light after the bounce and before.
    number: uniform.
    Returns whether the path goes on, and by what its light is multiplied then.
    """
    return number * had < kept, max(ONE, had / kept)


@inlined
def next_origin(i: int, wi: Vec3, chunk: Chunk) -> Vec3:
    """Returns where the next ray starts: clear of the surface, on the side where it goes."""
    normal, clearance = column(chunk.normal, i), get(address(chunk.clearance), i)
    return along(column(chunk.position, i), normal, -clearance if dot(normal, wi) < ZERO else clearance)


@unit(types.none)
def look_at_points(kind: BsdfKind, chunk: Chunk, count: int, place: int) -> None:
    """Have a function look at the first `count` hits of the list `listed`, and change their parameters. place: its
    address."""
    for k in range(count):
        i = Long(chunk.listed[k])
        at = coordinates_at(i, chunk)
        uv = (at.u + at.tile_u, at.v + at.tile_v)
        point = Point(column(chunk.position, i), column(chunk.normal, i), uv)
        set_numbers(kind, address(chunk.parameters), i, call_shader(place, point, parameters_at(kind, i, chunk)))


@inlined
def for_each_shader(table: BsdfTable, which: int, chunk: Chunk, hits: int) -> None:
    """Have the functions of a scene look at their hits. which: AT_POINT or PHOTON_AT_POINT."""
    for own in range(len(table.shaders)):
        count = list_indices(address(chunk.shader), (ALL_BITS, np.uint32(own)), hits, address(chunk.listed))
        if count > 0:
            bsdf = table.bsdfs[Long(chunk.bsdf[chunk.listed[0]])]
            looking = (chunk, count, table.shaders[own])
            if which == AT_POINT:
                call_at(table.loops[bsdf, AT_POINT], AT_POINT, looking)
            else:
                call_at(table.loops[bsdf, PHOTON_AT_POINT], PHOTON_AT_POINT, looking)


def make_shaders_ready(table: BsdfTable, which: int, chunk: Any) -> None:
    """Has the loops be there that call functions of the user's own, if there are any.

    which: AT_POINT or PHOTON_AT_POINT.
    chunk: Numba's type of the record of a chunk.
    """
    if len(table.shaders) > 0:
        make_ready(table.bsdfs, {which: (look_at_points, (chunk, types.int64, types.int64))})
