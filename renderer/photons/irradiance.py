"""Irradiance at some photons of a map, worked out once and looked up by the rays of a final gather.

Christensen: Faster Photon Map Global Illumination, 1999: the nearest such photon whose surface has a similar normal.
One photon in `EVERY` is such a sample and takes no part in the density of the others: at a photon that counts itself
light would look denser than it is on average.

A photon keeps the flat normal of its surface and no other. The photons that are given here have to count about the
shading normal already (`PhotonTask.is_corrected`); nothing corrects them afterwards.
"""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from renderer.photons.photon_map import (
    PHOTON_NORMAL,
    PHOTON_WORDS,
    PhotonMap,
    Words,
    alike,
    build_photon_map,
    cell_coordinate,
    gather,
)
from shaders.compilation import compiled as inlined
from shaders.octahedral import unpack_unit
from shaders.vector import Color, Vec3
from tracecore.compilation.cached import compiled
from tracecore.compilation.vector import address, fetch_add
from tracecore.dispatch.port import ONE_SLOT, STOPPED, Port, next_batch
from tracecore.workers.pool import Loop, Worker, Workers

#: One photon in so many is a sample, where irradiance is known.
EVERY = 4

#: Where photons crowd, so that a cell has more samples than this, the radius shrinks to keep their number within it.
CROWD = 4.0

#: Cells of the photons searched, along a radius.
CELLS_PER_RADIUS = 2.0

#: A sample is looked for up to so many cells away; farther off all is dark.
MOST_CELLS = 16

#: Places that a thread takes at a time.
SHARE = 512

Longs = npt.NDArray[np.int64]


class IrradianceMap(NamedTuple):
    """Irradiance at some photons.

    samples: photons where it is known, sorted by cell.
    values: (n, 3) float64, of each, W/m^2, on the side of its normal.
    radius: of the search that it comes from, at most, world units; rays that end nearer are not answered by it.
    """

    samples: PhotonMap
    values: npt.NDArray[np.float64]
    radius: float


class IrradianceJob(NamedTuple):
    """Irradiance to be worked out, shared by all threads. taken: (1,) int64, how many photons threads have taken."""

    photon_map: PhotonMap
    irradiance: IrradianceMap
    taken: Longs


def no_irradiance() -> IrradianceMap:
    """Returns a map that is dark everywhere."""
    return IrradianceMap(build_photon_map(np.empty((0, PHOTON_WORDS), np.uint32), 1.0, 0.0), np.empty((0, 3)), 0.0)


def irradiance_map(photons: Words, radius: float, scale: float, workers: Workers) -> IrradianceMap:
    """Returns the irradiance at some of the photons, by all the others.

    photons: (n, PHOTON_WORDS) uint32, whose flux counts about the shading normal.
    radius: of the search, world units.
    scale: watts per unit of their flux.
    """
    is_sample = np.arange(len(photons)) % EVERY == 0
    others = build_photon_map(photons[~is_sample], radius / CELLS_PER_RADIUS, scale * EVERY / (EVERY - 1))
    samples = build_photon_map(photons[is_sample], radius, 0.0)
    job = IrradianceJob(
        others, IrradianceMap(samples, np.zeros((len(samples.photons), 3)), radius), np.zeros(1, np.int64)
    )

    def make_loop(worker: Worker) -> Loop:
        return lambda: run_irradiance(job, worker.port, np.zeros(1, np.int64))

    workers.run(make_loop)
    return job.irradiance


@compiled
def run_irradiance(job: IrradianceJob, port: Port, idle: Longs) -> int:
    """Work out the irradiance at samples that no other thread has taken. Returns as `next_batch` does."""
    samples, values = job.irradiance.samples, job.irradiance.values
    while True:
        first = fetch_add(address(job.taken), SHARE)
        for i in range(first, min(first + SHARE, len(values))):
            values[i, 0], values[i, 1], values[i, 2] = irradiance_of(job, samples, i)
        status = next_batch(port, idle, ONE_SLOT)
        if status == STOPPED or first >= len(values):
            return status


@inlined
def irradiance_of(job: IrradianceJob, samples: PhotonMap, i: int) -> Color:
    """Returns the irradiance at a sample, by the photons that are none.

    The samples alone say how wide to search: a radius that follows the photons it finds is biased by their number.
    """
    point, normal = position(samples, i), unpack_unit(samples.photons[i, PHOTON_NORMAL])
    radius = job.irradiance.radius * math.sqrt(min(1.0, CROWD / neighbours(samples, point)))
    return gather(job.photon_map, point, normal, normal, radius)


@inlined
def neighbours(samples: PhotonMap, point: Vec3) -> int:
    """Returns how many samples are in the cell of a point that has one."""
    x = cell_coordinate(point[0], samples.low[0], samples.cell, samples.shape[0])
    y = cell_coordinate(point[1], samples.low[1], samples.cell, samples.shape[1])
    z = cell_coordinate(point[2], samples.low[2], samples.cell, samples.shape[2])
    cell = (z * samples.shape[1] + y) * samples.shape[0] + x
    return samples.starts[cell + 1] - samples.starts[cell]


@inlined
def position(samples: PhotonMap, i: int) -> Vec3:
    """Returns where a photon landed."""
    x, y, z = samples.positions[i, 0], samples.positions[i, 1], samples.positions[i, 2]
    return (np.float64(x), np.float64(y), np.float64(z))


@inlined
def nearest_irradiance(irradiance: IrradianceMap, point: Vec3, geom_normal: Vec3) -> Color:
    """Returns the irradiance at the nearest sample with a similar normal; dark if there is none in many cells."""
    reach, nearest = irradiance.samples.cell, -1
    while nearest < 0 and reach <= MOST_CELLS * irradiance.samples.cell and len(irradiance.values) > 0:
        nearest = nearest_sample(irradiance.samples, point, geom_normal, reach)
        reach *= 2.0
    if nearest < 0:
        return (0.0, 0.0, 0.0)
    values = irradiance.values
    return (values[nearest, 0], values[nearest, 1], values[nearest, 2])


@inlined
def nearest_sample(samples: PhotonMap, point: Vec3, geom_normal: Vec3, reach: float) -> int:
    """Returns the index of the nearest sample with a similar normal that is no farther than `reach`, or -1."""
    width, height, depth = samples.shape
    low, cell = samples.low, samples.cell
    x0 = cell_coordinate(point[0] - reach, low[0], cell, width)
    x1 = cell_coordinate(point[0] + reach, low[0], cell, width)
    y0 = cell_coordinate(point[1] - reach, low[1], cell, height)
    y1 = cell_coordinate(point[1] + reach, low[1], cell, height)
    z0 = cell_coordinate(point[2] - reach, low[2], cell, depth)
    z1 = cell_coordinate(point[2] + reach, low[2], cell, depth)
    nearest, least = -1, reach * reach
    for z in range(z0, z1 + 1):
        for y in range(y0, y1 + 1):
            row = (z * height + y) * width
            for i in range(samples.starts[row + x0], samples.starts[row + x1 + 1]):
                x_i, y_i, z_i = position(samples, i)
                dx, dy, dz = x_i - point[0], y_i - point[1], z_i - point[2]
                distance2 = dx * dx + dy * dy + dz * dz
                if distance2 <= least and alike(samples.photons[i, PHOTON_NORMAL], geom_normal):
                    nearest, least = i, distance2
    return nearest
