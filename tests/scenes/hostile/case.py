"""A case: how its files are made, and what the error about them says."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

#: What a case that is read says instead of an error.
IS_READ = ""


@dataclass(frozen=True)
class Case:
    """Describes hostile files.

    name: of the case.
    make: writes them into an empty folder, and returns the scene's path.
    expected: a part of the error's message, or IS_READ.
    is_large: it takes longer to make, or to read, than a test should: it is measured alone.
    """

    name: str
    make: Callable[[Path], Path]
    expected: str
    is_large: bool = False


def files(name: str, expected: str, scene: str, texts: Mapping[str, str | bytes], *, is_large: bool = False) -> Case:
    """Returns a case of files by their names, of which one is the scene."""

    def make(folder: Path) -> Path:
        for file, text in texts.items():
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            (folder / file).write_bytes(text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text)
        return folder / scene

    return Case(name, make, expected, is_large)


def made(name: str, expected: str, scene: str, text: Callable[[], str | bytes], *, is_large: bool = False) -> Case:
    """Returns a case of one file, whose text is made when it is needed."""

    def make(folder: Path) -> Path:
        content = text()
        (folder / scene).write_bytes(content.encode() if isinstance(content, str) else content)
        return folder / scene

    return Case(name, make, expected, is_large)
