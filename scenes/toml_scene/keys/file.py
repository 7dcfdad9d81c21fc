"""This module lists the tables of a scene file, with the keys of the scene as a whole, of cameras, of lights that are
no objects, and of the environment."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from scenes.keys.tables import (
    IN_FILE,
    MAX_RADIANCE,
    METRES,
    ListOf,
    Named,
    Table,
    Triple,
    Units,
    degrees,
    direction,
    length,
    number,
    point,
    positive_length,
    radiance,
    read_key,
    reflectance,
)
from scenes.keys.values import MAX_SIDE, PROPOSALS, RADIUS, Choice, Key, Kind, Number, Size, Text, Whole
from scenes.lights import SOURCES
from scenes.model import FOV_AXES
from scenes.toml_scene.keys.materials import MATERIAL, sentence
from scenes.toml_scene.keys.objects import UP, ObjectTable
from scenes.toml_scene.keys.placing import GROUP, TRACK, TRANSFORM_KEYS

MAX_FRAMES = 10_000_000

#: How fast something fades.
power = Number(0.0, 1e6)

SCENE = Table(
    "scene",
    "The scene as a whole.",
    (
        Key("name", Text(), "What the scene is called.", '"hall"', fallback="the file's name"),
        Key(
            "units",
            Units(),
            f"The unit of all lengths in the file: {', '.join(METRES)}, or metres per unit as a number. "
            "Watts and radiances are what they are in any unit.",
            '"cm"',
            default="m",
        ),
        Key(
            "up",
            Choice(UP),
            "The axis that points up in this file. Of a file with z up, (x, y, z) becomes (x, z, -y).",
            '"z"',
            default="y",
        ),
        Key("background", radiance, "Radiance of what nothing covers.", "[0.35, 0.45, 0.6]", default=0.0),
        Key(
            "ambient",
            reflectance,
            "What `backdrop` and `ambient` of every material are multiplied by.",
            "0.5",
            default=1.0,
        ),
    ),
)

#: What a scene file says of some proposals in other words than options do.
IN_OTHER_WORDS: dict[str, dict[str, Any]] = {
    "size": {"fallback": "the camera's `resolution`"},
    "radius": {"kind": replace(RADIUS, unit=IN_FILE)},
}

RENDER = Table(
    "render",
    "Options of `tracecore render` that the scene proposes. One given on the command line counts instead.",
    tuple(
        replace(key, **{"about": sentence(key.about), "fallback": "not proposed", **IN_OTHER_WORDS.get(key.name, {})})
        for key in PROPOSALS.values()
    ),
)

ANIMATION = Table(
    "animation",
    "The pictures of an animation: frame i is at `start` + i (`end` - `start`) / (`frames` - 1).",
    (
        Key("start", number, "Time of the first frame.", "1.0", default=0.0),
        Key("end", number, "Time of the last frame.", "4.0", default=0.0),
        Key("frames", Whole(1, MAX_FRAMES), "How many there are.", "97", default=1),
    ),
)
CAMERA = Table(
    "cameras.NAME",
    "A camera, by a name to choose it with. The first one in the file is looked through. A track of the same "
    "name moves it: `translate` is then the eye, and `rotate` turns a camera that looks along -z with y up.",
    (
        Key("eye", point, "Position of the eye.", "[0, 1.6, 4]", required=True),
        Key("target", point, "A point that it looks at. This or `forward` is needed.", "[0, 1, 0]"),
        Key("forward", direction, "The direction that it looks in.", "[0, 0, -1]", fallback="to `target`"),
        Key("up", direction, "Direction that is up in the picture.", "[0, 1, 0]", fallback="up in the scene"),
        Key(
            "vertical_fov",
            Number(0.0, 180.0, inside=True, unit="degrees"),
            "Angle from the bottom to the top of the picture.",
            "50.0",
            default=40.0,
        ),
        Key("near", length, "Distance along the view from which on things are seen.", "0.1", default=0.0),
        Key(
            "resolution",
            Size(MAX_SIDE, MAX_SIDE**2),
            "Width and height that are proposed, pixels.",
            "[400, 300]",
            default=[800, 600],
        ),
        Key(
            "aperture",
            length,
            "Radius of the lens; what is not in focus is blurred. 0 is a pinhole.",
            "0.02",
            default=0.0,
        ),
        Key("focus", length, "Distance along the view of what is sharp. A lens needs it.", "2.5", default=0.0),
        Key(
            "height",
            positive_length,
            "Height of what is seen, whatever the distance: the camera is orthographic, and its "
            "`vertical_fov` does nothing.",
            "3.0",
            fallback="it has perspective",
        ),
        Key(
            "fov_axis",
            Choice(FOV_AXES),
            "Along what of the picture as much is seen as with the proposed resolution, when it has another shape: "
            "its width, height, the smaller or the larger of them, or the diagonal.",
            '"x"',
            default="y",
        ),
    ),
)
LIGHT = Table(
    "light",
    "A light that is no object, with the keys of its kind. (Lights with a size are objects whose material emits.)",
    (
        Key("kind", Choice(tuple(SOURCES)), f"What it is: {', '.join(SOURCES)}.", '"spot"', default="point"),
        TRANSFORM_KEYS[0],
    ),
)

#: The keys of each kind of light.
LIGHTS: Mapping[str, Table] = {
    kind: Table(f'light with kind = "{kind}"', source.about, source.keys) for kind, source in SOURCES.items()
}


@dataclass(frozen=True)
class LightTable(Kind):
    """Describes the table of a light: it has the keys of all lights, and those of its kind."""

    expected: str = "a table with the keys of its kind"

    def read(self, value: Any) -> dict[str, Any]:
        """Returns the values of all keys that such a light has."""
        if not isinstance(value, dict):
            raise self.wrong(value)
        kind = read_key(LIGHT.keys[0], value)
        return Table("light", "", (*LIGHT.keys, *LIGHTS[kind].keys)).read(value)


SKY = Table(
    "environment.sky",
    "A sky that is one colour at the horizon and another one overhead, with a glow about the sun, over an even ground. "
    'The sun itself is a light of kind "distant".',
    (
        Key("zenith", radiance, "Radiance overhead.", "[0.2, 0.3, 0.6]", default=[0.07, 0.16, 0.38]),
        Key("horizon", radiance, "Radiance at the horizon.", "[0.8, 0.7, 0.6]", default=[0.42, 0.49, 0.57]),
        Key("ground", radiance, "Radiance straight below.", "[0.2, 0.15, 0.1]", default=[0.1, 0.13, 0.05]),
        Key(
            "haze",
            power,
            "How fast the haze over the horizon thins out: exp(-`haze` sin height) of it is left.",
            "2.5",
            default=5.0,
        ),
        Key("glow", radiance, "Radiance that is added towards the sun.", "0.5", default=0.0),
        Key(
            "glow_power",
            power,
            "How fast the glow fades: it has this power of the cosine of the angle to the sun.",
            "90.0",
            default=40.0,
        ),
        Key("sun", direction, "Direction to the sun, of any length.", "[1, 1, 0]", default=[0, 1, 0]),
    ),
)

ENVIRONMENT = Table(
    "environment",
    "Light from all around, which the eye sees too. One of `image`, `color` and `sky` is needed.",
    (
        Key(
            "image",
            Text(),
            "A picture of latitudes and longitudes, its first row up, its middle along -z (of a file with z up: "
            "along y): radiance in .exr, .hdr, .pfm and .npy, (height, width, 3) numbers; bytes in .png and .jpg, "
            "decoded from sRGB to 0 to 1. At most 2^25 pixels. Its path, from the folder of the scene file.",
            '"sky.exr"',
        ),
        Key("color", radiance, "The same radiance from everywhere.", "[0.8, 0.9, 1.0]"),
        Key("sky", SKY, "A sky; {} has the values of all its keys.", "{ zenith = [0.1, 0.2, 0.4] }"),
        Key("scale", Triple(0.0, MAX_RADIANCE), "What the radiance is multiplied by.", "2.0", default=1.0),
        Key(
            "degrees",
            degrees,
            "How far it is turned about the axis that is up, counterclockwise as seen from above.",
            "90.0",
            default=0.0,
        ),
        Key("parent", Text(), "Name of a group that turns it.", '"orbit"', fallback="none: it stands still"),
    ),
)

FILE_KEYS = Table(
    "(the file)",
    "The tables of a file. All may be left out, but there must be some triangles.",
    (
        Key("scene", SCENE, "The scene as a whole.", '{ units = "cm" }', default={}),
        Key("render", RENDER, "Options that the scene proposes.", "{ passes = 16 }", default={}),
        Key("animation", ANIMATION, "Its frames.", "{ end = 2.0, frames = 49 }", default={}),
        Key("materials", Named(MATERIAL), "Materials by name.", "{ red = { diffuse = [0.6, 0.1, 0.1] } }", default={}),
        Key("object", ListOf(ObjectTable(), 0), "Objects.", '[{ shape = "sphere", material = "red" }]', default=[]),
        Key("group", ListOf(GROUP, 0), "Groups.", '[{ name = "table" }]', default=[]),
        Key("light", ListOf(LightTable(), 0), "Lights that are no objects.", "[{ power = 60.0 }]", default=[]),
        Key("environment", ENVIRONMENT, "Light from all around.", "{ color = [0.8, 0.9, 1.0] }"),
        Key(
            "cameras",
            Named(CAMERA),
            "Cameras by name.",
            "{ front = { eye = [0, 1, 4], target = [0, 1, 0] } }",
            default={},
        ),
        Key(
            "tracks",
            Named(TRACK),
            "Tracks by name.",
            "{ blink = { visible = [{ time = 1, value = false }] } }",
            default={},
        ),
    ),
)
