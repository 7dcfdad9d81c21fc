"""Pictures of pbrt's features: each has a mean that is known by hand, whichever driver makes it.

The camera sees the square from -1 to 1 without perspective, from z = -4, with x to the right; what is between is white
sky, or black without one.
"""

import math

import numpy as np
import pytest
from PIL import Image
from rendered import DRIVERS, SIDE, mean, picture

import renderer
from scenes.materials.metals import METALS
from scenes.materials.microfacets import metal_normal_reflectance

BEFORE = 'LookAt 0 0 -4  0 0 0  0 1 0\nCamera "orthographic"\n'
SKY = 'LightSource "infinite" "rgb L" [ 1 1 1 ]\n'
LAMP = 'AreaLightSource "diffuse" "rgb L" [ .5 .25 1 ]\n'
RADIANCE = np.array((0.5, 0.25, 1.0))
ALBEDO = np.array((0.2, 0.4, 0.6))
BLACK = 'Material "diffuse" "rgb reflectance" [ 0 0 0 ]\n'
MATT = 'Material "diffuse" "rgb reflectance" [ .2 .4 .6 ]\n'
#: Rectangles whose front is toward the camera: of all the picture, of its right half, and of a quarter.
POINTS = '"point3 P" [ {0} -9 0  -9 -9 0  {0} 9 0  -9 9 0 ]'
WALL = f'Shape "bilinearmesh" {POINTS.format(9)}\n'
RIGHT = 'Shape "bilinearmesh" "point3 P" [ 9 -9 0  0 -9 0  9 9 0  0 9 0 ]\n'
UPPER_RIGHT = 'Shape "bilinearmesh" "point3 P" [ 1 0 0  0 0 0  1 1 0  0 1 0 ]\n'
PANE = 'Shape "bilinearmesh" "point3 P" [ 9 -9 -1  -9 -9 -1  9 9 -1  -9 9 -1 ]\n'
SLAB = 'Shape "bilinearmesh" "point3 P" [ -9 -9 -.5  9 -9 -.5  -9 9 -.5  9 9 -.5 ]\n' + PANE
F0 = 0.04


def under_coat(albedo):
    """What a matt surface under a smooth coat of index 1.5 reflects of white sky, seen straight: light that the coat
    reflects from inside is reflected again."""
    inside = internal_reflectance(1.5)
    return F0 + (1.0 - F0) * albedo * (1.0 - inside) / (1.0 - albedo * inside)


def internal_reflectance(index):
    """The share of light from all directions inside of glass that stays inside, by Fresnel's formulas."""
    sines = (np.arange(100_000) + 0.5) / 100_000  # the square of the sine is what such light is spread by
    cosine, out = np.sqrt(1.0 - sines), np.sqrt(np.maximum(1.0 - index**2 * sines, 0.0))
    parallel = (cosine - index * out) / (cosine + index * out)
    across = (index * cosine - out) / (index * cosine + out)
    return float(np.where(out > 0.0, 0.5 * (parallel**2 + across**2), 1.0).mean())


def closed_spline_area(corners):
    """The area within the closed cubic B-spline of some corners, (n, 2)."""
    t = np.linspace(0.0, 1.0, 1000, endpoint=False)[:, None]
    weights = [(1 - t) ** 3, 3 * t**3 - 6 * t**2 + 4, -3 * t**3 + 3 * t**2 + 3 * t + 1, t**3]
    pieces = [sum(w * np.roll(corners, -k, axis=0)[j] for j, w in enumerate(weights)) / 6 for k in range(len(corners))]
    x, y = np.concatenate(pieces).T
    return 0.5 * abs(float(x @ np.roll(y, -1) - y @ np.roll(x, -1)))


CONTROL = np.array([(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)])
SUBDIVIDED = (
    'Shape "loopsubdiv" "point3 P" [ -.9 -.9 0  .9 -.9 0  .9 .9 0  -.9 .9 0 ] "integer indices" [ 0 1 2 0 2 3 ]'
)
GOLD, GREY = np.array(metal_normal_reflectance(METALS["gold"].eta, METALS["gold"].k)), np.full(3, 0.5)
#: What is seen through a pane or slab, with all that is reflected between its sides.
THROUGH = (1.0 - F0) / (1.0 + F0)
TEXTURE = 'Texture "t" "spectrum" {}\nMaterial "diffuse" "texture reflectance" "t"\n'


def textured(words):
    """A wall in white sky whose colour is a texture."""
    return SKY + TEXTURE.format(words) + WALL


#: Worlds, and the mean of their pictures.
MEANS = {
    # shapes
    "loopsubdiv": (f"{SKY}{MATT}{SUBDIVIDED}", 1.0 - (1.0 - ALBEDO) * closed_spline_area(CONTROL) / 4),
    "ribbon": (
        f'{LAMP} Shape "curve" "string type" "ribbon" "point3 P" [ -1 0 0  0 0 0  .5 0 0  1 0 0 ] "float width" .5 '
        '"normal N" [ 0 0 -1  0 0 -1 ]',
        RADIANCE / 4,
    ),
    "curve": (
        f'{SKY}{MATT} Shape "curve" "string type" "cylinder" "float width" .5 '
        '"point3 P" [ -1 0 0  0 0 0  .5 0 0  1 0 0 ]',
        1.0 - (1.0 - ALBEDO) / 4,
    ),
    "alpha": (SKY + MATT + WALL.strip() + ' "float alpha" 0 ' + RIGHT, (1.0 + ALBEDO) / 2),
    "holes": (
        f'{SKY}{MATT}Texture "h" "float" "imagemap" "string filename" "halves.png" "string filter" "point"\n'
        f'{WALL.strip()} "texture alpha" "h"',
        (1.0 + ALBEDO) / 2,
    ),
    # materials in white sky
    "diffuse": (SKY + MATT + WALL, ALBEDO),
    "coateddiffuse": (SKY + MATT.replace('diffuse"', 'coateddiffuse" "float roughness" 0') + WALL, under_coat(ALBEDO)),
    "conductor": (SKY + 'Material "conductor" "spectrum eta" "metal-Au-eta" "spectrum k" "metal-Au-k"' + WALL, GOLD),
    "reflectance": (SKY + 'Material "conductor" "rgb reflectance" [ .2 .4 .6 ]' + WALL, ALBEDO),
    "dielectric": (
        BLACK + LAMP + WALL + 'AreaLightSource "diffuse" "float scale" 0 Material "dielectric"' + SLAB,
        RADIANCE * THROUGH,
    ),
    "thindielectric": (SKY + 'Material "thindielectric"' + PANE, np.ones(3)),
    "diffusetransmission": (SKY + 'Material "diffusetransmission"' + WALL, GREY / 2),
    "interface": (SKY + 'Material "interface"' + WALL + MATT + RIGHT, (1.0 + ALBEDO) / 2),
    "no picture": (textured('"imagemap" "string filename" "none.png"'), GREY),
    # lights
    "area light": (LAMP + WALL, RADIANCE),
    "picture of an area light": (f'AreaLightSource "diffuse" "string filename" "halves.png" {WALL}', GREY),
    "spot": (
        'LightSource "spot" "rgb I" [ 4 4 4 ] "point3 from" [ 0 0 -50 ] "point3 to" [ 0 0 0 ]' + MATT + WALL,
        ALBEDO * 4 / math.pi / 2500,
    ),
    "goniometric": (
        'LightSource "goniometric" "rgb I" [ 4 4 4 ] "string filename" "none.png" Translate 0 0 50 ' + MATT + WALL,
        ALBEDO * 4 / math.pi / 2500,
    ),
    "infinite": (f'LightSource "infinite" "rgb L" [ 2 2 2 ] "float illuminance" {math.pi} {MATT}{WALL}', 2 * ALBEDO),
    "picture of light": ('LightSource "infinite" "string filename" "white.pfm"' + MATT + WALL, ALBEDO),
    "no picture of light": ('LightSource "infinite" "string filename" "none.exr"' + MATT + WALL, ALBEDO),
    "medium inside": (
        'MakeNamedMedium "fog" "string type" "homogeneous" "rgb sigma_a" [ 1 2 0 ] "rgb sigma_s" [ 0 0 0 ]\n'
        + f'{BLACK}{LAMP}{WALL}AreaLightSource "diffuse" "float scale" 0 Material "interface" MediumInterface "fog" ""'
        + SLAB,
        RADIANCE * np.exp(-0.5 * np.array((1.0, 2.0, 0.0))),
    ),
    "medium that loses nothing": (
        'MakeNamedMedium "fog" "string type" "homogeneous" "rgb sigma_a" [ 0 0 0 ] "rgb sigma_s" [ 1 2 3 ]\n'
        + f'{SKY}Material "interface" MediumInterface "fog" "" Shape "sphere" "float radius" .7',
        np.ones(3),
    ),
    "medium around": (
        f'MakeNamedMedium "fog" "string type" "homogeneous" MediumInterface "" "fog" {SKY}{MATT}{RIGHT}',
        (1.0 + ALBEDO) / 2,
    ),
}


@pytest.fixture
def scene(tmp_path):
    """Writes a file and the pictures that some name; returns its path."""

    def write(world, before=BEFORE):
        (tmp_path / "lamp.pbrt").write_text(f"AttributeBegin {LAMP} {RIGHT} AttributeEnd")
        Image.fromarray(np.array([[[255] * 3, [0] * 3]], np.uint8)).save(tmp_path / "halves.png")
        (tmp_path / "white.pfm").write_bytes(b"PF\n2 1\n-1\n" + np.ones(6, np.float32).tobytes())
        (tmp_path / "a.pbrt").write_text(f"{before}WorldBegin\n{world}\n")
        return tmp_path / "a.pbrt"

    return write


#: By name and driver, what a picture needs: at the border of a medium photons are missing as far as the radius reaches.
NEEDS = {("medium that loses nothing", "photon"): {"photons": 20_000, "radius": 0.02}}


@pytest.mark.parametrize("driver", DRIVERS)
@pytest.mark.parametrize("name", MEANS)
def test_the_mean_of_a_picture_is_known(scene, name, driver):
    world, expected = MEANS[name]
    far = 0.06 if name == "curve" else 0.02
    assert mean(scene(world), driver, **NEEDS.get((name, driver), {})) == pytest.approx(
        np.asarray(expected), rel=far, abs=1e-4
    )


@pytest.mark.parametrize("driver", DRIVERS)
@pytest.mark.parametrize("mirror", ["", "Scale -1 1 1\n"])
@pytest.mark.parametrize("lens", ['"orthographic"', f'"perspective" "float fov" {2 * math.degrees(math.atan(0.25))}'])
def test_a_lamp_is_seen_where_it_is(scene, mirror, lens, driver):
    """Above and to the right, or to the left where the camera is mirrored."""
    seen = picture(scene(LAMP + UPPER_RIGHT, mirror + BEFORE.replace('"orthographic"', lens)), driver)
    half = SIDE // 2
    columns = slice(None, half) if mirror else slice(half, None)
    assert seen[:half, columns] == pytest.approx(np.broadcast_to(RADIANCE, (half, half, 3)), rel=1e-5)
    seen[:half, columns] = 0.0
    assert not seen.any()


@pytest.mark.parametrize("driver", DRIVERS)
def test_a_picture_is_that_of_triangles_of_its_colours(scene, tmp_path, driver):
    """Two by two colours, the lower row first in v."""
    colors = np.array([[(0.9, 0.1, 0.1), (0.1, 0.9, 0.1)], [(0.1, 0.1, 0.9), (0.9, 0.9, 0.1)]], np.float32)
    (tmp_path / "four.pfm").write_bytes(b"PF\n2 2\n-1\n" + colors.tobytes())
    corners = '"point3 P" [ -1 -1 0  1 -1 0  -1 1 0  1 1 0 ]'
    image = TEXTURE.format('"imagemap" "string filename" "four.pfm" "string filter" "point"')
    shown = picture(scene(f'{SKY}{image} Shape "bilinearmesh" {corners}'), driver)
    squares = ""
    for row, column in np.ndindex(2, 2):
        red, green, blue = colors[row, column]
        squares += f'AttributeBegin Material "diffuse" "rgb reflectance" [ {red} {green} {blue} ] '
        squares += f'Translate {column - 0.5} {row - 0.5} 0 Scale .5 .5 1 Shape "bilinearmesh" {corners} AttributeEnd\n'
    assert shown == pytest.approx(picture(scene(SKY + squares), driver), abs=0.02)


@pytest.mark.parametrize("driver", DRIVERS)
def test_paths_are_as_long_as_the_integrator_says(scene, driver):
    """One bounce is what the front of a slab reflects; the back of it, and what is behind, are farther."""
    world = f'{SKY} Material "dielectric" {SLAB}'
    seen = mean(scene(world, f'Integrator "path" "integer maxdepth" 1\n{BEFORE}'), driver, passes=256)
    assert seen == pytest.approx(np.full(3, F0), rel=0.05)
    assert mean(scene(world), driver) == pytest.approx(np.ones(3), rel=1e-5)
    assert mean(scene(world, f'Integrator "path" "integer maxdepth" 1\n{BEFORE}'), driver, max_bounces=16).min() > 0.99


@pytest.mark.parametrize("driver", DRIVERS)
def test_a_picture_is_shown_as_pbrt_shows_it(scene, driver):
    """Linear, by the exposure of the film alone, and sRGB: 0.18 at two stops is 0.72, which is 221; 2 is white."""
    before = f'Film "rgb" "float iso" 400\n{BEFORE}'
    world = 'AreaLightSource "diffuse" "rgb L" [ .18 2 .045 ]\n' + WALL
    shown = renderer.render(scene(world, before), driver=driver, size=(8, 8), passes=4, device="cpu", quiet=True)
    assert np.unique(shown.pixels.reshape(-1, 3), axis=0).tolist() == [[221, 255, 118]]


@pytest.mark.parametrize("driver", DRIVERS)
def test_the_light_of_a_black_body_has_the_luminance_one(scene, driver):
    seen = mean(scene(f'AreaLightSource "diffuse" "blackbody L" 3000 {WALL}'), driver)
    assert seen @ (0.2126, 0.7152, 0.0722) == pytest.approx(1.0, rel=0.01)
    assert seen[0] > seen[1] > seen[2]
