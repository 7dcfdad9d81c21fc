"""Photons sent to mirrors and glass: wherever they go, each surface gets the light that it got before, on average."""

import math
from dataclasses import replace

import numpy as np
import pytest
from driver_passes import block_means, opened, passes, sidak_bound, z_scores
from small_scenes import closed_box, flat_snapshot, quad
from test_light_kinds import KINDS

import tracecore
from renderer.drivers.driver import RenderSettings
from renderer.drivers.pass_photons import photon_task
from renderer.photons.batch import PATH_FLUX, new_batch
from renderer.photons.emission import launch
from renderer.photons.targets import LEAST_SHARE, Targets, light_budgets, places_of_objects
from renderer.photons.tracing import trace_photons
from renderer.scene.packed_scene import pack_scene
from renderer.scene.photon_scene import join_triangles
from renderer.shading.chunks import RAY_DIRECTION
from renderer.simd.columns import ELEMENTS
from scenes.lights import PointLight
from scenes.model import Camera, Material
from shaders.lights.row import LIGHT_STRENGTH
from tracecore.workers.pool import WorkerPool

GREY, MIRROR = Material(diffuse=(0.5, 0.5, 0.5)), Material(kind="mirror", specular=(0.9, 0.9, 0.9))
GLASS = Material(kind="dielectric", transmittance=1.0, ior=1.5)
GLOW = Material(emission=(3.0, 2.0, 1.0))
SHARES = (0.5, 1.0)


def octahedron(middle, radius):
    """Eight triangles, wound so that normals point outside: (8, 3, 3)."""
    x, y, z = radius * np.eye(3)
    faces = [(a, b, c) for a in (x, -x) for b in (y, -y) for c in (z, -z)]
    outward = [face if np.linalg.det(face) > 0.0 else face[::-1] for face in faces]
    return np.float32(np.array(outward) + np.asarray(middle))


def tiles(steps, height=0.0, side=2.0):
    """A square of side about the z axis, cut into steps^2 squares: (2 * steps^2, 3, 3)."""
    lines = np.linspace(-0.5 * side, 0.5 * side, steps + 1)
    cells = [(lines[i : i + 2], lines[j : j + 2]) for i in range(steps) for j in range(steps)]
    return np.concatenate(
        [quad(*((x, y, height) for x, y in ((a, c), (b, c), (b, d), (a, d)))) for (a, b), (c, d) in cells]
    )


#: Clear of the floor. The second one is cut by the edge of the spot's beam, the first by the horizon of the lamp.
STONES = np.concatenate([octahedron((0.2, 0.1, 0.3), 0.15), octahedron((-0.6, -0.5, 0.2), 0.12)])
LAMP_QUAD = quad((-0.5, 0.15, 0.3), (-0.2, 0.15, 0.3), (-0.2, 0.15, 0.6), (-0.5, 0.15, 0.6))
#: Above all, with all of it in front.
PANEL = quad((0.2, -0.3, 2.0), (0.1, 0.3, 1.9), (0.7, 0.4, 1.8), (0.8, -0.2, 1.9))


def yard(kind):
    """A floor and two glass stones under a light."""
    positions, ids = np.concatenate([tiles(4), STONES]), np.repeat([0, 1], [32, 16])
    if kind in ("area", "panel"):
        lamp = LAMP_QUAD if kind == "area" else PANEL
        positions, ids = np.concatenate([positions, lamp]), np.append(ids, [2, 2])
        return flat_snapshot(positions, [GREY, GLASS, GLOW], material_ids=ids)
    lights, environment = KINDS[kind]
    return replace(flat_snapshot(positions, [GREY, GLASS], material_ids=ids, lights=lights), environment=environment)


BULB = PointLight(position=(0.3, 0.3, 0.8), intensity=(1.0, 2.0, 3.0))


def room(lamps=(BULB,)):
    """A closed box with a glass stone in it."""
    positions = np.concatenate([closed_box(), octahedron((0.6, 0.6, 0.25), 0.12)])
    camera = Camera(eye=(0.5, 0.05, 0.5), forward=(0.0, 1.0, 0.0), up=(0.0, 0.0, 1.0), vertical_fov=85.0)
    return flat_snapshot(positions, [GREY, GLASS], material_ids=np.repeat([0, 1], [12, 8]), lights=lamps, camera=camera)


def emitted(scene, photons, sequence=0):
    """Rays (8, n), and their flux (n, 3) in W of photons that each stand for all."""
    task = photon_task(scene, RenderSettings(width=8, height=8, seed=5), sequence, 0)
    rays, hits = (np.zeros((rows, photons + 2 * ELEMENTS), np.float32) for rows in (8, 4))
    batch = new_batch(rays, hits, photons)
    launch(scene.photon_scene, task, batch, (0, 0, photons))
    flux = batch.paths[PATH_FLUX : PATH_FLUX + 3, :photons].view(np.float32).T * np.float64(task.flux_unit)
    if not flux.any():  # of the only light, which all photons share
        flux = np.broadcast_to(scene.photon_scene.emitters["flux"][0].astype(np.float64), flux.shape)
    return rays[:, :photons], flux


def received(scene, tracer, sequence):
    """(triangles,) W that come straight from the lights to each."""
    rays, flux = emitted(scene, 3000, sequence)
    queries = np.ascontiguousarray(rays.T)
    queries[:, 3], queries[:, 7] = 0.0, np.inf
    triangles = tracer.closest_hit(queries)[:, 3].view(np.int32)
    count = len(scene.surfaces.positions)
    return np.bincount(np.where(triangles < 0, count, triangles), flux.sum(axis=1), count + 1)[:count] / 3000


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("kind", ["area", "panel", *KINDS])
def test_every_triangle_gets_the_light_it_got_before(kind, share):
    """With all photons sent to stones, the stones do, and whatever stands in front of them."""
    scene = pack_scene(yard(kind))
    guided = Targets(scene).projected(share)
    with tracecore.open_tracer(scene.surfaces.positions, device="cpu", threads=1) as tracer:
        usual, sent = (np.array([received(one, tracer, i) for i in range(48)]) for one in (scene, guided))
    looked_at = slice(32, 48) if share == 1.0 else slice(0, 48)
    watts = 3.0 * scene.lights.power / 3000
    often = (usual > 0.0).sum(axis=0)[looked_at] > 24
    assert often.sum() >= 4
    z = z_scores(sent[:, looked_at][:, often], usual[:, looked_at][:, often], 1e-4)
    assert np.abs(z).max() < sidak_bound(z.size)
    assert sent[:, 32:48].var(axis=0).sum() < 0.8 * usual[:, 32:48].mean(axis=0).sum() * watts  # of random photons


def test_a_lamp_sends_no_photon_where_there_is_nothing():
    """A caustic map needs what goes to the stone; a lamp above a floor sends the rest to the floor."""
    scene = pack_scene(room())
    middle, radius = np.split(Targets(scene).projected(1.0).photon_scene.projection.targets[0, :4], [3])
    rays, flux = emitted(Targets(scene).projected(1.0), 5000)
    beside = np.linalg.norm(np.cross(rays[RAY_DIRECTION : RAY_DIRECTION + 3].T, middle - (0.3, 0.3, 0.8)), axis=1)
    assert np.all(beside < 1.001 * radius)
    assert beside.max() > 0.98 * radius
    # of a point all photons in a cone stand for as much
    angle = math.asin(radius[0] / np.linalg.norm(middle - (0.3, 0.3, 0.8)))
    expected = 2.0 * math.pi * (1.0 - math.cos(angle)) * np.array([1.0, 2.0, 3.0])
    np.testing.assert_allclose(flux, np.broadcast_to(expected, flux.shape), rtol=1e-5)

    outdoors = pack_scene(yard("point"))
    assert np.all(emitted(Targets(outdoors).projected(0.5), 5000)[0][RAY_DIRECTION + 2] < 0.0)
    assert not np.all(emitted(outdoors, 5000)[0][RAY_DIRECTION + 2] < 0.0)


@pytest.mark.parametrize("kind", ["sun", "disc", "noisy sky"])
def test_photons_from_outside_go_to_the_box_around_the_scene(kind):
    """All lines of them meet it, and of a sun each stands for as much: what falls on the shadow of the box."""
    scene = pack_scene(yard(kind))
    rays, flux = (values.astype(np.float64) for values in emitted(Targets(scene).projected(0.0), 4000))
    directions = rays[RAY_DIRECTION : RAY_DIRECTION + 3].T
    corners = scene.surfaces.positions.reshape(-1, 3).astype(np.float64)
    box = np.stack([corners.min(axis=0), corners.max(axis=0)])
    for sender, is_guided in ((Targets(scene).projected(0.0), True), (scene, False)):
        sent = emitted(sender, 4000)[0].astype(np.float64)
        with np.errstate(divide="ignore"):
            crossings = np.sort((box[:, None] - sent[:3].T) / sent[RAY_DIRECTION : RAY_DIRECTION + 3].T, axis=0)
        meets = crossings[0].max(axis=1) < crossings[1].min(axis=1) + 1e-3
        assert meets.all() == is_guided
    x, y, z = box[1] - box[0]
    shadows = np.abs(directions) @ (y * z, z * x, x * y)
    if kind == "sun":
        expected = shadows[:1, None] * np.array(scene.lights.rows[0, LIGHT_STRENGTH : LIGHT_STRENGTH + 3])
        np.testing.assert_allclose(flux, np.broadcast_to(expected, flux.shape), rtol=1e-5)


def test_photons_of_a_lamp_close_above_go_down():
    """Seen from there the box fills almost one half of all directions: no cone about its middle has all of it."""
    lamp = PointLight(position=(0.9, 0.9, 0.55), intensity=(1.0, 1.0, 1.0))
    near = Targets(pack_scene(replace(yard("point"), lights=(lamp,)))).projected(0.0)
    assert np.all(emitted(near, 5000)[0][RAY_DIRECTION + 2] < 0.0)


@pytest.mark.parametrize("share", SHARES)
def test_lights_within_all_targets_emit_as_ever(share):
    box = flat_snapshot(closed_box(), [MIRROR], lights=room().lights)
    scene, guided = pack_scene(box), Targets(pack_scene(box)).projected(share)
    assert len(guided.photon_scene.projection.targets) == 1
    for made, usual in zip(emitted(guided, 1000), emitted(scene, 1000), strict=True):
        np.testing.assert_allclose(made, usual, rtol=1e-6)


def test_half_of_the_photons_go_anywhere_where_one_target_holds_the_light():
    snapshot = room()
    walls = np.array([0] * 10 + [2] * 2 + [1] * 8)  # two triangles of a mirror, whose sphere reaches over the lamp
    mirrored = replace(snapshot, materials=(GREY, GLASS, MIRROR), material_ids=walls.astype(np.int32))
    near = replace(mirrored, lights=(PointLight(position=(0.5, 0.5, 0.8), intensity=(1.0, 1.0, 1.0)),))
    guided = Targets(pack_scene(near)).projected(1.0)
    targets = guided.photon_scene.projection.targets
    holds = np.linalg.norm(targets[:, :3] - (0.5, 0.5, 0.8), axis=1) < targets[:, 3]
    assert holds.tolist().count(True) == 1
    flux = np.array([emitted(guided, 2000, sequence)[1][:, 0].mean() for sequence in range(32)])
    assert abs(flux.mean() - 4.0 * math.pi) < 4.0 * flux.std(ddof=1) / math.sqrt(32)
    strengths = np.unique(emitted(guided, 2000)[1][:, 0].round(4))
    assert strengths.max() == pytest.approx(8.0 * math.pi, rel=1e-4)  # twice as much, of half the photons
    assert strengths.min() < 2.0


def test_without_mirrors_in_a_closed_room_nothing_changes():
    scene = pack_scene(flat_snapshot(closed_box(), [GREY], lights=room().lights))
    assert Targets(scene).projected(0.5) is scene
    assert Targets(pack_scene(room())).projected(0.0).photon_scene.projection.targets.shape == (0, 5)


def lamps_around_a_stone():
    """One weak lamp near a stone, six strong ones, and one without power."""
    near = PointLight(position=(0.6, 0.6, 0.55), intensity=(0.1, 0.1, 0.1))
    far = [PointLight(position=(0.1, 0.1 + 0.1 * k, 0.9), intensity=(1.0, 0.8, 0.6)) for k in range(6)]
    off = PointLight(position=(0.5, 0.5, 0.5), intensity=(0.0, 0.0, 0.0))
    return room([near, *far, off])


@pytest.mark.parametrize("share", SHARES)
def test_every_light_has_its_share_and_a_lamp_beside_glass_has_more(share):
    scene = pack_scene(lamps_around_a_stone())
    guided = Targets(scene).projected(share)
    rows, power, is_square = join_triangles(scene.lights)
    budgets = light_budgets(scene.lights._replace(rows=rows), power, is_square, guided.photon_scene.projection)
    assert budgets.sum() == pytest.approx(1.0)
    assert np.all(budgets >= power * min(share, LEAST_SHARE))
    assert budgets[0] > 4.0 * power[0]
    assert budgets[7] == 0.0
    watts = guided.photon_scene.emitters["flux"] * budgets[:, None]
    expected = 4.0 * math.pi * np.array([light.intensity for light in lamps_around_a_stone().lights])
    np.testing.assert_allclose(watts, expected, rtol=1e-5)
    task = photon_task(guided, RenderSettings(width=8, height=8), 0, 0)
    assert task.flux_unit == pytest.approx(guided.photon_scene.emitters["flux"].max(), rel=1e-5)


@pytest.mark.parametrize("snapshot", [yard("all"), room(), lamps_around_a_stone()], ids=["yard", "room", "lamps"])
@pytest.mark.parametrize("share", SHARES)
def test_every_photon_is_counted_whatever_the_threads_and_batches(snapshot, share):
    scene = Targets(pack_scene(snapshot)).projected(share)
    task = photon_task(scene, RenderSettings(width=8, height=8, seed=5), 0, 0)
    runs = []
    for threads, batch_rays in ((1, 256), (2, 4096)):
        with tracecore.open_tracer(snapshot.positions, device="cpu", threads=threads) as tracer:
            pool = WorkerPool(tracer, threads, batch_rays)
            runs.append(trace_photons(scene, task, pool, range(10_000)))
            pool.close()
    counts = runs[0].counts
    assert counts.emitted == 10_000 == counts.absorbed + counts.escaped + counts.terminated
    assert counts == runs[1].counts
    assert np.array_equal(runs[0].stored, runs[1].stored)


COMMON = {"width": 12, "height": 12, "max_bounces": 12, "photons": 4000, "radius": 0.03}


@pytest.mark.parametrize(
    ("driver", "guide_share"),
    [("photon", 0.0), ("photon", 0.25), ("sppm", 0.25), ("path+caustics", 0.0), ("gather", 0.0)],
)
def test_pictures_are_the_same_on_average(driver, guide_share):
    sent, usual = (
        passes(lamps_around_a_stone(), driver, 48, seed=seed, projection=projection, guide_share=guide_share, **COMMON)
        for seed, projection in ((1, True), (2, False))
    )
    blocks = [block_means(made, 3) for made in (sent, usual)]
    z = z_scores(blocks[0], blocks[1], 0.005 if driver == "sppm" else 1e-3)
    assert np.abs(z).max() < sidak_bound(z.size)


@pytest.mark.parametrize("driver", ["photon", "sppm"])
@pytest.mark.parametrize("guide_share", [0.0, 0.25])
def test_as_many_photons_are_aimed_as_asked_for(driver, guide_share):
    with opened(room(), driver, guide_share=guide_share, **COMMON) as made:
        assert made.projected_scene.photon_scene.projection.share == guide_share


@pytest.mark.parametrize("seed", range(5))
def test_objects_are_what_hangs_together_by_corners(seed):
    """Chains of triangles, of which each has one corner of the one before, at whichever place; all in any order."""
    random = np.random.default_rng(seed)
    triangles, objects = [], []
    for number in range(6):
        corner = random.random(3)
        for _ in range(1 + 7 * number):
            triangle = random.random((3, 3))
            triangle[random.integers(3)] = corner
            corner = triangle[random.integers(3)]
            triangles.append(triangle)
            objects.append(number)
    order = random.permutation(len(triangles))
    given, expected = np.array(triangles, np.float32)[order], np.array(objects)[order]
    places, middles_of_places = places_of_objects(given)
    assert len(places) == len(np.unique(given.reshape(-1, 3), axis=0))
    known = {tuple(place): middle for place, middle in zip(places.tolist(), middles_of_places, strict=True)}
    middles = np.array([[known[tuple(corner)] for corner in triangle.tolist()] for triangle in given])
    assert (middles == middles[:, :1]).all()
    middles = middles[:, 0]
    assert len(np.unique(middles, axis=0)) == 6
    for number in range(6):
        own = given[expected == number].reshape(-1, 3).astype(np.float64)
        box = 0.5 * (own.min(axis=0) + own.max(axis=0))
        np.testing.assert_allclose(
            middles[expected == number], np.tile(box, ((expected == number).sum(), 1)), rtol=1e-6
        )
