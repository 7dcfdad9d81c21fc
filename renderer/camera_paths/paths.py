"""Paths from the eye: camera rays, light by shadow rays, photons where a driver has them, and the next bounce.

One path per pixel and pass. What a pixel receives is added up in the order of its own path, so that no thread and no
size of batch can change a bit of it.
"""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from renderer.camera_paths.camera_rays import camera_ray
from renderer.camera_paths.sampler import camera_numbers, light_numbers, scatter_numbers
from renderer.camera_paths.task import CAUSTICS, EVERYTHING, FOLLOW, GATHER, NOTHING, EyeTask
from renderer.film.layers import CAUSTIC_LIGHT, DIRECT_LIGHT, INDIRECT_LIGHT, add_radiance
from renderer.photons.light_layers import PhotonLight, add_photons
from renderer.photons.lookup import PhotonLookup, irradiance_at
from renderer.scene.packed_scene import CameraArrays, PackedScene
from renderer.scene.pixel_filters import place_in_filter
from shaders.bsdf import (
    ABSORBED,
    DIFFUSE,
    SPECULAR,
    BsdfSample,
    base_reflectance,
    evaluate_diffuse,
    evaluate_glossy,
    has_glossy_spread,
    pdf_solid_angle,
    sample,
)
from shaders.compilation import compiled as inlined
from shaders.lights import light_pdf, outer_radiance, sample_light
from shaders.sampling import cosine_hemisphere, power_heuristic
from shaders.surface import Hit, arriving_share, leaves, local, ray_origin, surface_at, world
from shaders.vector import BLACK, Color, Vec3, add, dot, largest, length, multiply, normalize, scale, subtract
from tracecore.compilation.cached import compiled
from tracecore.rays import MISS, Floats, Ids

#: Shadow rays per hit: one for each light up to this many, then as many spread over all.
MAX_LIGHT_SAMPLES = 8

#: Bounces after which Russian roulette may end a path of the path driver.
SURE_BOUNCES = 3


#: A scattered ray stands for one of so many parts of its lobe, a tenth as wide as the lobe, so that what is blurred by
#: textures is little beside what the lobe blurs; and for a cone that gets no wider than so much over a distance of 1.
CONES, MOST_SPREAD = 100.0, 0.3

Doubles = npt.NDArray[np.float64]


class EyePaths(NamedTuple):
    """Paths on their way, one row per ray. pixel: (n,) int32. throughput: (n, 3) float64. pdf_solid_angle: (n,)
    float64, of the ray's direction, 0 for one without spread (the camera's, a mirror's). specular_only: (n,) bool, whether
    mirrors and glass alone lie between the ray and the eye. after_diffuse: (n,) bool, whether a diffuse bounce does. diffuse_depth:
    (n,) uint8, bounces that spread light, 2 for all that are more.
    unmapped: (n, 3) float64, the share of light met by mirrors and glass alone, since the last spread bounce, that no
    caustic map has brought. cone: (n, 2) float64, of what the path stands for: how wide it is where the ray starts,
    world units, and how much wider it gets over a distance of 1."""

    pixel: npt.NDArray[np.int32]
    throughput: Doubles
    pdf_solid_angle: Doubles
    specular_only: npt.NDArray[np.bool_]
    after_diffuse: npt.NDArray[np.bool_]
    diffuse_depth: npt.NDArray[np.uint8]
    unmapped: Doubles
    cone: Doubles


class ShadowRays(NamedTuple):
    """Shadow rays and what they carry. rays: (slots, 8, column) float32. pixel: (slots * capacity,) int32. radiance:
    (slots * capacity, 3) float64. layer: (slots * capacity,) uint8, of light. capacity: rays of a slot."""

    rays: Floats
    pixel: npt.NDArray[np.int32]
    radiance: Doubles
    layer: npt.NDArray[np.uint8]
    capacity: int


def new_eye_paths(*shape: int) -> EyePaths:
    """Room for so many paths; the last number is that of one batch."""
    return EyePaths(
        pixel=np.zeros(shape, np.int32),
        throughput=np.zeros((*shape, 3)),
        pdf_solid_angle=np.zeros(shape),
        specular_only=np.zeros(shape, np.bool_),
        after_diffuse=np.zeros(shape, np.bool_),
        diffuse_depth=np.zeros(shape, np.uint8),
        unmapped=np.zeros((*shape, 3)),
        cone=np.zeros((*shape, 2)),
    )


@compiled
def start_eye_paths(
    camera: CameraArrays,
    task: EyeTask,
    size: tuple[int, int],
    pixels: npt.NDArray[np.int32],
    rays: Floats,
    paths: EyePaths,
) -> int:
    """A camera ray through a place in each pixel. pixels: (n,) row * width + column. rays: (8, column). Returns n.

    Over the passes the places of a pixel fill its filter evenly, and those on the lens fill that.
    """
    width, height = size
    forward = (camera.forward[0], camera.forward[1], camera.forward[2])
    for i in range(len(pixels)):
        pixel = pixels[i]
        u, lens = camera_numbers(task, pixel)
        x = place_in_filter(camera.pixel_filter, u[0]) + pixel % width
        y = place_in_filter(camera.pixel_filter, u[1]) + pixel // width
        eye, direction = camera_ray(camera, (2.0 * x / width - 1.0, 2.0 * y / height - 1.0), lens)
        set_ray(rays, i, eye, direction)
        rays[3, i] = camera.near / dot(direction, forward)
        paths.pixel[i] = pixel
        paths.pdf_solid_angle[i] = 0.0
        paths.specular_only[i] = True
        paths.after_diffuse[i] = False
        paths.diffuse_depth[i] = 0
        side = 2.0 * length((camera.down[0], camera.down[1], camera.down[2])) / height
        paths.cone[i, 0], paths.cone[i, 1] = (side, 0.0) if camera.is_parallel else (0.0, side)
        for channel in range(3):
            paths.throughput[i, channel] = paths.unmapped[i, channel] = 1.0
    return len(pixels)


@inlined
def set_ray(rays: Floats, row: int, origin: Vec3, direction: Vec3) -> None:
    """Write a ray without limits. rays: (8, column)."""
    rays[0, row], rays[1, row], rays[2, row], rays[3, row] = origin[0], origin[1], origin[2], 0.0
    rays[4, row], rays[5, row], rays[6, row], rays[7, row] = direction[0], direction[1], direction[2], np.inf


@inlined
def ray_direction(rays: Floats, row: int) -> Vec3:
    """Of a ray. rays: (8, column)."""
    return (np.float64(rays[4, row]), np.float64(rays[5, row]), np.float64(rays[6, row]))


@inlined
def task_at(task: EyeTask, after_diffuse: bool, distance: float, near: float) -> EyeTask:
    """What is to be done at a hit: a final gather says it anew. distance: of the ray. near: where it is not trusted."""
    diffuse = task.diffuse
    if diffuse == GATHER:
        diffuse = EVERYTHING if after_diffuse and distance >= near else CAUSTICS
    return EyeTask(task.seed, task.sequence, diffuse, task.max_bounces, task.light_samples, task.radius, task.sampler)


@inlined
def follows(task: EyeTask) -> bool:
    """Whether scattered rays follow diffuse reflection."""
    return task.diffuse == FOLLOW or task.diffuse == CAUSTICS


@inlined
def emission_weight(scene: PackedScene, task: EyeTask, ray: tuple[Vec3, float], emitter: int, pdf: float) -> float:
    """Weight of light met by a path, beside the shadow rays that might have brought it. ray: direction, distance.

    emitter: the light that is met. pdf: pdf_solid_angle of the direction, 0 where shadow rays could not have brought
    the light.
    """
    if pdf <= 0.0 or task.light_samples == 0:
        return 1.0
    direction, distance = ray
    return power_heuristic(pdf, task.light_samples * light_pdf(scene.lights, emitter, direction, distance))


@inlined
def light_from_outside(scene: PackedScene, task: EyeTask, direction: Vec3, pdf: float) -> Color:
    """Radiance that a ray meets which leaves the scene, each light with its `emission_weight`."""
    total = BLACK
    for emitter in scene.lights.outer:
        radiance = outer_radiance(scene.lights, emitter, direction)
        if largest(radiance) > 0.0:
            weight = emission_weight(scene, task, (direction, np.inf), emitter, pdf)
            total = add(total, scale(radiance, weight))
    return total


@inlined
def light_through(
    scene: PackedScene, task: EyeTask, hit: Hit, wo: Vec3, last: bool, u: tuple[float, float, float]
) -> tuple[Vec3, float, Color]:
    """Direction, distance and scattered radiance of light from one light, drawn by u, if nothing is in between.

    last: the path ends here, so that no scattered ray can bring the light.
    """
    arriving = sample_light(scene.lights, hit.position, u)
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
    scattered = add(diffuse, scale(evaluate_glossy(hit.bsdf, wi, wo, hit.outside, False), weight))
    return arriving.direction, arriving.distance, scale(multiply(scattered, arriving.irradiance), abs(wi[2]))


@inlined
def add_shadow_rays(
    scene: PackedScene,
    task: EyeTask,
    hit: Hit,
    wo: Vec3,
    path: tuple[int, int, Color, int],
    shadows: ShadowRays,
    count: int,
) -> int:
    """Shadow rays of one hit. path: pixel, bounce, throughput, layer. Returns the number of shadow rays there are
    now."""
    pixel, bounce, throughput, layer = path
    is_diffuse = largest(hit.bsdf.diffuse) > 0.0 and task.diffuse != EVERYTHING
    if not is_diffuse and not has_glossy_spread(hit.bsdf):
        return count
    last = bounce + 1 >= task.max_bounces or task.diffuse == NOTHING
    for k in range(task.light_samples):
        u = light_numbers(task, pixel, bounce, bounce * MAX_LIGHT_SAMPLES + k)
        stratum = (k + u[0]) / task.light_samples
        direction, distance, reflected = light_through(scene, task, hit, wo, last, (stratum, u[1], u[2]))
        radiance = scale(multiply(throughput, reflected), 1.0 / task.light_samples)
        if largest(radiance) <= 0.0:
            continue
        # From off the surface to where the light is: along the direction alone, the ray would end behind a close light.
        origin = ray_origin(hit, direction)
        rays, place = shadows.rays[count // shadows.capacity], count % shadows.capacity
        set_ray(rays, place, origin, subtract(add(hit.position, scale(direction, distance)), origin))
        rays[7, place] = 1.0
        shadows.pixel[count] = pixel
        shadows.layer[count] = layer
        for channel in range(3):
            shadows.radiance[count, channel] = radiance[channel]
        count += 1
    return count


@inlined
def layer_of_met(paths: EyePaths, row: int) -> int:
    """Of light that a path meets."""
    if paths.diffuse_depth[row] == 0:
        return DIRECT_LIGHT
    if paths.diffuse_depth[row] > 1:
        return INDIRECT_LIGHT
    return DIRECT_LIGHT if paths.pdf_solid_angle[row] > 0.0 else CAUSTIC_LIGHT


@inlined
def unmapped_at(paths: EyePaths, row: int) -> Color:
    """`EyePaths.unmapped` of a path."""
    return (paths.unmapped[row, 0], paths.unmapped[row, 1], paths.unmapped[row, 2])


@inlined
def unmapped_light(paths: EyePaths, row: int, radiance: Color) -> Color:
    """Light that a path has met, without what the caustic map has brought of it."""
    if paths.pdf_solid_angle[row] > 0.0:  # straight from a light
        return radiance
    return multiply(radiance, unmapped_at(paths, row))


@inlined
def unmapped_share(before: Color, task: EyeTask, hit: Hit, wo: Vec3, scattered: BsdfSample) -> Color:
    """`EyePaths.unmapped` after a bounce: the map has the diffuse part of what is scattered."""
    if scattered.lobe == SPECULAR:
        return before
    if task.diffuse != CAUSTICS:
        return (1.0, 1.0, 1.0)
    diffuse = scale(evaluate_diffuse(hit.bsdf, scattered.wi, wo), abs(scattered.wi[2]) / scattered.pdf_solid_angle)
    weight = scattered.weight
    return (rest(diffuse[0], weight[0]), rest(diffuse[1], weight[1]), rest(diffuse[2], weight[2]))


@inlined
def rest(part: float, whole: float) -> float:
    """The share of the whole that is not in the part."""
    return max(0.0, 1.0 - part / whole) if whole > 0.0 else 0.0


@inlined
def wider(paths: EyePaths, row: int, distance: float) -> float:
    """How wide the cone of a path is at a distance."""
    return paths.cone[row, 0] + paths.cone[row, 1] * distance


@inlined
def cone_spread(pdf: float) -> float:
    """How much wider the cone of a scattered ray gets over a distance of 1; pdf is 0 of a direction without spread."""
    return min(math.sqrt(1.0 / (CONES * pdf)), MOST_SPREAD) if pdf > 0.0 else 0.0


@compiled
def advance_eye_paths(
    scene: PackedScene,
    lookup: PhotonLookup,
    task: EyeTask,
    batch: tuple[Floats, Floats, Ids],
    paths: EyePaths,
    progress: tuple[int, int],
    shadows: ShadowRays,
    image: Doubles,
) -> tuple[int, int]:
    """Shade the hits of a batch, all of the same bounce.

    batch: rays (8, column), hits (4, column), prim_ids (column,). progress: how many rays are in it, and the bounce.
    image: (pixels, columns) float64, added to. Returns how many rays go on, in place, and how many shadow rays there
    are.
    """
    rays, hits, prim_ids = batch
    active, bounce = progress
    kept, shadow_count = 0, 0
    for i in range(active):
        pixel = paths.pixel[i]
        throughput = (paths.throughput[i, 0], paths.throughput[i, 1], paths.throughput[i, 2])
        triangle = prim_ids[i]
        if triangle == MISS:
            if paths.specular_only[i]:  # a backdrop for the eye, no light
                add_radiance(image, pixel, multiply(throughput, scene.background), DIRECT_LIGHT)
            arriving = light_from_outside(scene, task, normalize(ray_direction(rays, i)), paths.pdf_solid_angle[i])
            met = unmapped_light(paths, i, multiply(throughput, arriving))
            add_radiance(image, pixel, met, layer_of_met(paths, i))
            continue
        wi_ray = ray_direction(rays, i)
        wo = scale(wi_ray, -1.0)
        cone = wider(paths, i, np.float64(hits[0, i]))
        hit = surface_at(scene.surfaces, triangle, np.float64(hits[1, i]), np.float64(hits[2, i]), wo, cone)
        throughput = multiply(throughput, arriving_share(hit, np.float64(hits[0, i])))
        if largest(hit.emission) > 0.0:
            ray = (wi_ray, np.float64(hits[0, i]))
            weight = emission_weight(scene, task, ray, scene.surfaces.emitter_ids[triangle], paths.pdf_solid_angle[i])
            met = scale(multiply(throughput, hit.emission), weight)
            add_radiance(image, pixel, unmapped_light(paths, i, met), layer_of_met(paths, i))
        if paths.specular_only[i]:
            add_radiance(image, pixel, multiply(throughput, hit.backdrop), DIRECT_LIGHT)
        wo_local = local(hit, wo)
        here = task_at(task, paths.after_diffuse[i], np.float64(hits[0, i]), lookup.irradiance.radius)
        follow = follows(here)
        path = (pixel, bounce, throughput, DIRECT_LIGHT if paths.specular_only[i] else INDIRECT_LIGHT)
        shadow_count = add_shadow_rays(scene, here, hit, wo_local, path, shadows, shadow_count)
        if here.diffuse != FOLLOW and here.diffuse != NOTHING and largest(hit.bsdf.diffuse) > 0.0:
            is_far = task.diffuse == GATHER and here.diffuse == EVERYTHING
            irradiance = irradiance_at(lookup, hit, pixel, task.radius, is_far)
            reflected = scale(multiply(base_reflectance(hit.bsdf, wo_local), irradiance), 1.0 / math.pi)
            seen = multiply(throughput, reflected)
            light = PhotonLight(pixel, task.radius, paths.specular_only[i], is_far, irradiance, seen)
            add_photons(image, lookup, hit, light)

        if bounce + 1 >= task.max_bounces:
            continue
        u, chance = scatter_numbers(task, pixel, bounce)
        scattered = sample(hit.bsdf, wo_local, hit.outside, False, follow, u)
        direction = world(hit, scattered.wi)
        if scattered.lobe == ABSORBED or not leaves(hit, direction, scattered.wi):
            continue
        if task.diffuse == NOTHING and scattered.lobe != SPECULAR:
            continue
        # The share of light kept decides who goes on; by the throughput, every second path would end in glass.
        survival = 1.0
        if bounce >= SURE_BOUNCES or not follow:
            survival = min(1.0, largest(scattered.weight))
        if chance >= survival:
            continue
        set_ray(rays, kept, ray_origin(hit, direction), direction)
        paths.pixel[kept] = pixel
        paths.pdf_solid_angle[kept] = scattered.pdf_solid_angle
        paths.specular_only[kept] = paths.specular_only[i] and scattered.lobe == SPECULAR
        paths.after_diffuse[kept] = paths.after_diffuse[i] or scattered.lobe == DIFFUSE
        paths.diffuse_depth[kept] = min(paths.diffuse_depth[i] + (0 if scattered.lobe == SPECULAR else 1), 2)
        paths.cone[kept, 0] = cone
        paths.cone[kept, 1] = max(paths.cone[i, 1], cone_spread(scattered.pdf_solid_angle))
        unmapped = unmapped_share(unmapped_at(paths, i), here, hit, wo_local, scattered)
        gain = scattered.radiance_scale / survival
        for channel in range(3):
            paths.throughput[kept, channel] = throughput[channel] * scattered.weight[channel] * gain
            paths.unmapped[kept, channel] = unmapped[channel]
        kept += 1
    return kept, shadow_count


@compiled
def add_unshadowed(shadows: ShadowRays, prim_ids: Ids, count: int, image: Doubles) -> None:
    """Add what the shadow rays that met nothing carry. prim_ids: (slots, column) answers of an any-hit query."""
    for i in range(count):
        if prim_ids[i // shadows.capacity, i % shadows.capacity] == MISS:
            radiance = shadows.radiance
            light = (radiance[i, 0], radiance[i, 1], radiance[i, 2])
            add_radiance(image, shadows.pixel[i], light, shadows.layer[i])


@compiled
def start_occlusion_rays(
    scene: PackedScene,
    task: EyeTask,
    batch: tuple[Floats, Floats, Ids],
    paths: EyePaths,
    active: int,
    reach: float,
    image: Doubles,
) -> int:
    """Turn the hits of camera rays into occlusion rays, spread by the cosine, in place; a miss is lit.

    Returns how many rays there are now.
    """
    rays, hits, prim_ids = batch
    kept = 0
    for i in range(active):
        pixel = paths.pixel[i]
        if prim_ids[i] == MISS:
            add_radiance(image, pixel, (1.0, 1.0, 1.0), DIRECT_LIGHT)
            continue
        wo = scale(ray_direction(rays, i), -1.0)
        hit = surface_at(scene.surfaces, prim_ids[i], np.float64(hits[1, i]), np.float64(hits[2, i]), wo)
        u, _ = scatter_numbers(task, pixel, 0)
        direction = world(hit, cosine_hemisphere(u[1], u[2]))
        if dot(direction, hit.geom_normal) <= 0.0:
            continue
        set_ray(rays, kept, ray_origin(hit, direction), direction)
        rays[7, kept] = reach
        paths.pixel[kept] = pixel
        kept += 1
    return kept
