"""This module lists the kinds of lights. A new one is a file with its `KIND`, and a row here."""

from typing import Any

from shaders.errors import UnknownLightError
from shaders.lights import distant, picture, point, sky, spot, triangle
from shaders.lights.arrays import Row, Sphere
from shaders.lights.kind import Extent, LightKind

MODULES = (point, triangle, spot, distant, sky, picture)

#: All kinds, in the order in which compiled loops compare the number of a light with theirs.
KINDS: tuple[LightKind, ...] = tuple(module.KIND for module in MODULES)


def numbers_of(extent: Extent) -> tuple[float, ...]:
    """Returns the numbers of the kinds that fill what `extent` says."""
    return tuple(kind.number for kind in KINDS if kind.extent is extent)


def leaving() -> tuple[LightKind, ...]:
    """Returns the kinds whose photons leave in vector loops, each by its `leave`."""
    return tuple(kind for kind in KINDS if kind.leave is not None)


def arriving() -> tuple[LightKind, ...]:
    """Returns the kinds whose light arrives in vector loops, each by its `arrive`."""
    return tuple(kind for kind in KINDS if kind.arrive is not None)


def meeting() -> tuple[LightKind, ...]:
    """Returns the kinds that rays meet which leave the scene, each by its `meet`."""
    return tuple(kind for kind in KINDS if kind.meet is not None)


def light_row(light: Any, sphere: Sphere) -> Row:
    """Returns the row of a light of the scene, by the name that it has for its `kind`.

    sphere: around the scene.

    Raises `UnknownLightError` where no kind has this name.
    """
    for kind in KINDS:
        if kind.name == light.kind:
            return kind.row(light, sphere)
    names = ", ".join(kind.name for kind in KINDS)
    raise UnknownLightError(f"unknown kind of light {light.kind!r}; registered: {names}")
