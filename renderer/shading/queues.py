"""This module sorts the rays of a batch by the BSDF of what they hit, as wavefront path tracers do: all hits of a chunk
then have the same one, and its loops run over columns as they lie.

Laine, Karras, Aila: Megakernels Considered Harmful: Wavefront Path Tracing on GPUs, 2013.
"""

from typing import Any, NamedTuple

import numpy as np

from renderer.scene.materials import BsdfTable
from renderer.scene.packed_scene import PackedScene
from renderer.shading.chunks import ALL_BITS, HIT_ID, MISS_BIT, NO_BITS, RAY_DIRECTION, Chunk, Long, View
from renderer.simd.columns import WORD_BYTES, get_int, get_word, is_in_place, put
from renderer.simd.loops import each_ray, whole
from renderer.simd.packing import count_words
from shaders.float32 import Int
from tracecore.compilation.cached import inlined
from tracecore.compilation.vector import address
from tracecore.rays import RAY_FLOATS

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


class Places(NamedTuple):
    """Addresses of a batch's columns, `step` bytes apart.

    rays, hits, paths: rows of the batch.
    words: how many rows of paths there are.
    spare: rows for the rays and paths that go on, while others of the batch are still to be shaded.
    bsdfs: a row for which BSDF each ray has hit.
    """

    rays: int
    hits: int
    paths: int
    words: int
    spare: int
    bsdfs: int
    step: int


@inlined
def places_of(batch: Any, spare: Any, chunk: Any) -> Places:
    """Returns where a batch lies, of photons or of eye paths. spare: its array. chunk: the record of the columns that
    hits are brought to; that of a warp has the row of BSDFs behind it."""
    step, words, rest = WORD_BYTES * batch.rays.shape[1], len(batch.paths), address(spare)
    bsdfs = rest + (RAY_FLOATS + words) * step if is_in_place() else address(chunk) + chunk.itemsize
    return Places(address(batch.rays), address(batch.hits), address(batch.paths), words, rest, bsdfs, step)


class Walk(NamedTuple):
    """Says which hits are shaded, and where.

    chunk: columns that they are brought to.
    rays: how many there are in the batch.
    border: index of a ray that no span of rays reaches across: a multiple of ELEMENTS, or behind the last.
    """

    scene: PackedScene
    places: Places
    chunk: Chunk
    rays: int
    border: int


@inlined
def shade_queues(shade: Any, data: Any, walk: Walk) -> int:
    """Shade the hits of a batch, BSDF by BSDF. Returns how many paths go on; they are the first of the batch then, but
    for the limits of their rays.

    The longest queue is shaded last and in place; of the others, paths that go on wait in spare memory. A warp has
    another batch for memory: there all that go on are kept, and nothing is moved (`is_in_place`).

    shade, data: see `shade_queue`.
    """
    scene, places = walk.scene, walk.places
    triangles, words = triangles_of(places), places.bsdfs
    sort_rays(scene, triangles, words, walk.rays)
    waiting, kept, queues = Long(0), Long(0), len(scene.bsdfs.bsdfs)
    last = longest_queue(words, walk.rays, queues)
    for k in range(queues):
        in_place = k == queues - 1 and is_in_place()
        waiting, kept = (kept, Long(0)) if in_place else (waiting, kept)
        queue = queue_of(scene.bsdfs, (last + 1 + k) % queues, triangles, words)
        kept = shade_queue(shade, data, walk, queue, (kept, in_place))
    if waiting == 0:
        return kept
    step, to, direction = places.step, WORD_BYTES * kept, RAY_DIRECTION * places.step
    move_rows(places.spare, places.rays + to, step, 3, waiting)
    move_rows(places.spare + direction, places.rays + direction + to, step, 3, waiting)
    move_rows(places.spare + RAY_FLOATS * step, places.paths + to, step, places.words, waiting)
    return kept + waiting


@inlined
def shade_queue(shade: Any, data: Any, walk: Walk, queue: Queue, ahead: tuple[int, bool]) -> int:
    """Shade the hits of a queue, chunk by chunk. Returns the index behind the last path that goes on.

    shade: compiled, shade(queue, view, (first, count), data) shades the hits of a queue among `count` rays from `first`
        on, as many as the chunk has room for. It returns how many rays it has looked at, and how many paths go on.
    ahead: the index of the first path that goes on, and whether such paths are written to the batch, where rays were
        looked at before, or to spare memory.
    """
    scene, places, (kept, in_place) = walk.scene, walk.places, ahead
    first, waiting = Long(0), places.spare + RAY_FLOATS * places.step
    while first < walk.rays:
        rays, paths = WORD_BYTES * first, WORD_BYTES * kept
        view = View(
            rays=places.rays + rays,
            hits=places.hits + rays,
            paths=places.paths + rays,
            words=queue.words + rays,
            kept_rays=(places.rays if in_place else places.spare) + paths,
            kept_paths=(places.paths if in_place else waiting) + paths,
            step=places.step,
            normals=address(scene.surfaces.normals),
            texels=address(scene.photon_scene.texels),
            decoded=address(scene.photon_scene.decoded),
            chunk=walk.chunk,
        )
        end = walk.border if first < walk.border else walk.rays
        done, going = shade(queue, view, (first, end - first), data)
        first, kept = first + done, kept + going
    return kept


@inlined
def triangles_of(places: Places) -> int:
    """Returns the address of the triangles that the rays of a batch have hit."""
    return places.hits + HIT_ID * places.step


@inlined
def sort_rays(scene: PackedScene, triangles: int, words: int, rays: int) -> None:
    """Write which BSDF each ray of a batch has hit, if there are several.

    triangles: address of the triangles that were hit, uint32.
    words: of a column.
    """
    if len(scene.bsdfs.bsdfs) > 1:
        each_ray(find_bsdf, whole(rays), Sorting(triangles, words, address(scene.bsdfs.of_triangles), rays))


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
def longest_queue(words: int, rays: int, queues: int) -> int:
    """Returns which BSDF most rays of a batch have hit. words: what `sort_rays` has written."""
    longest, most = Long(0), Long(-1)
    for own in range(queues if queues > 1 else 0):
        count = count_words(words, (ALL_BITS, np.uint32(own)), rays)
        longest, most = (Long(own), count) if count > most else (longest, most)
    return longest


@inlined
def queue_of(table: BsdfTable, own: int, triangles: int, words: int) -> Queue:
    """Returns the rays of a batch that have hit BSDF `own` of a scene. triangles, words: see `sort_rays`."""
    several = len(table.bsdfs) > 1
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
    return count_words(triangles, (MISS_BIT, NO_BITS), rays)


@inlined
def move_rows(source: int, target: int, step: int, rows: int, count: int) -> None:
    """Copy the first words of some rows, `step` bytes apart."""
    for row in range(rows):
        each_ray(move_word, whole(count), (source + step * row, target + step * row))


@inlined
def move_word(i: int, data: tuple[int, int]) -> None:
    """Copy a word."""
    put(data[1], i, get_word(data[0], i))
