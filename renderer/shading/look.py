"""This module looks at what few hits have: numbers of their own BSDF, maps of these, and normals that maps bend."""

from renderer.scene.packed_scene import PackedScene
from renderer.shading.listed import Chunk, for_each_shader, gather_numbers
from shaders.compilation import compiled as inlined


@inlined
def look_at_listed(scene: PackedScene, which: int, chunk: Chunk, hits: int) -> None:
    """Write the parameters of the BSDFs of a chunk's hits, as textures, maps and functions of the user's own say.

    which: AT_POINT or PHOTON_AT_POINT.
    """
    gather_numbers(scene.bsdfs, chunk, hits)
    for_each_shader(scene.bsdfs, which, chunk, hits)
