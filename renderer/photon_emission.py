"""Fresh photons: where they leave the lights, in which direction, and what flux they carry."""

from typing import NamedTuple

import numpy as np

from renderer.columns import (
    CHUNK,
    COLUMN_BYTES,
    column,
    each_pair,
    gather_columns,
    get_int,
    get_word,
    put,
    put3,
    whole_pairs,
)
from renderer.photon_batch import PATH_FLUX, RAY_DIRECTION, STEPS, Chunk, PhotonBatch, PhotonTask
from renderer.photon_scene import EMITTER, PhotonScene
from shaders.lights import emit_from
from shaders.random import STREAM_EMISSION, UNIT_STEP, Words4, hash4, hash_key, more4, unit32
from shaders.real import ONE, Int, Real
from shaders.sampling import lambertian
from shaders.vector import Vec3, along, scale
from tracecore.compiled import compiled, inlined
from tracecore.vector import address

#: Golden ratio in 32 bits: multiples of it spread evenly, so that each light gets its share of any run of photons.
GOLDEN = np.uint32(2654435769)

EMITTER_BYTES, EMITTER_WORDS = EMITTER.itemsize, EMITTER.itemsize // 4


class Launch(NamedTuple):
    """Where fresh photons go: addresses of a batch's columns at the first of them, `step` bytes apart. photon: the
    first one's index. per_unit: 1 over the task's unit of flux."""

    rays: int
    paths: int
    step: int
    photon: np.uint32
    per_unit: float
    key: Words4
    chunk: Chunk


@compiled
def launch(scene: PhotonScene, task: PhotonTask, batch: PhotonBatch, span: tuple[int, int, int]) -> None:
    """Let photons leave the lights. span: the place of the first one in the batch, its index, and how many they are."""
    place, photon, fresh = span
    key = hash_key(task.seed, task.sequence, STREAM_EMISSION)
    shift = hash4(key, np.uint32(0), np.uint32(1))[0]
    chunk = batch.scratch.launch[0]
    if len(scene.emitters) == 1:
        repeat_light(address(scene.emitters), chunk)
    for done in range(0, fresh, CHUNK):
        data = Launch(
            rays=address(batch.rays) + 4 * (place + done),
            paths=address(batch.paths) + 4 * (place + done),
            step=4 * batch.rays.shape[1],
            photon=np.uint32(photon + done),
            per_unit=Real(1.0 / task.flux_unit),
            key=key,
            chunk=chunk,
        )
        count = whole_pairs(min(CHUNK, fresh - done))
        if len(scene.emitters) > 1:
            choose_lights(scene, data.photon, shift, chunk)
            gather_lights(address(scene.emitters), count, chunk)
        each_pair(draw, count, data)
        each_pair(leave_light, count, data)
        if len(scene.others) > 0:
            leave_others(scene, min(CHUNK, fresh - done), data)


@inlined
def repeat_light(emitter: int, chunk: Chunk) -> None:
    """The only light is that of all photons."""
    columns = address(chunk.corner)
    for word in range(EMITTER_WORDS):
        value = get_word(emitter, word)
        for i in range(CHUNK):
            put(columns + COLUMN_BYTES * word, i, value)


@inlined
def choose_lights(scene: PhotonScene, photon: np.uint32, shift: np.uint32, chunk: Chunk) -> None:
    """The light of each photon, chosen in proportion to power by the alias method."""
    lights, aliases, chosen_lights = np.uint64(len(scene.emitters)), address(scene.aliases), address(chunk.light)
    for i in range(CHUNK):
        spread = np.uint32(np.uint32(photon + np.uint32(i)) * GOLDEN + shift)
        product = np.uint64(spread) * lights
        own = Int(product >> np.uint64(32))
        share, alias = get_word(aliases, Int(own + own)), get_int(aliases + 4, Int(own + own))
        put(chosen_lights, i, own if np.uint32(product) < share else alias)


@inlined
def gather_lights(emitters: int, count: int, chunk: Chunk) -> None:
    """The light of each photon, column by column."""
    gather_columns(emitters, EMITTER_BYTES, address(chunk.light), count, EMITTER_WORDS // 4, address(chunk.corner))


@inlined
def draw(i: int, data: Launch) -> None:
    """A photon's index and random numbers, whose products wait for one another; apart, so that both loops are short."""
    index = np.uint32(data.photon + np.uint32(i))
    put(data.paths, i, index)
    words = hash4(data.key, index, np.uint32(0))
    for k in range(4):
        put(address(data.chunk.words) + COLUMN_BYTES * k, i, words[k])


@inlined
def leave_light(i: int, data: Launch) -> None:
    """Origin, direction and flux of a photon."""
    chunk, step = data.chunk, data.step
    u1, u2, s, t = number(0, i, chunk), number(1, i, chunk), number(2, i, chunk), number(3, i, chunk)
    is_beyond = s + t > ONE + chunk.is_square[i]  # the other half of the square, where the light has none
    s, t = ONE - s if is_beyond else s, ONE - t if is_beyond else t
    corner, edge_1, edge_2 = column(chunk.corner, i), column(chunk.edge_1, i), column(chunk.edge_2, i)
    wi = lambertian(column(chunk.normal, i), u1, u2)
    put3(data.rays, step, i, along(along(corner, edge_1, s), edge_2, t))
    put3(data.rays + RAY_DIRECTION * step, step, i, wi)
    put(data.paths + STEPS * step, i, np.uint32(0))
    put3(data.paths + PATH_FLUX * step, step, i, scale(column(chunk.emitted, i), data.per_unit))


@inlined
def number(k: int, i: int, chunk: Chunk) -> float:
    """One of a photon's uniform numbers."""
    return unit32(get_word(address(chunk.words) + COLUMN_BYTES * k, i))


@compiled
def leave_others(scene: PhotonScene, count: int, data: Launch) -> None:
    """Origin, direction and flux of those of a chunk's photons whose light is neither point nor area, one by one."""
    chunk, step = data.chunk, data.step
    for i in range(count):
        light = scene.others[get_int(address(chunk.light), i) if len(scene.others) > 1 else 0]
        if light >= 0:
            photon = emit_from(scene.lights, light, fine_numbers(i, chunk))
            put3(data.rays, step, i, reals(photon.origin))
            put3(data.rays + RAY_DIRECTION * step, step, i, reals(photon.direction))
            put3(data.paths + PATH_FLUX * step, step, i, reals(scale(photon.flux, data.per_unit)))


@inlined
def fine_numbers(i: int, chunk: Chunk) -> tuple[float, float, float, float]:
    """Four uniform numbers of a photon, with the bits that an image of millions of texels needs."""
    words = address(chunk.words)
    coarse = (
        get_word(words, i),
        get_word(words + COLUMN_BYTES, i),
        get_word(words + COLUMN_BYTES * 2, i),
        get_word(words + COLUMN_BYTES * 3, i),
    )
    fine = more4(coarse)
    return (
        fine_unit(coarse[0], fine[0]),
        fine_unit(coarse[1], fine[1]),
        fine_unit(coarse[2], fine[2]),
        fine_unit(coarse[3], fine[3]),
    )


@inlined
def fine_unit(coarse: np.uint32, fine: np.uint32) -> float:
    """A float64 in the open interval (0, 1): the step that one word chooses, and by another a place within it."""
    return np.float64(unit32(coarse)) + (np.float64(unit32(fine)) - 0.5) * UNIT_STEP


@inlined
def reals(a: Vec3) -> Vec3:
    """The nearest float32."""
    return (Real(a[0]), Real(a[1]), Real(a[2]))
