"""This scene is the Cornell box with a mirror sphere and a glass sphere, which throws a caustic on the floor.

Proportions after Goral, Torrance, Greenberg, Battaile: Modeling the Interaction of Light Between Diffuse Surfaces
(1984) and the measured data of the Cornell University Program of Computer Graphics. y is up and the camera looks
along +z, so that x runs to the left.
"""

import numpy as np

from scenes.document import Document, Part
from scenes.evaluator import scene_of
from scenes.model import Camera, Material, Mesh
from scenes.scene import Scene
from scenes.shapes import rectangle, sphere

#: Size of the box in metres: x, y, z. The front, z = 0, is open.
WIDTH, HEIGHT, DEPTH = 0.5528, 0.5488, 0.5592
#: The lamp: a rectangle in x and z, this far below the ceiling.
LAMP_X, LAMP_Z, LAMP_GAP = (0.213, 0.343), (0.227, 0.332), 0.001
SPHERE_RADIUS = 0.09
SPHERE_SEGMENTS = 96
#: The spheres are clear of the floor by a millimetre.
MIRROR_CENTER = (0.385, SPHERE_RADIUS + 0.001, 0.365)
GLASS_CENTER = (0.175, SPHERE_RADIUS + 0.001, 0.205)

MATERIALS = (
    Material(name="white", diffuse=(0.73, 0.73, 0.73)),
    Material(name="red", diffuse=(0.63, 0.065, 0.05)),
    Material(name="green", diffuse=(0.14, 0.45, 0.091)),
    Material(name="lamp", diffuse=(0.0, 0.0, 0.0), emission=(30.0, 30.0, 30.0)),
    Material(name="mirror", kind="mirror", diffuse=(0.0, 0.0, 0.0), specular=(0.95, 0.95, 0.95)),
    Material(
        name="glass",
        kind="dielectric",
        diffuse=(0.0, 0.0, 0.0),
        specular=(1.0, 1.0, 1.0),
        transmittance=1.0,
        ior=1.5,
    ),
)
WHITE, RED, GREEN, LAMP, MIRROR, GLASS = range(6)

CAMERA = Camera(
    eye=(0.5 * WIDTH, 0.5 * HEIGHT, -0.8),
    forward=(0.0, 0.0, 1.0),
    up=(0.0, 1.0, 0.0),
    vertical_fov=39.3,
    resolution=(512, 512),
)


def meshes() -> list[Mesh]:
    """Returns the walls, wound so that their normals point into the box, the lamp, which faces down, and the
    spheres."""
    x, y, z = (WIDTH, 0.0, 0.0), (0.0, HEIGHT, 0.0), (0.0, 0.0, DEPTH)
    lamp_corner = (LAMP_X[0], HEIGHT - LAMP_GAP, LAMP_Z[0])
    lamp_x, lamp_z = (LAMP_X[1] - LAMP_X[0], 0.0, 0.0), (0.0, 0.0, LAMP_Z[1] - LAMP_Z[0])
    return [
        rectangle((0.0, 0.0, 0.0), z, x, WHITE),  # floor
        rectangle((0.0, HEIGHT, 0.0), x, z, WHITE),  # ceiling
        rectangle((0.0, 0.0, DEPTH), y, x, WHITE),  # back
        rectangle((WIDTH, 0.0, 0.0), z, y, RED),  # left
        rectangle((0.0, 0.0, 0.0), y, z, GREEN),  # right
        rectangle(lamp_corner, lamp_x, lamp_z, LAMP),
        sphere(np.array(MIRROR_CENTER), SPHERE_RADIUS, MIRROR, SPHERE_SEGMENTS),
        sphere(np.array(GLASS_CENTER), SPHERE_RADIUS, GLASS, SPHERE_SEGMENTS),
    ]


def scene() -> Scene:
    """Makes the scene; nothing in it moves."""
    document = Document(
        parts=[Part(mesh) for mesh in meshes()],
        materials=list(MATERIALS),
        cameras={"front": CAMERA},
    )
    return scene_of("cornell", document, "shipped")
