"""Rays in, hits out: the two records that cross the border of the co-processor, and the size of a batch."""

import enum
from typing import Any

import numpy as np
import numpy.typing as npt

from tracecore.arrays import Array, as_numpy, lies_on_gpu
from tracecore.errors import RayError

#: Rays handed over at a time.
BATCH_RAYS = 4096

#: `prim_id` of a ray that hits nothing; its `t` is infinite.
MISS = 0xFFFFFFFF

#: 32 bytes. `direction` need not be unit; `t`, `t_min` and `t_max` count in its lengths.
RAY = np.dtype([("origin", "<f4", 3), ("t_min", "<f4"), ("direction", "<f4", 3), ("t_max", "<f4")])

#: 16 bytes. The hit point is (1 - u - v) v0 + u v1 + v v2 of triangle `prim_id`, the caller's index.
HIT = np.dtype([("t", "<f4"), ("u", "<f4"), ("v", "<f4"), ("prim_id", "<u4")])

RAY_FLOATS = RAY.itemsize // 4
HIT_FLOATS = HIT.itemsize // 4

Floats = npt.NDArray[np.float32]
Ids = npt.NDArray[np.uint32]


class HitColumns:
    """Gives names to the columns of an array of hits, (n, 4) float32, the bytes of `HIT` records. A part of the rows
    has them too; any other part is a plain array of the same library.
    """

    @property
    def plain(self) -> Any:
        """Returns the same array without names."""
        raise NotImplementedError

    @property
    def t(self) -> Floats:
        """Returns where along the rays they hit, in lengths of the direction, (n,) float32; infinite for a miss."""
        return self.plain[:, 0]

    @property
    def u(self) -> Floats:
        """Returns the share of the triangle's second corner in the point that is hit, (n,) float32."""
        return self.plain[:, 1]

    @property
    def v(self) -> Floats:
        """Returns the share of the triangle's third corner, (n,) float32."""
        return self.plain[:, 2]

    @property
    def prim_id(self) -> Ids:
        """Returns the triangles that are hit, (n,) uint32; `MISS` where there is none."""
        return self.plain[:, 3].view(np.uint32)

    @property
    def hit(self) -> npt.NDArray[np.bool_]:
        """Returns whether there is one, (n,) bool."""
        return self.prim_id != MISS

    def __getitem__(self, part: Any) -> Any:
        """Returns a part."""
        found = self.plain[part]
        return found.view(type=type(self)) if found.shape[1:] == (HIT_FLOATS,) else found


class Hits(HitColumns, np.ndarray[Any, np.dtype[np.float32]]):
    """Holds hits in the machine's memory. What is calculated of them is a plain array."""

    @property
    def plain(self) -> npt.NDArray[Any]:
        """Returns the same array without names."""
        return self.view(np.ndarray)

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        """Returns what NumPy has calculated of hits."""
        return array[()] if return_scalar else array


def make_rays(origin: Array, direction: Array, t_min: Array = 0.0, t_max: Array = np.inf) -> Floats:
    """Packs rays into one array. What is given once is that of all rays, such as one origin with many directions.

    origin, direction: (n, 3), or (3,) or (1, 3) for all rays; world units.
    t_min, t_max: (n,), or a scalar or (1,) for all rays; in lengths of the direction.
    Arrays of other libraries are taken too, as `arrays.as_numpy` does it. Raises TypeError where they are not in the
    machine's memory, RayError for other shapes and for numbers of rays that do not fit together.
    Returns (n, 8) float32, the bytes of `RAY`; n is 1 where all is given once.
    """
    origins, directions, starts, ends = (
        as_numpy(part).astype(np.float32, copy=False) for part in (origin, direction, t_min, t_max)
    )
    points, scalars = (origins, directions), (starts, ends)
    counts = {part.shape[:-1] for part in points} | {part.shape for part in scalars}
    lengths = {count[0] for count in counts if count} - {1}
    if {part.shape[-1:] for part in points} != {(3,)} or max(map(len, counts)) > 1 or len(lengths) > 1:
        got = "origin {}, direction {}, t_min {}, t_max {}".format(*(part.shape for part in points + scalars))
        raise RayError(
            f"rays need origin and direction of shape (n, 3) or (3,), t_min and t_max of shape (n,) or (), got {got}"
        )
    rays = np.empty((lengths.pop() if lengths else 1, RAY_FLOATS), np.float32)
    rays[:, 0:3], rays[:, 3] = origins, starts
    rays[:, 4:7], rays[:, 7] = directions, ends
    return rays


def checked_rays(rays: Array) -> Floats:
    """Returns rays as the tracers take them: (n, 8) float32, C-contiguous, writable.

    rays: (n, 8) float32 or (n,) `RAY` records, an array of NumPy or of a library that lends its memory, as
    `arrays.as_numpy` does it; the result is the same memory where it already is as it should be.
    Raises RayError for any other shape or type, and for memory of a GPU; values are not looked at.
    """
    if lies_on_gpu(rays):
        raise RayError(
            "rays lie in a GPU's memory, where only closest_hit and any_hit of a tracer on that GPU take them; copy "
            "them to the machine's memory first"
        )
    if hasattr(rays, "__dlpack__") and not isinstance(rays, np.ndarray):
        try:
            rays = as_numpy(rays)
        except TypeError as error:
            raise RayError(f"rays: {error}") from error
    if isinstance(rays, np.ndarray) and rays.dtype == RAY and rays.ndim == 1:
        rays = np.ascontiguousarray(rays).view(np.float32).reshape(len(rays), RAY_FLOATS)
    if not isinstance(rays, np.ndarray) or rays.dtype != np.float32 or rays.ndim != 2 or rays.shape[1] != RAY_FLOATS:
        got = f"{rays.shape} {rays.dtype}" if isinstance(rays, np.ndarray) else type(rays).__name__
        raise RayError(f"rays must be an array of shape (n, {RAY_FLOATS}) and type float32, got {got}; see make_rays")
    return np.require(rays, np.float32, ["C", "A", "W"])


def offset_of(record: np.dtype[np.void], name: str) -> int:
    """Returns how many bytes lie between the beginning of a record and a field."""
    return record.fields[name][1]  # type: ignore[index]  # a record has fields


def as_records(array: Floats, dtype: np.dtype[np.void]) -> npt.NDArray[np.void]:
    """Returns the same bytes seen as `RAY` or `HIT` records: (n, 8) or (n, 4) float32 become (n,)."""
    return np.asarray(array).view(dtype).reshape(len(array))


class Query(enum.IntEnum):
    """Says what is asked of a ray: the nearest hit, or whether there is one at all."""

    CLOSEST = 0
    ANY = 1
