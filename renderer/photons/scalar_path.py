"""Photons on surfaces that loops over columns know nothing of: hit by hit, by the functions that eye paths call.

Microfacets, coats, maps beside the diffuse one and shaders of the user's own are few of most scenes'
hits, and what they take is not worth a loop of its own. Photons look at the finest images of textures.
"""

import numpy as np
from numba import types

from renderer.photons.batch import PHOTON_LOBE_DIFFUSE, PHOTON_LOBE_GLASS, PHOTON_LOBE_MIRROR, Chunk
from renderer.photons.chunk_views import DIRECTED
from renderer.photons.photon_map import pack_flux
from renderer.scene.photon_scene import SCALAR_SURFACES
from renderer.simd.columns import column, put, set_column
from shaders.bsdf import LOBE_SPECULAR, entering_share, sample
from shaders.float32 import Float32, Int
from shaders.random import unit32
from shaders.surface import Hit, SurfaceArrays, local, surface_at, world
from shaders.vector import Color, Vec3, multiply, scale
from tracecore.compilation.cached import compiled
from tracecore.compilation.units import unit


@unit(types.none, need=SCALAR_SURFACES)
def scatter_scalar(surfaces: SurfaceArrays, chunk: Chunk, count: int, fluxes: int, is_corrected: bool) -> None:
    """Scatter photons at the first `count` indices of the list `chunk.scalar`, and say what those stored there carry.

    fluxes: address of the column of packed fluxes of the photons that wait, those of the chunk first.
    is_corrected: whether what they carry counts about the shading normal (`PhotonTask`).
    """
    for k in range(count):
        i = chunk.scalar[k]
        wo = scale(in_double(column(chunk.ray, i)), -1.0)
        hit = surface_at(surfaces, chunk.triangle[i], np.float64(chunk.uv[0, i]), np.float64(chunk.uv[1, i]), wo)
        entering = entering_share(hit.bsdf, local(hit, wo))
        put(fluxes, i, carried(i, scale(entering, hit.correction if is_corrected else 1.0), chunk))
        scatter_photon(i, hit, wo, chunk)


@compiled
def carried(i: int, share: Color, chunk: Chunk) -> np.uint32:
    """Returns the share of a photon's flux that is stored, packed."""
    flux = multiply(column(chunk.flux, i), in_single(share))
    return np.uint32(pack_flux(flux, unit32(chunk.bits[3, i])))


@compiled
def scatter_photon(i: int, hit: Hit, wo: Vec3, chunk: Chunk) -> None:
    """Scatter one photon."""
    wo_local = local(hit, wo)
    u = (chunk.draws[0, i], unit32(chunk.bits[0, i]), unit32(chunk.bits[1, i]))
    scattered = sample(hit.bsdf, wo_local, hit.outside, True, True, in_double(u))
    set_column(chunk.shading, i, in_single(hit.shading_normal))
    set_column(chunk.wi, i, in_single(world(hit, scattered.wi)))
    chunk.is_directed[i] = DIRECTED
    sharp = PHOTON_LOBE_GLASS if scattered.wi[2] < 0.0 else PHOTON_LOBE_MIRROR
    chunk.lobe[i] = Int(sharp) if scattered.lobe == LOBE_SPECULAR else Int(PHOTON_LOBE_DIFFUSE)
    set_column(chunk.weight, i, in_single(scattered.weight))


@compiled
def in_double(vector: Vec3) -> Vec3:
    """Returns a vector in float64, which eye paths are shaded in."""
    return (np.float64(vector[0]), np.float64(vector[1]), np.float64(vector[2]))


@compiled
def in_single(vector: Vec3) -> Vec3:
    """Returns a vector in float32."""
    return (Float32(vector[0]), Float32(vector[1]), Float32(vector[2]))
