"""This module holds every error that reading a scene raises."""

from pathlib import Path


class SceneError(Exception):
    """This is the root of the errors of scenes."""


class SceneFileError(SceneError, ValueError):
    """A scene file cannot be read; the message is one line with the file, the line number if there is one, and what was
    expected."""

    def __init__(self, path: Path | str, line: int | None, message: str) -> None:
        self.path, self.line, self.message = str(path), line, message
        place = f"{path}:{line}" if line is not None else str(path)
        super().__init__(f"{place}: {message}")


class UnknownSceneError(SceneError):
    """No shipped scene has this name; the message lists those there are."""
