"""Loops over hits that know which media paths are in (`renderer.scene.media`), of photons and of eye paths alike."""

from typing import NamedTuple

import numpy as np
from numba import types

from renderer.photons.batch import (
    PATH_DEPTH,
    PATH_FLUX,
    PATH_MEDIA,
    PATH_PHOTON,
    Chunk,
    PhotonBatch,
    PhotonTask,
)
from renderer.scene.media import (
    NOTHING,
    Media,
    MediaTables,
    absorption_of,
    index_inside,
    share_left,
    sides_of,
    tables_of,
)
from renderer.scene.photon_scene import INSIDE_OF_FOG, INSIDE_OF_SOLIDS, MATERIAL_MASK
from renderer.shading.chunks import View
from renderer.shading.collisions import Flight, collide
from renderer.simd.columns import WORD_BYTES, column, column_words, get, get_int, get_word, in_chunk, put, set_column
from renderer.simd.loops import each, each_ray, whole
from renderer.simd.packing import pack_columns
from shaders.float32 import ZERO, Int
from shaders.random import STREAM_MEDIUM, Bits4, hash4, hash_key
from shaders.vector import Vec3, dot, multiply
from tracecore.compilation.borrowing import borrowed
from tracecore.compilation.cached import inlined
from tracecore.compilation.units import unit
from tracecore.compilation.vector import address

#: A chunk, and the tables of media.
Inside = tuple[Chunk, MediaTables]


class PhotonFlight(NamedTuple):
    """Says which rays of a batch of photons may collide. paths: address of their rows. key: of their numbers.

    fresh: from which ray on they are of photons on their first one, of which `photon` is the first.
    """

    flight: Flight
    paths: int
    key: Bits4
    fresh: np.int32
    photon: np.uint32


@unit(types.none, need=INSIDE_OF_FOG)
def collide_photons(media: Media, task: PhotonTask, batch: PhotonBatch, count: int) -> None:
    """Have the first `count` rays of a batch collide with particles of the media that they are in."""
    step, paths = WORD_BYTES * batch.rays.shape[1], address(batch.paths)
    carried = paths + PATH_FLUX * step
    flight = Flight(address(batch.hits), paths + PATH_MEDIA * step, carried, step, count, tables_of(borrowed(media)))
    key, fresh = hash_key(task.seed, task.sequence, STREAM_MEDIUM), batch.fresh
    data = PhotonFlight(flight, paths, key, np.int32(fresh[0]), np.uint32(fresh[1] - fresh[0]))
    each_ray(collide_photon, whole(count), data)


@inlined
def collide_photon(i: int, data: PhotonFlight) -> None:
    """Have a ray collide, or not. Its numbers are those of its photon and depth."""
    step, is_fresh = data.flight.step, Int(i) >= data.fresh
    photon, depth = get_word(data.paths + PATH_PHOTON * step, i), get_word(data.paths + PATH_DEPTH * step, i)
    photon = np.uint32(data.photon + np.uint32(i)) if is_fresh else photon
    bits = hash4(data.key, photon, np.uint32(0) if is_fresh else depth)
    collide(i, (bits[0], bits[1]), data.flight)


@inlined
def pick_media(word: int, wanted: tuple[np.uint32, np.uint32], view: View, counts: tuple[int, int]) -> None:
    """Write the stacks of the paths that were picked. word: which of a path's.
    wanted: of those picked, see `renderer.shading.queues.Queue`. counts: of hits, and of rays looked at."""
    stacks = (view.paths + word * view.step,)
    pack_columns(view.words, wanted, counts[1], stacks, (address(view.chunk.media),))


@unit(types.none, need=INSIDE_OF_SOLIDS)
def absorb_flux(wanted: tuple[np.uint32, np.uint32], view: View, counts: tuple[int, int], tables: MediaTables) -> None:
    """Take from the photons of a chunk what was absorbed on their way. For the arguments see `pick_media`."""
    pick_media(PATH_MEDIA, wanted, view, counts)
    each(absorb_from_photon, whole(counts[0]), (view.chunk, tables))


@inlined
def absorb_from_photon(i: int, data: Inside) -> None:
    """Write the flux that comes to a hit, and what it was before."""
    chunk, tables = data
    flux = column(chunk.flux, i)
    set_column(chunk.unabsorbed, i, flux)
    left = share_left(absorption_of(chunk.media[i], tables), chunk.distance[i])
    set_column(chunk.flux, i, multiply(flux, left))


@unit(types.none, need=INSIDE_OF_SOLIDS)
def look_at_borders(chunk: Chunk, hits: int, tables: MediaTables) -> None:
    """Have BSDFs bend light by what counts on both sides of the surfaces of a chunk's hits."""
    each(look_at_border, whole(hits), (chunk, tables))


@unit(types.none, need=INSIDE_OF_SOLIDS)
def go_through_borders(chunk: Chunk, hits: int, tables: MediaTables) -> None:
    """Write the stacks of the paths that leave a chunk's hits, whose directions are known."""
    each(go_through, whole(hits), (chunk, tables))


@inlined
def look_at_border(i: int, data: Inside) -> None:
    """Write the index inside of a border over that outside of it, by what counts on both sides."""
    chunk, tables = data
    medium, _, (inner, outer) = border_at(i, data)
    number = chunk.ior_number[i]
    place = Int(Int(max(number, Int(0)) * Int(column_words())) + Int(i))
    own = get(address(chunk.parameters), place)
    is_border = (medium != NOTHING) & (number >= Int(0))
    put(address(chunk.parameters), place, index_inside(inner, outer, tables) if is_border else own)


@inlined
def go_through(i: int, data: Inside) -> None:
    """Write the stack of the path that leaves a hit."""
    chunk, _ = data
    chunk.media[i] = stack_towards(i, column(chunk.wi, i), data)


@inlined
def stack_towards(i: int, direction: Vec3, data: Inside) -> np.uint32:
    """Returns the stack of a ray that leaves a hit in a direction: that of the path, or what is behind the border."""
    chunk, _ = data
    medium, is_outside, (inner, outer) = border_at(i, data)
    stack, behind = chunk.media[i], inner if is_outside else outer
    is_through = (dot(direction, column(chunk.normal, i)) < ZERO) & (medium != NOTHING)
    return behind if is_through else stack


@inlined
def border_at(i: int, data: Inside) -> tuple[int, bool, tuple[np.uint32, np.uint32]]:
    """Returns the medium inside of a hit's surface, whether the path comes from outside, and both sides' stacks."""
    chunk, tables = data
    material = Int(get_word(address(chunk.kind), i) & MATERIAL_MASK)
    medium, is_outside = get_int(tables.of_materials, material), get_int(address(chunk.is_outside), i) != Int(0)
    return medium, is_outside, sides_of(get_word(address(chunk.media), i), medium, is_outside)


@inlined
def keep_media(word: int, fates: int, wanted: tuple[np.uint32, np.uint32], view: View, hits: int) -> None:
    """Move the stacks of the paths that go on behind those before. word: which of a path's.
    fates: address of the column that says which go on. wanted: the bits of it that count, and what they are then."""
    kept = (view.kept_paths + word * view.step,)
    pack_columns(fates, wanted, in_chunk(hits), (address(view.chunk.media),), kept)
