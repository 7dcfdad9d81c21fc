"""Mitsuba XML: parameters, paths, spectra, daylight, blends and whole lists of problems, each by a known answer."""

import math
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
import trimesh
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

import scenes
from scenes import SceneError, SceneFileError, mitsuba
from scenes.errors import SceneProblemsError
from scenes.files.source_file import scene_opened
from scenes.pictures.daylight import PlaceAndTime, sky, sky_directions, sun_irradiance, sun_position

BALL = '<shape type="sphere"/>'
FILM = '<film type="hdrfilm"><integer name="width" value="{}"/><integer name="height" value="{}"/></film>'


@pytest.fixture
def read(tmp_path):
    """Reads a scene from what is within <scene>."""

    def scene(text, version="3.0.0", **parameters):
        (tmp_path / "a.xml").write_text(f'<scene version="{version}">\n{text}\n</scene>')
        with scene_opened(tmp_path / "a.xml"):
            return mitsuba.read(tmp_path / "a.xml", parameters)

    return scene


@pytest.fixture
def material(read):

    def made(kind, inside="", **options):
        scene = read(f'<shape type="sphere"><bsdf type="{kind}">{inside}</bsdf></shape>', **options)
        return scene.document.materials[0]

    return made


def problems(read, text, **options):
    """What is wrong with a scene: from the line on, sorted."""
    with pytest.raises(SceneFileError) as caught:
        read(text, **options)
    return [line.split("a.xml:")[1] for line in str(caught.value).splitlines()]


def wrong(path):
    """What is wrong with a file, or None where nothing is."""
    try:
        mitsuba.read(path)
    except SceneFileError as error:
        return error
    return None


def number(name, value):
    return f'<float name="{name}" value="{value}"/>'


def string(name, value):
    return f'<string name="{name}" value="{value}"/>'


def rgb(name, value):
    return f'<rgb name="{name}" value="{value}"/>'


def test_parameters_come_before_defaults(read):
    text = '<default name="r" value="2"/><shape type="sphere"><float name="radius" value="$r"/></shape>'
    assert np.abs(read(text).at(0.0).positions).max() == pytest.approx(2.0)
    assert np.abs(read(text, r="3").at(0.0).positions).max() == pytest.approx(3.0)
    with pytest.raises(SceneFileError, match=r"nothing in the file is called \$q, which was given a value"):
        read(text, q="3")


def test_files_are_sought_beside_the_scene_then_in_paths_then_beside_who_names_them(tmp_path, read):
    for folder, side in (("", 2.0), ("meshes", 4.0), ("parts", 6.0)):
        (tmp_path / folder).mkdir(exist_ok=True)
        trimesh.creation.box((side,) * 3).export(tmp_path / folder / "b.ply")
    more = '<scene version="3.0.0"><shape type="ply"><string name="filename" value="b.ply"/></shape></scene>'
    (tmp_path / "parts" / "more.xml").write_text(more)
    text = '<path value="meshes"/><include filename="parts\\more.xml"/>'
    for folder, side in (("", 2.0), ("meshes", 4.0), ("parts", 6.0)):
        assert np.abs(read(text).at(0.0).positions).max() == pytest.approx(side / 2.0)
        (tmp_path / folder / "b.ply").unlink()
    with pytest.raises(SceneFileError, match=r"more\.xml:1: no such file: 'b\.ply'"):
        read(text)


def test_names_without_a_value_leave_the_default(read):
    text = '<shape type="sphere"><float name="radius" value="$r"/></shape>'
    scene = read(text)
    assert np.abs(scene.at(0.0).positions).max() == pytest.approx(1.0)
    assert scene.document.notes.lines[0].endswith("'radius' has its default: $r has no value, which -D r=... gives")
    assert np.abs(read(text, r="3").at(0.0).positions).max() == pytest.approx(3.0)
    for needed in ('<shape type="$t"/>', '<shape type="obj"><string name="filename" value="$f"/></shape>'):
        with pytest.raises(SceneFileError, match="expected a <default> of"):
            read(needed + BALL)


@pytest.mark.parametrize(
    "inside",
    [
        '<shape type="sphere"><medium name="interior" type="heterogeneous"/></shape>',
        '<shape type="sphere"><medium name="interior" type="homogeneous"><phase type="sggx"/></medium></shape>',
        '<shape type="sphere"><subsurface type="dipole"/></shape>',
        '<shape type="hair"/>',
        '<sensor type="spherical"/>',
        '<emitter type="collimated"/>',
        '<emitter type="projector"/>',
        '<shape type="sphere"><float name="radius" value="$r"/></shape>',
        '<shape type="sphere"><emitter type="volumelight"/></shape>',
        '<shape type="sphere"><bsdf type="measured"/></shape>',
        '<shape type="sphere"><bsdf type="pplastic"/></shape>',
        '<shape type="sphere"><bsdf type="diffuse"><texture name="reflectance" type="mesh_attribute"/></bsdf></shape>',
    ],
)
def test_what_a_picture_lacks_is_noted_and_strictly_an_error(tmp_path, inside):
    path = tmp_path / "a.xml"
    path.write_text(f'<scene version="3.0.0">{inside}{BALL}</scene>')
    assert scenes.load(path).document.notes.losses
    with pytest.raises(SceneFileError, match=r"a\.xml:1: .*\(an error by --strict\)"):
        scenes.load(path, strict=True)


def test_pictures_are_shown_as_mitsuba_shows_them(read):
    document = read('<integrator type="path"><integer name="max_depth" value="5"/></integrator>' + BALL).document
    assert document.settings == {"exposure": 0.0, "tone_map": "linear", "max_bounces": 4}
    assert document.notes.lines[-1].endswith("--exposure auto --tone-map reinhard")
    for kind, depth, bounces in (("path", "-1", None), ("direct", None, 1), ("path", "1", 1), ("path", "1e20", 1024)):
        inside = "" if depth is None else number("max_depth", depth)
        nested = f'<integrator type="moment"><integrator type="{kind}">{inside}</integrator></integrator>'
        assert read(nested + BALL).document.settings.get("max_bounces") == bounces


def test_rotations_about_long_axes_stretch_but_in_files_of_06(read):
    text = '<shape type="rectangle"><transform name="to_world"><rotate z="2" angle="90"/></transform></shape>'
    scene = read(text)
    assert np.abs(scene.at(0.0).positions).max() == pytest.approx(2.0)
    assert "the axis of a <rotate> is 2 long and not 1" in scene.document.notes.lines[0]
    assert np.abs(read(text, version="0.6.0").at(0.0).positions).max() == pytest.approx(1.0)


def test_all_problems_are_told_in_one_go_by_line(read):
    text = (
        '<shape type="sphere"><float name="radus" value="2"/>\n<translate x="1"/>\n'
        '<bsdf type="diffuse"><rgb name="reflectance" value="1 2"/>\n<shape type="cube"/></bsdf></shape>\n'
        '<shape type="blob"/>\n<include filename="none.xml"/>\n<shape type="cube"><bsdf type="velvet"/></shape>'
    )
    found = problems(read, text)
    assert [int(line.partition(":")[0]) for line in found] == [2, 3, 4, 5, 6, 7, 8]
    for line, expected in zip(
        found,
        (
            "unknown parameter 'radus' of <shape type=\"sphere\">",
            '<translate> does not belong in <shape type="sphere">, but in a <transform>',
            "expected 1 or 3 finite numbers",
            '<shape type="cube"> does not belong in <bsdf type="diffuse">',
            'unsupported <shape type="blob">',
            "no such file: 'none.xml'",
            'unsupported <bsdf type="velvet">',
        ),
        strict=True,
    ):
        assert expected in line


@pytest.mark.parametrize(("told", "focal_length"), [("", 50.0), (string("focal_length", "35mm"), 35.0)])
def test_cameras_without_a_field_of_view_have_a_focal_length(read, told, focal_length):
    text = f'<sensor type="perspective">{told}{FILM.format(300, 400)}</sensor>{BALL}'
    camera = read(text).at(0.0).camera
    half_diagonal = math.hypot(18.0, 12.0) / focal_length
    assert math.tan(math.radians(camera.vertical_fov / 2.0)) == pytest.approx(half_diagonal * 4.0 / 5.0)
    assert camera.fov_axis == "diagonal"


POSITIONS = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], float)
CORNERS = np.array([[0, 2, 1], [0, 1, 3]])


def serialized(version=4, flags=0x1000, meshes=1, kind="<f4"):
    """The bytes of a file of so many meshes, the last of them moved by 1 for each before."""
    size = "<Q" if version == 4 else "<I"
    parts, places = b"", []
    for k in range(meshes):
        body = struct.pack("<I", flags) + (b"name\0" if version == 4 else b"") + struct.pack("<QQ", 4, 2)
        body += (POSITIONS + k).astype(kind).tobytes()
        body += np.tile((0.0, 0.6, 0.8), (4, 1)).astype(kind).tobytes() if flags & 1 else b""
        body += POSITIONS[:, :2].astype(kind).tobytes() if flags & 2 else b""
        body += CORNERS.astype("<u4").tobytes()
        places.append(len(parts))
        parts += struct.pack("<HH", 0x041C, version) + zlib.compress(body)
    return parts + b"".join(struct.pack(size, place) for place in places) + struct.pack("<I", meshes)


SERIALIZED = '<shape type="serialized"><string name="filename" value="m.serialized"/>{}</shape>'


@pytest.mark.parametrize(("version", "flags", "kind"), [(3, 0x1000, "<f4"), (4, 0x2003, "<f8"), (4, 0x1013, "<f4")])
def test_serialized_meshes(tmp_path, read, version, flags, kind):
    (tmp_path / "m.serialized").write_bytes(serialized(version, flags, 3, kind))
    picture = read(SERIALIZED.format('<integer name="shapeIndex" value="2"/>')).at(0.0)
    assert np.array_equal(picture.positions, (POSITIONS + 2.0)[CORNERS])
    if flags & 0x10:  # flat
        assert np.allclose(picture.normals[0], (0, 0, -1))
    elif flags & 1:
        assert np.allclose(picture.normals, (0.0, 0.6, 0.8))
    if flags & 2:
        assert np.allclose(picture.uvs, POSITIONS[CORNERS][..., :2])


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"x" * 20, "which begins with 0x041C"),
        (serialized()[:-30] + serialized()[-12:], "ends within a mesh|cannot be inflated|is not where"),
        (serialized(version=3)[:2] + b"\7\0" + serialized(version=3)[4:], "of version 3 or 4, got 7"),
        (serialized()[:-4] + b"\xff\xff\0\0", "too short for the places of 65535 meshes"),
        (serialized()[:-12] + struct.pack("<QI", 3, 1), "mesh 0 is not where the file says"),
    ],
)
def test_files_that_are_no_serialized_meshes(tmp_path, read, data, expected):
    (tmp_path / "m.serialized").write_bytes(data)
    with pytest.raises(SceneFileError, match=expected):
        read(SERIALIZED.format(""))


@given(st.binary(max_size=64), st.integers(0, 130))
@settings(max_examples=25, deadline=None)
def test_any_bytes_in_a_serialized_file(tmp_path_factory, noise, place):
    folder = tmp_path_factory.mktemp("m")
    data = bytearray(serialized())
    data[place : place + len(noise)] = noise
    (folder / "m.serialized").write_bytes(bytes(data))
    (folder / "a.xml").write_text(f'<scene version="3.0.0">{SERIALIZED.format("")}</scene>')
    assert "\n" not in str(wrong(folder / "a.xml"))


FOLD = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 2 3\nf 1 4 2\n"


def test_meshes_without_normals_are_smooth_by_angle(tmp_path, read):
    """Two right angles meet along x: where they share a corner its normal is between those of both, of equal angles."""
    (tmp_path / "f.obj").write_text(FOLD)
    shape = '<shape type="obj"><string name="filename" value="f.obj"/>{}</shape>'
    smooth = read(shape.format("")).at(0.0)
    assert np.allclose(smooth.normals[0, 0], np.array([0, 1, 1]) / math.sqrt(2.0))
    assert np.allclose(smooth.normals[0, 2], (0, 0, 1))
    assert np.allclose(smooth.normals[1, 1], (0, 1, 0))
    flat = read(shape.format('<boolean name="face_normals" value="true"/>')).at(0.0)
    assert np.allclose(flat.normals[0], (0, 0, 1))
    for angle, expected in ((80.0, (0, 0, 1)), (100.0, np.array([0, 1, 1]) / math.sqrt(2.0))):
        creased = read(shape.format(number("maxSmoothAngle", angle))).at(0.0)
        assert np.allclose(creased.normals[0, 0], expected)


def test_spectra_of_reflectances_and_lights(tmp_path, read, material):
    (tmp_path / "s.spd").write_text("# a measurement\n300 0.25\n900, 0.25\n")
    even = (0.25, 0.25, 0.25)
    for told in (
        '<spectrum name="reflectance" value="300:0.25, 900:0.25"/>',
        '<spectrum name="reflectance" filename="s.spd"/>',
        '<spectrum name="reflectance" value="0.25"/>',
        '<spectrum name="reflectance" type="uniform"><float name="value" value="0.25"/></spectrum>',
        '<spectrum name="reflectance" type="regular"><float name="wavelength_min" value="300"/>'
        '<float name="wavelength_max" value="900"/><string name="values" value="0.25, 0.25, 0.25"/></spectrum>',
    ):
        assert material("diffuse", told).diffuse == pytest.approx(even), told
    light = '<emitter type="point"><spectrum name="intensity" value="{}"/></emitter>' + BALL
    white_of_equal_energy = (1.205, 0.948, 0.909)
    for value in ("360:1, 830:1", "1"):
        assert read(light.format(value)).at(0.0).lights[0].intensity == pytest.approx(white_of_equal_energy, abs=0.006)
    assert read(light.format("1"), version="0.6.0").at(0.0).lights[0].intensity == (1.0, 1.0, 1.0)


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ('value="500:1, 400:1"', "two or more wavelengths that increase"),
        ('value="400:1, 500"', "expected 2 finite numbers"),
        ('value="400:-1, 500:1"', "not below 0"),
        ('filename="none.spd"', "no such file: 'none.spd'"),
        ('filename="bad.spd"', "expected a wavelength and a value, got 'x'"),
        (
            'type="odd"',
            'unsupported <spectrum type="odd">; there are: blackbody, d65, irregular, regular, srgb, uniform',
        ),
    ],
)
def test_spectra_that_are_none(tmp_path, read, told, expected):
    (tmp_path / "bad.spd").write_text("400 1\nx\n")
    with pytest.raises(SceneFileError, match=expected):
        read(f'<shape type="cube"><bsdf type="diffuse"><spectrum name="reflectance" {told}/></bsdf></shape>')


def test_names_of_06(material):
    """An index beside another medium is divided by that of it."""
    copper = string("material", "Cu")
    inside, outside = material("conductor", copper), material("conductor", copper + number("extEta", 2.0))
    assert outside.eta == pytest.approx([0.5 * n for n in inside.eta])
    assert outside.k == pytest.approx([0.5 * k for k in inside.k])
    assert material("dielectric", number("intIOR", 1.5) + string("extIOR", "vacuum")).ior == 1.5


def test_blends_of_diffuse_surfaces(material):
    parts = "".join(f'<bsdf type="diffuse">{rgb("reflectance", value)}</bsdf>' for value in ("0.8 0.4 0", "0 0.4 0.8"))
    assert material("blendbsdf", number("weight", 0.25) + parts).diffuse == pytest.approx((0.6, 0.4, 0.2))
    assert material("mixturebsdf", string("weights", "0.25, 0.5") + parts).diffuse == pytest.approx((0.2, 0.3, 0.4))


def test_blends_of_pictures_texel_by_texel(tmp_path, read):
    """A picture, by a picture of weights, over a colour; red where the weight is 1, and half of each between."""
    Image.fromarray(np.array([[0, 255]], np.uint8)).save(tmp_path / "w.png")
    raw = string("filename", "w.png") + '<boolean name="raw" value="true"/>'
    weight = f'<texture type="bitmap" name="weight">{raw}</texture>'
    parts = "".join(f'<bsdf type="diffuse">{rgb("reflectance", value)}</bsdf>' for value in ("0 0 1", "1 0 0"))
    document = read(f'<shape type="cube"><bsdf type="blendbsdf">{weight}{parts}</bsdf></shape>').document
    assert document.textures[document.materials[0].texture].pixels.tolist() == [[[0, 0, 255], [255, 0, 0]]]
    assert document.materials[0].diffuse == (1.0, 1.0, 1.0)


@pytest.mark.parametrize(
    ("inside", "expected"),
    [
        ("", {"kind": "principled", "roughness": 0.5, "diffuse": (0.5, 0.5, 0.5), "ior": 1.5, "own": {"metalness": 0}}),
        (number("eta", 1.3) + number("roughness", 0.2), {"kind": "principled", "roughness": 0.2, "ior": 1.3}),
        (
            number("metallic", 1) + rgb("base_color", "0.9 0.6 0.3"),
            {"kind": "principled", "diffuse": (0.9, 0.6, 0.3), "own": {"metalness": 1}},
        ),
        (number("spec_trans", 1) + rgb("base_color", "0.25"), {"kind": "dielectric", "transmittance": 0.5}),
        (number("metallic", 0.5), {"kind": "principled", "diffuse": (0.5, 0.5, 0.5), "own": {"metalness": 0.5}}),
    ],
)
def test_principled(material, inside, expected):
    made = material("principled", inside)
    for name, value in expected.items():
        assert getattr(made, name) == (value if isinstance(value, str) else pytest.approx(value)), name


def test_a_coat_that_reflects_less(read):
    text = f'<shape type="cube"><bsdf type="plastic">{rgb("specular_reflectance", "0.2 0.4 1")}</bsdf></shape>'
    document = read(text).document
    assert document.materials[0].own == {"metalness": 0.0, "specular_weight": (0.2, 0.4, 1.0)}
    assert "what specular_reflectance takes from a coat goes to what is below it" in document.notes.lines[0]


def test_metal_by_a_picture(tmp_path, read):
    Image.new("RGB", (1, 1), (51, 51, 51)).save(tmp_path / "m.png")
    picture = f'<texture type="bitmap" name="metallic">{string("filename", "m.png")}<boolean name="raw" value="true"/>'
    document = read(f'<shape type="cube"><bsdf type="principled">{picture}</texture></bsdf></shape>').document
    (made,) = document.materials
    assert (made.kind, made.own) == ("principled", {"metalness": 1.0})
    assert document.textures[made.metalness_map].pixels.tolist() == [[[51, 51, 51]]]
    assert [line for line in document.notes.lines if "--exposure" not in line] == []


def test_green_of_normal_maps_runs_down(tmp_path, read):
    """Here it runs up; red and blue stay."""
    Image.new("RGB", (1, 1), (10, 108, 240)).save(tmp_path / "n.png")
    texture = f'<texture type="bitmap" name="normalmap">{string("filename", "n.png")}</texture>'
    text = f'<shape type="rectangle"><bsdf type="normalmap">{texture}<bsdf type="diffuse"/></bsdf></shape>'
    document = read(text).document
    assert document.textures[document.materials[0].normal_map].pixels.tolist() == [[[10, 148, 240]]]


def test_lamps_that_shine_by_pictures(tmp_path, read):
    Image.new("RGB", (2, 2), (255, 0, 0)).save(tmp_path / "p.png")
    radiance = f'<texture type="bitmap" name="radiance">{string("filename", "p.png")}</texture>'
    bright = f'<texture type="scale" name="radiance">{number("scale", 7)}{radiance}</texture>'
    for texture, level in ((radiance, 1.0), (bright, 7.0)):
        text = f'<shape type="rectangle"><emitter type="area">{texture}</emitter></shape>'
        (made,) = read(text).document.materials
        assert made.emission == (level, level, level)
        assert made.emission_map == 0


def test_the_sun_stands_overhead_at_noon_on_the_tropic_in_june():
    """And twice the tropic lower in December; in the morning it is in the east."""
    noon = PlaceAndTime(latitude=23.44, longitude=0.0, timezone=0.0, year=2020, month=6, day=20, hour=12, minute=2)
    assert math.degrees(sun_position(noon)[0]) == pytest.approx(0.0, abs=0.2)
    winter = noon._replace(month=12, day=21, minute=-2)
    assert math.degrees(sun_position(winter)[0]) == pytest.approx(46.88, abs=0.1)
    zenith, azimuth = sun_position(noon._replace(month=3, day=20, hour=7))
    assert math.degrees(azimuth) == pytest.approx(90.0, abs=10.0)
    assert 70.0 < math.degrees(zenith) < 80.0


def test_a_clear_sky_is_blue_overhead_and_brightest_at_the_sun():
    to_sun = np.array([0.6, 0.8, 0.0])
    radiance = sky(to_sun, 2.5)
    luminance = radiance @ (0.2126, 0.7152, 0.0722)
    brightest = sky_directions().reshape(-1, 3)[np.argmax(luminance)]
    assert brightest @ to_sun > math.cos(math.radians(3.0))
    red, green, blue = radiance[0].mean(axis=0)
    assert blue > 1.5 * green > 1.5 * red
    assert not radiance[len(radiance) // 2 :].any()
    assert 683.0 * 106.857 * luminance[0].mean() == pytest.approx(7025.0, rel=0.01)  # cd/m^2, by hand


@pytest.mark.parametrize(
    ("version", "turn", "up"), [("3.0.0", "", (0, 0, 1)), ("3.0.0", '<rotate x="1" angle="-90"/>', (0, 1, 0)),
                                ("0.6.0", "", (0, 1, 0))]
)  # fmt: skip
def test_the_sky_has_its_zenith_and_its_sun_where_mitsuba_has_them(read, version, turn, up):
    """The sun in the world, whatever turns the sky, and the texel of the sky that is brightest there."""
    to_sun = np.array([0.36, 0.48, 0.8])
    told = '<vector name="sun_direction" x="0.36" y="0.48" z="0.8"/>'
    text = f'<emitter type="sunsky"><transform name="to_world">{turn}</transform>{told}</emitter>{BALL}'
    picture = read(text, version=version).at(0.0)
    assert np.allclose(picture.lights[0].direction, -to_sun)
    assert picture.lights[0].angular_radius == pytest.approx(0.2665, abs=0.002)
    axes = picture.environment.axes
    assert np.allclose(axes[1], up)
    luminance = picture.environment.radiance.sum(axis=2)
    brightest = sky_directions().reshape(-1, 3)[np.argmax(luminance)] @ axes
    assert brightest @ to_sun > math.cos(math.radians(4.0))


NAMES = st.sampled_from(
    ["bsdf", "shape", "texture", "emitter", "ref", "float", "rgb", "spectrum", "transform", "string", "include", "path",
     "default", "alias", "sensor", "film", "point", "medium", "scale", "blackbody", "animation", "boolean"]
)  # fmt: skip
KINDS = st.sampled_from(
    ["sphere", "cube", "diffuse", "blendbsdf", "mask", "principled", "plastic", "bumpmap", "bitmap", "scale", "sunsky",
     "spot", "area", "instance", "shapegroup", "twosided", "perspective", "checkerboard", "blackbody", "coating"]
)  # fmt: skip
VALUES = st.one_of(
    st.sampled_from(["1", "0.5", "-1", "nan", "1e40", "a", "", "400:1, 500:2", "#ff00ff", "1 2 3", "$x", ".."]),
    st.text(max_size=5),
)
ATTRIBUTES = st.dictionaries(
    st.sampled_from(["name", "value", "id", "x", "filename", "angle", "as", "temperature"]),
    st.one_of(VALUES, st.sampled_from(["radius", "reflectance", "weight", "to_world", "opacity", "base_color", "q"])),
    max_size=3,
)


@st.composite
def trees(draw, depth=4):
    """An element with anything in it, as XML."""
    attributes = draw(ATTRIBUTES) | ({"type": draw(KINDS)} if draw(st.booleans()) else {})
    escaped = {key: value.translate(ESCAPES) for key, value in attributes.items()}
    words = "".join(f' {key}="{value}"' for key, value in escaped.items())
    inside = draw(st.lists(trees(depth - 1), max_size=3)) if depth else []
    name = draw(NAMES)
    return f"<{name}{words}>{''.join(inside)}</{name}>"


ESCAPES = {ord("&"): "&amp;", ord("<"): "&lt;", ord('"'): "&quot;"} | dict.fromkeys(range(32), " ")


@given(st.lists(trees(), max_size=4))
@settings(max_examples=15, deadline=None)
def test_any_elements_make_a_scene_or_problems(tmp_path_factory, elements):
    path = Path(tmp_path_factory.mktemp("any")) / "a.xml"
    path.write_text(f'<scene version="3.0.0">\n{"".join(elements)}{BALL}</scene>', encoding="utf-8", errors="replace")
    error = wrong(path)
    lines = error.problems if isinstance(error, SceneProblemsError) else [error]
    assert not any("\n" in str(line) for line in lines)


@pytest.fixture(scope="module")
def mi():
    """Mitsuba without a compiler of its own."""
    module = pytest.importorskip("mitsuba", reason="mitsuba is not installed (pip install mitsuba)")
    module.set_variant("scalar_rgb")
    return module


@pytest.mark.parametrize("value", ["400:0.2, 500:0.4, 600:0.9, 700:0.3", "400:1, 700:1", "360:0, 550:0.7, 830:0.1"])
def test_mitsuba_sees_the_same_colours_of_spectra(mi, read, material, value):
    """Its matching functions are tables, ours are fits."""
    reflectance = f'<spectrum name="reflectance" value="{value}"/>'
    theirs = mi.traverse(mi.load_string(f'<bsdf version="3.0.0" type="diffuse">{reflectance}</bsdf>'))
    assert material("diffuse", reflectance).diffuse == pytest.approx(theirs["reflectance.value"], abs=0.006)
    emitter = f'<emitter {{}}type="point"><spectrum name="intensity" value="{value}"/></emitter>'
    light = mi.traverse(mi.load_string(emitter.format('version="3.0.0" ')))
    ours = read(emitter.format("") + BALL).at(0.0).lights[0].intensity
    assert ours == pytest.approx(light["intensity.value"], abs=0.006)


def test_mitsuba_has_the_sun_in_the_same_place(mi, read):
    told = number("latitude", 50) + number("longitude", 8) + number("timezone", 1) + number("hour", 17)
    theirs = mi.traverse(mi.load_string(f'<emitter version="3.0.0" type="sunsky">{told}</emitter>'))
    sun = read(f'<emitter type="sunsky">{told}</emitter>{BALL}').at(0.0).lights[0]
    assert -np.array(sun.direction) == pytest.approx(np.array(theirs["sun_direction"]), abs=3e-4)


@pytest.mark.parametrize(
    ("told", "scattering", "absorption", "cosine"),
    [
        ("", (0.75,) * 3, (0.25,) * 3, 0.0),
        ('<phase type="isotropic"/>', (0.75,) * 3, (0.25,) * 3, 0.0),
        ('<phase type="hg"/><float name="scale" value="2"/>', (1.5,) * 3, (0.5,) * 3, 0.8),
        (f'<rgb name="sigma_s" value="1, 2, 3"/><phase type="hg">{number("g", -2)}</phase>', (1, 2, 3), [0] * 3, -0.99),
        ('<float name="albedo" value="0.5"/><rgb name="sigma_t" value="1, 2, 4"/>', (0.5, 1, 2), (0.5, 1, 2), 0.0),
    ],
)  # fmt: skip
@pytest.mark.parametrize("is_referred", [False, True])
def test_a_medium_is_inside_of_a_shape(read, told, scattering, absorption, cosine, is_referred):
    medium = f'<medium {{}} type="homogeneous">{told}</medium>'
    named, ahead = medium.format('name="interior"'), ""
    if is_referred:
        named, ahead = '<ref name="interior" id="fog"/>', medium.format('id="fog"')
    document = read(f'{ahead}<shape type="cube"><bsdf type="null"/>{named}</shape>').document
    found = document.materials[0]
    assert found.scattering == pytest.approx(scattering)
    assert found.absorption == pytest.approx(absorption)
    assert found.mean_cosine == pytest.approx(cosine)
    assert not any("left out" in line for line in document.notes.lines)


@pytest.mark.parametrize("scale", ["-1", "1e9"])
def test_a_medium_has_a_density(read, scale):
    medium = f'<medium name="interior" type="homogeneous">\n{number("scale", scale)}</medium>'
    (line,) = problems(read, f'<shape type="cube"><bsdf type="null"/>{medium}</shape>')
    assert line.startswith("2: expected a scale of a medium from 0 to 1e+06, got ")


def test_blends_of_unlike_surfaces_are_noted(read):
    parts = '<bsdf type="plastic"/><bsdf type="conductor"/>'
    document = read(f'<shape type="cube"><bsdf type="blendbsdf">{parts}</bsdf></shape>').document
    assert document.materials[0].kind == "nff"
    assert "a blend of one kind has the numbers between" in document.notes.lines[0]


def test_black_bodies(read):
    """Where platinum freezes, at 2041.4 K, they have 60 cd/cm^2: so the candela was once defined."""
    old = '<emitter type="point"><blackbody name="intensity" temperature="2041.4K" scale="0.5"/></emitter>' + BALL
    new = old.replace("<blackbody", '<spectrum type="blackbody"').replace(
        ' temperature="2041.4K" scale="0.5"/>', f">{number('temperature', 2041.4)}{number('scale', 0.5)}</spectrum>"
    )
    first, second = (read(text).at(0.0).lights[0].intensity for text in (old, new))
    assert first == second
    assert first[0] > first[1] > first[2]
    luminance = np.array([0.2126, 0.7152, 0.0722]) @ first
    assert 683.0 * 106.857 * luminance == pytest.approx(0.5 * 600_000.0, rel=0.02)


def test_parameters_are_for_formats_that_have_some(tmp_path):
    with pytest.raises(SceneError, match=r"a\.obj has no parameters; files have some that end in \.xml"):
        scenes.load(tmp_path / "a.obj", parameters={"r": "1"})


def test_a_serialized_mesh_that_is_not_there(tmp_path, read):
    (tmp_path / "m.serialized").write_bytes(serialized())
    with pytest.raises(SceneFileError, match="expected a mesh from 0 to 0, got 1"):
        read(SERIALIZED.format('<integer name="shape_index" value="1"/>'))


def test_a_low_sun_is_weak_and_red():
    high, low = (sun_irradiance(np.array([math.cos(a), math.sin(a), 0.0]), 3.0) for a in (1.5, 0.1))
    assert min(high) > 3.0 * max(low)
    assert low[0] > 2.0 * low[2]
    assert sun_irradiance(np.array([1.0, -0.01, 0.0]), 3.0) == (0.0, 0.0, 0.0)
    assert 683.0 * 106.857 * np.dot(high, (0.2126, 0.7152, 0.0722)) == pytest.approx(1e5, rel=0.2)  # lux
