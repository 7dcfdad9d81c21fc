"""What lies behind the middle of each pixel: one ray for each, through the middle of the lens, without samples."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from renderer.scene.packed_scene import CameraArrays, pack_camera
from tracecore.rays import HIT, MISS, as_records, make_rays

if TYPE_CHECKING:
    from scenes.model import Snapshot
    from tracecore.dispatch.tracer import Tracer

Floats = npt.NDArray[np.float32]
Doubles = npt.NDArray[np.float64]

#: So many rays at most are made at a time, in whole rows.
MOST_RAYS = 1 << 20


def first_hits(
    snapshot: Snapshot, tracer: Tracer, size: tuple[int, int], crop: tuple[int, int, int, int] | None = None
) -> dict[str, Floats]:
    """Returns layers of what the middles of pixels show, by name.

    position: (height, width, 3), world units, infinite where nothing is.
    uv: (height, width, 2), texture coordinates, 0 where nothing is.
    material, object, triangle: (height, width), their numbers in the scene, -1 where nothing is; exact up to 2^24.

    size: width and height of the whole picture, pixels.
    crop: the part of it that is wanted, or None for all of it.
    """
    camera = pack_camera(snapshot.camera, *size)
    left, upper, width, height = crop or (0, 0, *size)
    rows = max(1, MOST_RAYS // width)
    bands: list[dict[str, Floats]] = []
    for first in range(upper, upper + height, rows):
        row, column = np.mgrid[first : min(first + rows, upper + height), left : left + width]
        x, y = (2.0 * column + 1.0) / size[0] - 1.0, (2.0 * row + 1.0) / size[1] - 1.0
        bands.append(_hits_at(snapshot, tracer, camera, (x, y)))
    return {name: np.concatenate([band[name] for band in bands]) for name in bands[0]}


def _hits_at(
    snapshot: Snapshot, tracer: Tracer, camera: CameraArrays, places: tuple[Doubles, Doubles]
) -> dict[str, Floats]:
    """Returns layers of places of the picture. places: their x and y in -1..1, both (rows, columns)."""
    origins, directions = _rays_through(camera, places)
    t_min = camera.near / (directions @ camera.forward)
    hits = as_records(tracer.closest_hit(make_rays(origins, directions, t_min)), HIT)
    is_hit, shape = hits["prim_id"] != MISS, places[0].shape
    ids = np.where(is_hit, hits["prim_id"], 0).astype(np.int64)
    u, v = hits["u"][:, None], hits["v"][:, None]
    corners = snapshot.uvs[ids]
    uv = (1.0 - u - v) * corners[:, 0] + u * corners[:, 1] + v * corners[:, 2]
    position = origins + np.where(is_hit, hits["t"], 0.0)[:, None] * directions
    layers = {
        "position": np.where(is_hit[:, None], position, np.inf),
        "uv": np.where(is_hit[:, None], uv, 0.0),
        "material": np.where(is_hit, snapshot.material_ids[ids], -1),
        "object": np.where(is_hit, snapshot.object_ids[ids], -1),
        "triangle": np.where(is_hit, ids, -1),
    }
    return {name: layer.astype(np.float32).reshape(*shape, *layer.shape[1:]) for name, layer in layers.items()}


def _rays_through(camera: CameraArrays, places: tuple[Doubles, Doubles]) -> tuple[Doubles, Doubles]:
    """Returns origins and unit directions, both (n, 3), of rays through places of the picture."""
    x, y = (place.reshape(-1, 1) for place in places)
    shift = x * camera.right + y * camera.down
    if camera.is_parallel:
        return camera.eye + shift, np.broadcast_to(camera.forward, shift.shape)
    directions = camera.forward + shift
    return np.broadcast_to(camera.eye, shift.shape), directions / np.linalg.norm(directions, axis=1, keepdims=True)
