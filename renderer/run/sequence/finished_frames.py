"""This module keeps frames that are finished: their statistics have the key of all that decides the frame, and a
checksum, by which a sequence that goes on knows them again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from renderer.run import statistics
from renderer.run.picture.picture_files import read_statistics, statistics_path

if TYPE_CHECKING:
    from renderer.run.statistics import Statistics


def write_finished(path: Path, figures: Statistics) -> None:
    """Writes the statistics of a frame that is finished, with a checksum over them and the picture at `path`."""
    plain = statistics.plain(figures)
    statistics.write(statistics_path(path), plain | {"checksum": checksum(path, plain)})


def checksum(path: Path, figures: Statistics) -> str:
    """Returns 64 hexadecimal digits that stand for the file of a picture and for its statistics, as they are read."""
    digest = hashlib.blake2b(json.dumps(figures, sort_keys=True).encode(), digest_size=32)
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def finished_frame(path: Path, key_of: Callable[[int], str]) -> Statistics | None:
    """Returns the statistics of a frame that is there as it is wanted and undamaged, else None.

    path: of the frame's picture.
    key_of: gives the key that the frame has to have, of the number of its passes.
    """
    figures = read_statistics(statistics_path(path))
    if figures is None or not path.is_file():
        return None
    try:
        if figures.pop("checksum", None) != checksum(path, figures):
            return None
    except OSError:
        return None
    return figures if figures.get("request") == key_of(figures["passes"]) else None
