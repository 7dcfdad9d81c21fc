"""This module sorts the rays of a batch by the BSDF of what they hit, as wavefront path tracers do: all hits of a chunk
then have the same one, and its loops run over columns as they lie.

Laine, Karras, Aila: Megakernels Considered Harmful: Wavefront Path Tracing on GPUs, 2013.
"""

from typing import NamedTuple

import numpy as np

from renderer.scene.materials import BsdfTable
from renderer.scene.packed_scene import PackedScene
from renderer.shading.chunks import ALL_BITS, MISS_BIT, NO_BITS
from renderer.simd.columns import each, get_int, get_word, put, whole
from shaders.compilation import compiled as inlined
from shaders.float32 import Int
from tracecore.compilation.vector import address

#: Bits of a byte.
BYTE = np.uint32(0xFF)


class Queue(NamedTuple):
    """Says which rays of a batch hit surfaces of one BSDF, and what to do with them.

    words: address of a column of the batch.
    wanted: mask and bits of the words of these rays.
    flags: all bits that triangle records of such surfaces have, and maybe HAS_MEDIA.
    quads: how many times four numbers the BSDF has.
    bsdf: the row of its loops.
    """

    words: int
    wanted: tuple[np.uint32, np.uint32]
    flags: np.uint32
    quads: int
    bsdf: int


class Sorting(NamedTuple):
    """Says what the loop that sorts rays reads and writes: all but the number of rays are addresses."""

    triangles: int
    words: int
    bsdfs: int
    rays: int


@inlined
def has_several(table: BsdfTable) -> bool:
    """Returns whether the rays of a batch have to be sorted."""
    return len(table.bsdfs) > 1


@inlined
def sort_rays(scene: PackedScene, triangles: int, words: int, rays: int) -> None:
    """Write which BSDF each ray of a batch has hit, if there are several.

    triangles: address of the triangles that were hit, uint32.
    words: of a column.
    """
    if has_several(scene.bsdfs):
        each(find_bsdf, whole(rays), Sorting(triangles, words, address(scene.bsdfs.of_triangles), rays))


@inlined
def find_bsdf(i: int, data: Sorting) -> None:
    """Write which BSDF a ray has hit: all bits where there is none."""
    triangle = get_int(data.triangles, i)
    is_hit = (triangle >= Int(0)) & (i < data.rays)  # behind the last ray there may be anything
    triangle = triangle if is_hit else Int(0)
    four = get_word(data.bsdfs, triangle >> Int(2))
    bsdf = np.uint32(np.uint32(four >> np.uint32((triangle & Int(3)) << Int(3))) & BYTE)
    put(data.words, i, bsdf if is_hit else ALL_BITS)


@inlined
def queue_of(table: BsdfTable, own: int, triangles: int, words: int) -> Queue:
    """Returns the rays of a batch that have hit BSDF `own` of a scene. triangles, words: see `sort_rays`."""
    several = has_several(table)
    return Queue(
        words=words if several else triangles,
        wanted=(ALL_BITS if several else MISS_BIT, np.uint32(own) if several else NO_BITS),
        flags=table.flags[own],
        quads=table.quads[own],
        bsdf=table.bsdfs[own],
    )


@inlined
def count_hits(triangles: int, rays: int) -> int:
    """Returns how many rays of a batch have hit something."""
    hits = 0
    for i in range(rays):
        hits += get_int(triangles, i) >= Int(0)
    return hits


@inlined
def move_rows(source: int, target: int, step: int, rows: int, count: int) -> None:
    """Copy the first words of some rows, `step` bytes apart."""
    for row in range(rows):
        each(move_word, whole(count), (source + step * row, target + step * row))


@inlined
def move_word(i: int, data: tuple[int, int]) -> None:
    """Copy a word."""
    put(data[1], i, get_word(data[0], i))
