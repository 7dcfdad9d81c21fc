"""This module makes triangles of the polygons of a mesh: of each part with a material of its own, with normals and what
varies over it."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from pxr import Sdf, Usd, UsdGeom, UsdShade

from scenes.files.source_file import MAX_CORNERS, MAX_TRIANGLES
from scenes.meshes.polygons import Triangulation, triangulated
from scenes.meshes.smooth_normals import creased, smoothed
from scenes.model import Doubles, Indices, Mesh
from scenes.usd.file import UsdFile
from scenes.usd.subdivision import Cage, Numbers, Refinement

#: Levels to which a mesh is refined, and the triangles that it then has at most.
MAX_LEVELS, MAX_REFINED = 2, 1_000_000
#: Degrees from which on edges of a mesh with creases stay sharp.
CREASE = 40.0
#: Sharpness of a crease that stays one on all levels.
SHARP = 10.0


@dataclass(frozen=True, eq=False)
class Channel:
    """Holds what varies over a mesh. values: (m, k). at: (c,) rows of them, for each corner of its polygons."""

    values: Doubles
    at: Numbers


class Polygons:
    """Holds the polygons of a mesh prim, without those that are holes or have no area.

    cage: they as the file has them.
    corners: (c,) numbers of their corners in the file.
    levels: how they are refined.
    """

    def __init__(self, file: UsdFile, prim: Usd.Prim) -> None:
        self.file, self.mesh, self.name = file, UsdGeom.Mesh(prim), str(prim.GetPath())
        self.is_left_handed = file.text(self.mesh.GetOrientationAttr()) == UsdGeom.Tokens.leftHanded
        points = file.rows(self.mesh.GetPointsAttr(), 3)
        self.points = np.zeros((0, 3)) if points is None else points
        counts, indices = (
            file.wholes(self.mesh.GetFaceVertexCountsAttr()),
            file.wholes(self.mesh.GetFaceVertexIndicesAttr()),
        )
        wrong = self.fault(counts, indices)
        if wrong:
            file.lose(f"{self.name} is left out: {wrong}")
            counts, indices = counts[:0], indices[:0]
        is_kept = counts >= 3
        holes = file.wholes(self.mesh.GetHoleIndicesAttr())
        is_kept[holes[(holes >= 0) & (holes < len(counts))]] = False
        self.corners = np.flatnonzero(np.repeat(is_kept, counts))
        border = file.text(self.mesh.GetInterpolateBoundaryAttr(), UsdGeom.Tokens.edgeAndCorner)
        edges, sharpness, sharp_points = self.creases()
        self.cage = Cage(
            counts=counts[is_kept],
            indices=indices[self.corners],
            faces=np.flatnonzero(is_kept),
            vertices=len(self.points),
            edges=edges,
            sharpness=sharpness,
            corners=sharp_points,
            keeps_corners=border == UsdGeom.Tokens.edgeAndCorner,
        )

    def fault(self, counts: Numbers, indices: Numbers) -> str:
        """Returns what is wrong with the polygons, or ""."""
        if counts.min(initial=0) < 0 or counts.max(initial=0) > MAX_CORNERS or counts.sum() != len(indices):
            return (
                f"its faces have {counts.sum()} corners, at most {MAX_CORNERS} each, of which {len(indices)} are given"
            )
        if len(indices) and (indices.min() < 0 or indices.max() >= len(self.points)):
            return f"its corners refer to points {indices.min()} to {indices.max()}, and there are {len(self.points)}"
        if len(indices) > 3 * MAX_TRIANGLES:
            return f"it has over {3 * MAX_TRIANGLES} corners"
        return ""

    def creases(self) -> tuple[Numbers, Doubles, Doubles]:
        """Returns the ends of creases (k, 2), their sharpness (k,), and that of all points (v,)."""
        count = len(self.points)
        lengths, way = (
            self.file.wholes(self.mesh.GetCreaseLengthsAttr()),
            self.file.wholes(self.mesh.GetCreaseIndicesAttr()),
        )
        edges, sharpness = np.zeros((0, 2), np.int64), np.zeros(0)
        if len(lengths) and lengths.min() >= 2 and lengths.sum() == len(way) and 0 <= way.min() <= way.max() < count:
            is_last = np.zeros(len(way), np.bool_)
            is_last[np.cumsum(lengths) - 1] = True
            firsts = np.flatnonzero(~is_last)
            edges = np.stack([way[firsts], way[firsts + 1]], axis=1)
            sharpness = self.sharpness(self.mesh.GetCreaseSharpnessesAttr(), lengths - 1)
        corners, found = np.zeros(count), self.file.wholes(self.mesh.GetCornerIndicesAttr())
        if len(found) and 0 <= found.min() <= found.max() < count:
            corners[found] = self.sharpness(self.mesh.GetCornerSharpnessesAttr(), np.ones(len(found), np.int64))
        return edges, sharpness, corners

    def sharpness(self, attribute: Usd.Attribute, counts: Numbers) -> Doubles:
        """Returns the sharpness of each of so many edges of each crease; there is one of each crease or each edge."""
        rows = self.file.rows(attribute, 1)
        given = np.zeros(0) if rows is None else rows[:, 0]
        if len(given) == len(counts):
            return np.repeat(given, counts)
        return given if len(given) == counts.sum() else np.full(counts.sum(), SHARP)

    @cached_property
    def levels(self) -> list[Refinement]:
        """Returns how the polygons are refined, level by level."""
        scheme = self.file.text(self.mesh.GetSubdivisionSchemeAttr(), "catmullClark")
        if scheme == UsdGeom.Tokens.loop:
            self.file.note("meshes of scheme loop are shown as their control meshes, with smooth normals")
        if scheme != UsdGeom.Tokens.catmullClark or not len(self.cage.counts):
            return []
        levels = [Refinement(self.cage)]
        while len(levels) < MAX_LEVELS and 8 * len(levels[-1].face) <= MAX_REFINED:
            levels.append(Refinement(levels[-1].refined))
        if 2 * len(levels[0].face) > MAX_REFINED:
            levels = []
        if len(levels) < MAX_LEVELS:
            self.file.note(f"meshes that would have over {MAX_REFINED} triangles are refined {len(levels)} times only")
        return levels

    @property
    def is_smooth(self) -> bool:
        """Returns whether the mesh has smooth normals of its own making."""
        scheme = self.file.text(self.mesh.GetSubdivisionSchemeAttr(), "catmullClark")
        return scheme in (UsdGeom.Tokens.catmullClark, UsdGeom.Tokens.loop)

    @property
    def final(self) -> Cage:
        """Returns the polygons of the last level."""
        return self.levels[-1].refined if self.levels else self.cage

    def refined(self, points: Doubles) -> Doubles:
        """Returns points of the last level for those of the file."""
        for level in self.levels:
            points = level.points(points)
        return points

    @cached_property
    def triangulation(self) -> Triangulation:
        """Returns the triangles of the polygons of the last level."""
        found = triangulated(self.final.counts, self.refined(self.points)[self.final.indices])
        if len(found.crossing):
            self.file.note(f"polygons that cross themselves are cut somehow: {len(found.crossing)}")
        return found

    def channel(self, name: str, values: Doubles | None, interpolation: str, chosen: Numbers | None) -> Channel | None:
        """Returns what varies over the polygons of the file; None where there is nothing, or too little, as is noted.

        interpolation: as USD names it.
        chosen: rows of the values, or None for all in order.
        """
        cage = self.cage
        if values is None:
            return None
        at = cage.indices
        if interpolation == UsdGeom.Tokens.constant:
            at = np.zeros(len(cage.indices), np.int64)
        elif interpolation == UsdGeom.Tokens.uniform:
            at = np.repeat(cage.faces, cage.counts)
        elif interpolation == UsdGeom.Tokens.faceVarying:
            at = self.corners
        if chosen is not None and len(chosen) > at.max(initial=-1):
            at, chosen = chosen[at], None
        if chosen is not None or at.max(initial=-1) >= len(values) or at.min(initial=0) < 0:
            self.file.lose(
                f"{self.name}.{name} is left out: it has too few items for its interpolation {interpolation}"
            )
            return None
        return Channel(values, at)

    def last(self, channel: Channel) -> Channel:
        """Returns what varies over the polygons of the last level, linear within those of the file."""
        if not self.levels:
            return channel
        values = channel.values[channel.at]
        for level in self.levels:
            values = level.corners(values)
        return Channel(values, np.arange(len(values)))

    def primvar(self, name: str, width: int) -> Channel | None:
        """Returns a primvar of the mesh, or of a prim around it that has one for all in it."""
        primvar = UsdGeom.PrimvarsAPI(self.mesh.GetPrim()).FindPrimvarWithInheritance(name)
        if not primvar or not primvar.HasValue():
            return None
        chosen = primvar.GetIndices(self.file.start) if primvar.IsIndexed() else None
        values = self.file.rows(primvar.GetAttr(), width)
        rows = None if chosen is None else np.array(chosen, np.int64)
        found = self.channel(name, values, primvar.GetInterpolation(), rows)
        return None if found is None else self.last(found)

    def normals(self, time: Usd.TimeCode | None = None) -> Channel | None:
        """Returns the normals of the file at a time, or None without any. A surface that is refined has its own."""
        if self.levels:
            return None
        primvar = UsdGeom.PrimvarsAPI(self.mesh.GetPrim()).GetPrimvar("normals")
        if primvar and primvar.HasValue():
            chosen = primvar.GetIndices(self.file.start) if primvar.IsIndexed() else None
            rows = None if chosen is None else np.array(chosen, np.int64)
            values = self.file.rows(primvar.GetAttr(), 3, time)
            return self.channel("normals", values, primvar.GetInterpolation(), rows)
        values = self.file.rows(self.mesh.GetNormalsAttr(), 3, time)
        if values is None or not len(values):
            return None
        return self.channel("normals", values, self.mesh.GetNormalsInterpolation(), None)

    def groups(self, material: Sdf.Path | None) -> Iterator[tuple[Sdf.Path | None, Numbers]]:
        """Yields the material of each group of polygons, and the indices of its triangles.

        material: of what is in no group.
        """
        count = int(self.cage.faces.max(initial=-1)) + 1
        owner, paths = np.zeros(count, np.int64), [material]
        for subset in UsdShade.MaterialBindingAPI(self.mesh.GetPrim()).GetMaterialBindSubsets():
            faces = self.file.wholes(subset.GetIndicesAttr())
            owner[faces[(faces >= 0) & (faces < count)]] = len(paths)
            paths.append(material_of(subset.GetPrim()) or material)
        owners = owner[self.final.faces[self.triangulation.polygons]]
        for index, path in enumerate(paths):
            chosen = np.flatnonzero(owners == index)
            if len(chosen):
                yield path, chosen

    @cached_property
    def mesh_of_all(self) -> Mesh:
        """Returns the mesh of all triangles, with the material 0."""
        corners = self.corners_of(np.arange(len(self.triangulation.corners)))
        normals = self.normals()
        mesh = Mesh(
            vertices=self.refined(self.points),
            triangles=self.final.indices[corners].astype(np.int32),
            normals=None if normals is None else normals.values,
            normal_triangles=None if normals is None else normals.at[corners].astype(np.int32),
            material=0,
        )
        if normals is not None or not self.is_smooth:
            return mesh
        is_creased = bool(len(self.cage.sharpness) or self.cage.corners.any())
        return creased(mesh, CREASE) if is_creased else smoothed(mesh)

    def mesh_of(self, triangles: Numbers) -> Mesh:
        """Returns the mesh of some triangles, with the normals that they have among all."""
        mesh = self.mesh_of_all
        normals = None if mesh.normal_triangles is None else mesh.normal_triangles[triangles]
        return replace(mesh, triangles=mesh.triangles[triangles], normal_triangles=normals)

    def corners_of(self, triangles: Numbers) -> Indices:
        """Returns the corners (n, 3) of some triangles; those of a left-handed mesh are wound the other way round."""
        corners = self.triangulation.corners[triangles]
        return (corners[:, ::-1] if self.is_left_handed else corners).astype(np.int32)


def material_of(prim: Usd.Prim) -> Sdf.Path | None:
    """Returns the path of the material that is bound to a prim, or None."""
    material = UsdShade.MaterialBindingAPI(prim).ComputeBoundMaterial()[0]
    return material.GetPath() if material else None


def compact(mesh: Mesh) -> Mesh:
    """Returns a mesh without vertices and normals that none of its triangles has."""
    used, triangles = np.unique(mesh.triangles, return_inverse=True)
    mesh = replace(mesh, vertices=mesh.vertices[used], triangles=triangles.reshape(-1, 3).astype(np.int32))
    if mesh.normals is None or mesh.normal_triangles is None:
        return mesh
    used, triangles = np.unique(mesh.normal_triangles, return_inverse=True)
    return replace(mesh, normals=mesh.normals[used], normal_triangles=triangles.reshape(-1, 3).astype(np.int32))
