"""The driver `gather`."""

from renderer.camera_paths.task import GATHER
from renderer.drivers.driver import RenderSettings
from renderer.drivers.pass_photons import CAUSTIC, WHOLE, PassPhotons, PhotonRequest, PhotonRequests, photon_task
from renderer.drivers.photon import PhotonDriver
from renderer.drivers.search_radius import pass_radius, photon_radius
from renderer.photons.irradiance import irradiance_map
from renderer.photons.lookup import PhotonLookup, look_up, parts_of
from scenes.model import Snapshot
from tracecore.dispatch.tracer import Tracer

#: The irradiance at a photon comes from so many others, where they lie evenly, or from the disc of a caustic.
IRRADIANCE_PHOTONS = 8.0


class GatherDriver(PhotonDriver):
    """Makes a picture by final gather: photons are not seen where the eye looks, but from there, one bounce on.

    At the first diffuse surface direct light comes by shadow rays, that of mirrors and glass by a caustic map, and all
    other light along a ray drawn by the cosine: where it lands, irradiance is known at photons of a global map
    (Christensen: Faster Photon Map Global Illumination, 1999), of which the nearest counts if nothing is in between. A
    ray that lands nearer than that map's radius, in a corner, goes on by path tracing. Each pass traces new maps.
    """

    name = "gather"
    summary = "final gather: photons light what the eye's surfaces see; smoother than photon, slower"
    takes = PhotonDriver.takes - {"guide_share"}
    diffuse = GATHER
    has_light_groups = False

    def __init__(self, snapshot: Snapshot, tracer: Tracer, settings: RenderSettings) -> None:
        super().__init__(snapshot, tracer, settings)
        evenly = photon_radius(self.scene.area, self.emitted, IRRADIANCE_PHOTONS)
        self.first_far_radius = max(self.first_radius, evenly)
        _ = self.caustic_scene  # is there before passes share it

    def photon_requests(self, index: int) -> PhotonRequests:
        """Returns which photons a pass traces: those of the far map and those of the caustic map."""
        scene = self.projected_scene
        # Rays that land far away ask for irradiance where a photon landed, which only that photon's normal can correct.
        task = photon_task(scene, self.settings, index, min_bounces=0)._replace(is_corrected=True)
        task = task._replace(max_bounces=max(task.max_bounces - 1, 1))  # behind the surface that such rays come from
        return {WHOLE: PhotonRequest(scene, task), **self.caustic_requests(index), **self.volume_requests(index)}

    def far_radius_of(self, index: int) -> float:
        """Returns the radius of the search behind irradiance that a pass knows, world units: it shrinks too."""
        return pass_radius(self.first_far_radius, index)

    def build_map(self, index: int, photons: PassPhotons) -> PhotonLookup:
        """Returns the photons of a pass in maps: irradiance at some of them, and caustics."""
        in_order, scale = photons.in_order(WHOLE)
        far = irradiance_map(in_order, self.far_radius_of(index), scale, photons.site.team)
        caustics = photons.build_map(CAUSTIC, self.radius_of(index))
        return look_up(caustics, far, parts_of(caustics))

    def _shadow_slots(self) -> int:
        """Returns one slot more, for rays that look whether known irradiance is in sight."""
        return super()._shadow_slots() + 1
