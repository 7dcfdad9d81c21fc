"""This package holds the model that the renderer sees, the readers of scene files, and the scenes that come with the
program."""

import re
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from pathlib import Path

from scenes.errors import SceneError, SceneFileError, UnknownSceneError
from scenes.facts import SceneFacts, describe
from scenes.lights import DistantLight, PointLight, SpotLight
from scenes.model import AnimationRange, Camera, Environment, Material, Mesh, Snapshot, Texture
from scenes.scene import Scene
from scenes.shipped import SHIPPED, ShippedScene
from scenes.source_file import files_noted

__all__ = [
    "AnimationRange",
    "Camera",
    "DistantLight",
    "Environment",
    "Material",
    "Mesh",
    "PointLight",
    "Scene",
    "SceneError",
    "SceneFacts",
    "SceneFileError",
    "ShippedScene",
    "Snapshot",
    "SpotLight",
    "Texture",
    "UnknownSceneError",
    "describe",
    "load",
    "register_reader",
    "shipped_scenes",
]


def reader_in(module: str, name: str = "read") -> Callable[[Path], Scene]:
    """Returns a reader that imports its module when there is something to be read."""

    def read(path: Path) -> Scene:
        scene: Scene = getattr(import_module(module), name)(path)
        return scene

    return read


#: Readers of files, by suffix.
READERS: dict[str, Callable[[Path], Scene]] = {
    ".aff": reader_in("scenes.aff"),
    ".nff": reader_in("scenes.aff"),
    ".toml": reader_in("scenes.toml_scene"),
    ".xml": reader_in("scenes.mitsuba"),
    ".obj": reader_in("scenes.mesh_file", "read_mesh_file"),
    ".ply": reader_in("scenes.mesh_file", "read_mesh_file"),
    ".stl": reader_in("scenes.mesh_file", "read_mesh_file"),
    ".glb": reader_in("scenes.mesh_file", "read_mesh_file"),
    ".gltf": reader_in("scenes.mesh_file", "read_mesh_file"),
}


def register_reader(suffix: str, reader: Callable[[Path], Scene]) -> None:
    """Makes files of a format readable.

    suffix: what their names end in, in small letters, such as `.ply`.
    reader: from a path to a scene; what it finds wrong with a file it raises as `SceneFileError`.

    Raises `SceneError` where the suffix is none, or is taken.
    """
    if not re.fullmatch(r"\.[a-z0-9_]+", suffix):
        raise SceneError(f"expected a suffix such as '.ply', a dot and small letters or digits, got {suffix!r}")
    if suffix in READERS:
        raise SceneError(f"files that end in {suffix} have a reader already")
    READERS[suffix] = reader


def shipped_scenes() -> tuple[ShippedScene, ...]:
    """Returns the scenes that come with the program, each with its name and a line that describes it."""
    return SHIPPED


def load(name_or_path: str | Path) -> Scene:
    """Returns the scene of a shipped name, or of a file.

    name_or_path: NAME or NAME:SIZE of a shipped scene, or a path whose suffix says the file's format.

    Raises UnknownSceneError for what is neither, SceneFileError for a file that cannot be read.
    """
    name, _, size = str(name_or_path).partition(":")
    for row in SHIPPED:
        if row.name == name:
            return row.built(size)
    path = Path(name_or_path)
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        names = ", ".join(row.name for row in SHIPPED)
        message = f"unknown scene {str(name_or_path)!r}; shipped: {names}; files end in {' '.join(READERS)}"
        raise UnknownSceneError(message)
    with files_noted() as files:
        scene = reader(path)
    return replace(scene, files=tuple(dict.fromkeys((path, *files))))
