"""The driver `sppm`."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from renderer.camera_paths.task import EyeTask
from renderer.drivers.driver import Carried, Radiance, RenderSettings, Work
from renderer.drivers.pass_site import PassSite
from renderer.drivers.photon import PhotonDriver
from renderer.drivers.search_radius import SHRINK_ALPHA
from renderer.errors import RenderError
from renderer.photons.lookup import PhotonLookup
from scenes.model import Snapshot
from shaders.float32 import Doubles, Longs
from tracecore.dispatch.tracer import Tracer
from tracecore.workers.pool import Helpers

if TYPE_CHECKING:
    from renderer.gpu.eye_waves import EyePass

#: The grid of photons has cells no smaller than the first radius over this.
MOST_CELLS_PER_RADIUS = 4.0

#: Pixels whose discs a worker shrinks at a time: fewer than in a small picture are not worth that others come.
PART_PIXELS = 1 << 18


class Discs(NamedTuple):
    """Holds what pixels know after some passes.

    radius2: (pixels,) float64, of the next search, squared.
    photons: (pixels,) float64, the paper's N: photons that stay within, alpha of those found.
    """

    passes: int
    radius2: Doubles
    photons: Doubles


class StochasticDriver(PhotonDriver):
    """Makes a picture by stochastic progressive photon mapping: each pixel has a radius that shrinks as photons come.

    Hachisuka, Jensen: Stochastic Progressive Photon Mapping, 2009. The paper's flux tau shrinks with its disc, by the
    same factor; so tau over the disc, which is the estimate, is the sum of what each pass found over the disc of that
    pass. A pass is that summand, and the mean of the passes is the paper's estimate with no more to be kept of it.
    """

    name = "sppm"
    summary = "progressive photon mapping with a radius for each pixel that shrinks where photons come"
    is_sequential = True
    is_concurrent = True  # a pass waits itself for what the one before it leaves
    can_leave_out = False  # discs of pixels shrink together

    #: What pixels know: nothing before the pilot has looked about.
    discs = Discs(0, np.empty(0), np.empty(0))

    def __init__(self, snapshot: Snapshot, tracer: Tracer, settings: RenderSettings) -> None:
        super().__init__(snapshot, tracer, settings)
        self.discs = self._first_discs()

    def cell_of(self, index: int) -> float:
        """Returns the least edge of cells, which needs nothing of the passes before, world units."""
        return cell_for(self.first_radius, index)

    def task_of_waves(self) -> tuple[EyeTask, PhotonLookup]:
        """Returns what passes on a GPU have in common, as `EyeDriver` says."""
        task, lookup = super().task_of_waves()
        return task, lookup._replace(radii=self.discs.radius2, found=np.zeros(len(self.discs.radius2), np.int64))

    def passes_in_waves(self, works: list[tuple[int, Work]]) -> list[EyePass]:
        """Returns a pass as `EyeDriver` says, with the radii that the passes before it have left."""
        self.discs = self._discs_before(works[0][0])
        (made,) = super().passes_in_waves(works)
        return [made._replace(reach=0.0, radii=np.sqrt(self.discs.radius2))]

    def take_found(self, found: Longs) -> None:
        """Shrinks the discs of pixels after a pass on a GPU."""
        self.discs = shrunk(self.discs, found.astype(np.float64))

    def follow_camera_paths(self, index: int, photon_map: PhotonLookup, site: PassSite) -> Radiance:
        """Returns the pixels of a pass with the radii that the passes before it have left, for which it waits, and
        shrinks them by the photons that they have found."""
        site.team.await_before()
        discs = self._discs_before(index)
        lookup = photon_map._replace(radii=np.sqrt(discs.radius2), found=np.zeros(len(discs.radius2), np.int64))
        image = self.trace_eye_paths(site, self.eye_task(index), lookup)
        self.discs = shrunk_by(discs, lookup.found, site.team)
        return image

    def carries(self) -> Carried:
        """Returns what pixels know after the pass that was just traced: the fields of `Discs` that are arrays."""
        return {"radius2": self.discs.radius2, "photons": self.discs.photons}

    def take_up(self, passes: int, carried: Carried) -> None:
        """Goes on with the discs that so many passes have left. Raises `ValueError` where these are none."""
        shapes = {name: one.shape for name, one in carried.items()}
        if shapes != {name: one.shape for name, one in self.carries().items()}:
            raise ValueError(f"expected the discs of {len(self.discs.radius2)} pixels, got {shapes}")
        self.discs = Discs(passes, **carried)

    def _first_discs(self) -> Discs:
        pixels = self.settings.width * self.settings.height
        return Discs(0, np.full(pixels, self.first_radius**2), np.zeros(pixels))

    def _discs_before(self, index: int) -> Discs:
        if index == 0:
            return self._first_discs()
        if index != self.discs.passes:
            raise RenderError(f"pass {index} of sppm needs the one before it; {self.discs.passes} are done")
        return self.discs


def cell_for(first_radius: float, index: int) -> float:
    """Returns the edge of the cells in which photons of pass `index` are sorted: as wide as discs are by then that find
    photons spread evenly. It needs nothing of the passes before.
    """
    return max(evenly_shrunk(first_radius, index), first_radius / MOST_CELLS_PER_RADIUS)


def evenly_shrunk(first_radius: float, passes: int) -> float:
    """Returns the radius after so many passes of a disc that finds photons spread evenly: as many as its area has."""
    i = np.arange(passes, dtype=np.float64)
    return first_radius * float(np.sqrt(np.prod((i + SHRINK_ALPHA) / (i + 1.0))))


def shrunk_by(discs: Discs, found: Longs, workers: Helpers) -> Discs:
    """Returns the discs after a pass that found so many photons within each; workers share the pixels."""
    parts = [slice(first, first + PART_PIXELS) for first in range(0, len(found), PART_PIXELS)]

    def shrunk_part(part: slice) -> Discs:
        return shrunk(Discs(discs.passes, discs.radius2[part], discs.photons[part]), found[part].astype(np.float64))

    made = workers.map(shrunk_part, parts)
    radius2, photons = (np.concatenate([part[field] for part in made]) for field in (1, 2))
    return Discs(discs.passes + 1, radius2, photons)


def shrunk(discs: Discs, found: Doubles) -> Discs:
    """Returns the discs after a pass that found so many photons within each disc (section 3 of the paper)."""
    photons = discs.photons + SHRINK_ALPHA * found
    all_photons = discs.photons + found
    kept = np.divide(photons, all_photons, out=np.ones_like(photons), where=all_photons > 0.0)
    return Discs(discs.passes + 1, discs.radius2 * kept, photons)
