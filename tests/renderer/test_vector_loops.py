"""Loops over columns, and rows that become columns, whatever their number."""

import numpy as np
import pytest
from numba import njit

from renderer.simd.columns import CHUNK, COLUMN, ELEMENTS, VECTOR_WIDTH, fields, for_lanes, get3, overlaid, put, put3
from renderer.simd.loops import each, each_pair, whole
from renderer.simd.packing import close_gaps, copy_line, list_indices, pack_chunk, pack_columns, pack_numbered
from renderer.simd.rows import gather_columns
from tracecore.compilation.cached import inlined
from tracecore.compilation.lanes import LANES
from tracecore.compilation.vector import address

#: Bits of all kinds: those of NaN too must pass.
ROWS = np.random.default_rng(1).integers(0, 2**32, (CHUNK, 12), np.uint64).astype(np.uint32)
ONE = np.uint32(1)
COUNTS = pytest.mark.parametrize("count", [1, 2, 7, 8, 9, 15, 16, CHUNK - 1, CHUNK])


@njit
def gathered(rows, indices, count, quads, columns):
    gather_columns(address(rows), 48, address(indices), count, (quads, address(columns)))


@inlined
def twice_and_sum(i, data):
    source, target, step = data
    x, y, z = get3(source, step, i)
    put3(target, step, i, (x + x, y + y, z + z))
    put(target + 3 * step, i, x + y + z)


@njit
def twice(source, count, target):
    each(twice_and_sum, count, (address(source), address(target), 4 * source.shape[1]))


@njit
def twice_in_pairs(source, count, target):
    each_pair(twice_and_sum, count, (address(source), address(target), 4 * source.shape[1]))


@njit
def listed(words, mask, bits, count, indices):
    return list_indices(address(words), (mask, bits), count, address(indices))


@njit
def packed(words, mask, bits, count, sources, targets):
    a, b, c = address(sources), address(sources) + 4 * COLUMN, address(sources) + 8 * COLUMN
    x, y, z = address(targets), address(targets) + 4 * COLUMN, address(targets) + 8 * COLUMN
    return pack_columns(address(words), (mask, bits), count, (a, b, c), (x, y, z))


@njit
def packed_chunk(words, count, source, target):
    return pack_chunk(address(words), (ONE, ONE), count, (address(source),), (address(target),))


@njit
def numbered(words, count, number, numbers, source, target):
    columns = ((address(source),), (address(target),))
    return pack_numbered(address(words), (ONE, ONE), count, (number, address(numbers)), columns)


@njit
def gaps_closed(words, count, columns):
    first = address(columns)
    return close_gaps(address(words), (ONE, ONE), count, (first, first + 4 * COLUMN))


@njit
def lines_copied(source, target, lines):
    for line in range(lines):
        copy_line(address(source) + 4 + 64 * line, address(target) + 64 * line)


@njit
def rounded(count):
    return whole(count)


@COUNTS
@pytest.mark.parametrize("mask", [0, 1, 6, 0x80000001, 0xFFFFFFFF])
def test_places_of_words_with_the_wanted_bits_are_listed(count, mask):
    """In order, none of those behind `count`, and then places behind the chunk to the end of a vector."""
    words, indices = ROWS[:, 0] & np.uint32(0x80000007), np.full(COLUMN, -7, np.int32)
    for bits in np.unique(words & np.uint32(mask)):
        length = listed(np.append(words, np.full(ELEMENTS, bits)), np.uint32(mask), bits, count, indices)
        expected = np.flatnonzero((words[:count] & np.uint32(mask)) == bits)
        assert np.array_equal(indices[:length], expected)
        assert np.array_equal(indices[length : length + ELEMENTS], CHUNK + np.arange(ELEMENTS))


@COUNTS
@pytest.mark.parametrize("in_place", [False, True])
@pytest.mark.parametrize("mask", [0, 1, 6, 0x80000001])
def test_columns_are_packed_where_words_have_the_wanted_bits(count, mask, in_place):
    """In order, nothing of those behind `count`, and no other place than those of a whole count is written."""
    words = np.append(ROWS[:, 0] & np.uint32(0x80000007), np.zeros(ELEMENTS, np.uint32))
    for bits in np.unique(words & np.uint32(mask)):
        sources = np.random.default_rng(4).integers(0, 2**32, (4, COLUMN), np.uint64).astype(np.uint32)
        before = sources.copy()
        targets = sources if in_place else np.full((4, COLUMN), 7, np.uint32)
        untouched = targets.copy()
        wanted = np.flatnonzero((words[:count] & np.uint32(mask)) == bits)
        assert packed(words, np.uint32(mask), bits, count, sources, targets) == len(wanted)
        assert np.array_equal(targets[:3, : len(wanted)], before[:3, wanted])
        assert np.array_equal(targets[:3, rounded(count) :], untouched[:3, rounded(count) :])
        assert np.array_equal(targets[3], untouched[3])


@pytest.mark.parametrize("share", [0.0, 0.02, 0.3, 0.9, 1.0])
@pytest.mark.parametrize("count", [1, 16, 47, CHUNK, 500, 1000])
def test_a_chunk_is_packed_until_it_is_full(count, share):
    """Piece after piece nothing is left out, pieces are whole vectors, and with numbers it is the same."""
    random = np.random.default_rng(6)
    words = np.append((random.random(count) < share).astype(np.uint32), np.ones(ELEMENTS, np.uint32))
    source, found, first = random.integers(0, 2**32, count + ELEMENTS, np.uint64).astype(np.uint32), [], 0
    while first < count:
        target, other, numbers = (np.full(COLUMN, 7, np.uint32) for _ in range(3))
        length, looked_at = packed_chunk(words[first:], count - first, source[first:], target)
        again = numbered(words[first:], count - first, 2**32 - 5 + first, numbers, source[first:], other)
        assert again == (length, looked_at)
        assert first + looked_at == count or (looked_at % VECTOR_WIDTH == 0 and length > CHUNK - VECTOR_WIDTH)
        assert np.array_equal(target[:length], other[:length])
        assert np.array_equal(source[(numbers[:length] + np.uint32(5)).astype(np.int64)], target[:length])
        assert np.all(target[CHUNK:] == 7)
        assert np.all(numbers[CHUNK:] == 7)
        found += target[:length].tolist()
        first += looked_at
    assert found == source[np.flatnonzero(words[:count])].tolist()


@COUNTS
@pytest.mark.parametrize("gaps", [[], [0], [5, 6], [15], [16], [40, 100], range(CHUNK), range(20, CHUNK)])
def test_gaps_are_closed_in_place(count, gaps):
    words, columns = np.ones(COLUMN, np.uint32), np.arange(3 * COLUMN, dtype=np.uint32).reshape(3, COLUMN)
    words[list(gaps)] = 6
    stay, before = np.flatnonzero(words[:count] == 1), columns.copy()
    assert gaps_closed(words, count, columns) == len(stay)
    assert np.array_equal(columns[:2, : len(stay)], before[:2, stay])
    assert np.array_equal(columns[:, rounded(count) :], before[:, rounded(count) :])
    assert np.array_equal(columns[2], before[2])


def test_lines_are_copied_as_they_are():
    memory = np.zeros(32 * 16 + 16, np.uint32)
    target = memory[(-memory.ctypes.data // 4) % 16 :][: 32 * 16]
    source = np.random.default_rng(5).integers(0, 2**32, 32 * 16 + 1, np.uint64).astype(np.uint32)
    lines_copied(source, target, 31)
    assert np.array_equal(target[: 31 * 16], source[1 : 31 * 16 + 1])
    assert not target[31 * 16 :].any()


@COUNTS
@pytest.mark.parametrize("quads", [(0,), (0, 16), (0, 32), (0, 16, 32)])
def test_rows_are_gathered_from_their_places(count, quads):
    columns, words = np.zeros((12, COLUMN), np.uint32), [first // 4 + k for first in quads for k in range(4)]
    indices = np.random.default_rng(2).integers(0, CHUNK, CHUNK).astype(np.int32)
    gathered(ROWS, indices, count, quads, columns)
    assert np.array_equal(columns[: len(words), :count], ROWS[indices[:count]][:, words].T)
    assert not columns[len(words) :].any()
    assert not columns[:, -(-count // VECTOR_WIDTH) * VECTOR_WIDTH :].any()


@pytest.mark.parametrize("loop", [twice, twice_in_pairs])
@pytest.mark.parametrize("count", [0, 1, 5, 8, 63, 64, 100])
def test_each_place_is_met_once_and_none_behind(count, loop):
    source = np.random.default_rng(count).normal(size=(3, 100)).astype(np.float32)
    target = np.full((4, 100), 7.0, np.float32)
    loop(source, count, target)
    assert np.array_equal(target[:3, :count], 2.0 * source[:, :count])
    assert np.array_equal(target[3, :count], source[0, :count] + source[1, :count] + source[2, :count])
    assert np.all(target[:, count:] == 7.0)


def test_columns_of_stages_lie_in_the_same_memory_behind_those_that_are_kept():
    kept = fields("<f4", "position:3") + fields("<i4", "kind")
    columns = overlaid(kept, fields("<f4", "a b:2"), fields("<u4", "c"))
    offsets = {name: offset // COLUMN for name, (_, offset, *_) in (columns.fields or {}).items()}
    assert offsets == {"position": 0, "kind": 12, "a": 16, "b": 20, "c": 16}
    assert columns.itemsize == 28 * COLUMN
    lanes = for_lanes(columns)
    assert {name: (kind.shape, offset // LANES) for name, (kind, offset, *_) in (lanes.fields or {}).items()} == {
        "position": ((3, LANES), 0),
        "kind": ((LANES,), 12),
        "a": ((LANES,), 16),
        "b": ((2, LANES), 20),
        "c": ((LANES,), 16),
    }
    assert lanes.itemsize == 28 * LANES
