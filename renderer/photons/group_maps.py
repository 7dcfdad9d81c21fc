"""Photon maps of light groups: those of the photons of each group, side by side in memory, so that loops choose one by
its number."""

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from renderer.photons.photon_map import Grid, PhotonMap, Words
from renderer.scene.photon_scene import Records
from renderer.shading.chunks import Long
from renderer.simd.columns import WORD_BYTES, array_at
from shaders.float32 import Ints
from tracecore.compilation.cached import inlined
from tracecore.compilation.vector import address

#: A map: what `PhotonMap` has, how many words lie from one of its columns to the next, and where its columns and its
#: starts begin.
GROUP_MAP = np.dtype(
    [
        ("low", "<f4", 3),
        ("shape", "<i4", 3),
        ("per_cell", "<f4"),
        ("step", "<i4"),
        ("first_word", "<i8"),
        ("first_start", "<i8"),
        ("cell", "<f8"),
        ("photons", "<i8"),
        ("scale", "<f8"),
    ]
)


class GroupMaps(NamedTuple):
    """Holds a photon map for each light group.

    records: (groups,) GROUP_MAP; none where groups are not told apart.
    words: (n,) uint32, the columns of all maps.
    starts: (m,) int32, the starts of all maps.
    """

    records: Records
    words: Words
    starts: Ints


def side_by_side(maps: Sequence[PhotonMap]) -> GroupMaps:
    """Returns photon maps of light groups, in the order of these, whose memory is copied."""
    records = np.zeros(len(maps), GROUP_MAP)
    words, starts = 0, 0
    for record, one in zip(records, maps, strict=True):
        for name in Grid._fields:
            record[name] = getattr(one.grid, name)
        record["step"], record["photons"], record["scale"] = one.columns.shape[1], one.photons, one.scale
        record["first_word"], record["first_start"] = words, starts
        words, starts = words + one.columns.size, starts + len(one.starts)
    return GroupMaps(
        records,
        np.concatenate([np.empty(0, np.uint32), *(one.columns.ravel() for one in maps)]),
        np.concatenate([np.empty(0, np.int32), *(one.starts for one in maps)]),
    )


@cache
def no_group_maps() -> GroupMaps:
    """Returns the maps of no groups, always the same."""
    return side_by_side([])


@inlined
def map_of_group(maps: GroupMaps, group: int, like: PhotonMap) -> PhotonMap:
    """Returns the photon map of a group. maps, like: borrowed. like: a map of any photons."""
    made = maps.records[group]
    low, shape = made.low, made.shape
    grid = Grid((low[0], low[1], low[2]), (shape[0], shape[1], shape[2]), made.cell, made.per_cell)
    columns = array_at(like.columns, address(maps.words) + WORD_BYTES * made.first_word, made.step)
    starts = array_at(like.starts, address(maps.starts) + WORD_BYTES * made.first_start, grid_starts(grid))
    return PhotonMap(columns, starts, grid, made.photons, made.scale)


@inlined
def grid_starts(grid: Grid) -> int:
    """Returns how many starts a map over a grid has."""
    x, y, z = grid.shape
    return Long(x) * Long(y) * Long(z) + 1
