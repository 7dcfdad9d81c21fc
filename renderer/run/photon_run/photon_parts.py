"""A part of a photon run is a `sealed_file` with the photons of a range of those that the run sends out. Parts are
merged in any order, to the photons of the whole run or to a larger part of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from renderer.atomic_file import temporary_beside
from renderer.errors import PartError
from renderer.photons.photon_file import save_photons
from renderer.photons.photon_map import PHOTON, PHOTON_WORDS, Words
from renderer.run.part_ranges import PHOTONS, check_disjoint, gaps, together, told
from renderer.run.resuming import sealed_file
from renderer.run.resuming.frame_key import photons_key

if TYPE_CHECKING:
    from renderer.photons.batch import PhotonTask
    from scenes.model import Snapshot

#: How a file begins, with the version of its format; how its name ends.
FIRST_LINE, SUFFIX = b"tracecore photons 1\n", ".photons"


class StoredRange(NamedTuple):
    """Is a range of the photons that are sent out, and how many were stored of them."""

    first: int
    end: int
    stored: int


@dataclass(frozen=True, kw_only=True)
class PhotonPart:
    """Says what is in the file of a part.

    path: of the file.
    key: of the whole run: parts that have another one do not belong to it.
    emitted: photons that the whole run sends out.
    flux_unit: watts of a stored flux of 1, of all that are sent out together.
    facts: by name, what people know the run by.
    ranges: that the part has, counting up; their photons lie one after the other.
    """

    path: Path
    key: str
    emitted: int
    flux_unit: float
    facts: dict[str, Any]
    ranges: tuple[StoredRange, ...]

    @property
    def spans(self) -> list[tuple[int, int]]:
        """Returns the ranges, (first, end) each."""
        return [(one.first, one.end) for one in self.ranges]

    def check_whole(self) -> None:
        """Raises `PartError` where photons of the run are missing."""
        missing = gaps(together(self.spans), self.emitted)
        if missing:
            raise PartError(
                f"{told(missing, PHOTONS)} missing, of {self.emitted}; trace them, or name the files that have them"
            )

    def photons(self) -> Words:
        """Returns the photons, (n, PHOTON_WORDS) uint32."""
        return sealed_file.read_arrays(self.path, FIRST_LINE)["photons"]

    def write(self, photons: Words) -> None:
        """Writes the file. photons: (n, PHOTON_WORDS) uint32."""
        header = {name: value for name, value in vars(self).items() if name != "path"}
        sealed_file.write(self.path, FIRST_LINE, header, {"photons": photons})


def read_photon_part(path: Path) -> PhotonPart:
    """Returns what is in the file of a part. Raises `PartError` where it is none, and `OSError`."""
    header = sealed_file.read_header(path, FIRST_LINE)
    if header is None:
        raise PartError(f"'{path}' is damaged, or no part of a photon run by this version of the program")
    del header["arrays"]
    return PhotonPart(path=path, **header | {"ranges": tuple(StoredRange(*one) for one in header["ranges"])})


def part_of_run(path: Path, snapshot: Snapshot, task: PhotonTask, emitted: int) -> PhotonPart:
    """Returns what the file of a part of a run says that has no photons yet.

    path: of the file.
    snapshot: the scene.
    task: of all photons of the run.
    emitted: how many it sends out.
    """
    facts = {"scene": snapshot.name, "--emit": emitted, "--seed": int(task.seed), "--max-bounces": task.max_bounces}
    facts["triangles"] = len(snapshot.positions)
    key = photons_key(snapshot, task, emitted)
    return PhotonPart(path=path, key=key, emitted=emitted, flux_unit=task.flux_unit, facts=facts, ranges=())


def check_photon_run(path: Path) -> None:
    """Raises `PartError` where a file cannot have the photons of a run."""
    if path.suffix.lower() != SUFFIX:
        raise PartError(f"cannot look up the photons of '{path}': the name must end in {SUFFIX}")
    if not path.is_file():
        raise PartError(f"cannot read '{path}': there is no such file")


def photons_of_run(path: Path, snapshot: Snapshot, task: PhotonTask, emitted: int) -> Words:
    """Returns the photons of a whole run, (n, PHOTON_WORDS) uint32, from a file.

    Raises `PartError` where it has others, or not all of them. For arguments see `part_of_run`.
    """
    part, wanted = read_photon_part(path), part_of_run(path, snapshot, task, emitted)
    if part.key != wanted.key:
        raise PartError(f"'{path}' and this picture differ in {_difference(part, wanted)}")
    part.check_whole()
    photons = part.photons()
    if photons.shape != (sum(one.stored for one in part.ranges), PHOTON_WORDS):
        raise PartError(f"'{path}' has not the photons that it tells of")
    if not np.isfinite(photons.view(PHOTON)["position"]).all():
        raise PartError(f"'{path}' has photons at no place")
    return photons


class MergedPhotons:
    """Is what parts of one photon run have together.

    part: says what is in it.

    Raises `PartError` where the files are no parts, of different runs, or have photons in common.
    """

    def __init__(self, files: Sequence[Path]) -> None:
        self._parts = [read_photon_part(path) for path in files]
        first = self._parts[0]
        for part in self._parts[1:]:
            if part.key != first.key:
                raise PartError(f"'{part.path}' and '{first.path}' differ in {_difference(part, first)}")
        check_disjoint(((span, part.path) for part in self._parts for span in part.spans), PHOTONS)
        self.part = replace(first, ranges=tuple(sorted(one for part in self._parts for one in part.ranges)))

    def write(self, path: Path) -> None:
        """Writes the file of a part that has all these photons."""
        replace(self.part, path=path).write(self._photons())

    def save(self, path: Path) -> None:
        """Writes all photons as the whole run saves them. Raises `PartError` where some are missing."""
        part = self.part
        part.check_whole()
        with temporary_beside(path) as temporary:
            save_photons(temporary, self._photons(), part.flux_unit / part.emitted)

    def _photons(self) -> Words:
        """Returns the photons of all parts in order."""
        starts, end = {}, 0
        for one in self.part.ranges:
            starts[one.first], end = end, end + one.stored
        found = np.empty((end, PHOTON_WORDS), np.uint32)
        for part in self._parts:
            for first, photons in _by_range(part):
                found[starts[first] : starts[first] + len(photons)] = photons
        return found


def _by_range(part: PhotonPart) -> Iterator[tuple[int, Words]]:
    """Yields the photons of each range of a part, with the first index of the range."""
    photons, start = part.photons(), 0
    for one in part.ranges:
        yield one.first, photons[start : start + one.stored]
        start += one.stored


def _difference(one: PhotonPart, other: PhotonPart) -> str:
    """Returns, in words, what two parts differ in that are not of one run."""
    for name in one.facts:
        if one.facts[name] != other.facts[name]:
            return f"{name}: {one.facts[name]} and {other.facts[name]}"
    return "the scene or the version of the program"
