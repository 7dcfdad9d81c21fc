"""What shading a photon costs: `python -m renderer.shading_benchmark [SCENE]`, in nanoseconds of one core.

Hits are traced once by the CPU tracer. Then one thread shades the same batches again and again, in compiled code and by
the thread's own clock; copying a batch in, which the tracer would do, is timed alone and taken off. `plain` is the
scene with diffuse surfaces and one square light (`scenes.plain`), `real` the scene as it is.
"""

import argparse
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import scenes
import tracecore
from renderer.driver import RenderSettings
from renderer.drivers import photon_task
from renderer.packed_scene import PackedScene, pack_scene
from renderer.photon_shading import (
    COUNTERS,
    STORED,
    PhotonOutput,
    PhotonPaths,
    PhotonTask,
    RayBatch,
    advance_photons,
    new_paths,
)
from scenes.model import Snapshot
from scenes.plain import plain
from shaders.compilation import compiled
from tracecore.rays import BATCH_RAYS, HIT_FLOATS, RAY_FLOATS, Floats

#: Batches before the first that counts, so that paths of all lengths are under way; and batches that count.
WARM_BATCHES, BATCHES = 12, 8
REPETITIONS, ROUNDS = 5, 60


class Recording(NamedTuple):
    """Traced batches as shading finds them. rays, hits, paths: (batches, rays, 8 or 4) float32."""

    rays: Floats
    hits: Floats
    paths: Floats


class Workplace(NamedTuple):
    """What shading works on."""

    batch: RayBatch
    paths: PhotonPaths
    output: PhotonOutput


def new_workplace() -> Workplace:
    """For one batch, with room for its photons."""
    return Workplace(
        batch=RayBatch(np.zeros((BATCH_RAYS, RAY_FLOATS), np.float32), np.zeros((BATCH_RAYS, HIT_FLOATS), np.float32)),
        paths=new_paths(BATCH_RAYS),
        output=PhotonOutput(
            np.zeros((BATCH_RAYS, 6), np.uint32), np.zeros(BATCH_RAYS, np.uint64), np.zeros(COUNTERS, np.int64)
        ),
    )


def record(snapshot: Snapshot, scene: PackedScene, task: PhotonTask) -> Recording:
    """Trace full batches of photons."""
    work, photons, active, kept = new_workplace(), np.array([0, 1 << 31]), 0, []
    with tracecore.open_tracer(snapshot.positions, device="cpu", threads=1) as tracer:
        for _ in range(WARM_BATCHES + BATCHES):
            work.output.counters[STORED] = 0
            active = advance_photons(scene, task, work.batch, work.paths, active, photons, work.output)
            work.batch.hits[:] = tracer.closest_hit(work.batch.rays)
            kept.append((work.batch.rays.copy(), work.batch.hits.copy(), work.paths.rows.copy()))
    rays, hits, paths = (np.stack(arrays) for arrays in zip(*kept[WARM_BATCHES:], strict=True))
    return Recording(rays, hits, paths)


@compiled
def shade_all(
    scene: PackedScene, task: PhotonTask, recording: Recording, work: Workplace, repetitions: int, only_copy: bool
) -> None:
    """Shade every batch so many times."""
    photons = np.array([0, 1 << 31])
    for _ in range(repetitions):
        for k in range(len(recording.rays)):
            work.batch.rays[:], work.batch.hits[:] = recording.rays[k], recording.hits[k]
            work.paths.rows[:] = recording.paths[k]
            if not only_copy:
                work.output.counters[STORED] = 0
                active = len(work.batch.rays)
                advance_photons(scene, task, work.batch, work.paths, active, photons, work.output)


def least_seconds(function: Callable[..., Any], *arguments: Any) -> float:
    """Time of the thread, the least of some rounds."""
    seconds = []
    for _ in range(ROUNDS + 1):
        started = time.thread_time()
        function(*arguments)
        seconds.append(time.thread_time() - started)
    return min(seconds[1:])


def nanoseconds_per_ray(snapshot: Snapshot) -> float:
    """To shade a hit, store its photon, and fill the batch up with the next ray or a fresh photon."""
    scene = pack_scene(snapshot)
    task = photon_task(scene, RenderSettings(width=1, height=1), 0, min_bounces=0)
    recording, work = record(snapshot, scene, task), new_workplace()
    rays = REPETITIONS * BATCHES * BATCH_RAYS
    both, copy = (least_seconds(shade_all, scene, task, recording, work, REPETITIONS, only) for only in (False, True))
    return (both - copy) / rays * 1e9


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m renderer.shading_benchmark", description=__doc__)
    parser.add_argument("scene", nargs="?", default="cornell", metavar="SCENE")
    snapshot = scenes.load(parser.parse_args().scene).at_frame(0)
    for name, shown in (("plain", plain(snapshot)), ("real", snapshot)):
        print(f"{snapshot.name} {name:<6}{nanoseconds_per_ray(shown):6.1f} ns per ray and core")


if __name__ == "__main__":
    main()
