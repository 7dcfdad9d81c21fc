"""The project's own scene files: known answers, errors, and files that are written and read again."""

import copy
import math
import random
import re
import tomllib
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from data_files import data_text
from PIL import Image
from solids import is_closed, volume

from scenes import Scene, SceneFileError, Snapshot, load
from scenes.document import Document, EnvironmentSource, KeyedTriangles, Part
from scenes.files.written_file import WriteError
from scenes.keys.tables import Table
from scenes.keys.values import Key
from scenes.lights import DistantSource, PointSource, SpotLight, SpotSource
from scenes.materials.metals import METALS
from scenes.meshes.shapes import rectangle, sphere
from scenes.model import PICTURES, AnimationRange, Camera, Material, Texture
from scenes.motion.tracks import RotationTrack, Track, VectorTrack, VisibilityTrack
from scenes.motion.transforms import WORLD
from scenes.playing.evaluator import scene_of
from scenes.toml_scene import read
from scenes.toml_scene.keys.file import SKY
from scenes.toml_scene.keys.objects import OBJECT, SHAPES
from scenes.toml_scene.manual import TABLES, with_tables
from scenes.toml_scene.writer import write

MANUAL = Path(__file__).resolve().parents[2] / "docs" / "scene-file.md"

RED = "materials.red = { diffuse = [0.6, 0.1, 0.1] }\n"
#: One triangle whose first corner is the origin of what it stands in.
TRIANGLE = 'shape = "triangles"\nmaterial = "red"\nvertices = [[0, 0, 0], [1, 0, 0], [0, 1, 0]]\n'
LATHE = "shape = 'lathe'\nmaterial = 'red'\nprofile = "
OBJECT_OF_RED = RED + "[[object]]\n" + TRIANGLE

EVERYTHING = data_text("toml/everything.toml")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the files that scenes here refer to: t.png, m.obj (a triangle), m.npz (one called a) and
    sky.npy."""
    Image.fromarray(np.arange(24, dtype=np.uint8).reshape(2, 4, 3)).save(tmp_path / "t.png")
    (tmp_path / "m.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
    vertices, triangles = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]]), np.array([[0, 1, 2]], dtype=np.int32)
    np.savez(tmp_path / "m.npz", **{"a.vertices": vertices, "a.triangles": triangles})
    np.savez(tmp_path / "plain.npz", vertices=vertices, triangles=triangles)
    np.save(tmp_path / "sky.npy", np.arange(24.0).reshape(2, 4, 3))
    return tmp_path


@pytest.fixture
def read_text(folder: Path) -> Callable[[str], Scene]:
    """Writes a scene file and reads it."""

    def read_it(text: str) -> Scene:
        (folder / "scene.toml").write_text(text, encoding="utf-8")
        return read(folder / "scene.toml")

    return read_it


@pytest.fixture
def corner(read_text: Callable[[str], Scene]) -> Callable[..., list[list[float]]]:
    """The first corner of every triangle of a scene file at a time, rounded."""

    def corners(text: str, time: float = 0.0) -> list[list[float]]:
        return np.round(read_text(text).at(time).positions[:, 0].astype(float), 6).tolist()

    return corners


def keys_in(value: object) -> Iterator[str]:
    """All names in tables in tables."""
    if isinstance(value, dict):
        yield from value
        for item in value.values():
            yield from keys_in(item)
    elif isinstance(value, list):
        for item in value:
            yield from keys_in(item)


# --- every key --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("table", "key"),
    [(table, key) for table in TABLES for key in table.keys],
    ids=lambda item: item.title if isinstance(item, Table) else item.name,
)
def test_defaults_are_what_keys_expect(table: Table, key: Key) -> None:
    if key.default is not None:
        key.kind.read(key.default)


def test_numbers_and_sizes_may_be_written_as_options_are(tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    path.write_text('render = { photons = 1e5, passes = 4.0, size = "40x30" }\n' + OBJECT_OF_RED)
    settings = read(path).document.settings
    assert settings.items() >= {"photons": 100_000, "passes": 4, "size": (40, 30)}.items()
    assert type(settings["photons"]) is int


def test_every_key_is_in_the_test_of_every_key() -> None:
    instead_of_others = {"color", "sky", *(key.name for key in SKY.keys)}  # of an environment's image
    assert {key.name for table in TABLES for key in table.keys} <= (
        set(keys_in(tomllib.loads(EVERYTHING))) | instead_of_others
    )


def test_lengths_and_directions_are_in_the_units_of_the_file(read_text: Callable[[str], Scene]) -> None:
    """Centimetres, with z up. What each key says is seen in `test_toml_examples.py`."""
    document = read_text(EVERYTHING).document
    assert len(document.parts) == 2 + 6 + 11
    main, lens = document.cameras.values()
    assert main.near == 0.01
    assert np.allclose((main.eye, main.forward, main.up), [(0.0, 0.02, 0.1), (0.0, 0.0, -1.0), (0.0, 1.0, 0.0)])
    assert (lens.aperture, lens.focus, lens.height) == pytest.approx((0.02, 0.4, 5.0))
    point, _, spot, _ = document.lights
    assert point.strength == pytest.approx((12 / (4 * math.pi),) * 3)
    solid_angle = math.pi * (2.0 - math.cos(math.radians(10.0)) - 0.5)
    assert spot.intensity == pytest.approx((5.0 / solid_angle,) * 3)
    assert document.environment.radiance.tolist() == (2.0 * np.arange(24.0)).reshape(2, 4, 3).tolist()


def test_metals_have_an_index_by_name_or_in_numbers(read_text: Callable[[str], Scene]) -> None:
    gold, steel, _, _, brushed = read_text(EVERYTHING).document.materials[3:8]
    assert (gold.eta, gold.k) == (METALS["gold"].eta, METALS["gold"].k)
    assert (brushed.eta, brushed.k) == (METALS["iron"].eta, METALS["iron"].k)
    assert (steel.eta, steel.k) == ((2.5, 2.5, 2.5), (3.0, 2.0, 1.0))


def test_pictures_that_are_looked_at_alike_are_one(read_text: Callable[[str], Scene]) -> None:
    """And linear where they hold numbers: roughness, normals, what passes."""
    document = read_text(EVERYTHING).document
    assert [(texture.wrap, texture.filter, texture.is_linear) for texture in document.textures] == [
        ("repeat", "bilinear", False),
        ("clamp", "bilinear", False),
        ("repeat", "bilinear", True),
        ("repeat", "mip", True),
    ]
    red = document.materials[0]
    assert (red.texture, red.cutout, red.emission_map, red.bump_map) == (0, 0, 0, 0)
    assert (red.specular_map, red.transmission_map) == (1, 3)
    assert (red.roughness_map, red.metalness_map, red.normal_map) == (2, 2, 2)


def test_settings_are_those_of_the_file_and_no_others(read_text: Callable[[str], Scene]) -> None:
    assert read_text(EVERYTHING).document.settings == {
        "driver": "path",
        "size": (40, 30),
        "passes": 3,
        "photons": 1000,
        "radius": 0.05,
        "max_bounces": 4,
        "exposure": -1.0,
        "tone_map": "linear",
        "seed": 2**64 - 1,
    }
    assert read_text(OBJECT_OF_RED).document.settings == {
        "exposure": 0.0
    }  # for which the light that it is given is made


def test_defaults(read_text: Callable[[str], Scene]) -> None:
    scene = read_text(OBJECT_OF_RED)
    assert scene.name == "scene"
    assert scene.at(0.0).background == (0.0, 0.0, 0.0)
    assert len(scene.at(0.0).lights) == 1  # one beside the camera
    assert scene.document.materials == [Material(name="red", diffuse=(0.6, 0.1, 0.1))]


# --- lights -----------------------------------------------------------------------------------------------------------

ROUND = data_text("toml/turning-lights.toml")


def test_lights_turn_with_their_group(read_text: Callable[[str], Scene]) -> None:
    scene = read_text(RED + ROUND + "[[object]]\n" + TRIANGLE)
    (spot, sun), (turned, same) = scene.at(0.0).lights, scene.at(1.0).lights
    assert isinstance(spot, SpotLight)
    assert isinstance(turned, SpotLight)
    assert np.allclose((spot.position, spot.direction), [(2, 0, 0), (1, 0, 0)])
    assert np.allclose((turned.position, turned.direction), [(0, 1, -2), (0, 0, -1)])
    assert sun == same
    assert np.allclose(sun.direction, (0, -1, 0))  # type: ignore[union-attr]
    first, second = scene.at(0.0).environment, scene.at(1.0).environment
    assert first is not None
    assert second is not None
    # With z up the middle of the image is along y, which is -z in the world; from there a quarter turn to the left.
    assert np.allclose(first.axes, [(0, 0, -1), (0, 1, 0), (1, 0, 0)])
    assert np.allclose(second.axes, [(-1, 0, 0), (0, 1, 0), (0, 0, -1)])


def test_a_light_that_is_turned_to_nothing(read_text: Callable[[str], Scene]) -> None:
    flat = "[[group]]\nname = 'flat'\nscale = [0, 1, 1]\n[[light]]\nkind = 'distant'\nirradiance = 1\n"
    with pytest.raises(SceneFileError, match="at time 0 the light that begins here is turned to no direction"):
        read_text(OBJECT_OF_RED + flat + "direction = [1, 0, 0]\nparent = 'flat'\n")


def test_an_environment_is_a_light(read_text: Callable[[str], Scene]) -> None:
    snapshot = read_text(OBJECT_OF_RED + "[environment]\ncolor = [1, 2, 3]\n").at(0.0)
    assert snapshot.lights == ()
    assert snapshot.environment is not None
    assert snapshot.environment.radiance.tolist() == [[[1.0, 2.0, 3.0]]]
    assert np.array_equal(snapshot.environment.axes, np.eye(3))


@pytest.mark.parametrize("up", ["y", "z"])
def test_the_glow_of_a_sky_is_where_the_sun_shines_from(read_text: Callable[[str], Scene], up: str) -> None:
    sun = '[[light]]\nkind = "distant"\nirradiance = 1\ndirection = [-2, -3, -4]\n'
    sky = "[environment]\nscale = 2\nsky = { zenith = 0, horizon = 0, glow = [1, 2, 3], sun = [2, 3, 4] }\n"
    snapshot = read_text(OBJECT_OF_RED + f'[scene]\nup = "{up}"\n' + sun + sky).at(0.0)
    assert snapshot.environment is not None
    radiance, (light,) = snapshot.environment.radiance, snapshot.lights
    row, column = np.unravel_index(radiance[..., 0].argmax(), radiance.shape[:2])
    polar, turn = np.pi * (row + 0.5) / 256.0, 2.0 * np.pi * ((column + 0.5) / 512.0 - 0.5)
    own = [np.sin(polar) * np.sin(turn), np.cos(polar), -np.sin(polar) * np.cos(turn)]
    assert (own @ snapshot.environment.axes) @ np.array(light.direction) == pytest.approx(-1.0, abs=1e-4)
    assert radiance[row, column] == pytest.approx([2.0, 4.0, 6.0], rel=0.01)


# --- places -----------------------------------------------------------------------------------------------------------


def test_scaled_then_turned_then_shifted(corner: Callable[..., list[list[float]]]) -> None:
    place = "translate = [10, 0, 0]\nrotate = { axis = [0, 0, 3], degrees = 90 }\nscale = [2, 1, 1]\n"
    shape = TRIANGLE.replace("[0, 0, 0]", "[1, 0, 0]")
    assert corner(RED + "[[object]]\n" + shape + place) == [[10.0, 2.0, 0.0]]


def test_the_first_turn_is_done_first(corner: Callable[..., list[list[float]]]) -> None:
    turns = "rotate = [{ axis = [0, 0, 1], degrees = 90 }, { axis = [1, 0, 0], degrees = 90 }]\n"
    shape = TRIANGLE.replace("[0, 0, 0]", "[1, 0, 0]")  # x -> y -> z
    assert corner(RED + "[[object]]\n" + shape + turns) == [[0.0, 0.0, 1.0]]


def test_groups_stand_in_groups_in_any_order(corner: Callable[..., list[list[float]]]) -> None:
    text = """
[[group]]
name = "inner"
parent = "outer"
translate = [1, 0, 0]
[[group]]
name = "outer"
matrix = [[0, -1, 0, 0], [1, 0, 0, 0], [0, 0, 1, 7], [0, 0, 0, 1]]
"""
    assert corner(OBJECT_OF_RED + 'parent = "inner"\ntranslate = [0, 2, 0]\n' + text) == [[-2.0, 1.0, 7.0]]


def test_a_track_moves_inside_the_place_of_its_object_and_group(corner: Callable[..., list[list[float]]]) -> None:
    text = """track = "turn"
translate = [1, 0, 0]
parent = "g"
[[group]]
name = "g"
track = "shift"
scale = 10
[tracks.turn]
rotate = [{ time = 0, axis = [0, 0, 1], degrees = 90 }]
[tracks.shift]
translate = [{ time = 0, value = [0, 3, 0] }]
"""
    shape = OBJECT_OF_RED.replace("[[0, 0, 0]", "[[2, 0, 0]")  # turned (0, 2, 0), shifted (1, 2, 0), (1, 5, 0), scaled
    assert corner(shape + text) == [[10.0, 50.0, 0.0]]


def moving(*keys: str, interpolation: str = "spline") -> str:
    """A file with the triangle under a track."""
    track = f'[tracks.t]\ninterpolation = "{interpolation}"\ntranslate = [{", ".join(keys)}]\n'
    return OBJECT_OF_RED + 'track = "t"\n' + track


def at_x(time: float, x: float, more: str = "") -> str:
    return f"{{ time = {time}, value = [{x}, 0, 0]{more} }}"


def test_a_spline_reaches_its_ends_and_sets_off_at_half_the_mean_speed(
    corner: Callable[..., list[list[float]]],
) -> None:
    text = moving(at_x(1, 0), at_x(3, 1))
    assert [corner(text, time)[0][0] for time in (-9, 1, 2, 3, 9)] == [0.0, 0.0, 0.5, 1.0, 1.0]
    u = 0.25  # Hermite with both tangents half the step
    assert corner(text, 1.5)[0][0] == pytest.approx(3 * u**2 - 2 * u**3 + 0.5 * (u**3 - 2 * u**2 + u + u**3 - u**2))


def test_a_spline_goes_through_all_of_its_keys(corner: Callable[..., list[list[float]]]) -> None:
    text = moving(at_x(0, 0), at_x(1, 5), at_x(4, 2), at_x(5, 3))
    assert [corner(text, time)[0][0] for time in (0, 1, 4, 5)] == [0.0, 5.0, 2.0, 3.0]


def test_tension_makes_a_track_start_from_rest(corner: Callable[..., list[list[float]]]) -> None:
    text = moving(at_x(0, 0, ", tension = 1"), at_x(1, 1, ", tension = 1"))
    assert corner(text, 0.25)[0][0] == pytest.approx(3 * 0.25**2 - 2 * 0.25**3)


def test_one_key_is_a_fixed_value(corner: Callable[..., list[list[float]]]) -> None:
    for interpolation in ("spline", "linear"):
        text = moving(at_x(1, 4), interpolation=interpolation)
        assert [corner(text, time)[0][0] for time in (0, 1, 2)] == [4.0, 4.0, 4.0]


def test_linear_tracks_are_linear_whatever_their_times(corner: Callable[..., list[list[float]]]) -> None:
    times, values = [0.0, 1.0, 1.25, 6.0, 6.0, 7.0], [0.0, 4.0, -2.0, 3.0, 8.0, 6.0]
    text = moving(*(at_x(t, v) for t, v in zip(times, values, strict=True)), interpolation="linear")
    for time in (-1.0, 0.3, 0.9, 1.1, 1.24, 2.0, 5.9, 6.5, 8.0):
        assert corner(text, time)[0][0] == pytest.approx(np.interp(time, times, values), abs=1e-5)


def test_linear_turns_are_even(corner: Callable[..., list[list[float]]]) -> None:
    keys = ", ".join(f"{{ time = {t}, axis = [0, 0, 1], degrees = {d} }}" for t, d in ((0, 0), (1, 90), (4, 120)))
    track = f'track = "t"\n[tracks.t]\ninterpolation = "linear"\nrotate = [{keys}]\n'
    text = OBJECT_OF_RED.replace("[[0, 0, 0]", "[[2, 0, 0]") + track
    for time, degrees in ((0.25, 22.5), (0.5, 45.0), (2.0, 100.0)):
        x, y, _ = corner(text, time)[0]
        assert math.degrees(math.atan2(y, x)) == pytest.approx(degrees, abs=1e-3)


def test_inner_splines_are_those_of_aff(corner: Callable[..., list[list[float]]]) -> None:
    keys = (at_x(0, 9), at_x(1, 1), at_x(2, 2), at_x(3, 9))
    text = moving(*keys, interpolation="inner-spline")
    track = VectorTrack(np.arange(4.0), np.outer([9.0, 1, 2, 9], [1, 0, 0]), np.zeros((4, 3)))
    assert [corner(text, time)[0][0] for time in (0, 1, 2, 3)] == [1.0, 1.0, 2.0, 2.0]
    assert corner(text, 1.3)[0][0] == pytest.approx(track.at(1.3)[0], abs=1e-6)


def test_visible(read_text: Callable[[str], Scene]) -> None:
    track = 'track = "t"\n[tracks.t]\nvisible = [{ time = 1, value = false }, { time = 2, value = true }]\n'
    scene = read_text(OBJECT_OF_RED + track)
    assert [len(scene.at(time).positions) for time in (0.0, 1.0, 1.9, 2.0)] == [1, 0, 0, 1]


def test_scale_tracks_take_a_number_or_three(corner: Callable[..., list[list[float]]]) -> None:
    track = 'track = "t"\n[tracks.t]\nscale = [{ time = 0, value = 2 }, { time = 1, value = [3, 4, 5] }]\n'
    text = OBJECT_OF_RED.replace("[[0, 0, 0]", "[[1, 1, 1]") + track
    assert corner(text, 0.0) == [[2.0, 2.0, 2.0]]
    assert corner(text, 1.0) == [[3.0, 4.0, 5.0]]


def test_lights_move_with_their_group_and_their_track(read_text: Callable[[str], Scene]) -> None:
    text = """
[[light]]
position = [1, 0, 0]
intensity = 1
parent = "g"
track = "t"
[[group]]
name = "g"
scale = 2
[tracks.t]
translate = [{ time = 0, value = [0, 1, 0] }]
"""
    assert read_text(OBJECT_OF_RED + text).at(0.0).lights[0].position == (2.0, 2.0, 0.0)


# --- units and the upward axis ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("units", "metres"),
    [('"m"', 1), ('"cm"', 0.01), ('"mm"', 0.001), ('"inch"', 0.0254), ('"ft"', 0.3048), ("2.5", 2.5)],
)
def test_units(corner: Callable[..., list[list[float]]], units: str, metres: float) -> None:
    text = f"scene.units = {units}\n" + OBJECT_OF_RED.replace("[[0, 0, 0]", "[[1, 0, 0]")
    assert corner(text)[0][0] == pytest.approx(metres)


def test_z_up(read_text: Callable[[str], Scene]) -> None:
    text = """
[[light]]
position = [1, 2, 3]
intensity = 1
[cameras.c]
eye = [1, 2, 3]
forward = [0, 1, 0]
"""
    scene = read_text('scene.up = "z"\n' + OBJECT_OF_RED.replace("[[0, 0, 0]", "[[1, 2, 3]") + text)
    snapshot = scene.at(0.0)
    assert snapshot.positions[0, 0].tolist() == [1.0, 3.0, -2.0]
    assert snapshot.lights[0].position == (1.0, 3.0, -2.0)
    camera = snapshot.camera
    assert camera.eye == (1.0, 3.0, -2.0)
    assert np.allclose([camera.forward, camera.up], [[0, 0, -1], [0, 1, 0]])


def test_tracks_of_cameras_are_in_the_frame_of_the_file(read_text: Callable[[str], Scene]) -> None:
    text = """
[cameras.c]
eye = [0, 0, 0]
forward = [0, 1, 0]
[tracks.c]
interpolation = "linear"
translate = [{ time = 0, value = [100, 200, 300] }]
rotate = [{ time = 0, axis = [1, 0, 0], degrees = 90 }, { time = 1, axis = [0, 0, 1], degrees = 90 }]
"""
    scene = read_text('scene = { up = "z", units = "cm" }\n' + OBJECT_OF_RED + text)
    camera = scene.at(0.0).camera  # in the file: looks along y, z is up
    assert np.allclose(camera.eye, (1.0, 3.0, -2.0))
    assert np.allclose([camera.forward, camera.up], [[0, 0, -1], [0, 1, 0]])
    camera = scene.at(1.0).camera  # in the file: looks along -z, -x is up
    assert np.allclose([camera.forward, camera.up], [[0, -1, 0], [-1, 0, 0]], atol=1e-7)


def test_mesh_files_have_units_and_an_upward_axis_of_their_own(corner: Callable[..., list[list[float]]]) -> None:
    text = 'scene = {{ units = "cm", up = "{}" }}\n[[object]]\nfile = "m.obj"\nunits = "mm"\nup = "{}"\n'
    place = "matrix = [[1, 0, 0, 100], [0, 1, 0, 200], [0, 0, 1, 300], [0, 0, 0, 1]]\n"
    assert corner(text.format("y", "y") + place) == [[1.0, 2.0, 3.0]]
    assert corner(text.format("z", "z") + place) == [[1.0, 3.0, -2.0]]


@pytest.mark.parametrize(
    ("scene_up", "file_up", "third"),
    [("y", "y", [0, 0.001, 0]), ("y", "z", [0, 0, -0.001])] + [("z", "z", [0, 0, -0.001]), ("z", "y", [0, 0.001, 0])],
)
def test_upward_axes_of_mesh_files(
    read_text: Callable[[str], Scene], scene_up: str, file_up: str, third: list[float]
) -> None:
    text = (
        f'scene = {{ units = "cm", up = "{scene_up}" }}\n[[object]]\nfile = "m.obj"\nunits = "mm"\nup = "{file_up}"\n'
    )
    assert np.allclose(read_text(text).at(0.0).positions[0, 2], third, atol=1e-9)


def test_gltf_is_in_metres_with_y_up(read_text: Callable[[str], Scene], folder: Path) -> None:
    import trimesh

    mesh = trimesh.Trimesh(vertices=[[0, 0, 0], [1, 0, 0], [0, 1, 0]], faces=[[0, 1, 2]], process=False)
    (folder / "m.glb").write_bytes(trimesh.exchange.gltf.export_glb(mesh.scene()))
    scene = read_text('scene = { units = "cm", up = "z" }\n[[object]]\nfile = "m.glb"\n')
    assert np.allclose(scene.at(0.0).positions, [[[0, 0, 0], [1, 0, 0], [0, 1, 0]]])


# --- shapes -----------------------------------------------------------------------------------------------------------


def outward(snapshot: Snapshot) -> np.ndarray:
    """Of each triangle, how far its front side looks away from the origin."""
    p = snapshot.positions.astype(float)
    return np.einsum("ij,ij->i", np.cross(p[:, 1] - p[:, 0], p[:, 2] - p[:, 0]), p.mean(axis=1))


@pytest.mark.parametrize(
    "keys",
    [
        'shape = "sphere"',
        'shape = "box"',
        'shape = "box"\nbevel = 0.1',
        'shape = "box"\nsize = [1, 0.5, 2]',
        'shape = "cylinder"\nbase = [0, -1, 0]\napex = [0, 1, 0]',
    ],
)
def test_front_sides_look_outward_or_inward(read_text: Callable[[str], Scene], keys: str) -> None:
    text = RED + '[[object]]\nmaterial = "red"\n' + keys
    assert (outward(read_text(text).at(0.0)) > 0.0).all()
    assert (outward(read_text(text + "\ninside = true").at(0.0)) < 0.0).all()


def test_sizes_of_shapes(read_text: Callable[[str], Scene]) -> None:
    def bounds(keys: str) -> list[list[float]]:
        corners = read_text(RED + '[[object]]\nmaterial = "red"\n' + keys).at(0.0).positions.reshape(-1, 3)
        return np.round(
            [corners.min(axis=0), corners.max(axis=0)], 2
        ).tolist()  # round ones are as fine as they are seen

    assert bounds('shape = "box"\ncenter = [1, 2, 3]\nsize = [2, 4, 6]') == [[0, 0, 0], [2, 4, 6]]
    assert bounds('shape = "sphere"\ncenter = [1, 2, 3]\nradius = 2') == [[-1, 0, 1], [3, 4, 5]]
    assert bounds('shape = "cone"\nbase = [0, 0, 0]\napex = [0, 3, 0]\nbase_radius = 2') == [[-2, 0, -2], [2, 3, 2]]
    assert bounds('shape = "rectangle"\ncorner = [0, 1, 0]\nedges = [[2, 0, 0], [0, 0, -3]]') == [[0, 1, -3], [2, 1, 0]]


@pytest.mark.parametrize("inside", ["false", "true"])
def test_texture_coordinates_of_a_box_are_lengths(read_text: Callable[[str], Scene], inside: str) -> None:
    text = f'[[object]]\nmaterial = "red"\nshape = "box"\nsize = [1, 2, 3]\ninside = {inside}'
    snapshot = read_text(RED + text).at(0.0)
    edges, uv_edges = (
        np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=-1) for corners in (snapshot.positions, snapshot.uvs)
    )
    assert np.allclose(edges, uv_edges)


def test_pieces_of_a_profile_that_touch_have_one_point_there(read_text: Callable[[str], Scene]) -> None:
    can = "[[0, 0], { curve = [[0, 0], [1, 0]], steps = 1 }, { curve = [[1, 0], [1, 2]], steps = 2 }, [0, 2]]"
    snapshot = read_text(f'{RED}[[object]]\nmaterial = "red"\nshape = "lathe"\nprofile = {can}').at(0.0)
    assert len(snapshot.positions) == 64 * (1 + 2 * 2 + 1)
    volume = np.linalg.det(snapshot.positions.astype(float)).sum() / 6.0
    assert volume == pytest.approx(2.0 * 32.0 * np.sin(2.0 * np.pi / 64.0))


def test_the_bowl_of_the_manual_is_closed(read_text: Callable[[str], Scene]) -> None:
    bowl = re.search(r"```toml\n(# A bowl.*?)```", MANUAL.read_text(encoding="utf-8"), re.DOTALL)
    assert bowl is not None
    triangles = read_text(f"materials.clay = {{}}\n[[object]]\n{bowl[1]}").at(0.0).positions.astype(float)
    assert is_closed(triangles)
    assert 0.0 < volume(triangles) < 0.5 * np.pi * 7.0**2 * 6.0


def test_a_sheet_faces_the_right_of_its_profile(read_text: Callable[[str], Scene]) -> None:
    table = '[[object]]\nmaterial = "red"\nshape = "sheet"\nwidth = 4\nprofile = [[1, 0], [-1, 0]]'
    snapshot = read_text(RED + table).at(0.0)
    assert snapshot.normals.reshape(-1, 3).tolist() == [[0, 1, 0]] * 6
    assert np.ptp(snapshot.uvs, axis=(0, 1)).tolist() == [4, 2]


def test_segments_and_threes_of_vertices(read_text: Callable[[str], Scene]) -> None:
    text = RED + '[[object]]\nmaterial = "red"\nshape = "sphere"\nsegments = 10'
    assert read_text(text).document.triangles == 10 * 8
    assert read_text(OBJECT_OF_RED).document.triangles == 1


def test_normals_and_uvs_share_the_indices_of_triangles(read_text: Callable[[str], Scene]) -> None:
    more = "normals = [[0, 0, -1], [0, 0, -2], [0, -1, 0]]\nuvs = [[0, 0], [1, 0], [0, 0.5]]\n"
    snapshot = read_text(OBJECT_OF_RED + more).at(0.0)
    assert snapshot.normals[0].tolist() == [[0, 0, -1], [0, 0, -1], [0, -1, 0]]
    assert snapshot.uvs[0].tolist() == [[0, 0], [1, 0], [0, 0.5]]


def test_keyed_triangles_move_linearly_between_mesh_files_and_vertices(
    read_text: Callable[[str], Scene], folder: Path
) -> None:
    (folder / "n.obj").write_text("v 0 0 4\nv 1 0 4\nv 0 1 4\nf 1 2 3\n")
    keys = '[{ time = 1, vertices = [[0, 0, 0], [1, 0, 0], [0, 1, 0]] }, { time = 3, file = "n.obj" }]'
    scene = read_text(RED + f'[[object]]\nmaterial = "red"\nshape = "keyed"\nkeys = {keys}\n')
    assert [scene.at(time).positions[0, 0, 2] for time in (0.0, 1.0, 1.5, 3.0, 4.0)] == [0.0, 0.0, 1.0, 4.0, 4.0]
    assert np.allclose(scene.at(2.0).normals, [0.0, 0.0, 1.0])


def test_normals_of_keys_weigh_the_same_whatever_their_length(read_text: Callable[[str], Scene]) -> None:
    one = ONE_KEY.replace(" }", ", normals = [[0, 0, 2], [0, 0, 2], [0, 0, 2]] }")
    other = ONE_KEY.replace("time = 0", "time = 1").replace(" }", ", normals = [[0, 7, 0], [0, 7, 0], [0, 7, 0]] }")
    normals = read_text(red(KEYED + f"keys = [{one}, {other}]")).at(0.5).normals
    assert np.allclose(normals, [0.0, math.sqrt(0.5), math.sqrt(0.5)])


# --- instances and files ----------------------------------------------------------------------------------------------


def test_instances_share_their_mesh(read_text: Callable[[str], Scene]) -> None:
    text = """name = "t"
at = [[0, 0, 1], [0, 0, 2]]
translate = [1, 0, 0]
scale = 3
[materials.blue]
[[object]]
instance_of = "t"
translate = [5, 0, 0]
[[object]]
instance_of = "t"
material = "blue"
grid = { counts = [2, 1, 2], steps = [1, 7, 10] }
"""
    scene = read_text(OBJECT_OF_RED + text)
    document, snapshot = scene.document, scene.at(0.0)
    assert len({id(part.shape) for part in document.parts}) == 1
    assert document.stored_triangles == 1
    places = [[1, 0, 1], [1, 0, 2], [5, 0, 0], [0, 0, 0], [0, 0, 10], [1, 0, 0], [1, 0, 10]]
    assert snapshot.positions[:, 0].tolist() == places
    assert [snapshot.materials[index].name for index in snapshot.material_ids] == ["red"] * 3 + ["blue"] * 4


@pytest.mark.parametrize("name", ["m.obj", "plain.npz"])
def test_a_file_that_is_named_twice_is_read_once(read_text: Callable[[str], Scene], name: str) -> None:
    one = f'[[object]]\nfile = "{name}"\nmaterial = "red"\n'
    document = read_text(
        RED + "materials.blue = {}\n" + one + one.replace("red", "blue") + "translate = [1, 0, 0]\n"
    ).document
    assert document.parts[0].shape is document.parts[1].shape
    assert [document.materials[part.material].name for part in document.parts] == ["red", "blue"]


def test_files_bring_their_materials_and_textures(read_text: Callable[[str], Scene], folder: Path) -> None:
    (folder / "m.mtl").write_text("newmtl own\nKd 0.25 0.5 0.75\nmap_Kd t.png\n")
    text = "mtllib m.mtl\nv 0 0 0\nv 1 0 0\nv 0 1 0\nvt 0 0\nvt 1 0\nvt 0 1\nusemtl own\nf 1/1 2/2 3/3\n"
    (folder / "own.obj").write_text(text)
    file = '[materials.red]\ntexture = "t.png"\n[[object]]\nfile = "own.obj"\n'
    document = read_text(file).document
    [part] = document.parts
    index = part.shape.material if part.material is None else part.material
    material = document.materials[index]
    assert material.name == "own"
    assert index == 1
    assert material.texture == 1
    assert read_text(file + 'material = "red"\n').document.parts[0].material == 0


# --- errors -----------------------------------------------------------------------------------------------------------


def red(keys: str) -> str:
    """A file with one object of these keys."""
    return RED + "[[object]]\n" + keys


def sphere_with(keys: str) -> str:
    return red('shape = "sphere"\nmaterial = "red"\n' + keys)


#: A spot without the keys that it needs.
SPOT = "[[light]]\nkind = 'spot'\n"


def with_object(text: str) -> str:
    """A file with a good object before this text."""
    return OBJECT_OF_RED + text


def with_material(keys: str) -> str:
    """A file with a good object and a material of these keys."""
    return f"materials.a = {{ {keys} }}\n" + OBJECT_OF_RED


KEYED = 'shape = "keyed"\nmaterial = "red"\n'
ONE_KEY = "{ time = 0, vertices = [[0, 0, 0], [1, 0, 0], [0, 1, 0]] }"

BAD = [
    # texts, keys and what the message says
    ("colour = 1", "", 'unknown key "colour"; there are: "scene", "render", "animation"'),
    ("scene.nam = 'x'", "scene", 'unknown key "nam" (did you mean "name"?); there are: "name", "units", "up"'),
    ("scene = 3", "scene", "expected a table of name, units, up, background, ambient, got 3"),
    ("scene.name = 3", "scene.name", "expected a text, got 3"),
    ("scene.name = ''", "scene.name", "expected a text"),
    ("scene.units = 'km'", "scene.units", "expected one of m, cm, mm, inch, ft, or metres per unit"),
    ("scene.units = 0", "scene.units", "metres per unit, a number from 1e-06"),
    ("scene.up = 'x'", "scene.up", 'unknown word "x"; there are: "y", "z"'),
    ("scene.background = [1, 2]", "scene.background", "expected a number or a list of 3 numbers"),
    ("scene.background = [1, 2, true]", "scene.background[2]", "expected a number from 0 to 1e+09, got true"),
    ("scene.background = nan", "scene.background", "got nan"),
    ("scene.ambient = inf", "scene.ambient", "got inf"),
    ("scene.ambient = -1", "scene.ambient", "got -1"),
    ("render.passes = 0", "render.passes", "expected a whole number from 1 to 1000000, got 0"),
    ("render.passes = 1.5", "render.passes", "got 1.5"),
    ("render.passes = true", "render.passes", "got true"),
    ("render.size = [0, 5]", "render.size[0]", "expected a whole number from 1 to 16384, got 0"),
    ("render.size = [16384, 16384]", "render.size", "at most 67108864 pixels in all"),
    ("render.size = 5", "render.size", "expected [width, height]"),
    ("render.size = '40by30'", "render.size", 'or "WIDTHxHEIGHT", whole numbers from 1 to 16384'),
    ("render.photons = 0x" + "f" * 6000, "render.photons", "got a number of very many digits"),
    ("render.seed = -1", "render.seed", "from 0 to 18446744073709551615"),
    ("render.seed = 18446744073709551616", "render.seed", "from 0 to 18446744073709551615"),
    ("render.exposure = 65", "render.exposure", "from -64 to 64"),
    ("render.tone_map = 'linea'", "render.tone_map", 'did you mean "linear"?'),
    ("render.max_bounces = 1025", "render.max_bounces", "from 1 to 1024"),
    ("render.radius = 0", "render.radius", "from 1e-12"),
    ("render.driver = 1", "render.driver", "expected a name"),
    ("animation.frames = 0", "animation.frames", "from 1 to 10000000"),
    ("animation.start = 1979-05-27", "animation.start", "expected a number from -1e+30 to 1e+30, got a date"),
    ("materials = []", "materials", "expected tables [materials.NAME], got a list of 0"),
    ("[materials.a]\ndiffuse = 1.5", "materials.a.diffuse", "from 0 to 1, got 1.5"),
    ("[materials.a]\nspecular = [0, 2, 0]", "materials.a.specular", "from 0 to 1, got 2"),
    ("[materials.a]\ntransmittance = 1.01", "materials.a.transmittance", "from 0 to 1, got 1.01"),
    ("[materials.a]\nemission = -1", "materials.a.emission", "from 0 to"),
    ("[materials.a]\ntexture = 'x.png'", "materials.a.texture", 'no file "x.png" in'),
    ("[materials.a]\ntexture = 'm.obj'", "materials.a.texture", "ends in one of .png"),
    ("[materials.a]\nkind = 'metal'\nmetal = 'glod'", "materials.a.metal", 'did you mean "gold"?'),
    ("[materials.a]\nmetal = 'gold'", "materials.a.metal", 'expected kind = "metal" beside it, got the text "diffuse"'),
    ("[materials.a]\nkind = 'metal'\nmetal = 'gold'\nk = 2", "materials.a.metal", "either metal or eta and k"),
    ("[materials.a]\nkind = 'metal'\nk = 2", "materials.a.k", "expected eta beside it"),
    ("[materials.a]\nkind = 'metal'\neta = -1", "materials.a.eta", "from 0 to"),
    ("[materials.'a b']\nshine = -1", 'materials."a b".shine', "from 0 to"),
    ("[materials.a]\nioor = 1", "materials.a", 'did you mean "ior"?'),
    (red("material = 'red'"), "object[0]", "expected one of shape, file and instance_of, got none"),
    (red("file = 'm.obj'\nshape = 'box'"), "object[0]", "got shape and file"),
    (red("shape = 'ball'"), "object[0].shape", 'unknown word "ball"; there are: "sphere"'),
    (red("shape = 'sphere'"), "object[0]", "the key 'material' is missing"),
    (red("shape = 'sphere'\nmaterial = 'rde'"), "object[0].material", 'unknown material "rde" (did you mean "red"?)'),
    (sphere_with("hue = 1"), "object[0]", 'unknown key "hue"; there are: "name", "parent"'),
    (sphere_with("radius = 0"), "object[0].radius", "between 0 and 1e+09, got 0"),
    (sphere_with("segments = 7"), "object[0].segments", "expected an even number from 4 to 1024, got 7"),
    (sphere_with("inside = 1"), "object[0].inside", "expected true or false, got 1"),
    (sphere_with("center = [0, 2e9, 0]"), "object[0].center[1]", "from -1e+09 to 1e+09"),
    (
        sphere_with("center = 'x'"),
        "object[0].center",
        "expected a list of 3 numbers from -1e+09 to 1e+09, got the text",
    ),
    (sphere_with("parent = 'g'"), "object[0].parent", 'unknown group "g"; there are: none'),
    (sphere_with("track = 'g'"), "object[0].track", 'unknown track "g"; there are: none'),
    (
        sphere_with("rotate = { axis = [0, 0, 0], degrees = 3 }"),
        "object[0].rotate.axis",
        "expected an axis of some length",
    ),
    (sphere_with("rotate = [{ axis = [0, 1, 0] }]"), "object[0].rotate[0]", "the key 'degrees' is missing"),
    (sphere_with("rotate = 30"), "object[0].rotate", "expected a table of axis, degrees, or a list of such, got 30"),
    (sphere_with("matrix = [[1, 0, 0, 0]]"), "object[0].matrix", "expected a list of 4"),
    (
        sphere_with("matrix = [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [5, 0, 0, 1]]"),
        "object[0].matrix",
        "expected 0 0 0 1 as the last row, got 5 0 0 1",
    ),
    (
        sphere_with("scale = 2\nmatrix = [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]"),
        "object[0].matrix",
        "expected no scale beside a matrix",
    ),
    (sphere_with("at = []"), "object[0].at", "expected a list of 1 to 1000000"),
    (sphere_with("at = [0, 1, 0]"), "object[0].at[0]", "expected a list of 3 numbers"),
    (
        sphere_with("at = [[0, 1, 0]]\ngrid = { counts = [1, 1, 1], steps = [1, 1, 1] }"),
        "object[0].grid",
        "expected no grid beside at",
    ),
    (
        sphere_with("grid = { counts = [1000, 1000, 2], steps = [1, 1, 1] }"),
        "object[0].grid.counts",
        "at most 1000000 places in all",
    ),
    (
        sphere_with("name = 'a'") + "\n[[object]]\nname = 'a'\n" + TRIANGLE,
        "object[1].name",
        "object[0] has the name 'a'",
    ),
    (red("instance_of = 'a'"), "object[0].instance_of", 'unknown object "a"; there are: none'),
    (red("name = 'a'\ninstance_of = 'a'"), "object[0].instance_of", "is an instance itself"),
    (red("shape = 'cone'\nmaterial = 'red'\nbase = [0, 0, 0]"), "object[0]", "the key 'apex' is missing"),
    (
        red("shape = 'cone'\nmaterial = 'red'\nbase = [0, 0, 0]\napex = [0, 0, 0]"),
        "object[0].apex",
        "base and apex at different points",
    ),
    (red("shape = 'box'\nmaterial = 'red'\nsize = -1"), "object[0].size", "from 0 to 1e+09, got -1"),
    (red("shape = 'rectangle'\nmaterial = 'red'\nedges = [[1, 0, 0]]"), "object[0].edges", "expected a list of 2"),
    (
        red("shape = 'box'\nmaterial = 'red'\nsize = [1, 4, 4]\nbevel = 0.6"),
        "object[0].bevel",
        "half of the shortest edge, 0.5",
    ),
    (red(LATHE + "[[0, 0]]"), "object[0].profile", "at least two different points"),
    (red(LATHE + "[[1, 0], [1, 0]]"), "object[0].profile", "at least two different points"),
    (red(LATHE + "[[0, 0], [0, 1]]"), "object[0].profile", "points that make a surface"),
    (red(LATHE + "[[0, 0], [-1, 1]]"), "object[0].profile", "no point left of the axis, got -1"),
    (red(LATHE + "[[0, 0], 1]"), "object[0].profile[1]", "a point of 2 numbers, an arc or a curve, got 1"),
    (red(LATHE + "[[0, 0], [1, 2, 3]]"), "object[0].profile[1]", "a list of 2 numbers"),
    (red(LATHE + "[{ steps = 3 }]"), "object[0].profile[0]", "the key 'arc' is missing"),
    (red(LATHE + "[{ curve = [[1, 0]] }]"), "object[0].profile[0].curve", "a list of 2 to 1000"),
    (
        red(LATHE + "[{ arc = [1, 0], steps = 256 }" + 4 * ", { arc = [1, 0], steps = 256 }" + "]"),
        "object[0].profile[3]",
        "over 1000",
    ),
    (red(TRIANGLE + "triangles = [[0, 1, 3]]"), "object[0].triangles[0]", "index 3, but there are 3 (counted from 0)"),
    (red(TRIANGLE + "triangles = [[0, 1, -1]]"), "object[0].triangles[0]", "got [0, 1, -1]"),
    (
        red(TRIANGLE + "triangles = [[0, 1, 2], [0, 1]]"),
        "object[0].triangles[1]",
        "expected 3 of a whole number from 0",
    ),
    (red(TRIANGLE + "triangles = [[0, 1, 2.0]]"), "object[0].triangles[0]", "got [0, 1, 2.0]"),
    (red(TRIANGLE.replace("[1, 0, 0]", "[1, 0, nan]")), "object[0].vertices[1]", "got [1, 0, nan]"),
    (red(TRIANGLE.replace(", [0, 1, 0]", "")), "object[0]", "vertices by threes, got 2"),
    (red(TRIANGLE + "normals = [[0, 0, 1]]"), "object[0].normal_triangles[0]", "index 2, but there are 1"),
    (red(TRIANGLE + "normal_triangles = [[0, 0, 0]]"), "object[0].normal_triangles", "expected normals too"),
    (
        red(TRIANGLE + "uvs = [[0, 0]]\nuv_triangles = [[0, 0, 0], [0, 0, 0]]"),
        "object[0].uv_triangles",
        "expected as many as there are triangles, 1, got 2",
    ),
    (red(KEYED), "object[0]", "the key 'keys' is missing"),
    (red(KEYED + "keys = [{ time = 0 }]"), "object[0].keys[0]", "expected one of vertices and file, got neither"),
    (
        red(KEYED + 'keys = [{ time = 0, vertices = [[0, 0, 0]], file = "m.obj" }]'),
        "object[0].keys[0].vertices",
        "expected none beside file",
    ),
    (
        red(KEYED + f"keys = [{ONE_KEY.replace('0', '1', 1)}, {ONE_KEY}]"),
        "object[0].keys[1].time",
        "not before 1, got 0",
    ),
    (
        red(KEYED + f"keys = [{ONE_KEY}, {ONE_KEY.replace('[[', '[[0, 0, 0], [0, 0, 0], [0, 0, 0], [')}]"),
        "object[0].keys[1]",
        "expected 1 triangles as at the first key, got 2",
    ),
    (
        red(KEYED + f"keys = [{ONE_KEY.replace(' }', ', normals = [[0, 0, 1]] }')}]"),
        "object[0].keys[0].normals",
        "expected 3, one for each vertex, got 1",
    ),
    (red("file = 'x.obj'"), "object[0].file", 'no file "x.obj" in'),
    (
        red("file = 'x.xyz'"),
        "object[0].file",
        "ends in one of .obj .ply .stl .off .3mf .glb .gltf .obj.gz .ply.gz .npz",
    ),
    (red("file = 'm.obj'\nmesh = 'a'"), "object[0].mesh", "expected no mesh"),
    (red("file = 'm.npz'\nmesh = 'a'"), "object[0]", "the key 'material' is missing: .npz"),
    (red("file = 'm.npz'\nmesh = 'b'\nmaterial = 'red'"), "object[0].mesh", 'unknown mesh "b"; there are: "a"'),
    (red("file = 'm.npz'\nmaterial = 'red'"), "object[0].mesh", 'unknown mesh ""; there are: "a"'),
    (red("file = 'm.obj'\nunits = 'parsec'"), "object[0].units", "expected one of m, cm"),
    (with_object("[[group]]"), "group[0]", "the key 'name' is missing"),
    (with_object("[[group]]\nname = 'a'\nparent = 'a'"), "group[0].parent", "the group 'a' stands inside itself"),
    (
        with_object("[[group]]\nname = 'a'\nparent = 'b'\n[[group]]\nname = 'b'\nparent = 'a'"),
        "group[1].parent",
        "stands inside itself",
    ),
    (with_object("[[group]]\nname = 'a'\n[[group]]\nname = 'a'"), "group[1].name", "has the name 'a' already"),
    (with_object("[[group]]\nname = 'a'\nparent = 'c'"), "group[0].parent", 'unknown group "c"; there are: "a"'),
    (with_object("[[light]]\nposition = [0, 0, 0]"), "light[0]", "expected one of intensity and power, got neither"),
    (with_object("[[light]]\npower = 1\nintensity = 1"), "light[0]", "expected one of intensity and power, got both"),
    (with_object("[[light]]\npower = 1\ntrack = 'x'"), "light[0].track", "unknown track"),
    (with_object("[[light]]\nkind = 'lamp'"), "light[0].kind", 'unknown word "lamp"'),
    (with_object("[[light]]\nkind = 'spot'\npower = 1"), "light[0]", "the key 'direction' is missing"),
    (with_object(SPOT + "power = 1\ndirection = [0, 0, 0]"), "light[0].direction", "expected a direction of some"),
    (with_object(SPOT + "power = 1\ndirection = [1, 0, 0]\ninner_angle = 50"), "light[0].inner_angle", "at most outer"),
    (with_object(SPOT + "direction = [1, 0, 0]"), "light[0]", "expected one of intensity and power, got neither"),
    (with_object("[[light]]\nkind = 'distant'\npower = 1"), "light[0]", 'unknown key "power"'),
    ("environment = 3\n" + OBJECT_OF_RED, "environment", "expected a table"),
    (with_object("[environment]\nscale = 2"), "environment", "expected one of image, color and sky, got none"),
    (
        with_object("[environment]\nimage = 'a.png'\ncolor = 1"),
        "environment",
        "of image, color and sky, got image and color",
    ),
    (
        with_object("[environment]\nimage = 'a.tif'"),
        "environment.image",
        "ends in one of .exr .hdr .npy .pfm .rgbe .png .jpg .jpeg",
    ),
    (with_object("[environment]\nimage = 'a.npy'"), "environment.image", 'no file "a.npy"'),
    (with_object("[environment.sky]\nsun = [0, 0, 0]"), "environment.sky.sun", "a direction of some length"),
    (with_object("[environment]\ncolor = 1e6\nscale = 1e6"), "environment", "radiance of at most 1e+09, got 1e+12"),
    (with_object("[cameras.a]\neye = [0, 0, 0]"), "cameras.a", "expected one of target and forward, got neither"),
    (with_object("[cameras.a]\ntarget = [0, 0, 0]"), "cameras.a", "the key 'eye' is missing"),
    (with_object("[cameras.a]\neye = [0, 0, 0]\ntarget = [0, 1, 0]"), "cameras.a", "leave open how it is turned"),
    (with_object("[cameras.a]\neye = [0, 0, 0]\ntarget = [0, 0, 0]"), "cameras.a", "leave open how it is turned"),
    (
        with_object("[cameras.a]\neye = [0, 0, 0]\ntarget = [1, 0, 0]\naperture = 0.1"),
        "cameras.a",
        "its aperture needs a focus",
    ),
    (
        with_object("[cameras.a]\neye = [0, 0, 0]\ntarget = [1, 0, 0]\nvertical_fov = 180"),
        "cameras.a.vertical_fov",
        "between 0 and 180, got 180",
    ),
    (
        "scene.units = 'cm'\n"
        + with_object("track = 'c'\n[cameras.c]\neye = [0, 0, 0]\ntarget = [1, 0, 0]\n[tracks.c]"),
        "object[0].track",
        "a camera has this name",
    ),
    (with_object("[tracks.t]\nmove = []"), "tracks.t", 'unknown key "move"; there are: "interpolation", "translate"'),
    (with_object("[tracks.t]\ntranslate = []"), "tracks.t.translate", "expected a list of 1 to 1000000"),
    (with_object("[tracks.t]\ntranslate = [{ time = 0 }]"), "tracks.t.translate[0]", "the key 'value' is missing"),
    (with_object("[tracks.t]\ntranslate = [{ time = 0, value = 1 }]"), "tracks.t.translate[0].value", "a list of 3"),
    (
        with_object("[tracks.t]\nscale = [{ time = 1, value = 1 }, { time = 0, value = 1 }]"),
        "tracks.t.scale[1].time",
        "expected a time not before 1, got 0",
    ),
    (
        with_object("[tracks.t]\ninterpolation = 'linear'\nscale = [{ time = 1, value = 1, bias = 0 }]"),
        "tracks.t.scale[0]",
        "do nothing in a linear track",
    ),
    (
        with_object("[tracks.t]\ninterpolation = 'inner-spline'\nscale = [{ time = 1, value = 1 }]"),
        "tracks.t.scale",
        "expected at least 4 keys of an inner-spline, got 1",
    ),
    (
        with_object("[tracks.t]\nrotate = [{ time = 1, axis = [0, 0, 0], degrees = 5 }]"),
        "tracks.t.rotate[0].axis",
        "expected an axis of some length",
    ),
    (
        with_material('kind = "principled", metalnes = 1'),
        "materials.a",
        'unknown key "metalnes" (did you mean "metalness"?)',
    ),
    (with_material('kind = "plastic", metalness = 1'), "materials.a", 'unknown key "metalness"'),
    (with_material('kind = "velvet", metalness = 1'), "materials.a", 'unknown key "metalness"'),
    (
        with_material('kind = "principled", metalness = 1.5'),
        "materials.a.metalness",
        "expected a number from 0 to 1, got 1.5",
    ),
    (
        with_material('kind = "sheen", sheen = [1, 2, 0]'),
        "materials.a.sheen[1]",
        "expected a number from 0 to 1, got 2",
    ),
    (with_material('kind = "measured"'), "materials.a", "the key 'file' is missing"),
    (with_material('kind = "measured", file = "none.binary"'), "materials.a.file", 'no file "none.binary" in'),
    (with_material('kind = "measured", file = 3'), "materials.a.file", "expected a text, got 3"),
    (with_object("[tracks.t]\nvisible = [{ time = 1, value = 0 }]"), "tracks.t.visible[0].value", "true or false"),
    ("scene.name = 'nothing'", "", "there are no triangles"),
]


@pytest.mark.parametrize(("text", "keys", "expected"), BAD)
def test_errors_name_the_file_the_key_and_what_was_expected(
    read_text: Callable[[str], Scene], folder: Path, text: str, keys: str, expected: str
) -> None:
    with pytest.raises(SceneFileError) as caught:
        read_text(text)
    message = str(caught.value)
    place = f"{folder / 'scene.toml'}: {keys}: " if keys else f"{folder / 'scene.toml'}: "
    assert message.startswith(place)
    assert expected in message
    assert len(message.splitlines()) == 1


def test_unknown_keys_list_all_that_there_are(read_text: Callable[[str], Scene]) -> None:
    with pytest.raises(SceneFileError) as caught:
        read_text(sphere_with("radios = 2"))
    message = str(caught.value)
    assert 'unknown key "radios" (did you mean "radius"?)' in message
    for key in (*OBJECT.keys, *SHAPES["sphere"].keys):
        assert f'"{key.name}"' in message


def test_messages_stay_short(read_text: Callable[[str], Scene]) -> None:
    with pytest.raises(SceneFileError) as caught:
        read_text(RED + f"scene.units = '{'x' * 5000}'")
    assert len(caught.value.message) < 200
    with pytest.raises(SceneFileError) as caught:
        read_text(f"[materials.{'x' * 5000}]\nshine = -1")
    assert len(caught.value.message) < 200


@pytest.mark.parametrize(
    ("data", "line", "expected"),
    [
        (b"[scene]\nname = \n", 2, "is not TOML"),
        (b"[scene]\n\n[scene]\n", 3, "is not TOML"),
        (b"a = 1\nb = '\xff'\n", 2, "UTF-8"),
        (b"a = " + b"[" * 100_000, None, "is not TOML that can be read"),
        (b"a = " + b"9" * 5000, None, "is not TOML that can be read"),
        (b"", None, "empty"),
    ],
)
def test_what_is_not_toml(folder: Path, data: bytes, line: int | None, expected: str) -> None:
    (folder / "scene.toml").write_bytes(data)
    with pytest.raises(SceneFileError, match=expected) as caught:
        read(folder / "scene.toml")
    assert caught.value.line == line
    assert "\n" not in str(caught.value)


def test_sizes_are_bounded(read_text: Callable[[str], Scene], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scenes.toml_scene.mesh_files.MAX_TRIANGLES", 100)
    with pytest.raises(SceneFileError, match=r"object\[0\]: over 100 triangles"):
        read_text(sphere_with("segments = 12"))
    keys = ", ".join([ONE_KEY] * 101)
    with pytest.raises(SceneFileError, match=r"object\[0\]\.keys\[100\]: over 100 triangles"):
        read_text(red(KEYED + f"keys = [{keys}]"))
    monkeypatch.setattr("scenes.toml_scene.objects.MAX_PARTS", 7)
    with pytest.raises(SceneFileError, match=r"object\[0\]: over 7 meshes"):
        read_text(OBJECT_OF_RED + "grid = { counts = [2, 2, 2], steps = [1, 1, 1] }\n")
    monkeypatch.setattr("scenes.toml_scene.reader.MAX_FILE_BYTES", 20)
    with pytest.raises(SceneFileError, match="at most 20 are read"):
        read_text(OBJECT_OF_RED)


def test_groups_are_nested_200_deep(read_text: Callable[[str], Scene]) -> None:
    def nested(depth: int) -> str:
        rows = [f"[[group]]\nname = '{k}'\nparent = '{k + 1}'\n" for k in range(depth - 1)]
        return OBJECT_OF_RED + "parent = '0'\n" + "".join(rows) + f"[[group]]\nname = '{depth - 1}'\n"

    assert read_text(nested(200)).document.triangles == 1
    with pytest.raises(SceneFileError, match="nested deeper than 200"):
        read_text(nested(201))
    with pytest.raises(SceneFileError, match="nested deeper than 200"):
        read_text(nested(5000))


VERTICES, ONE = np.eye(3), np.array([[0, 1, 2]])


@pytest.mark.parametrize(
    ("arrays", "expected"),
    [
        ({"vertices": VERTICES}, "expected an array 'triangles', got vertices"),
        (
            {"vertices": VERTICES[:, :2], "triangles": ONE},
            r"vertices: expected an array of shape \(n, 3\), got \(3, 2\)",
        ),
        ({"vertices": VERTICES.astype(int), "triangles": ONE}, "vertices: expected floating point numbers, got int64"),
        ({"vertices": VERTICES * np.nan, "triangles": ONE}, "vertices: expected finite numbers"),
        ({"vertices": VERTICES, "triangles": ONE.astype(float)}, "triangles: expected whole numbers, got float64"),
        ({"vertices": VERTICES, "triangles": ONE + 1}, "triangles: indices reach from 1 to 3, but there are 3"),
        ({"vertices": VERTICES, "triangles": ONE - 1}, "triangles: indices reach from -1"),
        ({"vertices": VERTICES, "triangles": ONE[:0]}, "triangles: expected some rows"),
        ({"vertices": VERTICES, "triangles": ONE, "normals": VERTICES}, "expected an array 'normal_triangles'"),
        (
            {"vertices": VERTICES, "triangles": ONE, "uvs": VERTICES[:, :2], "uv_triangles": np.repeat(ONE, 2, axis=0)},
            "uv_triangles: expected as many as there are triangles, 1, got 2",
        ),
        ({"times": np.zeros(1)}, "expected an array 'positions'"),
        (
            {"times": np.zeros(1), "positions": np.zeros((1, 1, 3, 3)), "normals": np.full((1, 1, 3, 3), 2.0)},
            "normals: expected normals of length 1 or 0",
        ),
        ({"vertices": np.array([{}]), "triangles": ONE}, "is not a readable .npz file"),
    ],
)
def test_bad_arrays(read_text: Callable[[str], Scene], folder: Path, arrays: dict, expected: str) -> None:
    np.savez(folder / "bad.npz", **arrays)
    with pytest.raises(SceneFileError, match=expected) as caught:
        read_text(red("file = 'bad.npz'\nmaterial = 'red'"))
    assert str(caught.value).startswith(str(folder / "bad.npz"))


def test_arrays_that_claim_too_much(read_text: Callable[[str], Scene], folder: Path) -> None:
    text = red("file = 'bad.npz'\nmaterial = 'red'")
    np.savez_compressed(folder / "bad.npz", vertices=VERTICES, triangles=ONE)
    with pytest.raises(SceneFileError, match="is compressed"):
        read_text(text)
    header = {"descr": "<f8", "fortran_order": False, "shape": (10**9, 3)}
    with zipfile.ZipFile(folder / "bad.npz", "w") as archive, archive.open("vertices.npy", "w") as file:
        np.lib.format.write_array_header_1_0(file, header)
    with pytest.raises(SceneFileError, match=r"is not a readable \.npz file"):
        read_text(text)
    (folder / "bad.npz").write_bytes(b"PK\x03\x04 nothing")
    with pytest.raises(SceneFileError, match=r"is not a readable \.npz file"):
        read_text(text)


def mutated(tables: dict, generator: random.Random) -> dict:
    """The tables with a key dropped, renamed or of another type."""
    tables = copy.deepcopy(tables)
    places = list(holders(tables))
    holder, key = generator.choice(places)
    others = (None, 0, -1, 1.5, True, "x", [], {}, [1, 2, 3], [[0, 0, 0]], {"time": 0}, math.nan, 1e300, 2**80, "move")
    value = holder.pop(key)
    action = generator.randrange(4)
    if action == 1:
        holder[key + "s"] = value
    elif action == 2:
        holder[generator.choice(places)[1]] = value
    elif action == 3:
        holder[key] = generator.choice(others[1:])
    return tables


def holders(value: object) -> Iterator[tuple[dict, str]]:
    """Every table with each of its keys."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield value, key
            yield from holders(item)
    elif isinstance(value, list):
        for item in value:
            yield from holders(item)


def test_mutated_files_give_a_scene_or_one_line(
    folder: Path, monkeypatch: pytest.MonkeyPatch, read_text: Callable[[str], Scene]
) -> None:
    tables, generator = tomllib.loads(EVERYTHING), random.Random(1)
    messages = []
    for _ in range(250):
        changed = mutated(tables, generator)
        monkeypatch.setattr("scenes.toml_scene.reader.parse", lambda path, changed=changed: changed)
        try:
            read(folder / "scene.toml").at(1.5)
        except SceneFileError as error:
            messages.append(str(error))
    assert 20 < len(messages) < 230
    assert all(len(message.splitlines()) == 1 and str(folder) in message for message in messages)


# --- written and read again -------------------------------------------------------------------------------------------


def shapes_of_keys(generator: np.random.Generator, count: int) -> np.ndarray:
    return generator.uniform(-1.0, 1.0, (count, 3))


def animated_document() -> Document:
    """A document with all that one can have, of random numbers of full length."""
    generator = np.random.default_rng(3)
    floats = generator.normal
    times = np.array([3.0, -1.0, 0.1, 1.7, 2.9, 2.9])
    spline = VectorTrack(times, floats(size=(6, 3)), shapes_of_keys(generator, 6))
    turns = RotationTrack(np.sort(times), floats(size=(6, 3)), floats(size=6) * 300.0, shapes_of_keys(generator, 6))
    seen = VisibilityTrack(np.array([0.5, 1.5]), np.array([False, True]))
    plain = rectangle((0.1, 0.2, 0.3), floats(size=3), floats(size=3), 1)
    separate = replace(
        plain,
        normals=floats(size=(5, 3)),
        normal_triangles=np.array([[4, 0, 1], [2, 2, 3]], dtype=np.int32),
        uvs=floats(size=(4, 2)) * 10.0,
        uv_triangles=np.array([[3, 1, 0], [2, 2, 1]], dtype=np.int32),
        material=2,
    )
    ball = sphere(floats(size=3), 0.7, 0, 8)
    directions = floats(size=(4, 2, 3, 3))
    directions /= np.linalg.norm(directions, axis=-1, keepdims=True)
    keyed = KeyedTriangles(np.array([0.0, 0.3, 0.3, 2.2]), floats(size=(4, 2, 3, 3)), directions, 1)

    def matrix() -> np.ndarray:
        return np.vstack([floats(size=(3, 4)), [0.0, 0.0, 0.0, 1.0]])

    fixed = WORLD.inner(matrix=matrix())
    moved = fixed.inner(track="move").inner(matrix=matrix())
    return Document(
        parts=[
            Part(plain),
            Part(ball, fixed),
            Part(ball, moved, material=3),
            Part(separate, moved),
            Part(keyed, WORLD.inner(track="blink")),
            Part(ball, WORLD.inner(matrix=matrix(), track="none")),
            Part(plain, moved.inner()),
            Part(plain, WORLD.inner(matrix=matrix(), track="move")),
        ],
        lights=[
            PointSource(floats(size=3), (1.5, 0.1, 7.0), moved, track="move"),
            PointSource(floats(size=3), (0.3, 1 / 3, 0.0), fades=False),
            SpotSource(floats(size=3), floats(size=3), (1.0, 0.1, 1 / 3), 12.3, 45.6, moved, track="move"),
            DistantSource(floats(size=3), (1.0, 2.0, 1 / 3), 0.27, moved),
        ],
        environment=EnvironmentSource(floats(size=(2, 3, 3)).astype(np.float32) ** 2, moved),
        materials=[
            Material(
                name="same", kind="nff", diffuse=(1.2, 0.1, 0.2), specular=(0.3, 0.3, 1 / 3), exponent=12.5, ior=-1.0
            ),
            Material(name="same", emission=(1.0, 2.0, 3.0)),
            Material(name='odd "name"\n\x7f\udcff é', backdrop=(0.1, 0.2, 0.3), texture=1),
            Material(name="", kind="dielectric", transmittance=0.9, ior=1.333, transmission_map=2, bump_map=1),
            Material(name="all", kind="metal", specular_map=0, roughness_map=3, normal_map=2, normal_scale=1 / 3),
            Material(
                name="measured", kind="metal", specular=(1.0, 0.9, 1 / 3), eta=(0.1, 0.2, 1 / 3), k=(3.0, 0.1, 2.0)
            ),
            Material(name="car", kind="principled", metalness_map=3, own={"metalness": 1 / 3, "coat": 0.1}),
            Material(name="cloth", kind="sheen", own={"sheen": (0.1, 0.2, 1 / 3)}),
            Material(name="screen", emission=(1.0, 1.0, 1.0), emission_map=2, cutout=0, bump_scale=1 / 7),
        ],
        textures=[
            Texture(name="a.ppm", pixels=generator.integers(0, 256, (3, 2, 3), dtype=np.uint8)),
            Texture(name="b", pixels=generator.integers(0, 256, (2, 3, 3), dtype=np.uint8), is_linear=True),
            Texture(name="c", pixels=generator.integers(0, 256, (2, 3, 3), dtype=np.uint8), wrap="clamp", filter="mip"),
            Texture(name="d", pixels=generator.integers(0, 256, (1, 3, 3), dtype=np.uint8), filter="nearest"),
        ],
        tracks={
            "move": Track(transl=spline, rot=turns, scale=spline),
            "blink": Track(visibility=seen),
            "front": Track(transl=spline, rot=turns),
            "idle": Track(),
        },
        cameras={
            "side view": Camera(eye=(0.1, 0.2, 9.3), forward=(0.6, 0.0, -0.8), up=(0.0, 1.0, 0.0), vertical_fov=33.3),
            "front": Camera(
                eye=(1.0, 2.0, 3.0),
                forward=(0.0, 0.0, -1.0),
                up=(0.0, 1.0, 0.0),
                vertical_fov=40.0,
                near=0.1,
                resolution=(31, 17),
                aperture=0.03,
                focus=2.7,
                height=1.9,
            ),
        },
        background=(0.1, 0.2, 1 / 3),
        ambient=(0.9, 1.0, 1.1),
        animation=AnimationRange(start=-0.5, end=2.5, frames=7),
        settings={"driver": "path", "size": (20, 10), "radius": 0.1, "seed": 3},
    )


def assert_same(first: Snapshot, second: Snapshot) -> None:
    """Raises unless two snapshots agree bit by bit, but for the names of materials and the places of textures."""
    for name in ("positions", "normals", "uvs", "material_ids"):
        a, b = getattr(first, name), getattr(second, name)
        assert a.dtype == b.dtype
        assert a.tobytes() == b.tobytes(), name
    for a, b in zip(first.materials, second.materials, strict=True):
        none = dict.fromkeys(PICTURES, -1)
        assert replace(a, name="", own=numbers(a), **none) == replace(b, name="", own=numbers(b), **none)
        assert a.pictures.keys() == b.pictures.keys()
        for field, index in a.pictures.items():
            one, other = first.textures[index], second.textures[b.pictures[field]]
            assert np.array_equal(one.pixels, other.pixels)
            assert (one.wrap, one.filter, one.is_linear) == (other.wrap, other.filter, other.is_linear)
    assert first.lights == second.lights
    assert (first.environment is None) == (second.environment is None)
    if first.environment is not None:
        assert np.array_equal(first.environment.radiance, second.environment.radiance)
        assert np.array_equal(first.environment.axes, second.environment.axes)
    assert list(first.cameras.items()) == list(second.cameras.items())
    assert (first.background, first.name, first.camera) == (second.background, second.name, second.camera)


def numbers(material: Material) -> dict[str, Any]:
    """What only materials of its kind have, but for files."""
    return {name: value for name, value in material.own.items() if not isinstance(value, str)}


def written(scene: Scene, folder: Path) -> Scene:
    write(scene, folder / "written.toml")
    return read(folder / "written.toml")


def test_an_animated_scene_is_read_as_it_was_written(tmp_path: Path) -> None:
    scene = scene_of("all of it", animated_document())
    again = written(scene, tmp_path)
    for time in (-0.5, 1.0, 2.1, 2.9):
        assert_same(scene.at(time), again.at(time))
    assert again.animation == scene.animation
    assert again.document.settings == scene.document.settings
    assert again.document.ambient == scene.document.ambient
    assert again.moving_triangles == scene.moving_triangles
    twice = written(again, tmp_path)
    assert_same(twice.at(1.0), scene.at(1.0))


def test_files_of_materials_are_written_beside_the_scene(read_text: Callable[[str], Scene], tmp_path: Path) -> None:
    scene = read_text(with_material('kind = "measured", file = "t.png"'))
    (path,) = (material.own["file"] for material in written(scene, tmp_path).document.materials if material.own)
    assert Path(path).parent == tmp_path
    assert Path(path).read_bytes() == Path(scene.document.materials[0].own["file"]).read_bytes()


def test_files_of_materials_are_those_of_the_folder(read_text: Callable[[str], Scene], tmp_path: Path) -> None:
    (tmp_path.parent / "elsewhere.binary").write_bytes(b"x")
    (tmp_path / "scene.toml").write_text(with_material('kind = "measured", file = "../elsewhere.binary"'))
    with pytest.raises(SceneFileError, match=r"materials\.a\.file: .* lies outside of the folder"):
        load(tmp_path / "scene.toml")
    scene = load(tmp_path / "scene.toml", allow_outside=True)
    assert any(path.name == "elsewhere.binary" for path in scene.files)


def test_meshes_are_written_once_and_shared_again(tmp_path: Path) -> None:
    scene = scene_of("all of it", animated_document())
    parts = written(scene, tmp_path).document.parts
    assert [id(part.shape) for part in scene.document.parts].count(id(scene.document.parts[1].shape)) == 3
    assert parts[1].shape is parts[2].shape is parts[5].shape
    assert len({id(part.shape) for part in parts}) == 4
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == [
        "written-0.png",
        "written-1.png",
        "written-2.png",
        "written-3.png",
        "written-environment.npy",
        "written-meshes.npz",
        "written.toml",
    ]


@pytest.mark.parametrize("name", ["cornell"])
def test_shipped_scenes_are_read_as_they_were_written(tmp_path: Path, name: str) -> None:
    scene = load(name)
    again = written(scene, tmp_path)
    for time in (0.0, 0.5, 1.0):
        assert_same(scene.at(time), again.at(time))


def test_scenes_of_this_format_are_read_as_they_were_written(read_text: Callable[[str], Scene], tmp_path: Path) -> None:
    scene = read_text(EVERYTHING)
    again = written(scene, tmp_path)
    for time in (0.0, 0.7, 9.5):
        assert_same(scene.at(time), again.at(time))
    assert again.document.settings == scene.document.settings


def test_what_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(WriteError, match=r"cannot write .*: No such file"):
        write(load("cornell"), tmp_path / "none" / "x.toml")


# --- the manual -------------------------------------------------------------------------------------------------------


def test_the_manual_has_the_keys_of_the_schema_and_no_others() -> None:
    text = MANUAL.read_text(encoding="utf-8")
    assert with_tables(text) == text
    titles = re.findall(r"<!-- keys of (.+?) -->", text)
    rows = {row.title: row for row in TABLES}
    covered = {
        title: [rows[title]] if title in rows else [row for row in TABLES if row.title.startswith(f"{title} = ")]
        for title in titles
    }
    assert sorted(row.title for own in covered.values() for row in own) == sorted(rows)
    for block, title in zip(re.findall(r"<!-- keys of .+?<!-- end -->", text, re.DOTALL), titles, strict=True):
        names = re.findall(r"^\| `(\w+)` \|", block, re.MULTILINE)
        assert names == [key.name for row in covered[title] for key in row.keys]


def test_the_example_of_the_manual_is_a_scene(read_text: Callable[[str], Scene]) -> None:
    example = re.search(r"```toml\n(.*?)```", MANUAL.read_text(encoding="utf-8"), re.DOTALL)
    assert example is not None
    scene = read_text(example[1])
    lamp = [scene.at(time).positions[scene.at(time).material_ids == 6].mean(axis=(0, 1)) for time in (0.0, 1.0)]
    assert np.allclose(lamp[0], [-0.2 - math.sin(math.radians(15)), 2.8 - math.cos(math.radians(15)), 0.0], atol=1e-3)
    assert np.allclose(lamp[1], [-0.2 + math.sin(math.radians(15)), 2.8 - math.cos(math.radians(15)), 0.0], atol=1e-3)


def test_the_error_in_the_manual_is_the_one_that_comes(read_text: Callable[[str], Scene]) -> None:
    [line] = re.findall(r"^hall\.toml: (object.*)$", MANUAL.read_text(encoding="utf-8"), re.MULTILINE)
    objects = ("[[object]]\n" + TRIANGLE) * 3 + "[[object]]\n" + TRIANGLE.replace("red", "rde")
    with pytest.raises(SceneFileError) as caught:
        read_text(RED + "materials.white = {}\n" + objects)
    assert caught.value.message == line
