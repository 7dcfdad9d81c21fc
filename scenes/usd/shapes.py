"""This module makes the round shapes, boxes and planes of USD, each before the transform of its prim."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from pxr import Usd, UsdGeom

from scenes.meshes.curves import Turned
from scenes.meshes.shapes import arc, box, lathe, rectangle, sphere
from scenes.model import Doubles, Mesh
from scenes.usd.file import UsdFile

#: Which of the axes of a shape that turns about y become x, y and z, by the axis that it is to turn about.
AXES = {"X": [1, 2, 0], "Y": [0, 1, 2], "Z": [2, 0, 1]}
#: Heights and radii are at least so large.
LEAST_SIZE = 1e-9


def ball(radius: float) -> Turned:
    """Makes a sphere about the origin."""
    return Turned(np.zeros((2, 3)), radius, 2, lambda segments: sphere(np.zeros(3), radius, 0, segments))


def turned(profile: Callable[[int], Doubles], axis: str) -> Turned:
    """Makes what a profile makes that turns about an axis. profile: as of `lathe`, for a number of segments."""
    order = AXES.get(axis, AXES["Z"])
    coarse = profile(8)
    ends = np.zeros((2, 3))
    ends[:, 1] = coarse[0, 1], coarse[-1, 1]

    def make(segments: int) -> Mesh:
        mesh = lathe(profile(segments), segments, 0)
        normals = None if mesh.normals is None else mesh.normals[:, order]
        return replace(mesh, vertices=mesh.vertices[:, order], normals=normals, uvs=None, uv_triangles=None)

    return Turned(ends[:, order], float(coarse[:, 0].max()), 2, make)


def sphere_of(file: UsdFile, prim: Usd.Prim) -> Turned:
    return ball(file.number(UsdGeom.Sphere(prim).GetRadiusAttr(), 1.0, LEAST_SIZE))


def cube_of(file: UsdFile, prim: Usd.Prim) -> Mesh:
    """Makes a cube with sharp edges."""
    half = 0.5 * file.number(UsdGeom.Cube(prim).GetSizeAttr(), 2.0, LEAST_SIZE)
    return replace(box((-half,) * 3, (half,) * 3, 0), uvs=None, uv_triangles=None)


def cylinder_of(file: UsdFile, prim: Usd.Prim) -> Turned:
    """Makes a closed cylinder."""
    shape = UsdGeom.Cylinder(prim)
    half, radius = 0.5 * length(file, shape.GetHeightAttr(), 2.0), length(file, shape.GetRadiusAttr(), 1.0)
    profile = np.array([[0.0, -half], [radius, -half], [radius, half], [0.0, half]])
    return turned(lambda _: profile, file.text(shape.GetAxisAttr()))


def cone_of(file: UsdFile, prim: Usd.Prim) -> Turned:
    """Makes a closed cone whose tip is at the positive end of its axis."""
    shape = UsdGeom.Cone(prim)
    half, radius = 0.5 * length(file, shape.GetHeightAttr(), 2.0), length(file, shape.GetRadiusAttr(), 1.0)
    profile = np.array([[0.0, -half], [radius, -half], [0.0, half]])
    return turned(lambda _: profile, file.text(shape.GetAxisAttr()))


def capsule_of(file: UsdFile, prim: Usd.Prim) -> Turned:
    """Makes a cylinder with half a sphere at each end, which its height is without."""
    shape = UsdGeom.Capsule(prim)
    half, radius = 0.5 * length(file, shape.GetHeightAttr(), 1.0), length(file, shape.GetRadiusAttr(), 0.5)

    def profile(segments: int) -> Doubles:
        steps = max(segments // 4, 1)
        return np.concatenate(
            [arc((0.0, -half), radius, (-90.0, 0.0), steps), arc((0.0, half), radius, (0.0, 90.0), steps)]
        )

    return turned(profile, file.text(shape.GetAxisAttr()))


def plane_of(file: UsdFile, prim: Usd.Prim) -> Mesh:
    """Makes a rectangle across its axis, seen from the positive end of it."""
    shape = UsdGeom.Plane(prim)
    width, depth = length(file, shape.GetWidthAttr(), 2.0), length(file, shape.GetLengthAttr(), 2.0)
    along, across = {"X": ((0, 0, -1), (0, 1, 0)), "Y": ((1, 0, 0), (0, 0, -1)), "Z": ((1, 0, 0), (0, 1, 0))}.get(
        file.text(shape.GetAxisAttr()), ((1, 0, 0), (0, 1, 0))
    )
    first, second = width * np.array(along, np.float64), depth * np.array(across, np.float64)
    return rectangle(-0.5 * (first + second), first, second, 0)


def length(file: UsdFile, attribute: Usd.Attribute, default: float) -> float:
    """Returns a length above 0."""
    return file.number(attribute, default, LEAST_SIZE)


#: Makers of shapes by the type of the prim.
SHAPES: dict[str, Callable[[UsdFile, Usd.Prim], Mesh | Turned]] = {
    "Sphere": sphere_of,
    "Cube": cube_of,
    "Cylinder": cylinder_of,
    "Cone": cone_of,
    "Capsule": capsule_of,
    "Plane": plane_of,
}
