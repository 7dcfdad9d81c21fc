"""This module holds every error that reading a scene raises, and what a reader notes of a file beside its scene: what
it left out, and what it only approximates.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

#: Lines of a message about a file, of which the last counts the problems that are not told.
MAX_PROBLEM_LINES = 10

#: So many notes of a scene are told, the others counted.
MAX_NOTES = 40


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


@dataclass(eq=False)
class Notes:
    """Holds notes in the order in which they came, each once: where it came first, and how often.

    losses: path, line and message of those about files that could not be used, all of them.
    """

    _first: dict[str, str] = field(default_factory=dict)
    _counts: dict[str, int] = field(default_factory=dict)
    losses: list[tuple[Path | str, int | None, str]] = field(default_factory=list)

    def add_loss(self, message: str, path: Path | str, line: int | None = None) -> None:
        """Takes in a note of a file that is not there, or cannot be used, as `add` does."""
        self.losses.append((path, line, message))
        self.add(message, path, line)

    def add(self, message: str, path: Path | str, line: int | None = None) -> None:
        """Takes in a note.

        message: what is not as the file says; the same of many places is told once.
        path, line: where the file says it; None where a file has no lines.
        """
        self._first.setdefault(message, f"{path}:{line}" if line is not None else str(path))
        self._counts[message] = self._counts.get(message, 0) + 1

    @property
    def lines(self) -> list[str]:
        """Returns the notes, a line each, with the file and line of the first place and the number of the others."""
        told = list(self._first.items())[:MAX_NOTES]
        lines = [f"{place}: {message}{in_others(self._counts[message] - 1)}" for message, place in told]
        left = len(self._first) - len(told)
        return [*lines, f"{left} more notes"] if left else lines


def in_others(count: int) -> str:
    """Returns, as text, in how many other places the same is to be said."""
    return f" (and in {count} more place{'s' if count > 1 else ''})" if count else ""
