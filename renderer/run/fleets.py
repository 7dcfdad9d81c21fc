"""This module opens the fleet that a picture, a sequence or a photon run is shared out to, and has it begin."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from typing import TYPE_CHECKING

from renderer.plugins import loaded_files

if TYPE_CHECKING:
    from renderer.drivers.driver import Driver, RenderSettings
    from renderer.fleet.fleet import Fleet
    from renderer.run.plan import Plan
    from renderer.scene.render_context import RenderContext


@contextmanager
def open_fleet(
    gpus: int | str | None, cluster: str | None, device: str, threads: int | None, insecure_cluster: bool = False
) -> Iterator[Fleet | None]:
    """Returns the fleet that the settings of these names choose, or None; its members end with the block."""
    if cluster is not None:
        from renderer.fleet.cluster import ClusterFleet, check_address

        check_address(cluster, is_insecure=insecure_cluster)
        with closing(ClusterFleet(cluster, device, threads)) as workers:
            yield workers
    elif gpus is not None:
        from renderer.fleet.processes import HostFleet
        from renderer.fleet.seats import seats_of_gpus

        with closing(HostFleet(seats_of_gpus(gpus, threads), loaded_files())) as members:
            yield members
    else:
        yield None


def fleet_of(plan: Plan) -> AbstractContextManager[Fleet | None]:
    """Returns what `open_fleet` does for a plan."""
    chosen = plan.settings
    return open_fleet(chosen.gpus, chosen.cluster, chosen.device, chosen.threads, chosen.insecure_cluster)


def shared_driver(plan: Plan, fleet: Fleet) -> Callable[[RenderContext, RenderSettings], Driver]:
    """Returns what makes the driver of a plan's picture, whose passes a fleet makes."""
    from renderer.fleet.fleet import Opening
    from renderer.run.fleet_driver import FleetDriver
    from renderer.run.picture_member import MemberOrder, PictureMember

    def make(context: RenderContext, _: RenderSettings) -> Driver:
        content = MemberOrder(scene=plan.scene, settings=plan.settings, tree=context.tracer.tree)
        reports = fleet.open(Opening(PictureMember, content, loaded_files()))
        chosen = plan.settings
        return FleetDriver(plan.driver, fleet, reports, chosen.passes, is_whole=chosen.shutter is not None)

    return make
