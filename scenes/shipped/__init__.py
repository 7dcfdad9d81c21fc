"""This package makes by code the scenes that come with the program. A scene is one file and one row here."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from scenes.errors import UnknownSceneError
from scenes.scene import Scene
from scenes.shipped import caustic, cornell, kitchen, museum, outdoor, robots, stress, vases


@dataclass(frozen=True)
class Sizes:
    """Says how large a scene may be made, in triangles."""

    default: int
    least: int
    most: int


@dataclass(frozen=True)
class ShippedScene:
    """This is a row of the registry of shipped scenes.

    summary: one line.
    sizes: of a scene that can be made at any size, NAME:SIZE, or None.

    make: builds the scene; of one with sizes, from the number of triangles.
    """

    name: str
    summary: str
    make: Callable[..., Scene]
    sizes: Sizes | None = None

    def built(self, size: str) -> Scene:
        """Makes the scene at a size such as 3000, 250k or 2M; an empty text stands for the default. Raises
        UnknownSceneError."""
        sizes = self.sizes
        if sizes is None:
            if size:
                raise UnknownSceneError(f"scene {self.name!r} has one size; leave out ':{size}'")
            return self.make()
        triangles = count_of(size) if size else sizes.default
        if triangles is None or not sizes.least <= triangles <= sizes.most:
            raise UnknownSceneError(
                f"expected '{self.name}:SIZE' with {sizes.least} to {sizes.most} triangles, such as 3000, 250k or 2M, "
                f"got {size!r}"
            )
        return self.make(triangles)


def count_of(text: str) -> int | None:
    """Reads a whole number that may end in k or M; returns None for anything else."""
    found = re.fullmatch(r"([0-9]{1,12})([kM]?)", text)
    return int(found[1]) * {"": 1, "k": 10**3, "M": 10**6}[found[2]] if found else None


SHIPPED: tuple[ShippedScene, ...] = (
    ShippedScene("cornell", "Cornell box with an area light, a mirror sphere and a glass sphere", cornell.scene),
    ShippedScene("kitchen", "a kitchen by daylight and lamps, with glass and a toy car that drives", kitchen.scene),
    ShippedScene("robots", "ten robots that walk through a town: most triangles move", robots.scene),
    ShippedScene(
        "museum",
        "a sculpture of triangles that fly apart and together, between polished pillars",
        museum.scene,
        Sizes(default=museum.DEFAULT_TRIANGLES, least=10_000, most=300_000),
    ),
    ShippedScene("outdoor", "a garden terrace with glass and mirrors under sun and sky", outdoor.scene),
    ShippedScene("vases", "vases of metal, plastic and glass, polished and rough, by a window", vases.scene),
    ShippedScene("caustic", "caustics of a golden ring, a glass ring and a glass ball on a table", caustic.scene),
    ShippedScene(
        "stress",
        "dandelions on a plain, of any size, to try tracers",
        stress.scene,
        Sizes(default=1_000_000, least=1_000, most=20_000_000),
    ),
)
