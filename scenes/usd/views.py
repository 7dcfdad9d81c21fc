"""This module makes the cameras of a stage."""

import math

import numpy as np
from pxr import Usd, UsdGeom

from scenes.document import Document
from scenes.gltf import new_name
from scenes.model import Camera, Doubles
from scenes.motion.tracks import RotationTrack, Track, VectorTrack, with_ends
from scenes.motion.transforms import axis_and_degrees, quaternion_of
from scenes.usd.file import UsdFile
from scenes.usd.motion import Frames, matrix_of
from scenes.views.default_view import VERTICAL_FOV
from scenes.views.viewing import look_at, triple

#: Rows of the picture that a camera proposes; its columns follow from its apertures.
PICTURE_HEIGHT, MAX_PICTURE_WIDTH = 600, 16_384
#: Apertures and focal lengths are in tenths of a unit, and at least so large.
LENS_UNIT, LEAST_SIZE = 0.1, 1e-6
#: Apertures and the focal length of a camera that says nothing: those of a film of 35 mm with a lens of 50 mm.
WIDTH, HEIGHT, FOCAL_LENGTH = 20.955, 15.2908, 50.0


def add_camera(file: UsdFile, document: Document, prim: Usd.Prim, matrix: Doubles) -> str | None:
    """Adds a camera, which looks along -z of its place (4, 4); returns its name, or None where it looks nowhere."""
    seen = axes_at(matrix)
    if seen is None:
        file.lose(f"the camera {prim.GetPath()} is left out: its transform leaves its orientation open")
        return None
    forward, up = seen
    lens = UsdGeom.Camera(prim)
    unit_length = float(np.cbrt(abs(np.linalg.det(matrix[:3, :3]))))
    width = file.number(lens.GetHorizontalApertureAttr(), WIDTH, LEAST_SIZE)
    height = file.number(lens.GetVerticalApertureAttr(), HEIGHT, LEAST_SIZE)
    focal = file.number(lens.GetFocalLengthAttr(), FOCAL_LENGTH, LEAST_SIZE)
    stop, focus = file.number(lens.GetFStopAttr(), 0.0, 0.0), file.number(lens.GetFocusDistanceAttr(), 0.0, 0.0)
    if lens.GetHorizontalApertureOffsetAttr().Get() or lens.GetVerticalApertureOffsetAttr().Get():
        file.note("offsets of the apertures of cameras count for nothing")
    range_attribute = lens.GetClippingRangeAttr()
    near = file.value(range_attribute) if range_attribute.HasAuthoredValue() else None
    is_parallel = file.text(lens.GetProjectionAttr()) == UsdGeom.Tokens.orthographic
    has_lens = stop > 0.0 and focus > 0.0 and not is_parallel
    name = new_name(prim.GetName(), document.cameras)
    degrees = math.degrees(2.0 * math.atan(0.5 * height / focal))
    document.cameras[name] = Camera(
        eye=triple(matrix[:3, 3]),
        forward=triple(forward),
        up=triple(up),
        vertical_fov=VERTICAL_FOV if is_parallel else degrees,
        near=max(float(near[0]), 0.0) * unit_length if near is not None else 0.0,
        resolution=(min(max(round(PICTURE_HEIGHT * width / height), 1), MAX_PICTURE_WIDTH), PICTURE_HEIGHT),
        aperture=0.5 * LENS_UNIT * focal / stop * unit_length if has_lens else 0.0,
        focus=focus * unit_length if has_lens else 0.0,
        height=LENS_UNIT * height * unit_length if is_parallel else None,
    )
    return name


def axes_at(matrix: Doubles) -> tuple[Doubles, Doubles] | None:
    """Returns the unit directions forward and up of a camera in a place (4, 4), or None where it has none."""
    eye = matrix[:3, 3]
    forward, up = look_at(eye, eye - matrix[:3, 2], matrix[:3, 1])
    return (forward, up) if up.any() else None


def camera_track(prim: Usd.Prim, frames: Frames, root: Doubles) -> Track | None:
    """Returns the track of a camera that moves, linear between frames; None where it looks nowhere in one of them.

    root: (4, 4), what the world of the stage is placed by.
    """
    eyes, axes, degrees = [], [], []
    for code in frames.codes:
        matrix = root @ matrix_of(UsdGeom.XformCache(code).GetLocalToWorldTransform(prim))
        seen = axes_at(matrix)
        if seen is None:
            return None
        forward, up = seen
        axis, angle = axis_and_degrees(quaternion_of(np.column_stack([np.cross(forward, up), up, -forward])))
        eyes.append(matrix[:3, 3])
        axes.append(axis)
        degrees.append(angle)
    return Track(
        transl=VectorTrack(frames.times, with_ends(np.array(eyes)), frames.shapes),
        rot=RotationTrack(frames.times, with_ends(np.array(axes)), with_ends(np.array(degrees)), frames.shapes),
    )
