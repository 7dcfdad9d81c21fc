"""This module makes the picture of one frame after the other, of which the next is played meanwhile."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from renderer.run.memory import check_fits
from renderer.run.picture.make_picture import make_picture
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
            coming = player.submit(self._play, next(numbers), None)
            for frame in numbers:
                ready = coming.result()
                coming = player.submit(self._play, frame, ready.packed)
                yield ready
            yield coming.result()

    def _play(self, frame: int, before: PackedScene | None) -> PlayedFrame:
        """Plays the scene at a frame, and packs it unless the frame is there already. before: another frame's."""
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

    def render(self, plan: Plan, played: PlayedFrame, path: Path | None = None) -> Picture | None:
        """Renders a frame, and returns its picture, or None where no pass was finished.

        plan: of this frame, see `of_frame`.
        path: where the unfinished picture is written from time to time, or None for nowhere.
        """
        clock, snapshot = self.clock, played.snapshot
        clock.begin("tree", played.frame)
        tree = played.tree or self._updates.tree_for(snapshot.positions)
        clock.begin("tracer", played.frame)
        with context_of(snapshot, self.plan.choice, load_seconds=played.seconds, tree=tree) as context:
            clock.was("tree", 0.0 if context.is_refitted else context.tracer.bvh.tree_seconds)
            clock.begin("finish", played.frame)
            picture = make_picture(context, plan, path, is_frame=True)
            if picture is not None:
                _note_rendering(clock, picture.figures)
                seconds = picture.figures["seconds.trace"]
                self._updates.note(context.tracer, is_refitted=context.is_refitted, trace_seconds=seconds)
            clock.begin("tracer", played.frame)
        return picture


def _note_rendering(clock: FilmClock, figures: Statistics) -> None:
    """Says what of the time in which a picture was made was what, by its statistics."""
    rendering = figures["seconds.total"] - figures["seconds.load"] - figures["seconds.build"]
    clock.was("driver", figures["seconds.start"])
    clock.was("rays", rendering - figures["seconds.start"] - figures["seconds.film"])
    clock.was("film", figures["seconds.film"])
