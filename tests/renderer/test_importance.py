"""Photons go where light is needed: whatever they are sent to, each surface gets the light that it got before; and
where a pass finds too few of them, the eye looks for them one diffuse reflection on."""

from dataclasses import replace

import numpy as np
import pytest
from driver_passes import block_means, opened, passes, sidak_bound, z_scores
from small_scenes import closed_box, flat_snapshot, lamp_in_box, quad
from test_light_kinds import KINDS
from test_photon_projection import received, yard

import tracecore
from renderer.bench.error_benchmark import error_of
from renderer.drivers.search_radius import edges_of, pixels_to
from renderer.photons.importance import eye_row
from renderer.photons.targets import Targets
from renderer.scene.packed_scene import pack_camera, pack_scene
from scenes.lights import PointLight
from scenes.model import Camera, Material
from shaders.lights.registry import powers
from shaders.lights.row import LIGHT_POSITION, LIGHT_STRENGTH

BRICK, MIRROR = Material(diffuse=(0.6, 0.5, 0.4)), Material(kind="mirror", specular=(0.9, 0.9, 0.9))
#: Overlapping ones, beside each other, and one that has a lamp of the yard in it.
NEEDED = np.array([(0.5, 0.5, 0.0, 0.4), (0.7, 0.5, 0.0, 0.3), (-0.6, -0.4, 0.0, 0.2), (0.3, 0.2, 0.9, 0.5)])


def houses(side=5, street=2.0):
    """A floor with boxes on it: a city with streets along the axes, (n, 3, 3)."""
    rng = np.random.default_rng(3)
    ground = 6.0 * side
    parts = [quad((-ground, -ground, 0.0), (ground, -ground, 0.0), (ground, ground, 0.0), (-ground, ground, 0.0))]
    for i in range(side):
        for j in range(side):
            low = (np.array([i, j, 0.0]) - (0.5 * side, 0.5 * side, 0.0)) * (4.0 + street)
            high = low + (4.0, 4.0, rng.uniform(3.0, 7.0))
            parts.append((low + closed_box() * (high - low))[:, ::-1].astype(np.float32))
    return np.concatenate(parts)


def city(lamp=(40.0, 25.0, 120.0)):
    """A street of a small city, from its ground, under a lamp far above."""
    camera = Camera(eye=(2.0, -9.0, 1.0), forward=(0.0, 1.0, 0.1), up=(0.0, 0.0, 1.0), vertical_fov=60.0)
    light = PointLight(position=lamp, intensity=(6e4, 5e4, 4e4))
    return flat_snapshot(houses(), [BRICK], lights=[light], camera=camera)


def square(sky="open"):
    """A small city with a lamp among its houses, whose light few surfaces send on: in the open, or in a black box."""
    walls = (closed_box() - (0.5, 0.5, 0.01)) * (200.0, 200.0, 60.0)
    lamp = PointLight(position=(0.5, -3.0, 9.0), intensity=(300.0, 300.0, 250.0))
    parts = [houses(), walls.astype(np.float32)] if sky == "box" else [houses()]
    ids = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
    black = Material(diffuse=(0.0, 0.0, 0.0))
    return flat_snapshot(
        np.concatenate(parts), [BRICK, black][: len(parts)], material_ids=ids, lights=[lamp], camera=city().camera
    )


def mirrored():
    """A floor, and a mirror beside it that throws light from above onto it."""
    tiles = [
        quad((-4.0, -4.0, 0.0), (4.0, -4.0, 0.0), (4.0, 4.0, 0.0), (-4.0, 4.0, 0.0)),
        quad((1.0, -1.0, 0.2), (1.0, 1.0, 0.2), (1.3, 1.0, 1.4), (1.3, -1.0, 1.4)),
    ]
    light = PointLight(position=(-3.0, 0.0, 9.0), intensity=(60.0, 60.0, 60.0))
    camera = Camera(eye=(-1.0, -5.0, 4.0), forward=(0.0, 0.8, -0.6), up=(0.0, 0.0, 1.0), vertical_fov=50.0)
    ids = np.repeat([0, 1], 2)
    return flat_snapshot(np.concatenate(tiles), [BRICK, MIRROR], material_ids=ids, lights=[light], camera=camera)


@pytest.mark.parametrize("kind", ["area", "panel", *KINDS])
def test_every_triangle_gets_the_light_it_got_before(kind):
    snapshot = yard(kind)
    plain = pack_scene(snapshot)
    sent = Targets(plain).projected(0.2, NEEDED)
    assert sent.photon_scene.projection.share == pytest.approx(0.2 + 0.9 * 0.8)
    with tracecore.open_tracer(snapshot.positions, device="cpu", threads=2) as tracer:
        before = np.array([received(plain, tracer, sequence) for sequence in range(24)])
        after = np.array([received(sent, tracer, 1000 + sequence) for sequence in range(24)])
    scores = z_scores(after, before)
    lit = (before > 0.0).any(axis=0) & (after > 0.0).any(axis=0)
    assert lit.sum() > 20
    assert np.abs(scores[lit]).max() < 1.5 * sidak_bound(int(lit.sum()))


def test_a_floor_under_a_lamp_has_its_irradiance_whatever_is_needed():
    """E = I cos / d^2, over the floor 2 x 2 under a lamp 3 above it: I times the solid angle of the floor."""
    lamp = PointLight(position=(0.0, 0.0, 3.0), intensity=(2.0, 2.0, 2.0))
    floor = quad((-1.0, -1.0, 0.0), (1.0, -1.0, 0.0), (1.0, 1.0, 0.0), (-1.0, 1.0, 0.0))
    snapshot = flat_snapshot(floor, [BRICK], lights=[lamp])
    scene = Targets(pack_scene(snapshot)).projected(0.0, np.array([(0.4, 0.2, 0.0, 0.3), (0.3, 0.1, 0.0, 0.3)]))
    with tracecore.open_tracer(snapshot.positions, device="cpu", threads=2) as tracer:
        flux = np.array([received(scene, tracer, sequence).sum(axis=0) for sequence in range(32)])
    solid_angle = 4.0 * np.arcsin(1.0 / (1.0 + 9.0))
    assert np.abs(z_scores(flux, np.array(3.0 * 2.0 * solid_angle))).max() < 4.0


def test_fewer_photons_escape_and_pictures_have_less_noise():
    judge = passes(city(), "path", 1500).mean(axis=0)[..., :3].astype(np.float32)
    errors, escaped = {}, {}
    for is_aimed in (True, False):
        with opened(city(), "photon", photons=2000, projection=is_aimed) as made:
            picture = np.mean([made.render_pass(i)[..., :3] for i in range(24)], axis=0)
            photons = made.work.photons
        assert photons.emitted == photons.absorbed + photons.escaped + photons.terminated == 48_000
        assert (photons.wanting > 0) == is_aimed
        errors[is_aimed], escaped[is_aimed] = error_of(picture.astype(np.float32), judge), photons.escaped
    assert errors[True] < 0.6 * errors[False]
    assert escaped[True] < 0.7 * escaped[False]


@pytest.mark.parametrize("snapshot", [city(), mirrored(), square(), square("box")])
def test_pictures_are_those_of_other_drivers_on_average(snapshot):
    made = block_means(passes(snapshot, "photon", 96, photons=32_000, width=24, height=16), 4)
    judge = block_means(passes(snapshot, "path+caustics", 400, photons=4000, width=24, height=16, seed=7), 4)
    assert np.abs(z_scores(made, judge, tolerance=0.04)).max() < sidak_bound(made[0].size)


def test_a_mirror_lights_the_floor_where_pixels_are_gathered():
    """`path` is blind to a lamp without size in a mirror."""
    made = passes(mirrored(), "photon", 48, photons=4000, width=24, height=16).mean(axis=0)
    blind = passes(mirrored(), "path", 48, width=24, height=16).mean(axis=0)
    assert (made - blind).mean() > 0.03 * blind.mean()


@pytest.mark.parametrize("changes", [{"threads": 1}, {"batch_rays": 256}])
@pytest.mark.parametrize("driver", ["photon", "sppm"])
def test_bits_depend_on_no_threads_and_no_batches(driver, changes):
    usual = passes(city(), driver, 2, photons=2000)
    np.testing.assert_array_equal(passes(city(), driver, 2, photons=2000, **changes), usual)


def test_a_crop_has_the_bits_of_the_whole():
    whole, part = (passes(city(), "photon", 1, photons=60_000, crop=crop)[0] for crop in (None, (3, 2, 8, 6)))
    np.testing.assert_array_equal(part, whole[2:8, 3:11])


def test_rooms_are_looked_at_as_ever():
    """Where all photons go on landing in sight of the eye, discs of their own for pixels would be of no use."""
    with opened(lamp_in_box(), "photon") as made:
        assert made.projected_scene is made.scene
        made.render_pass(0)
        assert made.work.photons.wanting == 0


@pytest.mark.parametrize(("sky", "most"), [("open", 0.85), ("box", 0.5)])
def test_few_photons_are_no_reason_for_wide_discs_where_the_lamp_is_inside(sky, most):
    """The even radius grows with the area of a scene, also of walls that send nothing on."""
    judge = passes(square(sky), "path", 1500).mean(axis=0)[..., :3].astype(np.float32)
    errors = {}
    for projection in (True, False):
        made = passes(square(sky), "photon", 48, photons=2000, projection=projection).mean(axis=0)
        errors[projection] = error_of(made.astype(np.float32), judge)
    assert errors[True] < most * errors[False]


@pytest.mark.parametrize("height", [None, 3.0])
def test_importons_of_the_eye_have_one_watt_together(height):
    camera = Camera(eye=(1, 2, 3), forward=(0, 1, 0), up=(0, 0, 1), vertical_fov=60.0, height=height, near=0.5)
    row = eye_row(pack_camera(camera, 40, 30))
    assert powers(row[None])[0] == pytest.approx((1.0, 1.0, 1.0))
    if height is None:
        assert row[LIGHT_POSITION : LIGHT_POSITION + 3] == pytest.approx((1.0, 2.5, 3.0))
        cosine = 1.0 / np.sqrt(1.0 + np.tan(np.pi / 6) ** 2 * (1.0 + (4 / 3) ** 2))
        assert row[LIGHT_STRENGTH] == pytest.approx(1.0 / (2.0 * np.pi * (1.0 - cosine)))


def test_edges_are_where_planes_part():
    """Two walls of one direction that lie behind each other, a corner, and one wall without an edge."""
    points, normals = np.zeros((3, 1, 6)), np.zeros((3, 1, 6))
    points[0, 0], normals[2] = np.arange(6), 1.0
    seen, footprint = np.ones((1, 6), np.bool_), np.ones((1, 6))
    assert not edges_of(points, normals, seen, footprint).any()
    points[2, 0, 3:] = 1.0
    assert edges_of(points, normals, seen, footprint).tolist() == [[False, False, True, True, False, False]]
    points[2, 0, 3:] = np.nan
    assert not edges_of(points, normals, seen, footprint).any()
    points[2, 0, 3:] = 0.0
    normals[:, 0, 5] = (1.0, 0.0, 0.0)
    edges = edges_of(points, normals, seen, footprint)
    assert edges.tolist() == [[False] * 4 + [True] * 2]
    assert pixels_to(edges, 2.0).tolist() == [[np.inf, np.inf, 2.0, 1.0, 0.0, 0.0]]


def test_no_disc_of_a_picture_is_wider_than_a_fiftieth_of_it():
    """The camera looks straight down at a floor; all discs are in the picture."""
    camera = Camera(eye=(0.0, 0.0, 2.0), forward=(0.0, 0.0, -1.0), up=(0.0, 1.0, 0.0), vertical_fov=60.0)
    snapshot = replace(city(), camera=camera)
    with opened(snapshot, "photon", photons=2000, width=40, height=40) as made:
        radii = np.abs(made.pixel_radii)
        depth = 2.0
    assert radii.max() <= 40 * 0.01 * 2.0 * depth * np.tan(np.pi / 6) / 40 * (1.0 + 1e-6)
