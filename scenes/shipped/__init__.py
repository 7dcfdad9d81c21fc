"""Scenes that come with the program, made by code. A scene is one file and one row here."""

from collections.abc import Callable
from dataclasses import dataclass

from scenes.model import Scene
from scenes.shipped import cornell


@dataclass(frozen=True)
class ShippedScene:
    """A row of the registry. summary: one line. make: builds the scene."""

    name: str
    summary: str
    make: Callable[[], Scene]


SHIPPED: tuple[ShippedScene, ...] = (
    ShippedScene("cornell", "Cornell box with an area light, a mirror sphere and a glass sphere", cornell.scene),
)
