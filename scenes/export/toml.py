"""This module writes the project's own scene files, which hold all of a scene."""

from dataclasses import replace
from pathlib import Path

from scenes.document import Scene
from scenes.export.keyed import with_keys
from scenes.toml_scene.writer import write


def write_toml(scene: Scene, path: Path, _time: float) -> tuple[str, ...]:
    """Writes the file and those beside it; returns what is lost of meshes that bend, and else nothing."""
    keyed, losses = with_keys(scene.document)
    write(replace(scene, document=keyed), path)
    return losses
