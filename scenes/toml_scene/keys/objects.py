"""This module lists the keys of objects and groups in a scene file, and those of their places."""

from dataclasses import dataclass
from typing import Any

from scenes.keys.place import KindError
from scenes.keys.tables import ListOf, Table, Units, point, read_key
from scenes.keys.values import Choice, Key, Kind, Text, Whole
from scenes.toml_scene.keys.placing import TRANSFORM_KEYS
from scenes.toml_scene.keys.shapes import SHAPES

MAX_PLACES = 1_000_000
UP = ("y", "z")

GRID = Table(
    "object.grid",
    "Places in rows, as an inline table: `grid = { counts = [4, 1, 3], steps = [0.5, 0, 0.8] }`.",
    (
        Key(
            "counts",
            ListOf(Whole(1, MAX_PLACES), 3, 3),
            "How many places there are along x, y and z.",
            "[4, 1, 3]",
            required=True,
        ),
        Key(
            "steps",
            point,
            "Distances of places along x, y and z; the first is at the origin.",
            "[0.5, 0, 0.8]",
            required=True,
        ),
    ),
)

OBJECT = Table(
    "object",
    "Triangles in their place. What they are is said by `shape`, `file` or `instance_of`, one of which is needed.",
    (
        Key("name", Text(), "Name by which `instance_of` refers to it.", '"chair"'),
        *TRANSFORM_KEYS,
        Key(
            "at",
            ListOf(point, most=MAX_PLACES),
            "Many places: each shifts the object once more, after all of its own. The triangles are kept once.",
            "[[0, 0, 0], [1.5, 0, 0]]",
            fallback="one place",
        ),
        Key(
            "grid",
            GRID,
            "Many places in rows, instead of `at`.",
            "{ counts = [4, 1, 3], steps = [0.5, 0, 0.8] }",
            fallback="one place",
        ),
    ),
)

FILE = Table(
    "object with file",
    "A mesh from a file. In .npz files are the arrays of one mesh; see below.",
    (
        Key(
            "file",
            Text(),
            "A file that ends in .obj, .ply, .stl, .off, .3mf, .glb, .gltf, .obj.gz, .ply.gz or .npz; its path, from "
            "the folder of the scene file.",
            '"chair.obj"',
            required=True,
        ),
        Key(
            "mesh", Text(), "Name of the mesh, in a .npz file of several.", '"12"', fallback="the one of a file of one"
        ),
        Key(
            "material",
            Text(),
            "Name of the material that replaces those of the file.",
            '"red"',
            fallback="those of the file; needed for .npz",
        ),
        Key("units", Units(), "The unit of this file.", '"mm"', fallback='that of the scene; "m" of .glb and .gltf'),
        Key(
            "up",
            Choice(UP),
            "The axis that points up in this file.",
            '"z"',
            fallback='that of the scene; "y" of .glb and .gltf',
        ),
    ),
)

INSTANCE = Table(
    "object with instance_of",
    "The same triangles once more, in a place of their own.",
    (
        Key(
            "instance_of",
            Text(),
            "Name of another object, with `shape` or `file`, whose triangles this shares. Its place is not taken over.",
            '"chair"',
            required=True,
        ),
        Key("material", Text(), "Name of a material of its own.", '"red"', fallback="as the other object has it"),
    ),
)
SHAPE = Table(
    "object with shape",
    "A shape, with the keys of that shape.",
    (
        Key("shape", Choice(tuple(SHAPES)), f"What it is: {', '.join(SHAPES)}.", '"sphere"', required=True),
        Key("material", Text(), "Name of its material.", '"red"', required=True),
    ),
)


@dataclass(frozen=True)
class ObjectTable(Kind):
    """Describes the table of an object: it has the keys of all objects, and those of what it is."""

    expected: str = "a table with one of shape, file and instance_of"

    def read(self, value: Any) -> dict[str, Any]:
        """Returns the values of all keys that such an object has."""
        if not isinstance(value, dict):
            raise self.wrong(value)
        sources = [name for name in ("shape", "file", "instance_of") if name in value]
        if len(sources) != 1:
            raise KindError(f"expected one of shape, file and instance_of, got {' and '.join(sources) or 'none'}")
        return Table("object", "", (*OBJECT.keys, *self.own_keys(sources[0], value))).read(value)

    def own_keys(self, source: str, value: dict[str, Any]) -> tuple[Key, ...]:
        """Returns the keys that not all objects have."""
        if source == "shape":
            return (*SHAPE.keys, *SHAPES[read_key(SHAPE.keys[0], value)].keys)
        return tuple(FILE.keys if source == "file" else INSTANCE.keys)
