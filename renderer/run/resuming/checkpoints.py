"""A checkpoint is a file by which a picture that is not finished goes on where it stopped, with the same bits. Two are
kept, the newest and the one before.

It is a `sealed_file` of the sums of the film, what the driver carries from pass to pass, and what passes have taken.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from renderer.drivers.driver import Carried, RayCounts, Work, summed
from renderer.errors import CheckpointError, DamagedCheckpointError, UsageError
from renderer.film.film import Sums
from renderer.photons.counts import PhotonCounts
from renderer.run.statistics import ratio
from scenes.files.written_file import remove_leftovers
from tracecore.dispatch.tracer import TracerStatistics

if TYPE_CHECKING:
    from renderer.drivers.driver import Driver
    from renderer.film.film import Film
    from renderer.settings.picture import Settings

#: Between two checkpoints at least so many seconds where nobody says otherwise, and so many before the first one.
DEFAULT_SECONDS, DEFAULT_FIRST = 60.0, 120.0

#: How a checkpoint begins, with the version of its format.
FIRST_LINE = b"tracecore checkpoint 2\n"

#: What is behind the name of the picture in that of its checkpoint, and behind that in the name of the one before.
SUFFIX, BEFORE = ".checkpoint", ".before"

#: Before the name of what a driver carries, among the arrays.
CARRIED = "carried "

log = logging.getLogger(__name__)

NO_WORK = TracerStatistics(batches=0, rays=0, busy_seconds=0.0, kernel_rays_per_second=0.0, invalid_rays=0)


def both(one: TracerStatistics, other: TracerStatistics) -> TracerStatistics:
    """Returns what two tracers have done together."""
    total = summed(one, other)
    seconds = sum(ratio(part.rays, part.kernel_rays_per_second) for part in (one, other))
    return replace(total, kernel_rays_per_second=ratio(total.rays, seconds))


@dataclass(frozen=True, kw_only=True)
class Spent:
    """Holds what passes have taken.

    seconds: wall time.
    film_seconds: of these they were added to the picture.
    work: of the driver.
    traced: by the tracer.
    """

    seconds: float = 0.0
    film_seconds: float = 0.0
    work: Work = field(default_factory=Work)
    traced: TracerStatistics = NO_WORK

    def __add__(self, other: Spent) -> Spent:
        """Returns what both have taken together."""
        return Spent(
            seconds=self.seconds + other.seconds,
            film_seconds=self.film_seconds + other.film_seconds,
            work=summed(self.work, other.work),
            traced=both(self.traced, other.traced),
        )


NOTHING_SPENT = Spent()


@dataclass(frozen=True, kw_only=True, eq=False)
class Checkpoint:
    """Holds a picture that is not finished.

    passes: how many it is made of.
    spent: what they have taken.
    sums: of the film, see `Film.sums`.
    carried: by the driver from pass to pass.
    """

    passes: int
    spent: Spent
    sums: Sums
    carried: Carried


def checkpoint_path(picture: Path) -> Path:
    """Returns the path of the checkpoint of a picture."""
    return picture.with_name(picture.name + SUFFIX)


def path_before(path: Path) -> Path:
    """Returns the path of the checkpoint before the newest one, of which the path is given."""
    return path.with_name(path.name + BEFORE)


def write(path: Path, key: str, checkpoint: Checkpoint) -> None:
    """Writes a checkpoint in full, or leaves what is there. The one that was the newest becomes the one before.

    key: of the picture.
    """
    from renderer.run.resuming import sealed_file

    def keep_newest() -> None:
        with suppress(FileNotFoundError):
            os.replace(path, path_before(path))

    header = {"key": key, "passes": checkpoint.passes, "spent": asdict(checkpoint.spent)}
    carried = {f"{CARRIED}{name}": one for name, one in checkpoint.carried.items()}
    sealed_file.write(path, FIRST_LINE, header, checkpoint.sums | carried, keep_newest)


def read(path: Path, key_of: Callable[[int], str]) -> Checkpoint:
    """Returns the checkpoint in a file.

    key_of: returns the key that it has to have, of the number of its passes.

    Raises `DamagedCheckpointError` for one that is damaged, `CheckpointError` for one of another picture, and `OSError`
    where it cannot be read.
    """
    from renderer.run.resuming import sealed_file

    header = sealed_file.read_header(path, FIRST_LINE)
    if header is None:
        raise DamagedCheckpointError(path, "is damaged, or no checkpoint of this version of the program")
    if header["key"] != key_of(header["passes"]):
        raise CheckpointError(path, "is of another scene, other settings or another version of the program")
    arrays = sealed_file.read_arrays(path, FIRST_LINE)
    return Checkpoint(
        passes=header["passes"],
        spent=_spent(header["spent"]),
        sums={name: one for name, one in arrays.items() if not name.startswith(CARRIED)},
        carried={name.removeprefix(CARRIED): one for name, one in arrays.items() if name.startswith(CARRIED)},
    )


def _spent(values: dict[str, Any]) -> Spent:
    """Returns what `dataclasses.asdict` has made plain."""
    work = dict(values["work"])
    work |= {"rays": RayCounts(**work["rays"]), "photons": PhotonCounts(**work["photons"])}
    return Spent(**values | {"work": Work(**work), "traced": TracerStatistics(**values["traced"])})


class Checkpoints:
    """Holds the checkpoint from which a picture goes on, if it does, and writes those that it leaves.

    picture: path of the picture, beside which they are; None for one that keeps none.
    settings: say when they are written, and whether to go on with one that is there.
    key_of: returns the key of the picture, of the number of passes that have looked at the scene.
    is_kept: whether there are any, which the driver has a say in.
    interval: seconds between two, at least.
    first: seconds of a render before its first one, unless it ends early.
    spent: what the passes have taken that it goes on from.

    Raises `CheckpointError` where the picture cannot go on as it is asked to.
    """

    def __init__(self, picture: Path | None, settings: Settings, key_of: Callable[[int], str]) -> None:
        self._path, self._key_of = picture and checkpoint_path(picture), key_of
        self._is_quiet, self._is_resumed = settings.quiet, settings.resume
        self._is_asked_for = settings.resume or settings.checkpoint is not None
        self.interval = DEFAULT_SECONDS if settings.checkpoint is None else settings.checkpoint
        self.first = self.interval if self._is_asked_for else DEFAULT_FIRST
        self.is_kept = False
        self._checkpoint = None if self._path is None else self._found(self._path, key_of)
        self.spent = NOTHING_SPENT if self._checkpoint is None else self._checkpoint.spent

    def take_up(self, driver: Driver, film: Film) -> None:
        """Have a driver and a film, both new, go on where others stopped, if they are to.

        Raises `UsageError` where the driver cannot and should, and `CheckpointError` where the checkpoint is of no such
        film.
        """
        path, checkpoint = self._path, self._checkpoint
        if path is None:
            return
        self.is_kept = driver.can_resume
        if not self.is_kept:
            if self._is_asked_for:
                raise UsageError(
                    f"driver {driver.name} does not tell what it keeps from pass to pass, so that its pictures cannot "
                    "be resumed; leave out --checkpoint and --resume"
                )
        elif checkpoint is not None:
            try:
                film.resume(checkpoint.passes, checkpoint.sums, checkpoint.carried)
                driver.take_up(checkpoint.passes, checkpoint.carried)
            except ValueError as error:
                raise CheckpointError(path, f"is of another picture: {error}") from error
            self._checkpoint = None  # whose memory is the film's now

    def save(self, film: Film, spent: Spent) -> None:
        """Writes a checkpoint. spent: what the passes of the film have taken."""
        assert self._path is not None
        checkpoint = Checkpoint(passes=film.passes, spent=spent, sums=film.sums(), carried=film.carried)
        write(self._path, self._key_of(film.passes), checkpoint)

    def remove(self) -> None:
        """Removes the checkpoints of a picture that is finished."""
        if self._path is not None:
            for each in (self._path, path_before(self._path)):
                with suppress(OSError):
                    each.unlink()
            remove_leftovers(self._path)

    def _found(self, newest: Path, key_of: Callable[[int], str]) -> Checkpoint | None:
        """Returns the checkpoint from which to go on; None where there is none, or nobody wants to."""
        there = [path for path in (newest, path_before(newest)) if path.is_file()]
        if not there:
            if self._is_resumed:
                self._note(f"there is no '{newest}'; beginning anew")
            return None
        if not self._is_resumed:
            self._note(f"'{there[0]}' is left of a render that was not finished; --resume goes on with it")
            return None
        path, why = there[0], "" if there[0] == newest else f"there is no '{newest}'; "
        try:
            found = read(path, key_of)
        except (DamagedCheckpointError, OSError):
            if len(there) == 1:
                raise
            path, why = there[1], f"'{path}' is damaged; "
            found = read(path, key_of)
            with suppress(OSError):
                newest.unlink()  # or else it would become the one before
        self._note(f"{why}going on after pass {found.passes} of '{path}'")
        return found

    def _note(self, text: str) -> None:
        if not self._is_quiet:
            log.info("note: %s", text)
