"""This module says what lies between the corners of the triangle that a hit is on."""

from typing import Any

from renderer.simd.columns import column_bytes, get, get3, get_int, put
from shaders.elementary import floor
from shaders.float32 import ONE, Float32, Int
from shaders.maps import Pair, Patch
from shaders.textures import Coordinates
from shaders.vector import Vec3, add, normalize, scale, subtract
from tracecore.compilation.cached import inlined
from tracecore.compilation.vector import address

#: Bytes of a vector of a row, and numbers of a triangle's three.
VECTOR_BYTES, CORNER_NUMBERS = 12, Int(9)


@inlined
def corners_of(i: int, chunk: Any, rows: int) -> tuple[Vec3, Vec3, Vec3]:
    """Returns a vector for each corner of the triangle of hit i. rows: address of (n, 3, 3) float32."""
    first = Int(get_int(address(chunk.triangle), i) * CORNER_NUMBERS)
    return (get3(rows, 4, first), get3(rows + VECTOR_BYTES, 4, first), get3(rows + 2 * VECTOR_BYTES, 4, first))


@inlined
def corners_normal(i: int, chunk: Any, normals: int) -> Vec3:
    """Returns the unit normal between those of a triangle's corners, on whichever side these are.

    normals: address of (n, 3, 3) float32.
    """
    u, v = get(address(chunk.uv), i), get(address(chunk.uv) + column_bytes(), i)
    a, b, c = corners_of(i, chunk, normals)
    return normalize(add(scale(a, ONE - u - v), add(scale(b, u), scale(c, v))))


@inlined
def texture_corner(i: int, chunk: Any, corner: int) -> Pair:
    """Returns the texture coordinates of a corner, 0 to 2."""
    columns = address(chunk.uvs) + 2 * corner * column_bytes()
    return get(columns, i), get(columns + column_bytes(), i)


@inlined
def coordinates_at(i: int, chunk: Any) -> Coordinates:
    """Returns the texture coordinates of hit i, less those whole numbers that lie below those of the first corner, so
    that they keep their digits where they are large."""
    u, v = get(address(chunk.uv), i), get(address(chunk.uv) + column_bytes(), i)
    a, b, c = texture_corner(i, chunk, 0), texture_corner(i, chunk, 1), texture_corner(i, chunk, 2)
    tile_s, s = floor(a[0])
    tile_t, t = floor(a[1])
    return Coordinates(
        s + (u * (b[0] - a[0]) + v * (c[0] - a[0])),
        t + (u * (b[1] - a[1]) + v * (c[1] - a[1])),
        Float32(tile_s),
        Float32(tile_t),
    )


@inlined
def patch_at(i: int, chunk: Any, positions: int) -> Patch:
    """Returns the triangle of hit i as maps look at it. positions: address of (n, 3, 3) float32, world units."""
    a, b, c = corners_of(i, chunk, positions)
    s, t, r = texture_corner(i, chunk, 0), texture_corner(i, chunk, 1), texture_corner(i, chunk, 2)
    return Patch(subtract(b, a), subtract(c, a), (t[0] - s[0], t[1] - s[1]), (r[0] - s[0], r[1] - s[1]))


@inlined
def take_corners(k: int, data: tuple[Any, int]) -> None:
    """Writes the texture coordinates of the corners of hit k of the list `mapped`. data: the chunk, and the address of
    (n, 3, 2) float32."""
    chunk, uvs = data
    i = get_int(address(chunk.mapped), k)
    first = Int(get_int(address(chunk.triangle), i) * Int(6))
    for number in range(6):
        put(address(chunk.uvs) + number * column_bytes(), i, get(uvs + 4 * number, first))
