"""This module draws an index by its share with one look at a table, however many there are.

A cell of the table goes to its own index up to some part of it, and to another one, the alias, from there on. Walker:
An Efficient Method for Generating Discrete Random Variables with General Distributions, 1977.
"""

import numpy as np
import numpy.typing as npt

from shaders.compilation import compiled, get_int, get_word, kept
from shaders.elementary import least
from shaders.float32 import ONE, Doubles, Int, Words
from shaders.random import unit32

#: A cell: the share of it, out of 2^32, that is its own, and the index that the rest goes to.
ALIAS = np.dtype([("share", "<u4"), ("alias", "<i4")])

FULL, HALF_WORD = np.uint32(2**32 - 1), np.uint64(32)


def pack_aliases(probability: Doubles) -> npt.NDArray[np.void]:
    """Returns the table of some probabilities (n,), or of each row of them (rows, n): as many ALIAS. What has a
    probability of 0 is never drawn; a row of zeros is none of which anything is drawn."""
    aliases = np.zeros(probability.shape, ALIAS)
    if probability.size:
        columns = probability.shape[-1]
        fill_aliases(probability.reshape(-1, columns), aliases.view(np.uint32).reshape(-1, columns, 2))
    return aliases


@kept
def fill_aliases(probability: Doubles, aliases: Words) -> None:
    """Writes the shares and aliases of rows of probabilities, (rows, n): (rows, n, 2)."""
    count = probability.shape[1]
    rest, waiting = np.empty(count), np.empty(count, np.int64)  # the poor from the start, the rich from the end
    for row in range(len(probability)):
        likeliest, poor, rich = np.argmax(probability[row]), 0, count
        for k in range(count):
            rest[k] = probability[row, k] * count
            aliases[row, k, 0], aliases[row, k, 1] = 0, likeliest
        for k in range(count - 1, -1, -1):
            if rest[k] >= 1.0:
                rich -= 1
                waiting[rich] = k
        for k in range(count):
            if rest[k] < 1.0:
                waiting[poor] = k
                poor += 1
        last = count
        while poor > 0 and rich < last:
            poor -= 1
            taker, giver = waiting[poor], waiting[last - 1]
            aliases[row, taker, 0], aliases[row, taker, 1] = np.uint32(rest[taker] * (2.0**32 - 1.0)), giver
            rest[giver] -= 1.0 - rest[taker]
            if rest[giver] < 1.0:
                last -= 1
                waiting[poor] = giver
                poor += 1
        for k in range(count):  # of each of the others about as much as a cell is left: but for rounding, exactly
            if k < poor or rich <= k < last:
                aliases[row, waiting[k], 0], aliases[row, waiting[k], 1] = FULL, waiting[k]


@compiled
def draw_alias(cells: tuple[int, int, int], count: np.uint64, word: np.uint32) -> tuple[int, float]:
    """Returns the index that 32 random bits draw of `count`, int32, and how far they are through its share, 0..1.

    cells: the address of words, how many lie before the first cell, and from one cell to the next. Each begins as an
        ALIAS does.
    """
    words, first, step = cells
    product = np.uint64(word) * count
    own, rest = Int(product >> HALF_WORD), np.uint32(product)
    start = Int(first + Int(own * step))
    share, alias = get_word(words, start), get_int(words, Int(start + Int(1)))
    is_own = rest < share
    through = np.uint32(rest - (np.uint32(0) if is_own else share))
    size = share if is_own else np.uint32(FULL - share)
    return own if is_own else alias, least(unit32(through) / unit32(size), ONE)
