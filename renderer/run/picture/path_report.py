"""One path of a picture, traced alone with the bits that it has among all, and told step by step.

What a path meets is decided by its seed, pass and pixel. So the very loop that makes a pass is run for one pixel, on a
tracer that Python polls, and is looked at between two batches: what is told is what was rendered.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from renderer.camera_paths.paths import EYE_PDF, EYE_THROUGHPUT
from renderer.drivers.eye import EyeDriver
from renderer.errors import UsageError
from renderer.run.picture.pass_source import PassSource
from renderer.run.plan import Plan
from renderer.scene.render_context import RenderContext
from renderer.settings.setting import PathName
from shaders.bsdfs.bsdf import LOBE_BASE, LOBE_GLOSSY
from tracecore.rays import MISS
from tracecore.tracers.polled import PolledTracer

if TYPE_CHECKING:
    from renderer.camera_paths.paths import EyeJob
    from renderer.drivers.driver import Driver
    from scenes.model import Snapshot
    from tracecore.workers.pool import Worker

Array = npt.NDArray[Any]


class Shadow(NamedTuple):
    """Is a ray to a light.

    sample: which of its vertex.
    ray: (8,) float32.
    radiance: (3,) float32, what it brings if nothing is in between.
    """

    sample: int
    ray: Array
    radiance: Array


class VertexLook(NamedTuple):
    """Is what there was to see of a path between two batches.

    number: of the last batch of its rays.
    ray: (8,) float32, what is being traced of the path; None where it has ended.
    path: (EYE_WORDS,) uint32, with it.
    shadows: rays to lights that are being traced.
    hits: (slots, 4) float32, the answers to what was traced before.
    vertex: a copy of the columns of the last vertex, of which the first place counts.
    image: (columns,) float64, the pixel.
    """

    number: int
    ray: Array | None
    path: Array
    shadows: tuple[Shadow, ...]
    hits: Array
    vertex: Any
    image: Array


class PathTrace(NamedTuple):
    """Is a path that was traced alone.

    lines: what it met, in words.
    radiance: (3,) float64, what it brings to its pixel.
    """

    lines: list[str]
    radiance: Array


class _Watcher:
    """Looks at the one path that a driver traces."""

    def __init__(self) -> None:
        self.job: EyeJob | None = None
        self.looks: list[VertexLook] = []
        self._worker: Worker | None = None

    def begin(self, job: EyeJob) -> None:
        """Takes the job whose path is to be looked at."""
        self.job = job

    def look(self, worker: Worker) -> None:
        """Keeps what there is to see, where the worker has the path."""
        if self.job is not None and (worker.batches.active.any() or worker.batches.shadows.any()):
            self._worker = worker
            self.looks.append(_seen(self.job, worker))

    def end(self) -> None:
        """Keeps what there is to see when nothing is traced any more."""
        if self.job is not None and self._worker is not None:
            self.looks.append(_seen(self.job, self._worker))


def _seen(job: EyeJob, worker: Worker) -> VertexLook:
    port, batches = worker.port, worker.batches
    index = int(np.argmax((batches.active > 0) | batches.shadows.any(axis=1)))
    first = index * batches.slots
    shadows = [
        Shadow(k, port.rays[first + 1 + k, :, 0].copy(), batches.radiance[index, k, :, 0].copy())
        for k in np.flatnonzero(batches.shadows[index]).tolist()
    ]
    return VertexLook(
        number=int(port.doorbells[first] >> np.uint64(32)),
        ray=port.rays[first, :, 0].copy() if batches.active[index] else None,
        path=batches.paths[index, :, 0].copy(),
        shadows=tuple(shadows),
        hits=port.hits[first : first + batches.slots, :, 0].copy(),
        vertex=batches.scratch[0].copy(),
        image=job.image[job.pixels[0]].copy(),
    )


def trace_path(context: RenderContext, plan: Plan, name: PathName) -> PathTrace:
    """Traces one path alone. All photons of its pass are traced, as it may look at them.

    context: the scene, and a tracer of any kind: all give the same bits.
    plan: of the picture; a crop changes no path, so that it counts for nothing here.
    name: of the path; its seed is the picture's, and its pixel counts from the whole picture's corner.

    Raises `UsageError` for a pixel that is not in the picture, and for a driver that follows no paths from the eye.
    """
    settings = replace(plan.driver_settings(context.snapshot), seed=name.seed, threads=None, layers="beauty", crop=None)
    settings = replace(settings, light_groups=0, shading="cpu")  # where somebody looks on
    pixel = name.pixel_index(settings.width, settings.height)
    if not plan.driver.has_paths:
        raise UsageError(f"driver {plan.driver.name} follows no paths that could be told; choose another with --driver")
    watcher = _Watcher()
    with (
        PolledTracer(context.tracer) as tracer,
        closing(PassSource(replace(context, tracer=tracer), plan, settings)) as source,
    ):
        image = _watched_pass(source, name.pass_index, pixel, watcher)
        watcher.end()
    assert watcher.job is not None
    radiance = image.reshape(-1, image.shape[-1])[pixel, :3]
    title = f"seed {name.seed}, pass {name.pass_index}, pixel {pixel % settings.width}:{pixel // settings.width}"
    lines = [f"{title} of {context.snapshot.name}, driver {plan.driver.name}"]
    lines += path_lines(watcher.looks, watcher.job, context.snapshot)
    return PathTrace([*lines, f"sum: {_color(radiance)}"], radiance)


def _watched_pass(source: PassSource, index: int, pixel: int, watcher: _Watcher) -> Array:
    """Returns a pass in which the path of one pixel is traced, and looked at."""

    def watch(driver: Driver) -> None:
        assert isinstance(driver, EyeDriver)
        driver.pixels = np.array([pixel], np.int32)
        driver.on_job = watcher.begin
        driver.watch(watcher.look)

    carried = None
    if source.driver.is_sequential:
        for before in source.passes(iter(range(index))):
            carried = before.carried
    source.on_driver = watch
    watch(source.driver)
    (made,) = source.passes(iter([index]), carried)
    image: Array = made.values
    return image


def path_lines(looks: list[VertexLook], job: EyeJob, snapshot: Snapshot) -> Iterator[str]:
    """Yields what a path met, line by line. looks: between all of its batches, and behind the last."""
    step = 0
    for before, after in pairwise(looks):
        is_met = before.ray is not None and (after.number != before.number or after.ray is None)
        if is_met:
            yield from _meeting(step, before, after, job, snapshot)
            step += 1
        for shadow in before.shadows:
            is_free = after.hits[1 + shadow.sample, 3].view(np.uint32) == MISS
            target = shadow.ray[:3] + shadow.ray[4:7]
            answer = "free" if is_free else "not free"
            yield f"  ray {shadow.sample} to a light at {_place(target)}, {answer}: {_color(shadow.radiance)}"
        yield f"  light added: {_color((after.image - before.image)[:3])}, sum: {_color(after.image)}"
        if is_met:
            yield from _way_on(after, job)


def _meeting(step: int, before: VertexLook, after: VertexLook, job: EyeJob, snapshot: Snapshot) -> Iterator[str]:
    """Yields what a ray of the path met."""
    assert before.ray is not None
    throughput = before.path[EYE_THROUGHPUT : EYE_THROUGHPUT + 3].view(np.float32)
    yield f"step {step}: from {_place(before.ray[:3])} towards {_place(before.ray[4:7])}"
    yield f"  throughput {_color(throughput)}"
    triangle = int(after.hits[0, 3].view(np.uint32))
    if triangle == MISS:
        yield "  leaves the scene"
        return
    where = f"at {_place(after.vertex['position'][:, 0])}, distance {after.hits[0, 0]:.6g}"
    if triangle >= len(snapshot.material_ids):
        yield f"  collides with a particle {where}"
        return
    material = int(snapshot.material_ids[triangle])
    normal, bent = after.vertex["normal"][:, 0], after.vertex["shading"][:, 0]
    yield f"  meets triangle {triangle} {where}, normal {_place(normal)}, shading normal {_place(bent)}"
    surface = snapshot.materials[material]
    name = f" '{surface.name}'" if surface.name else ""
    yield f"  material {material}{name} ({surface.kind})"


def _way_on(after: VertexLook, job: EyeJob) -> Iterator[str]:
    """Yields how the path goes on from what it met."""
    if after.ray is None:
        yield "  the path ends here"
        return
    pdf = float(after.path[EYE_PDF : EYE_PDF + 1].view(np.float32)[0])
    density = f"pdf {pdf:.6g} per solid angle" if pdf > 0.0 else "no pdf, as it is without spread"
    yield f"  goes on by the {lobe_of(after, job)} lobe, {density}"


def lobe_of(after: VertexLook, job: EyeJob) -> str:
    """Returns the name of the lobe by which a path has left a vertex."""
    vertex = after.vertex
    lobe = int(vertex["lobe"][0])
    if lobe in (LOBE_BASE, LOBE_GLOSSY):
        return "diffuse" if lobe == LOBE_BASE else "rough"
    assert after.ray is not None
    is_behind = float(np.dot(after.ray[4:7], vertex["normal"][:, 0])) < 0.0
    return "specular (let through)" if is_behind else "specular (reflected)"


def _place(vector: Array) -> str:
    return f"({', '.join(f'{float(value):.6g}' for value in vector[:3])})"


def _color(radiance: Array) -> str:
    return f"({', '.join(f'{float(value):.9g}' for value in radiance[:3])})"
