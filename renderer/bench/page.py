"""A page shows what a command has measured and needs nothing else: tables, plots, pictures, the machine, the command.

How it looks says `page.html`, a template of Jinja2 (extra `plot`); its script sorts tables and hides groups of rows.
"""

import base64
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

TEMPLATE = Path(__file__).with_suffix(".html")

#: Stands for a figure that is not known.
MISSING = "–"


@dataclass(frozen=True, kw_only=True)
class Circumstances:
    """Says how something was measured.

    command_line: its words, without the program's name.
    date: ISO 8601.
    machine: facts by their names.
    """

    command_line: tuple[str, ...]
    date: str
    scene: str
    triangles: int
    machine: dict[str, str]

    @property
    def command(self) -> str:
        """Returns the command as it would be typed."""
        return shlex.join(("tracecore", *self.command_line))


@dataclass(frozen=True, kw_only=True)
class Figure:
    """This is a picture: its bytes, of the type that `media_type` names, and a caption of what it shows."""

    caption: str
    content: bytes
    media_type: str = "image/png"

    @property
    def address(self) -> str:
        """Returns the picture itself as an address."""
        return f"data:{self.media_type};base64,{base64.b64encode(self.content).decode()}"


@dataclass(frozen=True, kw_only=True)
class PageCell:
    """This is a cell of a table: text, a value by which the best of a column is known, and a note below the text.

    is_struck: whether a line goes through the text, which counts for nothing.
    """

    text: str
    value: float | None = None
    note: str = ""
    is_struck: bool = False


Row = Sequence[str | PageCell]


@dataclass(frozen=True, kw_only=True)
class PageTable:
    """This is a table, whose first column has names of kernels. A click on a column's head sorts by it.

    head: names of the columns.
    rows: as many cells each as there are columns.
    best: which value of a column is the best one, max or min, by the column's index; others have none.
    """

    caption: str = ""
    head: Sequence[str]
    rows: Sequence[Row]
    best: Mapping[int, Callable[[Iterable[float]], float]] = field(default_factory=dict)

    @property
    def tops(self) -> dict[int, float]:
        """Returns the best value of each column whose values are not all alike, by the column's index."""
        tops = {}
        for column, best in self.best.items():
            cells = (row[column] for row in self.rows)
            values = {cell.value for cell in cells if isinstance(cell, PageCell) and cell.value is not None}
            if len(values) > 1:
                tops[column] = best(values)
        return tops


@dataclass(frozen=True, kw_only=True)
class Section:
    """This is a part of a page under a heading, which is left out where it has nothing to show.

    texts: paragraphs before the tables.
    notes: paragraphs behind them.
    folded: what stands for the tables until they are asked for; nothing where they are seen at once.
    """

    title: str
    texts: Sequence[str] = ()
    tables: Sequence[PageTable] = ()
    notes: Sequence[str] = ()
    figures: Sequence[Figure] = ()
    folded: str = ""


@dataclass(frozen=True, kw_only=True)
class Page:
    """Holds what is on a page.

    answer: a leading sentence and what follows from it. rests_on: what it rests on.
    legend, groups: of the boxes that hide groups of rows.
    group: returns what group a row of a table belongs to, by its first cell.
    baseline: whose rows stand out; so does the best of each column that has one.
    facts: of how it was measured, beside those that all pages have.
    """

    title: str
    about: Circumstances
    answer: Sequence[str]
    rests_on: str
    legend: str
    groups: Iterable[str]
    group: Callable[[str], str]
    sections: Sequence[Section]
    baseline: str = ""
    facts: Mapping[str, str] = field(default_factory=dict)

    def html(self) -> str:
        from jinja2 import Environment, StrictUndefined

        environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
        about = self.about
        facts = {"scene": about.scene, "triangles": f"{about.triangles:,}", **self.facts, "date": about.date}
        shown = [one for one in self.sections if one.tables or one.notes or one.figures]
        template = environment.from_string(TEMPLATE.read_text(encoding="utf-8"))
        return template.render(page=self, sections=shown, facts=facts | about.machine)
