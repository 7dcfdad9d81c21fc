"""This module has tables of how much of the light GGX facets reflect in one bounce, over roughness and angle, with
means.

Of white facets one bounce misses a share, which hits more of them. What it keeps has met facets at grazing angles: of
the mean of Schlick's (1 - cosine)^5 over it, `grazing`, facets that reflect f at normal incidence reflect
f + (1 - f) grazing of it.

A table's rows are at equal steps of the root of alpha, its columns of `column_at`: half of the root of the cosine,
half of that of where the cosine is between 0 and more than alpha, as narrow facets hide each other in directions less
steep than they are. Between these, numbers are linear; they are within 0.001 but for alpha < 0.02 at grazing angles.
Means are those of what is so read: what one bounce misses can be added without an error of its own.

`tests/shading_tables.py` made the files.
"""

import math
from pathlib import Path
from typing import NamedTuple

import numpy as np

from shaders.compilation import address, compiled, get
from shaders.float32 import HALF, ONE, ZERO, Float32, Int
from shaders.ggx import LEAST_ALPHA

#: Rows and columns of all tables of facets.
ALPHAS, COSINES = 32, 48
PLANE = ALPHAS * COSINES

FILE, MEANS_FILE = Path(__file__).with_suffix(".npy"), Path(__file__).with_name("albedo_means.npy")

#: Mean of Schlick's (1 - cosine)^5 over the cosine-weighted hemisphere.
MEAN_GRAZING = Float32(1.0 / 21.0)

#: What one bounce misses is at least this, so that it may be divided by.
LEAST_MISSED = Float32(1e-9)

#: The tables, each (ALPHAS, COSINES), and the mean of what is missed, (ALPHAS,).
MISSED, GRAZING = np.load(FILE)
MEAN_MISSED = np.load(MEANS_FILE)


class Cell(NamedTuple):
    """Says where a number is in a table: the int32 index of the one before it, and how far it is to the next row and
    the next column, as shares of their distance."""

    first: int
    down: float
    along: float


@compiled
def index_of(x: float, size: int) -> tuple[int, float]:
    """Returns the int32 index in a table's axis before x in 0..1, and the share of the way from it to the next one."""
    scaled = min(max(x, ZERO), ONE) * Float32(size - 1)
    index = max(min(Int(scaled), Int(size - 2)), Int(0))  # also of what is no number
    return index, scaled - Float32(index)


@compiled
def row_at(alpha: float) -> tuple[int, float]:
    """Returns the row before alpha, and how far it is to the next one."""
    return index_of(math.sqrt(max(alpha, ZERO)), ALPHAS)


@compiled
def cell_at(alpha: float, cosine: float) -> Cell:
    """Returns where numbers are for this width and cosine."""
    cosine = max(cosine, ZERO)
    width = max(alpha, LEAST_ALPHA)
    column = HALF * (math.sqrt(cosine) + math.sqrt(cosine * (ONE + width) / (cosine + width)))
    row, down = row_at(alpha)
    index, along = index_of(column, COSINES)
    return Cell(Int(row * Int(COSINES) + index), down, along)


@compiled
def read(table: int, layer: int, cell: Cell) -> float:
    """Returns the number in a cell of a layer (int32) of the table at an address."""
    first = Int(layer * Int(PLANE) + cell.first)
    second = Int(first + Int(COSINES))
    near = between(get(table, first), get(table, Int(first + Int(1))), cell.along)
    far = between(get(table, second), get(table, Int(second + Int(1))), cell.along)
    return between(near, far, cell.down)


@compiled
def read_mean(table: int, layer: int, alpha: float) -> float:
    """Returns the number for alpha in a layer (int32) of the table (..., ALPHAS) at an address."""
    row, down = row_at(alpha)
    first = Int(layer * Int(ALPHAS) + row)
    return between(get(table, first), get(table, Int(first + Int(1))), down)


@compiled
def missed_at(alpha: float, cell: Cell) -> float:
    """Returns the share of light on white facets that one bounce misses."""
    missed = read(address(MISSED), Int(0), cell)
    return missed if alpha >= LEAST_ALPHA else ZERO


@compiled
def grazing_at(alpha: float, cosine: float, cell: Cell) -> float:
    """Returns the mean of Schlick's (1 - cosine)^5 over what one bounce keeps."""
    rough, smooth = read(address(GRAZING), Int(0), cell), grazing(cosine)
    return rough if alpha >= LEAST_ALPHA else smooth


@compiled
def mean_missed(alpha: float) -> float:
    """Returns the cosine-weighted mean of `missed_at` over the hemisphere, LEAST_MISSED at least."""
    missed = read_mean(address(MEAN_MISSED), Int(0), alpha)
    return max(missed if alpha >= LEAST_ALPHA else ZERO, LEAST_MISSED)


@compiled
def grazing(cosine: float) -> float:
    """Returns Schlick's (1 - cosine)^5."""
    rest = max(ONE - cosine, ZERO)
    square = rest * rest
    return square * square * rest


@compiled
def between(a: float, b: float, share: float) -> float:
    """Returns what is a share of the way from a to b."""
    return a + (b - a) * share
