"""A scene is what a reader makes of a file; it says what it looks like at any time."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from scenes.document import Document
from scenes.errors import SceneError
from scenes.model import AnimationRange, Floats, Indices, Snapshot


@dataclass(frozen=True, eq=False)
class TrianglePiece:
    """Holds some triangles of a scene at one time.

    positions: (n, 3, 3), world units.
    material_ids: (n,), indices of the materials.
    cut_out: (n,), whether they may have holes.
    """

    positions: Floats
    material_ids: Indices
    cut_out: npt.NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True, eq=False)
class Scene:
    """Holds a named, animated scene. `snapshot(time)` does the work; readers supply it.

    view: makes the snapshot of a time without its triangles.
    pieces: yields the triangles of a time, some at a time, so that they need not be held together.
    source: the file that it was read from.
    files: all files that it was read from, as paths that hold for the current folder of that moment.
    moving_triangles: how many triangles may change with time.
    document: what the scene was before time was chosen, for those that write it out.
    as_read: the document as its reader made it, without what is added where a file says nothing, and with round shapes
        as they are; None where that is not known.
    """

    name: str
    snapshot: Callable[[float], Snapshot]
    view: Callable[[float], Snapshot]
    pieces: Callable[[float], Iterator[TrianglePiece]]
    animation: AnimationRange = field(default_factory=AnimationRange)
    source: str = ""
    files: tuple[Path, ...] = ()
    moving_triangles: int = 0
    document: "Document"
    as_read: "Document | None" = None

    @property
    def is_of_file(self) -> bool:
        """Returns whether it was read from a file."""
        return self.source not in ("", "shipped")

    def at(self, time: float) -> Snapshot:
        """Makes the snapshot of the scene at a time, in the unit of its animation range. Any time will do: a track is
        held at its ends."""
        return self.snapshot(time)

    def at_frame(self, frame: int) -> Snapshot:
        """Makes the snapshot of the scene at a 0-based frame of its animation; what stands still is the same in all.

        Raises SceneError where the animation has no such frame.
        """
        return self.snapshot(self.time_of(frame))

    def time_of(self, frame: int) -> float:
        """Returns the time of a 0-based frame. Raises SceneError where the animation has no such frame."""
        frames = self.animation.frames
        if frame < 0 or frame >= frames > 1:
            raise SceneError(f"scene {self.name!r} has frames 0 to {frames - 1}, got frame {frame}")
        return self.animation.time_of(frame)
