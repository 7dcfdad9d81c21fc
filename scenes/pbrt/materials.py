"""This module turns materials into those that there are: one function for each type, by its name in `MATERIALS`."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

import numpy as np

from scenes.materials.metals import BY_SYMBOL
from scenes.materials.microfacets import BLACK, DEFAULT_IOR, GREY, WHITE, added, glass, metal_color, pane, scaled
from scenes.materials.mixing import mixed_material
from scenes.materials.patterns import Pattern, combined
from scenes.model import Color, Doubles, Material, Texture
from scenes.pbrt.colors import INDEX, INDICES, color
from scenes.pbrt.files import PbrtFiles
from scenes.pbrt.parameters import Parameters
from scenes.pbrt.textures import PICTURE_FORMATS, PbrtTextures, reflectances
from scenes.pbrt.tokens import FileLine
from scenes.pictures.texture_file import OPAQUE, read_texture

MAX_IOR = 100.0
#: A reflectance of a metal reaches so far, so that its coefficient is finite.
MAX_REFLECTANCE = 0.9999


@dataclass(frozen=True, eq=False)
class MappedMaterial:
    """Holds a material without pictures, and its pictures by the fields of a material, which map coordinates alike."""

    material: Material
    pictures: dict[str, Texture] = field(default_factory=dict)
    to_uv: Doubles = field(default_factory=lambda: np.eye(3))


#: The look of what says nothing about its material.
PLAIN = MappedMaterial(Material(name="diffuse"))


class Looks:
    """Makes the looks of materials, and holds the named ones; None is what light passes as if nothing were there."""

    def __init__(self, files: PbrtFiles, textures: PbrtTextures) -> None:
        self.files, self.textures = files, textures
        self.named: dict[str, MappedMaterial | None] = {}

    def look(self, kind: str, parameters: Parameters) -> MappedMaterial | None:
        """Makes the look of a material of a type."""
        if kind in ("interface", "none", ""):
            return None
        build = MATERIALS.get(kind)
        if build is None:
            hint = "; pbrt --upgrade turns files of version 3 into those of version 4" if kind in OLD else ""
            raise parameters.error(
                f"unknown material {kind[:80]!r}; there are: {', '.join(MATERIALS)}, interface{hint}"
            )
        look = build(self, parameters)
        return None if look is None else self.with_relief(look, parameters)

    def of_name(self, name: str, place: FileLine) -> MappedMaterial | None:
        """Returns the look of a named material. place: where it is asked for."""
        if name not in self.named:
            raise place.unmade("material", name)
        return self.named[name]

    def with_picture(
        self, look: MappedMaterial, field_name: str, pattern: Pattern, parameters: Parameters
    ) -> MappedMaterial:
        """Returns a look with one more picture. One that maps coordinates in another way than those there is is left
        out, which a note says."""
        if pattern.texture is None:
            return look
        if look.pictures and not np.array_equal(look.to_uv, pattern.to_uv):
            message = f"a {field_name} is left out that maps texture coordinates in another way than the first texture"
            self.files.tell(parameters.place, message)
            return look
        return replace(look, pictures=look.pictures | {field_name: pattern.texture}, to_uv=pattern.to_uv)

    def with_relief(self, look: MappedMaterial, parameters: Parameters) -> MappedMaterial:
        """Returns a look with the pictures of normals and heights that a material has."""
        item = parameters.find("normalmap", "string")
        texture = None
        if item is not None:
            texture = self.files.picture(item, lambda path: read_texture(path, PICTURE_FORMATS), "it is left out")
        if texture is not None:
            normals = replace(texture, alpha=None, is_linear=True)
            look = self.with_picture(look, "normal_map", Pattern(WHITE, normals), parameters)
        heights = self.textures.number(parameters, "displacement", 0.0)
        if heights.texture is None or item is not None:
            return look
        scale = max(heights.color)
        raised = self.with_picture(look, "bump_map", heights, parameters)
        return replace(raised, material=replace(raised.material, bump_scale=scale)) if raised is not look else look

    def dyed(
        self, material: Material, parameters: Parameters, default: Color, name: str = "reflectance"
    ) -> MappedMaterial:
        """Returns a look whose diffuse reflectance is a parameter."""
        pattern = reflectances(self.textures.color(parameters, name, default))
        look = MappedMaterial(replace(material, diffuse=pattern.color))
        return self.with_picture(look, "texture", pattern, parameters)

    def roughened(self, look: MappedMaterial, parameters: Parameters, prefix: str = "") -> MappedMaterial:
        """Returns a look that is as rough as the parameters say."""
        both = self.textures.number(parameters, f"{prefix}roughness", 0.0)
        parts = [self.textures.number(parameters, f"{prefix}{axis}roughness", math.nan) for axis in "uv"]
        along = [both if math.isnan(part.color[0]) else part for part in parts]
        remapped = parameters.flag("remaproughness", True)
        if along[0] is along[1] and both.texture is not None:
            return self.roughness_picture(look, both, remapped, parameters)
        values = [sum(part.mean) / 3.0 for part in along]
        if values[0] != values[1]:
            self.files.tell(parameters.place, "a roughness with a direction is replaced by the mean of both axes")
        if any(part.texture is not None for part in along):
            self.files.tell(parameters.place, "textures of uroughness and vroughness are replaced by their means")
        alpha = math.sqrt(max(values[0], 0.0) * max(values[1], 0.0))
        return replace(look, material=replace(look.material, roughness=float(root_of(np.array(alpha), remapped))))

    def roughness_picture(
        self, look: MappedMaterial, pattern: Pattern, remapped: bool, parameters: Parameters
    ) -> MappedMaterial:
        roots = root_of(pattern.values.mean(axis=-1, keepdims=True), remapped)
        pixels = np.repeat(np.rint(OPAQUE * roots).astype(np.uint8), 3, axis=2)
        assert pattern.texture is not None
        texture = replace(pattern.texture, pixels=pixels, is_linear=True)
        made = self.with_picture(look, "roughness_map", replace(pattern, texture=texture), parameters)
        mean = 1.0 if made is not look else float(roots.mean())
        return replace(made, material=replace(made.material, roughness=mean))


def root_of(roughness: Doubles, remapped: bool) -> Doubles:
    """Returns the root of the alpha of microfacets, 0..1. remapped: whether alpha is the root of the roughness."""
    bounded = np.clip(roughness, 0.0, 1.0)
    return bounded**0.25 if remapped else bounded**0.5


def index_of(looks: Looks, parameters: Parameters, name: str = "eta") -> float:
    """Takes an index of refraction; of a spectrum it is that of green light."""
    item = parameters.find(name, "float", "spectrum", "rgb", "texture")
    if item is None:
        return DEFAULT_IOR
    if item.type == "texture":
        return looks.textures.number(parameters, name, DEFAULT_IOR).mean[1]
    if isinstance(item.value, str) and item.value in INDICES:
        return INDICES[item.value]
    found = color(parameters, looks.files, name, INDEX)
    if found is None:
        return DEFAULT_IOR
    return parameters.between(item, found[1], 1.0 / MAX_IOR, MAX_IOR)


def diffuse(looks: Looks, parameters: Parameters) -> MappedMaterial:
    """Reads Lambert's surface."""
    return looks.dyed(Material(name="diffuse"), parameters, GREY)


def coated_diffuse(looks: Looks, parameters: Parameters) -> MappedMaterial:
    """Reads a diffuse surface under a coat, which is a plastic."""
    look = looks.dyed(Material(name="coateddiffuse", kind="plastic"), parameters, GREY)
    look = replace(look, material=replace(look.material, ior=index_of(looks, parameters)))
    skip_coat(looks, parameters)
    return looks.roughened(look, parameters)


def skip_coat(looks: Looks, parameters: Parameters) -> None:
    """Takes what is said of the inside of a coat, which is clear here."""
    parameters.skip("thickness", "g", "maxdepth", "nsamples", "twosided")
    if max(looks.textures.color(parameters, "albedo", BLACK).mean) > 0.0:
        looks.files.tell(parameters.place, "a coat is clear: its albedo counts for nothing")


def conductor(looks: Looks, parameters: Parameters) -> MappedMaterial:
    """Reads a metal."""
    return metal(looks, parameters, "")


def coated_conductor(looks: Looks, parameters: Parameters) -> MappedMaterial:
    """Reads a metal under a coat of index 1.5, in which it reflects by its index over that of the coat."""
    coat = looks.roughened(PLAIN, parameters, "interface.")
    if index_of(looks, parameters, "interface.eta") != DEFAULT_IOR:
        looks.files.tell(parameters.place, f"the coat of a coatedconductor has the index {DEFAULT_IOR}")
    if coat.pictures:
        looks.files.tell(parameters.place, "the coat of a coatedconductor is smooth: its texture is left out")
    skip_coat(looks, parameters)
    look = metal(looks, parameters, "conductor.")
    below = look.material
    own = {"coat": 1.0, "coat_roughness": 0.0 if coat.pictures else coat.material.roughness}
    eta, k = scaled(below.eta, 1.0 / DEFAULT_IOR), scaled(below.k, 1.0 / DEFAULT_IOR)
    return replace(look, material=replace(below, eta=eta, k=k, own=own))


def metal(looks: Looks, parameters: Parameters, prefix: str) -> MappedMaterial:
    """Reads a metal by its index and coefficient, or by what it reflects. prefix: of its parameters' names."""
    copper = BY_SYMBOL["Cu"]
    k_name = "k" if f"{prefix}k" not in parameters.named else f"{prefix}k"
    eta = looks.textures.color(parameters, f"{prefix}eta", copper.eta, INDEX)
    k = looks.textures.color(parameters, k_name, copper.k, INDEX)
    if eta.texture is not None or k.texture is not None:
        looks.files.tell(parameters.place, "textures of eta and k of a metal are replaced by their means")
    look = MappedMaterial(
        Material(name="conductor", kind="metal", diffuse=BLACK, specular=WHITE, eta=eta.mean, k=k.mean)
    )
    if "reflectance" in parameters.named:
        look = reflecting(looks, parameters, look)
    return looks.roughened(look, parameters, prefix)


def reflecting(looks: Looks, parameters: Parameters, look: MappedMaterial) -> MappedMaterial:
    """Returns a metal that reflects some colour at normal incidence: of index 1 and the coefficient that does it, or,
    where a texture says the colour, of none."""
    pattern = reflectances(looks.textures.color(parameters, "reflectance", WHITE))
    if pattern.texture is None:
        shares = [min(channel, MAX_REFLECTANCE) for channel in pattern.color]
        red, green, blue = (2.0 * math.sqrt(share) / math.sqrt(1.0 - share) for share in shares)
        return replace(look, material=replace(look.material, eta=WHITE, k=(red, green, blue)))
    material = replace(look.material, eta=BLACK, k=BLACK, specular=pattern.color)
    return looks.with_picture(replace(look, material=material), "specular_map", pattern, parameters)


def dielectric(looks: Looks, parameters: Parameters) -> MappedMaterial:
    """Reads glass, smooth or rough."""
    look = MappedMaterial(glass("dielectric", index_of(looks, parameters)))
    return looks.roughened(look, parameters)


def thin_dielectric(looks: Looks, parameters: Parameters) -> MappedMaterial:
    """Reads a pane, which bends no light."""
    return MappedMaterial(pane("thindielectric", index_of(looks, parameters)))


def diffuse_transmission(looks: Looks, parameters: Parameters) -> MappedMaterial:
    """Reads a surface that lets diffuse light through, of which what it reflects is left."""
    looks.files.tell(parameters.place, "a diffusetransmission lets no light through: it reflects alone")
    parameters.skip("transmittance")
    factor = parameters.number("scale", 1.0, low=0.0)
    look = looks.dyed(Material(name="diffusetransmission"), parameters, scaled(WHITE, 0.25))
    return replace(look, material=replace(look.material, diffuse=added(scaled(look.material.diffuse, factor), BLACK)))


def stand_in(name: str, dye: str, default: Color, *others: str) -> Callable[[Looks, Parameters], MappedMaterial]:
    """Returns a reader of a material that is replaced by a diffuse one. dye: the parameter of its colour."""

    def build(looks: Looks, parameters: Parameters) -> MappedMaterial:
        looks.files.tell(parameters.place, f"a material of type {name} is replaced by a diffuse one")
        parameters.skip(*parameters.named)
        return looks.dyed(Material(name=name), parameters, default, dye)

    return build


def mix(looks: Looks, parameters: Parameters) -> MappedMaterial | None:
    """Reads a mixture of two named materials."""
    item, amount = parameters.find("materials", "string"), looks.textures.number(parameters, "amount", 0.5)
    names = item.texts() if item is not None else []
    if len(names) != 2:
        raise parameters.error(f'expected two names in "string materials" of a mix, got {len(names)}')
    if amount.texture is not None:
        looks.files.tell(parameters.place, "a texture of the amount of a mix is replaced by its mean")
    share = min(max(sum(amount.mean) / 3.0, 0.0), 1.0)
    first, second = (looks.of_name(name, parameters.place) for name in names)
    if share in (0.0, 1.0):
        return second if share == 1.0 else first
    if is_mixable([first, second]):
        assert first is not None
        assert second is not None
        return mixture(looks, parameters, (first, second), share)
    looks.files.tell(parameters.place, "a mix of what cannot be mixed here is the material of the larger share")
    return second if share > 0.5 else first


def is_mixable(looks: Iterable[MappedMaterial | None]) -> bool:
    """Returns whether all are without pictures, but for those of a diffuse colour, and diffuse or smooth."""
    for look in looks:
        if look is None or set(look.pictures) - {"texture"}:
            return False
        is_even = look.material.kind == "metal" and not (set(look.material.eta) - {0.0, 1.0})
        is_clear = look.material.kind == "dielectric" and look.material.roughness == 0.0
        if not (look.material.kind in ("diffuse", "nff") or is_even or is_clear):
            return False
    return True


def mixture(
    looks: Looks, parameters: Parameters, parts: tuple[MappedMaterial, MappedMaterial], share: float
) -> MappedMaterial:
    """Returns a mixture in which the second part has a share. A metal in it reflects alike at all angles; pictures of
    diffuse colours are mixed texel by texel."""
    first, second = parts
    colors = [
        Pattern(nff_of(look.material).diffuse, look.pictures.get("texture"), look.to_uv) for look in (first, second)
    ]
    aligned = looks.textures.aligned(parameters, colors)
    diffuse = combined(aligned, lambda a, b: (1.0 - share) * a + share * b)
    material = mixed_material(nff_of(first.material), nff_of(second.material), share)[0]
    look = MappedMaterial(replace(material, name="mix", diffuse=diffuse.color))
    return looks.with_picture(look, "texture", diffuse, parameters)


def nff_of(material: Material) -> Material:
    """Returns a part of a mixture with the reflectance of its metal, if it is one, as a number."""
    return (
        replace(material, specular=metal_color(material), eta=BLACK, k=BLACK) if material.kind == "metal" else material
    )


#: Materials of version 3.
OLD = ("matte", "plastic", "glass", "mirror", "metal", "uber", "substrate", "translucent", "kdsubsurface", "disney")

MATERIALS: dict[str, Callable[[Looks, Parameters], MappedMaterial | None]] = {
    "diffuse": diffuse,
    "coateddiffuse": coated_diffuse,
    "conductor": conductor,
    "coatedconductor": coated_conductor,
    "dielectric": dielectric,
    "thindielectric": thin_dielectric,
    "diffusetransmission": diffuse_transmission,
    "subsurface": stand_in("subsurface", "reflectance", scaled(WHITE, 0.8)),
    "hair": stand_in("hair", "color", (0.25, 0.15, 0.08)),
    "measured": stand_in("measured", "reflectance", GREY),
    "mix": mix,
}
