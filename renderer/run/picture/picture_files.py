"""This module writes the files of a picture, and knows their names and what its statistics keep of the command: the
scene and the options that decide the picture.
"""

from __future__ import annotations

import json
import logging
import os
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from renderer.atomic_file import temporary_beside, write_each
from renderer.film import image_file
from renderer.run import statistics
from renderer.run.resuming.checkpoints import checkpoint_path
from renderer.settings.picture import TRACING, Settings
from renderer.settings.setting import settings_of
from scenes.files.written_file import target_of

if TYPE_CHECKING:
    from renderer.drivers.driver import Driver
    from renderer.film.film import Film
    from renderer.film.picture import Picture
    from renderer.run.picture.pass_source import PassSource
    from renderer.run.picture.picture_record import PictureRecord
    from renderer.run.resuming.checkpoints import Checkpoints
    from renderer.run.statistics import Statistics

#: Groups of settings that do not decide a picture, but for the seed; and others that do not.
NOT_ASKED_GROUPS = ("files", TRACING)
NOT_ASKED = ("update", "allow_outside", "strict")

#: Statistics are smaller.
LARGEST_STATISTICS = 1 << 26

#: Between two savings of a kind at least so many times as long as the last one took.
SAVE_SPACING = 20.0

log = logging.getLogger(__name__)


def statistics_path(picture: Path) -> Path:
    """Returns the path of the statistics of a picture: its own, and .json behind it."""
    return picture.with_name(f"{picture.name}.json")


def files_of(path: Path, *, keep_linear: bool = True) -> list[Path]:
    """Returns the files that are written of a picture, itself the first and its statistics the last.

    keep_linear: whether linear radiance is written beside a .png too.
    """
    linear = [path.with_suffix(".npy")] if path.suffix.lower() == ".png" and keep_linear else []
    return [path, *linear, statistics_path(path)]


def written_files(settings: Settings) -> list[Path | None]:
    """Returns the files that are to be written of a picture, also its checkpoint; None stands for one that is not."""
    files = [] if settings.output is None else [*files_of(settings.output), checkpoint_path(settings.output)]
    return [*files, settings.save_photons, settings.timeline]


def asked(scene: str, settings: Settings, folder: Path, **more: Any) -> dict[str, Any]:
    """Returns what a command asks for, in plain values: all that it says of the picture, and nothing that it does not.

    scene: a name, or a file, which is told as it is seen from `folder`, so that both can move.
    more: what is asked for beside the settings.
    """
    given: dict[str, Any] = {"scene": _seen_from(folder, scene) if os.path.exists(scene) else scene}
    for one in settings_of(Settings).values():
        value = getattr(settings, one.name)
        counts = one.name == "seed" or (one.group not in NOT_ASKED_GROUPS and one.name not in NOT_ASKED)
        if counts and value != one.default:
            given[one.name] = value
    plain: dict[str, Any] = json.loads(json.dumps(given | more))
    return plain


def _seen_from(folder: Path, scene: str) -> str:
    try:
        return Path(os.path.relpath(os.path.realpath(scene), os.path.realpath(folder))).as_posix()
    except ValueError:  # on another drive
        return os.path.realpath(scene)


def read_statistics(path: Path) -> dict[str, Any] | None:
    """Returns the statistics of a file, or None where there is no such file or something else in it."""
    try:
        if not path.is_file() or path.stat().st_size > LARGEST_STATISTICS:
            return None
        figures = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    return figures if isinstance(figures, dict) else None


class Saving:
    """Saves something from time to time while passes are made, which begin now.

    what: its name in words.
    save: saves it; a failure is told, and is not the end of the render.
    interval: at least so many seconds between two times.
    first: seconds from now to the first time.
    """

    def __init__(self, what: str, save: Callable[[Film], None], interval: float, first: float) -> None:
        self._what, self._save, self._interval = what, save, interval
        self._next, self._has_failed = time.perf_counter() + first, False

    def save_if_due(self, film: Film, *, quiet: bool) -> None:
        """Saves if it is time; says once of several failures in a row that it could not be done, unless `quiet`."""
        begin = time.perf_counter()
        if begin < self._next:
            return
        try:
            self._save(film)
            self._has_failed = False
        except OSError as error:
            if not (quiet or self._has_failed):
                log.warning("note: cannot save %s now, and render on: %s", self._what, error)
            self._has_failed = True
        end = time.perf_counter()
        self._next = end + max(self._interval, SAVE_SPACING * (end - begin))


class PictureFiles:
    """Writes the files of a picture: `path`, its statistics, and for a .png also linear radiance as an .npy; of a part
    of its passes `path` alone, for `merging`.

    path: None where no file is written.
    is_frame: whether it is a frame of a sequence, which has no .npy, and of which a finished one is left to the caller.
    picture: as it was in the end, None before.
    """

    def __init__(
        self, path: Path | None, record: PictureRecord, checkpoints: Checkpoints, *, is_frame: bool = False
    ) -> None:
        self.path, self.record, self.checkpoints, self.is_frame = path, record, checkpoints, is_frame
        self.picture: Picture | None = None

    def savings(self) -> list[Saving]:
        """Returns when the unfinished picture is written, and when the checkpoint."""
        found = []
        is_part = self.record.plan.part is not None
        if self.path is not None and target_of(self.path) is not None and not is_part:  # a pipe is written to once
            preview = self.record.plan.settings.preview or 0.0
            found.append(Saving("the unfinished picture", self.save_picture, preview, preview))
        kept = self.checkpoints
        if kept.is_kept:
            found.append(Saving("a checkpoint", self._save_checkpoint, kept.interval, kept.first))
        return found

    def save_picture(self, film: Film) -> None:
        """Writes the unfinished picture and its statistics."""
        if self.path is not None:
            picture = self.record.picture(film)
            picture.write(self.path)
            statistics.write(statistics_path(self.path), picture.statistics)

    def save_all(self, film: Film, *, is_finished: bool) -> None:
        """Writes all files, each also where another cannot be written, and lastly removes the checkpoint; of what is
        not finished the checkpoint comes first.
        """
        if not is_finished and self.checkpoints.is_kept:
            try:
                self._save_checkpoint(film)
            except OSError as error:
                log.warning("note: cannot save a checkpoint: %s", error)
        self.picture = replace(self.record.picture(film), is_finished=is_finished)
        if not self.record.plan.settings.quiet:
            for note in filter(None, (self.picture.figures["darkness"], loss_note(self.picture.figures))):
                log.warning("note: %s", note)
        if self.path is not None and self.record.plan.part is not None:
            from renderer.run.picture.part_file import write_film

            write_film(self.path, self.record, film)
        elif self.record.plan.pipe is not None:
            self.record.plan.pipe.write(self.picture.png)
            self.record.plan.pipe.flush()
        elif self.path is not None and not (is_finished and self.is_frame):
            write_picture(self.picture, files_of(self.path, keep_linear=not self.is_frame))
        if is_finished:
            self.checkpoints.remove()

    def _save_checkpoint(self, film: Film) -> None:
        self.checkpoints.save(film, self.record.spent(film))


def write_picture(picture: Picture, files: list[Path]) -> None:
    """Writes the files of a picture, as `files_of` names them."""
    path, *linear, figures = files
    write_each(
        partial(picture.write, path),
        *(partial(image_file.write_array, one, picture.image) for one in linear),
        partial(statistics.write, figures, picture.statistics),
    )


def loss_note(figures: Statistics) -> str:
    """Returns, as text, how many samples of a picture were left out and how to look at the first; empty if none was."""
    count, first = figures["samples.left_out"], figures["samples.first_left_out"]
    if count == 0:
        return ""
    samples = "1 sample was left out, whose" if count == 1 else f"{count} samples were left out, whose"
    return f"{samples} radiance is not from 0 to 2^48; --debug-path {first} shows how the first came about"


def write_others(source: PassSource, film: Film) -> None:
    """Writes what else is to be kept of how a picture was made: photons and the timeline."""
    photons, timeline_path = source.plan.settings.save_photons, source.plan.settings.timeline
    writes: list[Callable[[], object]] = []
    if film.passes and photons is not None:
        writes.append(partial(save_photons, photons, source.driver))
    if timeline_path is not None:
        from renderer.run import timeline

        writes.append(lambda: timeline.write(timeline_path, source.logs()))
    write_each(*writes)


def save_photons(path: Path, driver: Driver) -> None:
    """Keeps a driver's photons in a file."""
    with temporary_beside(path) as temporary:
        driver.save_photons(temporary)
