"""Numbers as compiled code has them."""

import numpy as np


def float32(numbers):
    """Returns a named tuple or a tuple with all its numbers as float32."""
    kind = getattr(numbers, "_make", tuple)
    return kind(float32(n) if isinstance(n, tuple) else np.float32(n) for n in numbers)
