"""This module writes materials as BSDFs of Mitsuba: one function for each kind, found by its name in `BSDFS`.

A mixture of NFF becomes a blend of what it mixes; its Phong lobe becomes microfacets whose highlight is as wide (see
`scenes.materials.microfacets`). A texture is multiplied by the colour that stands before it, since Mitsuba's pictures
have none.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import reduce
from pathlib import Path
from typing import cast
from xml.etree.ElementTree import Element

import numpy as np
from PIL import Image

from scenes.colors.palette import srgb
from scenes.colors.srgb import decoded
from scenes.errors import SceneError
from scenes.export.text import words
from scenes.materials.microfacets import WHITE, coat_weight, metalness, scaled
from scenes.model import Color, Doubles, Material, Texture
from scenes.pictures.texture_file import write_picture

#: Below this a highlight is narrower than a degree, and a mirror.
MIRROR_ALPHA = 0.01
#: Exponent at which half of what NFF calls specular is a mirror, as the shader of that name has it.
HALF_MIRROR_EXPONENT = 100.0
#: What Mitsuba calls the filters of textures that it has.
FILTERS = {"nearest": "nearest"}

#: A share of a mixture, and its BSDF.
Share = tuple[float, Element]


class SurfaceWriter:
    """Writes the BSDFs of one scene, and its textures beside it as they are needed.

    path: of the scene.
    """

    def __init__(self, path: Path, textures: Sequence[Texture]) -> None:
        self.path, self.textures = path, textures
        self._files: dict[tuple[int, Color], str] = {}

    def bsdf(self, material: Material, name: str) -> Element:
        """Returns the BSDF of a material, with an id. Both sides of a surface are alike, as they are here.

        Raises SceneError for a kind of materials that is not known.
        """
        build = BSDFS.get(material.kind)
        if build is None:
            raise SceneError(
                f"material {material.name!r}: Mitsuba has nothing like kind {material.kind!r}; there are: "
                f"{', '.join(BSDFS)}"
            )
        inner = build(self, material)
        if lets_through(material):
            inner.set("id", name)
            return inner
        both = node("bsdf", type="twosided", id=name)
        both.append(inner)
        return both

    def pattern(self, name: str, material: Material, base: Color) -> Element:
        """Returns a colour, times the texture of the material if it has one."""
        if material.texture < 0:
            return color(name, base)
        texture = self.textures[material.texture]
        made = node("texture", type="bitmap", name=name)
        children(made, named("string", "filename", self.file(material.texture, base)))
        children(made, named("string", "filter_type", FILTERS.get(texture.filter, "bilinear")))
        children(made, named("string", "wrap_mode", texture.wrap), named("boolean", "raw", texture.is_linear))
        return made

    def file(self, index: int, base: Color) -> str:
        """Returns the name of the file of a texture times a colour, which is written if it is not there yet."""
        if (index, base) not in self._files:
            texture = self.textures[index]
            stem = words([self.path.stem])[0]
            self._files[index, base] = f"{stem}-texture-{len(self._files)}.png"
            pixels = texture.pixels if base == WHITE else multiplied(texture, base)
            write_picture(self.path.with_name(self._files[index, base]), Image.fromarray(pixels), "PNG")
        return self._files[index, base]


def multiplied(texture: Texture, base: Color) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
    """Returns the pixels of a texture times a colour, encoded as they were."""
    if texture.is_linear:
        return np.rint(texture.pixels * np.clip(base, 0.0, 1.0)).astype(np.uint8)
    return np.asarray(srgb(decoded(texture.pixels) * np.clip(base, 0.0, 1.0)), np.uint8)


def lets_through(material: Material) -> bool:
    """Returns whether light goes through a surface."""
    return material.kind in ("dielectric", "nff") and material.transmittance > 0.0


def spread(kind: str, alpha: float) -> Element:
    """Returns a BSDF of a kind, rough by GGX's microfacets of width alpha, or smooth."""
    if alpha <= 0.0:
        return node("bsdf", type=kind)
    made = node("bsdf", type=f"rough{kind}")
    children(made, named("string", "distribution", "ggx"), named("float", "alpha", alpha))
    return made


def reflecting(tint: Color, alpha: float) -> Element:
    """Returns a metal that reflects the same share of light at all angles."""
    made = spread("conductor", alpha)
    children(made, named("string", "material", "none"), color("specular_reflectance", tint))
    return made


def clear(ior: float, through: Color, alpha: float) -> Element:
    """Returns glass in vacuum. through: share of the light that is reflected and refracted."""
    made = spread("dielectric", alpha)
    index = ior if ior > 0.0 else 1.0
    children(made, named("float", "int_ior", index), named("float", "ext_ior", 1.0))
    if through != WHITE:
        children(made, color("specular_transmittance", through), color("specular_reflectance", through))
    return made


def diffuse(writer: SurfaceWriter, material: Material) -> Element:
    """Returns Lambert's surface."""
    made = node("bsdf", type="diffuse")
    made.append(writer.pattern("reflectance", material, material.diffuse))
    return made


def mirror(_: SurfaceWriter, material: Material) -> Element:
    """Returns a perfect mirror."""
    return reflecting(material.specular, 0.0)


def metal(_: SurfaceWriter, material: Material) -> Element:
    """Returns a metal by its index, or by what it reflects."""
    alpha = material.roughness**2
    if not any(material.eta):
        return reflecting(material.specular, alpha)
    made = spread("conductor", alpha)
    children(made, color("eta", material.eta), color("k", material.k))
    children(made, color("specular_reflectance", material.specular))
    return made


def dielectric(_: SurfaceWriter, material: Material) -> Element:
    """Returns glass."""
    return clear(material.ior, scaled(WHITE, material.transmittance), material.roughness**2)


def oriented(writer: SurfaceWriter, material: Material) -> Element:
    """Returns a metal whose facets are wider along one direction than across it."""
    made = metal(writer, replace(material, roughness=1.0))
    (alpha,) = (part for part in made if part.get("name") == "alpha")
    made.remove(alpha)
    aspect = math.sqrt(1.0 - 0.9 * cast("float", material.own.get("anisotropy", 0.0)))
    for name, factor in (("alpha_u", 1.0 / aspect), ("alpha_v", aspect)):
        children(made, named("float", name, material.roughness**2 * factor))
    return made


def principled(writer: SurfaceWriter, material: Material) -> Element:
    """Returns a diffuse surface under a coat, or one that is metal in part."""
    if metalness(material) == 0.0:
        return plastic(writer, material)
    made = node("bsdf", type="principled")
    children(made, writer.pattern("base_color", material, material.diffuse))
    numbers = {"metallic": metalness(material), "roughness": material.roughness, "eta": material.ior}
    children(made, *(named("float", name, float(number)) for name, number in numbers.items()))
    return made


def plastic(writer: SurfaceWriter, material: Material) -> Element:
    """Returns a diffuse surface under a coat, which deepens its colours or does not."""
    made = spread("plastic", material.roughness**2)
    if material.kind == "plastic":
        children(made, named("boolean", "nonlinear", True))
    if coat_weight(material) != WHITE:
        children(made, color("specular_reflectance", coat_weight(material)))
    children(made, named("float", "int_ior", material.ior if material.ior > 0.0 else 1.0))
    children(made, named("float", "ext_ior", 1.0), writer.pattern("diffuse_reflectance", material, material.diffuse))
    return made


def mixture(writer: SurfaceWriter, material: Material) -> Element:
    """Returns a blend of what NFF mixes: diffuse reflection, a highlight, a mirror, glass."""
    totals = [d + s + material.transmittance for d, s in zip(material.diffuse, material.specular, strict=True)]
    keep = 1.0 / max(1.0, *totals)
    base, shine = scaled(material.diffuse, keep), scaled(material.specular, keep)
    through = material.transmittance * keep
    ideal = material.mirror_share
    if ideal is None:
        ideal = material.exponent / (material.exponent + HALF_MIRROR_EXPONENT)
    dull = scaled(shine, 1.0 - ideal)
    alpha = math.sqrt(1.0 / (2.0 * material.exponent + 1.0))
    strengths = [max(base), max(dull), max(shine) * ideal, through]
    total = sum(strengths)
    if total == 0.0:
        return diffuse(writer, replace(material, texture=-1))

    def whole(part: Color) -> Color:
        """Returns a reflectance for its share of the blend, at most 1."""
        red, green, blue = (min(channel * total / max(part), 1.0) for channel in part)
        return (red, green, blue)

    made: list[Share] = []
    if strengths[0] > 0.0:
        made.append((strengths[0], diffuse(writer, replace(material, diffuse=whole(base)))))
    if strengths[1] > 0.0:
        made.append((strengths[1], reflecting(whole(dull), alpha)))
    if strengths[2] > 0.0:
        made.append((strengths[2], reflecting(whole(shine), 0.0)))
    if through > 0.0:
        made.append((through, clear(material.ior, scaled(WHITE, min(total, 1.0)), 0.0)))
    return reduce(blended, made)[1]


def blended(first: Share, second: Share) -> Share:
    """Returns two shares as one."""
    total = first[0] + second[0]
    made = node("bsdf", type="blendbsdf")
    children(made, named("float", "weight", second[0] / total), first[1], second[1])
    return total, made


def material_losses(material: Material) -> Iterator[str]:
    """Yields a line for each thing of a material that Mitsuba has otherwise."""
    name = f"material {material.name!r}"
    if material.kind == "nff" and any(material.specular):
        yield f"{name} has microfacets for Phong's highlight"
    if material.kind in ("oren_nayar", "sheen"):
        yield f"{name} is no longer of kind {material.kind!r} but diffuse"
    if material.own.get("coat", 0.0) != 0.0:
        yield f"{name} no longer has lacquer"
    if material.own.get("rotation", 0.0) != 0.0:
        yield f"{name} is brushed along the u of textures"
    if metalness(material) > 0.0 and coat_weight(material) != WHITE:
        yield f"{name} has all of its coat"
    if material.kind in ("metal", "anisotropic") and not any(material.eta):
        yield f"{name} reflects the same share of light at all angles"
    if material.kind == "dielectric" and any(material.absorption):
        yield f"{name} no longer absorbs light inside"
    if material.kind == "dielectric" and any(material.scattering):
        yield f"{name} no longer scatters light inside"
    if material.priority:
        yield f"{name} no longer has a priority where solids overlap"
    if material.texture >= 0 and material.diffuse != WHITE:
        yield f"{name} has its colour in its texture, rounded to bytes"


#: Writers of BSDFs, by the kinds of materials.
BSDFS: dict[str, Callable[[SurfaceWriter, Material], Element]] = {
    "diffuse": diffuse,
    "mirror": mirror,
    "metal": metal,
    "dielectric": dielectric,
    "plastic": plastic,
    "principled": principled,
    "anisotropic": oriented,
    "oren_nayar": diffuse,
    "sheen": diffuse,
    "nff": mixture,
}


def node(tag: str, /, **attributes: str) -> Element:
    """Returns an element with attributes."""
    return Element(tag, attributes)


def named(tag: str, name: str, value: float | str | bool) -> Element:
    """Returns a parameter: its kind is the tag."""
    if isinstance(value, str):
        return node(tag, name=name, value=value)
    return node(tag, name=name, value=str(value).lower() if isinstance(value, bool | int) else repr(float(value)))


def color(name: str, value: Color) -> Element:
    """Returns a parameter that is a colour, linear."""
    return node("rgb", name=name, value=", ".join(repr(float(channel)) for channel in value))


def matrix(name: str, value: Doubles) -> Element:
    """Returns a transform, (4, 4)."""
    made = node("transform", name=name)
    made.append(node("matrix", value=" ".join(repr(number) for number in value.ravel().tolist())))
    return made


def children(parent: Element, *elements: Element) -> None:
    """Puts elements into another one."""
    parent.extend(elements)
