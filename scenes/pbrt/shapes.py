"""This module turns shapes into meshes: one function for each type, found by its name in `SHAPES`.

A mesh has v downward. Its front is where the shape's normal points, before any transform.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from scenes.mesh_file import read_mesh_document
from scenes.meshes.curves import LEAST_SEGMENTS, Turned
from scenes.meshes.geometry import areas, double_area_normals
from scenes.meshes.loop_subdivision import loop_surface
from scenes.meshes.mesh_validation import without_nan
from scenes.meshes.revolution import inverted, revolved
from scenes.model import Doubles, Indices, Mesh
from scenes.pbrt.files import PbrtFiles
from scenes.pbrt.parameters import NORMALS, POINTS, Parameters
from scenes.pbrt.strands import strand
from scenes.playing.tessellation import GLOWING_SEGMENTS

#: Triangles of a surface that is subdivided, at most.
MAX_SUBDIVIDED = 1 << 20
#: A shape goes at least so far around, in degrees.
LEAST_ANGLE = 0.1
#: A patch is bent where its fourth corner is farther from the plane of the others than this share of its diagonals.
FLATNESS = 1e-4
#: Types of texture coordinates, old ones too.
UVS = ("point2", "vector2", "float")
#: Texture coordinates of the corners of triangles that have none, v downward.
OWN_UVS = np.array([[0.0, 1.0], [1.0, 1.0], [1.0, 0.0]])


@dataclass(frozen=True, eq=False)
class ShapeMeshes:
    """Holds the meshes of a shape, or what is round. lamps: how many lights it is where it shines, each of the power
    that a light has."""

    meshes: Sequence[Mesh | Turned]
    lamps: int = 1


class PbrtShapes:
    """Makes shapes. A mesh file is read once, however many shapes show it."""

    def __init__(self, files: PbrtFiles) -> None:
        self.files = files
        self._read: dict[Path, list[Mesh]] = {}

    def body(self, kind: str, parameters: Parameters) -> ShapeMeshes:
        """Makes the shape of a type."""
        if kind not in SHAPES:
            raise parameters.error(f"unknown shape {kind[:80]!r}; there are: {', '.join(SHAPES)}")
        return SHAPES[kind](self, parameters)

    def of_file(self, path: Path) -> list[Mesh]:
        """Returns the meshes of a PLY file."""
        if path not in self._read:
            document = read_mesh_document(path, self.files.notes, has_no_looks=True)
            self._read[path] = [part.shape for part in document.parts if isinstance(part.shape, Mesh)]
        return self._read[path]


def with_own_uvs(mesh: Mesh) -> Mesh:
    """Returns a mesh that has texture coordinates: those of every triangle are alike where a file has none."""
    if mesh.uvs is not None:
        return mesh
    corners = np.broadcast_to(np.arange(3, dtype=np.int32), (len(mesh.triangles), 3))
    return replace(mesh, uvs=OWN_UVS, uv_triangles=corners)


def faced(mesh: Mesh) -> Mesh:
    """Returns a mesh whose triangles are wound as its normals say, which say where the front is."""
    if mesh.normals is None or mesh.normal_triangles is None:
        return mesh
    outward = mesh.normals[mesh.normal_triangles].sum(axis=1)
    against = np.einsum("ni,ni->n", double_area_normals(mesh.vertices[mesh.triangles]), outward) < 0.0
    if not against.any():
        return mesh
    order = np.where(against[:, None], [2, 1, 0], [0, 1, 2])

    def turned(corners: Indices | None) -> Indices | None:
        return None if corners is None else np.take_along_axis(corners, order, axis=1)

    return replace(
        mesh,
        triangles=np.take_along_axis(mesh.triangles, order, axis=1),
        normal_triangles=turned(mesh.normal_triangles),
        uv_triangles=turned(mesh.uv_triangles),
    )


def triangle_mesh(shapes: PbrtShapes, parameters: Parameters) -> ShapeMeshes:
    points, indices = corners_of(parameters, 3)
    mesh = with_rows(shapes, parameters, Mesh(vertices=points, triangles=indices, material=0))
    parameters.skip("S", "faceIndices")
    return ShapeMeshes([mesh], len(indices))


def corners_of(parameters: Parameters, width: int) -> tuple[Doubles, Indices]:
    """Takes points (n, 3) and the indices (m, width) of what has them for corners."""
    points = parameters.rows("P", *POINTS)
    if points is None:
        raise parameters.error(f'expected "point3 P" of a {parameters.kind}')
    indices = parameters.indices("indices", width, len(points))
    if indices is None:
        if len(points) != width:
            raise parameters.error(f'expected "integer indices" of a {parameters.kind} of {len(points)} points')
        indices = np.arange(width, dtype=np.int32)[None]
    if not len(indices):
        raise parameters.error(f"expected some indices of a {parameters.kind}")
    return points, indices


def with_rows(shapes: PbrtShapes, parameters: Parameters, mesh: Mesh) -> Mesh:
    """Returns a mesh with the normals and texture coordinates that are given for its points."""
    path, notes = parameters.place.path, shapes.files.notes
    normals, uvs = parameters.rows("N", *NORMALS, has_nan=True), parameters.rows("uv", *UVS, has_nan=True)
    for name, rows, width in (("N", normals, 3), ("uv", uvs, 2)):
        if rows is not None and rows.size != width * len(mesh.vertices):
            got = f"which are {len(mesh.vertices)}, got {rows.size / width:g}"
            raise parameters.error(f"expected as many items of {name} as of P, {got}")
    if normals is not None:
        normals = without_nan(normals, "normal", path, notes)
        mesh = replace(mesh, normals=normals, normal_triangles=mesh.triangles)
    if uvs is not None:
        uvs = without_nan(uvs.reshape(-1, 2), "texture coordinate", path, notes)
        mesh = replace(mesh, uvs=np.stack([uvs[:, 0], 1.0 - uvs[:, 1]], axis=-1), uv_triangles=mesh.triangles)
    return mesh


def bilinear_mesh(shapes: PbrtShapes, parameters: Parameters) -> ShapeMeshes:
    """Reads bilinear patches, each of which becomes two triangles."""
    points, patches = corners_of(parameters, 4)
    first, right, above, last = (points[patches[:, corner]] for corner in range(4))
    normals = np.cross(right - first, above - first)
    size = np.linalg.norm(last - first, axis=1) + np.linalg.norm(above - right, axis=1)
    height = np.abs(np.einsum("ni,ni->n", normals, last - first))
    if (height > FLATNESS * size * np.linalg.norm(normals, axis=1)).any():
        shapes.files.tell(parameters.place, "a bilinearmesh is bent; each of its patches becomes two flat triangles")
    triangles = patches[:, [0, 1, 3, 0, 3, 2]].reshape(-1, 3)
    mesh = with_rows(shapes, parameters, Mesh(vertices=points, triangles=triangles, material=0))
    if mesh.uvs is None:
        uvs = np.array([[0.0, 1.0], [1.0, 1.0], [0.0, 0.0], [1.0, 0.0]])
        corners = np.tile(np.array([[0, 1, 3], [0, 3, 2]], np.int32), (len(patches), 1))
        mesh = replace(mesh, uvs=uvs, uv_triangles=corners)
    parameters.skip("faceIndices")
    return ShapeMeshes([mesh], len(patches))


def ply_mesh(shapes: PbrtShapes, parameters: Parameters) -> ShapeMeshes:
    """Reads a PLY file."""
    item = parameters.find("filename", "string")
    if item is None:
        raise parameters.error('expected "string filename" of a plymesh')
    path = shapes.files.path(item.text(), item.place)
    if not path.name.lower().endswith((".ply", ".ply.gz")):
        raise item.error(f"expected the name of a .ply file, got {path.name!r}")
    if "displacement" in parameters.named:
        shapes.files.tell(parameters.place, "the displacement of a plymesh counts for nothing")
    parameters.skip("displacement", "edgelength")
    meshes = shapes.of_file(path)
    return ShapeMeshes(meshes, sum(len(mesh.triangles) for mesh in meshes))


def sphere(_: PbrtShapes, parameters: Parameters) -> ShapeMeshes:
    """Makes a sphere with its poles on z, or a zone of one."""
    radius = positive(parameters, "radius", 1.0)
    ends = [parameters.number(name, default) for name, default in (("zmin", -radius), ("zmax", radius))]
    low, high = sorted(min(max(end / radius, -1.0), 1.0) for end in ends)
    top, span = math.acos(high), math.acos(low) - math.acos(high)

    def profile(segments: int) -> tuple[Doubles, Doubles]:
        polar = top + span * np.linspace(0.0, 1.0, max(1, math.ceil(0.5 * segments * span / math.pi - 1e-9)) + 1)
        outward = np.stack([np.sin(polar), np.cos(polar)], axis=-1)
        return outward, outward

    return turned(parameters, radius, 2, profile)


def cylinder(_: PbrtShapes, parameters: Parameters) -> ShapeMeshes:
    """Makes an open cylinder about z."""
    radius = positive(parameters, "radius", 1.0)
    low, high = sorted(parameters.number(name, default) for name, default in (("zmin", -1.0), ("zmax", 1.0)))
    profile = np.array([[1.0, high / radius], [1.0, low / radius]]), np.array([[1.0, 0.0], [1.0, 0.0]])
    return turned(parameters, radius, 1, lambda _: profile)


def disk(_: PbrtShapes, parameters: Parameters) -> ShapeMeshes:
    """Makes a disk or a ring across z, seen from +z."""
    radius, height = positive(parameters, "radius", 1.0), parameters.number("height", 0.0)
    inner = parameters.number("innerradius", 0.0, low=0.0, high=radius)
    profile = np.array([[inner / radius, height / radius], [1.0, height / radius]]), np.array([[0.0, 1.0], [0.0, 1.0]])
    return turned(parameters, radius, 1, lambda _: profile)


def turned(
    parameters: Parameters, radius: float, bends: int, profile: Callable[[int], tuple[Doubles, Doubles]]
) -> ShapeMeshes:
    """Returns a profile turned about z as far as the parameters say.

    radius: what the profile is multiplied with.
    bends: in how many directions what comes of it is curved.
    profile: from the segments of a whole turn to points and normals (r, 2), as of `revolved`, from where v, downward,
        is 0 to where it is 1.
    """
    angle = math.radians(min(max(parameters.number("phimax", 360.0), LEAST_ANGLE), 360.0))

    def mesh(segments: int) -> Mesh:
        points, normals = profile(segments)
        own = max(1, math.ceil(segments * angle / (2.0 * math.pi) - 1e-9))
        made = revolved(points, normals, np.linspace(0.0, 1.0, len(points)), own, angle)
        return replace(made, vertices=radius * made.vertices)

    if not len(mesh(LEAST_SEGMENTS).triangles):
        raise parameters.error(f"expected a {parameters.kind} of some area")
    ends = np.zeros((2, 3))  # of a part of a ball its middle
    if bends == 1:
        ends[:, 2] = radius * profile(LEAST_SEGMENTS)[0][[0, -1], 1]
    return ShapeMeshes([Turned(ends, radius, bends, mesh)])


def subdivision_surface(shapes: PbrtShapes, parameters: Parameters) -> ShapeMeshes:
    """Reads a control mesh of a smooth surface, whose front is where its corners are seen clockwise, as in pbrt."""
    points, indices = corners_of(parameters, 3)
    asked = int(parameters.number("levels", 3.0, low=0.0, high=100.0))
    levels = next(level for level in range(asked, -1, -1) if level == 0 or len(indices) * 4**level <= MAX_SUBDIVIDED)
    if levels < asked:
        why = f"more would make over {MAX_SUBDIVIDED} triangles"
        shapes.files.tell(parameters.place, f"a loopsubdiv is divided {levels} times: {why}")
    parameters.skip("scheme")
    return ShapeMeshes([inverted(loop_surface(points, indices, levels))], len(indices) * 4**levels)


def curve(shapes: PbrtShapes, parameters: Parameters) -> ShapeMeshes:
    """Reads a curve of some width, such as a hair."""
    return ShapeMeshes([strand(shapes.files, parameters)])


def positive(parameters: Parameters, name: str, default: float) -> float:
    """Takes a length above 0."""
    value = parameters.number(name, default)
    if not value > 0.0:
        raise parameters.error(f"expected a {name} above 0, got {value:g}")
    return value


def world_area(shapes: Sequence[Mesh | Turned], matrix: Doubles) -> float:
    """Returns the area of meshes under a (4, 4) affine map, and of round shapes as they are where they glow."""
    meshes = [shape.mesh(GLOWING_SEGMENTS) if isinstance(shape, Turned) else shape for shape in shapes]
    return sum(float(areas((mesh.vertices @ matrix[:3, :3].T)[mesh.triangles]).sum()) for mesh in meshes)


SHAPES: dict[str, Callable[[PbrtShapes, Parameters], ShapeMeshes]] = {
    "trianglemesh": triangle_mesh,
    "bilinearmesh": bilinear_mesh,
    "plymesh": ply_mesh,
    "sphere": sphere,
    "cylinder": cylinder,
    "disk": disk,
    "loopsubdiv": subdivision_surface,
    "curve": curve,
}
