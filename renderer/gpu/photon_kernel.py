"""The kernel that shades photons: each warp has a batch of its own and shades it as a CPU's thread shades one."""

from typing import NamedTuple

from renderer.photons.batch import HIT_COLUMNS, LAUNCH_COLUMNS, PhotonBatch, PhotonScratch, PhotonTask
from renderer.photons.photon_map import Words
from renderer.photons.shading import shade_rays
from renderer.photons.store import PhotonOutput
from renderer.scene.packed_scene import PackedScene
from renderer.scene.photon_scene import Records
from renderer.simd.columns import WORD_BYTES, each_ray, for_lanes, get, get_word, put
from shaders.float32 import INFINITY, ONE, ZERO, Longs
from tracecore.compilation.borrowing import borrowed
from tracecore.compilation.cached import inlined
from tracecore.compilation.lanes import beside_core, warp_index
from tracecore.compilation.vector import address
from tracecore.rays import HIT_FLOATS, RAY_FLOATS, Floats

#: Columns of scratch of a warp: of hits, and of photons that leave lights; the ones are not needed while the others are.
WARP_HITS, WARP_LAUNCH = for_lanes(HIT_COLUMNS), for_lanes(LAUNCH_COLUMNS)
SCRATCH_BYTES = max(WARP_HITS.itemsize, WARP_LAUNCH.itemsize)


class PhotonWave(NamedTuple):
    """Batches of photons in a GPU's memory, one for each warp.

    supply: (2,) int64, the next photon to start and the end.
    active: (warps,) int64, rays of each batch.
    fresh: (warps, 2) int64, of `PhotonBatch`.
    rays, hits, paths: (warps, rows, column), of `PhotonBatch`.
    spare: (warps, rows, column) uint32, of `PhotonScratch`.
    chunk, launch: (1,) `WARP_HITS` and `WARP_LAUNCH`: what scratch is like, which each warp has beside its core.
    waiting, waits: (warps, ...), of `PhotonOutput`.
    blocks, filled: of all warps, as those of `PhotonOutput`.
    counters: (warps, PHOTON_COUNTERS) int64.
    traced: (warps * capacity, 8) float32, the rays as a launch of a kernel takes them, those of a batch side by side.
    answers: (warps * capacity, 4) float32, their hits.
    """

    scene: PackedScene
    task: PhotonTask
    supply: Longs
    active: Longs
    fresh: Longs
    rays: Floats
    hits: Floats
    paths: Words
    spare: Words
    chunk: Records
    launch: Records
    waiting: Words
    waits: Longs
    blocks: Words
    filled: Longs
    counters: Longs
    traced: Floats
    answers: Floats
    capacity: int


def shade_wave(wave: PhotonWave) -> None:
    """Shade the hits of a warp's batch, and fill it up with fresh photons."""
    own = warp_index()
    if own >= len(wave.active):
        return
    chunk, launch = beside_core(wave.chunk, SCRATCH_BYTES), beside_core(wave.launch, SCRATCH_BYTES)
    scratch = PhotonScratch(chunk, launch, wave.spare[own])
    batch = PhotonBatch(wave.rays[own], wave.hits[own], wave.paths[own], wave.fresh[own], scratch, wave.capacity)
    output = PhotonOutput(wave.waiting[own], wave.waits[own], wave.blocks, wave.filled, wave.counters[own])
    step, active = WORD_BYTES * wave.rays.shape[2], wave.active[own]
    answers = address(wave.answers) + WORD_BYTES * HIT_FLOATS * wave.capacity * own
    each_ray(take_answer, active, (answers, address(batch.hits), step))
    rays = shade_rays(wave.scene, wave.task, batch, active, wave.supply, borrowed(output))
    traced = address(wave.traced) + WORD_BYTES * RAY_FLOATS * wave.capacity * own
    each_ray(hand_over, wave.capacity, (address(batch.rays), step, traced, rays))
    wave.active[own] = rays


@inlined
def take_answer(i: int, data: tuple[int, int, int]) -> None:
    """Write a hit to its columns. data: address of the hits, and of columns that are so many bytes apart."""
    answers, hits, step = data
    for word in range(HIT_FLOATS):
        put(hits + word * step, i, get_word(answers + WORD_BYTES * word, HIT_FLOATS * i))


@inlined
def hand_over(i: int, data: tuple[int, int, int, int]) -> None:
    """Write a ray as a launch takes it: one that hits nothing behind the last.

    data: address of columns that are so many bytes apart, and of the rays; and how many there are.
    """
    columns, step, traced, rays = data
    is_ray = i < rays
    for axis in range(3):
        put(traced + WORD_BYTES * axis, RAY_FLOATS * i, get(columns + axis * step, i) if is_ray else ZERO)
        direction = get(columns + (4 + axis) * step, i)
        put(traced + WORD_BYTES * (4 + axis), RAY_FLOATS * i, direction if is_ray else ONE)
    put(traced + 3 * WORD_BYTES, RAY_FLOATS * i, ZERO if is_ray else INFINITY)
    put(traced + 7 * WORD_BYTES, RAY_FLOATS * i, INFINITY if is_ray else -INFINITY)
