"""Triangles and sets of rays of a scene file, for the benchmarks: `python tests/scene_rays.py SCENE OUT.npz`.

Writes `triangles` (t, 3, 3); `primary` (n, 8), 1024 x 1024 pixels with 2 jittered samples each; and `photon` (n, 8),
from the scene's point lights to all sides in random order.
"""

import sys

import numpy as np

import scenes
from scenes.model import Camera, PointLight
from tracecore.rays import Floats, make_rays

WIDTH, HEIGHT, SAMPLES = 1024, 1024, 2
PHOTONS = 1 << 21


def camera_rays(camera: Camera, random: np.random.Generator) -> Floats:
    """Row by row through the picture."""
    pixel = np.arange(WIDTH * HEIGHT * SAMPLES) // SAMPLES
    jitter = random.random((2, len(pixel)))
    half = np.tan(np.radians(camera.vertical_fov / 2))
    x = ((pixel % WIDTH + jitter[0]) / WIDTH * 2 - 1) * half * WIDTH / HEIGHT
    y = (1 - (pixel // WIDTH + jitter[1]) / HEIGHT * 2) * half
    forward, up = np.array(camera.forward), np.array(camera.up)
    direction = forward + x[:, None] * np.cross(forward, up) + y[:, None] * up
    return make_rays(np.broadcast_to(camera.eye, direction.shape), direction)


def photon_rays(lights: tuple[PointLight, ...], random: np.random.Generator) -> Floats:
    """Uniform over the sphere, from a light chosen at random."""
    positions = np.array([light.position for light in lights])
    direction = random.normal(size=(PHOTONS, 3))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    return make_rays(positions[random.integers(len(lights), size=PHOTONS)], direction)


def main(scene: str, out: str) -> None:
    """Write the file."""
    snapshot = scenes.load(scene).at_frame(0)
    random = np.random.default_rng(1)
    np.savez(
        out,
        triangles=snapshot.positions,
        primary=camera_rays(snapshot.camera, random),
        photon=photon_rays(snapshot.lights, random),
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
