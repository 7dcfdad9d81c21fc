"""Functions whose code is merged with that of their callers."""

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numba.core.runtime import _nrt_python, rtsys  # type: ignore[attr-defined]

from tracecore.compilation.merging import Merged, MergedFunction, PartLibrary, part


def twice(x):
    return x + x


double = MergedFunction(twice)
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


class Pair(NamedTuple):
    left: Any
    right: Any


@Merged
def looked_at(pair):
    """Arrays of the argument alone: a field, a view, a pair made anew."""
    other = Pair(pair.right[1:], pair.left)
    return other.left[0] + other.right[0]


@Merged
def made(count):
    return np.full(count, 3.0)[1:]


@Merged
def chosen(array, which):
    """An array of numbers as index makes a copy."""
    copy = array[which]
    return copy[0] + copy[1]


@njit
def look(pair):
    return looked_at(Pair(made(3), pair.right)) + chosen(made(4), pair.left)


def test_references_are_counted_where_arrays_are_made_and_not_where_they_are_looked_at():
    pair = Pair(np.array([0, 2]), np.array([1.0, 5.0]))
    assert look(pair) == 5.0 + 3.0 + 6.0
    _nrt_python.memsys_enable_stats()
    before = rtsys.get_allocation_stats()
    for _ in range(100):
        look(pair)
    after = rtsys.get_allocation_stats()
    _nrt_python.memsys_disable_stats()
    assert after.mi_alloc - before.mi_alloc >= 300  # two made, one copied
    assert after.mi_alloc - before.mi_alloc == after.mi_free - before.mi_free
    counts = {f: [library.get_llvm_str() for library in libraries(f.whole.part)] for f in (looked_at, made, chosen)}
    assert all("NRT" not in code for code in counts[looked_at])
    assert all("NRT" in code for f in (made, chosen) for code in counts[f])
