"""This module finds the reader of a scene file, and loads scenes by names and paths."""

import logging
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from scenes.document import Document, Scene
from scenes.errors import SceneError, SceneFileError, SceneProblemsError, UnknownSceneError
from scenes.files.source_file import scene_opened, suffix_of
from scenes.meshes.geometry import has_area
from scenes.model import Mesh
from scenes.playing.evaluator import viewed
from scenes.shipped import SHIPPED, ShippedScene
from scenes.views.viewing import AS_THE_FILE_SAYS, Viewing
from tracecore.on_demand import OnDemand

log = logging.getLogger("scenes")


#: Readers of files, by suffix.
READERS: OnDemand[Callable[..., Scene]] = OnDemand(
    {
        ".aff": "scenes.aff:read",
        ".nff": "scenes.aff:read",
        ".toml": "scenes.toml_scene:read",
        ".xml": "scenes.mitsuba:read",
        ".pbrt": "scenes.pbrt:read",
        ".pbrt.gz": "scenes.pbrt:read",
        ".obj": "scenes.mesh_file:read_mesh_file",
        ".ply": "scenes.mesh_file:read_mesh_file",
        ".obj.gz": "scenes.mesh_file:read_mesh_file",
        ".ply.gz": "scenes.mesh_file:read_mesh_file",
        ".stl": "scenes.mesh_file:read_mesh_file",
        ".off": "scenes.mesh_file:read_mesh_file",
        ".3mf": "scenes.mesh_file:read_mesh_file",
        ".glb": "scenes.mesh_file:read_mesh_file",
        ".gltf": "scenes.mesh_file:read_mesh_file",
        ".usd": "scenes.usd:read",
        ".usda": "scenes.usd:read",
        ".usdc": "scenes.usd:read",
        ".usdz": "scenes.usd:read",
    }
)

#: What is said of a file that could not be used, where that is an error.
AS_STRICT = "(an error by --strict)"

#: Formats that have parameters, whose readers take values of them by name.
PARAMETRISED = (".xml",)


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


def note_unseen(document: Document) -> None:
    """Notes that no mesh of a document has a triangle with an area."""
    shapes = [part.shape for part in document.parts]
    if shapes and not any(not isinstance(shape, Mesh) or has_area(shape) for shape in shapes):
        message = "there is nothing to be seen: no triangle has an area"
        document.notes.add(message, document.parts[0].origin.path)


def _reader_of(path: Path, name: str) -> Callable[..., Scene]:
    """Returns the reader of a file. Raises UnknownSceneError, about a name, where there is none."""
    reader = READERS.get(suffix_of(path))
    if reader is None:
        from scenes.advice import unknown_scene

        raise UnknownSceneError(unknown_scene(name, [row.name for row in SHIPPED], READERS))
    return reader


def load(
    name_or_path: str | Path,
    viewing: Viewing = AS_THE_FILE_SAYS,
    parameters: Mapping[str, str] | None = None,
    *,
    allow_outside: bool = False,
    strict: bool = False,
) -> Scene:
    """Returns the scene of a shipped name, or of a file.

    name_or_path: NAME or NAME:SIZE of a shipped scene, or a path whose suffix says the file's format.
    viewing: how it will be looked at, on which it depends what is up in files that do not say it, and how fine round
        shapes are.
    parameters: values of the parameters, `$name`, of a file of Mitsuba, instead of its own.
    allow_outside: files that the scene names may be anywhere; else they are in its folder, or below it.
    strict: what a picture lacks, such as files that are not there or cannot be read, is an error, and not noted.

    What a reader notes of a file, things that are left out or approximated, goes to the log `scenes`, a line each.

    Raises UnknownSceneError for what is neither, SceneFileError for a file that cannot be read.
    """
    name, colon, size = str(name_or_path).partition(":")
    path = Path(name_or_path)
    if parameters and path.suffix.lower() not in PARAMETRISED:
        raise SceneError(f"{name_or_path} has no parameters; files have some that end in {' '.join(PARAMETRISED)}")
    for row in SHIPPED:
        if row.name == name:
            return viewed(row.built(size if colon else None), viewing)
    reader = _reader_of(path, str(name_or_path))
    try:
        with scene_opened(path, allow_outside=allow_outside) as files:
            scene = reader(path, parameters) if parameters else reader(path)
    except SceneFileError as error:
        if os.path.lexists(path):
            raise
        from scenes.advice import missing_file

        raise SceneFileError(path, None, missing_file(path, READERS)) from error
    except SceneError as error:
        raise SceneFileError(path, None, str(error)) from error
    return replace(told(scene, viewing, strict=strict), files=tuple(dict.fromkeys((path, *files))))


def told(scene: Scene, viewing: Viewing = AS_THE_FILE_SAYS, *, strict: bool = False) -> Scene:
    """Returns a scene that was read, for a way of looking at it, and logs what its reader notes. Raises as `load`."""
    if strict and (losses := scene.document.notes.losses):
        raise SceneProblemsError(
            [SceneFileError(file, line, f"{message} {AS_STRICT}") for file, line, message in losses]
        )
    note_unseen(scene.document)
    scene = viewed(scene, viewing)
    for line in scene.document.notes.lines:
        log.warning("note: %s", line)
    return scene
