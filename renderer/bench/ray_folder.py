"""Ray sets lie in a folder for any tracer to trace: arrays of NumPy, and a manifest that says what they are.

docs/recorded-rays.md describes the format. Each set has with its rays what the CPU tracer hits with them.
"""

import hashlib
import io
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from renderer.array_archive import DAMAGES, array_in
from renderer.atomic_file import Replace, atomic_file, write_whole
from renderer.bench.ray_file import MOST_SETS, QUERIES
from renderer.bench.ray_recorder import are_valid
from renderer.bench.workload import RaySet
from renderer.errors import UsageError
from renderer.version import SOFTWARE
from scenes.files.marks import is_own, write_array
from tracecore.rays import HIT_FLOATS, MISS, RAY_FLOATS, Floats, Query

FORMAT = "tracecore ray sets 1"

#: The name of the manifest, and its most bytes.
MANIFEST, LARGEST_MANIFEST = "manifest.json", 1 << 24

Entry = dict[str, Any]


class RayFolderError(UsageError):
    """A folder does not hold ray sets as `write_folder` writes them."""


@dataclass(frozen=True, kw_only=True)
class RecordedSet:
    """Holds rays and what they hit.

    rays: a set of them; nothing in it says what is right.
    hits: (n, 4) float32, closest hits, whatever is asked of the rays.
    sha256: of the file of the rays.
    """

    rays: RaySet
    hits: Floats
    sha256: str = ""

    @property
    def judged(self) -> RaySet:
        """Returns the set with the hits that are right for what is asked of its rays."""
        if self.rays.query == Query.CLOSEST:
            return replace(self.rays, right=self.hits)
        right = np.zeros_like(self.hits)
        is_miss = self.hits.view(np.uint32)[:, 3] == MISS
        right[is_miss] = self.hits[is_miss]
        return replace(self.rays, right=right)


@dataclass(frozen=True, kw_only=True)
class RecordedScene:
    """Holds what is kept of a scene.

    triangles: (t, 3, 3) float32, world units.
    origin: how the rays were made, plain values.
    sha256: of the file of the triangles.
    """

    name: str
    triangles: Floats
    origin: dict[str, Any]
    sets: Sequence[RecordedSet]
    sha256: str = ""


def check_new(folder: Path, replaces: Replace) -> None:
    """Raises `UsageError` now if ray sets could not be written to a folder, or if it holds other things."""
    if folder.is_dir():
        manifest = folder / MANIFEST
        if (
            replaces == "any"
            or not any(folder.iterdir())
            or (replaces == "own" and manifest.exists() and is_own(manifest))
        ):
            return
        raise UsageError(f"cannot write to '{folder}': it is not empty; choose another name, or give --force")
    if folder.exists() or not folder.absolute().parent.is_dir():
        raise UsageError(f"cannot make the folder '{folder}': it is a file, or what it is to be in is not there")


def write_scene(folder: Path, name: str, scene: RecordedScene) -> Entry:
    """Writes the arrays of a scene. Returns its entry in the manifest.

    name: of its folder within.
    """
    (folder / name).mkdir(parents=True, exist_ok=True)
    triangles = _written(folder, f"{name}/triangles.npy", scene.triangles)
    sets = [_set_entry(folder, f"{name}/{one.rays.kind}", one) for one in scene.sets]
    return {"scene": scene.name, "origin": scene.origin, "triangles": triangles, "sets": sets}


def write_manifest(folder: Path, scenes: Sequence[Entry]) -> None:
    """Writes the manifest, after all arrays: a folder without one was not finished."""
    text = json.dumps({"format": FORMAT, "software": SOFTWARE, "scenes": scenes}, indent=1)
    write_whole(folder / MANIFEST, (text + "\n").encode())


def _set_entry(folder: Path, stem: str, one: RecordedSet) -> Entry:
    ids = one.hits.view(np.uint32)[:, 3]
    arrays = {"rays": one.rays.rays, "t": one.hits[:, 0], "prim_id": ids, "uv": one.hits[:, 1:3]}
    return {
        "kind": one.rays.kind,
        "view": one.rays.view,
        "query": one.rays.query.name.lower(),
        "count": len(ids),
        "hits": int((ids != MISS).sum()),
        **{key: _written(folder, f"{stem}-{key}.npy", array) for key, array in arrays.items()},
    }


def _written(folder: Path, name: str, array: npt.NDArray[Any]) -> Entry:
    """Writes an array. Returns what the manifest says of it."""
    array = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
    content = io.BytesIO()
    write_array(content, array)
    with atomic_file(folder / name) as file:
        file.write(content.getbuffer())
    digest = hashlib.sha256(content.getbuffer()).hexdigest()
    return {"file": name, "sha256": digest, "shape": list(array.shape), "dtype": array.dtype.str}


class RayFolder:
    """Reads a folder of ray sets: its manifest at once, the arrays when they are asked for.

    Raises `RayFolderError` for what is not as it should be.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        try:
            with (folder / MANIFEST).open("rb") as file:
                manifest = json.loads(file.read(LARGEST_MANIFEST))
            if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
                raise ValueError(f"expected the format '{FORMAT}'")
            self._entries = list(manifest["scenes"])
            sets = [one for entry in self._entries for one in entry["sets"]]
            self.kinds = list(dict.fromkeys(str(one["kind"]) for one in sets))
            if not 1 <= len(sets) <= MOST_SETS:
                raise ValueError(f"expected 1 to {MOST_SETS} sets")
        except OSError as error:
            raise RayFolderError(f"cannot read '{folder / MANIFEST}': {error.strerror or error}") from error
        except DAMAGES as error:
            raise RayFolderError(f"{folder / MANIFEST}: not a manifest of ray sets ({error!s:.200})") from error

    def scenes(self, kinds: Sequence[str]) -> Iterator[RecordedScene]:
        """Yields scene after scene, with the sets of some kinds, after the SHA-256 of each file was compared."""
        for entry in self._entries:
            try:
                scene = self._scene(entry, kinds)
            except OSError as error:
                raise RayFolderError(f"cannot read '{error.filename}': {error.strerror or error}") from error
            except RayFolderError:
                raise
            except DAMAGES as error:
                raise RayFolderError(f"{self._folder}: not readable ray sets ({error!s:.200})") from error
            if scene.sets:
                yield scene

    def _scene(self, entry: Entry, kinds: Sequence[str]) -> RecordedScene:
        triangles = self._array(entry["triangles"], "<f4", (None, 3, 3))
        return RecordedScene(
            name=str(entry["scene"]),
            triangles=triangles,
            origin=dict(entry["origin"]),
            sets=[self._set(one, len(triangles)) for one in entry["sets"] if one["kind"] in kinds],
            sha256=str(entry["triangles"]["sha256"]),
        )

    def _set(self, entry: Entry, triangles: int) -> RecordedSet:
        count = int(entry["count"])
        rays = self._array(entry["rays"], "<f4", (count, RAY_FLOATS))
        hits = np.empty((count, HIT_FLOATS), np.float32)
        hits[:, 0] = self._array(entry["t"], "<f4", (count,))
        hits[:, 1:3] = self._array(entry["uv"], "<f4", (count, 2))
        ids = hits.view(np.uint32)[:, 3] = self._array(entry["prim_id"], "<u4", (count,))
        if count == 0 or not are_valid(rays).all() or not ((ids < triangles) | (ids == MISS)).all():
            raise ValueError(
                f"'{entry['rays']['file']}' has no rays, or some that are not finite, or hits of no triangle"
            )
        kind, view, query = str(entry["kind"]), str(entry["view"]), QUERIES[entry["query"]]
        ray_set = RaySet(kind=kind, view=view, query=query, rays=np.require(rays, np.float32, ["C", "W"]))
        return RecordedSet(rays=ray_set, hits=hits, sha256=str(entry["rays"]["sha256"]))

    def _array(self, entry: Entry, dtype: str, shape: tuple[int | None, ...]) -> npt.NDArray[Any]:
        """Returns an array of a file, None in the shape for any length."""
        name = str(entry["file"])
        path = self._folder / name
        if not path.resolve().is_relative_to(self._folder.resolve()):
            raise ValueError(f"'{name}' is not in the folder")
        content = path.read_bytes()
        if hashlib.sha256(content).hexdigest() != entry["sha256"]:
            raise RayFolderError(f"{path}: its SHA-256 is not that of the manifest; write the ray sets anew")
        array = array_in(io.BytesIO(content), len(content), name, np.dtype(dtype))
        if len(array.shape) != len(shape) or any(b not in (None, a) for a, b in zip(array.shape, shape, strict=True)):
            raise ValueError(f"'{name}' has shape {array.shape}, not {shape}")
        return array
