"""Photons that are traced and shaded on one GPU, wave after wave: only what is stored comes to the host.

Each warp has a batch of rays. A wave is two launches: one shades what the rays of all batches have hit and puts the
next ones in their places (`renderer.gpu.photon_kernel`), and one traces these with any kernel of `tracecore.kernels`.
Nobody waits in between: the host looks after some waves what became of them.
"""

# Numba's interface for extensions carries no types.
# mypy: disable-error-code="no-untyped-call"

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from renderer.gpu import waves
from renderer.gpu.photon_kernel import (
    BATCH_ROWS,
    SCRATCH_BYTES,
    WARP_HITS,
    WARP_LAUNCH,
    PhotonWave,
    shade_wave,
)
from renderer.gpu.ray_rows import CAPACITY, PAD
from renderer.gpu.waves import AHEAD, Shader, Traced, Waves, launch_of, with_loops
from renderer.photons.batch import PhotonTask
from renderer.photons.importance import NEEDED_SPHERES
from renderer.photons.photon_map import PHOTON_WORDS, Words
from renderer.photons.ranges import in_sequence
from renderer.photons.scattering import loop_arguments, scatter_photons
from renderer.photons.store import PHOTON_COUNTERS, STORE_COLUMNS, STORE_INDEX
from renderer.photons.targets import MOST_TARGETS
from renderer.scene.packed_scene import PackedScene
from renderer.scene.projection import GUIDE_COLUMNS
from renderer.shading.scattering import PHOTONS
from shaders.float32 import Longs
from tracecore.compilation.lanes import LANES
from tracecore.cuda import warp_kernel
from tracecore.cuda.device_arrays import DeviceArrays, as_on_device, columns_of, ordered_rows, rows_of
from tracecore.errors import KernelError
from tracecore.rays import HIT_FLOATS, RAY_FLOATS, Floats, Query
from tracecore.tracers.gpu import GpuTracer

#: Warps of a multiprocessor, as many as their registers and scratch leave room for.
WARPS = 12

#: Bytes of a photon that is stored.
PHOTON_BYTES = STORE_COLUMNS * np.dtype(np.uint32).itemsize

#: The share of a GPU's free memory that photons may take, and how many there is room for at most.
PHOTON_SHARE, MOST_PHOTONS = 0.3, 1 << 26

#: Most targets that photons are sent to, by a pilot too: lanes have memory for as many.
MOST_GUIDES = NEEDED_SPHERES + MOST_TARGETS


class StoredOnGpu(NamedTuple):
    """Photons that a GPU has traced.

    ordered: (n, PHOTON_WORDS) uint32, in order of photon index and bounce.
    counters: (PHOTON_COUNTERS,) int64, see `renderer.photons.store`.
    seconds: wall time until all were stored on the GPU.
    shade_seconds: of these it shaded.
    order_seconds: wall time to put them in order and to bring them here.
    """

    ordered: Words
    counters: Longs
    seconds: float
    shade_seconds: float
    order_seconds: float


class StoredPhotons(NamedTuple):
    """Photons that lie on a GPU until others are stored.

    columns: (passes, STORE_COLUMNS, n) uint32 there, those of a path in their order.
    photons: (passes,) int64, how many there are.
    counters: (passes, PHOTON_COUNTERS) int64, see `renderer.photons.store`.
    seconds, traced_seconds: wall time until all were stored, and in which rays were traced.
    """

    columns: Any
    photons: Longs
    counters: Longs
    seconds: float
    traced_seconds: float


def why_not(scene: PackedScene, tracer: Any) -> str | None:
    """Returns why the photons of a scene cannot be shaded where a tracer traces, in words, or None where they can."""
    reason = waves.why_not(scene, tracer)
    if reason is None and len(scene.photon_scene.projection.targets) > MOST_GUIDES:
        return f"photons are sent to more than {MOST_GUIDES} places, which only the CPU does"
    return reason


def photon_units() -> dict[int, tuple[Any, tuple[Any, ...]]]:
    """Returns the loops of BSDFs that photons need, as `with_loops` takes them."""
    return {PHOTONS: (scatter_photons, loop_arguments(WARP_HITS))}


def begin_to_compile(tracer: GpuTracer, scene: PackedScene, task: PhotonTask) -> None:
    """Has the kernel compiled that photons need: whoever has `PhotonWaves` made of them later waits less.

    Raises `DeviceError` where the GPU does not answer.
    """
    numbered, made_of = with_loops(scene, photon_units())
    wave = new_wave(np, as_on_device(numbered), task, (1, 1), 1)
    with tracer.vacant_gpu("cannot compile for it"):
        warp_kernel.begin_to_compile(tracer.gpu, launch_of(shade_wave, wave), made_of)


def new_wave(
    arrays: Any, scene: PackedScene, task: PhotonTask, warps_and_passes: tuple[int, int], room: int
) -> PhotonWave:
    """Returns the arrays of a wave, zeros.

    arrays: whose `zeros` makes them: NumPy, or `Places` of a GPU.
    room: for so many photons of each pass.
    """
    warps, passes = warps_and_passes
    zeros, column = arrays.zeros, CAPACITY + PAD
    return PhotonWave(
        scene=scene,
        task=task,
        sequences=zeros((passes,), np.int64),
        supply=zeros((passes, 2), np.int64),
        active=zeros((warps,), np.int64),
        fresh=zeros((warps, 2), np.int64),
        turns=zeros((warps,), np.int64),
        starts=zeros((warps,), np.int64),
        batches=zeros((warps, 2, BATCH_ROWS, column), np.uint32),
        hits=zeros((warps, HIT_FLOATS, column), np.float32),
        chunk=zeros((1,), WARP_HITS),
        launch=zeros((1,), WARP_LAUNCH),
        guides=zeros((warps, LANES, MOST_GUIDES, GUIDE_COLUMNS), np.float64),
        waiting=zeros((1, 1), np.uint32),
        waits=zeros((1,), np.int64),
        blocks=zeros((passes, STORE_COLUMNS, room), np.uint32),
        filled=zeros((passes,), np.int64),
        counters=zeros((warps, PHOTON_COUNTERS), np.int64),
        traced=zeros((warps * CAPACITY, RAY_FLOATS), np.float32),
        to_trace=zeros((1,), np.int64),
        answers=zeros((warps * CAPACITY, HIT_FLOATS), np.float32),
    )


class PhotonWaves:
    """Traces and shades the photons of a scene on a tracer's GPU.

    task: of all photons.
    passes: whose photons are under way together, at most.

    Raises `DeviceError` where the GPU has no room for them, and what its driver and compiler raise.
    """

    def __init__(self, tracer: GpuTracer, scene: PackedScene, task: PhotonTask, passes: int = 1) -> None:
        self._tracer, self._task = tracer, task
        self._scenes: dict[int, tuple[PackedScene, PackedScene]] = {}
        with tracer.vacant_gpu("cannot begin to shade photons"):
            self._arrays, (_, made_of) = DeviceArrays(tracer.gpu), with_loops(scene, photon_units())
            warps, free = max(tracer.gpu.multiprocessors * WARPS, passes), tracer.gpu.own_room()
            room = min(int(PHOTON_SHARE * free) // PHOTON_BYTES, MOST_PHOTONS)
            room = max(room // passes, 4 * AHEAD * warps * CAPACITY)
            there = self._on_gpu(scene)
            self._all = self._arrays.zeroed(lambda places: new_wave(places, there, task, (warps, passes), room))
            shader = Shader(shade_wave, made_of, SCRATCH_BYTES)
            traced = Traced(self._all.traced, self._all.to_trace, self._all.answers, Query.CLOSEST)
            self._waves = Waves(tracer, self._arrays, shader, self._all, [traced])

    @property
    def room(self) -> int:
        """Returns how many photons of a pass there is room for together."""
        return int(self._all.blocks.shape[2])

    def store(self, scene: PackedScene, tasks: Sequence[PhotonTask], photons: range) -> StoredPhotons:
        """Returns photons that lie on the GPU: of each task those of a range. Tasks differ by their sequences alone.

        scene: the same as before, but for its lights and what photons are sent to.

        Raises `DeviceError` where the GPU does not answer, and `KernelError` where a kernel fails or the GPU has no
        room for all photons together.
        """
        with self._tracer.vacant_gpu("cannot shade photons"):
            started = time.perf_counter()
            self._begin(scene, tasks, photons)
            drained, traced_seconds = self._run()
            if drained:
                raise KernelError("a pass stores more photons than the GPU has room for (--photons says how many)")
            counters = self._waves.fetch("counters")
            own = np.arange(len(counters)) % len(tasks)
            sums = np.stack([counters[own == k].sum(axis=0) for k in range(len(tasks))])
            stored = self._waves.fetch("filled").copy()
        seconds = time.perf_counter() - started
        return StoredPhotons(self._all.blocks, stored, sums, seconds, traced_seconds)

    def stored(self, scene: PackedScene, task: PhotonTask, photons: range) -> Words:
        """Returns photons of a task as the CPU's loops store them, (n, PHOTON_WORDS) uint32, in their order.

        scene: as in `store`.

        Raises as `trace`.
        """
        with self._tracer.vacant_gpu("cannot shade photons"):
            self._begin(scene, [task], photons)
            drained, _ = self._run()
            return self._in_order(drained)

    def _on_gpu(self, scene: PackedScene) -> PackedScene:
        """Returns a scene as it lies on the GPU."""
        if id(scene) not in self._scenes:
            numbered, _ = with_loops(scene, photon_units())
            self._arrays.share(numbered)
            self._scenes[id(scene)] = scene, self._arrays.copied(numbered)
        return self._scenes[id(scene)][1]

    @property
    def rays_at_once(self) -> int:
        """Returns how many rays a wave has at most."""
        return len(self._all.active) * CAPACITY

    def trace(self, photons: range, *, is_kept: bool = True) -> StoredOnGpu:
        """Returns the photons of a range: the same, bit for bit, as the CPU's loops store.

        is_kept: whether they come to the host; else they are counted alone.

        Raises `DeviceError` where the GPU does not answer, and `KernelError` where a kernel fails.
        """
        with self._tracer.vacant_gpu("cannot shade photons"):
            started = time.perf_counter()
            self._begin_range(photons)
            drained, traced_seconds = self._run(is_kept=is_kept)
            shaded = time.perf_counter()
            counters = self._waves.fetch("counters").sum(axis=0)
            ordered = self._in_order(drained) if is_kept else np.empty((0, PHOTON_WORDS), np.uint32)
        ended = time.perf_counter()
        seconds = shaded - started
        return StoredOnGpu(ordered, counters, seconds, max(seconds - traced_seconds, 0.0), ended - shaded)

    def sample_rays(self) -> Floats:
        """Returns (n, 8) float32, rays such as photons have."""
        with self._tracer.vacant_gpu("cannot trace a sample of photons"):
            self._begin_range(range(2 * self.rays_at_once))
            self._waves.launch(2)
            return rows_of(self._all.traced[: int(self._waves.fetch("to_trace")[0])])

    def _begin_range(self, photons: range) -> None:
        """Has the GPU begin with the photons of a range, in the sequence that they are of."""
        task, photons = in_sequence(self._task, photons)
        self._begin(next(iter(self._scenes.values()))[0], [task], photons)

    def _begin(self, scene: PackedScene, tasks: Sequence[PhotonTask], photons: range) -> None:
        whole, passes = self._all, len(tasks)
        first = {name: getattr(whole, name)[:passes] for name in ("sequences", "supply", "blocks", "filled")}
        wave = whole._replace(scene=self._on_gpu(scene), task=tasks[0]._replace(sequence=0), **first)
        self._waves.use(wave)
        self._waves.put("sequences", [task.sequence for task in tasks])
        self._waves.put("supply", (photons.start, photons.stop))
        self._waves.clear("active", "filled", "counters")

    def _run(self, *, is_kept: bool = True) -> tuple[list[Words], float]:
        """Launches waves until no photon is left. is_kept: whether photons that have no room come to the host.

        Returns the photons that the GPU had no room for, (STORE_COLUMNS, n) each, in the order in which they were
        stored, and the seconds in which rays were traced.
        """
        drained, traced, room = [], 0.0, self.room - 2 * AHEAD * self.rays_at_once
        for seconds, rays, filled in self._waves.until_done("filled"):
            traced += seconds
            if rays > 0 and int(filled.max()) > room:
                drained += [self._drained()] if is_kept else []
                self._waves.clear("filled")
        return drained, traced

    def _drained(self) -> Words:
        """Returns the photons on the GPU, (STORE_COLUMNS, n)."""
        return columns_of(self._all.blocks[0], int(self._waves.fetch("filled")[0]))

    def _in_order(self, drained: list[Words]) -> Words:
        """Returns all photons in order. Those of a path were stored in theirs."""
        if drained:
            columns = np.concatenate([*drained, self._drained()], axis=1)
            return np.ascontiguousarray(columns[:, np.argsort(columns[STORE_INDEX], kind="stable")][:PHOTON_WORDS].T)
        return ordered_rows(self._all.blocks[0], int(self._waves.fetch("filled")[0]), STORE_INDEX, PHOTON_WORDS)
