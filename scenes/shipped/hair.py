"""This scene is a hall with balls of long hair to test tracers with, of any number of triangles from a thousand to 20
million.

Hairs are thin ribbons that bend and end in a tip, side by side in all directions, so that boxes around them are mostly
empty and overlap.
"""

from collections.abc import Iterator

import numpy as np

from scenes.document import Document, Part, Scene
from scenes.meshes.geometry import unit
from scenes.meshes.shapes import rectangle, sphere
from scenes.model import Doubles, Material, Mesh
from scenes.motion.transforms import WORLD
from scenes.playing.evaluator import scene_of
from scenes.shipped.modelling import loose, panel, pose, slivers, viewpoint

SEED = 20260307
#: Metres: the hall's width, height and length; of a ball, and of a hair.
WIDTH, HEIGHT, LENGTH = 9.0, 5.0, 16.0
RADIUS, HAIR = 0.45, 0.6
#: Places of balls: along both sides of the hall.
BALLS = [(x, 1.75, z) for z in (2.0, -0.5, -3.0, -5.5) for x in (-1.6, 1.6)]
#: Balls of the same hair, which are turned differently.
PELTS = 4
#: Where along a hair its ribbon is cut, and how wide it is there.
CUTS, TAPER = np.array([0.0, 0.35, 0.7, 1.0]), np.array([1.0, 0.9, 0.6, 0.0])
#: Hair covers a ball so many times; the most that a ribbon is wide, in metres.
COVER, MOST_WIDTH = 8.0, 0.02

MATERIALS = (
    Material(name="wall", diffuse=(0.72, 0.70, 0.66)),
    Material(name="floor", diffuse=(0.35, 0.30, 0.26)),
    Material(name="lamp", diffuse=(0.0, 0.0, 0.0), emission=(14.0, 13.0, 11.5)),
    Material(name="brown", diffuse=(0.30, 0.17, 0.09)),
    Material(name="blond", diffuse=(0.75, 0.58, 0.30)),
    Material(name="red", diffuse=(0.58, 0.20, 0.08)),
    Material(name="white", diffuse=(0.85, 0.84, 0.82)),
)
WALL, FLOOR, LAMP, *TINTS = range(len(MATERIALS))

CAMERA = viewpoint((0.0, 2.2, 6.5), (0.0, 1.6, -1.0), 48.0, near=0.01)

Random = np.random.Generator


def scene(triangles: int) -> Scene:
    """Makes the scene, of exactly so many triangles, 1,000 or more; nothing in it moves."""
    random = np.random.default_rng(SEED)
    still = [Part(mesh) for mesh in [*hall(), sphere(np.zeros(3), RADIUS, TINTS[0], segments=8)]]
    core = still.pop().shape
    assert isinstance(core, Mesh)
    left = triangles - 2 * len(still) - len(BALLS) * len(core.triangles)
    pelts = [pelt(random, left // len(BALLS)) for _ in range(PELTS)]
    document = Document(
        parts=[*still, *balls(random, core, pelts), Part(fallen(random, left % len(BALLS)))],
        materials=list(MATERIALS),
        cameras={"front": CAMERA},
    )
    return scene_of("hair", document, "shipped")


def hall() -> Iterator[Mesh]:
    """Yields floor, ceiling, walls and two lamps, two triangles each, which face the middle."""
    x, y, z = 0.5 * WIDTH, HEIGHT, 0.5 * LENGTH
    across, up, along = (WIDTH, 0.0, 0.0), (0.0, HEIGHT, 0.0), (0.0, 0.0, LENGTH)
    yield panel((-x, 0.0, -z), along, across, FLOOR)
    yield panel((-x, y, -z), across, along, WALL)
    yield panel((-x, 0.0, -z), across, up, WALL)
    yield panel((-x, 0.0, z), up, across, WALL)
    yield panel((-x, 0.0, -z), up, along, WALL)
    yield panel((x, 0.0, -z), along, up, WALL)
    for middle in (-3.0, 3.0):
        yield rectangle((-1.0, HEIGHT - 0.01, middle - 1.0), (2.0, 0.0, 0.0), (0.0, 0.0, 2.0), LAMP)


def balls(random: Random, core: Mesh, pelts: list[Mesh]) -> Iterator[Part]:
    """Yields the balls, two parts each: what hair grows on, and the hair."""
    for number, place in enumerate(BALLS):
        transform = WORLD.inner(matrix=pose(place, float(random.uniform(0.0, 360.0))))
        tint = TINTS[number % len(TINTS)]
        yield Part(core, transform, material=tint)
        yield Part(pelts[number % PELTS], transform, material=tint)


def pelt(random: Random, count: int) -> Mesh:
    """Returns the hair of a ball around the origin, of exactly so many triangles: five for a hair."""
    hairs = -(-count // 5)
    outward = unit(random.normal(size=(hairs, 3)))
    direction = unit(outward + 0.35 * random.normal(size=(hairs, 3)))
    length = HAIR * random.uniform(0.7, 1.1, (hairs, 1))
    steps = CUTS[:, None, None]
    falling = np.array([0.0, -0.8, 0.0])
    path = RADIUS * outward + length * (steps * direction + steps**2 * falling)
    width = min(COVER * 4.0 * np.pi * RADIUS**2 / (max(hairs, 1) * HAIR), MOST_WIDTH)
    side = 0.5 * width * TAPER[:, None, None] * unit(np.cross(direction, random.normal(size=(hairs, 3))))
    return loose(ribbons(path - side, path + side).reshape(-1, 3, 3)[:count], TINTS[0])


def ribbons(left: Doubles, right: Doubles) -> Doubles:
    """Returns triangles (n, 5, 3, 3) between two edges (4, n, 3), which end in the same tips."""
    corners = [(left[k], right[k], right[k + 1]) for k in range(3)]
    corners += [(left[k], right[k + 1], left[k + 1]) for k in range(2)]
    return np.stack([np.stack(triangle, axis=1) for triangle in corners], axis=1)


def fallen(random: Random, count: int) -> Mesh:
    """Returns hairs of a triangle each that lie on the floor."""
    start = np.stack([random.uniform(-2.0, 2.0, count), np.full(count, 0.01), random.uniform(-4.0, 4.0, count)], axis=1)
    end = start + HAIR * unit(random.normal(size=(count, 3)) * (1.0, 0.0, 1.0))
    return loose(slivers(random, start, end, 0.003), TINTS[0])
