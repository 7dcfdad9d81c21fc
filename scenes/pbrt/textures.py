"""This module makes patterns of textures."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from scenes.colors.palette import srgb
from scenes.materials.microfacets import GREY, WHITE, multiplied, scaled
from scenes.materials.patterns import Pattern, combined, texture_of_light
from scenes.model import Color, Doubles, Texture
from scenes.pbrt.colors import REFLECTANCE, Quantity, color_of
from scenes.pbrt.files import PbrtFiles
from scenes.pbrt.parameters import COLORS, Parameters
from scenes.pbrt.tokens import FileLine
from scenes.pictures.environment_file import READERS
from scenes.pictures.texture_file import read_texture

PICTURE_FORMATS = ("PNG", "JPEG", "PPM", "TGA", "BMP", "WEBP")
#: Suffixes of pictures of linear numbers.
LINEAR_SUFFIXES = (".exr", ".npy", ".hdr", ".pfm")
WRAPS = {"repeat": "repeat", "clamp": "clamp"}
FILTERS = {"point": "nearest", "bilinear": "bilinear", "trilinear": "mip", "ewa": "mip"}
#: Red, green and blue of marble, about.
MARBLE: Color = (0.58, 0.57, 0.58)
#: What textures are made of that are none here: names of two whose mean it is, or a colour.
STAND_INS: dict[str, tuple[str, ...] | Color] = {
    "directionmix": ("tex1", "tex2"),
    "dots": ("outside",),
    "bilerp": ("v00", "v01", "v10", "v11"),
    "fbm": GREY,
    "wrinkled": GREY,
    "windy": GREY,
    "marble": MARBLE,
    "ptex": GREY,
}
#: What a pattern is between and beyond its texels.
Look = tuple[str, str]


def reflectances(pattern: Pattern) -> Pattern:
    """Returns a pattern of reflectances, none of which is above 1."""
    return pattern if max(pattern.color) <= 1.0 else combined([pattern], lambda values: np.minimum(values, 1.0))


class PbrtTextures:
    """Holds the named textures: those of numbers and those of colours have names of their own."""

    def __init__(self, files: PbrtFiles) -> None:
        self.files = files
        self.named: dict[tuple[bool, str], Pattern] = {}
        self._pictures: dict[tuple[object, ...], Texture | None] = {}

    def add(self, name: str, is_number: bool, kind: str, parameters: Parameters) -> None:
        """Makes a texture of a class and keeps it by its name."""
        self.named[(is_number, name)] = self.made(kind, is_number, parameters)

    def color(self, parameters: Parameters, name: str, default: Color, quantity: Quantity = REFLECTANCE) -> Pattern:
        """Takes a colour or a texture of colours."""
        item = parameters.find(name, "texture", *COLORS, "float")
        if item is None:
            return Pattern(default)
        if item.type == "texture":
            return self.known(parameters, name, False)
        found = color_of(item, self.files, quantity)
        return Pattern(default if found is None else found)

    def number(self, parameters: Parameters, name: str, default: float) -> Pattern:
        item = parameters.find(name, "texture", "float")
        if item is not None and item.type == "texture":
            return self.known(parameters, name, True)
        return Pattern(scaled(WHITE, parameters.number(name, default)))

    def known(self, parameters: Parameters, name: str, is_number: bool) -> Pattern:
        """Takes the texture that a parameter names."""
        item = parameters.find(name, "texture")
        assert item is not None
        found = self.named.get((is_number, item.text()))
        if found is None:
            raise item.place.unmade(f"{'float' if is_number else 'spectrum'} texture", item.text())
        return found

    def made(self, kind: str, is_number: bool, parameters: Parameters) -> Pattern:
        """Makes the pattern of a texture of a class."""
        if kind == "imagemap":
            return self.picture(parameters, is_number)
        if kind in STAND_INS:
            return self.stand_in(kind, is_number, parameters)
        if kind not in COMPOSED:
            known = ", ".join([*COMPOSED, "imagemap", *STAND_INS])
            raise parameters.error(f"unknown texture class {kind[:80]!r}; there are: {known}")
        return COMPOSED[kind](self, parameters, is_number)

    def part(self, parameters: Parameters, name: str, default: float, is_number: bool) -> Pattern:
        """Takes a number or colour, or a texture, that another texture is made of."""
        if is_number:
            return self.number(parameters, name, default)
        return self.color(parameters, name, scaled(WHITE, default))

    def stand_in(self, kind: str, is_number: bool, parameters: Parameters) -> Pattern:
        """Returns the mean of a texture of a class that is not read."""
        self.files.tell(parameters.place, f"a texture of class {kind} is replaced by a colour that stands for its mean")
        of = STAND_INS[kind]
        names = [name for name in of if isinstance(name, str)]
        means = [self.part(parameters, name, 0.5, is_number).mean for name in names]
        parameters.skip(*parameters.named)
        red, green, blue = np.mean(means, axis=0).tolist() if means else of
        return Pattern((float(red), float(green), float(blue)))

    def aligned(self, parameters: Parameters, patterns: Sequence[Pattern]) -> list[Pattern]:
        """Returns patterns of which those that do not map texture coordinates as the first one does are flat."""
        textured = [pattern for pattern in patterns if pattern.texture is not None]
        made = []
        for pattern in patterns:
            same = pattern.texture is None or pattern.is_alike(textured[0])
            if not same:
                message = "of textures that map coordinates in different ways all but one are replaced by their means"
                self.files.tell(parameters.place, message)
            made.append(pattern if same else pattern.flat)
        return made

    def mapping(self, parameters: Parameters) -> Doubles | None:
        """Takes the map of texture coordinates, (3, 3) with v downward; returns None for one that is not read."""
        kind = parameters.text("mapping", "uv")
        su, sv = parameters.number("uscale", 1.0), parameters.number("vscale", 1.0)
        du, dv = parameters.number("udelta", 0.0), parameters.number("vdelta", 0.0)
        parameters.skip("v1", "v2")
        if kind != "uv":
            message = f"a texture with the mapping {kind[:80]} is replaced by its mean; only uv is read"
            self.files.tell(parameters.place, message)
            return None
        return np.array([[su, 0.0, du], [0.0, sv, 1.0 - sv - dv], [0.0, 0.0, 1.0]])

    def picture(self, parameters: Parameters, is_number: bool) -> Pattern:
        """Reads an imagemap."""
        item = parameters.find("filename", "string")
        if item is None:
            raise parameters.error('expected "string filename" of an imagemap')
        encoding, wrap = parameters.text("encoding", ""), parameters.text("wrap", "repeat")
        filtered = parameters.text("filter", "bilinear")
        scale, invert = parameters.number("scale", 1.0, low=0.0), parameters.flag("invert", False)
        parameters.skip("maxanisotropy")
        if wrap not in WRAPS:
            self.files.tell(parameters.place, f"a texture that wraps as {wrap[:80]!r} repeats")
        look = (WRAPS.get(wrap, "repeat"), FILTERS.get(filtered, "bilinear"))
        key = (item.text(), encoding, look, is_number)
        if key not in self._pictures:
            read = partial(self.texture, item.place, encoding, is_number, look)
            self._pictures[key] = self.files.picture(item, read, "grey stands for it")
        pattern = Pattern(scaled(GREY if self._pictures[key] is None else WHITE, scale), self._pictures[key])
        if invert:
            pattern = combined([replace(pattern, color=WHITE)], lambda values: scale * (1.0 - values))
        matrix = self.mapping(parameters)
        return pattern.flat if matrix is None else replace(pattern, to_uv=matrix)

    def texture(self, place: FileLine, encoding: str, is_number: bool, look: Look, path: Path) -> Texture:
        """Reads the picture of an imagemap. Of a texture of numbers it is the alpha, if there is one."""
        if path.suffix.lower() in LINEAR_SUFFIXES and path.suffix.lower() in READERS:
            self.files.tell(place, f"what {path.name} has above 1 counts as 1: textures have 8 bits")
            return replace(texture_of_light(path), wrap=look[0], filter=look[1])
        texture = read_texture(path, PICTURE_FORMATS)
        is_linear = encoding == "linear"
        if encoding and not is_linear and encoding != "sRGB":
            self.files.tell(place, f"a texture of the encoding {encoding[:80]!r} is read as sRGB")
        if is_number and texture.alpha is not None:
            texture = replace(texture, pixels=np.repeat(texture.alpha[..., None], 3, axis=2))
            is_linear = True
        return replace(texture, alpha=None, wrap=look[0], filter=look[1], is_linear=is_linear)


def constant(textures: PbrtTextures, parameters: Parameters, is_number: bool) -> Pattern:
    """Makes a texture of one value."""
    return textures.part(parameters, "value", 1.0, is_number)


def scale(textures: PbrtTextures, parameters: Parameters, is_number: bool) -> Pattern:
    """Makes the product of two textures; the second is one of numbers."""
    parts = [textures.part(parameters, "tex", 1.0, is_number), textures.number(parameters, "scale", 1.0)]
    first, second = textures.aligned(parameters, parts)
    if second.texture is None:
        return replace(first, color=multiplied(first.color, second.color))
    return combined([first, second], lambda a, b: a * b)


def mix(textures: PbrtTextures, parameters: Parameters, is_number: bool) -> Pattern:
    """Makes a mixture of two textures, of which the second has a share that is a number or a texture of numbers."""
    parts = [textures.part(parameters, name, default, is_number) for name, default in (("tex1", 0.0), ("tex2", 1.0))]
    parts.append(textures.number(parameters, "amount", 0.5))
    return combined(textures.aligned(parameters, parts), lambda a, b, share: (1.0 - share) * a + share * b)


def checkerboard(textures: PbrtTextures, parameters: Parameters, is_number: bool) -> Pattern:
    """Makes squares that are one unit of texture coordinates wide; the one at the origin has the first colour."""
    first, second = (
        textures.part(parameters, name, default, is_number).mean for name, default in (("tex1", 1.0), ("tex2", 0.0))
    )
    dimension = parameters.number("dimension", 2.0)
    matrix = textures.mapping(parameters)
    if any(item.type == "texture" for name in ("tex1", "tex2") for item in parameters.named.get(name, [])):
        textures.files.tell(parameters.place, "a checkerboard of textures has their means in its squares")
    if dimension != 2.0:
        textures.files.tell(parameters.place, "a checkerboard of three dimensions is replaced by its mean")
    mean = (0.5 * (first[0] + second[0]), 0.5 * (first[1] + second[1]), 0.5 * (first[2] + second[2]))
    if matrix is None or dimension != 2.0:
        return Pattern(mean)
    # Two units of texture coordinates are the picture; its lower row, of small v, begins with the first colour.
    halves = np.array([[0.5, 0.0, 0.0], [0.0, 0.5, 0.5], [0.0, 0.0, 1.0]])
    pixels = srgb(np.clip([[second, first], [first, second]], 0.0, 1.0))
    return Pattern(WHITE, Texture(name="checkerboard", pixels=pixels, filter="nearest"), halves @ matrix)


#: Makers of textures by their classes, beside imagemap.
COMPOSED: dict[str, Callable[[PbrtTextures, Parameters, bool], Pattern]] = {
    "checkerboard": checkerboard,
    "constant": constant,
    "mix": mix,
    "scale": scale,
}
