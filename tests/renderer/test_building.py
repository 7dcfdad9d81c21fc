"""Maps are built from what stores keep, whoever kept it and however many build."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from renderer.photons import building
from renderer.photons.building import MapMemory, build_photon_map, sorted_map
from renderer.photons.photon_map import PHOTON_FLUX, PHOTON_WORDS
from renderer.photons.store import STORE_COLUMNS, PhotonStore, in_order
from renderer.simd.columns import CHUNK
from tracecore.workers.pool import CallingThread


class Threads:
    """So many threads that share items."""

    def __init__(self, threads):
        self.threads = threads

    def map(self, function, items):
        with ThreadPoolExecutor(self.threads) as threads:
            return list(threads.map(function, items))


def random_photons(paths, crowd, seed=1):
    """Photons (n, STORE_COLUMNS) of so many paths, whose last `crowd` photons are close together; the flux says which
    ones they are."""
    random = np.random.default_rng(seed)
    index = np.repeat(np.arange(paths), random.integers(0, 6, paths))
    positions = (random.random((len(index), 3)) * [1.0, 2.0, 0.5] - 0.25).astype(np.float32)
    positions[len(index) - crowd :] *= np.float32(1e-3)
    photons = random.integers(0, 2**32, (len(index), STORE_COLUMNS), dtype=np.uint32)
    photons[:, :3], photons[:, PHOTON_FLUX], photons[:, -1] = positions.view(np.uint32), np.arange(len(index)), index
    return photons


def kept_in_stores(photons, count, seed=2):
    """So many stores with photons of some paths each, mixed, but those of a path in their order."""
    random, stores = np.random.default_rng(seed), [PhotonStore() for _ in range(count)]
    index = photons[:, -1]
    rank = np.arange(len(index)) - np.searchsorted(index, index)
    for number, store in enumerate(stores):
        mine = np.flatnonzero(index % count == number)
        mine = mine[np.lexsort((random.random(len(mine)), rank[mine]))]
        for start in range(0, len(mine), CHUNK):
            piece, output = photons[mine[start : start + CHUNK]].T, store.output(CHUNK)
            if piece.shape[1] == CHUNK:
                output.blocks[output.filled[0]] = piece
                output.filled[0] += 1
            else:
                output.waiting[:, : piece.shape[1]], output.waits[0] = piece, piece.shape[1]
    return stores


def pieces_of(stores):
    return [piece for store in stores for piece in store.pieces()]


def assert_same(made, expected):
    assert made.photons == expected.photons
    assert made.grid == expected.grid
    assert np.array_equal(made.starts, expected.starts)
    assert np.array_equal(made.columns[:, : made.photons], expected.columns[:, : expected.photons])


@pytest.mark.parametrize(("stores", "threads"), [(1, 1), (3, 1), (3, 2), (4, 5)])
@pytest.mark.parametrize("crowd", [0, 3000])
def test_a_map_of_stores_is_that_of_photons_in_order(stores, threads, crowd, monkeypatch):
    monkeypatch.setattr(building, "BUCKET_PHOTONS", 100)
    photons = random_photons(4000, crowd)
    kept = kept_in_stores(photons, stores)
    one_by_one = CallingThread()
    one_by_one.threads = threads
    ordered = in_order(kept, 0, 4000, one_by_one)
    assert np.array_equal(ordered, photons[:, :PHOTON_WORDS])
    made = sorted_map(pieces_of(kept), 0.05, 2.0, MapMemory(), Threads(threads))  # type: ignore[arg-type]
    assert_same(made, build_photon_map(ordered, 0.05, 2.0))
    assert np.array_equal(np.sort(made.columns[PHOTON_FLUX, : made.photons]), np.arange(len(photons)))
    for cell in np.flatnonzero(np.diff(made.starts) > 1):  # in order of path and of what is along it
        assert np.all(np.diff(made.columns[PHOTON_FLUX, made.starts[cell] : made.starts[cell + 1]].astype(int)) > 0)


def test_memory_that_another_map_has_left_changes_nothing():
    memory = MapMemory()
    for paths, seed in ((3000, 1), (500, 2), (0, 3), (2000, 4)):
        photons = random_photons(paths, 0, seed)
        made = sorted_map(pieces_of(kept_in_stores(photons, 2)), 0.1, 1.0, memory, CallingThread())
        assert_same(made, build_photon_map(photons[:, :PHOTON_WORDS], 0.1, 1.0))
