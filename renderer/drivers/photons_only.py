"""The driver `photons-only`."""

from collections.abc import Generator, Iterator
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from renderer.camera_paths.task import EVERYTHING
from renderer.drivers.driver import Carried, MadeShare, Radiance, RenderSettings, Work
from renderer.drivers.eye import in_waves_too
from renderer.drivers.pass_photons import WHOLE, PassPhotons, PhotonRequest, PhotonRequests, photon_task
from renderer.drivers.pass_site import PassSite
from renderer.drivers.photon import PhotonDriver
from renderer.photons.batch import PhotonTask
from renderer.photons.lookup import PhotonLookup
from renderer.photons.photon_file import save_photons
from renderer.photons.photon_map import Words
from scenes.model import Snapshot
from tracecore.dispatch.tracer import Tracer
from tracecore.workers.tasks import Team


class OneMap(NamedTuple):
    """Holds the photons of a picture.

    photons: (n, PHOTON_WORDS) uint32, in order.
    lookup: the same in a map.
    """

    photons: Words
    lookup: PhotonLookup


class PhotonsOnlyDriver(PhotonDriver):
    """Shows one photon map as it is, the direct light with it, at a radius that stays.

    The map is traced once; the passes only spread the eye paths over the pixels.
    """

    name = "photons-only"
    summary = "one photon map, shown as it is"
    takes = PhotonDriver.takes - {"guide_share"}
    diffuse = EVERYTHING
    has_pilot = False
    has_one_map = True
    keeps_photons = True

    #: Photons of the map that were traced elsewhere, or None.
    _given: Words | None = None

    def __init__(self, snapshot: Snapshot, tracer: Tracer, settings: RenderSettings) -> None:
        super().__init__(snapshot, tracer, settings)
        self._maps_of_all: npt.NDArray[np.void] | None = None

    @in_waves_too
    def trace_pass(self, index: int, site: PassSite) -> Radiance:
        """Returns the pixels of a pass, from the one map."""
        return self.follow_camera_paths(index, site.photon_map or self.one_map.lookup, site)

    def photon_requests(self, _: int) -> PhotonRequests:
        """Returns which photons the one map has: also those that come straight from a light."""
        return self.with_parts(PhotonRequest(self.scene, photon_task(self.scene, self.settings, 0, min_bounces=0)), 0)

    def radius_of(self, _: int) -> float:
        """Returns the radius of the photon search, the same in all passes."""
        return self.first_radius

    @cached_property
    def one_map(self) -> OneMap:
        """Returns the map, of photons that are traced when it is first asked for."""
        return self.by_workers(self._make_map)

    def photon_run(self) -> PhotonTask:
        """Returns the task of the photons of the map."""
        return self.photon_requests(0)[WHOLE].task

    def take_photons(self, photons: Words) -> None:
        """Has photons looked up that were traced elsewhere; those that layers tell apart are traced here."""
        self._given = photons
        self.why_on_cpu = self.why_on_cpu or "only the CPU looks up photons of a file"

    def _make_map(self, team: Team) -> OneMap:
        photons = PassPhotons(self.photon_requests(0), self.emitted, PassSite(team, self.pixels))
        known = {} if self._given is None else {WHOLE: self._given}
        traced = photons.trace(range(self.emitted), known)
        self._add_work(photons.site.work)
        return OneMap(traced[WHOLE], self.build_maps(0, replace(photons, traced=(traced,))))

    def maps_in_waves(self, works: list[tuple[int, Work]]) -> list[npt.NDArray[np.void]]:
        """Returns the one map on the GPU, which is made with the first pass, for each pass."""
        if self._maps_of_all is None:
            (self._maps_of_all,) = super().maps_in_waves(works[:1])
        return [self._maps_of_all for _ in works]

    def passes(self, indices: Iterator[int], carried: Carried | None = None) -> Generator[MadeShare]:
        """Yields passes as `Driver` says, once the map is there."""
        if self.why_on_cpu is not None:
            _ = self.one_map  # by all workers, which then ask for it
        yield from super().passes(indices, carried)

    def save_photons(self, path: Path) -> None:
        """Keeps the map in a file; `renderer.photons.photon_file.load_photons` reads it."""
        save_photons(path, self.one_map.photons, self.one_map.lookup.photon_map.scale)

    def _light_samples(self) -> int:
        """Returns 0, as the map has all light."""
        return 0
