"""This module writes textures as files beside the scene that shows them."""

import io
from collections.abc import Sequence
from pathlib import Path

from PIL import Image, PngImagePlugin

from scenes.export.text import words
from scenes.marks import WRITTEN_BY
from scenes.model import Texture


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


def write_picture(path: Path, image: Image.Image, kind: str) -> None:
    """Writes a picture with the mark. kind: PNG or PPM."""
    file, texts = io.BytesIO(), PngImagePlugin.PngInfo()
    texts.add_text("Comment", WRITTEN_BY)
    image.save(file, format=kind, pnginfo=texts)
    content = file.getvalue()
    if kind == "PPM":  # whose comments follow the first line
        content = content.replace(b"\n", f"\n# {WRITTEN_BY}\n".encode(), 1)
    path.write_bytes(content)
