"""This module has what loops over the hits of one BSDF share, whether photons or eye paths met them.

A chunk has the numbers of each hit's material in columns, after textures and maps, and which BSDF it is. Of the hits of
one BSDF there is a list, `listed`. Columns that photons (`renderer.photons.batch.HIT_COLUMNS`) and eye paths
(`renderer.camera_paths.paths.EYE_COLUMNS`) have in common bear the same names.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import types

from renderer.scene.materials import NUMBERS, BsdfTable
from renderer.scene.photon_scene import LISTED, MATERIAL_MASK
from renderer.shading.corners import coordinates_at
from renderer.simd.bsdf_kinds import (
    BsdfKind,
    call_at,
    evaluate,
    has_tangent,
    make_ready,
    numbers_at,
    sample,
    set_numbers,
)
from renderer.simd.columns import column, each, get_int, list_indices, whole
from renderer.simd.rows import gather_columns
from shaders.bsdfs.bsdf import LOBE_NONE, LOBE_SHARP, Seen
from shaders.compilation import compiled as inlined
from shaders.custom import Point, call_shader
from shaders.float32 import ONE, ZERO, Int
from shaders.vector import Color, Vec3, cross, frame, scale, to_local
from tracecore.compilation.units import unit
from tracecore.compilation.vector import address

#: The loops of a BSDF, by their columns in `renderer.simd.bsdf_kinds.ADDRESSES`.
PHOTONS, PHOTON_AT_POINT, SHOW, LIGHT, SCATTER, ALBEDO, AT_POINT = range(7)

NUMBER_BYTES, NUMBER_QUADS = NUMBERS.itemsize, tuple(range(0, NUMBERS.itemsize, 16))

ALL_BITS = np.uint32(0xFFFFFFFF)

#: One record of the columns of a chunk.
Chunk = Any

#: Type checkers take it for an int, as loops have them.
Long: Any = np.int64


class Frame(NamedTuple):
    """Is the shading frame of a hit: two tangents and the shading normal, in the world."""

    tangent: Vec3
    bitangent: Vec3
    normal: Vec3


class Scattered(NamedTuple):
    """Says how a path goes on.

    wi: its direction, in the shading frame.
    weight: share that is kept, by channel, without what radiance changes by as it crosses a border.
    base: the part of the weight that is the base's.
    pdf: density of wi in solid angle, 0 of a lobe without spread.
    lobe: LOBE_BASE or another.
    """

    wi: Vec3
    weight: Color
    base: Color
    pdf: float
    lobe: int


@inlined
def for_each_bsdf(table: BsdfTable, which: int, chunk: Chunk, hits: int, more: tuple[Any, ...]) -> None:
    """Call the loop of each BSDF of a scene for its hits, if there are any.

    which: PHOTONS or another.
    more: what the loop takes beside the chunk and the length of the list.
    """
    for own in range(len(table.bsdfs)):
        count = list_indices(address(chunk.bsdf), (ALL_BITS, np.uint32(own)), hits, address(chunk.listed))
        if count > 0:
            call_at(table.loops[table.bsdfs[own], which], (chunk, count) + more)


@inlined
def are_listed(flags: np.uint32, chunk: Chunk, hits: int) -> bool:
    """Returns whether all hits of a chunk are listed. flags: all that triangle records have."""
    if not flags & LISTED:
        return False
    return list_indices(address(chunk.kind), (LISTED, LISTED), hits, address(chunk.listed)) == hits


@inlined
def gather_numbers(table: BsdfTable, chunk: Chunk, hits: int) -> None:
    """Gather the numbers of the materials of all hits."""
    each(take_material, whole(hits), chunk)
    columns = (NUMBER_QUADS, address(chunk.parameters))
    gather_columns(address(table.numbers), NUMBER_BYTES, address(chunk.material), whole(hits), columns)


@inlined
def take_material(i: int, chunk: Chunk) -> None:
    """Write the index of a hit's material."""
    chunk.material[i] = Int(chunk.kind[i] & MATERIAL_MASK)


@inlined
def listed_at(k: int, chunk: Chunk) -> int:
    """Returns the index in the chunk of hit k of the list."""
    return get_int(address(chunk.listed), k)


@inlined
def frame_at(kind: BsdfKind, i: int, chunk: Chunk) -> Frame:
    """Returns the shading frame of a hit."""
    normal = column(chunk.shading, i)
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
def scattered(kind: BsdfKind, parameters: Any, seen: Seen, u: Vec3) -> Scattered:
    """Draws how a path goes on, weighed by all lobes that could have drawn it."""
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
    return Scattered(drawn.wi, weight, base, ZERO if is_sharp else value.pdf, drawn.lobe)


@unit(types.none)
def look_at_points(kind: BsdfKind, chunk: Chunk, count: int, place: int) -> None:
    """Have a function look at the first `count` hits of the list, and change their parameters. place: its address."""
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
            call_at(table.loops[bsdf, which], (chunk, count, table.shaders[own]))


def make_shaders_ready(table: BsdfTable, which: int, chunk: Any) -> None:
    """Has the loops be there that call functions of the user's own, if there are any.

    which: AT_POINT or PHOTON_AT_POINT.
    chunk: Numba's type of the record of a chunk.
    """
    if len(table.shaders) > 0:
        make_ready(table.bsdfs, {which: (look_at_points, (chunk, types.int64, types.int64))})
