"""This module makes light sources of the emitters that are no shapes: one function for each type, found by its name in
`EMITTERS`."""

from collections.abc import Callable

import numpy as np

from scenes.document import EnvironmentSource, LightSource, Origin
from scenes.environment_file import MAX_RADIANCE, read_environment
from scenes.lights import DistantSource, PointSource, SpotSource
from scenes.mitsuba.properties import Properties
from scenes.model import Color, Doubles
from scenes.transforms import IDENTITY, WORLD, Transform, quaternion, rotation

WHITE: Color = (1.0, 1.0, 1.0)
#: The middle of a picture is along +z there and along -z here.
HALF_TURN = rotation(quaternion(np.array([0.0, 1.0, 0.0]), 180.0))
FORWARD = np.array([0.0, 0.0, 1.0])
#: Degrees of a spot that says nothing, and the share of them up to which it does not fade.
CUTOFF, BEAM_SHARE = 20.0, 0.75


def origin_of(properties: Properties) -> Origin:
    """Returns where an emitter is in its file."""
    return Origin(properties.element.path, properties.element.line)


def placed(matrix: Doubles | None) -> Transform:
    """Returns the transform of what stands under a matrix."""
    return WORLD if matrix is None else WORLD.inner(matrix=matrix)


def point(properties: Properties) -> PointSource:
    """Makes a point light at its position, or at the middle of its transform."""
    intensity = properties.light("intensity", WHITE)
    matrix = properties.matrix("to_world")
    position = properties.point("position", (0.0, 0.0, 0.0)) if matrix is None else matrix[:3, 3]
    return PointSource(position, intensity, origin=origin_of(properties))


def spot(properties: Properties) -> SpotSource:
    """Makes a spot that shines along +z of its transform."""
    cutoff = properties.number("cutoff_angle", CUTOFF)
    beam = properties.number("beam_width", BEAM_SHARE * cutoff)
    if not 0.0 <= beam <= cutoff <= 180.0:
        message = f"expected 0 <= beam_width <= cutoff_angle <= 180 degrees, got {beam:g} and {cutoff:g}"
        raise properties.element.error(message)
    return SpotSource(
        position=np.zeros(3),
        direction=FORWARD,
        intensity=properties.light("intensity", WHITE),
        inner_angle=beam,
        outer_angle=cutoff,
        transform=placed(properties.matrix("to_world")),
        origin=origin_of(properties),
    )


def directional(properties: Properties) -> DistantSource:
    """Makes a distant light along its direction, or along +z of its transform."""
    matrix = properties.matrix("to_world")
    direction = properties.point("direction", (0.0, 0.0, 1.0)) if matrix is None else FORWARD
    if not direction.any():
        raise properties.element.error("expected a direction of some length")
    irradiance = properties.light("irradiance", WHITE)
    return DistantSource(direction, irradiance, transform=placed(matrix), origin=origin_of(properties))


def constant(properties: Properties) -> EnvironmentSource:
    """Makes an environment of the same radiance from all around."""
    radiance = np.array(properties.light("radiance", WHITE), np.float32).reshape(1, 1, 3)
    return EnvironmentSource(radiance, origin=origin_of(properties))


def envmap(properties: Properties) -> EnvironmentSource:
    """Makes an environment of the radiance of a picture."""
    scale = properties.number("scale", 1.0)
    if not 0.0 <= scale <= MAX_RADIANCE:
        raise properties.element.error(f"expected a scale from 0 to {MAX_RADIANCE:g}, got {scale:g}")
    path = properties.element.path.parent / properties.text("filename")
    matrix = properties.matrix("to_world")
    turned = (IDENTITY if matrix is None else matrix) @ HALF_TURN
    radiance = read_environment(path, (scale, scale, scale))
    return EnvironmentSource(radiance, placed(turned), origin_of(properties))


#: Readers of emitters by their names; emitters in shapes are called `area`.
EMITTERS: dict[str, Callable[[Properties], LightSource | EnvironmentSource]] = {
    "constant": constant,
    "directional": directional,
    "envmap": envmap,
    "point": point,
    "spot": spot,
}
