"""This package reads scenes of pbrt-v4 (`.pbrt`, `.pbrt.gz`): from a path to a `Scene`.

Pharr, Jakob, Humphreys: Physically Based Rendering, fourth edition, 2023, and its file format. docs/pbrt.md has a table
of what is read, approximated, noted and refused.
"""

from pathlib import Path

from scenes.document import Scene
from scenes.pbrt.reader import read_document
from scenes.playing.evaluator import scene_of

__all__ = ["read"]


def read(path: Path) -> Scene:
    """Returns the scene of a file. Raises SceneFileError with the file and line of all that is wrong or not
    supported."""
    return scene_of(path.name.partition(".")[0] or path.stem, read_document(path), str(path))
