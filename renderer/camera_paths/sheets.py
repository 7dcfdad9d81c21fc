"""Shadow rays through sheets that bend no light: behind each of them a ray goes on, dimmed by what was let through, in
the medium that is there.

Where a scene has such sheets, shadow rays ask what is hit first; where it has none, whether anything is.
"""

import numpy as np
from numba import types

from renderer.camera_paths.paths import (
    SHADOW_MEDIA,
    SHADOW_WORDS,
    Doubles,
    ShadowRays,
    add_carried,
    carried_by,
    set_ray,
)
from renderer.scene.media import NOTHING, index_inside, sides_of, tables_of
from renderer.scene.packed_scene import PackedScene
from renderer.scene.photon_scene import HAS_MEDIA, MATERIAL_MASK, SHEET
from renderer.shading.chunks import HIT_ID, Long
from shaders.compilation import compiled as inlined
from shaders.float32 import ONE
from shaders.surface import SurfaceArrays, blend, share_through, triangle_clearance, winding_normal
from shaders.vector import Vec3, add, along, dot, largest, multiply, subtract
from tracecore.compilation.borrowing import borrowed
from tracecore.compilation.units import unit
from tracecore.rays import MISS, Floats, Ids


@unit(types.int64)
def pass_sheets(scene: PackedScene, shadows: ShadowRays, words: Ids, image: Doubles) -> int:
    """Add what those shadow rays carry that met nothing, and move those behind the sheets that met some.

    scene: what the rays hit.
    shadows: those that go on are left, in their order.
    words: (slots, 4, column) uint32, answers of a closest-hit query.
    image: of the pass, added to.
    Returns how many rays go on.
    """
    scene, shadows = borrowed(scene), borrowed(shadows)
    going = 0
    for slot in range(len(shadows.counts)):
        count, shadows.counts[slot] = shadows.counts[slot], 0
        for i in range(count):
            triangle = words[slot, HIT_ID, i]
            if triangle == MISS:
                add_carried(shadows, slot, i, image)
            elif scene.photon_scene.records[Long(triangle)].kind & SHEET:
                pass_sheet(scene, shadows, (slot, i), words, image)
        going += shadows.counts[slot]
    return going


@inlined
def pass_sheet(scene: PackedScene, shadows: ShadowRays, ray: tuple[int, int], words: Ids, image: Doubles) -> None:
    """Move a shadow ray behind the sheet that it met. ray: its slot and index there."""
    slot, i = ray
    rays, index = shadows.rays[slot], shadows.counts[slot]
    direction = vector_of(rays, 4, i)
    triangle, u, v = Long(words[slot, HIT_ID, i]), float_of(words, slot, 1, i), float_of(words, slot, 2, i)
    carried = multiply(carried_by(shadows, slot, i), share_through(scene.surfaces, triangle, (u, v)))
    start = behind_triangle(scene.surfaces, triangle, (u, v), direction)
    rest = subtract(add(vector_of(rays, 0, i), direction), start)
    for channel in range(3):
        shadows.radiance[slot, channel, index] = carried[channel]
    for word in range(SHADOW_WORDS):
        shadows.paths[slot, word, index] = shadows.paths[slot, word, i]
    if scene.photon_scene.flags & HAS_MEDIA and not enter_medium(
        scene, shadows, (slot, index), (triangle, u, v), direction
    ):
        return
    if dot(rest, direction) <= 0.0:  # the light is so close behind the sheet that nothing can be in between
        add_carried(shadows, slot, index, image)
    elif largest(carried) > 0.0 and dot(rest, direction) < dot(direction, direction):
        set_ray(rays, index, start, rest)
        rays[7, index] = 1.0
        shadows.counts[slot] = index + 1


@inlined
def behind_triangle(surfaces: SurfaceArrays, triangle: int, uv: tuple[float, float], direction: Vec3) -> Vec3:
    """Returns where a ray in a direction goes on behind the point at barycentric coordinates of a triangle."""
    normal, clearance = winding_normal(surfaces.positions, triangle), triangle_clearance(surfaces.positions, triangle)
    side = clearance if dot(normal, direction) >= 0.0 else -clearance
    return along(blend(surfaces.positions, triangle, uv[0], uv[1]), normal, side)


@inlined
def enter_medium(
    scene: PackedScene, shadows: ShadowRays, ray: tuple[int, int], place: tuple[int, float, float], direction: Vec3
) -> bool:
    """Write the stack of media behind a sheet. Returns whether the ray goes on straight there: between media whose
    indices differ the sheet bends it. place: the triangle, and barycentric coordinates."""
    (slot, i), (triangle, u, v) = ray, place
    tables, material = tables_of(scene.photon_scene.media), scene.photon_scene.records[triangle].kind & MATERIAL_MASK
    medium = scene.photon_scene.media.of_materials[Long(material)]
    if medium == NOTHING:
        return True
    is_outside = is_outer_side(scene.surfaces, triangle, (u, v), direction)
    inner, outer = sides_of(shadows.paths[slot, SHADOW_MEDIA, i], medium, is_outside)
    shadows.paths[slot, SHADOW_MEDIA, i] = inner if is_outside else outer
    return index_inside(inner, outer, tables) == ONE


@inlined
def is_outer_side(surfaces: SurfaceArrays, triangle: int, uv: tuple[float, float], direction: Vec3) -> bool:
    """Returns whether a ray in a direction comes from the side that the corners' normals call outside."""
    return dot(blend(surfaces.normals, triangle, uv[0], uv[1]), direction) < 0.0


@inlined
def float_of(words: Ids, slot: int, row: int, i: int) -> float:
    """Returns a float32 that is kept as a word, in float64."""
    return np.float64(np.uint32(words[slot, row, i]).view(np.float32))


@inlined
def vector_of(rays: Floats, row: int, i: int) -> Vec3:
    """Returns three rows of a ray, in float64. rays: (8, column)."""
    return (np.float64(rays[row, i]), np.float64(rays[row + 1, i]), np.float64(rays[row + 2, i]))
