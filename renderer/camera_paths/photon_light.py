"""The light that photons bring the vertices of eye paths: by a search near a vertex or, where a ray of a final gather
ends, by irradiance known nearby."""

import math

import numpy as np
from numba import types

from renderer.camera_paths.met_light import in_double
from renderer.camera_paths.paths import SPECULAR_ONLY, EyeChunk, EyeJob, ShadowRays, bounces_of, put_shadow_ray
from renderer.camera_paths.task import GATHER, PARTLY
from renderer.film.layers import INDIRECT_LIGHT, add_radiance
from renderer.photons.irradiance import find_sample, irradiance_at_sample, sample_surface
from renderer.photons.lookup import LookupPlace, PhotonLight, add_photons, irradiance_of, radius_at
from renderer.photons.photon_map import Found, PhotonMap
from renderer.photons.searching import Search, SearchPlaces, find_all
from renderer.scene.media import EMPTY_STACK
from renderer.shading.chunks import Long
from renderer.simd.columns import column, each, whole
from shaders.float32 import ONE, ZERO, Float32
from shaders.lights import SHADOW_END
from shaders.vector import Color, Vec3, along, dot, largest, multiply, scale, subtract
from tracecore.compilation.borrowing import borrowed
from tracecore.compilation.cached import inlined
from tracecore.compilation.units import unit
from tracecore.compilation.vector import address


@unit(types.none)
def add_photon_light(job: EyeJob, chunk: EyeChunk, search: Search, hits: int, shadows: ShadowRays) -> None:
    """Add the light that photons bring the vertices of a chunk.

    search: memory to look for them.
    shadows: those rays are added to that find out whether irradiance known nearby is in sight; a final gather has a
    slot for them, the last one.
    """
    job, shadows = borrowed(job), borrowed(shadows)
    ask_radii(job, chunk, search, hits)
    add_all_found(job, job.lookup.photon_map, chunk, search, hits)
    caustics = job.lookup.parts.caustics
    if job.task.diffuse == PARTLY and caustics.photons > 0:
        for i in range(hits):  # where diffuse reflection is followed
            search.radius[i] = Float32(radius_of(job, chunk, i)) if chunk.follow[i] > ZERO else -ONE
        add_all_found(job, caustics, chunk, search, hits)
    if job.task.diffuse == GATHER:
        for i in range(hits):
            is_far = chunk.is_far[i] != 0 and bounces_of(chunk.state[i]) < job.task.max_bounces
            if is_far and largest(column(chunk.weight, i)) > ZERO:
                add_known_light(job, chunk, i, shadows)


@inlined
def ask_radii(job: EyeJob, chunk: EyeChunk, search: Search, hits: int) -> None:
    """Write the radii of the searches: none where nothing is diffuse, what is known nearby is taken, or the path is too
    long; and the surfaces between the vertices and the eye."""
    each(ask_radius, whole(hits), (chunk, search, Float32(job.task.radius), np.int32(job.task.max_bounces)))
    if len(job.lookup.radii) > 0:
        for i in range(hits):
            if search.radius[i] >= ZERO:
                search.radius[i] = -ONE if chunk.follow[i] > ZERO else Float32(radius_of(job, chunk, i))


@inlined
def radius_of(job: EyeJob, chunk: EyeChunk, i: int) -> float:
    """Returns the radius of the search about a vertex, world units."""
    return radius_at(job.lookup, Long(chunk.pixel[i]), job.task.radius, chunk.follow[i] > ZERO)


@inlined
def ask_radius(i: int, data: tuple[EyeChunk, Search, float, np.int32]) -> None:
    """Write the radius of the search about a vertex, that of the task."""
    chunk, search, radius, max_bounces = data
    between = bounces_of(chunk.state[i])
    is_asked = (largest(column(chunk.weight, i)) > ZERO) & (chunk.is_far[i] == 0) & (between < max_bounces)
    search.radius[i] = radius if is_asked else -ONE
    search.between[i] = Float32(between)


@inlined
def add_all_found(job: EyeJob, photon_map: PhotonMap, chunk: EyeChunk, search: Search, hits: int) -> None:
    """Add the light that the photons of a map bring the vertices of a chunk, within the radii that were asked for."""
    places = SearchPlaces(address(chunk.position), address(chunk.normal), address(chunk.shading))
    for k in range(find_all(photon_map, search, places, hits)):
        add_found_light(job, photon_map, chunk, search, k)


@inlined
def add_found_light(job: EyeJob, photon_map: PhotonMap, chunk: EyeChunk, search: Search, k: int) -> None:
    """Add the light that photons bring vertex k of the list of those that have some."""
    i, flux = Long(search.found[k]), (search.flux[k, 0], search.flux[k, 1], search.flux[k, 2])
    pixel, radius = Long(chunk.pixel[i]), radius_of(job, chunk, i)
    irradiance = irradiance_of(job.lookup, photon_map, Found(flux, Long(search.photons[k])), (pixel, radius))
    is_first = (chunk.state[i] & SPECULAR_ONLY) != 0
    between = bounces_of(chunk.state[i])
    light = PhotonLight(pixel, radius, between, is_first, irradiance, reflected(chunk, i, irradiance))
    add_photons(job.image, job.lookup, photon_map, place_of(chunk, i), light)


@inlined
def add_known_light(job: EyeJob, chunk: EyeChunk, i: int, shadows: ShadowRays) -> None:
    """Add the light that is known nearby or, in doubt, have a ray look whether it is in sight."""
    place, known = place_of(chunk, i), job.lookup.irradiance
    nearest = find_sample(known, place.position, place.normal)
    if nearest.sample < 0:
        return
    light = reflected(chunk, i, irradiance_at_sample(known, nearest.sample, bounces_of(chunk.state[i]) - 1))
    if not nearest.is_doubtful:
        add_radiance(job.image, Long(chunk.pixel[i]), light, INDIRECT_LIGHT)
    elif largest(light) > 0.0:
        ends = line_of_sight(place, np.float64(chunk.clearance[i]), sample_surface(known.samples, nearest.sample))
        path = (chunk.pixel[i], chunk.state[i], EMPTY_STACK)  # it asks what is in sight, and brings no light itself
        put_shadow_ray(shadows, len(shadows.counts) - 1, path, ends, light)


@inlined
def line_of_sight(seen: LookupPlace, clearance: float, surface: tuple[Vec3, Vec3]) -> tuple[Vec3, Vec3]:
    """Returns where a ray starts and ends that looks at a place of another surface.

    On a bulging surface the one is below the tangent plane of the other: so far the ray starts above it.

    seen: where it starts.
    clearance: of the triangle there, see `shaders.surface.clearance`.
    surface: the place and its normal.
    """
    place, normal = in_double(surface[0]), in_double(surface[1])
    below = max(dot(subtract(place, seen.position), normal), 0.0) / dot(normal, seen.normal)
    start = along(seen.position, seen.normal, clearance + below)
    return start, along(start, subtract(along(place, normal, clearance), start), SHADOW_END)


@inlined
def reflected(chunk: EyeChunk, i: int, irradiance: Color) -> Color:
    """Returns the radiance that the eye receives of some irradiance on a vertex."""
    radiance = scale(multiply(in_double(column(chunk.weight, i)), irradiance), 1.0 / math.pi)
    return multiply(in_double(column(chunk.throughput, i)), radiance)


@inlined
def place_of(chunk: EyeChunk, i: int) -> LookupPlace:
    """Returns the place of a vertex of a chunk."""
    normal, shading = in_double(column(chunk.normal, i)), in_double(column(chunk.shading, i))
    return LookupPlace(in_double(column(chunk.position, i)), normal, shading)
