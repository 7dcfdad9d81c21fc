"""This module turns BSDFs into materials: one function for each type, found by its name in `BSDFS`."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from scenes.colors.palette import Bytes
from scenes.materials import microfacets
from scenes.materials.metals import BY_SYMBOL
from scenes.materials.microfacets import BLACK, GREY, WHITE, glass, metallic, multiplied, phong_power, scaled
from scenes.materials.patterns import Pattern
from scenes.mitsuba.colors import COLORS, index
from scenes.mitsuba.conductors import CONDUCTORS
from scenes.mitsuba.elements import XmlElement, listed, numbers
from scenes.mitsuba.principled import principled
from scenes.mitsuba.properties import Properties
from scenes.mitsuba.reading import Reading
from scenes.mitsuba.surface import NOTHING, UNLIKE, MitsubaSurface, mixed, with_map
from scenes.mitsuba.textures import TEXTURES, MitsubaTextures, rooted, without_alpha
from scenes.model import Color, Material

#: How deep BSDFs may be nested in BSDFs.
MAX_DEPTH = 16
#: The name of a conductor that reflects all light.
IDEAL = "none"
#: Indices eta and k of conductors by their names.
INDICES = {**CONDUCTORS, **{name: (metal.eta, metal.k) for name, metal in BY_SYMBOL.items()}, IDEAL: (BLACK, BLACK)}
#: Endings of names of metals that say who measured them.
MEASURED = "_palik"
#: Refractive indices at 589 nm, as tables of physics have them.
IORS = {
    "vacuum": 1.0,
    "helium": 1.000036,
    "hydrogen": 1.000132,
    "air": 1.000277,
    "carbon dioxide": 1.00045,
    "water ice": 1.31,
    "water": 1.333,
    "acetone": 1.36,
    "ethanol": 1.361,
    "fused quartz": 1.458,
    "carbon tetrachloride": 1.461,
    "glycerol": 1.4729,
    "acrylic glass": 1.49,
    "polypropylene": 1.49,
    "benzene": 1.501,
    "silicone oil": 1.52045,
    "bk7": 1.5046,
    "sodium chloride": 1.544,
    "amber": 1.55,
    "pet": 1.575,
    "bromine": 1.661,
    "diamond": 2.419,
}
#: Plug-ins in whose place there is plain grey.
LEFT_OUT = ("difftrans", "hair", "hk", "irawan", "measured", "measured_polarized", "rtls")


class MitsubaSurfaces:
    """Reads BSDFs."""

    def __init__(self, reading: Reading, textures: MitsubaTextures) -> None:
        self.reading, self.textures = reading, textures
        self.default_metal = "Cu" if reading.is_old else IDEAL
        self._known: dict[XmlElement, MitsubaSurface] = {}

    def surface(self, element: XmlElement, depth: int = 0) -> MitsubaSurface:
        """Reads a <bsdf>."""
        if depth > MAX_DEPTH:
            raise element.error(f"BSDFs are nested deeper than {MAX_DEPTH}")
        if element not in self._known:
            properties = Properties(element, self.reading)
            build = BSDFS.get(properties.type, grey if properties.type in LEFT_OUT else None)
            if build is None:
                properties.unknown_type(BSDFS)
            surface = build(self, properties, depth)
            name = element.attributes.get("id") or surface.material.name
            self._known[element] = replace(surface, material=replace(surface.material, name=name))
        return self._known[element]

    def pattern(self, properties: Properties, name: str, default: Color) -> Pattern:
        """Reads a colour or texture."""
        return self.textures.pattern(properties, name, default)


# --- BSDFs ------------------------------------------------------------------------------------------------------------


def diffuse(surfaces: MitsubaSurfaces, properties: Properties, _: int) -> MitsubaSurface:
    """Reads Lambert's surface."""
    pattern = surfaces.pattern(properties, "reflectance", GREY)
    properties.finish()
    return MitsubaSurface(Material(name="diffuse", diffuse=pattern.color), pattern)


def grey(surfaces: MitsubaSurfaces, properties: Properties, _: int) -> MitsubaSurface:
    """Stands for a surface that is not read."""
    surfaces.reading.note_loss(properties.element, f"{properties.element.called} is not read: it is plain grey")
    return MitsubaSurface(Material(name="plain"))


def film(surfaces: MitsubaSurfaces, properties: Properties, _: int) -> MitsubaSurface:
    """Reads a film that changes the polarisation of light, of which a polariser takes half."""
    surfaces.reading.note_loss(properties.element, "light is not polarised")
    return NOTHING if properties.type == "retarder" else replace(
        NOTHING, material=replace(NOTHING.material, transmittance=0.5)
    )  # fmt: skip


def rough_diffuse(surfaces: MitsubaSurfaces, properties: Properties, depth: int) -> MitsubaSurface:
    """Reads the surface of Oren and Nayar as that of Lambert."""
    properties.note(f"{properties.element.called} is smooth: as diffuse")
    properties.asked.update(("alpha", "use_fast_approx"))
    return diffuse(surfaces, properties, depth)


def null(_: MitsubaSurfaces, properties: Properties, __: int) -> MitsubaSurface:
    """Reads what is not there."""
    properties.finish()
    return NOTHING


def inner(surfaces: MitsubaSurfaces, properties: Properties, depth: int) -> MitsubaSurface:
    """Reads a BSDF that changes another, of which it returns the other one alone."""
    found = properties.within("bsdf")
    if not found:
        raise properties.element.error(f"expected a <bsdf> in {properties.element.called}")
    return surfaces.surface(found[0], depth + 1)


def twosided(surfaces: MitsubaSurfaces, properties: Properties, depth: int) -> MitsubaSurface:
    """Reads a BSDF for both sides, which all have here."""
    surface = inner(surfaces, properties, depth)
    if len(properties.within("bsdf")) > 1:
        properties.note("surfaces look alike from both sides: the second BSDF of a twosided one is left out")
    properties.finish()
    return surface


def relief(surfaces: MitsubaSurfaces, properties: Properties, depth: int) -> MitsubaSurface:
    """Reads a BSDF whose normals are bent by a picture of normals or of heights, if there is one."""
    surface = inner(surfaces, properties, depth)
    found = properties.within("texture")
    factor = properties.number("scale", 1.0)
    properties.finish("flip_invalid_normals", "use_shadowing_function", "normalmap", "name")
    if not found or found[0].attributes.get("type") not in TEXTURES:
        properties.note(f"{properties.element.called} has no texture that is read, and bends nothing")
        return surface
    pattern = surfaces.textures.texture(found[0])
    if pattern.texture is None:
        return surface
    texture = without_alpha(pattern.texture)
    if properties.type == "normalmap":
        normals = replace(pattern, texture=replace(texture, is_linear=True, pixels=upside_down(texture.pixels)))
        return with_map(surface, "normal_map", normals, properties)
    scale = factor * sum(pattern.color) / 3.0
    bumpy = replace(surface, material=replace(surface.material, bump_scale=scale))
    return with_map(bumpy, "bump_map", replace(pattern, texture=texture), properties)


def upside_down(normals: Bytes) -> Bytes:
    """Returns the bytes of a normal map whose green runs down the image, along v, as those of one where it runs up."""
    turned = normals.copy()
    turned[..., 1] = np.minimum(256 - normals[..., 1].astype(np.int32), 255)
    return turned


def masked(surfaces: MitsubaSurfaces, properties: Properties, depth: int) -> MitsubaSurface:
    """Reads a BSDF with holes where a picture says so; where a number says so, some of the light goes through."""
    surface = inner(surfaces, properties, depth)
    opacity = surfaces.textures.numbers(properties, "opacity", 0.5)
    properties.finish()
    if opacity.texture is None:
        return seen_through(surface, opacity, properties)
    if opacity.color != WHITE:
        properties.note("a factor of the picture of an opacity is left out")
    if not surface.has_picture:
        surface = replace(surface, pattern=replace(surface.pattern, to_uv=opacity.to_uv))
    elif not (surface.to_uv == opacity.to_uv).all():
        surfaces.reading.note_loss(properties.element, UNLIKE)
        return seen_through(surface, Pattern(opacity.mean), properties)
    properties.note("an opacity by a picture is all or nothing: what is below one half is cut out")
    return replace(surface, mask=without_alpha(opacity.texture))


def seen_through(surface: MitsubaSurface, opacity: Pattern, properties: Properties) -> MitsubaSurface:
    """Returns a surface that lets light through, as if it were not there, where it is not opaque."""
    share = 1.0 - opacity.grey
    if share <= 0.0:
        return surface
    veil, is_exact = mixed(surface, NOTHING, Pattern((share, share, share)))
    if not is_exact:
        properties.note("a surface that is seen through shines by Phong's numbers, without pictures but that of colour")
    return veil


def blend(surfaces: MitsubaSurfaces, properties: Properties, depth: int) -> MitsubaSurface:
    """Reads a mixture of two BSDFs."""
    weight = surfaces.textures.numbers(properties, "weight", 0.5)
    found = properties.within("bsdf")
    properties.finish()
    if len(found) != 2:
        raise properties.element.error(f"expected two BSDFs in {properties.element.called}, got {len(found)}")
    first, second = (surfaces.surface(element, depth + 1) for element in found)
    return noted_blend(first, second, weight, properties)


def mixture(surfaces: MitsubaSurfaces, properties: Properties, depth: int) -> MitsubaSurface:
    """Reads a sum of BSDFs with weights, as 0.6 has it; what is missing to 1 is black."""
    found = properties.within("bsdf")
    text = properties.text("weights")
    properties.finish()
    weights = numbers(properties.element, text, max(len(found), 1))
    if not found or min(weights) < 0.0 or not 0.0 < sum(weights) <= 1.0 + 1e-6:
        raise properties.element.error(f"expected BSDFs with weights not below 0 and of at most 1 in all, got {text!r}")
    surface, total = surfaces.surface(found[0], depth + 1), weights[0]
    for element, weight in zip(found[1:], weights[1:], strict=True):
        total += weight
        share = weight / total if total > 0.0 else 0.0
        surface = noted_blend(surface, surfaces.surface(element, depth + 1), Pattern((share,) * 3), properties)
    lost = max(1.0 - total, 0.0)
    black = MitsubaSurface(Material(name="black", diffuse=BLACK))
    return surface if lost < 1e-6 else noted_blend(surface, black, Pattern((lost,) * 3), properties)


def noted_blend(
    first: MitsubaSurface, second: MitsubaSurface, weight: Pattern, properties: Properties
) -> MitsubaSurface:
    """Returns a mixture of two surfaces, with a note if it is only like it."""
    surface, is_exact = mixed(first, second, weight)
    if not is_exact:
        what = "of one kind has the numbers between, and one of two kinds shines by Phong's"
        properties.note(f"a blend {what}; of its pictures those of colour count, and the mean of its weight's else")
    return surface


def coating(surfaces: MitsubaSurfaces, properties: Properties, depth: int) -> MitsubaSurface:
    """Reads a clear coat of 0.6: over what is diffuse it is plastic, else it is left out."""
    below = inner(surfaces, properties, depth)
    ratio, rough = relative_ior(properties, IORS["bk7"]), roughness(properties)
    properties.left_out("sigma_a", "thickness", "specular_reflectance")
    properties.finish(*MICROFACETS)
    if below.material.kind != "diffuse":
        properties.note("a coat over what is not diffuse is left out")
        return below
    return replace(below, material=metallic(below.material.name, below.material.diffuse, 0.0, rough, ratio))


def phong(surfaces: MitsubaSurfaces, properties: Properties, _: int) -> MitsubaSurface:
    """Reads Phong's or Ward's surface of 0.6 as a diffuse one with Phong's lobe."""
    pattern = surfaces.pattern(properties, "diffuse_reflectance", GREY)
    specular = surfaces.pattern(properties, "specular_reflectance", scaled(WHITE, 0.2)).mean
    alpha = roughness(properties) ** 2
    power = properties.number("exponent", 30.0) if properties.type == "phong" else phong_power(alpha)
    properties.finish("variant", *MICROFACETS)
    properties.note(f"{properties.element.called} is one of kind nff, of which some mirrors")
    made = Material(name="phong", kind="nff", diffuse=pattern.color, specular=specular, exponent=max(power, 0.0))
    return MitsubaSurface(made, pattern)


def metal(surfaces: MitsubaSurfaces, properties: Properties, _: int) -> MitsubaSurface:
    """Reads a smooth or rough conductor."""
    eta, k = metal_index(surfaces, properties)
    tint = surfaces.pattern(properties, "specular_reflectance", WHITE)
    rough = spread(surfaces, properties)
    properties.finish(*MICROFACETS)
    material = Material(
        name="conductor", kind="metal", diffuse=BLACK, specular=tint.color, roughness=rough.color[0], eta=eta, k=k
    )
    surface = with_map(MitsubaSurface(material), "specular_map", tint, properties)
    return with_map(surface, "roughness_map", rough, properties)


def metal_index(surfaces: MitsubaSurfaces, properties: Properties) -> tuple[Color, Color]:
    """Returns the index eta + i k of a conductor, by numbers or by its element's symbol; black where all light is
    reflected."""
    name = properties.text("material", surfaces.default_metal)
    symbol = name.removesuffix(MEASURED)
    given = {each: properties.take(each, *COLORS) for each in ("eta", "k")}
    outside = ior(properties, "ext_eta", 1.0)
    if not outside > 0.0:
        raise properties.element.error(f"expected an ext_eta above 0, got {outside:g}")
    if given["eta"] is None and given["k"] is None:
        if symbol not in INDICES:
            there = listed(INDICES)
            raise properties.element.error(f"unknown material {name!r} of a conductor; there are: {there}")
        eta, k = INDICES[symbol]
    else:
        eta, k = (
            BLACK if each is None else surfaces.reading.attempt(BLACK, index, each, surfaces.reading)
            for each in given.values()
        )
    return scaled(eta, 1.0 / outside), scaled(k, 1.0 / outside)


def roughness(properties: Properties) -> float:
    """Returns the root of the alpha of microfacets, 0 for a smooth surface. Of one alpha along each axis it is that of
    their geometric mean."""
    if properties.type not in ROUGH:
        return 0.0
    tell_distribution(properties)
    alpha = properties.number("alpha", 0.1)
    both = properties.number("alpha_u", alpha) * properties.number("alpha_v", alpha)
    if not 0.0 <= both <= 1.0:
        raise properties.element.error(f"expected an alpha from 0 to 1, got {both:g} as the product of both axes'")
    return both**0.25


def tell_distribution(properties: Properties) -> None:
    """Notes where microfacets are not of the distribution that the file asks for."""
    distribution = properties.text("distribution", "beckmann")
    if distribution != "ggx":
        properties.note(f"microfacets of the distribution {distribution!r} are those of GGX with the same alpha")


def spread(surfaces: MitsubaSurfaces, properties: Properties) -> Pattern:
    """Returns the roots of the alphas of microfacets, as a texture or one grey."""
    element = properties.named.get("alpha")
    if element is None or element.tag != "texture":
        return Pattern(scaled(WHITE, roughness(properties)))
    tell_distribution(properties)
    return rooted(surfaces.textures.numbers(properties, "alpha", 1.0))


def clear(surfaces: MitsubaSurfaces, properties: Properties, _: int) -> MitsubaSurface:
    """Reads glass of some index, smooth or rough, that takes the same share of what it reflects and lets through."""
    index = relative_ior(properties, IORS["bk7"])
    through = transmittance(surfaces, properties)
    rough = spread(surfaces, properties)
    mirrored = sum(surfaces.pattern(properties, "specular_reflectance", WHITE).mean) / 3.0
    if abs(mirrored - through) > 1e-3:
        properties.note("glass reflects the same share of light that it lets through: specular_transmittance counts")
    properties.finish(*MICROFACETS)
    surface = MitsubaSurface(glass("glass", index, through, rough.color[0]))
    return with_map(surface, "roughness_map", rough, properties)


def transmittance(surfaces: MitsubaSurfaces, properties: Properties) -> float:
    """Returns the share of light that is let through, in the mean over the channels."""
    color = surfaces.pattern(properties, "specular_transmittance", WHITE).mean
    if max(color) - min(color) > 1e-3:
        properties.note("what lets light through has no colour: the mean of its channels counts")
    return sum(color) / 3.0


def pane(surfaces: MitsubaSurfaces, properties: Properties, _: int) -> MitsubaSurface:
    """Reads a thin pane, `microfacets.pane`, of which a part may be absorbed."""
    clear = microfacets.pane("pane", relative_ior(properties, IORS["bk7"]))
    through = transmittance(surfaces, properties)
    mirror = multiplied(surfaces.pattern(properties, "specular_reflectance", WHITE).mean, clear.specular)
    properties.finish()
    return MitsubaSurface(replace(clear, specular=mirror, transmittance=through * clear.transmittance))


def plastic(surfaces: MitsubaSurfaces, properties: Properties, _: int) -> MitsubaSurface:
    """Reads a diffuse surface under a smooth or rough coat."""
    if properties.type == "pplastic":
        surfaces.reading.note_loss(properties.element, "light is not polarised")
    ratio = relative_ior(properties, IORS["polypropylene"])
    pattern = surfaces.pattern(properties, "diffuse_reflectance", GREY)
    coat = surfaces.pattern(properties, "specular_reflectance", WHITE)
    rough = spread(surfaces, properties)
    is_deeper = properties.flag("nonlinear", False)
    properties.left_out("specular_transmittance")
    properties.finish(*MICROFACETS)
    material = metallic("plastic", pattern.color, 0.0, rough.color[0], ratio)
    if is_deeper:
        material = replace(material, kind="plastic", own={})
    if coat.color != WHITE or coat.texture is not None:
        properties.note("what specular_reflectance takes from a coat goes to what is below it")
    if coat.color != WHITE:
        material = replace(material, own={**material.own, "specular_weight": coat.color})
    surface = with_map(MitsubaSurface(material, pattern), "roughness_map", rough, properties)
    return with_map(surface, "specular_map", coat, properties)


def disney(surfaces: MitsubaSurfaces, properties: Properties, _: int) -> MitsubaSurface:
    """Reads a surface of many numbers."""
    return principled(surfaces.textures, properties)


def relative_ior(properties: Properties, default: float) -> float:
    """Returns the index of the inside over that of the outside."""
    inside, outside = ior(properties, "int_ior", default), ior(properties, "ext_ior", IORS["air"])
    if not (inside > 0.0 and outside > 0.0):
        raise properties.element.error(f"expected indices of refraction above 0, got {inside:g} and {outside:g}")
    return inside / outside


def ior(properties: Properties, name: str, default: float) -> float:
    """Returns an index of refraction, by number or by the name of what has it."""
    element = properties.take(name, "float", "integer", "string")
    if element is None:
        return default
    value = element.need("value")
    if element.tag != "string":
        return numbers(element, value, 1)[0]
    if value not in IORS:
        raise element.error(f"unknown material {value!r} with an index; there are: {listed(IORS)}")
    return IORS[value]


#: Types that have a roughness, and parameters of it that change no picture, or are told of elsewhere.
ROUGH = ("pplastic", "roughcoating", "roughconductor", "roughdielectric", "roughplastic", "ward")
MICROFACETS = ("distribution", "sample_visible", "name")

BSDFS: dict[str, Callable[[MitsubaSurfaces, Properties, int], MitsubaSurface]] = {
    "blendbsdf": blend,
    "bumpmap": relief,
    "circular": film,
    "coating": coating,
    "conductor": metal,
    "dielectric": clear,
    "diffuse": diffuse,
    "mask": masked,
    "mixturebsdf": mixture,
    "normalmap": relief,
    "null": null,
    "phong": phong,
    "plastic": plastic,
    "polarizer": film,
    "pplastic": plastic,
    "principled": disney,
    "principledthin": disney,
    "retarder": film,
    "roughcoating": coating,
    "roughconductor": metal,
    "roughdielectric": clear,
    "roughdiffuse": rough_diffuse,
    "roughplastic": plastic,
    "thindielectric": pane,
    "twosided": twosided,
    "ward": phong,
}
