from pathlib import Path

from scenes.aff.commands import read_document
from scenes.document import Scene
from scenes.errors import SceneFileError
from scenes.playing.evaluator import scene_of


def read(path: Path) -> Scene:
    """Returns the scene of an .aff or .nff file. Raises SceneFileError with the file and line of what is wrong."""
    document = read_document(path)
    if document.triangles == 0:
        raise SceneFileError(path, None, "there are no triangles, in this file or in those that it includes")
    return scene_of(path.stem, document, str(path))
