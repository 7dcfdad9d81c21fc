"""This module turns what a glTF material says into the kinds of surfaces that there are: docs/gltf.md has the table.

Reflectances above 1 become 1, so that no surface gives back more light than it gets; emission may exceed it.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from scenes.gltf.pictures import BLUE, COLOR, EVEN, GREEN, RED, VECTORS, Lookup, Map, Pictures
from scenes.gltf.values import MAX_NUMBER, Item
from scenes.mesh_materials import PLAIN
from scenes.microfacets import (
    BLACK,
    COAT,
    DEFAULT_IOR,
    MIRROR_ALPHA,
    added,
    coated,
    glass,
    is_dull,
    metallic,
    multiplied,
    scaled,
)
from scenes.model import Color, Material

WHITE: Color = (1.0, 1.0, 1.0)
#: Specular reflectance at normal incidence up to which a glossy surface is a coat over its colour.
MOST_OF_COAT = 0.25
#: How far the channels of a coat may be from each other.
GREY = 0.02
#: The same of the colour of glass, which is a number where it is grey and a texture otherwise.
GREY_FACTOR = 1e-6
#: Diffuse reflectance up to which a glossy surface is a metal.
BLACK_BASE = 0.04
#: Alpha from which on a surface that blends is there, where a picture has its alpha.
HALF = 0.5
#: The largest index of a border that a reflectance stands for.
MOST_REFLECTED = 0.9


@dataclass(eq=False)
class Surface:
    """Holds a material without its textures, and the pictures that become those, by the fields of `Material`.

    The first picture says which texture coordinates there are.

    metal: what of the specular colour is that of metal, where the rest is that of a coat.
    """

    material: Material
    maps: dict[str, Map] = field(default_factory=dict)
    metal: Color = BLACK


@dataclass(eq=False)
class Surfaces:
    """Makes surfaces of the materials of a file."""

    pictures: Pictures

    def note(self, item: Item, text: str) -> None:
        """Notes what is not as the file has it."""
        self.pictures.file.note(f"{item.place.keys}: {text}")

    def surface(self, item: Item) -> Surface:
        """Returns the surface of a material, with what it emits and what bends its normals."""
        name = item.text("name") or PLAIN.name
        if item.extension("KHR_materials_unlit") is not None:
            surface = self.unlit(name, item)
        else:
            surface = self.scattering(name, item)
            self.add_emission(item, surface)
            self.add_normals(item, surface)
        self.add_alpha(item, surface)
        return surface

    def scattering(self, name: str, item: Item) -> Surface:
        """Returns how a material scatters light, by the extension that comes first."""
        glossy = item.extension("KHR_materials_pbrSpecularGlossiness")
        if glossy is not None:
            return self.glossy(name, glossy)
        clear = item.extension("KHR_materials_transmission")
        if clear is not None and clear.number("transmissionFactor", 0.0, 0.0) > 0.0:
            return self.clear(name, item, clear)
        return self.metallic(name, item)

    def add_normals(self, item: Item, surface: Surface) -> None:
        """Adds the picture that bends normals."""
        normals = item.child("normalTexture")
        lookup = self.pictures.lookup(normals)
        if lookup is not None:
            surface.maps["normal_map"] = Map(lookup, VECTORS)
            surface.material = replace(surface.material, normal_scale=normals.number("scale", 1.0))
        if item.has("occlusionTexture"):
            self.pictures.file.note("occlusionTexture is not read: shadows of the surroundings are traced")

    # --- what shines --------------------------------------------------------------------------------------------------

    def add_emission(self, item: Item, surface: Surface) -> None:
        """Adds what a material emits."""
        extension = item.extension("KHR_materials_emissive_strength")
        strength = 1.0 if extension is None else extension.number("emissiveStrength", 1.0, 0.0)
        emission = scaled(item.color("emissiveFactor", BLACK), strength)
        if max(emission) > MAX_NUMBER:
            raise item.place.error(f"expected an emission of at most {MAX_NUMBER:g}, got {max(emission):g}")
        lookup = self.pictures.lookup(item.child("emissiveTexture"))
        if lookup is not None and any(emission):
            surface.maps["emission_map"] = Map(lookup)
        surface.material = replace(surface.material, emission=emission)

    def unlit(self, name: str, item: Item) -> Surface:
        """Returns a surface that shows its colour and lights nothing."""
        base, lookup = self.base(item)
        surface = Surface(Material(name=name, diffuse=BLACK, backdrop=base))
        if lookup is not None:
            surface.maps["texture"] = Map(lookup)
        return surface

    # --- what is seen through -----------------------------------------------------------------------------------------

    def add_alpha(self, item: Item, surface: Surface) -> None:
        """Adds the holes of a surface, or what is seen through it.

        A surface that blends with an even alpha is thin and lets that share of light pass; one whose picture has alpha
        is there from one half on.
        """
        mode = item.text("alphaMode", "OPAQUE")
        if mode not in ("OPAQUE", "MASK", "BLEND"):
            raise item.error("alphaMode", "OPAQUE, MASK or BLEND")
        opacity, lookup = self.opacity(item)
        cutoff = item.number("alphaCutoff", HALF, 0.0) if mode == "MASK" else HALF
        if mode == "OPAQUE":
            return
        if lookup is not None and self.pictures.alpha(lookup.image) is not None:
            if mode == "BLEND":
                self.note(item, "blends by the alpha of a picture: it is cut out at one half")
            cut = Map(lookup, cutoff=min(cutoff / max(opacity, 1e-6), 2.0))
            if surface.maps.get("texture") == Map(lookup):
                surface.maps["texture"] = cut
            surface.maps["cutout"] = cut
        elif mode == "BLEND" and opacity < 1.0 and surface.material.kind in ("diffuse", "plastic", "nff"):
            self.note(item, "blends: it is a thin surface without shine that light passes straight")
            plain = surface.material
            surface.material = Material(
                name=plain.name,
                kind="nff",
                diffuse=scaled(plain.diffuse, opacity),
                transmittance=1.0 - opacity,
                emission=scaled(plain.emission, opacity),
                normal_scale=plain.normal_scale,
            )
            surface.maps = {key: used for key, used in surface.maps.items() if key != "roughness_map"}

    def opacity(self, item: Item) -> tuple[float, Lookup | None]:
        """Returns the alpha of the base colour, and its picture."""
        glossy = item.extension("KHR_materials_pbrSpecularGlossiness")
        own = item.child("pbrMetallicRoughness") if glossy is None else glossy
        kind = "baseColor" if glossy is None else "diffuse"
        alpha = float(own.numbers(f"{kind}Factor", 4, (1.0, 1.0, 1.0, 1.0), 0.0)[3])
        return min(alpha, 1.0), self.pictures.lookup(own.child(f"{kind}Texture"))

    def clear(self, name: str, item: Item, clear: Item) -> Surface:
        """Returns glass, or what lets a share of light pass and scatters the rest."""
        base, lookup = self.base(item)
        share = min(clear.number("transmissionFactor", 0.0, 0.0), 1.0)
        own = self.pictures.lookup(clear.child("transmissionTexture"))
        if own is not None:
            share *= self.pictures.mean(own.image, RED)[0]
            self.note(item, "the mean of its picture of transmission is taken")
        roughness = self.metal_and_roughness(item.child("pbrMetallicRoughness"))[1]
        inside = self.absorption(item)
        if inside is None:
            self.note(item, "is a thin wall: it is the border of solid glass")
        is_grey = max(base) - min(base) < GREY_FACTOR and lookup is None
        through = share * base[0] if is_grey else share
        material = replace(glass(name, self.ior(item), through, roughness), absorption=inside or BLACK)
        maps = {} if is_grey else {"transmission_map": Map(lookup or EVEN, tint=base)}
        if share < 1.0:
            self.note(item, "transmits a part: that part is clear, whatever its roughness, and the rest is diffuse")
            material = replace(material, kind="nff", specular=BLACK, roughness=0.0, diffuse=scaled(base, 1.0 - share))
            if lookup is not None:
                maps["texture"] = Map(lookup)
        return Surface(material, maps)

    def absorption(self, item: Item) -> Color | None:
        """Returns the coefficients of absorption inside a volume, 1/m, or None for a thin wall."""
        volume = item.extension("KHR_materials_volume")
        if volume is None or volume.number("thicknessFactor", 0.0, 0.0) == 0.0:
            return None
        color = volume.color("attenuationColor", WHITE)
        distance = volume.values.get("attenuationDistance", math.inf)
        if distance == math.inf:
            return BLACK
        length = volume.number("attenuationDistance", None, 1e-9)
        red, green, blue = (min(-math.log(min(max(c, 1e-6), 1.0)) / length, MAX_NUMBER) for c in color)
        return (red, green, blue)

    # --- what reflects ------------------------------------------------------------------------------------------------

    def base(self, item: Item) -> tuple[Color, Lookup | None]:
        """Returns the base colour of a material, each channel at most 1, and its picture."""
        pbr = item.child("pbrMetallicRoughness")
        lookup = self.pictures.lookup(pbr.child("baseColorTexture"))
        return at_most_one(pbr.color("baseColorFactor", WHITE, 4)), lookup

    def metal_and_roughness(self, pbr: Item) -> tuple[float, float, Lookup | None]:
        """Returns the two factors, each times the mean of its channel in their picture, and that."""
        metal, roughness = pbr.number("metallicFactor", 1.0, 0.0), pbr.number("roughnessFactor", 1.0, 0.0)
        lookup = self.pictures.lookup(pbr.child("metallicRoughnessTexture"))
        if lookup is not None:
            metal *= self.pictures.mean(lookup.image, BLUE)[0]
            roughness *= self.pictures.mean(lookup.image, GREEN)[0]
        return min(max(metal, 0.0), 1.0), min(max(roughness, 0.0), 1.0), lookup

    def metallic(self, name: str, item: Item) -> Surface:
        """Returns a metal, or a surface with a white coat, or something between. A dull one is diffuse."""
        base, lookup = self.base(item)
        pbr = item.child("pbrMetallicRoughness")
        metal, roughness, rough = self.metal_and_roughness(pbr)
        surface = Surface(self.reflecting(name, base, metal, roughness, item))
        kind = surface.material.kind
        if lookup is not None:
            surface.maps["specular_map" if kind in ("metal", "mirror") else "texture"] = Map(lookup)
        if kind == "nff":
            shining = base if lookup is None else multiplied(base, self.pictures.mean(lookup.image, COLOR))
            surface.metal, coat = scaled(shining, metal), COAT * (1.0 - metal)
            surface.material = replace(surface.material, specular=added(surface.metal, (coat, coat, coat)))
            self.note(item, f"is a metal for a share of {metal:.2g}: all of it has that share of shine")
        if rough is not None and kind in ("metal", "plastic") and surface.material.roughness == roughness:
            factor = min(max(pbr.number("roughnessFactor", 1.0, 0.0), 0.0), 1.0)
            surface.maps["roughness_map"] = Map(rough, GREEN)
            surface.material = replace(surface.material, roughness=factor)
        return surface

    def reflecting(self, name: str, base: Color, metal: float, roughness: float, item: Item) -> Material:
        """Returns the material of a base colour without its pictures."""
        clearcoat = item.extension("KHR_materials_clearcoat")
        coat = 0.0 if clearcoat is None else clearcoat.number("clearcoatFactor", 0.0, 0.0)
        if coat > 0.0 and clearcoat is not None:
            if coat >= HALF and metal < HALF:
                self.note(item, "has a clear coat: it takes the place of its own shine")
                own = min(clearcoat.number("clearcoatRoughnessFactor", 0.0, 0.0), 1.0)
                return Material(name=name, kind="plastic", diffuse=base, ior=DEFAULT_IOR, roughness=own)
            self.note(item, "has a clear coat that is left out")
        ior = self.ior(item)
        if metal == 0.0 and ior == 1.0:
            return Material(name=name, diffuse=base)
        return metallic(name, base, metal, roughness, ior)

    def ior(self, item: Item) -> float:
        """Returns the index of a border, by KHR_materials_ior and, where that is given, KHR_materials_specular."""
        extension = item.extension("KHR_materials_ior")
        ior = DEFAULT_IOR if extension is None else extension.number("ior", DEFAULT_IOR, 0.0)
        specular = item.extension("KHR_materials_specular")
        if specular is None and ior >= 1.0:
            return ior
        share = 1.0 if specular is None else min(specular.number("specularFactor", 1.0, 0.0), 1.0)
        color = WHITE if specular is None else specular.color("specularColorFactor", WHITE)
        if specular is not None and (specular.has("specularTexture") or specular.has("specularColorTexture")):
            self.note(item, "its pictures of specular reflection are left out")
        if max(color) - min(color) > GREY:
            self.note(item, "the mean of its specular colour is taken")
        normal = 1.0 if ior == 0.0 else ((ior - 1.0) / (ior + 1.0)) ** 2
        return ior_of(min(normal * sum(color) / 3.0, 1.0) * share)

    def glossy(self, name: str, glossy: Item) -> Surface:
        """Returns the surface of specular and diffuse reflectances: a coat over a colour, a metal, or Phong's shine."""
        diffuse = at_most_one(glossy.color("diffuseFactor", WHITE, 4))
        specular = at_most_one(glossy.color("specularFactor", WHITE))
        gloss = min(glossy.number("glossinessFactor", 1.0, 0.0), 1.0)
        color = self.pictures.lookup(glossy.child("diffuseTexture"))
        shine = self.pictures.lookup(glossy.child("specularGlossinessTexture"))
        mean, seen = specular, diffuse
        if shine is not None:
            alpha = self.pictures.alpha(shine.image)
            gloss *= 1.0 if alpha is None else float(alpha.mean()) / 255.0
            mean = multiplied(specular, self.pictures.mean(shine.image, COLOR))
            self.note(glossy, "the mean of its glossiness is taken")
        if color is not None:
            seen = multiplied(diffuse, self.pictures.mean(color.image, COLOR))
        roughness = 1.0 - gloss
        maps = {} if color is None else {"texture": Map(color)}
        if is_dull(roughness**2):
            return Surface(Material(name=name, diffuse=diffuse), maps)
        if max(seen) <= BLACK_BASE and roughness**2 > MIRROR_ALPHA and max(mean) > BLACK_BASE:
            metal = Material(name=name, kind="metal", diffuse=BLACK, specular=specular, roughness=roughness)
            return Surface(metal, {} if shine is None else {"specular_map": Map(shine)})
        if max(mean) <= MOST_OF_COAT and max(mean) - min(mean) <= GREY:
            ior = ior_of(sum(mean) / 3.0)
            return Surface(Material(name=name, kind="plastic", diffuse=diffuse, ior=ior, roughness=roughness), maps)
        return Surface(coated(name, diffuse, mean, roughness**2), maps)


def ior_of(reflectance: float) -> float:
    """Returns the index of a border that reflects a share of light at normal incidence."""
    root = math.sqrt(min(reflectance, MOST_REFLECTED))
    return (1.0 + root) / (1.0 - root)


def at_most_one(color: Color) -> Color:
    """Returns a reflectance whose channels are at most 1."""
    red, green, blue = (min(channel, 1.0) for channel in color)
    return (red, green, blue)


def folded(material: Material, name: str, mean: Color) -> Material:
    """Returns a material in which the mean of a picture stands for it. name: of the field that the picture was for."""
    number = sum(mean) / 3.0
    changed: dict[str, Callable[[], Material]] = {
        "texture": lambda: replace(
            material, diffuse=multiplied(material.diffuse, mean), backdrop=multiplied(material.backdrop, mean)
        ),
        "specular_map": lambda: replace(material, specular=multiplied(material.specular, mean)),
        "roughness_map": lambda: replace(material, roughness=material.roughness * number),
        "transmission_map": lambda: replace(material, transmittance=material.transmittance * number),
        "emission_map": lambda: replace(material, emission=multiplied(material.emission, mean)),
    }
    return changed[name]() if name in changed else material
