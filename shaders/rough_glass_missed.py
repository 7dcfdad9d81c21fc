"""This module looks up the share of light that rough glass would lose if only one facet counted
(`shaders.rough_glass_table`).

Between places the table is linear. Its means are those of what is so read, exactly: what is missed can be given back
without an error of its own.
"""

import numpy as np

from shaders.albedo_table import between, index_of, index_of_root, means
from shaders.compilation import called, compiled
from shaders.rough_glass_table import ALPHAS, COSINES, ETAS, FILE, UNIT, Shorts

#: Missed shares: (ETAS, ALPHAS, COSINES), in multiples of UNIT, and their means, (ETAS, ALPHAS).
MISSED: Shorts = np.load(FILE)
MEAN_MISSED = means(UNIT * MISSED.astype(np.float64))


@compiled
def eta_index(eta: float) -> tuple[int, float]:
    """Returns the index in the table before a refractive index, and how far it is to the next one."""
    ratio = (eta - 1.0) / (eta + 1.0)
    root = abs(ratio) ** 0.5
    return index_of(0.5 + 0.5 * (root if ratio >= 0.0 else -root), ETAS)


@called
def missed_share(eta: float, alpha: float, cosine: float) -> float:
    """Returns the share of light at a cosine that one facet does not send on.

    eta: index of the far side over the near one.
    """
    layer, aside = eta_index(eta)
    row, down = index_of_root(alpha, ALPHAS)
    column, along = index_of_root(cosine, COSINES)
    near = between(_along(layer, row, column, along), _along(layer, row + 1, column, along), down)
    far = between(_along(layer + 1, row, column, along), _along(layer + 1, row + 1, column, along), down)
    return UNIT * between(near, far, aside)


@called
def mean_missed_share(eta: float, alpha: float) -> float:
    """Returns the cosine-weighted mean of `missed_share` over the hemisphere."""
    layer, aside = eta_index(eta)
    row, down = index_of_root(alpha, ALPHAS)
    near = between(MEAN_MISSED[layer, row], MEAN_MISSED[layer, row + 1], down)
    far = between(MEAN_MISSED[layer + 1, row], MEAN_MISSED[layer + 1, row + 1], down)
    return between(near, far, aside)


@compiled
def _along(layer: int, row: int, column: int, share: float) -> float:
    """Returns the table's value between two cosines, in multiples of UNIT."""
    return between(float(MISSED[layer, row, column]), float(MISSED[layer, row, column + 1]), share)
