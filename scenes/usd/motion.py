"""This module makes the frames of a stage, and the tracks of what moves in it.

Transforms are looked at in every frame and are linear between them, turns by great arcs, as those of glTF are.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import cast

import numpy as np
from pxr import Usd, UsdGeom

from scenes.document import BentMesh
from scenes.meshes.geometry import unit
from scenes.meshes.smooth_normals import smoothed
from scenes.model import AnimationRange, Doubles, Mesh
from scenes.motion.tracks import (
    RotationTrack,
    Track,
    VectorTrack,
    VisibilityTrack,
    linear_shapes,
    with_end_times,
    with_ends,
)
from scenes.motion.transforms import axis_and_degrees, quaternion_of
from scenes.usd.file import UsdFile

#: The most frames of a stage; numbers of the keys of all that moves.
MAX_FRAMES, MAX_NUMBERS = 100_000, 1 << 28
#: Numbers that count for a key of a transform: it takes time to make, too.
KEY_NUMBERS = 100
#: How far the axes of a transform may be from right angles, by the cosine.
SHEAR = 1e-4


class Frames:
    """Holds the frames of a stage: from its startTimeCode to its endTimeCode, as many in a second as it says."""

    def __init__(self, stage: Usd.Stage) -> None:
        first, last = stage.GetStartTimeCode(), stage.GetEndTimeCode()
        self.per_second = stage.GetTimeCodesPerSecond() or 24.0
        rate = stage.GetFramesPerSecond() or self.per_second
        self.first, self.last = first, last
        self.numbers = 0
        self.count = 1
        if stage.HasAuthoredTimeCodeRange() and last > first and rate > 0.0 < self.per_second:
            self.count = int(min(round((last - first) / self.per_second * rate) + 1, MAX_FRAMES))

    @property
    def start(self) -> Usd.TimeCode:
        """Returns the time code of the first frame."""
        return Usd.TimeCode(self.first) if self.count > 1 else Usd.TimeCode.EarliestTime()

    @property
    def span(self) -> AnimationRange:
        """Returns the frames in seconds."""
        start, end = self.seconds(self.first), self.seconds(self.last)
        return AnimationRange(start=start, end=end, frames=self.count) if self.count > 1 else AnimationRange()

    @cached_property
    def codes(self) -> list[Usd.TimeCode]:
        return [Usd.TimeCode(code) for code in np.linspace(self.first, self.last, self.count).tolist()]

    @cached_property
    def times(self) -> Doubles:
        """Returns the time of each frame in seconds, with one more at each end, as tracks have them."""
        return with_end_times(np.array([self.seconds(code.GetValue()) for code in self.codes]))

    @cached_property
    def shapes(self) -> Doubles:
        """Returns what makes tracks linear between frames."""
        return linear_shapes(self.times)

    def has_room(self, numbers: int) -> bool:
        """Counts the numbers of some keys, and returns whether there may be so many with those before."""
        self.numbers += numbers
        return self.numbers <= MAX_NUMBERS

    def seconds(self, code: float) -> float:
        return code / self.per_second


def matrix_of(matrix: object) -> Doubles:
    """Returns a matrix of USD, of row vectors, as (4, 4) of column vectors."""
    return np.array(matrix, np.float64).T


def track_of(file: UsdFile, frames: Frames, prim: Usd.Prim) -> Track | None:
    """Returns the track of a prim whose own transform or visibility changes with time, or None."""
    if frames.count == 1:
        return None
    place, shown = UsdGeom.Xformable(prim), UsdGeom.Imageable(prim).GetVisibilityAttr()
    is_moving = bool(place) and place.TransformMightBeTimeVarying()
    is_blinking = bool(shown) and shown.ValueMightBeTimeVarying()
    if not is_moving and not is_blinking:
        return None
    if not frames.has_room(KEY_NUMBERS * frames.count):
        file.note(f"{prim.GetPath()} does not move, nor what comes after it: there are too many keys")
        return None
    matrices = [matrix_of(place.GetLocalTransformation(code)) for code in frames.codes] if place else [np.eye(4)]
    if not np.isfinite(matrices).all() or not (is_blinking or np.ptp(matrices, axis=0).any()):
        return None
    track = track_through(file, frames, matrices if is_moving else matrices[:1] * frames.count)
    if not is_blinking:
        return track
    seen = np.array([shown.Get(code) != UsdGeom.Tokens.invisible for code in frames.codes])
    return replace(track, visibility=VisibilityTrack(frames.times[1:-1], seen))


def track_through(file: UsdFile, frames: Frames, matrices: Sequence[Doubles]) -> Track:
    """Returns the track through transforms (4, 4), one for each frame. What shears is noted."""
    scales, axes, degrees = [], [], []
    for matrix in matrices:
        linear = matrix[:3, :3]
        lengths = np.linalg.norm(linear, axis=0)
        turn = linear / np.where(lengths > 0.0, lengths, 1.0)
        if np.linalg.det(turn) < 0.0:
            turn, lengths = turn * (-1.0, 1.0, 1.0), lengths * (-1.0, 1.0, 1.0)
        if np.abs(turn.T @ turn - np.eye(3)).max() > SHEAR:
            file.note("a transform that shears moves without that")
            right = unit(turn[:, 0])
            up = unit(turn[:, 1] - (turn[:, 1] @ right) * right)
            turn = np.stack([right, up, np.cross(right, up)], axis=1) if up.any() else np.eye(3)
        axis, angle = axis_and_degrees(quaternion_of(turn))
        scales.append(lengths)
        axes.append(axis)
        degrees.append(angle)
    places = with_ends(np.array([matrix[:3, 3] for matrix in matrices]))
    return Track(
        transl=VectorTrack(frames.times, places, frames.shapes),
        rot=RotationTrack(frames.times, with_ends(np.array(axes)), with_ends(np.array(degrees)), frames.shapes),
        scale=VectorTrack(frames.times, with_ends(np.array(scales)), frames.shapes),
    )


@dataclass(frozen=True, eq=False)
class SampledMesh(BentMesh):
    """Holds a mesh whose vertices have keys.

    times: (k,) seconds, rising.
    vertices: (k, nv, 3).
    normals: (k, nn, 3), or None where they are smooth ones of the vertices, or there are none.
    """

    times: Doubles
    vertices: Doubles
    normals: Doubles | None = None

    def mesh_at(self, time: float) -> Mesh:
        """Returns the mesh at a time, linear between keys and at rest before the first and after the last."""
        at = np.interp(time, self.times, np.arange(len(self.times)))
        before = min(int(at), len(self.times) - 1)
        after, share = min(before + 1, len(self.times) - 1), at - before
        mesh = replace(self.rest, vertices=(1.0 - share) * self.vertices[before] + share * self.vertices[after])
        if self.normals is not None:
            mixed = (1.0 - share) * self.normals[before] + share * self.normals[after]
            return replace(mesh, normals=unit(cast("Doubles", mixed)))
        return mesh if mesh.normals is None else smoothed(mesh)
