"""This module reads textures: one function for each type, found by its name in `TEXTURES`."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from scenes.colors.palette import mean_color, srgb
from scenes.colors.srgb import decoded
from scenes.errors import SceneFileError
from scenes.files.source_file import OutsideError, PixelsError
from scenes.materials.microfacets import multiplied, scaled
from scenes.mitsuba.colors import COLORS, color
from scenes.mitsuba.elements import MAX_QUOTE, AbsentError, XmlElement
from scenes.mitsuba.properties import Properties, transform
from scenes.mitsuba.reading import Reading
from scenes.model import Color, Doubles, Texture
from scenes.pictures.environment_file import read_environment
from scenes.pictures.texture_file import read_texture

PICTURE_FORMATS = ("PNG", "JPEG", "PPM", "BMP", "TGA")
#: Pictures of linear numbers, of which textures here have what is in 0..1.
LINEAR_SUFFIXES = (".exr", ".hdr", ".pfm", ".rgbe")
#: Texels of a side of a checkerboard, which is two squares wide: their borders blur over one of them. And of a grid.
CHECKERBOARD_SIDE = 256
#: What textures are beyond their edges and between texels; mirrored ones repeat.
WRAPS, FILTERS = {"clamp": "clamp"}, {"nearest": "nearest", "trilinear": "mip", "ewa": "mip", "anisotropic": "mip"}
WHITE: Color = (1.0, 1.0, 1.0)
#: Of red, green and blue of linear sRGB.
LUMINANCE = np.array([0.2126, 0.7152, 0.0722])
HALF: Color = (0.5, 0.5, 0.5)
#: How deep textures may be nested in textures.
MAX_DEPTH = 16


@dataclass(frozen=True, eq=False)
class MitsubaPattern:
    """Holds a colour, times a texture that is looked up after a (3, 3) map of texture coordinates.

    attribute: of the mesh, the name of what colours it instead of a texture, or "".
    """

    color: Color
    texture: Texture | None = None
    to_uv: Doubles = field(default_factory=lambda: np.eye(3))
    attribute: str = ""

    @property
    def mean(self) -> Color:
        """Returns the pattern's mean colour, grey of what comes with a mesh."""
        if self.attribute:
            return multiplied(self.color, HALF)
        if self.texture is None:
            return self.color
        red, green, blue = self.texture.pixels.mean(axis=(0, 1)).tolist()
        raw = (red / 255.0, green / 255.0, blue / 255.0)
        return multiplied(self.color, raw if self.texture.is_linear else mean_color(self.texture.pixels))

    @property
    def grey(self) -> float:
        """Returns the mean of the pattern's mean colour."""
        return sum(self.mean) / 3.0

    @property
    def values(self) -> Doubles:
        """Returns the linear colours of all texels, (height, width, 3), or (1, 1, 3) of what has no texture."""
        if self.texture is None:
            return np.array(self.color).reshape(1, 1, 3)
        pixels = self.texture.pixels
        shares: Doubles = pixels / 255.0 if self.texture.is_linear else decoded(pixels)
        return np.array(self.color) * shares


def in_grey(pattern: MitsubaPattern) -> MitsubaPattern:
    """Returns a pattern of numbers: of a picture in colour the luminance counts."""
    texture = pattern.texture
    if texture is None or (texture.pixels == texture.pixels[..., :1]).all():
        return pattern
    shares = (decoded(texture.pixels) if not texture.is_linear else texture.pixels / 255.0) @ LUMINANCE
    pixels = np.repeat(np.rint(255.0 * shares)[..., None], 3, axis=-1).astype(np.uint8)
    return replace(pattern, texture=replace(texture, pixels=pixels, is_linear=True))


def at_most_one(reflectance: Color) -> Color:
    """Returns a reflectance with channels of at most 1, so that no more light leaves than comes in."""
    red, green, blue = (min(channel, 1.0) for channel in reflectance)
    return (red, green, blue)


def is_alike(first: MitsubaPattern, second: MitsubaPattern) -> bool:
    """Returns whether two patterns, of which any may have no texture, can be looked up at the same place."""
    if first.texture is None or second.texture is None:
        return True
    return first.texture.wrap == second.texture.wrap and np.array_equal(first.to_uv, second.to_uv)


def blended(first: MitsubaPattern, second: MitsubaPattern, weight: MitsubaPattern) -> MitsubaPattern:
    """Returns the pattern between two, texel by texel.

    weight: of the second.

    Of what is not `is_alike` to the largest texture of the three the mean counts.
    """
    textured = [each for each in (first, second, weight) if each.texture is not None]
    if not textured:
        return MitsubaPattern(between(first.color, second.color, weight.color[0]))
    lead = max(textured, key=lambda each: each.values.size)
    sides = lead.values.shape[:2]
    a, b, share = (
        stretched(each if is_alike(each, lead) else MitsubaPattern(each.mean), sides)
        for each in (first, second, weight)
    )
    texture = lead.texture
    assert texture is not None
    pixels = srgb((1.0 - share) * a + share * b)
    return MitsubaPattern(WHITE, replace(texture, name="blend", pixels=pixels, alpha=None, is_linear=False), lead.to_uv)


def between(first: Color, second: Color, share: float) -> Color:
    """Returns the colour between two. share: of the second."""
    red, green, blue = ((1.0 - share) * a + share * b for a, b in zip(first, second, strict=True))
    return (red, green, blue)


def stretched(pattern: MitsubaPattern, sides: tuple[int, ...]) -> Doubles:
    """Returns the colours of a pattern at so many rows and columns, each that of the nearest texel."""
    values = pattern.values
    rows, columns = (np.arange(side) * own // side for side, own in zip(sides, values.shape[:2], strict=True))
    return values[rows[:, None], columns[None, :]]


class MitsubaTextures:
    """Reads colours and textures, each <texture> once."""

    def __init__(self, reading: Reading) -> None:
        self.reading = reading
        self._known: dict[XmlElement, MitsubaPattern] = {}
        self._pictures: dict[Path, Texture] = {}

    def pattern(self, properties: Properties, name: str, default: Color) -> MitsubaPattern:
        """Reads a colour or texture of a reflectance."""
        element = properties.take(name, *COLORS, "texture")
        if element is None:
            return MitsubaPattern(default)
        if element.tag == "texture":
            return self.reading.attempt(MitsubaPattern(default), self.texture, element)
        return MitsubaPattern(at_most_one(self.reading.attempt(default, color, element, self.reading)))

    def numbers(self, properties: Properties, name: str, default: float) -> MitsubaPattern:
        """Reads a number, or a texture of numbers."""
        return in_grey(self.pattern(properties, name, (default, default, default)))

    def texture(self, element: XmlElement, depth: int = 0) -> MitsubaPattern:
        """Reads a <texture>."""
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
        """Reads a picture, once."""
        if path not in self._pictures:
            if path.suffix.lower() in LINEAR_SUFFIXES:
                pixels = srgb(np.minimum(read_environment(path), 1.0).astype(np.float64))
                self._pictures[path] = Texture(name=path.name, pixels=pixels)
            else:
                self._pictures[path] = read_texture(path, PICTURE_FORMATS)
        return self._pictures[path]


def picture_or_grey(textures: MitsubaTextures, properties: Properties, depth: int) -> MitsubaPattern:
    """Reads a picture; one that is not there is grey, which is noted."""
    try:
        return bitmap(textures, properties, depth)
    except AbsentError as error:
        properties.reading.note_loss(properties.element, f"{error.message}: it is grey")
        return MitsubaPattern(HALF)


def bitmap(textures: MitsubaTextures, properties: Properties, _: int) -> MitsubaPattern:
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
        return MitsubaPattern(HALF)
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


def checkerboard(_: MitsubaTextures, properties: Properties, __: int) -> MitsubaPattern:
    """Makes two by two squares for each unit of texture coordinates."""
    first, second = squares(properties)
    right = np.arange(CHECKERBOARD_SIDE) >= CHECKERBOARD_SIDE // 2
    pixels = np.where((right[:, None] == right)[..., None], first, second).astype(np.uint8)
    return finished_texture(properties, Texture(name="checkerboard", pixels=pixels))


def grid(_: MitsubaTextures, properties: Properties, __: int) -> MitsubaPattern:
    """Makes lines along the borders of each unit of texture coordinates, as 0.6 has them."""
    ground, line = squares(properties)
    half = 0.5 * properties.number("line_width", 0.01)
    middles = (np.arange(CHECKERBOARD_SIDE) + 0.5) / CHECKERBOARD_SIDE
    is_line = np.minimum(middles, 1.0 - middles) < half
    pixels = np.where((is_line[:, None] | is_line)[..., None], line, ground).astype(np.uint8)
    return finished_texture(properties, Texture(name="grid", pixels=pixels))


def multiple(textures: MitsubaTextures, properties: Properties, depth: int) -> MitsubaPattern:
    """Reads a texture of 0.6 that multiplies another."""
    inner = properties.within("texture")
    factor = properties.color("scale", WHITE) if "scale" in properties.named else properties.color("value", WHITE)
    properties.finish()
    if len(inner) != 1:
        raise properties.element.error(f"expected one <texture> in {properties.element.called}, got {len(inner)}")
    within = textures.texture(inner[0], depth + 1)
    return replace(within, color=multiplied(within.color, factor))


def mesh_attribute(_: MitsubaTextures, properties: Properties, __: int) -> MitsubaPattern:
    """Stands for the colours that come with a mesh, and for grey where none do."""
    name = properties.text("name", "vertex_color")
    properties.note("colours that come with a mesh count as the colour of a surface, and are one grey where else")
    factor = properties.number("scale", 1.0)
    properties.finish()
    return MitsubaPattern((factor, factor, factor), attribute=name)


def unread(_: MitsubaTextures, properties: Properties, __: int) -> MitsubaPattern:
    """Stands for a texture that is not read."""
    properties.reading.note_loss(properties.element, f"{properties.element.called} is not read: it is grey")
    return MitsubaPattern(HALF)


def finished_texture(properties: Properties, texture: Texture) -> MitsubaPattern:
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
    return MitsubaPattern(WHITE, looked_at, to_uv)


def without_alpha(texture: Texture) -> Texture:
    """Returns a texture whose colours alone count."""
    return replace(texture, alpha=None)


def rooted(pattern: MitsubaPattern) -> MitsubaPattern:
    """Returns the pattern of the square roots of another, as bytes of shares."""
    texture = pattern.texture
    if texture is None:
        return MitsubaPattern(scaled(WHITE, min(pattern.grey, 1.0) ** 0.5))
    alphas = texture.pixels / 255.0 if texture.is_linear else decoded(texture.pixels)
    roots = np.rint(255.0 * np.sqrt(alphas)).astype(np.uint8)
    factor = min(sum(pattern.color) / 3.0, 1.0) ** 0.5
    return MitsubaPattern(scaled(WHITE, factor), replace(texture, pixels=roots, is_linear=True), pattern.to_uv)


TEXTURES: dict[str, Callable[[MitsubaTextures, Properties, int], MitsubaPattern]] = {
    "bitmap": picture_or_grey,
    "checkerboard": checkerboard,
    "gridtexture": grid,
    "mesh_attribute": mesh_attribute,
    "scale": multiple,
    "vertexcolors": mesh_attribute,
    "volume": unread,
}
