"""Mitsuba XML: known scenes in both spellings, each element by a known answer, and errors that name it."""

import math

import numpy as np
import pytest
import trimesh
from data_files import data_text, messages
from PIL import Image

from scenes import SceneFileError, mitsuba
from scenes.document import Scene
from scenes.lights import DistantLight, SpotLight
from scenes.materials.metals import METALS
from scenes.meshes.geometry import double_area_normals

CORNELL_3 = data_text("mitsuba/cornell-3.xml")
SPELLINGS = {
    "fov_axis": "fovAxis",
    "near_clip": "nearClip",
    "far_clip": "farClip",
    "max_depth": "maxDepth",
    "sample_count": "sampleCount",
    "to_world": "toWorld",
    "lookat": "lookAt",
    "pixel_format": "pixelFormat",
    'version="3.0.0"': 'version="0.6.0"',
}
CORNELL_06 = CORNELL_3
for new, old in SPELLINGS.items():
    CORNELL_06 = CORNELL_06.replace(new, old)


@pytest.fixture
def read(tmp_path):
    """Reads a scene from its text, or from what is within <scene>."""

    def scene(text: str) -> Scene:
        whole = text if "<scene" in text else f'<scene version="3.0.0">\n{text}\n</scene>'
        (tmp_path / "a.xml").write_text(whole)
        return mitsuba.read(tmp_path / "a.xml")

    return scene


@pytest.fixture
def snap(read):
    """The picture of what is within <scene>, beside a sensor."""
    return lambda text: read(text).at(0.0)


@pytest.mark.parametrize("text", [CORNELL_3, CORNELL_06])
def test_cornell_box(read, text):
    scene = read(text)
    picture = scene.at(0.0)
    camera = scene.document.cameras["front"]
    assert (camera.eye, camera.forward, camera.up) == ((0, 0, 4), (0, 0, -1), (0, 1, 0))
    assert camera.vertical_fov == pytest.approx(39.3)
    assert (camera.near, camera.resolution) == (0.001, (200, 200))
    assert len(picture.positions) == 3 * 2 + 12
    light, floor, left, cube = (part.material for part in scene.document.parts)
    assert picture.materials[light].emission == (18, 14, 7)
    assert picture.materials[floor].diffuse == pytest.approx((0.8, 0.8, 0.8))
    assert picture.materials[floor].emission == (0, 0, 0)
    assert picture.materials[left].diffuse == (0.1, 0.4, 0.09)
    assert picture.materials[cube].diffuse == (0.5, 0.5, 0.5)
    normals = double_area_normals(picture.positions.astype(float))
    # the lamp, whose 0.99 is turned to -0.99 in y, looks down; its sides are 0.5 and 0.4 long
    assert np.allclose(picture.positions[:2, :, 1], -0.99)
    assert np.allclose(normals[:2], [0, -0.5 * 0.4, 0], atol=1e-6)
    assert np.allclose(normals[2:4], [0, 4, 0], atol=1e-6)
    assert np.allclose(picture.positions[2:4, :, 1], -1)
    assert np.allclose(normals[4:6], [4, 0, 0], atol=1e-6)
    corners = picture.positions[6:].reshape(-1, 3)
    assert np.allclose([corners.min(axis=0), corners.max(axis=0)], [[0.03, -1, 0.08], [0.63, -0.4, 0.68]])
    outward = picture.positions[6:].mean(axis=1) - (0.33, -0.7, 0.38)
    assert (np.einsum("ni,ni->n", normals[6:], outward) > 0).all()


BALL = '<shape type="sphere"/>'


def camera_of(scene):
    return scene.at(0.0).camera


def sensor(inside, *transform):
    """A sensor of a film twice as wide as high."""
    film = '<film type="hdrfilm"><integer name="width" value="200"/><integer name="height" value="100"/></film>'
    steps = f'<transform name="to_world">{"".join(transform)}</transform>'
    return f'<sensor type="perspective">{inside}{film}{steps}</sensor>{BALL}'


FOV = '<float name="fov" value="60"/>'
LOOKAT = '<lookat origin="1 2 3" target="4 2 -1" up="0 2 0.1"/>'


def test_a_matrix_looks_along_its_third_column_with_left_in_its_first(read):
    rows = "-1 0 0 5  0 1 0 6  0 0 -1 7  0 0 0 1"
    camera = camera_of(read(sensor(FOV, f'<matrix value="{rows}"/>')))
    assert (camera.eye, camera.forward, camera.up) == ((5, 6, 7), (0, 0, -1), (0, 1, 0))


@pytest.mark.parametrize(
    ("axis", "height"),
    [("x", 0.5), ("y", 1.0), ("smaller", 1.0), ("larger", 0.5), ("diagonal", 1.0 / math.sqrt(5.0)), (None, 0.5)],
)
def test_fields_of_view(read, axis, height):
    inside = FOV + (f'<string name="fov_axis" value="{axis}"/>' if axis else "")
    expected = 2.0 * math.degrees(math.atan(math.tan(math.radians(30.0)) * height))
    assert camera_of(read(sensor(inside, LOOKAT))).vertical_fov == pytest.approx(expected)


def test_thin_lenses(read):
    lens = '<float name="aperture_radius" value="0.1"/><float name="focus_distance" value="3"/>'
    camera = camera_of(read(sensor(FOV + lens, LOOKAT).replace("perspective", "thinlens")))
    assert (camera.aperture, camera.focus, camera.height) == (0.1, 3.0, None)
    pinhole = camera_of(read(sensor(FOV + lens, LOOKAT)))
    assert pinhole.aperture == 0.0


def test_orthographic_cameras_see_from_minus_one_to_one_of_their_own_space(read):
    camera = camera_of(read(sensor("", '<scale value="3"/>', LOOKAT).replace("perspective", "orthographic")))
    assert camera.height == pytest.approx(3.0)  # 6 wide, of a film twice as wide as high
    assert camera.eye == (1, 2, 3)
    assert camera.forward == pytest.approx((0.6, 0, -0.8))


@pytest.mark.parametrize(
    ("kind", "inside", "step", "expected"),
    [
        ("thinlens", '<float name="aperture_radius" value="0.1"/>', LOOKAT, "a focus_distance above 0, got 0.1 and 0"),
        ("orthographic", "", '<scale x="2"/>', "stretches the picture"),
    ],
)
def test_bad_lenses(read, kind, inside, step, expected):
    assert expected in refused(read, sensor(FOV + inside, step).replace("perspective", kind))


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ('<translate x="1" z="3"/>', (2, 1, 3)),
        ('<translate value="1, 2, 3"/>', (2, 3, 3)),
        ('<scale value="2"/>', (2, 2, 0)),
        ('<scale x="2"/>', (2, 1, 0)),
        ('<scale value="2 3 4"/>', (2, 3, 0)),
        ('<rotate z="1" angle="90"/>', (-1, 1, 0)),
        # about an axis that is not of unit length as Mitsuba has it, which stretches
        ('<rotate x="1" y="1" angle="90"/>', (2, 2, 0)),
        ('<rotate value="0 0 5" angle="90"/>', (-5, 5, 0)),
        ('<rotate x="1" angle="90"/>', (1, 0, 1)),
        ('<scale value="2"/><translate x="1"/>', (3, 2, 0)),
        ('<translate x="1"/><scale value="2"/>', (4, 2, 0)),
        ('<matrix value="0 1 0 5  2 0 0 6  0 0 1 7  0 0 0 1"/>', (6, 8, 7)),
        ('<matrix value="0 1 0  2 0 0  0 0 1"/>', (1, 2, 0)),
        # x of the object goes to the left of who looks along +x, which is -z
        ('<lookat origin="5 0 0" target="9 0 0" up="0 1 0"/>', (5, 1, -1)),
    ],
)
def test_transforms(snap, steps, expected):
    picture = snap(f'<shape type="rectangle"><transform name="to_world">{steps}</transform></shape>')
    # where the corner (1, 1, 0) of the rectangle has gone, which both triangles have
    assert (np.abs(picture.positions - np.array(expected)).max(axis=2) < 1e-6).sum() == 2


def outward_share(picture, center):
    """Of how many triangles the geometric and the shading normals point away from a point."""
    away = picture.positions.mean(axis=1) - center
    geometric = np.einsum("ni,ni->n", double_area_normals(picture.positions.astype(float)), away) > 0.0
    shading = (np.einsum("nci,ni->nc", picture.normals, away) > 0.0).all(axis=1)
    assert (geometric == shading).all()
    return geometric.mean()


MIRROR = '<transform name="to_world"><scale x="-1"/></transform>'
FLIP = '<boolean name="flip_normals" value="true"/>'


@pytest.mark.parametrize("kind", ["sphere", "cube", "cylinder"])
@pytest.mark.parametrize(("inside", "share"), [("", 1), (MIRROR, 1), (FLIP, 0), (FLIP + MIRROR, 0)])
def test_normals_point_outward(snap, kind, inside, share):
    center = (0, 0, 0.5) if kind == "cylinder" else (0, 0, 0)
    assert outward_share(snap(f'<shape type="{kind}">{inside}</shape>'), center) == share


@pytest.mark.parametrize("kind", ["rectangle", "disk"])
@pytest.mark.parametrize(("inside", "z"), [("", 1), (MIRROR, 1), (FLIP, -1)])
def test_flat_shapes_look_along_z(snap, kind, inside, z):
    picture = snap(f'<shape type="{kind}">{inside}</shape>')
    assert np.allclose(np.sign(double_area_normals(picture.positions.astype(float))), [0, 0, z])
    assert np.allclose(picture.normals, [0, 0, z], atol=1e-6)


def test_coordinates_of_a_sphere_follow_its_angles(snap):
    picture = snap(BALL)
    x, y, z = np.moveaxis(picture.positions.astype(float), -1, 0)
    assert np.allclose(picture.uvs[..., 1], np.arccos(np.clip(z, -1, 1)) / math.pi, atol=1e-3)
    around = np.exp(2j * np.pi * picture.uvs[..., 0]) * np.hypot(x, y)
    assert np.allclose(around, x + 1j * y, atol=1e-5)


def test_obj_and_ply(tmp_path, snap):
    header = "ply\nformat ascii 1.0\nelement vertex 3\n" + "".join(f"property float {name}\n" for name in "xyzst")
    faces = "element face 1\nproperty list uchar int vertex_indices\nend_header\n"
    (tmp_path / "t.ply").write_text(header + faces + "0 0 0 0 0.25\n1 0 0 0 0.25\n0 1 0 0 0.25\n3 0 1 2\n")
    (tmp_path / "t.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nvn 0 1 1\nvt 0 0.25\nf 1/1/1 2/1/1 3/1/1\n")
    shape = '<shape type="{0}"><string name="filename" value="t.{0}"/>{1}</shape>'
    turn = '<transform name="toWorld"><translate z="2"/></transform>'
    flat = '<boolean name="faceNormals" value="true"/>'
    down = '<boolean name="flip_tex_coords" value="false"/>'
    picture = snap(shape.format("ply", turn) + shape.format("obj", down) + shape.format("obj", flat))
    assert picture.positions[0].tolist() == [[0, 0, 2], [1, 0, 2], [0, 1, 2]]
    assert np.allclose(picture.normals[1], [0, math.sqrt(0.5), math.sqrt(0.5)])
    assert np.allclose(picture.normals[2], [0, 0, 1])
    assert np.allclose(picture.uvs[:, 0, 1], [0.25, 0.25, 0.75])


def test_instances_share_the_meshes_of_their_group(tmp_path, read):
    trimesh.creation.box().export(tmp_path / "b.ply")
    file = '<string name="filename" value="b.ply"/>'
    high = BALL.replace("/>", '><transform name="to_world"><translate y="5"/></transform></shape>')
    group = f'<shape type="shapegroup" id="g"><shape type="ply">{file}{MIRROR}</shape>{high}</shape>'
    instance = (
        '<shape type="instance"><ref id="g"/><transform name="to_world"><translate x="{}"/>{}</transform></shape>'
    )
    places = [instance.format(10, ""), instance.format(20, ""), instance.format(30, '<scale x="-1"/>')]
    scene = read(group + "".join(places) + f'<shape type="ply">{file}</shape>' * 2)
    parts = scene.document.parts
    assert len(parts) == 8
    assert parts[0].shape is parts[2].shape
    assert parts[1].shape is parts[3].shape
    assert parts[6].shape is parts[7].shape
    # the box that is mirrored twice is the one that is not
    assert np.array_equal(parts[4].shape.triangles, parts[6].shape.triangles)
    ends = np.cumsum([len(part.shape.triangles) for part in parts])
    pieces = np.split(scene.at(0.0).positions, ends[:-1])
    boxes, balls = pieces[0:6:2], pieces[1:6:2]
    assert [box.mean(axis=(0, 1)).round(3).tolist() for box in boxes] == [[10, 0, 0], [20, 0, 0], [-30, 0, 0]]
    middles = [(ball.min(axis=(0, 1)) + ball.max(axis=(0, 1))) / 2 for ball in balls]
    assert np.allclose(middles, [[10, 5, 0], [20, 5, 0], [-30, 5, 0]], atol=1e-5)


def material_of(picture):
    (material,) = picture.materials
    return material


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ('<rgb name="reflectance" value="0.1, 0.2, 0.3"/>', (0.1, 0.2, 0.3)),
        ('<rgb name="reflectance" value="0.1 0.2 0.3"/>', (0.1, 0.2, 0.3)),
        ('<rgb name="reflectance" value="0.25"/>', (0.25, 0.25, 0.25)),
        ('<rgb name="reflectance" value="#ff3300"/>', (1, 0.2, 0)),
        ('<srgb name="reflectance" value="#ff0000"/>', (1, 0, 0)),
        ('<srgb name="reflectance" value="0.5019608"/>', (0.2158605,) * 3),
        ('<spectrum name="reflectance" value="0.25"/>', (0.25, 0.25, 0.25)),
        ('<float name="reflectance" value="0.25"/>', (0.25, 0.25, 0.25)),
        ('<rgb name="reflectance" value="2 0 0"/>', (1, 0, 0)),
        ("", (0.5, 0.5, 0.5)),
    ],
)
def test_colours(snap, value, expected):
    material = material_of(snap(f'<shape type="cube"><bsdf type="diffuse" id="m">{value}</bsdf></shape>'))
    assert (material.kind, material.name, material.diffuse) == ("diffuse", "m", pytest.approx(expected))


def string(name, value):
    return f'<string name="{name}" value="{value}"/>'


def number(name, value):
    return f'<float name="{name}" value="{value}"/>'


GOLD, COPPER = METALS["gold"], METALS["copper"]
WHITE = (1, 1, 1)
HALF = (0.5, 0.5, 0.5)
CASES = [
    ("conductor", "", {"kind": "metal", "specular": WHITE, "roughness": 0, "eta": (0, 0, 0)}),
    ("conductor", string("material", "Au"), {"kind": "metal", "specular": WHITE, "eta": GOLD.eta, "k": GOLD.k}),
    (
        "conductor",
        string("material", "Au") + '<rgb name="specular_reflectance" value="0.5"/>',
        {"specular": (0.5, 0.5, 0.5), "eta": GOLD.eta, "k": GOLD.k},
    ),
    ("conductor", number("eta", 0.5) + number("k", 2), {"specular": WHITE, "eta": (0.5,) * 3, "k": (2,) * 3}),
    ("roughconductor", string("material", "Cu"), {"kind": "metal", "eta": COPPER.eta, "roughness": 0.1**0.5}),
    (
        "roughconductor",
        number("alpha_u", 0.1) + number("alpha_v", 0.4) + string("distribution", "ggx"),
        {"kind": "metal", "diffuse": (0, 0, 0), "roughness": 0.2**0.5},
    ),
    (
        "roughconductor",
        string("material", "Au") + number("alpha", 0.81),
        {"kind": "metal", "eta": GOLD.eta, "roughness": 0.9},
    ),
    ("dielectric", "", {"kind": "dielectric", "ior": 1.5046 / 1.000277, "transmittance": 1}),
    ("dielectric", number("int_ior", 1.5) + number("ext_ior", 1.2), {"ior": 1.25}),
    ("dielectric", string("intIOR", "water") + string("extIOR", "vacuum"), {"ior": 1.333}),
    ("dielectric", '<rgb name="specular_transmittance" value="0.3 0.6 0.9"/>', {"transmittance": 0.6}),
    ("roughdielectric", number("alpha", 0.36), {"kind": "dielectric", "roughness": 0.6}),
    # a face reflects 1/25, both together 2/26
    (
        "thindielectric",
        number("int_ior", 1.5) + number("ext_ior", 1),
        {"kind": "nff", "specular": (2 / 26,) * 3, "transmittance": 24 / 26, "ior": 1, "diffuse": (0, 0, 0)},
    ),
    (
        "plastic",
        number("int_ior", 1.5) + number("ext_ior", 1) + '<rgb name="diffuse_reflectance" value="0.1 0.2 0.3"/>',
        {"kind": "principled", "diffuse": (0.1, 0.2, 0.3), "ior": 1.5, "roughness": 0, "own": {"metalness": 0}},
    ),
    ("roughplastic", number("alpha", 0.25), {"kind": "principled", "diffuse": HALF, "roughness": 0.5}),
    ("plastic", '<boolean name="nonlinear" value="true"/>', {"kind": "plastic", "diffuse": HALF, "own": {}}),
    ("bumpmap", '<texture type="noise"/><bsdf type="conductor"/>', {"kind": "metal"}),
    ("normalmap", '<bsdf type="conductor"/>', {"kind": "metal"}),
    (
        "mask",
        number("opacity", 0.4) + '<bsdf name="nested" type="twosided"><bsdf type="diffuse"/></bsdf>',
        {"kind": "nff", "diffuse": (0.2,) * 3, "specular": (0, 0, 0), "transmittance": 0.6, "ior": 1},
    ),
]


@pytest.mark.parametrize(("kind", "inside", "expected"), CASES)
def test_bsdfs(snap, kind, inside, expected):
    material = material_of(snap(f'<shape type="cube"><bsdf type="{kind}">{inside}</bsdf></shape>'))
    for name, value in expected.items():
        assert getattr(material, name) == (value if isinstance(value, str) else pytest.approx(value)), name


def test_textures(tmp_path, snap):
    Image.fromarray(np.arange(12, dtype=np.uint8).reshape(2, 2, 3)).save(tmp_path / "t.png")
    file = string("filename", "t.png") + string("filter_type", "nearest")
    shape = '<shape type="rectangle"><bsdf type="diffuse"><{0}="reflectance" {1}</bsdf></shape>'
    bitmap = f'<texture type="bitmap" id="t">{file}</texture>'
    stretched = f'type="bitmap">{file}{number("uscale", 2)}{number("voffset", 0.25)}</texture>'
    picture = snap(bitmap + shape.format("ref name", 'id="t"/>') * 2 + shape.format("texture name", stretched))
    assert [material.texture for material in picture.materials] == [0, 1]
    assert picture.material_ids.tolist() == [0, 0, 0, 0, 1, 1]
    assert picture.textures[0].pixels[0, 0].tolist() == [0, 1, 2]
    assert picture.materials[0].diffuse == (1, 1, 1)
    assert np.allclose(picture.uvs[:2], (picture.positions[:2, :, :2] + 1) / 2)
    assert np.allclose(picture.uvs[4:, :, 0], 2 * picture.uvs[:2, :, 0])
    assert np.allclose(picture.uvs[4:, :, 1], picture.uvs[:2, :, 1] + 0.25)


def test_a_rough_metal_with_all_its_pictures(tmp_path, snap):
    Image.new("RGB", (4, 4), (64, 64, 64)).save(tmp_path / "t.png")
    file = string("filename", "t.png")
    raw = file + '<boolean name="raw" value="true"/>' + string("wrap_mode", "clamp") + string("filter_type", "nearest")
    inner = (
        f'<texture type="bitmap" name="specular_reflectance">{file}</texture>'
        f'<texture type="bitmap" name="alpha">{raw}</texture>'
    )
    bent = f'<bsdf type="normalmap"><texture type="bitmap" name="normalmap">{file}</texture>'
    bumpy = f'<bsdf type="bumpmap"><float name="scale" value="0.5"/><texture type="bitmap">{raw}</texture>'
    bsdf = f'{bumpy}{bent}<bsdf type="roughconductor">{inner}</bsdf></bsdf></bsdf>'
    picture = snap(f'<shape type="rectangle">{bsdf}</shape>')
    material = material_of(picture)
    assert (material.kind, material.roughness, material.bump_scale) == ("metal", 1.0, 0.5)
    seen = {field: picture.textures[index] for field, index in material.pictures.items()}
    assert {field: (texture.wrap, texture.filter, texture.is_linear) for field, texture in seen.items()} == {
        "specular_map": ("repeat", "bilinear", False),
        "roughness_map": ("clamp", "nearest", True),
        "normal_map": ("repeat", "bilinear", True),
        "bump_map": ("clamp", "nearest", True),
    }
    assert np.all(seen["roughness_map"].pixels == 128)  # the root of 64 / 255
    assert np.all(seen["bump_map"].pixels == 64)


def test_lights(snap):
    values = '<point name="position" x="1" y="2" z="3"/><rgb name="intensity" value="4 5 6"/>'
    point = f'<emitter type="point">{values}</emitter>'
    moved = '<emitter type="point"><transform name="to_world"><translate value="7 8 9"/></transform></emitter>'
    picture = snap(
        BALL + point + moved + '<emitter type="constant"><rgb name="radiance" value="0.1 0.2 0.3"/></emitter>'
    )
    assert [light.position for light in picture.lights] == [(1, 2, 3), (7, 8, 9)]
    assert [light.intensity for light in picture.lights] == [(4, 5, 6), (1, 1, 1)]
    assert picture.background == (0.0, 0.0, 0.0)
    assert picture.environment.radiance.tolist() == np.array([[[0.1, 0.2, 0.3]]], np.float32).tolist()


def test_spots_and_directional_lights(snap):
    turned = '<transform name="to_world"><lookat origin="1 2 3" target="1 0 3" up="1 0 0"/></transform>'
    spot = f'<emitter type="spot">{turned}{number("cutoff_angle", 40)}<rgb name="intensity" value="4 5 6"/></emitter>'
    sun = '<emitter type="directional"><vector name="direction" x="3" y="-4"/></emitter>'
    first, second, third = snap(BALL + spot + sun + f'<emitter type="directional">{turned}</emitter>').lights
    assert first == SpotLight(
        position=(1, 2, 3), direction=(0, -1, 0), intensity=(4, 5, 6), inner_angle=30, outer_angle=40
    )
    assert second == DistantLight(direction=(0.6, -0.8, 0), irradiance=(1, 1, 1))
    assert third.direction == (0, -1, 0)


@pytest.mark.parametrize(("turn", "behind"), [("", (0, 0, -1)), ('<rotate y="1" angle="90"/>', (-1, 0, 0))])
def test_the_middle_of_an_environment_is_along_z(tmp_path, snap, turn, behind):
    """Mitsuba's; here it is opposite to the image's own z."""
    radiance = np.arange(24, dtype=np.float32).reshape(2, 4, 3)
    np.save(tmp_path / "sky.npy", radiance)
    told = string("filename", "sky.npy") + number("scale", 2) + f'<transform name="to_world">{turn}</transform>'
    environment = snap(BALL + f'<emitter type="envmap">{told}</emitter>').environment
    assert np.array_equal(environment.radiance, 2.0 * radiance)
    assert np.allclose(environment.axes[2], behind)
    assert np.allclose(environment.axes[1], (0, 1, 0))


def test_includes_and_defaults(tmp_path, snap):
    (tmp_path / "parts").mkdir()
    trimesh.creation.box().export(tmp_path / "parts" / "b.ply")
    (tmp_path / "parts" / "more.xml").write_text(
        '<scene version="3.0.0"><default name="r" value="9"/><shape type="ply"><string name="filename" value="b.ply"/>'
        '</shape><shape type="sphere"><float name="radius" value="$r"/></shape></scene>'
    )
    text = '<default name="r" value="2"/><default name="f" value="parts"/><include filename="$f/more.xml"/>'
    assert np.abs(snap(text).positions).max() == pytest.approx(2)


def refused(read, text):
    """The message of the error about a scene: one line that names the file."""
    with pytest.raises(SceneFileError) as caught:
        read(text)
    message = str(caught.value)
    assert "\n" not in message
    assert "a.xml:" in message
    return message.split("a.xml:")[1]


DIFFUSE = '<shape type="cube"><bsdf type="diffuse">{}</bsdf></shape>'


#: What would be long in the file of messages.
LONG = [
    (sensor(FOV.replace("60", "180"), LOOKAT), "expected a fov between 0 and 180 degrees, got 180"),
    (sensor(FOV + string("fov_axis", "z"), LOOKAT), "unknown fov_axis 'z'; there are: diagonal, larger, smaller, x"),
    (sensor(FOV, LOOKAT).replace('"200"', '"0"'), "expected a film from 1 to 16384 pixels wide, got 0 x 100"),
    ("<a>" * 70 + "</a>" * 70, "elements are nested deeper than 64"),
]


@pytest.mark.parametrize(("text", "expected"), [*messages("mitsuba", {}), *LONG])
def test_errors(read, text, expected):
    assert expected in refused(read, text)


def test_missing_meshes_are_named_and_missing_pictures_are_grey(tmp_path, read):
    with pytest.raises(SceneFileError, match=r"a\.xml:2: no such file: 'none\.obj'"):
        read(f'<shape type="obj">{string("filename", "none.obj")}</shape>')
    texture = f'<texture type="bitmap" name="reflectance">{string("filename", "none.png")}</texture>'
    (tmp_path / "text.png").write_text("no picture")
    for name, why in (("none.png", "no such file: 'none.png'"), ("text.png", "'text.png' is grey: expected a PNG")):
        document = read(DIFFUSE.format(texture.replace("none.png", name))).document
        assert document.materials[0].diffuse == (0.5, 0.5, 0.5)
        assert why in document.notes.losses[0][2]


def test_cylinder(snap):
    ends = '<point name="p0" value="1 0 0"/><point name="p1" value="1 4 0"/><float name="radius" value="0.5"/>'
    picture = snap(f'<shape type="cylinder">{ends}</shape>')
    assert np.allclose(np.linalg.norm(picture.positions[..., ::2] - (1, 0), axis=2), 0.5, atol=1e-6)
    assert (picture.positions[..., 1].min(), picture.positions[..., 1].max()) == pytest.approx((0, 4))
    assert np.allclose(picture.normals[..., 1], 0, atol=1e-6)
    # v runs along it
    assert np.allclose(picture.uvs[..., 1], picture.positions[..., 1] / 4, atol=1e-6)


def test_disk(snap):
    picture = snap('<shape type="disk"/>')
    assert np.allclose(picture.uvs[..., 0], np.linalg.norm(picture.positions, axis=2), atol=1e-6)
    area = 0.5 * double_area_normals(picture.positions.astype(float))[:, 2].sum()
    assert area == pytest.approx(math.pi, rel=0.01)


def test_checkerboard(snap):
    colors = '<rgb name="color0" value="1"/><rgb name="color1" value="0"/>'
    uv = '<transform name="to_uv"><scale x="4" y="2"/><translate x="0.5"/></transform>'
    texture = f'<texture type="checkerboard" name="reflectance">{colors}{uv}</texture>'
    picture = snap(f'<shape type="rectangle"><bsdf type="diffuse">{texture}</bsdf></shape>')
    pixels = picture.textures[0].pixels[..., 0]
    half = len(pixels) // 2
    for rows, columns, value in ((0, 0, 255), (0, 1, 0), (1, 0, 0), (1, 1, 255)):
        assert (pixels[rows * half :, columns * half :][:half, :half] == value).all()
    assert np.allclose(np.ptp(picture.uvs, axis=(0, 1)), (4, 2))
