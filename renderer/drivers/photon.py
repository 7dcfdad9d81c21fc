"""This module has the driver `photon`, and how the drivers that look at photons have them traced."""

from collections.abc import Callable, Generator
from contextlib import closing
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from renderer.camera_paths.task import INDIRECT, PARTLY
from renderer.drivers.driver import Radiance, RenderSettings, Work
from renderer.drivers.eye import Caustics, EyeDriver, PassSite
from renderer.drivers.search_radius import footprint_radius, pass_radius, photon_radius, surface_area
from renderer.drivers.shares import AnyShare, MadeShare, MapShare, Photons, PhotonShare
from renderer.photons.batch import PhotonTask
from renderer.photons.building import MAP_CODE, MapMemory, pieces_of, sorted_map
from renderer.photons.importance import PILOT, needed_spheres
from renderer.photons.lookup import PhotonLookup, PhotonParts, empty_map, look_up
from renderer.photons.photon_map import PHOTON_WORDS, PhotonMap, Words
from renderer.photons.store import PhotonStore, in_order
from renderer.photons.targets import has_lights_outside, projected
from renderer.photons.tracing import PHOTON_CODE, counted, leave_stores, trace_to_stores
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

#: Photons of a caustic map have other random numbers: those of passes that no render comes to.
CAUSTIC_SEQUENCE = 1 << 31


class PhotonOrder(NamedTuple):
    """Says which photons are traced for a map.

    scene: that sends them out.
    thinning: a map has one photon for so many that a pass sends out.
    """

    scene: PackedScene
    task: PhotonTask
    thinning: int = 1

    @property
    def is_dark(self) -> bool:
        """Returns whether there are none."""
        return self.scene.lights.power <= 0.0

    def part(self, indices: range) -> range:
        """Returns the indices of its own photons that stand for some of the pass."""
        return range(indices.start // self.thinning, indices.stop // self.thinning)

    def scale(self, emitted: int) -> float:
        """Returns the watts of a stored flux of 1, where a pass sends out so many photons."""
        return 0.0 if self.is_dark else self.task.flux_unit / max(1, emitted // self.thinning)


#: Names of the maps of a pass: of all its photons, of those that mirrors and glass alone have brought, and of those
#: straight from a light.
WHOLE, CAUSTIC, DIRECT = "whole", "caustics", "direct"


class Aim(NamedTuple):
    """Says where photons go and are looked for. radii: (pixels,) float64, of the first pass, as `PhotonLookup` has
    them."""

    scene: PackedScene
    radii: npt.NDArray[np.float64]


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
    code = (*PHOTON_CODE, *MAP_CODE, *EyeDriver.code)

    def __init__(self, snapshot: Snapshot, tracer: Tracer, settings: RenderSettings) -> None:
        super().__init__(snapshot, tracer, settings)
        self._is_sharp = has_sharp_surfaces(self.scene)
        self.emitted = settings.photons or photons_of_a_pass(settings)
        self.is_gathered, self.has_photons = False, settings.photons is not None
        self.has_radius = settings.radius is not None
        self.first_radius = settings.radius or max(
            footprint_radius(tracer, self.camera, settings.height),
            photon_radius(surface_area(snapshot.positions), self.emitted),
        )
        self.settings = replace(settings, photons=self.emitted, radius=self.first_radius)
        self._most_stored = 0

    @cached_property
    def aim(self) -> Aim:
        """Returns where photons go and are looked for, by a pilot when it is first asked for."""
        with closing(self._in_order(self._make_aim, 0, lambda index: index == 0)) as made:
            return next(made)

    @property
    def projected_scene(self) -> PackedScene:
        """Returns the scene with its photons sent where they matter."""
        return self.aim.scene

    def passes(self, first: int, may_begin: Callable[[int], bool]) -> Generator[Radiance]:
        """Yields passes as `passes_of` does, once the pilot is over."""
        _ = self.aim  # by all workers, which then ask for it
        yield from super().passes(first, may_begin)

    def shares(self, take: Callable[[], AnyShare | None]) -> Generator[MadeShare]:
        """Yields shares of passes, once the pilot is over."""
        _ = self.aim
        yield from super().shares(take)

    def _make_aim(self, _: int, crew: Crew) -> Aim:
        """Returns where photons go and are looked for."""
        share, nowhere = self.settings.guide_share, np.empty(0)
        if not self.settings.projection or not has_lights_outside(self.scene):
            return Aim(self._projected(share), nowhere)
        task = photon_task(self.scene, self.settings, PILOT, min_bounces=1)
        needed = needed_spheres(self.scene, self.camera, self.tracer, task, crew)
        if len(needed) and self._is_sharp:
            share = max(share, SHARP_SHARE)
        scene = projected(self.scene, share, needed)
        import os
        if os.environ.get('OLD') or self.has_radius or self.diffuse != INDIRECT:
            return Aim(scene, nowhere)
        return Aim(scene, self._pilot_radii(scene, task._replace(flux_unit=scene.photon_scene.lights.strongest_flux), crew))

    def _pilot_radii(self, scene: PackedScene, task, crew: Crew):
        import os
        K=float(os.environ.get("K",10)); KMIN=float(os.environ.get("KMIN",4)); MAXD=float(os.environ.get("MAXD",50)); MODE=os.environ.get("MODE","edge")
        w,h=self.settings.width,self.settings.height
        from renderer.drivers.search_radius import room_around
        widest, room = room_around(self.scene, self.tracer, self.camera, (w,h), w/MAXD/2)
        site = PassSite(crew, self.pixels)
        order = PhotonOrder(scene, task)
        pm = self._photon_map(site, {WHOLE: order}, WHOLE, self.first_radius)
        lookup = look_up(pm)._replace(radii=-widest, found=np.zeros(w*h, np.int64))
        self._trace_eye_paths(site, self._eye_task(PILOT, self.first_radius)._replace(diffuse=PARTLY), lookup)
        k2=lookup.found.mean()
        pm = self._photon_map(site, {WHOLE: order}, WHOLE, float(np.median(widest)))
        lookup = look_up(pm)._replace(radii=widest, found=np.zeros(w*h, np.int64))
        self._trace_eye_paths(site, self._eye_task(PILOT, self.first_radius), lookup)
        N=lookup.found
        r=widest*np.sqrt(np.minimum(1.0, K/np.maximum(N,1)))
        if MODE=="edge": r=np.minimum(r, room)
        k=N*(r/widest)**2
        self.expected=k
        ok=(k>=KMIN)&(r>0)
        self.is_gathered = not ok.all()
        if ok.mean()<.5 and not self.has_photons: self.emitted=int(self.emitted/float(os.environ.get("Q",4)))
        self.prepare_caustics()
        k2*=self.emitted/(2*w*h)
        self.behind=min(np.sqrt(2*w*h/self.emitted), np.sqrt(float(os.environ.get("K2",.5))/max(k2,1e-9)))
        print("k2", k2,"behind",self.behind)
        if os.environ.get("ALL"): ok[:]=False
        print("gathered", (~ok).mean(), "median r/px", np.median((r/widest)[ok])*w/MAXD/2 if ok.any() else 0, "N", np.median(N))
        return np.where(ok, r, -widest)

    def trace_pass(self, index: int, site: PassSite) -> Radiance:
        """Returns the pixels of a pass, with photons that are traced for it."""
        lookup = self.lookup_for(index, site) if site.lookup is None else site.lookup
        task = self._eye_task(index, self.radius_of(index) * self.behind)
        radii = self.aim.radii
        if len(radii) == 0:
            return self._trace_eye_paths(site, task, lookup)
        lookup = lookup._replace(radii=radii * (self.radius_of(index) / self.first_radius), found=np.zeros(len(radii), np.int64))
        return self._trace_eye_paths(site, task._replace(diffuse=PARTLY), lookup)

    def orders(self, index: int) -> dict[str, PhotonOrder]:
        """Returns the photons that are traced for the maps of a pass, by the names of the maps."""
        task = photon_task(self.projected_scene, self.settings, index, min_bounces=1)
        orders = self._with_parts(PhotonOrder(self.projected_scene, task))
        if self.is_gathered and CAUSTIC not in orders:
            orders |= {name: one._replace(thinning=int(__import__("os").environ.get("THIN","4"))) for name, one in self._caustic_orders(index).items()}
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

    def _projected(self, share: float) -> PackedScene:
        """Returns the scene with a share of its photons sent to mirrors and glass, unless the user wants none."""
        return projected(self.scene, share) if self.settings.projection else self.scene

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
        stores = self._trace_to_stores(site, orders[name], range(self.emitted)) if site.traced is None else []
        with site.crew.timed(MAP):
            if site.traced is None:
                pieces = [piece for store in stores for piece in store.pieces()]
            else:
                pieces = pieces_of([traced[name] for traced in site.traced], site.crew)
            memory = site.borrow("map", MapMemory)
            made = sorted_map(pieces, radius, orders[name].scale(self.emitted), memory, site.crew)
        leave_stores(stores, site.crew)
        return made

    def _photons_of(self, site: PassSite, orders: dict[str, PhotonOrder], name: str) -> tuple[Words, float]:
        """Returns photons of a pass, (n, PHOTON_WORDS) uint32, traced if they are not yet, and the watts of a stored
        flux of 1.
        """
        order, scale = orders[name], orders[name].scale(self.emitted)
        if site.traced is None:
            return self._trace_photons(site, order, range(self.emitted)), scale
        return np.concatenate([traced[name] for traced in site.traced]), scale

    def _trace_photons(self, site: PassSite, order: PhotonOrder, indices: range) -> Words:
        """Traces photons of some indices, and returns them in their order: (n, PHOTON_WORDS) uint32."""
        if order.is_dark:
            return np.empty((0, PHOTON_WORDS), np.uint32)
        stores, own = self._trace_to_stores(site, order, indices), order.part(indices)
        with site.crew.timed(MAP):
            stored = in_order(stores, own.start, len(own), site.crew)
        leave_stores(stores, site.crew)
        return stored

    def _trace_to_stores(self, site: PassSite, order: PhotonOrder, indices: range) -> list[PhotonStore]:
        """Traces photons of some indices."""
        stores = trace_to_stores(order.scene, order.task, site.crew, order.part(indices))
        site.count(*counted(stores))
        return stores


def photons_of_a_pass(settings: RenderSettings) -> int:
    """Returns how many photons a pass sends out where the user names no number."""
    return min(PHOTONS_PER_PIXEL * settings.width * settings.height, MOST_USUAL_PHOTONS)


def has_sharp_surfaces(scene: PackedScene) -> bool:
    """Returns whether some surface may throw a caustic."""
    return bool(scene.are_sharp[np.unique(scene.surfaces.material_ids)].any())


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
