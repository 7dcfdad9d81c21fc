"""Shading photons: a batch of hits becomes stored photons and the next rays.

Rays, hits and paths are columns. Small loops read them chunk by chunk into columns of scratch, which stay in the cache
next to the core, and compile to vector instructions. All hits of a chunk have one BSDF (`renderer.shading.queues`).
What only some have is packed side by side for the next loop: rays that hit something, hits that leave a photon, paths
that go on. What few hits need (bent normals, textures, maps) goes through lists of indices.

Paths that go on move to the front of the batch; fresh photons follow, so that a batch stays full until no photon is
left. Their indices follow one another, nothing has happened to them yet, and where there is one light they all carry
the same flux: they need no columns of paths until they have met something. All is decided by a photon's index and
bounce: the thread, the batch and the index in it change no bit.
"""

from typing import NamedTuple

import numpy as np
from numba import types

from renderer.photons.batch import MOST_BOUNCES, PATH_FLUX, PATH_MEDIA, PATH_WORDS, Chunk, PhotonBatch, PhotonTask
from renderer.photons.emission import is_all_alike, launch, only_light
from renderer.photons.media import absorb_flux, collide_photons, go_through_borders, keep_media, look_at_borders
from renderer.photons.scattering import (
    FATE_BITS,
    FATE_MASK,
    FATES,
    NO_FATE,
    ONE_STORED,
    Landing,
    PhotonLimits,
    stored_on,
)
from renderer.photons.store import (
    BLOCK_STEP,
    PHOTON_BLOCK_BYTES,
    PHOTON_RAYS,
    PHOTONS_ABSORBED,
    PHOTONS_AIMED,
    PHOTONS_EMITTED,
    PHOTONS_ESCAPED,
    PHOTONS_STORED,
    PHOTONS_TERMINATED,
    STORE_COLUMNS,
    WAITING_STEP,
    PhotonOutput,
)
from renderer.scene.media import tables_of
from renderer.scene.packed_scene import PackedScene
from renderer.scene.photon_scene import BENT, HAS_MEDIA, IN_MEDIUM, MAPPED, MIXED, TEXTURED
from renderer.shading.chunks import HIT_ID, RECORD_BYTES, TEXTURE_BYTES, View, ray_columns
from renderer.shading.collisions import face_particle
from renderer.shading.queues import Queue, Walk, count_hits, places_of, shade_queues, triangles_of
from renderer.shading.scattering import PHOTON_AT_POINT, PHOTONS
from renderer.shading.surfaces import (
    ask_for_normals,
    ask_for_rows,
    bend_normal,
    face,
    gather_numbers,
    gather_records,
    gather_textures,
    list_textured,
    look_closely,
)
from renderer.shading.texels import draw_texel, paint
from renderer.simd.bsdf_kinds import call_at
from renderer.simd.columns import (
    CHUNK,
    LINE_BYTES,
    WORD_BYTES,
    add_to,
    as_floats,
    column,
    column_bytes,
    column_of,
    get_word,
    in_chunk,
    is_in_place,
    put,
    rows,
    set_column,
    three,
)
from renderer.simd.loops import each, each_alone, each_listed, each_ray, whole
from renderer.simd.packing import (
    close_gaps,
    copy_line,
    count_elements,
    elements_of,
    list_indices,
    pack_chunk,
    pack_columns,
    pack_elements,
    pack_numbered,
    sum_of_words,
)
from shaders.float32 import ZERO, Float32, Longs
from shaders.random import STREAM_PHOTON, Bits4, hash4, hash_key, more4, unit32
from shaders.shading_normals import shading_normal_correction
from shaders.vector import Vec3, dot
from tracecore.compilation.borrowing import borrowed
from tracecore.compilation.cached import compiled, inlined
from tracecore.compilation.units import unit
from tracecore.compilation.vector import address, fetch_add, load_acquire
from tracecore.rays import RAY_FLOATS

#: Photons look at texels where they may, and at maps elsewhere.
NO_TEXELS = np.uint32(MAPPED | TEXTURED)

#: Surfaces that are looked at where a ray meets their triangle.
WITH_UV = np.uint32(TEXTURED | BENT | MAPPED)


def needs_uv(scene: PackedScene) -> bool:
    """Returns whether shading reads u and v of hits."""
    return bool(scene.photon_scene.flags & WITH_UV)


class Hits(NamedTuple):
    """What shading the hits of a batch needs, and what it writes to."""

    scene: PackedScene
    limits: PhotonLimits
    fresh: Longs  # of the batch
    alike: tuple[bool, Vec3]  # whether all fresh photons carry the same flux, and which
    output: PhotonOutput


@compiled
def shade_batch(
    scene: PackedScene,
    task: PhotonTask,
    batch: PhotonBatch,
    active: int,
    supply: Longs,
    output: PhotonOutput,
) -> int:
    """Does the same as `shade_rays`, by the same machine code, for what Python passes in."""
    scratch = borrowed(batch.scratch)
    batch = PhotonBatch(batch.rays, batch.hits, batch.paths, batch.fresh, scratch, batch.capacity)
    return shade_rays(borrowed(scene), borrowed(task), batch, active, supply, borrowed(output))


@unit(types.int64)
def shade_rays(
    scene: PackedScene,
    task: PhotonTask,
    batch: PhotonBatch,
    active: int,
    supply: Longs,
    output: PhotonOutput,
) -> int:
    """Shade the hits of the first `active` rays, and fill the batch up with fresh photons. All named tuples but the
    batch are borrowed.

    supply: (2,) next photon to start and the end of them, shared by threads; moved on, maybe beyond the end. output:
    with room for `active` more photons. Returns how many rays there are to trace now.
    """
    limits = PhotonLimits(
        np.int32(task.min_bounces),
        np.int32(min(task.max_bounces, MOST_BOUNCES)),
        hash_key(task.seed, task.sequence, STREAM_PHOTON),
        task.only_caustics,
        task.is_corrected,
        stored_on(task.volume_share),
        Float32(task.volume_share),
    )
    if scene.photon_scene.flags & IN_MEDIUM:
        collide_photons(scene.photon_scene.media, task, batch, active)
    places = places_of(batch, batch.scratch.spare, batch.scratch.chunk)
    count_up(output, PHOTONS_ESCAPED, active - count_hits(triangles_of(places), active))
    is_alike = is_all_alike(scene.photon_scene)
    alike = (is_alike, only_light(scene.photon_scene, task).flux if is_alike else (ZERO, ZERO, ZERO))
    hits = Hits(scene, limits, batch.fresh, alike, output)
    walk = Walk(scene, places, batch.scratch.chunk[0], active, min(active, batch.fresh[0]))
    kept = shade_queues(shade_chunk, hits, walk)
    batch = batch_ahead(batch)
    photon, fresh = take(supply, batch.capacity - kept)
    count_up(output, PHOTONS_AIMED, launch(scene.photon_scene, task, batch, (kept, photon, fresh)))
    rays = kept + fresh
    count_up(output, PHOTONS_EMITTED, fresh)
    count_up(output, PHOTON_RAYS, rays)
    return rays


@inlined
def count_up(output: PhotonOutput, counter: int, number: int) -> None:
    """Add to a counter."""
    add_to(address(output.counters) + 8 * counter, number)


@inlined
def batch_ahead(batch: PhotonBatch) -> PhotonBatch:
    """Returns where the rays are that go on: in the batch, or in its spare memory."""
    if is_in_place():
        return batch
    spare, paths = batch.scratch.spare, slice(RAY_FLOATS, RAY_FLOATS + PATH_WORDS)
    rays = as_floats(spare[:RAY_FLOATS])
    return PhotonBatch(rays, batch.hits, spare[paths], batch.fresh, batch.scratch, batch.capacity)


@inlined
def take(supply: Longs, wanted: int) -> tuple[int, int]:
    """Take photons from what threads share. Returns the first one's index, and how many they are."""
    end = supply[1]
    if wanted == 0 or np.int64(load_acquire(address(supply))) >= end:
        return end, 0
    photon = fetch_add(address(supply), wanted)
    return photon, max(0, min(wanted, end - photon))


@compiled
def shade_chunk(queue: Queue, view: View, rays: tuple[int, int], data: Hits) -> tuple[int, int]:
    """Shade the hits of a queue among some rays, as `shade_queues` says."""
    (first, count), scene, output = rays, data.scene, data.output
    if first >= data.fresh[0]:
        photon = data.fresh[1] + first - data.fresh[0]
        hits, looked = pick_fresh(queue, view, (photon, count), data.alike)
    else:
        hits, looked = pick_hits(queue, view, count)
    if hits == 0:
        return looked, 0
    chunk, media = view.chunk, tables_of(scene.photon_scene.media)
    if queue.flags & HAS_MEDIA:
        absorb_flux(queue.wanted, view, (hits, looked), media)
    look_at_surfaces(scene, queue, data.limits, view, hits)
    if queue.flags & HAS_MEDIA:
        look_at_borders(chunk, hits, media)
    before = address(chunk.unabsorbed) if queue.flags & HAS_MEDIA else address(chunk.flux)
    photons, step = place_of_photons(chunk, output)
    landing = Landing(data.limits, photons, step, before, address(scene.bsdfs.tables))
    call_at(scene.bsdfs.loops[queue.bsdf, PHOTONS], PHOTONS, (chunk, hits, landing))
    keep_photons(photons, hits, chunk, output)
    add_fates(hits, chunk, output)
    if queue.flags & HAS_MEDIA:
        go_through_borders(chunk, hits, media)
        keep_media(PATH_MEDIA, address(chunk.counters), (FATES, NO_FATE), view, hits)
    return looked, keep_paths(view, hits)


@inlined
def look_at_surfaces(scene: PackedScene, queue: Queue, limits: PhotonLimits, view: View, hits: int) -> None:
    """Write what there is to know of the surfaces that photons have hit, and their random numbers. Tables are asked for
    what is needed next but one: in between, loops need nothing that might be far away."""
    flags, chunk, photon_scene = queue.flags, view.chunk, scene.photon_scene
    ask_for_rows(address(photon_scene.records), RECORD_BYTES, address(chunk.triangle), hits)
    each(draw_numbers, whole(hits), (chunk, limits.key))
    if flags & (MIXED | TEXTURED):
        each(draw_more, whole(hits), chunk)
    gather_records(address(photon_scene.records), chunk, hits)
    bent = list_indices(address(chunk.kind), (BENT, BENT), hits, address(chunk.bent)) if flags & BENT else 0
    textured = list_textured((TEXTURED, TEXTURED), chunk, hits) if flags & TEXTURED else 0
    ask_for_rows(address(photon_scene.textures), TEXTURE_BYTES, address(chunk.textured_triangle), textured)
    ask_for_normals(bent, view)
    each(land, whole(hits), chunk)
    gather_textures(address(photon_scene.textures), chunk, textured)
    each_listed(draw_texel, whole(textured), chunk)
    ask_for_rows(view.texels, WORD_BYTES, address(chunk.texel), textured)
    each_alone(bend_normal, bent, view)
    if flags & IN_MEDIUM:
        each(face_particle, whole(hits), chunk)
    gather_numbers(scene.bsdfs, queue, chunk, hits)
    each_alone(paint, textured, view)
    if flags & MAPPED:
        look_at_maps_closely(scene, queue, chunk, hits)
    if flags & BENT and limits.is_corrected:
        each(correct, whole(hits), chunk)


@inlined
def correct(i: int, chunk: Chunk) -> None:
    """Write by what flux changes that is to count about the shading normal: it is nothing from behind the normal
    between the corners' ones."""
    ray = column(chunk.ray, i)
    bent, flat = -dot(column(chunk.shading, i), ray), -dot(column(chunk.normal, i), ray)
    chunk.correction[i] *= shading_normal_correction(bent, flat)


@unit(types.none)
def look_at_maps_closely(scene: PackedScene, queue: Queue, chunk: Chunk, hits: int) -> None:
    """Look at the finest images of the maps of what photons have hit."""
    each(stand_close, whole(hits), chunk)
    look_closely(borrowed(scene), (PHOTON_AT_POINT, NO_TEXELS), queue, chunk, hits)


@inlined
def stand_close(i: int, chunk: Chunk) -> None:
    """Have a photon see a point of a surface."""
    chunk.width[i] = ZERO


@inlined
def draw_numbers(i: int, data: tuple[Chunk, Bits4]) -> None:
    """Write the random bits of a hit. data: also has their key. They are a long chain of products, each of which waits
    for the one before: in a loop of their own, other hits fill the gaps."""
    chunk, key = data
    bits = hash4(key, chunk.photon[i], chunk.depth[i])
    chunk.bits[0, i], chunk.bits[1, i], chunk.bits[2, i], chunk.bits[3, i] = bits


@inlined
def draw_more(i: int, chunk: Chunk) -> None:
    """Write more random numbers of a hit, for the lobe and the texel."""
    more = more4((chunk.bits[0, i], chunk.bits[1, i], chunk.bits[2, i], chunk.bits[3, i]))
    set_column(chunk.draws, i, (unit32(more[0]), unit32(more[1]), unit32(more[2])))


@inlined
def land(i: int, chunk: Chunk) -> None:
    """Write where a photon lands, and the normal on the side that it comes from, as photons keep it."""
    front, back = chunk.packed_front[i], chunk.packed_back[i]  # read both: a choice of reads would not vectorise
    chunk.packed_front[i] = front if face(i, chunk.distance[i], chunk) else back


@inlined
def pick_hits(queue: Queue, view: View, count: int) -> tuple[int, int]:
    """Fill the chunk with rays of a queue and their paths. Returns how many they are, and how many were looked at."""
    rays, hits = columns_of_hits(view)
    sources = rays + rows(view.paths, view.step, PATH_MEDIA)
    targets = hits + rows(address(view.chunk.photon), column_bytes(), PATH_MEDIA)
    if queue.flags & WITH_UV:
        uv, chunk_uv = columns_of_uv(view)
        return pack_chunk(view.words, queue.wanted, count, sources + uv, targets + chunk_uv)
    return pack_chunk(view.words, queue.wanted, count, sources, targets)


@inlined
def columns_of_hits(view: View) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Returns the addresses of rays, distances and triangles of a batch, and of where a chunk has them."""
    chunk, step = view.chunk, view.step
    sources = ray_columns(view.rays, step) + (view.hits, view.hits + HIT_ID * step)
    return sources, rows(address(chunk.origin), column_bytes(), 6) + (address(chunk.distance), address(chunk.triangle))


@inlined
def columns_of_uv(view: View) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Returns the addresses of barycentric coordinates of a batch, and of where a chunk has them."""
    return rows(view.hits + view.step, view.step, 2), rows(address(view.chunk.uv), column_bytes(), 2)


@inlined
def pick_fresh(queue: Queue, view: View, rays: tuple[int, int], alike: tuple[bool, Vec3]) -> tuple[int, int]:
    """Do as `pick_hits` does for photons on their first ray, and return the same. rays: the photon of the first one,
    and how many they are. alike: whether all fresh photons carry the same flux, and which; else it is in columns."""
    (photon, count), (is_alike, only_flux) = rays, alike
    chunk, step, numbers = view.chunk, view.step, (photon, address(view.chunk.photon))
    sources, targets = columns_of_hits(view)
    if queue.flags & WITH_UV:
        uv, chunk_uv = columns_of_uv(view)
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
    chunk.depth[i] = np.uint32(0)


@inlined
def carry_flux(i: int, data: tuple[Chunk, Vec3]) -> None:
    """Write the flux of a fresh photon of the only light."""
    set_column(data[0].flux, i, data[1])


@inlined
def place_of_photons(chunk: Chunk, output: PhotonOutput) -> tuple[int, int]:
    """Returns where the photons of a chunk wait, and how many bytes lie from column to column there: behind those
    before, or in columns of a warp's chunk that had a texture."""
    if is_in_place():
        return address(output.waiting) + WORD_BYTES * output.waits[0], WAITING_STEP
    return address(chunk.uvs), column_bytes()


@inlined
def keep_photons(photons: int, count: int, chunk: Chunk, output: PhotonOutput) -> None:
    """Store the photons of a chunk, with gaps where one is not to stay. photons: where they wait already."""
    if not is_in_place():
        append_photons(photons, count, chunk, output)
        return
    columns = rows(photons, WAITING_STEP, STORE_COLUMNS)
    waits = output.waits[0] + close_gaps(address(chunk.counters), (ONE_STORED, ONE_STORED), count, columns)
    if waits >= CHUNK:
        waits -= CHUNK
        block = fetch_add(address(output.filled), 1)
        fill_block(address(output.waiting), address(output.blocks) + PHOTON_BLOCK_BYTES * block, waits)
    output.waits[0] = waits


@inlined
def append_photons(photons: int, count: int, chunk: Chunk, output: PhotonOutput) -> None:
    """Store the photons of a warp's chunk behind those of all warps, in the only block."""
    stay = elements_of(address(chunk.counters), (ONE_STORED, ONE_STORED), 0, count)
    first = fetch_add(address(output.filled), count_elements(stay))
    sources = rows(photons, column_bytes(), STORE_COLUMNS)
    targets = rows(address(output.blocks), WORD_BYTES * output.blocks.shape[2], STORE_COLUMNS)
    pack_elements(stay, sources, 0, targets, first)


@inlined
def fill_block(waiting: int, block: int, rest: int) -> None:
    """Move photons that wait to a block, and the rest of them to the front."""
    for word in range(STORE_COLUMNS):
        for line in range(0, BLOCK_STEP, LINE_BYTES):
            copy_line(waiting + WAITING_STEP * word + line, block + BLOCK_STEP * word + line)
    each_ray(move_photon, whole(rest), waiting)


@inlined
def move_photon(i: int, waiting: int) -> None:
    """Copy a photon that waits behind a whole block to the front."""
    for word in range(STORE_COLUMNS):
        first = waiting + word * WAITING_STEP
        put(first, i, get_word(first, CHUNK + i))


@inlined
def add_fates(count: int, chunk: Chunk, output: PhotonOutput) -> None:
    """Count what became of the hits of a chunk."""
    total = sum_of_words(address(chunk.counters), count)
    for counter in (PHOTONS_STORED, PHOTONS_ABSORBED, PHOTONS_TERMINATED):
        count_up(output, counter, np.int64(total & FATE_MASK))
        total >>= FATE_BITS


@inlined
def keep_paths(view: View, count: int) -> int:
    """Move the paths that go on behind those before; returns how many they are. A whole vector ends no later than the
    rays looked at, so that none is lost that is still to be shaded."""
    chunk, step = view.chunk, view.step
    sources = column_of(chunk.position) + column_of(chunk.wi) + rows(address(chunk.photon), column_bytes(), PATH_MEDIA)
    targets = ray_columns(view.kept_rays, step) + rows(view.kept_paths, step, PATH_MEDIA)
    return pack_columns(address(chunk.counters), (FATES, NO_FATE), in_chunk(count), sources, targets)
