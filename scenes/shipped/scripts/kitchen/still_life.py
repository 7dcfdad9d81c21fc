"""This module says where dishes, fruit and plants stand in the kitchen. Each kind of dish is made once."""

import math

from scenes.document import Part
from scenes.meshes.shapes import box
from scenes.model import Mesh
from scenes.shipped.scripts.kitchen import dishes
from scenes.shipped.scripts.kitchen.counter import BURNERS, COUNTER, HOB
from scenes.shipped.scripts.kitchen.furniture import SHELVES, TABLE, TABLE_PLACE
from scenes.shipped.scripts.kitchen.materials import of
from scenes.shipped.scripts.kitchen.plants import potted
from scenes.shipped.scripts.kitchen.room import BACK_WINDOW, GAP, LEFT_WINDOW
from scenes.shipped.scripts.surfaces import placed

#: Height of a mat, and the upper sides of the sills of windows.
MAT, SILL = 0.0045, 0.035


def parts() -> list[Part]:
    """Returns all dishes, fruit and plants."""
    glass, cup, plate = dishes.wine_glass(), dishes.cup(), dishes.plate()
    return [
        *laid_table(glass, cup, plate),
        *fruit_bowl(),
        *on_counter(),
        *on_stove(),
        *on_shelves(plate, dishes.cup("blue glaze")),
        *on_sills(),
    ]


def laid_table(glass: list[Mesh], cup: list[Mesh], plate: list[Mesh]) -> list[Part]:
    """Returns four places and what stands between them."""
    mat, knife, spoon = dishes.placemat(), dishes.knife(), dishes.teaspoon()
    middle_x, middle_z = TABLE_PLACE
    parts: list[Part] = []
    for side, along in ((1, -0.39), (1, 0.39), (-1, -0.39), (-1, 0.39)):

        def at(x: float, y: float, z: float, side: int = side, along: float = along) -> tuple[float, float, float]:
            return (middle_x + along + side * x, TABLE + GAP + y, middle_z + side * (0.235 + z))

        turn = 0.0 if side == 1 else 180.0
        parts += placed(mat, at(0.0, 0.0, 0.0))
        parts += placed(plate, at(0.0, MAT + GAP, 0.0))
        parts += placed(glass, at(0.17, 0.0, -0.16))
        parts += placed(knife, at(0.152, MAT + GAP, 0.0), turn)
        parts += placed(cup, at(-0.19, 0.0, -0.165), turn + 200.0)
        parts += placed(spoon, at(-0.152, MAT + GAP, 0.0), turn)
    parts += placed(dishes.bottle(), (middle_x + 0.30, TABLE + GAP, middle_z - 0.005))
    parts += placed(dishes.teapot(), (middle_x - 0.40, TABLE + GAP, middle_z), 35.0)
    return parts


def fruit_bowl() -> list[Part]:
    """Returns a glass bowl in the middle of the table with five pieces of fruit in a ring and one on top of them."""
    radius, out = 0.0375, 0.065
    low = TABLE + GAP + dishes.rest_in_bowl(radius, out)
    red, green, orange = dishes.apple("red apple"), dishes.apple("green apple"), dishes.orange()
    x, z = TABLE_PLACE
    parts = placed(dishes.bowl(), (x, TABLE + GAP, z))
    for k, fruit in enumerate((red, orange, green, red, orange)):
        angle = math.radians(72.0 * k + 20.0)
        parts += placed(fruit, (x + out * math.cos(angle), low, z + out * math.sin(angle)), 100.0 * k)
    top = low + math.sqrt(4.0 * radius**2 - out**2)
    return parts + placed(red, (x, top, z), 40.0)


def on_counter() -> list[Part]:
    """Returns jars, a board with bread, fruit, a crock and tumblers."""
    y = COUNTER + GAP
    jar, tumbler, lemon = dishes.jar("ochre glaze"), dishes.tumbler(), dishes.lemon()
    board = [box((-0.22, 0.0, -0.15), (0.22, 0.022, 0.15), of("walnut"), 0.005)]
    parts = [part for x in (0.14, 0.27, 0.40) for part in placed(jar, (x, y, 0.17))]
    parts += placed(dishes.bottle(), (0.56, y, 0.16))
    parts += placed(board, (0.92, y, 0.34), 8.0)
    parts += placed(dishes.bread(), (0.84, y + 0.023, 0.33))
    parts += placed(lemon, (1.02, y + 0.023, 0.40), 25.0)
    parts += placed(lemon, (1.03, y + 0.023, 0.28), 100.0)
    parts += [part for z, turn in ((0.30, 10.0), (0.36, -4.0)) for part in placed(dishes.banana(), (1.30, y, z), turn)]
    parts += placed(dishes.crock(), (2.66, y, 0.16), 70.0)
    parts += [part for x, z in ((2.38, 0.16), (2.46, 0.23), (2.50, 0.13)) for part in placed(tumbler, (x, y, z))]
    return parts


def on_stove() -> list[Part]:
    """Returns the kettle, the pot and the pan."""
    y = HOB
    places = [(BURNERS[0], dishes.pot(), 15.0), (BURNERS[1], dishes.kettle(), 160.0), (BURNERS[2], dishes.pan(), -75.0)]
    return [part for (x, z), meshes, turn in places for part in placed(meshes, (x, y, z), turn)]


def on_shelves(plate: list[Mesh], cup: list[Mesh]) -> list[Part]:
    """Returns plates, cups and jars."""
    low, high = (top + GAP for top in SHELVES)
    jar, x = dishes.jar("blue glaze"), 0.145
    parts = [part for k in range(5) for part in placed(plate, (x - 0.005, low + 0.0105 * k, 0.88))]
    parts += [part for k in range(3) for part in placed(cup, (x - 0.02, low, 1.10 + 0.145 * k), -60.0)]
    parts += [part for k in range(3) for part in placed(jar, (0.12, high, 0.80 + 0.14 * k))]
    parts += placed(dishes.teapot("porcelain"), (0.115, high, 1.32), -70.0)
    return parts


def on_sills() -> list[Part]:
    """Returns the plants in the windows."""
    back, side = BACK_WINDOW.low + SILL + GAP, LEFT_WINDOW.low + SILL + GAP
    return [
        *potted((1.58, back, 0.0), 0.10, 20),
        *potted((2.36, back, 0.0), 0.10, 20),
        *potted((0.0, side, 2.05), 0.13, 28),
    ]
