"""This module opens the fleet that a picture, a sequence or a photon run is shared out to."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from renderer.errors import UsageError
from renderer.plugins import loaded_files
from renderer.settings.picture import AUTO_DRIVER, DEFAULT_DRIVER
from renderer.settings.setting import LOCAL

if TYPE_CHECKING:
    from renderer.fleet.fleet import Fleet
    from renderer.fleet.processes import HostFleet
    from renderer.settings.picture import Settings

#: Whether workers of this host are processes that this one talks to itself; else they are those of a Dask cluster.
HAS_SOCKETS = os.name != "nt"

#: What members of a photon run make, in place of the name of a driver.
PHOTONS = "photons"

#: Members that have begun before anybody opened their fleet.
_ahead: list[HostFleet] = []


@contextmanager
def members_ahead(settings: Settings, work: str | None = None) -> Iterator[None]:
    """Has members on this host begin, so that they load their code while a scene is read within the block. Whoever
    opens their fleet there takes them over; those that nobody takes end with the block. Whoever opens a fleet tells of
    GPUs that are not there, once all else is known to be possible.

    work: what they make, PHOTONS, or None for passes of the driver.
    """
    fleet = None
    with suppress(UsageError):
        fleet = _host_fleet(settings, work) if _are_here(settings) else None
    if fleet is None:
        yield
        return
    _ahead.append(fleet)
    try:
        yield
    finally:
        if fleet in _ahead:
            _ahead.remove(fleet)
            fleet.close()


@contextmanager
def open_fleet(settings: Settings, work: str | None = None) -> Iterator[Fleet | None]:
    """Yields the fleet that settings choose, or None; its members end with the block.

    work: what they make, as of `members_ahead`.
    """
    if _are_here(settings):
        with closing(_host_fleet(settings, work)) as members:
            yield members
    elif settings.cluster is not None:
        from renderer.fleet.cluster import ClusterFleet
        from renderer.fleet.cluster_access import Certificates, check_address

        check_address(settings.cluster, is_insecure=settings.insecure_cluster)
        certificates = Certificates.of(settings)
        with closing(ClusterFleet(settings.cluster, settings.device, settings.threads, certificates)) as workers:
            yield workers
    else:
        yield None


def _are_here(settings: Settings) -> bool:
    """Returns whether members are processes of this host that this one talks to itself."""
    is_local = HAS_SOCKETS and settings.cluster is not None and settings.cluster.startswith(LOCAL)
    return is_local or settings.gpus is not None


def _host_fleet(settings: Settings, work: str | None = None) -> HostFleet:
    """Returns members on this host, those that have begun already if there are such."""
    from renderer.fleet import processes, seats

    if settings.cluster is None:
        places = seats.seats_of_gpus(settings.gpus or "all", settings.threads)
    else:
        places = seats.seats_of_workers(settings.cluster, settings.device, settings.threads)
    for fleet in _ahead:
        if fleet.seats == places:
            _ahead.remove(fleet)
            return fleet
    return processes.HostFleet(places, loaded_files(), partial(code_of, work or settings.driver or DEFAULT_DRIVER))


def code_of(work: str) -> Iterable[Callable[..., Any]]:
    """Imports what a member needs, and returns the functions whose machine code it will need. work: as of
    `members_ahead`.
    """
    if work == PHOTONS:
        from renderer.photons.tracing import PHOTON_CODE
        from renderer.run.members import photon_member  # noqa: F401

        return PHOTON_CODE
    from renderer.drivers import find_driver
    from renderer.run.members import picture_member  # noqa: F401

    return find_driver(DEFAULT_DRIVER if work == AUTO_DRIVER else work).code
