"""This module holds the light `distant`: it comes from the same direction everywhere, as that of the sun does."""

from dataclasses import dataclass
from typing import Any, ClassVar

from scenes.document import BY_CODE, LightSource, LightView, Origin
from scenes.keys.place import Place
from scenes.keys.tables import irradiance
from scenes.keys.values import Key, Number
from scenes.lights.keys import DIRECTION, direction_of
from scenes.model import Color, Doubles
from scenes.motion.transforms import WORLD, Transform


@dataclass(frozen=True, kw_only=True)
class DistantLight:
    """Describes a light so far away that it comes from the same direction everywhere, as the sun does.

    direction: unit, along the light.
    irradiance: W/m^2 on a plane across it.
    angular_radius: of its disc, degrees below 90; 0 has none.
    """

    kind: ClassVar[str] = "distant"
    direction: tuple[float, float, float]
    irradiance: Color
    angular_radius: float = 0.0

    @property
    def strength(self) -> Color:
        """Returns the quantity that gives the light's brightness."""
        return self.irradiance

    @property
    def has_size(self) -> bool:
        """Returns whether a ray can hit the light by chance."""
        return self.angular_radius > 0.0


@dataclass(frozen=True, eq=False)
class DistantSource(LightSource):
    """Describes a distant light, as `DistantLight` does; its transform turns it.

    direction: of any length.
    """

    kind: ClassVar[str] = DistantLight.kind
    plural: ClassVar[str] = "distant lights"
    about: ClassVar[str] = "A light so far away that it comes from the same direction everywhere, as the sun."
    keys: ClassVar[tuple[Key, ...]] = (
        DIRECTION,
        Key(
            name="irradiance",
            kind=irradiance,
            about="Irradiance on a plane perpendicular to the light.",
            example="[900.0, 850.0, 750.0]",
            required=True,
        ),
        Key(
            name="angular_radius",
            kind=Number(0.0, 89.0),
            about="Angular radius of its disc, degrees: shadows get soft, and the disc is seen. The sun's is 0.27.",
            default=0.0,
            example="0.27",
        ),
    )
    direction: Doubles
    irradiance: Color
    angular_radius: float = 0.0
    transform: Transform = WORLD
    origin: Origin = BY_CODE

    @classmethod
    def read(cls, values: dict[str, Any], transform: Transform, place: Place) -> "DistantSource":
        """Makes a distant light of the values of its keys."""
        return cls(
            direction=direction_of(values, place),
            irradiance=values["irradiance"],
            angular_radius=values["angular_radius"],
            transform=transform,
            origin=Origin(place.path),
        )

    def written(self) -> dict[str, Any]:
        """Returns the values of its own keys."""
        names = ("direction", "irradiance", "angular_radius")
        return {name: getattr(self, name) for name in names}

    def light_at(self, view: LightView) -> DistantLight:
        """Returns the light at a time."""
        return DistantLight(
            direction=view.direction(self, self.direction),
            irradiance=self.irradiance,
            angular_radius=self.angular_radius,
        )
