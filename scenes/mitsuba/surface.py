"""This module holds what a BSDF becomes: a material with the textures that belong to it."""

from dataclasses import dataclass, field, replace

import numpy as np

from scenes.materials.microfacets import BLACK, PANE_EXPONENT, added, by_phong, phong_power, scaled
from scenes.mitsuba.properties import Properties
from scenes.mitsuba.textures import WHITE, MitsubaPattern, between, blended
from scenes.model import Color, Doubles, Material, Texture

#: What is noted of pictures that cannot be looked up at one place.
UNLIKE = "of pictures of a surface that map texture coordinates unlike the first one the mean counts"
#: Kinds of materials whose numbers can be blended as they are.
NUMBERED = ("metal", "plastic", "principled", "dielectric")


@dataclass(frozen=True, eq=False)
class MitsubaSurface:
    """Holds a material without texture, the pattern that colours what is diffuse of it, the picture of its holes, and
    other patterns by the fields of a material."""

    material: Material
    pattern: MitsubaPattern = field(default_factory=lambda: MitsubaPattern(BLACK))
    mask: Texture | None = None
    maps: dict[str, MitsubaPattern] = field(default_factory=dict)

    @property
    def has_picture(self) -> bool:
        """Returns whether there is a texture of any use."""
        return bool(self.maps) or self.pattern.texture is not None or self.mask is not None

    @property
    def to_uv(self) -> Doubles:
        """Returns the map of texture coordinates that all its pictures have."""
        patterns = [self.pattern, *self.maps.values()]
        return next((each.to_uv for each in patterns if each.texture is not None), self.pattern.to_uv)


#: What lets all light through as if it were not there.
NOTHING = MitsubaSurface(Material(name="null", kind="nff", diffuse=BLACK, transmittance=1.0, ior=1.0))


def with_map(surface: MitsubaSurface, name: str, pattern: MitsubaPattern, properties: Properties) -> MitsubaSurface:
    """Returns a surface with another picture. name: the field of its material.

    Of one that maps texture coordinates otherwise than those before the mean counts, which is noted.
    """
    if pattern.texture is None:
        return surface
    if surface.has_picture and not np.array_equal(surface.to_uv, pattern.to_uv):
        properties.reading.note_loss(properties.element, UNLIKE)
        return replace(surface, material=with_mean(surface.material, name, pattern))
    return replace(surface, maps=surface.maps | {name: pattern})


def with_mean(material: Material, name: str, pattern: MitsubaPattern) -> Material:
    """Returns a material with the mean of a picture instead of it. name: the field of the picture."""
    if name == "roughness_map":
        return replace(material, roughness=pattern.grey)
    if name == "metalness_map":
        return replace(material, own={**material.own, "metalness": pattern.grey})
    if name == "emission_map":
        return replace(material, emission=pattern.mean)
    if name == "specular_map" and material.kind == "metal":
        return replace(material, specular=pattern.mean)
    if name == "specular_map":
        return replace(material, own={**material.own, "specular_weight": pattern.mean})
    return material  # without its relief


def mixed(first: MitsubaSurface, second: MitsubaSurface, weight: MitsubaPattern) -> tuple[MitsubaSurface, bool]:
    """Returns a mixture of two surfaces, and whether it is only like it.

    weight: of the second, 0..1.
    """
    share = weight.grey
    material, is_exact = mixed_material(first.material, second.material, share)
    pattern = blended(diffuse_pattern(first), diffuse_pattern(second), weight)
    is_exact &= weight.texture is None and not (first.maps or second.maps or first.mask or second.mask)
    return MitsubaSurface(replace(material, diffuse=pattern.color), pattern), is_exact


def diffuse_pattern(surface: MitsubaSurface) -> MitsubaPattern:
    """Returns the pattern of what is diffuse of a surface."""
    return surface.pattern if surface.pattern.texture is not None else MitsubaPattern(surface.material.diffuse)


def mixed_material(first: Material, second: Material, share: float) -> tuple[Material, bool]:
    """Returns a mixture of two materials, and whether it is theirs. share: of the second."""
    is_exact = is_nff(first) and is_nff(second)
    if not is_exact and first.kind == second.kind and first.kind in NUMBERED:
        return intermediate(first, second, share), first == second
    a, b = as_nff(first), as_nff(second)
    exponent = min((part.exponent for part in (a, b) if any(part.specular)), default=0.0)
    material = Material(
        name="blend",
        kind="nff",
        specular=added(scaled(a.specular, 1.0 - share), scaled(b.specular, share)),
        exponent=exponent,
        transmittance=(1.0 - share) * a.transmittance + share * b.transmittance,
        ior=b.ior if b.transmittance > 0.0 else a.ior,
    )
    clear = {part.ior for part in (a, b) if part.transmittance > 0.0}
    shine = {part.exponent for part in (a, b) if any(part.specular)}
    return material, is_exact and len(clear) < 2 and len(shine) < 2


def is_nff(material: Material) -> bool:
    """Returns whether a material is a mixture of kind nff: diffuse, an even mirror, or smooth glass."""
    if material.kind == "metal":
        return not any(material.eta)
    return material.kind in ("diffuse", "mirror", "nff") or (material.kind == "dielectric" and not material.roughness)


def as_nff(material: Material) -> Material:
    """Returns a material as the mixture of kind nff that it is, or that is most like it."""
    if material.kind == "metal" and not any(material.eta):
        power = phong_power(material.roughness**2) if material.roughness else PANE_EXPONENT
        return replace(material, diffuse=BLACK, exponent=power)
    like = by_phong(material)
    if like.kind == "mirror":
        return replace(like, exponent=PANE_EXPONENT)
    return like if like.kind == "nff" else replace(like, specular=BLACK)


def intermediate(first: Material, second: Material, share: float) -> Material:
    """Returns a material of the same kind with the numbers between those of two."""

    def number(name: str) -> float:
        return (1.0 - share) * float(getattr(first, name)) + share * float(getattr(second, name))

    def triple(name: str) -> Color:
        return between(getattr(first, name), getattr(second, name), share)

    def own(key: str) -> float | Color | str:
        a, b = (material.own.get(key, WHITE if key == "specular_weight" else 0.0) for material in (first, second))
        if isinstance(a, tuple) and isinstance(b, tuple):
            return between(a, b, share)
        return (1.0 - share) * a + share * b if isinstance(a, float) and isinstance(b, float) else a

    return replace(
        first,
        name="blend",
        diffuse=triple("diffuse"),
        specular=triple("specular"),
        eta=triple("eta"),
        k=triple("k"),
        roughness=number("roughness"),
        ior=number("ior"),
        transmittance=number("transmittance"),
        own={key: own(key) for key in {**first.own, **second.own}},
    )
