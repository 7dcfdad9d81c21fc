"""This module makes a camera and light for files that have none.

A scene is seen from outside: three quarters from the front, somewhat above. But where its triangles are the walls of a
room, see `scenes.views.room_finder`, it is seen from within, or from before the opening that a room has to one side.

Light comes from all around and, more of it, from a wide lamp above, to the left of whoever looks, so that rough metal
and glass have something to reflect. In a closed room a lamp hangs in its middle and one above the eye; in one with an
opening there is one lamp, and light from all around. It is made for pictures with an exposure of 0.

Meshes glow for many reasons. What of a mesh file glows is a lamp where it is brighter than white under the default
light, and lamps light the file, together with its sky, where they send out enough; else it has the default light too,
as one has whose other lights make nothing bright.

The y axis is up, in STL the z axis, as the custom is; but where the triangles stand flat on the lower end of the other
axis and not on that of this one, the other one is.
"""

import math
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, replace

import numpy as np

from scenes.colors.palette import mean_color
from scenes.document import Document, EnvironmentSource, LightSource
from scenes.lights import DistantSource, PointLight, PointSource, SpotLight
from scenes.materials.microfacets import multiplied
from scenes.meshes.geometry import areas, double_area_normals, unit
from scenes.model import Camera, Color, Doubles, Floats, Indices, Light, Material, Texture
from scenes.views.room_finder import Room, find_room, first_hits, surroundings
from scenes.views.viewing import DEFAULT_CAMERA, look_at, triple

VERTICAL_FOV = 40.0
#: Of a camera in a room.
ROOM_FOV = 65.0
#: From the middle of the scene to the eye, to the right, upward and forward; of a room that is open above.
EYE_DIRECTION = (0.6, 0.45, 1.0)
EYE_DIRECTION_ABOVE = (0.25, 1.5, 1.0)
SKY: Color = (0.35, 0.45, 0.6)
#: Light from all around, W/(m^2 sr); irradiance by the lamp far away, and its angular radius in degrees. A white
#: surface that faces it has a radiance of about 1.
AROUND: Color = (0.28, 0.31, 0.36)
KEY = 0.75 * math.pi
KEY_DEGREES = 8.0
#: Of a mesh file: the radiance above which a surface is a lamp, and the mean over all surfaces of what lamps send out
#: above which they light it, W/(m^2 sr). In a Cornell box that mean is about 0.07.
LAMP_RADIANCE = 1.0
LIT_BY_LAMPS = 0.01
#: Triangles that lights are looked at from, at most twice as many.
LIT_TRIANGLES = 1 << 16
#: Upward by the axis that is up, and to the right; their cross product leads toward the viewer.
UPWARD = {"y": np.array([0.0, 1.0, 0.0]), "z": np.array([0.0, 0.0, 1.0])}
RIGHT = np.array([1.0, 0.0, 0.0])
#: The lowest part of a scene, as a share of its height; how much of that must be flat, as a share of the plan, for it
#: to stand on it; and how many times as much as on the other axis.
LOWEST = 0.04
STANDS = 0.25
CLEARLY = 3.0
#: Directions in which a camera in a room may look.
HEADINGS = 24


@dataclass(frozen=True, eq=False)
class Subject:
    """Holds what of a document's triangles a camera and light are chosen by: the triangles, or others around them.

    positions: (n, 3, 3), at the animation's start, at least one.
    material_ids: (n,), indices of the materials.
    lights: the document's own, then.
    """

    positions: Floats
    material_ids: Indices
    lights: Sequence[Light] = ()


def bounding_sphere(positions: Floats) -> tuple[Doubles, float]:
    """Returns the centre (3,) of the bounding box of (n, 3, 3) triangles and half its diagonal, never 0."""
    corners = positions.reshape(-1, 3).astype(np.float64)
    lower, upper = corners.min(axis=0), corners.max(axis=0)
    return 0.5 * (lower + upper), max(0.5 * float(np.linalg.norm(upper - lower)), 1e-6)


def has_lamps(document: Document, subject: Subject) -> bool:
    """Returns whether lamps among the surfaces of a document light it."""
    radiances = np.array([lamp_radiance(material, document.textures) for material in document.materials])
    if not radiances.any():
        return False
    sizes = areas(subject.positions)
    sent = radiances[subject.material_ids] @ sizes
    return bool(sent > LIT_BY_LAMPS * sizes.sum())


def shine_on(lights: Sequence[Light], subject: Subject) -> bool:
    """Returns whether lights make any white surface brighter than what counts for light, were nothing between them."""
    centers = subject.positions[:: 1 + len(subject.positions) // LIT_TRIANGLES].mean(axis=1, dtype=np.float64)
    for light in lights:
        irradiance = max(light.strength)
        if isinstance(light, PointLight | SpotLight):
            square = float(np.square(centers - light.position).sum(axis=1).min())
            irradiance /= max(square, 1e-30)
        if irradiance > math.pi * LIT_BY_LAMPS:
            return True
    return False


def lamp_radiance(material: Material, textures: Sequence[Texture]) -> float:
    """Returns the mean radiance of a surface in its brightest channel, or 0 where it is no lamp."""
    if max(material.emission) <= LAMP_RADIANCE:
        return 0.0
    share = (1.0, 1.0, 1.0)
    if material.emission_map >= 0:
        share = mean_color(textures[material.emission_map].pixels)
    return max(multiplied(material.emission, share))


def completed(document: Document, subject: Subject, up_axis: str | None) -> Document:
    """Returns a document with a camera and light where it has none, and notes of what was looked for in its triangles.

    subject: of its triangles.
    up_axis: "y" or "z", or None for what the document says.
    """
    notes, source, positions = deepcopy(document.notes), document.parts[0].origin.path, subject.positions
    axis = up_axis or document.up
    if up_axis is None and not document.is_up_known:
        axis = likely_up(positions, document.up)
        other = "z" if axis == "y" else "y"
        notes.add(
            f"the format does not say what is up, {axis} is taken for it; --up-axis {other} for the other", source
        )
    document = replace(document, up=axis, cameras=dict(document.cameras), notes=notes)
    upward = UPWARD[axis]
    if document.cameras:
        camera = next(iter(document.cameras.values()))
        around = surroundings(np.array(camera.eye), positions)
        room = around if around.is_closed else None
    else:
        room = find_room(positions)
        camera = default_camera(positions, upward, room)
        document.cameras[DEFAULT_CAMERA] = camera
        if room is not None:
            notes.add("the triangles face inward, so it is seen as a room is; --eye and --look-at choose", source)
    if document.has_light and (document.is_lit_by_glow or shine_on(subject.lights, subject)):
        return document
    if has_lamps(document, subject):
        is_open = room is None or not room.is_closed
        document.environment = light_from_all_around(document.background) if is_open else None
        return document
    if document.glows or document.lights:
        what = "its lights and what glows are" if document.lights else "what glows is"
        notes.add(f"{what} too faint to light it, so it has the default light too", source)
    lights, document.environment = default_light(positions, camera, upward, room)
    document.lights = [*document.lights, *lights]
    document.settings = {"exposure": 0.0} | document.settings
    return document


def likely_up(positions: Floats, custom: str) -> str:
    """Returns the axis that is up, "y" or "z".

    positions: (n, 3, 3).
    custom: the axis that is up in most files of the kind.
    """
    other = "z" if custom == "y" else "y"
    standing = {axis: standing_share(positions, "xyz".index(axis)) for axis in (custom, other)}
    return other if standing[other] >= STANDS and standing[other] > CLEARLY * standing[custom] else custom


def standing_share(positions: Floats, axis: int) -> float:
    """Returns the area of the triangles (n, 3, 3) that lie flat at the lower end of an axis, as a share of the plan."""
    lower, upper = positions.min(axis=(0, 1)).astype(np.float64), positions.max(axis=(0, 1)).astype(np.float64)
    size = upper - lower
    plan = float(np.prod(np.delete(size, axis)))
    low = positions[:, :, axis].max(axis=1) <= lower[axis] + LOWEST * size[axis]
    if not plan > 0.0 or not size[axis] > 0.0 or not low.any():
        return 0.0
    normals = double_area_normals(positions[low].astype(np.float64))
    flat = np.abs(normals[:, axis]) > 0.9 * np.linalg.norm(normals, axis=-1)
    return 0.5 * float(np.abs(normals[flat, axis]).sum()) / plan


def default_camera(positions: Floats, upward: Doubles, room: Room | None) -> Camera:
    """Returns a camera that sees all of the triangles, or the room that they are the walls of.

    positions: (n, 3, 3).
    upward: (3,), the axis that is up.
    """
    if room is not None and room.is_closed:
        return camera_within(positions, upward, room)
    center, radius = bounding_sphere(positions)
    backward = np.cross(RIGHT, upward)
    half_view = math.radians(0.5 * VERTICAL_FOV)
    if room is None or room.opening @ upward > 0.5 * np.linalg.norm(room.opening):
        shares = EYE_DIRECTION if room is None else EYE_DIRECTION_ABOVE
        offset = unit(np.array(shares) @ np.stack([RIGHT, upward, backward])) * radius / math.sin(half_view)
    else:
        offset = before_opening(positions, upward, room, math.tan(half_view))
    return placed(center + offset, center, upward, VERTICAL_FOV)


def before_opening(positions: Floats, upward: Doubles, room: Room, slope: float) -> Doubles:
    """Returns where an eye sees all of a room through its opening to one side, (3,) from the middle of it.

    slope: tangent of half of the angle that it sees, vertically.
    """
    half = 0.5 * np.ptp(positions.reshape(-1, 3).astype(np.float64), axis=0)
    level = room.opening - (room.opening @ upward) * upward
    axis = int(np.argmax(np.abs(level)))
    sideways = np.delete(half, axis)
    way = np.zeros(3)
    way[axis] = math.copysign(half[axis] + 1.05 * float(sideways.max()) / slope, level[axis])
    return way


def camera_within(positions: Floats, upward: Doubles, room: Room) -> Camera:
    """Returns a camera in a closed room: it looks along the way that is longest, from near its end."""
    ahead = np.cross(RIGHT, upward)
    angles = 2.0 * np.pi * np.arange(HEADINGS) / HEADINGS
    headings = np.outer(np.cos(angles), ahead) + np.outer(np.sin(angles), RIGHT)
    free = first_hits(room.center, headings, positions)[0]
    free = np.minimum(free, bounding_sphere(positions)[1])
    best = int(np.argmax(free + np.roll(free, HEADINGS // 2) + 1e-3 * free))
    back = 0.85 * free[(best + HEADINGS // 2) % HEADINGS]
    eye = room.center - back * headings[best]
    return placed(eye, eye + headings[best], upward, ROOM_FOV)


def placed(eye: Doubles, target: Doubles, upward: Doubles, vertical_fov: float) -> Camera:
    """Returns a camera at one place (3,) that looks at another."""
    forward, up = look_at(eye, target, upward)
    return Camera(eye=triple(eye), forward=triple(forward), up=triple(up), vertical_fov=vertical_fov)


def default_light(
    positions: Floats, camera: Camera, upward: Doubles, room: Room | None
) -> tuple[list[LightSource], EnvironmentSource | None]:
    """Returns the lights, and the light from all around where it comes in.

    positions: (n, 3, 3).
    upward: (3,), the axis that is up; lights are above what they shine on.
    """
    around = light_from_all_around(AROUND)
    if room is not None and not room.is_closed:
        return [lamp_in(room, positions, upward)], around
    if room is not None:
        rooms = [surroundings(np.array(camera.eye), positions), room]
        return [lamp_in(one, positions, upward) for one in rooms], None
    forward, up = np.array(camera.forward), np.array(camera.up)
    left = np.cross(up, forward)
    source = upward + 0.6 * level(left, upward) - 0.5 * level(forward, upward)
    return [DistantSource(-source, (KEY, KEY, KEY), KEY_DEGREES)], around


def light_from_all_around(radiance: Color) -> EnvironmentSource:
    """Returns light that is the same from everywhere."""
    return EnvironmentSource(np.full((1, 1, 3), radiance, np.float32))


def level(direction: Doubles, upward: Doubles) -> Doubles:
    """Returns a direction (3,) without what of it goes up."""
    flat: Doubles = direction - (direction @ upward) * upward
    return flat


def lamp_in(room: Room, positions: Floats, upward: Doubles) -> PointSource:
    """Returns a lamp above the middle of a room, as bright as makes white walls at the median distance radiate 1."""
    height = float(first_hits(room.center, upward[None], positions)[0][0])
    place = room.center + 0.6 * min(height, float(np.median(room.distances))) * upward
    intensity = math.pi * float(np.median(surroundings(place, positions).distances)) ** 2
    return PointSource(place, (intensity, intensity, intensity))
