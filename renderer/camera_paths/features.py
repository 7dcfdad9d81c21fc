"""What the eye meets first: colour, normal and distance of surfaces, as layers of a picture and to denoise by."""

from renderer.camera_paths.bounce import places_of
from renderer.camera_paths.loops import EyeBatches, batch_at, fill_batch
from renderer.camera_paths.paths import EYE_PIXEL, EyeBatch, EyeJob
from renderer.camera_paths.vertices import look_at_surfaces, pick_vertices, rules_of
from renderer.film.layers import LAYER_ALBEDO, LAYER_DEPTH, LAYER_LOOKED, LAYER_NORMAL, LAYER_SEEN, add_color
from renderer.shading.chunks import Long, View
from renderer.shading.queues import Queue, Walk, shade_queues
from renderer.shading.scattering import ALBEDO
from renderer.simd.bsdf_kinds import call_at
from renderer.simd.columns import column
from shaders.compilation import compiled as inlined
from shaders.float32 import ONE
from tracecore.compilation.borrowing import borrowed
from tracecore.compilation.cached import compiled
from tracecore.compilation.vector import address
from tracecore.dispatch.port import NO_OPTIONS, Port, next_batch, submit

#: So many passes are enough: features have little noise.
FEATURE_PASSES = 16


@compiled
def add_features(job: EyeJob, batch: EyeBatch, active: int) -> None:
    """Add the features of what the camera rays of a batch met to their columns of the job's image."""
    job, batch = borrowed(job), borrowed(batch)
    for i in range(active):
        job.image[Long(batch.paths[EYE_PIXEL, i]), LAYER_LOOKED] += 1.0
    shade_queues(add_features_of, job, Walk(job.scene, places_of(batch), batch.scratch[0], active, active))


@inlined
def add_features_of(queue: Queue, view: View, rays: tuple[int, int], job: EyeJob) -> tuple[int, int]:
    """Add the features of the hits of a queue among some rays, as `shade_queues` says; no path goes on."""
    chunk, image, table = view.chunk, job.image, job.scene.bsdfs
    hits, looked = pick_vertices(queue, view, rays[1])
    if hits == 0:
        return looked, 0
    look_at_surfaces(job.scene, queue, view, hits)
    call_at(table.loops[queue.bsdf, ALBEDO], (chunk, hits, rules_of(job.task, 0.0), address(table.tables)))
    for i in range(hits):
        pixel, color = Long(chunk.pixel[i]), column(chunk.weight, i)
        add_color(image, pixel, LAYER_ALBEDO, (min(color[0], ONE), min(color[1], ONE), min(color[2], ONE)))
        add_color(image, pixel, LAYER_NORMAL, column(chunk.shading, i))
        image[pixel, LAYER_DEPTH] += chunk.distance[i]
        image[pixel, LAYER_SEEN] += 1.0
    return looked, 0


@compiled
def run_features(job: EyeJob, port: Port, batches: EyeBatches) -> int:
    """Trace camera rays and add features until no pixel is left. Returns as `next_batch` does."""
    job, port, batches = borrowed(job), borrowed(port), borrowed(batches)
    index = next_batch(port, batches.live, batches.slots)
    while index >= 0:
        add_features(job, batch_at(port, batches, index), batches.active[index])
        fill_batch(job, port, batches, index, 0)
        if batches.active[index] > 0:
            submit(port, index, batches.active[index], NO_OPTIONS)
        index = next_batch(port, batches.live, batches.slots)
    return index
