"""This module makes the picture of one frame after the other, of which the next is played meanwhile."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from renderer.run.memory import check_fits
from renderer.run.picture.make_picture import BegunPicture, begin_picture, finish_picture
from renderer.run.timeline import FilmClock
from renderer.scene.packed_scene import PackedScene, pack_ahead
from renderer.scene.render_context import context_of
from renderer.scene.tree_updates import TreeUpdates
from renderer.settings.picture import DEFAULT_UPDATE

if TYPE_CHECKING:
    from renderer.film.picture import Picture
    from renderer.run.plan import Plan
    from renderer.run.statistics import Statistics
    from scenes.model import Snapshot
    from tracecore.bvh.tree import BinaryTree


class PlayedFrame(NamedTuple):
    """Is a frame that is ready to be rendered.

    seconds: wall time that it took to play it.
    packed: what shading reads of it, which is held until it is rendered.
    tree: over its triangles, refitted; None where one is to be built.
    kept: its statistics, if it is there already; then nothing is packed.
    """

    frame: int
    snapshot: Snapshot
    seconds: float
    packed: PackedScene | None = None
    tree: BinaryTree | None = None
    kept: Statistics | None = None


class OpenedFrame(NamedTuple):
    """Is a frame whose passes may begin.

    picture: with its driver.
    closing: closes the driver and its tracer.
    """

    played: PlayedFrame
    picture: BegunPicture
    closing: ExitStack

    @property
    def may_share(self) -> bool:
        """Returns whether another frame may be opened while its passes are made."""
        source = self.picture.source
        traces_alone = source.driver.why_on_cpu is None or source.at.tracer.device == "cpu"
        return traces_alone and source.plan.shared is None


class FrameMaker:
    """Makes frames: the scene is played at each, packed and rendered; from one to the next the tree is fitted or built.

    plan: of all frames.
    clock: knows what each thread does when.
    kept: returns the statistics of a frame that is there already, of its number and the scene; None for one to be made.
    is_checked: whether a frame is refused that takes more memory than there is.
    """

    def __init__(
        self,
        plan: Plan,
        clock: FilmClock | None = None,
        kept: Callable[[int, Snapshot], Statistics | None] = lambda frame, snapshot: None,
        *,
        is_checked: bool = False,
    ) -> None:
        self.plan, self.clock, self._kept, self._is_checked = plan, clock or FilmClock(), kept, is_checked
        self._updates = TreeUpdates(plan.settings.update or DEFAULT_UPDATE)

    def played_ahead(self, frames: Iterable[int]) -> Generator[PlayedFrame]:
        """Yields frames in order; while one is in use, the next is played. frames: their numbers, at least one."""
        with ThreadPoolExecutor(1, "player") as player:
            numbers = iter(frames)
            coming = player.submit(self.played, next(numbers), None)
            for frame in numbers:
                ready = coming.result()
                coming = player.submit(self.played, frame, ready.packed)
                yield ready
            yield coming.result()

    def played(self, frame: int, before: PackedScene | None) -> PlayedFrame:
        """Returns a frame: plays the scene there, and packs it unless the frame is there already.

        before: what was packed of another frame.
        """
        with self.clock.meanwhile("player", "playing", frame):
            start = time.perf_counter()
            snapshot = self.plan.snapshot(frame=frame)
            seconds = time.perf_counter() - start
            kept = self._kept(frame, snapshot)
        if kept:
            return PlayedFrame(frame, snapshot, seconds, before, kept=kept)
        if self._is_checked:
            check_fits(self.plan.estimate(snapshot, is_frame=True))
        with self.clock.meanwhile("player", "packing", frame):
            packed = pack_ahead(snapshot, before)
        with self.clock.meanwhile("player", "tree", frame):
            tree = self._tree_ahead(snapshot)
        return PlayedFrame(frame, snapshot, seconds, packed, tree)

    def _tree_ahead(self, snapshot: Snapshot) -> BinaryTree | None:
        """Returns the tree of a frame, packed for its tracer, while the frame before is traced; None where that, or
        this one, gets a new tree.
        """
        tree = self._updates.tree_ahead(snapshot.positions)
        if tree is not None:
            self.plan.choice.pack_ahead(tree, snapshot.positions)
        return tree

    def opened_ahead(
        self, played: Iterator[PlayedFrame], plan_of: Callable[[int], Plan]
    ) -> Generator[OpenedFrame | PlayedFrame]:
        """Yields frames in order: ready for their passes, or as they were played where they are there already. While
        one is in use the next is opened, unless threads stream to a GPU, which serves one scene at a time.

        plan_of: returns the plan of a frame, of its number, see `of_frame`.
        """

        def opened() -> OpenedFrame | PlayedFrame | None:
            one = next(played, None)
            return one if one is None or one.kept is not None else self.open(plan_of(one.frame), one)

        with ThreadPoolExecutor(1, "opener") as opener:
            coming: Future[OpenedFrame | PlayedFrame | None] | None = None
            try:
                while True:
                    coming = coming or opener.submit(opened)
                    ready = coming.result()
                    if ready is None:
                        return
                    is_ahead = not isinstance(ready, OpenedFrame) or ready.may_share
                    coming = opener.submit(opened) if is_ahead else None
                    with ready.closing if isinstance(ready, OpenedFrame) else nullcontext():
                        yield ready
            finally:
                if coming is not None:
                    _close(coming)

    def open(self, plan: Plan, played: PlayedFrame) -> OpenedFrame:
        """Opens a tracer of a frame, and makes its driver. plan: of this frame, see `of_frame`."""
        clock, snapshot, frame = self.clock, played.snapshot, played.frame
        with ExitStack() as stack:
            with clock.meanwhile("opener", "tracer", frame):
                tree, choice = played.tree or self._updates.tree_for(snapshot.positions), plan.choice_for_one
                context = stack.enter_context(context_of(snapshot, choice, load_seconds=played.seconds, tree=tree))
                self._updates.note_tree(context.tracer, is_refitted=context.is_refitted)
            with clock.meanwhile("opener", "driver", frame):
                picture = begin_picture(context, plan, None)
            stack.callback(picture.source.close)
            return OpenedFrame(played, picture, stack.pop_all())

    def render(self, opened: OpenedFrame, path: Path | None = None) -> Picture | None:
        """Renders a frame, closes it, and returns its picture, or None where no pass was finished.

        path: where the unfinished picture is written from time to time, or None for nowhere.
        """
        self.clock.begin("finish", opened.played.frame)
        with opened.closing:
            picture = finish_picture(opened.picture, path, is_frame=True)
            if picture is not None:
                _note_rendering(self.clock, picture.figures)
                self._updates.note_seconds(picture.figures["seconds.trace"])
        return picture


def _close(coming: Future[OpenedFrame | PlayedFrame | None]) -> None:
    """Closes a frame that nobody is to use, once it is opened."""
    if coming.exception() is None and isinstance(opened := coming.result(), OpenedFrame):
        opened.closing.close()


def _note_rendering(clock: FilmClock, figures: Statistics) -> None:
    """Says what of the time in which the passes of a picture were made was what, by its statistics."""
    rendering = figures["seconds.total"] - figures["seconds.load"] - figures["seconds.build"]
    clock.was("rays", rendering - figures["seconds.start"] - figures["seconds.film"])
    clock.was("film", figures["seconds.film"])
