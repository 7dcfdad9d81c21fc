"""This module makes a document of the elements of a scene: shapes in their places, cameras and lights."""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from scenes.default_view import VERTICAL_FOV, triple
from scenes.document import Document, EnvironmentSource, Origin, Part, triangle_count
from scenes.errors import SceneFileError
from scenes.evaluator import DEFAULT_CAMERA
from scenes.geometry import rewound, unit
from scenes.gltf import new_name
from scenes.memory import MAX_TRIANGLES
from scenes.microfacets import BLACK
from scenes.mitsuba.elements import Element, listed, read_elements
from scenes.mitsuba.emitters import EMITTERS
from scenes.mitsuba.properties import Properties
from scenes.mitsuba.shapes import Shapes, mapped_uvs
from scenes.mitsuba.surfaces import WHITE, Surface, Surfaces
from scenes.model import Camera, Color, Doubles, Material, Mesh, Texture
from scenes.transforms import IDENTITY, WORLD

MAX_RESOLUTION = 16_384
SENSORS = ("perspective", "thinlens", "orthographic")
#: The surface of a shape that has no BSDF.
PLAIN = Surface(Material(name="plain"))


class Reader:
    """Takes in the objects of a <scene>."""

    def __init__(self, scene: Element) -> None:
        self.scene = scene
        self.ids = ids_of(scene)
        self.document = Document()
        self.surfaces = Surfaces(self.ids, copper=scene.attributes.get("version", "").startswith("0."))
        self.shapes = Shapes(self.ids)
        self.groups: dict[Element, list[Part]] = {}
        self.triangles = 0
        self._rewound: dict[Mesh, Mesh] = {}

    def read(self) -> Document:
        """Reads all objects into a document."""
        for element in Properties(self.scene, self.ids).objects:
            if element.tag == "sensor":
                self.add_sensor(element)
            elif element.tag == "emitter":
                self.add_emitter(element)
            elif element.tag == "shape":
                self.add_shape(element)
        return self.document

    # --- shapes -------------------------------------------------------------------------------------------------------

    def add_shape(self, element: Element) -> None:
        """Adds what a <shape> shows."""
        kind = element.need("type")
        if kind == "instance":
            self.document.parts += self.instance(element)
        elif kind != "shapegroup":
            self.document.parts += self.parts(element)

    def parts(self, element: Element) -> list[Part]:
        """Makes the meshes of a <shape> in their places."""
        properties = Properties(element, self.ids)
        matrix = properties.matrix("to_world")
        meshes = self.shapes.meshes(properties)
        surface, emission = self.looks(properties)
        properties.finish("max_smooth_angle", "collapse", "srgb")
        material = self.material_id(replace(surface.material, emission=emission), surface)
        meshes = [mapped_uvs(mesh, surface.to_uv) for mesh in meshes]
        origin = Origin(element.path, element.line)
        return [self.placed(Part(mesh, origin=origin, material=material), matrix) for mesh in meshes]

    def looks(self, properties: Properties) -> tuple[Surface, Color]:
        """Returns the surface and the emission of a shape."""
        bsdfs, emitters = properties.within("bsdf"), properties.within("emitter")
        for element in properties.objects:
            if element.tag not in ("bsdf", "emitter"):
                raise element.error(f"{element.called} is not supported in a shape; there are: bsdf, emitter")
        surface = self.surfaces.surface(bsdfs[-1]) if bsdfs else PLAIN
        return surface, self.area_light(emitters[-1]) if emitters else BLACK

    def area_light(self, element: Element) -> Color:
        """Returns the radiance of an <emitter> in a shape."""
        properties = Properties(element, self.ids)
        if properties.type != "area":
            raise element.error(f"expected an emitter of type area in a shape, got {element.called}")
        radiance = properties.light("radiance", WHITE)
        properties.finish("sampling_weight")
        return radiance

    def material_id(self, material: Material, surface: Surface) -> int:
        """Returns the index of a material with the textures of its surface, all added if they are new."""
        pictures = {field: self.texture_id(pattern.texture) for field, pattern in surface.maps.items()}
        pictures |= {"texture": self.texture_id(surface.pattern.texture), "cutout": self.texture_id(surface.mask)}
        numbers: dict[str, Any] = pictures
        material = replace(material, **numbers)
        if material not in self.document.materials:
            self.document.materials.append(material)
        return self.document.materials.index(material)

    def texture_id(self, texture: Texture | None) -> int:
        """Returns the index of a texture, added if it is new; -1 for None."""
        if texture is None:
            return -1
        if texture not in self.document.textures:
            self.document.textures.append(texture)
        return self.document.textures.index(texture)

    def placed(self, part: Part, matrix: Doubles | None) -> Part:
        """Puts a part inside a further transform. What is outside stays outside where it mirrors."""
        if matrix is None:
            return self.counted(part)
        mesh = part.shape
        assert isinstance(mesh, Mesh)
        inner = IDENTITY if part.transform.matrix is None else part.transform.matrix
        if np.linalg.det(matrix[:3, :3]) < 0.0:
            if mesh not in self._rewound:
                self._rewound[mesh] = rewound(mesh)
            mesh = self._rewound[mesh]
        return self.counted(replace(part, shape=mesh, transform=WORLD.inner(matrix=matrix @ inner)))

    def counted(self, part: Part) -> Part:
        """Counts the triangles of a part and returns it. Raises SceneFileError where there are too many."""
        self.triangles += triangle_count(part.shape)
        if self.triangles > MAX_TRIANGLES:
            raise SceneFileError(part.origin.path, part.origin.line, f"over {MAX_TRIANGLES} triangles")
        return part

    def instance(self, element: Element) -> list[Part]:
        """Returns the parts of a <shapegroup> in one more place."""
        properties = Properties(element, self.ids)
        matrix = properties.matrix("to_world")
        groups = properties.within("shape")
        if len(groups) != 1 or groups[0].attributes.get("type") != "shapegroup":
            raise element.error("expected an instance to refer to one shapegroup")
        properties.finish()
        origin = Origin(element.path, element.line)
        return [self.placed(replace(part, origin=origin), matrix) for part in self.group(groups[0])]

    def group(self, element: Element) -> list[Part]:
        """Returns the parts of a <shapegroup>, always the same ones."""
        if element not in self.groups:
            shapes = Properties(element, self.ids).objects
            for shape in shapes:
                if shape.tag != "shape" or shape.attributes.get("type") in ("shapegroup", "instance"):
                    raise shape.error(f"expected shapes that stand for themselves in a shapegroup, got {shape.called}")
            self.groups[element] = [part for shape in shapes for part in self.parts(shape)]
        return self.groups[element]

    # --- light --------------------------------------------------------------------------------------------------------

    def add_emitter(self, element: Element) -> None:
        """Adds a light that is no shape."""
        properties = Properties(element, self.ids)
        build = EMITTERS.get(properties.type)
        if build is None:
            properties.unknown_type(("area", *EMITTERS))
        source = build(properties)
        properties.finish("sampling_weight")
        if not isinstance(source, EnvironmentSource):
            self.document.lights.append(source)
        elif self.document.environment is None:
            self.document.environment = source
        else:
            raise element.error("expected one emitter of type constant or envmap at most")

    # --- cameras ------------------------------------------------------------------------------------------------------

    def add_sensor(self, element: Element) -> None:
        """Adds a camera."""
        properties = Properties(element, self.ids)
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
        )
        properties.finish("far_clip", "focus_distance", "aperture_radius", "shutter_open", "shutter_close")

    def film_size(self, properties: Properties) -> tuple[int, int]:
        """Returns the width and height in pixels of a sensor's film."""
        films = properties.within("film")
        if not films:
            return 768, 576
        film = Properties(films[0], self.ids)
        width, height = film.number("width", 768), film.number("height", 576)
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


def vertical_fov(properties: Properties, aspect: float) -> float:
    """Returns the vertical field of view in degrees. aspect: width over height."""
    fov = properties.number("fov", math.nan)
    if not 0.0 < fov < 180.0:
        raise properties.element.error(f"expected a fov between 0 and 180 degrees, got {fov:g}")
    heights = {"x": aspect, "y": 1.0, "diagonal": math.hypot(aspect, 1.0)}
    heights["smaller"], heights["larger"] = min(aspect, 1.0), max(aspect, 1.0)
    axis = properties.text("fov_axis", "x")
    if axis not in heights:
        raise properties.named["fov_axis"].error(f"unknown fov_axis {axis!r}; there are: {listed(heights)}")
    return math.degrees(2.0 * math.atan(math.tan(math.radians(fov / 2.0)) / heights[axis]))


def ids_of(scene: Element) -> dict[str, Element]:
    """Returns every element that has an id, by its id, at any depth."""
    ids: dict[str, Element] = {}
    waiting = [scene]
    while waiting:
        element = waiting.pop()
        if "id" in element.attributes and element.tag != "ref":
            ids[element.attributes["id"]] = element
        waiting += element.children
    return ids


def read_document(path: Path) -> Document:
    """Reads everything that a file says. Raises SceneFileError with the file and line of what is wrong."""
    return Reader(read_elements(path)).read()
