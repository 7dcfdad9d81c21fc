"""This module packs unit vectors into 32 bits, as points of a folded octahedron.

Meyer, Suessmuth, Sussner, Stamminger, Greiner: On Floating-Point Normal Vectors, 2010.
"""

import math

import numpy as np

from shaders.compilation import compiled
from shaders.elementary import fma
from shaders.float32 import ONE, ZERO, Float32
from shaders.vector import Vec3, normalize


@compiled
def pack_unit(v: Vec3) -> np.uint32:
    """Packs a unit vector into 32 bits, right to about 1e-4 rad."""
    per_norm = ONE / Float32(abs(v[0]) + abs(v[1]) + abs(v[2]))
    x, y = Float32(v[0]) * per_norm, Float32(v[1]) * per_norm
    folded_x = (ONE - abs(y)) * (ONE if x >= ZERO else -ONE)
    folded_y = (ONE - abs(x)) * (ONE if y >= ZERO else -ONE)
    x, y = (folded_x, folded_y) if v[2] < ZERO else (x, y)
    return (_map_step(x) << np.uint32(16)) | _map_step(y)


@compiled
def _map_step(x: float) -> np.uint32:
    """Packs a coordinate in -1..1 into 16 bits."""
    return np.uint32(np.int32(fma(x, Float32(32767.0), Float32(32768.0))))


@compiled
def unpack_unit(packed: np.uint32) -> Vec3:
    """Unpacks a unit vector."""
    x = (np.float64(packed >> np.uint32(16)) - 32767.5) / 32767.0
    y = (np.float64(packed & np.uint32(0xFFFF)) - 32767.5) / 32767.0
    z = 1.0 - abs(x) - abs(y)
    if z < 0.0:
        x, y = (1.0 - abs(y)) * math.copysign(1.0, x), (1.0 - abs(x)) * math.copysign(1.0, y)
    return normalize((x, y, z))
