"""Photons from the lights through the scene: emission, scattering, Russian roulette, storing. All by the photon's
index.

A batch is a pool of paths. Where a path ends, the next photon of the range starts in its place, so that batches stay
full until the range is used up.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from renderer.driver import PhotonCounts
from renderer.feeding import Feeder, Lane, Request, Wave
from renderer.packed_scene import PackedScene
from renderer.photon_map import DIRECTION, FLUX, NORMAL, WORDS, Words, pack_flux, pack_unit
from shaders.bsdf import ABSORBED, sample
from shaders.compilation import compiled as inlined
from shaders.lights import emit
from shaders.random import STREAM_EMISSION, STREAM_PHOTON, STREAM_ROUNDING, random4
from shaders.surface import leaves, local, ray_origin, surface_at, world
from shaders.vector import Color, Vec3, dot, largest, multiply, scale
from tracecore.compiled import compiled
from tracecore.rays import BATCH_RAYS, MISS, Floats, Ids

#: Photons handed to a pool of paths at a time.
RANGE_PHOTONS = 4 * BATCH_RAYS

#: Golden ratio in 32 bits: multiples of it spread evenly, so that each light gets its share of any run of photons.
GOLDEN = 2654435769

#: Bits of a key that tell the photons of one path apart.
RANK_BITS = np.uint64(16)

EMITTED, STORED, ABSORBED_COUNT, ESCAPED, TERMINATED, RAYS, COUNTERS = range(7)


class PhotonTask(NamedTuple):
    """What decides the photons. sequence: the pass. min_bounces: 1 leaves out photons straight from a light.

    flux_unit: watts of a stored flux of 1. max_bounces: a path is cut after this many surfaces.
    """

    seed: np.uint64
    sequence: int
    min_bounces: int
    max_bounces: int
    flux_unit: float


class PhotonPaths(NamedTuple):
    """Paths on their way, one row per ray. photon: (n,) uint32 index. bounce: (n,) int32. stored: (n,) int32, how often
    the path was stored. flux: (n, 3) float64, W."""

    photon: npt.NDArray[np.uint32]
    bounce: npt.NDArray[np.int32]
    stored: npt.NDArray[np.int32]
    flux: npt.NDArray[np.float64]


class PhotonStore:
    """Photons as they land, growing. `keys` says which path and how many of it before, so that order can be made."""

    def __init__(self) -> None:
        self.photons: Words = np.empty((1 << 16, WORDS), np.uint32)
        self.keys = np.empty(1 << 16, np.uint64)
        self.counters = np.zeros(COUNTERS, np.int64)

    def reserve(self, count: int) -> None:
        """Make room for `count` more."""
        stored = int(self.counters[STORED])
        if stored + count > len(self.keys):
            capacity = 2 * len(self.keys) + count
            photons, keys = np.empty((capacity, WORDS), np.uint32), np.empty(capacity, np.uint64)
            photons[:stored], keys[:stored] = self.photons[:stored], self.keys[:stored]
            self.photons, self.keys = photons, keys


@inlined
def start_photon(scene: PackedScene, task: PhotonTask, photon: int) -> tuple[Vec3, Vec3, Color]:
    """Origin, direction and flux of a photon as it is emitted."""
    u = random4(task.seed, task.sequence, photon, STREAM_EMISSION, 0)
    shift = random4(task.seed, task.sequence, 0, STREAM_EMISSION, 1)[0]
    pick = np.float64(photon * GOLDEN % 2**32) * 2.0**-32 + shift
    return emit(scene.lights, pick - 1.0 if pick >= 1.0 else pick, u)


@inlined
def set_ray(rays: Floats, row: int, origin: Vec3, direction: Vec3) -> None:
    """Write a ray without limits."""
    rays[row, 0], rays[row, 1], rays[row, 2], rays[row, 3] = origin[0], origin[1], origin[2], 0.0
    rays[row, 4], rays[row, 5], rays[row, 6], rays[row, 7] = direction[0], direction[1], direction[2], np.inf


@compiled
def advance_photons(
    scene: PackedScene,
    task: PhotonTask,
    batch: tuple[Floats, Floats, Ids],
    paths: PhotonPaths,
    active: int,
    photon_range: npt.NDArray[np.int64],
    store: tuple[Words, npt.NDArray[np.uint64], npt.NDArray[np.int64]],
) -> int:
    """Shade the hits of the first `active` rays, and fill the batch up with fresh photons.

    batch: rays, hits and prim_ids. photon_range: (2,) next photon to start and the end of the range; moved on. store:
    photons, keys and counters, with room for `active` more photons. Returns how many rays are there to trace now.
    """
    rays, hits, prim_ids = batch
    photons, keys, counters = store
    positions = photons.view(np.float32)
    kept = 0
    for i in range(active):
        triangle = prim_ids[i]
        if triangle == MISS:
            counters[ESCAPED] += 1
            continue
        photon, bounce, rank = int(paths.photon[i]), int(paths.bounce[i]), paths.stored[i]
        flux = (paths.flux[i, 0], paths.flux[i, 1], paths.flux[i, 2])
        wo = (-np.float64(rays[i, 4]), -np.float64(rays[i, 5]), -np.float64(rays[i, 6]))
        hit = surface_at(scene.surfaces, triangle, np.float64(hits[i, 1]), np.float64(hits[i, 2]), wo)

        if bounce >= task.min_bounces and largest(hit.bsdf.diffuse) > 0.0:
            slot = counters[STORED]
            rounding = random4(task.seed, task.sequence, photon, STREAM_ROUNDING, bounce)
            for axis in range(3):
                positions[slot, axis] = hit.position[axis]
            photons[slot, DIRECTION] = pack_unit(wo)
            photons[slot, NORMAL] = pack_unit(hit.geom_normal)
            photons[slot, FLUX] = pack_flux(scale(flux, 1.0 / task.flux_unit), rounding[0])
            keys[slot] = (np.uint64(photon) << RANK_BITS) | np.uint64(rank)
            counters[STORED] += 1
            rank += 1

        u = random4(task.seed, task.sequence, photon, STREAM_PHOTON, bounce)
        wo_local = local(hit, wo)
        scattered = sample(hit.bsdf, wo_local, hit.outside, True, True, (u[0], u[1], u[2]))
        direction = world(hit, scattered.wi)
        if scattered.lobe == ABSORBED or not leaves(hit, direction, scattered.wi):
            counters[ABSORBED_COUNT] += 1
            continue
        # A bent normal is not symmetric: Veach, Robust Monte Carlo Methods for Light Transport Simulation, 1997, 5.3.
        bent = abs(wo_local[2] * dot(direction, hit.geom_normal))
        flat = abs(dot(wo, hit.geom_normal) * scattered.wi[2])
        tilt = min(bent / flat, 4.0) if flat > 0.0 else 1.0
        weight = scale(multiply(flux, scattered.weight), tilt)
        survival = min(1.0, largest(weight) / largest(flux))
        if u[3] >= survival:
            counters[ABSORBED_COUNT] += 1
            continue
        if bounce + 1 >= task.max_bounces:
            counters[TERMINATED] += 1
            continue
        set_ray(rays, kept, ray_origin(hit, direction), direction)
        paths.photon[kept] = photon
        paths.bounce[kept] = bounce + 1
        paths.stored[kept] = rank
        for channel in range(3):
            paths.flux[kept, channel] = weight[channel] / survival
        kept += 1
    while kept < len(rays) and photon_range[0] < photon_range[1]:
        photon = photon_range[0]
        photon_range[0] += 1
        origin, direction, flux = start_photon(scene, task, photon)
        set_ray(rays, kept, origin, direction)
        paths.photon[kept] = photon
        paths.bounce[kept] = 0
        paths.stored[kept] = 0
        for channel in range(3):
            paths.flux[kept, channel] = flux[channel]
        counters[EMITTED] += 1
        kept += 1
    counters[RAYS] += kept
    return kept


def new_paths(capacity: int) -> PhotonPaths:
    """Room for the paths of one batch."""
    return PhotonPaths(
        photon=np.zeros(capacity, np.uint32),
        bounce=np.zeros(capacity, np.int32),
        stored=np.zeros(capacity, np.int32),
        flux=np.zeros((capacity, 3), np.float64),
    )


def photon_wave(scene: PackedScene, task: PhotonTask, lane: Lane, ranges: Iterator[range], store: PhotonStore) -> Wave:
    """Trace photons of one range after the other into a store."""
    batch = lane.batch("photons")
    paths: PhotonPaths = lane.kept("photon paths", lambda: new_paths(batch.capacity))
    arrays = (batch.rays, batch.hits, batch.prim_ids)
    photon_range = np.zeros(2, np.int64)
    active = 0
    while True:
        if photon_range[0] == photon_range[1]:
            fresh = next(ranges, None)
            if fresh is not None:
                photon_range[:] = fresh.start, fresh.stop
            elif active == 0:
                return
        store.reserve(active)
        active = advance_photons(
            scene, task, arrays, paths, active, photon_range, (store.photons, store.keys, store.counters)
        )
        if active > 0:
            yield [Request(batch, active)]


class TracedPhotons(NamedTuple):
    """stored: (n, WORDS) uint32, in order of photon index and bounce. counts: fates of the paths. rays: traced for
    them."""

    stored: Words
    counts: PhotonCounts
    rays: int


def trace_photons(scene: PackedScene, task: PhotonTask, feeder: Feeder, photons: range) -> TracedPhotons:
    """Trace the photons of these indices. What comes out depends on no thread and no size of batch."""
    stores: list[PhotonStore] = []
    # A step of a list's iterator is atomic, so that threads may share it.
    ranges = iter([photons[i : i + RANGE_PHOTONS] for i in range(0, len(photons), RANGE_PHOTONS)])

    def make_wave(lane: Lane) -> Wave:
        store = PhotonStore()
        stores.append(store)
        return photon_wave(scene, task, lane, ranges, store)

    feeder.run(make_wave)
    counters = np.sum([s.counters for s in stores], axis=0)
    counts = PhotonCounts(
        emitted=int(counters[EMITTED]),
        stored=int(counters[STORED]),
        absorbed=int(counters[ABSORBED_COUNT]),
        escaped=int(counters[ESCAPED]),
        terminated=int(counters[TERMINATED]),
    )
    return TracedPhotons(in_order(stores, photons), counts, int(counters[RAYS]))


def in_order(stores: list[PhotonStore], photons: range) -> Words:
    """All photons stored, (n, WORDS), in order of path and bounce, whichever store they are in."""
    ends = np.zeros(len(photons) + 1, np.int64)
    for store in stores:
        count_paths(store.keys[: store.counters[STORED]], photons.start, ends)
    starts = np.concatenate([[0], np.cumsum(ends)[:-1]])
    ordered = np.empty((int(ends.sum()), WORDS), np.uint32)
    for store in stores:
        place_photons(store.photons, store.keys[: store.counters[STORED]], photons.start, starts, ordered)
    return ordered


@compiled
def count_paths(keys: npt.NDArray[np.uint64], first: int, counts: npt.NDArray[np.int64]) -> None:
    """Add to counts[p] the number of photons of path first + p."""
    for key in keys:
        counts[np.int64(key >> RANK_BITS) - first] += 1


@compiled
def place_photons(
    photons: Words, keys: npt.NDArray[np.uint64], first: int, starts: npt.NDArray[np.int64], ordered: Words
) -> None:
    """Copy each photon to where its path starts, plus its rank in the path."""
    for i in range(len(keys)):
        rank = np.int64(keys[i] & ((np.uint64(1) << RANK_BITS) - np.uint64(1)))
        place = starts[np.int64(keys[i] >> RANK_BITS) - first] + rank
        for word in range(WORDS):
            ordered[place, word] = photons[i, word]
