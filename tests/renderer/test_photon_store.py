"""Photons that landed are kept, and come into order whoever kept them."""

import numpy as np
import pytest

from renderer import photon_store
from renderer.columns import CHUNK
from renderer.photon_map import WORDS
from renderer.photon_store import BLOCK_WORDS, INDEX, NOT_STORED, RANK, PhotonStore, in_order


def keep(store, photons):
    """Keep (index, rank) pairs, with gaps, as many blocks as it takes; their words say who they are."""
    for start in range(0, len(photons), CHUNK // 2):
        output = store.output(CHUNK)
        block = output.blocks[output.filled[0]]
        block[:] = 12345
        block[RANK] = NOT_STORED
        for place, (index, rank) in enumerate(photons[start : start + CHUNK // 2]):
            block[:WORDS, 2 * place] = 100 * np.arange(WORDS) + 10 * index + rank
            block[INDEX, 2 * place], block[RANK, 2 * place] = index, rank
        output.filled[0] += 1


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_photons_are_put_in_order_of_path_and_rank(threads):
    stores = [PhotonStore(), PhotonStore(), PhotonStore()]
    keep(stores[0], [(104, 0), (101, 1), (101, 0), (101, 2)])
    keep(stores[2], [(100, 0), (102, 0), (102, 1)])
    ordered = in_order(stores, 100, 5, threads)
    assert ordered.dtype == np.uint32
    assert ordered[:, 0].tolist() == [1000, 1010, 1011, 1012, 1020, 1021, 1040]
    assert np.array_equal(ordered - ordered[:, :1], np.tile(100 * np.arange(WORDS), (7, 1)))


def test_the_highest_indices_are_told_apart():
    store = PhotonStore()
    keep(store, [(2**32 - 1, 0), (2**32 - 2, 1), (2**32 - 2, 0)])
    assert in_order([store], 2**32 - 3, 3, 2)[:, 0].tolist() == [
        (10 * (2**32 - 2)) % 2**32,
        (10 * (2**32 - 2) + 1) % 2**32,
        (10 * (2**32 - 1)) % 2**32,
    ]


def test_many_photons_of_many_stores_come_into_order():
    random = np.random.default_rng(1)
    photons = [(index, rank) for index in range(1000) for rank in range(random.integers(0, 5))]
    stores = [PhotonStore() for _ in range(3)]
    for number, store in enumerate(stores):
        mine = [photon for photon in photons if photon[0] % 3 == number]
        random.shuffle(mine)
        keep(store, mine)
    ordered = in_order(stores, 0, 1000, 2)
    assert ordered[:, 0].tolist() == [10 * index + rank for index, rank in photons]


def test_no_photon_is_no_row():
    assert in_order([PhotonStore()], 7, 0, 2).shape == (0, WORDS)


def test_room_is_there_for_every_ray_and_segments_are_used_again(monkeypatch):
    monkeypatch.setattr(photon_store, "SEGMENT_BYTES", 3 * photon_store.BLOCK_BYTES)
    store = PhotonStore()
    outputs = []
    for rays in (1, 2 * CHUNK + 1, CHUNK, 4 * CHUNK):
        output = store.output(rays)
        assert output.blocks.shape[1:] == (BLOCK_WORDS, CHUNK)
        assert len(output.blocks) - output.filled[0] >= -(-rays // CHUNK)
        output.filled[0] += -(-rays // CHUNK)
        outputs.append(output)
    assert [int(output.filled[0]) for output in outputs] == [1, 3, 1, 4]
    assert [len(blocks) for blocks in store.blocks()] == [1, 3, 1, 4]
    store.counters[:] = 5
    store.clear()
    assert not store.counters.any()
    assert sum(len(blocks) for blocks in store.blocks()) == 0
    assert store.output(CHUNK) is outputs[0]


def test_memory_is_had_before_it_is_needed(monkeypatch):
    monkeypatch.setattr(photon_store, "SEGMENT_BYTES", 3 * photon_store.BLOCK_BYTES)
    made = []
    monkeypatch.setattr(
        photon_store, "new_blocks", lambda count: made.append(count) or np.ones((count, 8, CHUNK), "u4")
    )
    store = PhotonStore()
    store.reserve(7 * CHUNK)
    store.reserve(7 * CHUNK)
    assert made == [3, 3, 3]
    for _ in range(9):
        store.output(CHUNK).filled[0] += 1
    assert made == [3, 3, 3]


@pytest.mark.parametrize("huge", [True, False])
def test_blocks_are_there_with_and_without_huge_pages(huge, monkeypatch):
    if not huge:
        monkeypatch.delattr(photon_store.mmap, "MADV_HUGEPAGE", raising=False)
    blocks = photon_store.new_blocks(5)
    assert blocks.shape == (5, BLOCK_WORDS, CHUNK)
    assert blocks.dtype == np.uint32
    blocks[:] = 7
    assert blocks.flags.c_contiguous
