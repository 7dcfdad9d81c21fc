"""This module says where the loops over a chunk of hits find what they read and write."""

from typing import Any, NamedTuple

import numpy as np

from renderer.scene.photon_scene import TRIANGLE_RECORD, TRIANGLE_TEXTURE
from renderer.simd.columns import WORD_BYTES, three
from shaders.float32 import Float32
from tracecore.compilation.cached import inlined

#: Where words of a triangle record and of a triangle's texture begin, by fours.
RECORD_BYTES, RECORD_QUADS = TRIANGLE_RECORD.itemsize, (0, 16)
TEXTURE_BYTES, TEXTURE_QUADS, TEXEL_MASK = TRIANGLE_TEXTURE.itemsize, (0, 16), np.uint32(0xFF)

#: Rows of a batch's rays where directions begin, and of its hits where triangles are.
RAY_DIRECTION, HIT_ID = 4, 3

#: Bytes of the normals of a triangle's corners.
CORNERS_BYTES = 9 * WORD_BYTES

#: A bent normal farther from the ray than this cosine gives way to the flat one.
LEAST_BENT_COSINE = Float32(1e-6)

#: What a ray's triangle has in this bit if there is none; all bits, and none.
MISS_BIT, ALL_BITS, NO_BITS = np.uint32(1 << 31), np.uint32(0xFFFFFFFF), np.uint32(0)

#: Type checkers take it for an int, as loops have them.
Long: Any = np.int64

#: One record of the columns of a chunk.
Chunk = Any


@inlined
def ray_columns(rays: int, step: int) -> tuple[int, ...]:
    """Returns the addresses of origins and directions of a batch's rays, in columns `step` bytes apart."""
    return three(rays, step) + three(rays + RAY_DIRECTION * step, step)


class View(NamedTuple):
    """Addresses of what loops over a chunk read and write.

    rays, hits, paths: of the chunk's rays, in columns `step` bytes apart.
    words: of a column that says which of them belong to the chunk (`renderer.shading.queues.Queue`).
    kept_rays, kept_paths: where those go that go on.
    normals, texels, decoded: tables of the scene.
    chunk: columns of the hits.
    """

    rays: int
    hits: int
    paths: int
    words: int
    kept_rays: int
    kept_paths: int
    step: int
    normals: int
    texels: int
    decoded: int
    chunk: Chunk
