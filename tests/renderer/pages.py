"""What the pages show: commands in blocks and between words, and Python."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import renderer

ROOT = Path(renderer.__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "tracecore" / "README.md", *sorted((ROOT / "docs").glob("*.md"))]

#: What a line of a block of commands begins with.
PROGRAMS = ("tracecore", "make", "pip", "bash", "python")

#: What a comment above a block says of it, where it is not run as it is printed.
NOT_RUN, SMALL = "not run: ", "run with small pictures"


class Command(NamedTuple):
    """A command as a page prints it.

    words: its words, without the comment behind it. mark: what is said above its block, or nothing.
    """

    page: str
    words: tuple[str, ...]
    mark: str

    def __str__(self) -> str:
        return f"{self.page}: {shlex.join(self.words)}"


def python_blocks(page: Path) -> list[str]:
    """What a page shows of Python, but for blocks of which a comment says that they are not run."""
    return re.findall(r"(?<! -->\n\n)```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)


def commands(page: Path) -> Iterator[Command]:
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for mark, block in re.findall(r"(?:<!-- (.*?) -->\n)?\n((?: {4}\S.*\n(?: {5,}\S.*\n)*)+)", text):
        for line in block.replace("\\\n", " ").splitlines():
            if line.split()[0] in PROGRAMS:
                words = shlex.split(line.replace("[", "").replace("]", ""), comments=True)
                yield Command(page.name, tuple(words), mark)


def mentioned(page: Path) -> Iterator[Command]:
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for words in re.findall(r"`(tracecore [^`]*)`", text):
        yield Command(page.name, tuple(shlex.split(words)), "")


def made_small(code: str) -> str:
    """The same Python with few pixels, passes and photons."""
    code = code.replace("size=(400, 300)", "size=(8, 6)").replace("resolution=(300, 300)", "resolution=(6, 6)")
    code = re.sub(r"passes=\d+", "passes=2", code)
    return code.replace("photons=100_000", "photons=200")
