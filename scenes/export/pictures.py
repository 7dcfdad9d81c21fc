"""This module writes textures as files beside the scene that shows them, or puts their means in their place."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from PIL import Image

from scenes.colors.srgb import decoded
from scenes.export.text import words
from scenes.materials.microfacets import metalness
from scenes.model import Material, Texture
from scenes.pictures.texture_file import write_picture


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


def evened(material: Material, textures: Sequence[Texture]) -> Material:
    """Returns a material whose numbers are multiplied by the means of its pictures of roughness and metalness, which no
    other format is given. textures: of the scene."""
    if material.roughness_map >= 0:
        material = replace(material, roughness=material.roughness * mean(textures[material.roughness_map]))
    if material.metalness_map >= 0:
        share = metalness(material) * mean(textures[material.metalness_map], slice(2, 3))
        material = replace(material, own={**material.own, "metalness": share})
    return material


def mean(texture: Texture, channels: slice = slice(None)) -> float:
    """Returns the linear mean of channels of a texture."""
    pixels = texture.pixels[..., channels]
    return float((pixels / 255.0 if texture.is_linear else decoded(pixels)).mean())
