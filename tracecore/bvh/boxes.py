"""Holds what compiled builders do with boxes of eight float32 by their addresses: lower x y z 0, upper x y z 0."""

from typing import Any

import numpy as np

from tracecore.compilation.cached import inlined
from tracecore.compilation.vector import element, greatest, least, load4, store
from tracecore.rays import Floats
from tracecore.triangles import check_finite

BOX_BYTES, UPPER_OFFSET = 32, 16


def boxes_of(triangles: Floats) -> Floats:
    """Returns the boxes of triangles: (t, 8) float32, lower x y z 0, upper x y z 0.

    triangles: (t, 3, 3) float32, corners of each.

    Raises `TriangleError` for a corner that is not finite.
    """
    boxes = np.zeros((len(triangles), 8), np.float32)
    for axis in range(3):  # a column at a time takes NumPy half as long as rows of three
        for nearer, column in ((np.minimum, axis), (np.maximum, axis + 4)):
            nearer(triangles[:, 0, axis], triangles[:, 1, axis], out=boxes[:, column])
            nearer(boxes[:, column], triangles[:, 2, axis], out=boxes[:, column])
    check_finite(boxes)
    return boxes


@inlined
def grow(lower: Any, upper: Any, box: int) -> Any:
    """Returns the corners of a box around two: one by its corners, one by its address."""
    return least(lower, load4(box)), greatest(upper, load4(box + UPPER_OFFSET))


@inlined
def put(box: int, lower: Any, upper: Any) -> None:
    """Writes a box."""
    store(box, lower)
    store(box + UPPER_OFFSET, upper)


@inlined
def half_area(lower: Any, upper: Any) -> float:
    """Returns half of a box's surface, in float64: no finite box overflows."""
    x = np.float64(element(upper, 0)) - np.float64(element(lower, 0))
    y = np.float64(element(upper, 1)) - np.float64(element(lower, 1))
    z = np.float64(element(upper, 2)) - np.float64(element(lower, 2))
    return x * y + y * z + z * x


@inlined
def half_area_of(box: int) -> float:
    """Returns half of the surface of a box by its address."""
    return half_area(load4(box), load4(box + UPPER_OFFSET))
