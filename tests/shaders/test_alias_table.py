"""Tables by which an index is drawn: each has its share, and draws are even within it."""

import numpy as np
import pytest

from shaders.alias_table import ALIAS, draw_alias, pack_aliases
from shaders.compilation import address, compiled
from shaders.float32 import Int

GENERATOR = np.random.default_rng(3)
SHARES = {
    "one": np.ones(1),
    "49 alike": np.ones(49),
    "noise": GENERATOR.random(97) ** 4,
    "one strong": np.append(GENERATOR.random(30), 1e5),
    "dark ones": np.where(np.arange(40) % 3, 0.0, GENERATOR.random(40)),
}


def drawn_shares(aliases):
    """The share of each index (n,) that cells and their aliases give."""
    own = aliases["share"] / 2.0**32
    return (own + np.bincount(aliases["alias"], 1.0 - own, len(own))) / len(own)


@pytest.mark.parametrize("name", SHARES)
def test_every_index_has_its_share(name):
    shares = SHARES[name] / SHARES[name].sum()
    found = drawn_shares(pack_aliases(shares))
    np.testing.assert_allclose(found, shares, atol=1e-9)
    assert not found[shares == 0.0].any()


def test_rows_have_tables_of_their_own():
    rows = GENERATOR.random((5, 8))
    rows /= rows.sum(axis=1, keepdims=True)
    for row, table in zip(rows, pack_aliases(rows), strict=True):
        np.testing.assert_array_equal(table, pack_aliases(row))


@compiled
def draws(aliases, words):
    """Indices and how far through their shares: (n,) int64 and (n,) float64."""
    indices, through = np.empty(len(words), np.int64), np.empty(len(words))
    for i in range(len(words)):
        cells = (address(aliases), Int(0), Int(2))
        indices[i], through[i] = draw_alias(cells, np.uint64(len(aliases)), words[i])
    return indices, through


@pytest.mark.parametrize("name", SHARES)
def test_draws_are_even_within_a_share(name):
    shares = SHARES[name] / SHARES[name].sum()
    words = (np.arange(1 << 16, dtype=np.uint64) * np.uint64(2654435769)).astype(np.uint32)
    indices, through = draws(pack_aliases(shares).astype(ALIAS), words)
    np.testing.assert_allclose(np.bincount(indices, minlength=len(shares)) / len(words), shares, atol=2e-3)
    likeliest = through[indices == np.argmax(shares)]
    assert likeliest.min() >= 0.0
    assert likeliest.max() <= 1.0
    counts = np.histogram(likeliest, 4, (0.0, 1.0))[0] / len(likeliest)
    np.testing.assert_allclose(counts, 0.25, atol=0.05)
