"""Files of pbrt: materials, textures and lights by known answers."""

import functools
import math

import numpy as np
import pytest
from data_files import messages
from PIL import Image

from scenes import SceneFileError, load
from scenes.colors.srgb import decoded
from scenes.materials.metals import METALS
from scenes.materials.microfacets import metal_normal_reflectance, normal_reflectance
from scenes.meshes.geometry import areas, double_area_normals
from scenes.pbrt import lights

CAMERA = 'LookAt 0 0 -4  0 0 0  0 1 0\nCamera "perspective"\n'
MIRRORED = "Scale -1 1 1\n" + CAMERA
QUAD = 'Shape "bilinearmesh" "point3 P" [ 0 0 0  2 0 0  0 3 0  2 3 0 ]\n'
LUMINANCE = np.array([0.2126, 0.7152, 0.0722])


@pytest.fixture
def scene(tmp_path):

    def read(world, before=MIRRORED):
        (tmp_path / "a.pbrt").write_text(f"{before}WorldBegin\n{world}\n{QUAD}")
        return load(tmp_path / "a.pbrt")

    return read


@pytest.fixture
def snap(scene):
    """The picture of what is after WorldBegin."""
    return lambda *text: scene(*text).at(0.0)


@pytest.fixture
def material(snap):
    return lambda *text: snap(*text).materials[0]


def test_diffuse_and_coated(material):
    assert material('Material "diffuse"').diffuse == (0.5, 0.5, 0.5)
    assert material('Material "diffuse" "rgb reflectance" [ .1 .2 1.5 ]').diffuse == pytest.approx((0.1, 0.2, 1.0))
    coated = material(
        'Material "coateddiffuse" "float roughness" 0.0081 "float eta" 1.4 "rgb reflectance" [ .1 .2 .3 ]'
    )
    assert (coated.kind, coated.ior, coated.diffuse) == ("plastic", 1.4, (0.1, 0.2, 0.3))
    assert coated.roughness == pytest.approx(0.3)  # alpha is the root of the roughness there, and its root it is here


@pytest.mark.parametrize(
    ("words", "roughness"),
    [
        ('"float roughness" 0.0625', 0.5),
        ('"float roughness" 0.25 "bool remaproughness" false', 0.5),
        ('"float uroughness" 0.5 "float vroughness" 0.0078125', 0.5),
        ("", 0.0),
    ],
)
def test_roughness(material, words, roughness):
    assert material(f'Material "dielectric" {words}').roughness == pytest.approx(roughness)


def test_metals(material):
    copper, gold = METALS["copper"], METALS["gold"]
    plain = material('Material "conductor"')
    assert (plain.kind, plain.specular, plain.eta, plain.k) == ("metal", (1, 1, 1), copper.eta, copper.k)
    named = material('Material "conductor" "spectrum eta" "metal-Au-eta" "spectrum k" [ "metal-Au-k" ]')
    assert (named.eta, named.k) == (gold.eta, gold.k)
    numbers = material('Material "conductor" "rgb eta" [ 1 2 3 ] "spectrum k" [ 300 4 900 4 ]')
    assert (numbers.eta, numbers.k) == ((1, 2, 3), pytest.approx((4, 4, 4)))
    colored = material('Material "conductor" "rgb reflectance" [ .9 .5 .1 ]')
    assert metal_normal_reflectance(colored.eta, colored.k) == pytest.approx((0.9, 0.5, 0.1))
    coated = material(
        'Material "coatedconductor" "spectrum conductor.eta" "metal-Au-eta" "float conductor.roughness" 1'
    )
    assert coated.eta == pytest.approx(np.array(gold.eta) / 1.5)
    assert (coated.roughness, coated.own) == (1.0, {"coat": 1.0, "coat_roughness": 0.0})


@pytest.mark.parametrize(
    ("words", "ior"), [("", 1.5), ('"float eta" 1.33', 1.33), ('"spectrum eta" "glass-F11"', 1.7847)]
)
def test_glass(material, words, ior):
    glass = material(f'Material "dielectric" {words}')
    assert (glass.kind, glass.ior, glass.transmittance) == ("dielectric", ior, 1.0)
    pane = material(f'Material "thindielectric" {words}')
    once = normal_reflectance(ior)
    # light that is reflected to and fro between two faces: r + (1 - r)^2 r / (1 - r^2)
    assert pane.specular == pytest.approx((once + (1 - once) ** 2 * once / (1 - once**2),) * 3)
    assert pane.transmittance == pytest.approx(1.0 - pane.specular[0])
    assert pane.ior == 1.0


PARTS = """
MakeNamedMaterial "red" "string type" "diffuse" "rgb reflectance" [ 0.8 0 0 ]
MakeNamedMaterial "even" "string type" "conductor" "rgb reflectance" [ 0.5 0.5 0.5 ]
MakeNamedMaterial "glass" "string type" "dielectric" "float eta" 1.4
MakeNamedMaterial "gold" "string type" "conductor" "spectrum eta" "metal-Au-eta" "spectrum k" "metal-Au-k"
"""


def test_mixtures(material, scene):
    mixed = material(PARTS + 'Material "mix" "string materials" [ "red" "even" ] "float amount" 0.25')
    assert mixed.kind == "nff"
    assert mixed.diffuse == pytest.approx((0.6, 0, 0))
    assert mixed.specular == pytest.approx((0.125,) * 3)
    clear = material(PARTS + 'Material "mix" "string materials" [ "glass" "red" ] "float amount" 0.25')
    assert (clear.transmittance, clear.ior, clear.diffuse) == (0.75, 1.4, pytest.approx((0.2, 0, 0)))
    assert material(PARTS + 'Material "mix" "string materials" [ "red" "gold" ] "float amount" 1').name == "conductor"
    document = scene(PARTS + 'Material "mix" "string materials" [ "red" "gold" ] "float amount" 0.4').document
    assert document.materials[0].diffuse == (0.8, 0.0, 0.0)
    assert "a mix of what cannot be mixed here" in document.notes.lines[0]


#: Linear colours: below left, below right, above left and above right of a picture.
CORNERS = {(0, 0): (1, 0, 0), (1, 0): (0, 1, 0), (0, 1): (0, 0, 1), (1, 1): (1, 1, 1)}


@pytest.fixture
def picture_file(tmp_path):
    above, below = [CORNERS[0, 1], CORNERS[1, 1]], [CORNERS[0, 0], CORNERS[1, 0]]
    Image.fromarray(np.array([above, below], np.uint8) * 255).save(tmp_path / "four.png")


def looked_up(scene, u, v, name="texture", field="diffuse"):
    """The colour of the first part at texture coordinates of the file, v upward, which its patch has from 0 to 1."""
    document = scene.document
    material = document.materials[document.parts[0].material]
    texture = document.textures[material.pictures[name]]
    mesh = document.parts[0].shape
    corners = mesh.vertices[mesh.triangles[0]] / (2.0, 3.0, 1.0)
    weights = np.linalg.solve(np.concatenate([corners[:, :2].T, np.ones((1, 3))]), [u, v, 1.0])
    s, t = weights @ mesh.uvs[mesh.uv_triangles[0]]
    height, width, _ = texture.pixels.shape
    if texture.wrap == "repeat":
        s, t = s % 1.0, t % 1.0
    row, column = (min(max(int(share * size), 0), size - 1) for share, size in ((t, height), (s, width)))
    texel = texture.pixels[row, column]
    value = texel / 255.0 if texture.is_linear else decoded(texel)
    return value * np.array(getattr(material, field))


IMAGE = 'Texture "t" "spectrum" "imagemap" "string filename" "four.png" '
USE = ' Material "diffuse" "texture reflectance" "t"'


@pytest.mark.usefixtures("picture_file")
@pytest.mark.parametrize(("u", "v"), list(CORNERS))
def test_pictures_stand_upright(scene, u, v):
    place = 0.25 + 0.5 * u, 0.25 + 0.5 * v
    assert looked_up(scene(IMAGE + USE), *place) == pytest.approx(CORNERS[u, v])
    inverted = scene(IMAGE + '"bool invert" true "float scale" 0.5' + USE)
    assert looked_up(inverted, *place) == pytest.approx(0.5 * (1.0 - np.array(CORNERS[u, v])), abs=3e-3)
    # half as many of them, and half of a picture upward
    mapped = scene(IMAGE + '"float uscale" 0.5 "float vscale" 0.5 "float vdelta" 0.5' + USE)
    assert looked_up(mapped, *place) == pytest.approx(CORNERS[0, 1])


@pytest.mark.usefixtures("picture_file")
def test_scales_and_mixtures_of_textures(scene):
    half = 'Texture "s" "spectrum" "scale" "texture tex" "t" "float scale" 0.5 '
    assert looked_up(scene(IMAGE + half + USE.replace('"t"', '"s"')), 0.75, 0.25) == pytest.approx((0, 0.5, 0))
    mix = 'Texture "m" "spectrum" "mix" "texture tex1" "t" "rgb tex2" [ 1 1 0 ] "float amount" 0.25 '
    found = looked_up(scene(IMAGE + mix + USE.replace('"t"', '"m"')), 0.25, 0.25)
    assert found == pytest.approx((1.0, 0.25, 0.0), abs=3e-3)
    number = 'Texture "n" "float" "imagemap" "string filename" "four.png" "string encoding" "linear" '
    share = 'Texture "m" "spectrum" "mix" "rgb tex1" [ 1 0 0 ] "rgb tex2" [ 0 0 1 ] "texture amount" "n" '
    whole = scene(number + share + USE.replace('"t"', '"m"'))
    assert looked_up(whole, 0.75, 0.75) == pytest.approx((0, 0, 1))


@pytest.mark.usefixtures("picture_file")
def test_mixed_materials_keep_the_colours_of_both(scene):
    """A picture in a mixture colours its own part alone."""
    painted = IMAGE + 'MakeNamedMaterial "painted" "string type" "diffuse" "texture reflectance" "t" '
    mix = 'Material "mix" "string materials" [ "painted" "{}" ] "float amount" 0.25 ' + QUAD
    found = [looked_up(scene(PARTS + painted + mix.format(other)), 0.75, 0.25) for other in ("red", "even", "painted")]
    expected = [(0.2, 0.75, 0.0), (0.0, 0.75, 0.0), (0.0, 1.0, 0.0)]
    assert np.array(found) == pytest.approx(np.array(expected), abs=4e-3)


@pytest.mark.usefixtures("picture_file")
def test_pictures_of_roughness_holes_heights_and_normals(scene, tmp_path):
    number = 'Texture "n" "float" "imagemap" "string filename" "four.png" "string encoding" "linear" '
    rough = scene(number + 'Material "conductor" "texture roughness" "n" "bool remaproughness" false')
    found = looked_up(rough, 0.25, 0.25, "roughness_map", "roughness")
    assert found == pytest.approx((1.0 / math.sqrt(3.0),) * 3, abs=3e-3)
    holes = scene(number + QUAD.strip() + ' "texture alpha" "n"')
    assert holes.document.materials[0].cutout == 0
    raised = scene(number + 'Material "diffuse" "texture displacement" "n" "string normalmap" "four.png"')
    assert set(raised.document.materials[0].pictures) == {"normal_map"}
    scaled = number.replace("four.png", 'four.png" "float scale" 0.02 "string filter" "point')
    heights = scene(scaled + 'Material "diffuse" "texture displacement" "n"').document
    assert heights.materials[0].bump_scale == pytest.approx(0.02)
    assert heights.textures[heights.materials[0].bump_map].filter == "nearest"


@pytest.mark.usefixtures("picture_file")
def test_pictures_that_map_in_another_way_are_left_out(scene):
    number = 'Texture "n" "float" "imagemap" "string filename" "four.png" "float uscale" 3 '
    document = scene(
        IMAGE + number + 'Material "coateddiffuse" "texture reflectance" "t" "texture roughness" "n"'
    ).document
    assert set(document.materials[0].pictures) == {"texture"}
    assert "a roughness_map is left out" in document.notes.lines[0]


def test_point_lights(snap):
    (light,) = snap(
        'Translate 1 0 0 LightSource "point" "rgb I" [ 1 2 3 ] "float scale" 2 "point3 from" [ 0 5 0 ]'
    ).lights
    assert (light.position, light.intensity) == ((1, 5, 0), (2, 4, 6))
    (light,) = snap('LightSource "point" "float power" 10 "blackbody I" 5000').lights
    assert np.array(light.intensity) @ LUMINANCE * 4.0 * math.pi == pytest.approx(10.0, rel=1e-3)
    assert light.intensity[0] > light.intensity[1] > light.intensity[2]


def test_spots(snap):
    (light,) = snap(
        'Scale 2 2 2 LightSource "spot" "point3 from" [ 1 0 0 ] "point3 to" [ 1 0 -3 ] "float coneangle" 40'
    ).lights
    assert (light.position, light.direction) == ((2, 0, 0), (0, 0, -1))
    assert (light.inner_angle, light.outer_angle, light.intensity) == (35, 40, (1, 1, 1))
    (light,) = snap('LightSource "spot" "float coneangle" 60 "float conedeltaangle" 0 "float power" 6').lights
    assert light.intensity == pytest.approx((6.0 / math.pi,) * 3)


@pytest.mark.parametrize(("before", "direction"), [(MIRRORED, (0.6, 0, 0.8)), (CAMERA, (0.6, 0, -0.8))])
def test_distant_lights(snap, before, direction):
    text = (
        'LightSource "distant" "point3 from" [ 0 1 0 ] "point3 to" [ 3 1 4 ] "rgb L" [ 1 .5 0 ] "float illuminance" 4'
    )
    (light,) = snap(text, before).lights
    assert light.direction == pytest.approx(direction)
    assert light.irradiance == (4.0, 2.0, 0.0)


@pytest.mark.parametrize(
    ("value", "color"),
    [
        ('"spectrum L" "stdillum-D65"', (1, 1, 1)),
        ('"spectrum L" [ 300 7 900 7 ]', None),
        ('"blackbody L" 6500', None),
        ('"spectrum L" "lamp.spd"', None),
        ('"rgb L" [ 3 4 5 ]', (3, 4, 5)),
        ("", (1, 1, 1)),
    ],
)
def test_of_the_spectra_of_lights_the_shape_counts(snap, tmp_path, value, color):
    (tmp_path / "lamp.spd").write_text("# a lamp\n400 0\n550 3 # green\n700 0\n")
    found = snap(f'LightSource "infinite" {value}').environment.radiance[0, 0]
    assert found @ LUMINANCE == pytest.approx(1.0 if color is None else color @ LUMINANCE, rel=2e-3)
    if color is not None:
        assert found == pytest.approx(color, abs=2e-3)


@pytest.mark.parametrize("power", [0.0, 30.0])
@pytest.mark.parametrize(("twosided", "sides"), [("false", 1), ("true", 2)])
def test_area_lights(snap, power, twosided, sides):
    """Their radiance, or, with a power, what all of it sends out: of a patch, which is one light."""
    text = (
        f'AreaLightSource "diffuse" "rgb L" [ 1 1 1 ] "float scale" 2 "bool twosided" {twosided} "float power" {power}'
    )
    picture = snap(f"Scale 1 1 -1 {text}")
    radiance = np.array([picture.materials[i].emission for i in picture.material_ids])
    assert len(radiance) == 2 * sides
    flux = math.pi * (areas(picture.positions)[:, None] * radiance).sum(axis=0)
    # the colour and the scale multiply the power, as they do there
    assert flux == pytest.approx(2.0 * (power or 6.0 * math.pi * sides), rel=1e-3)
    fronts = double_area_normals(picture.positions.astype(float))[:, 2]
    assert (fronts > 0).sum() == (2 if sides == 2 else 0)
    if sides == 2:  # each side is seen from its own side, and hides the other
        heights = picture.positions[:, :, 2].mean(axis=1)
        assert heights[fronts > 0].min() > heights[fronts < 0].max()


def test_normals_say_which_side_of_a_mesh_shines(snap):
    mesh = 'Shape "trianglemesh" "point3 P" [0 0 0 1 0 0 0 1 0] "integer indices" [0 1 2]'
    mesh += ' "normal N" [0 0 -1 0 0 -1 0 0 -1]'
    picture = snap(f'AttributeBegin AreaLightSource "diffuse" {mesh} AttributeEnd')
    assert double_area_normals(picture.positions[:1].astype(float))[0, 2] < 0
    assert picture.materials[picture.material_ids[0]].emission == (1, 1, 1)


def test_emission_pictures(scene, picture_file):
    document = scene('AreaLightSource "diffuse" "string filename" "four.png" "float scale" 3').document
    assert document.materials[0].emission == (3, 3, 3)
    assert looked_up(
        scene('AreaLightSource "diffuse" "string filename" "four.png"'), 0.25, 0.25, "emission_map", "emission"
    ) == pytest.approx((1, 0, 0))


#: Places along a side of the square.
PLACES = 160


@functools.cache
def sphere_of_square():
    """Directions of the places of the square: Clarberg: Fast Equal-Area Mapping of the (Hemi)Sphere, 2008."""
    grid = (np.arange(PLACES) + 0.5) / PLACES
    column, row = np.meshgrid(grid, grid)
    u, v = 2.0 * column - 1.0, 2.0 * row - 1.0
    distance = 1.0 - (np.abs(u) + np.abs(v))
    radius = 1.0 - np.abs(distance)
    phi = ((np.abs(v) - np.abs(u)) / radius + 1.0) * math.pi / 4.0
    flat = radius * np.sqrt(2.0 - radius**2)
    return np.stack(
        [
            np.copysign(np.cos(phi), u) * flat,
            np.copysign(np.sin(phi), v) * flat,
            np.copysign(1.0 - radius**2, distance),
        ],
        axis=-1,
    )


def shining(environment, direction):
    """Radiance from a direction of our world."""
    x, y, z = environment.axes @ direction
    height, width, _ = environment.radiance.shape
    row = min(int(math.acos(min(max(y, -1.0), 1.0)) / math.pi * height), height - 1)
    column = int((math.atan2(x, -z) / (2.0 * math.pi) + 0.5) * width) % width
    return environment.radiance[row, column]


@pytest.mark.parametrize(("before", "turned"), [(MIRRORED, 1.0), (CAMERA, -1.0)])
@pytest.mark.parametrize("steps", ["", "Rotate 70 1 2 3", "Scale -1 1 1 Rotate 40 0 1 0"])
def test_pictures_of_light_shine_from_where_they_do(scene, tmp_path, before, turned, steps):
    """By the file's own map from a light to the world, z of which may be turned round here."""
    pixels = np.random.default_rng(1).uniform(size=(4, 4, 3)).astype(np.float32).repeat(16, axis=0).repeat(16, axis=1)
    np.save(tmp_path / "sky.npy", pixels)
    environment = (
        scene(f'{steps} LightSource "infinite" "string filename" "sky.npy" "float scale" 2', before).at(0.0).environment
    )
    marker = scene(f'{steps} Shape "trianglemesh" "point3 P" [ 1 0 0 0 1 0 0 0 1 ] "integer indices" [ 0 1 2 ]', before)
    to_ours = marker.document.parts[0].transform.matrix[:3, :3]
    middles = PLACES * (2 * np.arange(4) + 1) // 8
    for row in middles:
        for column in middles:
            expected = 2.0 * pixels[row * 64 // PLACES, column * 64 // PLACES]
            found = shining(environment, to_ours @ sphere_of_square()[row, column])
            assert found == pytest.approx(expected, abs=1e-3)
    assert np.linalg.det(to_ours) * turned * (-1.0 if "Scale" in steps else 1.0) > 0.0


def test_a_picture_in_latitude_and_longitude(scene, tmp_path):
    """Its middle is -x, its first row +z, and right of its middle is -y."""
    pixels = np.zeros((4, 8, 3), np.float32)
    pixels[0], pixels[1:3, 3:5], pixels[1:3, 6:7] = (1, 0, 0), (0, 1, 0), (0, 0, 1)
    np.save(tmp_path / "sky.npy", pixels)
    scene_read = scene('LightSource "infinite" "string filename" "sky.npy"')
    environment = scene_read.at(0.0).environment
    assert shining(environment, np.array([0.0, 0.0, 1.0])) == pytest.approx((1, 0, 0))
    assert shining(environment, np.array([-1.0, 0.0, 0.0])) == pytest.approx((0, 1, 0))
    assert shining(environment, np.array([0.1, -1.0, 0.0]) / math.sqrt(1.01)) == pytest.approx((0, 0, 1))
    assert "latitude and longitude" in scene_read.document.notes.lines[0]


def test_illuminance_is_what_a_patch_gets_that_faces_up(scene):
    constant = scene('LightSource "infinite" "float illuminance" 5').at(0.0).environment
    assert math.pi * constant.radiance[0, 0] == pytest.approx([5.0] * 3)
    assert lights.illuminance(np.full((64, 128, 3), 2.0, np.float32)) == pytest.approx(2.0 * math.pi, rel=1e-3)


def test_a_square_keeps_what_it_shines_in_all():
    square = np.zeros((32, 32, 3), np.float32)
    square[20:24, 4:8] = 7.0
    unfolded = lights.unfolded(None, square).astype(np.float64)  # type: ignore[arg-type]
    polar = math.pi * (np.arange(32) + 0.5) / 32
    weights = np.sin(polar) * math.pi / 32 * 2.0 * math.pi / 64
    assert (weights @ unfolded.sum(axis=1))[0] == pytest.approx(4.0 * math.pi * 7.0 * 16 / 1024, rel=0.03)


@pytest.mark.parametrize(("text", "expected"), messages("pbrt", {}))
def test_problems_of_lights_and_materials(scene, text, expected):
    with pytest.raises(SceneFileError) as caught:
        scene(text)
    assert expected in str(caught.value)
    assert ":5: " in str(caught.value)


def test_checkerboards(scene):
    text = 'Texture "t" "spectrum" "checkerboard" "rgb tex1" [ 1 0 0 ] "float uscale" 4 "float vscale" 2 ' + USE
    found = [looked_up(scene(text), u, v) for u, v in ((0.1, 0.1), (0.3, 0.1), (0.1, 0.6), (0.3, 0.6), (0.6, 0.1))]
    assert np.allclose(found, [[1, 0, 0], [0, 0, 0], [0, 0, 0], [1, 0, 0], [1, 0, 0]])


def test_power_is_that_of_each_triangle_of_a_mesh(snap):
    mesh = (
        'Shape "trianglemesh" "point3 P" [0 0 0 1 0 0 0 1 0 1 1 0] "integer indices" [0 1 2 1 3 2] Material "interface"'
    )
    picture = snap(f'AreaLightSource "diffuse" "float power" 5 {mesh} AttributeBegin AttributeEnd')
    glowing = np.array([picture.materials[i].emission[0] for i in picture.material_ids])
    assert math.pi * (areas(picture.positions) * glowing)[:2] == pytest.approx([5.0, 5.0], rel=1e-3)


def test_lights_in_objects_are_dark(scene):
    text = f'ObjectBegin "a" AreaLightSource "diffuse" {QUAD} ObjectEnd ObjectInstance "a"'
    document = scene(text).document
    assert not any(any(material.emission) for material in document.materials)
    assert "what shines within an object is dark" in document.notes.lines[0]
