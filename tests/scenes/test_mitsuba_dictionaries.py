"""Dictionaries of Mitsuba's: the pictures of files that say the same, and messages with keys."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import renderer
from scenes import SceneFileError, from_tables, load

XML = """<scene version="3.0.0">
  <integrator type="path"><integer name="max_depth" value="5"/></integrator>
  <sensor type="perspective" id="eye">
    <float name="fov" value="40"/>
    <transform name="to_world"><lookat origin="0, 1.5, 5" target="0, 0.6, 0" up="0, 1, 0"/></transform>
    <film type="hdrfilm"><integer name="width" value="24"/><integer name="height" value="18"/></film>
  </sensor>
  <bsdf type="plastic" id="red"><rgb name="diffuse_reflectance" value="0.8, 0.2, 0.1"/></bsdf>
  <shape type="rectangle">
    <transform name="to_world"><scale value="4"/><rotate x="1" angle="-90"/></transform>
    <bsdf type="diffuse">
      <texture type="checkerboard" name="reflectance">
        <rgb name="color0" value="0.2"/><spectrum name="color1" value="400:0.7, 700:0.5"/>
      </texture>
    </bsdf>
  </shape>
  <shape type="sphere">
    <point name="center" x="0" y="0.7" z="0"/><float name="radius" value="0.7"/>
    <boolean name="flip_normals" value="false"/><ref id="red"/>
  </shape>
  <shape type="sphere">
    <point name="center" value="1.5, 3, 2"/><float name="radius" value="0.3"/>
    <emitter type="area"><rgb name="radiance" value="12, 11, 9"/></emitter>
  </shape>
  <emitter type="constant">
    <spectrum name="radiance" type="uniform"><float name="value" value="0.2"/></spectrum>
  </emitter>
</scene>
"""


def look_at(origin: Any, target: Any, up: Any) -> Any:
    """Returns a transform that has a matrix, as those of Mitsuba have."""
    forward = (np.subtract(target, origin)) / np.linalg.norm(np.subtract(target, origin))
    left = np.cross(up, forward) / np.linalg.norm(np.cross(up, forward))
    matrix = np.eye(4)
    matrix[:3] = np.stack([left, np.cross(forward, left), forward, origin], axis=-1)
    return SimpleNamespace(matrix=matrix)


def dictionary() -> dict[str, Any]:
    checks = {
        "type": "checkerboard",
        "color0": {"type": "rgb", "value": 0.2},
        "color1": {"type": "spectrum", "value": [(400, 0.7), (700, 0.5)]},
    }
    return {
        "type": "scene",
        "integrator": {"type": "path", "max_depth": 5},
        "eye": {
            "type": "perspective",
            "fov": 40,
            "to_world": look_at((0, 1.5, 5), (0, 0.6, 0), (0, 1, 0)),
            "film": {"type": "hdrfilm", "width": np.int32(24), "height": 18},
        },
        "red": {"type": "plastic", "diffuse_reflectance": {"type": "rgb", "value": [0.8, 0.2, 0.1]}},
        "floor": {
            "type": "rectangle",
            "to_world": np.array([[4, 0, 0, 0], [0, 0, 4, 0], [0, -4, 0, 0], [0, 0, 0, 1]]),
            "bsdf": {"type": "diffuse", "reflectance": checks},
        },
        "ball": {
            "type": "sphere",
            "center": np.array([0, 0.7, 0]),
            "radius": 0.7,
            "flip_normals": False,
            "looks": {"type": "ref", "id": "red"},
        },
        "lamp": {
            "type": "sphere",
            "center": [1.5, 3, 2],
            "radius": 0.3,
            "emitter": {"type": "area", "radiance": {"type": "rgb", "value": (12, 11, 9)}},
        },
        "sky": {"type": "constant", "radiance": {"type": "uniform", "value": 0.2}},
    }


def test_a_dictionary_gives_the_picture_of_a_file_that_says_the_same(tmp_path):
    (tmp_path / "scene.xml").write_text(XML)
    how: dict[str, Any] = {"driver": "path", "passes": 2, "device": "cpu", "threads": 1, "quiet": True}
    by_file, by_dictionary = renderer.render(tmp_path / "scene.xml", **how), renderer.render(dictionary(), **how)
    assert by_file.pixels.shape == (18, 24, 3)
    assert by_file.film.linear.std() > 0.01
    np.testing.assert_allclose(by_dictionary.film.linear, by_file.film.linear, rtol=2e-5)
    assert from_tables(dictionary()).document.settings == load(tmp_path / "scene.xml").document.settings


def test_files_that_a_dictionary_names_are_in_its_folder(tmp_path):
    made = dictionary() | {"mesh": {"type": "ply", "filename": Path("missing.ply")}}
    with pytest.raises(SceneFileError, match=r"scene\.mesh\.filename: no such file: 'missing.ply'"):
        from_tables(made, tmp_path)


def within(**more: Any) -> dict[str, Any]:
    made = dictionary()
    made["ball"] |= more
    return made


ITSELF: dict[str, Any] = {"type": "diffuse"}
ITSELF["reflectance"] = ITSELF


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (within(bsdf={"type": "velvet"}), r"scene\.ball\.bsdf: unknown or unsupported <bsdf type=\"velvet\">"),
        (within(other={"type": "velvet"}), r"scene\.ball\.other: unknown or unsupported type 'velvet'; there are: "),
        (
            within(bsdf={"reflectance": 1}),
            r"ball\.bsdf: expected a dictionary with a 'type', got .* reflectance",
        ),
        (
            within(radius=[1, 2, 3]),
            r"ball\.radius: expected 'radius' to be one of: float, integer; got <vector>",
        ),
        (
            within(radius=object()),
            r"ball\.radius: expected a dictionary, text, .* or a transform .*, got object",
        ),
        (within(radius=np.zeros((2, 5))), r"scene\.ball\.radius: expected .*, got an array of shape \(2, 5\)"),
        (within(center=[[1, 2], [3]]), r"scene\.ball\.center: expected .*, got list"),
        (
            within(bsdf={"type": "diffuse", "reflectance": {"type": "rgb", "value": None}}),
            r"reflectance: .* got NoneType",
        ),
        (dictionary() | {"gamma": 2.2}, r"scene\.gamma: unknown parameter 'gamma' of <scene>"),
        (within(to_world=np.zeros((4, 4))), r"scene\.ball\.to_world: expected a transform whose last row is 0 0 0 1"),
        (within(looks={"type": "ref", "id": "blue"}), r"scene\.ball\.looks: no element has the id 'blue'"),
        (within(radiuss=1.0), r"scene\.ball\.radiuss: unknown parameter 'radiuss'"),
        (within(bsdf=ITSELF), "dictionaries are nested deeper than 64"),
        ({"type": "scene"}, "there are no shapes in the scene"),
        (within(**{"a/b": {"type": "velvet"}}), r"scene\.ball\.a_b: unknown or unsupported type"),
    ],
)
def test_what_is_wrong_is_told_with_its_keys(made, message):
    with pytest.raises(SceneFileError, match=message):
        from_tables(made)
