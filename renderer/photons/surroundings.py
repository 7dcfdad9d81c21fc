"""This module finds the box around all that a light can light, for each light that is outside of it."""

import numpy as np
import numpy.typing as npt

from renderer.scene.projection import ENDLESS
from shaders.float32 import Bools, Doubles
from shaders.lights.kind import Extent
from shaders.lights.registry import numbers_of
from shaders.lights.row import LIGHT_EDGE_1, LIGHT_EDGE_2, LIGHT_KIND, LIGHT_NORMAL, LIGHT_POSITION
from shaders.surface import SurfaceArrays
from tracecore.arrays import pieces

#: What is less than this share of the scene's size in front of a surface, or outside of a box, does not count as that.
CLEARANCE = 1e-6

#: Each surface outside looks at all others that are: of more than so many, none is aimed.
MOST_OUTER_SURFACES = 4096


def boxes_around(surfaces: SurfaceArrays, rows: Doubles, shines: Bools, is_square: Bools) -> Doubles:
    """Returns the corners of the box around all that each light can light: (n, 2, 3).

    It is endless for lights that are not outside of theirs: whose photons go wherever they shine.

    rows: (n, LIGHT_COLUMNS) of lights, of which two triangles that make a parallelogram are one.
    shines: (n,) whether a light has any power.
    is_square: (n,) whether it is a parallelogram.
    """
    boxes = np.broadcast_to(ENDLESS, (len(rows), 2, 3)).copy()
    if len(surfaces.positions) == 0:
        return boxes
    whole = box_of(surfaces.positions)
    is_place, is_surface, is_around = (shines & np.isin(rows[:, LIGHT_KIND], numbers_of(extent)) for extent in Extent)
    positions = rows[:, LIGHT_POSITION : LIGHT_POSITION + 3]
    boxes[is_around | (is_place & are_beyond(positions[:, None], whole))] = whole
    if is_surface.any():
        own = slice(None) if is_surface.all() else is_surface  # rows of a million are not copied
        boxes[own] = boxes_of_surfaces(surfaces, whole, rows[own], is_square[own])
    return boxes


def boxes_of_surfaces(surfaces: SurfaceArrays, whole: Doubles, rows: Doubles, is_square: Bools) -> Doubles:
    """Returns the boxes of lights that are surfaces: (n, 2, 3). What does not glow is in all of them, and of what
    glows, a light cannot light what lies behind it or in its plane. whole: the box around all surfaces."""
    boxes = np.broadcast_to(ENDLESS, (len(rows), 2, 3)).copy()
    glows = surfaces.materials["emission"].max(axis=1) > 0.0
    dark = box_of(surfaces.positions[~glows[surfaces.material_ids]])
    margin = CLEARANCE * float(np.ptp(whole, axis=0).max())
    near = widened(dark, margin)
    beyond = [are_beyond(corners_of(rows[piece], is_square[piece]), near) for piece in pieces(len(rows))]
    outer = np.flatnonzero(np.concatenate(beyond))
    if len(outer) > MOST_OUTER_SURFACES:
        return boxes
    others, normals = corners_of(rows[outer], is_square[outer]), rows[outer, LIGHT_NORMAL : LIGHT_NORMAL + 3]
    for light, own, normal in zip(outer, others, normals, strict=True):
        in_front = ((others - own[0]) @ normal).max(axis=1) > margin
        seen = box_of(np.concatenate([others[in_front].reshape(-1, 3), dark[np.isfinite(dark).all(axis=1)]]))
        if np.isfinite(seen).all() and are_beyond(own[None], widened(seen, margin))[0]:
            boxes[light] = seen
    return boxes


def corners_of(rows: Doubles, is_square: Bools) -> Doubles:
    """Returns the corners of triangles and parallelograms: (n, 4, 3), of which the last is one twice of a triangle."""
    corner, edge_1, edge_2 = (rows[:, column : column + 3] for column in (LIGHT_POSITION, LIGHT_EDGE_1, LIGHT_EDGE_2))
    last = corner + edge_1 + np.where(is_square[:, None], edge_2, 0.0)
    return np.stack([corner, corner + edge_1, corner + edge_2, last], axis=1)


def box_of(points: npt.NDArray[np.floating]) -> Doubles:
    """Returns the corners (2, 3) of the box around points (..., 3); around none they are infinite."""
    columns = np.ascontiguousarray(points.reshape(-1, 3).T)  # over which NumPy is sixty times as fast as over rows
    return np.stack([columns.min(axis=1, initial=np.inf), columns.max(axis=1, initial=-np.inf)]).astype(np.float64)


def widened(box: Doubles, margin: float) -> Doubles:
    """Returns a box that reaches so much farther to all sides."""
    return box + [[-margin], [margin]]


def are_beyond(points: Doubles, box: Doubles) -> Bools:
    """Returns whether some of the points (n, m, 3) of each light are outside of a box: (n,) bool."""
    beyond: Bools = ((points < box[0]) | (points > box[1])).any(axis=(1, 2))
    return beyond
