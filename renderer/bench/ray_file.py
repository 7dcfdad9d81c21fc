"""Rays are kept on disk as a NumPy archive with an array for each set, `VIEW/KIND`, and a `header` that says what they
are.

The header is JSON as (n,) uint8: `format`; `scene`, its name; `triangles`, the SHA-256 of their corners; `origin`, how
the rays were made; and for each of `sets` its `kind`, `view`, `query` (closest or any) and number of `rays`. Nothing in
the archive is compressed, so that to read it takes memory in proportion to its bytes.
"""

import hashlib
import json
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from renderer.array_archive import DAMAGES, read_array
from renderer.atomic_file import Replace, atomic_file
from renderer.bench.ray_recorder import are_valid
from renderer.bench.workload import RaySet
from renderer.errors import UsageError, WrongPictureError
from renderer.film.image_file import check_folder
from scenes.files.marks import write_arrays
from tracecore.rays import RAY_FLOATS, Floats, Query

FORMAT = "tracecore rays 1"

#: A file may have so many sets, with names so long, and a header so large.
MOST_SETS, LONGEST_NAME, LARGEST_HEADER = 1024, 64, 1 << 20

#: Kinds of rays that a kernel has traced wrongly: the first one, and its batch.
WRONG_RAY, WRONG_BATCH = "wrong", "wrong-batch"

QUERIES = {query.name.lower(): query for query in Query}


class RayFileError(UsageError):
    """A file does not hold rays that this program recorded."""


@dataclass(frozen=True, kw_only=True)
class RayFile:
    """Holds rays, and where they come from.

    scene: its name.
    triangles: the `digest` of its triangles.
    origin: how the rays were made.
    sets: the rays.
    """

    scene: str
    triangles: str
    origin: dict[str, Any]
    sets: Sequence[RaySet]


def digest(positions: Floats) -> str:
    """Returns the SHA-256 of (t, 3, 3) float32 corners, in hexadecimal digits."""
    return hashlib.sha256(np.ascontiguousarray(positions, "<f4").data).hexdigest()


def check_ray_path(path: Path, replace: Replace) -> None:
    """Raises `UsageError` now if rays could not be kept at `path` later. The suffix keeps them off other files."""
    if path.suffix.lower() != ".npz":
        raise UsageError(f"cannot keep rays in '{path}': the name must end in .npz")
    check_folder(path, replace)


def write_rays(path: Path, file: RayFile) -> None:
    """Writes all sets, or nothing."""
    rows = [{"kind": s.kind, "view": s.view, "query": s.query.name.lower(), "rays": len(s.rays)} for s in file.sets]
    header = {"format": FORMAT, "scene": file.scene, "triangles": file.triangles, "origin": file.origin, "sets": rows}
    arrays = {_name(one.kind, one.view): np.ascontiguousarray(one.rays, "<f4") for one in file.sets}
    with atomic_file(path) as opened:
        write_arrays(opened, {"header": np.frombuffer(json.dumps(header).encode(), np.uint8), **arrays})


def write_wrong_ray(path: Path, error: WrongPictureError) -> None:
    """Writes the first ray that a kernel traced wrongly, and all of its batch, as two sets of rays."""
    wrong, snapshot = error.wrong, error.snapshot
    first, whole = wrong.rays[wrong.index : wrong.index + 1], wrong.rays
    named = {kind: rays[are_valid(rays)] for kind, rays in ((WRONG_RAY, first), (WRONG_BATCH, whole))}
    sets = [RaySet(kind=kind, query=Query(wrong.query), rays=rays) for kind, rays in named.items() if len(rays)]
    origin = {"made by": f"--verify, kernel {wrong.kernel}"}
    file = RayFile(scene=snapshot.name, triangles=digest(snapshot.positions), origin=origin, sets=sets)
    write_rays(path, file)


def read_rays(path: Path) -> RayFile:
    """Returns what `write_rays` wrote. Raises `RayFileError` for anything else."""
    try:
        with zipfile.ZipFile(path) as archive:
            header = json.loads(read_array(archive, "header", np.dtype(np.uint8), LARGEST_HEADER).tobytes())
            if not isinstance(header, dict) or header.get("format") != FORMAT:
                raise RayFileError(f"{path}: not a file of rays of this version; record it anew with --record")
            return RayFile(
                scene=str(header["scene"]),
                triangles=str(header["triangles"]),
                origin=dict(header["origin"]),
                sets=tuple(_sets(archive, header["sets"])),
            )
    except RayFileError:
        raise
    except OSError as error:
        raise RayFileError(f"cannot read '{path}': {error.strerror or error}") from error
    except DAMAGES as error:
        raise RayFileError(f"{path}: not a readable file of rays ({error!s:.200})") from error


def _name(kind: str, view: str) -> str:
    return f"{view}/{kind}"


def _sets(archive: zipfile.ZipFile, rows: Any) -> Iterator[RaySet]:
    if not isinstance(rows, list) or not 1 <= len(rows) <= MOST_SETS:
        raise ValueError(f"expected 1 to {MOST_SETS} sets")
    names = set()
    for row in rows:
        kind, view = row["kind"], row["view"]
        for word in (kind, view):
            if not (isinstance(word, str) and word.isprintable() and 0 < len(word) <= LONGEST_NAME):
                raise ValueError(f"a set should have names of 1 to {LONGEST_NAME} letters, has {word!r:.80}")
        name = _name(kind, view)
        if name in names:
            raise ValueError(f"two sets are named '{name}'")
        names.add(name)
        yield RaySet(kind=kind, view=view, query=QUERIES[row["query"]], rays=_rays(archive, name, row["rays"]))


def _rays(archive: zipfile.ZipFile, name: str, count: int) -> Floats:
    rays = read_array(archive, name, np.dtype("<f4"), archive.start_dir)
    if rays.ndim != 2 or rays.shape != (count, RAY_FLOATS) or count == 0:
        raise ValueError(f"'{name}' should have {count} rays of {RAY_FLOATS} numbers, has shape {rays.shape}")
    wrong = np.flatnonzero(~are_valid(rays))
    if len(wrong):
        raise ValueError(f"ray {wrong[0]} of '{name}' is not finite or has no direction")
    return np.require(rays, np.float32, ["C", "W"])
