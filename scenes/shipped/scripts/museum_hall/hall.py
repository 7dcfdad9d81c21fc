"""This module builds the hall around the sculpture: floor, walls with pictures, a ring of polished pillars, lights in
the ceiling."""

from dataclasses import replace
from itertools import product

import numpy as np

from scenes.document import Part
from scenes.meshes.shapes import arc, box, curve, lathe
from scenes.model import Material, Mesh
from scenes.motion.transforms import WORLD, Transform
from scenes.shipped.modelling import panel, pose
from scenes.shipped.scripts.museum_hall.pictures import PICTURES
from scenes.shipped.scripts.surfaces import frame, joined, placed

#: Half the hall's width and depth, and its height.
HALF, HEIGHT = 11.0, 8.2
PILLARS, RING, PILLAR_RADIUS = 8, 7.2, 0.42
#: The lights: rectangles around the middle, this far from it, so long and wide, sunk into the ceiling.
LIGHTS, LIGHT_DISTANCE, LIGHT_SIZE = 4, 4.6, (5.6, 1.7)
WAINSCOT = 1.0
#: Pictures hang so far to the sides of the middle of each wall; their width and height; how high their middles are.
PICTURE_PLACES, PICTURE_SIZE, PICTURE_LEVEL = (-6.9, 0.0, 6.9), (3.4, 2.55), 3.3
FRAME_WIDTH = 0.18

#: A material that repeats a texture has the index of it here.
FLOOR_TEXTURE = 0

MATERIALS = (
    Material(
        name="floor",
        kind="nff",
        diffuse=(0.62, 0.62, 0.62),
        specular=(0.22, 0.22, 0.22),
        exponent=400.0,
        texture=FLOOR_TEXTURE,
    ),
    Material(name="wall", diffuse=(0.36, 0.40, 0.42)),
    Material(name="ceiling", diffuse=(0.80, 0.78, 0.74)),
    Material(name="wood", kind="nff", diffuse=(0.26, 0.14, 0.07), specular=(0.08, 0.08, 0.08), exponent=60.0),
    Material(name="gilt frame", kind="nff", diffuse=(0.36, 0.24, 0.08), specular=(0.45, 0.33, 0.14), exponent=30.0),
    Material(name="pillar", kind="mirror", diffuse=(0.0, 0.0, 0.0), specular=(0.86, 0.87, 0.88)),
    Material(name="brass", kind="nff", diffuse=(0.16, 0.10, 0.03), specular=(0.66, 0.50, 0.24), exponent=220.0),
    Material(name="stone", kind="nff", diffuse=(0.60, 0.56, 0.50), specular=(0.06, 0.06, 0.06), exponent=80.0),
    Material(name="light", diffuse=(0.0, 0.0, 0.0), emission=(11.0, 10.2, 9.0)),
    Material(name="gold", kind="nff", diffuse=(0.42, 0.27, 0.06), specular=(0.50, 0.36, 0.14), exponent=50.0),
    Material(name="copper", kind="nff", diffuse=(0.42, 0.16, 0.08), specular=(0.44, 0.24, 0.15), exponent=40.0),
    Material(name="enamel", kind="nff", diffuse=(0.04, 0.28, 0.46), specular=(0.20, 0.20, 0.20), exponent=100.0),
    Material(name="leather", kind="nff", diffuse=(0.34, 0.06, 0.05), specular=(0.05, 0.05, 0.05), exponent=30.0),
    *(
        Material(name=f"picture {paint.__name__}", diffuse=(0.85, 0.85, 0.85), texture=1 + index)
        for index, paint in enumerate(PICTURES)
    ),
)
FLOOR, WALL, CEILING, WOOD, FRAME, PILLAR, BRASS, STONE, LIGHT, GOLD, COPPER, ENAMEL, LEATHER, FIRST_PICTURE = range(14)


def hall() -> list[Part]:
    """Returns everything in the hall that stands still."""
    parts = placed([floor(), ceiling(), plinth()], (0.0, 0.0, 0.0))
    for mesh_of_side in [*wall(), *light(), *bench()]:
        parts += [part for side in SIDES for part in placed([mesh_of_side], (0.0, 0.0, 0.0), around=side)]
    for mesh in pillar():
        parts += [part for spoke in SPOKES for part in placed([mesh], (0.0, 0.0, RING), around=spoke)]
    for number, (side, x) in enumerate(product(SIDES, PICTURE_PLACES)):
        parts += picture(FIRST_PICTURE + number % len(PICTURES), side, x)
    return parts


def floor() -> Mesh:
    """Returns the floor; a repeat of its texture is 2.2 m wide."""
    mesh = panel((-HALF, 0.0, -HALF), (0.0, 0.0, 2 * HALF), (2 * HALF, 0.0, 0.0), FLOOR)
    assert mesh.uvs is not None
    return replace(mesh, uvs=mesh.uvs / 2.2)


def ceiling() -> Mesh:
    """Returns the ceiling; the lights hang closely below it."""
    return panel((-HALF, HEIGHT, -HALF), (2 * HALF, 0.0, 0.0), (0.0, 0.0, 2 * HALF), CEILING)


def wall() -> list[Mesh]:
    """Returns the wall at z = -HALF that looks to the middle, with its wainscot, rails and cornice."""
    width, z = 2 * HALF, -HALF
    return [
        panel((-HALF, 0.0, z), (width, 0.0, 0.0), (0.0, HEIGHT, 0.0), WALL),
        box((-HALF, 0.0, z - 0.1), (HALF, WAINSCOT, z + 0.05), WOOD),
        box((-HALF, WAINSCOT, z - 0.1), (HALF, WAINSCOT + 0.07, z + 0.10), WOOD),
        box((-HALF, 0.0, z - 0.1), (HALF, 0.16, z + 0.08), WOOD),
        box((-HALF, HEIGHT - 0.35, z - 0.1), (HALF, HEIGHT + 0.1, z + 0.30), CEILING, 0.08),
    ]


def light() -> list[Mesh]:
    """Returns a lamp over z = -LIGHT_DISTANCE, in four beams."""
    length, width = LIGHT_SIZE
    x, front, back = length / 2, -LIGHT_DISTANCE - width / 2, -LIGHT_DISTANCE + width / 2
    low, high, edge = HEIGHT - 0.14, HEIGHT + 0.1, 0.12
    beams = [
        box((-x - edge, low, front - edge), (x + edge, high, front), CEILING),
        box((-x - edge, low, back), (x + edge, high, back + edge), CEILING),
        box((-x - edge, low, front), (-x, high, back), CEILING),
        box((x, low, front), (x + edge, high, back), CEILING),
    ]
    glow = panel((-x, HEIGHT - 0.08, front), (length, 0.0, 0.0), (0.0, 0.0, width), LIGHT)
    return [glow, joined(beams)]


def pillar() -> list[Mesh]:
    """Returns a polished cylinder from base to capital, around the y axis."""
    radius = PILLAR_RADIUS
    base = [(0.66, 0.0), (0.66, 0.22), (0.60, 0.22), *arc((0.50, 0.32), 0.10, (-90.0, 90.0), 2), (radius, 0.42)]
    shaft = [(radius, 0.42), (radius, HEIGHT - 0.9)]
    bell = curve([(radius, HEIGHT - 0.9), (0.46, HEIGHT - 0.6), (0.64, HEIGHT - 0.25)], 2)
    capital = [*arc((radius, HEIGHT - 0.95), 0.06, (-90.0, 90.0), 2), *bell, (0.70, HEIGHT - 0.25), (0.70, HEIGHT)]
    return [lathe(base, 14, BRASS), lathe(shaft, 48, PILLAR), lathe(capital, 14, BRASS)]


def plinth() -> Mesh:
    """Returns what the sculpture hovers over."""
    steps = [(0.0, 0.0), (1.5, 0.0), (1.5, 0.14), (1.25, 0.14), (1.25, 0.28), (1.0, 0.28)]
    waist = curve([(1.0, 0.28), (0.78, 0.42), (0.74, 0.62), (0.95, 0.78)], 2)
    return lathe([*steps, *waist, (1.05, 0.78), (1.05, 0.88), (0.0, 0.88)], 28, STONE)


def bench() -> list[Mesh]:
    """Returns a bench before the wall."""
    z = -HALF + 1.5
    legs = [box((x - 0.05, 0.0, z - 0.22), (x + 0.05, 0.40, z + 0.22), BRASS) for x in (-3.9, -2.3)]
    seat = box((-4.2, 0.40, z - 0.28), (-2.0, 0.52, z + 0.28), LEATHER, 0.04)
    return [joined(legs), seat]


def picture(material: int, side: Transform, x: float) -> list[Part]:
    """Returns a picture in its frame on the wall of a side."""
    canvas, border = placed([CANVAS, PICTURE_FRAME], (x, PICTURE_LEVEL, -HALF), around=side)
    return [replace(canvas, material=material), border]


def picture_canvas() -> Mesh:
    """Returns a picture around the origin that looks along +z, its texture once and upright on it."""
    width, height = PICTURE_SIZE
    mesh = panel((-width / 2, -height / 2, 0.05), (width, 0.0, 0.0), (0.0, height, 0.0), FIRST_PICTURE)
    return replace(mesh, uvs=np.array([[0.0, 1.0], [1.0, 1.0], [1.0, 0.0], [0.0, 0.0]]))


def picture_frame() -> Mesh:
    """Returns what goes around `picture_canvas`."""
    x, y = 0.5 * np.array(PICTURE_SIZE) + FRAME_WIDTH
    return frame((-x, -y, -0.1), (x, y, 0.12), FRAME_WIDTH, FRAME)


CANVAS, PICTURE_FRAME = picture_canvas(), picture_frame()
SIDES = [WORLD.inner(matrix=pose((0.0, 0.0, 0.0), 90.0 * side)) for side in range(4)]
SPOKES = [WORLD.inner(matrix=pose((0.0, 0.0, 0.0), 360.0 / PILLARS * (k + 0.5))) for k in range(PILLARS)]
