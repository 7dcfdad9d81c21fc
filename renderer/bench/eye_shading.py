"""What shading eye paths costs, in nanoseconds per ray, shadow rays counted and tracing not.

Steps of a batch that is full are recorded with the answers of the CPU tracer. Then one thread shades them again and
again, each from its first state. Putting that state back is timed alone and taken off. Of photons there are none, so
that what looking them up costs is left out.
"""

import time
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

import tracecore
from renderer.camera_paths.bounce import make_eye_paths_ready
from renderer.camera_paths.lighting import MAX_LIGHT_SAMPLES
from renderer.camera_paths.loops import EyeBatches, advance_batch, new_eye_batches
from renderer.camera_paths.paths import EyeJob, Longs
from renderer.camera_paths.task import EyeTask
from renderer.drivers.eye import pixels_by_tile
from renderer.drivers.shares import TILE
from renderer.film.layers import LAYER_COLUMNS
from renderer.photons.lookup import no_photons
from renderer.scene.packed_scene import pack_camera, pack_scene
from scenes.model import Snapshot
from tracecore.compilation.borrowing import borrowed
from tracecore.compilation.cached import compiled
from tracecore.dispatch.port import POLLED, Port, new_port, no_tree
from tracecore.dispatch.ring import RingMemory
from tracecore.dispatch.tracer import Tracer
from tracecore.rays import BATCH_RAYS, Floats, Ids

#: The picture, large enough for batches to stay full; bounces; steps before the first that counts; steps that count.
SIZE, MAX_BOUNCES, WARM_STEPS, STEPS = (640, 480), 16, 8, 4
ROUNDS = 40

#: Pixels that are visited one after the other, a tile of the picture.
RUN = TILE * TILE


class Steps(NamedTuple):
    """A batch as each step of shading finds it: arrays of `Port` and `EyeBatches`, with a first axis over the steps."""

    rays: Floats
    hits: Floats
    paths: Ids
    radiance: Floats
    shadow_paths: Ids
    active: Longs
    fresh: Longs
    shadows: Longs


def eye_job(snapshot: Snapshot, diffuse: int) -> EyeJob:
    """Returns a pass without photons. diffuse: what its paths do with diffuse reflection, see `camera_paths.task`."""
    scene = pack_scene(snapshot)
    make_eye_paths_ready(scene.bsdfs, diffuse)
    samples = min(int(np.count_nonzero(scene.lights.probability)), MAX_LIGHT_SAMPLES)
    return EyeJob(
        scene=scene,
        lookup=no_photons(),
        task=EyeTask(np.uint64(0), 0, diffuse, MAX_BOUNCES, samples, 0.0),
        camera=pack_camera(snapshot.camera, *SIZE),
        size=SIZE,
        pixels=some_pixels(),
        taken=np.zeros(1, np.int64),
        reach=0.0,
        image=np.zeros((SIZE[0] * SIZE[1], LAYER_COLUMNS["beauty"])),
    )


def some_pixels() -> npt.NDArray[np.int32]:
    """Returns all pixels, in runs of neighbours from all over the picture."""
    runs = pixels_by_tile(*SIZE).reshape(-1, RUN)
    return np.random.default_rng(0).permutation(runs).ravel()


@compiled
def shade_steps(job: EyeJob, port: Port, batches: EyeBatches, steps: Steps, only_copy: bool) -> None:
    """Shades the only batch as each step finds it."""
    job, port, batches, steps = borrowed(job), borrowed(port), borrowed(batches), borrowed(steps)
    job.taken[0] = 0
    for k in range(len(steps.active)):
        port.rays[:], port.hits[:], batches.paths[0] = steps.rays[k], steps.hits[k], steps.paths[k]
        batches.radiance[0], batches.shadow_paths[0] = steps.radiance[k], steps.shadow_paths[k]
        batches.active[0], batches.fresh[0] = steps.active[k], steps.fresh[k]
        batches.shadows[0] = steps.shadows[k]
        if not only_copy:
            advance_batch(job, port, batches, 0)


def state(port: Port, batches: EyeBatches) -> Steps:
    """Returns copies of what shading reads and writes, as one step."""
    return Steps(
        rays=port.rays[None].copy(),
        hits=port.hits[None].copy(),
        paths=batches.paths.copy(),
        radiance=batches.radiance.copy(),
        shadow_paths=batches.shadow_paths.copy(),
        active=batches.active.copy(),
        fresh=batches.fresh.copy(),
        shadows=batches.shadows.copy(),
    )


def answer(tracer: Tracer, port: Port, batches: EyeBatches) -> int:
    """Traces the rays that a step has left. Returns how many they are."""
    counts = [int(batches.active[0]), *batches.shadows[0].tolist()]
    for slot, count in enumerate(counts):
        query = tracer.any_hit if slot else tracer.closest_hit
        if count:
            port.hits[slot, :, :count] = query(np.ascontiguousarray(port.rays[slot, :, :count].T)).T
    return sum(counts)


def nanoseconds(job: EyeJob, snapshot: Snapshot) -> float:
    """Returns the nanoseconds per ray of full batches, by the clock of the thread: the least of some rounds."""
    slots = 1 + job.task.light_samples
    port = new_port(RingMemory(slots, BATCH_RAYS, np.zeros), slice(0, slots), POLLED, no_tree(), timeout=1.0)
    batches = new_eye_batches(port, 1, slots, threads=1)
    steps, rays = [], 0
    with tracecore.open_tracer(snapshot.positions, device="cpu", threads=1) as tracer:
        for step in range(-WARM_STEPS, STEPS):
            found = state(port, batches)
            shade_steps(job, port, batches, found, False)
            count = answer(tracer, port, batches)
            if step >= 0:
                steps.append(found)
                rays += count
    recorded = Steps(*(np.concatenate(parts) for parts in zip(*steps, strict=True)))
    least = []
    for only_copy in (False, True):
        seconds = []
        for _ in range(ROUNDS):
            started = time.thread_time()
            shade_steps(job, port, batches, recorded, only_copy)
            seconds.append(time.thread_time() - started)
        least.append(min(seconds))
    return 1e9 * (least[0] - least[1]) / rays


def eye_nanoseconds_per_ray(snapshot: Snapshot, diffuse: int) -> float:
    """Returns the nanoseconds per ray. diffuse: what paths do with diffuse reflection, see `camera_paths.task`."""
    return nanoseconds(eye_job(snapshot, diffuse), snapshot)
