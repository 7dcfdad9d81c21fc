"""This module builds the kitchen's floor, walls and ceiling, its windows with what is seen through them, curtains, door
and lamp."""

from dataclasses import dataclass

import numpy as np

from scenes.document import Part
from scenes.meshes.shapes import arc, box, curve, grid, lathe
from scenes.model import Doubles, Mesh
from scenes.motion.transforms import WORLD
from scenes.shipped.modelling import panel, pose, tube
from scenes.shipped.scripts.kitchen.materials import of
from scenes.shipped.scripts.surfaces import frame, joined, placed

#: Size of the room in metres along x, y and z. The counter is along z = 0, the table's window along x = 0.
WIDTH, HEIGHT, DEPTH = 4.2, 2.6, 5.2
#: Things stand clear of one another by this.
GAP = 0.001
#: How deep windows are set, up to the panel that is the sky.
REVEAL = 0.28
#: Where the lamp's bulb hangs, and its radius.
LAMP, BULB_RADIUS = (1.75, 1.80, 2.75), 0.085
#: Walls are modelled in the plane z = 0, facing +z, as the back one is.
LEFT_WALL = WORLD.inner(matrix=pose((0.0, 0.0, DEPTH), 90.0))
RIGHT_WALL = WORLD.inner(matrix=pose((WIDTH, 0.0, 0.0), -90.0))


@dataclass(frozen=True)
class RoomWindow:
    """Describes an opening in a wall in the plane z = 0, seen from inside: its left, right, lower and upper edge."""

    left: float
    right: float
    low: float
    high: float

    @property
    def width(self) -> float:
        """Returns the distance from the left edge to the right one."""
        return self.right - self.left

    @property
    def height(self) -> float:
        """Returns the distance from the lower edge to the upper one."""
        return self.high - self.low


BACK_WINDOW = RoomWindow(1.36, 2.60, 1.12, 2.08)
LEFT_WINDOW = RoomWindow(DEPTH - 3.65, DEPTH - 1.75, 0.95, 2.12)
RIGHT_WINDOW = RoomWindow(2.3, 4.2, 0.95, 2.12)


def parts() -> list[Part]:
    """Returns all of the room."""
    return [
        *placed(shell(), (0.0, 0.0, 0.0)),
        *placed(wall(WIDTH, BACK_WINDOW, "blue sky"), (0.0, 0.0, 0.0)),
        *placed(wall(DEPTH, LEFT_WINDOW, "blue sky"), (0.0, 0.0, 0.0), around=LEFT_WALL),
        *placed(wall(DEPTH, RIGHT_WINDOW, "bright sky"), (0.0, 0.0, 0.0), around=RIGHT_WALL),
        *curtains(),
        *placed(door(), (2.6, 0.0, DEPTH - GAP), 180.0),
        *placed(lamp(), (LAMP[0], 0.0, LAMP[2])),
    ]


def shell() -> list[Mesh]:
    """Returns the floor, ceiling and the wall without a window, facing inward, and the skirting boards."""
    x, y, z = np.diag([WIDTH, HEIGHT, DEPTH])
    high, wood = 0.09, of("white wood")
    boards = [
        box((GAP, GAP, 0.66), (0.016, high, DEPTH - 0.02), wood, 0.003),
        box((WIDTH - 0.016, GAP, 0.75), (WIDTH - GAP, high, DEPTH - 0.02), wood, 0.003),
        box((GAP, GAP, DEPTH - 0.016), (1.6, high, DEPTH - GAP), wood, 0.003),
        box((2.7, GAP, DEPTH - 0.016), (WIDTH - GAP, high, DEPTH - GAP), wood, 0.003),
    ]
    return [
        panel((0.0, 0.0, 0.0), z, x, of("floor tiles")),
        panel(y, x, z, of("ceiling")),
        panel(z, y, x, of("plaster")),
        joined(boards),
    ]


def wall(width: float, hole: RoomWindow, sky: str) -> list[Mesh]:
    """Returns a wall in the plane z = 0, facing +z, with a window in it.

    sky: name of the material behind the window.
    """
    x, y, z = np.eye(3)
    plaster, corner = of("plaster"), hole.left * x + hole.low * y
    across, upward, inward = hole.width * x, hole.height * y, -REVEAL * z
    pieces = [
        panel((0.0, 0.0, 0.0), hole.left * x, HEIGHT * y, plaster),
        panel(hole.right * x, (width - hole.right) * x, HEIGHT * y, plaster),
        panel(hole.left * x, across, hole.low * y, plaster),
        panel(hole.left * x + hole.high * y, across, (HEIGHT - hole.high) * y, plaster),
        panel(corner, across, inward, plaster),
        panel(corner + upward, inward, across, plaster),
        panel(corner, inward, upward, plaster),
        panel(corner + across, upward, inward, plaster),
    ]
    return [joined(pieces), *view(hole, sky), *window(hole)]


def view(hole: RoomWindow, sky: str) -> list[Mesh]:
    """Returns what is seen through a window, and lights the room: two hills, and the sky from a little below their
    crests."""
    x = np.linspace(hole.left, hole.right, 25)
    far = 0.36 + 0.09 * np.sin(2.1 * x + 0.4) + 0.03 * np.sin(6.0 * x)
    near = 0.17 + 0.08 * np.sin(1.7 * x + 2.0) + 0.02 * np.sin(9.0 * x)
    horizon = 0.22
    corner, edge = (hole.left, hole.low + horizon, -REVEAL), (0.0, hole.height - horizon, 0.0)
    above = panel(corner, (hole.width, 0.0, 0.0), edge, of(sky))
    return [above, hill(hole, far, 0.02, "far hill"), hill(hole, near, 0.04, "near hill")]


def hill(hole: RoomWindow, crest: Doubles, distance: float, name: str) -> Mesh:
    """Returns a glowing sheet at the foot of a window.

    crest: (n,) heights above it.
    distance: from the sky, metres.
    """
    foot = np.array([[x, hole.low, distance - REVEAL] for x in np.linspace(hole.left, hole.right, len(crest))])
    return grid([foot, foot + np.outer(crest, [0.0, 1.0, 0.0])], of(name))


def window(hole: RoomWindow) -> list[Mesh]:
    """Returns the frame, bars, sill and handle of a window with two sashes."""
    wood, middle = of("white wood"), (hole.left + hole.right) / 2.0
    low, rise = hole.low + 0.036, hole.low + 0.68 * hole.height
    pieces = [
        frame((hole.left + GAP, low, -0.14), (hole.right - GAP, hole.high - GAP, -0.08), 0.055, wood),
        box((middle - 0.04, low + 0.05, -0.135), (middle + 0.04, hole.high - 0.05, -0.085), wood, 0.004),
        box((hole.left + 0.05, rise, -0.125), (hole.right - 0.05, rise + 0.03, -0.095), wood, 0.004),
        box((hole.left - 0.06, hole.low + GAP, -0.16), (hole.right + 0.06, low - GAP, 0.08), wood, 0.006),
    ]
    path = curve([[0.0, 0.0, -0.085], [0.0, 0.0, -0.05], [0.0, -0.02, -0.04], [0.0, -0.11, -0.04]], 4)
    handle = tube(path + [middle, hole.low + 0.4 * hole.height, 0.0], 0.007, of("brass"), 10)
    return [joined(pieces), handle]


def curtains() -> list[Part]:
    """Returns two curtains on a rod beside the table, and a short one over the sink."""
    side, back = LEFT_WINDOW, BACK_WINDOW
    high = side.high + 0.12
    long, short = curtain(0.46, 1.42, 8, "linen"), curtain(back.width + 0.1, 0.24, 16, "gingham")
    return [
        *placed([long], (side.left - 0.30, high, 0.12), around=LEFT_WALL),
        *placed([long], (side.right - 0.16, high, 0.12), around=LEFT_WALL),
        *placed(rod(side.width + 0.72, 0.12), (side.left - 0.36, high + 0.012, 0.12), around=LEFT_WALL),
        *placed([short], (back.left - 0.05, back.high + 0.06, 0.06)),
        *placed(rod(back.width + 0.16, 0.06), (back.left - 0.08, back.high + 0.072, 0.06)),
    ]


def curtain(width: float, height: float, folds: int, name: str) -> Mesh:
    """Returns cloth in folds that hangs down from y = 0, from x = 0 to its width; the folds open a little below."""
    x, fall = np.linspace(0.0, 1.0, 8 * folds + 1), np.linspace(0.0, 1.0, 8)[:, None]
    phase = 2.0 * np.pi * folds * x + 0.8 * np.sin(5.0 * x) * fall
    depth = (0.014 + 0.012 * fall) * np.sin(phase)
    across = width * (x + 0.008 * np.sin(2.0 * phase + 1.0) * fall)
    return grid(np.stack([across, -height * fall + 0.0 * x, depth], axis=-1), of(name))


def rod(width: float, out: float) -> list[Mesh]:
    """Returns a brass rod from x = 0 to its width with thick ends, and two holders.

    out: its distance from the wall behind.
    """
    radii = np.array([0.004, 0.016, 0.020, 0.016, 0.008])
    ends = np.array([-0.020, -0.012, 0.0, 0.012, 0.02])
    places = np.concatenate([ends, width - ends[::-1]])
    bar = tube(np.outer(places, [1.0, 0.0, 0.0]), np.concatenate([radii, radii[::-1]]), of("brass"))
    holders = [tube([[x, 0.0, 0.0], [x, 0.0, GAP - out]], 0.006, of("brass"), 8) for x in (0.06, width - 0.06)]
    return [joined([bar, *holders])]


def door() -> list[Mesh]:
    """Returns a door with four panels in its frame, in the plane z = 0 from x = 0 to 0.95, facing +z."""
    wood = of("white wood")
    leaf = [
        frame((0.0, GAP, 0.0), (0.95, 2.1, 0.05), 0.07, wood),
        box((0.071, 0.072, 0.002), (0.879, 2.029, 0.03), wood),
    ]
    leaf += [
        frame((x, low, 0.03 + GAP), (x + 0.3, high, 0.042), 0.03, wood)
        for x in (0.14, 0.51)
        for low, high in ((0.2, 0.9), (1.15, 1.9))
    ]
    knob = tube(
        curve([[0.82, 1.02, 0.031], [0.82, 1.02, 0.07], [0.80, 1.02, 0.08], [0.71, 1.02, 0.08]], 4), 0.008, of("brass")
    )
    return [joined(leaf), knob]


def lamp() -> list[Mesh]:
    """Returns a bulb under a shade on a cord from the ceiling, over x = z = 0."""
    y, radius, brass = LAMP[1], BULB_RADIUS, of("brass")
    shade = curve([(0.215, -0.030), (0.205, 0.020), (0.150, 0.090), (0.070, 0.130), (0.030, 0.150), (0.0, 0.152)], 2)
    inside = np.vstack([shade[0], (shade - 0.004).clip([0.0, -1.0], None)])[::-1]
    rose = [[0.0, HEIGHT - 0.04], [0.03, HEIGHT - 0.04], [0.06, HEIGHT - GAP], [0.0, HEIGHT - GAP]]
    socket = [[0.0, radius], [0.024, radius], [0.024, 0.140], [0.0, 0.140]]
    cord = [[0.0, y + 0.145, 0.0], [0.0, HEIGHT - 0.03, 0.0]]
    return [
        lathe(arc((0.0, y), radius, (-90.0, 90.0), 8), 16, of("lamp")),
        lathe(shade + [0.0, y], 40, of("mint")),
        lathe(inside + [0.0, y], 40, of("enamel")),
        joined([lathe(np.array(socket) + [0.0, y], 20, brass), lathe(rose, 24, brass), tube(cord, 0.004, brass, 8)]),
    ]
