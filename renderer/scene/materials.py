"""This module packs materials: numbers that loops gather for each hit, bits that say which loops shade it, and maps:
which pictures loops look at, and what they do with them.

Hits are shaded BSDF by BSDF, by loops that are compiled for each (`renderer.simd.bsdf_kinds`). A material takes the
simplest BSDF that means the same.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from renderer.scene.photon_scene import (
    BENT,
    GLOWS,
    IN_MEDIUM,
    MAPPED,
    MATERIAL_MASK,
    MIXED,
    SHEET,
    SIDE_MASK,
    STORES,
    TEXTURED,
    Longs,
    Record,
    Records,
)
from renderer.simd.bsdf_kinds import ADDRESSES, number_of
from scenes.model import Material, Texture
from shaders.bsdfs.bsdf import BENT_NORMALS, MOST_NUMBERS, Bsdf, Use, sizes_of
from shaders.bsdfs.phase import BSDF as PHASE
from shaders.custom import shader_address
from shaders.errors import ShaderError
from shaders.float32 import Int
from shaders.registry import get_shader
from shaders.surface import MATERIAL
from shaders.textures import MIP, TEXTURE_FILTER, TextureArrays
from shaders.vector import BLACK, Color
from tracecore.arrays import pieces
from tracecore.compilation.unit_calls import need
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
    uses: list[tuple[int, int, int, int, bool]] = []
    for picture, image in material.pictures.items():
        for multiplied in bsdf.maps.get(picture, ()):
            _add_use(uses, image, _place_of(multiplied.parameter, bsdf), multiplied)
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


def _place_of(parameter: str, bsdf: Bsdf) -> tuple[int, int]:
    """Returns the index of the first number of a parameter of a BSDF, and how many it has."""
    sizes = sizes_of(bsdf.parameters)
    names = list(sizes)
    return sum(sizes[name] for name in names[: names.index(parameter)]), sizes[parameter]


def _add_use(found: list[tuple[int, int, int, int, bool]], image: int, numbers: tuple[int, int], use: Use) -> None:
    """Adds a use of an image to others, as USE has them; neighbours that are multiplied alike are one.

    numbers: index of the first one that is multiplied, and how many they are.
    """
    first, count = numbers
    how = (int(BY_CHANNEL) if count > 1 else use.channel, use.is_squared)
    if found:
        last_image, last_first, last_count, *last_how = found[-1]
        follows = (image, first, *how) == (last_image, last_first + last_count, *last_how)
        if follows and last_count + count <= MOST_MULTIPLIED:
            found[-1] = (image, last_first, last_count + count, *how)
            return
    found.append((image, first, count, *how))


#: What loops gather of a material: its numbers; then its place in `BsdfTable.bsdfs`, that in `BsdfTable.shaders` or -1,
#: which of its numbers is the refractive index of its inside, or -1, and nothing.
NUMBERS = np.dtype(
    [("numbers", "<f4", MOST_NUMBERS), ("bsdf", "<i4"), ("shader", "<i4"), ("ior_number", "<i4"), ("unused", "<i4")]
)

#: Pictures that do not change how a surface scatters light.
OTHER_PICTURES = frozenset(("cutout", "emission_map"))


class BsdfTable(NamedTuple):
    """Holds what loops over hits read of their materials.

    numbers: (m,) NUMBERS.
    bsdfs: (k,) int64, rows in `loops` of the BSDFs that materials have.
    quads: (k,) int64, how many times four numbers they have.
    flags: (k,) uint32, all bits that some triangle record of each has, and maybe HAS_MEDIA.
    of_triangles: (n,) uint8, which of them each triangle has, and up to three bytes more.
    loops: `renderer.simd.bsdf_kinds.ADDRESSES`.
    shaders: (s,) int64, addresses of functions that look at every hit.
    tables: (t,) float32, what was measured: how many tables there are, and one behind the other.
    """

    numbers: Records
    bsdfs: Longs
    quads: Longs
    flags: npt.NDArray[np.uint32]
    of_triangles: npt.NDArray[np.uint8]
    loops: Longs
    shaders: Longs
    tables: npt.NDArray[np.float32]


@dataclass(frozen=True, kw_only=True)
class Dressed:
    """Is a material with its BSDF.

    bsdf: the simplest one that means the same.
    parameters: of the BSDF.
    is_textured: whether all that pictures say of how it scatters light is a texture of decoded bytes, of which photons
        may look at one texel.
    is_mip: whether eye paths look at coarser images of its texture.
    through: share of light that goes straight through it where it bends none; else black.
    """

    material: Material
    bsdf: Bsdf
    parameters: Any
    is_textured: bool
    is_mip: bool
    through: Color

    @cached_property
    def maps(self) -> Record:
        """Returns its record of `renderer.scene.materials.MAPS`."""
        return maps_of(self.material, self.bsdf)

    @property
    def is_mapped(self) -> bool:
        """Returns whether maps, or a function of the user's own, look at each hit."""
        has_pictures = (self.maps["uses"]["image"] >= 0).any() or max(
            self.maps["normal_map"], self.maps["bump_map"]
        ) >= 0
        if self.is_textured:
            return self.is_mip
        return bool(has_pictures or self.bsdf.has_tangent or self.bsdf.at_point is not None)

    @property
    def is_sheet(self) -> bool:
        """Returns whether it lets light through and bends none of it."""
        return max(self.through) > 0.0

    @property
    def stores(self) -> bool:
        """Returns whether photons are stored on it. One that has a shader of its own may have a base at some points."""
        return self.bsdf.at_point is not None or any(self.bsdf.stores(one) for one in self._all())

    @property
    def is_sharp(self) -> bool:
        """Returns whether it turns light without spreading it. One that has a shader of its own may do so."""
        may = self.bsdf.at_point is not None or any(self.bsdf.is_sharp(one) for one in self._all())
        return may and not self.is_sheet

    @property
    def ior_inside(self) -> float | None:
        """Returns the refractive index of what is inside, if light gets there."""
        lets_through = self.bsdf.eta is not None and max(self.parameters.transmission) > 0.0
        return float(self.parameters.ior) if lets_through else None

    @property
    def ior_number(self) -> int:
        """Returns which of its numbers that index is, -1 if there is none."""
        if self.ior_inside is None:
            return -1
        before = self.parameters[: self.parameters._fields.index("ior")]
        return sum(np.size(value) for value in before)

    def _all(self) -> list[Any]:
        """Returns the parameters, and those with 0 in place of each number that pictures multiply."""
        mapped = {use.parameter for name in self.material.pictures for use in self.bsdf.maps.get(name, ())}
        numbers = [name for name in mapped if isinstance(getattr(self.parameters, name), float)]
        return [self.parameters, *(self.parameters._replace(**{name: 0.0}) for name in numbers)]


def dressed(material: Material, textures: Sequence[Texture]) -> Dressed:
    """Returns a material with its BSDF. textures: of the snapshot.

    Raises `ShaderError` where the material has keys of its own that its kind has not, or where what the BSDF packs are
    not its parameters.
    """
    bsdf = get_shader(material.kind)
    if unknown := material.own.keys() - bsdf.keys.keys():
        known = ", ".join(bsdf.keys) or "none"
        raise ShaderError(
            f"material {material.name!r}: unknown key {min(unknown)!r} of kind {material.kind!r}; there are: {known}"
        )
    parameters = bsdf.pack(material)
    expected = list(sizes_of(bsdf.parameters).values())
    if not isinstance(parameters, bsdf.parameters) or [np.size(value) for value in parameters] != expected:
        raise ShaderError(
            f"shader {bsdf.name!r}: pack must return {bsdf.parameters.__name__}, got {parameters!r} "
            f"of material {material.name!r}"
        )
    is_mip = material.texture >= 0 and textures[material.texture].filter == "mip"
    as_it_is = Dressed(
        material=material, bsdf=bsdf, parameters=parameters, is_textured=False, is_mip=is_mip, through=BLACK
    )
    if bsdf.at_point is not None:
        return as_it_is
    simplest, numbers = bsdf, parameters
    while simpler := simplest.simpler(numbers):
        simplest, numbers = simpler
    through = numbers.transmission if simplest.is_clear(numbers) else BLACK
    has_others = bool(material.pictures.keys() - OTHER_PICTURES - {"texture"})
    if not has_others:
        bsdf, parameters = simplest, numbers
    has_texture = material.texture >= 0 and is_known_to_columns(textures[material.texture])
    is_textured = has_texture and not has_others and bsdf.is_linear and not bsdf.has_tangent
    return replace(as_it_is, bsdf=bsdf, parameters=parameters, is_textured=is_textured, through=through)


def phase_of(fog: Any) -> Dressed:
    """Returns what stands for points in a medium that scatters. fog: what it has of a material."""
    parameters = PHASE.pack(fog)
    own = Material()
    return Dressed(material=own, bsdf=PHASE, parameters=parameters, is_textured=False, is_mip=False, through=BLACK)


def is_known_to_columns(texture: Texture) -> bool:
    """Returns whether loops over columns know how a texture is looked at, its colours are decoded bytes, and its sides
    fit where they read them."""
    return texture.is_plain and texture.colors is None and max(texture.pixels.shape[:2]) <= SIDE_MASK


def flags_of(one: Dressed) -> np.uint32:
    """Returns all bits of a triangle record where they apply, of which BENT where maps bend normals."""
    flags = np.uint32(0)
    flags |= MIXED if one.bsdf.has_rest else np.uint32(0)
    flags |= IN_MEDIUM if one.bsdf is PHASE else np.uint32(0)
    flags |= MAPPED if one.is_mapped else np.uint32(0)
    flags |= TEXTURED if one.is_textured and one.stores else np.uint32(0)
    flags |= BENT if max(one.material.normal_map, one.material.bump_map) >= 0 else np.uint32(0)
    flags |= STORES if one.stores else np.uint32(0)
    flags |= SHEET if one.is_sheet else np.uint32(0)
    is_glowing = max(*one.material.emission, *one.material.backdrop) > 0.0
    return np.uint32(flags | (GLOWS if is_glowing else np.uint32(0)))


def pack_surface_materials(all_dressed: Sequence[Dressed]) -> Records:
    """Returns what lamps and sheets are by materials, (m,) `shaders.surface.MATERIAL`."""
    rows = np.zeros(len(all_dressed), MATERIAL)
    for row, one in zip(rows, all_dressed, strict=True):
        material = one.material
        row["emission"], row["backdrop"] = material.emission, material.backdrop
        row["through"] = one.through
        row["texture"], row["emission_map"] = material.texture, material.emission_map
        row["through_map"] = material.transmission_map
    return rows


def with_bent(flags: npt.NDArray[np.uint32], kinds: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint32]:
    """Returns all bits that a triangle record of each material may have: `flags_of`, and BENT where corners have other
    normals than their triangle.

    flags: (m,) uint32, of the materials.
    kinds: (n,) uint32, of the records.
    """
    bent = np.zeros(len(flags), np.bool_)
    for piece in pieces(len(kinds)):
        own = kinds[piece]
        bent[own[own & BENT != 0] & MATERIAL_MASK] = True
    return flags | np.where(bent, BENT, np.uint32(0))


def pack_bsdfs(
    all_dressed: Sequence[Dressed], all_flags: npt.NDArray[np.uint32], material_ids: npt.NDArray[np.int32]
) -> BsdfTable:
    """Returns the numbers and BSDFs of materials.

    all_flags: (m,) uint32, of their triangles, and maybe HAS_MEDIA.
    material_ids: (n,) int32, of the triangles.
    """
    kinds = {id(one.bsdf): one.bsdf for one in all_dressed}
    rows = {own: number_of(lacking(bsdf, all_dressed, all_flags)) for own, bsdf in kinds.items()}
    loops = [rows[id(one.bsdf)] for one in all_dressed]
    shaders = [0 if one.bsdf.at_point is None else shader_address(one.bsdf) for one in all_dressed]
    bsdfs, addresses = list(dict.fromkeys(loops)), [own for own in dict.fromkeys(shaders) if own]
    numbers, tables = np.zeros(max(len(all_dressed), 1), NUMBERS), [np.zeros(1, np.float32)]
    quads, flags = np.zeros(len(bsdfs), np.int64), np.zeros(len(bsdfs), np.uint32)
    for row, one, own_loops, shader, own_flags in zip(numbers, all_dressed, loops, shaders, all_flags, strict=False):
        parameters, own = one.parameters, bsdfs.index(own_loops)
        if one.bsdf.table is not None:
            parameters = parameters._replace(table=float(len(tables) - 1))
            tables.append(one.bsdf.table(one.material))
        flat = np.concatenate([np.ravel(value) for value in parameters])
        row["numbers"][: len(flat)] = flat
        row["bsdf"], row["ior_number"] = own, one.ior_number
        row["shader"] = addresses.index(shader) if shader else -1
        quads[own], flags[own] = -(-len(flat) // 4), flags[own] | own_flags
    tables[0][0] = len(tables) - 1
    return BsdfTable(
        numbers=numbers,
        bsdfs=np.array(bsdfs, np.int64),
        quads=quads,
        flags=flags,
        of_triangles=np.pad(numbers["bsdf"].astype(np.uint8)[material_ids], (0, -len(material_ids) % 4)),
        loops=ADDRESSES,
        shaders=np.array(addresses, np.int64),
        tables=np.concatenate(tables),
    )


def lacking(bsdf: Bsdf, all_dressed: Sequence[Dressed], all_flags: npt.NDArray[np.uint32]) -> Bsdf:
    """Returns a BSDF without what it may lack and no surface of the scene has.

    Functions of the user's own may give them any.
    """
    own = [both for both in zip(all_dressed, all_flags, strict=True) if both[0].bsdf.sample is bsdf.sample]
    lacks = [] if any(flags & BENT for _, flags in own) else [BENT_NORMALS]
    if all(one.bsdf.at_point is None for one, _ in own):
        lacks += [name for name in bsdf.may_lack if not any(np.any(getattr(one.parameters, name)) for one, _ in own)]
    return replace(bsdf, lacks=tuple(lacks))


def pack_all_maps(all_dressed: Sequence[Dressed], textures: TextureArrays) -> MapRecords:
    """Returns the maps of materials; those whose texture is looked at by texels alone have none."""
    records = np.array([one.maps if one.is_mapped else NO_MAPS for one in all_dressed], MAPS)
    has_any = any(one.is_mapped for one in all_dressed)
    if has_any:
        need(MAPPED_SURFACES)
    return pack_maps(records.reshape(-1), has_any, textures)
