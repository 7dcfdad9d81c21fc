"""Rays of a camera: through a pinhole or a thin lens, in perspective or parallel."""

import math

import numpy as np

from renderer.scene.packed_scene import CameraArrays
from shaders.compilation import compiled as inlined
from shaders.vector import Vec3, add, normalize, scale, subtract


@inlined
def camera_ray(camera: CameraArrays, position: tuple[float, float], lens: tuple[float, float]) -> tuple[Vec3, Vec3]:
    """Origin and unit direction. position: in the picture, x and y in -1..1. lens: uniform, in (0, 1).

    Kolb, Mitchell, Hanrahan: A Realistic Camera Model for Computer Graphics, 1995: of a thin lens, all rays to a place
    of the picture meet where its middle ray meets the plane in focus.
    """
    x, y = position
    eye = (camera.eye[0], camera.eye[1], camera.eye[2])
    direction = (camera.forward[0], camera.forward[1], camera.forward[2])
    shift = (
        x * camera.right[0] + y * camera.down[0],
        x * camera.right[1] + y * camera.down[1],
        x * camera.right[2] + y * camera.down[2],
    )
    if camera.is_parallel:
        eye = add(eye, shift)
    else:
        direction = (
            camera.forward[0] + x * camera.right[0] + y * camera.down[0],
            camera.forward[1] + x * camera.right[1] + y * camera.down[1],
            camera.forward[2] + x * camera.right[2] + y * camera.down[2],
        )
    if camera.focus > 0.0:
        offset = lens_offset(camera, lens)
        direction = subtract(scale(direction, camera.focus), offset)
        eye = add(eye, offset)
    return eye, normalize(direction)


@inlined
def lens_offset(camera: CameraArrays, lens: tuple[float, float]) -> Vec3:
    """Returns the offset from the lens' middle to a point of it, uniform over its area."""
    a, b = concentric_disc(lens[0], lens[1])
    across, down = camera.lens[0], camera.lens[1]
    return (a * across[0] + b * down[0], a * across[1] + b * down[1], a * across[2] + b * down[2])


@inlined
def concentric_disc(u1: float, u2: float) -> tuple[float, float]:
    """Returns a point of the unit disc, uniform over its area; neighbours stay neighbours."""
    a, b = 2.0 * u1 - 1.0, 2.0 * u2 - 1.0
    if abs(a) > abs(b):
        radius, angle = a, 0.25 * math.pi * (b / a)
    else:
        radius, angle = b, 0.5 * math.pi - 0.25 * math.pi * (a / b if b != 0.0 else 0.0)
    return radius * np.cos(angle), radius * np.sin(angle)
