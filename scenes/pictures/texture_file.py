"""This module reads and writes textures as pictures."""

import io
import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from PIL import Image, PngImagePlugin, UnidentifiedImageError

from scenes.errors import SceneFileError
from scenes.files.marks import WRITTEN_BY
from scenes.files.memory import free_bytes, gigabytes
from scenes.files.source_file import MAX_PIXELS, PixelsError, count_pixels, read_bytes, reason
from scenes.model import Texture
from scenes.pictures.png_rows import missing_rows

MAX_FILE_BYTES = 1 << 29
OPAQUE = 255
#: Bytes of a pixel while a picture is decoded: as Pillow has it, and as arrays of colours and of alpha.
DECODED_BYTES = 4 + 3 + 1
#: Held while Pillow's own limit of pixels, which is one for all threads, is set aside.
PILLOW_LIMIT = threading.Lock()
#: Rows that are turned from Pillow's pixels to an array at a time, while they are in the processor's cache.
STRIP_ROWS = 64


class SizeError(SceneFileError):
    """A picture has more pixels than are read, or than there is memory for."""


def read_texture(path: Path, formats: tuple[str, ...]) -> Texture:
    """Reads a picture file as a texture; its first row is v = 0.

    formats: Pillow's names of those allowed.

    Raises SceneFileError when the file cannot be read; of this kind SizeError where it holds too many pixels, and
    PixelsError where all pictures of the scene do.
    """
    data = read_bytes(path, MAX_FILE_BYTES)
    try:
        with opened_picture(path, data, formats) as image:
            return image_texture(path.name, image)
    except (PixelsError, SizeError):
        raise
    except Exception as error:  # Pillow raises many kinds on bad files
        raise SceneFileError(path, None, f"expected a {' or '.join(formats)} picture: {reason(error)}") from error


@contextmanager
def opened_picture(path: Path, data: bytes, formats: tuple[str, ...]) -> Iterator[Image.Image]:
    """Opens the bytes of a picture, and counts it among those of the scene.

    path: of the file that has them.

    Raises SizeError for one that is too large, PixelsError where all of the scene are, ValueError for one that is not
    whole, and whatever Pillow raises.
    """
    with _opened(data, formats) as image:
        pixels = image.width * image.height
        size = f"it has {image.width} x {image.height} pixels"
        if pixels > MAX_PIXELS:
            side = math.isqrt(MAX_PIXELS)
            raise SizeError(path, None, f"{size}, and at most {side} x {side} are read; make it smaller")
        count_pixels(path, pixels, len(data))
        free = free_bytes()
        if free is not None and DECODED_BYTES * pixels > free:
            needed = gigabytes(DECODED_BYTES * pixels)
            raise SizeError(path, None, f"{size}, which take {needed}, and {gigabytes(free)} are free; make it smaller")
        if wrong := missing_rows(data):
            raise ValueError(wrong)
        yield image


def _opened(data: bytes, formats: tuple[str, ...]) -> Image.Image:
    """Returns a picture of which the header alone has been read, however large it is."""
    with PILLOW_LIMIT:
        limit, Image.MAX_IMAGE_PIXELS = Image.MAX_IMAGE_PIXELS, None
        try:
            return Image.open(io.BytesIO(data), formats=formats)
        except UnidentifiedImageError as error:
            raise ValueError("it is of no format that is known") from error
        finally:
            Image.MAX_IMAGE_PIXELS = limit


def image_texture(name: str, image: Image.Image) -> Texture:
    """Makes a texture of a Pillow image; it has no alpha if all of it is opaque."""
    pixels = np.empty((image.height, image.width, 3), np.uint8)
    alpha = np.empty((image.height, image.width), np.uint8) if image.has_transparency_data else None
    for first in range(0, image.height, STRIP_ROWS):
        own = slice(first, min(first + STRIP_ROWS, image.height))
        strip = image.crop((0, own.start, image.width, own.stop))
        pixels[own] = np.asarray(strip.convert("RGB"))
        if alpha is not None:
            alpha[own] = np.asarray(strip.convert("RGBA").getchannel("A"))
    has_holes = alpha is not None and alpha.min(initial=OPAQUE) < OPAQUE
    return Texture(name=name, pixels=pixels, alpha=alpha if has_holes else None)


def texture_image(texture: Texture) -> Image.Image:
    """Makes a Pillow image of a texture, from which the same texture is read."""
    image = Image.fromarray(texture.pixels)
    if texture.alpha is not None:
        image.putalpha(Image.fromarray(texture.alpha))
    return image


def write_picture(path: Path, image: Image.Image, kind: str) -> None:
    """Writes a picture with the mark. kind: PNG or PPM."""
    file, texts = io.BytesIO(), PngImagePlugin.PngInfo()
    texts.add_text("Comment", WRITTEN_BY)
    image.save(file, format=kind, pnginfo=texts)
    content = file.getvalue()
    if kind == "PPM":  # whose comments follow the first line
        content = content.replace(b"\n", f"\n# {WRITTEN_BY}\n".encode(), 1)
    path.write_bytes(content)
