"""This module reads what cameras and projectors have of a lens: fields of view, focal lengths, apertures."""

import math

from scenes.mitsuba.elements import MAX_QUOTE, listed
from scenes.mitsuba.properties import Properties
from scenes.model import FOV_AXES, fov_extent

#: Half the diagonal of the film of a small picture camera, 36 by 24 mm, and the focal length of one that says nothing.
HALF_DIAGONAL, FOCAL_LENGTH = 0.5 * math.hypot(36.0, 24.0), "50mm"


def lens(properties: Properties) -> tuple[float, float]:
    """Returns the radius of a thin lens, and the distance of what is sharp; both are zero for a pinhole."""
    if properties.type != "thinlens":
        return 0.0, 0.0
    aperture, focus = properties.number("aperture_radius", 0.0), properties.number("focus_distance", 0.0)
    if not (aperture >= 0.0 and (focus > 0.0 or aperture == 0.0)):
        wanted = "an aperture_radius of at least 0 and, with it, a focus_distance above 0"
        raise properties.element.error(f"expected {wanted}, got {aperture:g} and {focus:g}")
    return aperture, focus


def fov_axis(properties: Properties) -> str:
    """Returns along which axis of the picture the field of view is what is kept, whatever the picture's shape."""
    if "fov" not in properties.named:
        return "diagonal"
    axis = properties.text("fov_axis", "x")
    if axis not in FOV_AXES:
        raise properties.named["fov_axis"].error(f"unknown fov_axis {axis!r}; there are: {listed(FOV_AXES)}")
    return axis


def vertical_fov(properties: Properties, aspect: float) -> float:
    """Returns the vertical field of view in degrees. aspect: width over height."""
    fov = properties.number("fov", diagonal_fov(properties))
    if not 0.0 < fov < 180.0:
        raise properties.element.error(f"expected a fov between 0 and 180 degrees, got {fov:g}")
    return math.degrees(2.0 * math.atan(math.tan(math.radians(fov / 2.0)) / fov_extent(fov_axis(properties), aspect)))


def diagonal_fov(properties: Properties) -> float:
    """Returns the field of view in degrees along the diagonal of a small picture camera with a focal length."""
    text = properties.text("focal_length", FOCAL_LENGTH)
    try:
        length = float(text.strip().removesuffix("mm"))
    except ValueError:
        length = math.nan
    if not 0.0 < length < math.inf:
        raise properties.element.error(f"expected a focal_length such as 50mm, got {text[:MAX_QUOTE]!r}")
    return math.degrees(2.0 * math.atan(HALF_DIAGONAL / length))
