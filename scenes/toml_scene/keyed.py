"""This module reads the keyed triangles of a scene file: their corners at each time, in the file itself
or in mesh files.
"""

from typing import Any

import numpy as np

from scenes.document import KeyedTriangles
from scenes.keys.place import Place
from scenes.meshes.geometry import corner_arrays, unit
from scenes.model import Doubles, Mesh
from scenes.motion.transforms import IDENTITY
from scenes.toml_scene.mesh_files import MeshFiles
from scenes.toml_scene.shapes import indices_of
from scenes.toml_scene.tracks import check_order

#: The values of a mesh file's keys where only its name is given.
PLAIN_FILE = {"mesh": None, "units": None, "up": None}


def keyed_of(values: dict[str, Any], material: int, files: MeshFiles, place: Place) -> KeyedTriangles:
    """Makes triangles whose corners are given at several times."""
    keys, place = values["keys"], place.inside("keys")
    check_order([key["time"] for key in keys], place)
    corners: list[tuple[Doubles, Doubles]] = []
    for index, key in enumerate(keys):
        here = place.item(index)
        if key["file"] is None:
            corners.append(own_corners(key, values["triangles"], files, here))
        else:
            corners.append(file_corners(key, material, files, here))
        first, last = len(corners[0][0]), len(corners[-1][0])
        if first != last:
            raise here.error(f"expected {first} triangles as at the first key, got {last}")
    return KeyedTriangles(
        times=np.array([key["time"] for key in keys]),
        positions=np.array([positions for positions, _ in corners]),
        normals=np.array([normals for _, normals in corners]),
        material=material,
    )


def own_corners(key: dict[str, Any], triangles: Any, files: MeshFiles, place: Place) -> tuple[Doubles, Doubles]:
    """Returns positions and normals, both (n, 3, 3), of vertices in the scene file; normals of length 0 where it has
    none."""
    vertices, normals = key["vertices"], key["normals"]
    if vertices is None:
        raise place.error("expected one of vertices and file, got neither")
    indices = indices_of({"triangles": triangles}, "triangles", len(vertices), place)
    files.count(len(indices), place)
    if normals is None:
        return vertices[indices], np.zeros((len(indices), 3, 3))
    if len(normals) != len(vertices):
        raise place.inside("normals").error(f"expected {len(vertices)}, one for each vertex, got {len(normals)}")
    return vertices[indices], unit(normals)[indices]


def file_corners(key: dict[str, Any], material: int, files: MeshFiles, place: Place) -> tuple[Doubles, Doubles]:
    """Returns the positions and the unit normals of all triangles of a mesh file, both (n, 3, 3)."""
    for name in ("vertices", "normals"):
        if key[name] is not None:
            raise place.inside(name).error("expected none beside file, which has its own")
    positions, normals = [], []
    for piece in files.pieces(key | PLAIN_FILE, material, place):
        if not isinstance(piece.shape, Mesh):
            raise place.inside("file").error("expected a mesh at one time, got keyed triangles")
        corners = corner_arrays(piece.shape, IDENTITY if piece.matrix is None else piece.matrix)
        positions.append(corners[0])
        normals.append(corners[1])
    return np.concatenate(positions), np.concatenate(normals)
