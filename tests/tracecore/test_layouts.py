"""What all layouts share: what they refuse, structs that the compiler checks, and threads that pack the same bits."""

import re
from dataclasses import replace

import numpy as np
import pytest

from tracecore.bvh.binned_sah import build
from tracecore.checks.ray_cases import soup
from tracecore.errors import KernelError
from tracecore.kernels.strategies import KERNELS  # type: ignore[attr-defined]
from tracecore.layout import bvh2, bvh4, compressed8, wide

#: By their names: layouts, how many triangles their leaves may have, and the headers of their structs.
LAYOUTS = {
    "bvh2": (bvh2.LAYOUT, 63, ("bvh2.cuh", "bvh2_node.cuh")),
    "bvh4": (bvh4.LAYOUT, 15, ("bvh4.cuh",)),
    "wide8": (wide.LAYOUTS[8], 63, ("wide.cuh",)),
    "compressed8": (compressed8.LAYOUT, 3, ("compressed8.cuh",)),
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_a_leaf_too_large_for_a_node(name):
    layout, most, _ = LAYOUTS[name]
    count = most + 1
    tree = replace(build(soup(1)), count=np.array([count], np.int32), order=np.arange(count, dtype=np.uint32))
    message = f"layout {name}: a leaf has {count} triangles, at most {most}; build with a lower max_leaf"
    with pytest.raises(KernelError, match=message):
        layout.pack(tree, soup(count))


@pytest.mark.parametrize(("module", "name"), [(bvh4, "bvh4"), (wide, "wide8")])
def test_too_many_triangles_for_a_slot(module, name, monkeypatch):
    largest = ((module.MAX_TRIANGLES - 1) << module.LEAF_COUNT_BITS) | module.MAX_LEAF
    assert largest == np.iinfo(np.int32).max
    monkeypatch.setattr(module, "MAX_TRIANGLES", 9)
    with pytest.raises(KernelError, match=f"layout {name}: 10 triangles, at most 9; split the scene"):
        LAYOUTS[name][0].pack(build(soup(10), max_leaf=4), soup(10))


@pytest.mark.parametrize("name", LAYOUTS)
def test_every_struct_is_checked_by_the_compiler(name):
    """Each constant that the layout hands over stands in an assertion of a header."""
    layout, _, headers = LAYOUTS[name]
    text = "".join((KERNELS / header).read_text() for header in (*headers, "packed_row.cuh"))
    asserted = set(re.findall(r"static_assert\(sizeof\(\w+\) == (\w+)", text))
    assert asserted == {constant for constant in layout.defines if constant.endswith("_BYTES")}


@pytest.mark.parametrize("name", LAYOUTS)
def test_any_number_of_threads_packs_the_same_bits(name, monkeypatch):
    layout, most, _ = LAYOUTS[name]
    triangles, packed = soup(9000), []
    tree = build(triangles, max_leaf=1 if most == 3 else 4)
    monkeypatch.setattr("tracecore.bvh.wide.LEVEL_PIECE", 100)
    for cores in (1, 3):
        monkeypatch.setattr("tracecore.threads.usable_cores", lambda cores=cores: cores)
        packed.append(layout.pack(tree, triangles))
    one, other = packed
    assert (one.scalars, one.nodes, one.stack) == (other.scalars, other.nodes, other.stack)
    assert {key: array.tobytes() for key, array in one.arrays.items()} == {
        key: array.tobytes() for key, array in other.arrays.items()
    }
