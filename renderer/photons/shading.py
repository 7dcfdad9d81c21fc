"""Shading photons: a batch of hits becomes stored photons and the next rays.

Rays, hits and paths are columns. Small loops read them chunk by chunk into columns of scratch, which stay in the cache
next to the core, and compile to vector instructions. What only some have is packed side by side for the next loop:
rays that hit something, hits that leave a photon, paths that go on. What few hits need (bent normals, textures, lobes
beside the diffuse one) goes through lists of places.

Paths that go on move to the front of the batch; fresh photons follow, so that a batch stays full until no photon is
left. Their indices follow one another, nothing has happened to them yet, and where there is one light they all carry
the same flux: they need no columns of paths until they have met something. All is decided by a photon's index and
bounce: the thread, the batch and the place that it is in change no bit.
"""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from renderer.photons.batch import (
    GLASS,
    HIT_ID,
    MIRROR,
    PATH_FLUX,
    PHONG,
    RAY_DIRECTION,
    STEPS,
    Chunk,
    PhotonBatch,
    PhotonTask,
)
from renderer.photons.emission import is_all_alike, launch, only_light
from renderer.photons.photon_map import FLUX, pack_flux
from renderer.photons.scalar_path import scatter_rich
from renderer.photons.store import (
    ABSORBED,
    BLOCK_BYTES,
    EMITTED,
    ESCAPED,
    RAYS,
    STORED,
    TERMINATED,
    WAITING,
    PhotonOutput,
)
from renderer.photons.store import COLUMNS as PHOTON_COLUMNS
from renderer.scene.packed_scene import PackedScene
from renderer.scene.photon_scene import (
    BENT,
    FACET,
    MATERIAL,
    MATERIAL_MASK,
    MIXED,
    RICH,
    STORES,
    TEXTURED,
    PhotonScene,
)
from renderer.simd.columns import (
    CHUNK,
    COLUMN_BYTES,
    LANES,
    LINE_BYTES,
    WORD_BYTES,
    close_gaps,
    column,
    column_of,
    copy_line,
    each,
    gather_columns,
    get,
    get3,
    get_int,
    get_word,
    list_places,
    pack_chunk,
    pack_columns,
    pack_numbered,
    put,
    put3,
    set_column,
    three,
    whole,
)
from shaders.dielectric import fresnel
from shaders.octahedral import pack_unit
from shaders.random import STREAM_PHOTON, Words4, hash4, hash_key, more4, unit32
from shaders.real import HALF, ONE, TWO, ZERO, Int, Real
from shaders.sampling import cosine_power, lambertian
from shaders.shading_normals import shading_normal_correction
from shaders.surface import SurfaceArrays
from shaders.vector import Vec3, add, along, dot, frame, largest, mean, multiply, normalize, scale, subtract, to_world
from tracecore.compilation.cached import compiled, inlined
from tracecore.compilation.vector import address, fetch_add, load_acquire
from tracecore.rays import offset_of

#: Surfaces that a path may meet.
MOST_BOUNCES = 0xFFFF

#: A path's steps: surfaces that it has met.
NO_STEP, ONE_STEP = np.uint32(0), np.uint32(1)

FACET_BYTES, MATERIAL_BYTES = FACET.itemsize, MATERIAL.itemsize

#: Where words of a facet, a material and corners' coordinates begin, by fours. Of a facet: what all hits need, and all.
FLAT_QUADS, FACET_QUADS, UVS_QUADS, TEXELS_QUADS = (0, 16, 32), (0, 16, 32, 48), (0, 16), (0,)

MATERIAL_STRIDE = Int(MATERIAL_BYTES // 4)
PHONG_BYTES, MIRROR_BYTES, TRANSMISSION_BYTES = (
    offset_of(MATERIAL, name) for name in ("phong", "mirror", "transmission")
)
UVS_BYTES, TEXELS_BYTES, TEXEL_MASK = 32, offset_of(MATERIAL, "texels"), np.uint32(0xFF)

#: A bent normal farther from the ray than this cosine gives way to the flat one.
LEAST_COSINE = Real(1e-6)

#: What a ray's triangle has in this bit if there is none.
MISS_BIT = np.uint32(1 << 31)

#: Tallies of a hit: whether a photon was stored, and what ended the path. A byte for each, so that all are added up at
#: once for a chunk, which has less than 256 hits.
TALLY_BITS, TALLY_MASK = np.uint32(8), np.uint32(0xFF)
FATES = np.uint32(0xFFFFFF00)

#: Bytes from one column of photons to the next, where they wait and in a block.
WAITING_STEP, BLOCK_STEP = WORD_BYTES * WAITING, WORD_BYTES * CHUNK

ALL_BITS = np.uint32(0xFFFFFFFF)
ONE_STORED, ONE_ABSORBED, ONE_TERMINATED, NO_TALLY = (np.uint32(t) for t in (1, 1 << 8, 1 << 16, 0))


class Span(NamedTuple):
    """`rays` of which as many are shaded together as have room. first: place of the first one. kept: how many paths of
    the batch go on before them. is_fresh: whether they are the first ones of their photons, which are numbered from
    `photon` on. is_alike: whether these all carry the same flux."""

    first: int
    rays: int
    kept: int
    is_fresh: bool
    is_alike: bool
    photon: int
    flux: Vec3


class View(NamedTuple):
    """Addresses of what loops over a chunk read and write. rays, hits, paths: of its hits, in columns `step` bytes
    apart. kept_rays, kept_paths: where those go that go on. photons: where photons wait."""

    rays: int
    hits: int
    paths: int
    kept_rays: int
    kept_paths: int
    step: int
    photons: int
    materials: int
    normals: int
    texels: int
    decoded: int
    chunk: Chunk


class Limits(NamedTuple):
    """Of a task, as a loop compares with them. key: of its random numbers."""

    min_bounces: np.int32
    max_bounces: np.int32
    key: Words4
    only_caustics: bool
    is_corrected: bool


class Shading(NamedTuple):
    """How a batch is shaded. flags: all that facets have. is_alike: whether all fresh photons carry the same flux. The
    others: addresses of the scene's tables."""

    flags: np.uint32
    is_alike: bool
    facets: int
    materials: int
    normals: int
    uvs: int
    texels: int
    decoded: int
    limits: Limits


class Landing(NamedTuple):
    """What loops over hits work on. photons: where photons wait. flux: of fresh ones, where all have the same."""

    chunk: Chunk
    limits: Limits
    photons: int
    flux: Vec3


def needs_uv(scene: PackedScene) -> bool:
    """Whether shading reads u and v of hits."""
    return bool(scene.photon_scene.flags & (TEXTURED | BENT))


@compiled
def shade_batch(
    scene: PackedScene,
    task: PhotonTask,
    batch: PhotonBatch,
    active: int,
    supply: npt.NDArray[np.int64],
    output: PhotonOutput,
) -> int:
    """Shade the hits of the first `active` rays, and fill the batch up with fresh photons.

    supply: (2,) next photon to start and the end of them, shared by threads; moved on, maybe beyond the end. output:
    with room for `active` more photons. Returns how many rays there are to trace now.
    """
    limits = Limits(
        np.int32(task.min_bounces),
        np.int32(min(task.max_bounces, MOST_BOUNCES)),
        hash_key(task.seed, task.sequence, STREAM_PHOTON),
        task.only_caustics,
        task.is_corrected,
    )
    shading, flux = shading_of(scene, limits), fresh_flux(scene.photon_scene, task)
    first, kept = 0, 0
    while first < active:
        span = span_at(batch, (first, active, kept), shading.is_alike, flux)
        done, going = shade_chunk(scene.surfaces, shading, batch, span, output)
        first, kept = first + done, kept + going
    photon, fresh = take(supply, batch.capacity - kept)
    launch(scene.photon_scene, task, batch, (kept, photon, fresh))
    rays = kept + fresh
    output.counters[EMITTED] += fresh
    output.counters[RAYS] += rays
    return rays


@inlined
def shading_of(scene: PackedScene, limits: Limits) -> Shading:
    """How a batch is shaded."""
    return Shading(
        flags=scene.photon_scene.flags,
        is_alike=is_all_alike(scene.photon_scene),
        facets=address(scene.photon_scene.facets),
        materials=address(scene.photon_scene.materials),
        normals=address(scene.surfaces.normals),
        uvs=address(scene.photon_scene.uvs),
        texels=address(scene.photon_scene.texels),
        decoded=address(scene.photon_scene.decoded),
        limits=limits,
    )


@inlined
def fresh_flux(scene: PhotonScene, task: PhotonTask) -> Vec3:
    """Of fresh photons, where all carry the same."""
    return only_light(scene, task).flux if is_all_alike(scene) else (ZERO, ZERO, ZERO)


@inlined
def span_at(batch: PhotonBatch, places: tuple[int, int, int], is_alike: bool, flux: Vec3) -> Span:
    """The rays to shade next: those of paths that go on, or fresh ones. places: of the first one, behind the last one
    of all, and of the next path kept. is_alike, flux: whether all fresh photons carry the same flux, and which."""
    first, active, kept = places
    fresh, photon = batch.fresh[0], batch.fresh[1] + first - batch.fresh[0]
    is_fresh = first >= fresh
    count = (active if is_fresh else min(active, fresh)) - first
    return Span(first, count, kept, is_fresh, is_fresh and is_alike, photon, flux)


@inlined
def take(supply: npt.NDArray[np.int64], wanted: int) -> tuple[int, int]:
    """Take photons from what threads share: the first, and how many."""
    end = supply[1]
    if wanted == 0 or np.int64(load_acquire(address(supply))) >= end:
        return end, 0
    photon = fetch_add(address(supply), wanted)
    return photon, max(0, min(wanted, end - photon))


@compiled
def shade_chunk(
    surfaces: SurfaceArrays, shading: Shading, batch: PhotonBatch, span: Span, output: PhotonOutput
) -> tuple[int, int]:
    """Shade the hits of the first rays of a span, as many as a chunk has room for. Returns how many rays these are, and
    how many paths of them go on."""
    view = View(
        rays=address(batch.rays) + 4 * span.first,
        hits=address(batch.hits) + 4 * span.first,
        paths=address(batch.paths) + 4 * span.first,
        kept_rays=address(batch.rays) + 4 * span.kept,
        kept_paths=address(batch.paths) + 4 * span.kept,
        step=4 * batch.rays.shape[1],
        photons=address(output.waiting) + 4 * output.waits[0],
        materials=shading.materials,
        normals=shading.normals,
        texels=shading.texels,
        decoded=shading.decoded,
        chunk=batch.scratch.chunk[0],
    )
    hits, rays = pick_fresh(shading.flags, view, span) if span.is_fresh else pick_hits(shading.flags, view, span.rays)
    meet_facets(shading, view, hits)
    landing = Landing(view.chunk, shading.limits, view.photons, span.flux)
    if shading.flags & (TEXTURED | BENT | MIXED):
        shade_all_lobes(surfaces, shading, view, hits, landing)
    else:
        shade_flat(hits, span.is_alike, landing)
    if shading.limits.only_caustics and not shading.flags & MIXED:
        each(end_path, whole(hits), view.chunk)
    return rays, keep_chunk(shading.flags, view, (hits, rays), output)


@inlined
def shade_flat(hits: int, is_alike: bool, landing: Landing) -> None:
    """What becomes of hits where all surfaces are flat, diffuse and of one colour each."""
    if is_alike:
        each(bounce_first, whole(hits), landing)
    else:
        each(bounce, whole(hits), landing)


@inlined
def keep_chunk(flags: np.uint32, view: View, counts: tuple[int, int], output: PhotonOutput) -> int:
    """Keep photons and paths of a chunk, and count what became of its rays. counts: hits and rays. Returns how many
    paths go on."""
    hits, rays = counts
    output.counters[ESCAPED] += rays - hits
    keep_photons(view, hits, output)
    add_tallies(hits, view.chunk, output)
    return keep_paths(flags, view, hits)


@inlined
def shade_all_lobes(surfaces: SurfaceArrays, shading: Shading, view: View, hits: int, landing: Landing) -> None:
    """What becomes of hits where some are not on flat, diffuse surfaces of one colour each."""
    flags, chunk = shading.flags, view.chunk
    each(land, whole(hits), landing)
    if flags & TEXTURED:
        meet_textures(shading, view, hits)
        each(paint, whole(hits), view)
    if flags & (BENT | MIXED):
        each(face, whole(hits), chunk)
        bent = list_places(address(chunk.kind), (BENT, BENT), hits, address(chunk.bent)) if flags & BENT else 0
        each(bend_normal, whole(bent), view)
        if landing.limits.is_corrected:
            each(correct_photon, whole(bent), view)
        if flags & MIXED:
            scatter_mixed(hits, view)
        if flags & RICH:
            rich = list_places(address(chunk.kind), (RICH, RICH), hits, address(chunk.rich))
            fluxes = view.photons + FLUX * WAITING_STEP
            scatter_rich(surfaces, chunk, rich, fluxes, landing.limits.is_corrected)
        each(bend_flux, whole(bent), view)
        each(choose_side, whole(hits), chunk)
    if landing.limits.only_caustics and flags & MIXED:
        each(end_spread, whole(hits), chunk)
    each(decide, whole(hits), landing)


@inlined
def pick_hits(flags: np.uint32, view: View, count: int) -> tuple[int, int]:
    """Rays that hit something, and their paths, side by side in the chunk until it is full. Returns how many they are,
    and how many rays were looked at."""
    chunk, step = view.chunk, view.step
    rays, triangles, steps = view.rays, view.hits + HIT_ID * step, view.paths + STEPS * step
    sources = (
        (view.hits, triangles, view.paths, steps)
        + three(rays, step)
        + three(rays + RAY_DIRECTION * step, step)
        + three(view.paths + PATH_FLUX * step, step)
    )
    targets = (
        (address(chunk.distance), address(chunk.triangle), address(chunk.photon), address(chunk.steps))
        + column_of(chunk.origin)
        + column_of(chunk.ray)
        + column_of(chunk.flux)
    )
    found = (MISS_BIT, NO_TALLY)
    if flags & (TEXTURED | BENT):
        uv = (view.hits + step, view.hits + 2 * step)
        chunk_uv = (address(chunk.uv), address(chunk.uv) + COLUMN_BYTES)
        return pack_chunk(triangles, found, count, sources + uv, targets + chunk_uv)
    return pack_chunk(triangles, found, count, sources, targets)


@inlined
def pick_fresh(flags: np.uint32, view: View, span: Span) -> tuple[int, int]:
    """As `pick_hits`, for photons on their first ray: only the flux may be in columns, where there are several lights.
    What all have in common is not written where `bounce_first` knows it."""
    chunk, step, found = view.chunk, view.step, (MISS_BIT, NO_TALLY)
    rays, triangles, numbers = view.rays, view.hits + HIT_ID * step, (span.photon, address(chunk.photon))
    sources = (view.hits, triangles) + three(rays, step) + three(rays + RAY_DIRECTION * step, step)
    targets = (address(chunk.distance), address(chunk.triangle)) + column_of(chunk.origin) + column_of(chunk.ray)
    if flags & (TEXTURED | BENT):
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
    """The steps of a fresh photon."""
    chunk.steps[i] = NO_STEP


@inlined
def carry_flux(i: int, data: tuple[Chunk, Vec3]) -> None:
    """The flux of a fresh photon of the only light."""
    set_column(data[0].flux, i, data[1])


@inlined
def meet_facets(shading: Shading, view: View, count: int) -> None:
    """Facets of the hits, and which materials they have."""
    chunk, triangles = view.chunk, address(view.chunk.triangle)
    for i in range(LANES):
        put(triangles, count + i, Int(0))
    columns = address(chunk.normal)
    if shading.flags & MIXED:
        gather_columns(shading.facets, FACET_BYTES, triangles, whole(count), (FACET_QUADS, columns))
    else:
        gather_columns(shading.facets, FACET_BYTES, triangles, whole(count), (FLAT_QUADS, columns))
    if shading.flags & (MIXED | TEXTURED):
        each(meet_material, whole(count), chunk)


@inlined
def meet_material(i: int, chunk: Chunk) -> None:
    """The facet's material."""
    chunk.material[i] = Int(chunk.kind[i] & MATERIAL_MASK)


@inlined
def meet_textures(shading: Shading, view: View, count: int) -> None:
    """Texture coordinates of the facets' corners and textures of their materials."""
    chunk = view.chunk
    uvs, texels = (UVS_QUADS, address(chunk.uvs)), (TEXELS_QUADS, address(chunk.texels))
    gather_columns(shading.uvs, UVS_BYTES, address(chunk.triangle), whole(count), uvs)
    gather_columns(view.materials + TEXELS_BYTES, MATERIAL_BYTES, address(chunk.material), whole(count), texels)


@inlined
def bounce_first(i: int, data: Landing) -> None:
    """A flat, diffuse hit of a photon on its first ray, all of which carry the same flux."""
    bounce_with(i, data.flux, NO_STEP, data)


@inlined
def bounce(i: int, data: Landing) -> None:
    """A flat, diffuse hit: its photon, and what is left of the path, without leaving the registers."""
    bounce_with(i, column(data.chunk.flux, i), data.chunk.steps[i], data)


@inlined
def bounce_with(i: int, flux: Vec3, steps: np.uint32, data: Landing) -> None:
    """A flat, diffuse hit of a path with this flux that has met so many surfaces."""
    chunk = data.chunk
    position, normal, is_front = hit_point(i, chunk)
    words = hash4(data.limits.key, chunk.photon[i], steps)
    chunk.words[0, i], chunk.words[1, i] = words[0], words[1]
    set_column(chunk.normal, i, normal)
    put_photon(i, position, is_front, pack_flux(flux, unit32(words[3])), data)
    chunk.steps[i] = np.uint32(steps + ONE_STEP)
    left, fate = roulette(flux, column(chunk.weight, i), unit32(words[2]), is_cut(steps, data.limits))
    set_column(chunk.flux, i, left)
    chunk.tally[i] = stored(i, steps, data) + fate
    set_column(chunk.position, i, along(position, normal, chunk.clearance[i]))


@inlined
def land(i: int, data: Landing) -> None:
    """Hit point, normal on the side of the ray's origin, random numbers, and what a photon keeps of the hit."""
    chunk, steps = data.chunk, data.chunk.steps[i]
    position, normal, is_front = hit_point(i, chunk)
    set_column(chunk.position, i, position)
    set_column(chunk.normal, i, normal)
    chunk.is_outside[i] = Int(is_front)
    words = hash4(data.limits.key, chunk.photon[i], steps)
    chunk.words[0, i], chunk.words[1, i], chunk.words[2, i], chunk.words[3, i] = words
    put_photon(i, position, is_front, pack_flux(column(chunk.flux, i), unit32(words[3])), data)
    chunk.tally[i] = stored(i, steps, data)


@inlined
def hit_point(i: int, chunk: Chunk) -> tuple[Vec3, Vec3, bool]:
    """Where a ray ends, the facet's normal on the side of its origin, and whether that is the outer one."""
    ray, normal = column(chunk.ray, i), column(chunk.normal, i)
    position = along(column(chunk.origin, i), ray, chunk.distance[i])
    # Along the ray rounding takes the point off the triangle; back to its plane.
    position = along(position, normal, chunk.plane[i] - dot(normal, position))
    is_front = dot(normal, ray) <= ZERO
    return position, scale(normal, ONE if is_front else -ONE), is_front


@inlined
def put_photon(i: int, position: Vec3, is_front: bool, flux: np.uint32, data: Landing) -> None:
    """The photon of a hit, whether it stays or not."""
    chunk, word = data.chunk, data.photons + 3 * WAITING_STEP
    front, back = chunk.packed_front[i], chunk.packed_back[i]  # read both: a choice of reads would not vectorise
    put3(data.photons, WAITING_STEP, i, position)
    put(word, i, np.uint32(pack_unit(scale(column(chunk.ray, i), -ONE))))
    put(word + WAITING_STEP, i, front if is_front else back)
    put(word + 2 * WAITING_STEP, i, np.uint32(flux))
    put(word + 3 * WAITING_STEP, i, chunk.photon[i])


@inlined
def stored(i: int, steps: np.uint32, data: Landing) -> np.uint32:
    """The tally of a photon that stays, or none."""
    stores = ((data.chunk.kind[i] & STORES) != 0) & (Int(steps) >= data.limits.min_bounces)
    return ONE_STORED if stores else NO_TALLY


@inlined
def keep_photons(view: View, count: int, output: PhotonOutput) -> None:
    """Store the photons of a chunk, which wait already, with gaps where one is not to stay."""
    photons, last = view.photons, view.photons + 6 * WAITING_STEP
    columns = three(photons, WAITING_STEP) + three(photons + 3 * WAITING_STEP, WAITING_STEP) + (last,)
    waits = output.waits[0] + close_gaps(address(view.chunk.tally), (ONE_STORED, ONE_STORED), count, columns)
    if waits >= CHUNK:
        waits -= CHUNK
        fill_block(address(output.waiting), address(output.blocks) + BLOCK_BYTES * output.filled[0], waits)
        output.filled[0] += 1
    output.waits[0] = waits


@inlined
def fill_block(waiting: int, block: int, rest: int) -> None:
    """Move photons that wait to a block, and the rest of them to the front."""
    for word in range(PHOTON_COLUMNS):
        for line in range(0, BLOCK_STEP, LINE_BYTES):
            copy_line(waiting + WAITING_STEP * word + line, block + BLOCK_STEP * word + line)
    each(move_photon, whole(rest), waiting)


@inlined
def move_photon(i: int, waiting: int) -> None:
    """Copy a photon that waits behind a whole block to the front."""
    for word in range(PHOTON_COLUMNS):
        first = waiting + word * WAITING_STEP
        put(first, i, get_word(first, CHUNK + i))


@inlined
def paint(i: int, view: View) -> None:
    """Multiply the diffuse colour with one of four texels, drawn so that the mean is the filtered texture.

    Fajardo, Wronski, Salvi, Pharr: Stochastic Texture Filtering, 2023.
    """
    chunk = view.chunk
    u, v = chunk.uv[0, i], chunk.uv[1, i]
    w = ONE - u - v
    x = w * chunk.uvs[0, i] + u * chunk.uvs[2, i] + v * chunk.uvs[4, i]
    y = w * chunk.uvs[1, i] + u * chunk.uvs[3, i] + v * chunk.uvs[5, i]
    _, u_x, u_y, _ = more_numbers(i, chunk)
    width, height = chunk.width[i], chunk.height[i]
    place = Int(texel_step(y, u_y, height) * width) + texel_step(x, u_x, width)
    texel = get_word(view.texels, Int(chunk.texels[i] + place))
    color = (
        get(view.decoded, texel & TEXEL_MASK),
        get(view.decoded, np.uint32(texel >> np.uint32(8)) & TEXEL_MASK),
        get(view.decoded, texel >> np.uint32(16)),
    )
    set_column(chunk.weight, i, multiply(column(chunk.weight, i), color))


@inlined
def texel_step(x: float, u: float, size: int) -> int:
    """One of two texels of a row or column that are blended at x, where each 1 repeats."""
    step = Int(np.floor((x - np.floor(x)) * Real(size) - HALF + u))
    step = Int(Int(step - size) if step >= size else (Int(step + size) if step < Int(0) else step))
    return Int(min(max(step, Int(0)), Int(size - Int(1))))  # places that are not there may hold anything


@inlined
def more_numbers(i: int, chunk: Chunk) -> tuple[float, float, float, float]:
    """A second draw of uniform numbers: for the lobe, texels (2) and nothing."""
    words = more4((chunk.words[0, i], chunk.words[1, i], chunk.words[2, i], chunk.words[3, i]))
    return unit32(words[0]), unit32(words[1]), unit32(words[2]), unit32(words[3])


@inlined
def face(i: int, chunk: Chunk) -> None:
    """A flat normal shades until something else is known."""
    normal = column(chunk.normal, i)
    set_column(chunk.shading, i, normal)
    set_column(chunk.wi, i, normal)
    chunk.is_directed[i] = Int(0)


@inlined
def bend_normal(k: int, view: View) -> None:
    """The shading normal between those of the corners, as `shaders.surface.surface_at` says."""
    chunk = view.chunk
    i = get_int(address(chunk.bent), k)
    flat, ray, shading = column(chunk.normal, i), column(chunk.ray, i), corners_normal(i, view)
    # Some files wind a triangle against its vertex normals: those then say which side is outside.
    outside = dot(flat, shading) >= ZERO
    shading = scale(shading, ONE if outside else -ONE)
    seen = dot(shading, ray) < -LEAST_COSINE  # else from behind the bent normal: only the flat one makes sense
    put(address(chunk.is_outside), i, Int(outside))
    set_column(chunk.shading, i, chosen(seen, shading, flat))


@inlined
def corners_normal(i: int, view: View) -> Vec3:
    """Returns the unit normal between those of a triangle's corners, on whichever side these are."""
    chunk = view.chunk
    u, v = get(address(chunk.uv), i), get(address(chunk.uv) + COLUMN_BYTES, i)
    corner = Int(get_int(address(chunk.triangle), i) * Int(9))
    a, b, c = get3(view.normals, 4, corner), get3(view.normals + 12, 4, corner), get3(view.normals + 24, 4, corner)
    return normalize(add(scale(a, ONE - u - v), add(scale(b, u), scale(c, v))))


@inlined
def correct_photon(k: int, view: View) -> None:
    """Have the flux that is stored count about the normal between the corners' ones: nothing, from behind it."""
    chunk = view.chunk
    i = get_int(address(chunk.bent), k)
    flat, ray, shading = column(chunk.normal, i), column(chunk.ray, i), corners_normal(i, view)
    cosine = dot(shading, ray)
    bent = max(-cosine if dot(flat, shading) >= ZERO else cosine, ZERO)
    flux = scale(column(chunk.flux, i), shading_normal_correction(bent, -dot(flat, ray)))
    number = unit32(get_word(address(chunk.words) + 3 * COLUMN_BYTES, i))
    put(view.photons + FLUX * WAITING_STEP, i, np.uint32(pack_flux(flux, number)))


@inlined
def chosen(condition: bool, a: Vec3, b: Vec3) -> Vec3:
    """a or b."""
    return (a[0] if condition else b[0], a[1] if condition else b[1], a[2] if condition else b[2])


@inlined
def scatter_mixed(count: int, view: View) -> None:
    """Choose one lobe in proportion to reflectance; its weight stands for all."""
    chunk = view.chunk
    each(choose_lobe, whole(count), chunk)
    each(scatter_phong, list_lobe(PHONG, count, chunk), view)
    each(scatter_mirror, list_lobe(MIRROR, count, chunk), view)
    each(scatter_dielectric, list_lobe(GLASS, count, chunk), view)


@inlined
def choose_lobe(i: int, chunk: Chunk) -> None:
    """The lobe, and the weight of those that stay diffuse."""
    paint, (phong, mirror, transmission) = column(chunk.weight, i), column(chunk.means, i)
    diffuse = mean(paint)
    total = diffuse + phong + mirror + transmission
    number, _, _, _ = more_numbers(i, chunk)
    pick = number * total
    after_diffuse, after_phong = pick >= diffuse, pick >= diffuse + phong
    after_mirror = pick >= diffuse + phong + mirror
    share = phong if after_diffuse else diffuse
    share = mirror if after_phong else share
    share = transmission if after_mirror else share
    is_mixed = (chunk.kind[i] & MIXED) != 0
    per_share = total / share if is_mixed else ONE
    chunk.lobe[i] = Int(after_diffuse & is_mixed) + Int(after_phong & is_mixed) + Int(after_mirror & is_mixed)
    chunk.per_share[i] = per_share
    set_column(chunk.weight, i, scale(paint, per_share))


@inlined
def list_lobe(lobe: np.uint32, count: int, chunk: Chunk) -> int:
    """List the places where a lobe is chosen, rounded up to whole vectors."""
    return whole(list_places(address(chunk.lobe), (ALL_BITS, lobe), count, lobe_places(lobe, chunk)))


@inlined
def lobe_places(lobe: np.uint32, chunk: Chunk) -> int:
    """Address of the list of a lobe."""
    return address(chunk.lobes) + COLUMN_BYTES * np.int64(lobe)


@inlined
def material_color(i: int, field: int, view: View) -> Vec3:
    """A colour of the material at a hit, by its offset in MATERIAL."""
    return get3(view.materials + field, 4, Int(get_int(address(view.chunk.material), i) * MATERIAL_STRIDE))


@inlined
def mirrored(i: int, view: View) -> Vec3:
    """The mirror image of the ray, in the world."""
    ray, normal = column(view.chunk.ray, i), column(view.chunk.shading, i)
    return subtract(ray, scale(normal, TWO * dot(ray, normal)))


@inlined
def direct(i: int, wi: Vec3, chunk: Chunk) -> None:
    """Give the next ray its direction."""
    set_column(chunk.wi, i, wi)
    put(address(chunk.is_directed), i, Int(1))


@inlined
def scatter_phong(k: int, view: View) -> None:
    """About the mirror direction; f cos / pdf is (n + 2) / (n + 1) cos, and nothing below the surface."""
    chunk = view.chunk
    i = get_int(lobe_places(PHONG, chunk), k)
    axis, shine, words = mirrored(i, view), get(address(chunk.shine), i), address(chunk.words)
    tangent, bitangent = frame(axis)
    local = cosine_power(unit32(get_word(words, i)), unit32(get_word(words + COLUMN_BYTES, i)), shine)
    wi = to_world(local, tangent, bitangent, axis)
    cosine = max(ZERO, dot(wi, column(chunk.shading, i)))
    gain = get(address(chunk.per_share), i) * cosine * (shine + TWO) / (shine + ONE)
    direct(i, wi, chunk)
    set_column(chunk.weight, i, scale(material_color(i, PHONG_BYTES, view), gain))


@inlined
def scatter_mirror(k: int, view: View) -> None:
    """As a perfect mirror."""
    chunk = view.chunk
    i = get_int(lobe_places(MIRROR, chunk), k)
    direct(i, mirrored(i, view), chunk)
    set_column(chunk.weight, i, scale(material_color(i, MIRROR_BYTES, view), get(address(chunk.per_share), i)))


@inlined
def scatter_dielectric(k: int, view: View) -> None:
    """Reflect by Fresnel, else refract."""
    chunk = view.chunk
    i = get_int(lobe_places(GLASS, chunk), k)
    ray, normal, ior = column(chunk.ray, i), column(chunk.shading, i), get(address(chunk.ior), i)
    eta = ior if get_int(address(chunk.is_outside), i) != 0 else ONE / ior
    cosine = -dot(ray, normal)
    # Snell: along the surface the direction is that of the ray over eta.
    cosine_t = math.sqrt(max(ZERO, ONE - (ONE - cosine * cosine) / (eta * eta)))
    refracted = add(scale(ray, ONE / eta), scale(normal, cosine / eta - cosine_t))
    reflects = unit32(get_word(address(chunk.words), i)) < fresnel(cosine, eta)
    direct(i, chosen(reflects, mirrored(i, view), refracted), chunk)
    set_column(chunk.weight, i, scale(material_color(i, TRANSMISSION_BYTES, view), get(address(chunk.per_share), i)))


@inlined
def end_path(i: int, chunk: Chunk) -> None:
    """A path ends as one that was absorbed."""
    chunk.tally[i] = (chunk.tally[i] & TALLY_MASK) | ONE_ABSORBED


@inlined
def end_spread(i: int, chunk: Chunk) -> None:
    """Nothing is left of a path that no mirror and no glass takes on."""
    is_sharp = (chunk.lobe[i] == Int(MIRROR)) | (chunk.lobe[i] == Int(GLASS))
    set_column(chunk.weight, i, scale(column(chunk.weight, i), ONE if is_sharp else ZERO))


@inlined
def bend_flux(k: int, view: View) -> None:
    """A diffuse direction is about the bent normal; and the flux counts for the flat one.

    A bent normal is not symmetric: Veach, Robust Monte Carlo Methods for Light Transport Simulation, 1997, 5.3.
    """
    chunk = view.chunk
    i = get_int(address(chunk.bent), k)
    ray, flat, shading = column(chunk.ray, i), column(chunk.normal, i), column(chunk.shading, i)
    wi = next_direction(i, chunk)
    direct(i, wi, chunk)
    leaves = (dot(wi, flat) > ZERO) == (dot(wi, shading) > ZERO)
    above, below = abs(dot(ray, shading) * dot(wi, flat)), abs(dot(ray, flat) * dot(wi, shading))
    correction = shading_normal_correction(above, below)
    set_column(chunk.weight, i, scale(column(chunk.weight, i), correction if leaves else ZERO))


@inlined
def choose_side(i: int, chunk: Chunk) -> None:
    """The next ray starts where it goes: clear of the surface on this side, or on the other one."""
    through = dot(column(chunk.normal, i), column(chunk.wi, i)) < ZERO
    chunk.clearance[i] = -chunk.clearance[i] if through else chunk.clearance[i]


@inlined
def decide(i: int, data: Landing) -> None:
    """Russian roulette; and where the next ray of a path starts."""
    chunk, steps = data.chunk, data.chunk.steps[i]
    flux, weight = column(chunk.flux, i), column(chunk.weight, i)
    left, fate = roulette(flux, weight, unit32(chunk.words[2, i]), is_cut(steps, data.limits))
    set_column(chunk.flux, i, left)
    chunk.steps[i] = np.uint32(steps + ONE_STEP)
    chunk.tally[i] += fate
    set_column(chunk.position, i, along(column(chunk.position, i), column(chunk.normal, i), chunk.clearance[i]))


@inlined
def is_cut(steps: np.uint32, limits: Limits) -> bool:
    """Whether a path that met one surface more than so many has met enough of them."""
    return Int(steps + ONE_STEP) >= limits.max_bounces


@inlined
def roulette(flux: Vec3, weight: Vec3, number: float, is_cut: bool) -> tuple[Vec3, np.uint32]:
    """Russian roulette by the share of flux that is left: the flux that goes on, and the tally of a path that ends."""
    left = multiply(flux, weight)
    before, after = largest(flux), largest(left)
    survives = number * before < after
    cut = ONE_TERMINATED if is_cut else NO_TALLY
    return scale(left, max(ONE, before / after)), cut if survives else ONE_ABSORBED


@inlined
def add_tallies(count: int, chunk: Chunk, output: PhotonOutput) -> None:
    """Count what became of the hits of a chunk."""
    total = NO_TALLY
    for i in range(count):
        total = np.uint32(total + chunk.tally[i])
    for counter in (STORED, ABSORBED, TERMINATED):
        output.counters[counter] += np.int64(total & TALLY_MASK)
        total >>= TALLY_BITS


@inlined
def keep_paths(flags: np.uint32, view: View, count: int) -> int:
    """Move the paths that go on behind those before; returns how many they are.

    A whole vector ends no later than the rays looked at, so that none is lost that is still to be shaded.
    """
    chunk, step, words = view.chunk, view.step, address(view.chunk.words)
    fates, numbers = address(chunk.tally), (words, words + COLUMN_BYTES)
    path = column_of(chunk.position) + (address(chunk.photon), address(chunk.steps)) + column_of(chunk.flux)
    kept_path = (
        three(view.kept_rays, step)
        + (view.kept_paths, view.kept_paths + STEPS * step)
        + three(view.kept_paths + PATH_FLUX * step, step)
    )
    if flags & (MIXED | BENT):
        turns = numbers + column_of(chunk.shading) + column_of(chunk.wi) + (address(chunk.is_directed),)
        kept = pack_columns(fates, (FATES, NO_TALLY), count, path + turns, kept_path + turns)
        each(turn, whole(kept), view)
    else:
        flat_turns = numbers + column_of(chunk.normal)
        kept = pack_columns(fates, (FATES, NO_TALLY), count, path + flat_turns, kept_path + flat_turns)
        each(turn_from_diffuse, whole(kept), view)
    return kept


@inlined
def turn(k: int, view: View) -> None:
    """Write the direction of a path that goes on."""
    put3(view.kept_rays + RAY_DIRECTION * view.step, view.step, k, next_direction(k, view.chunk))


@inlined
def turn_from_diffuse(k: int, view: View) -> None:
    """As `turn`, where all surfaces are flat and diffuse."""
    wi = diffuse_direction(k, column(view.chunk.normal, k), view.chunk)
    put3(view.kept_rays + RAY_DIRECTION * view.step, view.step, k, wi)


@inlined
def next_direction(i: int, chunk: Chunk) -> Vec3:
    """The direction that a lobe has given, else one by Lambert's law."""
    diffuse = diffuse_direction(i, column(chunk.shading, i), chunk)
    return chosen(get_int(address(chunk.is_directed), i) != 0, column(chunk.wi, i), diffuse)


@inlined
def diffuse_direction(i: int, normal: Vec3, chunk: Chunk) -> Vec3:
    """A direction by Lambert's law."""
    words = address(chunk.words)
    return lambertian(normal, unit32(get_word(words, i)), unit32(get_word(words + COLUMN_BYTES, i)))
