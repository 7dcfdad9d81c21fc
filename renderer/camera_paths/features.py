"""What the eye meets first: colour, normal and distance of surfaces, as layers of a picture and to denoise by."""

import numpy as np

from renderer.camera_paths.loops import EyeBatches, fill_batch
from renderer.camera_paths.paths import EYE_PIXEL, EyeJob, Long, ray_direction
from renderer.film.layers import LAYER_ALBEDO, LAYER_DEPTH, LAYER_LOOKED, LAYER_NORMAL, LAYER_SEEN, add_color
from renderer.photons.batch import HIT_ID
from shaders.bsdf import Bsdf, entering_share
from shaders.compilation import compiled as inlined
from shaders.surface import local, surface_at
from shaders.vector import WHITE, Color, Vec3, add, multiply, scale, subtract
from tracecore.compilation.borrowing import borrowed
from tracecore.compilation.cached import compiled
from tracecore.dispatch.port import NO_OPTIONS, Port, next_batch, submit
from tracecore.rays import MISS

#: So many passes are enough: features have little noise.
FEATURE_PASSES = 16


@inlined
def albedo(bsdf: Bsdf, wo: Vec3) -> Color:
    """Returns all that a surface reflects towards wo and lets through, no more than 1."""
    entering = entering_share(bsdf, wo)
    coated = add(multiply(bsdf.diffuse, entering), subtract(WHITE, entering))
    total = add(coated, add(bsdf.phong, add(bsdf.mirror, bsdf.transmission)))
    return (min(total[0], 1.0), min(total[1], 1.0), min(total[2], 1.0))


@compiled
def add_features(job: EyeJob, port: Port, batches: EyeBatches, index: int) -> None:
    """Add the features of what the camera rays of a batch met to their columns of the job's image."""
    rays, hits, prim_ids = port.rays[index], port.hits[index], batches.words[index, HIT_ID]
    pixels, image = batches.paths[index, EYE_PIXEL], job.image
    for i in range(batches.active[index]):
        pixel = Long(pixels[i])
        image[pixel, LAYER_LOOKED] += 1.0
        if prim_ids[i] == MISS:
            continue
        wo = scale(ray_direction(rays, i), -1.0)
        hit = surface_at(job.scene.surfaces, prim_ids[i], np.float64(hits[1, i]), np.float64(hits[2, i]), wo)
        add_color(image, pixel, LAYER_ALBEDO, albedo(hit.bsdf, local(hit, wo)))
        add_color(image, pixel, LAYER_NORMAL, hit.shading_normal)
        image[pixel, LAYER_DEPTH] += hits[0, i]
        image[pixel, LAYER_SEEN] += 1.0


@compiled
def run_features(job: EyeJob, port: Port, batches: EyeBatches) -> int:
    """Trace camera rays and add features until no pixel is left. Returns as `next_batch` does."""
    job, port, batches = borrowed(job), borrowed(port), borrowed(batches)
    index = next_batch(port, batches.live, batches.slots)
    while index >= 0:
        add_features(job, port, batches, index)
        fill_batch(job, port, batches, index, 0)
        if batches.active[index] > 0:
            submit(port, index, batches.active[index], NO_OPTIONS)
        index = next_batch(port, batches.live, batches.slots)
    return index
