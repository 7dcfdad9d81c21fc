"""Reads numbers that variables of the environment give."""

import os
from typing import NamedTuple

from tracecore.errors import VariableError


class Variable(NamedTuple):
    """Describes a variable. least, most: of its number. words: what it must be."""

    least: float
    most: float
    words: str
    is_whole: bool = False


#: Nanoseconds of a timeout fit 64 bits.
VARIABLES = {
    "TRACECORE_COMPILE_PROCESSES": Variable(1, 1024, "a whole number of processes from 1 to 1024", is_whole=True),
    "TRACECORE_GPU_TIMEOUT": Variable(1e-9, 1e9, "a number of seconds above 0 and at most 1e9"),
    "TRACECORE_TREE_BYTES": Variable(0, 1e18, "a number of bytes up to 1e18, or 0 to keep no trees"),
}


def number(name: str, default: float) -> float:
    """Returns what a variable says, or the default where it is not set or empty. Raises `VariableError` otherwise."""
    text, variable = os.environ.get(name, ""), VARIABLES[name]
    if not text:
        return default
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not variable.least <= value <= variable.most or (variable.is_whole and not value.is_integer()):
        raise VariableError(f"{name} must be {variable.words}, got {text!r}; correct or unset it")
    return value


def check() -> None:
    """Raises `VariableError` for the first variable whose value it cannot have."""
    for name in VARIABLES:
        number(name, 0.0)
