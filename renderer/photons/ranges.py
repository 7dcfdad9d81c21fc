"""Ranges into which photons are cut, so that several processes trace some each, and numbers beyond 32 bits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from renderer.photons.batch import PhotonTask

#: Ranges of photons begin at multiples of this.
RANGE_PHOTONS = 4096

#: Photons of a sequence, in which loops number them by 32 bits; those that follow belong to the next sequence, with
#: random numbers of its own.
SEQUENCE_PHOTONS = 1 << 32


@dataclass(frozen=True)
class PhotonRange:
    """Is a range of photons. expected_rays: as `trace_photons` takes them."""

    first: int
    end: int
    expected_rays: int = 0

    def __str__(self) -> str:
        """Returns its name in words."""
        return f"photons {self.first} to {self.end - 1}"

    @property
    def indices(self) -> range:
        """Returns the indices of the photons."""
        return range(self.first, self.end)


def ranges_of(photons: range, members: int, expected_rays: int = 0) -> list[PhotonRange]:
    """Returns the ranges into which photons are cut, as many for each member.
    photons: their indices. expected_rays: of all of them."""
    count = len(photons)
    share = -(-count // (members * RANGE_PHOTONS)) * RANGE_PHOTONS
    starts = range(photons.start, photons.stop, share)
    return [
        PhotonRange(start, min(start + share, photons.stop), -(-expected_rays * share // count)) for start in starts
    ]


def within_sequence(photons: range) -> range:
    """Returns as many of these photons as are in the sequence of the first one. photons: their indices."""
    return range(photons.start, min(photons.stop, (photons.start // SEQUENCE_PHOTONS + 1) * SEQUENCE_PHOTONS))


def in_sequence(task: PhotonTask, photons: range) -> tuple[PhotonTask, range]:
    """Returns the task of the sequence that photons are in, and their indices in it, of 32 bits.

    task: of the first sequence.
    photons: indices, from 0 to any number, all of one sequence.

    Raises ValueError where they are of several.
    """
    if within_sequence(photons) != photons:
        raise ValueError(f"photons {photons.start} to {photons.stop - 1} are of several sequences; cut them first")
    number, first = divmod(photons.start, SEQUENCE_PHOTONS)
    return task._replace(sequence=task.sequence + number), range(first, first + len(photons))
