"""The driver `whitted`."""

from renderer.camera_paths.task import NOTHING
from renderer.drivers.driver import Caustics
from renderer.drivers.eye import EyeDriver
from tracecore.kernels.choice import RayClass


class WhittedDriver(EyeDriver):
    """Shows direct light by shadow rays, mirrors and glass; there is no light between surfaces.

    Whitted: An Improved Illumination Model for Shaded Display, 1980, with one ray at random where a mirror and glass
    would be two.
    """

    name = "whitted"
    summary = "direct light, mirrors and glass alone"
    diffuse = NOTHING
    caustics = Caustics.NONE
    ray_class = RayClass.COHERENT
