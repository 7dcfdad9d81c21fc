"""The first stage of shading photons: rays that hit something, side by side, with their paths."""

import numpy as np

from renderer.photons.batch import PATH_DEPTH, PATH_FLUX, Chunk
from renderer.photons.chunk_views import START_DEPTH
from renderer.scene.photon_scene import BENT, MAPPED, TEXTURED
from renderer.shading.chunks import HIT_ID, RAY_DIRECTION, View
from renderer.shading.queues import Queue
from renderer.simd.columns import (
    COLUMN_BYTES,
    column_of,
    each,
    pack_chunk,
    pack_columns,
    pack_numbered,
    set_column,
    three,
    whole,
)
from shaders.compilation import compiled as inlined
from shaders.vector import Vec3
from tracecore.compilation.vector import address

#: Surfaces that are looked at where a ray meets their triangle.
WITH_UV = np.uint32(TEXTURED | BENT | MAPPED)


@inlined
def pick_hits(queue: Queue, view: View, count: int) -> tuple[int, int]:
    """Write rays of a queue, and their paths, side by side to the chunk until it is full. Returns how many they are,
    and how many rays were looked at."""
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
    if queue.flags & WITH_UV:
        uv = (view.hits + step, view.hits + 2 * step)
        chunk_uv = (address(chunk.uv), address(chunk.uv) + COLUMN_BYTES)
        return pack_chunk(view.words, queue.wanted, count, sources + uv, targets + chunk_uv)
    return pack_chunk(view.words, queue.wanted, count, sources, targets)


@inlined
def pick_fresh(queue: Queue, view: View, rays: tuple[int, int], alike: tuple[bool, Vec3]) -> tuple[int, int]:
    """Do as `pick_hits` does for photons on their first ray, and return the same.

    rays: the photon of the first one, and how many they are.
    alike: whether all fresh photons carry the same flux, and which; else it is in columns.
    """
    (photon, count), (is_alike, only_flux) = rays, alike
    chunk, step, numbers = view.chunk, view.step, (photon, address(view.chunk.photon))
    origins, directions = three(view.rays, step), three(view.rays + RAY_DIRECTION * step, step)
    sources = (view.hits, view.hits + HIT_ID * step) + origins + directions
    targets = (address(chunk.distance), address(chunk.triangle)) + column_of(chunk.origin) + column_of(chunk.ray)
    if queue.flags & WITH_UV:
        uv = (view.hits + step, view.hits + 2 * step)
        chunk_uv = (address(chunk.uv), address(chunk.uv) + COLUMN_BYTES)
        columns = (sources + uv, targets + chunk_uv)
        hits, taken = pack_numbered(view.words, queue.wanted, count, numbers, columns)
    else:
        hits, taken = pack_numbered(view.words, queue.wanted, count, numbers, (sources, targets))
    each(take_first_step, whole(hits), chunk)
    if is_alike:
        each(carry_flux, whole(hits), (chunk, only_flux))
    else:
        flux = three(view.paths + PATH_FLUX * step, step)
        pack_columns(view.words, queue.wanted, taken, flux, column_of(chunk.flux))
    return hits, taken


@inlined
def take_first_step(i: int, chunk: Chunk) -> None:
    """Write the depth of a fresh photon."""
    chunk.depth[i] = START_DEPTH


@inlined
def carry_flux(i: int, data: tuple[Chunk, Vec3]) -> None:
    """Write the flux of a fresh photon of the only light."""
    set_column(data[0].flux, i, data[1])
