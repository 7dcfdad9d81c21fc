"""This module has the driver `path+caustics`."""

from renderer.camera_paths.task import CAUSTICS
from renderer.drivers.driver import RenderSettings
from renderer.drivers.eye import PassSite
from renderer.drivers.photon import CAUSTIC, PhotonDriver, PhotonOrder
from renderer.photons.lookup import PhotonLookup, PhotonParts, empty_map, look_up
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
    is_aimed = False

    def __init__(self, snapshot: Snapshot, tracer: Tracer, settings: RenderSettings) -> None:
        super().__init__(snapshot, tracer, settings)
        self.prepare_caustics()

    def orders(self, index: int) -> dict[str, PhotonOrder]:
        """Returns the photons of the caustic map of a pass."""
        return self._caustic_orders(index)

    def lookup_for(self, index: int, site: PassSite) -> PhotonLookup:
        """Returns the caustic photons of a pass in a map."""
        caustics = self._photon_map(site, self.orders(index), CAUSTIC, self.cell_of(index))
        return look_up(caustics, parts=PhotonParts(caustics=caustics, direct=empty_map()))
