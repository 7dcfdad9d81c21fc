"""The kernel on the compressed 8-wide tree, through the emulator: what its arithmetic with steps could break."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from brute_answers import occlusion_of
from judges import assert_same_bits

from tracecore.bvh.tree import BinaryTree
from tracecore.checks.ray_cases import Floats, grid, random_rays, soup
from tracecore.emulator.tracer import EmulatedTracer
from tracecore.errors import KernelError
from tracecore.kernels.strategies import find_strategy
from tracecore.kernels.strategy import KernelStrategy
from tracecore.layout.compressed8 import LAYOUT
from tracecore.layout.device_layout import PackedTree
from tracecore.rays import MISS, make_rays
from tracecore.tracers.brute_force import BruteForceTracer

RAYS = 3000


PLAIN = find_strategy("compressed-bvh8")


def assert_hits_of_brute_force(strategy: KernelStrategy, triangles: Floats, rays: Floats) -> None:
    closest = BruteForceTracer(triangles).closest_hit(rays)
    with EmulatedTracer(triangles, strategy) as tracer:
        assert_same_bits(tracer.closest_hit(rays), closest, rays)
        assert_same_bits(tracer.any_hit(rays), occlusion_of(closest), rays)


#: Of the mask and the octant that a ray begins at.
BITS = """
#include "compressed8.cuh"
template <bool ANY_HIT>
__device__ Hit trace(const Scene& scene, const Ray& ray, unsigned& faults) {
    const unsigned mask = ray.origin.x, octant = ray.origin.y;
    return {float(by_octant(mask, octant)), float(thrice(mask)), 0.0f, 0};
}
#include "rounds.cuh"
"""


@pytest.mark.usefixtures("emulator")
def test_bits_go_where_they_belong(tmp_path: Path) -> None:
    """No hit tells whether children are visited from front to back."""
    source = tmp_path / "bits.cu"
    source.write_text(BITS)
    masks, octants = (each.ravel() for each in np.meshgrid(np.arange(256), np.arange(8)))
    rays = make_rays(np.stack([masks, octants, 0 * masks], axis=1), [0, 0, 1])
    strategy = KernelStrategy(name="bits", source=source, layout=LAYOUT, citation="none", max_leaf=1)
    with EmulatedTracer(soup(5), strategy) as tracer:
        hits = tracer.closest_hit(rays).astype(np.int64)
    position = np.arange(8)
    is_set = masks[:, None] >> position & 1
    assert (hits[:, 0] == (is_set << (position ^ octants[:, None])).sum(axis=1)).all()
    assert (hits[:, 1] == (is_set * 7 << 3 * position).sum(axis=1)).all()


def on_whole_steps() -> Floats:
    """Planes of boxes are whole steps of one: nothing is gained by rounding outwards."""
    random = np.random.default_rng(21)
    middle = random.integers(0, 256, (200, 1, 3))
    return (np.clip(middle + random.integers(-40, 41, (200, 3, 3)), 0, 255) - 128).astype(np.float32)


def rays_at_corners(triangles: Floats, distance: float) -> Floats:
    """From all sides, from up to so many extents away, at corners and points of edges: they only touch boxes."""
    random = np.random.default_rng(22)
    chosen = triangles[random.integers(len(triangles), size=RAYS)]
    towards = random.normal(0, 1, (RAYS, 3))
    towards *= distance * np.abs(triangles).max() * random.uniform(0.1, 1, (RAYS, 1))
    weights = np.array([[1, 0, 0], [0.5, 0.5, 0], [0.75, 0, 0.25]])[random.integers(3, size=RAYS)]
    target = (chosen * weights[:, :, None]).sum(axis=1)
    origin = (target - towards).astype(np.float32)
    return make_rays(origin, target - origin)


@pytest.mark.usefixtures("emulator")
@pytest.mark.parametrize("distance", [0.5, 2.0, 50.0, 1000.0])
@pytest.mark.parametrize(
    "triangles",
    [on_whole_steps(), np.concatenate([on_whole_steps(), on_whole_steps() / 1024]), grid(8) + np.float32(1 / 3)],
    ids=["whole steps", "large and small", "plane"],
)
def test_rays_that_only_touch_boxes(triangles: Floats, distance: float) -> None:
    assert_hits_of_brute_force(PLAIN, triangles, rays_at_corners(triangles, distance))


@pytest.mark.usefixtures("emulator")
def test_denormal_distances() -> None:
    """Of hits that are so near in lengths of the direction, t has few bits left, and so have the boxes."""
    triangles, rays = soup(200, 1e-4), random_rays(23, 10_000, scale=1e-4)
    rays[:, 4:7] *= np.float32(1e32)
    assert_hits_of_brute_force(PLAIN, triangles, rays)


@pytest.mark.usefixtures("emulator")
@pytest.mark.parametrize("distance", [1e20, 1e33, 1e38])
def test_origins_beyond_all_measure(distance: float) -> None:
    """The triangle test is blind there; boxes must not be more so."""
    triangles, rays = soup(100), random_rays(24, 1000)
    rays[:, 0] = distance
    rays[:, 4] = -np.float32(distance)
    assert_hits_of_brute_force(PLAIN, triangles, rays)


def with_stack(entries: int, more: int = 0) -> KernelStrategy:
    """Compiled with so many entries, on a layout that asks for some more or less than the tree needs."""

    def pack(tree: BinaryTree, triangles: Floats) -> PackedTree:
        packed = LAYOUT.pack(tree, triangles)
        return replace(packed, stack=packed.stack + more)

    return replace(PLAIN, stack_size=entries, layout=replace(LAYOUT, pack=pack))


def ray_that_meets_everything() -> Floats:
    """So long that its pad is wider than the scene, which lies behind it."""
    return make_rays([5.0, 5.0, 5.0], [1e20, 1e20, 1e20])


@pytest.mark.usefixtures("emulator")
def test_the_stack_that_the_tree_needs_is_enough_and_no_less_is() -> None:
    triangles, rays = soup(5000), ray_that_meets_everything()
    tree = PLAIN.build(triangles, "binned")  # of which a ray needs as much as any tree of its depth can
    need = LAYOUT.pack(tree, triangles).stack
    with EmulatedTracer(triangles, with_stack(need), tree=tree) as tracer:
        assert tracer.closest_hit(rays).view(np.uint32)[0, 3] == MISS
    with EmulatedTracer(triangles, with_stack(need - 1, more=-1), tree=tree) as tracer:
        for trace in (tracer.closest_hit, tracer.any_hit):
            with pytest.raises(KernelError, match="kernel 'compressed-bvh8' failed: its traversal stack"):
                trace(rays)
