"""This module holds every error that reading a scene raises."""

from collections.abc import Sequence
from pathlib import Path

#: So many problems of a file are told, the others counted.
MAX_PROBLEMS = 40


class SceneError(Exception):
    """This is the root of the errors of scenes."""


class SceneFileError(SceneError, ValueError):
    """A scene file cannot be read; the message is one line with the file, the line number if there is one, and what was
    expected."""

    def __init__(self, path: Path | str, line: int | None, message: str) -> None:
        self.path, self.line, self.message = str(path), line, message
        place = f"{path}:{line}" if line is not None else str(path)
        super().__init__(f"{place}: {message}")


class SceneProblemsError(SceneFileError):
    """Several things are wrong with a scene file; the message has a line for each, as `SceneFileError` has it."""

    def __init__(self, problems: Sequence[SceneFileError]) -> None:
        first = problems[0]
        super().__init__(first.path, first.line, first.message)
        self.problems = tuple(problems)

    def __str__(self) -> str:
        """Returns a line for each problem, up to a number of them."""
        lines = list(dict.fromkeys(str(problem) for problem in self.problems))
        left = len(lines) - MAX_PROBLEMS
        return "\n".join([*lines[:MAX_PROBLEMS], *([f"{left} more problems"] if left > 0 else [])])


class UnknownSceneError(SceneError):
    """No shipped scene has this name; the message lists those there are."""
