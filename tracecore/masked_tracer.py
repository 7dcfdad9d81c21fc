"""Triangles that are there for some rays and not for others."""

import threading
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from tracecore.arrays import Array, as_numpy
from tracecore.cutouts import Cutouts
from tracecore.dispatch.closing import Closing
from tracecore.dispatch.tracer import Tracer
from tracecore.errors import RayError, TriangleError
from tracecore.rays import HIT_FLOATS, MISS, Floats, Hits, checked_rays

Masks = npt.NDArray[np.uint32]

#: A ray with this mask meets all triangles that have one.
ALL_MASKS = 0xFFFFFFFF


class Part:
    """Is a tracer of the triangles that the rays of a mask meet. numbers: of these among all triangles."""

    def __init__(self, tracer: Tracer, numbers: npt.NDArray[np.int64]) -> None:
        self.tracer = tracer
        self.numbers = np.append(numbers.astype(np.uint32), np.uint32(MISS))


class MaskedTracer(Closing):
    """Traces rays that skip triangles: a ray meets a triangle where their masks have a bit in common.

    The rays of each mask have a tracer of their own, of those triangles alone, which is opened when the first of them
    come and stays. So hits are those that there are without the others, and rays cost what they cost in such a scene,
    on every device and by every kernel; a mask more takes a tree more.

    open_part: opens a tracer of triangles with cut-outs.
    triangles: (t, 3, 3) float32, as `tracecore.open_tracer` takes them.
    masks: (t,) integers of 32 bits; a triangle whose mask is 0 is there for no ray.
    cutouts: of all triangles, or None.
    Raises `TriangleError` for masks of another number or kind.
    """

    def __init__(
        self, open_part: Callable[..., Tracer], triangles: Floats, masks: Array, cutouts: Cutouts | None = None
    ) -> None:
        try:
            self.masks = masks_of(masks, len(triangles))
        except ValueError as error:
            raise TriangleError(f"masks of triangles: {error}") from error
        self._open_part, self._triangles, self._cutouts = open_part, triangles, cutouts
        self._parts: dict[int, Part] = {}
        self._opening = threading.Lock()

    def closest_hit(self, rays: Array, masks: Array = ALL_MASKS) -> Hits:
        """Returns the nearest hits, as `Tracer.closest_hit` does; `prim_id` counts all triangles.

        rays: (n, 8) float32, in the machine's memory.
        masks: (n,) integers of 32 bits, or one for all rays.
        Raises `RayError` for other rays or masks.
        """

        def ask(part: Part, some: Floats) -> Hits:
            hits = part.tracer.closest_hit(some)
            hits.prim_id[:] = part.numbers[np.minimum(hits.prim_id, len(part.numbers) - 1)]
            return hits

        return self._ask(ask, rays, masks)

    def any_hit(self, rays: Array, masks: Array = ALL_MASKS) -> Hits:
        """Returns whether rays hit anything, as `Tracer.any_hit` does. rays, masks: as `closest_hit` takes them."""
        return self._ask(lambda part, some: part.tracer.any_hit(some), rays, masks)

    def close(self) -> None:
        """Gives back what its tracers hold."""
        with self._opening:
            parts, self._parts = self._parts, {}
        for part in parts.values():
            part.tracer.close()

    def _ask(self, ask: Callable[[Part, Floats], Hits], rays: Array, masks: Array) -> Hits:
        checked = checked_rays(rays)
        try:
            asked = masks_of(masks, len(checked))
        except ValueError as error:
            raise RayError(f"masks of rays: {error}") from error
        kinds = np.unique(asked[:1] if asked.strides == (0,) else asked)  # one for all of them is looked at once
        if len(kinds) == 1:
            return ask(self._part(int(kinds[0])), checked)
        hits = np.empty((len(checked), HIT_FLOATS), np.float32).view(Hits)
        for mask in kinds:
            chosen = np.flatnonzero(asked == mask)
            hits[chosen] = ask(self._part(int(mask)), checked[chosen])
        return hits

    def _part(self, mask: int) -> Part:
        """Returns the tracer of what rays with a mask meet."""
        with self._opening:
            if mask not in self._parts:
                chosen = np.flatnonzero(self.masks & np.uint32(mask))
                cutouts = None if self._cutouts is None else _those_of(self._cutouts, chosen)
                self._parts[mask] = Part(self._open_part(self._triangles[chosen], cutouts=cutouts), chosen)
            return self._parts[mask]


def masks_of(given: Array, count: int) -> Masks:
    """Returns masks, (count,) uint32. given: integers, (count,), or one for all. Raises ValueError for others."""
    masks = as_numpy(given)
    if (masks.size and masks.dtype.kind not in "iu") or masks.shape not in ((), (count,)):
        raise ValueError(f"expected integers, one or {count}, got {masks.shape} {masks.dtype}")
    if masks.size and not (masks.min() >= 0 and masks.max() <= ALL_MASKS):
        raise ValueError(f"expected 32 bits, 0 to {ALL_MASKS}, got {masks.min()} to {masks.max()}")
    return np.broadcast_to(masks.astype(np.uint32), (count,))


def _those_of(cutouts: Cutouts, chosen: npt.NDArray[np.int64]) -> Cutouts:
    """Returns the cut-outs of some triangles."""
    return replace(cutouts, mask_ids=np.asarray(cutouts.mask_ids)[chosen], uvs=np.asarray(cutouts.uvs)[chosen])
