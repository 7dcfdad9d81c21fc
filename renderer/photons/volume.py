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
    MAP_MIDDLE,
    MAP_UNIT,
    PHOTON_DIRECTION,
    PHOTON_FLUX,
    PHOTON_NORMAL,
    PHOTON_WORDS,
    ROUNDING,
    SURFACES_LEFT,
    Grid,
    PhotonMap,
    coordinate,
    directions_of,
    dot16,
    flux_of,
    length2,
    offsets,
    unpack_flux,
)
from renderer.scene.media import share_left
from renderer.scene.photon_scene import FOG_MASK, FOG_SHIFT
from renderer.simd.columns import ELEMENTS, WORD_BYTES, get, get3, get_word, put3, three
from renderer.simd.loops import each
from renderer.simd.ways import call_either
from renderer.simd.wide_vectors import first_elements, only, pack_sixteen, part_of_words, sum_of, three_columns
from shaders.bsdfs.phase import density
from shaders.elementary import fma
from shaders.float32 import ONE, ZERO, Float32
from shaders.vector import Color, Vec3, add, multiply, scale, subtract
from tracecore.compilation.cached import inlined
from tracecore.compilation.vector import address, less, less_equal, load16, splat16, store

#: The cells in which photons are sorted are so many times as wide as the radius around a ray: more of them are tested
#: in vain then, but fewer rows of cells are looked at.
CELL_RADII = 4.0

#: Numbers less than this count as it where something is divided by them.
_LEAST = Float32(2.0**-60)

#: Bytes of a column of ELEMENTS words, and where two of those for work begin.
_COLUMN = ELEMENTS * WORD_BYTES
_COSINES, _SQUARES = 3 * _COLUMN, 4 * _COLUMN

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


class Gathering(NamedTuple):
    """Has what is known while photons of a beam are added up.

    photons: address of the first column of those of the map, `step` bytes from column to column.
    sums: addresses of sixteen sums of each channel: element k has the k-th of each sixteen photons found.
    waiting: addresses of columns of photons that wait until they are sixteen: how far along the beam they are, their
        directions and their fluxes.
    spare: address of six columns of ELEMENTS words, to work with.
    """

    photons: int
    step: int
    sums: tuple[int, int, int]
    waiting: tuple[int, int, int]
    spare: int
    beam: Beam


@inlined
def in_scattered(photon_map: PhotonMap, beam: Beam) -> Color:
    """Returns the radiance, W/(m^2 sr), that photons within a beam send to its origin.

    Photons are looked at in the order of the map, and every sixteenth of those found is added to the same sum, by
    vectors as by a lane of a warp: so the order in which flux is added follows from the map alone.
    """
    columns, step = address(photon_map.columns), WORD_BYTES * photon_map.columns.shape[1]
    sums, waiting = three(three_columns(), _COLUMN), three(three_columns(), 2 * _COLUMN)
    gathering = Gathering(columns, step, sums, waiting, three_columns(), beam)
    for channel in sums:
        store(channel, splat16(ZERO))
    found = gather_cells(photon_map, gathering)
    call_either(add_last, add_no_more, (gathering, found))
    radius = np.float64(beam.radius)
    per_area = photon_map.scale / (math.pi * (radius * radius))
    return (
        sum_of(load16(sums[0])) * per_area,
        sum_of(load16(sums[1])) * per_area,
        sum_of(load16(sums[2])) * per_area,
    )


@inlined
def gather_cells(photon_map: PhotonMap, gathering: Gathering) -> int:
    """Add up the photons of all cells along a beam. Returns what `add_sixteens` does for the last of them."""
    grid, starts, beam, found = photon_map.grid, photon_map.starts, gathering.beam, 0
    all_of_it = (ZERO, beam.length)
    z0, z1 = cells_along(grid, beam, 2, all_of_it)
    for z in range(z0, z1 + 1):
        in_layer = part_in_cell(grid, beam, (2, z), all_of_it)
        y0, y1 = cells_along(grid, beam, 1, in_layer)
        for y in range(y0, y1 + 1):
            x0, x1 = cells_along(grid, beam, 0, part_in_cell(grid, beam, (1, y), in_layer))
            row = (z * grid.shape[1] + y) * grid.shape[0]
            first, last = starts[np.uint64(row + x0)], starts[np.uint64(row + max(x0, x1 + 1))]
            if last > first:
                found = call_either(add_sixteens, add_one_by_one, (gathering, (first, last), found))
    return found


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
    per_speed = ONE / (speed if abs(speed) >= _LEAST else _LEAST)
    one, other = (low - start) * per_speed, (high - start) * per_speed
    return max(part[0], min(one, other)), min(part[1], max(one, other))


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
def add_sixteens(gathering: Gathering, photons: tuple[int, int], waits: int) -> int:
    """Add up photons of a row of cells by vectors. photons: the first one, and the one behind the last. Returns how
    many wait now, where `waits` did before."""
    first, last = photons
    step, waiting = gathering.step, gathering.waiting
    for i in range(first, last, ELEMENTS):
        here = gathering.photons + WORD_BYTES * i
        elements = in_beam(here, gathering) & first_elements(last - i)
        sources = (gathering.spare, here + PHOTON_DIRECTION * step, here + PHOTON_FLUX * step)
        waits = pack_sixteen(elements, sources, waiting, waits)
        if waits >= ELEMENTS:
            add_waiting(gathering, ELEMENTS)
            for column in waiting:  # what lies behind the first sixteen comes to the front
                store(column, load16(column + _COLUMN))
            waits -= ELEMENTS
    return waits


@inlined
def in_beam(photons: int, gathering: Gathering) -> int:
    """Returns the set of those of sixteen photons that lie in a beam and whose paths may be as long as it has them, and
    writes how far along the ray they lie. photons: address of the first one in the first of the columns."""
    beam, step = gathering.beam, gathering.step
    offset = offsets(photons, step, beam.origin)
    along = dot16(offset, beam.direction)
    store(gathering.spare, along)
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
def add_waiting(gathering: Gathering, count: int) -> None:
    """Add up the first `count` photons that wait."""
    waiting, spare, sums, elements = gathering.waiting, gathering.spare, gathering.sums, first_elements(count)
    source = directions_of(waiting[1])
    store(spare + _COSINES, dot16(source, gathering.beam.direction))
    store(spare + _SQUARES, length2(source))
    each(weigh_photon, ELEMENTS, gathering)
    red, green, blue = flux_of(waiting[2])
    store(sums[0], load16(sums[0]) + only(elements, red * load16(spare)))
    store(sums[1], load16(sums[1]) + only(elements, green * load16(spare + _COLUMN)))
    store(sums[2], load16(sums[2]) + only(elements, blue * load16(spare + 2 * _COLUMN)))


@inlined
def weigh_photon(i: int, gathering: Gathering) -> None:
    """Write what share of the flux of a photon that waits reaches the origin of the beam, by channel, per steradian."""
    spare = gathering.spare
    share = share_of(gathering.beam, get(gathering.waiting[0], i), get(spare + _COSINES, i), get(spare + _SQUARES, i))
    put3(spare, _COLUMN, i, share)


@inlined
def share_of(beam: Beam, distance: float, cosine: float, square: float) -> Color:
    """Returns what share of a photon's flux reaches the origin of a beam, by channel, per steradian. Its light goes on
    there as it came where its source is straight ahead of the ray.

    distance: along the beam. cosine: of the beam and where the photon came from, times the length of that direction.
    square: of this length.
    """
    scattered = density(beam.mean_cosine, cosine / math.sqrt(max(square, _LEAST)))
    return scale(share_left(beam.extinction, distance), scattered)


@inlined
def add_last(gathering: Gathering, waits: int) -> None:
    """Add up photons that still wait."""
    if waits > 0:
        add_waiting(gathering, waits)


@inlined
def add_one_by_one(gathering: Gathering, photons: tuple[int, int], found: int) -> int:
    """Add up photons of a row of cells in a lane of a warp, in the order of `add_sixteens`, with the same arithmetic.
    photons: the first one, and the one behind the last. Returns how many were found, where `found` were before."""
    beam, step, sums = gathering.beam, gathering.step, gathering.sums
    for i in range(photons[0], photons[1]):
        here = gathering.photons + WORD_BYTES * i
        offset = subtract(get3(here, step, 0), beam.origin)
        distance = dot_in_order(offset, beam.direction)
        beside = (
            offset[0] - distance * beam.direction[0],
            offset[1] - distance * beam.direction[1],
            offset[2] - distance * beam.direction[2],
        )
        word = get_word(here + PHOTON_NORMAL * step, 0)
        is_same = Float32((word >> FOG_SHIFT) & FOG_MASK) == beam.fog
        is_same &= min(beam.between, _MOST_LEFT) <= Float32(word & SURFACES_LEFT)
        near = dot_in_order(beside, beside) <= beam.radius * beam.radius
        if near & is_same & (distance >= ZERO) & (distance < beam.length):
            source = direction_of(get_word(here + PHOTON_DIRECTION * step, 0))
            cosine, square = dot_in_order(source, beam.direction), dot_in_order(source, source)
            flux = unpack_flux(get_word(here + PHOTON_FLUX * step, 0))
            arriving, k = multiply(flux, share_of(beam, distance, cosine, square)), found & (ELEMENTS - 1)
            put3(sums[0], _COLUMN, k, add(get3(sums[0], _COLUMN, k), arriving))
            found += 1
    return found


@inlined
def add_no_more(gathering: Gathering, found: int) -> None:
    """Add up nothing: no photon waits in a lane."""


@inlined
def dot_in_order(a: Vec3, b: Vec3) -> float:
    """Returns a . b, rounded as `dot16` does."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@inlined
def direction_of(word: np.uint32) -> Vec3:
    """Returns a vector of any length in a packed direction, as `directions_of` does."""
    x = (Float32(word >> np.uint32(16)) - MAP_MIDDLE) * MAP_UNIT
    y = (Float32(word & np.uint32(0xFFFF)) - MAP_MIDDLE) * MAP_UNIT
    z = ONE - abs(x) - abs(y)
    below = max(-z, ZERO)
    return (x - (below if x > ZERO else -below), y - (below if y > ZERO else -below), z)
