"""USD files: materials, pictures and lights, by known answers and in pictures."""

import math
import zipfile

import numpy as np
import pytest
from driver_passes import passes
from gltf_file import GltfBuilder
from PIL import Image
from usd_file import (
    CAMERA,
    DARK,
    DRIVERS,
    GLOW,
    READER,
    SKY,
    ST,
    assert_mean,
    assert_seen,
    bound,
    moved,
    notes_of,
    prim,
    quad,
    read,
    surface,
    texture,
    write,
)

from scenes import load
from scenes.colors.srgb import decoded
from scenes.materials.microfacets import normal_reflectance

META, BINDING = bound("/look")
BARE = "float inputs:ior = 1"
#: Two by two texels, of the upper row first: red, green; blue, white.
PIXELS = np.array([[[255, 0, 0], [0, 255, 0]], [[0, 0, 255], [255, 255, 255]]], np.uint8)


@pytest.fixture
def picture(tmp_path):
    """Writes a picture of 8 x 8 pixels, two by two fields of a colour, and returns its name."""

    def make(pixels=PIXELS, name="t.png"):
        array = np.asarray(pixels, np.uint8)
        Image.fromarray(np.kron(array, np.ones((4, 4, *[1] * (array.ndim - 2)), np.uint8))).save(tmp_path / name)
        return name

    return make


def wall(*lines):
    """A square with a look and texture coordinates."""
    return quad("wall", BINDING, *lines, **META)


def material_of(folder, *lines, nodes=""):
    """The material of a surface of these lines, on a square with texture coordinates."""
    scene = read(folder, surface(*lines, nodes=nodes) + wall(ST))
    (material,) = scene.document.materials
    return material


def textured(file, *lines, outputs=("rgb",), surface_lines=(), nodes=READER, st="/look/st.outputs:result", coords=ST):
    """A square whose diffuse colour is a picture, in light from all around."""
    link = "color3f inputs:diffuseColor.connect = </look/t.outputs:rgb>"
    nodes = texture("t", file, *lines, outputs=outputs, st=st) + nodes
    return CAMERA + SKY + surface(link, BARE, *surface_lines, nodes=nodes) + wall(coords)


def test_diffuse_colour(tmp_path):
    look = surface("color3f inputs:diffuseColor = (0.2, 0.4, 0.8)", BARE)
    assert_seen(read(tmp_path, CAMERA + SKY + look + wall()).at(0.0), "path", (0.2, 0.4, 0.8), tolerance=0.04)


def test_a_smooth_metal_reflects_its_colour(tmp_path):
    lines = ("color3f inputs:diffuseColor = (0.9, 0.6, 0.3)", "float inputs:metallic = 1", "float inputs:roughness = 0")
    snapshot = read(tmp_path, CAMERA + SKY + surface(*lines) + wall()).at(0.0)
    assert_seen(snapshot, "path", (0.9, 0.6, 0.3), tolerance=0.03)


def test_the_metallic_workflow_is_that_of_gltf(tmp_path):
    lines = (
        "color3f inputs:diffuseColor = (0.2, 0.4, 0.8)",
        "float inputs:metallic = 0.3",
        "float inputs:roughness = 0.6",
        "float inputs:clearcoat = 0.5",
        "float inputs:clearcoatRoughness = 0.2",
        "color3f inputs:emissiveColor = (0.1, 0.2, 0.3)",
    )
    made = material_of(tmp_path, *lines)
    file = GltfBuilder()
    base = {"baseColorFactor": [0.2, 0.4, 0.8, 1], "metallicFactor": 0.3, "roughnessFactor": 0.6}
    coat = {"KHR_materials_clearcoat": {"clearcoatFactor": 0.5, "clearcoatRoughnessFactor": 0.2}}
    file.add("materials", pbrMetallicRoughness=base, emissiveFactor=[0.1, 0.2, 0.3], extensions=coat)
    file.node(mesh=file.mesh(file.primitive(material=0)))
    (other,) = load(file.write(tmp_path / "a.gltf")).document.materials
    for name in ("kind", "roughness", "ior", "diffuse", "emission"):
        assert getattr(made, name) == pytest.approx(getattr(other, name)) if name != "kind" else made.kind == other.kind
    assert {key: pytest.approx(value) for key, value in other.own.items()} == made.own


def test_the_specular_workflow(tmp_path):
    def made(color, specular):
        lines = (f"color3f inputs:diffuseColor = {color}", f"color3f inputs:specularColor = {specular}")
        return material_of(tmp_path, "int inputs:useSpecularWorkflow = 1", *lines)

    coat = made((0.5, 0.5, 0.5), (0.04, 0.04, 0.04))
    assert (coat.kind, coat.own["metalness"]) == ("principled", 0.0)
    assert normal_reflectance(coat.ior) == pytest.approx(0.04)
    gold = made((0, 0, 0), (1, 0.8, 0.3))
    assert (gold.kind, gold.specular) == ("metal", pytest.approx((1, 0.8, 0.3)))


@pytest.mark.parametrize("driver", DRIVERS)
def test_opacity_is_that_of_a_thin_pane(tmp_path, driver):
    lines = ("float inputs:opacity = 0.25", "color3f inputs:diffuseColor = (0, 0, 0)", BARE)
    meta, binding = bound("/glow")
    behind = quad("behind", binding, *moved(0, 0, -1), **meta)
    scene = read(tmp_path, CAMERA + DARK + GLOW + surface(*lines) + wall() + behind)
    assert "thin pane" in notes_of(scene)
    assert_seen(scene.at(0.0), driver, 0.75)


@pytest.mark.parametrize(("output", "threshold"), [("a", 0.5), ("r", 0.5), ("r", 0.1), ("a", 0.0)])
def test_holes_are_where_the_opacity_is_below_the_threshold(tmp_path, output, threshold, picture):
    shares = np.array([[255, 102], [0, 204]], np.uint8)
    pixels = np.dstack([shares] * 4) if output == "a" else np.dstack([shares, 0 * shares, 0 * shares])
    name = picture(pixels)
    link = (
        f"float inputs:opacity.connect = </look/t.outputs:{output}>",
        f"float inputs:opacityThreshold = {threshold}",
    )
    lines = ("color3f inputs:emissiveColor = (0, 0, 0)", "color3f inputs:diffuseColor = (1, 1, 1)", BARE, *link)
    raw = 'token inputs:sourceColorSpace = "raw"'
    nodes = texture("t", name, raw, outputs=(output,)) + READER
    lamp = prim("DistantLight", "sun", f"float inputs:intensity = {math.pi}", "bool inputs:normalize = 1",
                "float inputs:angle = 0")  # fmt: skip
    snapshot = read(tmp_path, CAMERA + lamp + surface(*lines, nodes=nodes) + wall(ST)).at(0.0)
    there = shares / 255.0 >= (threshold or 0.5)
    assert_mean(snapshot, "path", there.mean(), tolerance=0.08)


def test_what_is_no_preview_surface_shows_its_colour_for_display(tmp_path):
    other = surface().replace("UsdPreviewSurface", "ND_standard_surface_surfaceshader")
    scene = read(tmp_path, other + wall("color3f[] primvars:displayColor = [(0.1, 0.2, 0.3)]"))
    assert "ND_standard_surface" in notes_of(scene)
    assert scene.document.materials[0].diffuse == pytest.approx((0.1, 0.2, 0.3))


def test_inputs_of_the_material_reach_its_nodes(tmp_path):
    look = prim(
        "Material",
        "look",
        "color3f inputs:tint = (0.3, 0.6, 0.9)",
        "token outputs:surface.connect = </look/surface.outputs:surface>",
        children=prim(
            "Shader",
            "surface",
            'uniform token info:id = "UsdPreviewSurface"',
            "color3f inputs:diffuseColor.connect = </look.inputs:tint>",
            "token outputs:surface",
        ),
    )
    scene = read(tmp_path, look + wall())
    assert scene.document.materials[0].diffuse == pytest.approx((0.3, 0.6, 0.9))


def test_a_reader_of_colours_gives_them_to_a_material(tmp_path):
    node = prim("Shader", "c", 'uniform token info:id = "UsdPrimvarReader_float3"',
                'string inputs:varname = "displayColor"', "float3 outputs:result")  # fmt: skip
    colors = (
        'color3f[] primvars:displayColor = [(0, 0, 0), (1, 1, 1), (1, 1, 1), (0, 0, 0)] (\ninterpolation = "vertex"\n)'
    )
    look = surface("color3f inputs:diffuseColor.connect = </look/c.outputs:result>", BARE, nodes=node)
    expected = np.tile(np.array([0.125, 0.375, 0.625, 0.875])[None, :, None], (4, 1, 3))
    assert_seen(read(tmp_path, CAMERA + SKY + look + wall(colors)).at(0.0), "path", expected, tolerance=0.04)


COORDINATES = {
    "vertex": ST,
    "varying": ST.replace("vertex", "varying"),
    "faceVarying": ST.replace("vertex", "faceVarying"),
    "indexed": "texCoord2f[] primvars:st = [(1, 1), (0, 0), (1, 0), (0, 1)] (\n"
    '    interpolation = "faceVarying"\n)\nint[] primvars:st:indices = [1, 2, 0, 3]',
}


@pytest.mark.parametrize("interpolation", COORDINATES)
def test_pictures_stand_upright(tmp_path, interpolation, picture):
    snapshot = read(tmp_path, textured(picture(), coords=COORDINATES[interpolation])).at(0.0)
    assert_mean(snapshot, "path", np.array([0.5, 0.5, 0.5]), tolerance=0.05)
    seen = passes(snapshot, "path", 32, width=8, height=8, photons=4000).mean(axis=0)
    assert seen[[[1], [6]], [1, 6]] == pytest.approx(PIXELS / 255.0, abs=0.1)


@pytest.mark.parametrize("interpolation", ["constant", "uniform"])
def test_one_place_of_a_picture_for_a_face(tmp_path, interpolation, picture):
    place = f'texCoord2f[] primvars:st = [(0.75, 0.75)] (\ninterpolation = "{interpolation}"\n)'
    assert_seen(read(tmp_path, textured(picture(), coords=place)).at(0.0), "path", (0, 1, 0), tolerance=0.04)


@pytest.mark.parametrize(("space", "expected"), [("raw", 128 / 255), ("sRGB", None), ("auto", None)])
def test_colour_spaces(tmp_path, space, expected, picture):
    name = picture(np.full((2, 2, 3), 128))
    line = f'token inputs:sourceColorSpace = "{space}"'
    value = float(decoded(np.array(128, np.uint8))) if expected is None else expected
    assert_seen(read(tmp_path, textured(name, line)).at(0.0), "path", value, tolerance=0.04)


def test_scale_and_bias(tmp_path, picture):
    name = picture(np.full((2, 2, 3), 128))
    raw = 'token inputs:sourceColorSpace = "raw"'
    lines = ("float4 inputs:scale = (0.5, 1, 2, 1)", "float4 inputs:bias = (0.25, 0, -0.5, 0)")
    value = 128 / 255
    expected = (0.5 * value + 0.25, value, 2.0 * value - 0.5)
    assert_seen(read(tmp_path, textured(name, raw, *lines)).at(0.0), "path", expected, tolerance=0.04)
    assert_seen(read(tmp_path, textured(name, raw, lines[0])).at(0.0), "path", (0.5 * value, value, 1), tolerance=0.04)


@pytest.mark.parametrize(
    ("wrap", "expected"), [("repeat", (1, 0, 0)), ("mirror", (0, 1, 0)), ("clamp", (0, 1, 0)), ("black", (0, 1, 0))]
)
def test_beyond_a_picture(tmp_path, wrap, expected, picture):
    place = 'texCoord2f[] primvars:st = [(1.25, 0.75)] (\ninterpolation = "constant"\n)'
    lines = (f'token inputs:wrapS = "{wrap}"', f'token inputs:wrapT = "{wrap}"')
    scene = read(tmp_path, textured(picture(), *lines, coords=place))
    assert ("black" in notes_of(scene)) == (wrap == "black")
    assert_seen(scene.at(0.0), "path", expected, tolerance=0.04)


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (("float2 inputs:translation = (0.5, 0)",), (0, 1, 0)),
        (("float2 inputs:scale = (3, 1)",), (0, 1, 0)),
        (("float inputs:rotation = -90",), (0, 1, 0)),
        (("float inputs:rotation = 90", "float2 inputs:translation = (0, 0.5)"), (1, 0, 0)),
        (("float inputs:rotation = 90",), (0, 0, 1)),
    ],
)
def test_coordinates_are_scaled_turned_and_shifted(tmp_path, lines, expected, picture):
    place = 'texCoord2f[] primvars:st = [(0.25, 0.75)] (\ninterpolation = "constant"\n)'
    move = prim("Shader", "move", 'uniform token info:id = "UsdTransform2d"',
                "float2 inputs:in.connect = </look/st.outputs:result>", *lines, "float2 outputs:result")  # fmt: skip
    text = textured(picture(), nodes=READER + move, st="/look/move.outputs:result", coords=place)
    assert_seen(read(tmp_path, text).at(0.0), "path", expected, tolerance=0.04)


def test_channels_say_what_is_rough_and_what_is_metal(tmp_path, picture):
    name = picture(np.full((2, 2, 3), (0, 128, 255)))
    links = (
        "float inputs:roughness.connect = </look/t.outputs:g>",
        "float inputs:metallic.connect = </look/t.outputs:b>",
    )
    raw = 'token inputs:sourceColorSpace = "raw"'
    scene = read(tmp_path, surface(*links, nodes=texture("t", name, raw, outputs=("g", "b")) + READER) + wall(ST))
    (material,), textures = scene.document.materials, scene.document.textures
    assert (textures[material.roughness_map].pixels == 128).all()
    assert (textures[material.metalness_map].pixels == 255).all()
    assert textures[material.roughness_map].is_linear
    assert (material.roughness, material.own["metalness"]) == (1.0, 1.0)


def test_normal_maps(tmp_path, picture):
    name = picture(np.full((2, 2, 3), np.rint(127.5 * (np.array([0.6, 0.0, 0.8]) + 1.0))))
    lines = (
        'token inputs:sourceColorSpace = "raw"',
        "float4 inputs:scale = (2, 2, 2, 1)",
        "float4 inputs:bias = (-1, -1, -1, 0)",
    )
    link = "normal3f inputs:normal.connect = </look/n.outputs:rgb>"
    nodes = texture("n", name, *lines) + READER
    look = surface(link, "color3f inputs:diffuseColor = (1, 1, 1)", BARE, nodes=nodes)
    lamp = prim(
        "DistantLight", "sun", "float inputs:intensity = 1", "bool inputs:normalize = 1", "float inputs:angle = 0"
    )
    assert_seen(read(tmp_path, CAMERA + lamp + look + wall(ST)).at(0.0), "path", 0.8 / math.pi, tolerance=0.06)


def test_a_picture_that_is_missing_is_noted_and_strict_refuses_it(tmp_path):
    text = textured("nowhere.png", "float4 inputs:fallback = (0.1, 0.2, 0.3, 1)")
    scene = read(tmp_path, text)
    assert "nowhere.png: no such file" in notes_of(scene)
    assert scene.document.materials[0].diffuse == pytest.approx((0.1, 0.2, 0.3))
    with pytest.raises(Exception, match=r"nowhere\.png: no such file.*--strict"):
        read(tmp_path, text, strict=True)


def test_packages_hold_pictures_and_layers(tmp_path, picture):
    from pxr import UsdUtils

    picture(np.full((2, 2, 3), (255, 0, 0)))
    path = write(tmp_path, textured("t.png"))
    assert UsdUtils.CreateNewUsdzPackage(str(path), str(tmp_path / "a.usdz"))
    (tmp_path / "t.png").unlink()
    path.unlink()
    scene = load(tmp_path / "a.usdz")
    assert scene.document.notes.lines == []
    assert_seen(scene.at(0.0), "path", (1, 0, 0), tolerance=0.04)
    assert zipfile.is_zipfile(tmp_path / "a.usdz")


WHITE = "color3f[] primvars:displayColor = [(1, 1, 1)]"
#: Lights of radiance 1 that shine along -z from a height of 4 on the middle of the square: the irradiance there.
LAMPS = {
    "SphereLight": (["float inputs:radius = 0.5"], math.pi * 0.25 / 16.0),
    "DiskLight": (["float inputs:radius = 0.5"], math.pi * 0.25 / (0.25 + 16.0)),
    "RectLight": (["float inputs:width = 0.5", "float inputs:height = 0.4"], 0.2 / 16.0),
    "CylinderLight": (["float inputs:radius = 0.1", "float inputs:length = 0.4"], 2.0 * 0.1 * 0.4 / 16.0),
}


@pytest.mark.parametrize("driver", DRIVERS)
@pytest.mark.parametrize("kind", LAMPS)
def test_lamps_with_a_size(tmp_path, kind, driver):
    lines, expected = LAMPS[kind]
    lamp = prim(kind, "lamp", "float inputs:intensity = 100", *lines, *moved(0, 0, 4))
    camera = CAMERA.replace("Aperture = 20", "Aperture = 2").replace("(0, 0, 5)", "(0, 0, 2)")
    snapshot = read(tmp_path, camera + lamp + quad("q", WHITE, half=1)).at(0.0)
    assert_mean(snapshot, driver, 100.0 * expected / math.pi, tolerance=0.04, width=4, height=4, photons=20000)


@pytest.mark.parametrize("driver", DRIVERS)
def test_the_irradiance_of_a_distant_light_is_that_of_its_disc(tmp_path, driver):
    sun = prim("DistantLight", "sun", "float inputs:intensity = 100", "float inputs:angle = 10")
    snapshot = read(tmp_path, CAMERA + sun + quad("q", WHITE, half=3)).at(0.0)
    assert_mean(snapshot, driver, 100.0 * math.sin(math.radians(5.0)) ** 2, tolerance=0.03)


def lights_of(folder, kind, *lines):
    return read(folder, prim(kind, "lamp", *lines) + prim("Cube", "c")).at(0.0).lights


def test_distant_lights(tmp_path):
    color = ("color3f inputs:color = (1, 0.5, 0)", "float inputs:exposure = 1", "float inputs:angle = 1")
    (sun,) = lights_of(tmp_path, "DistantLight", "float inputs:intensity = 3", "bool inputs:normalize = 1", *color)
    assert sun.direction == pytest.approx((0, 0, -1))
    assert sun.irradiance == pytest.approx((6, 3, 0))
    assert sun.angular_radius == pytest.approx(0.5)


def test_points_and_spots(tmp_path):
    (point,) = lights_of(tmp_path, "SphereLight", "bool treatAsPoint = 1", "float inputs:intensity = 2",
                         "float inputs:radius = 0.5", *moved(1, 2, 3))  # fmt: skip
    assert point.position == pytest.approx((1, 2, 3))
    assert point.intensity == pytest.approx((0.5 * math.pi,) * 3)
    (even,) = lights_of(tmp_path, "SphereLight", "bool treatAsPoint = 1", "bool inputs:normalize = 1")
    assert even.intensity == pytest.approx((0.25,) * 3)
    cone = ("float inputs:shaping:cone:angle = 40", "float inputs:shaping:cone:softness = 0.25")
    (spot,) = lights_of(tmp_path, "SphereLight", *cone)
    assert (spot.inner_angle, spot.outer_angle) == pytest.approx((30, 40))
    assert spot.direction == pytest.approx((0, 0, -1))
    meta = 'prepend apiSchemas = ["ShapingAPI"]'
    lamp = prim("SphereLight", "lamp", "bool treatAsPoint = 1", meta=meta)
    assert (
        read(tmp_path, lamp + prim("Cube", "c")).at(0.0).lights[0].kind == "point"
    )  # a cone that nobody has asked for


def emission_of(folder, *lines):
    """What a rectangle of two by three glows with."""
    lamp = prim("RectLight", "lamp", "float inputs:width = 2", "float inputs:height = 3", *lines)
    return read(folder, lamp + prim("Cube", "c")).document.materials[0].emission


def test_radiance_of_lights(tmp_path):
    assert emission_of(tmp_path, "float inputs:intensity = 3", "float inputs:exposure = 2") == pytest.approx((12,) * 3)
    assert emission_of(tmp_path, "bool inputs:normalize = 1") == pytest.approx((1 / 6,) * 3)
    scaled = ("float3 xformOp:scale = (2, 2, 2)", 'uniform token[] xformOpOrder = ["xformOp:scale"]')
    assert emission_of(tmp_path, "bool inputs:normalize = 1", *scaled) == pytest.approx((1 / 24,) * 3)
    warm = ("bool inputs:enableColorTemperature = 1", "float inputs:colorTemperature = 3000")
    red, green, blue = emission_of(tmp_path, *warm)
    assert red > green > blue > 0.0
    assert emission_of(tmp_path, "float inputs:exposure = 40") == (1e9,) * 3
    assert emission_of(tmp_path, "float intensity = 7") == pytest.approx((7,) * 3)  # as files had it before 2021


@pytest.mark.parametrize("driver", DRIVERS)
def test_rectangles_and_discs_shine_to_one_side_alone(tmp_path, driver):
    for kind in ("RectLight", "DiskLight"):
        front = prim(kind, "lamp", "float inputs:intensity = 1", "float inputs:width = 4", "float inputs:height = 4",
                     "float inputs:radius = 3", "float3 xformOp:rotateXYZ = (0, 180, 0)",
                     'uniform token[] xformOpOrder = ["xformOp:rotateXYZ"]')  # fmt: skip
        assert_seen(read(tmp_path, CAMERA + front).at(0.0), driver, 1.0)
        assert_seen(read(tmp_path, CAMERA + front.replace("180", "0")).at(0.0), driver, 0.0)


@pytest.mark.parametrize("driver", DRIVERS)
def test_pictures_of_rectangles_are_seen_upright_from_their_front(tmp_path, driver, picture):
    lamp = prim("RectLight", "lamp", "float inputs:width = 2", "float inputs:height = 2",
                f"asset inputs:texture:file = @{picture()}@", "float3 xformOp:rotateXYZ = (0, 180, 0)",
                'uniform token[] xformOpOrder = ["xformOp:rotateXYZ"]')  # fmt: skip
    seen = passes(read(tmp_path, CAMERA + lamp).at(0.0), driver, 4, width=8, height=8, photons=1000).mean(axis=0)
    assert seen[[[1], [6]], [1, 6]] == pytest.approx(PIXELS / 255.0, abs=0.02)


@pytest.mark.parametrize("driver", DRIVERS)
@pytest.mark.parametrize(("turn", "column"), [(0, 3), (90, 1), (180, 7), (270, 5)])
def test_pictures_of_domes_have_plus_z_in_their_middle(tmp_path, driver, turn, column):
    """By OpenEXR the longitude 0 is along +z, in the middle, and that of +x is left of it."""
    sky = np.zeros((4, 8, 3), np.float32)
    sky[:, column] = sky[:, (column + 1) % 8] = 2.0
    np.save(tmp_path / "sky.npy", sky)
    dome = prim("DomeLight", "sky", "asset inputs:texture:file = @sky.npy@")
    camera = prim("Camera", "eye", "float focalLength = 200", f"float xformOp:rotateY = {180 + turn}",
                  'uniform token[] xformOpOrder = ["xformOp:rotateY"]')  # fmt: skip
    far = prim("Cube", "c", *moved(0, 500, 0))
    assert_seen(read(tmp_path, camera + dome + far).at(0.0), driver, 2.0)


def test_an_index_of_one_has_no_coat(tmp_path):
    assert material_of(tmp_path, BARE).own["specular_weight"] == (0, 0, 0)
    assert material_of(tmp_path, "float inputs:ior = 1.4").ior == pytest.approx(1.4)


def test_normals_of_a_picture_with_another_scale_are_baked(tmp_path, picture):
    name = picture(np.full((2, 2, 3), (255, 255, 255)))
    lines = ("float4 inputs:scale = (2, -2, 2, 1)", "float4 inputs:bias = (-1, 1, -1, 0)")
    link = "normal3f inputs:normal.connect = </look/n.outputs:rgb>"
    scene = read(tmp_path, surface(link, nodes=texture("n", name, *lines) + READER) + wall(ST))
    assert scene.document.textures[0].pixels[0, 0].tolist() == [255, 0, 255]


def test_a_second_dome_is_noted(tmp_path):
    scene = read(tmp_path, SKY + SKY.replace('"sky"', '"other"') + prim("Cube", "c"))
    assert "several dome lights" in notes_of(scene)


def test_sizes_in_other_units_shine_alike(tmp_path):
    text = prim("SphereLight", "l", "bool treatAsPoint = 1", "float inputs:radius = 50") + prim("Cube", "c")
    (tmp_path / "a.usda").write_text("#usda 1.0\n(\n    metersPerUnit = 0.01\n)\n" + text)
    (light,) = load(tmp_path / "a.usda").at(0.0).lights
    assert light.intensity == pytest.approx((0.25 * math.pi,) * 3)  # type: ignore[attr-defined]


@pytest.mark.parametrize("driver", DRIVERS)
def test_emission_may_exceed_one(tmp_path, driver):
    lines = ("color3f inputs:emissiveColor = (3, 2, 1)", "color3f inputs:diffuseColor = (0, 0, 0)", BARE)
    assert_seen(read(tmp_path, CAMERA + DARK + surface(*lines) + wall()).at(0.0), driver, (3, 2, 1))
