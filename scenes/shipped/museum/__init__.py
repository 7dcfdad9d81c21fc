"""This scene is a museum's hall in which a sculpture of thousands of triangles flies apart and together among polished
pillars."""

from scenes.document import Document, Part, Scene, triangle_count
from scenes.model import AnimationRange
from scenes.playing.evaluator import scene_of
from scenes.shipped.museum import hall
from scenes.shipped.museum.pictures import textures
from scenes.shipped.museum.sculpture import KEY_TIMES, sculpture
from scenes.shipped.viewpoint import viewpoint

#: The sculpture's strands in their materials.
STRANDS = (hall.GOLD, hall.COPPER, hall.GOLD, hall.ENAMEL, hall.COPPER)

#: 25 frames a second; the sculpture is whole in the first and the last, and apart in frame 100.
ANIMATION = AnimationRange(start=float(KEY_TIMES[0]), end=float(KEY_TIMES[-1]), frames=201)


CAMERAS = {
    "hall": viewpoint((0.5, 2.3, 10.5), (0.0, 3.6, 0.0), 51.0),
    "corner": viewpoint((-10.2, 6.4, 8.4), (0.2, 2.7, 0.0), 58.0),
    "pillar": viewpoint((4.9, 1.9, 9.6), (1.6, 3.2, 4.0), 46.0),
}


def scene(triangles: int) -> Scene:
    """Makes the scene with nearly so many triangles, all of those of the sculpture moving."""
    still = hall.hall()
    rest = triangles - sum(triangle_count(part.shape) for part in still)
    document = Document(
        parts=[*still, *(Part(shape) for shape in sculpture(rest, STRANDS))],
        materials=list(hall.MATERIALS),
        textures=textures(),
        cameras=dict(CAMERAS),
        animation=ANIMATION,
    )
    return scene_of("museum", document, "shipped")
