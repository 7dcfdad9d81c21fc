"""This module has the driver `photons-only`."""

from collections.abc import Generator, Iterator
from contextlib import closing
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from renderer.camera_paths.task import EVERYTHING
from renderer.drivers.driver import Carried, MadeShare, Radiance, RenderSettings
from renderer.drivers.eye import EyeDriver, PassSite
from renderer.drivers.photon import WHOLE, PhotonDriver, PhotonOrder, photon_task
from renderer.drivers.shares import PhotonShare
from renderer.photons.lookup import PhotonLookup
from renderer.photons.photon_file import save_photons
from renderer.photons.photon_map import Words
from renderer.photons.ranges import PhotonRange
from tracecore.workers.tasks import Crew


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
    is_aimed = False
    has_one_map = True
    keeps_photons = True

    @classmethod
    def bytes_for(cls, settings: RenderSettings, _stored: float = 0.0) -> int:
        """Returns about how much memory a pass takes, beside the map that is there for all."""
        return EyeDriver.bytes_for(settings)

    def bytes_of_pass(self) -> int:
        """Returns about how much memory a pass takes."""
        return self.bytes_for(self.settings)

    @cached_property
    def one_map(self) -> OneMap:
        """Returns the map, of photons that are traced when it is first asked for."""
        with closing(self._in_order(self._make_map, 0, lambda index: index == 0)) as made:
            return next(made)

    def passes(self, indices: Iterator[int], carried: Carried | None = None) -> Generator[MadeShare]:
        """Yields passes as `Driver` says, once the map is there."""
        _ = self.one_map  # by all workers, which then ask for it
        yield from super().passes(indices, carried)

    def trace_pass(self, index: int, site: PassSite) -> Radiance:
        """Returns the pixels of a pass, from the one map."""
        lookup = self.one_map.lookup if site.lookup is None else site.lookup
        return self._trace_eye_paths(site, self._eye_task(index, self.first_radius), lookup)

    def orders(self, _: int) -> dict[str, PhotonOrder]:
        """Returns the photons of the one map, and of its parts."""
        return self._with_parts(PhotonOrder(self.scene, photon_task(self.scene, self.settings, 0, min_bounces=0)))

    def radius_of(self, _: int) -> float:
        """Returns the radius of the photon search, the same in all passes."""
        return self.first_radius

    def save_photons(self, path: Path) -> None:
        """Keeps the map in a file; `renderer.photons.photon_file.load_photons` reads it."""
        photons, lookup = self.one_map
        save_photons(path, photons, lookup.photon_map.scale)

    def _make_map(self, _: int, crew: Crew) -> OneMap:
        """Returns the map and its photons."""
        site = PassSite(crew, self.pixels)
        traced = self._trace_range(PhotonShare(0, PhotonRange(0, self.emitted)), site).values
        self._add_work(site.work)
        return OneMap(traced[WHOLE], self.lookup_for(0, PassSite(crew, self.pixels, traced=(traced,))))

    def _light_samples(self) -> int:
        """Returns 0, as the map has all light."""
        return 0
