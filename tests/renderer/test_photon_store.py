"""Photons that landed are kept. How they come into order is in test_building."""

import numpy as np
import pytest

from renderer.photons import store as photon_store
from renderer.photons.store import PHOTON_BLOCK_BYTES, STORE_COLUMNS, PhotonStore, room
from renderer.simd.columns import CHUNK


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
