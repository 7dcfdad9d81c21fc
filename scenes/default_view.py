"""This module makes a camera and a light for files that have none."""

import math

import numpy as np

from scenes.geometry import unit
from scenes.lights import PointLight
from scenes.model import Camera, Color, Doubles, Floats

VERTICAL_FOV = 40.0
#: From the middle of the scene to the eye: three quarters from the front, somewhat above.
EYE_DIRECTION = (0.6, 0.45, 1.0)
SKY: Color = (0.35, 0.45, 0.6)


def triple(vector: Doubles) -> tuple[float, float, float]:
    """Returns a (3,) array as a tuple of floats."""
    x, y, z = vector.tolist()
    return (x, y, z)


def bounding_sphere(positions: Floats) -> tuple[Doubles, float]:
    """Returns the centre (3,) of the bounding box of (n, 3, 3) triangles and half its diagonal, never 0."""
    corners = positions.reshape(-1, 3).astype(np.float64)
    lower, upper = corners.min(axis=0), corners.max(axis=0)
    return 0.5 * (lower + upper), max(0.5 * float(np.linalg.norm(upper - lower)), 1e-6)


def look_at(eye: Doubles, target: Doubles, up: Doubles) -> tuple[Doubles, Doubles]:
    """Returns the unit forward and the unit up that is perpendicular to it; both are zeros where the arguments leave
    one undefined."""
    forward = unit(target - eye)
    upward = unit(up)
    sideways = np.cross(forward, upward)
    if np.linalg.norm(sideways) < 1e-9:
        return forward, np.zeros(3)
    return forward, unit(np.cross(sideways, forward))


def default_camera(positions: Floats) -> Camera:
    """Returns a camera that sees all of the triangles, y upward, from a three-quarter view."""
    center, radius = bounding_sphere(positions)
    eye = center + unit(np.array(EYE_DIRECTION)) * radius / math.sin(math.radians(VERTICAL_FOV / 2.0))
    forward, up = look_at(eye, center, np.array([0.0, 1.0, 0.0]))
    return Camera(eye=triple(eye), forward=triple(forward), up=triple(up), vertical_fov=VERTICAL_FOV)


def default_light(positions: Floats, camera: Camera) -> PointLight:
    """Returns a white lamp above and to the left of the eye.

    Facing it in the middle of the scene, at distance d, a surface of reflectance kd has radiance kd: I = pi d^2.
    """
    center, radius = bounding_sphere(positions)
    left = np.cross(camera.up, camera.forward)
    place = np.array(camera.eye) + radius * (np.array(camera.up) + 0.7 * left)
    intensity = math.pi * float(np.sum((place - center) ** 2))
    return PointLight(position=triple(place), intensity=(intensity, intensity, intensity))
