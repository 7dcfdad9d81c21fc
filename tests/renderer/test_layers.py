"""Layers of a picture: direct, indirect and caustic light, features of what is seen, and how close photons lie."""

import numpy as np
import pytest
from driver_passes import opened, passes, z_scores
from small_scenes import flat_snapshot, floor_and_ceiling, quad
from test_light_transport import COMMON, GLASS, room

from renderer.camera_paths.loops import FEATURE_PASSES
from renderer.drivers import DRIVERS
from renderer.drivers.driver import Caustics
from renderer.film.film import Film
from renderer.film.layers import LAYER_BEAUTY, LAYER_BIAS, LAYER_COLUMNS, LAYER_DENSITY, LAYER_LIGHT, layers_of
from scenes.lights import DistantLight, PointLight
from scenes.model import Camera, Material

TELLING = sorted(name for name, driver in DRIVERS.items() if driver.layers == "all")
LIT = [name for name in TELLING if DRIVERS[name].caustics is not Caustics.NONE]
WITH_PHOTONS = sorted(set(LIT) - {"path"})
HALF = Material(diffuse=(0.5, 0.5, 0.5))


def light_of(images):
    """(..., 3 layers, 3 channels): direct, indirect, caustic."""
    return images[..., LAYER_LIGHT:LAYER_DENSITY].reshape(*images.shape[:-1], 3, 3)


@pytest.fixture(scope="module")
def glass_room():
    """A room with a glass ball, as the path driver sees its light."""
    snapshot = room(ball=GLASS)
    return snapshot, passes(snapshot, "path", 400, seed=7, layers="all", **COMMON)


@pytest.mark.parametrize("driver", TELLING)
def test_layers_of_light_add_up_to_the_picture(driver, glass_room):
    """And the picture is the same without them."""
    made = passes(glass_room[0], driver, 3, layers="all", **COMMON)
    alone = passes(glass_room[0], driver, 3, **COMMON)
    np.testing.assert_array_equal(made[..., LAYER_BEAUTY:LAYER_BIAS], alone)
    np.testing.assert_allclose(light_of(made).sum(axis=-2), alone, rtol=1e-9, atol=1e-12)
    assert (light_of(made) >= 0.0).all()


@pytest.mark.parametrize("driver", WITH_PHOTONS)
def test_drivers_tell_light_apart_alike(driver, glass_room):
    snapshot, judge = glass_room
    if driver == "photons-only":  # one map, whose noise and edges no number of passes lessens
        made = light_of(passes(snapshot, driver, 8, layers="all", photons=200_000, radius=0.02, **COMMON))
        expected = light_of(judge).mean(axis=(0, 1, 2))
        np.testing.assert_allclose(made.mean(axis=(0, 1, 2)), expected, rtol=0.08, atol=0.0005)
        return
    made = light_of(passes(snapshot, driver, 32, layers="all", photons=15_000, radius=0.02, **COMMON))
    z = z_scores(made.mean(axis=(1, 2)), light_of(judge).mean(axis=(1, 2)), 0.015)
    assert np.abs(z).max() < 4.0


@pytest.mark.parametrize("driver", [*LIT, "whitted"])
def test_a_floor_alone_has_direct_light_alone(driver):
    lamp = PointLight(position=(0.5, 0.5, 0.5), intensity=(1.0, 2.0, 3.0))
    made = passes(looked_at_from_above([lamp]), driver, 2, layers="all")
    direct, indirect, caustic = np.moveaxis(light_of(made), -2, 0)
    np.testing.assert_allclose(direct, made[..., LAYER_BEAUTY:LAYER_BIAS], rtol=1e-9)
    assert direct.mean() > 0.1
    assert indirect.max() < 1e-9
    assert caustic.max() == 0.0


def looked_at_from_above(lights, material=HALF):
    """The unit square z = 0, from 2 over it, all that is seen."""
    camera = Camera(eye=(0.5, 0.5, 2.0), forward=(0.0, 0.0, -1.0), up=(0.0, 1.0, 0.0), vertical_fov=40.0, height=0.6)
    floor = quad((0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0))
    return flat_snapshot(floor, [material], lights=lights, camera=camera)


INTENSITY, LAMP_HEIGHT, MIRRORED_HEIGHT, MIRROR = 1.0, 0.25, 1.75, 0.5


def floor_under_mirror():
    """A lamp between a floor and a mirror, and what the eye should see of the floor, which fills the picture: the lamp,
    and its image in the mirror."""
    mirror = Material(kind="mirror", specular=3 * (MIRROR,))
    lamp = PointLight(position=(0.5, 0.5, LAMP_HEIGHT), intensity=3 * (INTENSITY,))
    snapshot = floor_and_ceiling(materials=[HALF, mirror], lights=[lamp])
    eye = Camera(eye=(0.5, 0.5, 0.9), forward=(0.0, 0.0, -1.0), up=(0.0, 1.0, 0.0), vertical_fov=58.0, height=0.999)
    return flat_snapshot(
        snapshot.positions, snapshot.materials, material_ids=snapshot.material_ids, lights=snapshot.lights, camera=eye
    )


def radiance_of_lamp(height, intensity, side):
    """(side, side) radiance that the floor under a lamp has, at the middles of the pixels."""
    across = ((np.arange(side) + 0.5) / side - 0.5) * 0.999
    distance2 = across[:, None] ** 2 + across[None, :] ** 2 + height**2
    return 0.5 / np.pi * intensity * height / distance2**1.5


def mirrored_film(passes_made, **settings):
    """The floor under the mirror by the driver photon, paths cut where they are brought by the mirror alone."""
    chosen = {"width": 32, "height": 32, "max_bounces": 2, "layers": "all"} | settings
    with opened(floor_under_mirror(), "photon", **chosen) as driver:
        film = Film(32, 32, LAYER_COLUMNS["all"])
        for index in range(passes_made):
            film.add(driver.render_pass(index))
    return film


def test_light_by_a_mirror_is_caustic():
    film = mirrored_film(24, radius=0.08, photons=100_000)
    layers = film.layers
    inner = slice(4, -4)  # discs at the edges of the floor are not full
    expected = radiance_of_lamp(MIRRORED_HEIGHT, MIRROR * INTENSITY, 32)[inner, inner]
    assert layers["caustic"][inner, inner].mean() == pytest.approx(expected.mean(), rel=0.02)
    assert layers["direct"].mean() == pytest.approx(radiance_of_lamp(LAMP_HEIGHT, INTENSITY, 32).mean(), rel=0.01)
    assert layers["indirect"].max() < 1e-6


def test_bias_at_the_edges_of_a_floor_is_known():
    """Beside the edges photons are missing in the discs; what there should be is known."""
    film = mirrored_film(64, radius=0.12, photons=40_000)
    exact = radiance_of_lamp(MIRRORED_HEIGHT, MIRROR * INTENSITY, 32)
    caustic = film.layers["caustic"].mean(axis=2) - exact
    actual = np.sqrt(np.sort(np.square(caustic / (film.linear.mean(axis=2) * 1.0)), axis=None)[:-10].mean())
    assert 0.7 < film.relative_bias / actual < 1.4


@pytest.mark.parametrize("driver", ["path", "photon"])
def test_features_of_a_tilted_plane(driver):
    """Albedo and normal are those of the plane, and the distance along the rays of a camera without perspective that
    looks straight down on it is linear."""
    material = Material(diffuse=(0.2, 0.4, 0.6))
    floor = quad((0, 0, 0), (1, 0, 1), (1, 1, 1), (0, 1, 0))
    camera = Camera(eye=(0.5, 0.5, 3.0), forward=(0.0, 0.0, -1.0), up=(0.0, 1.0, 0.0), vertical_fov=40.0, height=0.5)
    lamp = PointLight(position=(0.0, 0.5, 3.0), intensity=(1.0, 1.0, 1.0))
    snapshot = flat_snapshot(floor, [material], lights=[lamp], camera=camera)
    made = passes(snapshot, driver, FEATURE_PASSES + 2, layers="features", height=16)
    layers = layers_of(made.sum(axis=0), len(made))
    np.testing.assert_allclose(layers["albedo"], np.broadcast_to((0.2, 0.4, 0.6), (16, 16, 3)), rtol=1e-6)
    normal = np.sqrt(0.5) * np.array([-1.0, 0.0, 1.0])
    np.testing.assert_allclose(layers["normal"], np.broadcast_to(normal, (16, 16, 3)), atol=1e-6)
    x = 0.25 + (np.arange(16) + 0.5) / 32.0
    np.testing.assert_allclose(layers["depth"], np.broadcast_to(3.0 - x, (16, 16)), atol=0.004)


#: Materials, and between what their albedo is, seen straight on.
SURFACES = {
    "metal": (Material(kind="metal", specular=(0.6, 0.6, 0.6), roughness=0.3), 0.55, 0.65),
    "coat on black": (Material(kind="plastic", diffuse=(0.0, 0.0, 0.0), ior=1.5, roughness=0.3), 0.02, 0.06),
    "coat on white": (Material(kind="plastic", diffuse=(1.0, 1.0, 1.0), ior=1.5, roughness=0.3), 0.999, 1.0),
    "glass": (Material(kind="dielectric", ior=1.5, transmittance=0.8), 0.799, 0.801),
    "mirror": (Material(kind="mirror", specular=(0.7, 0.7, 0.7)), 0.699, 0.701),
}


@pytest.mark.parametrize("surface", sorted(SURFACES))
def test_albedo_is_of_all_lobes(surface):
    material, least, most = SURFACES[surface]
    lamp = PointLight(position=(0.5, 0.5, 0.5), intensity=(1.0, 1.0, 1.0))
    made = passes(looked_at_from_above([lamp], material), "path", 1, layers="features")
    albedo = layers_of(made[0], 1)["albedo"]
    assert least <= albedo.min() <= albedo.max() <= most


def test_density_is_of_photons_by_area():
    """A sun over a floor of one square metre: as many photons for each as there are in all."""
    sun = DistantLight(direction=(0.0, 0.0, -1.0), irradiance=(1.0, 1.0, 1.0))
    with opened(looked_at_from_above([sun]), "photons-only", layers="all", radius=0.05, photons=200_000) as driver:
        made, count = driver.render_pass(0), len(driver.one_map.photons)
    assert 10_000 < count < 200_000
    assert made[..., LAYER_DENSITY].mean() == pytest.approx(count, rel=0.03)
