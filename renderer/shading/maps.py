"""This module looks at the pictures of materials in vector loops: those that multiply numbers of a BSDF, and those that
bend normals.

Hits with maps are listed, and what is worked out of them lies side by side in the order of the list. Each loop is over
those that need it: a colour is looked up in one image, and where an image is blended with its coarser one, in this one
too.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import types

from renderer.scene.materials import BUMPS, BY_CHANNEL, FILTERED, MAPPED_SURFACES, MAPS, NORMALS, ORIENTED, USE, WIDE
from renderer.shading.corners import coordinates_at, corners_normal, patch_at
from renderer.simd.columns import (
    CHUNK,
    COLUMN,
    WORD_BYTES,
    column,
    column_bytes,
    column_words,
    fields,
    get,
    get_int,
    get_word,
    put,
    set_column,
)
from renderer.simd.loops import each_listed, whole
from renderer.simd.packing import close_list, list_indices
from shaders.bsdfs.bsdf import MEAN, MOST_NUMBERS
from shaders.float32 import HALF, ONE, ZERO, Float32, Int
from shaders.maps import Axes, Patch, axes_of, bumped, footprint, tangent_of, tilted, visible_normal
from shaders.textures import (
    TEXTURE_COARSER,
    TEXTURE_HEIGHT,
    TEXTURE_WIDTH,
    Coordinates,
    Images,
    blended,
    entry,
    level_of,
    look_up,
    look_up_number,
)
from shaders.vector import Color, chosen, dot, frame, mean, scale
from tracecore.compilation.cached import inlined
from tracecore.compilation.units import unit
from tracecore.compilation.vector import address
from tracecore.rays import offset_of

#: Columns of a chunk, of hits: `parameters` to `unused` are `renderer.scene.materials.NUMBERS`, `parameters` being
#: those of the BSDF, [number, hit]; `listed`, the list of those with one function of the user's own; `material`, its
#: index; `width` of the cone that sees the hit, across the ray, world units, 0 for photons; and the `tangent` of the
#: shading frame.
NUMBER_COLUMNS: list[tuple[Any, ...]] = [
    ("parameters", "<f4", (MOST_NUMBERS, COLUMN)),
    *fields("<i4", "bsdf shader ior_number unused listed material"),
    *fields("<f4", "width tangent:3"),
]

#: Columns of a chunk while maps are looked at: `mapped`, the list of hits with maps, and what belongs to the hits of
#: that list, side by side: `coordinates` and `tiles` in the plane of textures; what is `seen` of that plane, as
#: `shaders.maps.footprint` says; the axes of the texture; a normal on the outer side; and of one map the finer `image`
#: that is looked at, the share of its coarser one, and bits, `looks`. Then `looking`, the list of those of them that
#: have the map, and side by side in its order the `color`, or slopes, that were found, and the bits again; and
#: `blending`, a list of indices in that list.
MAP_COLUMNS: list[tuple[Any, ...]] = [
    *fields("<i4", "mapped"),
    *fields("<f4", "coordinates:2 tiles:2 seen along_u:3 along_v:3 outer:3"),
    *fields("<i4", "image"),
    *fields("<f4", "coarser color:3"),
    *fields("<u4", "looks blends"),
    *fields("<i4", "looking blending"),
]

#: Bits of `looks`: whether a hit has the map, and whether a coarser image counts.
LOOKS, BLENDS = np.uint32(1), np.uint32(2)

NUMBERS = Int(MAPS.itemsize // WORD_BYTES)
USE_BYTES = USE.itemsize
FIRST, COUNT, CHANNEL, IS_SQUARED = (offset_of(USE, name) for name in ("first", "count", "channel", "is_squared"))
NORMAL_MAP, NORMAL_SCALE, BUMP_MAP, BUMP_SCALE, IS_MIRRORING, HAS_TANGENT = (
    offset_of(MAPS, name)
    for name in ("normal_map", "normal_scale", "bump_map", "bump_scale", "is_mirroring", "has_tangent")
)
LAST_NUMBER = Int(MOST_NUMBERS - 1)


class MapView(NamedTuple):
    """Says where loops find what they look at. All but the chunk are addresses.

    chunk: a record with NUMBER_COLUMNS, MAP_COLUMNS and the columns of hits that `renderer.photons.batch` and
        `renderer.camera_paths.paths` share.
    records: (m,) MAPS.
    images: of the scene.
    heights: see `renderer.scene.materials.MapRecords`.
    positions, normals: (n, 3, 3) float32, of the corners of triangles.
    """

    chunk: Any
    records: int
    images: Images
    heights: int
    positions: int
    normals: int


#: A view, and by how many bytes a field of MAPS is behind the start of a record.
Looked = tuple[MapView, int]


@unit(types.none, need=MAPPED_SURFACES)
def look_at_maps(flags: np.uint32, uses: int, view: MapView, count: int) -> None:
    """Multiplies the numbers of the hits of the list `chunk.mapped` by their pictures, and bends their normals.

    chunk.normal is the flat normal on the side of the ray's origin, and chunk.is_outside says whether that is the side
    of the corners' normals. chunk.shading becomes the bent one, unit and seen from the ray's origin
    (`shaders.maps.visible_normal`), and stays where no map bends it. In scenes with the flag ORIENTED chunk.tangent
    becomes the first axis of a frame of it.

    flags, uses: see `renderer.scene.materials.MapRecords`.
    count: of hits in the list, which is closed (`renderer.simd.packing.close_list`).
    """
    chunk = view.chunk
    close_list(address(chunk.mapped), CHUNK)  # for lists in this list, which end behind it
    each_listed(find_coordinates, whole(count), view)
    if flags & (NORMALS | BUMPS | ORIENTED):
        each_listed(find_axes, whole(count), view)
    elif flags & FILTERED:
        each_listed(find_footprint, whole(count), view)
    for use in range(uses):
        looked = (view, USE_BYTES * use)
        looking = look_up_color(flags, view, USE_BYTES * use, count)
        each_listed(multiply_three, whole(looking), looked)
        if flags & WIDE:
            each_listed(multiply_other_three, whole(looking), looked)
    if flags & (NORMALS | BUMPS):
        bend_normals(flags, view, count)
    if flags & ORIENTED:
        each_listed(orient, whole(count), view)


@unit(types.none)
def bend_normals(flags: np.uint32, view: MapView, count: int) -> None:
    """Bends the normals of the first `count` hits of the list `chunk.mapped`."""
    chunk = view.chunk
    each_listed(find_outer_normal, whole(count), view)
    if flags & NORMALS:
        tilting = look_up_color(flags, view, NORMAL_MAP, count)
        each_listed(tilt, whole(tilting), view)
    if flags & BUMPS:
        bumping = choose_images(flags, view, BUMP_MAP, count)
        each_listed(find_slopes, whole(bumping), view)
        if flags & FILTERED:
            blending = list_blending(view, bumping)
            each_listed(blend_slopes, whole(blending), view)
        each_listed(bump, whole(bumping), view)
    each_listed(mark_bent, whole(count), view)
    bent = list_indices(address(chunk.looks), (LOOKS, LOOKS), count, address(chunk.looking))
    each_listed(turn_normal, whole(bent), view)


@unit(types.int64)
def look_up_color(flags: np.uint32, view: MapView, field: int, count: int) -> int:
    """Writes `color` of the hits that have a map, and lists them in `looking`. Returns how many they are.

    field: by how many bytes the texture's index is behind the start of a record.
    """
    looking = choose_images(flags, view, field, count)
    each_listed(find_color, whole(looking), view)
    if flags & FILTERED:
        blending = list_blending(view, looking)
        each_listed(blend_color, whole(blending), view)
    return looking


@inlined
def choose_images(flags: np.uint32, view: MapView, field: int, count: int) -> int:
    """Chooses the images of a map, and lists the hits that have it in `looking`. Returns how many they are."""
    chunk = view.chunk
    if flags & FILTERED:
        each_listed(choose_image, whole(count), (view, field))
    else:
        each_listed(choose_only_image, whole(count), (view, field))
    return list_indices(address(chunk.looks), (LOOKS, LOOKS), count, address(chunk.looking))


@inlined
def list_blending(view: MapView, count: int) -> int:
    """Lists those hits of `looking` for which a coarser image counts in `blending`. Returns how many they are."""
    chunk = view.chunk
    return list_indices(address(chunk.blends), (BLENDS, BLENDS), count, address(chunk.blending))


# Loops over the list of hits with maps: k is an index in the list, and i one in the chunk.


@inlined
def find_coordinates(k: int, view: MapView) -> None:
    """Writes texture coordinates."""
    chunk = view.chunk
    at = coordinates_at(get_int(address(chunk.mapped), k), chunk)
    chunk.coordinates[0, k], chunk.coordinates[1, k] = at.u, at.v
    chunk.tiles[0, k], chunk.tiles[1, k] = at.tile_u, at.tile_v


@inlined
def find_footprint(k: int, view: MapView) -> None:
    """Writes the side of what is seen of the plane of textures."""
    chunk = view.chunk
    i = get_int(address(chunk.mapped), k)
    chunk.seen[k] = footprint_at(i, chunk, patch_at(i, chunk, view.positions))


@inlined
def find_axes(k: int, view: MapView) -> None:
    """Writes the same, and how the position moves with texture coordinates."""
    chunk = view.chunk
    i = get_int(address(chunk.mapped), k)
    patch = patch_at(i, chunk, view.positions)
    axes = axes_of(patch)
    chunk.seen[k] = footprint_at(i, chunk, patch)
    set_column(chunk.along_u, k, axes.along_u)
    set_column(chunk.along_v, k, axes.along_v)


@inlined
def footprint_at(i: int, chunk: Any, patch: Patch) -> float:
    """Returns the side of what is seen at hit i of the plane of textures."""
    cosine = -dot(column(chunk.normal, i), column(chunk.ray, i))
    return footprint(patch, get(address(chunk.width), i), cosine)


@inlined
def map_number(k: int, view: MapView, field: int) -> int:
    """Returns an int32 of the hit's record, at a field."""
    return get_int(view.records + field, record_index(k, view))


@inlined
def map_factor(k: int, view: MapView, field: int) -> float:
    """Returns a float32 of the hit's record, at a field."""
    return get(view.records + field, record_index(k, view))


@inlined
def record_index(k: int, view: MapView) -> int:
    """Returns how many numbers lie before the hit's record."""
    chunk = view.chunk
    return Int(get_int(address(chunk.material), get_int(address(chunk.mapped), k)) * NUMBERS)


@inlined
def choose_image(k: int, looked: Looked) -> None:
    """Writes whether a hit has a map, and which image and share of a coarser one are looked at."""
    view, field = looked
    chunk, texture = view.chunk, map_number(k, view, field)
    image, share = level_of(view.images, max(texture, Int(0)), chunk.seen[k])
    chunk.image[k], chunk.coarser[k] = image, share
    looks = LOOKS if texture >= Int(0) else np.uint32(0)
    blends = BLENDS if (texture >= Int(0)) & (share > ZERO) else np.uint32(0)
    chunk.looks[k] = looks | blends


@inlined
def choose_only_image(k: int, looked: Looked) -> None:
    """Does as `choose_image` where no texture has coarser images."""
    view, field = looked
    chunk, texture = view.chunk, map_number(k, view, field)
    chunk.image[k] = max(texture, Int(0))
    chunk.looks[k] = LOOKS if texture >= Int(0) else np.uint32(0)


@inlined
def mark_bent(k: int, view: MapView) -> None:
    """Writes whether maps bend the normal of a hit."""
    chunk = view.chunk
    relief = max(map_number(k, view, NORMAL_MAP), map_number(k, view, BUMP_MAP))
    chunk.looks[k] = LOOKS if relief >= Int(0) else np.uint32(0)


# Loops over a list of indices in that list: m is an index in the former.


@inlined
def coordinates(k: int, chunk: Any) -> Coordinates:
    """Returns what `find_coordinates` wrote."""
    at, tiles = address(chunk.coordinates), address(chunk.tiles)
    return Coordinates(get(at, k), get(at + column_bytes(), k), get(tiles, k), get(tiles + column_bytes(), k))


@inlined
def find_color(m: int, view: MapView) -> None:
    """Writes the colour of the image that is looked at."""
    chunk = view.chunk
    k = get_int(address(chunk.looking), m)
    color = look_up(view.images, get_int(address(chunk.image), k), coordinates(k, chunk))
    set_column(chunk.color, m, color)
    chunk.blends[m] = get_word(address(chunk.looks), k)


@inlined
def coarser_image(k: int, view: MapView) -> int:
    """Returns the index of the coarser image; of any, behind the end of a list."""
    return max(entry(view.images, get_int(address(view.chunk.image), k), TEXTURE_COARSER), Int(0))


@inlined
def blend_color(n: int, view: MapView) -> None:
    """Blends the colour with that of the coarser image."""
    chunk = view.chunk
    m = get_int(address(chunk.blending), n)
    k = get_int(address(chunk.looking), m)
    color = look_up(view.images, coarser_image(k, view), coordinates(k, chunk))
    set_column(chunk.color, m, blended(column(chunk.color, m), color, get(address(chunk.coarser), k)))


@inlined
def multiply_three(m: int, looked: Looked) -> None:
    """Multiplies up to three numbers of a hit by its colour."""
    multiply_numbers(m, looked, Int(0))


@inlined
def multiply_other_three(m: int, looked: Looked) -> None:
    """Multiplies the up to three numbers behind those."""
    multiply_numbers(m, looked, Int(3))


@inlined
def multiply_numbers(m: int, looked: Looked, skipped: int) -> None:
    """Multiplies up to three numbers of a hit by its colour, but for the ones that are skipped."""
    view, field = looked
    chunk = view.chunk
    k = get_int(address(chunk.looking), m)
    i = get_int(address(chunk.mapped), k)
    first = Int(map_number(k, view, field + FIRST) + skipped)
    count = Int(map_number(k, view, field + COUNT) - skipped)
    factors = factors_of(column(chunk.color, m), k, looked)
    multiply_number(i, chunk, first, factors[0] if count > Int(0) else ONE)
    multiply_number(i, chunk, Int(first + Int(1)), factors[1] if count > Int(1) else ONE)
    multiply_number(i, chunk, Int(first + Int(2)), factors[2] if count > Int(2) else ONE)


@inlined
def factors_of(color: Color, k: int, looked: Looked) -> Color:
    """Returns what the colour of a hit multiplies three numbers with."""
    view, field = looked
    channel = map_number(k, view, field + CHANNEL)
    is_squared = map_number(k, view, field + IS_SQUARED) != Int(0)
    one = color[0] if channel == Int(0) else (color[1] if channel == Int(1) else color[2])
    one = mean(color) if channel == MEAN else one
    factors = chosen(channel == BY_CHANNEL, color, (one, one, one))
    squares = (factors[0] * factors[0], factors[1] * factors[1], factors[2] * factors[2])
    return chosen(is_squared, squares, factors)


@inlined
def multiply_number(i: int, chunk: Any, number: int, factor: float) -> None:
    """Multiplies a number of a hit; one that is not there has the factor 1."""
    index = Int(Int(min(number, LAST_NUMBER) * Int(column_words())) + i)
    put(address(chunk.parameters), index, get(address(chunk.parameters), index) * factor)


# Normals.


@inlined
def find_outer_normal(k: int, view: MapView) -> None:
    """Writes the normal between the corners' ones, on their side."""
    chunk = view.chunk
    set_column(chunk.outer, k, corners_normal(get_int(address(chunk.mapped), k), chunk, view.normals))


@inlined
def axes_at(k: int, chunk: Any) -> Axes:
    """Returns what `find_axes` wrote."""
    return Axes(column(chunk.along_u, k), column(chunk.along_v, k))


@inlined
def tilt(m: int, view: MapView) -> None:
    """Bends the outer normal by the colour of a normal map."""
    chunk = view.chunk
    k = get_int(address(chunk.looking), m)
    factor = map_factor(k, view, NORMAL_SCALE)
    set_column(chunk.outer, k, tilted(axes_at(k, chunk), column(chunk.outer, k), column(chunk.color, m), factor))


@inlined
def find_slopes(m: int, view: MapView) -> None:
    """Writes the slopes of heights along u and v, of the image that is looked at, in place of a colour."""
    chunk = view.chunk
    k = get_int(address(chunk.looking), m)
    chunk.color[0, m], chunk.color[1, m] = slopes_of(k, view, get_int(address(chunk.image), k))
    chunk.blends[m] = get_word(address(chunk.looks), k)


@inlined
def blend_slopes(n: int, view: MapView) -> None:
    """Blends the slopes with those of the coarser image."""
    chunk, slopes = view.chunk, address(view.chunk.color)
    m = get_int(address(chunk.blending), n)
    k = get_int(address(chunk.looking), m)
    slope_u, slope_v = slopes_of(k, view, coarser_image(k, view))
    share = get(address(chunk.coarser), k)
    put(slopes, m, get(slopes, m) * (ONE - share) + slope_u * share)
    put(slopes + column_bytes(), m, get(slopes + column_bytes(), m) * (ONE - share) + slope_v * share)


@inlined
def slopes_of(k: int, view: MapView, image: int) -> tuple[float, float]:
    """Returns how much the heights of an image grow along u and v."""
    chunk, images = view.chunk, view.images
    at, texture, seen = coordinates(k, chunk), map_number(k, view, BUMP_MAP), get(address(chunk.seen), k)
    texture = max(texture, Int(0))
    step_u = max(seen, ONE / Float32(entry(images, texture, TEXTURE_WIDTH)))
    step_v = max(seen, ONE / Float32(entry(images, texture, TEXTURE_HEIGHT)))
    right, left = height(view, image, at, (step_u, ZERO)), height(view, image, at, (-step_u, ZERO))
    down, up = height(view, image, at, (ZERO, step_v)), height(view, image, at, (ZERO, -step_v))
    return HALF * (right - left) / step_u, HALF * (down - up) / step_v


@inlined
def height(view: MapView, image: int, at: Coordinates, step: tuple[float, float]) -> float:
    """Returns the height at a step from a point."""
    there = Coordinates(at.u + step[0], at.v + step[1], at.tile_u, at.tile_v)
    return look_up_number(view.images, view.heights, image, there)


@inlined
def bump(m: int, view: MapView) -> None:
    """Bends the outer normal by the slopes of heights."""
    chunk = view.chunk
    k = get_int(address(chunk.looking), m)
    factor, slopes = map_factor(k, view, BUMP_SCALE), (chunk.color[0, m], chunk.color[1, m])
    set_column(chunk.outer, k, bumped(axes_at(k, chunk), column(chunk.outer, k), slopes, factor))


@inlined
def turn_normal(m: int, view: MapView) -> None:
    """Writes the shading normal: the outer one on the side of the ray's origin, if that sees its front."""
    chunk = view.chunk
    k = get_int(address(chunk.looking), m)
    i = get_int(address(chunk.mapped), k)
    flat, wo = column(chunk.normal, i), scale(column(chunk.ray, i), -ONE)
    side = ONE if get_int(address(chunk.is_outside), i) != Int(0) else -ONE
    is_mirroring = map_number(k, view, IS_MIRRORING) != Int(0)
    set_column(chunk.shading, i, visible_normal(scale(column(chunk.outer, k), side), flat, wo, is_mirroring))


@inlined
def orient(k: int, view: MapView) -> None:
    """Writes the first axis of the shading frame: along growing u where the BSDF asks for it."""
    chunk = view.chunk
    i = get_int(address(chunk.mapped), k)
    normal = column(chunk.shading, i)
    is_along = map_number(k, view, HAS_TANGENT) != Int(0)
    set_column(chunk.tangent, i, chosen(is_along, tangent_of(axes_at(k, chunk), normal), frame(normal)[0]))
