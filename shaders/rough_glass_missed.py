"""This module looks up the share of light that rough glass would lose if only one facet counted
(`shaders.rough_glass_table`).

Between places the table is linear. Its means are those of what is so read: what is missed can be given back without an
error of its own.
"""

import math

import numpy as np

from shaders.albedo_table import Cell, between, index_of, means, read, read_mean
from shaders.compilation import address, compiled
from shaders.float32 import HALF, ONE, ZERO, Int
from shaders.rough_glass_table import ETAS, FILE, UNIT

#: Missed shares: (ETAS, ALPHAS, COSINES), and their means, (ETAS, ALPHAS).
MISSED = (UNIT * np.load(FILE)).astype(np.float32)
MEAN_MISSED = means(MISSED).astype(np.float32)


@compiled
def eta_index(eta: float) -> tuple[int, float]:
    """Returns the layer (int32) in the table before a refractive index, and how far it is to the next one."""
    ratio = (eta - ONE) / (eta + ONE)
    root = math.sqrt(abs(ratio))
    return index_of(HALF + HALF * (root if ratio >= ZERO else -root), ETAS)


@compiled
def missed_share(eta: float, cell: Cell) -> float:
    """Returns the share of light that one facet does not send on.

    eta: index of the far side over the near one.
    cell: that of the width and the cosine (`shaders.albedo_table.cell_at`).
    """
    layer, aside = eta_index(eta)
    return between(read(address(MISSED), layer, cell), read(address(MISSED), Int(layer + Int(1)), cell), aside)


@compiled
def mean_missed_share(eta: float, alpha: float) -> float:
    """Returns the cosine-weighted mean of `missed_share` over the hemisphere."""
    layer, aside = eta_index(eta)
    near = read_mean(address(MEAN_MISSED), layer, alpha)
    return between(near, read_mean(address(MEAN_MISSED), Int(layer + Int(1)), alpha), aside)
