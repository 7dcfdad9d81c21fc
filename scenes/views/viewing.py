"""This module says how somebody wants to look at a scene, where that is not left to its file."""

from dataclasses import dataclass, replace

import numpy as np

from scenes.errors import SceneError
from scenes.meshes.geometry import unit
from scenes.model import Camera, Doubles

Triple = tuple[float, float, float]

#: Name of the camera of a document that has none.
DEFAULT_CAMERA = "camera"


def triple(vector: Doubles) -> Triple:
    """Returns a (3,) array as a tuple of floats."""
    x, y, z = vector.tolist()
    return (x, y, z)


def look_at(eye: Doubles, target: Doubles, up: Doubles) -> tuple[Doubles, Doubles]:
    """Returns the unit forward and the unit up that is perpendicular to it; both are zeros where the arguments leave
    one undefined."""
    forward = unit(target - eye)
    upward = unit(up)
    sideways = np.cross(forward, upward)
    if np.linalg.norm(sideways) < 1e-9:
        return forward, np.zeros(3)
    return forward, unit(np.cross(sideways, forward))


@dataclass(frozen=True, kw_only=True)
class Viewing:
    """Holds what is asked for; None leaves it to the file.

    camera: the name of the camera to look through; None for the first.
    eye, target: the places to look from and to look at, world units.
    up: a direction of any length.
    vertical_fov: degrees; it gives an orthographic camera perspective.
    size: width and height of the picture in pixels.
    up_axis: "y" or "z", what is up in a file that has no camera.
    """

    camera: str | None = None
    eye: Triple | None = None
    target: Triple | None = None
    up: Triple | None = None
    vertical_fov: float | None = None
    size: tuple[int, int] | None = None
    up_axis: str | None = None

    def seen(self, camera: Camera) -> Camera:
        """Returns the camera placed and turned as it is asked for. Raises SceneError where that leaves it open how it
        is turned."""
        if self.vertical_fov is not None:
            camera = replace(camera, vertical_fov=self.vertical_fov, height=None)
        if self.eye is None and self.target is None and self.up is None:
            return camera
        eye = np.array(camera.eye if self.eye is None else self.eye)
        target = eye + np.array(camera.forward) if self.target is None else np.array(self.target)
        forward, up = look_at(eye, target, np.array(camera.up if self.up is None else self.up))
        if not up.any():
            raise SceneError("the camera looks along its up, or nowhere: choose --eye, --look-at and --up otherwise")
        return replace(camera, eye=triple(eye), forward=triple(forward), up=triple(up))


#: What is left to the file in all.
AS_THE_FILE_SAYS = Viewing()
