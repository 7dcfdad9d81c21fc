"""This module reads the pictures of UsdUVTexture, also out of packages, as textures that look as its inputs ask for."""

import io
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from pxr import Ar, Sdf, Usd

from scenes.colors.palette import srgb
from scenes.colors.srgb import decoded, encoded
from scenes.errors import SceneFileError
from scenes.files.source_file import OutsideError, PixelsError, allow_folder, read_bytes, reason
from scenes.gltf.pictures import COLOR, EVEN, FORMATS, Map, Pictures
from scenes.model import Floats, Texture
from scenes.pictures.environment_file import read_environment
from scenes.pictures.texture_file import MAX_FILE_BYTES, OPAQUE, SizeError, image_texture, opened_picture
from scenes.usd.file import UsdFile
from scenes.usd.prim_counts import place_of

#: Pictures of linear radiance.
RADIANCE = (".exr", ".hdr")
#: Number of the first picture of several that lie side by side (Mari: UDIM).
FIRST_TILE = "1001"
Numbers4 = tuple[float, float, float, float]
ONES, ZEROS = (1.0,) * 4, (0.0,) * 4


class Asked(NamedTuple):
    """Says which picture is asked for, and what becomes of its channels.

    name: of its file, or of that of a package and its own in it.
    space: auto, sRGB or raw.
    as_linear: it becomes shares of 255.
    scale, bias: its linear channels are multiplied by the one, and the other added.
    alpha: the channel that says where there is something; 3 for its own alpha.
    """

    name: str
    space: str
    as_linear: bool
    scale: Numbers4 = ONES
    bias: Numbers4 = ZEROS
    alpha: int = 3


class UsdPictures(Pictures):
    """Reads pictures, each once, by the numbers that `number` gives them. Layouts are as of glTF."""

    def __init__(self, file: UsdFile) -> None:
        super().__init__(file.note)
        self.file = file
        self.asked: list[Asked] = []
        self.plain = cache(self._plain)

    def number(self, asked: Asked) -> int | None:
        """Returns the number of a picture, or None where it cannot be used, which is noted."""
        if self.plain(asked.name) is None:
            return None
        if asked not in self.asked:
            self.asked.append(asked)
        return self.asked.index(asked)

    def is_srgb(self, name: str, space: str) -> bool:
        """Returns whether the colours of a picture are encoded; by themselves all of three channels of 8 bits are."""
        if space in ("sRGB", "raw"):
            return space == "sRGB"
        found = self.plain(name)
        return found is not None and found[1]

    def with_alpha(self, used: Map, channel: int) -> Map | None:
        """Returns a picture whose alpha is one of its channels, or None where all of it is there."""
        asked = self.asked[used.lookup.image]._replace(as_linear=True, alpha=channel)
        number = self.number(asked)
        if number is None or self.alpha(number) is None:
            return None
        return Map(replace(used.lookup, image=number), COLOR)

    def _plain(self, name: str) -> tuple[Texture, bool] | None:
        """Reads a picture as it is, and whether it has three channels of 8 bits."""
        try:
            if Path(name.rstrip("]")).suffix.lower() in RADIANCE:
                with file_of(name) as path:
                    colors = read_environment(path)
                return Texture(name=path.name, pixels=srgb(colors.astype(np.float64)), colors=colors), False
            with opened_picture(self.file.path, bytes_of(name), FORMATS) as image:
                has_colors = image.mode in ("RGB", "RGBA", "P", "CMYK", "YCbCr")
                return image_texture(Path(name.rstrip("]")).name, image), has_colors
        except (OutsideError, PixelsError, SizeError):
            raise
        except SceneFileError as error:
            message = error.message
        except Exception as error:  # Pillow raises many kinds on bad files
            message = f"expected a picture, {', '.join(FORMATS)}: {reason(error)}"
        self.file.lose(f"{Path(name).name}: {message}: numbers alone are used")
        return None

    def _picture(self, index: int) -> Texture | None:
        """Returns a picture as it is asked for."""
        if index == EVEN.image:
            return Texture(name="colour", pixels=np.full((1, 1, 3), OPAQUE, np.uint8))
        asked = self.asked[index]
        found = self.plain(asked.name)
        assert found is not None
        picture = found[0]
        is_srgb = self.is_srgb(asked.name, asked.space) and picture.colors is None
        if picture.colors is not None:
            linear = picture.colors.astype(np.float64)
        elif is_srgb != asked.as_linear and (asked.scale, asked.bias, asked.alpha) == (ONES, ZEROS, 3):
            return picture
        else:
            linear = decoded(picture.pixels) if is_srgb else picture.pixels / 255.0
        linear = np.clip(linear * asked.scale[:3] + asked.bias[:3], 0.0, 1.0)
        alpha = None
        if asked.alpha < 3:
            alpha = as_bytes(linear[..., asked.alpha])
        elif picture.alpha is not None:
            alpha = as_bytes(np.clip(picture.alpha / 255.0 * asked.scale[3] + asked.bias[3], 0.0, 1.0))
        pixels = as_bytes(linear if asked.as_linear else encoded(linear))
        return Texture(name=picture.name, pixels=pixels, alpha=alpha)


def as_bytes(shares: npt.NDArray[np.float64]) -> npt.NDArray[np.uint8]:
    return np.rint(255.0 * shares).astype(np.uint8)


def asset_of(file: UsdFile, attribute: Usd.Attribute | None) -> str:
    """Returns the name of the file that an attribute names, that of a package with its own in it, or "" for none."""
    asset = None if attribute is None else file.value(attribute)
    if attribute is None or not isinstance(asset, Sdf.AssetPath) or not asset.path:
        return ""
    name = str(asset.resolvedPath or asset.path).replace("<UDIM>", FIRST_TILE)
    stack = attribute.GetPropertyStack(file.start)
    return name if asset.resolvedPath or not stack else place_of(stack[0].layer, name)


def bytes_of(name: str) -> bytes:
    """Returns the bytes of a file, or of one in a package. Raises SceneFileError where they cannot be read."""
    package, inner = Ar.SplitPackageRelativePathOuter(name)
    data = read_bytes(Path(package), MAX_FILE_BYTES)
    while inner:
        inner, rest = Ar.SplitPackageRelativePathOuter(inner)
        data, inner = member_of(Path(package), data, inner), rest
    return data


def member_of(package: Path, data: bytes, name: str) -> bytes:
    """Returns the bytes of a file in a package, which packs nothing."""
    import zipfile

    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            found = archive.getinfo(name)
            if found.file_size > len(data):
                raise SceneFileError(package, None, f"{name} in it is packed, as nothing is in a package of USD")
            return archive.read(name)
    except (KeyError, OSError, ValueError, zipfile.BadZipFile, RuntimeError, NotImplementedError) as error:
        raise SceneFileError(package, None, f"there is no {name} in it: {reason(error)}") from error


@contextmanager
def file_of(name: str) -> Iterator[Path]:
    """Gives a file of an asset, for those who read files; of one in a package it is a copy that does not last."""
    package, inner = Ar.SplitPackageRelativePathOuter(name)
    if not inner:
        yield Path(package)
        return
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder).resolve() / Path(inner).name
        copy.write_bytes(bytes_of(name))
        allow_folder(copy.parent)
        yield copy


def radiance_of(name: str) -> Floats:
    """Reads the picture of a light from all around, (height, width, 3). Raises SceneFileError where it cannot."""
    with file_of(name) as path:
        return read_environment(path)
