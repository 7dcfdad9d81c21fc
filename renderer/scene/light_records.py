"""This module packs lights for loops over shadow rays: a short record for each light, and how one is chosen."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from renderer.scene.photon_scene import Records, in_lines
from shaders.float32 import Doubles
from shaders.lights import (
    LIGHT_AREA,
    LIGHT_EDGE_1,
    LIGHT_EDGE_2,
    LIGHT_KIND,
    LIGHT_NORMAL,
    LIGHT_OWN,
    LIGHT_POSITION,
    LIGHT_STRENGTH,
    POINT,
    TRIANGLE,
    LightArrays,
    kinds_with,
)
from tracecore.arrays import pieces
from tracecore.compilation.side_by_side import need

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

#: What units are for that sample them (`tracecore.compilation.side_by_side.need`).
LAMPS_ONE_BY_ONE = "lamps that are sampled one by one"


class LightRecords(NamedTuple):
    """Holds what loops over shadow rays read of the lights.

    records: (n,) LIGHT_RECORD.
    cumulative: (n,) float32, running sums of the probabilities.
    has_plain: whether some light that may be chosen is a point or a triangle.
    has_others: whether some is ONE_BY_ONE.
    kinds: the kinds with an `arrive` of which some light may be chosen: for each the bit of its number.
    """

    records: Records
    cumulative: npt.NDArray[np.float32]
    has_plain: bool
    has_others: bool
    kinds: int


def pack_light_records(lights: LightArrays) -> LightRecords:
    """Returns the records of lights, of which balls are one."""
    records = in_lines(len(lights.rows), LIGHT_RECORD)
    for piece in pieces(len(records)):
        _set_records(records[piece], lights.rows[piece], lights.probability[piece])
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
    )


def _set_records(records: Records, rows: Doubles, probability: Doubles) -> None:
    """Writes the records of some rows."""
    columns = np.ascontiguousarray(rows[:, :LIGHT_OWN].T)
    kinds = columns[LIGHT_KIND]
    is_point, is_triangle = kinds == POINT, kinds == TRIANGLE
    share, area = np.where(probability > 0.0, probability, 1.0), np.where(is_triangle, columns[LIGHT_AREA], 1.0)
    density = np.where(is_point, 0.0, probability / np.where(area > 0.0, area, 1.0))
    for name, column in (("position", LIGHT_POSITION), ("edge_1", LIGHT_EDGE_1), ("edge_2", LIGHT_EDGE_2)):
        records[name] = columns[column : column + 3].T
    records["normal"] = columns[LIGHT_NORMAL : LIGHT_NORMAL + 3].T
    records["flux"] = (columns[LIGHT_STRENGTH : LIGHT_STRENGTH + 3] * (area / share)).T
    records["density"] = np.where(is_point | is_triangle, density, ONE_BY_ONE)
    for kind in kinds_with("arrive"):
        own = kinds == kind.number
        if own.any():
            records["density"][own] = -kind.number
            for name, values in kind.record(rows[own], share[own]).items():
                records[name][own] = values
