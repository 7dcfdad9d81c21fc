"""This module finds and reads the files of a scene: its own, and those that it names, in its folder or below."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

from scenes.errors import Notes, SceneFileError
from scenes.files.source_file import OUTSIDE, OutsideError, PixelsError, is_file, may_be_read, read_bytes
from scenes.pbrt.parameters import Parameter, first_text
from scenes.pbrt.tokens import FileLine, Statement, statements

T = TypeVar("T")

#: Bytes of all files of statements, those included again and again counted each time.
MAX_BYTES = 1 << 30
MAX_FILES = 10_000
MAX_DEPTH = 16
#: Letters of a name that messages show.
MAX_NAME = 80
#: Statements that stand for a file: its statements as if they stood here, or as if they stood in braces of their own.
INCLUDE, IMPORT = "Include", "Import"
#: What stands around the statements of an imported file; no word of a file has a blank.
IMPORT_BEGINS, IMPORT_ENDS = "Import begins", "Import ends"


class MissingError(SceneFileError):
    """A file that the scene names is not there."""


class PbrtFiles:
    """Reads the files of a scene, and notes what of them is not read as it stands.

    folder: that of the scene, which names of all files are relative to.
    """

    def __init__(self, scene: Path) -> None:
        self.scene, self.folder = scene, scene.parent
        self.notes = Notes()
        self._room, self._count = MAX_BYTES, 0

    def tell(self, place: FileLine, message: str) -> None:
        """Notes something about a place."""
        self.notes.add(message, place.path, place.line)

    def lose(self, place: FileLine, message: str) -> None:
        """Notes what is missing in the picture that the file asks for."""
        self.notes.add_loss(message, place.path, place.line)

    def picture(self, item: Parameter, read: Callable[[Path], T], instead: str) -> T | None:
        """Returns what is read of the picture that a parameter names; None where it is not there or cannot be read,
        which is noted.

        instead: what there is then, for the note.
        """
        name = item.text()
        try:
            return read(self.path(name, item.place))
        except (OutsideError, PixelsError):
            raise
        except MissingError:
            self.lose(item.place, f"there is no picture {name[:MAX_NAME]!r}: {instead}")
        except SceneFileError as error:
            self.lose(item.place, f"the picture {name[:MAX_NAME]!r} {error.message}: {instead}")
        return None

    def path(self, name: str, place: FileLine, what: str = "a file") -> Path:
        """Returns the path of a file that the scene names. Raises SceneFileError where there is none in the folder."""
        path = self.folder / os.path.normpath(name.replace("\\", "/"))
        if "\0" in name or not name or not is_file(path):
            got = f"got {name[:MAX_NAME]!r}"
            message = f"expected the name of {what} in the folder of the scene or below, {got}"
            raise MissingError(place.path, place.line, message)
        if not may_be_read(path):
            raise OutsideError(place.path, place.line, f"{name[:MAX_NAME]!r} {OUTSIDE}")
        return path

    def statements(self) -> Iterator[Statement | SceneFileError]:
        """Yields the statements of the scene, with those of other files in their places, and the errors among them."""
        return self._expanded(self.scene, ())

    def _expanded(self, path: Path, around: tuple[Path, ...]) -> Iterator[Statement | SceneFileError]:
        data = read_bytes(path, MAX_BYTES)
        self._room -= len(data)
        self._count += 1
        if self._room < 0 or self._count > MAX_FILES:
            raise SceneFileError(path, None, f"with all that is included over {MAX_BYTES} bytes or {MAX_FILES} files")
        for found in statements(path, data):
            if isinstance(found, Statement) and found.name in (INCLUDE, IMPORT):
                yield from self._included(found, (*around, path))
            else:
                yield found

    def _included(self, statement: Statement, around: tuple[Path, ...]) -> Iterator[Statement | SceneFileError]:
        apart = statement.name == IMPORT
        if apart:
            yield Statement(IMPORT_BEGINS, statement.place)
        try:
            path = self.path(first_text(statement, "a file"), statement.place)
            if len(around) > MAX_DEPTH or path in around:
                raise statement.error(f"files include themselves, or others deeper than {MAX_DEPTH}")
            yield from self._expanded(path, around)
        except SceneFileError as error:
            yield error
        if apart:
            yield Statement(IMPORT_ENDS, statement.place)
