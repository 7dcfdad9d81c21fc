"""This module writes what there is to know of the surfaces that rays have hit: where, their normals, and the numbers of
their BSDF, as textures, maps and functions of the user's own say."""

import numpy as np

from renderer.scene.materials import NUMBERS, BsdfTable
from renderer.scene.packed_scene import PackedScene
from renderer.scene.photon_scene import HAS_MEDIA, MAPPED, MATERIAL_MASK
from renderer.shading.chunks import (
    CORNERS_BYTES,
    LEAST_BENT_COSINE,
    RECORD_BYTES,
    RECORD_QUADS,
    TEXTURE_BYTES,
    TEXTURE_QUADS,
    Chunk,
    View,
)
from renderer.shading.corners import corners_normal, take_corners
from renderer.shading.maps import MapView, look_at_maps
from renderer.shading.queues import Queue
from renderer.shading.scattering import for_each_shader
from renderer.simd.columns import WORD_BYTES, column, column_bytes, get_int, in_advance, prefetch, put, set_column
from renderer.simd.loops import each, each_listed, whole
from renderer.simd.packing import fill_up, list_indices
from renderer.simd.rows import gather_columns
from shaders.float32 import ONE, ZERO, Int
from shaders.textures import images_of
from shaders.vector import along, chosen, dot, scale
from tracecore.compilation.cached import inlined
from tracecore.compilation.vector import address

#: What NUMBERS has last, behind the numbers of a BSDF, as if it were four more of them.
NUMBER_BYTES = NUMBERS.itemsize
LAST_QUAD = NUMBER_BYTES // 16 - 1


@inlined
def gather_records(records: int, chunk: Chunk, count: int) -> None:
    """Gather the triangle records of the hits. records: their address."""
    triangles = address(chunk.triangle)
    fill_up(triangles, count, Int(0))
    gather_columns(records, RECORD_BYTES, triangles, whole(count), (RECORD_QUADS, address(chunk.normal)))


@inlined
def list_textured(wanted: tuple[np.uint32, np.uint32], chunk: Chunk, hits: int) -> int:
    """List hits whose texture is looked at by texels, and their triangles. Returns how many they are.

    wanted: mask and bits of their words.
    """
    count = list_indices(address(chunk.kind), wanted, hits, address(chunk.textured))
    each_listed(take_triangle, whole(count), chunk)
    fill_up(address(chunk.textured_triangle), count, Int(0))
    return count


@inlined
def take_triangle(k: int, chunk: Chunk) -> None:
    """Write the triangle of a hit of the list `textured`."""
    chunk.textured_triangle[k] = get_int(address(chunk.triangle), chunk.textured[k])


@inlined
def gather_textures(textures: int, chunk: Chunk, count: int) -> None:
    """Gather the textures of the first `count` hits of the list `textured`. textures: their address."""
    columns = (TEXTURE_QUADS, address(chunk.uvs))
    gather_columns(textures, TEXTURE_BYTES, address(chunk.textured_triangle), whole(count), columns)


@inlined
def ask_for_rows(rows: int, row_bytes: int, indices: int, count: int) -> None:
    """Ask for rows of a table, of which no one knows whether the cache has them, so that they come while others work.

    indices: address of their numbers, int32.
    """
    for k in range(in_advance(count)):
        prefetch(rows + row_bytes * np.int64(get_int(indices, k)))


@inlined
def ask_for_normals(count: int, view: View) -> None:
    """Ask for the normals of the corners at the first `count` indices of the list `chunk.bent`."""
    bent, triangles = address(view.chunk.bent), address(view.chunk.triangle)
    for k in range(in_advance(count)):
        first = view.normals + CORNERS_BYTES * np.int64(get_int(triangles, get_int(bent, k)))
        prefetch(first)
        prefetch(first + CORNERS_BYTES - WORD_BYTES)


@inlined
def face(i: int, distance: float, chunk: Chunk) -> bool:
    """Write hit point and normal on the side of the ray's origin, by which it is shaded until a bent one is known.

    distance: of the point along the ray.
    Returns whether that side is the outer one, by the order of the triangle's corners.
    """
    ray, normal = column(chunk.ray, i), column(chunk.normal, i)
    position = along(column(chunk.origin, i), ray, distance)
    # Along the ray rounding takes the point off the triangle; back to its plane.
    position = along(position, normal, chunk.plane[i] - dot(normal, position))
    is_front = dot(normal, ray) <= ZERO
    normal = scale(normal, ONE if is_front else -ONE)
    set_column(chunk.position, i, position)
    set_column(chunk.normal, i, normal)
    set_column(chunk.shading, i, normal)
    chunk.is_outside[i] = Int(is_front)
    chunk.correction[i] = ONE
    return is_front


@inlined
def bend_normal(k: int, view: View) -> None:
    """Write the shading normal between those of the corners, or the flat one where that is seen from behind."""
    chunk = view.chunk
    i = get_int(address(chunk.bent), k)
    flat, ray, shading = column(chunk.normal, i), column(chunk.ray, i), corners_normal(i, chunk, view.normals)
    # Some files wind a triangle against its vertex normals: those then say which side is outside.
    outside = dot(flat, shading) >= ZERO
    shading = scale(shading, ONE if outside else -ONE)
    seen = dot(shading, ray) < -LEAST_BENT_COSINE  # else from behind the bent normal: only the flat one makes sense
    put(address(chunk.is_outside), i, Int(outside))
    put(address(chunk.correction), i, ONE if seen else ZERO)
    set_column(chunk.shading, i, chosen(seen, shading, flat))


@inlined
def gather_numbers(table: BsdfTable, queue: Queue, chunk: Chunk, hits: int) -> None:
    """Gather the numbers of the materials of all hits."""
    each(take_material, whole(hits), chunk)
    for quad in range(queue.quads):
        gather_quad(table, quad, chunk, hits)
    if queue.flags & (MAPPED | HAS_MEDIA):
        gather_quad(table, LAST_QUAD, chunk, hits)


@inlined
def gather_quad(table: BsdfTable, quad: int, chunk: Chunk, hits: int) -> None:
    """Gather four numbers of the materials of all hits."""
    rows, columns = address(table.numbers) + 16 * quad, address(chunk.parameters) + 4 * column_bytes() * quad
    gather_columns(rows, NUMBER_BYTES, address(chunk.material), whole(hits), ((0,), columns))


@inlined
def take_material(i: int, chunk: Chunk) -> None:
    """Write the index of a hit's material."""
    chunk.material[i] = Int(chunk.kind[i] & MATERIAL_MASK)


@inlined
def look_closely(scene: PackedScene, eyes: tuple[int, np.uint32], queue: Queue, chunk: Chunk, hits: int) -> None:
    """Multiply the numbers of the BSDF by their pictures, bend normals, and have functions of the user's own look.

    chunk: with the width of what each hit is seen by.
    eyes: AT_POINT or PHOTON_AT_POINT, and the bits of which MAPPED alone is set where maps look.
    queue: of the hits; where it asks for no numbers, no functions of the user's own look at any.
    """
    surfaces, maps = scene.surfaces, scene.maps
    count = list_indices(address(chunk.kind), (eyes[1], MAPPED), hits, address(chunk.mapped))
    each_listed(take_corners, whole(count), (chunk, address(surfaces.uvs)))
    places = (address(surfaces.positions), address(surfaces.normals))
    view = MapView(chunk, address(maps.records), images_of(surfaces.textures), address(maps.heights), *places)
    look_at_maps(maps.flags, maps.uses, view, count)
    if queue.quads > 0:
        for_each_shader(scene.bsdfs, eyes[0], chunk, hits)
