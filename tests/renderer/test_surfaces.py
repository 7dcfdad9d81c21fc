"""Metals, coats and glass in pictures with known answers."""

import math

import numpy as np
import pytest
from small_scenes import closed_box, flat_snapshot, quad

import tracecore
from renderer.drivers import DRIVERS
from renderer.drivers.driver import RenderSettings
from scenes.lights import PointLight
from scenes.model import Camera, Material

WHITE, BLACK, HALF = (1.0, 1.0, 1.0), (0.0, 0.0, 0.0), (0.5, 0.5, 0.5)
BLACK_FLOOR, GLOWING = Material(diffuse=BLACK), Material(diffuse=BLACK, emission=WHITE)
#: What no light gets lost in.
LOSSLESS = {
    "polished metal": Material(kind="metal", specular=WHITE),
    "rough metal": Material(kind="metal", specular=WHITE, roughness=0.6),
    "dull metal": Material(kind="metal", specular=WHITE, roughness=1.0),
    "polished plastic": Material(kind="plastic", diffuse=WHITE, ior=1.5),
    "rough plastic": Material(kind="plastic", diffuse=WHITE, ior=1.5, roughness=0.5),
    "clear glass": Material(kind="dielectric", transmittance=1.0, ior=1.5),
    "frosted glass": Material(kind="dielectric", transmittance=1.0, ior=1.5, roughness=0.5),
    "dull glass": Material(kind="dielectric", transmittance=1.0, ior=1.5, roughness=1.0),
}
#: Share of the light that may be missing: tables of facets are within 0.004, and discs of photons reach over edges.
MISSING = {"path": 0.004, "photon": 0.01}


def passes(snapshot, driver, count, **settings):
    """(count, height, width, 3) radiance, and the work done."""
    chosen = RenderSettings(**({"width": 8, "height": 6, "photons": 10_000, "threads": 2} | settings))
    with tracecore.open_tracer(snapshot.positions, device="cpu", threads=2) as tracer:
        made = DRIVERS[driver](snapshot, tracer, chosen)
        try:
            return np.array([made.render_pass(i) for i in range(count)]), made.work
        finally:
            made.close()


def in_furnace(material):
    """A cube in a closed box whose walls glow, seen from close by. They reflect nothing, so that there is no noise but
    that of the cube."""
    cube = 0.35 + 0.3 * closed_box()[:, ::-1]
    camera = Camera(eye=(0.5, 0.1, 0.55), forward=(0.0, 1.0, 0.0), up=(0.0, 0.0, 1.0), vertical_fov=25.0)
    positions = np.concatenate([closed_box(), cube])
    return flat_snapshot(positions, [GLOWING, material], material_ids=[0] * 12 + [1] * 12, camera=camera)


def slab(material, floor, far, lights=()):
    """A slab of thickness 1/2 that ends far away, over a floor, and a camera that looks straight down."""
    square = quad((-far, -far, 0), (far, -far, 0), (far, far, 0), (-far, far, 0))
    top, bottom = square + np.array([0, 0, 1.0], np.float32), square[:, ::-1] + np.array([0, 0, 0.5], np.float32)
    camera = Camera(eye=(0.3, 0.2, 2.0), forward=(0.0, 0.0, -1.0), up=(0.0, 1.0, 0.0), vertical_fov=1e-3)
    ids = [0, 0, 1, 1, 1, 1]
    return flat_snapshot(
        np.concatenate([square, top, bottom]), [floor, material], material_ids=ids, camera=camera, lights=lights
    )


def reflected_by_a_face(cosine):
    """Reflected share at index 1.5 by the sines and tangents of both angles, as Fresnel wrote it."""
    above = math.acos(min(cosine, 1.0 - 1e-12))
    below = math.asin(math.sin(above) / 1.5)
    across, along = (f(above - below) / f(above + below) for f in (math.sin, math.tan))
    return 0.5 * (across * across + along * along)


def slab_shares(cosine, absorption):
    """Reflected and transmitted share of light on a slab of index 1.5 and thickness 1/2, with all bounces inside."""
    reflected = reflected_by_a_face(cosine)
    kept = math.exp(-0.5 * absorption / math.sqrt(1.0 - (1.0 - cosine**2) / 1.5**2))
    through = (1.0 - reflected) ** 2 * kept / (1.0 - (reflected * kept) ** 2)
    return reflected + through * reflected * kept, through


@pytest.mark.parametrize("driver", ["path", "photon"])
@pytest.mark.parametrize("name", LOSSLESS)
def test_what_loses_no_light_is_invisible_in_a_furnace(name, driver):
    settings = {"width": 64, "height": 48, "max_bounces": 100, "radius": 0.05}
    made = passes(in_furnace(LOSSLESS[name]), driver, 24, **settings)[0].mean(axis=(1, 2, 3))
    error = made.std(ddof=1) / math.sqrt(len(made))
    assert error < 0.005  # else the test would say nothing
    assert abs(made.mean() - 1.0) < 4.0 * error + MISSING[driver]


@pytest.mark.parametrize("absorption", [0.0, 0.7])
@pytest.mark.parametrize("roughness", [0.0, 1e-3])
def test_a_slab_lets_through_what_its_two_faces_and_beer_leave(absorption, roughness):
    colors = (absorption, 2.0 * absorption, 0.0)
    glass = Material(kind="dielectric", transmittance=1.0, ior=1.5, absorption=colors, roughness=roughness)
    made = passes(slab(glass, GLOWING, 20.0), "path", 200, width=16, height=16)[0].mean(axis=(1, 2))
    expected = [slab_shares(1.0, a)[1] for a in colors]
    assert expected[2] == pytest.approx(0.923077, abs=1e-6)
    assert np.all(np.abs(made.mean(axis=0) - expected) < 4.0 * made.std(axis=0, ddof=1) / math.sqrt(len(made)))


@pytest.mark.parametrize("absorption", [0.0, 0.7])
@pytest.mark.parametrize("roughness", [0.0, 1e-3])
def test_photons_come_back_from_a_slab_as_its_two_faces_and_beer_say(absorption, roughness):
    """Half of them go down to the slab, evenly over the cosine; what comes through meets a black floor."""
    glass = Material(kind="dielectric", transmittance=1.0, ior=1.5, absorption=(absorption,) * 3, roughness=roughness)
    lamp = PointLight(position=(0.0, 0.0, 1.5), intensity=WHITE)
    _, work = passes(slab(glass, BLACK_FLOOR, 300.0, [lamp]), "photons-only", 1, photons=200_000, radius=0.1)
    photons = work.photons
    assert photons.emitted == photons.absorbed + photons.escaped + photons.terminated == 200_000
    nodes, weights = np.polynomial.legendre.leggauss(200)
    reflected = [slab_shares(0.5 + 0.5 * node, absorption)[0] for node in nodes]
    share = 0.5 + 0.25 * np.dot(weights, reflected)
    error = math.sqrt(share * (1.0 - share) / photons.emitted)
    assert abs(photons.escaped / photons.emitted - share) < 4.0 * error + 5e-4  # some go beyond the end


@pytest.mark.parametrize("name", ["rough plastic", "rough metal", "frosted glass"])
def test_paths_and_photons_agree_in_a_room(name):
    """A lamp without size, whose light comes through rough glass by shadow rays or by photons alone."""
    lamp = PointLight(position=(0.5, 0.5, 0.9), intensity=(0.3, 0.3, 0.3))
    shelf = quad((0.05, 0.05, 0.6), (0.95, 0.05, 0.6), (0.95, 0.95, 0.6), (0.05, 0.95, 0.6))
    below = shelf[:, ::-1] - np.array([0, 0, 0.1], np.float32)
    camera = Camera(eye=(0.5, 0.1, 0.3), forward=(0.0, 0.8, 0.6), up=(0.0, -0.6, 0.8), vertical_fov=70.0)
    snapshot = flat_snapshot(
        np.concatenate([closed_box(), shelf, below]),
        [Material(diffuse=HALF), LOSSLESS[name]],
        material_ids=[0] * 12 + [1] * 4,
        camera=camera,
        lights=[lamp],
    )
    path = passes(snapshot, "path", 150, width=16, height=12)[0].mean(axis=(1, 2, 3))
    photon = passes(snapshot, "photon", 30, photons=40_000, radius=0.03, width=16, height=12)[0].mean(axis=(1, 2, 3))
    error = math.sqrt(path.var(ddof=1) / len(path) + photon.var(ddof=1) / len(photon))
    assert abs(path.mean() - photon.mean()) < 4.0 * error + 0.01 * path.mean(), (path.mean(), photon.mean(), error)
