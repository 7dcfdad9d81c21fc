"""This module writes the scenes that are made here to files, as small as they can be with the same bits."""

from dataclasses import replace
from importlib import import_module

import numpy as np

from scenes.document import Document
from scenes.model import Doubles, Indices, Mesh
from scenes.shipped import FOLDER
from scenes.toml_scene.writer import write

SCENES = ("kitchen", "museum_hall", "robots", "street")


def write_scene(name: str) -> None:
    """Makes a scene and writes its files."""
    scene = import_module(f"scenes.shipped.scripts.{name}").scene()
    write(replace(scene, document=compact(scene.document)), FOLDER / f"{name.replace('_', '-')}.toml")


def compact(document: Document) -> Document:
    """Returns a document whose meshes hold each vertex, normal and texture coordinate once."""
    meshes = {id(part.shape): smaller(part.shape) for part in document.parts if isinstance(part.shape, Mesh)}
    return replace(document, parts=[replace(part, shape=meshes[id(part.shape)]) for part in document.parts])


def smaller(mesh: Mesh) -> Mesh:
    """Returns a mesh of which each value is there once."""
    vertices, triangles = distinct(mesh.vertices, mesh.triangles)
    found = Mesh(vertices=vertices, triangles=triangles, material=mesh.material)
    if mesh.normals is not None and mesh.normal_triangles is not None:
        normals, normal_triangles = distinct(mesh.normals, mesh.normal_triangles)
        found = replace(found, normals=normals, normal_triangles=normal_triangles)
    if mesh.uvs is not None and mesh.uv_triangles is not None:
        uvs, uv_triangles = distinct(mesh.uvs, mesh.uv_triangles)
        found = replace(found, uvs=uvs, uv_triangles=uv_triangles)
    return found


def distinct(values: Doubles, triangles: Indices) -> tuple[Doubles, Indices]:
    """Returns the distinct rows of values (n, k) that triangles (m, 3) have, told apart by their bits, and the
    triangles with the indices of these."""
    corners = np.ascontiguousarray(values[triangles.reshape(-1)])
    rows = corners.view(f"V{corners.itemsize * corners.shape[1]}").ravel()
    _, first, index = np.unique(rows, return_index=True, return_inverse=True)
    return corners[first], index.reshape(triangles.shape).astype(np.int32)
