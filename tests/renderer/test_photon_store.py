"""Photons that landed are kept, and come into order whoever kept them."""

import numpy as np
import pytest

from renderer.photons import store as photon_store
from renderer.photons.photon_map import PHOTON_WORDS
from renderer.photons.store import PHOTON_BLOCK_BYTES, STORE_COLUMNS, STORE_INDEX, PhotonStore, in_order, room
from renderer.simd.columns import CHUNK
from tracecore.workers.pool import CallingThread, Helpers


def helpers(count: int) -> Helpers:
    """So many threads, one after the other."""
    made = CallingThread()
    made.threads = count
    return made


def keep(store, photons):
    """Keep (index, rank in the path) pairs, as many blocks as it takes; their words say who they are."""
    for start in range(0, len(photons), CHUNK):
        output, piece = store.output(CHUNK), np.array(photons[start : start + CHUNK], np.uint64)
        columns = np.zeros((STORE_COLUMNS, len(piece)), np.uint32)
        columns[:PHOTON_WORDS] = (10 * piece[:, 0] + piece[:, 1])[None] + 100 * np.arange(
            PHOTON_WORDS, dtype=np.uint64
        )[:, None]
        columns[STORE_INDEX] = piece[:, 0]
        if len(piece) == CHUNK:
            output.blocks[output.filled[0]] = columns
            output.filled[0] += 1
        else:
            output.waiting[:, : len(piece)] = columns
            output.waits[0] = len(piece)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_photons_are_put_in_order_of_path_and_as_kept(threads):
    stores = [PhotonStore(), PhotonStore(), PhotonStore()]
    keep(stores[0], [(104, 0), (101, 0), (101, 1), (101, 2)])
    keep(stores[2], [(100, 0), (102, 0), (102, 1)])
    ordered = in_order(stores, 100, 5, helpers(threads))
    assert ordered.dtype == np.uint32
    assert ordered[:, 0].tolist() == [1000, 1010, 1011, 1012, 1020, 1021, 1040]
    assert np.array_equal(ordered - ordered[:, :1], np.tile(100 * np.arange(PHOTON_WORDS), (7, 1)))


def test_many_photons_of_many_stores_come_into_order():
    random = np.random.default_rng(1)
    photons = [(index, rank) for index in range(1000) for rank in range(random.integers(0, 5))]
    stores = [PhotonStore() for _ in range(3)]
    for number, store in enumerate(stores):
        mine = [photon for photon in photons if photon[0] % 3 == number]
        mine.sort(key=lambda photon: (photon[1], random.random()))  # paths mixed, each in its order
        keep(store, mine)
    ordered = in_order(stores, 0, 1000, helpers(2))
    assert ordered[:, 0].tolist() == [10 * index + rank for index, rank in photons]


def test_room_is_there_for_every_ray_and_segments_are_used_again(monkeypatch):
    monkeypatch.setattr(photon_store, "SEGMENT_BYTES", 3 * PHOTON_BLOCK_BYTES)
    store = PhotonStore()
    outputs = []
    for rays in (1, 2 * CHUNK + 1, CHUNK, 4 * CHUNK):
        output = store.output(rays)
        assert output.blocks.shape[1:] == (STORE_COLUMNS, CHUNK)
        assert room(output) >= rays
        assert output.waits[0] == len(outputs)
        output.waits[0] += 1
        output.filled[0] += -(-rays // CHUNK)
        outputs.append(output)
    assert [int(output.filled[0]) for output in outputs] == [1, 3, 1, 4]
    assert [(len(blocks), blocks.shape[2]) for blocks in store.filled()] == [
        (1, CHUNK),
        (3, CHUNK),
        (1, CHUNK),
        (4, CHUNK),
        (1, 4),
    ]
    store.counters[:] = 5
    store.clear()
    assert not store.counters.any()
    assert sum(blocks.size for blocks in store.filled()) == 0
    assert store.output(CHUNK) is outputs[0]


def test_memory_is_had_before_it_is_needed(monkeypatch):
    """All of it is touched, also of the first segment."""
    monkeypatch.setattr(photon_store, "SEGMENT_BYTES", 4 * PHOTON_BLOCK_BYTES)
    made = []
    monkeypatch.setattr(
        photon_store, "new_blocks", lambda count: made.append(np.ones((count, STORE_COLUMNS, CHUNK), "u4")) or made[-1]
    )
    store = PhotonStore()
    store.reserve(7 * CHUNK)
    store.reserve(7 * CHUNK)
    assert [len(blocks) for blocks in made] == [4, 4, 4]
    assert not any(blocks.any() for blocks in made)
    for _ in range(9):
        store.output(CHUNK).filled[0] += 1
    assert len(made) == 3


@pytest.mark.parametrize("huge", [True, False])
def test_blocks_are_there_with_and_without_huge_pages(huge, monkeypatch):
    if not huge:
        monkeypatch.delattr(photon_store.mmap, "MADV_HUGEPAGE", raising=False)  # type: ignore[attr-defined]
    blocks = photon_store.new_blocks(5)
    assert blocks.shape == (5, STORE_COLUMNS, CHUNK)
    assert blocks.dtype == np.uint32
    blocks[:] = 7
    assert blocks.flags.c_contiguous
