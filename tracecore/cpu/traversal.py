"""Traverses a tree on the CPU: one ray at a time through an 8-wide tree, eight boxes or eight triangles at a time.

Compiled code reads nodes, triangles and rays by address (see `vector.address`); offsets come from the layout's dtypes.
"""

from typing import Any, NamedTuple

import numpy as np

from tracecore.compilation.cached import compiled, inlined
from tracecore.compilation.vector import (
    address,
    bits_float,
    element,
    float_bits,
    fma,
    greatest,
    least,
    less,
    less_equal,
    load8,
    load_float,
    load_int,
    load_long,
    lowest_bit,
    multiply_add,
    splat8,
    store,
)
from tracecore.cutouts import CLAMP_BIT, CUTOUT, SIDE_BITS, WORD_BITS
from tracecore.layout.bvh8 import BLOCK, NODE, TRIANGLES, WIDTH
from tracecore.precision import FAR, LEAST_DIRECTION, LEAST_REACH, PAD
from tracecore.rays import HIT, MISS, RAY, offset_of
from tracecore.triangles import LEAST_DETERMINANT

#: In the slab test no component of a direction is smaller, relative to the largest.
FLAT = np.float32(1e-20)

#: Limits of distances, in lengths of the direction, for an axis to be of use: below are denormals, which lose bits,
#: above is no number.
LEAST_LENGTHS, MOST_LENGTHS = np.float32(1e-30), np.float32(8e37)

NODE_BYTES, BLOCK_BYTES, RAY_BYTES = NODE.itemsize, TRIANGLES.itemsize, RAY.itemsize
#: Numbers of the words of a ray and of a hit.
T_MIN, DIRECTION, T_MAX = (offset_of(RAY, name) // 4 for name in ("t_min", "direction", "t_max"))
U, V, HIT_ID = (offset_of(HIT, name) // 4 for name in ("u", "v", "prim_id"))
UPPER, CHILD = (offset_of(NODE, name) for name in ("upper", "child"))
PRIM_ID = offset_of(TRIANGLES, "prim_id")
PLANES_BYTES = WIDTH * 4  # the planes of one axis in a node
AXIS_BYTES = BLOCK * 4  # one component of one corner of the triangles in a block
CORNER_BYTES = 3 * AXIS_BYTES
WHOLE_BLOCK = (1 << BLOCK) - 1
LONG_BYTES = 8
WORD_BYTES = 4
CUTOUT_BYTES = CUTOUT.itemsize
FIRST_WORD, SHAPE = (offset_of(CUTOUT, name) for name in ("first_word", "shape"))
UV_BYTES = 8  # of a corner
SIDE = (1 << SIDE_BITS) - 1
LOW_HALF = 0xFFFFFFFF

ZERO = np.float32(0.0)
ONE = np.float32(1.0)
INFINITY = np.float32(np.inf)


class CpuTree(NamedTuple):
    """Holds what compiled code reads of a scene, and a traversal stack for one thread.

    nodes: (.., 64) float32, the bytes of a `Bvh8`.
    blocks: (.., 80) float32, the bytes of a `Bvh8`.
    extent: largest coordinate of the scene, world units.
    stack: (s,) int64, scratch: a ray, and behind it as many entries as the `Bvh8` says.
    cutouts: `CutoutTables`, empty if all triangles are solid.
    """

    nodes: Any
    blocks: Any
    extent: Any
    stack: Any
    cutouts: Any


class WordTable(NamedTuple):
    """Describes words of 32 bits in memory. A row is a ray or a hit, and may lie in one piece or as a structure of
    arrays.

    Word w of row i is at address + i * row + w * word; all in bytes.
    """

    address: int
    row: int
    word: int


class _Row(NamedTuple):
    """Describes one row of a `WordTable`: the address of its first word, and the bytes from word to word."""

    address: Any
    word: Any


class _Cutouts(NamedTuple):
    """Holds the addresses of the `CutoutTables`, and whether there are any."""

    exist: Any
    cutout_of: Any
    cutouts: Any
    mask_words: Any


class _Tree(NamedTuple):
    """Holds the addresses of nodes, triangle blocks, traversal stack and cut-outs, and the largest coordinate of the
    scene.
    """

    nodes: Any
    blocks: Any
    stack: Any
    extent: Any
    cutouts: Any


class _Slabs(NamedTuple):
    """Holds a ray for the slab test, by axis. It hits a plane at t = plane * inverse + origin, with one origin for the
    planes where it comes in and one for those where it goes out, so that the pad moves both outwards.

    planes_in, planes_out: offsets of these planes in a node.
    """

    inverse: Any
    origin_in: Any
    origin_out: Any
    planes_in: Any
    planes_out: Any


class _ShearedRay(NamedTuple):
    """Holds a ray for the triangle test. axes: offsets of its x, y, z axis in a corner. x, y, z: -Sx, -Sy, Sz."""

    axes: Any
    origin: Any
    x: Any
    y: Any
    z: Any


@compiled
def trace(tree: CpuTree, rays: WordTable, hits: WordTable, count: int, any_hit: bool, endless: bool) -> int:
    """Traces rays. Returns how many were invalid.

    tree: the scene, and a stack of this thread.
    rays, hits: tables of at least `count` rows.
    count: how many rays.
    any_hit: whether any hit will do.
    endless: whether all reach from 0 to infinity, whatever they say.
    """
    tables = tree.cutouts
    cutouts = _Cutouts(
        len(tables.cutouts) > 0, address(tables.cutout_of), address(tables.cutouts), address(tables.mask_words)
    )
    stack = address(tree.stack) + RAY_BYTES
    addresses = _Tree(address(tree.nodes), address(tree.blocks), stack, tree.extent, cutouts)
    invalid = 0
    for i in range(count):
        ray = _Row(rays.address + i * rays.row, rays.word)
        hit = _Row(hits.address + i * hits.row, hits.word)
        t_min = ZERO if endless else _word(ray, T_MIN)
        t_max = INFINITY if endless else _word(ray, T_MAX)
        _write(hit, INFINITY, ZERO, ZERO, MISS)
        if not (_is_valid(ray) and t_min == t_min and t_max == t_max):
            invalid += 1
            continue
        ray, before = _brought_near(ray, FAR * tree.extent, address(tree.stack))
        _traverse(addresses, ray, (t_min - before, t_max - before), hit, any_hit)
        if before > ZERO and not any_hit:
            store(hit.address, load_float(hit.address) + before)
    return invalid


@inlined
def _word(row: Any, word: int) -> Any:
    return load_float(row.address + word * row.word)


@inlined
def _write(hit: Any, t: Any, u: Any, v: Any, prim_id: int) -> None:
    store(hit.address, t)
    store(hit.address + U * hit.word, u)
    store(hit.address + V * hit.word, v)
    store(hit.address + HIT_ID * hit.word, np.uint32(prim_id))


@inlined
def _is_valid(ray: Any) -> Any:
    """Returns whether origin and direction are finite and the direction has full precision."""
    sum_of_zeros = ZERO
    largest = ZERO
    for axis in range(3):
        direction = _word(ray, DIRECTION + axis)
        sum_of_zeros += _word(ray, axis) * ZERO + direction * ZERO  # NaN if one is not finite
        largest = max(largest, abs(direction))
    return sum_of_zeros == ZERO and largest >= LEAST_DIRECTION


@inlined
def _brought_near(ray: Any, edge: Any, moved: int) -> Any:
    """Returns a ray that begins within `edge` of the middle, and by how much it was moved, as `brute_force` says.

    moved: address of memory for such a ray.
    """
    if not max(max(abs(_word(ray, 0)), abs(_word(ray, 1))), abs(_word(ray, 2))) > edge:
        return ray, ZERO
    before = ZERO
    for axis in range(3):
        origin, direction = _word(ray, axis), _word(ray, DIRECTION + axis)
        if abs(origin) > edge and (origin < ZERO) != (direction < ZERO):
            before = max(before, (abs(origin) - edge) / abs(direction))
    sum_of_zeros = ZERO
    for axis in range(3):
        direction = _word(ray, DIRECTION + axis)
        origin = fma(before, direction, _word(ray, axis))
        sum_of_zeros += origin * ZERO
        store(moved + WORD_BYTES * axis, origin)
        store(moved + WORD_BYTES * (DIRECTION + axis), direction)
    return (_Row(moved, WORD_BYTES), before) if sum_of_zeros == ZERO else (ray, ZERO)


@inlined
def _traverse(tree: Any, ray: Any, interval: Any, hit: Any, any_hit: bool) -> None:
    """Visits the boxes that the ray hits, nearer ones first, and keeps the best hit. Any hit will do if `any_hit`."""
    t_min, t_best = interval
    best = np.int64(-1)
    shear = _shear(ray)
    slabs = _slabs(ray, tree.extent)
    bottom = tree.stack
    top = bottom + LONG_BYTES
    store(bottom, float_bits(t_min) << 32)
    while top > bottom:
        top -= LONG_BYTES
        entry = load_long(top)
        if bits_float(entry >> 32) > t_best:
            continue
        child = load_int(top)
        if child >= 0:
            top = _push_children(tree.nodes + child * NODE_BYTES, slabs, t_min, t_best, top, any_hit)
            continue
        block = tree.blocks + ~child * BLOCK_BYTES
        found, t, u, v = _intersect(block, shear, t_min, t_best)
        while found != 0:
            k = lowest_bit(found)
            found &= found - 1
            t_here, prim_id = element(t, k), load_int(block + PRIM_ID + 4 * k) & LOW_HALF
            if t_here < t_best or (t_here == t_best and prim_id < best):
                if tree.cutouts.exist and not _is_there(tree.cutouts, prim_id, element(u, k), element(v, k)):
                    continue
                if any_hit:
                    _write(hit, ZERO, ZERO, ZERO, 0)
                    return
                t_best, best = t_here, prim_id
                _write(hit, t_here, element(u, k), element(v, k), prim_id)


@inlined
def _slabs(ray: Any, extent: Any) -> Any:
    x, y, z = _word(ray, 0), _word(ray, 1), _word(ray, 2)
    dx, dy, dz = _word(ray, DIRECTION), _word(ray, DIRECTION + 1), _word(ray, DIRECTION + 2)
    distance = max(max(abs(x), abs(y)), abs(z))
    length = max(max(abs(dx), abs(dy)), abs(dz))
    pad, reach, flat = PAD * max(distance, LEAST_REACH * length), max(distance, extent), FLAT * length
    x_in, x_out, x_inverse, x_planes = _slab(x, dx, pad, reach, flat)
    y_in, y_out, y_inverse, y_planes = _slab(y, dy, pad, reach, flat)
    z_in, z_out, z_inverse, z_planes = _slab(z, dz, pad, reach, flat)
    return _Slabs(
        (splat8(x_inverse), splat8(y_inverse), splat8(z_inverse)),
        (splat8(x_in), splat8(y_in), splat8(z_in)),
        (splat8(x_out), splat8(y_out), splat8(z_out)),
        (x_planes, y_planes + PLANES_BYTES, z_planes + 2 * PLANES_BYTES),
        (UPPER - x_planes, UPPER - y_planes + PLANES_BYTES, UPPER - z_planes + 2 * PLANES_BYTES),
    )


@inlined
def _slab(origin: Any, direction: Any, pad: Any, reach: Any, flat: Any) -> Any:
    """Returns one axis: origins for the planes in and out, 1 / direction, and the offset of the planes where it comes
    in.
    """
    inverse = ONE / (direction if abs(direction) > flat else np.copysign(flat, direction))
    pad = np.copysign(pad, inverse)
    if not (LEAST_LENGTHS < reach * abs(inverse) < MOST_LENGTHS):  # the axis excludes nothing
        return -INFINITY, INFINITY, ZERO, np.int64(0)
    return -(origin + pad) * inverse, -(origin - pad) * inverse, inverse, np.int64(0) if inverse >= ZERO else UPPER


@inlined
def _push_children(node: int, slabs: Any, t_min: Any, t_best: Any, top: int, any_hit: bool) -> int:
    """Puts the children that the ray hits on the stack, the nearest on top, or if `any_hit` the last. Returns the top.

    Empty children are hit by no ray unless t is NaN on every axis: then `greatest` and `least` keep what they had, and
    the leaf that they link to is visited once more.
    """
    inverse, origin, planes = slabs.inverse, slabs.origin_in, slabs.planes_in
    t_in = splat8(t_min)
    t_in = greatest(multiply_add(load8(node + planes[0]), inverse[0], origin[0]), t_in)
    t_in = greatest(multiply_add(load8(node + planes[1]), inverse[1], origin[1]), t_in)
    t_in = greatest(multiply_add(load8(node + planes[2]), inverse[2], origin[2]), t_in)
    origin, planes = slabs.origin_out, slabs.planes_out
    t_out = splat8(t_best)
    t_out = least(multiply_add(load8(node + planes[0]), inverse[0], origin[0]), t_out)
    t_out = least(multiply_add(load8(node + planes[1]), inverse[1], origin[1]), t_out)
    t_out = least(multiply_add(load8(node + planes[2]), inverse[2], origin[2]), t_out)
    hit_bits = less_equal(t_in, t_out)
    if hit_bits == 0:
        return top
    one = _entry(node, t_in, lowest_bit(hit_bits))
    hit_bits &= hit_bits - 1
    if hit_bits == 0:
        store(top, one)
        return top + LONG_BYTES
    other = _entry(node, t_in, lowest_bit(hit_bits))
    hit_bits &= hit_bits - 1
    farther, nearer = (one, other) if any_hit or other < one else (other, one)
    store(top, farther)
    store(top + LONG_BYTES, nearer)
    bottom = top
    top += 2 * LONG_BYTES
    while hit_bits != 0:
        _insert(_entry(node, t_in, lowest_bit(hit_bits)), top if any_hit else bottom, top)
        hit_bits &= hit_bits - 1
        top += LONG_BYTES
    return top


@inlined
def _entry(node: int, t_in: Any, k: int) -> int:
    """Returns the stack entry of a child: the bits of t, which order entries by t, above the link."""
    return (float_bits(element(t_in, k)) << 32) | (load_int(node + CHILD + 4 * k) & LOW_HALF)


@inlined
def _insert(entry: int, bottom: int, top: int) -> None:
    """Puts an entry below the nearer ones of those from bottom to top."""
    while top > bottom and load_long(top - LONG_BYTES) < entry:
        store(top, load_long(top - LONG_BYTES))
        top -= LONG_BYTES
    store(top, entry)


@inlined
def _shear(ray: Any) -> Any:
    x, y, z = _word(ray, DIRECTION), _word(ray, DIRECTION + 1), _word(ray, DIRECTION + 2)
    kz = 1 if abs(y) > abs(x) else 0
    kz = 2 if abs(z) > max(abs(x), abs(y)) else kz
    kx = kz + 1 if kz < 2 else 0
    ky = kx + 1 if kx < 2 else 0
    along = _word(ray, DIRECTION + kz)
    return _ShearedRay(
        (kx * AXIS_BYTES, ky * AXIS_BYTES, kz * AXIS_BYTES),
        (splat8(_word(ray, kx)), splat8(_word(ray, ky)), splat8(_word(ray, kz))),
        splat8(-(_word(ray, DIRECTION + kx) / along)),
        splat8(-(_word(ray, DIRECTION + ky) / along)),
        splat8(ONE / along),
    )


@inlined
def _corner(corner: int, shear: Any) -> Any:
    """Returns one corner of the triangles as the ray sees it: sheared x and y, and z."""
    z = load8(corner + shear.axes[2]) - shear.origin[2]
    x = load8(corner + shear.axes[0]) - shear.origin[0]
    y = load8(corner + shear.axes[1]) - shear.origin[1]
    return fma(shear.x, z, x), fma(shear.y, z, y), z


@inlined
def _minor(a: Any, b: Any, c: Any, d: Any) -> Any:
    """Returns a * b - c * d by Kahan's method, see `brute_force`."""
    product = c * d
    return fma(a, b, -product) + fma(-c, d, product)


@inlined
def _intersect(block: int, shear: Any, t_min: Any, t_best: Any) -> Any:
    """Returns the bits of the triangles hit after t_min, not after t_best; and t, u, v of all.

    The test is that of `brute_force`: Woop, Benthin, Wald: Watertight Ray/Triangle Intersection, 2013.
    """
    ax, ay, az = _corner(block, shear)
    bx, by, bz = _corner(block + CORNER_BYTES, shear)
    cx, cy, cz = _corner(block + 2 * CORNER_BYTES, shear)
    u, v, w = _minor(cx, by, cy, bx), _minor(ax, cy, ay, cx), _minor(bx, ay, by, ax)
    zero = splat8(ZERO)
    negative = less(u, zero) | less(v, zero) | less(w, zero)
    positive = less(zero, u) | less(zero, v) | less(zero, w)
    det = (u + v) + w
    is_edge = less(det, splat8(LEAST_DETERMINANT)) & less(splat8(-LEAST_DETERMINANT), det)
    inside = WHOLE_BLOCK & ~(negative & positive | is_edge)
    if inside == 0:
        return inside, u, v, w
    reciprocal = splat8(ONE) / det
    t = fma(w, shear.z * cz, fma(v, shear.z * bz, u * (shear.z * az))) * reciprocal
    found = inside & less(splat8(t_min), t) & less_equal(t, splat8(t_best))
    return found, t, v * reciprocal, w * reciprocal


@inlined
def _is_there(cutouts: Any, prim_id: int, u: Any, v: Any) -> Any:
    """Returns whether a triangle is there at u, v, as `brute_force` says."""
    index = load_int(cutouts.cutout_of + WORD_BYTES * prim_id)
    if index < 0:
        return True
    record = cutouts.cutouts + index * CUTOUT_BYTES
    shape = load_int(record + SHAPE)
    width, is_clamped = shape & SIDE, shape & CLAMP_BIT != 0
    column = _texel(_mean(record, u, v), width, is_clamped)
    row = _texel(_mean(record + WORD_BYTES, u, v), shape >> SIDE_BITS & SIDE, is_clamped)
    bit = row * width + column
    first = load_int(record + FIRST_WORD) & LOW_HALF
    return load_int(cutouts.mask_words + WORD_BYTES * (first + bit // WORD_BITS)) >> bit % WORD_BITS & 1 != 0


@inlined
def _mean(uv: int, u: Any, v: Any) -> Any:
    """Returns a texture coordinate from those of the corners."""
    first = ((ONE - u) - v) * load_float(uv)
    return fma(v, load_float(uv + 2 * UV_BYTES), fma(u, load_float(uv + UV_BYTES), first))


@inlined
def _texel(coordinate: Any, size: int, is_clamped: bool) -> int:
    """Returns the row or column of a mask; the first one for a coordinate that is no number."""
    scaled = (coordinate if is_clamped else coordinate - np.floor(coordinate)) * np.float32(size)
    if not scaled > ZERO:
        return 0
    return int(scaled) if scaled < np.float32(size - 1) else size - 1


def table(address: int, words: int) -> WordTable:
    """Returns a table of rows of so many words, each row in one piece.

    address: of the first row.
    words: how many words of 32 bits a row has.
    """
    return WordTable(address, 4 * words, 4)
