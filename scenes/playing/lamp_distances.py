"""This module says how strong lamps without falloff are, as files like AFF have them: at which distance from each lamp
its strength is meant.

Such a lamp of strength c gives a surface of reflectance kd that faces it a radiance of kd c cos, however far it is. A
point light of intensity I gives it (kd / pi) I cos / d^2. With I = pi c d^2, W/sr, both agree at one distance d. It is
chosen for each lamp so that all surfaces together get from it what the file says: the integral of cos over them is
d^2 times that of cos / d^2, which is their solid angle. So a lamp below a ceiling is no stronger than its light on all
surfaces says, and the ceiling, which fills no more than half of all directions, counts by half at most, however near.
What stands in between is not looked for; all sides count as facing the lamp.
"""

import numpy as np

from scenes.meshes.geometry import column_crosses, column_dots, column_lengths, column_normals, columns_of
from scenes.model import Doubles, Floats

#: Pairs of a triangle and a lamp that are looked at, and triangles for a lamp at least, if there are so many.
MAX_PAIRS, LEAST_TRIANGLES = 1_000_000, 256
#: Few triangles are divided until there are so many pieces.
LEAST_PIECES = 4096
#: Of more lamps than these, several in a row have one distance.
MOST_LAMPS = 1000


def lamp_distances(positions: Floats, lamps: Doubles) -> Doubles:
    """Returns the distance at which the strength of each lamp is meant: (m,). It is 1 where there is no surface.

    positions: (n, 3, 3), triangles. Very many are thinned out evenly.
    lamps: (m, 3).
    """
    group = max(1, -(-len(lamps) // MOST_LAMPS))
    chosen = lamps[::group]
    most = max(LEAST_TRIANGLES, MAX_PAIRS // max(1, len(chosen)))
    triangles = positions[:: max(1, -(-len(positions) // most))].astype(np.float64)
    while 0 < len(triangles) <= min(LEAST_PIECES, most) // 4:
        triangles = quartered(triangles)
    columns = columns_of(triangles)
    return np.repeat([distance_of(columns, lamp) for lamp in chosen], group)[: len(lamps)]


def distance_of(triangles: Doubles, lamp: Doubles) -> float:
    """Returns the distance at which the strength of one lamp is meant. triangles: (3, 3, n), see `columns_of`."""
    corners = triangles - lamp[:, None]
    middles = corners.sum(axis=0) / 3.0
    lengths = column_lengths(middles)
    normals = 0.5 * column_normals(corners)
    shares = np.abs(column_dots(normals, middles)) / np.where(lengths > 0.0, lengths, 1.0)
    angles = solid_angles(corners)
    facing, seen = float(shares.sum()), float(angles.sum())
    if facing > 0.0 and seen > 0.0:
        return float(np.sqrt(facing / seen))
    sizes = column_lengths(normals)  # all lie in planes through the lamp
    return float(np.average(lengths, weights=sizes)) if sizes.sum() > 0.0 else 1.0


def solid_angles(corners: Doubles) -> Doubles:
    """Returns the solid angles (n,) of triangles (3, 3, n) as seen from the origin.

    Van Oosterom, Strackee: The Solid Angle of a Plane Triangle, 1983.
    """
    a, b, c = corners
    along_a, along_b, along_c = map(column_lengths, corners)
    volume = np.abs(column_dots(a, column_crosses(b, c)))
    below = along_a * along_b * along_c
    below += column_dots(a, b) * along_c + column_dots(b, c) * along_a + column_dots(c, a) * along_b
    angles: Doubles = 2.0 * np.arctan2(volume, below)
    return angles


def quartered(triangles: Doubles) -> Doubles:
    """Returns triangles (n, 3, 3) cut in four at the middles of their sides: (4 n, 3, 3)."""
    a, b, c = triangles[:, 0], triangles[:, 1], triangles[:, 2]
    ab, bc, ca = 0.5 * (a + b), 0.5 * (b + c), 0.5 * (c + a)
    parts = ((a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca))
    return np.concatenate([np.stack(corners, axis=1) for corners in parts])
