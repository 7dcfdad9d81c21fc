"""This module makes a document of the elements of a scene: shapes in their places, cameras and lights."""

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from scenes.curves import Turned, changed
from scenes.default_view import VERTICAL_FOV, triple
from scenes.document import Document, EnvironmentSource, Origin, Part, part_of, triangle_count
from scenes.evaluator import DEFAULT_CAMERA
from scenes.geometry import rewound, unit
from scenes.gltf import new_name
from scenes.limits import MAX_TRIANGLES
from scenes.mitsuba.elements import MAX_QUOTE, LimitError, XmlElement, listed
from scenes.mitsuba.emitters import EMITTERS, WHITE
from scenes.mitsuba.properties import Properties
from scenes.mitsuba.reading import Reading, begin
from scenes.mitsuba.shapes import MitsubaShapes, mapped_uvs
from scenes.mitsuba.surface import MitsubaSurface, with_map
from scenes.mitsuba.surfaces import MitsubaSurfaces
from scenes.mitsuba.textures import MitsubaPattern, MitsubaTextures
from scenes.model import FOV_AXES, Camera, Doubles, Material, Mesh, Texture, fov_extent
from scenes.transforms import IDENTITY, WORLD

MAX_RESOLUTION = 16_384
SENSORS = ("perspective", "thinlens", "orthographic")
#: The surface of a shape that has no BSDF.
PLAIN = MitsubaSurface(Material(name="plain"))


#: Shapes that are not supported, and why.
REFUSED = {"hair": "hair is not supported", "sdfgrid": "a field of distances is not supported"}
#: Half the diagonal of the film of a small picture camera, 36 by 24 mm, and the focal length of one that says nothing.
HALF_DIAGONAL, FOCAL_LENGTH = 0.5 * math.hypot(36.0, 24.0), "50mm"


class MitsubaReader:
    """Takes in the objects of a <scene>. What is wrong with one of them is told with the others."""

    def __init__(self, reading: Reading) -> None:
        self.reading = reading
        self.document = Document(notes=reading.notes)
        self.textures = MitsubaTextures(reading)
        self.surfaces = MitsubaSurfaces(reading, self.textures)
        self.shapes = MitsubaShapes(reading)
        self.groups: dict[XmlElement, list[Part]] = {}
        self.triangles = 0
        self._rewound: dict[Mesh | Turned, Mesh | Turned] = {}
        self._materials: dict[Material, int] = {}
        self._textures: dict[Texture, int] = {}

    def read(self) -> Document:
        """Reads all objects into a document. Raises SceneFileError with all that is wrong."""
        try:
            self.read_objects()
        except LimitError as problem:  # what else is wrong is told with it
            self.reading.problems.append(problem)
        self.reading.check()
        return self.document

    def read_objects(self) -> None:
        """Reads all objects."""
        properties = Properties(self.reading.scene, self.reading)
        adders: dict[str, Callable[[XmlElement], None]] = {
            "sensor": self.add_sensor,
            "emitter": self.add_emitter,
            "shape": self.add_shape,
        }
        for tag in ("bsdf", "texture", *adders):  # of BSDFs and textures those are read that a shape refers to
            properties.within(tag)
        for element in properties.objects:
            if element.tag in adders:
                self.reading.attempt(None, adders[element.tag], element)
        properties.finish()

    # --- shapes -------------------------------------------------------------------------------------------------------

    def add_shape(self, element: XmlElement) -> None:
        """Adds what a <shape> shows."""
        kind = element.need("type")
        if kind in REFUSED:
            raise element.error(f"{REFUSED[kind]}: {element.called}")
        if kind == "instance":
            self.document.parts += self.instance(element)
        elif kind != "shapegroup":
            self.document.parts += self.parts(element)

    def parts(self, element: XmlElement) -> list[Part]:
        """Makes the meshes of a <shape> in their places."""
        properties = Properties(element, self.reading)
        matrix = properties.matrix("to_world")
        surface = self.looks(properties)
        shapes = self.shapes.meshes(properties)
        properties.finish("collapse", "srgb", "name")
        material = self.material_id(surface)
        shapes = [changed(shape, partial(mapped_uvs, matrix=surface.to_uv)) for shape in shapes]
        origin = Origin(element.path, element.line)
        return [self.placed(part_of(shape, WORLD, origin, material), matrix) for shape in shapes]

    def looks(self, properties: Properties) -> MitsubaSurface:
        """Returns the surface of a shape, with what it emits. One whose surface cannot be read is plain."""
        bsdfs, emitters = properties.within("bsdf"), properties.within("emitter")
        surface = self.reading.attempt(PLAIN, self.surfaces.surface, bsdfs[-1]) if bsdfs else PLAIN
        return self.reading.attempt(surface, self.lit, surface, emitters[-1]) if emitters else surface

    def lit(self, surface: MitsubaSurface, element: XmlElement) -> MitsubaSurface:
        """Returns a surface that emits what an <emitter> in a shape says."""
        properties = Properties(element, self.reading)
        if properties.type != "area":
            raise element.error(f"expected an emitter of type area in a shape, got {element.called}")
        radiance = self.radiance(properties)
        properties.finish("sampling_weight")
        lit = replace(surface, material=replace(surface.material, emission=radiance.color))
        return lit if radiance.texture is None else with_map(lit, "emission_map", radiance, element)

    def radiance(self, properties: Properties) -> MitsubaPattern:
        """Returns the radiance of an <emitter>, which may be a texture."""
        element = properties.named.get("radiance")
        if element is None or element.tag != "texture":
            return MitsubaPattern(properties.light("radiance", WHITE))
        properties.take("radiance", "texture")
        return self.textures.texture(element)

    def material_id(self, surface: MitsubaSurface) -> int:
        """Returns the index of the material of a surface with its textures, all added if they are new."""
        pictures = {field: self.texture_id(pattern.texture) for field, pattern in surface.maps.items()}
        pictures |= {"texture": self.texture_id(surface.pattern.texture), "cutout": self.texture_id(surface.mask)}
        numbers: dict[str, Any] = pictures
        material = replace(surface.material, **numbers)
        if material not in self._materials:
            self._materials[material] = len(self.document.materials)
            self.document.materials.append(material)
        return self._materials[material]

    def texture_id(self, texture: Texture | None) -> int:
        """Returns the index of a texture, added if it is new; -1 for None."""
        if texture is None:
            return -1
        if texture not in self._textures:
            self._textures[texture] = self.document.add_texture(texture)
        return self._textures[texture]

    def placed(self, part: Part, matrix: Doubles | None) -> Part:
        """Puts a part inside a further transform. What is outside stays outside where it mirrors."""
        if matrix is None:
            return self.counted(part)
        shape = part.curve or part.shape
        assert isinstance(shape, Mesh | Turned)
        inner = IDENTITY if part.transform.matrix is None else part.transform.matrix
        if np.linalg.det(matrix[:3, :3]) < 0.0:
            if shape not in self._rewound:
                self._rewound[shape] = changed(shape, rewound)
            shape = self._rewound[shape]
        return self.counted(part_of(shape, WORLD.inner(matrix=matrix @ inner), part.origin, part.material))

    def counted(self, part: Part) -> Part:
        """Counts the triangles of a part and returns it. Raises SceneFileError where there are too many."""
        self.triangles += triangle_count(part.shape)
        if self.triangles > MAX_TRIANGLES:
            raise LimitError(part.origin.path, part.origin.line, f"over {MAX_TRIANGLES} triangles")
        return part

    def instance(self, element: XmlElement) -> list[Part]:
        """Returns the parts of a <shapegroup> in one more place."""
        properties = Properties(element, self.reading)
        matrix = properties.matrix("to_world")
        groups = properties.within("shape")
        if len(groups) != 1 or groups[0].attributes.get("type") != "shapegroup":
            raise element.error("expected an instance to refer to one shapegroup")
        properties.finish()
        origin = Origin(element.path, element.line)
        return [self.placed(replace(part, origin=origin), matrix) for part in self.group(groups[0])]

    def group(self, element: XmlElement) -> list[Part]:
        """Returns the parts of a <shapegroup>, always the same ones."""
        if element not in self.groups:
            properties = Properties(element, self.reading)
            shapes = properties.within("shape")
            properties.finish("name")
            for shape in shapes:
                if shape.attributes.get("type") in ("shapegroup", "instance"):
                    raise shape.error(f"expected shapes that stand for themselves in a shapegroup, got {shape.called}")
            self.groups[element] = [part for shape in shapes for part in self.parts(shape)]
        return self.groups[element]

    # --- light --------------------------------------------------------------------------------------------------------

    def add_emitter(self, element: XmlElement) -> None:
        """Adds a light that is no shape."""
        properties = Properties(element, self.reading)
        build = EMITTERS.get(properties.type)
        if build is None:
            properties.unknown_type(("area", *EMITTERS))
        sources = build(properties)
        properties.finish("sampling_weight", "name")
        for source in sources:
            if not isinstance(source, EnvironmentSource):
                self.document.lights.append(source)
            elif self.document.environment is None:
                self.document.environment = source
            else:
                raise element.error("expected one emitter of type constant, envmap, sky or sunsky at most")

    # --- cameras ------------------------------------------------------------------------------------------------------

    def add_sensor(self, element: XmlElement) -> None:
        """Adds a camera."""
        properties = Properties(element, self.reading)
        if properties.type not in SENSORS:
            properties.unknown_type(SENSORS)
        matrix = properties.matrix("to_world")
        width, height = self.film_size(properties)
        x, up, forward, eye = (IDENTITY if matrix is None else matrix)[:3, :].T
        forward, left = unit(forward), unit(x)
        if not np.dot(np.cross(up, forward), left) > 0.0:
            raise element.error("to_world of a sensor mirrors or flattens the picture, which is not supported")
        is_parallel = properties.type == "orthographic"
        if is_parallel and not math.isclose(np.linalg.norm(x), np.linalg.norm(up), rel_tol=1e-4):
            raise element.error("to_world of an orthographic sensor stretches the picture, which is not supported")
        aperture, focus = lens(properties)
        name = new_name(element.attributes.get("id", DEFAULT_CAMERA), self.document.cameras)
        self.document.cameras[name] = Camera(
            eye=triple(eye),
            forward=triple(forward),
            up=triple(unit(np.cross(forward, left))),
            vertical_fov=VERTICAL_FOV if is_parallel else vertical_fov(properties, width / height),
            near=max(properties.number("near_clip", 0.0), 0.0),
            resolution=(width, height),
            aperture=aperture,
            focus=focus,
            height=2.0 * float(np.linalg.norm(x)) * height / width if is_parallel else None,
            fov_axis="x" if is_parallel else fov_axis(properties),
        )
        properties.within("sampler")
        properties.left_out("principal_point_offset_x", "principal_point_offset_y")
        properties.finish("far_clip", "focus_distance", "aperture_radius", "shutter_open", "shutter_close", "name")

    def film_size(self, properties: Properties) -> tuple[int, int]:
        """Returns the width and height in pixels of a sensor's film."""
        films = properties.within("film")
        if not films:
            return 768, 576
        film = Properties(films[0], self.reading)
        width, height = film.number("width", 768), film.number("height", 576)
        crops = ("crop_offset_x", "crop_offset_y", "crop_width", "crop_height")
        film.left_out(*(name for name in crops if name in film.named))
        if not (1 <= width <= MAX_RESOLUTION and 1 <= height <= MAX_RESOLUTION):
            raise films[0].error(f"expected a film from 1 to {MAX_RESOLUTION} pixels wide, got {width:g} x {height:g}")
        return int(width), int(height)


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


def read_document(path: Path, parameters: Mapping[str, str]) -> Document:
    """Reads everything that a file says. parameters: values of `$name`. Raises SceneFileError with the file and line of
    all that is wrong."""
    return MitsubaReader(begin(path, parameters)).read()
