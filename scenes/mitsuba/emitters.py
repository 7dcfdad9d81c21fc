"""This module makes light sources of the emitters that are no shapes: one function for each type, found by its name in
`EMITTERS`."""

import math
from collections.abc import Callable

import numpy as np

from scenes.document import EnvironmentSource, LightSource, Origin
from scenes.lights import DistantSource, PointSource, SpotSource
from scenes.materials.microfacets import WHITE, multiplied, scaled
from scenes.materials.patterns import Pattern, stretched
from scenes.meshes.geometry import unit
from scenes.mitsuba.lens import vertical_fov
from scenes.mitsuba.properties import Properties
from scenes.mitsuba.textures import MitsubaTextures
from scenes.model import Color, Doubles
from scenes.motion.transforms import IDENTITY, WORLD, Transform, quaternion, rotation
from scenes.pictures.daylight import (
    LEAST_TURBIDITY,
    MOST_TURBIDITY,
    SUN_RADIUS,
    PlaceAndTime,
    sky,
    sun_irradiance,
    sun_position,
)
from scenes.pictures.environment_file import MAX_RADIANCE, read_environment
from scenes.playing.evaluator import axes_of

Source = LightSource | EnvironmentSource

#: The middle of a picture is along +z there and along -z here.
GREY_TURN = rotation(quaternion(np.array([0.0, 1.0, 0.0]), 180.0))
#: From a frame whose y is up to one whose z is.
Z_UP: Doubles = np.array([[1.0, 0.0, 0.0, 0.0], [0.0, 0.0, -1.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0]])
#: Of a date, and degrees of half a sun.
MAX_YEAR, MAX_SUN_RADIUS = 1e5, 90.0
FORWARD = np.array([0.0, 0.0, 1.0])
#: Degrees of a spot that says nothing, and the share of them up to which it does not fade.
CUTOFF, BEAM_SHARE = 20.0, 0.75
#: Degrees of a spot beyond which its texture has no edge, and texels along each side of it that count.
MAX_CUTOFF, CONE_SIDE = 89.0, 256
#: Emitters that are left out.
LEFT_OUT = ("collimated", "directionalarea", "timed_sunsky", "volumelight")


def origin_of(properties: Properties) -> Origin:
    """Returns where an emitter is in its file."""
    return Origin(properties.element.path, properties.element.line)


def placed(matrix: Doubles | None) -> Transform:
    """Returns the transform of what stands under a matrix."""
    return WORLD if matrix is None else WORLD.inner(matrix=matrix)


def point(_: MitsubaTextures, properties: Properties) -> list[Source]:
    """Makes a point light at its position, or at the middle of its transform."""
    intensity = properties.light("intensity", WHITE)
    matrix = properties.matrix("to_world")
    position = properties.point("position", (0.0, 0.0, 0.0)) if matrix is None else matrix[:3, 3]
    return [PointSource(position, intensity, origin=origin_of(properties))]


def spot(textures: MitsubaTextures, properties: Properties) -> list[Source]:
    """Makes a spot that shines along +z of its transform."""
    cutoff = properties.number("cutoff_angle", CUTOFF)
    beam = properties.number("beam_width", BEAM_SHARE * cutoff)
    if not 0.0 <= beam <= cutoff <= 180.0:
        message = f"expected 0 <= beam_width <= cutoff_angle <= 180 degrees, got {beam:g} and {cutoff:g}"
        raise properties.element.error(message)
    intensity = properties.light("intensity", WHITE)
    for element in properties.within("texture"):
        intensity = multiplied(intensity, cone_mean(textures.texture(element), beam, cutoff))
        properties.reading.note_loss(element, "a spot shines evenly with the mean of its texture")
    return [spot_of(properties, intensity, beam, cutoff)]


def spot_of(properties: Properties, intensity: Color, beam: float, cutoff: float) -> SpotSource:
    """Returns a spot along +z of its transform. beam, cutoff: as of `cone_mean`."""
    transform, origin = placed(properties.matrix("to_world")), origin_of(properties)
    return SpotSource(np.zeros(3), FORWARD, intensity, beam, cutoff, transform=transform, origin=origin)


def cone_mean(pattern: Pattern, beam: float, cutoff: float) -> Color:
    """Returns the mean of a texture that a spot shines through, each texel weighted by the light that goes there.

    beam, cutoff: degrees from the axis, up to which the light does not fade, and at which it ends.
    """
    if pattern.texture is None or cutoff >= MAX_CUTOFF:
        return pattern.mean
    values = stretched(pattern.values, (CONE_SIDE, CONE_SIDE))
    across = math.tan(math.radians(cutoff)) * (2.0 * (np.arange(CONE_SIDE) + 0.5) / CONE_SIDE - 1.0)
    cosine = 1.0 / np.sqrt(1.0 + across[:, None] ** 2 + across**2)
    angle = np.degrees(np.arccos(cosine))
    fading = np.clip((cutoff - angle) / max(cutoff - beam, 1e-6), 0.0, 1.0)
    weights = fading * cosine**3
    red, green, blue = (np.einsum("rc,rck->k", weights, values) / weights.sum()).tolist()
    return (red, green, blue)


def projector(textures: MitsubaTextures, properties: Properties) -> list[Source]:
    """Makes a spot that is as bright along its axis as a projector is in the mean of its picture, whose cone is as
    large as that."""
    pattern = textures.pattern(properties, "irradiance", WHITE)
    height, width = pattern.values.shape[:2]
    tangent = math.tan(math.radians(vertical_fov(properties, width / height) / 2.0))
    cutoff = math.degrees(math.atan(2.0 * tangent * math.sqrt(width / height / math.pi)))
    scale = scale_of(properties, "scale")
    properties.reading.note_loss(properties.element, "a projector is a spot with the mean of its picture")
    return [spot_of(properties, scaled(pattern.mean, math.pi * scale), cutoff, cutoff)]


def directional(_: MitsubaTextures, properties: Properties) -> list[Source]:
    """Makes a distant light along its direction, or along +z of its transform."""
    matrix = properties.matrix("to_world")
    direction = properties.point("direction", (0.0, 0.0, 1.0)) if matrix is None else FORWARD
    if not direction.any():
        raise properties.element.error("expected a direction of some length")
    irradiance = properties.light("irradiance", WHITE)
    return [DistantSource(direction, irradiance, transform=placed(matrix), origin=origin_of(properties))]


def constant(_: MitsubaTextures, properties: Properties) -> list[Source]:
    """Makes an environment of the same radiance from all around."""
    radiance = np.array(properties.light("radiance", WHITE), np.float32).reshape(1, 1, 3)
    return [EnvironmentSource(radiance, origin=origin_of(properties))]


def envmap(_: MitsubaTextures, properties: Properties) -> list[Source]:
    """Makes an environment of the radiance of a picture."""
    scale = scale_of(properties, "scale")
    path = properties.file()
    matrix = properties.matrix("to_world")
    turned = (IDENTITY if matrix is None else matrix) @ GREY_TURN
    radiance = read_environment(path, (scale, scale, scale))
    return [EnvironmentSource(radiance, placed(turned), origin_of(properties))]


# --- daylight ---------------------------------------------------------------------------------------------------------


def daylight(_: MitsubaTextures, properties: Properties) -> list[Source]:
    """Makes the sky, the sun, or both, of a clear day."""
    turbidity = properties.number("turbidity", 3.0)
    if not LEAST_TURBIDITY <= turbidity <= MOST_TURBIDITY:
        properties.note(f"a turbidity is from {LEAST_TURBIDITY:g} to {MOST_TURBIDITY:g}: the nearest of these counts")
    frame = frame_of(properties)
    to_sun = direction_to_sun(properties, axes_of(frame))
    sources: list[Source] = []
    if properties.type != "sun":
        sources.append(sky_of(properties, frame, to_sun, turbidity))
    if properties.type != "sky":
        sources.append(sun_of(properties, frame, to_sun, turbidity))
    properties.left_out("albedo", "extend", "stretch")
    properties.finish("resolution", "samples", "sampling_weight", "complex_sun")
    return sources


def frame_of(properties: Properties) -> Doubles:
    """Returns the map (4, 4) to the world of a sky whose y is up. In 3 its z is, and its y is behind."""
    matrix = properties.matrix("to_world")
    placed_there = IDENTITY if matrix is None else matrix
    return placed_there if properties.reading.is_old else placed_there @ Z_UP


def direction_to_sun(properties: Properties, axes: Doubles) -> Doubles:
    """Returns the direction (3,) to the sun in a frame whose y is up, given in the world or by a time at a place.

    axes: (3, 3) rows that are the axes of the frame in the world.
    """
    times = {name: properties.number(name, default) for name, default in PlaceAndTime()._asdict().items()}
    given = properties.point("sun_direction", (0.0, 0.0, 0.0))
    if given.any():
        return axes @ unit(given)
    if not (abs(times["year"]) <= MAX_YEAR and 1.0 <= times["month"] <= 12.0):
        raise properties.element.error("expected a year and a month of a calendar")
    zenith, azimuth = sun_position(PlaceAndTime(**times))
    north, east = math.cos(azimuth) * math.sin(zenith), math.sin(azimuth) * math.sin(zenith)
    # Of 3 x is to the south and y, which is behind here, to the west.
    across, behind = (east, -north) if properties.reading.is_old else (-north, east)
    return np.array([across, math.cos(zenith), behind])


def sky_of(properties: Properties, frame: Doubles, to_sun: Doubles, turbidity: float) -> EnvironmentSource:
    scale = scale_of(properties, "sky_scale", "scale")
    properties.note("the sky is that of Preetham, Shirley and Smits, over ground that is black")
    return EnvironmentSource(scale * sky(to_sun, turbidity), placed(frame), origin_of(properties))


def sun_of(properties: Properties, frame: Doubles, to_sun: Doubles, turbidity: float) -> DistantSource:
    scale = scale_of(properties, "sun_scale", "scale")
    radius = SUN_RADIUS * properties.number("sun_radius_scale", 1.0)
    radius = 0.5 * properties.number("sun_aperture", 2.0 * radius)
    if not 0.0 <= radius < MAX_SUN_RADIUS:
        raise properties.element.error(f"expected a sun with a radius below {MAX_SUN_RADIUS:g} degrees, got {radius:g}")
    red, green, blue = (scale * channel for channel in sun_irradiance(to_sun, turbidity))
    direction = -axes_of(frame).T @ to_sun
    if not direction.any():
        raise properties.element.error("to_world turns the sun to no direction")
    return DistantSource(direction, (red, green, blue), radius, origin=origin_of(properties))


def scale_of(properties: Properties, *names: str) -> float:
    """Returns the product of parameters that are factors of light, 1 where they are left out."""
    scale = math.prod(properties.number(name, 1.0) for name in names)
    if not 0.0 <= scale <= MAX_RADIANCE:
        raise properties.element.error(f"expected a scale from 0 to {MAX_RADIANCE:g}, got {scale:g}")
    return scale


#: Readers of emitters by their names; emitters in shapes are called `area`.
EMITTERS: dict[str, Callable[[MitsubaTextures, Properties], list[Source]]] = {
    "constant": constant,
    "directional": directional,
    "envmap": envmap,
    "point": point,
    "projector": projector,
    "sky": daylight,
    "spot": spot,
    "sun": daylight,
    "sunsky": daylight,
}
