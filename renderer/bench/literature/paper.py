"""This module describes a paper whose tables are made again."""

from collections.abc import Mapping
from dataclasses import dataclass

#: How far a ratio may lie beside a range in words: texts say "about", and round to ten per cent or to five.
ROUNDING = 0.05


@dataclass(frozen=True, kw_only=True)
class Claim:
    """This is a sentence of a paper's text: the rate of one kernel over that of another.

    row, over: rows of the paper's table.
    kinds: of rays, for each of which it is said.
    least, most: the range that the text states for the mean over scenes, the same number twice for "about"; None where
    it is open.
    single_views: what it says of single views, in short.
    """

    row: str
    over: str
    kinds: tuple[str, ...]
    least: float | None = None
    most: float | None = None
    single_views: str = ""

    def holds(self, ratio: float) -> bool:
        """Returns whether a measured ratio agrees with the claim, but for `ROUNDING`."""
        least = -float("inf") if self.least is None else self.least
        most = float("inf") if self.most is None else self.most
        return least - ROUNDING <= ratio <= most + ROUNDING

    @property
    def range(self) -> str:
        """Returns the range as text, for a cell of a table."""
        if self.least is None:
            return f"at most {self.most:g}"
        if self.most is None:
            return f"at least {self.least:g}"
        return f"about {self.least:g}" if self.least == self.most else f"{self.least:g} to {self.most:g}"


@dataclass(frozen=True, kw_only=True)
class Paper:
    """Describes the tables or figures of a paper that are made again.

    name: on the command line.
    citation: author, title, year.
    what: it shows.
    rows: kernels by their names in the paper; the first is the one that others are compared with.
    kinds: of rays.
    size: pixels.
    repeats: rounds.
    bound_rays: of each kind, from which SIMD efficiencies and bounds are simulated; 0 for none.
    claims: of its text.
    has_photon_run: whether photons are also traced from end to end, in a scene made plain.
    has_construction: whether builders of trees are compared too, and shadows are of one point light.
    notes: below the tables.
    """

    name: str
    citation: str
    what: str
    rows: Mapping[str, str]
    kinds: tuple[str, ...]
    size: tuple[int, int]
    repeats: int = 5
    bound_rays: int = 0
    claims: tuple[Claim, ...] = ()
    has_photon_run: bool = False
    has_construction: bool = False
    notes: tuple[str, ...] = ()
