"""This module places the cameras of shipped scenes."""

import numpy as np

from scenes.model import Camera
from scenes.views.viewing import look_at, triple

Point = tuple[float, float, float]


def viewpoint(eye: Point, target: Point, vertical_fov: float, near: float = 0.0) -> Camera:
    """Returns an upright camera at one point that looks at another.

    vertical_fov: degrees.
    near: metres, as of `Camera`.
    """
    forward, up = look_at(np.array(eye), np.array(target), np.array([0.0, 1.0, 0.0]))
    return Camera(eye=eye, forward=triple(forward), up=triple(up), vertical_fov=vertical_fov, near=near)
