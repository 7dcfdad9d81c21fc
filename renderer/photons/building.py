"""Photons go from where they were stored into the cells of a map.

Photons of neighbouring cells first come together in buckets that fit in the cache of a core (a distribution by the
leading digits of their cells); then each bucket is sorted by cell within that cache, by counting, and photons of a cell
are put in order of their index. So the order of a map depends on no thread and no batch. A path is in one store alone,
and all along its photons keep the order in which it left them.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from renderer.errors import RenderError
from renderer.photons.photon_map import PHOTON_WORDS, Grid, PhotonMap, Words, cell_of, grid_over, most_cells
from renderer.photons.store import STORE_COLUMNS, STORE_INDEX, Piece, new_words
from renderer.simd.columns import (
    CHUNK,
    COLUMN,
    COLUMN_BYTES,
    ELEMENTS,
    WORD_BYTES,
    get,
    get3,
    get_int,
    get_word,
    put,
    three,
)
from renderer.simd.loops import each, whole
from renderer.simd.rows import gather_columns
from renderer.simd.wide_vectors import ROWS, prefetch_line, put_rows
from shaders.float32 import Floats, Ints, Longs
from tracecore.compilation.borrowing import borrowed
from tracecore.compilation.cached import compiled, inlined
from tracecore.compilation.vector import address, element, greatest, least, load16, splat16
from tracecore.workers.pool import CallingThread, Helpers

#: A map holds no more photons than this.
MAX_PHOTONS = (1 << 31) - 1

#: Photons that a worker brings from rows to columns at a time.
PIECE_PHOTONS = 1 << 16

#: Photons of a bucket, about: their records stay in the cache while they are sorted. There are no more than so many
#: buckets, each of which has a line of its own in the cache that is filled.
BUCKET_PHOTONS, FEW_BUCKETS = 2048, 1024
MOST_BUCKETS = 2 * FEW_BUCKETS + 2

#: Groups of cells that photons are counted in, of which buckets are made.
MOST_GROUPS = 1 << 15

#: A photon on its way: the words of a store, and its cell.
RECORD_WORDS, RECORD_CELL = STORE_COLUMNS + 1, STORE_COLUMNS
RECORD_BYTES, RECORD_QUADS = WORD_BYTES * RECORD_WORDS, (0, 16)

#: Distances between keys that are compared, longest first, where a cell has many photons. (Ciura: Best Increments for
#: the Average Case of Shellsort, 2001, continued by a factor of 2.25.)
GAPS = (*(int(701 * 2.25**k) for k in range(16, 0, -1)), 701, 301, 132, 57, 23, 10, 4, 1)

#: Parts that buckets are cut into for each of several threads, so that all have work to the end.
PARTS = 4


class MapMemory:
    """The memory of one photon map, kept for the next one: a map is gone when the next is built in its memory."""

    def __init__(self) -> None:
        self._words: dict[str, Words] = {}

    def words(self, name: str, count: int) -> Words:
        """Returns (count,) uint32 of what is kept under a name."""
        if name not in self._words or len(self._words[name]) < count:
            self._words[name] = new_words(count + count // 8 + ELEMENTS)
        return self._words[name][:count]


class PhotonSorting(NamedTuple):
    """A map that is being built."""

    grid: Grid  # where the cells are
    shift: int  # a group of cells has 2^shift
    bucket_of: Ints  # (groups,) int32
    group_starts: Longs  # (buckets + 1,) int64, the groups of bucket b are group_starts[b] : group_starts[b + 1]
    photon_starts: Longs  # (buckets + 1,) int64, likewise the records
    records: Words  # (n, RECORD_WORDS) uint32, photons by bucket
    # starts, columns: of the map, see `PhotonMap`
    starts: Ints
    columns: Words


class DistributionScratch(NamedTuple):
    """Memory to bring photons to their buckets with."""

    cells: Ints  # (COLUMN,) int32
    rows: Longs  # (COLUMN,) int64, addresses of records
    spare: Words  # (RECORD_WORDS,) uint32, a record that nobody reads


class SortScratch(NamedTuple):
    """Memory to sort a bucket in."""

    keys: npt.NDArray[np.uint64]  # (n,) uint64, cell and index of photons
    order: Ints  # (n + ELEMENTS,) int32, which photons of the bucket they are
    columns: Words  # (RECORD_WORDS, COLUMN) uint32, some photons


class CellPlaces(NamedTuple):
    """Photons whose cells are to be found: addresses of positions, in columns `step` bytes apart, and of the cells."""

    positions: int
    step: int
    cells: int
    grid: Grid


def build_photon_map(photons: Words, radius: float, scale: float) -> PhotonMap:
    """Returns photons (n, PHOTON_WORDS), sorted for searches of a radius. Those of a cell keep their order. Raises
    `RenderError` where there are too many to be counted in 31 bits."""
    worker = CallingThread()
    return sorted_map(pieces_of([photons], worker), radius, scale, MapMemory(), worker)


def pieces_of(arrays: Sequence[Words], workers: Helpers) -> list[Piece]:
    """Returns photons, whose indices are their order, as `sorted_map` takes them.
    arrays: (n, PHOTON_WORDS) each, one after the other. workers: who does the work."""
    firsts = np.cumsum([0, *map(len, arrays)])
    parts = [
        (array[start : start + PIECE_PHOTONS], first + start)
        for array, first in zip(arrays, firsts[:-1], strict=True)
        for start in range(0, len(array), PIECE_PHOTONS)
    ]

    def piece(part: tuple[Words, int]) -> Piece:
        photons, first = part
        columns = np.zeros((1, STORE_COLUMNS, len(photons) + ELEMENTS), np.uint32)
        columns[0, :PHOTON_WORDS, : len(photons)] = photons.T
        columns[0, STORE_INDEX, : len(photons)] = np.arange(first, first + len(photons), dtype=np.uint32)
        return Piece(columns, len(photons))

    return workers.map(piece, parts)


def sorted_map(pieces: list[Piece], radius: float, scale: float, memory: MapMemory, workers: Helpers) -> PhotonMap:
    """Returns photons sorted for searches of a radius.

    pieces: all photons; those of a path are in the order of the pieces.
    radius: world units.
    scale: watts per unit of their flux.
    memory: of the map, which is gone when other photons are sorted in it.
    workers: who does the work.

    Raises `RenderError` where there are too many to be counted in 31 bits.
    """
    shares = shared_out(pieces, workers.threads)
    boxes = [np.array([[np.inf] * 3, [-np.inf] * 3], np.float32) for _ in shares]
    workers.map(lambda k: [add_bounds(*piece, boxes[k]) for piece in shares[k]], range(len(shares)))
    count = sum(len(piece.blocks) * piece.photons for piece in pieces)
    if count > MAX_PHOTONS:
        raise RenderError(f"a photon map holds {MAX_PHOTONS} photons at most, got {count}; ask for fewer")
    low, high = np.min([box[0] for box in boxes], axis=0), np.max([box[1] for box in boxes], axis=0)
    if count == 0:
        low = high = np.zeros(3, np.float32)
    grid = grid_over(low, high, radius, most_cells(count))
    sorting = sort(shares, count, grid, memory, workers)
    return PhotonMap(sorting.columns, sorting.starts, grid, count, scale)


def shared_out(pieces: list[Piece], count: int) -> list[list[Piece]]:
    """Returns pieces in no more than so many parts with about as many photons each, in their order."""
    ends = np.cumsum([len(piece.blocks) * piece.photons for piece in pieces])
    part_of = np.minimum((ends - 1) * count // max(int(ends[-1]), 1), count - 1) if len(pieces) else []
    parts = [[piece for piece, part in zip(pieces, part_of, strict=True) if part == k] for k in range(count)]
    return [part for part in parts if part] or [[]]


def sort(shares: list[list[Piece]], count: int, grid: Grid, memory: MapMemory, workers: Helpers) -> PhotonSorting:
    """Sorts photons by cell. shares: the photons of each thread. count: how many there are in all."""
    shift = max(0, (grid.cells - 1).bit_length() - MOST_GROUPS.bit_length() + 1)
    groups = ((grid.cells - 1) >> shift) + 1
    counts = np.zeros((len(shares), groups), np.int32)

    def count_share(k: int) -> None:
        cells = np.empty(COLUMN, np.int32)
        for piece in shares[k]:
            count_groups(*piece, (grid, shift), counts[k], cells)

    workers.map(count_share, range(len(shares)))
    cursors = np.zeros((len(shares), MOST_BUCKETS), np.int64)
    bucket_of = np.zeros(groups, np.int32)
    group_starts, photon_starts = np.zeros(MOST_BUCKETS + 1, np.int64), np.zeros(MOST_BUCKETS + 1, np.int64)
    wanted = max(BUCKET_PHOTONS, count // FEW_BUCKETS)
    buckets = assign_buckets(counts, wanted, bucket_of, (group_starts, photon_starts), cursors)
    step = (count + 2 * ELEMENTS - 1) & -ELEMENTS
    sorting = PhotonSorting(
        grid,
        shift,
        bucket_of,
        group_starts[: buckets + 1],
        photon_starts[: buckets + 1],
        memory.words("records", RECORD_WORDS * count).reshape(count, RECORD_WORDS),
        memory.words("starts", grid.cells + 1).view(np.int32),
        memory.words("columns", PHOTON_WORDS * step).reshape(PHOTON_WORDS, step),
    )

    def distribute_share(k: int) -> None:
        spare = np.empty(RECORD_WORDS, np.uint32)
        scratch = DistributionScratch(np.empty(COLUMN, np.int32), np.empty(COLUMN, np.int64), spare)
        for piece in shares[k]:
            distribute(*piece, sorting, cursors[k], scratch)

    workers.map(distribute_share, range(len(shares)))
    parts = min(PARTS * workers.threads, buckets) if workers.threads > 1 else 1
    bounds = np.linspace(0, buckets, parts + 1).astype(np.int64)
    largest = int(np.diff(sorting.photon_starts).max())

    def sort_part(k: int) -> None:
        keys, order = np.empty(largest, np.uint64), np.empty(largest + ELEMENTS, np.int32)
        scratch = SortScratch(keys, order, np.empty((RECORD_WORDS, COLUMN), np.uint32))
        sort_buckets(sorting, bounds[k], bounds[k + 1], scratch)

    workers.map(sort_part, range(parts))
    sorting.starts[grid.cells] = count
    return sorting


@compiled
def add_bounds(blocks: Words, photons: int, box: Floats) -> None:
    """Lets a box, (2, 3) float32, have in it the photons of a `Piece`."""
    step, vectors = WORD_BYTES * blocks.shape[2], photons & -ELEMENTS
    for axis in range(3):
        low, high = splat16(box[0, axis]), splat16(box[1, axis])
        for block in range(len(blocks)):
            column = address(blocks) + (block * STORE_COLUMNS + axis) * step
            for i in range(0, vectors, ELEMENTS):
                values = load16(column + WORD_BYTES * i)
                low, high = least(values, low), greatest(values, high)
            for i in range(vectors, photons):
                values = splat16(get(column, i))
                low, high = least(values, low), greatest(values, high)
        for k in range(ELEMENTS):
            box[0, axis] = min(box[0, axis], element(low, k))
            box[1, axis] = max(box[1, axis], element(high, k))


@inlined
def find_cell(i: int, places: CellPlaces) -> None:
    """Finds the cell of a photon."""
    put(places.cells, i, cell_of(places.grid, get3(places.positions, places.step, i)))


@compiled
def count_groups(blocks: Words, photons: int, groups: tuple[Grid, int], counts: Ints, scratch: Ints) -> None:
    """Adds the photons of a `Piece` to the counts, (groups,), of the groups of cells that they are in. groups: the
    grid, and by how much the number of a cell is shifted to be that of its group. scratch: (COLUMN,), to work with."""
    step, cells, (grid, shift) = WORD_BYTES * blocks.shape[2], address(scratch), groups
    for block in range(len(blocks)):
        for first in range(0, photons, CHUNK):
            count = min(CHUNK, photons - first)
            positions = address(blocks) + block * STORE_COLUMNS * step + WORD_BYTES * first
            each(find_cell, whole(count), CellPlaces(positions, step, cells, grid))
            for i in range(count):
                counts[np.uint64(get_int(cells, i) >> shift)] += 1


@compiled
def assign_buckets(counts: Any, wanted: int, bucket_of: Ints, starts: tuple[Longs, Longs], cursors: Longs) -> int:
    """Makes buckets of neighbouring groups. Returns how many they are.

    counts: (shares, groups) int32, photons.
    wanted: photons of a bucket, which has more where one group has.
    bucket_of: (groups,), is filled.
    starts: where the groups and the photons of each bucket start; are filled.
    cursors: (shares, MOST_BUCKETS), where the first photon of each share of each bucket goes; is filled.
    """
    group_starts, photon_starts = starts
    bucket, within, total = 0, 0, 0
    for group in range(len(bucket_of)):
        photons = 0
        for share in range(len(counts)):
            photons += counts[share, group]
        if within > 0 and within + photons > wanted:
            bucket, within = bucket + 1, 0
            group_starts[bucket], photon_starts[bucket] = group, total
        bucket_of[group] = bucket
        within, total = within + photons, total + photons
        for share in range(len(counts)):
            cursors[share, bucket] += counts[share, group]
    group_starts[bucket + 1], photon_starts[bucket + 1] = len(bucket_of), total
    for b in range(bucket + 1):
        first = photon_starts[b]
        for share in range(len(counts)):
            cursors[share, b], first = first, first + cursors[share, b]
    return bucket + 1


@compiled
def distribute(
    blocks: Words, photons: int, sorting: PhotonSorting, cursors: Longs, scratch: DistributionScratch
) -> None:
    """Copies the photons of a `Piece` to their buckets. cursors: (buckets,), where the next one of each goes."""
    sorting, scratch, step = borrowed(sorting), borrowed(scratch), WORD_BYTES * blocks.shape[2]
    cells, rows = address(scratch.cells), address(scratch.rows)
    for block in range(len(blocks)):
        for first in range(0, photons, CHUNK):
            count = min(CHUNK, photons - first)
            columns = address(blocks) + block * STORE_COLUMNS * step + WORD_BYTES * first
            each(find_cell, whole(count), CellPlaces(columns, step, cells, sorting.grid))
            find_rows(sorting, count, cursors, scratch)
            words = three(columns, step) + three(columns + 3 * step, step) + (columns + 6 * step, cells)
            for i in range(0, count, ROWS):
                put_rows(words, i, rows + 8 * i)


@inlined
def find_rows(sorting: PhotonSorting, count: int, cursors: Longs, scratch: DistributionScratch) -> None:
    """Finds where photons go, and has these lines of the cache ready."""
    records = address(sorting.records)
    for i in range(count):
        group = get_int(address(scratch.cells), i) >> sorting.shift
        bucket = np.uint64(sorting.bucket_of[np.uint64(group)])
        row = records + RECORD_BYTES * cursors[bucket]
        cursors[bucket] += 1
        prefetch_line(row)
        scratch.rows[np.uint64(i)] = row
    for i in range(count, count + ROWS):
        scratch.rows[i] = address(scratch.spare)


@compiled
def sort_buckets(sorting: PhotonSorting, first: int, last: int, scratch: SortScratch) -> None:
    """Sorts the photons of some buckets by cell and index, and moves them to the map."""
    sorting, scratch = borrowed(sorting), borrowed(scratch)
    for bucket in range(first, last):
        base = sorting.photon_starts[bucket]
        count, records = sorting.photon_starts[bucket + 1] - base, address(sorting.records) + RECORD_BYTES * base
        crowd = count_cells(sorting, bucket, records, count)
        place_keys(sorting, records, (base, count), scratch)
        sort_keys(scratch, count, crowd)
        put_photons(sorting, records, (base, count), scratch)


@inlined
def count_cells(sorting: PhotonSorting, bucket: int, records: int, count: int) -> int:
    """Lets the starts of a bucket's cells be where they end. Returns the most photons that one of them has."""
    starts, groups = sorting.starts, sorting.group_starts
    low, high = groups[bucket] << sorting.shift, min(groups[bucket + 1] << sorting.shift, len(starts) - 1)
    for cell in range(low, high):
        starts[np.uint64(cell)] = 0
    for j in range(count):
        starts[np.uint64(get_int(records + RECORD_BYTES * j, RECORD_CELL))] += 1
    end, crowd = np.int32(sorting.photon_starts[bucket]), 0
    for cell in range(low, high):
        photons = starts[np.uint64(cell)]
        end, crowd = np.int32(end + photons), max(crowd, int(photons))
        starts[np.uint64(cell)] = end
    return crowd


@inlined
def place_keys(sorting: PhotonSorting, records: int, photons: tuple[int, int], scratch: SortScratch) -> None:
    """Puts keys of photons, and which ones they are, where their cells are. They are put from the ends of cells down,
    so that the starts are where cells start in the end."""
    starts, (base, count) = sorting.starts, photons
    for j in range(count - 1, -1, -1):
        cell = np.uint64(get_int(records + RECORD_BYTES * j, RECORD_CELL))
        place = starts[cell] - 1
        starts[cell] = place
        index = np.uint64(get_word(records + RECORD_BYTES * j, STORE_INDEX))
        k = np.uint64(place - base)
        scratch.keys[k], scratch.order[k] = (cell << np.uint64(32)) | index, j


@inlined
def sort_keys(scratch: SortScratch, count: int, crowd: int) -> None:
    """Sorts keys by index where they are sorted by cell.

    Most often few are in a cell, and nearly in order. Where they are many, those some way apart come first. (Shell: A
    High-Speed Sorting Procedure, 1959.)

    crowd: the most that are in a cell.
    """
    for gap in GAPS:
        if gap == 1 or gap < crowd >> 2:
            insert_keys(scratch.keys, scratch.order, count, gap)


@inlined
def insert_keys(keys: npt.NDArray[np.uint64], order: Ints, count: int, gap: int) -> None:
    """Moves each key down past the larger ones, by steps of a gap. Equal keys come in the order of their photons."""
    for i in range(gap, count):
        key, photon, k = keys[np.uint64(i)], order[np.uint64(i)], i
        while k >= gap:
            below = np.uint64(k - gap)
            if keys[below] < key or (keys[below] == key and order[below] < photon):
                break
            keys[np.uint64(k)], order[np.uint64(k)] = keys[below], order[below]
            k -= gap
        if k < i:
            keys[np.uint64(k)], order[np.uint64(k)] = key, photon


@inlined
def put_photons(sorting: PhotonSorting, records: int, photons: tuple[int, int], scratch: SortScratch) -> None:
    """Moves the photons of a bucket to the map, in the order of their keys."""
    columns, step, (base, count) = address(scratch.columns), WORD_BYTES * sorting.columns.shape[1], photons
    for k in range(count, count + ELEMENTS):
        scratch.order[k] = 0  # whole vectors are read
    for first in range(0, count, CHUNK):
        within = min(CHUNK, count - first)
        gather_columns(
            records, RECORD_BYTES, address(scratch.order) + WORD_BYTES * first, within, (RECORD_QUADS, columns)
        )
        for word in range(PHOTON_WORDS):
            target = address(sorting.columns) + word * step + WORD_BYTES * (base + first)
            for i in range(within):
                put(target, i, get_word(columns + word * COLUMN_BYTES, i))


#: All machine code that maps are made by.
MAP_CODE = (add_bounds, count_groups, assign_buckets, distribute, sort_buckets)
