"""Shading photons: a batch of hits becomes stored photons and the next rays.

One loop that does everything to a hit at a time stays scalar code. Here each step is a small loop of its own over a
chunk of hits, in columns that stay in the cache, and most of them compile to vector instructions. Steps that few hits
need (bent normals, textures, lobes beside the diffuse one) go through lists of their places in the chunk.

All is decided by a photon's index and bounce: neither the batch nor the chunk that a hit is in changes a bit.
"""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from renderer.packed_scene import PackedScene
from renderer.photon_map import DIRECTION, FLUX, NORMAL, Words, pack_flux, pack_unit
from renderer.photon_scene import BENT, MATERIAL_MASK, MIXED, STORES, TEXTURED, PhotonScene, Record, Records
from shaders.compilation import compiled as inlined
from shaders.dielectric import fresnel
from shaders.lights import LightArrays, choose
from shaders.random import (
    STREAM_EMISSION,
    STREAM_PHOTON,
    Words4,
    hash4,
    hash_key,
    spare_unit,
    unit32,
)
from shaders.real import ONE, TWO, ZERO, Real
from shaders.sampling import cosine_hemisphere, cosine_power, uniform_sphere, uniform_triangle
from shaders.surface import blend
from shaders.textures import random_texel
from shaders.vector import Color, Vec3, add, dot, frame, largest, mean, multiply, normalize, scale, subtract, to_world
from tracecore.compiled import compiled
from tracecore.rays import MISS, Floats, Ids

#: Hits shaded together: the columns of so many stay in the first two levels of the cache.
CHUNK = 256

#: Golden ratio in 32 bits: multiples of it spread evenly, so that each light gets its share of any run of photons.
GOLDEN = np.uint32(2654435769)

#: Bits of a key that tell the photons of one path apart.
RANK_BITS = np.uint64(16)

#: A bent normal changes a photon's flux by no more than this factor.
MOST_TILT = Real(4.0)

#: A bent normal farther from the ray than this cosine gives way to the flat one.
LEAST_COSINE = Real(1e-6)

EMITTED, STORED, ABSORBED, ESCAPED, TERMINATED, RAYS, COUNTERS = range(7)

_SCALAR, _VECTOR, _LIST = (CHUNK,), (3, CHUNK), (CHUNK + 1,)

#: Columns for a chunk of hits. direction: of the ray, then of the next ray. position: its origin, then the hit. normal,
#: shading: flat and bent normal on the side of the ray's origin. flux: in units of the task. weight: share of the flux
#: that goes on, per channel; 0 is absorption. u: uniform numbers for lobe, direction (2) and roulette. is_hit, stores,
#: goes_on: 0 or 1. Lists of places in the chunk have room for one that does not count.
COLUMNS = np.dtype(
    [
        ("direction", "<f4", _VECTOR),
        ("position", "<f4", _VECTOR),
        ("normal", "<f4", _VECTOR),
        ("shading", "<f4", _VECTOR),
        ("flux", "<f4", _VECTOR),
        ("diffuse", "<f4", _VECTOR),
        ("weight", "<f4", _VECTOR),
        ("wi", "<f4", _VECTOR),
        ("u", "<f4", (4, CHUNK)),
        ("spare", "<f4", _VECTOR),
        ("plane", "<f4", _SCALAR),
        ("clearance", "<f4", _SCALAR),
        ("kind", "<u4", _SCALAR),
        ("packed_front", "<u4", _SCALAR),
        ("packed_back", "<u4", _SCALAR),
        ("packed_direction", "<u4", _SCALAR),
        ("packed_flux", "<u4", _SCALAR),
        ("triangle", "<u4", _SCALAR),
        ("photon", "<u4", _SCALAR),
        ("bounce", "<i4", _SCALAR),
        ("rank", "<i4", _SCALAR),
        ("is_hit", "<i4", _SCALAR),
        ("is_outside", "<i4", _SCALAR),
        ("stores", "<i4", _SCALAR),
        ("goes_on", "<i4", _SCALAR),
        ("listed", "<i4", _LIST),
        ("bent", "<i4", _LIST),
    ]
)

#: Columns for a chunk of photons that leave lights: what `EMITTER` says, until they have left.
LAUNCH_COLUMNS = np.dtype(
    [
        ("origin", "<f4", _VECTOR),
        ("edge_1", "<f4", _VECTOR),
        ("edge_2", "<f4", _VECTOR),
        ("normal", "<f4", _VECTOR),
        ("flux", "<f4", _VECTOR),
        ("around", "<f4", _SCALAR),
        ("direction", "<f4", _VECTOR),
    ]
)

#: One record of `COLUMNS` or of `LAUNCH_COLUMNS`.
Chunk = npt.NDArray[np.void]


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
    """Paths on their way, one column per ray. photon: (n,) uint32 index. bounce: (n,) int32. stored: (n,) int32, how
    often the path was stored. flux: (3, n) float32, in units of the task's. scratch: (1,) COLUMNS and launch: (1,)
    LAUNCH_COLUMNS, for the loops."""

    photon: npt.NDArray[np.uint32]
    bounce: npt.NDArray[np.int32]
    stored: npt.NDArray[np.int32]
    flux: Floats
    scratch: Records
    launch: Records


class PhotonOutput(NamedTuple):
    """Where photons land. photons: (n, WORDS) uint32. keys: (n,) uint64, photon index and rank in its path. counters:
    (COUNTERS,) int64."""

    photons: Words
    keys: npt.NDArray[np.uint64]
    counters: npt.NDArray[np.int64]


class RayBatch(NamedTuple):
    """A batch as the tracer has it. rays: (n, 8) float32. hits: (n, 4) float32. prim_ids: (n,) uint32."""

    rays: Floats
    hits: Floats
    prim_ids: Ids


def new_paths(capacity: int) -> PhotonPaths:
    """Room for the paths of one batch."""
    return PhotonPaths(
        photon=np.zeros(capacity, np.uint32),
        bounce=np.zeros(capacity, np.int32),
        stored=np.zeros(capacity, np.int32),
        flux=np.zeros((3, capacity), np.float32),
        scratch=np.zeros(1, COLUMNS),
        launch=np.zeros(1, LAUNCH_COLUMNS),
    )


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
    chunk = paths.scratch[0]
    key = hash_key(task.seed, task.sequence, STREAM_PHOTON)
    kept = 0
    for first in range(0, active, CHUNK):
        count = min(CHUNK, active - first)
        load(batch, paths, first, count, chunk)
        draw_numbers(key, count, chunk)
        gather_facets(scene.photon_scene, count, chunk)
        face_rays(count, chunk)
        flags = scene.photon_scene.flags
        if flags & TEXTURED:
            paint(scene, batch.hits, first, list_kind(TEXTURED, chunk.listed, count, chunk), chunk)
        bent = list_kind(BENT, chunk.bent, count, chunk) if flags & BENT else 0
        bend_normals(scene.surfaces.normals, batch.hits, first, bent, chunk)
        store(task, count, chunk, output)
        scatter_diffuse(count, chunk)
        if flags & MIXED:
            scatter_mixed(scene.photon_scene.materials, list_kind(MIXED, chunk.listed, count, chunk), chunk)
        tilt_flux(bent, chunk)
        decide(task, count, chunk, output.counters)
        kept = go_on(count, chunk, batch.rays, paths, kept)
    fresh = min(len(batch.rays) - kept, photon_range[1] - photon_range[0])
    for done in range(0, fresh, CHUNK):
        span = (kept + done, min(CHUNK, fresh - done))
        launch(scene, task, np.uint32(photon_range[0] + done), span[1], paths.launch[0])
        set_off(paths.launch[0], batch.rays, paths, np.uint32(photon_range[0] + done), span)
    photon_range[0] += fresh
    output.counters[EMITTED] += fresh
    output.counters[RAYS] += kept + fresh
    return kept + fresh


@inlined
def column(array: Floats, i: int) -> Vec3:
    """Vector i of three columns."""
    return (array[0, i], array[1, i], array[2, i])


@inlined
def set_column(array: Floats, i: int, vector: Vec3) -> None:
    """Set vector i of three columns."""
    array[0, i], array[1, i], array[2, i] = vector[0], vector[1], vector[2]


@compiled
def load(batch: RayBatch, paths: PhotonPaths, first: int, count: int, chunk: Chunk) -> None:
    """Rays and paths of a chunk into columns. A ray that misses meets triangle 0, of which nothing comes."""
    rays, hits, prim_ids = batch.rays, batch.hits, batch.prim_ids
    for i in range(count):
        row = first + i
        direction = (rays[row, 4], rays[row, 5], rays[row, 6])
        hit = prim_ids[row] != np.uint32(MISS)
        t = hits[row, 0] if hit else ZERO
        set_column(chunk.direction, i, direction)
        set_column(chunk.position, i, add((rays[row, 0], rays[row, 1], rays[row, 2]), scale(direction, t)))
        chunk.triangle[i] = prim_ids[row] if hit else np.uint32(0)
        chunk.is_hit[i] = np.int32(hit)
    for i in range(count):
        chunk.photon[i], chunk.bounce[i] = paths.photon[first + i], paths.bounce[first + i]
        chunk.rank[i] = paths.stored[first + i]
        set_column(chunk.flux, i, column(paths.flux, first + i))


@compiled
def draw_numbers(key: Words4, count: int, chunk: Chunk) -> None:
    """All random numbers of a bounce from one hash."""
    for i in range(count):
        words = hash4(key, chunk.photon[i], np.uint32(chunk.bounce[i]))
        chunk.u[0, i], chunk.u[1, i] = unit32(words[0]), unit32(words[1])
        chunk.u[2, i], chunk.u[3, i] = unit32(words[2]), unit32(words[3])
        set_column(chunk.spare, i, (spare_unit(words[0]), spare_unit(words[1]), spare_unit(words[2])))


@compiled
def gather_facets(scene: PhotonScene, count: int, chunk: Chunk) -> None:
    """What the triangles and their materials say."""
    facets, materials = scene.facets, scene.materials
    for i in range(count):
        facet = facets[chunk.triangle[i]]
        set_column(chunk.normal, i, facet.normal)
        chunk.plane[i], chunk.clearance[i], chunk.kind[i] = facet.plane, facet.clearance, facet.kind
        chunk.packed_front[i], chunk.packed_back[i] = facet.packed_front, facet.packed_back
    for i in range(count):
        set_column(chunk.diffuse, i, materials[chunk.kind[i] & MATERIAL_MASK].diffuse)


@compiled
def face_rays(count: int, chunk: Chunk) -> None:
    """Turn normals to the side that rays come from, and pull hit points back to the plane of their triangle."""
    for i in range(count):
        normal, position = column(chunk.normal, i), column(chunk.position, i)
        position = add(position, scale(normal, chunk.plane[i] - dot(normal, position)))
        front = dot(normal, column(chunk.direction, i)) <= ZERO
        normal = scale(normal, ONE if front else -ONE)
        set_column(chunk.position, i, position)
        set_column(chunk.normal, i, normal)
        set_column(chunk.shading, i, normal)
        chunk.is_outside[i] = np.int32(front)
        chunk.packed_front[i] = chunk.packed_front[i] if front else chunk.packed_back[i]


@inlined
def list_kind(flag: np.uint32, places: npt.NDArray[np.int32], count: int, chunk: Chunk) -> int:
    """List the places of hits on facets with a flag; returns how many there are."""
    listed = 0
    for i in range(count):
        places[listed] = i
        listed += np.int64(chunk.is_hit[i] != 0) & np.int64((chunk.kind[i] & flag) != 0)
    return listed


@compiled
def paint(scene: PackedScene, hits: Floats, first: int, listed: int, chunk: Chunk) -> None:
    """Multiply diffuse colours with a texel, chosen so that the mean is the filtered texture.

    Fajardo, Wronski, Salvi, Pharr: Stochastic Texture Filtering, 2023.
    """
    uvs, materials = scene.surfaces.uvs, scene.photon_scene.materials
    for k in range(listed):
        i = chunk.listed[k]
        triangle, u, v = chunk.triangle[i], hits[first + i, 1], hits[first + i, 2]
        w = ONE - u - v
        place = (
            w * uvs[triangle, 0, 0] + u * uvs[triangle, 1, 0] + v * uvs[triangle, 2, 0],
            w * uvs[triangle, 0, 1] + u * uvs[triangle, 1, 1] + v * uvs[triangle, 2, 1],
        )
        texture = materials[chunk.kind[i] & MATERIAL_MASK].texture
        color = random_texel(scene.surfaces.textures, texture, place, (chunk.spare[1, i], chunk.spare[2, i]))
        set_column(chunk.diffuse, i, multiply(column(chunk.diffuse, i), color))


@compiled
def bend_normals(normals: Floats, hits: Floats, first: int, bent: int, chunk: Chunk) -> None:
    """Shading normals between those of the corners, as `shaders.surface.surface_at` says."""
    for k in range(bent):
        i = chunk.bent[k]
        flat, ray = column(chunk.normal, i), column(chunk.direction, i)
        shading = normalize(blend(normals, chunk.triangle[i], hits[first + i, 1], hits[first + i, 2]))
        # Some files wind a triangle against its vertex normals: those then say which side is outside.
        outside = dot(flat, shading) >= ZERO
        shading = shading if outside else scale(shading, -ONE)
        seen = dot(shading, ray) < -LEAST_COSINE  # else from behind the bent normal: only the flat one makes sense
        chunk.is_outside[i] = np.int32(outside)
        set_column(chunk.shading, i, shading if seen else flat)


@compiled
def store(task: PhotonTask, count: int, chunk: Chunk, output: PhotonOutput) -> None:
    """Keep a photon of each hit on a diffuse surface."""
    for i in range(count):
        chunk.packed_direction[i] = pack_unit(scale(column(chunk.direction, i), -ONE))
        chunk.packed_flux[i] = pack_flux(column(chunk.flux, i), chunk.spare[0, i])
    for i in range(count):
        is_wanted = np.int32((chunk.kind[i] & STORES) != 0) & np.int32(chunk.bounce[i] >= np.int32(task.min_bounces))
        chunk.stores[i] = chunk.is_hit[i] & is_wanted
    listed = 0
    for i in range(count):
        chunk.listed[listed] = i
        listed += chunk.stores[i]
    write_photons(listed, chunk, output)
    for i in range(count):
        chunk.rank[i] += chunk.stores[i]
    output.counters[STORED] += listed


@inlined
def write_photons(listed: int, chunk: Chunk, output: PhotonOutput) -> None:
    """Append the photons listed."""
    photons, positions = output.photons, output.photons.view(np.float32)
    stored = output.counters[STORED]
    for k in range(listed):
        i, slot = chunk.listed[k], stored + k
        positions[slot, 0], positions[slot, 1], positions[slot, 2] = column(chunk.position, i)
        photons[slot, DIRECTION], photons[slot, NORMAL] = chunk.packed_direction[i], chunk.packed_front[i]
        photons[slot, FLUX] = chunk.packed_flux[i]
        output.keys[slot] = (np.uint64(chunk.photon[i]) << RANK_BITS) | np.uint64(chunk.rank[i])


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
    for k in range(listed):
        i = chunk.listed[k]
        material = materials[chunk.kind[i] & MATERIAL_MASK]
        diffuse, phong = mean(column(chunk.diffuse, i)), mean(material.phong)
        mirror, transmission = mean(material.mirror), mean(material.transmission)
        total = diffuse + phong + mirror + transmission
        pick = chunk.u[0, i] * total
        if pick < diffuse:
            set_column(chunk.weight, i, scale(column(chunk.diffuse, i), total / diffuse))
        elif pick < diffuse + phong:
            scatter_phong(material, i, total / phong, chunk)
        elif pick < diffuse + phong + mirror:
            set_column(chunk.wi, i, mirrored(chunk, i))
            set_column(chunk.weight, i, scale(color(material.mirror), total / mirror))
        else:
            scatter_dielectric(material, i, total / transmission, chunk)


@inlined
def color(triple: Floats) -> Color:
    """Three numbers of a record."""
    return (triple[0], triple[1], triple[2])


@inlined
def mirrored(chunk: Chunk, i: int) -> Vec3:
    """The mirror image of the ray, in the world."""
    ray, normal = column(chunk.direction, i), column(chunk.shading, i)
    return subtract(ray, scale(normal, TWO * dot(ray, normal)))


@inlined
def scatter_phong(material: Record, i: int, per_share: float, chunk: Chunk) -> None:
    """About the mirror direction; f cos / pdf is (n + 2) / (n + 1) cos, and nothing below the surface."""
    axis = mirrored(chunk, i)
    tangent, bitangent = frame(axis)
    wi = to_world(cosine_power(chunk.u[1, i], chunk.u[2, i], material.shine), tangent, bitangent, axis)
    cosine = max(ZERO, dot(wi, column(chunk.shading, i)))
    gain = per_share * cosine * (material.shine + TWO) / (material.shine + ONE)
    set_column(chunk.wi, i, wi)
    set_column(chunk.weight, i, scale(color(material.phong), gain))


@inlined
def scatter_dielectric(material: Record, i: int, per_share: float, chunk: Chunk) -> None:
    """Reflect by Fresnel, else refract."""
    ray, normal = column(chunk.direction, i), column(chunk.shading, i)
    eta = material.ior if chunk.is_outside[i] != 0 else ONE / material.ior
    cosine = -dot(ray, normal)
    wi = mirrored(chunk, i)
    if chunk.u[1, i] >= fresnel(cosine, eta):
        # Snell: along the surface the direction is that of the ray over eta, and so are both vectors' lengths.
        cosine_t = math.sqrt(max(ZERO, ONE - (ONE - cosine * cosine) / (eta * eta)))
        wi = add(scale(ray, ONE / eta), scale(normal, cosine / eta - cosine_t))
    set_column(chunk.wi, i, wi)
    set_column(chunk.weight, i, scale(color(material.transmission), per_share))


@compiled
def tilt_flux(bent: int, chunk: Chunk) -> None:
    """A bent normal is not symmetric: Veach, Robust Monte Carlo Methods for Light Transport Simulation, 1997, 5.3."""
    for k in range(bent):
        i = chunk.bent[k]
        ray, wi = column(chunk.direction, i), column(chunk.wi, i)
        flat, shading = column(chunk.normal, i), column(chunk.shading, i)
        leaves = (dot(wi, flat) > ZERO) == (dot(wi, shading) > ZERO)
        above, below = abs(dot(ray, shading) * dot(wi, flat)), abs(dot(ray, flat) * dot(wi, shading))
        tilt = min(above / below, MOST_TILT) if below > ZERO else ONE
        set_column(chunk.weight, i, scale(column(chunk.weight, i), tilt if leaves else ZERO))


@compiled
def decide(task: PhotonTask, count: int, chunk: Chunk, counters: npt.NDArray[np.int64]) -> None:
    """Russian roulette by the share of flux that is left, and the fates of paths; then where those go on from."""
    hits, survivors, followed = np.int32(0), np.int32(0), np.int32(0)
    last_bounce = np.int32(task.max_bounces - 1)
    for i in range(count):
        flux = column(chunk.flux, i)
        left = multiply(flux, column(chunk.weight, i))
        survival = min(ONE, largest(left) / largest(flux))
        survives = chunk.is_hit[i] & np.int32(chunk.u[3, i] < survival)
        goes_on = survives & np.int32(chunk.bounce[i] < last_bounce)
        set_column(chunk.flux, i, scale(left, ONE / survival))
        chunk.goes_on[i] = goes_on
        hits += chunk.is_hit[i]
        survivors += survives
        followed += goes_on
    for i in range(count):
        normal = column(chunk.normal, i)
        reach = chunk.clearance[i] * (ONE if dot(normal, column(chunk.wi, i)) >= ZERO else -ONE)
        set_column(chunk.position, i, add(column(chunk.position, i), scale(normal, reach)))
    counters[ESCAPED] += count - hits
    counters[ABSORBED] += hits - survivors
    counters[TERMINATED] += survivors - followed


@compiled
def go_on(count: int, chunk: Chunk, rays: Floats, paths: PhotonPaths, kept: int) -> int:
    """Write the rays of paths that go on behind the first `kept` ones; returns how many there are now."""
    listed = 0
    for i in range(count):
        chunk.listed[listed] = i
        listed += chunk.goes_on[i]
    for k in range(listed):
        i, row = chunk.listed[k], kept + k
        set_ray(rays, row, column(chunk.position, i), column(chunk.wi, i))
        paths.photon[row], paths.bounce[row] = chunk.photon[i], chunk.bounce[i] + np.int32(1)
        paths.stored[row] = chunk.rank[i]
        set_column(paths.flux, row, column(chunk.flux, i))
    return kept + listed


@inlined
def set_ray(rays: Floats, row: int, origin: Vec3, direction: Vec3) -> None:
    """Write a ray without limits."""
    rays[row, 0], rays[row, 1], rays[row, 2], rays[row, 3] = origin[0], origin[1], origin[2], ZERO
    rays[row, 4], rays[row, 5], rays[row, 6], rays[row, 7] = direction[0], direction[1], direction[2], np.inf


@compiled
def launch(scene: PackedScene, task: PhotonTask, photon: np.uint32, count: int, chunk: Chunk) -> None:
    """Origins, directions and flux of `count` photons from `photon` on as they leave the lights."""
    key = hash_key(task.seed, task.sequence, STREAM_EMISSION)
    per_unit = Real(1.0 / task.flux_unit)
    choose_emitters(
        scene.lights, scene.photon_scene.emitters, hash4(key, np.uint32(0), np.uint32(1))[0], photon, count, chunk
    )
    for i in range(count):
        words = hash4(key, np.uint32(photon + np.uint32(i)), np.uint32(0))
        s, t = uniform_triangle(unit32(words[2]), unit32(words[3]))
        on_light = add(scale(column(chunk.edge_1, i), s), scale(column(chunk.edge_2, i), t))
        set_column(chunk.origin, i, add(column(chunk.origin, i), on_light))
        normal = column(chunk.normal, i)
        tangent, bitangent = frame(normal)
        around = uniform_sphere(unit32(words[0]), unit32(words[1]))
        about = cosine_hemisphere(unit32(words[0]), unit32(words[1]))
        local = around if chunk.around[i] > ZERO else about
        set_column(chunk.direction, i, to_world(local, tangent, bitangent, normal))
        set_column(chunk.flux, i, scale(column(chunk.flux, i), per_unit))


@inlined
def choose_emitters(
    lights: LightArrays, emitters: Records, shift: np.uint32, photon: np.uint32, count: int, chunk: Chunk
) -> None:
    """The light of each photon, in proportion to power."""
    for i in range(count):
        spread = np.uint32(np.uint32(photon + np.uint32(i)) * GOLDEN + shift)
        emitter = emitters[choose(lights, np.float64(spread) * 2.0**-32)]
        set_column(chunk.origin, i, emitter.origin)
        set_column(chunk.edge_1, i, emitter.edge_1)
        set_column(chunk.edge_2, i, emitter.edge_2)
        set_column(chunk.normal, i, emitter.normal)
        set_column(chunk.flux, i, emitter.flux)
        chunk.around[i] = emitter.around


@compiled
def set_off(chunk: Chunk, rays: Floats, paths: PhotonPaths, photon: np.uint32, span: tuple[int, int]) -> None:
    """Write fresh rays and paths. span: first row and count."""
    first, count = span
    for i in range(count):
        row = first + i
        set_ray(rays, row, column(chunk.origin, i), column(chunk.direction, i))
        paths.photon[row], paths.bounce[row], paths.stored[row] = np.uint32(photon + np.uint32(i)), 0, 0
        set_column(paths.flux, row, column(chunk.flux, i))
