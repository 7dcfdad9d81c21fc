"""One bounce of paths from the eye: the light that their vertices send back, and their next directions."""

import math
from typing import NamedTuple

import numpy as np

from renderer.camera_paths.paths import Doubles, EyeBatch, EyeJob, EyePaths, ShadowRays, ray_direction, set_ray
from renderer.camera_paths.sampler import light_numbers, scatter_numbers
from renderer.camera_paths.task import CAUSTICS, EVERYTHING, FOLLOW, GATHER, NOTHING, EyeTask
from renderer.film.layers import CAUSTIC_LIGHT, DIRECT_LIGHT, INDIRECT_LIGHT, add_radiance
from renderer.photons.light_layers import PhotonLight, add_photons
from renderer.photons.lookup import PhotonLookup, irradiance_at
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
from shaders.lights import LightArrays, light_pdf, outer_radiance, sample_light
from shaders.sampling import cosine_hemisphere, power_heuristic
from shaders.surface import Hit, SurfaceArrays, arriving_share, leaves, local, ray_origin, surface_at, world
from shaders.vector import BLACK, Color, Vec3, add, dot, largest, multiply, normalize, scale, subtract
from tracecore.compilation.cached import compiled
from tracecore.rays import MISS

#: Shadow rays per hit: one for each light up to this many, then as many spread over all.
MAX_LIGHT_SAMPLES = 8

#: Bounces after which Russian roulette may end a path of the path driver.
SURE_BOUNCES = 3


#: A scattered ray stands for one of so many parts of its lobe, a tenth as wide as the lobe, so that what is blurred by
#: textures is little beside what the lobe blurs; and for a cone that gets no wider than so much over a distance of 1.
CONES, MOST_SPREAD = 100.0, 0.3


class PathVertex(NamedTuple):
    """A surface that a path has reached.

    row: of the path in its batch.
    pixel: whose light the path brings.
    bounce: how many surfaces the path has left behind.
    specular_only: whether mirrors and glass alone lie between the vertex and the eye.
    throughput: share of the light sent back along the path that reaches the eye.
    distance: from the vertex before, in lengths of the ray's direction.
    width: of the path's cone at the vertex, world units.
    hit: the surface.
    wo: unit direction back along the path, in the shading frame of the hit.
    task: what is to be done here.
    """

    row: int
    pixel: int
    bounce: int
    specular_only: bool
    throughput: Color
    distance: float
    width: float
    hit: Hit
    wo: Vec3
    task: EyeTask


@inlined
def task_at(task: EyeTask, after_diffuse: bool, distance: float, near: float) -> EyeTask:
    """Returns what is to be done at a hit: a final gather changes the task on its way.

    after_diffuse: whether a diffuse bounce lies between the hit and the eye.
    distance: length of the ray, world units.
    near: up to which distance the irradiance known at photons is not trusted.
    """
    diffuse = task.diffuse
    if diffuse == GATHER:
        diffuse = EVERYTHING if after_diffuse and distance >= near else CAUSTICS
    return EyeTask(task.seed, task.sequence, diffuse, task.max_bounces, task.light_samples, task.radius, task.sampler)


@inlined
def follows(task: EyeTask) -> bool:
    """Returns whether scattered rays follow diffuse reflection."""
    return task.diffuse == FOLLOW or task.diffuse == CAUSTICS


@inlined
def asks_photons(task: EyeTask) -> bool:
    """Returns whether photons bring light to diffuse reflection."""
    return task.diffuse != FOLLOW and task.diffuse != NOTHING


@inlined
def emission_weight(lights: LightArrays, task: EyeTask, ray: tuple[Vec3, float], emitter: int, pdf: float) -> float:
    """Returns the weight of light that a path met, beside the shadow rays that might have brought it.

    ray: direction and distance.
    emitter: index of the light that was met.
    pdf: pdf_solid_angle of the direction, 0 where shadow rays could not have brought the light.
    """
    if pdf <= 0.0 or task.light_samples == 0:
        return 1.0
    direction, distance = ray
    return power_heuristic(pdf, task.light_samples * light_pdf(lights, emitter, direction, distance))


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


@inlined
def light_through(
    lights: LightArrays, task: EyeTask, hit: Hit, wo: Vec3, last: bool, u: tuple[float, float, float]
) -> tuple[Vec3, float, Color]:
    """Returns direction, distance and scattered radiance of light from one light, if nothing is in between.

    wo: unit, in the shading frame of the hit.
    last: whether the path ends here, so that no scattered ray can bring the light.
    u: uniform numbers, for the choice of the light and the place on it.
    """
    arriving = sample_light(lights, hit.position, u)
    wi = local(hit, arriving.direction)
    if not leaves(hit, arriving.direction, wi) or largest(arriving.irradiance) <= 0.0:
        return arriving.direction, arriving.distance, (0.0, 0.0, 0.0)
    follow = follows(task)
    weight = 1.0
    if arriving.pdf_solid_angle > 0.0 and not last:
        own = pdf_solid_angle(hit.bsdf, wi, wo, hit.outside, follow)
        weight = power_heuristic(task.light_samples * arriving.pdf_solid_angle, own)
    # Where diffuse reflection is not followed, shadow rays alone bring its direct light, or photons do.
    alone = 0.0 if task.diffuse == EVERYTHING else 1.0
    diffuse = scale(evaluate_diffuse(hit.bsdf, wi, wo), weight if follow else alone)
    scattered = add(diffuse, scale(evaluate_rough(hit.bsdf, wi, wo, hit.outside, False), weight))
    return arriving.direction, arriving.distance, scale(multiply(scattered, arriving.irradiance), abs(wi[2]))


@inlined
def add_shadow_rays(lights: LightArrays, vertex: PathVertex, shadows: ShadowRays, count: int) -> int:
    """Add the shadow rays of a vertex behind the `count` that there are. Returns how many there are then."""
    hit, task = vertex.hit, vertex.task
    is_diffuse = largest(hit.bsdf.diffuse) > 0.0 and task.diffuse != EVERYTHING
    if not is_diffuse and not has_rough_lobe(hit.bsdf):
        return count
    last = vertex.bounce + 1 >= task.max_bounces or task.diffuse == NOTHING
    for k in range(task.light_samples):
        u = light_numbers(task, vertex.pixel, vertex.bounce, vertex.bounce * MAX_LIGHT_SAMPLES + k)
        stratum = (k + u[0]) / task.light_samples
        direction, distance, reflected = light_through(lights, task, hit, vertex.wo, last, (stratum, u[1], u[2]))
        radiance = scale(multiply(vertex.throughput, reflected), 1.0 / task.light_samples)
        if largest(radiance) <= 0.0:
            continue
        put_shadow_ray(shadows, count, vertex, (direction, distance), radiance)
        count += 1
    return count


@inlined
def put_shadow_ray(
    shadows: ShadowRays, index: int, vertex: PathVertex, to_light: tuple[Vec3, float], radiance: Color
) -> None:
    """Write a shadow ray from a vertex.

    index: of the shadow ray.
    to_light: unit direction and distance, world units, from the hit to the place on the light.
    radiance: what the eye receives if nothing is in between.
    """
    direction, distance = to_light
    # From off the surface to where the light is: along the direction alone, the ray would end behind a close light.
    origin = ray_origin(vertex.hit, direction)
    rays, column = shadows.rays[index // shadows.capacity], index % shadows.capacity
    set_ray(rays, column, origin, subtract(add(vertex.hit.position, scale(direction, distance)), origin))
    rays[7, column] = 1.0
    shadows.pixel[index] = vertex.pixel
    shadows.layer[index] = DIRECT_LIGHT if vertex.specular_only else INDIRECT_LIGHT
    for channel in range(3):
        shadows.radiance[index, channel] = radiance[channel]


@inlined
def layer_of_met(paths: EyePaths, row: int) -> int:
    """Returns the layer of light that a path's ray meets."""
    if paths.diffuse_depth[row] == 0:
        return DIRECT_LIGHT
    if paths.diffuse_depth[row] > 1:
        return INDIRECT_LIGHT
    return DIRECT_LIGHT if paths.pdf_solid_angle[row] > 0.0 else CAUSTIC_LIGHT


@inlined
def throughput_at(paths: EyePaths, row: int) -> Color:
    """Returns `EyePaths.throughput` of a path."""
    return (paths.throughput[row, 0], paths.throughput[row, 1], paths.throughput[row, 2])


@inlined
def unmapped_at(paths: EyePaths, row: int) -> Color:
    """Returns `EyePaths.unmapped` of a path."""
    return (paths.unmapped[row, 0], paths.unmapped[row, 1], paths.unmapped[row, 2])


@inlined
def unmapped_light(paths: EyePaths, row: int, radiance: Color) -> Color:
    """Returns the light that a path has met, without what the caustic map has brought of it."""
    if paths.pdf_solid_angle[row] > 0.0:  # straight from a light
        return radiance
    return multiply(radiance, unmapped_at(paths, row))


@inlined
def unmapped_share(before: Color, vertex: PathVertex, scattered: BsdfSample) -> Color:
    """Returns `EyePaths.unmapped` after a bounce: the caustic map has brought the diffuse part of what is scattered."""
    if scattered.lobe == LOBE_SPECULAR:
        return before
    if vertex.task.diffuse != CAUSTICS:
        return (1.0, 1.0, 1.0)
    share = abs(scattered.wi[2]) / scattered.pdf_solid_angle
    diffuse = scale(evaluate_diffuse(vertex.hit.bsdf, scattered.wi, vertex.wo), share)
    weight = scattered.weight
    return (rest(diffuse[0], weight[0]), rest(diffuse[1], weight[1]), rest(diffuse[2], weight[2]))


@inlined
def rest(part: float, whole: float) -> float:
    """Returns the share of the whole that is not in the part."""
    return max(0.0, 1.0 - part / whole) if whole > 0.0 else 0.0


@inlined
def wider(paths: EyePaths, row: int, distance: float) -> float:
    """Returns how wide the cone of a path is at a distance."""
    return paths.cone[row, 0] + paths.cone[row, 1] * distance


@inlined
def cone_spread(pdf: float) -> float:
    """Returns how much wider the cone of a scattered ray gets over a distance of 1; pdf is 0 for one without spread."""
    return min(math.sqrt(1.0 / (CONES * pdf)), MOST_SPREAD) if pdf > 0.0 else 0.0


@compiled
def advance_eye_paths(job: EyeJob, batch: EyeBatch, shadows: ShadowRays) -> tuple[int, int]:
    """Shade the hits of a batch: the rendering equation, one bounce of it.

    What a vertex sends to the eye is the light that it emits, the light that shadow rays bring it, the light that
    photons bring it, and what comes from the next direction. (Kajiya: The Rendering Equation, 1986.) The whole job is
    passed on for few vertices alone, and of the scene only what is asked: Numba looks at each array that is passed.

    job: the pass; its image is added to.
    batch: the paths that go on lie in its first rows then, with their rays.
    shadows: written.
    Returns how many paths go on, and how many shadow rays there are.
    """
    kept, shadow_count = 0, 0
    for row in range(batch.active):
        if batch.prim_ids[row] == MISS:
            add_light_from_outside(job, batch, row)
            continue
        vertex = vertex_at(job.scene.surfaces, job.task, job.lookup.irradiance.radius, batch, row)
        if largest(vertex.hit.emission) > 0.0:
            add_emitted_light(job, batch, vertex)
        add_backdrop(job.image, vertex)
        shadow_count = add_shadow_rays(job.scene.lights, vertex, shadows, shadow_count)
        if asks_photons(vertex.task):
            add_photon_light(job.lookup, job.task, job.image, vertex)
        kept += scatter(job.task, batch, vertex, kept)
    return kept, shadow_count


@inlined
def add_light_from_outside(job: EyeJob, batch: EyeBatch, row: int) -> None:
    """Add what a ray meets that leaves the scene: lights far away and, for the eye alone, the background."""
    paths = batch.paths
    pixel, throughput = paths.pixel[row], throughput_at(paths, row)
    if paths.specular_only[row]:  # a backdrop for the eye, no light
        add_radiance(job.image, pixel, multiply(throughput, job.scene.background), DIRECT_LIGHT)
    direction = normalize(ray_direction(batch.rays, row))
    arriving = light_from_outside(job.scene.lights, job.task, direction, paths.pdf_solid_angle[row])
    met = unmapped_light(paths, row, multiply(throughput, arriving))
    add_radiance(job.image, pixel, met, layer_of_met(paths, row))


@inlined
def vertex_at(surfaces: SurfaceArrays, task: EyeTask, far_radius: float, batch: EyeBatch, row: int) -> PathVertex:
    """Returns the surface that a path has reached, seen from where its ray came from.

    far_radius: distance in world units from which on a final gather asks for irradiance that is known.
    """
    paths, hits = batch.paths, batch.hits
    distance = np.float64(hits[0, row])
    wo = scale(ray_direction(batch.rays, row), -1.0)
    width = wider(paths, row, distance)
    u, v = np.float64(hits[1, row]), np.float64(hits[2, row])
    hit = surface_at(surfaces, batch.prim_ids[row], u, v, wo, width)
    return PathVertex(
        row,
        paths.pixel[row],
        batch.bounce,
        paths.specular_only[row],
        multiply(throughput_at(paths, row), arriving_share(hit, distance)),
        distance,
        width,
        hit,
        local(hit, wo),
        task_at(task, paths.after_diffuse[row], distance, far_radius),
    )


@inlined
def add_emitted_light(job: EyeJob, batch: EyeBatch, vertex: PathVertex) -> None:
    """Add the light that a vertex emits."""
    paths, row = batch.paths, vertex.row
    ray = (ray_direction(batch.rays, row), vertex.distance)
    emitter = job.scene.surfaces.emitter_ids[batch.prim_ids[row]]
    weight = emission_weight(job.scene.lights, job.task, ray, emitter, paths.pdf_solid_angle[row])
    met = scale(multiply(vertex.throughput, vertex.hit.emission), weight)
    add_radiance(job.image, vertex.pixel, unmapped_light(paths, row, met), layer_of_met(paths, row))


@inlined
def add_backdrop(image: Doubles, vertex: PathVertex) -> None:
    """Add what the eye alone sees of a vertex."""
    if vertex.specular_only:
        add_radiance(image, vertex.pixel, multiply(vertex.throughput, vertex.hit.backdrop), DIRECT_LIGHT)


@inlined
def add_photon_light(lookup: PhotonLookup, task: EyeTask, image: Doubles, vertex: PathVertex) -> None:
    """Add the light that photons bring a vertex. task: of the whole pass."""
    hit = vertex.hit
    if not largest(hit.bsdf.diffuse) > 0.0:
        return
    is_far = task.diffuse == GATHER and vertex.task.diffuse == EVERYTHING
    irradiance = irradiance_at(lookup, hit, vertex.pixel, task.radius, is_far)
    reflected = scale(multiply(base_reflectance(hit.bsdf, vertex.wo), irradiance), 1.0 / math.pi)
    seen = multiply(vertex.throughput, reflected)
    light = PhotonLight(vertex.pixel, task.radius, vertex.specular_only, is_far, irradiance, seen)
    add_photons(image, lookup, hit, light)


@inlined
def scatter(task: EyeTask, batch: EyeBatch, vertex: PathVertex, kept: int) -> int:
    """Draw the next direction of a path, which becomes the batch's row `kept`. Returns 1, or 0 where the path ends.

    task: of the whole pass.
    """
    if vertex.bounce + 1 >= task.max_bounces:
        return 0
    hit, follow = vertex.hit, follows(vertex.task)
    u, chance = scatter_numbers(task, vertex.pixel, vertex.bounce)
    scattered = sample(hit.bsdf, vertex.wo, hit.outside, False, follow, u)
    direction = world(hit, scattered.wi)
    if scattered.lobe == LOBE_ABSORBED or not leaves(hit, direction, scattered.wi):
        return 0
    if task.diffuse == NOTHING and scattered.lobe != LOBE_SPECULAR:
        return 0
    # The share of light kept decides who goes on; by the throughput, every second path would end in glass.
    survival = 1.0
    if vertex.bounce >= SURE_BOUNCES or not follow:
        survival = min(1.0, largest(scattered.weight))
    if chance >= survival:
        return 0
    set_ray(batch.rays, kept, ray_origin(hit, direction), direction)
    put_path(batch.paths, kept, vertex, scattered, scattered.radiance_scale / survival)
    return 1


@inlined
def put_path(paths: EyePaths, kept: int, vertex: PathVertex, scattered: BsdfSample, gain: float) -> None:
    """Write the path that leaves a vertex.

    kept: its row, at or before that of the path which came.
    gain: factor of its throughput, beside the weight of what was scattered.
    """
    row, is_specular = vertex.row, scattered.lobe == LOBE_SPECULAR
    paths.pixel[kept] = vertex.pixel
    paths.pdf_solid_angle[kept] = scattered.pdf_solid_angle
    paths.specular_only[kept] = vertex.specular_only and is_specular
    paths.after_diffuse[kept] = paths.after_diffuse[row] or scattered.lobe == LOBE_DIFFUSE
    paths.diffuse_depth[kept] = min(paths.diffuse_depth[row] + (0 if is_specular else 1), 2)
    paths.cone[kept, 0] = vertex.width
    paths.cone[kept, 1] = max(paths.cone[row, 1], cone_spread(scattered.pdf_solid_angle))
    unmapped = unmapped_share(unmapped_at(paths, row), vertex, scattered)
    for channel in range(3):
        paths.throughput[kept, channel] = vertex.throughput[channel] * scattered.weight[channel] * gain
        paths.unmapped[kept, channel] = unmapped[channel]


@compiled
def start_occlusion_rays(job: EyeJob, batch: EyeBatch) -> int:
    """Turn the hits of camera rays into occlusion rays, spread by the cosine, in place; a miss is lit.

    job: the pass; its image is added to, and its reach is how far the occlusion rays go.
    batch: camera rays and what they hit.
    Returns how many rays there are then.
    """
    rays, hits, pixels = batch.rays, batch.hits, batch.paths.pixel
    kept = 0
    for i in range(batch.active):
        pixel = pixels[i]
        if batch.prim_ids[i] == MISS:
            add_radiance(job.image, pixel, (1.0, 1.0, 1.0), DIRECT_LIGHT)
            continue
        wo = scale(ray_direction(rays, i), -1.0)
        u, v = np.float64(hits[1, i]), np.float64(hits[2, i])
        hit = surface_at(job.scene.surfaces, batch.prim_ids[i], u, v, wo)
        numbers, _ = scatter_numbers(job.task, pixel, 0)
        direction = world(hit, cosine_hemisphere(numbers[1], numbers[2]))
        if dot(direction, hit.geom_normal) <= 0.0:
            continue
        set_ray(rays, kept, ray_origin(hit, direction), direction)
        rays[7, kept] = job.reach
        pixels[kept] = pixel
        kept += 1
    return kept
