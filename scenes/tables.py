"""Makes a scene of dictionaries, lists and arrays, with the tables and keys of a scene file, or of Mitsuba's."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from scenes.document import Scene
from scenes.files.source_file import scene_opened
from scenes.keys.place import Place
from scenes.keys.tables import Points
from scenes.loading import told
from scenes.toml_scene.keys import TABLES
from scenes.toml_scene.reader import scene_of_tables

#: Keys that take arrays.
POINTS = frozenset(key.name for table in TABLES.values() for key in table.keys if isinstance(key.kind, Points))

#: What a file would be called that had the tables, in messages.
NAME = "tables"


def from_tables(
    tables: Mapping[str, Any], folder: str | Path = ".", *, allow_outside: bool = False, strict: bool = False
) -> Scene:
    """Returns the scene that tables say, such as those of a .toml file.

    tables: by their names, as in a scene file: "materials" and "cameras" are dictionaries by name, "object" and "light"
        lists. Tuples and arrays may stand for lists. An object may have "mesh" in place of "shape" or "file": what has
        vertices (n, 3) and faces (m, 3), such as a `trimesh.Trimesh`; its texture coordinates are taken too. Or a
        dictionary of Mitsuba's, with "type": "scene" (`scenes.mitsuba.of_dictionary`).
    folder: where files are that the tables name.
    allow_outside, strict: as `scenes.load` takes them.

    Raises `SceneFileError` with the key of what is wrong.
    """
    path = Path(folder, NAME)
    with scene_opened(path, allow_outside=allow_outside) as files:
        scene = told(_scene(tables, path), strict=strict)
    return replace(scene, files=tuple(dict.fromkeys(files)))


def _scene(tables: Mapping[str, Any], path: Path) -> Scene:
    if tables.get("type") == "scene":
        from scenes.mitsuba import of_dictionary

        return of_dictionary(tables, path.parent)
    return scene_of_tables(as_in_a_file(tables), Place(path))


def as_in_a_file(value: Any) -> Any:
    """Returns values as a file has them, but for arrays that are many points, which stay arrays."""
    if isinstance(value, Mapping):
        values = with_triangles(value).items()
        return {name: one if is_points(name, one) else as_in_a_file(one) for name, one in values}
    if isinstance(value, list | tuple):
        return [as_in_a_file(one) for one in value]
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


def is_points(name: str, value: Any) -> bool:
    """Returns whether a value is an array that a key of this name takes."""
    return isinstance(value, np.ndarray) and name in POINTS


def with_triangles(table: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a table with the vertices and triangles of the mesh that it has, if it has one."""
    mesh: Any = table.get("mesh")
    if not hasattr(mesh, "vertices") or not hasattr(mesh, "faces"):
        return dict(table)
    uvs = getattr(getattr(mesh, "visual", None), "uv", None)
    own = {"shape": "triangles", "vertices": np.asarray(mesh.vertices), "triangles": np.asarray(mesh.faces)}
    others = {name: one for name, one in table.items() if name != "mesh"}
    return own | ({} if uvs is None else {"uvs": np.asarray(uvs)}) | others
