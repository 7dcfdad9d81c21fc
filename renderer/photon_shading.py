"""Shading photons: a batch of hits becomes stored photons and the next rays.

One loop that does everything to a hit at a time stays scalar code. Here each step is a small loop of its own over a
chunk of hits, in columns that stay in the cache, and most of them compile to vector instructions. Steps that few hits
need (bent normals, textures, lobes beside the diffuse one) go through lists of their places in the chunk.

All is decided by a photon's index and bounce: neither the batch nor the chunk that a hit is in changes a bit.
"""

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from renderer.columns import (
    CHUNK,
    COLUMN_BYTES,
    HALF_ROW_BYTES,
    ROW_BYTES,
    columns_to_rows,
    copy_row,
    gather_columns,
    half_rows_to_columns,
    rows_to_columns,
)
from renderer.packed_scene import PackedScene
from renderer.photon_map import PHOTON, Words, pack_flux, pack_unit
from renderer.photon_scene import (
    BENT,
    EMITTER,
    MATERIAL,
    MATERIAL_MASK,
    MIXED,
    NOTHING,
    STORES,
    TEXTURED,
    PhotonScene,
    Record,
    Records,
)
from shaders.compilation import compiled as inlined
from shaders.dielectric import fresnel
from shaders.random import (
    STREAM_EMISSION,
    STREAM_PHOTON,
    Words4,
    hash4,
    hash_key,
    more4,
    unit32,
)
from shaders.real import ONE, TWO, ZERO, Real
from shaders.sampling import cosine_hemisphere, cosine_power, uniform_sphere, uniform_triangle
from shaders.surface import blend
from shaders.textures import random_texel
from shaders.vector import Color, Vec3, add, dot, frame, largest, mean, multiply, normalize, scale, subtract, to_world
from tracecore.compiled import compiled
from tracecore.rays import Floats
from tracecore.vector import address, load4, load_double, store

#: Golden ratio in 32 bits: multiples of it spread evenly, so that each light gets its share of any run of photons.
GOLDEN = np.uint32(2654435769)

#: Bits of a key that tell the photons of one path apart.
RANK_BITS = np.uint32(16)

PHOTON_BYTES, EMITTER_BYTES, MATERIAL_BYTES = PHOTON.itemsize, EMITTER.itemsize, MATERIAL.itemsize

#: A bent normal changes a photon's flux by no more than this factor.
MOST_TILT = Real(4.0)

#: A bent normal farther from the ray than this cosine gives way to the flat one.
LEAST_COSINE = Real(1e-6)

EMITTED, STORED, ABSORBED, ESCAPED, TERMINATED, RAYS, COUNTERS = range(7)

_SCALAR, _VECTOR = (CHUNK,), (3, CHUNK)

#: A path on its way, beside its ray: index of the photon, surfaces met, how often it was stored, and its flux in units
#: of the task's.
PATH = np.dtype([("photon", "<u4"), ("bounce", "<i4"), ("rank", "<i4"), ("flux", "<f4", 3), ("unused", "<u4", 2)])

_RAY_COLUMNS = [
    ("origin", "<f4", _VECTOR),
    ("t_min", "<f4", _SCALAR),
    ("ray", "<f4", _VECTOR),
    ("t_max", "<f4", _SCALAR),
]
_NEXT_COLUMNS = [
    ("next_origin", "<f4", _VECTOR),
    ("next_t_min", "<f4", _SCALAR),
    ("wi", "<f4", _VECTOR),
    ("next_t_max", "<f4", _SCALAR),
]
_PATH_COLUMNS = [
    ("photon", "<u4", _SCALAR),
    ("bounce", "<i4", _SCALAR),
    ("rank", "<i4", _SCALAR),
    ("flux", "<f4", _VECTOR),
    ("unused", "<u4", (2, CHUNK)),
]
_NEXT_ROWS = [("next_rows", "<f4", (CHUNK, 8)), ("path_rows", "<f4", (CHUNK, 8))]

#: Columns of a chunk of hits. Groups are transposed rows: RAY, PATH, HIT, FACET, what is kept of a photon with its
#: key, the next RAY, the beginning of MATERIAL. normal, shading: flat and bent normal on the side of the ray's origin.
#: wi: direction of the next ray. weight: share of the flux that goes on, per channel; 0 is absorption. u: uniform
#: numbers for lobe, direction (2) and roulette. spare: more of them for rounding and texels. stores, goes_on: 0 or 1.
#: listed, bent, lobes: places in the chunk; lengths: of the lists of lobes. per_share: all reflectance over that of the
#: lobe chosen.
COLUMNS = np.dtype(
    [
        *_RAY_COLUMNS,
        *_PATH_COLUMNS,
        ("normal", "<f4", _VECTOR),
        ("plane", "<f4", _SCALAR),
        ("clearance", "<f4", _SCALAR),
        ("kind", "<u4", _SCALAR),
        ("packed_front", "<u4", _SCALAR),
        ("packed_back", "<u4", _SCALAR),
        ("position", "<f4", _VECTOR),
        ("packed_ray", "<u4", _SCALAR),
        ("packed_normal", "<u4", _SCALAR),
        ("packed_flux", "<u4", _SCALAR),
        ("key", "<u4", (2, CHUNK)),
        *_NEXT_COLUMNS,
        ("shading", "<f4", _VECTOR),
        ("diffuse", "<f4", _VECTOR),
        ("means", "<f4", _VECTOR),
        ("shine", "<f4", _SCALAR),
        ("ior", "<f4", _SCALAR),
        ("weight", "<f4", _VECTOR),
        ("u", "<f4", (4, CHUNK)),
        ("spare", "<f4", _VECTOR),
        ("t", "<f4", _SCALAR),
        ("uv", "<f4", (2, CHUNK)),
        ("prim_id", "<u4", _SCALAR),
        ("triangle", "<i4", _SCALAR),
        ("material", "<i4", _SCALAR),
        ("is_outside", "<i4", _SCALAR),
        ("stores", "<i4", _SCALAR),
        ("goes_on", "<i4", _SCALAR),
        ("listed", "<i4", _SCALAR),
        ("bent", "<i4", _SCALAR),
        ("lobes", "<i4", (4, CHUNK)),
        ("lengths", "<i8", (4,)),
        ("per_share", "<f4", _SCALAR),
        *_NEXT_ROWS,
    ]
)

#: Columns of a chunk of photons that leave lights: EMITTER, and the rays and paths that they become.
LAUNCH_COLUMNS = np.dtype(
    [
        ("corner", "<f4", _VECTOR),
        ("edge_1", "<f4", _VECTOR),
        ("edge_2", "<f4", _VECTOR),
        ("normal", "<f4", _VECTOR),
        ("emitted", "<f4", _VECTOR),
        ("around", "<f4", _SCALAR),
        *_NEXT_COLUMNS,
        *_PATH_COLUMNS,
        ("light", "<i4", _SCALAR),
        *_NEXT_ROWS,
    ]
)

#: One record of `COLUMNS` or of `LAUNCH_COLUMNS`.
Chunk = Any


class PhotonTask(NamedTuple):
    """What decides the photons. sequence: the pass. min_bounces: 1 leaves out photons straight from a light.

    flux_unit: watts of a stored flux of 1. max_bounces: a path is cut after this many surfaces.
    """

    seed: np.uint64
    sequence: int
    min_bounces: int
    max_bounces: int
    flux_unit: float


class PhotonPaths(NamedTuple):
    """Paths on their way, one row per ray, and the columns of the chunk at hand. rows: (n, 8) float32, the bytes of
    `PATH`. chunk: (1,) COLUMNS. launch: (1,) LAUNCH_COLUMNS."""

    rows: Floats
    chunk: Records
    launch: Records


class PhotonOutput(NamedTuple):
    """Where photons land. photons: (n, WORDS) uint32. keys: (n,) uint64, photon index and rank in its path. counters:
    (COUNTERS,) int64."""

    photons: Words
    keys: npt.NDArray[np.uint64]
    counters: npt.NDArray[np.int64]


class RayBatch(NamedTuple):
    """A batch as the tracer has it. rays: (n, 8) float32. hits: (n, 4) float32."""

    rays: Floats
    hits: Floats


def new_paths(capacity: int) -> PhotonPaths:
    """Room for the paths of one batch."""
    chunk, launch = np.zeros(1, COLUMNS), np.zeros(1, LAUNCH_COLUMNS)
    chunk["next_t_max"] = launch["next_t_max"] = np.inf
    return PhotonPaths(rows=np.zeros((capacity, 8), np.float32), chunk=chunk, launch=launch)


@compiled
def advance_photons(
    scene: PackedScene,
    task: PhotonTask,
    batch: RayBatch,
    paths: PhotonPaths,
    active: int,
    photon_range: npt.NDArray[np.int64],
    output: PhotonOutput,
) -> int:
    """Shade the hits of the first `active` rays, and fill the batch up with fresh photons.

    photon_range: (2,) next photon to start and the end of the range; moved on. output: with room for `active` more
    photons. Returns how many rays are there to trace now.
    """
    kept = 0
    for first in range(0, active, CHUNK):
        kept = shade_chunk(scene, task, batch, paths, (first, min(CHUNK, active - first), kept), output)
    fresh = min(len(batch.rays) - kept, photon_range[1] - photon_range[0])
    for done in range(0, fresh, CHUNK):
        count, photon = min(CHUNK, fresh - done), np.uint32(photon_range[0] + done)
        launch(scene.photon_scene, task, photon, count, paths.launch[0])
        set_off(count, paths.launch[0], batch.rays, paths.rows, kept + done)
    photon_range[0] += fresh
    output.counters[EMITTED] += fresh
    output.counters[RAYS] += kept + fresh
    return kept + fresh


@compiled
def shade_chunk(
    scene: PackedScene,
    task: PhotonTask,
    batch: RayBatch,
    paths: PhotonPaths,
    span: tuple[int, int, int],
    output: PhotonOutput,
) -> int:
    """Shade the hits of some rays. span: first ray, number of rays, and how many rays to trace next there are already.

    Returns how many there are then.
    """
    first, count, kept = span
    chunk, facets, flags = paths.chunk[0], scene.photon_scene, scene.photon_scene.flags
    load(batch, paths.rows, first, count, chunk)
    draw_numbers(hash_key(task.seed, task.sequence, STREAM_PHOTON), count, chunk)
    meet_facets(facets, batch.hits, first, count, chunk)
    if flags & TEXTURED:
        paint(scene, list_kind(TEXTURED, chunk.listed, count, chunk), chunk)
    bent = list_kind(BENT, chunk.bent, count, chunk) if flags & BENT else 0
    bend_normals(scene.surfaces.normals, bent, chunk)
    store_photons(task, count, chunk, output)
    scatter_diffuse(count, chunk)
    if flags & MIXED:
        scatter_mixed(facets.materials, list_kind(MIXED, chunk.listed, count, chunk), chunk)
    tilt_flux(bent, chunk)
    decide(task, count, chunk, output.counters)
    return kept + go_on(count, chunk, batch.rays, paths.rows, kept)


@inlined
def column(array: Floats, i: int) -> Vec3:
    """Vector i of three columns."""
    return (array[0, i], array[1, i], array[2, i])


@inlined
def set_column(array: Floats, i: int, vector: Vec3) -> None:
    """Set vector i of three columns."""
    array[0, i], array[1, i], array[2, i] = vector[0], vector[1], vector[2]


@compiled
def load(batch: RayBatch, path_rows: Floats, first: int, count: int, chunk: Chunk) -> None:
    """Rays and paths of a chunk into columns."""
    rows_to_columns(address(batch.rays) + ROW_BYTES * first, count, address(chunk.origin))
    rows_to_columns(address(path_rows) + ROW_BYTES * first, count, address(chunk.photon))


@compiled
def draw_numbers(key: Words4, count: int, chunk: Chunk) -> None:
    """All random numbers of a bounce from one hash."""
    for i in range(count):
        words = hash4(key, chunk.photon[i], np.uint32(chunk.bounce[i]))
        chunk.u[0, i], chunk.u[1, i] = unit32(words[0]), unit32(words[1])
        chunk.u[2, i], chunk.u[3, i] = unit32(words[2]), unit32(words[3])
        more = more4(words)
        set_column(chunk.spare, i, (unit32(more[0]), unit32(more[1]), unit32(more[2])))


@compiled
def meet_facets(scene: PhotonScene, hits: Floats, first: int, count: int, chunk: Chunk) -> None:
    """Hit points, normals on the side of the ray's origin, and diffuse colours. A miss meets the last facet."""
    half_rows_to_columns(address(hits) + HALF_ROW_BYTES * first, count, address(chunk.t))
    nothing = np.uint32(len(scene.facets) - 1)
    for i in range(CHUNK):
        chunk.triangle[i] = np.int32(min(chunk.prim_id[i], nothing))
    gather_columns(address(scene.facets), ROW_BYTES, chunk.triangle, count, address(chunk.normal))
    face_rays(count, chunk)
    for i in range(CHUNK):
        chunk.material[i] = np.int32(chunk.kind[i] & MATERIAL_MASK)
    gather_columns(address(scene.materials), MATERIAL_BYTES, chunk.material, count, address(chunk.diffuse))


@inlined
def face_rays(count: int, chunk: Chunk) -> None:
    """Hit points, and normals turned to the side that rays come from."""
    for i in range(count):
        normal, ray = column(chunk.normal, i), column(chunk.ray, i)
        front, back = chunk.packed_front[i], chunk.packed_back[i]  # read both: a choice of reads would not vectorise
        position = add(column(chunk.origin, i), scale(ray, chunk.t[i]))
        # Along the ray rounding takes the point off the triangle; back to its plane.
        position = add(position, scale(normal, chunk.plane[i] - dot(normal, position)))
        is_front = dot(normal, ray) <= ZERO
        normal = scale(normal, ONE if is_front else -ONE)
        set_column(chunk.position, i, position)
        set_column(chunk.normal, i, normal)
        set_column(chunk.shading, i, normal)
        chunk.is_outside[i] = np.int32(is_front)
        chunk.packed_normal[i] = front if is_front else back


@inlined
def list_kind(flag: np.uint32, places: npt.NDArray[np.int32], count: int, chunk: Chunk) -> int:
    """List the places of hits on facets with a flag; returns how many there are."""
    listed = 0
    for i in range(count):
        places[listed] = i
        listed += int((chunk.kind[i] & flag) != 0)
    return listed


@compiled
def paint(scene: PackedScene, listed: int, chunk: Chunk) -> None:
    """Multiply diffuse colours with a texel, chosen so that the mean is the filtered texture.

    Fajardo, Wronski, Salvi, Pharr: Stochastic Texture Filtering, 2023.
    """
    uvs, materials = scene.surfaces.uvs, scene.photon_scene.materials
    for k in range(listed):
        i = chunk.listed[k]
        triangle, u, v = chunk.triangle[i], chunk.uv[0, i], chunk.uv[1, i]
        w = ONE - u - v
        place = (
            w * uvs[triangle, 0, 0] + u * uvs[triangle, 1, 0] + v * uvs[triangle, 2, 0],
            w * uvs[triangle, 0, 1] + u * uvs[triangle, 1, 1] + v * uvs[triangle, 2, 1],
        )
        texture = materials[chunk.material[i]].texture
        color = random_texel(scene.surfaces.textures, texture, place, (chunk.spare[1, i], chunk.spare[2, i]))
        set_column(chunk.diffuse, i, multiply(column(chunk.diffuse, i), color))


@compiled
def bend_normals(normals: Floats, bent: int, chunk: Chunk) -> None:
    """Shading normals between those of the corners, as `shaders.surface.surface_at` says."""
    for k in range(bent):
        i = chunk.bent[k]
        flat, ray = column(chunk.normal, i), column(chunk.ray, i)
        shading = normalize(blend(normals, chunk.triangle[i], chunk.uv[0, i], chunk.uv[1, i]))
        # Some files wind a triangle against its vertex normals: those then say which side is outside.
        outside = dot(flat, shading) >= ZERO
        shading = shading if outside else scale(shading, -ONE)
        seen = dot(shading, ray) < -LEAST_COSINE  # else from behind the bent normal: only the flat one makes sense
        chunk.is_outside[i] = np.int32(outside)
        set_column(chunk.shading, i, shading if seen else flat)


@compiled
def store_photons(task: PhotonTask, count: int, chunk: Chunk, output: PhotonOutput) -> None:
    """Keep a photon of each hit on a diffuse surface."""
    min_bounces = np.int32(task.min_bounces)
    for i in range(count):
        chunk.packed_ray[i] = pack_unit(scale(column(chunk.ray, i), -ONE))
        chunk.packed_flux[i] = pack_flux(column(chunk.flux, i), chunk.spare[0, i])
    for i in range(count):
        photon, rank = chunk.photon[i], chunk.rank[i]
        chunk.key[0, i], chunk.key[1, i] = (photon << RANK_BITS) | np.uint32(rank), photon >> RANK_BITS
        stores = np.int32((chunk.kind[i] & STORES) != 0) & np.int32(chunk.bounce[i] >= min_bounces)
        chunk.stores[i] = stores
        chunk.rank[i] = rank + stores
    columns_to_rows(address(chunk.position), count, address(chunk.next_rows))
    listed = list_marked(chunk.stores, count, chunk)
    stored = output.counters[STORED]
    photons, keys = address(output.photons) + PHOTON_BYTES * stored, address(output.keys) + 8 * stored
    row = address(chunk.next_rows)
    for k in range(listed):
        copy_photon(row + ROW_BYTES * np.int64(chunk.listed[k]), photons + PHOTON_BYTES * k, keys + 8 * k)
    output.counters[STORED] += listed


@inlined
def list_marked(marks: npt.NDArray[np.int32], count: int, chunk: Chunk) -> int:
    """List the places that are marked with 1; returns how many there are."""
    listed = 0
    for i in range(count):
        chunk.listed[listed] = i
        listed += marks[i]
    return listed


@inlined
def copy_photon(row: int, photon: int, key: int) -> None:
    """A photon's 24 bytes and the 8 of its key from one row."""
    store(photon, load4(row))
    store(photon + 16, load_double(row + 16))
    store(key, load_double(row + 24))


@compiled
def scatter_diffuse(count: int, chunk: Chunk) -> None:
    """A direction by Lambert's law for every hit; those that take another lobe get theirs later."""
    for i in range(count):
        normal = column(chunk.shading, i)
        tangent, bitangent = frame(normal)
        local = cosine_hemisphere(chunk.u[1, i], chunk.u[2, i])
        set_column(chunk.wi, i, to_world(local, tangent, bitangent, normal))
        set_column(chunk.weight, i, column(chunk.diffuse, i))


@compiled
def scatter_mixed(materials: Records, listed: int, chunk: Chunk) -> None:
    """Choose one lobe in proportion to reflectance; its weight stands for all."""
    lobes = list_lobes(listed, chunk)
    for k in range(lobes[0]):
        i = chunk.lobes[0, k]
        set_column(chunk.weight, i, scale(column(chunk.diffuse, i), chunk.per_share[i]))
    for k in range(lobes[1]):
        i = chunk.lobes[1, k]
        scatter_phong(materials[chunk.material[i]], i, chunk)
    for k in range(lobes[2]):
        i = chunk.lobes[2, k]
        set_column(chunk.wi, i, mirrored(chunk, i))
        set_column(chunk.weight, i, scale(color(materials[chunk.material[i]].mirror), chunk.per_share[i]))
    for k in range(lobes[3]):
        i = chunk.lobes[3, k]
        scatter_dielectric(materials[chunk.material[i]], i, chunk)


@inlined
def list_lobes(listed: int, chunk: Chunk) -> tuple[int, int, int, int]:
    """Sort the places listed by the lobe that is chosen there: diffuse, Phong, mirror, dielectric. Without branches,
    which could not be foretold."""
    lengths = chunk.lengths
    lengths[0], lengths[1], lengths[2], lengths[3] = 0, 0, 0, 0
    for k in range(listed):
        i = chunk.listed[k]
        diffuse = mean(column(chunk.diffuse, i))
        phong, mirror, transmission = column(chunk.means, i)
        total = diffuse + phong + mirror + transmission
        pick = chunk.u[0, i] * total
        after_diffuse, after_phong = pick >= diffuse, pick >= diffuse + phong
        after_mirror = pick >= diffuse + phong + mirror
        lobe = np.int64(after_diffuse) + np.int64(after_phong) + np.int64(after_mirror)
        share = phong if after_diffuse else diffuse
        share = mirror if after_phong else share
        share = transmission if after_mirror else share
        chunk.per_share[i] = total / share
        chunk.lobes[lobe, lengths[lobe]] = i
        lengths[lobe] += 1
    return lengths[0], lengths[1], lengths[2], lengths[3]


@inlined
def color(triple: Floats) -> Color:
    """Three numbers of a record."""
    return (triple[0], triple[1], triple[2])


@inlined
def mirrored(chunk: Chunk, i: int) -> Vec3:
    """The mirror image of the ray, in the world."""
    ray, normal = column(chunk.ray, i), column(chunk.shading, i)
    return subtract(ray, scale(normal, TWO * dot(ray, normal)))


@inlined
def scatter_phong(material: Record, i: int, chunk: Chunk) -> None:
    """About the mirror direction; f cos / pdf is (n + 2) / (n + 1) cos, and nothing below the surface."""
    axis = mirrored(chunk, i)
    tangent, bitangent = frame(axis)
    wi = to_world(cosine_power(chunk.u[1, i], chunk.u[2, i], chunk.shine[i]), tangent, bitangent, axis)
    cosine = max(ZERO, dot(wi, column(chunk.shading, i)))
    gain = chunk.per_share[i] * cosine * (chunk.shine[i] + TWO) / (chunk.shine[i] + ONE)
    set_column(chunk.wi, i, wi)
    set_column(chunk.weight, i, scale(color(material.phong), gain))


@inlined
def scatter_dielectric(material: Record, i: int, chunk: Chunk) -> None:
    """Reflect by Fresnel, else refract."""
    ray, normal = column(chunk.ray, i), column(chunk.shading, i)
    eta = chunk.ior[i] if chunk.is_outside[i] != 0 else ONE / chunk.ior[i]
    cosine = -dot(ray, normal)
    wi = mirrored(chunk, i)
    if chunk.u[1, i] >= fresnel(cosine, eta):
        # Snell: along the surface the direction is that of the ray over eta.
        cosine_t = math.sqrt(max(ZERO, ONE - (ONE - cosine * cosine) / (eta * eta)))
        wi = add(scale(ray, ONE / eta), scale(normal, cosine / eta - cosine_t))
    set_column(chunk.wi, i, wi)
    set_column(chunk.weight, i, scale(color(material.transmission), chunk.per_share[i]))


@compiled
def tilt_flux(bent: int, chunk: Chunk) -> None:
    """A bent normal is not symmetric: Veach, Robust Monte Carlo Methods for Light Transport Simulation, 1997, 5.3."""
    for k in range(bent):
        i = chunk.bent[k]
        ray, wi = column(chunk.ray, i), column(chunk.wi, i)
        flat, shading = column(chunk.normal, i), column(chunk.shading, i)
        leaves = (dot(wi, flat) > ZERO) == (dot(wi, shading) > ZERO)
        above, below = abs(dot(ray, shading) * dot(wi, flat)), abs(dot(ray, flat) * dot(wi, shading))
        tilt = min(above / below, MOST_TILT) if below > ZERO else ONE
        set_column(chunk.weight, i, scale(column(chunk.weight, i), tilt if leaves else ZERO))


@compiled
def decide(task: PhotonTask, count: int, chunk: Chunk, counters: npt.NDArray[np.int64]) -> None:
    """Russian roulette by the share of flux that is left, and the fates of paths; then where those go on from."""
    misses, survivors, followed = np.int32(0), np.int32(0), np.int32(0)
    max_bounces = np.int32(task.max_bounces)
    for i in range(count):
        flux, bounce = column(chunk.flux, i), chunk.bounce[i] + np.int32(1)
        left = multiply(flux, column(chunk.weight, i))
        survival = min(ONE, largest(left) / largest(flux))
        survives = np.int32(chunk.u[3, i] < survival)
        goes_on = survives & np.int32(bounce < max_bounces)
        set_column(chunk.flux, i, scale(left, ONE / survival))
        chunk.bounce[i], chunk.goes_on[i] = bounce, goes_on
        misses += np.int32((chunk.kind[i] & NOTHING) != 0)
        survivors += survives
        followed += goes_on
    for i in range(count):
        normal = column(chunk.normal, i)
        reach = chunk.clearance[i] * (ONE if dot(normal, column(chunk.wi, i)) >= ZERO else -ONE)
        set_column(chunk.next_origin, i, add(column(chunk.position, i), scale(normal, reach)))
    counters[ESCAPED] += misses
    counters[ABSORBED] += count - misses - survivors
    counters[TERMINATED] += survivors - followed


@compiled
def go_on(count: int, chunk: Chunk, rays: Floats, path_rows: Floats, kept: int) -> int:
    """Write the rays of paths that go on behind the first `kept` ones; returns how many they are."""
    make_rows(count, chunk)
    ray, path = address(chunk.next_rows), address(chunk.path_rows)
    next_ray, next_path = address(rays) + ROW_BYTES * kept, address(path_rows) + ROW_BYTES * kept
    listed = list_marked(chunk.goes_on, count, chunk)
    for k in range(listed):
        place = ROW_BYTES * np.int64(chunk.listed[k])
        copy_row(ray + place, next_ray + ROW_BYTES * k)
        copy_row(path + place, next_path + ROW_BYTES * k)
    return listed


@inlined
def make_rows(count: int, chunk: Chunk) -> None:
    """Rows of the next rays and their paths."""
    columns_to_rows(address(chunk.next_origin), count, address(chunk.next_rows))
    columns_to_rows(address(chunk.photon), count, address(chunk.path_rows))


@compiled
def launch(scene: PhotonScene, task: PhotonTask, photon: np.uint32, count: int, chunk: Chunk) -> None:
    """Origins, directions and flux of `count` photons from `photon` on as they leave the lights."""
    key = hash_key(task.seed, task.sequence, STREAM_EMISSION)
    per_unit = Real(1.0 / task.flux_unit)
    choose_emitters(scene, photon, hash4(key, np.uint32(0), np.uint32(1))[0], count, chunk)
    for i in range(count):
        index = np.uint32(photon + np.uint32(i))
        words = hash4(key, index, np.uint32(0))
        s, t = uniform_triangle(unit32(words[2]), unit32(words[3]))
        on_light = add(scale(column(chunk.edge_1, i), s), scale(column(chunk.edge_2, i), t))
        set_column(chunk.next_origin, i, add(column(chunk.corner, i), on_light))
        normal, around = column(chunk.normal, i), chunk.around[i] > ZERO
        tangent, bitangent = frame(normal)
        sphere = uniform_sphere(unit32(words[0]), unit32(words[1]))
        hemisphere = cosine_hemisphere(unit32(words[0]), unit32(words[1]))
        local = sphere if around else hemisphere
        set_column(chunk.wi, i, to_world(local, tangent, bitangent, normal))
        set_column(chunk.flux, i, scale(column(chunk.emitted, i), per_unit))
        chunk.photon[i] = index


@inlined
def choose_emitters(scene: PhotonScene, photon: np.uint32, shift: np.uint32, count: int, chunk: Chunk) -> None:
    """What is known of the light of each photon, chosen in proportion to power by the alias method."""
    emitters, lights = address(scene.emitters), np.uint64(len(scene.emitters))
    for i in range(CHUNK):
        spread = np.uint32(np.uint32(photon + np.uint32(i)) * GOLDEN + shift)
        product = np.uint64(spread) * lights
        own = product >> np.uint64(32)
        cell = scene.aliases[own]
        share, alias = cell.share, cell.alias
        chunk.light[i] = np.int32(own) if np.uint32(product) < share else alias
    gather_columns(emitters, EMITTER_BYTES, chunk.light, count, address(chunk.corner))
    second_half = address(chunk.corner) + 8 * COLUMN_BYTES
    gather_columns(emitters + ROW_BYTES, EMITTER_BYTES, chunk.light, count, second_half)


@compiled
def set_off(count: int, chunk: Chunk, rays: Floats, path_rows: Floats, kept: int) -> None:
    """Write fresh rays and paths behind the first `kept` ones."""
    make_rows(count, chunk)
    for i in range(count):
        place = ROW_BYTES * i
        copy_row(address(chunk.next_rows) + place, address(rays) + ROW_BYTES * kept + place)
        copy_row(address(chunk.path_rows) + place, address(path_rows) + ROW_BYTES * kept + place)
