"""This module makes triangles of round shapes, as many as are seen.

A shape gets so many segments that none of its points is more than `MAX_ERROR` pixels from where it should be, at the
distance of its outline from the nearest of the cameras' places; what is curved in two directions counts both. Shapes
and cameras that move are looked at `MOMENTS` times, and count where they are nearest. The same scene, camera and size
give the same triangles. Where all shapes together would have more than `MAX_TRIANGLES`, the error of all is doubled
until they do not, or have the fewest segments that there are.

What glows lights the scene by its area, wherever it is seen from: it has `GLOWING_SEGMENTS`, or half as many each time
that the error is doubled.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from scenes.document import Document, Part, join_loose
from scenes.meshes.curves import LEAST_SEGMENTS, MOST_SEGMENTS, Curve, Fineness
from scenes.model import Camera, Doubles, Mesh
from scenes.playing.placing import TrackTime, camera_at
from scenes.views.viewing import Viewing

#: Pixels; the most that all round shapes may have; times at which what moves is looked at.
MAX_ERROR = 0.25
MAX_TRIANGLES = 4_000_000
MOMENTS = 16
#: A ball of so many segments lacks 0.2 % of its area.
GLOWING_SEGMENTS = 64


def tessellated(document: Document, viewing: Viewing) -> Document:
    """Returns a document with meshes instead of its round shapes, for a picture from its first camera, or from the one
    that is asked for; of several cameras of a scene only that one counts. Documents without such shapes stay."""
    chosen = [part for part in document.parts if part.curve is not None]
    if not chosen:
        return replace(document, parts=join_loose(document.parts))
    curves = [part.curve for part in chosen if part.curve is not None]
    name = viewing.camera if viewing.camera in document.cameras else next(iter(document.cameras))
    size = viewing.size or document.cameras[name].resolution
    bends, widths = np.array([curve.bends for curve in curves]), widths_in_pixels(document, chosen, name, viewing, size)
    shines, error = are_lamps(document, chosen), MAX_ERROR
    while True:
        of_lamps = max(LEAST_SEGMENTS, int(GLOWING_SEGMENTS * MAX_ERROR / error))
        segments = np.where(shines, of_lamps, segments_for(widths, bends, error))
        triangles = sum(curve.triangles(count) for curve, count in zip(curves, segments.tolist(), strict=True))
        if triangles <= MAX_TRIANGLES or (segments == LEAST_SEGMENTS).all():
            break
        error *= 2.0
    meshes = list(meshes_of(curves, segments.tolist()))
    triangles, left = sum(len(mesh.triangles) for mesh in meshes), iter(meshes)
    parts = [part if part.curve is None else replace(part, shape=next(left), curve=None) for part in document.parts]
    fineness = Fineness(shapes=len(curves), triangles=triangles, error=error, size=size)
    return replace(document, parts=join_loose(parts), fineness=fineness)


def are_lamps(document: Document, parts: Sequence[Part]) -> npt.NDArray[np.bool_]:
    """Returns whether parts glow: (n,) bool."""
    indices = [part.own_material for part in parts]
    return np.array([max(document.materials[index].emission) > 0.0 for index in indices], np.bool_)


def meshes_of(curves: Sequence[Curve], segments: Sequence[int]) -> Iterator[Mesh]:
    """Yields the mesh of each shape; one that stands in several places is the same wherever it is as fine."""
    known: dict[tuple[int, int], Mesh] = {}
    for curve, count in zip(curves, segments, strict=True):
        key = (id(curve), count)
        if key not in known:
            known[key] = curve.mesh(count)
        yield known[key]


def segments_for(widths: Doubles, bends: npt.NDArray[np.int64], error: float) -> npt.NDArray[np.int64]:
    """Returns how many segments keep round shapes within an error of so many pixels, even numbers.

    widths: (n,) radii in pixels.
    bends: (n,) directions in which each is curved.

    The middle of a chord over the angle 2 a is r (1 - cos a) off the circle.
    """
    sagitta = np.minimum(error / (bends * np.maximum(widths, 1e-12)), 1.0)
    exact = np.pi / np.arccos(1.0 - sagitta)
    even = 2.0 * np.ceil(0.5 * np.minimum(exact, MOST_SEGMENTS))
    return np.maximum(even, LEAST_SEGMENTS).astype(np.int64)


def widths_in_pixels(
    document: Document, parts: Sequence[Part], name: str, viewing: Viewing, size: tuple[int, int]
) -> Doubles:
    """Returns the radii (n,) of round parts as seen by a camera, in pixels: the largest of all moments.

    name: of the camera.
    size: of the picture, in pixels.
    """
    ends = np.array([part.curve.ends for part in parts if part.curve is not None])
    widths = np.array([part.curve.width for part in parts if part.curve is not None])
    places: dict[int, list[int]] = {}
    for index, part in enumerate(parts):
        places.setdefault(id(part.transform), []).append(index)
    seen = np.zeros(len(parts))
    track = document.tracks.get(name)
    for time in moments(document):
        camera = document.cameras[name]
        camera = viewing.seen(camera if track is None else camera_at(camera, track, time))
        moment = TrackTime(document.tracks, time)
        for indices in places.values():
            matrix = moment.pose(parts[indices[0]].transform).matrix
            placed = ends[indices] @ matrix[:3, :3].T + matrix[:3, 3]
            radii = widths[indices] * float(np.linalg.norm(matrix[:3, :3], 2))
            seen[indices] = np.maximum(seen[indices], in_pixels(placed, radii, camera, size[1]))
    return seen


def moments(document: Document) -> list[float]:
    """Returns the times at which a document is looked at."""
    animation = document.animation
    if not document.tracks or animation.start == animation.end:
        return [animation.start]
    return [float(time) for time in np.linspace(animation.start, animation.end, MOMENTS)]


def in_pixels(ends: Doubles, radii: Doubles, camera: Camera, height: int) -> Doubles:
    """Returns the radii (n,) of round shapes in the world as pixels of a picture of so many rows.

    ends: (n, 2, 3), their axes.

    Outside of a ball the outline is at the length of the tangent, sqrt(d^2 - r^2); inside it there is none, and as much
    is taken for the distance.
    """
    if camera.height is not None:
        return radii * height / camera.height
    along = ends[:, 1] - ends[:, 0]
    squares = np.maximum(np.sum(along * along, axis=-1), 1e-300)
    at = np.clip(np.sum((np.array(camera.eye) - ends[:, 0]) * along, axis=-1) / squares, 0.0, 1.0)
    away = np.array(camera.eye) - ends[:, 0] - at[:, None] * along
    tangents = np.sqrt(np.abs(np.sum(away * away, axis=-1) - radii**2))
    focal = 0.5 * height / math.tan(math.radians(0.5 * camera.vertical_fov))
    return radii * focal / np.maximum(tangents, 1e-9 * radii)
