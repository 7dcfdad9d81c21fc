"""This module finds balls among the triangles that glow: eye paths take each of them for one light.

Photons leave the triangles, and rays meet them. What shadow rays choose among, and what the density of a ray that meets
a lamp is found by, are the lamps.
"""

import numpy as np
import numpy.typing as npt

from renderer.scene.photon_scene import STRENGTHS, light_corners
from shaders.float32 import Doubles, Ints
from shaders.lights import LIGHT_AREA, LIGHT_KIND, LIGHT_NORMAL, TRIANGLE, LightArrays, Row, sphere_row

#: A ball has so many triangles, at least, and as much of a sphere's area, so that its outline is round.
LEAST_TRIANGLES, LEAST_AREA = 500, 0.99

#: Corners are so near a sphere, as a share of its radius.
TOLERANCE = 1e-4

#: Corners by which a sphere is found.
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
    middle, radius = fitted_sphere(rows[:: -(-len(rows) // FITTED)])
    if not radius > 0.0:
        return None
    corners = light_corners(rows) - middle[:, None]
    distances = np.sqrt((corners * corners).sum(axis=1))
    area, largest = rows[:, LIGHT_AREA], float(distances.max())
    outward = (corners.sum(axis=0) * rows[:, LIGHT_NORMAL : LIGHT_NORMAL + 3].T).sum(axis=0)
    is_even = (rows[:, [LIGHT_KIND, *STRENGTHS]] == [TRIANGLE, *rows[0, STRENGTHS]]).all()
    is_round = distances.min() > (1.0 - TOLERANCE) * largest and LEAST_AREA < area.sum() / sphere_area(largest) <= 1.0
    if not is_even or not is_round or (outward[area > 0.0] <= 0.0).any():
        return None
    (x, y, z), (red, green, blue) = middle.tolist(), rows[0, STRENGTHS].tolist()
    return sphere_row((x, y, z), largest, float(area.sum()), (red, green, blue))


def sphere_area(radius: float) -> float:
    """Returns the area of a sphere."""
    return 4.0 * np.pi * radius * radius


def fitted_sphere(rows: Doubles) -> tuple[npt.NDArray[np.float64], float]:
    """Returns middle (3,) and radius of the sphere through the corners of some triangles; its radius is 0 where they
    are on none."""
    points = light_corners(rows).transpose(0, 2, 1).reshape(-1, 3)
    offsets = points - points[0]
    squares = (offsets * offsets).sum(axis=1)
    found = np.linalg.lstsq(np.column_stack([2.0 * offsets, np.ones(len(offsets))]), squares, rcond=None)[0]
    distances = np.linalg.norm(offsets - found[:3], axis=1)
    is_sphere = np.ptp(distances) < TOLERANCE * distances.max()
    return points[0] + found[:3], float(distances.max()) if is_sphere else 0.0
