"""The kernel that shades photons: each warp has a batch of its own and shades it as a CPU's thread shades one."""

from typing import NamedTuple

from renderer.gpu.ray_rows import CAPACITY, PAD, hand_over, take_answers
from renderer.photons.batch import HIT_COLUMNS, LAUNCH_COLUMNS, PATH_WORDS, PhotonBatch, PhotonScratch, PhotonTask
from renderer.photons.photon_map import Words
from renderer.photons.shading import shade_rays
from renderer.photons.store import PhotonOutput
from renderer.scene.packed_scene import PackedScene
from renderer.scene.photon_scene import Records
from renderer.scene.projection import Guides
from renderer.simd.columns import WORD_BYTES, as_floats, for_lanes
from shaders.float32 import Longs
from tracecore.compilation.borrowing import borrowed
from tracecore.compilation.cached import inlined
from tracecore.compilation.gpu_code import beside_core, warp_index
from tracecore.rays import RAY_FLOATS, Floats

#: Scratch of a warp: of hits, with a word of each ray behind it by which they are sorted, and of photons that leave
#: lights. The one is not needed while the other is.
WARP_HITS, WARP_LAUNCH = for_lanes(HIT_COLUMNS), for_lanes(LAUNCH_COLUMNS)
SCRATCH_BYTES = max(WARP_HITS.itemsize + WORD_BYTES * (CAPACITY + PAD), WARP_LAUNCH.itemsize)

#: Rows of a batch of a warp: rays and paths.
BATCH_ROWS = RAY_FLOATS + PATH_WORDS


class PhotonWave(NamedTuple):
    """Batches of photons in a GPU's memory, one for each warp.

    task: of all passes; warps are dealt out to passes, whose sequences are their own.
    sequences: (passes,) int64.
    supply: (passes, 2) int64, the next photon to start and the end.
    active: (warps,) int64, rays of each batch.
    fresh: (warps, 2) int64, of `PhotonBatch`.
    turns: (warps,) int64, which of two batches has the rays.
    starts: (warps,) int64, where those of each batch begin among all that are traced.
    batches: (warps, 2, BATCH_ROWS, column) uint32, two batches: rays and paths.
    hits: (warps, 4, column) float32, of `PhotonBatch`.
    chunk, launch: (1,) `WARP_HITS` and `WARP_LAUNCH`: what scratch is like, which each warp has beside its core.
    guides: (warps, LANES, targets, GUIDE_COLUMNS) float64, of `PhotonScratch`.
    blocks: (passes, STORE_COLUMNS, n) uint32, photons. filled: (passes,) int64, how many they are.
    waiting, waits: of `PhotonOutput`, without meaning here.
    counters: (warps, PHOTON_COUNTERS) int64.
    traced: (warps * CAPACITY, 8) float32, the rays as a launch of a kernel takes them. to_trace: (1,) int64, how many
        they are.
    answers: (warps * CAPACITY, 4) float32, their hits.
    """

    scene: PackedScene
    task: PhotonTask
    sequences: Longs
    supply: Longs
    active: Longs
    fresh: Longs
    turns: Longs
    starts: Longs
    batches: Words
    hits: Floats
    chunk: Records
    launch: Records
    guides: Guides
    waiting: Words
    waits: Longs
    blocks: Words
    filled: Longs
    counters: Longs
    traced: Floats
    to_trace: Longs
    answers: Floats


def shade_wave(wave: PhotonWave) -> None:
    """Shade the hits of a warp's batch, and fill it up with fresh photons."""
    own = warp_index()
    if own >= len(wave.active):
        return
    turn, active, index = wave.turns[own], wave.active[own], own % len(wave.sequences)
    here, ahead = wave.batches[own, turn], wave.batches[own, 1 - turn]
    rays, paths = as_floats(here[:RAY_FLOATS]), here[RAY_FLOATS : RAY_FLOATS + PATH_WORDS]
    scratch = PhotonScratch(beside_core(wave.chunk), beside_core(wave.launch), ahead, wave.guides[own])
    batch = PhotonBatch(rays, wave.hits[own], paths, wave.fresh[own], scratch, CAPACITY)
    blocks, filled = wave.blocks[index : index + 1], wave.filled[index : index + 1]
    output = PhotonOutput(wave.waiting, wave.waits, blocks, filled, wave.counters[own])
    take_answers(wave.answers, wave.starts[own], active, batch.hits)
    task = task_of(wave.task, wave.sequences[index])
    going = shade_rays(wave.scene, task, batch, active, wave.supply[index], borrowed(output))
    wave.starts[own] = hand_over(as_floats(ahead[:RAY_FLOATS]), going, wave.traced, wave.to_trace, True)
    wave.active[own], wave.turns[own] = going, 1 - turn


@inlined
def task_of(task: PhotonTask, sequence: int) -> PhotonTask:
    """Returns the task of a pass."""
    return PhotonTask(
        task.seed,
        sequence,
        task.min_bounces,
        task.max_bounces,
        task.flux_unit,
        task.only_caustics,
        task.is_corrected,
        task.volume_share,
    )
