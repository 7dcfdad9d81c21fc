"""This module opens the fleet that a picture, a sequence or a photon run is shared out to."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

from renderer.plugins import loaded_files

if TYPE_CHECKING:
    from renderer.fleet.fleet import Fleet
    from renderer.settings.picture import Settings


@contextmanager
def open_fleet(settings: Settings) -> Iterator[Fleet | None]:
    """Yields the fleet that settings choose, or None; its members end with the block."""
    if settings.cluster is not None:
        from renderer.fleet.cluster import ClusterFleet
        from renderer.fleet.cluster_access import Certificates, check_address

        check_address(settings.cluster, is_insecure=settings.insecure_cluster)
        certificates = Certificates.of(settings)
        with closing(ClusterFleet(settings.cluster, settings.device, settings.threads, certificates)) as workers:
            yield workers
    elif settings.gpus is not None:
        from renderer.fleet.processes import HostFleet
        from renderer.fleet.seats import seats_of_gpus

        with closing(HostFleet(seats_of_gpus(settings.gpus, settings.threads), loaded_files())) as members:
            yield members
    else:
        yield None
