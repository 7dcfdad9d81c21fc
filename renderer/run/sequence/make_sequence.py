"""This module makes a sequence of frames: numbered pictures, continued where they stopped, and one animated picture of
all.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from renderer.atomic_file import write_each
from renderer.film.animation import animation_of
from renderer.interrupts import interruptible
from renderer.run import statistics, timeline
from renderer.run.memory import MEMBERS_WRITERS, WRITERS
from renderer.run.picture.picture_files import statistics_path
from renderer.run.resuming.frame_key import frame_key
from renderer.run.sequence.finished_frames import finished_frame, write_finished
from renderer.run.sequence.frame_maker import FrameMaker, OpenedFrame
from renderer.run.sequence.sequence_order import MadeFrame, SequenceOrder, of_frame
from renderer.version import SOFTWARE

if TYPE_CHECKING:
    from renderer.run.statistics import Statistics
    from scenes.model import Snapshot

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


def make_sequence(order: SequenceOrder, report: Callable[[int, Statistics, bool], None]) -> bool:
    """Makes all frames that are missing, then the animated picture and the statistics. Returns False if interrupted.

    report: is called for each frame, with its statistics, and whether it was there already.
    """
    rows = []
    animation = animation_of(order.path, order.frames_per_second)
    try:
        with interruptible(), closing(_frames(order)) as frames:
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


def _frames(order: SequenceOrder) -> Generator[tuple[int, Statistics, bool]]:
    """Yields all frames in order, each with its statistics and whether it was there already. Where one fails, those
    before are finished and yielded first.

    While frames are made, files are written of the ones before, as many as there are writers.
    """
    make, count = (_frames_here, WRITERS) if order.elsewhere is None else (_frames_elsewhere, MEMBERS_WRITERS)
    with ThreadPoolExecutor(count, "writer") as writers, closing(make(order, writers)) as rendered:
        written: deque[RenderedFrame] = deque()
        end: BaseException | None = None
        while end is None or written:
            if end is None:
                try:
                    written.append(next(rendered))
                except BaseException as error:
                    end = error
            if len(written) > (count if end is None else 0):
                yield _written(order, written.popleft())
        if not isinstance(end, StopIteration):
            raise end


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


def _frames_here(order: SequenceOrder, writers: ThreadPoolExecutor) -> Generator[RenderedFrame]:
    """Yields all frames in order as they are rendered. writers: write their files meanwhile.

    While passes of a frame are made, the next one is opened, and the one after it played and packed.
    """
    maker = FrameMaker(order.picture, order.clock, partial(_kept_frame, order))
    plan_of = partial(of_frame, order.picture, order.seeds)
    with closing(maker.played_ahead(order.frames)) as played, closing(maker.opened_ahead(played, plan_of)) as opened:
        for frame in order.frames:
            order.clock.begin("wait_opener", frame)
            ready = next(opened)
            if isinstance(ready, OpenedFrame):
                yield RenderedFrame(frame, _render(order, maker, ready, writers), is_kept=False)
                continue
            order.clock.begin("rest")
            assert ready.kept is not None
            yield _kept(frame, ready.kept)


def _kept(frame: int, figures: Statistics) -> RenderedFrame:
    """Returns a frame that was there already. figures: its statistics."""
    known: Future[Statistics] = Future()
    known.set_result(figures)
    return RenderedFrame(frame, known, is_kept=True)


def _render(
    order: SequenceOrder, maker: FrameMaker, ready: OpenedFrame, writers: ThreadPoolExecutor
) -> Future[Statistics]:
    """Renders a frame, and has its files written. Returns its statistics, once they are.

    Raises `KeyboardInterrupt` if that was interrupted.
    """
    played, plan = ready.played, ready.picture.source.plan
    path = order.frame_path(played.frame)
    statistics_path(path).unlink(missing_ok=True)  # so that an unfinished frame does not count as one
    picture = maker.render(ready, path)
    if picture is None or not picture.is_finished:
        raise KeyboardInterrupt

    def made() -> MadeFrame:
        return MadeFrame.of(picture, order.still_suffix, frame_key(plan, played.snapshot, picture.passes))

    return writers.submit(_write_frame, order, played.frame, made)


def _write_frame(order: SequenceOrder, frame: int, made: Callable[[], MadeFrame]) -> Statistics:
    """Writes the files of a frame, and returns its statistics. made: returns the frame."""
    path = order.frame_path(frame)
    with order.clock.meanwhile("writer", "writing", frame):
        one = made()
        one.file.write(path)
        figures = one.figures | {"asked": order.picture.asked}
        write_finished(path, figures)
    return figures


def _frames_elsewhere(order: SequenceOrder, writers: ThreadPoolExecutor) -> Generator[RenderedFrame]:
    """Yields all frames in order, as `_frames_here` does; the files of each are written as soon as it is made."""
    assert order.elsewhere is not None
    frames = order.frames if order.resume else ()
    found = {frame: _kept_frame(order, frame, order.picture.snapshot(frame=frame)) for frame in frames}
    kept = {frame: figures for frame, figures in found.items() if figures}
    made: dict[int, Future[Statistics]] = {}
    with closing(order.elsewhere(order.picture, [frame for frame in order.frames if frame not in kept])) as results:
        for frame in order.frames:
            order.clock.begin("wait_members", frame)
            while frame not in kept and frame not in made:
                number, one = next(results)
                made[number] = writers.submit(_write_frame, order, number, partial(MadeFrame, *one))
            order.clock.begin("rest")
            yield RenderedFrame(frame, made[frame], is_kept=False) if frame in made else _kept(frame, kept[frame])


def _kept_frame(order: SequenceOrder, frame: int, snapshot: Snapshot) -> Statistics | None:
    """Returns the statistics of a frame that is there as it is wanted, and is to be kept, else None."""
    if not order.resume:
        return None
    key_of = partial(frame_key, of_frame(order.picture, order.seeds, frame), snapshot)
    return finished_frame(order.frame_path(frame), key_of)


def write_figures(order: SequenceOrder, rows: list[Statistics]) -> None:
    """Writes the statistics of a sequence: a list over the frames for each of `SEQUENCE_COLUMNS`, and the keys of
    `statistics.OF_FILMS`. rows: statistics of the frames.
    """
    order.clock.begin("rest")
    columns = {name: [row.get(name) for row in rows] for name in SEQUENCE_COLUMNS}
    figures = {"software": SOFTWARE, "frames": list(order.frames), **columns, **order.clock.seconds()}
    statistics.write(statistics_path(order.path), figures | {"asked": order.picture.asked})
