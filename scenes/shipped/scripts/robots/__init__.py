"""This scene shows ten walkers of steel in the streets of a small town: deep hierarchies of joints, most triangles in
motion.

The idea of such a test is of Lext, Assarsson, Möller: A Benchmark for Animated Ray Tracing (2001); town, walkers and
ways are our own.
"""

import numpy as np

from scenes.document import Document, Scene
from scenes.model import AnimationRange
from scenes.motion.tracks import Track
from scenes.playing.evaluator import scene_of
from scenes.shipped.modelling import viewpoint
from scenes.shipped.scripts.robots.gait import WalkCycle, grip
from scenes.shipped.scripts.robots.materials import FIRST_PAINT, MATERIALS, textures
from scenes.shipped.scripts.robots.town import town
from scenes.shipped.scripts.robots.walker import Body, Walker

#: 25 frames a second.
ANIMATION = AnimationRange(start=0.0, end=10.0, frames=251)

#: Scale, cadence in strides per second, seconds walked before, and corners (x, z) of the way of each walker.
WAYS: tuple[tuple[float, float, float, tuple[tuple[float, float], ...]], ...] = (
    (1.25, 0.80, 0.0, ((-1.6, 6.0), (-1.6, -10.0))),
    (1.05, 0.92, 0.3, ((2.2, -12.0), (2.2, 4.0))),
    (1.45, 0.72, 0.5, ((-11.0, 1.9), (-3.5, 1.9), (-0.2, 4.0), (0.4, 9.0))),
    (0.95, 0.98, 0.1, ((0.6, -6.5), (0.6, 8.0))),
    (1.10, 0.88, 0.7, ((9.5, -1.8), (-5.0, -1.8))),
    (1.00, 0.95, 0.2, ((3.2, 7.5), (3.0, 2.6), (6.5, 0.9), (14.0, 0.9))),
    (1.30, 0.78, 0.4, ((-3.4, -14.0), (-3.0, -4.5), (-6.0, -2.6), (-14.0, -2.6))),
    (1.15, 0.85, 0.9, ((-15.0, -0.6), (1.0, -0.6))),
    (1.60, 0.68, 0.6, ((-0.6, -20.0), (-0.6, -4.0))),
    (0.90, 1.02, 0.0, ((12.0, 2.9), (3.5, 2.9), (1.9, 5.0), (1.9, 12.0))),
)


CAMERAS = {
    "street": viewpoint((3.3, 1.6, 10.2), (-1.2, 2.25, 0.0), 46.0),
    "passing": viewpoint((-5.0, 1.2, 4.2), (0.6, 1.5, -1.2), 56.0),
    "roofs": viewpoint((4.5, 17.0, 24.0), (-0.6, 0.0, -1.0), 44.0),
}


def walks() -> list[WalkCycle]:
    """Returns the walkers' walks."""
    return [WalkCycle(corners, scale, cadence, start, ANIMATION.end) for scale, cadence, start, corners in WAYS]


def tracks(name: str, walk: WalkCycle, random: np.random.Generator) -> dict[str, Track]:
    """Returns every track of a walker: its way, its joints, and its hands."""
    found = {name: walk.way()}
    found |= {f"{name}/{joint}": track for joint, track in walk.joints().items()}
    return found | {f"{name}/{side} grip": grip(walk.end, random) for side in ("left", "right")}


def let_walk(document: Document, body: Body, walks: list[WalkCycle]) -> None:
    """Adds a walker of one body for each walk, with its tracks and a paint of its own."""
    random = np.random.default_rng(7)
    for number, walk in enumerate(walks):
        name = f"robot{number}"
        document.parts += Walker(name, body, FIRST_PAINT + number, walk.scale).parts
        document.tracks |= tracks(name, walk, random)


def scene() -> Scene:
    """Makes the scene."""
    document = Document(
        parts=town(),
        materials=list(MATERIALS),
        textures=textures(),
        cameras=dict(CAMERAS),
        background=(0.55, 0.66, 0.80),
        animation=ANIMATION,
    )
    let_walk(document, Body(), walks())
    return scene_of("robots", document, "shipped")
