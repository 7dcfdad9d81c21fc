"""This module says in a few lines what a scene is like."""

from collections import Counter
from dataclasses import dataclass

import numpy as np

from scenes.geometry import areas
from scenes.memory import needed_bytes
from scenes.model import Snapshot
from scenes.scene import Scene

Triple = tuple[float, float, float]


@dataclass(frozen=True, kw_only=True)
class SceneFacts:
    """Describes a scene and one snapshot of it, in plain fields. Times are in the file's unit.

    stored_triangles: with every shape counted once, wherever it stands.
    memory_bytes: what the scene takes from reading to tracing, about.
    lower, upper: corners of the bounding box.
    surface: area of all triangles.
    textures: name, width and height.
    lights: kind and number.
    emitters: triangles that emit.
    environment: width and height of its image, 1 and 1 of a colour, 0 and 0 where there is none.
    cut_out_triangles: those that may have holes.
    moving_triangles: those that may change with time.
    cameras: by name.
    round_shapes: how many of the file became triangles.
    round_triangles: of how many.
    round_error: pixels that these are off at most, at the size that the file proposes or that was asked for.
    notes: what the file says and the scene does not, or only about, and what was looked for in its triangles.
    """

    name: str
    source: str
    triangles: int
    stored_triangles: int
    memory_bytes: int
    moving_triangles: int
    degenerate_triangles: int
    materials: int
    material_kinds: tuple[str, ...]
    textures: tuple[tuple[str, int, int], ...]
    lights: tuple[tuple[str, int], ...]
    environment: tuple[int, int]
    emitters: int
    cut_out_triangles: int
    surface: float
    lower: Triple
    upper: Triple
    cameras: tuple[str, ...]
    eye: Triple
    forward: Triple
    up: Triple
    vertical_fov: float
    height: float | None
    aperture: float
    focus: float
    near: float
    resolution: tuple[int, int]
    background: Triple
    time: float
    start: float
    end: float
    frames: int
    round_shapes: int
    round_triangles: int
    round_error: float
    notes: tuple[str, ...]


def describe(scene: Scene, snapshot: Snapshot) -> SceneFacts:
    """Returns the facts of a scene and of a snapshot of it. `dataclasses.asdict` makes a flat dictionary of them."""
    sizes = areas(snapshot.positions)
    lower, upper = bounds(snapshot)
    emitting = np.array([any(material.emission) for material in snapshot.materials], dtype=np.bool_)
    camera, sky, fineness = snapshot.camera, snapshot.environment, scene.document.fineness
    return SceneFacts(
        name=scene.name,
        source=scene.source,
        triangles=len(snapshot.positions),
        stored_triangles=scene.document.stored_triangles,
        memory_bytes=needed_bytes(scene.document.triangles),
        moving_triangles=scene.moving_triangles,
        degenerate_triangles=int(np.count_nonzero(sizes == 0.0)),
        materials=len(snapshot.materials),
        material_kinds=tuple(sorted({material.kind for material in snapshot.materials})),
        textures=tuple((t.name, t.pixels.shape[1], t.pixels.shape[0]) for t in snapshot.textures),
        lights=tuple(Counter(light.kind for light in snapshot.lights).items()),
        environment=(0, 0) if sky is None else (sky.radiance.shape[1], sky.radiance.shape[0]),
        emitters=int(np.count_nonzero(emitting[snapshot.material_ids])),
        cut_out_triangles=int(np.count_nonzero(snapshot.cut_out)),
        surface=float(sizes.sum()),
        lower=lower,
        upper=upper,
        cameras=tuple(snapshot.cameras),
        eye=camera.eye,
        forward=camera.forward,
        up=camera.up,
        vertical_fov=camera.vertical_fov,
        height=camera.height,
        aperture=camera.aperture,
        focus=camera.focus,
        near=camera.near,
        resolution=camera.resolution,
        background=snapshot.background,
        time=snapshot.time,
        start=scene.animation.start,
        end=scene.animation.end,
        frames=scene.animation.frames,
        round_shapes=fineness.shapes if fineness else 0,
        round_triangles=fineness.triangles if fineness else 0,
        round_error=fineness.error if fineness else 0.0,
        notes=tuple(scene.document.notes.lines),
    )


def bounds(snapshot: Snapshot) -> tuple[Triple, Triple]:
    """Returns the lower and upper corner of the box around all triangles; zeros where there are none."""
    if len(snapshot.positions) == 0:
        return (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    corners = snapshot.positions.reshape(-1, 3)
    return tuple(corners.min(axis=0).tolist()), tuple(corners.max(axis=0).tolist())
