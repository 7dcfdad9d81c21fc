"""Tests every ray against every triangle, in NumPy: slow, and the definition of what every other tracer must answer,
bit for bit.

The triangle test is that of Woop, Benthin, Wald: Watertight Ray/Triangle Intersection, 2013, in float32 with the fused
multiply-adds written out, and without its swap of windings: triangles have two sides.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tracecore.cutouts import CLAMP_BIT, CUTOUT, SIDE_BITS, WORD_BITS, CutoutTables
from tracecore.dispatch.direct import DirectTracer
from tracecore.dispatch.tracer import BvhStatistics
from tracecore.precision import FAR, LEAST_DIRECTION
from tracecore.rays import HIT_FLOATS, MISS, Floats, Query
from tracecore.triangles import LEAST_DETERMINANT, extent_of

#: Pairs of ray and triangle looked at together: temporaries stay below 64 MB.
PAIRS = 1 << 18

Doubles = npt.NDArray[np.float64]


def fma(a: Floats, b: Floats, c: Floats) -> Floats:
    """Returns a * b + c of float32, rounded once, shapes as NumPy broadcasts them.

    The product is exact in float64. The sum is rounded to odd there, which leaves the last rounding right (Boldo,
    Melquiond: Emulation of FMA and Correctly Rounded Sums, 2008).
    """
    product = np.multiply(a, b, dtype=np.float64)
    addend = np.asarray(c, np.float64)
    total = np.asarray(product + addend)
    part = total - product
    rest = (product - (total - part)) + (addend - part)  # what the sum lost: TwoSum of Knuth and Møller
    bits = total.view(np.int64)
    to_odd = (rest != 0) & np.isfinite(rest) & (bits & 1 == 0)
    bits += np.where(to_odd, np.where((rest > 0) == (total > 0), 1, -1), 0)
    return total.astype(np.float32)


class _Shear(NamedTuple):
    """Rays along z after a shear: axes in order of use (r, 3), origins in that order (r, 3), Sx, Sy, Sz (r, 1)."""

    axes: npt.NDArray[np.intp]
    origin: Floats
    x: Floats
    y: Floats
    z: Floats


def _shear(rays: Floats) -> _Shear:
    direction = rays[:, 4:7]
    z = np.argmax(np.abs(direction), axis=1)  # the first of equal ones
    axes = np.stack([(z + 1) % 3, (z + 2) % 3, z], axis=1)
    along = np.take_along_axis(direction, axes, axis=1)
    return _Shear(
        axes,
        np.take_along_axis(rays[:, 0:3], axes, axis=1),
        along[:, 0:1] / along[:, 2:3],
        along[:, 1:2] / along[:, 2:3],
        np.float32(1.0) / along[:, 2:3],
    )


def _corner(shear: _Shear, corners: Floats) -> tuple[Floats, Floats, Floats]:
    """Returns one corner of every triangle, (3, t), as every ray sees it: sheared x and y, and z, (r, t) each."""
    x, y, z = (corners[shear.axes[:, axis]] - shear.origin[:, axis, None] for axis in range(3))
    return fma(-shear.x, z, x), fma(-shear.y, z, y), z


def _minor(a: Floats, b: Floats, c: Floats, d: Floats) -> Floats:
    """Returns a * b - c * d by Kahan's method.

    The sign is right and the error below two units in the last place (Jeannerod, Louvet, Muller: Further Analysis of
    Kahan's Algorithm for the Accurate Computation of 2 x 2 Determinants, 2013). So no ray slips between triangles, as
    with the exact products that Woop et al. fall back to; and rays in a triangle's plane do not hit it where it is not.
    """
    product = c * d
    return fma(a, b, -product) + fma(-c, d, product)


def _intersect(rays: Floats, triangles: Floats) -> tuple[Floats, Floats, Floats]:
    """Returns t, u, v of every pair, (r, t) each; t is inf where there is no hit.

    rays: (r, 8), valid ones.
    triangles: (3, 3, t), by corner and axis.
    """
    shear = _shear(rays)
    (ax, ay, az), (bx, by, bz), (cx, cy, cz) = (_corner(shear, corners) for corners in triangles)
    u, v, w = _minor(cx, by, cy, bx), _minor(ax, cy, ay, cx), _minor(bx, ay, by, ax)
    outside = ((u < 0) | (v < 0) | (w < 0)) & ((u > 0) | (v > 0) | (w > 0))
    det = (u + v) + w
    outside |= np.abs(det) < LEAST_DETERMINANT
    scaled = fma(w, shear.z * cz, fma(v, shear.z * bz, u * (shear.z * az)))
    reciprocal = np.float32(1.0) / det
    t = scaled * reciprocal
    in_interval = (rays[:, 3, None] < t) & (t < rays[:, 7, None])
    return np.where(in_interval & ~outside, t, np.float32(np.inf)), v * reciprocal, w * reciprocal


def is_valid(rays: Floats) -> npt.NDArray[np.bool_]:
    """Returns whether each ray has a finite origin and direction, a direction of full precision, and no NaN in its
    interval: (r,) bool.
    """
    finite = np.isfinite(rays[:, [0, 1, 2, 4, 5, 6]]).all(axis=1)
    directed = np.asarray(np.abs(rays[:, 4:7]).max(axis=1) >= LEAST_DIRECTION)
    return finite & directed & ~np.isnan(rays[:, [3, 7]]).any(axis=1)


def brought_near(rays: Floats, extent: np.float32) -> tuple[Floats, Floats]:
    """Moves rays that begin far from a scene along themselves to where they come near.

    Seen from there all of the scene would be within the rounding of the origin. A ray that never comes near stays.

    rays: (r, 8) float32, valid ones.
    extent: the scene's largest coordinate by magnitude, world units.
    Returns the rays, (r, 8) float32, and by how much each was moved, (r,) float32, in lengths of its direction.
    """
    edge = FAR * extent
    origin, direction = rays[:, 0:3], rays[:, 4:7]
    comes = (np.abs(origin) > edge) & ((origin < 0) != (direction < 0))
    with np.errstate(all="ignore"):
        before = np.where(comes, (np.abs(origin) - edge) / np.abs(direction), np.float32(0.0)).max(axis=1)
        near = fma(before[:, None], direction, origin)
    before = np.where(np.isfinite(near).all(axis=1), before, np.float32(0.0))
    moved = before > 0
    brought = rays.copy()
    brought[moved, 0:3] = near[moved]
    brought[:, [3, 7]] -= before[:, None]
    return brought, before


def _texel(coordinate: Floats, size: npt.NDArray[np.int64], is_clamped: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
    """Returns the (n,) row or column of a mask; the first one for a coordinate that is no number."""
    part = np.where(is_clamped, coordinate, coordinate - np.floor(coordinate))
    scaled = part * size.astype(np.float32)
    last = size - 1
    inside = np.where((scaled > 0) & (scaled < last), scaled, 0).astype(np.int64)
    return np.where((scaled > 0) & (scaled >= last), last, inside)


def are_there(cutouts: CutoutTables, prim_id: npt.NDArray[np.int64], u: Floats, v: Floats) -> npt.NDArray[np.bool_]:
    """Returns whether each of n triangles with cut-outs is there at its u, v, (n,) bool.

    cutouts: the tables of all triangles.
    prim_id: (n,) int64, triangles that have cut-outs.
    u, v: (n,) float32, where they are hit.
    """
    records = cutouts.cutouts[cutouts.cutout_of[prim_id]].view(CUTOUT)[:, 0]
    w = (np.float32(1.0) - u) - v
    uv = records["uv"]
    s, t = (fma(v, uv[:, 2, axis], fma(u, uv[:, 1, axis], w * uv[:, 0, axis])) for axis in (0, 1))
    shape = records["shape"].astype(np.int64)
    width, height = (shape >> shift & (1 << SIDE_BITS) - 1 for shift in (0, SIDE_BITS))
    is_clamped = shape & CLAMP_BIT != 0
    bit = _texel(t, height, is_clamped) * width + _texel(s, width, is_clamped)
    word = cutouts.mask_words[records["first_word"] + bit // WORD_BITS]
    return (word >> (bit % WORD_BITS).astype(np.uint32) & 1).astype(np.bool_)


class BruteForceTracer(DirectTracer):
    """Tests all pairs of rays and triangles. Work per ray grows with their number: it is for tests.

    triangles: (t, 3, 3) float32, checked.
    threads: threads that a driver should feed the tracer from.
    cutouts: of the triangles, None if all are solid.
    """

    name = "brute-force"
    device = "brute"

    def __init__(self, triangles: Floats, *, threads: int | None = None, cutouts: CutoutTables | None = None) -> None:
        super().__init__(threads, len(triangles))
        self._cutouts = cutouts
        self._move(triangles)
        self.bvh = BvhStatistics(nodes=0, bytes=triangles.nbytes, sah_cost=float(len(triangles)), build_seconds=0.0)

    def _move(self, triangles: Floats) -> None:
        self._triangles = np.ascontiguousarray(triangles.transpose(1, 2, 0))  # corner, axis, triangle
        self._extent = extent_of(triangles)

    def _trace(self, rays: Floats, hits: Floats, query: Query) -> int:
        hits[:] = (np.inf, 0.0, 0.0, 0.0)
        hits.view(np.uint32)[:, 3] = MISS
        valid = np.flatnonzero(is_valid(rays))
        per_pass = max(PAIRS // max(self._triangles.shape[2], 1), 1)
        for start in range(0, len(valid), per_pass):
            chosen = valid[start : start + per_pass]
            near, before = brought_near(rays[chosen], self._extent)
            hits[chosen] = self._closest(near)
            hits[chosen[before > 0], 0] += before[before > 0]
        if query == Query.ANY:
            found = hits.view(np.uint32)[:, 3] != MISS
            hits[found] = 0.0  # `prim_id` 0 as well
        return len(rays) - len(valid)

    def _closest(self, rays: Floats) -> Floats:
        hits = np.zeros((len(rays), HIT_FLOATS), np.float32)
        hits[:, 0] = np.inf
        ids = hits.view(np.uint32)[:, 3]
        ids[:] = MISS
        every = np.arange(len(rays))
        for first in range(0, self._triangles.shape[2], PAIRS):
            with np.errstate(all="ignore"):
                t, u, v = _intersect(rays, self._triangles[:, :, first : first + PAIRS])
                self._cut_out(first, t, u, v)
            nearest = np.argmin(t, axis=1)  # the first of equal ones: the least prim_id
            closer = t[every, nearest] < hits[:, 0]
            for column, values in enumerate((t, u, v)):
                hits[closer, column] = values[every, nearest][closer]
            ids[closer] = first + nearest[closer]
        return hits

    def _cut_out(self, first: int, t: Floats, u: Floats, v: Floats) -> None:
        """Takes back hits, t of (r, t), where the triangles, from the first one on, are not there."""
        if self._cutouts is None:
            return
        is_cut_out = self._cutouts.cutout_of[first : first + t.shape[1]] >= 0
        pairs = np.nonzero(np.isfinite(t) & is_cut_out)
        is_gone = ~are_there(self._cutouts, first + pairs[1], u[pairs], v[pairs])
        t[pairs[0][is_gone], pairs[1][is_gone]] = np.inf
