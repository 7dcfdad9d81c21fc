"""Rays of a warp's batch, in columns as it shades them, and in rows as a launch traces them.

Rows of all warps lie one after the other, so that a launch traces no more than there are.
"""

from renderer.shading.chunks import HIT_ID, RAY_DIRECTION
from renderer.simd.columns import WORD_BYTES, get, get3, get_four, put, put3, put_four
from renderer.simd.loops import each_ray
from shaders.float32 import INFINITY, ZERO, Longs
from tracecore.compilation.cached import inlined
from tracecore.compilation.vector import address, fetch_add
from tracecore.rays import HIT_FLOATS, RAY_FLOATS, Floats

#: Rays of a warp's batch, and room behind them that is read and means nothing.
CAPACITY, PAD = 512, 32


@inlined
def take_answers(answers: Floats, first: int, count: int, hits: Floats) -> None:
    """Write the hits of a batch to its columns, (4, column).

    answers: (n, 4), those of the batch from the first on, where `hand_over` has put its rays.
    """
    rows = address(answers) + WORD_BYTES * HIT_FLOATS * first
    each_ray(take_answer, count, (rows, address(hits), WORD_BYTES * hits.shape[1]))


@inlined
def take_answer(i: int, data: tuple[int, int, int]) -> None:
    """Write a hit to its columns. data: address of the hits, and of columns that are so many bytes apart."""
    answers, hits, step = data
    t, u, v, triangle = get_four(answers, i)
    put3(hits, step, i, (t, u, v))
    put(hits + HIT_ID * step, i, triangle)


@inlined
def hand_over(rays: Floats, count: int, traced: Floats, to_trace: Longs, is_endless: bool) -> int:
    """Write the rays of a batch, (8, column), as a launch takes them, behind those of others. Returns where they begin.

    traced: (n, 8), the rays of all batches.
    to_trace: (1,), how many they are.
    is_endless: whether rays have no limits, and columns of limits mean nothing.
    """
    first = fetch_add(address(to_trace), count)
    rows = address(traced) + WORD_BYTES * RAY_FLOATS * first
    each_ray(hand_over_ray, count, (address(rays), WORD_BYTES * rays.shape[1], rows, is_endless))
    return first


@inlined
def hand_over_ray(i: int, data: tuple[int, int, int, bool]) -> None:
    """Write a ray as a launch takes it.

    data: address of columns that are so many bytes apart, and of the rays, and whether these are endless.
    """
    columns, step, traced, is_endless = data
    origin, direction = get3(columns, step, i), get3(columns + RAY_DIRECTION * step, step, i)
    limits = columns + 3 * step
    start, end = (ZERO, INFINITY) if is_endless else (get(limits, i), get(limits + 4 * step, i))
    put_four(traced, 2 * i, (origin[0], origin[1], origin[2], start))
    put_four(traced, 2 * i + 1, (direction[0], direction[1], direction[2], end))
