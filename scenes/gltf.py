"""This module reads what a glTF or GLB file says in its JSON header, beside its arrays: cameras, lights and the numbers
of materials.

Khronos Group: glTF 2.0 Specification (2021). Cameras: by their names. Lights: those of KHR_lights_punctual. Candela,
lux and nits are taken for W/sr, W/m2 and W/(m2 sr).
"""

import json
import math
import struct
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from scenes.default_view import VERTICAL_FOV, look_at, triple
from scenes.document import Document, LightSource, Origin
from scenes.errors import SceneFileError
from scenes.lights import DistantSource, PointSource, SpotSource
from scenes.mesh_validation import GLB_HEADER_BYTES, check_gltf
from scenes.model import Camera, Doubles
from scenes.transforms import IDENTITY, compose

GLTF_SUFFIXES = (".glb", ".gltf")
#: Rows of the picture that a camera proposes; its columns follow from the aspect ratio.
PICTURE_HEIGHT = 600
MAX_PICTURE_WIDTH = 16_384
LIGHTS = "KHR_lights_punctual"
#: Angles of a spot's cone that says none.
CONE = {"innerConeAngle": 0.0, "outerConeAngle": 0.25 * math.pi}


def header_of(path: Path, data: bytes) -> dict[str, Any]:
    """Returns the checked header of a glTF or GLB file, and an empty one for any other file."""
    return check_gltf(path, data) if path.suffix.lower() in GLTF_SUFFIXES else {}


def with_header(path: Path, data: bytes, header: dict[str, Any]) -> bytes:
    """Returns the file for trimesh, which keeps neither all numbers of a material nor which one it is, and moves
    cameras.

    Each material has its index for a name; nodes have no cameras.
    """
    nodes = [{key: value for key, value in node.items() if key != "camera"} for node in header.get("nodes", [])]
    materials = [{**material, "name": str(index)} for index, material in enumerate(header.get("materials", []))]
    text = json.dumps({**header, "nodes": nodes, "materials": materials}).encode()
    if path.suffix.lower() == ".gltf":
        return text
    text += b" " * (-len(text) % 4)
    version, _, old_length = struct.unpack_from("<3I", data, 4)
    rest = data[GLB_HEADER_BYTES + old_length :]
    start = struct.pack("<4s3I4s", b"glTF", version, GLB_HEADER_BYTES + len(text) + len(rest), len(text), b"JSON")
    return start + text + rest


def add_view(path: Path, document: Document, header: dict[str, Any]) -> None:
    """Adds the cameras and lights of the nodes that are shown."""
    lights = header.get("extensions", {}).get(LIGHTS, {}).get("lights", [])
    for node, matrix in placed_nodes(header):
        if "camera" in node:
            add_camera(path, document, header["cameras"][node["camera"]], matrix)
        extension = node.get("extensions", {}).get(LIGHTS)
        if extension is not None:
            document.lights.append(light_source(path, lights[extension["light"]], matrix))


def placed_nodes(header: dict[str, Any]) -> Iterator[tuple[dict[str, Any], Doubles]]:
    """Yields each node of the scene to show with its (4, 4) matrix in the world, parents first."""
    nodes = header.get("nodes", [])
    scenes = header.get("scenes", [])
    roots = scenes[header.get("scene", 0)].get("nodes", []) if scenes else []
    waiting = [(index, IDENTITY) for index in reversed(roots)]
    seen: set[int] = set()
    while waiting:
        index, outer = waiting.pop()
        if index in seen:  # a node has one parent, in files that are sound
            continue
        seen.add(index)
        matrix = outer @ node_matrix(nodes[index])
        yield nodes[index], matrix
        waiting += [(child, matrix) for child in reversed(nodes[index].get("children", []))]


def node_matrix(node: dict[str, Any]) -> Doubles:
    """Returns the matrix (4, 4) of what a node does to what is in it: its own matrix, or T R S."""
    if "matrix" in node:
        return np.array(node["matrix"], dtype=np.float64).reshape(4, 4).T
    x, y, z, w = np.array(node.get("rotation", (0.0, 0.0, 0.0, 1.0)), dtype=np.float64)
    scale, offset = node.get("scale", (1.0, 1.0, 1.0)), node.get("translation", (0.0, 0.0, 0.0))
    return compose(np.array(scale), np.array([w, x, y, z]), np.array(offset))


def add_camera(path: Path, document: Document, description: dict[str, Any], matrix: Doubles) -> None:
    """Adds a camera that looks along -z of its node."""
    if "perspective" not in description and "orthographic" not in description:
        return
    eye = matrix[:3, 3]
    forward, up = look_at(eye, eye - matrix[:3, 2], matrix[:3, 1])
    name = new_name(str(description.get("name") or "camera"), document.cameras)
    try:
        view = parallel_view(description) if "orthographic" in description else perspective_view(description)
    except ValueError as error:
        raise SceneFileError(path, None, f"camera {name!r}: expected {error}") from error
    if not up.any():
        raise SceneFileError(path, None, f"the node of camera {name!r} leaves its orientation open")
    document.cameras[name] = replace(view, eye=triple(eye), forward=triple(forward), up=triple(up))


def perspective_view(description: dict[str, Any]) -> Camera:
    """Makes a camera with perspective at the origin. Raises ValueError that says what is expected of it."""
    lens = description["perspective"]
    degrees = math.degrees(lens["yfov"])
    if not 0.0 < degrees < 180.0:
        raise ValueError(f"a yfov between 0 and pi, got {lens['yfov']}")
    return view_of(lens, float(lens.get("aspectRatio", 4 / 3)), vertical_fov=degrees)


def parallel_view(description: dict[str, Any]) -> Camera:
    """Makes an orthographic camera at the origin. Raises ValueError that says what is expected of it."""
    lens = description["orthographic"]
    across, up = abs(float(lens["xmag"])), abs(float(lens["ymag"]))
    if not (0.0 < across < math.inf and 0.0 < up < math.inf):
        raise ValueError(f"an xmag and a ymag other than 0, got {lens['xmag']} and {lens['ymag']}")
    return view_of(lens, across / up, height=2.0 * up)


def view_of(
    lens: dict[str, Any], aspect: float, *, vertical_fov: float = VERTICAL_FOV, height: float | None = None
) -> Camera:
    """Makes a camera at the origin, from what both kinds have."""
    width = min(max(round(PICTURE_HEIGHT * aspect), 1), MAX_PICTURE_WIDTH)
    near = max(float(lens.get("znear", 0.0)), 0.0)
    return Camera(
        eye=(0.0, 0.0, 0.0),
        forward=(0.0, 0.0, -1.0),
        up=(0.0, 1.0, 0.0),
        vertical_fov=vertical_fov,
        near=near,
        resolution=(width, PICTURE_HEIGHT),
        height=height,
    )


def new_name(name: str, taken: dict[str, Camera]) -> str:
    """Returns a name, with a number where it is taken."""
    number = 2
    new = name
    while new in taken:
        new, number = f"{name} {number}", number + 1
    return new


def light_source(path: Path, light: dict[str, Any], matrix: Doubles) -> LightSource:
    """Makes a light where its node is, which shines along the node's -z if it has a direction."""
    red, green, blue = (float(light.get("intensity", 1.0)) * float(c) for c in light.get("color", (1.0, 1.0, 1.0)))
    if light["type"] == "point":
        return PointSource(matrix[:3, 3], (red, green, blue), origin=Origin(path))
    if light["type"] == "directional":
        return DistantSource(-matrix[:3, 2], (red, green, blue), origin=Origin(path))
    if light["type"] != "spot":
        raise SceneFileError(path, None, f"expected a light of type point, spot or directional, got {light['type']!r}")
    inner, outer = (float(light.get("spot", {}).get(name, angle)) for name, angle in CONE.items())
    if not 0.0 <= inner < outer <= 0.5 * math.pi:
        message = f"expected 0 <= innerConeAngle < outerConeAngle <= pi / 2 of a spot, got {inner:g} and {outer:g}"
        raise SceneFileError(path, None, message)
    return SpotSource(
        position=matrix[:3, 3],
        direction=-matrix[:3, 2],
        intensity=(red, green, blue),
        inner_angle=math.degrees(inner),
        outer_angle=math.degrees(outer),
        origin=Origin(path),
    )
