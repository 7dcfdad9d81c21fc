"""This module weighs the ways in which a path from a lamp to the eye can be found, by the balance heuristic.

A path of k segments is found by the eye's path alone, by a shadow ray, by a connection or by merging at any of its
vertices. Its weight needs the densities of all of them, which three sums hold that paths carry along (Georgiev:
Implementing Vertex Connection and Merging, 2012, whose names they have). What is weighed has to be the same function of
a path whoever finds it; that it is only near the density of what is drawn costs noise, and no bias. So Russian
roulette is left out, lobes are chosen as for white light, and a lamp is as bright all over as on the mean.

Nothing is splatted from lamps to the lens: what that would find merging finds at the first surface. Nor is light merged
that comes straight from a lamp: shadow rays find it with less noise than the balance heuristic knows of, which takes
the paths of a pass for as many chances though all of them meet one vertex of the eye (Grittmann, Georgiev, Slusallek:
Correlation-Aware Multiple Importance Sampling for Bidirectional Rendering Algorithms, 2021).
"""

import math
from typing import Any, NamedTuple

from renderer.camera_paths.paths import EyeChunk
from renderer.camera_paths.vertices import EVEN
from renderer.simd.bsdf_kinds import BsdfKind, evaluate
from renderer.simd.columns import column, set_column
from shaders.bsdfs.bsdf import Seen
from shaders.float32 import ONE, ZERO, Float32
from shaders.vector import Vec3, dot
from tracecore.compilation.cached import inlined


class Sums(NamedTuple):
    """Says how else the part of a path up to a vertex could have been found, over how it was found.

    vcm: by what ends at the vertex alone.
    vc: by connections and merging, and by whoever follows it the other way round.
    last: of a path on its way, by merging at the surface that it has just left, per `Chances.merging`; it is in `vc`
        as soon as another surface is met, as paths that have come straight from a lamp are not merged.
    """

    vcm: float
    vc: float
    last: float


class Chances(NamedTuple):
    """Says how a pass joins paths.

    merging: area of the disc in which they merge times the paths from lamps, world units squared; 0 where none do.
    connecting: 1 over it; 0 where none are connected.
    """

    merging: float
    connecting: float


def chances_of(radius: float, paths: int) -> Chances:
    """Returns the chances of a pass. radius: within which paths merge, world units. paths: from lamps."""
    merging = math.pi * radius * radius * paths
    return Chances(Float32(merging), Float32(1.0 / merging))


@inlined
def sums_before(i: int, chunk: EyeChunk) -> Sums:
    """Returns the sums of the path that has come to a vertex, as they were at the start of its last ray. Where others
    have the share of a caustic map (`EYE_UNMAPPED`), these paths have the sums."""
    vcm, vc, last = column(chunk.unmapped, i)
    return Sums(vcm, vc, last)


@inlined
def sums_at(i: int, chunk: EyeChunk) -> Sums:
    """Returns the sums of the path that has come to a vertex, there. They stand where others have a reflectance."""
    vcm, vc, last = column(chunk.weight, i)
    return Sums(vcm, vc, last)


@inlined
def arrive(i: int, sums: Sums, merging: float, chunk: EyeChunk) -> None:
    """Write the sums of a path at its vertex: densities are per area there. merging: of the pass, see `Chances`."""
    distance = chunk.behind[i] + chunk.distance[i]
    cosine = cosine_at(i, column(chunk.ray, i), chunk)
    per_cosine = ONE / cosine if cosine > ZERO else ZERO
    by_ends, by_joining = sums.vcm * distance * distance, sums.vc + sums.last * merging
    set_column(chunk.weight, i, (by_ends * per_cosine, by_joining * per_cosine, ZERO))


@inlined
def cosine_at(i: int, direction: Vec3, chunk: EyeChunk) -> float:
    """Returns the cosine of a direction and the flat normal of a vertex, not negative."""
    return abs(dot(direction, column(chunk.normal, i)))


@inlined
def sums_behind(sums: Sums, cosine: float, pdf: float, reverse: float) -> Sums:
    """Returns the sums of a path that leaves a vertex.

    sums: at the vertex.
    cosine: of the direction in which it leaves and the flat normal.
    pdf: pdf_solid_angle of that direction, 0 of a lobe without spread.
    reverse: of the way that it came, if it had come the other way round.
    """
    if pdf <= ZERO:
        return Sums(ZERO, sums.vc * cosine, ZERO)
    return Sums(ONE / pdf, cosine / pdf * (sums.vc * reverse + sums.vcm), cosine / pdf)


@inlined
def others_by_connection(sums: Sums, reverse: float, merging: float) -> float:
    """Returns how else the part of a path behind one end of a connection could be found, over the density per area with
    which that end could be drawn from the other one.

    reverse: see `sums_behind`.
    merging: of the pass, see `Chances`; 0 at the first surface behind a lamp, where paths are not merged.
    """
    return merging + sums.vcm + sums.vc * reverse


@inlined
def others_by_merging(sums: Sums, pdf: float, chances: Chances) -> float:
    """Returns how else the part of a path on one side of a merged vertex could be found.
    pdf: pdf_solid_angle with which the other side goes on to where this one came from."""
    return (sums.vcm + sums.vc * pdf) * chances.connecting


@inlined
def reverse_pdf(kind: BsdfKind, parameters: Any, wi: Vec3, seen: Seen) -> float:
    """Returns the pdf_solid_angle with which a path that comes from `wi` goes on to `seen.wo`."""
    is_through = wi[2] < ZERO
    side = -ONE if is_through else ONE
    back = Seen(turned(wi, side), seen.is_outside != is_through, EVEN, ONE, seen.tables)
    return evaluate(kind, parameters, turned(seen.wo, side), back).pdf


@inlined
def turned(w: Vec3, side: float) -> Vec3:
    """Returns a direction in the frame of the other side of a surface where side is -1."""
    return (w[0], w[1] * side, w[2] * side)
