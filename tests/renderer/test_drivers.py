"""Pictures with known answers, and drivers that must agree with each other."""

import math

import numpy as np
import pytest
from small_scenes import closed_box, flat_snapshot, floor_and_ceiling, furnace, lamp_in_box, quad

import scenes
import tracecore
from renderer.driver import RenderSettings
from renderer.drivers import DRIVERS, footprint_radius, pass_radius, photon_radius, pixels_by_tile, surface_area
from renderer.packed_scene import pack_camera
from scenes.model import Camera, Material, PointLight

STRAIGHT_DOWN = Camera(eye=(0.5, 0.5, 0.9), forward=(0.0, 0.0, -1.0), up=(0.0, 1.0, 0.0), vertical_fov=1e-3)
LOOK_DOWN = Camera(eye=(0.5, 0.5, 0.9), forward=(0.0, 0.0, -1.0), up=(0.0, 1.0, 0.0), vertical_fov=40.0)


def passes(snapshot, driver, count, *, device="cpu", **settings):
    """(count, height, width, 3) radiance."""
    chosen = RenderSettings(**({"width": 16, "height": 12, "photons": 20_000, "threads": 2} | settings))
    with tracecore.open_tracer(snapshot.positions, device=device, threads=chosen.threads) as tracer:
        made = DRIVERS[driver](snapshot, tracer, chosen)
        try:
            return np.array([made.render_pass(i) for i in range(count)])
        finally:
            made.close()


def deviation(samples, expected, tolerance=0.0):
    """|mean - expected| in standard errors of the mean over (n, ...) samples; a systematic error up to `tolerance` of
    what is expected is taken into the error."""
    error2 = samples.var(axis=0, ddof=1) / len(samples) + (tolerance * np.asarray(expected)) ** 2
    return np.abs(samples.mean(axis=0) - expected) / np.sqrt(error2)


def block_means(image_passes, size):
    """(n, h, w, 3) -> (n, h / size, w / size, 3)."""
    n, h, w, c = image_passes.shape
    return image_passes.reshape(n, h // size, size, w // size, size, c).mean(axis=(2, 4))


@pytest.mark.parametrize("driver", ["path", "photon", "photons-only"])
def test_a_closed_glowing_box_is_evenly_bright(driver):
    made = passes(furnace(), driver, 24, photons=40_000, max_bounces=100, radius=0.1)
    # Radiance = emission / (1 - albedo) = 1 everywhere. Discs that reach over an edge lose a little.
    rim = 0.0 if driver == "path" else 0.004
    assert np.all(deviation(made.mean(axis=(1, 2)), np.ones(3), rim) < 4.0)
    assert made.mean(axis=0).std() < 0.2


def test_the_furnace_glows_less_when_paths_are_cut():
    made = passes(furnace(), "path", 8, max_bounces=2)
    albedo, emission = np.array([0.5, 0.6, 0.75]), np.array([0.5, 0.4, 0.25])
    # Two surfaces: the one seen, and what shadow rays bring from all others, twice.
    assert np.all(deviation(made.mean(axis=(1, 2)), emission * (1 + albedo + albedo**2)) < 4.0)


def test_a_lamp_without_size_lights_by_the_inverse_square():
    floor = quad((-50, -50, 0), (50, -50, 0), (50, 50, 0), (-50, 50, 0))
    lamp = PointLight(position=(0.5, 0.5, 2.0), intensity=(3.0, 2.0, 1.0))
    camera = Camera(eye=(0.5, 0.5, 1.0), forward=(0.0, 0.0, -1.0), up=(0.0, 1.0, 0.0), vertical_fov=1e-3)
    snapshot = flat_snapshot(floor, [Material(diffuse=(0.5, 0.5, 0.5))], lights=[lamp], camera=camera)
    for driver in ("path", "photon"):
        made = passes(snapshot, driver, 1, radius=1e-6)
        expected = 0.5 / math.pi * np.array([3.0, 2.0, 1.0]) / 4.0
        np.testing.assert_allclose(made[0], np.broadcast_to(expected, made[0].shape), rtol=1e-5)


def test_light_with_size_is_the_same_by_shadow_rays_and_by_chance():
    """A wide lamp close over the floor, where both strategies of the path driver matter: the radiance is albedo *
    emission * form factor from a point, by quadrature."""
    lamp = Material(diffuse=(0.0, 0.0, 0.0), emission=(2.0, 2.0, 2.0))
    snapshot = floor_and_ceiling(materials=[Material(diffuse=(0.5, 0.5, 0.5)), lamp])
    camera = Camera(eye=(0.5, 0.5, 0.9), forward=(0.0, 0.0, -1.0), up=(0.0, 1.0, 0.0), vertical_fov=1e-3)
    snapshot = flat_snapshot(snapshot.positions, snapshot.materials, material_ids=snapshot.material_ids, camera=camera)
    made = passes(snapshot, "path", 40)
    x, y = np.meshgrid((np.arange(400) + 0.5) / 400 - 0.5, (np.arange(400) + 0.5) / 400 - 0.5)
    factor = np.mean(1.0 / (math.pi * (1.0 + x * x + y * y) ** 2))
    assert np.all(deviation(made.mean(axis=(1, 2)), 0.5 * 2.0 * factor * np.ones(3)) < 4.0)


def test_every_driver_sees_the_same_closed_box_with_a_lamp():
    snapshot = lamp_in_box()
    path = passes(snapshot, "path", 32, max_bounces=60)
    for driver, tolerance in (("photon", 0.01), ("photons-only", 0.03)):
        made = passes(snapshot, driver, 32, max_bounces=60, radius=0.04, photons=30_000)
        blocks, judge = block_means(made, 4), block_means(path, 4)
        # The one map of photons-only does not vary over its passes; its noise is within the tolerance.
        error2 = blocks.var(axis=0) / 32 + judge.var(axis=0) / 32 + (tolerance * judge.mean(axis=0)) ** 2
        z = np.abs(blocks.mean(axis=0) - judge.mean(axis=0)) / np.sqrt(error2)
        assert np.all(z < 4.5), driver
        assert np.mean(z) < 1.5, driver


@pytest.fixture(scope="module")
def cornell_passes():
    snapshot = scenes.load("cornell").at_frame(0)
    common = {"width": 48, "height": 48, "max_bounces": 24}
    return {
        "path": passes(snapshot, "path", 96, **common),
        "photon": passes(snapshot, "photon", 32, photons=20_000, radius=0.03, **common),
    }


def test_photon_and_path_driver_agree_on_the_cornell_box(cornell_passes):
    path, photon = (block_means(cornell_passes[name], 12) for name in ("path", "photon"))
    error2 = path.var(axis=0, ddof=1) / len(path) + photon.var(axis=0, ddof=1) / len(photon)
    judge = path.mean(axis=0)
    # The radius is not yet zero: 2% of the radiance may be bias.
    z = (photon.mean(axis=0) - judge) / np.sqrt(error2 + (0.02 * judge) ** 2)
    assert np.all(np.abs(z) < 4.0), np.abs(z).max()
    assert abs(z.mean()) < 1.0


def test_the_glass_sphere_focuses_a_caustic():
    """Under a glass ball the floor is far brighter in the focus than with no ball there, and dark around it."""
    cornell = scenes.load("cornell").at_frame(0)
    glass = [i for i, material in enumerate(cornell.materials) if material.kind == "dielectric"]
    in_ball = np.isin(cornell.material_ids, glass)
    ball = cornell.positions[in_ball].astype(np.float64)
    low, high = ball.min(axis=(0, 1)), ball.max(axis=(0, 1))
    ball = (ball - (low + high) / 2.0) / ((high[0] - low[0]) / 2.0) + (0.0, 1.6, 0.0)  # radius 1, 0.6 over the floor
    floor = quad((-4, 0, -4), (-4, 0, 4), (4, 0, 4), (4, 0, -4))
    scene = flat_snapshot(
        np.concatenate([floor, ball]),
        [Material(diffuse=(0.8, 0.8, 0.8)), Material(kind="dielectric", ior=1.5, transmittance=1.0)],
        material_ids=np.repeat([0, 1], [2, len(ball)]),
        lights=[PointLight(position=(0.0, 8.0, 0.0), intensity=(50.0, 50.0, 50.0))],
        camera=Camera(eye=(0.0, 0.3, 0.0), forward=(0.0, -1.0, 0.0), up=(0.0, 0.0, 1.0), vertical_fov=150.0),
    )
    scene.normals[2:] = cornell.normals[in_ball]
    made = passes(scene, "photon", 4, width=64, height=64, photons=200_000, radius=0.05).mean(axis=0)[..., 0]
    y, x = np.mgrid[0:64, 0:64] - 31.5
    distance = np.hypot(x, y) / 32.0 * 0.3 * math.tan(math.radians(75.0))
    without_ball = 0.8 / math.pi * 50.0 / 64.0
    assert made[distance < 0.07].mean() > 20.0 * without_ball
    assert made[(distance > 0.8) & (distance < 1.0)].mean() < 0.15 * without_ball


@pytest.mark.parametrize("driver", sorted(DRIVERS))
def test_threads_and_batches_change_no_bit(driver):
    snapshot = scenes.load("cornell").at_frame(0)
    settings = {"width": 40, "height": 24, "photons": 5_000}
    expected = passes(snapshot, driver, 2, threads=1, **settings)
    for threads, batch_rays in ((3, 4096), (2, 256)):
        assert np.array_equal(passes(snapshot, driver, 2, threads=threads, batch_rays=batch_rays, **settings), expected)


@pytest.mark.parametrize("driver", sorted(DRIVERS))
def test_a_seed_decides_the_picture(driver):
    snapshot = lamp_in_box()
    settings = {"photons": 2_000, "radius": 0.2}
    assert np.array_equal(
        passes(snapshot, driver, 1, seed=3, **settings), passes(snapshot, driver, 1, seed=3, **settings)
    )
    assert not np.array_equal(
        passes(snapshot, driver, 1, seed=3, **settings), passes(snapshot, driver, 1, seed=4, **settings)
    )


def test_the_picture_is_the_right_way_round():
    """Glowing squares right and above of the view have each a colour of their own."""
    red, green = Material(emission=(1.0, 0.0, 0.0)), Material(emission=(0.0, 1.0, 0.0))
    right = quad((5, -1, -10), (7, -1, -10), (7, 1, -10), (5, 1, -10))
    above = quad((-1, 5, -10), (1, 5, -10), (1, 7, -10), (-1, 7, -10))
    camera = Camera(eye=(0.0, 0.0, 0.0), forward=(0.0, 0.0, -1.0), up=(0.0, 1.0, 0.0), vertical_fov=90.0)
    snapshot = flat_snapshot(
        np.concatenate([right, above]), [red, green], material_ids=[0, 0, 1, 1], camera=camera, background=(0, 0, 0.25)
    )
    image = passes(snapshot, "path", 4, width=40, height=20, max_bounces=1).mean(axis=0)
    # 20 rows span 20 world units at depth 10, so a pixel is one unit.
    assert image[10, 26].tolist() == [1.0, 0.0, 0.0]
    assert image[4, 20].tolist() == [0.0, 1.0, 0.0]
    assert image[15, 10].tolist() == [0.0, 0.0, 0.25]


def test_the_backdrop_is_seen_in_mirrors_and_lights_nothing():
    floor = quad((-50, -50, 0), (50, -50, 0), (50, 50, 0), (-50, 50, 0))
    blue = (0.1, 0.2, 0.4)
    mirror = Material(kind="mirror", specular=(0.5, 0.5, 0.5))
    seen = passes(flat_snapshot(floor, [mirror], camera=LOOK_DOWN, background=blue), "path", 1)
    np.testing.assert_allclose(seen[0], np.broadcast_to(0.5 * np.array(blue), seen[0].shape), rtol=1e-12)
    dark = passes(flat_snapshot(floor, [Material()], camera=LOOK_DOWN, background=blue), "path", 1)
    assert not dark.any()


def test_a_painted_view_is_seen_and_lights_nothing():
    view = Material(diffuse=(0.0, 0.0, 0.0), backdrop=(0.3, 0.6, 0.9))
    mirror = Material(kind="mirror", specular=(1.0, 1.0, 1.0))
    for floor, reflected in ((mirror, 1.0), (Material(), 0.0)):
        snapshot = floor_and_ceiling(materials=[floor, view])
        seen = flat_snapshot(
            snapshot.positions, snapshot.materials, material_ids=snapshot.material_ids, camera=STRAIGHT_DOWN
        )
        for driver in ("path", "photon"):
            made = passes(seen, driver, 2, radius=0.1)
            np.testing.assert_allclose(made, np.broadcast_to(reflected * np.array([0.3, 0.6, 0.9]), made.shape))
    above = Camera(eye=(0.5, 0.5, 0.1), forward=(0.0, 0.0, 1.0), up=(0.0, 1.0, 0.0), vertical_fov=1.0)
    seen = flat_snapshot(snapshot.positions, snapshot.materials, material_ids=snapshot.material_ids, camera=above)
    np.testing.assert_allclose(passes(seen, "path", 1)[0, 0, 0], (0.3, 0.6, 0.9))


def test_nothing_nearer_than_the_near_distance_is_seen():
    near = Camera(eye=(0.5, 0.5, 0.5), forward=(1.0, 0.0, 0.0), up=(0.0, 1.0, 0.0), vertical_fov=60.0, near=5.0)
    snapshot = flat_snapshot(closed_box(), [Material(emission=(1.0, 1.0, 1.0))], camera=near)
    assert not passes(snapshot, "path", 1).any()


def test_occlusion_of_an_open_floor_and_of_a_closed_box():
    floor = quad((-1, -1, 0), (1, -1, 0), (1, 1, 0), (-1, 1, 0))
    assert np.all(passes(flat_snapshot(floor, [Material()], camera=LOOK_DOWN), "ao", 2) == 1.0)
    # In a unit cube all directions meet a wall, but a fifth of the diagonal reaches few of them from a face's middle.
    camera = Camera(eye=(0.5, 0.5, 0.5), forward=(0.0, 0.0, -1.0), up=(0.0, 1.0, 0.0), vertical_fov=1e-3)
    assert np.all(passes(flat_snapshot(closed_box(), [Material()], camera=camera), "ao", 2) == 1.0)
    wide = passes(flat_snapshot(closed_box(), [Material()]), "ao", 8)
    assert 0.5 < wide.mean() < 0.95


def test_occlusion_in_the_corner_of_two_walls_is_a_half():
    walls = np.concatenate(
        [quad((0, 0, 0), (9, 0, 0), (9, 9, 0), (0, 9, 0)), quad((0, 0, 0), (0, 9, 0), (0, 9, 9), (0, 0, 9))]
    )
    camera = Camera(eye=(1e-3, 4.5, 1.0), forward=(0.0, 0.0, -1.0), up=(0.0, 1.0, 0.0), vertical_fov=1e-4)
    made = passes(flat_snapshot(walls, [Material()], camera=camera), "ao", 40)
    assert np.all(deviation(made.mean(axis=(1, 2)), 0.5 * np.ones(3), 2e-3) < 4.0)


def test_the_radius_shrinks_as_published():
    radius2 = 1.0
    for i in range(20):
        assert pass_radius(1.0, i) == pytest.approx(math.sqrt(radius2), rel=1e-12)
        radius2 *= (i + 2.0 / 3.0) / (i + 1.0)


def test_the_first_radius_is_two_pixels_wide():
    floor = quad((-50, -50, 0), (50, -50, 0), (50, 50, 0), (-50, 50, 0))
    camera = Camera(eye=(0.0, 0.0, 3.0), forward=(0.0, 0.0, -1.0), up=(0.0, 1.0, 0.0), vertical_fov=90.0)
    with tracecore.open_tracer(floor, device="cpu", threads=1) as tracer:
        radius = footprint_radius(tracer, pack_camera(camera, 200, 100), 100)
    assert radius == pytest.approx(2.0 * 6.0 / 100, rel=1e-5)


def test_the_first_radius_is_wide_enough_for_two_photons():
    assert surface_area(closed_box()) == pytest.approx(6.0)
    assert math.pi * photon_radius(6.0, 1000) ** 2 / 6.0 * 1000 == pytest.approx(2.0)
    snapshot = lamp_in_box()
    with tracecore.open_tracer(snapshot.positions, device="cpu", threads=1) as tracer:
        for photons, chosen in ((10, None), (10**9, None), (10, 0.25)):
            settings = RenderSettings(width=20, height=10, photons=photons, radius=chosen, threads=1)
            driver = DRIVERS["photon"](snapshot, tracer, settings)
            pixels = footprint_radius(tracer, driver.camera, 10)
            assert driver.first_radius == (chosen or max(pixels, photon_radius(6.0, photons)))
            driver.close()


def test_every_pixel_is_visited_once_and_by_tiles():
    order = pixels_by_tile(20, 17)
    assert sorted(order) == list(range(20 * 17))
    first = order[:64]
    assert set(first % 20) == set(range(8))
    assert set(first // 20) == set(range(8))


def test_rays_are_counted_by_purpose():
    snapshot = lamp_in_box()
    with tracecore.open_tracer(snapshot.positions, device="cpu", threads=2) as tracer:
        driver = DRIVERS["photon"](snapshot, tracer, RenderSettings(width=16, height=12, photons=1000, threads=2))
        driver.render_pass(0)
        rays, photons = driver.work.rays, driver.work.photons
        # A closed diffuse box: one hit and one shadow ray per pixel unless the lamp is behind, and nothing to follow.
        assert rays.camera == rays.shadow == 16 * 12
        assert rays.bounce == 0
        assert photons.emitted == photons.absorbed == 1000
        assert rays.photon == photons.stored + 1000
        traced = tracer.statistics().rays
        assert rays.total <= traced <= rays.total + 64 * 48  # the pilot rays of the radius
        driver.close()


def test_the_error_of_a_path_traced_picture_falls_with_the_root_of_the_passes():
    snapshot = furnace()
    made = passes(snapshot, "path", 64, max_bounces=30)
    errors = [np.sqrt(np.mean((made[:n].mean(axis=0) - 1.0) ** 2)) for n in (4, 16, 64)]
    slope = np.polyfit(np.log([4, 16, 64]), np.log(errors), 1)[0]
    assert -0.65 < slope < -0.4
