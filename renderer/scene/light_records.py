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
)

#: A light as shadow rays see it: a line of the cache. position, edge_1, edge_2, normal: of a triangle; of a point there
#: are no edges and no normal. flux: what the light brings to a plane across its rays, at a distance of 1 and straight
#: ahead, over the probability of the choice: W. density: of the choice and of a point of the triangle, per area; 0 of a
#: point, and -1 of a light of another kind, whose record says nothing else.
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


class LightRecords(NamedTuple):
    """Holds what loops over shadow rays read of the lights.

    records: (n,) LIGHT_RECORD.
    cumulative: (n,) float32, running sums of the probabilities.
    has_others: whether some light is neither a point nor a triangle.
    """

    records: Records
    cumulative: npt.NDArray[np.float32]
    has_others: bool


def pack_light_records(lights: LightArrays) -> LightRecords:
    """Returns the records of lights."""
    rows, probability = lights.rows, lights.probability
    is_point = rows[:, LIGHT_KIND] == POINT
    is_other = ~is_point & (rows[:, LIGHT_KIND] != TRIANGLE)
    records = in_lines(len(rows), LIGHT_RECORD)
    records["position"] = rows[:, LIGHT_POSITION : LIGHT_POSITION + 3]
    for name, column in (("edge_1", LIGHT_EDGE_1), ("edge_2", LIGHT_EDGE_2), ("normal", LIGHT_NORMAL)):
        records[name] = np.where(is_point[:, None], 0.0, rows[:, column : column + 3])
    share = np.where(probability > 0.0, probability, 1.0)
    area = np.where(is_point | is_other, 1.0, rows[:, LIGHT_AREA])
    records["flux"] = rows[:, LIGHT_STRENGTH : LIGHT_STRENGTH + 3] * (area / share)[:, None]
    records["density"] = np.where(is_point, 0.0, probability / np.where(area > 0.0, area, 1.0))
    records["density"][is_other] = -1.0
    has_others = bool((is_other & (probability > 0.0)).any())
    return LightRecords(records, lights.cumulative.astype(np.float32), has_others)
