"""This module lists the keys of objects and groups in a scene file, of their shapes, and of their places."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from scenes.keys.place import KindError
from scenes.keys.tables import (
    IN_FILE,
    ListOf,
    Points,
    Table,
    Triple,
    Units,
    degrees,
    flat_point,
    length,
    point,
    positive_length,
    read_key,
)
from scenes.keys.values import Choice, Flag, Key, Kind, Number, Text, Whole
from scenes.meshes.geometry import MAX_COORDINATE
from scenes.toml_scene.keys.placing import TRANSFORM_KEYS, time

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

#: Names of files of exact meshes end so (`scenes.toml_scene.exact_mesh`).
EXACT = ".npz"

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


MAX_SEGMENTS = 1024
MAX_STEPS, MAX_CURVE = 256, 1000

positions = Points(3, unit=IN_FILE)
indices = Points(3, indices=True)

center = Key("center", point, "Its middle.", "[0, 1, 0]", default=[0, 0, 0])
radius = Key("radius", positive_length, "Its radius.", "0.5", default=1)

inside_out = Key("inside", Flag(), "Whether the front side is the inner one.", "true", default=False)

base = Key("base", point, "Middle of the one end.", "[0, 0, 0]", required=True)
apex = Key("apex", point, "Middle of the other end.", "[0, 1, 0]", required=True)

mesh_triangles = Key(
    "triangles",
    indices,
    "Three vertices each, counted from 0; they run counterclockwise as the front side is seen.",
    "[[0, 1, 2], [0, 2, 3]]",
    fallback="every three vertices are one",
)

steps = Key(
    "steps",
    Whole(1, MAX_STEPS),
    "How many straight pieces it has; of a curve between each two points.",
    "16",
    default=8,
)

ARC = Table(
    "object.profile with arc",
    "Part of a circle in a profile.",
    (
        Key("arc", flat_point, "Its centre.", "[0.5, 0.1]", required=True),
        radius,
        Key("from", degrees, "Where it begins: 0 outward, 90 up.", "0", default=-90),
        Key("to", degrees, "Where it ends.", "180", default=90),
        steps,
    ),
)

CURVE = Table(
    "object.profile with curve",
    "A smooth curve in a profile (Catmull, Rom: A Class of Local Interpolating Splines, 1974).",
    (
        Key(
            "curve",
            ListOf(flat_point, 2, MAX_CURVE),
            "Points that it goes through; one that is there twice is a corner.",
            "[[0.5, 0], [0.8, 0.5], [0.3, 1]]",
            required=True,
        ),
        steps,
    ),
)


@dataclass(frozen=True)
class ProfilePiece(Kind):
    """Describes a piece of a profile: a point, or a table of an arc or a curve."""

    expected: str = "a point of 2 numbers, an arc or a curve"
    unit: str = IN_FILE

    def read(self, value: Any) -> Any:
        """Returns the point, or the values of the table."""
        if isinstance(value, dict):
            return (CURVE if "curve" in value else ARC).read(value)
        if not isinstance(value, list):
            raise self.wrong(value)
        return flat_point.read(value)


profile = Key(
    "profile",
    ListOf(ProfilePiece(), 1, MAX_CURVE),
    "Points [across, up], and arcs and curves of such, one after the other.",
    "[[0, 0], [0.5, 0], { arc = [0.5, 0.1], radius = 0.1 }, [0, 0.2]]",
    required=True,
)

crease = Key(
    "crease",
    Number(0.0, 180.0, unit="degrees"),
    "Where the profile bends more than this it has an edge.",
    "100",
    default=40,
)

KEYED_KEY = Table(
    "object.keys with shape keyed",
    "The corners of all triangles at one time. One of `vertices` and `file` is needed.",
    (
        time,
        Key(
            "vertices",
            positions,
            "Positions, as many at every time.",
            "[[0, 0, 0], [1, 0, 0], [0, 1, 0]]",
            fallback="those of `file`",
        ),
        Key(
            "normals",
            Points(3),
            "A normal for each vertex.",
            "[[0, 0, 1], [0, 0, 1], [0, 0, 1]]",
            fallback="flat triangles, or the normals of `file`",
        ),
        Key(
            "file", Text(), "A mesh file, as objects can have, with as many triangles in the same order.", '"pose1.obj"'
        ),
    ),
)

SHAPES: Mapping[str, Table] = {
    "sphere": Table(
        'object with shape = "sphere"',
        "A ball of triangles with the normals of a sphere.",
        (
            center,
            radius,
            Key(
                "segments",
                Whole(4, MAX_SEGMENTS, even=True),
                "Meridians; there are segments (segments - 2) triangles.",
                "64",
                fallback="as many as are seen; 64 where it glows",
            ),
            inside_out,
        ),
    ),
    "cone": Table(
        'object with shape = "cone"',
        "The side of a cone, open at both ends, of as many triangles as are seen, with smooth normals.",
        (
            base,
            apex,
            Key("base_radius", length, "Radius at `base`.", "0.5", default=1),
            Key("apex_radius", length, "Radius at `apex`.", "0.1", default=0),
            inside_out,
        ),
    ),
    "cylinder": Table(
        'object with shape = "cylinder"',
        "The side of a cylinder, open at both ends, of as many triangles as are seen, with smooth normals.",
        (
            base,
            apex,
            radius,
            inside_out,
        ),
    ),
    "box": Table(
        'object with shape = "box"',
        "A box along the axes, of 12 triangles, or of 44 with bevelled edges. Texture coordinates are lengths in the "
        "file's unit, u along the longer edge of a face.",
        (
            center,
            Key(
                "size",
                Triple(0.0, MAX_COORDINATE, unit=IN_FILE),
                "Its edges along x, y and z.",
                "[1, 0.2, 1]",
                default=1,
            ),
            Key(
                "bevel",
                length,
                "What its edges lose, at most half of the shortest one; they look round.",
                "0.1",
                default=0,
            ),
            inside_out,
        ),
    ),
    "rectangle": Table(
        'object with shape = "rectangle"',
        "A rectangle or parallelogram of 2 triangles. Its front side is where the first edge turns to the second "
        "counterclockwise.",
        (
            Key("corner", point, "One corner.", "[0, 1, 0]", default=[0, 0, 0]),
            Key(
                "edges",
                ListOf(point, 2, 2),
                "Edges from this corner to its two neighbours.",
                "[[1, 0, 0], [0, 0, -1]]",
                required=True,
            ),
        ),
    ),
    "lathe": Table(
        'object with shape = "lathe"',
        "What a profile makes that turns about the y axis, with smooth normals. Walking along the profile, the front "
        "side is on the right: of a vase it runs from the axis outward and up. A solid begins and ends on the axis, or "
        "is `closed`. Texture coordinates are lengths along the profile, in the file's unit, and turns.",
        (
            profile,
            Key("closed", Flag(), "Whether the profile ends where it began, as of a ring.", "true", default=False),
            Key("segments", Whole(3, MAX_SEGMENTS), "How many there are around the axis.", "128", default=64),
            crease,
        ),
    ),
    "sheet": Table(
        'object with shape = "sheet"',
        "A profile drawn out along x, with smooth normals: a table that bends up into a wall, a curtain. Its points "
        "are [z, y]; walking along them, with z to the right and y up, the front side is on the right. Texture "
        "coordinates are lengths across and along, in the file's unit.",
        (
            profile,
            Key("width", positive_length, "How wide it is along x, half to each side.", "2.5", default=1),
            crease,
        ),
    ),
    "triangles": Table(
        'object with shape = "triangles"',
        "Triangles in the scene file itself.",
        (
            Key("vertices", positions, "Positions.", "[[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]]", required=True),
            mesh_triangles,
            Key("normals", Points(3), "Normals, of any length.", "[[0, 0, 1]]", fallback="flat triangles"),
            Key(
                "normal_triangles",
                indices,
                "Three of the normals for each triangle.",
                "[[0, 0, 0], [0, 0, 0]]",
                fallback="as `triangles`",
            ),
            Key(
                "uvs",
                Points(2),
                "Texture coordinates u, v; (0, 0) is the upper left corner of the picture, and v runs down.",
                "[[0, 1], [1, 1], [1, 0], [0, 0]]",
                fallback="all are 0",
            ),
            Key(
                "uv_triangles",
                indices,
                "Three of the texture coordinates for each triangle.",
                "[[0, 1, 2], [0, 2, 3]]",
                fallback="as `triangles`",
            ),
        ),
    ),
    "keyed": Table(
        'object with shape = "keyed"',
        "Triangles whose corners move: linear from key to key, at rest before the first and after the last.",
        (
            mesh_triangles,
            Key(
                "keys",
                ListOf(KEYED_KEY),
                "Corners at each time.",
                "[{ time = 0, vertices = [[0, 0, 0], [1, 0, 0], [0, 1, 0]] }]",
                required=True,
            ),
        ),
    ),
}

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
