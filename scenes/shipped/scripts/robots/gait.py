"""This module says how a walker walks: its way through the streets, and the turns of its joints, as keyframes.

Its feet go where they should, and the joints of the legs follow from that. A walker looks along +z; joints turn about
the x axis, which points to its left, forward swings counting positive.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from scenes.model import Doubles
from scenes.motion.tracks import RotationTrack, Track, VectorTrack

#: Keys per stride, and at how many of them a foot stands.
KEYS_PER_STRIDE, STANDING_KEYS = 24, 15
#: Metres of a walker of size 1: from hip to knee and knee to ankle, from the ground to the ankle and to the hips.
THIGH, SHIN, ANKLE_HEIGHT, HIP_HEIGHT = 0.55, 0.55, 0.13, 1.14
#: How far it gets in a stride of two steps, how high it lifts its ankles, and how its hips rise and fall.
STRIDE, LIFT, BOB = 1.12, 0.15, 0.018
#: Degrees that a foot tips in the air, and by which arms, elbows from their bend, wrists, waist and head swing.
TIP, ARM_SWING, ELBOW_BEND, ELBOW_SWING = 30.0, 27.0, 28.0, 14.0
WRIST_SWING, WAIST_SWING, HEAD_SWING = 9.0, 7.0, 12.0
#: Corners of a way are cut as Chaikin: An Algorithm for High-Speed Curve Generation (1974), so many times.
CUTS = 5
#: Metres before and behind a point between which a way's direction is measured.
REACH = 0.25

LEFTWARD = np.array([1.0, 0.0, 0.0])
UPWARD = np.array([0.0, 1.0, 0.0])


@dataclass(frozen=True)
class WalkCycle:
    """Describes a walker on its way.

    corners: (x, z) of the way, which is longer than the walk.
    scale: its size, and with it its stride.
    cadence: strides per second.
    start: seconds of walking that lie behind it at time 0.
    end: when the animation ends.
    """

    corners: tuple[tuple[float, float], ...]
    scale: float
    cadence: float
    start: float
    end: float

    @cached_property
    def times(self) -> Doubles:
        """Returns the times (k,) of all keys: from just before 0 to just after the end, a whole number to a stride."""
        step = 1.0 / (self.cadence * KEYS_PER_STRIDE)
        first = np.floor(self.start / step) - 1
        last = np.ceil((self.start + self.end) / step) + 1
        return np.arange(first, last + 1) * step - self.start

    @cached_property
    def phases(self) -> Doubles:
        """Returns the strides walked at each key, (k,); the left foot comes down at whole numbers."""
        return (self.times + self.start) * self.cadence

    def way(self) -> Track:
        """Returns the track of where the walker stands and looks, on the ground."""
        distances = self.phases * STRIDE * self.scale
        place, heading = followed(self.corners, distances, REACH)
        return Track(transl=moves(self.times, place), rot=turns(self.times, UPWARD, heading))

    def joints(self) -> dict[str, Track]:
        """Returns the tracks of a walker's joints, by the name of the joint."""
        tracks = {
            "hips": Track(transl=moves(self.times, np.outer(self.hip_heights, UPWARD))),
            "waist": self.swinging(UPWARD, WAIST_SWING * np.sin(2.0 * np.pi * self.phases)),
            "head": self.swinging(UPWARD, HEAD_SWING * np.sin(0.7 * np.pi * self.phases)),
        }
        for side, lag in (("left", 0.0), ("right", 0.5)):
            hip, knee, ankle = leg_angles(self.phases + lag, self.hip_heights)
            swing = -np.cos(2.0 * np.pi * (self.phases + lag))
            angles = {
                "hip": hip,
                "knee": knee,
                "ankle": ankle,
                "shoulder": ARM_SWING * swing,
                "elbow": ELBOW_BEND + ELBOW_SWING * swing,
                "wrist": WRIST_SWING * swing,
            }
            tracks |= {f"{side} {joint}": self.swinging(-LEFTWARD, degrees) for joint, degrees in angles.items()}
        return tracks

    @cached_property
    def hip_heights(self) -> Doubles:
        """Returns the height of the hips above the ground at each key, (k,) metres for size 1; it is lowest when both
        feet stand."""
        return HIP_HEIGHT - BOB * np.cos(4.0 * np.pi * (self.phases - 0.5 * STANDING_KEYS / KEYS_PER_STRIDE + 0.25))

    def swinging(self, axis: Doubles, degrees: Doubles) -> Track:
        """Returns a joint that turns about an axis."""
        return Track(rot=turns(self.times, axis, degrees))


def moves(times: Doubles, values: Doubles) -> VectorTrack:
    """Makes a smooth track through points (k, 3)."""
    return VectorTrack(times=times, values=values, shapes=np.zeros((len(times), 3)))


def turns(times: Doubles, axis: Doubles, degrees: Doubles) -> RotationTrack:
    """Makes a smooth track of turns (k,) about one axis."""
    return RotationTrack(times, np.tile(axis, (len(times), 1)), degrees, np.zeros((len(times), 3)))


def followed(corners: tuple[tuple[float, float], ...], distances: Doubles, reach: float) -> tuple[Doubles, Doubles]:
    """Returns points (k, 3) on the ground along a way with round corners, and headings there, (k,) degrees from +z
    towards +x.

    corners: (x, z) of the way, metres.
    distances: (k,) metres along it.
    reach: metres before and behind a point between which its direction is measured.
    """
    line = rounded(np.array(corners))
    walked = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(line, axis=0), axis=1))])

    def at(shift: float) -> Doubles:
        return np.stack([np.interp(distances + shift, walked, coordinate) for coordinate in line.T], axis=-1)

    place, ahead = at(0.0), at(reach) - at(-reach)
    heading = np.degrees(np.unwrap(np.arctan2(ahead[:, 0], ahead[:, 1])))
    return np.stack([place[:, 0], np.zeros(len(place)), place[:, 1]], axis=-1), heading


def rounded(corners: Doubles) -> Doubles:
    """Returns a line (m, 2) with the ends and the legs of one through corners (n, 2), its corners cut off."""
    line = corners
    for _ in range(CUTS):
        cut = np.stack([0.75 * line[:-1] + 0.25 * line[1:], 0.25 * line[:-1] + 0.75 * line[1:]], axis=1)
        line = np.concatenate([line[:1], cut.reshape(-1, 2), line[-1:]])
    return line


def foot_path(phases: Doubles) -> tuple[Doubles, Doubles, Doubles]:
    """Returns a foot relative to the hips over strides (k,): metres ahead, of the ankle's lift, and degrees of its tip.

    It stands still on the ground for a part of the stride, going back under the walker, and swings forward in the rest.
    """
    standing = STANDING_KEYS / KEYS_PER_STRIDE
    step = STRIDE * standing
    phase = phases % 1.0
    in_air = np.clip((phase - standing) / (1.0 - standing), 0.0, 1.0)
    swing = in_air * in_air * (3.0 - 2.0 * in_air)
    ahead = np.where(phase < standing, step * (0.5 - phase / standing), step * (swing - 0.5))
    bump = np.sin(np.pi * in_air) ** 2
    return ahead, LIFT * bump, TIP * bump * np.cos(np.pi * in_air)


def leg_angles(phases: Doubles, hip_heights: Doubles) -> tuple[Doubles, Doubles, Doubles]:
    """Returns the degrees (k,) of hip, knee and ankle that bring the foot where it should be, by the law of cosines."""
    ahead, lift, tip = foot_path(phases)
    down = hip_heights - ANKLE_HEIGHT - lift
    reach = np.hypot(ahead, down)
    bend = np.pi - np.arccos((THIGH**2 + SHIN**2 - reach**2) / (2.0 * THIGH * SHIN))
    hip = np.arctan2(ahead, down) + np.arccos((THIGH**2 + reach**2 - SHIN**2) / (2.0 * THIGH * reach))
    hip, knee = np.degrees(hip), -np.degrees(bend)
    return hip, knee, -(hip + knee) - tip


def grip(end: float, random: np.random.Generator) -> Track:
    """Returns the track of a hand that slowly opens and closes its fingers."""
    times = np.arange(-2.0, end + 3.0, 1.0)
    return Track(rot=turns(times, -LEFTWARD, random.uniform(5.0, 45.0, len(times))))
