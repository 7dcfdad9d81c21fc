"""The hash of a function is that of all that its machine code is made of, and of nothing else."""

import sys
from types import ModuleType

import pytest
from data_files import data_text

from tracecore.compilation.code_hash import code_hash

OWN = data_text("programs/own_code.py")

OTHER = data_text("programs/other_code.py")


def hash_of(own: str, other: str, patch: pytest.MonkeyPatch) -> str:
    """The hash of `asked` of modules with these texts."""
    for name, text in (("other", other), ("own", own)):
        patch.setitem(sys.modules, name, ModuleType(name))
        exec(compile(text, f"{name}.py", "exec"), vars(sys.modules[name]))
    return code_hash([sys.modules["own"].asked])


@pytest.mark.parametrize(
    ("before", "after", "is_another"),
    [
        ("", "\n\n", False),
        ("UNUSED, TABLE = 0.5, 7", "UNUSED, TABLE = 0.5, 8", False),
        ("# a comment", "# two\\n    # lines", False),
        ("3 * x", "4 * x", False),
        ("x * HALF", "x / HALF", True),
        ("times=3.0", "times=4.0", True),
        ("HALF, UNUSED, TABLE = 0.5", "HALF, UNUSED, TABLE = 0.6", True),
        ("[1.0, 2.0]", "[1.5, 2.0]", True),
        ("SHIFT = 1.0", "SHIFT = 2.0", True),
        ("2 * x", "5 * x", True),
        ("    a: float\n    b: float", "    b: float\n    a: float", True),
    ],
)
def test_what_machine_code_is_made_of_is_in_the_hash(before, after, is_another, monkeypatch):
    first = hash_of(OWN, OTHER, monkeypatch)
    assert len(first) == 16
    second = hash_of(OWN.replace(before, after, 1), OTHER.replace(before, after, 1), monkeypatch)
    assert (second != first) == is_another
