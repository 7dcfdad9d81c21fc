"""The pad of boxes is wide enough for rays that need much of it, and one that is not so wide is found out."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from judges import ONE_OF_EACH_SOURCE

from tracecore.bvh.binned_sah import build
from tracecore.bvh.wide import collapse
from tracecore.checks.ray_cases import Floats
from tracecore.cuda.device import gpu_unavailable_reason
from tracecore.emulator.library import emulator_unavailable_reason
from tracecore.layout.bvh8 import BLOCK, WIDTH, pack
from tracecore.precision import PAD, padded

PROGRAM = Path(__file__).with_name("margins.py")

#: By these the pad is divided.
DIVISORS = (1, 8, 64)


def lost(divisor: int, device: str, count: int, kernels: tuple[str, ...], cache: Path) -> list[int]:
    """Of each kernel, or of the CPU, how many rays lose their hit. cache: where nobody else finds what it compiles."""
    done = subprocess.run(
        [sys.executable, "-P", PROGRAM, str(divisor), device, str(count), *kernels],
        env={**os.environ, "TRACECORE_CACHE": str(cache)},
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [int(line) for line in done.stdout.split()]


@pytest.mark.parametrize("divisor", DIVISORS)
def test_the_cpu_needs_its_pad(divisor: int, tmp_path: Path) -> None:
    (rays,) = lost(divisor, "cpu", 500_000, (), tmp_path)
    assert (rays > 0) == (divisor > 1)


@pytest.mark.parametrize("divisor", DIVISORS)
def test_kernels_need_their_pads(divisor: int, tmp_path: Path) -> None:
    if reason := emulator_unavailable_reason():
        pytest.skip(reason)
    found = lost(divisor, "emulator", 100, ONE_OF_EACH_SOURCE, tmp_path)
    assert [rays > 0 for rays in found] == [divisor > 1] * len(ONE_OF_EACH_SOURCE), found


@pytest.mark.gpu
@pytest.mark.parametrize("divisor", DIVISORS)
def test_kernels_need_their_pads_on_a_gpu(divisor: int, tmp_path: Path) -> None:
    if reason := gpu_unavailable_reason():
        pytest.skip(reason)
    found = lost(divisor, "gpu", 100_000, ONE_OF_EACH_SOURCE, tmp_path)
    assert [rays > 0 for rays in found] == [divisor > 1] * len(ONE_OF_EACH_SOURCE), found


def quads(sizes: Floats) -> Floats:
    """(n, 3, 3): a triangle of each size about the origin."""
    return np.array([[-1, -2, -1], [1, -2, -1], [0, -2, 1]], np.float32) * sizes[:, None, None]


def test_a_box_takes_a_pad_of_its_own() -> None:
    """However large its surroundings are."""
    sizes = np.float32([1e-3, 1, 1e3, 1e6])
    triangles = quads(sizes)
    tree = build(triangles, max_leaf=1)
    leaf = tree.count == 1
    lower, upper = tree.lower[leaf], tree.upper[leaf]
    planes = padded(lower, upper)
    own = 2 * sizes[tree.order[tree.first[leaf]], None]  # largest coordinates
    assert np.allclose(lower - planes[0], PAD * own, rtol=0, atol=2.0**-24 * own)
    assert np.allclose(planes[1] - upper, PAD * own, rtol=0, atol=2.0**-24 * own)
    node = pack(tree, collapse(tree, width=WIDTH, max_leaf=BLOCK), triangles).nodes[0]
    assert np.isin(node["lower"][0][np.isfinite(node["lower"][0])], padded(tree.lower, tree.upper)[0]).all()
