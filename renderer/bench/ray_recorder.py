"""This module records the rays that a driver hands to the co-processor in one pass, sorted by what they are for."""

import numpy as np
import numpy.typing as npt

from renderer.bench.workload import NO_VIEW, RaySet
from renderer.camera_paths.loops import EyeBatches
from renderer.drivers import DRIVERS
from renderer.drivers.driver import RenderSettings
from scenes.model import Snapshot
from tracecore.dispatch.direct import DirectTracer
from tracecore.dispatch.port import Asked, asked_of
from tracecore.dispatch.tracer import Tracer
from tracecore.rays import Floats, Query
from tracecore.workers.pool import Worker

#: Rays after so many hits of a path are of one kind with all deeper ones.
DEEPEST = 4

#: All kinds, in their order. shadow1 and bounce1 begin where camera rays end, shadow2 and bounce2 where bounce1 does.
DRIVER_KINDS = (
    "camera",
    *(f"{name}{k}{'+' if k == DEEPEST else ''}" for k in range(1, DEEPEST + 1) for name in ("shadow", "bounce")),
    "photon",
)


class PolledTracer(DirectTracer):
    """This is a tracer around another one, whose batches Python polls, so that one can look on. Closing it leaves the
    other open.
    """

    def __init__(self, tracer: Tracer) -> None:
        self.name, self.device, self.bvh, self.tree = tracer.name, tracer.device, tracer.bvh, tracer.tree
        super().__init__(threads=1)
        self._tracer = tracer

    def _trace(self, rays: Floats, hits: Floats, query: Query) -> int:
        hits[:] = self._tracer.closest_hit(rays) if query == Query.CLOSEST else self._tracer.any_hit(rays)
        return 0


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
            rays = asked.rays[are_valid(asked.rays)]
            if len(rays):
                self._samples.setdefault(kind_of(asked, worker.batches), Sample(self._most)).add(rays)

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


def kind_of(asked: Asked, batches: EyeBatches) -> str:
    """Returns which of DRIVER_KINDS a batch is.

    Photons' rays alone are endless; a batch of eye paths knows how many hits lie behind it.
    """
    if asked.is_endless:
        return "photon"
    hits = int(batches.bounce[asked.slot // batches.slots])
    if hits == 0 and not asked.is_any:
        return "camera"
    depth = min(max(hits, 1), DEEPEST)
    return f"{'shadow' if asked.is_any else 'bounce'}{depth}{'+' if depth == DEEPEST else ''}"


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
        running.watch(recorder.look)
        running.render_pass(0)
        running.close()
    return recorder.sets
