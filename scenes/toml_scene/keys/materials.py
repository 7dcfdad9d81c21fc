"""This module lists the keys of materials and of their pictures in a scene file, with those that only materials of one
kind have, as its shader lists them.
"""

from dataclasses import dataclass
from typing import Any

from scenes.keys.tables import (
    MAX_NUMBER,
    MAX_REFLECTANCE,
    FirstKey,
    Table,
    Triple,
    number,
    positive_factors,
    radiance,
    read_key,
    reflectance,
    share,
)
from scenes.keys.values import Choice, Flag, Key, Kind, Number, Text, Whole
from scenes.materials.metals import METALS
from shaders.bsdfs.bsdf import BsdfKey
from shaders.registry import get_shader, shader_names

#: Scales of normals and heights.
scale = Number(-1e3, 1e3)

TEXTURE = Table(
    "materials.NAME.texture",
    "A picture. Its path alone stands for a table of `file`. All keys of pictures are such tables.",
    (
        Key(
            "file",
            Text(),
            "A picture (PNG, JPEG, PPM, BMP, TGA or WEBP); its path, from the folder of the scene file.",
            '"wood.png"',
            required=True,
        ),
        Key(
            "wrap",
            Choice(("repeat", "clamp")),
            "What is beyond the picture, where texture coordinates are not in 0 to 1: the picture again, or the "
            "colours of its edges. Holes always repeat.",
            '"clamp"',
            default="repeat",
        ),
        Key(
            "filter",
            Choice(("nearest", "bilinear", "mip")),
            'What is seen between the middles of texels: the nearest one, or the mean of four. "mip" is the mean '
            "over as much as a pixel sees, which leaves no noise where the picture is fine and far away.",
            '"mip"',
            default="bilinear",
        ),
        Key(
            "linear",
            Flag(),
            "Whether the bytes are shares of 255, and not sRGB.",
            "true",
            fallback="true for roughness, metalness, normals and heights, false for all else",
        ),
    ),
)

picture = FirstKey(TEXTURE)

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


MATERIAL = MaterialTable(
    "materials.NAME",
    "A surface, by a name that objects use. A colour is red, green and blue, linear, or one number for a grey. Some "
    "kinds have more keys, see below.",
    (
        Key(
            "kind",
            Text(),
            'The shader: "diffuse", "oren_nayar" (clay), "sheen" (cloth), "mirror", "metal", "anisotropic" (brushed '
            'metal), "plastic" (diffuse under a clear coat), "principled" (metal, plastic, or between), '
            '"dielectric" (glass; on closed surfaces), "nff" (diffuse, Phong highlight, mirror and glass in one), '
            '"measured", or another that is registered.',
            '"mirror"',
            default="diffuse",
        ),
        Key(
            "diffuse",
            reflectance,
            'Diffuse reflectance, 0 to 1. (Of kind "nff" it may be more, and so may `specular`: where all together '
            "exceed 1, they are scaled down.)",
            "[0.63, 0.06, 0.05]",
            default=0.5,
        ),
        Key(
            "specular",
            reflectance,
            "Reflectance of the mirror and of the highlight, 0 to 1; of a metal at normal incidence, or, of one "
            "with an index, what multiplies its own.",
            "0.9",
            fallback='0; 1 of kinds "mirror", "metal" and "anisotropic"',
        ),
        Key("shine", Number(0.0, MAX_NUMBER), 'Cosine power of the highlight (kind "nff").', "30.0", default=0.0),
        Key(
            "mirror_share",
            share,
            'How much of `specular` is a mirror, 0 to 1, and not a highlight (kind "nff").',
            "0.8",
            fallback="`shine` / (`shine` + 100)",
        ),
        Key(
            "transmittance",
            Number(0.0, MAX_REFLECTANCE),
            "Share of light that is let through, 0 to 1.",
            "1.0",
            fallback='0; 1 of kind "dielectric"',
        ),
        Key(
            "ior",
            number,
            "Refractive index, of the inside over the outside; 0 or less counts as 1.",
            "1.33",
            fallback='1; 1.5 of kinds "dielectric", "plastic" and "principled"',
        ),
        Key(
            "roughness",
            share,
            "How far a surface spreads light, 0 to 1: of metals, coats and glass the root of the alpha of GGX.",
            "0.4",
            default=0.0,
        ),
        Key(
            "metal",
            Choice(tuple(METALS)),
            'Which metal it is (kinds "metal" and "anisotropic"): `eta` and `k` as they were measured.',
            '"gold"',
        ),
        Key(
            "eta",
            positive_factors,
            'Refractive index of a metal (kinds "metal" and "anisotropic"), which reflects by Fresnel then. Without '
            "it nothing but `specular` is known, and more is reflected at grazing angles by Schlick.",
            "[0.2, 0.9, 1.1]",
            fallback="that of `metal`",
        ),
        Key(
            "k",
            positive_factors,
            "Extinction coefficient of a metal, beside `eta`.",
            "[3.9, 2.5, 2.1]",
            fallback="that of `metal`; 0",
        ),
        Key(
            "absorption",
            positive_factors,
            "What is inside of glass absorbs: over t metres the share exp(-`absorption` t) is left. 1/m, in any "
            "unit of lengths.",
            "[12.0, 2.0, 4.0]",
            default=0.0,
        ),
        Key(
            "priority",
            Whole(0, 1000),
            "Where solids that let light through overlap: the one of the highest priority is there, and of equal "
            "ones the one that a path entered last.",
            "1",
            default=0,
        ),
        Key("emission", radiance, "Radiance that the front side sends out.", "[30.0, 28.0, 25.0]", default=0.0),
        Key(
            "backdrop", radiance, "Radiance that is seen and lights nothing, as of a painted view.", "0.8", default=0.0
        ),
        Key(
            "ambient",
            radiance,
            "Radiance that `--ambient literal` adds to what is seen of the surface, in place of light between "
            "surfaces.",
            "0.2",
            default=0.0,
        ),
        Key(
            "texture",
            picture,
            "A picture (PNG, JPEG, PPM, BMP, TGA or WEBP) that multiplies `diffuse` and `backdrop`; its path, from "
            "the folder of the scene file.",
            '"wood.png"',
        ),
        Key(
            "cutout",
            picture,
            "A picture that says where the surface is and where there are holes, through which rays pass, as "
            "between leaves: it is there from an alpha of one half on, or, if the picture has no alpha, from a grey "
            "of one half on. It may be that of `texture`. Surfaces that shine have no holes, nor have surfaces "
            "without texture coordinates.",
            '"leaf.png"',
        ),
        Key(
            "specular_texture",
            picture,
            "A picture that multiplies what is mirrored: `specular`, and the coat of a plastic.",
            '{ file = "scratches.png", filter = "mip" }',
        ),
        Key("roughness_texture", picture, "A picture whose grey multiplies `roughness`.", '"worn.png"'),
        Key(
            "metalness_texture",
            picture,
            'A picture whose blue multiplies `metalness` (kind "principled").',
            '"rust.png"',
        ),
        Key("transmission_texture", picture, "A picture that multiplies `transmittance`.", '"window.png"'),
        Key(
            "emission_texture",
            picture,
            "A picture that multiplies `emission`. Lights are sampled by its mean over each triangle.",
            '"screen.png"',
        ),
        Key(
            "normal_texture",
            picture,
            "A picture of normals: red to the right and green up in the picture, blue off the surface; the byte 128 "
            "is zero.",
            '"bricks-normal.png"',
        ),
        Key(
            "normal_scale",
            scale,
            "Multiplies red and green of the normals.",
            "0.5",
            default=1.0,
        ),
        Key(
            "bump_texture",
            picture,
            "A picture of heights: its grey, 0 to 1, times `bump_scale`.",
            '{ file = "bricks-height.png", wrap = "clamp" }',
        ),
        Key(
            "bump_scale",
            scale,
            "Height of white in metres, in any unit of lengths; below 0 it is a dent.",
            "0.005",
            default=1.0,
        ),
    ),
)


def own_keys(kind: str) -> tuple[Key, ...]:
    """Returns the keys that only materials of a kind have; none of a kind that is not registered."""
    return tuple(key_of(name, key) for name, key in get_shader(kind).keys.items()) if kind in shader_names() else ()


def own_tables() -> list[Table]:
    """Returns the table of each registered kind that has keys of its own."""
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


def sentence(text: str) -> str:
    """Returns a text with a capital letter and a full stop."""
    return f"{text[:1].upper()}{text[1:]}."
