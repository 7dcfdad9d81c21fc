"""This module turns the materials of MTL files into the kinds that there are.

Kd and map_Kd are diffuse, Ks with Ns is a shine (kind nff), Ke is radiance. Shine that reflects rays (illum 3 or 5, or
a very high Ns) over a black Kd is a mirror. A surface with a d below 1 is glass of index Ni if illum asks for it (4, 6,
7, 9) or a Tf is there, and so is a black one with such an illum; otherwise d counts for nothing. Illum 0 and 1 have no
shine. With a Pm or Pr a surface is of that roughness, for a share of Pm a metal, and else diffuse under a coat.

Reflectances above 1 become 1, so that no surface gives back more light than it gets; emission may exceed it.
"""

import math
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from scenes.document import Document
from scenes.errors import SceneFileError
from scenes.files.source_file import OutsideError, PixelsError
from scenes.materials.mesh_materials import PLAIN
from scenes.materials.microfacets import BLACK, DEFAULT_IOR, WHITE, at_most_one, glass, metallic
from scenes.materials.vertex_colors import with_vertex_colors
from scenes.meshes.geometry import areas
from scenes.model import Color, Doubles, Material, Mesh, Texture
from scenes.pictures.texture_file import SizeError, read_texture
from scenes.wavefront.lines import MAX_QUOTE
from scenes.wavefront.mtl import Entry, MtlPicture, found_file

PICTURE_FORMATS = ("PNG", "JPEG", "PPM", "BMP", "TGA", "WEBP")
KINDS = f"{', '.join(PICTURE_FORMATS[:-1])} or {PICTURE_FORMATS[-1]}"
#: Numbers reach so far, so that float32 can square them.
MAX_NUMBER = 1e9

#: Values of illum that show no highlight, that reflect rays, and that are glass.
DULL, REFLECTING, CLEAR = (0, 1), (3, 5), (4, 6, 7, 9)
#: Ns from which on a shine is a mirror: the end of the scale that MTL files use.
MIRROR_NS = 1000.0
#: Kd up to which a surface counts as black beside its mirror.
NEARLY_BLACK = 0.02

#: First words of lines that are read.
NUMBERS = ("kd", "ks", "ke", "ns", "ni", "d", "tr", "tf", "illum", "pm", "pr")
#: Pictures that are read, by the fields of a material that they become.
MAPS = {
    "map_kd": "texture",
    "map_d": "cutout",
    "map_ks": "specular_map",
    "map_ke": "emission_map",
    "map_pr": "roughness_map",
    "norm": "normal_map",
    "bump": "bump_map",
}
LINEAR = ("roughness_map", "normal_map", "bump_map")
#: Options of pictures that are read.
KNOWN_OPTIONS = ("-s", "-o", "-clamp", "-bm")
#: A picture with so much of its mean in blue, and as much of red as of green, holds normals.
LEAST_BLUE, MOST_TILT = 180.0, 40.0


@dataclass(eq=False)
class ObjSurfaces:
    """Adds materials and textures to a document, each once."""

    document: Document
    _textures: dict[tuple[Path, str, bool], int] = field(default_factory=dict)

    def dressed(self, mesh: Mesh, entry: Entry | None) -> Mesh:
        """Returns a mesh with the material of an entry, or a plain one."""
        if entry is None:
            return replace(mesh, material=self.document.material_index(PLAIN))
        self.note_unread(entry)
        material = surface(entry)
        if mesh.uvs is not None:
            mesh = under_options(mesh, entry)
            material = self.with_pictures(material, entry, mesh)
        elif entry.pictures:
            self.note(entry, entry.line, "pictures are left out where there are no texture coordinates")
        return replace(mesh, material=self.document.material_index(material))

    def colored(self, mesh: Mesh, colors: Doubles) -> Mesh:
        """Returns a mesh that is diffuse in the linear colours (n, 3, 3) of its corners."""
        mesh, texture = with_vertex_colors(mesh, colors)
        return self.pictured(mesh, self.document.add_texture(texture), "colours")

    def pictured(self, mesh: Mesh, texture: int, name: str = "picture") -> Mesh:
        """Returns a mesh that is diffuse as a texture says. name: of its material."""
        material = Material(name=name, diffuse=WHITE, texture=texture)
        return replace(mesh, material=self.document.material_index(material))

    def note(self, entry: Entry, line: int, message: str) -> None:
        """Notes what is not as an MTL file says."""
        self.document.notes.add(message, entry.path, line)

    def note_unread(self, entry: Entry) -> None:
        """Notes lines that are not read."""
        for key, (words, line) in entry.words.items():
            if key not in NUMBERS and not all(word.strip("0.") == "" for word in words):
                self.note(entry, line, f"{entry.given[key][:MAX_QUOTE]} is not read")
        for key, picture in entry.pictures.items():
            same = "map_kd" in entry.pictures and picture.name == entry.pictures["map_kd"].name
            if key not in MAPS and not (key == "map_ka" and same):
                self.note(entry, picture.line, f"{picture.word[:MAX_QUOTE]} is not read")
            for option in picture.options:
                if key in MAPS and option not in KNOWN_OPTIONS:
                    self.note(entry, picture.line, f"the option {option} is not read")
        opacity = entry.words.get("d", entry.words.get("tr"))
        if opacity is not None and surface(entry).kind != "dielectric" and not is_opaque(entry):
            self.note(entry, opacity[1], "a surface that is no glass by its illum or Tf is opaque, whatever its d")
        colors, line = entry.words.get("tf", ([], 0))
        if surface(entry).kind == "dielectric" and len(set(colors)) > 1:
            self.note(entry, line, "the colour of Tf is left out")

    # --- pictures -----------------------------------------------------------------------------------------------------

    def with_pictures(self, material: Material, entry: Entry, mesh: Mesh) -> Material:
        """Returns a material with its pictures. mesh: that shows it."""
        for key, name in MAPS.items():
            picture = entry.pictures.get(key)
            index = (
                -1 if picture is None or not self.has_use(material, name, entry) else self.texture(entry, picture, name)
            )
            if picture is None or index < 0:
                continue
            if name == "bump_map":
                material = self.with_relief(material, entry, mesh, index)
            else:
                values: dict[str, Any] = {name: index}
                material = replace(material, **values)
        return material

    def has_use(self, material: Material, name: str, entry: Entry) -> bool:
        """Returns whether a material has what a picture would multiply, and notes where it has not."""
        wanting = {
            "specular_map": not any(material.specular) and material.kind != "principled",
            "emission_map": not any(material.emission),
            "roughness_map": material.kind != "principled",
        }
        if wanting.get(name, False):
            key = next(key for key, field_ in MAPS.items() if field_ == name)
            picture = entry.pictures[key]
            self.note(
                entry, picture.line, f"{picture.word} counts for nothing: the surface has nothing that it multiplies"
            )
        return not wanting.get(name, False)

    def with_relief(self, material: Material, entry: Entry, mesh: Mesh, index: int) -> Material:
        """Returns a material with a picture of heights, or with one of normals under the name of such."""
        picture = entry.pictures["bump"]
        strength = option_numbers(entry, picture, "-bm", [1.0])[0]
        texture = self.document.textures[index]
        if holds_normals(texture):
            self.note(entry, picture.line, f"the picture of {picture.word} holds normals, and is read as that of norm")
            return material if material.normal_map >= 0 else replace(material, normal_map=index, normal_scale=strength)
        return replace(material, bump_map=index, bump_scale=strength * texel_side(mesh, texture))

    def texture(self, entry: Entry, picture: MtlPicture, name: str) -> int:
        """Returns the index of the texture of a picture, or -1 where it is not there or cannot be read."""
        wrap = "clamp" if picture.options.get("-clamp") == ["on"] else "repeat"
        return self.picture(entry.path, picture.name, picture.line, wrap=wrap, is_linear=name in LINEAR)

    def picture(self, file: Path, name: str, line: int, *, wrap: str = "repeat", is_linear: bool = False) -> int:
        """Returns the index of the texture of a name that a line of a file has, or -1 where it is not there or cannot
        be read, which is noted."""
        path = found_file(file.parent, name)
        if path is None:
            self.document.notes.add_loss(f"there is no picture {name[:MAX_QUOTE]!r}: it is left out", file, line)
            return -1
        key = (path, wrap, is_linear)
        if key not in self._textures:
            try:
                read = read_texture(path, PICTURE_FORMATS)
            except (OutsideError, PixelsError):
                raise
            except SceneFileError as error:
                why = error.message if isinstance(error, SizeError) else f"it is no {KINDS} that can be read"
                message = f"picture {name[:MAX_QUOTE]!r} is left out: {why}"
                self.document.notes.add_loss(message, file, line)
                return -1
            own = replace(read, name=name, wrap=wrap, is_linear=is_linear)
            self._textures[key] = self.document.add_texture(own)
        return self._textures[key]


# --- numbers ----------------------------------------------------------------------------------------------------------


def surface(entry: Entry) -> Material:
    """Returns the material of an entry without its pictures. Raises SceneFileError for numbers that are none."""
    emission = color(entry, "ke", WHITE if "map_ke" in entry.pictures else BLACK)
    if max(emission) > MAX_NUMBER:
        line = entry.words["ke"][1]
        raise entry.error(line, f"expected an emission of at most {MAX_NUMBER:g}, got {max(emission):g}")
    return replace(scattering(entry), emission=emission)


def scattering(entry: Entry) -> Material:
    """Returns how the surface of an entry reflects and transmits light."""
    name, illum = entry.name or PLAIN.name, number(entry, "illum", 2.0)
    diffuse = reflectance(entry, "kd", PLAIN.diffuse)
    highlight = WHITE if "map_ks" in entry.pictures else BLACK
    specular = BLACK if illum in DULL else reflectance(entry, "ks", highlight)
    exponent, opacity = number(entry, "ns", 0.0), opacity_of(entry)
    black = max(diffuse) <= NEARLY_BLACK
    if (opacity < 1.0 and (illum in CLEAR or "tf" in entry.words)) or (black and illum in CLEAR):
        through = 1.0 - max(opacity, 0.0) if opacity < 1.0 else 1.0
        return glass(name, number(entry, "ni", DEFAULT_IOR), through)
    if "pm" in entry.words or "pr" in entry.words or "map_pr" in entry.pictures:
        metal, roughness = (
            min(max(number(entry, key, default), 0.0), 1.0) for key, default in (("pm", 0.0), ("pr", 1.0))
        )
        return metallic(name, diffuse, metal, roughness)
    if black and max(specular) > 0.0 and (illum in REFLECTING or exponent >= MIRROR_NS):
        return Material(name=name, kind="mirror", diffuse=BLACK, specular=specular)
    if max(specular) > 0.0:
        return Material(name=name, kind="nff", diffuse=diffuse, specular=specular, exponent=max(exponent, 0.0))
    return Material(name=name, diffuse=diffuse)


def opacity_of(entry: Entry) -> float:
    """Returns the d of an entry, or what its Tr leaves."""
    return number(entry, "d", 1.0 - number(entry, "tr", 0.0))


def is_opaque(entry: Entry) -> bool:
    """Returns whether nothing goes through what an entry describes, by its d or Tr."""
    return opacity_of(entry) >= 1.0


def number(entry: Entry, key: str, default: float) -> float:
    """Returns the last word of a line as a number. Raises SceneFileError where it is none."""
    words, line = entry.words.get(key, ([], 0))
    if not words:
        return default
    try:
        value = float(words[-1])
    except ValueError as error:
        message = f"expected the number of {entry.given[key]}, got {words[-1][:MAX_QUOTE]!r}"
        raise entry.error(line, message) from error
    if not abs(value) <= MAX_NUMBER:
        raise entry.error(line, f"expected a number of {entry.given[key]} of at most {MAX_NUMBER:g}, got {value:g}")
    return value


def reflectance(entry: Entry, key: str, default: Color) -> Color:
    """Returns a colour whose channels are at most 1."""
    return at_most_one(color(entry, key, default))


def color(entry: Entry, key: str, default: Color) -> Color:
    """Returns a colour of three or more numbers, or a grey of fewer. Raises SceneFileError where it is none."""
    words, line = entry.words.get(key, ([], 0))
    if not words:
        return default
    try:
        channels = [float(word) for word in words]
    except ValueError as error:
        message = f"expected the numbers of a colour, got {' '.join(words)[:MAX_QUOTE]!r}"
        raise entry.error(line, message) from error
    red, green, blue = channels[:3] if len(channels) >= 3 else channels[:1] * 3
    if not all(math.isfinite(channel) for channel in (red, green, blue)):
        raise entry.error(line, f"expected finite colours, got {red:g}, {green:g}, {blue:g}")
    if min(red, green, blue) < 0.0:
        raise entry.error(line, f"expected colours not below 0, got {red:g}, {green:g}, {blue:g}")
    return (red, green, blue)


# --- how pictures lie -------------------------------------------------------------------------------------------------


def option_numbers(entry: Entry, picture: MtlPicture, option: str, default: list[float]) -> list[float]:
    """Returns the numbers of an option, those that are left out from the default. Raises SceneFileError where they are
    none."""
    try:
        given = [float(word) for word in picture.options.get(option, [])]
    except ValueError:
        given = [math.nan]
    if not all(abs(value) <= MAX_NUMBER for value in given):
        words = " ".join(picture.options[option])[:MAX_QUOTE]
        raise entry.error(picture.line, f"expected numbers of {option} of at most {MAX_NUMBER:g}, got {words!r}")
    return [*given, *default[len(given) :]]


def under_options(mesh: Mesh, entry: Entry) -> Mesh:
    """Returns a mesh with its texture coordinates scaled (-s) and moved (-o) as its first picture asks for."""
    picture = next((entry.pictures[key] for key in MAPS if key in entry.pictures), None)
    if picture is None or mesh.uvs is None or not ({"-s", "-o"} & picture.options.keys()):
        return mesh
    scale = np.array(option_numbers(entry, picture, "-s", [1.0, 1.0])[:2])
    offset = np.array(option_numbers(entry, picture, "-o", [0.0, 0.0])[:2])
    upward = np.stack([mesh.uvs[:, 0], 1.0 - mesh.uvs[:, 1]], axis=-1) * scale + offset
    return replace(mesh, uvs=np.stack([upward[:, 0], 1.0 - upward[:, 1]], axis=-1))


def holds_normals(texture: Texture) -> bool:
    """Returns whether a picture is one of normals: as blue as they are, and neither red nor green in the mean."""
    red, green, blue = texture.pixels.mean(axis=(0, 1)).tolist()
    return blue > LEAST_BLUE and abs(red - 127.5) < MOST_TILT and abs(green - 127.5) < MOST_TILT


def texel_side(mesh: Mesh, texture: Texture) -> float:
    """Returns the side of a texel in the unit of a mesh, by the areas of all of it; 0 where it has none."""
    assert mesh.uvs is not None
    assert mesh.uv_triangles is not None
    corners = mesh.uvs[mesh.uv_triangles]
    flat = areas(np.concatenate([corners, np.zeros((*corners.shape[:2], 1))], axis=2)).sum()
    texels = float(flat) * texture.pixels.shape[0] * texture.pixels.shape[1]
    side = math.sqrt(float(areas(mesh.vertices[mesh.triangles]).sum()) / texels) if texels > 0.0 else 0.0
    return side if side < MAX_NUMBER else 0.0
