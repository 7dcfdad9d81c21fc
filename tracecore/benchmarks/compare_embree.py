"""Race the CPU tracer against Embree on one core: `python -m tracecore.benchmarks.compare_embree [TRIANGLES.npy]`.

Embree is asked one ray at a time, in its robust mode, through embreex, which is part of the extra `peers`.
TRIANGLES.npy holds (t, 3, 3) floats; without it a room full of spheres is made. The rays are camera rays in tiles of
8 x 8 pixels and one diffuse bounce off what they hit. Rates are rays per second of the thread's own CPU time, medians
over alternating rounds.
"""

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tracecore import MISS, make_rays, open_tracer
from tracecore.dispatch.tracer import Tracer
from tracecore.rays import Floats
from tracecore.triangles import checked_triangles

if TYPE_CHECKING:
    from tracecore.peers.embree import Embree

TILE = 8
SAMPLES = 4

#: Bounces start this far off the surface, relative to the size of the scene: embreex has no t_min.
OFFSET = 1e-5

Doubles = npt.NDArray[np.float64]


@dataclass(frozen=True)
class View:
    """A camera: position, point looked at, world units; vertical field of view, degrees."""

    eye: Doubles
    at: Doubles
    angle: float


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


def camera_rays(view: View, side: int, random: np.random.Generator) -> Floats:
    """(side * side * SAMPLES, 8) rays through a square picture, jittered, tile by tile."""
    forward = view.at - view.eye
    forward = forward / np.linalg.norm(forward)
    right = np.cross(forward, (0.0, 1.0, 0.0) if abs(forward[1]) < 0.99 else (1.0, 0.0, 0.0))
    right /= np.linalg.norm(right)
    up = np.cross(right, forward)
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


def seconds(question: Callable[[Floats], Any], rays: Floats) -> float:
    """CPU time of this thread."""
    start = time.thread_time()
    question(rays)
    return time.thread_time() - start


def race(name: str, ours: Callable[[Floats], Any], theirs: Callable[[Floats], Any], rays: Floats, rounds: int) -> str:
    """One line: both rates and their ratio."""
    ours(rays[:4096])
    times = [(seconds(ours, rays), seconds(theirs, rays)) for _ in range(rounds)]
    rate = [len(rays) / statistics.median(column) / 1e6 for column in zip(*times, strict=True)]
    ratios = sorted(their / our for our, their in times)
    return (
        f"{name:16} {rate[0]:7.2f} {rate[1]:7.2f} Mrays/s   ratio {statistics.median(ratios):.3f} "
        f"({ratios[0]:.3f} to {ratios[-1]:.3f})"
    )


def disagreement(tracer: Tracer, embree: "Embree", rays: Floats) -> str:
    """One line: how many hits differ, and by how much t does."""
    hits, judge = tracer.closest_hit(rays), embree.closest_hit(rays)
    prim_id = hits.view(np.uint32)[:, 3]
    other = judge["primID"].astype(np.uint32)
    both = (prim_id != MISS) & (other != MISS)
    farthest = np.abs(hits[both, 0] / judge["tfar"][both] - 1).max(initial=0.0)
    return (
        f"{'':16} hit or miss differs for {((prim_id == MISS) != (other == MISS)).sum()} of {len(rays)}, the triangle "
        f"for {(prim_id[both] != other[both]).sum()}, t by at most {farthest:.1e} of its size"
    )


def main(arguments: list[str] | None = None) -> int:
    """Print the races. Returns the exit status: 2 where embreex is missing or a value is wrong."""
    parser = argparse.ArgumentParser(prog="python -m tracecore.benchmarks.compare_embree", description=__doc__)
    parser.add_argument("triangles", nargs="?", help="(t, 3, 3) floats as .npy (default: a room of spheres)")
    parser.add_argument("--eye", type=float, nargs=3, metavar="F", help="camera position (default: near a corner)")
    parser.add_argument("--at", type=float, nargs=3, metavar="F", help="point looked at (default: the centre)")
    parser.add_argument("--angle", type=float, default=60.0, help="vertical field of view, degrees (default: 60)")
    parser.add_argument("--side", type=int, default=512, help="pixels, a multiple of 8 (default: 512)")
    parser.add_argument("--rounds", type=int, default=7, help="measurements of each (default: 7)")
    chosen = parser.parse_args(arguments)
    triangles = checked_triangles(np.load(chosen.triangles)) if chosen.triangles else room_of_spheres()
    lower, upper = triangles.min(axis=(0, 1)).astype(np.float64), triangles.max(axis=(0, 1)).astype(np.float64)
    view = View(
        np.array(chosen.eye or lower + (upper - lower) * 0.9), np.array(chosen.at or (lower + upper) / 2), chosen.angle
    )
    try:
        from tracecore.peers.embree import Embree
    except ImportError:
        print("embreex is not installed; it comes with the extra 'peers'", file=sys.stderr)
        return 2
    embree = Embree(triangles)
    random = np.random.default_rng(1)
    with open_tracer(triangles, device="cpu", threads=1) as tracer:
        primary = camera_rays(view, chosen.side, random)
        diffuse = diffuse_rays(triangles, primary, tracer.closest_hit(primary), random)
        print(f"{len(triangles)} triangles {'':8} ours  Embree")
        for name, rays in (("camera", primary), ("diffuse", diffuse)):
            print(race(f"{name} closest", tracer.closest_hit, embree.closest_hit, rays, chosen.rounds))
            print(race(f"{name} any", tracer.any_hit, embree.any_hit, rays, chosen.rounds))
            print(disagreement(tracer, embree, rays))
    return 0


if __name__ == "__main__":
    sys.exit(main())
