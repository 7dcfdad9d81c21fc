"""This scene is a city of lattice towers to test tracers with, of any number of triangles from a thousand to twenty
million.

All is thin, and nothing lies along an axis: bars lean, towers are turned, and cables between them are single triangles
of tens of metres. Boxes along the axes fit none of it.
"""

import math
from collections.abc import Iterator

import numpy as np

from scenes.document import Document, Part, Scene
from scenes.meshes.geometry import unit
from scenes.meshes.shapes import rectangle
from scenes.model import Doubles, Material, Mesh
from scenes.motion.transforms import WORLD, compose, quaternion
from scenes.playing.evaluator import scene_of
from scenes.shipped.modelling import facing_square, loose, pose, slivers, viewpoint

SEED = 20260309
#: Triangles of a bar: three sides. Bars of a storey: four legs, four rails, and two diagonals in each wall.
BAR, STOREY = 6, 16
#: Shapes of towers, and storeys of a tower: as many as give a tower the root of all triangles, and at least one.
SHAPES = 12
#: Share of the triangles that towers have; the others are cables.
TOWERS = 0.9
#: Metres: height and half width of a tower of scale 1, width of a bar, width of a cable, between towers.
TOWER, HALF, WIDTH, CABLE, BETWEEN = 30.0, 3.0, 0.5, 0.03, 13.0
#: Degrees: of streets to the axes, and the most that a tower leans.
STREETS, LEAN = 31.0, 9.0

MATERIALS = (
    Material(name="square", diffuse=(0.34, 0.33, 0.31)),
    Material(name="steel", diffuse=(0.45, 0.47, 0.50)),
    Material(name="rust", diffuse=(0.50, 0.25, 0.13)),
    Material(name="white", diffuse=(0.78, 0.77, 0.74)),
    Material(name="cable", diffuse=(0.10, 0.10, 0.11)),
    Material(name="sun", diffuse=(0.0, 0.0, 0.0), emission=(420.0, 390.0, 330.0)),
)
SQUARE, STEEL, RUST, WHITE, CABLES, SUN = range(6)
TINTS = (STEEL, STEEL, RUST, WHITE)
SKY = (0.50, 0.62, 0.80)
GROUND = 4000.0

CAMERA = viewpoint((10.0, 46.0, 58.0), (0.0, 14.0, -4.0), 46.0, near=0.01)

Random = np.random.Generator


def scene(triangles: int) -> Scene:
    """Makes the scene, of exactly so many triangles, 1,000 or more; nothing in it moves."""
    random = np.random.default_rng(SEED)
    half = 0.5 * GROUND
    ground = rectangle((-half, 0.0, -half), (0.0, 0.0, GROUND), (GROUND, 0.0, 0.0), SQUARE)
    sun = facing_square((-110.0, 200.0, 90.0), 40.0, SUN)
    storeys = max(math.isqrt(triangles) // (STOREY * BAR), 1)
    left = triangles - len(ground.triangles) - len(sun.triangles)
    count = int(TOWERS * left) // (storeys * STOREY * BAR)
    shapes = [tower(random, storeys) for _ in range(SHAPES)]
    feet = places(count)
    cables = Part(loose(cables_between(random, feet, left - count * storeys * STOREY * BAR), CABLES))
    document = Document(
        parts=[Part(ground), Part(sun), *towers(random, shapes, feet), cables],
        materials=list(MATERIALS),
        cameras={"front": CAMERA},
        background=SKY,
    )
    return scene_of("city", document, "shipped")


def places(count: int) -> Doubles:
    """Returns points (count, 3) on the ground, at crossings of slanted streets, those nearest to the middle first."""
    reach = math.isqrt(count) + 2
    grid = np.stack(np.meshgrid(*2 * [np.arange(-reach, reach + 1.0)]), axis=-1).reshape(-1, 2)
    nearest = grid[np.argsort((grid**2).sum(axis=1), kind="stable")[:count]]
    level = BETWEEN * np.insert(nearest, 1, 0.0, axis=1)
    turned: Doubles = level @ pose((0.0, 0.0, 0.0), STREETS)[:3, :3].T
    return turned


def towers(random: Random, shapes: list[Mesh], feet: Doubles) -> Iterator[Part]:
    """Yields towers on these feet (n, 3), each turned and leaning."""
    for foot in feet:
        angle = float(random.uniform(0.0, 2.0 * math.pi))
        lean = pose(foot, float(random.uniform(2.0, LEAN)), (math.cos(angle), 0.0, math.sin(angle)))
        turn = quaternion(np.array([0.0, 1.0, 0.0]), float(random.uniform(0.0, 360.0)))
        size = np.array([1.0, float(random.uniform(0.4, 1.2)), 1.0])
        transform = WORLD.inner(matrix=lean @ compose(size, turn, np.zeros(3)))
        yield Part(shapes[int(random.integers(len(shapes)))], transform, material=int(random.choice(TINTS)))


def tower(random: Random, storeys: int) -> Mesh:
    """Returns a lattice tower of scale 1 that narrows and twists, of storeys * STOREY * BAR triangles."""
    heights = np.linspace(0.0, 1.0, storeys + 1)
    twist = random.uniform(0.5, 1.5) * random.choice([-1.0, 1.0]) * heights
    half = HALF * (1.0 - random.uniform(0.3, 0.7) * heights)
    angles = twist[:, None] + 0.5 * math.pi * np.arange(4)
    corners = np.stack(
        [
            half[:, None] * np.cos(angles),
            np.broadcast_to(TOWER * heights[:, None], angles.shape),
            half[:, None] * np.sin(angles),
        ],
        axis=-1,
    )  # (storeys + 1, 4, 3)
    low, high = corners[:-1], corners[1:]
    starts = np.concatenate([low, high, low, np.roll(low, -1, axis=1)], axis=1).reshape(-1, 3)
    ends = np.concatenate([high, np.roll(high, -1, axis=1), np.roll(high, -1, axis=1), high], axis=1).reshape(-1, 3)
    return loose(bars(starts, ends, WIDTH / (1.0 + 0.35 * storeys)), STEEL)


def bars(start: Doubles, end: Doubles, width: float) -> Doubles:
    """Returns triangles (6 n, 3, 3) of bars with three sides, without ends. start, end: (n, 3)."""
    along = unit(end - start)
    side = unit(np.cross(along, (0.3, 0.2, 0.9)))
    angles = 2.0 * math.pi / 3.0 * np.arange(3)[:, None, None]
    rim = 0.5 * width * (np.cos(angles) * side + np.sin(angles) * np.cross(along, side))
    first, second, following = start + rim, end + rim, np.roll(rim, -1, axis=0)
    lower = np.stack([first, start + following, end + following], axis=2)
    upper = np.stack([first, end + following, second], axis=2)
    return np.stack([lower, upper]).transpose(2, 0, 1, 3, 4).reshape(-1, 3, 3)


def cables_between(random: Random, feet: Doubles, count: int) -> Doubles:
    """Returns cables, (count, 3, 3), each from above one of the feet to above another that is near."""
    if len(feet) == 0:
        feet = np.zeros((1, 3))
    start = feet[random.integers(0, len(feet), count)] + random.uniform(-2.0, 2.0, (count, 3))
    step = random.normal(size=(count, 3)) * (2.0 * BETWEEN, 6.0, 2.0 * BETWEEN)
    start[:, 1] = random.uniform(6.0, TOWER, count)
    end = start + step
    end[:, 1] = np.maximum(end[:, 1], 3.0)
    return slivers(random, start, end, CABLE)
