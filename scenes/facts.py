"""This module says in a few lines what a scene is like."""

from collections import Counter
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from scenes.document import Scene, TrianglePiece
from scenes.files.memory import needed_bytes
from scenes.meshes.geometry import column_areas, columns_of
from scenes.model import Doubles, Snapshot

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


@dataclass
class TriangleFacts:
    """Counts triangles, piece by piece."""

    triangles: int = 0
    degenerate: int = 0
    emitters: int = 0
    cut_out: int = 0
    surface: float = 0.0
    corners: list[Doubles] = field(default_factory=list)

    def add(self, piece: TrianglePiece, emitting: npt.NDArray[np.bool_]) -> None:
        """Counts the triangles of a piece. emitting: whether each material emits."""
        columns = columns_of(piece.positions)
        sizes = column_areas(columns)
        self.triangles += len(sizes)
        self.degenerate += int(np.count_nonzero(sizes == 0.0))
        self.emitters += int(np.count_nonzero(emitting[piece.material_ids]))
        self.cut_out += int(np.count_nonzero(piece.cut_out))
        self.surface += float(sizes.sum())
        if len(sizes):
            self.corners += [columns.min(axis=(0, 2)), columns.max(axis=(0, 2))]

    @property
    def bounds(self) -> tuple[Triple, Triple]:
        """Returns the lower and upper corner of the box around all triangles; zeros where there are none."""
        if not self.corners:
            return (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
        return tuple(np.min(self.corners, axis=0).tolist()), tuple(np.max(self.corners, axis=0).tolist())


def describe(scene: Scene, snapshot: Snapshot) -> SceneFacts:
    """Returns the facts of a scene at the time of a snapshot of it, whose triangles may be left out.
    `dataclasses.asdict` makes a flat dictionary of them."""
    emitting = np.array([any(material.emission) for material in snapshot.materials], dtype=np.bool_)
    found = TriangleFacts()
    for piece in scene.pieces(snapshot.time):
        found.add(piece, emitting)
    lower, upper = found.bounds
    camera, sky, fineness = snapshot.camera, snapshot.environment, scene.document.fineness
    return SceneFacts(
        name=scene.name,
        source=scene.source,
        triangles=found.triangles,
        stored_triangles=scene.document.stored_triangles,
        memory_bytes=needed_bytes(scene.document.triangles),
        moving_triangles=scene.moving_triangles,
        degenerate_triangles=found.degenerate,
        materials=len(snapshot.materials),
        material_kinds=tuple(sorted({material.kind for material in snapshot.materials})),
        textures=tuple((t.name, t.pixels.shape[1], t.pixels.shape[0]) for t in snapshot.textures),
        lights=tuple(Counter(light.kind for light in snapshot.lights).items()),
        environment=(0, 0) if sky is None else (sky.radiance.shape[1], sky.radiance.shape[0]),
        emitters=found.emitters,
        cut_out_triangles=found.cut_out,
        surface=found.surface,
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
