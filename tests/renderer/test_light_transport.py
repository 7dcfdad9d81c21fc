"""What all drivers with all light must agree on, each with the others and with what is known."""

from dataclasses import replace

import numpy as np
import pytest
from driver_passes import block_means, deviation, opened, passes, sidak_bound, z_scores
from small_scenes import closed_box, flat_snapshot, furnace, lamp_in_box, quad, sphere

from renderer.drivers import DRIVERS
from renderer.drivers.driver import Caustics
from renderer.scene.light_records import LAMPS_ONE_BY_ONE
from renderer.scene.packed_scene import pack_scene
from scenes.lights import PointLight
from scenes.model import Camera, Material
from shaders import registry
from shaders.bsdfs import nff
from tracecore.compilation.unit_calls import need

#: Drivers that see all light of a scene whose lamps have a size.
COMPLETE = sorted(name for name, driver in DRIVERS.items() if driver.caustics is not Caustics.NONE)

#: Those that must agree with the path driver, and what share of the radiance their discs may lose at edges.
JUDGED = {"photon": 0.01, "sppm": 0.01, "path+caustics": 0.002, "gather": 0.01}


def room(*, ball=None, walls=None):
    """A box with a wide lamp under its ceiling, a red wall, and a ball of some material."""
    white, red = walls or Material(diffuse=(0.6, 0.6, 0.6)), Material(diffuse=(0.6, 0.1, 0.1))
    lamp = Material(diffuse=(0.0, 0.0, 0.0), emission=(4.0, 4.0, 3.0))
    box = closed_box()
    is_red = (box[:, :, 0] == 0.0).all(axis=1)
    square = quad((0.2, 0.2, 0.99), (0.2, 0.8, 0.99), (0.8, 0.8, 0.99), (0.8, 0.2, 0.99))
    round_one = sphere((0.6, 0.5, 0.3), 0.22, 3)
    positions, ids = [box, square], [is_red.astype(int), [2, 2]]
    if ball is not None:
        positions, ids = [*positions, round_one], [*ids, np.full(len(round_one), 3)]
    camera = Camera(eye=(0.5, 0.02, 0.5), forward=(0.0, 1.0, 0.0), up=(0.0, 0.0, 1.0), vertical_fov=80.0)
    made = flat_snapshot(
        np.concatenate(positions), [white, red, lamp, ball or white], material_ids=np.concatenate(ids), camera=camera
    )
    if ball is not None:
        made.normals[-len(round_one) :] = (round_one - (0.6, 0.5, 0.3)) / 0.22
    return made


GLASS = Material(name="glass", kind="dielectric", ior=1.5, transmittance=1.0)
COMMON = {"width": 12, "height": 12, "max_bounces": 24}


def pixels_of_room(driver, pictures, **settings):
    """(pictures, 12, 12) brightness of a room with a glass ball, its lamp out of sight. Pictures have seeds of their
    own, as the passes of one are spread evenly and not independent."""
    full = room(ball=GLASS)
    away = replace(full, camera=replace(full.camera, vertical_fov=60.0))
    chosen = COMMON | {"width": 24, "height": 24, "radius": 0.02, "sampler": "sobol"} | settings
    seeds = range(100 * len(driver), 100 * len(driver) + pictures)
    return np.array([block_means(passes(away, driver, 8, seed=s, **chosen), 2).mean(axis=(0, 3)) for s in seeds])


@pytest.fixture(scope="module")
def judge():
    return pixels_of_room("path", 32)


def pixels_apart(made, judge, tolerance):
    """Share of the pixels in which two drivers differ: of those of equal pictures one in a hundred has any."""
    z = z_scores(made, judge, tolerance)
    return np.mean(np.abs(z) > sidak_bound(z.size))


@pytest.mark.parametrize("driver", sorted(JUDGED))
def test_drivers_see_the_same_room(driver, judge):
    photons = 6_000 if driver in ("gather", "path+caustics") else 16_000  # whose noise is that of more than caustics
    made, bias = pixels_of_room(driver, 24, photons=photons), JUDGED[driver]
    assert pixels_apart(made, judge, bias) <= 0.0025
    for planted in (0.95, 1.05):  # so small an error would be seen
        assert pixels_apart(planted * made, judge, bias) > 0.0025
    regions = z_scores(block_means(made[..., None], 4), block_means(judge[..., None], 4), bias)
    assert np.abs(regions).max() < sidak_bound(regions.size)


@pytest.mark.parametrize("driver", ["path+caustics", "gather"])
def test_a_glossy_floor_keeps_the_light_that_no_map_has(driver):
    """Photons bring caustics to the diffuse lobe alone; the path has those of the Phong lobe beside it."""
    walls = Material(kind="nff", diffuse=(0.3, 0.3, 0.3), specular=(0.5, 0.5, 0.5), exponent=5.0)
    snapshot = room(ball=GLASS, walls=walls)
    judge = block_means(passes(snapshot, "path", 400, seed=7, **COMMON), 4)
    made = block_means(passes(snapshot, driver, 64, photons=6_000, radius=0.03, **COMMON), 4)
    z = z_scores(made, judge, 0.01)
    assert np.abs(z).max() < sidak_bound(z.size)


#: Photons of those drivers whose passes have one map in common, and so its noise.
ONE_MAP = {"photons-only": 100_000, "gather": 50_000}


@pytest.mark.parametrize("driver", COMPLETE)
def test_an_integrating_sphere_is_evenly_bright(driver):
    """A lamp of intensity I amid a sphere of radius r: the wall's radiance is I albedo / (pi r^2 (1 - albedo))."""
    ball = sphere((0.0, 0.0, 0.0), 1.0, 4)[:, ::-1]
    lamp = PointLight(position=(0.0, 0.0, 0.0), intensity=(1.0, 2.0, 3.0))
    camera = Camera(eye=(0.3, 0.0, 0.0), forward=(1.0, 0.0, 0.0), up=(0.0, 0.0, 1.0), vertical_fov=90.0)
    snapshot = flat_snapshot(ball, [Material(diffuse=(0.5, 0.5, 0.5))], lights=[lamp], camera=camera)
    photons = ONE_MAP.get(driver, 5_000)
    made = passes(snapshot, driver, 12, photons=photons, radius=0.1, max_bounces=60)
    expected = np.array([1.0, 2.0, 3.0]) * 0.5 / (np.pi * 0.5)
    # The triangles lie up to half a percent within the sphere.
    assert np.all(deviation(made.mean(axis=(1, 2)), expected, 0.006) < 4.0)


@pytest.mark.parametrize("driver", ["path", "photon"])
def test_a_diffuse_surface_is_one_of_kind_nff_without_other_lobes(driver, monkeypatch):
    """The loops of kind nff, with numbers of a highlight that is black, judge those of Lambert's law."""
    monkeypatch.setattr(registry, "_shaders", dict(registry._shaders))
    registry.register_shader(replace(nff.BSDF, name="black highlight", simpler=lambda numbers: None))
    wall = Material(diffuse=(0.6, 0.6, 0.6), exponent=20.0)
    lambert, black = room(walls=wall), room(walls=replace(wall, kind="black highlight"))
    seen_nowhere = Material(kind="nff", specular=(0.5, 0.5, 0.5), transmittance=0.5, exponent=20.0, ior=1.5)
    room_of = [lambert, replace(black, materials=(*black.materials, seen_nowhere))]  # by which loops have all lobes
    assert [len(pack_scene(snapshot).bsdfs.bsdfs) for snapshot in room_of] == [1, 2]
    made, judge = (
        block_means(passes(snapshot, driver, 800, seed=seed, photons=6_000, radius=0.03, **COMMON), 4)
        for seed, snapshot in enumerate(room_of)
    )
    z = z_scores(made, judge)
    assert np.abs(z).max() < sidak_bound(z.size)
    for planted in (0.97, 1.03):  # so small an error would be seen
        assert np.abs(z_scores(planted * made, judge)).max() > sidak_bound(z.size)


def test_direct_light_alone_is_one_reflection():
    """In the furnace: what a wall emits, and what it reflects of all others."""
    made = passes(furnace(), "whitted", 16)
    emission, albedo = np.array([0.5, 0.4, 0.25]), np.array([0.5, 0.6, 0.75])
    assert np.all(deviation(made.mean(axis=(1, 2)), emission * (1.0 + albedo)) < 4.0)


def test_direct_light_alone_has_gloss_and_does_not_follow_it():
    """In a glossy box that glows: however long paths may be, it is what the path driver sees with one bounce."""
    specular_lobe = Material(kind="nff", diffuse=(0.3, 0.3, 0.3), specular=(0.5, 0.5, 0.5), emission=(1.0, 1.0, 1.0))
    snapshot = flat_snapshot(closed_box(), [specular_lobe])
    np.testing.assert_array_equal(passes(snapshot, "whitted", 2), passes(snapshot, "path", 2, max_bounces=1))


@pytest.mark.parametrize("driver", sorted(DRIVERS))
def test_photons_are_conserved_and_short_runs_are_prefixes(driver):
    snapshot = room(ball=GLASS)
    with opened(snapshot, driver, photons=3_000) as made:
        images = [made.render_pass(i) for i in range(3)]
        photons = made.work.photons
        assert photons.emitted == photons.absorbed + photons.escaped + photons.terminated
    assert np.array_equal(passes(snapshot, driver, 2, photons=3_000), images[:2])


@pytest.mark.parametrize("driver", ["path+caustics", "gather", "sppm"])
def test_a_lamp_in_a_mirror_lights_the_floor(driver):
    """Light of a lamp without size by way of a mirror: as from the lamp's image, at its share."""
    lamp = PointLight(position=(0.5, 0.5, 0.6), intensity=(2.0, 2.0, 2.0))
    floor, overhead = (
        quad((-9, -9, 0), (9, -9, 0), (9, 9, 0), (-9, 9, 0)),
        quad((0, 0, 1), (0, 1, 1), (1, 1, 1), (1, 0, 1)),
    )
    mirror = Material(kind="mirror", specular=(0.5, 0.8, 1.0))
    low = Camera(eye=(0.5, 0.5, 0.3), forward=(0.0, 0.0, -1.0), up=(0.0, 1.0, 0.0), vertical_fov=2.0)
    snapshot = flat_snapshot(
        np.concatenate([floor, overhead]),
        [Material(diffuse=(0.5, 0.5, 0.5)), mirror],
        material_ids=[0, 0, 1, 1],
        lights=[lamp],
        camera=low,
    )
    made = passes(snapshot, driver, 4, photons=100_000, radius=0.12, max_bounces=2).mean(axis=(0, 1, 2))
    specular_only, mirrored = 2.0 / 0.6**2, 2.0 / 1.4**2 * np.array([0.5, 0.8, 1.0])
    np.testing.assert_allclose(made, 0.5 / np.pi * (specular_only + mirrored), rtol=0.02)


def test_the_path_driver_has_the_same_light_where_nothing_is_sharp():
    """Without mirrors and glass there is no caustic map: not a bit differs, and no photon is traced."""
    with opened(lamp_in_box(), "path+caustics", radius=0.1) as made:
        assert np.array_equal(made.render_pass(0), passes(lamp_in_box(), "path", 1)[0])
        assert made.work.photons.emitted == 0


def test_a_sample_of_one_light_takes_no_search_for_it():
    """Half a square lamp is all that a stratum has; lights of other kinds have each vertex search for its own."""
    with opened(room(), "path", width=24, height=24) as driver:
        own, records = driver.render_pass(0), driver.scene.light_records
        assert records.cumulative.tolist() == [0.5, 1.0]
        assert not records.has_others
        need(LAMPS_ONE_BY_ONE)
        driver.scene = driver.scene._replace(light_records=records._replace(has_others=True))
        searched = driver.render_pass(0)
    assert own.any()
    assert (own == searched).all()
