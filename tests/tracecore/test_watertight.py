"""Rays at the edges and vertices of closed meshes: none gets out, and each hits what exact arithmetic says.

Plain rounded products lose no ray either, since rounding is monotone: a sign becomes 0 at worst, never the opposite.
What they lose is which triangle is hit and where, so these are known answers here, too.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pytest

from tracecore.checks.ray_cases import FAR_AIMS, Integers, far_rays, far_sphere, welded_sphere
from tracecore.dispatch.tracer import Tracer
from tracecore.emulator.library import emulator_unavailable_reason
from tracecore.emulator.tracer import EmulatedTracer
from tracecore.rays import MISS, Floats, make_rays
from tracecore.tracers.brute_force import BruteForceTracer
from tracecore.tracers.cpu import CpuTracer

#: Radius and centre of the mesh on the lattice: float32 holds all coordinates, and all that a shear by quarters makes
#: of them, but not their products.
RADIUS, CENTRE = 1 << 18, np.array([9_000_000, -12_000_000, 7_500_000])

#: Directions of rays but for the exchange of axes; the last component is the largest, and divides the others exactly.
DIRECTIONS = [(0, 0, 4), (1, 2, 4), (-3, 1, -4), (2, -1, -4)]

TRACERS: dict[str, Callable[[Floats], Tracer]] = {
    "brute force": BruteForceTracer,
    "cpu": CpuTracer,
    "while-while": EmulatedTracer,
}


@pytest.fixture(params=TRACERS)
def tracer_of(request: pytest.FixtureRequest) -> Callable[[Floats], Tracer]:
    if request.param == "while-while" and (reason := emulator_unavailable_reason()):
        pytest.skip(reason)
    return TRACERS[request.param]


class Lattice(NamedTuple):
    """A closed mesh, (t, 3, 3), and rays from inside of it, all whole numbers; a ray has the origin and the direction
    of its row."""

    triangles: Integers
    origin: Integers
    direction: Integers

    @property
    def rays(self) -> Floats:
        """(r, 8) float32, exactly these."""
        return make_rays(self.origin, self.direction)


def lattice_case(direction: tuple[int, int, int], axis: int) -> Lattice:
    """Rays at vertices, at the middle of edges, and at lattice points next to edges. axis: that the last component of
    the direction goes to."""
    random = np.random.default_rng(10 + axis)
    vertices, faces = welded_sphere(6)
    triangles = (np.rint(vertices * RADIUS).astype(np.int64) + CENTRE)[faces]
    along = np.roll(direction, axis + 1)
    a, b = np.concatenate([triangles, triangles]), np.concatenate([np.roll(triangles, -1, 1), triangles])
    share = random.choice([0.5, 0.25, *random.random(4)], (len(a), 3, 1))
    target = np.rint(a + share * (b - a)).astype(np.int64).reshape(-1, 3)
    steps = (target - CENTRE) @ along // (along @ along)  # to the point next to the centre
    origin = target - steps[:, None] * along
    is_inside = np.linalg.norm(origin - CENTRE, axis=1) < 0.8 * RADIUS
    towards = np.where(steps < 0, -1, 1)[:, None] * along
    return Lattice(triangles, origin[is_inside], towards[is_inside])


class Exact(NamedTuple):
    """What whole numbers say of every ray and triangle: (r, t) whether it is hit, edges counted; t, u and v, to the
    precision of float64."""

    is_hit: npt.NDArray[np.bool_]
    t: npt.NDArray[np.float64]
    u: npt.NDArray[np.float64]
    v: npt.NDArray[np.float64]


def exact(case: Lattice) -> Exact:
    """Seen along the ray, a point is inside if it lies on one side of all edges."""
    largest = np.abs(case.direction[0]).argmax()
    x, y, z = ((largest + 1 + k) % 3 for k in range(3))
    d = case.direction[:, None]
    seen = []
    for corner in range(3):
        p = case.triangles[None, :, corner] - case.origin[:, None]
        seen.append((p[..., x] * d[..., z] - p[..., z] * d[..., x], p[..., y] * d[..., z] - p[..., z] * d[..., y]))
    (ax, ay), (bx, by), (cx, cy) = seen
    sides = np.stack([cx * by - cy * bx, ax * cy - ay * cx, bx * ay - by * ax])
    area = sides.sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        weights = sides / area
    depth = (case.triangles[None, ..., z] - case.origin[:, None, None, z]).astype(np.float64)
    t = (weights * np.moveaxis(depth, -1, 0)).sum(axis=0) / d[..., z]
    is_hit = ((sides >= 0).all(axis=0) | (sides <= 0).all(axis=0)) & (area != 0)
    return Exact(is_hit & (t > 0), t, weights[1], weights[2])


@pytest.mark.parametrize("axis", range(3))
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_rays_at_edges_hit_what_exact_arithmetic_says(direction, axis, tracer_of):
    """Far from the origin, where coordinates differ in their last bits alone."""
    case = lattice_case(direction, axis)
    right = exact(case)
    with tracer_of(case.triangles.astype(np.float32)) as tracer:
        hits, is_met = tracer.closest_hit(case.rays), tracer.any_hit(case.rays).view(np.uint32)[:, 3] != MISS
    assert len(hits) > 200
    assert (right.is_hit.sum(axis=1) > 1).mean() > 0.1  # at vertices and on edges
    prim_ids = hits.view(np.uint32)[:, 3]
    assert (prim_ids != MISS).all()
    assert is_met.all()
    each = np.arange(len(hits))
    assert right.is_hit[each, prim_ids].all()
    for got, expected in zip(hits[:, :3].T, (right.t, right.u, right.v), strict=True):
        assert np.allclose(got, expected[each, prim_ids], rtol=2.0**-20, atol=0.0)


def test_of_components_that_tie_the_first_is_the_axis(tracer_of: Callable[[Floats], Tracer]) -> None:
    """So say the bits of brute force, which takes the first of equal ones."""
    vertices, faces = welded_sphere(6)
    triangles = (vertices + 0.3).astype(np.float32)[faces]
    random = np.random.default_rng(11)
    direction = random.choice([-1.0, 1.0], (300, 3)) * random.random((300, 1))
    for axis in range(3):  # where this one is shorter; of every fourth ray none is
        direction[axis::4, axis] *= 0.3
    rays = make_rays(random.uniform(-0.2, 0.8, (300, 3)), direction)
    expected = BruteForceTracer(triangles).closest_hit(rays)
    with tracer_of(triangles) as tracer:
        assert np.array_equal(tracer.closest_hit(rays).view(np.uint32), expected.view(np.uint32))
    assert (expected.view(np.uint32)[:, 3] != MISS).all()


@pytest.mark.parametrize(("scale", "offset"), [(1.0, 0.0), (100.0, 1e6), (1000.0, 1e7)])
def test_a_closed_sphere_is_watertight(scale: float, offset: float, tracer_of: Callable[[Floats], Tracer]) -> None:
    """No ray from inside at a vertex, or at a point on an edge, gets out; and it ends where it was aimed at."""
    vertices, faces = welded_sphere(8)
    centre = np.array([0.3, -0.2, 0.1]) * scale + offset
    vertices = (vertices * scale + centre).astype(np.float32)
    triangles = vertices[faces]
    random = np.random.default_rng(10)
    with tracer_of(triangles) as tracer:  # type: ignore[arg-type]
        for _ in range(4):
            origin = (centre + random.uniform(-0.4, 0.4, 3) * scale).astype(np.float32)
            share = random.random((len(triangles), 1)).astype(np.float32)
            on_edge = triangles[:, 0] + share * (triangles[:, 1] - triangles[:, 0])
            for target in (vertices, on_edge, (triangles[:, 0] + triangles[:, 1]) / 2):
                direction = target - origin
                hits = tracer.closest_hit(make_rays(np.broadcast_to(origin, direction.shape), direction))
                assert (hits.view(np.uint32)[:, 3] != MISS).all()
                assert np.allclose(hits[:, 0], 1, atol=4e-3)


@pytest.mark.parametrize("aim", FAR_AIMS)
def test_no_ray_leaves_a_large_sphere_far_away(aim: str) -> None:
    """159,200 triangles, where coordinates have a sixty-fourth left."""
    triangles, rays = far_sphere(200), far_rays(200, aim, 20_000)
    with CpuTracer(triangles) as tracer:
        for hits in (tracer.closest_hit(rays), tracer.any_hit(rays)):
            assert (hits.view(np.uint32)[:, 3] != MISS).all()
