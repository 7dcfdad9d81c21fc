"""Photons at 24 bytes each, and the uniform grid that finds those near a point.

A photon keeps where it landed, where it came from, the side of the surface, and its flux. Directions are octahedral
maps of 16 bits a coordinate (Meyer, Suessmuth, Sussner, Stamminger, Greiner: On Floating-Point Normal Vectors, 2010);
the flux shares one exponent (Ward: Real Pixels, 1991, with nine bits of mantissa). The flux is rounded up or down at
random, so that the sum over many photons has no bias.
"""

import math
import zipfile
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from renderer.errors import PhotonFileError, RenderError
from shaders.compilation import compiled as inlined
from shaders.elementary import binary_exponent, power_of_two
from shaders.float32 import Float32, Int
from shaders.fma import fma
from shaders.octahedral import pack_unit, unpack_direction, unpack_unit
from shaders.shading_normals import shading_normal_correction
from shaders.vector import Color, Vec3
from tracecore.compilation.cached import compiled

#: One photon. direction points back to where it came from; normal is the flat one of its surface, on that side.
PHOTON = np.dtype([("position", "<f4", 3), ("direction", "<u4"), ("normal", "<u4"), ("flux", "<u4")])

#: Words of 32 bits in a photon, which loops see as rows of uint32.
PHOTON_WORDS = PHOTON.itemsize // 4
PHOTON_DIRECTION, PHOTON_NORMAL, PHOTON_FLUX = 3, 4, 5

#: The grid never has more cells than this; larger cells take over.
MAX_CELLS = 1 << 22

#: Nor does it hold more photons than this.
MAX_PHOTONS = (1 << 31) - 1

#: A photon counts for a point if it lies within this share of the radius from its tangent plane ...
DISC_THICKNESS = 0.25
#: ... and if the surfaces' normals are closer than this cosine.
NORMAL_COSINE = 0.6

_EXPONENT_BIAS = 24
_MANTISSA = 512
_MANTISSA_BITS, _STEP = Int(9), Int(1)
_LEAST_EXPONENT, _MOST_EXPONENT = Int(-_EXPONENT_BIAS), Int(31 - _EXPONENT_BIAS)
_FLUX_BIAS = Int(_EXPONENT_BIAS + 9)
_MOST_STEPS, _LEAST_FLUX = Float32(_MANTISSA - 1), Float32(2.0**-40)

Words = npt.NDArray[np.uint32]


@inlined
def pack_flux(flux: Color, u: float) -> np.uint32:
    """Returns three channels in 0..2^7 in 32 bits, rounded by the uniform number u so that the mean is right."""
    red, green, blue = Float32(flux[0]), Float32(flux[1]), Float32(flux[2])
    top = max(red, green, blue)
    exponent = min(max(binary_exponent(top), _LEAST_EXPONENT), _MOST_EXPONENT)
    # Where rounding up might need a tenth bit, whatever u: a step that u chose would leave the other channels biased.
    carries = top * power_of_two(_MANTISSA_BITS - exponent) > _MOST_STEPS and exponent < _MOST_EXPONENT
    exponent = exponent + _STEP if carries else exponent
    per_step = power_of_two(_MANTISSA_BITS - exponent)
    packed = (
        np.uint32(exponent - _LEAST_EXPONENT) << np.uint32(27)
        | _flux_step(fma(blue, per_step, Float32(u))) << np.uint32(18)
        | _flux_step(fma(green, per_step, Float32(u))) << np.uint32(9)
        | _flux_step(fma(red, per_step, Float32(u)))
    )
    return packed if top > _LEAST_FLUX else np.uint32(0)


@inlined
def _flux_step(steps: float) -> np.uint32:
    """Returns whole steps, no more than there are."""
    return np.uint32(np.int32(min(steps, _MOST_STEPS)))


@inlined
def unpack_flux(packed: np.uint32) -> Color:
    """Returns the three channels of a packed flux."""
    step = np.float64(power_of_two(Int(packed >> np.uint32(27)) - _FLUX_BIAS))
    mask = np.uint32(_MANTISSA - 1)
    return (
        np.float64(packed & mask) * step,
        np.float64((packed >> np.uint32(9)) & mask) * step,
        np.float64((packed >> np.uint32(18)) & mask) * step,
    )


class PhotonMap(NamedTuple):
    """Photons sorted by grid cell, x fastest.

    photons: (n, PHOTON_WORDS) uint32.
    positions: the same bytes as (n, PHOTON_WORDS) float32.
    starts: (cells + 2,) int32, the photons of cell c are starts[c] : starts[c + 1].
    low: (3,) float64, corner of the grid, world units.
    shape: how many cells there are along x, y and z.
    cell: edge of a cell, world units.
    scale: what a stored flux is multiplied with to be watts.
    """

    photons: Words
    positions: npt.NDArray[np.float32]
    starts: npt.NDArray[np.int32]
    low: npt.NDArray[np.float64]
    shape: tuple[int, int, int]
    cell: float
    scale: float


class Found(NamedTuple):
    """Photons that a search has found.

    flux: sum of what they bring, in the unit of the map.
    photons: how many they are.
    """

    flux: Color
    photons: int


def grid_shape(
    low: npt.NDArray[np.float64], high: npt.NDArray[np.float64], cell: float
) -> tuple[float, npt.NDArray[np.int64]]:
    """Returns the edge of a cell and how many cells lie along each axis, which are no more than MAX_CELLS in all.

    The edge grows until that is so.

    low, high: (3,) float64, corners of the box that the cells cover, world units.
    cell: the least edge, world units.
    """
    while True:
        cells = np.floor((high - low) / cell) + 1.0
        if cells.prod() <= MAX_CELLS:
            return cell, cells.astype(np.int64)
        cell *= 1.26


def build_photon_map(photons: Words, radius: float, scale: float) -> PhotonMap:
    """Sort photons (n, PHOTON_WORDS) for searches of `radius`. Photons of a cell keep their order.

    Raises `RenderError` where there are too many to be counted in 31 bits.
    """
    if len(photons) > MAX_PHOTONS:
        raise RenderError(f"a photon map holds {MAX_PHOTONS} photons at most, got {len(photons)}; ask for fewer")
    positions = photons.view(np.float32)[:, :3]
    low = positions.min(axis=0).astype(np.float64) if len(photons) else np.zeros(3)
    high = positions.max(axis=0).astype(np.float64) if len(photons) else np.zeros(3)
    cell, shape = grid_shape(low, high, radius)
    ordered, starts = sort_by_cell(np.ascontiguousarray(photons), low, shape, cell)
    return PhotonMap(
        photons=ordered,
        positions=ordered.view(np.float32),
        starts=starts,
        low=low,
        shape=(int(shape[0]), int(shape[1]), int(shape[2])),
        cell=cell,
        scale=scale,
    )


@inlined
def cell_coordinate(value: float, low: float, cell: float, count: int) -> int:
    """Returns the index of the cell along one axis, inside the grid."""
    return min(max(math.floor((value - low) / cell), 0), count - 1)


@compiled
def sort_by_cell(
    photons: Words, low: npt.NDArray[np.float64], shape: npt.NDArray[np.int64], cell: float
) -> tuple[Words, npt.NDArray[np.int32]]:
    """Sort photons by cell, by a stable counting sort. Returns the sorted photons and where each cell starts.

    Photons are counted two cells on; then the sum one cell on says where the next photon of a cell goes, and in the end
    where the next cell starts.
    """
    count = len(photons)
    positions = photons.view(np.float32)
    cells = np.empty(count, np.int32)
    starts = np.zeros(shape[0] * shape[1] * shape[2] + 2, np.int32)
    for i in range(count):
        x = cell_coordinate(np.float64(positions[i, 0]), low[0], cell, shape[0])
        y = cell_coordinate(np.float64(positions[i, 1]), low[1], cell, shape[1])
        z = cell_coordinate(np.float64(positions[i, 2]), low[2], cell, shape[2])
        cells[i] = (z * shape[1] + y) * shape[0] + x
        starts[cells[i] + 2] += 1
    for c in range(2, len(starts)):
        starts[c] += starts[c - 1]
    ordered = np.empty_like(photons)
    for i in range(count):
        index = starts[cells[i] + 1]
        starts[cells[i] + 1] += 1
        for word in range(PHOTON_WORDS):
            ordered[index, word] = photons[i, word]
    return ordered, starts


@inlined
def gather(photon_map: PhotonMap, point: Vec3, geom_normal: Vec3, shading_normal: Vec3, radius: float) -> Color:
    """Returns the flux per area in W/m^2 that photons bring to the side of a surface that its normals point to.

    Jensen: Realistic Image Synthesis Using Photon Mapping, 2001: photons in a disc on the tangent plane, over its area.
    """
    return irradiance(photon_map, find(photon_map, point, geom_normal, shading_normal, radius), radius)


@inlined
def irradiance(photon_map: PhotonMap, found: Found, radius: float) -> Color:
    """Returns the flux per area in W/m^2 of what was found within a radius."""
    per_area = photon_map.scale / (math.pi * (radius * radius))
    return (found.flux[0] * per_area, found.flux[1] * per_area, found.flux[2] * per_area)


@inlined
def find(photon_map: PhotonMap, point: Vec3, geom_normal: Vec3, shading_normal: Vec3, radius: float) -> Found:
    """Returns the photons in a disc on the tangent plane, on the side of a surface that its normals point to."""
    total_r, total_g, total_b, count = 0.0, 0.0, 0.0, 0
    width, height, depth = photon_map.shape
    low, cell = photon_map.low, photon_map.cell
    for axis in range(3):  # a point far from all photons has none near
        extent = photon_map.shape[axis] * cell
        if point[axis] + radius < low[axis] or point[axis] - radius > low[axis] + extent:
            return Found((0.0, 0.0, 0.0), 0)
    x0 = cell_coordinate(point[0] - radius, low[0], cell, width)
    x1 = cell_coordinate(point[0] + radius, low[0], cell, width)
    y0 = cell_coordinate(point[1] - radius, low[1], cell, height)
    y1 = cell_coordinate(point[1] + radius, low[1], cell, height)
    z0 = cell_coordinate(point[2] - radius, low[2], cell, depth)
    z1 = cell_coordinate(point[2] + radius, low[2], cell, depth)
    radius2, thickness = radius * radius, DISC_THICKNESS * radius
    is_bent = geom_normal != shading_normal
    # Most photons near have the same normal: it is unpacked where it changes.
    last_normal = pack_unit(geom_normal)
    faces = alike(last_normal, geom_normal)
    for z in range(z0, z1 + 1):
        for y in range(y0, y1 + 1):
            row = (z * height + y) * width
            for i in range(photon_map.starts[row + x0], photon_map.starts[row + x1 + 1]):
                dx = np.float64(photon_map.positions[i, 0]) - point[0]
                dy = np.float64(photon_map.positions[i, 1]) - point[1]
                dz = np.float64(photon_map.positions[i, 2]) - point[2]
                if dx * dx + dy * dy + dz * dz > radius2:
                    continue
                if abs(dx * geom_normal[0] + dy * geom_normal[1] + dz * geom_normal[2]) > thickness:
                    continue
                normal = photon_map.photons[i, PHOTON_NORMAL]
                if normal != last_normal:
                    last_normal, faces = normal, alike(normal, geom_normal)
                if not faces:
                    continue
                packed = photon_map.photons[i, PHOTON_DIRECTION]
                wi = unpack_unit(packed) if is_bent else unpack_direction(packed)  # flat: the sign alone counts
                flat = wi[0] * geom_normal[0] + wi[1] * geom_normal[1] + wi[2] * geom_normal[2]
                bent = wi[0] * shading_normal[0] + wi[1] * shading_normal[1] + wi[2] * shading_normal[2]
                if flat <= 0.0 or bent <= 0.0:
                    continue
                # The flux was counted on the flat triangle; shading sees it about the bent normal.
                correction = shading_normal_correction(bent, flat) if is_bent else 1.0
                flux = unpack_flux(photon_map.photons[i, PHOTON_FLUX])
                total_r += flux[0] * correction
                total_g += flux[1] * correction
                total_b += flux[2] * correction
                count += 1
    return Found((total_r, total_g, total_b), count)


@inlined
def alike(packed: np.uint32, geom_normal: Vec3) -> bool:
    """Returns whether the surface with a packed normal counts as the one that is looked at."""
    normal = unpack_unit(packed)
    cosine = normal[0] * geom_normal[0] + normal[1] * geom_normal[1] + normal[2] * geom_normal[2]
    return cosine >= NORMAL_COSINE


def total_flux(photons: Words) -> npt.NDArray[np.float64]:
    """Returns the sum of the stored flux, in its unit: (3,) float64."""
    packed = np.ascontiguousarray(photons[:, PHOTON_FLUX])
    step = np.ldexp(1.0, (packed >> 27).astype(np.int64) - _EXPONENT_BIAS - 9)
    channels = [((packed >> (9 * c)) & (_MANTISSA - 1)) * step for c in range(3)]
    return np.array([channel.sum() for channel in channels])


def save_photons(path: Path, photons: Words, scale: float) -> None:
    """Write photons to a NumPy archive: `photons` as PHOTON records, and `scale`.

    photons: (n, PHOTON_WORDS) uint32.
    scale: watts per unit of flux.
    """
    with path.open("wb") as file:
        np.savez(file, photons=photons.view(PHOTON).reshape(len(photons)), scale=np.float64(scale))


def load_photons(path: Path) -> tuple[Words, float]:
    """Returns photons (n, PHOTON_WORDS) and their scale from a file that `save_photons` wrote.

    Raises `PhotonFileError` where it is no such file.
    """
    try:
        with np.load(path, allow_pickle=False) as archive:
            photons, scale = archive["photons"], float(archive["scale"])
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise PhotonFileError(f"{path}: not a photon file ({error})") from error
    if photons.dtype != PHOTON or photons.ndim != 1:
        raise PhotonFileError(f"{path}: expected photons of {PHOTON.itemsize} bytes, got {photons.dtype}")
    return photons.view(np.uint32).reshape(len(photons), PHOTON_WORDS), scale
