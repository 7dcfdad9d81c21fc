"""This module builds a walker's body: meshes that all walkers share, and the joints between them."""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from scenes.document import Part
from scenes.meshes.shapes import arc, box, curve, lathe
from scenes.model import Doubles, Mesh
from scenes.motion.transforms import WORLD, Transform, scaling
from scenes.shipped.modelling import loft, pose, tube
from scenes.shipped.scripts.robots.gait import ANKLE_HEIGHT, SHIN, THIGH
from scenes.shipped.scripts.robots.materials import EYES, FIRST_PAINT, RUBBER, STEEL
from scenes.shipped.scripts.surfaces import joined, moved

#: Metres of a walker of size 1, from joint to joint: aside from the middle, and up.
HIP_ASIDE, WAIST_UP, SHOULDER_ASIDE, SHOULDER_UP, NECK_UP = 0.17, 0.12, 0.385, 0.50, 0.64
UPPER_ARM, FOREARM, PALM, PHALANX = 0.36, 0.34, 0.11, 0.075
#: Where fingers begin below the wrist, x and z, and by how many degrees they stand around it; the last is the thumb.
FINGERS = ((-0.035, 0.02, 0.0), (0.0, 0.028, 0.0), (0.035, 0.02, 0.0), (0.0, -0.035, 180.0))
SOLE_TOP = -ANKLE_HEIGHT + 0.035
SIDES = (("left", 1.0), ("right", -1.0))


def limb(length: float, upper: float, lower: float) -> Mesh:
    """Returns a painted limb that hangs from the origin, thicker at its calf, with round ends."""
    outline = [(0.0, -length + 0.02), (lower, -length + 0.05), (1.1 * lower, -0.8 * length), (upper, -0.3 * length)]
    return lathe(curve([*outline, (0.85 * upper, -0.07), (0.0, -0.04)], 2), 12, FIRST_PAINT)


def ball(radius: float) -> Mesh:
    """Returns the steel ball of a joint."""
    profile = arc((0.0, 0.0), radius, (-90.0, 90.0), 6)
    profile[[0, -1], 0] = 0.0
    return lathe(profile, 12, STEEL)


def slab(y: float, half_width: float, half_depth: float, forward: float) -> Doubles:
    """Returns a level ring (20, 3), between an ellipse and a rectangle, so far forward of the axis."""
    angles = 2.0 * np.pi * np.arange(20) / 20
    cosine, sine = (np.sign(wave) * np.abs(wave) ** 0.55 for wave in (np.cos(angles), np.sin(angles)))
    return np.stack([half_width * cosine, np.full(20, y), forward - half_depth * sine], axis=-1)


def chest() -> Mesh:
    """Returns the painted chest above the waist."""
    levels = [
        (0.10, 0.17, 0.12, 0.0),
        (0.14, 0.21, 0.15, 0.005),
        (0.30, 0.27, 0.19, 0.015),
        (0.45, 0.31, 0.20, 0.015),
        (0.55, 0.30, 0.18, 0.0),
        (0.60, 0.22, 0.13, 0.0),
        (0.62, 0.12, 0.10, 0.0),
    ]
    return loft(np.array([slab(*level) for level in levels]), FIRST_PAINT)


def backpack() -> Mesh:
    """Returns two tanks and their bracket on the back."""
    tank = [(0.0, 0.16), (0.05, 0.17), (0.075, 0.21), (0.075, 0.46), (0.05, 0.50), (0.0, 0.51)]
    tanks = [moved(lathe(tank, 12, STEEL), pose((x, 0.0, -0.25))) for x in (-0.095, 0.095)]
    return joined([*tanks, box((-0.10, 0.30, -0.24), (0.10, 0.38, -0.14), STEEL)])


def bellows(lower: float, upper: float, radius: float) -> Mesh:
    """Returns rubber rings between two heights."""
    heights = np.linspace(lower, upper, 9)
    radii = radius * (1.0 + 0.09 * np.cos(np.pi * np.arange(9)))
    return lathe(np.stack([radii, heights], axis=-1), 12, RUBBER, 70.0)


def pelvis() -> Mesh:
    """Returns the steel bowl between the hips."""
    profile = curve([(0.0, -0.13), (0.11, -0.11), (0.17, -0.02), (0.17, 0.05), (0.12, 0.08)], 2)
    return lathe([*profile, (0.0, 0.08)], 16, STEEL)


def head() -> Mesh:
    """Returns the painted dome above the neck."""
    dome = curve([(0.0, 0.05), (0.12, 0.05), (0.155, 0.08), (0.16, 0.20), (0.12, 0.31), (0.0, 0.35)], 2)
    return lathe(dome, 18, FIRST_PAINT)


def antenna() -> Mesh:
    """Returns a rod with a knob above an ear."""
    knob = moved(ball(0.022), pose((0.15, 0.52, -0.02)))
    ear = moved(
        lathe([(0.0, 0.0), (0.05, 0.0), (0.05, 0.04), (0.0, 0.04)], 12, STEEL),
        pose((0.14, 0.2, 0.0), -90.0, (0.0, 0.0, 1.0)),
    )
    return joined([tube([(0.15, 0.2, -0.02), (0.15, 0.51, -0.02)], 0.008, STEEL, 6), knob, ear])


def face() -> Mesh:
    """Returns two glowing eyes that look ahead."""
    eye = lathe([(0.035, 0.0), (0.04, 0.03), (0.03, 0.04), (0.0, 0.045)], 12, EYES)
    return joined([moved(eye, pose((x, 0.20, 0.13), 90.0, (1.0, 0.0, 0.0))) for x in (-0.065, 0.065)])


def palm() -> Mesh:
    """Returns a hand without its fingers, below the wrist."""
    return box((-0.055, -PALM, -0.04), (0.055, -0.01, 0.035), STEEL, 0.012)


def phalanx() -> Mesh:
    """Returns a link of a finger, below its joint."""
    return lathe([(0.0, -PHALANX), (0.013, -0.068), (0.016, -0.01), (0.012, 0.006), (0.0, 0.01)], 8, STEEL)


def sole() -> Mesh:
    """Returns the rubber below a foot, flat on the ground below the ankle."""
    return loft(np.array([slab(y, 0.095, 0.165, 0.055) for y in (-ANKLE_HEIGHT, SOLE_TOP)]), RUBBER)


def shoe() -> Mesh:
    """Returns what stands on the sole, up to the ankle."""
    low = SOLE_TOP
    levels = [
        (low, 0.088, 0.155, 0.055),
        (low + 0.04, 0.085, 0.145, 0.05),
        (-0.02, 0.06, 0.08, 0.0),
        (0.0, 0.03, 0.03, 0.0),
    ]
    return loft(np.array([slab(*level) for level in levels]), FIRST_PAINT)


@dataclass(frozen=True, eq=False)
class Body:
    """Holds the meshes of which walkers are made, each once. What is of paint takes that of the walker."""

    pelvis: Mesh = field(default_factory=pelvis)
    waist: Mesh = field(default_factory=lambda: bellows(-0.05, 0.13, 0.13))
    chest: Mesh = field(default_factory=chest)
    backpack: Mesh = field(default_factory=backpack)
    neck: Mesh = field(default_factory=lambda: bellows(-0.04, 0.08, 0.07))
    head: Mesh = field(default_factory=head)
    face: Mesh = field(default_factory=face)
    antenna: Mesh = field(default_factory=antenna)
    large_ball: Mesh = field(default_factory=lambda: ball(0.10))
    small_ball: Mesh = field(default_factory=lambda: ball(0.065))
    thigh: Mesh = field(default_factory=lambda: limb(THIGH, 0.105, 0.07))
    shin: Mesh = field(default_factory=lambda: limb(SHIN, 0.095, 0.055))
    upper_arm: Mesh = field(default_factory=lambda: limb(UPPER_ARM, 0.08, 0.058))
    forearm: Mesh = field(default_factory=lambda: limb(FOREARM, 0.072, 0.05))
    palm: Mesh = field(default_factory=palm)
    phalanx: Mesh = field(default_factory=phalanx)
    sole: Mesh = field(default_factory=sole)
    shoe: Mesh = field(default_factory=shoe)


@dataclass(frozen=True, eq=False)
class Walker:
    """Puts one walker together in its place.

    name: with which the names of its tracks begin.
    paint: its material.
    """

    name: str
    body: Body
    paint: int
    scale: float

    @cached_property
    def parts(self) -> list[Part]:
        """Returns all of its parts, each under the joints that carry it."""
        root = WORLD.inner(track=self.name).inner(matrix=scaling(np.full(3, self.scale)))
        hips = root.inner(track=f"{self.name}/hips")
        legs = [part for name, aside in SIDES for part in self.leg(hips, name, aside)]
        return [
            *self.shown(hips, self.body.pelvis),
            *legs,
            *self.upper_part(self.joint(hips, (0.0, WAIST_UP, 0.0), "waist")),
        ]

    def joint(self, parent: Transform, place: tuple[float, float, float], name: str) -> Transform:
        """Returns what hangs at a place of the parent and is turned by a track of the walker."""
        return parent.inner(matrix=pose(place)).inner(track=f"{self.name}/{name}")

    def shown(self, transform: Transform, *meshes: Mesh) -> list[Part]:
        """Returns meshes in a place, those of paint in the walker's own."""
        return [Part(mesh, transform, material=self.paint if mesh.material == FIRST_PAINT else None) for mesh in meshes]

    def upper_part(self, waist: Transform) -> list[Part]:
        """Returns everything above the waist."""
        body = self.body
        head = self.joint(waist, (0.0, NECK_UP, 0.0), "head")
        arms = [part for name, aside in SIDES for part in self.arm(waist, name, aside)]
        trunk = self.shown(waist, body.waist, body.chest, body.backpack)
        return [*trunk, *self.shown(head, body.neck, body.head, body.face, body.antenna), *arms]

    def leg(self, hips: Transform, name: str, aside: float) -> list[Part]:
        """Returns a leg from the hip down."""
        body = self.body
        hip = self.joint(hips, (aside * HIP_ASIDE, 0.0, 0.0), f"{name} hip")
        knee = self.joint(hip, (0.0, -THIGH, 0.0), f"{name} knee")
        ankle = self.joint(knee, (0.0, -SHIN, 0.0), f"{name} ankle")
        return [
            *self.shown(hip, body.large_ball, body.thigh),
            *self.shown(knee, body.small_ball, body.shin),
            *self.shown(ankle, body.small_ball, body.sole, body.shoe),
        ]

    def arm(self, waist: Transform, name: str, aside: float) -> list[Part]:
        """Returns an arm from the shoulder down."""
        body = self.body
        shoulder = self.joint(waist, (aside * SHOULDER_ASIDE, SHOULDER_UP, 0.0), f"{name} shoulder")
        elbow = self.joint(shoulder, (0.0, -UPPER_ARM, 0.0), f"{name} elbow")
        wrist = self.joint(elbow, (0.0, -FOREARM, 0.0), f"{name} wrist")
        fingers = [part for finger in FINGERS for part in self.finger(wrist, finger, f"{name} grip")]
        return [
            *self.shown(shoulder, body.large_ball, body.upper_arm),
            *self.shown(elbow, body.small_ball, body.forearm),
            *self.shown(wrist, body.palm),
            *fingers,
        ]

    def finger(self, wrist: Transform, finger: tuple[float, float, float], grip: str) -> list[Part]:
        """Returns two links, which the same grip bends."""
        x, z, degrees = finger
        first = wrist.inner(matrix=pose((x, -PALM, z), degrees)).inner(track=f"{self.name}/{grip}")
        second = self.joint(first, (0.0, -PHALANX, 0.0), grip)
        return [*self.shown(first, self.body.phalanx), *self.shown(second, self.body.phalanx)]
