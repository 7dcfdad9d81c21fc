"""This module packs lights for loops over shadow rays: a short record for each light, and how one is chosen.

Eye paths take each ball of triangles that glow for one light. Photons leave the triangles, and rays meet them. What
shadow rays choose among, and what the density of a ray that meets a lamp is found by, are these lamps.
"""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from renderer.scene.light_tree import NO_TREE, LightTree
from renderer.scene.photon_scene import STRENGTHS, Records, in_lines, light_corners
from shaders.float32 import Doubles, Ints
from shaders.lights.kind import LightArrays
from shaders.lights.point import POINT
from shaders.lights.registry import kinds_with
from shaders.lights.row import (
    LIGHT_AREA,
    LIGHT_EDGE_1,
    LIGHT_EDGE_2,
    LIGHT_KIND,
    LIGHT_NORMAL,
    LIGHT_OWN,
    LIGHT_POSITION,
    LIGHT_STRENGTH,
    Row,
)
from shaders.lights.sphere import sphere_row
from shaders.lights.triangle import TRIANGLE
from tracecore.arrays import pieces
from tracecore.compilation.unit_calls import need

#: A light as shadow rays see it: a line of the cache. position, edge_1, edge_2, normal: of a triangle; of a point there
#: are no edges and no normal. flux: what the light brings to a plane across its rays, at a distance of 1 and straight
#: ahead, over the probability of the choice: W. density: of the choice and of a point of the triangle, per area; 0 of a
#: point. Of a kind with an `arrive` the fields are what that reads, and density is the kind's number times -1. Of any
#: other kind density is ONE_BY_ONE, and the record says nothing else.
LIGHT_RECORD = np.dtype(
    [
        ("position", "<f4", 3),
        ("edge_1", "<f4", 3),
        ("edge_2", "<f4", 3),
        ("normal", "<f4", 3),
        ("flux", "<f4", 3),
        ("density", "<f4"),
    ]
)

#: The density of lights that are sampled one by one: it is that of no kind with an `arrive`.
ONE_BY_ONE = np.float32(-TRIANGLE)

#: What units are for that sample them (`tracecore.compilation.unit_calls.need`).
LAMPS_ONE_BY_ONE = "lamps that are sampled one by one"

#: A ball has so many triangles, at least, and as much of a sphere's area, so that its outline is round.
LEAST_TRIANGLES, LEAST_AREA = 500, 0.99

#: Corners are so near a sphere, as a share of its radius, and as one of their coordinates, which are float32.
TOLERANCE, ROUNDING = 1e-4, 2.0**-22

#: Triangles by whose corners a sphere is found.
FITTED = 256


class LightRecords(NamedTuple):
    """Holds what loops over shadow rays read of the lights.

    records: (n,) LIGHT_RECORD.
    cumulative: (n,) float32, running sums of the probabilities.
    has_plain: whether some light that may be chosen is a point or a triangle.
    has_others: whether some is ONE_BY_ONE.
    kinds: the kinds with an `arrive` of which some light may be chosen: for each the bit of its number.
    tree: by which they are chosen where they are many.
    """

    records: Records
    cumulative: npt.NDArray[np.float32]
    has_plain: bool
    has_others: bool
    kinds: int
    tree: LightTree


def pack_light_records(lights: LightArrays, tree: LightTree = NO_TREE) -> LightRecords:
    """Returns the records of lights, of which balls are one; those of lights with a tree do not have its chances."""
    records = in_lines(len(lights.rows), LIGHT_RECORD)
    for piece in pieces(len(records)):
        some, rows, probability = records[piece], lights.rows[piece], lights.probability[piece]
        columns = np.ascontiguousarray(rows[:, :LIGHT_OWN].T)
        numbers = columns[LIGHT_KIND]
        is_point, is_triangle = numbers == POINT, numbers == TRIANGLE
        share, area = np.where(probability > 0.0, probability, 1.0), np.where(is_triangle, columns[LIGHT_AREA], 1.0)
        density = np.where(is_point, 0.0, probability / np.where(area > 0.0, area, 1.0))
        for name, column in (("position", LIGHT_POSITION), ("edge_1", LIGHT_EDGE_1), ("edge_2", LIGHT_EDGE_2)):
            some[name] = columns[column : column + 3].T
        some["normal"] = columns[LIGHT_NORMAL : LIGHT_NORMAL + 3].T
        some["flux"] = (columns[LIGHT_STRENGTH : LIGHT_STRENGTH + 3] * (area / share)).T
        some["density"] = np.where(is_point | is_triangle, density, ONE_BY_ONE)
        for kind in kinds_with("arrive"):
            own = numbers == kind.number
            if own.any():
                some["density"][own] = -kind.number
                for name, values in kind.record(rows[own], share[own]).items():
                    some[name][own] = values
    densities = records["density"][lights.probability > 0.0]
    has_others = bool((densities == ONE_BY_ONE).any())
    if has_others:
        need(LAMPS_ONE_BY_ONE)
    return LightRecords(
        records=records,
        cumulative=lights.cumulative.astype(np.float32),
        has_plain=bool((densities >= 0.0).any()),
        has_others=has_others,
        kinds=sum(1 << int(kind.number) for kind in kinds_with("arrive") if (densities == -kind.number).any()),
        tree=tree,
    )


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
