"""Commands and Python in the README and the documentation do what they are printed for."""

import argparse
import os
import re
from collections.abc import Iterator

import pytest
from pages import NOT_RUN, PAGES, ROOT, SMALL, Command, commands, made_small, mentioned, python_blocks

from renderer import cli
from shaders import registry

#: Pages whose Python other tests run: test_python_call.py, test_worker_pool.py, test_kernels.py, test_recorded_rays.py.
RUN_ELSEWHERE = (ROOT / "docs" / "python.md", ROOT / "docs" / "recorded-rays.md", ROOT / "tracecore" / "README.md")

#: What makes a command small.
SMALLER = {
    "render": ("--size", "8x6", "--passes", "1", "--device", "cpu", "--quiet"),
    "photons": ("--store", "1000", "--device", "cpu", "--quiet"),
}

PRINTED = [one for page in PAGES for one in commands(page)]
OURS = [one for one in PRINTED if one.words[0] == "tracecore"]
RUN = [one for one in OURS if not one.mark.startswith(NOT_RUN)]


@pytest.fixture
def shaders() -> Iterator[None]:
    before = dict(registry._shaders)
    yield
    registry._shaders.clear()
    registry._shaders.update(before)


def options_of(parser: argparse.ArgumentParser) -> set[str]:
    """Those of a command, and of what it is divided into."""
    found = set(parser._option_string_actions)
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            found.update(*map(options_of, action.choices.values()))
    return found


def test_there_are_commands_of_each_kind() -> None:
    assert {"README.md", "mitsuba.md", "comparing-kernels.md", "performance.md"} <= {one.page for one in OURS}
    assert {one.mark for one in RUN} == {"", SMALL}
    assert all(one.mark in ("", SMALL) or one.mark.startswith(NOT_RUN) for one in PRINTED)


@pytest.mark.parametrize("command", OURS, ids=str)
def test_a_command_is_one(command: Command) -> None:
    """There are its options, and their values are in bounds."""
    cli.make_parser().parse_args(cli._with_one_name(list(command.words[1:])))


def test_the_page_of_the_command_line_has_every_command() -> None:
    named = {cli._with_one_name(list(one.words[1:]))[0] for one in mentioned(ROOT / "docs" / "command-line.md")}
    assert set(cli.COMMANDS) - named == set()  # type: ignore[attr-defined]


def test_a_page_that_draws_plots_says_what_they_need() -> None:
    drawing = [page for page in PAGES if any({"--html", "--plot"}.intersection(one.words) for one in commands(page))]
    assert ROOT / "README.md" in drawing
    assert [page.name for page in drawing if "extra `plot`" not in page.read_text(encoding="utf-8")] == []


def test_options_of_commands_between_words_are_there() -> None:
    (known,) = (one for one in cli.make_parser()._actions if isinstance(one, argparse._SubParsersAction))
    for page in PAGES:
        for one in mentioned(page):
            name, *words = cli._with_one_name(list(one.words[1:]))
            options = {word for word in words if word.startswith("--")}
            if name in known.choices:
                assert options <= options_of(known.choices[name]), one
            else:
                assert name in ("COMMAND", "--version"), one


def test_other_commands_are_there() -> None:
    rules = re.findall(r"^([\w ]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    targets = " ".join(rules).split()
    for one in set(PRINTED) - set(OURS):
        assert one.mark.startswith(NOT_RUN), one
        program, what = one.words[:2]
        assert {"make": what in targets, "pip": what == "install"}.get(program, (ROOT / what).is_file()), one


@pytest.mark.parametrize("command", RUN, ids=str)
def test_a_command_runs(command, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    words = command.words[1:] + (SMALLER[command.words[1]] if command.mark == SMALL else ())
    assert cli.main(list(words)) == 0
    printed = capsys.readouterr()
    assert printed.out or os.listdir(tmp_path)
    assert "error" not in printed.err


@pytest.mark.usefixtures("shaders")
@pytest.mark.parametrize("page", [page for page in PAGES if page not in RUN_ELSEWHERE], ids=lambda page: page.name)
def test_python_of_a_page_runs(page, tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    for number, block in enumerate(python_blocks(page)):
        code = compile(made_small(block), f"{page.name}, block {number}", "exec")
        exec(code, {"__name__": "page"})


def test_every_block_of_code_is_of_a_known_language() -> None:
    """A block of commands is indented and not fenced, so that it is found."""
    known = {"python", "toml", "text", "cuda", "diff"}
    for page in PAGES:
        fences = re.findall(r"^```(.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
        assert set(fences[::2]) <= known, page
        assert set(fences[1::2]) <= {""}, page
