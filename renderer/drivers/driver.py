"""This module says what every driver is: one class, handed a scene and a tracer, that makes one pass of a picture after
the other.
"""

from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, field, fields, is_dataclass, replace
from enum import Enum
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from renderer.film.layers import LAYER_BIAS, LAYER_COLUMNS, columns_of
from renderer.photons.batch import PhotonTask
from renderer.photons.counts import PhotonCounts
from renderer.photons.photon_map import Words
from renderer.settings.picture import RenderSettings as RenderSettings
from scenes.files.memory import usable_bytes
from scenes.model import Snapshot
from tracecore.dispatch.tracer import Tracer, TracerStatistics
from tracecore.kernels.choice import RayClass
from tracecore.workers.pool import Log

Radiance = npt.NDArray[np.float64]

#: Photons of a pass where the user names no number: so many for each pixel, where memory for them is moderate.
PHOTONS_PER_PIXEL, MOST_USUAL_PHOTONS = 2, 10_000_000

#: Bytes of a photon while a map is made of it: in its store, on its way to a cell, in the map, and its share of cells.
MAP_BYTES = 96

#: Photons that a pass stores for each that it sends out, as long as no pass has told.
STORED_GUESS = 4

#: Pictures in memory for each pass under way: its own, and one that is finished and waits to be added.
IMAGES_OF_PASS = 2

#: Passes under way may take this share of the memory of the machine.
MEMORY_SHARE = 0.4

#: Bytes that a machine is taken to have which does not tell.
USUAL_MEMORY = 1 << 33

#: What a pass needs of those before it, by name.
Carried = dict[str, npt.NDArray[np.float64]]


@dataclass(kw_only=True)
class RayCounts:
    """Counts the rays traced, by purpose: from the eye, to a light, after an interaction of an eye path, photons."""

    camera: int = 0
    shadow: int = 0
    bounce: int = 0
    photon: int = 0

    @property
    def total(self) -> int:
        """Returns the number of all rays."""
        return self.camera + self.shadow + self.bounce + self.photon

    def add(self, other: "RayCounts") -> None:
        """Counts other rays too."""
        self.camera += other.camera
        self.shadow += other.shadow
        self.bounce += other.bounce
        self.photon += other.photon


@dataclass(kw_only=True)
class Work:
    """Holds what a driver has done so far. Seconds are wall time, those of its threads the mean over them.

    trace_seconds: threads traced or waited for hits.
    wait_seconds: of these they waited; 0 on a CPU that traces in place.
    shade_seconds: threads did the work of their loops.
    lookup_seconds: of these they looked up photons for eye paths.
    map_seconds: threads put photons in order and into maps.
    idle_seconds: threads had nothing to do.
    python_seconds: threads did anything else.
    bytes_up, bytes_down: of rays and hits, as a device has to read and write them.
    """

    rays: RayCounts = field(default_factory=RayCounts)
    photons: PhotonCounts = field(default_factory=PhotonCounts)
    trace_seconds: float = 0.0
    wait_seconds: float = 0.0
    shade_seconds: float = 0.0
    lookup_seconds: float = 0.0
    map_seconds: float = 0.0
    idle_seconds: float = 0.0
    python_seconds: float = 0.0
    bytes_up: int = 0
    bytes_down: int = 0


class Caustics(Enum):
    """Says of which lights a driver sees what comes through mirrors and glass to a diffuse surface."""

    NONE = "none"
    OF_LIGHTS_WITH_SIZE = "of lights with size"
    ALL = "all"


class MadeShare(NamedTuple):
    """Is a pass that was made, or a share of one (`renderer.drivers.shares`).

    values: of a whole pass (height, width, columns) float64, first row at the top, of the picture or of its crop; of a
    part (pixels, columns); of a run of passes the sums of their film (`Film.sums`); of a range of photons `Photons`; of
    maps a `PhotonLookup`.
    work: the rays and photons that it took.
    carried: what the next pass needs of it and of those before; of a part, what its own pixels have is right alone.
    passes: how many the run has, 1 where it is none.
    """

    values: Any
    work: Work
    carried: Carried
    passes: int = 1


C = TypeVar("C", Work, RayCounts, PhotonCounts, TracerStatistics)


def summed(one: C, other: C, sign: int = 1) -> C:
    """Returns the sum of two counts of the same kind, number by number; with -1 their difference."""
    pairs = {field.name: (getattr(one, field.name), getattr(other, field.name)) for field in fields(one)}
    sums = {name: summed(a, b, sign) if is_dataclass(a) else a + sign * b for name, (a, b) in pairs.items()}
    return type(one)(**sums)


class Driver:
    """This is a way to make a picture: the mean of all passes converges to it.

    A driver says by fields of its class what it is and what it can do:

    name, summary: by which it is chosen, and a line for the help.
    takes: which of `settings.picture.DRIVER_SETTINGS` do something for it; all others are refused.
    layers: the most columns that its passes have, a name of `layers.LAYER_COLUMNS`.
    has_light_groups: whether it tells apart which lamps light comes from.
    curve: by which its pictures are shown where the user names none.
    caustics: which it sees.
    is_opaque: whether sheets that let light straight through are solid to it.
    is_sequential: whether a pass needs what those before it have left.
    is_concurrent: whether several passes are under way at once; those of a sequential driver then wait themselves for
    what they need, by `Team.await_before`, and those of one that does not say so are made one after the other.
    can_resume: whether its pictures go on in another process, on another tracer and at another time of the scene: of a
    sequential driver, whether it tells what it `carries`, which needs no word.
    can_share: whether several processes can make its passes, and parts of them.
    traces_photons: whether photons are traced for its passes, and maps built of them.
    photon_bytes: of a photon while a map is made of it.
    has_one_map: whether all passes look up photons in the same map.
    keeps_photons: whether there is a photon map to be kept, by `save_photons`, and photons for it may be those of a
    `photon_run`, by `take_photons`.
    has_log: whether it knows what its threads do when.
    has_paths: whether it follows paths from the eye that can be told one by one.
    can_leave_out: whether a pass can leave pixels out that a film has enough of (`renderer.film.adaptive`).
    ray_class: what most of its rays are like, for which a kernel is chosen; None for rays of all kinds.
    code: machine code that its passes call, which is loaded before.

    The least that it has to have is `render_pass`. One that has several passes under way at once has `passes`.

    The samples of passes keep apart, so that passes are not independent; but the two halves of them
    (`renderer.film.film`) are, as far as passes share nothing else, such as the one photon map of
    `photons-only`.
    """

    name: ClassVar[str]
    summary: ClassVar[str] = ""
    takes: ClassVar[frozenset[str]] = frozenset()
    layers: ClassVar[str] = "bias"
    has_light_groups: ClassVar[bool] = False
    curve: ClassVar[str] = "reinhard"
    caustics: ClassVar[Caustics] = Caustics.ALL
    is_opaque: ClassVar[bool] = False
    is_sequential: ClassVar[bool] = False
    is_concurrent: ClassVar[bool] = False
    can_resume: ClassVar[bool] = True
    can_share: ClassVar[bool] = False
    traces_photons: ClassVar[bool] = False
    photon_bytes: ClassVar[int] = MAP_BYTES
    has_one_map: ClassVar[bool] = False
    keeps_photons: ClassVar[bool] = False
    has_log: ClassVar[bool] = False
    has_paths: ClassVar[bool] = False
    can_leave_out: ClassVar[bool] = False
    ray_class: ClassVar[RayClass | None] = None
    code: ClassVar[tuple[Callable[..., Any], ...]] = ()

    #: Settings as used: what the user left open is filled in.
    settings: RenderSettings

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        if "can_resume" not in vars(cls):
            cls.can_resume = not cls.is_sequential or cls.carries is not Driver.carries
        if "is_sequential" in vars(cls) and "is_concurrent" not in vars(cls):
            cls.is_concurrent = cls.is_concurrent and not cls.is_sequential

    def __init__(self, snapshot: Snapshot, tracer: Tracer, settings: RenderSettings) -> None:
        self.snapshot, self.tracer, self.settings = snapshot, tracer, settings
        self._work = Work()

    @property
    def work(self) -> Work:
        """Returns what the driver has done so far."""
        counters = self.counters()
        return replace(self._work, **counters) if counters else self._work

    @work.setter
    def work(self, work: Work) -> None:
        self._work = work

    def counters(self) -> dict[str, Any]:
        """Returns fields of `Work` that are counted elsewhere, by their names."""
        return {}

    @property
    def room(self) -> int:
        """Returns how many passes are under way at once."""
        return 1

    @property
    def pass_photons(self) -> int:
        """Returns how many photons a pass sends out for its maps, or all passes together where there is one map."""
        return 0

    @property
    def traced(self) -> TracerStatistics | None:
        """Returns what tracers elsewhere have done for it; None where it has the one that it was given."""
        return None

    @property
    def members(self) -> dict[str, Any]:
        """Returns what the statistics say of the processes that share the passes out, where there are several."""
        return {}

    def render_pass(self, index: int) -> Radiance:
        """Returns pass `index` (0-based): (height, width, columns) float64, first row at the top, of the whole picture.

        The first columns are linear radiance, and behind it is what `settings.layers` asks for, see `layers`. One that
        has the three columns of radiance alone will do where no more than `bias` is asked for.
        """
        raise NotImplementedError

    def passes(self, indices: Iterator[int], carried: Carried | None = None) -> Generator[MadeShare]:
        """Yields passes in order, while those after them may be under way already.

        indices: of the passes, counting up; the next one is taken when there is room for another pass.
        carried: what the first of them needs of those before it, where the driver has not made these.

        What is under way when the caller leaves is given up. An error of a pass comes when its turn comes.
        """
        for index in indices:
            if carried:
                self.take_up(index, carried)
                carried = None
            before = summed(self.work, Work())
            image = with_columns(within_crop(self.render_pass(index), self.settings), self.settings)
            yield MadeShare(image, summed(self.work, before, -1), self.carries())

    @classmethod
    def has_waves(cls) -> bool:
        """Returns whether a GPU can shade what the driver's rays hit."""
        return False

    @property
    def why_on_cpu(self) -> str | None:
        """Returns why threads of the CPU shade, in words, or None where a GPU does."""
        return "the driver has no loops that a GPU runs"

    def carries(self) -> Carried:
        """Returns what the pass after the one that was just made needs of those before it."""
        return {}

    def take_up(self, passes: int, carried: Carried) -> None:
        """Goes on where a driver with the same scene and settings stopped.

        passes: that the other had made.
        carried: what it returned of them.

        Raises `ValueError` where that is nothing that it can have returned.
        """

    def logs(self) -> list[Log]:
        """Returns what each thread did when."""
        return []

    def save_photons(self, path: Path) -> None:
        """Keeps the photon map in a file."""
        raise NotImplementedError

    def photon_run(self) -> PhotonTask:
        """Returns the task of the photons of the map, of which there are `pass_photons`."""
        raise NotImplementedError

    def take_photons(self, photons: Words) -> None:
        """Has photons, (n, PHOTON_WORDS) uint32, looked up in place of those that would be traced."""
        raise NotImplementedError

    def look_again(self) -> None:
        """Has whoever waits for another pass to begin look whether there is one, where somebody may wait. It is called
        from any thread."""

    def give_up(self) -> None:
        """Has the passes under way end early, where there are such. It is called from any thread."""

    def close(self) -> None:
        """Gives back what the driver holds; the tracer stays open."""


def within_crop(image: Radiance, settings: RenderSettings) -> Radiance:
    """Returns what is made of a whole picture. image: of all pixels, row by row, and their columns."""
    if settings.crop is None and image.ndim == 3:
        return image
    whole = image.reshape(settings.height, settings.width, -1)
    x, y, width, height = settings.crop or (0, 0, settings.width, settings.height)
    return np.ascontiguousarray(whole[y : y + height, x : x + width])


def with_columns(image: Radiance, settings: RenderSettings) -> Radiance:
    """Returns a pass that has radiance alone with the column of its bias, which is none, where that is asked for."""
    if settings.layers != "bias" or image.shape[2] != LAYER_BIAS:
        return image
    return np.concatenate([image, np.zeros((*image.shape[:2], LAYER_COLUMNS["bias"] - LAYER_BIAS))], axis=2)


def photons_of_a_pass(settings: RenderSettings) -> int:
    """Returns how many photons a pass sends out for a map: what the user says, or by the size of the picture."""
    return settings.photons or min(PHOTONS_PER_PIXEL * settings.width * settings.height, MOST_USUAL_PHOTONS)


def image_bytes(settings: RenderSettings) -> int:
    """Returns how much memory the images of a pass take."""
    return IMAGES_OF_PASS * 8 * columns_of(settings) * settings.width * settings.height


def pass_bytes(driver: type[Driver], settings: RenderSettings, stored: float = STORED_GUESS) -> int:
    """Returns about how much memory a pass takes, before there is any.

    stored: photons that it stores for each that it sends out.
    """
    has_maps = driver.traces_photons and not driver.has_one_map
    return image_bytes(settings) + (int(driver.photon_bytes * stored * photons_of_a_pass(settings)) if has_maps else 0)


def memory_for_passes() -> float:
    """Returns how many bytes the passes under way may take together: a share of what there is, or is allowed."""
    usable = usable_bytes()
    return MEMORY_SHARE * (USUAL_MEMORY if usable is None else usable)


def passes_under_way(driver: type[Driver], threads: int, bytes_of_pass: int, processes: int = 1) -> int:
    """Returns how many passes may be under way at once: as many as there are threads, if memory allows.

    processes: that share the memory.
    """
    return min(threads, int(memory_for_passes() / processes / bytes_of_pass)) if driver.is_concurrent else 1
