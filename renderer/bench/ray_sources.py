"""The rays of a comparison come from a plan, the run of a driver, or a file. Each source has `origin`, how its rays are
made, for a file, and `sets`, those of the kinds asked for, without empty ones; a tracer finds the hits that it takes.
"""

import argparse
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Self

from renderer.bench.ray_file import RayFile
from renderer.bench.ray_generators import RayPlan, RaySets, query_of
from renderer.bench.ray_recorder import driver_rays
from renderer.bench.view_points import ViewPoint, chosen_views
from renderer.bench.workload import NO_VIEW, RaySet
from renderer.drivers.driver import RenderSettings
from scenes.model import Snapshot
from tracecore.dispatch.tracer import Tracer

#: Kinds whose rays do not depend on the view point.
LIGHT_KINDS = ("photon", "photon-shuffled")


@dataclass(frozen=True, kw_only=True)
class PlannedRays:
    """These are the rays of some of `ray_generators.KINDS` from view points."""

    snapshot: Snapshot
    views: Sequence[ViewPoint]
    plan: RayPlan
    kinds: Sequence[str]

    @classmethod
    def chosen(cls, arguments: argparse.Namespace, snapshot: Snapshot, kinds: Sequence[str]) -> Self:
        """Returns the rays of some kinds that options of `add_rays` and `add_views` in `renderer.commands.arguments`
        ask for.
        """
        plan = RayPlan.chosen(arguments, snapshot.positions)
        return cls(snapshot=snapshot, views=chosen_views(arguments, snapshot), plan=plan, kinds=kinds)

    @property
    def origin(self) -> dict[str, Any]:
        """Returns the plan as plain values."""
        return {"plan": asdict(self.plan)}

    def sets(self, tracer: Tracer) -> list[RaySet]:
        """Returns the sets by kind, then by view point; those of light have no view point."""
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
    """These are the rays of some of `ray_recorder.KINDS`, as a driver sends them.

    most: rays kept of each kind.
    """

    snapshot: Snapshot
    view: ViewPoint
    driver: str
    settings: RenderSettings
    most: int
    kinds: Sequence[str]

    @property
    def origin(self) -> dict[str, Any]:
        """Returns the driver and its settings as plain values."""
        return {"driver": self.driver, "settings": asdict(self.settings), "most": self.most}

    def sets(self, tracer: Tracer) -> list[RaySet]:
        """Returns the sets in the order of the kinds."""
        sets = driver_rays(self.driver, self.snapshot, tracer, self.settings, self.most)
        return [
            one if one.view == NO_VIEW else replace(one, view=self.view.name) for one in sets if one.kind in self.kinds
        ]


@dataclass(frozen=True, kw_only=True)
class FileRays:
    """These are the rays of some kinds of a file."""

    file: RayFile
    kinds: Sequence[str]

    @property
    def origin(self) -> dict[str, Any]:
        """Returns what the file says of how the rays were made."""
        return self.file.origin

    def sets(self, _tracer: Tracer) -> list[RaySet]:
        """Returns the sets in the order of the file."""
        return [one for one in self.file.sets if one.kind in self.kinds]


RaySource = PlannedRays | DriverRays | FileRays
