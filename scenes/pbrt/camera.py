"""This module makes the camera of what a file says of it and of its film, and tells which way the world is turned."""

import math
import re
from collections.abc import Callable

import numpy as np

from scenes.meshes.geometry import unit
from scenes.model import Camera, Doubles
from scenes.motion.transforms import scaling
from scenes.pbrt.files import PbrtFiles
from scenes.pbrt.parameters import Parameters
from scenes.views.default_view import VERTICAL_FOV
from scenes.views.viewing import triple

MAX_RESOLUTION = 16_384
#: Width and height of a film that says nothing.
WIDTH, HEIGHT = 1280.0, 720.0
#: Of a film in mm, and the focal length of a lens, mm, as the names of files of lenses have it, or else of a usual one.
DIAGONAL, NORMAL_LENGTH, FOCAL_LENGTH = 35.0, 50.0, re.compile(r"(\d+(?:\.\d+)?)mm")
#: Lengths that may differ by so much are those of axes that are scaled alike.
LIKENESS = 1e-3
#: What the world is mirrored by where its axes are left-handed.
MIRROR: Doubles = scaling(np.array([1.0, 1.0, -1.0]))


def handedness(to_camera: Doubles) -> Doubles:
    """Returns the map (4, 4) from a file's world to ours, which is right-handed.

    to_camera: (4, 4) map from the file's world to the camera's space, which is left-handed there.

    Files that were written by programs with right-handed axes mirror these in front of the camera: then nothing is to
    be done. Else z is turned round.
    """
    return MIRROR if np.linalg.det(to_camera[:3, :3]) > 0.0 else np.eye(4)


def film_size(film: Parameters | None) -> tuple[int, int]:
    """Returns the width and height of a film in pixels."""
    if film is None:
        return int(WIDTH), int(HEIGHT)
    size = [film.number(name, default) for name, default in (("xresolution", WIDTH), ("yresolution", HEIGHT))]
    if not all(1.0 <= pixels <= MAX_RESOLUTION for pixels in size):
        raise film.error(f"expected a film of 1 to {MAX_RESOLUTION} pixels, got {size[0]:g} x {size[1]:g}")
    return int(size[0]), int(size[1])


def exposure(film: Parameters | None) -> float:
    """Returns the exposure of a film in stops: how much brighter it shows what is there."""
    if film is None:
        return 0.0
    seconds, iso = film.number("exposuretime", 1.0), film.number("iso", 100.0)
    return math.log2(seconds * iso / 100.0) if seconds > 0.0 and iso > 0.0 else 0.0


def camera(kind: str, parameters: Parameters, to_world: Doubles, size: tuple[int, int], files: PbrtFiles) -> Camera:
    """Makes a camera of a type.

    to_world: (4, 4) map from the camera's space, which looks along z with y up and x to the right, to our world.
    """
    if kind not in CAMERAS:
        known = ", ".join(CAMERAS)
        raise parameters.error(f"a camera of type {kind[:80]!r} is not supported; there are: {known}")
    x, y, z, eye = to_world[:3, :].T
    lengths = np.linalg.norm([x, y, z], axis=1)
    right, up, forward = unit(x), unit(y), unit(z)
    is_square = max(abs(right @ up), abs(up @ forward), abs(forward @ right)) < LIKENESS
    if not (is_square and lengths.min() > (1.0 - LIKENESS) * lengths.max()):
        raise parameters.error("the transform of the camera stretches the picture, which is not supported")
    for name in ("screenwindow", "frameaspectratio", "shutteropen", "shutterclose"):
        if name in parameters.named:
            files.tell(parameters.place, f"{name} of a camera counts for nothing")
    parameters.skip("screenwindow", "frameaspectratio", "shutteropen", "shutterclose", "diagonal")
    if kind in LENSES:
        files.lose(parameters.place, f"a {kind} camera is replaced by a perspective one")
    unit_length = float(lengths[0])
    fov, height = CAMERAS[kind](parameters, size)
    radius = parameters.number("lensradius", 0.0, low=0.0)
    distance = parameters.number("focaldistance", 1e6)
    if radius > 0.0 and not distance > 0.0:
        raise parameters.error(f"expected a focaldistance above 0, got {distance:g}")
    return Camera(
        eye=triple(eye),
        forward=triple(forward),
        up=triple(unit(up - (up @ forward) * forward)),
        vertical_fov=fov,
        resolution=size,
        aperture=radius * unit_length,
        focus=distance * unit_length if radius > 0.0 else 0.0,
        height=None if height is None else height * unit_length,
    )


def perspective(parameters: Parameters, size: tuple[int, int]) -> tuple[float, None]:
    """Returns the vertical field of view of a camera; a file gives that of the shorter side."""
    fov = parameters.number("fov", 90.0)
    if not 0.0 < fov < 180.0:
        raise parameters.error(f"expected a fov between 0 and 180 degrees, got {fov:g}")
    higher = max(size[1] / size[0], 1.0)
    return math.degrees(2.0 * math.atan(math.tan(math.radians(fov / 2.0)) * higher)), None


def orthographic(_: Parameters, size: tuple[int, int]) -> tuple[float, float]:
    """Returns the height of what a camera without perspective sees: the shorter side is from -1 to 1."""
    return VERTICAL_FOV, 2.0 * max(size[1] / size[0], 1.0)


def spherical(parameters: Parameters, size: tuple[int, int]) -> tuple[float, None]:
    """Returns the field of view of a camera that stands for one that sees all around."""
    parameters.skip(*parameters.named)
    return perspective(Parameters(parameters.kind, parameters.place), size)


def realistic(parameters: Parameters, size: tuple[int, int]) -> tuple[float, None]:
    """Returns the field of view of a camera without a lens, of the focal length that is in the name of its file."""
    found = FOCAL_LENGTH.search(parameters.text("lensfile", ""))
    height = parameters.number("diagonal", DIAGONAL, low=0.0) * size[1] / math.hypot(*size)
    parameters.skip(*parameters.named)
    return math.degrees(2.0 * math.atan(0.5 * height / max(float(found[1]) if found else NORMAL_LENGTH, 1.0))), None


CAMERAS: dict[str, Callable[[Parameters, tuple[int, int]], tuple[float, float | None]]] = {
    "perspective": perspective,
    "orthographic": orthographic,
    "realistic": realistic,
    "spherical": spherical,
}
#: Those that there are none of here.
LENSES = ("realistic", "spherical")
