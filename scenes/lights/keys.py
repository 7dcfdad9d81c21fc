"""This module holds the keys that several kinds of lights have, and reads what they say."""

from typing import Any

import numpy as np

from scenes.keys.place import Place
from scenes.keys.tables import direction, point
from scenes.keys.values import Key, Text
from scenes.model import Color, Doubles

POSITION = Key(
    name="position",
    kind=point,
    about="Position of the light.",
    default=[0, 0, 0],
    example="[0, 2.2, 0]",
)
DIRECTION = Key(
    name="direction",
    kind=direction,
    about="Direction of the light, away from where it comes from; of any length.",
    example="[0, -1, 0]",
    required=True,
)
TRACK = Key(
    name="track",
    kind=Text(),
    about="Name of a track whose `translate` is added to `position`. The rest of the track does nothing: for "
    "that let a group be moved and the light stand in it.",
    fallback="it stands still",
    example='"fly"',
)


def intensity_of(values: dict[str, Any], solid_angle: float, place: Place) -> Color:
    """Returns the intensity that the file gives, W/sr, or else the power over a solid angle."""
    if (values["intensity"] is None) == (values["power"] is None):
        count = "neither" if values["power"] is None else "both"
        raise place.error(f"expected one of intensity and power, got {count}")
    strength: Color = values["intensity"] or tuple(watts / solid_angle for watts in values["power"])
    return strength


def direction_of(values: dict[str, Any], place: Place) -> Doubles:
    """Returns a direction (3,) of any length but 0."""
    if not any(values["direction"]):
        raise place.inside("direction").error("expected a direction of some length, got 0, 0, 0")
    return np.array(values["direction"])
