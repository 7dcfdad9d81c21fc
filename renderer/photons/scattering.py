"""The loop of photons over the hits of one BSDF: what they leave there, and whether and where they go on."""

# Numba's interface for extensions carries no types.
# mypy: disable-error-code="no-untyped-call"

from functools import cache
from typing import Any, NamedTuple

import numba
import numpy as np
from numba import types

from renderer.photons.batch import HIT_COLUMNS, Chunk, bounces_of, depth_after
from renderer.photons.photon_map import SURFACES_LEFT, pack_flux
from renderer.scene.materials import BsdfTable
from renderer.scene.photon_scene import IN_MEDIUM, STORES
from renderer.shading.scattering import (
    PHOTON_AT_POINT,
    PHOTONS,
    frame_at,
    make_shaders_ready,
    next_origin,
    parameters_at,
    roulette,
    scattered,
    seen_at,
)
from renderer.simd.bsdf_kinds import BsdfKind, entering, has_bent_normals, is_of_media, make_ready
from renderer.simd.columns import column, column_bytes, get3, put, put3, set_column
from renderer.simd.loops import each, whole
from shaders.bsdfs.bsdf import LOBE_NONE, LOBE_SHARP
from shaders.float32 import ONE, ZERO, Int
from shaders.octahedral import pack_unit
from shaders.random import Bits4, unit32
from shaders.shading_normals import shading_normal_correction
from shaders.vector import Vec3, chosen, dot, multiply, scale
from tracecore.compilation.cached import inlined
from tracecore.compilation.units import unit

#: Nothing, float32.
BLACK32: Vec3 = (ZERO, ZERO, ZERO)

#: Fates of a hit: whether a photon was stored, and what ended the path. A byte for each, so that all are added up at
#: once for a chunk, which has less than 256 hits.
FATE_BITS, FATE_MASK = np.uint32(8), np.uint32(0xFF)
FATES = np.uint32(0xFFFFFF00)
ONE_STORED, ONE_ABSORBED, ONE_TERMINATED, NO_FATE = (np.uint32(t) for t in (1, 1 << 8, 1 << 16, 0))


class PhotonLimits(NamedTuple):
    """The limits of a task, as a loop compares with them. key: of its random numbers. stores: the bit of records that
    says where photons are kept. volume_share: of those in media that are."""

    min_bounces: np.int32
    max_bounces: np.int32
    key: Bits4
    only_caustics: bool
    is_corrected: bool
    stores: np.uint32
    volume_share: float


class Landing(NamedTuple):
    """What loops over hits work on."""

    limits: PhotonLimits  # of the task
    photons: int  # where photons wait, in columns `step` bytes apart
    step: int
    before: int  # address of the flux that paths had before their rays
    tables: int  # address of what was measured of BSDFs (`shaders.bsdfs.bsdf.Seen`)


class Landed(NamedTuple):
    """What the loop works on."""

    kind: BsdfKind
    chunk: Chunk
    landing: Landing


@unit(types.none)
def scatter_photons(kind: BsdfKind, chunk: Chunk, count: int, landing: Landing) -> None:
    """Store the photons of the first `count` hits, and scatter them."""
    each(scatter_photon, whole(count), Landed(kind, chunk, landing))


@inlined
def scatter_photon(i: int, data: Landed) -> None:
    """Write the photon of a hit, whether it stays or not, and direction, flux and next origin of its path."""
    kind, chunk, limits = data.kind, data.chunk, data.landing.limits
    flux, depth, ray, flat = column(chunk.flux, i), chunk.depth[i], column(chunk.ray, i), column(chunk.normal, i)
    own, bits = frame_at(kind, i, chunk), (chunk.bits[0, i], chunk.bits[1, i], chunk.bits[2, i], chunk.bits[3, i])
    parameters, seen = parameters_at(kind, i, chunk), seen_at(i, own, chunk, flux, ONE, data.landing.tables)
    arrived = multiply(flux, entering(kind, parameters, seen.wo))
    if has_bent_normals(kind):
        arrived = scale(arrived, chunk.correction[i] if limits.is_corrected else ONE)
    put_photon(i, bounces_of(depth), pack_flux(arrived, unit32(bits[3])), chunk, data.landing)
    ahead = scattered(kind, parameters, seen, own, ray, (chunk.draws[0, i], unit32(bits[0]), unit32(bits[1])))
    wi, weight = ahead.wi, ahead.weight
    is_lost = (ahead.lobe == LOBE_NONE) | (limits.only_caustics & (ahead.lobe != LOBE_SHARP))
    if has_bent_normals(kind):
        # A bent normal is not symmetric: Veach, Robust Monte Carlo Methods for Light Transport Simulation, 1997, 5.3.
        is_lost |= (dot(wi, flat) > ZERO) != (dot(wi, own.normal) > ZERO)
        above, below = abs(dot(ray, own.normal) * dot(wi, flat)), abs(dot(ray, flat) * dot(wi, own.normal))
        weight = scale(weight, shading_normal_correction(above, below))
    ahead_depth = depth_after(depth, ahead.is_straight)
    is_cut = bool(bounces_of(ahead_depth) >= limits.max_bounces)
    left, had = chosen(is_lost, BLACK32, multiply(flux, weight)), get3(data.landing.before, column_bytes(), i)
    goes, gain = roulette(power_of(left), power_of(had), unit32(bits[2]))
    fate = (ONE_TERMINATED if is_cut else NO_FATE) if goes else ONE_ABSORBED
    stores = ((chunk.kind[i] & limits.stores) != 0) & (bounces_of(depth) >= limits.min_bounces)
    if is_of_media(kind):
        stores &= chunk.draws[1, i] < limits.volume_share
    chunk.counters[i] = (ONE_STORED if stores else NO_FATE) + fate
    chunk.depth[i] = ahead_depth
    set_column(chunk.flux, i, scale(left, gain))
    set_column(chunk.wi, i, wi)
    set_column(chunk.position, i, next_origin(i, wi, chunk))


@inlined
def stored_on(volume_share: float) -> np.uint32:
    """Returns the bit of records on which a task keeps photons (`PhotonTask.volume_share`)."""
    return IN_MEDIUM if volume_share > 0.0 else STORES


@inlined
def put_photon(i: int, bounces: int, flux: np.uint32, chunk: Chunk, landing: Landing) -> None:
    """Write the photon of a hit, whether it stays or not.
    bounces: surfaces that its path has met before. flux: packed."""
    word = landing.photons + 3 * landing.step
    left = min(Int(landing.limits.max_bounces - bounces - Int(1)), Int(SURFACES_LEFT))
    normal = np.uint32((chunk.packed_front[i] & ~SURFACES_LEFT) | np.uint32(left))
    put3(landing.photons, landing.step, i, column(chunk.position, i))
    put(word, i, np.uint32(pack_unit(scale(column(chunk.ray, i), -ONE))))
    put(word + landing.step, i, normal)
    put(word + 2 * landing.step, i, np.uint32(flux))
    put(word + 3 * landing.step, i, chunk.photon[i])


@inlined
def power_of(flux: Vec3) -> float:
    """Returns the sum of a flux over its channels."""
    return flux[0] + flux[1] + flux[2]


def make_photons_ready(table: BsdfTable) -> None:
    """Has the loops of the BSDFs of a scene be there, before photons call them."""
    arguments = loop_arguments(HIT_COLUMNS)
    make_ready(table.bsdfs, {PHOTONS: (scatter_photons, arguments)})
    make_shaders_ready(table, PHOTON_AT_POINT, arguments[0])


@cache
def loop_arguments(columns: np.dtype[Any]) -> tuple[Any, ...]:
    """Returns Numba's types of the arguments of `scatter_photons` but for the kind, which it takes milliseconds to
    find. columns: of a chunk."""
    zero = np.uint32(0)
    key: Bits4 = (zero, zero, zero, zero)
    landing = Landing(PhotonLimits(np.int32(0), np.int32(0), key, False, False, STORES, ZERO), 0, 0, 0, 0)
    return numba.from_dtype(columns), types.int64, numba.typeof(landing)
