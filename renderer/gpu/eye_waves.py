"""Passes over eye paths that are traced and shaded on one GPU, wave after wave: only images come to the host.

Each warp has a batch of paths of one pass, and several passes are under way together. A wave is three launches: one
shades what the rays of all batches have hit and puts the next ones in their places (`renderer.gpu.eye_kernel`), one
traces these, and one their shadow rays, with any kernel of `tracecore.kernels`.
"""

# Numba's interface for extensions carries no types.
# mypy: disable-error-code="no-untyped-call"

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from renderer.camera_paths.bounce import eye_needs, loop_arguments, scatter_paths
from renderer.camera_paths.lighting import light_vertices
from renderer.camera_paths.loops import EYE_COUNTERS
from renderer.camera_paths.paths import SHADOW_WORDS, EyeJob
from renderer.camera_paths.task import ASKING, OCCLUDE, EyeTask
from renderer.camera_paths.vertices import show_bases
from renderer.film.film import Sums
from renderer.gpu.eye_kernel import (
    BATCH_ROWS,
    MAP,
    PASS_MAPS,
    SCRATCH_BYTES,
    WARP_PATHS,
    EyeWave,
    shade_eye_wave,
    shade_occlusion_wave,
)
from renderer.gpu.pass_sums import PassAdder, add_passes, new_sums
from renderer.gpu.ray_rows import CAPACITY, PAD
from renderer.gpu.waves import Shader, Traced, Waves, launch_of, with_loops
from renderer.photons.searching import WARP_SEARCH
from renderer.scene.packed_scene import PackedScene
from renderer.scene.photon_scene import IN_MEDIUM, SHEET
from renderer.shading.scattering import LIGHT, SCATTER, SHOW
from shaders.float32 import Doubles, Longs
from tracecore.compilation.lanes import NO_PARTS, Parts
from tracecore.cuda import warp_kernel
from tracecore.cuda.device import cuda_errors
from tracecore.cuda.device_arrays import DeviceArrays, as_on_device, laid_out
from tracecore.rays import HIT_FLOATS, RAY_FLOATS, Query
from tracecore.tracers.gpu import GpuTracer

#: Warps of a multiprocessor, as many as their registers and scratch leave room for.
WARPS = 12

#: Paths of the passes that are under way together, and passes: enough that the last bounces of the last ones are little
#: beside all. Where each pass is looked at by itself there are so many groups of them: the next is traced meanwhile.
PATHS_TOGETHER, MOST_PASSES, GROUPS = 1 << 23, 64, 4

#: What each pass has of a wave for itself.
OF_PASSES = ("sequences", "reaches", "far_reaches", "beam_reaches", "maps", "radii", "found", "images", "taken")

#: The shares of a GPU's free memory that batches and images may take.
BATCH_SHARE, IMAGE_SHARE = 0.4, 0.3


class EyePass(NamedTuple):
    """What tells a pass from others.

    number: of the pass.
    reach: radius of the search for photons, world units.
    maps: (PASS_MAPS,) MAP, of its photons.
    radii: (pixels or 0,) float64, of `PhotonLookup`.
    far_reach: radius of the search behind known irradiance, world units.
    beam_reach: radius around rays in media, world units.
    left_out: how many of the first pixels it leaves out.
    """

    number: int
    reach: float
    maps: npt.NDArray[np.void]
    radii: Doubles
    far_reach: float = 0.0
    beam_reach: float = 0.0
    left_out: int = 0


def no_maps() -> npt.NDArray[np.void]:
    """Returns the maps of a pass without photons: (PASS_MAPS,) MAP."""
    return np.zeros(PASS_MAPS, MAP)


class EyePasses(NamedTuple):
    """Passes that a GPU has traced.

    images: yields (width * height, columns) float64 for each of them, which the next but one overwrites; they are there
        until the next passes but one.
    sums: returns the sums of all of them in place of the images, see `PassAdder.sums`; there as long as these are.
    found: (passes, pixels or 0) int64, photons that were found for pixels with radii.
    counters: (passes, EYE_COUNTERS) int64, see `renderer.camera_paths.loops`.
    seconds: wall time until all were traced.
    traced_seconds: of these the GPU traced.
    """

    images: Iterator[Doubles]
    sums: Callable[[], Sums | None]
    found: Longs
    counters: Longs
    seconds: float
    traced_seconds: float


class EyeWaves:
    """Traces and shades passes over eye paths on a tracer's GPU.

    job: of a pass; what it has for itself is not looked at, but for the type of its photons and how many pixels have
        radii.
    slots: shadow rays of a vertex.
    crop: left column, upper row, width and height of what passes are added up of.
    pass_bytes: memory of the GPU that a pass takes beside that.

    Raises `DeviceError` where the GPU has no room for them, and what its driver and compiler raise.
    """

    def __init__(
        self, tracer: GpuTracer, job: EyeJob, slots: int, crop: tuple[int, int, int, int], pass_bytes: int
    ) -> None:
        self._tracer = tracer
        with tracer.vacant_gpu("cannot begin to shade eye paths"):
            arrays, free, pixels = DeviceArrays(tracer.gpu), tracer.gpu.own_room(), job.pixels
            scene, made_of = numbered(job)
            per_pixel = 8 * (job.image.shape[1] + 2 * (len(job.lookup.radii) > 0))
            fitting = int(0.5 * IMAGE_SHARE * free) // (per_pixel * job.size[0] * job.size[1] + pass_bytes)
            #: Passes that are under way together, at most.
            self.most_passes = max(1, min(PATHS_TOGETHER // len(job.pixels), fitting, MOST_PASSES))
            arrays.share(scene)
            job = arrays.copied(job._replace(scene=scene))
            fitting = int(BATCH_SHARE * free) // bytes_of_warp(job, slots)
            warps = min(tracer.gpu.multiprocessors * WARPS, fitting)
            warps_and_slots, passes = (max(warps, self.most_passes), slots), 2 * self.most_passes
            wave = arrays.zeroed(lambda places: new_wave(places, job, warps_and_slots, passes))
            #: Of two groups of passes, of which one is fetched while the other is under way, where the last one is.
            self._all, self._first = wave, 0
            traced = [Traced(wave.traced, wave.to_trace[:1], wave.answers, Query.CLOSEST)]
            if slots > 0:
                asked = Query.CLOSEST if scene.photon_scene.flags & SHEET else Query.ANY
                traced.append(Traced(wave.shadows_traced, wave.to_trace[1:], wave.shadow_answers, asked))
            self._waves = Waves(tracer, arrays, Shader(shader_of(job.task), made_of, SCRATCH_BYTES), wave, traced)
            self._waves.put("pixels", pixels)
            width, given = job.size[0], (wave.images, wave.sequences)
            sums = arrays.zeroed(lambda places: new_sums(places, *given, width, crop))
            self._adder = PassAdder(tracer, arrays, sums)

    def passes_together(self, *, adds_up: bool) -> int:
        """Returns how many passes to trace together. adds_up: whether they come added up."""
        return self.most_passes if adds_up else max(1, self.most_passes // GROUPS)

    def sample(self, pixels: npt.NDArray[np.int32]) -> None:
        """Has passes to come take these pixels, (n,) int32, in this order."""
        with self._tracer.vacant_gpu("cannot choose pixels"):
            self._waves.put("pixels", pixels)

    def trace(self, given: Sequence[EyePass]) -> EyePasses:
        """Returns passes: the same images, bit for bit, as the CPU's loops add up.

        Raises `DeviceError` where the GPU does not answer, and `KernelError` where a kernel fails.
        """
        waves, passes = self._waves, len(given)
        with self._tracer.vacant_gpu("cannot shade eye paths"):
            started = time.perf_counter()
            self._first = self.most_passes - self._first
            under_way = slice(self._first, self._first + passes)
            waves.use(self._all._replace(**{name: getattr(self._all, name)[under_way] for name in OF_PASSES}))
            waves.put("sequences", [one.number for one in given])
            waves.put("reaches", [one.reach for one in given])
            waves.put("far_reaches", [one.far_reach for one in given])
            waves.put("beam_reaches", [one.beam_reach for one in given])
            waves.put("taken", [one.left_out for one in given])
            waves.put("maps", [one.maps for one in given])
            waves.put("radii", [one.radii for one in given])
            waves.clear("images", "found", "active", "shadows", "counters")
            traced = sum(seconds for seconds, _ in waves.until_done())
            counters = waves.fetch("counters")
            own = np.arange(len(counters)) % passes
            sums = np.stack([counters[own == k].sum(axis=0) for k in range(passes)])
            found = waves.fetch("found").copy()
            seconds = time.perf_counter() - started
            images, added = waves.rows("images"), partial(self._adder.sums, waves.wave.images, waves.wave.sequences)
        return EyePasses(fetched_images(images), added, found, sums, seconds, traced)


def fetched_images(images: Iterator[Doubles]) -> Iterator[Doubles]:
    """Yields images that come from a GPU."""
    with cuda_errors("cannot fetch a picture"):
        yield from images


def begin_to_compile(tracer: GpuTracer, job: EyeJob, slots: int) -> None:
    """Has the kernels compiled that a job needs: whoever has `EyeWaves` made of it later waits less.

    slots: shadow rays of a vertex.

    Raises `DeviceError` where the GPU does not answer.
    """
    scene, made_of = numbered(job)
    wave = new_wave(np, as_on_device(job._replace(scene=scene)), (1, slots), 1)
    of_sums = new_sums(np, wave.images, wave.sequences, 1, (0, 0, 1, 1))
    with tracer.vacant_gpu("cannot compile for it"):
        warp_kernel.begin_to_compile(tracer.gpu, launch_of(shader_of(job.task), wave), made_of)
        warp_kernel.begin_to_compile(tracer.gpu, launch_of(add_passes, of_sums), NO_PARTS)
    for one in (wave, of_sums):
        laid_out(one)  # by code that is compiled for each type


def numbered(job: EyeJob) -> tuple[PackedScene, Parts]:
    """Returns the scene of a job, and what its kernel is made of, as `with_loops` does."""
    has_fog = bool(job.scene.photon_scene.flags & IN_MEDIUM)
    needs = eye_needs(job.task.diffuse, job.image.shape[1], has_fog)
    return with_loops(job.scene, eye_units(job.task.diffuse), needs)


def shader_of(task: EyeTask) -> Callable[[EyeWave], None]:
    """Returns the kernel that shades paths of a task."""
    return shade_occlusion_wave if task.diffuse == OCCLUDE else shade_eye_wave


def eye_units(diffuse: int) -> dict[int, tuple[Any, tuple[Any, ...]]]:
    """Returns the loops of BSDFs that eye paths need, as `with_loops` takes them. diffuse: see `eye_needs`."""
    if diffuse == OCCLUDE:
        return {}
    arguments = loop_arguments(WARP_PATHS)
    units = {LIGHT: light_vertices, SCATTER: scatter_paths} | ({SHOW: show_bases} if diffuse in ASKING else {})
    return {which: (one, arguments) for which, one in units.items()}


def bytes_of_warp(job: EyeJob, slots: int) -> int:
    """Returns how much memory a warp's batches take: what a wave of two has more than one of one. NumPy's zeros take
    none before they are touched.

    slots: shadow rays of a vertex.
    """
    one, two = (new_wave(np, job, (warps, slots), 1) for warps in (1, 2))
    more = [getattr(two, name).nbytes - getattr(one, name).nbytes for name in EyeWave._fields if name != "job"]
    return int(sum(more))


def new_wave(arrays: Any, job: EyeJob, warps_and_slots: tuple[int, int], passes: int) -> EyeWave:
    """Returns the arrays of a wave, zeros. arrays: whose `zeros` makes them: NumPy, or `Places` of a GPU."""
    (warps, slots), zeros, column = warps_and_slots, arrays.zeros, CAPACITY + PAD
    pixels = job.size[0] * job.size[1] if len(job.lookup.radii) > 0 else 0
    columns = job.image.shape[1]
    return EyeWave(
        job=job,
        sequences=zeros((passes,), np.int64),
        reaches=zeros((passes,), np.float64),
        far_reaches=zeros((passes,), np.float64),
        beam_reaches=zeros((passes,), np.float64),
        maps=zeros((passes, PASS_MAPS), MAP),
        radii=zeros((passes, pixels), np.float64),
        found=zeros((passes, pixels), np.int64),
        images=zeros((passes, job.size[0] * job.size[1], columns), np.float64),
        taken=zeros((passes, 1), np.int64),
        pixels=zeros((len(job.pixels),), np.int32),
        active=zeros((warps,), np.int64),
        fresh=zeros((warps,), np.int64),
        turns=zeros((warps,), np.int64),
        starts=zeros((warps, 1 + slots), np.int64),
        batches=zeros((warps, 2, BATCH_ROWS, column), np.uint32),
        words=zeros((warps, HIT_FLOATS, column), np.uint32),
        shadows=zeros((warps, slots), np.int64),
        shadow_rays=zeros((warps, slots, RAY_FLOATS, column), np.float32),
        radiance=zeros((warps, slots, 3, column), np.float32),
        shadow_paths=zeros((warps, slots, SHADOW_WORDS, column), np.uint32),
        shadow_words=zeros((warps, slots, HIT_FLOATS, column), np.uint32),
        chunk=zeros((1,), WARP_PATHS),
        search=zeros((warps,), WARP_SEARCH),
        counters=zeros((warps, EYE_COUNTERS), np.int64),
        traced=zeros((warps * CAPACITY, RAY_FLOATS), np.float32),
        answers=zeros((warps * CAPACITY, HIT_FLOATS), np.float32),
        shadows_traced=zeros((warps * slots * CAPACITY, RAY_FLOATS), np.float32),
        shadow_answers=zeros((warps * slots * CAPACITY, HIT_FLOATS), np.float32),
        to_trace=zeros((2,), np.int64),
    )
