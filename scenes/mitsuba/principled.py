"""This module reads the surfaces of many numbers, `principled` and `principledthin`.

Burley: Physically-Based Shading at Disney, 2012. What there is here of it is a metal, a coat over something diffuse,
what is between, and glass.
"""

import math
from dataclasses import replace

from scenes.materials.microfacets import BLACK, DEFAULT_IOR, GREY, WHITE, glass, metallic, normal_reflectance, scaled
from scenes.materials.patterns import Pattern
from scenes.mitsuba.properties import Properties
from scenes.mitsuba.surface import MitsubaSurface, with_map
from scenes.mitsuba.textures import MitsubaTextures
from scenes.model import Material

#: Lobes that there are none of here, and shape of those that there are.
LEFT_OUT = (
    "anisotropic", "clearcoat", "clearcoat_gloss", "flatness", "sheen", "sheen_tint", "spec_tint", "diff_trans",
)  # fmt: skip
#: Chances of sampling, which change no picture.
CHANCES = (
    "main_specular_sampling_rate", "clearcoat_sampling_rate", "diffuse_reflectance_sampling_rate",
    "spec_srate", "diffuse_reflectance", "clearcoat_srate", "diff_refl_srate", "spec_refl_srate", "spec_trans_srate",
    "diff_trans_srate",
)  # fmt: skip
SPECULAR, ROUGHNESS = 0.5, 0.5
#: From which share on a surface is one of glass.
MOSTLY = 0.5


def principled(textures: MitsubaTextures, properties: Properties) -> MitsubaSurface:
    """Reads a surface of base_color, roughness, metallic and spec_trans."""
    base = textures.pattern(properties, "base_color", GREY)
    rough = textures.numbers(properties, "roughness", ROUGHNESS)
    metal, clear = (textures.numbers(properties, name, 0.0) for name in ("metallic", "spec_trans"))
    ior = index(properties)
    properties.left_out(*LEFT_OUT)
    properties.finish(*CHANCES)
    if clear.texture is not None:
        properties.note("a picture of spec_trans counts as its mean")
    if clear.grey > MOSTLY:
        return clear_surface(properties, base, rough, ior)
    if clear.grey > 0.0:
        properties.note("a principled surface that is less than half clear lets nothing through")
    material = metallic("principled", base.color, metal.color[0], rough.color[0], ior)
    if ior == 1.0:  # which says nothing to that kind
        material = replace(material, ior=DEFAULT_IOR, own={**material.own, "specular_weight": BLACK})
    surface = MitsubaSurface(material, base)
    for name, pattern in (("roughness_map", rough), ("metalness_map", metal)):
        surface = with_map(surface, name, pattern, properties)
    return surface


def index(properties: Properties) -> float:
    """Returns the refractive index, which is given as such or by what is reflected at normal incidence, in 1/0.08."""
    specular = min(max(properties.number("specular", SPECULAR), 0.0), 1.0)
    eta = properties.number("eta", 2.0 / (1.0 - math.sqrt(0.08 * specular)) - 1.0)
    return eta if eta > 0.0 else 1.0


def clear_surface(properties: Properties, base: Pattern, rough: Pattern, ior: float) -> MitsubaSurface:
    """Returns glass, or a pane that bends nothing."""
    through = sum(base.mean) / 3.0
    if properties.type == "principledthin":
        mirror = normal_reflectance(ior)
        pane = Material(name="pane", kind="nff", diffuse=BLACK, specular=scaled(WHITE, mirror), exponent=1e4)
        return MitsubaSurface(replace(pane, transmittance=through * (1.0 - mirror), ior=1.0))
    if max(base.mean) - min(base.mean) > 1e-3:
        properties.note("glass has no colour: the mean of its channels counts")
    # Light goes through two borders of a solid, of which each takes the root.
    return MitsubaSurface(glass("glass", ior, math.sqrt(through), rough.grey))
