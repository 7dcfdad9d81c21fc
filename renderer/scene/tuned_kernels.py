"""This module keeps the rates of kernels that `tracecore tune` measured, a set for each GPU by its name and
architecture, in one file of the cache folder.

Rates of another version of the program, whose kernels may be others, are not used. A file that cannot be read is worth
a note: kernels are then chosen by what the program knows by itself.
"""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from renderer.version import __version__
from scenes.files.written_file import WriteError
from tracecore.compilation.private_folder import PrivateFolder, cache_root
from tracecore.kernels.choice import RateFacts, RayClass, RayWay
from tracecore.kernels.strategies import strategy_names

log = logging.getLogger(__name__)

FILE_NAME = "tuned-kernels.json"

#: A larger file is none of ours.
MOST_BYTES = 1 << 20


@dataclass(frozen=True)
class TunedGpu:
    """Names a GPU: by the driver's name of it, and the architecture, such as "sm_90"."""

    name: str
    architecture: str

    @property
    def key(self) -> str:
        """Returns its key in the file."""
        return f"{self.name} ({self.architecture})"


def tuned_path() -> Path:
    """Returns the path of the file."""
    return cache_root() / FILE_NAME


def tuned_for(gpu: TunedGpu) -> tuple[RateFacts, ...]:
    """Returns what was measured on such a GPU by this version of the program; nothing where it was not tuned.

    The file is read once in a process, which so has the same kernel from beginning to end.
    """
    entry = _read(tuned_path()).get(gpu.key)
    if entry is None or entry.get("version") != __version__:
        return ()
    rows = [_facts_of(row, gpu.architecture) for row in entry["facts"]]
    return tuple(row for row in rows if row.rates)


def remember(gpu: TunedGpu, facts: Sequence[RateFacts]) -> Path:
    """Keeps rates in place of those that were kept for such a GPU. Returns the path of the file.

    Raises `WriteError` where it cannot be written.
    """
    path = tuned_path()
    rows = [
        {"way": one.way.value, "rays": one.rays.value, "rates": dict(one.rates), "source": one.source} for one in facts
    ]
    kept = {**_read(path), gpu.key: {"version": __version__, "facts": rows}}
    try:
        with PrivateFolder(path.parent) as folder:
            folder.write(path.name, [(json.dumps({"gpus": kept}, indent=2) + "\n").encode()])
    except OSError as error:
        raise WriteError(path, error) from error
    _read.cache_clear()
    return path


def forget() -> bool:
    """Removes what was kept of all GPUs. Returns whether there was anything."""
    _read.cache_clear()
    try:
        tuned_path().unlink()
    except FileNotFoundError:
        return False
    return True


@cache
def _read(path: Path) -> Mapping[str, Any]:
    """Returns the entries of the file by the keys of GPUs: none without a file, and with a note, of a damaged one."""
    try:
        with path.open("rb") as file:
            content = file.read(MOST_BYTES + 1)
        if len(content) > MOST_BYTES:
            raise ValueError(f"more than {MOST_BYTES} bytes")
        entries: Mapping[str, Any] = json.loads(content)["gpus"]
        for entry in entries.values():
            for row in entry["facts"] if entry["version"] == __version__ else ():
                _facts_of(row, "")
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        why = " ".join(f"{type(error).__name__}: {error}".split())
        log.warning(
            "note: %s cannot be read (%s): kernels are chosen as if nothing was tuned; tracecore tune writes it anew, "
            "tracecore tune --forget removes it",
            path,
            why,
        )
        return {}
    return entries


def _facts_of(row: Mapping[str, Any], architecture: str) -> RateFacts:
    """Returns a row of the file, with those of its kernels that there are. Raises `ValueError`, `KeyError`, `TypeError`
    or `AttributeError` where it is no such row.
    """
    rates = {str(name): float(rate) for name, rate in row["rates"].items()}
    if not all(0.0 < rate < math.inf for rate in rates.values()):
        raise ValueError("a rate is not a positive number")
    return RateFacts(
        architecture=architecture,
        way=RayWay(row["way"]),
        rays=RayClass(row["rays"]),
        rates={name: rate for name, rate in rates.items() if name in strategy_names()},
        source=str(row["source"]),
    )
