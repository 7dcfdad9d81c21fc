"""Files of pbrt: cameras, transforms, shapes and blocks by known answers; files that they name, notes and problems."""

import gzip
import math

import numpy as np
import pytest
import trimesh
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scenes import SceneError, SceneFileError, load
from scenes.errors import SceneProblemsError
from scenes.meshes.geometry import areas, double_area_normals
from scenes.pbrt import files, reader

#: The world of files with this camera has its z turned round.
CAMERA = 'LookAt 0 0 -4  0 0 0  0 1 0\nCamera "perspective" "float fov" 40\n'
#: And this one keeps its axes.
MIRRORED = "Scale -1 1 1\n" + CAMERA
CORNER = '"point3 P" [ 0 0 0  1 0 0  0 1 0 ] "integer indices" [ 0 1 2 ]'
TRIANGLE = f'Shape "trianglemesh" {CORNER}\n'
SHOWN = "it is shown at exposure 0 without a curve, as its own program does; as other files are shown: --exposure auto "
SHOWN += "--tone-map reinhard"


@pytest.fixture
def scene(tmp_path):

    def read(world="", before=MIRRORED, name="a.pbrt"):
        text = f"{before}WorldBegin\n{world}".encode()
        (tmp_path / name).write_bytes(gzip.compress(text) if name.endswith("gz") else text)
        return load(tmp_path / name)

    return read


@pytest.fixture
def snap(scene):
    """The picture of what is after WorldBegin."""
    return lambda *text: scene(*text).at(0.0)


@pytest.fixture
def problems(scene):
    """The lines of what is wrong with a file, without its path."""

    def lines(*text):
        with pytest.raises(SceneFileError) as caught:
            scene(*text)
        return [line.rpartition("/a.pbrt:")[2] for line in str(caught.value).splitlines()]

    return lines


def corners(picture):
    """Positions in float64."""
    return picture.positions.astype(np.float64)


def fronts(picture):
    """Unit normals of the fronts of triangles."""
    normals = double_area_normals(corners(picture))
    return normals / np.linalg.norm(normals, axis=1, keepdims=True)


VIEWS = ("", "Scale -1 1 1\n", "Scale 2 2 2\n", "Scale 1 1 -1\nRotate 30 1 2 3\n")


@pytest.mark.parametrize("view", VIEWS)
def test_points_are_seen_where_the_file_says(snap, view):
    """By the file's own map to its camera, which looks along z with x to the right and y up."""
    look = "LookAt 1 2 3  4 1 -2  0.1 1 0.2\nTranslate 0.1 0 0\n"
    points = np.array([[4.0, 2.0, -3.0], [5.0, 0.0, -1.0], [3.0, 1.5, -2.5]])
    mesh = f'Shape "trianglemesh" "point3 P" [ {" ".join(map(str, points.ravel()))} ] "integer indices" [0 1 2]'
    picture = snap(mesh, f'{view}{look}Camera "perspective" "float fov" 40\n')
    eye, target, up = np.array([1.0, 2, 3]), np.array([4.0, 1, -2]), np.array([0.1, 1, 0.2])
    z = (target - eye) / np.linalg.norm(target - eye)
    x = np.cross(up / np.linalg.norm(up), z)
    x /= np.linalg.norm(x)
    y = np.cross(z, x)
    own = (points + (0.1, 0.0, 0.0) - eye) @ np.stack([x, y, z], axis=-1)
    if "-1 1 1" in view:
        own *= (-1.0, 1.0, 1.0)
    elif "Rotate" in view:
        axis = np.array([1.0, 2, 3]) / math.sqrt(14.0)
        cross = np.array([[0, -axis[2], axis[1]], [axis[2], 0, -axis[0]], [-axis[1], axis[0], 0]])
        turn = np.eye(3) + math.sin(math.pi / 6) * cross + (1.0 - math.cos(math.pi / 6)) * cross @ cross
        own = own @ turn.T * (1.0, 1.0, -1.0)
    camera = picture.camera
    right = np.cross(camera.forward, camera.up)
    seen = (corners(picture).reshape(-1, 3) - camera.eye) @ np.stack([right, camera.up, camera.forward], axis=-1)
    found = {tuple(np.round(row[:2] / row[2], 5)) for row in seen}
    assert found == {tuple(np.round(row[:2] / row[2], 5)) for row in own}


@pytest.mark.parametrize(("width", "height", "fov"), [(200, 100, 40.0), (100, 200, 72.10)])
def test_the_field_of_view_is_that_of_the_shorter_side(snap, width, height, fov):
    film = f'Film "rgb" "integer xresolution" {width} "integer yresolution" [ {height} ]\n'
    camera = snap(TRIANGLE, film + CAMERA).camera
    assert camera.resolution == (width, height)
    assert camera.vertical_fov == pytest.approx(fov, abs=0.01)


def test_lenses_and_cameras_without_perspective(snap):
    before = 'Scale 0.5 0.5 0.5\nCamera "{}" "float lensradius" 0.1 "float focaldistance" 3\n'
    camera = snap(TRIANGLE, before.format("perspective")).camera
    assert (camera.aperture, camera.focus) == pytest.approx((0.2, 6.0))
    assert snap(TRIANGLE, before.format("orthographic")).camera.height == pytest.approx(4.0)


def test_the_light_that_a_film_gathers_is_its_exposure(scene):
    film = 'Film "rgb" "float iso" 200 "float exposuretime" 2\n'
    assert scene(TRIANGLE, film + CAMERA).document.settings == {"exposure": pytest.approx(2.0), "tone_map": "linear"}
    usual = scene(TRIANGLE, 'Film "rgb" "float iso" 100\n' + CAMERA)
    assert usual.document.settings == {"exposure": 0.0, "tone_map": "linear"}
    (note,) = (line for line in usual.document.notes.lines if "--exposure auto" in line)
    assert "exposure 0 without a curve" in note


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ("Translate 1 2 3 Scale 2 2 2", (3, 2, 3)),
        ("Scale 2 2 2 Translate 1 2 3", (4, 4, 6)),
        ("Rotate 90 0 0 1", (0, 1, 0)),
        ("Transform [ 0 1 0 0  -1 0 0 0  0 0 1 0  5 6 7 1 ]", (5, 7, 7)),
        ("Translate 9 9 9 Transform [ 1 0 0 0  0 1 0 0  0 0 1 0  5 6 7 1 ]", (6, 6, 7)),
        ("Translate 1 0 0 ConcatTransform [ 0 1 0 0  -1 0 0 0  0 0 1 0  5 6 7 1 ]", (6, 7, 7)),
        ("Translate 9 9 9 Identity", (1, 0, 0)),
        ('Translate 1 2 3 CoordinateSystem "here" Identity CoordSysTransform "here"', (2, 2, 3)),
        ('CoordSysTransform "camera"', (-1, 0, -4)),
        ("TransformBegin Translate 1 2 3 TransformEnd", (1, 0, 0)),
        ("AttributeBegin Translate 1 2 3 AttributeEnd", (1, 0, 0)),
        ("ActiveTransform EndTime Translate 1 2 3 ActiveTransform All", (1, 0, 0)),
    ],
)
def test_transforms(snap, steps, expected):
    """Where (1, 0, 0) comes to be."""
    assert any(np.allclose(corner, expected) for corner in corners(snap(f"{steps}\n{TRIANGLE}"))[0])


def test_blocks_restore_the_material_and_a_transform_block_does_not(snap):
    red = 'Material "diffuse" "rgb reflectance" [ 1 0 0 ] '
    picture = snap(f"AttributeBegin {red} AttributeEnd {TRIANGLE} TransformBegin {red} TransformEnd {TRIANGLE}")
    assert [picture.materials[i].diffuse for i in picture.material_ids] == [(0.5, 0.5, 0.5), (1.0, 0.0, 0.0)]


def test_attributes_are_parameters_of_what_follows(snap):
    text = (
        'AttributeBegin Attribute "shape" "float radius" 2 Shape "sphere" Shape "sphere" "float radius" 3 AttributeEnd'
    )
    picture = snap(text + ' Translate 10 0 0 Shape "sphere"')
    is_third = corners(picture)[:, :, 0].min(axis=1) > 5.0
    reach = np.linalg.norm(corners(picture)[~is_third], axis=-1)
    assert reach[[0, -1]].ravel() == pytest.approx([2.0] * 3 + [3.0] * 3)
    assert corners(picture)[:, :, 0].max() == pytest.approx(11.0, abs=0.01)


@pytest.mark.parametrize("before", [CAMERA, MIRRORED])
@pytest.mark.parametrize(
    ("steps", "front"),
    [("", 1), ("Scale 1 -1 1", 1), ("ReverseOrientation", -1), ("ReverseOrientation Scale -1 1 1", -1)],
)
def test_fronts_stay_in_front(snap, before, steps, front):
    """The front of a triangle in x and y is +z of the file, which is -z of a world that is turned round."""
    sign = -1 if before == CAMERA else 1
    assert np.allclose(fronts(snap(f"{steps} {TRIANGLE}", before)), [[0, 0, front * sign]])


def test_instances(snap, scene):
    text = f"""
    ObjectBegin "tree" Translate 0 0 1 {TRIANGLE} Shape "disk" ObjectEnd
    Translate 5 0 0 ObjectInstance "tree" Scale 2 2 2 Scale 1 1 -1 ObjectInstance "tree"
    """
    parts = scene(text).document.parts
    picture = snap(text)
    assert len(parts) == 4
    assert parts[1].shape is not parts[3].shape  # one of them is mirrored
    mirrored = sum(len(part.shape.triangles) for part in parts[:2])
    first, last = corners(picture)[0], corners(picture)[mirrored]
    assert first[:, 2] == pytest.approx(1.0)
    assert last[:, 2] == pytest.approx(-2.0)
    assert last[:, 0].max() == pytest.approx(7.0)
    assert fronts(picture)[[0, mirrored], 2] == pytest.approx([1.0, -1.0])
    again = scene(f'ObjectBegin "a" {TRIANGLE} ObjectEnd ObjectInstance "a" ObjectInstance "a"').document.parts
    assert again[0].shape is again[1].shape


@pytest.mark.parametrize(
    ("shape", "area"),
    [
        ('"sphere" "float radius" 2', 16 * math.pi),
        ('"sphere" "float radius" 2 "float zmin" 0 "float phimax" 180', 4 * math.pi),
        ('"disk" "float radius" 2 "float innerradius" 1', 3 * math.pi),
        ('"disk" "float phimax" 90', math.pi / 4),
        ('"cylinder" "float radius" 0.001 "float zmin" 0 "float zmax" 3', 0.048 * math.sin(math.pi / 8)),  # eight sides
        ('"bilinearmesh" "point3 P" [ 0 0 0 2 0 0 0 3 0 2 3 0 ]', 6.0),
    ],
)
def test_areas(snap, shape, area):
    assert areas(snap(f"Shape {shape}").positions).sum() == pytest.approx(area, rel=0.004)


@pytest.mark.parametrize(
    ("shape", "outward"),
    [
        ('"sphere"', lambda middle: middle),
        ('"cylinder"', lambda middle: middle * (1, 1, 0)),
        ('"disk" "float height" 1', lambda middle: np.zeros_like(middle) + (0, 0, 1)),
        ('"bilinearmesh" "point3 P" [ 0 0 0 2 0 0 0 3 0 2 3 0 ]', lambda middle: np.zeros_like(middle) + (0, 0, 1)),
    ],
)
def test_fronts_of_shapes(snap, shape, outward):
    picture = snap(f"Shape {shape}")
    directions = outward(corners(picture).mean(axis=1))
    assert (np.einsum("ni,ni->n", fronts(picture), directions) > 0.9 * np.linalg.norm(directions, axis=1)).all()
    assert (np.einsum("nki,ni->nk", picture.normals, fronts(picture)) > 0.9).all()


PAPER = 'Texture "t" "spectrum" "checkerboard" Material "diffuse" "texture reflectance" "t" '
#: Checkerboards are two units wide, and so what is looked up is half of the coordinates, from the top.
UNITS = 2.0


@pytest.mark.parametrize(
    ("shape", "place", "expected"),
    [
        ('"sphere"', lambda p: p[..., 2] > 0.999, {"v": 1.0}),
        ('"sphere"', lambda p: p[..., 2] < -0.999, {"v": 0.0}),
        ('"cylinder"', lambda p: p[..., 2] > 0.99, {"v": 1.0}),
        ('"disk"', lambda p: np.linalg.norm(p, axis=-1) < 0.01, {"v": 1.0}),
        ('"disk" "float phimax" 180', lambda p: p[..., 0] < -0.9999, {"u": 1.0}),
        ('"bilinearmesh" "point3 P" [ 0 0 0 1 0 0 0 1 0 1 1 0 ]', lambda p: p[..., 0] > 0.5, {"u": 1.0}),
        ('"bilinearmesh" "point3 P" [ 0 0 0 1 0 0 0 1 0 1 1 0 ]', lambda p: p[..., 1] > 0.5, {"v": 1.0}),
        (f'"trianglemesh" {CORNER}', lambda p: p[..., 1] > 0.5, {"u": 1.0, "v": 1.0}),
        (f'"trianglemesh" {CORNER} "point2 uv" [.1 .2 .3 .4 .5 .6]', lambda p: p[..., 0] > 0.5, {"u": 0.3, "v": 0.4}),
    ],
)
def test_texture_coordinates(scene, shape, place, expected):
    document = scene(f"{PAPER} Shape {shape}").document
    mesh = document.parts[0].shape
    picture = mesh.vertices[mesh.triangles]
    u, v = np.moveaxis(mesh.uvs[mesh.uv_triangles][place(picture)], -1, 0)
    found = {"u": UNITS * u, "v": UNITS * (1.0 - v)}
    for name, value in expected.items():
        assert found[name] == pytest.approx(value)


def test_includes_share_the_state_and_imports_do_not(snap, tmp_path):
    (tmp_path / "moved.pbrt").write_text(f"Translate 0 0 5 {TRIANGLE}")
    assert corners(snap(f'Include "moved.pbrt" {TRIANGLE}'))[:, :, 2].mean(axis=1) == pytest.approx([5, 5])
    assert corners(snap(f'Import "moved.pbrt" {TRIANGLE}'))[:, :, 2].mean(axis=1) == pytest.approx([5, 0])


@pytest.mark.parametrize("name", ["../b.pbrt", "/etc/passwd", "x/../../b.pbrt", "..\\\\b.pbrt", "none.pbrt", "", "."])
def test_files_outside_of_the_folder_are_not_read(problems, tmp_path, name):
    (tmp_path.parent / "b.pbrt").write_text(TRIANGLE)
    (line,) = problems(f'{TRIANGLE.strip()}\nInclude "{name}"')
    assert "6: " in line
    assert "expected the name of a file in the folder of the scene or below" in line or "outside of the folder" in line


def test_files_included_again_count_again(problems, monkeypatch, tmp_path):
    (tmp_path / "b.pbrt").write_text("#" * 400)
    monkeypatch.setattr(files, "MAX_BYTES", 1000)
    assert "over 1000 bytes" in problems('Include "b.pbrt"\n' * 2 + TRIANGLE)[0]


def test_all_problems_are_told_in_one_go(scene, tmp_path):
    text = f"""{TRIANGLE.strip()}
    Shape "spere"
    Translate 1 2
    Material "matte" "rgb Kd" [ 1 1 1 ]
    Shape "sphere" "float radius" [ 1 "x" ]
    Shape "plymesh" "string filename" "none.ply"
    Frobnicate 3
    AttributeEnd
    Camera "perspective"
    Shape "trianglemesh" "point3 P" [ 0 0 0 1 0 0 0 1 0 ] "integer indices" [ 0 1 3 ]
    Shape "sphere" "color x" 3
    LightSource "infinite" "rgb L" [ 1 2 nan ]
    Shape "disk" "string filename" "unclosed
    """
    with pytest.raises(SceneProblemsError) as caught:
        scene(text, CAMERA)
    lines = [str(problem).replace(f"{tmp_path}/a.pbrt:", "") for problem in caught.value.problems]
    expected = [
        "5: unknown shape 'spere'; there are: trianglemesh",
        "6: expected 3 finite numbers after Translate, got 2",
        "7: unknown material 'matte'; there are: diffuse",
        "8: expected values of one kind between brackets",
        "9: expected the name of a file in the folder",
        "10: unknown directive 'Frobnicate'",
        "11: expected AttributeBegin before AttributeEnd",
        "12: expected Camera before WorldBegin",
        '13: expected whole numbers from 0 to 2 in "integer indices", got 3',
        "14: unknown type 'color' of the parameter 'x'",
        '15: expected finite numbers of at most 1e+30 in "rgb L"',
        "16: expected a '\"' at the end of a text",
    ]
    assert len(lines) == len(expected)
    for line, beginning in zip(lines, expected, strict=True):
        assert line.startswith(beginning)
    assert "--upgrade" in lines[2]


@pytest.mark.parametrize(
    ("world", "before", "expected"),
    [
        ("", CAMERA, "there are no shapes in the scene"),
        ("AttributeBegin " + TRIANGLE, CAMERA, "4: expected an end of what AttributeBegin begins"),
        (TRIANGLE, TRIANGLE, "1: expected Shape after WorldBegin"),
        (TRIANGLE, CAMERA + 'Camera "pinhole"\n', "3: a camera of type 'pinhole' is not supported"),
        (TRIANGLE, "Scale 1 2 1\n" + CAMERA, "3: the transform of the camera stretches the picture"),
        (TRIANGLE, "Scale 0 1 1\n" + CAMERA, "3: expected a transform of the camera that can be undone"),
        ("LookAt 0 0 0 0 1 0 0 2 0 " + TRIANGLE, CAMERA, "4: the place, the target and up of LookAt leave"),
        ("Scale 1e30 1e30 1e30 Scale 9 9 9 " + TRIANGLE, CAMERA, "4: expected transforms by at most 1e+30"),
        (TRIANGLE.replace("]", "", 1), CAMERA, "expected"),
        ('"point3 P" ' + TRIANGLE, "1 ", "1: expected a directive at the beginning of the file"),
        ("\xff\xfe ]" + TRIANGLE, CAMERA, "4: expected no ']' without a '[' before it"),
        ('Shape "sphere" "float radius" 1e31', CAMERA, "4: expected finite numbers of at most 1e+30"),
        ('ObjectInstance "a" ' + TRIANGLE, CAMERA, "4: no object 'a' was made before this"),
        ('NamedMaterial "a" ' + TRIANGLE, CAMERA, "4: no material 'a' was made before this"),
    ],
)
def test_problems(problems, world, before, expected):
    assert expected in problems(world, before)[0]


def test_what_follows_from_a_problem_is_not_told(problems):
    """A texture that is none is told once, and not what is made of it; nor what a file would have made."""
    texture = """Texture "t{0}" "spectrum" "stripes"
    Texture "u{0}" "spectrum" "scale" "texture tex" "t{0}"
    MakeNamedMaterial "m{0}" "string type" "diffuse" "texture reflectance" "t{0}"
    """
    world = "".join(texture.format(k) for k in range(9)) + TRIANGLE
    (line,) = problems(world)
    assert line.startswith("5: unknown texture class 'stripes'")
    assert line.endswith("(and in 8 more places)")
    (line,) = problems('Include "none.pbrt" NamedMaterial "a" ObjectInstance "b" CoordSysTransform "c"' + TRIANGLE)
    assert "got 'none.pbrt'" in line
    assert len(problems(f'NamedMaterial "a" ObjectInstance "b" Frobnicate {TRIANGLE}')) == 3


def test_media_are_inside_of_shapes(scene):
    world = """
    MakeNamedMedium "fog" "string type" "homogeneous" "float scale" 2 "float g" -1
        "rgb sigma_a" [ 1 2 3 ] "rgb sigma_s" [ 4 5 6 ]
    AttributeBegin MediumInterface "fog" "" Material "interface" Shape "sphere" AttributeEnd
    AttributeBegin MediumInterface "fog" "fog" Material "dielectric" Shape "sphere" AttributeEnd
    AttributeBegin MediumInterface "" "fog" Material "diffuse" Shape "sphere" AttributeEnd
    MediumInterface "fog" Material "diffuse" Shape "sphere"
    """
    document = scene(world).document
    border, glass, *others = (document.materials[part.material] for part in document.parts)
    assert (border.transmittance, border.ior) == (1.0, 1.0)
    assert glass.ior == 1.5
    for found in (border, glass):
        assert (found.absorption, found.scattering, found.mean_cosine) == ((2, 4, 6), (8, 10, 12), -0.99)
    assert not any(any(one.scattering) for one in others)
    assert not document.notes.losses


def test_what_is_not_read_is_noted_once_with_its_place(scene, tmp_path):
    text = f"""
    Shape "sphere" "float blubb" 3
    Shape "sphere" "float blubb" 3
    MakeNamedMedium "fog" "string type" "homogeneous" MediumInterface "" "fog"
    Shape "bilinearmesh" "point3 P" [ 0 0 0 2 0 0 0 3 0 2 3 1 ]
    Material "hair" "rgb color" [ 1 0 0 ]
    {TRIANGLE}
    """
    document = scene(text, 'Camera "perspective" "float screenwindow" [ -1 1 -1 1 ]\nColorSpace "rec2020"\n').document
    assert [line.replace(f"{tmp_path}/a.pbrt:", "").strip() for line in document.notes.lines] == [
        "2: colours of the space 'rec2020' are taken for linear sRGB",
        "1: screenwindow of a camera counts for nothing",
        "5: the parameter \"float blubb\" of 'sphere' counts for nothing (and in 1 more place)",
        "8: a bilinearmesh is bent; each of its patches becomes two flat triangles",
        "9: a material of type hair is replaced by a diffuse one",
        "7: a medium is left out: space is empty",
        SHOWN,
    ]


def test_comments_brackets_and_old_spellings(snap):
    text = """Shape "sphere" # a ball ] "
        "float radius" [ # two
            2 ] "bool twosided" "true" "float zmin"-2"""
    assert np.linalg.norm(corners(snap(text)), axis=-1) == pytest.approx(2.0)


WORDS = [*reader.DIRECTIVES, *reader.METHODS, "Translate", "Scale", "Transform", "LookAt", "Include", "Import", "true"]
NAMES = ["sphere", "trianglemesh", "disk", "bilinearmesh", "plymesh", "diffuse", "mix", "conductor", "a", "infinite"]
DECLARATIONS = [
    "float radius", "point3 P", "integer indices", "rgb L", "rgb reflectance", "spectrum eta", "string filename",
    "texture reflectance", "string materials", "string type", "blackbody L", "float scale", "bool twosided", "normal N",
    "point2 uv", "float alpha", "float roughness", "float power",
]  # fmt: skip
VALUES = ["[ 0 0 0 1 0 0 0 1 0 ]", "[ 0 1 2 ]", "1", "-1e30", "nan", "[", "]", '[ "a" "a" ]', '"', "1e999", "[ ]"]
TOKENS = st.one_of(
    st.sampled_from(WORDS),
    st.sampled_from([f'"{name}"' for name in [*NAMES, *DECLARATIONS, "spectrum", "float", "imagemap", "a.pbrt"]]),
    st.sampled_from(VALUES),
    st.floats(width=32).map(str),
    st.text(max_size=4),
)


@given(words=st.lists(TOKENS, max_size=25))
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_words_are_a_scene_or_an_error(tmp_path, words):
    path = tmp_path / "a.pbrt"
    path.write_text(f"{CAMERA}WorldBegin\n{TRIANGLE}{' '.join(words)}", encoding="utf-8", errors="replace")
    try:
        assert load(path).document.triangles > 0
    except SceneError as error:
        assert str(error).startswith(str(path))  # noqa: PT017


@given(shape=st.sampled_from(NAMES), items=st.lists(st.tuples(st.sampled_from(DECLARATIONS), st.sampled_from(VALUES))))
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_parameters_are_a_scene_or_an_error(tmp_path, shape, items):
    given_values = " ".join(f'"{name}" {value}' for name, value in items)
    for directive in ("Shape", "Material", "LightSource", "AreaLightSource"):
        path = tmp_path / "a.pbrt"
        path.write_text(f'{CAMERA}WorldBegin\n{directive} "{shape}" {given_values}\n{TRIANGLE}')
        try:
            assert load(path).document.triangles > 0
        except SceneError as error:
            assert str(error).startswith(str(path))  # noqa: PT017


@pytest.mark.parametrize(("name", "settings"), [("none.exr", {}), ("sky.npy", {"exposure": 0.0, "tone_map": "linear"})])
def test_the_exposure_of_unknown_light_is_chosen(scene, tmp_path, name, settings):
    np.save(tmp_path / "sky.npy", np.ones((2, 4, 3), np.float32))
    world = f'LightSource "infinite" "float scale" 9 "string filename" "{name}"\n{TRIANGLE}'
    assert scene(world, f'Film "rgb"\n{CAMERA}').document.settings == settings


def test_normals_of_meshes(snap):
    picture = snap(f'Scale 1 1 2 Shape "trianglemesh" {CORNER} "normal N" [ 0 1 1 0 1 1 0 1 1 ]')
    assert np.allclose(picture.normals, np.array([0.0, 1.0, 0.5]) / math.sqrt(1.25))


def test_ply_files_are_read_once(scene, tmp_path):
    (tmp_path / "meshes").mkdir()
    trimesh.creation.box().export(tmp_path / "meshes" / "box.ply")
    shape = 'Shape "plymesh" "string filename" "meshes/box.ply"\n'
    document = scene(f"{shape} Translate 2 0 0 {shape}").document
    assert document.triangles == 24
    assert document.parts[0].shape is document.parts[1].shape


def test_packed_files(scene, tmp_path):
    (tmp_path / "one.pbrt.gz").write_bytes(gzip.compress(TRIANGLE.encode()))
    assert scene('Include "one.pbrt.gz"', MIRRORED, "a.pbrt.gz").document.triangles == 1


def test_texture_coordinates_that_float32_cannot_hold(tmp_path):
    """No reader of a format looks at them but those of OBJ and PLY."""
    path = tmp_path / "a.pbrt"
    path.write_text(
        'WorldBegin Shape "trianglemesh" "point3 P" [ 0 0 0 1 0 0 0 1 0 ] "point2 uv" [ 0 0 1 0 0 1e30 ] '
        '"integer indices" [ 0 1 2 ]'
    )
    with pytest.raises(SceneFileError, match=r"a\.pbrt.*texture coordinates of what begins here reach beyond 1e\+09"):
        load(path).at(0.0)
