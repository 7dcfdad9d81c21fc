"""The drivers: ways to make a picture, each one class that is handed a scene and a tracer.

`DRIVERS` lists them by name. A new driver is one class and one row there.
"""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from renderer.driver import Radiance, RenderSettings, Work
from renderer.eye_loops import BOUNCE, CAMERA, SHADOW, EyeJob, EyeLanes, run_eye_paths, run_occlusion, take_eye_lanes
from renderer.eye_paths import EVERYTHING, FOLLOW, INDIRECT, MAX_LIGHT_SAMPLES, EyeTask
from renderer.eye_samples import SAMPLERS
from renderer.feeding import Feeder, Loop, Worker
from renderer.packed_scene import CameraArrays, PackedScene, pack_camera, pack_scene
from renderer.photon_batch import PhotonTask
from renderer.photon_map import WORDS, PhotonMap, Words, build_photon_map, save_photons
from renderer.photon_tracing import trace_photons
from scenes.model import Snapshot
from tracecore.port import Port
from tracecore.rays import Floats, make_rays
from tracecore.tracer import Tracer

#: Edge of the squares in which pixels are visited, so that neighbouring rays are traced together.
TILE = 8

#: Share of alpha in the shrinking of the gather radius; Knaus, Zwicker: Progressive Photon Mapping: A Probabilistic
#: Approach, 2011, with alpha = 2/3.
SHRINK_ALPHA = 2.0 / 3.0

#: The first gather radius in footprints of a pixel ...
RADIUS_FOOTPRINTS = 2.0
#: ... or, where that is more, so wide that its disc gets this many of a pass's photons if they spread evenly.
RADIUS_PHOTONS = 2.0

#: Ambient occlusion reaches this share of the scene's diagonal.
OCCLUSION_REACH = 0.2


def pixels_by_tile(width: int, height: int) -> npt.NDArray[np.int32]:
    """(width * height,) indices row * width + column, tile after tile."""
    columns, rows = -(-width // TILE), -(-height // TILE)
    row, column = np.ogrid[: rows * TILE, : columns * TILE]
    index = np.where((row < height) & (column < width), row * width + column, -1)
    by_tile = index.reshape(rows, TILE, columns, TILE).transpose(0, 2, 1, 3).ravel()
    return by_tile[by_tile >= 0].astype(np.int32)


def pass_radius(first_radius: float, index: int) -> float:
    """Gather radius of pass `index`: r^2 shrinks by (i + alpha) / (i + 1) from pass i to the next."""
    i = np.arange(index, dtype=np.float64)
    return first_radius * float(np.sqrt(np.prod((i + SHRINK_ALPHA) / (i + 1.0))))


class EyeDriver:
    """What all drivers share: camera, pixels by tiles, loops over eye paths, counts of rays."""

    name: ClassVar[str]
    diffuse: ClassVar[int] = FOLLOW

    def __init__(self, snapshot: Snapshot, tracer: Tracer, settings: RenderSettings) -> None:
        self.settings = settings
        self.tracer = tracer
        self.scene: PackedScene = pack_scene(snapshot)
        self.camera = pack_camera(snapshot.camera, settings.width, settings.height, settings.pixel_filter)
        self.work = Work()
        self._eye_slots = 1 + self._light_samples()
        self._feeder = Feeder(tracer, settings.threads, settings.batch_rays, self._eye_slots)
        self._tiles = pixels_by_tile(settings.width, settings.height)

    def render_pass(self, index: int) -> Radiance:
        """Pass `index` (0-based): (height, width, 3) float64 linear radiance, first row at the top."""
        with self._at_work():
            image = self.trace_pass(index)
        return image.reshape(self.settings.height, self.settings.width, 3)

    def trace_pass(self, index: int) -> Radiance:
        """The pixels of a pass, (height * width, 3), row by row."""
        return self._trace_eye_paths(self._eye_task(index), _no_photons())

    def close(self) -> None:
        """Give the ports back."""
        self._feeder.close()

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
        """Shadow rays for each hit."""
        return min(int(np.count_nonzero(self.scene.lights.probability)), MAX_LIGHT_SAMPLES)

    def _trace_eye_paths(self, task: EyeTask, photon_map: PhotonMap) -> Radiance:
        return self._run_eye_loop(run_eye_paths, self._eye_job(task, photon_map), self._eye_slots)

    def _eye_job(self, task: EyeTask, photon_map: PhotonMap, reach: float = 0.0) -> EyeJob:
        return EyeJob(
            scene=self.scene,
            photon_map=photon_map,
            task=task,
            camera=self.camera,
            size=(self.settings.width, self.settings.height),
            pixels=self._tiles,
            taken=np.zeros(1, np.int64),
            reach=reach,
            image=np.zeros((self.settings.height * self.settings.width, 3)),
        )

    def _run_eye_loop(self, run: Callable[[EyeJob, Port, EyeLanes], int], job: EyeJob, slots: int) -> Radiance:
        """Run a loop of `eye_loops` on all threads. slots: of a lane."""

        def make_loop(worker: Worker) -> Loop:
            lanes = take_eye_lanes(worker, self._feeder, slots)
            lanes.rays[:] = 0
            traced.append(lanes.rays)
            return lambda: run(job, worker.port, lanes)

        traced: list[npt.NDArray[np.int64]] = []
        self._feeder.run(make_loop)
        total = np.sum(traced, axis=0)
        self.work.rays.camera += int(total[CAMERA])
        self.work.rays.shadow += int(total[SHADOW])
        self.work.rays.bounce += int(total[BOUNCE])
        return job.image

    @contextmanager
    def _at_work(self) -> Iterator[None]:
        """Account for what is done within."""
        try:
            yield
        finally:
            self.work = replace(self.work, **self._feeder.tallies())


class PathDriver(EyeDriver):
    """Path tracing with light sampled at every hit and multiple importance sampling: the judge of the others.

    Light that reaches a diffuse surface from a point light by way of glass or a mirror is beyond it.
    """

    name = "path"
    diffuse = FOLLOW


class PhotonDriver(EyeDriver):
    """Progressive photon mapping in independent passes.

    Knaus, Zwicker: Progressive Photon Mapping: A Probabilistic Approach, 2011. Each pass traces photons of its own,
    keeps those that land on diffuse surfaces after a bounce, and looks at them along one eye path per pixel, with a
    radius that shrinks from pass to pass. The mean over the passes converges, and memory does not grow.
    """

    name = "photon"
    diffuse = INDIRECT

    def __init__(self, snapshot: Snapshot, tracer: Tracer, settings: RenderSettings) -> None:
        super().__init__(snapshot, tracer, settings)
        self.first_radius = settings.radius or max(
            footprint_radius(tracer, self.camera, settings.height),
            photon_radius(surface_area(snapshot.positions), settings.photons),
        )
        self.settings = replace(settings, radius=self.first_radius)

    def trace_pass(self, index: int) -> Radiance:
        """The pixels of a pass, with photons of its own."""
        radius = pass_radius(self.first_radius, index)
        photons, scale = self._trace_photons(index)
        return self._trace_eye_paths(self._eye_task(index, radius), build_photon_map(photons, radius, scale))

    def _trace_photons(self, index: int) -> tuple[Words, float]:
        """Photons of a pass, and the watts of a stored flux of 1."""
        task = photon_task(self.scene, self.settings, index, min_bounces=0 if self.diffuse == EVERYTHING else 1)
        if self.scene.lights.power <= 0.0:
            return np.empty((0, WORDS), np.uint32), 0.0
        photons = trace_photons(self.scene, task, self._feeder, range(self.settings.photons))
        self.work.photons.add(photons.counts)
        self.work.rays.photon += photons.rays
        self.work.order_seconds += photons.order_seconds
        return photons.stored, task.flux_unit / self.settings.photons


class PhotonsOnlyDriver(PhotonDriver):
    """One photon map shown as it is, the direct light with it, at a radius that stays.

    The map is traced once; the passes only spread the eye paths over the pixels.
    """

    name = "photons-only"
    diffuse = EVERYTHING

    def __init__(self, snapshot: Snapshot, tracer: Tracer, settings: RenderSettings) -> None:
        super().__init__(snapshot, tracer, settings)
        with self._at_work():
            self.photons, self.photon_scale = self._trace_photons(0)
            self._map = build_photon_map(self.photons, self.first_radius, self.photon_scale)

    def trace_pass(self, index: int) -> Radiance:
        """The pixels of a pass, from the one map."""
        return self._trace_eye_paths(self._eye_task(index, self.first_radius), self._map)

    def save_photons(self, path: Path) -> None:
        """Keep the map in a file; `renderer.photon_map.load_photons` reads it."""
        save_photons(path, self.photons, self.photon_scale)

    def _light_samples(self) -> int:
        """The map has all light."""
        return 0


class OcclusionDriver(EyeDriver):
    """Ambient occlusion: how much of the hemisphere over a point is free up to a fifth of the scene's diagonal."""

    name = "ao"

    def __init__(self, snapshot: Snapshot, tracer: Tracer, settings: RenderSettings) -> None:
        super().__init__(snapshot, tracer, settings)
        corners = snapshot.positions.reshape(-1, 3).astype(np.float64)
        extent = np.ptp(corners, axis=0) if len(corners) else np.zeros(3)
        self._reach = OCCLUSION_REACH * float(np.linalg.norm(extent))

    def trace_pass(self, index: int) -> Radiance:
        """The pixels of a pass: the unoccluded share in all three channels."""
        job = self._eye_job(self._eye_task(index), _no_photons(), self._reach)
        return self._run_eye_loop(run_occlusion, job, 1)


def photon_task(scene: PackedScene, settings: RenderSettings, index: int, min_bounces: int) -> PhotonTask:
    """The photons of pass `index`. Stored flux is in units of the strongest photon that a light emits."""
    return PhotonTask(
        seed=np.uint64(settings.seed),
        sequence=index,
        min_bounces=min_bounces,
        max_bounces=settings.max_bounces,
        flux_unit=scene.lights.strongest_flux or 1.0,
    )


def surface_area(positions: Floats) -> float:
    """Area of all triangles (n, 3, 3)."""
    corners = positions.astype(np.float64)
    doubled = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    return 0.5 * float(np.linalg.norm(doubled, axis=1).sum())


def photon_radius(area: float, photons: int) -> float:
    """Radius of a disc that gets RADIUS_PHOTONS of so many photons, spread evenly over an area."""
    return math.sqrt(RADIUS_PHOTONS * area / (math.pi * photons))


def footprint_radius(tracer: Tracer, camera: CameraArrays, height: int) -> float:
    """Two footprints of a pixel in world units, with perspective at the median distance of what the camera sees."""
    depth = 1.0 if camera.is_parallel else median_depth(tracer, camera)
    return RADIUS_FOOTPRINTS * depth * 2.0 * float(np.linalg.norm(camera.down)) / height


def median_depth(tracer: Tracer, camera: CameraArrays) -> float:
    """Along the view, of what a camera with perspective sees; 1 where it sees nothing."""
    x, y = np.meshgrid(np.linspace(-0.97, 0.97, 64), np.linspace(-0.97, 0.97, 48))
    across, along = x.reshape(-1, 1), y.reshape(-1, 1)
    directions = camera.forward + across * camera.right + along * camera.down
    t = tracer.closest_hit(make_rays(np.broadcast_to(camera.eye, directions.shape), directions, camera.near))[:, 0]
    seen = t[np.isfinite(t)]
    # The directions have length 1 along the view, so t is depth.
    return float(np.median(seen)) if len(seen) else 1.0


def _no_photons() -> PhotonMap:
    return build_photon_map(np.empty((0, WORDS), np.uint32), radius=1.0, scale=0.0)


DRIVERS: dict[str, type[EyeDriver]] = {
    driver.name: driver for driver in (PhotonDriver, PathDriver, OcclusionDriver, PhotonsOnlyDriver)
}
