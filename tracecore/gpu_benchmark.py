"""Rates of the GPU's kernels and of streamed dispatch: `python -m tracecore.gpu_benchmark [SCENE.npz]`.

SCENE.npz holds `triangles`, (t, 3, 3), and sets of rays by name, (n, 8) float32 each, at least `photon`; without it a
room full of spheres is made. One more set follows from the set `primary`: its fourth diffuse bounce. Every figure is a
median of 5.
"""

import argparse
import json
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from tracecore.compare_embree import View, camera_rays, diffuse_rays, room_of_spheres
from tracecore.errors import DeviceError
from tracecore.gpu import GpuTracer, gpu_unavailable_reason
from tracecore.gpu_device import gpu_name
from tracecore.rays import BATCH_RAYS, Floats, make_rays
from tracecore.strategies import strategy_names
from tracecore.streamed import CopiedBatch, PinnedBatch, StreamedQueue
from tracecore.tracer import Query, RayQueue
from tracecore.triangles import checked_triangles

REPEATS = 5
LAUNCH_RAYS = 1 << 21
STREAMED_RAYS = 1 << 24

Row = dict[str, str | int | float]


def main() -> None:
    """Print the tables; with --json FILE also write them."""
    parser = argparse.ArgumentParser(description="Rates of the GPU's kernels and of streamed dispatch.")
    parser.add_argument("scene", nargs="?", help="SCENE.npz: triangles (t, 3, 3) and named sets of rays (n, 8)")
    parser.add_argument("--kernels", default=",".join(strategy_names()), help="names with commas; default: all")
    parser.add_argument("--json", type=Path, help="write the figures to a file")
    options = parser.parse_args()
    if reason := gpu_unavailable_reason():
        raise DeviceError(f"no GPU can be used: {reason}")
    triangles, sets = read_scene(options.scene)
    tracers = [GpuTracer(triangles, name) for name in options.kernels.split(",")]
    add_bounces(sets, triangles, tracers[0])
    print(f"{gpu_name()}, {len(triangles)} triangles, {tracers[0].bvh.nodes} nodes; Mrays/s, median of {REPEATS}")
    tables = {
        "kernels": list(kernel_rows(tracers, sets)),
        "launches": list(launch_rows(tracers[0], sets["photon"])),
        "streamed": list(streamed_rows(tracers[0], sets["photon"])),
    }
    if options.json:
        options.json.write_text(json.dumps({"gpu": gpu_name(), "triangles": len(triangles), **tables}, indent=1))


def read_scene(path: str | None) -> tuple[Floats, dict[str, Floats]]:
    """Triangles and sets of rays, of a file or made up."""
    if path is not None:
        with np.load(path) as arrays:
            sets = {name: arrays[name].astype(np.float32) for name in arrays.files if name != "triangles"}
            return checked_triangles(arrays["triangles"]), sets
    triangles = room_of_spheres()
    random = np.random.default_rng(1)
    view = View(np.array([0.9, 0.3, 0.9]), np.zeros(3), 60.0)
    lamps = random.uniform(-0.9, 0.9, (6, 3))[random.integers(6, size=LAUNCH_RAYS)]
    photons = make_rays(lamps, random.normal(size=(LAUNCH_RAYS, 3)))
    return triangles, {"primary": camera_rays(view, 720, random), "photon": photons}


def add_bounces(sets: dict[str, Floats], triangles: Floats, tracer: GpuTracer) -> None:
    """The fourth diffuse bounce of the set `primary`, if there is one."""
    if "primary" not in sets:
        return
    rays, random = sets["primary"], np.random.default_rng(2)
    for _ in range(4):
        rays = diffuse_rays(triangles, rays, tracer.closest_hit(rays), random)
    sets["bounce 4"] = rays


def kernel_rate(tracer: GpuTracer, rays: Floats, query: Query = Query.CLOSEST) -> float:
    """Rays per second of one launch, by the device's clock, launch alone."""
    trace = tracer.any_hit if query == Query.ANY else tracer.closest_hit

    def seconds() -> float:
        before = tracer.statistics().busy_seconds
        trace(rays)
        return tracer.statistics().busy_seconds - before

    seconds()
    return len(rays) / median(seconds)


def median(measure: Callable[[], float]) -> float:
    """Of `REPEATS` measurements."""
    return statistics.median(measure() for _ in range(REPEATS))


def kernel_rows(tracers: list[GpuTracer], sets: dict[str, Floats]) -> Iterator[Row]:
    """Every kernel on every set of rays."""
    print(f"\n{'kernel':>24} {'rays':>10} {'count':>9} {'closest':>9} {'any':>9} registers")
    for tracer in tracers:
        registers = ", ".join(map(str, tracer.session.kernel.registers))
        for name, rays in sets.items():
            rays = rays[:LAUNCH_RAYS]
            closest, occlusion = (kernel_rate(tracer, rays, query) / 1e6 for query in (Query.CLOSEST, Query.ANY))
            print(f"{tracer.name:>24} {name:>10} {len(rays):9} {closest:9.0f} {occlusion:9.0f} {registers}", flush=True)
            yield {
                "kernel": tracer.name,
                "set": name,
                "rays": len(rays),
                "closest": closest,
                "any": occlusion,
                "registers": registers,
            }


def launch_rows(tracer: GpuTracer, rays: Floats) -> Iterator[Row]:
    """One launch at a time, of fewer rays."""
    print(f"\n{tracer.name} on 'photon', one launch at a time\n{'rays':>24} {'closest':>9}")
    for exponent in range(10, 21, 2):
        rate = kernel_rate(tracer, rays[: 1 << exponent]) / 1e6
        print(f"{1 << exponent:24} {rate:9.0f}", flush=True)
        yield {"rays": 1 << exponent, "closest": rate}


def streamed_rows(tracer: GpuTracer, rays: Floats) -> Iterator[Row]:
    """End to end through queues, with pinned memory read by the kernel and with copies."""
    print(f"\n{tracer.name} on 'photon', end to end through queues, nothing done with the hits")
    print(f"{'threads':>24} depth batch {'mapped':>9} {'copied':>9}")
    plan = [(threads, depth, BATCH_RAYS) for threads in (1, 2, 4, 8) for depth in (4, 16, 64)]
    for threads, depth, size in [*plan, (1, 16, 16 * BATCH_RAYS), (4, 16, 16 * BATCH_RAYS)]:
        rates = [streamed_rate(tracer, kind, (threads, depth), rays[:size]) for kind in (PinnedBatch, CopiedBatch)]
        mapped, copied = (rate / 1e6 for rate in rates)
        print(f"{threads:24} {depth:5} {size:5} {mapped:9.1f} {copied:9.1f}", flush=True)
        yield {"threads": threads, "depth": depth, "batch": size, "mapped": mapped, "copied": copied}


def streamed_rate(tracer: GpuTracer, kind: type[PinnedBatch], shape: tuple[int, int], rays: Floats) -> float:
    """Rays per second of wall time. shape: threads, and batches that each has in flight."""
    threads, depth = shape
    rounds = max(STREAMED_RAYS // (threads * depth * len(rays)), 2)
    total = threads * depth * len(rays) * rounds

    def seconds() -> float:
        ready = threading.Barrier(threads + 1)
        workers = [
            threading.Thread(target=_feed, args=(StreamedQueue(tracer.session, kind), rays, (depth, rounds), ready))
            for _ in range(threads)
        ]
        for worker in workers:
            worker.start()
        ready.wait()
        start = time.perf_counter()
        for worker in workers:
            worker.join()
        return time.perf_counter() - start

    return total / median(seconds)


def _feed(queue: RayQueue, rays: Floats, shape: tuple[int, int], ready: threading.Barrier) -> None:
    """Trace the same rays in each of so many batches, so many times."""
    depth, rounds = shape
    batches = [queue.batch(len(rays)) for _ in range(depth)]
    for batch in batches:
        batch.rays[:] = rays
    ready.wait()
    for _ in range(rounds):
        for batch in batches:
            queue.wait(batch)
            queue.submit(batch, len(rays), Query.CLOSEST)
    for batch in batches:
        queue.wait(batch)
    queue.close()


if __name__ == "__main__":
    main()
