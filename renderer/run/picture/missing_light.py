"""Says why a picture is black, or why hardly a photon arrives: a few rays look where that is so, and no others do."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from scenes.model import Snapshot
from tracecore.rays import HIT, MISS, as_records, make_rays

if TYPE_CHECKING:
    from renderer.scene.render_context import RenderContext

Doubles = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

#: Columns and rows of the grid of rays that look where the camera sees something.
GRID = (16, 12)

#: Rays start so far off what they have hit, and end so far in front of a light: shares of the distance.
CLEARANCE = 1e-4

#: So many names of lights are told.
MOST_NAMES = 3


class SeenPlaces(NamedTuple):
    """Holds what the camera sees: positions and unit normals on its side, (n, 3) float64."""

    positions: Doubles
    normals: Doubles


class SeenSource(NamedTuple):
    """Is what shines, as it is seen from some places.

    name: for the user.
    offsets: (n, 3) float64, from each place to a point of it, or far into its direction.
    shines: (n,) bool, whether it shines that way.
    """

    name: str
    offsets: Doubles
    shines: Bools


def reason(context: "RenderContext") -> str:
    """Returns what keeps the light from what the camera sees."""
    places = seen_places(context)
    if len(places.positions) == 0:
        return "the camera sees no surface"
    sources = list(sources_of(context.snapshot, places))
    if not sources:
        return "nothing in the scene shines"
    lost = [source.name for source in sources if not reaches(context, places, source)]
    if not lost:
        return "its lights do reach what the camera sees, but little of it comes back"
    listed = ", ".join(lost[:MOST_NAMES]) + (f" and {len(lost) - MOST_NAMES} more" if len(lost) > MOST_NAMES else "")
    verb = "reaches" if len(lost) == 1 else "reach"
    return f"{listed} {verb} nothing that the camera sees, at least not straight"


def seen_places(context: "RenderContext") -> SeenPlaces:
    """Returns places that the camera sees, spread over the picture."""
    camera, positions = context.snapshot.camera, context.snapshot.positions
    forward, up = np.array(camera.forward, np.float64), np.array(camera.up, np.float64)
    right = np.cross(forward, up)
    right /= np.linalg.norm(right)
    half = np.tan(np.radians(camera.vertical_fov) / 2.0) if camera.height is None else camera.height / 2.0
    width, height = camera.resolution
    x, y = (grid.reshape(-1, 1) for grid in np.meshgrid(*(np.linspace(-0.97, 0.97, count) for count in GRID)))
    shift = half * (x * right * width / height + y * np.cross(right, forward))
    is_parallel = camera.height is not None
    origins = np.array(camera.eye) + (shift if is_parallel else 0.0)
    directions = np.broadcast_to(forward + (0.0 if is_parallel else shift), shift.shape)
    rays = make_rays(np.broadcast_to(origins, shift.shape), directions, camera.near)
    hits = as_records(context.tracer.closest_hit(rays), HIT)
    is_hit = hits["prim_id"] != MISS
    ahead, t = rays[is_hit, 4:7].astype(np.float64), hits["t"][is_hit].astype(np.float64)
    corners = positions[hits["prim_id"][is_hit]].astype(np.float64)
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-300)
    normals *= np.where((normals * ahead).sum(axis=1) > 0.0, -1.0, 1.0)[:, None]
    return SeenPlaces(rays[is_hit, 0:3] + t[:, None] * ahead, normals)


def sources_of(snapshot: Snapshot, places: SeenPlaces) -> Iterator[SeenSource]:
    """Yields all that shines in a scene: its lights, materials that glow, and what is around it."""
    count, far = len(places.positions), 3.0 * float(np.linalg.norm(np.ptp(snapshot.positions, axis=(0, 1))))
    for light in snapshot.lights:
        if max(light.strength) > 0.0:
            yield source_of_light(light, places, far)
    for number, material in enumerate(snapshot.materials):
        triangles = snapshot.positions[snapshot.material_ids == number].astype(np.float64)
        if max(material.emission) > 0.0 and len(triangles):
            corners = triangles[np.arange(count) * 7919 % len(triangles)]
            offsets = corners.mean(axis=1) - places.positions
            front = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
            yield SeenSource(
                f"the glow of '{material.name or material.kind}'", offsets, (front * offsets).sum(axis=1) < 0.0
            )
    if snapshot.environment is not None:
        yield SeenSource("the environment", far * directions_above(places.normals), np.ones(count, bool))


def source_of_light(light: object, places: SeenPlaces, far: float) -> SeenSource:
    """Returns a light of the scene: at a place, or in a direction from which it comes."""
    kind, position, direction = (getattr(light, name, None) for name in ("kind", "position", "direction"))
    everywhere = np.ones(len(places.positions), bool)
    if position is None:
        offset = -far * np.asarray(direction, np.float64)
        return SeenSource(
            f"the {kind} light along {told(direction)}", np.tile(offset, (len(everywhere), 1)), everywhere
        )
    offsets = np.asarray(position, np.float64) - places.positions
    if direction is not None:
        cosines = -(offsets * direction).sum(axis=1) / np.maximum(np.linalg.norm(offsets, axis=1), 1e-300)
        everywhere = cosines > np.cos(np.radians(getattr(light, "outer_angle", 180.0)))
    return SeenSource(f"the {kind} light at {told(position)}", offsets, everywhere)


def told(vector: object) -> str:
    """Returns a vector as the user reads it."""
    return "(" + ", ".join(f"{x:g}" for x in np.asarray(vector, np.float64)) + ")"


def directions_above(normals: Doubles) -> Doubles:
    """Returns a unit direction on the side of each normal, all of them spread over the sphere by the golden ratio."""
    i = np.arange(len(normals)) + 0.5
    height, turn = 1.0 - 2.0 * i / len(normals), np.pi * (1.0 + 5.0**0.5) * i
    across = np.sqrt(1.0 - height**2)
    directions = np.stack([across * np.cos(turn), across * np.sin(turn), height], axis=1)
    return directions * np.where((directions * normals).sum(axis=1) < 0.0, -1.0, 1.0)[:, None]


def reaches(context: "RenderContext", places: SeenPlaces, source: SeenSource) -> bool:
    """Returns whether light of a source comes straight to some place, or maybe through what lets light through."""
    lit = source.shines & ((source.offsets * places.normals).sum(axis=1) > 0.0)
    starts, ways = places.positions[lit], source.offsets[lit]
    lengths = np.linalg.norm(ways, axis=1, keepdims=True)
    clear = CLEARANCE * np.minimum(lengths, 1.0 + np.abs(starts).max(axis=1, keepdims=True, initial=0.0))
    rays = make_rays(starts + clear * places.normals[lit], ways, 0.0, 1.0 - CLEARANCE)
    blockers = as_records(context.tracer.closest_hit(rays), HIT)["prim_id"] if lit.any() else np.zeros(0, np.uint32)
    snapshot = context.snapshot
    is_clear = np.array([material.transmittance > 0.0 for material in snapshot.materials], bool)
    hit = blockers[blockers != MISS]
    return len(hit) < len(blockers) or bool(is_clear[snapshot.material_ids[hit]].any())
