"""This module makes the lights of a scene file that are no objects, and its environment."""

from typing import Any

import numpy as np

from scenes.document import EnvironmentSource, LightSource, Origin
from scenes.keys.place import Place
from scenes.lights import SOURCES
from scenes.model import Floats
from scenes.toml_scene.mesh_files import found
from scenes.toml_scene.placing import UP_TURNS, Frame, Hierarchy
from scenes.transforms import quaternion, rotation


def light_of(values: dict[str, Any], hierarchy: Hierarchy, place: Place) -> LightSource:
    """Makes a light by its kind."""
    transform = hierarchy.transform(values["parent"], place)
    return SOURCES[values["kind"]].read(values, transform, place)


def environment_of(values: dict[str, Any], frame: Frame, hierarchy: Hierarchy, place: Place) -> EnvironmentSource:
    """Makes the environment, whose image has the same axis up as the file."""
    if (values["image"] is None) == (values["color"] is None):
        count = "neither" if values["image"] is None else "both"
        raise place.error(f"expected one of image and color, got {count}")
    transform = hierarchy.transform(values["parent"], place)
    turn = rotation(UP_TURNS[frame.up]).T @ rotation(quaternion(np.array([0.0, 1.0, 0.0]), values["degrees"]))
    if not np.array_equal(turn, np.eye(4)):
        transform = transform.inner(matrix=turn)
    return EnvironmentSource(radiance(values, place), transform, Origin(place.path))


def radiance(values: dict[str, Any], place: Place) -> Floats:
    """Returns radiance: (height, width, 3) of an image, or (1, 1, 3) of a colour."""
    from scenes.environment_file import MAX_RADIANCE, READERS, read_environment  # not where there is no environment

    if values["image"] is not None:
        return read_environment(found(values["image"], tuple(READERS), place.inside("image")), values["scale"])
    color = np.array([[np.multiply(values["color"], values["scale"])]])
    if color.max() > MAX_RADIANCE:
        raise place.error(f"expected radiance of at most {MAX_RADIANCE:g}, got {color.max():g}")
    return color.astype(np.float32)
