"""Media scatter as closed forms say, and all drivers agree on what they look like."""

import math
from dataclasses import replace

import numpy as np
import pytest
from driver_passes import deviation, independent_pictures, passes, sidak_bound
from small_scenes import quad
from test_media import GREY, NOON, block, from_height, plate, scene, solid
from test_path_report import CHOSEN, both

from scenes.lights import PointLight
from scenes.model import Material
from shaders.bsdfs.phase import cosine_of
from shaders.float32 import Float32

BLACK = (0.0, 0.0, 0.0)
SCATTERED, ABSORBED = np.array([0.8, 1.5, 2.5]), np.array([0.5, 0.2, 0.0])
EXTINCTION = SCATTERED + ABSORBED
WIDE = 40.0


def fog(scattering, absorption=BLACK, g=0.0):
    """A medium without a surface."""
    red, green, blue = map(float, np.broadcast_to(scattering, 3))
    return replace(solid(absorption), scattering=(red, green, blue), mean_cosine=g)


def phase(cosine, g):
    return (1.0 - g * g) / (4.0 * math.pi * (1.0 + g * g - 2.0 * g * cosine) ** 1.5)


def scattered_once(depths, distances, cosines, g):
    """What a ray sees of a point lamp of intensity pi, (3,): the sum over steps of the same length along it."""
    step = depths[1] - depths[0]
    share = phase(cosines, g) * math.pi / distances**2 * step
    left = np.exp(-EXTINCTION[:, None] * (depths + distances))
    return (SCATTERED[:, None] * left * share).sum(axis=1)


@pytest.mark.parametrize("g", [0.0, 0.7, -0.4])
@pytest.mark.parametrize(("driver", "bounces"), [("whitted", 9), ("path", 1), ("photon", 1)])
def test_a_lamp_in_fog_is_scattered_once_as_the_closed_form_says(driver, bounces, g):
    """The camera looks down in the fog, from 0.9 m to a black plate at 0.1; the lamp is beside its ray, at 0.5. Where
    it is below a point its light goes on to the camera, and where it is above it turns back."""
    lamp = PointLight(position=(0.43, 0.02, 0.5), intensity=(math.pi,) * 3)
    black = (plate(0.1, 1.0), Material(diffuse=BLACK))
    lit = scene(
        black, (block(0.0, 1.0, WIDE), fog(SCATTERED, ABSORBED, g)), lights=[lamp], camera=from_height(0.9, 1e-3)
    )
    samples = passes(lit, driver, 64, width=16, height=16, photons=2000, radius=0.02, max_bounces=bounces)
    heights = np.linspace(0.9, 0.1, 8001)[:-1] - 0.00005
    offset, down = 0.4, heights - 0.5
    distances = np.hypot(offset, down)
    expected = scattered_once(0.9 - heights, distances, down / distances, g)
    assert deviation(samples.mean(axis=(1, 2)), expected, 1e-3 * expected).max() < sidak_bound(3)


@pytest.mark.parametrize("driver", ["path", "photon", "sppm", "path+caustics", "gather"])
def test_fog_that_absorbs_nothing_is_not_seen_where_all_around_is_as_bright(driver):
    bright = (block(-1.0, 2.0, 2.0)[:, ::-1], Material(diffuse=BLACK, emission=(1.0, 1.0, 1.0)))
    furnace = scene(bright, (block(0.0, 1.0, 0.5), fog((3.0, 1.0, 0.3), g=0.6)), camera=from_height(1.5, 1.2))
    chosen = {"width": 12, "height": 12, "photons": 2000, "radius": 0.05, "max_bounces": 400}
    samples = independent_pictures(furnace, driver, 48, **chosen).mean(axis=(1, 2))
    assert samples.std() > 0.0
    assert deviation(samples, 1.0, 2e-4).max() < sidak_bound(3)


@pytest.mark.parametrize("driver", ["photon", "sppm", "path+caustics", "gather"])
def test_photons_in_a_room_full_of_fog_bring_what_paths_do(driver):
    """The walls are grey, and a black screen hides the lamp from half of what is seen."""
    room = (block(0.0, 1.0, 0.5)[:, ::-1], replace(GREY, diffuse=(0.6, 0.5, 0.4)))
    screen = (quad((-0.5, 0.1, 0.6), (0.5, 0.1, 0.6), (0.5, 0.5, 0.6), (-0.5, 0.5, 0.6)), Material(diffuse=BLACK))
    lamp = PointLight(position=(0.1, 0.3, 0.8), intensity=(1.0, 1.0, 1.0))
    filled = (block(-0.1, 1.1, 0.6), fog((1.5, 1.0, 0.5), (0.3, 0.3, 0.3), 0.3))
    foggy = scene(room, screen, filled, lights=[lamp], camera=from_height(0.95, 0.9))
    chosen = {"width": 12, "height": 12, "photons": 20_000, "radius": 0.05, "max_bounces": 64}
    expected = passes(foggy, "path", 400, **chosen).mean(axis=(1, 2))
    made = independent_pictures(foggy, driver, 60, **chosen).mean(axis=(1, 2))
    tolerance = 4.0 * expected.std(axis=0) / math.sqrt(len(expected)) + 0.01 * expected.mean(axis=0)
    assert expected.mean() > 0.0
    assert deviation(made, expected.mean(axis=0), tolerance).max() < sidak_bound(3)


@pytest.mark.parametrize("driver", ["path", "photon"])
def test_fog_depends_on_no_thread_and_no_size_of_batch(driver):
    foggy = scene((plate(0.1), GREY), (block(0.0, 1.0), fog(SCATTERED, ABSORBED, 0.5)), lights=[NOON])
    first, other = (
        passes(foggy, driver, 2, threads=threads, batch_rays=rays) for threads, rays in ((1, 4096), (2, 256))
    )
    assert first.max() > 0.0
    np.testing.assert_array_equal(first, other)


def test_a_path_that_collides_is_told():
    foggy = scene(
        (plate(0.1, 2.0), GREY), (block(0.0, 1.0, 3.0), fog(4.0)), lights=[NOON], camera=from_height(2.0, 1.0)
    )
    told = [trace for trace, radiance in both(foggy, replace(CHOSEN, driver="path"), 1, [17, 100, 150])]
    assert all("meets triangle" in "\n".join(trace.lines) for trace in told)
    assert any("collides with a particle at (" in "\n".join(trace.lines) for trace in told)


@pytest.mark.parametrize("g", [0.0, 0.01, 0.02, -0.3, 0.9, -0.99])
def test_directions_are_drawn_by_the_phase_function(g):
    """The share of cosines below some is the integral of the phase function, and their mean is g."""
    count = 200_000
    drawn = np.array([cosine_of(Float32(g), Float32((k + 0.5) / count)) for k in range(count)])
    np.testing.assert_allclose(drawn.mean(), g, atol=2e-4)
    middles = (np.arange(2_000_000) + 0.5) / 1_000_000 - 1.0
    below = np.cumsum(2.0 * math.pi * phase(middles, g)) / 1_000_000
    for cosine in (-0.9, -0.5, 0.0, 0.3, 0.8, 0.99):
        expected = below[np.searchsorted(middles, cosine) - 1]
        assert abs((drawn < cosine).mean() - expected) < 1e-3, cosine
