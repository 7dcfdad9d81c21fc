"""This module writes the XML of Mitsuba 3: the triangles of a scene at one time, with its cameras, surfaces and lights.

The triangles of a material are a PLY file beside it, textures are PNG files and an environment is an OpenEXR file. What
Mitsuba has no words for is left out or stands as what is most like it, and a line says so; a surface that nothing there
is like is an error. Jakob, Speierer, Roussel, Vicini: Dr.Jit, with Mitsuba 3 (2022).
"""

import math
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import numpy as np

from scenes.document import Scene
from scenes.errors import SceneError
from scenes.export.still import Group, distinct, groups, surface_losses
from scenes.export.text import OTHERS, words
from scenes.files.marks import WRITTEN_BY
from scenes.lights import DistantLight, PointLight, SpotLight
from scenes.mitsuba.written_surfaces import SurfaceWriter, children, color, material_losses, matrix, named, node
from scenes.model import Camera, Doubles, Environment, Light, Snapshot, fov_extent
from scenes.pictures.environment_file import write_exr

VERSION = "3.0.0"
#: The nearest distance of a camera: Mitsuba has no cameras that see from their eye on.
SMALLEST_NEAR = 1e-4
#: Edges of the longest path of a picture by Mitsuba alone.
MAX_DEPTH = 17
#: The middle of a picture of light from all around is along +z there and along -z here.
HALF_TURN = np.diag([-1.0, 1.0, -1.0, 1.0])


def write_mitsuba(scene: Scene, path: Path, time: float) -> tuple[str, ...]:
    """Writes the file and those beside it, whose names begin with its own; returns what they cannot say."""
    snapshot = scene.at(time)
    parts = groups(snapshot)
    cameras = dict(snapshot.cameras) or {"camera": snapshot.camera}
    names = [*cameras, *(part.material.name for part in parts)]
    # None begins with an underline nor has points in it: Mitsuba allows no such ids.
    ids = words(OTHERS.sub("_", name).replace(".", "_").lstrip("_") for name in names)
    root = node("scene", version=VERSION)
    root.append(ElementTree.Comment(f" {WRITTEN_BY} "))
    integrator = node("integrator", type="path")
    integrator.append(named("integer", "max_depth", MAX_DEPTH))
    root.append(integrator)
    for name, camera in zip(ids, cameras.values(), strict=False):
        root.append(sensor(camera, camera.resolution, id=name))
    surfaces = SurfaceWriter(path, snapshot.textures)
    for name, part in zip(ids[len(cameras) :], parts, strict=True):
        root.append(surfaces.bsdf(part.material, name))
        root.append(shape(part, path, name))
    for light in snapshot.lights:
        root.append(emitter(light))
    if snapshot.environment is not None:
        root.append(surroundings(snapshot.environment, path))
    ElementTree.indent(root)
    ElementTree.ElementTree(root).write(path, encoding="utf-8", xml_declaration=True)
    return tuple(losses(scene, snapshot, parts))


def sensor(camera: Camera, size: tuple[int, int], **attributes: str) -> ElementTree.Element:
    """Returns the element of a camera with a picture of so many pixels, each of which is the mean over its square.

    attributes: of the element.
    """
    kind = "perspective" if camera.height is None else "orthographic"
    if camera.aperture > 0.0 and camera.height is None:
        kind = "thinlens"
    made = node("sensor", type=kind, **attributes)
    made.append(named("float", "near_clip", max(camera.near, SMALLEST_NEAR)))
    if camera.height is None:
        made.append(named("float", "fov", field_of_view(camera, size)))
        made.append(named("string", "fov_axis", camera.fov_axis))
    if kind == "thinlens":
        made.append(named("float", "aperture_radius", camera.aperture))
        made.append(named("float", "focus_distance", camera.focus))
    made.append(matrix("to_world", view(camera, size)))
    film = node("film", type="hdrfilm")
    children(film, named("integer", "width", size[0]), named("integer", "height", size[1]))
    children(film, named("string", "pixel_format", "rgb"), named("string", "component_format", "float32"))
    children(film, node("rfilter", type="box"))
    children(made, film)
    return made


def field_of_view(camera: Camera, size: tuple[int, int]) -> float:
    """Returns the angle in degrees that a camera sees along its own axis in a picture of so many pixels."""
    if camera.fov_axis == "y":
        return camera.vertical_fov
    aspect = size[0] / size[1]
    half = math.tan(math.radians(camera.vertical_fov / 2.0)) * camera.height_factor(aspect)
    return math.degrees(2.0 * math.atan(half * fov_extent(camera.fov_axis, aspect)))


def view(camera: Camera, size: tuple[int, int]) -> Doubles:
    """Returns the (4, 4) map from a camera's own space, +x to its left, +y upward and +z ahead, to the world."""
    forward, up = np.array(camera.forward), np.array(camera.up)
    aspect = size[0] / size[1]
    half_width = 1.0 if camera.height is None else 0.5 * camera.height * camera.height_factor(aspect) * aspect
    placed = np.eye(4)
    placed[:3, :] = np.stack([half_width * np.cross(up, forward), half_width * up, forward, camera.eye], axis=-1)
    return placed


def shape(part: Group, path: Path, name: str) -> ElementTree.Element:
    """Returns the element of the triangles of one material, and writes their file."""
    file = f"{words([path.stem])[0]}-{name}.ply"
    write_ply(path.with_name(file), part)
    made = node("shape", type="ply")
    children(made, named("string", "filename", file), node("ref", id=name))
    if any(part.material.emission):
        lamp = node("emitter", type="area")
        lamp.append(color("radiance", part.material.emission))
        made.append(lamp)
    return made


def write_ply(path: Path, part: Group) -> None:
    """Writes a binary PLY file whose corners have normals, and texture coordinates where there are any, v downward."""
    snapshot = part.snapshot
    uvs = part.uvs
    columns = [snapshot.positions[part.triangles], snapshot.normals[part.triangles], *([] if uvs is None else [uvs])]
    names = ["x", "y", "z", "nx", "ny", "nz", *([] if uvs is None else ["u", "v"])]
    vertices, corners = distinct(np.concatenate(columns, axis=-1).reshape(-1, len(names)).astype("<f4"))
    faces = np.empty(len(part.triangles), np.dtype([("count", "u1"), ("corners", "<i4", 3)]))
    faces["count"], faces["corners"] = 3, corners.reshape(-1, 3)
    lines = ["ply", "format binary_little_endian 1.0", f"comment {WRITTEN_BY}", f"element vertex {len(vertices)}"]
    lines += [f"property float {name}" for name in names]
    lines += [f"element face {len(faces)}", "property list uchar int vertex_indices", "end_header", ""]
    path.write_bytes("\n".join(lines).encode() + vertices.tobytes() + faces.tobytes())


def emitter(light: Light) -> ElementTree.Element:
    """Returns the element of a light that is no surface. Raises SceneError where Mitsuba has no such light."""
    if isinstance(light, PointLight):
        made = node("emitter", type="point")
        x, y, z = light.position
        children(made, node("point", name="position", x=repr(x), y=repr(y), z=repr(z)))
        children(made, color("intensity", light.intensity))
    elif isinstance(light, SpotLight):
        made = node("emitter", type="spot")
        children(made, color("intensity", light.intensity), named("float", "cutoff_angle", light.outer_angle))
        children(made, named("float", "beam_width", light.inner_angle))
        children(made, matrix("to_world", aimed(light)))
    elif isinstance(light, DistantLight):
        made = node("emitter", type="directional")
        x, y, z = light.direction
        children(made, node("vector", name="direction", x=repr(x), y=repr(y), z=repr(z)))
        children(made, color("irradiance", light.irradiance))
    else:
        raise SceneError(f"Mitsuba has no lights of kind {light.kind!r}; there are: point, spot, distant")
    return made


def aimed(light: SpotLight) -> Doubles:
    """Returns the (4, 4) map from the space of a spot, which shines along +z, to the world."""
    direction = np.array(light.direction)
    side = np.cross(np.eye(3)[np.argmin(np.abs(direction))], direction)
    side /= np.linalg.norm(side)
    placed = np.eye(4)
    placed[:3, :] = np.stack([side, np.cross(direction, side), direction, light.position], axis=-1)
    return placed


def surroundings(environment: Environment, path: Path) -> ElementTree.Element:
    """Returns the element of the light from all around, and writes its picture where it is more than a colour."""
    radiance = environment.radiance
    if radiance.shape[:2] == (1, 1):
        made = node("emitter", type="constant")
        made.append(color("radiance", tuple(radiance[0, 0].tolist())))
        return made
    file = f"{words([path.stem])[0]}-environment.exr"
    write_exr(path.with_name(file), radiance)
    placed = np.eye(4)
    placed[:3, :3] = environment.axes.T
    made = node("emitter", type="envmap")
    children(made, named("string", "filename", file), matrix("to_world", placed @ HALF_TURN))
    return made


def losses(scene: Scene, snapshot: Snapshot, parts: list[Group]) -> Iterator[str]:
    """Yields a line for each thing that Mitsuba's files are not given, or otherwise."""
    if scene.animation.frames > 1 or scene.moving_triangles:
        yield f"animation left out: the file stands still at time {snapshot.time:g}"
    if any(snapshot.background):
        yield f"background left out: {' '.join(f'{channel:g}' for channel in snapshot.background)}"
    for part in parts:
        yield from surface_losses(part.material)
        yield from material_losses(part.material)
    for light in snapshot.lights:
        if isinstance(light, SpotLight) and light.inner_angle < light.outer_angle:
            yield f"a spot fades otherwise from {light.inner_angle:g} to {light.outer_angle:g} degrees"
        if isinstance(light, DistantLight) and light.angular_radius > 0.0:
            yield f"a distant light has lost its disc of {light.angular_radius:g} degrees"
    for name, camera in snapshot.cameras.items():
        if camera.near < SMALLEST_NEAR:
            yield f"camera {name!r} sees from {SMALLEST_NEAR:g} on, not from {camera.near:g}"
