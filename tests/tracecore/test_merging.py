"""Functions whose code is merged with that of their callers."""

import numpy as np
from numba import njit

from tracecore.compilation.merging import PartLibrary, Whole, part


def twice(x):
    return x + x


double = Whole(twice)
inlined_double = part(twice, is_inlined=True)


@njit
def quadruple(x):
    return double(double(x)) + inlined_double(x) - inlined_double(x)


def libraries(dispatcher):
    return [result.library for result in dispatcher.overloads.values()]


def test_callers_get_a_part_and_python_the_whole():
    assert quadruple(3) == 12
    assert not double.overloads  # nobody in Python has called it
    assert all(isinstance(library, PartLibrary) for library in libraries(double.part) + libraries(inlined_double))
    assert double(2.5) == 5.0
    assert [signature[0].name for signature in double.signatures] == ["float64"]
    assert quadruple(np.float32(0.5)) == 2.0
    assert double(3) == 6


def test_the_code_of_parts_is_in_that_of_the_caller():
    """With no call left to a function that is always inlined."""
    quadruple(1)
    code = quadruple.inspect_asm(quadruple.signatures[0])
    assert "twice" not in "".join(line for line in code.splitlines() if "call" in line)
