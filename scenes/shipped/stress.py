"""This scene is a plain of dandelions to test tracers with, of any number of triangles from a thousand to twenty
million.

It has what is hard for them: triangles of very different sizes next to one another, most of them long and thin, in
dense clusters that are far apart; and flowers that are each made of one of a few hundred shared meshes.
"""

import math
from collections.abc import Iterator

import numpy as np

from scenes.document import Document, Part, Scene
from scenes.meshes.geometry import unit
from scenes.meshes.shapes import curve, rectangle
from scenes.model import Doubles, Material, Mesh
from scenes.motion.transforms import WORLD, Transform, compose, quaternion
from scenes.playing.evaluator import scene_of
from scenes.shipped.modelling import facing_square, loose, slivers, tube, viewpoint

SEED = 20160620
#: Share of the triangles that flowers have; the others drift in the air.
FLOWERS = 0.95
#: Flowers that look the same, and the most meshes that there are of their heads.
ALIKE, MOST_HEADS = 8, 300
#: Triangles of a flower are as many as the root of all, and at least so many.
LEAST_FLOWER = 40
#: A seed: its grain, its stalk and the hairs of its parachute, a triangle each.
HAIRS = 6

#: Metres of the plain's edge, of the farthest cluster, and of a flower's stem of scale 1.
PLAIN, FARTHEST, STEM = 2000.0, 200.0, 1.0
CLUSTERS = 30
#: Share of the flowers that stand in the cluster before the camera, and how far they are spread.
NEAR_SHARE, NEAR_PLACE, NEAR_SPREAD = 0.25, (0.0, -1.5), (2.6, 1.8)
#: Radii in a head of scale 1: where stalks begin and end, and where hairs end.
CORE, TIP, FLUFF = 0.035, 0.17, 0.25
#: Width of hairs: the most, and that of a head with one seed. Heads with more have finer ones, and look equally dense.
MOST_HAIR_WIDTH, HAIR_WIDTH = 0.0035, 0.35
#: Edges of what drifts in the air, and the least width for each metre from the middle, for float32 to hold it.
SHORTEST, LONGEST, LEAST_WIDTH = 3e-4, 0.15, 2e-5

MATERIALS = (
    Material(name="meadow", diffuse=(0.16, 0.22, 0.07)),
    Material(name="stem", diffuse=(0.22, 0.36, 0.10)),
    Material(name="white", diffuse=(0.82, 0.82, 0.80)),
    Material(name="yellow", diffuse=(0.85, 0.62, 0.08)),
    Material(name="rose", diffuse=(0.80, 0.42, 0.45)),
    Material(name="sun", diffuse=(0.0, 0.0, 0.0), emission=(150.0, 138.0, 118.0)),
)
MEADOW, GREEN, WHITE, YELLOW, ROSE, SUN = range(6)
#: The materials of heads: white ones are more frequent than others.
TINTS = (WHITE, WHITE, WHITE, YELLOW, ROSE)
SKY = (0.35, 0.50, 0.75)

#: The camera is where somebody before the nearest flowers has an eye.
CAMERA = viewpoint((0.0, 1.55, 4.6), (0.0, 0.85, 0.0), 40.0, near=0.01)

Random = np.random.Generator


def scene(triangles: int) -> Scene:
    """Makes the scene, of exactly so many triangles, 1,000 or more; nothing in it moves."""
    random = np.random.default_rng(SEED)
    bend = [[0.0, 0.0, 0.0], [0.03, 0.5 * STEM, 0.02], [0.0, STEM, 0.0]]
    stem = tube(curve(bend, 2), 0.008, GREEN, sides=3)
    still = [Part(plain()), Part(sun())]
    left = triangles - sum(len(part.shape.triangles) for part in still if isinstance(part.shape, Mesh))
    of_flower = max(LEAST_FLOWER, math.isqrt(triangles))
    count = int(FLOWERS * left / of_flower)
    heads = [head(random, of_flower - len(stem.triangles)) for _ in range(min(1 + count // ALIKE, MOST_HEADS))]
    document = Document(
        parts=[*still, *flowers(random, stem, heads, count), Part(drift(random, left - count * of_flower))],
        materials=list(MATERIALS),
        cameras={"front": CAMERA},
        background=SKY,
    )
    return scene_of("stress", document, "shipped")


def plain() -> Mesh:
    """Returns the meadow, which is two triangles."""
    return rectangle((-0.5 * PLAIN, 0.0, -0.5 * PLAIN), (0.0, 0.0, PLAIN), (PLAIN, 0.0, 0.0), MEADOW)


def sun() -> Mesh:
    """Returns a square of light far behind the camera, which faces the nearest flowers."""
    return facing_square((-140.0, 200.0, 120.0), 50.0, SUN)


def flowers(random: Random, stem: Mesh, heads: list[Mesh], count: int) -> Iterator[Part]:
    """Yields so many flowers, two parts each, in clusters."""
    scales = np.exp(random.uniform(math.log(0.6), math.log(1.4), count))
    turns = random.uniform(0.0, 360.0, count)
    which, tints = random.integers(0, len(heads), count), random.choice(TINTS, count)
    for place, scale, turn, number, tint in zip(places(random, count), scales, turns, which, tints, strict=True):
        matrix = compose(np.full(3, scale), quaternion(np.array([0.0, 1.0, 0.0]), float(turn)), place)
        transform: Transform = WORLD.inner(matrix=matrix)
        yield Part(stem, transform)
        yield Part(heads[number], transform, material=int(tint))


def places(random: Random, count: int) -> Doubles:
    """Returns points (count, 3) on the plain: a cluster before the camera, and others ever farther away and wider."""
    distances = np.geomspace(9.0, FARTHEST, CLUSTERS)
    angles = random.uniform(-0.6, 0.6, CLUSTERS)
    centers = distances[:, None] * np.stack([np.sin(angles), -np.cos(angles)], axis=-1)
    which = random.integers(0, CLUSTERS, count)
    spread = random.normal(size=(count, 2))
    far = centers[which] + 0.06 * distances[which, None] * spread
    is_near = np.arange(count) < NEAR_SHARE * count
    x, z = np.where(is_near[:, None], NEAR_PLACE + NEAR_SPREAD * spread, far).T
    return np.stack([x, np.zeros(count), z], axis=-1)


def head(random: Random, count: int) -> Mesh:
    """Returns a ball of seeds on top of a stem of scale 1, of exactly so many triangles."""
    seeds = -(-count // (HAIRS + 2))
    outward = unit(random.normal(size=(seeds, 3)))
    middle = np.array([0.0, STEM, 0.0])
    tips = middle + TIP * random.uniform(0.85, 1.15, (seeds, 1)) * outward
    spread = unit(outward[:, None] + 0.8 * unit(random.normal(size=(seeds, HAIRS, 3))))
    ends = tips[:, None] + (FLUFF - TIP) * random.uniform(0.5, 1.5, (seeds, HAIRS, 1)) * spread
    starts = np.broadcast_to(tips[:, None], ends.shape)
    parts = [
        slivers(random, middle + CORE * outward, tips, 0.0016)[:, None],
        slivers(random, middle + CORE * outward, middle + 1.2 * CORE * outward, 0.004)[:, None],
        slivers(random, starts.reshape(-1, 3), ends.reshape(-1, 3), min(MOST_HAIR_WIDTH, HAIR_WIDTH / seeds)).reshape(
            seeds, HAIRS, 3, 3
        ),
    ]
    return loose(np.concatenate(parts, axis=1).reshape(-1, 3, 3)[:count], WHITE)


def drift(random: Random, count: int) -> Mesh:
    """Returns triangles in the air above the near flowers and ever farther, of all sizes and shapes."""
    away = np.exp(random.uniform(0.0, math.log(FARTHEST), count)) - 1.0
    angles = random.uniform(-0.7, 0.7, count)
    x, z = (away * np.sin(angles), -away * np.cos(angles)) + random.normal(size=(2, count))
    start = np.stack([x, 1.0 + np.abs(random.normal(size=count)) * (0.6 + 0.1 * away), z], axis=-1)
    lengths = np.exp(random.uniform(math.log(SHORTEST), math.log(LONGEST), count))
    widths = lengths * np.exp(random.uniform(math.log(0.003), 0.0, count))
    least = LEAST_WIDTH * (1.0 + away)
    end = start + np.maximum(lengths, least)[:, None] * unit(random.normal(size=(count, 3)))
    return loose(slivers(random, start, end, np.maximum(widths, least)), WHITE)
