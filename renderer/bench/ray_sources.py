"""Where the rays of a comparison come from: a plan, the run of a driver, or a file. All have `sets` and `origin`."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Protocol

from renderer.bench.ray_file import RayFile
from renderer.bench.ray_generators import RayPlan, RaySets, query_of
from renderer.bench.ray_recorder import driver_rays
from renderer.bench.view_points import ViewPoint
from renderer.bench.workload import NO_VIEW, RaySet
from renderer.drivers.driver import RenderSettings
from scenes.model import Snapshot
from tracecore.dispatch.tracer import Tracer

#: Kinds whose rays do not depend on the view point.
LIGHT_KINDS = ("photon", "photon-shuffled")


class RaySource(Protocol):
    """Rays to be had."""

    @property
    def origin(self) -> dict[str, Any]:
        """How they are made, for a file."""

    def sets(self, tracer: Tracer) -> Sequence[RaySet]:
        """Of the kinds asked for, without empty ones. The tracer finds what it takes to make them."""


@dataclass(frozen=True, kw_only=True)
class PlannedRays:
    """Rays of some of `ray_kinds.KINDS` from view points."""

    snapshot: Snapshot
    views: Sequence[ViewPoint]
    plan: RayPlan
    kinds: Sequence[str]

    @property
    def origin(self) -> dict[str, Any]:
        """The plan."""
        return {"plan": asdict(self.plan)}

    def sets(self, tracer: Tracer) -> list[RaySet]:
        """By kind, then by view point; those of light without one."""
        made = [(one.name, RaySets(replace(self.snapshot, camera=one.camera), tracer, self.plan)) for one in self.views]
        sets = [
            RaySet(
                kind=kind,
                query=query_of(kind),
                rays=of_view.of_kind(kind),
                view=NO_VIEW if kind in LIGHT_KINDS else name,
            )
            for kind in self.kinds
            for name, of_view in (made[:1] if kind in LIGHT_KINDS else made)
        ]
        return [one for one in sets if len(one.rays) > 0]


@dataclass(frozen=True, kw_only=True)
class DriverRays:
    """Rays of some of `ray_recorder.KINDS`, as a driver sends them. most: kept of each kind."""

    snapshot: Snapshot
    view: ViewPoint
    driver: str
    settings: RenderSettings
    most: int
    kinds: Sequence[str]

    @property
    def origin(self) -> dict[str, Any]:
        """The driver and its settings."""
        return {"driver": self.driver, "settings": asdict(self.settings), "most": self.most}

    def sets(self, tracer: Tracer) -> list[RaySet]:
        """In the order of the kinds."""
        sets = driver_rays(self.driver, self.snapshot, tracer, self.settings, self.most)
        return [
            one if one.view == NO_VIEW else replace(one, view=self.view.name) for one in sets if one.kind in self.kinds
        ]


@dataclass(frozen=True, kw_only=True)
class FileRays:
    """Rays of some kinds of a file."""

    file: RayFile
    kinds: Sequence[str]

    @property
    def origin(self) -> dict[str, Any]:
        """As the file says."""
        return self.file.origin

    def sets(self, _tracer: Tracer) -> list[RaySet]:
        """In the order of the file."""
        return [one for one in self.file.sets if one.kind in self.kinds]
