"""Orders triangles along a space-filling curve (Morton, Sharma: A Computer Oriented Geodetic Data Base, 1966)."""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tracecore.compilation.cached import compiled, inlined
from tracecore.rays import Floats

#: Bits of a place along the curve, and the largest coordinate: it has a third of them.
CODE_BITS = 63
MOST_COORDINATE = (1 << CODE_BITS // 3) - 1

Codes = npt.NDArray[np.uint64]


class Cube(NamedTuple):
    """Is a cube that holds some boxes.

    low: (3,) float64, its lower corner, world units.
    scale: 1 over its edge, or 0 for one without size.
    """

    low: Any
    scale: Any


def cube_around(boxes: Floats) -> Cube:
    """Returns the least cube that holds boxes, (t, 8) float32, as in `boxes`."""
    low = np.array([boxes[:, axis].min(initial=np.inf) for axis in range(3)], np.float64)
    high = np.array([boxes[:, axis + 4].max(initial=-np.inf) for axis in range(3)], np.float64)
    extent = float(np.max(high - low, initial=0.0))
    return Cube(low, 1.0 / extent if extent > 0.0 else 0.0)


def unit_boxes(boxes: Floats) -> Floats:
    """Returns boxes moved into a cube of edge 1: (6, t) float32, x, y, z of their lower and then of their upper
    corners.

    boxes: (t, 8) float32, as in `boxes`.
    """
    found = np.empty((6, len(boxes)), np.float32)
    _fill_unit_boxes(boxes, cube_around(boxes), found)
    return found


def curve_codes(boxes: Floats) -> Codes:
    """Returns where the centres of boxes are along the curve: (t,) uint64, of whose 63 bits the highest is of x.

    boxes: (t, 8) float32, as in `boxes`.
    """
    codes = np.zeros(len(boxes), np.uint64)
    _fill_codes(boxes, cube_around(boxes), codes)
    return codes


@compiled
def _fill_unit_boxes(boxes: Any, cube: Any, found: Any) -> None:
    for i in range(len(boxes)):
        for axis in range(3):
            found[axis, i] = _in_cube(boxes[i, axis], cube, axis)
            found[axis + 3, i] = _in_cube(boxes[i, axis + 4], cube, axis)


@compiled
def _fill_codes(boxes: Any, cube: Any, codes: Any) -> None:
    """Writes the bits of the three coordinates by turns, the highest first."""
    for i in range(len(codes)):
        code = np.uint64(0)
        for axis in range(3):
            lower, upper = _in_cube(boxes[i, axis], cube, axis), _in_cube(boxes[i, axis + 4], cube, axis)
            centre = 0.5 * (np.float64(lower) + np.float64(upper))
            code |= _spread(np.uint64(centre * MOST_COORDINATE)) << np.uint64(2 - axis)
        codes[i] = code


@inlined
def _in_cube(coordinate: Any, cube: Any, axis: int) -> Any:
    """Returns a coordinate from 0 to 1, as float32."""
    return np.float32((np.float64(coordinate) - cube.low[axis]) * cube.scale)


@inlined
def _spread(bits: Any) -> Any:
    """Returns a number of 21 bits with two zeros before each of them."""
    bits = (bits | bits << np.uint64(32)) & np.uint64(0x1F00000000FFFF)
    bits = (bits | bits << np.uint64(16)) & np.uint64(0x1F0000FF0000FF)
    bits = (bits | bits << np.uint64(8)) & np.uint64(0x100F00F00F00F00F)
    bits = (bits | bits << np.uint64(4)) & np.uint64(0x10C30C30C30C30C3)
    return (bits | bits << np.uint64(2)) & np.uint64(0x1249249249249249)
