"""This module makes the tracks of a scene file and writes them: in the file itself, or, where there are many keys, in
an .npz beside it. Tracks that people write run from the first key to the last, those of AFF between the inner ones.

A row of an array has the columns of a key in the file: time, value (3) or axis and degrees (4), tension, continuity,
bias.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from scenes.keys.place import Place
from scenes.model import Doubles
from scenes.motion.tracks import (
    RotationTrack,
    Track,
    VectorTrack,
    VisibilityTrack,
    linear_shapes,
    product,
    with_end_times,
    with_ends,
)
from scenes.motion.transforms import axis_and_degrees
from scenes.toml_scene.exact_mesh import Arrays, numbers, read_meshes
from scenes.toml_scene.keys import EXACT
from scenes.toml_scene.mesh_files import found

#: Columns of a row behind the time, by the part of a track.
COLUMNS = {"translate": 6, "rotate": 7, "scale": 6}
SHAPE = ("tension", "continuity", "bias")

#: A spline needs a key before and one after each segment.
SPLINE_KEYS = 4

#: More keys than this of a track are written to a file of arrays.
MOST_WRITTEN_KEYS = 64

Rows = dict[str, Doubles]


def tracks_of(tables: Mapping[str, dict[str, Any]], place: Place) -> dict[str, Track]:
    """Makes the tracks of a file by their names. tables: of the keys of `TRACK`."""
    files: dict[Path, dict[str, Arrays]] = {}
    tracks = {}
    for name, values in tables.items():
        here = place.inside(name)
        rows = {part: rows_of_keys(values[part]) for part in COLUMNS if values[part] is not None}
        if values["file"] is not None:
            if rows:
                raise here.inside("file").error(f"expected no {next(iter(rows))} beside a file of keys")
            path = found(values["file"], (EXACT,), here.inside("file"))
            if path not in files:
                files[path] = read_meshes(path)
            if name not in files[path]:
                raise here.inside("file").unknown("track", name, files[path])
            here = Place(path).inside(name)
            rows = rows_of_arrays(files[path][name], here)
        tracks[name] = track_of(rows, values, here)
    return tracks


def rows_of_keys(keys: Sequence[Mapping[str, Any]]) -> Doubles:
    """Returns the keys of a part of a track as rows."""
    values = [key["value"] if "value" in key else (*key["axis"], key["degrees"]) for key in keys]
    shapes = [[key[name] or 0.0 for name in SHAPE] for key in keys]
    times = [key["time"] for key in keys]
    return np.column_stack([times, values, shapes])


def rows_of_arrays(arrays: Arrays, place: Place) -> Rows:
    """Returns the rows of each part of a track of a file. Raises SceneFileError where they are none."""
    if other := arrays.keys() - COLUMNS.keys():
        raise place.unknown("part of a track", min(other), COLUMNS)
    return {part: numbers(arrays, part, (-1, COLUMNS[part] + 1), place) for part in COLUMNS if part in arrays}


def track_of(rows: Rows, values: Mapping[str, Any], place: Place) -> Track:
    """Makes a track of its rows, and of the keys that say how values change between them and when it is seen."""
    interpolation, visible = values["interpolation"], values["visible"]
    keys = {part: with_all_keys(own, interpolation, place.inside(part)) for part, own in rows.items()}
    if visible is not None and interpolation != "inner-spline":
        check_order([key["time"] for key in visible], place.inside("visible"))
    return Track(
        transl=VectorTrack.of(keys["translate"]) if "translate" in keys else None,
        rot=RotationTrack.of(keys["rotate"]) if "rotate" in keys else None,
        scale=VectorTrack.of(keys["scale"]) if "scale" in keys else None,
        visibility=None if visible is None else visibility_track(visible),
    )


def with_all_keys(rows: Doubles, interpolation: str, place: Place) -> Doubles:
    """Returns rows with those that shape the ends, and with the shapes by which they are interpolated."""
    if interpolation == "inner-spline":
        if len(rows) < SPLINE_KEYS:
            raise place.error(f"expected at least {SPLINE_KEYS} keys of an inner-spline, got {len(rows)}")
        return rows
    check_order(rows[:, 0].tolist(), place)
    ended = with_ends(rows)
    ended[:, 0] = with_end_times(rows[:, 0])
    if interpolation == "linear":
        for index in np.flatnonzero(rows[:, -3:].any(axis=1)):
            raise place.item(int(index)).error("tension, continuity and bias do nothing in a linear track")
        ended[:, -3:] = linear_shapes(ended[:, 0])
    return ended


def check_order(times: Sequence[float], place: Place) -> None:
    """Raises unless no time is before the one that it follows. place: of the list of keys."""
    for index in range(1, len(times)):
        if times[index] < times[index - 1]:
            message = f"expected a time not before {times[index - 1]:g}, got {times[index]:g}"
            raise place.item(index).inside("time").error(message)


def visibility_track(keys: Sequence[Mapping[str, Any]]) -> VisibilityTrack:
    """Makes a track that shows or hides what it moves."""
    times, shown = [key["time"] for key in keys], [key["value"] for key in keys]
    return VisibilityTrack(times=np.array(times), shown=np.array(shown, dtype=np.bool_))


def turned_track(track: Track, frame: Doubles, turn: Doubles) -> Track:
    """Turns a camera's track into another frame.

    frame: (4, 4), a turn times a scale.
    turn: (4,) the same turn.
    """
    transl, rot = track.transl, track.rot
    if transl is not None:
        transl = VectorTrack(transl.times, transl.values @ frame[:3, :3].T, transl.shapes)
    if rot is not None:
        turns = [axis_and_degrees(product(turn, q)) for q in rot.quaternions]
        axes, degrees = np.array([axis for axis, _ in turns]), np.array([angle for _, angle in turns])
        rot = RotationTrack(rot.times, axes, degrees, rot.shapes)
    return Track(transl=transl, rot=rot, scale=track.scale, visibility=track.visibility)


def rows_of_track(track: Track) -> Rows:
    """Returns the rows of each part of a track that has it."""
    parts = {"translate": track.transl, "rotate": track.rot, "scale": track.scale}
    return {part: keys.rows for part, keys in parts.items() if keys is not None}


def is_long(track: Track) -> bool:
    """Returns whether a track has so many keys that they are written to a file of arrays."""
    return any(len(rows) > MOST_WRITTEN_KEYS for rows in rows_of_track(track).values())


def written_keys(rows: Doubles) -> Iterator[dict[str, Any]]:
    """Yields rows as keys of the scene file."""
    for time, *value, tension, continuity, bias in rows.tolist():
        own = {"value": value} if len(value) == 3 else {"axis": value[:3], "degrees": value[3]}
        yield {"time": time} | own | dict(zip(SHAPE, (tension, continuity, bias), strict=True))
