"""What is known of a surface where a path hit it: point, normals, side, and colour."""

from dataclasses import replace

import numpy as np
import pytest
from seen_vertices import vertex_at
from small_scenes import flat_snapshot

import tracecore
from scenes.model import Material, Texture

CORNERS = np.array([(1.0, 0.0, 0.5), (4.0, 1.0, 0.5), (2.0, 5.0, 0.5)])
UP, DOWN = (0.0, 0.0, 1.0), (0.0, 0.0, -1.0)
#: Surfaces of two BSDFs, and one that maps, or a function of the user's own, would look at.
KINDS = pytest.mark.parametrize(
    "material", [Material(), Material(kind="metal", specular=(0.9, 0.9, 0.9)), Material(kind="anisotropic")]
)


def unit(*vector):
    return np.array(vector) / np.linalg.norm(vector)


def bent(normals, triangles=(CORNERS,), material=None):
    """Triangles whose corners have other normals."""
    made = flat_snapshot(np.array(triangles), [material or Material()])
    return replace(made, normals=np.array(normals, np.float32))


def octahedron():
    """A closed mesh wound outward, with the normals of a sphere: positions and normals, both (8, 3, 3)."""
    signs = np.array([(x, y, z) for x in (1.0, -1.0) for y in (1.0, -1.0) for z in (1.0, -1.0)])
    triangles = [np.diag(sign)[:: int(np.prod(sign))] for sign in signs]
    return np.array(triangles), np.array(triangles)


@KINDS
def test_position_and_normal_are_blended_by_the_weights_of_the_corners(material):
    normals = np.array([unit(0.1, 0.0, 1.0), unit(-0.2, 0.3, 1.0), unit(0.0, -0.4, 1.0)])
    found = vertex_at(bent([normals], material=material), 0, (0.2, 0.5), UP)
    weights = np.array([0.3, 0.2, 0.5])
    assert found.position == pytest.approx(weights @ CORNERS, abs=1e-6)
    assert found.shading == pytest.approx(unit(*(weights @ normals)), abs=1e-6)
    assert found.normal == pytest.approx(UP)


@KINDS
@pytest.mark.parametrize("winding", [1, -1])
def test_a_closed_mesh_has_an_outside_and_an_inside(material, winding):
    """Where winding and normals disagree the normals say which is which."""
    positions, normals = octahedron()
    snapshot = bent(normals, positions[:, ::winding], material)
    for triangle, outward in enumerate(positions.sum(axis=1)):
        for side in (1.0, -1.0):
            wo = side * outward + (0.2, 0.1, -0.1)
            found = vertex_at(snapshot, triangle, (0.25, 0.35), wo)
            assert found.is_outside == (side > 0.0)
            assert found.normal == pytest.approx(unit(*(side * outward)))
            assert found.shading @ wo > 0.0
            assert side * (found.shading @ outward) > 0.0


@KINDS
@pytest.mark.parametrize("side", [1.0, -1.0])
def test_a_bent_normal_seen_from_behind_gives_way_to_the_flat_one(material, side):
    snapshot = bent([[unit(1.0, 0.0, 1.0)] * 3], material=material)
    behind = vertex_at(snapshot, 0, (0.2, 0.2), (-side, 0.0, side * 0.5))
    assert behind.shading == pytest.approx((0.0, 0.0, side))
    assert behind.normal == pytest.approx((0.0, 0.0, side))
    assert behind.is_outside == (side > 0.0)
    seen = vertex_at(snapshot, 0, (0.2, 0.2), (side, 0.0, side * 0.5))
    assert seen.shading == pytest.approx(unit(side, 0.0, side), abs=1e-6)


@pytest.mark.parametrize("corners", [[(1.0, 2.0, 3.0)] * 3, [(0.0, 0.0, 0.0), (1.0, 1.0, 1.0), (2.0, 2.0, 2.0)]])
@pytest.mark.parametrize("normal", [UP, (0.0, 0.0, 0.0)])
@KINDS
def test_a_triangle_without_area_gives_finite_values(material, normal, corners):
    made = flat_snapshot(np.array([CORNERS]), [material])
    positions, normals = (np.array([array], np.float32) for array in (corners, [normal] * 3))
    found = vertex_at(replace(made, positions=positions, normals=normals), 0, (0.3, 0.3), (1.0, 1.0, 0.2))
    assert np.all(np.isfinite([found.position, found.normal, found.shading]))
    assert np.linalg.norm(found.shading) == pytest.approx(1.0)


@pytest.mark.parametrize("nearness", [0.0, 1e-3, 1.0, 50.0])
def test_rays_do_not_hit_the_triangle_that_they_leave(nearness):
    """A large, slanted triangle through the centre of the world, and points on it at a distance from there."""
    random = np.random.default_rng(7)
    snapshot = flat_snapshot([[(-90.0, -35.0, 61.0), (83.0, -71.0, -17.0), (7.0, 106.0, -44.0)]], [Material()])
    origins, directions = [], random.normal(size=(200, 3))
    for direction in directions:
        uv = 1.0 / 3.0 + (random.random(2) - 0.5) * nearness / 100.0
        found = vertex_at(snapshot, 0, uv, random.normal(size=3))
        side = np.sign(found.normal @ direction)
        origins.append(found.position + side * found.clearance * found.normal)
    with tracecore.open_tracer(snapshot.positions, device="brute") as tracer:
        hits = tracer.closest_hit(tracecore.make_rays(origins, directions))
    assert np.all(np.isinf(hits[:, 0]))


def test_every_triangle_has_its_own_material():
    texture = Texture(name="grey", pixels=np.full((1, 1, 3), 188, np.uint8))
    painted = Material(kind="plastic", diffuse=(0.2, 0.2, 0.2), ior=1.5, texture=0)
    materials = [Material(diffuse=(0.1, 0.2, 0.3)), painted, replace(painted, kind="diffuse")]
    snapshot = flat_snapshot(np.array([CORNERS] * 3), materials, material_ids=[1, 0, 2])
    snapshot = replace(snapshot, textures=(texture,))
    found = (vertex_at(snapshot, triangle, (0.2, 0.2), UP).parameters for triangle in range(3))
    plastic, plain, textured = found
    assert plastic.diffuse == pytest.approx((0.2 * 0.5028864580,) * 3)
    assert plastic.ior == 1.5
    assert plain.diffuse == pytest.approx((0.1, 0.2, 0.3))
    assert textured.diffuse == pytest.approx((0.2 * 0.5028864580,) * 3)


def test_a_texture_multiplies_the_diffuse_lobe_alone():
    pixels = np.array([[[255, 0, 128], [0, 255, 51]]], np.uint8)
    linear = pixels[0] / 255.0
    painted = Material(kind="nff", diffuse=(0.5, 0.4, 0.3), specular=(0.2,) * 3, mirror_share=0.5, texture=0)
    snapshot = replace(
        flat_snapshot(np.array([CORNERS]), [painted]),
        uvs=np.array([[(0.25, 0.5), (0.75, 0.5), (1.25, 0.5)]], np.float32),
        textures=(Texture(name="t", pixels=pixels, is_linear=True),),
    )
    for u, v, texel in (
        (0.0, 0.0, linear[0]),
        (1.0, 0.0, linear[1]),
        (0.0, 1.0, linear[0]),
        (0.5, 0.0, linear.mean(0)),
    ):
        nff = vertex_at(snapshot, 0, (u, v), UP).parameters
        assert nff.diffuse == pytest.approx(np.array((0.5, 0.4, 0.3)) * texel, abs=1e-6)
        assert (nff.phong, nff.mirror) == (pytest.approx((0.1,) * 3), pytest.approx((0.1,) * 3))
