"""Halton's points have the digits of whole numbers, mirrored at the point, in a base for each dimension.

With base 2 alone they are van der Corput's: Verteilungsfunktionen, 1935.
"""

import numpy as np
import numpy.typing as npt


def radical_inverse(numbers: npt.ArrayLike, base: int) -> npt.NDArray[np.float64]:
    """Returns whole numbers with their digits mirrored at the point, in [0, 1).

    numbers: whole numbers from 0 on, any shape.
    base: in which their digits are, from 2 on.

    Halton: On the Efficiency of Certain Quasi-random Sequences of Points in Evaluating Multi-dimensional Integrals,
    1960.
    """
    left = np.asarray(numbers, np.int64)
    total, share = np.zeros(left.shape), 1.0
    while np.any(left > 0):
        share /= base
        total += share * (left % base)
        left = left // base
    return total
