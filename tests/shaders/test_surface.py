"""What is known of a surface where a ray hit it."""

import math

import numpy as np
import pytest

import tracecore
from shaders.surface import (
    MATERIAL_BACKDROP,
    MATERIAL_COLUMNS,
    MATERIAL_DIFFUSE,
    MATERIAL_EMISSION,
    MATERIAL_EXPONENT,
    MATERIAL_IOR,
    MATERIAL_MIRROR,
    MATERIAL_PHONG,
    MATERIAL_TEXTURE,
    MATERIAL_TRANSMISSION,
    SurfaceArrays,
    clearance,
    leaves,
    local,
    ray_origin,
    surface_at,
    world,
)
from shaders.textures import pack_textures

CORNERS = np.array([(1.0, 0.0, 0.5), (4.0, 1.0, 0.5), (2.0, 5.0, 0.5)])
UP, DOWN = (0.0, 0.0, 1.0), (0.0, 0.0, -1.0)
GLOW = (3.0, 2.0, 1.0)


def material(**colors):
    """A packed material without texture."""
    row = np.zeros(MATERIAL_COLUMNS)
    row[MATERIAL_IOR], row[MATERIAL_TEXTURE] = 1.0, -1.0
    for name, value in colors.items():
        column, width = {
            "diffuse": (MATERIAL_DIFFUSE, 3),
            "phong": (MATERIAL_PHONG, 3),
            "mirror": (MATERIAL_MIRROR, 3),
            "transmission": (MATERIAL_TRANSMISSION, 3),
            "emission": (MATERIAL_EMISSION, 3),
            "backdrop": (MATERIAL_BACKDROP, 3),
            "exponent": (MATERIAL_EXPONENT, 1),
            "ior": (MATERIAL_IOR, 1),
            "texture": (MATERIAL_TEXTURE, 1),
        }[name]
        row[column : column + width] = value
    return row


def winding_normals(triangles):
    """(n, 3, 3): the flat normal at every corner."""
    triangles = np.asarray(triangles, float)
    normals = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    return np.repeat(normals[:, None], 3, axis=1)


def pack(triangles, *, normals=None, materials=None, material_ids=None, uvs=None, images=()):
    """SurfaceArrays; flat normals, one glowing grey material and no textures if not told."""
    count = len(triangles)
    return SurfaceArrays(
        positions=np.array(triangles, np.float32),
        normals=np.array(winding_normals(triangles) if normals is None else normals, np.float32),
        uvs=np.zeros((count, 3, 2), np.float32) if uvs is None else np.array(uvs, np.float32),
        material_ids=np.zeros(count, np.int32) if material_ids is None else np.array(material_ids, np.int32),
        materials=np.array([material(diffuse=(0.5, 0.5, 0.5), emission=GLOW)] if materials is None else materials),
        shaders=np.zeros(64, np.int64),
        emitter_ids=np.full(count, -1, np.int32),
        textures=pack_textures(images),
    )


def unit(*vector):
    """Unit vector along some numbers."""
    return tuple(float(x) for x in np.array(vector) / np.linalg.norm(vector))


def octahedron():
    """A closed mesh wound outward, with the normals of a sphere: positions and normals, both (8, 3, 3)."""
    triangles = []
    for x in (1.0, -1.0):
        for y in (1.0, -1.0):
            for z in (1.0, -1.0):
                triangle = [(x, 0.0, 0.0), (0.0, y, 0.0), (0.0, 0.0, z)]
                triangles.append(triangle if x * y * z > 0.0 else triangle[::-1])
    return np.array(triangles), np.array(triangles)


def test_position_and_normal_are_blended_by_the_weights_of_the_corners():
    normals = np.array([unit(0.1, 0.0, 1.0), unit(-0.2, 0.3, 1.0), unit(0.0, -0.4, 1.0)])
    hit = surface_at(pack([CORNERS], normals=[normals]), 0, 0.2, 0.5, UP)
    weights = np.array([0.3, 0.2, 0.5])
    assert hit.position == pytest.approx(weights @ CORNERS)
    assert hit.shading_normal == pytest.approx(unit(*(weights @ normals)), abs=1e-6)
    assert hit.geom_normal == pytest.approx(UP)


@pytest.mark.parametrize(("u", "v", "corner"), [(0.0, 0.0, 0), (1.0, 0.0, 1), (0.0, 1.0, 2)])
def test_u_and_v_are_the_shares_of_the_second_and_third_corner(u, v, corner):
    assert surface_at(pack([CORNERS]), 0, u, v, UP).position == pytest.approx(CORNERS[corner])


def test_the_shading_frame_is_orthonormal_and_undone_by_its_inverse():
    hit = surface_at(pack([CORNERS], normals=[[unit(0.5, 0.2, 1.0)] * 3]), 0, 0.3, 0.3, UP)
    axes = np.array([hit.tangent, hit.bitangent, hit.shading_normal])
    np.testing.assert_allclose(axes @ axes.T, np.eye(3), atol=1e-12)
    direction = unit(0.3, -0.5, 0.8)
    assert local(hit, direction)[2] == pytest.approx(np.dot(direction, hit.shading_normal))
    assert world(hit, local(hit, direction)) == pytest.approx(direction)


def test_a_closed_mesh_wound_outward_has_an_outside_and_an_inside():
    positions, normals = octahedron()
    surfaces = pack(positions, normals=normals)
    for triangle, outward in enumerate(positions.sum(axis=1)):
        for side in (1.0, -1.0):
            wo = unit(*(side * outward + (0.2, 0.1, -0.1)))
            hit = surface_at(surfaces, triangle, 0.25, 0.35, wo)
            assert hit.outside == (side > 0.0)
            assert hit.geom_normal == pytest.approx(unit(*(side * outward)))
            assert np.dot(hit.shading_normal, wo) > 0.0
            assert side * np.dot(hit.shading_normal, outward) > 0.0


def test_where_winding_and_normals_disagree_the_normals_say_what_is_outside():
    positions, normals = octahedron()
    surfaces = pack(positions[:, ::-1], normals=normals)
    for triangle, outward in enumerate(positions.sum(axis=1)):
        for side in (1.0, -1.0):
            wo = unit(*(side * outward))
            hit = surface_at(surfaces, triangle, 0.3, 0.3, wo)
            assert hit.outside == (side > 0.0)
            assert hit.geom_normal == pytest.approx(wo)
            assert np.dot(hit.shading_normal, wo) > 0.0


@pytest.mark.parametrize("normal", [UP, DOWN])
def test_light_leaves_the_side_that_the_winding_calls_front(normal):
    surfaces = pack([CORNERS], normals=[[normal] * 3])
    assert surface_at(surfaces, 0, 0.2, 0.2, unit(1.0, 0.0, 0.5)).emission == GLOW
    assert surface_at(surfaces, 0, 0.2, 0.2, unit(1.0, 0.0, -0.5)).emission == (0.0, 0.0, 0.0)


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_a_bent_normal_seen_from_behind_gives_way_to_the_flat_one(side):
    surfaces = pack([CORNERS], normals=[[unit(1.0, 0.0, 1.0)] * 3])
    behind = surface_at(surfaces, 0, 0.2, 0.2, unit(-side, 0.0, side * 0.5))
    assert behind.shading_normal == behind.geom_normal == pytest.approx((0.0, 0.0, side))
    assert behind.outside == (side > 0.0)
    seen = surface_at(surfaces, 0, 0.2, 0.2, unit(side, 0.0, side * 0.5))
    assert seen.shading_normal == pytest.approx(unit(side, 0.0, side), abs=1e-6)


@pytest.mark.parametrize("corners", [[(1.0, 2.0, 3.0)] * 3, [(0.0, 0.0, 0.0), (1.0, 1.0, 1.0), (2.0, 2.0, 2.0)]])
@pytest.mark.parametrize("normal", [UP, (0.0, 0.0, 0.0)])
def test_a_triangle_without_area_gives_finite_values(corners, normal):
    hit = surface_at(pack([corners], normals=[[normal] * 3]), 0, 0.3, 0.3, unit(1.0, 1.0, 0.2))
    for vector in (hit.position, hit.geom_normal, hit.shading_normal, hit.tangent, hit.bitangent):
        assert np.all(np.isfinite(vector))
    assert np.linalg.norm(hit.shading_normal) == pytest.approx(1.0)
    assert np.all(np.isfinite(ray_origin(hit, UP)))


def test_every_triangle_has_its_own_material():
    grey = np.full((1, 1, 3), 0.5, np.float32)
    materials = [
        material(diffuse=(0.1, 0.2, 0.3), phong=(0.01, 0.02, 0.03), exponent=7.0),
        material(diffuse=(0.2, 0.2, 0.2), texture=0.0, mirror=(0.4, 0.5, 0.6), transmission=(0.3, 0.2, 0.1), ior=1.5),
    ]
    surfaces = pack([CORNERS, CORNERS], materials=materials, material_ids=[1, 0], images=[grey])
    first, second = (surface_at(surfaces, triangle, 0.2, 0.2, UP).bsdf for triangle in (0, 1))
    assert (first.mirror, first.transmission, first.ior) == ((0.4, 0.5, 0.6), (0.3, 0.2, 0.1), 1.5)
    assert first.diffuse == pytest.approx((0.2 * grey[0, 0]).tolist())
    assert (second.diffuse, second.phong, second.exponent) == ((0.1, 0.2, 0.3), (0.01, 0.02, 0.03), 7.0)


def test_a_texture_multiplies_the_diffuse_lobe_alone():
    pixels = np.array([[[1.0, 0.0, 0.5], [0.0, 1.0, 0.2]]], np.float32)
    painted = material(diffuse=(0.5, 0.6, 0.7), phong=(0.2, 0.2, 0.2), mirror=(0.1, 0.1, 0.1), texture=0.0)
    uvs = [[(0.25, 0.5), (0.75, 0.5), (1.25, 0.5)]]
    surfaces = pack([CORNERS], materials=[painted], uvs=uvs, images=[pixels])
    linear = pixels[0]
    for u, v, texel in ((0.0, 0.0, linear[0]), (1.0, 0.0, linear[1]), (0.0, 1.0, linear[0])):
        bsdf = surface_at(surfaces, 0, u, v, UP).bsdf
        assert bsdf.diffuse == pytest.approx(np.array((0.5, 0.6, 0.7)) * texel)
        assert (bsdf.phong, bsdf.mirror) == ((0.2, 0.2, 0.2), (0.1, 0.1, 0.1))
    assert surface_at(surfaces, 0, 0.5, 0.0, UP).bsdf.diffuse == pytest.approx((0.25, 0.3, 0.35 * (linear.sum(0)[2])))


def test_a_texture_paints_the_backdrop_and_not_the_emission():
    pixels = np.array([[[1.0, 0.0, 0.5]]], np.float32)
    painted = material(emission=GLOW, backdrop=(0.5, 0.6, 0.7), texture=0.0)
    hit = surface_at(pack([CORNERS], materials=[painted], images=[pixels]), 0, 0.2, 0.2, UP)
    assert hit.backdrop == pytest.approx(np.array((0.5, 0.6, 0.7)) * pixels[0, 0])
    assert hit.emission == GLOW
    assert surface_at(pack([CORNERS]), 0, 0.2, 0.2, UP).backdrop == (0.0, 0.0, 0.0)


@pytest.mark.parametrize("seen_from", [UP, DOWN])
def test_rays_start_on_the_side_that_they_go_to(seen_from):
    hit = surface_at(pack([CORNERS]), 0, 0.2, 0.2, seen_from)
    for direction in (unit(1.0, 0.0, 0.1), unit(1.0, 0.0, -0.1)):
        height = ray_origin(hit, direction)[2] - 0.5
        assert math.copysign(1.0, height) == math.copysign(1.0, direction[2])
        assert abs(height) == pytest.approx(hit.clearance)


def test_the_clearance_follows_the_largest_coordinate_of_the_corners():
    small = (1.0, 1.0, 1.0)
    for far in ((-800.0, 1.0, 1.0), (1.0, 800.0, 1.0), (1.0, 1.0, -800.0)):
        for corners in ((far, small, small), (small, far, small), (small, small, far)):
            assert clearance(*corners) == 800.0 * 2.0**-17


@pytest.mark.parametrize("nearness", [0.0, 1e-3, 1.0, 50.0])
def test_rays_do_not_hit_the_triangle_that_they_leave(nearness):
    """A large, slanted triangle through the centre of the world, and places on it at a distance from there."""
    random = np.random.default_rng(7)
    triangle = np.array([(-90.0, -35.0, 61.0), (83.0, -71.0, -17.0), (7.0, 106.0, -44.0)])
    surfaces = pack([triangle])
    weights = random.random((400, 2)) - 0.5
    origins, directions = [], []
    for du, dv in weights * nearness / 100.0:
        wo = unit(*random.normal(size=3))
        hit = surface_at(surfaces, 0, 1.0 / 3.0 + float(du), 1.0 / 3.0 + float(dv), wo)
        direction = world(hit, unit(*random.normal(size=3)))
        origins.append(ray_origin(hit, direction))
        directions.append(direction)
    with tracecore.open_tracer(surfaces.positions, device="brute") as tracer:
        hits = tracer.closest_hit(tracecore.make_rays(origins, directions))
    assert np.all(np.isinf(hits[:, 0]))


def test_directions_between_the_flat_and_the_bent_normal_do_not_leave():
    hit = surface_at(pack([CORNERS], normals=[[unit(1.0, 0.0, 1.0)] * 3]), 0, 0.2, 0.2, UP)
    answers = {
        unit(0.0, 0.0, 1.0): True,  # above both
        unit(0.0, 0.0, -1.0): True,  # below both: through glass
        unit(1.0, 0.0, -0.5): False,  # above the bent one, into the flat surface
        unit(-1.0, 0.0, 0.5): False,
    }
    for direction, expected in answers.items():
        assert leaves(hit, direction, local(hit, direction)) == expected
