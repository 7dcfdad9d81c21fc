"""This module has the driver `path+caustics`."""

from renderer.camera_paths.task import CAUSTICS
from renderer.drivers.driver import Radiance, RenderSettings
from renderer.drivers.eye import PassSite
from renderer.drivers.photon import PhotonDriver
from renderer.drivers.search_radius import pass_radius
from renderer.photons.lookup import PhotonParts, empty_map, look_up
from scenes.model import Snapshot
from tracecore.dispatch.tracer import Tracer


class PathCausticsDriver(PhotonDriver):
    """Traces paths, and photons for what paths are blind to: light that mirrors and glass bring to a diffuse surface.

    Such photons make a caustic map (Jensen: Global Illumination Using Photon Maps, 1996), one for each pass; paths
    leave out what it has. The radius shrinks as that of `photon`.
    """

    name = "path+caustics"
    summary = "path tracing, and photons for what mirrors and glass bring to other surfaces"
    takes = PhotonDriver.takes - {"guide_share"}
    diffuse = CAUSTICS

    def __init__(self, snapshot: Snapshot, tracer: Tracer, settings: RenderSettings) -> None:
        super().__init__(snapshot, tracer, settings)
        self.prepare_caustics()

    def trace_pass(self, index: int, site: PassSite) -> Radiance:
        """Returns the pixels of a pass, with caustic photons that are traced for it."""
        radius = pass_radius(self.first_radius, index)
        caustics = self._caustic_map(site, index, radius)
        lookup = look_up(caustics, parts=PhotonParts(caustics=caustics, direct=empty_map()))
        return self._trace_eye_paths(site, self._eye_task(index, radius), lookup)
