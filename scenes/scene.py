"""A scene is what a reader makes of a file; it says what it looks like at any time."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from scenes.document import Document
from scenes.errors import SceneError
from scenes.model import AnimationRange, Snapshot


@dataclass(frozen=True, kw_only=True, eq=False)
class Scene:
    """Holds a named, animated scene. `snapshot(time)` does the work; readers supply it.

    source: the file that it was read from.
    files: all files that it was read from, as paths that hold for the current folder of that moment.
    moving_triangles: how many triangles may change with time.
    document: what the scene was before time was chosen, for those that write it out.
    as_read: the document as its reader made it, without what is added where a file says nothing, and with round shapes
        as they are; None where that is not known.
    """

    name: str
    snapshot: Callable[[float], Snapshot]
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
        frames = self.animation.frames
        if frame < 0 or frame >= frames > 1:
            raise SceneError(f"scene {self.name!r} has frames 0 to {frames - 1}, got frame {frame}")
        return self.snapshot(self.animation.time_of(frame))
