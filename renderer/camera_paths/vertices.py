"""The first stage of a bounce: rays that hit something, side by side, and what there is to know of the surfaces."""

from typing import NamedTuple

import numpy as np
from numba import types

from renderer.camera_paths.paths import (
    AFTER_DIFFUSE,
    EYE_BEHIND,
    EYE_CONE,
    EYE_PDF,
    EYE_THROUGHPUT,
    EYE_UNMAPPED,
    MOST_DEPTH,
    EyeChunk,
    bounces_of,
)
from renderer.camera_paths.task import CAUSTICS, FOLLOW, GATHER, INDIRECT, NOTHING, EyeTask
from renderer.photons.batch import HIT_ID, RAY_DIRECTION
from renderer.photons.chunk_views import MISS_BIT, NO_FATE, PHONG_BYTES, View
from renderer.photons.gathering_hits import gather_records, gather_textures
from renderer.photons.landing import bend_normal, hit_point, texel_color, texel_step, texture_sides
from renderer.photons.scattering import material_color, mirrored
from renderer.scene.packed_scene import PackedScene
from renderer.scene.photon_scene import BENT, LISTED, MIXED, TEXTURED
from renderer.shading.listed import AT_POINT
from renderer.shading.look import look_at_listed
from renderer.simd.columns import (
    COLUMN_BYTES,
    column,
    column_of,
    each,
    get,
    get_int,
    get_word,
    list_indices,
    pack_chunk,
    set_column,
    three,
    whole,
)
from shaders.compilation import compiled as inlined
from shaders.float32 import HALF, ONE, TWO, ZERO, Float32, Int
from shaders.vector import Color, mean, multiply, scale
from tracecore.compilation.units import unit
from tracecore.compilation.vector import address

PER_PI = Float32(1.0 / np.pi)

#: A hit lies at an edge of its triangle where one of its barycentric coordinates is below this.
EDGE = Float32(2.0**-16)


class Rules(NamedTuple):
    """The task of a pass as loops over vertices compare with it.

    samples: shadow rays per vertex.
    max_depth: surfaces after which a path ends, but for sheets that it goes straight through.
    follow: 1 where scattered rays follow diffuse reflection before a final gather, else 0.
    alone: 1 where diffuse reflection is not followed and shadow rays bring its direct light, else 0.
    unlit: 1 where no shadow rays bring light, so that all lobes look for it behind the last surface, else 0.
    is_sharp: whether mirrors and glass alone are followed.
    is_mapped: whether photons bring light that came by mirrors and glass.
    is_gather: whether irradiance is looked up behind a diffuse bounce, from the distance `near` on.
    asks: whether photons bring light at all.
    """

    samples: float
    max_depth: np.int32
    follow: float
    alone: float
    unlit: np.int32
    is_sharp: bool
    is_mapped: bool
    is_gather: bool
    near: float
    asks: bool


class Vertices(NamedTuple):
    """What loops over the vertices of a chunk work on. are_listed: whether the loops of BSDFs shade all of them."""

    chunk: EyeChunk
    tables: View
    rules: Rules
    are_listed: bool


@inlined
def rules_of(task: EyeTask, near: float) -> Rules:
    """Returns the rules of a task. near: see `Rules`, world units."""
    diffuse = task.diffuse
    return Rules(
        samples=Float32(max(task.light_samples, 1)),
        max_depth=np.int32(min(task.max_bounces, MOST_DEPTH)),
        follow=ONE if diffuse in (FOLLOW, CAUSTICS, GATHER) else ZERO,
        alone=ONE if diffuse in (INDIRECT, NOTHING) else ZERO,
        unlit=np.int32(task.light_samples == 0),
        is_sharp=diffuse == NOTHING,
        is_mapped=diffuse in (CAUSTICS, GATHER),
        is_gather=diffuse == GATHER,
        near=Float32(near),
        asks=diffuse != FOLLOW and diffuse != NOTHING,
    )


@inlined
def pick_vertices(view: View, count: int) -> tuple[int, int]:
    """Write rays that hit something, and their paths, side by side to the chunk until it is full. Returns how many they
    are, and how many rays were looked at."""
    chunk, step = view.chunk, view.step
    triangles = view.hits + HIT_ID * step
    sources = (
        (triangles, view.hits, view.hits + step, view.hits + 2 * step)
        + (view.paths, view.paths + step, view.paths + EYE_PDF * step)
        + three(view.rays, step)
        + three(view.rays + RAY_DIRECTION * step, step)
        + three(view.paths + EYE_THROUGHPUT * step, step)
        + (view.paths + EYE_CONE * step, view.paths + (EYE_CONE + 1) * step)
        + three(view.paths + EYE_UNMAPPED * step, step)
        + (view.paths + EYE_BEHIND * step,)
    )
    targets = (
        (address(chunk.triangle), address(chunk.distance), address(chunk.uv), address(chunk.uv) + COLUMN_BYTES)
        + (address(chunk.pixel), address(chunk.state), address(chunk.pdf))
        + column_of(chunk.origin)
        + column_of(chunk.ray)
        + column_of(chunk.throughput)
        + (address(chunk.cone), address(chunk.cone) + COLUMN_BYTES)
        + column_of(chunk.unmapped)
        + (address(chunk.behind),)
    )
    return pack_chunk(triangles, (MISS_BIT, NO_FATE), count, sources, targets)


@unit(types.none)
def look_at_surfaces(scene: PackedScene, view: View, hits: int) -> None:
    """Write hit points, normals and colours of the vertices of a chunk, and what the BSDFs of those that are listed
    take."""
    chunk, flags = view.chunk, scene.photon_scene.flags
    gather_records(flags, address(scene.photon_scene.records), chunk, hits)
    each(reach, whole(hits), chunk)
    if flags & BENT:
        bent = list_indices(address(chunk.kind), (BENT, BENT), hits, address(chunk.bent))
        each(bend_normal, whole(bent), view)
    if flags & TEXTURED:
        gather_textures(address(scene.photon_scene.textures), chunk, hits)
        textured = list_indices(address(chunk.kind), (TEXTURED, TEXTURED), hits, address(chunk.bent))
        each(paint_blended, whole(textured), view)
    if flags & LISTED:
        each(widen, whole(hits), chunk)
        look_at_listed(scene, AT_POINT, chunk, hits)


@inlined
def widen(i: int, chunk: EyeChunk) -> None:
    """Write how wide the cone of a path is at its vertex."""
    chunk.width[i] = width_at(i, chunk)


@inlined
def width_at(i: int, chunk: EyeChunk) -> float:
    """Returns how wide the cone of a path is at its vertex, across the ray, world units."""
    return chunk.cone[0, i] + chunk.cone[1, i] * chunk.distance[i]


@inlined
def reach(i: int, chunk: EyeChunk) -> None:
    """Write hit point, and normal on the side of the ray's origin.

    At an edge rounding might have the point behind the next triangle, where the other side is lit: such a point is
    taken a little back along the ray, which came from this side.
    """
    u, v = chunk.uv[0, i], chunk.uv[1, i]
    is_at_edge = (u < EDGE) | (v < EDGE) | (u + v > ONE - EDGE)
    back = chunk.clearance[i] if is_at_edge else ZERO
    position, normal, is_front = hit_point(i, chunk.distance[i] - back, chunk)
    set_column(chunk.position, i, position)
    set_column(chunk.normal, i, normal)
    set_column(chunk.shading, i, normal)
    chunk.is_outside[i] = Int(is_front)


@inlined
def paint_blended(k: int, view: View) -> None:
    """Multiply the diffuse colour with the texture's, blended between four texels."""
    chunk = view.chunk
    i = get_int(address(chunk.bent), k)
    x, y = texture_point(i, chunk)
    width, height = texture_sides(get_word(address(chunk.sides), i))
    first = get_int(address(chunk.texels), i)
    across, down = blend_share(x, width), blend_share(y, height)
    left, right = texel_step(x, ZERO, width), texel_step(x, ONE, width)
    top, bottom = Int(texel_step(y, ZERO, height) * width), Int(texel_step(y, ONE, height) * width)
    a, b = texel_color(Int(first + top + left), view), texel_color(Int(first + top + right), view)
    c, d = texel_color(Int(first + bottom + left), view), texel_color(Int(first + bottom + right), view)
    color = (
        blended(blended(a[0], b[0], across), blended(c[0], d[0], across), down),
        blended(blended(a[1], b[1], across), blended(c[1], d[1], across), down),
        blended(blended(a[2], b[2], across), blended(c[2], d[2], across), down),
    )
    set_column(chunk.weight, i, multiply(column(chunk.weight, i), color))


@inlined
def texture_point(i: int, chunk: EyeChunk) -> tuple[float, float]:
    """Returns the texture coordinates of a hit: in float64, as they may be large."""
    uv, corners = address(chunk.uv), address(chunk.uvs)
    u, v = np.float64(get(uv, i)), np.float64(get(uv + COLUMN_BYTES, i))
    w = 1.0 - u - v
    x = w * get(corners, i) + u * get(corners + 2 * COLUMN_BYTES, i) + v * get(corners + 4 * COLUMN_BYTES, i)
    y = (
        w * get(corners + COLUMN_BYTES, i)
        + u * get(corners + 3 * COLUMN_BYTES, i)
        + v * get(corners + 5 * COLUMN_BYTES, i)
    )
    return x, y


@inlined
def blend_share(x: float, size: int) -> float:
    """Returns the share of the second one of two texels of a row or column that are blended at x."""
    position = (x - np.floor(x)) * Float32(size) - HALF
    return Float32(position - np.floor(position))


@inlined
def blended(a: float, b: float, share: float) -> float:
    """Returns a number between two."""
    return a * (ONE - share) + b * share


@unit(types.none)
def prepare(flags: np.uint32, vertices: Vertices, hits: int) -> None:
    """Write what all rays that leave a vertex share: lobes, and what they reflect of light that comes."""
    if vertices.are_listed:
        each(follow_at, whole(hits), vertices)
    elif flags & MIXED:
        each(prepare_mixed, whole(hits), vertices)
    else:
        each(prepare_diffuse, whole(hits), vertices)


@inlined
def follow_at(i: int, data: Vertices) -> float:
    """Returns 1 where scattered rays follow the diffuse reflection of a vertex, else 0, and says whether it is far."""
    chunk, rules = data.chunk, data.rules
    is_behind = (chunk.state[i] & AFTER_DIFFUSE) != 0
    is_far = is_behind & (chunk.behind[i] + chunk.distance[i] >= rules.near) & rules.is_gather
    follow = ZERO if is_far else rules.follow
    chunk.is_far[i], chunk.follow[i] = Int(is_far), follow
    return follow


@inlined
def shadow_share(i: int, data: Vertices) -> tuple[Color, float]:
    """Returns the share of what a vertex reflects of one shadow ray that reaches the eye, and 1 where its path goes on,
    which may find the light as well, else 0."""
    chunk, rules = data.chunk, data.rules
    is_dark = bounces_of(chunk.state[i]) >= rules.max_depth  # behind the last surface a path meets light alone
    return scale(column(chunk.throughput, i), (ZERO if is_dark else ONE) / rules.samples), may_go_on(i, chunk, rules)


@inlined
def may_go_on(i: int, chunk: EyeChunk, rules: Rules) -> float:
    """Returns 1 where a path goes on behind a vertex by other lobes than mirrors and glass, else 0."""
    is_last = bounces_of(get_word(address(chunk.state), i)) + Int(1) >= rules.max_depth
    return ZERO if is_last | rules.is_sharp else ONE


@inlined
def prepare_diffuse(i: int, data: Vertices) -> None:
    """Do as `prepare` where all surfaces are diffuse."""
    chunk = data.chunk
    paint, follow = column(chunk.weight, i), follow_at(i, data)
    seen, goes = shadow_share(i, data)
    share = follow if mean(paint) > ZERO else ZERO
    chunk.shares[0, i] = share
    set_column(chunk.diffuse_light, i, scale(multiply(seen, paint), PER_PI))
    chunk.diffuse_pdf[i] = goes * share * PER_PI


@inlined
def prepare_mixed(i: int, data: Vertices) -> None:
    """Do as `prepare` where some surfaces have other lobes than the diffuse one."""
    chunk = data.chunk
    paint, follow = column(chunk.weight, i), follow_at(i, data)
    seen, goes = shadow_share(i, data)
    means, exponent = column(chunk.means, i), chunk.exponent[i]
    diffuse = mean(paint) * follow
    total = diffuse + means[0] + means[1] + means[2]
    per_total = ONE / total if total > ZERO else ZERO
    chunk.shares[0, i], chunk.shares[1, i] = diffuse * per_total, means[0] * per_total
    chunk.shares[2, i], chunk.shares[3, i] = means[1] * per_total, means[2] * per_total
    phong = scale(material_color(i, PHONG_BYTES, data.tables), (exponent + TWO) * (HALF * PER_PI))
    set_column(chunk.phong, i, phong)
    set_column(chunk.axis, i, mirrored(i, chunk))
    set_column(chunk.diffuse_light, i, scale(multiply(seen, paint), PER_PI))
    set_column(chunk.phong_light, i, multiply(seen, phong))
    chunk.diffuse_pdf[i] = goes * chunk.shares[0, i] * PER_PI
    chunk.phong_pdf[i] = goes * chunk.shares[1, i] * (exponent + ONE) * (HALF * PER_PI)
