"""Result files hold the seconds of each round of kernels on recorded rays; two of them are compared row by row."""

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from renderer.bench.table import MISSING, STRUCK_OUT, aligned, number
from renderer.bench.verdict import LEAST_ROUNDS, speed_ratio
from renderer.errors import UsageError

FORMAT = "tracecore result 1"

#: Most bytes of a result file.
LARGEST = 1 << 28


class ResultFileError(UsageError):
    """A file is no result file, or does not fit another one."""


class Key(NamedTuple):
    """Names a row of a result file."""

    scene: str
    kind: str
    kernel: str


@dataclass(frozen=True, kw_only=True)
class Result:
    """Holds a row of a result file.

    rays: how many.
    traced: SHA-256 of the files of the triangles and of the rays, and the query.
    seconds: of each round; none where hits were wrong.
    """

    rays: int
    traced: tuple[str, str, str]
    seconds: tuple[float, ...]

    @property
    def rate(self) -> float | None:
        """Returns the median of the rounds, millions of rays per second."""
        return self.rays / median(self.seconds) / 1e6 if self.seconds else None


@dataclass(frozen=True, kw_only=True)
class ResultFile:
    """Holds a result file.

    device: what traced: gpu, cpu or emulator.
    machine: its name in words.
    """

    path: Path
    device: str
    machine: str
    rows: dict[Key, Result]


def read_results(path: Path) -> ResultFile:
    """Reads a result file, of which it takes what it needs. Raises `ResultFileError` for any other file."""
    try:
        with path.open("rb") as file:
            found = json.loads(file.read(LARGEST))
        if not isinstance(found, dict) or found.get("format") != FORMAT:
            raise ResultFileError(f"{path}: not a result file; 'bench rays --read FOLDER --json FILE' writes them")
        device = str(found["device"])
        machine = found["circumstances"]["machine"]
        name = str(machine.get("GPU" if device == "gpu" else "processor", device))
        rows = dict(map(_row, found["measurements"]))
        if len(rows) < len(found["measurements"]):
            raise ValueError("two rows have the same scene, kind and kernel")
        return ResultFile(path=path, device=device, machine=name, rows=rows)
    except OSError as error:
        raise ResultFileError(f"cannot read '{path}': {error.strerror or error}") from error
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        if isinstance(error, ResultFileError):
            raise
        raise ResultFileError(f"{path}: not a readable result file ({error!r:.200})") from error


def _row(row: dict[str, Any]) -> tuple[Key, Result]:
    seconds = () if row["wrong"] else tuple(float(value) for value in row["seconds"])
    if not all(math.isfinite(value) and value > 0.0 for value in seconds) or not (seconds or row["wrong"]):
        raise ValueError("a row has no seconds, or some that are not positive")
    key = Key(str(row["scene"]), str(row["kind"]), str(row["kernel"]))
    traced = (str(row["triangles_sha256"]), str(row["rays_sha256"]), str(row["query"]))
    return key, Result(rays=int(row["rays"]), traced=traced, seconds=seconds)


def check_fit(one: ResultFile, other: ResultFile) -> None:
    """Raises `ResultFileError` where two files are not of the same rays, or have no row in common."""
    differ = f"'{one.path}' and '{other.path}' do not fit one another: "
    if "emulator" in (one.device, other.device) and one.device != other.device:
        raise ResultFileError(f"{differ}one is of the {one.device}, the other of the {other.device}")
    traced = {(key.scene, key.kind): row.traced for key, row in one.rows.items()}
    for key, row in other.rows.items():
        if traced.get((key.scene, key.kind), row.traced) != row.traced:
            raise ResultFileError(f"{differ}{key.kind} of '{key.scene}' are other rays or triangles, by their SHA-256")
    if not one.rows.keys() & other.rows.keys():
        raise ResultFileError(f"{differ}they have no scene, kind of rays and kernel in common")


def comparison(one: ResultFile, other: ResultFile) -> Iterator[str]:
    """Yields in words how much faster the other file is, row by row. Both fit one another, see `check_fit`."""
    for letter, file in (("A", one), ("B", other)):
        yield f"{letter}: {file.path}, {file.device}, {file.machine}"
    common = [key for key in one.rows if key in other.rows]
    head = ("scene", "rays", "kernel", "A", "B", "B / A", "interval", "B is")
    yield "\n" + aligned([head, *([*key, *_cells(one.rows[key], other.rows[key])] for key in common)])
    few = any(0 < len(row.seconds) < LEAST_ROUNDS for file in (one, other) for row in map(file.rows.get, common) if row)
    if few:
        yield f"\nRows of fewer than {LEAST_ROUNDS} rounds have no interval."
    for file, missing in ((one, other), (other, one)):
        alone = [f"{key.kernel} on {key.kind} of {key.scene}" for key in file.rows if key not in missing.rows]
        if alone:
            yield f"\nOnly in {file.path}: {', '.join(alone)}"


def _cells(one: Result, other: Result) -> Sequence[str]:
    """Returns rates in millions of rays per second, their ratio with its interval, and the verdict."""
    rates = [number(row.rate) if row.seconds else STRUCK_OUT for row in (one, other)]
    if not (one.seconds and other.seconds):
        return [*rates, MISSING, MISSING, MISSING]
    found = speed_ratio(other.seconds, one.seconds)
    interval = f"{found.least:.3f}-{found.most:.3f}" if found.is_known else MISSING
    return [*rates, f"{found.ratio:.3f}", interval, found.verdict if found.is_known else MISSING]
