"""This module has the driver `photon`, and how the drivers that look at photons have them traced."""

from contextlib import closing
from dataclasses import replace
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np

from renderer.camera_paths.paths import Doubles, Longs
from renderer.camera_paths.task import INDIRECT, PARTLY, EyeTask
from renderer.drivers.driver import Caustics, Radiance, RenderSettings, Work
from renderer.drivers.eye import EyeDriver, PassSite, pixels_by_tile
from renderer.drivers.search_radius import (
    FEW_PHOTONS,
    footprint_radius,
    gathered_radius,
    pass_radius,
    photon_radius,
    pixel_radii,
    views_of,
)
from renderer.drivers.shares import AnyShare, MadeShare, MapShare, Photons, PhotonShare
from renderer.photons.batch import PHOTON_SETTINGS, PhotonTask
from renderer.photons.building import MAP_CODE, MapMemory, pieces_of, sorted_map
from renderer.photons.importance import PILOT, Eye, needed_spheres
from renderer.photons.lookup import PhotonLookup, PhotonParts, empty_map, look_up
from renderer.photons.photon_map import PHOTON_WORDS, PhotonMap, Words
from renderer.photons.store import PhotonStore, in_order
from renderer.photons.targets import NO_SPHERES, projected, specular_spheres
from renderer.photons.tracing import PHOTON_CODE, counted, leave_stores, trace_photons, trace_to_stores
from renderer.scene.packed_scene import PackedScene
from scenes.model import Snapshot
from tracecore.dispatch.tracer import Tracer
from tracecore.workers.pool import MAP
from tracecore.workers.tasks import Crew

#: Photons of a pass where the user names no number: so many for each pixel, where memory for them is moderate.
PHOTONS_PER_PIXEL, MOST_USUAL_PHOTONS = 2, 10_000_000

#: Bytes of a photon while a map is made of it: in its store, on its way to a cell, in the map, and its share of cells.
MAP_BYTES = 96

#: Photons that a pass stores for each that it sends out, as long as no pass has told.
STORED_GUESS = 4

#: Share of the photons that go to mirrors and glass at least, where others are sent to what is needed.
SHARP_SHARE = 0.15

#: Photons that a pilot sends out to see how many are stored; where more than so many are for each, as in rooms, they
#: suffice wherever the eye looks ...
PROBES, ENOUGH_STORED = 1 << 13, 0.4
#: ... and where not so many times as many are stored of those sent to what is needed, these do not pay.
AIMING_GAIN = 2.25

#: Photons of a caustic map have other random numbers: those of passes that no render comes to.
CAUSTIC_SEQUENCE = 1 << 31


class PhotonOrder(NamedTuple):
    """Says which photons are traced for a map. scene: that sends them out."""

    scene: PackedScene
    task: PhotonTask

    @property
    def is_dark(self) -> bool:
        """Returns whether there are none."""
        return self.scene.lights.power <= 0.0


#: Names of the maps of a pass: of all its photons, of those that mirrors and glass alone have brought, and of those
#: straight from a light.
WHOLE, CAUSTIC, DIRECT = "whole", "caustics", "direct"


class PhotonDriver(EyeDriver):
    """Makes a picture by progressive photon mapping in independent passes.

    Knaus, Zwicker: Progressive Photon Mapping: A Probabilistic Approach, 2011. Each pass traces photons of its own,
    keeps those that land on diffuse surfaces after a bounce, and looks at them along one eye path per pixel, with a
    radius that shrinks from pass to pass. The mean over the passes converges, and memory does not grow.
    """

    name = "photon"
    summary = "progressive photon mapping: all light, caustics too"
    takes = EyeDriver.takes | {"photons", "radius", "guide_share", *PHOTON_SETTINGS}
    diffuse = INDIRECT
    caustics = Caustics.ALL
    code = (*PHOTON_CODE, *MAP_CODE, *EyeDriver.code)
    #: Whether a pilot looks where light is needed.
    is_aimed: ClassVar[bool] = True

    def __init__(self, snapshot: Snapshot, tracer: Tracer, settings: RenderSettings) -> None:
        super().__init__(snapshot, tracer, settings)
        self._is_sharp = has_sharp_surfaces(self.scene)
        self.emitted = settings.photons or photons_of_a_pass(settings)
        self._area = self.scene.area
        self.first_radius = settings.radius or self._even_radius()
        self._radii, self._most_stored = np.empty(0), 0
        self.settings = replace(settings, photons=self.emitted, radius=self.first_radius)
        self.projected_scene = self._projected(settings.guide_share)
        if self.is_aimed and settings.projection and self.scene.lights.power > 0.0:
            with closing(
                self._in_order(lambda _, crew: self._look_about(settings, crew), 0, lambda i: i == 0)
            ) as pilot:
                next(pilot)

    def trace_pass(self, index: int, site: PassSite) -> Radiance:
        """Returns the pixels of a pass, with photons that are traced for it."""
        lookup = self.lookup_for(index, site) if site.lookup is None else site.lookup
        task = self._eye_task(index, self.radius_of(index))
        if len(self._radii) == 0:
            return self._trace_eye_paths(site, task, lookup)
        site.work.photons.wanting += int(np.count_nonzero(self._radii[site.pixels] < 0.0))
        return self._trace_partly(site, task, lookup, self._radii * (task.radius / self.first_radius))[0]

    def _trace_partly(
        self, site: PassSite, task: EyeTask, lookup: PhotonLookup, radii: Doubles
    ) -> tuple[Radiance, Longs]:
        """Returns the pixels of a pass that have radii of their own, or are gathered, and the photons found for each.

        radii: (pixels,) float64, as `PhotonLookup` has them.
        """
        found = np.zeros(len(radii), np.int64)
        partly = lookup._replace(radii=radii, found=found)
        return self._trace_eye_paths(site, task._replace(diffuse=PARTLY), partly), found

    def _even_radius(self) -> float:
        """Returns the first radius where photons are taken to spread evenly."""
        footprint = footprint_radius(self.tracer, self.camera, self.settings.height)
        return max(footprint, photon_radius(self._area, self.emitted))

    def _look_about(self, settings: RenderSettings, crew: Crew) -> None:
        """Learns in a pilot whether few photons are stored and, if so, has them sent where light is needed, if that
        pays, and learns how far they are looked for, unless the user has named a radius or the driver looks for them in
        a way of its own.

        settings: as the user has left them.
        """
        usual = self._stored(self.projected_scene, crew)
        if usual > ENOUGH_STORED * PROBES:
            return
        task = photon_task(self.scene, self.settings, PILOT, min_bounces=1)
        needed = needed_spheres(self.scene, Eye(self.camera, self.tracer), task, crew)
        share = max(settings.guide_share, SHARP_SHARE) if self._is_sharp else settings.guide_share
        aimed = self._projected(share, needed)
        if len(needed) and self._stored(aimed, crew) > AIMING_GAIN * usual:
            self.projected_scene = aimed
        if settings.radius is None and self.diffuse == INDIRECT and not self.is_sequential:
            self._learn_radii(settings, crew)

    def _stored(self, scene: PackedScene, crew: Crew) -> int:
        """Returns how many photons are stored in a pilot behind the first surface that they meet."""
        task = photon_task(scene, self.settings, PILOT, min_bounces=1)
        return trace_photons(scene, task, crew, range(PROBES)).counts.stored

    def _learn_radii(self, settings: RenderSettings, crew: Crew) -> None:
        """Learns in a pass how wide to look for photons: as wide as the first surfaces that the eye meets need it, and
        where that is too wide behind them."""
        site = PassSite(crew, pixels_by_tile(settings.width, settings.height))
        order = PhotonOrder(
            self.projected_scene, photon_task(self.projected_scene, self.settings, PILOT, min_bounces=1)
        )
        lookup = look_up(self._photon_map(site, {WHOLE: order}, WHOLE, self.first_radius))
        views, task = views_of(self.scene, self.tracer, self.camera, self.settings), self._eye_task(PILOT)
        task = task._replace(radius=self.first_radius)
        near = self._trace_partly(site, task, lookup, views.widest)[1]
        behind = self._trace_partly(site, task, lookup, -views.widest)[1]
        site.give_back()
        self._radii = pixel_radii(views, near)
        sent = self.emitted
        if settings.photons is None and np.count_nonzero(self._radii < 0.0) > len(near) // 2:
            self.emitted = max(1, self.emitted // FEW_PHOTONS)
        if (self._radii < 0.0).any():
            found = float(behind.mean()) * self.emitted / sent
            self.first_radius = gathered_radius(self.first_radius, found, self._even_radius())
            self.prepare_caustics()
        self.settings = replace(self.settings, photons=self.emitted, radius=self.first_radius)

    def orders(self, index: int) -> dict[str, PhotonOrder]:
        """Returns the photons that are traced for the maps of a pass, by the names of the maps."""
        task = photon_task(self.projected_scene, self.settings, index, min_bounces=1)
        orders = self._with_parts(PhotonOrder(self.projected_scene, task))
        if (self._radii < 0.0).any() and CAUSTIC not in orders:
            orders |= self._caustic_orders(index)
        return orders

    def lookup_for(self, index: int, site: PassSite) -> PhotonLookup:
        """Returns the photons of a pass in maps, once they have been traced."""
        orders, radius = self.orders(index), self.cell_of(index)
        whole = self._photon_map(site, orders, WHOLE, radius)
        parts = PhotonParts(*(self._photon_map(site, orders, name, radius) for name in (CAUSTIC, DIRECT)))
        return look_up(whole, parts=parts)

    def radius_of(self, index: int) -> float:
        """Returns the radius of the photon search in a pass, world units."""
        return pass_radius(self.first_radius, index)

    def cell_of(self, index: int) -> float:
        """Returns the radius of the search that the photons of a pass are sorted for, world units."""
        return self.radius_of(index)

    @property
    def pass_photons(self) -> int:
        """Returns how many photons a pass sends out for its maps."""
        return self.emitted if self.orders(0) else 0

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

    @cached_property
    def _spheres(self) -> Doubles:
        """Returns the spheres around mirrors and glass."""
        return specular_spheres(self.scene)

    def _projected(self, share: float, needed: Doubles = NO_SPHERES) -> PackedScene:
        """Returns the scene with a share of its photons sent to mirrors and glass, and others to what is needed, unless
        the user wants none sent anywhere."""
        if not self.settings.projection:
            return self.scene
        return projected(self.scene, share, needed, self._spheres if share > 0.0 else NO_SPHERES)

    def prepare_caustics(self) -> None:
        """Makes the scene with all photons sent where they make caustics, before passes share it."""
        self._caustic_scene = self._projected(1.0) if self._is_sharp else self.scene

    def _make_share(self, share: AnyShare, crew: Crew) -> MadeShare:
        """Returns what is made of a share: photons and maps too."""
        if isinstance(share, PhotonShare):
            made = self._trace_range(share, PassSite(crew, self.pixels))
        elif isinstance(share, MapShare):
            site = PassSite(crew, self.pixels, traced=share.given.content)  # keeps its memory, for what is returned
            made = MadeShare(self.lookup_for(share.index, site), site.work, {})
        else:
            return super()._make_share(share, crew)
        if self.is_sequential:
            crew.await_before()  # in the order of the shares, so that each knows that those before are done
        crew.release_next()
        return made

    def _trace_range(self, share: PhotonShare, site: PassSite) -> MadeShare:
        """Returns the photons of a range, for all maps of a pass."""
        orders = self.orders(share.index)
        photons: Photons = {name: self._trace_photons(site, one, share.photons.indices) for name, one in orders.items()}
        return MadeShare(photons, site.work, {})

    def _with_parts(self, order: PhotonOrder) -> dict[str, PhotonOrder]:
        """Returns an order of photons, and those of the parts of its map that layers need.

        Photons of parts are traced again, those of each part alone: what becomes of a photon depends on its index and
        on nothing else.
        """
        orders = {WHOLE: order}
        if self.settings.layers == "all" and self._is_sharp:
            orders[CAUSTIC] = order._replace(task=order.task._replace(min_bounces=1, only_caustics=True))
        if self.settings.layers == "all" and order.task.min_bounces == 0:
            orders[DIRECT] = order._replace(task=order.task._replace(max_bounces=1))
        return orders

    def _caustic_orders(self, index: int) -> dict[str, PhotonOrder]:
        """Returns the photons of a pass that mirrors and glass alone bring to diffuse surfaces, if there are some."""
        if not self._is_sharp:
            return {}
        scene, sequence = self._caustic_scene, index | CAUSTIC_SEQUENCE
        task = photon_task(scene, self.settings, sequence, min_bounces=1, only_caustics=True)
        return {CAUSTIC: PhotonOrder(scene, task)}

    def _photon_map(self, site: PassSite, orders: dict[str, PhotonOrder], name: str, radius: float) -> PhotonMap:
        """Returns photons of a pass, traced if they are not yet, and sorted for searches of a radius."""
        if name not in orders or orders[name].is_dark:
            return empty_map()
        task = orders[name].task
        stores = self._trace_to_stores(site, orders[name], range(self.emitted)) if site.traced is None else []
        with site.crew.timed(MAP):
            if site.traced is None:
                pieces = [piece for store in stores for piece in store.pieces()]
            else:
                pieces = pieces_of([traced[name] for traced in site.traced], site.crew)
            memory = site.borrow("map", MapMemory)
            made = sorted_map(pieces, radius, task.flux_unit / self.emitted, memory, site.crew)
        leave_stores(stores, site.crew)
        return made

    def _photons_of(self, site: PassSite, orders: dict[str, PhotonOrder], name: str) -> tuple[Words, float]:
        """Returns photons of a pass, (n, PHOTON_WORDS) uint32, traced if they are not yet, and the watts of a stored
        flux of 1.
        """
        order = orders[name]
        scale = 0.0 if order.is_dark else order.task.flux_unit / self.emitted
        if site.traced is None:
            return self._trace_photons(site, order, range(self.emitted)), scale
        return np.concatenate([traced[name] for traced in site.traced]), scale

    def _trace_photons(self, site: PassSite, order: PhotonOrder, indices: range) -> Words:
        """Traces photons of some indices, and returns them in their order: (n, PHOTON_WORDS) uint32."""
        if order.is_dark:
            return np.empty((0, PHOTON_WORDS), np.uint32)
        stores = self._trace_to_stores(site, order, indices)
        with site.crew.timed(MAP):
            stored = in_order(stores, indices.start, len(indices), site.crew)
        leave_stores(stores, site.crew)
        return stored

    def _trace_to_stores(self, site: PassSite, order: PhotonOrder, indices: range) -> list[PhotonStore]:
        """Traces photons of some indices."""
        stores = trace_to_stores(*order, site.crew, indices)
        site.count(*counted(stores))
        return stores


def photons_of_a_pass(settings: RenderSettings) -> int:
    """Returns how many photons a pass sends out where the user names no number."""
    return min(PHOTONS_PER_PIXEL * settings.width * settings.height, MOST_USUAL_PHOTONS)


def has_sharp_surfaces(scene: PackedScene) -> bool:
    """Returns whether some surface may throw a caustic."""
    return bool(scene.are_sharp.any() and scene.are_sharp[scene.surfaces.material_ids].any())


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
        flux_unit=scene.photon_scene.lights.strongest_flux or 1.0,
        only_caustics=only_caustics,
        is_corrected=False,
        **{name: getattr(settings, name) for name in PHOTON_SETTINGS},
    )
