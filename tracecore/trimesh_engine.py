"""A ray engine for trimesh: it answers what `mesh.ray` is asked, by a tracer.

    mesh.ray = tracecore.trimesh_engine.RayMeshIntersector(mesh)

It has the methods of `trimesh.ray.ray_triangle.RayMeshIntersector` (Dawson-Haggerty and others: trimesh, 2019), whose
results it returns, but for their order. Rays are traced in float32 about the middle of the mesh; places are where a ray
meets the plane of a triangle, in float64.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tracecore import HIT, MISS, Device, all_hits, as_records, make_rays, open_tracer
from tracecore.dispatch.tracer import Tracer
from tracecore.errors import RayError

Doubles = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]
Booleans = npt.NDArray[np.bool_]


class RayMeshIntersector:
    """Casts rays at a mesh; where the mesh has changed since the last call, its tree is built anew.

    mesh: a `trimesh.Trimesh`.
    device, kernel, threads: as `open_tracer` takes them.

    All of its methods raise `RayError` where origins and directions are not of the same shape (n, 3). Rays that are not
    finite or have no direction hit nothing.
    """

    def __init__(
        self, mesh: Any, *, device: Device | str = "auto", kernel: str | None = None, threads: int | None = None
    ) -> None:
        self.mesh = mesh
        self._chosen: dict[str, Any] = {"device": device, "kernel": kernel, "threads": threads}
        self._tracer: Tracer | None = None
        self._seen: int | None = None
        self._middle = np.zeros(3)

    def intersects_location(
        self, ray_origins: npt.ArrayLike, ray_directions: npt.ArrayLike, multiple_hits: bool = True
    ) -> tuple[Doubles, Indices, Indices]:
        """Returns where rays hit the mesh: places (h, 3) float64, ray (h,) and triangle (h,) of each, int64.

        ray_origins, ray_directions: (n, 3), directions of any length.
        multiple_hits: whether all hits of a ray are wanted, or the nearest alone.
        """
        triangles, rays, places = self.intersects_id(
            ray_origins, ray_directions, return_locations=True, multiple_hits=multiple_hits
        )
        return places, rays, triangles

    def intersects_id(
        self,
        ray_origins: npt.ArrayLike,
        ray_directions: npt.ArrayLike,
        return_locations: bool = False,
        multiple_hits: bool = True,
    ) -> Any:
        """Returns which triangles are hit, (h,) int64, and by which rays, (h,) int64; with `return_locations` also
        where, (h, 3) float64. Hits of the same ray come in the order of their distance.

        Of several triangles that a ray hits at the same distance, as at an edge, one is returned.

        ray_origins, ray_directions, multiple_hits: as `intersects_location` takes them.
        """
        origins, directions = _checked(ray_origins, ray_directions)
        tracer = self._opened()
        rays, hits = all_hits(tracer, self._rays(origins, directions), None if multiple_hits else 1)
        triangles = hits.prim_id.astype(np.int64)
        if not return_locations:
            return triangles, rays
        return triangles, rays, self._places(triangles, origins[rays], directions[rays])

    def intersects_first(self, ray_origins: npt.ArrayLike, ray_directions: npt.ArrayLike) -> Indices:
        """Returns the nearest triangle that each ray hits, (n,) int64, -1 where there is none.

        ray_origins, ray_directions: as `intersects_location` takes them.
        """
        origins, directions = _checked(ray_origins, ray_directions)
        ids = as_records(self._opened().closest_hit(self._rays(origins, directions)), HIT)["prim_id"]
        return np.where(ids == MISS, -1, ids.astype(np.int64))

    def intersects_any(self, ray_origins: npt.ArrayLike, ray_directions: npt.ArrayLike) -> Booleans:
        """Returns whether each ray hits anything, (n,) bool.

        ray_origins, ray_directions: as `intersects_location` takes them.
        """
        origins, directions = _checked(ray_origins, ray_directions)
        hits = as_records(self._opened().any_hit(self._rays(origins, directions)), HIT)
        return np.asarray(hits["prim_id"] != MISS)

    def contains_points(self, points: npt.ArrayLike) -> Booleans:
        """Returns whether points are inside of the mesh, which must be closed: (n,) bool. points: (n, 3)."""
        from trimesh.ray.ray_util import contains_points

        return np.asarray(contains_points(self, np.asarray(points, np.float64)), bool)

    def close(self) -> None:
        """Gives back what the tracer holds; the next call opens another."""
        if self._tracer is not None:
            self._tracer.close()
        self._tracer = self._seen = None

    def _opened(self) -> Tracer:
        """Returns a tracer of the mesh as it is now."""
        now = hash(self.mesh)
        if self._tracer is None or now != self._seen:
            self.close()
            triangles = np.asarray(self.mesh.triangles, np.float64)
            self._middle = 0.5 * (triangles.min(axis=(0, 1)) + triangles.max(axis=(0, 1)))
            self._tracer, self._seen = open_tracer(triangles - self._middle, **self._chosen), now
        return self._tracer

    def _rays(self, origins: Doubles, directions: Doubles) -> npt.NDArray[np.float32]:
        with np.errstate(over="ignore"):
            return make_rays(origins - self._middle, directions)

    def _places(self, triangles: Indices, origins: Doubles, directions: Doubles) -> Doubles:
        """Returns where rays meet the planes of triangles."""
        corners = np.asarray(self.mesh.triangles, np.float64)[triangles]
        normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        along = np.einsum("ij,ij->i", normals, directions)
        ahead = np.einsum("ij,ij->i", normals, corners[:, 0] - origins)
        t = np.divide(ahead, along, out=np.zeros(len(along)), where=along != 0.0)
        return origins + t[:, None] * directions


def _checked(origins: npt.ArrayLike, directions: npt.ArrayLike) -> tuple[Doubles, Doubles]:
    """Returns both as (n, 3) float64. Raises `RayError` where they are not."""
    found = np.asarray(origins, np.float64), np.asarray(directions, np.float64)
    if found[0].ndim != 2 or found[0].shape[1] != 3 or found[0].shape != found[1].shape:
        raise RayError(
            f"expected origins and directions of the same shape (n, 3), got {found[0].shape}, {found[1].shape}"
        )
    return found
