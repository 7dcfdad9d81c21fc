"""This module holds the light `spot`: without size, it shines into a cone and fades to its edge."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from scenes.document import BY_CODE, LightSource, LightView, Origin
from scenes.keys.place import Place
from scenes.keys.tables import intensity
from scenes.keys.values import Key, Number
from scenes.lights.keys import DIRECTION, POSITION, TRACK, direction_of, intensity_of
from scenes.model import Color, Doubles
from scenes.motion.transforms import WORLD, Transform

#: The narrowest cone of a spot, degrees from its axis.
LEAST_CONE = 0.01


@dataclass(frozen=True, kw_only=True)
class SpotLight:
    """Describes a light without size that shines into a cone.

    direction: unit, along its axis.
    intensity: W/sr along the axis.

    inner_angle, outer_angle: degrees from the axis, 0 to 180. Up to the one the intensity is that along the axis, at
        the other it ends; between them it is the smooth step 3 t^2 - 2 t^3 of the cosine.
    """

    kind: ClassVar[str] = "spot"
    has_size: ClassVar[bool] = False
    position: tuple[float, float, float]
    direction: tuple[float, float, float]
    intensity: Color
    inner_angle: float
    outer_angle: float

    @property
    def strength(self) -> Color:
        """Returns the quantity that gives the light's brightness."""
        return self.intensity


@dataclass(frozen=True, eq=False)
class SpotSource(LightSource):
    """Describes a spot in its place, as `SpotLight` does.

    direction: of any length.
    track: as of a point light.
    """

    kind: ClassVar[str] = SpotLight.kind
    plural: ClassVar[str] = "spots"
    about: ClassVar[str] = (
        "A light without size that shines into a cone: evenly up to an angle from its axis, fading from there to "
        "another one as 3t² - 2t³ does, where t goes from 1 to 0 with the cosine."
    )
    keys: ClassVar[tuple[Key, ...]] = (
        POSITION,
        DIRECTION,
        Key(
            name="intensity",
            kind=intensity,
            about="Intensity along the axis, W/sr. This or `power` is needed.",
            fallback="`power` / Ω",
            example="[200.0, 180.0, 150.0]",
        ),
        Key(
            name="power",
            kind=intensity,
            about="Power that it sends out in all, W.",
            fallback="Ω `intensity`, Ω = π (2 - cos `inner_angle` - cos `outer_angle`)",
            example="60.0",
        ),
        Key(
            name="inner_angle",
            kind=Number(0.0, 180.0),
            about="Angle from the axis to where the light begins to fade, degrees.",
            default=20.0,
            example="15.0",
        ),
        Key(
            name="outer_angle",
            kind=Number(LEAST_CONE, 180.0),
            about="Angle from the axis to where the light ends, degrees; not less than `inner_angle`.",
            default=30.0,
            example="25.0",
        ),
        TRACK,
    )
    position: Doubles
    direction: Doubles
    intensity: Color
    inner_angle: float
    outer_angle: float
    transform: Transform = WORLD
    origin: Origin = BY_CODE
    track: str = ""

    @classmethod
    def read(cls, values: dict[str, Any], transform: Transform, place: Place) -> "SpotSource":
        """Makes a spot of the values of its keys."""
        inner, outer = values["inner_angle"], values["outer_angle"]
        if inner > outer:
            raise place.inside("inner_angle").error(f"expected at most outer_angle, which is {outer:g}, got {inner:g}")
        mean_cosine = 0.5 * (math.cos(math.radians(inner)) + math.cos(math.radians(outer)))
        return cls(
            position=np.array(values["position"]),
            direction=direction_of(values, place),
            intensity=intensity_of(values, 2.0 * math.pi * (1.0 - mean_cosine), place),
            inner_angle=inner,
            outer_angle=outer,
            transform=transform,
            origin=Origin(place.path),
            track=values["track"] or "",
        )

    def written(self) -> dict[str, Any]:
        """Returns the values of its own keys."""
        names = ("position", "direction", "intensity", "inner_angle", "outer_angle")
        return {name: getattr(self, name) for name in names}

    def light_at(self, view: LightView) -> SpotLight:
        """Returns the light at a time."""
        direction = view.direction(self, self.direction)
        return SpotLight(
            position=view.position(self, self.position),
            direction=direction,
            intensity=self.intensity,
            inner_angle=self.inner_angle,
            outer_angle=self.outer_angle,
        )
