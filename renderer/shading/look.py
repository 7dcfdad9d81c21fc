"""This module looks at what listed hits have: the numbers of their BSDF, maps of these, and normals that maps bend."""

from renderer.scene.materials import MAPPED
from renderer.scene.packed_scene import PackedScene
from renderer.shading.corners import take_corners
from renderer.shading.listed import Chunk, for_each_shader, gather_numbers
from renderer.shading.maps import MapView, look_at_maps
from renderer.simd.columns import each, list_indices, whole
from shaders.compilation import compiled as inlined
from shaders.textures import images_of
from tracecore.compilation.vector import address


@inlined
def look_at_listed(scene: PackedScene, which: int, chunk: Chunk, hits: int) -> None:
    """Write the parameters of the BSDFs of a chunk's hits, as textures, maps and functions of the user's own say.

    chunk: with the width of what each hit is seen by.
    which: AT_POINT or PHOTON_AT_POINT.
    """
    surfaces, maps = scene.surfaces, scene.maps
    gather_numbers(scene.bsdfs, chunk, hits)
    if not maps.has_any:
        return
    count = list_indices(address(chunk.is_mapped), (MAPPED, MAPPED), hits, address(chunk.mapped))
    each(take_corners, whole(count), (chunk, address(surfaces.uvs)))
    places = (address(surfaces.positions), address(surfaces.normals))
    view = MapView(chunk, address(maps.records), images_of(surfaces.textures), address(maps.heights), *places)
    look_at_maps(maps.flags, maps.uses, view, count)
    for_each_shader(scene.bsdfs, which, chunk, hits)
