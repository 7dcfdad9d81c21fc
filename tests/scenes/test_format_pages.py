"""The page of each format says which tests show that what it tells is right, and these tests are there."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = ("gltf", "meshes", "mitsuba", "nff", "pbrt", "usd")
HEADING = "\n## What shows that it is right\n\n| feature | read | shown by |\n|---|---|---|\n"
SHOWN = re.compile(r"`(test_\w+\.py)::(test_\w+)`")


def rows_of(text):
    """The rows of the table below the heading: feature, read, and what shows it."""
    table = text.split(HEADING)[1].split("\n\n")[0]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in table.splitlines()]


@cache
def names_in(name):
    files = ROOT.glob(f"tests/*/{name}")
    return {
        node.name
        for path in files
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef)
    }


def missing(text):
    """What the table of a page names and is no test, and the features for which it names none."""
    found = []
    for feature, _, shown in rows_of(text):
        tests = SHOWN.findall(shown)
        found += [] if tests else [feature]
        found += [f"{file}::{test}" for file, test in tests if test not in names_in(file)]
        found += [] if SHOWN.sub("", shown).replace(",", "").strip() == "" else [shown]
    return found


@pytest.mark.parametrize("page", PAGES)
def test_each_feature_is_shown_by_tests_that_are_there(page):
    text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
    assert missing(text) == []
    assert len(rows_of(text)) >= 10


def test_what_is_not_there_is_found():
    row = "| balls | yes | `test_format_pages.py::{}` |\n"
    assert missing(HEADING + row.format("test_what_is_not_there_is_found")) == []
    assert missing(HEADING + row.format("test_of_nothing")) == ["test_format_pages.py::test_of_nothing"]
    assert missing(HEADING + "| balls | yes | by looking |\n") == ["balls", "by looking"]
