"""This module makes one picture: a driver runs to its limits, and files are written of it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from renderer.atomic_file import write_each
from renderer.film.film import Film
from renderer.film.layers import LAYER_COLUMNS
from renderer.film.picture import Picture
from renderer.interrupts import held_back
from renderer.run.picture.pass_loop import Told, expose, expose_and_save
from renderer.run.picture.pass_source import PassSource
from renderer.run.picture.picture_files import PictureFiles, write_others
from renderer.run.picture.picture_record import PictureRecord
from renderer.run.plan import Plan
from renderer.run.resuming.checkpoints import Checkpoints
from scenes.files.written_file import target_of

if TYPE_CHECKING:
    from renderer.scene.render_context import RenderContext


def make_picture(context: RenderContext, plan: Plan, path: Path | None, *, is_frame: bool = False) -> Picture | None:
    """Makes a picture, and writes its files unless `path` is None.

    context: the scene at the picture's moment, with a tracer of the plan's choice.
    is_frame: whether it is a frame of a sequence: it keeps no checkpoint, no linear radiance is written beside a .png,
    and the files of a finished one are left to the caller.

    Returns the picture, or None where no pass was finished. Raises `CheckpointError` where it is to go on from a
    checkpoint and cannot.
    """
    start, chosen = time.perf_counter(), plan.settings
    settings = plan.driver_settings(context.snapshot)
    is_to_a_file = path is not None and target_of(path) is not None  # and no device or pipe

    def key_of(passes: int) -> str:
        from renderer.run.resuming.frame_key import frame_key

        return frame_key(plan, context.snapshot, passes)

    checkpoints = Checkpoints(path if is_to_a_file and not is_frame else None, chosen, key_of)
    with closing(PassSource(context, plan, settings, is_contained=True)) as source, held_back():
        film = Film(*settings.film_size, LAYER_COLUMNS[settings.layers], chosen.clamp, plan.first_pass)
        checkpoints.take_up(source.driver, film)
        record = PictureRecord(source, start, checkpoints.spent)
        files = PictureFiles(path, record, checkpoints, is_frame=is_frame)
        limits = plan.limits.after(checkpoints.spent.seconds)
        name = "-" if plan.pipe else None if path is None else str(path)
        told = Told(name, chosen.progress, chosen.quiet)
        ends = list[bool]()
        write_each(
            lambda: ends.append(expose_and_save(source, film, limits, files, told)),
            partial(write_others, source, film),
        )
        return files.picture and replace(files.picture, is_finished=ends[0])


def picture_by_pass(context: RenderContext, plan: Plan) -> Iterator[Picture]:
    """Yields the picture after each pass, up to its limits; no file is written."""
    start = time.perf_counter()
    settings = plan.driver_settings(context.snapshot)
    with closing(PassSource(context, plan, settings, is_contained=True)) as source:
        record = PictureRecord(source, start)
        film = Film(*settings.film_size, LAYER_COLUMNS[settings.layers], plan.settings.clamp)
        for is_last in expose(source, film, plan.limits):
            yield replace(record.picture(film), is_finished=is_last)
