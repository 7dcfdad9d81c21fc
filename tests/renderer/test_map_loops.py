"""Maps in vector loops: what they say of hits is what `surface_at` says of each, in float64."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest
from small_scenes import flat_snapshot

from renderer.camera_paths.paths import EYE_COLUMNS
from renderer.photons.batch import HIT_COLUMNS
from renderer.scene.map_records import maps_of, pack_maps
from renderer.scene.packed_scene import pack_scene
from renderer.shading.maps import MapView, look_at_maps
from renderer.simd.columns import CHUNK
from scenes.model import Material, Texture
from shaders.bsdfs.bsdf import MEAN, Bsdf, Use
from shaders.errors import ShaderError
from shaders.surface import surface_at
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


def hits(snapshot, columns, count=CHUNK, width=0.0):
    """A chunk of hits on a snapshot, every third of which has no maps, and what `surface_at` says of each."""
    random = np.random.default_rng(3)
    packed = pack_scene(snapshot)
    chunk, found = np.zeros(1, columns), []
    one = chunk[0]
    for i in range(count):
        triangle = int(random.integers(len(snapshot.positions)))
        u, v = random.random(2)
        u, v = np.float32((u, v) if u + v < 1.0 else (1.0 - u, 1.0 - v))
        wo = random.normal(size=3)
        wo /= np.linalg.norm(wo)
        seen = width * random.random()
        hit = surface_at(packed.surfaces, triangle, float(u), float(v), tuple(wo), seen)
        one["triangle"][i], one["uv"][:, i], one["ray"][:, i] = triangle, (u, v), -wo
        one["normal"][:, i], one["is_outside"][i], one["width"][i] = hit.geom_normal, hit.outside, seen
        one["uvs"][:, i], one["material"][i] = snapshot.uvs[triangle].ravel(), 1
        numbers = (1.5, *PLAIN["diffuse"], *PLAIN["specular"], PLAIN["roughness"] ** 2)
        one["parameters"][: len(numbers), i] = numbers
        one["shading"][:, i] = (7.0, 8.0, 9.0)
        found.append(hit)
    return packed, chunk, found


def looked(snapshot, columns=HIT_COLUMNS, bsdf=None, **more):
    """The chunk after the loops, those of its hits that are mapped, and what is right for all."""
    packed, chunk, found = hits(snapshot, columns, **more)
    maps = pack_maps(snapshot.materials, [row(has_tangent=True), bsdf or row()], packed.surfaces.textures)
    mapped = np.array([i for i in range(len(found)) if i % 3], np.int32)
    chunk[0]["mapped"][: len(mapped)] = mapped
    chunk[0]["mapped"][len(mapped) : len(mapped) + 16] = CHUNK + np.arange(16)
    surfaces = packed.surfaces
    images = Images(surfaces.textures.texels.ctypes.data, surfaces.textures.table.ctypes.data)
    arrays = (maps.heights, surfaces.positions, surfaces.normals)
    view = MapView(chunk[0], maps.records.ctypes.data, images, *(array.ctypes.data for array in arrays))
    look_at_maps(maps.flags, maps.uses, view, len(mapped))
    return chunk[0], mapped, found


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
SEEN = pytest.mark.parametrize(("columns", "width"), [(HIT_COLUMNS, 0.0), (EYE_COLUMNS, 0.2), (EYE_COLUMNS, 3.0)])


@SEEN
@pytest.mark.parametrize("look", LOOKS)
def test_hits_are_as_surface_at_says(look, columns, width):
    chunk, mapped, found = looked(triangles(RICH, **LOOKS[look]), columns, width=width)
    numbers = np.array([(*found[i].bsdf.diffuse, found[i].bsdf.alpha) for i in mapped])
    assert pytest.approx(numbers, abs=4e-6) == chunk["parameters"][[1, 2, 3, 7]][:, mapped].T
    assert np.all(chunk["parameters"][0, mapped] == np.float32(1.5))
    normals = np.array([found[i].shading_normal for i in mapped])
    assert listed(chunk, mapped, "shading") == pytest.approx(normals, abs=2e-5)
    assert np.ptp(normals, axis=0).max() > 1.0


def test_hits_that_are_not_listed_stay_as_they_are():
    chunk, mapped, found = looked(triangles(RICH))
    others = np.setdiff1d(np.arange(len(found)), mapped)
    assert np.all(chunk["shading"][:, others].T == (7.0, 8.0, 9.0))
    assert np.all(chunk["parameters"][1, others] == np.float32(PLAIN["diffuse"][0]))


@pytest.mark.parametrize("count", [1, 2, 17, 100, CHUNK])
def test_chunks_of_all_sizes(count):
    chunk, mapped, found = looked(triangles(RICH, filter="mip"), count=count, width=1.0)
    normals = np.array([found[i].shading_normal for i in mapped]).reshape(-1, 3)
    assert listed(chunk, mapped, "shading") == pytest.approx(normals, abs=2e-5)


@pytest.mark.parametrize(
    "maps", [{"normal_map": 2}, {"bump_map": 3, "bump_scale": 0.5}, {"normal_map": 2, "bump_map": 3}, {}]
)
def test_each_map_alone_bends_the_normal(maps):
    """Of a surface that mirrors nothing, too. What no map bends is left as it was."""
    chunk, mapped, found = looked(triangles(Material(texture=0, **maps)), bsdf=row(is_mirroring=False))
    normals = np.array([found[i].shading_normal for i in mapped])
    assert listed(chunk, mapped, "shading") == pytest.approx(
        normals if maps else np.tile((7, 8, 9), (len(mapped), 1)), abs=2e-5
    )


def test_normals_that_would_mirror_into_the_surface_give_way():
    """Bent far enough, those of a mirror differ from those of chalk."""
    mirror, chalk = (
        looked(triangles(replace(RICH, kind=kind, bump_scale=0.5)), bsdf=row(is_mirroring=is_mirroring))
        for kind, is_mirroring in (("plastic", True), ("diffuse", False))
    )
    for chunk, mapped, found in (mirror, chalk):
        normals = np.array([found[i].shading_normal for i in mapped])
        assert listed(chunk, mapped, "shading") == pytest.approx(normals, abs=2e-5)
    assert np.abs(mirror[0]["shading"] - chalk[0]["shading"]).max() > 0.1


@pytest.mark.parametrize("wrap", ["repeat", "clamp"])
def test_texture_coordinates_may_be_large(wrap):
    """A texture that repeats far away looks there as it does at its first image, up to what float32 keeps of it."""
    tile = 0.0 if wrap == "clamp" else 4096.0
    chunk, mapped, found = looked(triangles(RICH, uv_scale=1.0, tile=tile, wrap=wrap))
    numbers = np.array([found[i].bsdf.diffuse for i in mapped])
    assert pytest.approx(numbers, abs=4e-6) == chunk["parameters"][1:4, mapped].T


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
    paint = np.array([np.divide(found[i].bsdf.diffuse, 0.5) for i in mapped])
    before = np.array((1.5, *PLAIN["diffuse"], *PLAIN["specular"], PLAIN["roughness"] ** 2))
    after = chunk["parameters"][:8, mapped].T / before
    assert after[:, 1:4] == pytest.approx(paint, abs=1e-5)
    assert after[:, 4:7] == pytest.approx(paint, abs=1e-5)
    assert after[:, 7] == pytest.approx(paint[:, 2], abs=1e-5)
    assert np.all(chunk["parameters"][8:, mapped] == 0.0)


def test_too_many_uses_of_pictures_are_an_error():
    maps = {"texture": tuple(Use("alpha", channel) for channel in (0, 1, 2, 0, 1))}
    with pytest.raises(ShaderError, match="'wood': pictures multiply 5 groups of numbers of bsdf 'toy', at most 4"):
        maps_of(Material(name="wood", texture=0), row(maps=maps))


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


def test_tangents_of_other_materials_are_those_of_any_frame():
    chunk, mapped, _ = looked(triangles(RICH), bsdf=row(has_tangent=False))
    frames = [frame(tuple(normal))[0] for normal in listed(chunk, mapped, "shading")]
    assert listed(chunk, mapped, "tangent") == pytest.approx(np.array(frames), abs=1e-6)
