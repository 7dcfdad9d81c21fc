"""This module reads and writes textures as pictures."""

import io
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from PIL import Image, UnidentifiedImageError

from scenes.errors import SceneFileError
from scenes.limits import MAX_PIXELS
from scenes.memory import free_bytes, gigabytes
from scenes.model import Texture
from scenes.png_rows import missing_rows
from scenes.source_file import read_bytes, reason

MAX_FILE_BYTES = 1 << 29
OPAQUE = 255
#: Bytes of a pixel while a picture is decoded: as Pillow has it, once more in another mode, and as an array.
DECODED_BYTES = 4 + 4 + 3 + 3


def read_texture(path: Path, formats: tuple[str, ...]) -> Texture:
    """Reads a picture file as a texture; its first row is v = 0.

    formats: Pillow's names of those allowed.

    Raises SceneFileError when the file cannot be read or holds too many pixels.
    """
    data = read_bytes(path, MAX_FILE_BYTES)
    try:
        with opened_picture(data, formats) as image:
            return image_texture(path.name, image)
    except Exception as error:  # Pillow raises many kinds on bad files
        raise SceneFileError(path, None, f"expected a {' or '.join(formats)} picture: {reason(error)}") from error


@contextmanager
def opened_picture(data: bytes, formats: tuple[str, ...]) -> Iterator[Image.Image]:
    """Opens the bytes of a picture. Raises ValueError for one that is too large or not whole, and whatever Pillow
    raises."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Image.DecompressionBombWarning)  # the limit here is lower
        try:
            image = Image.open(io.BytesIO(data), formats=formats)
        except UnidentifiedImageError as error:
            raise ValueError("it is of no format that is known") from error
        with image:
            if image.width * image.height > MAX_PIXELS:
                raise ValueError(f"{image.width} x {image.height} pixels, at most {MAX_PIXELS} are read")
            free = free_bytes()
            if free is not None and DECODED_BYTES * image.width * image.height > free:
                raise ValueError(f"{image.width} x {image.height} pixels, and {gigabytes(free)} are free")
            if wrong := missing_rows(data):
                raise ValueError(wrong)
            yield image


def image_texture(name: str, image: Image.Image) -> Texture:
    """Makes a texture of a Pillow image; it has no alpha if all of it is opaque."""
    alpha = np.array(image.convert("RGBA").getchannel("A")) if image.has_transparency_data else None
    has_holes = alpha is not None and alpha.min(initial=OPAQUE) < OPAQUE
    return Texture(name=name, pixels=np.array(image.convert("RGB"), dtype=np.uint8), alpha=alpha if has_holes else None)


def texture_image(texture: Texture) -> Image.Image:
    """Makes a Pillow image of a texture, from which the same texture is read."""
    image = Image.fromarray(texture.pixels)
    if texture.alpha is not None:
        image.putalpha(Image.fromarray(texture.alpha))
    return image
