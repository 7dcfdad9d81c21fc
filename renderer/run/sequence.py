"""This module makes a sequence of frames: numbered pictures, continued where they stopped, and one animated picture of
all.
"""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, cast

import numpy as np
from PIL import features

from renderer.atomic_file import write_each
from renderer.errors import UsageError
from renderer.film.animation import ANIMATED, animation_of
from renderer.film.image_file import check_writable
from renderer.film.video import VIDEOS, check_video
from renderer.interrupts import interruptible
from renderer.run import statistics, timeline
from renderer.run.frame_key import frame_key
from renderer.run.picture import Made, make_picture
from renderer.run.picture_files import files_of, read_statistics, statistics_path
from renderer.run.plan import Plan
from renderer.run.timeline import FilmClock
from renderer.scene.packed_scene import PackedScene, pack_ahead
from renderer.version import SOFTWARE

if TYPE_CHECKING:
    from renderer.film.picture import Picture
    from renderer.run.statistics import Statistics
    from renderer.scene.render_context import RenderContext
    from renderer.scene.tree_updates import TreeUpdates
    from scenes.model import Snapshot
    from tracecore.bvh.tree import BinaryTree
    from tracecore.rays import Floats


#: What frames may be written as.
STILLS = (".png", ".exr")

#: Digits of a frame's number in its file name, at least.
DIGITS = 4

#: Digits at most.
MOST_DIGITS = 10

Seeds = Literal["same", "own"]

#: What the statistics of a sequence keep of each frame.
SEQUENCE_COLUMNS = (
    "triangles",
    "bvh.update",
    "bvh.update_seconds",
    "bvh.build_seconds",
    "bvh.sah_cost",
    "seconds.load",
    "seconds.build",
    "seconds.trace",
    "seconds.shade",
    "seconds.total",
    "rays.total",
    "rays_per_second",
)


class MadeFrame(NamedTuple):
    """Is a frame that was made. picture: of it. key: that stands for all that decides it, see `frame_key`."""

    picture: Picture
    key: str


@dataclass(frozen=True, kw_only=True)
class SequenceOrder:
    """Says how a sequence is made.

    path: of the animated picture, or the pattern of the frames' names.
    snapshot_at: returns the scene at a frame.
    context: opens a tracer for a snapshot, whose tree may be there already.
    pack_tree: packs a tree over triangles for that, see `TracerChoice.pack_ahead`.
    seeds: random numbers of every frame, the same in all (noise stands still) or different ones (noise changes).
    resume: whether to keep the frames that are there.
    elsewhere: has frames made in other processes, of their numbers: yields each with what was made, in any order. None
    where they are made here, one after the other.
    clock: knows what each thread does when.
    timeline_path: where that is written in the end, None for nowhere.
    """

    path: Path
    frames: range
    picture: Plan
    snapshot_at: Callable[[int], Snapshot]
    context: Callable[[Snapshot, float, BinaryTree | None], AbstractContextManager[RenderContext]]
    pack_tree: Callable[[BinaryTree, Floats], None]
    updates: TreeUpdates
    seeds: Seeds = "same"
    resume: bool = False
    frames_per_second: float = 25.0
    elsewhere: Callable[[list[int]], Generator[tuple[int, MadeFrame]]] | None = None
    clock: FilmClock = field(default_factory=FilmClock)
    timeline_path: Path | None = None

    def frame_path(self, frame: int) -> Path:
        """Returns the path where a frame is written."""
        digits = max(DIGITS, len(str(self.frames[-1])))
        suffix = ".png" if self.path.suffix.lower() in ANIMATED else self.path.suffix
        return self.path.with_name(f"{self.path.stem}-{frame:0{digits}}{suffix}")

    @property
    def own_files(self) -> list[Path]:
        """Returns the files of the whole sequence: its animated picture and its timeline, if there are to be such, and
        its statistics.
        """
        animated = [self.path] if self.path.suffix.lower() in ANIMATED else []
        return [*animated, statistics_path(self.path), *filter(None, [self.timeline_path])]

    def frame_files_there(self) -> list[Path]:
        """Returns the files of frames, pictures and statistics, that are there already."""
        number = re.compile(rf"{re.escape(self.path.stem)}-(\d+)\..+")
        found = [(path, number.fullmatch(path.name)) for path in sorted(self.path.parent.iterdir())]
        frames = [(path, int(match[1])) for path, match in found if match and len(match[1]) <= MOST_DIGITS]
        return [
            path
            for path, frame in frames
            if frame in self.frames and path in files_of(self.frame_path(frame), keep_linear=False)
        ]


def check_sequence_path(path: Path) -> None:
    """Raises `UsageError` now if a sequence could not be written later."""
    suffix = path.suffix.lower()
    if suffix not in (*ANIMATED, *STILLS):
        raise UsageError(
            f"cannot write frames as '{path}': the name must end in one of {', '.join(ANIMATED)}, {', '.join(STILLS)}"
        )
    if suffix in VIDEOS:
        check_video(path)
    if suffix == ".webp" and not features.check("webp"):
        raise UsageError(f"cannot write '{path}': Pillow is here without WebP; take .gif or .apng")
    check_writable(path.with_suffix(".png") if suffix in ANIMATED else path)


def make_sequence(order: SequenceOrder, report: Callable[[int, Statistics, bool], None]) -> bool:
    """Makes all frames that are missing, then the animated picture and the statistics. Returns False if interrupted.

    report: is called for each frame, with its statistics, and whether it was there already.
    """
    rows = []
    make = _frames_here if order.elsewhere is None else _frames_elsewhere
    animation = animation_of(order.path, order.frames_per_second)
    try:
        with interruptible(), closing(make(order)) as frames:
            for frame, figures, is_kept in frames:
                rows.append(figures)
                if animation is not None:
                    animation.add(order.frame_path(frame))
                report(frame, figures, is_kept)
    except KeyboardInterrupt:
        return False
    writes: list[Callable[[], None]] = [partial(write_figures, order, rows)]
    if animation is not None:
        order.clock.begin("animation")
        writes.insert(0, animation.write)
    if order.timeline_path is not None:
        writes.append(partial(timeline.write_film, order.timeline_path, order.clock))
    write_each(*writes)
    return True


def _frames_here(order: SequenceOrder) -> Generator[tuple[int, Statistics, bool]]:
    """Yields all frames in order, each with its statistics and whether it was there already. Where one fails, those
    before are finished and yielded first.

    While a frame is rendered, the next one is played and packed, and files are written of the one before.
    """
    with (
        ThreadPoolExecutor(1, "writer") as writer,
        closing(played_ahead(partial(_play, order), order.frames)) as played,
    ):
        last: RenderedFrame | None = None
        rendered = _rendered_frames(order, played, writer)
        while True:
            try:
                following = next(rendered, None)
            except BaseException:
                if last is not None:
                    yield _written(order, last)
                raise
            if last is not None:
                yield _written(order, last)
            if following is None:
                return
            last = following


class RenderedFrame(NamedTuple):
    """Is a frame whose files may still be written. figures: its statistics, once they are. is_kept: whether it was
    there already."""

    frame: int
    figures: Future[Statistics]
    is_kept: bool


def _written(order: SequenceOrder, one: RenderedFrame) -> tuple[int, Statistics, bool]:
    """Returns what is told of a frame, as soon as its files are written."""
    order.clock.begin("wait_writer", one.frame)
    figures = one.figures.result()
    order.clock.begin("rest")
    return one.frame, figures, one.is_kept


class PlayedFrame(NamedTuple):
    """Is a frame that is ready to be rendered.

    seconds: wall time that it took to play it.
    packed: what shading reads of it.
    tree: over its triangles, refitted; None where one is to be built.
    kept: its statistics, if it is there already; then nothing is packed.
    """

    frame: int
    snapshot: Snapshot
    seconds: float
    packed: PackedScene | None
    tree: BinaryTree | None = None
    kept: Statistics | None = None


def _rendered_frames(
    order: SequenceOrder, played: Iterator[PlayedFrame], writer: ThreadPoolExecutor
) -> Generator[RenderedFrame]:
    """Yields all frames in order as they are rendered. writer: runs what goes on meanwhile."""
    for frame in order.frames:
        order.clock.begin("wait_player", frame)
        ready = next(played)
        yield RenderedFrame(frame, _render(order, ready, writer), ready.kept is not None)


def played_ahead(
    play: Callable[[int, PackedScene | None], PlayedFrame], frames: Iterable[int]
) -> Generator[PlayedFrame]:
    """Yields frames in order; while one is in use, the next is played. play: plays a frame, of which it is given the
    number and what is packed of the frame before. frames: their numbers, at least one."""
    with ThreadPoolExecutor(1, "player") as player:
        numbers = iter(frames)
        coming = player.submit(play, next(numbers), None)
        for frame in numbers:
            ready = coming.result()
            coming = player.submit(play, frame, ready.packed)
            yield ready
        yield coming.result()


def _play(order: SequenceOrder, frame: int, before: PackedScene | None) -> PlayedFrame:
    """Makes the scene of a frame, and packs it unless the frame is there already. before: another frame's."""
    with order.clock.meanwhile("player", "playing", frame):
        start = time.perf_counter()
        snapshot = order.snapshot_at(frame)
        seconds = time.perf_counter() - start
        key_of = partial(frame_key, of_frame(order.picture, order.seeds, frame), snapshot)
        kept = finished_frame(order.frame_path(frame), key_of) if order.resume else None
    if kept:
        return PlayedFrame(frame, snapshot, seconds, before, kept=kept)
    with order.clock.meanwhile("player", "packing", frame):
        packed = pack_ahead(snapshot, before)
    with order.clock.meanwhile("player", "tree", frame):
        tree = tree_ahead(order.updates, order.pack_tree, snapshot)
    return PlayedFrame(frame, snapshot, seconds, packed, tree)


def tree_ahead(
    updates: TreeUpdates, pack_tree: Callable[[BinaryTree, Floats], None], snapshot: Snapshot
) -> BinaryTree | None:
    """Returns the tree of a frame, packed for its tracer, while the frame before is traced; None where that, or this
    one, gets a new tree. pack_tree: as of `SequenceOrder`.
    """
    tree = updates.tree_ahead(snapshot.positions)
    if tree is not None:
        pack_tree(tree, snapshot.positions)
    return tree


def _frames_elsewhere(order: SequenceOrder) -> Generator[tuple[int, Statistics, bool]]:
    """Yields all frames in order, as `_frames_here` does; each is written as soon as it is made."""
    assert order.elsewhere is not None
    kept = {frame: figures for frame in order.frames if (figures := _kept_frame(order, frame))} if order.resume else {}
    made: dict[int, Statistics] = {}
    with closing(order.elsewhere([frame for frame in order.frames if frame not in kept])) as results:
        for frame in order.frames:
            while frame not in kept and frame not in made:
                order.clock.begin("wait_members")
                number, one = next(results)
                order.clock.begin("writing", number)
                path = order.frame_path(number)
                one.picture.write(path)
                made[number] = one.picture.statistics | {"request": one.key, "asked": order.picture.asked}
                write_finished(path, made[number])
            order.clock.begin("rest")
            yield frame, made.get(frame) or kept[frame], frame in kept


def _kept_frame(order: SequenceOrder, frame: int) -> Statistics | None:
    """Returns the statistics of a frame that is there as it is wanted, else None."""
    key_of = partial(frame_key, of_frame(order.picture, order.seeds, frame), order.snapshot_at(frame))
    return finished_frame(order.frame_path(frame), key_of)


def _render(order: SequenceOrder, ready: PlayedFrame, writer: ThreadPoolExecutor) -> Future[Statistics]:
    """Renders a frame unless it is there already, and has its files written. Returns its statistics, once they are.

    Raises `KeyboardInterrupt` if that was interrupted.
    """
    frame, snapshot, path, clock = ready.frame, ready.snapshot, order.frame_path(ready.frame), order.clock
    if ready.kept is not None:
        clock.begin("rest")
        return writer.submit(lambda: cast("Statistics", ready.kept))
    clock.begin("tree", frame)
    tree = ready.tree or order.updates.tree_for(snapshot.positions)
    clock.begin("tracer", frame)
    statistics_path(path).unlink(missing_ok=True)  # so that an unfinished frame does not count as one
    picture = of_frame(order.picture, order.seeds, frame)
    with order.context(snapshot, ready.seconds, tree) as context:
        clock.was("tree", 0.0 if context.is_refitted else context.tracer.bvh.tree_seconds)
        clock.begin("finish", frame)
        made: Made = make_picture(context, picture, path, keep_linear=False, is_left=True)
        if made.picture:
            _note_rendering(clock, made.picture.figures)
        order.updates.note(context.tracer, is_refitted=context.is_refitted, trace_seconds=made.trace_seconds)
        clock.begin("tracer", frame)
    if not (made.finished and made.picture):
        raise KeyboardInterrupt
    return writer.submit(_write_frame, order, frame, made.picture, partial(frame_key, picture, snapshot))


def _note_rendering(clock: FilmClock, figures: Statistics) -> None:
    """Says what of the time in which a picture was made was what, by its statistics."""
    rendering = figures["seconds.total"] - figures["seconds.load"] - figures["seconds.build"]
    clock.was("driver", figures["seconds.start"])
    clock.was("rays", rendering - figures["seconds.start"] - figures["seconds.film"])
    clock.was("film", figures["seconds.film"])


def _write_frame(order: SequenceOrder, frame: int, picture: Picture, key_of: Callable[[int], str]) -> Statistics:
    """Writes the files of a frame, and returns its statistics. key_of: see `finished_frame`."""
    path = order.frame_path(frame)
    with order.clock.meanwhile("writer", "writing", frame):
        picture.write(path)
        write_finished(path, picture.statistics | {"request": key_of(picture.passes)})
    return picture.statistics


def of_frame(plan: Plan, seeds: Seeds, frame: int) -> Plan:
    """Returns the plan of one frame's picture, with the number and the seed that it is to have.

    plan: of all frames.
    seeds: as of `SequenceOrder`.
    """
    if plan.film_time is not None:
        plan = replace(plan, film_time=plan.film_time._replace(frame=frame))
    if seeds == "same":
        return plan
    seed = np.random.SeedSequence([plan.settings.seed or 0, frame]).generate_state(1, np.uint64)[0]
    return replace(plan, settings=replace(plan.settings, seed=int(seed)))


def write_finished(path: Path, figures: Statistics) -> None:
    """Writes the statistics of a frame that is finished, with a checksum over them and the picture at `path`."""
    plain = statistics.plain(figures)
    statistics.write(statistics_path(path), plain | {"checksum": checksum(path, plain)})


def checksum(path: Path, figures: Statistics) -> str:
    """Returns 64 hexadecimal digits that stand for the file of a picture and for its statistics, as they are read."""
    digest = hashlib.blake2b(json.dumps(figures, sort_keys=True).encode(), digest_size=32)
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def finished_frame(path: Path, key_of: Callable[[int], str]) -> Statistics | None:
    """Returns the statistics of a frame that is there as it is wanted and undamaged, else None.

    path: of the frame's picture.
    key_of: gives the key that the frame has to have, of the number of its passes.
    """
    figures = read_statistics(statistics_path(path))
    if figures is None or not path.is_file():
        return None
    try:
        if figures.pop("checksum", None) != checksum(path, figures):
            return None
    except OSError:
        return None
    return figures if figures.get("request") == key_of(figures["passes"]) else None


def write_figures(order: SequenceOrder, rows: list[Statistics]) -> None:
    """Writes the statistics of a sequence: a list over the frames for each of `SEQUENCE_COLUMNS`, and the keys of
    `statistics.OF_FILMS`. rows: statistics of the frames.
    """
    order.clock.begin("rest")
    columns = {name: [row.get(name) for row in rows] for name in SEQUENCE_COLUMNS}
    figures = {"software": SOFTWARE, "frames": list(order.frames), **columns, **order.clock.seconds()}
    statistics.write(statistics_path(order.path), figures | {"asked": order.picture.asked})
