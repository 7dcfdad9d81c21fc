"""This module holds the model of a scene: what a file says, animated, and the still picture of it at one time.

A `Scene` is read once. `Scene.at(time)` gives a `Snapshot`: plain arrays in world space and nothing that moves.
Readers of files make scenes; renderers look at snapshots alone. World units are called metres, powers are in watts.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np
import numpy.typing as npt

from scenes.errors import SceneError

Floats = npt.NDArray[np.float32]
Doubles = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int32]
Color = tuple[float, float, float]


@dataclass(frozen=True, kw_only=True, eq=False)
class Texture:
    """Holds an image over the plane of texture coordinates.

    pixels: (height, width, 3) uint8, sRGB encoded; the first row is where v = 0, so that v runs down.
    alpha: (height, width) uint8, how much of a surface is there, or None where all of it is.
    wrap: what is beyond the image, "repeat": the image again, or "clamp": the colours of its edges.
    filter: "nearest", "bilinear", or "mip", the mean over what a pixel sees.
    is_linear: pixels are shares of 255 and not sRGB.
    colors: (height, width, 3) float32, linear, of any size and sign, what the pixels are rounded from; or None.
    """

    name: str
    pixels: npt.NDArray[np.uint8]
    alpha: npt.NDArray[np.uint8] | None = None
    wrap: str = "repeat"
    filter: str = "bilinear"
    is_linear: bool = False
    colors: Floats | None = None

    @property
    def is_plain(self) -> bool:
        """Returns whether the texture repeats and is decoded as pictures mostly are."""
        return self.wrap == "repeat" and self.filter != "nearest" and not self.is_linear


#: Fields of `Material` that are indices of textures.
PICTURES = (
    "texture",
    "cutout",
    "specular_map",
    "roughness_map",
    "metalness_map",
    "transmission_map",
    "emission_map",
    "normal_map",
    "bump_map",
)


@dataclass(frozen=True, kw_only=True)
class Material:
    """Says how a surface scatters and emits. Which fields count depends on `kind`, the name of a registered shader.

    diffuse, specular: reflectances in 0..1 per channel, linear.
    exponent: cosine power of the Phong lobe.
    mirror_share: of a surface of NFF, the share of `specular` that is a mirror and no Phong lobe, 0..1; None for what
        follows from the exponent.
    transmittance: share let through in 0..1.
    ior: refractive index (<= 0 counts as 1: no refraction).
    eta, k: refractive index and extinction coefficient of a metal, whose reflectance `specular` then multiplies; with a
        black eta `specular` is what it reflects at normal incidence.
    roughness: of microfacets, 0..1, the root of their width alpha.
    absorption, scattering: of the inside of what lets light through, 1/m.
    mean_cosine: of the angles by which light is scattered there, -1..1: above 0 it goes on, below 0 it turns back.
    priority: of the inside, where solids overlap: that of the highest one counts, of equal ones the one entered last.
    emission: radiance in W/(m^2 sr), from the side that the geometric normal points to.
    backdrop: radiance that the eye sees, directly or by mirrors and glass, and that lights nothing: a painted view.
    ambient: radiance that files of AFF add to what the surface scatters, in place of light between surfaces; nobody
        sees it unless it is added to the backdrop.
    texture: index in the snapshot's textures that multiplies `diffuse` and `backdrop`, or -1.
    cutout: index of a texture whose alpha, or brightness if it has none, says where the surface is: from one half on;
        or -1.
    specular_map: index of a texture that multiplies what mirrors, metals, coats and highlights reflect, or -1.
    roughness_map: index of a texture whose mean over the channels multiplies `roughness`, or -1.
    metalness_map: index of a texture whose blue multiplies the share of metal, or -1.
    transmission_map, emission_map: indices of textures that multiply what is let through and `emission`, or -1.
    normal_map: index of normals in the frame of the texture, or -1: red along u, green up the image, blue outward, the
        byte 128 for zero; the first two are multiplied with normal_scale.
    bump_map: index of heights, or -1, whose mean over the channels, 0..1, times bump_scale is in metres.
    group: name of the light group of what it emits; "" for the name of the material.
    own: numbers, colours and paths of files that only surfaces of this kind have, by the names that their shader gives
        them; one that is left out has the value that the shader says.
    """

    name: str = ""
    kind: str = "diffuse"
    diffuse: Color = (0.5, 0.5, 0.5)
    specular: Color = (0.0, 0.0, 0.0)
    exponent: float = 0.0
    mirror_share: float | None = None
    transmittance: float = 0.0
    ior: float = 1.0
    emission: Color = (0.0, 0.0, 0.0)
    backdrop: Color = (0.0, 0.0, 0.0)
    ambient: Color = (0.0, 0.0, 0.0)
    texture: int = -1
    cutout: int = -1
    roughness: float = 0.0
    absorption: Color = (0.0, 0.0, 0.0)
    scattering: Color = (0.0, 0.0, 0.0)
    mean_cosine: float = 0.0
    priority: int = 0
    eta: Color = (0.0, 0.0, 0.0)
    k: Color = (0.0, 0.0, 0.0)
    specular_map: int = -1
    roughness_map: int = -1
    metalness_map: int = -1
    transmission_map: int = -1
    emission_map: int = -1
    normal_map: int = -1
    normal_scale: float = 1.0
    bump_map: int = -1
    bump_scale: float = 1.0
    group: str = ""
    own: Mapping[str, float | Color | str] = field(default_factory=dict, hash=False)

    @property
    def pictures(self) -> dict[str, int]:
        """Returns the indices of the textures that the material has, by the names of their fields."""
        return {name: getattr(self, name) for name in PICTURES if getattr(self, name) >= 0}

    @property
    def is_cut_out(self) -> bool:
        """Returns whether the surface may have holes. One that shines has none, so that all of it shines."""
        return self.cutout >= 0 and not any(self.emission)


def own_files(materials: Iterable[Material]) -> list[str]:
    """Returns the paths of the files that materials name, each once."""
    values = [value for material in materials for value in material.own.values()]
    return list(dict.fromkeys(value for value in values if isinstance(value, str)))


class Light(Protocol):
    """Describes a light that is no surface, at one time. `scenes.lights` has the kinds."""

    @property
    def kind(self) -> str:
        """Returns the name of its kind."""

    @property
    def strength(self) -> Color:
        """Returns the quantity that gives the light's brightness."""

    @property
    def has_size(self) -> bool:
        """Returns whether a ray can hit the light by chance."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Environment:
    """Holds the light from all around, which the eye sees too.

    radiance: (height, width, 3) float32, W/(m^2 sr), in equal steps of latitude and longitude, top row first.
    axes: (3, 3) float64, rows that are the axes of the image in the world, unit and perpendicular: y is up, to the
        first row; the middle of a row is along -z, and right of it is +x.
    """

    radiance: Floats
    axes: Doubles = field(default_factory=lambda: np.eye(3))


@dataclass(frozen=True, kw_only=True)
class Camera:
    """Describes a thin lens, or a pinhole.

    forward, up: unit vectors, perpendicular.
    vertical_fov: degrees.
    near: distance in front of the eye from which on things are seen.
    resolution: (width, height) that the file proposes.
    aperture: radius of the lens, world units, 0 for a pinhole.
    focus: distance along forward of what a lens sees sharply, world units; positive where there is a lens.
    height: of what an orthographic camera sees, world units, whatever its vertical_fov; None for perspective.
    fov_axis: one of FOV_AXES, along which as much is seen in a picture of another shape than `resolution`.
    """

    eye: tuple[float, float, float]
    forward: tuple[float, float, float]
    up: tuple[float, float, float]
    vertical_fov: float
    near: float = 0.0
    resolution: tuple[int, int] = (800, 600)
    aperture: float = 0.0
    focus: float = 0.0
    height: float | None = None
    fov_axis: str = "y"

    def height_factor(self, aspect: float) -> float:
        """Returns by what the height of the view is multiplied in a picture of an aspect, width over height."""
        width, height = self.resolution
        return fov_extent(self.fov_axis, width / height) / fov_extent(self.fov_axis, aspect)


#: Along what a field of view is measured: width, height, the smaller or larger of them, or the diagonal.
FOV_AXES = ("x", "y", "smaller", "larger", "diagonal")


def fov_extent(axis: str, aspect: float) -> float:
    """Returns how long an axis of a picture of height 1 is. axis: one of FOV_AXES. aspect: width over height."""
    extents = {"x": aspect, "y": 1.0, "smaller": min(aspect, 1.0), "larger": max(aspect, 1.0)}
    return math.hypot(aspect, 1.0) if axis == "diagonal" else extents[axis]


@dataclass(frozen=True, kw_only=True, eq=False)
class Mesh:
    """Holds indexed triangles. Positions, normals and texture coordinates have indices of their own.

    vertices: (nv, 3) float64.
    triangles: (n, 3) int32.
    normals: (nn, 3) float64 with normal_triangles (n, 3) int32, or None for flat shading.
    uvs: (nu, 2) float64 with uv_triangles (n, 3) int32, or None.
    material: index in the scene's list.
    """

    vertices: Doubles
    triangles: Indices
    material: int
    normals: Doubles | None = None
    normal_triangles: Indices | None = None
    uvs: Doubles | None = None
    uv_triangles: Indices | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class Snapshot:
    """Holds a scene at one time, in world space.

    positions: (n, 3, 3) float32, corners of triangle i in the file's winding, so that (v1 - v0) x (v2 - v0) is the
        geometric normal.
    normals: (n, 3, 3) float32, unit shading normals at the corners (the geometric normal where the file has none, or
        where one has no length; (0, 0, 1) on a triangle without area).
    uvs: (n, 3, 2) float32, shifted by whole numbers per triangle so that they are small where textures repeat.
    material_ids: (n,) int32, indices of the materials.
    object_ids: (n,) int32, which object a triangle is of: the number of its part, a shape in its place, from 0 in the
        order of the file.
    camera: the one to look through.
    cameras: all of them, by name.
    background: seen by the eye alone.
    environment: the light from all around, if there is any.
    light_groups: names of the light groups of all lights that the scene has at any time.
    shown_lights: which of these `lights` are, by their numbers from 0.
    environment_group: that of the environment, if the scene has one at any time.
    """

    name: str
    time: float
    positions: Floats
    normals: Floats
    uvs: Floats
    material_ids: Indices
    object_ids: Indices
    materials: tuple[Material, ...]
    textures: tuple[Texture, ...]
    lights: tuple[Light, ...]
    camera: Camera
    cameras: Mapping[str, Camera] = field(default_factory=dict)
    background: Color = (0.0, 0.0, 0.0)
    environment: Environment | None = None
    light_groups: tuple[str, ...] = ()
    shown_lights: tuple[int, ...] = ()
    environment_group: str = ""

    @property
    def cut_out(self) -> npt.NDArray[np.bool_]:
        """Returns which triangles may have holes, (n,) bool: those of materials that are cut out, with texture
        coordinates."""
        materials = np.array([material.is_cut_out for material in self.materials], np.bool_)
        return materials[self.material_ids] & self.uvs.any(axis=(1, 2))

    def seen_by(self, name: str) -> "Snapshot":
        """Returns the same snapshot, seen through another of its cameras. Raises SceneError where there is none of this
        name."""
        check_camera(self.name, name, self.cameras)
        return replace(self, camera=self.cameras[name])


def check_camera(scene: str, name: str, cameras: Iterable[str]) -> None:
    """Raises `SceneError` where a camera is not among those that a scene has. scene: its name."""
    if name not in (known := list(cameras)):
        raise SceneError(f"scene {scene!r} has no camera {name!r}; it has {', '.join(known)}")


@dataclass(frozen=True, kw_only=True)
class AnimationRange:
    """Spaces `frames` pictures evenly from `start` to `end`, both included: frame i is at start + i (end - start) /
    (frames - 1)."""

    start: float = 0.0
    end: float = 0.0
    frames: int = 1

    def time_of(self, frame: int) -> float:
        """Returns the time of a 0-based frame; frames beyond the last are allowed: a track is held at its ends."""
        step = (self.end - self.start) / (self.frames - 1) if self.frames > 1 else 0.0
        return self.start + frame * step
