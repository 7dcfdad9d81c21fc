"""A part of a picture's passes, or of a run's photons, as a command line names it: K/N."""

import re
from typing import NamedTuple

#: K/N, and most parts.
PART, MOST_PARTS = re.compile(r"(\d{1,7})/(\d{1,7})", re.ASCII), 1_000_000


class PartOf(NamedTuple):
    """Says which part of a picture's passes, or of a run's photons, is made: part `number`, from 1 on, of `parts` that
    are as large.
    """

    number: int
    parts: int

    def __str__(self) -> str:
        """Returns the part as `read_part_of` reads it."""
        return f"{self.number}/{self.parts}"

    def range_of(self, count: int) -> range:
        """Returns the indices of the passes or photons of the part. count: of all of them."""
        return range(count * (self.number - 1) // self.parts, count * self.number // self.parts)


def read_part_of(text: str) -> PartOf:
    """Reads K/N. Raises `ValueError` where it says something else."""
    found = PART.fullmatch(text)
    part = found and PartOf(*map(int, found.groups()))
    if not part or not 1 <= part.number <= part.parts <= MOST_PARTS:
        raise ValueError(f"expected K/N with K from 1 to N, such as 3/64, and N at most {MOST_PARTS}")
    return part
