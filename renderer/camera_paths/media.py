"""What media take from eye paths and their shadow rays (`renderer.scene.media`), and rays through sheets that bend no
light: behind each of them a ray goes on, dimmed by what was let through, in the medium that is there.

Where a scene has such sheets, shadow rays ask what is hit first; where it has none, whether anything is.
"""

import math
from typing import NamedTuple

import numpy as np
from numba import types

from renderer.camera_paths.paths import (
    DEPTH_MASK,
    EYE_MEDIA,
    EYE_PIXEL,
    EYE_STATE,
    EYE_THROUGHPUT,
    LOOKUP_NANOSECONDS,
    SHADOW_MEDIA,
    SHADOW_WORDS,
    EyeBatch,
    EyeJob,
    ShadowRays,
    add_carried,
    bounces_of,
    carried_by,
    set_ray,
)
from renderer.film.layers import INDIRECT_LIGHT, LAYER_END, NO_GROUP, add_radiance, add_to_group
from renderer.photons.group_maps import map_of_group
from renderer.photons.media import Inside, pick_media
from renderer.photons.volume import Beam, in_scattered
from renderer.scene.media import (
    CLEAR,
    NOTHING,
    Media,
    MediaTables,
    absorption_of,
    counting_medium,
    extinction_of,
    index_inside,
    mean_cosine_of,
    share_left,
    sides_of,
    tables_of,
)
from renderer.scene.packed_scene import PackedScene
from renderer.scene.photon_scene import (
    FOG_MASK,
    HAS_MEDIA,
    INSIDE_OF_FOG,
    INSIDE_OF_SOLIDS,
    MATERIAL_MASK,
    SHEET,
    STRAIGHT_THROUGH_SHEETS,
)
from renderer.shading.chunks import ALL_BITS, HIT_ID, NO_BITS, RAY_DIRECTION, Long, View, ray_columns
from renderer.shading.collisions import FAR, Flight, collide
from renderer.simd.columns import WORD_BYTES, column, get, get3, get_int, get_word, put3, set_column, three
from renderer.simd.loops import each, each_alone, each_ray, whole
from renderer.simd.packing import close_gaps
from shaders.float32 import ONE, ZERO, Doubles, Float32
from shaders.random import HALF_BITS, LOW, STREAM_MEDIUM, philox
from shaders.surface import blend, share_through, triangle_clearance, winding_normal
from shaders.vector import Color, Vec3, add, along, dot, in_double, largest, multiply, subtract
from tracecore.compilation.borrowing import borrowed
from tracecore.compilation.cached import inlined
from tracecore.compilation.clock import nanoseconds
from tracecore.compilation.units import unit
from tracecore.compilation.vector import address
from tracecore.rays import HIT_FLOATS, MISS, Floats, Ids

#: What a unit is for: light of photons in media.
IN_SCATTERED = "light of photons in media"


class ShadowsInside(NamedTuple):
    """Has the addresses of the columns of shadow rays, `step` bytes apart, and of the answers to them."""

    rays: int
    radiance: int
    stacks: int
    answers: int
    step: int
    answers_step: int
    tables: MediaTables


class EyeFlight(NamedTuple):
    """Says which rays of a batch of eye paths may collide. paths: address of their rows. key, sequence: of Philox."""

    flight: Flight
    paths: int
    key: tuple[np.uint64, np.uint64]
    sequence: np.uint64


@unit(types.none, need=INSIDE_OF_FOG)
def collide_eye_paths(job: EyeJob, batch: EyeBatch, count: int) -> None:
    """Have the first `count` rays of a batch collide with particles of the media that they are in."""
    job, batch = borrowed(job), borrowed(batch)
    step, paths, seed = WORD_BYTES * batch.rays.shape[1], address(batch.paths), np.uint64(job.task.seed)
    media, carried = paths + EYE_MEDIA * step, paths + EYE_THROUGHPUT * step
    flight = Flight(address(batch.hits), media, carried, step, count, tables_of(job.scene.photon_scene.media))
    sequence = np.uint64(job.task.sequence) & LOW
    each_ray(collide_eye_path, whole(count), EyeFlight(flight, paths, (seed & LOW, seed >> HALF_BITS), sequence))


@inlined
def collide_eye_path(i: int, data: EyeFlight) -> None:
    """Have a ray collide, or not. Its numbers are those of its pixel and depth."""
    step = data.flight.step
    pixel, state = get_word(data.paths + EYE_PIXEL * step, i), get_word(data.paths + EYE_STATE * step, i)
    counter = (np.uint64(pixel), np.uint64(state & DEPTH_MASK), data.sequence, np.uint64(STREAM_MEDIUM))
    bits = philox(counter, data.key)
    collide(i, (np.uint32(bits[0]), np.uint32(bits[1])), data.flight)


@unit(types.none, need=IN_SCATTERED)
def gather_in_media(job: EyeJob, batch: EyeBatch, count: int) -> None:
    """Add the light that photons in media send along the first `count` rays of a batch, and take from their paths what
    the media do up to their hits: such rays collide with nothing."""
    job, batch = borrowed(job), borrowed(batch)
    start = nanoseconds()
    each_alone(gather_along, count, (job, batch))
    batch.counters[LOOKUP_NANOSECONDS] += nanoseconds() - start


@inlined
def gather_along(i: int, data: tuple[EyeJob, EyeBatch]) -> None:
    """Add the light of photons along a ray, and dim its path."""
    job, batch = data
    tables, step = tables_of(job.scene.photon_scene.media), WORD_BYTES * batch.rays.shape[1]
    medium = counting_medium(batch.paths[EYE_MEDIA, i], tables)
    fog = get_int(tables.fogs, medium)
    if fog == CLEAR:
        return
    carried, rays = address(batch.paths) + EYE_THROUGHPUT * step, address(batch.rays)
    throughput = get3(carried, step, i)
    beam = Beam(
        origin=get3(rays, step, i),
        direction=get3(rays + RAY_DIRECTION * step, step, i),
        length=FAR if batch.prim_ids[i] == MISS else batch.hits[0, i],
        radius=Float32(job.lookup.volume.radius),
        between=Float32(bounces_of(batch.paths[EYE_STATE, i])),
        fog=Float32(np.uint32(fog) & FOG_MASK),
        extinction=extinction_of(medium, tables),
        mean_cosine=mean_cosine_of(medium, tables),
    )
    if job.lookup.volume.photon_map.photons > 0:
        add_in_scattered(job, Long(batch.paths[EYE_PIXEL, i]), in_double(throughput), beam)
    put3(carried, step, i, multiply(throughput, share_left(beam.extinction, beam.length)))


@inlined
def add_in_scattered(job: EyeJob, pixel: int, throughput: Color, beam: Beam) -> None:
    """Add the light that photons send along a beam. throughput: share of it that reaches the eye."""
    image, volume = job.image, job.lookup.volume
    light = multiply(throughput, in_scattered(volume.photon_map, beam))
    add_radiance(image, pixel, light, INDIRECT_LIGHT, NO_GROUP)
    if image.shape[1] > LAYER_END:
        for group in range(len(volume.groups.records)):
            of_group = map_of_group(volume.groups, group, volume.photon_map)
            add_to_group(image, pixel, multiply(throughput, in_scattered(of_group, beam)), group)


@unit(types.none, need=INSIDE_OF_SOLIDS)
def absorb_throughput(
    wanted: tuple[np.uint32, np.uint32], view: View, counts: tuple[int, int], tables: MediaTables
) -> None:
    """Take from the paths of a chunk what is absorbed on the way to their vertices; see `pick_media`."""
    pick_media(EYE_MEDIA, wanted, view, counts)
    each(absorb_from_path, whole(counts[0]), (view.chunk, tables))


@inlined
def absorb_from_path(i: int, data: Inside) -> None:
    """Write the share of light from a vertex that reaches the eye."""
    chunk, tables = data
    share = share_left(absorption_of(chunk.media[i], tables), chunk.distance[i])
    set_column(chunk.throughput, i, multiply(column(chunk.throughput, i), share))


@inlined
def absorb_endless_ray(paths: int, step: int, row: int, tables: MediaTables) -> None:
    """Take all light from a path that leaves the scene in a medium that absorbs it. paths: address of the rows."""
    absorption = absorption_of(get_word(paths + EYE_MEDIA * step, row), tables)
    throughput = get3(paths + EYE_THROUGHPUT * step, step, row)
    left = (
        throughput[0] if absorption[0] <= ZERO else ZERO,
        throughput[1] if absorption[1] <= ZERO else ZERO,
        throughput[2] if absorption[2] <= ZERO else ZERO,
    )
    put3(paths + EYE_THROUGHPUT * step, step, row, left)


@unit(types.none, need=INSIDE_OF_SOLIDS)
def absorb_shadow_rays(media: Media, shadows: ShadowRays, answers: Ids) -> None:
    """Take from shadow rays what is absorbed on their way to the light, or to the sheet that they met.
    answers: (slots, 4, column) uint32."""
    media, shadows = borrowed(media), borrowed(shadows)
    step, answers_step = WORD_BYTES * shadows.rays.shape[2], WORD_BYTES * answers.shape[2]
    for slot in range(len(shadows.counts)):
        data = ShadowsInside(
            rays=address(shadows.rays) + 8 * step * slot,
            radiance=address(shadows.radiance) + 3 * step * slot,
            stacks=address(shadows.paths) + (SHADOW_WORDS * slot + SHADOW_MEDIA) * step,
            answers=address(answers) + 4 * answers_step * slot,
            step=step,
            answers_step=answers_step,
            tables=tables_of(media),
        )
        each_ray(absorb_shadow_ray, whole(shadows.counts[slot]), data)


@inlined
def absorb_shadow_ray(i: int, data: ShadowsInside) -> None:
    """Write what a shadow ray carries to its end."""
    direction = get3(data.rays + RAY_DIRECTION * data.step, data.step, i)
    is_free = get_word(data.answers + HIT_ID * data.answers_step, i) == np.uint32(MISS)
    t = get(data.answers, i)
    distance = math.sqrt(dot(direction, direction)) * (ONE if is_free else t)
    medium = counting_medium(get_word(data.stacks, i), data.tables)
    share = share_left(extinction_of(medium, data.tables), distance)
    put3(data.radiance, data.step, i, multiply(get3(data.radiance, data.step, i), share))


@unit(types.int64, need=STRAIGHT_THROUGH_SHEETS)
def pass_sheets(scene: PackedScene, shadows: ShadowRays, words: Ids, image: Doubles) -> int:
    """Add what those shadow rays carry that met nothing, and move those behind the sheets that met some.

    scene: what the rays hit.
    shadows: those that go on are left, in their order.
    words: (slots, 4, column) uint32, answers of a closest-hit query; overwritten.
    image: of the pass, added to.
    Returns how many rays go on.
    """
    scene, shadows = borrowed(scene), borrowed(shadows)
    going, step, words_step = 0, WORD_BYTES * shadows.rays.shape[2], WORD_BYTES * words.shape[2]
    for slot in range(len(shadows.counts)):
        each_alone(pass_ray, shadows.counts[slot], (scene, shadows, slot, words, image))
        rays, radiance = address(shadows.rays) + 8 * step * slot, address(shadows.radiance) + 3 * step * slot
        paths = address(shadows.paths) + SHADOW_WORDS * step * slot
        columns = ray_columns(rays, step) + three(radiance, step) + three(paths, step)
        goes = address(words) + (HIT_FLOATS * slot + HIT_ID) * words_step
        shadows.counts[slot] = close_gaps(goes, (ALL_BITS, ALL_BITS), shadows.counts[slot], columns)
        going += shadows.counts[slot]
    return going


@inlined
def pass_ray(i: int, data: tuple[PackedScene, ShadowRays, int, Ids, Doubles]) -> None:
    """Add what a shadow ray carries, if it met nothing, or move it behind the sheet that it met; and write, in place of
    what it met, whether it goes on. data: also has its slot, the answers and the image."""
    scene, shadows, slot, words, image = data
    triangle, goes = words[slot, HIT_ID, i], False
    if triangle == MISS:
        add_carried(shadows, slot, i, image)
    elif scene.photon_scene.records[Long(triangle)].kind & SHEET:
        goes = pass_sheet(scene, shadows, (slot, i), words, image)
    words[slot, HIT_ID, i] = ALL_BITS if goes else NO_BITS


@inlined
def pass_sheet(scene: PackedScene, shadows: ShadowRays, ray: tuple[int, int], words: Ids, image: Doubles) -> bool:
    """Move a shadow ray behind the sheet that it met. Returns whether it goes on. ray: its slot and index there."""
    slot, i = ray
    rays = shadows.rays[slot]
    direction = vector_of(rays, 4, i)
    triangle, u, v = Long(words[slot, HIT_ID, i]), float_of(words, slot, 1, i), float_of(words, slot, 2, i)
    carried = multiply(carried_by(shadows, slot, i), share_through(scene.surfaces, triangle, (u, v)))
    positions = scene.surfaces.positions
    normal, clearance = winding_normal(positions, triangle), triangle_clearance(positions, triangle)
    side = clearance if dot(normal, direction) >= 0.0 else -clearance
    start = along(blend(positions, triangle, u, v), normal, side)
    rest = subtract(add(vector_of(rays, 0, i), direction), start)
    for channel in range(3):
        shadows.radiance[slot, channel, i] = carried[channel]
    place, has_media = (triangle, u, v), scene.photon_scene.flags & HAS_MEDIA
    if has_media and not enter_medium(scene, shadows, ray, place, direction):
        return False
    if dot(rest, direction) <= 0.0:  # the light is so close behind the sheet that nothing can be in between
        add_carried(shadows, slot, i, image)
        return False
    set_ray(rays, i, start, rest)
    rays[7, i] = 1.0
    return largest(carried) > 0.0 and dot(rest, direction) < dot(direction, direction)


@inlined
def enter_medium(
    scene: PackedScene, shadows: ShadowRays, ray: tuple[int, int], place: tuple[int, float, float], direction: Vec3
) -> bool:
    """Write the stack of media behind a sheet. Returns whether the ray goes on straight there: between media whose
    indices differ the sheet bends it. place: the triangle, and barycentric coordinates."""
    (slot, i), (triangle, u, v) = ray, place
    tables, material = tables_of(scene.photon_scene.media), scene.photon_scene.records[triangle].kind & MATERIAL_MASK
    medium = scene.photon_scene.media.of_materials[Long(material)]
    if medium == NOTHING:
        return True
    is_outside = dot(blend(scene.surfaces.normals, triangle, u, v), direction) < 0.0  # as the corners' normals have it
    inner, outer = sides_of(shadows.paths[slot, SHADOW_MEDIA, i], medium, is_outside)
    shadows.paths[slot, SHADOW_MEDIA, i] = inner if is_outside else outer
    return index_inside(inner, outer, tables) == ONE


@inlined
def float_of(words: Ids, slot: int, row: int, i: int) -> float:
    """Returns a float32 that is kept as a word, in float64."""
    return np.float64(np.uint32(words[slot, row, i]).view(np.float32))


@inlined
def vector_of(rays: Floats, row: int, i: int) -> Vec3:
    """Returns three rows of a ray, in float64. rays: (8, column)."""
    return in_double((rays[row, i], rays[row + 1, i], rays[row + 2, i]))
