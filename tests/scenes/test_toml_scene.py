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
from data_files import data_text, messages
from PIL import Image
from solids import is_closed, volume

from scenes import Scene, SceneFileError, Snapshot, load
from scenes.files.written_file import WriteError
from scenes.keys.tables import Table
from scenes.keys.values import Key
from scenes.lights import SpotLight
from scenes.model import PICTURES, Material
from scenes.motion.tracks import VectorTrack
from scenes.toml_scene import keys as tables
from scenes.toml_scene import read
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
    if isinstance(value, dict):
        yield from value
        for item in value.values():
            yield from keys_in(item)
    elif isinstance(value, list):
        for item in value:
            yield from keys_in(item)


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
    instead_of_others = {
        "color",
        "sky",
        *(key.name for key in tables.TABLES["environment.sky"].keys),
    }  # of an environment's image
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


ROUND = data_text("toml/turning-lights.toml")


def test_lights_turn_with_their_group(read_text: Callable[[str], Scene]) -> None:
    scene = read_text(RED + ROUND + "[[object]]\n" + TRIANGLE)
    (spot, sun), (turned, same) = scene.at(0.0).lights, scene.at(1.0).lights
    assert isinstance(spot, SpotLight)
    assert isinstance(turned, SpotLight)
    assert np.allclose((spot.position, spot.direction), [(2, 0, 0), (1, 0, 0)])
    assert np.allclose((turned.position, turned.direction), [(0, 1, -2), (0, 0, -1)])
    assert sun == same
    assert np.allclose(sun.direction, (0, -1, 0))
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


def test_scaled_then_turned_then_shifted(corner: Callable[..., list[list[float]]]) -> None:
    place = "translate = [10, 0, 0]\nrotate = { axis = [0, 0, 3], degrees = 90 }\nscale = [2, 1, 1]\n"
    shape = TRIANGLE.replace("[0, 0, 0]", "[1, 0, 0]")
    assert corner(RED + "[[object]]\n" + shape + place) == [[10.0, 2.0, 0.0]]


def test_the_first_turn_is_done_first(corner: Callable[..., list[list[float]]]) -> None:
    turns = "rotate = [{ axis = [0, 0, 1], degrees = 90 }, { axis = [1, 0, 0], degrees = 90 }]\n"
    shape = TRIANGLE.replace("[0, 0, 0]", "[1, 0, 0]")  # x -> y -> z
    assert corner(RED + "[[object]]\n" + shape + turns) == [[0.0, 0.0, 1.0]]


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


def test_a_spline_reaches_its_ends_and_sets_off_at_half_the_mean_speed(corner):
    text = moving(at_x(1, 0), at_x(3, 1))
    assert [corner(text, time)[0][0] for time in (-9, 1, 2, 3, 9)] == [0.0, 0.0, 0.5, 1.0, 1.0]
    u = 0.25  # Hermite with both tangents half the step
    assert corner(text, 1.5)[0][0] == pytest.approx(3 * u**2 - 2 * u**3 + 0.5 * (u**3 - 2 * u**2 + u + u**3 - u**2))


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


@pytest.mark.parametrize(
    ("units", "metres"),
    [('"m"', 1), ('"cm"', 0.01), ('"mm"', 0.001), ('"inch"', 0.0254), ('"ft"', 0.3048), ("2.5", 2.5)],
)
def test_units(corner: Callable[..., list[list[float]]], units: str, metres: float) -> None:
    text = f"scene.units = {units}\n" + OBJECT_OF_RED.replace("[[0, 0, 0]", "[[1, 0, 0]")
    assert corner(text)[0][0] == pytest.approx(metres)


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


def test_gltf_is_in_metres_with_y_up(read_text: Callable[[str], Scene], folder: Path) -> None:
    import trimesh

    mesh = trimesh.Trimesh(vertices=[[0, 0, 0], [1, 0, 0], [0, 1, 0]], faces=[[0, 1, 2]], process=False)
    (folder / "m.glb").write_bytes(trimesh.exchange.gltf.export_glb(mesh.scene()))
    scene = read_text('scene = { units = "cm", up = "z" }\n[[object]]\nfile = "m.glb"\n')
    assert np.allclose(scene.at(0.0).positions, [[[0, 0, 0], [1, 0, 0], [0, 1, 0]]])


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


def red(keys: str) -> str:
    return RED + "[[object]]\n" + keys


def sphere_with(keys: str) -> str:
    return red('shape = "sphere"\nmaterial = "red"\n' + keys)


#: A spot without the keys that it needs.
SPOT = "[[light]]\nkind = 'spot'\n"


def with_material(keys: str) -> str:
    """A file with a good object and a material of these keys."""
    return f"materials.a = {{ {keys} }}\n" + OBJECT_OF_RED


KEYED = 'shape = "keyed"\nmaterial = "red"\n'
ONE_KEY = "{ time = 0, vertices = [[0, 0, 0], [1, 0, 0], [0, 1, 0]] }"

#: What $WORD stands for in the file of messages.
WORDS = {
    "object": OBJECT_OF_RED,
    "spot": SPOT,
    "sphere": sphere_with(""),
    "lathe": red(LATHE),
    "triangle": red(TRIANGLE),
    "keyed": red(KEYED),
    "red": red(""),
    "key": ONE_KEY,
}
DIGITS = ("render.photons = 0x" + "f" * 6000, "render.photons", "got a number of very many digits")


@pytest.mark.parametrize(("text", "keys", "expected"), [*messages("toml", WORDS), DIGITS])
def test_errors_name_the_file_the_key_and_what_was_expected(read_text, folder, text, keys, expected):
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
    for key in (*tables.TABLES["object"].keys, *tables.TABLES['object with shape = "sphere"'].keys):
        assert f'"{key.name}"' in message


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


@pytest.mark.parametrize(
    ("table", "arrays", "expected"),
    [
        ("file = 't.npz'", {"t.translate": np.zeros((4, 7))}, ""),
        ("file = 't.npz'", {"s.translate": np.zeros((4, 7))}, r'scene.toml: tracks.t.file: unknown track "t"'),
        ("file = 't.npz'", {"t.turn": np.zeros((4, 7))}, r't.npz: t: unknown part of a track "turn"'),
        ("file = 't.npz'", {"t.rotate": np.zeros((4, 7))}, r"t.npz: t.rotate: expected an array of shape \(n, 8\)"),
        ("file = 't.npz'", {"t.scale": np.eye(2, 7)}, r"t.npz: t.scale\[1\].time: expected a time not before"),
        ("file = 't.npz'\nscale = [{ time = 0, value = 1 }]", {}, r"tracks.t.file: expected no scale beside a file"),
        ("file = 't.toml'", {}, r"tracks.t.file: expected a file that ends in one of .npz"),
    ],
)
def test_tracks_of_a_file(
    read_text: Callable[[str], Scene], folder: Path, table: str, arrays: dict, expected: str
) -> None:
    np.savez(folder / "t.npz", **arrays)
    text = f"{OBJECT_OF_RED}track = 't'\n[tracks.t]\n{table}\n"
    if not expected:
        assert read_text(text).document.tracks["t"].transl is not None
        return
    with pytest.raises(SceneFileError, match=expected):
        read_text(text)


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
    if isinstance(value, dict):
        for key, item in value.items():
            yield value, key
            yield from holders(item)
    elif isinstance(value, list):
        for item in value:
            yield from holders(item)


def test_mutated_files_give_a_scene_or_one_line(folder, monkeypatch, read_text):
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


def test_what_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(WriteError, match=r"cannot write .*: No such file"):
        write(load("cornell"), tmp_path / "none" / "x.toml")
