"""A part of a picture is a `sealed_file` with a film of some of its passes, of which parts are merged. It has what is
known of the picture, so that whoever merges needs neither the scene nor a driver.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from renderer.errors import PartError
from renderer.run import statistics
from renderer.run.picture.picture_record import PictureFacts
from renderer.run.resuming import sealed_file

if TYPE_CHECKING:
    from collections.abc import Mapping

    from renderer.film.film import Film, Sums
    from renderer.run.picture.picture_record import PictureRecord
    from renderer.scene.first_hits import Floats

#: How a file begins, with the version of its format; how its name ends.
FIRST_LINE, SUFFIX = b"tracecore film 1\n", ".film"

#: Before the names of layers of the middles of pixels, among the arrays.
FIRST_HITS = "first hits "


@dataclass(frozen=True, kw_only=True)
class Part:
    """Says what is in the file of a part.

    path: of the file.
    key: of the whole picture: parts that have another one do not belong to it.
    passes: of the whole picture.
    ranges: of passes that the part has, counting up, (first, end) each.
    facts: of the picture.
    figures: statistics of these passes.
    """

    path: Path
    key: str
    passes: int
    ranges: tuple[tuple[int, int], ...]
    facts: PictureFacts
    figures: dict[str, Any]

    def arrays(self) -> tuple[Sums, dict[str, Floats]]:
        """Returns the sums of the film, and layers of the middles of pixels by name."""
        found = sealed_file.read_arrays(self.path, FIRST_LINE)
        hits = {name: found.pop(name) for name in list(found) if name.startswith(FIRST_HITS)}
        return found, {name.removeprefix(FIRST_HITS): layer for name, layer in hits.items()}

    def write(self, sums: Sums, first_hits: Mapping[str, npt.NDArray[np.float32]]) -> None:
        """Writes the file. sums: of the film. first_hits: layers of the middles of pixels by name."""
        header = {
            "key": self.key,
            "passes": self.passes,
            "ranges": self.ranges,
            "facts": self.facts.plain,
            "figures": statistics.plain(self.figures),
        }
        hits = {f"{FIRST_HITS}{name}": layer for name, layer in first_hits.items()}
        sealed_file.write(self.path, FIRST_LINE, header, sums | hits)


def read_part(path: Path) -> Part:
    """Returns what is in the file of a part. Raises `PartError` where it is none, and `OSError`."""
    header = sealed_file.read_header(path, FIRST_LINE)
    if header is None:
        raise PartError(f"'{path}' is damaged, or no part of a picture by this version of the program")
    return Part(
        path=path,
        key=header["key"],
        passes=header["passes"],
        ranges=tuple((first, end) for first, end in header["ranges"]),
        facts=PictureFacts.from_plain(header["facts"]),
        figures=header["figures"],
    )


def write_film(path: Path, record: PictureRecord, film: Film) -> None:
    """Writes the passes that a film has as a part of their picture."""
    passes = record.plan.settings.passes
    assert passes is not None
    Part(
        path=path,
        key=record.key_of_whole(),
        passes=passes,
        ranges=((film.end - film.passes, film.end),),
        facts=record.facts,
        figures=record.figures(film),
    ).write(film.sums(), record.first_hits)
