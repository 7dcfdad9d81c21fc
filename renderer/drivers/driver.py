"""This module says what every driver is: one class, handed a scene and a tracer, that makes one pass of a picture after
the other.
"""

from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from itertools import count, takewhile
from typing import Protocol, cast

import numpy as np
import numpy.typing as npt

from renderer.photons.counts import PhotonCounts
from renderer.settings.picture import DRIVER_SETTINGS
from renderer.settings.picture import RenderSettings as RenderSettings
from tracecore.kernels.choice import RayClass

Radiance = npt.NDArray[np.float64]

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


def settings_taken(driver: type[object]) -> frozenset[str]:
    """Return which of `settings.picture.DRIVER_SETTINGS` a driver takes; one that does not say takes all."""
    taken: frozenset[str] = getattr(driver, "takes", frozenset(DRIVER_SETTINGS))
    return taken


def curve_of(driver: type[object]) -> str:
    """Return the name of the curve that a driver's pictures are shown by, where the user names none."""
    curve: str = getattr(driver, "curve", "reinhard")
    return curve


def ray_class_of(driver: type[object]) -> RayClass | None:
    """Return what most rays of a driver are like; None, rays of all kinds, for one that does not say."""
    ray_class: RayClass | None = getattr(driver, "ray_class", None)
    return ray_class


def passes_of(driver: "Driver", first: int, may_begin: Callable[[int], bool]) -> Generator[Radiance]:
    """Yields passes in order, while those after them may be under way already.

    first: index of the first pass.
    may_begin: says of an index whether that pass is to be made; after the first that is not, none is.

    What is under way when the caller leaves is given up. An error of a pass comes when its turn comes.
    """
    at_once: Callable[[int, Callable[[int], bool]], Generator[Radiance]] | None = getattr(driver, "passes", None)
    if at_once is not None:
        yield from at_once(first, may_begin)
        return
    for index in takewhile(may_begin, count(first)):
        yield driver.render_pass(index)


class Driver(Protocol):
    """This is a way to make a picture: the mean of all passes converges to it.

    A driver that can have several passes under way at once also has `passes`, with the arguments of `passes_of`. Passes
    come in order, from 0 on. What a driver learns from those before stays within the driver; one whose pictures can be
    resumed is a `ResumableDriver`. The samples of
    passes keep apart, so that passes are not independent; but the two halves of them (`renderer.film.halves`) are, as
    far as passes share nothing else, such as the one photon map of `photons-only`.
    """

    @property
    def name(self) -> str:
        """Returns the name by which `drivers.DRIVERS` lists the driver."""

    @property
    def work(self) -> Work:
        """Returns what the driver has done so far."""

    @property
    def settings(self) -> RenderSettings:
        """Returns the settings as used: what the user left open is filled in."""

    def render_pass(self, index: int) -> Radiance:
        """Returns pass `index` (0-based): (height, width, columns) float64, first row at the top, of the whole picture
        or of `settings.crop`, for a driver whose class says `can_crop`.

        The first columns are linear radiance, and behind it is what `settings.layers` asks for, see `layers`.
        """

    def close(self) -> None:
        """Gives back what the driver holds; the tracer stays open."""


class ResumableDriver(Driver, Protocol):
    """This is a driver whose pictures can go on in another process."""

    @property
    def can_resume(self) -> bool:
        """Returns whether it tells all that passes need of those before them."""

    def carried(self, passes: int) -> Carried:
        """Returns what the pass after so many needs of them, which are all that were yielded, or all but the last."""

    def take_up(self, passes: int, carried: Carried) -> None:
        """Goes on where a driver with the same scene and settings stopped.

        passes: that the other had yielded.
        carried: what it returned of them.

        Raises `ValueError` where that is nothing that it can have returned.
        """


def resumable(driver: Driver) -> ResumableDriver | None:
    """Return the driver, if its pictures can go on in another process."""
    return cast("ResumableDriver", driver) if getattr(driver, "can_resume", False) else None
