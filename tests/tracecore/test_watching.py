"""Whoever watches is told of what is compiled, and of nothing else."""

import importlib
import io
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from data_files import data_text
from numba.core import errors

from tracecore.compilation import cached, unit_calls, watching
from tracecore.compilation.private_folder import PrivateFolder
from tracecore.compilation.watching import made, making, watched_by

#: A module whose function calls a unit, which is merged with a part; another part is called by neither.
MODULE = data_text("programs/watched_module.py")


class Told:
    """Notes what it is told."""

    def __init__(self) -> None:
        self.words: list[Any] = []

    def begin(self, name: str, parts: int) -> None:
        self.words.append((name, parts))

    def move(self, done: int) -> None:
        self.words.append(done)

    def end(self) -> None:
        self.words.append("end")


@pytest.fixture
def told() -> Told:
    return Told()


def imported(folder: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The module as a process imports it that begins now, and whose code is kept in the folder."""
    (folder / "watched_functions.py").write_text(MODULE)
    monkeypatch.syspath_prepend(folder)
    kept = PrivateFolder(folder / "kept")
    monkeypatch.setattr(cached, "cache_folder", lambda package: kept)
    monkeypatch.setattr(unit_calls, "processes", lambda: 1)
    monkeypatch.delitem(sys.modules, "watched_functions", raising=False)
    return importlib.import_module("watched_functions")


def test_functions_are_told_as_they_are_compiled(told: Told, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = imported(tmp_path, monkeypatch)
    with watched_by(told):
        assert first.quadrupled(3.0) == 12.0
        assert first.quadrupled(4.0) == 16.0
    assert told.words == [("quadrupled", 3), 1, 2, 3, "end"]
    second = imported(tmp_path, monkeypatch)
    with watched_by(told):
        assert second.quadrupled(3.0) == 12.0  # from the disk
        assert len(told.words) == 5
        assert second.quadrupled._parts() == {second.quadrupled.py_func}  # the unit is there
        assert second.quadrupled(3) == 12
    assert told.words[5:] == [("quadrupled", 1), 1, "end"]
    third = imported(tmp_path, monkeypatch)
    assert third.quadrupled(True) == 4.0  # nobody watches
    assert len(told.words) == 8


def test_what_is_compiled_for_something_else_is_part_of_it(told: Told) -> None:
    with watched_by(told), watched_by(Told()), making("outer", lambda: {1, 2, 3}):
        with making("inner"):
            made(lambda: {2, 7})
        made(lambda: {2})
        made(lambda: {1, 3})
    made(lambda: {1})
    assert told.words == [("outer", 3), 1, 3, "end"]
    assert watching._Watch.watcher is None


def test_a_message_of_numba_leaves_the_stream_of_a_test_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where another thread begins to write it before the test, and has written it during the test."""
    own = io.StringIO()
    with vars(errors)["ColorShell"]():
        monkeypatch.setattr(sys, "stderr", own)
    assert sys.stderr is own
