"""This module looks at what listed hits have: the numbers of their BSDF, maps of these, and normals that maps bend."""

from renderer.scene.materials import MAPPED
from renderer.scene.packed_scene import PackedScene
from renderer.shading.corners import take_corners
from renderer.shading.listed import Chunk, for_each_shader, gather_numbers
from renderer.shading.maps import MapView, look_at_maps
from renderer.simd.columns import COLUMN, each, get, list_indices, put, whole
from shaders.compilation import compiled as inlined
from shaders.float32 import Int
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


@inlined
def take_index(i: int, chunk: Chunk) -> None:
    """Have the BSDF of a hit bend light by what counts on both sides of its border (`renderer.photons.media`)."""
    number = chunk.ior_number[i]
    place = Int(Int(max(number, Int(0)) * Int(COLUMN)) + Int(i))
    own = get(address(chunk.parameters), place)
    put(address(chunk.parameters), place, chunk.ior[i] if number >= Int(0) else own)
