"""This module makes the shapes that a scene file can name: it turns the values of their keys into triangles, or into
round shapes that get theirs by what is seen of them."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from scenes.keys.place import Place
from scenes.meshes.curves import Ball, Curve, Tube
from scenes.meshes.geometry import corner_indices, rewound
from scenes.meshes.shapes import arc, box, curve, grid, lathe, rectangle
from scenes.model import Doubles, Indices, Mesh

#: The most points of a profile, and how far apart those are at most that are the same one.
MAX_PROFILE, SAME = 1000, 1e-12

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


def box_of(values: dict[str, Any], material: int, place: Place) -> Mesh:
    """Makes a box."""
    center, half = np.array(values["center"]), 0.5 * np.array(values["size"])
    if values["bevel"] > half.min():
        raise place.inside("bevel").error(f"expected at most half of the shortest edge, {half.min():g}")
    mesh = box(center - half, center + half, material, values["bevel"])
    return inside_out(mesh) if values["inside"] else mesh


def inside_out(mesh: Mesh) -> Mesh:
    """Returns a mesh with normals and texture coordinates whose front is its back."""
    assert mesh.normals is not None
    return replace(rewound(mesh), normals=-mesh.normals)


def lathe_of(values: dict[str, Any], material: int, place: Place) -> Mesh:
    """Makes a surface of revolution."""
    profile = profile_of(values["profile"], place.inside("profile"))
    if profile[:, 0].min() < -SAME:
        raise place.inside("profile").error(f"expected no point left of the axis, got {profile[:, 0].min():g}")
    if values["closed"]:
        profile = np.concatenate([profile, profile[:1]])
    return solid(lathe(profile, values["segments"], material, values["crease"]), place)


def sheet_of(values: dict[str, Any], material: int, place: Place) -> Mesh:
    """Makes a sheet, a profile drawn out along x."""
    profile = profile_of(values["profile"], place.inside("profile"))
    sides = np.array([-0.5, 0.5]) * values["width"]
    return solid(grid([[[x, y, z] for x in sides] for z, y in profile], material, values["crease"]), place)


def solid(mesh: Mesh, place: Place) -> Mesh:
    """Returns a mesh of a profile. Raises SceneFileError where it has no triangles."""
    if not len(mesh.triangles):
        raise place.inside("profile").error("expected points that make a surface")
    return mesh


def profile_of(pieces: list[Any], place: Place) -> Doubles:
    """Returns the points (n, 2) of a profile. Where a piece begins at the point before it, that counts once."""
    points: Doubles = np.zeros((0, 2))
    for index, piece in enumerate(pieces):
        own = piece_points(piece)
        if len(points) and np.allclose(points[-1], own[0], SAME, SAME):
            own = own[1:]
        points = np.concatenate([points, own])
        if len(points) > MAX_PROFILE:
            raise place.item(index).error(f"over {MAX_PROFILE} points up to here")
    if len(points) < 2:
        raise place.error("expected at least two different points")
    return points


def piece_points(piece: Any) -> Doubles:
    """Returns the points (n, 2) of a piece of a profile: a point, an arc or a curve."""
    if not isinstance(piece, dict):
        return np.array([piece])
    if "curve" in piece:
        return curve(piece["curve"], piece["steps"])
    return arc(piece["arc"], piece["radius"], (piece["from"], piece["to"]), piece["steps"])


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
    "lathe": lathe_of,
    "sheet": sheet_of,
    "triangles": triangles_of,
}
