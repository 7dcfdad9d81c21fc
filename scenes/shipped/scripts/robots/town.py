"""This module builds a crossing of two streets between houses, with lamps and trees, under a bright sky.

The streets run along x and z and cross at the origin. One quarter of the town, where x and z are positive, is made and
stands there four times, turned, its houses each time of other heights and colours.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from scenes.document import Part
from scenes.meshes.shapes import box, curve, lathe
from scenes.model import Doubles, Mesh
from scenes.motion.transforms import IDENTITY, WORLD, Transform
from scenes.shipped.modelling import facing_square, panel, pose, skin, tube
from scenes.shipped.scripts.robots.materials import (
    ASPHALT,
    BARK,
    BRICK,
    DOOR,
    FIRST_PLASTER,
    FRAME,
    IRON,
    LAMP,
    LEAVES,
    MARKING,
    PANE,
    ROOF,
    SKY,
    SLABS,
    SUN,
    ZENITH,
)
from scenes.shipped.scripts.surfaces import joined

#: From the middle of a street to its kerb, to the fronts of its houses, and to the house across its end; metres.
ROAD, FRONT, STREET_END = 4.6, 7.4, 37.0
KERB = 0.12
STOREY, WINDOW_STEP = 3.1, 2.9
DEPTH, CORNER_WIDTH = 9.5, 9.5
#: Half the edge of the sky's box, and its height.
SKY_HALF, SKY_HEIGHT = 48.0, 34.0
#: Middle of the sun, and half its edge.
SUN_PLACE, SUN_HALF = np.array([-16.0, 31.0, 19.5]), 2.2


@dataclass(frozen=True)
class House:
    """Describes a house, the middle of whose front stands at (x, z).

    heading: degrees from +z towards +x to where it looks.
    wall: its material.
    on_corner: whether it looks to its left too.
    """

    place: tuple[float, float]
    heading: float
    width: float
    storeys: int
    wall: int
    on_corner: bool = False

    @property
    def height(self) -> float:
        """Returns the height of its walls in metres."""
        return self.storeys * STOREY + 0.5


@dataclass(frozen=True, eq=False)
class Kit:
    """Holds the meshes that stand in many places."""

    frame: Mesh
    pane: Mesh
    door: Mesh
    post: Mesh
    lamp: Mesh
    trunk: Mesh
    crown: Mesh


def kit() -> Kit:
    """Makes each mesh once. Windows and doors look along +z, the middle of their lower edge at the origin."""
    frame = [
        box((-0.68, -0.06, -0.1), (0.68, 1.76, 0.05), FRAME),
        box((-0.80, -0.16, -0.1), (0.80, -0.05, 0.18), FRAME),
    ]
    door = [box((-0.60, 0.0, -0.1), (0.60, 2.3, 0.06), DOOR), box((-0.95, 2.3, -0.1), (0.95, 2.45, 0.45), DOOR)]
    pole = lathe([(0.14, 0.0), (0.14, 0.3), (0.07, 0.42), (0.05, 3.9), (0.0, 4.0)], 10, IRON)
    arm = tube(curve([(0.0, 3.85, 0.0), (0.0, 4.3, 0.3), (0.0, 4.35, 0.9)], 3), 0.035, IRON, 6)
    head = box((-0.16, 4.28, 0.85), (0.16, 4.40, 1.55), IRON)
    crown = curve([(0.0, 1.9), (1.1, 2.1), (1.45, 3.1), (1.0, 4.3), (0.0, 4.9)], 2)
    return Kit(
        frame=joined(frame),
        pane=joined([panel((x, 0.02, 0.06), (0.56, 0.0, 0.0), (0.0, 1.66, 0.0), PANE) for x in (-0.6, 0.04)]),
        door=joined(door),
        post=joined([pole, arm, head]),
        lamp=panel((-0.13, 4.27, 0.9), (0.26, 0.0, 0.0), (0.0, 0.0, 0.6), LAMP),
        trunk=tube([(0.0, 0.0, 0.0), (0.03, 1.2, 0.02), (0.0, 2.4, 0.0)], [0.16, 0.11, 0.08], BARK, 8),
        crown=rough(lathe(crown, 12, LEAVES)),
    )


def rough(mesh: Mesh) -> Mesh:
    """Moves the vertices of a mesh a little, and shades it flat, so that it looks like leaves."""
    offsets = np.random.default_rng(4).normal(0.0, 0.11, mesh.vertices.shape)
    return replace(mesh, vertices=mesh.vertices + offsets, normals=None, normal_triangles=None)


def quarter_houses(quarter: int) -> list[House]:
    """Returns the houses of a quarter: that of the corner, two along each street, and the one across the end of the
    street along x."""

    def look(number: int) -> tuple[int, int]:
        kind = 3 * quarter + 2 * number
        return 2 + (kind + kind // 3) % 3, BRICK if kind % 5 == 1 else FIRST_PLASTER + kind % 4

    second, third = FRONT + CORNER_WIDTH + 4.4, FRONT + CORNER_WIDTH + 13.4
    corner = FRONT + CORNER_WIDTH / 2
    return [
        House((corner, FRONT), 180.0, CORNER_WIDTH, *look(0), on_corner=True),
        House((second, FRONT), 180.0, 8.8, *look(1)),
        House((third, FRONT), 180.0, 9.2, *look(2)),
        House((FRONT, second), -90.0, 8.8, *look(3)),
        House((FRONT, third), -90.0, 9.2, *look(4)),
        House((STREET_END, 0.0), -90.0, 2 * FRONT, 4, BRICK if quarter % 2 else FIRST_PLASTER + 2),
    ]


def walls(house: House) -> Mesh:
    """Returns four walls, their textures level."""
    x, height = house.width / 2, house.height
    corners = [(-x, 0.0, 0.0), (x, 0.0, 0.0), (x, 0.0, -DEPTH), (-x, 0.0, -DEPTH)]
    edges = zip(corners, [*corners[1:], corners[0]], strict=True)
    return joined([panel(a, np.subtract(b, a), (0.0, height, 0.0), house.wall) for a, b in edges])


def roof(house: House) -> list[Mesh]:
    """Returns a hipped roof over its eaves."""
    x, height = house.width / 2, house.height
    eaves, rise = 0.45, 2.6
    low = [(x + eaves, eaves), (x + eaves, -DEPTH - eaves), (-x - eaves, -DEPTH - eaves), (-x - eaves, eaves)]
    ridge = [(x - 3.0, -DEPTH / 2), (x - 3.0, -DEPTH / 2), (3.0 - x, -DEPTH / 2), (3.0 - x, -DEPTH / 2)]
    middle = [(0.0, -DEPTH / 2)] * 4
    rings = [[(a, y, b) for a, b in ring] for ring, y in ((middle, height), (low, height), (ridge, height + rise))]
    cornice = box((-x - 0.25, height - 0.35, -DEPTH - 0.25), (x + 0.25, height - 0.01, 0.25), FRAME)
    return [skin(np.array(rings), ROOF), cornice]


def facade(place: Transform, house: House, width: float, meshes: Kit, has_door: bool) -> Iterator[Part]:
    """Yields windows in rows and columns on a wall that looks along +z, and a door in the middle."""
    columns = int(width / WINDOW_STEP)
    for column in range(columns):
        x = WINDOW_STEP * (column - (columns - 1) / 2)
        for storey in range(house.storeys):
            if storey == 0 and has_door and column == columns // 2:
                yield Part(meshes.door, place.inner(matrix=pose((x, 0.0, 0.0))))
                continue
            window = place.inner(matrix=pose((x, 0.95 + STOREY * storey, 0.0)))
            yield Part(meshes.frame, window)
            yield Part(meshes.pane, window)


def house_parts(around: Transform, house: House, meshes: Kit) -> Iterator[Part]:
    """Yields a house with its windows. around: what its quarter stands in."""
    place = around.inner(matrix=pose((house.place[0], KERB, house.place[1]), house.heading))
    for mesh in (walls(house), *roof(house)):
        yield Part(mesh, place)
    yield from facade(place, house, house.width, meshes, has_door=True)
    if house.on_corner:
        left = place.inner(matrix=pose((house.width / 2, 0.0, -DEPTH / 2), 90.0))
        yield from facade(left, house, DEPTH, meshes, has_door=False)


def street(meshes: Kit) -> Iterator[tuple[Mesh, Doubles]]:
    """Yields what stands in each quarter besides its houses, with its place: pavement, markings, lamps and trees."""
    end = STREET_END + DEPTH
    yield box((ROAD, -0.2, ROAD), (end, KERB, end), SLABS, 0.03), IDENTITY
    yield box((STREET_END - 1.5, -0.2, -ROAD - 0.1), (end, KERB - 0.005, ROAD + 0.1), SLABS), IDENTITY
    for stripe in np.arange(-4.0, 4.1, 1.0):
        yield stripe_mesh((ROAD + 0.6, stripe - 0.25), (2.4, 0.5)), IDENTITY
    for dash in np.arange(ROAD + 4.5, STREET_END - 3.0, 3.0):
        yield stripe_mesh((dash, -0.07), (1.5, 0.14)), IDENTITY
    for x, z, heading in ((5.4, 5.4, -135.0), (18.0, 5.3, 180.0), (5.3, 24.0, -90.0)):
        yield from ((mesh, pose((x, KERB, z), heading)) for mesh in (meshes.post, meshes.lamp))
    for x, z, heading in ((12.0, 5.7, 0.0), (24.5, 5.7, 130.0), (5.7, 13.5, 70.0)):
        yield from ((mesh, pose((x, KERB, z), heading)) for mesh in (meshes.trunk, meshes.crown))


def stripe_mesh(corner: tuple[float, float], size: tuple[float, float]) -> Mesh:
    """Returns white paint on the road, from a corner (x, z) on."""
    return panel((corner[0], 0.003, corner[1]), (0.0, 0.0, size[1]), (size[0], 0.0, 0.0), MARKING)


def sky() -> list[Mesh]:
    """Returns the ground, the sky around and above it, and the sun. The sky's texture runs down, and once around.

    Only what is above shines, so that few photons miss the streets.
    """
    half, top = SKY_HALF, SKY_HEIGHT
    corners = [(-half, half), (-half, -half), (half, -half), (half, half)]
    sides = []
    for number, ((x, z), (next_x, next_z)) in enumerate(zip(corners, [*corners[1:], corners[0]], strict=True)):
        side = panel((x, 0.0, z), (next_x - x, 0.0, next_z - z), (0.0, top, 0.0), SKY)
        left, right = number / 4, (number + 1) / 4
        sides.append(replace(side, uvs=np.array([[left, 0.998], [right, 0.998], [right, 0.002], [left, 0.002]])))
    zenith = panel((-half, top, -half), (2 * half, 0.0, 0.0), (0.0, 0.0, 2 * half), ZENITH)
    ground = panel((-half, 0.0, -half), (0.0, 0.0, 2 * half), (2 * half, 0.0, 0.0), ASPHALT)
    return [ground, joined(sides), zenith, sun()]


def sun() -> Mesh:
    """Returns a square that shines at the crossing."""
    return facing_square(SUN_PLACE, 2.0 * SUN_HALF, SUN)


def town() -> list[Part]:
    """Returns everything of the town that stands still."""
    meshes = kit()
    furniture = list(street(meshes))
    parts = [Part(mesh) for mesh in sky()]
    for quarter in range(4):
        around = WORLD.inner(matrix=pose((0.0, 0.0, 0.0), 90.0 * quarter))
        parts += [Part(mesh, around.inner(matrix=place)) for mesh, place in furniture]
        for house in quarter_houses(quarter):
            parts += house_parts(around, house, meshes)
    return parts
