"""This module packs the maps of materials: what loops over hits read to know which pictures to look at, and what to do
with them."""

from typing import NamedTuple

import numpy as np

from renderer.scene.photon_scene import Record, Records
from scenes.model import Material
from shaders.bsdfs.bsdf import Bsdf, Use, sizes_of
from shaders.errors import ShaderError
from shaders.float32 import Int
from shaders.textures import MIP, TEXTURE_FILTER, TextureArrays
from tracecore.rays import Floats

#: What a material's pictures multiply: so many numbers from `first` on of those that its BSDF has, with a channel of
#: the picture, MEAN, or BY_CHANNEL for colours: red, green, blue and again. image: index of the texture, or -1.
#: is_squared: whether with the square of that.
USE = np.dtype([("image", "<i4"), ("first", "<i4"), ("count", "<i4"), ("channel", "<i4"), ("is_squared", "<i4")])
BY_CHANNEL = Int(-2)

#: Uses that a material may have, and numbers of one use.
MOST_USES, MOST_MULTIPLIED = 4, 6

#: The maps of a material. normal_map, bump_map: indices of textures, or -1. is_mirroring: whether a bent normal must
#: not send mirrored directions into the surface. has_tangent: see `shaders.bsdfs.bsdf.Bsdf`.
MAPS = np.dtype(
    [
        ("uses", USE, MOST_USES),
        ("normal_map", "<i4"),
        ("normal_scale", "<f4"),
        ("bump_map", "<i4"),
        ("bump_scale", "<f4"),
        ("is_mirroring", "<i4"),
        ("has_tangent", "<i4"),
    ]
)

#: The record of a material without any.
NO_MAPS = np.zeros((), MAPS)
NO_MAPS["uses"]["image"], NO_MAPS["normal_map"], NO_MAPS["bump_map"] = -1, -1, -1

#: Units of compiled code that only scenes call where some material has maps are for this.
MAPPED_SURFACES = "mapped surfaces"

#: What maps of a scene ask for. FILTERED: some image is blended with a coarser one. WIDE: some picture multiplies more
#: than three numbers. NORMALS, BUMPS: there are such maps. ORIENTED: some BSDF asks for a tangent.
FILTERED, WIDE, NORMALS, BUMPS, ORIENTED = (np.uint32(1 << bit) for bit in range(5))


class MapRecords(NamedTuple):
    """Holds the maps of a scene's materials.

    records: (m,) MAPS.
    has_any: whether some material has any, or a function that looks at points.
    flags: FILTERED and others.
    uses: the most that one material has.
    heights: (n,) float32, the mean over the channels of each texel, where there are bump maps; else empty.
    """

    records: Records
    has_any: bool
    flags: np.uint32
    uses: int
    heights: Floats


def pack_maps(records: Records, has_any: bool, textures: TextureArrays) -> MapRecords:
    """Returns the maps of materials, whose records `maps_of` has made. has_any: see `MapRecords`."""
    uses, normals, bumps = records["uses"]["image"], records["normal_map"], records["bump_map"]
    images = np.concatenate([uses.ravel(), normals, bumps])
    filters = textures.table[images[images >= 0], TEXTURE_FILTER]
    flags = (
        np.where(np.any(filters == MIP), FILTERED, 0)
        | np.where(np.any(records["uses"]["count"] > 3), WIDE, 0)
        | np.where(np.any(normals >= 0), NORMALS, 0)
        | np.where(np.any(bumps >= 0), BUMPS, 0)
        | np.where(np.any(records["has_tangent"]), ORIENTED, 0)
    )
    heights = textures.texels.mean(axis=1) if flags & BUMPS else np.zeros(0, np.float32)
    return MapRecords(records, has_any, np.uint32(flags), int((uses >= 0).sum(axis=1).max(initial=0)), heights)


def maps_of(material: Material, bsdf: Bsdf) -> Record:
    """Returns the record MAPS of a material.

    Raises `ShaderError` where its pictures multiply more than a record has room for.
    """
    record = np.zeros(1, MAPS)[0]
    record["uses"]["image"] = -1
    uses = uses_of(material, bsdf)
    if len(uses) > MOST_USES:
        raise ShaderError(
            f"material {material.name!r}: pictures multiply {len(uses)} groups of numbers of bsdf {bsdf.name!r}, at "
            f"most {MOST_USES} can be; leave out a picture"
        )
    for index, use in enumerate(uses):
        record["uses"][index] = use
    record["normal_map"], record["normal_scale"] = material.normal_map, material.normal_scale
    record["bump_map"], record["bump_scale"] = material.bump_map, material.bump_scale
    record["is_mirroring"], record["has_tangent"] = bsdf.is_mirroring, bsdf.has_tangent
    return record


def uses_of(material: Material, bsdf: Bsdf) -> list[tuple[int, int, int, int, bool]]:
    """Returns what the pictures of a material multiply, as USE has it. Neighbours that are multiplied alike are one."""
    numbers, first = {}, 0
    for name, size in sizes_of(bsdf.parameters).items():
        numbers[name] = (first, size)
        first += size
    found: list[tuple[int, int, int, int, bool]] = []
    for picture, image in material.pictures.items():
        for use in bsdf.maps.get(picture, ()):
            _add_use(found, image, numbers[use.parameter], use)
    return found


def _add_use(found: list[tuple[int, int, int, int, bool]], image: int, numbers: tuple[int, int], use: Use) -> None:
    """Adds a use of an image to others. numbers: index of the first one that is multiplied, and how many they are."""
    first, count = numbers
    how = (int(BY_CHANNEL) if count > 1 else use.channel, use.is_squared)
    if found:
        last_image, last_first, last_count, *last_how = found[-1]
        follows = (image, first, *how) == (last_image, last_first + last_count, *last_how)
        if follows and last_count + count <= MOST_MULTIPLIED:
            found[-1] = (image, last_first, last_count + count, *how)
            return
    found.append((image, first, count, *how))
