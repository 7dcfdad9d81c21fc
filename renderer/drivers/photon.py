"""This module has the driver `photon`, and how the drivers that look at photons have them traced."""

from dataclasses import replace

import numpy as np

from renderer.camera_paths.task import INDIRECT
from renderer.drivers.driver import Radiance, RenderSettings, Work
from renderer.drivers.eye import Caustics, EyeDriver, PassSite
from renderer.drivers.search_radius import footprint_radius, pass_radius, photon_radius, surface_area
from renderer.photons.batch import PhotonTask
from renderer.photons.building import MapMemory, sorted_map
from renderer.photons.lookup import PhotonParts, empty_map, look_up
from renderer.photons.photon_map import PHOTON_WORDS, PhotonMap, Words
from renderer.photons.store import PhotonStore, in_order
from renderer.photons.targets import projected
from renderer.photons.tracing import counted, leave_stores, trace_to_stores
from renderer.scene.packed_scene import PackedScene, are_sharp
from scenes.model import Snapshot
from tracecore.dispatch.tracer import Tracer
from tracecore.workers.pool import MAP

#: Photons of a pass where the user names no number: so many for each pixel, where memory for them is moderate.
PHOTONS_PER_PIXEL, MOST_USUAL_PHOTONS = 2, 10_000_000

#: Bytes of a photon while a map is made of it: in its store, on its way to a cell, in the map, and its share of cells.
MAP_BYTES = 96

#: Photons that a pass stores for each that it sends out, as long as no pass has told.
STORED_GUESS = 4

#: Photons of a caustic map have other random numbers: those of passes that no render comes to.
CAUSTIC_SEQUENCE = 1 << 31


class PhotonDriver(EyeDriver):
    """Makes a picture by progressive photon mapping in independent passes.

    Knaus, Zwicker: Progressive Photon Mapping: A Probabilistic Approach, 2011. Each pass traces photons of its own,
    keeps those that land on diffuse surfaces after a bounce, and looks at them along one eye path per pixel, with a
    radius that shrinks from pass to pass. The mean over the passes converges, and memory does not grow.
    """

    name = "photon"
    summary = "progressive photon mapping: all light, caustics too"
    takes = frozenset({"photons", "radius", "guide_share", "max_bounces"})
    diffuse = INDIRECT
    caustics = Caustics.ALL

    def __init__(self, snapshot: Snapshot, tracer: Tracer, settings: RenderSettings) -> None:
        super().__init__(snapshot, tracer, settings)
        self.projected_scene = self._projected(settings.guide_share)
        self.emitted = settings.photons or photons_of_a_pass(settings)
        self.first_radius = settings.radius or max(
            footprint_radius(tracer, self.camera, settings.height),
            photon_radius(surface_area(snapshot.positions), self.emitted),
        )
        self.settings = replace(settings, photons=self.emitted, radius=self.first_radius)
        self._most_stored = 0
        self._is_sharp = has_sharp_surfaces(self.scene)

    def trace_pass(self, index: int, site: PassSite) -> Radiance:
        """Returns the pixels of a pass, with photons that are traced for it."""
        radius = pass_radius(self.first_radius, index)
        scene = self.projected_scene
        task = photon_task(scene, self.settings, index, min_bounces=1)
        lookup = look_up(self._photon_map(site, scene, task, radius), parts=self._parts(site, scene, task, radius))
        return self._trace_eye_paths(site, self._eye_task(index, radius), lookup)

    @classmethod
    def bytes_for(cls, settings: RenderSettings, stored: float = STORED_GUESS) -> int:
        """Returns about how much memory a pass takes, before there is any, if it stores so many photons for each that
        it sends out."""
        emitted = settings.photons or photons_of_a_pass(settings)
        return super().bytes_for(settings) + int(MAP_BYTES * stored * emitted)

    def bytes_of_pass(self) -> int:
        """Returns about how much memory a pass takes, by the passes before it."""
        if not self._most_stored:
            return self.bytes_for(self.settings)
        return EyeDriver.bytes_for(self.settings) + MAP_BYTES * self._most_stored

    def _add_work(self, work: Work) -> None:
        self._most_stored = max(self._most_stored, work.photons.stored)
        super()._add_work(work)

    def _projected(self, share: float) -> PackedScene:
        """Returns the scene with a share of its photons sent to mirrors and glass, unless the user wants none."""
        return projected(self.scene, share) if self.settings.projection else self.scene

    def prepare_caustics(self) -> None:
        """Makes the scene with all photons sent where they make caustics, before passes share it."""
        self._caustic_scene = self._projected(1.0) if self._is_sharp else self.scene

    def _photon_map(self, site: PassSite, scene: PackedScene, task: PhotonTask, radius: float) -> PhotonMap:
        """Traces photons, and returns them sorted for searches of a radius."""
        stores = self._trace_to_stores(site, scene, task)
        if not stores:
            return empty_map()
        with site.crew.timed(MAP):
            pieces = [piece for store in stores for piece in store.pieces()]
            memory = site.borrow("map", MapMemory)
            made = sorted_map(pieces, radius, task.flux_unit / self.emitted, memory, site.crew)
        leave_stores(stores, site.crew)
        return made

    def _trace_to_stores(self, site: PassSite, scene: PackedScene, task: PhotonTask) -> list[PhotonStore]:
        """Traces the photons of a pass; none where it is dark."""
        if scene.lights.power <= 0.0:
            return []
        stores = trace_to_stores(scene, task, site.crew, range(self.emitted))
        site.count(*counted(stores))
        return stores

    def _parts(self, site: PassSite, scene: PackedScene, task: PhotonTask, radius: float) -> PhotonParts | None:
        """Returns the parts of a map that layers need, or None where they need none.

        Its photons are traced again, those of each part alone: what becomes of a photon depends on its index and on
        nothing else.
        """
        if self.settings.layers != "all":
            return None
        has_direct = task.min_bounces == 0
        caustics, direct = task._replace(min_bounces=1, only_caustics=True), task._replace(max_bounces=1)
        return PhotonParts(
            caustics=self._photon_map(site, scene, caustics, radius) if self._is_sharp else empty_map(),
            direct=self._photon_map(site, scene, direct, radius) if has_direct else empty_map(),
        )

    def _caustic_map(self, site: PassSite, index: int, radius: float) -> PhotonMap:
        """Returns the photons of a pass that mirrors and glass alone have brought to diffuse surfaces."""
        if not self._is_sharp:
            return empty_map()
        scene, sequence = self._caustic_scene, index | CAUSTIC_SEQUENCE
        return self._photon_map(
            site, scene, photon_task(scene, self.settings, sequence, min_bounces=1, only_caustics=True), radius
        )

    def _trace_photons(self, site: PassSite, scene: PackedScene, task: PhotonTask) -> tuple[Words, float]:
        """Returns the photons of a pass, (n, WORDS) uint32, and the watts of a stored flux of 1."""
        stores = self._trace_to_stores(site, scene, task)
        if not stores:
            return np.empty((0, PHOTON_WORDS), np.uint32), 0.0
        with site.crew.timed(MAP):
            stored = in_order(stores, 0, self.emitted, site.crew)
        leave_stores(stores, site.crew)
        return stored, task.flux_unit / self.emitted


def photons_of_a_pass(settings: RenderSettings) -> int:
    """Returns how many photons a pass sends out where the user names no number."""
    return min(PHOTONS_PER_PIXEL * settings.width * settings.height, MOST_USUAL_PHOTONS)


def has_sharp_surfaces(scene: PackedScene) -> bool:
    """Returns whether some surface may throw a caustic."""
    surfaces = scene.surfaces
    used = np.unique(surfaces.material_ids)
    return bool(are_sharp(surfaces.materials[used], surfaces.shaders[used]).any())


def photon_task(
    scene: PackedScene, settings: RenderSettings, index: int, min_bounces: int, only_caustics: bool = False
) -> PhotonTask:
    """Returns the task of tracing the photons of a pass.

    Stored flux is in units of the strongest photon that a light emits.

    index: of the pass, 0-based.
    min_bounces: photons are stored from so many bounces on; 1 leaves out those that come straight from a light.
    only_caustics: whether a path ends where anything but a mirror or glass would scatter it.
    """
    return PhotonTask(
        seed=np.uint64(settings.seed),
        sequence=index,
        min_bounces=min_bounces,
        max_bounces=settings.max_bounces,
        flux_unit=scene.photon_scene.lights.strongest_flux or 1.0,
        only_caustics=only_caustics,
        is_corrected=False,
    )
