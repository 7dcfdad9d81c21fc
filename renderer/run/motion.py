"""Motion blur arises as passes look at the scene at different times while the shutter is open.

The first passes, `samples` of them, have a time each; then come as many times with two passes each, then as many with
four, and so on, so that going from time to time costs less and less. The times are van der Corput's, shifted by the
seed: however many passes there are, they are spread evenly over the shutter's span, and what time a pass has depends on
nothing but its number. (Cranley, Patterson: Randomization of Number Theoretic Methods for Multiple Integration, 1976.)
"""

from __future__ import annotations

from dataclasses import dataclass, fields, is_dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from renderer.run.halton import radical_inverse
from shaders.random import STREAM_CAMERA, random4

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from renderer.scene.render_context import TracerChoice
    from renderer.scene.tree_updates import Update
    from scenes.model import Snapshot

    Array = npt.NDArray[Any]

#: Random numbers of the camera have a step for each purpose; this one is the shift of the times.
SHIFT_STEP = 2

#: What of a snapshot may differ between two that have the same picture: its time, and cameras that it is not seen by.
UNSEEN = ("time", "cameras")

#: What of a snapshot a tracer holds: triangles, and by their textures where there are holes.
TRACED_FIELDS = ("positions", "uvs", "material_ids", "materials", "textures")


@dataclass(frozen=True, kw_only=True)
class Motion:
    """Says how a scene moves while it is looked at.

    shutter: how long it is open, from the picture's time on, in the unit of the animation.
    samples: times that there are before passes share one.
    snapshot_at: returns the scene at a time.
    choice: by which a tracer is opened for each time.
    update: what becomes of the tree from time to time.
    """

    shutter: float
    samples: int
    snapshot_at: Callable[[float], Snapshot]
    choice: TracerChoice
    update: Update = "auto"

    def time_of(self, block: int, start: float, seed: int) -> float:
        """Returns the time of the passes of a block, in a picture whose time is `start`."""
        shift = random4(np.uint64(seed), 0, 0, STREAM_CAMERA, SHIFT_STEP)[0]
        return start + self.shutter * ((float(radical_inverse(block, 2)) + shift) % 1.0)


def block_of(index: int, samples: int) -> int:
    """Returns the block of passes, 0-based, in which pass `index` is: `samples` blocks of one, as many of two, of four,
    ...
    """
    doublings = (index // samples + 1).bit_length() - 1
    first = samples * ((1 << doublings) - 1)
    return samples * doublings + ((index - first) >> doublings)


def looks_same(one: Snapshot, other: Snapshot) -> bool:
    """Tells whether two snapshots of a scene have the same picture: whether all is equal that is not in `UNSEEN`."""
    names = [field.name for field in fields(one) if field.name not in UNSEEN]
    return all(same(getattr(one, name), getattr(other, name)) for name in names)


def stands_still(one: Snapshot, other: Snapshot) -> bool:
    """Tells whether two snapshots of a scene have the same triangles, with the same holes, in the same places."""
    return all(same(getattr(one, name), getattr(other, name)) for name in TRACED_FIELDS)


def same(one: object, other: object) -> bool:
    """Tells whether two values are equal in all that they are made of: dataclasses, tuples, arrays, and what `==`
    compares."""
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    if isinstance(one, np.ndarray):
        return np.array_equal(one, cast("Array", other))
    if isinstance(one, tuple):
        others = cast("tuple[object, ...]", other)
        return len(one) == len(others) and all(map(same, one, others))
    if is_dataclass(one):
        return all(same(getattr(one, field.name), getattr(other, field.name)) for field in fields(one))
    return one == other
