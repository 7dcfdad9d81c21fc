"""The CPU tracer against the brute force one: the same bits, whatever the rays."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracecore.checks.ray_cases import in_the_plane_of_a_wall
from tracecore.cpu.traversal import LONG_BYTES, RAY_BYTES, table, trace
from tracecore.layout.bvh8 import BLOCK
from tracecore.rays import MISS, Floats, make_rays
from tracecore.tracers.brute_force import BruteForceTracer
from tracecore.tracers.cpu import CpuTracer

RAYS = 600

CASES = [
    "random",
    "along axes",
    "minus zero",
    "at vertices",
    "at edges",
    "from the surface",
    "from vertices",
    "along edges",
    "from far away",
    "interval",
    "empty interval",
    "denormal components",
    "every magnitude",
    "long directions",
    "short directions",
    "overflowing products",
    "denormal directions",
]


def soup(count: int = 150, seed: int = 3) -> Floats:
    random = np.random.default_rng(seed)
    return (random.random((count, 1, 3)) + 0.3 * (random.random((count, 3, 3)) - 0.5)).astype(np.float32)


def prim_ids(hits: Floats) -> np.ndarray:
    return hits.view(np.uint32)[:, 3]


def assert_same_bits(triangles: Floats, rays: Floats) -> Floats:
    """Both tracers, both queries. Returns the closest hits."""
    with CpuTracer(triangles, threads=1) as cpu, BruteForceTracer(triangles, threads=1) as brute:
        closest, expected = cpu.closest_hit(rays), brute.closest_hit(rays)
        assert np.array_equal(closest.view(np.uint32), expected.view(np.uint32))
        occluded = cpu.any_hit(rays)
        assert np.array_equal(occluded.view(np.uint32), brute.any_hit(rays).view(np.uint32))
        assert np.array_equal(prim_ids(occluded) != MISS, prim_ids(closest) != MISS)
        assert (prim_ids(occluded)[prim_ids(closest) != MISS] == 0).all()
        assert cpu.statistics().invalid_rays == brute.statistics().invalid_rays
    return closest


def random_rays(seed: int = 4, count: int = RAYS) -> tuple[Floats, Floats]:
    random = np.random.default_rng(seed)
    return random.uniform(-0.5, 1.5, (count, 3)), random.normal(size=(count, 3))  # type: ignore[return-value]


def on_surface(triangles: Floats, seed: int = 5) -> Floats:
    random = np.random.default_rng(seed)
    chosen = triangles[random.integers(0, len(triangles), RAYS)]
    return np.einsum("nc,nca->na", random.dirichlet([1, 1, 1], RAYS), chosen).astype(np.float32)


def axes(seed: int = 6) -> Floats:
    random = np.random.default_rng(seed)
    return (np.eye(3)[random.integers(0, 3, RAYS)] * random.choice([-1, 1], (RAYS, 1))).astype(np.float32)


def case_rays(name: str, triangles: Floats) -> Floats:
    """Rays that are hard in the way that the name says."""
    random = np.random.default_rng(7)
    origin, direction = random_rays()
    corner = triangles[random.integers(0, len(triangles), RAYS)]
    target = on_surface(triangles)
    distant = target + direction * 1e6
    cases = {
        "random": lambda: make_rays(origin, direction),
        "along axes": lambda: make_rays(origin, axes()),
        "minus zero": lambda: make_rays(origin, axes() * np.array([1, -1, 1], np.float32)),
        "at vertices": lambda: make_rays(origin, corner[:, 0] - origin.astype(np.float32)),
        "at edges": lambda: make_rays(origin, (corner[:, 0] + corner[:, 1]) / 2 - origin.astype(np.float32)),
        "from the surface": lambda: make_rays(target, direction),
        "from vertices": lambda: make_rays(corner[:, 0], direction),
        "along edges": lambda: make_rays(corner[:, 0], corner[:, 1] - corner[:, 0]),
        "from far away": lambda: make_rays(distant, target - distant),
        "interval": lambda: make_rays(origin, direction, random.normal(size=RAYS), random.random(RAYS) * 2),
        "empty interval": lambda: make_rays(origin, direction, 0.5, 0.5),
        "denormal components": lambda: make_rays(origin, axes() + direction * 1e-40),
        "every magnitude": lambda: make_rays(origin, direction * 10.0 ** random.uniform(-44, 0, (RAYS, 3))),
        "long directions": lambda: make_rays(origin, direction * 1e30),
        "short directions": lambda: make_rays(origin, direction * 1e-30),
        "overflowing products": lambda: make_rays(origin, direction * 3e-38),
        "denormal directions": lambda: make_rays(origin, direction * 1e-40),
    }
    assert list(cases) == CASES
    return cases[name]()


EXPECT_NO_HITS = ("empty interval", "denormal directions")


@pytest.mark.parametrize("case", CASES)
def test_same_bits_on_hard_rays(case: str) -> None:
    hits = assert_same_bits(soup(), case_rays(case, soup()))
    assert (prim_ids(hits) != MISS).any() != (case in EXPECT_NO_HITS)


def test_same_bits_where_products_underflow() -> None:
    """A triangle that is seen from its edge is missed by all."""
    triangles, rays = in_the_plane_of_a_wall(RAYS)
    assert not (prim_ids(assert_same_bits(triangles, rays)) == 0).any()


@pytest.mark.parametrize("case", ["random", "along axes", "at vertices", "at edges", "from the surface", "along edges"])
def test_same_bits_on_a_lattice(case: str) -> None:
    """Corners and origins in few planes: many rays in the plane of a triangle, through edges and along box sides."""
    triangles = np.round(soup(seed=8) * 4) / np.float32(4)
    rays = case_rays(case, triangles)
    rays[:, 0:3] = np.round(rays[:, 0:3] * 4) / 4
    assert_same_bits(triangles, rays)


@pytest.mark.parametrize("scale", [1e6, 1e-6, 1e12, 1e-12])
@pytest.mark.parametrize("case", ["random", "at vertices", "from the surface"])
def test_same_bits_at_any_scale(case: str, scale: float) -> None:
    triangles = soup()
    rays = case_rays(case, triangles)
    rays[:, 0:3] *= np.float32(scale)
    assert_same_bits(triangles * np.float32(scale), rays)


def test_same_bits_where_products_overflow() -> None:
    """t of about 1e38 from directions so short that 1 / direction times a coordinate is too large."""
    triangles = soup() * np.float32(0.01) + np.float32(30)
    target = on_surface(triangles)
    _, direction = random_rays()
    origin = (target - direction * 0.01).astype(np.float32)
    hits = assert_same_bits(triangles, make_rays(origin, (target - origin) * np.float32(1e-36)))
    assert (prim_ids(hits) != MISS).mean() > 0.5


def test_invalid_rays_are_misses_and_counted() -> None:
    random = np.random.default_rng(9)
    rays = make_rays(*random_rays())
    for value, share in ((np.nan, 0.03), (np.inf, 0.03), (-np.inf, 0.03), (0.0, 0.3)):
        rays[random.random(rays.shape) < share] = value
    rays[:50, 4:7] = 0
    hits = assert_same_bits(soup(), rays)
    with CpuTracer(soup(), threads=1) as tracer:
        tracer.closest_hit(rays)
        bad = ~np.isfinite(rays[:, [0, 1, 2, 4, 5, 6]]).all(axis=1) | np.isnan(rays).any(axis=1)
        bad |= (rays[:, 4:7] == 0).all(axis=1)
        assert tracer.statistics().invalid_rays == bad.sum() > 50
    assert (prim_ids(hits)[bad] == MISS).all()
    assert (hits[prim_ids(hits) == MISS, 0] == np.inf).all()


LATTICE = st.integers(-3, 3).map(float)
SPECIAL = st.sampled_from([0.0, -0.0, 1e-45, -1e-38, 1e-20, 1.0, -1.0, 0.5, 2.0])


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    st.lists(st.lists(LATTICE, min_size=9, max_size=9), min_size=1, max_size=12),
    st.lists(
        st.tuples(st.tuples(*[LATTICE] * 3), st.tuples(*[SPECIAL | LATTICE] * 3), st.sampled_from([-1.0, 0.0, 1.0])),
        min_size=1,
        max_size=12,
    ),
)
def test_same_bits_on_lattices_that_hypothesis_finds(corners, rays):
    origins, directions, t_min = zip(*rays, strict=True)
    triangles = np.array(corners, np.float32).reshape(-1, 3, 3)
    assert_same_bits(triangles, make_rays(origins, np.array(directions), np.array(t_min)))


def test_bits_do_not_depend_on_threads_or_split() -> None:
    triangles = soup(2000)
    origin, direction = random_rays(12, 20_000)
    rays = make_rays(origin, direction)
    with CpuTracer(triangles, threads=1) as one, CpuTracer(triangles, threads=3) as three:
        expected = one.closest_hit(rays)
        assert np.array_equal(three.closest_hit(rays).view(np.uint32), expected.view(np.uint32))
        parts = [three.closest_hit(part) for part in np.array_split(rays, 7)]
        assert np.array_equal(np.concatenate(parts).view(np.uint32), expected.view(np.uint32))
        assert one.statistics().rays == 20_000
        assert three.statistics().rays == 40_000


def test_kitchen(kitchen_file: Path) -> None:
    import scenes

    triangles = scenes.load(kitchen_file).at_frame(0).positions
    _, direction = random_rays(13, 40)
    rays = make_rays(np.broadcast_to([1.05, 1.14, 1.36], direction.shape), direction)
    assert (prim_ids(assert_same_bits(triangles, rays)) != MISS).mean() > 0.9


def test_hits_are_those_of_embree() -> None:
    pytest.importorskip("embreex", reason="embreex, of the extra 'dev', is not installed")
    from tracecore.benchmarks.compare_embree import room_of_spheres
    from tracecore.peers.embree import Embree

    triangles = room_of_spheres()
    _, direction = random_rays(14, 30_000)
    rays = make_rays(np.broadcast_to(np.array([0.02, 0.03, 0.01], np.float32), direction.shape), direction)
    with CpuTracer(triangles, threads=1) as tracer:
        hits = tracer.closest_hit(rays)
    judge = Embree(triangles).closest_hit(rays)
    assert (prim_ids(hits) != MISS).all()
    assert (prim_ids(hits) == judge["primID"]).mean() > 0.9999
    assert np.allclose(hits[:, 0], judge["tfar"], rtol=1e-4)


def test_same_bits_without_the_newer_instructions() -> None:
    """On a processor without AVX and fused multiply-add."""
    environment = {**os.environ, "NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}
    test = f"{__file__}::test_same_bits_on_hard_rays"
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", test]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=250, check=False)
    assert done.returncode == 0, done.stdout[-2000:]


@pytest.mark.parametrize("axis", range(3))
@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_nearer_children_are_visited_first(axis: int, side: float) -> None:
    """A ray goes through eight piles of sheets, the children of one node: they lie on the stack by their distance, and
    the nearest is on top. From both sides, so that no order of the children in the node would do.
    """
    depths = np.random.default_rng(2).permutation(8).repeat(BLOCK) + np.tile(0.01 * np.arange(BLOCK), 8)
    sheets = np.zeros((len(depths), 3, 3), np.float32)
    sheets[:, :, axis] = depths[:, None]
    sheets[:, :, (axis + 1) % 3] = (-1.0, 1.0, 0.0)
    sheets[:, :, (axis + 2) % 3] = (-1.0, -1.0, 1.0)
    origin = np.zeros(3)
    origin[axis] = 3.5 - 10.0 * side
    rays, hits = make_rays(origin, side * np.eye(3)[axis]), np.empty((1, 4), np.float32)
    with CpuTracer(sheets, threads=1) as tracer:
        tree = tracer.thread_tree()
        tree.stack[:] = 0
        assert trace(tree, table(rays.ctypes.data, 8), table(hits.ctypes.data, 4), 1, False, False) == 0
    entries = np.trim_zeros(tree.stack[RAY_BYTES // LONG_BYTES :], "b")
    distances = np.uint32(entries >> 32).view(np.float32)
    assert len(entries) == 8
    np.testing.assert_allclose(distances, np.arange(7, -1, -1) + hits[0, 0], atol=0.08)


@pytest.mark.parametrize("count", [0, 1, 2, 8, 9])
def test_few_triangles(count: int) -> None:
    triangles = soup(count)
    target = on_surface(soup(max(count, 1)))
    origin, _ = random_rays()
    hits = assert_same_bits(triangles, make_rays(origin, target - origin.astype(np.float32)))
    assert (prim_ids(hits) != MISS).any() == (count > 0)


def test_no_rays() -> None:
    assert assert_same_bits(soup(), make_rays(np.zeros((0, 3)), np.zeros((0, 3)))).shape == (0, 4)
