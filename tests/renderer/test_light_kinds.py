"""Every kind of light in pictures with known answers: photons, shadow rays and rays that leave the scene agree."""

import math
from dataclasses import replace

import numpy as np
import pytest
from small_scenes import closed_box, flat_snapshot, quad
from stored_flux import total_flux

import tracecore
from renderer.drivers import DRIVERS
from renderer.drivers.driver import RenderSettings
from renderer.drivers.pass_photons import photon_task
from renderer.photons.photon_map import PHOTON
from renderer.photons.tracing import trace_photons
from renderer.scene.packed_scene import pack_scene
from scenes.lights import DistantLight, PointLight, SpotLight
from scenes.model import Camera, Environment, Material
from tracecore.workers.pool import WorkerPool

GREY, MIRROR = Material(diffuse=(0.5, 0.5, 0.5)), Material(kind="mirror", specular=(1.0, 1.0, 1.0))
GLASS = Material(kind="dielectric", transmittance=1.0, ior=1.5)
FLOOR = quad((-1, -1, 0), (1, -1, 0), (1, 1, 0), (-1, 1, 0))
#: Sees the middle of the floor, far from its edges.
DOWN = Camera(eye=(0.0, 0.0, 2.0), forward=(0.0, 0.0, -1.0), up=(0.0, 1.0, 0.0), vertical_fov=25.0)
SLANTED = (0.6, 0.0, -0.8)
#: What a plane across the light of distant lights gets.
IRRADIANCE = (3.0, 2.0, 1.0)


def noisy_sky():
    """Radiance of eight by sixteen texels, some of them bright, with z up."""
    texels = np.random.default_rng(1).random((8, 16, 3)).astype(np.float32) ** 4
    axes = np.array([(1.0, 0.0, 0.0), (0.0, 0.0, 1.0), (0.0, -1.0, 0.0)])
    return Environment(radiance=texels, axes=axes)


def even_sky(*radiance):
    return Environment(radiance=np.array(radiance, np.float32).reshape(1, 1, 3))


SUN = DistantLight(direction=SLANTED, irradiance=IRRADIANCE)
DISC = replace(SUN, angular_radius=8.0)
SPOT = SpotLight(
    position=(0.3, 0.2, 1.5), direction=(0.0, 0.0, -1.0), intensity=IRRADIANCE, inner_angle=5.0, outer_angle=45.0
)
POINT = PointLight(position=(0.3, 0.2, 1.5), intensity=IRRADIANCE)
#: Lights and environment by the name of their kind.
KINDS = {
    "point": ((POINT,), None),
    "spot": ((SPOT,), None),
    "sun": ((SUN,), None),
    "disc": ((DISC,), None),
    "even sky": ((), even_sky(1.0, 2.0, 3.0)),
    "noisy sky": ((), noisy_sky()),
    "all": ((POINT, SPOT, SUN, DISC), noisy_sky()),
}


#: Each as bright as the others: what a lamp is put beside.
BESIDE_A_LAMP = (
    (SPOT, replace(DISC, irradiance=(1.5, 1.0, 0.5))),
    replace(noisy_sky(), radiance=4.0 * noisy_sky().radiance),
)


def lit(positions, materials, kind, **fields):
    lights, environment = KINDS[kind]
    return replace(flat_snapshot(positions, materials, lights=lights, **fields), environment=environment)


def pictures(snapshot, driver, *, passes=4, seed=3, size=12, **settings):
    """(passes, size, size, 3) pictures, one for each pass."""
    with tracecore.open_tracer(snapshot.positions, device="cpu", threads=2) as tracer:
        chosen = RenderSettings(width=size, height=size, seed=seed, **settings)
        made = DRIVERS[driver](snapshot, tracer, chosen)
        try:
            return np.array([made.render_pass(index) for index in range(passes)])
        finally:
            made.close()


def shot(snapshot, photons, sequence=0, **settings):
    """Photons of a scene, the direct ones with them, and their flux in W."""
    scene = pack_scene(snapshot)
    task = photon_task(scene, RenderSettings(width=8, height=8, seed=5, **settings), sequence, 0)
    with tracecore.open_tracer(snapshot.positions, device="cpu", threads=2) as tracer:
        pool = WorkerPool(tracer, 2, 4096)
        try:
            traced = trace_photons(scene, task, pool, range(photons))
        finally:
            pool.close()
    return traced, total_flux(traced.stored) * task.flux_unit / photons


def assert_agree(first, second, sigmas=4.0):
    """Means of (n, ...) and (m, ...) independent samples agree."""
    variance = sum(samples.var(axis=0, ddof=1) / len(samples) for samples in (first, second))
    difference = np.abs(first.mean(axis=0) - second.mean(axis=0))
    assert np.all(difference <= sigmas * np.sqrt(variance) + 1e-9), (difference / np.sqrt(variance)).max()


def test_photons_of_a_point_on_a_disc_as_wide_as_its_height():
    """(1 - cos 45 degrees) / 2 of all directions."""
    floor = quad((-9, -9, 0), (9, -9, 0), (9, 9, 0), (-9, 9, 0))
    lamp = PointLight(position=(0.0, 0.0, 2.0), intensity=(1.0, 1.0, 1.0))
    traced, _ = shot(flat_snapshot(floor, [GREY], lights=[lamp]), 200_000, max_bounces=1)
    places = traced.stored.view(PHOTON)["position"].reshape(-1, 3)
    share = np.mean(np.hypot(places[:, 0], places[:, 1]) < 2.0) * len(places) / 200_000
    expected = 0.5 - math.sqrt(0.125)
    assert expected == pytest.approx(0.146447, abs=1e-6)
    assert abs(share - expected) < 4.0 * math.sqrt(expected * (1.0 - expected) / 200_000)


@pytest.mark.parametrize("kind", KINDS)
def test_every_photon_is_accounted_for(kind):
    ball = 0.4 * closed_box() + np.array([0.1, 0.1, 0.2], np.float32)
    scene = lit(np.concatenate([FLOOR, ball]), [GREY, GLASS], kind, material_ids=np.repeat([0, 1], [2, 12]))
    counts = shot(scene, 20_000)[0].counts
    assert counts.emitted == 20_000
    assert counts.emitted == counts.absorbed + counts.escaped + counts.terminated
    assert counts.escaped > 0
    assert counts.stored > 0


@pytest.mark.parametrize("kind", KINDS)
def test_threads_and_batches_change_no_bit(kind):
    scene = pack_scene(lit(FLOOR, [GREY], kind))
    task = photon_task(scene, RenderSettings(width=8, height=8, seed=5), 0, 0)
    stored = []
    with tracecore.open_tracer(FLOOR, device="cpu", threads=3) as tracer:
        for threads, batch_rays in ((1, 4096), (3, 256)):
            pool = WorkerPool(tracer, threads, batch_rays)
            stored.append(trace_photons(scene, task, pool, range(5000)).stored)
            pool.close()
    assert np.array_equal(*stored)  # type: ignore[arg-type]
    assert len(stored[0]) > 0


def test_the_flux_of_a_sun_on_a_plane_is_e_cos_a():
    watts = np.array([shot(lit(FLOOR, [GREY], "sun"), 5000, sequence)[1] for sequence in range(12)])
    assert_agree(watts, np.tile(np.array(IRRADIANCE) * 0.8 * 4.0, (12, 1)))


@pytest.mark.parametrize("driver", ["path", "photon"])
def test_a_plane_under_a_sun_has_radiance_albedo_e_cos_over_pi(driver):
    picture = pictures(lit(FLOOR, [GREY], "sun", camera=DOWN), driver, passes=1, photons=1000)
    expected = 0.5 * 0.8 / math.pi * np.array(IRRADIANCE)
    np.testing.assert_allclose(picture, np.broadcast_to(expected, picture.shape), rtol=1e-6)


@pytest.mark.parametrize("driver", ["path", "photon", "photons-only"])
def test_an_open_plane_under_an_even_sky_has_radiance_albedo_l(driver):
    scene = lit(FLOOR, [GREY], "even sky", camera=DOWN)
    means = [pictures(scene, driver, passes=16, seed=seed, photons=15_000).mean(axis=(0, 1, 2)) for seed in range(8)]
    assert_agree(np.array(means), np.tile((0.5, 1.0, 1.5), (8, 1)))


@pytest.mark.parametrize("driver", ["path", "photon"])
@pytest.mark.parametrize("albedo", [1.0, 0.4])
def test_a_ball_in_an_even_sky_is_albedo_times_as_bright(driver, albedo):
    """What is convex sees the sky alone. A white one cannot be seen at all."""
    records = octahedron(3)
    camera = Camera(eye=(0.0, 0.0, 3.0), forward=(0.0, 0.0, -1.0), up=(0.0, 1.0, 0.0), vertical_fov=60.0)
    scene = flat_snapshot(records, [Material(diffuse=(albedo, albedo, albedo))], camera=camera)
    scene = replace(scene, environment=even_sky(1.0, 2.0, 3.0))
    made = pictures(scene, driver, passes=64, size=9, photons=1000) / (1.0, 2.0, 3.0)
    np.testing.assert_allclose(made[:, 0, 0], 1.0, rtol=1e-6)  # beside the ball
    assert_agree(made[:, 3:6, 3:6].mean(axis=(1, 2)), np.full((64, 3), albedo))


def octahedron(splits):
    """An eight-sided ball whose triangles are split in four so many times, with normals outward."""
    x, y, z = np.eye(3)
    triangles = np.array([(a, b, c) for a in (x, -x) for b in (y, -y) for c in (z, -z)])
    for _ in range(splits):
        a, b, c = (triangles[:, k] for k in range(3))
        ab, bc, ca = ((p + q) / np.linalg.norm(p + q, axis=1, keepdims=True) for p, q in ((a, b), (b, c), (c, a)))
        parts = [(a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca)]
        triangles = np.concatenate([np.stack(part, axis=1) for part in parts])
    normals = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
    inward = np.einsum("ij,ij->i", normals, triangles.mean(axis=1)) < 0.0
    triangles[inward] = triangles[inward][:, ::-1]
    return triangles.astype(np.float32)


@pytest.mark.parametrize("kind", KINDS)
def test_direct_light_by_shadow_rays_is_that_of_photons(kind):
    scene = lit(FLOOR, [GREY], kind, camera=DOWN)
    photons = [pictures(scene, "photons-only", passes=1, seed=s, photons=20_000, radius=0.03) for s in range(16)]
    rays = [pictures(scene, "photon", passes=2, seed=s, photons=1000) for s in range(16)]
    assert_agree(*(np.array([made.mean(axis=(0, 1, 2)) for made in run]) for run in (photons, rays)))


def test_a_lamp_among_lights_of_all_kinds_by_paths_and_by_photons_alone():
    """Paths meet the lamp, the sky and the disc of the sun as well as shadow rays do."""
    lamp = quad((0.2, -0.4, 1.4), (0.2, 0.4, 1.4), (0.8, 0.4, 1.2), (0.8, -0.4, 1.2))
    materials = [GREY, Material(diffuse=(0.0, 0.0, 0.0), emission=(4.0, 2.0, 3.0))]
    lights, sky = BESIDE_A_LAMP
    ids = np.repeat([0, 1], 2)
    scene = flat_snapshot(np.concatenate([FLOOR, lamp]), materials, lights=lights, camera=DOWN, material_ids=ids)
    scene = replace(scene, environment=sky)
    photons = [pictures(scene, "photons-only", passes=1, seed=s, photons=100_000, radius=0.03) for s in range(16)]
    rays = [pictures(scene, "path", passes=32, seed=s) for s in range(16)]
    assert_agree(*(np.array([made.mean(axis=(0, 1, 2)) for made in run]) for run in (photons, rays)))


@pytest.mark.parametrize("kind", KINDS)
def test_paths_and_photons_agree_outdoors(kind):
    """A block on a plane, lit from all sides and by what it reflects."""
    block = closed_box() * np.array([0.5, 0.5, 0.4], np.float32) + np.array([0.2, -0.3, 0.0], np.float32)
    white = Material(diffuse=(0.9, 0.9, 0.9))
    scene = lit(np.concatenate([2 * FLOOR, block]), [white], kind, camera=replace(DOWN, vertical_fov=50.0))
    blocks = [
        pictures(scene, driver, passes=32, photons=20_000, max_bounces=3, radius=0.05).reshape(32, 3, 4, 3, 4, 3)
        for driver in ("path", "photon")
    ]
    first, second = (made.mean(axis=(2, 4)) for made in blocks)
    # Discs of the photon search reach beyond edges: a hundredth of the light is allowed for that.
    error = np.sqrt(sum(made.var(axis=0, ddof=1) / len(made) for made in (first, second)))
    difference = np.abs(first.mean(axis=0) - second.mean(axis=0))
    assert np.all(difference <= 4.0 * error + 0.01 * first.mean(axis=0))


@pytest.mark.parametrize("driver", ["path", "photon", "photons-only"])
def test_a_mirror_shows_the_sky(driver):
    """Straight above the camera that looks down."""
    scene = lit(FLOOR, [MIRROR], "noisy sky", camera=replace(DOWN, vertical_fov=1e-3))
    scene = replace(scene, environment=replace(scene.environment, radiance=scene.environment.radiance.copy()))
    scene.environment.radiance[0] = (1.0, 2.0, 3.0)
    np.testing.assert_allclose(pictures(scene, driver, passes=1, photons=1000)[0, 5, 5], (1.0, 2.0, 3.0), rtol=1e-6)


@pytest.mark.parametrize("driver", ["path", "photon"])
def test_the_disc_of_a_sun_is_seen_and_parallel_light_is_not(driver):
    camera = Camera(eye=(0.0, 0.0, 1.0), forward=(-0.6, 0.0, 0.8), up=(0.0, 1.0, 0.0), vertical_fov=1.0)
    radiance = np.array(IRRADIANCE) / (math.pi * math.sin(math.radians(8.0)) ** 2)
    for kind, expected in (("disc", radiance), ("sun", np.zeros(3))):
        picture = pictures(lit(FLOOR, [GREY], kind, camera=camera), driver, passes=1, photons=1000)
        np.testing.assert_allclose(picture, np.broadcast_to(expected, picture.shape), rtol=1e-6)


@pytest.mark.parametrize("kind", ["sun", "disc", "even sky"])
def test_light_from_outside_is_shut_out_by_what_is_far_away(kind):
    roof = 30 * FLOOR + np.array([0, 0, 9], np.float32)
    scene = lit(np.concatenate([FLOOR, roof[:, ::-1]]), [GREY], kind, camera=DOWN)
    open_floor = pictures(lit(FLOOR, [GREY], kind, camera=DOWN), "path", passes=1, max_bounces=1).mean()
    assert pictures(scene, "path", passes=1, max_bounces=1).mean() < 0.1 * open_floor


@pytest.mark.parametrize("lights", [(), (SUN,)])
def test_a_black_sky_changes_nothing(lights):
    dark = flat_snapshot(np.concatenate([FLOOR, closed_box()[:6] / 3]), [GREY], lights=lights, camera=DOWN)
    expected = pictures(dark, "path", passes=1)
    black = replace(dark, environment=even_sky(0.0, 0.0, 0.0))
    np.testing.assert_allclose(pictures(black, "path", passes=1), expected, rtol=1e-6)


def test_a_scene_without_triangles_shows_its_sky():
    empty = lit(FLOOR[:0], [GREY], "even sky")
    with tracecore.open_tracer(FLOOR, device="cpu", threads=1) as tracer:
        scene = replace(empty, camera=replace(DOWN, forward=(0.0, 0.0, 1.0)))
        made = DRIVERS["path"](scene, tracer, RenderSettings(width=4, height=4))
        np.testing.assert_allclose(made.render_pass(0), np.broadcast_to((1.0, 2.0, 3.0), (4, 4, 3)))
        made.close()
