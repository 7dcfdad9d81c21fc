"""The loop of photons over the hits of one BSDF: what they leave there, and where they go on."""

from typing import NamedTuple

import numba
import numpy as np
from numba import types

from renderer.photons.batch import HIT_COLUMNS, PHOTON_LOBE_DIFFUSE, PHOTON_LOBE_GLASS, PHOTON_LOBE_MIRROR, Chunk
from renderer.photons.chunk_views import DIRECTED
from renderer.photons.photon_map import pack_flux
from renderer.scene.materials import BsdfTable
from renderer.shading.listed import (
    PHOTON_AT_POINT,
    PHOTONS,
    frame_at,
    listed_at,
    make_shaders_ready,
    parameters_at,
    scattered,
    seen_at,
)
from renderer.simd.bsdf_kinds import BsdfKind, entering, make_ready
from renderer.simd.columns import COLUMN_BYTES, column, each, get, get_word, put, set_column, whole
from shaders.bsdfs.bsdf import LOBE_NONE, LOBE_SHARP
from shaders.compilation import compiled as inlined
from shaders.float32 import ONE, ZERO, Int
from shaders.random import unit32
from shaders.shading_normals import shading_normal_correction
from shaders.vector import dot, multiply, scale, to_world
from tracecore.compilation.units import unit
from tracecore.compilation.vector import address


class Landed(NamedTuple):
    """What the loop works on. For the fields see `scatter_photons`."""

    kind: BsdfKind
    chunk: Chunk
    fluxes: int
    is_corrected: bool
    tables: int


@unit(types.none)
def scatter_photons(kind: BsdfKind, chunk: Chunk, count: int, fluxes: int, is_corrected: bool, tables: int) -> None:
    """Scatter the photons of the first `count` hits of the list, and say what those carry that are stored.

    fluxes: address of the column of packed fluxes of the photons that wait, those of the chunk first.
    is_corrected: whether what they carry counts about the shading normal (`PhotonTask`).
    tables: see `Seen`.
    """
    each(scatter_photon, whole(count), Landed(kind, chunk, fluxes, is_corrected, tables))


@inlined
def scatter_photon(k: int, data: Landed) -> None:
    """Scatter a photon."""
    kind, chunk, tables = data.kind, data.chunk, data.tables
    i = listed_at(k, chunk)
    own, flux, bits = frame_at(kind, i, chunk), column(chunk.flux, i), address(chunk.bits)
    parameters, seen = parameters_at(kind, i, chunk), seen_at(i, own, chunk, flux, ONE, tables)
    share = shading_normal_correction(seen.wo[2], -dot(column(chunk.ray, i), column(chunk.normal, i)))
    arrived = scale(multiply(flux, entering(kind, parameters, seen.wo)), share if data.is_corrected else ONE)
    put(data.fluxes, i, np.uint32(pack_flux(arrived, unit32(get_word(bits + 3 * COLUMN_BYTES, i)))))
    u = (get(address(chunk.draws), i), unit32(get_word(bits, i)), unit32(get_word(bits + COLUMN_BYTES, i)))
    ahead = scattered(kind, parameters, seen, u)
    lobe = Int(PHOTON_LOBE_GLASS) if ahead.wi[2] < ZERO else Int(PHOTON_LOBE_MIRROR)
    put(address(chunk.lobe), i, lobe if ahead.lobe == LOBE_SHARP else Int(PHOTON_LOBE_DIFFUSE))
    put(address(chunk.is_directed), i, DIRECTED)
    set_column(chunk.wi, i, to_world(ahead.wi, own.tangent, own.bitangent, own.normal))
    set_column(chunk.weight, i, scale(ahead.weight, ZERO if ahead.lobe == LOBE_NONE else ONE))


def make_photons_ready(table: BsdfTable) -> None:
    """Has the loops of the BSDFs of a scene be there, before photons call them."""
    chunk = numba.from_dtype(HIT_COLUMNS)
    arguments = (chunk, types.int64, types.int64, types.boolean, types.int64)
    make_ready(table.bsdfs, {PHOTONS: (scatter_photons, arguments)})
    make_shaders_ready(table, PHOTON_AT_POINT, chunk)
