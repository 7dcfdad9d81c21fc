"""This module moves things by keyframes: splines through positions and scales, squad through rotations, steps of
visibility.

The first and the last key of a spline only shape its ends: the spline runs from the second to the last but one and
rests there before and after. Keys need not be sorted, and times may repeat.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce

import numpy as np

from scenes.meshes.geometry import cross
from scenes.model import Doubles
from scenes.motion.transforms import quaternion, rotations

NO_TURN: Doubles = np.array([1.0, 0.0, 0.0, 0.0])


@dataclass(frozen=True)
class Segment:
    """Says where a time falls among keys: `fraction` in 0..1 of the way from key `index` to the next."""

    index: int
    fraction: float


def find_segment(times: Doubles, time: float) -> Segment:
    """Returns the segment of a time among keys 1 .. n-2, clamped to them.

    It is the first that ends after the time. So it starts before it, whatever the order of the keys: its duration is
    positive, and segments of no or negative duration are never found.
    """
    last = len(times) - 2
    if time <= times[1]:
        return Segment(1, 0.0)
    later = np.flatnonzero(time < times[2 : last + 1])
    if len(later) == 0:
        return Segment(last, 0.0)
    index = int(later[0]) + 1
    return Segment(index, float((time - times[index]) / (times[index + 1] - times[index])))


@dataclass(frozen=True)
class TangentWeights:
    """Weighs the steps into and out of a key in the tangents of a segment.

    Leaving its first key: outgoing = out_before (step before) + out_here (step of the segment). Arriving at its second:
    incoming = in_here (step of the segment) + in_after (step after).
    """

    out_before: float
    out_here: float
    in_here: float
    in_after: float


def tangent_weights(times: Doubles, shapes: Doubles, index: int) -> TangentWeights:
    """Returns the weights for the segment from key `index`.

    shapes: (n, 3) tension, continuity and bias of each key.

    Kochanek, Bartels: Interpolating Splines with Local Tension, Continuity, and Bias Control (1984), with their
    adjustment for uneven times. A neighbour that is out of order in time counts as one at the same time.
    """
    duration = times[index + 1] - times[index]
    speed_out = 2.0 * duration / max(times[index + 1] - times[index - 1], duration)
    speed_in = 2.0 * duration / max(times[index + 2] - times[index], duration)
    tension, continuity, bias = shapes[index]
    outgoing = 0.5 * speed_out * (1.0 - tension)
    next_tension, next_continuity, next_bias = shapes[index + 1]
    incoming = 0.5 * speed_in * (1.0 - next_tension)
    return TangentWeights(
        out_before=outgoing * (1.0 + continuity) * (1.0 + bias),
        out_here=outgoing * (1.0 - continuity) * (1.0 - bias),
        in_here=incoming * (1.0 - next_continuity) * (1.0 + next_bias),
        in_after=incoming * (1.0 + next_continuity) * (1.0 - next_bias),
    )


def linear_shapes(times: Doubles) -> Doubles:
    """Returns the tension, continuity and bias, (n, 3), with which the spline is linear between keys.

    times: (n,), not falling.

    At continuity -1 the tangents on both sides of a key follow their own steps alone (Kochanek, Bartels 1984). Tension
    and bias undo the adjustment for uneven times: each tangent is to be the whole step.
    """
    steps = np.diff(times)
    shapes = np.tile([0.0, -1.0, 0.0], (len(times), 1))
    for index in range(1, len(times) - 1):
        span = steps[index - 1] + steps[index]
        # A step without duration is never walked, and twice as fast are its neighbours.
        arriving, leaving = (0.5 * span / step if step > 0.0 else 0.5 for step in steps[index - 1 : index + 1])
        total = leaving + arriving
        shapes[index] = 1.0 - 0.5 * total, -1.0, (arriving - leaving) / total
    return shapes


def with_end_times(times: Doubles) -> Doubles:
    """Returns times (n,) with one more at each end, as far beyond it as its neighbour is inside; a single one counts
    twice."""
    inner = np.repeat(times, 2) if len(times) == 1 else times
    return np.concatenate([[2.0 * inner[0] - inner[1]], inner, [2.0 * inner[-1] - inner[-2]]])


def with_ends(values: Doubles) -> Doubles:
    """Returns values (n, ...) of keys with the first and the last once more; a single one counts twice."""
    inner = np.repeat(values, 2, axis=0) if len(values) == 1 else values
    return np.concatenate([inner[:1], inner, inner[-1:]])


class Known(dict[int, Doubles]):
    """Holds what has been worked out of segments, by their first key. make: works it out."""

    def __init__(self, make: Callable[[int], Doubles]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, index: int) -> Doubles:
        self[index] = found = self._make(index)
        return found


@dataclass(frozen=True, eq=False)
class VectorTrack:
    """Moves along positions, or through scales or other numbers.

    times: (n,), n >= 4.
    values: (n, 3), or (n, k) of other numbers.
    shapes: (n, 3) tension, continuity, bias.
    """

    times: Doubles
    values: Doubles
    shapes: Doubles

    @classmethod
    def of(cls, rows: Doubles) -> "VectorTrack":
        """Makes a track of rows (n, 4 + k) of time, value, tension, continuity and bias."""
        return cls(times=rows[:, 0], values=rows[:, 1:-3], shapes=rows[:, -3:])

    @property
    def rows(self) -> Doubles:
        """Returns the keys as rows, (n, 4 + k)."""
        return np.column_stack([self.times, self.values, self.shapes])

    def at(self, time: float) -> Doubles:
        """Returns the value at a time, (3,) or (k,): a cubic with the tangents of Kochanek and Bartels."""
        segment = find_segment(self.times, time)
        if segment.fraction == 0.0:
            return self.values[segment.index]
        (start, leaving, square, cubic), u = self._cubics[segment.index], segment.fraction
        return start + u * (leaving + u * (square + u * cubic))

    @cached_property
    def _cubics(self) -> "Known":
        return Known(self._cubic)

    def _cubic(self, index: int) -> Doubles:
        """Returns the four coefficients, (4, 3) or (4, k), of the segment from key `index`."""
        p0, p1, p2, p3 = self.values[index - 1 : index + 3]
        weights = tangent_weights(self.times, self.shapes, index)
        step = p2 - p1
        leaving = weights.out_before * (p1 - p0) + weights.out_here * step
        arriving = weights.in_here * step + weights.in_after * (p3 - p2)
        return np.array([p1, leaving, 3.0 * step - 2.0 * leaving - arriving, -2.0 * step + leaving + arriving])


@dataclass(frozen=True, eq=False)
class RotationTrack:
    """Turns from key to key.

    times: (n,), n >= 4.
    axes: (n, 3) of any length.
    degrees: (n,).
    shapes: as in VectorTrack.
    """

    times: Doubles
    axes: Doubles
    degrees: Doubles
    shapes: Doubles

    @classmethod
    def of(cls, rows: Doubles) -> "RotationTrack":
        """Makes a track of rows (n, 8) of time, axis, degrees, tension, continuity and bias."""
        return cls(times=rows[:, 0], axes=rows[:, 1:4], degrees=rows[:, 4], shapes=rows[:, 5:])

    @property
    def rows(self) -> Doubles:
        """Returns the keys as rows, (n, 8)."""
        return np.column_stack([self.times, self.axes, self.degrees, self.shapes])

    @cached_property
    def quaternions(self) -> Doubles:
        """Returns the unit quaternions (n, 4), each on the side of the one before, so that every step takes the short
        way."""
        turns = np.array([quaternion(axis, angle) for axis, angle in zip(self.axes, self.degrees, strict=True)])
        for index in range(1, len(turns)):
            if turns[index] @ turns[index - 1] < 0.0:
                turns[index] = -turns[index]
        return turns

    def at(self, time: float) -> Doubles:
        """Returns the (4,) unit quaternion at a time: spherical and quadrangle interpolation with the tangents of the
        splines.

        Shoemake: Animating Rotation with Quaternion Curves (1985); Quaternion Calculus and Fast Animation (1987).
        """
        return turns_at([self], time)[0]

    @cached_property
    def arcs(self) -> Known:
        """Returns the four quaternions, (4, 4), between which each segment is interpolated: its ends, then those that
        shape it."""
        return Known(self._arc)

    def _arc(self, index: int) -> Doubles:
        q0, q1, q2, q3 = self.quaternions[index - 1 : index + 3]
        weights = tangent_weights(self.times, self.shapes, index)
        step = step_between(q1, q2)
        leaving = weights.out_here * step + weights.out_before * step_between(q0, q1)
        arriving = weights.in_here * step + weights.in_after * step_between(q2, q3)
        a, b = product(q1, exponential((leaving - step) / 2.0)), product(q2, exponential((step - arriving) / 2.0))
        return np.array([q1, q2, a, b])


def turns_at(tracks: Sequence[RotationTrack], time: float) -> Doubles:
    """Returns what `RotationTrack.at` does of several tracks in one pass, (n, 4)."""
    segments = [find_segment(track.times, time) for track in tracks]
    turns = np.array([track.quaternions[segment.index] for track, segment in zip(tracks, segments, strict=True)])
    under_way = [k for k, segment in enumerate(segments) if segment.fraction != 0.0]
    if under_way:
        u = np.array([segments[k].fraction for k in under_way])
        q1, q2, a, b = np.stack([tracks[k].arcs[segments[k].index] for k in under_way], axis=1)
        turns[under_way] = slerp(slerp(q1, q2, u), slerp(a, b, u), 2.0 * u * (1.0 - u))
    return turns


def product(p: Doubles, q: Doubles) -> Doubles:
    """Returns the (4,) Hamilton product of quaternions (w, x, y, z)."""
    scalar = p[0] * q[0] - p[1:] @ q[1:]
    return np.concatenate([[scalar], p[0] * q[1:] + q[0] * p[1:] + cross(p[1:], q[1:])])


def step_between(p: Doubles, q: Doubles) -> Doubles:
    """Returns log(p^-1 q), (3,): the axis times half the angle, in radians, of the turn that follows p to give q."""
    turn = product(p * np.array([1.0, -1.0, -1.0, -1.0]), q)
    sine = float(np.linalg.norm(turn[1:]))
    return turn[1:] * (math.atan2(sine, turn[0]) / sine) if sine > 0.0 else np.zeros(3)


def exponential(half_turn: Doubles) -> Doubles:
    """Returns the unit quaternion (4,) of an axis times half the angle."""
    half = float(np.linalg.norm(half_turn))
    return np.concatenate([[math.cos(half)], half_turn * (math.sin(half) / half if half > 0.0 else 1.0)])


def slerp(p: Doubles, q: Doubles, u: Doubles) -> Doubles:
    """Returns the unit quaternions (n, 4) at `u`, (n,), of the great arcs from p to q, (n, 4) each (Shoemake 1985); it
    never flips a sign."""
    cosines = np.clip(reduce(np.add, (p * q).T), -1.0, 1.0)
    # NumPy's functions would differ in their last bits from machine to machine.
    angles = [math.acos(cosine) for cosine in cosines.tolist()]
    weights = [
        (1.0 - at, at) if math.sin(angle) < 1e-6 else (math.sin((1.0 - at) * angle), math.sin(at * angle))
        for angle, at in zip(angles, u.tolist(), strict=True)
    ]
    of_p, of_q = np.array(weights).T[..., None]
    blend = of_p * p + of_q * q
    length = np.sqrt(reduce(np.add, (blend * blend).T))[:, None]
    return np.where(length > 0.0, blend / np.where(length > 0.0, length, 1.0), p)


@dataclass(frozen=True, eq=False)
class CubicTrack(VectorTrack):
    """Moves by cubics with tangents of their own.

    incoming, outgoing: (n, k), tangents at each key, per second.
    """

    incoming: Doubles
    outgoing: Doubles

    def at(self, time: float) -> Doubles:
        """Returns the value at a time, (k,)."""
        return cubic_at(self, time)


@dataclass(frozen=True, eq=False)
class CubicTurns(RotationTrack):
    """Turns by cubics of quaternions. cubic: of (n, 4), w first."""

    cubic: CubicTrack

    def at(self, time: float) -> Doubles:
        """Returns the (4,) unit quaternion at a time."""
        turn = self.cubic.at(time)
        length = float(np.linalg.norm(turn))
        return turn / length if length > 0.0 else np.array([1.0, 0.0, 0.0, 0.0])


def cubic_at(track: CubicTrack, time: float) -> Doubles:
    """Returns the value of cubics at a time. Khronos Group: glTF 2.0 Specification (2021), appendix C."""
    segment = find_segment(track.times, time)
    here, u = segment.index, segment.fraction
    if u == 0.0:
        return track.values[here]
    length = track.times[here + 1] - track.times[here]
    arrived = u * u * (3.0 - 2.0 * u)
    blended = (1.0 - arrived) * track.values[here] + arrived * track.values[here + 1]
    leaving, arriving = u * (1.0 - u) ** 2 * track.outgoing[here], u * u * (u - 1.0) * track.incoming[here + 1]
    return blended + length * (leaving + arriving)


@dataclass(frozen=True, eq=False)
class VisibilityTrack:
    """Shows and hides from key to key.

    times: (n,).
    shown: (n,) bool. All is seen before the first key.
    """

    times: Doubles
    shown: np.ndarray[tuple[int], np.dtype[np.bool_]]

    def at(self, time: float) -> bool:
        """Returns whether it is seen at a time, as the last key up to that time says."""
        reached = np.flatnonzero(self.times <= time)
        return bool(self.shown[reached[-1]]) if len(reached) else True


@dataclass(frozen=True, kw_only=True, eq=False)
class Track:
    """Holds the keyframes of one name. A part that is missing does nothing."""

    transl: VectorTrack | None = None
    rot: RotationTrack | None = None
    scale: VectorTrack | None = None
    visibility: VisibilityTrack | None = None

    def offset_at(self, time: float) -> Doubles:
        """Returns the (3,) translation."""
        return self.transl.at(time) if self.transl else np.zeros(3)

    def matrix_at(self, time: float) -> Doubles:
        """Returns the (4, 4) map T R S."""
        return matrices_at([self], time)[0]

    def shown_at(self, time: float) -> bool:
        """Returns whether what the track moves is seen."""
        return self.visibility.at(time) if self.visibility else True


def matrices_at(tracks: Sequence[Track], time: float) -> Doubles:
    """Returns the maps T R S of tracks, (n, 4, 4), in one pass."""
    turns = np.tile(NO_TURN, (len(tracks), 1))
    turning = [k for k, track in enumerate(tracks) if track.rot is not None]
    if turning:
        turns[turning] = turns_at([track.rot for track in tracks if track.rot is not None], time)
    matrices = rotations(turns)
    for matrix, track in zip(matrices, tracks, strict=True):
        if track.scale is not None:
            matrix[:3, :3] *= track.scale.at(time)
        if track.transl is not None:
            matrix[:3, 3] = track.transl.at(time)
    return matrices
