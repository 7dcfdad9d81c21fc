"""This scene shows caustics on a table: in a golden ring, beside a glass ring and behind a glass ball, all of one small
lamp.

The bright cusp in the golden ring is close to the nephroid, which a round mirror makes of parallel light (Huygens:
Traité de la lumière, 1690).
"""

import numpy as np

from scenes.document import Document, Part
from scenes.evaluator import scene_of
from scenes.model import Doubles, Material, Mesh
from scenes.scene import Scene
from scenes.shapes import arc, grid, lathe, rectangle, sphere
from scenes.shipped.modelling import facing_square
from scenes.shipped.viewpoint import viewpoint
from scenes.transforms import WORLD, translation

#: Metres. All things stand clear of the table by this.
GAP = 0.0005
#: The band of gold: inner radius, thickness, height, and radius of its rounded edges.
BAND_RADIUS, BAND_THICKNESS, BAND_HEIGHT, BAND_EDGE = 0.066, 0.004, 0.040, 0.0015
#: The glass ring: from its axis to the middle of the glass, and radius of the glass.
RING_RADIUS, TUBE_RADIUS = 0.036, 0.013
BALL_RADIUS = 0.026
#: Where things stand on the table: x and z.
BAND_PLACE, RING_PLACE, BALL_PLACE = (-0.062, -0.035), (0.075, 0.050), (0.080, -0.085)

#: The lamp, a square that faces the middle of the table, and a large dim light above.
LAMP_PLACE, LAMP_SIDE = (-0.42, 0.345, 0.10), 0.018
SKY_HEIGHT, SKY_SIDE = 1.2, 1.2

#: The table, whose far end bends up into a wall.
TABLE_WIDTH, TABLE_FRONT, BEND_START, BEND_RADIUS, WALL_HEIGHT = 2.4, 0.7, 0.45, 0.25, 0.9

MATERIALS = (
    Material(name="table", diffuse=(0.72, 0.68, 0.62)),
    Material(name="gold", kind="mirror", diffuse=(0.0, 0.0, 0.0), specular=(0.95, 0.74, 0.38)),
    Material(
        name="glass",
        kind="dielectric",
        diffuse=(0.0, 0.0, 0.0),
        specular=(1.0, 1.0, 1.0),
        transmittance=1.0,
        ior=1.52,
    ),
    Material(name="lamp", diffuse=(0.0, 0.0, 0.0), emission=(6200.0, 5700.0, 5000.0)),
    Material(name="sky", diffuse=(0.0, 0.0, 0.0), emission=(0.14, 0.17, 0.22)),
)
TABLE, GOLD, GLASS, LAMP, SKY = range(5)

#: The camera is where somebody at the table has an eye.
CAMERA = viewpoint((0.03, 0.33, 0.29), (0.025, 0.0, -0.008), 33.0, near=0.01)


def scene() -> Scene:
    """Makes the scene; nothing in it moves."""
    document = Document(
        parts=[
            Part(table()),
            Part(band(), WORLD.inner(matrix=standing(*BAND_PLACE))),
            Part(glass_ring(), WORLD.inner(matrix=standing(*RING_PLACE))),
            Part(ball(), WORLD.inner(matrix=standing(*BALL_PLACE))),
            Part(lamp()),
            Part(sky()),
        ],
        materials=list(MATERIALS),
        cameras={"front": CAMERA},
    )
    return scene_of("caustic", document, "shipped")


def standing(x: float, z: float) -> Doubles:
    """Returns the map that puts a thing on the table."""
    return translation(np.array([x, GAP, z]))


def table() -> Mesh:
    """Returns the table and the wall that it bends into, seen from above and in front."""
    bend = arc((-BEND_START, BEND_RADIUS), BEND_RADIUS, (270.0, 180.0), 24)
    profile = np.array([[TABLE_FRONT, 0.0], *bend, [bend[-1, 0], WALL_HEIGHT]])
    sides = np.array([-0.5, 0.5]) * TABLE_WIDTH
    return grid([[[x, height, depth] for x in sides] for depth, height in profile], TABLE)


def band() -> Mesh:
    """Returns a ring of gold with rounded edges, that stands on the table around the y axis."""
    inner, outer = BAND_RADIUS + BAND_EDGE, BAND_RADIUS + BAND_THICKNESS - BAND_EDGE
    low, high = BAND_EDGE, BAND_HEIGHT - BAND_EDGE
    corners = [(inner, low, 180.0), (outer, low, 270.0), (outer, high, 0.0), (inner, high, 90.0)]
    rounded = [arc((radius, height), BAND_EDGE, (start, start + 90.0), 6) for radius, height, start in corners]
    return lathe(closed(np.concatenate(rounded)), 256, GOLD)


def glass_ring() -> Mesh:
    """Returns a torus of glass that lies on the table around the y axis."""
    return lathe(closed(arc((RING_RADIUS, TUBE_RADIUS), TUBE_RADIUS, (-180.0, 180.0), 64)[:-1]), 144, GLASS)


def ball() -> Mesh:
    """Returns a ball of glass."""
    return sphere(np.array([0.0, BALL_RADIUS, 0.0]), BALL_RADIUS, GLASS, 96)


def lamp() -> Mesh:
    """Returns the square that shines on the table."""
    return facing_square(LAMP_PLACE, LAMP_SIDE, LAMP)


def sky() -> Mesh:
    """Returns the light from above that keeps shadows from being black."""
    corner = (-0.5 * SKY_SIDE, SKY_HEIGHT, -0.5 * SKY_SIDE)
    return rectangle(corner, (SKY_SIDE, 0.0, 0.0), (0.0, 0.0, SKY_SIDE), SKY)


def closed(profile: Doubles) -> Doubles:
    """Returns a profile that ends where it began."""
    return np.concatenate([profile, profile[:1]])
