"""Textures on every parameter, by direct calls and in small pictures with known answers."""

import math
from dataclasses import replace

import numpy as np
import pytest
from driver_passes import opened, passes, sidak_bound, z_scores
from seen_vertices import vertex_at
from single_precision import float32
from small_scenes import FURNACE, closed_box, flat_snapshot, quad

from renderer.scene.packed_scene import pack_scene
from scenes.lights import PointLight
from scenes.model import Camera, Material, Texture
from shaders.bsdfs.bsdf import LOBE_NONE, Seen
from shaders.lights.registry import emit_from, powers, sample_light
from shaders.maps import LEAST_MIRRORED, mirroring_normal
from shaders.registry import get_shader
from shaders.surface import emission_at
from shaders.textures import lookup
from shaders.vector import frame

WHITE, BLACK = (1.0, 1.0, 1.0), (0.0, 0.0, 0.0)
#: Sides of a square that is as large as its texture, which is seen upright from above: v runs down, and y up.
WIDE, HIGH = 2.0, 1.0
UVS = [[(0, 1), (1, 1), (1, 0)], [(0, 1), (1, 0), (0, 0)]]


def unit(*vector):
    return tuple(float(x) for x in np.array(vector) / np.linalg.norm(vector))


def square(material, pixels, uvs=UVS, **look):
    """A rectangle in the plane z = 0 with a material and its only texture, seen from above."""
    corners = quad((0, 0, 0), (WIDE, 0, 0), (WIDE, HIGH, 0), (0, HIGH, 0))
    texture = Texture(name="t", pixels=np.array(pixels, np.uint8), **look)
    return replace(flat_snapshot(corners, [material]), uvs=np.array(uvs, np.float32), textures=(texture,))


def constant(*color, side=2):
    return np.full((side, side, 3), color, np.uint8)


def hit_at(snapshot, wo=(0.0, 0.0, 1.0), place=(0.3, 0.4), **more):
    """What loops know of the first triangle."""
    return vertex_at(snapshot, 0, place, wo, **more)


HALF, MEAN = (128, 64, 255), np.mean([128, 64, 255]) / 255.0


@pytest.mark.parametrize(
    ("given", "field", "names"),
    [
        (Material(kind="mirror", specular=(0.9, 0.8, 0.7)), "specular_map", {"mirror"}),
        (Material(kind="metal", specular=(0.9, 0.8, 0.7), roughness=0.5), "specular_map", {"specular"}),
        (Material(kind="plastic", diffuse=WHITE, ior=1.5), "specular_map", {"specular"}),
        (Material(kind="nff", diffuse=BLACK, specular=(0.5,) * 3, exponent=9.0), "specular_map", {"phong", "mirror"}),
        (Material(kind="dielectric", transmittance=0.9, ior=1.5), "transmission_map", {"transmission"}),
        (Material(diffuse=(0.9, 0.8, 0.7)), "texture", {"diffuse"}),
    ],
)
def test_a_map_multiplies_its_colour_and_nothing_else(given, field, names):
    plain = get_shader(given.kind).pack(given)
    mapped = hit_at(square(replace(given, **{field: 0}), constant(*HALF), is_linear=True)).parameters
    for name, before, after in zip(plain._fields, plain, mapped, strict=True):
        expected = before
        if name in names:
            assert max(before) > 0.0
            expected = tuple(c * byte / 255.0 for c, byte in zip(before, HALF, strict=True))
        assert after == pytest.approx(expected, rel=1e-6), name


ROW = [[(0, 0, 0), (100, 100, 100), (200, 200, 200), (250, 250, 250)]]


@pytest.mark.parametrize(
    ("wrap", "answers"),
    [
        ("repeat", {0.0: 125, 0.125: 0, 1.0: 125, 1.125: 0, -0.125: 250, 3.375: 100}),
        ("clamp", {0.0: 0, 0.125: 0, 1.0: 250, 1.125: 250, -0.125: 0, -7.0: 0, 0.25: 50, 9.0: 250}),
    ],
)
def test_what_is_at_the_edges_of_an_image_and_beyond(wrap, answers):
    textures = pack_scene(square(Material(texture=0), ROW, wrap=wrap, is_linear=True)).surfaces.textures
    for u, byte in answers.items():
        assert 255.0 * lookup(textures, 0, u, 0.5)[0] == pytest.approx(byte, abs=1e-4)


def checkerboard(side):
    return 255 * (np.indices((side, side)).sum(axis=0) % 2)[..., None].repeat(3, axis=2)


@pytest.mark.parametrize("shape", [(16, 16), (7, 5), (1, 9), (12, 3)])
def test_coarser_images_have_the_same_mean_down_to_one_texel(shape):
    pixels = np.random.default_rng(3).integers(0, 256, (*shape, 3))
    textures = pack_scene(square(Material(texture=0), pixels, filter="mip", is_linear=True)).surfaces.textures
    for offset, width, height, *_ in textures.table:
        mean = textures.texels[offset : offset + width * height].mean(axis=0)
        assert mean == pytest.approx(pixels.mean(axis=(0, 1)) / 255.0, rel=1e-5)
    assert textures.table[-1, 1:3].tolist() == [1, 1]
    assert len(textures.table) == 1 + math.floor(math.log2(max(shape)))


def distant_checkerboard(kind):
    """A glowing wall of fine squares, which a pixel sees hundreds of; a camera that looks at its middle."""
    camera = Camera(eye=(1.0, 0.5, 9.0), forward=(0.0, 0.0, -1.0), up=(0.0, 1.0, 0.0), vertical_fov=3.0)
    board = square(Material(diffuse=BLACK, backdrop=WHITE, texture=0), checkerboard(256), filter=kind)
    return replace(board, camera=camera)


def test_mip_textures_far_away_are_their_mean_without_noise():
    for kind, spread in (("bilinear", (0.1, 0.6)), ("mip", (0.0, 1e-3))):
        made = passes(distant_checkerboard(kind), "path", 8, width=8, height=6, max_bounces=1)
        assert made.mean() == pytest.approx(0.5, abs=0.03)
        assert spread[0] <= made.std() <= spread[1]


def test_mip_textures_close_by_are_bilinear():
    camera = Camera(eye=(1.0, 0.5, 0.01), forward=(0.0, 0.0, -1.0), up=(0.0, 1.0, 0.0), vertical_fov=3.0)
    near = [replace(distant_checkerboard(kind), camera=camera) for kind in ("bilinear", "mip")]
    bilinear, mip = (passes(snapshot, "path", 2, width=8, height=6, max_bounces=1) for snapshot in near)
    assert bilinear.std() > 1e-3
    assert np.array_equal(bilinear, mip)


@pytest.mark.parametrize("kind", ["bilinear", "mip"])
def test_photons_bring_the_light_of_textured_walls_that_paths_find(kind):
    pixels = np.random.default_rng(11).integers(0, 256, (8, 8, 3), np.uint8)
    made = flat_snapshot(
        closed_box(),
        [Material(diffuse=(0.9, 0.7, 0.5), texture=0)],
        lights=[PointLight(position=(0.5, 0.5, 0.7), intensity=WHITE)],
        camera=Camera(eye=(0.5, 0.5, 0.4), forward=(0.0, 0.0, -1.0), up=(0.0, 1.0, 0.0), vertical_fov=80.0),
    )
    uvs = 2.0 * np.random.default_rng(12).random((12, 3, 2), np.float32)
    room = replace(made, uvs=uvs, textures=(Texture(name="t", pixels=pixels, filter=kind),))
    task = {"width": 8, "height": 8, "max_bounces": 8}
    path = passes(room, "path", 64, **task).mean(axis=(1, 2))
    photon = passes(room, "photon", 64, photons=20_000, radius=0.02, **task).mean(axis=(1, 2))
    assert np.all(abs(z_scores(photon, path)) < sidak_bound(3)), photon.mean(axis=0) / path.mean(axis=0)


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_a_flat_normal_map_changes_nothing(side):
    wo = unit(0.3, -0.2, 0.5 * side)
    plain, mapped = (
        hit_at(square(Material(normal_map=index), constant(128, 128, 255), is_linear=True), wo) for index in (-1, 0)
    )
    for name in ("position", "normal", "shading"):
        assert getattr(mapped, name) == pytest.approx(getattr(plain, name), abs=1e-6)
    assert mapped.is_outside == plain.is_outside


TILT = unit(*((np.array([200, 90, 230]) - 128.0) / 127.5))


@pytest.mark.parametrize("uvs", [UVS, [[(0, 1), (-1, 1), (-1, 0)]] * 2, [[(0, 1), (0, 0), (1, 0)]] * 2])
@pytest.mark.parametrize("side", [1.0, -1.0])
def test_a_constant_tilt_is_a_plane_with_that_normal(side, uvs):
    """The texture as it is, mirrored, and turned and mirrored."""
    wo = unit(0.1, 0.2, side)
    mapped = square(Material(normal_map=0), constant(200, 90, 230), uvs, is_linear=True)
    (a, b, c) = np.array(uvs[0], float)
    to_uv = np.column_stack([b - a, c - a]) @ np.linalg.inv([[WIDE, WIDE], [0.0, HIGH]])
    right, down = np.linalg.inv(to_uv).T
    normal = TILT[0] * right / np.linalg.norm(right) - TILT[1] * down / np.linalg.norm(down)
    expected = np.broadcast_to(np.array([*normal, TILT[2]], np.float32), (2, 3, 3))
    plane = hit_at(replace(mapped, materials=(Material(),), normals=expected), wo)
    found = hit_at(mapped, wo)
    assert found.shading == pytest.approx(plane.shading, abs=1e-6)
    assert found.normal == pytest.approx(plane.normal)
    assert found.is_outside == plane.is_outside


def ramp(across, down, side=16):
    """Heights that rise by so many bytes from texel to texel."""
    rows, columns = np.indices((side, side))
    return (20 + across * columns + down * rows)[..., None].repeat(3, axis=2)


@pytest.mark.parametrize(("across", "down"), [(4, 0), (0, 3), (-1, 5)])
@pytest.mark.parametrize("side", [1.0, -1.0])
def test_a_ramp_of_heights_has_its_slope(across, down, side):
    """Heights are on the outer side: seen from below, a rise is a dent."""
    pixels, scale = ramp(across, down) + 40 * (across < 0), 0.7
    snapshot = square(Material(bump_map=0, bump_scale=scale), pixels, is_linear=True)
    slope_x = scale * across / 255.0 * 16 / WIDE
    slope_y = -scale * down / 255.0 * 16 / HIGH
    expected = np.array(unit(-slope_x, -slope_y, 1.0)) * side
    assert hit_at(snapshot, (0.0, 0.0, side)).shading == pytest.approx(expected, abs=1e-6)


def test_no_normal_mirrors_into_its_own_surface():
    random = np.random.default_rng(8)
    up, bent = (0.0, 0.0, 1.0), 0
    for _ in range(300):
        wo, normal = (unit(*(random.normal(size=2)), abs(random.normal()) + 1e-3) for _ in range(2))
        if np.dot(wo, normal) <= 1e-6:
            continue
        found = np.array(mirroring_normal(normal, up, wo))
        mirrored = 2.0 * np.dot(wo, found) * found - wo
        assert mirrored[2] > 0.0
        assert np.dot(found, wo) > 0.0
        if 2.0 * np.dot(wo, normal) * normal[2] - wo[2] >= LEAST_MIRRORED:
            assert tuple(found) == normal
        else:
            bent += 1
            assert mirrored[2] <= LEAST_MIRRORED * 3.0
    assert bent > 30


@pytest.mark.parametrize("kind", ["mirror", "metal", "plastic"])
def test_no_ray_of_a_steep_relief_goes_to_the_wrong_side(kind):
    """What is drawn goes below the surface or is kept; of mirrors all of it is kept."""
    given = Material(kind=kind, specular=WHITE, diffuse=WHITE, ior=1.5, roughness=0.3, normal_map=0)
    snapshot, bsdf = square(given, constant(240, 60, 150), is_linear=True), get_shader(kind)
    parameters = float32(bsdf.pack(given))
    random = np.random.default_rng(9)
    lost, count = 0, 400
    for _ in range(count):
        wo = unit(*random.normal(size=2), abs(random.normal()) + 1e-3)
        normal = hit_at(snapshot, wo).shading
        axes = np.array([*frame(tuple(normal)), normal])
        seen = Seen(float32(tuple(axes @ wo)), True, float32(WHITE), np.float32(1.0), 0)  # type: ignore[arg-type]
        drawn = bsdf.sample(parameters, seen, float32(tuple(random.random(3))))
        direction = axes.T @ drawn.wi
        if drawn.lobe == LOBE_NONE:
            continue
        if (direction[2] > 0.0) == (drawn.wi[2] > 0.0):
            assert direction[2] > 0.0
        else:
            lost += 1
    assert lost <= {"mirror": 0.0, "metal": 0.3, "plastic": 0.4}[kind] * count


def screen():
    """A glowing picture over a diffuse floor."""
    pixels = np.random.default_rng(5).integers(0, 256, (3, 4, 3))
    glow = Material(diffuse=BLACK, emission=(4.0, 5.0, 6.0), emission_map=0)
    above = quad((0.3, 0.3, 0.4), (0.3, 0.7, 0.4), (0.7, 0.7, 0.4), (0.7, 0.3, 0.4))
    floor = quad((0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0))
    camera = Camera(eye=(0.5, 0.5, 0.3), forward=(0.0, 0.0, -1.0), up=(0.0, 1.0, 0.0), vertical_fov=60.0)
    made = flat_snapshot(np.concatenate([floor, above]), [Material(), glow], material_ids=[0, 0, 1, 1], camera=camera)
    uvs = np.concatenate([np.zeros((2, 3, 2)), UVS])
    return replace(made, uvs=uvs.astype(np.float32), textures=(Texture(name="t", pixels=pixels.astype(np.uint8)),))


def test_the_power_of_a_picture_is_that_of_its_mean():
    packed = pack_scene(screen())
    places = np.random.default_rng(6).random((2000, 2))
    places = np.where(places.sum(axis=1, keepdims=True) > 1.0, 1.0 - places, places)
    for light, triangle in ((0, 2), (1, 3)):
        radiance = [emission_at(packed.surfaces, triangle, (u, v), (0.0, 0.0, -1.0)) for u, v in places]
        error = np.std(radiance, axis=0) / math.sqrt(len(places))
        expected = powers(packed.lights.rows)[light] / (math.pi * packed.lights.rows[light, 16])
        assert np.all(np.abs(np.mean(radiance, axis=0) - expected) < 4.0 * error)
    assert emission_at(packed.surfaces, 2, (0.2, 0.2), (0.0, 0.0, 1.0)) == BLACK


def test_what_a_picture_sends_is_what_is_seen_there():
    packed = pack_scene(screen())
    point = (0.4, 0.6, 0.0)
    for u in np.random.default_rng(7).random((40, 4)):
        light = 0 if u[0] < packed.lights.cumulative[0] else 1
        arriving = sample_light(packed.lights, point, tuple(u[:3]))
        emitted = emit_from(packed.lights, light, (u[0], u[3], u[1], u[2]))
        place = np.array(point) + np.array(arriving.direction) * arriving.distance / (1.0 - 1e-4)
        corners = screen().positions[2 + light].astype(float)
        s, t = np.linalg.lstsq(np.column_stack([corners[1] - corners[0], corners[2] - corners[0]]), place - corners[0])[
            0
        ]
        seen = emission_at(packed.surfaces, 2 + light, (float(s), float(t)), (0.0, 0.0, -1.0))
        assert np.multiply(arriving.irradiance, arriving.pdf_solid_angle) == pytest.approx(seen, rel=1e-4)
        area, share = packed.lights.rows[light, 16], packed.lights.probability[light]
        assert emitted.flux == pytest.approx(np.multiply(seen, math.pi * area / share), rel=1e-4)


def test_paths_and_photons_agree_under_a_picture():
    judge = passes(screen(), "path", 60).mean(axis=(1, 2))
    for driver, count, radius in (("photon", 8, 0.03), ("photons-only", 16, 0.03)):
        made = passes(screen(), driver, count, radius=radius).mean(axis=(1, 2))
        error = np.sqrt(made.var(axis=0, ddof=1) / len(made) + judge.var(axis=0, ddof=1) / len(judge))
        assert np.all(np.abs(made.mean(axis=0) - judge.mean(axis=0)) < 4.0 * error + 0.002), driver


def boxed(material, pixels, **look):
    """A closed box with a material on a block in its middle, and texture coordinates everywhere."""
    cube = 0.35 + 0.3 * closed_box()[:, ::-1]
    camera = Camera(eye=(0.5, 0.1, 0.55), forward=(0.0, 1.0, 0.0), up=(0.0, 0.0, 1.0), vertical_fov=25.0)
    positions = np.concatenate([closed_box(), cube])
    made = flat_snapshot(positions, [FURNACE, material], material_ids=[0] * 12 + [1] * 12, camera=camera)
    uvs = 3.0 * positions[..., [0, 2]] + positions[..., [1, 1]]
    return replace(made, uvs=uvs, textures=(Texture(name="t", pixels=np.array(pixels, np.uint8), **look),))


def waves(side=32):
    across, down = 2.0 * np.pi * np.indices((side, side)) / side
    return np.rint(127.0 + 60.0 * (np.sin(across) + np.sin(2.0 * down)))[..., None].repeat(3, axis=2)


@pytest.mark.parametrize(
    ("material", "most_lost"),
    [
        (Material(kind="metal", specular=WHITE), 0.01),
        (Material(kind="metal", specular=WHITE, roughness=0.4), 0.05),
        (Material(kind="plastic", diffuse=WHITE, ior=1.5, roughness=0.4), 0.08),
    ],
)
def test_bumps_make_no_light_and_lose_little(material, most_lost):
    bumpy = boxed(replace(material, bump_map=0, bump_scale=0.03), waves(), is_linear=True)
    made = passes(bumpy, "path", 40, width=8, height=6, max_bounces=60).mean(axis=(1, 2, 3))
    error = 4.0 * made.std(ddof=1) / math.sqrt(len(made))
    assert 1.0 - most_lost - error < made.mean() < 1.0 + error


TILTED = (160, 110, 250)
PLASTIC = Material(kind="plastic", diffuse=(0.6, 0.6, 0.6), ior=1.5, roughness=0.5)


def tilted_room(material):
    """A lamp in a closed grey box, whose floor has a constant tilt."""
    box = closed_box()
    is_floor = box[:, :, 2].max(axis=1) == 0.0
    camera = Camera(eye=(0.5, 0.1, 0.6), forward=(0.0, 0.8, -0.6), up=(0.0, 0.6, 0.8), vertical_fov=50.0)
    lamp = PointLight(position=(0.5, 0.5, 0.7), intensity=(0.3, 0.3, 0.3))
    materials = [Material(diffuse=(0.5, 0.5, 0.5)), replace(material, normal_map=0)]
    made = flat_snapshot(box, materials, material_ids=is_floor, camera=camera, lights=[lamp])
    texture = Texture(name="t", pixels=constant(*TILTED), is_linear=True)
    return replace(made, uvs=box[..., :2].copy(), textures=(texture,))


def test_every_photon_on_tilted_normals_is_accounted_for():
    with opened(tilted_room(PLASTIC), "photons-only", radius=0.05) as made:
        made.render_pass(0)
        photons = made.work.photons
    assert photons.emitted == photons.absorbed + photons.escaped + photons.terminated == 20_000


@pytest.mark.parametrize("is_linear", [False, True])
def test_bytes_are_srgb_unless_they_are_linear(is_linear):
    hit = hit_at(square(Material(diffuse=WHITE, texture=0), constant(188, 188, 188), is_linear=is_linear))
    assert hit.parameters.diffuse[0] == pytest.approx(188 / 255 if is_linear else 0.5028864580, rel=1e-6)


def test_the_mean_of_a_roughness_map_multiplies_roughness():
    rough = Material(kind="metal", specular=WHITE, roughness=0.6)
    mapped = hit_at(square(replace(rough, roughness_map=0), constant(*HALF), is_linear=True)).parameters
    assert mapped.alpha == pytest.approx((0.6 * MEAN) ** 2, rel=1e-6)


def test_the_nearest_texel_alone():
    textures = pack_scene(square(Material(texture=0), ROW, filter="nearest", is_linear=True)).surfaces.textures
    for u, byte in {0.0: 0, 0.249: 0, 0.251: 100, 0.74: 200, 0.76: 250, 1.01: 0, -0.01: 250}.items():
        assert 255.0 * lookup(textures, 0, u, 0.5)[0] == pytest.approx(byte, abs=1e-4)
