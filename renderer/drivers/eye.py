"""This module holds what all drivers share: camera, pixels by tiles, loops over eye paths, counts of rays."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from enum import Enum
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from renderer.camera_paths.features import FEATURE_PASSES, run_features
from renderer.camera_paths.lighting import MAX_LIGHT_SAMPLES
from renderer.camera_paths.loops import BOUNCE, CAMERA, SHADOW, EyeBatches, run_eye_paths, take_eye_batches
from renderer.camera_paths.paths import EyeJob
from renderer.camera_paths.task import FOLLOW, SAMPLERS, EyeTask
from renderer.drivers.driver import Radiance, RenderSettings, Work
from renderer.film.layers import LAYER_BIAS, LAYER_COLUMNS
from renderer.photons.lookup import PhotonLookup, no_photons
from renderer.scene.packed_scene import PackedScene, pack_camera, pack_scene
from scenes.model import Snapshot
from tracecore.dispatch.port import Port
from tracecore.dispatch.tracer import Tracer
from tracecore.workers.pool import Loop, Worker, WorkerPool

#: Edge of the squares in which pixels are visited, so that neighbouring rays are traced together.
TILE = 8


class Caustics(Enum):
    """Says of which lights a driver sees what comes through mirrors and glass to a diffuse surface."""

    NONE = "none"
    OF_LIGHTS_WITH_SIZE = "of lights with size"
    ALL = "all"


def pixels_by_tile(width: int, height: int) -> npt.NDArray[np.int32]:
    """Returns the indices of the pixels, (width * height,) int32, row * width + column, tile after tile."""
    columns, rows = -(-width // TILE), -(-height // TILE)
    row, column = np.ogrid[: rows * TILE, : columns * TILE]
    index = np.where((row < height) & (column < width), row * width + column, -1)
    by_tile = index.reshape(rows, TILE, columns, TILE).transpose(0, 2, 1, 3).ravel()
    return by_tile[by_tile >= 0].astype(np.int32)


class EyeDriver:
    """Holds what all drivers share: camera, pixels by tiles, loops over eye paths, counts of rays.

    A driver describes itself by fields of its class: its `name`; a `summary` of one line for the help; which of
    `settings.picture.DRIVER_SETTINGS` it `takes`; the `curve` by which its pictures are shown where the user names
    none; what its paths do with `diffuse` reflection; and which `caustics` it sees.
    """

    name: ClassVar[str]
    summary: ClassVar[str] = ""
    takes: ClassVar[frozenset[str]] = frozenset({"max_bounces"})
    curve: ClassVar[str] = "reinhard"
    diffuse: ClassVar[int] = FOLLOW
    caustics: ClassVar[Caustics]

    def __init__(self, snapshot: Snapshot, tracer: Tracer, settings: RenderSettings) -> None:
        self.settings = settings
        self.tracer = tracer
        self.scene: PackedScene = pack_scene(snapshot)
        self.camera = pack_camera(snapshot.camera, settings.width, settings.height, settings.pixel_filter)
        self.work = Work()
        self._eye_slots = 1 + self._light_samples()
        self._pool = WorkerPool(tracer, settings.threads, settings.batch_rays, self._eye_slots)
        self._tiles = pixels_by_tile(settings.width, settings.height)

    def render_pass(self, index: int) -> Radiance:
        """Returns pass `index` (0-based): (height, width, columns) float64, as `Driver` says."""
        with self._at_work():
            image = self.trace_pass(index)
            if index < FEATURE_PASSES and LAYER_COLUMNS[self.settings.layers] > LAYER_BIAS + 1:
                features = self._eye_job(self._eye_task(index), no_photons())._replace(image=image)
                self._run_eye_loop(run_features, features, 1)
        return image.reshape(self.settings.height, self.settings.width, -1)

    def trace_pass(self, index: int) -> Radiance:
        """Returns the pixels of a pass, (height * width, columns) float64, row by row."""
        return self._trace_eye_paths(self._eye_task(index), no_photons())

    def watch(self, look: Callable[[Worker], None]) -> None:
        """Have `look` called whenever Python answers what a thread waits for, see `WorkerPool`."""
        self._pool.on_ask = look

    def close(self) -> None:
        """Gives the ports back."""
        self._pool.close()

    def _eye_task(self, index: int, radius: float = 0.0) -> EyeTask:
        return EyeTask(
            seed=np.uint64(self.settings.seed),
            sequence=index,
            diffuse=self.diffuse,
            max_bounces=self.settings.max_bounces,
            light_samples=self._light_samples(),
            radius=radius,
            sampler=SAMPLERS[self.settings.sampler],
        )

    def _light_samples(self) -> int:
        """Returns the number of shadow rays for each hit."""
        return min(int(np.count_nonzero(self.scene.lights.probability)), MAX_LIGHT_SAMPLES)

    def _trace_eye_paths(self, task: EyeTask, lookup: PhotonLookup) -> Radiance:
        return self._run_eye_loop(run_eye_paths, self._eye_job(task, lookup), self._eye_slots)

    def _eye_job(self, task: EyeTask, lookup: PhotonLookup, reach: float = 0.0) -> EyeJob:
        return EyeJob(
            scene=self.scene,
            lookup=lookup,
            task=task,
            camera=self.camera,
            size=(self.settings.width, self.settings.height),
            pixels=self._tiles,
            taken=np.zeros(1, np.int64),
            reach=reach,
            image=np.zeros((self.settings.height * self.settings.width, LAYER_COLUMNS[self.settings.layers])),
        )

    def _run_eye_loop(self, run: Callable[[EyeJob, Port, EyeBatches], int], job: EyeJob, slots: int) -> Radiance:
        """Runs a loop of `camera_paths.loops` on all threads, and returns the image.

        slots: how many slots of the ring a batch takes.
        """

        def make_loop(worker: Worker) -> Loop:
            batches = take_eye_batches(worker, self._pool, slots)
            batches.rays[:] = 0
            traced.append(batches.rays)
            return lambda: run(job, worker.port, batches)

        traced: list[npt.NDArray[np.int64]] = []
        self._pool.run(make_loop)
        total = np.sum(traced, axis=0)
        self.work.rays.camera += int(total[CAMERA])
        self.work.rays.shadow += int(total[SHADOW])
        self.work.rays.bounce += int(total[BOUNCE])
        return job.image

    @contextmanager
    def _at_work(self) -> Iterator[None]:
        """Adds to `work` what is done within the block."""
        try:
            yield
        finally:
            self.work = replace(self.work, **self._pool.counters())
