"""Scenes made plain."""

from dataclasses import replace

import numpy as np
import pytest

import scenes
from scenes.lights import PointLight
from scenes.playing.plain import plain, point_lit


@pytest.fixture(scope="module")
def both():
    """A scene with a mirror, glass and a glowing ceiling, as it is and plain."""
    real = scenes.load("cornell").at_frame(0)
    return real, plain(real)


def test_triangles_stay_and_two_are_added(both):
    real, shown = both
    assert np.array_equal(shown.positions[:-2], real.positions)
    assert np.array_equal(shown.material_ids[:-2], real.material_ids)
    assert len(shown.positions) == len(shown.normals) == len(shown.uvs) == len(shown.material_ids)


def test_all_is_diffuse_and_the_light_alone_glows(both):
    real, shown = both
    assert {material.kind for material in shown.materials} == {"diffuse"}
    assert all(material.texture == -1 for material in shown.materials)
    assert [max(material.emission) > 0.0 for material in shown.materials[:-1]] == [False] * (len(shown.materials) - 1)
    assert max(shown.materials[-1].emission) > 0.0
    for before, after in zip(real.materials, shown.materials, strict=False):
        assert (max(after.diffuse) > 0.0) == (max(*before.diffuse, *before.specular, before.transmittance) > 0.0)
    assert shown.lights == ()
    assert plain(scenes.load("outdoor").at_frame(0)).environment is None
    assert shown.textures == ()


def test_the_light_is_a_square_below_the_top_that_shines_down(both):
    real, shown = both
    up = np.array(real.camera.up)
    axis = int(np.argmax(np.abs(up)))
    square = shown.positions[-2:].astype(np.float64)
    edges = np.linalg.norm(square[0] - np.roll(square[0], -1, axis=0), axis=1)
    assert edges[0] == pytest.approx(edges[1], rel=1e-6)
    assert edges[2] == pytest.approx(edges[0] * np.sqrt(2.0), rel=1e-6)
    assert np.ptp(square[:, :, axis]) == 0.0
    for a, b, c in square:
        normal = np.cross(b - a, c - a)
        assert normal @ up < 0.0
    lower, upper = real.positions.min(axis=(0, 1)), real.positions.max(axis=(0, 1))
    assert np.all(square.max(axis=(0, 1)) < upper)
    assert np.all(square.min(axis=(0, 1)) > lower)


def test_one_point_light_is_the_first_or_in_the_middle(both):
    real, _ = both
    lamps = tuple(PointLight(position=(float(k), 1.0, 2.0), intensity=(1.0, 2.0, 3.0)) for k in range(2))
    assert point_lit(replace(real, lights=lamps)).lights == lamps[:1]
    lit = point_lit(replace(real, lights=()))
    corners = real.positions.reshape(-1, 3)
    (light,) = lit.lights
    assert light.position == pytest.approx(0.5 * (corners.min(axis=0) + corners.max(axis=0)), rel=1e-5)  # type: ignore[attr-defined]
    assert max(real.materials, key=lambda one: max(one.emission)).emission != (0.0, 0.0, 0.0)
    assert {material.emission for material in lit.materials} == {(0.0, 0.0, 0.0)}
    assert point_lit(scenes.load("outdoor").at_frame(0)).environment is None
