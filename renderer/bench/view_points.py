"""View points to measure rays from are a scene's cameras, and points inside it that are drawn by code.

Means over several view points stand for a scene better than one picture does, as in Günther et al. 2007 and in Lier et
al. 2018. A point is inside if rays in all directions mostly hit something, not too near and mostly from the front. From
there one looks to where it is farthest. Of all such points those are taken that are far apart and see most of what the
others do not.
"""

import argparse
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count

import numpy as np
import numpy.typing as npt

from renderer.bench.ray_generators import unit
from renderer.errors import UsageError
from renderer.run.halton import radical_inverse
from renderer.scene.packed_scene import pack_camera
from renderer.scene.render_context import TracerChoice, context_of
from scenes.model import Camera, Snapshot
from scenes.views.default_view import bounding_sphere
from scenes.views.viewing import look_at, triple
from tracecore.dispatch.tracer import Tracer
from tracecore.rays import MISS, Floats, make_rays

#: A triangle or a cell.
Thing = int | tuple[int, ...]

Doubles = npt.NDArray[np.float64]

#: Stands for all cameras of a scene.
ALL = "all"

#: Points that are tried, rays from each to all sides, and points at most whose views are looked at.
CANDIDATES = 4096
RAYS_AROUND = 128
MOST_LOOKS = 1024

#: Share of these rays that hit something: in a room, or, where there are too few such points, above open ground.
ENCLOSED = (0.9, 0.4)

#: Least share of hits from the front. Those inside of things see backs.
FRONTS = 0.5

#: No surface is nearer than this share of the scene's diagonal.
ELBOW_ROOM = 0.01

#: How far a view may look up or down, and how wide the way is whose length counts: cosines to up, and to its middle.
STEEPEST = 0.35
VIEW_CONE = math.cos(math.radians(30.0))

#: Rays that find what a view shows, per row and per column, and cells along the scene's diagonal, to count their hits.
LOOK_PIXELS = (16, 12)
CELLS = 48


@dataclass(frozen=True, kw_only=True)
class ViewPoint:
    """This is a camera and its name."""

    name: str
    camera: Camera


def chosen_views(arguments: argparse.Namespace, snapshot: Snapshot) -> list[ViewPoint]:
    """Returns the view points that --views names; without it, or where a command does not have it, the camera alone.

    arguments: --seed and --threads are used as by `view_points`, which says what it raises.
    """
    views = getattr(arguments, "views", None)
    if views is None:
        return [ViewPoint(name=arguments.camera or next(iter(snapshot.cameras), "camera"), camera=snapshot.camera)]
    return view_points(snapshot, *views, seed=arguments.seed, threads=arguments.threads)


def view_points(
    snapshot: Snapshot, cameras: Sequence[str], drawn: int, *, seed: int, threads: int | None
) -> list[ViewPoint]:
    """Returns cameras in the order in which they are named, then so many drawn ones as view1, view2 and so on.

    The CPU finds the points for these, whatever device is measured.

    cameras: names, `ALL` for all that the scene has.
    threads: of the CPU, None for all cores.

    Raises `SceneError` for a name that the scene does not have, `UsageError` where it has no room inside.
    """
    names = [known for name in cameras for known in (snapshot.cameras if name == ALL else (name,))]
    own = [ViewPoint(name=name, camera=snapshot.seen_by(name).camera) for name in dict.fromkeys(names)]
    free_names = (name for k in count(1) if (name := f"view{k}") not in snapshot.cameras)
    if drawn == 0:
        return own
    with context_of(snapshot, TracerChoice(device="cpu", threads=threads), load_seconds=0.0) as context:
        made = drawn_cameras(snapshot, context.tracer, drawn, seed)
    return own + [ViewPoint(name=next(free_names), camera=camera) for camera in made]


def drawn_cameras(snapshot: Snapshot, tracer: Tracer, number: int, seed: int) -> list[Camera]:
    """Returns so many cameras inside the scene, the same for the same seed whatever the tracer.

    Field of view and horizon are those of the snapshot's camera, of which the axis of the world counts that is next to
    its up. Raises `UsageError` where too few points are inside.
    """
    around = surroundings(snapshot, tracer, candidates_in(snapshot.positions, seed))
    inside = around.inside(2.0 * bounding_sphere(snapshot.positions)[1], number)[: max(MOST_LOOKS, number)]
    if inside.size < number:
        raise UsageError(
            f"--views {number}: only {inside.size} places inside the scene were found; name cameras instead, or 'all'"
        )
    up = next_axis(snapshot.camera.up)
    cameras = [
        _camera_at(snapshot.camera, around.positions[i], direction, up)
        for i, direction in zip(inside, around.farthest(inside, up), strict=True)
    ]
    seen = list(things_seen(snapshot, tracer, cameras))
    return [cameras[i] for i in spread(around.positions[inside], seen, number)]


def candidates_in(positions: Floats, seed: int) -> Doubles:
    """Returns Halton's points, (CANDIDATES, 3), in the box around all triangles, shifted at random."""
    corners = positions.reshape(-1, 3).astype(np.float64)
    lower, upper = corners.min(axis=0), corners.max(axis=0)
    points = np.stack([radical_inverse(np.arange(CANDIDATES), base) for base in (2, 3, 5)], axis=1)
    return lower + (points + np.random.default_rng((seed, 5)).random(3)) % 1.0 * (upper - lower)


@dataclass(frozen=True, kw_only=True, eq=False)
class Surroundings:
    """Holds what rays to all sides hit.

    positions: (n, 3) float64, where the rays start.
    depth: (n, RAYS_AROUND) float64, infinite where nothing is hit.
    is_front: (n, RAYS_AROUND), whether a surface's front is hit.
    """

    positions: Doubles
    depth: Doubles
    is_front: npt.NDArray[np.bool_]

    def inside(self, diagonal: float, number: int) -> npt.NDArray[np.intp]:
        """Returns the indices of the points inside the scene."""
        hits = np.isfinite(self.depth)
        fits = (self.depth.min(axis=1) >= ELBOW_ROOM * diagonal) & (
            self.is_front.sum(axis=1) >= FRONTS * hits.sum(axis=1)
        )
        found = np.zeros(0, np.intp)
        for enclosed in ENCLOSED:
            found = np.flatnonzero(fits & (hits.mean(axis=1) >= enclosed))
            if found.size >= number:
                break
        return found

    def farthest(self, chosen: npt.NDArray[np.intp], up: Doubles) -> Doubles:
        """Returns (m, 3) directions in which surfaces are farthest, on average over a cone; a hole is no view."""
        directions = all_directions()
        ahead = np.flatnonzero(np.abs(directions @ up) <= STEEPEST)
        is_near = directions[ahead] @ directions.T >= VIEW_CONE
        depth = np.where(np.isfinite(self.depth[chosen]), self.depth[chosen], 0.0)
        return directions[ahead[(depth @ (is_near / is_near.sum(axis=1, keepdims=True)).T).argmax(axis=1)]]


def surroundings(snapshot: Snapshot, tracer: Tracer, positions: Doubles) -> Surroundings:
    """Returns what rays from each of these points, (n, 3), hit."""
    directions = np.tile(all_directions(), (len(positions), 1))
    hits = tracer.closest_hit(make_rays(np.repeat(positions, RAYS_AROUND, axis=0), directions))
    prim_ids = hits.view(np.uint32)[:, 3]
    found = prim_ids != MISS
    corners = snapshot.positions[prim_ids[found]]
    is_front = np.zeros(len(hits), np.bool_)
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    is_front[found] = (normals * directions[found]).sum(axis=1) < 0.0
    shape = (len(positions), RAYS_AROUND)
    return Surroundings(
        positions=positions, depth=hits[:, 0].astype(np.float64).reshape(shape), is_front=is_front.reshape(shape)
    )


def all_directions() -> Doubles:
    """Returns (RAYS_AROUND, 3) unit vectors, evenly over the sphere: a spiral with the golden angle (Vogel: A Better
    Way to Construct the Sunflower Head, 1979).
    """
    k = np.arange(RAYS_AROUND)
    z, angle = 1.0 - (2.0 * k + 1.0) / RAYS_AROUND, math.pi * (3.0 - math.sqrt(5.0)) * k
    radius = np.sqrt(1.0 - z * z)
    return np.stack([radius * np.cos(angle), radius * np.sin(angle), z], axis=1)


def next_axis(vector: Sequence[float]) -> Doubles:
    """Returns the axis, with its sign, that is next to a vector."""
    axis = int(np.abs(vector).argmax())
    return np.eye(3)[axis] * np.sign(vector[axis])


def _camera_at(like: Camera, eye: Doubles, direction: Doubles, up: Doubles) -> Camera:
    """Returns a pinhole camera with the field of view of another camera."""
    forward, upward = look_at(eye, eye + direction, up)
    return replace(
        like,
        eye=triple(eye),
        forward=triple(forward),
        up=triple(upward),
        near=0.0,
        aperture=0.0,
        focus=0.0,
        height=None,
    )


def things_seen(snapshot: Snapshot, tracer: Tracer, cameras: Sequence[Camera]) -> Iterator[set[Thing]]:
    """Yields, for each camera, the triangles that its rays hit, and the cells of a grid in which that is."""
    width, height = LOOK_PIXELS
    rows, columns = np.divmod(np.arange(width * height), width)
    x, y = (2.0 * columns + 1.0) / width - 1.0, (2.0 * rows + 1.0) / height - 1.0
    side = 2.0 * bounding_sphere(snapshot.positions)[1] / CELLS
    for camera in cameras:
        arrays = pack_camera(camera, width, height)
        rays = make_rays(
            np.broadcast_to(arrays.eye, (len(x), 3)),
            unit(arrays.forward + x[:, None] * arrays.right + y[:, None] * arrays.down),
        )
        hits = tracer.closest_hit(rays)
        found = np.isfinite(hits[:, 0])
        points = rays[found, :3] + hits[found, :1] * rays[found, 4:7]
        yield {*map(tuple, np.floor(points / side).astype(int).tolist()), *hits.view(np.uint32)[found, 3].tolist()}


def spread(positions: Doubles, seen: Sequence[set[Thing]], number: int) -> list[int]:
    """Returns indices, one after another: of the point with the most new things, times the distance
    to what is taken.
    """
    taken: list[int] = []
    known: set[Thing] = set()
    distance = np.ones(len(positions))
    for _ in range(number):
        news = np.array([1 + len(things - known) for things in seen])
        best = int((news * distance).argmax())
        apart = np.linalg.norm(positions - positions[best], axis=1)
        distance = np.minimum(distance, apart) if taken else apart
        known |= seen[best]
        taken.append(best)
    return taken
