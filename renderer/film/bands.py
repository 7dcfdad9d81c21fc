"""Work on pictures band by band: what is made on the way stays in a core's caches, and several cores help."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from tracecore.threads import usable_cores

T = TypeVar("T")

#: Bytes of a band, which a core's caches hold; and threads, at most four, as memory is what limits.
BAND_BYTES, THREADS = 1 << 20, min(4, usable_cores())


def by_bands(function: Callable[..., T], *arrays: npt.NDArray[Any], band_bytes: int = BAND_BYTES) -> list[T]:
    """Returns what a function makes of the bands of arrays, from the top.

    function: called with a band of each array; it lets other threads run, as those of NumPy do.
    arrays: (height, ...), of as many rows each; the first one says how many bands there are.
    """
    bands = max(1, arrays[0].nbytes // band_bytes)
    if bands == 1:
        return [function(*arrays)]
    split = list(zip(*(np.array_split(one, bands) for one in arrays), strict=True))
    shares = [split[bands * k // THREADS : bands * (k + 1) // THREADS] for k in range(THREADS)]
    made = _threads().map(lambda share: [function(*band) for band in share], shares)
    return [one for of_share in made for one in of_share]


@cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(THREADS, thread_name_prefix="film")
