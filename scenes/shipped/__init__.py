"""This package holds the scenes that come with the program: scene files, and code for those that are of any size. A
scene is one file, with what it refers to beside it, and one row here."""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path

from scenes.document import Scene
from scenes.errors import UnknownSceneError
from scenes.files.source_file import scene_opened

#: Where the files are.
FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Sizes:
    """Says how large a scene may be made, in triangles."""

    default: int
    least: int
    most: int


@dataclass(frozen=True)
class ShippedScene:
    """This is a row of the registry of shipped scenes.

    name: of the scene, and of its file here.
    summary: one line.
    sizes: of a scene that can be made at any size, NAME:SIZE, by the module of its name; or None.
    """

    name: str
    summary: str
    sizes: Sizes | None = None

    @property
    def path(self) -> Path:
        """Returns where the file of the scene is."""
        return FOLDER / f"{self.name}.toml"

    def built(self, size: str | None) -> Scene:
        """Reads the scene from its file, or makes it at a size such as 3000, 250k or 2M, or None for the default.

        Raises UnknownSceneError.
        """
        sizes = self.sizes
        if sizes is None:
            if size is not None:
                raise UnknownSceneError(f"scene {self.name!r} has one size; leave out ':{size}'")
            with scene_opened(self.path) as files:
                read: Scene = import_module("scenes.toml_scene").read(self.path)
            return replace(read, source="shipped", files=tuple(files))
        make: Callable[[int], Scene] = import_module(f"scenes.shipped.{self.name}").scene
        triangles = sizes.default if size is None else count_of(size)
        if triangles is None or not sizes.least <= triangles <= sizes.most:
            raise UnknownSceneError(
                f"expected '{self.name}' or '{self.name}:SIZE' with {sizes.least} to {sizes.most} triangles, such as "
                f"3000, 250k or 2M, got '{self.name}:{size}'"
            )
        return make(triangles)


def count_of(text: str) -> int | None:
    """Reads a whole number that may end in k or M; returns None for anything else."""
    found = re.fullmatch(r"([0-9]{1,12})([kM]?)", text)
    return int(found[1]) * {"": 1, "k": 10**3, "M": 10**6}[found[2]] if found else None


#: Of scenes to try tracers with.
OF_ANY_SIZE = Sizes(default=1_000_000, least=1_000, most=20_000_000)

SHIPPED: tuple[ShippedScene, ...] = (
    ShippedScene("cornell", "Cornell box with an area light, a mirror sphere and a glass sphere"),
    ShippedScene("kitchen", "a kitchen by daylight and lamps, with glass and a toy car that drives"),
    ShippedScene("robots", "ten robots that walk through a town: most triangles move"),
    ShippedScene("street", "a drive through a city of boxes where robots walk, lit by one lamp through a pane"),
    ShippedScene(
        "museum",
        "a sculpture of triangles that fly apart and together, between polished pillars",
        Sizes(default=60_000, least=10_000, most=300_000),
    ),
    ShippedScene("outdoor", "a garden terrace with glass and mirrors under sun and sky"),
    ShippedScene("vases", "vases of metal, plastic and glass, polished and rough, by a window"),
    ShippedScene("caustic", "caustics of a golden ring, a glass ring and a glass ball on a table"),
    ShippedScene("chapel", "light through stained glass into haze, which a glass ball gathers in the air"),
    ShippedScene(
        "stress",
        "dandelions on a plain, of any size, to try tracers",
        OF_ANY_SIZE,
    ),
    ShippedScene(
        "hair",
        "balls of long hair in a hall, of any size, to try tracers",
        OF_ANY_SIZE,
    ),
    ShippedScene(
        "forest",
        "a forest of firs that share a few shapes, of any size, to try tracers",
        OF_ANY_SIZE,
    ),
    ShippedScene(
        "city",
        "a city of leaning towers of thin slanted bars, of any size, to try tracers",
        OF_ANY_SIZE,
    ),
)
