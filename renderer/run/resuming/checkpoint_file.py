"""A checkpoint is a file by which a picture that is not finished goes on where it stopped, with the same bits. Two are
kept, the newest and the one before.

It is a `sealed_file` of the sums of the film, what the driver carries from pass to pass, and what passes have taken.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from renderer.drivers.driver import Carried, RayCounts, Work, summed
from renderer.errors import CheckpointError, DamagedCheckpointError
from renderer.film.film import Sums
from renderer.photons.counts import PhotonCounts
from renderer.run.resuming import sealed_file
from renderer.run.statistics import ratio
from tracecore.dispatch.tracer import TracerStatistics

#: How a checkpoint begins, with the version of its format.
FIRST_LINE = b"tracecore checkpoint 2\n"

#: What is behind the name of the picture in that of its checkpoint, and behind that in the name of the one before.
SUFFIX, BEFORE = ".checkpoint", ".before"

#: Before the name of what a driver carries, among the arrays.
CARRIED = "carried "

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

    def keep_newest() -> None:
        with suppress(FileNotFoundError):
            os.replace(path, path_before(path))

    header = {"key": key, "passes": checkpoint.passes, "spent": asdict(checkpoint.spent)}
    carried = {f"{CARRIED}{name}": one for name, one in checkpoint.carried.items()}
    sealed_file.write(path, FIRST_LINE, header, checkpoint.sums | carried, keep_newest)


def remove(path: Path) -> None:
    """Removes the newest checkpoint and the one before, as far as they are there."""
    for each in (path, path_before(path)):
        with suppress(OSError):
            each.unlink()


def read(path: Path, key_of: Callable[[int], str]) -> Checkpoint:
    """Returns the checkpoint in a file.

    key_of: returns the key that it has to have, of the number of its passes.

    Raises `DamagedCheckpointError` for one that is damaged, `CheckpointError` for one of another picture, and `OSError`
    where it cannot be read.
    """
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
