"""Units: machine code that is called by its address, and that several processes compile side by side."""

import json
import subprocess
import sys
from contextlib import suppress
from functools import partial
from pathlib import Path
from pickle import loads
from typing import Any

import pytest
from data_files import data_text
from numba import njit, types

from tracecore.compilation import unit_calls
from tracecore.compilation.unit_calls import HELP, PROCESSES, Call, busy_last, processes, starts
from tracecore.compilation.units import Unit

#: A module whose function calls one unit, which calls another one, and a third one.
MODULE = data_text("programs/units_module.py")

#: Calls the function, and tells the result and what was compiled for it.
RUN = """
import json
from numba.core import event
import called
with event.install_recorder("numba:compile") as compiled:
    result = called.whole(12.0, False)
names = [each.data["dispatcher"].py_func.__name__ for _, each in compiled.buffer if each.is_start]
print(json.dumps({"result": result, "compiled": names}))
"""


#: Loads the function, and tells what was compiled for it, and whether it can be called without its files.
LOAD = data_text("programs/units_load.py")


class Place:
    """Is a folder with the module and what is compiled of it.

    processes: how many compile.
    """

    def __init__(self, folder: Path, processes: int) -> None:
        (folder / "called.py").write_text(MODULE)
        self.folder = folder
        self.environment = {
            "PYTHONPATH": f"{folder}:{Path(__file__).resolve().parents[2]}",
            "TRACECORE_CACHE": str(folder / "cache"),
            PROCESSES: str(processes),
        }

    def run(self, program: str) -> str:
        command = [sys.executable, "-c", program]
        done = subprocess.run(command, env=self.environment, check=True, capture_output=True, timeout=250, text=True)
        return done.stdout


def test_units_come_from_the_cache_in_another_process(tmp_path: Path) -> None:
    place = Place(tmp_path, processes=1)
    first, second = (json.loads(place.run(RUN)) for _ in range(2))
    first["compiled"].sort()
    assert first == {"result": 7.0, "compiled": ["half", "quarter", "third", "whole"]}
    assert second == {"result": 7.0, "compiled": []}


def test_code_on_disk_is_loaded_before_the_first_call(tmp_path: Path) -> None:
    """Where there is none, none is made; with it, the call reads no file any more."""
    place = Place(tmp_path, processes=1)
    assert json.loads(place.run(LOAD)) == {"compiled": 0, "ready": False}
    place.run(RUN)
    assert json.loads(place.run(LOAD)) == {"compiled": 0, "ready": True}


def test_an_error_in_a_unit_comes_to_the_caller(tmp_path: Path) -> None:
    told = Place(tmp_path, processes=1).run(
        "import called\ntry:\n    called.whole(1.0, True)\nexcept ValueError as error:\n    print(error)"
    )
    assert told == "odd\n"


def test_helpers_compile_what_they_are_told_and_can(tmp_path: Path) -> None:
    told = Place(tmp_path, processes=2).run(
        """
import called, json
from numba import types
from numba.core.serialize import dumps
from tracecore.errors import VariableError
from tracecore.compilation.unit_calls import HELP, start
from tracecore.compilation.unit_calls import Call
calls = [Call("called", name, (types.float64, *more)) for name, more in (("third", ()), ("quarter", (types.boolean,)))]
before = [one.is_on_disk() for one in calls]
wrong = Call("called", "third", (types.unicode_type,))
status = start(HELP, dumps([wrong, *calls])).wait()
calls.append(Call("called", "half", (types.float64,)))
print(json.dumps([before, status, [one.is_on_disk() for one in calls]]))
"""
    )
    assert json.loads(told) == [[False, False], 0, [True, True, True]]


class Slow:
    """Stands for a call of a unit, which other processes compile or not."""

    def __init__(self, name: str, is_free: bool) -> None:
        self.name, self.unit, self._is_free = name, self, is_free

    def is_free(self) -> bool:
        return self._is_free


def test_what_another_process_compiles_comes_last() -> None:
    calls: Any = [Slow("a", True), Slow("b", False), Slow("c", True), Slow("d", False), Slow("e", True)]
    assert "".join(one.name for one in busy_last(calls)) == "acebd"


@pytest.mark.parametrize(
    ("length", "count", "right"),
    [(8, 1, [0]), (8, 2, [0, 4]), (8, 3, [0, 2, 5]), (1, 4, [0]), (0, 4, [0]), (3, 4, [0, 1, 2])],
)
def test_each_process_begins_elsewhere(length: int, count: int, right: list[int]) -> None:
    assert starts(length, count) == right


class Other:
    """Stands for another process."""

    def __init__(self, program: str, text: bytes) -> None:
        assert program == HELP
        self.calls = loads(text)
        self.told: list[str] = []
        others.append(self)

    def poll(self) -> None:
        """Says that it runs."""

    def kill(self) -> None:
        self.told.append("kill")

    def wait(self) -> None:
        self.told.append("wait")


others: list[Other] = []


@pytest.mark.parametrize(("said", "orders"), [("1", []), ("2", ["cdab"]), ("3", ["bcda", "cdab"])])
def test_helpers_are_there_until_all_is_compiled(said: str, orders: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PROCESSES, said)
    monkeypatch.setattr(unit_calls, "start", Other)
    others.clear()
    calls: Any = list("abcd")
    with suppress(KeyboardInterrupt), unit_calls.helped(calls):
        assert ["".join(one.calls) for one in others] == orders
        assert not any(one.told for one in others)
        raise KeyboardInterrupt
    assert all(one.told == ["kill", "wait"] for one in others)


@pytest.mark.parametrize(("cores", "running", "right"), [(3, 0, 3), (64, 0, 4), (2, 1, 1), (1, 1, 1), (64, 2, 2)])
def test_one_process_for_each_idle_core_but_no_more_than_four(
    cores: int, running: int, right: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(PROCESSES, raising=False)
    monkeypatch.setattr(unit_calls, "usable_cores", lambda: cores)
    monkeypatch.setattr(unit_calls, "start", Other)
    with unit_calls.beside([(HELP, b"\x80\x04].")] * running):
        assert processes() == right
    assert processes() == min(cores, 4)


@partial(Unit, returns=types.int64)
def triple(x: Any) -> Any:
    return 3 * x


triple.enable_caching()


@njit
def sextuple(x: Any) -> Any:
    return triple(x) + triple(x)


def test_a_unit_that_was_not_made_ready_is_an_error() -> None:
    """Only what is kept on disk sees to the units that it calls."""
    call = Call(__name__, "triple", (types.int64,))
    assert triple(5) == 15
    with pytest.raises(RuntimeError, match=r"triple.*not ready"):
        sextuple(5)
    assert not call.is_ready()
    call.prepare()
    assert call.is_ready()
    assert sextuple(5) == 30


#: Has the third unit be for something, and calls the function before and after it is told of that.
NEEDED = data_text("programs/units_needed.py")


def test_what_is_needed_only_for_something_waits_until_it_is_told_of_that(tmp_path: Path) -> None:
    place = Place(tmp_path, processes=1)
    assert json.loads(place.run(NEEDED)) == ["called.third is not ready to be called", False, True, 7.0]
    assert json.loads(place.run(NEEDED))[3] == 7.0  # from the cache
