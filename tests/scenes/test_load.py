"""Finding scenes by name or file, the shipped ones, and the facts about them."""

import shutil
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

from scenes import UnknownSceneError, describe, load, shipped_scenes
from scenes.meshes.geometry import areas, double_area_normals

#: The box of Cornell in metres: its size, and the spheres in it.
SIZE = np.array([0.5528, 0.5488, 0.5592])
WHITE, RED, GREEN, LAMP, MIRROR, GLASS = range(6)


@pytest.mark.parametrize("name", ["kitchn", "scene.txt", "cornell.", "", "Cornell"])
def test_unknown_scenes_list_what_there_is(name):
    with pytest.raises(UnknownSceneError, match=r"shipped: .*cornell.*; files end in \.aff \.nff \.toml"):
        load(name)


@pytest.mark.parametrize("row", shipped_scenes(), ids=lambda row: row.name)
def test_shipped_scenes_are_sound(row):
    scene = load(row.name if row.sizes is None else f"{row.name}:{row.sizes.least}")
    picture = scene.at_frame(0)
    assert scene.name == picture.name == row.name
    assert row.summary
    assert "\n" not in row.summary
    count = len(picture.positions)
    assert picture.positions.shape == picture.normals.shape == (count, 3, 3)
    assert picture.uvs.shape == (count, 3, 2)
    assert picture.material_ids.shape == (count,)
    assert set(picture.material_ids) == set(range(len(picture.materials)))
    assert np.allclose(np.linalg.norm(picture.normals, axis=-1), 1.0, atol=1e-5)
    assert (areas(picture.positions) > 0).all()
    assert picture.lights or any(any(material.emission) for material in picture.materials)
    assert picture.camera is next(iter(picture.cameras.values()))


@pytest.mark.parametrize("row", [row for row in shipped_scenes() if row.path.exists()], ids=lambda row: row.name)
def test_the_file_of_a_shipped_scene_is_the_scene(row, tmp_path):
    """It may be copied, with what lies beside it, and is shipped by its name alone."""
    for file in row.path.parent.glob(f"{row.name}*"):
        shutil.copy(file, tmp_path)
    copy, shipped = load(tmp_path / row.path.name), load(row.name)
    assert np.array_equal(copy.at(0.0).positions, shipped.at(0.0).positions)
    assert copy.is_of_file
    assert not shipped.is_of_file
    assert row.path in shipped.files
    assert {file.name for file in shipped.files} == {file.name for file in copy.files}


@pytest.mark.parametrize(("size", "count"), [("1000", 1000), ("2k", 2000)])
def test_sizes(size, count):
    assert len(load(f"stress:{size}").at(0).positions) == count


@pytest.mark.parametrize(
    "name", ["stress:999", "stress:21M", "stress:1e4", "stress:-5", "stress:9m", "stress:1 k", "stress:"]
)
def test_sizes_that_cannot_be(name):
    with pytest.raises(
        UnknownSceneError, match=r"expected 'stress' or 'stress:SIZE' with 1000 to 20000000 triangles, .* got '"
    ):
        load(name)


@pytest.fixture(scope="module")
def cornell():
    return load(Path("cornell")).at(0.0)


def of_material(picture, material):
    return picture.positions[picture.material_ids == material].astype(np.float64)


def test_cornell_walls_face_inward(cornell):
    middle = SIZE / 2
    for material in (WHITE, RED, GREEN):
        walls = of_material(cornell, material)
        assert (np.sum(double_area_normals(walls) * (middle - walls[:, 0]), axis=-1) > 0).all()
    white = SIZE[0] * (2 * SIZE[2] + SIZE[1])
    assert areas(of_material(cornell, WHITE)).sum() == pytest.approx(white)
    assert areas(of_material(cornell, RED)).sum() == pytest.approx(SIZE[1] * SIZE[2])


def test_cornell_is_seen_whole(cornell):
    camera = cornell.camera
    front = np.array([[x, y, 0.0] for x in (0, SIZE[0]) for y in (0, SIZE[1])]) - np.array(camera.eye)
    tangents = np.abs(front[:, 1] / (front @ np.array(camera.forward)))
    assert np.allclose(tangents, np.tan(np.radians(camera.vertical_fov / 2)), rtol=0.1)


def test_cornell_kinds(cornell):
    kinds = [material.kind for material in cornell.materials]
    assert kinds == ["diffuse"] * 4 + ["mirror", "dielectric"]
    assert cornell.materials[GLASS].ior == 1.5


def test_facts(read):
    scene = read(
        "a 1 2 5\nv from 0 0 5 at 0 0 0 up 0 1 0 angle 30 hither 1 resolution 8 6\nl 0 0 9\n"
        "p 3 0 0 0 2 0 0 0 1 0 p 3 1 1 1 1 1 1 1 1 1 tt t.ppm 0 0 -4 0 0 1 0 -4 0 0 0 1 -4 0 0"
    )
    facts = asdict(describe(scene, scene.at_frame(2)))
    assert (facts["triangles"], facts["degenerate_triangles"], facts["moving_triangles"]) == (3, 1, 0)
    assert (facts["materials"], facts["material_kinds"]) == (2, ("nff",))
    assert facts["textures"] == (("t.ppm", 4, 2),)
    assert (facts["lower"], facts["upper"]) == ((0, 0, -4), (2, 1, 1))
    assert (facts["start"], facts["end"], facts["frames"], facts["time"]) == (1.0, 2.0, 5, 1.5)
    assert facts["surface"] == pytest.approx(1.5)
    assert (facts["lights"], facts["emitters"]) == ((("point", 1),), 0)
    assert (facts["vertical_fov"], facts["resolution"]) == (30.0, (8, 6))


@pytest.mark.parametrize("size", [":3", ":"])
def test_a_scene_of_one_size(size):
    with pytest.raises(UnknownSceneError, match=f"scene 'cornell' has one size; leave out '{size}'"):
        load(f"cornell{size}")
