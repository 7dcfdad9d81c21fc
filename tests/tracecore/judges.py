"""What tests of tracers share beyond the cases of `tracecore.checks`: how hits are judged, and real scenes."""

from pathlib import Path

import numpy as np
import pytest

from tracecore.checks.chain_tree import chain, slices
from tracecore.checks.ray_cases import Floats
from tracecore.kernels.strategies import find_strategy, strategy_names
from tracecore.layout.device_layout import DeviceLayout
from tracecore.rays import MISS, make_rays

MILLION = 1 << 20

#: A kernel of each source file, where all of them would be more of the same; the tests on a GPU take all.
ONE_OF_EACH_SOURCE = tuple({find_strategy(name).source: name for name in strategy_names()}.values())


def levels_that_need(layout: DeviceLayout, stack: int) -> int:
    """How many levels the chain has that needs so many entries of stack; each level more needs one more."""
    levels = next(n for n in range(stack // 2, 4 * stack) if layout.pack(chain(n), slices(n)).stack == stack)
    assert layout.pack(chain(levels + 1), slices(levels + 1)).stack == stack + 1
    return levels


def assert_same_bits(got: Floats, expected: Floats, rays: Floats) -> None:
    """All four words of every hit; names the first ray that differs."""
    wrong = np.flatnonzero((got.view(np.uint32) != expected.view(np.uint32)).any(axis=1))
    if len(wrong) > 0:
        i = wrong[0]
        ids = got.view(np.uint32)[i, 3], expected.view(np.uint32)[i, 3]
        pytest.fail(f"{len(wrong)} of {len(rays)} differ; ray {i} {rays[i]}: {got[i]} {expected[i]}, ids {ids}")


def bunny(shared_scenes: Path) -> Floats:
    """(69451, 3, 3) triangles."""
    path = shared_scenes / "bunny" / "bunny.obj"
    if not path.is_file():
        pytest.skip(f"the bunny is not at {path}")
    words = [line.split() for line in path.read_text().splitlines()]
    points = np.array([word[1:4] for word in words if word[:1] == ["v"]], np.float32)
    corners = [[int(corner.split("/")[0]) - 1 for corner in word[1:4]] for word in words if word[:1] == ["f"]]
    return points[np.array(corners)]


def kitchen(shared_scenes: Path) -> Floats:
    """(110561, 3, 3) triangles."""
    path = shared_scenes / "bart-kitchen" / "aff" / "kitchen.aff"
    if not path.is_file():
        pytest.skip(f"the kitchen is not at {path}")
    return pytest.importorskip("scenes").load(path).at_frame(0).positions


def incoherent_rays(triangles: Floats) -> Floats:
    """(MILLION, 8) float32 rays from anywhere in the scene's box to anywhere."""
    random = np.random.default_rng(11)
    lower, upper = triangles.min(axis=(0, 1)), triangles.max(axis=(0, 1))
    return make_rays(random.uniform(lower, upper, (MILLION, 3)), random.normal(0, 1, (MILLION, 3)))


def bounces(rays: Floats, hits: Floats) -> Floats:
    """From where the rays hit, without an offset, to anywhere."""
    hit = hits.view(np.uint32)[:, 3] != MISS
    origin = rays[hit, 0:3] + hits[hit, 0:1] * rays[hit, 4:7]
    return make_rays(origin, np.random.default_rng(12).normal(0, 1, origin.shape))
