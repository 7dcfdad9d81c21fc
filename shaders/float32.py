"""This module sets the precision of shading: float32, in which a vector register holds most numbers.

In a compiled function a Python float makes all that it touches float64. Constants are therefore typed: with them the
precision of a function is that of its arguments, and loops over float32 arrays stay float32 throughout.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

#: Type checkers take these for floats, as all numbers of shading are.
Float32: Any = np.float32
Int: Any = np.int32

#: Arrays, as all that shade, trace and keep photons have them.
Floats = npt.NDArray[np.float32]
Doubles = npt.NDArray[np.float64]
Shorts = npt.NDArray[np.uint16]
Words = npt.NDArray[np.uint32]
Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

ZERO, HALF, ONE, TWO = Float32(0.0), Float32(0.5), Float32(1.0), Float32(2.0)
PI, TWO_PI = Float32(np.pi), Float32(2.0 * np.pi)
INFINITY = Float32(np.inf)
