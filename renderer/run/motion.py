"""Motion blur arises as passes look at the scene at different times while the shutter is open.

The first passes, `samples` of them, have a time each; then come as many times with two passes each, then as many with
four, and so on, so that going from time to time costs less and less. The times are van der Corput's, shifted by the
seed: however many passes there are, they are spread evenly over the shutter's span, and what time a pass has depends on
nothing but its number. (Cranley, Patterson: Randomization of Number Theoretic Methods for Multiple Integration, 1976.)
"""

from __future__ import annotations

from contextlib import ExitStack, closing
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

from renderer.drivers.driver import RayCounts, Work, passes_of, resumable
from renderer.errors import UsageError
from renderer.photons.counts import PhotonCounts
from renderer.run.halton import radical_inverse
from renderer.run.statistics import ratio
from shaders.random import STREAM_CAMERA, random4
from tracecore.dispatch.tracer import TracerStatistics

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from contextlib import AbstractContextManager

    import numpy.typing as npt

    from renderer.drivers.driver import Carried, Driver, Radiance, RenderSettings, ResumableDriver
    from renderer.scene.render_context import RenderContext
    from renderer.scene.tree_updates import Update
    from scenes.model import Snapshot
    from tracecore.bvh.tree import BinaryTree
    from tracecore.dispatch.tracer import Tracer

    Array = npt.NDArray[Any]

D = TypeVar("D", Work, RayCounts, PhotonCounts, TracerStatistics)

NO_WORK = TracerStatistics(batches=0, rays=0, busy_seconds=0.0, kernel_rays_per_second=0.0, invalid_rays=0)

#: Random numbers of the camera have a step for each purpose; this one is the shift of the times.
SHIFT_STEP = 2

#: What of a snapshot may differ between two that have the same picture: its time, and cameras that it is not seen by.
UNSEEN = ("time", "cameras")

#: What of a snapshot a tracer holds: triangles, and by their textures where there are holes.
TRACED_FIELDS = ("positions", "uvs", "material_ids", "materials", "textures")


@dataclass(frozen=True, kw_only=True)
class Motion:
    """Says how a scene moves while it is looked at.

    shutter: how long it is open, from the picture's time on, in the unit of the animation.
    samples: times that there are before passes share one.
    snapshot_at: returns the scene at a time.
    context: opens a tracer for a snapshot, whose tree may be there already.
    update: what becomes of the tree from time to time.
    """

    shutter: float
    samples: int
    snapshot_at: Callable[[float], Snapshot]
    context: Callable[[Snapshot, float, BinaryTree | None], AbstractContextManager[RenderContext]]
    update: Update = "auto"

    def time_of(self, block: int, start: float, seed: int) -> float:
        """Returns the time of the passes of a block, in a picture whose time is `start`."""
        shift = random4(np.uint64(seed), 0, 0, STREAM_CAMERA, SHIFT_STEP)[0]
        return start + self.shutter * ((float(radical_inverse(block, 2)) + shift) % 1.0)


def block_of(index: int, samples: int) -> int:
    """Returns the block of passes, 0-based, in which pass `index` is: `samples` blocks of one, as many of two, of four,
    ...
    """
    doublings = (index // samples + 1).bit_length() - 1
    first = samples * ((1 << doublings) - 1)
    return samples * doublings + ((index - first) >> doublings)


class MotionDriver:
    """Makes passes with a driver for each time, one after the other; photons too are those of the time.

    Where nothing moves, it is one driver, with the same bits as without a shutter. All have the settings of the first,
    which sees the scene at the time of the picture. What a sequential driver keeps from pass to pass goes on from time
    to time: the radii of `sppm` belong to a pixel, whatever moment it is seen at (Hachisuka, Jensen: Stochastic
    Photon Mapping, 2009).

    Raises `UsageError` for a sequential driver that does not tell what it keeps.
    """

    def __init__(
        self,
        kind: Callable[[Snapshot, Tracer, RenderSettings], Driver],
        context: RenderContext,
        settings: RenderSettings,
        motion: Motion,
    ) -> None:
        from renderer.scene.tree_updates import TreeUpdates

        self._kind, self._motion, self._start = kind, motion, context.snapshot.time
        self._context = context
        self._driver = kind(context.snapshot, context.tracer, settings)
        self._running = ExitStack()
        self._running.enter_context(closing(self._driver))
        if self.is_sequential and not self.can_resume:
            self._running.close()
            raise UsageError(
                f"driver {self.name} does not tell what it keeps from pass to pass, so that it cannot go on at another "
                "time; leave out --shutter"
            )
        self._opened = ExitStack()
        self._updates = TreeUpdates(motion.update)
        self._block: int | None = None
        self._work_before, self._traced_before = Work(), NO_WORK

    @property
    def name(self) -> str:
        """Returns the name of the driver, which is the same at each time."""
        return self._driver.name

    @property
    def settings(self) -> RenderSettings:
        """Returns the settings as used, at all times."""
        return self._driver.settings

    @property
    def work(self) -> Work:
        """Returns what the drivers of all times have done together."""
        return summed(self._work_before, self._driver.work)

    @property
    def traced(self) -> TracerStatistics:
        """Returns what all tracers have done."""
        return both(self._traced_before, self._context.tracer.statistics())

    @property
    def is_sequential(self) -> bool:
        """Returns whether a pass needs what those before it have left."""
        return bool(getattr(self._driver, "is_sequential", False))

    @property
    def can_resume(self) -> bool:
        """Returns whether pictures can go on in another process: what the driver of one time knows stays with it."""
        return resumable(self._driver) is not None

    def carried(self, passes: int) -> Carried:
        """Returns what the driver of this time has carried, as `ResumableDriver` says."""
        return cast("ResumableDriver", self._driver).carried(passes)

    def take_up(self, passes: int, carried: Carried) -> None:
        """Goes on at the time of the last of so many passes, as `ResumableDriver` says."""
        self._look_at_block(block_of(passes - 1, self._motion.samples))
        cast("ResumableDriver", self._driver).take_up(passes, carried)

    def render_pass(self, index: int) -> Radiance:
        """Returns pass `index`, made at its time."""
        return self.driver_at(index).render_pass(index)

    def passes(self, first: int, may_begin: Callable[[int], bool]) -> Generator[Radiance]:
        """Yields passes as `passes_of` does; those that share a time are under way at once."""
        index = first
        while may_begin(index):
            driver, block = self.driver_at(index), block_of(index, self._motion.samples)
            with closing(passes_of(driver, index, self._within(block, index, may_begin))) as passes:
                for image in passes:
                    yield image
                    index += 1

    def driver_at(self, index: int) -> Driver:
        """Returns the driver of the time that pass `index` looks at, which works until another time is looked at.

        A sequential driver goes on with what the passes before have left, which are all made by then.
        """
        before = self._driver
        self._look_at_block(block_of(index, self._motion.samples))
        if self.is_sequential and self._driver is not before and index > 0:
            cast("ResumableDriver", self._driver).take_up(index, cast("ResumableDriver", before).carried(index))
        return self._driver

    def _within(self, block: int, first: int, may_begin: Callable[[int], bool]) -> Callable[[int], bool]:
        """Returns which passes of a block may begin; the first one may."""
        samples = self._motion.samples
        return lambda index: index == first or (block_of(index, samples) == block and may_begin(index))

    def _look_at_block(self, block: int) -> None:
        if block != self._block:
            self._look_at(self._motion.snapshot_at(self._motion.time_of(block, self._start, self.settings.seed)))
            self._block = block

    def close(self) -> None:
        """Closes the driver, and the tracer but for the first, which is the caller's."""
        with self._opened:
            self._running.close()

    def _look_at(self, snapshot: Snapshot) -> None:
        """Replaces the driver by one for a snapshot, if that looks different."""
        seen, work = self._context.snapshot, self.work
        if looks_same(seen, snapshot):
            return
        self._running.close()
        if stands_still(seen, snapshot):
            self._context = replace(self._context, snapshot=snapshot)
        else:
            self._open(snapshot)
        self._driver = self._kind(snapshot, self._context.tracer, self.settings)
        self._work_before = work
        self._running.enter_context(closing(self._driver))

    def _open(self, snapshot: Snapshot) -> None:
        """Replaces the tracer by one for a snapshot."""
        traced, old = self.traced, self._context
        trace_seconds = self._driver.work.trace_seconds
        self._updates.note(old.tracer, is_refitted=old.is_refitted, trace_seconds=trace_seconds)
        self._opened.close()
        tree = self._updates.tree_for(snapshot.positions)
        self._context = self._opened.enter_context(self._motion.context(snapshot, 0.0, tree))
        self._traced_before = traced


def looks_same(one: Snapshot, other: Snapshot) -> bool:
    """Tells whether two snapshots of a scene have the same picture: whether all is equal that is not in `UNSEEN`."""
    names = [field.name for field in fields(one) if field.name not in UNSEEN]
    return all(same(getattr(one, name), getattr(other, name)) for name in names)


def stands_still(one: Snapshot, other: Snapshot) -> bool:
    """Tells whether two snapshots of a scene have the same triangles, with the same holes, in the same places."""
    return all(same(getattr(one, name), getattr(other, name)) for name in TRACED_FIELDS)


def same(one: object, other: object) -> bool:
    """Tells whether two values are equal in all that they are made of: dataclasses, tuples, arrays, and what `==`
    compares."""
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    if isinstance(one, np.ndarray):
        return np.array_equal(one, cast("Array", other))
    if isinstance(one, tuple):
        others = cast("tuple[object, ...]", other)
        return len(one) == len(others) and all(map(same, one, others))
    if is_dataclass(one):
        return all(same(getattr(one, field.name), getattr(other, field.name)) for field in fields(one))
    return one == other


def summed(one: D, other: D) -> D:
    """Returns the sum of two counts of the same kind, number by number."""
    pairs = {field.name: (getattr(one, field.name), getattr(other, field.name)) for field in fields(one)}
    return type(one)(**{name: summed(a, b) if is_dataclass(a) else a + b for name, (a, b) in pairs.items()})


def both(one: TracerStatistics, other: TracerStatistics) -> TracerStatistics:
    """Returns what two tracers have done together."""
    total = summed(one, other)
    seconds = sum(ratio(part.rays, part.kernel_rays_per_second) for part in (one, other))
    return replace(total, kernel_rays_per_second=ratio(total.rays, seconds))
