"""A page shows what a command has measured and needs nothing else: tables, plots, pictures, the machine, the command.

Its style and its script, which sorts tables and hides groups of rows, stand in `page.html`.
"""

import base64
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from string import Template

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


@dataclass(frozen=True, kw_only=True)
class Cell:
    """This is a cell of a table: text, a value by which the best of a column is known, and a note below the text.

    is_struck: whether a line goes through the text, which counts for nothing.
    """

    text: str
    value: float | None = None
    note: str = ""
    is_struck: bool = False


Row = Sequence[str | Cell]


@dataclass(frozen=True, kw_only=True)
class Table:
    """This is a table, whose first column has names of kernels.

    head: names of the columns.
    rows: as many cells each as there are columns.
    best: which value of a column is the best one, max or min, by the column's index; others have none.
    """

    caption: str = ""
    head: Sequence[str]
    rows: Sequence[Row]
    best: Mapping[int, Callable[[Iterable[float]], float]] = field(default_factory=dict)


def whole_page(title: str, about: Circumstances, sections: Iterable[str]) -> str:
    """Returns the page as HTML: a title, the command, and sections, of which empty ones are left out."""
    return Template(TEMPLATE.read_text(encoding="utf-8")).substitute(
        title=escape(title), command=escape(about.command), sections="\n".join(filter(None, sections))
    )


def answer_html(texts: Sequence[str], note: str) -> str:
    """Returns the HTML of an answer: a leading sentence, a list of what follows from it, and what it rests on."""
    lead, *others = texts or ["Nothing was measured."]
    items = "".join(f"<li>{escape(text)}</li>" for text in others)
    return section("Answer", f'<p class="lead">{escape(lead)}</p>', f"<ul>{items}</ul>", paragraph(note))


def boxes(legend: str, groups: Iterable[str]) -> str:
    """Returns a box for each group of rows, which the page's script shows and heeds."""
    found = (f'<label><input type="checkbox" value="{escape(name)}" checked> {escape(name)}</label>' for name in groups)
    return f'<fieldset id="families" hidden><legend>{escape(legend)}</legend>{"".join(found)}</fieldset>'


def circumstances_html(about: Circumstances, **facts: str) -> str:
    """Returns the HTML of how something was measured. facts: more of them, by their names."""
    known = {"scene": about.scene, "triangles": f"{about.triangles:,}", **facts, "date": about.date}
    terms = (f"<dt>{escape(k)}</dt><dd>{escape(v)}</dd>" for k, v in (known | about.machine).items())
    return section("Circumstances", f"<dl>{''.join(terms)}</dl>")


def section(title: str, *parts: str) -> str:
    """Returns the HTML of a part of the page under a heading."""
    return f"<section><h2>{escape(title)}</h2>\n" + "\n".join(parts) + "\n</section>"


def paragraph(text: str) -> str:
    """Returns the HTML of a paragraph."""
    return f"<p>{escape(text)}</p>"


def gallery(title: str, figures: Sequence[Figure]) -> str:
    """Returns the HTML of figures under a title; it is empty without pictures."""
    return section(title, f'<div class="pictures">{"".join(map(figure_html, figures))}</div>') if figures else ""


def figure_html(figure: Figure) -> str:
    """Returns the HTML of a picture, which holds the picture itself."""
    source = f"data:{figure.media_type};base64,{base64.b64encode(figure.content).decode()}"
    caption = escape(figure.caption)
    return f'<figure><img src="{source}" alt="{caption}"><figcaption>{caption}</figcaption></figure>'


def table_html(table: Table, group: Callable[[str], str], baseline: str = "") -> str:
    """Returns the HTML of a table. A click on a column's head sorts by it.

    group: returns what group a row belongs to, by its first cell; the page's boxes hide groups.
    baseline: whose rows stand out; so does the best of each column that has one.
    """
    heads = "".join(f'<th scope="col">{escape(name)}</th>' for name in table.head)
    name = f"<caption>{escape(table.caption)}</caption>" if table.caption else ""
    tops = _tops(table)
    lines = "\n".join(_row(row, tops, group(str(row[0])), is_baseline=row[0] == baseline) for row in table.rows)
    return f'<div class="scroll"><table>{name}<thead><tr>{heads}</tr></thead>\n<tbody>{lines}</tbody></table></div>'


def _tops(table: Table) -> dict[int, float]:
    """Returns the best value of each column whose values are not all alike, by the column's index."""
    tops = {}
    for column, best in table.best.items():
        cells = (row[column] for row in table.rows)
        values = {cell.value for cell in cells if isinstance(cell, Cell) and cell.value is not None}
        if len(values) > 1:
            tops[column] = best(values)
    return tops


def _row(row: Row, tops: dict[int, float], group: str, *, is_baseline: bool) -> str:
    cells = (
        _cell(cell, is_best=column in tops and isinstance(cell, Cell) and cell.value == tops[column])
        for column, cell in enumerate(row)
    )
    classes = ' class="baseline"' if is_baseline else ""
    return f'<tr{classes} data-family="{escape(group)}">{"".join(cells)}</tr>'


def _cell(cell: str | Cell, *, is_best: bool) -> str:
    if isinstance(cell, str):
        return f"<td>{escape(cell)}</td>"
    classes = ' class="best"' if is_best else ""
    note = f"<br><small>{escape(cell.note)}</small>" if cell.note else ""
    text = f"<s>{escape(cell.text)}</s>" if cell.is_struck else escape(cell.text)
    return f"<td{classes}>{text}{note}</td>"
