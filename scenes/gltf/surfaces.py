"""This module turns what a glTF material says into the kinds of surfaces that there are: docs/gltf.md has the table.

Reflectances above 1 become 1, so that no surface gives back more light than it gets; emission may exceed it.
"""

import math
from dataclasses import dataclass, field, replace

from scenes.gltf.pictures import BLUE, COLOR, EVEN, GREEN, RED, VECTORS, GltfPictures, Lookup, Map, Role
from scenes.gltf.values import MAX_NUMBER, Item
from scenes.materials.mesh_materials import PLAIN
from scenes.materials.microfacets import (
    BLACK,
    DEFAULT_IOR,
    MIRROR_ALPHA,
    WHITE,
    at_most_one,
    coated,
    filled,
    glass,
    is_dull,
    metallic,
    multiplied,
    normal_reflectance,
    scaled,
)
from scenes.model import Color, Material

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
#: Width of brushed facets across, at least.
LEAST_ACROSS = 1e-4
#: Pictures of what shines.
SHINE_MAPS = ("specular_map", "roughness_map", "metalness_map")
#: The largest reflectance at normal incidence of a border of some index.
MOST_REFLECTED = 0.9


@dataclass(eq=False)
class GltfSurface:
    """Holds a material without its textures, and the pictures that become those, by the fields of `Material`.

    The first picture says which texture coordinates there are.
    """

    material: Material
    maps: dict[str, Map] = field(default_factory=dict)


@dataclass(eq=False)
class GltfSurfaces:
    """Makes surfaces of the materials of a file."""

    pictures: GltfPictures

    def note(self, item: Item, text: str) -> None:
        """Notes what is not as the file has it."""
        self.pictures.file.note(f"{item.place.keys}: {text}")

    def surface(self, item: Item) -> GltfSurface:
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

    def scattering(self, name: str, item: Item) -> GltfSurface:
        """Returns how a material scatters light, by the extension that comes first."""
        glossy = item.extension("KHR_materials_pbrSpecularGlossiness")
        if glossy is not None:
            return self.glossy(name, glossy)
        clear = item.extension("KHR_materials_transmission")
        if clear is not None and clear.number("transmissionFactor", 0.0, 0.0) > 0.0:
            return self.clear(name, item, clear)
        return self.metallic(name, item)

    def add_normals(self, item: Item, surface: GltfSurface) -> None:
        """Adds the picture that bends normals."""
        normals = item.child("normalTexture")
        lookup = self.pictures.lookup(normals)
        if lookup is not None:
            surface.maps["normal_map"] = Map(lookup, VECTORS)
            surface.material = replace(surface.material, normal_scale=normals.number("scale", 1.0))
        if item.has("occlusionTexture"):
            self.pictures.file.note("occlusionTexture is not read: shadows of the surroundings are traced")

    # --- what shines --------------------------------------------------------------------------------------------------

    def add_emission(self, item: Item, surface: GltfSurface) -> None:
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

    def unlit(self, name: str, item: Item) -> GltfSurface:
        """Returns a surface that shows its colour and lights nothing."""
        base, lookup = self.base(item)
        surface = GltfSurface(Material(name=name, diffuse=BLACK, backdrop=base))
        if lookup is not None:
            surface.maps["texture"] = Map(lookup)
        return surface

    # --- what is seen through -----------------------------------------------------------------------------------------

    def add_alpha(self, item: Item, surface: GltfSurface) -> None:
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
        elif mode == "BLEND" and opacity < 1.0 and is_thin(surface.material):
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
            surface.maps = {key: used for key, used in surface.maps.items() if key not in SHINE_MAPS}

    def opacity(self, item: Item) -> tuple[float, Lookup | None]:
        """Returns the alpha of the base colour, and its picture."""
        glossy = item.extension("KHR_materials_pbrSpecularGlossiness")
        own = item.child("pbrMetallicRoughness") if glossy is None else glossy
        kind = "baseColor" if glossy is None else "diffuse"
        alpha = float(own.numbers(f"{kind}Factor", 4, (1.0, 1.0, 1.0, 1.0), 0.0)[3])
        return min(alpha, 1.0), self.pictures.lookup(own.child(f"{kind}Texture"))

    def clear(self, name: str, item: Item, clear: Item) -> GltfSurface:
        """Returns glass, or what lets a share of light pass and scatters the rest."""
        base, lookup = self.base(item)
        share = min(clear.number("transmissionFactor", 0.0, 0.0), 1.0)
        own = self.pictures.lookup(clear.child("transmissionTexture"))
        if own is not None:
            share *= self.pictures.mean(own.image, RED)[0]
            self.note(item, "the mean of its picture of transmission is taken")
        _, roughness, rough = self.metal_and_roughness(item.child("pbrMetallicRoughness"))
        is_grey = max(base) - min(base) < GREY_FACTOR and lookup is None
        through = share * base[0] if is_grey else share
        material = self.with_inside(item, glass(name, self.ior(item), through, roughness))
        maps = {} if is_grey else {"transmission_map": Map(lookup or EVEN, tint=base)}
        if share < 1.0:
            self.note(item, "transmits a part: that part is clear, whatever its roughness, and the rest is diffuse")
            material = replace(material, kind="nff", specular=BLACK, roughness=0.0, diffuse=scaled(base, 1.0 - share))
            if lookup is not None:
                maps["texture"] = Map(lookup)
        elif rough is not None:
            maps["roughness_map"] = Map(rough, GREEN)
        return GltfSurface(material, maps)

    def with_inside(self, item: Item, material: Material) -> Material:
        """Returns glass with what is inside of it: a medium that absorbs, and maybe scatters."""
        extinction, scatter = self.extinction(item), item.extension("KHR_materials_volume_scatter")
        if extinction is None:
            self.note(item, "is a thin wall: it is the border of solid glass")
        if extinction is None or scatter is None:
            return replace(material, absorption=extinction or BLACK)
        g = max(-1.0, min(scatter.number("scatterAnisotropy", 0.0), 1.0))
        seen = at_most_one(scatter.color("multiscatterColor", BLACK))
        albedo = (albedo_seen_as(seen[0], g), albedo_seen_as(seen[1], g), albedo_seen_as(seen[2], g))
        absorbed = multiplied(extinction, (1.0 - albedo[0], 1.0 - albedo[1], 1.0 - albedo[2]))
        return filled(material, absorbed, multiplied(extinction, albedo), g)

    def extinction(self, item: Item) -> Color | None:
        """Returns the coefficients of extinction inside a volume, 1/m, or None for a thin wall."""
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
        """Returns the factors of both, at most 1, and the picture whose blue and green multiply them."""
        metal, roughness = (min(pbr.number(f"{name}Factor", 1.0, 0.0), 1.0) for name in ("metallic", "roughness"))
        return metal, roughness, self.pictures.lookup(pbr.child("metallicRoughnessTexture"))

    def metallic(self, name: str, item: Item) -> GltfSurface:
        """Returns a metal, or something diffuse under a coat, or what is between, texel by texel."""
        base, lookup = self.base(item)
        metal, roughness, both = self.metal_and_roughness(item.child("pbrMetallicRoughness"))
        maps = {} if lookup is None else {"texture": Map(lookup)}
        if both is not None:
            maps["roughness_map"] = Map(both, GREEN)
            if metal > 0.0:
                maps["metalness_map"] = Map(both, BLUE)
        own = {"metalness": metal, **self.coat(item)}
        surface = GltfSurface(replace(metallic(name, base, metal, roughness), own=own), maps)
        self.add_border(item, surface)
        if surface.material.own == {"metalness": 0.0, "specular_weight": BLACK}:
            diffuse = {name: used for name, used in maps.items() if name == "texture"}
            return self.cloth(item, GltfSurface(Material(name=name, diffuse=base), diffuse))
        return self.cloth(item, self.brushed(item, surface))

    def coat(self, item: Item) -> dict[str, float]:
        """Returns the numbers of a clear coat, where there is one."""
        extension = item.extension("KHR_materials_clearcoat")
        if extension is None or extension.number("clearcoatFactor", 0.0, 0.0) == 0.0:
            return {}
        coat = self.with_mean(item, extension, "clearcoat", RED)
        if extension.has("clearcoatNormalTexture"):
            self.note(item, "the normals of its clear coat are those of what it covers")
        return {"coat": coat, "coat_roughness": self.with_mean(item, extension, "clearcoatRoughness", GREEN)}

    def with_mean(self, item: Item, extension: Item, name: str, channel: Role) -> float:
        """Returns a factor of an extension, at most 1, times the mean of a channel of its picture."""
        factor = min(extension.number(f"{name}Factor", 0.0, 0.0), 1.0)
        lookup = self.pictures.lookup(extension.child(f"{name}Texture"))
        if lookup is None:
            return factor
        self.note(item, f"the mean of its {name}Texture is taken")
        return factor * self.pictures.mean(lookup.image, channel)[0]

    def add_border(self, item: Item, surface: GltfSurface) -> None:
        """Adds the index of the border of what is no metal, and what multiplies its reflectance, to a surface."""
        extension, specular = item.extension("KHR_materials_ior"), item.extension("KHR_materials_specular")
        ior = DEFAULT_IOR if extension is None else extension.number("ior", DEFAULT_IOR, 0.0)
        normal, weight = 1.0 if ior == 0.0 else normal_reflectance(ior), WHITE
        if specular is not None:
            color = specular.color("specularColorFactor", WHITE)
            brightest = max(1.0, *color)
            if brightest > 1.0:
                normal = min(normal * brightest, 1.0)
                ior = ior_of(normal)
            weight = scaled(color, min(specular.number("specularFactor", 1.0, 0.0), 1.0) / brightest)
            lookup = self.pictures.lookup(specular.child("specularColorTexture"))
            if lookup is not None:
                surface.maps["specular_map"] = Map(lookup)
            if lookup is not None or max(color) - min(color) > GREY:
                self.note(item, "the colour of its specular reflection counts at grazing angles too")
            if specular.has("specularTexture"):
                self.note(item, "its picture of specular reflection is left out")
        # no border is an index of 1, by which a material says that it has the usual one
        own = dict(surface.material.own)
        if normal == 0.0 or weight != WHITE:
            own["specular_weight"] = BLACK if normal == 0.0 else weight
        ior = DEFAULT_IOR if normal == 0.0 else ior if ior > 1.0 else ior_of(normal)
        surface.material = replace(surface.material, ior=ior, own=own)

    def cloth(self, item: Item, surface: GltfSurface) -> GltfSurface:
        """Returns a surface with the sheen that it has: where it is no metal it is cloth."""
        sheen = item.extension("KHR_materials_sheen")
        color = BLACK if sheen is None else at_most_one(sheen.color("sheenColorFactor", BLACK))
        if sheen is None or not any(color):
            return surface
        if surface.material.own.get("metalness", 0.0) != 0.0:
            self.note(item, "has a sheen that is left out, as it may be metal")
            return surface
        self.note(item, "is cloth: its sheen takes the place of its own shine")
        material = Material(
            name=surface.material.name,
            kind="sheen",
            diffuse=surface.material.diffuse,
            roughness=min(sheen.number("sheenRoughnessFactor", 0.0, 0.0), 1.0),
            own={"sheen": color},
        )
        if sheen.has("sheenRoughnessTexture"):
            self.note(item, "its picture of the roughness of its sheen is left out")
        maps = {name: used for name, used in surface.maps.items() if name == "texture"}
        lookup = self.pictures.lookup(sheen.child("sheenColorTexture"))
        return GltfSurface(material, maps if lookup is None else maps | {"specular_map": Map(lookup)})

    def brushed(self, item: Item, surface: GltfSurface) -> GltfSurface:
        """Returns a surface with the anisotropy that it has, where it is a bare metal without pictures of that.

        Facets are as wide along and across as glTF has them, up to ten times as wide along.
        """
        extension = item.extension("KHR_materials_anisotropy")
        strength = 0.0 if extension is None else min(extension.number("anisotropyStrength", 0.0, 0.0), 1.0)
        if extension is None or strength == 0.0:
            return surface
        material = surface.material
        is_metal = material.own == {"metalness": 1.0} and not surface.maps.keys() - {"texture"}
        if not is_metal or extension.has("anisotropyTexture"):
            self.note(item, "has an anisotropy that is left out: it is no bare metal without pictures of these numbers")
            return surface
        across = max(material.roughness**2, LEAST_ACROSS)
        along = across + (1.0 - across) * strength**2
        turned = Material(
            name=material.name,
            kind="anisotropic",
            diffuse=BLACK,
            specular=material.diffuse,
            roughness=(along * across) ** 0.25,
            own={
                "anisotropy": min((1.0 - across / along) / 0.9, 1.0),
                "rotation": extension.number("anisotropyRotation", 0.0) / math.tau % 1.0,
            },
        )
        color = surface.maps.get("texture")
        return GltfSurface(turned, {} if color is None else {"specular_map": color})

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
        normal = 1.0 if ior == 0.0 else normal_reflectance(ior)
        return ior_of(min(normal * sum(color) / 3.0, 1.0) * share)

    def glossy(self, name: str, glossy: Item) -> GltfSurface:
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
            return GltfSurface(Material(name=name, diffuse=diffuse), maps)
        if max(seen) <= BLACK_BASE and roughness**2 > MIRROR_ALPHA and max(mean) > BLACK_BASE:
            metal = Material(name=name, kind="metal", diffuse=BLACK, specular=specular, roughness=roughness)
            return GltfSurface(metal, {} if shine is None else {"specular_map": Map(shine)})
        if max(mean) <= MOST_OF_COAT and max(mean) - min(mean) <= GREY:
            ior = ior_of(sum(mean) / 3.0)
            return GltfSurface(metallic(name, diffuse, 0.0, roughness, ior), maps)
        return GltfSurface(coated(name, diffuse, mean, roughness**2), maps)


def ior_of(reflectance: float) -> float:
    """Returns the index of a border that reflects a share of light at normal incidence."""
    root = math.sqrt(min(reflectance, MOST_REFLECTED))
    return (1.0 + root) / (1.0 - root)


def is_thin(material: Material) -> bool:
    """Returns whether a surface that blends is one that light passes, since not all of it is metal."""
    return material.kind in ("diffuse", "plastic", "nff", "sheen") or material.own.get("metalness", 1.0) != 1.0


def albedo_seen_as(color: float, g: float) -> float:
    """Returns the share of light that a collision scatters in a medium which has a colour, 0..1, as light from all
    around comes back from deep inside of it. g: the mean cosine.

    The fit of Kulla, Conty: Revisiting Physically Based Shading at Imageworks, 2017; g by similarity.
    """
    s = 4.09712 + 4.20863 * color - math.sqrt(9.59217 + 41.6808 * color + 17.7126 * color * color)
    return min(max((1.0 - s * s) / max(1.0 - g * s * s, 1e-9), 0.0), 1.0)
