"""The light that photons bring the vertices of eye paths: by a search near a vertex or, where a ray of a final gather
ends, by irradiance known nearby; and what of it are the bias of the search and the layers of light."""

import math
from typing import NamedTuple

import numpy as np
from numba import types

from renderer.camera_paths.lighting import keep_shadow_media, keep_shadow_rays
from renderer.camera_paths.paths import SPECULAR_ONLY, EyeChunk, EyeJob, ShadowRays, bounces_of
from renderer.camera_paths.task import PARTLY
from renderer.film.layers import (
    CAUSTIC_LIGHT,
    DIRECT_LIGHT,
    INDIRECT_LIGHT,
    LAYER_BEAUTY,
    LAYER_BIAS,
    LAYER_DENSITY,
    LAYER_END,
    LAYER_LIGHT,
    NO_GROUP,
    add_color,
    add_radiance,
    add_to_group,
)
from renderer.photons.group_maps import GroupMaps, map_of_group
from renderer.photons.irradiance import find_sample, irradiance_at_sample, sample_surface
from renderer.photons.photon_map import Found, PhotonMap, find, gather, irradiance
from renderer.photons.searching import Search, SearchPlaces, find_all
from renderer.scene.media import EMPTY_STACK
from renderer.scene.photon_scene import HAS_MEDIA
from renderer.shading.chunks import ALL_BITS, NO_BITS, Long
from renderer.simd.columns import column, set_column
from renderer.simd.loops import each, each_alone, whole
from shaders.float32 import ONE, ZERO, Float32
from shaders.lights.triangle import SHADOW_END
from shaders.vector import Color, Vec3, along, dot, in_double, in_single, largest, mean, multiply, scale, subtract
from tracecore.compilation.borrowing import borrowed
from tracecore.compilation.cached import inlined
from tracecore.compilation.units import unit
from tracecore.compilation.vector import address

#: What units are for: light of photons, layers of it, and irradiance known nearby.
PHOTON_LIGHT, PHOTON_LAYERS, KNOWN_IRRADIANCE = "photon light", "layers of photon light", "known irradiance"

#: And light of photons, of light groups.
PHOTON_GROUPS = "light groups of photon light"

#: Photons of a pass, and those of each light group.
Maps = tuple[PhotonMap, GroupMaps]

#: By how much the inner disc of a bias estimate is smaller than that of the search.
INNER_RADIUS = math.sqrt(0.5)


class LookupPlace(NamedTuple):
    """A point of a surface, with the triangle's normal and the shading normal there, on the side of the eye."""

    position: Vec3
    normal: Vec3
    shading: Vec3


class PhotonLight(NamedTuple):
    """What photons bring to a place, and what the eye sees of it."""

    place: LookupPlace  # where
    radius: float  # of the search, world units
    between: int  # how many surfaces lie between the place and the eye
    irradiance: Color  # W/m^2, there
    radiance: Color  # what the pixel receives of it


@unit(types.none, need=PHOTON_LIGHT)
def add_photon_light(job: EyeJob, chunk: EyeChunk, search: Search, hits: int) -> None:
    """Add the light that photons bring the vertices of a chunk. search: memory to look for them."""
    job = borrowed(job)
    each(ask_radius, whole(hits), (chunk, search, Float32(job.task.radius), np.int32(job.task.max_bounces)))
    if len(job.lookup.radii) > 0:
        each_alone(ask_radius_of_pixel, hits, (job, chunk, search))
    parts = job.lookup.parts
    add_all_found(job, (job.lookup.photon_map, parts.groups), chunk, search, hits)
    if job.task.diffuse == PARTLY and parts.caustics.photons > 0:
        each_alone(ask_radius_of_followed, hits, (job, chunk, search))
        add_all_found(job, (parts.caustics, parts.caustic_groups), chunk, search, hits)


@inlined
def ask_radius_of_pixel(i: int, data: tuple[EyeJob, EyeChunk, Search]) -> None:
    """Write the radius of a search that is asked for, where pixels have radii: none where diffuse reflection is
    followed."""
    job, chunk, search = data
    if search.radius[i] >= ZERO:
        search.radius[i] = -ONE if chunk.follow[i] > ZERO else Float32(radius_of(job, chunk, i))


@inlined
def ask_radius_of_followed(i: int, data: tuple[EyeJob, EyeChunk, Search]) -> None:
    """Write the radius of a search for caustics: none but where diffuse reflection is followed."""
    job, chunk, search = data
    search.radius[i] = Float32(radius_of(job, chunk, i)) if chunk.follow[i] > ZERO else -ONE


@inlined
def radius_of(job: EyeJob, chunk: EyeChunk, i: int) -> float:
    """Returns the radius of the search about a vertex, world units: that of the task, or that of its pixel."""
    if len(job.lookup.radii) == 0:
        return job.task.radius
    own = job.lookup.radii[Long(chunk.pixel[i])]
    return own if own > 0.0 else -own if chunk.follow[i] > ZERO else job.task.radius


@inlined
def ask_radius(i: int, data: tuple[EyeChunk, Search, float, np.int32]) -> None:
    """Write the radius of the search about a vertex, that of the task: none where nothing is diffuse, what is known
    nearby is taken, or the path is too long; and the surfaces between the vertex and the eye."""
    chunk, search, radius, max_bounces = data
    between = bounces_of(chunk.state[i])
    is_asked = (largest(column(chunk.weight, i)) > ZERO) & (chunk.is_far[i] == 0) & (between < max_bounces)
    search.radius[i] = radius if is_asked else -ONE
    search.between[i] = Float32(between)


@inlined
def add_all_found(job: EyeJob, maps: Maps, chunk: EyeChunk, search: Search, hits: int) -> None:
    """Add the light that the photons of a map bring the vertices of a chunk, within the radii that were asked for.
    maps: also has those of light groups."""
    places = SearchPlaces(address(chunk.position), address(chunk.normal), address(chunk.shading))
    each_alone(add_found_light, find_all(maps[0], search, places, hits), (job, maps, chunk, search))


@inlined
def add_found_light(k: int, data: tuple[EyeJob, Maps, EyeChunk, Search]) -> None:
    """Add the light that photons bring vertex k of the list to the picture and, where they are asked for, to the bias,
    to the layers and to light groups. data: also has the maps that they are of, and what was found."""
    job, (photon_map, groups), chunk, search = data
    i, photons = Long(search.found[k]), Long(search.photons[k])
    if photons == 0:
        return
    image, pixel, radius = job.image, Long(chunk.pixel[i]), radius_of(job, chunk, i)
    if len(job.lookup.found) > 0:
        job.lookup.found[pixel] += photons
    flux = (search.flux[k, 0], search.flux[k, 1], search.flux[k, 2])
    arriving = irradiance(photon_map, Found(flux, photons), radius)
    radiance = reflected(chunk, i, arriving)
    add_color(image, pixel, LAYER_BEAUTY, radiance)
    light = PhotonLight(place_of(chunk, i), radius, bounces_of(chunk.state[i]), arriving, radiance)
    if image.shape[1] > LAYER_BIAS:
        add_photon_layers(job, photon_map, pixel, (chunk.state[i] & SPECULAR_ONLY) != 0, light)
        if image.shape[1] > LAYER_END:
            add_photon_groups(job, groups, pixel, light)


@unit(types.none, need=PHOTON_GROUPS)
def add_photon_groups(job: EyeJob, groups: GroupMaps, pixel: int, light: PhotonLight) -> None:
    """Add what photons bring to light groups. groups: of the map that they are of."""
    job, groups = borrowed(job), borrowed(groups)
    for group in range(len(groups.records)):
        photon_map = map_of_group(groups, group, job.lookup.photon_map)
        add_to_group(job.image, pixel, part_of(light, photon_map, light.radius, light.between), group)


@unit(types.none, need=PHOTON_LAYERS)
def add_photon_layers(job: EyeJob, photon_map: PhotonMap, pixel: int, is_first: bool, light: PhotonLight) -> None:
    """Add what photons bring to the bias and to the layers of light.
    is_first: whether they are on the first surface that spreads light."""
    job, photon_map = borrowed(job), borrowed(photon_map)
    # The bias is a multiple of what the mean radiance grows by from the inner disc to the whole one. By derivatives of
    # the kernel, where a disc has none: Hachisuka, Jarosz, Jensen: A Progressive Error Estimation Framework for Photon
    # Density Estimation, 2010.
    inner = part_of(light, photon_map, light.radius * INNER_RADIUS, light.between)
    job.image[pixel, LAYER_BIAS] += mean(subtract(light.radiance, inner))
    if job.image.shape[1] > LAYER_LIGHT:
        add_layers_of_light(job, pixel, is_first, light)


@inlined
def add_layers_of_light(job: EyeJob, pixel: int, is_first: bool, light: PhotonLight) -> None:
    """Add what photons bring to the layers of light, and how close the photons lie. is_first: see above."""
    image, lookup, place, radius = job.image, job.lookup, light.place, light.radius
    if not is_first:
        add_color(image, pixel, LAYER_LIGHT + 3 * INDIRECT_LIGHT, light.radiance)
        return
    direct = part_of(light, lookup.parts.direct, radius, 0)
    caustic = part_of(light, lookup.parts.caustics, radius, light.between)
    others = subtract(subtract(light.radiance, direct), caustic)
    add_color(image, pixel, LAYER_LIGHT + 3 * DIRECT_LIGHT, direct)
    add_color(image, pixel, LAYER_LIGHT + 3 * CAUSTIC_LIGHT, caustic)
    rest = (max(others[0], 0.0), max(others[1], 0.0), max(others[2], 0.0))  # sums in another order are rounded apart
    add_color(image, pixel, LAYER_LIGHT + 3 * INDIRECT_LIGHT, rest)
    found = find(lookup.photon_map, place.position, place.normal, place.shading, radius, light.between)
    image[pixel, LAYER_DENSITY] += found.photons / (math.pi * (radius * radius))


@inlined
def part_of(light: PhotonLight, photon_map: PhotonMap, radius: float, between: int) -> Color:
    """Returns what the eye sees of the photons of a map within a disc. between: surfaces between it and the eye."""
    place = light.place
    part = gather(photon_map, place.position, place.normal, place.shading, radius, between)
    return (
        seen_of(part[0], light.irradiance[0], light.radiance[0]),
        seen_of(part[1], light.irradiance[1], light.radiance[1]),
        seen_of(part[2], light.irradiance[2], light.radiance[2]),
    )


@inlined
def seen_of(part: float, whole: float, radiance: float) -> float:
    """Returns the same share of a radiance as a part has of its whole."""
    return radiance * (part / whole) if whole > 0.0 else 0.0


@unit(types.none, need=KNOWN_IRRADIANCE)
def add_known_lights(job: EyeJob, chunk: EyeChunk, hits: int, shadows: ShadowRays) -> None:
    """Add the light that is known near the vertices of a chunk where a final gather ends; their paths have gone on.

    shadows: those rays are added to that find out whether it is in sight; a final gather has a slot for them, the last.
    """
    job, shadows, slot = borrowed(job), borrowed(shadows), len(shadows.counts) - 1
    each_alone(add_known_light, hits, (job, chunk))
    if job.scene.photon_scene.flags & HAS_MEDIA:
        keep_shadow_media(chunk, hits, shadows, slot)
    keep_shadow_rays(chunk, hits, (shadows, slot), ONE, address(chunk.state))


@inlined
def add_known_light(i: int, data: tuple[EyeJob, EyeChunk]) -> None:
    """Add the light that is known near a vertex or, in doubt, write a ray that looks whether it is in sight."""
    job, chunk = data
    chunk.carries[i] = NO_BITS
    is_far = chunk.is_far[i] != 0 and bounces_of(chunk.state[i]) < job.task.max_bounces
    if not is_far or largest(column(chunk.weight, i)) <= ZERO:
        return
    place, known = place_of(chunk, i), job.lookup.irradiance
    nearest = find_sample(known, place.position, place.normal)
    if nearest.sample < 0:
        return
    light = reflected(chunk, i, irradiance_at_sample(known, nearest.sample, bounces_of(chunk.state[i]) - 1))
    if not nearest.is_doubtful:
        add_radiance(job.image, Long(chunk.pixel[i]), light, INDIRECT_LIGHT, NO_GROUP)
    elif largest(light) > 0.0:
        ends = line_of_sight(place, np.float64(chunk.clearance[i]), sample_surface(known.samples, nearest.sample))
        set_column(chunk.start, i, in_single(ends[0]))
        set_column(chunk.shadow_direction, i, in_single(subtract(ends[1], ends[0])))
        set_column(chunk.radiance, i, in_single(light))
        chunk.shadow_media[i] = EMPTY_STACK  # the ray asks what is in sight, and brings no light itself
        chunk.carries[i] = ALL_BITS


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
