"""What compiled loops read is what the snapshot says."""

import math
from dataclasses import replace

import numpy as np
import pytest
from small_scenes import closed_box, flat_snapshot

import scenes
from renderer.scene.materials import dressed
from renderer.scene.packed_scene import pack_after, pack_camera, pack_scene
from renderer.scene.photon_scene import BENT, GLOWS, HAS_MEDIA, MAPPED, MATERIAL_MASK, MIXED, SHEET, STORES, TEXTURED
from scenes.lights import PointLight
from scenes.model import Camera, Material, Texture
from shaders import registry
from shaders.bsdfs import dielectric, diffuse, nff
from shaders.bsdfs.dielectric import Dielectric
from shaders.bsdfs.diffuse import Diffuse
from shaders.bsdfs.nff import Nff
from shaders.lights.point import POINT
from shaders.lights.row import LIGHT_POSITION, LIGHT_STRENGTH
from shaders.lights.triangle import TRIANGLE
from shaders.registry import get_shader

PLAIN = Material(diffuse=(0.1, 0.2, 0.3))
RED_LAMP = Material(diffuse=(0.0, 0.0, 0.0), emission=(5.0, 0.0, 0.0))
BLUE_LAMP = Material(diffuse=(0.0, 0.0, 0.0), emission=(0.0, 0.0, 7.0))


def packed_materials(*materials):
    """What lamps and sheets are by their materials."""
    return pack_scene(flat_snapshot(closed_box(), materials)).surfaces.materials


def with_textures(snapshot, count):
    """A snapshot with small textures of decoded bytes."""
    texture = Texture(name="grey", pixels=np.full((1, 1, 3), 128, np.uint8))
    return replace(snapshot, textures=(texture,) * count)


def test_every_part_of_a_material_has_its_field():
    shiny = Material(
        kind="nff",
        diffuse=(0.01, 0.02, 0.03),
        specular=(0.1, 0.2, 0.3),
        exponent=25.0,
        transmittance=0.4,
        ior=1.5,
        emission=(1.0, 2.0, 3.0),
        backdrop=(4.0, 5.0, 6.0),
        texture=0,
        emission_map=1,
    )
    packed = pack_scene(with_textures(flat_snapshot(closed_box(), [shiny]), 2))
    record = packed.surfaces.materials[0]
    for name, color in (("emission", (1.0, 2.0, 3.0)), ("backdrop", (4.0, 5.0, 6.0)), ("through", (0.0, 0.0, 0.0))):
        np.testing.assert_allclose(record[name], color)
    assert (record["texture"], record["emission_map"], record["through_map"]) == (0, 1, -1)
    numbers = Nff((0.01, 0.02, 0.03), (0.08, 0.16, 0.24), (0.02, 0.04, 0.06), (0.4,) * 3, exponent=25.0, ior=1.5)
    np.testing.assert_allclose(packed.bsdfs.numbers["numbers"][0, :14], flat(numbers), rtol=1e-6)


def flat(parameters):
    return np.concatenate([np.ravel(value) for value in parameters])


def test_a_sheet_says_what_comes_straight_through():
    (record,) = packed_materials(Material(kind="dielectric", transmittance=0.5, ior=1.0))
    assert record["through"].tolist() == [0.5, 0.5, 0.5]


def test_materials_have_the_numbers_of_their_bsdf():
    metal = Material(kind="metal", specular=(0.9, 0.8, 0.7), roughness=0.5)
    plastic = Material(kind="plastic", diffuse=(0.3, 0.2, 0.1), ior=1.5, texture=0)
    table = pack_scene(with_textures(flat_snapshot(closed_box(), [PLAIN, metal, plastic, metal]), 1)).bsdfs
    assert table.numbers["bsdf"].tolist() == [0, 1, 2, 1]
    assert table.numbers["shader"].tolist() == [-1] * 4
    assert len(set(table.bsdfs.tolist())) == 3
    assert table.quads.tolist() == [
        -(-len(flat(get_shader(one.kind).pack(one))) // 4) for one in (PLAIN, metal, plastic)
    ]
    for index, material in enumerate((PLAIN, metal, plastic, metal)):
        parameters = flat(get_shader(material.kind).pack(material))
        np.testing.assert_allclose(table.numbers["numbers"][index, : len(parameters)], parameters, rtol=1e-6)
        assert not table.numbers["numbers"][index, len(parameters) :].any()


def test_the_flags_of_a_bsdf_are_those_of_its_triangles():
    """Of two diffuse materials one has a texture and the other bent normals: the BSDF has both flags."""
    materials = [
        replace(PLAIN, texture=0),
        Material(diffuse=(0.1, 0.2, 0.3), emission=(1.0, 1.0, 1.0)),
        Material(kind="metal", specular=(0.9, 0.8, 0.7)),
        Material(kind="plastic", diffuse=(0.3, 0.2, 0.1), ior=1.5, normal_map=0),
        Material(kind="dielectric", transmittance=0.5, ior=1.0),
    ]
    snapshot = with_textures(flat_snapshot(closed_box(), materials, material_ids=np.arange(12) * 5 // 12), 1)
    snapshot.normals[4] = (0.6, 0.0, 0.8)
    packed = pack_scene(snapshot)
    kinds, own = packed.photon_scene.records["kind"], packed.bsdfs.numbers["bsdf"][snapshot.material_ids]
    found = [np.bitwise_or.reduce(kinds[own == bsdf]) & ~MATERIAL_MASK for bsdf in range(4)]
    expected = [STORES | TEXTURED | GLOWS | BENT, MIXED, MIXED | STORES | MAPPED | BENT, MIXED | SHEET]
    assert packed.bsdfs.flags.tolist() == found == [int(flags) for flags in expected]
    glass = Material(kind="dielectric", transmittance=1.0, ior=1.5, absorption=(1.0, 0.0, 0.0))
    filled = pack_scene(replace(snapshot, materials=(*materials[:4], glass))).bsdfs
    assert filled.flags.tolist() == [int(flags | HAS_MEDIA) for flags in (*expected[:3], MIXED)]


GREY, BLACK = (0.5, 0.5, 0.5), (0.0, 0.0, 0.0)
CHALK = Material(kind="nff", diffuse=GREY, exponent=9.0)
GLASS = Material(kind="nff", diffuse=BLACK, transmittance=0.5, ior=1.5)


@pytest.mark.parametrize(
    ("material", "bsdf", "parameters"),
    [
        (CHALK, diffuse.BSDF, Diffuse(GREY)),
        (replace(CHALK, texture=0, emission_map=0, cutout=0), diffuse.BSDF, Diffuse(GREY)),
        (Material(kind="mirror", specular=BLACK), diffuse.BSDF, Diffuse(BLACK)),
        (GLASS, dielectric.BSDF, Dielectric(GREY, 1.5, 0.0)),
        (replace(CHALK, texture=0, specular_map=0), nff.BSDF, Nff(GREY, BLACK, BLACK, BLACK, 9.0, 1.0)),
        (replace(CHALK, transmission_map=0), nff.BSDF, Nff(GREY, BLACK, BLACK, BLACK, 9.0, 1.0)),
        (replace(GLASS, transmission_map=0), nff.BSDF, Nff(BLACK, BLACK, BLACK, GREY, 0.0, 1.5)),
        (replace(CHALK, normal_map=0), nff.BSDF, Nff(GREY, BLACK, BLACK, BLACK, 9.0, 1.0)),
        (replace(CHALK, transmittance=0.5), nff.BSDF, Nff(GREY, BLACK, BLACK, GREY, 9.0, 1.0)),
        (replace(CHALK, specular=GREY, mirror_share=0.0), nff.BSDF, Nff(GREY, GREY, BLACK, BLACK, 9.0, 1.0)),
        (replace(CHALK, specular=GREY, mirror_share=1.0), nff.BSDF, Nff(GREY, BLACK, GREY, BLACK, 9.0, 1.0)),
    ],
)
def test_a_material_has_the_simplest_bsdf_that_means_the_same(material, bsdf, parameters):
    """Pictures may multiply lobes that are black without them, and bend normals under lobes."""
    texture = Texture(name="grey", pixels=np.full((1, 1, 3), 128, np.uint8))
    found = dressed(material, [texture])
    assert (found.bsdf, found.parameters) == (bsdf, parameters)


def test_a_material_with_a_function_of_the_users_own_keeps_its_bsdf(monkeypatch):
    monkeypatch.setattr(registry, "_shaders", dict(registry._shaders))
    own = replace(nff.BSDF, name="own", at_point=lambda point, numbers: numbers)
    registry.register_shader(own)
    found = dressed(replace(CHALK, kind="own"), [])
    assert (found.bsdf, found.parameters) == (own, Nff(GREY, BLACK, BLACK, BLACK, 9.0, 1.0))


def test_point_lights_and_glowing_triangles_are_lights():
    lamps = [PointLight(position=(0.1, 0.2, x), intensity=(x, 2.0 * x, 0.0)) for x in (0.3, 0.4)]
    ids = np.zeros(12, np.int32)
    ids[[2, 7]], ids[9] = 1, 2
    snapshot = flat_snapshot(closed_box(), [PLAIN, RED_LAMP, BLUE_LAMP], material_ids=ids, lights=lamps)
    packed = pack_scene(snapshot)
    assert packed.lights.rows[:, 0].tolist() == [POINT, POINT, TRIANGLE, TRIANGLE, TRIANGLE]
    expected = np.full(12, -1)
    expected[[2, 7, 9]] = 2, 3, 4
    assert packed.surfaces.emitter_ids.tolist() == expected.tolist()
    strengths = packed.lights.rows[:, LIGHT_STRENGTH : LIGHT_STRENGTH + 3].tolist()
    assert strengths == [[0.3, 0.6, 0.0], [0.4, 0.8, 0.0], [5.0, 0.0, 0.0], [5.0, 0.0, 0.0], [0.0, 0.0, 7.0]]
    first_corners = packed.lights.rows[2:, LIGHT_POSITION : LIGHT_POSITION + 3]
    assert np.array_equal(first_corners, snapshot.positions[[2, 7, 9], 0])


def test_surfaces_are_those_of_the_snapshot():
    rng = np.random.default_rng(1)
    snapshot = flat_snapshot(
        closed_box(), [PLAIN, RED_LAMP], material_ids=np.arange(12) % 2, background=(0.1, 0.2, 0.3)
    )
    snapshot.normals[:] = rng.normal(size=(12, 3, 3))
    snapshot.uvs[:] = rng.random((12, 3, 2))
    packed = pack_scene(snapshot)
    for name in ("positions", "normals", "uvs", "material_ids"):
        assert np.array_equal(getattr(packed.surfaces, name), getattr(snapshot, name)), name
    np.testing.assert_allclose(packed.bsdfs.numbers["numbers"][:, :3], [PLAIN.diffuse, RED_LAMP.diffuse], rtol=1e-6)
    assert packed.background == (0.1, 0.2, 0.3)


@pytest.mark.parametrize("size", [(300, 100), (100, 300)])
def test_a_camera_spans_its_vertical_field_of_view(size):
    camera = Camera(eye=(1.0, 2.0, 3.0), forward=(0.0, 0.6, -0.8), up=(0.0, 0.8, 0.6), vertical_fov=50.0, near=0.25)
    packed = pack_camera(camera, *size)
    half = math.tan(math.radians(25.0))
    np.testing.assert_allclose(packed.right, (half * size[0] / size[1], 0.0, 0.0), atol=1e-15)
    np.testing.assert_allclose(packed.down, -half * np.array(camera.up), atol=1e-15)
    assert packed.forward.tolist() == [0.0, 0.6, -0.8]
    assert packed.eye.tolist() == [1.0, 2.0, 3.0]
    assert packed.near == 0.25


def arrays_of(packed, name=""):
    if hasattr(packed, "_fields"):
        for field in packed._fields:
            yield from arrays_of(getattr(packed, field), f"{name}.{field}")
    else:
        yield name, packed.tobytes() if isinstance(packed, np.ndarray) else packed


@pytest.mark.parametrize("name", ["robots", "kitchen"])
def test_a_frame_is_packed_after_another_as_anew(name):
    scene = scenes.load(name)
    before, after = scene.at_frame(0), scene.at_frame(25)
    known = pack_after(before, None)
    packed = pack_after(after, known)
    assert dict(arrays_of(packed)) == dict(arrays_of(pack_after(after, None)))
    assert dict(arrays_of(packed)) != dict(arrays_of(known))
    assert packed.surfaces.textures is known.surfaces.textures


def test_what_moved_or_turned_or_was_painted_is_packed_again():
    snapshot = flat_snapshot(closed_box(), [PLAIN])
    known = pack_after(snapshot, None)
    moved, turned, painted = snapshot.positions.copy(), snapshot.normals.copy(), snapshot.material_ids.copy()
    moved[0] += 0.5
    turned[3] = -turned[3]
    painted[5] = 1
    materials = (*snapshot.materials, RED_LAMP)
    for one in (
        replace(snapshot, positions=moved),
        replace(snapshot, normals=turned),
        replace(snapshot, material_ids=painted, materials=materials),
        replace(snapshot, positions=moved[1:], normals=turned[1:], uvs=snapshot.uvs[1:], material_ids=painted[1:] * 0),
    ):
        assert dict(arrays_of(pack_after(one, known))) == dict(arrays_of(pack_after(one, None)))
