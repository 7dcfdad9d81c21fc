"""What shading eye paths costs, in nanoseconds per ray, shadow rays counted and tracing not.

Steps of a batch that is full are recorded with the answers of the CPU tracer. Then one thread shades them again and
again, each from its first state. Putting that state back is timed alone and taken off. Of photons there are none, so
that what looking them up costs is left out.
"""

import time
from typing import NamedTuple

import numpy as np

import tracecore
from renderer.camera_paths.lighting import MAX_LIGHT_SAMPLES
from renderer.camera_paths.loops import EyeBatches, advance_batch, new_eye_batches
from renderer.camera_paths.paths import EyeJob
from renderer.camera_paths.task import EyeTask
from renderer.drivers.eye import pixels_by_tile
from renderer.film.layers import LAYER_COLUMNS
from renderer.photons.lookup import no_photons
from renderer.scene.packed_scene import pack_camera, pack_scene
from scenes.model import Snapshot
from tracecore.compilation.cached import compiled
from tracecore.dispatch.port import POLLED, Port, new_port, no_tree
from tracecore.dispatch.ring import RingMemory
from tracecore.dispatch.tracer import Tracer
from tracecore.rays import BATCH_RAYS

#: The picture, large enough for batches to stay full; bounces; steps before the first that counts; steps that count.
SIZE, MAX_BOUNCES, WARM_STEPS, STEPS = (640, 480), 16, 8, 4
REPETITIONS = 20


class Step(NamedTuple):
    """A batch as a step of shading finds it, and how many rays the step leaves to be traced."""

    port: Port
    batches: EyeBatches
    rays: int


def eye_job(snapshot: Snapshot, diffuse: int) -> EyeJob:
    """Returns a pass without photons. diffuse: what its paths do with diffuse reflection, see `camera_paths.task`."""
    scene = pack_scene(snapshot)
    samples = min(int(np.count_nonzero(scene.lights.probability)), MAX_LIGHT_SAMPLES)
    return EyeJob(
        scene=scene,
        lookup=no_photons(),
        task=EyeTask(np.uint64(0), 0, diffuse, MAX_BOUNCES, samples, 0.0),
        camera=pack_camera(snapshot.camera, *SIZE),
        size=SIZE,
        pixels=pixels_by_tile(*SIZE),
        taken=np.zeros(1, np.int64),
        reach=0.0,
        image=np.zeros((SIZE[0] * SIZE[1], LAYER_COLUMNS["beauty"])),
    )


@compiled
def shade_step(job: EyeJob, port: Port, batches: EyeBatches) -> None:
    """Shades the only batch once."""
    advance_batch(job, port, batches, 0)


def answer(tracer: Tracer, port: Port, batches: EyeBatches) -> int:
    """Traces the rays that a step has left. Returns how many they are."""
    counts = [int(batches.active[0]), *batches.shadows[0].tolist()]
    for slot, count in enumerate(counts):
        query = tracer.any_hit if slot else tracer.closest_hit
        if count:
            port.hits[slot, :, :count] = query(np.ascontiguousarray(port.rays[slot, :, :count].T)).T
    return sum(counts)


def copied(port: Port, batches: EyeBatches) -> tuple[Port, EyeBatches]:
    """Returns copies of all that shading reads and writes."""
    arrays = {name: value.copy() for name, value in batches._asdict().items() if isinstance(value, np.ndarray)}
    mine = port._replace(rays=port.rays.copy(), hits=port.hits.copy())
    arrays["prim_ids"] = mine.hits[:, 3].view(np.uint32)
    return mine, batches._replace(**arrays)


def record(snapshot: Snapshot, job: EyeJob) -> list[Step]:
    """Traces full batches of eye paths, and returns their steps."""
    slots = 1 + job.task.light_samples
    memory = RingMemory(slots, BATCH_RAYS, np.zeros)
    port = new_port(memory, slice(0, slots), POLLED, no_tree(), timeout=1.0)
    batches, steps = new_eye_batches(port, 1, slots, threads=1), []
    with tracecore.open_tracer(snapshot.positions, device="cpu", threads=1) as tracer:
        for step in range(-WARM_STEPS, STEPS):
            before = copied(port, batches)
            shade_step(job, port, batches)
            rays = answer(tracer, port, batches)
            if step >= 0:
                steps.append(Step(*before, rays))
    return steps


def put_back(step: Step, port: Port, batches: EyeBatches) -> None:
    """Brings a batch to the state in which a step finds it."""
    port.rays[:], port.hits[:] = step.port.rays, step.port.hits
    for name, value in batches._asdict().items():
        if isinstance(value, np.ndarray) and name not in ("prim_ids", "scratch"):
            value[:] = getattr(step.batches, name)


def eye_nanoseconds_per_ray(snapshot: Snapshot, diffuse: int) -> float:
    """Returns the nanoseconds per ray, by the clock of the thread: the sum over the steps of the least of some rounds.

    diffuse: what paths do with diffuse reflection, see `camera_paths.task`.
    """
    job = eye_job(snapshot, diffuse)
    steps, seconds = record(snapshot, job), 0.0
    port, batches = copied(steps[0].port, steps[0].batches)
    for step in steps:
        rounds = []
        for _ in range(REPETITIONS):
            job.taken[:] = 0
            put_back(step, port, batches)
            started = time.thread_time()
            shade_step(job, port, batches)
            rounds.append(time.thread_time() - started)
        seconds += min(rounds)
    return 1e9 * seconds / sum(step.rays for step in steps)
