"""Notebooks of the documentation run, and its pages show all drivers, materials, lights and kernels that there are."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from pages import ROOT, made_small

from renderer import plugins
from renderer.drivers import DRIVERS
from renderer.drivers.eye import EyeDriver
from renderer.settings.picture import DRIVER_SETTINGS
from shaders.lights.registry import MODULES
from shaders.registry import shader_names
from tracecore.kernels import strategies

DOCS = ROOT / "docs"
NOTEBOOKS = sorted((DOCS / "notebooks").glob("*.ipynb"))

#: Folders whose pages and sources lead to others.
FOLDERS = ("docs", "docs/lab", "output", "renderer", "scenes", "shaders", "tests", "tracecore")
TEXTS = sorted([*ROOT.glob("*.md"), *(page for folder in FOLDERS for page in (ROOT / folder).glob("*.md"))])
SOURCES = sorted(
    path
    for folder in FOLDERS
    for path in (ROOT / folder).rglob("*")
    if path.suffix in (".py", ".cu", ".cuh", ".hpp", ".sh")
)

#: A path or a dotted name between words, and a link that does not lead elsewhere.
NAMED = re.compile(r"`((?:docs|renderer|scenes|shaders|tests|tracecore)[./][\w./*-]*)(?:\([^`]*\))?`")
LINKED = re.compile(r"\]\((?!\w+:)([^)#\s]*)(?:#([^)\s]+))?\)")

#: What is put before names of kernels, and has a section of its own.
PREFIX = re.compile("^(persistent|replacing)-")


def sections(page: str) -> dict[str, str]:
    """Texts of a page by their headings, which come right before them."""
    parts = re.split(r"^## (.*)\n", (DOCS / page).read_text(encoding="utf-8"), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def words_of(path: Path) -> str:
    """Returns a text, of a page without its fenced blocks."""
    text = path.read_text(encoding="utf-8")
    return re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE) if path.suffix == ".md" else text


def anchors(page: Path) -> set[str]:
    """Returns where links into a page can lead: its headings, without marks and with dashes between words."""
    headings = re.findall(r"^#+ (.*)$", words_of(page), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def is_there(name: str) -> bool:
    """Returns whether there is a file of a path, or a module of a dotted name that has the rest in its text."""
    if "/" in name:
        return any(ROOT.glob(name))
    parts = name.split(".")
    for end in range(len(parts), 0, -1):
        path = ROOT.joinpath(*parts[:end])
        for module in (path.with_suffix(".py"), path / "__init__.py"):
            if module.exists():
                held = set(re.findall(r"\w+", module.read_text(encoding="utf-8")))
                return held.issuperset(parts[end:])
    return False


def cells(path: Path) -> list[str]:
    notebook = json.loads(path.read_text(encoding="utf-8"))
    return ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]


@pytest.fixture
def kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets a kernel be registered for one test."""
    monkeypatch.setattr(strategies, "_strategies", dict(strategies._strategies))


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All cells, one after the other, with few pixels and passes."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for number, code in enumerate(cells(path)):
        exec(compile(made_small(code), f"{path.name}, cell {number}", "exec"), names)
        assert "error" not in names


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_has_what_its_cells_show(path: Path) -> None:
    """Whoever reads it without running it sees what is printed, and pictures."""
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            code = "".join(cell["source"])
            shown = [kind for output in cell["outputs"] for kind in output.get("data", ["text"])]
            assert ("print(" in code) == ("text" in shown)
            assert code.splitlines()[-1].isidentifier() == ("image/png" in shown)


@pytest.mark.parametrize("page", TEXTS, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_of_a_page_lead_to_what_is_there(page: Path) -> None:
    """Also where nobody has made a site of the pages."""
    for link, anchor in LINKED.findall(words_of(page)):
        target = page.parent / link if link else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), f"{link}#{anchor}"


def test_names_in_pages_docstrings_and_comments_are_of_what_is_there() -> None:
    assert not is_there("renderer/no_file.py")
    assert not is_there("renderer.no_name")
    named = {(str(path.relative_to(ROOT)), name) for path in TEXTS + SOURCES for name in NAMED.findall(words_of(path))}
    assert len(named) > 100
    assert [(path, name) for path, name in sorted(named) if not is_there(name) and name != plugins.GROUP] == []


def test_each_driver_has_an_equation_a_picture_and_its_options() -> None:
    found = sections("drivers.md")
    for name, driver in DRIVERS.items():
        text = found[name]
        assert "```text" in text, name
        assert f"(pictures/driver-{name.replace('+', '-')}.png)" in text
        options = {f"--{one.replace('_', '-')}" for one in driver.takes.intersection(DRIVER_SETTINGS) - EyeDriver.takes}
        (taken,) = re.findall(r"^Takes (.*)\.$", text, re.MULTILINE) or [""]
        assert set(re.findall(r"`(--[\w-]+)`", taken)) == options, name


@pytest.mark.parametrize(
    ("page", "prefix", "names"),
    [("materials.md", "material", shader_names()), ("lights.md", "light", [module.KIND.name for module in MODULES])],
)
def test_each_material_and_light_has_an_equation_and_a_picture(page: str, prefix: str, names: list[str]) -> None:
    found = sections(page)
    for name in names:
        assert "```text" in found[name], name
        assert f"(pictures/{prefix}-{name}.png)" in found[name]


def test_each_kernel_has_a_drawing_and_its_paper() -> None:
    """A family's section begins with the names of its kernels, but for those of a prefix."""
    found = sections("kernels.md")
    assert all("```text" in found[prefix] for prefix in ("persistent", "replacing"))
    for name in {PREFIX.sub("", name) for name in strategies.strategy_names()}:
        (text,) = [one for one in found.values() if f"`{name}`" in one.partition(". ")[0]]
        assert "```text" in text, name
        assert strategies.find_strategy(name).citation in " ".join(text.split()), name
