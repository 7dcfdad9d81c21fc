"""Triangles and rays that try a tracer."""

import functools
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from tracecore.rays import make_rays
from tracecore.tracers.cpu import CpuTracer

Floats = npt.NDArray[np.float32]
Integers = npt.NDArray[np.int64]
Case = tuple[Floats, Floats]


def soup(count: int, scale: float = 1.0) -> Floats:
    """(count, 3, 3) triangles here and there in a cube of side 2."""
    random = np.random.default_rng(count)
    return ((random.uniform(-1, 1, (count, 1, 3)) + random.normal(0, 0.3, (count, 3, 3))) * scale).astype(np.float32)


def grid(cells: int) -> Floats:
    """(2 * cells * cells, 3, 3): a square in the plane z = 0 cut into triangles with shared edges."""
    ticks = np.linspace(-1, 1, cells + 1)
    p = np.stack(np.meshgrid(ticks, ticks, [0.0], indexing="ij"), axis=-1)[:, :, 0]
    a, b, c, d = p[:-1, :-1], p[1:, :-1], p[1:, 1:], p[:-1, 1:]
    return np.stack([np.stack([a, b, c], axis=-2), np.stack([a, c, d], axis=-2)]).reshape(-1, 3, 3).astype(np.float32)


def box_room() -> Floats:
    """(12, 3, 3): the inside of a cube of side 2."""
    corners = np.stack(np.meshgrid([-1, 1], [-1, 1], [-1, 1], indexing="ij"), axis=-1).reshape(8, 3)
    sides = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    return np.array([corners[[a, *pair]] for a, b, c, d in sides for pair in ((b, c), (c, d))], np.float32)


def random_rays(seed: int, count: int, scale: float = 1.0) -> Floats:
    random = np.random.default_rng(seed)
    return make_rays(random.uniform(-1.5, 1.5, (count, 3)) * scale, random.normal(0, 1, (count, 3)))


def axis_rays(seed: int, count: int) -> Floats:
    """Along axes, through the corners and edges of a grid of quarters."""
    random = np.random.default_rng(seed)
    sign = random.choice([-1.0, 1.0], (count, 1))
    return make_rays(random.integers(-6, 7, (count, 3)) / 4, np.eye(3)[random.integers(3, size=count)] * sign)


def _edges(triangles: Floats, count: int, random: np.random.Generator) -> tuple[Floats, Floats]:
    chosen = triangles[random.integers(len(triangles), size=count)]
    corner = random.integers(3, size=count)
    each = np.arange(count)
    return chosen[each, corner], chosen[each, (corner + 1) % 3]


def welded_sphere(rings: int = 24) -> tuple[npt.NDArray[np.float64], Integers]:
    """(v, 3) vertices of a closed sphere of radius 1 about the origin, and (t, 3) triangles of them."""
    u = np.linspace(0, 2 * np.pi, 2 * rings, endpoint=False)
    v = np.linspace(0, np.pi, rings + 1)[1:-1]
    ring = np.stack(
        [np.outer(np.sin(v), np.cos(u)), np.outer(np.sin(v), np.sin(u)), np.outer(np.cos(v), u * 0 + 1)], -1
    )
    vertices = np.concatenate([[[0, 0, 1]], ring.reshape(-1, 3), [[0, 0, -1]]])
    index = 1 + np.arange(ring.shape[0] * ring.shape[1]).reshape(ring.shape[:2])
    right = np.roll(index, -1, axis=1)
    quads = [(index[:-1], index[1:], right[1:]), (index[:-1], right[1:], right[:-1])]
    faces = [np.stack(quad, -1).reshape(-1, 3) for quad in quads]
    faces.append(np.stack([0 * index[0], index[0], right[0]], -1))
    faces.append(np.stack([0 * index[-1] + len(vertices) - 1, right[-1], index[-1]], -1))
    return vertices, np.concatenate(faces)


#: Where a sphere is whose corners have few bits left, and how large it is.
FAR_CENTRE, FAR_RADIUS = np.array([148_376.0, 1_234.0, -223_423.0]), 1_000.0

#: What rays inside of it are aimed at.
FAR_AIMS = ("anywhere", "corners", "edges")


@functools.cache
def far_sphere(rings: int) -> Floats:
    """(4 * rings * (rings - 1), 3, 3): closed, as its triangles share their corners."""
    vertices, faces = welded_sphere(rings)
    return (vertices * FAR_RADIUS + FAR_CENTRE).astype(np.float32)[faces]


def far_rays(rings: int, aim: str, count: int) -> Floats:
    """Rays from inside of that sphere, at random, exactly at corners, or at points of edges."""
    random = np.random.default_rng(13)
    origin = (FAR_CENTRE + random.uniform(-0.4, 0.4, (count, 3)) * FAR_RADIUS).astype(np.float32)
    if aim == "anywhere":
        return make_rays(origin, random.normal(size=(count, 3)))
    a, b = _edges(far_sphere(rings), count, random)
    share = 0 if aim == "corners" else random.random((count, 1)).astype(np.float32)
    return make_rays(origin, a + share * (b - a) - origin)


def rays_at_edges(triangles: Floats, count: int) -> Floats:
    """Aimed at corners and at points of edges."""
    random = np.random.default_rng(1)
    a, b = _edges(triangles, count, random)
    origin = random.uniform(-2, 2, (count, 3)).astype(np.float32) * np.abs(triangles).max()
    return make_rays(origin, a + random.choice([0, 1, 0.5, 0.25], (count, 1)).astype(np.float32) * (b - a) - origin)


def rays_along_edges(triangles: Floats, count: int) -> Floats:
    """Starting before, on and inside an edge, in its direction."""
    random = np.random.default_rng(2)
    a, b = _edges(triangles, count, random)
    return make_rays(a + random.choice([0, -1, 0.5], (count, 1)).astype(np.float32) * (b - a), b - a)


def rays_from_surfaces(triangles: Floats, count: int) -> Floats:
    """Starting on triangles."""
    random = np.random.default_rng(3)
    chosen = triangles[random.integers(len(triangles), size=count)]
    return make_rays((chosen * random.dirichlet([1, 1, 1], count)[:, :, None]).sum(1), random.normal(0, 1, (count, 3)))


def intervals_around_hits(triangles: Floats, count: int) -> Floats:
    """Ending or beginning exactly at a hit, empty ones, and backwards ones."""
    rays = random_rays(4, count)
    with CpuTracer(triangles) as tracer:
        t = tracer.closest_hit(rays)[:, 0]
    rays[0::4, 7] = t[0::4]
    rays[1::4, 3] = t[1::4]
    rays[2::4, 3] = rays[2::4, 7] = 0.5
    rays[3::4, 3], rays[3::4, 7] = -np.inf, t[3::4] * 0.5
    return rays


def intervals_next_to_hits(triangles: Floats, count: int) -> Floats:
    """Rays at corners, where triangles tie, whose intervals begin or end at the number next to their hit's t."""
    rays = rays_at_edges(triangles, count)
    with CpuTracer(triangles) as tracer:
        t = tracer.closest_hit(rays)[:, 0]
    rays[0::2, 3] = np.nextafter(t[0::2], np.float32(0.0))
    rays[1::2, 7] = np.nextafter(t[1::2], np.float32(np.inf))
    return rays


def invalid_rays(count: int) -> Floats:
    """NaN, infinities and zeros everywhere, and no direction at all."""
    random = np.random.default_rng(5)
    rays = random_rays(5, count)
    rays[np.arange(count), random.integers(8, size=count)] = random.choice([np.nan, np.inf, -np.inf, 0.0], count)
    rays[:100, 4:7] = 0.0
    rays[100:200, 4:7] = -0.0
    return rays


def unreal_rays(rays: Floats) -> Floats:
    """The same, each with NaN or an infinite number in one of its eight places."""
    each = np.arange(len(rays))
    rays = rays.copy()
    rays[each, each % 8] = np.array([np.nan, np.inf, -np.inf], np.float32)[each // 8 % 3]
    return rays


def degenerate_triangles() -> Floats:
    """Points and line segments among proper triangles."""
    triangles = soup(300)
    triangles[0::3, 1] = triangles[0::3, 0]
    triangles[1::6] = triangles[1::6, :1]
    triangles[2::6, 2] = (triangles[2::6, 0] + triangles[2::6, 1]) / 2
    return triangles


def copies(triangles: Floats) -> Floats:
    """Each triangle three times."""
    return np.concatenate([triangles, triangles[::-1], triangles])


def scaled_directions(exponent: int, count: int, scale: float = 1.0) -> Floats:
    rays = np.concatenate([random_rays(6, count // 2), axis_rays(6, count // 2)])
    rays[:, 0:3] *= np.float32(scale)
    rays[:, 4:7] *= np.float32(10.0) ** exponent
    return rays


def in_the_plane_of_a_wall(count: int) -> Case:
    """A wall across x, and rays within its plane, but for the least: long ones, so that products underflow in the test.
    Another triangle is just in front of where they would meet the wall, and small ones stand about.
    """
    rng, gap = np.random.default_rng(33), 0.0002
    wall = np.array([[0.0, -0.8, -0.5], [0.0, 0.6, -0.5], [0.0, 0.2, 0.13]])
    front = np.array([[-5.0, -5.0, -0.5 - gap], [5.0, -5.0, -0.5 - gap], [0.0, 5.0, -0.5 - gap]])
    beside = rng.uniform([0.0, -0.8, -0.48], [0.5, 0.6, 0.12], (60, 3))
    before = rng.uniform([1.0, -4.0, -0.6], [9.0, 4.0, -0.59], (60, 3))
    others = np.concatenate([beside, before])[:, None] + rng.uniform(0.0, 0.01, (120, 3, 3))
    length, across = 10.0 ** rng.uniform(3, 7, count), 10.0 ** rng.uniform(-36, -32, count)
    rays = np.zeros((count, 8), np.float32)
    rays[:, 1], rays[:, 2] = rng.uniform(-0.7, 0.5, count), -0.5 - rng.uniform(0.05, 3.0, count)
    rays[:, 0] = across * (0.5 + rays[:, 2] - gap * rng.uniform(0.0, 2.0, count)) / length
    rays[:, 4], rays[:, 5], rays[:, 6] = across, 1e-3 * length * rng.normal(size=count), length
    rays[:, 7] = np.inf
    return np.concatenate([[wall, front], others]).astype(np.float32), rays


def on_a_ground(size: float) -> Floats:
    """(302, 3, 3): small triangles, and a square of such a half width below them."""
    ground = np.array([[-size, -2, -size], [size, -2, -size], [size, -2, size], [-size, -2, size]], np.float32)
    return np.concatenate([soup(300), ground[[[0, 1, 2], [0, 2, 3]]]])


def far_cameras(count: int) -> Floats:
    """From far away, out to millions of times the size of the scene: to the scene, past it, and away from it, forwards
    and backwards, some with intervals that begin or end in the scene.
    """
    random = np.random.default_rng(14)
    distance = 10.0 ** random.uniform(0.5, 7, (count, 1))
    origin = random.normal(size=(count, 3))
    origin *= distance / np.abs(origin).max(axis=1, keepdims=True)
    origin[::7] *= random.choice([0.0, 1.0], (len(origin[::7]), 3))  # along axes and planes
    length = 10.0 ** random.uniform(-3, 3, (count, 1))
    rays = make_rays(origin, (random.uniform(-1, 1, (count, 3)) - origin) * length)
    rays[1::5, 4:7] = random.normal(size=(len(rays[1::5]), 3))
    middle = np.linalg.norm(rays[:, 0:3], axis=1) / np.linalg.norm(rays[:, 4:7], axis=1)
    rays[2::5, 7] = middle[2::5]
    rays[3::5, 3] = middle[3::5]
    rays[4::5, 4:7] *= -1
    rays[4::5, 3] = -np.inf
    return rays


def dust_in_a_room() -> Floats:
    """(312, 3, 3): triangles next to the origin, so small that products of their sides underflow, in a cube."""
    return np.concatenate([soup(300, 3e-15), box_room()])


def moved(case: Case, offset: float) -> Case:
    triangles, rays = case[0] + np.float32(offset), case[1].copy()
    rays[:, 0:3] += np.float32(offset)
    return triangles, rays


#: By name: a number of rays -> triangles and rays, a third of so many where a tree is of no use and all is tested.
CASES: dict[str, Callable[[int], Case]] = {
    "soup": lambda n: (soup(500), random_rays(0, n)),
    "one-triangle": lambda n: (soup(1), rays_at_edges(soup(1), n)),
    "few-triangles": lambda n: (soup(5), random_rays(1, n)),
    "no-triangles": lambda n: (soup(0), random_rays(2, n)),
    "axis-aligned": lambda n: (soup(500), axis_rays(0, n)),
    "axis-aligned-grid": lambda n: (grid(8), axis_rays(1, n)),
    "edges-and-corners": lambda n: (soup(300), rays_at_edges(soup(300), n)),
    "edges-of-grid": lambda n: (grid(12), rays_at_edges(grid(12), n)),
    "along-edges": lambda n: (soup(300), rays_along_edges(soup(300), n)),
    "along-edges-of-grid": lambda n: (grid(8), rays_along_edges(grid(8), n)),
    "from-surfaces": lambda n: (soup(300), rays_from_surfaces(soup(300), n)),
    "intervals": lambda n: (soup(300), intervals_around_hits(soup(300), n)),
    "next-to-hits": lambda n: (copies(soup(99)), intervals_next_to_hits(copies(soup(99)), n)),
    "invalid": lambda n: (soup(300), invalid_rays(n)),
    "degenerate": lambda n: (degenerate_triangles(), rays_at_edges(degenerate_triangles(), n)),
    "duplicates": lambda n: (copies(soup(99)), rays_at_edges(soup(99), n)),
    "offset-1e6": lambda n: moved((soup(300), random_rays(7, n // 3)), 1e6),
    "surfaces-offset-1e6": lambda n: moved((soup(300), rays_from_surfaces(soup(300), n // 3)), 1e6),
    "scale-1e6": lambda n: (soup(300, 1e6), random_rays(8, n, scale=1e6)),
    "scale-1e-12": lambda n: (soup(300, 1e-12), random_rays(9, n, scale=1e-12)),
    "denormal": lambda n: (soup(300, 1e-42), random_rays(10, n // 3, scale=1e-42)),
    "short-directions": lambda n: (soup(300), scaled_directions(-20, n)),
    "shortest-directions": lambda n: (soup(300), scaled_directions(-37, n // 3)),
    "long-directions": lambda n: (soup(300), scaled_directions(30, n)),
    "in-the-plane-of-a-wall": in_the_plane_of_a_wall,
    "large-ground": lambda n: (on_a_ground(1e6), np.concatenate([random_rays(11, n // 2), far_cameras(n // 2)])),
    "far-cameras": lambda n: (soup(300), far_cameras(n)),
    "scale-3e-15": lambda n: (soup(300, 3e-15), random_rays(12, n // 3, scale=3e-15)),
    "dust-in-a-room": lambda n: (dust_in_a_room(), random_rays(12, n // 3, scale=3e-15)),
    "denormal-directions": lambda n: (soup(300), scaled_directions(-40, n // 3)),
    "denormal-distances": lambda n: (soup(300, 1e-4), scaled_directions(32, n // 3, scale=1e-4)),
}
