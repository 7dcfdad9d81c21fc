"""This module says where tracks and transforms put things at one time."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from scenes.default_view import triple
from scenes.model import Camera, Doubles
from scenes.tracks import Track
from scenes.transforms import IDENTITY, Transform


@dataclass(frozen=True, eq=False)
class Pose:
    """Says what a transform and all around it do at one time."""

    matrix: Doubles
    shown: bool


STILL = Pose(IDENTITY, True)


def pose_at(tracks: Mapping[str, Track], transform: Transform | None, time: float, known: dict[int, Pose]) -> Pose:
    """Returns what a transform does at a time, outermost first.

    tracks: by the name of what they move.
    known: poses at this time, by identity of the transform; those that are found are added.
    """
    if transform is None:
        return STILL
    if id(transform) not in known:
        outer = pose_at(tracks, transform.parent, time, known)
        track = tracks.get(transform.track)
        inner = transform.matrix if transform.matrix is not None else IDENTITY
        shown = outer.shown
        if track is not None:
            inner, shown = track.matrix_at(time), shown and track.shown_at(time)
        known[id(transform)] = Pose(outer.matrix @ inner, shown)
    return known[id(transform)]


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
