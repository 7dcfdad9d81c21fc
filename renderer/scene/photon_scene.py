"""This module packs a scene for loops over photons: one short record for each triangle, material and light, in float32.

What every hit needs of its triangle is half a line of the cache. What few triangles have (bent normals, textures) is
marked by bits and read for those alone. How a surface scatters light is in `renderer.scene.materials.BsdfTable`.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from renderer.scene.media import Media
from renderer.scene.projection import NO_PROJECTION, Projection
from renderer.simd.columns import LINE_BYTES
from scenes.colors.srgb import decoded
from scenes.meshes.geometry import column_dots, column_lengths, column_normals, columns_of
from shaders.alias_table import pack_aliases
from shaders.lights.kind import Extent, LightArrays
from shaders.lights.point import POINT
from shaders.lights.registry import kinds_with, numbers_of, powers_per_strength
from shaders.lights.row import (
    LIGHT_AREA,
    LIGHT_EDGE_1,
    LIGHT_EDGE_2,
    LIGHT_KIND,
    LIGHT_OWN,
    LIGHT_POSITION,
    LIGHT_STRENGTH,
)
from shaders.lights.triangle import TRIANGLE
from shaders.octahedral import pack_unit
from shaders.surface import ORIGIN_OFFSET, SurfaceArrays
from shaders.textures import TEXTURE_HEIGHT, TEXTURE_OFFSET, TEXTURE_WIDTH
from tracecore.arrays import pieces
from tracecore.compilation.cached import compiled
from tracecore.compilation.unit_calls import need
from tracecore.threads import Piece, in_pieces

#: Bits of a triangle record, above the index of its material. STORES: photons are kept on it. BENT: its corners have
#: normals that differ from the flat one, or maps bend them. TEXTURED: an image multiplies the first colour of its BSDF,
#: and photons look at one texel. MAPPED: maps, or a function of the user's own, look at each hit; with TEXTURED they do
#: so for eye paths alone. MIXED: its BSDF has more than a base. SHEET: it lets light through and bends none of it.
#: GLOWS: the eye sees light that it sends out. IN_MEDIUM: it is none, but stands for points in a medium that scatters.
IN_MEDIUM = np.uint32(1 << 24)
SHEET, GLOWS, MAPPED, STORES, BENT, TEXTURED, MIXED = (np.uint32(1 << bit) for bit in range(25, 32))
MATERIAL_MASK = np.uint32((1 << 24) - 1)

#: Triangles whose records a thread makes at a time.
RECORDS_PIECE = 1 << 14

#: A bit of a whole scene alone: paths know which media they are in (`renderer.scene.media`).
HAS_MEDIA = np.uint32(1)

#: Where photons in a medium that scatters have a normal on surfaces, they have the lowest bits of the index of its
#: record, above the bits that say how many surfaces are left.
FOG_SHIFT, FOG_MASK = np.uint32(4), np.uint32(0xFF)

#: What units of compiled code are for that only scenes with HAS_MEDIA call, and those with SHEET.
INSIDE_OF_SOLIDS = "the inside of solids"
STRAIGHT_THROUGH_SHEETS = "light that goes straight through sheets"
INSIDE_OF_FOG = "media that scatter"

#: A triangle. Its plane is normal . x = plane; normal: unit, by the winding. clearance: how far off rays must start.
#: kind: index of the material, and bits. packed_front, packed_back: the normal and its opposite as photons keep them.
TRIANGLE_RECORD = np.dtype(
    [
        ("normal", "<f4", 3),
        ("plane", "<f4"),
        ("clearance", "<f4"),
        ("kind", "<u4"),
        ("packed_front", "<u4"),
        ("packed_back", "<u4"),
    ]
)

#: The texture of a triangle. uvs: of the three corners. texels: index of the first texel. sides: width and, in the
#: upper half of the word, height. One white texel stands for no texture.
TRIANGLE_TEXTURE = np.dtype([("uvs", "<f4", (3, 2)), ("texels", "<i4"), ("sides", "<u4")])
SIDE_MASK, HEIGHT_SHIFT = np.uint32(0xFFFF), np.uint32(16)

#: A light that photons leave: a point, without edges and normal, a triangle, or the parallelogram of two, of size 1.
#: origin: a corner, as far off the light as rays must start. flux: W of a photon that stands for all. Of other kinds,
#: `PhotonScene.others`, it is the row of the light, and the size of those outside of the scene is the radius of the
#: sphere around it.
EMITTER = np.dtype(
    [
        ("origin", "<f4", 3),
        ("flux", "<f4", 3),
        ("normal", "<f4", 3),
        ("edge_1", "<f4", 3),
        ("edge_2", "<f4", 3),
        ("size", "<f4"),
    ]
)

Records = npt.NDArray[np.void]
#: One of them.
Record = Any
Doubles = npt.NDArray[np.float64]
Longs = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float32]

#: How photons leave points, triangles and parallelograms, and lights of kinds that have no `leave`.
PLAIN, BY_EMIT = np.int32(-1), np.int32(-2)

#: Columns of a light's strength.
STRENGTHS = list(range(LIGHT_STRENGTH, LIGHT_STRENGTH + 3))

#: Linear values of sRGB bytes.
DECODED = decoded(np.arange(256, dtype=np.uint8), np.float32)


class PhotonScene(NamedTuple):
    """Holds what loops over photons read of a scene.

    records: (n + fogs,) TRIANGLE_RECORD, of triangles and, behind them, one with IN_MEDIUM of each way to scatter.
    textures: (n,) TRIANGLE_TEXTURE; no rows where no triangle is textured.
    emitters: (lights,) EMITTER.
    aliases: (lights,) ALIAS, the table that photons choose a light by.
    texels: (t + 1,) uint32, sRGB, red in the lowest byte; the last one is white.
    decoded: (256,) float32, linear values of sRGB bytes.
    flags: all bits that some triangle record has, and maybe HAS_MEDIA.
    others: (lights,) int32, the row in `lights` of an emitter that is neither point nor area, -1 of one that is; empty
    where all are.
    kinds: (lights,) int32, how photons leave an emitter: PLAIN, BY_EMIT, or the number of a kind with a `leave`;
        empty where all are PLAIN.
    are_points: whether all emitters are points.
    projection: where photons are sent, see `targets.projected`.
    media: what is inside of solids.
    """

    records: Records
    textures: Records
    emitters: Records
    aliases: Records
    texels: npt.NDArray[np.uint32]
    decoded: Floats
    flags: np.uint32
    others: npt.NDArray[np.int32]
    kinds: npt.NDArray[np.int32]
    are_points: bool
    lights: LightArrays
    projection: Projection
    media: Media


def pack_photon_scene(
    surfaces: SurfaceArrays,
    lights: LightArrays,
    media_of: Callable[[Doubles], Media],
    phases: range,
    before: tuple[SurfaceArrays, PhotonScene] | None = None,
) -> PhotonScene:
    """Returns the records of surfaces and lights.

    media_of: from rows of joined lights to the media of the scene.
    phases: the materials that stand for media which scatter.
    before: surfaces and records of the same scene at another time, or None.
    """
    if before is None:
        records, texels = pack_records(surfaces), pack_texels(surfaces.textures.texels)
    else:
        last, last_scene = before
        records, texels = records_after(surfaces, last, last_scene.records), last_scene.texels
    textures = pack_triangle_textures(surfaces, records["kind"])
    if phases:
        need(INSIDE_OF_FOG)
        records = with_phases(records, surfaces.flags, phases)
    rows, probability, is_square = join_triangles(lights)
    media = media_of(rows)
    flags = np.uint32(np.bitwise_or.reduce(records["kind"] & ~MATERIAL_MASK, initial=0))
    flags |= HAS_MEDIA if len(media.of_materials) else np.uint32(0)
    if flags & HAS_MEDIA:
        need(INSIDE_OF_SOLIDS)
    if flags & SHEET:
        need(STRAIGHT_THROUGH_SHEETS)
    return PhotonScene(
        records=records,
        textures=textures,
        emitters=pack_emitters(rows, probability, is_square),
        aliases=pack_aliases(probability),
        texels=texels,
        decoded=DECODED,
        flags=flags,
        others=pack_others(rows, lights.rows),
        kinds=pack_kinds(rows),
        are_points=bool((rows[:, LIGHT_KIND] == POINT).all()),
        lights=lights,
        projection=NO_PROJECTION,
        media=media,
    )


def with_phases(records: Records, flags: npt.NDArray[np.uint32], phases: range) -> Records:
    """Returns records of triangles, and behind them one for each medium that scatters, of which the kind counts, and
    the number that photons keep in place of a normal.

    flags: (m,) uint32, of materials.
    phases: the materials that stand for the media.
    """
    all_records = in_lines(len(records) + len(phases), TRIANGLE_RECORD)
    all_records[: len(records)] = records
    of_media, indices = all_records[len(records) :], np.arange(len(records), len(all_records), dtype=np.uint32)
    of_media["kind"] = np.array(phases, np.uint32) | flags[phases]
    of_media["packed_front"] = of_media["packed_back"] = (indices & FOG_MASK) << FOG_SHIFT
    return all_records


def pack_records(surfaces: SurfaceArrays) -> Records:
    """Returns the triangle records, (n,) TRIANGLE_RECORD."""
    records = in_lines(len(surfaces.positions), TRIANGLE_RECORD)

    def set_piece(piece: Piece) -> None:
        own = slice(*piece)
        _set_records(records[own], surfaces, own)

    in_pieces(set_piece, len(records), RECORDS_PIECE)
    return records


def records_after(surfaces: SurfaceArrays, before: SurfaceArrays, known: Records) -> Records:
    """Returns what `pack_records` does, where the records of the scene at another time are known: of triangles that
    look as before they are copied."""
    if len(surfaces.material_ids) != len(known):  # some are shown at one time alone
        return pack_records(surfaces)
    differ = surfaces.material_ids != before.material_ids
    for now, then in ((surfaces.positions, before.positions), (surfaces.normals, before.normals)):
        differ |= (now.view(np.uint32) != then.view(np.uint32)).reshape(-1, 9).any(axis=1)
    records, changed = in_lines(len(known), TRIANGLE_RECORD), np.flatnonzero(differ)
    records[:] = known
    for piece in pieces(len(changed)):
        own = changed[piece]
        some = np.zeros(len(own), TRIANGLE_RECORD)
        _set_records(some, surfaces, own)
        records[own] = some
    return records


def _set_records(records: Records, surfaces: SurfaceArrays, piece: slice | npt.NDArray[np.intp]) -> None:
    """Writes the records of some triangles."""
    corners, ids = columns_of(surfaces.positions[piece]), surfaces.material_ids[piece]
    normals = column_normals(corners)
    lengths = column_lengths(normals)
    has_area = lengths > 0.0
    normals = np.where(has_area, normals / np.where(has_area, lengths, 1.0), [[0.0], [0.0], [1.0]])  # or else +z
    rows = np.ascontiguousarray(normals.T)
    records["normal"] = rows
    records["plane"] = column_dots(normals.astype(np.float32), corners.sum(axis=0) / 3.0)
    records["clearance"] = ORIGIN_OFFSET * largest_of_each(corners).astype(np.float32)
    records["kind"] = ids | surfaces.flags[ids]
    is_bent = largest_of_each(columns_of(surfaces.normals[piece]) - normals) > 1e-6  # by more than rounding
    records["kind"] |= np.where(is_bent, BENT, np.uint32(0))
    pack_units(rows, records["packed_front"])
    pack_units(-rows, records["packed_back"])


def largest_of_each(columns: Doubles) -> Doubles:
    """Returns the largest number by magnitude, (n,), of each triangle's nine. columns: (3, 3, n)."""
    largest: Doubles = np.abs(columns).reshape(9, -1).max(axis=0)
    return largest


def in_lines(count: int, record: np.dtype[np.void]) -> Records:
    """Returns zeros, (count,), the first one at the start of a line of the cache."""
    memory = np.zeros(count * record.itemsize + LINE_BYTES, np.uint8)
    first = -memory.ctypes.data % LINE_BYTES
    return memory[first : first + count * record.itemsize].view(record)


def pack_triangle_textures(surfaces: SurfaceArrays, kinds: npt.NDArray[np.uint32]) -> Records:
    """Returns the textures of triangles, (n,) TRIANGLE_TEXTURE, or none where no triangle is textured. kinds: of their
    records."""
    textured = np.flatnonzero(kinds & TEXTURED)
    packed = in_lines(len(kinds) if len(textured) else 0, TRIANGLE_TEXTURE)
    if not len(packed):
        return packed
    packed["uvs"] = surfaces.uvs
    packed["texels"], packed["sides"] = len(surfaces.textures.texels), 1 | 1 << HEIGHT_SHIFT
    textures = surfaces.materials["texture"][surfaces.material_ids[textured]]
    found = surfaces.textures.table[textures]
    packed["texels"][textured] = found[:, TEXTURE_OFFSET]
    packed["sides"][textured] = found[:, TEXTURE_WIDTH] | found[:, TEXTURE_HEIGHT] << HEIGHT_SHIFT
    return packed


def pack_texels(texels: Floats) -> npt.NDArray[np.uint32]:
    """Returns the texels, (t + 1,) uint32. Decoded bytes differ in their upper 16 bits, by which the byte is found
    again. Other numbers mean nothing here: MAPPED surfaces alone have them, which read the texels themselves.
    """
    codes = np.zeros(1 << 16, np.uint32)
    codes[DECODED.view(np.uint32) >> 16] = np.arange(256)
    red, green, blue = (codes[texels[:, channel].copy().view(np.uint32) >> 16] for channel in range(3))
    return np.append(red | green << 8 | blue << 16, np.uint32(0xFFFFFF))


def join_triangles(lights: LightArrays) -> tuple[Doubles, Doubles, Bools]:
    """Joins two triangles that make a parallelogram to one light.

    Most lamps are such squares; one light alone saves its photons the choice. Returns rows and probabilities of the
    lights, and which of them are parallelograms.
    """
    halves = are_halves(lights.rows)
    pairs = first_halves(halves)
    if not len(pairs):
        return lights.rows, lights.probability, np.zeros(len(lights.rows), np.bool_)
    stays, is_square = np.ones(len(halves), np.bool_), np.zeros(len(halves), np.bool_)
    stays[pairs + 1], is_square[pairs] = False, True
    rows, probability, squares = lights.rows[stays], lights.probability[stays], np.flatnonzero(is_square[stays])
    corners, k = light_corners(lights.rows[pairs]), np.arange(len(pairs))
    firsts = np.argmax(halves[pairs], axis=1)
    corner, following, preceding = (corners[(firsts + step) % 3, :, k] for step in (0, 1, 2))
    rows[squares, LIGHT_POSITION : LIGHT_POSITION + 3] = corner
    rows[squares, LIGHT_EDGE_1 : LIGHT_EDGE_1 + 3] = following - corner
    rows[squares, LIGHT_EDGE_2 : LIGHT_EDGE_2 + 3] = preceding - corner
    rows[squares, LIGHT_AREA] += lights.rows[pairs + 1, LIGHT_AREA]
    probability[squares] += lights.probability[pairs + 1]
    return rows, probability, is_square[stays]


def first_halves(halves: Bools) -> npt.NDArray[np.intp]:
    """Returns the lights that are joined to the next one. halves: see `are_halves`."""
    is_half, indices = halves.any(axis=1), np.arange(len(halves))
    before = np.maximum.accumulate(np.where(is_half, -1, indices))
    return np.flatnonzero(is_half & ((indices - before) % 2 == 1))  # the first, third, fifth... of each run


def are_halves(rows: Doubles) -> Bools:
    """Returns whether a light and the next one are halves of a parallelogram, (n, 3) bool.

    The column is that of the corner which, with its opposite, is in one half alone. The last light has no next one.
    """
    halves = np.zeros((len(rows), 3), np.bool_)
    for piece in pieces(len(rows) - 1):
        own = rows[piece.start : piece.stop + 1]
        here, there, columns = own[:-1], own[1:], [LIGHT_KIND, *STRENGTHS]
        alike = (here[:, LIGHT_KIND] == TRIANGLE) & (here[:, columns] == there[:, columns]).all(axis=1)
        corners, others = light_corners(here), light_corners(there)
        tolerance = 1e-6 * np.abs(corners).max(axis=(0, 1))
        opposite = [corners[(k + 1) % 3] + corners[(k + 2) % 3] - corners[k] for k in range(3)]
        same, across = (
            [[(np.abs(other - point) <= tolerance).all(axis=0) for other in others] for point in points]
            for points in (corners, opposite)
        )
        for first in range(3):
            found = halves[piece.start : piece.start + len(here), first]
            following, preceding = same[(first + 1) % 3], same[(first + 2) % 3]
            for k in range(3):  # which corner of the other is the opposite one
                found |= following[k - 1] & across[first][k] & preceding[(k + 1) % 3] & alike
    return halves


def light_corners(rows: Doubles) -> Doubles:
    """Returns the corners of lights that are triangles, (3, 3, n), corner by axis."""
    columns = rows[:, LIGHT_POSITION : LIGHT_EDGE_2 + 3].T.copy().reshape(3, 3, -1)
    columns[1:] += columns[0]
    return columns


def pack_emitters(rows: Doubles, probability: Doubles, is_square: Bools) -> Records:
    """(lights,) EMITTER."""
    emitters = np.zeros(len(rows), EMITTER)
    for piece in pieces(len(rows)):
        some, own = emitters[piece], rows[piece]
        columns, corners = np.ascontiguousarray(own[:, :LIGHT_OWN].T), light_corners(own)
        corner, edge_1, edge_2, strength, normal = (columns[c : c + 3] for c in range(LIGHT_POSITION, LIGHT_AREA, 3))
        kinds, is_outside = columns[LIGHT_KIND], np.isin(columns[LIGHT_KIND], numbers_of(Extent.OUTSIDE))
        reach = np.maximum(np.abs(corners).max(axis=(0, 1)), np.abs(corners[1] + edge_2).max(axis=0))
        share = np.where(probability[piece] > 0.0, probability[piece], 1.0)
        some["origin"] = (corner + normal * np.where(kinds == TRIANGLE, ORIGIN_OFFSET * reach, 0.0)).T
        some["edge_1"], some["edge_2"] = edge_1.T, edge_2.T
        some["normal"] = np.where(kinds == POINT, 0.0, normal).T
        some["size"] = np.where(is_outside, np.sqrt(columns[LIGHT_AREA] / math.pi), is_square[piece])
        some["flux"] = (powers_per_strength(own) / share * strength).T
    return emitters


def are_plain(rows: Doubles) -> Bools:
    """Returns whether lights are points or triangles, (n,) bool."""
    kinds = rows[:, LIGHT_KIND].copy()
    plain: Bools = (kinds == POINT) | (kinds == TRIANGLE)
    return plain


def pack_others(rows: Doubles, of_lights: Doubles) -> npt.NDArray[np.int32]:
    """`PhotonScene.others`. rows: of the emitters, of which those of other kinds are as they are in of_lights."""
    here = ~are_plain(rows)
    if not here.any():
        return np.empty(0, np.int32)
    others = np.full(len(rows), -1, np.int32)
    others[here] = np.flatnonzero(~are_plain(of_lights))
    return others


def pack_kinds(rows: Doubles) -> npt.NDArray[np.int32]:
    """`PhotonScene.kinds` of rows of the emitters."""
    is_plain = are_plain(rows)
    if is_plain.all():
        return np.empty(0, np.int32)
    numbers = rows[:, LIGHT_KIND].astype(np.int32)
    leaves = np.isin(numbers, [kind.number for kind in kinds_with("leave")])
    return np.select([is_plain, leaves], [PLAIN, numbers], BY_EMIT).astype(np.int32)


@compiled
def pack_units(vectors: Doubles, packed: npt.NDArray[np.uint32]) -> None:
    """Packs unit vectors, (n, 3) float64, as photons keep them, and writes them to `packed`."""
    for i in range(len(vectors)):
        packed[i] = pack_unit((vectors[i, 0], vectors[i, 1], vectors[i, 2]))
