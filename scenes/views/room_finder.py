"""This module finds out whether triangles are the walls of a room, by rays and by their winding.

From within a room rays to all sides hit the fronts of triangles, from within a solid body their backs. What has walls
of some thickness, as a house or a cup, encloses a volume above 0 by the divergence theorem, triangle by triangle, and
is looked at from outside.
"""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from scenes.meshes.geometry import double_area_normals
from scenes.model import Doubles, Floats

#: Enclosed volumes of a closed and of an open room at most, as shares of the box around them.
CLOSED_VOLUME, OPEN_VOLUME = 0.0, -0.2
#: Shares of the rays from most places in them that hit fronts.
CLOSED_FRONTS, OPEN_FRONTS = 0.9, 0.6
#: Triangles that rays are traced against, the largest, and pairs of rays and triangles at a time.
MAX_TRIANGLES = 40_000
PAIRS = 1_000_000
#: Rays from a place to all sides, and the share of them that hit something where it is closed in.
RAYS = 96
CLOSED_SHARE = 0.97
#: Where rooms are looked for, as shares of the box around all: its middle first.
CANDIDATES = ((0.5, 0.5, 0.5), (0.3, 0.5, 0.3), (0.7, 0.5, 0.3), (0.3, 0.5, 0.7), (0.7, 0.5, 0.7))


@dataclass(frozen=True, eq=False)
class Room:
    """Describes what is around a place.

    center: (3,), the place.
    distances: (RAYS,) to what is around it in `sphere_directions`, infinite where nothing is.
    fronts: the share of these directions in which that shows its front.
    """

    center: Doubles
    distances: Doubles
    fronts: float

    @property
    def is_closed(self) -> bool:
        """Returns whether no light to speak of comes in."""
        return float(np.isfinite(self.distances).mean()) >= CLOSED_SHARE

    @property
    def opening(self) -> Doubles:
        """Returns the mean (3,) of the directions in which there is nothing; zeros where there are none."""
        free = sphere_directions()[~np.isfinite(self.distances)]
        return free.mean(axis=0) if len(free) else np.zeros(3)


def find_room(positions: Floats) -> Room | None:
    """Returns the room that triangles (n, 3, 3) are the walls of, closed or with an opening; None where they are
    none."""
    volume = signed_volume_share(positions)
    if volume > CLOSED_VOLUME:
        return None
    lower, upper = positions.min(axis=(0, 1)).astype(np.float64), positions.max(axis=(0, 1)).astype(np.float64)
    rooms = [surroundings(place, positions) for place in lower + np.array(CANDIDATES) * (upper - lower)]
    fronts = float(np.median([room.fronts for room in rooms]))
    if fronts < (OPEN_FRONTS if volume <= OPEN_VOLUME else CLOSED_FRONTS):
        return None
    inside = [room for room in rooms if room.fronts >= fronts]
    return max(inside, key=lambda room: float(room.distances.min()))


def signed_volume_share(positions: Floats) -> float:
    """Returns the volume that triangles (n, 3, 3) enclose, below 0 where they face inward, as a share of the box around
    them; 0 of a flat box."""
    lower, upper = positions.min(axis=(0, 1)).astype(np.float64), positions.max(axis=(0, 1)).astype(np.float64)
    box = float(np.prod(upper - lower))
    corners = positions.astype(np.float64) - 0.5 * (lower + upper)
    volume = float(np.sum(corners[:, 0] * double_area_normals(corners))) / 6.0
    return volume / box if box > 0.0 else 0.0


def surroundings(place: Doubles, positions: Floats) -> Room:
    """Returns what is around a place (3,) among triangles (n, 3, 3); of very many the largest count."""
    distances, fronts = first_hits(place, sphere_directions(), positions)
    return Room(place, distances, float(fronts.mean()))


def sphere_directions() -> Doubles:
    """Returns RAYS unit directions, evenly over the sphere (Gonzalez: Measurement of Areas on a Sphere Using Fibonacci
    and Latitude-Longitude Lattices, 2010)."""
    index = np.arange(RAYS) + 0.5
    height, turn = 1.0 - 2.0 * index / RAYS, index * math.pi * (1.0 + math.sqrt(5.0))
    around = np.sqrt(1.0 - height**2)
    return np.stack([around * np.cos(turn), height, around * np.sin(turn)], axis=-1)


def first_hits(place: Doubles, directions: Doubles, positions: Floats) -> tuple[Doubles, npt.NDArray[np.bool_]]:
    """Returns how far it is (m,) from a place along directions (m, 3) to triangles (n, 3, 3), infinite past all, and
    whether their fronts are hit."""
    corners = largest(positions).astype(np.float64) - place
    distances, fronts = np.full(len(directions), np.inf), np.zeros(len(directions), np.bool_)
    step = max(1, PAIRS // len(directions))
    for start in range(0, len(corners), step):
        nearer, front = hits_from_origin(directions, corners[start : start + step])
        fronts = np.where(nearer < distances, front, fronts)
        distances = np.minimum(nearer, distances)
    return distances, fronts


def hits_from_origin(directions: Doubles, corners: Doubles) -> tuple[Doubles, npt.NDArray[np.bool_]]:
    """Returns the distances (m,) of the nearest of triangles (n, 3, 3) along directions (m, 3) from the origin, and
    whether their fronts are hit.

    The test is that of Moeller and Trumbore: Fast, Minimum Storage Ray/Triangle Intersection, 1997, of both sides.
    """
    first, second = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    normals, away = np.cross(first, second), -corners[:, 0]
    with np.errstate(all="ignore"):  # rays along a triangle divide by 0, and hit nothing
        facing = -(directions @ normals.T)
        u = -(directions @ np.cross(away, second).T) / facing
        v = -(directions @ np.cross(first, away).T) / facing
        t = np.sum(away * normals, axis=-1) / facing
        hits = (u >= 0.0) & (v >= 0.0) & (u + v <= 1.0) & (t > 0.0)
    t = np.where(hits, t, np.inf)
    nearest = t.argmin(axis=1)
    rows = np.arange(len(directions))
    return t[rows, nearest], hits[rows, nearest] & (facing[rows, nearest] > 0.0)


def largest(positions: Floats) -> Floats:
    """Returns the MAX_TRIANGLES largest of triangles (n, 3, 3), or all."""
    if len(positions) <= MAX_TRIANGLES:
        return positions
    sizes = np.linalg.norm(double_area_normals(positions.astype(np.float64)), axis=-1)
    return positions[np.argpartition(sizes, -MAX_TRIANGLES)[-MAX_TRIANGLES:]]
