"""This module makes lights: one function for each type that is no shape, found by its name in `LIGHTS`, and what shapes
emit.

A colour in three channels is radiance or intensity as it stands; of spectra only the shape counts, at a luminance of 1.
Scale multiplies both, and a power, in watts here, replaces what they are in all.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from scenes.colors.palette import mean_color
from scenes.document import EnvironmentSource, LightSource, Origin
from scenes.lights import DistantSource, PointSource, SpotSource
from scenes.materials.microfacets import BLACK, WHITE, multiplied, scaled
from scenes.model import Color, Doubles, Floats, Texture
from scenes.motion.transforms import WORLD, Transform, scaling
from scenes.pbrt.colors import LIGHT, color
from scenes.pbrt.files import PbrtFiles
from scenes.pbrt.parameters import Parameters
from scenes.pictures.environment_file import MAX_RADIANCE, MAX_TEXELS, check_radiance, read_environment
from scenes.pictures.texture_file import read_texture

#: Red, green and blue of a luminance.
LUMINANCE = np.array([0.2126, 0.7152, 0.0722])
PICTURE_FORMATS = ("PNG", "JPEG", "PPM", "TGA", "BMP", "WEBP")
#: What there is instead of a picture of light that cannot be read.
UNKNOWN_LIGHT = "white light stands for it, and the exposure is chosen by what is seen"
#: Samples along a side of a texel of an environment where its picture is mapped anew.
SAMPLES = 2
#: From the axes of an environment here, -z in the middle of a row and y up, to those there, -x in the middle and z up.
OWN_AXES: Doubles = np.array([[0.0, 0.0, 1.0, 0.0], [-1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0]])


@dataclass(frozen=True, eq=False)
class Spot:
    """Says where a light stands. matrix: (4, 4), from its space to the world."""

    matrix: Doubles
    origin: Origin

    @property
    def transform(self) -> Transform:
        """Returns the matrix as the transform of a light."""
        return WORLD.inner(matrix=self.matrix)


def strength(parameters: Parameters, files: PbrtFiles, name: str) -> Color:
    """Takes the colour of a light, times its scale."""
    found = color(parameters, files, name, LIGHT)
    return limited(parameters, scaled(WHITE if found is None else found, factor(parameters)))


def factor(parameters: Parameters) -> float:
    """Takes the scale of a light."""
    return parameters.number("scale", 1.0, low=0.0)


def limited(parameters: Parameters, light: Color) -> Color:
    """Returns radiance or intensity. Raises SceneFileError where it is more than float32 can square."""
    if not max(light) <= MAX_RADIANCE:
        raise parameters.error(f"expected a light of at most {MAX_RADIANCE:g}, got {max(light):g}")
    return light


def point(parameters: Parameters, files: PbrtFiles, spot: Spot) -> PointSource:
    position, intensity = parameters.point("from", (0.0, 0.0, 0.0)), strength(parameters, files, "I")
    power = parameters.number("power", 0.0)
    if power > 0.0:
        intensity = limited(parameters, scaled(intensity, power / (4.0 * math.pi)))
    return PointSource(position, intensity, transform=spot.transform, origin=spot.origin)


def goniometric(parameters: Parameters, files: PbrtFiles, spot: Spot) -> PointSource:
    """Makes a light that shines by a picture, of which a point light is left."""
    files.tell(parameters.place, "a goniometric light shines alike in all directions: its picture counts for nothing")
    parameters.skip("filename")
    return point(parameters, files, spot)


def spotlight(parameters: Parameters, files: PbrtFiles, spot: Spot) -> SpotSource:
    """Makes a spot, which fades as it does here."""
    start, target = parameters.point("from", (0.0, 0.0, 0.0)), parameters.point("to", (0.0, 0.0, 1.0))
    outer = parameters.number("coneangle", 30.0, low=0.01, high=180.0)
    inner = max(outer - parameters.number("conedeltaangle", 5.0, low=0.0), 0.0)
    intensity, power = strength(parameters, files, "I"), parameters.number("power", 0.0)
    if power > 0.0:
        mean_cosine = 0.5 * (math.cos(math.radians(inner)) + math.cos(math.radians(outer)))
        intensity = limited(parameters, scaled(intensity, power / (2.0 * math.pi * (1.0 - mean_cosine))))
    return SpotSource(
        position=start,
        direction=along(parameters, target - start),
        intensity=intensity,
        inner_angle=inner,
        outer_angle=outer,
        transform=spot.transform,
        origin=spot.origin,
    )


def distant(parameters: Parameters, files: PbrtFiles, spot: Spot) -> DistantSource:
    """Makes a light of one direction."""
    start, target = parameters.point("from", (0.0, 0.0, 0.0)), parameters.point("to", (0.0, 0.0, 1.0))
    irradiance, given = strength(parameters, files, "L"), parameters.number("illuminance", 0.0)
    if given > 0.0:
        irradiance = limited(parameters, scaled(irradiance, given))
    return DistantSource(along(parameters, target - start), irradiance, transform=spot.transform, origin=spot.origin)


def along(parameters: Parameters, direction: Doubles) -> Doubles:
    """Returns a direction. Raises SceneFileError for one without length."""
    if not direction.any():
        raise parameters.error("expected from and to of a light to differ")
    return direction


def infinite(parameters: Parameters, files: PbrtFiles, spot: Spot) -> EnvironmentSource:
    """Makes the light from all around: the same everywhere, or a picture of it."""
    item, given = parameters.find("filename", "string"), parameters.number("illuminance", 0.0)
    if "portal" in parameters.named:
        files.tell(parameters.place, "the portal of an infinite light counts for nothing: it shines from all around")
    parameters.skip("portal")
    if item is not None and "L" in parameters.named:
        raise parameters.error("expected an infinite light to have one of L and filename, got both")
    radiance = None if item is None else files.picture(item, read_environment, UNKNOWN_LIGHT)
    if item is None or radiance is None:
        light = scaled(strength(parameters, files, "L"), given / math.pi if given > 0.0 else 1.0)
        alike = np.array(limited(parameters, light), np.float32).reshape(1, 1, 3)
        return EnvironmentSource(alike, origin=spot.origin)
    if radiance.shape[0] == radiance.shape[1]:
        radiance = unfolded(parameters, radiance)
    else:
        files.tell(item.place, "a picture of light that is not square is taken for one in latitude and longitude")
    radiance = radiance * np.float32(factor(parameters) * (given / illuminance(radiance) if given > 0.0 else 1.0))
    check_radiance(item.place.path, radiance)
    matrix = spot.matrix @ OWN_AXES
    if np.linalg.det(matrix[:3, :3]) < 0.0:  # axes are turned alone: what mirrors them mirrors the picture
        radiance, matrix = np.ascontiguousarray(radiance[:, ::-1]), matrix @ scaling(np.array([-1.0, 1.0, 1.0]))
    return EnvironmentSource(radiance, WORLD.inner(matrix=matrix), spot.origin)


def illuminance(radiance: Floats) -> float:
    """Returns what a patch that faces up gets of the upper half of an image in latitude and longitude; 1 for none."""
    height, width, _ = radiance.shape
    polar = math.pi * (np.arange(height) + 0.5) / height
    weights = np.where(polar < math.pi / 2, np.cos(polar) * np.sin(polar), 0.0) * 2.0 * math.pi**2 / (height * width)
    found = float(weights @ (radiance.astype(np.float64) @ LUMINANCE).sum(axis=1))
    return found if found > 0.0 else 1.0


def unfolded(parameters: Parameters, square: Floats) -> Floats:
    """Returns a square picture of the sphere of directions in latitude and longitude, (n, 2 n, 3) float32."""
    side = len(square)
    if 2 * side * side > MAX_TEXELS:
        raise parameters.error(f"expected a picture of light of at most {math.isqrt(MAX_TEXELS // 2)} rows, got {side}")
    sums = np.zeros((side, 2 * side, 3), np.float32)
    offsets = (np.arange(SAMPLES) + 0.5) / SAMPLES
    for down in offsets:
        polar = math.pi * (np.arange(side)[:, None] + down) / side
        for right in offsets:
            around = math.pi * (np.arange(2 * side)[None] + right) / side
            rows, columns = (np.minimum((each * side).astype(np.int64), side - 1) for each in folded(polar, around))
            sums += square[rows, columns]
    return sums / np.float32(SAMPLES * SAMPLES)


def folded(polar: Doubles, around: Doubles) -> tuple[Doubles, Doubles]:
    """Returns how far down and how far right, 0..1, a direction is on the square that has equal areas for equal angles.

    Clarberg: Fast Equal-Area Mapping of the (Hemi)Sphere using SIMD, 2008.

    polar, around: angles from z and about it from x over y, radians.
    """
    x, y, z = np.broadcast_arrays(np.sin(polar) * np.cos(around), np.sin(polar) * np.sin(around), np.cos(polar))
    radius = np.sqrt(1.0 - np.abs(z))
    rise = 2.0 / math.pi * np.arctan2(np.abs(y), np.abs(x)) * radius
    right, down = radius - rise, rise
    below = z < 0.0
    right, down = np.where(below, 1.0 - down, right), np.where(below, 1.0 - right, down)
    return 0.5 * (np.copysign(down, y) + 1.0), 0.5 * (np.copysign(right, x) + 1.0)


#: Makers of lights by their names; what shines as a shape is an AreaLightSource.
LIGHTS: dict[str, Callable[[Parameters, PbrtFiles, Spot], LightSource | EnvironmentSource]] = {
    "point": point,
    "spot": spotlight,
    "goniometric": goniometric,
    "distant": distant,
    "infinite": infinite,
}


@dataclass(frozen=True, eq=False)
class Glow:
    """Says what a shape emits.

    radiance: of each of its points, W/(m^2 sr), or, where there is a power, relative to that.
    power: W, of each of its lights, or 0.
    both_sides: whether it shines to both sides.
    picture: what multiplies the radiance.
    """

    radiance: Color = BLACK
    power: float = 0.0
    both_sides: bool = False
    picture: Texture | None = None


def glow(kind: str, parameters: Parameters, files: PbrtFiles) -> Glow:
    """Returns what an area light of a type emits."""
    if kind != "diffuse":
        raise parameters.error(f"unknown area light {kind[:80]!r}; there are: diffuse")
    made = Glow(
        power=max(parameters.number("power", 0.0), 0.0), both_sides=parameters.flag("twosided", False), picture=None
    )
    item = parameters.find("filename", "string")
    if item is None:
        return replace(made, radiance=strength(parameters, files, "L"))
    if "L" in parameters.named:
        raise parameters.error("expected an area light to have one of L and filename, got both")
    light = limited(parameters, scaled(WHITE, factor(parameters)))
    shown = files.picture(item, picture_of_light, UNKNOWN_LIGHT)
    if not isinstance(shown, np.ndarray):
        return replace(made, radiance=light, picture=shown)
    files.tell(item.place, "an area light of a picture beyond 8 bits shines as its mean")
    red, green, blue = shown.mean(axis=(0, 1)).tolist()
    return replace(made, radiance=limited(parameters, multiplied(light, (red, green, blue))))


def picture_of_light(path: Path) -> Texture | Floats:
    """Returns a picture of 8 bits as a texture, and another one as its radiance, (height, width, 3)."""
    if path.suffix.lower() in (".png", ".jpg", ".jpeg", ".ppm", ".tga", ".bmp", ".webp"):
        return replace(read_texture(path, PICTURE_FORMATS), alpha=None)
    return read_environment(path)


def radiance_of(given: Glow, parameters: Parameters, lamps: int, area: float) -> Color:
    """Returns what each point of a shape emits.

    lamps: how many lights it is.
    area: of all of them in the world, m^2.
    """
    if given.power == 0.0 or area == 0.0:
        return given.radiance
    mean = float(np.array(mean_color(given.picture.pixels)) @ LUMINANCE) if given.picture is not None else 1.0
    sides = 2.0 if given.both_sides else 1.0
    of_each = given.power * lamps / (math.pi * area * sides * max(mean, 1e-6))
    return limited(parameters, scaled(given.radiance, of_each))
