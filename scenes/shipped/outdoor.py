"""This scene is a garden terrace in the sun: a glass ball and a goblet on a table, a mirror ball on the wall, and the
sky over it.

The sky is a gradient from the zenith to the horizon with a glow around the sun, over a meadow; it is an environment,
and the sun's disc a distant light.
"""

import math

import numpy as np

from scenes.document import Document, EnvironmentSource, Part
from scenes.evaluator import scene_of
from scenes.geometry import unit
from scenes.lights import DistantSource
from scenes.model import Color, Doubles, Floats, Material, Mesh
from scenes.scene import Scene
from scenes.shapes import arc, box, curve, lathe, sphere
from scenes.shipped.modelling import placed
from scenes.shipped.viewpoint import viewpoint

#: Where the sun stands: degrees above the horizon, and to the right from -z.
SUN_HEIGHT, SUN_TURN = 36.0, -118.0
#: The sun's irradiance on a plane across its direction, W/m^2, and the radius of its disc, degrees.
SUN_IRRADIANCE: Color = (4.3, 3.9, 3.3)
SUN_RADIUS = 0.27

#: Texels of the sky, and radiance, W/(m^2 sr): overhead, at the horizon, of the meadow and of the glow at the sun.
SKY_SIZE = (256, 512)
ZENITH, HORIZON, MEADOW, GLOW = (0.07, 0.16, 0.38), (0.42, 0.49, 0.57), (0.10, 0.13, 0.05), (0.50, 0.44, 0.34)
#: How fast the haze over the horizon thins out with the sine of the height, and the glow with the angle to the sun.
HAZE, GLOW_POWER = 5.0, 40.0

#: Metres. Things that stand on others are clear of them by this.
GAP = 0.0005
#: Flagstones: how many along x and z, from middle to middle, width of a joint, thickness.
STONES, STONE_STEP, JOINT, STONE_HEIGHT = (6, 6), 0.56, 0.012, 0.06
#: The wall: half its length, depth, height, from the middle of the terrace; its coping; the piers at its ends.
WALL_HALF, WALL_DEPTH, WALL_HEIGHT, WALL_PLACE = 1.5, 0.20, 0.62, -1.45
COPING, PIER_SIDE, PIER_HEIGHT = 0.05, 0.32, 0.86
TABLE_RADIUS, TABLE_HEIGHT = 0.46, 0.74
BALL_RADIUS, MIRROR_RADIUS, BUSH_RADIUS = 0.10, 0.15, 0.27
#: Where things stand: x and z.
BALL_PLACE, GOBLET_PLACE, POT_PLACE = (-0.13, 0.03), (0.17, 0.11), (1.22, -0.85)

MATERIALS = (
    Material(name="flagstones", diffuse=(0.46, 0.41, 0.34)),
    Material(name="bed", diffuse=(0.20, 0.17, 0.13)),
    Material(name="wall", diffuse=(0.55, 0.36, 0.26)),
    Material(name="marble", diffuse=(0.76, 0.74, 0.70)),
    Material(name="glass", kind="dielectric", diffuse=(0.0, 0.0, 0.0), specular=(1, 1, 1), transmittance=1.0, ior=1.5),
    Material(name="mirror", kind="mirror", diffuse=(0.0, 0.0, 0.0), specular=(0.86, 0.88, 0.90)),
    Material(name="terracotta", diffuse=(0.56, 0.24, 0.13)),
    Material(name="leaves", diffuse=(0.09, 0.18, 0.05)),
)
FLAGSTONES, BED, WALL, MARBLE, GLASS, MIRROR, TERRACOTTA, LEAVES = range(len(MATERIALS))

CAMERA = viewpoint((0.62, 1.30, 2.05), (0.16, 0.62, -0.45), 42.0, near=0.01)


def scene() -> Scene:
    """Makes the scene; nothing in it moves."""
    document = Document(
        parts=[*terrace(), *garden_wall(), *laid_table(), *bush()],
        materials=list(MATERIALS),
        lights=[DistantSource(-to_sun(), SUN_IRRADIANCE, SUN_RADIUS)],
        environment=EnvironmentSource(sky()),
        cameras={"front": CAMERA},
    )
    return scene_of("outdoor", document, "shipped")


def to_sun() -> Doubles:
    """Returns the unit direction (3,) to the sun."""
    height, turn = math.radians(SUN_HEIGHT), math.radians(SUN_TURN)
    return np.array([math.cos(height) * math.sin(turn), math.sin(height), -math.cos(height) * math.cos(turn)])


def sky() -> Floats:
    """Returns the radiance (height, width, 3) of the sky and the meadow, in the frame of an environment."""
    rows, columns = SKY_SIZE
    polar = np.pi * (np.arange(rows) + 0.5) / rows
    turn = 2.0 * np.pi * ((np.arange(columns) + 0.5) / columns - 0.5)
    across, up = np.sin(polar)[:, None], np.repeat(np.cos(polar)[:, None], columns, axis=1)
    directions = np.stack([across * np.sin(turn), up, -across * np.cos(turn)], axis=-1)
    haze = np.exp(-HAZE * np.abs(up))[..., None]
    glow = np.maximum(directions @ to_sun(), 0.0)[..., None] ** GLOW_POWER
    above = haze * HORIZON + (1.0 - haze) * np.array(ZENITH) + glow * GLOW
    below = haze**4 * HORIZON + (1.0 - haze**4) * np.array(MEADOW)
    return np.where(up[..., None] > 0.0, above, below).astype(np.float32)


def terrace() -> list[Part]:
    """Returns flagstones, all of one shape, on a bed that is seen in the joints."""
    half = 0.5 * (STONE_STEP - JOINT)
    stone = box((-half, -STONE_HEIGHT, -half), (half, 0.0, half), FLAGSTONES, bevel=0.006)
    places = [[STONE_STEP * (k - 0.5 * (count - 1)) for k in range(count)] for count in STONES]
    width, depth = (0.5 * STONE_STEP * count for count in STONES)
    bed = box((-width, -2.0 * STONE_HEIGHT, -depth), (width, -STONE_HEIGHT - GAP, depth), BED)
    return [*(part for x in places[0] for z in places[1] for part in placed([stone], (x, 0.0, z))), Part(bed)]


def garden_wall() -> list[Part]:
    """Returns a wall between two piers, of which one carries a ball of marble and the other one that mirrors."""
    half = 0.5 * WALL_DEPTH
    wall = box((-WALL_HALF, GAP, -half), (WALL_HALF, WALL_HEIGHT, half), WALL, bevel=0.004)
    coping = box((-WALL_HALF, 0.0, -half - 0.03), (WALL_HALF, COPING, half + 0.03), MARBLE, bevel=0.01)
    parts = placed([wall], (0.0, 0.0, WALL_PLACE)) + placed([coping], (0.0, WALL_HEIGHT + GAP, WALL_PLACE))
    for side, material in ((-1.0, MIRROR), (1.0, MARBLE)):
        parts += placed(pier(material), (side * (WALL_HALF - 0.5 * PIER_SIDE), 0.0, WALL_PLACE + 0.04))
    return parts


def pier(ball: int) -> list[Mesh]:
    """Returns a pier with a slab and a ball of a material."""
    half, slab = 0.5 * PIER_SIDE, 0.5 * PIER_SIDE + 0.04
    top = PIER_HEIGHT + GAP + 0.06
    return [
        box((-half, GAP, -half), (half, PIER_HEIGHT, half), WALL, bevel=0.006),
        box((-slab, PIER_HEIGHT + GAP, -slab), (slab, top, slab), MARBLE, bevel=0.012),
        sphere(np.array([0.0, top + GAP + MIRROR_RADIUS, 0.0]), MIRROR_RADIUS, ball, 96),
    ]


def laid_table() -> list[Part]:
    """Returns the table with what stands on it."""
    (ball_x, ball_z), (goblet_x, goblet_z) = BALL_PLACE, GOBLET_PLACE
    ball = sphere(np.array([0.0, BALL_RADIUS, 0.0]), BALL_RADIUS, GLASS, 128)
    return [
        *placed([table()], (0.0, GAP, 0.0)),
        *placed([ball], (ball_x, TABLE_HEIGHT + 2.0 * GAP, ball_z)),
        *placed([goblet()], (goblet_x, TABLE_HEIGHT + 2.0 * GAP, goblet_z)),
    ]


def table() -> Mesh:
    """Returns a round table on one leg, turned from one block."""
    foot = curve([(0.20, 0.0), (0.20, 0.03), (0.20, 0.03), (0.07, 0.12), (0.05, 0.40), (0.09, 0.66), (0.20, 0.70)], 8)
    edge = arc((TABLE_RADIUS - 0.02, TABLE_HEIGHT - 0.02), 0.02, (-90.0, 90.0), 10)
    return lathe(np.concatenate([[(0.0, 0.0)], foot, edge, [(0.0, TABLE_HEIGHT)]]), 128, MARBLE)


def goblet() -> Mesh:
    """Returns a goblet of solid glass: foot, stem and bowl, outside up and inside down again."""
    foot = [(0.0, 0.0), (0.034, 0.0), (0.036, 0.002)]
    stem = curve([(0.036, 0.002), (0.008, 0.010), (0.0045, 0.045), (0.007, 0.072), (0.030, 0.092)], 10)
    bowl = curve([(0.030, 0.092), (0.040, 0.120), (0.037, 0.165)], 12)
    inside = curve([(0.0355, 0.165), (0.0385, 0.120), (0.028, 0.094), (0.0, 0.084)], 12)
    return lathe(np.concatenate([foot, stem[1:], bowl[1:], inside]), 96, GLASS)


def bush() -> list[Part]:
    """Returns a clipped bush in a pot."""
    outside = curve([(0.12, 0.0), (0.17, 0.24), (0.17, 0.24), (0.195, 0.24), (0.195, 0.29)], 6)
    inside = [(0.165, 0.29), (0.15, 0.22), (0.0, 0.22)]
    pot = lathe(np.concatenate([[(0.0, 0.0)], outside, inside]), 64, TERRACOTTA)
    x, z = POT_PLACE
    return placed([pot, leaves()], (x, GAP, z))


def leaves() -> Mesh:
    """Returns a ball with dents, as leaves have in the light."""
    ball = sphere(np.zeros(3), 1.0, LEAVES, 96)
    waves = np.sin(23.0 * ball.vertices @ unit(np.array([[1.0, 2.0, 0.5], [-2.0, 0.7, 1.0], [0.4, -1.0, 2.0]])).T)
    vertices = ball.vertices * (BUSH_RADIUS * (1.0 + 0.03 * waves.sum(axis=1, keepdims=True)))
    return Mesh(vertices=vertices + (0.0, 0.46, 0.0), triangles=ball.triangles, material=LEAVES)
