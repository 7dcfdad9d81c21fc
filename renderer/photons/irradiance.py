"""Irradiance at some photons of a map, worked out once and looked up by the rays of a final gather.

Christensen: Faster Photon Map Global Illumination, 1999: the nearest such photon whose surface has a similar normal.
It must lie in the slab about the tangent plane that photons of a search must lie in as well, so that no light comes
from another floor; and where it is farther off than the radius, something may be in between: then it has to be in
sight.

One photon in `EVERY` is such a sample and takes no part in the density of the others: at a photon that counts itself
light would look denser than it is on average.

A photon keeps the flat normal of its surface and no other. The photons that are given here have to count about the
shading normal already (`PhotonTask.is_corrected`); nothing corrects them afterwards.
"""

import math
from functools import cache
from typing import NamedTuple

import numpy as np

from renderer.photons.building import build_photon_map
from renderer.photons.photon_map import (
    DISC_THICKNESS,
    PHOTON_NORMAL,
    PHOTON_WORDS,
    ROUNDING,
    PhotonMap,
    Words,
    alike,
    cell_of,
    coordinate,
    directions_of,
    dot16,
    gather,
    length2,
    offsets,
)
from renderer.simd.columns import ELEMENTS, WORD_BYTES, get3, get_word
from renderer.simd.wide_vectors import first_elements
from shaders.float32 import Doubles, Float32, Longs
from shaders.octahedral import unpack_unit
from shaders.vector import Color, Vec3, in_single
from tracecore.compilation.cached import compiled, inlined
from tracecore.compilation.vector import address, element, fetch_add, less_equal, lowest_bit, splat16
from tracecore.dispatch.port import ONE_SLOT, STOPPED, Port, next_batch
from tracecore.workers.pool import Loop, Worker, Workers

#: One photon in so many is a sample, where irradiance is known.
EVERY = 4

#: Where photons crowd, so that a square of the radius has more samples than this, the radius shrinks to keep their
#: number within it.
CROWD = 4.0

#: Cells of the photons searched, along a radius.
CELLS_PER_RADIUS = 2.0

#: A sample is looked for up to so many radii away; farther off all is dark.
MOST_RADII = 16

#: Places that a thread takes at a time, and numbers of an irradiance.
SHARE, CHANNELS = 512, 3


class IrradianceMap(NamedTuple):
    """Irradiance at some photons.

    samples: photons where it is known, sorted by cell.
    others: the photons that it comes from.
    values: (n, 3) float64, of each sample, W/m^2, on the side of its normal.
    radius: of the search that it comes from, at most, world units; rays that end nearer are not answered by it.
    """

    samples: PhotonMap
    others: PhotonMap
    values: Doubles
    radius: float


class NearestSample(NamedTuple):
    """What is known nearest to a point.

    sample: its index; -1 where none is near.
    is_doubtful: whether it is so far off that something may be in between.
    """

    sample: int
    is_doubtful: bool


class IrradianceJob(NamedTuple):
    """Irradiance to be worked out, shared by all threads. taken: (1,) int64, how many photons threads have taken."""

    irradiance: IrradianceMap
    taken: Longs


@cache
def no_irradiance() -> IrradianceMap:
    """Returns a map that is dark everywhere."""
    none = build_photon_map(np.empty((0, PHOTON_WORDS), np.uint32), 1.0, 0.0)
    return IrradianceMap(none, none, np.empty((0, 3)), 0.0)


def irradiance_map(photons: Words, radius: float, scale: float, workers: Workers) -> IrradianceMap:
    """Returns the irradiance at some of the photons, by all the others.

    photons: (n, PHOTON_WORDS) uint32, whose flux counts about the shading normal.
    radius: of the search, world units.
    scale: watts per unit of their flux.
    """
    is_sample = np.arange(len(photons)) % EVERY == 0
    others = build_photon_map(photons[~is_sample], radius / CELLS_PER_RADIUS, scale * EVERY / (EVERY - 1))
    samples = build_photon_map(photons[is_sample], radius, 0.0)
    known = IrradianceMap(samples, others, np.zeros((samples.photons, 3)), radius)
    job = IrradianceJob(known, np.zeros(1, np.int64))

    def make_loop(worker: Worker) -> Loop:
        return lambda: run_irradiance(job, worker.port, np.zeros(1, np.int64))

    workers.run(make_loop)
    return job.irradiance


@compiled
def run_irradiance(job: IrradianceJob, port: Port, idle: Longs) -> int:
    """Work out the irradiance at samples that no other thread has taken. Returns as `next_batch` does."""
    known, values = job.irradiance, job.irradiance.values
    while True:
        first = fetch_add(address(job.taken), SHARE)
        for i in range(first, min(first + SHARE, len(values))):
            values[i, 0], values[i, 1], values[i, 2] = irradiance_of(known, i, 0)
        status = next_batch(port, idle, ONE_SLOT)
        if status == STOPPED or first >= len(values):
            return status


@inlined
def irradiance_of(known: IrradianceMap, i: int, between: int) -> Color:
    """Returns the irradiance at a sample, by the photons that are none.

    The samples alone say how wide to search: a radius that follows the photons it finds is biased by their number.

    between: see `irradiance_at_sample`.
    """
    samples = known.samples
    point, normal = sample_surface(samples, i)
    crowd = neighbours(samples, point) * (known.radius / samples.grid.cell) ** 2
    radius = known.radius * math.sqrt(min(1.0, CROWD / crowd))
    return gather(known.others, point, normal, normal, radius, between)


@inlined
def neighbours(samples: PhotonMap, point: Vec3) -> int:
    """Returns how many samples are in the cell of one of them."""
    cell = np.uint64(cell_of(samples.grid, point))
    return samples.starts[cell + np.uint64(1)] - samples.starts[cell]


@inlined
def find_sample(irradiance: IrradianceMap, point: Vec3, geom_normal: Vec3) -> NearestSample:
    """Returns the nearest sample of a surface like that of a point."""
    reach, nearest, thickness = irradiance.radius, -1, DISC_THICKNESS * irradiance.radius
    while nearest < 0 and reach <= MOST_RADII * irradiance.radius and irradiance.samples.photons > 0:
        nearest = nearest_within(irradiance.samples, point, geom_normal, (reach, thickness))
        reach *= 2.0
    return NearestSample(nearest, reach > 2.0 * irradiance.radius)


@inlined
def irradiance_at_sample(irradiance: IrradianceMap, index: int, between: int) -> Color:
    """Returns the irradiance at a sample.

    between: surfaces between it and the eye, but for the one that a final gather starts from: with more, some of the
    photons have come too far, and the others are looked for again.
    """
    values = irradiance.values
    if between > 0:
        return irradiance_of(irradiance, index, between)
    return (values[index, 0], values[index, 1], values[index, 2])


@inlined
def sample_surface(samples: PhotonMap, index: int) -> tuple[Vec3, Vec3]:
    """Returns the position of a sample, and the normal of its surface."""
    columns, step = address(samples.columns), WORD_BYTES * samples.columns.shape[1]
    return get3(columns, step, index), unpack_unit(get_word(columns + PHOTON_NORMAL * step, index))


@inlined
def nearest_within(samples: PhotonMap, point: Vec3, geom_normal: Vec3, bounds: tuple[float, float]) -> int:
    """Returns the index of the nearest sample with a similar normal, or -1 where none is within some bounds.

    bounds: how far off it may be, and how far from the tangent plane of the point, world units.
    """
    reach, thickness = bounds[0], splat16(Float32(bounds[1]))
    grid, starts, columns = samples.grid, samples.starts, address(samples.columns)
    step = WORD_BYTES * samples.columns.shape[1]
    center, normal = in_single(point), in_single(geom_normal)
    (x0, x1), (y0, y1), (z0, z1) = (
        span(samples, center, reach, 0),
        span(samples, center, reach, 1),
        span(samples, center, reach, 2),
    )
    nearest, least = -1, Float32(reach * reach)
    for z in range(z0, z1 + 1):
        for y in range(y0, y1 + 1):
            row = (z * grid.shape[1] + y) * grid.shape[0]
            first, last = starts[np.uint64(row + x0)], starts[np.uint64(row + x1 + 1)]
            for i in range(first, last, ELEMENTS):
                found = columns + WORD_BYTES * i
                offset = offsets(found, step, center)
                distance2, away = length2(offset), dot16(offset, normal)
                elements = less_equal(distance2, splat16(least)) & first_elements(last - i)
                if elements != 0:
                    elements &= less_equal(away, thickness) & less_equal(-away, thickness)
                    elements &= alike(directions_of(found + PHOTON_NORMAL * step), normal)
                while elements != 0:
                    k = lowest_bit(elements)
                    elements &= elements - 1
                    if element(distance2, k) <= least:
                        nearest, least = i + k, element(distance2, k)
    return nearest


@inlined
def span(places: PhotonMap, center: Vec3, reach: float, axis: int) -> tuple[int, int]:
    """Returns the first and the last cell along an axis that has what is no farther than `reach`."""
    grid, value, away = places.grid, center[axis], Float32(reach) + abs(center[axis]) * ROUNDING
    low, count = grid.low[axis], grid.shape[axis]
    return (coordinate(value - away, low, grid.per_cell, count), coordinate(value + away, low, grid.per_cell, count))
