"""This module reads and writes textures as pictures."""

import warnings
from pathlib import Path

import numpy as np
from PIL import Image

from scenes.errors import SceneFileError
from scenes.model import Texture
from scenes.source_file import check_file, reason

MAX_FILE_BYTES = 1 << 29
OPAQUE = 255


def read_texture(path: Path, formats: tuple[str, ...]) -> Texture:
    """Reads a picture file as a texture; its first row is v = 0.

    formats: Pillow's names of those allowed.

    Raises SceneFileError when the file cannot be read or holds too many pixels (Pillow's bound on decompression bombs).
    """
    check_file(path, MAX_FILE_BYTES)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(path, formats=formats) as image:
                return image_texture(path.name, image)
    except Exception as error:  # Pillow raises many kinds on bad files
        raise SceneFileError(path, None, f"expected a {' or '.join(formats)} picture: {reason(error)}") from error


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
