"""This module traces and shades the photons of a run on the GPU, and where that fails as `local_tracing` does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from renderer.errors import UsageError
from renderer.photons.counts import PhotonCounts
from renderer.photons.store import PHOTON_RAYS
from renderer.photons.tracing import TracedPhotons
from renderer.run.photon_run.local_tracing import Counters, LocalTracing, Tracing
from tracecore.errors import TraceError
from tracecore.workers.pool import COUNTER_NAMES, Log

if TYPE_CHECKING:
    from renderer.drivers.driver import RenderSettings
    from renderer.photons.batch import PhotonTask
    from renderer.run.containment import Containment
    from renderer.scene.packed_scene import PackedScene
    from tracecore.rays import Floats


class GpuTracing:
    """Traces photons in waves on the GPU of a tracer; see `Tracing`.

    task: of all photons.
    containment: has the tracer.
    """

    shading = "gpu"

    def __init__(
        self, scene: PackedScene, task: PhotonTask, settings: RenderSettings, containment: Containment
    ) -> None:
        from renderer.gpu.photon_waves import PhotonWaves

        self._scene, self._task, self._settings, self._containment = scene, task, settings, containment
        self._waves = PhotonWaves(containment.context.tracer, scene, task)  # type: ignore[arg-type]
        self._spent: Counters = {"seconds": 0.0, "rays": 0, "busy_seconds": 0.0, **dict.fromkeys(COUNTER_NAMES, 0)}
        self._instead: LocalTracing | None = None

    def trace(self, photons: range, expected_rays: int = 0, *, is_kept: bool = True) -> TracedPhotons:
        """Returns the photons of a range, as `Tracing` says."""
        if self._instead is not None:
            return self._instead.trace(photons, expected_rays)
        try:
            stored = self._waves.trace(photons, is_kept=is_kept)
        except TraceError as error:
            self._containment.recover(error, photons.start)
            self._instead = LocalTracing(self._scene, self._task, self._settings, self._containment)
            self.shading = self._instead.shading
            return self._instead.trace(photons, expected_rays)
        rays = int(stored.counters[PHOTON_RAYS])
        traced = stored.seconds - stored.shade_seconds
        spent = {"seconds": stored.seconds, "rays": rays, "busy_seconds": traced, "trace_seconds": traced}
        for name, count in (spent | {"shade_seconds": stored.shade_seconds}).items():
            self._spent[name] += count
        counts = PhotonCounts(*stored.counters[:PHOTON_RAYS].tolist())
        return TracedPhotons(stored.ordered, counts, rays, stored.order_seconds)

    def counters(self) -> Counters:
        """Returns what has to be looked at before and after what is timed."""
        more = {} if self._instead is None else self._instead.counters()
        return {name: count + more.get(name, 0) for name, count in self._spent.items()}

    def logs(self) -> list[Log]:
        """Returns what the CPU's threads did when: nothing as long as the GPU shades."""
        return [] if self._instead is None else self._instead.logs()

    def sample_rays(self) -> Floats:
        """Returns rays such as photons have."""
        return self._waves.sample_rays() if self._instead is None else self._instead.sample_rays()

    @property
    def members(self) -> dict[str, Any]:
        """Returns nothing: this process traces."""
        return {}

    def close(self) -> None:
        """Closes what stands in."""
        if self._instead is not None:
            self._instead.close()


def tracing_of(scene: PackedScene, task: PhotonTask, settings: RenderSettings, containment: Containment) -> Tracing:
    """Returns who traces and shades the photons of a scene in this process, as the settings say.

    Raises `UsageError` where they are to be shaded on a GPU, and cannot.
    """
    if settings.shading != "cpu":
        from renderer.gpu.photon_waves import why_not

        reason = why_not(scene, containment.context.tracer)
        if reason is None:
            return GpuTracing(scene, task, settings, containment)
        if settings.shading == "gpu":
            raise UsageError(f"--shading gpu: {reason}")
    return LocalTracing(scene, task, settings, containment)
