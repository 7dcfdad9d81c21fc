"""Photons at 24 bytes each, and the map that finds those near a point.

A photon keeps where it landed, where it came from, the side of the surface, and its flux. Directions are octahedral
maps of 16 bits a coordinate (Meyer, Suessmuth, Sussner, Stamminger, Greiner: On Floating-Point Normal Vectors, 2010);
the flux shares one exponent (Ward: Real Pixels, 1991, with nine bits of mantissa). The flux is rounded up or down at
random, so that the sum over many photons has no bias.

Photons are sorted into a uniform grid, all of it in float32: they are sorted and looked for by the same function, which
never falls as a coordinate grows.
"""

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from renderer.simd.columns import ELEMENTS, WORD_BYTES, three
from renderer.simd.packing import count_elements
from renderer.simd.wide_vectors import (
    first_elements,
    only,
    pack_sixteen,
    part_of_words,
    powers_of_words,
    signed_like,
    sum_of,
    three_columns,
)
from shaders.elementary import binary_exponent, fma, power_of_two
from shaders.float32 import ONE, ZERO, Float32, Floats, Int, Ints
from shaders.shading_normals import MOST_CORRECTION
from shaders.vector import Color, Vec3, in_single
from tracecore.compilation.cached import inlined
from tracecore.compilation.vector import address, greatest, least, less, less_equal, load16, splat16, store

#: A grid never has more cells than this, nor, where photons are few, more than these for each of them and some; larger
#: cells take over. Sixteen photons are looked at together, and most cells have none.
MAX_CELLS, CELLS_PER_PHOTON, LEAST_CELLS = 1 << 22, 2, 1 << 12


class Grid(NamedTuple):
    """Cells of one size, numbered with x fastest."""

    low: Vec3  # corner of the grid, float32, world units
    shape: tuple[int, int, int]  # how many cells there are along x, y and z, int32
    cell: float  # edge of a cell, world units
    per_cell: float  # cells for a world unit, float32

    @property
    def cells(self) -> int:
        """Returns how many cells there are."""
        return int(self.shape[0]) * int(self.shape[1]) * int(self.shape[2])


def most_cells(photons: int) -> int:
    """Returns how many cells a grid may have for so many photons."""
    return min(MAX_CELLS, max(LEAST_CELLS, CELLS_PER_PHOTON * photons))


def grid_over(low: Floats, high: Floats, cell: float, most_cells: int) -> Grid:
    """Returns the grid over a box. The edge of its cells grows until there are not too many. low, high: (3,) float32,
    corners of the box, world units. cell: the least edge, world units. most_cells: how many cells there may be."""
    size = high.astype(np.float64) - low
    while (counts := np.floor(size / cell) + 1.0).prod() > most_cells:
        cell *= 1.12
    return Grid(
        low=(low[0], low[1], low[2]),
        shape=(Int(counts[0]), Int(counts[1]), Int(counts[2])),
        cell=float(cell),
        per_cell=Float32(1.0 / cell),
    )


@inlined
def coordinate(value: float, low: float, per_cell: float, count: int) -> int:
    """Returns the index of the cell along one axis, inside the grid, of a float32."""
    return Int(min(max((value - low) * per_cell, ZERO), Float32(count) - ONE))


@inlined
def cell_of(grid: Grid, position: Vec3) -> int:
    """Returns the number of the cell, int32, that a position, float32, is in, or of the nearest one."""
    x = coordinate(position[0], grid.low[0], grid.per_cell, grid.shape[0])
    y = coordinate(position[1], grid.low[1], grid.per_cell, grid.shape[1])
    z = coordinate(position[2], grid.low[2], grid.per_cell, grid.shape[2])
    return Int((z * grid.shape[1] + y) * grid.shape[0] + x)


#: One photon. direction points back to where it came from; normal is the flat one of its surface, on that side. The
#: lowest bits of the normal, SURFACES_LEFT, say how many surfaces may still lie between its own and the eye.
PHOTON = np.dtype([("position", "<f4", 3), ("direction", "<u4"), ("normal", "<u4"), ("flux", "<u4")])

#: Words of 32 bits in a photon, which loops see as rows of uint32.
PHOTON_WORDS = PHOTON.itemsize // 4
PHOTON_DIRECTION, PHOTON_NORMAL, PHOTON_FLUX = 3, 4, 5

#: Of so many surfaces that are left a photon tells; all of them together stand for any number that is more.
SURFACES_LEFT = np.uint32(15)

#: A photon counts for a point if it lies within this share of the radius from its tangent plane ...
DISC_THICKNESS = 0.25
#: ... and if the surfaces' normals are closer than this cosine.
NORMAL_COSINE = 0.6

#: The box around a disc is larger than it must be by these shares of the radius and of coordinates, for what rounding
#: takes.
_MARGIN, ROUNDING = Float32(2.0**-8), Float32(2.0**-21)
_THICKNESS, _LEAST_COSINE2 = Float32(DISC_THICKNESS), Float32(NORMAL_COSINE**2)
MAP_MIDDLE, MAP_UNIT = Float32(32767.5), Float32(1.0 / 32767.0)

_MOST_LEFT = Float32(SURFACES_LEFT)

_EXPONENT_BIAS = 24
_MANTISSA = 512
_MANTISSA_BITS, _STEP = Int(9), Int(1)
_LEAST_EXPONENT, _MOST_EXPONENT = Int(-_EXPONENT_BIAS), Int(31 - _EXPONENT_BIAS)
_FLUX_BIAS = Int(_EXPONENT_BIAS + 9)
_MOST_STEPS, _LEAST_FLUX = Float32(_MANTISSA - 1), Float32(2.0**-40)

Words = npt.NDArray[np.uint32]


@inlined
def pack_flux(flux: Color, u: float) -> np.uint32:
    """Returns three channels in 0..2^7 in 32 bits, rounded by the uniform number u so that the mean is right."""
    red, green, blue = in_single(flux)
    top = max(red, green, blue)
    exponent = min(max(binary_exponent(top), _LEAST_EXPONENT), _MOST_EXPONENT)
    # Where rounding up might need a tenth bit, whatever u: a step that u chose would leave the other channels biased.
    carries = top * power_of_two(_MANTISSA_BITS - exponent) > _MOST_STEPS and exponent < _MOST_EXPONENT
    exponent = exponent + _STEP if carries else exponent
    per_step = power_of_two(_MANTISSA_BITS - exponent)
    packed = (
        np.uint32(exponent - _LEAST_EXPONENT) << np.uint32(27)
        | _flux_step(fma(blue, per_step, Float32(u))) << np.uint32(18)
        | _flux_step(fma(green, per_step, Float32(u))) << np.uint32(9)
        | _flux_step(fma(red, per_step, Float32(u)))
    )
    return packed if top > _LEAST_FLUX else np.uint32(0)


@inlined
def _flux_step(steps: float) -> np.uint32:
    """Returns whole steps, no more than there are."""
    return np.uint32(np.int32(min(steps, _MOST_STEPS)))


@inlined
def unpack_flux(packed: np.uint32) -> Color:
    """Returns the three channels of a packed flux, float32, which has all their bits."""
    step, mask = power_of_two(Int(packed >> np.uint32(27)) - _FLUX_BIAS), np.uint32(_MANTISSA - 1)
    return (
        Float32(packed & mask) * step,
        Float32((packed >> np.uint32(9)) & mask) * step,
        Float32((packed >> np.uint32(18)) & mask) * step,
    )


class PhotonMap(NamedTuple):
    """Photons sorted by cells of a grid; those of a cell are in order of their index."""

    # (PHOTON_WORDS, m) uint32, the words of photons, each in a row of its own; m exceeds the number of photons by a
    # vector
    columns: Words
    starts: Ints  # (cells + 1,) int32, the photons of cell c are starts[c] : starts[c + 1]
    grid: Grid  # where the cells are
    photons: int  # how many there are
    scale: float  # what a stored flux is multiplied with to be watts


class Disc(NamedTuple):
    """Where photons are looked for."""

    point: Vec3  # its middle, world units
    normal: Vec3  # of the flat surface, unit
    bent: Vec3  # of shading, unit
    is_bent: bool  # whether these differ
    radius: float  # world units
    between: float  # how many surfaces lie between its own and the eye, float32


class Total(NamedTuple):
    """The sum of what photons bring. red, green, blue: sixteen sums each. photons: how many they are."""

    red: Any
    green: Any
    blue: Any
    photons: int


class Found(NamedTuple):
    """Photons that a search has found."""

    flux: Color  # sum of what they bring, in the unit of the map
    photons: int  # how many they are


@inlined
def gather(
    photon_map: PhotonMap, point: Vec3, geom_normal: Vec3, shading_normal: Vec3, radius: float, between: int = 0
) -> Color:
    """Returns the flux per area in W/m^2 that photons bring to the side of a surface that its normals point to.

    Jensen: Realistic Image Synthesis Using Photon Mapping, 2001: photons in a disc on the tangent plane, over its area.

    between: surfaces between this one and the eye.
    """
    return irradiance(photon_map, find(photon_map, point, geom_normal, shading_normal, radius, between), radius)


@inlined
def irradiance(photon_map: PhotonMap, found: Found, radius: float) -> Color:
    """Returns the flux per area in W/m^2 of what was found within a radius."""
    per_area = photon_map.scale / (math.pi * (radius * radius))
    return (found.flux[0] * per_area, found.flux[1] * per_area, found.flux[2] * per_area)


@inlined
def find(
    photon_map: PhotonMap, point: Vec3, geom_normal: Vec3, shading_normal: Vec3, radius: float, between: int = 0
) -> Found:
    """Returns the photons in a disc on the tangent plane, on the side of a surface that its normals point to.
    between: surfaces between this one and the eye."""
    normal, bent = in_single(geom_normal), in_single(shading_normal)
    disc = Disc(in_single(point), normal, bent, normal != bent, Float32(radius), Float32(between))
    return find_in(photon_map, disc)


@inlined
def find_in(photon_map: PhotonMap, disc: Disc) -> Found:
    """Returns the photons in a disc.

    Sixteen photons of a row of cells are tested together. Those that lie in the disc wait side by side until they are
    sixteen. Element k of the sum takes the k-th of each sixteen, so that the order in which flux is added follows from
    the map alone.
    """
    grid, starts, columns = photon_map.grid, photon_map.starts, address(photon_map.columns)
    step, waits = WORD_BYTES * photon_map.columns.shape[1], 0
    waiting = three(three_columns(), 2 * ELEMENTS * WORD_BYTES)  # of directions, normals and fluxes
    (x0, x1), (y0, y1), (z0, z1) = cells_around(grid, disc, 0), cells_around(grid, disc, 1), cells_around(grid, disc, 2)
    total = Total(splat16(ZERO), splat16(ZERO), splat16(ZERO), 0)
    for z in range(z0, z1 + 1):
        for y in range(y0, y1 + 1):
            row = (z * grid.shape[1] + y) * grid.shape[0]
            first, last = starts[np.uint64(row + x0)], starts[np.uint64(row + x1 + 1)]
            for i in range(first, last, ELEMENTS):
                photons = columns + WORD_BYTES * i
                elements = in_disc(photons, step, disc) & first_elements(last - i)
                waits = pack_sixteen(elements, three(photons + PHOTON_DIRECTION * step, step), waiting, waits)
                if waits >= ELEMENTS:
                    total = with_sixteen(total, waiting, disc, ELEMENTS)
                    for column in waiting:  # what lies behind the first sixteen comes to the front
                        store(column, load16(column + ELEMENTS * WORD_BYTES))
                    waits -= ELEMENTS
    return total_of(with_sixteen(total, waiting, disc, waits))


@inlined
def total_of(total: Total) -> Found:
    """Returns the sum of the sixteen sums of each channel."""
    return Found((sum_of(total.red), sum_of(total.green), sum_of(total.blue)), total.photons)


@inlined
def with_sixteen(total: Total, waiting: tuple[int, int, int], disc: Disc, count: int) -> Total:
    """Returns the sum with the first `count` of sixteen photons that wait, as far as they face as a disc does."""
    elements, correction = facing(waiting, disc)
    elements &= first_elements(count)
    red, green, blue = flux_of(waiting[2])
    return Total(
        total.red + only(elements, red * correction),
        total.green + only(elements, green * correction),
        total.blue + only(elements, blue * correction),
        total.photons + count_elements(elements),
    )


@inlined
def cells_around(grid: Grid, disc: Disc, axis: int) -> tuple[int, int]:
    """Returns the first and last cell along an axis that a disc reaches into; the last is -1 where there is none."""
    across = math.sqrt(max(ONE - disc.normal[axis] * disc.normal[axis], ZERO))
    reach = disc.radius * (across + _THICKNESS * abs(disc.normal[axis]) + _MARGIN)
    reach = reach + abs(disc.point[axis]) * ROUNDING
    low, count = grid.low[axis], grid.shape[axis]
    first, last = disc.point[axis] - reach, disc.point[axis] + reach
    is_beyond = last < low or (first - low) * grid.per_cell > Float32(count)
    end = coordinate(last, low, grid.per_cell, count)
    return coordinate(first, low, grid.per_cell, count), -1 if is_beyond else end


@inlined
def in_disc(photons: int, step: int, disc: Disc) -> int:
    """Returns the set of those of sixteen photons that lie in a disc.
    photons: address of the first one in the first of the columns. step: bytes from one column to the next."""
    offset = offsets(photons, step, disc.point)
    away, thickness = dot16(offset, disc.normal), splat16(_THICKNESS * disc.radius)
    near = less_equal(length2(offset), splat16(disc.radius * disc.radius))
    return near & less_equal(away, thickness) & less_equal(-away, thickness)


@inlined
def facing(waiting: tuple[int, int, int], disc: Disc) -> tuple[int, Any]:
    """Returns the set of those of sixteen photons whose surface and direction face as a disc does and whose paths may
    be as long as the disc has them, and by what their flux is to be multiplied: it was counted on the flat triangle,
    and shading sees it about the bent normal.
    """
    wi, normal, none = directions_of(waiting[0]), directions_of(waiting[1]), splat16(ZERO)
    flat = dot16(wi, disc.normal)
    left = part_of_words(waiting[1], np.uint32(0), SURFACES_LEFT)
    elements = alike(normal, disc.normal) & less(none, flat)
    elements &= less_equal(least(splat16(disc.between), splat16(_MOST_LEFT)), left)
    if not disc.is_bent:
        return elements, splat16(ONE)
    bent = dot16(wi, disc.bent)
    return elements & less(none, bent), least(bent / flat, splat16(MOST_CORRECTION))


@inlined
def directions_of(words: int) -> tuple[Any, Any, Any]:
    """Returns vectors of any length in sixteen packed directions, as `shaders.octahedral.unpack_unit` does."""
    middle, unit = splat16(MAP_MIDDLE), splat16(MAP_UNIT)
    x = (part_of_words(words, np.uint32(16), np.uint32(0xFFFF)) - middle) * unit
    y = (part_of_words(words, np.uint32(0), np.uint32(0xFFFF)) - middle) * unit
    z = splat16(ONE) - greatest(x, -x) - greatest(y, -y)
    below = greatest(-z, splat16(ZERO))
    return x - signed_like(below, x), y - signed_like(below, y), z


@inlined
def offsets(photons: int, step: int, point: Vec3) -> tuple[Any, Any, Any]:
    """Returns where sixteen photons lie, seen from a point; see `in_disc`."""
    return (
        load16(photons) - splat16(point[0]),
        load16(photons + step) - splat16(point[1]),
        load16(photons + 2 * step) - splat16(point[2]),
    )


@inlined
def length2(vectors: tuple[Any, Any, Any]) -> Any:
    """Returns the squares of the lengths of sixteen vectors."""
    return vectors[0] * vectors[0] + vectors[1] * vectors[1] + vectors[2] * vectors[2]


@inlined
def dot16(vectors: tuple[Any, Any, Any], other: Vec3) -> Any:
    """Returns the dot products of sixteen vectors with another one."""
    return vectors[0] * splat16(other[0]) + vectors[1] * splat16(other[1]) + vectors[2] * splat16(other[2])


@inlined
def alike(normal: tuple[Any, Any, Any], geom_normal: Vec3) -> int:
    """Returns the set of those of sixteen surfaces that count as the one that is looked at.
    normal: theirs, of any length. geom_normal: float32."""
    cosine = dot16(normal, geom_normal)
    is_near = less_equal(length2(normal) * splat16(_LEAST_COSINE2), cosine * cosine)
    return is_near & less(splat16(ZERO), cosine)


@inlined
def flux_of(words: int) -> tuple[Any, Any, Any]:
    """Returns the flux of sixteen photons, as `unpack_flux` does."""
    step = powers_of_words(words, np.uint32(27), np.uint32(_FLUX_BIAS))
    mask = np.uint32(_MANTISSA - 1)
    return (
        part_of_words(words, np.uint32(0), mask) * step,
        part_of_words(words, np.uint32(9), mask) * step,
        part_of_words(words, np.uint32(18), mask) * step,
    )
