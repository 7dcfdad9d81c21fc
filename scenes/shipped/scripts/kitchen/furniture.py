"""This module builds the kitchen's table with its chairs, the shelves and the clock."""

from dataclasses import replace

import numpy as np

from scenes.document import Part
from scenes.meshes.shapes import box, curve, lathe
from scenes.model import Doubles, Mesh
from scenes.shipped.modelling import loft, pose, tube
from scenes.shipped.scripts.kitchen.materials import of
from scenes.shipped.scripts.kitchen.room import BACK_WINDOW, GAP
from scenes.shipped.scripts.surfaces import joined, level, moved, placed, rounded, upright

#: Height of the table, its middle along x and z, its length and width.
TABLE, TABLE_PLACE, TABLE_SIZE = 0.75, (1.75, 2.75), (1.5, 0.88)
#: Middles of chairs along x and z, and degrees about y: at 0 one sits looking along -z.
CHAIRS = ((1.36, 3.36, 6.0), (2.16, 3.42, -12.0), (1.36, 2.12, 177.0), (2.14, 2.08, 186.0))
#: Upper sides of the shelves on the left wall; where they begin and end along z; their depth.
SHELVES, SHELF_ENDS, SHELF_DEPTH = (1.30, 1.66), (0.70, 1.50), 0.22

#: Points of the profiles of turned legs: radius and height. A point that is there twice is a corner.
TABLE_LEG = (
    (0.0, 0.0),
    (0.020, 0.0),
    (0.020, 0.0),
    (0.026, 0.03),
    (0.020, 0.07),
    (0.023, 0.09),
    (0.033, 0.30),
    (0.034, 0.42),
    (0.024, 0.47),
    (0.024, 0.485),
    (0.024, 0.485),
    (0.036, 0.505),
    (0.036, 0.525),
    (0.025, 0.545),
    (0.025, 0.545),
    (0.027, 0.60),
)
CHAIR_LEG = (
    (0.0, 0.0),
    (0.011, 0.0),
    (0.011, 0.0),
    (0.014, 0.10),
    (0.019, 0.22),
    (0.013, 0.25),
    (0.013, 0.25),
    (0.020, 0.28),
    (0.017, 0.42),
)


def parts() -> list[Part]:
    """Returns all of the furniture."""
    chair_meshes, leg = chair(), table_leg()
    x, z = TABLE_PLACE
    feet = [(x + 0.66 * i, GAP, z + 0.35 * j) for i in (-1, 1) for j in (-1, 1)]
    return [
        *placed(table(), (x, 0.0, z)),
        *(part for place in feet for part in placed([leg], place)),
        *(part for *place, turn in CHAIRS for part in placed(chair_meshes, (place[0], GAP, place[1]), turn)),
        *placed(shelves(), (0.0, 0.0, 0.0)),
        *placed(clock(), (BACK_WINDOW.left + BACK_WINDOW.width / 2.0, 2.36, GAP)),
    ]


def table() -> list[Mesh]:
    """Returns the top and the boards below it, around x = z = 0."""
    length, width = TABLE_SIZE
    x, z, low, high = length / 2.0, width / 2.0, 0.63, TABLE - 0.036
    boards = [
        box((-x, TABLE - 0.035, -z), (x, TABLE, z), of("oak"), 0.007),
        box((-0.64, low, -0.365), (0.64, high, -0.345), of("oak")),
        box((-0.64, low, 0.345), (0.64, high, 0.365), of("oak")),
        box((-0.675, low, -0.33), (-0.655, high, 0.33), of("oak")),
        box((0.655, low, -0.33), (0.675, high, 0.33), of("oak")),
    ]
    return [joined(boards)]


def table_leg() -> Mesh:
    """Returns a turned leg from y = 0 up to the table's top, square where the boards meet it."""
    block = box((-0.038, 0.59, -0.038), (0.038, TABLE - 0.037 - GAP, 0.038), of("oak"), 0.003)
    return joined([lathe(curve(TABLE_LEG, 2), 24, of("oak")), block])


def chair() -> list[Mesh]:
    """Returns a chair around x = z = 0 whose back is at z > 0: turned legs, spindles, a bent rail and a cushion."""
    turned = lathe(curve(CHAIR_LEG, 2), 14, of("walnut"))
    feet = [(-0.17, -0.16), (0.17, -0.16), (-0.16, 0.16), (0.16, 0.16)]
    legs = [moved(turned, pose((x, 0.0, z))) for x, z in feet]
    bars = [tube([[x, 0.16, -0.16], [x * 0.95, 0.16, 0.16]], 0.009, of("walnut"), 8) for x in (-0.17, 0.17)]
    bars.append(tube([[-0.165, 0.165, 0.0], [0.165, 0.165, 0.0]], 0.009, of("walnut"), 8))
    sizes = [(0.38, 0.36, 0.415), (0.41, 0.39, 0.425), (0.42, 0.40, 0.437), (0.41, 0.39, 0.449), (0.39, 0.37, 0.452)]
    seat = loft([level(rounded(width, depth, 0.07), height) for width, depth, height in sizes], of("walnut"), 60.0)
    return [joined([*legs, *bars, seat, *chair_back()]), cushion()]


def chair_back() -> list[Mesh]:
    """Returns the posts, spindles and the rail that joins them."""
    places = np.linspace(-0.16, 0.16, 7)
    low, high = np.array([0.0, 0.445, 0.155]), np.array([0.0, 0.84, 0.245])
    bars = []
    for x in places:
        is_post = abs(x) > 0.15
        bend = np.array([0.0, 0.02, -0.012 if is_post else 0.012])
        path = curve(
            [low + [0.92 * x, 0, bow(x) / 2], (low + high) / 2 + bend + [x, 0, bow(x)], high + [1.1 * x, 0, bow(x)]], 3
        )
        bars.append(tube(path, 0.013 if is_post else 0.007, of("walnut"), 8))
    rings = [
        upright(rounded(0.018, 0.075 - 0.9 * x * x, 0.008, 2), x) + high + [0.0, 0.02, bow(x)]
        for x in np.linspace(-0.20, 0.20, 13)
    ]
    return [*bars, loft(rings, of("walnut"), 50.0)]


def bow(x: float) -> float:
    """Returns how far the back of a chair bends out at x."""
    return 0.035 - 0.9 * x * x


def cushion() -> Mesh:
    """Returns a flat cushion on a chair's seat."""
    rise = np.array(
        [[0.955, 0.0], [0.99, 0.008], [1.0, 0.017], [0.985, 0.027], [0.92, 0.034], [0.75, 0.037], [0.4, 0.038]]
    )
    rings = [level(rounded(0.37, 0.34, 0.07, 6) * share, 0.453 + height) for share, height in rise]
    mesh = loft(rings, of("gingham"), 60.0)
    return replace(mesh, uvs=mesh.vertices[:, [0, 2]], uv_triangles=mesh.triangles)


def shelves() -> list[Mesh]:
    """Returns two boards on iron brackets."""
    near, far = SHELF_ENDS
    boards = [box((GAP, top - 0.026, near), (SHELF_DEPTH, top, far), of("oak"), 0.003) for top in SHELVES]
    brackets = [bracket(top - 0.027, z) for top in SHELVES for z in (near + 0.12, far - 0.12)]
    return [joined(boards), joined(brackets)]


def bracket(top: float, z: float) -> Mesh:
    """Returns an iron bracket below a shelf."""
    arm = curve([[0.012, top - 0.16, z], [0.03, top - 0.08, z], [0.10, top - 0.03, z], [0.18, top - 0.012, z]], 4)
    back = box((GAP, top - 0.18, z - 0.012), (0.008, top - GAP, z + 0.012), of("iron"))
    return joined(
        [
            tube(arm, 0.006, of("iron"), 10),
            back,
            box((0.009, top - 0.008, z - 0.012), (0.19, top - GAP, z + 0.012), of("iron")),
        ]
    )


def clock() -> list[Mesh]:
    """Returns a round clock on the wall z = 0, at ten past ten."""
    to_wall = pose((0.0, 0.0, 0.0), 90.0, (1.0, 0.0, 0.0))
    rim = [[0.0, 0.0], [0.13, 0.0], [0.135, 0.01], [0.13, 0.022], [0.122, 0.02], [0.12, 0.012], [0.0, 0.012]]
    face = moved(lathe([[0.0, 0.0128], [0.119, 0.0128], [0.119, 0.0133], [0.0, 0.0133]], 48, of("porcelain")), to_wall)
    hands = [(0.058, 0.006, 55.0), (0.092, 0.004, -60.0)]
    pointers = [hand(length, width, turn, 0.015 + 0.003 * k) for k, (length, width, turn) in enumerate(hands)]
    marks = [
        moved(box((-0.003, 0.095, 0.0134), (0.003, 0.112, 0.0145), of("iron")), turned(30.0 * k)) for k in range(12)
    ]
    return [moved(lathe(rim, 48, of("brass")), to_wall), face, joined([*pointers, *marks])]


def hand(length: float, width: float, degrees: float, depth: float) -> Mesh:
    """Returns a hand of the clock, counter-clockwise from above."""
    return moved(box((-width, -0.02, depth), (width, length, depth + 0.002), of("iron")), turned(degrees))


def turned(degrees: float) -> Doubles:
    """Returns the map (4, 4) that turns about z."""
    return pose((0.0, 0.0, 0.0), degrees, (0.0, 0.0, 1.0))
