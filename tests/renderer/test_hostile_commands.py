"""Command lines that cannot be meant: one line answers each, with status 2, and nothing is traced or written."""

import functools
import shlex
from pathlib import Path

import pytest
from data_files import data_text

import tracecore
from renderer import cli
from renderer.bench import ray_set_benchmark
from tracecore.benchmarks import compare_embree

#: A command line, and a part of what is said of it, or nothing.
LINES = [
    (line.partition(" | ")[0], line.partition(" | ")[2]) for line in data_text("messages/commands.txt").splitlines()[1:]
]


make_parser = functools.cache(cli.make_parser)  # of all commands, once


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, in which there are some files that are no scenes, and a folder named like a picture."""
    (tmp_path / "folder.png").mkdir()
    (tmp_path / "notes.txt").write_text("words")
    (tmp_path / "broken.toml").write_text("[[object]\n")
    for suffix in ("toml", "obj", "glb", "xml", "pbrt", "ply"):
        (tmp_path / f"empty.{suffix}").touch()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def contents(folder: Path) -> dict[Path, bytes | None]:
    return {path: path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


@pytest.mark.parametrize(("line", "said"), LINES, ids=[ascii(line) for line, _ in LINES])
def test_it_is_answered_by_one_line_and_nothing_is_written(line, said, folder, monkeypatch, capsys):
    def refuse(*arguments: object, **options) -> None:
        pytest.fail("something is traced")

    for module in (tracecore, ray_set_benchmark, compare_embree):
        monkeypatch.setattr(module, "open_tracer", refuse)
    monkeypatch.setattr(cli, "make_parser", lambda words: make_parser())
    before = contents(folder)
    try:
        status = cli.main(shlex.split(line))
    except SystemExit as stop:
        status = int(str(stop.code))
    printed = capsys.readouterr()
    assert status == 2
    (words,) = printed.err.splitlines()
    assert words.startswith("tracecore: error: ")
    assert said in words
    assert printed.out == ""
    assert contents(folder) == before
