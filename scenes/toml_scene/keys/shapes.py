"""This module lists the keys of the shapes that objects of a scene file can have."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from scenes.keys.tables import (
    IN_FILE,
    ListOf,
    Points,
    Table,
    Triple,
    degrees,
    flat_point,
    length,
    point,
    positive_length,
)
from scenes.keys.values import Flag, Key, Kind, Number, Text, Whole
from scenes.meshes.geometry import MAX_COORDINATE
from scenes.toml_scene.keys.placing import time

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
