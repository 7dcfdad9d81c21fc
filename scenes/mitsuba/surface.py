"""This module holds what a BSDF becomes: a material with the textures that belong to it."""

from dataclasses import dataclass, field, replace

import numpy as np

from scenes.materials.microfacets import BLACK, WHITE
from scenes.materials.mixing import folded, mixed_material
from scenes.materials.patterns import Pattern
from scenes.mitsuba.properties import Properties
from scenes.mitsuba.textures import blended
from scenes.model import Doubles, Material, Texture

#: What is noted of pictures that cannot be looked up at one place.
UNLIKE = "of pictures of a surface that map texture coordinates unlike the first one the mean counts"


@dataclass(frozen=True, eq=False)
class MitsubaSurface:
    """Holds a material without texture, the pattern that colours what is diffuse of it, the picture of its holes, and
    other patterns by the fields of a material."""

    material: Material
    pattern: Pattern = field(default_factory=lambda: Pattern(BLACK))
    mask: Texture | None = None
    maps: dict[str, Pattern] = field(default_factory=dict)

    @property
    def has_picture(self) -> bool:
        """Returns whether there is a texture of any use."""
        return bool(self.maps) or self.pattern.texture is not None or self.mask is not None

    @property
    def pictures(self) -> dict[str, Texture | None]:
        """Returns its textures by the fields of a material."""
        maps = {name: pattern.texture for name, pattern in self.maps.items()}
        return maps | {"texture": self.pattern.texture, "cutout": self.mask}

    @property
    def to_uv(self) -> Doubles:
        """Returns the map of texture coordinates that all its pictures have."""
        patterns = [self.pattern, *self.maps.values()]
        return next((each.to_uv for each in patterns if each.texture is not None), self.pattern.to_uv)


#: What lets all light through as if it were not there.
NOTHING = MitsubaSurface(Material(name="null", kind="nff", diffuse=BLACK, transmittance=1.0, ior=1.0))


def with_map(surface: MitsubaSurface, name: str, pattern: Pattern, properties: Properties) -> MitsubaSurface:
    """Returns a surface with another picture. name: the field of its material.

    Of one that maps texture coordinates otherwise than those before the mean counts, which is noted.
    """
    if pattern.texture is None:
        return surface
    if surface.has_picture and not np.array_equal(surface.to_uv, pattern.to_uv):
        properties.reading.note_loss(properties.element, UNLIKE)
        return replace(surface, material=folded(surface.material, name, replace(pattern, color=WHITE).mean))
    return replace(surface, maps=surface.maps | {name: pattern})


def mixed(first: MitsubaSurface, second: MitsubaSurface, weight: Pattern) -> tuple[MitsubaSurface, bool]:
    """Returns a mixture of two surfaces, and whether it is only like it.

    weight: of the second, 0..1.
    """
    share = weight.grey
    material, is_exact = mixed_material(first.material, second.material, share)
    pattern = blended(diffuse_pattern(first), diffuse_pattern(second), weight)
    is_exact &= weight.texture is None and not (first.maps or second.maps or first.mask or second.mask)
    return MitsubaSurface(replace(material, diffuse=pattern.color), pattern), is_exact


def diffuse_pattern(surface: MitsubaSurface) -> Pattern:
    return surface.pattern if surface.pattern.texture is not None else Pattern(surface.material.diffuse)
