"""The vertices of paths from lamps: a row of numbers for each, and the map in which those near a point are found."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from renderer.camera_paths.paths import EyeChunk, bounces_of
from renderer.photons.photon_map import Grid, Words, cell_of, grid_over, most_cells
from renderer.simd.columns import WORD_BYTES, column, get3, put, put3
from renderer.vcm.weights import Sums
from shaders.float32 import ONE, Float32, Floats, Int, Ints, Longs
from shaders.vector import Vec3, scale
from tracecore.compilation.cached import compiled, inlined
from tracecore.compilation.vector import address

#: Where the numbers of a vertex begin. NORMAL: flat, on the side from which the path came. TOWARDS: unit, to where it
#: came from. FLUX: that the path brings, W, if it is one of all paths. SUMS: see `Sums`. UV: barycentric coordinates in
#: the TRIANGLE. PATH: its number. BOUNCES: surfaces that it has left behind.
POSITION, NORMAL, TOWARDS, FLUX, SUMS, UV, TRIANGLE, PATH, BOUNCES, VERTEX_WORDS = 0, 3, 6, 9, 12, 15, 17, 18, 19, 20

ROW_BYTES = WORD_BYTES * VERTEX_WORDS

#: So many bits of a number have the path of a vertex and, of most, the bounces, beside a cell's.
PATH_BITS, BOUNCE_BITS = 32, 10

#: A block has room for so many, and for the rays of a batch.
BLOCK_VERTICES = 1 << 15


class VertexBlock(NamedTuple):
    """Is memory to which a thread writes vertices, as they come.

    rows: (room, VERTEX_WORDS) float32.
    counts: (5,) int64, how many there are, paths that escaped, that were absorbed, and that were cut, and rays.
    """

    rows: Floats
    counts: Longs


COUNT, ESCAPED, ABSORBED, CUT, RAYS = range(5)


class LightVertices(NamedTuple):
    """Holds the vertices of a pass, cell by cell of a grid, and in a cell by path.

    rows: (n, VERTEX_WORDS) float32.
    starts: (cells + 1,) int32, where the vertices of each cell begin.
    grid: whose cells are no smaller than the radius.
    radius: within which paths merge, world units, float32.
    """

    rows: Floats
    starts: Ints
    grid: Grid
    radius: float


class VertexTable(NamedTuple):
    """Has the addresses of what `LightVertices` has, and how many they are, for the loops of BSDFs."""

    rows: int
    starts: int
    length: int
    grid: Grid
    radius: float


def new_block(rays: int) -> VertexBlock:
    """Returns a block without vertices. rays: of a batch."""
    return VertexBlock(np.empty((BLOCK_VERTICES + rays, VERTEX_WORDS), np.float32), np.zeros(5, np.int64))


def sorted_vertices(blocks: list[VertexBlock], radius: float) -> LightVertices:
    """Returns the vertices in blocks, in an order that no thread has a part in. radius: see `LightVertices`."""
    rows = np.concatenate([np.empty((0, VERTEX_WORDS), np.float32), *(one.rows[: one.counts[COUNT]] for one in blocks)])
    places = rows[:, POSITION : POSITION + 3]
    low, high = (places.min(axis=0), places.max(axis=0)) if len(rows) else np.zeros((2, 3), np.float32)
    grid = grid_over(low, high, radius, most_cells(len(rows)))
    cells = np.empty(len(rows), np.uint64)
    fill_cells(grid, rows, cells)
    order = order_of(cells, rows.view(np.uint32))
    starts = np.cumsum(np.bincount(cells.astype(np.int64) + 1, minlength=grid.cells + 1)).astype(np.int32)
    return LightVertices(rows.take(order, axis=0), starts, grid, Float32(radius))


def order_of(cells: npt.NDArray[np.uint64], words: Words) -> Longs:
    """Returns the order of vertices by cell, path and bounces. cells: (n,) uint64. words: of their rows."""
    paths, bounces = words[:, PATH], words[:, BOUNCES]
    if bounces.max(initial=0) >> BOUNCE_BITS:
        return np.lexsort((bounces, paths, cells))
    by_path = (paths.astype(np.uint64) << np.uint64(BOUNCE_BITS)) | bounces
    return np.argsort((cells << np.uint64(PATH_BITS + BOUNCE_BITS)) | by_path)


@compiled
def fill_cells(grid: Grid, rows: Floats, cells: Longs) -> None:
    """Write the cells that vertices are in."""
    for k in range(len(rows)):
        cells[k] = np.uint64(cell_of(grid, (rows[k, POSITION], rows[k, POSITION + 1], rows[k, POSITION + 2])))


@inlined
def put_vertex(row: int, i: int, chunk: EyeChunk) -> None:
    """Write a vertex of a chunk. row: address of its row."""
    put3(row, WORD_BYTES, POSITION, column(chunk.position, i))
    put3(row, WORD_BYTES, NORMAL, column(chunk.normal, i))
    put3(row, WORD_BYTES, TOWARDS, scale(column(chunk.ray, i), -ONE))
    put3(row, WORD_BYTES, FLUX, column(chunk.throughput, i))
    put3(row, WORD_BYTES, SUMS, column(chunk.weight, i))
    put(row, UV, chunk.uv[0, i])
    put(row, UV + 1, chunk.uv[1, i])
    put(row, TRIANGLE, Int(chunk.triangle[i]))
    put(row, PATH, np.uint32(chunk.pixel[i]))
    put(row, BOUNCES, Int(bounces_of(chunk.state[i])))


@inlined
def table_of(vertices: LightVertices) -> VertexTable:
    """Returns the table of vertices."""
    rows, grid = vertices.rows, vertices.grid
    own_grid = Grid(grid.low, grid.shape, grid.cell, grid.per_cell)
    return VertexTable(address(rows), address(vertices.starts), len(rows), own_grid, vertices.radius)


@inlined
def row_at(vertices: VertexTable, k: int) -> int:
    """Returns the address of the row of vertex k."""
    return vertices.rows + ROW_BYTES * k


@inlined
def vector_at(row: int, word: int) -> Vec3:
    """Returns three numbers of a vertex. row: its address."""
    return get3(row, WORD_BYTES, word)


@inlined
def sums_of(row: int) -> Sums:
    """Returns the sums of a vertex. row: its address."""
    vcm, vc, last = get3(row, WORD_BYTES, SUMS)
    return Sums(vcm, vc, last)
