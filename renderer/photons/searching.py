"""Photons around the vertices of a chunk: the same as `photon_map.find` finds, to the bit.

Stage after stage goes through a group of vertices, so that what one of them asks for has come when the next one needs
it, and no loop ends where the photons of one vertex do: the cells around the discs, by a vector loop; runs of photons
in rows of cells; photons in the discs, side by side; and their sums.
"""

from typing import Any, NamedTuple

import numpy as np

from renderer.photons.photon_map import (
    PHOTON_DIRECTION,
    Disc,
    Found,
    Grid,
    PhotonMap,
    Total,
    cells_around,
    find_in,
    in_disc,
    total_of,
    with_sixteen,
)
from renderer.simd.columns import (
    COLUMN,
    ELEMENTS,
    WORD_BYTES,
    column_bytes,
    fields,
    get3,
    get_int,
    prefetch,
    put,
    three,
)
from renderer.simd.loops import each, each_alone, whole
from renderer.simd.ways import call_either
from renderer.simd.wide_vectors import first_elements, pack_sixteen
from shaders.float32 import ZERO, Int
from tracecore.compilation.cached import inlined
from tracecore.compilation.lanes import LANES
from tracecore.compilation.vector import address, load_int, splat16

#: Vertices whose photons are looked for together, and the runs of photons that one of them may have: where there are
#: more, it is looked at by itself.
GROUP, MOST_RUNS = 32, 64

_RUNS = GROUP * MOST_RUNS + ELEMENTS
_WAITING, _RUN_BYTES = _RUNS * ELEMENTS, _RUNS * WORD_BYTES

#: Memory of a search. radius: of each vertex, world units; where it is negative, nothing is looked for. between: how
#: many surfaces lie between the vertex and the eye. row: number of the first cell. width, high, deep: how many cells
#: there are along x, y and z. runs: the vertex of a run of no more than ELEMENTS photons, the first one, and how many
#: they are. waiting: directions, normals and fluxes of the photons in the discs of a group. ends: where those of each
#: of its vertices end, 0 where it has no runs. crowded: list of the group's vertices that have too many runs. found:
#: list of the vertices around which photons are; flux, (found, 3), and photons: the sum of what these bring, and how
#: many they are.
SEARCH_COLUMNS = np.dtype(
    fields("<f4", "radius between")
    + fields("<i4", "row width high deep")
    + [("runs", "<i4", (3, _RUNS)), ("waiting", "<u4", (3, _WAITING))]
    + [("ends", "<i4", (GROUP,)), ("crowded", "<i4", (GROUP,))]
    + fields("<i4", "found")
    + [("flux", "<f8", (COLUMN, 3))]
    + fields("<i4", "photons")
)

#: What of it a warp has, whose lanes look each by itself.
WARP_SEARCH = np.dtype(
    [
        (name, SEARCH_COLUMNS[name].base, (LANES, *SEARCH_COLUMNS[name].shape[1:]))
        for name in ("radius", "between", "found", "flux", "photons")
    ]
)

#: One record of `SEARCH_COLUMNS`.
Search = Any


class SearchPlaces(NamedTuple):
    """Addresses of the first one of three columns of scratch each: where photons are looked for."""

    points: int  # world units
    normals: int  # of the flat surfaces, unit
    bent: int  # of shading, unit


class Looking(NamedTuple):
    """What the stages of a search work on. It has no arrays, whose references would be counted."""

    # starts, columns: addresses of these arrays of the map
    starts: int
    columns: int
    step: int  # bytes from one of the columns to the next
    grid: Grid  # of the map
    search: Search  # memory
    places: SearchPlaces  # where photons are looked for


@inlined
def find_all(photon_map: PhotonMap, search: Search, places: SearchPlaces, count: int) -> int:
    """Find the photons in the discs about the first `count` vertices of a chunk, whose radii are in `search`. Returns
    the length of the list of the vertices that may have some."""
    columns, step = address(photon_map.columns), WORD_BYTES * photon_map.columns.shape[1]
    data = Looking(address(photon_map.starts), columns, step, photon_map.grid, search, places)
    return call_either(find_by_groups, find_by_lanes, (photon_map, data, count))


@inlined
def find_by_lanes(photon_map: PhotonMap, data: Looking, count: int) -> int:
    """Do what `find_all` does: each lane looks about a vertex of its own. All vertices are listed."""
    each_alone(find_alone, count, (photon_map, data))
    return count


@inlined
def find_alone(i: int, data: tuple[PhotonMap, Looking]) -> None:
    """Find the photons in the disc about a vertex."""
    photon_map, about = data
    disc = disc_of(i, about)
    if disc.radius >= ZERO:
        keep(about.search, i, find_in(photon_map, disc), i)
    else:
        about.search.photons[i] = Int(0)


@inlined
def find_by_groups(photon_map: PhotonMap, data: Looking, count: int) -> int:
    """Do what `find_all` does, group by group. Only vertices that have photons are listed."""
    search, found = data.search, 0
    each(find_cells, whole(count), data)
    for first in range(0, count, GROUP):
        end = min(first + GROUP, count)
        ask_for_starts(data, first, end)
        runs, crowded = list_runs(data, first, end)
        pack_found(data, first, runs)
        found = add_found(data, first, end, found)
        for k in range(crowded):
            i = load_int(address(search.crowded) + WORD_BYTES * k)
            found = keep(search, i, find_in(photon_map, disc_of(i, data)), found)
    return found


@inlined
def disc_of(i: int, data: Looking) -> Disc:
    """Returns the disc of a vertex."""
    places = data.places
    normal, bent = get3(places.normals, column_bytes(), i), get3(places.bent, column_bytes(), i)
    radius, between = data.search.radius[i], data.search.between[i]
    return Disc(get3(places.points, column_bytes(), i), normal, bent, normal != bent, radius, between)


@inlined
def find_cells(i: int, data: Looking) -> None:
    """Write the cells that the disc of a vertex reaches into."""
    grid, search, disc = data.grid, data.search, disc_of(i, data)
    (x0, x1), (y0, y1), (z0, z1) = cells_around(grid, disc, 0), cells_around(grid, disc, 1), cells_around(grid, disc, 2)
    high, deep = max(Int(y1 - y0), Int(-1)), max(Int(z1 - z0), Int(-1))
    is_empty = (disc.radius < ZERO) | (x1 < Int(0))
    search.row[i] = Int(Int(z0 * grid.shape[1] + y0) * grid.shape[0] + x0)
    search.width[i] = Int(x1 - x0) + Int(1)
    search.high[i] = high + Int(1)
    search.deep[i] = Int(0) if is_empty else Int(deep + Int(1))


@inlined
def row_of(data: Looking, i: int, y: int, z: int) -> int:
    """Returns the number of the first cell of a vertex in one of its rows."""
    row: int = data.search.row[i] + (z * data.grid.shape[1] + y) * data.grid.shape[0]
    return row


@inlined
def ask_for_starts(data: Looking, first: int, end: int) -> None:
    """Ask for where the photons of rows of cells start, of the vertices of a group."""
    for i in range(first, end):
        for z in range(data.search.deep[i]):
            for y in range(data.search.high[i]):
                prefetch(data.starts + WORD_BYTES * row_of(data, i, y, z))


@inlined
def list_runs(data: Looking, first: int, end: int) -> tuple[int, int]:
    """List the runs of photons in the rows of a group, and ask for the photons. Returns how many runs there are, and
    how many vertices have too many of them."""
    search, count, crowded = data.search, 0, 0
    for i in range(first, end):
        before = count
        for z in range(search.deep[i]):
            for y in range(search.high[i]):
                start = data.starts + WORD_BYTES * row_of(data, i, y, z)
                photon, last = load_int(start), load_int(start + WORD_BYTES * search.width[i])
                for column in three(data.columns + WORD_BYTES * photon, data.step):
                    prefetch(column)
                put_run(search, count, i, photon, last)
                count += (last > photon) & (count - before < MOST_RUNS)
                while last - photon > ELEMENTS and count - before < MOST_RUNS:
                    photon += ELEMENTS
                    put_run(search, count, i, photon, last)
                    count += 1
        if count - before >= MOST_RUNS:
            search.crowded[crowded] = Int(i)
            count, crowded = before, crowded + 1
    return count, crowded


@inlined
def put_run(search: Search, k: int, i: int, photon: int, last: int) -> None:
    """Write run k: of vertex i, from a photon on to the last one, which is not of it, or until the run is full."""
    runs = address(search.runs)
    put(runs, k, Int(i))
    put(runs + _RUN_BYTES, k, Int(photon))
    put(runs + 2 * _RUN_BYTES, k, Int(last - photon))


@inlined
def waiting_at(search: Search, k: int) -> tuple[int, int, int]:
    """Returns the addresses of directions, normals and fluxes that wait, from photon k on."""
    return three(address(search.waiting) + WORD_BYTES * k, WORD_BYTES * _WAITING)


@inlined
def pack_found(data: Looking, first: int, count: int) -> None:
    """Write the photons of runs that are in the discs of a group side by side, vertex after vertex.
    first: vertex of the group. count: how many runs there are."""
    search, step, waits = data.search, data.step, 0
    runs, ends, waiting = address(search.runs), address(search.ends), waiting_at(search, 0)
    for k in range(GROUP):
        put(ends, k, Int(0))
    for k in range(count):
        i, photon, photons = get_int(runs, k), get_int(runs + _RUN_BYTES, k), get_int(runs + 2 * _RUN_BYTES, k)
        where = data.columns + WORD_BYTES * photon
        elements = in_disc(where, step, disc_of(i, data)) & first_elements(photons)
        waits = pack_sixteen(elements, three(where + PHOTON_DIRECTION * step, step), waiting, waits)
        put(ends, i - first, Int(waits))


@inlined
def add_found(data: Looking, first: int, end: int, found: int) -> int:
    """Add up what photons bring to each vertex of a group. Returns how many vertices there are now that have some."""
    search, photon = data.search, 0
    for i in range(first, end):
        last = load_int(address(search.ends) + WORD_BYTES * (i - first))
        if last > photon:
            disc = disc_of(i, data)
            total = Total(splat16(ZERO), splat16(ZERO), splat16(ZERO), 0)
            for k in range(photon, last, ELEMENTS):
                total = with_sixteen(total, waiting_at(search, k), disc, last - k)
            found = keep(search, i, total_of(total), found)
            photon = last
    return found


@inlined
def keep(search: Search, i: int, photons: Found, found: int) -> int:
    """Write what was found for a vertex behind what was before. Returns how many there are now, with photons alone."""
    search.found[found], search.photons[found] = Int(i), Int(photons.photons)
    search.flux[found, 0], search.flux[found, 1], search.flux[found, 2] = photons.flux
    return found + (photons.photons > 0)
