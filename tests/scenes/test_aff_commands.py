"""Each command of AFF and NFF, and the traps of the format."""

import math

import numpy as np
import pytest

from scenes import load
from scenes.meshes.geometry import areas, double_area_normals
from scenes.playing.lamp_distances import lamp_distances

TRIANGLE = "p 3  0 0 0  1 0 0  0 1 0\n"
FLAT = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
LINE = "  -1 {0}  0 0 0   0 {0}  0 0 0   1 {1}  0 0 0   2 {1}  0 0 0\n"


def track(name, start="0 0 0", end="1 0 0", block="transl"):
    return f"k {name} {{ {block} 4\n{LINE.format(start, end)} }}\n"


def test_polygon_is_a_fan(snap):
    picture = snap("p 4  0 0 0  1 0 0  1 1 0  0 1 0")
    assert picture.positions.tolist() == [[[0, 0, 0], [1, 0, 0], [1, 1, 0]], [[0, 0, 0], [1, 1, 0], [0, 1, 0]]]
    assert (picture.normals == [0, 0, 1]).all()
    assert picture.positions.dtype == picture.normals.dtype == picture.uvs.dtype == np.float32
    assert picture.material_ids.dtype == np.int32


def test_a_polygon_that_crosses_itself_is_noted(read):
    notes = read("p 4 0 0 0 1 1 0 1 0 0 0 1 0\n").document.notes.lines
    assert [line.partition(": ")[2] for line in notes] == ["a polygon that crosses itself is cut somehow"]


def test_textured_triangle(snap):
    picture = snap("tt t.ppm  0 0 0 0 0.5  1 0 0 1 0.5  0 1 0 0 0.75")
    assert picture.uvs.tolist() == [[[0, 0.5], [1, 0.5], [0, 0.75]]]
    assert picture.materials[picture.material_ids[0]].texture == 0
    assert picture.textures[0].name == "t.ppm"


@pytest.mark.parametrize(("radius", "sign"), [("2", 1.0), ("-2", -1.0)])
def test_sphere(snap, radius, sign):
    picture = snap(f"s 1 2 3 {radius}")
    outward = picture.positions - np.array([1, 2, 3], dtype=np.float32)
    assert np.allclose(np.linalg.norm(outward, axis=-1), 2.0, atol=1e-6)
    assert np.allclose(picture.normals, sign * outward / 2.0, atol=1e-6)
    a, b, c = np.moveaxis(outward.astype(np.float64), 1, 0)
    volume = np.sum(a * np.cross(b, c)) / 6.0
    assert volume == pytest.approx(sign * 4 / 3 * math.pi * 8, rel=0.03)


@pytest.mark.parametrize(("radii", "sign"), [(("2", "1"), 1.0), (("-2", "-1"), -1.0)])
def test_cone(snap, radii, sign):
    picture = snap(f"c 0 0 0 {radii[0]}  0 3 0 {radii[1]}")
    slant = math.hypot(3, 1)
    assert areas(picture.positions).sum() == pytest.approx(math.pi * 3 * slant, rel=0.01)
    spoke = picture.positions * [1, 0, 1]
    radius = np.linalg.norm(spoke, axis=-1, keepdims=True)
    expected = (spoke / radius * 3 + np.array([0, 1, 0])) / slant
    assert np.allclose(picture.normals, sign * expected, atol=1e-6)
    winding = double_area_normals(picture.positions.astype(np.float64))
    assert (np.sum(winding * picture.normals.mean(axis=1), axis=-1) > 0).all()


@pytest.mark.parametrize("axis", ["1 0 0", "0 0 -2", "1 1 1"])
def test_cylinder_along_any_axis(snap, axis):
    picture = snap(f"c 0 0 0 1  {axis} 1")
    direction = np.array([float(x) for x in axis.split()])
    assert np.allclose(picture.normals @ direction, 0.0, atol=1e-6)


def test_mesh_indices_are_independent_and_grouped_by_kind(snap):
    picture = snap(
        "m vertices 4  0 0 0  1 0 0  1 1 0  0 1 0  normals 2  0 0 1  0 1 0  texturecoords 3 t.ppm  0 0  0.5 0  0 0.25\n"
        "triangles 2  0 1 2  0 0 1  2 1 0   3 2 1  1 1 0  0 0 2"
    )
    assert picture.positions[1].tolist() == [[0, 1, 0], [1, 1, 0], [1, 0, 0]]
    assert picture.normals[0].tolist() == [[0, 0, 1], [0, 0, 1], [0, 1, 0]]
    assert picture.normals[1].tolist() == [[0, 1, 0], [0, 1, 0], [0, 0, 1]]
    assert picture.uvs[0].tolist() == [[0, 0.25], [0.5, 0], [0, 0]]
    assert picture.uvs[1].tolist() == [[0, 0], [0, 0], [0, 0.25]]


def test_nff_material(snap):
    material = snap("f 1 0.5 0.25 0.8 0.3 12 0.5 1.5\n" + TRIANGLE).materials[0]
    assert material.kind == "nff"
    assert material.diffuse == (0.8, 0.4, 0.2)
    assert material.specular == (0.3, 0.3, 0.3)
    assert (material.exponent, material.transmittance, material.ior) == (12.0, 0.5, 1.5)


def test_aff_material_keeps_its_numbers_without_ambient(snap):
    material = snap("fm 9 9 9  .9 .8 .7  .6 .5 .4  20 0.85 0\n" + TRIANGLE).materials[0]
    assert (material.diffuse, material.specular) == ((0.9, 0.8, 0.7), (0.6, 0.5, 0.4))
    assert (material.exponent, material.transmittance, material.ior) == (20.0, 0.85, 0.0)
    assert material.name == "scene.aff:1"


def test_a_surface_of_ambient_alone_is_a_backdrop_in_the_ambient_light(snap):
    view = "fm .4 .3 .2  0 0 0  0 0 0  0 0 0\n"
    assert snap(view + TRIANGLE).materials[0].backdrop == (0.4, 0.3, 0.2)
    lit = snap(view + TRIANGLE + "am 2 1 0.5").materials[0]
    assert lit.backdrop == pytest.approx((0.8, 0.3, 0.1))
    assert lit.diffuse == (0.0, 0.0, 0.0)


@pytest.mark.parametrize("more", [".1 0 0  0 0 0  0 0 0", "0 0 0  0 .1 0  0 0 0", "0 0 0  0 0 0  0 1 0"])
def test_ambient_is_kept_beside_what_is_seen_of_all_other_surfaces(snap, more):
    material = snap(f"fm .4 .3 .2  {more}\n" + TRIANGLE + "am 2 1 0.5").materials[0]
    assert material.backdrop == (0.0, 0.0, 0.0)
    assert material.ambient == pytest.approx((0.8, 0.3, 0.1))


def test_material_leaks_out_of_includes_and_braces(snap):
    red, green = "fm 0 0 0 1 0 0 0 0 0 0 0 0\n", "fm 0 0 0 0 1 0 0 0 0 0 0 0\n"
    text = f"i 0 red.aff\n{TRIANGLE} xs 1 1 1 0 0 1 0 0 0 0 {{ {green} }} {TRIANGLE} i 0 bare.aff"
    picture = snap(text, red=red, bare=TRIANGLE)
    colors = [picture.materials[k].diffuse for k in picture.material_ids]
    assert colors == [(1, 0, 0), (0, 1, 0), (0, 1, 0)]


def test_equal_materials_are_one_and_textures_make_new_ones(snap):
    material = "fm 0 0 0 .5 .5 .5 0 0 0 0 0 0\n"
    textured = "tt t.ppm 0 0 0 0 0 1 0 0 0 0 0 1 0 0 0\n"
    picture = snap(material + TRIANGLE + material + TRIANGLE + textured + textured + TRIANGLE)
    assert picture.material_ids.tolist() == [0, 0, 1, 1, 0]
    assert [material.texture for material in picture.materials] == [-1, 0]
    assert len(picture.textures) == 1


def test_rows_of_a_texture_are_not_flipped(snap):
    pixels = snap("tt t.ppm 0 0 0 0 0 1 0 0 0 0 0 1 0 0 0").textures[0].pixels
    assert pixels.dtype == np.uint8
    assert pixels.shape == (2, 4, 3)
    assert pixels[0, 0].tolist() == [0, 1, 2]


VIEW = "v from 0 0 5 at 0 0 0 up 0 1 1 angle 40 hither {} resolution 800 600\n"


def test_view(snap):
    camera = snap(VIEW.format("0.01") + TRIANGLE).camera
    assert (camera.eye, camera.forward) == ((0, 0, 5), (0, 0, -1))
    assert np.allclose(camera.up, (0, 1, 0))
    assert (camera.vertical_fov, camera.near, camera.resolution) == (40.0, 0.01, (800, 600))


@pytest.mark.parametrize(("hither", "near"), [("1e-4", 1e-4), ("0.00009", 1.0), ("0", 1.0), ("-3", 1.0)])
def test_tiny_hither_is_one(snap, hither, near):
    assert snap(VIEW.format(hither) + TRIANGLE).camera.near == near


def test_nff_pictures_are_square(write):
    assert load(write(VIEW.format("1") + TRIANGLE, "scene.nff")).at(0).camera.resolution == (600, 600)


BALL = "s 0 0 0 3\n"


def test_a_lamp_amid_a_ball_has_its_radius_for_a_distance(snap):
    """Wherever another lamp is: each has its own."""
    alone, first, _ = (
        light.intensity[0] for text in ("", "l 9 9 9 1 1 1\n") for light in snap("l 0 0 0\n" + text + BALL).lights
    )
    assert alone == first == pytest.approx(9.0 * math.pi, rel=0.01)


@pytest.mark.parametrize("below", [1.5, 0.5, 0.05])
def test_a_lamp_sends_as_much_light_to_a_room_as_its_file_says(snap, below):
    """Of a lamp of strength 1, 4 pi I is all that it sends out, and pi times the integral of the cosine what the walls
    of a room of 4 x 4 x 3 get of it by the file."""
    corners = np.array([[x, y, z] for x in (-2, 2) for y in (-2, 2) for z in (-3, 0)], np.float64)
    faces = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    room = "".join("p 4 " + " ".join(f"{x:g}" for x in corners[list(face)].ravel()) + "\n" for face in faces)
    intensity = snap(f"l 0 0 {-below} 1 1 1\n" + room).lights[0].intensity[0]

    def facing(away, width, low, high):
        u = (np.arange(400) + 0.5) / 400.0
        x, y = np.meshgrid(width * (u - 0.5), low + (high - low) * u)
        return (away / np.sqrt(x**2 + y**2 + away**2)).mean() * width * (high - low)

    got = facing(below, 4.0, -2, 2) + facing(3.0 - below, 4.0, -2, 2) + 4.0 * facing(2.0, 4.0, below - 3.0, below)
    assert 4.0 * math.pi * intensity == pytest.approx(math.pi * got, rel=0.01)


def test_very_many_lamps_share_distances():
    lamps = np.linspace([0.0, 0.0, 1.0], [0.0, 0.0, 3.0], 2500)
    triangle = np.array([[[-1.0, -1.0, 0.0], [2.0, -1.0, 0.0], [-1.0, 2.0, 0.0]]], np.float32)
    distances = lamp_distances(triangle, lamps)
    assert distances.shape == (2500,)
    assert len(np.unique(distances)) == 834
    assert (np.diff(distances) >= 0.0).all()
    assert np.array_equal(lamp_distances(triangle[:0], lamps[:2]), [1.0, 1.0])


def test_animated_light_moves_by_translation(read):
    scene = read("la lamp 1 2 3 1 1 1\n" + track("lamp", "0 0 0", "4 0 0") + TRIANGLE)
    assert scene.at(0.0).lights[0].position == (1, 2, 3)
    assert np.allclose(scene.at(0.5).lights[0].position, (3, 2, 3))
    assert scene.at(0.0).lights[0].intensity == scene.at(1.0).lights[0].intensity


def test_without_camera_and_lights_there_are_some(snap):
    picture = snap(TRIANGLE)
    assert len(picture.lights) == 1
    toward = picture.positions.reshape(-1, 3) - np.array(picture.camera.eye)
    cosines = toward @ np.array(picture.camera.forward) / np.linalg.norm(toward, axis=1)
    assert (cosines > math.cos(math.radians(20))).all()


def test_comments_stand_where_commands_do(snap):
    inner = f"xs 1 1 1 0 0 1 0 0 0 0 {{ # here\n % there }}\n{TRIANGLE}}} # end"
    assert len(snap(f"# p 3 nothing }}\n%x {{\n#p 3 0 0 0\n{TRIANGLE}{inner}").positions) == 2


def test_any_line_ends_bytes_and_tight_braces(write):
    text = b"# M\xf6ller\r\np 3 0 0 0\r1 0 0\n\t0. 1. -0.0\r\nxs 1 1 1 0 0 1 0 1e0 0 0{p 3 0 0 0 1 0 0 0 1 0}x a{}"
    picture = load(write(text)).at(0)
    assert picture.positions[:, 0].tolist() == [[0, 0, 0], [1, 0, 0]]


def test_includes_depend_on_the_detail_level(snap):
    assert len(snap("i 1 t.aff\ni 0 t.aff\nd 1\ni 1 t.aff\ni 2 missing.aff", t=TRIANGLE).positions) == 2


def test_static_transforms_nest_scale_turn_shift(snap):
    text = "xs 2 2 2  0 0 1 90  10 0 0 { xs 1 3 1  0 1 0 0  0 1 0 { p 3 0 0 0  1 0 0  0 1 0 } }"
    # inner: (x, 3y + 1, z); outer: scaled by 2, (x, y) -> (-y, x), moved by 10
    assert np.allclose(snap(text).positions[0], [[8, 0, 0], [8, 2, 0], [2, 0, 0]], atol=1e-6)


def test_normals_go_by_the_inverse_transpose(snap):
    text = "xs 2 1 1  0 1 0 0  0 0 0 { pp 3  0 0 0 1 1 0  0 1 0 1 1 0  0 0 1 1 1 0 }"
    assert np.allclose(snap(text).normals[0], np.array([1, 2, 0]) / math.sqrt(5))


def test_mirroring_keeps_normals_outward(snap):
    text = "xs -1 1 1  0 1 0 0  0 0 0 { pp 3  0 0 0 1 1 0  0 1 0 1 1 0  0 0 1 1 1 0 }"
    assert np.allclose(snap(text).normals[0], np.array([-1, 1, 0]) / math.sqrt(2))


def test_tracks_come_after_their_use_and_the_newest_counts(read):
    scene = read("x a { " + TRIANGLE + "}" + TRIANGLE + track("a", end="5 0 0") + track("a", end="2 0 0"))
    assert scene.moving_triangles == 1
    first, second = scene.at(0.0), scene.at(1.0)
    assert np.allclose(second.positions[0], np.add(FLAT, [2, 0, 0]))
    assert np.array_equal(first.positions[1], second.positions[1])


def test_tracks_scale_turn_and_shift(read):
    keys = "k a { scale 4\n" + LINE.format("2 1 1", "2 1 1") + "rot 4\n" + LINE.format("0 0 9 90", "0 0 9 90")
    scene = read("x a { " + TRIANGLE + "}" + keys + "transl 4\n" + LINE.format("0 0 3", "0 0 3") + "}")
    assert np.allclose(scene.at(0.5).positions[0], [[0, 0, 3], [0, 2, 3], [-1, 0, 3]], atol=1e-6)


def test_invisible_parts_are_not_there(read):
    scene = read("x a { l 0 0 1 " + TRIANGLE + "} l 0 0 2 " + TRIANGLE + "k a { visibility 2 1 0 2 1 }")
    assert [len(scene.at(t).positions) for t in (0.0, 1.0, 1.5, 2.0)] == [2, 1, 1, 2]
    assert [len(scene.at(t).lights) for t in (0.0, 1.5)] == [2, 1]
    assert len(scene.at(1.0).uvs) == len(scene.at(1.0).material_ids) == len(scene.at(1.0).normals) == 1


def test_camera_track_overrides_the_view(snap):
    turn = "rot 4\n" + LINE.format("0 2 0 90", "0 1 0 90")
    keys = "k camera { transl 4\n" + LINE.format("1 2 3", "1 2 3") + turn + "}"
    camera = snap(VIEW.format("1") + keys + TRIANGLE).camera
    assert camera.eye == (1, 2, 3)
    assert np.allclose(camera.forward, (-1, 0, 0))  # -z turned by 90 degrees about y
    assert np.allclose(camera.up, (0, 1, 0))
    assert (camera.vertical_fov, camera.resolution) == (40.0, (800, 600))


TPA = (
    "tpa 3  0  0 0 0 0 0 1e-5  1 0 0 0 0 1e-5  0 1 0 0 0 1e-5"
    "  1  0 0 2 0 1 0  1 0 2 0 1 0  0 1 2 0 1 0"
    "  3  4 0 2 0 1 0  5 0 2 0 1 0  4 1 2 0 1 0\n"
)


def test_animated_triangle_is_linear_and_rests_outside(read):
    scene = read(TPA + TPA + TRIANGLE)
    assert scene.moving_triangles == 2
    assert np.allclose(scene.at(-9.0).positions[0], FLAT)
    assert np.allclose(scene.at(0.25).positions[1], np.add(FLAT, [0, 0, 0.5]))
    assert np.allclose(scene.at(2.0).positions[0], np.add(FLAT, [2, 0, 2]))
    assert np.allclose(scene.at(99.0).positions[1], np.add(FLAT, [4, 0, 2]))
    assert np.array_equal(scene.at(1.0).positions[2], FLAT)


def test_animated_normals_are_interpolated_at_unit_length(snap):
    assert np.allclose(snap(TPA, 0.5).normals[0], np.array([0, 1, 1]) / math.sqrt(2))
    assert np.allclose(snap(TPA, 0.0).normals[0], [0, 0, 1])


def test_kitchen(kitchen_file):
    scene = load(kitchen_file)
    first, later = scene.at_frame(0), scene.at_frame(400)
    assert len(first.positions) == len(later.positions) == 110_561
    assert len(first.lights) == 6
    assert len(first.textures) == 8
    assert len({(m.diffuse, m.specular, m.exponent, m.transmittance) for m in first.materials}) <= 27
    moved = (first.positions != later.positions).any(axis=(1, 2))
    assert scene.moving_triangles == 7_218
    assert moved.sum() == 7_218
    assert first.camera.eye == (3.75, 2.3, 3.6)
    assert first.camera.eye != later.camera.eye
    assert (first.camera.vertical_fov, first.camera.near) == (40.0, 0.01)
    assert int((areas(first.positions) == 0).sum()) == 41
    assert np.allclose(np.linalg.norm(later.normals, axis=-1), 1.0, atol=1e-5)


def test_zero_rotation_about_no_axis(snap):
    assert snap("xs 1 1 1  0 0 0 0  1 0 0 { " + TRIANGLE + "}").positions[0, 0].tolist() == [1, 0, 0]


def test_textured_triangle_patch(snap):
    picture = snap("ttp t.ppm  0 0 0 0 1 0 0 0  1 0 0 0 1 0 1 0  0 1 0 0 1 0 0 0.25")
    assert (picture.normals == [0, 1, 0]).all()
    assert picture.uvs[0, 2].tolist() == [0, 0.25]
