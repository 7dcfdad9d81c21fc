"""Where rays collide with particles of the media that they are in: a hit there takes the place of the surface's, of the
record that stands for such points, and is shaded as all hits are (`shaders.bsdfs.phase`).

The distance is drawn by the extinction of a channel that is drawn before, and weighed by all three, so that a channel
which collides more often brings no more noise than it must: the one-sample model of Veach and Guibas: Optimally
Combining Sampling Techniques for Monte Carlo Rendering, 1995, as in chapter 14 of Pharr, Jakob, Humphreys: Physically
Based Rendering, 2023.
"""

from typing import NamedTuple

import numpy as np

from renderer.scene.media import MediaTables, counting_medium, extinction_of, share_left
from renderer.shading.chunks import HIT_ID, MISS_BIT, NO_BITS, Chunk
from renderer.simd.columns import column, get, get3, get_int, get_word, put, put3, set_column
from shaders.elementary import log2
from shaders.float32 import ONE, ZERO, Float32, Int
from shaders.random import unit32
from shaders.vector import Color, Vec3, along, chosen, multiply, scale
from tracecore.compilation.cached import inlined

#: A ray that meets no surface ends here, world units; and less than the least that something is divided by.
FAR, LEAST = Float32(2.0**64), Float32(2.0**-80)

_THIRD, _TWO_THIRDS = Float32(1.0 / 3.0), Float32(2.0 / 3.0)


class Flight(NamedTuple):
    """Says which rays of a batch may collide.

    hits: address of their hits, `step` bytes from row to row.
    media: of the stacks of the media that they are in.
    carried: of the three rows of what their paths carry.
    rays: how many there are.
    """

    hits: int
    media: int
    carried: int
    step: int
    rays: int
    tables: MediaTables


@inlined
def collide(i: int, bits: tuple[np.uint32, np.uint32], data: Flight) -> None:
    """Write where a ray collides, if it does before its hit, and weigh what its path carries. bits: random."""
    hits, step, tables = data.hits, data.step, data.tables
    medium = counting_medium(get_word(data.media, i), tables)
    fog, extinction = get_int(tables.fogs, medium), extinction_of(medium, tables)
    is_inside = (fog >= Int(0)) & (i < data.rays)
    hit, distance = get_word(hits + HIT_ID * step, i), get(hits, i)
    is_hit = (hit & MISS_BIT) == NO_BITS
    reach = distance if is_hit else FAR
    free = -log2(unit32(bits[1])) / max(one_of(extinction, unit32(bits[0])), LEAST)
    collides = is_inside & (free < reach)
    weight = weight_of(extinction, min(free, reach), collides)
    carried = data.carried
    put3(carried, step, i, multiply(get3(carried, step, i), chosen(is_inside, weight, (ONE, ONE, ONE))))
    put(hits, i, free if collides else distance)
    put(hits + HIT_ID * step, i, np.uint32(fog) if collides else hit)


@inlined
def one_of(extinction: Vec3, u: float) -> float:
    """Returns the extinction of a channel. u: a uniform number that chooses it."""
    return extinction[0] if u < _THIRD else extinction[1] if u < _TWO_THIRDS else extinction[2]


@inlined
def weight_of(extinction: Vec3, distance: float, collides: bool) -> Color:
    """Returns the share of light that comes through a distance, over the mean of the channels' densities of a collision
    there, times the extinction, or over the mean of their chances that there was none before."""
    least = min(extinction[0], min(extinction[1], extinction[2]))  # so that no share of all is 0
    left = share_left((extinction[0] - least, extinction[1] - least, extinction[2] - least), distance)
    wanted = chosen(collides, multiply(left, extinction), left)
    return scale(wanted, ONE / max((wanted[0] + wanted[1] + wanted[2]) * _THIRD, LEAST))


@inlined
def face_particle(i: int, chunk: Chunk) -> None:
    """Write what is known of a point in a medium: its z axis points to where the path came from."""
    ray = column(chunk.ray, i)
    normal = scale(ray, -ONE)
    set_column(chunk.position, i, along(column(chunk.origin, i), ray, chunk.distance[i]))
    set_column(chunk.normal, i, normal)
    set_column(chunk.shading, i, normal)
    chunk.is_outside[i], chunk.correction[i], chunk.clearance[i] = Int(1), ONE, ZERO
