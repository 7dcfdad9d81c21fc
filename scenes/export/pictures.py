"""This module writes textures as files beside the scene that shows them."""

from collections.abc import Sequence
from pathlib import Path

from PIL import Image

from scenes.export.text import words
from scenes.model import Texture
from scenes.texture_file import write_picture


def write_pictures(path: Path, textures: Sequence[Texture], kind: str) -> list[str]:
    """Writes the textures of a scene beside its path and returns the names of the files, which begin with that of the
    scene.

    kind: Pillow's name of a format, which is the suffix too.
    """
    stem = words([path.stem])[0]
    own = [Path(texture.name).stem.removeprefix(f"{stem}-") for texture in textures]
    names = [f"{stem}-{word}.{kind.lower()}" for word in words(own)]
    for name, texture in zip(names, textures, strict=True):
        write_picture(path.with_name(name), Image.fromarray(texture.pixels), kind)
    return names
