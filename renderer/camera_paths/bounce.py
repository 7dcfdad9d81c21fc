"""One bounce of paths from the eye: the light that their vertices send back, and their next directions.

As photons (`renderer.photons.shading`), paths are columns, which small loops read chunk by chunk into columns of
scratch. What only some have is packed side by side: rays that hit something, shadow rays that carry something, paths
that go on. What few vertices need goes through lists of their indices: bent normals, textures, lobes beside the diffuse
one, and `scalar_path`. All is decided by a path's pixel and depth: the thread, the batch and the index in it change no
bit.
"""

import numpy as np

from renderer.camera_paths.lighting import add_shadow_rays
from renderer.camera_paths.media import absorb_throughput, keep_eye_media
from renderer.camera_paths.paths import (
    DEPTH_MASK,
    EYE_PIXEL,
    LOOKUP_NANOSECONDS,
    EyeBatch,
    EyeChunk,
    EyeJob,
    Long,
    ShadowRays,
    ray_direction,
    set_ray,
)
from renderer.camera_paths.photon_light import add_photon_light
from renderer.camera_paths.sampler import scatter_numbers
from renderer.camera_paths.scalar_path import add_light_from_outside, shade_listed
from renderer.camera_paths.scattering import keep_paths, scatter
from renderer.camera_paths.vertices import Rules, Vertices, look_at_surfaces, pick_vertices, prepare, rules_of
from renderer.film.layers import DIRECT_LIGHT, add_radiance
from renderer.photons.chunk_views import View
from renderer.photons.media import go_through_borders, look_at_borders
from renderer.scene.media import tables_of
from renderer.scene.photon_scene import EYE_SCALAR, GLOWS, HAS_MEDIA, MIXED
from renderer.simd.columns import WORD_BYTES, whole
from shaders.float32 import ZERO
from shaders.sampling import cosine_hemisphere
from shaders.surface import ray_origin, surface_at, world
from shaders.vector import dot, largest, scale
from tracecore.compilation.borrowing import borrowed
from tracecore.compilation.cached import compiled, inlined
from tracecore.compilation.clock import nanoseconds
from tracecore.compilation.vector import address
from tracecore.rays import MISS


@compiled
def advance_eye_paths(job: EyeJob, batch: EyeBatch, active: int, fresh: int, shadows: ShadowRays) -> int:
    """Shade the hits of a batch: the rendering equation, one bounce of it.

    What a vertex sends to the eye is the light that it emits, the light that shadow rays bring it, the light that
    photons bring it, and what comes from the next direction. (Kajiya: The Rendering Equation, 1986.)

    job: the pass; its image is added to.
    batch: the paths that go on lie in its first columns then, with their rays.
    active: how many rays there are.
    fresh: from which one on they are the camera's.
    shadows: added to.
    Returns how many paths go on.
    """
    job, batch, shadows = borrowed(job), borrowed(batch), borrowed(shadows)
    rules = rules_of(job.task, job.lookup.irradiance.radius)
    first, kept = Long(0), Long(0)
    ahead = min(active, whole(fresh))  # paths that go on are written by whole vectors: they must not reach behind it
    while first < active:
        span = (first, (ahead if first < ahead else active) - first, kept)
        done, going = advance_chunk(job, rules, batch, span, shadows)
        first, kept = first + done, kept + going
    return kept


@inlined
def advance_chunk(
    job: EyeJob, rules: Rules, batch: EyeBatch, span: tuple[int, int, int], shadows: ShadowRays
) -> tuple[int, int]:
    """Shade the hits of the first rays of a span, as many as a chunk has room for.

    span: index of its first ray, how many they are, and how many paths of the batch go on before them.
    Returns how many rays were looked at, and how many paths of them go on.
    """
    first, count, kept = span
    scene = job.scene.photon_scene
    view = View(
        rays=address(batch.rays) + WORD_BYTES * first,
        hits=address(batch.hits) + WORD_BYTES * first,
        paths=address(batch.paths) + WORD_BYTES * first,
        kept_rays=address(batch.rays) + WORD_BYTES * kept,
        kept_paths=address(batch.paths) + WORD_BYTES * kept,
        step=WORD_BYTES * batch.rays.shape[1],
        photons=0,
        materials=address(scene.materials),
        normals=address(job.scene.surfaces.normals),
        texels=address(scene.texels),
        decoded=address(scene.decoded),
        chunk=batch.scratch[0],
    )
    chunk, flags = view.chunk, scene.flags
    hits, rays = pick_vertices(view, count)
    if hits < rays and (len(job.scene.lights.outer) > 0 or largest(job.scene.background) > 0.0):
        add_light_from_outside(job, batch, first, rays)
    if hits == 0:
        return rays, 0
    vertices, counts = Vertices(chunk, view, rules), (hits, (chunk.state[hits - 1] & DEPTH_MASK) == np.uint32(0))
    look_at_surfaces(job.scene, view, hits)
    media = tables_of(scene.media)
    if flags & HAS_MEDIA:
        absorb_throughput(view, (hits, rays), media)
        look_at_borders(chunk, hits, media)
    prepare(flags, vertices, hits)
    add_shadow_rays(job.scene, job.task, vertices, counts, shadows)
    goes_on = rules.follow > ZERO or (flags & MIXED) != 0
    if goes_on:
        scatter(job.task, flags, vertices, counts)
    if flags & (EYE_SCALAR | GLOWS):
        shade_listed(job, chunk, list_vertices(chunk, hits), shadows)
    if rules.asks:
        start = nanoseconds()
        add_photon_light(job, chunk, batch.search[0], hits, shadows)
        batch.counters[LOOKUP_NANOSECONDS] += nanoseconds() - start
    if goes_on and flags & HAS_MEDIA:
        go_through_borders(chunk, hits, media)
        keep_eye_media(view, hits)
    return rays, keep_paths(view, hits) if goes_on else 0


@inlined
def list_vertices(chunk: EyeChunk, hits: int) -> int:
    """List the vertices that glow or are on the scalar path. Returns how many they are."""
    count = 0
    for i in range(hits):
        chunk.listed[count] = np.int32(i)
        count += (chunk.kind[i] & (EYE_SCALAR | GLOWS)) != 0
    return count


@compiled
def start_occlusion_rays(job: EyeJob, batch: EyeBatch, active: int) -> int:
    """Turn the hits of camera rays into occlusion rays, spread by the cosine, in place; a miss is lit.

    job: the pass; its image is added to, and its reach is how far the occlusion rays go.
    batch: camera rays and what they hit.
    active: how many they are.
    Returns how many rays there are then.
    """
    job, batch = borrowed(job), borrowed(batch)
    rays, hits, pixels = batch.rays, batch.hits, batch.paths[EYE_PIXEL]
    kept = 0
    for i in range(active):
        pixel = Long(pixels[i])
        if batch.prim_ids[i] == MISS:
            add_radiance(job.image, pixel, (1.0, 1.0, 1.0), DIRECT_LIGHT)
            continue
        wo = scale(ray_direction(rays, i), -1.0)
        u, v = np.float64(hits[1, i]), np.float64(hits[2, i])
        hit = surface_at(job.scene.surfaces, Long(batch.prim_ids[i]), u, v, wo)
        numbers, _ = scatter_numbers(job.task, pixel, 0)
        direction = world(hit, cosine_hemisphere(numbers[1], numbers[2]))
        if dot(direction, hit.geom_normal) <= 0.0:
            continue
        set_ray(rays, kept, ray_origin(hit, direction), direction)
        rays[7, kept] = job.reach
        pixels[kept] = np.uint32(pixel)
        kept += 1
    return kept
