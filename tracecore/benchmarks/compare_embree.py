"""The CPU tracer races against Embree on one core.

Embree is asked one ray at a time, in its robust mode, through embreex, which is part of the extra `peers`. The rays are
camera rays in tiles of 8 x 8 pixels and one diffuse bounce off what they hit. Rates are rays per second of the thread's
own CPU time, medians over alternating rounds.
"""

import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tracecore import MISS, make_rays, open_tracer
from tracecore.dispatch.tracer import Tracer
from tracecore.errors import PeerError
from tracecore.rays import Floats

if TYPE_CHECKING:
    from tracecore.peers.embree import Embree

TILE = 8
SAMPLES = 4

#: Bounces start this far off the surface, relative to the size of the scene: embreex has no t_min.
OFFSET = 1e-5

Doubles = npt.NDArray[np.float64]


@dataclass(frozen=True)
class SquareView:
    """Says from where a square picture is seen.

    eye: position, world units.
    forward, up: unit vectors, perpendicular.
    angle: vertical field of view, degrees.
    """

    eye: tuple[float, float, float]
    forward: tuple[float, float, float]
    up: tuple[float, float, float]
    angle: float


@dataclass(frozen=True, kw_only=True)
class Race:
    """Holds what was measured of both tracers on the same rays.

    kind, query, rays: what they were, what was asked of them, and how many.
    ours, embree: millions of rays per second of one thread's time, medians of the rounds.
    ratio, least, most: our rate over Embree's, median and range of the rounds.
    """

    kind: str
    query: str
    rays: int
    ours: float
    embree: float
    ratio: float
    least: float
    most: float

    def text(self) -> str:
        """Returns the race as a line of text."""
        return (
            f"{self.kind + ' ' + self.query:16} {self.ours:7.2f} {self.embree:7.2f} Mrays/s   ratio {self.ratio:.3f} "
            f"({self.least:.3f} to {self.most:.3f})"
        )


@dataclass(frozen=True, kw_only=True)
class Disagreement:
    """Says of how many closest hits the two differ.

    kind, rays: what rays they were, and how many.
    is_hit: how many the one has hit something and the other has not.
    triangle: how many have hit something for both, but not the same triangle.
    distance: the largest difference of t, over t.
    """

    kind: str
    rays: int
    is_hit: int
    triangle: int
    distance: float

    def text(self) -> str:
        """Returns the differences as a line of text."""
        return (
            f"{'':16} hit or miss differs for {self.is_hit} of {self.rays}, the triangle for {self.triangle}, t by at "
            f"most {self.distance:.1e} of its size"
        )


def room_of_spheres() -> Floats:
    """(t, 3, 3): a box of side 2 about the origin and in it 64 spheres of 1,600 triangles each."""
    u, v = np.meshgrid(np.linspace(0, 2 * np.pi, 41), np.linspace(0, np.pi, 21), indexing="ij")
    ball = np.stack([np.cos(u) * np.sin(v), np.sin(u) * np.sin(v), np.cos(v)], axis=-1)
    centre = np.stack(np.meshgrid(*[np.linspace(-0.75, 0.75, 4)] * 3), axis=-1).reshape(-1, 1, 1, 3)
    walls = np.stack(np.meshgrid([-1.0, 1.0], [-1.0, 1.0]), axis=-1).reshape(2, 2, 2)
    sides = [np.insert(walls, axis, place, axis=-1) for axis in range(3) for place in (-1.0, 1.0)]
    return np.concatenate([_halves(ball * 0.15 + centre), _halves(np.stack(sides))]).astype(np.float32)


def _halves(grids: Doubles) -> Doubles:
    """(t, 3, 3): two triangles for every cell of (g, m, n, 3) grids of points."""
    a, b, c, d = grids[:, :-1, :-1], grids[:, 1:, :-1], grids[:, 1:, 1:], grids[:, :-1, 1:]
    return np.stack([np.stack([a, b, c], axis=-2), np.stack([a, c, d], axis=-2)]).reshape(-1, 3, 3)


def camera_rays(view: SquareView, side: int, random: np.random.Generator) -> Floats:
    """(side * side * SAMPLES, 8) rays through a square picture, jittered, tile by tile."""
    forward, up = np.array(view.forward), np.array(view.up)
    right = np.cross(forward, up)
    pixel = np.arange(side * side * SAMPLES) // SAMPLES
    tile, inside = np.divmod(pixel, TILE * TILE)
    corner = np.stack(np.divmod(tile, side // TILE), axis=1) * TILE
    row_column = corner + np.stack(np.divmod(inside, TILE), axis=1) + random.random((len(pixel), 2))
    y, x = (row_column.T * 2 / side - 1) * np.tan(np.radians(view.angle / 2))
    direction = forward + x[:, None] * right - y[:, None] * up
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    return make_rays(np.broadcast_to(view.eye, direction.shape), direction)


def diffuse_rays(triangles: Floats, rays: Floats, hits: Floats, random: np.random.Generator) -> Floats:
    """One cosine-distributed bounce off every hit, in the order of the rays."""
    prim_id = hits.view(np.uint32)[:, 3]
    hit = prim_id != MISS
    corners = triangles[prim_id[hit]].astype(np.float64)
    direction = rays[hit, 4:7]
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    normal *= -np.copysign(1.0, (normal * direction).sum(axis=1, keepdims=True))
    sphere = random.normal(size=normal.shape)
    bounce = normal + sphere / np.linalg.norm(sphere, axis=1, keepdims=True)
    bounce /= np.linalg.norm(bounce, axis=1, keepdims=True)
    origin = rays[hit, 0:3] + hits[hit, 0:1] * direction + normal * (OFFSET * float(np.abs(triangles).max()))
    return make_rays(origin, bounce)


def _seconds(question: Callable[[Floats], Any], rays: Floats) -> float:
    """Returns the CPU time of this thread in seconds."""
    start = time.thread_time()
    question(rays)
    return time.thread_time() - start


def _raced(
    names: tuple[str, str], ours: Callable[[Floats], Any], theirs: Callable[[Floats], Any], rays: Floats, rounds: int
) -> Race:
    """Returns what both take for the same rays. names: the kind of rays, and what is asked."""
    ours(rays[:4096])
    times = [(_seconds(ours, rays), _seconds(theirs, rays)) for _ in range(rounds)]
    rates = [len(rays) / statistics.median(column) / 1e6 for column in zip(*times, strict=True)]
    ratios = [their / our for our, their in times]
    return Race(
        kind=names[0],
        query=names[1],
        rays=len(rays),
        ours=rates[0],
        embree=rates[1],
        ratio=statistics.median(ratios),
        least=min(ratios),
        most=max(ratios),
    )


def _disagreement(kind: str, tracer: Tracer, embree: "Embree", rays: Floats) -> Disagreement:
    """Returns how many closest hits differ, and by how much t does."""
    hits, judge = tracer.closest_hit(rays), embree.closest_hit(rays)
    prim_id = hits.view(np.uint32)[:, 3]
    other = judge["primID"].astype(np.uint32)
    both = (prim_id != MISS) & (other != MISS)
    return Disagreement(
        kind=kind,
        rays=len(rays),
        is_hit=int(((prim_id == MISS) != (other == MISS)).sum()),
        triangle=int((prim_id[both] != other[both]).sum()),
        distance=float(np.abs(hits[both, 0] / judge["tfar"][both] - 1).max(initial=0.0)),
    )


def races(triangles: Floats, view: SquareView, side: int, rounds: int) -> Iterator[Race | Disagreement]:
    """Yields the races and differences of camera rays, then of diffuse ones. Raises `PeerError` without embreex.

    triangles: (t, 3, 3) float32.
    side: pixels of the square picture, a multiple of `TILE`.
    rounds: measurements of each.
    """
    try:
        from tracecore.peers.embree import Embree
    except ImportError as error:
        raise PeerError("embreex is not installed; it comes with the extra 'peers'") from error
    embree = Embree(triangles)
    random = np.random.default_rng(1)
    with open_tracer(triangles, device="cpu", threads=1) as tracer:
        camera = camera_rays(view, side, random)
        diffuse = diffuse_rays(triangles, camera, tracer.closest_hit(camera), random)
        for kind, rays in (("camera", camera), ("diffuse", diffuse)):
            yield _raced((kind, "closest"), tracer.closest_hit, embree.closest_hit, rays, rounds)
            yield _raced((kind, "any"), tracer.any_hit, embree.any_hit, rays, rounds)
            yield _disagreement(kind, tracer, embree, rays)
