"""This module computes the first radius of a search for photons, and how it shrinks from pass to pass."""

import math

import numpy as np

from renderer.scene.packed_scene import CameraArrays
from tracecore.arrays import pieces
from tracecore.dispatch.tracer import Tracer
from tracecore.rays import Floats, make_rays

#: alpha of Knaus, Zwicker: Progressive Photon Mapping: A Probabilistic Approach, 2011. The variance of the mean of n
#: passes falls as n^-alpha and its bias as n^(alpha - 1); with 2/3 noise and bias both fall as n^-1/3.
SHRINK_ALPHA = 2.0 / 3.0

#: The first gather radius in footprints of a pixel ...
RADIUS_FOOTPRINTS = 2.0
#: ... or, where that is more, so wide that its disc gets this many of a pass's photons if they spread evenly.
RADIUS_PHOTONS = 2.0


def pass_radius(first_radius: float, index: int) -> float:
    """Returns the radius of the photon search in pass `index`, where pass 0 has the first radius.

    Knaus and Zwicker (2011) count passes from i = 1, and have r^2 shrink by (i + alpha) / (i + 1) from pass i to the
    next: by 5/6 from the first to the second. Hachisuka and Jensen (2009, `sppm`) start without photons, which is the
    same law from i = 0: their first step is by alpha itself, and in the long run their discs are alpha times as large.
    """
    i = np.arange(1, index + 1, dtype=np.float64)
    return first_radius * float(np.sqrt(np.prod((i + SHRINK_ALPHA) / (i + 1.0))))


def surface_area(positions: Floats) -> float:
    """Returns the area of all triangles (n, 3, 3)."""
    doubled = np.empty(len(positions))
    for piece in pieces(len(positions)):
        corners = positions[piece].astype(np.float64)
        normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        doubled[piece] = np.linalg.norm(normals, axis=1)
    return 0.5 * float(doubled.sum())


def photon_radius(area: float, photons: int, found: float = RADIUS_PHOTONS) -> float:
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


def median_depth(tracer: Tracer, camera: CameraArrays) -> float:
    """Returns the median distance along the view of what a camera with perspective sees; 1 where it sees nothing."""
    x, y = np.meshgrid(np.linspace(-0.97, 0.97, 64), np.linspace(-0.97, 0.97, 48))
    across, along = x.reshape(-1, 1), y.reshape(-1, 1)
    directions = camera.forward + across * camera.right + along * camera.down
    t = tracer.closest_hit(make_rays(np.broadcast_to(camera.eye, directions.shape), directions, camera.near))[:, 0]
    seen = t[np.isfinite(t)]
    # The directions have length 1 along the view, so t is depth.
    return float(np.median(seen)) if len(seen) else 1.0


def room_around(scene, tracer, camera, size, widest):
    """widest, room: world."""
    w, h = size
    x, y = np.meshgrid((2.0 * np.arange(w) + 1.0) / w - 1.0, (2.0 * np.arange(h) + 1.0) / h - 1.0)
    shift = x.reshape(-1, 1) * camera.right + y.reshape(-1, 1) * camera.down
    if camera.is_parallel:
        origins, directions = camera.eye + shift, np.broadcast_to(camera.forward, shift.shape)
    else:
        directions = camera.forward + shift
        origins = np.broadcast_to(camera.eye, directions.shape)
    hits = tracer.closest_hit(make_rays(origins, directions, camera.near))
    t = hits[:, 0].astype(np.float64)
    seen = np.isfinite(t)
    depth = np.where(seen, t, 1.0)
    ids = np.where(seen, hits[:, 3].view(np.uint32), 0).astype(np.int64)
    points = (origins + depth[:, None] * directions).reshape(h, w, 3)
    normals = scene.photon_scene.records["normal"][ids].astype(np.float64).reshape(h, w, 3)
    foot = (1.0 if camera.is_parallel else depth) * 2.0 * float(np.linalg.norm(camera.down)) / h
    foot = foot.reshape(h, w)
    seen = seen.reshape(h, w)
    free = np.full((h, w), widest)
    def apart(a, b):
        d = points[b] - points[a]
        na, nb = normals[a], normals[b]
        cos = np.abs((na*nb).sum(-1))
        off = np.abs((na*d).sum(-1))
        return (cos < 0.95) | (off > 0.25*foot[a]) | (seen[a] != seen[b])
    edge = np.zeros((h, w), bool)
    for a, b in (((slice(None), slice(None,-1)), (slice(None), slice(1,None))), ((slice(None,-1), slice(None)), (slice(1,None), slice(None)))):
        e = apart(a, b); edge[a] |= e; edge[b] |= e
    dist = np.where(edge, 0.0, np.inf)  # pixels to the next edge, less one half
    out = np.full((h, w), np.inf); out[edge] = 0.0
    cur = edge.copy()
    for k in range(1, int(np.ceil(widest)) + 1):
        nxt = cur.copy()
        nxt[1:] |= cur[:-1]; nxt[:-1] |= cur[1:]; 
        n2 = nxt.copy(); n2[:, 1:] |= nxt[:, :-1]; n2[:, :-1] |= nxt[:, 1:]
        out[n2 & ~cur] = k
        cur = n2
    return (widest*foot).ravel(), (np.minimum(out, widest)*foot).ravel()
