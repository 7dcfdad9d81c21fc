"""The first stage of a bounce: rays that hit something, side by side, and what there is to know of the surfaces."""

from typing import Any, NamedTuple

import numba
import numpy as np
from numba import types

from renderer.camera_paths.paths import AFTER_DIFFUSE, EYE_MEDIA, MOST_DEPTH, EyeChunk, bounces_of
from renderer.camera_paths.task import ASKING, CAUSTICS, FOLLOW, GATHER, INDIRECT, NOTHING, PARTLY, EyeTask
from renderer.scene.packed_scene import PackedScene
from renderer.scene.photon_scene import BENT, IN_MEDIUM, MAPPED, TEXTURED
from renderer.shading.chunks import Long, View, ray_columns
from renderer.shading.collisions import face_particle
from renderer.shading.queues import Queue
from renderer.shading.scattering import AT_POINT, frame_at, in_frame, parameters_at
from renderer.shading.surfaces import (
    bend_normal,
    face,
    gather_numbers,
    gather_records,
    gather_textures,
    list_textured,
    look_closely,
)
from renderer.shading.texels import paint_blended
from renderer.simd.bsdf_kinds import BsdfKind, albedo, eta, reflectance
from renderer.simd.columns import column, column_bytes, rows, set_column
from renderer.simd.loops import each, each_listed, whole
from renderer.simd.packing import list_indices, pack_chunk
from shaders.bsdfs.bsdf import Seen
from shaders.float32 import ONE, ZERO, Doubles, Float32, Int
from shaders.vector import Vec3, scale
from tracecore.compilation.borrowing import borrowed
from tracecore.compilation.cached import inlined
from tracecore.compilation.units import unit
from tracecore.compilation.vector import address

#: Lobes are chosen alike for all channels: what a path carries is as likely to be light of any colour.
EVEN = (ONE, ONE, ONE)

#: A hit lies at an edge of its triangle where one of its barycentric coordinates is below this.
EDGE = Float32(2.0**-16)


class Rules(NamedTuple):
    """The task of a pass as loops over vertices compare with it."""

    samples: float  # shadow rays per vertex
    max_depth: np.int32  # surfaces after which a path ends, but for sheets that it goes straight through
    follow: float  # 1 where scattered rays follow diffuse reflection before a final gather, else 0
    alone: float  # 1 where diffuse reflection is not followed and shadow rays bring its direct light, else 0
    unlit: np.int32  # 1 where no shadow rays bring light, so that all lobes look for it behind the last surface, else 0
    is_sharp: bool  # whether mirrors and glass alone are followed
    is_mapped: bool  # whether photons bring light that came by mirrors and glass
    is_gather: bool  # whether irradiance is looked up behind a diffuse bounce, from the distance `near` on
    is_partial: bool  # whether the first diffuse reflection of some pixels is followed
    near: float
    asks: bool  # whether photons bring light at all


class Vertices(NamedTuple):
    """The vertices of a chunk, which all have the same BSDF. bsdf: the row of its loops."""

    chunk: EyeChunk
    rules: Rules
    bsdf: int


class Seeing(NamedTuple):
    """What the loops of a BSDF work on. tables: address of what was measured (`shaders.bsdfs.bsdf.Seen`)."""

    kind: BsdfKind
    chunk: EyeChunk
    rules: Rules
    tables: int


def rules_type() -> Any:
    """Returns Numba's type of `Rules`."""
    rules = Rules(Float32(1.0), np.int32(1), ZERO, ZERO, np.int32(0), False, False, False, False, ZERO, False)
    return numba.typeof(rules)  # type: ignore[no-untyped-call]


@inlined
def rules_of(task: EyeTask, near: float) -> Rules:
    """Returns the rules of a task. near: see `Rules`, world units."""
    diffuse = task.diffuse
    return Rules(
        samples=Float32(max(task.light_samples, 1)),
        max_depth=np.int32(min(task.max_bounces, MOST_DEPTH)),
        follow=ONE if diffuse in (FOLLOW, CAUSTICS, GATHER) else ZERO,
        alone=ONE if diffuse in (INDIRECT, NOTHING, PARTLY) else ZERO,
        unlit=np.int32(task.light_samples == 0),
        is_sharp=diffuse == NOTHING,
        is_mapped=diffuse in (CAUSTICS, GATHER, PARTLY),
        is_gather=diffuse == GATHER,
        is_partial=diffuse == PARTLY,
        near=Float32(near),
        asks=diffuse in ASKING,
    )


@inlined
def pick_vertices(queue: Queue, view: View, count: int) -> tuple[int, int]:
    """Fill the chunk with rays of a queue and their paths. Returns how many they are, and how many were looked at."""
    chunk, step = view.chunk, view.step
    sources = ray_columns(view.rays, step) + rows(view.hits, step, 4) + rows(view.paths, step, EYE_MEDIA)
    hits, paths = rows(address(chunk.origin), column_bytes(), 10), rows(address(chunk.pixel), column_bytes(), EYE_MEDIA)
    targets = hits + paths
    return pack_chunk(view.words, queue.wanted, count, sources, targets)


@unit(types.none)
def look_at_surfaces(scene: PackedScene, queue: Queue, view: View, hits: int) -> None:
    """Write hit points and normals of the vertices of a chunk, and the numbers of their BSDF."""
    scene = borrowed(scene)
    chunk, flags = view.chunk, queue.flags
    gather_records(address(scene.photon_scene.records), chunk, hits)
    each(reach, whole(hits), chunk)
    if flags & BENT:
        bent = list_indices(address(chunk.kind), (BENT, BENT), hits, address(chunk.bent))
        each_listed(bend_normal, whole(bent), view)
    if flags & IN_MEDIUM:
        each(face_particle, whole(hits), chunk)
    gather_numbers(scene.bsdfs, queue, chunk, hits)
    if flags & TEXTURED and queue.quads > 0:
        textured = list_textured((TEXTURED | MAPPED, TEXTURED), chunk, hits)
        gather_textures(address(scene.photon_scene.textures), chunk, textured)
        each_listed(paint_blended, whole(textured), view)
    if flags & MAPPED:
        each(widen, whole(hits), chunk)
        look_closely(scene, (AT_POINT, MAPPED), queue, chunk, hits)


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
    """Write hit point and normals. At an edge rounding might have the point behind the next triangle, where the other
    side is lit: such a point is taken a little back along the ray, which came from this side."""
    u, v = chunk.uv[0, i], chunk.uv[1, i]
    is_at_edge = (u < EDGE) | (v < EDGE) | (u + v > ONE - EDGE)
    face(i, chunk.distance[i] - (chunk.clearance[i] if is_at_edge else ZERO), chunk)


@inlined
def follow_bases(i: int, data: tuple[EyeChunk, Rules]) -> None:
    """Write whether scattered rays follow the diffuse reflection of a vertex, and whether it is far."""
    chunk, rules = data
    is_behind = (chunk.state[i] & AFTER_DIFFUSE) != 0
    is_far = is_behind & (chunk.behind[i] + chunk.distance[i] >= rules.near) & rules.is_gather
    chunk.is_far[i], chunk.follow[i] = Int(is_far), ZERO if is_far else rules.follow


@inlined
def follow_first_base(i: int, data: tuple[EyeChunk, Doubles]) -> None:
    """Follow the first diffuse reflection of the paths of pixels without a radius. data: also has the pixels' radii."""
    chunk, radii = data
    is_first = (chunk.state[i] & AFTER_DIFFUSE) == np.uint32(0)
    chunk.follow[i] = ONE if is_first and radii[Long(chunk.pixel[i])] <= 0.0 else ZERO


@inlined
def may_go_on(i: int, chunk: EyeChunk, rules: Rules) -> float:
    """Returns 1 where a path goes on behind a vertex by other lobes than mirrors and glass, else 0."""
    is_last = bounces_of(chunk.state[i]) + Int(1) >= rules.max_depth
    return ZERO if is_last | rules.is_sharp else ONE


@inlined
def radiance_gain(kind: BsdfKind, parameters: object, cosine: float, seen: Seen) -> float:
    """Returns what radiance changes by beside the share that is kept, from a direction with this cosine.

    Radiance changes with the square of the index as it crosses the surface, flux does not: Veach, Robust Monte Carlo
    Methods for Light Transport Simulation, 1997, section 5.2.
    """
    index = eta(kind, parameters, seen.is_outside)
    return ONE / (index * index) if cosine < ZERO else ONE


@unit(types.none)
def show_bases(kind: BsdfKind, chunk: EyeChunk, count: int, rules: Rules, tables: int) -> None:
    """Write the reflectance towards the eye of what photons are stored on, for the first `count` vertices."""
    each(show_base, whole(count), Seeing(kind, chunk, rules, tables))


@inlined
def show_base(i: int, data: Seeing) -> None:
    """Write the base's reflectance of a vertex."""
    chunk, kind = data.chunk, data.kind
    set_column(chunk.weight, i, reflectance(kind, parameters_at(kind, i, chunk), wo_at(i, data)))


@unit(types.none)
def show_albedos(kind: BsdfKind, chunk: EyeChunk, count: int, rules: Rules, tables: int) -> None:
    """Write all that is reflected and let through towards the eye, for the first `count` vertices."""
    each(show_albedo, whole(count), Seeing(kind, chunk, rules, tables))


@inlined
def show_albedo(i: int, data: Seeing) -> None:
    """Write the albedo of a vertex."""
    chunk, kind = data.chunk, data.kind
    set_column(chunk.weight, i, albedo(kind, parameters_at(kind, i, chunk), wo_at(i, data)))


@inlined
def wo_at(i: int, data: Seeing) -> Vec3:
    """Returns the direction to where a path came from, in the shading frame."""
    chunk = data.chunk
    return in_frame(scale(column(chunk.ray, i), -ONE), frame_at(data.kind, i, chunk))
