"""Shares of the work of a pass, that several processes make.

A whole pass is one share. One that is cut has, where it looks at photons, a share for each range of them, then one that
puts all of them into maps, and then its parts, which look up in these maps: photons are traced once and maps are made
once, whatever the number of processes.
"""

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from renderer.drivers.driver import Carried
from renderer.drivers.driver import MadeShare as MadeShare
from renderer.fleet.fleet import Common
from renderer.photons.lookup import PhotonLookup
from renderer.photons.photon_map import Words
from renderer.photons.ranges import PhotonRange

#: Edge of the squares in which pixels are visited, so that neighbouring rays are traced together.
TILE = 8

#: Pixels, one after the other in the order in which they are visited, that are in the same part of a pass.
PART_RUN = 8 * TILE * TILE

#: Photons of a pass, or of a range of them, by the name of the map that is made of them: (n, PHOTON_WORDS) uint32, in
#: order of photon index and bounce.
Photons = dict[str, Words]


@dataclass(frozen=True)
class Share:
    """Is a pass, or the part of one that a process makes beside others.

    index: of the pass, 0-based.
    part, parts: which part of its pixels, of how many.
    carried: what the pass needs of those before it, where it needs something.
    given: the photons to look up, or None where whoever makes the share is to trace them.
    """

    index: int
    part: int = 0
    parts: int = 1
    carried: Carried | None = field(default=None, compare=False)
    given: Common[PhotonLookup] | None = field(default=None, compare=False)

    def __str__(self) -> str:
        """Returns its name in words."""
        part = "" if self.parts == 1 else f"part {self.part} of {self.parts} of "
        return f"{part}pass {self.index}"


@dataclass(frozen=True)
class PhotonShare:
    """Is a range of the photons of a pass, that are to be traced. index: of the pass, 0-based."""

    index: int
    photons: PhotonRange

    def __str__(self) -> str:
        """Returns its name in words."""
        return f"{self.photons} of pass {self.index}"


@dataclass(frozen=True)
class MapShare:
    """Stands for the maps of a pass, that are to be made of photons which have been traced.

    index: of the pass, 0-based.
    given: all photons, range by range.
    """

    index: int
    given: Common[tuple[Photons, ...]] = field(compare=False)

    def __str__(self) -> str:
        """Returns its name in words."""
        return f"the photon maps of pass {self.index}"


AnyShare = Share | PhotonShare | MapShare


def part_of(pixels: npt.NDArray[np.int32], share: Share) -> npt.NDArray[np.int32]:
    """Returns those indices of pixels, in their order, that are in the part of a share: runs of them in turn."""
    if share.parts == 1:
        return pixels
    return pixels[np.arange(len(pixels)) // PART_RUN % share.parts == share.part]
