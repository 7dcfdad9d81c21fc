"""This module records the rays that a driver hands to the co-processor in one pass, sorted by what they are for."""

import numpy as np
import numpy.typing as npt

from renderer.bench.workload import NO_VIEW, RaySet
from renderer.camera_paths.loops import EyeBatches
from renderer.camera_paths.paths import DEPTH_MASK, EYE_STATE
from renderer.drivers import DRIVERS
from renderer.drivers.driver import RenderSettings
from renderer.drivers.eye import EyeDriver
from scenes.model import Snapshot
from tracecore.dispatch.port import Asked, asked_of
from tracecore.dispatch.tracer import Tracer
from tracecore.rays import Floats, Query
from tracecore.tracers.polled import PolledTracer
from tracecore.workers.pool import Worker

#: Rays after so many hits of a path are of one kind with all deeper ones.
DEEPEST = 4

#: Names of rays by whether any hit is asked for, and by how many hits lie behind them.
KIND_NAMES = np.array(
    [
        ["camera" if k == 0 else f"{name}{k}{'+' if k == DEEPEST else ''}" for k in range(DEEPEST + 1)]
        for name in ("bounce", "shadow")
    ]
)

#: All kinds, in their order. shadow1 and bounce1 begin where camera rays end, shadow2 and bounce2 where bounce1 does.
DRIVER_KINDS = ("camera", *KIND_NAMES[::-1, 1:].T.ravel().tolist(), "photon")


class Sample:
    """Keeps whole batches from all of a run, as they came: each k-th one, with k such that they have at most `most`
    rays.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._batches: list[Floats] = []
        self._step = 1
        self._seen = 0

    def add(self, rays: Floats) -> None:
        """Takes the next batch."""
        if self._seen % self._step == 0:
            self._batches.append(rays)
        self._seen += 1
        while len(self._batches) > 1 and sum(map(len, self._batches)) > self._most:
            self._batches = self._batches[::2]
            self._step *= 2

    @property
    def rays(self) -> Floats:
        """Returns the rays that are kept, (n, 8) float32."""
        return np.concatenate(self._batches)[: self._most]


class Recorder:
    """Records the batches of a driver's threads.

    most: rays kept of each kind.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._samples: dict[str, Sample] = {}

    def look(self, worker: Worker) -> None:
        """Keeps what a thread waits for. Rays that no tracer traces, since they are no numbers, are left out."""
        for asked in asked_of(worker.port):
            valid, kinds = are_valid(asked.rays), kinds_of(asked, worker.batches)
            for kind in np.unique(kinds[valid]).tolist():
                self._samples.setdefault(kind, Sample(self._most)).add(asked.rays[valid & (kinds == kind)])

    @property
    def sets(self) -> list[RaySet]:
        """Returns all that was kept."""
        return [
            RaySet(
                kind=kind,
                query=Query.ANY if kind.startswith("shadow") else Query.CLOSEST,
                rays=sample.rays,
                view=NO_VIEW if kind == "photon" else "camera",
            )
            for kind in DRIVER_KINDS
            if (sample := self._samples.get(kind))
        ]


def kinds_of(asked: Asked, batches: EyeBatches) -> npt.NDArray[np.str_]:
    """Returns which of DRIVER_KINDS each ray of a batch is, (n,).

    Photons' rays alone are endless; paths from the eye know how many hits lie behind them.
    """
    if asked.is_endless:
        return np.full(len(asked.rays), "photon")
    index, slot = divmod(asked.slot, batches.slots)
    states = batches.shadow_paths[index, slot - 1, 1] if slot else batches.paths[index, EYE_STATE]
    is_shadow = slot > 0 or asked.is_any  # where there are sheets, shadow rays ask for the nearest of them
    hits = np.minimum((states[: len(asked.rays)] & DEPTH_MASK) + (1 if is_shadow else 0), DEEPEST)
    return KIND_NAMES[int(is_shadow), hits]


def are_valid(rays: Floats) -> npt.NDArray[np.bool_]:
    """Returns, for each of (n, 8) rays, whether all is finite but `t_max`, which may be infinite, and there is a
    direction.
    """
    is_number = np.isfinite(rays[:, :7]).all(axis=1) & ~np.isnan(rays[:, 7])
    valid: npt.NDArray[np.bool_] = is_number & rays[:, 4:7].any(axis=1)
    return valid


def driver_rays(driver: str, snapshot: Snapshot, tracer: Tracer, settings: RenderSettings, most: int) -> list[RaySet]:
    """Returns the rays of the first pass of a driver of `DRIVERS`, as one thread sends them.

    most: rays kept of each kind.
    """
    recorder = Recorder(most)
    with PolledTracer(tracer) as polled:
        running = DRIVERS[driver](snapshot, polled, settings)
        if isinstance(running, EyeDriver):
            running.watch(recorder.look)
        running.render_pass(0)
        running.close()
    return recorder.sets
