"""Ranges into which photons are cut, so that several processes trace some each."""

from dataclasses import dataclass

#: Ranges of photons begin at multiples of this.
RANGE_PHOTONS = 4096


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

    photons: their indices.
    expected_rays: of all of them.
    """
    count = len(photons)
    share = -(-count // (members * RANGE_PHOTONS)) * RANGE_PHOTONS
    starts = range(photons.start, photons.stop, share)
    return [
        PhotonRange(start, min(start + share, photons.stop), -(-expected_rays * share // count)) for start in starts
    ]
