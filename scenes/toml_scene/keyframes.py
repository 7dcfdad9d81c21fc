"""This module makes the tracks of a scene file, and reads its keyed triangles: their corners at each time, in the file
itself or in mesh files. Tracks that people write run from the first key to the last, those of AFF between the inner
ones.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from scenes.document import KeyedTriangles
from scenes.keys.place import Place
from scenes.meshes.geometry import corner_arrays, unit
from scenes.model import Doubles, Mesh
from scenes.motion.tracks import RotationTrack, Track, VectorTrack, VisibilityTrack, linear_shapes, product
from scenes.motion.transforms import IDENTITY, axis_and_degrees
from scenes.toml_scene.mesh_files import MeshFiles
from scenes.toml_scene.shapes import indices_of

#: The values of a mesh file's keys where only its name is given.
PLAIN_FILE = {"mesh": None, "units": None, "up": None}

#: A spline needs a key before and one after each segment.
SPLINE_KEYS = 4


def keyed_of(values: dict[str, Any], material: int, files: MeshFiles, place: Place) -> KeyedTriangles:
    """Makes triangles whose corners are given at several times."""
    keys, place = values["keys"], place.inside("keys")
    check_order(keys, place)
    corners: list[tuple[Doubles, Doubles]] = []
    for index, key in enumerate(keys):
        here = place.item(index)
        if key["file"] is None:
            corners.append(own_corners(key, values["triangles"], files, here))
        else:
            corners.append(file_corners(key, material, files, here))
        first, last = len(corners[0][0]), len(corners[-1][0])
        if first != last:
            raise here.error(f"expected {first} triangles as at the first key, got {last}")
    return KeyedTriangles(
        times=np.array([key["time"] for key in keys]),
        positions=np.array([positions for positions, _ in corners]),
        normals=np.array([normals for _, normals in corners]),
        material=material,
    )


def own_corners(key: dict[str, Any], triangles: Any, files: MeshFiles, place: Place) -> tuple[Doubles, Doubles]:
    """Returns positions and normals, both (n, 3, 3), of vertices in the scene file; normals of length 0 where it has
    none."""
    vertices, normals = key["vertices"], key["normals"]
    if vertices is None:
        raise place.error("expected one of vertices and file, got neither")
    indices = indices_of({"triangles": triangles}, "triangles", len(vertices), place)
    files.count(len(indices), place)
    if normals is None:
        return vertices[indices], np.zeros((len(indices), 3, 3))
    if len(normals) != len(vertices):
        raise place.inside("normals").error(f"expected {len(vertices)}, one for each vertex, got {len(normals)}")
    return vertices[indices], unit(normals)[indices]


def file_corners(key: dict[str, Any], material: int, files: MeshFiles, place: Place) -> tuple[Doubles, Doubles]:
    """Returns the positions and the unit normals of all triangles of a mesh file, both (n, 3, 3)."""
    for name in ("vertices", "normals"):
        if key[name] is not None:
            raise place.inside(name).error("expected none beside file, which has its own")
    positions, normals = [], []
    for piece in files.pieces(key | PLAIN_FILE, material, place):
        if not isinstance(piece.shape, Mesh):
            raise place.inside("file").error("expected a mesh at one time, got keyed triangles")
        corners = corner_arrays(piece.shape, IDENTITY if piece.matrix is None else piece.matrix)
        positions.append(corners[0])
        normals.append(corners[1])
    return np.concatenate(positions), np.concatenate(normals)


def track_of(values: dict[str, Any], place: Place) -> Track:
    """Makes the track that a table describes. values: of the keys of `TRACK`."""
    interpolation = values["interpolation"]
    parts = {name: values[name] for name in ("translate", "rotate", "scale", "visible") if values[name] is not None}
    for name, keys in parts.items():
        if interpolation != "inner-spline":
            check_order(keys, place.inside(name))
        elif name != "visible" and len(keys) < SPLINE_KEYS:
            raise place.inside(name).error(f"expected at least {SPLINE_KEYS} keys of an inner-spline, got {len(keys)}")
    rows = {
        name: spline_keys(keys, interpolation, place.inside(name)) for name, keys in parts.items() if name != "visible"
    }
    return Track(
        transl=vector_track(*rows["translate"]) if "translate" in rows else None,
        rot=rotation_track(*rows["rotate"]) if "rotate" in rows else None,
        scale=vector_track(*rows["scale"]) if "scale" in rows else None,
        visibility=visibility_track(parts["visible"]) if "visible" in parts else None,
    )


def check_order(keys: Sequence[dict[str, Any]], place: Place) -> None:
    """Raises unless no key is before the one that it follows."""
    for index in range(1, len(keys)):
        before, time = keys[index - 1]["time"], keys[index]["time"]
        if time < before:
            raise place.item(index).inside("time").error(f"expected a time not before {before:g}, got {time:g}")


def spline_keys(keys: list[dict[str, Any]], interpolation: str, place: Place) -> tuple[list[dict[str, Any]], Doubles]:
    """Returns the keys with those that shape the ends, and the (n, 3) tension, continuity and bias of each."""
    given = [[key["tension"], key["continuity"], key["bias"]] for key in keys]
    if interpolation == "linear":
        for index, shape in enumerate(given):
            if shape != [None, None, None]:
                raise place.item(index).error("tension, continuity and bias do nothing in a linear track")
        ended = with_ends(keys)
        return ended, linear_shapes(np.array([key["time"] for key in ended]))
    ended = keys if interpolation == "inner-spline" else with_ends(keys)
    shapes = [[key[name] or 0.0 for name in ("tension", "continuity", "bias")] for key in ended]
    return ended, np.array(shapes, dtype=np.float64)


def with_ends(keys: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Returns the keys with the first and the last once more, as far beyond the ends in time as their neighbours are
    inside."""
    if len(keys) == 1:
        keys = keys * 2
    start, end = keys[0]["time"], keys[-1]["time"]
    before = {**keys[0], "time": start - (keys[1]["time"] - start)}
    after = {**keys[-1], "time": end + (end - keys[-2]["time"])}
    return [before, *keys, after]


def vector_track(keys: list[dict[str, Any]], shapes: Doubles) -> VectorTrack:
    """Makes a track of positions or scales."""
    times, values = [key["time"] for key in keys], [key["value"] for key in keys]
    return VectorTrack(times=np.array(times), values=np.array(values), shapes=shapes)


def rotation_track(keys: list[dict[str, Any]], shapes: Doubles) -> RotationTrack:
    """Makes a track of turns."""
    return RotationTrack(
        times=np.array([key["time"] for key in keys]),
        axes=np.array([key["axis"] for key in keys]),
        degrees=np.array([key["degrees"] for key in keys]),
        shapes=shapes,
    )


def visibility_track(keys: list[dict[str, Any]]) -> VisibilityTrack:
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
