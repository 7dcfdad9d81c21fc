"""This module writes a scene as a scene file, with its meshes and textures beside it.

What is read again has the same triangles at every time, bit by bit.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, TypeGuard

import numpy as np

from scenes.document import BentMesh, Document, EnvironmentSource, Grouped, LightSource, Scene
from scenes.export.keyed import with_keys
from scenes.files.marks import WRITTEN_BY, write_array, write_arrays
from scenes.files.written_file import WriteError
from scenes.keys.place import BARE_KEY
from scenes.model import PICTURES, Material, Texture, own_files
from scenes.motion.tracks import Track
from scenes.motion.transforms import Transform
from scenes.pictures.texture_file import texture_image, write_picture
from scenes.toml_scene.exact_mesh import Arrays, write_meshes
from scenes.toml_scene.keys import EXACT, KEY_OF_FIELD, LINEAR, PICTURE_KEYS
from scenes.toml_scene.tracks import is_long, rows_of_track, written_keys

#: What the names of files beside the scene end in: of all meshes, of tracks with many keys, of the environment's image.
MESHES, TRACKS, ENVIRONMENT = f"meshes{EXACT}", f"tracks{EXACT}", "environment.npy"


def write_toml(scene: Scene, path: Path, _time: float) -> tuple[str, ...]:
    """Writes the file and those beside it; returns what is lost of meshes that bend, and else nothing."""
    keyed, losses = with_keys(scene.document)
    write(replace(scene, document=keyed), path)
    return losses


def write(scene: Scene, path: Path) -> None:
    """Writes a scene: the file, its meshes as STEM-meshes.npz, long tracks as STEM-tracks.npz, its textures as
    STEM-N.png, copies of files that its materials name as STEM-material-N, and the image of its environment as
    STEM-environment.npy beside it.

    Raises WriteError where that cannot be done.
    """
    document = scene.document
    meshes = {id(part.shape): part.shape for part in document.parts if not isinstance(part.shape, BentMesh)}
    lines = TomlLines(document, path)
    try:
        for name, texture in zip(texture_files(document, path), document.textures, strict=True):
            write_picture(path.with_name(name), texture_image(texture), "PNG")
        for source, name in copied_files(document, path).items():
            path.with_name(name).write_bytes(Path(source).read_bytes())
        write_meshes(beside(path, MESHES), list(meshes.values()))
        if long := lines.long_tracks:
            with beside(path, TRACKS).open("wb") as arrays:
                write_arrays(arrays, long)
        if has_image(document.environment):
            with beside(path, ENVIRONMENT).open("w+b") as file:  # not past Python, which knows what fails
                write_array(file, document.environment.radiance)
        with path.open("w", encoding="utf-8", newline="\n") as text:
            text.writelines(f"{line}\n" for line in lines.all(scene.name))
    except OSError as error:
        raise WriteError(path, error) from error


def beside(path: Path, end: str) -> Path:
    """Returns the path of a file beside that of a scene. end: of its name."""
    return path.with_name(f"{path.stem}-{end}")


def texture_files(document: Document, path: Path) -> list[str]:
    """Returns the names of the files of a document's textures."""
    return [f"{path.stem}-{index}.png" for index in range(len(document.textures))]


def copied_files(document: Document, path: Path) -> dict[str, str]:
    """Returns the names of the copies of files that materials name, by the paths of these."""
    named = enumerate(own_files(document.materials))
    return {file: f"{path.stem}-material-{index}{Path(file).suffix}" for index, file in named}


def picture(file: str, texture: Texture, is_linear: bool) -> str | dict[str, Any]:
    """Returns the value of a key for a picture: the name of its file where that is enough.

    is_linear: whether it is unless that is said.
    """
    if (texture.wrap, texture.filter, texture.is_linear) == ("repeat", "bilinear", is_linear):
        return file
    return {"file": file, "wrap": texture.wrap, "filter": texture.filter, "linear": texture.is_linear}


def has_image(environment: EnvironmentSource | None) -> TypeGuard[EnvironmentSource]:
    """Returns whether there is an environment that is more than a colour."""
    return environment is not None and environment.radiance.shape[:2] != (1, 1)


def toml(value: Any) -> str:
    """Writes a value as TOML; numbers are written so that the same ones are read."""
    match value:
        case bool():
            return str(value).lower()
        case str():
            return quoted(value)
        case int() | np.integer():
            return str(int(value))
        case float() | np.floating():
            return repr(float(value))
        case Mapping():
            return "{ " + ", ".join(f"{key_text(key)} = {toml(item)}" for key, item in value.items()) + " }"
    return "[" + ", ".join(toml(item) for item in value) + "]"


def quoted(text: str) -> str:
    """Writes a text as TOML does."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def clean(text: str) -> str:
    """Returns a text without what is no character, since names of files may be any bytes."""
    return text.encode("utf-8", "replace").decode("utf-8")


def group_of(emitter: Material | Grouped) -> str | None:
    """Returns the name of a light group, or None where nobody has named one."""
    return clean(emitter.group) or None


def key_text(name: str) -> str:
    """Writes a name as a key."""
    return name if BARE_KEY.fullmatch(name) else quoted(name)


def distinct(names: Iterable[str]) -> list[str]:
    """Returns names that can be written, no two alike, for any names."""
    found: dict[str, None] = {}
    for name in names:
        stem = clean(name) or "unnamed"
        own, count = stem, 1
        while own in found:
            count += 1
            own = f"{stem} {count}"
        found[own] = None
    return list(found)


def table(header: str, values: Mapping[str, Any]) -> Iterator[str]:
    """Yields the lines of a table; keys whose value is None are left out."""
    yield ""
    yield header
    for name, value in values.items():
        if value is not None:
            yield f"{key_text(name)} = {toml(value)}"


class TomlLines:
    """Makes the lines of a scene file."""

    def __init__(self, document: Document, path: Path) -> None:
        self.document, self.path = document, path
        self.materials = distinct(material.name for material in document.materials)
        self.copied_files = copied_files(document, path)
        # A track moves the camera of its name, so that both must stay alike.
        moved = dict.fromkeys([*document.cameras, *document.tracks])
        self.names = dict(zip(moved, distinct(moved), strict=True))
        self._groups: dict[int, str] = {}
        self._group_rows: list[dict[str, Any]] = []

    @property
    def long_tracks(self) -> Arrays:
        """Returns the rows of tracks with many keys, as NAME.PART."""
        tracks = {self.names[own]: track for own, track in self.document.tracks.items() if is_long(track)}
        return {f"{name}.{part}": rows for name, track in tracks.items() for part, rows in rows_of_track(track).items()}

    def all(self, name: str) -> Iterator[str]:
        """Yields the lines of the whole file. name: of the scene."""
        document = self.document
        yield f"# {clean(name)!a}, {WRITTEN_BY}"
        scene = {"name": clean(name) or None, "background": document.background, "ambient": document.ambient}
        yield from table("[scene]", scene)
        yield from table("[animation]", asdict(document.animation))
        if document.settings:
            yield from table("[render]", document.settings)
        for own, camera in document.cameras.items():
            yield from table(f"[cameras.{key_text(self.names[own])}]", asdict(camera))
        for own, track in document.tracks.items():
            yield from self.track_lines(self.names[own], track)
        yield from self.material_lines()
        objects = self.object_rows()
        lights = [self.light_row(light) for light in document.lights]
        environment = [] if document.environment is None else [self.environment_row(document.environment)]
        tables = {
            "[[group]]": self._group_rows,
            "[[light]]": lights,
            "[environment]": environment,
            "[[object]]": objects,
        }
        for header, rows in tables.items():
            for row in rows:
                yield from table(header, row)

    def track_lines(self, name: str, track: Track) -> Iterator[str]:
        """Yields the lines of a track, whose first and last keys shape its ends alone."""
        file = beside(self.path, TRACKS).name if is_long(track) else None
        yield from table(f"[tracks.{key_text(name)}]", {"interpolation": "inner-spline", "file": file})
        parts = {} if file else {part: list(written_keys(rows)) for part, rows in rows_of_track(track).items()}
        if track.visibility is not None:
            steps = zip(track.visibility.times, track.visibility.shown.tolist(), strict=True)
            parts["visible"] = [{"time": time, "value": shown} for time, shown in steps]
        for part, keys in parts.items():
            yield f"{part} = ["
            yield from (f"  {toml(key)}," for key in keys)
            yield "]"

    def material_lines(self) -> Iterator[str]:
        """Yields the lines of the materials."""
        files = texture_files(self.document, self.path)
        for name, material in zip(self.materials, self.document.materials, strict=True):
            values = {
                KEY_OF_FIELD.get(field, field): value
                for field, value in asdict(material).items()
                if field not in (*PICTURES, "own")
            }
            values |= {
                key: self.copied_files[value] if isinstance(value, str) else value
                for key, value in material.own.items()
            }
            for field, index in material.pictures.items():
                values[PICTURE_KEYS[field]] = picture(files[index], self.document.textures[index], field in LINEAR)
            yield from table(f"[materials.{key_text(name)}]", values | {"name": None, "group": group_of(material)})

    def object_rows(self) -> list[dict[str, Any]]:
        """Returns the tables of the parts."""
        meshes = {
            key: str(index) for index, key in enumerate(dict.fromkeys(id(part.shape) for part in self.document.parts))
        }
        rows = []
        for part in self.document.parts:
            material = part.own_material
            row = {
                "file": beside(self.path, MESHES).name,
                "mesh": meshes[id(part.shape)],
                "material": self.materials[material],
            }
            rows.append(row | self.place_row(part.transform))
        return rows

    def place_row(self, transform: Transform) -> dict[str, Any]:
        """Returns the keys that place an object: its own matrix in a group, or a group."""
        if transform.matrix is None or self.is_moved(transform):
            return {"parent": self.group(transform)}
        return {"parent": self.group(transform.parent), "matrix": transform.matrix}

    def light_row(self, light: LightSource) -> dict[str, Any]:
        """Returns the table of a light."""
        parent = self.group(light.transform)
        track = self.names.get(light.track) if light.track in self.document.tracks else None
        return {"kind": light.kind} | light.written() | {"parent": parent, "track": track, "group": group_of(light)}

    def environment_row(self, environment: EnvironmentSource) -> dict[str, Any]:
        """Returns the table of the environment."""
        own = (
            {"image": beside(self.path, ENVIRONMENT).name}
            if has_image(environment)
            else {"color": environment.radiance[0, 0]}
        )
        return own | {"parent": self.group(environment.transform), "group": group_of(environment)}

    def is_moved(self, transform: Transform) -> bool:
        """Returns whether a track moves a transform, instead of its matrix."""
        return transform.track in self.document.tracks

    def group(self, transform: Transform | None) -> str | None:
        """Returns the name of the group of a transform, made with those around it if it is new; None for the world."""
        if transform is None:
            return None
        if id(transform) not in self._groups:
            moved = self.is_moved(transform)
            if transform.parent is None and transform.matrix is None and not moved:
                return None
            parent = self.group(transform.parent)
            name = str(len(self._group_rows))
            place = {"track": self.names[transform.track]} if moved else {"matrix": transform.matrix}
            self._group_rows.append({"name": name, "parent": parent, **place})
            self._groups[id(transform)] = name
        return self._groups[id(transform)]
