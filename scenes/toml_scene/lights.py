"""This module makes the lights of a scene file that are no objects, and its environment."""

from typing import Any

import numpy as np

from scenes.document import EnvironmentSource, LightSource, Origin
from scenes.keys.place import Place
from scenes.lights import SOURCES
from scenes.meshes.geometry import unit
from scenes.model import Floats
from scenes.motion.transforms import quaternion, rotation
from scenes.pictures.gradient_sky import GradientSky
from scenes.toml_scene.mesh_files import found
from scenes.toml_scene.placing import UP_TURNS, AxisFrame, GroupTree


def light_of(values: dict[str, Any], hierarchy: GroupTree, place: Place) -> LightSource:
    """Makes a light by its kind."""
    transform = hierarchy.transform(values["parent"], place)
    return SOURCES[values["kind"]].read(values, transform, place)


def environment_of(values: dict[str, Any], frame: AxisFrame, hierarchy: GroupTree, place: Place) -> EnvironmentSource:
    """Makes the environment, whose image has the same axis up as the file."""
    given = [name for name in ("image", "color", "sky") if values[name] is not None]
    if len(given) != 1:
        raise place.error(f"expected one of image, color and sky, got {' and '.join(given) or 'none'}")
    transform = hierarchy.transform(values["parent"], place)
    turn = rotation(UP_TURNS[frame.up]).T @ rotation(quaternion(np.array([0.0, 1.0, 0.0]), values["degrees"]))
    if not np.array_equal(turn, np.eye(4)):
        transform = transform.inner(matrix=turn)
    return EnvironmentSource(radiance(values, frame, place), transform, Origin(place.path))


def radiance(values: dict[str, Any], frame: AxisFrame, place: Place) -> Floats:
    """Returns radiance: (height, width, 3) of an image or a sky, or (1, 1, 3) of a colour."""
    from scenes.pictures.environment_file import (  # not where there is no environment
        MAX_RADIANCE,
        READERS,
        read_environment,
    )

    if values["image"] is not None:
        return read_environment(found(values["image"], tuple(READERS), place.inside("image")), values["scale"])
    own = [[values["color"]]] if values["sky"] is None else sky_of(values["sky"], frame, place.inside("sky"))
    scaled = np.multiply(own, values["scale"])
    if scaled.max() > MAX_RADIANCE:
        raise place.error(f"expected radiance of at most {MAX_RADIANCE:g}, got {scaled.max():g}")
    return scaled.astype(np.float32)


def sky_of(values: dict[str, Any], frame: AxisFrame, place: Place) -> Floats:
    """Returns the radiance (height, width, 3) of a sky, in the frame of an environment."""
    sun = np.round(rotation(UP_TURNS[frame.up])[:3, :3]) @ values["sun"]
    if not sun.any():
        raise place.inside("sun").error("expected a direction of some length, got 0, 0, 0")
    return GradientSky(**{**values, "sun": unit(sun)}).radiance()
