"""This module computes the first radius of a search for photons, and how it shrinks from pass to pass."""

import math
from typing import NamedTuple

import numpy as np

from renderer.drivers.driver import RenderSettings
from renderer.photons.photon_map import DISC_THICKNESS
from renderer.scene.packed_scene import CameraArrays, PackedScene
from shaders.float32 import Bools, Doubles, Longs
from tracecore.compilation.cached import compiled
from tracecore.dispatch.tracer import Tracer
from tracecore.rays import HIT, MISS, as_records, make_rays

#: alpha of Knaus, Zwicker: Progressive Photon Mapping: A Probabilistic Approach, 2011. The variance of the mean of n
#: passes falls as n^-alpha and its bias as n^(alpha - 1); with 2/3 noise and bias both fall as n^-1/3.
SHRINK_ALPHA = 2.0 / 3.0

#: The first gather radius in footprints of a pixel ...
RADIUS_FOOTPRINTS = 2.0
#: ... or, where that is more, so wide that its disc gets this many of a pass's photons if they spread evenly.
RADIUS_PHOTONS = 2.0

#: Where a pilot has looked for photons: the widest radius of a disc, as a share of the longer side of the picture, so
#: that no disc is wider than a fiftieth of it ...
WIDEST = 0.01
#: ... photons that a pass must find in a disc, and the fewest with which it is looked at all ...
NEEDED_PHOTONS, LEAST_PHOTONS = 16.0, 4.0
#: ... photons that a disc behind a diffuse reflection should have ...
GATHERED_PHOTONS = 30.0
#: ... and where most pixels look there, a pass sends one photon for so many.
FEW_PHOTONS = 4

#: Photons in media that a ray through all of them finds, where they spread evenly.
BEAM_PHOTONS = 8.0

#: Surfaces whose normals differ by more than this cosine part at an edge.
EDGE_COSINE = 0.95


def pass_radius(first_radius: float, index: int) -> float:
    """Returns the radius of the photon search in pass `index`, where pass 0 has the first radius.

    Knaus and Zwicker (2011) count passes from i = 1, and have r^2 shrink by (i + alpha) / (i + 1) from pass i to the
    next: by 5/6 from the first to the second. Hachisuka and Jensen (2009, `sppm`) start without photons, which is the
    same law from i = 0: their first step is by alpha itself, and in the long run their discs are alpha times as large.
    """
    i = np.arange(1, index + 1, dtype=np.float64)
    return first_radius * float(np.sqrt(np.prod((i + SHRINK_ALPHA) / (i + 1.0))))


def photon_radius(area: float, photons: float, found: float = RADIUS_PHOTONS) -> float:
    """Returns the radius of a disc that gets `found` of so many photons, spread evenly over an area."""
    return math.sqrt(found * area / (math.pi * photons))


def footprint_radius(tracer: Tracer, camera: CameraArrays, height: int) -> float:
    """Returns two footprints of a pixel in world units, with perspective at the median distance of what the camera
    sees.

    tracer: of the scene.
    camera: for a picture of this height.
    height: of the picture, in pixels.
    """
    depth = 1.0 if camera.is_parallel else median_depth(tracer, camera)
    return RADIUS_FOOTPRINTS * depth * 2.0 * float(np.linalg.norm(camera.down)) / height


def rays_through(camera: CameraArrays, x: Doubles, y: Doubles) -> tuple[Doubles, Doubles]:
    """Returns origins and directions, both (3, n), of rays through places of the picture, -1..1. The directions have
    length 1 along the view; so distances in them are depth."""
    eye, forward = camera.eye[:, None], camera.forward[:, None]
    shift = x.ravel() * camera.right[:, None] + y.ravel() * camera.down[:, None]
    if camera.is_parallel:
        return eye + shift, np.broadcast_to(forward, shift.shape)
    return np.broadcast_to(eye, shift.shape), forward + shift


def median_depth(tracer: Tracer, camera: CameraArrays) -> float:
    """Returns the median distance along the view of what a camera with perspective sees; 1 where it sees nothing."""
    x, y = np.meshgrid(np.linspace(-0.97, 0.97, 64), np.linspace(-0.97, 0.97, 48))
    origins, directions = rays_through(camera, x, y)
    t = tracer.closest_hit(make_rays(origins.T, directions.T, camera.near))[:, 0]
    seen = t[np.isfinite(t)]
    return float(np.median(seen)) if len(seen) else 1.0


class PixelViews(NamedTuple):
    """What the middles of pixels show.

    widest: (pixels,) float64, radius of a disc that is so wide as discs may be in the picture, world units.
    room: (pixels,) float64, how far the surface reaches to all sides in the picture, no more than that radius.
    """

    widest: Doubles
    room: Doubles


def views_of(scene: PackedScene, tracer: Tracer, camera: CameraArrays, settings: RenderSettings) -> PixelViews:
    """Returns what the middles of the pixels of a picture show."""
    width, height = settings.width, settings.height
    x, y = np.meshgrid((2.0 * np.arange(width) + 1.0) / width - 1.0, (2.0 * np.arange(height) + 1.0) / height - 1.0)
    origins, directions = rays_through(camera, x, y)
    hits = as_records(tracer.closest_hit(make_rays(origins.T, directions.T, camera.near)), HIT)
    is_seen = hits["prim_id"] != MISS
    ids, depth = np.where(is_seen, hits["prim_id"], 0), np.where(is_seen, hits["t"], 1.0).astype(np.float64)
    shape, most = (height, width), WIDEST * max(width, height)
    footprint = (np.ones_like(depth) if camera.is_parallel else depth) * (
        2.0 * float(np.linalg.norm(camera.down)) / height
    )
    points = (origins + depth * directions).reshape(3, *shape)
    normals = np.ascontiguousarray(scene.photon_scene.records["normal"][ids].T, np.float64).reshape(3, *shape)
    edges = edges_of(points, normals, is_seen.reshape(shape), footprint.reshape(shape))
    return PixelViews(most * footprint, np.minimum(pixels_to(edges, most), most).ravel() * footprint)


@compiled
def edges_of(points: Doubles, normals: Doubles, is_seen: Bools, footprint: Doubles) -> Bools:
    """Returns which pixels (rows, columns) are next to one that shows another surface, or whose plane is another one.

    points, normals: (3, rows, columns) of what they show.
    is_seen: whether they show anything.
    footprint: how wide a pixel is there, world units.
    """
    rows, columns = is_seen.shape
    edges = np.zeros((rows, columns), np.bool_)
    for row in range(rows):
        for column in range(columns):
            for down, right in ((0, 1), (1, 0)):
                one, other = (row, column), (row + down, column + right)
                if other[0] < rows and other[1] < columns:
                    cosine, above = 0.0, 0.0
                    for axis in range(3):
                        normal, place = normals[axis], points[axis]
                        cosine += normal[one] * normal[other]
                        above += normal[one] * (place[other] - place[one])
                    is_bent = abs(cosine) < EDGE_COSINE or abs(above) > DISC_THICKNESS * footprint[one]
                    if is_bent or is_seen[one] != is_seen[other]:
                        edges[one] = edges[other] = True
    return edges


@compiled
def pixels_to(edges: Bools, most: float) -> Doubles:
    """Returns how many pixels, along rows or columns, lie between each pixel and an edge: (rows, columns); infinite
    where they are more than `most`.

    They are counted from above, then from below. (Rosenfeld and Pfaltz: Sequential Operations in Digital Picture
    Processing, 1966.)
    """
    rows, columns = edges.shape
    distance = np.where(edges, 0.0, np.inf)
    for turn in (1, -1):
        for k in range(rows * columns):
            row, column = divmod(k if turn > 0 else rows * columns - 1 - k, columns)
            for up, left in ((1, 1), (1, 0), (1, -1), (0, 1)):
                other = row - turn * up, column - turn * left
                if 0 <= other[0] < rows and 0 <= other[1] < columns:
                    distance[row, column] = min(distance[row, column], distance[other] + 1.0)
    return np.where(distance <= np.ceil(most), distance, np.inf)


def pixel_radii(views: PixelViews, found: Longs) -> Doubles:
    """Returns the first radius of each pixel, (pixels,) float64, as `PhotonLookup.radii` has them: as wide as the
    photons need it that a pass must find, no wider than the surface has room, and below 0 where too few are left.

    found: (pixels,) int64, photons of a pass within the widest disc.
    """
    wanted = views.widest * np.sqrt(np.minimum(1.0, NEEDED_PHOTONS / np.maximum(found, 1)))
    radii = np.minimum(wanted, views.room)
    return np.where(found * np.square(radii / views.widest) >= LEAST_PHOTONS, radii, -views.widest)


def gathered_radius(radius: float, found: float, evenly: float) -> float:
    """Returns the first radius of the search behind a diffuse reflection: as wide as it finds enough photons, but no
    wider than where they spread evenly.

    radius, found: one, and how many photons it has found on average.
    evenly: the radius where they spread evenly.
    """
    return min(evenly, radius * math.sqrt(GATHERED_PHOTONS / found)) if found > 0.0 else evenly
