"""Loops over hits that know which media paths are in (`renderer.scene.media`), of photons and of eye paths alike."""

import numpy as np
from numba import types

from renderer.photons.batch import HIT_ID, PATH_MEDIA, Chunk
from renderer.photons.chunk_views import FATES, MISS_BIT, NO_FATE, View
from renderer.scene.media import NOTHING, MediaTables, index_inside, share_left, sides_of
from renderer.scene.photon_scene import INSIDE_OF_SOLIDS, MATERIAL_MASK, MIXED
from renderer.simd.columns import (
    column,
    each,
    get,
    get_int,
    get_word,
    list_indices,
    pack_columns,
    put,
    set_column,
    whole,
)
from shaders.compilation import compiled as inlined
from shaders.float32 import ZERO, Int
from shaders.vector import dot, multiply
from tracecore.compilation.units import unit
from tracecore.compilation.vector import address

#: A chunk, and the tables of media.
Inside = tuple[Chunk, MediaTables]


@inlined
def pick_media(words: int, view: View, counts: tuple[int, int]) -> None:
    """Write the stacks of the paths that were picked. words: which of a path's. counts: of hits, and of rays looked
    at."""
    triangles = view.hits + HIT_ID * view.step
    stacks = (view.paths + words * view.step,)
    pack_columns(triangles, (MISS_BIT, NO_FATE), counts[1], stacks, (address(view.chunk.media),))


@unit(types.none, need=INSIDE_OF_SOLIDS)
def absorb_flux(view: View, counts: tuple[int, int], tables: MediaTables) -> None:
    """Take from the photons of a chunk what was absorbed on their way. counts: of hits, and of rays looked at."""
    pick_media(PATH_MEDIA, view, counts)
    each(absorb_from_photon, whole(counts[0]), (view.chunk, tables))


@inlined
def absorb_from_photon(i: int, data: Inside) -> None:
    """Write the flux that comes to a hit, and what it was before."""
    chunk, tables = data
    flux = column(chunk.flux, i)
    set_column(chunk.unabsorbed, i, flux)
    set_column(chunk.flux, i, multiply(flux, share_left(chunk.media[i], chunk.distance[i], tables)))


@inlined
def weigh_absorption(i: int, chunk: Chunk) -> None:
    """Have Russian roulette decide on what was absorbed too: so the photons that go on stay equally strong."""
    weight, flux, before = column(chunk.weight, i), column(chunk.flux, i), column(chunk.unabsorbed, i)
    red = weight[0] * (flux[0] / before[0]) if before[0] > ZERO else ZERO
    green = weight[1] * (flux[1] / before[1]) if before[1] > ZERO else ZERO
    blue = weight[2] * (flux[2] / before[2]) if before[2] > ZERO else ZERO
    set_column(chunk.weight, i, (red, green, blue))
    set_column(chunk.flux, i, before)


@unit(types.none, need=INSIDE_OF_SOLIDS)
def look_at_borders(chunk: Chunk, hits: int, tables: MediaTables) -> None:
    """Write what bends light at the surfaces of a chunk's hits."""
    each(look_at_border, list_borders(chunk, hits), (chunk, tables))


@unit(types.none, need=INSIDE_OF_SOLIDS)
def go_through_borders(chunk: Chunk, hits: int, tables: MediaTables) -> None:
    """Write the stacks of the paths that leave a chunk's hits, whose directions are known."""
    each(go_through, list_borders(chunk, hits), (chunk, tables))


@inlined
def list_borders(chunk: Chunk, hits: int) -> int:
    """List the hits that may be borders. Returns how many they are, rounded up to whole vectors."""
    return whole(list_indices(address(chunk.kind), (MIXED, MIXED), hits, address(chunk.lobes)))


@inlined
def look_at_border(k: int, data: Inside) -> None:
    """Write the index inside of a border over that outside of it, by what counts on both sides."""
    chunk, tables = data
    i = get_int(address(chunk.lobes), k)
    medium, _, (inner, outer) = border_at(i, data)
    ior = index_inside(inner, outer, tables)
    put(address(chunk.ior), i, get(address(chunk.ior), i) if medium == NOTHING else ior)


@inlined
def go_through(k: int, data: Inside) -> None:
    """Write the stack of the path that leaves a hit."""
    chunk, _ = data
    i = get_int(address(chunk.lobes), k)
    medium, is_outside, (inner, outer) = border_at(i, data)
    is_through = (dot(column(chunk.wi, i), column(chunk.normal, i)) < ZERO) & (medium != NOTHING)
    behind = inner if is_outside else outer
    put(address(chunk.media), i, behind if is_through else get_word(address(chunk.media), i))


@inlined
def border_at(i: int, data: Inside) -> tuple[int, bool, tuple[np.uint32, np.uint32]]:
    """Returns the medium inside of the surface of a hit, whether the path comes from outside, and the stacks inside and
    outside."""
    chunk, tables = data
    material = Int(get_word(address(chunk.kind), i) & MATERIAL_MASK)
    medium, is_outside = get_int(tables.of_materials, material), get_int(address(chunk.is_outside), i) != Int(0)
    return medium, is_outside, sides_of(get_word(address(chunk.media), i), medium, is_outside)


@inlined
def keep_media(view: View, hits: int) -> None:
    """Move the stacks of the photons that go on behind those before."""
    chunk = view.chunk
    kept = (view.kept_paths + PATH_MEDIA * view.step,)
    pack_columns(address(chunk.counters), (FATES, NO_FATE), hits, (address(chunk.media),), kept)
