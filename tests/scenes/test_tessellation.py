"""Round shapes become as many triangles as are seen: errors in pixels by projection, and limits."""

import math

import numpy as np
import pytest

from scenes import Viewing, load
from scenes.model import Camera
from scenes.playing import tessellation
from scenes.playing.tessellation import in_pixels

VIEW = "v from 0 0 10 at 0 0 0 up 0 1 0 angle 40 hither 0.1 resolution 400 400\n"


def camera(eye=(0.0, 0.0, 10.0), **more):
    return Camera(eye=eye, forward=(0.0, 0.0, -1.0), up=(0.0, 1.0, 0.0), vertical_fov=40.0, **more)


def error_in_pixels(positions, radius, distance, height=400):
    """How far the middles of triangles and of their edges are off a ball, in pixels at its outline."""
    corners = positions.astype(np.float64)
    middles = np.concatenate([corners.mean(axis=1), *(0.5 * (corners[:, k] + corners[:, k - 1]) for k in range(3))])
    off = radius - np.linalg.norm(middles, axis=-1).min()
    tangent = math.sqrt(distance**2 - radius**2)
    return off * 0.5 * height / math.tan(math.radians(20.0)) / tangent


@pytest.mark.parametrize("radius", [0.05, 0.3, 1.0, 3.0, 8.0])
def test_balls_are_right_to_a_quarter_of_a_pixel_and_no_finer(read, radius):
    scene = read(VIEW + f"s 0 0 0 {radius}")
    error = error_in_pixels(scene.at(0.0).positions, radius, 10.0)
    assert error <= 0.25
    assert error > 0.1 or len(scene.at(0.0).positions) == 48


def test_the_place_that_is_looked_from_counts(write):
    path = write(VIEW + "s 0 0 0 1")
    near = load(path, Viewing(eye=(0.0, 0.0, 2.0), target=(0.0, 0.0, 0.0))).document.fineness
    assert near.triangles > 2 * load(path).document.fineness.triangles


def test_a_camera_that_comes_near_counts(write):
    keys = "".join(f"{t} 0 0 {z} 0 0 0\n" for t, z in ((-1, 10), (0, 10), (1, 1.1), (2, 1.1)))
    still = load(write(VIEW + "s 0 0 0 1")).document.fineness
    moving = load(write(VIEW + "s 0 0 0 1\na 0 1 5\nk camera { transl 4 " + keys + "}", "moving.aff")).document.fineness
    assert moving.triangles > 4 * still.triangles


def test_distance_is_to_the_nearest_part_of_an_axis():
    ends = np.array([[[1.0, 0.0, -100.0], [1.0, 0.0, 100.0]]])
    focal = 50.0 / math.tan(math.radians(20.0))
    found = in_pixels(ends, np.array([0.6]), camera(), 100)
    assert found == pytest.approx([0.6 * focal / 0.8])


def test_all_together_are_limited(write, monkeypatch):
    path = write(VIEW + "".join(f"s {k} 0 0 1\n" for k in range(20)))
    free = load(path).document.fineness
    monkeypatch.setattr(tessellation, "MAX_TRIANGLES", free.triangles // 3)
    limited = load(path).document.fineness
    assert limited.triangles <= free.triangles // 3
    assert limited.error in (0.5, 1.0, 2.0, 4.0)
    monkeypatch.setattr(tessellation, "MAX_TRIANGLES", 1)
    assert load(path).document.fineness.triangles == 20 * 48


def test_comments_after_values_of_nff(write):
    text = VIEW.replace("hither", "# wide\nhither") + "l 1 2 3 # a lamp\ns 0 0 # in the middle\n0 1 # unit\n#s 9 9 9 1"
    snapshot = load(write(text, "scene.nff")).at(0.0)
    assert len(snapshot.lights) == 1
    assert np.abs(snapshot.positions).max() <= 1.0


BALL_OF_XML = """<scene version="3.0.0"><sensor type="perspective"><float name="fov" value="40"/>
<string name="fov_axis" value="y"/>
<transform name="to_world"><lookat origin="0, 0, 10" target="0, 0, 0" up="0, 1, 0"/></transform>
<film type="hdrfilm"><integer name="width" value="400"/><integer name="height" value="400"/></film></sensor>
<shape type="sphere"><float name="radius" value="{radius}"/>{more}</shape></scene>"""
GLOW_OF_XML = '<emitter type="area"><rgb name="radiance" value="1, 1, 1"/></emitter>'
BALL_OF_PBRT = """LookAt 0 0 10 0 0 0 0 1 0 Camera "perspective" "float fov" 40
Film "rgb" "integer xresolution" 400 "integer yresolution" 400 WorldBegin {more} Shape "sphere" "float radius" {radius}
"""
BALL_OF_TOML = """[cameras.front]\neye = [0, 0, 10]\ntarget = [0, 0, 0]\nvertical_fov = 40\nresolution = [400, 400]
[materials.grey]\n{more}\n[[object]]\nshape = "sphere"\nmaterial = "grey"\nradius = {radius}\n"""
FORMATS = {
    "scene.xml": (BALL_OF_XML, GLOW_OF_XML),
    "scene.pbrt": (BALL_OF_PBRT, 'AreaLightSource "diffuse" "rgb L" [ 1 1 1 ]'),
    "scene.toml": (BALL_OF_TOML, "emission = 1"),
}


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("radius", [0.05, 1.0, 8.0])
def test_balls_of_other_formats_are_as_fine(write, name, radius):
    text = FORMATS[name][0].format(radius=radius, more="")
    fineness = load(write(text, name)).document.fineness
    assert fineness == load(write(VIEW + f"s 0 0 0 {radius}")).document.fineness
    positions = load(write(text, name)).at(0.0).positions
    assert len(positions) == fineness.triangles
    assert error_in_pixels(positions, radius, 10.0) <= 0.25


@pytest.mark.parametrize("name", FORMATS)
def test_balls_that_glow_are_fine_wherever_they_are_seen_from(write, name):
    """They light the scene by their area."""
    template, glow = FORMATS[name]
    positions = load(write(template.format(radius=0.01, more=glow), name)).at(0.0).positions.astype(np.float64)
    area = 0.5 * np.linalg.norm(np.cross(positions[:, 1] - positions[:, 0], positions[:, 2] - positions[:, 0]), axis=1)
    assert len(positions) == 64 * 62
    assert area.sum() == pytest.approx(4e-4 * math.pi, rel=0.003)
