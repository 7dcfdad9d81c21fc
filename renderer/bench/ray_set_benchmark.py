"""This module records ray sets with their reference hits, and times kernels on recorded ones."""

import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from renderer.bench.comparison import Parts, compare_peers
from renderer.bench.kernel_benchmark import Comparison, KernelMeasurement, facts_of, measure, measurement
from renderer.bench.ray_folder import RecordedScene, RecordedSet
from renderer.bench.ray_sources import RaySource
from renderer.bench.workload import RaySet, Workload
from renderer.errors import UsageError
from scenes.model import Snapshot
from tracecore import Device, open_tracer
from tracecore.dispatch.tracer import Tracer
from tracecore.tracers.verified import trace


@dataclass(frozen=True, kw_only=True)
class Tracing:
    """Says what traces recorded rays, and how often.

    kernels: names, of which the first is the baseline.
    peers: names of `tracecore.peers`.
    repeats: rounds.
    threads: of the CPU, None for all cores.
    """

    device: Device
    kernels: Sequence[str]
    peers: Sequence[str]
    repeats: int
    threads: int | None


def record(snapshot: Snapshot, source: RaySource, threads: int | None) -> RecordedScene:
    """Returns a scene's triangles, the rays of a source, and what the CPU hits with them; all triangles are solid.

    Raises `UsageError` where there are no rays.
    """
    with open_tracer(snapshot.positions, device="cpu", threads=threads) as tracer:
        sets = [RecordedSet(rays=one, hits=tracer.closest_hit(one.rays)) for one in source.sets(tracer)]
    if not sets:
        raise UsageError(f"'{snapshot.name}' has no rays of these kinds: nothing is hit, or there is no light")
    return RecordedScene(name=snapshot.name, triangles=snapshot.positions, origin=source.origin, sets=sets)


def measured_scene(scene: RecordedScene, tracing: Tracing) -> Comparison:
    """Times kernels and peers on the rays of a scene, of which those with wrong hits are not timed."""
    sets = [one.judged for one in scene.sets]
    parts = Parts()
    for name in tracing.kernels:
        with open_tracer(scene.triangles, device=tracing.device, kernel=name, threads=tracing.threads) as tracer:
            parts.kernels.append(facts_of(tracer))
            parts.measurements += [measured_if_right(tracer, rays, tracing.repeats) for rays in sets]
        print(f"{scene.name}: {name} done", file=sys.stderr, flush=True)
    workload = Workload(lambda _: sets)
    workload.sets = sets
    for peer, its in compare_peers(
        tracing.peers, scene.triangles, workload, repeats=tracing.repeats, threads=tracing.threads
    ):
        parts.peers.append(peer)
        parts.measurements += its
    return parts.together(tracing.device, tracing.kernels[0])


def measured_if_right(tracer: Tracer, rays: RaySet, repeats: int) -> KernelMeasurement:
    """Compares a kernel's hits with the reference, and then measures it; one that is wrong has the rate 0."""
    wrong = rays.wrong_ray(trace(tracer, rays.rays, rays.query))
    if wrong is None:
        return measure(tracer, rays, repeats)
    return replace(measurement(tracer.name, rays, [float("inf")]), wrong=wrong, seconds=())


def result_rows(scene: RecordedScene, found: Comparison) -> list[dict[str, Any]]:
    """Returns the measurements of a scene as rows of a result file."""
    sets = {one.rays.kind: one for one in scene.sets}
    return [
        {
            **asdict(one),
            "scene": scene.name,
            "query": sets[one.kind].rays.query.name.lower(),
            "triangles_sha256": scene.sha256,
            "rays_sha256": sets[one.kind].sha256,
        }
        for one in found.measurements
    ]
