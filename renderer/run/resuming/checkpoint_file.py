"""A checkpoint is a file by which a picture that is not finished goes on where it stopped, with the same bits. Two are
kept, the newest and the one before.

It holds the sums of the film, what the driver carries from pass to pass, and what the passes have taken. A line says
what the file is and of which version, a line of JSON has its key, its numbers and the types and shapes of its arrays;
then come the arrays as they are in memory, and a digest of all of it.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from renderer.atomic_file import atomic_file
from renderer.drivers.driver import Carried, RayCounts, Work, summed
from renderer.errors import CheckpointError, DamagedCheckpointError
from renderer.photons.counts import PhotonCounts
from renderer.run.statistics import ratio
from tracecore.dispatch.tracer import TracerStatistics

#: How a checkpoint begins, with the version of its format.
FIRST_LINE = b"tracecore checkpoint 1\n"

#: What is behind the name of the picture in that of its checkpoint, and behind that in the name of the one before.
SUFFIX, BEFORE = ".checkpoint", ".before"

DIGEST_BYTES = 32

#: Bytes that are written or read at a time.
BLOCK_BYTES = 1 << 24

Sums = dict[str, npt.NDArray[np.float64]]


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
    digest = hashlib.blake2b(digest_size=DIGEST_BYTES)
    with atomic_file(path) as file:
        for part in _parts(key, checkpoint):
            digest.update(part)
            file.write(part)
        file.write(digest.digest())
        file.flush()
        os.fsync(file.fileno())
        with suppress(FileNotFoundError):
            os.replace(path, path_before(path))


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
    with path.open("rb") as file:
        end = os.fstat(file.fileno()).st_size - DIGEST_BYTES
        if file.read(len(FIRST_LINE)) != FIRST_LINE or not _is_whole(file, end):
            raise DamagedCheckpointError(path, "is damaged, or no checkpoint of this version of the program")
        file.seek(len(FIRST_LINE))
        header = json.loads(file.readline())
        if header["key"] != key_of(header["passes"]):
            raise CheckpointError(path, "is of another scene, other settings or another version of the program")
        return Checkpoint(
            passes=header["passes"],
            spent=_spent(header["spent"]),
            sums=_arrays(file, header["sums"]),
            carried=_arrays(file, header["carried"]),
        )


def _parts(key: str, checkpoint: Checkpoint) -> Iterator[bytes | memoryview]:
    """Yields the bytes of a file, but for the digest."""
    arrays = {"sums": checkpoint.sums, "carried": checkpoint.carried}
    shapes = {kind: {name: one.shape for name, one in named.items()} for kind, named in arrays.items()}
    header = {"key": key, "passes": checkpoint.passes, "spent": asdict(checkpoint.spent), **shapes}
    yield FIRST_LINE
    yield f"{json.dumps(header)}\n".encode()
    for named in arrays.values():
        for one in named.values():
            numbers = np.ascontiguousarray(one, "<f8").reshape(-1).view(np.uint8).data
            for start in range(0, len(numbers), BLOCK_BYTES):
                yield numbers[start : start + BLOCK_BYTES]


def _is_whole(file: BinaryIO, end: int) -> bool:
    """Tells whether the digest at the end of a file is that of all before it. end: bytes before the digest."""
    digest = hashlib.blake2b(digest_size=DIGEST_BYTES)
    file.seek(0)
    for start in range(0, end, BLOCK_BYTES):
        digest.update(file.read(min(BLOCK_BYTES, end - start)))
    return end > 0 and file.read() == digest.digest()


def _arrays(file: BinaryIO, shapes: dict[str, list[int]]) -> Sums:
    """Reads arrays one after the other. shapes: by their names."""
    return {
        name: np.fromfile(file, "<f8", int(np.prod(shape))).astype(np.float64, copy=False).reshape(shape)
        for name, shape in shapes.items()
    }


def _spent(values: dict[str, Any]) -> Spent:
    """Returns what `dataclasses.asdict` has made plain."""
    work = dict(values["work"])
    work |= {"rays": RayCounts(**work["rays"]), "photons": PhotonCounts(**work["photons"])}
    return Spent(**values | {"work": Work(**work), "traced": TracerStatistics(**values["traced"])})
