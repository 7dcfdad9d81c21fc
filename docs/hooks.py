"""Hooks of MkDocs: tables that are made from the program, notebooks as pages, and files that lie outside of docs/.

A page has such a table where it says `<!-- table of NAME -->`; `TABLES` has the names.
"""

import argparse
import json
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from renderer import cli
from renderer.bench import figure_keys
from renderer.run import statistics

ROOT = Path(__file__).parents[1]

#: Pages that lie elsewhere, and where they are in the site.
PAGES = {
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "extending.md",
    "tracecore/README.md": "tracecore.md",
    "tracecore/NOTES.md": "notes-tracecore.md",
    "renderer/NOTES.md": "notes-renderer.md",
}

#: Folders whose files are in the site, and where.
FOLDERS = {"docs": "", "output/gallery": "gallery/"}

#: Widths of windows from which the theme shows the navigation, and below which it does not, and ours: 1120 pixels.
NAVIGATION_FROM = {"76.25em": "70em", "76.234375em": "69.984375em"}

TABLE = re.compile(r"<!-- table of (.+?) -->")
LINK = re.compile(r"\]\((?!\w+:|#)([^)#\s]+)")

#: Tables of figure_keys.py that are parts of others.
PARTS = ("CIRCUMSTANCES", "COMPARISON", "FILM_ROWS")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds what lies outside of docs/, and a page for each notebook."""
    found = {site: ROOT / path for path, site in PAGES.items()}
    found |= {f"gallery/{path.name}": path for path in sorted((ROOT / "output" / "gallery").iterdir())}
    for site, path in found.items():
        files.append(File.generated(config, site, abs_src_path=str(path)))
    for path in sorted((ROOT / "docs" / "notebooks").glob("*.ipynb")):
        files.append(File.generated(config, f"notebooks/{path.stem}.md", content=page_of_notebook(path)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Puts tables into a page, and has its links lead to where files are in the site."""
    text = TABLE.sub(lambda found: TABLES[found[1]](), markdown)
    if page.file.abs_src_path is None:
        return text
    folder = os.path.relpath(Path(page.file.abs_src_path).parent, ROOT)
    return LINK.sub(lambda found: f"]({link(folder, found[1], page.file.src_uri)}", text)


def on_post_build(config: MkDocsConfig) -> None:
    """Has the theme show the navigation beside the text in windows that are a little narrower than it does itself.

    Raises `PluginError` where the theme has other widths.
    """
    left = set(NAVIGATION_FROM)
    for path in Path(config.site_dir, "assets").rglob("*.min.*"):
        if path.suffix in (".css", ".js"):
            text = path.read_text(encoding="utf-8")
            for own in NAVIGATION_FROM:
                if own in text:
                    left.discard(own)
                text = text.replace(own, NAVIGATION_FROM[own])
            path.write_text(text, encoding="utf-8")
    if left:
        raise PluginError(f"the theme has no widths {', '.join(left)} in its files: see NAVIGATION_FROM")


def link(folder: str, target: str, page: str) -> str:
    """Returns a link as the site has it. folder: of the page in the repository. page: its place in the site."""
    path = os.path.normpath(os.path.join(folder, target)).replace(os.sep, "/")
    path = path.replace(".ipynb", ".md")  # which the site has of a notebook
    parent, name = os.path.split(path)
    site = PAGES.get(path) or (f"{FOLDERS[parent]}{name}" if parent in FOLDERS else path.removeprefix("docs/"))
    return os.path.relpath(site, os.path.dirname(page)).replace(os.sep, "/")


def page_of_notebook(path: Path) -> str:
    """Returns a notebook as Markdown, with what its cells showed when it was run."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    blocks = [block for cell in cells for block in blocks_of_cell(cell)]
    return "\n\n".join([*blocks, f"[This page as a notebook]({path.name})", ""])


def blocks_of_cell(cell: dict[str, Any]) -> Iterator[str]:
    """Yields the Markdown of a cell: its text, or its code, what that printed, and its picture."""
    text = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        yield text
        return
    yield f"```python\n{text}\n```"
    for output in cell["outputs"]:
        data = output.get("data", {})
        if "image/png" in data:
            yield f"![what the cell shows](data:image/png;base64,{''.join(data['image/png']).strip()})"
        else:
            yield f"```text\n{''.join(output.get('text', data.get('text/plain', ''))).rstrip()}\n```"


def options() -> str:
    """Returns the arguments of all commands, a section for each."""
    (known,) = (one for one in cli.make_parser()._actions if isinstance(one, argparse._SubParsersAction))
    return "\n".join(text for name, parser in known.choices.items() for text in of_command(name, parser))


def of_command(name: str, parser: argparse.ArgumentParser) -> Iterator[str]:
    """Yields the section of a command, and those of what it is divided into."""
    yield f"### tracecore {name}\n\n{sentence(parser.description or '')}\n"
    divided = []
    for group in parser._action_groups:
        shown = [one for one in group._group_actions if one.help is not argparse.SUPPRESS and one.dest != "help"]
        divided += [one for one in shown if isinstance(one, argparse._SubParsersAction)]
        rows = "".join(row(parser, one) for one in shown if one not in divided)
        if rows:
            yield f"| {group.title} | meaning |\n|---|---|\n{rows}"
    for action in divided:
        for word, own in action.choices.items():
            yield from of_command(f"{name} {word}", own)


def row(parser: argparse.ArgumentParser, action: argparse.Action) -> str:
    """Returns the row of an argument."""
    formatter = parser._get_formatter()
    value = formatter._format_args(action, formatter._get_default_metavar_for_optional(action))
    names = ", ".join(action.option_strings)
    if not names:
        return cells([formatter._metavar_formatter(action, action.dest)(1)[0], formatter._expand_help(action)])
    return cells([f"{names} {value}".strip(), formatter._expand_help(action)])


def cells(texts: list[str]) -> str:
    """Returns a row of a table, whose first cell is code."""
    first, *others = (" ".join(text.split()).replace("|", "\\|").replace("<", "&lt;") for text in texts)
    return f"| `{first}` | {' | '.join(others)} |\n"


def sentence(text: str) -> str:
    """Returns a text with a capital and a full stop."""
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."


def keys(meanings: dict[str, str]) -> str:
    """Returns a table of keys and their meanings."""
    return "| key | meaning |\n|---|---|\n" + "".join(cells([key, text]) for key, text in meanings.items())


def figures() -> str:
    """Returns the keys of all files of figures: those that all have, and a section for each command."""
    common = figure_keys.CIRCUMSTANCES
    text = f"### All of them\n\n{keys(common)}"
    for name, table in vars(figure_keys).items():
        if name.isupper() and not name.startswith("_") and name not in PARTS:
            command = name.lower() if name.lower() in cli.COMMANDS else f"bench {name.lower()}"
            own = {key: meaning for key, meaning in table.items() if key not in common}
            text += f"\n### tracecore {command}\n\n{keys(own)}"
    return text


TABLES: dict[str, Callable[[], str]] = {
    "options": options,
    "statistics": lambda: keys(statistics.FIELDS),
    "statistics of films": lambda: keys(statistics.OF_FILMS),
    "figures": figures,
}
