"""Fresh photons: where they leave the lights, in which direction, and what flux they carry."""

from typing import NamedTuple

import numpy as np
from numba import types

from renderer.photons.batch import PATH_DEPTH, PATH_FLUX, PATH_MEDIA, Chunk, PhotonBatch, PhotonTask
from renderer.scene.photon_scene import BY_EMIT, EMITTER, IN_MEDIUM, PLAIN, PhotonScene
from renderer.scene.projection import (
    AIM,
    AIMED,
    AS_EVER,
    GUIDE_COLUMNS,
    ONE_BY_ONE,
    TO_BOX,
    Guides,
    Mixture,
    before_sphere,
    enter_box,
    is_projected,
    mixture_of,
    no_mixture,
    project,
    shadows_of_faces,
)
from renderer.shading.chunks import ALL_BITS, RAY_DIRECTION
from renderer.simd.columns import WORD_BYTES, chunk_room, column, get, get3, get_int, get_word, put, put3
from renderer.simd.loops import each, each_alone, each_listed, each_pair, whole, whole_pairs
from renderer.simd.packing import count_words, fill_up, list_indices
from renderer.simd.rows import gather_columns
from renderer.simd.ways import Way, call_either, call_way, for_each_way
from shaders.alias_table import ALIAS, draw_alias
from shaders.environment import Sky, sky_of
from shaders.float32 import ONE, PI, ZERO, Float32, Int
from shaders.lights.kind import Emission, Emitter, Source, triple
from shaders.lights.point import POINT
from shaders.lights.registry import emit_from, is_outside, is_place, kinds_with
from shaders.lights.row import LIGHT_KIND, LIGHT_NORMAL
from shaders.lights.triangle import TRIANGLE
from shaders.random import STREAM_EMISSION, UNIT_STEP, Bits4, hash4, hash_key, more4, unit32
from shaders.sampling import lambertian
from shaders.vector import Vec3, along, chosen, in_double, in_single, scale
from tracecore.compilation.borrowing import borrowed
from tracecore.compilation.cached import compiled, inlined
from tracecore.compilation.units import unit
from tracecore.compilation.vector import address

#: Golden ratio in 32 bits: multiples of it spread evenly, so that each light gets its share of any run of photons.
GOLDEN = np.uint32(2654435769)

#: Multiples of these are a photon's four other numbers: Kronecker's sequence. Found by search, so that no few of them,
#: nor of them and GOLDEN, are nearly related by small integers, see
#: `docs/lab/shading-in-columns.md`.
EVEN = (np.uint32(2511822277), np.uint32(1940055919), np.uint32(3439972715), np.uint32(2278716365))

EMITTER_BYTES, ALIAS_WORDS = EMITTER.itemsize, Int(ALIAS.itemsize // 4)
AIM_BYTES, AIM_QUADS = AIM.itemsize, (0, 16, 32)
#: Where words of an emitter begin, by fours: of a point, and of all.
POINT_QUADS, EMITTER_QUADS = (0, 16), (0, 16, 32, 48)

#: Numbers of the projection are apart from those that `draw` gives, step 0, and from the shift of the lights, step 1.
PROJECTION_STEP = np.uint32(2)

#: The normal of a light without one.
NO_NORMAL = (0.0, 0.0, 0.0)


@inlined
def leave_plain(light: Emitter, bits: Bits4) -> Emission:
    """Returns a photon that leaves a point, triangle or parallelogram."""
    s, t = unit32(bits[2]), unit32(bits[3])
    is_beyond = s + t > ONE + light.size  # the other half of the square, where the light has none
    s, t = ONE - s if is_beyond else s, ONE - t if is_beyond else t
    origin = along(along(light.corner, light.edge_1, s), light.edge_2, t)
    return Emission(origin, lambertian(light.normal, unit32(bits[0]), unit32(bits[1])), light.flux)


@inlined
def leave_from_plain(light: Emitter, _sky: Sky, bits: Bits4) -> Emission:
    """Returns a photon as `leave_plain` does, beside lights of other kinds."""
    return leave_plain(light, bits)


#: Calls loop(way, kind, more) for each way to leave lights, with the number that `PhotonScene.kinds` has for it.
for_each_leaving = for_each_way(
    [(leave_from_plain, int(PLAIN)), *((kind.leave, int(kind.number)) for kind in kinds_with("leave"))]
)


class PhotonLaunch(NamedTuple):
    """Where fresh photons go: addresses of a batch's columns at the first of them, `step` bytes apart. photon: the
    first one's index. bits: its random numbers. per_unit: 1 over the task's unit of flux. only: the light, where there
    is but one, its flux in that unit. shift, lights, aliases: how one of several is chosen."""

    rays: int
    paths: int
    step: int
    photon: np.uint32
    bits: Bits4
    per_unit: float
    key: Bits4
    chunk: Chunk
    only: Emitter
    shift: np.uint32
    lights: np.uint64
    aliases: int


@inlined
def is_all_alike(scene: PhotonScene) -> bool:
    """Returns whether there is but one light, a point or an area, and so one flux of all fresh photons, which no
    collision weighs."""
    is_plain = len(scene.others) == 0 and not is_projected(scene.projection)
    return len(scene.emitters) == 1 and is_plain and not scene.flags & IN_MEDIUM


@inlined
def only_light(scene: PhotonScene, task: PhotonTask) -> Emitter:
    """Returns the first light, which is that of all photons where these are all alike. Its flux is in units of the
    task's."""
    row = address(scene.emitters)
    flux = scale(get3(row, WORD_BYTES, 3), Float32(1.0 / task.flux_unit))
    corner, edge_1, edge_2 = get3(row, WORD_BYTES, 0), get3(row, WORD_BYTES, 9), get3(row, WORD_BYTES, 12)
    return Emitter(corner, edge_1, edge_2, get3(row, WORD_BYTES, 6), flux, get(row, 15))


@unit(types.int64)
def launch(scene: PhotonScene, task: PhotonTask, batch: PhotonBatch, span: tuple[int, int, int]) -> int:
    """Let photons leave the lights; returns how many of them were aimed, see `project`.

    span: where the first one goes in the batch, its index, and how many they are. Those in front of the next whole
    vector get columns of paths, the others begin with it.
    """
    first, photon, fresh = span
    ahead = min(whole(first) - first, fresh)
    batch.fresh[0], batch.fresh[1] = whole(first), photon + (whole(first) - first)
    key, aimed = hash_key(task.seed, task.sequence, STREAM_EMISSION), 0
    if ahead > 0:
        aimed += launch_chunk(scene, task, batch, (first, photon, ahead), key)
    for done in range(ahead, fresh, chunk_room()):
        part = (first + done, photon + done, min(chunk_room(), fresh - done))
        aimed += launch_chunk(scene, task, batch, part, key)
    return aimed


@compiled
def launch_chunk(
    scene: PhotonScene, task: PhotonTask, batch: PhotonBatch, span: tuple[int, int, int], key: Bits4
) -> int:
    """Let no more than CHUNK photons leave the lights, as `launch` does; all get columns of paths, or none of them."""
    first, photon, fresh = span
    pairs, is_alike, aimed = whole_pairs(fresh), is_all_alike(scene), 0
    data = PhotonLaunch(
        rays=address(batch.rays) + 4 * first,
        paths=address(batch.paths) + 4 * first,
        step=4 * batch.rays.shape[1],
        photon=np.uint32(photon),
        bits=bits_of(np.uint32(photon), hash4(key, np.uint32(0), np.uint32(0))),
        per_unit=Float32(1.0 / task.flux_unit),
        key=key,
        chunk=batch.scratch.launch[0],
        only=only_light(scene, task),
        shift=hash4(key, np.uint32(0), np.uint32(1))[0],
        lights=np.uint64(len(scene.emitters)),
        aliases=address(scene.aliases),
    )
    if is_alike:
        each_pair(leave_only_light, pairs, data)
    else:
        each(choose_light, pairs, data)
        aimed = leave_lights(scene, fresh, data, batch.scratch.guides)
    if len(scene.media.lamps) > 0:
        each(begin_in_medium, pairs, (data, address(scene.media.lamps), is_alike))
    if whole(first) > first:
        each(begin_path, whole(fresh), data)
        if is_alike:
            each(carry_flux, whole(fresh), data)
    return aimed


@inlined
def choose_light(i: int, data: PhotonLaunch) -> None:
    """Choose the light of a photon in proportion to power by the alias method."""
    spread = np.uint32(np.uint32(data.photon + np.uint32(i)) * GOLDEN + data.shift)
    put(address(data.chunk.light), i, draw_alias((data.aliases, Int(0), ALIAS_WORDS), data.lights, spread)[0])


@inlined
def leave_lights(scene: PhotonScene, fresh: int, data: PhotonLaunch, guides: Guides) -> int:
    """Write origin, direction and flux of a chunk's photons, whose lights are chosen; returns how many were aimed."""
    pairs, rows, lights = whole_pairs(fresh), address(scene.emitters), address(data.chunk.light)
    columns = address(data.chunk.corner)
    if scene.are_points and not is_projected(scene.projection):
        gather_columns(rows, EMITTER_BYTES, lights, pairs, (POINT_QUADS, columns))
        each_pair(leave_point, pairs, data)
        return 0
    if len(scene.kinds) > 0:
        leave_by_kind(scene, fresh, data)
    else:
        gather_columns(rows, EMITTER_BYTES, lights, pairs, (EMITTER_QUADS, columns))
        each_pair(leave_light, pairs, data)
    return leave_projected(scene, fresh, data, guides) if is_projected(scene.projection) else 0


@inlined
def leave_point(i: int, data: PhotonLaunch) -> None:
    """Let a photon leave one of several points."""
    bits = bits_of(np.uint32(i), data.bits)
    direction = lambertian((ZERO, ZERO, ZERO), unit32(bits[0]), unit32(bits[1]))
    flux = scale(column(data.chunk.emitted, i), data.per_unit)
    depart_with_flux(i, Emission(column(data.chunk.corner, i), direction, flux), data)


@inlined
def leave_light(i: int, data: PhotonLaunch) -> None:
    """Let a photon leave one of several lights."""
    depart_with_flux(i, leave_plain(emitter_at(i, data), bits_of(np.uint32(i), data.bits)), data)


@inlined
def emitter_at(i: int, data: PhotonLaunch) -> Emitter:
    """Returns number i of the lights of a chunk, its flux in units of the task's."""
    chunk = data.chunk
    corner, edge_1, edge_2 = column(chunk.corner, i), column(chunk.edge_1, i), column(chunk.edge_2, i)
    flux = scale(column(chunk.emitted, i), data.per_unit)
    return Emitter(corner, edge_1, edge_2, column(chunk.normal, i), flux, get(address(chunk.size), i))


@inlined
def leave_only_light(i: int, data: PhotonLaunch) -> None:
    """Let a photon leave the only light."""
    depart(i, leave_plain(data.only, bits_of(np.uint32(i), data.bits)), data)


@inlined
def depart(i: int, photon: Emission, data: PhotonLaunch) -> None:
    """Write origin and direction of a photon."""
    put3(data.rays, data.step, i, photon.origin)
    put3(data.rays + RAY_DIRECTION * data.step, data.step, i, photon.direction)


@inlined
def depart_with_flux(i: int, photon: Emission, data: PhotonLaunch) -> None:
    """Write origin, direction and flux of a photon."""
    depart(i, photon, data)
    put3(data.paths + PATH_FLUX * data.step, data.step, i, photon.flux)


@unit(types.none)
def leave_by_kind(scene: PhotonScene, fresh: int, data: PhotonLaunch) -> None:
    """Let the photons of a chunk leave lights of which some are neither point nor area."""
    each(take_kind, whole(fresh), (data, address(scene.kinds)))
    for_each_leaving(launch_listed, (scene, fresh, data))
    for k in range(list_words(address(data.chunk.kind), BY_EMIT, fresh, data)):
        i = get_int(address(data.chunk.listed), k)
        light = scene.others[get_int(address(data.chunk.light), i)]
        photon = emit_from(scene.lights, light, fine_numbers(i, data))
        flux = in_single(scale(photon.flux, data.per_unit))
        depart_with_flux(i, Emission(in_single(photon.origin), in_single(photon.direction), flux), data)


@inlined
def launch_listed(way: Way, kind: int, more: tuple[PhotonScene, int, PhotonLaunch]) -> None:
    """Let those photons of a chunk leave whose lights are of one kind."""
    scene, fresh, data = more
    chunk = data.chunk
    count = list_words(address(chunk.kind), kind, fresh, data)
    if count > 0:
        each_listed(take_owner, whole(count), data)
        columns = (EMITTER_QUADS, address(chunk.corner))
        gather_columns(address(scene.emitters), EMITTER_BYTES, address(chunk.owner), whole(count), columns)
        each_listed(leave_listed, whole(count), (way, sky_of(scene.lights.environment), data))


@inlined
def list_words(words: int, word: int, fresh: int, data: PhotonLaunch) -> int:
    """List the photons of a chunk that have a word in a column. Returns how many there are; what fills the last vector
    is the first one again."""
    listed = address(data.chunk.listed)
    count = list_indices(words, (ALL_BITS, np.uint32(word)), fresh, listed)
    fill_up(listed, count, get_int(listed, 0))
    return count


@inlined
def take_kind(i: int, data: tuple[PhotonLaunch, int]) -> None:
    """Write how a photon leaves its light. data: also has the address of the kinds of lights."""
    start, kinds = data
    put(address(start.chunk.kind), i, get_int(kinds, get_int(address(start.chunk.light), i)))


@inlined
def take_owner(k: int, data: PhotonLaunch) -> None:
    """Write the light of photon k of the list."""
    put(address(data.chunk.owner), k, get_int(address(data.chunk.light), get_int(address(data.chunk.listed), k)))


@inlined
def leave_listed(k: int, data: tuple[Way, Sky, PhotonLaunch]) -> None:
    """Let photon k of the list leave its light."""
    way, sky, start = data
    i = get_int(address(start.chunk.listed), k)
    photon = call_way(way, (emitter_at(k, start), sky, bits_of(np.uint32(i), start.bits)))
    depart_with_flux(i, photon, start)


@inlined
def begin_path(i: int, data: PhotonLaunch) -> None:
    """Write the index and depth of a photon."""
    put(data.paths, i, np.uint32(data.photon + np.uint32(i)))
    put(data.paths + PATH_DEPTH * data.step, i, np.uint32(0))


@inlined
def begin_in_medium(i: int, data: tuple[PhotonLaunch, int, bool]) -> None:
    """Write the stack of the media in which the light of a photon is.
    data: also has the address of those of lights, and whether there is but one."""
    start, stacks, is_only = data
    light = get_int(address(start.chunk.light), i)
    put(start.paths + PATH_MEDIA * start.step, i, get_word(stacks, Int(0) if is_only else light))


@inlined
def carry_flux(i: int, data: PhotonLaunch) -> None:
    """Write the flux of a photon of the only light."""
    put3(data.paths + PATH_FLUX * data.step, data.step, i, data.only.flux)


@inlined
def bits_of(photon: np.uint32, shift: Bits4) -> Bits4:
    """Returns a photon's numbers as 32 bits each. Over photons they fill the hypercube evenly, and `shift` moves them
    as one.

    Niederreiter: Random Number Generation and Quasi-Monte Carlo Methods, 1992, section 3.2. The shift makes each of
    them uniform: Cranley, Patterson: Randomization of Number Theoretic Methods for Multiple Integration, 1976.
    """
    return (
        np.uint32(photon * EVEN[0] + shift[0]),
        np.uint32(photon * EVEN[1] + shift[1]),
        np.uint32(photon * EVEN[2] + shift[2]),
        np.uint32(photon * EVEN[3] + shift[3]),
    )


@unit(types.int64)
def leave_projected(scene: PhotonScene, count: int, data: PhotonLaunch, guides: Guides) -> int:
    """Send a chunk's photons where they matter: origin, direction and flux become those of `project`. Returns how many
    of them were aimed. guides: of lanes."""
    chunk, pairs = data.chunk, whole_pairs(count)
    columns = (AIM_QUADS, address(chunk.low))
    gather_columns(address(scene.projection.aims), AIM_BYTES, address(chunk.light), pairs, columns)
    each(send_to_box, whole(count), data)
    listed = list_words(address(chunk.way), ONE_BY_ONE, count, data)
    call_either(send_in_turn, send_by_lanes, (scene, listed, data, guides))
    ways = address(chunk.way)
    return count_words(ways, (ALL_BITS, TO_BOX), count) + count_words(ways, (ALL_BITS, AIMED), count)


@inlined
def send_in_turn(scene: PhotonScene, listed: int, data: PhotonLaunch, _guides: Guides) -> None:
    """Send listed photons where they matter, one after the other."""
    mixture, known = no_mixture(np.empty((len(scene.projection.targets), GUIDE_COLUMNS))), Int(-1)
    for k in range(listed):
        i = get_int(address(data.chunk.listed), k)
        light, (source, direction) = get_int(address(data.chunk.light), i), leaving(scene, i, data)
        if light != known:
            box = scene.projection.around[light]
            mixture = mixture_of(scene.lights, scene.projection, (source, box), mixture.guides)
            known = light if is_place(source.kind) else Int(-1)  # all photons of a place see the same cones
        send(scene, i, (source, direction, mixture), data)


@inlined
def send_by_lanes(scene: PhotonScene, listed: int, data: PhotonLaunch, guides: Guides) -> None:
    """Do what `send_in_turn` does, each lane for photons of its own."""
    each_alone(send_alone, listed, (borrowed(scene), data, guides))


@inlined
def send_alone(k: int, given: tuple[PhotonScene, PhotonLaunch, Guides]) -> None:
    """Send photon k of the list where it matters."""
    scene, data, guides = given
    i, own = get_int(address(data.chunk.listed), k), guides[k % len(guides), : len(scene.projection.targets)]
    source, direction = leaving(scene, i, data)
    box = scene.projection.around[get_int(address(data.chunk.light), i)]
    mixture = mixture_of(scene.lights, scene.projection, (source, box), own)
    send(scene, i, (source, direction, mixture), data)


@inlined
def leaving(scene: PhotonScene, i: int, data: PhotonLaunch) -> tuple[Source, Vec3]:
    """Returns where a photon leaves its light, and in which direction if nothing sends it anywhere."""
    direction = in_double(get3(data.rays + RAY_DIRECTION * data.step, data.step, i))
    return source_of(scene, data.chunk, i, in_double(get3(data.rays, data.step, i)), direction), direction


@inlined
def send(scene: PhotonScene, i: int, usual: tuple[Source, Vec3, Mixture], data: PhotonLaunch) -> None:
    """Write the photon that is drawn from a mixture. usual: where it leaves the light, and in which direction."""
    (source, direction, mixture), step = usual, data.step
    bits = hash4(data.key, np.uint32(data.photon + np.uint32(i)), PROJECTION_STEP)
    u = in_double((unit32(bits[0]), unit32(bits[1]), unit32(bits[2])))
    box = scene.projection.around[get_int(address(data.chunk.light), i)]
    photon = project(scene.lights, mixture, (source, direction, box), u)
    flux = scale(get3(data.paths + PATH_FLUX * step, step, i), Float32(photon.weight))
    depart_with_flux(i, Emission(in_single(photon.origin), in_single(photon.direction), flux), data)
    if photon.is_aimed:
        put(address(data.chunk.way), i, AIMED)


@inlined
def send_to_box(i: int, data: PhotonLaunch) -> None:
    """Send a photon to the box around the scene, if it comes from outside: it stands for what falls on the box. A box
    without a shadow gets none, and the photon is left AS_EVER."""
    chunk, step, directions, fluxes = data.chunk, data.step, data.rays, data.paths + PATH_FLUX * data.step
    directions += RAY_DIRECTION * step
    direction, origin, flux = get3(directions, step, i), get3(data.rays, step, i), get3(fluxes, step, i)
    bits = hash4(data.key, np.uint32(data.photon + np.uint32(i)), PROJECTION_STEP)
    sides, radius, way = column(chunk.sides, i), get(address(chunk.radius), i), get_int(address(chunk.way), i)
    faces = shadows_of_faces(sides, direction)
    shadow = faces[0] + faces[1] + faces[2]
    is_sent = (way == TO_BOX) & (shadow > ZERO)
    point = enter_box(column(chunk.low, i), sides, direction, (unit32(bits[1]), unit32(bits[2])))
    start = before_sphere(column(chunk.middle, i), radius, direction, point)
    put3(data.rays, step, i, chosen(is_sent, start, origin))
    put3(fluxes, step, i, scale(flux, shadow / (PI * radius * radius) if is_sent else ONE))
    put(address(chunk.way), i, AS_EVER if (way == TO_BOX) & (not is_sent) else way)


@inlined
def source_of(scene: PhotonScene, chunk: Chunk, i: int, origin: Vec3, direction: Vec3) -> Source:
    """Returns the light of a chunk's photon i, which leaves it in a direction."""
    light = int(get_int(address(chunk.light), i))
    row = int(scene.others[light]) if len(scene.others) > 0 else -1
    if row < 0:
        normal = in_double(get3(address(scene.emitters) + EMITTER_BYTES * light, WORD_BYTES, 6))
        return Source(POINT if normal == NO_NORMAL else TRIANGLE, row, origin, normal)
    kind = scene.lights.rows[row, LIGHT_KIND]
    return Source(kind, row, origin, direction if is_outside(kind) else triple(scene.lights, row, LIGHT_NORMAL))


@inlined
def fine_numbers(i: int, data: PhotonLaunch) -> tuple[float, float, float, float]:
    """Returns four uniform numbers of a photon, with the bits that an image of millions of texels needs."""
    coarse = bits_of(np.uint32(i), data.bits)
    fine = more4(coarse)
    return (
        fine_unit(coarse[0], fine[0]),
        fine_unit(coarse[1], fine[1]),
        fine_unit(coarse[2], fine[2]),
        fine_unit(coarse[3], fine[3]),
    )


@inlined
def fine_unit(coarse: np.uint32, fine: np.uint32) -> float:
    """Returns a float64 in the open interval (0, 1): one word chooses a step, the other a place within it."""
    return np.float64(unit32(coarse)) + (np.float64(unit32(fine)) - 0.5) * UNIT_STEP
