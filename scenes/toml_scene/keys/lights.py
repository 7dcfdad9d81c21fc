"""This module lists the keys of lights that are no objects, and of the environment, in a scene file."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from scenes.keys.quantities import MAX_RADIANCE, degrees, direction, radiance
from scenes.keys.tables import Table, Triple, read_key
from scenes.keys.values import Choice, Key, Kind, Number, Text
from scenes.lights import SOURCES
from scenes.toml_scene.keys.placing import TRANSFORM_KEYS

#: How fast something fades.
power = Number(0.0, 1e6)

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
            "along y): radiance in .exr, .hdr and .npy, (height, width, 3) numbers; bytes in .png and .jpg, decoded "
            "from sRGB to 0 to 1. At most 2^25 pixels. Its path, from the folder of the scene file.",
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
