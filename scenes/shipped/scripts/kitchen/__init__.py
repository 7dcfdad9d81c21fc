"""This scene is a kitchen in daylight with a laid table, dishes of glass, porcelain and metal, and a toy car that
drives around.

x runs to the right along the counter, y upward and z from the counter toward the door. See `kitchen.room` for sizes.
"""

import numpy as np

from scenes.document import Document, Scene
from scenes.lights import PointSource
from scenes.model import AnimationRange
from scenes.playing.evaluator import scene_of
from scenes.shipped.modelling import viewpoint
from scenes.shipped.scripts.kitchen import car, counter, furniture, room, still_life
from scenes.shipped.scripts.kitchen.materials import MATERIALS
from scenes.shipped.scripts.kitchen.textures import PAINTERS

#: Eye, point looked at, and vertical field of view in degrees.
VIEWS = {
    "door": ((3.40, 1.55, 4.95), (2.03, 0.86, 2.0), 50.0),
    "table": ((2.85, 1.25, 3.70), (1.68, 0.82, 2.66), 38.0),
    "car": ((2.78, 0.46, 4.15), (3.16, 0.22, 1.9), 42.0),
}

#: The lamp of the hood and the one below the wall cupboards, W/sr.
POINT_SOURCES = (
    PointSource(np.array([3.14, 1.56, 0.30]), (0.9, 0.72, 0.48)),
    PointSource(np.array([0.58, 1.41, 0.22]), (0.55, 0.44, 0.30)),
)


def scene() -> Scene:
    """Makes the scene: 8 seconds in 200 frames, in which the car drives one round."""
    document = Document(
        parts=[*room.parts(), *counter.parts(), *furniture.parts(), *still_life.parts(), *car.parts()],
        lights=list(POINT_SOURCES),
        materials=list(MATERIALS),
        textures=[paint() for paint in PAINTERS.values()],
        tracks=car.tracks(),
        cameras={name: viewpoint(*view) for name, view in VIEWS.items()},
        animation=AnimationRange(start=0.0, end=car.DURATION, frames=200),
    )
    return scene_of("kitchen", document, "shipped")
