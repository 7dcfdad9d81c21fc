"""This module reads textures: one function for each type, found by its name in `TEXTURES`."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from scenes.colors.palette import srgb
from scenes.errors import SceneFileError
from scenes.files.source_file import OutsideError, PixelsError
from scenes.materials.microfacets import GREY, WHITE, at_most_one, multiplied, scaled
from scenes.materials.patterns import Pattern, combined, shares, texture_of_light
from scenes.mitsuba.colors import COLORS, color
from scenes.mitsuba.elements import MAX_QUOTE, AbsentError, XmlElement
from scenes.mitsuba.properties import Properties, transform
from scenes.mitsuba.reading import Reading
from scenes.model import Color, Texture
from scenes.pictures.texture_file import read_texture

PICTURE_FORMATS = ("PNG", "JPEG", "PPM", "BMP", "TGA")
#: Pictures of linear numbers, of which textures here have what is in 0..1.
LINEAR_SUFFIXES = (".exr", ".hdr", ".pfm", ".rgbe")
#: Texels of a side of a checkerboard, which is two squares wide: their borders blur over one of them. And of a grid.
CHECKERBOARD_SIDE = 256
#: What textures are beyond their edges and between texels; mirrored ones repeat.
WRAPS, FILTERS = {"clamp": "clamp"}, {"nearest": "nearest", "trilinear": "mip", "ewa": "mip", "anisotropic": "mip"}
#: Of red, green and blue of linear sRGB.
LUMINANCE = np.array([0.2126, 0.7152, 0.0722])
#: How deep textures may be nested in textures.
MAX_DEPTH = 16


def in_grey(pattern: Pattern) -> Pattern:
    """Returns a pattern of numbers: of a picture in colour the luminance counts."""
    texture = pattern.texture
    if texture is None or (texture.pixels == texture.pixels[..., :1]).all():
        return pattern
    luminance = shares(texture) @ LUMINANCE
    pixels = np.repeat(np.rint(255.0 * luminance)[..., None], 3, axis=-1).astype(np.uint8)
    return replace(pattern, texture=replace(texture, pixels=pixels, is_linear=True))


def blended(first: Pattern, second: Pattern, weight: Pattern) -> Pattern:
    """Returns the pattern between two, texel by texel.

    weight: of the second.

    Of what is not alike to the largest texture of the three the mean counts.
    """
    patterns = [first, second, weight]
    lead = max(patterns, key=lambda each: 0 if each.texture is None else each.values.size)
    alike = [each if each.is_alike(lead) else each.flat for each in patterns]
    return combined(alike, lambda a, b, share: (1.0 - share) * a + share * b)


class MitsubaTextures:
    """Reads colours and textures, each <texture> once."""

    def __init__(self, reading: Reading) -> None:
        self.reading = reading
        self._known: dict[XmlElement, Pattern] = {}
        self._pictures: dict[Path, Texture] = {}

    def pattern(self, properties: Properties, name: str, default: Color) -> Pattern:
        """Reads a colour or texture of a reflectance."""
        element = properties.take(name, *COLORS, "texture")
        if element is None:
            return Pattern(default)
        if element.tag == "texture":
            return self.reading.attempt(Pattern(default), self.texture, element)
        return Pattern(at_most_one(self.reading.attempt(default, color, element, self.reading)))

    def numbers(self, properties: Properties, name: str, default: float) -> Pattern:
        return in_grey(self.pattern(properties, name, (default, default, default)))

    def texture(self, element: XmlElement, depth: int = 0) -> Pattern:
        if depth > MAX_DEPTH:
            raise element.error(f"textures are nested deeper than {MAX_DEPTH}")
        if element not in self._known:
            properties = Properties(element, self.reading)
            build = TEXTURES.get(properties.type)
            if build is None:
                properties.unknown_type(TEXTURES)
            self._known[element] = build(self, properties, depth)
        return self._known[element]

    def picture(self, path: Path) -> Texture:
        if path not in self._pictures:
            is_light = path.suffix.lower() in LINEAR_SUFFIXES
            self._pictures[path] = texture_of_light(path) if is_light else read_texture(path, PICTURE_FORMATS)
        return self._pictures[path]


def picture_or_grey(textures: MitsubaTextures, properties: Properties, depth: int) -> Pattern:
    """Reads a picture; one that is not there is grey, which is noted."""
    try:
        return bitmap(textures, properties, depth)
    except AbsentError as error:
        properties.reading.note_loss(properties.element, f"{error.message}: it is grey")
        return Pattern(GREY)


def bitmap(textures: MitsubaTextures, properties: Properties, _: int) -> Pattern:
    """Reads a picture; its first row is v = 0."""
    gamma = properties.number("gamma", -1.0)
    is_raw = properties.flag("raw") or gamma == 1.0
    path = properties.file()
    try:
        texture = textures.picture(path)
    except (OutsideError, PixelsError):
        raise
    except SceneFileError as error:
        properties.reading.note_loss(properties.element, f"{path.name[:MAX_QUOTE]!r} is grey: {error.message}")
        return Pattern(GREY)
    if path.suffix.lower() in LINEAR_SUFFIXES:
        properties.note("of a picture of linear numbers what is above 1 counts as 1, and it has 8 bits")
        is_raw = False
    properties.left_out("channel")
    factor = properties.number("scale", 1.0)
    pattern = finished_texture(properties, replace(texture, is_linear=is_raw))
    return replace(pattern, color=(factor, factor, factor))


def squares(properties: Properties) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8]]:
    """Returns the two colours of a pattern, (3,) sRGB bytes."""
    colors = [properties.color("color0", (0.4, 0.4, 0.4)), properties.color("color1", (0.2, 0.2, 0.2))]
    first, second = srgb(np.array([at_most_one(each) for each in colors]))
    return first, second


def checkerboard(_: MitsubaTextures, properties: Properties, __: int) -> Pattern:
    """Makes two by two squares for each unit of texture coordinates."""
    first, second = squares(properties)
    right = np.arange(CHECKERBOARD_SIDE) >= CHECKERBOARD_SIDE // 2
    pixels = np.where((right[:, None] == right)[..., None], first, second).astype(np.uint8)
    return finished_texture(properties, Texture(name="checkerboard", pixels=pixels))


def grid(_: MitsubaTextures, properties: Properties, __: int) -> Pattern:
    """Makes lines along the borders of each unit of texture coordinates, as 0.6 has them."""
    ground, line = squares(properties)
    half = 0.5 * properties.number("line_width", 0.01)
    middles = (np.arange(CHECKERBOARD_SIDE) + 0.5) / CHECKERBOARD_SIDE
    is_line = np.minimum(middles, 1.0 - middles) < half
    pixels = np.where((is_line[:, None] | is_line)[..., None], line, ground).astype(np.uint8)
    return finished_texture(properties, Texture(name="grid", pixels=pixels))


def multiple(textures: MitsubaTextures, properties: Properties, depth: int) -> Pattern:
    """Reads a texture of 0.6 that multiplies another."""
    inner = properties.within("texture")
    factor = properties.color("scale", WHITE) if "scale" in properties.named else properties.color("value", WHITE)
    properties.finish()
    if len(inner) != 1:
        raise properties.element.error(f"expected one <texture> in {properties.element.called}, got {len(inner)}")
    within = textures.texture(inner[0], depth + 1)
    return replace(within, color=multiplied(within.color, factor))


def mesh_attribute(_: MitsubaTextures, properties: Properties, __: int) -> Pattern:
    """Stands for the colours that come with a mesh, and for grey where none do."""
    name = properties.text("name", "vertex_color")
    properties.note("colours that come with a mesh count as the colour of a surface, and are one grey where else")
    factor = properties.number("scale", 1.0)
    properties.finish()
    return Pattern((factor, factor, factor), attribute=name)


def unread(_: MitsubaTextures, properties: Properties, __: int) -> Pattern:
    """Stands for a texture that is not read."""
    properties.reading.note_loss(properties.element, f"{properties.element.called} is not read: it is grey")
    return Pattern(GREY)


def finished_texture(properties: Properties, texture: Texture) -> Pattern:
    """Returns a texture with the map of its coordinates, which 0.6 and 3 give in different ways."""
    to_uv = np.eye(3)
    to_uv[:2, 2] = properties.number("uoffset", 0.0), properties.number("voffset", 0.0)
    to_uv[0, 0], to_uv[1, 1] = properties.number("uscale", 1.0), properties.number("vscale", 1.0)
    element = properties.take("to_uv", "transform")
    if element is not None:
        matrix = properties.reading.attempt(np.eye(4), transform, element, properties.reading)
        to_uv = np.array([[*matrix[0, :2], matrix[0, 3]], [*matrix[1, :2], matrix[1, 3]], [0.0, 0.0, 1.0]])
    wrap, filtered = properties.text("wrap_mode", "repeat"), properties.text("filter_type", "bilinear")
    if wrap == "mirror":
        properties.note("a texture that is mirrored beyond its edges repeats")
    properties.finish("wrap_mode_u", "wrap_mode_v", "format", "accel", "max_anisotropy", "cache")
    looked_at = replace(texture, wrap=WRAPS.get(wrap, "repeat"), filter=FILTERS.get(filtered, "bilinear"))
    return Pattern(WHITE, looked_at, to_uv)


def without_alpha(texture: Texture) -> Texture:
    """Returns a texture whose colours alone count."""
    return replace(texture, alpha=None)


def rooted(pattern: Pattern) -> Pattern:
    """Returns the pattern of the square roots of another, as bytes of shares."""
    texture = pattern.texture
    if texture is None:
        return Pattern(scaled(WHITE, min(pattern.grey, 1.0) ** 0.5))
    roots = np.rint(255.0 * np.sqrt(shares(texture))).astype(np.uint8)
    factor = min(sum(pattern.color) / 3.0, 1.0) ** 0.5
    return Pattern(scaled(WHITE, factor), replace(texture, pixels=roots, is_linear=True), pattern.to_uv)


TEXTURES: dict[str, Callable[[MitsubaTextures, Properties, int], Pattern]] = {
    "bitmap": picture_or_grey,
    "checkerboard": checkerboard,
    "gridtexture": grid,
    "mesh_attribute": mesh_attribute,
    "scale": multiple,
    "vertexcolors": mesh_attribute,
    "volume": unread,
}
