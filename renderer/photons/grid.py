"""The uniform grid that photons are sorted into: where its cells are, and which one a place is in.

All of it is float32: photons are sorted and looked for by the same function, which never falls as a coordinate grows.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from shaders.compilation import compiled as inlined
from shaders.float32 import ONE, ZERO, Float32, Int
from shaders.vector import Vec3

#: A grid never has more cells than this, nor, where photons are few, more than these for each of them and some; larger
#: cells take over. Sixteen photons are looked at together, and most cells have none.
MAX_CELLS, CELLS_PER_PHOTON, LEAST_CELLS = 1 << 22, 2, 1 << 12


class Grid(NamedTuple):
    """Cells of one size, numbered with x fastest.

    low: corner of the grid, float32, world units.
    shape: how many cells there are along x, y and z, int32.
    cell: edge of a cell, world units.
    per_cell: cells for a world unit, float32.
    """

    low: Vec3
    shape: tuple[int, int, int]
    cell: float
    per_cell: float

    @property
    def cells(self) -> int:
        """Returns how many cells there are."""
        return int(self.shape[0]) * int(self.shape[1]) * int(self.shape[2])


def most_cells(photons: int) -> int:
    """Returns how many cells a grid may have for so many photons."""
    return min(MAX_CELLS, max(LEAST_CELLS, CELLS_PER_PHOTON * photons))


def grid_over(low: npt.NDArray[np.float32], high: npt.NDArray[np.float32], cell: float, most_cells: int) -> Grid:
    """Returns the grid over a box. The edge of its cells grows until there are not too many.

    low, high: (3,) float32, corners of the box, world units.
    cell: the least edge, world units.
    most_cells: how many cells there may be.
    """
    size = high.astype(np.float64) - low
    while (counts := np.floor(size / cell) + 1.0).prod() > most_cells:
        cell *= 1.12
    return Grid(
        low=(low[0], low[1], low[2]),
        shape=(Int(counts[0]), Int(counts[1]), Int(counts[2])),
        cell=float(cell),
        per_cell=Float32(1.0 / cell),
    )


@inlined
def coordinate(value: float, low: float, per_cell: float, count: int) -> int:
    """Returns the index of the cell along one axis, inside the grid, of a float32."""
    return Int(min(max((value - low) * per_cell, ZERO), Float32(count) - ONE))


@inlined
def cell_of(grid: Grid, position: Vec3) -> int:
    """Returns the number of the cell, int32, that a position, float32, is in, or of the nearest one."""
    x = coordinate(position[0], grid.low[0], grid.per_cell, grid.shape[0])
    y = coordinate(position[1], grid.low[1], grid.per_cell, grid.shape[1])
    z = coordinate(position[2], grid.low[2], grid.per_cell, grid.shape[2])
    return Int((z * grid.shape[1] + y) * grid.shape[0] + x)
