"""This module reads the attributes of a mesh: numbers of its vertices or faces in a PLY file, which a texture
`mesh_attribute` names `vertex_...` or `face_...`."""

from pathlib import Path

import numpy as np

from scenes.files.source_file import read_bytes
from scenes.mesh_file.reader import MAX_FILE_BYTES
from scenes.model import Doubles
from scenes.ply.elements import read_elements
from scenes.ply.reader import POSITION, PlyMesh

#: The attribute of these names is called `color`.
COLORS = (("r", "g", "b"), ("red", "green", "blue"))
#: What the names of an attribute's numbers end in, of those with three and of those with one.
ENDINGS = (("_r", "_g", "_b"), ("_x", "_y", "_z"), ("_0", "_1", "_2"), ("_1", "_2", "_3"), *(
    (ending,) for ending in ("_r", "_x", "_0", "_1", "")
))  # fmt: skip


def attribute_colors(path: Path, name: str) -> Doubles | None:
    """Returns the colours (n, 3, 3), linear in 0..1, of the corners of each triangle of a file; None where it has no
    such attribute.

    name: `vertex_` or `face_`, and the attribute's own.
    """
    element, _, own = name.partition("_")
    if path.suffix.lower() != ".ply" or element not in ("vertex", "face"):
        return None
    header, columns, _ = read_elements(path, read_bytes(path, MAX_FILE_BYTES))
    reader = PlyMesh(header, columns)
    positions = reader.values("vertex", POSITION)
    names = [*(COLORS if own == "color" else ()), *(tuple(own + end for end in ends) for ends in ENDINGS)]
    found = next((values for each in names if (values := reader.values(element, each)) is not None), None)
    if positions is None or found is None:
        return None
    cut = reader.triangles(positions)
    rows = reader.indices[cut.corners] if element == "vertex" else np.repeat(cut.polygons[:, None], 3, axis=1)
    if rows.size and (rows.min() < 0 or rows.max() >= len(found)):
        return None
    return np.clip(np.nan_to_num(np.broadcast_to(found[rows], (*rows.shape, 3))), 0.0, 1.0)
