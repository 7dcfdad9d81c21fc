"""Photons in media that scatter, and the light that they send along a ray: all within a radius of it count, each by
what is left of its light on the way to the ray's origin.

Jarosz, Zwicker, Jensen: The Beam Radiance Estimate for Volumetric Photon Mapping, 2008, with a disc for a kernel.
"""

import math
from functools import cache
from typing import NamedTuple

import numpy as np

from renderer.photons.building import build_photon_map
from renderer.photons.group_maps import GroupMaps, no_group_maps
from renderer.photons.photon_map import (
    PHOTON_DIRECTION,
    PHOTON_FLUX,
    PHOTON_NORMAL,
    PHOTON_WORDS,
    ROUNDING,
    SURFACES_LEFT,
    Grid,
    PhotonMap,
    Total,
    coordinate,
    directions_of,
    dot16,
    flux_of,
    length2,
    offsets,
    total_of,
)
from renderer.scene.media import share_left
from renderer.scene.photon_scene import FOG_MASK, FOG_SHIFT
from renderer.simd.columns import ELEMENTS, WORD_BYTES, get, put, three
from renderer.simd.loops import each
from renderer.simd.packing import count_elements
from renderer.simd.wide_vectors import first_elements, only, pack_sixteen, part_of_words, three_columns
from shaders.bsdfs.phase import density
from shaders.elementary import fma
from shaders.float32 import ONE, ZERO, Float32
from shaders.vector import Color, Vec3, scale
from tracecore.compilation.cached import inlined
from tracecore.compilation.vector import address, less, less_equal, load16, splat16, store

#: The cells in which photons are sorted are so many times as wide as the radius around a ray: more of them are tested
#: in vain then, but fewer rows of cells are looked at.
CELL_RADII = 4.0

#: Numbers less than this count as it where something is divided by them.
_LEAST = Float32(2.0**-60)

_MOST_LEFT, _MARGIN = Float32(SURFACES_LEFT), Float32(1.0 + 2.0**-8)


class VolumeMap(NamedTuple):
    """Holds the photons in media, and those of each light group.

    radius: around a ray, within which photons count, world units.
    """

    photon_map: PhotonMap
    radius: float
    groups: GroupMaps


@cache
def no_volume() -> VolumeMap:
    """Returns a map without photons, always the same."""
    return VolumeMap(build_photon_map(np.empty((0, PHOTON_WORDS), np.uint32), 1.0, 0.0), 1.0, no_group_maps())


class Beam(NamedTuple):
    """Says along what photons are looked for: a stretch of a ray in a medium. All numbers are float32.

    origin, direction: of the ray; the direction is a unit vector.
    length, radius: of the stretch, from its origin, and around it, world units.
    between: how many surfaces lie between it and the eye.
    fog: the number of the medium (`FOG_MASK`).
    extinction: of it, by channel, in halvings per world unit.
    mean_cosine: of what it scatters.
    """

    origin: Vec3
    direction: Vec3
    length: float
    radius: float
    between: float
    fog: float
    extinction: Vec3
    mean_cosine: float


class Waiting(NamedTuple):
    """Has the addresses of columns of sixteen photons of a beam.

    distances: how far along it they are, world units.
    cosines, squares: of the beam and where they came from, times the length of the direction; and its square.
    weights: take the share of their flux that reaches the origin, by channel, per steradian.
    """

    distances: int
    cosines: int
    squares: int
    weights: tuple[int, int, int]
    beam: Beam


@inlined
def in_scattered(photon_map: PhotonMap, beam: Beam) -> Color:
    """Returns the radiance, W/(m^2 sr), that photons within a beam send to its origin."""
    found = total_of(flux_along(photon_map, beam)).flux
    per_area = photon_map.scale / (math.pi * (np.float64(beam.radius) * np.float64(beam.radius)))
    return (found[0] * per_area, found[1] * per_area, found[2] * per_area)


@inlined
def flux_along(photon_map: PhotonMap, beam: Beam) -> Total:
    """Returns the sum of what reaches the origin of a beam of the flux of its photons, per steradian, in the unit of
    the map.

    Photons are looked at in the order of the map, sixteen of a row of cells together, as by
    `renderer.photons.photon_map.find_in`: so the order in which flux is added follows from the map alone.
    """
    grid, starts, columns = photon_map.grid, photon_map.starts, address(photon_map.columns)
    step, waits, all_of_it = WORD_BYTES * photon_map.columns.shape[1], 0, (ZERO, beam.length)
    waiting, spare = three(three_columns(), 2 * ELEMENTS * WORD_BYTES), three_columns()
    total = Total(splat16(ZERO), splat16(ZERO), splat16(ZERO), 0)
    z0, z1 = cells_along(grid, beam, 2, all_of_it)
    for z in range(z0, z1 + 1):
        in_layer = part_in_cell(grid, beam, (2, z), all_of_it)
        y0, y1 = cells_along(grid, beam, 1, in_layer)
        for y in range(y0, y1 + 1):
            x0, x1 = cells_along(grid, beam, 0, part_in_cell(grid, beam, (1, y), in_layer))
            row = (z * grid.shape[1] + y) * grid.shape[0]
            first, last = starts[np.uint64(row + x0)], starts[np.uint64(row + max(x0, x1 + 1))]
            for i in range(first, last, ELEMENTS):
                photons = columns + WORD_BYTES * i
                elements = in_beam(photons, step, beam, spare) & first_elements(last - i)
                sources = (spare, photons + PHOTON_DIRECTION * step, photons + PHOTON_FLUX * step)
                waits = pack_sixteen(elements, sources, waiting, waits)
                if waits >= ELEMENTS:
                    total = with_waiting(total, waiting, beam, (ELEMENTS, spare))
                    for column in waiting:  # what lies behind the first sixteen comes to the front
                        store(column, load16(column + ELEMENTS * WORD_BYTES))
                    waits -= ELEMENTS
    return with_waiting(total, waiting, beam, (waits, spare)) if waits > 0 else total


@inlined
def cells_along(grid: Grid, beam: Beam, axis: int, part: tuple[float, float]) -> tuple[int, int]:
    """Returns the first and last cell along an axis that photons of a part of a beam may be in; the last is -1 where
    there is none. part: from one distance to another; none of the beam where the second is less."""
    one, other = place_at(beam, axis, part[0]), place_at(beam, axis, part[1])
    reach = reach_of(grid, beam, axis)
    first, last = min(one, other) - reach, max(one, other) + reach
    low, count = grid.low[axis], grid.shape[axis]
    is_beyond = (part[1] < part[0]) | (last < low) | ((first - low) * grid.per_cell > Float32(count))
    end = coordinate(last, low, grid.per_cell, count)
    return coordinate(first, low, grid.per_cell, count), -1 if is_beyond else end


@inlined
def part_in_cell(grid: Grid, beam: Beam, cell: tuple[int, int], part: tuple[float, float]) -> tuple[float, float]:
    """Returns the part of a part of a beam on which photons in a layer of cells may lie. cell: its axis and number."""
    axis, number = cell
    edge, reach = ONE / grid.per_cell, reach_of(grid, beam, axis)
    low = grid.low[axis] + Float32(number) * edge - reach - edge * Float32(2.0**-10)
    high = low + edge + Float32(2.0) * reach + edge * Float32(2.0**-9)
    speed, start = beam.direction[axis], beam.origin[axis]
    is_along = abs(speed) < _LEAST
    per_speed = ONE / (_LEAST if is_along else speed)
    one, other = (low - start) * per_speed, (high - start) * per_speed
    enters, leaves = max(part[0], min(one, other)), min(part[1], max(one, other))
    is_within = (start >= low) & (start <= high)
    nothing = (ONE, ZERO)
    if is_along:
        return part if is_within else nothing
    return enters, leaves


@inlined
def place_at(beam: Beam, axis: int, distance: float) -> float:
    """Returns a coordinate of a point of a beam."""
    return fma(beam.direction[axis], distance, beam.origin[axis])


@inlined
def reach_of(grid: Grid, beam: Beam, axis: int) -> float:
    """Returns how far a beam reaches to both sides of its ray, and some more for what rounding takes."""
    size = Float32(grid.shape[axis]) / grid.per_cell
    return beam.radius * _MARGIN + (abs(beam.origin[axis]) + abs(grid.low[axis]) + size) * ROUNDING


@inlined
def in_beam(photons: int, step: int, beam: Beam, distances: int) -> int:
    """Returns the set of those of sixteen photons that lie in a beam and whose paths may be as long as it has them.

    photons: address of the first one in the first of the columns, `step` bytes apart.
    distances: address that takes how far along the ray they lie, (16,) float32.
    """
    offset = offsets(photons, step, beam.origin)
    along = dot16(offset, beam.direction)
    store(distances, along)
    beside = (
        offset[0] - along * splat16(beam.direction[0]),
        offset[1] - along * splat16(beam.direction[1]),
        offset[2] - along * splat16(beam.direction[2]),
    )
    words = photons + PHOTON_NORMAL * step
    fog, left = part_of_words(words, FOG_SHIFT, FOG_MASK), part_of_words(words, np.uint32(0), SURFACES_LEFT)
    near = less_equal(length2(beside), splat16(beam.radius * beam.radius))
    near &= less_equal(splat16(ZERO), along) & less(along, splat16(beam.length))
    is_same = less_equal(fog, splat16(beam.fog)) & less_equal(splat16(beam.fog), fog)
    return near & is_same & less_equal(splat16(min(beam.between, _MOST_LEFT)), left)


@inlined
def with_waiting(total: Total, waiting: tuple[int, int, int], beam: Beam, memory: tuple[int, int]) -> Total:
    """Returns the sum with the first of the photons that wait. memory: how many they are, and the address of six
    columns of ELEMENTS words."""
    count, spare = memory
    column = ELEMENTS * WORD_BYTES
    weights, cosines, squares = three(spare, column), spare + 3 * column, spare + 4 * column
    source = directions_of(waiting[1])
    store(cosines, dot16(source, beam.direction))
    store(squares, length2(source))
    each(weigh_photon, ELEMENTS, Waiting(waiting[0], cosines, squares, weights, beam))
    red, green, blue = flux_of(waiting[2])
    elements = first_elements(count)
    return Total(
        total.red + only(elements, red * load16(weights[0])),
        total.green + only(elements, green * load16(weights[1])),
        total.blue + only(elements, blue * load16(weights[2])),
        total.photons + count_elements(elements),
    )


@inlined
def weigh_photon(i: int, data: Waiting) -> None:
    """Write what share of a photon's flux reaches the origin of a beam, per steradian. Its light goes on to the origin
    as it came where its source is straight ahead of the ray."""
    beam, square = data.beam, get(data.squares, i)
    cosine = get(data.cosines, i) / math.sqrt(max(square, _LEAST))
    left = scale(share_left(beam.extinction, get(data.distances, i)), density(beam.mean_cosine, cosine))
    put(data.weights[0], i, left[0])
    put(data.weights[1], i, left[1])
    put(data.weights[2], i, left[2])
