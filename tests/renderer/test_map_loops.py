"""Maps in vector loops: what they say of hits is what their definitions say of each, in float64."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest
from seen_vertices import EYE_APART
from small_scenes import flat_snapshot

from renderer.photons.batch import HIT_COLUMNS
from renderer.scene.materials import MAPS, maps_of, pack_maps
from renderer.scene.packed_scene import pack_scene
from renderer.shading.maps import MapView, look_at_maps
from renderer.simd.columns import CHUNK
from scenes.model import Material, Texture
from shaders.bsdfs.bsdf import MEAN, Bsdf, Use
from shaders.textures import Images
from shaders.vector import Color, frame


class Numbers(NamedTuple):
    """What the BSDF of these tests has."""

    ior: float
    diffuse: Color
    specular: Color
    alpha: float


def row(**changes):
    """A BSDF of which only the maps are looked at."""
    functions = dict.fromkeys(("pack", "sample", "evaluate", "entering", "reflectance", "albedo"), print)
    maps = {
        "texture": (Use("diffuse"),),
        "specular_map": (Use("specular"),),
        "roughness_map": (Use("alpha", MEAN, is_squared=True),),
    }
    return Bsdf(**({"name": "toy", "summary": "", "parameters": Numbers, "maps": maps} | functions | changes))


#: What a hit's numbers are before maps.
PLAIN = {"diffuse": (0.9, 0.8, 0.7), "specular": (0.6, 0.5, 0.4), "roughness": 0.7}
BEFORE = (1.5, *PLAIN["diffuse"], *PLAIN["specular"], PLAIN["roughness"] ** 2)
LOOKS = {
    "bilinear": {},
    "nearest": {"filter": "nearest"},
    "clamped": {"wrap": "clamp"},
    "mip": {"filter": "mip"},
    "clamped mip": {"filter": "mip", "wrap": "clamp"},
    "clamped nearest": {"filter": "nearest", "wrap": "clamp"},
}


def textures(**look):
    """Smooth colours, normals and heights, of sides that are no powers of two."""
    random = np.random.default_rng(1)
    sizes = {"colors": (9, 14, 3), "grey": (7, 5, 3), "normals": (12, 11, 3), "heights": (13, 6, 3)}
    pixels = {name: random.integers(30, 256, size).astype(np.uint8) for name, size in sizes.items()}
    pixels["normals"][..., 2] = random.integers(180, 256, (12, 11))
    return tuple(Texture(name=name, pixels=pixels[name], is_linear=True, **look) for name in sizes)


def triangles(material, uv_scale=1.0, tile=0.0, **look):
    """Triangles of all sizes with bent normals, some of them wound against these, some with mirrored textures."""
    random = np.random.default_rng(2)
    count = 60
    positions = random.normal(size=(count, 1, 3)) + random.normal(size=(count, 3, 3)) * random.uniform(
        0.05, 2.0, (count, 1, 1)
    )
    made = flat_snapshot(positions, [Material(), material], material_ids=[1] * count)
    normals = made.normals * random.choice([-1.0, 1.0], (count, 1, 1)) + random.normal(size=(count, 3, 3)) * 0.3
    normals /= np.linalg.norm(normals, axis=2, keepdims=True)
    uvs = (random.normal(size=(count, 3, 2)) * uv_scale + tile).astype(np.float32)
    uvs[:3] = 0.25
    return replace(made, normals=normals.astype(np.float32), uvs=uvs, textures=textures(**look))


class Looked(NamedTuple):
    """What maps make of a hit, in float64: colours of the four textures, and the shading normal."""

    colors: list[np.ndarray]
    normal: np.ndarray


def unit(vector):
    """A vector of length 1."""
    return vector / np.linalg.norm(vector)


def blend(image, texture, uv):
    """The colour of one image, (height, width, 3), at texture coordinates."""
    clamps, is_nearest = texture.wrap == "clamp", texture.filter == "nearest"
    indices, shares = [], []
    for x, size in zip(uv, (image.shape[1], image.shape[0]), strict=True):
        at = (np.clip(x, 0.0, 1.0) if clamps else x) * size - (0.0 if is_nearest else 0.5)
        pair = np.floor(at) + (0, 1)
        indices.append((np.clip(pair, 0, size - 1) if clamps else pair % size).astype(int))
        share = 0.0 if is_nearest else at - np.floor(at)
        shares.append((1.0 - share, share))
    return np.einsum("yxc,y,x->c", image[np.ix_(*indices[::-1])], *shares[::-1])


def color_at(packed, texture, uv, seen):
    """The colour of a texture, (index, Texture), over so much of its plane."""
    index, look = texture
    levels, row = [], index
    while row >= 0:
        first, width, height, _, _, row, _ = packed.table[row]
        levels.append(packed.texels[first : first + width * height].reshape(height, width, 3).astype(float))
    level = np.log2(max(1.0, seen * np.sqrt(levels[0].shape[0] * levels[0].shape[1])))
    level = min(level, len(levels) - 1.0)
    low, share = int(level), level - int(level)
    return blend(levels[low], look, uv) * (1.0 - share) + (
        blend(levels[low + 1], look, uv) * share if share > 0.0 else 0.0
    )


def expected(snapshot, packed, hit, is_mirroring):
    """`Looked` of a hit: its triangle, barycentric uv, flat normal, side, wo and width of the cone."""
    triangle, uv, flat, is_outside, wo, width = hit
    material = snapshot.materials[1]
    weights = np.array([1.0 - uv[0] - uv[1], *uv])
    edges, to_uv = (np.diff(array[triangle].astype(float)[[0, 1, 0, 2]], axis=0)[::2].T for array in (
        snapshot.positions, snapshot.uvs
    ))  # fmt: skip
    at, area = weights @ snapshot.uvs[triangle].astype(float), np.linalg.det(to_uv)
    seen = width / max(flat @ wo, 1e-2) * np.sqrt(abs(area) / np.linalg.norm(np.cross(*edges.T)))
    textures = list(enumerate(snapshot.textures))
    colors = [color_at(packed, texture, at, seen) for texture in textures]
    normal = unit(weights @ snapshot.normals[triangle].astype(float))
    if area != 0.0:
        along_u, along_v = (edges @ np.linalg.inv(to_uv)).T
    else:
        along_u, along_v = np.array(frame(tuple(unit(np.cross(*edges.T))))) * ((1.0,), (-1.0,))
    if material.normal_map >= 0:
        tangent = unit(along_u - normal * (normal @ along_u))
        up = np.cross(normal, tangent)
        up *= 1.0 if up @ along_v <= 0.0 else -1.0
        x, y, z = 2.0 * colors[material.normal_map] - 256.0 / 255.0
        normal = unit(material.normal_scale * (x * tangent + y * up) + max(z, 1e-3) * normal)
    if material.bump_map >= 0:
        texture = textures[material.bump_map]
        size = texture[1].pixels.shape
        steps = np.diag([max(seen, 1.0 / size[1]), max(seen, 1.0 / size[0])])
        slopes = [
            np.mean(color_at(packed, texture, at + step, seen) - color_at(packed, texture, at - step, seen))
            / (2.0 * step.sum())
            for step in steps
        ]
        normal = unit(normal - material.bump_scale * np.linalg.solve([along_u, along_v, normal], [*slopes, 0.0]))
    normal = normal if is_outside else -normal
    mirrored = 2.0 * (wo @ normal) * normal - wo
    if is_mirroring and normal @ wo > 1e-6 and mirrored @ flat < 1e-2:
        normal = unit(wo + unit(mirrored + flat * (1e-2 - mirrored @ flat)))
    return Looked(colors, normal if normal @ wo > 1e-6 else flat)


def hits(snapshot, columns, count=CHUNK, width=0.0):
    """A chunk of hits on a snapshot, and what `expected` takes of each."""
    random = np.random.default_rng(3)
    chunk, found = np.zeros(1, columns), []
    one = chunk[0]
    for i in range(count):
        triangle = int(random.integers(len(snapshot.positions)))
        u, v = random.random(2)
        uv = np.float32((u, v) if u + v < 1.0 else (1.0 - u, 1.0 - v))
        wo = np.float32(unit(random.normal(size=3)))
        seen = np.float32(width * random.random())
        corners = snapshot.positions[triangle].astype(float)
        flat = unit(np.cross(corners[1] - corners[0], corners[2] - corners[0]))
        flat = flat if flat @ wo >= 0.0 else -flat
        is_outside = flat @ (np.array([1.0 - uv.sum(), *uv]) @ snapshot.normals[triangle]) >= 0.0
        one["triangle"][i], one["uv"][:, i], one["ray"][:, i] = triangle, uv, -wo
        one["normal"][:, i], one["is_outside"][i], one["width"][i] = flat, is_outside, seen
        one["uvs"][:, i], one["material"][i] = snapshot.uvs[triangle].ravel(), 1
        one["parameters"][: len(BEFORE), i] = BEFORE
        one["shading"][:, i] = (7.0, 8.0, 9.0)
        found.append((triangle, uv.astype(float), flat, is_outside, wo.astype(float), float(seen)))
    return chunk, found


def looked(snapshot, columns=HIT_COLUMNS, bsdf=None, **more):
    """The chunk after the loops, those of its hits that are mapped, two in three, and what is right for these."""
    bsdf = bsdf or row()
    chunk, found = hits(snapshot, columns, **more)
    surfaces = pack_scene(snapshot).surfaces
    records = np.array(
        [maps_of(snapshot.materials[0], row(has_tangent=True)), maps_of(snapshot.materials[1], bsdf)], MAPS
    )
    maps = pack_maps(records, True, surfaces.textures)
    mapped = np.array([i for i in range(len(found)) if i % 3], np.int32)
    chunk[0]["mapped"][: len(mapped)] = mapped
    chunk[0]["mapped"][len(mapped) : len(mapped) + 16] = CHUNK + np.arange(16)
    images = Images(surfaces.textures.texels.ctypes.data, surfaces.textures.table.ctypes.data)
    arrays = (maps.heights, surfaces.positions, surfaces.normals)
    view = MapView(chunk[0], maps.records.ctypes.data, images, *(array.ctypes.data for array in arrays))
    look_at_maps(maps.flags, maps.uses, view, len(mapped))
    return chunk[0], mapped, [expected(snapshot, surfaces.textures, found[i], bsdf.is_mirroring) for i in mapped]


def colors_of(found, index):
    """Colours of a texture, (n, 3)."""
    return np.array([one.colors[index] for one in found])


def normals_of(found):
    """Shading normals, (n, 3)."""
    return np.array([one.normal for one in found]).reshape(-1, 3)


def listed(chunk, mapped, name):
    """Vectors of a column of the mapped hits, (n, 3)."""
    return chunk[name][:, mapped].T


#: Everything that a material may have.
RICH = Material(
    kind="plastic",
    ior=1.5,
    texture=0,
    specular_map=0,
    roughness_map=1,
    normal_map=2,
    bump_map=3,
    bump_scale=0.05,
    normal_scale=0.6,
    **PLAIN,
)
SEEN = pytest.mark.parametrize(("columns", "width"), [(HIT_COLUMNS, 0.0), (EYE_APART, 0.2), (EYE_APART, 3.0)])


@SEEN
@pytest.mark.parametrize("look", LOOKS)
def test_hits_are_as_maps_say(look, columns, width):
    chunk, mapped, found = looked(triangles(RICH, **LOOKS[look]), columns, width=width)
    factors = np.hstack([
        np.ones((len(mapped), 1)), colors_of(found, 0), colors_of(found, 0),
        colors_of(found, 1).mean(axis=1, keepdims=True) ** 2,
    ])  # fmt: skip
    assert pytest.approx(factors * BEFORE, abs=4e-6) == chunk["parameters"][:8, mapped].T
    normals = normals_of(found)
    assert listed(chunk, mapped, "shading") == pytest.approx(normals, abs=2e-5)
    assert np.ptp(normals, axis=0).max() > 1.0


@pytest.mark.parametrize(
    "maps", [{"normal_map": 2}, {"bump_map": 3, "bump_scale": 0.5}, {"normal_map": 2, "bump_map": 3}, {}]
)
def test_each_map_alone_bends_the_normal(maps):
    """Of a surface that mirrors nothing, too. What no map bends is left as it was."""
    chunk, mapped, found = looked(triangles(Material(texture=0, **maps)), bsdf=row(is_mirroring=False))
    assert listed(chunk, mapped, "shading") == pytest.approx(
        normals_of(found) if maps else np.tile((7, 8, 9), (len(mapped), 1)), abs=2e-5
    )


def test_normals_that_would_mirror_into_the_surface_give_way():
    """Bent far enough, those of a mirror differ from those of chalk."""
    mirror, chalk = (
        looked(triangles(replace(RICH, bump_scale=0.5)), bsdf=row(is_mirroring=is_mirroring))
        for is_mirroring in (True, False)
    )
    for chunk, mapped, found in (mirror, chalk):
        assert listed(chunk, mapped, "shading") == pytest.approx(normals_of(found), abs=2e-5)
    assert np.abs(mirror[0]["shading"] - chalk[0]["shading"]).max() > 0.1


@pytest.mark.parametrize("wrap", ["repeat", "clamp"])
def test_texture_coordinates_may_be_large(wrap):
    """A texture that repeats far away looks there as it does at its first image, up to what float32 keeps of it."""
    tile = 0.0 if wrap == "clamp" else 4096.0
    chunk, mapped, found = looked(triangles(RICH, uv_scale=1.0, tile=tile, wrap=wrap))
    assert pytest.approx(colors_of(found, 0) * PLAIN["diffuse"], abs=4e-6) == chunk["parameters"][1:4, mapped].T


def test_a_picture_may_multiply_two_colours_one_number_and_a_channel():
    class Wide(NamedTuple):
        one: float
        first: Color
        second: Color
        other: float

    maps = {
        "texture": (Use("first"), Use("second"), Use("other", channel=2)),
        "roughness_map": (Use("one", channel=0),),
    }
    material = Material(texture=0, roughness_map=1)
    bsdf = row(parameters=Wide, maps=maps)
    uses = maps_of(material, bsdf)["uses"]
    assert uses["image"].tolist() == [0, 0, 1, -1]
    assert (uses["first"][:3].tolist(), uses["count"][:3].tolist()) == ([1, 7, 0], [6, 1, 1])
    chunk, mapped, found = looked(triangles(material), bsdf=bsdf)
    paint = colors_of(found, 0)
    after = chunk["parameters"][:8, mapped].T / BEFORE
    assert after == pytest.approx(np.hstack([colors_of(found, 1)[:, :1], paint, paint, paint[:, 2:]]), abs=1e-5)
    assert np.all(chunk["parameters"][8:, mapped] == 0.0)


def test_tangents_lie_along_the_texture():
    """They are unit, in the plane of the shading normal, and of all such vectors the one along which u grows most."""
    snapshot = triangles(replace(RICH, bump_map=-1))
    chunk, mapped, _ = looked(snapshot, bsdf=row(has_tangent=True))
    tangents, normals = listed(chunk, mapped, "tangent"), listed(chunk, mapped, "shading")
    assert np.linalg.norm(tangents, axis=1) == pytest.approx(1.0, abs=1e-5)
    assert np.einsum("ni,ni->n", tangents, normals) == pytest.approx(0.0, abs=1e-5)
    for tangent, normal, triangle in zip(tangents, normals, chunk["triangle"][mapped], strict=True):
        edges = np.diff(snapshot.positions[triangle].astype(float), axis=0).T
        to_uv = np.diff(snapshot.uvs[triangle].astype(float), axis=0).T
        if np.linalg.det(to_uv) != 0.0:
            along_u = (edges @ np.linalg.inv(to_uv))[:, 0]
            along_u -= normal * (normal @ along_u)
            assert tangent == pytest.approx(along_u / np.linalg.norm(along_u), abs=1e-4)


@pytest.mark.parametrize("count", [1, 2, 17, 100, CHUNK])
def test_chunks_of_all_sizes(count):
    chunk, mapped, found = looked(triangles(RICH, filter="mip"), count=count, width=1.0)
    assert listed(chunk, mapped, "shading") == pytest.approx(normals_of(found), abs=2e-5)
