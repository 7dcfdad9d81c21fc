"""This module says where tracks and transforms put things at one time."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from scenes.model import Camera, Doubles
from scenes.motion.tracks import Track, matrices_at
from scenes.motion.transforms import IDENTITY, Transform
from scenes.views.default_view import triple


@dataclass(frozen=True, eq=False)
class Pose:
    """Says what a transform and all around it do at one time."""

    matrix: Doubles
    shown: bool


STILL = Pose(IDENTITY, True)


class TrackTime:
    """Says where the tracks of a document and its transforms put things at one time.

    tracks: by the name of what they move.
    """

    def __init__(self, tracks: Mapping[str, Track], time: float) -> None:
        self.tracks, self.time = tracks, time
        self._known: dict[Transform, Pose] = {}

    @cached_property
    def _moved(self) -> dict[str, Pose]:
        """Returns what each track does, by its name."""
        tracks = list(self.tracks.values())
        matrices = matrices_at(tracks, self.time)
        poses = [Pose(matrix, track.shown_at(self.time)) for matrix, track in zip(matrices, tracks, strict=True)]
        return dict(zip(self.tracks, poses, strict=True))

    def pose(self, transform: Transform | None) -> Pose:
        """Returns what a transform does, outermost first."""
        if transform is None:
            return STILL
        if transform not in self._known:
            outer = self.pose(transform.parent)
            inner = Pose(IDENTITY if transform.matrix is None else transform.matrix, True)
            inner = self._moved[transform.track] if transform.track in self.tracks else inner
            self._known[transform] = Pose(outer.matrix @ inner.matrix, outer.shown and inner.shown)
        return self._known[transform]


def camera_at(camera: Camera, track: Track | None, time: float) -> Camera:
    """Returns a camera where its track has it at a time."""
    if track is None:
        return camera
    if track.transl is not None:
        camera = replace(camera, eye=triple(track.transl.at(time)))
    if track.rot is not None:
        turn = replace(track, transl=None, scale=None).matrix_at(time)
        camera = replace(camera, forward=triple(-turn[:3, 2]), up=triple(turn[:3, 1]))
    return camera
