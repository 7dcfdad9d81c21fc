"""The numbers of eye paths, told from the rays that drivers send: what belongs together is evenly spread together."""

from dataclasses import replace

import numpy as np
import pytest
from small_scenes import flat_snapshot, quad

import tracecore
from renderer.bench.ray_recorder import Recorder
from renderer.drivers import DRIVERS
from renderer.drivers.driver import RenderSettings
from renderer.film.film import half_of
from renderer.scene.packed_scene import pack_camera
from scenes.model import Camera, Material
from tracecore.tracers.polled import PolledTracer

#: Points of each half of the passes.
POINTS = 64
WIDTH, HEIGHT = 4, 3

FLOOR = quad((-50, -50, 0), (50, -50, 0), (50, 50, 0), (-50, 50, 0))
LAMP = np.array([(-1, -1, 9), (-1, 2, 9), (3, -1, 9)], np.float32)
CAMERA = Camera(eye=(0.0, 0.0, 4.0), forward=(0.0, 0.0, -1.0), up=(0.0, 1.0, 0.0), vertical_fov=60.0)


GREY, GLOWING = Material(), Material(diffuse=(0.0, 0.0, 0.0), emission=(1.0, 1.0, 1.0))


def floor_and_lamp(floor=GREY, camera=CAMERA):
    """A floor seen from above, and a lamp of one triangle over it, which no camera ray meets."""
    triangles = np.concatenate([FLOOR, LAMP[None]])
    return flat_snapshot(triangles, [floor, GLOWING], material_ids=[0, 0, 1], camera=camera)


def rays_of_half(snapshot, driver, kind, half=0):
    """The rays of a kind in each pass of a half: POINTS arrays (n, 8) float64."""
    settings = RenderSettings(width=WIDTH, height=HEIGHT, seed=3, threads=1)
    found = []
    with tracecore.open_tracer(snapshot.positions, device="cpu", threads=1) as tracer, PolledTracer(tracer) as seen:
        running = DRIVERS[driver](snapshot, seen, settings)
        for index in range(2 * POINTS):
            recorder = Recorder(WIDTH * HEIGHT)
            running.watch(recorder.look)
            running.render_pass(index)
            if half_of(index) == half:
                found += [one.rays.astype(np.float64) for one in recorder.sets if one.kind == kind]
        running.close()
    return found


def assert_evenly_spread(points):
    """Of (POINTS, n, 2) points of the unit square, each of the n sequences has one in each elementary interval."""
    assert points.shape == (POINTS, WIDTH * HEIGHT, 2)
    for across in (4, 8, 16):  # not 2, as a quarter turn of a frame of coordinates moves such intervals
        cells = np.floor((points % 1.0) * (across, POINTS // across)).astype(int)
        for sequence in np.moveaxis(cells, 1, 0):
            assert len(np.unique(sequence, axis=0)) == POINTS, across


def turns_of(x, y):
    """Angles of vectors in full turns, 0..1."""
    return np.arctan2(y, x) / (2.0 * np.pi) % 1.0


@pytest.mark.parametrize(
    ("driver", "kind", "half"), [("path", "bounce1", 0), ("path", "bounce1", 1), ("ao", "shadow1", 0)]
)
def test_directions_from_the_first_surface_are_evenly_spread(driver, kind, half):
    """A direction by the cosine has the height sqrt(1 - u1) and the angle u2."""
    rays = np.array(rays_of_half(floor_and_lamp(), driver, kind, half))
    x, y, _ = np.moveaxis(rays[..., 4:7], -1, 0)
    assert_evenly_spread(np.stack([x**2 + y**2, turns_of(x, y)], axis=-1))


def test_places_on_a_lamp_are_evenly_spread():
    """A place of a triangle has the weights r (1 - u2) and r u2 of its second and third corner, with r^2 = u1."""
    rays = np.array(rays_of_half(floor_and_lamp(), "path", "shadow1"))
    hits = rays[..., :3] * (1.0, 1.0, 0.0)  # shadow rays begin right above them, and end a little before the lamp
    ends = rays[..., :3] + rays[..., 4:7]
    places = hits + (ends - hits) * (LAMP[0, 2] / ends[..., 2:]) - LAMP[0].astype(np.float64)
    edges = (LAMP[1:] - LAMP[0]).astype(np.float64)
    weights = places[..., :2] @ np.linalg.inv(edges[:, :2])
    both = weights.sum(axis=-1)
    assert_evenly_spread(np.stack([both**2, weights[..., 1] / both], axis=-1))


def test_places_in_pixels_and_on_the_lens_are_evenly_spread():
    camera = replace(CAMERA, aperture=0.2, focus=3.0)
    arrays = pack_camera(camera, WIDTH, HEIGHT)
    rays = np.array(rays_of_half(floor_and_lamp(camera=camera), "path", "camera"))
    offsets, directions = rays[..., :3] - arrays.eye, rays[..., 4:7]
    aimed = offsets + directions * (3.0 / (directions @ arrays.forward))[..., None]
    across = np.stack([arrays.right / (arrays.right @ arrays.right), arrays.down / (arrays.down @ arrays.down)], axis=1)
    assert_evenly_spread((aimed / 3.0 @ across + 1.0) / 2.0 * (WIDTH, HEIGHT))
    discs = offsets @ np.linalg.pinv(arrays.lens)
    assert_evenly_spread((square_of_disc(*np.moveaxis(discs, -1, 0)) + 1.0) / 2.0)


def square_of_disc(x, y):
    """Where in the square -1..1 points of the unit disc are, by Shirley's and Chiu's map."""
    radius, is_flat = np.hypot(x, y), np.abs(x) > np.abs(y)
    long = np.where(is_flat, np.sign(x), np.sign(y)) * radius
    short = long * 4.0 / np.pi * np.arctan(np.where(is_flat, y / x, x / y))
    return np.where(is_flat[..., None], np.stack([long, short], axis=-1), np.stack([short, long], axis=-1))


def test_the_lobe_and_the_roulette_are_evenly_spread():
    """Half of the paths choose the mirror, which keeps half of the light, so that half of those go on: of each pixel
    exactly a quarter in a half of the passes. The Phong lobe is not followed by `whitted`."""
    floor = Material(kind="nff", diffuse=(0.0, 0.0, 0.0), specular=(0.5, 0.5, 0.5), exponent=100.0)
    going_on = np.concatenate(rays_of_half(floor_and_lamp(floor), "whitted", "bounce1"))
    assert len(going_on) == WIDTH * HEIGHT * POINTS // 4


def test_halves_take_turns_and_share_what_takes_turns():
    """Of two passes 2 k and 2 k + 1 each half has one, and of 2^k passes with the same remainder the same number."""
    halves = np.array([half_of(index) for index in range(4096)])
    assert halves[:8].tolist() == [0, 1, 1, 0, 1, 0, 0, 1]
    assert halves.tolist() == [bin(index).count("1") % 2 for index in range(4096)]
    assert np.all(halves.reshape(-1, 2).sum(axis=1) == 1)
    for stride in (2, 8, 64):
        assert np.all(halves.reshape(-1, stride).sum(axis=0) == 2048 // stride)
    assert half_of(2**32 - 1) == 0
    assert half_of(2**31) == 1
