"""The driver `photon`: progressive photon mapping."""

from typing import ClassVar

from renderer.camera_paths.task import INDIRECT
from renderer.drivers.driver import Radiance, RenderSettings
from renderer.drivers.eye import in_waves_too
from renderer.drivers.pass_photons import PassPhotons, PhotonRequest, PhotonRequests, photon_task
from renderer.drivers.pass_site import PassSite
from renderer.drivers.photon_maps import PhotonMapDriver
from renderer.drivers.pilot import learn_of_media, look_about
from renderer.drivers.search_radius import pass_radius
from renderer.photons.lookup import PhotonLookup
from scenes.model import Snapshot
from tracecore.dispatch.tracer import Tracer


class PhotonDriver(PhotonMapDriver):
    """Makes a picture by progressive photon mapping in independent passes.

    Knaus, Zwicker: Progressive Photon Mapping: A Probabilistic Approach, 2011. Each pass traces photons of its own,
    keeps those that land on diffuse surfaces after a bounce, and looks at them along one eye path per pixel, with a
    radius that shrinks from pass to pass. The mean over the passes converges, and memory does not grow.
    """

    name = "photon"
    summary = "progressive photon mapping: all light, caustics too"
    takes = PhotonMapDriver.takes | {"guide_share"}
    diffuse = INDIRECT
    #: Whether a pilot looks where light is needed, and how wide pixels have to search, where few photons are stored.
    has_pilot: ClassVar[bool] = True

    def __init__(self, snapshot: Snapshot, tracer: Tracer, settings: RenderSettings) -> None:
        super().__init__(snapshot, tracer, settings)
        if self.has_pilot and settings.projection and self.scene.lights.power > 0.0:
            if settings.shading != "cpu":
                self.begin_to_compile()
            look_about(self, settings)
        if self.has_fog and self.scene.lights.power > 0.0:
            learn_of_media(self, settings)

    @in_waves_too
    def trace_pass(self, index: int, site: PassSite) -> Radiance:
        """Returns the pixels of a pass: traces photons, builds their map, and follows camera paths with it."""
        photons = PassPhotons(self.photon_requests(index), self.emitted, site)
        photon_map = site.photon_map or self.build_maps(index, photons)
        return self.follow_camera_paths(index, photon_map, site)

    def photon_requests(self, index: int) -> PhotonRequests:
        """Returns which photons a pass traces: those that have bounced, as shadow rays bring the direct light."""
        task = photon_task(self.projected_scene, self.settings, index, min_bounces=1)
        return self.with_parts(PhotonRequest(self.projected_scene, task), index)

    def build_maps(self, index: int, photons: PassPhotons) -> PhotonLookup:
        """Returns the photons of a pass in maps: of surfaces and, where there are media that scatter, of these."""
        return self.build_map(index, photons)._replace(volume=photons.build_volume_map(self.beam_radius_of(index)))

    def build_map(self, index: int, photons: PassPhotons) -> PhotonLookup:
        """Returns the photons of a pass in a map for searches as wide as its radius."""
        return photons.build_layered_map(self.cell_of(index))

    def follow_camera_paths(self, index: int, photon_map: PhotonLookup, site: PassSite) -> Radiance:
        """Returns the pixels of a pass, whose paths look for photons within its radius at diffuse surfaces."""
        return self.trace_with_photons(site, self.eye_task(index, self.radius_of(index)), photon_map)

    def radius_of(self, index: int) -> float:
        """Returns the radius of the photon search in a pass, world units: it shrinks from pass to pass."""
        return pass_radius(self.first_radius, index)

    @property
    def pass_photons(self) -> int:
        """Returns how many photons a pass sends out for its maps."""
        return self.emitted if self.photon_requests(0) else 0
