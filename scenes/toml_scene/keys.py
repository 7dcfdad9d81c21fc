"""This module has the tables of keys of a scene file, which `keys.toml` lists: name, kind of value with its unit,
meaning, example, and default. From them come the checks, the error messages and the manual.

Keys that only materials of one kind have are those that its shader lists, keys that only lights of one kind have are
listed with it, and what a scene may propose of a picture are settings.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from scenes.keys import tables
from scenes.keys.place import KindError
from scenes.keys.tables import IN_FILE, FirstKey, ListOf, Named, OneOrMore, Points, Table, Triple, Turn, Units, read_key
from scenes.keys.values import (
    MAX_SIDE,
    PROPOSALS,
    RADIUS,
    Choice,
    Flag,
    Key,
    Kind,
    Number,
    Size,
    Text,
    Vector,
    Whole,
)
from scenes.lights import SOURCES
from scenes.materials.metals import METALS
from scenes.meshes.geometry import MAX_COORDINATE
from scenes.model import FOV_AXES
from shaders.bsdfs.bsdf import BsdfKey
from shaders.registry import get_shader, shader_names

#: Names of files of exact meshes end so (`scenes.toml_scene.exact_mesh`).
EXACT = ".npz"

#: Keys of pictures, by the fields of a material; and which of them hold no colours.
PICTURE_KEYS = {
    "texture": "texture",
    "cutout": "cutout",
    "specular_map": "specular_texture",
    "roughness_map": "roughness_texture",
    "metalness_map": "metalness_texture",
    "transmission_map": "transmission_texture",
    "emission_map": "emission_texture",
    "normal_map": "normal_texture",
    "bump_map": "bump_texture",
}
LINEAR = ("roughness_map", "metalness_map", "normal_map", "bump_map")

#: Keys of materials that have other names than the fields of `Material`.
KEY_OF_FIELD = {"exponent": "shine"}


@dataclass(frozen=True)
class ProfilePiece(Kind):
    """Describes a piece of a profile: a point, or a table of an arc or a curve."""

    expected: str = "a point of 2 numbers, an arc or a curve"
    unit: str = IN_FILE

    def read(self, value: Any) -> Any:
        """Returns the point, or the values of the table."""
        if isinstance(value, dict):
            return TABLES["object.profile with curve" if "curve" in value else "object.profile with arc"].read(value)
        if not isinstance(value, list):
            raise self.wrong(value)
        return tables.flat_point.read(value)


@dataclass(frozen=True)
class ObjectTable(Table):
    """Describes the table of an object: it has the keys of all objects, and those of what it is."""

    expected: str = "a table with one of shape, file and instance_of"

    def read(self, value: Any) -> dict[str, Any]:
        """Returns the values of all keys that such an object has."""
        if not isinstance(value, dict):
            raise self.wrong(value)
        sources = [name for name in ("shape", "file", "instance_of") if name in value]
        if len(sources) != 1:
            raise KindError(f"expected one of shape, file and instance_of, got {' and '.join(sources) or 'none'}")
        own = TABLES[f"object with {sources[0]}"].keys
        if sources[0] == "shape":
            own = (*own, *TABLES[f'object with shape = "{read_key(own[0], value)}"'].keys)
        return Table("object", "", (*self.keys, *own)).read(value)


@dataclass(frozen=True)
class LightTable(Table):
    """Describes the table of a light: it has the keys of all lights, and those of its kind."""

    expected: str = "a table with the keys of its kind"

    def read(self, value: Any) -> dict[str, Any]:
        """Returns the values of all keys that such a light has."""
        if not isinstance(value, dict):
            raise self.wrong(value)
        return Table("light", "", (*self.keys, *SOURCES[read_key(self.keys[0], value)].keys)).read(value)


@dataclass(frozen=True)
class MaterialTable(Table):
    """Describes the table of a material: it has the keys of all materials, and those of its kind, which are `own`."""

    def read(self, value: Any) -> dict[str, Any]:
        """Returns the values of the keys of all materials, and in `own` those that are given of its kind."""
        if not isinstance(value, dict):
            raise self.wrong(value)
        own = own_keys(read_key(self.keys[0], value))
        values = Table(self.title, self.about, (*self.keys, *own)).read(value)
        given = {key.name: values.pop(key.name) for key in own}
        return values | {"own": {name: one for name, one in given.items() if one is not None}}


#: Tables that are more than their keys.
CLASSES: Mapping[str, type[Table]] = {
    "light": LightTable,
    "materials.NAME": MaterialTable,
    "object": ObjectTable,
    "rotate": Turn,
    "tracks.NAME.rotate": Turn,
}

#: Kinds of values by the names that `keys.toml` has for them, beside those of numbers whose bounds it says.
KINDS: Mapping[str, Kind] = {
    "degrees": tables.degrees,
    "direction": tables.direction,
    "factors": tables.factors,
    "field of view axis": Choice(FOV_AXES),
    "flag": Flag(),
    "flat point": tables.flat_point,
    "indices": Points(3, indices=True),
    "length": tables.length,
    "light": Choice(tuple(SOURCES)),
    "light scale": Triple(0.0, tables.MAX_RADIANCE),
    "matrix row": Vector(4, -tables.MAX_NUMBER, tables.MAX_NUMBER),
    "metal": Choice(tuple(METALS)),
    "normals": Points(3),
    "number": tables.number,
    "point": tables.point,
    "positions": Points(3, unit=IN_FILE),
    "positive factors": tables.positive_factors,
    "positive length": tables.positive_length,
    "profile piece": ProfilePiece(),
    "radiance": tables.radiance,
    "reflectance": tables.reflectance,
    "resolution": Size(MAX_SIDE, MAX_SIDE**2),
    "scales": Triple(-MAX_COORDINATE, MAX_COORDINATE),
    "share": tables.share,
    "shift": tables.shift,
    "sizes": Triple(0.0, MAX_COORDINATE, unit=IN_FILE),
    "text": Text(),
    "texture coordinates": Points(2),
    "units": Units(),
}
BOUNDED: Mapping[str, type[Kind]] = {"number": Number, "whole": Whole}
BOUNDS = ("least", "most", "inside", "even", "unit")

#: What a scene file says of some proposals in other words than options do.
IN_OTHER_WORDS: dict[str, dict[str, Any]] = {
    "size": {"fallback": "the camera's `resolution`"},
    "radius": {"kind": replace(RADIUS, unit=IN_FILE)},
}


def sentence(text: str) -> str:
    """Returns a text with a capital letter and a full stop."""
    return f"{text[:1].upper()}{text[1:]}."


RENDER = Table(
    "render",
    "Options of `tracecore render` that the scene proposes. One given on the command line counts instead.",
    tuple(
        replace(key, **{"about": sentence(key.about), "fallback": "not proposed", **IN_OTHER_WORDS.get(key.name, {})})
        for key in PROPOSALS.values()
    ),
)


def listed_tables() -> dict[str, Table]:
    """Returns the tables that `keys.toml` lists, by their titles; each stands behind those that are in it."""
    listed = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    shared = {row["name"]: row for row in listed["shared"]}
    made: dict[str, Table] = {RENDER.title: RENDER}
    for table in listed["table"]:
        rows = [shared[row] if isinstance(row, str) else row for row in table["keys"]]
        kind = CLASSES.get(table["title"], Table)
        made[table["title"]] = kind(table["title"], table["about"], tuple(listed_key(row, made) for row in rows))
    return made


def listed_key(row: Mapping[str, Any], made: Mapping[str, Table]) -> Key:
    """Returns the key of a row. made: the tables before its own."""
    kind = one_kind(row, made)
    if "count" in row:
        kind = ListOf(kind, *row["count"])
    about = row["about"].replace("{words}", ", ".join(getattr(kind, "words", ())))
    rest = {name: row[name] for name in ("example", "default", "fallback", "required") if name in row}
    return Key(row["name"], kind, about, **rest)


def one_kind(row: Mapping[str, Any], made: Mapping[str, Table]) -> Kind:
    """Returns the kind of a value, or of each of those of a list."""
    name = row["kind"]
    if "words" in row:
        return Choice(tuple(row["words"]))
    if "most" in row:
        return BOUNDED[name](**{bound: row[bound] for bound in BOUNDS if bound in row})
    if name == "picture":
        return FirstKey(made["materials.NAME.texture"])
    if name == "turns":
        return OneOrMore(made["rotate"])
    if not name.startswith("["):
        return KINDS[name]
    table = made[name.strip("[]")]
    return Named(table) if table.title.endswith(".NAME") else table


def own_keys(kind: str) -> tuple[Key, ...]:
    """Returns the keys that only materials of a kind have; none of a kind that is not registered."""
    return tuple(key_of(name, key) for name, key in get_shader(kind).keys.items()) if kind in shader_names() else ()


def own_tables() -> list[Table]:
    """Returns the table of each registered kind of materials that has keys of its own."""
    return [
        Table(f'materials.NAME with kind = "{name}"', sentence(get_shader(name).summary), own_keys(name))
        for name in shader_names()
        if get_shader(name).keys
    ]


def key_of(name: str, key: BsdfKey) -> Key:
    """Returns a key of a scene file. Where it is left out the default of the shader counts."""
    about, default = sentence(key.summary), key.default
    if isinstance(default, str):
        about = sentence(f"{key.summary}; its path, from the folder of the scene file")
        return Key(name, Text(), about, '"surface.binary"', required=True)
    kind: Kind = Triple(key.low, key.high) if isinstance(default, tuple) else Number(key.low, key.high)
    numbers = default if isinstance(default, tuple) else (default,)
    fallback = ", ".join(f"{number:g}" for number in (numbers if len(set(numbers)) > 1 else numbers[:1]))
    return Key(name, kind, about, f"{0.25 * key.low + 0.75 * key.high:g}", fallback=fallback)


#: Tables of a scene file by their titles, and that of the whole file.
TABLES = listed_tables()
FILE_KEYS = TABLES["(the file)"]
