"""This module turns the materials of glTF files into the kinds that there are.

glTF: the share metallicFactor of the base colour shines, as rough as roughnessFactor squared says; the rest is diffuse
under a coat that mirrors 4 %. Metals and plastics are what they are called, a polished metal is a mirror, and between
metal and plastic there is Phong's shine. Of a picture of metalness and roughness the mean is taken, but all of its
roughness where all is metal or none is. Pictures of normals, with their scale, and of what is emitted count; the base
colour's picture colours what is diffuse, and its mean what is metal. Samplers clamp what they clamp on both axes; all
else repeats. Emission is in nits with KHR_materials_emissive_strength. KHR_materials_transmission makes solid glass, of
the index of KHR_materials_ior, as clear as the mean of its colour and as rough as roughnessFactor says.
KHR_materials_pbrSpecularGlossiness is read without its pictures. Of alphaMode MASK the alpha of the base colour's
picture cuts out what is below alphaCutoff; surfaces of alphaMode BLEND are opaque. All other extensions are ignored,
and surfaces have no sides: all are seen from both.

Reflectances above 1 become 1, so that no surface gives back more light than it gets; emission may exceed it.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from scenes.errors import SceneFileError
from scenes.microfacets import BLACK, MIRROR_ALPHA, added, coated, glass, is_dull, multiplied, scaled
from scenes.model import Color, Doubles, Material, Mesh, Texture
from scenes.palette import mean_color, painted
from scenes.srgb import decoded
from scenes.texture_file import OPAQUE, image_texture

MAX_PIXELS = 1 << 26
MAX_QUOTE = 40
#: Radiance reaches so far, so that float32 can square it.
MAX_EMISSION = 1e9
PICTURE_FORMATS = ("PNG", "JPEG", "PPM", "BMP", "TGA", "WEBP")
PLAIN = Material(name="plain", diffuse=(0.6, 0.6, 0.6))
WHITE: Color = (1.0, 1.0, 1.0)

DEFAULT_IOR = 1.5
COAT = 0.04
#: The wrapping mode of a glTF sampler that holds the colours of the edges.
CLAMP_TO_EDGE = 33071


@dataclass(eq=False)
class Surfaces:
    """Adds new materials and textures to those of a file. header: that of a glTF file, or {}."""

    path: Path
    materials: list[Material]
    textures: list[Texture]
    header: dict[str, Any]

    def dressed(self, mesh: Mesh, geometry: Any, uvs: Doubles | None) -> Mesh:
        """Returns a mesh with the material of a trimesh mesh.

        uvs: (nv, 2) coordinates of its vertices in the picture.
        """
        colors = face_colors(geometry, is_linear=bool(self.header))
        if colors is not None:
            mesh, palette = painted(mesh, colors, "colours of faces")
            return replace(mesh, material=self.index_of(Material(name="colours", diffuse=WHITE), palette))
        source = getattr(geometry.visual, "material", None)
        material = PLAIN if source is None else self.material_of(source)
        if uvs is None:
            return replace(mesh, material=self.index_of(material))
        picture = picture_of(source, "image", "baseColorTexture")
        texture = None if picture is None else self.texture_of(picture, material.name)
        if source is not None and texture is not None and "materials" in self.header:
            base = self.header["materials"][int(source.name)].get("pbrMetallicRoughness", {})
            texture = replace(texture, wrap=self.wrap_of(base.get("baseColorTexture", {})))
        mask = self.mask_of(source, texture)
        if mask is not None and self.header:
            texture = mask  # the same picture for both
        if source is not None and "materials" in self.header:
            material = self.with_maps(material, self.header["materials"][int(source.name)], source)
        return replace(mesh, material=self.index_of(material, texture, mask), uvs=uvs, uv_triangles=mesh.triangles)

    def index_of(self, material: Material, texture: Texture | None = None, mask: Texture | None = None) -> int:
        """Returns the index of a material with its texture and the picture of its holes, all added if they are new."""
        if texture is not None:
            material = replace(material, texture=self.texture_id(texture))
        if mask is not None:
            material = replace(material, cutout=self.texture_id(mask))
        if material not in self.materials:
            self.materials.append(material)
        return self.materials.index(material)

    def texture_id(self, texture: Texture) -> int:
        """Returns the index of a texture, added if it is new."""
        for index, other in enumerate(self.textures):
            if other.name == texture.name and is_same(other, texture):
                return index
        self.textures.append(texture)
        return len(self.textures) - 1

    def texture_of(self, picture: Image.Image, material: str) -> Texture:
        """Makes a texture of a picture of a material. Raises where it is of no format or size that is read."""
        name = str(picture.info.get("file_path") or f"{material} ({picture.format})")
        if picture.format not in PICTURE_FORMATS or picture.width * picture.height > MAX_PIXELS:
            size = f"{picture.width} x {picture.height} {picture.format}"
            raise self.error(f"texture {name!r} is {size}; expected {', '.join(PICTURE_FORMATS)}")
        return image_texture(name, picture)

    def mask_of(self, source: Any, texture: Texture | None) -> Texture | None:
        """Returns the picture of a material's holes. texture: that of its colour."""
        if "materials" not in self.header:
            return None
        return self.gltf_mask(self.header["materials"][int(source.name)], texture)

    def error(self, message: str) -> SceneFileError:
        """Returns the error to raise about the file."""
        return SceneFileError(self.path, None, message)

    def material_of(self, source: Any) -> Material:
        """Makes the material of a trimesh material, without its picture."""
        if "materials" not in self.header:
            return PLAIN
        return self.gltf_material(self.header["materials"][int(source.name)], source)

    # --- glTF ---------------------------------------------------------------------------------------------------------

    def gltf_material(self, description: dict[str, Any], source: Any) -> Material:
        """Returns the material of a glTF header and the pictures that trimesh has for it."""
        glow = self.gltf_emission(description)
        picture = picture_of(source, "emissiveTexture")
        if picture is not None:
            glow = multiplied(glow, self.mean_color(picture))
        name = str(description.get("name") or PLAIN.name)
        return replace(self.gltf_surface(name, description, source), emission=self.radiance(glow))

    def with_maps(self, material: Material, description: dict[str, Any], source: Any) -> Material:
        """Returns a material with the pictures that glTF has for roughness, light and normals, instead of their
        means."""
        metalness = description.get("pbrMetallicRoughness", {})
        rough = picture_of(source, "metallicRoughnessTexture")
        if rough is not None and material.kind in ("metal", "plastic"):
            given = self.map_of(rough, metalness["metallicRoughnessTexture"], material.name)
            green = replace(given, pixels=np.repeat(given.pixels[..., 1:2], 3, axis=2), is_linear=True)
            factor = min(max(self.number(metalness, "roughnessFactor", 1.0), 0.0), 1.0)
            material = replace(material, roughness=factor, roughness_map=self.texture_id(green))
        glow = picture_of(source, "emissiveTexture")
        if glow is not None and any(material.emission):
            emission = self.gltf_emission(description)
            own = self.map_of(glow, description["emissiveTexture"], material.name)
            material = replace(material, emission=self.radiance(emission), emission_map=self.texture_id(own))
        normals = picture_of(source, "normalTexture")
        if normals is not None:
            info = description["normalTexture"]
            own = replace(self.map_of(normals, info, material.name), is_linear=True)
            scale = self.number(info, "scale", 1.0)
            material = replace(material, normal_map=self.texture_id(own), normal_scale=scale)
        return material

    def map_of(self, picture: Image.Image, info: dict[str, Any], material: str) -> Texture:
        """Makes a texture of a picture of a material, as its reference in the header asks for."""
        return replace(self.texture_of(picture, material), alpha=None, wrap=self.wrap_of(info))

    def wrap_of(self, info: dict[str, Any]) -> str:
        """Returns what a texture does beyond its picture: it is clamped if its sampler asks for that on both axes, and
        repeats otherwise."""
        try:
            sampler = self.header["samplers"][self.header["textures"][info["index"]]["sampler"]]
            return "clamp" if sampler["wrapS"] == sampler["wrapT"] == CLAMP_TO_EDGE else "repeat"
        except (KeyError, IndexError, TypeError):  # what is left out repeats
            return "repeat"

    def gltf_emission(self, description: dict[str, Any]) -> Color:
        """Returns the radiance that a material emits, without the picture that multiplies it."""
        extension = description.get("extensions", {}).get("KHR_materials_emissive_strength", {})
        return scaled(
            self.color(description.get("emissiveFactor", BLACK)), self.number(extension, "emissiveStrength", 1.0)
        )

    def gltf_mask(self, description: dict[str, Any], texture: Texture | None) -> Texture | None:
        """Returns the texture with an alpha of all or nothing, if the material has a cutoff that leaves holes in it."""
        if description.get("alphaMode") != "MASK" or texture is None or texture.alpha is None:
            return None
        base = description.get("pbrMetallicRoughness", {}).get("baseColorFactor", [*WHITE, 1.0])
        opacity = self.number({"baseColorFactor": base}, "baseColorFactor", 1.0)
        is_there = texture.alpha * opacity >= self.number(description, "alphaCutoff", 0.5) * OPAQUE
        return replace(texture, alpha=np.where(is_there, OPAQUE, 0).astype(np.uint8))

    def gltf_surface(self, name: str, description: dict[str, Any], source: Any) -> Material:
        """Returns how the surface of a glTF material reflects and transmits light."""
        extensions = description.get("extensions", {})
        glossy = extensions.get("KHR_materials_pbrSpecularGlossiness")
        if glossy is not None:
            diffuse = self.reflectance(glossy.get("diffuseFactor", WHITE))
            specular = self.reflectance(glossy.get("specularFactor", WHITE))
            return coated(name, diffuse, specular, (1.0 - self.number(glossy, "glossinessFactor", 1.0)) ** 2)
        metalness = description.get("pbrMetallicRoughness", {})
        clear = self.number(extensions.get("KHR_materials_transmission", {}), "transmissionFactor", 0.0)
        if clear > 0.0:
            base = self.reflectance(metalness.get("baseColorFactor", WHITE))
            ior = self.number(extensions.get("KHR_materials_ior", {}), "ior", DEFAULT_IOR)
            return glass(name, ior, min(clear, 1.0) * sum(base) / 3.0, self.metal_and_roughness(metalness, source)[1])
        return self.metallic(name, metalness, source)

    def metallic(self, name: str, metalness: dict[str, Any], source: Any) -> Material:
        """Makes a metal, or a surface with a white coat, or something between. A dull one is diffuse."""
        base = self.reflectance(metalness.get("baseColorFactor", WHITE))
        metal, roughness = self.metal_and_roughness(metalness, source)
        if is_dull(roughness**2):
            return Material(name=name, diffuse=base)
        if metal == 0.0:
            return Material(name=name, kind="plastic", diffuse=base, ior=DEFAULT_IOR, roughness=roughness)
        picture = picture_of(source, "baseColorTexture")
        shining = base if picture is None else multiplied(base, self.mean_color(picture))
        if metal == 1.0 and roughness**2 > MIRROR_ALPHA:
            return Material(name=name, kind="metal", diffuse=BLACK, specular=shining, roughness=roughness)
        coat = COAT * (1.0 - metal)
        return coated(name, scaled(base, 1.0 - metal), added(scaled(shining, metal), (coat, coat, coat)), roughness**2)

    def metal_and_roughness(self, metalness: dict[str, Any], source: Any) -> tuple[float, float]:
        """Returns the two factors, each times the mean of its channel in their picture: blue for metal, green for
        roughness."""
        metal, roughness = self.number(metalness, "metallicFactor", 1.0), self.number(metalness, "roughnessFactor", 1.0)
        picture = picture_of(source, "metallicRoughnessTexture")
        if picture is not None:
            _, green, blue = self.texture_of(picture, "metalness").pixels.reshape(-1, 3).mean(axis=0) / 255.0
            metal, roughness = metal * float(blue), roughness * float(green)
        return min(max(metal, 0.0), 1.0), min(max(roughness, 0.0), 1.0)

    def mean_color(self, picture: Image.Image) -> Color:
        """Returns the mean of a picture as a linear colour."""
        return mean_color(self.texture_of(picture, "picture").pixels)

    def number(self, values: dict[str, Any], key: str, default: float) -> float:
        """Returns a number of a table of values."""
        value = values.get(key, default)
        last = value[-1] if isinstance(value, list) else value
        try:
            number = float(last)
        except (ValueError, TypeError) as error:
            raise self.error(f"expected the number of {key}, got {str(last)[:MAX_QUOTE]!r}") from error
        if not abs(number) <= MAX_EMISSION:
            raise self.error(f"expected a {key} of at most {MAX_EMISSION:g}, got {number:g}")
        return number

    # --- colours ------------------------------------------------------------------------------------------------------

    def reflectance(self, value: Any) -> Color:
        """Returns a colour whose channels are at most 1."""
        red, green, blue = self.color(value)
        return (min(red, 1.0), min(green, 1.0), min(blue, 1.0))

    def radiance(self, value: Any) -> Color:
        """Returns the colour of emitted light. Raises where it is too bright for float32."""
        emission = self.color(value)
        if max(emission) > MAX_EMISSION:
            raise self.error(f"expected an emission of at most {MAX_EMISSION:g}, got {max(emission):g}")
        return emission

    def color(self, value: Any) -> Color:
        """Returns a colour of three or more numbers, or a grey of fewer."""
        try:
            channels = np.atleast_1d(np.array(value, dtype=np.float64))
        except (ValueError, TypeError) as error:
            raise self.error(f"expected the numbers of a colour, got {str(value)[:MAX_QUOTE]}") from error
        red, green, blue = (channels[:3] if len(channels) >= 3 else np.repeat(channels[:1], 3)).tolist()
        if not np.isfinite([red, green, blue]).all():
            raise self.error(f"expected finite colours, got {red:g}, {green:g}, {blue:g}")
        if min(red, green, blue) < 0.0:
            raise self.error(f"expected colours not below 0, got {red:g}, {green:g}, {blue:g}")
        return (red, green, blue)


def picture_of(source: Any, *names: str) -> Image.Image | None:
    """Returns the picture that a trimesh material has by one of some names. Pictures without a format are made up by
    trimesh and do not count."""
    for name in names:
        image = getattr(source, name, None)
        if isinstance(image, Image.Image) and image.format is not None:
            return image
    return None


def is_same(one: Texture, other: Texture) -> bool:
    """Returns whether two textures have the same pixels and are looked at alike."""
    if not np.array_equal(one.pixels, other.pixels) or (one.alpha is None) != (other.alpha is None):
        return False
    if (one.wrap, one.filter, one.is_linear) != (other.wrap, other.filter, other.is_linear):
        return False
    if one.colors is not None or other.colors is not None:
        return one.colors is other.colors
    return one.alpha is None or np.array_equal(one.alpha, other.alpha)  # type: ignore[arg-type]


def face_colors(geometry: Any, is_linear: bool) -> Doubles | None:
    """Returns the linear colours (n, 3) of the faces of a trimesh mesh, or else the means over their vertices; None
    without any.

    is_linear: whether the bytes that trimesh has are linear, as those of glTF, and not sRGB.
    """
    kind, count = getattr(geometry.visual, "kind", None), len(geometry.faces)
    if kind not in ("face", "vertex"):
        return None
    given = geometry.visual.face_colors if kind == "face" else geometry.visual.vertex_colors
    colors = given[:, :3] / 255.0 if is_linear else decoded(given[:, :3])
    if len(colors) != (count if kind == "face" else len(geometry.vertices)):
        return None
    return colors if kind == "face" else colors[geometry.faces].mean(axis=1)
