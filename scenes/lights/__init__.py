"""This package holds the lights that are no surfaces: a file for each kind, with what it is at one time, what it is
before a time is chosen, and its keys in a scene file.

A new kind is a file with a `LightSource`, and a row in `ROWS`; what loops do with it is in `shaders.lights`.
"""

from scenes.document import LightSource
from scenes.lights.distant import DistantLight, DistantSource
from scenes.lights.point import PointLight, PointSource
from scenes.lights.spot import SpotLight, SpotSource

__all__ = [
    "SOURCES",
    "DistantLight",
    "DistantSource",
    "PointLight",
    "PointSource",
    "SpotLight",
    "SpotSource",
]

ROWS: tuple[type[LightSource], ...] = (PointSource, SpotSource, DistantSource)

#: All kinds, by their names.
SOURCES = {source.kind: source for source in ROWS}
