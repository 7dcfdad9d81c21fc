"""This module makes one film of several parts of a picture, whatever their order, and says which do not go together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

from renderer.errors import PartError
from renderer.film.film import Film, Sums, joined
from renderer.run.part_ranges import PASSES, check_disjoint, gaps, together, told
from renderer.run.picture.part_file import Part, read_part
from renderer.run.statistics import OF_TIMED_RAYS, sample_figures

if TYPE_CHECKING:
    from renderer.film.picture import Picture
    from renderer.run.statistics import Statistics
    from renderer.scene.first_hits import Floats

#: How the keys of statistics begin that are counts or seconds, of which parts have a sum.
SUMMED = ("rays.", "photons.", "seconds.", "coprocessor.batches", "coprocessor.verified", "coprocessor.faults")


class MergedFilm:
    """Is what parts of one picture have together.

    part: says what is in it.

    Raises `PartError` where the files are no parts, of different pictures, or have passes in common.
    """

    def __init__(self, files: Sequence[Path]) -> None:
        parts = [read_part(path) for path in files]
        for part in parts[1:]:
            if part.key != parts[0].key:
                raise PartError(f"'{part.path}' and '{parts[0].path}' differ in {_difference(part, parts[0])}")
        self._parts = sorted(parts, key=lambda part: part.ranges)
        check_disjoint(((one, part.path) for part in parts for one in part.ranges), PASSES)
        self.part = replace(
            parts[0],
            ranges=together([one for part in self._parts for one in part.ranges]),
            figures=reduce(_joined_figures, (part.figures for part in self._parts)),
        )

    def arrays(self) -> tuple[Sums, dict[str, Floats]]:
        """Returns the sums of all passes, and layers of the middles of pixels by name."""
        sums, hits = self._parts[0].arrays()
        for part in self._parts[1:]:
            sums = joined(sums, part.arrays()[0])
        return sums, hits

    def write(self, path: Path) -> None:
        """Writes the file of a part that has all these passes."""
        replace(self.part, path=path).write(*self.arrays())

    def picture(self) -> Picture:
        """Returns the picture. Raises `PartError` where passes are missing."""
        part, missing = self.part, gaps(self.part.ranges, self.part.passes)
        if missing:
            raise PartError(
                f"{told(missing, PASSES)} missing, of {part.passes}; render them, or name the files that have them"
            )
        sums, hits = self.arrays()
        height, width, columns = sums["first.low"].shape
        film = Film(width, height, columns + sums["features.low"].shape[2])
        film.resume(part.passes, sums)
        crop, seed = part.facts.window, part.facts.settings["seed"]
        samples = sample_figures(seed, crop and crop[:2], film.counts)
        figures = part.figures | samples | {"passes": part.passes}
        return replace(part.facts.picture(film, figures, hits), is_finished=True)


def _difference(one: Part, other: Part) -> str:
    """Returns, in words, what two parts differ in that are not of one picture."""
    all_facts = [{"passes": part.passes} | part.facts.plain for part in (one, other)]
    told = [facts.pop("settings") | facts.pop("more") | facts for facts in all_facts]
    for name in dict.fromkeys([*told[0], *told[1]]):
        mine, yours = (values.get(name) for values in told)
        if mine != yours:
            return f"{name.replace('_', ' ')}: {mine} and {yours}"
    return "the scene, a setting or the version of the program"


def _joined_figures(one: Statistics, other: Statistics) -> dict[str, Any]:
    """Returns statistics of two parts together; what is a rate, nobody knows of them."""
    sums = {name: one[name] + other[name] for name in one if name.startswith(SUMMED)}
    darkness = one["darkness"] if one["darkness"] == other["darkness"] else ""
    return one | sums | dict.fromkeys((*OF_TIMED_RAYS, "members")) | {"darkness": darkness}
