"""What few rays of a chunk meet, ray by ray, by functions in float64: lamps, the sky, and surfaces that vector loops
know nothing of.

Microfacets, coats, absorbing solids, maps, filtered textures and shaders of the user's own are few of most scenes'
hits, and what they take is not worth loops of their own.
"""

from typing import NamedTuple

import numpy as np
from numba import types

from renderer.camera_paths.lighting import MAX_LIGHT_SAMPLES, light_at
from renderer.camera_paths.paths import (
    DEPTH_MASK,
    EYE_PDF,
    EYE_STATE,
    EYE_THROUGHPUT,
    EYE_UNMAPPED,
    SPECULAR_ONLY,
    SPREAD_MASK,
    SPREAD_SHIFT,
    EyeBatch,
    EyeChunk,
    EyeJob,
    Long,
    ShadowRays,
    bounces_of,
    put_shadow_ray,
    ray_direction,
)
from renderer.camera_paths.sampler import light_numbers, scatter_numbers
from renderer.camera_paths.scattering import SURE_BOUNCES, cone_spread, rest, state_after, state_through
from renderer.camera_paths.task import CAUSTICS, EVERYTHING, FOLLOW, GATHER, NOTHING, EyeTask
from renderer.camera_paths.vertices import EDGE
from renderer.film.layers import CAUSTIC_LIGHT, DIRECT_LIGHT, INDIRECT_LIGHT, add_radiance
from renderer.photons.chunk_views import ALL_BITS
from renderer.photons.scalar_path import in_double, in_single
from renderer.scene.photon_scene import EYE_SCALAR, GLOWS, SHEET
from renderer.simd.columns import column, get3, get_word, set_column
from shaders.bsdf import (
    LOBE_ABSORBED,
    LOBE_DIFFUSE,
    LOBE_SPECULAR,
    BsdfSample,
    base_reflectance,
    evaluate_diffuse,
    evaluate_rough,
    has_rough_lobe,
    pdf_solid_angle,
    sample,
)
from shaders.compilation import compiled as inlined
from shaders.float32 import Float32, Int
from shaders.lights import LightArrays, light_pdf, outer_radiance
from shaders.sampling import power_heuristic
from shaders.surface import Hit, arriving_share, leaves, local, ray_origin, surface_at, world
from shaders.vector import BLACK, Color, Vec3, add, largest, multiply, normalize, scale
from tracecore.compilation.borrowing import borrowed
from tracecore.compilation.units import unit
from tracecore.compilation.vector import address
from tracecore.rays import MISS


class PathVertex(NamedTuple):
    """A surface that a path has reached.

    i: index of the vertex in its chunk.
    pixel: whose light the path brings.
    state: of the path, see `paths.DEPTH_MASK`.
    throughput: share of the light sent back along the path that reaches the eye.
    hit: the surface.
    wo: unit direction back along the path, in the shading frame of the hit.
    diffuse: what is to be done with diffuse reflection here.
    """

    i: int
    pixel: int
    state: np.uint32
    throughput: Color
    hit: Hit
    wo: Vec3
    diffuse: int


class MetLight(NamedTuple):
    """What the light that a path meets is weighed with.

    pixel: whose light the path brings.
    state: of the path, see `paths.DEPTH_MASK`.
    throughput, unmapped: of the path, see `paths.EYE_THROUGHPUT`.
    pdf: pdf_solid_angle of its ray, 0 where shadow rays could not have brought the light.
    """

    pixel: int
    state: np.uint32
    throughput: Color
    unmapped: Color
    pdf: float


@inlined
def follows(diffuse: int) -> bool:
    """Returns whether scattered rays follow diffuse reflection."""
    return diffuse in (FOLLOW, CAUSTICS)


@inlined
def emission_weight(lights: LightArrays, task: EyeTask, ray: tuple[Vec3, float], emitter: int, pdf: float) -> float:
    """Returns the weight of light that a path met, beside the shadow rays that might have brought it.

    ray: direction and distance.
    emitter: index of the light that was met.
    pdf: see `MetLight`.
    """
    if pdf <= 0.0 or task.light_samples == 0:
        return 1.0
    direction, distance = ray
    return power_heuristic(pdf, task.light_samples * light_pdf(lights, emitter, direction, distance))


@inlined
def add_met_light(job: EyeJob, met: MetLight, radiance: Color) -> None:
    """Add light that a path has met, without what the caustic map has brought of it."""
    light = multiply(met.throughput, radiance)
    if met.pdf <= 0.0:  # by mirrors and glass, or straight to the eye
        light = multiply(light, met.unmapped)
    add_radiance(job.image, met.pixel, light, layer_of_met(met))


@inlined
def layer_of_met(met: MetLight) -> int:
    """Returns the layer of light that a path's ray meets."""
    spreads = (met.state >> SPREAD_SHIFT) & SPREAD_MASK
    if spreads == 0:
        return DIRECT_LIGHT
    if spreads > 1:
        return INDIRECT_LIGHT
    return DIRECT_LIGHT if met.pdf > 0.0 else CAUSTIC_LIGHT


@unit(types.none)
def add_light_from_outside(job: EyeJob, batch: EyeBatch, first: int, count: int) -> None:
    """Add what rays of a batch meet that leave the scene: lights far away and, for the eye alone, the background."""
    job, batch = borrowed(job), borrowed(batch)
    for row in range(first, first + count):
        if batch.prim_ids[row] == MISS:
            met = met_outside(batch, row)
            if met.state & SPECULAR_ONLY:  # a backdrop for the eye, no light
                add_radiance(job.image, met.pixel, multiply(met.throughput, job.scene.background), DIRECT_LIGHT)
            if len(job.scene.lights.outer) > 0:
                direction = normalize(ray_direction(batch.rays, row))
                add_met_light(job, met, light_from_outside(job.scene.lights, job.task, direction, met.pdf))


@inlined
def met_outside(batch: EyeBatch, row: int) -> MetLight:
    """Returns what light is weighed with that a ray of a batch meets outside of the scene."""
    paths = address(batch.paths)
    step = 4 * batch.paths.shape[1]
    throughput = get3(paths + EYE_THROUGHPUT * step, step, row)
    unmapped = get3(paths + EYE_UNMAPPED * step, step, row)
    pdf = np.uint32(batch.paths[EYE_PDF, row]).view(np.float32)
    return MetLight(
        Long(get_word(paths, row)),
        batch.paths[EYE_STATE, row],
        in_double(throughput),
        in_double(unmapped),
        np.float64(pdf),
    )


@inlined
def light_from_outside(lights: LightArrays, task: EyeTask, direction: Vec3, pdf: float) -> Color:
    """Returns the radiance that a ray meets which leaves the scene, each light with its `emission_weight`."""
    total = BLACK
    for emitter in lights.outer:
        radiance = outer_radiance(lights, emitter, direction)
        if largest(radiance) > 0.0:
            weight = emission_weight(lights, task, (direction, np.inf), emitter, pdf)
            total = add(total, scale(radiance, weight))
    return total


@unit(types.none)
def shade_listed(job: EyeJob, chunk: EyeChunk, count: int, shadows: ShadowRays) -> None:
    """Shade the first `count` vertices of the list `chunk.listed`: add what they send to the eye and, of those on the
    scalar path, write what they send on."""
    job, shadows = borrowed(job), borrowed(shadows)
    for k in range(count):
        i = Long(chunk.listed[k])
        vertex = vertex_at(job, chunk, i)
        if chunk.kind[i] & GLOWS:
            add_glow(job, chunk, vertex)
        if chunk.kind[i] & EYE_SCALAR:
            add_shadow_rays_of(job, chunk, vertex, shadows)
            show_photons(chunk, vertex)
            scatter_path(job.task, chunk, vertex)


@inlined
def vertex_at(job: EyeJob, chunk: EyeChunk, i: int) -> PathVertex:
    """Returns the surface that a path has reached, seen from where its ray came from."""
    distance = np.float64(chunk.distance[i])
    wo = scale(in_double(column(chunk.ray, i)), -1.0)
    width = np.float64(chunk.cone[0, i]) + np.float64(chunk.cone[1, i]) * distance
    u, v = off_edges(np.float64(chunk.uv[0, i]), np.float64(chunk.uv[1, i]))
    hit = surface_at(job.scene.surfaces, Long(chunk.triangle[i]), u, v, wo, width)
    diffuse = job.task.diffuse
    if diffuse == GATHER:
        diffuse = EVERYTHING if chunk.is_far[i] != 0 else CAUSTICS
    throughput = multiply(in_double(column(chunk.throughput, i)), arriving_share(hit, distance))
    return PathVertex(i, Long(chunk.pixel[i]), chunk.state[i], throughput, hit, local(hit, wo), diffuse)


@inlined
def off_edges(u: float, v: float) -> tuple[float, float]:
    """Returns barycentric coordinates that are not at an edge, see `vertices.reach`."""
    u, v = max(u, np.float64(EDGE)), max(v, np.float64(EDGE))
    beyond = max(u + v + np.float64(EDGE) - 1.0, 0.0)
    return u - 0.5 * beyond, v - 0.5 * beyond


@inlined
def add_glow(job: EyeJob, chunk: EyeChunk, vertex: PathVertex) -> None:
    """Add the light that a vertex emits, and what the eye alone sees of it."""
    i = vertex.i
    if largest(vertex.hit.emission) > 0.0:
        ray = (in_double(column(chunk.ray, i)), np.float64(chunk.behind[i]) + np.float64(chunk.distance[i]))
        emitter, pdf = job.scene.surfaces.emitter_ids[chunk.triangle[i]], np.float64(chunk.pdf[i])
        weight = emission_weight(job.scene.lights, job.task, ray, emitter, pdf)
        unmapped = in_double(column(chunk.unmapped, i))
        met = MetLight(vertex.pixel, vertex.state, vertex.throughput, unmapped, pdf)
        add_met_light(job, met, scale(vertex.hit.emission, weight))
    if vertex.state & SPECULAR_ONLY:
        add_radiance(job.image, vertex.pixel, multiply(vertex.throughput, vertex.hit.backdrop), DIRECT_LIGHT)


@inlined
def light_through(
    job: EyeJob, vertex: PathVertex, last: bool, u: tuple[float, float, float]
) -> tuple[Vec3, float, Color]:
    """Returns direction, distance and scattered radiance of light from one light, if nothing is in between.

    last: whether the path ends here, so that no scattered ray can bring the light.
    u: uniform numbers, for the choice of the light and the point on it.
    """
    task, hit, wo = job.task, vertex.hit, vertex.wo
    arriving = light_at(job.scene.lights, hit.position, u)
    wi = local(hit, arriving.direction)
    if not leaves(hit, arriving.direction, wi) or largest(arriving.irradiance) <= 0.0:
        return arriving.direction, arriving.distance, (0.0, 0.0, 0.0)
    follow = follows(vertex.diffuse)
    weight = 1.0
    if arriving.pdf_solid_angle > 0.0 and not last:
        own = pdf_solid_angle(hit.bsdf, wi, wo, hit.outside, follow)
        weight = power_heuristic(task.light_samples * arriving.pdf_solid_angle, own)
    # Where diffuse reflection is not followed, shadow rays alone bring its direct light, or photons do.
    alone = 0.0 if vertex.diffuse == EVERYTHING else 1.0
    diffuse = scale(evaluate_diffuse(hit.bsdf, wi, wo), weight if follow else alone)
    scattered = add(diffuse, scale(evaluate_rough(hit.bsdf, wi, wo, hit.outside, False), weight))
    return arriving.direction, arriving.distance, scale(multiply(scattered, arriving.irradiance), abs(wi[2]))


@inlined
def add_shadow_rays_of(job: EyeJob, chunk: EyeChunk, vertex: PathVertex, shadows: ShadowRays) -> None:
    """Add the shadow rays of a vertex, each behind those that there are of its sample."""
    task, bsdf, depth = job.task, vertex.hit.bsdf, Long(vertex.state & DEPTH_MASK)
    is_diffuse = largest(bsdf.diffuse) > 0.0 and vertex.diffuse != EVERYTHING
    if (not is_diffuse and not has_rough_lobe(bsdf)) or bounces_of(vertex.state) >= task.max_bounces:
        return
    last = bounces_of(vertex.state) + 1 >= task.max_bounces or vertex.diffuse == NOTHING
    for k in range(task.light_samples):
        u = light_numbers(task, vertex.pixel, depth, depth * MAX_LIGHT_SAMPLES + k)
        stratum = (k + u[0]) / task.light_samples
        direction, distance, reflected = light_through(job, vertex, last, (stratum, u[1], u[2]))
        radiance = scale(multiply(vertex.throughput, reflected), 1.0 / task.light_samples)
        if largest(radiance) > 0.0:
            target = scale(direction, distance)
            # From off the surface to where the light is: along the direction alone, the ray would end behind a close
            # light.
            ends = (ray_origin(vertex.hit, target), add(vertex.hit.position, target))
            put_shadow_ray(shadows, k, (np.uint32(vertex.pixel), vertex.state), ends, radiance)


@inlined
def show_photons(chunk: EyeChunk, vertex: PathVertex) -> None:
    """Write what `add_photon_light` looks at."""
    i, hit = vertex.i, vertex.hit
    seen = base_reflectance(hit.bsdf, vertex.wo) if largest(hit.bsdf.diffuse) > 0.0 else BLACK
    set_column(chunk.weight, i, in_single(seen))
    set_column(chunk.position, i, in_single(hit.position))
    set_column(chunk.normal, i, in_single(hit.geom_normal))
    set_column(chunk.shading, i, in_single(hit.shading_normal))
    set_column(chunk.throughput, i, in_single(vertex.throughput))


@inlined
def scatter_path(task: EyeTask, chunk: EyeChunk, vertex: PathVertex) -> None:
    """Draw the next direction of a path, and write the path that goes on, or that none does."""
    i, hit, follow = vertex.i, vertex.hit, follows(vertex.diffuse)
    depth = Long(vertex.state & DEPTH_MASK)
    chunk.goes[i] = np.uint32(0)
    u, chance = scatter_numbers(task, vertex.pixel, depth)
    scattered = sample(hit.bsdf, vertex.wo, hit.outside, False, follow, u)
    direction = world(hit, scattered.wi)
    chunk.lobe[i] = Int(scattered.lobe)  # for whoever looks on
    if scattered.lobe == LOBE_ABSORBED or not leaves(hit, direction, scattered.wi):
        return
    put_state(chunk, vertex, scattered)
    is_unlit = scattered.lobe == LOBE_SPECULAR or task.light_samples == 0
    if bounces_of(chunk.next_state[i]) >= task.max_bounces + is_unlit:
        return
    if task.diffuse == NOTHING and scattered.lobe != LOBE_SPECULAR:
        return
    survival = 1.0
    if depth >= SURE_BOUNCES or not follow:
        survival = min(1.0, largest(scattered.weight))
    if chance >= survival:
        return
    chunk.goes[i] = ALL_BITS
    set_column(chunk.start, i, in_single(ray_origin(hit, direction)))
    set_column(chunk.wi, i, in_single(direction))
    gain = scale(scattered.weight, scattered.radiance_scale / survival)
    set_column(chunk.next_throughput, i, in_single(multiply(vertex.throughput, gain)))


@inlined
def put_state(chunk: EyeChunk, vertex: PathVertex, scattered: BsdfSample) -> None:
    """Write the state, density, cone, unmapped share and length of line of the path that leaves a vertex."""
    i, is_specular = vertex.i, scattered.lobe == LOBE_SPECULAR
    if is_specular and scattered.wi[2] < 0.0 and (chunk.kind[i] & SHEET) != 0:
        chunk.next_state[i], chunk.next_pdf[i] = state_through(vertex.state), chunk.pdf[i]
        chunk.next_behind[i] = chunk.behind[i] + chunk.distance[i]
    else:
        chunk.next_state[i] = state_after(vertex.state, is_specular, scattered.lobe == LOBE_DIFFUSE)
        chunk.next_pdf[i], chunk.next_behind[i] = Float32(scattered.pdf_solid_angle), Float32(0.0)
    chunk.next_cone[0, i] = chunk.cone[0, i] + chunk.cone[1, i] * chunk.distance[i]
    chunk.next_cone[1, i] = max(chunk.cone[1, i], cone_spread(chunk.next_pdf[i]))
    if is_specular:
        set_column(chunk.next_unmapped, i, column(chunk.unmapped, i))
        return
    unmapped = (1.0, 1.0, 1.0)
    if vertex.diffuse == CAUSTICS:
        share = abs(scattered.wi[2]) / scattered.pdf_solid_angle
        diffuse = scale(evaluate_diffuse(vertex.hit.bsdf, scattered.wi, vertex.wo), share)
        weight = scattered.weight
        unmapped = (
            rest(diffuse[0], weight[0]),
            rest(diffuse[1], weight[1]),
            rest(diffuse[2], weight[2]),
        )
    set_column(chunk.next_unmapped, i, in_single(unmapped))
