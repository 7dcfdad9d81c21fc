"""This package reads scenes of Mitsuba, as 0.6 and as 3 spell them: `docs/mitsuba.md` tells for each element what is
read, what is approximated, and what is refused.

This one of the formats that research scenes are published in is read because XML needs no parser of our own and its
shapes are the OBJ and PLY files that are read anyway; the scenes of Bitterli: Rendering resources (2016) come in it.
Jakob: Mitsuba renderer (2010). Jakob, Speierer, Roussel, Vicini: Dr.Jit, with Mitsuba 3 (2022).

A file comes in through `elements` (its XML, with includes and values of `$name` in their place), and a dictionary
through `dictionaries`; `reader` makes a document of it, with `shapes`, `surfaces`, `textures` and `emitters`, in each
of which there is a function for each type. All of them share a `reading.Reading`, which takes problems, so that all
are told in one go, and notes.
"""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from scenes.document import Scene
from scenes.errors import SceneFileError
from scenes.mitsuba.dictionaries import scene_element
from scenes.mitsuba.elements import MitsubaFiles
from scenes.mitsuba.reader import read_document
from scenes.mitsuba.reading import Reading, begin, begun
from scenes.playing.evaluator import scene_of

__all__ = ["of_dictionary", "read"]

NONE: Mapping[str, str] = MappingProxyType({})


def read(path: Path, parameters: Mapping[str, str] = NONE) -> Scene:
    """Returns the scene of an XML file.

    parameters: values of `$name`, by name, instead of those of the file.

    Raises SceneFileError with the file and line of all that is wrong or not supported.
    """
    return _scene(begin(path, parameters))


def of_dictionary(dictionary: Mapping[str, Any], folder: Path) -> Scene:
    """Returns the scene of a dictionary, as Mitsuba's `load_dict` takes them; transforms may be arrays as well.

    folder: where the files are that it names.

    Raises SceneFileError with the keys of all that is wrong or not supported.
    """
    return _scene(begun(Reading(scene_element(dictionary, folder), MitsubaFiles(folder / "scene"), [])))


def _scene(reading: Reading) -> Scene:
    path, document = reading.files.scene, read_document(reading)
    if document.triangles == 0:
        raise SceneFileError(path, None, "there are no shapes in the scene")
    return scene_of(path.stem, document, str(path))
