"""This module holds what all drivers share: camera, pixels by tiles, loops over eye paths, counts of rays."""

import functools
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, ClassVar, TypeVar

import numpy as np
import numpy.typing as npt

from renderer.camera_paths.bounce import make_eye_paths_ready
from renderer.camera_paths.lighting import MAX_LIGHT_SAMPLES
from renderer.camera_paths.loops import (
    BOUNCE,
    CAMERA,
    FEATURE_PASSES,
    SHADOW,
    EyeBatches,
    run_eye_paths,
    run_features,
    take_eye_batches,
)
from renderer.camera_paths.paths import LOOKUP_NANOSECONDS, EyeJob
from renderer.camera_paths.task import EYE_SETTINGS, FOLLOW, SAMPLERS, EyeTask
from renderer.drivers.driver import Carried, Driver, MadeShare, Radiance, RenderSettings, Work, within_crop
from renderer.drivers.shares import TILE, AnyShare, Photons, Share, part_of
from renderer.film.layers import LAYER_BIAS, LAYER_COLUMNS
from renderer.photons.counts import PhotonCounts
from renderer.photons.lookup import PhotonLookup, no_photons
from renderer.scene.packed_scene import PackedScene, pack_camera, pack_scene
from scenes.memory import usable_bytes
from scenes.model import Snapshot
from tracecore.compilation.ahead import load_all
from tracecore.dispatch.port import Port, are_ready, resume
from tracecore.dispatch.tracer import Tracer
from tracecore.kernels.choice import RayClass
from tracecore.workers.pool import Log, Loop, Worker, WorkerPool
from tracecore.workers.tasks import Crew, in_order

T = TypeVar("T")

#: Settings of what materials are taken to be (`renderer.scene.render_context.SceneView`).
MATERIAL_SETTINGS = ("mirrors", "ambient")

#: Passes under way may take this share of the memory of the machine.
MEMORY_SHARE = 0.4

#: Bytes that a machine is taken to have which does not tell.
USUAL_MEMORY = 1 << 33

#: Pictures in memory for each pass under way: its own, and one that is finished and waits for its turn.
IMAGES_OF_PASS = 2

#: The machine code that all loops need.
LOOP_CODE = (resume, are_ready)

#: Rows of each thread's log, of which a batch takes two or three.
LOG_ROWS = 1 << 16


def memory_for_passes() -> float:
    """Returns how many bytes the passes under way may take together: a share of what there is, or is allowed."""
    usable = usable_bytes()
    return MEMORY_SHARE * (USUAL_MEMORY if usable is None else usable)


def passes_under_way(threads: int, bytes_of_pass: int, processes: int = 1) -> int:
    """Returns how many passes may be under way at once: as many as there are threads, if memory allows.

    processes: that share the memory.
    """
    return min(threads, int(memory_for_passes() / processes / bytes_of_pass))


@functools.lru_cache(maxsize=4)
def pixels_by_tile(width: int, height: int) -> npt.NDArray[np.int32]:
    """Returns the indices of the pixels, (width * height,) int32, row * width + column, tile after tile."""
    columns, rows = -(-width // TILE), -(-height // TILE)
    row, column = np.ogrid[: rows * TILE, : columns * TILE]
    index = np.where((row < height) & (column < width), row * width + column, -1)
    by_tile = index.reshape(rows, TILE, columns, TILE).transpose(0, 2, 1, 3).ravel()
    return by_tile[by_tile >= 0].astype(np.int32)


def cropped(pixels: npt.NDArray[np.int32], settings: RenderSettings) -> npt.NDArray[np.int32]:
    """Returns those indices of pixels, in their order, that are in the part of the picture that is made."""
    if settings.crop is None:
        return pixels
    x, y, width, height = settings.crop
    rows, columns = np.divmod(pixels, settings.width)
    return pixels[(x <= columns) & (columns < x + width) & (y <= rows) & (rows < y + height)]


@dataclass(frozen=True)
class PassSite:
    """Says where a pass is made.

    crew: the workers at it.
    pixels: (n,) int32, those that are made of it.
    lookup: photons to look up, or None where the pass is to have some traced.
    traced: photons that have been traced for its maps, range by range, or None.
    work: the rays and photons that it takes, to which is added.
    """

    crew: Crew
    pixels: npt.NDArray[np.int32]
    lookup: PhotonLookup | None = None
    traced: tuple[Photons, ...] | None = None
    work: Work = field(default_factory=Work)
    _borrowed: list[tuple[str, object]] = field(default_factory=list)

    def count(self, photons: PhotonCounts, rays: int) -> None:
        """Adds photons that were traced to the work."""
        self.work.photons.add(photons)
        self.work.rays.photon += rays

    def borrow(self, key: str, make: Callable[[], T]) -> T:
        """Returns memory that this pass has for itself until it gives it back, and other passes then.

        key: says what kind of memory it is.
        make: makes some where none is left.
        """
        memory = self.crew.take(key, make)
        self._borrowed.append((key, memory))
        return memory

    def give_back(self) -> None:
        """Leaves what was borrowed to other passes."""
        while self._borrowed:
            self.crew.leave(*self._borrowed.pop())


class EyeDriver(Driver):
    """Holds what all drivers share that follow paths from the eye: camera, pixels by tiles, loops, counts of rays.

    Beside the fields of `Driver` it says what its paths do with `diffuse` reflection, and whether its passes
    `begin_early`: wait themselves, by `Crew.await_before`, for what those before them leave.
    """

    takes: ClassVar[frozenset[str]] = frozenset({*EYE_SETTINGS, *MATERIAL_SETTINGS})
    layers: ClassVar[str] = "all"
    diffuse: ClassVar[int] = FOLLOW
    begin_early: ClassVar[bool] = False
    can_share: ClassVar[bool] = True
    has_log: ClassVar[bool] = True
    has_paths: ClassVar[bool] = True
    ray_class: ClassVar[RayClass | None] = RayClass.INCOHERENT
    code: ClassVar[tuple[Callable[..., Any], ...]] = (run_eye_paths, *LOOP_CODE)

    def __init__(self, snapshot: Snapshot, tracer: Tracer, settings: RenderSettings) -> None:
        super().__init__(snapshot, tracer, settings)
        self.scene: PackedScene = pack_scene(snapshot)
        make_eye_paths_ready(self.scene.bsdfs, self.diffuse, self._has_features)
        self.camera = pack_camera(snapshot.camera, settings.width, settings.height, settings.pixel_filter)
        self._eye_slots = 1 + self._shadow_slots()
        self._pool = WorkerPool(
            tracer, settings.threads, settings.batch_rays, self._eye_slots, LOG_ROWS if settings.is_logged else 0
        )
        #: Indices of the pixels that paths begin in, in the order in which they are visited.
        self.pixels = cropped(pixels_by_tile(settings.width, settings.height), settings)
        #: Called with the job of each pass over eye paths before it begins, for whoever looks on.
        self.on_job: Callable[[EyeJob], None] = lambda job: None
        load_all(self.code)

    def render_pass(self, index: int) -> Radiance:
        """Returns pass `index` (0-based) alone: (height, width, columns) float64, as `Driver` says."""
        with closing(self.passes(iter([index]))) as passes:
            image: Radiance = next(passes).values
            return image

    def passes(self, indices: Iterator[int], carried: Carried | None = None) -> Generator[MadeShare]:
        """Yields passes as `Driver` says; as many are under way at once as there are threads, if memory allows."""
        first = next(indices, None)
        if first is None:
            return
        if carried:
            self.take_up(first, carried)
        shares = map(Share, chain([first], indices))
        yield from self.shares(lambda: next(shares, None))

    def shares(self, take: Callable[[], AnyShare | None]) -> Generator[MadeShare]:
        """Yields shares of passes as `Driver` says."""
        taken: dict[int, AnyShare] = {}

        def may_begin(number: int) -> bool:
            share = take()
            if share is not None:
                taken[number] = share
            return share is not None

        for made in self._in_order(lambda number, crew: self._make_share(taken.pop(number), crew), 0, may_begin):
            self._add_work(made.work)
            yield made

    @property
    def room(self) -> int:
        """Returns how many passes are under way at once."""
        return self._room()

    def _make_share(self, share: AnyShare, crew: Crew) -> MadeShare:
        """Returns what is made of a pass, or of a part of it."""
        assert isinstance(share, Share)  # others are for drivers with photons
        if share.carried is not None:
            crew.await_before()  # what is under way goes on from something else
            self.take_up(share.index, share.carried)
        lookup = None if share.given is None else share.given.content
        site = PassSite(crew, part_of(self.pixels, share), lookup)
        image = self.trace_pass(share.index, site)
        carried = self.carries()
        crew.release_next()
        if share.index < FEATURE_PASSES and self._has_features:
            features = self._eye_job(site, self._eye_task(share.index), no_photons(), image=image)
            self._run_eye_loop(site, run_features, features, 1)
        site.give_back()
        values = within_crop(image, self.settings) if share.parts == 1 else image[site.pixels]
        return MadeShare(values, site.work, carried)

    @property
    def _has_features(self) -> bool:
        """Returns whether pictures have layers of what the eye meets first."""
        return LAYER_COLUMNS[self.settings.layers] > LAYER_BIAS + 1

    def trace_pass(self, index: int, site: PassSite) -> Radiance:
        """Returns the pixels of a pass, (height * width, columns) float64, row by row.

        site: where the pass is made; several passes are under way at once, so that nothing of one may be kept in the
        driver.
        """
        return self._trace_eye_paths(site, self._eye_task(index), no_photons())

    def counters(self) -> dict[str, Any]:
        """Returns what threads have spent so far."""
        return self._pool.counters()

    def watch(self, look: Callable[[Worker], None]) -> None:
        """Have `look` called whenever Python answers what a thread waits for, see `WorkerPool`."""
        self._pool.on_ask = look

    def logs(self) -> list[Log]:
        """Returns what each thread did when."""
        return self._pool.logs()

    def give_up(self) -> None:
        """Has the passes under way end early: who waits for one gets `Stopped`. It is called from any thread, and does
        nothing where no pass is under way."""
        self._pool.stop()

    def close(self) -> None:
        """Gives the ports back."""
        self._pool.close()

    def _eye_task(self, index: int, radius: float = 0.0) -> EyeTask:
        return EyeTask(
            seed=np.uint64(self.settings.seed),
            sequence=index,
            diffuse=self.diffuse,
            light_samples=self._light_samples(),
            radius=radius,
            sampler=SAMPLERS[self.settings.sampler],
            **{name: getattr(self.settings, name) for name in EYE_SETTINGS},
        )

    def _light_samples(self) -> int:
        """Returns the number of shadow rays for each hit."""
        return min(int(np.count_nonzero(self.scene.lamps.probability)), MAX_LIGHT_SAMPLES)

    def _shadow_slots(self) -> int:
        """Returns how many slots the shadow rays of a batch take."""
        return self._light_samples()

    def _in_order(self, task: Callable[[int, Crew], T], first: int, may_begin: Callable[[int], bool]) -> Generator[T]:
        return in_order(self._pool, task, first, may_begin, self._room)

    def _room(self) -> int:
        """Returns how many passes may be under way at once: as many as there are threads, if memory allows."""
        return self.under_way(self._pool.threads, self.bytes_of_pass())

    @classmethod
    def under_way(cls, threads: int, bytes_of_pass: int, processes: int = 1) -> int:
        """Returns how many passes may be under way at once, on so many threads, if each takes so much memory.

        processes: that share the memory.
        """
        return passes_under_way(threads, bytes_of_pass, processes) if cls.begin_early or not cls.is_sequential else 1

    @classmethod
    def bytes_for(cls, settings: RenderSettings, _stored: float = 0.0) -> int:
        """Returns about how much memory a pass takes, before there is any, if it stores so many photons for each that
        it sends out."""
        return IMAGES_OF_PASS * 8 * LAYER_COLUMNS[settings.layers] * settings.width * settings.height

    def bytes_of_pass(self) -> int:
        """Returns about how much memory a pass takes."""
        return self.bytes_for(self.settings)

    def _trace_eye_paths(self, site: PassSite, task: EyeTask, lookup: PhotonLookup) -> Radiance:
        job = self._eye_job(site, task, lookup)
        self.on_job(job)
        return self._run_eye_loop(site, run_eye_paths, job, self._eye_slots)

    def _eye_job(
        self,
        site: PassSite,
        task: EyeTask,
        lookup: PhotonLookup,
        *,
        reach: float = 0.0,
        image: Radiance | None = None,
    ) -> EyeJob:
        """Returns what a loop over eye paths is to do. image: to which it adds, or None for a black one."""
        shape = self.settings.height * self.settings.width, LAYER_COLUMNS[self.settings.layers]
        return EyeJob(
            scene=self.scene,
            lookup=lookup,
            task=task,
            camera=self.camera,
            size=(self.settings.width, self.settings.height),
            pixels=site.pixels,
            taken=np.zeros(1, np.int64),
            reach=reach,
            image=site.crew.zeros(shape) if image is None else image,
        )

    def _run_eye_loop(
        self, site: PassSite, run: Callable[[EyeJob, Port, EyeBatches], int], job: EyeJob, slots: int
    ) -> Radiance:
        """Runs a loop of `camera_paths.loops` on the workers of a pass, and returns the image.

        slots: how many slots of the ring a batch takes.
        """

        def make_loop(worker: Worker) -> Loop:
            batches = take_eye_batches(worker, site.crew, slots)
            counters.append(batches.counters)
            return lambda: run(job, worker.port, batches)

        counters: list[npt.NDArray[np.int64]] = []
        site.crew.run(make_loop)
        total = np.sum(counters, axis=0)
        site.work.rays.camera += int(total[CAMERA])
        site.work.rays.shadow += int(total[SHADOW])
        site.work.rays.bounce += int(total[BOUNCE])
        site.work.lookup_seconds += 1e-9 * int(total[LOOKUP_NANOSECONDS]) / self._pool.threads
        return job.image

    def _add_work(self, work: Work) -> None:
        """Counts what a pass took."""
        self._work.rays.add(work.rays)
        self._work.photons.add(work.photons)
        self._work.lookup_seconds += work.lookup_seconds
