"""This module makes the tables of keys in `docs/scene-file.md`. `python -m scenes.toml_scene.manual docs/scene-file.md`
renews them."""

import re
import sys
from pathlib import Path

from scenes.keys.tables import FirstKey, Table
from scenes.keys.values import Key
from scenes.lights import SOURCES
from scenes.toml_scene import keys
from scenes.toml_scene.writer import toml

#: In the manual, a table stands between a line that names it and one that ends it.
KEYS_BLOCK = re.compile(r"(?P<start><!-- keys of (?P<title>.+?) -->\n).*?(?P<end><!-- end -->)", re.DOTALL)


#: All tables of a scene file.
TABLES: tuple[Table, ...] = (
    *keys.TABLES.values(),
    *keys.own_tables(),
    *(Table(f'light with kind = "{kind}"', source.about, source.keys) for kind, source in SOURCES.items()),
)


def with_tables(text: str) -> str:
    """Returns the text of the manual with all tables as `TABLES` has them. Raises KeyError for a table that is not
    there."""
    return KEYS_BLOCK.sub(lambda block: block["start"] + tables_of(block["title"]) + block["end"], text)


def tables_of(title: str) -> str:
    """Returns the table of a title as Markdown, or those whose titles go on with a value of its last word, each under
    it."""
    tables = {table.title: table for table in TABLES}
    if title in tables:
        return markdown(tables[title])
    found = [table for table in TABLES if table.title.startswith(f"{title} = ")]
    if not found:
        raise KeyError(title)
    *_, word = title.split()
    return "\n".join(f"### `{word}{table.title.removeprefix(title)}`\n\n{markdown(table)}" for table in found)


def markdown(table: Table) -> str:
    """Returns a table as Markdown: what it is, and a row for each key."""
    rows = "".join(row(key) for key in table.keys)
    return f"{table.about}\n\n| key | value | meaning | default | example |\n|---|---|---|---|---|\n{rows}"


def row(key: Key) -> str:
    """Returns a row of a table for one key."""
    cells = (f"`{key.name}`", words(key), key.about, default(key), f"`{key.example}`")
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"


def words(key: Key) -> str:
    """Describes what a key may hold. Tables inside of tables have a section of their own."""
    if isinstance(key.kind, FirstKey):
        return f"{key.kind.table.keys[0].kind.expected}, or a table of its own"
    if "a table" in key.kind.expected:
        return "tables of their own"
    return f"{key.kind.expected}, {key.kind.unit}" if key.kind.unit else key.kind.expected


def default(key: Key) -> str:
    """Describes what happens without a key."""
    if key.required:
        return "needed"
    if key.default is None or key.default in ([], {}):
        return key.fallback
    return f"`{toml(key.default)}`"


if __name__ == "__main__":
    manual = Path(sys.argv[1])
    manual.write_text(with_tables(manual.read_text(encoding="utf-8")), encoding="utf-8")
