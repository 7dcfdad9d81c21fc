"""This module holds what a reader tells of a file beside its scene: what it left out, and what it only approximates."""

from dataclasses import dataclass, field
from pathlib import Path

#: So many notes of a scene are told, the others counted.
MAX_NOTES = 40


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
