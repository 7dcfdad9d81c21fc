"""This module makes the shapes that a scene file can name: it turns the values of their keys into triangles, or into
round shapes that get theirs by what is seen of them."""

from collections.abc import Callable
from typing import Any

import numpy as np

from scenes.curves import Ball, Curve, Tube
from scenes.document import corner_indices, join_meshes
from scenes.keys.place import Place
from scenes.model import Doubles, Indices, Mesh
from scenes.shapes import rectangle

Build = Callable[[dict[str, Any], int, Place], Mesh | Curve]


def sphere_of(values: dict[str, Any], material: int, _place: Place) -> Mesh | Curve:
    """Makes a sphere."""
    radius = -values["radius"] if values["inside"] else values["radius"]
    ball = Ball(np.array(values["center"], np.float64), radius, material)
    return ball if values["segments"] is None else ball.mesh(values["segments"])


def cone_of(values: dict[str, Any], material: int, place: Place) -> Curve:
    """Makes the side of a cone."""
    return Tube(ends_of(values, place), (values["base_radius"], values["apex_radius"]), material, values["inside"])


def cylinder_of(values: dict[str, Any], material: int, place: Place) -> Curve:
    """Makes the side of a cylinder."""
    return Tube(ends_of(values, place), (values["radius"], values["radius"]), material, values["inside"])


def ends_of(values: dict[str, Any], place: Place) -> Doubles:
    """Returns the two ends (2, 3): base and apex."""
    ends = np.array([values["base"], values["apex"]])
    if not np.linalg.norm(ends[1] - ends[0]) > 0.0:
        raise place.inside("apex").error("expected base and apex at different points")
    return ends


def box_of(values: dict[str, Any], material: int, _place: Place) -> Mesh:
    """Makes a box of six rectangles."""
    edges = np.diag(values["size"])
    lower = np.array(values["center"]) - 0.5 * edges.sum(axis=0)
    sides = []
    for axis in range(3):
        first, second = edges[(axis + 1) % 3], edges[(axis + 2) % 3]
        if values["inside"]:
            first, second = second, first
        sides.append(rectangle(lower, second, first, material))
        sides.append(rectangle(lower + edges[axis], first, second, material))
    return join_meshes(sides)


def rectangle_of(values: dict[str, Any], material: int, _place: Place) -> Mesh:
    """Makes a rectangle."""
    first, second = values["edges"]
    return rectangle(values["corner"], first, second, material)


def triangles_of(values: dict[str, Any], material: int, place: Place) -> Mesh:
    """Makes a mesh of triangles that are in the file itself."""
    triangles = indices_of(values, "triangles", len(values["vertices"]), place)
    kinds: dict[str, Any] = {}
    for name, indices in (("normals", "normal_triangles"), ("uvs", "uv_triangles")):
        if values[name] is None:
            if values[indices] is not None:
                raise place.inside(indices).error(f"expected {name} too")
            continue
        own = values if values[indices] is not None else {**values, indices: triangles}
        kinds |= {name: values[name], indices: indices_of(own, indices, len(values[name]), place)}
        if len(kinds[indices]) != len(triangles):
            message = f"expected as many as there are triangles, {len(triangles)}, got {len(kinds[indices])}"
            raise place.inside(indices).error(message)
    return Mesh(vertices=values["vertices"], triangles=triangles, material=material, **kinds)


def indices_of(values: dict[str, Any], name: str, count: int, place: Place) -> Indices:
    """Returns indices (n, 3) into so many values; where the file gives none, each three values in a row make a
    triangle."""
    indices: Indices | None = values[name]
    if indices is None:
        if count % 3:
            raise place.error(f"expected the key {name!r}, or vertices by threes, got {count} of them")
        return corner_indices(count // 3)
    wrong = np.flatnonzero(indices.max(axis=1) >= count)
    if len(wrong):
        index = int(wrong[0])
        message = f"index {indices[index].max()}, but there are {count} (counted from 0)"
        raise place.inside(name).item(index).error(message)
    return indices


BUILDERS: dict[str, Build] = {
    "sphere": sphere_of,
    "cone": cone_of,
    "cylinder": cylinder_of,
    "box": box_of,
    "rectangle": rectangle_of,
    "triangles": triangles_of,
}
