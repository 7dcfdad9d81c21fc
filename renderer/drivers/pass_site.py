"""Where a pass is made: by which workers, for which pixels, and in memory that passes leave to each other. Eye paths
begin in pixels in the order that is given here.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from renderer.drivers.driver import Work
from renderer.photons.counts import PhotonCounts
from renderer.photons.lookup import PhotonLookup
from renderer.settings.picture import RenderSettings
from tracecore.workers.tasks import Team

T = TypeVar("T")

#: Edge of the squares in which pixels are visited, so that neighbouring rays are traced together.
TILE = 8


@dataclass(frozen=True)
class PassSite:
    """Says where a pass is made.

    team: the workers at it.
    pixels: (n,) int32, those that are made of it.
    photon_map: that members of a fleet have made together for it, or None.
    work: the rays and photons that it takes, to which is added.
    """

    team: Team
    pixels: npt.NDArray[np.int32]
    photon_map: PhotonLookup | None = None
    work: Work = field(default_factory=Work)
    _borrowed: list[tuple[str, object]] = field(default_factory=list)

    def count(self, photons: PhotonCounts, rays: int) -> None:
        """Adds photons that were traced to the work."""
        self.work.photons.add(photons)
        self.work.rays.photon += rays

    def borrow(self, key: str, make: Callable[[], T]) -> T:
        """Returns memory that this pass has for itself until it gives it back, and other passes then.

        key: says what kind of memory it is.
        make: makes some where none is left.
        """
        memory = self.team.take(key, make)
        self._borrowed.append((key, memory))
        return memory

    def give_back(self) -> None:
        """Leaves what was borrowed to other passes."""
        while self._borrowed:
            self.team.leave(*self._borrowed.pop())


@functools.lru_cache(maxsize=4)
def pixels_by_tile(width: int, height: int) -> npt.NDArray[np.int32]:
    """Returns the indices of the pixels, (width * height,) int32, row * width + column, tile after tile."""
    columns, rows = -(-width // TILE), -(-height // TILE)
    row, column = np.ogrid[: rows * TILE, : columns * TILE]
    index = np.where((row < height) & (column < width), row * width + column, -1)
    by_tile = index.reshape(rows, TILE, columns, TILE).transpose(0, 2, 1, 3).ravel()
    return by_tile[by_tile >= 0].astype(np.int32)


def cropped(pixels: npt.NDArray[np.int32], settings: RenderSettings) -> npt.NDArray[np.int32]:
    """Returns those indices of pixels, in their order, that are in the part of the picture that is made."""
    if settings.crop is None:
        return pixels
    x, y, width, height = settings.crop
    rows, columns = np.divmod(pixels, settings.width)
    return pixels[(x <= columns) & (columns < x + width) & (y <= rows) & (rows < y + height)]
