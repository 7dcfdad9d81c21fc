"""This module flattens indexed meshes to the arrays of a snapshot, and measures triangles."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np
import numpy.typing as npt

from scenes.model import Doubles, Floats, Indices, Mesh

#: Coordinates, in a file and in the world, reach so far, so that areas and squares of lengths are finite in float32.
MAX_COORDINATE = 1e9

#: The area of a triangle that has one, as a share of the square of its longest side; and triangles that are looked at
#: at a time.
LEAST_AREA, RUN = 1e-12, 4096


def unit(vectors: Doubles) -> Doubles:
    """Divides vectors by their length, along the last axis; those without length stay zero. No size over- or
    underflows."""
    size = reduce(np.maximum, np.abs(np.moveaxis(vectors, -1, 0)))[..., None]
    scaled = vectors / np.where(size > 0.0, size, 1.0)
    length = np.sqrt(reduce(np.add, np.moveaxis(scaled * scaled, -1, 0)))[..., None]
    return scaled / np.where(length > 0.0, length, 1.0)


def columns_of(corners: Doubles | Floats) -> Doubles:
    """Returns triangles (n, 3, 3) as (3, 3, n) float64, corner by axis. Over such columns NumPy is far faster."""
    return np.ascontiguousarray(corners.transpose(1, 2, 0), np.float64)


def column_normals(columns: Doubles) -> Doubles:
    """Returns what `double_area_normals` does, (3, n), of triangles as `columns_of` has them."""
    return column_crosses(columns[1] - columns[0], columns[2] - columns[0])


def column_crosses(left: Doubles, right: Doubles) -> Doubles:
    """Returns cross products, (3, n), of vectors (3, n)."""
    (a, b, c), (d, e, f) = left, right
    return np.stack([b * f - c * e, c * d - a * f, a * e - b * d])


def column_dots(left: Doubles, right: Doubles) -> Doubles:
    """Returns dot products, (...), of vectors (3, ...), summed in one order on all machines; none is -0.0."""
    x, y, z = left * right
    dots: Doubles = 0.0 + x + y + z
    return dots


def column_lengths(vectors: Doubles) -> Doubles:
    """Returns the lengths, (n,), of vectors (3, n)."""
    return np.sqrt(column_dots(vectors, vectors))


def double_area_normals(positions: Doubles) -> Doubles:
    """Returns (v1 - v0) x (v2 - v0), (n, 3) float64: geometric normals, each as long as twice the area.

    positions: (n, 3, 3).
    """
    return np.ascontiguousarray(column_normals(columns_of(positions)).T)


def areas(positions: Doubles | Floats) -> Doubles:
    """Returns the areas, (n,) float64, of triangles (n, 3, 3)."""
    return column_areas(columns_of(positions))


def column_areas(columns: Doubles) -> Doubles:
    """Returns what `areas` does of triangles as `columns_of` has them."""
    return 0.5 * column_lengths(column_normals(columns))


def has_area(mesh: Mesh) -> bool:
    """Returns whether any triangle of a mesh has an area that is more than rounding gives; looks no further than it."""
    for first in range(0, len(mesh.triangles), RUN):
        corners = mesh.vertices[mesh.triangles[first : first + RUN]]
        longest = np.square(corners - np.roll(corners, 1, axis=1)).sum(axis=-1).max(axis=-1)
        if np.any(areas(corners) > LEAST_AREA * longest):
            return True
    return False


def shading_normals(positions: Doubles, normals: Doubles | None) -> Doubles:
    """Returns unit normals, (n, 3, 3), at the corners: those given, of any length, or else the geometric normal.

    A corner whose normal has no length gets the geometric one, and (0, 0, 1) on a triangle without area.
    """
    corners = np.zeros_like(positions) if normals is None else unit(normals)
    return with_flat_normals(positions, corners, has_lengths(corners))


def has_lengths(vectors: Doubles) -> npt.NDArray[np.bool_]:
    """Returns which of vectors (..., 3) have a length, (...)."""
    return (vectors[..., 0] != 0.0) | (vectors[..., 1] != 0.0) | (vectors[..., 2] != 0.0)


def with_flat_normals(positions: Doubles, corners: Doubles, has_length: npt.NDArray[np.bool_]) -> Doubles:
    """Returns unit normals, (n, 3, 3), as `shading_normals` does.

    corners: (n, 3, 3), those given, of length 1, or zero where `has_length`, (n, 3), is not set.
    """
    if has_length.all():
        return corners
    flat = unit(double_area_normals(positions))
    flat[~flat.any(axis=-1)] = (0.0, 0.0, 1.0)
    return np.where(has_length[..., None], corners, flat[:, None, :])


def normal_matrix(matrix: Doubles) -> Doubles:
    """Returns the inverse transpose, (3, 3), of a (4, 4) affine map's linear part, up to a positive factor.

    It is the matrix of cofactors with the sign of the determinant, which a flattening scale does not break.
    """
    a, b, c = matrix[:3, :3].tolist()
    cofactors = np.array([cross(b, c), cross(c, a), cross(a, b)])
    return -cofactors if np.dot(a, cofactors[0]) < 0.0 else cofactors


def normal_matrices(matrices: Doubles) -> Doubles:
    """Returns what `normal_matrix` does, (m, 3, 3), of maps (m, 4, 4)."""
    a, b, c = matrices[:, 0, :3], matrices[:, 1, :3], matrices[:, 2, :3]
    found = np.stack([np.cross(b, c), np.cross(c, a), np.cross(a, b)], axis=1)
    mirrors = np.einsum("ni,ni->n", a, found[:, 0]) < 0.0
    return np.where(mirrors[:, None, None], -found, found)


def cross(a: Sequence[float] | Doubles, b: Sequence[float] | Doubles) -> tuple[float, float, float]:
    """Returns the cross product of two vectors (3,). For so small ones it is thirty times as fast as NumPy's."""
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


@dataclass(frozen=True, eq=False)
class JoinedMeshes:
    """Holds meshes side by side, so that all of them are moved in one pass.

    vertices: (v, 3), with owners (v,), the index of the mesh that each is of.
    triangles: (n, 3), indices of vertices.
    normals: (k, 3) unit, with normal_owners (k,). The first has no length: corners have it that are given none.
    normal_triangles: (n, 3), indices of normals.
    """

    vertices: Doubles
    owners: npt.NDArray[np.intp]
    triangles: npt.NDArray[np.integer]
    normals: Doubles
    normal_owners: npt.NDArray[np.intp]
    normal_triangles: npt.NDArray[np.integer]

    @classmethod
    def of(cls, meshes: Sequence[Mesh]) -> "JoinedMeshes":
        """Joins meshes, at least one."""
        normals = [np.zeros((0, 3)) if mesh.normals is None else mesh.normals for mesh in meshes]
        vertex_counts, normal_counts = [len(mesh.vertices) for mesh in meshes], [len(own) for own in normals]
        first_vertices, first_normals = np.cumsum([0, *vertex_counts]), np.cumsum([1, *normal_counts])
        return cls(
            vertices=np.concatenate([mesh.vertices for mesh in meshes]),
            owners=np.repeat(np.arange(len(meshes)), vertex_counts),
            triangles=np.concatenate(
                [mesh.triangles + first for mesh, first in zip(meshes, first_vertices[:-1], strict=True)]
            ),
            normals=unit(np.concatenate([np.zeros((1, 3)), *normals])),
            normal_owners=np.repeat(np.arange(-1, len(meshes)), [1, *normal_counts]),
            normal_triangles=np.concatenate(
                [
                    np.zeros(mesh.triangles.shape, np.intp)
                    if mesh.normal_triangles is None or mesh.normals is None
                    else mesh.normal_triangles + first
                    for mesh, first in zip(meshes, first_normals[:-1], strict=True)
                ]
            ),
        )

    def corners(self, matrices: Doubles) -> tuple[Doubles, Doubles]:
        """Returns positions and unit shading normals, both (n, 3, 3) float64, under affine maps (m, 4, 4), one for each
        mesh."""
        positions = self.positions(matrices)
        normals = unit(moved(self.normals, turns_of(matrices), self.normal_owners))
        has_length = has_lengths(normals)[self.normal_triangles]
        return positions, with_flat_normals(positions, normals[self.normal_triangles], has_length)

    def positions(self, matrices: Doubles) -> Doubles:
        """Returns the corners, (n, 3, 3) float64, under affine maps (m, 4, 4), one for each mesh."""
        return moved(self.vertices, matrices, self.owners)[self.triangles]

    def boxes(self, matrices: Doubles) -> Doubles:
        """Returns the lower and upper corners, (m, 2, 3), of the boxes around the triangles of each mesh, which has
        some."""
        positions, owners = self.positions(matrices), self.owners[self.triangles[:, 0]]
        firsts = np.searchsorted(owners, np.arange(len(matrices)))
        lower = np.minimum.reduceat(positions.min(axis=1), firsts)
        return np.stack([lower, np.maximum.reduceat(positions.max(axis=1), firsts)], axis=1)


@dataclass(frozen=True, eq=False)
class MeshCopies:
    """Holds one mesh that stands in some places, each of which costs no more than its corners. What it returns is, bit
    for bit, what `JoinedMeshes` does of as many meshes."""

    mesh: Mesh

    def corners(self, matrices: Doubles) -> tuple[Doubles, Doubles]:
        """Returns positions and unit shading normals, both (m n, 3, 3) float64, under affine maps (m, 4, 4)."""
        positions, mesh = self.positions(matrices), self.mesh
        if mesh.normals is None or mesh.normal_triangles is None:
            return positions, shading_normals(positions, None)
        normals = unit(copied(unit(mesh.normals), turns_of(matrices)))
        has_length = has_lengths(normals)
        corners = np.take(normals, mesh.normal_triangles, axis=1).reshape(-1, 3, 3)
        return positions, with_flat_normals(
            positions, corners, np.take(has_length, mesh.normal_triangles, axis=1).reshape(-1, 3)
        )

    def positions(self, matrices: Doubles) -> Doubles:
        """Returns the corners, (m n, 3, 3) float64, under affine maps (m, 4, 4)."""
        return np.take(copied(self.mesh.vertices, matrices), self.mesh.triangles, axis=1).reshape(-1, 3, 3)

    def boxes(self, matrices: Doubles) -> Doubles:
        """Returns the lower and upper corners, (m, 2, 3), of the boxes around the triangles in each place."""
        used = np.zeros(len(self.mesh.vertices), np.bool_)
        used[self.mesh.triangles] = True
        columns = copied_columns(self.mesh.vertices[used], matrices)
        return np.stack([columns.min(axis=2).T, columns.max(axis=2).T], axis=1)


def turns_of(matrices: Doubles) -> Doubles:
    """Returns maps of normals, (m, 3, 4), that shift nothing, of affine maps (m, 4, 4)."""
    turns = np.zeros((len(matrices), 3, 4))
    turns[:, :, :3] = unit_scale(normal_matrices(matrices))  # so that no length over- or underflows
    return turns


def copied(points: Doubles, matrices: Doubles) -> Doubles:
    """Returns points (n, 3) under each of the maps (m, 3 or more, 4), (m, n, 3), summed as `moved` does."""
    return np.ascontiguousarray(np.moveaxis(copied_columns(points, matrices), 0, -1))


def copied_columns(points: Doubles, matrices: Doubles) -> Doubles:
    """Returns what `copied` does as (3, m, n), axis by axis. Over such columns NumPy is far faster."""
    x, y, z = np.ascontiguousarray(points.T)
    found = np.empty((3, len(matrices), len(points)))
    for row in range(3):
        a, b, c, shift = (matrices[:, row, column, None] for column in range(4))
        found[row] = a * x + b * y + c * z + shift
    return found


def moved(points: Doubles, matrices: Doubles, owners: npt.NDArray[np.intp]) -> Doubles:
    """Returns points (n, 3), each under the map (m, 3 or more, 4) of its owner, (n,)."""
    x, y, z = points.T
    found = np.empty_like(points)
    for row in range(3):
        a, b, c, shift = (matrices[:, row, column][owners] for column in range(4))
        found[:, row] = a * x + b * y + c * z + shift
    return found


def corner_indices(count: int) -> Indices:
    """Returns the indices, (count, 3) int32, of triangles whose corners are shared with no others."""
    return np.arange(3 * count, dtype=np.int32).reshape(count, 3)


def corner_arrays(mesh: Mesh, matrix: Doubles) -> tuple[Doubles, Doubles]:
    """Returns positions and unit shading normals, both (n, 3, 3) float64, of a mesh under a (4, 4) affine map."""
    return MeshCopies(mesh).corners(matrix[None])


def unit_scale(matrices: Doubles) -> Doubles:
    """Divides each matrix (..., 3, 3) by its largest entry."""
    sizes = np.abs(matrices).max(axis=(-2, -1), keepdims=True)
    return matrices / np.where(sizes > 0.0, sizes, 1.0)


def mirrors(matrices: Doubles) -> npt.NDArray[np.bool_]:
    """Returns whether maps (..., 4, 4) turn the other side of triangles to the front, (...)."""
    a, b, c = (matrices[..., row, :3] for row in range(3))
    return np.sum(a * np.cross(b, c), axis=-1) < 0.0


def rewound(mesh: Mesh) -> Mesh:
    """Returns a mesh whose triangles show their other side."""
    return replace(
        mesh,
        triangles=mesh.triangles[:, ::-1],
        normal_triangles=None if mesh.normal_triangles is None else mesh.normal_triangles[:, ::-1],
        uv_triangles=None if mesh.uv_triangles is None else mesh.uv_triangles[:, ::-1],
    )


def corner_uvs(mesh: Mesh) -> Doubles:
    """Returns the texture coordinates of the corners, (n, 3, 2); zeros if there are none."""
    if mesh.uvs is None:
        return np.zeros((len(mesh.triangles), 3, 2))
    corners: Doubles = mesh.uvs[mesh.uv_triangles]
    return corners


def small_uvs(mesh: Mesh) -> Floats:
    """Returns the texture coordinates of the corners, (n, 3, 2) float32; zeros if there are none.

    They are moved per triangle by whole numbers, in float64, so that the smallest is in [0, 1). Textures repeat, so
    this changes nothing but the precision that is left to float32.
    """
    corners = corner_uvs(mesh)
    return (corners - np.floor(corners.min(axis=1, keepdims=True))).astype(np.float32)


def in_range(values: Doubles | Floats) -> bool:
    """Returns whether all numbers are finite and of a size that float32 can square."""
    return bool(values.min(initial=0.0) >= -MAX_COORDINATE and values.max(initial=0.0) <= MAX_COORDINATE)  # no for NaN


def bad_numbers(kind: str, values: Doubles) -> str | None:
    """Returns what is wrong with rows of numbers (n, k), or None where all are finite and float32 can square them.

    kind: what a row is called.
    """
    if in_range(values):
        return None
    bad = ~(np.abs(values) <= MAX_COORDINATE).all(axis=1)
    index = int(np.argmax(bad))
    return f"{kind} {index} is {values[index].tolist()}; expected finite numbers of at most {MAX_COORDINATE:g}"
