"""Splits few triangles in the cheapest way by the surface area heuristic: all ways are tried, without bins."""

from typing import Any

import numpy as np

from tracecore.bvh.boxes import BOX_BYTES, grow, half_area
from tracecore.compilation.cached import inlined
from tracecore.compilation.vector import load_double, splat4

#: Of so many triangles all splits are tried.
FEW = 5


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
