"""What lamps, sheets and the eye read of a surface at the point that a ray hit."""

import numpy as np
import pytest

from shaders.surface import (
    MATERIAL,
    SurfaceArrays,
    backdrop_at,
    blend,
    emission_at,
    share_through,
    texture_coordinates,
    winding_normal,
)
from shaders.textures import pack_textures

CORNERS = np.array([(1.0, 0.0, 0.5), (4.0, 1.0, 0.5), (2.0, 5.0, 0.5)])
UVS = np.array([(0.25, 0.5), (0.75, 0.5), (1.25, 0.5)])
UP, DOWN = (0.0, 0.0, 1.0), (0.0, 0.0, -1.0)
BLACK, GLOW = (0.0, 0.0, 0.0), (3.0, 2.0, 1.0)
#: A cone without width, seen from straight above.
NO_CONE = (0.0, 1.0)
#: A picture of two texels.
PIXELS = np.array([[[1.0, 0.0, 0.5], [0.0, 1.0, 0.2]]], np.float32)


def material(**changes):
    row = np.zeros(1, MATERIAL)
    for name in ("texture", "emission_map", "through_map"):
        row[name] = -1
    for name, value in changes.items():
        row[name] = value
    return row


def pack(*materials):
    """SurfaceArrays of as many triangles as materials, and a picture."""
    count = len(materials)
    return SurfaceArrays(
        positions=np.array([CORNERS] * count, np.float32),
        normals=np.array([[DOWN] * 3] * count, np.float32),
        uvs=np.array([UVS] * count, np.float32),
        material_ids=np.arange(count, dtype=np.int32)[::-1].copy(),
        materials=np.concatenate(materials[::-1]),
        flags=np.zeros(count, np.uint32),
        emitter_ids=np.full(count, -1, np.int32),
        textures=pack_textures([PIXELS]),
    )


def test_points_and_coordinates_are_blended_by_the_weights_of_the_corners():
    surfaces, weights = pack(material()), np.array([0.3, 0.2, 0.5])
    assert blend(surfaces.positions, 0, 0.2, 0.5) == pytest.approx(weights @ CORNERS)
    assert texture_coordinates(surfaces.uvs, 0, 0.2, 0.5) == pytest.approx(weights @ UVS)


def test_the_order_of_corners_says_where_the_normal_points():
    triangles = np.array([CORNERS, CORNERS[::-1], CORNERS[:, [0, 2, 1]]], np.float32)
    assert winding_normal(triangles, 0) == pytest.approx(UP)
    assert winding_normal(triangles, 1) == pytest.approx(DOWN)
    assert winding_normal(triangles, 2) == pytest.approx((0.0, -1.0, 0.0))


@pytest.mark.parametrize("corners", [[(1.0, 2.0, 3.0)] * 3, [(0.0, 0.0, 0.0), (1.0, 1.0, 1.0), (2.0, 2.0, 2.0)]])
def test_a_triangle_without_area_points_up(corners):
    assert winding_normal(np.array([corners], np.float32), 0) == UP


def test_light_leaves_the_side_that_the_winding_calls_front():
    """Whatever the normals of the corners say."""
    surfaces = pack(material(emission=GLOW))
    for wo, expected in (((1.0, 0.0, 0.5), GLOW), ((1.0, 0.0, -0.5), BLACK)):
        assert emission_at(surfaces, 0, (0.2, 0.2), wo) == expected


def test_every_triangle_has_its_own_material():
    surfaces = pack(material(emission=GLOW, through=(0.1, 0.2, 0.3)), material(backdrop=(4.0, 5.0, 6.0)))
    for triangle, expected in enumerate(((GLOW, BLACK, (0.1, 0.2, 0.3)), (BLACK, (4.0, 5.0, 6.0), BLACK))):
        uv = (0.2, 0.2)
        found = emission_at(surfaces, triangle, uv, UP), backdrop_at(surfaces, triangle, uv, NO_CONE)
        assert (*found, share_through(surfaces, triangle, uv)) == expected


@pytest.mark.parametrize(
    ("painted", "by"), [("emission", "emission_map"), ("backdrop", "texture"), ("through", "through_map")]
)
def test_each_picture_multiplies_its_own_colour(painted, by):
    colors = dict.fromkeys(("emission", "backdrop", "through"), np.array((0.5, 0.6, 0.7)))
    surfaces = pack(material(**colors, **{by: 0}))
    for uv, texel in (((0.0, 0.0), PIXELS[0, 0]), ((1.0, 0.0), PIXELS[0, 1]), ((0.5, 0.0), PIXELS[0].mean(axis=0))):
        found = {
            "emission": emission_at(surfaces, 0, uv, UP),
            "backdrop": backdrop_at(surfaces, 0, uv, NO_CONE),
            "through": share_through(surfaces, 0, uv),
        }
        for name, color in found.items():
            assert color == pytest.approx(colors[name] * (texel if name == painted else 1.0)), name
