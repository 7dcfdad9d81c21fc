"""This module holds every error that reading a scene raises."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from scenes.notes import in_others

#: Lines of a message about a file, of which the last counts the problems that are not told.
MAX_PROBLEM_LINES = 10


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
        """Returns a line for each problem, up to a number of them. The same one in several places is told once."""
        places = {str(problem): problem.message for problem in self.problems}
        counts = Counter(places.values())
        lines: dict[str, str] = {}
        for line, message in places.items():
            lines.setdefault(message, f"{line}{in_others(counts[message] - 1)}")
        told = list(lines.values())
        if len(told) > MAX_PROBLEM_LINES:
            told[MAX_PROBLEM_LINES - 1 :] = [f"{len(told) - MAX_PROBLEM_LINES + 1} more problems"]
        return "\n".join(told)


class UnknownSceneError(SceneError):
    """No shipped scene has this name; the message lists those there are."""
