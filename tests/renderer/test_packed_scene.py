"""What compiled loops read is what the snapshot says."""

import math

import numpy as np
import pytest
from small_scenes import closed_box, flat_snapshot, quad

from renderer.scene.packed_scene import pack_camera, pack_material, pack_scene
from scenes.model import Camera, Material, PointLight, Texture
from shaders.lights import LIGHT_POSITION, LIGHT_STRENGTH, POINT, TRIANGLE
from shaders.surface import (
    MATERIAL_BACKDROP,
    MATERIAL_COLUMNS,
    MATERIAL_DIFFUSE,
    MATERIAL_EMISSION,
    MATERIAL_EXPONENT,
    MATERIAL_IOR,
    MATERIAL_MIRROR,
    MATERIAL_PHONG,
    MATERIAL_TEXTURE,
    MATERIAL_TRANSMISSION,
)

PLAIN = Material(diffuse=(0.1, 0.2, 0.3))
RED_LAMP = Material(diffuse=(0.0, 0.0, 0.0), emission=(5.0, 0.0, 0.0))
BLUE_LAMP = Material(diffuse=(0.0, 0.0, 0.0), emission=(0.0, 0.0, 7.0))


def test_every_part_of_a_material_has_its_column():
    plastic = Material(
        kind="nff",
        diffuse=(0.01, 0.02, 0.03),
        specular=(0.1, 0.2, 0.3),
        exponent=25.0,
        transmittance=0.4,
        ior=1.5,
        emission=(1.0, 2.0, 3.0),
        backdrop=(4.0, 5.0, 6.0),
        texture=7,
    )
    row = pack_material(plastic)
    assert row.shape == (MATERIAL_COLUMNS,)
    for column, color in (
        (MATERIAL_DIFFUSE, (0.01, 0.02, 0.03)),
        (MATERIAL_PHONG, (0.08, 0.16, 0.24)),
        (MATERIAL_MIRROR, (0.02, 0.04, 0.06)),
        (MATERIAL_TRANSMISSION, (0.4, 0.4, 0.4)),
        (MATERIAL_EMISSION, (1.0, 2.0, 3.0)),
        (MATERIAL_BACKDROP, (4.0, 5.0, 6.0)),
    ):
        np.testing.assert_allclose(row[column : column + 3], color)
    assert (row[MATERIAL_EXPONENT], row[MATERIAL_IOR], row[MATERIAL_TEXTURE]) == (25.0, 1.5, 7.0)


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
    assert empty.surfaces.materials.shape == (0, MATERIAL_COLUMNS)
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
    assert np.array_equal(packed.surfaces.materials, [pack_material(PLAIN), pack_material(RED_LAMP)])
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
