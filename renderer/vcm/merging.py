"""Merging: what paths from lamps bring that have come close to a vertex of a path of the eye, as photons do, each
weighed by how else its path could have been found."""

import math
from typing import Any, NamedTuple

import numpy as np
from numba import types

from renderer.camera_paths.paths import EyeChunk, bounces_of
from renderer.camera_paths.vertices import EVEN, radiance_gain
from renderer.film.layers import LAYER_BEAUTY, LAYER_BIAS, add_color
from renderer.photons.photon_map import DISC_THICKNESS, NORMAL_COSINE, coordinate
from renderer.shading.chunks import Long
from renderer.shading.scattering import Frame, frame_at, in_frame, parameters_at, seen_at
from renderer.simd.bsdf_kinds import BsdfKind, evaluate
from renderer.simd.columns import column, get_int, set_column
from renderer.simd.loops import each_alone
from renderer.vcm.job import JoinRules, Vertices
from renderer.vcm.scattering import bent_gain
from renderer.vcm.vertices import BOUNCES, FLUX, NORMAL, POSITION, TOWARDS, VertexTable, row_at, sums_of, vector_at
from renderer.vcm.weights import others_by_merging, reverse_pdf, sums_at
from shaders.bsdfs.bsdf import Seen
from shaders.float32 import ONE, ZERO, Doubles, Float32
from shaders.vector import Color, Vec3, add, dot, in_double, in_single, mean, multiply, scale, subtract
from tracecore.compilation.cached import inlined
from tracecore.compilation.units import unit

#: The square of the radius of half of a disc, over that of the disc.
INNER = Float32(0.5)


class Place(NamedTuple):
    """Is a vertex of the eye at which paths merge, as its surface is looked at."""

    own: Frame
    parameters: Any
    seen: Seen


@unit(types.none)
def merge(kind: BsdfKind, chunk: EyeChunk, count: int, rules: JoinRules, tables: int) -> None:
    """Write what paths from lamps bring the first `count` vertices of a chunk, and the bias of that."""
    each_alone(merge_at, count, (Vertices(kind, chunk, rules.paths, tables), rules.vertices))


@inlined
def merge_at(i: int, data: tuple[Vertices, VertexTable]) -> None:
    """Write what paths from lamps bring a vertex, and what of that grows from half of the disc to the whole one."""
    joined, vertices = data
    kind, chunk = joined.kind, joined.chunk
    own = frame_at(kind, i, chunk)
    place = Place(own, parameters_at(kind, i, chunk), seen_at(i, own, chunk, EVEN, ONE, joined.tables))
    grid, point, radius = vertices.grid, column(chunk.position, i), vertices.radius
    low, high = subtract(point, (radius, radius, radius)), add(point, (radius, radius, radius))
    first, last = corner_of(low, vertices), corner_of(high, vertices)
    whole, inner = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    for z in range(first[2], last[2] + 1):
        for y in range(first[1], last[1] + 1):
            row = (z * Long(grid.shape[1]) + y) * Long(grid.shape[0])
            start, end = get_int(vertices.starts, row + first[0]), get_int(vertices.starts, row + last[0] + 1)
            for k in range(Long(start), Long(end)):
                vertex = row_at(vertices, k)
                square = square_in_disc(i, vertex, chunk, radius) if get_int(vertex, BOUNCES) > 0 else -ONE
                if square >= ZERO:
                    light = brought(i, vertex, joined, place)
                    whole = add(whole, in_double(light))
                    if square <= INNER * radius * radius:
                        inner = add(inner, in_double(light))
    per_area = 1.0 / (math.pi * np.float64(radius) * np.float64(radius))
    set_column(chunk.radiance, i, in_single(scale(whole, per_area)))
    chunk.pick[i] = Float32(mean(subtract(whole, scale(inner, 2.0))) * per_area)


@inlined
def add_merged(i: int, data: tuple[Doubles, EyeChunk]) -> None:
    """Add what `merge` has written of a vertex to the image."""
    image, chunk = data
    pixel = Long(chunk.pixel[i])
    add_color(image, pixel, LAYER_BEAUTY, in_double(column(chunk.radiance, i)))
    if image.shape[1] > LAYER_BIAS:
        image[pixel, LAYER_BIAS] += chunk.pick[i]


@inlined
def corner_of(point: Vec3, vertices: VertexTable) -> tuple[int, int, int]:
    """Returns the cell of a point, along x, y and z."""
    grid = vertices.grid
    return (
        Long(coordinate(point[0], grid.low[0], grid.per_cell, grid.shape[0])),
        Long(coordinate(point[1], grid.low[1], grid.per_cell, grid.shape[1])),
        Long(coordinate(point[2], grid.low[2], grid.per_cell, grid.shape[2])),
    )


@inlined
def square_in_disc(i: int, vertex: int, chunk: EyeChunk, radius: float) -> float:
    """Returns the square of the distance of a path's vertex from one of the eye's along its surface, or -1 where it is
    not in the disc around it: off the surface, or of another one. vertex: address of its row."""
    normal, offset = column(chunk.normal, i), subtract(vector_at(vertex, POSITION), column(chunk.position, i))
    height = dot(offset, normal)
    square = max(dot(offset, offset) - height * height, ZERO)
    is_flat = abs(height) <= Float32(DISC_THICKNESS) * radius
    is_alike = abs(dot(vector_at(vertex, NORMAL), normal)) >= Float32(NORMAL_COSINE)
    return square if is_flat & is_alike & (square <= radius * radius) else -ONE


@inlined
def brought(i: int, vertex: int, joined: Vertices, place: Place) -> Color:
    """Returns what the eye receives of a path from a lamp that has come close to its vertex, times the disc's area."""
    kind, chunk, rules = joined.kind, joined.chunk, joined.rules
    between = bounces_of(chunk.state[i]) + Long(get_int(vertex, BOUNCES)) + 1
    towards, flat = vector_at(vertex, TOWARDS), column(chunk.normal, i)
    wi = in_frame(towards, place.own)
    value = evaluate(kind, place.parameters, wi, place.seen)
    reverse = reverse_pdf(kind, place.parameters, wi, place.seen)
    others = others_by_merging(sums_of(vertex), value.pdf, rules.chances)
    others += others_by_merging(sums_at(i, chunk), reverse, rules.chances)
    reflected = add(value.base, scale(value.rest, radiance_gain(kind, place.parameters, wi[2], place.seen)))
    is_seen = (between <= rules.max_bounces) & ((dot(towards, flat) > ZERO) == (wi[2] > ZERO))
    share = bent_gain(towards, flat, place.own.normal) / (ONE + others) if is_seen else ZERO
    light = multiply(reflected, scale(vector_at(vertex, FLUX), share))
    return multiply(column(chunk.throughput, i), light)
