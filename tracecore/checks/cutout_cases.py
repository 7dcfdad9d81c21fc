"""Triangles of which half have random masks, and rays that go through many of them."""

from collections.abc import Callable

import numpy as np

from tracecore.checks.ray_cases import Floats, grid, random_rays, rays_at_edges, soup
from tracecore.cutouts import Cutouts, Wrap
from tracecore.rays import make_rays

#: (height, width): one texel, rows that end inside of a word, whole words, and more than a word.
SHAPES = ((1, 1), (1, 1), (3, 5), (16, 16), (7, 33), (1, 64), (40, 1), (31, 100))

#: Powers of ten of texture coordinates: up to where they are all whole numbers, and where their mean overflows.
EXPONENTS = (-3, 0, 0, 0, 0, 1, 3, 6, 9, 38)


def masks() -> list[np.ndarray]:
    """One of each shape, half of whose texels are set; both masks of one texel."""
    random = np.random.default_rng(11)
    made = [random.integers(0, 2, shape).astype(np.uint8) * 255 for shape in SHAPES]
    made[0][:], made[1][:] = 0, 1
    return made


def random_cutouts(triangles: Floats) -> Cutouts:
    """Half of the triangles, with coordinates of all sizes and signs, some of them at the edges of texels."""
    random = np.random.default_rng(0)
    count = len(triangles)
    mask_ids = np.where(random.random(count) < 0.5, random.integers(len(SHAPES), size=count), -1)
    uvs = random.uniform(-3, 3, (count, 3, 2)) * 10.0 ** random.choice(EXPONENTS, (count, 1, 1))
    at_edges = random.random(count) < 0.3
    uvs[at_edges] = random.integers(-4, 5, (count, 3, 2))[at_edges] / 2
    wraps: list[Wrap] = ["repeat" if i % 2 else "clamp" for i in range(len(SHAPES))]
    return Cutouts(masks=masks(), mask_ids=mask_ids, uvs=uvs.astype(np.float32), wraps=wraps)


def layers(count: int, seed: int) -> Floats:
    """(count, 3, 3): large triangles in parallel planes, some of them in the same one."""
    random = np.random.default_rng(seed)
    triangles = random.uniform(-4, 4, (count, 3, 3)).astype(np.float32)
    triangles[:, :, 2] = random.integers(0, count // 2, (count, 1))
    return triangles


def downward_rays(count: int) -> Floats:
    random = np.random.default_rng(1)
    return make_rays(random.uniform(-2, 2, (count, 3)) - [0, 0, 5], random.normal(0, 0.1, (count, 3)) + [0, 0, 1])


#: By name: a number of rays -> triangles and rays.
CASES: dict[str, Callable[[int], tuple[Floats, Floats]]] = {
    "soup": lambda n: (soup(400), random_rays(0, n)),
    "layers": lambda n: (layers(60, 0), downward_rays(n)),
    "ties": lambda n: (np.concatenate([soup(60)] * 4), rays_at_edges(soup(60), n)),
    "edges-and-corners": lambda n: (grid(8), rays_at_edges(grid(8), n)),
}
