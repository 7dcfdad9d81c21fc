"""What compiled loops read is what the snapshot says."""

import math
from dataclasses import replace

import numpy as np
import pytest
from small_scenes import closed_box, flat_snapshot, quad

from renderer.scene.packed_scene import pack_camera, pack_scene
from scenes.lights import PointLight
from scenes.model import Camera, Material, Texture
from shaders.lights import LIGHT_POSITION, LIGHT_STRENGTH, POINT, TRIANGLE
from shaders.registry import get_shader
from shaders.surface import MATERIAL

PLAIN = Material(diffuse=(0.1, 0.2, 0.3))
RED_LAMP = Material(diffuse=(0.0, 0.0, 0.0), emission=(5.0, 0.0, 0.0))
BLUE_LAMP = Material(diffuse=(0.0, 0.0, 0.0), emission=(0.0, 0.0, 7.0))


def packed_materials(*materials):
    """What loops of kind nff read of materials."""
    return pack_scene(flat_snapshot(closed_box(), materials)).surfaces.materials


def test_every_part_of_a_material_has_its_field():
    plastic = Material(
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
    texture = Texture(name="grey", pixels=np.full((1, 1, 3), 128, np.uint8))
    look = replace(flat_snapshot(closed_box(), [plastic]), textures=(texture,) * 2)
    record = pack_scene(look).surfaces.materials[0]
    for name, color in (
        ("diffuse", (0.01, 0.02, 0.03)),
        ("phong", (0.08, 0.16, 0.24)),
        ("mirror", (0.02, 0.04, 0.06)),
        ("transmission", (0.4, 0.4, 0.4)),
        ("emission", (1.0, 2.0, 3.0)),
        ("backdrop", (4.0, 5.0, 6.0)),
        ("through", (0.0, 0.0, 0.0)),
    ):
        np.testing.assert_allclose(record[name], color)
    assert (record["exponent"], record["ior"]) == (25.0, 1.5)
    assert (record["texture"], record["emission_map"], record["through_map"]) == (0, 1, -1)


def test_what_other_loops_shade_is_black_in_those_of_kind_nff():
    """All that lamps and the eye see of it is there."""
    (record,) = packed_materials(Material(kind="metal", specular=(0.9, 0.8, 0.7), emission=(1.0, 2.0, 3.0)))
    for name in ("diffuse", "phong", "mirror", "transmission"):
        assert record[name].tolist() == [0.0, 0.0, 0.0]
    assert record["emission"].tolist() == [1.0, 2.0, 3.0]


def test_a_sheet_says_what_comes_straight_through():
    (record,) = packed_materials(Material(kind="dielectric", transmittance=0.5, ior=1.0))
    assert record["through"].tolist() == [0.5, 0.5, 0.5]


def test_listed_materials_have_the_numbers_of_their_bsdf():
    metal = Material(kind="metal", specular=(0.9, 0.8, 0.7), roughness=0.5)
    plastic = Material(kind="plastic", diffuse=(0.3, 0.2, 0.1), ior=1.5, texture=0)
    texture = Texture(name="grey", pixels=np.full((1, 1, 3), 128, np.uint8))
    snapshot = replace(flat_snapshot(closed_box(), [PLAIN, metal, plastic, metal]), textures=(texture,))
    table = pack_scene(snapshot).bsdfs
    assert table.numbers["bsdf"].tolist() == [-1, 0, 1, 0]
    assert (table.numbers["is_mapped"] != 0).tolist() == [False, False, True, False]
    assert table.numbers["shader"].tolist() == [-1] * 4
    assert len(table.bsdfs) == 2
    assert not table.numbers["numbers"][0].any()
    for index, material in ((1, metal), (2, plastic)):
        parameters = np.concatenate([np.ravel(value) for value in get_shader(material.kind).pack(material)])
        np.testing.assert_allclose(table.numbers["numbers"][index, : len(parameters)], parameters, rtol=1e-6)


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


def test_a_scene_without_lights_or_triangles_can_be_packed():
    assert len(pack_scene(flat_snapshot(closed_box(), [PLAIN])).lights.rows) == 0
    empty = pack_scene(flat_snapshot(np.zeros((0, 3, 3)), []))
    assert (empty.surfaces.materials.shape, empty.surfaces.materials.dtype) == ((0,), MATERIAL)
    assert len(empty.lights.rows) == 0


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
    assert packed.surfaces.materials["diffuse"].tolist() == [list(PLAIN.diffuse), list(RED_LAMP.diffuse)]
    assert packed.background == (0.1, 0.2, 0.3)


def test_textures_are_packed_in_their_order():
    images = [np.full((2, 3, 3), value, np.uint8) for value in (0, 255)]
    plain = flat_snapshot(quad((0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0)), [PLAIN])
    textures = tuple(Texture(name=str(i), pixels=image) for i, image in enumerate(images))
    packed = pack_scene(type(plain)(**(vars(plain) | {"textures": textures}))).surfaces.textures
    assert packed.table[:, :3].tolist() == [[0, 3, 2], [6, 3, 2]]
    assert packed.texels[:6].max() == 0.0
    assert packed.texels[6:].min() == pytest.approx(1.0)


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
