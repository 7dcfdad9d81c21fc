"""Holds what compiled builders do with boxes of eight float32 by their addresses: lower x y z 0, upper x y z 0; and
splits few triangles in the cheapest way by the surface area heuristic: all ways are tried, without bins.
"""

from typing import Any

import numpy as np

from tracecore.compilation.cached import compiled, inlined
from tracecore.compilation.vector import element, greatest, least, load4, load_double, splat4, store
from tracecore.rays import Floats
from tracecore.triangles import check_finite

BOX_BYTES, UPPER_OFFSET = 32, 16

#: Of so many triangles all splits are tried.
FEW = 5


def boxes_of(triangles: Floats) -> Floats:
    """Returns the boxes of triangles: (t, 8) float32, lower x y z 0, upper x y z 0.

    triangles: (t, 3, 3) float32, corners of each.

    Raises `TriangleError` for a corner that is not finite.
    """
    check_finite(triangles)
    boxes = np.zeros((len(triangles), 8), np.float32)
    _fill_boxes(triangles, boxes)
    return boxes


@compiled
def _fill_boxes(triangles: Any, boxes: Any) -> None:
    for i in range(len(boxes)):
        for axis in range(3):
            a, b, c = triangles[i, 0, axis], triangles[i, 1, axis], triangles[i, 2, axis]
            boxes[i, axis], boxes[i, axis + 4] = min(a, b, c), max(a, b, c)


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
def half_area_of(lower: Any, upper: Any, node: int) -> float:
    """Returns half of the surface of a node's box, in float64. lower, upper: (n, 3) float32."""
    x = np.float64(upper[node, 0]) - np.float64(lower[node, 0])
    y = np.float64(upper[node, 1]) - np.float64(lower[node, 1])
    z = np.float64(upper[node, 2]) - np.float64(lower[node, 2])
    return x * y + y * z + z * x


@inlined
def cheapest_split(boxes: int, tests: int, count: int) -> Any:
    """Returns what the cheapest split costs, half area times tests of both sides, and a bit for each triangle that is
    on the left. The last one is on the right.

    boxes: address of the boxes of the triangles, as in `boxes`.
    tests: address of the costs of tests by the number of triangles, float64.
    count: how many triangles there are, from 2 to `FEW`.
    """
    cost, best = np.inf, np.int64(0)
    for left in range(1, 1 << count - 1):
        on_left = np.int64(0)
        low, high = splat4(np.inf), splat4(-np.inf)  # of the left side
        lower, upper = low, high
        for i in range(count):
            box = boxes + i * BOX_BYTES
            if left >> i & 1:
                low, high = grow(low, high, box)
                on_left += 1
            else:
                lower, upper = grow(lower, upper, box)
        cost_here = load_double(tests + 8 * on_left) * half_area(low, high)
        cost_here += load_double(tests + 8 * (count - on_left)) * half_area(lower, upper)
        if cost_here < cost:
            cost, best = cost_here, np.int64(left)
    return cost, best
