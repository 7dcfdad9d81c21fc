"""A photon tracer in plain NumPy: batches of rays go to the co-processor, and their hits come back in order."""

import numpy as np

import tracecore


def trace_photons(triangles, origin, reflectance, photons, *, device="auto", seed=0):
    """Follow photons from a lamp without size until walls absorb them.

    triangles: (t, 3, 3) float32, diffuse on both sides. origin: (3,), of the lamp. reflectance: share in 0..1.

    Returns where photons landed, (n, 3) float32 with a row for each hit, and how many left the scene.
    """
    random = np.random.default_rng(seed)
    edges = np.diff(triangles, axis=1)
    normals = unit(np.cross(edges[:, 0], edges[:, 1]))
    starts = [min(tracecore.BATCH_RAYS, photons - k) for k in range(0, photons, tracecore.BATCH_RAYS)]
    todo = [tracecore.make_rays(np.broadcast_to(origin, (n, 3)), unit(random.normal(size=(n, 3)))) for n in starts]
    landed, escaped, under_way = [], 0, {}
    with tracecore.open_tracer(triangles, device=device) as tracer, tracer.open_queue() as queue:
        while todo or queue.in_flight:
            while todo and queue.in_flight < queue.depth:
                rays = todo.pop()
                under_way[queue.submit(rays)] = rays
            for number, hits in queue.completed(at_least=1):
                rays = tracecore.as_records(under_way.pop(number), tracecore.RAY)
                hits = tracecore.as_records(hits, tracecore.HIT)
                is_hit = hits["prim_id"] != tracecore.MISS
                rays, hits, escaped = rays[is_hit], hits[is_hit], escaped + int((~is_hit).sum())
                points = rays["origin"] + hits["t"][:, None] * rays["direction"]
                landed.append(points)
                goes_on = random.random(len(points)) < reflectance
                facing = normals[hits["prim_id"]]
                facing *= -np.sign((facing * rays["direction"]).sum(axis=1, keepdims=True))
                bounced = unit(facing + unit(random.normal(size=points.shape)))  # by the cosine law
                if goes_on.any():
                    todo.append(tracecore.make_rays((points + 1e-4 * facing)[goes_on], bounced[goes_on]))
    return np.concatenate(landed), escaped


def unit(vectors):
    """Returns the vectors at length 1."""
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)
