from typing import NamedTuple

import numpy as np
import other
from other import doubled

from tracecore.compilation.cached import inlined

HALF, UNUSED, TABLE = 0.5, 7, np.float32([1.0, 2.0])


class Pair(NamedTuple):
    a: float
    b: float


@inlined
def scaled(x, times=3.0):
    return times * x * HALF + other.SHIFT


@inlined
def asked(x):
    # a comment
    return Pair(scaled(x), doubled(x) + TABLE[1])
