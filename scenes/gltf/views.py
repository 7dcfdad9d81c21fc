"""This module makes the cameras and lights of a glTF file: those of its nodes, and of KHR_lights_punctual.

Cameras: by their names. Candela, lux and nits are taken for W/sr, W/m2 and W/(m2 sr).
"""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from scenes.document import Document, LightSource, Origin
from scenes.gltf.container import GltfFile
from scenes.gltf.extensions import LIGHTS
from scenes.gltf.nodes import GltfNodes, PlacedNode
from scenes.gltf.values import MAX_NUMBER, Item
from scenes.keys.place import quoted
from scenes.lights import DistantSource, PointSource, SpotSource
from scenes.model import Camera, Doubles
from scenes.motion.tracks import RotationTrack, Track, VectorTrack, linear_shapes, with_end_times, with_ends
from scenes.motion.transforms import axis_and_degrees, quaternion_of
from scenes.views.default_view import VERTICAL_FOV
from scenes.views.viewing import look_at, triple

#: Rows of the picture that a camera proposes; its columns follow from the aspect ratio.
PICTURE_HEIGHT = 600
MAX_PICTURE_WIDTH = 16_384
DEFAULT_ASPECT = 4 / 3
#: The smallest size of what a camera sees, and the least aspect ratio.
LEAST_SIZE = 1e-6
#: The narrowest angle of a lens and of a spot's cone, so that what float32 makes of it is not 0.
LEAST_DEGREES = 1e-3
FORWARD, UP = np.array([0.0, 0.0, -1.0]), np.array([0.0, 1.0, 0.0])


def add_camera(file: GltfFile, document: Document, node: PlacedNode) -> str | None:
    """Adds the camera of a node, which looks along its -z; returns its name, or None where there is none."""
    number = node.item.index("camera", file.rows("cameras"), "cameras")
    if number is None:
        return None
    item = file.rows("cameras")[number]
    name = new_name(item.text("name") or node.item.text("name") or "camera", document.cameras)
    is_parallel = item.has("orthographic") or item.text("type") == "orthographic"
    view = parallel_view(item) if is_parallel else perspective_view(item)
    forward, up = axes_of(node.item, name, node.matrix)
    document.cameras[name] = replace(view, eye=triple(node.matrix[:3, 3]), forward=triple(forward), up=triple(up))
    return name


def axes_of(item: Item, name: str, matrix: Doubles) -> tuple[Doubles, Doubles]:
    """Returns the unit directions forward and up of the camera of a node at a place (4, 4)."""
    eye = matrix[:3, 3]
    forward, up = look_at(eye, eye + matrix[:3, :3] @ FORWARD, matrix[:3, :3] @ UP)
    if not up.any():
        raise item.place.error(f"the node of camera {quoted(name)} leaves its orientation open")
    return forward, up


def camera_track(node: PlacedNode, name: str, nodes: GltfNodes, times: Sequence[float]) -> Track:
    """Makes the track of a camera that moves, linear between its places at some times."""
    eyes, axes, degrees = [], [], []
    for time in times:
        matrix = nodes.world_at(node.index, time, {})
        forward, up = axes_of(node.item, name, matrix)
        axis, angle = axis_and_degrees(quaternion_of(np.column_stack([np.cross(forward, up), up, -forward])))
        eyes.append(matrix[:3, 3])
        axes.append(axis)
        degrees.append(angle)
    at = with_end_times(np.array(times))
    shapes = linear_shapes(at)
    return Track(
        transl=VectorTrack(at, with_ends(np.array(eyes)), shapes),
        rot=RotationTrack(at, with_ends(np.array(axes)), with_ends(np.array(degrees)), shapes),
    )


def perspective_view(item: Item) -> Camera:
    """Makes a camera with perspective at the origin."""
    if not item.has("perspective"):
        raise item.error("perspective", "a camera's lens")
    lens = item.child("perspective")
    degrees = math.degrees(lens.number("yfov", None))
    if not LEAST_DEGREES <= degrees < 180.0:
        raise lens.error("yfov", f"an angle between 0 and pi, at least {math.radians(LEAST_DEGREES):.1g}")
    return view_of(lens, lens.number("aspectRatio", DEFAULT_ASPECT, LEAST_SIZE), vertical_fov=degrees)


def parallel_view(item: Item) -> Camera:
    """Makes an orthographic camera at the origin."""
    lens = item.child("orthographic")
    across, up = abs(lens.number("xmag", None)), abs(lens.number("ymag", None))
    for name, size in (("xmag", across), ("ymag", up)):
        if size < LEAST_SIZE:
            raise lens.error(name, "a number other than 0")
    return view_of(lens, across / up, height=2.0 * up)


def view_of(lens: Item, aspect: float, *, vertical_fov: float = VERTICAL_FOV, height: float | None = None) -> Camera:
    """Makes a camera at the origin, from what both kinds have."""
    width = min(max(round(PICTURE_HEIGHT * aspect), 1), MAX_PICTURE_WIDTH)
    return Camera(
        eye=(0.0, 0.0, 0.0),
        forward=(0.0, 0.0, -1.0),
        up=(0.0, 1.0, 0.0),
        vertical_fov=vertical_fov,
        near=lens.number("znear", 0.0, 0.0),
        resolution=(width, PICTURE_HEIGHT),
        height=height,
    )


def new_name(name: str, taken: dict[str, Camera]) -> str:
    """Returns a name, with a number where it is taken: that after one that is taken too, found in few steps."""
    if name not in taken:
        return name
    last, free = 1, 2
    while f"{name} {free}" in taken:
        last, free = free, 2 * free
    while free - last > 1:
        middle = (last + free) // 2
        last, free = (middle, free) if f"{name} {middle}" in taken else (last, middle)
    return f"{name} {free}"


def light_of(file: GltfFile, node: PlacedNode) -> LightSource | None:
    """Makes the light of a node, which shines along its -z if it has a direction; None where there is none."""
    used = node.item.extension(LIGHTS)
    if used is None:
        return None
    known = file.root.child("extensions").child(LIGHTS).children("lights")
    number = used.index("light", known, "lights")
    if number is None:
        raise used.error("light", "a light")
    light = known[number]
    if light.has("range"):
        file.note("range of lights is not read: they fade with the square of the distance")
    intensity = light.number("intensity", 1.0, 0.0)
    red, green, blue = (min(intensity * channel, MAX_NUMBER) for channel in light.color("color", (1.0, 1.0, 1.0)))
    strength, origin, here = (red, green, blue), Origin(file.path), np.zeros(3)
    match light.text("type"):
        case "point":
            return PointSource(here, strength, node.transform, origin)
        case "directional":
            return DistantSource(FORWARD, strength, transform=node.transform, origin=origin)
        case "spot":
            inner, outer = cone(light.child("spot"))
            return SpotSource(here, FORWARD, strength, inner, outer, transform=node.transform, origin=origin)
    raise light.error("type", "point, spot or directional")


def cone(spot: Item) -> tuple[float, float]:
    """Returns the angles of the cone of a spot, degrees."""
    inner, outer = spot.number("innerConeAngle", 0.0), spot.number("outerConeAngle", 0.25 * math.pi)
    if not (0.0 <= inner < outer <= 0.5 * math.pi + 1e-6 and math.degrees(outer) >= LEAST_DEGREES):
        least = f"{math.radians(LEAST_DEGREES):.1g}"
        wanted = f"0 <= innerConeAngle < outerConeAngle <= pi / 2, the outer one at least {least}"
        message = f"expected {wanted}, got {inner:g} and {outer:g}"
        raise spot.place.error(message)
    return math.degrees(inner), math.degrees(min(outer, 0.5 * math.pi))
