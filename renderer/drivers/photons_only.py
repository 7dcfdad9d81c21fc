"""This module has the driver `photons-only`."""

from contextlib import closing
from pathlib import Path

from renderer.camera_paths.task import EVERYTHING
from renderer.drivers.driver import Radiance, RenderSettings
from renderer.drivers.eye import PassSite
from renderer.drivers.photon import PhotonDriver, photon_task
from renderer.photons.building import build_photon_map
from renderer.photons.lookup import PhotonLookup, look_up
from renderer.photons.photon_file import save_photons
from scenes.model import Snapshot
from tracecore.dispatch.tracer import Tracer
from tracecore.workers.pool import MAP
from tracecore.workers.tasks import Crew


class PhotonsOnlyDriver(PhotonDriver):
    """Shows one photon map as it is, the direct light with it, at a radius that stays.

    The map is traced once; the passes only spread the eye paths over the pixels.
    """

    name = "photons-only"
    summary = "one photon map, shown as it is"
    takes = PhotonDriver.takes - {"guide_share"}
    diffuse = EVERYTHING

    def __init__(self, snapshot: Snapshot, tracer: Tracer, settings: RenderSettings) -> None:
        super().__init__(snapshot, tracer, settings)
        with closing(self._in_order(self._make_map, 0, lambda index: index == 0)) as made:
            self.lookup = next(made)

    def _make_map(self, _: int, crew: Crew) -> PhotonLookup:
        """Returns the map, and keeps its photons."""
        site = PassSite(crew, self.pixels)
        task = photon_task(self.scene, self.settings, 0, min_bounces=0)
        self.photons, self.photon_scale = self._trace_photons(site, self.scene, task)
        with crew.timed(MAP):
            photon_map = build_photon_map(self.photons, self.first_radius, self.photon_scale)
        parts = self._parts(site, self.scene, task, self.first_radius)
        self._add_work(site.work)
        return look_up(photon_map, parts=parts)

    def trace_pass(self, index: int, site: PassSite) -> Radiance:
        """Returns the pixels of a pass, from the one map."""
        return self._trace_eye_paths(site, self._eye_task(index, self.first_radius), self.lookup)

    def save_photons(self, path: Path) -> None:
        """Keeps the map in a file; `renderer.photons.photon_file.load_photons` reads it."""
        save_photons(path, self.photons, self.photon_scale)

    def _light_samples(self) -> int:
        """Returns 0, as the map has all light."""
        return 0
