"""This module says what is inside of solids that let light through, and which of them a point is in.

A path carries a word, its stack: the media that it is in, a byte each, the one that it entered last in the lowest. More
than four do not fit: the one that it entered first is forgotten then. Of the media of a stack one counts: that of the
highest priority, of equal ones the one that was entered last. Both are after Schmidt, Budge: Simple Nested Dielectrics
in Ray Traced Images, 2002: a border is seen by what counts on its two sides, so that one inside of a solid of higher
priority is not there.
"""

from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt

from renderer.errors import UsageError
from renderer.simd.columns import get, get3
from scenes.model import Camera, Material, Snapshot
from shaders.compilation import compiled as inlined
from shaders.elementary import exp2
from shaders.float32 import Int
from shaders.lights.kind import Extent
from shaders.lights.registry import numbers_of
from shaders.lights.row import LIGHT_EDGE_1, LIGHT_EDGE_2, LIGHT_KIND, LIGHT_NORMAL, LIGHT_POSITION
from shaders.surface import ORIGIN_OFFSET, SurfaceArrays
from shaders.vector import Color, Vec3
from tracecore.compilation.vector import address

Doubles = npt.NDArray[np.float64]
Longs = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

#: A stack has a byte for each of four media.
MEDIUM_BITS, MEDIUM_MASK, STACK_MEDIA, EMPTY_STACK = np.uint32(8), np.uint32(0xFF), 4, np.uint32(0)

#: Rows of the table of media, of so many columns, one for each byte.
MEDIUM_ABSORPTION, MEDIUM_IOR, MEDIUM_PRIORITY, MEDIUM_EXTINCTION = 0, 3, 4, 5
MEDIUM_MEAN_COSINE, MEDIUM_ROWS, MEDIA = 8, 9, 256
ROW_BYTES = 4 * MEDIA

#: Empty space is none of the media, and has the lowest priority.
NOTHING = Int(0)
EMPTY = (0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0)
#: What no triangle record stands for.
CLEAR = Int(-1)

#: Absorption is kept in halvings, of which a factor of e has so many.
HALVINGS = np.log2(np.e)

#: Axes of a frame whose third one, along which borders are counted, is not parallel to what people build.
_Z = np.array([0.3217, 0.5394, 0.7782]) / np.linalg.norm([0.3217, 0.5394, 0.7782])
_Y = np.cross(_Z, [1.0, 0.0, 0.0]) / np.linalg.norm(np.cross(_Z, [1.0, 0.0, 0.0]))
AXES = np.array([np.cross(_Y, _Z), _Y, _Z])


class Media(NamedTuple):
    """Holds the media of a scene. Where nothing absorbs, scatters or has a priority there are none, and no path asks.

    table: (MEDIUM_ROWS, MEDIA) float32: by channel, in halvings per world unit, what paths lose by absorption, which is
        0 where collisions decide (`renderer.shading.collisions`); refractive index; priority; what shadow rays lose;
        mean cosine of what scatters.
    fogs: (MEDIA,) int32, the triangle record that stands for points in a medium which scatters, CLEAR of all others.
    of_materials: (m,) int32, the medium inside of solids of each material, NOTHING where there is none.
    lamps: (emitters,) uint32, the stacks in which photons leave the emitters of `PhotonScene`.
    eye: the stack of the camera.
    """

    table: npt.NDArray[np.float32]
    fogs: npt.NDArray[np.int32]
    of_materials: npt.NDArray[np.int32]
    lamps: npt.NDArray[np.uint32]
    eye: np.uint32


class MediaTables(NamedTuple):
    """Has the addresses of what `Media` has by these names."""

    table: int
    fogs: int
    of_materials: int


NO_MEDIA = Media(
    table=np.zeros((MEDIUM_ROWS, MEDIA), np.float32),
    fogs=np.full(MEDIA, CLEAR, np.int32),
    of_materials=np.zeros(0, np.int32),
    lamps=np.zeros(0, np.uint32),
    eye=EMPTY_STACK,
)


class Fog(NamedTuple):
    """Says how a medium scatters: absorption and scattering, 1/m, and the mean cosine."""

    absorption: Color
    scattering: Color
    mean_cosine: float

    @classmethod
    def of(cls, material: Material) -> Self:
        """Returns that of the inside of a material."""
        return cls(material.absorption, material.scattering, material.mean_cosine)


def fogs_of(snapshot: Snapshot, insides: Sequence[float | None]) -> list[Fog]:
    """Returns how the media of a scene scatter, but for those that do not. insides: as of `pack_media`."""
    used = [k for k in np.unique(snapshot.material_ids).tolist() if insides[k] is not None]
    return list(dict.fromkeys(Fog.of(snapshot.materials[k]) for k in used if any(snapshot.materials[k].scattering)))


def pack_media(snapshot: Snapshot, surfaces: SurfaceArrays, insides: Sequence[float | None], lights: Doubles) -> Media:
    """Returns the media of a scene, NO_MEDIA where paths need not know them. Those with the same numbers are one.

    A material that has the numbers of empty space is none: sheets that neither bend nor absorb are often open, so that
    paths enter them and never leave.

    insides: the refractive index inside of each material that lets light through, None of the others.
    lights: (emitters, LIGHT_COLUMNS), of which two triangles that make a parallelogram are one.

    Raises `UsageError` where there are more media than a byte can tell apart.
    """
    fogs = fogs_of(snapshot, insides)
    solids, records = np.full((len(insides), MEDIUM_ROWS), EMPTY), np.full(len(insides), CLEAR)
    for k in np.unique(snapshot.material_ids).tolist():
        material, ior = snapshot.materials[k], insides[k]
        if ior is not None:
            is_fog = any(material.scattering)
            extinction = np.add(material.absorption, material.scattering)
            absorption, g = ((0.0, 0.0, 0.0), material.mean_cosine) if is_fog else (extinction, 0.0)
            solids[k] = (*absorption, ior, material.priority, *extinction, g)
            records[k] = len(surfaces.positions) + fogs.index(Fog.of(material)) if is_fog else CLEAR
    if not solids[:, [MEDIUM_PRIORITY, *range(MEDIUM_EXTINCTION, MEDIUM_MEAN_COSINE)]].any():
        return NO_MEDIA
    distinct, firsts, rows = np.unique(
        np.column_stack([solids, records]), axis=0, return_index=True, return_inverse=True
    )
    if len(distinct) >= MEDIA:
        raise UsageError(
            f"{len(distinct)} materials that let light through differ in absorption, scattering, ior or priority; "
            f"expected at most {MEDIA - 1} where some absorb or have a priority: give some of them the same numbers"
        )
    table, fog_records = NO_MEDIA.table.copy(), NO_MEDIA.fogs.copy()
    table[:, 1 : 1 + len(distinct)], fog_records[1 : 1 + len(distinct)] = solids[firsts].T, records[firsts]
    for first in (MEDIUM_ABSORPTION, MEDIUM_EXTINCTION):
        table[first : first + 3] *= HALVINGS
    table[MEDIUM_IOR, NOTHING], table[MEDIUM_PRIORITY, NOTHING] = 1.0, -np.inf
    of_materials = np.where((solids == EMPTY).all(axis=1), NOTHING, 1 + rows.ravel()).astype(np.int32)
    *lamps, eye = stacks_at(np.vstack([starts_of(lights), start_of(snapshot.camera)]), surfaces, of_materials)
    is_outside = np.isin(lights[:, LIGHT_KIND], numbers_of(Extent.OUTSIDE))
    return Media(table, fog_records, of_materials, np.where(is_outside, EMPTY_STACK, np.array(lamps, np.uint32)), eye)


def start_of(camera: Camera) -> Doubles:
    """Returns where a camera begins to see, (3,): the middle of its lens, or what of its near plane lies before it."""
    return np.array(camera.eye) + camera.near * np.array(camera.forward)


def starts_of(lights: Doubles) -> Doubles:
    """Returns a point from which each light shines, (n, 3): of a surface, a point just off it."""
    starts = lights[:, LIGHT_POSITION : LIGHT_POSITION + 3].copy()
    is_surface = np.isin(lights[:, LIGHT_KIND], numbers_of(Extent.SURFACE))
    edges, normals = (lights[:, first : first + 3][is_surface] for first in (LIGHT_EDGE_1, LIGHT_NORMAL))
    starts[is_surface] += (edges + lights[is_surface, LIGHT_EDGE_2 : LIGHT_EDGE_2 + 3]) / 3.0
    starts[is_surface] += ORIGIN_OFFSET * np.abs(starts[is_surface]).max(axis=1, initial=0.0, keepdims=True) * normals
    return starts


def stacks_at(points: Doubles, surfaces: SurfaceArrays, of_materials: npt.NDArray[np.int32]) -> npt.NDArray[np.uint32]:
    """Returns the stacks of points (n, 3): on a line that leads away, solids that it leaves without having entered
    them, the first one on top.

    of_materials: see `Media`.
    """
    media = of_materials[surfaces.material_ids]
    borders = np.flatnonzero(media)
    media, normals = media[borders], surfaces.normals[borders] @ AXES.T
    corners = surfaces.positions[borders] @ AXES.T
    low, high = corners.min(axis=1), corners.max(axis=1)
    stacks = np.zeros(len(points), np.uint32)
    for k, point in enumerate(points @ AXES.T):
        near = np.flatnonzero(((low <= point) | [False, False, True]).all(axis=1) & (point <= high).all(axis=1))
        distances, is_front, crossed = crossings(corners[near] - point, normals[near])
        order = np.argsort(distances)
        entered: list[int] = []
        stack: list[int] = []
        for medium, is_entered in zip(media[near][crossed][order].tolist(), is_front[order].tolist(), strict=True):
            if is_entered:
                entered.append(medium)
            elif medium in entered:
                entered.remove(medium)
            else:
                stack.append(medium)
        stacks[k] = sum(medium << int(MEDIUM_BITS) * place for place, medium in enumerate(stack[:STACK_MEDIA]))
    return stacks


def crossings(corners: Doubles, normals: Doubles) -> tuple[Doubles, Bools, Longs]:
    """Returns where the third axis crosses triangles: distances > 0, whether it comes to their fronts, and which they
    are.

    corners, normals: (n, 3, 3), of the corners. Where the normals are against the winding, they say which side is the
    front.
    """
    a, b, c = corners[:, 0], corners[:, 1], corners[:, 2]
    weights = np.stack([across(b, c), across(c, a), across(a, b)], axis=1)
    area = weights.sum(axis=1)
    crossed = np.flatnonzero((weights * np.sign(area)[:, None] >= 0.0).all(axis=1) & (area != 0.0))
    weights = weights[crossed] / area[crossed, None]
    distances = np.einsum("nk,nk->n", weights, corners[crossed, :, 2])
    crossed, weights, distances = (one[distances > 0.0] for one in (crossed, weights, distances))
    winding = np.cross(b[crossed] - a[crossed], c[crossed] - a[crossed])
    is_wound = np.einsum("nk,nki,ni->n", weights, normals[crossed], winding) >= 0.0
    return distances, (winding[:, 2] <= 0.0) == is_wound, crossed


def across(a: Doubles, b: Doubles) -> Doubles:
    """Returns the third component of a x b, (n,)."""
    return a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]


@inlined
def tables_of(media: Media) -> MediaTables:
    """Returns where the tables are."""
    return MediaTables(address(media.table), address(media.fogs), address(media.of_materials))


@inlined
def higher(below: int, above: int, tables: MediaTables) -> int:
    """Returns which of two media counts, of which the first was entered last."""
    priorities = tables.table + MEDIUM_PRIORITY * ROW_BYTES
    return above if get(priorities, above) > get(priorities, below) else below


@inlined
def counting_medium(stack: np.uint32, tables: MediaTables) -> int:
    """Returns which medium of a stack counts."""
    first, second = Int(stack & MEDIUM_MASK), Int(np.uint32(stack >> MEDIUM_BITS) & MEDIUM_MASK)
    third, fourth = Int(np.uint32(stack >> np.uint32(16)) & MEDIUM_MASK), Int(stack >> np.uint32(24))
    return higher(higher(higher(first, second, tables), third, tables), fourth, tables)


@inlined
def share_left(loss: Vec3, distance: float) -> Color:
    """Returns the share of light that is left after a distance, by Beer's law. loss: in halvings per world unit."""
    return (exp2(-loss[0] * distance), exp2(-loss[1] * distance), exp2(-loss[2] * distance))


@inlined
def absorption_of(stack: np.uint32, tables: MediaTables) -> Vec3:
    """Returns what paths lose by absorption in the medium that counts, in halvings per world unit."""
    return get3(tables.table, ROW_BYTES, counting_medium(stack, tables))


@inlined
def extinction_of(medium: int, tables: MediaTables) -> Vec3:
    """Returns what shadow rays lose in a medium, in halvings per world unit."""
    return get3(tables.table + MEDIUM_EXTINCTION * ROW_BYTES, ROW_BYTES, medium)


@inlined
def mean_cosine_of(medium: int, tables: MediaTables) -> float:
    """Returns the mean cosine of what a medium scatters."""
    return get(tables.table + MEDIUM_MEAN_COSINE * ROW_BYTES, medium)


@inlined
def index_of(stack: np.uint32, tables: MediaTables) -> float:
    """Returns the refractive index of the medium that counts."""
    return get(tables.table + MEDIUM_IOR * ROW_BYTES, counting_medium(stack, tables))


@inlined
def entered(stack: np.uint32, medium: int) -> np.uint32:
    """Returns the stack behind a border, inside of a medium."""
    return np.uint32(np.uint32(stack << MEDIUM_BITS) | np.uint32(medium))


@inlined
def left(stack: np.uint32, medium: int) -> np.uint32:
    """Returns a stack without a medium, where it was entered last; the stack itself if it is not in it."""
    word = np.uint32(medium)
    first, second = stack & MEDIUM_MASK, np.uint32(stack >> MEDIUM_BITS) & MEDIUM_MASK
    third, fourth = np.uint32(stack >> np.uint32(16)) & MEDIUM_MASK, np.uint32(stack >> np.uint32(24))
    below = np.uint32(stack >> MEDIUM_BITS)
    without = np.uint32(stack & np.uint32(0xFFFFFF)) if fourth == word else stack
    without = np.uint32((stack & np.uint32(0xFFFF)) | (below & np.uint32(0xFF0000))) if third == word else without
    without = np.uint32((stack & np.uint32(0xFF)) | (below & np.uint32(0xFFFF00))) if second == word else without
    return below if first == word else without


@inlined
def sides_of(stack: np.uint32, medium: int, is_outside: bool) -> tuple[np.uint32, np.uint32]:
    """Returns the stacks inside and outside of a border, of which a ray comes to one side.

    stack: of the ray. One that comes from inside of what it never entered has been in there.
    medium: inside of the border.
    is_outside: whether the ray comes from outside.
    """
    without = left(stack, medium)
    inner = entered(stack, medium) if is_outside | (without == stack) else stack
    return inner, stack if is_outside else without


@inlined
def index_inside(inner: np.uint32, outer: np.uint32, tables: MediaTables) -> float:
    """Returns the index inside of a border over that outside of it: exactly 1 where the border is not there."""
    return index_of(inner, tables) / index_of(outer, tables)
