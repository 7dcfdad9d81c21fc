"""The name of one path of a picture, by which it is traced again."""

from __future__ import annotations

import re
from dataclasses import dataclass

from renderer.errors import UsageError

#: Seed, pass, and pixel as X:Y or as one number. Longer numbers are out of bounds.
WORDS = re.compile(r"(\d{1,20}),(\d{1,7}),(\d{1,9})(?::(\d{1,9}))?", re.ASCII)

MOST_SEED, MOST_PASS = 2**64 - 1, 10**6 - 1


@dataclass(frozen=True, kw_only=True)
class PathName:
    """Says which path is meant.

    seed: of the picture.
    pass_index: 0-based.
    pixel: column and row from the top left, or row * width + column.
    """

    seed: int
    pass_index: int
    pixel: tuple[int, int] | int

    def pixel_index(self, width: int, height: int) -> int:
        """Returns row * width + column. Raises `UsageError` for a pixel that is not in the picture."""
        x, y = self.pixel if isinstance(self.pixel, tuple) else (self.pixel % width, self.pixel // width)
        if not (x < width and y < height):
            raise UsageError(f"pixel {x}:{y} is not in a picture of {width}x{height} pixels, which count from 0:0")
        return y * width + x


def read_path_name(text: str) -> PathName:
    """Returns the path that SEED,PASS,X:Y or SEED,PASS,NUMBER names. Raises `ValueError` for other texts."""
    words = WORDS.fullmatch(text)
    if words is None:
        raise ValueError("expected SEED,PASS,X:Y or SEED,PASS,NUMBER")
    seed, index, first = (int(word) for word in words.groups()[:3])
    if seed > MOST_SEED or index > MOST_PASS:
        raise ValueError(f"expected a seed up to {MOST_SEED} and a pass up to {MOST_PASS}")
    return PathName(seed=seed, pass_index=index, pixel=first if words[4] is None else (first, int(words[4])))
