"""What drivers share that trace photons and look them up in maps: where photons are sent, and how wide a search is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from renderer.camera_paths.task import PARTLY, EyeTask
from renderer.drivers.driver import MAP_BYTES, STORED_GUESS, Caustics, Radiance, RenderSettings, Work, photons_of_a_pass
from renderer.drivers.eye import EyeDriver
from renderer.drivers.pass_photons import (
    CAUSTIC,
    DIRECT,
    VOLUME,
    WHOLE,
    PassPhotons,
    PhotonRequest,
    PhotonRequests,
    group_key,
    photon_task,
)
from renderer.drivers.pass_site import PassSite
from renderer.drivers.search_radius import footprint_radius, photon_radius
from renderer.photons.batch import PHOTON_SETTINGS, PhotonTask
from renderer.photons.building import MAP_CODE
from renderer.photons.counts import PhotonCounts
from renderer.photons.lookup import PhotonLookup, look_up
from renderer.photons.photon_map import Words
from renderer.photons.store import PHOTON_RAYS, PHOTONS_STORED
from renderer.photons.targets import NO_SPHERES, Targets
from renderer.photons.tracing import PHOTON_CODE, trace_photons
from renderer.photons.volume import CELL_RADII
from renderer.scene.group_scenes import scene_of_group
from renderer.scene.packed_scene import PackedScene
from renderer.scene.photon_scene import IN_MEDIUM
from scenes.model import Snapshot
from shaders.float32 import Doubles, Longs
from tracecore.dispatch.tracer import Tracer
from tracecore.workers.tasks import Team

if TYPE_CHECKING:
    from renderer.gpu.eye_waves import EyePass
    from renderer.gpu.photon_maps import PhotonMaps

#: Photons of a caustic map have other random numbers: those of passes that no render comes to.
CAUSTIC_SEQUENCE = 1 << 31

#: And so have those of a volume map.
VOLUME_SEQUENCE = 1 << 30


class Look(NamedTuple):
    """Says how pixels look for photons.

    radii: (pixels,) float64, of each pixel of the picture, as `PhotonLookup` has them.
    pixels: (n,) int32, those that look at least, row * width + column.
    """

    radii: Doubles
    pixels: npt.NDArray[np.int32]


class PhotonMapDriver(EyeDriver):
    """Holds what drivers share that trace photons and look them up in maps.

    emitted: photons that a pass sends out for a map.
    first_radius: of the search for them, world units.
    has_sharp: whether some surface may throw a caustic.
    has_fog: whether some medium scatters.
    first_beam_radius: around rays, within which photons in media are looked for, world units.
    volume_share: of photons in media, which are kept.
    projected_scene: the scene with its photons sent where they are needed.
    pixel_radii: (pixels,) float64, a first radius for each pixel as `PhotonLookup.radii` has them, or (0,).
    """

    takes = EyeDriver.takes | {"photons", "radius", *PHOTON_SETTINGS}
    caustics = Caustics.ALL
    traces_photons = True
    code = (*PHOTON_CODE, *MAP_CODE, *EyeDriver.code)

    def __init__(self, snapshot: Snapshot, tracer: Tracer, settings: RenderSettings) -> None:
        super().__init__(snapshot, tracer, settings)
        self.has_sharp = bool(self.scene.are_sharp[self.scene.surfaces.material_ids].any())
        self.pixel_radii: Doubles = np.empty(0)
        #: By the numbers of scenes in memory, which are kept, and of groups.
        self._scenes_of_groups: dict[tuple[int, int], tuple[PackedScene, PackedScene]] = {}
        emitted = photons_of_a_pass(settings)
        self.search_with(settings.radius or self.even_radius(emitted), emitted)
        self.projected_scene = self.projected(settings.guide_share)
        self.has_fog = bool(self.scene.photon_scene.flags & IN_MEDIUM)
        self.first_beam_radius, self.volume_share = self.first_radius, 1.0

    def photon_requests(self, index: int) -> PhotonRequests:
        """Returns which photons a pass traces, for its maps."""
        raise NotImplementedError

    def radius_of(self, index: int) -> float:
        """Returns the radius of the photon search in a pass, world units."""
        raise NotImplementedError

    def far_radius_of(self, index: int) -> float:
        """Returns the radius of the search behind irradiance that a pass knows at photons, world units; 0 where it
        knows none."""
        return 0.0

    def cell_of(self, index: int) -> float:
        """Returns the least edge of the cells in which the photons of a pass are sorted, world units."""
        return self.radius_of(index)

    def even_radius(self, emitted: int) -> float:
        """Returns the first radius where so many photons are taken to spread evenly."""
        footprint = footprint_radius(self.tracer, self.camera, self.settings.height)
        return max(footprint, photon_radius(self.scene.area, emitted))

    def search_with(self, first_radius: float, emitted: int) -> None:
        """Takes a first radius of the search, world units, and how many photons a pass sends out for a map."""
        self.first_radius, self.emitted = first_radius, emitted
        self.settings = replace(self.settings, photons=emitted, radius=first_radius)

    def _why_on_cpu(self) -> str | None:
        reason = super()._why_on_cpu()
        if reason is None:
            from renderer.gpu.photon_waves import why_not

            requests = self.photon_requests(0).values()
            return next((why for one in requests if (why := why_not(one.scene, self.tracer)) is not None), None)
        return reason

    def begin_to_compile(self) -> None:
        """Has code for a GPU compiled, as `EyeDriver` says: first what a pilot calls."""
        if self.why_on_cpu is None:
            from renderer.gpu.photon_waves import begin_to_compile

            begin_to_compile(self.tracer, *next(iter(self.photon_requests(0).values())))  # type: ignore[arg-type]
        super().begin_to_compile()

    def task_of_waves(self) -> tuple[EyeTask, PhotonLookup]:
        """Returns what passes on a GPU have in common, as `EyeDriver` says."""
        task, lookup = super().task_of_waves()
        return self._with_radii(task, lookup, self.pixel_radii)

    def gpu_bytes_of_pass(self) -> int:
        """Returns about how much memory of a GPU the photons of a pass take."""
        return MAP_BYTES * STORED_GUESS * self.emitted * len(self.photon_requests(0))

    def passes_in_waves(self, works: list[tuple[int, Work]]) -> list[EyePass]:
        """Returns passes as `EyeDriver` says, once their photons are traced and sorted on the GPU."""
        from renderer.gpu.eye_waves import EyePass

        passes, radii = [], self.pixel_radii
        wanting = int(np.count_nonzero(radii[self.pixels] < 0.0)) if len(radii) else 0
        for (number, work), maps in zip(works, self.maps_in_waves(works), strict=True):
            reach = self.radius_of(number)
            work.photons.wanting += wanting
            reaches = self.far_radius_of(number), self.beam_radius_of(number)
            passes.append(EyePass(number, reach, maps, radii * (reach / self.first_radius), *reaches))
        return passes

    def maps_in_waves(self, works: list[tuple[int, Work]]) -> list[npt.NDArray[np.void]]:
        """Returns the maps of passes on the GPU, as `EyePass` has them. works: see `passes_in_waves`."""
        numbers = [number for number, _ in works]
        requests = [self.photon_requests(number) for number in numbers]
        if not requests[0]:
            return [maps_of_pass({}) for _ in works]
        far = {WHOLE: radii} if all(radii := [self.far_radius_of(number) for number in numbers]) else {}
        cells = [
            dict.fromkeys(requests[0], self.cell_of(number)) | {VOLUME: CELL_RADII * self.beam_radius_of(number)}
            for number in numbers
        ]
        made = self.gpu_maps.of_passes(requests, self.emitted, cells, far)
        self.count_on_gpu(made.seconds, made.traced_seconds)
        for (_, work), counters in zip(works, made.counters, strict=True):
            work.photons.add(PhotonCounts(*counters[:PHOTON_RAYS].tolist()))
            work.rays.photon += int(counters[PHOTON_RAYS])
        return [maps_of_pass(maps) for maps in made.maps]

    @cached_property
    def gpu_maps(self) -> PhotonMaps:
        """Returns what traces photons of passes on the GPU, and sorts them."""
        from renderer.gpu.photon_maps import MAPS_TOGETHER, PhotonMaps
        from renderer.gpu.photon_waves import MOST_PHOTONS

        (scene, task), *_ = self.photon_requests(0).values()
        fitting = min(MAPS_TOGETHER, MOST_PHOTONS // (STORED_GUESS * self.emitted))
        passes = 1 if self.is_sequential or self.has_one_map else max(1, fitting)
        return PhotonMaps(self.tracer, scene, task, passes)  # type: ignore[arg-type]

    def stored(self, scene: PackedScene, task: PhotonTask, photons: int) -> Words:
        """Returns the first so many photons of a task as they are stored, (n, PHOTON_WORDS) uint32, in their order."""
        if self.why_on_cpu is None:
            return self.gpu_maps.photons.stored(scene, task, range(photons))
        return self.by_workers(lambda team: trace_photons(scene, task, team, range(photons))).stored

    def count_stored(self, request: PhotonRequest, photons: int) -> int:
        """Returns how many of the first photons of a request are stored."""
        if self.why_on_cpu is None:
            stored = self.gpu_maps.photons.store(request.scene, [request.task], range(photons))
            return int(stored.counters[0, PHOTONS_STORED])
        traced = self.by_workers(lambda team: trace_photons(request.scene, request.task, team, range(photons)))
        return traced.counts.stored

    def projected(self, share: float, needed: Doubles = NO_SPHERES) -> PackedScene:
        """Returns the scene with a share of its photons sent to mirrors and glass, and others to what is needed, unless
        the user wants none sent anywhere."""
        if not self.settings.projection:
            return self.scene
        return self._targets.projected(share, needed)

    @cached_property
    def _targets(self) -> Targets:
        return Targets(self.scene)

    @cached_property
    def caustic_scene(self) -> PackedScene:
        """Returns the scene with all photons sent where they make caustics."""
        return self.projected(1.0) if self.has_sharp else self.scene

    def with_parts(self, request: PhotonRequest, index: int) -> PhotonRequests:
        """Returns a request for the photons of a pass, and those for parts of them: what layers tell apart, and
        caustics for pixels that have no radius.

        Photons of parts are traced again, those of each part alone: what becomes of a photon depends on its index and
        on nothing else.
        """
        requests = {WHOLE: request}
        if self.settings.layers == "all" and self.has_sharp:
            requests[CAUSTIC] = request._replace(task=request.task._replace(min_bounces=1, only_caustics=True))
        elif (self.pixel_radii < 0.0).any():
            requests |= self.caustic_requests(index)
        if self.settings.layers == "all" and request.task.min_bounces == 0:
            requests[DIRECT] = request._replace(task=request.task._replace(max_bounces=1))
        return self.with_groups(requests | self.volume_requests(index))

    def with_groups(self, requests: PhotonRequests) -> PhotonRequests:
        """Returns requests with those for the photons of each light group, where these are told apart: of all maps that
        light is looked up in."""
        groups = range(self.settings.light_groups)
        looked_up = [CAUSTIC] if WHOLE not in requests or (self.pixel_radii < 0.0).any() else []
        return requests | {
            group_key(name, group): request._replace(scene=self._scene_of_group(request.scene, group))
            for name, request in requests.items()
            if name in (WHOLE, VOLUME, *looked_up)
            for group in groups
        }

    def _scene_of_group(self, scene: PackedScene, group: int) -> PackedScene:
        key = (id(scene), group)
        if key not in self._scenes_of_groups:
            self._scenes_of_groups[key] = (scene, scene_of_group(scene, group))
        return self._scenes_of_groups[key][1]

    def caustic_requests(self, index: int) -> PhotonRequests:
        """Returns which photons of a pass are to make caustics: those that mirrors and glass alone bring to others."""
        if not self.has_sharp:
            return {}
        sequence = index | CAUSTIC_SEQUENCE
        task = photon_task(self.caustic_scene, self.settings, sequence, min_bounces=1, only_caustics=True)
        return {CAUSTIC: PhotonRequest(self.caustic_scene, task)}

    def volume_requests(self, index: int) -> PhotonRequests:
        """Returns which photons of a pass are kept in media that scatter: also those straight from a light. They are
        traced apart from those of surfaces."""
        if not self.has_fog:
            return {}
        task = photon_task(self.projected_scene, self.settings, index | VOLUME_SEQUENCE, min_bounces=0)
        return {VOLUME: PhotonRequest(self.projected_scene, task._replace(volume_share=self.volume_share))}

    def beam_radius_of(self, index: int) -> float:
        """Returns within what radius of a ray a pass looks for photons in media, world units: it shrinks as discs do
        that find photons spread evenly, since the kernel is a disc too."""
        return self.first_beam_radius * self.radius_of(index) / self.first_radius

    def trace_with_photons(self, site: PassSite, task: EyeTask, photon_map: PhotonLookup) -> Radiance:
        """Returns the pixels of a pass whose paths look for photons within the radius of the task or, where a pilot has
        learnt one for each pixel, within that, which shrinks by the same share."""
        if len(self.pixel_radii) == 0:
            return self.trace_eye_paths(site, task, photon_map)
        site.work.photons.wanting += int(np.count_nonzero(self.pixel_radii[site.pixels] < 0.0))
        return self.trace_with_radii(site, task, photon_map, self.pixel_radii * (task.radius / self.first_radius))[0]

    def trace_with_radii(
        self, site: PassSite, task: EyeTask, lookup: PhotonLookup, radii: Doubles
    ) -> tuple[Radiance, Longs]:
        """Returns the pixels of a pass where each has a radius of its own, or follows its first diffuse reflection, and
        the photons found for each.

        radii: (pixels,) float64, as `PhotonLookup` has them.
        """
        task, lookup = self._with_radii(task, lookup, radii)
        return self.trace_eye_paths(site, task, lookup), lookup.found

    def found_with_radii(self, index: int, request: PhotonRequest, looks: Sequence[Look]) -> Sequence[Longs]:
        """Returns the photons that each pixel of a whole picture finds in pass `index` with the first radius, (pixels,)
        int64, for each of some looks: what is told of pixels that are not looked at has no meaning.

        request: the photons of the pass.
        """
        if self.why_on_cpu is None and self.settings.crop is None:
            return self._found_in_waves(index, request, looks)
        return self.by_workers(partial(self._found_by_team, index, request, looks))

    def _found_by_team(self, index: int, request: PhotonRequest, looks: Sequence[Look], team: Team) -> Sequence[Longs]:
        site = PassSite(team, looks[0].pixels)
        photons = PassPhotons({WHOLE: request}, self.emitted, site)
        lookup = look_up(photons.build_map(WHOLE, self.first_radius))
        task = self.eye_task(index, self.first_radius)
        found = [self.trace_with_radii(replace(site, pixels=pixels), task, lookup, radii)[1] for radii, pixels in looks]
        site.give_back()
        return found

    def _found_in_waves(self, index: int, request: PhotonRequest, looks: Sequence[Look]) -> Sequence[Longs]:
        from renderer.gpu.eye_waves import EyePass

        made = self.gpu_maps.of_passes([{WHOLE: request}], self.emitted, [{WHOLE: self.first_radius}])
        maps = maps_of_pass(made.maps[0])
        self.pixel_radii = looks[0].radii  # so that passes to come have room for radii
        waves = self._waves = self._new_waves()
        return [waves.trace([EyePass(index, self.first_radius, maps, radii)]).found[0] for radii, _ in looks]

    def _with_radii(self, task: EyeTask, lookup: PhotonLookup, radii: Doubles) -> tuple[EyeTask, PhotonLookup]:
        """Returns task and photons of a pass, where each pixel has a radius of its own if there are any."""
        if len(radii) == 0:
            return task, lookup
        return task._replace(diffuse=PARTLY), lookup._replace(radii=radii, found=np.zeros(len(radii), np.int64))


def maps_of_pass(maps: Mapping[str, npt.NDArray[np.void]]) -> npt.NDArray[np.void]:
    """Returns maps on a GPU as `EyePass` has them: caustics alone stand for all photons that there are no others of.

    maps: by their names; none of those without light.
    """
    from renderer.gpu.photon_maps import OTHERS, SAMPLES, no_map

    none = no_map()
    caustics = maps.get(CAUSTIC, none)
    others = (maps.get(name, none) for name in (DIRECT, SAMPLES, OTHERS, VOLUME))
    return np.concatenate([maps.get(WHOLE, caustics), caustics, *others])
