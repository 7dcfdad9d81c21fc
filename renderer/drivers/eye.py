"""What drivers share that follow camera paths: camera, workers, loops over eye paths, counts of rays."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import cached_property, partial, reduce
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar

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
from renderer.drivers.driver import (
    Carried,
    Driver,
    MadeShare,
    Radiance,
    RenderSettings,
    Work,
    image_bytes,
    pass_bytes,
    passes_under_way,
    summed,
    within_crop,
)
from renderer.drivers.pass_site import PassSite, cropped, pixels_by_tile
from renderer.film.layers import LAYER_BIAS, LAYER_COLUMNS, columns_of
from renderer.photons.lookup import PhotonLookup, no_photons
from renderer.scene.group_scenes import groups_of
from renderer.scene.packed_scene import PackedScene, pack_camera, pack_scene
from scenes.model import Snapshot
from shaders.float32 import Doubles, Longs
from tracecore.compilation.cached import load_all
from tracecore.dispatch.port import Port, are_ready, resume
from tracecore.dispatch.tracer import Tracer
from tracecore.kernels.choice import RayClass
from tracecore.workers.pool import Log, Loop, Worker, WorkerPool
from tracecore.workers.tasks import Team, in_order

if TYPE_CHECKING:
    from renderer.film.adaptive import SampledPixels
    from renderer.gpu.eye_waves import EyePass, EyePasses, EyeWaves

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")
U = TypeVar("U")


class ImageJob(Protocol):
    """Is what a loop over paths of the eye is to do. image: to which it adds."""

    @property
    def image(self) -> Doubles: ...


J = TypeVar("J", bound=ImageJob)

#: A loop over paths of the eye.
EyeLoop = Callable[[J, Port, EyeBatches], int]

#: Settings of what materials are taken to be (`renderer.scene.render_context.SceneView`).
MATERIAL_SETTINGS = ("mirrors", "ambient")

#: The machine code that all loops need.
LOOP_CODE = (resume, are_ready)

#: Rows of each thread's log, of which a batch takes two or three.
LOG_ROWS = 1 << 16


def count_rays(work: Work, counters: npt.NDArray[np.int64]) -> None:
    """Adds rays to the work. counters: of `renderer.camera_paths.loops`."""
    work.rays.camera += int(counters[CAMERA])
    work.rays.shadow += int(counters[SHADOW])
    work.rays.bounce += int(counters[BOUNCE])


def one_ahead(make: Callable[[U], T], items: Iterator[U]) -> Generator[T]:
    """Yields what is made of items, while a thread makes the next one."""
    with ThreadPoolExecutor(1) as thread:
        coming = deque(thread.submit(make, item) for item in islice(items, 1))
        while coming:
            made = coming.popleft().result()
            coming.extend(thread.submit(make, item) for item in islice(items, 1))
            yield made


def in_waves_too(trace_pass: F) -> F:
    """Says that waves on a GPU make the same pass (`EyeDriver.passes_in_waves`)."""
    trace_pass.is_in_waves = True  # type: ignore[attr-defined]
    return trace_pass


class EyeDriver(Driver):
    """Holds what all drivers share that follow paths from the eye: camera, pixels by tiles, loops, counts of rays.

    Beside the fields of `Driver` it says what its paths do with `diffuse` reflection, which loop follows them
    (`run_loop`), and how far rays `reach` that look about for the sky, world units.
    """

    takes: ClassVar[frozenset[str]] = frozenset({*EYE_SETTINGS, *MATERIAL_SETTINGS})
    layers: ClassVar[str] = "all"
    has_light_groups: ClassVar[bool] = True
    diffuse: ClassVar[int] = FOLLOW
    run_loop: ClassVar[Any] = staticmethod(run_eye_paths)
    reach: float = 0.0
    is_concurrent: ClassVar[bool] = True
    can_share: ClassVar[bool] = True
    has_log: ClassVar[bool] = True
    has_paths: ClassVar[bool] = True
    can_leave_out: ClassVar[bool] = True
    ray_class: ClassVar[RayClass | None] = RayClass.INCOHERENT
    code: ClassVar[tuple[Callable[..., Any], ...]] = (run_eye_paths, *LOOP_CODE)

    def __init__(self, snapshot: Snapshot, tracer: Tracer, settings: RenderSettings) -> None:
        super().__init__(snapshot, tracer, settings)
        self.scene: PackedScene = pack_scene(snapshot)
        if settings.light_groups:
            self.scene = self.scene._replace(groups=groups_of(snapshot, self.scene))
        if settings.shading == "cpu":
            self._get_ready()
        self.camera = pack_camera(snapshot.camera, settings.width, settings.height, settings.pixel_filter)
        self._eye_slots = 1 + self._shadow_slots()
        self._pool = WorkerPool(
            tracer, settings.threads, settings.batch_rays, self._eye_slots, LOG_ROWS if settings.is_logged else 0
        )
        #: Indices of the pixels that paths begin in, in the order in which they are visited.
        self.pixels = cropped(pixels_by_tile(settings.width, settings.height), settings)
        #: Which pixels passes sample, where a film has allotted them.
        self._sampled: SampledPixels | None = None
        #: Called with the job of each pass over eye paths before it begins, for whoever looks on.
        self.on_job: Callable[[EyeJob], None] = lambda job: None
        self._most_stored = 0
        self._waves: EyeWaves | None = None
        self._gpu_seconds = {"trace_seconds": 0.0, "shade_seconds": 0.0}

    def _get_ready(self) -> None:
        """Has the code of loops on the CPU be there."""
        make_eye_paths_ready(self.scene.bsdfs, self.diffuse, columns_of(self.settings))
        load_all(self.code)

    @classmethod
    def has_waves(cls) -> bool:
        """Returns whether waves on a GPU make the passes that threads make, see `in_waves_too`."""
        return getattr(cls.trace_pass, "is_in_waves", False)

    @cached_property
    def why_on_cpu(self) -> str | None:
        """Returns why the CPU shades what rays hit, in words, or None where a GPU does."""
        return self._why_on_cpu()

    def _why_on_cpu(self) -> str | None:
        if self.settings.shading == "cpu":
            return "as was asked for"
        if self.settings.is_logged:
            return "a timeline tells what threads of the CPU do"
        if self.settings.light_groups:
            return "only the CPU tells light groups apart"
        from renderer.gpu.waves import why_not

        reason = why_not(self.scene, self.tracer)
        if reason is None and not self.has_waves():
            return "the driver traces passes in a way of its own, which only the CPU does"
        return reason

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
        if carried and self.settings.adaptive:
            self._sample(carried)
        elif carried:
            self.take_up(first, carried)
        made = self._passes_on_gpu if self.why_on_cpu is None else partial(self.made_in_order, self._make_pass)
        yield from made(chain([first], indices))

    def _passes_on_gpu(self, indices: Iterator[int]) -> Generator[MadeShare]:
        """Yields passes that waves on a GPU make, several of them together, and the next ones while these are looked
        at, unless a pass needs those before it or threads, which share the GPU, add what the eye meets first."""
        waves = self._waves = self._waves or self._new_waves()
        if self._sampled is not None:
            waves.sample(self._sampled.pixels)
        together = 1 if self.is_sequential else waves.passes_together(adds_up=self.settings.adds_up)
        groups = iter(lambda: list(islice(indices, together)), [])
        is_alone = self.is_sequential or self._has_features
        traced = (self._traced(numbers) for numbers in groups) if is_alone else one_ahead(self._traced, groups)
        with closing(traced):
            for group in traced:
                yield from self._finished(*group)

    def _traced(self, numbers: list[int]) -> tuple[list[tuple[int, Work]], EyePasses]:
        """Returns some passes that waves have made: their numbers, what they took, and what came out."""
        assert self._waves is not None
        works = [(number, Work()) for number in numbers]
        passes = self.passes_in_waves(works)
        if self._sampled is not None:
            passes = [one._replace(left_out=self._sampled.left_out(one.number)) for one in passes]
        traced = self._waves.trace(passes)
        self.count_on_gpu(traced.seconds, traced.traced_seconds)
        return works, traced

    def _finished(self, works: list[tuple[int, Work]], traced: EyePasses) -> Iterator[MadeShare]:
        """Yields passes that waves have made: as one, where they may come added up."""
        is_whole = works[0][0] >= FEATURE_PASSES or not self._has_features
        may_add_up = self.settings.adds_up and is_whole and len(works) > 1
        if may_add_up and (sums := traced.sums()) is not None:
            for (_, work), counts in zip(works, traced.counters, strict=True):
                count_rays(work, counts)
                self._add_work(work)
            yield MadeShare(sums, reduce(summed, (work for _, work in works)), {}, len(works))
            return
        each = zip(works, traced.images, traced.found, traced.counters, strict=True)
        for (number, work), image, found, counts in each:
            count_rays(work, counts)
            self.take_found(found)
            if number < FEATURE_PASSES and self._has_features:
                made = self.by_workers(partial(self._with_features, number, image, work))
            else:
                made = MadeShare(within_crop(image.copy(), self.settings), work, self._carried())
            self._add_work(work)
            yield made

    def _new_waves(self) -> EyeWaves:
        from renderer.gpu.eye_waves import EyeWaves

        crop, slots = self.settings.crop or (0, 0, *self.settings.film_size), self._shadow_slots()
        return EyeWaves(self.tracer, self._job_of_waves(), slots, crop, self.gpu_bytes_of_pass())  # type: ignore[arg-type]

    def begin_to_compile(self) -> None:
        """Has code for a GPU compiled, where one shades, while something else is done."""
        if self.why_on_cpu is None:
            from renderer.gpu.eye_waves import begin_to_compile

            begin_to_compile(self.tracer, self._job_of_waves(), self._shadow_slots())  # type: ignore[arg-type]

    def _job_of_waves(self) -> EyeJob:
        task, lookup = self.task_of_waves()
        return self.eye_job(self.pixels, task, lookup, np.zeros((1, columns_of(self.settings))))

    def task_of_waves(self) -> tuple[EyeTask, PhotonLookup]:
        """Returns what passes on a GPU have in common: a task, and photons of the same kind as theirs."""
        return self.eye_task(0), no_photons()

    def gpu_bytes_of_pass(self) -> int:
        """Returns how much memory of a GPU a pass takes, beside its eye paths."""
        return 0

    def passes_in_waves(self, works: list[tuple[int, Work]]) -> list[EyePass]:
        """Returns what tells passes from each other whose waves are under way together. works: their numbers, and what
        counts what they take."""
        from renderer.gpu.eye_waves import EyePass, no_maps

        return [EyePass(number, 0.0, no_maps(), np.empty(0)) for number, _ in works]

    def take_found(self, found: Longs) -> None:
        """Learns from a pass on a GPU how many photons each pixel has found, where pixels have radii."""

    def count_on_gpu(self, seconds: float, traced_seconds: float) -> None:
        """Counts wall time of waves, in part of which they were traced."""
        self._gpu_seconds["trace_seconds"] += traced_seconds
        self._gpu_seconds["shade_seconds"] += seconds - traced_seconds

    def _with_features(self, index: int, image: Radiance, work: Work, team: Team) -> MadeShare:
        return self.finish_pass(index, PassSite(team, self.pixels, work=work), image.copy())

    def made_in_order(self, make: Callable[[U, Team], MadeShare], items: Iterator[U | None]) -> Generator[MadeShare]:
        """Yields what teams make of items, in their order, and counts the work of each.

        items: None stands for one that is not there yet; `look_again` says that it may be.
        """
        taken: dict[int, U] = {}

        def may_begin(number: int) -> bool | None:
            for item in items:
                if item is None:
                    return None
                taken[number] = item
                return True
            return False

        for made in in_order(self._pool, lambda i, team: make(taken.pop(i), team), 0, may_begin, lambda: self.room):
            self._add_work(made.work)
            yield made

    def look_again(self) -> None:
        """Has threads that have nothing to do look whether there is another item."""
        self._pool.look_again()

    def by_workers(self, make: Callable[[Team], T]) -> T:
        """Returns what a team of all workers makes."""
        with closing(in_order(self._pool, lambda _, team: make(team), 0, lambda i: i == 0, lambda: 1)) as made:
            return next(made)

    @property
    def room(self) -> int:
        """Returns how many passes are under way at once."""
        return passes_under_way(type(self), self._pool.threads, self.bytes_of_pass())

    def bytes_of_pass(self) -> int:
        """Returns about how much memory a pass takes, by the passes before it."""
        if self._most_stored == 0 or self.has_one_map:
            return pass_bytes(type(self), self.settings)
        return image_bytes(self.settings) + self.photon_bytes * self._most_stored

    def _sample(self, carried: Carried) -> None:
        """Has passes sample the pixels that a film has allotted."""
        from renderer.film.adaptive import SampledPixels

        self._sampled = SampledPixels.of(self.pixels, self.settings.width, carried)

    def _carried(self) -> Carried:
        """Returns what a pass carries on to the next one."""
        return self.carries() if self._sampled is None else self._sampled.carried

    def _make_pass(self, index: int, team: Team) -> MadeShare:
        site = PassSite(team, self.pixels if self._sampled is None else self._sampled.of_pass(index))
        return self.finish_pass(index, site, self.trace_pass(index, site))

    def finish_pass(self, index: int, site: PassSite, image: Radiance) -> MadeShare:
        """Returns a pass whose pixels are traced, or its crop, with what the next one needs, which goes on from now.
        Some passes add what the eye meets first."""
        carried = self._carried()
        site.team.release_next()
        if index < FEATURE_PASSES and self._has_features:
            features = self.eye_job(site.pixels, self.eye_task(index), no_photons(), image)
            self.run_eye_loop(site, run_features, features, 1)
        site.give_back()
        return MadeShare(within_crop(image, self.settings), site.work, carried)

    @property
    def _has_features(self) -> bool:
        """Returns whether pictures have layers of what the eye meets first."""
        return LAYER_COLUMNS[self.settings.layers] > LAYER_BIAS + 1

    @in_waves_too
    def trace_pass(self, index: int, site: PassSite) -> Radiance:
        """Returns the pixels of a pass, (height * width, columns) float64, row by row.

        site: where the pass is made; several passes are under way at once, so that nothing of one may be kept in the
        driver.
        """
        return self.trace_eye_paths(site, self.eye_task(index), no_photons())

    def counters(self) -> dict[str, Any]:
        """Returns what threads, and waves on a GPU, have spent so far."""
        counters = self._pool.counters()
        return counters | {name: counters[name] + seconds for name, seconds in self._gpu_seconds.items()}

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
        """Gives the ports back, and the memory of waves."""
        self._waves = None
        self._pool.close()

    def eye_task(self, index: int, radius: float = 0.0) -> EyeTask:
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

    def trace_eye_paths(self, site: PassSite, task: EyeTask, lookup: PhotonLookup) -> Radiance:
        shape = self.settings.height * self.settings.width, columns_of(self.settings)
        job = self.eye_job(site.pixels, task, lookup, site.team.zeros(shape))
        self.on_job(job)
        return self.run_eye_loop(site, self.run_loop, job, self._eye_slots)

    def eye_job(self, pixels: npt.NDArray[np.int32], task: EyeTask, lookup: PhotonLookup, image: Radiance) -> EyeJob:
        """Returns what a loop over eye paths is to do.

        pixels: (n,) int32, in which they begin.
        image: to which it adds.
        """
        return EyeJob(
            scene=self.scene,
            lookup=lookup,
            task=task,
            camera=self.camera,
            size=(self.settings.width, self.settings.height),
            pixels=pixels,
            taken=np.zeros(1, np.int64),
            reach=self.reach,
            image=image,
        )

    def run_eye_loop(self, site: PassSite, run: EyeLoop[J], job: J, slots: int) -> Radiance:
        """Runs a loop on the workers of a pass, and returns the image.

        slots: how many slots of the ring a batch takes.
        """

        def make_loop(worker: Worker) -> Loop:
            batches = take_eye_batches(worker, site.team, slots)
            counters.append(batches.counters)
            return lambda: run(job, worker.port, batches)

        counters: list[npt.NDArray[np.int64]] = []
        if self.settings.shading != "cpu":
            self._get_ready()
        site.team.run(make_loop)
        total = np.sum(counters, axis=0)
        count_rays(site.work, total)
        site.work.lookup_seconds += 1e-9 * int(total[LOOKUP_NANOSECONDS]) / self._pool.threads
        return job.image

    def _add_work(self, work: Work) -> None:
        """Counts what a pass took."""
        self._most_stored = max(self._most_stored, work.photons.stored)
        self._work.rays.add(work.rays)
        self._work.photons.add(work.photons)
        self._work.lookup_seconds += work.lookup_seconds
