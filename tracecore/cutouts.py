"""Reads cut-outs: triangles of which a mask says where they are not there, such as leaves and fences.

A ray passes through what is cut out. Where a triangle is hit at u, v, its texture coordinates s, t are the mean of
those at its corners; it is there if the mask's texel at s, t is set. `brute_force` defines this to the last bit.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import numpy.typing as npt

from tracecore.errors import CutoutError

#: What a mask is beyond texture coordinates of 0 and 1: the same again, or as at its rim.
Wrap = Literal["repeat", "clamp"]

#: Texels along a side of a mask, and in all masks together: 256 MB.
LARGEST_SIDE = 1 << 14
MOST_TEXELS = 1 << 31

#: In the word `shape` of a record: the width, above it the height, above that whether the mask is clamped.
SIDE_BITS = 15
CLAMP_BIT = 1 << 2 * SIDE_BITS

#: A triangle with cut-outs: texture coordinates of its corners, and where the bits of its mask begin, by row.
CUTOUT = np.dtype([("uv", "<f4", (3, 2)), ("first_word", "<u4"), ("shape", "<u4")])
WORD_BITS = 32

#: The pointers in a kernel's `struct Scene`, and what checks and reads them: `kernels/cutouts.cuh`.
POINTERS = [("cutout_of", "<u8"), ("cutouts", "<u8"), ("mask_words", "<u8")]
DEFINES = {"CUTOUT_BYTES": str(CUTOUT.itemsize), "SIDE_BITS": str(SIDE_BITS)}

Mask = npt.NDArray[np.bool_] | npt.NDArray[np.uint8]
Words = npt.NDArray[np.uint32]


@dataclass(frozen=True, kw_only=True, eq=False)
class Cutouts:
    """Says which parts of t triangles are not there.

    masks: (height, width) bool or uint8 each; a texel is there where it is not 0. Its first row is where t = 0, the
    first column where s = 0.
    mask_ids: (t,) integers, the mask of each triangle, -1 where it is solid.
    uvs: (t, 3, 2), s and t at the corners; those of solid triangles do not count.
    wraps: one for each mask; by default all repeat.
    """

    masks: Sequence[Mask]
    mask_ids: npt.ArrayLike
    uvs: npt.ArrayLike
    wraps: Sequence[Wrap] = ()


class CutoutTables(NamedTuple):
    """Holds cut-outs as all tracers read them.

    cutout_of: (t,) int32, a triangle's index in `cutouts`, -1 where it is solid.
    cutouts: (c,) `CUTOUT` records as (c, 8) uint32.
    mask_words: (w,) uint32, the texels of all masks as bits, the lowest first.
    """

    cutout_of: npt.NDArray[np.int32]
    cutouts: Words
    mask_words: Words

    @property
    def bytes(self) -> int:
        """Returns the memory that the tables take, in bytes."""
        return sum(table.nbytes for table in self)


#: The tables of triangles that are all solid; they are empty.
NO_CUTOUTS = CutoutTables(np.zeros(0, np.int32), np.zeros((0, CUTOUT.itemsize // 4), np.uint32), np.zeros(0, np.uint32))


def tables_of(cutouts: Cutouts | None, triangles: int) -> CutoutTables | None:
    """Returns the tables that tracers read of the cut-outs, or None if all triangles are solid.

    cutouts: what the caller gave.
    triangles: how many triangles there are.
    Raises `CutoutError` for masks of other shapes and types, empty or too large ones, for numbers of masks that are not
    there, and for texture coordinates that are not finite.
    """
    if cutouts is None:
        return None
    masks = [_checked_mask(i, mask) for i, mask in enumerate(cutouts.masks)]
    _check_size(masks)
    mask_ids = _checked_ids(cutouts, triangles)
    uvs = _checked_uvs(cutouts, mask_ids)
    cut_out = np.flatnonzero(mask_ids >= 0)
    if len(cut_out) == 0:
        return None
    cutout_of = np.full(triangles, -1, np.int32)
    cutout_of[cut_out] = np.arange(len(cut_out))
    words = [_words(mask) for mask in masks]
    records = np.zeros(len(cut_out), CUTOUT)
    records["uv"] = uvs[cut_out]
    records["first_word"] = (np.cumsum([len(word) for word in words]) - [len(word) for word in words])[
        mask_ids[cut_out]
    ]
    records["shape"] = _shapes(masks, cutouts.wraps)[mask_ids[cut_out]]
    return CutoutTables(cutout_of, records.view(np.uint32).reshape(len(records), -1), np.concatenate(words))


def _checked_mask(index: int, mask: Any) -> Mask:
    array = np.asarray(mask)
    if array.ndim != 2 or array.dtype not in (np.bool_, np.uint8):
        raise CutoutError(f"mask {index} must be (height, width) bool or uint8, got {array.shape} {array.dtype}")
    if not 1 <= min(array.shape) <= max(array.shape) <= LARGEST_SIDE:
        raise CutoutError(f"mask {index} must have 1 to {LARGEST_SIDE} texels a side, got {array.shape}")
    return array


def _check_size(masks: Sequence[Mask]) -> None:
    texels = sum(mask.size for mask in masks)
    if texels > MOST_TEXELS:
        raise CutoutError(f"at most {MOST_TEXELS} texels of masks can be traced, got {texels}; make the masks smaller")


def _checked_ids(cutouts: Cutouts, triangles: int) -> npt.NDArray[np.int64]:
    ids = np.asarray(cutouts.mask_ids)
    if ids.shape != (triangles,) or ids.dtype.kind not in "iu":
        raise CutoutError(f"mask_ids must be ({triangles},) integers, one a triangle, got {ids.shape} {ids.dtype}")
    wrong = np.flatnonzero((ids < -1) | (ids >= len(cutouts.masks)))
    if len(wrong):
        raise CutoutError(
            f"triangle {wrong[0]} has mask {ids[wrong[0]]}, but there are {len(cutouts.masks)}; -1 means solid"
        )
    return ids.astype(np.int64)


def _checked_uvs(cutouts: Cutouts, mask_ids: npt.NDArray[np.int64]) -> npt.NDArray[np.float32]:
    uvs = np.asarray(cutouts.uvs)
    if uvs.shape != (len(mask_ids), 3, 2) or uvs.dtype.kind not in "fiu":
        raise CutoutError(f"uvs must be ({len(mask_ids)}, 3, 2) numbers, got {uvs.shape} {uvs.dtype}")
    with np.errstate(over="ignore"):  # what overflows is reported
        single = uvs.astype(np.float32)
    wrong = np.flatnonzero((mask_ids >= 0) & ~np.isfinite(single).all(axis=(1, 2)))
    if len(wrong):
        raise CutoutError(f"triangle {wrong[0]} has a mask and uvs that are not finite: {uvs[wrong[0]].tolist()}")
    return single


def _shapes(masks: Sequence[Mask], wraps: Sequence[Wrap]) -> Words:
    """Returns the word `shape` of each mask."""
    chosen = tuple(wraps) or ("repeat",) * len(masks)
    if len(chosen) != len(masks) or not set(chosen) <= set(get_args(Wrap)):
        raise CutoutError(f"wraps must be {' or '.join(get_args(Wrap))} for each of {len(masks)} masks, got {chosen}")
    return np.array(
        [
            mask.shape[1] | mask.shape[0] << SIDE_BITS | CLAMP_BIT * (wrap == "clamp")
            for mask, wrap in zip(masks, chosen, strict=True)
        ],
        np.uint32,
    )


def _words(mask: Mask) -> Words:
    """Returns the texels of a mask as bits, row by row."""
    packed = np.packbits(mask != 0, axis=None, bitorder="little")
    return np.pad(packed, (0, -len(packed) % 4)).view("<u4")
