"""This scene is a forest to test tracers with, of any number of triangles from a thousand to 20 million.

Firs stand all around the camera, as far as they go. They share a few shapes, which are turned and of several heights,
so that a ray passes many boxes with gaps before it hits a needle.
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
from scenes.shipped.modelling import facing_square, loose, slivers, tube, viewpoint

SEED = 20260308
#: Trees that look the same, and the most shapes of them.
ALIKE, MOST_SHAPES = 8, 24
#: Triangles of a tree are so many times the root of all, and at least so many.
ROOTS, LEAST_TREE = 4, 100
#: Metres: height of a tree of scale 1, lowest twig, longest twig, edge of the ground, and between trees.
TREE, LOWEST, TWIG, GROUND, BETWEEN = 9.0, 1.2, 2.4, 4000.0, 3.6
#: Needles on a twig, and how far they reach from it, in metres.
NEEDLES, NEEDLE = 12, 0.35
#: Widths of needles, in metres: the most, and that of a tree with one of them.
MOST_NEEDLE_WIDTH, NEEDLE_WIDTH = 0.15, 250.0
GOLDEN_ANGLE = math.pi * (3.0 - math.sqrt(5.0))

MATERIALS = (
    Material(name="moss", diffuse=(0.14, 0.17, 0.07)),
    Material(name="bark", diffuse=(0.22, 0.15, 0.10)),
    Material(name="fir", diffuse=(0.10, 0.24, 0.10)),
    Material(name="larch", diffuse=(0.34, 0.36, 0.10)),
    Material(name="sun", diffuse=(0.0, 0.0, 0.0), emission=(420.0, 390.0, 330.0)),
)
MOSS, BARK, FIR, LARCH, SUN = range(5)
TINTS = (FIR, FIR, FIR, LARCH)
SKY = (0.45, 0.58, 0.78)

CAMERA = viewpoint((0.0, 3.2, 6.0), (0.0, 4.0, -10.0), 50.0, near=0.01)

Random = np.random.Generator


def scene(triangles: int) -> Scene:
    """Makes the scene, of exactly so many triangles, 1,000 or more; nothing in it moves."""
    random = np.random.default_rng(SEED)
    half = 0.5 * GROUND
    ground = rectangle((-half, 0.0, -half), (0.0, 0.0, GROUND), (GROUND, 0.0, 0.0), MOSS)
    sun = facing_square((-110.0, 200.0, 90.0), 40.0, SUN)
    trunk = tube([[0.0, 0.0, 0.0], [0.05, 0.5 * TREE, 0.03], [0.0, TREE, 0.0]], [0.16, 0.09, 0.01], BARK, sides=6)
    left = triangles - len(ground.triangles) - len(sun.triangles)
    of_tree = max(LEAST_TREE, ROOTS * math.isqrt(triangles))
    count = left // of_tree
    crowns = [crown(random, of_tree - len(trunk.triangles)) for _ in range(min(1 + count // ALIKE, MOST_SHAPES))]
    fallen = Part(needles_on_the_ground(random, left - count * of_tree))
    document = Document(
        parts=[Part(ground), Part(sun), *trees(random, trunk, crowns, count), fallen],
        materials=list(MATERIALS),
        cameras={"front": CAMERA},
        background=SKY,
    )
    return scene_of("forest", document, "shipped")


def trees(random: Random, trunk: Mesh, crowns: list[Mesh], count: int) -> Iterator[Part]:
    """Yields so many trees, two parts each, the nearest first, on a spiral that leaves as much room to each (Vogel: A
    Better Way to Construct the Sunflower Head, 1979).
    """
    numbers = np.arange(count)
    distances = BETWEEN * np.sqrt(numbers + 4.0)
    angles = GOLDEN_ANGLE * numbers + random.uniform(-0.1, 0.1, count)
    for number in numbers:
        place = distances[number] * np.array([math.sin(angles[number]), 0.0, -math.cos(angles[number])])
        scale, turn = float(random.uniform(0.6, 1.3)), float(random.uniform(0.0, 360.0))
        matrix = compose(np.full(3, scale), quaternion(np.array([0.0, 1.0, 0.0]), turn), place)
        transform = WORLD.inner(matrix=matrix)
        yield Part(trunk, transform)
        yield Part(crowns[int(random.integers(len(crowns)))], transform, material=int(random.choice(TINTS)))


def crown(random: Random, count: int) -> Mesh:
    """Returns the twigs of a tree of scale 1, of exactly so many triangles: a twig and its needles."""
    twigs = -(-count // (NEEDLES + 1))
    heights = random.uniform(0.0, 1.0, twigs) ** 1.4  # 0 lowest, 1 at the top
    angles = random.uniform(0.0, 2.0 * math.pi, twigs)
    start = np.stack([np.zeros(twigs), LOWEST + heights * (TREE - LOWEST), np.zeros(twigs)], axis=1)
    outward = np.stack([np.cos(angles), -0.3 + 0.5 * heights, np.sin(angles)], axis=1)
    length = TWIG * (1.05 - heights) * random.uniform(0.8, 1.1, twigs)
    end = start + length[:, None] * outward
    along = random.uniform(0.15, 1.0, (twigs, NEEDLES, 1))
    bases = start[:, None] + along * (end - start)[:, None]
    spread = unit(random.normal(size=(twigs, NEEDLES, 3)) + 0.8 * outward[:, None] - (0.0, 0.5, 0.0))
    tips = bases + NEEDLE * random.uniform(0.6, 1.2, (twigs, NEEDLES, 1)) * spread
    width = min(MOST_NEEDLE_WIDTH, NEEDLE_WIDTH / max(count, 1))
    needles = slivers(random, bases.reshape(-1, 3), tips.reshape(-1, 3), width).reshape(twigs, NEEDLES, 3, 3)
    twig = slivers(random, start, end, 0.03)[:, None]
    return loose(np.concatenate([twig, needles], axis=1).reshape(-1, 3, 3)[:count], FIR)


def needles_on_the_ground(random: Random, count: int) -> Mesh:
    """Returns triangles that lie before the camera."""
    start = np.stack([random.normal(size=count), np.full(count, 0.01), random.normal(size=count)], axis=1)
    start *= (5.0, 1.0, 5.0)
    end: Doubles = start + NEEDLE * unit(random.normal(size=(count, 3)) * (1.0, 0.05, 1.0))
    return loose(slivers(random, start, end, 0.02), LARCH)
