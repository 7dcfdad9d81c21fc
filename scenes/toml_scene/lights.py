"""This module makes the lights of a scene file that are no objects, and its environment."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from scenes.document import DistantSource, EnvironmentSource, LightSource, Origin, PointSource, SpotSource
from scenes.environment_file import MAX_RADIANCE, READERS, read_environment
from scenes.model import Color, Doubles, Floats
from scenes.toml_scene.mesh_files import found
from scenes.toml_scene.place import Place
from scenes.toml_scene.placing import UP_TURNS, Frame, Hierarchy
from scenes.transforms import Transform, quaternion, rotation


def light_of(values: dict[str, Any], hierarchy: Hierarchy, place: Place) -> LightSource:
    """Makes a light by its kind."""
    transform = hierarchy.transform(values["parent"], place)
    return BUILDERS[values["kind"]](values, transform, place)


def point(values: dict[str, Any], transform: Transform, place: Place) -> PointSource:
    """Makes a point light."""
    return PointSource(
        position=np.array(values["position"]),
        strength=intensity(values, 4.0 * math.pi, place),
        transform=transform,
        origin=Origin(place.path),
        track=values["track"] or "",
        fades=values["fades"],
    )


def spot(values: dict[str, Any], transform: Transform, place: Place) -> SpotSource:
    """Makes a spot."""
    inner, outer = values["inner_angle"], values["outer_angle"]
    if inner > outer:
        raise place.inside("inner_angle").error(f"expected at most outer_angle, which is {outer:g}, got {inner:g}")
    mean_cosine = 0.5 * (math.cos(math.radians(inner)) + math.cos(math.radians(outer)))
    return SpotSource(
        position=np.array(values["position"]),
        direction=direction(values, place),
        intensity=intensity(values, 2.0 * math.pi * (1.0 - mean_cosine), place),
        inner_angle=inner,
        outer_angle=outer,
        transform=transform,
        origin=Origin(place.path),
        track=values["track"] or "",
    )


def distant(values: dict[str, Any], transform: Transform, place: Place) -> DistantSource:
    """Makes a distant light."""
    return DistantSource(
        direction=direction(values, place),
        irradiance=values["irradiance"],
        angular_radius=values["angular_radius"],
        transform=transform,
        origin=Origin(place.path),
    )


def intensity(values: dict[str, Any], solid_angle: float, place: Place) -> Color:
    """Returns the intensity that the file gives, W/sr, or else the power over a solid angle."""
    if (values["intensity"] is None) == (values["power"] is None):
        count = "neither" if values["power"] is None else "both"
        raise place.error(f"expected one of intensity and power, got {count}")
    strength: Color = values["intensity"] or tuple(watts / solid_angle for watts in values["power"])
    return strength


def direction(values: dict[str, Any], place: Place) -> Doubles:
    """Returns a direction (3,) of any length but 0."""
    if not any(values["direction"]):
        raise place.inside("direction").error("expected a direction of some length, got 0, 0, 0")
    return np.array(values["direction"])


#: Lights by their kinds.
BUILDERS: dict[str, Callable[[dict[str, Any], Transform, Place], LightSource]] = {
    "point": point,
    "spot": spot,
    "distant": distant,
}


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
    if values["image"] is not None:
        return read_environment(found(values["image"], tuple(READERS), place.inside("image")), values["scale"])
    color = np.array([[np.multiply(values["color"], values["scale"])]])
    if color.max() > MAX_RADIANCE:
        raise place.error(f"expected radiance of at most {MAX_RADIANCE:g}, got {color.max():g}")
    return color.astype(np.float32)
