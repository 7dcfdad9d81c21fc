"""This module turns BSDFs and textures into materials: one function for each type, found by its name in `BSDFS`."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from scenes.metals import BY_SYMBOL
from scenes.microfacets import BLACK, added, glass, multiplied, normal_reflectance, phong_power, scaled
from scenes.mitsuba.elements import Element, listed
from scenes.mitsuba.properties import COLORS, Properties, color, numbers, transform
from scenes.model import Color, Doubles, Material, Texture
from scenes.palette import mean_color, srgb
from scenes.srgb import decoded
from scenes.texture_file import read_texture

#: How deep BSDFs may be nested in BSDFs.
MAX_DEPTH = 16
PICTURE_FORMATS = ("PNG", "JPEG", "PPM", "BMP", "TGA")
#: Texels of a side of a checkerboard, which is two squares wide: their borders blur over one of them.
CHECKERBOARD_SIDE = 256
#: What textures are beyond their edges and between texels; mirrored ones repeat.
WRAPS, FILTERS = {"clamp": "clamp"}, {"nearest": "nearest", "trilinear": "mip", "ewa": "mip"}
WHITE: Color = (1.0, 1.0, 1.0)
HALF: Color = (0.5, 0.5, 0.5)
#: The name of a conductor that reflects all light.
IDEAL = "none"
#: What can be blended.
BLENDED = ("diffuse", "conductor and roughconductor without eta", "dielectric", "blendbsdf")
#: All of a pane's shine but a hundredth is a mirror, to kind nff.
PANE_EXPONENT = 10_000.0
#: Refractive indices at 589 nm, as tables of physics have them.
IORS = {
    "vacuum": 1.0,
    "air": 1.000277,
    "water": 1.333,
    "acrylic glass": 1.49,
    "polypropylene": 1.49,
    "bk7": 1.5046,
    "diamond": 2.419,
}


@dataclass(frozen=True, eq=False)
class Pattern:
    """Holds a colour, times a texture that is looked up after a (3, 3) map of texture coordinates."""

    color: Color
    texture: Texture | None = None
    to_uv: Doubles = field(default_factory=lambda: np.eye(3))

    @property
    def mean(self) -> Color:
        """Returns the pattern's colour, for where there is no texture."""
        if self.texture is None:
            return self.color
        red, green, blue = self.texture.pixels.mean(axis=(0, 1)).tolist()
        raw = (red / 255.0, green / 255.0, blue / 255.0)
        return multiplied(self.color, raw if self.texture.is_linear else mean_color(self.texture.pixels))


@dataclass(frozen=True, eq=False)
class Surface:
    """Holds a material without texture, the pattern that colours what is diffuse of it, the picture of its holes, and
    other patterns by the fields of a material."""

    material: Material
    pattern: Pattern = field(default_factory=lambda: Pattern(BLACK))
    mask: Texture | None = None
    maps: dict[str, Pattern] = field(default_factory=dict)

    @property
    def to_uv(self) -> Doubles:
        """Returns the map of texture coordinates that all its pictures have."""
        patterns = [self.pattern, *self.maps.values()]
        return next((each.to_uv for each in patterns if each.texture is not None), self.pattern.to_uv)


class Surfaces:
    """Reads BSDFs.

    ids: elements by id.
    copper: whether metals without a name are copper, as in Mitsuba 0.6.
    """

    def __init__(self, ids: dict[str, Element], copper: bool) -> None:
        self.ids = ids
        self.default_metal = "Cu" if copper else IDEAL
        self._known: dict[Element, Surface] = {}
        self._textures: dict[Element, Pattern] = {}

    def surface(self, element: Element, depth: int = 0) -> Surface:
        """Reads a <bsdf>."""
        if depth > MAX_DEPTH:
            raise element.error(f"BSDFs are nested deeper than {MAX_DEPTH}")
        if element not in self._known:
            properties = Properties(element, self.ids)
            build = BSDFS.get(properties.type)
            if build is None:
                properties.unknown_type(BSDFS)
            surface = build(self, properties, depth)
            name = element.attributes.get("id") or surface.material.name
            self._known[element] = replace(surface, material=replace(surface.material, name=name))
        return self._known[element]

    def pattern(self, properties: Properties, name: str, default: Color) -> Pattern:
        """Reads a colour or texture."""
        element = properties.take(name, *COLORS, "texture")
        if element is None:
            return Pattern(default)
        if element.tag != "texture":
            return Pattern(at_most_one(color(element)))
        if element not in self._textures:
            self._textures[element] = self.texture(Properties(element, self.ids))
        return self._textures[element]

    def texture(self, properties: Properties) -> Pattern:
        """Reads a <texture>."""
        if properties.type == "bitmap":
            return bitmap(properties)
        if properties.type == "checkerboard":
            return checkerboard(properties)
        properties.unknown_type(("bitmap", "checkerboard"))


def at_most_one(reflectance: Color) -> Color:
    """Returns a reflectance with channels of at most 1, so that no more light leaves than comes in."""
    red, green, blue = (min(channel, 1.0) for channel in reflectance)
    return (red, green, blue)


# --- textures ---------------------------------------------------------------------------------------------------------


def bitmap(properties: Properties) -> Pattern:
    """Reads a picture; its first row is v = 0."""
    is_linear = properties.flag("raw")
    texture = read_texture(properties.element.path.parent / properties.text("filename"), PICTURE_FORMATS)
    return finished_texture(properties, replace(texture, is_linear=is_linear))


def checkerboard(properties: Properties) -> Pattern:
    """Makes two by two squares for each unit of texture coordinates."""
    colors = [properties.color("color0", (0.4, 0.4, 0.4)), properties.color("color1", (0.2, 0.2, 0.2))]
    first, second = srgb(np.array([at_most_one(each) for each in colors]))
    right = np.arange(CHECKERBOARD_SIDE) >= CHECKERBOARD_SIDE // 2
    pixels = np.where((right[:, None] == right)[..., None], first, second).astype(np.uint8)
    return finished_texture(properties, Texture(name="checkerboard", pixels=pixels))


def finished_texture(properties: Properties, texture: Texture) -> Pattern:
    """Returns a texture with the map of its coordinates, which 0.6 and 3 give in different ways."""
    to_uv = np.eye(3)
    to_uv[:2, 2] = properties.number("uoffset", 0.0), properties.number("voffset", 0.0)
    to_uv[0, 0], to_uv[1, 1] = properties.number("uscale", 1.0), properties.number("vscale", 1.0)
    element = properties.take("to_uv", "transform")
    if element is not None:
        matrix = transform(element)
        to_uv = np.array([[*matrix[0, :2], matrix[0, 3]], [*matrix[1, :2], matrix[1, 3]], [0.0, 0.0, 1.0]])
    wrap, filtered = properties.text("wrap_mode", "repeat"), properties.text("filter_type", "bilinear")
    properties.finish("wrap_mode_u", "wrap_mode_v", "format", "accel", "max_anisotropy")
    looked_at = replace(texture, wrap=WRAPS.get(wrap, "repeat"), filter=FILTERS.get(filtered, "bilinear"))
    return Pattern(WHITE, looked_at, to_uv)


# --- BSDFs ------------------------------------------------------------------------------------------------------------


def diffuse(surfaces: Surfaces, properties: Properties, _: int) -> Surface:
    """Reads Lambert's surface."""
    pattern = surfaces.pattern(properties, "reflectance", HALF)
    properties.finish()
    return Surface(Material(name="diffuse", diffuse=pattern.color), pattern)


def inner(surfaces: Surfaces, properties: Properties, depth: int) -> Surface:
    """Reads a BSDF that changes another, of which it returns the other one alone."""
    found = properties.within("bsdf")
    if not found:
        raise properties.element.error(f"expected a <bsdf> in {properties.element.called}")
    return surfaces.surface(found[0], depth + 1)


def with_map(surface: Surface, name: str, pattern: Pattern, element: Element) -> Surface:
    """Returns a surface with another picture. name: the field of its material."""
    has_picture = surface.maps or surface.pattern.texture is not None or surface.mask is not None
    if has_picture and not np.array_equal(surface.to_uv, pattern.to_uv):
        raise element.error("all textures of a surface must map texture coordinates alike")
    return replace(surface, maps=surface.maps | {name: pattern})


def relief(surfaces: Surfaces, properties: Properties, depth: int) -> Surface:
    """Reads a BSDF whose normals are bent by a picture of normals or of heights, if there is one."""
    surface = inner(surfaces, properties, depth)
    elements = [*properties.named.values(), *properties.objects]
    found = [each for each in elements if each.tag == "texture" and each.attributes.get("type") == "bitmap"]
    if not found:
        return surface
    pattern = surfaces.texture(Properties(found[0], surfaces.ids))
    assert pattern.texture is not None
    if properties.type == "normalmap":
        normals = replace(pattern, texture=replace(pattern.texture, is_linear=True))
        return with_map(surface, "normal_map", normals, found[0])
    material = replace(surface.material, bump_scale=properties.number("scale", 1.0))
    return with_map(replace(surface, material=material), "bump_map", pattern, found[0])


def masked(surfaces: Surfaces, properties: Properties, depth: int) -> Surface:
    """Reads a BSDF with holes where a picture says so. Of an opacity without picture nothing is seen."""
    surface = inner(surfaces, properties, depth)
    element = properties.take("opacity", *COLORS, "texture")
    if element is None or element.tag != "texture":
        return surface
    within = Properties(element, surfaces.ids)
    within.named.pop("raw", None)  # its bytes are taken as they are anyway
    opacity = surfaces.texture(within)
    if surface.pattern.texture is None and not surface.maps:
        surface = replace(surface, pattern=replace(surface.pattern, to_uv=opacity.to_uv))
    elif not np.array_equal(surface.to_uv, opacity.to_uv):
        raise element.error("an opacity and the colour below must map texture coordinates alike")
    assert opacity.texture is not None
    return replace(surface, mask=replace(opacity.texture, alpha=None))


def metal(surfaces: Surfaces, properties: Properties, _: int) -> Surface:
    """Reads a smooth or rough conductor."""
    eta, k = metal_index(surfaces, properties)
    tint = surfaces.pattern(properties, "specular_reflectance", WHITE)
    spread = roughness_pattern(surfaces, properties)
    rough = roughness(properties) if spread is None else 1.0
    properties.finish("distribution", "sample_visible")
    material = Material(
        name="conductor", kind="metal", diffuse=BLACK, specular=tint.color, roughness=rough, eta=eta, k=k
    )
    surface = Surface(material)
    if tint.texture is not None:
        surface = with_map(surface, "specular_map", tint, properties.element)
    return surface if spread is None else with_map(surface, "roughness_map", spread, properties.element)


def metal_index(surfaces: Surfaces, properties: Properties) -> tuple[Color, Color]:
    """Returns the index eta + i k of a conductor, by numbers or by its element's symbol; black where all light is
    reflected."""
    name = properties.text("material", surfaces.default_metal)
    if name != IDEAL and name not in BY_SYMBOL:
        there = listed([*BY_SYMBOL, IDEAL])
        raise properties.element.error(f"unknown material {name!r} of a conductor; there are: {there}")
    k = properties.color("k", BLACK)
    if properties.take("eta", *COLORS) is not None:
        return properties.color("eta", BLACK), k
    return (BLACK, BLACK) if name == IDEAL else (BY_SYMBOL[name].eta, BY_SYMBOL[name].k)


def roughness(properties: Properties) -> float:
    """Returns the root of the alpha of microfacets, 0 for a smooth surface. Of one alpha along each axis it is that of
    their geometric mean."""
    if not properties.type.startswith("rough"):
        return 0.0
    alpha = properties.number("alpha", 0.1)
    both = properties.number("alpha_u", alpha) * properties.number("alpha_v", alpha)
    if not 0.0 <= both <= 1.0:
        raise properties.element.error(f"expected an alpha from 0 to 1, got {both:g} as the product of both axes'")
    return both**0.25


def roughness_pattern(surfaces: Surfaces, properties: Properties) -> Pattern | None:
    """Returns the roots of a texture of alphas, if there is one."""
    element = properties.named.get("alpha")
    if element is None or element.tag != "texture":
        return None
    pattern = surfaces.pattern(properties, "alpha", WHITE)
    assert pattern.texture is not None
    texture = pattern.texture
    alphas = texture.pixels / 255.0 if texture.is_linear else decoded(texture.pixels)
    roots = np.rint(255.0 * np.sqrt(alphas)).astype(np.uint8)
    return replace(pattern, texture=replace(texture, pixels=roots, is_linear=True))


def clear(surfaces: Surfaces, properties: Properties, _: int) -> Surface:
    """Reads glass of some index, smooth or rough."""
    index = relative_ior(properties, IORS["bk7"])
    through = sum(surfaces.pattern(properties, "specular_transmittance", WHITE).mean) / 3.0
    rough = roughness(properties)
    properties.finish("specular_reflectance", "distribution", "sample_visible")
    return Surface(glass("glass", index, through, rough))


def pane(surfaces: Surfaces, properties: Properties, _: int) -> Surface:
    """Reads a thin pane, which bends no light and reflects at all angles, at both its faces, what it does at
    normal incidence."""
    once = normal_reflectance(relative_ior(properties, IORS["bk7"]))
    both = 2.0 * once / (1.0 + once)
    through = sum(surfaces.pattern(properties, "specular_transmittance", WHITE).mean) / 3.0
    mirror = scaled(surfaces.pattern(properties, "specular_reflectance", WHITE).mean, both)
    properties.finish()
    rest = through * (1.0 - both)
    material = Material(
        name="pane", kind="nff", diffuse=BLACK, specular=mirror, exponent=PANE_EXPONENT, transmittance=rest, ior=1.0
    )
    return Surface(material)


def plastic(surfaces: Surfaces, properties: Properties, _: int) -> Surface:
    """Reads a diffuse surface under a smooth or rough coat."""
    index = relative_ior(properties, IORS["polypropylene"])
    pattern = surfaces.pattern(properties, "diffuse_reflectance", HALF)
    spread = roughness_pattern(surfaces, properties)
    rough = roughness(properties) if spread is None else 1.0
    properties.finish("specular_reflectance", "distribution", "sample_visible", "nonlinear")
    material = Material(name="plastic", kind="plastic", diffuse=pattern.color, ior=index, roughness=rough)
    surface = Surface(material, pattern)
    return surface if spread is None else with_map(surface, "roughness_map", spread, properties.element)


def blend(surfaces: Surfaces, properties: Properties, depth: int) -> Surface:
    """Reads a mixture of two BSDFs: of what is diffuse, metals that reflect alike at all angles, smooth glass, and
    mixtures of these."""
    found, weight = properties.within("bsdf"), properties.number("weight", 0.5)
    if len(found) != 2 or not 0.0 <= weight <= 1.0:
        raise properties.element.error(f"expected two BSDFs and a weight from 0 to 1, got {len(found)} and {weight:g}")
    properties.finish()
    parts = [surfaces.surface(element, depth + 1) for element in found]
    first, second = (mixed(part, element) for part, element in zip(parts, found, strict=True))
    through = (1.0 - weight) * first.transmittance + weight * second.transmittance
    material = Material(
        name="blend",
        kind="nff",
        diffuse=added(scaled(first.diffuse, 1.0 - weight), scaled(second.diffuse, weight)),
        specular=added(scaled(first.specular, 1.0 - weight), scaled(second.specular, weight)),
        exponent=min((part.exponent for part in (first, second) if any(part.specular)), default=0.0),
        transmittance=through,
        ior=second.ior if second.transmittance > 0.0 else first.ior,
    )
    textured = [part.pattern for part in parts if part.pattern.texture is not None]
    if len(textured) > 1:
        raise properties.element.error("expected a texture in one of two BSDFs that are blended, got one in each")
    return Surface(material, textured[0] if textured else Pattern(material.diffuse))


def mixed(surface: Surface, element: Element) -> Material:
    """Returns a part of a blend as the mixture of kind nff that it is."""
    material = surface.material
    is_even = material.kind == "metal" and not any(material.eta)
    is_smooth_glass = material.kind == "dielectric" and material.roughness == 0.0
    if surface.maps or surface.mask or not (material.kind in ("diffuse", "nff") or is_even or is_smooth_glass):
        raise element.error(f"{element.called} is not supported in a blendbsdf; there are: {', '.join(BLENDED)}")
    if is_even:
        return replace(material, exponent=phong_power(material.roughness**2) if material.roughness else PANE_EXPONENT)
    return replace(material, specular=BLACK) if material.kind in ("diffuse", "dielectric") else material


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


BSDFS: dict[str, Callable[[Surfaces, Properties, int], Surface]] = {
    "diffuse": diffuse,
    "twosided": inner,
    "mask": masked,
    "blendbsdf": blend,
    "bumpmap": relief,
    "normalmap": relief,
    "conductor": metal,
    "roughconductor": metal,
    "dielectric": clear,
    "roughdielectric": clear,
    "thindielectric": pane,
    "plastic": plastic,
    "roughplastic": plastic,
}
