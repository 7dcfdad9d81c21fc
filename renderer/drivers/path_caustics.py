"""The driver `path+caustics`."""

from renderer.camera_paths.task import CAUSTICS
from renderer.drivers.driver import RenderSettings
from renderer.drivers.pass_photons import CAUSTIC, PassPhotons, PhotonRequests
from renderer.drivers.photon import PhotonDriver
from renderer.photons.lookup import PhotonLookup, look_up, parts_of
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
    has_pilot = False

    def __init__(self, snapshot: Snapshot, tracer: Tracer, settings: RenderSettings) -> None:
        super().__init__(snapshot, tracer, settings)
        _ = self.caustic_scene  # is there before passes share it

    def photon_requests(self, index: int) -> PhotonRequests:
        """Returns which photons a pass traces: those that make caustics."""
        return self.with_groups(self.caustic_requests(index) | self.volume_requests(index))

    def build_map(self, index: int, photons: PassPhotons) -> PhotonLookup:
        """Returns the caustic photons of a pass in a map."""
        caustics = photons.build_map(CAUSTIC, self.radius_of(index))
        groups = photons.build_group_maps(CAUSTIC, self.radius_of(index))
        return look_up(caustics, parts=parts_of(caustics, groups=groups))
