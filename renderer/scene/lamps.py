"""This module finds balls among the triangles that glow: eye paths take each of them for one light.

Photons leave the triangles, and rays meet them. What shadow rays choose among, and what the density of a ray that meets
a lamp is found by, are the lamps.
"""

import math

import numpy as np

from renderer.scene.photon_scene import STRENGTHS, light_corners
from shaders.float32 import Doubles, Ints
from shaders.lights import LIGHT_AREA, LIGHT_KIND, LIGHT_NORMAL, TRIANGLE, LightArrays, Row, sphere_row

#: A ball has so many triangles, at least, and as much of a sphere's area, so that its outline is round.
LEAST_TRIANGLES, LEAST_AREA = 500, 0.99

#: Corners are so near a sphere, as a share of its radius, and as one of their coordinates, which are float32.
TOLERANCE, ROUNDING = 1e-4, 2.0**-22

#: Triangles by whose corners a sphere is found.
FITTED = 256


def join_spheres(lights: LightArrays, objects: Ints) -> tuple[LightArrays, Ints]:
    """Returns the lights of a scene with each ball of triangles as one, and which of them each light is in, (n,).

    objects: (n,), the object that a light is of, or -1.
    """
    borders = np.flatnonzero(np.diff(objects, prepend=-2, append=-2))
    begins = np.ones(len(objects), np.bool_)
    found: list[tuple[int, Row]] = []
    for run in np.flatnonzero(np.diff(borders) >= LEAST_TRIANGLES):
        start, stop = int(borders[run]), int(borders[run + 1])
        row = sphere_of(lights.rows[start:stop])
        if row is not None:
            begins[start + 1 : stop] = False
            found.append((start, row))
    lamp_of = (np.cumsum(begins) - 1).astype(np.int32)
    if not found:
        return lights, lamp_of
    starts = np.flatnonzero(begins)
    rows = lights.rows[starts]
    for start, row in found:
        rows[lamp_of[start]] = row
    lamps = lights._replace(
        rows=rows,
        probability=np.add.reduceat(lights.probability, starts),
        cumulative=lights.cumulative[np.append(starts[1:], len(objects)) - 1],
        outer=lamp_of[lights.outer].astype(np.int64),
    )
    return lamps, lamp_of


def sphere_of(rows: Doubles) -> Row | None:
    """Returns the row of the ball that triangles are, or None where they are none that glows outward, and alike."""
    some = rows[:: -(-len(rows) // FITTED)]
    middle = fitted_middle(light_corners(some).transpose(0, 2, 1).reshape(-1, 3))
    radius = radius_of(some, middle) and radius_of(rows, middle)
    if radius == 0.0:
        return None
    outward = (light_corners(rows) - middle[:, None]).sum(axis=0) * rows[:, LIGHT_NORMAL : LIGHT_NORMAL + 3].T
    area = float(rows[:, LIGHT_AREA].sum())
    is_whole = LEAST_AREA < area / (4.0 * math.pi * radius * radius) <= 1.0
    is_even = (rows[:, [LIGHT_KIND, *STRENGTHS]] == [TRIANGLE, *rows[0, STRENGTHS]]).all()
    if not is_whole or not is_even or (outward.sum(axis=0)[rows[:, LIGHT_AREA] > 0.0] <= 0.0).any():
        return None
    (x, y, z), (red, green, blue) = middle.tolist(), rows[0, STRENGTHS].tolist()
    return sphere_row((x, y, z), radius, area, (red, green, blue))


def radius_of(rows: Doubles, middle: Doubles) -> float:
    """Returns the radius of the sphere about a middle on which all corners of triangles are, or 0 where they are not:
    but for rounding."""
    corners = light_corners(rows)
    offsets = corners - middle[:, None]
    distances = np.sqrt((offsets * offsets).sum(axis=1))
    largest = float(distances.max())
    slack = TOLERANCE * largest + ROUNDING * float(np.abs(corners).max())
    return largest if distances.min() > largest - slack else 0.0


def fitted_middle(points: Doubles) -> Doubles:
    """Returns the middle (3,) of the sphere that is nearest to points (n, 3) by the squares of its radii."""
    offsets = points - points[0]
    squares = (offsets * offsets).sum(axis=1)
    found: Doubles = np.linalg.lstsq(np.column_stack([2.0 * offsets, np.ones(len(offsets))]), squares, rcond=None)[0]
    return points[0] + found[:3]
