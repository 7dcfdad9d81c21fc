"""This module traces the photons of a run in this process, and says what whoever else traces them has to have."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol

from renderer.photons.tracing import TracedPhotons, trace_photons
from tracecore.errors import TraceError
from tracecore.workers.pool import Log, WorkerPool

if TYPE_CHECKING:
    from renderer.drivers.driver import RenderSettings
    from renderer.photons.batch import PhotonTask
    from renderer.run.containment import Containment
    from renderer.scene.packed_scene import PackedScene
    from tracecore.rays import Floats

#: Rows of each thread's log, of which a batch takes two or three.
LOG_ROWS = 1 << 15

#: Seconds, rays and bytes by name.
Counters = dict[str, Any]


class Tracing(Protocol):
    """Traces the photons of a run.

    shading: where hits are shaded, "cpu" or "gpu".
    """

    shading: str

    def trace(self, photons: range, expected_rays: int = 0, *, is_kept: bool = True) -> TracedPhotons:
        """Returns the photons of a range, as `trace_photons` does. is_kept: whether more is wanted than to count
        them."""

    def counters(self) -> Counters:
        """Returns what has to be looked at before and after what is timed."""

    def logs(self) -> list[Log]:
        """Returns what each thread did when."""

    def sample_rays(self) -> Floats:
        """Returns (n, 8) float32, rays such as photons have."""

    @property
    def members(self) -> dict[str, Any]:
        """Returns what the statistics say of the processes that trace, where these are others."""

    def close(self) -> None:
        """Gives back what is held."""


class LocalTracing:
    """Traces photons on a tracer, and where that fails on another one; see `Tracing`.

    task: of all photons.
    containment: has the tracer.
    """

    shading = "cpu"

    def __init__(
        self, scene: PackedScene, task: PhotonTask, settings: RenderSettings, containment: Containment
    ) -> None:
        self._scene, self._task, self._settings = scene, task, settings
        self._containment = containment
        self._spent: Counters = {}
        self._logs: list[Log] = []
        self.pool = self._new_pool()

    def trace(self, photons: range, expected_rays: int = 0, *, is_kept: bool = True) -> TracedPhotons:
        """Returns the photons of a range, as `Tracing` says."""
        while True:
            try:
                return trace_photons(self._scene, self._task, self.pool, photons, expected_rays)
            except TraceError as error:
                self._spent, self._logs = self.counters(), self.logs()
                with suppress(TraceError):
                    self.pool.close()
                self._containment.recover(error, photons.start)
                self.pool = self._new_pool()

    def counters(self) -> Counters:
        """Returns what has to be looked at before and after what is timed, of all tracers together."""
        busy = self._containment.context.tracer.statistics().busy_seconds
        now = {"seconds": self.pool.seconds, "rays": self.pool.rays, "busy_seconds": busy, **self.pool.counters()}
        return {name: count + self._spent.get(name, 0) for name, count in now.items()}

    def logs(self) -> list[Log]:
        """Returns what the threads of all tracers did when."""
        return [*self._logs, *self.pool.logs()]

    def sample_rays(self) -> Floats:
        """Returns rays that are left of the last round."""
        return self.pool.sample_rays()

    @property
    def members(self) -> dict[str, Any]:
        """Returns nothing: this process traces."""
        return {}

    def close(self) -> None:
        """Closes the pool."""
        self.pool.close()

    def _new_pool(self) -> WorkerPool:
        tracer = self._containment.context.tracer
        return WorkerPool(tracer, self._settings.threads, self._settings.batch_rays, log_rows=LOG_ROWS)
