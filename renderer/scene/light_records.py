"""This module packs lights for loops over shadow rays: a short record for each light, and how one is chosen."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from renderer.scene.photon_scene import Records, in_lines
from shaders.lights import (
    LIGHT_AREA,
    LIGHT_EDGE_1,
    LIGHT_EDGE_2,
    LIGHT_KIND,
    LIGHT_NORMAL,
    LIGHT_POSITION,
    LIGHT_STRENGTH,
    POINT,
    TRIANGLE,
    LightArrays,
    kinds_with,
)

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
    """Returns the records of lights."""
    rows, probability = lights.rows, lights.probability
    is_point = rows[:, LIGHT_KIND] == POINT
    is_plain, is_chosen = is_point | (rows[:, LIGHT_KIND] == TRIANGLE), probability > 0.0
    records = in_lines(len(rows), LIGHT_RECORD)
    records["position"] = rows[:, LIGHT_POSITION : LIGHT_POSITION + 3]
    for name, column in (("edge_1", LIGHT_EDGE_1), ("edge_2", LIGHT_EDGE_2), ("normal", LIGHT_NORMAL)):
        records[name] = np.where(is_point[:, None], 0.0, rows[:, column : column + 3])
    share = np.where(is_chosen, probability, 1.0)
    area = np.where(is_plain & ~is_point, rows[:, LIGHT_AREA], 1.0)
    records["flux"] = rows[:, LIGHT_STRENGTH : LIGHT_STRENGTH + 3] * (area / share)[:, None]
    records["density"] = np.where(is_point, 0.0, probability / np.where(area > 0.0, area, 1.0))
    records["density"][~is_plain] = ONE_BY_ONE
    kinds = 0
    for kind in kinds_with("arrive"):
        own = rows[:, LIGHT_KIND] == kind.number
        records["density"][own] = -kind.number
        for name, values in kind.record(rows[own], share[own]).items():
            records[name][own] = values
        kinds |= int((own & is_chosen).any()) << int(kind.number)
    return LightRecords(
        records=records,
        cumulative=lights.cumulative.astype(np.float32),
        has_plain=bool((is_plain & is_chosen).any()),
        has_others=bool(((records["density"] == ONE_BY_ONE) & is_chosen).any()),
        kinds=kinds,
    )
