"""This module makes lights of those of UsdLux: what has a size is a surface that glows, or light from all around."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from pxr import Usd, UsdLux

from scenes.document import EnvironmentSource, LightSource, Origin
from scenes.errors import SceneFileError
from scenes.files.source_file import OutsideError
from scenes.gltf.pictures import Lookup, Map
from scenes.gltf.surfaces import GltfSurface
from scenes.lights import DistantSource, PointSource, SpotSource
from scenes.lights.spot import LEAST_CONE
from scenes.materials.microfacets import BLACK, multiplied
from scenes.meshes.curves import Turned, changed
from scenes.meshes.geometry import rewound
from scenes.meshes.shapes import cone, rectangle
from scenes.model import Color, Doubles, Floats, Material, Mesh
from scenes.motion.transforms import Transform, quaternion, rotation
from scenes.pictures.environment_file import MAX_RADIANCE
from scenes.usd.file import UsdFile
from scenes.usd.pictures import Asked, UsdPictures, asset_of, radiance_of
from scenes.usd.shapes import LEAST_SIZE, ball, turned

FORWARD = np.array([0.0, 0.0, -1.0])
#: Degrees of a sun that says nothing, and of a cone that is none.
SUN, NO_CONE = 0.53, 180.0
#: The largest radius of the disc of a sun, degrees.
MAX_SUN = 89.0
#: The middle of a picture is along +z there and along -z here.
HALF_TURN = rotation(quaternion(np.array([0.0, 1.0, 0.0]), 180.0))
#: From a frame whose y is up to one whose z is.
Z_UP = rotation(quaternion(np.array([1.0, 0.0, 0.0]), 90.0))


@dataclass(frozen=True, eq=False)
class Lamp:
    """Holds a surface that glows, and its picture in a surface of a material."""

    shape: Mesh | Turned
    surface: GltfSurface


@dataclass(frozen=True, eq=False)
class LightPrim:
    """Holds the prim of a light in its place.

    transform: where it stands, in metres.
    matrix: (4, 4), the same in the units of the file, before anything moves.
    unit: metres of these units.
    """

    file: UsdFile
    prim: Usd.Prim
    transform: Transform
    matrix: Doubles
    unit: float

    def attribute(self, name: str) -> Usd.Attribute:
        """Returns an attribute by its name, which has had no `inputs:` before 2021."""
        found = self.prim.GetAttribute(f"inputs:{name}")
        old = self.prim.GetAttribute(name)
        return old if old and old.HasAuthoredValue() and not found.HasAuthoredValue() else found

    def number(self, name: str, default: float, low: float = 0.0) -> float:
        """Returns a number that the light has."""
        return self.file.number(self.attribute(name), default, low)

    def size(self, name: str, default: float) -> float:
        """Returns a length that the light has, above 0."""
        return max(self.number(name, default), LEAST_SIZE)

    @property
    def cone(self) -> float:
        """Returns the angle of the cone that it shines into, where it says one."""
        attribute = self.attribute("shaping:cone:angle")
        return self.file.number(attribute, NO_CONE, 0.0) if attribute.HasAuthoredValue() else NO_CONE

    @property
    def picture(self) -> str:
        """Returns the name of the file of its picture, or ""."""
        return asset_of(self.file, self.attribute("texture:file"))

    @property
    def radiance(self) -> Color:
        """Returns what it shines with before its size counts: intensity, exposure, colour and temperature."""
        strength = self.number("intensity", 1.0) * 2.0 ** min(self.number("exposure", 0.0, -1e9), 1000.0)
        color = self.file.color(self.attribute("color"), (1.0, 1.0, 1.0))
        if self.file.value(self.attribute("enableColorTemperature")):
            kelvin = min(max(self.number("colorTemperature", 6500.0), 1000.0), 10_000.0)
            red, green, blue = (max(part, 0.0) for part in UsdLux.BlackbodyTemperatureAsRgb(kelvin))
            color = multiplied(color, (red, green, blue))
        return limited(color, strength)

    def per_area(self, area: float) -> Color:
        """Returns its radiance, divided by its area where it asks for that. area: in the units of the file."""
        is_normalized = bool(self.file.value(self.attribute("normalize")))
        return limited(self.radiance, 1.0 / area) if is_normalized and area > 0.0 else self.radiance

    def scale(self, *axes: int) -> float:
        """Returns by what its transform multiplies lengths, areas or volumes along some of its axes."""
        chosen = self.matrix[:3, list(axes)]
        return float(math.sqrt(max(np.linalg.det(chosen.T @ chosen), 0.0)))

    @property
    def is_point(self) -> bool:
        """Returns whether it may be taken for a light without size."""
        return bool(self.file.value(self.prim.GetAttribute("treatAsPoint")))

    def note_cone(self) -> None:
        """Notes a cone of a light that has a size."""
        if self.cone < 90.0:
            self.file.note(
                f"the {self.prim.GetTypeName()} {self.prim.GetPath()} shines to all sides: a cone is left out"
            )


def limited(color: Color, factor: float) -> Color:
    """Returns a colour times a number, each channel at most MAX_RADIANCE."""
    red, green, blue = (min(part * factor, MAX_RADIANCE) for part in color)
    return (red, green, blue)


def distant(light: LightPrim) -> LightSource:
    """Makes a light of one direction. Its irradiance is that of its disc, or its intensity where that is normalised."""
    angle = light.number("angle", SUN)
    disc = math.pi * math.sin(math.radians(min(0.5 * angle, 90.0))) ** 2
    is_normalized = bool(light.file.value(light.attribute("normalize"))) or disc == 0.0
    irradiance = limited(light.radiance, 1.0 if is_normalized else disc)
    radius = min(0.5 * angle, MAX_SUN)
    return DistantSource(FORWARD, irradiance, radius, transform=light.transform, origin=Origin(light.file.path))


def sphere(light: LightPrim) -> LightSource | Lamp:
    """Makes a sphere that glows, or a light without size: a point, or a spot where it shines into a cone.

    A small sphere of radius r and radiance L has an intensity of L pi r^2.
    """
    radius = light.number("radius", 0.5)
    size = light.scale(0, 1, 2) ** (1.0 / 3.0) * radius
    radiance = light.per_area(4.0 * math.pi * size**2)
    angle = light.cone
    if not (light.is_point or angle < 180.0 or size == 0.0):
        return Lamp(ball(radius), glowing(light, radiance))
    area = math.pi * size**2 if size > 0.0 else 0.25  # as of a normalised one, of any size
    intensity = limited(radiance, area * light.unit**2)
    origin = Origin(light.file.path)
    if angle >= 180.0:
        return PointSource(np.zeros(3), intensity, light.transform, origin)
    if not light.is_point:
        light.file.note(f"the sphere {light.prim.GetPath()} with a cone is a spot without size")
    outer = max(angle, LEAST_CONE)
    inner = outer * (1.0 - min(light.number("shaping:cone:softness", 0.0), 1.0))
    return SpotSource(np.zeros(3), FORWARD, intensity, inner, outer, transform=light.transform, origin=origin)


def rect(light: LightPrim) -> Lamp:
    """Makes a rectangle that shines along -z."""
    light.note_cone()
    width, height = light.size("width", 1.0), light.size("height", 1.0)
    radiance = light.per_area(width * height * light.scale(0, 1))
    mesh = rectangle((0.5 * width, -0.5 * height, 0.0), (-width, 0.0, 0.0), (0.0, height, 0.0), 0)
    uvs = np.array([[0.0, 1.0], [1.0, 1.0], [1.0, 0.0], [0.0, 0.0]])
    return Lamp(
        Mesh(vertices=mesh.vertices, triangles=mesh.triangles, material=0, uvs=uvs, uv_triangles=mesh.triangles),
        glowing(light, radiance),
    )


def disk(light: LightPrim) -> Lamp:
    """Makes a disk that shines along -z."""
    light.note_cone()
    radius = light.size("radius", 0.5)
    profile = np.array([[0.0, 0.0], [radius, 0.0]])
    radiance = light.per_area(math.pi * radius**2 * light.scale(0, 1))
    return Lamp(turned(lambda _: profile, "Z"), glowing(light, radiance))


def cylinder(light: LightPrim) -> Lamp:
    """Makes an open cylinder along x that shines outward."""
    light.note_cone()
    length, radius = light.size("length", 1.0), light.size("radius", 0.5)
    ends = np.array([[-0.5 * length, 0.0, 0.0], [0.5 * length, 0.0, 0.0]])
    size = light.scale(0, 1, 2) ** (2.0 / 3.0)
    radiance = light.per_area(2.0 * math.pi * radius * length * size)
    make: Callable[[int], Mesh] = lambda segments: cone(ends, (radius, radius), 0, segments=segments)  # noqa: E731
    return Lamp(Turned(ends, radius, 1, make), glowing(light, radiance))


def dome(light: LightPrim) -> EnvironmentSource:
    """Makes the light from all around: the same everywhere, or a picture of it."""
    name, radiance = light.picture, np.array(light.radiance, np.float32).reshape(1, 1, 3)
    turn = HALF_TURN
    if light.prim.GetTypeName() == "DomeLight_1":
        axis = light.file.text(light.prim.GetAttribute("poleAxis"), "scene")
        up = str(light.file.stage.GetMetadata("upAxis") or "Y") if axis == "scene" else axis
        turn = Z_UP @ HALF_TURN if up == "Z" else HALF_TURN
    if name:
        try:
            picture: Floats = radiance_of(name) * radiance
            radiance = np.minimum(picture, np.float32(MAX_RADIANCE))
        except OutsideError:
            raise
        except SceneFileError as error:
            light.file.lose(f"{light.prim.GetPath()}: {error.message}: it shines alike from everywhere")
    if light.file.text(light.attribute("texture:format"), "automatic") not in ("automatic", "latlong"):
        light.file.note("pictures of light are taken for latitude and longitude")
    return EnvironmentSource(radiance, light.transform.inner(matrix=turn), Origin(light.file.path))


def glowing(light: LightPrim, radiance: Color) -> GltfSurface:
    """Returns the surface of a lamp, black but for what it sends out."""
    return GltfSurface(Material(name=light.prim.GetName(), diffuse=BLACK, emission=radiance))


def with_picture(light: LightPrim, lamp: Lamp, pictures: UsdPictures) -> Lamp:
    """Returns a lamp with the picture that it has; on other shapes than a rectangle its mean counts."""
    name = light.picture
    number = pictures.number(Asked(name, "auto", not pictures.is_srgb(name, "auto"))) if name else None
    if number is not None:
        lamp.surface.maps["emission_map"] = Map(Lookup(number))
    return lamp


def mirrored(shape: Mesh | Turned) -> Mesh | Turned:
    """Returns a shape of which the other winding is in front, as under a transform that mirrors."""
    return changed(shape, rewound)


#: Makers of lights by the type of the prim.
LIGHTS: dict[str, Callable[[LightPrim], Any]] = {
    "DistantLight": distant,
    "SphereLight": sphere,
    "RectLight": rect,
    "DiskLight": disk,
    "CylinderLight": cylinder,
    "DomeLight": dome,
    "DomeLight_1": dome,
}
