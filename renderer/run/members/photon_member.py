"""This module shares the photons of a photon run out to a fleet: each member traces ranges of them."""

from __future__ import annotations

from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from renderer.fleet.fleet import Items, Opening
from renderer.photons.counts import PhotonCounts
from renderer.photons.ranges import PhotonRange, ranges_of
from renderer.photons.tracing import TracedPhotons, trace_photons
from renderer.plugins import loaded_files
from renderer.run.members.member_figures import TracerReport, member_figures
from renderer.run.statistics import ratio
from renderer.scene.packed_scene import pack_scene
from renderer.scene.render_context import context_of
from tracecore.workers.pool import WorkerPool

if TYPE_CHECKING:
    from renderer.drivers.driver import RenderSettings
    from renderer.fleet.fleet import Fleet
    from renderer.fleet.seats import Seat
    from renderer.photons.batch import PhotonTask
    from renderer.run.members.sent_tree import SentTree
    from renderer.run.photon_run.local_tracing import Counters
    from renderer.scene.render_context import TracerChoice
    from scenes.model import Snapshot
    from tracecore.rays import Floats
    from tracecore.workers.pool import Log


@dataclass(frozen=True, kw_only=True)
class PhotonsOrder:
    """Says what a member needs to trace photons.

    snapshot: the scene.
    settings: of the run.
    choice: of the tracer, but for device and threads.
    tree: of the scene.
    is_kept: whether photons come back, or their counts alone.
    """

    snapshot: Snapshot
    settings: RenderSettings
    choice: TracerChoice
    tree: SentTree | None
    is_kept: bool


class MadePhotons(NamedTuple):
    """Is a range of photons that were traced.

    spent: seconds, rays and bytes of it, by name.
    kernel_rays_per_second: of the member's tracer so far, see `TracerStatistics`.
    """

    traced: TracedPhotons
    spent: Counters
    kernel_rays_per_second: float


class PhotonMember:
    """Traces ranges of photons, one after the other."""

    window = 1

    def __init__(self, content: tuple[PhotonsOrder, PhotonTask], seat: Seat) -> None:
        order, self._task = content
        self._order = order
        choice = replace(order.choice, device=seat.device, threads=seat.threads)
        self._opened = ExitStack()
        tree = order.tree and order.tree.taken()
        self._context = self._opened.enter_context(context_of(order.snapshot, choice, load_seconds=0.0, tree=tree))
        self._scene = pack_scene(order.snapshot)
        pool = WorkerPool(self._context.tracer, seat.threads, order.settings.batch_rays)
        self._pool = self._opened.enter_context(closing(pool))

    def report(self) -> TracerReport:
        """Returns what traces here."""
        return TracerReport.of(self._context)

    def make(self, photons: PhotonRange) -> MadePhotons:
        """Returns the photons of a range."""
        before = self._counters()
        traced = trace_photons(self._scene, self._task, self._pool, photons.indices, photons.expected_rays)
        spent = {name: count - before[name] for name, count in self._counters().items()}
        if not self._order.is_kept:
            traced = traced._replace(stored=traced.stored[:0].copy())
        return MadePhotons(traced, spent, self._context.tracer.statistics().kernel_rays_per_second)

    def close(self) -> None:
        """Closes the pool and the tracer."""
        self._opened.close()

    def _counters(self) -> Counters:
        busy = self._context.tracer.statistics().busy_seconds
        pool = self._pool
        return {"seconds": pool.seconds, "rays": pool.rays, "busy_seconds": busy, **pool.counters()}


class SharedTracing:
    """Traces photons by a fleet, as `renderer.run.photon_run.local_tracing.Tracing` says.

    The seconds of a round are those of the slowest member; other seconds are the mean over the members.
    """

    shading = "cpu"

    def __init__(self, fleet: Fleet, order: PhotonsOrder, task: PhotonTask) -> None:
        self._fleet = fleet
        self.reports: list[TracerReport] = fleet.open(Opening(PhotonMember, (order, task), loaded_files()))
        self._spent: Counters = {"seconds": 0.0, "rays": 0, "busy_seconds": 0.0}
        self._rays: dict[str, int] = {}
        self._kernel_rates: dict[str, float] = {}

    def trace(self, photons: range, expected_rays: int = 0, *, is_kept: bool = True) -> TracedPhotons:
        """Returns the photons of a range."""
        ranges = ranges_of(photons, len(self.reports), expected_rays)
        with closing(self._fleet.results(Items(ranges))) as results:
            made = {}
            for each, name, one in results:
                made[each.first] = one
                self._rays[name] = self._rays.get(name, 0) + one.traced.rays
                self._kernel_rates[name] = one.kernel_rays_per_second
        self._add([one.spent for one in made.values()])
        parts = [made[each.first].traced for each in ranges]
        counts = PhotonCounts()
        for part in parts:
            counts.add(part.counts)
        return TracedPhotons(
            stored=np.concatenate([part.stored for part in parts]),
            counts=counts,
            rays=sum(part.rays for part in parts),
            order_seconds=max(part.order_seconds for part in parts),
        )

    def counters(self) -> Counters:
        """Returns what all rounds have spent."""
        return dict(self._spent)

    def logs(self) -> list[Log]:
        """Returns nothing: what the members' threads do is not told."""
        return []

    def sample_rays(self) -> Floats:
        """Returns no rays: the members' tracers are not measured alone."""
        return np.empty((0, 8), np.float32)

    @property
    def members(self) -> dict[str, Any]:
        """Returns what traces, and how each member has fared."""
        figures = member_figures(self.reports[0], self._fleet.shares, self._rays)
        return figures | {"coprocessor.kernel_rays_per_second": sum(self._kernel_rates.values())}

    def close(self) -> None:
        """Does nothing: the fleet is its owner's."""

    def _add(self, spent: list[Counters]) -> None:
        """Count what the members have spent on a round."""
        for name in spent[0]:
            values = [one[name] for one in spent]
            is_sum = not name.endswith("seconds")
            total = sum(values) if is_sum else max(values) if name == "seconds" else ratio(sum(values), len(values))
            self._spent[name] = self._spent.get(name, 0) + total
