"""The kernel that sorts photons into the cells of a map, where they lie on a GPU, step after step."""

from typing import NamedTuple

import numpy as np

from renderer.photons.irradiance import EVERY, IrradianceMap, irradiance_of
from renderer.photons.photon_map import PHOTON_WORDS, Grid, cell_of
from renderer.photons.store import STORE_INDEX
from renderer.simd.columns import WORD_BYTES, get, get3, get_int, get_word, put
from renderer.simd.loops import each_alone, each_ray
from shaders.float32 import INFINITY, Int
from tracecore.compilation.cached import inlined
from tracecore.compilation.gpu_code import warp_index
from tracecore.compilation.lanes import LANES

#: What a launch does: find between which coordinates photons lie; find their keys; move them to where their keys are in
#: order; find where cells start. For a final gather before that: take their indices for keys; deal them out, in order,
#: to those at which irradiance is known and the others.
FIND_BOUNDS, FIND_KEYS, MOVE_PHOTONS, FIND_STARTS, TAKE_INDICES, DEAL_OUT = range(6)

#: Elements that a warp looks at, and warps that find bounds.
PART, BOUND_WARPS = 1024, 512

#: Samples that a warp works irradiance out for.
KNOWN_PART = 128


class MapWork(NamedTuple):
    """What a map is made of, by addresses on a GPU.

    stored: photons in the columns of a store, `step` bytes apart.
    photons: how many there are.
    bounds: (6, BOUND_WARPS * LANES) float32, the least and the greatest coordinates that each lane has seen.
    keys: (photons,) int64: the cell of each above its index, in a row with those of other maps.
    order: (photons,) int64, the places of the photons in the order of their keys, in that row.
    photons_before, cells_before: of the maps before this one in the row.
    columns: of the map, `map_step` bytes apart, and behind them one of the photons' cells, int32; where photons are
        dealt out, of a store of those at which irradiance is known.
    starts: (cells + 1,) int32, of the map; where photons are dealt out, columns of a store of the others.
    """

    stored: int
    step: int
    photons: int
    bounds: int
    keys: int
    order: int
    photons_before: int
    cells_before: int
    columns: int
    map_step: int
    starts: int
    grid: Grid
    stage: int


def make_map(work: MapWork) -> None:
    """Do a step of what a map takes, of the part of the photons or cells that this warp has."""
    first, grid = PART * warp_index(), work.grid
    if work.stage == FIND_BOUNDS:
        each_ray(find_bounds, LANES, (work, LANES * warp_index()))
    elif work.stage == FIND_KEYS:
        each_ray(find_key, min(PART, work.photons - first), (work, first))
    elif work.stage == MOVE_PHOTONS:
        each_ray(move_photon, min(PART, work.photons - first), (work, first))
    elif work.stage == TAKE_INDICES:
        each_ray(take_index, min(PART, work.photons - first), (work, first))
    elif work.stage == DEAL_OUT:
        each_ray(deal_out, min(PART, work.photons - first), (work, first))
    else:
        cells = grid.shape[0] * grid.shape[1] * grid.shape[2]
        each_ray(find_start, min(PART, cells + 1 - first), (work, first))


@inlined
def find_bounds(i: int, data: tuple[MapWork, int]) -> None:
    """Write between which coordinates those photons lie that a lane looks at."""
    work, first = data
    for axis in range(3):
        low, high, column = INFINITY, -INFINITY, work.stored + axis * work.step
        for place in range(first + i, work.photons, BOUND_WARPS * LANES):
            value = get(column, place)
            low, high = min(value, low), max(value, high)
        put(work.bounds, axis * BOUND_WARPS * LANES + first + i, low)
        put(work.bounds, (3 + axis) * BOUND_WARPS * LANES + first + i, high)


@inlined
def find_key(i: int, data: tuple[MapWork, int]) -> None:
    """Write the key of a photon."""
    work, first = data
    place = first + i
    put(work.keys, 2 * place, get_word(work.stored + STORE_INDEX * work.step, place))
    cell = cell_of(work.grid, get3(work.stored, work.step, place))
    put(work.keys, 2 * place + 1, Int(cell + work.cells_before))


@inlined
def move_photon(i: int, data: tuple[MapWork, int]) -> None:
    """Write the photon that is next in the order of keys, and its cell."""
    work, first = data
    place = first + i
    source = get_int(work.order, 2 * place) - work.photons_before
    for word in range(PHOTON_WORDS):
        put(work.columns + word * work.map_step, place, get_word(work.stored + word * work.step, source))
    cell = get_int(work.keys, 2 * source + 1) - work.cells_before
    put(work.columns + PHOTON_WORDS * work.map_step, place, Int(cell))


@inlined
def find_start(i: int, data: tuple[MapWork, int]) -> None:
    """Write where the photons of a cell start: how many are in cells before it."""
    work, first = data
    cell, cells = Int(first + i), work.columns + PHOTON_WORDS * work.map_step
    low, high = 0, work.photons
    while low < high:
        middle = (low + high) >> 1
        if get_int(cells, middle) < cell:
            low = middle + 1
        else:
            high = middle
    put(work.starts + WORD_BYTES * first, i, np.int32(low))


@inlined
def take_index(i: int, data: tuple[MapWork, int]) -> None:
    """Write the index of a photon as its key."""
    work, first = data
    place = first + i
    put(work.keys, 2 * place, get_word(work.stored + STORE_INDEX * work.step, place))
    put(work.keys, 2 * place + 1, Int(0))


@inlined
def deal_out(i: int, data: tuple[MapWork, int]) -> None:
    """Write the photon that is next in the order of keys behind those of its kind: one in EVERY is a sample."""
    work, first = data
    place = first + i
    source, samples = get_int(work.order, 2 * place), (place + EVERY - 1) // EVERY
    is_sample = place % EVERY == 0
    store, index = (work.columns, samples) if is_sample else (work.starts, place - samples)
    for word in range(PHOTON_WORDS):
        put(store + word * work.map_step, index, get_word(work.stored + word * work.step, source))
    put(store + STORE_INDEX * work.map_step, index, np.uint32(index))


class KnownWork(NamedTuple):
    """Irradiance to be worked out. known: on a GPU."""

    known: IrradianceMap


def know_irradiance(work: KnownWork) -> None:
    """Work out the irradiance at the part of the samples that this warp has."""
    first = KNOWN_PART * warp_index()
    each_alone(know_one, min(KNOWN_PART, work.known.samples.photons - first), (work, first))


@inlined
def know_one(i: int, data: tuple[KnownWork, int]) -> None:
    """Write the irradiance at a sample."""
    work, first = data
    known, values = work.known, work.known.values
    values[first + i, 0], values[first + i, 1], values[first + i, 2] = irradiance_of(known, first + i, 0)
