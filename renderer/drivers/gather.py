"""This module has the driver `gather`."""

from renderer.camera_paths.task import GATHER
from renderer.drivers.driver import Radiance, RenderSettings
from renderer.drivers.eye import PassSite
from renderer.drivers.photon import PhotonDriver, photon_task
from renderer.drivers.search_radius import pass_radius, photon_radius, surface_area
from renderer.photons.irradiance import irradiance_map
from renderer.photons.lookup import PhotonParts, empty_map, look_up
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

    def __init__(self, snapshot: Snapshot, tracer: Tracer, settings: RenderSettings) -> None:
        super().__init__(snapshot, tracer, settings)
        evenly = photon_radius(surface_area(snapshot.positions), self.emitted, IRRADIANCE_PHOTONS)
        self.first_far_radius = max(self.first_radius, evenly)
        self.prepare_caustics()

    def _shadow_slots(self) -> int:
        """Returns one slot more, for rays that look whether known irradiance is in sight."""
        return super()._shadow_slots() + 1

    def trace_pass(self, index: int, site: PassSite) -> Radiance:
        """Returns the pixels of a pass, with photons that are traced for it."""
        radius, far_radius = (pass_radius(first, index) for first in (self.first_radius, self.first_far_radius))
        scene = self.projected_scene
        # Rays that land far away ask for irradiance where a photon landed, which only that photon's normal can correct.
        task = photon_task(scene, self.settings, index, min_bounces=0)._replace(is_corrected=True)
        photons, scale = self._trace_photons(site, scene, task)
        far = irradiance_map(photons, far_radius, scale, site.crew)
        caustics = self._caustic_map(site, index, radius)
        lookup = look_up(caustics, far, PhotonParts(caustics=caustics, direct=empty_map()))
        return self._trace_eye_paths(site, self._eye_task(index, radius), lookup)
