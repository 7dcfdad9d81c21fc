"""This module holds the light `point`: without size, the same in all directions."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from scenes.document import BY_CODE, LightSource, LightView, Origin
from scenes.keys.place import Place
from scenes.keys.tables import intensity
from scenes.keys.values import Flag, Key
from scenes.lights.keys import POSITION, TRACK, intensity_of
from scenes.model import Color, Doubles
from scenes.motion.transforms import WORLD, Transform


@dataclass(frozen=True, kw_only=True)
class PointLight:
    """Describes a light without size. intensity: W/sr per channel, the same in all directions."""

    kind: ClassVar[str] = "point"
    has_size: ClassVar[bool] = False
    position: tuple[float, float, float]
    intensity: Color

    @property
    def strength(self) -> Color:
        """Returns the quantity that gives the light's brightness."""
        return self.intensity


@dataclass(frozen=True, eq=False)
class PointSource(LightSource):
    """Describes a point light in its place.

    track: the name of the track that moves it, or "".
    strength: W/sr if it fades with distance as light does, else as files give it whose lights have no falloff.
    """

    kind: ClassVar[str] = PointLight.kind
    plural: ClassVar[str] = "point lights"
    about: ClassVar[str] = "A light without size, the same in all directions."
    keys: ClassVar[tuple[Key, ...]] = (
        POSITION,
        Key(
            name="intensity",
            kind=intensity,
            about="Intensity, W/sr. This or `power` is needed.",
            fallback="`power` / 4π",
            example="[20.0, 18.0, 15.0]",
        ),
        Key(
            name="power",
            kind=intensity,
            about="Power that it sends out in all, W.",
            fallback="4π `intensity`",
            example="60.0",
        ),
        Key(
            name="fades",
            kind=Flag(),
            about="Whether it gets weaker with distance, as light does. If not, `intensity` is the radiance that a "
            "white surface facing it has at a typical distance from it, as in AFF files.",
            default=True,
            example="false",
        ),
        TRACK,
    )
    position: Doubles
    strength: Color
    transform: Transform = WORLD
    origin: Origin = BY_CODE
    track: str = ""
    fades: bool = True

    @classmethod
    def read(cls, values: dict[str, Any], transform: Transform, place: Place) -> "PointSource":
        """Makes a point light of the values of its keys."""
        return cls(
            position=np.array(values["position"]),
            strength=intensity_of(values, 4.0 * math.pi, place),
            transform=transform,
            origin=Origin(place.path),
            track=values["track"] or "",
            fades=values["fades"],
        )

    def written(self) -> dict[str, Any]:
        """Returns the values of its own keys."""
        return {"position": self.position, "intensity": self.strength, "fades": self.fades}

    def light_at(self, view: LightView) -> PointLight:
        """Returns the light at a time. One of strength c that does not fade has I = pi c d^2, where d is its
        distance."""
        position = view.position(self, self.position)
        unit_of_strength = 1.0 if self.fades else math.pi * view.distance(self) ** 2
        red, green, blue = (c * unit_of_strength for c in self.strength)
        return PointLight(position=position, intensity=(red, green, blue))

    def steady_position(self, view: LightView) -> tuple[float, float, float] | None:
        """Returns where the light is at a time, if it does not fade."""
        return None if self.fades else view.position(self, self.position)
