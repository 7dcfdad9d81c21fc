"""Rates of the GPU's kernels and of streamed dispatch: `python -m tracecore.gpu_benchmark [SCENE.npz]`.

SCENE.npz holds `triangles`, (t, 3, 3), and sets of rays by name, (n, 8) float32 each, at least `photon`; without it a
room full of spheres is made. Three more sets follow from the set `primary`: ambient occlusion, and the first and the
fourth diffuse bounce. Every figure is a median of 5.
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
from tracecore.kernel_time import kernel_seconds
from tracecore.rays import BATCH_RAYS, Floats, make_rays
from tracecore.ring import RingBatch, ring_again
from tracecore.strategies import strategy_names
from tracecore.streamed import CopiedBatch, PinnedBatch, StreamedQueue
from tracecore.tracer import Query, RayQueue
from tracecore.triangles import checked_triangles

REPEATS = 5
LAUNCH_RAYS = 1 << 21
STREAMED_RAYS = 1 << 24

#: Kernels that are measured in resident dispatch too.
RESIDENT = ("while-while", "replacing-while-while", "replacing-compressed-bvh8")

#: How far a ray for ambient occlusion goes, of the scene's diagonal.
OCCLUSION_RADIUS = 0.2

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
    sets |= following_sets(sets.get("primary"), triangles, tracers[0])
    print(f"{gpu_name()}, {len(triangles)} triangles, {tracers[0].bvh.nodes} nodes; Mrays/s, median of {REPEATS}")
    tables = {
        "kernels": list(kernel_rows(tracers, sets)),
        "launches": list(launch_rows(tracers[0], sets["photon"])),
        "streamed": list(streamed_rows(tracers[0], sets["photon"])),
        "resident": [row for name in RESIDENT for row in resident_rows(triangles, name, sets["photon"])],
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


def following_sets(primary: Floats | None, triangles: Floats, tracer: GpuTracer) -> dict[str, Floats]:
    """What follows from camera rays: short rays for ambient occlusion, and diffuse bounces 1 and 4."""
    if primary is None:
        return {}
    random = np.random.default_rng(2)
    bounces = [primary]
    for _ in range(4):
        bounces.append(diffuse_rays(triangles, bounces[-1], tracer.closest_hit(bounces[-1]), random))
    occlusion = bounces[1].copy()
    occlusion[:, 7] = OCCLUSION_RADIUS * np.linalg.norm(np.ptp(triangles.reshape(-1, 3), axis=0))
    return {"ao": occlusion, "bounce 1": bounces[1], "bounce 4": bounces[4]}


def kernel_rates(tracer: GpuTracer, rays: Floats) -> tuple[float, float]:
    """Millions of rays per second of one launch, by the device's clock, launch alone: closest hit and any hit."""

    def rate(query: Query) -> float:
        return len(rays) / statistics.median(kernel_seconds(tracer, rays, query, REPEATS)) / 1e6

    return rate(Query.CLOSEST), rate(Query.ANY)


def median(measure: Callable[[], float]) -> float:
    """Of `REPEATS` measurements."""
    return statistics.median(measure() for _ in range(REPEATS))


def kernel_rows(tracers: list[GpuTracer], sets: dict[str, Floats]) -> Iterator[Row]:
    """Every kernel on every set of rays, closest hit / any hit: a table in Markdown."""
    print(
        "\n| kernel | "
        + " | ".join(sets)
        + " | registers | occupancy | shared bytes |"
        + "\n"
        + "|---" * (len(sets) + 4)
        + "|"
    )
    for tracer in tracers:
        kernel = tracer.session.kernel
        row: Row = {"kernel": tracer.name}
        for name, rays in sets.items():
            row[f"{name} closest"], row[f"{name} any"] = kernel_rates(tracer, rays[:LAUNCH_RAYS])
        row["registers"] = " / ".join(map(str, kernel.registers))
        row["occupancy"] = " / ".join(f"{share:.0%}" for share in kernel.occupancy)
        row["shared"] = kernel.shared_bytes
        rates = (f"{row[f'{name} closest']:.0f} / {row[f'{name} any']:.0f}" for name in sets)
        print(
            f"| {tracer.name} | {' | '.join(rates)} | {row['registers']} | {row['occupancy']} | {row['shared']} |",
            flush=True,
        )
        yield row


def launch_rows(tracer: GpuTracer, rays: Floats) -> Iterator[Row]:
    """One launch at a time, of fewer rays."""
    print(f"\n{tracer.name} on 'photon', one launch at a time\n{'rays':>24} {'closest':>9}")
    for exponent in range(10, 21, 2):
        rate, _ = kernel_rates(tracer, rays[: 1 << exponent])
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


def resident_rows(triangles: Floats, kernel: str, rays: Floats) -> Iterator[Row]:
    """End to end through a ring: compiled threads that ring again as soon as a flag is up."""
    print(f"\n{kernel} on 'photon', resident, nothing done with the hits\n{'threads':>24} depth {'Mrays/s':>9} busy")
    shapes = ((1, 4), (1, 16), (4, 16), (8, 16), (16, 4), (16, 16), (16, 32))
    with GpuTracer(triangles, kernel, threads=max(threads * depth for threads, depth in shapes)) as tracer:
        for threads, depth in shapes:
            rate, busy = _ring_rate(tracer, (threads, depth), rays)
            print(f"{threads:24} {depth:5} {rate:9.1f} {busy:4.0%}", flush=True)
            yield {"kernel": kernel, "threads": threads, "depth": depth, "rate": rate, "busy": busy}


def _ring_rate(tracer: GpuTracer, shape: tuple[int, int], rays: Floats) -> tuple[float, float]:
    """Millions of rays per second of wall time, and the share of it in which the device had work."""
    threads, depth = shape
    queues = [tracer.open_queue() for _ in range(threads)]
    batches = [_traced_once(queue, rays[: depth * BATCH_RAYS]) for queue in queues]
    rounds = 4 * STREAMED_RAYS // (threads * depth * BATCH_RAYS)
    before, start = tracer.statistics().busy_seconds, time.perf_counter()
    workers = [
        threading.Thread(target=ring_again, args=(batch.memory.bells, batch.memory.flags, batch.first, depth, rounds))
        for batch in batches
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    seconds = time.perf_counter() - start
    for queue in queues:
        queue.close()
    return rounds * threads * depth * BATCH_RAYS / seconds / 1e6, (tracer.statistics().busy_seconds - before) / seconds


def _traced_once(queue: RayQueue, rays: Floats) -> RingBatch:
    """A batch that has been traced."""
    batch = queue.batch(len(rays))
    batch.rays[:] = rays
    queue.submit(batch, len(rays), Query.CLOSEST)
    queue.wait(batch)
    if not isinstance(batch, RingBatch):
        raise DeviceError("the benchmark of the ring needs a tracer in resident dispatch")
    return batch


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
