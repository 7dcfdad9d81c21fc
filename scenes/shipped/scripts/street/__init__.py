"""This scene is a drive through a city of boxes in which robots walk, lit by one lamp 500 m above it, through a pane.

Its few triangles are large, and most of what its lamp sends out misses them. The idea of such a test is of Lext,
Assarsson, Möller: A Benchmark for Animated Ray Tracing (2001); city, walkers and ways are our own.
"""

from dataclasses import fields

import numpy as np

from scenes.document import Document, Scene
from scenes.lights.point import PointSource
from scenes.meshes.shapes import box
from scenes.model import AnimationRange, Mesh
from scenes.motion.tracks import Track
from scenes.playing.evaluator import scene_of
from scenes.shipped.modelling import viewpoint
from scenes.shipped.scripts.robots import let_walk
from scenes.shipped.scripts.robots.gait import UPWARD, WalkCycle, followed, moves, turns
from scenes.shipped.scripts.robots.walker import Body
from scenes.shipped.scripts.street import city
from scenes.shipped.scripts.street.facades import textures

#: 25 frames a second.
ANIMATION = AnimationRange(start=0.0, end=10.0, frames=251)

#: The lamp hangs above a crossing; its intensity, W/sr, is such that a white surface there has a radiance of 2.
LAMP = np.array([128.0, 500.0, 128.0])
INTENSITY = (3.6e6, 3.5e6, 3.3e6)

#: Corners (x, z) of the camera's way, its height, metres that it drives before and in the animation, and metres by
#: which it looks ahead and back to know where it goes.
DRIVE = ((-61.5, -14.0), (-61.5, -50.0), (-61.5, -66.5), (-78.0, -66.5), (-112.0, -66.5))
EYE_HEIGHT, DRIVEN, LENGTH, LOOK = 1.9, 8.0, 56.0, 3.0

#: Scale, cadence in strides per second, seconds walked before, and corners (x, z) of the way of each walker.
WAYS: tuple[tuple[float, float, float, tuple[tuple[float, float], ...]], ...] = (
    (1.60, 0.68, 0.3, ((-66.2, -37.0), (-66.2, -10.0))),
    (1.20, 0.84, 0.6, ((-65.2, -53.0), (-65.2, -80.0))),
    (1.00, 0.75, 0.2, ((-59.8, -71.4), (-75.0, -71.4))),
    (1.45, 0.74, 0.5, ((-106.0, -60.4), (-85.0, -60.4))),
    (1.05, 0.92, 0.1, ((-78.0, -64.2), (-100.0, -64.2))),
)

CAMERAS = {
    "drive": viewpoint((-61.5, EYE_HEIGHT, -22.0), (-61.5, EYE_HEIGHT, -66.0), 52.0),
    "roofs": viewpoint((-60.0, 46.0, 12.0), (-68.0, 0.0, -60.0), 48.0),
}


def around(mesh: Mesh) -> Mesh:
    """Returns the box around a mesh, of its material."""
    return box(mesh.vertices.min(axis=0), mesh.vertices.max(axis=0), mesh.material)


def boxes() -> Body:
    """Returns the body of a walker as boxes."""
    body = Body()
    return Body(**{field.name: around(getattr(body, field.name)) for field in fields(Body)})


def walks() -> list[WalkCycle]:
    """Returns the walkers' walks."""
    return [WalkCycle(corners, scale, cadence, start, ANIMATION.end) for scale, cadence, start, corners in WAYS]


def drive() -> Track:
    """Returns the track of the camera: so many key frames a second, at one speed."""
    times = np.arange(-0.5, ANIMATION.end + 0.6, 0.5)
    place, heading = followed(DRIVE, DRIVEN + LENGTH * times / ANIMATION.end, LOOK)
    return Track(transl=moves(times, place + EYE_HEIGHT * UPWARD), rot=turns(times, UPWARD, heading + 180.0))


def scene() -> Scene:
    """Makes the scene."""
    document = Document(
        parts=city.parts(),
        lights=[PointSource(LAMP, INTENSITY)],
        materials=list(city.MATERIALS),
        textures=textures(),
        tracks={"drive": drive()},
        cameras=dict(CAMERAS),
        background=(1.2, 1.5, 1.9),
        animation=ANIMATION,
    )
    let_walk(document, boxes(), walks())
    return scene_of("street", document, "shipped")
