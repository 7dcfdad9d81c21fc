"""This module writes the project's own scene files, which hold all of a scene."""

from pathlib import Path

from scenes.scene import Scene
from scenes.toml_scene.writer import write


def write_toml(scene: Scene, path: Path, _time: float) -> tuple[str, ...]:
    """Writes the file and those beside it; nothing is lost."""
    write(scene, path)
    return ()
