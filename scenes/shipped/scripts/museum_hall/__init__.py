"""This scene is the hall of the museum, without the sculpture, which `scenes.shipped.museum` makes of any size."""

from scenes.document import Document, Scene
from scenes.playing.evaluator import scene_of
from scenes.shipped.modelling import viewpoint
from scenes.shipped.scripts.museum_hall import hall
from scenes.shipped.scripts.museum_hall.pictures import textures

CAMERAS = {
    "hall": viewpoint((0.5, 2.3, 10.5), (0.0, 3.6, 0.0), 51.0),
    "corner": viewpoint((-10.2, 6.4, 8.4), (0.2, 2.7, 0.0), 58.0),
    "pillar": viewpoint((4.9, 1.9, 9.6), (1.6, 3.2, 4.0), 46.0),
}


def scene() -> Scene:
    """Makes the scene."""
    document = Document(parts=hall.hall(), materials=list(hall.MATERIALS), textures=textures(), cameras=dict(CAMERAS))
    return scene_of("museum", document, "shipped")
