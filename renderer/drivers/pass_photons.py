"""The photons of a pass: which are traced, and the maps that are built of them."""

from dataclasses import dataclass
from itertools import count, takewhile
from typing import NamedTuple

import numpy as np

from renderer.drivers.pass_site import PassSite
from renderer.photons.batch import PHOTON_SETTINGS, PhotonTask
from renderer.photons.building import MapMemory, pieces_of, sorted_map
from renderer.photons.group_maps import GroupMaps, no_group_maps, side_by_side
from renderer.photons.lookup import PhotonLookup, PhotonParts, empty_map, look_up
from renderer.photons.photon_map import PHOTON_WORDS, PhotonMap, Words
from renderer.photons.store import PhotonStore, in_order
from renderer.photons.tracing import counted, leave_stores, trace_to_stores
from renderer.photons.volume import CELL_RADII, VolumeMap
from renderer.scene.packed_scene import PackedScene
from renderer.settings.picture import RenderSettings
from tracecore.workers.pool import MAP

#: Names of the maps of a pass: of all its photons, of those that mirrors and glass alone have brought, of those
#: straight from a light, and of those in media.
WHOLE, CAUSTIC, DIRECT, VOLUME = "whole", "caustics", "direct", "volume"

#: Photons of a pass, or of a range of them, by the name of the map that is made of them: (n, PHOTON_WORDS) uint32, in
#: order of photon index and bounce.
Photons = dict[str, Words]


def group_key(name: str, group: int) -> str:
    """Returns the name of the map of the photons of a light group, of those of a name."""
    return f"{name} of group {group}"


class PhotonRequest(NamedTuple):
    """Says which photons are traced for a map. scene: that sends them out."""

    scene: PackedScene
    task: PhotonTask

    @property
    def is_dark(self) -> bool:
        """Returns whether there are none."""
        return self.scene.lights.power <= 0.0


#: What is traced for the maps of a pass, by their names.
PhotonRequests = dict[str, PhotonRequest]


@dataclass(frozen=True)
class PassPhotons:
    """Holds the photons of a pass, which are traced when a map is built of them.

    requests: says which.
    emitted: how many are sent out for each map.
    site: where the pass is made.
    traced: what members of a fleet have traced already, range by range, or None.
    """

    requests: PhotonRequests
    emitted: int
    site: PassSite
    traced: tuple[Photons, ...] | None = None

    def build_map(self, name: str, radius: float) -> PhotonMap:
        """Returns the photons of a name sorted for searches of a radius, world units."""
        if name not in self.requests or self.requests[name].is_dark:
            return empty_map()
        stores = [] if self.traced is not None else self._trace_to_stores(name, range(self.emitted))
        with self.site.team.timed(MAP):
            if self.traced is None:
                pieces = [piece for store in stores for piece in store.pieces()]
            else:
                pieces = pieces_of([traced[name] for traced in self.traced], self.site.team)
            memory = self.site.borrow("map", MapMemory)
            made = sorted_map(pieces, radius, self._scale_of(name), memory, self.site.team)
        leave_stores(stores, self.site.team)
        return made

    def build_layered_map(self, radius: float) -> PhotonLookup:
        """Returns all photons in a map, and in maps of their own those that layers and light groups tell apart."""
        whole, caustics, direct = (self.build_map(name, radius) for name in (WHOLE, CAUSTIC, DIRECT))
        groups = (self.build_group_maps(name, radius) for name in (WHOLE, CAUSTIC))
        return look_up(whole, parts=PhotonParts(caustics, direct, *groups))

    def build_group_maps(self, name: str, radius: float) -> GroupMaps:
        """Returns the photons of a name in maps of each light group; none where groups are not told apart."""
        groups = takewhile(lambda group: group_key(name, group) in self.requests, count())
        maps = [self.build_map(group_key(name, group), radius) for group in groups]
        return side_by_side(maps) if maps else no_group_maps()

    def build_volume_map(self, radius: float) -> VolumeMap:
        """Returns the photons in media. radius: around a ray, within which they count, world units."""
        cell = CELL_RADII * radius
        return VolumeMap(self.build_map(VOLUME, cell), radius, self.build_group_maps(VOLUME, cell))

    def in_order(self, name: str) -> tuple[Words, float]:
        """Returns the photons of a name, (n, PHOTON_WORDS) uint32, and the watts of a stored flux of 1."""
        scale = 0.0 if self.requests[name].is_dark else self._scale_of(name)
        if self.traced is None:
            return self._trace(name, range(self.emitted)), scale
        return np.concatenate([traced[name] for traced in self.traced]), scale

    def trace(self, indices: range, known: Photons | None = None) -> Photons:
        """Traces photons of some indices, for all maps but those of which they are known."""
        known = known or {}
        return known | {name: self._trace(name, indices) for name in self.requests if name not in known}

    def _trace(self, name: str, indices: range) -> Words:
        if self.requests[name].is_dark:
            return np.empty((0, PHOTON_WORDS), np.uint32)
        stores = self._trace_to_stores(name, indices)
        with self.site.team.timed(MAP):
            stored = in_order(stores, indices.start, len(indices), self.site.team)
        leave_stores(stores, self.site.team)
        return stored

    def _trace_to_stores(self, name: str, indices: range) -> list[PhotonStore]:
        stores = trace_to_stores(*self.requests[name], self.site.team, indices)
        self.site.count(*counted(stores))
        return stores

    def _scale_of(self, name: str) -> float:
        return self.requests[name].task.watts / self.emitted


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
