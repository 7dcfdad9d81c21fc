"""Records that loops over photons read."""

from dataclasses import replace

import numpy as np
import pytest
from small_scenes import closed_box, flat_snapshot, quad

from renderer.scene.packed_scene import pack_scene
from renderer.scene.photon_scene import BENT, MAPPED, MATERIAL_MASK, MIXED, STORES, TEXTURED
from scenes.model import Material, Texture
from shaders import registry


def test_flags_say_what_is_special():
    materials = [
        Material(diffuse=(0.5, 0.5, 0.5)),
        Material(kind="nff", diffuse=(0.2, 0.2, 0.2), specular=(0.3, 0.3, 0.3), exponent=10.0),
        Material(kind="mirror", specular=(0.9, 0.9, 0.9)),
        Material(diffuse=(0.5, 0.5, 0.5), texture=0),
    ]
    ids = np.array([0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3])
    snapshot = flat_snapshot(closed_box(), materials, material_ids=ids)
    snapshot.normals[0] = (0.6, 0.0, 0.8)
    image = Texture(name="grey", pixels=np.full((1, 1, 3), 128, np.uint8))
    packed = pack_scene(type(snapshot)(**(vars(snapshot) | {"textures": (image,)}))).photon_scene
    kinds = packed.records["kind"]
    assert (kinds & MATERIAL_MASK).tolist() == ids.tolist()
    expected = [STORES | BENT, STORES, STORES | MIXED, MIXED, STORES | TEXTURED]
    assert [int(kinds[k] & ~MATERIAL_MASK) for k in (0, 1, 3, 6, 9)] == [int(flags) for flags in expected]
    assert packed.flags == STORES | BENT | MIXED | TEXTURED
    assert packed.records.ctypes.data % 64 == 0


def kinds_of(materials, textures=()):
    """Bits of the triangles of a box with materials, one of each."""
    ids = np.arange(12) * len(materials) // 12
    box = replace(flat_snapshot(closed_box(), materials, material_ids=ids), textures=tuple(textures))
    kinds = pack_scene(box).photon_scene.records["kind"] & ~MATERIAL_MASK
    return [int(kinds[np.flatnonzero(ids == index)[0]]) for index in range(len(materials))]


def test_bsdfs_say_whether_they_have_a_base_and_more():
    materials = [
        Material(kind="metal", specular=(0.9, 0.9, 0.9)),
        Material(kind="plastic", diffuse=(0.5, 0.5, 0.5), ior=1.5),
        Material(kind="dielectric", transmittance=1.0, ior=1.5, roughness=0.3),
        Material(kind="dielectric", transmittance=1.0, ior=1.5, absorption=(1.0, 0.0, 0.0)),
        Material(kind="dielectric", transmittance=1.0, ior=1.5),
        Material(diffuse=(0.5, 0.5, 0.5), roughness=0.3, absorption=(1.0, 0.0, 0.0)),
        Material(kind="nff", diffuse=(0.5, 0.5, 0.5), exponent=9.0),
        Material(kind="oren_nayar", diffuse=(0.5, 0.5, 0.5)),
    ]
    assert kinds_of(materials) == [MIXED, MIXED | STORES, MIXED, MIXED, MIXED, STORES, STORES, MIXED | STORES]


def test_pictures_that_are_more_than_a_plain_texture_are_mapped():
    plain, glow = Material(texture=0), Material(emission_map=0, emission=(1.0, 1.0, 1.0))
    for material, look, expected in [
        (plain, {}, TEXTURED),
        (plain, {"filter": "mip"}, MAPPED | TEXTURED),
        (plain, {"filter": "nearest"}, MAPPED),
        (plain, {"wrap": "clamp"}, MAPPED),
        (plain, {"is_linear": True}, MAPPED),
        (Material(normal_map=0), {}, MAPPED),
        (Material(bump_map=0), {}, MAPPED),
        (Material(kind="mirror", specular=(0.9, 0.9, 0.9), specular_map=0), {}, MAPPED),
        (glow, {}, 0),
    ]:
        texture = Texture(name="t", pixels=np.full((2, 2, 3), 9, np.uint8), **look)  # type: ignore[arg-type]
        (flags,) = kinds_of([material], [texture])
        assert flags & (MAPPED | TEXTURED) == expected, (material, look)


@pytest.fixture
def _own_registry(monkeypatch):
    """Registrations are forgotten after the test."""
    monkeypatch.setattr(registry, "_shaders", dict(registry._shaders))


@pytest.mark.usefixtures("_own_registry")
def test_what_a_function_looks_at_is_no_sheet_and_mapped():
    registry.register_shader(replace(registry.get_shader("dielectric"), name="stained", at_point=lambda p, own: own))
    sheet = Material(kind="stained", transmittance=0.5, ior=1.0)
    assert kinds_of([sheet]) == [MAPPED | MIXED | STORES]


def test_texels_are_bytes_and_decode_to_what_the_eye_reads():
    pixels = np.arange(256 * 3, dtype=np.uint8).reshape(8, 32, 3)
    pixels = np.concatenate([pixels, pixels[:, :, ::-1] ^ 255])
    box = flat_snapshot(
        closed_box(), [Material(diffuse=(0.5, 0.5, 0.5)), Material(texture=0)], material_ids=[0] * 11 + [1]
    )
    box.uvs[:] = np.arange(72, dtype=np.float32).reshape(12, 3, 2)
    scene = pack_scene(type(box)(**(vars(box) | {"textures": (Texture(name="all", pixels=pixels),)})))
    packed = scene.photon_scene
    channels = np.stack([packed.texels >> shift & 255 for shift in (0, 8, 16)], axis=-1)
    assert np.array_equal(packed.decoded[channels[:-1]], scene.surfaces.textures.texels)
    assert packed.decoded[channels[-1]].tolist() == [1.0, 1.0, 1.0]
    assert packed.textures["texels"].tolist() == [512] * 11 + [0]
    assert packed.textures["sides"].tolist() == [1 | 1 << 16] * 11 + [32 | 16 << 16]
    assert np.array_equal(packed.textures["uvs"], box.uvs)
    assert packed.textures.itemsize == 32
    assert packed.textures.ctypes.data % 64 == 0


@pytest.mark.parametrize("size", [(1, 65_535), (65_535, 1), (1, 65_536), (65_536, 1)])
def test_images_with_longer_sides_than_a_record_has_room_for_are_mapped(size):
    image = Texture(name="long", pixels=np.full((*size, 3), 128, np.uint8))
    box = flat_snapshot(closed_box(), [Material(diffuse=(0.5, 0.5, 0.5), texture=0)])
    packed = pack_scene(type(box)(**(vars(box) | {"textures": (image,)}))).photon_scene
    fits = max(size) < 65_536
    assert packed.flags & TEXTURED == (TEXTURED if fits else 0)
    assert packed.flags & MAPPED == (0 if fits else MAPPED)
    assert packed.textures["sides"].tolist() == ([size[1] | size[0] << 16] * 12 if fits else [])


GLOW = Material(diffuse=(0.5, 0.5, 0.5), emission=(1.0, 2.0, 3.0))
LOZENGE = quad((0, 0, 1), (2, 0, 1), (3, 1, 1), (1, 1, 1))


def emitters(positions, materials=(GLOW,), **options):
    packed = pack_scene(flat_snapshot(positions, materials, **options)).photon_scene
    return packed.emitters, packed.aliases


@pytest.mark.parametrize("first", [0, 1, 2])
@pytest.mark.parametrize("second", [0, 1, 2])
@pytest.mark.parametrize("swapped", [False, True])
def test_two_halves_of_a_parallelogram_are_one_light(first, second, swapped):
    halves = [np.roll(LOZENGE[0], first, axis=0), np.roll(LOZENGE[1], second, axis=0)]
    lights, aliases = emitters(halves[::-1] if swapped else halves)
    assert len(lights) == len(aliases) == 1
    light = lights[0]
    corners = light["origin"] + [[0, 0, 0], light["edge_1"], light["edge_2"], light["edge_1"] + light["edge_2"]]
    np.testing.assert_allclose(
        np.unique(corners.round(3), axis=0), [(0, 0, 1), (1, 1, 1), (2, 0, 1), (3, 1, 1)], atol=1e-3
    )
    assert light["size"] == 1.0
    assert light["normal"].tolist() == [0.0, 0.0, 1.0]
    np.testing.assert_allclose(light["flux"], np.pi * 2.0 * np.array([1.0, 2.0, 3.0]), rtol=1e-6)  # area 2


def test_other_triangles_are_lights_of_their_own():
    kite = quad((0, 0, 1), (1, 0, 1), (1.5, 1.5, 1), (0, 1, 1))
    bent = quad((0, 0, 1), (1, 0, 1), (1, 1, 1), (0, 1, 1.5))
    back_to_back = np.stack([LOZENGE[0], LOZENGE[1][::-1]])
    for pair in (kite, bent, back_to_back):
        lights, _ = emitters(pair)
        assert lights["size"].tolist() == [0.0, 0.0]
    dim = Material(emission=(0.5, 1.0, 1.5))
    lights, _ = emitters(LOZENGE, [GLOW, dim], material_ids=[0, 1])
    assert lights["size"].tolist() == [0.0, 0.0]
