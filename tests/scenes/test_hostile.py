"""Hostile files: each is read, or refused by an error of one line for each problem, never by a traceback."""

import pytest
from hostile import CASES

from scenes import SceneError, SceneFileError, load
from scenes.errors import MAX_PROBLEM_LINES

#: The longest line of a message, but for the path of a file.
MAX_LINE = 600


def fault_of(case, folder):
    """What is wrong with the answer to a case, or nothing."""
    folder.mkdir(parents=True)
    path = case.make(folder)
    try:
        load(path)
    except SceneFileError as error:
        lines = str(error).splitlines()
        if not case.expected:
            return f"{case.name}: refused: {error}"
        if not any(case.expected in line for line in lines):
            return f"{case.name}: expected {case.expected!r}, got {error}"
        if len(lines) > MAX_PROBLEM_LINES or any(len(line) > MAX_LINE for line in lines):
            return f"{case.name}: the message is too long"
        return (
            "" if lines[0].startswith(str(folder)) or "outside" in lines[0] else f"{case.name}: names no file: {error}"
        )
    except SceneError as error:
        return "" if case.expected and case.expected in str(error) else f"{case.name}: {error}"
    except Exception as error:  # whatever else is raised would be shown as a traceback
        return f"{case.name}: {type(error).__name__}: {error}"
    return "" if not case.expected else f"{case.name}: is read, expected {case.expected!r}"


@pytest.mark.parametrize("kind", CASES)
def test_hostile_files(tmp_path, kind):
    cases = [case for case in CASES[kind] if not case.is_large]
    found = [fault_of(case, tmp_path / str(number)) for number, case in enumerate(cases)]
    faults = [fault for fault in found if fault]
    assert not faults, "\n".join(faults)
