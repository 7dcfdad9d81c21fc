"""The first stage of shading: rays that hit something, side by side, with the triangles and materials that they hit."""

import numpy as np

from renderer.photons.batch import HIT_ID, PATH_DEPTH, PATH_FLUX, RAY_DIRECTION, Chunk
from renderer.photons.chunk_views import (
    CORNERS_BYTES,
    FLAT_QUADS,
    MISS_BIT,
    NO_FATE,
    RECORD_BYTES,
    RECORD_QUADS,
    START_DEPTH,
    TEXTURE_BYTES,
    TEXTURE_QUADS,
    Span,
    View,
)
from renderer.scene.photon_scene import BENT, LISTED, MIXED, TEXTURED
from renderer.simd.columns import (
    COLUMN_BYTES,
    ELEMENTS,
    WORD_BYTES,
    column_of,
    each,
    get_int,
    pack_chunk,
    pack_columns,
    pack_numbered,
    prefetch,
    put,
    set_column,
    three,
    whole,
)
from renderer.simd.rows import gather_columns
from shaders.compilation import compiled as inlined
from shaders.float32 import Int
from shaders.vector import Vec3
from tracecore.compilation.vector import address


@inlined
def pick_hits(flags: np.uint32, view: View, count: int) -> tuple[int, int]:
    """Write rays that hit something, and their paths, side by side to the chunk until it is full. Returns how many they
    are, and how many rays were looked at.
    """
    chunk, step = view.chunk, view.step
    rays, triangles, depth = view.rays, view.hits + HIT_ID * step, view.paths + PATH_DEPTH * step
    sources = (
        (view.hits, triangles, view.paths, depth)
        + three(rays, step)
        + three(rays + RAY_DIRECTION * step, step)
        + three(view.paths + PATH_FLUX * step, step)
    )
    targets = (
        (address(chunk.distance), address(chunk.triangle), address(chunk.photon), address(chunk.depth))
        + column_of(chunk.origin)
        + column_of(chunk.ray)
        + column_of(chunk.flux)
    )
    found = (MISS_BIT, NO_FATE)
    if flags & (TEXTURED | BENT | LISTED):
        uv = (view.hits + step, view.hits + 2 * step)
        chunk_uv = (address(chunk.uv), address(chunk.uv) + COLUMN_BYTES)
        return pack_chunk(triangles, found, count, sources + uv, targets + chunk_uv)
    return pack_chunk(triangles, found, count, sources, targets)


@inlined
def pick_fresh(flags: np.uint32, view: View, span: Span) -> tuple[int, int]:
    """Do as `pick_hits` does for photons on their first ray, and return the same.

    Only the flux may be in columns, where there are several lights. What all have in common is not written where
    `bounce_first` knows it.
    """
    chunk, step, found = view.chunk, view.step, (MISS_BIT, NO_FATE)
    rays, triangles, numbers = view.rays, view.hits + HIT_ID * step, (span.photon, address(chunk.photon))
    sources = (view.hits, triangles) + three(rays, step) + three(rays + RAY_DIRECTION * step, step)
    targets = (address(chunk.distance), address(chunk.triangle)) + column_of(chunk.origin) + column_of(chunk.ray)
    if flags & (TEXTURED | BENT | LISTED):
        uv = (view.hits + step, view.hits + 2 * step)
        chunk_uv = (address(chunk.uv), address(chunk.uv) + COLUMN_BYTES)
        hits, taken = pack_numbered(triangles, found, span.rays, numbers, (sources + uv, targets + chunk_uv))
    else:
        hits, taken = pack_numbered(triangles, found, span.rays, numbers, (sources, targets))
    if not span.is_alike:
        each(take_first_step, whole(hits), chunk)
        flux = three(view.paths + PATH_FLUX * step, step)
        pack_columns(triangles, found, taken, flux, column_of(chunk.flux))
    elif flags & (TEXTURED | BENT | MIXED):
        each(take_first_step, whole(hits), chunk)
        each(carry_flux, whole(hits), (chunk, span.flux))
    return hits, taken


@inlined
def take_first_step(i: int, chunk: Chunk) -> None:
    """Write the depth of a fresh photon."""
    chunk.depth[i] = START_DEPTH


@inlined
def carry_flux(i: int, data: tuple[Chunk, Vec3]) -> None:
    """Write the flux of a fresh photon of the only light."""
    set_column(data[0].flux, i, data[1])


@inlined
def gather_records(flags: np.uint32, records: int, chunk: Chunk, count: int) -> None:
    """Gather the triangle records of the hits.

    flags: all that triangle records have.
    records: their address.
    """
    triangles = address(chunk.triangle)
    for i in range(ELEMENTS):
        put(triangles, count + i, Int(0))
    columns = address(chunk.normal)
    if flags & MIXED:
        gather_columns(records, RECORD_BYTES, triangles, whole(count), (RECORD_QUADS, columns))
    else:
        gather_columns(records, RECORD_BYTES, triangles, whole(count), (FLAT_QUADS, columns))


@inlined
def ask_for_rows(rows: int, row_bytes: int, indices: int, count: int) -> None:
    """Ask for rows of a table, of which no one knows whether the cache has them, so that they come while others work.

    indices: address of their numbers, int32.
    """
    for k in range(count):
        prefetch(rows + row_bytes * np.int64(get_int(indices, k)))


@inlined
def ask_for_normals(count: int, view: View) -> None:
    """Ask for the normals of the corners at the first `count` indices of the list `chunk.bent`."""
    bent, triangles = address(view.chunk.bent), address(view.chunk.triangle)
    for k in range(count):
        first = view.normals + CORNERS_BYTES * np.int64(get_int(triangles, get_int(bent, k)))
        prefetch(first)
        prefetch(first + CORNERS_BYTES - WORD_BYTES)


@inlined
def gather_textures(textures: int, chunk: Chunk, count: int) -> None:
    """Gather the textures of the triangles that were hit. textures: their address."""
    columns = (TEXTURE_QUADS, address(chunk.uvs))
    gather_columns(textures, TEXTURE_BYTES, address(chunk.triangle), whole(count), columns)
