"""What files without a camera or light get: what is up, where the eye is, and light that reaches what is seen."""

import logging
from dataclasses import replace

import numpy as np
import pytest
import trimesh
from driver_passes import block_means, deviation, independent_pictures, sidak_bound
from gltf_file import GltfBuilder

from renderer.drivers import DRIVERS
from scenes import SceneError, Viewing, load
from scenes.views.room_finder import find_room

TILTED = np.array([[1.0, 0, 0, 0], [0, 0, -1, 0], [0, 1, 0, 0], [0, 0, 0, 1]])


@pytest.fixture
def saved(tmp_path):
    """Writes a mesh of trimesh, or several as one, and returns the path."""

    def write(*meshes, name="a.obj"):
        path = tmp_path / name
        trimesh.util.concatenate(list(meshes)).export(path)
        return path

    return write


def statue():
    slab = trimesh.creation.box((3, 0.1, 3))
    slab.apply_translation((0, -1.05, 0))
    return [trimesh.creation.icosphere(subdivisions=2), slab]


def tilted(meshes):
    return [mesh.copy().apply_transform(TILTED) for mesh in meshes]


def room(without=None):
    """A box that faces inward with a ball in it; without: the side that is open, an axis and a sign."""
    box = trimesh.creation.box((4, 3, 6))
    normals = box.face_normals
    kept = [index for index in range(12) if without is None or normals[index][without[0]] * without[1] < 0.5]
    walls = trimesh.Trimesh(box.vertices, box.faces[kept][:, ::-1], process=False)
    ball = trimesh.creation.icosphere(subdivisions=2, radius=0.5)
    ball.apply_translation((0.5, -1.0, 1.0))
    return [walls, ball]


@pytest.mark.parametrize(("meshes", "axis"), [(statue(), 1), (tilted(statue()), 2)], ids=["y", "z"])
@pytest.mark.parametrize("name", ["a.obj", "a.stl", "a.ply"])
def test_up_is_the_axis_that_it_stands_on(saved, caplog, meshes, axis, name):
    with caplog.at_level(logging.WARNING, "scenes"):
        snapshot = load(saved(*meshes, name=name)).at(0)
    assert snapshot.camera.up[axis] > 0.9
    assert snapshot.camera.eye[axis] > 1.0
    assert snapshot.lights[0].direction[axis] < -0.5
    assert f"{'xyz'[axis]} is taken" in caplog.text


def test_things_are_seen_from_outside_with_light_from_all_around(saved):
    snapshot = load(saved(*statue())).at(0)
    assert np.linalg.norm(snapshot.camera.eye) > 4.0
    assert snapshot.environment is not None
    assert [light.kind for light in snapshot.lights] == ["distant"]
    # White that faces the lamp: what comes from it and from all around, together about 1.
    white = snapshot.lights[0].irradiance[0] / np.pi + snapshot.environment.radiance.mean()
    assert white == pytest.approx(1.0, abs=0.1)


def test_a_closed_room_is_seen_from_inside(saved):
    snapshot = load(saved(*room())).at(0)
    inside = np.array([2.0, 1.5, 3.0])
    assert (np.abs(snapshot.camera.eye) < inside).all()
    assert abs(snapshot.camera.forward[2]) > 0.8  # along the longest way, or from corner to corner
    assert snapshot.environment is None
    for light in snapshot.lights:
        assert light.kind == "point"
        assert (np.abs(light.position) < inside).all()


def test_an_open_room_is_seen_through_its_opening(saved):
    snapshot = load(saved(*room(without=(2, 1)))).at(0)
    assert snapshot.camera.eye[2] > 3.0
    assert snapshot.camera.forward == pytest.approx((0, 0, -1), abs=1e-6)
    assert snapshot.lights[0].kind == "point"
    assert snapshot.environment is not None
    # All four corners of the opening are in the picture.
    corners = np.array([[x, y, 3.0] for x in (-2, 2) for y in (-1.5, 1.5)]) - snapshot.camera.eye
    assert (np.abs(corners[:, 1]) < -corners[:, 2] * np.tan(np.radians(20))).all()
    assert (np.abs(corners[:, 0]) < -corners[:, 2] * np.tan(np.radians(20)) * 4 / 3).all()


def test_solids_and_houses_are_no_rooms():
    inner, outer = room()[0], trimesh.creation.box((4.2, 3.2, 6.2))
    house = np.concatenate([inner.triangles, outer.triangles]).astype(np.float32)
    assert find_room(house) is None
    assert find_room(trimesh.creation.box().triangles.astype(np.float32)) is None
    assert find_room(inner.triangles.astype(np.float32)) is not None


def glowing(tmp_path, radiance, share=1.0):
    """A triangle that shines, as a share of the area of an OBJ file, and others."""
    (tmp_path / "m.mtl").write_text(f"newmtl lamp\nKd 0 0 0\nKe {radiance} 0 0\nnewmtl dark\nKd 1 1 1\n")
    rest = 1.0 - share
    corners = f"v 0 0 0\nv {share} 0 0\nv 0 1 0\nv 0 0 1\nv {rest} 0 1\nv 0 1 1\n"
    faces = "usemtl lamp\nf 1 2 3\nusemtl dark\nf 4 5 6\n"
    (tmp_path / "a.obj").write_text(f"mtllib m.mtl\n{corners}{faces}")
    return load(tmp_path / "a.obj").at(0)


@pytest.mark.parametrize(("radiance", "share"), [(3, 1.0), (40, 0.01), (1.5, 0.1)])
def test_lamps_of_a_mesh_file_and_its_sky_light_it(tmp_path, radiance, share):
    snapshot = glowing(tmp_path, radiance, share)
    assert snapshot.lights == ()
    assert snapshot.environment.radiance[0, 0] == pytest.approx(snapshot.background)


@pytest.mark.parametrize(("radiance", "share"), [(0.9, 1.0), (2, 0.001)])
def test_what_glows_faintly_leaves_the_default_light_on(tmp_path, caplog, radiance, share):
    with caplog.at_level(logging.WARNING, "scenes"):
        snapshot = glowing(tmp_path, radiance, share)
    assert [light.kind for light in snapshot.lights] == ["distant"]
    assert "too faint to light it" in caplog.text


def test_a_closed_room_with_a_lamp_has_no_sky(tmp_path, saved):
    (tmp_path / "m.mtl").write_text("newmtl lamp\nKd 0 0 0\nKe 30 30 30\n")
    text = saved(*room()).read_text()
    lamp = "v 0 1.4 0\nv 1 1.4 0\nv 0 1.4 1\nusemtl lamp\nf -3 -2 -1\n"
    (tmp_path / "a.obj").write_text(f"mtllib m.mtl\n{text}\n{lamp}")
    snapshot = load(tmp_path / "a.obj").at(0)
    assert snapshot.lights == ()
    assert snapshot.environment is None


def test_a_picture_dims_a_lamp(tmp_path):
    """A lamp that is dark but for one of 256 texels."""
    for lit in (0, 255):
        file = GltfBuilder()
        pixels = np.full((16, 16, 3), lit)
        pixels[0, 0] = 255
        strength = {"KHR_materials_emissive_strength": {"emissiveStrength": 2.0}}
        texture = {"index": file.picture(pixels)}
        file.add("materials", emissiveFactor=[1, 1, 1], emissiveTexture=texture, extensions=strength)
        file.node(mesh=file.mesh(file.primitive({"TEXCOORD_0": [[0, 0], [1, 0], [0, 1]]}, material=0)))
        assert bool(load(file.write(tmp_path / "a.gltf")).at(0).lights) == (lit == 0)


def square(tmp_path, emission, lit=None):
    """A square, seen from so near that it fills the picture, that glows, or by a picture one of 64 texels of which is
    lit, far from what is seen."""
    corners = {"POSITION": [[-1, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0]], "NORMAL": [[0, 0, 1]] * 4}
    corners["TEXCOORD_0"] = [[0, 1], [1, 1], [1, 0], [0, 0]]
    file, glow = GltfBuilder(), {"emissiveFactor": [emission] * 3}
    if lit is not None:
        pixels = np.zeros((8, 8, 3))
        pixels[0, 0] = lit
        glow["emissiveTexture"] = {"index": file.picture(pixels)}
        glow["extensions"] = {"KHR_materials_emissive_strength": {"emissiveStrength": 4.0}}
    file.add("materials", pbrMetallicRoughness={"metallicFactor": 0, "roughnessFactor": 0.99}, **glow)
    file.node(mesh=file.mesh(file.primitive(corners, [0, 1, 2, 0, 2, 3], material=0)))
    snapshot = load(file.write(tmp_path / "a.gltf")).at(0)
    return replace(snapshot, camera=replace(snapshot.camera, vertical_fov=12.0))


@pytest.mark.parametrize("driver", DRIVERS)
def test_a_faint_glow_changes_a_picture_by_no_more(tmp_path, driver):
    seen = 0.0 if driver == "ao" else 0.001
    dark, faint = (
        block_means(independent_pictures(square(tmp_path, emission), driver, 16), 4) for emission in (0.0, 0.001)
    )
    assert dark.mean() > 0.5
    assert deviation(faint - seen, dark).max() < sidak_bound(dark[0].size, 1e-3)


@pytest.mark.parametrize("driver", sorted(set(DRIVERS) - {"ao"}))
def test_a_picture_of_light_that_is_mostly_dark_leaves_the_default_light_on(tmp_path, driver):
    """As the screens of radios and the lamps of helmets are, whose factor is 1 or more."""
    dark, screen = (block_means(independent_pictures(square(tmp_path, 1.0, lit), driver, 16), 4) for lit in (0, 20))
    assert dark.mean() > 0.5
    assert deviation(screen, dark, 0.02).max() < sidak_bound(dark[0].size, 1e-3)


def lit_square(tmp_path, intensity, distance=2.0):
    """The square in a lamp of its file, so many metres before it, W/sr."""
    file = GltfBuilder()
    file.add("materials", pbrMetallicRoughness={"metallicFactor": 0, "roughnessFactor": 0.99})
    corners = {"POSITION": [[-1, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0]]}
    file.node(mesh=file.mesh(file.primitive(corners, [0, 1, 2, 0, 2, 3], material=0)))
    lamps = {"lights": [{"type": "point", "intensity": intensity}]}
    file.header["extensions"] = {"KHR_lights_punctual": lamps}
    file.node(translation=[0, 0, distance], extensions={"KHR_lights_punctual": {"light": 0}})
    lens = {"yfov": 0.2, "aspectRatio": 1.0, "znear": 0.1}
    file.add("cameras", type="perspective", perspective=lens)
    file.node(camera=0, translation=[0, 0, 5])
    return load(file.write(tmp_path / "a.gltf"))


@pytest.mark.parametrize(
    ("intensity", "distance", "kinds"),
    [(1.0, 2.0, ["point"]), (0.0, 2.0, ["point", "distant"]), (1.0, 100.0, ["point", "distant"])],
)
def test_lights_that_light_nothing_leave_the_default_light_on(tmp_path, intensity, distance, kinds):
    scene = lit_square(tmp_path, intensity, distance)
    assert [light.kind for light in scene.at(0).lights] == kinds
    assert (scene.at(0).environment is not None) == (len(kinds) > 1)
    assert ("its lights and what glows are too faint" in "".join(scene.document.notes.lines)) == (len(kinds) > 1)


@pytest.mark.parametrize("driver", ["path", "photon"])
def test_a_faint_light_leaves_no_black_picture(tmp_path, driver):
    assert independent_pictures(lit_square(tmp_path, 1e-3).at(0), driver, 4).mean() > 0.3
    own = independent_pictures(lit_square(tmp_path, 10.0).at(0), driver, 4)
    assert own[:, 5:7, 7:9].mean() == pytest.approx(10.0 / 4.0 / np.pi, rel=0.15)  # and its shine


def test_what_is_up_is_not_asked_for_where_there_is_a_camera(write):
    path = write("v from 0 0 9 at 0 0 0 up 0 1 0 angle 40 hither 1 resolution 9 9\np 3 0 0 0 1 0 0 0 1 0")
    with pytest.raises(SceneError, match="--up-axis is for files without a camera, and 'scene' has one"):
        load(path, Viewing(up_axis="z"))
