"""The driver `path`."""

from renderer.camera_paths.task import FOLLOW
from renderer.drivers.driver import Caustics
from renderer.drivers.eye import EyeDriver


class PathDriver(EyeDriver):
    """Traces paths, with light sampled at every hit and multiple importance sampling: the reference for other drivers.

    Light that reaches a diffuse surface from a point light by way of glass or a mirror is beyond it.
    """

    name = "path"
    summary = "path tracing: slow, and right; the judge of the others; blind to caustics of lamps without size"
    diffuse = FOLLOW
    caustics = Caustics.OF_LIGHTS_WITH_SIZE
