"""This module builds a toy car with a driver that drives around on the floor; its wheels roll without slipping.

Before it is moved, the car points along +x and the middle of its rear axle is above the origin; z is its right.
"""

import math
from dataclasses import dataclass

import numpy as np

from scenes.document import Part
from scenes.meshes.shapes import arc, box, curve, lathe
from scenes.model import Doubles, Mesh
from scenes.motion.tracks import RotationTrack, Track, VectorTrack
from scenes.motion.transforms import WORLD, Transform, scaling
from scenes.shipped.modelling import loft, pose, tube
from scenes.shipped.scripts.kitchen.materials import of
from scenes.shipped.scripts.kitchen.room import GAP
from scenes.shipped.scripts.surfaces import joined, moved, placed, rounded, upright

#: Seconds of a round, and how many keys divide it.
DURATION, KEYS = 8.0, 200
#: Middle of the round along x and z, half its size, and where on it the car starts: 0 is on the right, pi on the left.
ROUND_MIDDLE, ROUND_SIZE, ROUND_START = (3.10, 1.98), (0.54, 1.00), 0.75 * math.pi
#: The car is modelled at the size of a smaller toy; all lengths below are before this scale.
SCALE = 1.35
#: Radius of the wheels, from axle to axle, and from the middle to a wheel.
WHEEL_RADIUS, WHEELBASE, HALF_TRACK = 0.038, 0.20, 0.066
#: Turns of the key in its back in a second.
KEY_TURNS = 0.75
#: Points of the bumper and of the windscreen's frame.
BUMPER = (
    (0.250, 0.030, -0.062),
    (0.266, 0.030, -0.045),
    (0.272, 0.030, 0.0),
    (0.266, 0.030, 0.045),
    (0.250, 0.030, 0.062),
)
SCREEN_FRAME = (
    (0.098, 0.088, -0.036),
    (0.088, 0.118, -0.035),
    (0.085, 0.127, -0.024),
    (0.085, 0.128, 0.0),
    (0.085, 0.127, 0.024),
    (0.088, 0.118, 0.035),
    (0.098, 0.088, 0.036),
)
UP, AXLE = (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)


@dataclass(frozen=True)
class Wheel:
    """Holds a wheel's name, which its tracks bear, and the position of its middle along x and z."""

    name: str
    x: float
    z: float

    @property
    def steers(self) -> bool:
        """Returns whether the wheel is one of the front wheels."""
        return self.x > 0.0


WHEELS = (
    Wheel("rear left wheel", 0.0, -HALF_TRACK),
    Wheel("rear right wheel", 0.0, HALF_TRACK),
    Wheel("front left wheel", WHEELBASE, -HALF_TRACK),
    Wheel("front right wheel", WHEELBASE, HALF_TRACK),
)


def parts() -> list[Part]:
    """Returns the car: its body, four wheels that share their meshes, and the key."""
    car = WORLD.inner(track="toy car").inner(matrix=scaling(np.full(3, SCALE)))
    wheel_meshes = wheel()
    rolling = [part for at in WHEELS for part in placed(wheel_meshes, (0.0, 0.0, 0.0), around=mounted(at, car))]
    key_hole = car.inner(matrix=pose((-0.064, 0.062, 0.0))).inner(track="key")
    return [*placed(body(), (0.0, 0.0, 0.0), around=car), *rolling, *placed([key()], (0.0, 0.0, 0.0), around=key_hole)]


def mounted(at: Wheel, car: Transform) -> Transform:
    """Returns the frame in which a wheel turns: on its axle, steered if it is in front."""
    hub = car.inner(matrix=pose((at.x, WHEEL_RADIUS, at.z)))
    return (hub.inner(track=f"{at.name}: steering") if at.steers else hub).inner(track=at.name)


def body() -> list[Mesh]:
    """Returns all of the car that does not turn by itself."""
    return [
        hull(),
        joined([*(fender(at) for at in WHEELS), *running_boards()]),
        joined(fittings()),
        joined([lamp(side) for side in (-1, 1)]),
        seat(),
        windscreen(),
        *driver(),
    ]


def hull() -> Mesh:
    """Returns the body from tail to nose. The columns are x, width, height, height of the middle above the floor."""
    stations = curve(
        [
            [-0.072, 0.036, 0.020, 0.056],
            [-0.066, 0.062, 0.042, 0.056],
            [-0.040, 0.088, 0.064, 0.058],
            [0.000, 0.094, 0.072, 0.060],
            [0.055, 0.094, 0.072, 0.060],
            [0.120, 0.086, 0.070, 0.060],
            [0.190, 0.072, 0.062, 0.058],
            [0.235, 0.058, 0.054, 0.056],
            [0.250, 0.044, 0.044, 0.055],
        ],
        4,
    )
    rings = [
        upright(rounded(width, height, 0.46 * min(width, height), 6), x) + [0.0, middle, 0.0]
        for x, width, height, middle in stations
    ]
    return loft(rings, of("red lacquer"), 60.0)


def fender(at: Wheel) -> Mesh:
    """Returns a mudguard over a wheel."""
    outline = rounded(0.036, 0.004, 0.0018, 2)
    rings = []
    for angle in np.radians(np.linspace(188.0, 12.0, 15)):
        out = (WHEEL_RADIUS + 0.010 + outline[:, 1])[:, None] * [math.cos(angle), math.sin(angle), 0.0]
        rings.append(out + np.outer(outline[:, 0], [0.0, 0.0, -1.0]))
    return moved(loft(rings, of("cream lacquer"), 60.0), pose((at.x, WHEEL_RADIUS, at.z)))


def running_boards() -> list[Mesh]:
    """Returns steps between the mudguards."""
    low, high = WHEEL_RADIUS - 0.011, WHEEL_RADIUS - 0.006
    return [
        box((0.046, low, min(inner, outer)), (WHEELBASE - 0.046, high, max(inner, outer)), of("cream lacquer"), 0.0015)
        for inner, outer in ((0.030, 0.084), (-0.030, -0.084))
    ]


def fittings() -> list[Mesh]:
    """Returns what is made of chrome: grille, bumpers, axles, the frame of the windscreen, the steering column."""
    chrome = of("chrome")
    bars = [
        box((0.246, 0.038, z - 0.0012), (0.2535, 0.074, z + 0.0012), chrome, 0.0005)
        for z in np.linspace(-0.015, 0.015, 7)
    ]
    bumper = tube(curve(BUMPER, 5), 0.0035, chrome)
    stays = [tube([[0.225, 0.036, z], [0.268, 0.030, z]], 0.0025, chrome, 8) for z in (-0.025, 0.025)]
    axles = [
        tube([[x, WHEEL_RADIUS, -HALF_TRACK], [x, WHEEL_RADIUS, HALF_TRACK]], 0.004, chrome, 10)
        for x in (0.0, WHEELBASE)
    ]
    arch = tube(curve(SCREEN_FRAME, 4), 0.0022, chrome, 10)
    column = tube([[0.095, 0.090, 0.0], [0.071, 0.107, 0.0]], 0.002, chrome, 8)
    return [*bars, bumper, *stays, *axles, arch, column, steering_wheel()]


def steering_wheel() -> Mesh:
    """Returns a ring on the steering column."""
    ring = lathe(arc((0.016, 0.0), 0.0020, (0.0, 360.0), 8), 24, of("chrome"))
    return moved(ring, pose((0.071, 0.107, 0.0), 55.0, AXLE))


def lamp(side: int) -> Mesh:
    """Returns a headlamp beside the nose. side: 1 is right."""
    outline = [
        [0.0, -0.014],
        [0.007, -0.011],
        [0.0125, 0.0],
        [0.0125, 0.003],
        [0.0105, 0.0045],
        [0.006, 0.0065],
        [0.0, 0.007],
    ]
    forward = pose((0.232, 0.078, side * 0.041), -90.0, AXLE)
    stalk = tube([[0.228, 0.060, side * 0.020], [0.230, 0.076, side * 0.040]], 0.0025, of("cream lacquer"), 8)
    return joined([moved(lathe(outline, 24, of("cream lacquer")), forward), stalk])


def seat() -> Mesh:
    """Returns the padded opening that the driver sits in."""
    outline = [
        [0.0, -0.008],
        [0.026, -0.008],
        [0.0305, -0.002],
        [0.030, 0.003],
        [0.026, 0.0045],
        [0.022, 0.002],
        [0.0, 0.002],
    ]
    longer = np.diag([1.45, 1.0, 1.0, 1.0])
    return moved(moved(lathe(outline, 32, of("rubber")), longer), pose((0.040, 0.096, 0.0)))


def windscreen() -> Mesh:
    """Returns a pane inside its chrome arch."""
    pane = box((-0.0008, 0.004, -0.032), (0.0008, 0.035, 0.032), of("glass"), 0.0004)
    return moved(pane, pose((0.096, 0.0935, 0.0), 16.0, AXLE))


def driver() -> list[Mesh]:
    """Returns a wooden peg with a painted coat, and a cap."""
    coat = [[0.0, 0.0], [0.0155, 0.0], [0.0165, 0.004], [0.0155, 0.018], [0.011, 0.031], [0.0065, 0.036], [0.0, 0.036]]
    head = arc((0.0, 0.0475), 0.0135, (-90.0, 90.0), 12)
    cap = [
        [0.0, 0.0505],
        [0.0143, 0.0505],
        [0.0147, 0.0525],
        [0.0128, 0.0582],
        [0.007, 0.0622],
        [0.002, 0.0632],
        [0.0, 0.0648],
    ]
    place = pose((0.034, 0.0985, 0.0))
    figures = [lathe(coat, 28, of("blue paint")), lathe(head, 24, of("beech")), lathe(cap, 28, of("red lacquer"))]
    return [moved(figure, place) for figure in figures]


def wheel() -> list[Mesh]:
    """Returns a wheel around the origin whose axle is z: tyre, rim with cap, spokes."""
    to_axle = pose((0.0, 0.0, 0.0), 90.0, (1.0, 0.0, 0.0))
    thick = 0.0085
    tyre = arc((WHEEL_RADIUS - thick, 0.0), thick, (0.0, 360.0), 10) * [1.0, 1.15]
    rim = [[0.0225, -0.007], [0.0265, -0.0085], [0.0265, 0.0085], [0.0225, 0.007], [0.0225, -0.007]]
    cap = [[0.0, -0.009], [0.006, -0.009], [0.0075, -0.006], [0.0075, 0.006], [0.006, 0.009], [0.0, 0.0105]]
    spokes = [
        tube([[0.005 * c, 0.005 * s, 0.0], [0.0245 * c, 0.0245 * s, 0.0]], 0.0016, of("cream lacquer"), 8)
        for c, s in ((math.cos(angle), math.sin(angle)) for angle in np.radians(np.arange(0.0, 360.0, 36.0)))
    ]
    discs = [moved(lathe(outline, 28, of("cream lacquer")), to_axle) for outline in (rim, cap)]
    return [moved(lathe(tyre, 32, of("rubber")), to_axle), joined([*discs, *spokes])]


def key() -> Mesh:
    """Returns a key that winds the spring up, backward along -x from the origin."""
    bow = arc((0.0, 0.0), 0.010, (0.0, 360.0), 16)
    loops = [
        tube(
            np.stack([np.full(len(bow), -0.026) - 0.8 * bow[:, 0], 0.0 * bow[:, 0], side * 0.010 + bow[:, 1]], -1),
            0.0022,
            of("brass"),
            8,
        )
        for side in (-1, 1)
    ]
    return joined([tube([[0.004, 0.0, 0.0], [-0.020, 0.0, 0.0]], 0.003, of("brass"), 10), *loops])


@dataclass(frozen=True)
class Drive:
    """Describes the round that the middle of the rear axle makes, at even steps of its length.

    times: (n,) seconds.
    places: (n, 3) on the floor.
    headings: (n,) radians about y, 0 along +x, that go on past a full turn.
    curvatures: (n,) 1/m, > 0 to the left.
    step: metres from one to the next.
    """

    times: Doubles
    places: Doubles
    headings: Doubles
    curvatures: Doubles
    step: float

    def steering(self, at: Wheel) -> Doubles:
        """Returns the angles (n,) in radians about y by which a wheel points off the car's heading, so that it rolls
        along its own circle."""
        return np.arctan2(self.curvatures * SCALE * at.x, 1.0 + self.curvatures * SCALE * at.z)

    def rolled(self, at: Wheel) -> Doubles:
        """Returns how many metres a wheel has rolled, (n,)."""
        pace = np.hypot(1.0 + self.curvatures * SCALE * at.z, self.curvatures * SCALE * at.x)
        return self.step * np.concatenate([[0.0], np.cumsum((pace[1:] + pace[:-1]) / 2.0)])


def drive() -> Drive:
    """Returns the car's round, from a key before its start to one after its end, since tracks rest at their outermost
    keys."""
    phase = ROUND_START + np.linspace(-0.5, 2.5, 30001) * math.pi
    x = ROUND_MIDDLE[0] + ROUND_SIZE[0] * (np.cos(phase) - 0.09 * np.cos(3.0 * phase))
    z = ROUND_MIDDLE[1] + ROUND_SIZE[1] * -(np.sin(phase) + 0.05 * np.sin(3.0 * phase))
    fine = np.stack([x, np.full(len(x), GAP), z], axis=-1)
    length = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(fine, axis=0), axis=-1))])
    heading = np.unwrap(np.arctan2(-np.gradient(z), np.gradient(x)))
    curvature = np.gradient(heading) / np.gradient(length)
    start, end = np.interp([ROUND_START, ROUND_START + 2.0 * math.pi], phase, length)
    count = np.arange(-1, KEYS + 2)
    places = start + (end - start) * count / KEYS
    return Drive(
        times=DURATION * count / KEYS,
        places=np.stack([np.interp(places, length, column) for column in fine.T], axis=-1),
        headings=np.interp(places, length, heading),
        curvatures=np.interp(places, length, curvature),
        step=float(end - start) / KEYS,
    )


def tracks() -> dict[str, Track]:
    """Returns the tracks of the car, of its wheels and of the key, by name."""
    way = drive()
    shapes = np.zeros((len(way.times), 3))
    place = VectorTrack(way.times, way.places, shapes)
    tracks = {
        "toy car": Track(transl=place, rot=turning(way.times, UP, way.headings)),
        "key": Track(rot=turning(way.times, (-1.0, 0.0, 0.0), 2.0 * math.pi * KEY_TURNS * way.times)),
    }
    for at in WHEELS:
        tracks[at.name] = Track(rot=turning(way.times, AXLE, -way.rolled(at) / (SCALE * WHEEL_RADIUS)))
        if at.steers:
            tracks[f"{at.name}: steering"] = Track(rot=turning(way.times, UP, way.steering(at)))
    return tracks


def turning(times: Doubles, axis: tuple[float, float, float], radians: Doubles) -> RotationTrack:
    """Returns the track of turns about one axis by angles (n,) at times (n,)."""
    return RotationTrack(
        times, np.tile(np.array(axis), (len(times), 1)), np.degrees(radians), np.zeros((len(times), 3))
    )
