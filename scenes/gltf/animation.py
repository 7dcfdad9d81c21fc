"""This module reads the animations of a glTF file: curves of translations, turns, scales and weights of morph targets.

Keys are joined as the file's samplers ask for: by steps, by lines (turns by great arcs), or by cubics with tangents of
their own. All animations that move different things are played together.
"""

from dataclasses import dataclass, field

import numpy as np

from scenes.gltf.accessors import Accessors
from scenes.gltf.nodes import rest_parts
from scenes.gltf.values import Item
from scenes.keys.place import quoted
from scenes.model import AnimationRange, Doubles
from scenes.motion.tracks import (
    CubicTrack,
    CubicTurns,
    RotationTrack,
    Track,
    VectorTrack,
    linear_shapes,
    with_end_times,
    with_ends,
)
from scenes.motion.transforms import axis_and_degrees

#: Frames of a second, since glTF has none.
FRAMES_PER_SECOND = 25
#: The latest key, seconds.
MAX_TIME = 86_400.0
STEP, LINEAR, CUBIC = "STEP", "LINEAR", "CUBICSPLINE"
WIDTHS = {"translation": 3, "rotation": 4, "scale": 3}
WEIGHTS = "weights"


@dataclass(eq=False)
class Animations:
    """Holds what moves.

    tracks: of nodes, by their index.
    weights: curves of the weights of morph targets, by the index of the node.
    span: when it moves.
    """

    tracks: dict[int, Track] = field(default_factory=dict)
    weights: dict[int, VectorTrack] = field(default_factory=dict)
    span: AnimationRange = field(default_factory=AnimationRange)


def read_animations(accessors: Accessors) -> Animations:
    """Reads all animations that move different things; one that moves what an earlier one does is noted."""
    file = accessors.file
    curves: dict[tuple[int, str], VectorTrack | RotationTrack] = {}
    end = 0.0
    for item in file.rows("animations"):
        own = channels(item, accessors)
        if own.keys() & curves.keys():
            name = item.text("name") or item.place.keys
            file.note(f"the animation {quoted(name)} is not played: an earlier one moves the same nodes")
            continue
        curves |= own
        end = max([end, *(float(curve.times[-2]) for curve in own.values())])
    found = Animations()
    if end > 0.0:
        found.span = AnimationRange(start=0.0, end=end, frames=1 + max(round(end * FRAMES_PER_SECOND), 1))
    by_node: dict[int, dict[str, VectorTrack | RotationTrack]] = {}
    for (node, path), curve in curves.items():
        by_node.setdefault(node, {})[path] = curve
    for node, paths in by_node.items():
        weights = paths.pop(WEIGHTS, None)
        if isinstance(weights, VectorTrack):
            found.weights[node] = weights
        if paths:
            found.tracks[node] = node_track(file.rows("nodes")[node], paths)
    return found


def channels(item: Item, accessors: Accessors) -> dict[tuple[int, str], VectorTrack | RotationTrack]:
    """Returns the curves of an animation by the node and the path that they move."""
    file = accessors.file
    found: dict[tuple[int, str], VectorTrack | RotationTrack] = {}
    samplers = item.children("samplers")
    for channel in item.children("channels"):
        target = channel.child("target")
        node, path = target.index("node", file.rows("nodes"), "nodes"), target.text("path")
        sampler = channel.index("sampler", samplers, "samplers")
        if sampler is None:
            raise channel.error("sampler", "a sampler")
        if node is None or path not in (*WIDTHS, WEIGHTS):
            file.note(f"{channel.place.keys} is not played: it moves no node")
            continue
        if path != WEIGHTS and file.rows("nodes")[node].has("matrix"):
            raise target.error("node", "a node without a matrix")
        found[node, path] = curve_of(samplers[sampler], path, accessors)
    return found


def curve_of(sampler: Item, path: str, accessors: Accessors) -> VectorTrack | RotationTrack:
    times, values = keys(sampler, path, accessors)
    way = sampler.text("interpolation", LINEAR)
    if way not in (STEP, LINEAR, CUBIC):
        raise sampler.error("interpolation", f"{STEP}, {LINEAR} or {CUBIC}")
    width = values.size // (len(times) * (3 if way == CUBIC else 1))
    if (
        width == 0
        or width * len(times) * (3 if way == CUBIC else 1) != values.size
        or (path in WIDTHS and width != WIDTHS[path])
    ):
        raise sampler.place.error(f"expected a value of {path} for each of {len(times)} keys, three of {CUBIC}")
    rows = values.reshape(len(times), -1, width)
    if path == "rotation":
        rows = rows[..., [3, 0, 1, 2]]
    if way == CUBIC:
        return cubic_curve(times, rows, path)
    points = rows[:, 0]
    if way == STEP:
        times, points = np.repeat(times, 2)[1:], np.repeat(points, 2, axis=0)[:-1]
    at, ended = with_end_times(times), with_ends(points)
    if path == "rotation":
        return turns(at, ended, linear_shapes(at))
    return VectorTrack(at, ended, linear_shapes(at))


def keys(sampler: Item, path: str, accessors: Accessors) -> tuple[Doubles, Doubles]:
    """Returns the times of the keys of a sampler, (n,), and all numbers of its output."""
    found = [sampler.index(name, accessors.rows, "accessors") for name in ("input", "output")]
    if found[0] is None or found[1] is None:
        raise sampler.error("input" if found[0] is None else "output", "an accessor")
    times = accessors.floats(found[0], "SCALAR")[:, 0]
    is_rising = len(times) > 0 and times[0] >= 0.0 and times[-1] <= MAX_TIME and bool((np.diff(times) > 0.0).all())
    if not is_rising:
        place = sampler.place.inside("input")
        raise place.error(f"expected rising times from 0 to {MAX_TIME:g} seconds")
    return times, accessors.floats(found[1], "SCALAR" if path == WEIGHTS else f"VEC{WIDTHS[path]}")


def cubic_curve(times: Doubles, rows: Doubles, path: str) -> VectorTrack | RotationTrack:
    """Makes a curve of cubics. rows: (n, 3, k), of each key the incoming tangent, the value and the outgoing one."""
    at = with_end_times(times)
    incoming, values, outgoing = (with_ends(rows[:, part]) for part in range(3))
    flat = np.zeros((len(at), 3))
    cubic = CubicTrack(at, values, flat, incoming, outgoing)
    if path != "rotation":
        return cubic
    plain = turns(at, values, flat)
    return CubicTurns(plain.times, plain.axes, plain.degrees, plain.shapes, cubic)


def turns(times: Doubles, quaternions: Doubles, shapes: Doubles) -> RotationTrack:
    """Makes a track of quaternions (n, 4), w first, of any length; one of length 0 turns nothing."""
    lengths = np.linalg.norm(quaternions, axis=1, keepdims=True)
    units = np.where(lengths > 0.0, quaternions / np.where(lengths > 0.0, lengths, 1.0), (1.0, 0.0, 0.0, 0.0))
    pairs = [axis_and_degrees(unit) for unit in units]
    axes, degrees = np.array([axis for axis, _ in pairs]), np.array([angle for _, angle in pairs])
    return RotationTrack(times, axes, degrees, shapes)


def node_track(item: Item, curves: dict[str, VectorTrack | RotationTrack]) -> Track:
    """Makes the track of a node; what no curve moves stays as the node has it."""
    offset, turn, scale = rest_parts(item)
    still = with_end_times(np.zeros(1))
    shapes = linear_shapes(still)

    def held(values: Doubles) -> VectorTrack:
        return VectorTrack(still, with_ends(values[None]), shapes)

    moved = curves.get("translation", held(offset))
    turned = curves.get("rotation", turns(still, with_ends(turn[None]), shapes))
    scaled = curves.get("scale", held(scale))
    assert isinstance(moved, VectorTrack)
    assert isinstance(turned, RotationTrack)
    assert isinstance(scaled, VectorTrack)
    return Track(transl=moved, rot=turned, scale=scaled)
