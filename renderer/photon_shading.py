"""Shading photons: a batch of hits becomes stored photons and the next rays.

Rays, hits and paths are columns, which small loops read and write in place, chunk by chunk, and which compile to vector
instructions. What few hits need (bent normals, textures, lobes beside the diffuse one) goes through lists of places.

A path that ends leaves its place to a fresh photon, so that a batch stays full until no photon is left. All is decided
by a photon's index and bounce: the thread, the batch and the place that it is in change no bit.
"""

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from renderer.columns import (
    CHUNK,
    COLUMN,
    COLUMN_BYTES,
    ROW_BYTES,
    WORD_BYTES,
    Places,
    each,
    gather_columns,
    gather_half_columns,
    get,
    get3,
    get_int,
    get_word,
    put,
    put3,
)
from renderer.packed_scene import PackedScene
from renderer.photon_map import DIRECTION, FLUX, NORMAL, Words, pack_flux, pack_unit
from renderer.photon_scene import (
    BENT,
    EMITTER,
    MATERIAL,
    MATERIAL_MASK,
    MIXED,
    NOTHING,
    OWN,
    STORES,
    TEXTURED,
    PhotonScene,
    Records,
)
from renderer.photon_store import (
    ABSORBED,
    BLOCK_BYTES,
    EMITTED,
    ESCAPED,
    INDEX,
    NOT_STORED,
    RANK,
    RAYS,
    STORED,
    TERMINATED,
    PhotonOutput,
)
from shaders.bsdf import Bsdf
from shaders.dielectric import fresnel
from shaders.own import Point, call_shader
from shaders.random import (
    STREAM_EMISSION,
    STREAM_PHOTON,
    Words4,
    hash4,
    hash_key,
    more4,
    unit32,
)
from shaders.real import HALF, ONE, TWO, ZERO, Int, Real
from shaders.sampling import cosine_hemisphere, cosine_power, uniform_sphere, uniform_triangle
from shaders.surface import texture_coordinates
from shaders.vector import Vec3, add, dot, frame, largest, mean, multiply, normalize, scale, subtract, to_world
from tracecore.compiled import compiled, inlined
from tracecore.rays import Floats, offset_of
from tracecore.vector import address, fetch_add, load_acquire

#: Golden ratio in 32 bits: multiples of it spread evenly, so that each light gets its share of any run of photons.
GOLDEN = np.uint32(2654435769)

#: Rows of rays and hits that hold directions and triangles, and rows of paths.
RAY_DIRECTION, HIT_ID = 4, 3
PHOTON, STEPS, PATH_FLUX, PATH_WORDS = 0, 1, 2, 5

#: A path's steps: surfaces met in the lower bits, how often it was stored in the upper ones.
RANK_SHIFT, BOUNCE_MASK = np.uint32(16), np.uint32(0xFFFF)
MOST_BOUNCES = 0xFFFF

EMITTER_BYTES, MATERIAL_BYTES = EMITTER.itemsize, MATERIAL.itemsize
MATERIAL_STRIDE = Int(MATERIAL_BYTES // 4)
PHONG_BYTES, MIRROR_BYTES, TRANSMISSION_BYTES = (
    offset_of(MATERIAL, name) for name in ("phong", "mirror", "transmission")
)
TEXELS_BYTES, TEXEL_MASK = offset_of(MATERIAL, "texels"), np.uint32(0xFF)

#: From one column of a block of photons to the next, and from the first eight columns of a launch to the others.
PHOTON_COLUMN, SECOND_ROW = 4 * CHUNK, 8 * COLUMN_BYTES

#: A bent normal changes a photon's flux by no more than this factor.
MOST_TILT = Real(4.0)

#: A bent normal farther from the ray than this cosine gives way to the flat one.
LEAST_COSINE = Real(1e-6)

#: Tallies of a hit: whether a photon was stored, and what ended the path. A byte for each, so that all are added up at
#: once for a chunk, which has less than 256 hits.
TALLY_BITS, TALLY_MASK = np.uint32(8), np.uint32(0xFF)
ONE_STORED, ONE_ABSORBED, ONE_ESCAPED, ONE_TERMINATED, NO_TALLY = (
    np.uint32(t) for t in (1, 1 << 8, 1 << 16, 1 << 24, 0)
)

#: Lobes, in the order in which one is chosen.
LOBES = 4
DIFFUSE, PHONG, MIRROR, GLASS = range(LOBES)

_SCALAR, _VECTOR = (COLUMN,), (3, COLUMN)

#: Columns of a chunk of hits. The first eight are FACET, then come the first eight of MATERIAL. position, next to it
#: shading: flat or bent normal on the side of the ray's origin, of which `normal` becomes the flat one. words: random
#: numbers for direction (2), roulette and rounding. wi: direction of the next ray. weight: share of the flux that goes
#: on, per channel; 0 is absorption. tally: of the hit. per_share: all reflectance over that of the lobe chosen. listed,
#: bent, lobes: places in the chunk.
COLUMNS = np.dtype(
    [
        ("normal", "<f4", _VECTOR),
        ("plane", "<f4", _SCALAR),
        ("clearance", "<f4", _SCALAR),
        ("kind", "<u4", _SCALAR),
        ("packed_front", "<u4", _SCALAR),
        ("packed_back", "<u4", _SCALAR),
        ("diffuse", "<f4", _VECTOR),
        ("means", "<f4", _VECTOR),
        ("shine", "<f4", _SCALAR),
        ("ior", "<f4", _SCALAR),
        ("position", "<f4", _VECTOR),
        ("shading", "<f4", _VECTOR),
        ("words", "<u4", (4, COLUMN)),
        ("wi", "<f4", _VECTOR),
        ("weight", "<f4", _VECTOR),
        ("triangle", "<i4", _SCALAR),
        ("material", "<i4", _SCALAR),
        ("is_outside", "<i4", _SCALAR),
        ("tally", "<u4", _SCALAR),
        ("lobe", "<i4", _SCALAR),
        ("per_share", "<f4", _SCALAR),
        ("uvs", "<f4", (8, COLUMN)),
        ("texels", "<i4", _SCALAR),
        ("width", "<i4", _SCALAR),
        ("height", "<i4", _SCALAR),
        ("unused", "<i4", _SCALAR),
        ("listed", "<i4", _SCALAR),
        ("bent", "<i4", _SCALAR),
        ("lobes", "<i4", (LOBES, COLUMN)),
        ("lengths", "<i4", (LOBES,)),
    ]
)

#: Columns of a chunk of photons that leave lights: EMITTER and which of them.
LAUNCH_COLUMNS = np.dtype(
    [
        ("corner", "<f4", _VECTOR),
        ("edge_1", "<f4", _VECTOR),
        ("edge_2", "<f4", _VECTOR),
        ("normal", "<f4", _VECTOR),
        ("emitted", "<f4", _VECTOR),
        ("around", "<f4", _SCALAR),
        ("light", "<i4", _SCALAR),
    ]
)

#: One record of `COLUMNS` or of `LAUNCH_COLUMNS`.
Chunk = Any


class PhotonTask(NamedTuple):
    """What decides the photons. sequence: the pass. min_bounces: 1 leaves out photons straight from a light.

    flux_unit: watts of a stored flux of 1. max_bounces: a path is cut after this many surfaces, 65535 at most.
    """

    seed: np.uint64
    sequence: int
    min_bounces: int
    max_bounces: int
    flux_unit: float


class PhotonScratch(NamedTuple):
    """Memory to work with. chunk: (1,) COLUMNS. launch: (1,) LAUNCH_COLUMNS. free: (column,) int32, places of a batch
    that are free for fresh photons. materials: those of the scene, and CHUNK of what shaders make of them at hits."""

    chunk: Records
    launch: Records
    free: Places
    materials: Records


class PhotonBatch(NamedTuple):
    """A batch as the tracer has it, and the paths that its rays belong to, side by side.

    rays: (8, column) float32, of which rows 3 and 7, t_min and t_max, are the caller's. hits: (4, column) float32, in
    the order of `tracecore.rays.HIT`. paths: (PATH_WORDS, column) uint32: photon index, steps, and the flux (float32
    bits) in units of the task's. capacity: rays that it may have, no more than columns have places.
    """

    rays: Floats
    hits: Floats
    paths: Words
    scratch: PhotonScratch
    capacity: int


class View(NamedTuple):
    """Addresses of what loops over a chunk read and write, with the bytes from one column to the next of those that are
    not scratch."""

    rays: int
    hits: int
    paths: int
    step: int
    block: int
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


class Launch(NamedTuple):
    """Where fresh photons go. rays, paths: addresses of a batch's columns, `step` bytes apart. free: address of the
    places. photon: the first. per_unit: 1 over the task's unit of flux."""

    rays: int
    paths: int
    step: int
    free: int
    photon: np.uint32
    per_unit: float
    key: Words4
    chunk: Chunk


def new_scratch(scene: PackedScene, column: int) -> PhotonScratch:
    """Memory for batches in columns of so many words."""
    materials = scene.photon_scene.materials
    return PhotonScratch(
        chunk=np.zeros(1, COLUMNS),
        launch=np.zeros(1, LAUNCH_COLUMNS),
        free=np.zeros(column, np.int32),
        materials=np.concatenate([materials, np.zeros(CHUNK, materials.dtype)]),
    )


def new_batch(scene: PackedScene, rays: Floats, hits: Floats, capacity: int) -> PhotonBatch:
    """A batch over columns of a tracer, and memory for its paths."""
    column = rays.shape[1]
    return PhotonBatch(rays, hits, np.zeros((PATH_WORDS, column), np.uint32), new_scratch(scene, column), capacity)


def needs_uv(scene: PackedScene) -> bool:
    """Whether shading reads u and v of hits."""
    return bool(scene.photon_scene.flags & (TEXTURED | BENT | OWN))


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
    with blocks for `active` more photons. Returns how many rays there are to trace now.
    """
    limits = Limits(
        np.int32(task.min_bounces),
        np.int32(min(task.max_bounces, MOST_BOUNCES)),
        hash_key(task.seed, task.sequence, STREAM_PHOTON),
    )
    ended = 0
    for first in range(0, active, CHUNK):
        ended = shade_chunk(scene, limits, batch, (first, min(CHUNK, active - first), ended), output)
    free = list_empty(batch.scratch.free, ended, active, batch.capacity)
    photon, fresh = take(supply, free)
    launch(scene.photon_scene, task, batch, np.uint32(photon), fresh)
    rays = active - ended + fresh
    if fresh < ended:
        close_up(batch, batch.scratch.free[fresh:ended], active)
    output.counters[EMITTED] += fresh
    output.counters[RAYS] += rays
    return rays


@inlined
def list_empty(free: Places, ended: int, active: int, capacity: int) -> int:
    """List the places behind the rays after those where paths ended; returns how many are free."""
    empty = max(0, capacity - active)
    for i in range(empty):
        free[ended + i] = active + i
    return ended + empty


@inlined
def take(supply: npt.NDArray[np.int64], wanted: int) -> tuple[int, int]:
    """Take photons from what threads share: the first, and how many."""
    end = supply[1]
    if wanted == 0 or np.int64(load_acquire(address(supply))) >= end:
        return end, 0
    photon = fetch_add(address(supply), wanted)
    return photon, max(0, min(wanted, end - photon))


@compiled
def close_up(batch: PhotonBatch, holes: Places, active: int) -> None:
    """Move the last rays to free places, in ascending order, so that those without holes come first."""
    last, highest = active - 1, len(holes) - 1
    for hole in holes[: np.searchsorted(holes, active - len(holes))]:
        while highest >= 0 and holes[highest] == last:
            last, highest = last - 1, highest - 1
        for row in (0, 1, 2, RAY_DIRECTION, RAY_DIRECTION + 1, RAY_DIRECTION + 2):
            batch.rays[row, hole] = batch.rays[row, last]
        for row in range(PATH_WORDS):
            batch.paths[row, hole] = batch.paths[row, last]
        last -= 1


@compiled
def shade_chunk(
    scene: PackedScene, limits: Limits, batch: PhotonBatch, span: tuple[int, int, int], output: PhotonOutput
) -> int:
    """Shade the hits of some rays. span: first ray, number of rays, and how many paths of the batch ended before.

    Returns how many have ended then.
    """
    first, count, ended = span
    flags, chunk = scene.photon_scene.flags, batch.scratch.chunk[0]
    view = View(
        rays=address(batch.rays) + 4 * first,
        hits=address(batch.hits) + 4 * first,
        paths=address(batch.paths) + 4 * first,
        step=4 * batch.rays.shape[1],
        block=address(output.blocks) + BLOCK_BYTES * output.filled[0],
        materials=address(batch.scratch.materials),
        normals=address(scene.surfaces.normals),
        texels=address(scene.photon_scene.texels),
        decoded=address(scene.photon_scene.decoded),
        chunk=chunk,
    )
    meet_facets(scene.photon_scene, view, count)
    each(land, count, (view, limits))
    if flags & TEXTURED:
        meet_textures(scene.photon_scene, view, count)
        each(paint, count, view)
    if flags & OWN:
        ask_shaders(scene, view, count)
    bent = list_bent(count, chunk) if flags & BENT else 0
    each(bend_normal, bent, view)
    each(scatter_diffuse, count, chunk)
    if flags & MIXED:
        scatter_mixed(count, view)
    each(tilt_flux, bent, view)
    each(decide, count, (view, limits))
    add_tallies(count, view, output)
    return list_ended(address(batch.scratch.free), (first, count, ended), chunk)


@inlined
def column(array: Floats, i: int) -> Vec3:
    """Vector i of three columns."""
    return (array[0, i], array[1, i], array[2, i])


@inlined
def set_column(array: Floats, i: int, vector: Vec3) -> None:
    """Set vector i of three columns."""
    array[0, i], array[1, i], array[2, i] = vector[0], vector[1], vector[2]


@inlined
def ray_at(i: int, view: View) -> Vec3:
    """Direction of a ray."""
    return get3(view.rays + RAY_DIRECTION * view.step, view.step, i)


@inlined
def meet_facets(scene: PhotonScene, view: View, count: int) -> None:
    """Facets and materials of the hits. A miss meets the last facet."""
    chunk, nothing, ids = view.chunk, np.uint32(len(scene.facets) - 1), view.hits + HIT_ID * view.step
    for i in range(count):
        chunk.triangle[i] = Int(min(get_word(ids, i), nothing))
    for i in range(count, (count + 7) // 8 * 8):
        chunk.triangle[i] = 0
    gather_columns(address(scene.facets), ROW_BYTES, chunk.triangle, count, address(chunk.normal))
    for i in range(CHUNK):
        chunk.material[i] = Int(chunk.kind[i] & MATERIAL_MASK)
    if scene.flags & MIXED:
        gather_columns(view.materials, MATERIAL_BYTES, chunk.material, count, address(chunk.diffuse))
    else:
        gather_half_columns(view.materials, MATERIAL_BYTES, chunk.material, count, address(chunk.diffuse))


@inlined
def meet_textures(scene: PhotonScene, view: View, count: int) -> None:
    """Texture coordinates of the facets' corners and textures of their materials."""
    chunk = view.chunk
    gather_columns(address(scene.uvs), ROW_BYTES, chunk.triangle, count, address(chunk.uvs))
    gather_half_columns(view.materials + TEXELS_BYTES, MATERIAL_BYTES, chunk.material, count, address(chunk.texels))


@inlined
def land(i: int, data: tuple[View, Limits]) -> None:
    """Hit point, normals on the side of the ray's origin, and the photon that is kept of the hit."""
    view, limits = data
    chunk, step = view.chunk, view.step
    origin, ray, t = get3(view.rays, step, i), ray_at(i, view), get(view.hits, i)
    normal = column(chunk.normal, i)
    front, back = chunk.packed_front[i], chunk.packed_back[i]  # read both: a choice of reads would not vectorise
    position = add(origin, scale(ray, t))
    # Along the ray rounding takes the point off the triangle; back to its plane.
    position = add(position, scale(normal, chunk.plane[i] - dot(normal, position)))
    is_front = dot(normal, ray) <= ZERO
    normal = scale(normal, ONE if is_front else -ONE)
    set_column(chunk.position, i, position)
    set_column(chunk.normal, i, normal)
    set_column(chunk.shading, i, normal)
    chunk.is_outside[i] = Int(is_front)

    photon, steps = get_word(view.paths, i), get_word(view.paths + STEPS * step, i)
    bounce = steps & BOUNCE_MASK
    words = hash4(limits.key, photon, bounce)
    chunk.words[0, i], chunk.words[1, i], chunk.words[2, i], chunk.words[3, i] = words
    stores = ((chunk.kind[i] & STORES) != 0) & (Int(bounce) >= limits.min_bounces)
    chunk.tally[i] = ONE_STORED if stores else NO_TALLY
    flux = get3(view.paths + PATH_FLUX * step, step, i)
    put3(view.block, PHOTON_COLUMN, i, position)
    put(view.block + DIRECTION * PHOTON_COLUMN, i, np.uint32(pack_unit(scale(ray, -ONE))))
    put(view.block + NORMAL * PHOTON_COLUMN, i, front if is_front else back)
    put(view.block + FLUX * PHOTON_COLUMN, i, np.uint32(pack_flux(flux, unit32(words[3]))))
    put(view.block + INDEX * PHOTON_COLUMN, i, photon)
    put(view.block + RANK * PHOTON_COLUMN, i, np.uint32(steps >> RANK_SHIFT) if stores else NOT_STORED)


@inlined
def list_bent(count: int, chunk: Chunk) -> int:
    """List the places of hits with bent normals; returns how many there are."""
    bent, listed = address(chunk.bent), 0
    for i in range(count):
        put(bent, listed, Int(i))
        listed += int((chunk.kind[i] & BENT) != 0)
    return listed


@inlined
def paint(i: int, view: View) -> None:
    """Multiply the diffuse colour with one of four texels, drawn so that the mean is the filtered texture.

    Fajardo, Wronski, Salvi, Pharr: Stochastic Texture Filtering, 2023.
    """
    chunk = view.chunk
    u, v = get(view.hits + view.step, i), get(view.hits + 2 * view.step, i)
    w = ONE - u - v
    x = w * chunk.uvs[0, i] + u * chunk.uvs[2, i] + v * chunk.uvs[4, i]
    y = w * chunk.uvs[1, i] + u * chunk.uvs[3, i] + v * chunk.uvs[5, i]
    _, u_x, u_y, _ = more_numbers(i, chunk)
    width, height = chunk.width[i], chunk.height[i]
    place = Int(texel_step(y, u_y, height) * width) + texel_step(x, u_x, width)
    texel = get_word(view.texels, Int(chunk.texels[i] + place))
    color = (
        get(view.decoded, texel & TEXEL_MASK),
        get(view.decoded, (texel >> np.uint32(8)) & TEXEL_MASK),
        get(view.decoded, texel >> np.uint32(16)),
    )
    set_column(chunk.diffuse, i, multiply(column(chunk.diffuse, i), color))


@compiled
def ask_shaders(scene: PackedScene, view: View, count: int) -> None:
    """Have the materials' own shaders say what their lobes are at the hits."""
    chunk, surfaces = view.chunk, scene.surfaces
    first_own = Int(len(scene.photon_scene.materials))
    for i in range(count):
        if chunk.kind[i] & OWN == 0:
            continue
        triangle, u, v = chunk.triangle[i], np.float64(get(view.hits + view.step, i)), get(view.hits + 2 * view.step, i)
        uv = texture_coordinates(surfaces.uvs, triangle, u, np.float64(v))
        point = Point(in_double(column(chunk.position, i)), in_double(column(chunk.normal, i)), uv)
        lobes = Bsdf(
            in_double(column(chunk.diffuse, i)),
            in_double(material_color(i, PHONG_BYTES, view)),
            in_double(material_color(i, MIRROR_BYTES, view)),
            in_double(material_color(i, TRANSMISSION_BYTES, view)),
            np.float64(chunk.shine[i]),
            np.float64(chunk.ior[i]),
        )
        lobes = call_shader(surfaces.shaders[chunk.material[i]], point, lobes)
        chunk.material[i] = first_own + Int(i)
        set_lobes(i, lobes, view)


@inlined
def in_double(vector: Vec3) -> Vec3:
    """In float64, which shaders take."""
    return (np.float64(vector[0]), np.float64(vector[1]), np.float64(vector[2]))


@inlined
def in_single(vector: Vec3) -> Vec3:
    """In float32."""
    return (Real(vector[0]), Real(vector[1]), Real(vector[2]))


@inlined
def set_lobes(i: int, lobes: Bsdf, view: View) -> None:
    """The lobes of a hit whose material is its own."""
    chunk = view.chunk
    material = view.materials + MATERIAL_BYTES * np.int64(chunk.material[i])
    put3(material + PHONG_BYTES, WORD_BYTES, 0, in_single(lobes.phong))
    put3(material + MIRROR_BYTES, WORD_BYTES, 0, in_single(lobes.mirror))
    put3(material + TRANSMISSION_BYTES, WORD_BYTES, 0, in_single(lobes.transmission))
    set_column(chunk.diffuse, i, in_single(lobes.diffuse))
    set_column(chunk.means, i, in_single((mean(lobes.phong), mean(lobes.mirror), mean(lobes.transmission))))
    chunk.shine[i], chunk.ior[i] = Real(lobes.shine), Real(lobes.ior)


@inlined
def texel_step(x: float, u: float, size: int) -> int:
    """One of two texels of a row or column that are blended at x, where each 1 repeats."""
    step = Int(np.floor((x - np.floor(x)) * Real(size) - HALF + u))
    return Int(Int(step - size) if step >= size else (Int(step + size) if step < Int(0) else step))


@inlined
def more_numbers(i: int, chunk: Chunk) -> tuple[float, float, float, float]:
    """A second draw of uniform numbers: for the lobe, texels (2) and nothing."""
    words = more4((chunk.words[0, i], chunk.words[1, i], chunk.words[2, i], chunk.words[3, i]))
    return unit32(words[0]), unit32(words[1]), unit32(words[2]), unit32(words[3])


@inlined
def bend_normal(k: int, view: View) -> None:
    """The shading normal between those of the corners, as `shaders.surface.surface_at` says."""
    chunk = view.chunk
    i = np.int64(chunk.bent[k])
    flat, ray = column(chunk.normal, i), ray_at(i, view)
    u, v = get(view.hits + view.step, i), get(view.hits + 2 * view.step, i)
    corner = Int(chunk.triangle[i] * Int(9))
    a, b, c = get3(view.normals, 4, corner), get3(view.normals + 12, 4, corner), get3(view.normals + 24, 4, corner)
    shading = normalize(add(scale(a, ONE - u - v), add(scale(b, u), scale(c, v))))
    # Some files wind a triangle against its vertex normals: those then say which side is outside.
    outside = dot(flat, shading) >= ZERO
    shading = scale(shading, ONE if outside else -ONE)
    seen = dot(shading, ray) < -LEAST_COSINE  # else from behind the bent normal: only the flat one makes sense
    chunk.is_outside[i] = Int(outside)
    set_column(chunk.shading, i, chosen(seen, shading, flat))


@inlined
def chosen(condition: bool, a: Vec3, b: Vec3) -> Vec3:
    """a or b."""
    return (a[0] if condition else b[0], a[1] if condition else b[1], a[2] if condition else b[2])


@inlined
def scatter_diffuse(i: int, chunk: Chunk) -> None:
    """A direction by Lambert's law for every hit; those that take another lobe get theirs later."""
    normal = column(chunk.shading, i)
    tangent, bitangent = frame(normal)
    local = cosine_hemisphere(unit32(chunk.words[0, i]), unit32(chunk.words[1, i]))
    set_column(chunk.wi, i, to_world(local, tangent, bitangent, normal))
    set_column(chunk.weight, i, column(chunk.diffuse, i))


@inlined
def scatter_mixed(count: int, view: View) -> None:
    """Choose one lobe in proportion to reflectance; its weight stands for all."""
    chunk = view.chunk
    each(choose_lobe, count, chunk)
    list_lobes(count, chunk)
    each(scatter_phong, np.int64(chunk.lengths[PHONG]), view)
    each(scatter_mirror, np.int64(chunk.lengths[MIRROR]), view)
    each(scatter_dielectric, np.int64(chunk.lengths[GLASS]), view)


@inlined
def choose_lobe(i: int, chunk: Chunk) -> None:
    """The lobe, and the weight of those that stay diffuse."""
    paint, (phong, mirror, transmission) = column(chunk.diffuse, i), column(chunk.means, i)
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
def list_lobes(count: int, chunk: Chunk) -> None:
    """Sort the places by the lobe that is chosen there. Without branches, which could not be foretold."""
    places, listed = address(chunk.listed), 0
    for i in range(count):
        put(places, listed, Int(i))
        listed += int(chunk.lobe[i] != 0)
    lengths, lobes = address(chunk.lengths), address(chunk.lobes)
    for lobe in range(LOBES):
        put(lengths, lobe, Int(0))
    for k in range(listed):
        i = get_int(places, k)
        lobe = get_int(address(chunk.lobe), i)
        length = get_int(lengths, lobe)
        put(lobes + COLUMN_BYTES * lobe, length, i)
        put(lengths, lobe, Int(length + Int(1)))


@inlined
def material_color(i: int, field: int, view: View) -> Vec3:
    """A colour of the material at a hit, by its offset in MATERIAL."""
    return get3(view.materials + field, 4, Int(view.chunk.material[i] * MATERIAL_STRIDE))


@inlined
def mirrored(i: int, view: View) -> Vec3:
    """The mirror image of the ray, in the world."""
    ray, normal = ray_at(i, view), column(view.chunk.shading, i)
    return subtract(ray, scale(normal, TWO * dot(ray, normal)))


@inlined
def scatter_phong(k: int, view: View) -> None:
    """About the mirror direction; f cos / pdf is (n + 2) / (n + 1) cos, and nothing below the surface."""
    chunk = view.chunk
    i = np.int64(chunk.lobes[PHONG, k])
    axis, shine = mirrored(i, view), chunk.shine[i]
    tangent, bitangent = frame(axis)
    local = cosine_power(unit32(chunk.words[0, i]), unit32(chunk.words[1, i]), shine)
    wi = to_world(local, tangent, bitangent, axis)
    cosine = max(ZERO, dot(wi, column(chunk.shading, i)))
    gain = chunk.per_share[i] * cosine * (shine + TWO) / (shine + ONE)
    set_column(chunk.wi, i, wi)
    set_column(chunk.weight, i, scale(material_color(i, PHONG_BYTES, view), gain))


@inlined
def scatter_mirror(k: int, view: View) -> None:
    """As a perfect mirror."""
    chunk = view.chunk
    i = np.int64(chunk.lobes[MIRROR, k])
    set_column(chunk.wi, i, mirrored(i, view))
    set_column(chunk.weight, i, scale(material_color(i, MIRROR_BYTES, view), chunk.per_share[i]))


@inlined
def scatter_dielectric(k: int, view: View) -> None:
    """Reflect by Fresnel, else refract."""
    chunk = view.chunk
    i = np.int64(chunk.lobes[GLASS, k])
    ray, normal, ior = ray_at(i, view), column(chunk.shading, i), chunk.ior[i]
    eta = ior if chunk.is_outside[i] != 0 else ONE / ior
    cosine = -dot(ray, normal)
    # Snell: along the surface the direction is that of the ray over eta.
    cosine_t = math.sqrt(max(ZERO, ONE - (ONE - cosine * cosine) / (eta * eta)))
    refracted = add(scale(ray, ONE / eta), scale(normal, cosine / eta - cosine_t))
    reflects = unit32(chunk.words[0, i]) < fresnel(cosine, eta)
    set_column(chunk.wi, i, chosen(reflects, mirrored(i, view), refracted))
    set_column(chunk.weight, i, scale(material_color(i, TRANSMISSION_BYTES, view), chunk.per_share[i]))


@inlined
def tilt_flux(k: int, view: View) -> None:
    """A bent normal is not symmetric: Veach, Robust Monte Carlo Methods for Light Transport Simulation, 1997, 5.3."""
    chunk = view.chunk
    i = np.int64(chunk.bent[k])
    ray, wi = ray_at(i, view), column(chunk.wi, i)
    flat, shading = column(chunk.normal, i), column(chunk.shading, i)
    leaves = (dot(wi, flat) > ZERO) == (dot(wi, shading) > ZERO)
    above, below = abs(dot(ray, shading) * dot(wi, flat)), abs(dot(ray, flat) * dot(wi, shading))
    tilt = min(above / below, MOST_TILT) if below > ZERO else ONE
    set_column(chunk.weight, i, scale(column(chunk.weight, i), tilt if leaves else ZERO))


@inlined
def decide(i: int, data: tuple[View, Limits]) -> None:
    """Russian roulette by the share of flux that is left; and the ray that a path goes on with."""
    view, limits = data
    chunk, step = view.chunk, view.step
    flux, steps = get3(view.paths + PATH_FLUX * step, step, i), get_word(view.paths + STEPS * step, i)
    left = multiply(flux, column(chunk.weight, i))
    before, after = largest(flux), largest(left)
    survives = unit32(chunk.words[2, i]) * before < after
    put3(view.paths + PATH_FLUX * step, step, i, scale(left, max(ONE, before / after)))
    tally = chunk.tally[i]
    steps = np.uint32(steps + np.uint32(1) + (tally << RANK_SHIFT))
    put(view.paths + STEPS * step, i, steps)
    cut = NO_TALLY if Int(steps & BOUNCE_MASK) < limits.max_bounces else ONE_TERMINATED
    gone = ONE_ESCAPED if (chunk.kind[i] & NOTHING) != 0 else ONE_ABSORBED
    chunk.tally[i] = tally + (cut if survives else gone)

    wi, normal = column(chunk.wi, i), column(chunk.normal, i)
    reach = chunk.clearance[i] * (ONE if dot(normal, wi) >= ZERO else -ONE)
    put3(view.rays, step, i, add(column(chunk.position, i), scale(normal, reach)))
    put3(view.rays + RAY_DIRECTION * step, step, i, wi)


@inlined
def add_tallies(count: int, view: View, output: PhotonOutput) -> None:
    """Count what became of the hits of a chunk, and end its block."""
    total = NO_TALLY
    for i in range(count):
        total = np.uint32(total + view.chunk.tally[i])
    for counter in (STORED, ABSORBED, ESCAPED, TERMINATED):
        output.counters[counter] += np.int64(total & TALLY_MASK)
        total >>= TALLY_BITS
    for i in range(count, CHUNK):
        put(view.block + RANK * PHOTON_COLUMN, i, NOT_STORED)
    output.filled[0] += 1


@inlined
def list_ended(free: int, span: tuple[int, int, int], chunk: Chunk) -> int:
    """List the places where paths ended, at an address, behind those listed before."""
    first, count, ended = span
    for i in range(count):
        put(free, ended, Int(first + i))
        ended += int(chunk.tally[i] > ONE_STORED)
    return ended


@compiled
def launch(scene: PhotonScene, task: PhotonTask, batch: PhotonBatch, photon: np.uint32, fresh: int) -> None:
    """Let so many photons from `photon` on leave the lights, into the first of the free places."""
    key = hash_key(task.seed, task.sequence, STREAM_EMISSION)
    shift = hash4(key, np.uint32(0), np.uint32(1))[0]
    chunk = batch.scratch.launch[0]
    for done in range(0, fresh, CHUNK):
        data = Launch(
            rays=address(batch.rays),
            paths=address(batch.paths),
            step=4 * batch.rays.shape[1],
            free=address(batch.scratch.free) + 4 * done,
            photon=np.uint32(photon + np.uint32(done)),
            per_unit=Real(1.0 / task.flux_unit),
            key=key,
            chunk=chunk,
        )
        count = min(CHUNK, fresh - done)
        choose_lights(scene, data.photon, shift, chunk)
        emitters = address(scene.emitters)
        gather_columns(emitters, EMITTER_BYTES, chunk.light, count, address(chunk.corner))
        gather_columns(emitters + ROW_BYTES, EMITTER_BYTES, chunk.light, count, address(chunk.corner) + SECOND_ROW)
        each(leave_light, count, data)


@inlined
def choose_lights(scene: PhotonScene, photon: np.uint32, shift: np.uint32, chunk: Chunk) -> None:
    """The light of each photon, chosen in proportion to power by the alias method."""
    lights, aliases, chosen_lights = np.uint64(len(scene.emitters)), address(scene.aliases), address(chunk.light)
    for i in range(CHUNK):
        spread = np.uint32(np.uint32(photon + np.uint32(i)) * GOLDEN + shift)
        product = np.uint64(spread) * lights
        own = Int(product >> np.uint64(32))
        share, alias = get_word(aliases, Int(own + own)), get_int(aliases + 4, Int(own + own))
        put(chosen_lights, i, own if np.uint32(product) < share else alias)


@inlined
def leave_light(i: int, data: Launch) -> None:
    """Origin, direction and flux of a photon."""
    chunk, step, place = data.chunk, data.step, get_int(data.free, i)
    index = np.uint32(data.photon + np.uint32(i))
    words = hash4(data.key, index, np.uint32(0))
    s, t = uniform_triangle(unit32(words[2]), unit32(words[3]))
    on_light = add(scale(column(chunk.edge_1, i), s), scale(column(chunk.edge_2, i), t))
    normal, around = column(chunk.normal, i), chunk.around[i] > ZERO
    tangent, bitangent = frame(normal)
    sphere = uniform_sphere(unit32(words[0]), unit32(words[1]))
    hemisphere = cosine_hemisphere(unit32(words[0]), unit32(words[1]))
    wi = to_world(chosen(around, sphere, hemisphere), tangent, bitangent, normal)
    put3(data.rays, step, place, add(column(chunk.corner, i), on_light))
    put3(data.rays + RAY_DIRECTION * step, step, place, wi)
    put(data.paths, place, index)
    put(data.paths + STEPS * step, place, np.uint32(0))
    put3(data.paths + PATH_FLUX * step, step, place, scale(column(chunk.emitted, i), data.per_unit))
