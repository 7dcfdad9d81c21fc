"""This module reads the pictures of a glTF file, and makes textures of them that look as its samplers ask for.

A texture of the renderer repeats or is clamped, on both axes alike. For all else its picture is laid out as often as
the texture coordinates reach, mirrored where the sampler mirrors it, and the coordinates are scaled to fit.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from PIL import Image

from scenes.colors.palette import mean_color
from scenes.colors.srgb import decoded, encoded
from scenes.errors import SceneFileError
from scenes.files.source_file import MAX_PIXELS, OutsideError, PixelsError, reason
from scenes.gltf.container import GltfFile
from scenes.gltf.extensions import TEXTURE_TRANSFORM, WEBP
from scenes.gltf.values import Item
from scenes.model import Color, Doubles, Texture
from scenes.pictures.texture_file import OPAQUE, SizeError, image_texture, opened_picture

FORMATS = ("PNG", "JPEG", "WEBP", "BMP", "TGA", "PPM")
REPEAT, CLAMP, MIRROR = 10497, 33071, 33648
NEAREST = 9728
#: The most copies of a picture along one axis.
MAX_COPIES = 64
#: Characters of a reason why a picture is not read.
MAX_REASON = 200


@dataclass(frozen=True)
class Lookup:
    """Says how a material looks a picture up.

    image: its index.
    wraps: what is beyond it, along u and v.
    texcoord: the set of texture coordinates.
    transform: six numbers a, b, c, d, e, f of u' = a u + b v + c, v' = d u + e v + f.
    """

    image: int
    wraps: tuple[int, int] = (REPEAT, REPEAT)
    is_nearest: bool = False
    texcoord: int = 0
    transform: tuple[float, ...] = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0)

    @property
    def frame(self) -> tuple[int, tuple[float, ...]]:
        """Returns which texture coordinates are looked up, and how they are moved."""
        return self.texcoord, self.transform

    def moved(self, uvs: Doubles) -> Doubles:
        """Returns texture coordinates (n, 2) as this transform moves them."""
        matrix = np.array(self.transform).reshape(2, 3)
        return uvs @ matrix[:, :2].T + matrix[:, 2]


#: The look-up of a picture that is one white texel.
EVEN = Lookup(-1)


class Role(NamedTuple):
    """Says what a material uses of a picture. channel: the one that counts, or None for the colours; is_linear: as
    `Texture` has it."""

    channel: int | None = None
    is_linear: bool = False


COLOR, VECTORS, GREEN, BLUE, RED = Role(), Role(None, True), Role(1, True), Role(2, True), Role(0, True)


@dataclass(frozen=True)
class Map:
    """Describes a picture of a material, and what becomes of it.

    tint: linear factors that its colours are multiplied by.
    cutoff: share of alpha from which on a surface is there, or None where alpha counts for nothing.
    """

    lookup: Lookup
    role: Role = COLOR
    tint: Color = (1.0, 1.0, 1.0)
    cutoff: float | None = None


class Layout(NamedTuple):
    """Says how pictures are laid out, for all of a material alike.

    wrap: as `Texture` has it.
    first: (u, v), the first copy along each axis.
    copies: their number along each axis.
    """

    wrap: str = "repeat"
    first: tuple[int, int] = (0, 0)
    copies: tuple[int, int] = (1, 1)

    def moved(self, uvs: Doubles) -> Doubles:
        """Returns texture coordinates (n, 2) of the picture as they are on its copies."""
        return uvs if self.first == (0, 0) and self.copies == (1, 1) else (uvs - self.first) / self.copies


class Pictures:
    """Has the pictures that materials look up, each read once, by their numbers.

    note: takes a line on what is not as the file says.
    """

    def __init__(self, note: Callable[[str], None]) -> None:
        self.note = note
        self.picture = cache(self._picture)
        self.mean = cache(self._mean)

    def _picture(self, index: int) -> Texture | None:
        """Reads a picture, or the one colour that `EVEN` stands for; one that cannot be used is noted."""
        raise NotImplementedError

    def _mean(self, image: int, role: Role) -> Color:
        """Returns the mean of what a role uses of a picture, linear."""
        picture = self.picture(image)
        assert picture is not None
        if not role.is_linear:
            return mean_color(picture.pixels)
        red, green, blue = (picture.pixels.reshape(-1, 3).mean(axis=0) / 255.0).tolist()
        share = (red, green, blue)
        return share if role.channel is None else (share[role.channel],) * 3

    def alpha(self, image: int) -> npt.NDArray[np.uint8] | None:
        """Returns the alpha of a picture, (height, width), or None where all of it is opaque."""
        picture = self.picture(image)
        return None if picture is None else picture.alpha

    def layout(self, maps: Sequence[Map], uvs: Doubles) -> Layout:
        """Returns how the pictures of a material are laid out for texture coordinates (n, 2), moved as they want."""
        lookups = [one.lookup for one in maps]
        modes = [{one.wraps[axis] for one in lookups} for axis in range(2)]
        if CLAMP not in modes[0] | modes[1]:
            return Layout(copies=(1 + (MIRROR in modes[0]), 1 + (MIRROR in modes[1])))
        if modes[0] == modes[1] == {CLAMP} or not len(uvs):
            return Layout("clamp")
        smallest = [min(self.sides(one.image)[axis] for one in lookups) for axis in range(2)]
        found = [copies_of(modes[axis], uvs[:, axis], smallest[axis]) for axis in range(2)]
        (first_u, count_u), (first_v, count_v) = found
        largest = max(math.prod(self.sides(one.image)) for one in lookups)
        if max(count_u, count_v) > MAX_COPIES or count_u * count_v * largest > MAX_PIXELS:
            self.note("a picture that is clamped on one axis and repeats far on the other repeats on both")
            return Layout(copies=(1 + (MIRROR in modes[0]), 1 + (MIRROR in modes[1])))
        return Layout("clamp", (first_u, first_v), (count_u, count_v))

    def sides(self, image: int) -> tuple[int, int]:
        """Returns the width and the height of a picture."""
        picture = self.picture(image)
        assert picture is not None
        return picture.pixels.shape[1], picture.pixels.shape[0]

    def texture(self, used: Map, layout: Layout) -> Texture:
        """Makes the texture of a picture of a material, as it is laid out."""
        picture = self.picture(used.lookup.image)
        assert picture is not None
        pixels, alpha = picture.pixels, None
        if used.role.channel is not None:
            pixels = np.repeat(pixels[..., used.role.channel, None], 3, axis=2)
        if used.tint != (1.0, 1.0, 1.0):
            pixels = np.rint(255.0 * encoded(decoded(pixels) * used.tint)).astype(np.uint8)
        if used.cutoff is not None and picture.alpha is not None:
            alpha = np.where(picture.alpha >= used.cutoff * OPAQUE, OPAQUE, 0).astype(np.uint8)
        if layout.copies != (1, 1) or layout.first != (0, 0):
            axes = (
                texels(pixels.shape[1 - axis], layout.first[axis], layout.copies[axis], used.lookup.wraps[axis])
                for axis in (1, 0)
            )
            grid = np.ix_(*axes)
            pixels, alpha = pixels[grid], None if alpha is None else alpha[grid]
        return Texture(
            name=picture.name,
            pixels=pixels,
            alpha=alpha,
            wrap=layout.wrap,
            filter="nearest" if used.lookup.is_nearest else "bilinear",
            is_linear=used.role.is_linear,
        )


class GltfPictures(Pictures):
    """Reads the pictures of a glTF file."""

    def __init__(self, file: GltfFile) -> None:
        super().__init__(file.note)
        self.file = file

    def lookup(self, info: Item) -> Lookup | None:
        """Returns how a reference to a texture is looked up; None where there is none, or no picture."""
        rows = self.file.rows
        texture = info.index("index", rows("textures"), "textures")
        if texture is None:
            return None
        item = rows("textures")[texture]
        sampler = item.index("sampler", rows("samplers"), "samplers")
        asked = Item(item.place, {}) if sampler is None else rows("samplers")[sampler]
        webp = item.extension(WEBP)
        image = (item if webp is None else webp).index("source", rows("images"), "images")
        if image is None:
            self.lost(f"{item.place.keys} has no picture that is read")
            return None
        if self.picture(image) is None:
            return None
        wraps = (wrap_of(asked, "wrapS"), wrap_of(asked, "wrapT"))
        is_nearest = asked.whole("magFilter", 0) == NEAREST
        texcoord, transform = frame_of(info)
        return Lookup(image, wraps, is_nearest, texcoord, transform)

    def _picture(self, index: int) -> Texture | None:
        """Reads a picture; one that is missing, or of no format that is read, is noted. Raises where one is too
        large."""
        if index == EVEN.image:
            return Texture(name="colour", pixels=np.full((1, 1, 3), OPAQUE, np.uint8))
        item = self.file.rows("images")[index]
        view = item.index("bufferView", self.file.rows("bufferViews"), "buffer views")
        if view is None:
            try:
                data = self.file.data_of(item)
            except OutsideError:
                raise
            except SceneFileError as error:
                self.lost(error.message)
                return None
        else:
            data = bytes(self.file.view(view))
        try:
            with opened_picture(self.file.path, data, FORMATS) as image:
                return image_texture(self.name_of(item, image), image)
        except (PixelsError, SizeError) as error:
            raise item.place.error(error.message) from error
        except Exception as error:  # Pillow raises many kinds on bad files
            message = f"{item.place.keys} is no picture that is read, {', '.join(FORMATS)}: {reason(error)}"
            self.lost(message[:MAX_REASON])
            return None

    def lost(self, message: str) -> None:
        """Notes why there is no picture."""
        self.file.notes.add_loss(f"{message}: colours alone are used", self.file.path)

    def name_of(self, item: Item, image: Image.Image) -> str:
        """Returns the name of a picture's texture."""
        uri = item.text("uri")
        return item.text("name") or ("" if uri.startswith("data:") else uri) or f"{item.place.keys} ({image.format})"


def wrap_of(sampler: Item, name: str) -> int:
    """Returns what a sampler asks for beyond the picture on one axis."""
    wrap = sampler.whole(name, REPEAT)
    if wrap not in (REPEAT, CLAMP, MIRROR):
        raise sampler.error(name, f"one of {REPEAT}, {CLAMP}, {MIRROR}")
    return wrap


def frame_of(info: Item) -> tuple[int, tuple[float, ...]]:
    """Returns the set of texture coordinates of a reference to a texture, and the six numbers that move them.

    KHR_texture_transform turns counter-clockwise, with v downward, after it scales and before it shifts.
    """
    texcoord, extension = info.whole("texCoord", 0), info.extension(TEXTURE_TRANSFORM)
    if extension is None:
        return texcoord, Lookup.transform
    offset, scale = extension.numbers("offset", 2, (0.0, 0.0)), extension.numbers("scale", 2, (1.0, 1.0))
    angle = extension.number("rotation", 0.0)
    cosine, sine = math.cos(angle), math.sin(angle)
    rows = (cosine * scale[0], sine * scale[1], offset[0], -sine * scale[0], cosine * scale[1], offset[1])
    return extension.whole("texCoord", texcoord), tuple(float(number) for number in rows)


def copies_of(modes: set[int], values: Doubles, side: int) -> tuple[int, int]:
    """Returns the first copy and the number of copies that coordinates along one axis reach, with half a texel beyond
    them, which filtering sees.

    values: (n,).
    side: texels of the smallest picture.
    """
    if modes == {CLAMP}:
        return 0, 1
    margin = 0.5 / side
    first, last = math.floor(values.min() - margin), math.ceil(values.max() + margin)
    return first, max(last - first, 1)


def texels(side: int, first: int, copies: int, wrap: int) -> npt.NDArray[Any]:
    """Returns which texel of a picture's side stands at each place of its copies along that axis."""
    return wrapped_texels(np.arange(first * side, (first + copies) * side), side, wrap)


def wrapped_texels(places: npt.NDArray[Any], side: int, wrap: int) -> npt.NDArray[Any]:
    """Returns which texel of a picture's side stands at places that may be beyond it."""
    if wrap == CLAMP:
        return np.clip(places, 0, side - 1)
    if wrap == MIRROR:
        folded = places % (2 * side)
        return np.minimum(folded, 2 * side - 1 - folded)
    return places % side
